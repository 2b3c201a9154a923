/* merge.c - merges the updates of all blocks into a replica's base, and the rules of --merge. */
#include <string.h>

#include "exchange/merges.h"
#include "exchange/replica.h"

static double damping_of_sums(uint32_t blocks)
{
    (void)blocks;
    return 1.0;
}

static double damping_of_means(uint32_t blocks)
{
    return 1.0 / blocks;
}

#define HW_MERGE_ROW(id, word, help, damping) {word, damping},

double hw_merge_damping(const char *word, uint32_t blocks)
{
    static const struct {
        const char *word;
        double (*damping)(uint32_t blocks);
    } rows[] = {HW_MERGES(HW_MERGE_ROW)};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (hw_word_is(rows[i].word, word))
            return rows[i].damping(blocks);
    return 1.0;
}

/* Checks the new values of a state, on every path: sums of finite updates may overflow, and a merge function may compute
 * anything. */
static hawser_status check_finite(const hw_replica *replica, const void *values, size_t begin, size_t n, hawser_error *error)
{
    char text[HW_NUMBER_TEXT];
    size_t bad = replica->numbers->first_not_finite(values, n);
    if (bad == n)
        return HAWSER_OK;
    replica->numbers->text(values, bad, text);
    return hawser_fail(error, HAWSER_NOT_FINITE,
                       "state '%s' became %s at entry %zu when updates were merged at block %u; take smaller steps%s",
                       replica->spec.name, text, begin + bad, replica->spec.block, hw_averaging(replica));
}

static hawser_status check_overflow(const hw_replica *replica, size_t entry, hawser_error *error)
{
    if (entry == SIZE_MAX)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_NOT_FINITE,
                       "state '%s' overflows %s at entry %zu when updates were merged at block %u; use a larger type or "
                       "smaller numbers",
                       replica->spec.name, replica->numbers->name, entry, replica->spec.block);
}

static void set_payload(const hw_numbers *numbers, const hw_payload *payload, char *to)
{
    size_t size = numbers->size;
    const char *values = payload->values;
    for (size_t i = 0; i < payload->count; i++) {
        char *at = to + hw_payload_index(payload, i) * size;
        if (size == sizeof(double))
            memcpy(at, values + i * sizeof(double), sizeof(double));
        else
            memcpy(at, values + i * sizeof(float), sizeof(float));
    }
}

void hw_mark_stale(hw_replica *replica, const hw_payload *payload)
{
    if (payload->count == 0)
        return;
    if (payload->index32 == NULL && payload->index64 == NULL) {
        size_t last = payload->first + payload->count - 1;
        hw_set_bits(replica->stale, payload->first / HW_TILE, last / HW_TILE + 1);
        return;
    }
    for (size_t i = 0; i < payload->count; i++)
        hw_set_bit(replica->stale, hw_payload_index(payload, i) / HW_TILE);
}

/* Copies f32 entries to or from the doubles that a merge function works on. A double that is too large becomes infinite,
 * which fold refuses. */
static void widen(const void *from, double *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (double)((const float *)from)[i];
}

static void narrow(const double *from, void *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((float *)to)[i] = (float)from[i];
}

static void merge_by_user(hw_replica *replica, uint64_t clock)
{
    const hawser_rule *rule = &replica->spec.rule;
    size_t n = replica->spec.count;
    bool single = replica->given != NULL;
    if (single) {
        widen(replica->base, replica->given, n);
        widen(replica->sum, replica->given + n, n);
    }
    rule->merge(&(hawser_merging){.state = single ? replica->given : (void *)replica->base,
                                  .sum = single ? replica->given + n : (const void *)replica->sum,
                                  .count = n,
                                  .blocks = replica->spec.blocks,
                                  .clock = clock / replica->each,
                                  .user = rule->user});
    if (single)
        narrow(replica->given, replica->base, n);
    hw_set_bits(replica->stale, 0, replica->tiles);
}

hawser_status hw_apply(hw_replica *replica, const hw_message *message, hawser_error *error)
{
    hw_payload payload = hw_payload_of(message, replica->spec.count);
    size_t over = SIZE_MAX;
    if (payload.count == 0)
        return HAWSER_OK;
    hw_mark_stale(replica, &payload);
    if (message->envelope.form == HW_FORM_VALUES) {
        set_payload(replica->numbers, &payload, replica->base);
    } else if (hw_user_merges(replica, message->envelope.clock)) {
        memset(replica->sum, 0, hw_at(replica, replica->spec.count));
        over = hw_add_payload(&payload, 0, payload.count, 1, replica->sum, 0);
        merge_by_user(replica, message->envelope.clock);
    } else {
        over = hw_add_payload(&payload, 0, payload.count, hw_damping_of(replica, message->envelope.clock), replica->base, 0);
    }
    return check_overflow(replica, over, error);
}

/* Sets a tile of the cache to base + gain * held + own unsent changes. */
static hawser_status fold_tile(hw_replica *replica, size_t tile, hawser_error *error)
{
    size_t begin = tile * HW_TILE, n = hw_tile_end(replica, tile) - begin;
    size_t at = hw_at(replica, begin);
    const char *base = replica->base + at, *held = hw_holds(replica) ? replica->held + at : NULL;
    char *cache = replica->cache + at;
    const char *was = hw_origin(replica) + at;
    HAWSER_TRY(check_finite(replica, base, begin, n, error));
    if (held == NULL && replica->ended) {
        memcpy(cache, base, hw_at(replica, n));
        return HAWSER_OK;
    }
    size_t good =
        replica->numbers->fold(cache, replica->origin + at, base, held, was, hw_gain_now(replica), replica->ended, n);
    HAWSER_TRY(check_overflow(replica, good < n ? begin + good : SIZE_MAX, error));
    return check_finite(replica, cache, begin, n, error);
}

static hawser_status fold(hw_replica *replica, hawser_error *error)
{
    for (size_t word = 0; word < hw_words(replica->tiles); word++) {
        uint64_t bits = replica->stale[word];
        replica->stale[word] = 0;
        for (size_t tile = word * 64; bits != 0; tile++, bits >>= 1)
            if (bits & 1) {
                HAWSER_TRY(fold_tile(replica, tile, error));
                if (hw_records(replica))
                    hw_record_tile(replica, tile);
            }
    }
    replica->apart = hw_holds(replica);
    return HAWSER_OK;
}

/* Applies the clock's updates that are values. *values is false if there are none. */
static hawser_status take_values(hw_replica *replica, uint64_t clock, bool *values, hawser_error *error)
{
    *values = false;
    for (uint32_t source = 0; source < replica->spec.blocks; source++) {
        const hw_message *message = hw_range_oldest(replica->ranges, source, clock);
        for (; message != NULL && message->envelope.clock == clock && message->envelope.form == HW_FORM_VALUES;
             message = message->next) {
            HAWSER_TRY(hw_apply(replica, message, error));
            *values = true;
        }
    }
    return HAWSER_OK;
}

static void mark_clock(hw_replica *replica, const hw_range *range, uint64_t clock)
{
    for (uint32_t source = 0; source < replica->spec.blocks; source++) {
        const hw_message *message = hw_range_oldest(range, source, clock);
        for (; message != NULL && message->envelope.clock == clock; message = message->next) {
            hw_payload payload = hw_payload_of(message, replica->spec.count);
            hw_mark_stale(replica, &payload);
        }
    }
}

static hawser_status merge_deltas(hw_replica *replica, uint64_t clock, hawser_error *error)
{
    bool user = hw_user_merges(replica, clock);
    char *to = user ? replica->sum : replica->base;
    double damping = user ? 1 : hw_damping_of(replica, clock);
    if (user)
        memset(replica->sum, 0, hw_at(replica, replica->spec.count));
    for (uint32_t k = 0; k < replica->range_count; k++) {
        const hw_range *range = &replica->ranges[k];
        mark_clock(replica, range, clock);
        for (size_t tile = range->begin / HW_TILE; tile * HW_TILE < range->end; tile++) {
            if (!hw_bit(replica->stale, tile))
                continue;
            hw_range_piece where = {tile * HW_TILE, hw_tile_end(replica, tile) - tile * HW_TILE, clock};
            size_t over = SIZE_MAX;
            const void *sum = hw_range_sum(range, where, 0, replica->spec.blocks, replica->scratch, &over);
            if (sum == NULL)
                continue;
            HAWSER_TRY(check_overflow(replica, over, error));
            if (user) /* a merge function that bounds its result would hide it */
                HAWSER_TRY(check_finite(replica, sum, where.begin, where.count, error));
            size_t good = replica->numbers->merge(to + hw_at(replica, where.begin), sum, damping, where.count);
            HAWSER_TRY(check_overflow(replica, good < where.count ? where.begin + good : SIZE_MAX, error));
        }
    }
    if (user)
        merge_by_user(replica, clock);
    return HAWSER_OK;
}

static void drop_clock(hw_replica *replica, uint64_t clock)
{
    for (uint32_t k = 0; k < replica->range_count; k++)
        hw_range_drop(&replica->ranges[k], 0, replica->spec.blocks, clock);
}

/* Merges the clocks before `clock` in order. */
static hawser_status merge_parked(hw_replica *replica, uint64_t clock, hawser_error *error)
{
    uint64_t least = hw_clock_table_least(&replica->clocks);
    if (replica->merged < clock && least < clock)
        return hawser_fail(error, HAWSER_INTERNAL,
                           "state '%s' at block %u: clock %llu was requested, but only %llu have arrived",
                           replica->spec.name, replica->spec.block, (unsigned long long)clock, (unsigned long long)least);
    if (replica->merged < clock && !replica->ended)
        return hawser_fail(error, HAWSER_INTERNAL, "state '%s' at block %u: clock %llu was requested inside clock %llu",
                           replica->spec.name, replica->spec.block, (unsigned long long)clock,
                           (unsigned long long)replica->merged);
    for (; hw_admit_write(replica->policy, replica->merged, clock); replica->merged++) {
        bool values;
        HAWSER_TRY(take_values(replica, replica->merged, &values, error));
        if (!values)
            HAWSER_TRY(merge_deltas(replica, replica->merged, error));
        drop_clock(replica, replica->merged);
    }
    return HAWSER_OK;
}

hawser_status hw_early_error(const hw_replica *replica, hawser_error *error)
{
    if (replica->early_error.status == HAWSER_OK)
        return HAWSER_OK;
    return hawser_fail(error, replica->early_error.status, "%s", replica->early_error.text);
}

static hawser_status merge(hw_replica *replica, uint64_t clock, hawser_error *error)
{
    HAWSER_TRY(hw_early_error(replica, error));
    if (!hw_is_source(replica, replica->spec.block))
        replica->ended = true;
    if (hw_parks(replica))
        HAWSER_TRY(merge_parked(replica, clock, error));
    if ((replica->ended || replica->fresh) && replica->gain != replica->next_gain) {
        replica->gain = replica->next_gain;
        if (hw_holds(replica))
            hw_set_bits(replica->stale, 0, replica->tiles);
    }
    /* Inside a BSP clock the base does not change: own parts are parked with the rest of the clock, and the cache has them
     * already. */
    if (replica->ended || !hw_parks(replica))
        HAWSER_TRY(fold(replica, error));
    replica->ended = replica->fresh = false;
    return HAWSER_OK;
}

hawser_status hw_replica_merge(hw_replica *replica, uint64_t clock, hawser_error *error)
{
    return hw_replica_merge_stage(replica, clock, 0, error);
}

hawser_status hw_replica_merge_before(hw_replica *replica, uint64_t clock, hawser_error *error)
{
    bool ended = replica->ended, fresh = replica->fresh;
    HAWSER_TRY(merge(replica, clock, error));
    replica->ended = ended;
    replica->fresh = fresh;
    return HAWSER_OK;
}

hawser_status hw_replica_merge_stage(hw_replica *replica, uint64_t clock, uint32_t stage, hawser_error *error)
{
    HAWSER_TRY(merge(replica, clock, error));
    hw_record_read(replica, clock, stage);
    return HAWSER_OK;
}

static hawser_status check_nothing_held(const hw_replica *replica, hawser_error *error)
{
    for (size_t i = 0; hw_holds(replica) && i < replica->spec.count; i++)
        if (!hw_is_zero(replica->numbers, replica->held, i))
            return hawser_fail(error, HAWSER_INTERNAL,
                               "state '%s' at block %u: entry %zu is still held; flush before the end", replica->spec.name,
                               replica->spec.block, i);
    return HAWSER_OK;
}

hawser_status hw_replica_end(hw_replica *replica, uint64_t clocks, hawser_error *error)
{
    HAWSER_TRY(hw_early_error(replica, error));
    HAWSER_TRY(check_nothing_held(replica, error));
    if (replica->span > 0)
        return hawser_fail(error, HAWSER_INTERNAL,
                           "state '%s' at block %u: %u clocks are not sent yet; cut them before the end", replica->spec.name,
                           replica->spec.block, replica->span);
    if (hw_clock_table_least(&replica->clocks) < clocks)
        return hawser_fail(error, HAWSER_INTERNAL,
                           "state '%s' at block %u: the epoch ends at clock %llu, but only %llu have arrived",
                           replica->spec.name, replica->spec.block, (unsigned long long)clocks,
                           (unsigned long long)hw_clock_table_least(&replica->clocks));
    for (uint32_t k = 0; replica->adder != NULL && hw_adds(replica) && k < replica->range_count; k++)
        if (replica->adder->ranges[k].blocks > 0 && replica->adder->sent[k] != clocks)
            return hawser_fail(error, HAWSER_INTERNAL,
                               "state '%s' at block %u: the epoch ends at clock %llu, but sums of %llu were sent",
                               replica->spec.name, replica->spec.block, (unsigned long long)clocks,
                               (unsigned long long)replica->adder->sent[k]);
    if (hw_replica_waits(replica))
        return hawser_fail(error, HAWSER_INTERNAL,
                           "state '%s' at block %u: updates still wait for other nodes; send them before the end",
                           replica->spec.name, replica->spec.block);
    hw_replica_rollback(replica);
    replica->ended = true;
    HAWSER_TRY(merge(replica, clocks, error));
    hw_record_end(replica, clocks);
    replica->ended = true;
    replica->begun = false;
    replica->over = true;
    return HAWSER_OK;
}
