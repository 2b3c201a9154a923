/* guard.h - protects tables from a user's function: numbers that it makes NaN or infinite get their last values back. */
#ifndef HW_STORE_GUARD_H
#define HW_STORE_GUARD_H

#include "store/table.h"

/* Memory for copies of values before a call; zero at first, reused by the next call. */
typedef struct hw_guard {
    unsigned char *bytes;
    size_t capacity;
} hw_guard;

/* Applies a user's function to adjacent rows. A number that becomes NaN or infinite, or whose memory does, is restored with
 * its memory. *kept is the first row with such a number, or applying->rows. HAWSER_NO_MEMORY: nothing has changed. */
hawser_status hw_guard_apply(hw_guard *guard, const hw_applying *applying, size_t *kept,
                             hawser_error *error) HAWSER_MUST_USE;
void hw_guard_free(hw_guard *guard);

#endif
