/* levels.h - a set of words, numbered in the order of their first use. */
#ifndef HW_DATA_TABLE_LEVELS_H
#define HW_DATA_TABLE_LEVELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hawser/status.h"

/* Initialise it with zeros. One thread at a time, except for hw_levels_find. */
typedef struct hw_levels {
    char **texts; /* each from malloc, ended by zero */
    size_t count, capacity;
    uint32_t *slots; /* number + 1 of the word whose hash leads there; 0: free */
    size_t slot_count;
} hw_levels;

/* Stores the number of a word, which is added if it is new. HAWSER_NO_MEMORY. */
hawser_status hw_levels_put(hw_levels *levels, const char *text, size_t length, uint32_t *number,
                            hawser_error *error) HAWSER_MUST_USE;
/* Returns whether the set has the word, and stores its number. Thread-safe while no thread adds words. */
bool hw_levels_find(const hw_levels *levels, const char *text, size_t length, uint32_t *number);
void hw_levels_free(hw_levels *levels);

#endif
