#include "exchange/range.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "exchange/reduce.h"

hawser_status hw_range_new(hawser_type type, uint32_t blocks, size_t count, size_t begin, size_t end, hw_range *range,
                           hawser_error *error)
{
    *range = (hw_range){.numbers = hw_numbers_of(type), .count = count, .begin = begin, .end = end, .blocks = blocks};
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

size_t hw_add_payload(const hw_payload *payload, size_t begin, size_t end, double scale, void *to, size_t offset)
{
    const hw_numbers *numbers = hw_numbers_of(payload->type);
    size_t size = numbers->size, good;
    if (payload->index32 == NULL && payload->index64 == NULL)
        good = begin + numbers->add((char *)to + (payload->first + begin - offset) * size,
                                    (const char *)payload->values + begin * size, scale, end - begin);
    else
        good = numbers->scatter(to, offset, payload, begin, end, scale);
    return good < end ? hw_payload_index(payload, good) : SIZE_MAX;
}

static void note(size_t *over, size_t entry)
{
    *over = entry < *over ? entry : *over;
}

/* Returns a piece of one block's update, which may be in parts, or of one sum: NULL if no message updates the piece, the
 * payload itself if it covers the piece, else the sum of the parts in scratch. */
static const void *leaf(const hw_range *range, hw_range_piece where, uint32_t block, void *scratch, size_t *over)
{
    const hw_message *message = range->parked[block].first;
    bool any = false;
    size_t size = range->numbers->size;
    for (; of_clock(message, where.clock); message = message->next) {
        hw_payload payload = hw_payload_of(message, range->count);
        size_t begin = hw_payload_seek(&payload, where.begin);
        size_t end = hw_payload_seek(&payload, where.begin + where.count);
        if (begin == end)
            continue;
        bool dense = message->envelope.encoding == HW_DENSE;
        if (!any && dense && end - begin == where.count && !of_clock(message->next, where.clock))
            return (const char *)payload.values + begin * size;
        if (!any)
            memset(scratch, 0, where.count * size);
        any = true;
        note(over, hw_add_payload(&payload, begin, end, 1, scratch, where.begin));
    }
    return any ? scratch : NULL;
}

const void *hw_range_sum(const hw_range *range, hw_range_piece where, uint32_t first, uint32_t count, void *scratch,
                         size_t *over)
{
    const hw_message *parked = hw_range_oldest(range, first, where.clock);
    if (count == 1 || (parked != NULL && parked->envelope.covers == count))
        return leaf(range, where, first, scratch, over);
    uint32_t left_count = hw_left_of(count);
    const void *left = hw_range_sum(range, where, first, left_count, scratch, over);
    uint32_t middle = first + left_count, rest = count - left_count;
    if (left == NULL)
        return hw_range_sum(range, where, middle, rest, scratch, over);
    const hw_numbers *numbers = range->numbers;
    const void *right = hw_range_sum(range, where, middle, rest, (char *)scratch + HW_TILE * numbers->size, over);
    if (right == NULL)
        return left;
    size_t good =
        left == scratch ? numbers->add(scratch, right, 1, where.count) : numbers->join(scratch, left, right, where.count);
    if (good < where.count)
        note(over, where.begin + good);
    return scratch;
}
