/* checker.h - internals that the parts of the checker share. */
#ifndef HW_HISTORY_CHECKER_H
#define HW_HISTORY_CHECKER_H

#include "base/memory.h"
#include "history/verdict.h"

/* A record in an index, with its key. */
typedef struct hw_indexed {
    uint64_t key[5];
    const hw_stream *stream;
    size_t number;
} hw_indexed;

/* An index, sorted by key; equal keys are in the order of their streams. */
typedef struct hw_index {
    hw_indexed *entries;
    size_t count, capacity;
} hw_index;

/* Runs of loops over tables, as all blocks recorded them: sorted by table, then by time. */
typedef struct hw_turn {
    uint64_t table; /* run of the store << 32 | table */
    size_t place;
    const hw_event_record *record;
    bool open; /* recorded by a lost block: more runs may have followed these */
} hw_turn;

typedef struct hw_turns {
    hw_turn *entries;
    size_t count, capacity;
} hw_turns;

/* A record in a stream. */
typedef struct hw_at {
    const hw_stream *stream;
    size_t number;
} hw_at;

typedef struct hw_checker {
    const hw_history *history;
    hw_verdict *verdict;
    hw_turns turns;
    hw_index writes; /* of blocks: run and state, epoch, clock, part, block */
    hw_index served; /* pieces of tasks: run, client, task, kind */
    hw_index asked;  /* run and client, task, 0: ASKED or 1: ANSWER */
    hw_index losses; /* node */
    hw_at ticks;     /* the first request of the store that ends a clock */
    bool resumed;    /* the job went on from a checkpoint */
} hw_checker;

hawser_status hw_index_add(hw_index *index, const uint64_t key[5], const hw_stream *stream, size_t number,
                           hawser_error *error) HAWSER_MUST_USE;
void hw_index_sort(hw_index *index);
/* Returns the first entry with this key and stores their number in *count; NULL if there is none. */
const hw_indexed *hw_index_find(const hw_index *index, const uint64_t key[5], size_t *count);

static inline const hw_event_record *hw_record_of(const hw_indexed *entry)
{
    return &entry->stream->records[entry->number];
}

/* Reports a violation by `count` records, given as pairs of stream and number. Keeps the report that was found first with
 * the fewest records. Returns false. */
bool hw_violation(hw_checker *checker, hw_rule rule, const hw_at *at, size_t count, const char *format, ...)
    HAWSER_PRINTF(5, 6);

/* Returns whether a client's task has failed, or has no recorded answer. */
static inline bool hw_is_refused(const hw_checker *checker, uint32_t run, uint32_t client, uint64_t task)
{
    size_t count;
    const uint64_t key[5] = {(uint64_t)run << 32 | client, task, 1, 0, 0};
    const hw_indexed *answer = hw_index_find(&checker->asked, key, &count);
    return answer == NULL || (hw_record_of(answer)->flags & HW_EVENT_FAILED) != 0;
}

/* Returns whether the history is of a failed job: streams may end anywhere and may lack records of what happened. */
static inline bool hw_is_cut(const hw_checker *checker)
{
    return checker->history->ended != HAWSER_OK;
}

static inline bool hw_may_lack(const hw_checker *checker, hw_stream_kind kind, uint32_t run, uint32_t number)
{
    const hw_stream *stream = hw_is_cut(checker) ? hw_history_stream(checker->history, kind, run, number) : NULL;
    return hw_is_cut(checker) && (stream != NULL ? stream->cut : checker->history->cut > 0);
}

/* Returns the clock with which an epoch begins: that of the checkpoint if the run went on within the epoch, else 0.
 * `resumed` is the RESUMED record of the block; NULL: there is none. */
static inline uint64_t hw_first_clock(const hw_event_record *resumed, uint64_t epoch)
{
    return resumed != NULL && resumed->epoch == epoch ? resumed->clock : 0;
}

static inline void hw_applied(hw_checker *checker, hw_rule rule)
{
    checker->verdict->checked[rule]++;
}

/* turns.c: hw_check_turns finds the runs of loops. hw_turns_due returns the bound that a policy sets, and the policy in
 * *policy: all changes of iterations below the result must be in before a read in `iteration`, or before a change in it. */
hawser_status hw_check_turns(hw_checker *checker, hawser_error *error) HAWSER_MUST_USE;
uint64_t hw_turns_due(const hw_checker *checker, uint64_t table, uint64_t iteration, bool changes, uint32_t *policy);
/* Returns whether loops of a program have run over tables of this store. */
bool hw_is_of_program(const hw_checker *checker, uint32_t run);

/* shape.c: checks that each record has the fields of its kind and no others. */
void hw_check_shapes(hw_checker *checker);

/* agreement.c: what records must agree on that have the same key: (run and state, epoch, clock, one of these, more).
 * hw_check_agreement compares the records of an index. */
enum {
    HW_AGREE_DIGEST = 1,
    HW_AGREE_CLOCK,
    HW_AGREE_SUM,
    HW_AGREE_LOST,
    HW_AGREE_POLICY,
    HW_AGREE_CHOICE,
    HW_AGREE_COMBINED
};
void hw_check_agreement(hw_checker *checker, hw_index *agree);

/* Returns the last part of the key of a clock's sum. Sums that differ only in their range are neighbours. */
static inline uint64_t hw_sum_key(uint32_t from, uint32_t covers, uint16_t range)
{
    return (uint64_t)from << 40 | (uint64_t)(covers & 0xffffff) << 16 | range;
}

/* alike.c, blocks.c, moving.c, reductions.c, stripes.c, pieces.c, tasks.c, vectors.c: they return HAWSER_OK whatever they
 * find. */
hawser_status hw_check_alike(hw_checker *checker, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_check_blocks(hw_checker *checker, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_check_moving(hw_checker *checker, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_check_reductions(hw_checker *checker, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_check_stripes(hw_checker *checker, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_check_pieces(hw_checker *checker, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_check_vectors(hw_checker *checker, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_check_tasks(hw_checker *checker, hawser_error *error) HAWSER_MUST_USE;

#endif
