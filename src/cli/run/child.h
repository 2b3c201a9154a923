/* child.h - the agent's side of one node: a process in a group of its own, its channel, its standard streams. */
#ifndef HW_CLI_RUN_CHILD_H
#define HW_CLI_RUN_CHILD_H

#include <signal.h>
#include <sys/types.h>

#include "cli/run/wire.h"

typedef struct hw_child {
    uint32_t node;
    char name[64];
    pid_t pid;   /* 0: never started */
    bool ended;  /* and its end was reported */
    int channel; /* place.h describes it; -1: closed */
    int in, out, err;
    hw_buffer outgoing; /* waits to be written to the channel */
    hw_buffer incoming; /* part of a line from the channel */
    hw_buffer input;
    bool input_ended;
} hw_child;

/* What all nodes of an agent share. */
typedef struct hw_child_job {
    char **words; /* ended by NULL; the first one is the program */
    char **environment;
    const char *key;         /* hexadecimal digits */
    const char *directory;   /* the working directory; NULL: the present one */
    int in, out;             /* for node 0: used as they are; -1: pipes to the agent */
    const sigset_t *signals; /* for the node: the mask with which hawser run was started */
} hw_child_job;

/* Starts the node's process. HAWSER_OK with child->pid 0: it could not be executed; *code is the exit code that a shell
 * would return, and `error` the reason. */
hawser_status hw_child_start(hw_child *child, const hw_child_job *job, int *code, hawser_error *error) HAWSER_MUST_USE;
/* Sends a signal to its whole group. */
void hw_child_signal(const hw_child *child, int number);
/* Kills a process group whose first process, a child, has ended or ends now; reaps it, and stores its result unless that is
 * NULL. */
void hw_end_group(pid_t group, int *result);
/* Queues a line for its channel. */
hawser_status hw_child_send(hw_child *child, const char *word, const char *text, hawser_error *error) HAWSER_MUST_USE;
void hw_child_close(hw_child *child);

#endif
