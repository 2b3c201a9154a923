/*
 * job_data.h - data on the nodes of a job, besides hawser_job_load: rows that nodes have already, entries of other nodes,
 * and files of numbers by row.
 */
#ifndef HAWSER_JOB_DATA_H
#define HAWSER_JOB_DATA_H

#include "hawser/hawser.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Makes a dataset of rows that the nodes have already: arrays (hawser_dataset_from), or a file on each node
 *  (hawser_dataset_load, by row). Collective. The rows stay where they are. Node k passes rows [first, first + its rows) of
 *  the whole, which has `rows` rows, in the order of the nodes' numbers. With `rows` 0 on every node, `first` is ignored
 *  and each node's rows follow those of the node before. Gaps, overlaps, other columns and other words are refused, with
 *  the nodes. `own` is NULL on a node without rows; it must outlive the dataset, which has views of its matrix. What
 *  belongs to rows is copied.
 *
 *  The blocks of a node are cut within its rows. So which rows a block has depends on the nodes, and so do the bits of a
 *  result: figures and plan say so (hawser_figures.repeatable) if there are several nodes. The rows have no second source
 *  from which they could be read again. Else the dataset is like one of hawser_job_load with HAWSER_BY_ROW. */
HAWSER_API hawser_status hawser_job_own_rows(hawser_job *job, const hawser_dataset *own, size_t first, size_t rows,
                                             hawser_dataset **dataset, hawser_error *error) HAWSER_MUST_USE;
/** Deals out rows that the nodes have in memory to the job's blocks, as hawser_job_load deals out those of a file.
 *  Collective. The rows of node k follow those of node k - 1; `own` is NULL on a node without rows. With HAWSER_BY_COLUMN
 *  each node gets the columns of its own blocks, with HAWSER_BY_ROW the rows; an algorithm is given hawser_algorithm.split.
 *  Targets, weights, offset, groups and names are dealt out with them. The dataset has the bits of a load of one file with
 *  these rows, for any number of nodes, so that a result does not depend on which node has given which rows
 *  (hawser_job_own_rows leaves the rows where they are, and its bits depend on that).
 *
 *  `own` has any layout (hawser_dataset_borrow, hawser_dataset_from, hawser_dataset_load) and must outlive *dataset, which
 *  has views of it wherever a block has only rows of this node in a layout by row, and with one node. Data in the other
 *  layout are turned first. A node holds its own input and its share. While it sends rows or columns, it has a copy of
 *  these, too. Columns, types, names, words, targets and `split` must be the same on all nodes; else HAWSER_BAD_ARGUMENT
 *  names two that differ. The caller frees *dataset. */
HAWSER_API hawser_status hawser_job_data(hawser_job *job, const hawser_dataset *own, hawser_split split,
                                         hawser_dataset **dataset, hawser_error *error) HAWSER_MUST_USE;
/** Like hawser_job_data, but every node has all of the data, and no row is sent. The nodes compare digests of all numbers.
 *  If data or layouts differ, HAWSER_BAD_ARGUMENT names the nodes. Each node uses its own blocks of `own`. If these have
 *  the layout that `split` needs, nothing is copied. Else a node turns the columns of its blocks; by rows it turns all of
 *  the data, and frees the rest. The bits are those of hawser_job_data. Collective. */
HAWSER_API hawser_status hawser_job_same(hawser_job *job, const hawser_dataset *own, hawser_split split,
                                         hawser_dataset **dataset, hawser_error *error) HAWSER_MUST_USE;
/** Fills `values` with `width` numbers for each of the rows [first, first + count), row after row. The rows are of one
 *  block of this node. */
typedef hawser_status hawser_row_numbers(size_t first, size_t count, double *values, void *user);
/** Writes `width` numbers per row of a dataset that was loaded by row, such as predictions, into one file: a line per row,
 *  in the order of the rows, with commas between the numbers, which read back as the same. Collective, outside of a run,
 *  with the same width and path on every node. Each node makes the numbers of its own blocks by `numbers`, a piece at a
 *  time, and node 0 writes the file; no node has more than a piece. The file appears under its name once it is whole. If a
 *  node fails or is lost, all fail and no file is left. A number that is not finite is refused by its row. */
HAWSER_API hawser_status hawser_job_write_rows(hawser_job *job, const hawser_dataset *dataset, const char *path,
                                               size_t width, hawser_row_numbers *numbers, void *user,
                                               hawser_error *error) HAWSER_MUST_USE;
/** Finds the columns that are far from zero: most values differ from one of them, c, by less than |c| / 4096, and not all
 *  of those are equal. Sums of products of such values lose the digits in which they differ, and a model with an intercept
 *  is the same for x - c (hawser_dataset_centre). Stores c for each column, 0 for the others, or NULL if no column is far
 *  from zero; the caller frees *origin. Rows of weight 0 do not count. The same on all nodes, for any number of them.
 *  HAWSER_BAD_ARGUMENT if the rows are held by block, or for CSR. Collective, outside of a run. */
HAWSER_API hawser_status hawser_job_origins(hawser_job *job, const hawser_dataset *dataset, double **origin,
                                            hawser_error *error) HAWSER_MUST_USE;
/** Finds the columns of a dataset that have entries on any node, all columns if it is dense. Stores their numbers in
 *  *columns, ascending, which the caller frees, and how many they are in *count. The same on all nodes. Collective, outside
 *  of a run. */
HAWSER_API hawser_status hawser_job_occurring(hawser_job *job, const hawser_dataset *dataset, uint32_t **columns,
                                              size_t *count, hawser_error *error) HAWSER_MUST_USE;
/** Counts what the load of a dataset took for the estimates of plans (part "load"), as hawser_job_load does. NULL is
 *  allowed. */
HAWSER_API void hawser_job_loaded(hawser_job *job, const hawser_dataset *dataset);
/** Names bytes on which a run depends besides its program, options and datasets: constants of units, or numbers that the
 *  caller has read. A run goes on from a checkpoint only if the bytes of each name are the same (--checkpoint); else it is
 *  refused, and the message has `name`, which is one line. Call it before the run, in the same order in each process.
 *  Keeps a digest. Does nothing without --checkpoint. */
HAWSER_API hawser_status hawser_job_depends(hawser_job *job, const char *name, const void *bytes, size_t size,
                                            hawser_error *error) HAWSER_MUST_USE;
/** Declares that no run with a loop follows the next one. Then --checkpoint does not copy the end of that run, which only a
 *  later run needs. If one follows after all, a job that goes on repeats the run before it. NULL is allowed. Call it outside
 *  of a run. */
HAWSER_API void hawser_job_last_run(hawser_job *job);
/** Fetches the entries of some columns to every node, outside of a run. Collective. */
HAWSER_API hawser_status hawser_job_fetch(hawser_job *job, const hawser_matrix *matrix, const uint32_t *columns,
                                          size_t count, hawser_error *error) HAWSER_MUST_USE;

/** Fetches the entries of some columns (indices in the whole matrix) of a data state that this unit reads, from the nodes
 *  that have them; they stay on this node. Required before a unit reads columns of other blocks in a state that is
 *  HAWSER_FETCHED, if hawser_job_load read the data; free if all entries are on this node. Returns HAWSER_OK, or the status
 *  that the unit must return at once.
 *
 *  Entries on other nodes read as zeros. The unit fails, with its name, if a kernel of matrix.h touches such a column,
 *  through the view or through the matrix of the state, or if the unit takes the view of a HAWSER_FETCHED matrix that lacks
 *  entries on this node before this block has called hawser_data_fetch for it. A unit that uses only the columns of its own
 *  block calls with `count` 0. A unit that walks a column by pointers must name the column here; under --check it fails
 *  where it reads a column that is elsewhere. */
HAWSER_API hawser_status hawser_data_fetch(hawser_context *context, const char *state, const uint32_t *columns,
                                           size_t count) HAWSER_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
