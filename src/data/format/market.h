/* market.h - Matrix Market files: coordinate and array, general and symmetric. */
#ifndef HW_DATA_MARKET_H
#define HW_DATA_MARKET_H

#include "data/source/parse.h"

/* What the first lines say. */
typedef struct hw_market_shape {
    bool array, symmetric, skew, pattern;
    uint64_t rows, skip; /* skip: text bytes before the first entry */
} hw_market_shape;
/* Finds the columns of one value of a file that was loaded as a whole, with those that have different ones in a text in
 * memory. Else they are unknown, if there are any. */
hawser_status hw_market_equals(const hw_reading *reading, const hw_market_shape *shape, hawser_dataset *dataset,
                               hawser_error *error) HAWSER_MUST_USE;

/* Refuses a file whose number of entries differs from its line of sizes. */
hawser_status hw_market_sizes(const char *name, uint64_t declared, uint64_t found, hawser_error *error);

#endif
