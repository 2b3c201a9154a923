/*
 * batches.h - mini-batches of the rows of a matrix, for programs that split their data by row.
 *
 * An iterator is a few numbers, without pointers and without a list of rows: which row an epoch has at place k is computed
 * from k. So it can be copied, kept in a block's scratch (hawser_batches_record) or made anew from the number of a batch
 * (hawser_batches_seek).
 *
 * The order of an epoch depends on (seed, stream, epoch, rows) alone: not on machine, threads, nodes or the size of the
 * batches. docs/design/batches.md has the formulas. Every function here is thread-safe for different objects and allocates
 * nothing.
 */
#ifndef HAWSER_BATCHES_H
#define HAWSER_BATCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hawser/matrix.h"
#include "hawser/record.h"
#include "hawser/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hawser_context; /* hawser.h */

/** An iterator over the mini-batches of rows [0, rows). The caller sets the first six fields, and the last two to zero for a
 *  start at the first batch of the first epoch. Each epoch has every row exactly once; only the rows that `whole` leaves out
 *  are missing. */
typedef struct hawser_batches {
    uint64_t rows;   /**< of the view: hawser_matrix.rows */
    uint64_t size;   /**< rows in a batch, at least 1; the last batch of an epoch may have fewer */
    uint64_t seed;   /**< hawser_job_seed, for example */
    uint64_t stream; /**< tells iterators with one seed apart: hawser_block, for example */
    bool in_order;   /**< rows ascend in every epoch; false: they are shuffled, anew in each epoch */
    bool whole;      /**< leaves out the last rows of an epoch if they are fewer than `size` */
    uint64_t epoch;  /**< epoch of the next batch */
    uint64_t next;   /**< number of the next batch in its epoch */
} hawser_batches;

/** One batch. */
typedef struct hawser_batch {
    const size_t *rows; /**< numbers of the rows in the view, in the memory that the caller gave */
    size_t count;
    uint64_t epoch;
    uint64_t number; /**< in its epoch, from 0 */
    bool last;       /**< the batch ends its epoch */
} hawser_batch;

/** Returns the number of batches in an epoch. A view without rows has one, which is empty, so that blocks without rows take
 *  part in every loop. Returns 0 if hawser_batches_next would refuse the iterator. */
HAWSER_API uint64_t hawser_batches_count(const hawser_batches *batches);

/** Fills *batch with the next batch, and `rows` with its row numbers; then moves to the batch after it. `rows` has space for
 *  `size` numbers, or for hawser_batches.rows of them if these are fewer. Returns HAWSER_BAD_ARGUMENT, and changes nothing,
 *  if `size` is 0, if `next` is not a batch of the epoch, if `whole` would leave out all rows, or if there are more than
 *  2^62 rows. */
HAWSER_API hawser_status hawser_batches_next(hawser_batches *batches, size_t *rows, hawser_batch *batch,
                                             hawser_error *error) HAWSER_MUST_USE;

/** Moves to batch `number`, counted from the first batch of epoch 0 on. A unit that takes batch hawser_clock in each clock
 *  needs no other memory. Fails as hawser_batches_next does. */
HAWSER_API hawser_status hawser_batches_seek(hawser_batches *batches, uint64_t number, hawser_error *error) HAWSER_MUST_USE;

/** Visits an iterator (hawser_batches) as a hawser_record_function does, for the visit of a block's scratch
 *  (hawser_scratch_record). An iterator that is read and that hawser_batches_next would refuse is an error of the record. An
 *  iterator of zeros is kept as it is. */
HAWSER_API void hawser_batches_record(hawser_record *record, void *batches);

/** Gathers targets, weights or other numbers of a batch's rows: out[k] = values[batch->rows[k]]. `values` begins at the
 *  view's first row: for an array of the whole matrix, add hawser_matrix.first to it. Values NULL are ones, as weights are
 *  in matrix.h. out has batch->count entries. */
HAWSER_API void hawser_batch_gather(const hawser_batch *batch, const double *values, double *out);

/** Returns the bytes that hawser_batch_pack needs for any `count` different rows of a CSR or dense matrix, at least 1. For
 *  CSR it looks at the lengths of all rows, so a program calls it once. `count` may be more than A->rows. Returns 0 for any
 *  other matrix. */
HAWSER_API size_t hawser_batch_bytes(const hawser_matrix *A, size_t count);

/** Copies the rows of a batch into `memory`, in the order of the batch, and fills *out with a matrix of batch->count rows
 *  over it: CSR of CSR, HAWSER_DENSE_ROWS of a dense matrix, with the type of A. `memory` has `bytes` bytes and is aligned
 *  for doubles; `out` is valid as long as it is. Row numbers are those of the view A, and may repeat. Returns
 *  HAWSER_BAD_ARGUMENT if A is CSC, if a row is not in A, if `bytes` are too few, or if entries of A are on another node. A
 *  unit does not need a copy: it may read the rows of A in place. */
HAWSER_API hawser_status hawser_batch_pack(const hawser_matrix *A, const hawser_batch *batch, void *memory, size_t bytes,
                                           hawser_matrix *out, hawser_error *error) HAWSER_MUST_USE;

/** A mini-batch as a unit takes it. */
typedef struct hawser_mini_batch {
    hawser_matrix rows;             /**< a copy: CSR, or HAWSER_DENSE_ROWS; rows.rows is their number */
    const size_t *numbers;          /**< of the rows in this block's part */
    const double *target;           /**< one per row; NULL: the input has none, or the state was made from a matrix */
    const double *weights, *offset; /**< the same */
    uint64_t epoch;
    bool last; /**< the batch ends its epoch */
} hawser_mini_batch;

/** Takes a mini-batch of this block's rows of a data state that is split by row (or whole), in a unit: batch `number`,
 *  counted through all epochs, of batches of `size` rows. The order of an epoch is drawn by the job's seed and the block. A
 *  unit that takes batch hawser_clock in each clock goes through all rows, and has nothing to remember. A block without rows
 *  gets batches without rows.
 *
 *  The memory is the block's: the batch is valid until the next one of this state is taken, and until the unit returns. The
 *  plan does not count it. Returns HAWSER_OK, or the status that the unit must return: HAWSER_BAD_PROGRAM for a state split
 *  by column, HAWSER_BAD_ARGUMENT for a size of 0. */
HAWSER_API hawser_status hawser_data_batch(struct hawser_context *context, const char *state, uint64_t size, uint64_t number,
                                           bool in_order, hawser_mini_batch *batch) HAWSER_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
