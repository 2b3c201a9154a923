/*
 * part.h - what a block does with its part of a state, by the kind of the state: one row of functions per kind, each in a
 * file of its own (part_exchanged.c and part_local.c have two). A function that is NULL has nothing to do.
 * These are never NULL: `open`, `read` and `write`; of a kind with begin_epoch also the other calls marked "live"; `merged`
 * and take_merged of an `alike` kind; take_share of a kind whose result stays on the nodes (kind.h); `keep` and put_back
 * beside kept_count, `drop` beside `visit`, `commit` where `pending` is set.
 *
 * All functions run on the block's own thread, except where a comment names another. A failed one leaves its error in
 * worker->error.
 */
#ifndef HW_RUNTIME_PART_H
#define HW_RUNTIME_PART_H

#include "hawser/record.h"
#include "runtime/block/worker.h"

typedef struct hw_part_kind {
    /* Makes the part, with zeros, or with first values that hw_life_open stores. Any thread; the error is stored in
     * *error. */
    hawser_status (*open)(hw_worker *worker, hw_state_part *part, hawser_error *error);
    /* Frees what `open` has made, except for work, copy and before. */
    void (*close)(hw_state_part *part);

    /* A phase, in the order of the calls. Those marked "live" are made for the parts that units of the phase update, if the
     * kind has begin_epoch: blocks send each other changes of such states, and wait for each other's clocks. */
    hawser_status (*begin_phase)(hw_worker *worker, hw_state_part *part);
    void (*begin_epoch)(hw_worker *worker, hw_state_part *part,
                        uint64_t epoch); /* live: clocks are counted from zero, or go on from worker->begins */
    bool (*ready)(const hw_worker *worker,
                  const hw_state_part *part); /* live: returns whether all that this stage must see has arrived */
    hawser_status (*merge)(hw_worker *worker, hw_state_part *part); /* live: makes it visible to the stage's units */
    void (*begin_unit)(hw_worker *worker, hw_state_part *part);
    hawser_status (*cut)(hw_worker *worker, hw_state_part *part); /* live: sends what the stage has changed */
    void (*commit)(hw_state_part *part);                          /* `pending`: its clock was sent */
    hawser_status (*end_clock)(hw_worker *worker, hw_state_part *part, bool empty); /* empty: no unit has run */
    hawser_status (*end_phase)(hw_worker *worker, hw_state_part *part);
    bool (*settled)(const hw_worker *worker,
                    const hw_state_part *part); /* live: returns whether all clocks so far have arrived */
    hawser_status (*end_epoch)(hw_worker *worker, hw_state_part *part); /* live */

    /* Return the numbers (or the matrix) that a unit reads, and those that it changes. `updates`: a unit that reads also
     * changes the state. A refusal is NULL with a text in *why that continues "state 'x'" and names the call to use
     * instead. */
    const void *(*read)(hw_state_part *part, bool updates, const char **why);
    void *(*write)(hw_state_part *part, const char **why);
    /* Returns the memory that units change and of which no other copy is as it was when the stage began; NULL: there is
     * none. */
    void *(*stage_memory)(hw_state_part *part, size_t *bytes);
    void (*roll_back)(hw_state_part *part); /* back to the last cut or commit, after a stage that failed */

    /* Takes a message for this state from another block. NULL: none is sent. */
    hawser_status (*accept)(hw_worker *worker, hw_state_part *part, hw_message *message);
    void (*set_gain)(hw_state_part *part, double gain);
    /* Frees all but the values of the result, when no later phase uses the state. NULL: they are in use until the end. */
    void (*retire)(const hw_worker *worker, hw_state_part *part);

    /* After the last phase, on the driver's or agent's thread: move the values of the result out of the part; the caller
     * frees them. take_merged moves all numbers of an `alike` state, which `merged` returns before; take_share moves the
     * share of a block, or NULL if that is empty. The end of an abandoned run waits for no block. */
    const void *(*merged)(const hw_state_part *part);
    void *(*take_merged)(hw_state_part *part);
    hawser_status (*take_share)(hw_worker *worker, hw_state_part *part, bool abandoned, void **values, hawser_error *error);
    bool unchecked; /* units may have written a number that is not finite, which nothing has noticed yet */

    /* Kept points: the values that the part would leave as its result if the run ended now. They can be copied when nothing
     * of the block is in flight: between two phases, and under BSP as a clock begins, once the one before is merged. A
     * stored state with a function needs more: no block has begun to change it in that clock. A node's first block is asked
     * for what is `alike`; others may have freed theirs. */
    bool alike;                                      /* they are the same on all blocks, so that a node needs one copy */
    size_t (*kept_count)(const hw_state_part *part); /* numbers of a copy; NULL: there is nothing to keep (data) */
    hawser_status (*keep)(hw_worker *worker, hw_state_part *part, void *values); /* copies them to kept_count numbers */
    /* Makes such a copy the part's values, between two phases. Every block does so, with copies of one point. */
    hawser_status (*put_back)(hw_worker *worker, hw_state_part *part, const void *values);
    /* Records, for a history, that it was kept or put back. */
    void (*record_point)(const hw_state_part *part, uint32_t point, bool back);

    /* Records: save and restore are one visit in two directions (hawser/record.h). It visits what later clocks of this block
     * depend on, between clocks. It does not visit what the block knows of others (clocks, parked updates), nor values on
     * servers. */
    void (*visit)(hw_state_part *part, hawser_record *record);
    void (*drop)(hw_state_part *part); /* overwrites all that `visit` fills */
    /* The same for another process, of a block whose clocks so far are merged. Of an `alike` kind it visits what the block
     * has besides the merged values, which are read before, by `set_merged`. `collect` is called
     * before a record is written, and gets what is not in the block's memory. `restore` is called once all has been read. */
    void (*remember)(hw_worker *worker, hw_state_part *part, hawser_record *record);
    hawser_status (*collect)(hw_worker *worker, hw_state_part *part);
    hawser_status (*restore)(hw_worker *worker, hw_state_part *part);
    void (*set_merged)(hw_state_part *part, const void *values); /* of an `alike` kind */
} hw_part_kind;

/* part_data.c: notes columns that a unit has fetched: a run that goes on from a checkpoint has them, too.
 * hw_part_fetch_again fetches what was noted. */
hawser_status hw_part_note_fetched(hw_state_part *part, const uint32_t *columns, size_t count,
                                   hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_part_fetch_again(hw_worker *worker, const hw_state_part *part) HAWSER_MUST_USE;

#define HW_PART_ROW(id, row) extern const hw_part_kind hw_part_##row;
HW_STATE_KINDS(HW_PART_ROW)

/* Returns the row of a kind. */
const hw_part_kind *hw_part_kind_of(hw_state_kind kind);

/* Returns the numbers of a part in the block's own memory, a `kept_count`; and their bytes. */
size_t hw_part_count(const hw_state_part *part);
size_t hw_part_size(const hw_state_part *part);

/* Call a function of the row of each part, in the order of the states. */
hawser_status hw_parts_begin_phase(hw_worker *worker) HAWSER_MUST_USE;
void hw_parts_begin_unit(hw_worker *worker);
hawser_status hw_parts_end_clock(hw_worker *worker, bool empty) HAWSER_MUST_USE;
hawser_status hw_parts_end_phase(hw_worker *worker) HAWSER_MUST_USE;

/* Writes to *bytes what a block remembers of its states, for hw_parts_restore; the caller frees it. hw_parts_drop overwrites
 * that memory. */
hawser_status hw_parts_save(hw_worker *worker, void **bytes, size_t *size) HAWSER_MUST_USE;
hawser_status hw_parts_restore(hw_worker *worker, const void *bytes, size_t size) HAWSER_MUST_USE;
void hw_parts_drop(hw_worker *worker);

#endif
