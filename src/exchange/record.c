/* record.c - records the events of a replica for a history (docs/history.md): begun, read, written, seen, ended. */

#include "base/digest.h"
#include "exchange/encoding.h"
#include "exchange/replica.h"

static void put(const hw_replica *replica, hw_event_record record)
{
    record.object = replica->spec.state;
    record.actor = replica->spec.block;
    record.epoch = replica->epoch;
    hw_log_put(replica->spec.log, &record);
}

static uint64_t digest_beside(const hw_numbers *numbers, const void *values, size_t count, size_t first)
{
    return numbers->size == sizeof(double) ? hw_digest_64(values, count, first) : hw_digest_32(values, count, first);
}

/* The digest of a vector is kept tile by tile, so that the cost of a merge depends on the updated tiles. */
void hw_record_tile(hw_replica *replica, size_t tile)
{
    size_t begin = tile * HW_TILE;
    uint64_t digest =
        digest_beside(replica->numbers, replica->base + hw_at(replica, begin), hw_tile_end(replica, tile) - begin, begin);
    replica->digest += digest - replica->tile_digests[tile];
    replica->tile_digests[tile] = digest;
}

void hw_record_all_tiles(hw_replica *replica)
{
    for (size_t tile = 0; hw_records(replica) && tile < replica->tiles; tile++)
        hw_record_tile(replica, tile);
}

static uint64_t digest_of(const hw_replica *replica, const hw_message *message)
{
    hw_payload payload = hw_payload_of(message, replica->spec.count);
    if (payload.index32 == NULL && payload.index64 == NULL)
        return digest_beside(replica->numbers, payload.values, payload.count, payload.first);
    enum { BATCH = 256 };
    uint64_t sum = 0, places[BATCH];
    for (size_t i = 0, n; i < payload.count; i += n) {
        n = payload.count - i < BATCH ? payload.count - i : BATCH;
        for (size_t k = 0; k < n; k++)
            places[k] = hw_payload_index(&payload, i + k);
        const char *values = (const char *)payload.values + hw_at(replica, i);
        sum += replica->numbers->size == sizeof(double) ? hw_digest_64_at(values, n, places)
                                                        : hw_digest_32_at(values, n, places);
    }
    return sum;
}

void hw_record_state(hw_replica *replica)
{
    const hw_replica_spec *spec = &replica->spec;
    hw_event_record name = hw_event_name(spec->state, spec->name);
    if (!hw_records(replica))
        return;
    name.actor = spec->block;
    hw_log_put(spec->log, &name);
    unsigned flags = (spec->values ? HW_EVENT_VALUES : 0) | (hw_filters(replica) ? HW_EVENT_HOLDS : 0) |
                     (replica->rest != NULL ? HW_EVENT_ROUNDS : 0);
    put(replica, (hw_event_record){.kind = HW_EVENT_STATE,
                                   .flags = (uint8_t)flags,
                                   .range = (uint16_t)replica->range_count,
                                   .from = spec->sources == 1 ? spec->source : HW_HISTORY_NONE,
                                   .part = spec->blocks,
                                   .clock = hw_filters(replica) ? spec->filter.max_held : 0,
                                   .first = spec->own_begin,
                                   .last = spec->own_end,
                                   .count = spec->count,
                                   .digest = replica->digest});
}

void hw_record_begin(hw_replica *replica)
{
    hw_policy_kind kind = replica->policy.kind;
    replica->last_read = UINT64_MAX;
    if (!hw_records(replica))
        return;
    put(replica, (hw_event_record){.kind = HW_EVENT_BEGIN,
                                   .flags = replica->plain ? HW_EVENT_PLAIN : 0,
                                   .from = replica->stages.source, /* UINT32_MAX is HW_HISTORY_NONE */
                                   .part = hw_policy_row_of(kind)->record,
                                   .clock = replica->merged,
                                   .first = replica->stages.updates,
                                   .last = replica->stages.updates | replica->stages.reads,
                                   .count = hw_policy_counts(kind) ? replica->policy.staleness : 0,
                                   .digest = replica->digest});
}

void hw_record_expected(hw_replica *replica, uint32_t stage, hw_policy policy)
{
    if (hw_records(replica))
        put(replica, (hw_event_record){.kind = HW_EVENT_STRICTER,
                                       .part = hw_policy_row_of(policy.kind)->record,
                                       .first = stage,
                                       .count = hw_policy_counts(policy.kind) ? policy.staleness : 0});
}

void hw_record_read(hw_replica *replica, uint64_t clock, uint32_t stage)
{
    const hw_clock_table *clocks = &replica->clocks;
    if (hw_records(replica))
        put(replica, (hw_event_record){.kind = HW_EVENT_READ,
                                       .flags = replica->last_read == clock ? HW_EVENT_INNER : 0,
                                       .part = stage,
                                       .clock = clock,
                                       .first = hw_clock_table_least(clocks),
                                       .last = hw_clock_table_most(clocks),
                                       .count = clocks->done[replica->spec.block],
                                       .digest = replica->digest});
    replica->last_read = clock;
}

void hw_record_end(hw_replica *replica, uint64_t clocks)
{
    if (hw_records(replica))
        put(replica, (hw_event_record){.kind = HW_EVENT_END, .clock = clocks, .digest = replica->digest});
}

void hw_record_forget(hw_replica *replica)
{
    if (hw_records(replica))
        put(replica, (hw_event_record){.kind = HW_EVENT_FORGET});
}

void hw_record_defer(hw_replica *replica, uint64_t clock)
{
    if (hw_records(replica))
        put(replica, (hw_event_record){.kind = HW_EVENT_DEFER, .clock = clock});
}

/* Sets `first` of the record to the number of entries that a filter holds back, and `last` to the clock since which the
 * oldest is held. */
static void count_held(const hw_replica *replica, hw_event_record *record)
{
    record->last = UINT64_MAX;
    for (size_t i = 0; hw_filters(replica) && i < replica->spec.count; i++) {
        if (!hw_waits(replica, i))
            continue;
        record->first++;
        if (replica->since[i] < record->last)
            record->last = replica->since[i];
    }
}

void hw_replica_record_restored(const hw_replica *replica)
{
    if (!hw_records(replica))
        return;
    hw_event_record record = {.kind = HW_EVENT_RESTORED, .count = replica->spec.count, .digest = replica->digest};
    if (replica->since != NULL) /* else it is retired, or has no filter */
        count_held(replica, &record);
    else
        record.last = UINT64_MAX;
    record.object = replica->spec.state;
    record.actor = replica->spec.block;
    hw_log_put(replica->spec.log, &record);
}

void hw_replica_record_point(const hw_replica *replica, uint32_t point, bool back)
{
    if (hw_records(replica) && replica->base != NULL)
        put(replica,
            (hw_event_record){.kind = back ? HW_EVENT_BACK : HW_EVENT_KEPT, .part = point, .digest = replica->digest});
}

void hw_record_write(hw_replica *replica, const hw_message *message, bool flush)
{
    const hw_envelope *envelope = &message->envelope;
    if (!hw_records(replica))
        return;
    hw_event_record record = {.kind = HW_EVENT_WRITE,
                              .part = envelope->part,
                              .span = envelope->span,
                              .clock = envelope->clock,
                              .count = envelope->count,
                              .digest = digest_of(replica, message)};
    record.flags = (uint8_t)((envelope->last ? HW_EVENT_LAST : 0) | (flush ? HW_EVENT_FLUSH : 0) |
                             (envelope->form == HW_FORM_VALUES ? HW_EVENT_VALUES : 0));
    count_held(replica, &record);
    put(replica, record);
}

void hw_record_alone(hw_replica *replica, uint64_t clock, bool last, bool flush)
{
    if (hw_records(replica))
        put(replica, (hw_event_record){
                         .kind = HW_EVENT_WRITE,
                         .flags = (uint8_t)(HW_EVENT_VALUES | (last ? HW_EVENT_LAST : 0) | (flush ? HW_EVENT_FLUSH : 0)),
                         .part = replica->ranges[0].parts[replica->spec.block],
                         .clock = clock,
                         .last = UINT64_MAX});
}

void hw_record_seen(hw_replica *replica, const hw_message *message)
{
    const hw_envelope *envelope = &message->envelope;
    if (!hw_records(replica))
        return;
    put(replica, (hw_event_record){.kind = HW_EVENT_SEEN,
                                   .flags = (uint8_t)((envelope->last ? HW_EVENT_LAST : 0) |
                                                      (envelope->form == HW_FORM_VALUES ? HW_EVENT_VALUES : 0)),
                                   .range = (uint16_t)envelope->range,
                                   .from = envelope->first,
                                   .covers = envelope->covers,
                                   .part = envelope->part,
                                   .span = envelope->span,
                                   .clock = envelope->clock,
                                   .count = envelope->count,
                                   .digest = digest_of(replica, message)});
}

/* One record for each update of the sum, all with the sum's digest. */
void hw_record_combined(hw_replica *replica, const hw_message *values, const hw_contribution *list, uint32_t count)
{
    if (!hw_records(replica))
        return;
    uint64_t digest = digest_of(replica, values);
    for (uint32_t i = 0; i < count; i++)
        put(replica, (hw_event_record){.kind = HW_EVENT_SEEN,
                                       .flags = list[i].last ? HW_EVENT_LAST : 0,
                                       .range = (uint16_t)values->envelope.range,
                                       .from = list[i].block,
                                       .covers = count,
                                       .part = list[i].part,
                                       .span = list[i].span,
                                       .more = count - 1 - i,
                                       .clock = list[i].clock,
                                       .count = values->envelope.count,
                                       .digest = digest});
}
