#include "exchange/lane.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "exchange/reduce.h"

hawser_status hw_lane_new(uint32_t blocks, size_t count, size_t begin, size_t end, hw_lane *lane, hawser_error *error)
{
    *lane = (hw_lane){.count = count, .begin = begin, .end = end, .blocks = blocks};
    HAWSER_TRY(HW_NEW(&lane->parked, blocks, "parked updates", error));
    HAWSER_TRY(HW_NEW(&lane->parts, blocks, "part numbers", error));
    return HW_NEW(&lane->done, blocks, "clocks of updates", error);
}

void hw_lane_free(hw_lane *lane)
{
    for (uint32_t block = 0; lane->parked != NULL && block < lane->blocks; block++)
        while (lane->parked[block].first != NULL)
            hw_lane_drop_oldest(lane, block);
    free(lane->parked);
    free(lane->parts);
    free(lane->done);
    *lane = (hw_lane){0};
}

void hw_lane_reset(hw_lane *lane)
{
    memset(lane->parts, 0, lane->blocks * sizeof *lane->parts);
    memset(lane->done, 0, lane->blocks * sizeof *lane->done);
}

void hw_lane_park(hw_lane *lane, hw_message *message)
{
    hw_parked *parked = &lane->parked[message->envelope.first];
    message->next = NULL;
    if (parked->first == NULL)
        parked->first = message;
    else
        parked->last->next = message;
    parked->last = message;
}

static bool of_clock(const hw_message *message, uint64_t clock)
{
    return message != NULL && message->envelope.clock == clock;
}

hw_message *hw_lane_oldest(const hw_lane *lane, uint32_t block, uint64_t clock)
{
    hw_message *oldest = lane->parked[block].first;
    return of_clock(oldest, clock) ? oldest : NULL;
}

void hw_lane_drop_oldest(hw_lane *lane, uint32_t block)
{
    hw_message *oldest = lane->parked[block].first;
    lane->parked[block].first = oldest->next;
    hw_message_free(oldest);
}

void hw_lane_drop(hw_lane *lane, uint32_t begin, uint32_t end, uint64_t clock)
{
    for (uint32_t block = begin; block < end; block++)
        while (hw_lane_oldest(lane, block, clock) != NULL)
            hw_lane_drop_oldest(lane, block);
}

void hw_add_scaled(double *restrict to, const double *restrict from, double scale, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] += scale * from[i];
}

void hw_add_payload(const hw_payload *payload, size_t begin, size_t end, double scale, double *to, size_t offset)
{
    if (payload->index32 == NULL && payload->index64 == NULL) {
        hw_add_scaled(to + (payload->first + begin - offset), payload->values + begin, scale, end - begin);
        return;
    }
    for (size_t i = begin; i < end; i++)
        to[hw_payload_index(payload, i) - offset] += scale * payload->values[i];
}

/* What messages about one block, or one sum, say about a piece: NULL when nothing, the payload itself where it covers the piece, else
 * gathered in scratch. */
static const double *leaf(const hw_lane *lane, hw_lane_piece where, uint32_t block, double *scratch)
{
    const hw_message *message = lane->parked[block].first;
    bool any = false;
    for (; of_clock(message, where.clock); message = message->next) {
        hw_payload payload = hw_payload_of(message, lane->count);
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
        hw_add_payload(&payload, begin, end, 1, scratch, where.begin);
    }
    return any ? scratch : NULL;
}

const double *hw_lane_sum(const hw_lane *lane, hw_lane_piece where, uint32_t first, uint32_t count, double *scratch)
{
    const hw_message *said = hw_lane_oldest(lane, first, where.clock);
    if (count == 1 || (said != NULL && said->envelope.covers == count))
        return leaf(lane, where, first, scratch);
    uint32_t left_count = hw_left_of(count);
    const double *left = hw_lane_sum(lane, where, first, left_count, scratch);
    uint32_t middle = first + left_count, rest = count - left_count;
    if (left == NULL)
        return hw_lane_sum(lane, where, middle, rest, scratch);
    const double *right = hw_lane_sum(lane, where, middle, rest, scratch + HW_TILE);
    if (right == NULL)
        return left;
    if (left == scratch) {
        hw_add_scaled(scratch, right, 1, where.count);
        return scratch;
    }
    for (size_t i = 0; i < where.count; i++)
        scratch[i] = left[i] + right[i];
    return scratch;
}
