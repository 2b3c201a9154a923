/* interrupt.h - SIGINT, SIGTERM and SIGHUP: they end a run at an agreed clock, and end the process where no run is in
 * progress. */
#ifndef HW_CLI_INTERRUPT_H
#define HW_CLI_INTERRUPT_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

#include "hawser/hawser.h"

/* One per process, made by main. While it is open the three signals are blocked, and a thread takes them. */
typedef struct hw_interrupt {
    sigset_t before, set; /* the mask that main found; what the thread waits for */
    pthread_t thread;
    bool watching;
    bool silent;           /* another node prints what a signal does that the launcher sends to all nodes */
    pthread_mutex_t mutex; /* guards the next fields */
    bool closing;
    hawser_job *job;      /* the run in progress; NULL: a signal ends the process */
    const char *words;    /* what a signal does, behind "ended by SIGTERM " without a run */
    hawser_job *open_job; /* its other nodes receive the reason when a signal ends the process; NULL: none */
    bool goes_on;         /* SIGHUP is logged and ignored */
    int first;            /* the signal that asked for the end; 0: none yet */
    double first_at;
} hw_interrupt;

/* Blocks the signals and starts the thread. silent: nothing is printed about a signal if the launcher or the terminal sent
 * it, because another node prints the same. A signal from elsewhere is for this process alone, and is printed.
 * HAWSER_NO_MEMORY: the thread cannot be started, and the mask is unchanged. */
hawser_status hw_interrupt_open(hw_interrupt *interrupt, bool silent, hawser_error *error) HAWSER_MUST_USE;
/* Ends the thread. The signals stay blocked: the process reads them another way (hawser run), or is about to end. */
void hw_interrupt_close(hw_interrupt *interrupt);

/* All the following functions allow NULL: the process has no such thread, and they do nothing. */
/* Sets the text for a signal that ends the process before a run begins; a literal: "before the training began". */
void hw_interrupt_words(hw_interrupt *interrupt, const char *words);
/* Until the next call, the other nodes of this job receive the name of the signal that ends this node. NULL: no job. */
void hw_interrupt_set_job(hw_interrupt *interrupt, hawser_job *job);
/* From now on SIGHUP is logged and ignored: the process has no terminal that it could lose. */
void hw_interrupt_pass_over_hangups(hw_interrupt *interrupt);
/* From now on a signal ends the job's run, and a second one the process. `words` are printed at the first: "ending at the
 * next agreed clock". Also blocks SIGPIPE in this thread and those that it starts: if Ctrl-C has ended the reader of a pipe,
 * too, this process must still save. */
void hw_interrupt_begin(hw_interrupt *interrupt, hawser_job *job, const char *words);
/* Returns whether another node prints what all nodes of the job would. */
bool hw_interrupt_is_silent(const hw_interrupt *interrupt);
/* Returns whether a signal has asked this process to end its run. */
bool hw_interrupt_came(hw_interrupt *interrupt);
void hw_interrupt_end(hw_interrupt *interrupt);

/* Returns whether the process has a terminal that it could lose. */
bool hw_interrupt_has_terminal(void);

#endif
