/* loading.h - an input that the nodes of a job read together, and how far they are. */
#ifndef HW_RUNTIME_INPUT_LOADING_H
#define HW_RUNTIME_INPUT_LOADING_H

#include "data/cache/part.h"
#include "data/column_set.h"
#include "data/owners.h"
#include "data/share/blocks.h"
#include "data/share/shard.h"
#include "runtime/job/job.h"

typedef struct hw_loading {
    hw_cluster *cluster;
    const hawser_job *job;
    const hawser_load *load;
    const char *const *paths; /* NULL: the rows are the caller's (hawser_job_data), and cannot be read again */
    size_t path_count;
    uint32_t nodes, self;
    bool failed;          /* all nodes have agreed on a failure, or a collective call has failed here: no other can follow */
    uint64_t limit;       /* of memory, in bytes */
    uint64_t estimate;    /* of this, with the columns of all nodes */
    hawser_dataset *rows; /* the rows that this node has read */
    hw_cache_part cache;  /* which part of a cache they are, if `turned` */
    bool turned;          /* they are a share of the lines of a cache with the other layout: columns if the load is by row */
    hw_shard_facts *all;  /* what each node has read */
    hw_shard_facts whole;
    uint64_t *offsets;
    uint64_t *counts; /* entries of each column in the rows of this node */
    hw_owners owners; /* of each column */
    hawser_dataset *dataset;
    bool
        quoted; /* CSV: some node has met a quoted line end, so that all look for the start of their part from the input's */
    struct hw_levels *words; /* labels that are words of the target, in ascending order, if there is no table; or NULL */
    bool labels;             /* some node has met labels that doubles do not hold, so that all have read them as words */
    bool as_table;           /* some node has met words, so that all have read tables */
    /* columns with entries, of an input whose other columns are left out while it is dealt out; bits NULL: none is */
    hw_column_set occurring;
    uint64_t width; /* number of columns of the whole, whichever are left out */
    int32_t base;   /* index base of `rows`, likewise */
    unsigned sides; /* bit HW_BESIDE_TARGET ...: this is in a file of its own, which the nodes have read in parts */
} hw_loading;

/* Reads the part of node `self`; its table, if it has one, waits for hw_loading_settle. */
hawser_status hw_loading_read(hw_loading *l, bool as_table, hawser_error *error) HAWSER_MUST_USE;
/* Makes rows of the table that was read. The schema (NULL: numbers only) is that of the whole input; l->rows has it from
 * then on. */
hawser_status hw_loading_settle(hw_loading *l, hawser_schema *schema, hawser_error *error) HAWSER_MUST_USE;

/* Stores the weights of this node's rows; NULL: all are 1. in_rows: they were read with the rows, or there are none. Those
 * of a file of their own are read as a whole into *side, which the caller frees, also after a failure. Collective. */
hawser_status hw_loading_weights(hw_loading *l, bool in_rows, hawser_dataset **side, const double **weights,
                                 hawser_error *error) HAWSER_MUST_USE;
/* gather.c: what the nodes exchange. All of these are collective, and agree on their memory first: a node that has failed
 * before may agree instead. */

/* Returns the same status on all nodes, that of a node which has failed, if there is one. A node that fails where the others
 * do not look agrees once it has left: these fail at their next agreement, and must not wait for it at a later one. */
hawser_status hw_loading_agree(hw_loading *l, hawser_status own, hawser_error *error) HAWSER_MUST_USE;
/* Like hw_cluster_alltoall. If it fails, this node agrees with the others no more. */
hawser_status hw_loading_alltoall(hw_loading *l, const hw_bytes *out, hw_bytes *in, hawser_error *error) HAWSER_MUST_USE;
/* Sends data to all nodes and receives theirs, unless a node has failed before with `own`. The caller frees *in by
 * hw_bytes_free, also after a failure. */
hawser_status hw_loading_gather(hw_loading *l, hawser_status own, const void *data, size_t length, hw_bytes **in,
                                hawser_error *error) HAWSER_MUST_USE;
/* Replaces a number of each column by that of the column's node. */
hawser_status hw_loading_by_owner(hw_loading *l, hawser_status own, const hw_owners *owners, double *numbers, size_t cols,
                                  hawser_error *error) HAWSER_MUST_USE;
/* Stores what each node reports, `size` bytes, in a new array by node, which the caller frees, also after a failure. */
hawser_status hw_loading_collect(hw_loading *l, const void *own, size_t size, void **all,
                                 hawser_error *error) HAWSER_MUST_USE;
#define HW_COLLECT(l, own, all, error) hw_loading_collect(l, own, sizeof **(all), (void **)(all), error)
/* Replaces each of some numbers by its sum over the nodes. */
hawser_status hw_loading_add(hw_loading *l, uint64_t *numbers, size_t count, hawser_error *error) HAWSER_MUST_USE;
/* Replaces an item of each block by that of the node which has the block. */
hawser_status hw_loading_by_block(hw_loading *l, const hw_view *view, uint64_t *items, hawser_error *error) HAWSER_MUST_USE;
/* Adds up counts[line] over the nodes and makes the offsets of all lines, which the caller frees, also after a failure. */
hawser_status hw_loading_offsets(hw_loading *l, size_t lines, const uint64_t *counts, uint64_t **offsets,
                                 hawser_error *error) HAWSER_MUST_USE;
/* Replaces the entries of each line by the entries before it, and counts[lines] by those of all, which it returns. Not
 * collective. */
uint64_t hw_loading_begin_lines(uint64_t *counts, size_t lines);

/* How pieces of the input are dealt out, in rounds: `pack` makes a piece for each node, and `place` stores the pieces that
 * came from each. Both may take what they have read. */
typedef struct hw_deal {
    uint32_t rounds;
    void *user;
    hawser_status (*pack)(void *user, uint32_t round, hw_bytes *out, hawser_error *error);
    hawser_status (*place)(void *user, uint32_t round, hw_bytes *in, hawser_error *error);
} hw_deal;
hawser_status hw_loading_deal(hw_loading *l, const hw_deal *deal, hawser_error *error) HAWSER_MUST_USE;

/* Stores the own rows, which are sparse, as HAWSER_DENSE_ROWS with the columns of the whole. Not collective. */
hawser_status hw_loading_store_rows(hw_loading *l, hawser_error *error) HAWSER_MUST_USE;

/* load_table.c: agrees on words and labels. A node that has met none reads its part again if another one has. Collective. */
hawser_status hw_loading_agree_on_words(hw_loading *l, hawser_error *error) HAWSER_MUST_USE;
/* load_text.c: agrees on the words of text (`name`), which are the columns of all rows from then on. Collective. */
hawser_status hw_loading_agree_on_text(hw_loading *l, const char *name, hawser_error *error) HAWSER_MUST_USE;
/* Refuses more columns than the text can account for. Collective. */
hawser_status hw_loading_check_columns(hw_loading *l, hawser_error *error) HAWSER_MUST_USE;
/* Returns whether missing values become the means of the columns of this input. */
bool hw_loading_fills(hw_loading *l);
/* Finds the columns of one value in the rows of all nodes, from those in the rows of each (NULL: unknown), if it has any.
 * `shift` is added to their numbers. Collective. */
hawser_status hw_loading_unite_equals(hw_loading *l, const hw_equals *own, bool rows, int shift, hw_equals *out,
                                      hawser_error *error) HAWSER_MUST_USE;
/* Stores how many rows each node has read. Collective. */
hawser_status hw_loading_count(hw_loading *l, hawser_error *error) HAWSER_MUST_USE;

/* Gathers what all nodes have read, and finds what that is together. `own`: hw_shard_facts_of(l->rows), or what the rows
 * will become. Collective. */
hawser_status hw_loading_agree_facts(hw_loading *l, hw_shard_facts own, hawser_error *error) HAWSER_MUST_USE;
/* Makes a dataset of which this node has the entries of its blocks' columns, from rows that are all of the whole. Sends
 * nothing. What belongs to rows stays where it is. */
hawser_status hw_loading_own_columns(hw_loading *l, hw_shard_facts whole, hawser_error *error) HAWSER_MUST_USE;
/* Makes the dataset, of which each node has the entries of its blocks' columns, once the nodes agree on the whole.
 * Collective. */
hawser_status hw_loading_by_column(hw_loading *l, const char *name, hawser_error *error) HAWSER_MUST_USE;
/* Refuses the load if some node may not take these bytes. Collective. */
hawser_status hw_loading_afford(hw_loading *l, uint64_t bytes, hawser_error *error) HAWSER_MUST_USE;
/* Notes the memory of the load in the dataset: of reading the rows, or of sending them. */
void hw_loading_note_memory(hw_loading *l);
/* Frees all except l->dataset. */
void hw_loading_free(hw_loading *l);

/* Returns a loading that has begun nothing. */
static inline hw_loading hw_loading_of(const hawser_job *job, const hawser_load *load)
{
    hw_cluster *cluster = job->cluster;
    return (hw_loading){.cluster = cluster,
                        .job = job,
                        .load = load,
                        .nodes = cluster != NULL ? hw_cluster_nodes(cluster) : 1,
                        .self = cluster != NULL ? hw_cluster_self(cluster) : 0};
}

/* Returns the most memory that the load may take; 0: what is left to the job. */
static inline uint64_t hw_loading_limit(hw_loading *l)
{
    const uint64_t limit = l->load->memory_limit, shared = l->job->settings.shared;
    return limit == 0 ? l->job->settings.memory : limit > shared ? limit - shared : 1;
}

/* Returns whether the input has rows of this node's own, and no share of an input that all nodes read. */
static inline bool hw_loading_has_own_rows(hw_loading *l)
{
    return l->load->parts == 1;
}

/* Returns whether the rows that this node has read stay until they are sent: they are the caller's, or pages of a cache. */
static inline bool hw_loading_rows_stay(hw_loading *l)
{
    return l->paths == NULL || l->turned;
}

/* load_wide.c: columns without entries. */

/* Leaves them out of the whole and of the own rows, if they are most. Collective. */
hawser_status hw_loading_leave_out(hw_loading *l, hawser_error *error) HAWSER_MUST_USE;
/* Adds them to the dataset, the whole and the owners. Collective. */
hawser_status hw_loading_put_back(hw_loading *l, hawser_error *error) HAWSER_MUST_USE;

/* load_cache.c: a cache with the other layout. */

/* Reads this node's share of the lines, and sets l->turned, if the input is such a cache; else reads nothing. Collective. */
hawser_status hw_loading_read_cache(hw_loading *l, hawser_error *error) HAWSER_MUST_USE;
/* Moves the names to the dataset, and those means that are in the input. */
hawser_status hw_loading_take_names(hw_loading *l, hawser_error *error) HAWSER_MUST_USE;
/* Refuses the load if own entries and what is in flight take more memory than is allowed. Collective. */
hawser_status hw_loading_afford_turn(hw_loading *l, uint64_t own, uint64_t in_flight, hawser_error *error) HAWSER_MUST_USE;
/* Makes the dataset, whose rows are held by block, from the nodes' shares of the columns. Collective. */
hawser_status hw_loading_turn_columns(hw_loading *l, hawser_error *error) HAWSER_MUST_USE;
/* Makes the rows of a block from the columns of the whole. `from` and `to` as in source_read.c. What belongs to rows is
 * moved from `columns`. */
hawser_status hw_loading_turn_block(const struct hw_row_blocks *from, struct hw_row_blocks *to, const hw_cache_part *part,
                                    hawser_dataset *columns, hawser_error *error) HAWSER_MUST_USE;

/* load_rows.c: HAWSER_BY_ROW. */

/* Makes the dataset, whose rows are held by block, once the nodes agree on the sizes of the whole. Collective. */
hawser_status hw_loading_by_row(hw_loading *l, const char *name, hawser_error *error) HAWSER_MUST_USE;
/* Returns whether the nodes have read ranges of a Matrix Market array, column by column. */
static inline bool hw_loading_is_array(hw_loading *l)
{
    return l->whole.scattered && l->whole.layout == HAWSER_DENSE_ROWS;
}
/* Cuts the rows of a matrix that is whole here as the plan of one node does. */
void hw_loading_cut(const hawser_matrix *A, uint32_t blocks, size_t *bounds);
/* Keeps this cut in a dataset that is whole here, for the plan of one node. */
hawser_status hw_loading_keep_cut(hawser_dataset *dataset, uint32_t blocks, hawser_error *error) HAWSER_MUST_USE;
/* Makes the blocks of this job, which *bounds cut, or the bounds of hawser_load.like, which must be for `rows` rows as the
 * dataset is. `cut`: how the cut has ended. It takes over `bounds`, also after a failure. Collective. */
hawser_status hw_loading_make_blocks(hw_loading *l, hawser_status cut, const hawser_dataset *dataset, size_t rows,
                                     size_t *bounds, struct hw_row_blocks **blocks, hawser_error *error) HAWSER_MUST_USE;
/* Replaces missing numbers of rows by the means of their columns. */
void hw_loading_put_means(const hawser_dataset *rows, const double *means);
/* load_sides.c: reads what is in files of its own, in parts where they can be; what came with the rows is not looked for
 * there. Collective. */
hawser_status hw_loading_sides(hw_loading *l, struct hw_row_blocks *blocks, hawser_error *error) HAWSER_MUST_USE;
/* Reads again what of these files belongs to the rows of one block: the parts of all nodes, one after the other, and whole
 * files that were read by every node. `from` and `to` as in source.c. l->dataset is the dataset that was loaded. */
hawser_status hw_loading_sides_again(hw_loading *l, const struct hw_row_blocks *from, struct hw_row_blocks *to,
                                     hawser_error *error) HAWSER_MUST_USE;

/* Reduces an input that every node has read as a whole (l->rows) to the rows of this node's blocks. */
hawser_status hw_loading_cut_whole(hw_loading *l, hawser_error *error) HAWSER_MUST_USE;
/* Loads an input for a job of one node. */
hawser_status hw_load_rows_alone(hawser_job *job, const char *const *paths, size_t count, const hawser_load *load,
                                 hawser_dataset **dataset, hawser_error *error) HAWSER_MUST_USE;

#endif
