/* thread.h - background threads. They block all signals, so that the program's thread that waits for Ctrl-C gets it. */
#ifndef HW_BASE_THREAD_H
#define HW_BASE_THREAD_H

#include <pthread.h>

/* pthread_create with every signal blocked in the new thread. Returns what pthread_create returns. */
int hw_thread_start(pthread_t *thread, void *(*body)(void *argument), void *argument);

/* pthread_cond_init for deadlines by hw_seconds. Returns what pthread_cond_init returns: 0 on Linux. */
int hw_thread_condition(pthread_cond_t *condition);

/* Marks a loop that waits for another thread, for the processor. */
static inline void hw_thread_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
