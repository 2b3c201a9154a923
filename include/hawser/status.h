/*
 * status.h - the result of every Hawser call.
 *
 * One type has every outcome, and the compiler warns when a caller ignores it. One text describes a failure:
 * what, where, which value, what to do. There is no global error state; the caller owns the hawser_error that a call fills.
 *
 * A call returns HAWSER_BAD_ARGUMENT if a required pointer is NULL or an enumeration is out of range; in a unit, and while a
 * program is built, it is HAWSER_BAD_PROGRAM. A call without a status returns NULL, 0, false or NaN then. Only the kernels
 * of matrix.h check nothing.
 */
#ifndef HAWSER_STATUS_H
#define HAWSER_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HAWSER_API                 __attribute__((visibility("default")))
#define HAWSER_MUST_USE            __attribute__((warn_unused_result))
#define HAWSER_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define HAWSER_API
#define HAWSER_MUST_USE
#define HAWSER_PRINTF(text, first)
#endif

/** Outcome of a call. Zero is success. A positive value is no error: a unit that gets one from a call returns it. Negative
 *  values are errors, grouped by the largest thing that is broken: a call, an input, the job's resources, the program, a
 *  peer. */
typedef enum hawser_status {
    HAWSER_OK = 0,
    HAWSER_STOP = 1, /**< the loop ends here: its credit is spent or the job was asked to stop */
    HAWSER_VIEW_CHANGED =
        2, /**< membership changed: the unit returns, the runtime takes back what the stage did, and runs its units again */
    HAWSER_BAD_ARGUMENT = -1, /**< an invalid argument of a call */
    HAWSER_BAD_OPTION = -2,   /**< an option's key or value */
    HAWSER_BAD_INPUT = -3,    /**< the content of a file */
    HAWSER_IO = -4,           /**< the operating system failed a read, write, open or map */
    HAWSER_NO_MEMORY = -5,    /**< an allocation failed, or would exceed the memory limit */
    HAWSER_BAD_PROGRAM = -6,  /**< a program breaks the model: undeclared access, replicated x replicated, ... */
    HAWSER_NOT_FINITE = -7,   /**< NaN, infinity or an integer that overflows, in an update, an objective, a parameter */
    HAWSER_DIVERGED = -8,     /**< the safeguards ran out */
    HAWSER_PEER_LOST = -9,    /**< another part of the job ended or failed */
    HAWSER_TIMEOUT = -10,     /**< a wait passed its deadline */
    HAWSER_INTERNAL = -11     /**< a bug in Hawser; please report it */
} hawser_status;

/** Text of a failure. The caller owns it; every function that takes one also takes NULL. Not thread-safe: use one per
 *  thread. */
typedef struct hawser_error {
    hawser_status status;
    char text[1000];
} hawser_error;

/** Returns a short fixed English text for a status ("bad input"); never NULL. Thread-safe. */
HAWSER_API const char *hawser_status_name(hawser_status status);

/** Fills `error` (may be NULL) with a formatted text and returns `status`, so a failing function can end with
 *  `return hawser_fail(error, HAWSER_BAD_INPUT, "...")`. A text that is too long loses its middle. Thread-safe per error. */
HAWSER_API hawser_status hawser_fail(hawser_error *error, hawser_status status, const char *format, ...) HAWSER_PRINTF(3, 4);

/** Returns from the enclosing function with the status of `call` unless it is HAWSER_OK. */
#define HAWSER_TRY(call)                                                                                                    \
    do {                                                                                                                    \
        hawser_status hawser_try_status_ = (call);                                                                          \
        if (hawser_try_status_ != HAWSER_OK)                                                                                \
            return hawser_try_status_;                                                                                      \
    } while (0)

/** Calls the next step of several unless one before it failed: for steps that a clean-up follows, which HAWSER_TRY would
 *  leave out. `status` is a variable, and becomes the status of `call`. */
#define HAWSER_THEN(status, call)                                                                                           \
    do {                                                                                                                    \
        if ((status) == HAWSER_OK)                                                                                          \
            (status) = (call);                                                                                              \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif
