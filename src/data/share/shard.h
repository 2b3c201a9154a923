/*
 * shard.h - an input of which every node has read some rows and needs some columns.
 *
 * A node reads its rows (hawser_load.part), reports what it found, and sends each other node the entries of that node's
 * columns. The resulting dataset looks whole on every node: sizes, offsets, target, weights and names are those of the
 * whole. Of the entries only those of own columns are present, and others after they were fetched. The arrays cover the
 * whole in address space, but only written pages take memory. All functions are pure, bytes in and bytes out; the caller
 * sends them.
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

/* Combines the facts of all nodes. If the nodes guessed different index bases, the smaller one is used; formats, types and
 * the presence of a target must be equal. */
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

/* A part of the rows that each node has read: of n rows those from n * number / count to n * (number + 1) / count. With
 * several rounds little is in flight at a time, and rows that were sent can be released. */
typedef struct hw_shard_round {
    uint32_t number, count;
} hw_shard_round;

static inline uint64_t hw_round_begin(hw_shard_round round, uint64_t rows)
{
    return rows / round.count * round.number + rows % round.count * round.number / round.count;
}

static inline uint64_t hw_round_end(hw_shard_round round, uint64_t rows)
{
    return hw_round_begin((hw_shard_round){round.number + 1, round.count}, rows);
}

/* Packs for each node the entries of its columns in a round of these rows. Owners name the node of a column. pieces has one
 * item per node; the caller frees them. Dense rows likewise, in either layout. Scattered entries have one round. */
hawser_status hw_shard_pack(const hawser_dataset *rows, const hw_shard_facts *whole, const hw_owners *owners,
                            hw_shard_round round, uint32_t nodes, hw_bytes *pieces, hawser_error *error) HAWSER_MUST_USE;
/* Gives the memory of the rows of a round back to the system, where it belongs to the dataset. Their values are lost;
 * hw_dataset_free frees the arrays. */
void hw_shard_release(const hawser_dataset *rows, hw_shard_round round);

/* Where the next entries of own columns of sparse data are stored. With several rounds, each node's entries of a column have
 * a place of their own, so that they end in the order of the rows. */
typedef struct hw_shard_places {
    uint32_t nodes; /* 1: the nodes' entries follow each other */
    size_t own;     /* columns of this node */
    uint32_t *rank; /* of each column: its number among own ones; UINT32_MAX: it is another node's */
    uint64_t *next; /* nodes x own */
} hw_shard_places;

/* Packs for each node how many entries its columns have in the rows of this node. */
hawser_status hw_shard_pack_counts(const uint64_t *counts, const hw_shard_facts *whole, const hw_owners *owners,
                                   uint32_t nodes, hw_bytes *pieces, hawser_error *error) HAWSER_MUST_USE;
/* Makes the places. pieces: the counts of all nodes; NULL: there is one round. */
hawser_status hw_shard_places_new(const hw_shard_facts *whole, const uint64_t *offsets, const hw_owners *owners,
                                  uint32_t self, const hw_bytes *pieces, uint32_t nodes, hw_shard_places *places,
                                  hawser_error *error) HAWSER_MUST_USE;
/* Returns whether all entries of own columns have been stored. */
bool hw_shard_is_filled(const hw_shard_places *places, const uint64_t *offsets);
void hw_shard_places_free(hw_shard_places *places);

/* Returns the figures that follow from the facts. */
hawser_load_figures hw_shard_figures(const hw_shard_facts *whole);
/* Makes a dataset of the whole's shape without entries; it takes over offsets (cols + 1, NULL if dense). */
hawser_status hw_shard_new(const hw_shard_facts *whole, uint64_t *offsets, hawser_dataset **dataset,
                           hawser_error *error) HAWSER_MUST_USE;
/* Stores the entries of own columns of a round. Pieces come from all nodes, of which node i has read all[i]; each is freed
 * after use. places: of sparse data. Refuses data that do not fit. */
hawser_status hw_shard_fill(hawser_dataset *dataset, const hw_shard_facts *whole, const hw_shard_facts *all,
                            const hw_owners *owners, hw_shard_round round, uint32_t self, hw_shard_places *places,
                            hw_bytes *pieces, uint32_t nodes, hawser_error *error) HAWSER_MUST_USE;

/* Stores the entries of own columns from rows that are all of the whole, in either dense layout or CSR. */
hawser_status hw_shard_take(hawser_dataset *dataset, const hawser_dataset *rows, const hw_owners *owners, uint32_t self,
                            hawser_error *error) HAWSER_MUST_USE;

/* For scattered entries: sorts own columns, and refuses entries that occur twice. `name` is the input's. */
hawser_status hw_shard_sort(hawser_dataset *dataset, const hw_owners *owners, uint32_t self, const char *name,
                            hawser_error *error) HAWSER_MUST_USE;
/* Replaces NaN in own columns, which marks missing values, with the mean of the column, and sets means[j] of own columns.
 * `name` is the input's. */
hawser_status hw_shard_means(hawser_dataset *dataset, const hw_owners *owners, uint32_t self, const char *name,
                             double *means, hawser_error *error) HAWSER_MUST_USE;

/* Assembles target, weights, offset or groups: the values of all rows in order, from the nodes' parts. */
hawser_status hw_shard_vector(hawser_dataset *dataset, const hw_bytes *pieces, uint32_t nodes, const double **out,
                              hawser_error *error) HAWSER_MUST_USE;

#endif
