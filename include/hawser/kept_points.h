/*
 * kept_points.h - the best model of a run, kept by the runtime while the run goes on.
 *
 * A program marks the states that are its model. A test at a BSP point keeps their values, or returns to them. A run that
 * ends early or fails because numbers overflow has the kept values as its results. docs/design/kept-points.md says how.
 */
#ifndef HAWSER_KEPT_POINTS_H
#define HAWSER_KEPT_POINTS_H

#include "hawser/hawser.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Marks a state, except data, as a part of the program's model: kept points have a copy of it (hawser_progress_keep).
 *  Derived states may be marked, too: they are copied as they are. The plan counts the copies: of an exchanged state one
 *  per node, of others the shares of the node's blocks, of a moving state the largest parts that they can have. */
HAWSER_API void hawser_state_keep(hawser_state *state);
/** Sets how many points a program keeps at the same time, numbered from 0: 1 to 4096; without this call one. Each has a
 *  copy of the marked states. */
HAWSER_API void hawser_kept_points(hawser_program *program, uint32_t count);

/** Keeps the states that the program has marked (hawser_state_keep) as point number `point`, in place of what that point
 *  was. Each block copies what it has committed: all updates of the clocks before the test, derived states as they are. The
 *  metrics are kept with it, as the test leaves them.
 *
 *  hawser_progress_return sets the marked states to a kept point, on all blocks at the same clock. A derived state that is
 *  not marked, or that was kept while blocks ran a loop, is rebuilt when the next loop that updates it is entered. In the
 *  test of a loop that blocks run, the loop's phase ends and the loop goes on from the point with its next clock, if the
 *  test does not end it. Scratch, metrics and unmarked states stay as they are.
 *
 *  If a run ends early (HAWSER_STOP), its results are point 0, if that was kept; if it fails with HAWSER_NOT_FINITE or
 *  HAWSER_DIVERGED, the kept point of the lowest number: see hawser_run_kept. A loop that ends by hawser_until.patience
 *  returns to point 0 first.
 *
 *  Only a stop test or the test of a branch calls them, at a BSP point: outside of loops that blocks run, or in the stop
 *  test of such a loop under bsp. Elsewhere the run fails with HAWSER_BAD_PROGRAM, as it does for a number beyond
 *  hawser_kept_points, for a return to a point that was not kept, and if a unit uses a marked stored state after a return,
 *  which servers do not take back. A test that is called again for a clock keeps once. */
HAWSER_API void hawser_progress_keep(hawser_progress *progress, uint32_t point);
HAWSER_API void hawser_progress_return(hawser_progress *progress, uint32_t point);
/** Returns whether the run has kept a point of this number, in an earlier test or in this one. */
HAWSER_API bool hawser_progress_has(const hawser_progress *progress, uint32_t point);

/* If a program has kept point 0 and its run ends with HAWSER_STOP, or any point and its run fails with HAWSER_NOT_FINITE or
 * HAWSER_DIVERGED, hawser_run_program returns that status and a run with results. Marked states and all metrics are those
 * of the point. After the two errors, local states that are not marked have what each block had last, and other unmarked
 * states are unspecified; neither need be finite. After any other error, and if nothing was kept, there is no run. */
/** Returns whether the results of a run are a kept point, because the run has ended early or failed. The same on all
 *  nodes. */
HAWSER_API bool hawser_run_kept(const hawser_run *run);

#ifdef __cplusplus
}
#endif
#endif
