/* whole.h - numbers as labels: whole numbers of 64 bits stay distinct, although a double does not hold all of them. */
#ifndef HW_DATA_TABLE_WHOLE_H
#define HW_DATA_TABLE_WHOLE_H

#include <math.h>
#include <stdbool.h>

#include "data/table/levels.h"

#define HW_LABEL_IS_OUTSIDE "the %s is a whole number below -2^63 or above 2^64 - 1, which are not told apart"

enum { HW_LABEL_TEXT = 32 };

/* What hw_label_read has found. */
typedef enum hw_label {
    HW_LABEL_NUMBER, /* a number, whose text all its notations share: 1, 1.0, +1 and 01 are "1" */
    HW_LABEL_WORD,   /* no number */
    HW_LABEL_OUTSIDE /* a whole number below -2^63 or above 2^64 - 1 */
} hw_label;

/* Writes the text of a number that is a label. A line end or another byte that ends a number must follow `stop`. */
hw_label hw_label_read(const char *begin, const char *stop, char text[HW_LABEL_TEXT]);
/* Returns whether other whole numbers may have the same double. */
static inline bool hw_label_is_doubtful(double value)
{
    return fabs(value) >= 0x1p53;
}
/* Returns whether levels are labels that were read as above: all are numbers, and some is one that a double may not hold. */
bool hw_levels_are_labels(const hw_levels *levels);
/* Orders such levels by value, for hw_levels_sort. Whole numbers of one double are told apart by their digits. */
int hw_levels_by_value(const void *a, const void *b);

#endif
