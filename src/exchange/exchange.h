/*
 * exchange.h - how an update travels: cache and delta, filter, encoding, merge.
 *
 * A hw_replica is one block's copy of one replicated or partitioned state. It is a state machine: it is given clocks and
 * messages and gives back messages; it owns no thread, socket or clock. Its three vectors are
 *     base    what has been merged,
 *     cache   what units compute on: base + gain * own unsent delta,
 *     held    own delta that a filter holds back or rounding has left (absent without either).
 * Commit of a clock: delta = (cache - base) / gain, less nothing; what the filter passes goes out, the rest is held.
 */
#ifndef HW_EXCHANGE_EXCHANGE_H
#define HW_EXCHANGE_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/random.h"
#include "codec/narrow.h"
#include "consistency/consistency.h"
#include "exchange/adding.h"
#include "exchange/filters.h"
#include "hawser/hawser.h"
#include "history/record.h"
#include "transport/transport.h"

/* Accumulating filters: an entry is held for at most max_held clocks. quota: payload bytes per block, state and exchange (one clock,
 * its parts together); 0 = no limit. An entry first held in clock t goes out in clock t + max_held whatever the quota says. Values
 * (one writer) are not filtered. */
typedef struct hw_filter {
    hw_filter_kind kind;
    uint64_t quota;
    uint64_t max_held;
} hw_filter;

typedef struct hw_replica_spec {
    uint32_t state;   /* number in the plan, for envelopes */
    const char *name; /* for errors; outlives the replica */
    size_t count;     /* doubles */
    uint32_t block, blocks;
    bool values;               /* partitioned: the owner's range travels as values */
    size_t own_begin, own_end; /* partitioned: the owner's range */
    hawser_rule rule;          /* damping and gain already resolved (never 0) */
    hw_filter filter;
    hw_width
        rounding; /* HW_F64: none. Deltas go out rounded; what is left stays with the state and joins the entry's next delta */
    const double *initial;   /* count values or NULL */
    uint64_t seed;           /* for the random filter */
    uint32_t sources;        /* how many blocks update the state: 1 for a `one` unit, else blocks */
    uint32_t source;         /* with sources == 1: which; all clocks stand as its clock does, others' cuts say nothing */
    const hw_adding *adding; /* deltas of all blocks alone: who adds up what under BSP; NULL: nobody. Outlives the replica */
    hw_log *log;             /* the history's events of this replica; NULL: none are recorded. Outlives the replica */
} hw_replica_spec;

typedef struct hw_replica hw_replica;

/* What was done so far; cumulative. */
typedef struct hw_replica_figures {
    uint64_t entries_sent, entries_held; /* entries_held: summed over cuts, what each left behind */
    uint64_t payload_bytes, dense_messages, sparse_messages;
    uint64_t flushed_over_quota; /* entries sent although the quota was spent: too old, or flushed */
    uint64_t deferred;           /* clocks whose changes went out with those of a later one */
} hw_replica_figures;

hawser_status hw_replica_new(const hw_replica_spec *spec, hw_replica **replica, hawser_error *error) HAWSER_MUST_USE;
void hw_replica_free(hw_replica *replica);

double *hw_replica_cache(hw_replica *replica);            /* what units change */
const double *hw_replica_base(const hw_replica *replica); /* merged values */
/* The same, for the caller to free; the replica is of no use any more but to be freed. */
double *hw_replica_take_base(hw_replica *replica);
/* Only touched ranges, and what inc changed, are diffed this clock. A count of 0 says that inc tells it all. */
void hw_replica_touch(hw_replica *replica, size_t first, size_t count);
hawser_status hw_replica_inc(hw_replica *replica, const uint64_t *keys, const double *values, size_t count,
                             hawser_error *error) HAWSER_MUST_USE;
void hw_replica_set_gain(hw_replica *replica, double gain); /* from the next clock on; cache is re-formed */
double hw_replica_gain(const hw_replica *replica);

/* Lets go of what is held, where the state is rebuilt next: before hw_replica_end. */
void hw_replica_forget_held(hw_replica *replica);

/* Starts a loop (or unit) epoch: clock tables at zero, filters' ages at zero. Nothing may be parked or held. */
void hw_replica_begin(hw_replica *replica, uint64_t epoch, hw_policy policy);

/* Cuts own changes of `clock` into one message (a part; the last one when `last`), or *message = NULL when there is nothing to say
 * and it is not the last part, or nobody to say it to (one block, or another is the one source). The envelope's loop is the
 * caller's to fill. flush: send everything, held parts too, whatever the quota. The cut delta counts as this block's
 * own update: parked under BSP until the clock is merged, applied at once (with damping) under SSP and TAP. NaN or infinity is
 * HAWSER_NOT_FINITE and names state, block and entry. Where it goes to stands in the envelope's destination: HW_TO_BLOCKS, all other
 * blocks, unless somebody adds up first (adding.h). */
hawser_status hw_replica_cut(hw_replica *replica, uint64_t clock, bool last, bool flush, hw_message **message,
                             hawser_error *error) HAWSER_MUST_USE;

/* Coalescing, under SSP and TAP: instead of a cut, leaves own changes of `clock` unsent, to go out with the next cut (whose span says so);
 * to be asked where the way to the others is busy. False where it must be cut: no more than `most` clocks may wait, and under SSP none
 * that somebody may need before the next is done; a filter has its own way of sending less. A tied local state is not committed then. */
bool hw_replica_defer(hw_replica *replica, uint64_t clock, bool last, uint32_t most);
uint32_t hw_replica_deferred(const hw_replica *replica); /* clocks that wait */
/* Cuts what was deferred, between clocks: before the block waits for anything. *message = NULL when there is nothing. */
hawser_status hw_replica_cut_deferred(hw_replica *replica, hw_message **message, hawser_error *error) HAWSER_MUST_USE;

/* Takes an update message (of any block but the own) and frees it, now or later: applied at once, or parked until its clock is
 * merged. One of an epoch that has not begun here is kept until it does. Refused: wrong state, source, form, an epoch that is
 * over, a length or index that does not fit, a number that is not finite, a repeated or missing part. */
hawser_status hw_replica_accept(hw_replica *replica, hw_message *message, hawser_error *error) HAWSER_MUST_USE;

/* What is to be sent besides, because of what was cut or accepted: sums, and updates on their way. NULL: nothing; the destination
 * says where to. Ask after each cut and accept until there is nothing. */
hw_message *hw_replica_next(hw_replica *replica);

/* How many complete clocks of each block are in (applied or, under BSP, parked): what admit_read looks at. */
const hw_clock_table *hw_replica_clocks(const hw_replica *replica);

/* Makes the replica ready for the unit to run `clock` (needed before each clock but the first, also where no unit runs and only a
 * flush is cut): under BSP merges the parked deltas of all earlier clocks in the canonical
 * order (hw_range_sum) and sets cache = base + gain * held; under SSP and TAP folds what was applied into the cache. The caller has
 * seen hw_admit_read. */
hawser_status hw_replica_merge(hw_replica *replica, uint64_t clock, hawser_error *error) HAWSER_MUST_USE;

/* Ends an epoch: every block's clocks < `clocks` are in and nothing is held (the last cut flushed); merges the rest, so that all
 * replicas hold the same base up to rounding (the same bits under BSP). */
hawser_status hw_replica_end(hw_replica *replica, uint64_t clocks, hawser_error *error) HAWSER_MUST_USE;

/* Rollback: forgets what the unit did since the last cut. */
void hw_replica_rollback(hw_replica *replica);

/* A derived state's rebuild: zero takes base and cache to 0, then a normal clock of deltas with damping 1 and gain 1 rebuilds it. */
void hw_replica_zero(hw_replica *replica);
/* Uses (damping, gain) = (1, 1) until called with false: for rebuilds and metrics. */
void hw_replica_plain(hw_replica *replica, bool plain);

const hw_replica_figures *hw_replica_figures_of(const hw_replica *replica);

/* Packs entries [begin, end) of a state of n doubles, all of which `values` has: dense or (index, value) pairs, whichever is smaller;
 * exact for every bit pattern, -0.0 included. */
hawser_status hw_encode_range(const double *values, size_t begin, size_t end, size_t n, hw_message **message,
                              hawser_error *error) HAWSER_MUST_USE;
/* A tied local state: copy and working values; commit makes copy += damping * (work - copy) and work = copy. */
void hw_tied_commit(double *copy, double *work, size_t count, double damping);

#endif
