/*
 * holding.h - what a client holds back of what is pushed to a table: rows that a filter keeps, and what rounding leaves (error feedback).
 *
 * Filters are of Li et al. 2014, section 3.6: significantly modified, random skip, KKT, the user's. What is held joins the row's next
 * update, so that nothing is lost; but what KKT's leaves out is dropped: it would have changed nothing. With l1 the server's proximal
 * step leaves a number at zero whose update is l1 at most, and what a client pulled last says where that is.
 */
#ifndef HW_STORE_HOLDING_H
#define HW_STORE_HOLDING_H

#include "store/table.h"

typedef struct hw_holding hw_holding;

/* Returns HAWSER_BAD_ARGUMENT if the table's filter cannot work on this table. */
hawser_status hw_filter_check(const hw_table_spec *spec, hawser_error *error) HAWSER_MUST_USE;
/* Whether rows that the table's filter does not send are left out for good. */
bool hw_filter_drops(const hw_table_spec *spec);
/* Finds the filter of this name. Returns false if there is none. */
bool hw_filter_of_name(const char *name, hw_filter_of *filter);
/* Writes the names of all filters, each with its help, and returns `text`. */
const char *hw_filter_names(char *text, size_t size);

/* `spec` is copied; `seed` for random skips; `digests` are 0 unless they are asked for. */
hawser_status hw_holding_new(const hw_table_spec *spec, uint64_t seed, bool digests, hw_holding **holding,
                             hawser_error *error) HAWSER_MUST_USE;
void hw_holding_free(hw_holding *holding); /* NULL is allowed */

/* Rows that go; both arrays are the caller's to free. Of the others `dropped` are left out for good. */
typedef struct hw_passed {
    uint64_t *keys;
    void *values;
    size_t count, dropped;
    uint64_t before, after; /* digests of all that is held */
} hw_passed;

/* Of an update of keys[0..count), ascending (NULL: first, first + 1 ...), what goes now. HAWSER_NO_MEMORY, or HAWSER_NOT_FINITE if it is too much
 * with what is held: nothing has changed. */
hawser_status hw_holding_pass(hw_holding *holding, const uint64_t *keys, uint64_t first, size_t count, const void *values,
                              hw_passed *passed, hawser_error *error) HAWSER_MUST_USE;
/* All that is held, as it is. */
hawser_status hw_holding_rest(hw_holding *holding, hw_passed *passed, hawser_error *error) HAWSER_MUST_USE;
/* What a pull has brought; for KKT. What there is no memory for counts as not zero. */
void hw_holding_saw(hw_holding *holding, const uint64_t *keys, uint64_t first, size_t count, const void *values);

#endif
