#include "adapt/cause.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

hawser_status hw_window_open(hw_window *window, uint32_t blocks, hawser_error *error)
{
    *window = (hw_window){.blocks = blocks};
    double **const arrays[] = {&window->seconds, &window->units, &window->waits, &window->input,
                               &window->sorted,  &window->part,  &window->pace};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        HAWSER_TRY(HW_NEW(arrays[i], blocks, "a window of clocks", error));
    return HW_NEW(&window->slowest, blocks, "a window of clocks", error);
}

void hw_window_close(hw_window *window)
{
    free(window->seconds);
    free(window->units);
    free(window->waits);
    free(window->input);
    free(window->sorted);
    free(window->part);
    free(window->pace);
    free(window->slowest);
}

static int by_size(const void *a, const void *b)
{
    const double *first = a, *second = b;
    return (*first > *second) - (*first < *second);
}

/* Returns the median; of an even number the lower one of the two in the middle, or the upper one. */
static double median(hw_window *window, const double *values, bool upper)
{
    memcpy(window->sorted, values, window->blocks * sizeof *values);
    qsort(window->sorted, window->blocks, sizeof *values, by_size);
    return window->sorted[upper ? window->blocks / 2 : (window->blocks - 1) / 2];
}

static uint32_t largest(const double *values, uint32_t count)
{
    uint32_t at = 0;
    for (uint32_t i = 1; i < count; i++)
        if (values[i] > values[at])
            at = i;
    return at;
}

bool hw_window_add(hw_window *window, const hw_clock_times *times)
{
    for (uint32_t b = 0; b < window->blocks; b++) {
        window->seconds[b] += times->seconds[b];
        window->units[b] += times->units[b];
        window->waits[b] += times->waits[b];
        window->input[b] += times->input[b];
    }
    uint32_t slow = largest(times->units, window->blocks);
    double middle = median(window, times->units, false);
    window->slowest[slow]++;
    window->ratios += middle > 0 ? times->units[slow] / middle : times->units[slow] > 0 ? HW_SLOW : 1;
    window->extra += times->units[slow] - middle;
    window->clocks++;
    return window->clocks >= HW_WINDOW_CLOCKS && median(window, window->seconds, false) >= HW_WINDOW_SECONDS;
}

/* Returns the share of the time that a median block spent on something. With two blocks that is the one that waits more: the
 * other one makes it wait. */
static double share(hw_window *window, double *spent)
{
    for (uint32_t b = 0; b < window->blocks; b++)
        spent[b] = window->seconds[b] > 0 ? spent[b] / window->seconds[b] : 0;
    return median(window, spent, true);
}

/* Finds the seconds per work of each block, in terms of the median block's. Returns whether that is above 0. */
static bool find_pace(hw_window *window, const double *work)
{
    for (uint32_t b = 0; b < window->blocks; b++)
        window->pace[b] = window->units[b] / work[b];
    const double middle = median(window, window->pace, false);
    for (uint32_t b = 0; middle > 0 && b < window->blocks; b++)
        window->pace[b] /= middle;
    return middle > 0;
}

hw_window_shares hw_window_measure(hw_window *window, const double *work)
{
    hw_window_shares shares = {.pace = work != NULL && find_pace(window, work) ? window->pace : NULL};
    for (uint32_t b = 0; b < window->blocks; b++)
        window->part[b] = window->seconds[b] > 0 ? window->units[b] / window->seconds[b] : 0;
    shares.units = median(window, window->part, false);
    for (uint32_t b = 0; b < window->blocks; b++)
        window->part[b] = window->seconds[b] > 0 ? 1 - (window->units[b] + window->waits[b]) / window->seconds[b] : 0;
    shares.exchanging = median(window, window->part, false);
    return shares;
}

void hw_window_empty(hw_window *window)
{
    double *const arrays[] = {window->seconds, window->units, window->waits, window->input};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        memset(arrays[i], 0, window->blocks * sizeof **arrays);
    memset(window->slowest, 0, window->blocks * sizeof *window->slowest);
    window->clocks = 0;
    window->ratios = window->extra = 0;
}

hw_finding hw_window_find(hw_window *window, double busy, uint32_t node)
{
    uint32_t block = 0;
    for (uint32_t b = 1; b < window->blocks; b++)
        if (window->slowest[b] > window->slowest[block])
            block = b;
    const double clocks = (double)window->clocks, ratio = window->ratios / clocks;
    const double same = (double)window->slowest[block] / clocks;
    const double extra = window->extra;
    hw_finding found = {.clocks = window->clocks, .seconds = median(window, window->seconds, false)};
    const double input = share(window, window->input);
    found.waited = share(window, window->waits);
    /* Units that take next to nothing differ by chance, and no block waits for them. */
    const bool slow = ratio >= HW_SLOW && extra >= HW_EXPLAINED * found.waited * found.seconds;
    const bool blocks = slow && (same >= HW_SAME || same < HW_TURNS) && extra > busy * found.seconds;
    if (busy >= HW_LINK_BUSY * found.waited && input >= HW_LINK_INPUT && !blocks)
        found = (hw_finding){HAWSER_CAUSE_LINK, found.clocks, found.seconds, found.waited, busy, node};
    else if (found.waited < HW_WAITS)
        found.cause = HAWSER_CAUSE_NONE;
    else if (same >= HW_SAME && slow)
        found = (hw_finding){HAWSER_CAUSE_WORKER, found.clocks, found.seconds, found.waited, ratio, block};
    else if (same < HW_TURNS && slow)
        found = (hw_finding){HAWSER_CAUSE_TURNS, found.clocks, found.seconds, found.waited, ratio, 0};
    else
        found.cause = HAWSER_CAUSE_OTHER;
    hw_window_empty(window);
    return found;
}
