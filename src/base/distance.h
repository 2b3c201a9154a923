/* distance.h - how far two words are apart, for "did you mean". */
#ifndef HW_BASE_DISTANCE_H
#define HW_BASE_DISTANCE_H

#include <stdbool.h>
#include <stddef.h>

/* Number of insertions, deletions, substitutions and swaps of neighbours from a to b (optimal string alignment). Only the first
 * 63 bytes of each count. */
size_t hw_distance(const char *a, const char *b);

/* The same, but a `typed` that is the beginning of `known`, or differs in capitals alone, is 0 away: people leave words unfinished. */
size_t hw_distance_typed(const char *typed, const char *known);

/* The nearest of many words, if one is near enough to be what was meant: about one error in three letters. */
typedef struct hw_nearest {
    const char *typed;
    const char *best; /* NULL: none is near */
    size_t distance;  /* only a smaller one is better */
} hw_nearest;

hw_nearest hw_nearest_to(const char *typed);
/* True when `known` is the best so far. */
bool hw_nearest_try(hw_nearest *nearest, const char *known);

#endif
