/* residence.h - which columns of a matrix are on this node. */
#ifndef HW_DATA_RESIDENCE_H
#define HW_DATA_RESIDENCE_H

#include "data/owners.h"
#include "hawser/data.h"
#include "linalg/presence.h"

struct hawser_residence {
    hw_presence presence;
    hawser_matrix whole; /* the matrix itself, without residence */
    uint32_t self;
    hw_owners owners;             /* a view of a part shares them */
    _Atomic unsigned char *state; /* of each column: hw_column_state; release after the entries are in */
};

/* Takes what `owners` has, success or not, and leaves it empty. */
hawser_status hw_residence_new(const hawser_matrix *whole, hw_owners *owners, uint32_t self,
                               struct hawser_residence **residence, hawser_error *error) HAWSER_MUST_USE;
void hw_residence_free(struct hawser_residence *residence);
/* Another one of the same columns, with a record of its own of what kernels touch: the arrays stay `of`'s. */
void hw_residence_view(const struct hawser_residence *of, struct hawser_residence *view);

static inline bool hw_is_here(const struct hawser_residence *residence, uint32_t column)
{
    return atomic_load_explicit(&residence->state[column], memory_order_acquire) == HW_HERE;
}

/* Columns as a message: how many, then of each its number, its bytes, and those. Packs what is here of the listed ones. */
size_t hw_columns_bytes(const struct hawser_residence *residence, const uint32_t *columns, size_t count);
void hw_columns_pack(const struct hawser_residence *residence, const uint32_t *columns, size_t count, void *bytes);
/* Puts them in their places and marks them here; what is here already is passed over. */
hawser_status hw_columns_take(struct hawser_residence *residence, const void *bytes, size_t length,
                              hawser_error *error) HAWSER_MUST_USE;

#endif
