/* restore.c - loads a store's tables from a file that a store with any number of servers wrote. Node 0 reads it, a few MiB
 * at a time, and sends the rows to their servers. All nodes go through the same rounds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/argument.h"
#include "base/memory.h"
#include "checkpoint/tensors.h"
#include "runtime/checkpoint/checkpoint.h"

enum { ROUND_BYTES = 4 << 20 };

/* The head of node 0's message to a node in a round; keys, values and memory follow. */
typedef struct deal {
    uint64_t more; /* another round follows this one */
    uint64_t table, count;
} deal;

/* Rows of a table in the file with numbers that are not finite. */
typedef struct damage {
    uint64_t rows, first; /* first: the key of one such row */
} damage;

typedef struct restoring {
    hawser_store *store;
    const char *path;
    hw_tensors_file file;
    hw_saved_state *stored; /* on node 0, like the next fields */
    size_t stored_count, at;
    uint64_t row; /* the next row of table `at` */
    unsigned char *part[3];
    uint32_t *servers;  /* of each row of a round */
    hw_coming **coming; /* by server: stored_count entries */
    damage *damages;    /* by stored table */
    hw_bytes *out, *in;
} restoring;

/* Checks the checksum before anything else of the file is used. */
static hawser_status open_file(restoring *r, hawser_error *error)
{
    HAWSER_TRY(hw_tensors_open(&r->file, r->path, error));
    HAWSER_TRY(hw_store_tensors(r->store, r->file.header, r->file.header_length, r->file.size, r->path, &r->stored,
                                &r->stored_count, error));
    return hw_tensors_check(&r->file, NULL, error);
}

static const hw_table_spec *spec_at(const restoring *r, size_t i)
{
    return hw_client_table_at(r->store->client, r->stored[i].table);
}

static size_t rows_of_round(const hw_table_spec *spec)
{
    size_t row = hw_part_bytes(spec, HW_PART_VALUES) + hw_part_bytes(spec, HW_PART_MEMORY) + sizeof(uint64_t);
    return row < ROUND_BYTES ? ROUND_BYTES / row : 1;
}

static bool row_is_finite(const restoring *r, const hw_table_spec *spec, size_t row, size_t rows)
{
    size_t value_bytes = hw_part_bytes(spec, HW_PART_VALUES), memory_bytes = hw_part_bytes(spec, HW_PART_MEMORY);
    size_t values = rows * spec->width, memory = rows * memory_bytes / sizeof(double);
    return hw_values_not_finite(spec->type, r->part[HW_PART_VALUES] + row * value_bytes, values) == values &&
           hw_values_not_finite(HW_VALUE_F64, r->part[HW_PART_MEMORY] + row * memory_bytes, memory) == memory;
}

/* Resets rows with numbers that are not finite, so that all other rows can be used. Records them on the first pass. */
static void clear_damaged(restoring *r, size_t i, const hw_table_spec *spec, size_t count, bool notes)
{
    size_t value_bytes = hw_part_bytes(spec, HW_PART_VALUES), memory_bytes = hw_part_bytes(spec, HW_PART_MEMORY);
    const uint64_t *keys = (const uint64_t *)(const void *)r->part[HW_PART_KEYS];
    if (row_is_finite(r, spec, 0, count))
        return;
    for (size_t k = 0; k < count; k++) {
        if (row_is_finite(r, spec, k, 1))
            continue;
        memset(r->part[HW_PART_VALUES] + k * value_bytes, 0, value_bytes);
        memset(r->part[HW_PART_MEMORY] + k * memory_bytes, 0, memory_bytes);
        if (notes && r->damages[i].rows++ == 0)
            r->damages[i].first = keys[k];
    }
}

/* Reads the next `count` rows of a table into the parts' buffers; a dense table's keys are numbered. */
static hawser_status read_rows(restoring *r, size_t i, uint64_t row, size_t count, bool notes, hawser_error *error)
{
    const hw_table_spec *spec = spec_at(r, i);
    uint64_t *keys = (uint64_t *)(void *)r->part[HW_PART_KEYS];
    for (size_t k = 0; k < count; k++)
        keys[k] = spec->first + row + k;
    for (int p = HW_PART_VALUES; p <= HW_PART_KEYS; p++) {
        size_t bytes = hw_part_bytes(spec, (hw_part)p);
        if (hw_store_pass_of(spec, (hw_part)p) >= 0)
            HAWSER_TRY(hw_tensors_read(&r->file, r->stored[i].begin[p] + row * bytes, r->part[p], count * bytes, error));
    }
    clear_damaged(r, i, spec, count, notes);
    return HAWSER_OK;
}

/* Finds the servers of the rows of a round. */
static void find_servers(const restoring *r, uint32_t table, size_t count)
{
    const uint64_t *keys = (const uint64_t *)(const void *)r->part[HW_PART_KEYS];
    for (size_t k = 0; k < count; k++)
        r->servers[k] = hw_client_server(r->store->client, table, keys[k]);
}

/* Counts the rows of a sparse table by server; the rows of a dense one exist already. */
static void count_rows(const restoring *r, size_t i, size_t count)
{
    find_servers(r, r->stored[i].table, count);
    for (size_t k = 0; k < count; k++)
        r->coming[r->servers[k]][i].rows++;
}

/* Reads the whole file once and counts its rows: a file that cannot be read to its end, or for which a server lacks memory,
 * changes nothing. */
static hawser_status look_through(restoring *r, hawser_error *error)
{
    for (size_t i = 0; i < r->stored_count; i++) {
        const hw_table_spec *spec = spec_at(r, i);
        size_t most = rows_of_round(spec);
        for (uint64_t row = 0; row < r->stored[i].rows; row += most) {
            size_t count = r->stored[i].rows - row < most ? (size_t)(r->stored[i].rows - row) : most;
            HAWSER_TRY(read_rows(r, i, row, count, true, error));
            if (spec->sparse)
                count_rows(r, i, count);
        }
    }
    return HAWSER_OK;
}

static hawser_status begin_counts(restoring *r, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(&r->coming, r->store->nodes, "a checkpoint", error));
    for (uint32_t n = 0; n < r->store->nodes; n++) {
        HAWSER_TRY(HW_NEW(&r->coming[n], r->stored_count, "a checkpoint", error));
        for (size_t i = 0; i < r->stored_count; i++)
            r->coming[n][i].table = r->stored[i].table;
    }
    return HAWSER_OK;
}

static hawser_status prepare(restoring *r, hawser_error *error)
{
    if (r->store->self != 0)
        return HAWSER_OK;
    HAWSER_TRY(open_file(r, error));
    size_t most[3] = {1, 1, sizeof(uint64_t)}, rows = 1;
    for (size_t i = 0; i < r->stored_count; i++) {
        size_t count = rows_of_round(spec_at(r, i));
        rows = count > rows ? count : rows;
        for (int p = HW_PART_VALUES; p <= HW_PART_KEYS; p++) {
            size_t bytes = count * hw_part_bytes(spec_at(r, i), (hw_part)p);
            most[p] = bytes > most[p] ? bytes : most[p];
        }
    }
    for (int p = HW_PART_VALUES; p <= HW_PART_KEYS; p++)
        HAWSER_TRY(HW_NEW(&r->part[p], most[p], "a checkpoint", error));
    HAWSER_TRY(HW_NEW(&r->servers, rows, "a checkpoint", error));
    HAWSER_TRY(HW_NEW(&r->damages, r->stored_count, "a checkpoint", error));
    HAWSER_TRY(begin_counts(r, error));
    return look_through(r, error);
}

/* ---------------------------------------------------------------------------------------------------------- dealing ---- */

/* Sends a server its rows of a round. */
static hawser_status deal_to(restoring *r, uint32_t node, const deal *head, size_t count, hawser_error *error)
{
    const hw_table_spec *spec = spec_at(r, r->at);
    deal own = *head;
    own.count = 0;
    for (size_t k = 0; k < count; k++)
        own.count += r->servers[k] == node;
    static const hw_part order[] = {HW_PART_KEYS, HW_PART_VALUES, HW_PART_MEMORY};
    size_t length = sizeof own;
    for (int p = 0; p < 3; p++)
        length += (size_t)own.count * hw_part_bytes(spec, order[p]);
    unsigned char *to = malloc(length);
    if (to == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot allocate rows of table '%s'", spec->name);
    r->out[node] = (hw_bytes){to, length};
    memcpy(to, &own, sizeof own);
    to += sizeof own;
    for (int p = 0; p < 3; p++) {
        size_t bytes = hw_part_bytes(spec, order[p]);
        for (size_t k = 0; bytes > 0 && k < count; k++)
            if (r->servers[k] == node) {
                memcpy(to, r->part[order[p]] + k * bytes, bytes);
                to += bytes;
            }
    }
    return HAWSER_OK;
}

static void free_all(hw_bytes *bytes, uint32_t count)
{
    for (uint32_t n = 0; bytes != NULL && n < count; n++) {
        free(bytes[n].data);
        bytes[n] = (hw_bytes){0};
    }
}

/* Sends the next rows to all nodes, on node 0; a round without rows is the last. */
static hawser_status deal_rows(restoring *r, hawser_error *error)
{
    if (r->at == r->stored_count)
        return HAWSER_OK;
    const hw_table_spec *spec = spec_at(r, r->at);
    uint64_t left = r->stored[r->at].rows - r->row;
    size_t most = rows_of_round(spec), count = left < most ? (size_t)left : most;
    const deal head = {.more = 1, .table = r->stored[r->at].table};
    HAWSER_TRY(read_rows(r, r->at, r->row, count, false, error));
    find_servers(r, (uint32_t)head.table, count);
    for (uint32_t n = 0; n < r->store->nodes; n++)
        HAWSER_TRY(deal_to(r, n, &head, count, error));
    r->row += count;
    if (r->row == r->stored[r->at].rows) {
        r->row = 0;
        r->at++;
    }
    return HAWSER_OK;
}

static hawser_status take_rows(restoring *r, const unsigned char *from, const deal *head, hawser_error *error)
{
    hawser_store *store = r->store;
    uint32_t table = (uint32_t)head->table;
    const hw_table_spec *spec = hw_client_table_at(store->client, table);
    if (store->server == NULL)
        return HAWSER_OK;
    const unsigned char *keys = from + sizeof *head, *values = keys + head->count * sizeof(uint64_t);
    const unsigned char *memory = values + head->count * hw_part_bytes(spec, HW_PART_VALUES);
    return hw_server_put_rows(store->server, table, (const uint64_t *)(const void *)keys, (size_t)head->count, values,
                              spec->function->memory > 0 ? memory : NULL, error);
}

static hawser_status run_rounds(restoring *r, hawser_error *error)
{
    hawser_store *store = r->store;
    hawser_status status = HAWSER_OK;
    const deal last = {0};
    for (deal head = {.more = 1}; head.more;) {
        if (store->self == 0 && status == HAWSER_OK)
            status = deal_rows(r, error);
        bool over = store->self == 0 && (status != HAWSER_OK || r->out[0].data == NULL);
        if (over)
            free_all(r->out, store->nodes);
        hw_bytes ends = {(void *)(uintptr_t)&last, sizeof last};
        hw_bytes *out = r->out;
        for (uint32_t n = 0; over && n < store->nodes; n++)
            out[n] = ends;
        hawser_status sent = hw_cluster_alltoall(store->job->cluster, out, r->in, error);
        if (over)
            memset(out, 0, store->nodes * sizeof *out);
        free_all(r->out, store->nodes);
        HAWSER_TRY(sent);
        memcpy(&head, r->in[0].data, sizeof head);
        if (head.more && status == HAWSER_OK)
            status = take_rows(r, r->in[0].data, &head, error);
        free_all(r->in, store->nodes);
    }
    return hw_cluster_agree(store->job->cluster, status, error);
}

/* Adds to a failure that some rows are loaded already, as when the file, which was read to its end before, cannot be read
 * any more. */
static hawser_status say_loaded_in_part(hawser_status status, hawser_error *error)
{
    if (error == NULL || status == HAWSER_PEER_LOST)
        return status;
    const hawser_error why = *error;
    return hawser_fail(error, status, "%.900s; its tables are in the store in part", why.text);
}

/* Sends each server the number of its rows of every table. All reserve memory for theirs before any server drops its
 * rows. */
static hawser_status replace(restoring *r, hawser_error *error)
{
    hawser_store *store = r->store;
    hw_server *server = store->server;
    uint64_t reserved = 0;
    for (uint32_t n = 0; store->self == 0 && n < store->nodes; n++)
        r->out[n] = (hw_bytes){r->coming[n], r->stored_count * sizeof **r->coming};
    hawser_status status = hw_cluster_alltoall(store->job->cluster, r->out, r->in, error);
    memset(r->out, 0, store->nodes * sizeof *r->out);
    HAWSER_TRY(status);
    hw_coming *coming = r->in[0].data;
    size_t count = r->in[0].length / sizeof *coming;
    r->in[0] = (hw_bytes){0};
    free_all(r->in, store->nodes);
    if (server != NULL)
        status = hw_server_reserve_load(server, coming, count, &reserved, error);
    status = hw_cluster_agree(store->job->cluster, status, error);
    for (size_t i = 0; status == HAWSER_OK && i < count; i++)
        hw_worker_cache_forget(store, (uint32_t)coming[i].table);
    pthread_mutex_lock(&store->making);
    if (status == HAWSER_OK && server != NULL)
        hw_server_forget(server, coming, count);
    pthread_mutex_unlock(&store->making);
    if (status == HAWSER_OK && (status = run_rounds(r, error)) != HAWSER_OK)
        status = say_loaded_in_part(status, error);
    if (server != NULL)
        hw_server_loaded(server, coming, count, reserved);
    free(coming);
    return status;
}

/* Names the tables with such rows, which are reset in the store; everything else is loaded. */
static hawser_status name_damaged(const restoring *r, hawser_error *error)
{
    char names[600] = "";
    size_t used = 0;
    for (size_t i = 0; r->damages != NULL && i < r->stored_count; i++) {
        const damage *one = &r->damages[i];
        if (one->rows > 0 && used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%llu %s of table '%s' (key %llu%s)",
                                     used > 0 ? ", " : "", (unsigned long long)one->rows, one->rows == 1 ? "row" : "rows",
                                     spec_at(r, i)->name, (unsigned long long)one->first, one->rows > 1 ? " the first" : "");
    }
    if (used == 0)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_NOT_FINITE,
                       "%.200s has numbers that are not finite: %s; these rows are as new, everything else is loaded",
                       r->path, names);
}

static hawser_status load(restoring *r, hawser_error *error)
{
    hawser_store *store = r->store;
    hawser_status status = HW_NEW(&r->in, store->nodes, "a checkpoint", error);
    if (status == HAWSER_OK)
        status = HW_NEW(&r->out, store->nodes, "a checkpoint", error);
    if (status == HAWSER_OK)
        status = hawser_store_wait_all(store, error);
    if (status == HAWSER_OK)
        status = prepare(r, error);
    HAWSER_TRY(hw_cluster_agree(store->job->cluster, status, error));
    hw_store_hold_all(store, true);
    status = replace(r, error);
    hw_store_release_all(store);
    return status == HAWSER_OK ? hw_cluster_agree(store->job->cluster, name_damaged(r, error), error) : status;
}

hawser_status hw_store_tables_of(const hawser_store *store, const char *path, hw_table_wire **tables, size_t *count,
                                 hawser_error *error)
{
    hw_tensors_file file;
    hawser_status status = hw_tensors_open(&file, path, error);
    if (status == HAWSER_OK)
        status = hw_store_tables_in(store, file.header, file.header_length, path, tables, count, error);
    if (status == HAWSER_OK && store != NULL)
        status = hw_tensors_check(&file, NULL, error);
    hw_tensors_close(&file);
    return status;
}

hawser_status hawser_store_load(hawser_store *store, const char *path, hawser_error *error)
{
    HW_GIVEN_STORE(store);
    HW_GIVEN(path);
    if (store->remote != NULL) {
        hw_job_cancellable(store->job, NULL);
        hawser_status status = hw_job_uncancellable(store->job, hw_store_ask_file(store, HW_CONTROL_LOAD, path, error));
        for (uint32_t t = 0; (status == HAWSER_OK || status == HAWSER_NOT_FINITE) && t < hw_client_tables(store->client);
             t++)
            hw_worker_cache_forget(store, t);
        return status;
    }
    if (store->job->recorder != NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "%s: a history (--record-history) cannot record what a file loads: load it without a history",
                           path);
    restoring r = {.store = store, .path = path, .file = {.fd = -1}};
    hw_job_cancellable(store->job, NULL);
    hawser_status status = hw_job_uncancellable(store->job, load(&r, error));
    hw_tensors_close(&r.file);
    for (int p = HW_PART_VALUES; p <= HW_PART_KEYS; p++)
        free(r.part[p]);
    for (uint32_t n = 0; r.coming != NULL && n < store->nodes; n++)
        free(r.coming[n]);
    free(r.coming);
    free(r.servers);
    free(r.damages);
    free(r.stored);
    free_all(r.in, store->nodes);
    free(r.in);
    free(r.out);
    return status;
}
