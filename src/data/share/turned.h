/*
 * turned.h - rows that are made from columns: each node has some consecutive columns of the whole, in CSC or HAWSER_DENSE,
 * and sends their entries to the nodes of the rows' blocks.
 *
 * Entries are sent in rounds (hw_row_blocks.rounds), each of which has an equal share of the rows of every block, so that
 * little is in flight. All functions are pure, bytes in and bytes out; the caller sends them.
 */
#ifndef HW_DATA_SHARE_TURNED_H
#define HW_DATA_SHARE_TURNED_H

#include "data/share/blocks.h"

/* Adds the entries of each row of a CSC matrix to counts[row]. */
void hw_turned_count(const hawser_matrix *A, uint64_t *counts);
/* Allocates own blocks for their entries. `offsets` has those of all rows, or is NULL if the matrix is dense. */
hawser_status hw_turned_begin(struct hw_row_blocks *blocks, const hw_shard_facts *whole, const uint64_t *offsets,
                              hawser_error *error) HAWSER_MUST_USE;
/* Packs what each node below `nodes` needs, in this round, of columns that begin at column `first` of the whole. The caller
 * frees the pieces, also after a failure. */
hawser_status hw_turned_pack(const struct hw_row_blocks *blocks, const hawser_matrix *A, size_t first, uint32_t nodes,
                             hw_bytes *pieces, hawser_error *error) HAWSER_MUST_USE;
/* Returns the number of entries in a piece. */
uint64_t hw_turned_entries(const hw_bytes *piece);
/* Stores the pieces of all nodes, in the order of their columns; each is freed after use. Refuses data that do not fit. */
hawser_status hw_turned_fill(struct hw_row_blocks *blocks, const hw_shard_facts *whole, hw_bytes *pieces, uint32_t nodes,
                             hawser_error *error) HAWSER_MUST_USE;
/* After the last round: checks that all entries are there. */
hawser_status hw_turned_end(const struct hw_row_blocks *blocks, hawser_error *error) HAWSER_MUST_USE;

#endif
