/* origin.h - the process that made a handle. A forked child has a copy of the handle and shares its connections, but has
 * none of its threads: it must not use it. */
#ifndef HW_BASE_ORIGIN_H
#define HW_BASE_ORIGIN_H

#include <stdbool.h>
#include <sys/types.h>
#include <unistd.h>

#include "hawser/status.h"

typedef struct hw_origin {
    pid_t process;
    /* A byte that the kernel zeroes in a forked child, since a system call per request to a store would be slow. NULL: this
     * kernel cannot. */
    unsigned char *mark;
} hw_origin;

hawser_status hw_origin_open(hw_origin *origin, hawser_error *error) HAWSER_MUST_USE;
void hw_origin_close(hw_origin *origin); /* idempotent */

static inline bool hw_is_origin(const hw_origin *origin)
{
    return origin->mark != NULL ? *origin->mark != 0 : origin->process == getpid();
}

/* Fails with HAWSER_BAD_ARGUMENT, because `call` has a handle of another process; what: "job". */
hawser_status hw_not_origin(pid_t process, const char *call, const char *what, hawser_error *error);

/* For public functions that return a status and have `error`. */
#define HW_MADE_HERE(origin, what)                                                                                          \
    do {                                                                                                                    \
        if (!hw_is_origin(origin))                                                                                          \
            return hw_not_origin((origin)->process, __func__, what, error);                                                 \
    } while (0)

#endif
