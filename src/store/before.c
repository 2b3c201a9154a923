#include "store/before.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "store/stripe.h"

/* A run of the stripe's own keys, without gaps, whose clocks are equal; `row` is the row of the first key in the stripe. */
typedef struct before_run {
    uint64_t first, last, time;
    size_t row;
} before_run;

static size_t row_bytes(const hw_stripe *stripe)
{
    return stripe->spec->width * hw_value_size(stripe->spec->type);
}

/* The rows of a dense stripe: the shards of a dense table lie one behind the other. */
static const unsigned char *newest(const hw_stripe *stripe)
{
    return hw_table_shard_from(stripe->shards[0], stripe->arcs[0].first);
}

static size_t row_at(const hw_stripe *stripe, size_t arc, uint64_t key)
{
    const unsigned char *row = hw_table_shard_from(stripe->shards[arc], key);
    return (size_t)(row - newest(stripe)) / row_bytes(stripe);
}

static size_t arc_of(const hw_stripe *stripe, uint64_t key)
{
    return hw_arcs_find(&(hw_arcs){stripe->arcs, stripe->shard_count}, key);
}

/* Finds the first run at or after `from`. Returns false if the stripe has no key of from..last. */
static bool next_run(const hw_stripe *stripe, const hw_range_clock *clock, uint64_t from, uint64_t last, before_run *r)
{
    size_t at = arc_of(stripe, from);
    at += stripe->arcs[at].last < from;
    if (at == stripe->shard_count || stripe->arcs[at].first > last)
        return false;
    const hw_arc *arc = &stripe->arcs[at];
    r->first = arc->first > from ? arc->first : from;
    r->time = hw_range_clock_from(clock, r->first, &r->last);
    r->last = arc->last < r->last ? arc->last : r->last;
    r->last = last < r->last ? last : r->last;
    r->row = row_at(stripe, at, r->first);
    return true;
}

static bool run_behind(const hw_stripe *stripe, const hw_range_clock *clock, uint64_t last, before_run *r)
{
    return r->last < last && next_run(stripe, clock, r->last + 1, last, r);
}

/* ------------------------------------------------------------------------------------------------------------- bits ---- */

static void mark(uint64_t *bits, size_t from, size_t count, bool set)
{
    for (size_t n; count > 0; from += n, count -= n) {
        size_t bit = from % 64;
        n = 64 - bit < count ? 64 - bit : count;
        uint64_t mask = (n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1) << bit;
        bits[from / 64] = set ? bits[from / 64] | mask : bits[from / 64] & ~mask;
    }
}

static bool is_marked(const uint64_t *bits, size_t at)
{
    return bits[at / 64] >> at % 64 & 1;
}

/* Returns the number of bits from `from` on, at most up to `end`, that are equal to the first of them. */
static size_t alike(const uint64_t *bits, size_t from, size_t end)
{
    bool set = is_marked(bits, from);
    size_t at = from + 1;
    while (at < end && is_marked(bits, at) == set)
        at += at % 64 == 0 && bits[at / 64] == (set ? UINT64_MAX : 0) ? 64 : 1;
    return (at < end ? at : end) - from;
}

/* ---------------------------------------------------------------------------------------------------------- keeping ---- */

static size_t rows_in(const hw_stripe *stripe)
{
    return row_at(stripe, stripe->shard_count - 1, stripe->arcs[stripe->shard_count - 1].last) + 1;
}

static hawser_status open_rows(hw_stripe *stripe, hw_before *before)
{
    size_t rows = rows_in(stripe), words = (rows - 1) / 64 + 1;
    uint64_t bytes = (uint64_t)rows * row_bytes(stripe) + words * sizeof *before->kept;
    if (!hw_server_reserve(stripe->server, bytes))
        return HAWSER_NO_MEMORY;
    hawser_status status = HW_NEW(&before->kept, words, "versions of a table", NULL);
    HAWSER_THEN(status, hw_new_array((void **)&before->rows, rows, row_bytes(stripe), "versions of a table", NULL));
    if (status != HAWSER_OK) {
        hw_server_unreserve(stripe->server, bytes);
        free(before->kept);
        before->kept = NULL;
        return status;
    }
    before->bytes = bytes;
    atomic_fetch_add_explicit(&stripe->bytes, bytes, memory_order_relaxed);
    return HAWSER_OK;
}

void hw_before_free(hw_stripe *stripe, hw_before *before)
{
    if (before->rows != NULL) {
        hw_server_unreserve(stripe->server, before->bytes);
        atomic_fetch_sub_explicit(&stripe->bytes, before->bytes, memory_order_relaxed);
    }
    free(before->rows);
    free(before->kept);
    *before = (hw_before){0};
}

void hw_before_forget(const hw_stripe *stripe, hw_before *before)
{
    if (before->rows != NULL)
        mark(before->kept, 0, rows_in(stripe), false);
}

/* Copies the rows that have no copy yet. */
static void keep_rows(const hw_stripe *stripe, hw_before *before, size_t row, size_t rows)
{
    size_t bytes = row_bytes(stripe);
    for (size_t i = row, n; i < row + rows; i += n) {
        n = alike(before->kept, i, row + rows);
        if (!is_marked(before->kept, i))
            memcpy(before->rows + i * bytes, newest(stripe) + i * bytes, n * bytes);
    }
    mark(before->kept, row, rows, true);
}

/* Copies the rows of ascending keys that have no copy yet, one by one. */
static void keep_list(const hw_stripe *stripe, hw_before *before, const uint64_t *keys, size_t count)
{
    size_t bytes = row_bytes(stripe), first = 0;
    const hw_arc *arc = NULL;
    const unsigned char *now = newest(stripe);
    for (size_t i = 0; i < count; i++) {
        if (arc == NULL || keys[i] > arc->last) {
            size_t at = arc_of(stripe, keys[i]);
            arc = &stripe->arcs[at];
            first = row_at(stripe, at, arc->first);
        }
        size_t row = first + (size_t)(keys[i] - arc->first);
        uint64_t bit = UINT64_C(1) << row % 64;
        if (before->kept[row / 64] & bit)
            continue;
        before->kept[row / 64] |= bit;
        if (bytes == sizeof(uint64_t)) /* a constant size needs no call */
            memcpy(before->rows + row * sizeof(uint64_t), now + row * sizeof(uint64_t), sizeof(uint64_t));
        else
            memcpy(before->rows + row * bytes, now + row * bytes, bytes);
    }
}

/* A list ends the iteration for all keys between its ends but changes only the rows that it names. So the old copies of the
 * whole run are dropped, and a row that the list does not name is copied when a later push changes it. */
void hw_before_keep(hw_stripe *stripe, const hw_piece *piece, uint64_t least)
{
    const hw_inflight *inflight = piece->inflight;
    hw_progress *progress = hw_progress_of(stripe, inflight);
    hw_before *before = &progress->before;
    const uint64_t *keys = inflight->request.keys;
    uint64_t delay = stripe->spec->delay, next = inflight->request.head.clock + 1;
    bool some = false;
    before_run r;
    for (bool more = next_run(stripe, &progress->written, piece->first, piece->last, &r); more;
         more = run_behind(stripe, &progress->written, piece->last, &r)) {
        uint64_t version = r.time > next ? r.time : next;
        /* Every worker may see that version, also when it repeats an iteration. */
        if (version < delay || least > version - delay)
            continue;
        if (before->rows == NULL && open_rows(stripe, before) != HAWSER_OK) {
            before->unkept = before->unkept > version ? before->unkept : version;
            continue;
        }
        size_t rows = (size_t)(r.last - r.first) + 1;
        if (r.time < next)
            mark(before->kept, r.row, rows, false);
        if (keys == NULL)
            keep_rows(stripe, before, r.row, rows);
        some = true;
    }
    if (some && keys != NULL)
        keep_list(stripe, before, keys + piece->begin, piece->end - piece->begin);
}

/* ----------------------------------------------------------------------------------------------------------- giving ---- */

/* Returns whether a key with this many writes is newer than what a read of the iteration may see. */
static bool is_newer(const hw_stripe *stripe, uint64_t written, uint64_t iteration)
{
    return hw_beyond(written, iteration) > stripe->spec->delay;
}

bool hw_before_is_past(const hw_stripe *stripe, const hw_piece *piece)
{
    const hw_request_head *head = &piece->inflight->request.head;
    const hw_range_clock *clock = &hw_progress_of(stripe, piece->inflight)->clocks[head->worker];
    before_run r;
    for (bool more = next_run(stripe, clock, piece->first, piece->last, &r); more;
         more = run_behind(stripe, clock, piece->last, &r))
        if (r.time > head->clock + 1)
            return true;
    return false;
}

bool hw_before_lacks(const hw_stripe *stripe, const hw_piece *piece)
{
    const hw_progress *progress = hw_progress_of(stripe, piece->inflight);
    uint64_t iteration = piece->inflight->request.head.clock;
    before_run r;
    for (bool more = next_run(stripe, &progress->written, piece->first, piece->last, &r); more;
         more = run_behind(stripe, &progress->written, piece->last, &r))
        if (is_newer(stripe, r.time, iteration) && (progress->before.rows == NULL || r.time <= progress->before.unkept))
            return true;
    return false;
}

static void give_range(const hw_stripe *stripe, const hw_piece *piece, const hw_progress *progress)
{
    const hw_inflight *inflight = piece->inflight;
    const hw_before *before = &progress->before;
    size_t bytes = row_bytes(stripe);
    before_run r;
    for (bool more = next_run(stripe, &progress->written, piece->first, piece->last, &r); more;
         more = run_behind(stripe, &progress->written, piece->last, &r)) {
        size_t end = r.row + (size_t)(r.last - r.first) + 1;
        unsigned char *out = inflight->out + (piece->begin + (size_t)(r.first - piece->first)) * bytes;
        for (size_t i = r.row, n; is_newer(stripe, r.time, inflight->request.head.clock) && i < end; i += n) {
            n = alike(before->kept, i, end);
            if (is_marked(before->kept, i))
                memcpy(out + (i - r.row) * bytes, before->rows + i * bytes, n * bytes);
        }
    }
}

void hw_before_give(const hw_stripe *stripe, const hw_piece *piece)
{
    const hw_inflight *inflight = piece->inflight;
    const hw_progress *progress = hw_progress_of(stripe, inflight);
    const hw_before *before = &progress->before;
    const uint64_t *keys = inflight->request.keys;
    size_t bytes = row_bytes(stripe);
    if (keys == NULL)
        give_range(stripe, piece, progress);
    for (size_t i = piece->begin; keys != NULL && i < piece->end; i++) {
        if (!is_newer(stripe, hw_range_clock_at(&progress->written, keys[i]), inflight->request.head.clock))
            continue;
        size_t row = row_at(stripe, arc_of(stripe, keys[i]), keys[i]);
        if (is_marked(before->kept, row))
            memcpy(inflight->out + i * bytes, before->rows + row * bytes, bytes);
    }
}
