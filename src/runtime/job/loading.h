/* loading.h - an input that the nodes of a job read together, and how far they are. */
#ifndef HW_RUNTIME_JOB_LOADING_H
#define HW_RUNTIME_JOB_LOADING_H

#include "data/owners.h"
#include "data/share/blocks.h"
#include "data/share/shard.h"
#include "runtime/job/job.h"

typedef struct hw_loading {
    hw_cluster *cluster;
    const hawser_job *job;
    const hawser_load *load;
    const char *const *paths;
    size_t path_count;
    uint32_t nodes, self;
    uint64_t limit;       /* of memory, in bytes */
    uint64_t estimate;    /* of this, with the columns of all nodes */
    hawser_dataset *rows; /* the rows that this node has read */
    hw_shard_facts *all;  /* what each node has read */
    hw_shard_facts whole;
    uint64_t *offsets;
    hw_owners owners; /* of each column */
    hawser_dataset *dataset;
} hw_loading;

/* Sends data to all nodes and receives theirs; the caller frees *in by hw_bytes_free, also after a failure. */
hawser_status hw_loading_gather(const hw_loading *l, const void *data, size_t length, hw_bytes **in,
                                hawser_error *error) HAWSER_MUST_USE;
/* Adds up counts[line], of `lines` lines, over the nodes; sums are zeros on entry. Collective. */
hawser_status hw_loading_sum(const hw_loading *l, size_t lines, const uint64_t *counts, uint64_t *sums,
                             hawser_error *error) HAWSER_MUST_USE;
/* Refuses more columns than the text can account for. Collective. */
hawser_status hw_loading_check_columns(const hw_loading *l, hawser_error *error) HAWSER_MUST_USE;
/* Returns whether missing values become the means of the columns of this input. */
bool hw_loading_fills(const hw_loading *l);
/* Stores how many rows each node has read. Collective. */
hawser_status hw_loading_count(hw_loading *l, hawser_error *error) HAWSER_MUST_USE;

/* load_rows.c: HAWSER_BY_ROW. */

/* Makes the dataset, whose rows are held by block, once the nodes agree on the sizes of the whole. Collective. */
hawser_status hw_loading_by_row(hw_loading *l, const char *name, hawser_error *error) HAWSER_MUST_USE;
/* load_sides.c: reads what is in files of its own, in parts where they can be; what came with the rows is not looked for there. Collective. */
hawser_status hw_loading_sides(hw_loading *l, struct hw_row_blocks *blocks, hawser_error *error) HAWSER_MUST_USE;

/* Reduces an input that every node has read as a whole (l->rows) to the rows of this node's blocks. */
hawser_status hw_loading_cut_whole(hw_loading *l, hawser_error *error) HAWSER_MUST_USE;
/* Loads an input for a job of one node. */
hawser_status hw_load_rows_alone(hawser_job *job, const char *const *paths, size_t count, const hawser_load *load,
                                 hawser_dataset **dataset, hawser_error *error) HAWSER_MUST_USE;

#endif
