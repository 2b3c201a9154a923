#include "linalg/sound.h"

#include "linalg/presence.h"

const char *hw_matrix_wrong(const hawser_matrix *A)
{
    if (A->type != HAWSER_F64 && A->type != HAWSER_F32)
        return "is of a type that is neither HAWSER_F64 nor HAWSER_F32";
    if ((unsigned)A->layout > HAWSER_DENSE_ROWS)
        return "has a layout that is none of HAWSER_DENSE, HAWSER_CSC, HAWSER_CSR and HAWSER_DENSE_ROWS";
    if (A->layout == HAWSER_DENSE && A->cols > 1 && A->stride < A->rows)
        return "has a stride that is below its rows";
    if (A->layout == HAWSER_DENSE_ROWS && A->rows > 1 && A->stride < A->cols)
        return "has a stride that is below its columns";
    if (A->layout == HAWSER_DENSE || A->layout == HAWSER_DENSE_ROWS)
        return A->rows > 0 && A->cols > 0 && A->values == NULL ? "has no values" : NULL;
    size_t lines = A->layout == HAWSER_CSC ? A->cols : A->rows;
    if (lines > 0 && A->offsets == NULL)
        return "has no offsets";
    if (lines == 0 || hw_held_by_block(A) || A->offsets[lines] == A->offsets[0])
        return NULL;
    return A->indices == NULL ? "has no indices" : A->values == NULL ? "has no values" : NULL;
}
