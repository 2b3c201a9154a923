/*
 * shard.h - the part of a table that one server has: ranges of a dense table's keys, or a hash table of a sparse one's.
 *
 * No locks: whoever serves a shard does so one request at a time. Servers keep many shards, so that one that is hot holds up no other.
 */
#ifndef HW_STORE_SHARD_H
#define HW_STORE_SHARD_H

#include "store/table.h"

typedef struct hw_table_shard hw_table_shard;

/* What a row has: its values, what the function keeps beside them, its key. */
typedef enum hw_part { HW_PART_VALUES, HW_PART_MEMORY, HW_PART_KEYS } hw_part;

/* A dense shard has keys first..last (both included), all zeros; a sparse one has none yet. `spec` must outlive it. */
hawser_status hw_table_shard_new(const hw_table_spec *spec, uint64_t first, uint64_t last, hw_table_shard **shard,
                                 hawser_error *error) HAWSER_MUST_USE;
/* A dense shard whose rows lie where the caller says, all zeros; that memory stays his, and outlives the shard. memory: NULL where the table's
 * function keeps nothing. */
hawser_status hw_table_shard_over(const hw_table_spec *spec, uint64_t first, uint64_t last, void *values, double *memory,
                                  hw_table_shard **shard, hawser_error *error) HAWSER_MUST_USE;
void hw_table_shard_free(hw_table_shard *shard);
/* Such memory for `rows` rows, of several shards in one piece: large pages, where the processor looks up the most. Both are the caller's to free. */
hawser_status hw_table_shard_memory(const hw_table_spec *spec, uint64_t rows, void **values, double **memory,
                                    hawser_error *error) HAWSER_MUST_USE;

size_t hw_table_shard_keys(const hw_table_shard *shard); /* that exist */
/* How many of these keys a sparse shard does not have: of all calls the one that another thread may make beside any of one's own. */
size_t hw_table_shard_missing(hw_table_shard *shard, const uint64_t *keys, size_t count);
size_t hw_table_shard_bytes(const hw_table_shard *shard); /* of memory */

/* Values of keys[0..count), ascending, without repetitions, to `out` (count * width of the type); of a key that does not exist, zeros.
 * Keys of a dense shard are within it: the caller has checked that. */
void hw_table_shard_get(const hw_table_shard *shard, const uint64_t *keys, size_t count, void *out);
/* Where the values of a dense shard are from a key on; they stay there. */
const void *hw_table_shard_from(const hw_table_shard *shard, uint64_t first);
/* A dense shard's keys first..last. */
void hw_table_shard_get_range(const hw_table_shard *shard, uint64_t first, uint64_t last, void *out);

/* Applies the table's function: updates are count * width of the type. Keys that do not exist come into being as zeros first; when there is no
 * memory for all of those, HAWSER_NO_MEMORY and nothing has changed. NaN and infinity among the updates are the caller's to refuse; a number that they
 * would make NaN or infinite stays as it was, and its key is noted in *overflow. */
hawser_status hw_table_shard_apply(hw_table_shard *shard, const uint64_t *keys, size_t count, const void *updates,
                                   hw_overflow *overflow, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_table_shard_apply_range(hw_table_shard *shard, uint64_t first, uint64_t last, const void *updates,
                                         hw_overflow *overflow, hawser_error *error) HAWSER_MUST_USE;

/* The same for those keys from first to last of a dense shard that have a bit, `bits` beginning with that of the key `from`; how many they
 * are. */
size_t hw_table_shard_get_bits(const hw_table_shard *shard, uint64_t first, uint64_t last, const uint64_t *bits,
                               uint64_t from, void *out);
hawser_status hw_table_shard_apply_bits(hw_table_shard *shard, uint64_t first, uint64_t last, const uint64_t *bits,
                                        uint64_t from, const void *updates, size_t *count, hw_overflow *overflow,
                                        hawser_error *error) HAWSER_MUST_USE;

/* Where a key's values lie until the next change; NULL: it does not exist. */
const void *hw_table_shard_row(const hw_table_shard *shard, uint64_t key);
/* A part of up to `count` rows, as it lies, from a slot on (a dense shard's row; a sparse one's place in its index), which goes on behind them;
 * the number of rows. */
size_t hw_table_shard_take(const hw_table_shard *shard, size_t *at, size_t count, hw_part part, void *out);
/* Sets a row, made if need be; memory NULL: as new. */
hawser_status hw_table_shard_put(hw_table_shard *shard, uint64_t key, const void *values, const void *memory,
                                 hawser_error *error) HAWSER_MUST_USE;
/* Forgets all keys of a sparse shard; its memory stays for others. */
void hw_table_shard_clear(hw_table_shard *shard);
/* The same, and its memory goes back. */
void hw_table_shard_empty(hw_table_shard *shard);

/* All keys that exist, ascending (room for hw_table_shard_keys). */
void hw_table_shard_list(const hw_table_shard *shard, uint64_t *keys);

#endif
