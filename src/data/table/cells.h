/* cells.h - a cell of a table as a double: a number, NaN for a missing value, or a word as a NaN that carries the word's
 * number. */
#ifndef HW_DATA_TABLE_CELLS_H
#define HW_DATA_TABLE_CELLS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The number of a word that the model does not know: its cell adds nothing to a row. */
enum { HW_UNKNOWN_WORD = 0x7fffffff };
/* The mark of a word that only rows of weight 0 of some part have: its number is that among the idle words of the survey. */
enum { HW_IDLE_WORD = 0x40000000 };

static inline double hw_word_cell(uint32_t number)
{
    uint64_t bits = UINT64_C(0x7ffc) << 48 | number;
    double cell;
    memcpy(&cell, &bits, sizeof cell);
    return cell;
}

/* Returns whether the cell has a word, and stores its number. */
static inline bool hw_cell_word(double cell, uint32_t *number)
{
    uint64_t bits;
    memcpy(&bits, &cell, sizeof bits);
    *number = (uint32_t)bits;
    return bits >> 48 == 0x7ffc;
}

#endif
