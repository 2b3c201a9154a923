/* coroutine.h - stacks of one thread that switch to each other, known to the sanitizers. */
#ifndef HW_RUNTIME_EXEC_COROUTINE_H
#define HW_RUNTIME_EXEC_COROUTINE_H

#include <stdbool.h>
#include <stddef.h>
#include <ucontext.h>

#include "hawser/status.h"

typedef struct hw_coroutine {
    ucontext_t context;
    void *stack; /* NULL: the thread's own */
    size_t bytes;
    struct hw_coroutine *home;
    void (*body)(void *argument);
    void *argument;
    bool ended;
    const void *bottom; /* of the stack in use, for the address sanitizer */
    size_t height;
    void *fake_stack;
    void *race; /* for the thread sanitizer */
} hw_coroutine;

/* Maps a stack of `bytes` above a page that cannot be touched. */
hawser_status hw_coroutine_new(hw_coroutine *coroutine, size_t bytes, hawser_error *error) HAWSER_MUST_USE;
void hw_coroutine_free(hw_coroutine *coroutine);
/* Begins to use the calling thread's own stack as `home`. */
void hw_coroutine_home(hw_coroutine *home);
/* Prepares a coroutine to run body(argument) at the first switch to it, which must come from `home`. When the body has
 * returned, the coroutine has ended, and `home` continues. Returns false if the system refuses. */
bool hw_coroutine_begin(hw_coroutine *coroutine, hw_coroutine *home, void (*body)(void *argument), void *argument);
/* Ends the use of a coroutine that has ended. */
void hw_coroutine_end(hw_coroutine *coroutine);
void hw_coroutine_switch(hw_coroutine *from, hw_coroutine *to);

#endif
