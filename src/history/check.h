/*
 * check.h - checks whether a history has the guarantees of docs/guarantees.md.
 *
 * The rules over records were written from the papers and not from the code that they check: nothing of exchange, store or
 * consistency is used here.
 */
#ifndef HW_HISTORY_CHECK_H
#define HW_HISTORY_CHECK_H

#include "history/verdict.h"

/* Checks a whole history (hw_history_whole). If the job failed, every stream may end anywhere, and a lost node's streams may
 * lack records that other nodes refer to; all other rules must hold. Returns HAWSER_OK whatever the verdict, or
 * HAWSER_NO_MEMORY. */
hawser_status hw_history_check(const hw_history *history, hw_verdict *verdict, hawser_error *error) HAWSER_MUST_USE;

#endif
