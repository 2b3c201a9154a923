/* server.c - the tables of a server: creates, finds, measures and frees them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "store/note.h"
#include "store/stripe.h"
#include "store/table_check.h"

enum { STRIPES = 8, LIST_BYTES = 16 << 20 };

static hawser_status own_session(hw_server *server, hawser_error *error)
{
    const hw_server_options *options = &server->options;
    hw_group *own = NULL;
    HAWSER_TRY(HW_NEW(&server->sessions, options->clients, "the clients of a server", error));
    HAWSER_TRY(hw_group_new(server, options->workers, &own, error));
    for (uint32_t c = 0; c < options->clients; c++)
        HAWSER_TRY(hw_client_session_new(own, c, &server->sessions[c], error));
    return HAWSER_OK;
}

hawser_status hw_server_new(const hw_server_options *options, hw_server **out, hawser_error *error)
{
    hw_server *server = NULL;
    HAWSER_TRY(HW_NEW(&server, 1, "a server of the store", error));
    server->options = *options;
    hw_server_limit(server, 0);
    if (server->options.stripes == 0)
        server->options.stripes = STRIPES;
    if (server->options.list_bytes == 0)
        server->options.list_bytes = LIST_BYTES;
    if (server->options.arc == 0)
        server->options.arc = HW_PART;
    hawser_status status = hw_ring_new(options->names, options->servers, HW_RING_POINTS, &server->ring, error);
    server->options.names = NULL;
    HAWSER_THEN(status, hw_pool_new(&server->pool, error));
    HAWSER_THEN(status, own_session(server, error));
    if (status != HAWSER_OK) {
        hw_server_free(server);
        return status;
    }
    *out = server;
    return HAWSER_OK;
}

static void free_waiting(hw_piece *piece)
{
    while (piece != NULL) {
        hw_piece *next = piece->next;
        uint8_t operation = piece->inflight->request.head.operation;
        bool end_marker = operation == HW_END_OF_GROUP || operation == HW_LOSS_IN_GROUP; /* a marker belongs to its group */
        if (!end_marker && atomic_fetch_sub(&piece->inflight->left, 1) == 1)
            hw_inflight_free(piece->inflight);
        piece = next;
    }
}

static void drop_waiting(hw_served *served)
{
    for (uint32_t s = 0; s < served->stripe_count; s++) {
        free_waiting(served->stripes[s].waiting);
        free_waiting(atomic_load(&served->stripes[s].arrived));
    }
}

static void free_served(hw_server *server, hw_served *served)
{
    if (served == NULL)
        return;
    hw_server_unreserve(server, served->reserved);
    for (uint32_t s = 0; s < served->stripe_count; s++)
        hw_stripe_close(&served->stripes[s]);
    free(served->stripes);
    free(served->values);
    free(served->memory);
    free(served);
}

void hw_server_free(hw_server *server)
{
    if (server == NULL)
        return;
    for (size_t t = 0; t < server->table_count; t++)
        drop_waiting(server->tables[t]);
    while (server->groups != NULL)
        hw_group_free(server->groups);
    for (size_t t = 0; t < server->table_count; t++)
        free_served(server, server->tables[t]);
    free(server->sessions);
    hw_pool_free(server->pool);
    hw_ring_free(&server->ring);
    free(server);
}

/* ----------------------------------------------------------------------------------------------------------- tables ---- */

/* Keeps a server's own arcs of a dense table. A sparse table has no arcs. */
static hawser_status own_arcs(const hw_server *server, const hw_table_spec *spec, hw_arcs *arcs, hawser_error *error)
{
    HAWSER_TRY(hw_arcs_deal(spec->first, spec->last, server->options.servers, hw_table_keys_of(spec, server->options.arc),
                            arcs, error));
    size_t own = 0;
    for (size_t i = 0; i < arcs->count; i++)
        if (arcs->arcs[i].server == server->options.self)
            arcs->arcs[own++] = arcs->arcs[i];
    arcs->count = own;
    return HAWSER_OK;
}

/* Cuts arcs that are longer than a stripe's share, so that a server with one long arc has as many stripes as one with many.
 * The cuts are even. If a share is more than three eighths of a request's part, they are after whole parts, so that one
 * stripe has each part and can send it without a copy. */
static hawser_status cut_long(const hw_server *server, const hw_table_spec *spec, hw_arcs *arcs, hawser_error *error)
{
    enum { KEYS_LEAST = 64 };
    double keys = 0, part = (double)hw_table_keys_of(spec, HW_PART);
    for (size_t i = 0; i < arcs->count; i++)
        keys += (double)(arcs->arcs[i].last - arcs->arcs[i].first) + 1;
    double share = fmax(KEYS_LEAST, keys / server->options.stripes);
    bool whole = share > 0.375 * part;
    if (whole)
        share = fmax(1, round(share / part)) * part;
    hw_arcs cut = {0};
    HAWSER_TRY(HW_NEW(&cut.arcs, 2 * (arcs->count + server->options.stripes), "the ranges of a table", error));
    for (size_t i = 0; i < arcs->count; i++) {
        const hw_arc *arc = &arcs->arcs[i];
        uint64_t span = arc->last - arc->first, parts = (uint64_t)ceil(((double)span + 1) / share);
        uint64_t step = whole ? (uint64_t)share - 1 : span / (parts > 0 ? parts : 1); /* keys of a step, less one */
        for (uint64_t first = arc->first;; first += step + 1) {
            bool ends = arc->last - first <= step;
            cut.arcs[cut.count++] = (hw_arc){first, ends ? arc->last : first + step, arc->server};
            if (ends)
                break;
        }
    }
    hw_arcs_free(arcs);
    *arcs = cut;
    return HAWSER_OK;
}

/* Makes stripes of neighbouring arcs, each with its share of the keys as far as whole arcs allow. */
static hawser_status open_dense(hw_server *server, hw_served *served, const hw_arcs *arcs, hawser_error *error)
{
    const uint64_t far = UINT64_C(1) << 62; /* more than an address space has */
    double keys = 0, done = 0;
    uint64_t rows = 0;
    void *values = NULL;
    for (size_t i = 0; i < arcs->count; i++) {
        uint64_t span = arcs->arcs[i].last - arcs->arcs[i].first;
        rows = span < UINT64_MAX - rows ? rows + span + 1 : UINT64_MAX;
        keys += (double)span + 1;
    }
    uint64_t row = hw_table_row_bytes(&served->spec), bytes = rows < far / row ? rows * row : far;
    if (!hw_server_reserve(server, bytes))
        return hw_server_over_quota(server, &served->spec, "its keys", bytes, error);
    served->reserved = bytes;
    HAWSER_TRY(hw_table_shard_memory(&served->spec, rows, &values, &served->memory, error));
    served->values = values;
    uint32_t most = server->options.stripes;
    for (size_t i = 0, end; i < arcs->count; i = end) {
        double wanted = keys * (served->stripe_count + 1) / most;
        for (end = i; end < arcs->count && (end == i || done < wanted || served->stripe_count + 1 == most); end++)
            done += (double)(arcs->arcs[end].last - arcs->arcs[end].first) + 1;
        hw_stripe *stripe = &served->stripes[served->stripe_count];
        stripe->number = served->stripe_count++;
        HAWSER_TRY(hw_stripe_open(stripe, server, served, arcs->arcs + i, end - i, error));
    }
    return HAWSER_OK;
}

static hawser_status open_sparse(hw_server *server, hw_served *served, hawser_error *error)
{
    hw_arc all = {served->spec.first, served->spec.last, server->options.self};
    while (served->stripe_count < server->options.stripes) {
        hw_stripe *stripe = &served->stripes[served->stripe_count];
        stripe->number = served->stripe_count++;
        HAWSER_TRY(hw_stripe_open(stripe, server, served, &all, 1, error));
    }
    return HAWSER_OK;
}

static hawser_status open_logs(const hw_server *server, hw_served *served, uint32_t number, hawser_error *error)
{
    const hw_server_options *options = &server->options;
    for (uint32_t s = 0; options->log != NULL && s < served->stripe_count; s++) {
        hw_stripe *stripe = &served->stripes[s];
        const hw_stream_name name = {.kind = HW_STREAM_STRIPE, .number = options->self << 16 | number << 6 | s};
        HAWSER_TRY(options->log(options->argument, name, &stripe->log, error));
        for (size_t i = 0; i < stripe->shard_count; i++)
            hw_note_table(stripe->log, &served->spec, number, stripe->arcs[i].first, stripe->arcs[i].last, options->workers);
    }
    return HAWSER_OK;
}

/* Returns the first difference in what servers know of a table, or NULL if there is none. */
static const char *difference(const hw_table_spec *a, const hw_table_spec *b)
{
    if (a->type != b->type)
        return "type";
    if (a->width != b->width)
        return "width";
    if (a->sparse != b->sparse || a->first != b->first || a->last != b->last)
        return "range of keys";
    if (a->function != b->function)
        return "function";
    if (memcmp(a->parameters, b->parameters, a->function->parameters * sizeof *a->parameters) != 0)
        return "parameters of its function";
    return a->centric != b->centric || a->delay != b->delay || a->summed != b->summed ? "order" : NULL;
}

hawser_status hw_server_make(hw_server *server, const hw_table_spec *spec, uint32_t *number, bool *fresh,
                             hawser_error *error)
{
    *fresh = false;
    HAWSER_TRY(hw_table_check(spec, error));
    for (size_t t = 0; t < server->table_count; t++) {
        if (strcmp(server->tables[t]->spec.name, spec->name) != 0)
            continue;
        *number = (uint32_t)t;
        const char *other = difference(&server->tables[t]->spec, spec);
        if (other == NULL)
            return HAWSER_OK;
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s' exists with another %s", spec->name, other);
    }
    if (server->table_count == HW_TABLES_MOST)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s': a store has %d tables at most", spec->name,
                           HW_TABLES_MOST);
    hw_served *served = NULL;
    hw_arcs arcs = {0};
    HAWSER_TRY(HW_NEW(&served, 1, "a table", error));
    served->spec = *spec;
    served->memory_rows = hw_table_memory_rows(spec);
    hawser_status status = HW_NEW(&served->stripes, server->options.stripes, "the stripes of a table", error);
    if (status == HAWSER_OK && !spec->sparse)
        status = own_arcs(server, spec, &arcs, error);
    if (status == HAWSER_OK && !spec->sparse)
        status = cut_long(server, spec, &arcs, error);
    HAWSER_THEN(status, spec->sparse ? open_sparse(server, served, error) : open_dense(server, served, &arcs, error));
    hw_arcs_free(&arcs);
    HAWSER_THEN(status, open_logs(server, served, (uint32_t)server->table_count, error));
    uint32_t next = (uint32_t)server->table_count;
    server->tables[next] = served;
    HAWSER_THEN(status, hw_groups_enter(server, next, error));
    if (status != HAWSER_OK) {
        server->tables[next] = NULL;
        free_served(server, served);
        return status;
    }
    *number = next;
    *fresh = true;
    server->made = next + 1;
    return HAWSER_OK;
}

void hw_server_show(hw_server *server, uint32_t number)
{
    atomic_store_explicit(&server->table_count, (size_t)number + 1, memory_order_release);
}

void hw_server_unmake(hw_server *server, uint32_t number)
{
    hw_groups_leave(server, number);
    server->made = number;
    free_served(server, server->tables[number]);
    server->tables[number] = NULL;
}

hawser_status hw_server_create(hw_server *server, const hw_table_spec *spec, uint32_t *number, hawser_error *error)
{
    bool fresh = false;
    HAWSER_TRY(hw_server_make(server, spec, number, &fresh, error));
    if (fresh)
        hw_server_show(server, *number);
    return HAWSER_OK;
}

uint32_t hw_server_stripes(const hw_server *server)
{
    return server->options.stripes;
}

const hw_table_spec *hw_server_table_at(const hw_server *server, uint32_t number)
{
    return number < atomic_load_explicit(&server->table_count, memory_order_acquire) ? &server->tables[number]->spec : NULL;
}

void hw_server_table_figures(const hw_server *server, uint32_t number, uint64_t *keys, uint64_t *bytes)
{
    const hw_served *served = server->tables[number];
    *keys = *bytes = 0;
    for (uint32_t s = 0; s < served->stripe_count; s++) {
        *keys += served->stripes[s].keys;
        *bytes += served->stripes[s].bytes;
    }
}

void hw_server_figures_of(hw_server *server, hw_server_figures *figures)
{
    *figures = (hw_server_figures){
        .requests = server->requests,
        .refused = server->refused,
        .forgotten = server->forgotten,
        .deferred = server->deferred,
        .keys_in = server->keys_in,
        .keys_out = server->keys_out,
        .bytes_in = server->bytes_in,
        .bytes_out = server->bytes_out,
        .quota_used = server->taken,
        .quota = server->quota,
    };
    for (uint32_t t = 0; hw_server_table_at(server, t) != NULL; t++) {
        uint64_t keys, bytes;
        hw_server_table_figures(server, t, &keys, &bytes);
        figures->keys += keys;
        figures->bytes += bytes;
        for (uint32_t s = 0; s < server->tables[t]->stripe_count; s++)
            figures->clock_ranges += server->tables[t]->stripes[s].clock_ranges;
    }
}

void hw_server_lose_workers(hw_server *server, const bool *lost, const char *words)
{
    hw_group *group = server->groups;
    while (group->next != NULL)
        group = group->next;
    hw_group_lose_workers(group, lost, words);
}
