/* quantity.h - times and rates in options of the simulator. */
#ifndef HW_SIM_QUANTITY_H
#define HW_SIM_QUANTITY_H

#include <stddef.h>
#include <stdint.h>

#include "hawser/status.h"

/* Each reads the whole text of a value, whose place in messages is `where`. HAWSER_BAD_OPTION: it is no such quantity. */

/* A time of at least 0: 50us, 2ns, 0.5ms, 1s. Stores seconds. */
hawser_status sim_read_time(const char *where, const char *text, double *seconds, hawser_error *error) HAWSER_MUST_USE;
/* A rate above 0: 10gbit, 100mbit (bits per second), 2GB, 500MB (bytes per second). Stores bytes per second. */
hawser_status sim_read_rate(const char *where, const char *text, double *rate, hawser_error *error) HAWSER_MUST_USE;
/* A number above 0. */
hawser_status sim_read_factor(const char *where, const char *text, double *factor, hawser_error *error) HAWSER_MUST_USE;
/* Whole numbers from 1 to `most`, separated by commas. *count: capacity, then their number. */
hawser_status sim_read_counts(const char *where, const char *text, uint32_t most, uint32_t *counts, size_t *count,
                              hawser_error *error) HAWSER_MUST_USE;

#endif
