/* occurring.c - hawser_job_occurring: each node looks at its own rows, and all learn which columns have entries. */
#include <stdlib.h>

#include "base/layout.h"
#include "base/memory.h"
#include "data/column_set.h"
#include "data/residence.h"
#include "data/share/blocks.h"
#include "hawser/job_data.h"
#include "runtime/input/occurring.h"

/* Adds what this node has. */
static void look(const hawser_matrix *A, hw_column_set *set)
{
    const struct hw_row_blocks *rows = A->residence != NULL ? A->residence->rows : NULL;
    for (size_t j = 0; hw_is_dense(A) && j < A->cols; j++)
        hw_column_set_add(set, (uint32_t)j);
    if (hw_is_dense(A))
        return;
    if (rows == NULL && A->layout == HAWSER_CSR)
        hw_column_set_add_rows(set, A);
    else if (rows == NULL)
        hw_column_set_add_columns(set, A); /* offsets are those of the whole on every node */
    for (uint32_t b = 0; rows != NULL && b < rows->view.blocks; b++)
        if (hw_row_block_here(rows, b))
            hw_column_set_add_rows(set, &rows->block[b].matrix);
}

/* Takes the columns of another node: their bits, or their numbers if these are fewer bytes. */
static hawser_status take(hw_column_set *set, const hw_bytes *from, hawser_error *error)
{
    size_t bytes = set->words * sizeof *set->bits;
    if (from->length == bytes) {
        for (size_t w = 0; w < set->words; w++)
            set->bits[w] |= ((const uint64_t *)from->data)[w];
        return HAWSER_OK;
    }
    for (size_t k = 0; k < from->length / sizeof(uint32_t); k++) {
        uint32_t column = ((const uint32_t *)from->data)[k];
        if (column >= set->cols)
            return hawser_fail(error, HAWSER_INTERNAL, "a node has entries in column %u of %zu", column, set->cols);
        hw_column_set_add(set, column);
    }
    return HAWSER_OK;
}

hawser_status hw_occurring_unite(hw_loading *l, hw_column_set *set, hawser_error *error)
{
    const size_t count = hw_column_set_count(set), bytes = set->words * sizeof *set->bits;
    const bool few = count * sizeof(uint32_t) < bytes;
    uint32_t *list = NULL;
    hw_bytes *in;
    hawser_status status = few ? HW_NEW(&list, count + 1, "the columns of the nodes", error) : HAWSER_OK;
    if (status == HAWSER_OK && few)
        hw_column_set_list(set, list);
    status = few ? hw_loading_gather(l, status, list, count * sizeof *list, &in, error)
                 : hw_loading_gather(l, status, set->bits, bytes, &in, error);
    for (uint32_t node = 0; status == HAWSER_OK && node < l->nodes; node++)
        status = take(set, &in[node], error);
    hw_bytes_free(in, l->nodes);
    free(list);
    return status;
}

hawser_status hawser_job_occurring(hawser_job *job, const hawser_dataset *dataset, uint32_t **columns, size_t *count,
                                   hawser_error *error)
{
    HW_GIVEN_JOB(job);
    HW_GIVEN(dataset);
    HW_GIVEN(columns);
    HW_GIVEN(count);
    const hawser_matrix *A = &dataset->matrix;
    hw_loading l = hw_loading_of(job, NULL);
    hw_column_set set = {0};
    bool more = A->residence != NULL && A->residence->rows != NULL && A->residence->rows->view.nodes > 1;
    *columns = NULL;
    *count = 0;
    hawser_status status = hw_column_set_new(A->cols, &set, error);
    if (status == HAWSER_OK)
        look(A, &set);
    if (more)
        status = hw_loading_agree(&l, status, error);
    if (more && status == HAWSER_OK)
        status = hw_occurring_unite(&l, &set, error);
    if (status == HAWSER_OK) {
        *count = hw_column_set_count(&set);
        status = HW_NEW(columns, *count + 1, "the columns with entries", error);
    }
    if (more)
        status = hw_loading_agree(&l, status, error);
    if (status == HAWSER_OK)
        hw_column_set_list(&set, *columns);
    hw_column_set_free(&set);
    if (status != HAWSER_OK) {
        free(*columns);
        *columns = NULL;
    }
    return status;
}
