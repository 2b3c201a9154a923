#include "exchange/range.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "exchange/reduce.h"

hawser_status hw_range_new(uint32_t blocks, size_t count, size_t begin, size_t end, hw_range *range, hawser_error *error)
{
    *range = (hw_range){.count = count, .begin = begin, .end = end, .blocks = blocks};
    HAWSER_TRY(HW_NEW(&range->parked, blocks, "parked updates", error));
    HAWSER_TRY(HW_NEW(&range->parts, blocks, "part numbers", error));
    return HW_NEW(&range->done, blocks, "clocks of updates", error);
}

void hw_range_free(hw_range *range)
{
    for (uint32_t block = 0; range->parked != NULL && block < range->blocks; block++)
        while (range->parked[block].first != NULL)
            hw_range_drop_oldest(range, block);
    free(range->parked);
    free(range->parts);
    free(range->done);
    *range = (hw_range){0};
}

void hw_range_reset(hw_range *range)
{
    memset(range->parts, 0, range->blocks * sizeof *range->parts);
    memset(range->done, 0, range->blocks * sizeof *range->done);
}

void hw_range_park(hw_range *range, hw_message *message)
{
    hw_parked *parked = &range->parked[message->envelope.first];
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

hw_message *hw_range_oldest(const hw_range *range, uint32_t block, uint64_t clock)
{
    hw_message *oldest = range->parked[block].first;
    return of_clock(oldest, clock) ? oldest : NULL;
}

void hw_range_drop_oldest(hw_range *range, uint32_t block)
{
    hw_message *oldest = range->parked[block].first;
    range->parked[block].first = oldest->next;
    hw_message_free(oldest);
}

void hw_range_drop(hw_range *range, uint32_t begin, uint32_t end, uint64_t clock)
{
    for (uint32_t block = begin; block < end; block++)
        while (hw_range_oldest(range, block, clock) != NULL)
            hw_range_drop_oldest(range, block);
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

/* Returns a piece of one block's update, which may be in parts, or of one sum: NULL if no message updates the piece, the payload itself if it
 * covers the piece, else the sum of the parts in scratch. */
static const double *leaf(const hw_range *range, hw_range_piece where, uint32_t block, double *scratch)
{
    const hw_message *message = range->parked[block].first;
    bool any = false;
    for (; of_clock(message, where.clock); message = message->next) {
        hw_payload payload = hw_payload_of(message, range->count);
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

const double *hw_range_sum(const hw_range *range, hw_range_piece where, uint32_t first, uint32_t count, double *scratch)
{
    const hw_message *parked = hw_range_oldest(range, first, where.clock);
    if (count == 1 || (parked != NULL && parked->envelope.covers == count))
        return leaf(range, where, first, scratch);
    uint32_t left_count = hw_left_of(count);
    const double *left = hw_range_sum(range, where, first, left_count, scratch);
    uint32_t middle = first + left_count, rest = count - left_count;
    if (left == NULL)
        return hw_range_sum(range, where, middle, rest, scratch);
    const double *right = hw_range_sum(range, where, middle, rest, scratch + HW_TILE);
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
