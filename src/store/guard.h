/* guard.h - functions of the user's, which may make anything of a number: what they make NaN or infinite is put back. */
#ifndef HW_STORE_GUARD_H
#define HW_STORE_GUARD_H

#include "store/table.h"

/* Memory for values as they were before a call; zeroed at first, reused by the next call. */
typedef struct hw_guard {
    unsigned char *bytes;
    size_t capacity;
} hw_guard;

/* Applies a function of the user's to rows that lie one after the other. Each number that becomes NaN or infinite, or gets such memory, is put back
 * with its memory; *kept: the first row with such a number, or applying->rows. HAWSER_NO_MEMORY: nothing has changed. */
hawser_status hw_guard_apply(hw_guard *guard, const hw_applying *applying, size_t *kept,
                             hawser_error *error) HAWSER_MUST_USE;
void hw_guard_free(hw_guard *guard);

#endif
