/* record.c - what a history has of a vector: its description and edges, scatters, items sent and taken, gathers, its end. */
#include "base/digest.h"
#include "runtime/vector/vector.h"
#include "vector/rounded.h"

static void put(hawser_vector *vector, const hw_event_record *record)
{
    pthread_mutex_lock(&vector->logging); /* the net's thread sends items, too */
    hw_log_put(vector->log, record);
    pthread_mutex_unlock(&vector->logging);
}

static uint64_t digest_at(const hawser_vector *vector, const void *values, size_t count, uint64_t first)
{
    return vector->type == HAWSER_F32 ? hw_digest_32(values, count, first) : hw_digest_64(values, count, first);
}

/* The digest of an array, or of rows by key, in which a number has the same place. */
static uint64_t digest_of(const hawser_vector *vector, const uint64_t *keys, size_t key_count, const void *values)
{
    uint64_t sum = 0, width = vector->shape.width;
    if (!vector->sparse)
        return digest_at(vector, values, vector->count, 0);
    for (size_t i = 0; i < key_count; i++)
        sum += digest_at(vector, (const char *)values + i * vector->shape.row, (size_t)width, keys[i] * width);
    return sum;
}

/* The digest of what a rounded item's numbers are. */
static uint64_t digest_rounded(const hawser_vector *vector, const hw_message *item)
{
    double tile[HW_TILE]; /* has space for f32, too */
    const uint64_t *keys = vector->sparse ? item->payload : NULL;
    size_t rows = (size_t)item->envelope.count, width = vector->shape.width;
    size_t count = vector->sparse ? rows * width : vector->count, size = vector->bytes / vector->count;
    const char *numbers = (const char *)item->payload + (vector->sparse ? rows * sizeof *keys : 0);
    uint64_t sum = 0;
    for (size_t t = 0; t * HW_TILE < count; t++) {
        size_t length = hw_rounded_tile(vector->rounding, vector->type, numbers, count, t, tile), first = t * HW_TILE;
        sum += vector->sparse ? 0 : digest_at(vector, tile, length, first);
        for (size_t i = 0; keys != NULL && i < length; i++)
            sum += digest_at(vector, (char *)tile + i * size, 1, keys[(first + i) / width] * width + (first + i) % width);
    }
    return sum;
}

static uint64_t digest_item(const hawser_vector *vector, const hw_message *item)
{
    if (item->envelope.length == 0)
        return 0;
    if (item->envelope.encoding != 0)
        return digest_rounded(vector, item);
    const hw_sparse_part part = vector->sparse ? hw_sparse_of(item) : (hw_sparse_part){0};
    return digest_of(vector, part.keys, part.count, vector->sparse ? part.values : item->payload);
}

hawser_status hw_vector_record_open(hawser_vector *vector, uint32_t run, hawser_error *error)
{
    const hw_stream_name name = {.kind = HW_STREAM_VECTOR, .run = run, .number = vector->self};
    const hw_edge_rules *rules = &vector->rules;
    if (vector->servers != NULL) /* the store has the requests */
        return HAWSER_OK;
    HAWSER_TRY(hw_recorder_log(vector->job->recorder, name, &vector->log, error));
    if (vector->log == NULL)
        return HAWSER_OK;
    hw_recorder_keep(vector->job->recorder);
    hw_event_record called = hw_event_name(0, vector->name);
    called.actor = vector->self;
    put(vector, &called);
    put(vector,
        &(hw_event_record){.kind = HW_EVENT_VECTOR,
                           .flags = (uint8_t)((rules->deltas ? 0 : HW_EVENT_VALUES) | (vector->sparse ? HW_EVENT_ROWS : 0) |
                                              (vector->rounding != HW_F64 ? HW_EVENT_KEEPS : 0)),
                           .actor = vector->self,
                           .from = vector->nodes,
                           .part = rules->sync == HW_VECTOR_TAP   ? HW_EVENT_TAP
                                   : rules->sync == HW_VECTOR_BSP ? HW_EVENT_BSP
                                                                  : HW_EVENT_SSP,
                           .count = rules->slack});
    for (uint32_t s = 0; s < vector->source_count; s++)
        put(vector, &(hw_event_record){
                        .kind = HW_EVENT_EDGE, .flags = HW_EVENT_INPUT, .actor = vector->self, .from = vector->sources[s]});
    for (uint32_t r = 0; r < vector->receiver_count; r++)
        put(vector, &(hw_event_record){.kind = HW_EVENT_EDGE, .actor = vector->self, .from = vector->receivers[r]});
    return HAWSER_OK;
}

void hw_vector_record_scatter(hawser_vector *vector, const hawser_scatter *scatter)
{
    if (vector->log == NULL)
        return;
    hw_event_record record = {.kind = HW_EVENT_SCATTER,
                              .actor = vector->self,
                              .from = HW_HISTORY_NONE,
                              .clock = scatter->iteration,
                              .count = vector->sparse ? scatter->key_count : vector->count,
                              .digest = digest_of(vector, scatter->keys, scatter->key_count, scatter->values)};
    if (scatter->to != NULL && scatter->to_count == 0)
        record.from = vector->self; /* to no replica */
    if (scatter->to == NULL || scatter->to_count == 0)
        put(vector, &record);
    for (size_t i = 0; scatter->to != NULL && i < scatter->to_count; i++) {
        record.from = scatter->to[i];
        put(vector, &record);
    }
}

static hw_event_record record_item(const hawser_vector *vector, hw_event_kind kind, uint32_t node, const hw_message *item)
{
    return (hw_event_record){.kind = (uint8_t)kind,
                             .actor = vector->self,
                             .from = node,
                             .span = item->envelope.span,
                             .epoch = item->envelope.epoch,
                             .clock = item->envelope.clock,
                             .count = item->envelope.count,
                             .digest = digest_item(vector, item)};
}

void hw_vector_record_sent(hawser_vector *vector, uint32_t node, const hw_message *item)
{
    if (vector->log == NULL)
        return;
    const hw_event_record record = record_item(vector, HW_EVENT_SENT, node, item);
    put(vector, &record);
}

void hw_vector_record_taken(hawser_vector *vector, uint32_t source, const hw_message *items, unsigned flags,
                            uint64_t iteration)
{
    for (const hw_message *item = vector->log != NULL ? items : NULL; item != NULL; item = item->next) {
        hw_event_record record = record_item(vector, HW_EVENT_GOT, vector->sources[source], item);
        record.flags = (uint8_t)flags;
        record.first = iteration;
        if (record.epoch <= vector->recorded[source]) /* items that a barrier has merged have records */
            continue;
        vector->recorded[source] = record.epoch;
        put(vector, &record);
    }
}

void hw_vector_record_gather(hawser_vector *vector, uint64_t iteration)
{
    if (vector->log != NULL)
        put(vector, &(hw_event_record){.kind = HW_EVENT_GATHER, .actor = vector->self, .clock = iteration});
}

void hw_vector_record_end(hawser_vector *vector, const void *array)
{
    hw_event_record record = {.kind = array == NULL ? HW_EVENT_ENDING : HW_EVENT_FINISHED, .actor = vector->self};
    if (vector->log == NULL)
        return;
    if (array != NULL && !vector->deltas && !vector->sparse) /* the same on all replicas */
        record.digest = digest_at(vector, array, vector->count, 0);
    put(vector, &record);
}
