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
    bool guarded;                 /* pages of absent columns are inaccessible: absent.h */
    hw_owners owners;             /* a view of a part shares the arrays */
    _Atomic unsigned char *state; /* of each column: hw_column_state; stored with release order after the entries */
    /* the rows are held by block (share/blocks.h), and there is no state of columns; NULL: columns are distributed */
    struct hw_row_blocks *rows;
    void (*free_rows)(struct hw_row_blocks *rows);
};

/* Takes the arrays of `owners`, also on failure, and empties it. */
hawser_status hw_residence_new(const hawser_matrix *whole, hw_owners *owners, uint32_t self,
                               struct hawser_residence **residence, hawser_error *error) HAWSER_MUST_USE;
/* Makes the residence of a matrix of the same shape, of whose columns the same are on this node as after the load. */
hawser_status hw_residence_like(const struct hawser_residence *of, const hawser_matrix *whole,
                                struct hawser_residence **residence, hawser_error *error) HAWSER_MUST_USE;
/* Makes the residence of a matrix whose rows are held by block. It takes over `rows` if it succeeds, to release them with
 * free_rows. */
hawser_status hw_residence_of_rows(const hawser_matrix *whole, struct hw_row_blocks *rows,
                                   void (*free_rows)(struct hw_row_blocks *), struct hawser_residence **residence,
                                   hawser_error *error) HAWSER_MUST_USE;
/* Sets where a kernel that is given the whole of such a matrix is reported, by node `node`. */
static inline void hw_residence_report_to(struct hawser_residence *residence, hawser_messages *messages, uint32_t node)
{
    residence->presence.messages = messages;
    residence->presence.node = node;
}
void hw_residence_free(struct hawser_residence *residence);
/* Makes another one for the same columns, with its own record of absent columns that kernels touch. The arrays still belong
 * to `of`. */
void hw_residence_view(const struct hawser_residence *of, struct hawser_residence *view);

static inline bool hw_is_here(const struct hawser_residence *residence, uint32_t column)
{
    return atomic_load_explicit(&residence->state[column], memory_order_acquire) == HW_HERE;
}

/* Bytes of columns that a node requests at a time when it needs all of a matrix: messages then take little memory beside the
 * data. */
enum { HW_FETCH_BYTES = 1 << 22 };
/* Returns the bytes of a column's entries. */
size_t hw_column_bytes(const struct hawser_residence *residence, size_t column);
/* Returns the bytes of all columns whose entries another node has received at the load. */
uint64_t hw_foreign_bytes(const struct hawser_residence *residence, uint32_t node);
/* Returns 1 + the number of a column whose entries a kernel has missed since the last call, through the matrix itself; 0:
 * none. */
static inline uint64_t hw_absent_taken(struct hawser_residence *residence)
{
    if (atomic_load_explicit(&residence->presence.absent, memory_order_relaxed) == 0)
        return 0;
    return atomic_exchange_explicit(&residence->presence.absent, 0, memory_order_relaxed);
}
/* Makes the memory of absent columns inaccessible, once. No other thread may use the matrix meanwhile. */
void hw_residence_guard(struct hawser_residence *residence);
/* Forgets requests whose replies were dropped with a run that failed, so that a later run makes them again. */
void hw_forget_requests(struct hawser_residence *residence);

/* Columns as a message: their number, then for each column its number, its bytes, and these bytes. Packs those of the listed
 * columns that are on this node. */
size_t hw_columns_bytes(const struct hawser_residence *residence, const uint32_t *columns, size_t count);
void hw_columns_pack(const struct hawser_residence *residence, const uint32_t *columns, size_t count, void *bytes);
/* Stores received columns and marks them as present; skips those that are present already. */
hawser_status hw_columns_take(struct hawser_residence *residence, const void *bytes, size_t length,
                              hawser_error *error) HAWSER_MUST_USE;

#endif
