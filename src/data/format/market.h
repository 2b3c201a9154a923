/* market.h - Matrix Market files: coordinate and array, general and symmetric. */
#ifndef HW_DATA_MARKET_H
#define HW_DATA_MARKET_H

#include "data/format/parse.h"

/* Loads the one file of the job; where the load is of a part, the entries in that part of the text. */
hawser_status hw_market_load(hw_job *job, hawser_dataset *dataset, hawser_error *error) HAWSER_MUST_USE;
/* Refuses a file that has not as many entries as its line of sizes promises. */
hawser_status hw_market_sizes(const char *name, uint64_t promised, uint64_t found, hawser_error *error);

#endif
