/* budget.h - the memory that a load may take. It is requested before it is allocated, so that a load that cannot fit ends
 * with a message instead of bringing the machine down. */
#ifndef HW_DATA_BUDGET_H
#define HW_DATA_BUDGET_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cancellation.h"
#include "hawser/status.h"

/* Shared by the reader threads. */
typedef struct hw_budget {
    uint64_t limit;
    uint64_t estimate;                       /* computed before the load; the peak may correct it */
    const hawser_cancellation *cancellation; /* ends the load: it is where memory is taken and bytes are read; NULL: none */
    _Atomic uint64_t used;
    _Atomic uint64_t peak;
} hw_budget;

/* limit 0: what is left to the job. Sets no cancellation. */
void hw_budget_init(hw_budget *budget, uint64_t limit);
/* Records the estimate of a whole load; returns HAWSER_NO_MEMORY if it exceeds the limit. */
hawser_status hw_budget_estimate(hw_budget *budget, uint64_t bytes, hawser_error *error) HAWSER_MUST_USE;
/* Returns HAWSER_STOP if the load was cancelled. */
hawser_status hw_budget_take(hw_budget *budget, uint64_t bytes, hawser_error *error) HAWSER_MUST_USE;
void hw_budget_give(hw_budget *budget, uint64_t bytes);

/* Allocates zeroed pages that are returned to the system when freed. Zero bytes give NULL. */
hawser_status hw_pages_new(hw_budget *budget, void **pages, size_t bytes, hawser_error *error) HAWSER_MUST_USE;
/* Enlarges pages (NULL allowed) and keeps their contents; unchanged on failure. Old and new pages never take memory at the
 * same time. */
hawser_status hw_pages_grow(hw_budget *budget, void **pages, size_t *bytes, size_t wanted,
                            hawser_error *error) HAWSER_MUST_USE;
void hw_pages_free(hw_budget *budget, void *pages, size_t bytes);

/* Allocates an array of the dataset with malloc, aligned, not zeroed (its pages take memory as they are written). It stays
 * counted. */
hawser_status hw_budget_array(hw_budget *budget, void **array, size_t count, size_t size, const char *what,
                              hawser_error *error) HAWSER_MUST_USE;
/* Like hw_budget_array, for an array that is filled while its source is freed: the caller counts it piece by piece. */
hawser_status hw_huge_array(void **array, size_t count, size_t size, const char *what, hawser_error *error) HAWSER_MUST_USE;

#endif
