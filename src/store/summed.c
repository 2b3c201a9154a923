/* summed.c - a stripe of a table whose function gets the sum of a clock: buffers pieces and applies their sum when all
 * workers have ended the clock. */
#include <string.h>

#include "base/memory.h"
#include "codec/keys.h"
#include "store/stripe.h"

/* Copies keys and rows of a piece into arrays if they are not in arrays: those of a range, and of a sparse table. */
static hawser_status gather(const hw_piece *piece, size_t row_bytes, hw_summed *rows, hawser_error *error)
{
    const hw_inflight *inflight = piece->inflight;
    rows->count = piece->end - piece->begin;
    HAWSER_TRY(HW_NEW(&rows->keys, rows->count, "the keys of a request", error));
    if (inflight->grouped == NULL) {
        for (size_t i = 0; i < rows->count; i++)
            rows->keys[i] = piece->first + i;
        return HAWSER_OK;
    }
    HAWSER_TRY(hw_new_array((void **)&rows->values, rows->count, row_bytes, "the values of a request", error));
    memcpy(rows->keys, inflight->grouped + piece->begin, rows->count * sizeof *rows->keys);
    for (size_t i = 0; i < rows->count; i++)
        memcpy(rows->values + i * row_bytes,
               (const unsigned char *)inflight->request.values + inflight->rows[piece->begin + i] * row_bytes, row_bytes);
    return HAWSER_OK;
}

bool hw_stripe_may_put_by(const hw_stripe *stripe, const hw_piece *piece)
{
    const hw_inflight *inflight = piece->inflight;
    const hw_group *group = inflight->group;
    const hw_progress *progress = hw_progress_of(stripe, inflight);
    if (!hw_inflight_of_client(inflight) ||
        atomic_load(&group->put_by) / atomic_load(&group->seated) <= hw_waiting_most(stripe->server))
        return true;
    for (uint32_t w = 0; w < group->workers; w++)
        if (hw_range_clock_at(&progress->clocks[w], stripe->first) < inflight->request.head.clock)
            return false;
    return true;
}

/* Charges the change of a group's sums. */
static void recount(const hw_stripe *stripe, hw_group *group, const hw_sums *sums, size_t bytes, uint64_t rows)
{
    atomic_fetch_add(&group->put_by, sums->bytes - bytes); /* modulo 2^64 */
    hw_stripe_count_sums(stripe, sums, rows);
}

static hawser_status add_up(const hw_stripe *stripe, hw_progress *progress, const hw_piece *piece, hw_overflow *overflow,
                            hawser_error *error)
{
    const hw_inflight *inflight = piece->inflight;
    const hw_request *request = &inflight->request;
    const hw_request_head *head = &request->head;
    size_t row_bytes = stripe->spec->width * hw_value_size(stripe->spec->type);
    const unsigned char *values = (const unsigned char *)request->values + piece->begin * row_bytes;
    if (head->clock < hw_range_clock_at(&progress->clocks[head->worker], stripe->first))
        return hawser_fail(error, HAWSER_BAD_INPUT, "table '%s': worker %u pushes in clock %llu, which it has ended",
                           stripe->spec->name, head->worker, (unsigned long long)head->clock);
    if (inflight->grouped == NULL && head->keys != HW_KEYS_RANGE)
        return hw_sums_put(&progress->sums, head->worker, head->clock, request->keys + piece->begin,
                           piece->end - piece->begin, values, overflow, error);
    hw_summed rows = {0};
    hawser_status status = gather(piece, row_bytes, &rows, error);
    HAWSER_THEN(status, hw_sums_put(&progress->sums, head->worker, head->clock, rows.keys, rows.count,
                                    rows.values != NULL ? rows.values : values, overflow, error));
    hw_summed_free(&rows);
    return status;
}

hawser_status hw_stripe_put_by(hw_stripe *stripe, const hw_piece *piece, hw_overflow *overflow, hawser_error *error)
{
    hw_progress *progress = hw_progress_of(stripe, piece->inflight);
    size_t bytes = progress->sums.bytes;
    uint64_t rows = progress->sums.rows;
    hawser_status status = add_up(stripe, progress, piece, overflow, error);
    recount(stripe, piece->inflight->group, &progress->sums, bytes, rows);
    return status;
}

static hawser_status apply(hw_stripe *stripe, const hw_summed *summed, hw_overflow *overflow, hawser_error *error)
{
    size_t row_bytes = stripe->spec->width * hw_value_size(stripe->spec->type);
    for (size_t i = 0, end; i < summed->count; i = end) {
        size_t at = hw_arcs_find(&(hw_arcs){stripe->arcs, stripe->shard_count}, summed->keys[i]);
        end = hw_keys_up_to(summed->keys, i, summed->count, stripe->arcs[at].last);
        HAWSER_TRY(hw_table_shard_apply(stripe->shards[at], summed->keys + i, end - i, summed->values + i * row_bytes,
                                        overflow, error));
    }
    return HAWSER_OK;
}

hawser_status hw_stripe_settle(hw_stripe *stripe, hw_group *group, hw_progress *progress, uint64_t end,
                               hw_overflow *overflow, hawser_error *error)
{
    for (;;) {
        hw_summed summed = {0};
        bool found = false;
        HAWSER_TRY(hw_sums_oldest(&progress->sums, end, &summed, overflow, &found, error));
        if (!found)
            return HAWSER_OK;
        hawser_status status = apply(stripe, &summed, overflow, error);
        hw_summed_free(&summed);
        HAWSER_TRY(status);
        hw_stripe_count_rows(stripe, 0); /* before the sums from which the rows come are freed */
        size_t bytes = progress->sums.bytes;
        uint64_t rows = progress->sums.rows;
        hw_sums_drop(&progress->sums);
        recount(stripe, group, &progress->sums, bytes, rows);
    }
}
