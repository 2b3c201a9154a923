#include <string.h>

#include "exchange/reduce.h"
#include "exchange/replica.h"

static void add_scaled(double *restrict to, const double *restrict from, double scale, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] += scale * from[i];
}

/* to[index - offset] += scale * value for positions [begin, end) of a payload. */
static void add_payload(const hw_payload *payload, size_t begin, size_t end, double scale, double *to, size_t offset)
{
    if (payload->index32 == NULL && payload->index64 == NULL) {
        add_scaled(to + (payload->first + begin - offset), payload->values + begin, scale, end - begin);
        return;
    }
    for (size_t i = begin; i < end; i++)
        to[hw_payload_index(payload, i) - offset] += scale * payload->values[i];
}

static void set_payload(const hw_payload *payload, double *to)
{
    for (size_t i = 0; i < payload->count; i++)
        to[hw_payload_index(payload, i)] = payload->values[i];
}

static void mark_stale(hw_replica *replica, const hw_payload *payload)
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

static void merge_by_user(hw_replica *replica, uint64_t clock)
{
    const hawser_rule *rule = &replica->spec.rule;
    rule->merge(&(hawser_merging){.state = replica->base,
                                  .sum = replica->sum,
                                  .count = replica->spec.count,
                                  .blocks = replica->spec.blocks,
                                  .clock = clock,
                                  .user = rule->user});
    hw_set_bits(replica->stale, 0, replica->tiles);
}

void hw_apply(hw_replica *replica, const hw_message *message)
{
    hw_payload payload = hw_payload_of(message, replica->spec.count);
    if (payload.count == 0)
        return;
    mark_stale(replica, &payload);
    if (message->envelope.form == HW_FORM_VALUES) {
        set_payload(&payload, replica->base);
    } else if (hw_user_merges(replica)) {
        memset(replica->sum, 0, replica->spec.count * sizeof(double));
        add_payload(&payload, 0, payload.count, 1, replica->sum, 0);
        merge_by_user(replica, message->envelope.clock);
    } else {
        add_payload(&payload, 0, payload.count, hw_damping_now(replica), replica->base, 0);
    }
}

/* A piece of the state: entries [begin, begin + count), within one tile. */
typedef struct piece {
    size_t begin, count;
    uint64_t clock;
} piece;

static bool of_clock(const hw_message *message, uint64_t clock)
{
    return message != NULL && message->envelope.clock == clock;
}

/* What one source says about a piece: NULL when nothing, the payload itself where it covers the piece, else gathered in scratch. */
static const double *leaf(const hw_replica *replica, piece where, uint32_t source, double *scratch)
{
    const hw_message *message = replica->parked[source].first;
    bool any = false;
    for (; of_clock(message, where.clock); message = message->next) {
        hw_payload payload = hw_payload_of(message, replica->spec.count);
        size_t begin = hw_payload_seek(&payload, where.begin);
        size_t end = hw_payload_seek(&payload, where.begin + where.count);
        if (begin == end)
            continue;
        bool dense = message->envelope.encoding == HW_DENSE;
        if (!any && dense && end - begin == where.count && !of_clock(message->next, where.clock))
            return payload.values + begin;
        if (!any)
            memset(scratch, 0, where.count * sizeof *scratch);
        any = true;
        add_payload(&payload, begin, end, 1, scratch, where.begin);
    }
    return any ? scratch : NULL;
}

/* The canonical sum of a piece over blocks [begin, begin + count): hw_reduce's tree, a tile at a time, so that what the leaves
 * hold in shared payloads is only read. NULL when nobody says anything. */
static const double *tree(const hw_replica *replica, piece where, uint32_t begin, uint32_t count, double *scratch)
{
    if (count == 1)
        return leaf(replica, where, begin, scratch);
    uint32_t left_count = hw_left_of(count);
    const double *left = tree(replica, where, begin, left_count, scratch);
    uint32_t middle = begin + left_count, rest = count - left_count;
    if (left == NULL)
        return tree(replica, where, middle, rest, scratch);
    const double *right = tree(replica, where, middle, rest, scratch + HW_TILE);
    if (right == NULL)
        return left;
    if (left == scratch) {
        add_scaled(scratch, right, 1, where.count);
        return scratch;
    }
    for (size_t i = 0; i < where.count; i++)
        scratch[i] = left[i] + right[i];
    return scratch;
}

/* Brings a tile of the cache to base + gain * held + own unsent changes. */
static void fold_tile(hw_replica *replica, size_t tile)
{
    size_t begin = tile * HW_TILE, n = hw_tile_end(replica, tile) - begin;
    const double *base = replica->base + begin, *held = hw_holds(replica) ? replica->held + begin : NULL;
    double *cache = replica->cache + begin, *origin = replica->origin + begin;
    double gain = hw_gain_now(replica);
    const double *was = hw_origin(replica) + begin;
    if (held == NULL && replica->ended) {
        memcpy(cache, base, n * sizeof *cache);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        double target = held != NULL && held[i] != 0 ? base[i] + gain * held[i] : base[i];
        cache[i] = replica->ended ? target : target + (cache[i] - was[i]);
        if (held != NULL)
            origin[i] = target;
    }
}

static void fold(hw_replica *replica)
{
    for (size_t word = 0; word < hw_words(replica->tiles); word++) {
        uint64_t bits = replica->stale[word];
        replica->stale[word] = 0;
        for (size_t tile = word * 64; bits != 0; tile++, bits >>= 1)
            if (bits & 1)
                fold_tile(replica, tile);
    }
    replica->apart = hw_holds(replica);
}

/* One writer: its values replace what was there. */
static bool take_values(hw_replica *replica, uint64_t clock)
{
    bool values = false;
    for (uint32_t source = 0; source < replica->spec.blocks; source++) {
        const hw_message *message = replica->parked[source].first;
        for (; of_clock(message, clock) && message->envelope.form == HW_FORM_VALUES; message = message->next) {
            hw_apply(replica, message);
            values = true;
        }
    }
    return values;
}

static void mark_clock(hw_replica *replica, uint64_t clock)
{
    for (uint32_t source = 0; source < replica->spec.blocks; source++)
        for (const hw_message *message = replica->parked[source].first; of_clock(message, clock); message = message->next) {
            hw_payload payload = hw_payload_of(message, replica->spec.count);
            mark_stale(replica, &payload);
        }
}

static void merge_deltas(hw_replica *replica, uint64_t clock)
{
    bool user = hw_user_merges(replica);
    mark_clock(replica, clock);
    if (user)
        memset(replica->sum, 0, replica->spec.count * sizeof(double));
    for (size_t tile = 0; tile < replica->tiles; tile++) {
        if (!hw_bit(replica->stale, tile))
            continue;
        piece where = {tile * HW_TILE, hw_tile_end(replica, tile) - tile * HW_TILE, clock};
        const double *sum = tree(replica, where, 0, replica->spec.blocks, replica->scratch);
        if (sum != NULL)
            add_scaled((user ? replica->sum : replica->base) + where.begin, sum, user ? 1 : hw_damping_now(replica),
                       where.count);
    }
    if (user)
        merge_by_user(replica, clock);
}

static void drop_clock(hw_replica *replica, uint64_t clock)
{
    for (uint32_t source = 0; source < replica->spec.blocks; source++) {
        hw_parked *parked = &replica->parked[source];
        while (of_clock(parked->first, clock)) {
            hw_message *next = parked->first->next;
            hw_message_free(parked->first);
            parked->first = next;
        }
    }
}

/* Merges the clocks before `clock`, each in its turn. */
static hawser_status merge_parked(hw_replica *replica, uint64_t clock, hawser_error *error)
{
    uint64_t least = hw_clock_table_least(&replica->clocks);
    if (replica->merged < clock && least < clock)
        return hawser_fail(error, HAWSER_INTERNAL, "state '%s' at block %u: clock %llu is asked for when only %llu are in",
                           replica->spec.name, replica->spec.block, (unsigned long long)clock, (unsigned long long)least);
    if (replica->merged < clock && !replica->ended)
        return hawser_fail(error, HAWSER_INTERNAL, "state '%s' at block %u: clock %llu is asked for inside clock %llu",
                           replica->spec.name, replica->spec.block, (unsigned long long)clock,
                           (unsigned long long)replica->merged);
    for (; replica->merged < clock; replica->merged++) {
        if (!take_values(replica, replica->merged))
            merge_deltas(replica, replica->merged);
        drop_clock(replica, replica->merged);
    }
    return HAWSER_OK;
}

static hawser_status told_trouble(const hw_replica *replica, hawser_error *error)
{
    if (replica->trouble.status == HAWSER_OK)
        return HAWSER_OK;
    return hawser_fail(error, replica->trouble.status, "%s", replica->trouble.text);
}

hawser_status hw_replica_merge(hw_replica *replica, uint64_t clock, hawser_error *error)
{
    HAWSER_TRY(told_trouble(replica, error));
    if (!hw_is_source(replica, replica->spec.block))
        replica->ended = true;
    if (hw_parks(replica))
        HAWSER_TRY(merge_parked(replica, clock, error));
    if ((replica->ended || replica->fresh) && replica->gain != replica->wanted_gain) {
        replica->gain = replica->wanted_gain;
        if (hw_holds(replica))
            hw_set_bits(replica->stale, 0, replica->tiles);
    }
    /* Inside a BSP clock nothing changes: own parts are parked with the rest of the clock, and the cache keeps them. */
    if (replica->ended || !hw_parks(replica))
        fold(replica);
    replica->ended = replica->fresh = false;
    return HAWSER_OK;
}

static hawser_status check_nothing_held(const hw_replica *replica, hawser_error *error)
{
    for (size_t i = 0; hw_holds(replica) && i < replica->spec.count; i++)
        if (replica->held[i] != 0)
            return hawser_fail(error, HAWSER_INTERNAL,
                               "state '%s' at block %u: entry %zu is still held; flush before the end", replica->spec.name,
                               replica->spec.block, i);
    return HAWSER_OK;
}

hawser_status hw_replica_end(hw_replica *replica, uint64_t clocks, hawser_error *error)
{
    HAWSER_TRY(told_trouble(replica, error));
    HAWSER_TRY(check_nothing_held(replica, error));
    if (replica->span > 0)
        return hawser_fail(error, HAWSER_INTERNAL,
                           "state '%s' at block %u: %u clocks are not sent yet; cut them before the end", replica->spec.name,
                           replica->spec.block, replica->span);
    if (hw_clock_table_least(&replica->clocks) < clocks)
        return hawser_fail(error, HAWSER_INTERNAL, "state '%s' at block %u: the epoch ends at clock %llu, only %llu are in",
                           replica->spec.name, replica->spec.block, (unsigned long long)clocks,
                           (unsigned long long)hw_clock_table_least(&replica->clocks));
    hw_replica_rollback(replica);
    replica->ended = true;
    HAWSER_TRY(hw_replica_merge(replica, clocks, error));
    replica->ended = true;
    replica->begun = false;
    replica->over = true;
    return HAWSER_OK;
}
