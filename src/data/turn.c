/* turn.c - the same data in the other layout (hawser_dataset_turn), or as they are without a copy. */
#include <string.h>

#include "base/argument.h"
#include "base/layout.h"
#include "base/memory.h"
#include "data/dataset.h"
#include "data/layout/flip.h"

static hawser_status copy_schema(const hawser_schema *from, hawser_schema **to, hawser_error *error)
{
    char *text = NULL;
    if (from == NULL)
        return HAWSER_OK;
    HAWSER_TRY(hawser_schema_write(from, &text, error));
    hawser_status status = hawser_schema_read(text, to, error);
    free(text);
    return status;
}

/* Takes over what is not the matrix: arrays as views, names as views, and own copies of what a dataset frees by itself. */
static hawser_status copy_rest(const hawser_dataset *from, hawser_dataset *to, hawser_error *error)
{
    to->target = from->target;
    memcpy(to->further, from->further, sizeof to->further);
    to->further_count = from->further_count;
    memcpy(to->further_names, from->further_names, sizeof to->further_names);
    to->weights = from->weights;
    to->offset = from->offset;
    to->groups = from->groups;
    to->means = from->means;
    to->columns = from->columns;
    to->target_name = from->target_name;
    to->figures = from->figures;
    HAWSER_TRY(hw_equals_copy(&to->equals, &from->equals, error));
    if (from->numbers != NULL)
        HAWSER_TRY(hw_copy_text(&to->numbers, from->numbers, error));
    return copy_schema(from->schema, &to->schema, error);
}

static hawser_status fill(const hawser_dataset *from, hawser_dataset *to, hawser_error *error)
{
    const hawser_matrix *A = &from->matrix;
    hw_flipped flipped;
    if (hw_is_dense(A))
        HAWSER_TRY(hw_flip_dense(A, &flipped, error));
    else
        HAWSER_TRY(hw_flip(A, 0, hw_line_width(A), &flipped, error));
    to->matrix = flipped.matrix;
    to->matrix.first = 0;
    hw_dataset_own(to, flipped.offsets);
    hw_dataset_own(to, flipped.indices);
    hw_dataset_own(to, flipped.values);
    return copy_rest(from, to, error);
}

hawser_status hw_dataset_lend(const hawser_dataset *from, hawser_dataset **lent, hawser_error *error)
{
    HAWSER_TRY(hw_dataset_new(lent, error));
    hawser_status status = copy_rest(from, *lent, error);
    if (status != HAWSER_OK) {
        hawser_dataset_free(*lent);
        *lent = NULL;
        return status;
    }
    (*lent)->matrix = from->matrix;
    (*lent)->lent = true;
    (*lent)->file = from->file;
    return HAWSER_OK;
}

hawser_status hawser_dataset_turn(const hawser_dataset *dataset, hawser_dataset **turned, hawser_error *error)
{
    HW_GIVEN(dataset);
    HW_GIVEN(turned);
    *turned = NULL;
    HAWSER_TRY(hawser_matrix_whole(&dataset->matrix, error));
    HAWSER_TRY(hawser_dataset_intact(dataset, error));
    hawser_dataset *made = NULL;
    HAWSER_TRY(hw_dataset_new(&made, error));
    hawser_status status = fill(dataset, made, error);
    if (status != HAWSER_OK) {
        hawser_dataset_free(made);
        return status;
    }
    *turned = made;
    return HAWSER_OK;
}
