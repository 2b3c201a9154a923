/* thread.h - threads that serve in the background: signals are for the threads of the program, so that the one which waits for Ctrl-C
 * gets it. */
#ifndef HW_BASE_THREAD_H
#define HW_BASE_THREAD_H

#include <pthread.h>

/* pthread_create with every signal blocked in the new thread; what it returns. */
int hw_thread_start(pthread_t *thread, void *(*body)(void *argument), void *argument);

/* pthread_cond_init of one whose deadlines are hw_seconds' times; what it returns: on Linux 0. */
int hw_thread_condition(pthread_cond_t *condition);

/* Tells the processor that this is a loop which waits for another one. */
static inline void hw_thread_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
