/* stop.h - whether the run has been asked to end; long loops look every so often, and leave what is consistent. */
#ifndef HW_ALGORITHMS_SOLVE_STOP_H
#define HW_ALGORITHMS_SOLVE_STOP_H

#include <stdbool.h>
#include <stddef.h>

typedef struct hw_linear_stop {
    bool (*asked)(void *source); /* NULL: nobody ever asks. Once true it stays true */
    void *source;
} hw_linear_stop;

enum { HW_LINEAR_POLL = 256 }; /* columns between two looks */

static inline bool hw_linear_stopping(hw_linear_stop stop)
{
    return stop.asked != NULL && stop.asked(stop.source);
}

#endif
