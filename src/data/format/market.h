/* market.h - Matrix Market files: coordinate and array, general and symmetric. */
#ifndef HW_DATA_MARKET_H
#define HW_DATA_MARKET_H

#include "data/source/parse.h"

/* Refuses a file whose number of entries differs from its line of sizes. */
hawser_status hw_market_sizes(const char *name, uint64_t declared, uint64_t found, hawser_error *error);

#endif
