/*
 * absent.h - makes the memory of columns on other nodes inaccessible, so that code that reads them by pointers fails where
 * it does. Only whole pages are: a page that has entries of a column of this node stays as it is. The matrix is the whole
 * one, in memory from mmap.
 */
#ifndef HW_DATA_ABSENT_H
#define HW_DATA_ABSENT_H

#include "linalg/presence.h"

/* Makes the pages of absent columns inaccessible. No other thread may use the matrix meanwhile. */
void hw_absent_close(const hawser_matrix *A, const hw_presence *presence);
/* Makes the pages of a column accessible, before its entries are stored. */
hawser_status hw_absent_open(const hawser_matrix *A, size_t column, hawser_error *error) HAWSER_MUST_USE;
/* Returns the absent column that has an entry at this address; SIZE_MAX: none has. Async-signal-safe. */
size_t hw_absent_find(const hawser_matrix *A, const hw_presence *presence, const void *address);

#endif
