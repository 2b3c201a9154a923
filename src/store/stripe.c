#include "store/stripe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "codec/keys.h"
#include "consistency/consistency.h"
#include "store/note.h"

/* Publishes figures, for threads that do not work on the stripe. */
static void publish_keys(hw_stripe *stripe)
{
    uint64_t keys = 0, bytes = 0;
    for (size_t i = 0; i < stripe->shard_count; i++) {
        keys += hw_table_shard_keys(stripe->shards[i]);
        bytes += hw_table_shard_bytes(stripe->shards[i]);
    }
    atomic_store_explicit(&stripe->keys, keys, memory_order_relaxed);
    atomic_store_explicit(&stripe->bytes, bytes, memory_order_relaxed);
}

/* Opens a shard of the keys first..last over a dense table's memory, beginning at a row. */
static hawser_status open_over(hw_served *served, size_t row, uint64_t first, uint64_t last, hw_table_shard **shard,
                               hawser_error *error)
{
    const hw_table_spec *spec = &served->spec;
    size_t doubles = (size_t)spec->width * spec->function->memory;
    unsigned char *values = served->values + row * spec->width * hw_value_size(spec->type);
    double *memory = doubles > 0 ? served->memory + row * doubles : NULL;
    return hw_table_shard_over(spec, first, last, values, memory, shard, error);
}

/* Opens a shard over the next rows of a dense table's memory, or a sparse shard with its own. */
static hawser_status open_shard(hw_served *served, const hw_arc *arc, hw_table_shard **shard, hawser_error *error)
{
    if (served->spec.sparse)
        return hw_table_shard_new(&served->spec, arc->first, arc->last, shard, error);
    HAWSER_TRY(open_over(served, served->rows, arc->first, arc->last, shard, error));
    served->rows += (size_t)(arc->last - arc->first) + 1;
    return HAWSER_OK;
}

hawser_status hw_stripe_open(hw_stripe *stripe, hw_server *server, hw_served *served, const hw_arc *arcs, size_t count,
                             hawser_error *error)
{
    const hw_table_spec *spec = &served->spec;
    stripe->server = server;
    stripe->spec = spec;
    stripe->first = spec->sparse ? spec->first : arcs[0].first;
    stripe->last = spec->sparse ? spec->last : arcs[count - 1].last;
    stripe->waiting_end = &stripe->waiting;
    atomic_init(&stripe->arrived, NULL);
    atomic_init(&stripe->busy, false);
    HAWSER_TRY(HW_NEW(&stripe->shards, count, "a stripe of a table", error));
    HAWSER_TRY(HW_NEW(&stripe->arcs, count, "a stripe of a table", error));
    size_t row = served->rows;
    for (; stripe->shard_count < count; stripe->shard_count++) {
        const hw_arc *arc = &arcs[stripe->shard_count];
        HAWSER_TRY(open_shard(served, arc, &stripe->shards[stripe->shard_count], error));
        stripe->arcs[stripe->shard_count] = *arc;
    }
    if (!spec->sparse && count > 1)
        HAWSER_TRY(open_over(served, row, 0, served->rows - row - 1, &stripe->rows, error));
    publish_keys(stripe);
    return HAWSER_OK;
}

void hw_stripe_close(hw_stripe *stripe)
{
    for (size_t i = 0; i < stripe->shard_count; i++)
        hw_table_shard_free(stripe->shards[i]);
    if (stripe->log != NULL)
        stripe->server->options.drop(stripe->log);
    hw_table_shard_free(stripe->rows);
    free(stripe->shards);
    free(stripe->arcs);
}

/* ----------------------------------------------------------------------------------------------------------- clocks ---- */

/* Returns the least time of the stripe's own keys among first..last. Other servers' keys lie between its arcs, and their
 * times never advance here. */
static uint64_t least_on_own(const hw_stripe *stripe, const hw_range_clock *clock, uint64_t first, uint64_t last)
{
    uint64_t least = UINT64_MAX;
    size_t at = hw_arcs_find(&(hw_arcs){stripe->arcs, stripe->shard_count}, first);
    for (; at < stripe->shard_count && stripe->arcs[at].first <= last; at++) {
        const hw_arc *arc = &stripe->arcs[at];
        if (arc->last < first)
            continue;
        uint64_t own =
            hw_range_clock_least(clock, arc->first > first ? arc->first : first, arc->last < last ? arc->last : last);
        least = own < least ? own : least;
    }
    return least;
}

static uint64_t least_ended(const hw_stripe *stripe, const hw_inflight *inflight, uint64_t first, uint64_t last)
{
    const hw_progress *progress = hw_progress_of(stripe, inflight);
    uint64_t least = UINT64_MAX;
    for (uint32_t w = 0; w < inflight->group->workers; w++) {
        uint64_t own = least_on_own(stripe, &progress->clocks[w], first, last);
        if (own < least)
            least = own;
    }
    return least;
}

/* Returns the clocks of all workers of the request's group that the values contain. */
static uint64_t least_clock(const hw_stripe *stripe, const hw_inflight *inflight, uint64_t first, uint64_t last)
{
    uint64_t least = least_ended(stripe, inflight, first, last);
    const hw_clock_sum *sum = hw_progress_of(stripe, inflight)->sums.clocks;
    return sum != NULL && sum->clock < least ? sum->clock : least;
}

/* Returns the first and last key of a piece. Keys between those of a list count as well, which can only delay the
 * request. */
static void span_of(const hw_piece *piece, uint64_t *first, uint64_t *last)
{
    const hw_inflight *inflight = piece->inflight;
    *first = piece->first;
    *last = piece->last;
    if (inflight->spec->sparse) {
        *first = inflight->request.head.first;
        *last = inflight->request.head.last;
    }
}

/* Returns whether the piece can be done now. */
static bool may_be_done(const hw_stripe *stripe, const hw_piece *piece)
{
    const hw_inflight *inflight = piece->inflight;
    const hw_request *request = &inflight->request;
    const hw_request_head *head = &request->head;
    uint64_t first, last;
    span_of(piece, &first, &last);
    if (head->operation == HW_CLOCK || hw_operation_unordered(head->operation))
        return true;
    if (!stripe->spec->centric)
        return head->least == 0 || least_clock(stripe, inflight, first, last) >= head->least;
    if (head->reread != 0 && hw_before_is_past(stripe, piece)) /* it will be refused */
        return true;
    uint64_t delay = stripe->spec->delay;
    if (request->values != NULL && !hw_admit_chunk_write(delay, least_clock(stripe, inflight, first, last), head->clock))
        return false;
    const hw_range_clock *written = &hw_progress_of(stripe, inflight)->written;
    return inflight->out == NULL || hw_admit_chunk_read(delay, least_on_own(stripe, written, first, last), head->clock);
}

/* Returns whether a piece that cannot be done now can never be: it waits for a clock of a lost worker, or in a data-centric
 * table for an iteration that this worker may have had to write. */
static bool is_hopeless(const hw_stripe *stripe, const hw_piece *piece)
{
    const hw_inflight *inflight = piece->inflight;
    const hw_group *group = inflight->group;
    uint64_t first, last;
    if (!atomic_load(&group->any_lost))
        return false;
    if (stripe->spec->centric)
        return true;
    span_of(piece, &first, &last);
    for (uint32_t w = 0; w < group->workers; w++)
        if (atomic_load(&group->lost[w]) &&
            least_on_own(stripe, &hw_progress_of(stripe, inflight)->clocks[w], first, last) < inflight->request.head.least)
            return true;
    return false;
}

/* ------------------------------------------------------------------------------------------------------------ doing ---- */

static size_t row_bytes(const hw_inflight *inflight)
{
    return inflight->spec->width * hw_value_size(inflight->spec->type);
}

/* Reasons of a failed request for which there is no hawser_status. */
enum { WAITS_TOO_MUCH = 1, AHEAD_TOO_MUCH, IS_PAST, IS_NOT_KEPT, WORKER_LOST };

static void fail(hw_inflight *inflight, int why)
{
    atomic_store_explicit(&inflight->failed, why, memory_order_relaxed);
}

static void lower(_Atomic uint64_t *least, uint64_t to)
{
    uint64_t now = atomic_load_explicit(least, memory_order_relaxed);
    while (to < now && !atomic_compare_exchange_weak_explicit(least, &now, to, memory_order_relaxed, memory_order_relaxed))
        ;
}

/* Marks the request as failed if a piece was not done, or not all of it. */
static void fail_after(hw_inflight *inflight, hawser_status status, const hw_overflow *overflow)
{
    if (overflow->any) {
        lower(&inflight->overflowed, overflow->key);
        fail(inflight, HAWSER_NOT_FINITE);
    }
    if (status != HAWSER_OK)
        fail(inflight, status);
}

static void words_of(const hw_inflight *inflight, int failed, char *words, size_t size)
{
    const char *table = inflight->spec->name;
    size_t most = hw_waiting_most(inflight->server) >> 20;
    if (failed == WAITS_TOO_MUCH)
        snprintf(
            words, size,
            "table '%s': requests of this client that wait for clocks hold more than %zu MiB here already; ask for less "
            "ahead of the others",
            table, most);
    else if (failed == AHEAD_TOO_MUCH)
        snprintf(
            words, size,
            "table '%s': pushes of this group in clocks that are not over hold more than %zu MiB a client here already; "
            "end the clocks before",
            table, most);
    else if (failed == WORKER_LOST)
        snprintf(words, size, "%s; table '%s': a request waits for a clock of that node's workers, which cannot come",
                 inflight->group->loss, table);
    else if (failed == IS_PAST)
        snprintf(words, size,
                 "table '%s': worker %u has read a later iteration than %llu on these keys; its last one alone can be read "
                 "again",
                 table, inflight->request.head.worker, (unsigned long long)inflight->request.head.clock);
    else if (failed == IS_NOT_KEPT)
        snprintf(words, size,
                 "table '%s': what worker %u would read again in iteration %llu was not kept, for want of memory "
                 "(--memory-limit of the servers)",
                 table, inflight->request.head.worker, (unsigned long long)inflight->request.head.clock);
    else if (failed == HAWSER_NOT_FINITE)
        snprintf(words, size, "table '%s': key %llu overflows: %s would make it infinite or NaN, so it keeps its last value",
                 table, (unsigned long long)atomic_load_explicit(&inflight->overflowed, memory_order_relaxed),
                 inflight->request.head.operation == HW_CLOCK ? "the sum of all workers' pushes in a clock" : "this push");
    else
        snprintf(words, size, "table '%s': %s", table,
                 failed == HAWSER_BAD_INPUT   ? "a push in a clock that its worker has ended"
                 : failed == HAWSER_PEER_LOST ? "its group has ended"
                                              : "the server has no memory left for it");
}

/* Does a range, shard by shard. */
static void do_range(hw_stripe *stripe, const hw_piece *piece)
{
    hw_inflight *inflight = piece->inflight;
    size_t bytes = row_bytes(inflight), at = hw_arcs_find(&(hw_arcs){stripe->arcs, stripe->shard_count}, piece->first);
    const unsigned char *values = inflight->request.values;
    for (; at < stripe->shard_count && stripe->arcs[at].first <= piece->last; at++) {
        const hw_arc *arc = &stripe->arcs[at];
        uint64_t first = arc->first > piece->first ? arc->first : piece->first;
        uint64_t last = arc->last < piece->last ? arc->last : piece->last;
        size_t offset = (piece->begin + (size_t)(first - piece->first)) * bytes;
        hw_overflow overflow = {0};
        if (values != NULL)
            fail_after(inflight,
                       hw_table_shard_apply_range(stripe->shards[at], first, last, values + offset, &overflow, NULL),
                       &overflow);
        if (inflight->out != NULL && !inflight->zero_copy)
            hw_table_shard_get_range(stripe->shards[at], first, last, inflight->out + offset);
    }
}

/* Stores the rows of keys in a stripe that has several arcs. */
static void rows_of(const hw_stripe *stripe, const uint64_t *keys, size_t count, uint64_t *rows)
{
    uint64_t before = 0; /* rows of the arcs before this one */
    const hw_arc *arc = stripe->arcs;
    for (size_t i = 0; i < count; before += arc->last - arc->first + 1, arc++) {
        size_t end = keys[i] <= arc->last ? hw_keys_up_to(keys, i, count, arc->last) : i;
        for (; i < end; i++)
            rows[i] = keys[i] - arc->first + before;
    }
}

/* Applies pushes to keys of one shard. `rows` are its names for these keys; NULL: the keys. */
static void apply_list(hw_inflight *inflight, hw_table_shard *shard, const uint64_t *rows, const uint64_t *keys,
                       size_t count, const unsigned char *values)
{
    hw_overflow overflow = {0};
    hawser_status status = hw_table_shard_apply(shard, rows != NULL ? rows : keys, count, values, &overflow, NULL);
    for (size_t i = 0; rows != NULL && overflow.any && i < count; i++)
        if (rows[i] == overflow.key) {
            overflow.key = keys[i];
            break;
        }
    fail_after(inflight, status, &overflow);
}

/* Does the keys of several arcs together, by their rows: prefetching stops at the end of a list, so long lists are
 * faster. */
static void do_list(hw_stripe *stripe, const hw_piece *piece)
{
    enum { BATCH = 2048 };
    hw_inflight *inflight = piece->inflight;
    bool several = stripe->rows != NULL;
    hw_table_shard *shard = several ? stripe->rows : stripe->shards[0];
    size_t bytes = row_bytes(inflight), most = several ? BATCH : piece->end - piece->begin;
    const unsigned char *values = inflight->request.values;
    uint64_t rows[BATCH];
    for (size_t i = piece->begin, n; i < piece->end; i += n) {
        n = piece->end - i < most ? piece->end - i : most;
        const uint64_t *keys = inflight->request.keys + i;
        if (several)
            rows_of(stripe, keys, n, rows);
        if (values != NULL)
            apply_list(inflight, shard, several ? rows : NULL, keys, n, values + i * bytes);
        if (inflight->out != NULL)
            hw_table_shard_get(shard, several ? rows : keys, n, inflight->out + i * bytes);
    }
}

/* Does keys that came as bits, shard by shard. */
static void do_bits(hw_stripe *stripe, const hw_piece *piece)
{
    hw_inflight *inflight = piece->inflight;
    const uint64_t *bits = inflight->request.bits, from = inflight->request.head.first;
    const unsigned char *values = inflight->request.values;
    size_t bytes = row_bytes(inflight), row = piece->begin;
    size_t at = hw_arcs_find(&(hw_arcs){stripe->arcs, stripe->shard_count}, piece->first);
    for (; at < stripe->shard_count && stripe->arcs[at].first <= piece->last; at++) {
        const hw_arc *arc = &stripe->arcs[at];
        hw_table_shard *shard = stripe->shards[at];
        uint64_t first = arc->first > piece->first ? arc->first : piece->first;
        uint64_t last = arc->last < piece->last ? arc->last : piece->last;
        size_t count = 0;
        if (first > last)
            continue;
        hw_overflow overflow = {0};
        if (values != NULL)
            fail_after(
                inflight,
                hw_table_shard_apply_bits(shard, first, last, bits, from, values + row * bytes, &count, &overflow, NULL),
                &overflow);
        if (inflight->out != NULL)
            count = hw_table_shard_get_bits(shard, first, last, bits, from, inflight->out + row * bytes);
        row += count;
    }
}

/* Does keys of a sparse table. They are grouped by stripe and their rows are scattered, so a small buffer gathers rows. */
static void do_grouped(hw_stripe *stripe, const hw_piece *piece)
{
    enum { BUFFER = 8192 };
    hw_inflight *inflight = piece->inflight;
    size_t bytes = row_bytes(inflight), most = BUFFER / bytes > 0 ? BUFFER / bytes : 1;
    const unsigned char *values = inflight->request.values;
    _Alignas(8) unsigned char near[BUFFER], *buffer = near;
    if (bytes > BUFFER && (buffer = malloc(bytes)) == NULL) {
        fail(inflight, HAWSER_NO_MEMORY);
        return;
    }
    for (size_t i = piece->begin, n; i < piece->end; i += n) {
        n = piece->end - i < most ? piece->end - i : most;
        const uint64_t *keys = inflight->grouped + i;
        const uint32_t *rows = inflight->rows + i;
        for (size_t k = 0; values != NULL && k < n; k++)
            memcpy(buffer + k * bytes, values + rows[k] * bytes, bytes);
        if (values != NULL)
            apply_list(inflight, stripe->shards[0], NULL, keys, n, buffer);
        if (inflight->out == NULL)
            continue;
        hw_table_shard_get(stripe->shards[0], keys, n, buffer);
        for (size_t k = 0; k < n; k++)
            memcpy(inflight->out + rows[k] * bytes, buffer + k * bytes, bytes);
    }
    if (buffer != near)
        free(buffer);
}

/* Sets rows one by one, whatever the table's function is. */
static void set_rows(hw_stripe *stripe, const hw_piece *piece)
{
    hw_inflight *inflight = piece->inflight;
    size_t bytes = row_bytes(inflight);
    const unsigned char *values = inflight->request.values;
    for (size_t i = piece->begin; i < piece->end; i++) {
        uint64_t key = inflight->grouped != NULL        ? inflight->grouped[i]
                       : inflight->request.keys != NULL ? inflight->request.keys[i]
                                                        : piece->first + (i - piece->begin);
        size_t row = inflight->grouped != NULL ? inflight->rows[i] : i;
        size_t at = inflight->grouped != NULL ? 0 : hw_arcs_find(&(hw_arcs){stripe->arcs, stripe->shard_count}, key);
        hawser_status status = hw_table_shard_put(stripe->shards[at], key, values + row * bytes, NULL, NULL);
        if (status != HAWSER_OK)
            fail(inflight, status);
    }
}

/* Copies or sets what the function remembers of a range, shard by shard. */
static void do_memory(hw_stripe *stripe, const hw_piece *piece)
{
    hw_inflight *inflight = piece->inflight;
    size_t at = hw_arcs_find(&(hw_arcs){stripe->arcs, stripe->shard_count}, piece->first), row = piece->begin;
    const unsigned char *values = inflight->request.values;
    for (uint64_t key = piece->first; row < piece->end; key = stripe->arcs[at].first) {
        uint64_t last = stripe->arcs[at].last < piece->last ? stripe->arcs[at].last : piece->last;
        hw_table_shard *shard = stripe->shards[at];
        if (values != NULL)
            hw_table_shard_set_memory(shard, key, last, values + row * row_bytes(inflight));
        else
            hw_table_shard_get_memory(shard, key, last, inflight->out + row * row_bytes(inflight));
        row += (size_t)(last - key) + 1;
        if (row < piece->end)
            at++;
    }
}

/* Keeps the version before a change, if a worker may repeat an iteration that reads it. */
static void keep_before(hw_stripe *stripe, const hw_piece *piece)
{
    const hw_inflight *inflight = piece->inflight;
    if (stripe->spec->centric && stripe->spec->delay != HW_DELAY_NONE && inflight->request.values != NULL &&
        !hw_operation_unordered(inflight->request.head.operation))
        hw_before_keep(stripe, piece, least_ended(stripe, inflight, piece->first, piece->last));
}

static void put_by(hw_stripe *stripe, const hw_piece *piece)
{
    if (!hw_stripe_may_put_by(stripe, piece)) {
        fail(piece->inflight, AHEAD_TOO_MUCH);
        return;
    }
    hw_overflow overflow = {0};
    hawser_status status = hw_stripe_put_by(stripe, piece, &overflow, NULL);
    fail_after(piece->inflight, status, &overflow);
}

/* Advances the keys' clocks after a piece: a clock has ended, or keys were read or written in an iteration. The end of an
 * iteration counts as a read of all keys that were not read. */
static void note_clocks(hw_stripe *stripe, const hw_piece *piece)
{
    hw_inflight *inflight = piece->inflight;
    const hw_request_head *head = &inflight->request.head;
    bool ends = head->operation == HW_CLOCK, centric = stripe->spec->centric;
    hw_progress *progress = hw_progress_of(stripe, inflight);
    uint64_t first, last;
    span_of(piece, &first, &last);
    hawser_status status = HAWSER_OK;
    hw_overflow overflow = {0};
    if (ends || (centric && inflight->out != NULL)) {
        hw_range_clock *clock = &progress->clocks[head->worker];
        size_t before = clock->count;
        status = hw_range_clock_advance(clock, first, last, head->clock + 1, NULL);
        if (clock->count != before) { /* modulo 2^64 */
            atomic_fetch_add_explicit(&stripe->clock_ranges, (uint64_t)clock->count - before, memory_order_relaxed);
            atomic_fetch_add_explicit(&progress->ranges, (uint64_t)clock->count - before, memory_order_relaxed);
        }
    }
    if (status == HAWSER_OK && ends && progress->sums.clocks != NULL)
        status = hw_stripe_settle(stripe, inflight->group, progress,
                                  least_ended(stripe, inflight, stripe->first, stripe->last), &overflow, NULL);
    if (status == HAWSER_OK && centric && inflight->request.values != NULL) {
        size_t before = progress->written.count;
        status = hw_range_clock_advance(&progress->written, first, last, head->clock + 1, NULL);
        atomic_fetch_add_explicit(&progress->ranges, (uint64_t)progress->written.count - before, memory_order_relaxed);
    }
    fail_after(inflight, status, &overflow);
}

/* Turns the reply into a refusal; a refused clock is reported to every client of its group. Returns false if there was no
 * memory for that. */
static bool refuse(hw_inflight *inflight, int failed, hw_message **reply)
{
    char words[600];
    hw_message *refusal = NULL;
    words_of(inflight, failed, words, sizeof words);
    if (inflight->request.head.operation == HW_CLOCK) {
        hw_group_refuse(inflight->group, inflight->session, &inflight->request.head,
                        failed == HAWSER_NOT_FINITE                           ? HW_CLOCK_OVERFLOWED
                        : failed == HAWSER_NO_MEMORY || failed == IS_NOT_KEPT ? HW_CLOCK_NO_MEMORY
                                                                              : HW_CLOCK_REFUSED,
                        words);
        return true;
    }
    atomic_fetch_add_explicit(&inflight->server->refused, 1, memory_order_relaxed);
    hw_outcome outcome = failed == HAWSER_NO_MEMORY || failed == IS_NOT_KEPT ? HW_OUT_OF_MEMORY
                         : failed == HAWSER_NOT_FINITE                       ? HW_NOT_FINITE
                         : failed == WORKER_LOST                             ? HW_WORKER_LOST
                                                                             : HW_REFUSED;
    bool replied = hw_refusal_write(&inflight->request.head, outcome, words, &refusal, NULL) == HAWSER_OK;
    if (replied) {
        hw_message_free(*reply);
        *reply = refusal;
    } else if (*reply != NULL) {
        hw_reply_to_refusal(*reply);
    }
    return replied;
}

/* Sends the reply when the last piece of a request in flight is done. */
static void finish(hw_piece *piece)
{
    hw_inflight *inflight = piece->inflight;
    if (atomic_fetch_sub_explicit(&inflight->left, 1, memory_order_acq_rel) > 1)
        return;
    hw_server *server = inflight->server;
    hw_message *reply = inflight->reply;
    hw_batch *batch = inflight->batch;
    hw_reply_head head;
    bool replied = true;
    int failed = atomic_load_explicit(&inflight->failed, memory_order_relaxed);
    if (failed != HAWSER_OK) {
        replied = refuse(inflight, failed, &reply);
    } else if (reply != NULL) {
        memcpy(&head, reply->payload, sizeof head);
        head.clock = atomic_load_explicit(&inflight->least, memory_order_relaxed);
        memcpy(reply->payload, &head, sizeof head);
        if (inflight->out != NULL)
            hw_reply_pack(inflight->spec, inflight->zero_copy ? inflight->out : NULL, server->pool, &reply);
        atomic_fetch_add_explicit(&server->bytes_out, reply->envelope.length, memory_order_relaxed);
    }
    inflight->reply = NULL;
    inflight->batch = NULL;
    hw_client_session *session = inflight->session;
    size_t bytes = inflight->bytes;
    bool waited = atomic_load(&inflight->waited);
    hw_inflight_free(inflight);
    if (reply != NULL)
        server->options.reply(server->options.argument, session->client, reply);
    hw_batch_done(server, session->client, batch, replied);
    hw_client_session_relieve(session, bytes, waited);
}

/* Fails a repeated pull whose version is not kept any more. */
static bool comes_too_late(hw_stripe *stripe, const hw_piece *piece)
{
    bool past = hw_before_is_past(stripe, piece);
    if (!past && !hw_before_lacks(stripe, piece))
        return false;
    fail(piece->inflight, past ? IS_PAST : IS_NOT_KEPT);
    hw_note_refused(stripe, piece);
    return true;
}

static void do_piece(hw_stripe *stripe, hw_piece *piece)
{
    hw_inflight *inflight = piece->inflight;
    bool again = inflight->request.head.reread != 0;
    if (again && comes_too_late(stripe, piece)) {
        finish(piece);
        return;
    }
    if (inflight->request.head.operation != HW_CLOCK) {
        if (inflight->out != NULL && inflight->group->workers > 0) {
            uint64_t first, last;
            span_of(piece, &first, &last);
            lower(&inflight->least, least_clock(stripe, inflight, first, last));
        }
        keep_before(stripe, piece);
        if (inflight->request.head.operation == HW_PUT)
            set_rows(stripe, piece);
        else if (hw_operation_of_memory(inflight->request.head.operation))
            do_memory(stripe, piece);
        else if (stripe->spec->summed && inflight->request.values != NULL)
            put_by(stripe, piece);
        else if (inflight->grouped != NULL)
            do_grouped(stripe, piece);
        else if (inflight->request.head.keys == HW_KEYS_RANGE)
            do_range(stripe, piece);
        else if (inflight->request.bits != NULL)
            do_bits(stripe, piece);
        else
            do_list(stripe, piece);
        if (again)
            hw_before_give(stripe, piece);
    }
    if (!hw_operation_unordered(inflight->request.head.operation))
        note_clocks(stripe, piece);
    hw_note_piece(stripe, piece);
    hw_stripe_count_rows(stripe, piece->reserved);
    piece->reserved = 0;
    finish(piece);
}

/* Returns false if the client has too many waiting requests, or this request has failed. A request of which a part waits
 * already is counted as a whole. */
static bool may_wait(const hw_inflight *inflight)
{
    if (!hw_inflight_of_client(inflight))
        return true;
    if (atomic_load_explicit(&inflight->failed, memory_order_relaxed) != HAWSER_OK)
        return false;
    return atomic_load(&inflight->waited) || atomic_load(&inflight->session->waiting) <= hw_waiting_most(inflight->server);
}

static void let_wait(hw_stripe *stripe, hw_piece *piece)
{
    if (is_hopeless(stripe, piece)) {
        fail(piece->inflight, WORKER_LOST);
        finish(piece);
        return;
    }
    if (!may_wait(piece->inflight)) {
        int as_yet = HAWSER_OK;
        atomic_compare_exchange_strong(&piece->inflight->failed, &as_yet, WAITS_TOO_MUCH);
        finish(piece);
        return;
    }
    atomic_fetch_add_explicit(&stripe->server->deferred, 1, memory_order_relaxed);
    hw_note_waits(stripe, piece);
    hw_inflight_waits(piece->inflight);
    piece->next = NULL;
    *stripe->waiting_end = piece;
    stripe->waiting_end = &piece->next;
}

/* Fails the waiting pieces of a group that wait for its lost workers. */
static void refuse_hopeless(hw_stripe *stripe, const hw_piece *loss_marker)
{
    const hw_group *group = loss_marker->inflight->group;
    hw_progress *progress = (hw_progress *)(void *)((char *)(uintptr_t)loss_marker - offsetof(hw_progress, loss_marker));
    hw_piece **at = &stripe->waiting;
    atomic_store(&progress->loss_queued, false); /* what is lost from here on queues it again */
    while (*at != NULL) {
        hw_piece *piece = *at;
        if (piece->inflight->group != group || !is_hopeless(stripe, piece)) {
            at = &piece->next;
            continue;
        }
        *at = piece->next;
        fail(piece->inflight, WORKER_LOST);
        finish(piece);
    }
    stripe->waiting_end = at;
}

/* Drops the waiting pieces of a group that has ended. */
static void drop_group(hw_stripe *stripe, const hw_piece *end_marker)
{
    hw_group *group = end_marker->inflight->group;
    hw_piece **at = &stripe->waiting;
    while (*at != NULL) {
        hw_piece *piece = *at;
        if (piece->inflight->group != group) {
            at = &piece->next;
            continue;
        }
        *at = piece->next;
        fail(piece->inflight, HAWSER_PEER_LOST);
        finish(piece);
    }
    stripe->waiting_end = at;
    if (atomic_fetch_sub_explicit(&group->end_marker->left, 1, memory_order_acq_rel) == 1)
        atomic_store(&group->over, true);
}

/* Clocks of the keys first..last have advanced. Does the waiting pieces that this admits, in order of arrival, until no more
 * are admitted. Pieces about other keys are skipped: with many workers they are most of the waiting ones. */
static void wake_waiting(hw_stripe *stripe, uint64_t first, uint64_t last)
{
    while (first <= last) {
        uint64_t low = UINT64_MAX, high = 0, begin, end;
        hw_piece **at = &stripe->waiting;
        while (*at != NULL) {
            hw_piece *piece = *at;
            span_of(piece, &begin, &end);
            if (end < first || begin > last || !may_be_done(stripe, piece)) {
                at = &piece->next;
                continue;
            }
            *at = piece->next;
            do_piece(stripe, piece);
            if (stripe->spec->centric) {
                low = begin < low ? begin : low;
                high = end > high ? end : high;
            }
        }
        stripe->waiting_end = at;
        first = low;
        last = high;
    }
}

/* ------------------------------------------------------------------------------------------------------------ queue ---- */

bool hw_stripe_put(hw_stripe *stripe, hw_piece *piece)
{
    piece->next = atomic_load_explicit(&stripe->arrived, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&stripe->arrived, &piece->next, piece, memory_order_seq_cst,
                                                  memory_order_relaxed))
        ;
    return !atomic_exchange(&stripe->busy, true);
}

/* Returns the pieces that have arrived, oldest first. */
static hw_piece *take_all(hw_stripe *stripe)
{
    hw_piece *newest = atomic_exchange_explicit(&stripe->arrived, NULL, memory_order_acquire), *oldest = NULL;
    while (newest != NULL) {
        hw_piece *next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    return oldest;
}

void hw_stripe_work(hw_stripe *stripe)
{
    do {
        for (hw_piece *piece = take_all(stripe), *next; piece != NULL; piece = next) {
            next = piece->next;
            if (piece->inflight->request.head.operation == HW_END_OF_GROUP) {
                drop_group(stripe, piece);
                continue;
            }
            if (piece->inflight->request.head.operation == HW_LOSS_IN_GROUP) {
                refuse_hopeless(stripe, piece);
                continue;
            }
            bool moves = piece->inflight->request.head.operation == HW_CLOCK || stripe->spec->centric;
            uint64_t first, last;
            span_of(piece, &first, &last);
            if (may_be_done(stripe, piece)) {
                do_piece(stripe, piece);
                if (moves)
                    wake_waiting(stripe, first, last);
            } else {
                let_wait(stripe, piece);
            }
        }
        if (stripe->spec->sparse)
            publish_keys(stripe);
        atomic_store(&stripe->busy, false);
        /* If a piece arrived meanwhile and its thread found the stripe busy, this thread does it. */
    } while (atomic_load(&stripe->arrived) != NULL && !atomic_exchange(&stripe->busy, true));
}
