/*
 * reduction.h - one block's part in the reductions of units (hawser_allreduce): a state machine without threads, sockets or
 * clocks.
 *
 * The key of a reduction is (epoch, clock, number); the number counts the block's reductions in that clock. Each block
 * contributes a *share*: zeros at both ends of its vector are not sent. Shares are combined along the canonical tree
 * (reduce.h), so every block gets the same bits. A share of up to HW_REDUCTION_DIRECT numbers is sent straight to all
 * blocks. Longer ones are combined on the way by the blocks that adding.h names; where it adds by blocks, all shares are.
 *
 * A block ends each clock with its number of reductions, which it sends to all. A block that waits for a share which can no
 * longer come fails at once. Where adding.h adds by blocks, a block sends one end for its branch of the tree to its parent,
 * and the root one for all. There a block fails that gets a share of a clock which it has ended: if two blocks differ, some
 * parent and child do. Results are kept until the next clock begins, which it does when all blocks have ended this one. A
 * block that does the clock over gets the kept results, and its shares must be those that it has sent before.
 */
#ifndef HW_EXCHANGE_REDUCTION_H
#define HW_EXCHANGE_REDUCTION_H

#include "exchange/shares.h"
#include "history/record.h"

enum { HW_REDUCTION_DIRECT = 64 };
/* Bytes of results that a node keeps in a clock; a clock with more of them cannot be done over. */
#define HW_REDUCTION_KEPT ((uint64_t)64 << 20)

typedef struct hw_reduction hw_reduction;

typedef struct hw_reduction_spec {
    uint32_t block, blocks;
    const hw_view *view;   /* NULL: no block adds up for others. Must outlive the reduction */
    hw_adding_shape shape; /* with `view` */
    uint64_t keep;         /* bytes of results that this block keeps */
    const char *(*unit_name)(const void *owner, uint32_t unit); /* for errors; NULL result: there is no such unit */
    const void *owner;
    hw_log *log; /* NULL: nothing is recorded. Must outlive the reduction */
} hw_reduction_spec;

hawser_status hw_reduction_new(const hw_reduction_spec *spec, hw_reduction **reduction, hawser_error *error) HAWSER_MUST_USE;
void hw_reduction_free(hw_reduction *reduction);

/* Starts an epoch at clock 0. All blocks have ended every clock of the epoch before. */
void hw_reduction_begin(hw_reduction *reduction, uint64_t epoch);
/* Goes on with an epoch that has begun, before a clock that is not its first: all blocks have ended those before it. */
void hw_reduction_enter(hw_reduction *reduction, uint64_t clock);
/* Starts a clock: the next one, once hw_reduction_all_ended is true, or the last one again. */
void hw_reduction_begin_clock(hw_reduction *reduction, uint64_t clock);
/* Returns the number of the next reduction of this clock. */
uint32_t hw_reduction_number(const hw_reduction *reduction);
/* Does the clock over from reduction `number` on. hw_reduction_repeats must be true. */
void hw_reduction_go_back(hw_reduction *reduction, uint32_t number);
/* Returns true if all results of this clock are kept, so that it can be done over. */
bool hw_reduction_repeats(const hw_reduction *reduction);
/* Contributes this block's share, and a request to stop that it has seen. Returns HAWSER_NOT_FINITE for NaN, and for
 * infinity in a sum. Returns HAWSER_BAD_PROGRAM if another block has ended the clock or makes another call, or if a repeated
 * share is not the same. */
hawser_status hw_reduction_put(hw_reduction *reduction, const hw_reduction_call *call, const double *values,
                               hw_stop_request stop, hawser_error *error) HAWSER_MUST_USE;
/* Returns true when the result of the last hw_reduction_put can be taken. */
bool hw_reduction_ready(const hw_reduction *reduction);
/* Stores the result and what any block has seen of a request to stop. Returns HAWSER_NOT_FINITE if a sum overflowed. */
hawser_status hw_reduction_take(hw_reduction *reduction, double *values, hw_stop_request *stop,
                                hawser_error *error) HAWSER_MUST_USE;
/* Ends the clock: reports the number of reductions to all blocks. */
hawser_status hw_reduction_end_clock(hw_reduction *reduction, hawser_error *error) HAWSER_MUST_USE;
/* Returns true when every block has ended all clocks below `clock`. */
bool hw_reduction_all_ended(const hw_reduction *reduction, uint64_t clock);

/* Takes a HW_MESSAGE_SHARE of another block and frees it, now or later. A share that arrives twice is compared with the
 * first and counted once. Returns a failure if the message does not fit what this block does. */
hawser_status hw_reduction_accept(hw_reduction *reduction, hw_message *message, hawser_error *error) HAWSER_MUST_USE;
/* Returns the next message to send to the destination in its envelope; NULL if there is none. Call it after put, accept and
 * end_clock. */
hw_message *hw_reduction_next(hw_reduction *reduction);

#endif
