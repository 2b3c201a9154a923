/* stop.h - the request to end a run. Long loops poll it, and leave consistent results when they end early. */
#ifndef HW_ALGORITHMS_SOLVE_STOP_H
#define HW_ALGORITHMS_SOLVE_STOP_H

#include <stdbool.h>
#include <stddef.h>

typedef struct hw_linear_stop {
    bool (*asked)(void *source); /* returns true once the run is asked to end, and from then on; NULL: never */
    void *source;
} hw_linear_stop;

enum { HW_LINEAR_POLL = 256 }; /* columns between two polls */

static inline bool hw_linear_stopping(hw_linear_stop stop)
{
    return stop.asked != NULL && stop.asked(stop.source);
}

#endif
