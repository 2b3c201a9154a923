/* batch.c - the mini-batches of a block's rows: their memory, which the block keeps, and how they are filled. */
#include <stdlib.h>

#include "base/memory.h"
#include "runtime/block/worker.h"

enum { ARRAYS = 3 }; /* target, weights, offset */

/* Makes memory for batches of `size` rows: the rows, their numbers, and what belongs to them. */
static hawser_status reserve(hw_state_part *part, uint64_t size, hawser_error *error)
{
    if (part->batch != NULL && part->batch_size == size)
        return HAWSER_OK;
    size_t count = size < part->data.rows ? (size_t)size : part->data.rows;
    size_t bytes = (hawser_batch_bytes(&part->data, count) + sizeof(double) - 1) / sizeof(double) * sizeof(double);
    free(part->batch);
    part->batch = NULL;
    HAWSER_TRY(hw_new_array(&part->batch, bytes + count * (ARRAYS * sizeof(double) + sizeof(size_t)) + 1, 1, "a mini-batch",
                            error));
    part->batch_size = size;
    part->batch_bytes = bytes;
    return HAWSER_OK;
}

/* Gathers numbers of the batch's rows, if the input has them. */
static const double *gather(const hawser_batch *taken, const double *values, double *out)
{
    if (values == NULL)
        return NULL;
    hawser_batch_gather(taken, values, out);
    return out;
}

hawser_status hw_part_take_batch(hw_state_part *part, hawser_batches *from, uint64_t number, hawser_mini_batch *batch,
                                 hawser_error *error)
{
    hawser_batch taken;
    hawser_beside beside = {0};
    HAWSER_TRY(reserve(part, from->size, error));
    size_t count = from->size < part->data.rows ? (size_t)from->size : part->data.rows;
    double *numbers = (double *)(void *)((char *)part->batch + part->batch_bytes);
    HAWSER_TRY(hawser_batches_seek(from, number, error));
    HAWSER_TRY(hawser_batches_next(from, (size_t *)(void *)(numbers + ARRAYS * count), &taken, error));
    HAWSER_TRY(hawser_batch_pack(&part->data, &taken, part->batch, part->batch_bytes, &batch->rows, error));
    if (part->state->dataset != NULL && part->data.rows > 0)
        HAWSER_TRY(hawser_dataset_beside(part->state->dataset, part->state->split == HAWSER_BY_ROW ? part->data.first : 0,
                                         part->data.rows, &beside, error));
    batch->numbers = taken.rows;
    batch->target = gather(&taken, beside.target, numbers);
    batch->weights = gather(&taken, beside.weights, numbers + count);
    batch->offset = gather(&taken, beside.offset, numbers + 2 * count);
    batch->epoch = taken.epoch;
    batch->last = taken.last;
    return HAWSER_OK;
}
