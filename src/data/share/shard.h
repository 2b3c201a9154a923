/*
 * shard.h - an input of which every node has read some rows and needs some columns.
 *
 * A node reads its rows (hawser_load.part), reports what it found, and sends each other node the entries of that node's columns. The
 * resulting dataset looks whole on every node: sizes, offsets, target, weights and names are those of the whole. Of the entries only those
 * of own columns are present, and others after they were fetched. The arrays cover the whole in address space, but only written pages take
 * memory. All functions are pure, bytes in and bytes out; the caller sends them.
 */
#ifndef HW_DATA_SHARD_H
#define HW_DATA_SHARD_H

#include "base/memory.h"
#include "data/dataset.h"
#include "data/owners.h"

/* What a node reports about the rows that it has read. */
typedef struct hw_shard_facts {
    uint64_t rows, cols, stored;
    uint64_t unseen_entries, unseen_columns, rows_dropped, bytes_read, bytes_text;
    int32_t index_base;
    uint32_t base_guessed, format, layout, type;
    uint32_t has_target, has_weights, has_offset, has_groups, further;
    uint32_t scattered;     /* as in the dataset: rows are those of the whole everywhere */
    uint32_t symmetric;     /* of an array that is scattered */
    uint64_t target_column; /* as in the figures */
    uint32_t format_assumed;
    int32_t header_guessed;
    uint64_t declared, found;
} hw_shard_facts;

hw_shard_facts hw_shard_facts_of(const hawser_dataset *rows);

/* Combines the facts of all nodes. If the nodes guessed different index bases, the smaller one is used; formats, types and the presence of
 * a target must be equal. */
hawser_status hw_shard_agree(const hw_shard_facts *facts, uint32_t nodes, hw_shard_facts *whole,
                             hawser_error *error) HAWSER_MUST_USE;

/* Refuses an input if the entries that the nodes have read differ from the number in its head. `name` is the input's. */
hawser_status hw_shard_complete(const hw_shard_facts *whole, const char *name, hawser_error *error) HAWSER_MUST_USE;
/* Returns whether values may be missing in the input's format. */
bool hw_shard_lacks_values(const hw_shard_facts *whole);

/* Returns how many of the entries that the head declares were found by the nodes before `node`. */
uint64_t hw_shard_before(const hw_shard_facts *facts, uint32_t node);

/* Counts the entries per column of the rows read here, in the whole's numbering; counts has whole->cols zeroed items. */
void hw_shard_count(const hawser_dataset *rows, const hw_shard_facts *whole, uint64_t *counts);

/* A share of the columns: each run of `run` columns, which may be one line of the processor's cache, is in one of `count` rounds. With several rounds little
 * is in flight at a time, while the rows stay. */
typedef struct hw_shard_round {
    uint32_t number, count, run;
} hw_shard_round;

static inline bool hw_in_round(hw_shard_round round, size_t column)
{
    return column / round.run % round.count == round.number;
}

/* Packs for each node the entries of its columns of a round in these rows. Owners name the node of a column. pieces has one item per node; the
 * caller frees them. Dense rows likewise, in either layout. Scattered entries have one round. */
hawser_status hw_shard_pack(const hawser_dataset *rows, const hw_shard_facts *whole, const hw_owners *owners,
                            hw_shard_round round, uint32_t nodes, hw_bytes *pieces, hawser_error *error) HAWSER_MUST_USE;

/* Returns the figures that follow from the facts. */
hawser_load_figures hw_shard_figures(const hw_shard_facts *whole);
/* Makes a dataset of the whole's shape without entries; it takes over offsets (cols + 1, NULL if dense). */
hawser_status hw_shard_new(const hw_shard_facts *whole, uint64_t *offsets, hawser_dataset **dataset,
                           hawser_error *error) HAWSER_MUST_USE;
/* Stores the entries of own columns of a round. Pieces come from all nodes in the order of their rows; each is freed after use. Refuses data that do
 * not fit. */
hawser_status hw_shard_fill(hawser_dataset *dataset, const hw_shard_facts *whole, const hw_owners *owners,
                            hw_shard_round round, uint32_t self, hw_bytes *pieces, uint32_t nodes,
                            hawser_error *error) HAWSER_MUST_USE;

/* Stores the entries of own columns from rows that are all of the whole, in either dense layout or CSR. */
hawser_status hw_shard_take(hawser_dataset *dataset, const hawser_dataset *rows, const hw_owners *owners, uint32_t self,
                            hawser_error *error) HAWSER_MUST_USE;

/* For scattered entries: sorts own columns, and refuses entries that occur twice. `name` is the input's. */
hawser_status hw_shard_sort(hawser_dataset *dataset, const hw_owners *owners, uint32_t self, const char *name,
                            hawser_error *error) HAWSER_MUST_USE;
/* Replaces NaN in own columns, which marks missing values, with the mean of the column, and sets means[j] of own columns. `name` is the
 * input's. */
hawser_status hw_shard_means(hawser_dataset *dataset, const hw_owners *owners, uint32_t self, const char *name,
                             double *means, hawser_error *error) HAWSER_MUST_USE;

/* Assembles target, weights, offset or groups: the values of all rows in order, from the nodes' parts. */
hawser_status hw_shard_vector(hawser_dataset *dataset, const hw_bytes *pieces, uint32_t nodes, const double **out,
                              hawser_error *error) HAWSER_MUST_USE;

#endif
