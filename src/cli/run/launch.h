/*
 * launch.h - the launcher's side of `hawser run`: a connection to each host with its agent, and the state of each node.
 *
 * The local host's agent is a child with a socket, another host's is a child of ssh there. All are treated alike: when the launcher
 * goes, however, their wires end, and they end their nodes.
 */
#ifndef HW_CLI_RUN_LAUNCH_H
#define HW_CLI_RUN_LAUNCH_H

#include <signal.h>
#include <stdio.h>
#include <sys/types.h>

#include "cli/run/hosts.h"
#include "cli/run/wire.h"

enum { HW_ADDRESS_MOST = 512 }; /* bytes of an address, the zero included; more than place.h knows */

/* Follows "was killed by signal 9 (KILL)". */
#define HW_OUT_OF_MEMORY "; unless a person did that, the machine was out of memory, which the kernel's log shows"

/* Text of a node on its way: whole lines are printed, behind its name. */
typedef struct hw_lines {
    hw_buffer bytes;
} hw_lines;

typedef struct hw_run_node {
    char name[64];
    char label[72]; /* in front of its lines */
    long pid;       /* 0: not started */
    bool ended;
    int code, signal;
    bool interrupted; /* it ended when hawser run itself had been told to end */
    bool ours;        /* it ended when we had sent signals that end */
    uint32_t blamed;  /* whom it has lost, as its channel says; the number of nodes: nobody */
    double blamed_at;
    char why[200];
    hw_lines out, err;
    FILE *file; /* --output-dir */
} hw_run_node;

typedef struct hw_host_connection {
    const hw_host *host; /* NULL: this one */
    uint32_t first, count;
    pid_t pid; /* of the agent, or of ssh; 0: reaped */
    int result;
    hw_wire wire;
    int err; /* ssh's own words */
    hw_lines words;
    char last[200]; /* the last of them */
    bool greeted, closed;
    double silent; /* seconds of ours since its last word, or, before its greeting, since it was started */
    double most;   /* 0, or how long it was silent when it was given up */
} hw_host_connection;

typedef struct hw_launch {
    /* What was asked for: */
    char *const *words;
    size_t word_count;
    bool own;      /* the words are a subcommand of this command */
    bool serves;   /* it is serve */
    bool terminal; /* we have one that we could lose */
    const char *ssh, *remote;
    bool prefix;
    double grace, join_timeout, failure_timeout;
    char job[64], key[65];
    FILE *stream_out, *stream_err;
    /* What has become of it: */
    char address[HW_ADDRESS_MOST]; /* of node 0; "": not heard yet */
    hw_host_connection *connections;
    size_t connection_count;
    hw_run_node *nodes;
    uint32_t node_count;
    sigset_t mask; /* for children */
    int signals;
    int stdin_fd;     /* to be passed on to node 0 on another host; -1: not, or no more */
    size_t input_out; /* bytes of it that node 0 has not taken yet */
    unsigned interrupts;
    int first_signal;      /* of them, */
    double first_at;       /* and when it came */
    uint32_t first_failed; /* the one that is named; node_count: none yet */
    uint32_t follower;     /* the first that has ended for another's failure; node_count: none */
    double name_at;        /* when it is time to name whom the followers blame; 0: nobody is to be named */
    bool inferred; /* the first cause was inferred; a node that turns out to have failed on its own is named after all */
    int stage;     /* of ending what is left after a failure: 0 not, 1 waiting, 2 SIGTERM sent, 3 SIGKILL sent */
    double next_stage;
    double looked_at;  /* when it was last looked how long hosts have been silent */
    double abandon_at; /* when hosts that have not answered SIGKILL are given up; 0: it was not sent */
    struct pollfd *set;
} hw_launch;

/* connection.c */
hawser_status hw_host_connection_start(hw_launch *launch, hw_host_connection *connection,
                                       hawser_error *error) HAWSER_MUST_USE;
/* Reads and takes what has come. */
hawser_status hw_host_connection_serve(hw_launch *launch, hw_host_connection *connection,
                                       hawser_error *error) HAWSER_MUST_USE;
/* ssh's words. */
hawser_status hw_host_connection_receive(hw_launch *launch, hw_host_connection *connection,
                                         hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_host_connection_signal(hw_launch *launch, int number, hawser_error *error) HAWSER_MUST_USE;
/* The agent's process has ended, or its wire has: what it did not account for is lost. */
hawser_status hw_host_connection_settle(hw_launch *launch, hw_host_connection *connection,
                                        hawser_error *error) HAWSER_MUST_USE;
/* Counts the time that it has been silent; past its deadline it is lost. */
hawser_status hw_host_connection_wait(hw_launch *launch, hw_host_connection *connection, double seconds,
                                      hawser_error *error) HAWSER_MUST_USE;
/* It has not even answered SIGKILL: says so and goes on without it. */
hawser_status hw_host_connection_abandon(hw_launch *launch, hw_host_connection *connection,
                                         hawser_error *error) HAWSER_MUST_USE;
void hw_host_connection_free(hw_host_connection *connection);

/* lines.c: prints the whole lines of what is there, and with `last` the rest. */
hawser_status hw_lines_take(hw_lines *lines, const char *label, FILE *out, const char *data, size_t length, bool last,
                            hawser_error *error) HAWSER_MUST_USE;

/* loop.c: seconds within which an agent gives signs of life. */
double hw_launch_beat(const hw_launch *launch);
/* Until all have ended. */
hawser_status hw_launch_loop(hw_launch *launch, hawser_error *error) HAWSER_MUST_USE;

/* first_cause.c: which node failed first, by cause and not by time of arrival. */
/* A node has ended; the first one that failed of itself is named, and the others' time runs. */
hawser_status hw_launch_ended(hw_launch *launch, uint32_t node, int code, int number, const char *why,
                              hawser_error *error) HAWSER_MUST_USE;
/* A node says that it ends for another's failure. */
void hw_launch_count_losses(hw_launch *launch, uint32_t teller, uint32_t node, const char *why);
/* All have ended, or it is time: if all who failed have failed for others, the one that most of them blame is named. */
void hw_launch_find_first_cause(hw_launch *launch);
/* What hawser run returns. Says so where a signal has ended all before they had begun. */
int hw_launch_code(const hw_launch *launch);

#endif
