/* budget.h - the memory that a load may take: asked for before it is taken, so that a load that cannot fit ends with a message
 * and not with the machine's death. */
#ifndef HW_DATA_BUDGET_H
#define HW_DATA_BUDGET_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "hawser/status.h"

/* Shared by the reader threads. */
typedef struct hw_budget {
    uint64_t limit;
    uint64_t estimate; /* said before the load; peak may correct it */
    _Atomic uint64_t used;
    _Atomic uint64_t peak;
} hw_budget;

/* limit 0: what the job may still take. */
void hw_budget_init(hw_budget *budget, uint64_t limit);
/* Records the estimate of a whole load; one beyond the limit is HAWSER_NO_MEMORY. */
hawser_status hw_budget_estimate(hw_budget *budget, uint64_t bytes, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_budget_take(hw_budget *budget, uint64_t bytes, hawser_error *error) HAWSER_MUST_USE;
void hw_budget_give(hw_budget *budget, uint64_t bytes);

/* Zeroed pages that go back to the system at once when freed. Zero bytes give NULL. */
hawser_status hw_pages_new(hw_budget *budget, void **pages, size_t bytes, hawser_error *error) HAWSER_MUST_USE;
/* Makes pages that may be NULL larger and keeps what they hold; unchanged on failure. The old and the new are never there at once. */
hawser_status hw_pages_grow(hw_budget *budget, void **pages, size_t *bytes, size_t wanted,
                            hawser_error *error) HAWSER_MUST_USE;
void hw_pages_free(hw_budget *budget, void *pages, size_t bytes);

/* Asks for large pages where they fit into an array that will be written all over; they are taken as a whole when touched. */
void hw_huge_pages(void *memory, size_t bytes);

/* An array of the dataset, from malloc, aligned, not zeroed (its pages are taken as they are written); stays counted. */
hawser_status hw_budget_array(hw_budget *budget, void **array, size_t count, size_t size, const char *what,
                              hawser_error *error) HAWSER_MUST_USE;
/* The same for one that is filled while what it is made from goes: the caller counts it bit by bit. */
hawser_status hw_huge_array(void **array, size_t count, size_t size, const char *what, hawser_error *error) HAWSER_MUST_USE;

#endif
