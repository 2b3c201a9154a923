/*
 * shard.h - an input of which every node has read some rows and needs some columns.
 *
 * A node reads its rows (hawser_load.part), says what it found, and sends each other node the entries of the columns that are that
 * node's. What comes of it is a dataset that looks whole everywhere: sizes, offsets, target, weights and names are of the whole; of
 * the entries only those of own columns are there, and others as they are fetched. The arrays reach over the whole in address space
 * and only what is written takes memory. All functions are pure: bytes out, bytes in; who carries them is not known here.
 */
#ifndef HW_DATA_SHARD_H
#define HW_DATA_SHARD_H

#include "base/memory.h"
#include "data/dataset.h"
#include "data/owners.h"

/* What a node says of the rows that it has read. */
typedef struct hw_shard_facts {
    uint64_t rows, cols, stored;
    uint64_t unseen_entries, unseen_columns, rows_dropped, bytes_read, bytes_text;
    int32_t index_base;
    uint32_t base_guessed, format, layout, type;
    uint32_t has_target, has_weights, has_offset;
    uint32_t scattered;     /* as in the dataset: rows are those of the whole everywhere */
    uint32_t symmetric;     /* of an array that is scattered */
    uint64_t target_column; /* as in the figures */
    uint64_t declared, found;
} hw_shard_facts;

hw_shard_facts hw_shard_facts_of(const hawser_dataset *rows);

/* The facts of all nodes together. Nodes that guessed other index bases agree on the smaller; formats, types and the presence of a target
 * have to be the same. */
hawser_status hw_shard_agree(const hw_shard_facts *facts, uint32_t nodes, hw_shard_facts *whole,
                             hawser_error *error) HAWSER_MUST_USE;

/* Refuses an input of which the nodes have not read as many entries as its head promises. `name` is the input's. */
hawser_status hw_shard_complete(const hw_shard_facts *whole, const char *name, hawser_error *error) HAWSER_MUST_USE;
/* Whether values may be missing in the input's format. */
bool hw_shard_lacks_values(const hw_shard_facts *whole);

/* How many of the entries that the head promises were found by the nodes in front of `node`. */
uint64_t hw_shard_before(const hw_shard_facts *facts, uint32_t node);

/* Entries per column of the rows read here, in the whole's numbering; counts has whole->cols zeroed items. */
void hw_shard_count(const hawser_dataset *rows, const hw_shard_facts *whole, uint64_t *counts);

/* What of these rows goes to each node: Owners say which. pieces has room for all nodes; the caller frees them. Dense
 * rows likewise. */
hawser_status hw_shard_pack(const hawser_dataset *rows, const hw_shard_facts *whole, const hw_owners *owners, uint32_t nodes,
                            hw_bytes *pieces, hawser_error *error) HAWSER_MUST_USE;

/* A dataset of the whole's shape without entries: offsets become its own (cols + 1, NULL when dense). */
hawser_status hw_shard_new(const hw_shard_facts *whole, uint64_t *offsets, hawser_dataset **dataset,
                           hawser_error *error) HAWSER_MUST_USE;
/* Puts the entries of own columns in; pieces come from all nodes in the order of their rows, and each is freed once it was put in.
 * Refuses what does not fit. */
hawser_status hw_shard_fill(hawser_dataset *dataset, const hw_shard_facts *whole, const hw_owners *owners, uint32_t self,
                            hw_bytes *pieces, uint32_t nodes, hawser_error *error) HAWSER_MUST_USE;

/* Of what was scattered: sorts own columns, and refuses what is there twice. `name` is the input's. */
hawser_status hw_shard_sort(hawser_dataset *dataset, const hw_owners *owners, uint32_t self, const char *name,
                            hawser_error *error) HAWSER_MUST_USE;
/* NaN in own columns, which stands for missing values, becomes the mean of the column; means[j] of own columns are set. `name` is the input's. */
hawser_status hw_shard_means(hawser_dataset *dataset, const hw_owners *owners, uint32_t self, const char *name,
                             double *means, hawser_error *error) HAWSER_MUST_USE;

/* One of target, weights, offset: all rows' values in order, from the nodes' parts. */
hawser_status hw_shard_vector(hawser_dataset *dataset, const hw_bytes *pieces, uint32_t nodes, const double **out,
                              hawser_error *error) HAWSER_MUST_USE;

#endif
