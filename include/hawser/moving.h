/*
 * hawser/moving.h - moving states: numbers in parts that go from block to block, so that no node holds the whole, and never
 * two blocks change the same part (Petuum's Strads: model-parallel schedules; Xing et al. 2015, section 4).
 *
 * A spec of kind HAWSER_MOVING says which lines there are (lines, offsets), how they are cut into parts (parts, cut), and
 * which block has a part in each clock of a loop (owner). In clock t of a loop, part p belongs to block owner(p, t), which
 * alone reads and changes it. When the last stage of the clock that uses the state has ended, its parts are sent to the
 * blocks that have them in clock t + 1. A block waits for exactly the version that the last owner wrote, under bsp, ssp and
 * tap alike: a moving state is never late. There is no deadlock, since a clock needs parts of the clock before alone.
 *
 * In each clock every block has parts / blocks parts, else the run fails. The owner is asked for the clock behind the last
 * one of a loop, too: the parts stay with these blocks. Units outside of loops see the parts of clock 0; an inner loop
 * counts its own clocks. Under tap a test ends a loop at the clock of the furthest block, and the others pass their parts on
 * without work until then. A moving state takes no damping, gain, filter, form, tie or derivation, and is changed by no unit
 * that runs on one block.
 */
#ifndef HAWSER_MOVING_H
#define HAWSER_MOVING_H

#include "hawser/hawser.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A part of a moving state, which this block has in this clock. */
typedef struct hawser_moving_part {
    uint32_t number;          /**< of the part; UINT32_MAX: there are no more */
    size_t first_line, lines; /**< which lines it has */
    size_t first, count;      /**< which numbers of the whole state */
    void *values;             /**< `count` numbers of the state's type, line after line, until the unit returns */
    hawser_type type;
} hawser_moving_part;

/** Stores the next part that this block has in this clock, each once for every unit, in the order of their numbers. A unit
 *  that updates the state may change its values. One that reads it must not, and fails if that is noticed: a change of any
 *  number in debug builds, with --rehearse and with --record-history, else where 64 places of the part show it. Waits until
 *  the part has arrived. Returns HAWSER_OK, or the status that the unit must return at once. */
HAWSER_API hawser_status hawser_next_part(hawser_context *context, const char *state,
                                          hawser_moving_part *part) HAWSER_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
