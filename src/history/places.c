#include "history/places.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static bool covers(const hw_places *places, size_t run, uint64_t place)
{
    return run < places->count && places->runs[run].begin <= place &&
           (run + 1 == places->count || place < places->runs[run + 1].begin);
}

/* Returns the first run that begins above a place. */
static size_t above(hw_places *places, uint64_t place)
{
    if (covers(places, places->near, place))
        return places->near + 1;
    if (covers(places, places->near + 1, place))
        return ++places->near + 1;
    size_t low = 0, high = places->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (places->runs[middle].begin <= place)
            low = middle + 1;
        else
            high = middle;
    }
    places->near = low > 0 ? low - 1 : 0;
    return low;
}

hw_reach hw_places_at(hw_places *places, uint64_t place)
{
    size_t next = above(places, place);
    return next > 0 ? places->runs[next - 1].reach : (hw_reach){0, 0};
}

uint64_t hw_places_alike(hw_places *places, uint64_t place)
{
    size_t next = above(places, place);
    return next < places->count ? places->runs[next].begin : UINT64_MAX;
}

/* Makes a run begin at a place and returns its index. The array has capacity for one more. */
static size_t cut_at(hw_places *places, uint64_t place)
{
    size_t next = above(places, place);
    if (next > 0 && places->runs[next - 1].begin == place)
        return next - 1;
    const hw_reached made = {place, next > 0 ? places->runs[next - 1].reach : (hw_reach){0, 0}};
    memmove(places->runs + next + 1, places->runs + next, (places->count - next) * sizeof made);
    places->runs[next] = made;
    places->count++;
    return next;
}

hawser_status hw_places_set(hw_places *places, uint64_t begin, uint64_t end, hw_reach reach, hawser_error *error)
{
    HAWSER_TRY(HW_GROW(&places->runs, &places->capacity, places->count + 2, "clocks of a history", error));
    size_t last = cut_at(places, end), first = cut_at(places, begin);
    last += places->runs[last].begin != end; /* the run has moved up */
    memmove(places->runs + first + 1, places->runs + last, (places->count - last) * sizeof *places->runs);
    places->count -= last - first - 1;
    places->runs[first].reach = reach;
    return HAWSER_OK;
}

void hw_places_clear(hw_places *places)
{
    places->count = places->near = 0;
}

void hw_places_free(hw_places *places)
{
    free(places->runs);
    *places = (hw_places){0};
}
