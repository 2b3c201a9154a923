/*
 * cause.h - finds why blocks wait, from what their reports say of their time. Pure.
 *
 * Clocks are judged in windows of some clocks and some time. Times of different machines are never compared, only durations:
 * each block says how long a clock took, how long its units worked, and how long it waited.
 */
#ifndef HW_ADAPT_CAUSE_H
#define HW_ADAPT_CAUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "hawser/advanced.h"

enum { HW_WINDOW_CLOCKS = 5 };
#define HW_WINDOW_SECONDS 0.1

/* The limits of the causes: shares of the time, and ratios. */
#define HW_WAITS      0.2 /* of waits, below which there is no cause */
#define HW_LINK_BUSY  0.4 /* of a node's busiest link, by all waits, and of waits for input: the link is the cause */
#define HW_LINK_INPUT 0.3
#define HW_SLOW       1.5 /* of the slowest block's units to the median, for one block or several in turn to be the cause */
#define HW_SAME       0.8 /* of clocks in which the same block is the slowest: one block */
#define HW_EXPLAINED  0.5 /* of the waits, which the extra time of the slowest block must explain then */
#define HW_TURNS      0.5 /* below which no block is the slowest: several in turn */

/* What the blocks' reports of one clock say: seconds by block. */
typedef struct hw_clock_times {
    const double *seconds; /* since the report before */
    const double *units, *waits, *input;
} hw_clock_times;

typedef struct hw_window {
    uint32_t blocks;
    uint64_t clocks;
    double *seconds, *units, *waits, *input; /* sums by block */
    uint64_t *slowest;                       /* by block: clocks in which its units took longest */
    double *sorted, *part;                   /* memory to find medians, and shares by block */
    double *pace;                            /* of the last hw_window_measure */
    double ratios, extra;                    /* sums over clocks: units of the slowest block by the median, and less it */
} hw_window;

typedef struct hw_finding {
    hawser_cause cause;
    uint64_t clocks;
    double seconds; /* of the median block, */
    double waited;  /* and the share of them that the median block waited */
    double measure; /* of the cause: see hawser_cause_figures */
    uint32_t number;
} hw_finding;

/* What else a window says. */
typedef struct hw_window_shares {
    double units, exchanging; /* shares of the time of the median block: in units, and neither there nor waiting */
    /* By block: seconds of its units per work, by those of the median block. NULL: unknown. The window has it until the next
     * call. */
    const double *pace;
} hw_window_shares;

hawser_status hw_window_open(hw_window *window, uint32_t blocks, hawser_error *error) HAWSER_MUST_USE;
void hw_window_close(hw_window *window);
/* Adds a clock. Returns whether the window is full. */
bool hw_window_add(hw_window *window, const hw_clock_times *times);
/* Measures a window before hw_window_find empties it. work: the share of each block in the work; NULL: blocks have none. */
hw_window_shares hw_window_measure(hw_window *window, const double *work);
/* Drops what a window has: a setting has changed. */
void hw_window_empty(hw_window *window);
/* Finds the cause of the waits in a window, and empties it. `busy` is the share of the time in which the busiest link of
 * node `node` had something to send; 0 if that is unknown. */
hw_finding hw_window_find(hw_window *window, double busy, uint32_t node);

#endif
