/*
 * holding.h - what a client holds of the pushes to a table: rows that a filter does not send, and rounding errors (error
 * feedback).
 *
 * The filters are those of Li et al. 2014, section 3.6 (significantly modified, random skip, KKT), and the user's. A held
 * row is added to the row's next update, so nothing is lost. Only rows that KKT does not send are dropped, because they
 * would have changed nothing: with l1 the server's proximal step leaves a number at zero if its update is at most l1, and
 * the client's last pull shows which numbers are zero.
 */
#ifndef HW_STORE_HOLDING_H
#define HW_STORE_HOLDING_H

#include "store/table.h"

typedef struct hw_holding hw_holding;

/* Returns HAWSER_BAD_ARGUMENT if the table's filter cannot work on this table. */
hawser_status hw_filter_check(const hw_table_spec *spec, hawser_error *error) HAWSER_MUST_USE;
/* Returns whether rows that the table's filter does not send are dropped. */
bool hw_filter_drops(const hw_table_spec *spec);
/* Finds the filter of this name. Returns false if there is none. */
bool hw_filter_of_name(const char *name, hw_filter_of *filter);
/* Writes the names of all filters, each with its help, and returns `text`. */
const char *hw_filter_names(char *text, size_t size);

/* Opens the held rows of a table; `spec` is copied, `seed` is for random skips. Without `digests` all digests are 0. */
hawser_status hw_holding_new(const hw_table_spec *spec, uint64_t seed, bool digests, hw_holding **holding,
                             hawser_error *error) HAWSER_MUST_USE;
void hw_holding_free(hw_holding *holding); /* NULL is allowed */

/* The rows that are sent; the caller frees both arrays. `dropped` other rows are dropped, and the rest is held. */
typedef struct hw_passed {
    uint64_t *keys;
    void *values;
    size_t count, dropped;
    uint64_t before, after; /* digests of all held rows */
} hw_passed;

/* Chooses what is sent now of an update of keys[0..count), ascending (NULL: first, first + 1 ...). HAWSER_NO_MEMORY, or
 * HAWSER_NOT_FINITE if the update and the held rows are too large together: nothing has changed. */
hawser_status hw_holding_pass(hw_holding *holding, const uint64_t *keys, uint64_t first, size_t count, const void *values,
                              hw_passed *passed, hawser_error *error) HAWSER_MUST_USE;
/* Returns all held rows, unrounded. */
hawser_status hw_holding_rest(hw_holding *holding, hw_passed *passed, hawser_error *error) HAWSER_MUST_USE;
/* Records the values of a pull, for KKT. Rows that cannot be recorded for lack of memory count as not zero. */
void hw_holding_saw(hw_holding *holding, const uint64_t *keys, uint64_t first, size_t count, const void *values);

#endif
