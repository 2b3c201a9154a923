/*
 * replica.h - the inside of a replica, shared by the files that make up its life: replica.c (birth, access, epochs), cut.c (own
 * changes out), defer.c (not yet), hold.c, filter.c and round.c (a part of them), accept.c (others' changes in), merge.c (the canonical
 * merge and the fold into the cache), adder.c (others' changes added up and sent on).
 *
 * Two things stand beside the three vectors of exchange.h. `origin` is the cache as it would be had the unit done nothing since
 * the last cut: own unsent changes are cache - origin. It is `base` itself as long as the two are equal and a vector of its own
 * (`apart`) when parts are cut inside a clock, updates arrive while a unit runs, or a filter holds something back. `stale` marks
 * the tiles whose cache no longer follows from base and held, so that a merge costs what was updated, not what there is.
 */
#ifndef HW_EXCHANGE_REPLICA_H
#define HW_EXCHANGE_REPLICA_H

#include "exchange/encoding.h"
#include "exchange/exchange.h"
#include "exchange/range.h"

/* What this block adds up for others; a range of the replica's `adding` each, unused where its run is empty. */
typedef struct hw_adder {
    hw_range *ranges;
    uint64_t *sent;    /* by range: clocks whose sums are sent */
    uint32_t *missing; /* by range: blocks that have not done the clock whose sums are sent next */
    double *sum;       /* of the range and blocks at hand */
} hw_adder;

struct hw_replica {
    hw_replica_spec spec;
    double *base, *cache, *origin, *held;
    double *scratch; /* a tile per level of the canonical tree */
    double *sum;     /* with a merge function of the user's: the sum it is given */
    size_t tiles;
    uint64_t *touched; /* bit a tile: what the unit says it changed */
    uint64_t *stale;   /* bit a tile */

    /* Where something is held: */
    uint64_t *selected; /* bit an entry: goes out in this cut */
    /* An accumulating filter's: */
    double *score;   /* of each entry, 0: nothing to send */
    uint32_t *since; /* clock in which a held entry was first held */
    size_t cursor;   /* the entry after the last one chosen: where a schedule goes on */
    uint64_t spent;  /* quota used up by earlier parts of the clock */
    /* Rounding's: */
    uint64_t *rest;  /* bit an entry: what is held of it is what rounding has left, and need not go by itself */
    int16_t *scales; /* of 8-bit values, a tile */

    hw_range *ranges; /* what is in, under BSP until its clock is merged; one, or those of `adding` */
    uint32_t range_count;
    hw_adder *adder; /* NULL: nothing is added up here */
    hw_spares spares;
    hw_message *early;    /* of epochs that have not begun here */
    hw_message *outgoing; /* what hw_replica_next has to give */
    hw_clock_table clocks;
    hw_policy policy;
    uint64_t epoch;
    uint64_t merged; /* clocks merged, under BSP */
    uint32_t span;   /* own clocks that are not cut yet */
    double gain, next_gain;
    uint64_t digest, *tile_digests; /* of base, where a history is recorded; */
    uint64_t last_read;             /* and the clock that was read last */
    bool begun;                     /* an epoch is open */
    bool over;                      /* `epoch` has ended */
    bool ended;                     /* between the last cut of a clock and the merge for the next: the unit is not running */
    bool fresh;                     /* nothing was cut or merged in the epoch */
    bool apart;                     /* origin differs from base */
    bool marked;                    /* the unit touches: only touched tiles are diffed */
    bool plain;
    hawser_error early_error; /* of an early message; the next step returns it */
    hw_replica_figures figures;
};

/* Does this block update the state? */
static inline bool hw_is_source(const hw_replica *replica, uint32_t block)
{
    return replica->spec.sources != 1 || block == replica->spec.source;
}

/* Is a part of own deltas held back, by a filter or by rounding? */
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
    return replica->plain ? 1 : replica->gain;
}

static inline double hw_damping_now(const hw_replica *replica)
{
    return replica->plain ? 1 : replica->spec.rule.damping;
}

static inline bool hw_user_merges(const hw_replica *replica)
{
    return replica->spec.rule.merge != NULL && !replica->plain;
}

/* Returns true if a history records this replica. */
static inline bool hw_records(const hw_replica *replica)
{
    return replica->spec.log != NULL;
}

/* Are own and others' updates of the clock that runs kept until it is merged? With one block there is nothing to wait for. */
static inline bool hw_parks(const hw_replica *replica)
{
    return replica->spec.blocks > 1 && !hw_admit_write(replica->policy, replica->merged, replica->merged);
}

/* Do updates of this epoch go by those who add them up? */
static inline bool hw_adds(const hw_replica *replica)
{
    return replica->spec.adding != NULL && replica->policy.kind == HW_POLICY_BSP;
}

static inline const double *hw_origin(const hw_replica *replica)
{
    return replica->apart ? replica->origin : replica->base;
}

static inline size_t hw_tile_end(const hw_replica *replica, size_t tile)
{
    size_t end = (tile + 1) * HW_TILE;
    return end < replica->spec.count ? end : replica->spec.count;
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
void hw_apply(hw_replica *replica, const hw_message *message);
/* merge.c: what went wrong with an early message. */
hawser_status hw_early_error(const hw_replica *replica, hawser_error *error) HAWSER_MUST_USE;
/* merge.c: a tile's cache no longer follows from base and held. */
void hw_mark_stale(hw_replica *replica, const hw_payload *payload);
/* accept.c: a share of a message for each range that it is about, kept until the clock is merged. */
hawser_status hw_park(hw_replica *replica, const hw_message *message, hawser_error *error) HAWSER_MUST_USE;
/* accept.c: takes in what arrived before the epoch began. */
void hw_replay_early(hw_replica *replica);
/* accept.c: takes a sound update of the open epoch, from wherever it came. */
hawser_status hw_take_update(hw_replica *replica, hw_message *message, hawser_error *error) HAWSER_MUST_USE;
void hw_mark_done(hw_replica *replica, uint32_t source, uint64_t done);
/* Puts a message at the end of a list. */
void hw_append(hw_message **list, hw_message *message);

/* adder.c: is this update one that is added up here? Takes it; what can be told now is told. */
hawser_status hw_adder_new(hw_replica *replica, hawser_error *error) HAWSER_MUST_USE;
void hw_adder_free(hw_replica *replica);
void hw_adder_reset(hw_replica *replica);
bool hw_is_addend(const hw_replica *replica, const hw_message *message);
hawser_status hw_adder_take(hw_replica *replica, hw_message *message, hawser_error *error) HAWSER_MUST_USE;

/* Which entries go out in a cut: how many, and the window they lie in. */
typedef struct hw_changes {
    size_t count, first, last;
} hw_changes;

/* hold.c: moves own changes into held, and what goes out from there into a message; flush: all of it, unrounded. */
hawser_status hw_hold_cut(hw_replica *replica, uint64_t clock, uint32_t part, bool flush, hw_message **message,
                          hawser_error *error) HAWSER_MUST_USE;
hw_changes hw_count_selected(const hw_replica *replica);
/* Is there something of an entry to send, rounding's rests aside? */
static inline bool hw_waits(const hw_replica *replica, size_t entry)
{
    return replica->held[entry] != 0 && (replica->rest == NULL || !hw_bit(replica->rest, entry));
}
/* filter.c: selects of the `all` entries that wait those that the quota has room for. */
void hw_filter_select(hw_replica *replica, uint64_t clock, uint32_t part, hw_changes all);
/* round.c: what would be rounded to nothing is not selected after all; and the rounded form of what is held of a selected entry. */
void hw_round_selected(hw_replica *replica);
double hw_rounded(const hw_replica *replica, size_t entry);
/* record.c: events for a history. The first two bring the digest of one tile of base, or of all tiles, up to date. */
void hw_record_tile(hw_replica *replica, size_t tile);
void hw_record_all_tiles(hw_replica *replica);
void hw_record_state(hw_replica *replica);
void hw_record_begin(hw_replica *replica);
void hw_record_read(hw_replica *replica, uint64_t clock);
void hw_record_defer(hw_replica *replica, uint64_t clock);
void hw_record_write(hw_replica *replica, const hw_message *message, bool flush);
void hw_record_alone(hw_replica *replica, uint64_t clock, bool last); /* a cut that nobody is told of */
void hw_record_seen(hw_replica *replica, const hw_message *message);
void hw_record_forget(hw_replica *replica);
void hw_record_end(hw_replica *replica, uint64_t clocks);

/* cut.c: the error for a value that cannot be sent. */
hawser_status hw_not_finite(const hw_replica *replica, size_t entry, double value, hawser_error *error);
/* cut.c: the part of a tile that the unit may have changed; false when none. */
bool hw_changed_part(const hw_replica *replica, size_t tile, size_t *begin, size_t *end);

#endif
