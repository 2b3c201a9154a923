/*
 * blocks.h - rows that are held by block: where the blocks of a job are cut, and of this node's blocks the rows and what
 * belongs to them.
 *
 * A node reads its rows (hawser_load.part). All nodes agree on the cuts, which depend on the data and the number of blocks
 * alone, and a node sends the rows of other nodes' blocks to these nodes. All functions are pure, bytes in and bytes out;
 * the caller sends them.
 */
#ifndef HW_DATA_SHARE_BLOCKS_H
#define HW_DATA_SHARE_BLOCKS_H

#include "base/memory.h"
#include "base/view.h"
#include "data/dataset.h"
#include "data/share/shard.h"

/* Arrays with a number per row. */
enum { HW_BESIDE_TARGET = 0, HW_BESIDE_WEIGHTS, HW_BESIDE_OFFSET, HW_BESIDE_GROUPS, HW_BESIDE_FURTHER };
enum { HW_BESIDE_MOST = HW_BESIDE_FURTHER + HW_FURTHER_TARGETS };

/* Returns an array of a dataset, or NULL if it has none of this kind. */
const double *hw_dataset_beside_of(const hawser_dataset *rows, unsigned kind);

typedef struct hw_row_block {
    hawser_matrix matrix;           /* on another node: its shape, with `stored`, and no arrays */
    double *beside[HW_BESIDE_MOST]; /* owned; NULL: the input has none, or the block is on another node */
    uint64_t *offsets; /* owned, as the two below; NULL if the matrix is a view of a mapped cache or of lent rows */
    uint32_t *indices;
    void *values;
} hw_row_block;

struct hw_row_blocks {
    hw_view view;
    uint32_t self;
    bool owned;     /* the rows stay on the nodes that have them (hawser_job_own_rows), so the cut depends on the nodes */
    bool borrows;   /* `beside` is that of other blocks, which outlive these (hawser_dataset_select) */
    bool lent;      /* the rows are from the memory of the nodes (hawser_job_data), which cannot be read again */
    size_t *bounds; /* view.blocks + 1 rows of the whole */
    hw_row_block *block;
    /* Rows are sent in rounds, each of which has an equal share of the rows of every block, in order. rounds 0: in one */
    uint32_t round, rounds;
    uint64_t *counted; /* by block: the sum of its values, which nodes have told each other; NULL: they have not */
    struct hw_row_filling *filling; /* of each block, between the first round and the last; or NULL */
    void *shadow;                   /* address space of the whole's arrays, in which every access faults; NULL: none */
    size_t shadow_bytes;
};

/* Takes over `view` and `bounds`, also on failure. */
hawser_status hw_row_blocks_new(hw_view *view, uint32_t self, size_t *bounds, struct hw_row_blocks **blocks,
                                hawser_error *error) HAWSER_MUST_USE;
void hw_row_blocks_free(struct hw_row_blocks *blocks);
static inline bool hw_row_block_here(const struct hw_row_blocks *blocks, uint32_t block)
{
    return hw_view_node(&blocks->view, block) == blocks->self;
}

/* Returns whether an address is in the arrays of the whole, which cannot be read. Async-signal-safe. */
static inline bool hw_row_blocks_shadow(const struct hw_row_blocks *blocks, const void *address)
{
    return (uintptr_t)address - (uintptr_t)blocks->shadow < blocks->shadow_bytes;
}

/* Returns how many of the rows [first, first + count) are in a block, and stores the first of them. */
size_t hw_row_blocks_overlap(const struct hw_row_blocks *blocks, uint32_t block, size_t first, size_t count, size_t *from);
/* Returns how many of the rows [first, first + count) are in blocks of other nodes. */
uint64_t hw_row_blocks_leaving(const struct hw_row_blocks *blocks, size_t first, size_t count);

/* Returns how many entries of a block are among the rows A of the whole, which begin at row `first`. */
uint64_t hw_row_blocks_entries(const struct hw_row_blocks *blocks, const hawser_matrix *A, uint32_t block, size_t first);

/* Allocates the arrays of an own block for its entries, which are not there yet. */
hawser_status hw_row_block_new(struct hw_row_blocks *blocks, uint32_t block, const hw_shard_facts *whole, uint64_t entries,
                               hawser_error *error) HAWSER_MUST_USE;

/* Packs for each other node those rows of this round that are in its blocks, with what belongs to them; scattered entries
 * for this node, too. These rows begin at row `first` of the whole. pieces has one item per node; the caller frees them. */
hawser_status hw_row_blocks_pack(const struct hw_row_blocks *blocks, const hawser_dataset *rows, const hw_shard_facts *whole,
                                 size_t first, hw_bytes *pieces, hawser_error *error) HAWSER_MUST_USE;
/* Gives the memory of rows that were packed in this round back to the system, unless the rows are lent. Their entries are
 * lost. */
void hw_row_blocks_release(const struct hw_row_blocks *blocks, const hawser_dataset *rows, size_t first);
/* What has arrived for own blocks: a piece from each node, which is freed after use. */
typedef struct hw_row_pieces {
    const hw_shard_facts *whole;
    const uint64_t *stored; /* entries of each block; NULL, with one round: they are counted */
    hw_bytes *pieces;
    uint32_t nodes;
    const hawser_dataset *rows; /* that this node has read: those of own blocks are in no piece */
    size_t first;               /* row of the whole of the first of these */
    const char *name;           /* of the input */
} hw_row_pieces;

/* Makes own blocks from the pieces of other nodes and the rows that this node has read, in the order of all rows, as far as
 * the rows are of this round. The entries of `rows` are lost, unless they are lent: then a block that has only such rows is
 * a view of them. Refuses data that do not fit: every row must be there once. */
hawser_status hw_row_blocks_fill(struct hw_row_blocks *blocks, const hw_row_pieces *from,
                                 hawser_error *error) HAWSER_MUST_USE;

/* Like hw_row_blocks_fill, for scattered entries: each node has sent entries of any rows of a block, also to itself. Refuses
 * entries that occur twice. */
hawser_status hw_row_blocks_merge(struct hw_row_blocks *blocks, const hw_row_pieces *from,
                                  hawser_error *error) HAWSER_MUST_USE;

/* Makes own blocks from a dataset that is whole on this node: views of a mapped cache or of lent rows, or copies; then the
 * dataset's own entries are freed. */
hawser_status hw_row_blocks_cut(struct hw_row_blocks *blocks, hawser_dataset *whole, hawser_error *error) HAWSER_MUST_USE;
/* Moves targets, weights, offset and groups that the dataset has for all rows to own blocks; the dataset has them no
 * longer. */
hawser_status hw_row_blocks_take(struct hw_row_blocks *blocks, hawser_dataset *dataset, hawser_error *error) HAWSER_MUST_USE;

/* Sets the shapes of all blocks. `stored` has the entries of each block. */
void hw_row_blocks_shape(struct hw_row_blocks *blocks, const hawser_matrix *whole, const uint64_t *stored);
/* Lets the dataset hold its rows by block: its matrix has the whole's shape, and arrays that cannot be read. Takes over
 * `blocks` if it succeeds. */
hawser_status hw_row_blocks_settle(struct hw_row_blocks *blocks, hawser_dataset *dataset, const hawser_matrix *shape,
                                   hawser_error *error) HAWSER_MUST_USE;

#endif
