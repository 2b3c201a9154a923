/* column_set.h - a set of columns that takes a bit per column, and numbers its members. */
#ifndef HW_DATA_COLUMN_SET_H
#define HW_DATA_COLUMN_SET_H

#include <stdbool.h>

#include "base/bits.h"
#include "hawser/matrix.h"
#include "hawser/status.h"

typedef struct hw_column_set {
    size_t cols, words;
    uint64_t *bits;
    uint32_t *before; /* members in the words before each word, once the members are numbered */
} hw_column_set;

/* Makes an empty set of columns below `cols`. hw_column_set_free releases it, also after a failure. */
hawser_status hw_column_set_new(size_t cols, hw_column_set *set, hawser_error *error) HAWSER_MUST_USE;
void hw_column_set_free(hw_column_set *set);

/* Returns the bytes of a set. */
static inline size_t hw_column_set_bytes(const hw_column_set *set)
{
    return set->words * (sizeof *set->bits + sizeof *set->before);
}

static inline void hw_column_set_add(hw_column_set *set, uint32_t column)
{
    set->bits[column / 64] |= UINT64_C(1) << column % 64;
}

static inline bool hw_column_set_has(const hw_column_set *set, uint32_t column)
{
    return (set->bits[column / 64] >> column % 64 & 1) != 0;
}

/* Adds the columns that have entries in the rows of a CSR matrix. */
void hw_column_set_add_rows(hw_column_set *set, const hawser_matrix *A);
/* Adds those of a CSC matrix. */
void hw_column_set_add_columns(hw_column_set *set, const hawser_matrix *A);

/* Numbers the members, and returns how many there are. */
size_t hw_column_set_count(hw_column_set *set);
/* Returns the number of a member. */
static inline uint32_t hw_column_set_number(const hw_column_set *set, uint32_t column)
{
    return set->before[column / 64] + hw_bits_set_below(set->bits[column / 64], column % 64);
}
/* Writes the members, ascending. */
void hw_column_set_list(const hw_column_set *set, uint32_t *columns);

#endif
