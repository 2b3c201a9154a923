#include "store/range_clock.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"

hawser_status hw_range_clock_new(uint64_t first, uint64_t last, hw_range_clock *clock, hawser_error *error)
{
    *clock = (hw_range_clock){.last = last};
    HAWSER_TRY(HW_GROW(&clock->ranges, &clock->capacity, 1, "a range clock", error));
    clock->ranges[clock->count++] = (hw_timed){first, 0};
    return HAWSER_OK;
}

void hw_range_clock_free(hw_range_clock *clock)
{
    free(clock->ranges);
    *clock = (hw_range_clock){0};
}

/* Returns the index of the range that has the key. */
static size_t find(const hw_range_clock *clock, uint64_t key)
{
    return hw_range_of(clock->ranges, sizeof *clock->ranges, clock->count, key);
}

/* Splits a range so that one begins at `key`. The caller has made space. */
static size_t split_at(hw_range_clock *clock, uint64_t key)
{
    size_t i = find(clock, key);
    if (clock->ranges[i].first == key)
        return i;
    memmove(&clock->ranges[i + 2], &clock->ranges[i + 1], (clock->count - i - 1) * sizeof *clock->ranges);
    clock->ranges[i + 1] = (hw_timed){key, clock->ranges[i].time};
    clock->count++;
    return i + 1;
}

/* Joins neighbours of equal time among the ranges from..to. */
static void join(hw_range_clock *clock, size_t from, size_t to)
{
    size_t kept = from;
    for (size_t i = from + 1; i <= to; i++)
        if (clock->ranges[i].time != clock->ranges[kept].time)
            clock->ranges[++kept] = clock->ranges[i];
    memmove(&clock->ranges[kept + 1], &clock->ranges[to + 1], (clock->count - to - 1) * sizeof *clock->ranges);
    clock->count -= to - kept;
}

hawser_status hw_range_clock_advance(hw_range_clock *clock, uint64_t first, uint64_t last, uint64_t time,
                                     hawser_error *error)
{
    HAWSER_TRY(HW_GROW(&clock->ranges, &clock->capacity, clock->count + 2, "a range clock", error));
    size_t begin = split_at(clock, first);
    size_t end = last < clock->last ? split_at(clock, last + 1) : clock->count;
    for (size_t i = begin; i < end; i++)
        if (clock->ranges[i].time < time)
            clock->ranges[i].time = time;
    join(clock, begin > 0 ? begin - 1 : 0, end < clock->count ? end : clock->count - 1);
    return HAWSER_OK;
}

uint64_t hw_range_clock_at(const hw_range_clock *clock, uint64_t key)
{
    return clock->ranges[find(clock, key)].time;
}

uint64_t hw_range_clock_from(const hw_range_clock *clock, uint64_t key, uint64_t *last)
{
    size_t i = find(clock, key);
    *last = i + 1 < clock->count ? clock->ranges[i + 1].first - 1 : clock->last;
    return clock->ranges[i].time;
}

uint64_t hw_range_clock_least(const hw_range_clock *clock, uint64_t first, uint64_t last)
{
    size_t i = find(clock, first);
    uint64_t least = clock->ranges[i].time;
    for (i++; i < clock->count && clock->ranges[i].first <= last; i++)
        if (clock->ranges[i].time < least)
            least = clock->ranges[i].time;
    return least;
}
