/*
 * exchange.h - how updates are exchanged: cache and delta, filter, encoding, merge.
 *
 * A hw_replica is one block's copy of one replicated or partitioned state. It is a state machine: it takes clocks and
 * messages and returns messages; it owns no thread, socket or clock. Its three vectors are
 *     base    the merged values,
 *     cache   the values that units compute on: base + gain * own unsent delta,
 *     held    own delta that a filter holds back or rounding has left (absent without either).
 * All have the state's type, and are added up in it (numbers.h). An integer that overflows is an error (HAWSER_NOT_FINITE):
 * at the cut, at a node of the canonical tree, or when a sum is added to the state. Integers have no gain, damping, merge
 * function, rounding or relative filter. A cut of a clock computes delta = (cache - base) / gain. It sends the entries that
 * the filter selects and holds the others.
 */
#ifndef HW_EXCHANGE_EXCHANGE_H
#define HW_EXCHANGE_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/random.h"
#include "codec/narrow.h"
#include "consistency/consistency.h"
#include "exchange/adding.h"
#include "exchange/filters.h"
#include "hawser/cocoa.h"
#include "hawser/hawser.h"
#include "hawser/record.h"
#include "history/record.h"
#include "transport/transport.h"

/* An accumulating filter. `quota` counts payload bytes per block, state and exchange (one clock, all its parts together); 0
 * is no limit. An entry that is first held in clock t is sent in clock t + max_held even if the quota is spent. Values (one
 * writer) are not filtered. */
typedef struct hw_filter {
    hw_filter_kind kind;
    uint64_t quota;
    uint64_t max_held;
} hw_filter;

/* Returns whether relays may add up updates of a state under SSP and TAP (combined.h): merge functions of the program and
 * filters get single ones. */
static inline bool hw_may_combine(const hawser_rule *rule, hw_filter filter)
{
    return rule->merge == NULL && (filter.kind == HW_FILTER_NONE || filter.quota == 0);
}

typedef struct hw_replica_spec {
    uint32_t state;   /* number in the plan, for envelopes */
    const char *name; /* for errors; outlives the replica */
    hawser_type type;
    size_t count;
    uint32_t block, blocks;
    bool values;               /* partitioned: the owner sends its range as values */
    size_t own_begin, own_end; /* partitioned: the owner's range */
    hawser_rule rule;          /* damping and gain already resolved (never 0) */
    hw_filter filter;
    hw_width rounding; /* HW_F64: none. Deltas are sent rounded; the remainder is held and added to the entry's next delta */
    bool narrows;      /* the rounding may change (hw_replica_set_rounding) */
    const void *initial;     /* count values or NULL */
    uint64_t seed;           /* for the random filter */
    uint32_t sources;        /* how many blocks update the state: 1 if one block makes all updates, else blocks */
    uint32_t source;         /* with sources == 1: that block; its clock counts for all blocks, whose own cuts are empty */
    const hw_adding *adding; /* under BSP: which updates this block adds up; NULL: none. Outlives the replica */
    hw_log *log;             /* the history's events of this replica; NULL: none are recorded. Outlives the replica */
} hw_replica_spec;

typedef struct hw_replica hw_replica;

/* Counters since the replica was made. */
typedef struct hw_replica_figures {
    uint64_t entries_sent, entries_held; /* entries_held: the held entries after each cut, summed over cuts */
    uint64_t payload_bytes, dense_messages, sparse_messages;
    uint64_t flushed_over_quota; /* entries sent although the quota was spent: too old, or flushed */
    uint64_t deferred;           /* clocks whose changes were sent with those of a later clock */
} hw_replica_figures;

hawser_status hw_replica_new(const hw_replica_spec *spec, hw_replica **replica, hawser_error *error) HAWSER_MUST_USE;
void hw_replica_free(hw_replica *replica);

void *hw_replica_cache(hw_replica *replica);            /* what units change */
const void *hw_replica_base(const hw_replica *replica); /* merged values */
/* Stores the first values, before the first epoch, instead of spec.initial. */
void hw_replica_fill(hw_replica *replica, const void *initial);
/* Frees the memory that grows with the state, after the last epoch; with `keep` all but the merged values. */
void hw_replica_retire(hw_replica *replica, bool keep);
/* Returns the merged values, which the caller frees. The replica may only be freed after it. */
void *hw_replica_take_base(hw_replica *replica);
/* Restricts the next cut to touched ranges and to the entries that hw_replica_inc changed. A count of 0 touches no range. */
void hw_replica_touch(hw_replica *replica, size_t first, size_t count);
hawser_status hw_replica_inc(hw_replica *replica, const uint64_t *keys, const void *values, size_t count,
                             hawser_error *error) HAWSER_MUST_USE;
/* Changes the quota of a filter that has one, from the next cut on. */
void hw_replica_set_quota(hw_replica *replica, uint64_t quota);
/* Changes the rounding of a replica that `narrows`, from the next cut on. */
void hw_replica_set_rounding(hw_replica *replica, hw_width rounding);
void hw_replica_set_gain(hw_replica *replica, double gain); /* takes effect at the next clock, which recomputes the cache */
/* Return the gain and the damping of the exchange in progress. Both are 1 if one block alone updates the state in it. With
 * one block the damping is 1. */
double hw_replica_gain(const hw_replica *replica);
double hw_replica_damping(const hw_replica *replica);

/* Sets `held` to zero, for a state that is rebuilt next. Call it before hw_replica_end. */
void hw_replica_forget_held(hw_replica *replica);

/* Starts the epoch of a loop or unit, with all clocks at zero. Nothing may be parked or held. */
void hw_replica_begin(hw_replica *replica, uint64_t epoch, hw_policy policy);
/* How the units of an epoch use the state. One bit per stage of a clock. */
typedef struct hw_stages {
    uint64_t updates; /* stages that update the state; at least one */
    uint64_t reads;   /* stages that read it, for the history */
    /* Of `updates`: stages in which one block alone updates it. There is no sum of several updates, so the update is exact:
     * no damping, no gain and no merge function. */
    uint64_t exact;
    uint32_t source; /* the block that makes all updates of the epoch, which it then sends as values; UINT32_MAX: several */
} hw_stages;
/* Starts the epoch of a loop whose units update the state in several stages of each clock. Each stage that updates it is an
 * exchange of its own. In all other functions "clock" is then the number of the exchange (hw_exchange_of). The policy's
 * staleness and max_held still count the loop's clocks. With `exchange` above 0 the epoch goes on before that exchange: all
 * blocks have merged those before it, and hw_replica_remember has read the values. */
void hw_replica_begin_stages(hw_replica *replica, uint64_t epoch, hw_policy policy, const hw_stages *stages,
                             uint64_t exchange);
/* Returns the number of exchanges of a state before a stage of a clock. */
static inline uint64_t hw_exchange_of(uint64_t updates, uint64_t clock, uint32_t stage)
{
    if (updates == 1) /* by far the most frequent case */
        return clock + (stage > 0);
    return clock * hw_bits_set(updates) + hw_bits_set_below(updates, stage);
}
/* Returns `policy`, whose staleness counts clocks, with one that counts the exchanges of this epoch. */
hw_policy hw_replica_scaled(const hw_replica *replica, hw_policy policy);
/* Says after hw_replica_begin that blocks wait for this state before a stage by a stricter policy than that of the epoch,
 * whose staleness counts clocks. So fewer clocks are deferred. */
void hw_replica_expect_wait(hw_replica *replica, uint32_t stage, hw_policy policy);
/* Returns the policy of a replica, whose staleness counts exchanges. */
hw_policy hw_replica_policy(const hw_replica *replica);

/* Cuts the block's own changes of `clock` into one message, a part of the clock's update (the last part if `last`). *message
 * is NULL if a part that is not the last would be empty, or if there is no receiver: with one block, or if another block is
 * the only source. `flush` sends everything, held entries too, regardless of the quota.
 *
 * The cut delta is also this block's own update: parked under BSP until the clock is merged, applied at once (with damping)
 * under SSP and TAP. The envelope's destination is HW_TO_BLOCKS, all other blocks, unless a block adds up first (adding.h).
 * The caller sets the envelope's loop. Returns HAWSER_NOT_FINITE for NaN or infinity, with the names of state, block and
 * entry. */
hawser_status hw_replica_cut(hw_replica *replica, uint64_t clock, bool last, bool flush, hw_message **message,
                             hawser_error *error) HAWSER_MUST_USE;

/* Coalesces under SSP and TAP: leaves own changes of `clock` unsent, so that the next cut sends them too (its span counts
 * such clocks). To be called instead of a cut while many bytes wait to be sent. Returns false if the clock must be cut: if
 * `most` clocks wait already, under SSP if a block may need the clock before the next one is cut, and with a filter. After
 * true, a tied local state is not committed. */
bool hw_replica_defer(hw_replica *replica, uint64_t clock, bool last, uint32_t most);
uint32_t hw_replica_deferred(const hw_replica *replica); /* clocks that wait */
/* Cuts the deferred clocks, between clocks, before the block waits for anything. *message is NULL if none was deferred. */
hawser_status hw_replica_cut_deferred(hw_replica *replica, hw_message **message, hawser_error *error) HAWSER_MUST_USE;

/* Takes an update message of another block and frees it, now or later. The update is applied at once, or parked until its
 * clock is merged; an update of an epoch that has not begun here is kept until it begins. Fails for a wrong state, source or
 * form, an epoch that is over, a length or index that does not fit, a number that is not finite, and a repeated or missing
 * part. */
hawser_status hw_replica_accept(hw_replica *replica, hw_message *message, hawser_error *error) HAWSER_MUST_USE;

/* Returns the next message that a cut or an accepted message has made necessary, a sum or an update to pass on, to be sent
 * to its destination; NULL if there is none. Call it after each cut and accept until it returns NULL. */
hw_message *hw_replica_next(hw_replica *replica);

/* Under SSP and TAP over trees and servers, the first block of a node sends updates on to other nodes, and adds up those
 * that wait for the same one (combined.h). Returns whether something waits here. hw_replica_send_waiting makes the messages,
 * for hw_replica_next. Call it after messages were accepted, after a cut, before the block waits, and before hw_replica_end.
 * What waits for the node of a block for which is_free(argument, block) is false goes on waiting; NULL: nothing does. */
bool hw_replica_waits(const hw_replica *replica);
hawser_status hw_replica_send_waiting(hw_replica *replica, bool (*is_free)(void *argument, uint32_t block), void *argument,
                                      hawser_error *error) HAWSER_MUST_USE;
/* Returns the payload bytes of such a message before it was packed, for figures. */
uint64_t hw_combined_bytes(const hw_message *message, size_t n);

/* Returns how many complete clocks of each block have arrived (applied or, under BSP, parked), for hw_admit_read. */
const hw_clock_table *hw_replica_clocks(const hw_replica *replica);

/* Makes the replica ready for `clock`. Needed before each clock except the first, even if no unit runs and only a flush is
 * cut. Under BSP it merges the parked deltas of all earlier clocks in the canonical order (hw_range_sum) and sets cache =
 * base + gain * held. Under SSP and TAP it folds the applied updates into the cache. hw_admit_read must be true. */
hawser_status hw_replica_merge(hw_replica *replica, uint64_t clock, hawser_error *error) HAWSER_MUST_USE;
/* Like hw_replica_merge, for a record of what is there before the clock: it does not begin yet, so a gain that is set
 * afterwards still takes effect in it. */
hawser_status hw_replica_merge_before(hw_replica *replica, uint64_t clock, hawser_error *error) HAWSER_MUST_USE;
/* Like hw_replica_merge, for a stage of a clock whose number the history records. */
hawser_status hw_replica_merge_stage(hw_replica *replica, uint64_t clock, uint32_t stage,
                                     hawser_error *error) HAWSER_MUST_USE;

/* Ends an epoch and merges the rest, so that all replicas hold the same base up to rounding (the same bits under BSP). Every
 * block's clocks < `clocks` must have arrived, and nothing may be held: the last cut flushed. */
hawser_status hw_replica_end(hw_replica *replica, uint64_t clocks, hawser_error *error) HAWSER_MUST_USE;

/* Rolls the cache back to the last cut. */
void hw_replica_rollback(hw_replica *replica);

/* Sets base and cache to 0. A clock of deltas with damping 1 and gain 1 then rebuilds a derived state. */
void hw_replica_zero(hw_replica *replica);
/* Sets damping and gain to 1 until it is called with false, for rebuilds and metrics. */
void hw_replica_plain(hw_replica *replica, bool plain);

/* keep.c: sets merged values and cache to `values`, which another clock has merged, and forgets what is held. Call it on
 * every block, with the same values, between two epochs. */
void hw_replica_put_back(hw_replica *replica, const void *values);
/* keep.c: visits, in either direction, the memory of a replica that its later clocks depend on. What it knows of other
 * blocks is not visited: the epoch, their clocks and their parked updates. A replica that is filled has the same spec as the
 * one that was written. */
void hw_replica_visit(hw_replica *replica, hawser_record *record);
/* keep.c: visits, in either direction, what this block alone has of a replica whose exchanges are all merged: what is held,
 * with its ages and rests, and the cursor of a filter. The merged values, which the caller visits once for all blocks, are
 * there already when the record is read. */
void hw_replica_remember(hw_replica *replica, hawser_record *record);
/* Makes `values` the merged values of a replica that hw_replica_remember reads next. */
void hw_replica_set_base(hw_replica *replica, const void *values);
/* record.c: records in the history what hw_replica_remember has read. */
void hw_replica_record_restored(const hw_replica *replica);
/* record.c: records, for a history, that the merged values are kept at a point, or are again those of the point. */
void hw_replica_record_point(const hw_replica *replica, uint32_t point, bool back);
/* keep.c: overwrites all that hw_replica_visit fills, so that a test notices what it leaves out. */
void hw_replica_drop(hw_replica *replica);

const hw_replica_figures *hw_replica_figures_of(const hw_replica *replica);

struct hw_spares; /* encoding.h */
/* Encodes entries [begin, end) of a state of n numbers, of which `values` has all: dense or as (index, value) pairs,
 * whichever is smaller. Exact for every bit pattern, -0.0 included. spares may be NULL. */
hawser_status hw_encode_range(hawser_type type, const void *values, size_t begin, size_t end, size_t n,
                              struct hw_spares *spares, hw_message **message, hawser_error *error) HAWSER_MUST_USE;
/* Encodes a range, too, and leaves `room` bytes behind the payload. The payload's length does not count them. */
hawser_status hw_encode_range_before(hawser_type type, const void *values, size_t begin, size_t end, size_t n, size_t room,
                                     struct hw_spares *spares, hw_message **message, hawser_error *error) HAWSER_MUST_USE;
/* Copies the entries [begin, end) of an update that is not packed, as they are, with such room. */
hawser_status hw_encode_slice(const hw_message *from, size_t begin, size_t end, size_t n, size_t room,
                              struct hw_spares *spares, hw_message **message, hawser_error *error) HAWSER_MUST_USE;
/* Commits a tied local state: copy += damping * (work - copy), then work = copy. */
void hw_tied_commit(double *copy, double *work, size_t count, double damping);

#endif
