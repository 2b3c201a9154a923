/* child.h - one node as its agent sees it: a process in a group of its own, its channel, its standard streams. */
#ifndef HW_CLI_RUN_CHILD_H
#define HW_CLI_RUN_CHILD_H

#include <signal.h>
#include <sys/types.h>

#include "cli/run/wire.h"

typedef struct hw_child {
    uint32_t node;
    char name[64];
    pid_t pid;   /* 0: never started */
    bool ended;  /* and said so */
    int channel; /* place.h describes it; -1: closed */
    int in, out, err;
    hw_buffer told;  /* waits to go down the channel */
    hw_buffer heard; /* part of a line from the channel */
    hw_buffer input;
    bool input_ended;
} hw_child;

/* What all nodes of an agent share. */
typedef struct hw_child_job {
    char **words; /* ended by NULL; the first one is the program */
    char **environment;
    const char *key;         /* hexadecimal digits */
    const char *directory;   /* to work in; NULL: here */
    int in, out;             /* for node 0: taken as they are; -1: pipes to the agent */
    const sigset_t *signals; /* for the node: the mask that hawser run was started with */
} hw_child_job;

/* Starts it. HAWSER_OK with child->pid 0: it could not be executed, *code says what a shell would say, and `error` why. */
hawser_status hw_child_start(hw_child *child, const hw_child_job *job, int *code, hawser_error *error) HAWSER_MUST_USE;
/* Sends to its whole group. */
void hw_child_signal(const hw_child *child, int number);
/* Queues a line for its channel. */
hawser_status hw_child_tell(hw_child *child, const char *word, const char *text, hawser_error *error) HAWSER_MUST_USE;
void hw_child_close(hw_child *child);

#endif
