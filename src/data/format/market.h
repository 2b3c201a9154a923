/* market.h - Matrix Market files: coordinate and array, general and symmetric. */
#ifndef HW_DATA_MARKET_H
#define HW_DATA_MARKET_H

#include "data/format/parse.h"

/* Loads the one file of the job. */
hawser_status hw_market_load(hw_job *job, hawser_dataset *dataset, hawser_error *error) HAWSER_MUST_USE;

#endif
