/* interrupt.h - SIGINT, SIGTERM and SIGHUP: they end a run at an agreed clock, and end the process where no run is in progress. */
#ifndef HW_CLI_INTERRUPT_H
#define HW_CLI_INTERRUPT_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

#include "hawser/hawser.h"

/* One per process, made by main. From then on the three signals are blocked, and a thread takes them. */
typedef struct hw_interrupt {
    sigset_t before, set; /* the mask that main found; what the thread waits for */
    pthread_t thread;
    bool watching, silent;
    pthread_mutex_t mutex; /* guards what follows */
    bool closing;
    hawser_job *job;   /* the run in progress; NULL: a signal ends the process */
    const char *words; /* what a signal does, behind "ended by SIGTERM " without a run */
    hawser_job *told;  /* whose other nodes receive the reason when a signal ends the process; NULL: none */
    bool goes_on;      /* SIGHUP is logged and passed over */
    int first;         /* the signal that asked for the end; 0: none yet */
    double first_at;
} hw_interrupt;

/* Blocks the signals and starts the thread. silent: nothing is said when a signal ends the process before a run begins. HAWSER_NO_MEMORY: the thread cannot be started; the mask is as it was. */
hawser_status hw_interrupt_open(hw_interrupt *interrupt, bool silent, hawser_error *error) HAWSER_MUST_USE;
/* Ends the thread. The signals stay blocked: the process reads them another way (hawser run), or is about to end. */
void hw_interrupt_close(hw_interrupt *interrupt);

/* All of the following take NULL: the process has no such thread, and nothing happens. */
/* Sets what is said when a signal ends the process before a run begins; a literal: "before the training began". */
void hw_interrupt_words(hw_interrupt *interrupt, const char *words);
/* From now on, until it is NULL, the other nodes of this job receive which signal has ended this node. */
void hw_interrupt_tell(hw_interrupt *interrupt, hawser_job *job);
/* From now on SIGHUP is logged and passed over: the process has no terminal that it could lose. */
void hw_interrupt_pass_over_hangups(hw_interrupt *interrupt);
/* From now on a signal ends the job's run, and a second one the process. `words` are said with the first: "ending at the next agreed
 * clock". Also blocks SIGPIPE in this thread and those that it starts: a pipe whose reader Ctrl-C has ended, too, must not end the
 * process before it has saved. */
void hw_interrupt_begin(hw_interrupt *interrupt, hawser_job *job, const char *words);
/* Whether a signal has asked this process to end its run. */
bool hw_interrupt_came(hw_interrupt *interrupt);
void hw_interrupt_end(hw_interrupt *interrupt);

/* Whether `number`, which came `after` seconds after `first`, is another sign of the same request, and not a second one. A terminal that is
 * closed sends SIGHUP from the shell and from the kernel; Slurm and systemd send SIGTERM from two sides, or with SIGHUP; timeout sends
 * its signal twice. */
bool hw_interrupt_echoes(int first, int number, double after);
/* "SIGTERM"; NULL for 0 or what is no signal. */
const char *hw_signal_name(int number, char *text, size_t size);
/* Whether the process has a terminal that it could lose. */
bool hw_interrupt_has_terminal(void);

#endif
