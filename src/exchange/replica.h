/*
 * replica.h - a replica's fields, for the files that implement it: replica.c (creation, access, epochs), cut.c (sends own
 * changes), defer.c (coalesces cuts), hold.c, filter.c and round.c (hold back a part of own changes), accept.c (takes
 * updates of other blocks), merge.c (the canonical merge and the fold into the cache), adder.c (adds up updates of other
 * blocks and sends the sums), combine.c (relays updates under SSP and TAP), record.c (histories).
 *
 * Two fields complement the three vectors of exchange.h. `origin` is the cache as it would be if the unit had changed
 * nothing since the last cut, so own unsent changes are cache - origin. As long as it equals `base` it is not stored. It is
 * a vector of its own (`apart`) if parts are cut inside a clock, updates arrive while a unit runs, or entries are held.
 * `stale` marks the tiles whose cache no longer follows from base and held, so that the cost of a merge depends on the
 * updated tiles, not on the size of the state.
 */
#ifndef HW_EXCHANGE_REPLICA_H
#define HW_EXCHANGE_REPLICA_H

#include "exchange/combined.h"
#include "exchange/exchange.h"
#include "exchange/numbers.h"
#include "exchange/range.h"

/* The updates that this block adds up for others, by range of the replica's `adding`. A range whose run is empty is
 * unused. */
typedef struct hw_adder {
    hw_range *ranges;
    uint64_t *sent;    /* by range: clocks whose sums are sent */
    uint32_t *missing; /* by range: blocks that have not done the clock whose sums are sent next */
    char *sum;         /* the sum that is being made, by entry of the state */
    hw_spares spares;  /* for the messages of sums */
} hw_adder;

struct hw_replica {
    hw_replica_spec spec;
    const hw_numbers *numbers;
    char *base, *cache, *origin, *held; /* entries of the state's type */
    char *scratch;                      /* a tile per level of the canonical tree */
    char *sum;                          /* the sum for a merge function of the user; else NULL */
    double *given;                      /* f32: base and sum as doubles for that function; else NULL */
    size_t tiles;
    uint64_t *touched; /* one bit per tile: the unit has declared a change */
    uint64_t *stale;   /* one bit per tile */

    /* If entries are held: */
    uint64_t *selected; /* one bit per entry: this cut sends it */
    /* With an accumulating filter: */
    double *score;   /* of each entry, 0: nothing to send */
    uint32_t *since; /* clock in which a held entry was first held */
    size_t cursor;   /* the entry after the last one selected, where a schedule continues */
    uint64_t spent;  /* quota used up by earlier parts of the clock */
    /* With rounding: */
    uint64_t *rest;  /* one bit per entry: only a rounding remainder is held, which is not sent on its own */
    int16_t *scales; /* of 8-bit values, one per tile */

    hw_range *ranges; /* arrived updates, under BSP until their clock is merged; one range, or those of `adding` */
    uint32_t range_count;
    uint32_t *slow;        /* by block: a range that may have completed no more of the block's clocks than all ranges have */
    hw_adder *adder;       /* NULL: this block adds up no updates */
    hw_combiner *combiner; /* what waits at this block for other nodes; NULL: it relays no updates */
    bool combines;         /* under SSP and TAP updates go from node to node by relays, which may add them up */
    hw_spares spares;
    hw_message *early;    /* updates of epochs that have not begun here */
    hw_message *outgoing; /* messages for hw_replica_next */
    hw_clock_table clocks;
    hw_policy policy;
    hw_policy strictest; /* by which a block may wait for its updates; `policy`, or stricter */
    uint64_t epoch;
    hw_stages stages; /* of the epoch */
    uint64_t each;    /* exchanges in a clock of the loop */
    uint64_t merged;  /* clocks merged, under BSP */
    uint32_t span;    /* own clocks that are not cut yet */
    double gain, next_gain;
    uint64_t digest, *tile_digests; /* of base, if a history is recorded */
    uint64_t last_read;             /* clock of the last read; UINT64_MAX: none in this epoch */
    bool begun;                     /* an epoch is open */
    bool over;                      /* `epoch` has ended */
    bool ended;                     /* between the last cut of a clock and the merge for the next: the unit is not running */
    bool fresh;                     /* nothing was cut or merged in the epoch */
    bool apart;                     /* origin differs from base */
    bool marked;                    /* the unit declares its changes: only touched tiles are compared */
    bool plain;
    hawser_error early_error; /* of an early message; the next step returns it */
    hw_replica_figures figures;
};

/* Returns true if one block makes all updates of the epoch. */
static inline bool hw_has_one_source(const hw_replica *replica)
{
    return replica->stages.source != UINT32_MAX;
}

/* Returns true if the block updates the state in the epoch. */
static inline bool hw_is_source(const hw_replica *replica, uint32_t block)
{
    return !hw_has_one_source(replica) || block == replica->stages.source;
}

/* Returns true if one block alone updates the state in some exchanges of the epoch, and all blocks do in others. */
static inline bool hw_is_mixed(const hw_replica *replica)
{
    return replica->stages.exact != 0 && replica->stages.exact != replica->stages.updates;
}

/* Returns true if one block alone updates the state in an exchange. */
static inline bool hw_is_exact(const hw_replica *replica, uint64_t exchange)
{
    uint64_t updates = replica->stages.updates;
    if (!hw_is_mixed(replica))
        return replica->stages.exact != 0;
    for (uint64_t before = exchange % replica->each; before > 0; before--)
        updates &= updates - 1;
    return (replica->stages.exact & updates & (0 - updates)) != 0;
}

/* Returns true if no rule changes the update of an exchange: it is a rebuild's, or by one block alone. */
static inline bool hw_is_plain(const hw_replica *replica, uint64_t exchange)
{
    return replica->plain || hw_is_exact(replica, exchange);
}

/* Returns the exchange whose updates this block makes now. */
static inline uint64_t hw_exchange_now(const hw_replica *replica)
{
    return replica->clocks.done[replica->spec.block];
}

/* Returns true if a filter or rounding may hold back a part of own deltas. */
static inline bool hw_holds(const hw_replica *replica)
{
    return replica->held != NULL;
}

static inline bool hw_filters(const hw_replica *replica)
{
    return replica->score != NULL;
}

static inline double hw_gain_now(const hw_replica *replica)
{
    return hw_is_plain(replica, hw_exchange_now(replica)) ? 1 : replica->gain;
}

/* A damping weighs sums of several updates, so it is 1 with one block. A gain is about own changes. */
static inline double hw_damping_of(const hw_replica *replica, uint64_t exchange)
{
    return replica->spec.blocks == 1 || hw_is_plain(replica, exchange) ? 1 : replica->spec.rule.damping;
}

/* Returns the rest of an advice for updates whose sum overflows: "" if one block has made them, or they are damped
 * already. */
static inline const char *hw_averaging(const hw_replica *replica)
{
    return replica->spec.blocks > 1 && replica->spec.rule.damping == 1.0
               ? ", or average the workers' updates (--merge average; in a program, a damping of 1 / workers)"
               : "";
}

/* Returns true if a merge function of the program takes the updates of an exchange. It does so with one block, too: it is
 * more than a weight. */
static inline bool hw_user_merges(const hw_replica *replica, uint64_t exchange)
{
    return replica->spec.rule.merge != NULL && !replica->plain && !hw_is_exact(replica, exchange);
}

/* Returns true if a history records this replica. */
static inline bool hw_records(const hw_replica *replica)
{
    return replica->spec.log != NULL;
}

/* Returns true if updates of the running clock are parked until it is merged. With one block there is nothing to wait
 * for. */
static inline bool hw_parks(const hw_replica *replica)
{
    return replica->spec.blocks > 1 && !hw_admit_write(replica->policy, replica->merged, replica->merged);
}

/* Returns true if updates of this epoch are sent to the blocks that add them up. */
static inline bool hw_adds(const hw_replica *replica)
{
    return replica->spec.adding != NULL && replica->policy.kind == HW_POLICY_BSP && !hw_has_one_source(replica);
}

/* Returns true if updates of this epoch are sent on by relays (combined.h). A sum has one damping. */
static inline bool hw_combines(const hw_replica *replica)
{
    return replica->combines && !hw_has_one_source(replica) && (replica->spec.rule.damping == 1 || !hw_is_mixed(replica)) &&
           (replica->policy.kind == HW_POLICY_SSP || replica->policy.kind == HW_POLICY_TAP);
}

/* Returns the bytes behind an own update that a relay fills, so that it need not copy the update. */
static inline size_t hw_list_room(const hw_replica *replica)
{
    return hw_combines(replica) ? sizeof(hw_contribution) : 0;
}

static inline const char *hw_origin(const hw_replica *replica)
{
    return replica->apart ? replica->origin : replica->base;
}

static inline size_t hw_tile_end(const hw_replica *replica, size_t tile)
{
    size_t end = (tile + 1) * HW_TILE;
    return end < replica->spec.count ? end : replica->spec.count;
}

/* Returns where an entry of one of the replica's vectors is. */
static inline size_t hw_at(const hw_replica *replica, size_t entry)
{
    return entry * replica->numbers->size;
}

/* Returns true if the unit has changed an entry: it compares bits, not numbers. */
static inline bool hw_differs(const hw_replica *replica, size_t entry)
{
    size_t at = hw_at(replica, entry);
    return hw_bits_differ(replica->numbers, replica->cache + at, hw_origin(replica) + at);
}

static inline bool hw_bit(const uint64_t *bits, size_t i)
{
    return (bits[i / 64] >> (i % 64)) & 1;
}

static inline void hw_set_bit(uint64_t *bits, size_t i)
{
    bits[i / 64] |= UINT64_C(1) << (i % 64);
}

static inline void hw_clear_bit(uint64_t *bits, size_t i)
{
    bits[i / 64] &= ~(UINT64_C(1) << (i % 64));
}

static inline size_t hw_words(size_t bits)
{
    return (bits + 63) / 64;
}

void hw_set_bits(uint64_t *bits, size_t begin, size_t end);
/* Gives origin a vector of its own, equal to base. */
void hw_set_apart(hw_replica *replica);

/* merge.c: applies a checked update to base at once. */
hawser_status hw_apply(hw_replica *replica, const hw_message *message, hawser_error *error) HAWSER_MUST_USE;
/* merge.c: fails with the error of an early message, if there was one. */
hawser_status hw_early_error(const hw_replica *replica, hawser_error *error) HAWSER_MUST_USE;
/* merge.c: marks the tiles of a payload as stale. */
void hw_mark_stale(hw_replica *replica, const hw_payload *payload);
/* accept.c: parks a message in each range that it is about, until the clock is merged. */
hawser_status hw_park(hw_replica *replica, const hw_message *message, hawser_error *error) HAWSER_MUST_USE;
/* accept.c: takes the updates that arrived before the epoch began. */
void hw_replay_early(hw_replica *replica);
/* accept.c: takes an update of the open epoch whose envelope and payload have been checked. */
hawser_status hw_take_update(hw_replica *replica, hw_message *message, hawser_error *error) HAWSER_MUST_USE;
/* accept.c: checks the lengths, indices and numbers of an update that is not packed. */
hawser_status hw_check_payload(const hw_replica *replica, const hw_message *message, hawser_error *error) HAWSER_MUST_USE;
/* accept.c: notes that a block has completed its clocks below `done` over the ranges [begin, end). */
void hw_mark_block(hw_replica *replica, uint32_t block, uint32_t begin, uint32_t end, uint64_t done);
/* accept.c: notes that a source has completed its clocks below `done`. */
void hw_mark_done(hw_replica *replica, uint32_t source, uint64_t done);
/* Puts a message at the end of a list. */
void hw_append(hw_message **list, hw_message *message);

/* adder.c: hw_is_addend returns true if this block adds up the update; hw_adder_take takes it and sends the sums that are
 * complete. */
hawser_status hw_adder_new(hw_replica *replica, hawser_error *error) HAWSER_MUST_USE;
void hw_adder_free(hw_replica *replica);
void hw_adder_reset(hw_replica *replica);
bool hw_is_addend(const hw_replica *replica, const hw_message *message);
hawser_status hw_adder_take(hw_replica *replica, hw_message *message, hawser_error *error) HAWSER_MUST_USE;

/* combine.c: what waits at a relay for other nodes. */
hawser_status hw_combiner_new(hw_replica *replica, hawser_error *error) HAWSER_MUST_USE;
void hw_combiner_free(hw_replica *replica);

/* Has an update of a block of this node wait for all links, if this block relays. The caller keeps the message. */
hawser_status hw_combine_own(hw_replica *replica, const hw_message *message, hawser_error *error) HAWSER_MUST_USE;
/* Takes a combined message of the open epoch: merges it, and has it wait for the other links if this block relays. */
hawser_status hw_combine_take(hw_replica *replica, hw_message *message, hawser_error *error) HAWSER_MUST_USE;
/* Checks the envelope of a combined message, of any epoch. */
hawser_status hw_combine_check(const hw_replica *replica, const hw_envelope *envelope, hawser_error *error) HAWSER_MUST_USE;

/* The number of entries that a cut sends, and the first and the last of them. */
typedef struct hw_changes {
    size_t count, first, last;
} hw_changes;

/* hold.c: adds own changes to `held`, and moves the selected entries from there into a message. `flush` moves all of them,
 * unrounded. */
hawser_status hw_hold_cut(hw_replica *replica, uint64_t clock, uint32_t part, bool flush, hw_message **message,
                          hawser_error *error) HAWSER_MUST_USE;
/* Returns true if an entry is held, apart from a rounding remainder. */
static inline bool hw_waits(const hw_replica *replica, size_t entry)
{
    return !hw_is_zero(replica->numbers, replica->held, entry) && (replica->rest == NULL || !hw_bit(replica->rest, entry));
}
/* filter.c: selects as many of the waiting entries `all` as fit the quota. */
void hw_filter_select(hw_replica *replica, uint64_t clock, uint32_t part, hw_changes all);
/* round.c: drops entries that would round to zero from the selection. hw_rounded returns the rounded value of a held
 * entry. */
void hw_round_selected(hw_replica *replica);
double hw_rounded(const hw_replica *replica, size_t entry);
/* record.c: events for a history. The first two bring the digest of one tile of base, or of all tiles, up to date. */
void hw_record_tile(hw_replica *replica, size_t tile);
void hw_record_all_tiles(hw_replica *replica);
void hw_record_state(hw_replica *replica);
void hw_record_begin(hw_replica *replica);
void hw_record_expected(hw_replica *replica, uint32_t stage, hw_policy policy);
void hw_record_read(hw_replica *replica, uint64_t clock, uint32_t stage);
void hw_record_defer(hw_replica *replica, uint64_t clock);
void hw_record_write(hw_replica *replica, const hw_message *message, bool flush);
void hw_record_alone(hw_replica *replica, uint64_t clock, bool last, bool flush); /* a cut without a receiver */
void hw_record_seen(hw_replica *replica, const hw_message *message);
void hw_record_combined(hw_replica *replica, const hw_message *values, const hw_contribution *list, uint32_t count);
void hw_record_forget(hw_replica *replica);
void hw_record_end(hw_replica *replica, uint64_t clocks);

/* cut.c: the error for an update that cannot be sent: of an integer it overflows; `values[i]` is the value of `entry`. */
hawser_status hw_cannot_send(const hw_replica *replica, size_t entry, const void *values, size_t i, hawser_error *error);
/* cut.c: stores the part of a tile that the unit may have changed; returns false if there is none. */
bool hw_changed_part(const hw_replica *replica, size_t tile, size_t *begin, size_t *end);

#endif
