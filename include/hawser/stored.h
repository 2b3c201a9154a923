/*
 * stored.h - what a unit does with stored states, which the store keeps on the servers of the nodes: it reads chunks or
 * prefetched numbers, and adds to numbers by keys. hawser_inc is for replicated states, too.
 */
#ifndef HAWSER_STORED_H
#define HAWSER_STORED_H

#include "hawser/hawser.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Syncs for loops that update no replicated and no partitioned states, besides the usual ones. hawser_delay is bounded
 *  delay (Li et al. 2014): as SSP, but a clock's chunks are requested while the clock before it is computed. hawser_centric
 *  is data-centric (Goel et al. 2015): chunks wait for each other one by one, without a barrier; a block in clock t reads
 *  versions t - delta to t + delta. docs/guarantees.md compares them. */
static inline hawser_sync hawser_delay(uint32_t tau)
{
    hawser_sync sync = {tau ? HAWSER_DELAY : HAWSER_BSP, tau};
    return sync;
}
static inline hawser_sync hawser_centric(uint32_t delta)
{
    hawser_sync sync = {HAWSER_CENTRIC, delta};
    return sync;
}

/** Adds values[i] to state[keys[i]] (through the gain) in a replicated state. In a stored state, applies the state's
 *  function to the values; keys must ascend, and the clock ends only when the store has all values. `values` is a `const
 *  double *` or the like, of the state's type. */
#define hawser_inc(context, state, keys, values, count)                                                                     \
    hawser_inc_as((context), (state), (keys), HAWSER_TYPE_OF(values), (values), (count))
HAWSER_API hawser_status hawser_inc_as(hawser_context *context, const char *state, const uint64_t *keys, hawser_type type,
                                       const void *values, size_t count) HAWSER_MUST_USE;

/** A block's share of a stored state, as read. */
typedef struct hawser_chunk {
    uint32_t block;      /**< the block that owns it; UINT32_MAX: there are no more chunks */
    size_t first, count; /**< range of indices in the whole state */
    hawser_type type;    /**< of the numbers */
    /** The numbers, of `type`: const double *x = chunk.values. Valid until the next hawser_next_chunk of this state and
     *  until the unit returns. Of the own share of a state with one writer, what hawser_write gives */
    const void *values;
} hawser_chunk;
/** Returns the chunks of a stored state that this unit reads, each once, in the order in which the loop's sync admits them.
 *  Blocks until the next chunk is available; skips empty shares. The next call for the same state reuses the memory of the
 *  chunk, so a unit works on a chunk at once or copies it. A block has the chunk in use in memory, and has requested 4 MiB
 *  of chunks at most besides it, or two chunks if they are larger; under bounded delay twice that. Sums over chunks in the
 *  order of chunk->block have the same bits under bsp and dc:0 as with one thread. Returns HAWSER_OK, or the status that
 *  the unit must return at once. */
HAWSER_API hawser_status hawser_next_chunk(hawser_context *context, const char *state, hawser_chunk *chunk) HAWSER_MUST_USE;
/** Starts an asynchronous read of a stored state: of the `keys` (ascending, distinct, copied), or, if keys is NULL, of
 *  `count` numbers from `first` on. Does not block. At most 64 reads may be outstanding. A read that is started in one
 *  clock and taken in a later one is only as fresh as the clock that started it. Under BSP and data-centric sync,
 *  outstanding reads are dropped at the end of the clock. */
HAWSER_API hawser_status hawser_prefetch(hawser_context *context, const char *state, const uint64_t *keys, size_t first,
                                         size_t count) HAWSER_MUST_USE;
/** Waits for the oldest hawser_prefetch and stores a pointer to its values in *values, a `const double **` or the like.
 *  They are in the order of its keys, and valid until the next hawser_prefetch_wait. */
#define hawser_prefetch_wait(context, state, values)                                                                        \
    hawser_prefetch_wait_as((context), (state), HAWSER_TYPE_READ(values), (values))
HAWSER_API hawser_status hawser_prefetch_wait_as(hawser_context *context, const char *state, hawser_type type,
                                                 void *values) HAWSER_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
