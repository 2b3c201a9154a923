/* distance.h - the edit distance of two words, for "did you mean". */
#ifndef HW_BASE_DISTANCE_H
#define HW_BASE_DISTANCE_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the number of insertions, deletions, substitutions and swaps of neighbours from a to b (optimal string alignment).
 * Only the first 63 bytes of each count. */
size_t hw_distance(const char *a, const char *b);

/* Like hw_distance, but 0 if `typed` is a prefix of `known` or differs only in capitals, because users abbreviate words. */
size_t hw_distance_typed(const char *typed, const char *known);

/* The nearest of many words, if it is near enough to be what was meant: about one error in three letters. */
typedef struct hw_nearest {
    const char *typed;
    const char *best; /* NULL: none is near */
    size_t distance;  /* only a smaller distance is better */
} hw_nearest;

hw_nearest hw_nearest_to(const char *typed);
/* Returns true if `known` is the nearest so far. */
bool hw_nearest_try(hw_nearest *nearest, const char *known);

#endif
