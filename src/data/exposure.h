/* exposure.h - offsets of a log link that are given as exposures: their logarithms. */
#ifndef HW_DATA_EXPOSURE_H
#define HW_DATA_EXPOSURE_H

#include "hawser/data.h"

/* Returns whether the load has exposures. */
bool hw_load_exposes(const hawser_load *load);
/* Returns the column or file of the offset or exposure; NULL: neither. */
const char *hw_load_offset(const hawser_load *load);
/* Returns HAWSER_BAD_OPTION if the load has both. */
hawser_status hw_check_exposure(const hawser_load *load, hawser_error *error) HAWSER_MUST_USE;
/* Returns the logarithm of a normal number > 0, with the same bits on every machine. */
double hw_exposure_log(double exposure);
/* Returns whether an exposure has a logarithm. */
bool hw_is_exposure(double value);
/* Replaces exposures by their logarithms. `first`: the row of the first one, from 0. Returns HAWSER_BAD_INPUT, with the row,
 * for an exposure that is not above 0. */
hawser_status hw_take_exposures(const char *name, double *values, size_t count, size_t first,
                                hawser_error *error) HAWSER_MUST_USE;

#endif
