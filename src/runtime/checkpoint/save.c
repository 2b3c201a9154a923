/* save.c - saves a store's tables to a safetensors file. Node 0 writes it from front to back and receives the next rows from
 * their servers, a few MiB at a time. All nodes go through the same rounds, even after a failed write. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/argument.h"
#include "base/file.h"
#include "base/memory.h"
#include "runtime/checkpoint/checkpoint.h"

enum { ROUND_BYTES = 4 << 20 };

typedef struct saving {
    hawser_store *store;
    hw_file file; /* on node 0, like the next fields */
    hw_checksum seal;
    hawser_status status;
    hawser_error *error;
    hw_bytes *out, *in; /* of one round, by node */
    unsigned char *piece;
    uint64_t *rows; /* of sparse tables: by table and server */
} saving;

uint64_t hw_store_rows(const hw_table_spec *spec, const uint64_t *rows, uint32_t servers)
{
    uint64_t all = 0;
    if (!spec->sparse)
        return spec->last - spec->first + 1;
    for (uint32_t s = 0; s < servers; s++)
        all += rows[s];
    return all;
}

/* Stores the number of rows of every table on this server in `own`, and behind them whether the sum of a clock has
 * overflowed here. */
static void count_own(const hawser_store *store, uint32_t tables, uint64_t *own)
{
    for (uint32_t t = 0; t < tables; t++)
        own[t] = hw_server_rows(store->server, t);
    own[tables] = hw_server_overflowed(store->server);
}

/* Refuses a clock that is half done, since its updates are not in the tables. Those of remote clients are dropped, as when
 * their group is lost. */
static hawser_status check_clocks(const hawser_store *store, uint32_t tables, hawser_error *error)
{
    uint64_t clock = 0;
    for (uint32_t t = 0; store->server != NULL && store->listener == NULL && t < tables; t++)
        if (hw_server_between(store->server, t, &clock))
            return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                               "table '%s' has updates of clock %" PRIu64 ", which not all workers have ended",
                               hw_client_table_at(store->client, t)->name, clock);
    return HAWSER_OK;
}

/* Stores what all servers have counted in s->rows. Returns whether the sum of a clock has overflowed on one of them. */
static bool take_counts(saving *s, uint32_t tables)
{
    const hawser_store *store = s->store;
    bool overflowed = false;
    for (uint32_t n = 0; n < store->nodes; n++) {
        const uint64_t *counts = s->in[n].data;
        for (uint32_t t = 0; n < store->servers && t < tables; t++)
            s->rows[(size_t)t * store->servers + n] = counts[t];
        overflowed = overflowed || counts[tables] != 0;
        free(s->in[n].data);
        s->in[n].data = NULL;
    }
    return overflowed;
}

/* Sends the number of rows of every table on every server to all, and checks that no clock is half done. After an overflow
 * of a clock's sum no worker can end a later clock. The file then leaves out the updates of later clocks, so the tables are
 * not lost. */
static hawser_status count_rows(saving *s, uint32_t tables, hawser_error *error)
{
    hawser_store *store = s->store;
    hw_cluster *cluster = store->job->cluster;
    uint64_t *own = NULL;
    hawser_status status = HW_NEW(&own, tables + 1, "a checkpoint", error);
    HAWSER_THEN(status, HW_NEW(&s->rows, (size_t)tables * store->servers, "a checkpoint", error));
    pthread_mutex_lock(&store->making);
    if (status == HAWSER_OK && store->server != NULL)
        count_own(store, tables, own);
    hawser_error between = {0};
    hawser_status clocks = check_clocks(store, tables, &between);
    pthread_mutex_unlock(&store->making);
    status = hw_cluster_agree(cluster, status, error);
    HAWSER_THEN(status, hw_cluster_allgather(cluster, (hw_bytes){own, (tables + 1) * sizeof *own}, s->in, error));
    free(own);
    HAWSER_TRY(status);
    if (!take_counts(s, tables) && clocks != HAWSER_OK)
        status = hawser_fail(error, clocks, "%s", between.text);
    return hw_cluster_agree(cluster, status, error);
}

/* Sends each server's part of the next rows to node 0. */
static hawser_status hand_in(saving *s, size_t bytes)
{
    s->out[0] = (hw_bytes){s->piece, bytes};
    return hw_cluster_alltoall(s->store->job->cluster, s->out, s->in, s->error);
}

static void write_bytes(saving *s, const void *data, size_t bytes)
{
    if (s->status == HAWSER_OK)
        s->status = hw_file_write(&s->file, data, bytes, s->error);
    hw_checksum_add(&s->seal, data, bytes);
}

/* Writes the pieces of a range of keys, arc by arc, and frees them; node 0 only. */
static void write_range(saving *s, uint32_t table, uint64_t first, uint64_t last, size_t row)
{
    const hw_arcs *arcs = hw_client_arcs(s->store->client, table);
    for (size_t i = hw_arcs_find(arcs, first); i < arcs->count && arcs->arcs[i].first <= last; i++) {
        const hw_arc *arc = &arcs->arcs[i];
        uint64_t from = arc->first > first ? arc->first : first, to = arc->last < last ? arc->last : last;
        hw_bytes *piece = &s->in[arc->server];
        size_t bytes = ((size_t)(to - from) + 1) * row;
        if (s->status == HAWSER_OK && piece->length < bytes)
            s->status = hawser_fail(s->error, HAWSER_INTERNAL, "server %u has not all keys of a range", arc->server);
        if (s->status != HAWSER_OK)
            return;
        /* Drops the bytes that were written from the front of the piece. */
        write_bytes(s, piece->data, bytes);
        piece->length -= bytes;
        memmove(piece->data, (unsigned char *)piece->data + bytes, piece->length);
    }
}

static void free_round(saving *s)
{
    for (uint32_t n = 0; n < s->store->nodes; n++) {
        free(s->in[n].data);
        s->in[n] = (hw_bytes){0};
    }
}

static hawser_status save_dense(saving *s, uint32_t table, const hw_table_spec *spec, hw_part part)
{
    size_t row = hw_part_bytes(spec, part), most = ROUND_BYTES / row > 0 ? ROUND_BYTES / row : 1;
    for (uint64_t first = spec->first;;) {
        uint64_t last = spec->last - first < most ? spec->last : first + most - 1;
        size_t rows = 0;
        if (s->store->server != NULL)
            rows = hw_server_take_range(s->store->server, table, first, last, part, s->piece);
        HAWSER_TRY(hand_in(s, rows * row));
        if (s->store->self == 0)
            write_range(s, table, first, last, row);
        free_round(s);
        if (last == spec->last)
            return HAWSER_OK;
        first = last + 1;
    }
}

static hawser_status save_sparse(saving *s, uint32_t table, const hw_table_spec *spec, hw_part part)
{
    size_t row = hw_part_bytes(spec, part), most = ROUND_BYTES / row > 0 ? ROUND_BYTES / row : 1;
    for (uint32_t server = 0; server < s->store->servers; server++) {
        hw_cursor cursor = {0};
        uint64_t left = s->rows[(size_t)table * s->store->servers + server];
        while (left > 0) {
            size_t count = left < most ? (size_t)left : most, rows = 0;
            if (s->store->self == server)
                rows = hw_server_take_rows(s->store->server, table, &cursor, count, part, s->piece);
            HAWSER_TRY(hand_in(s, rows * row));
            if (s->store->self == 0 && s->status == HAWSER_OK && s->in[server].length != count * row)
                s->status =
                    hawser_fail(s->error, HAWSER_INTERNAL, "server %u has not all rows of table '%s'", server, spec->name);
            if (s->store->self == 0)
                write_bytes(s, s->in[server].data, s->in[server].length);
            free_round(s);
            left -= count;
        }
    }
    return HAWSER_OK;
}

/* Saves tensors of eight-byte numbers first, so that all are aligned: hw_store_tensors defines the order. */
static hawser_status save_tensors(saving *s, uint32_t tables)
{
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t t = 0; t < tables; t++) {
            const hw_table_spec *spec = hw_client_table_at(s->store->client, t);
            for (int p = HW_PART_KEYS; p >= HW_PART_VALUES; p--) {
                if (hw_store_pass_of(spec, (hw_part)p) != pass)
                    continue;
                HAWSER_TRY(spec->sparse ? save_sparse(s, t, spec, (hw_part)p) : save_dense(s, t, spec, (hw_part)p));
            }
        }
    return HAWSER_OK;
}

static hawser_status begin_file(saving *s, const char *path, uint32_t tables, hawser_error *error)
{
    if (s->store->self != 0)
        return HAWSER_OK;
    char *header = NULL;
    HAWSER_TRY(hw_store_header(s->store, tables, s->rows, &header, error));
    uint64_t length = strlen(header);
    hawser_status status = hw_file_begin(&s->file, path, error);
    s->status = status;
    write_bytes(s, &length, sizeof length);
    write_bytes(s, header, length);
    free(header);
    return s->status;
}

/* Saves the tables while the stripes are held; requests wait at their stripes meanwhile. */
static hawser_status save_held(saving *s, const char *path, uint32_t tables, hawser_error *error)
{
    hawser_store *store = s->store;
    HAWSER_TRY(count_rows(s, tables, error));
    HAWSER_TRY(hw_cluster_agree(store->job->cluster, begin_file(s, path, tables, error), error));
    HAWSER_TRY(save_tensors(s, tables));
    uint64_t checksum = hw_checksum_of(&s->seal);
    if (store->self == 0)
        write_bytes(s, &checksum, sizeof checksum);
    if (store->self == 0 && s->status == HAWSER_OK)
        s->status = hw_file_commit(&s->file, error);
    return hw_cluster_agree(store->job->cluster, s->status, error);
}

/* Waits for the tasks in progress. The overflow of a push is reported after the save, because the tables' values are finite
 * and must not be lost. */
static hawser_status wait_for_all(hawser_store *store, hawser_error *overflow, hawser_error *error)
{
    hawser_error why = {0};
    hawser_status status = hawser_store_wait_all(store, &why);
    if (status == HAWSER_NOT_FINITE)
        *overflow = why;
    return status == HAWSER_OK || status == HAWSER_NOT_FINITE ? HAWSER_OK : hawser_fail(error, status, "%s", why.text);
}

/* Reports the overflow, after the tables were saved. */
static hawser_status report_overflow(const hawser_store *store, const hawser_error *overflow, hawser_error *error)
{
    hawser_status status = HAWSER_OK;
    if (overflow->status != HAWSER_OK)
        status = hawser_fail(error, overflow->status, "%.900s; the tables are saved", overflow->text);
    return hw_cluster_agree(store->job->cluster, status, error);
}

static hawser_status save(saving *s, const char *path, hawser_error *error)
{
    hawser_store *store = s->store;
    hawser_error overflow = {0};
    uint32_t tables = (uint32_t)hw_client_tables(store->client);
    size_t most = ROUND_BYTES;
    for (uint32_t t = 0; t < tables; t++)
        for (int p = HW_PART_VALUES; p <= HW_PART_KEYS; p++) {
            size_t row = hw_part_bytes(hw_client_table_at(store->client, t), (hw_part)p);
            most = row > most ? row : most;
        }
    hawser_status status = HW_NEW(&s->in, store->nodes, "a checkpoint", error);
    HAWSER_THEN(status, HW_NEW(&s->out, store->nodes, "a checkpoint", error));
    HAWSER_THEN(status, HW_NEW(&s->piece, most, "a checkpoint", error));
    HAWSER_THEN(status, wait_for_all(store, &overflow, error));
    HAWSER_TRY(hw_cluster_agree(store->job->cluster, status, error));
    hw_store_hold_all(store, false);
    status = save_held(s, path, tables, error);
    hw_store_release_all(store);
    return status == HAWSER_OK ? report_overflow(store, &overflow, error) : status;
}

hawser_status hw_store_ask_file(hawser_store *store, hw_control_message word, const char *name, hawser_error *error)
{
    hw_message *answer = NULL;
    hawser_error overflow = {0};
    hawser_status status =
        word == HW_CONTROL_SAVE ? wait_for_all(store, &overflow, error) : hawser_store_wait_all(store, error);
    HAWSER_THEN(status, hw_store_received(store, error));
    HAWSER_TRY(hw_cluster_agree(store->job->cluster, status, error));
    if (store->self == 0)
        status = hw_remote_ask(store->remote, 0, word, name, strlen(name) + 1, &answer, error);
    hw_message_free(answer);
    HAWSER_TRY(hw_cluster_agree(store->job->cluster, status, error));
    return report_overflow(store, &overflow, error);
}

hawser_status hawser_store_save(hawser_store *store, const char *path, hawser_error *error)
{
    HW_GIVEN_STORE(store);
    HW_GIVEN(path);
    hw_job_cancellable(store->job, NULL);
    if (store->remote != NULL)
        return hw_job_uncancellable(store->job, hw_store_ask_file(store, HW_CONTROL_SAVE, path, error));
    hawser_error own = {0};
    saving s = {.store = store, .error = error != NULL ? error : &own, .file = {.fd = -1}};
    hawser_status status = hw_job_uncancellable(store->job, save(&s, path, s.error));
    hw_file_abort(&s.file);
    free(s.in);
    free(s.out);
    free(s.piece);
    free(s.rows);
    return status;
}
