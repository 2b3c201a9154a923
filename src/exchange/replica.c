#include "exchange/replica.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void hw_set_bits(uint64_t *bits, size_t begin, size_t end)
{
    for (; begin < end && begin % 64 != 0; begin++)
        hw_set_bit(bits, begin);
    for (; end - begin >= 64; begin += 64)
        bits[begin / 64] = UINT64_MAX;
    for (; begin < end; begin++)
        hw_set_bit(bits, begin);
}

void hw_set_apart(hw_replica *replica)
{
    memcpy(replica->origin, replica->base, hw_at(replica, replica->spec.count));
    replica->apart = true;
}

static hawser_status check_spec(const hw_replica_spec *spec, hawser_error *error)
{
    bool blocks = spec->block < spec->blocks && (spec->sources == spec->blocks || spec->sources == 1);
    bool source = spec->sources != 1 || spec->source < spec->blocks;
    bool range = !spec->values || (spec->own_begin <= spec->own_end && spec->own_end <= spec->count);
    bool adding = spec->adding == NULL || (!spec->values && spec->sources == spec->blocks && spec->blocks > 1);
    bool rule = isfinite(spec->rule.damping) && spec->rule.damping != 0 && isfinite(spec->rule.gain) && spec->rule.gain > 0;
    bool whole = hw_numbers_of(spec->type)->whole;
    bool plain = spec->rule.damping == 1 && spec->rule.gain == 1 && spec->rule.merge == NULL;
    if (whole && !(plain && spec->rounding == HW_F64 && !spec->narrows && spec->filter.kind != HW_FILTER_RELATIVE))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "state '%s' is of integers: it has no damping, gain, merge function, rounding or relative filter",
                           spec->name);
    if (blocks && source && range && rule && adding)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                       "state '%s': block %u of %u, %u sources, own range %zu to %zu of %zu, damping %g, gain %g do not fit",
                       spec->name, spec->block, spec->blocks, spec->sources, spec->own_begin, spec->own_end, spec->count,
                       spec->rule.damping, spec->rule.gain);
}

/* Returns true if a filter has an effect: it acts on deltas for other blocks, and only under a quota. */
static bool needs_filter(const hw_replica_spec *spec)
{
    return spec->filter.kind != HW_FILTER_NONE && spec->filter.quota > 0 && spec->blocks > 1 && !spec->values;
}

static bool needs_rounding(const hw_replica_spec *spec)
{
    return (spec->rounding != HW_F64 || spec->narrows) && spec->blocks > 1 && !spec->values;
}

static hawser_status new_entries(const hw_replica *replica, char **out, size_t n, const char *what, hawser_error *error)
{
    void *made = NULL;
    hawser_status status = hw_new_array(&made, n, replica->numbers->size, what, error);
    *out = made;
    return status;
}

static hawser_status allocate_held(hw_replica *replica, hawser_error *error)
{
    const hw_replica_spec *spec = &replica->spec;
    size_t n = spec->count;
    HAWSER_TRY(new_entries(replica, &replica->held, n, "held updates", error));
    HAWSER_TRY(HW_NEW(&replica->selected, hw_words(n), "a filter's selection", error));
    if (needs_filter(spec)) {
        HAWSER_TRY(HW_NEW(&replica->score, n, "a filter's scores", error));
        HAWSER_TRY(HW_NEW(&replica->since, n, "ages of held updates", error));
    }
    if (needs_rounding(spec))
        HAWSER_TRY(HW_NEW(&replica->rest, hw_words(n), "the remainders of rounding", error));
    if (needs_rounding(spec) && (spec->rounding == HW_INT8 || spec->narrows))
        HAWSER_TRY(HW_NEW(&replica->scales, replica->tiles, "scales of rounded updates", error));
    return HAWSER_OK;
}

static hawser_status allocate_ranges(hw_replica *replica, hawser_error *error)
{
    const hw_replica_spec *spec = &replica->spec;
    uint32_t count = spec->adding != NULL ? spec->adding->range_count : 1;
    HAWSER_TRY(HW_NEW(&replica->ranges, count, "parked updates", error));
    for (; replica->range_count < count; replica->range_count++) {
        uint32_t k = replica->range_count;
        size_t begin = spec->adding != NULL ? spec->adding->ranges[k].begin : 0;
        size_t end = spec->adding != NULL ? spec->adding->ranges[k].end : spec->count;
        hawser_status status = hw_range_new(spec->type, spec->blocks, spec->count, begin, end, &replica->ranges[k], error);
        if (status != HAWSER_OK) {
            hw_range_free(&replica->ranges[k]);
            return status;
        }
    }
    if (spec->adding != NULL && spec->adding->adds)
        HAWSER_TRY(hw_adder_new(replica, error));
    replica->combines = spec->adding != NULL && spec->adding->combines && hw_may_combine(&spec->rule, spec->filter);
    return replica->combines && replica->adder != NULL ? hw_combiner_new(replica, error) : HAWSER_OK;
}

static hawser_status allocate(hw_replica *replica, hawser_error *error)
{
    const hw_replica_spec *spec = &replica->spec;
    size_t n = spec->count, levels = 1;
    for (uint32_t blocks = 1; blocks < spec->blocks && levels <= 32;
         blocks += blocks < UINT32_MAX / 2 ? blocks : UINT32_MAX / 2)
        levels++;
    HAWSER_TRY(new_entries(replica, &replica->base, n, "a state's values", error));
    HAWSER_TRY(new_entries(replica, &replica->cache, n, "a state's cache", error));
    HAWSER_TRY(new_entries(replica, &replica->origin, n, "a state's cache", error));
    HAWSER_TRY(new_entries(replica, &replica->scratch, (levels + 1) * HW_TILE, "scratch of a merge", error));
    HAWSER_TRY(HW_NEW(&replica->touched, hw_words(replica->tiles), "a state's touched ranges", error));
    HAWSER_TRY(HW_NEW(&replica->stale, hw_words(replica->tiles), "a state's changed ranges", error));
    HAWSER_TRY(allocate_ranges(replica, error));
    HAWSER_TRY(HW_NEW(&replica->slow, spec->blocks, "clocks of ranges", error));
    if (spec->rule.merge != NULL)
        HAWSER_TRY(new_entries(replica, &replica->sum, n, "the sum for a merge function", error));
    if (spec->rule.merge != NULL && spec->type != HAWSER_F64)
        HAWSER_TRY(HW_NEW(&replica->given, 2 * n, "the numbers for a merge function", error));
    if (spec->log != NULL)
        HAWSER_TRY(HW_NEW(&replica->tile_digests, replica->tiles, "digests of a state", error));
    if (needs_filter(spec) || needs_rounding(spec))
        HAWSER_TRY(allocate_held(replica, error));
    return hw_clock_table_new(spec->blocks, UINT32_MAX, &replica->clocks, error);
}

static uint32_t only_source(const hw_replica_spec *spec)
{
    return spec->sources == 1 ? spec->source : UINT32_MAX;
}

hawser_status hw_replica_new(const hw_replica_spec *spec, hw_replica **replica, hawser_error *error)
{
    *replica = NULL;
    HAWSER_TRY(check_spec(spec, error));
    hw_replica *made = NULL;
    HAWSER_TRY(HW_NEW(&made, 1, "a replica", error));
    made->spec = *spec;
    made->numbers = hw_numbers_of(spec->type);
    made->stages = (hw_stages){.updates = 1, .source = only_source(spec)};
    if (!needs_rounding(spec))
        made->spec.rounding = HW_F64;
    made->tiles = spec->count / HW_TILE + (spec->count % HW_TILE != 0);
    hawser_status status = allocate(made, error);
    if (status != HAWSER_OK) {
        hw_replica_free(made);
        return status;
    }
    if (spec->initial != NULL)
        hw_replica_fill(made, spec->initial);
    made->spec.initial = NULL;
    made->gain = made->next_gain = spec->rule.gain;
    made->ended = true;
    if (hw_holds(made))
        hw_set_apart(made);
    hw_record_all_tiles(made);
    hw_record_state(made);
    *replica = made;
    return HAWSER_OK;
}

void hw_replica_free(hw_replica *replica)
{
    if (replica == NULL)
        return;
    for (uint32_t k = 0; k < replica->range_count; k++)
        hw_range_free(&replica->ranges[k]);
    hw_combiner_free(replica);
    hw_adder_free(replica);
    hw_messages_free(replica->early);
    hw_messages_free(replica->outgoing);
    hw_spares_free(&replica->spares);
    void *const arrays[] = {replica->base,   replica->cache,       replica->origin, replica->scratch,  replica->touched,
                            replica->stale,  replica->ranges,      replica->slow,   replica->sum,      replica->given,
                            replica->held,   replica->score,       replica->since,  replica->selected, replica->rest,
                            replica->scales, replica->tile_digests};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    hw_clock_table_free(&replica->clocks);
    free(replica);
}

void hw_replica_fill(hw_replica *replica, const void *initial)
{
    memcpy(replica->base, initial, hw_at(replica, replica->spec.count));
    memcpy(replica->cache, initial, hw_at(replica, replica->spec.count));
    if (replica->apart)
        hw_set_apart(replica);
}

void hw_replica_retire(hw_replica *replica, bool keep)
{
    char **const entries[] = {&replica->cache, &replica->origin, &replica->sum, &replica->held,
                              keep ? NULL : &replica->base};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (entries[i] != NULL) {
            free(*entries[i]);
            *entries[i] = NULL;
        }
    free(replica->given);
    free(replica->score);
    free(replica->since);
    replica->given = replica->score = NULL;
    replica->since = NULL;
    hw_spares_free(&replica->spares);
    if (replica->adder != NULL) {
        hw_spares_free(&replica->adder->spares);
        free(replica->adder->sum);
        replica->adder->sum = NULL;
    }
}

void *hw_replica_cache(hw_replica *replica)
{
    return replica->cache;
}

const void *hw_replica_base(const hw_replica *replica)
{
    return replica->base;
}

void *hw_replica_take_base(hw_replica *replica)
{
    void *base = replica->base;
    replica->base = NULL;
    return base;
}

void hw_replica_touch(hw_replica *replica, size_t first, size_t count)
{
    size_t n = replica->spec.count;
    replica->marked = true;
    if (count == 0 || first >= n)
        return;
    size_t last = count - 1 < n - 1 - first ? first + count - 1 : n - 1;
    hw_set_bits(replica->touched, first / HW_TILE, last / HW_TILE + 1);
}

hawser_status hw_replica_inc(hw_replica *replica, const uint64_t *keys, const void *values, size_t count,
                             hawser_error *error)
{
    const hw_replica_spec *spec = &replica->spec;
    size_t begin = spec->values ? spec->own_begin : 0, end = spec->values ? spec->own_end : spec->count;
    for (size_t i = 0; i < count; i++)
        if (keys[i] < begin || keys[i] >= end)
            return hawser_fail(error, HAWSER_BAD_ARGUMENT, "state '%s': block %u may not change entry %llu, only %zu to %zu",
                               spec->name, spec->block, (unsigned long long)keys[i], begin, end);
    size_t good = replica->numbers->inc(replica->cache, keys, values, hw_gain_now(replica), count);
    if (good < count)
        return hw_cannot_send(replica, (size_t)keys[good], values, good, error);
    for (size_t i = 0; i < count; i++)
        hw_set_bit(replica->touched, (size_t)keys[i] / HW_TILE);
    return HAWSER_OK;
}

void hw_replica_set_quota(hw_replica *replica, uint64_t quota)
{
    replica->spec.filter.quota = quota;
}

void hw_replica_set_rounding(hw_replica *replica, hw_width rounding)
{
    if (replica->rest != NULL && replica->spec.narrows)
        replica->spec.rounding = rounding;
}

void hw_replica_set_gain(hw_replica *replica, double gain)
{
    replica->next_gain = gain;
    if ((replica->ended || replica->fresh) &&
        !hw_holds(replica)) /* nothing unsent or held: the cache is the same under any gain */
        replica->gain = gain;
}

double hw_replica_gain(const hw_replica *replica)
{
    return hw_gain_now(replica);
}

double hw_replica_damping(const hw_replica *replica)
{
    return hw_damping_of(replica, hw_exchange_now(replica));
}

void hw_replica_plain(hw_replica *replica, bool plain)
{
    replica->plain = plain;
    if (hw_holds(replica))
        hw_set_bits(replica->stale, 0, replica->tiles);
}

const hw_clock_table *hw_replica_clocks(const hw_replica *replica)
{
    return &replica->clocks;
}

const hw_replica_figures *hw_replica_figures_of(const hw_replica *replica)
{
    return &replica->figures;
}

hw_policy hw_replica_policy(const hw_replica *replica)
{
    return replica->policy;
}

void hw_replica_begin(hw_replica *replica, uint64_t epoch, hw_policy policy)
{
    uint32_t source = only_source(&replica->spec);
    hw_replica_begin_stages(
        replica, epoch, policy,
        &(hw_stages){.updates = 1, .exact = source != UINT32_MAX && replica->spec.blocks > 1, .source = source}, 0);
}

/* All blocks have ended the exchanges before this one, and their sums are sent. */
static void go_to(hw_replica *replica, uint64_t exchange)
{
    for (uint32_t block = 0; block < replica->spec.blocks; block++)
        hw_mark_block(replica, block, 0, replica->range_count, exchange);
    for (uint32_t k = 0; replica->adder != NULL && k < replica->spec.adding->range_count; k++) {
        hw_range *range = &replica->adder->ranges[k];
        replica->adder->sent[k] = exchange;
        for (uint32_t block = 0; block < range->blocks; block++)
            range->done[block] = exchange;
    }
    replica->merged = exchange;
}

void hw_replica_begin_stages(hw_replica *replica, uint64_t epoch, hw_policy policy, const hw_stages *stages,
                             uint64_t exchange)
{
    assert(!replica->begun && stages->updates != 0 && (stages->exact & ~stages->updates) == 0);
    replica->stages = *stages;
    if (hw_holds(replica) && hw_is_mixed(replica)) /* then the plan has refused rules */
        replica->stages.exact = 0;
    replica->each = hw_bits_set(stages->updates);
    policy = hw_replica_scaled(replica, policy);
    hw_clock_table_reset(&replica->clocks);
    replica->clocks.own = hw_is_source(replica, replica->spec.block) ? replica->spec.block : UINT32_MAX;
    for (uint32_t k = 0; k < replica->range_count; k++)
        hw_range_reset(&replica->ranges[k]);
    hw_adder_reset(replica);
    replica->policy = replica->strictest = policy;
    replica->epoch = epoch;
    replica->merged = 0;
    replica->spent = exchange > 0 ? replica->spent : 0;
    replica->span = 0;
    replica->begun = true;
    replica->fresh = exchange == 0;
    replica->over = false;
    replica->ended = exchange > 0;
    if (exchange > 0)
        go_to(replica, exchange);
    hw_record_begin(replica);
    hw_replay_early(replica);
}

hw_policy hw_replica_scaled(const hw_replica *replica, hw_policy policy)
{
    policy.staleness = policy.staleness < UINT64_MAX / replica->each ? policy.staleness * replica->each : UINT64_MAX;
    return policy;
}

void hw_replica_expect_wait(hw_replica *replica, uint32_t stage, hw_policy policy)
{
    policy = hw_replica_scaled(replica, policy);
    replica->strictest = hw_policy_stricter(replica->strictest, policy);
    hw_record_expected(replica, stage, policy);
}

static void forget_touched(hw_replica *replica)
{
    memset(replica->touched, 0, hw_words(replica->tiles) * sizeof *replica->touched);
    replica->marked = false;
}

void hw_replica_rollback(hw_replica *replica)
{
    if (!replica->ended)
        memcpy(replica->cache, hw_origin(replica), hw_at(replica, replica->spec.count));
    forget_touched(replica);
}

/* Sets bytes to zero, but does not write what is zero: pages that were never written take no memory. */
static void clear(char *at, size_t bytes)
{
    enum { PIECE = 4096 };
    static const char zeros[PIECE];
    for (size_t begin = 0, count; begin < bytes; begin += count) {
        count = bytes - begin < PIECE ? bytes - begin : PIECE;
        if (memcmp(at + begin, zeros, count) != 0)
            memset(at + begin, 0, count);
    }
}

void hw_replica_zero(hw_replica *replica)
{
    size_t bytes = hw_at(replica, replica->spec.count);
    clear(replica->base, bytes);
    clear(replica->cache, bytes);
    replica->apart = hw_holds(replica); /* else nothing reads the origin, and its pages stay untouched */
    if (replica->apart) {
        memset(replica->held, 0, bytes);
        memset(replica->origin, 0, bytes);
    }
    memset(replica->stale, 0, hw_words(replica->tiles) * sizeof *replica->stale);
    hw_record_all_tiles(replica);
    forget_touched(replica);
}
