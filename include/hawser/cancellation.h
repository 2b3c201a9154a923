/*
 * cancellation.h - a handle, made beforehand, that ends calls which wait or compute for long: from another thread, or from a
 * signal handler.
 *
 *   hawser_cancellation_new(&cancellation, &error);
 *   hawser_open_with(options, &(hawser_opening){.cancellation = cancellation}, &job, &error);
 *   ...                                      // elsewhere, for instance on Ctrl-C: hawser_cancel(cancellation);
 *
 * A job that is opened with a handle passes it to its calls: the join that opens it (except within PMIx), loads, the calls
 * of the store that wait, and runs. A load without a job takes it in hawser_load.cancellation. A cancelled call returns
 * HAWSER_STOP, and the text says what was cancelled. A run does what it does after hawser_interrupt: it ends at an agreed
 * clock and keeps its results, which the job can still read and gather. While a run is in progress the handle ends nothing
 * else, since its units must end their clock.
 *
 * A wait for a task of the store, hawser_table_get included, can be made again after a reset. In collective calls
 * (hawser_job_load, hawser_job_data and the like, hawser_job_write_rows, and those of the store) all nodes fail: the
 * cancelled node with HAWSER_STOP, the others with HAWSER_PEER_LOST and the text that it was cancelled. If it waited for
 * other nodes, it has then left the job, which can only be closed. The same happens if it closes the store or fails to open
 * it while the handle is cancelled: the others may be waiting for its clocks.
 */
#ifndef HAWSER_CANCELLATION_H
#define HAWSER_CANCELLATION_H

#include "hawser/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A request to end, which may come at any time. One handle may serve any number of calls, jobs and threads. */
typedef struct hawser_cancellation hawser_cancellation;

/** Makes a handle. The caller frees it after every job that was opened with it is closed. */
HAWSER_API hawser_status hawser_cancellation_new(hawser_cancellation **cancellation, hawser_error *error) HAWSER_MUST_USE;
/** Ends the calls in progress that have the handle, within about 0.1 s, and later ones that wait or read, until
 *  hawser_cancellation_reset. Does not wait. Async-signal-safe; any thread. NULL is allowed. */
HAWSER_API void hawser_cancel(hawser_cancellation *cancellation);
/** Cancels, too, once `descriptor` can be read or is at its end: a pipe to which a signal handler writes, or an eventfd. It
 *  is looked at every 0.05 s, and not read. Not while a call has the handle. The caller closes the descriptor after the
 *  handle is freed. A second call replaces the descriptor of the first. Returns HAWSER_BAD_ARGUMENT if it is not open. */
HAWSER_API hawser_status hawser_cancellation_watch(hawser_cancellation *cancellation, int descriptor,
                                                   hawser_error *error) HAWSER_MUST_USE;
/** Takes the request back, so that later calls are not cancelled. A call in progress may have seen it already. If a run was
 *  cancelled, its job stays interrupted. A descriptor that can still be read cancels again. Any thread. NULL is allowed.
 */
HAWSER_API void hawser_cancellation_reset(hawser_cancellation *cancellation);
/** Frees a handle. NULL is allowed. */
HAWSER_API void hawser_cancellation_free(hawser_cancellation *cancellation);

#ifdef __cplusplus
}
#endif
#endif
