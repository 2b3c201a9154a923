/* merge.c - two sparse items as one. */
#include "runtime/vector/vector.h"

hawser_status hw_vector_merge(const hawser_vector *vector, hw_message **first, hw_message *second, hawser_error *error)
{
    const hw_sparse_part one = hw_sparse_of(*first), two = hw_sparse_of(second);
    hw_message *merged = NULL;
    hawser_status status = hw_sparse_merge(&vector->shape, &one, &two, vector->deltas, &merged, error);
    if (status == HAWSER_OK) {
        hw_sparse_name(merged, second);
        merged->envelope.span += (*first)->envelope.span;
    }
    hw_message_free(*first);
    hw_message_free(second);
    *first = merged;
    return status;
}
