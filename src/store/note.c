#include "store/note.h"

#include <string.h>

#include "base/digest.h"

/* Returns the digest of `rows` adjacent rows, the first of which has the key `first`. */
static uint64_t digest_range(const hw_table_spec *spec, const void *values, uint64_t first, size_t rows)
{
    size_t count = rows * spec->width;
    if (spec->type == HW_VALUE_F32)
        return hw_digest_32(values, count, first * spec->width);
    return hw_digest_64(values, count, first * spec->width);
}

/* Returns the digest of the rows of these keys. `places` has the row of each key; NULL: rows are in the order of the
 * keys. */
static uint64_t digest_list(const hw_table_spec *spec, const unsigned char *values, const uint64_t *keys,
                            const uint32_t *places, size_t rows)
{
    size_t bytes = spec->width * hw_value_size(spec->type);
    uint64_t sum = 0;
    if (spec->width == 1 && places == NULL)
        return spec->type == HW_VALUE_F32 ? hw_digest_32_at(values, rows, keys) : hw_digest_64_at(values, rows, keys);
    for (size_t i = 0; i < rows; i++)
        sum += digest_range(spec, values + (places != NULL ? places[i] : i) * bytes, keys[i], 1);
    return sum;
}

void hw_note_table(hw_log *log, const hw_table_spec *spec, uint32_t number, uint64_t first, uint64_t last, uint32_t workers)
{
    if (log == NULL)
        return;
    hw_event_record name = hw_event_name(number, spec->name);
    unsigned flags =
        (spec->centric ? HW_EVENT_CENTRIC : 0) | (spec->sparse ? HW_EVENT_SPARSE : 0) |
        (spec->summed ? HW_EVENT_SUMMED : 0) | (strcmp(spec->function->name, "assign") == 0 ? HW_EVENT_ASSIGNS : 0) |
        (hw_filter_drops(spec) ? HW_EVENT_DROPS : 0) |
        (spec->rounding != HW_F64 || (spec->filter != HW_PASS_ALL && !hw_filter_drops(spec)) ? HW_EVENT_KEEPS : 0);
    hw_log_put(log, &name);
    hw_log_put(log, &(hw_event_record){.kind = HW_EVENT_TABLE,
                                       .flags = (uint8_t)flags,
                                       .object = number,
                                       .part = workers,
                                       .clock = spec->delay,
                                       .first = first,
                                       .last = last,
                                       .count = spec->width});
}

/* ---------------------------------------------------------------------------------------------------------- stripes ---- */

/* Returns the digest of a piece's rows in `values`, which has all rows of the request. */
static uint64_t digest_piece(const hw_piece *piece, const unsigned char *values)
{
    const hw_inflight *inflight = piece->inflight;
    const hw_table_spec *spec = inflight->spec;
    size_t bytes = spec->width * hw_value_size(spec->type), rows = piece->end - piece->begin;
    if (inflight->grouped != NULL)
        return digest_list(spec, values, inflight->grouped + piece->begin, inflight->rows + piece->begin, rows);
    values += piece->begin * bytes;
    if (inflight->request.head.keys == HW_KEYS_RANGE)
        return digest_range(spec, values, piece->first, (size_t)(piece->last - piece->first) + 1);
    return digest_list(spec, values, inflight->request.keys + piece->begin, NULL, rows);
}

static hw_event_record record_of(const hw_piece *piece, hw_event_kind kind)
{
    const hw_inflight *inflight = piece->inflight;
    const hw_request_head *head = &inflight->request.head;
    bool sparse = inflight->spec->sparse, range = head->keys == HW_KEYS_RANGE && inflight->grouped == NULL;
    hw_event_record record = {.kind = (uint8_t)kind,
                              .flags = head->reread != 0 ? HW_EVENT_REREAD : 0,
                              .object = head->table,
                              .actor = head->worker,
                              .from = inflight->client,
                              .covers = inflight->count,
                              .part = head->slice,
                              .least = head->least,
                              .epoch = head->task,
                              .clock = head->clock,
                              .first = sparse ? head->first : piece->first,
                              .last = sparse ? head->last : piece->last};
    if (kind == HW_EVENT_CLOCK)
        return record;
    record.count = range ? piece->last - piece->first + 1 : piece->end - piece->begin;
    if (record.count - 1 != record.last - record.first)
        record.flags |= HW_EVENT_LISTED;
    return record;
}

void hw_note_piece(const hw_stripe *stripe, const hw_piece *piece)
{
    const hw_inflight *inflight = piece->inflight;
    if (stripe->log == NULL || hw_operation_of_memory(inflight->request.head.operation))
        return;
    if (inflight->request.head.operation == HW_CLOCK) {
        hw_event_record record = record_of(piece, HW_EVENT_CLOCK);
        hw_log_put(stripe->log, &record);
        return;
    }
    if (inflight->request.values != NULL) {
        hw_event_record record = record_of(piece, HW_EVENT_TAKEN);
        if (atomic_load_explicit(&inflight->failed, memory_order_relaxed) != HAWSER_OK)
            record.flags |= HW_EVENT_FAILED;
        if (inflight->request.head.operation == HW_PUT)
            record.flags |= HW_EVENT_RESTORES;
        record.digest = digest_piece(piece, inflight->request.values);
        hw_log_put(stripe->log, &record);
    }
    if (inflight->out != NULL) {
        hw_event_record record = record_of(piece, HW_EVENT_GIVEN);
        record.digest = digest_piece(piece, inflight->out);
        hw_log_put(stripe->log, &record);
    }
}

void hw_note_refused(const hw_stripe *stripe, const hw_piece *piece)
{
    if (stripe->log == NULL)
        return;
    hw_event_record record = record_of(piece, HW_EVENT_GIVEN);
    record.flags |= HW_EVENT_FAILED;
    hw_log_put(stripe->log, &record);
}

void hw_note_waits(const hw_stripe *stripe, const hw_piece *piece)
{
    const hw_inflight *inflight = piece->inflight;
    if (stripe->log == NULL)
        return;
    hw_event_record record = record_of(piece, HW_EVENT_WAIT);
    record.flags |=
        (uint8_t)((inflight->out != NULL ? HW_EVENT_PULLS : 0) | (inflight->request.values != NULL ? HW_EVENT_PUSHES : 0));
    hw_log_put(stripe->log, &record);
}

/* ---------------------------------------------------------------------------------------------------------- clients ---- */

static hw_event_record order_record(const hw_order *order, uint64_t task, uint32_t slices, hw_event_kind kind)
{
    bool ticks = order->operation == HW_CLOCK;
    uint64_t first = order->keys != NULL ? order->keys[0] : order->first;
    uint64_t last = order->keys != NULL ? order->keys[order->count - 1] : order->last;
    uint64_t rows = order->keys != NULL ? order->count : last - first + 1;
    unsigned flags = (order->out != NULL ? HW_EVENT_PULLS : 0) | (order->values != NULL ? HW_EVENT_PUSHES : 0) |
                     (ticks ? HW_EVENT_TICKS : 0) | (!ticks && rows - 1 != last - first ? HW_EVENT_LISTED : 0) |
                     (order->reread ? HW_EVENT_REREAD : 0) | (order->operation == HW_PUT ? HW_EVENT_RESTORES : 0);
    return (hw_event_record){.kind = (uint8_t)kind,
                             .flags = (uint8_t)flags,
                             .object = order->table,
                             .actor = order->worker,
                             .part = slices,
                             .least = order->least,
                             .epoch = task,
                             .clock = order->clock,
                             .first = first,
                             .last = last,
                             .count = ticks ? 0 : rows};
}

static uint64_t digest_order(const hw_table_spec *spec, const hw_order *order, const void *values)
{
    if (order->keys != NULL)
        return digest_list(spec, values, order->keys, NULL, order->count);
    return digest_range(spec, values, order->first, (size_t)(order->last - order->first) + 1);
}

void hw_note_held(hw_log *log, const hw_order *order, uint64_t task, size_t rows, const hw_passed *passed)
{
    if (log == NULL)
        return;
    hw_log_put(log, &(hw_event_record){.kind = HW_EVENT_HELD,
                                       .flags = order->rest ? HW_EVENT_FLUSH : 0,
                                       .object = order->table,
                                       .actor = order->worker,
                                       .from = log->name.number,
                                       .span = (uint32_t)(rows - passed->count - passed->dropped),
                                       .epoch = task,
                                       .clock = passed->before,
                                       .first = rows,
                                       .last = passed->dropped,
                                       .count = passed->count,
                                       .digest = passed->after});
}

void hw_note_asked(hw_log *log, const hw_table_spec *spec, const hw_order *order, uint64_t task, uint32_t slices)
{
    if (log == NULL)
        return;
    hw_event_record record = order_record(order, task, slices, HW_EVENT_ASKED);
    record.from = log->name.number;
    if (order->values != NULL)
        record.digest = digest_order(spec, order, order->values);
    hw_log_put(log, &record);
}

void hw_note_answer(hw_log *log, const hw_table_spec *spec, const hw_order *order, uint64_t task, uint32_t slices,
                    hawser_status ended)
{
    if (log == NULL || order->operation == HW_CLOCK)
        return;
    hw_event_record record = order_record(order, task, slices, HW_EVENT_ANSWER);
    record.from = log->name.number;
    if (ended != HAWSER_OK) {
        record.flags |= HW_EVENT_FAILED;
        record.covers = (uint32_t) - (int)ended;
    } else if (order->out != NULL)
        record.digest = digest_order(spec, order, order->out);
    hw_log_put(log, &record);
}
