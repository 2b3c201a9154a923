/* interrupt.h - Ctrl-C ends a training at an agreed clock; a second one ends the process. */
#ifndef HW_CLI_INTERRUPT_H
#define HW_CLI_INTERRUPT_H

#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#include "hawser/hawser.h"

typedef struct hw_interrupt {
    pthread_t thread;
    sigset_t before;
    hawser_job *job;
    FILE *err;
    const char *words;
} hw_interrupt;

/* Call before the job's threads start: they inherit the blocked signals, so that one thread alone receives them. `words` are said when one has come:
 * what ends. */
hawser_status hw_interrupt_begin(hw_interrupt *interrupt, hawser_job *job, FILE *err, const char *words,
                                 hawser_error *error) HAWSER_MUST_USE;
void hw_interrupt_end(hw_interrupt *interrupt);

#endif
