/*
 * shard.h - the part of a table that one server has: ranges of a dense table's keys, or a hash table of a sparse one's.
 *
 * Shards have no locks: their server works on each for one request at a time. Servers keep many shards, so that a hot one
 * delays no other.
 */
#ifndef HW_STORE_SHARD_H
#define HW_STORE_SHARD_H

#include "store/table.h"

typedef struct hw_table_shard hw_table_shard;

/* The parts of a row: its values, the function's memory, its key. */
typedef enum hw_part { HW_PART_VALUES, HW_PART_MEMORY, HW_PART_KEYS } hw_part;

/* Makes a shard. A dense one has the keys first..last (both included), all zero; a sparse one is empty. `spec` must outlive
 * it. */
hawser_status hw_table_shard_new(const hw_table_spec *spec, uint64_t first, uint64_t last, hw_table_shard **shard,
                                 hawser_error *error) HAWSER_MUST_USE;
/* Makes a dense shard over the caller's memory, which must be zero and outlive the shard. memory: NULL if the table's
 * function has none. */
hawser_status hw_table_shard_over(const hw_table_spec *spec, uint64_t first, uint64_t last, void *values, double *memory,
                                  hw_table_shard **shard, hawser_error *error) HAWSER_MUST_USE;
void hw_table_shard_free(hw_table_shard *shard);
/* Allocates such memory for `rows` rows of several shards as one piece, in large pages, which cost the processor fewer
 * look-ups. The caller frees both. */
hawser_status hw_table_shard_memory(const hw_table_spec *spec, uint64_t rows, void **values, double **memory,
                                    hawser_error *error) HAWSER_MUST_USE;

size_t hw_table_shard_keys(const hw_table_shard *shard); /* that exist */
/* Returns how many of these keys a sparse shard lacks. The only function that another thread may call meanwhile. */
size_t hw_table_shard_missing(hw_table_shard *shard, const uint64_t *keys, size_t count);
size_t hw_table_shard_bytes(const hw_table_shard *shard); /* of memory */

/* Copies the values of keys[0..count), ascending and distinct, to `out` (count * width of the type); zeros for keys that do
 * not exist. Keys of a dense shard must be within it. */
void hw_table_shard_get(const hw_table_shard *shard, const uint64_t *keys, size_t count, void *out);
/* Returns a pointer to the values of a dense shard from a key on; they do not move. */
const void *hw_table_shard_from(const hw_table_shard *shard, uint64_t first);
/* Copies the values of a dense shard's keys first..last. */
void hw_table_shard_get_range(const hw_table_shard *shard, uint64_t first, uint64_t last, void *out);

/* Copies, and sets, what the function remembers of a dense shard's keys first..last. */
void hw_table_shard_get_memory(const hw_table_shard *shard, uint64_t first, uint64_t last, void *out);
void hw_table_shard_set_memory(hw_table_shard *shard, uint64_t first, uint64_t last, const void *memory);

/* Applies the table's function to updates of count * width of the type. Keys that do not exist are made first, as zeros.
 * HAWSER_NO_MEMORY: there is no memory for all of them, and nothing has changed. The caller refuses updates with NaN or
 * infinity. A number that an update would make NaN or infinite keeps its value, and its key is recorded in *overflow. */
hawser_status hw_table_shard_apply(hw_table_shard *shard, const uint64_t *keys, size_t count, const void *updates,
                                   hw_overflow *overflow, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_table_shard_apply_range(hw_table_shard *shard, uint64_t first, uint64_t last, const void *updates,
                                         hw_overflow *overflow, hawser_error *error) HAWSER_MUST_USE;

/* The next two copy and update the keys from first to last of a dense shard that have a bit. `bits` begins with the bit of
 * the key `from`. They return the number of these keys, or store it in *count. */
size_t hw_table_shard_get_bits(const hw_table_shard *shard, uint64_t first, uint64_t last, const uint64_t *bits,
                               uint64_t from, void *out);
hawser_status hw_table_shard_apply_bits(hw_table_shard *shard, uint64_t first, uint64_t last, const uint64_t *bits,
                                        uint64_t from, const void *updates, size_t *count, hw_overflow *overflow,
                                        hawser_error *error) HAWSER_MUST_USE;

/* Returns a key's values, valid until the next change; NULL: the key does not exist. */
const void *hw_table_shard_row(const hw_table_shard *shard, uint64_t key);
/* Copies a part of up to `count` rows, from slot *at on (the row of a dense shard, the place in the index of a sparse one),
 * and advances *at. Returns the number of rows. */
size_t hw_table_shard_take(const hw_table_shard *shard, size_t *at, size_t count, hw_part part, void *out);
/* Sets a row and makes it if necessary; memory NULL: resets the memory. */
hawser_status hw_table_shard_put(hw_table_shard *shard, uint64_t key, const void *values, const void *memory,
                                 hawser_error *error) HAWSER_MUST_USE;
/* Removes all keys of a sparse shard and keeps its memory for others. */
void hw_table_shard_clear(hw_table_shard *shard);
/* Removes all keys of a sparse shard and frees its memory. */
void hw_table_shard_empty(hw_table_shard *shard);

/* Lists all keys that exist, ascending; `keys` has space for hw_table_shard_keys. */
void hw_table_shard_list(const hw_table_shard *shard, uint64_t *keys);

#endif
