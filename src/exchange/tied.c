/* tied.c - commits a local state that is tied to a replicated one. */
#include <string.h>

#include "exchange/exchange.h"

void hw_tied_commit(double *copy, double *work, size_t count, double damping)
{
    if (damping == 1) { /* copy + (work - copy) may differ from work by rounding */
        memcpy(copy, work, count * sizeof *copy);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        copy[i] += damping * (work[i] - copy[i]);
        work[i] = copy[i];
    }
}
