/*
 * equal.h - columns whose values are all stored as equal numbers, though the input may have different ones.
 *
 * Rounding to the stored type can make the values of a column equal. Such a column is no constant, and a training must
 * refuse it. So readers keep a list of the columns that have had one stored value in all rows so far. It gets short within a
 * few rows, and rows cost nothing once it is empty.
 */
#ifndef HW_DATA_EQUAL_H
#define HW_DATA_EQUAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hawser/matrix.h"
#include "hawser/status.h"

/* The number of target k in a list, behind all columns. */
#define HW_EQUAL_TARGET(k) (UINT32_MAX - (uint32_t)(k))
static inline bool hw_equal_is_target(uint32_t column)
{
    return column >= HW_EQUAL_TARGET(63);
}

enum { HW_EQUAL_DIGITS = 16 }; /* two texts of fewer digits are two doubles */
#define HW_EQUAL_UNKNOWN UINT64_MAX

/* A column of one stored value. */
typedef struct hw_equal {
    uint32_t column;
    bool differ;     /* the input has different values */
    double value;    /* the first one, before it is rounded to the stored type; NaN: all were missing */
    uint64_t digits; /* hw_equal_digits of its text; HW_EQUAL_UNKNOWN: not yet computed */
} hw_equal;

/* Columns in ascending order. */
typedef struct hw_equals {
    hw_equal *items;
    size_t count, capacity;
    bool begun; /* a row has been seen; else every column may be one */
} hw_equals;

/* Returns a hash of the digits of a number's text, or 0 if they are fewer than HW_EQUAL_DIGITS without zeros at their
 * ends. */
uint64_t hw_equal_digits(const char *begin, const char *end);
/* Appends a column with its first value. */
hawser_status hw_equals_add(hw_equals *list, uint32_t column, double value, uint64_t digits,
                            hawser_error *error) HAWSER_MUST_USE;
/* Compares the column's next value, which is not missing. Returns false if it is stored as another number: then the column
 * is to be removed. Targets are stored as doubles. */
bool hw_equal_see(hw_equal *item, double value, uint64_t digits, hawser_type type);
/* Leaves the columns that both lists have, of rows that follow each other in any order. */
void hw_equals_meet(hw_equals *to, const hw_equals *from, hawser_type type);
/* Moves a list, and sorts it. */
void hw_equals_take(hw_equals *to, hw_equals *from);
/* Replaces *to by a copy. */
hawser_status hw_equals_copy(hw_equals *to, const hw_equals *from, hawser_error *error) HAWSER_MUST_USE;
/* Returns the column's item, or NULL. */
const hw_equal *hw_equals_find(const hw_equals *list, uint32_t column);
void hw_equals_free(hw_equals *list);

#endif
