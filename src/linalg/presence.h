/*
 * presence.h - the columns of a matrix whose entries are on this node. A kernel that touches another column reads zeros and
 * records the column, so that its caller can fail. If the rows are held by block, a kernel that is given the whole matrix
 * reads nothing: it returns NaN in place of numbers and records it likewise.
 */
#ifndef HW_LINALG_PRESENCE_H
#define HW_LINALG_PRESENCE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/messages.h"
#include "hawser/matrix.h"

typedef enum hw_column_state { HW_ELSEWHERE = 0, HW_REQUESTED, HW_HERE } hw_column_state;

/* The first member of a hawser_residence. */
typedef struct hw_presence {
    const _Atomic unsigned char *state; /* hw_column_state of each column of the whole matrix */
    const void *values;                 /* values of the whole matrix */
    bool by_block;                      /* rows are held by block: no kernel may read the whole matrix */
    hawser_messages *messages;          /* where this is reported, by this node */
    uint32_t node;
    _Atomic uint64_t absent; /* 1 + the number of a column that a kernel touched while its entries were elsewhere; 0: none */
} hw_presence;

/* Returns the number in the whole matrix of column j of a view that has a residence. */
size_t hw_presence_column(const hawser_matrix *A, size_t j);
/* Records column j of the view A if its entries are elsewhere. */
void hw_presence_touch(const hawser_matrix *A, size_t j);

/* Records that a kernel was given the whole of a matrix whose rows are held by block, and reports the first one. */
void hw_presence_refuse(const hawser_matrix *A);

static inline bool hw_held_by_block(const hawser_matrix *A)
{
    return A->residence != NULL && ((const hw_presence *)A->residence)->by_block;
}

/* Each of these returns true if the rows are held by block, so that the kernel must not read them. */
static inline bool hw_touch_rows(const hawser_matrix *A)
{
    if (!hw_held_by_block(A))
        return false;
    hw_presence_refuse(A);
    return true;
}

static inline bool hw_touch_column(const hawser_matrix *A, size_t j)
{
    if (hw_touch_rows(A))
        return true;
    if (A->residence != NULL)
        hw_presence_touch(A, j);
    return false;
}

/* Records all columns of the view whose entries are elsewhere. */
static inline bool hw_touch_columns(const hawser_matrix *A)
{
    if (hw_touch_rows(A))
        return true;
    for (size_t j = 0; A->residence != NULL && j < A->cols; j++)
        hw_presence_touch(A, j);
    return false;
}

#endif
