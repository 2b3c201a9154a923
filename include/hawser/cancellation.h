/*
 * cancellation.h - a handle, made beforehand, that ends calls which wait or compute for long: from another thread, or from a signal handler.
 *
 *   hawser_cancellation_new(&cancellation, &error);
 *   hawser_dataset_load(&path, 1, &(hawser_load){.cancellation = cancellation}, &dataset, &error);
 *   ...                                      // elsewhere, for instance on Ctrl-C: hawser_cancel(cancellation);
 *
 * A cancelled call returns HAWSER_STOP, and the text says what was cancelled.
 */
#ifndef HAWSER_CANCELLATION_H
#define HAWSER_CANCELLATION_H

#include "hawser/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A request to end, which may come at any time. One handle may serve any number of calls, jobs and threads. */
typedef struct hawser_cancellation hawser_cancellation;

/** Makes a handle. The caller frees it when no call has it any more. */
HAWSER_API hawser_status hawser_cancellation_new(hawser_cancellation **cancellation, hawser_error *error) HAWSER_MUST_USE;
/** Ends the calls in progress that have the handle, within about 0.1 s, and all later ones when they begin, until hawser_cancellation_reset. Does not
 *  wait. Async-signal-safe; any thread. NULL is allowed. */
HAWSER_API void hawser_cancel(hawser_cancellation *cancellation);
/** Takes the request back: later calls are not cancelled. Calls in progress may or may not have seen it. Any thread. NULL is allowed. */
HAWSER_API void hawser_cancellation_reset(hawser_cancellation *cancellation);
/** Frees a handle. NULL is allowed. */
HAWSER_API void hawser_cancellation_free(hawser_cancellation *cancellation);

#ifdef __cplusplus
}
#endif
#endif
