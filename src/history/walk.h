/* walk.h - how far a block's stream has been checked: shared by blocks.c and combined.c. */
#ifndef HW_HISTORY_WALK_H
#define HW_HISTORY_WALK_H

#include "history/checker.h"
#include "history/places.h"

enum { HW_WALK_STAGES_MOST = 64 };

/* One block's copy of one state, as far as its stream has been read. */
typedef struct hw_state_walk {
    const hw_event_record *state;              /* NULL: not read yet */
    const hw_event_record *restored;           /* its values of the checkpoint; NULL: not read yet, or there is none */
    bool begun, plain, read, forgotten, steps; /* steps: updates count where the next clock begins */
    /* updates were merged in the order of arrival, so the blocks' copies are equal up to rounding until it is rebuilt */
    bool apart;
    /* Whether an update is merged that may change the state: with `steps` one bit per clock of the update, modulo 64; else
     * the first bit. */
    uint64_t moved;
    uint64_t epoch, policy, slack;
    /* By how many exchanges a read of each stage may lag (UINT64_MAX: tap), the least of them, and that for which this
     * exchange was checked. */
    uint64_t slacks[HW_WALK_STAGES_MOST], least_slack, read_slack;
    uint32_t from;          /* the block that makes all updates of the epoch; HW_HISTORY_NONE: several */
    uint64_t updates, used; /* stages of a clock that update the state, and that use it: one bit each */
    uint64_t first;         /* the first exchange of the epoch; 0, if the run has not gone on within it */
    uint64_t turn;          /* clock of the loop, and */
    uint32_t stage;         /* stage, of the last read; HW_WALK_STAGES_MOST: none */
    uint64_t own, left;     /* own clocks ended; the last `left` of them have no recorded update yet */
    uint32_t part;          /* next part of the own clock */
    uint64_t held, digest;
    hw_places whole; /* by block: updates that cover all ranges; */
    hw_places range; /* by range, then block: updates of one range. The larger of the two counts */
    size_t ranges;
} hw_state_walk;

typedef struct hw_block_walk {
    hw_checker *checker;
    const hw_stream *stream;
    uint32_t block, blocks; /* blocks: streams of the run */
    hw_state_walk *walkers; /* by state */
    size_t count, capacity;
    bool credited;
    uint64_t credit_epoch, credit;
    /* Settings of the last credit: the digest of those that all blocks have alike, and the own share. With what CHANGED has
     * added since. */
    uint64_t settings, share;
    const hw_event_record *chosen;  /* the last choice of a loop's branches; NULL: none */
    const hw_event_record *resumed; /* the clock and the epoch where the job went on; NULL: it began */
    size_t at;
    bool saw_loss;   /* has recorded the loss of a node */
    hw_index *agree; /* records that must agree: all of one key have the same digest, or end at the same clock */
    hawser_error *error;
    hawser_status status;
} hw_block_walk;

static inline const hw_event_record *hw_walk_here(const hw_block_walk *w)
{
    return &w->stream->records[w->at];
}

/* Reports a violation that this record shows alone, or together with another. */
#define HW_WALK_ALONE(w, rule, ...) hw_violation((w)->checker, rule, &(hw_at){(w)->stream, (w)->at}, 1, __VA_ARGS__)
#define HW_WALK_WITH(w, rule, other_stream, other_number, ...)                                                              \
    hw_violation((w)->checker, rule, (hw_at[]){{other_stream, other_number}, {(w)->stream, (w)->at}}, 2, __VA_ARGS__)

/* points.c: checks that a state is kept, or goes back to what was kept. */
bool hw_walk_point(hw_block_walk *w, hw_state_walk *k);
/* blocks.c: adds a record to those that must agree on all blocks, by this key. */
void hw_walk_agree(hw_block_walk *w, uint64_t clock, uint64_t what, uint64_t more);
/* blocks.c: returns the record by which a block wrote a part of a clock's update of this record's state; NULL if there is
 * none. */
const hw_indexed *hw_walk_write_of(const hw_block_walk *w, uint32_t source, uint64_t clock, uint32_t part);
/* blocks.c: returns the node of a block's stream; HW_HISTORY_NONE if it is unknown. */
uint32_t hw_walk_node_of(const hw_block_walk *w, uint32_t block);
/* blocks.c: checks that this update of one block is its next one in a range, and stores the record by which it was written;
 * NULL if that was lost with its node. */
bool hw_walk_check_next(hw_block_walk *w, hw_state_walk *k, size_t range, const hw_indexed **record);
/* blocks.c: reports that an update is not what was written. Returns false. */
bool hw_walk_differs(hw_block_walk *w, const hw_indexed *written);

/* resumed.c: each checks a record of a job that goes on from a checkpoint: that the block has read its own; what a state
 * was; that a state of such a job begins an epoch where the checkpoint says; the first credit of an epoch. */
bool hw_walk_resumed(hw_block_walk *w);
bool hw_walk_restored(hw_block_walk *w, hw_state_walk *k);
bool hw_walk_check_begin(hw_block_walk *w, const hw_state_walk *k);
bool hw_walk_check_first_credit(hw_block_walk *w);

/* combined.c: hw_walk_follows returns whether the record before this one is of the same sum. hw_walk_check_following checks
 * that a sum goes on where it must. hw_walk_check_combined checks one update of a sum, or a range of a single one. */
bool hw_walk_follows(const hw_block_walk *w);
bool hw_walk_check_following(hw_block_walk *w);
bool hw_walk_check_combined(hw_block_walk *w, hw_state_walk *k, size_t range);

#endif
