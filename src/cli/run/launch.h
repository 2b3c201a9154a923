/*
 * launch.h - the launcher's side of `hawser run`: a connection to each host with its agent, and the state of each node.
 *
 * The local host's agent is a child with a socket, another host's is a child of ssh there. All are treated alike: when the
 * launcher ends, in whatever way, their wires end, and they end their nodes.
 */
#ifndef HW_CLI_RUN_LAUNCH_H
#define HW_CLI_RUN_LAUNCH_H

#include <signal.h>
#include <stdio.h>
#include <sys/types.h>

#include "cli/run/hosts.h"
#include "cli/run/wire.h"

enum { HW_ADDRESS_MOST = 512 }; /* bytes of an address, the zero included; more than the limit in place.h */

/* Follows "was killed by signal 9 (KILL)". */
#define HW_OUT_OF_MEMORY "; unless a person did that, the machine was out of memory, which the kernel's log shows"

/* Output of a node: whole lines are printed, behind its name. */
typedef struct hw_lines {
    hw_buffer bytes;
} hw_lines;

typedef struct hw_run_node {
    char name[64];
    char label[72]; /* in front of its lines */
    long pid;       /* 0: not started */
    bool ended;
    int code, signal;
    bool interrupted; /* it ended after hawser run itself was asked to end */
    bool ours;        /* it ended after we had sent signals that end it */
    uint32_t blamed;  /* the node that it has lost, by its channel; the number of nodes: none */
    double blamed_at;
    char why[200];
    hw_lines out, err;
    FILE *file; /* --output-dir */
} hw_run_node;

typedef struct hw_host_connection {
    hw_host *host; /* NULL: this one */
    uint32_t first, count;
    pid_t pid; /* of the agent, or of ssh; 0: reaped */
    int result;
    hw_wire wire;
    int err; /* ssh's standard error */
    hw_lines words;
    char last[200];       /* its last line */
    bool asked;           /* to take part: gather.c */
    double again;         /* the time from which a host that failed may be asked again; 0: it has not failed */
    bool greeted, closed; /* closed: also before its agent is started */
    double silent;        /* seconds, in our time, since its last frame, or, before its greeting, since its start */
    double most;          /* 0, or how long it was silent when it was abandoned */
} hw_host_connection;

/* What the launcher runs. */
typedef enum hw_run_kind { HW_RUN_PROGRAM, HW_RUN_TRAINS, HW_RUN_SERVES, HW_RUN_PLANS } hw_run_kind;

/* Restarts, over all starts of the command. */
typedef struct hw_restarts {
    uint64_t most, done;
    unsigned idle;   /* restarts in a row, before the present start, that made no progress */
    bool strict;     /* only a checkpoint is progress */
    bool reported;   /* an earlier start has reported a checkpoint */
    double window;   /* seconds that are progress if no checkpoint is ever reported */
    double began;    /* time of the present start */
    long long input; /* position of standard input, where each start begins to read; -1: it has none */
} hw_restarts;

/* Files of --output-dir, over all starts. */
typedef struct hw_run_logs {
    const char *directory; /* NULL: none */
    char (*names)[64];
    size_t count, capacity;
} hw_run_logs;

/* One start of the command. */
typedef struct hw_launch {
    /* From the command line: */
    char *const *words;
    size_t word_count;
    bool own; /* the words are a subcommand of this command */
    hw_run_kind does;
    bool may_keep_checkpoints, keeps_checkpoints; /* a subcommand has an option for it, which is given */
    bool fresh;                                   /* each start would delete the checkpoints of the one before */
    uint32_t workers;                             /* 0: unknown */
    char *checkpoint;                             /* the folder from which each start may go on; NULL: none */
    uint32_t least, most;                         /* nodes */
    char range[32];                               /* as it was given; "": a number */
    bool gathers;                                 /* finds the hosts that answer before it places nodes */
    hw_hosts *hosts;
    hw_run_logs *logs;
    hw_restarts *restarts;
    bool terminal; /* the launcher has a terminal that it could lose */
    const char *ssh, *remote;
    bool prefix;
    double grace, join_timeout, failure_timeout;
    char job[64];
    char *key; /* its digits, on pages that core dumps leave out */
    FILE *stream_out, *stream_err;
    /* The state: */
    char address[HW_ADDRESS_MOST]; /* of node 0; "": unknown yet */
    hw_host_connection *connections;
    size_t connection_count;
    hw_run_node *nodes;
    uint32_t node_count;        /* 0: they are not placed yet */
    hw_host_connection *leader; /* that of node 0 */
    bool gathering;
    sigset_t mask; /* for children */
    int signals;
    int stdin_fd;     /* sent on to node 0 on another host; -1: no, or not any more */
    size_t input_out; /* bytes of it that node 0 has not taken yet */
    unsigned interrupts;
    int first_signal;      /* the first of them, */
    double first_at;       /* and its time */
    uint32_t first_failed; /* the node that is named; node_count: none yet */
    uint32_t follower;     /* the first node that has ended because of another's failure; node_count: none */
    double failed_at;      /* time of the first failure */
    double name_at;        /* time at which the node that the followers blame is named; 0: none */
    bool inferred;   /* the first cause was inferred; a node that turns out to have failed by itself is named after all */
    bool progressed; /* node 0 has reported a new checkpoint */
    int stage;       /* of ending the other nodes after a failure: 0 not begun, 1 waiting, 2 SIGTERM sent, 3 SIGKILL sent */
    double next_stage;
    double looked_at;  /* time of the last check of silent hosts */
    double abandon_at; /* time at which hosts that have not answered SIGKILL are abandoned; 0: it was not sent */
    struct pollfd *set;
} hw_launch;

/* connection.c */
hawser_status hw_host_connection_start(hw_launch *launch, hw_host_connection *connection,
                                       hawser_error *error) HAWSER_MUST_USE;
/* Makes use of a connection that was opened before nodes were placed: sends its job, or ends it if it has no nodes. */
hawser_status hw_host_connection_use(hw_launch *launch, hw_host_connection *connection, hawser_error *error) HAWSER_MUST_USE;
/* Reads and handles what has arrived. */
hawser_status hw_host_connection_serve(hw_launch *launch, hw_host_connection *connection,
                                       hawser_error *error) HAWSER_MUST_USE;
/* Reads ssh's standard error. */
hawser_status hw_host_connection_receive(hw_launch *launch, hw_host_connection *connection,
                                         hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_host_connection_signal(hw_launch *launch, int number, hawser_error *error) HAWSER_MUST_USE;
/* Called when the agent's process or its wire has ended: nodes whose end it has not reported are lost. */
hawser_status hw_host_connection_settle(hw_launch *launch, hw_host_connection *connection,
                                        hawser_error *error) HAWSER_MUST_USE;
/* Counts its silence; beyond its deadline it is lost. */
hawser_status hw_host_connection_wait(hw_launch *launch, hw_host_connection *connection, double seconds,
                                      hawser_error *error) HAWSER_MUST_USE;
/* Abandons a host that has not even answered SIGKILL, with a line. */
hawser_status hw_host_connection_abandon(hw_launch *launch, hw_host_connection *connection,
                                         hawser_error *error) HAWSER_MUST_USE;
void hw_host_connection_free(hw_host_connection *connection);

/* lines.c: prints the whole lines of the output, and with `last` the rest. */
hawser_status hw_lines_take(hw_lines *lines, const char *label, FILE *out, const char *data, size_t length, bool last,
                            hawser_error *error) HAWSER_MUST_USE;

/* start.c */
/* Starts the command, runs it to its end, and ends what is left of it. Afterwards hw_start_free frees it. */
hawser_status hw_start(hw_launch *launch, hawser_error *error) HAWSER_MUST_USE;
void hw_start_free(hw_launch *launch);

/* gather.c */
/* Opens connections until hosts have answered that have enough slots, marks the others as out, and ends. HAWSER_PEER_LOST:
 * too few answer. */
hawser_status hw_gather(hw_launch *launch, hawser_error *error) HAWSER_MUST_USE;

/* restart.c */
/* Refuses --restarts for a command that a restart would not help, and finds out what later starts read. */
hawser_status hw_restarts_check(const hw_launch *launch, hawser_error *error) HAWSER_MUST_USE;
/* Writes what follows the failure that has just been named: "; restart 1 of 3". */
void hw_restarts_say(const hw_launch *launch, char *text, size_t size);
/* Called when a start has ended. Returns whether the command starts again, and counts that. */
bool hw_restarts_next(const hw_launch *launch);

/* loop.c: returns the seconds between two heartbeats of an agent. */
double hw_launch_beat(const hw_launch *launch);
/* Waits for one event and handles it. */
hawser_status hw_launch_turn(hw_launch *launch, hawser_error *error) HAWSER_MUST_USE;
/* Handles the signals that have arrived. */
hawser_status hw_launch_signals(hw_launch *launch, hawser_error *error) HAWSER_MUST_USE;
/* Runs until all nodes have ended. */
hawser_status hw_launch_loop(hw_launch *launch, hawser_error *error) HAWSER_MUST_USE;

/* first_cause.c: finds the node that failed first, by cause and not by time of arrival. */
/* Handles the end of a node. The first one that failed by itself is named, and the grace of the others begins. */
hawser_status hw_launch_ended(hw_launch *launch, uint32_t node, int code, int number, const char *why,
                              hawser_error *error) HAWSER_MUST_USE;
/* Records that a node ends because of another's failure. */
void hw_launch_count_losses(hw_launch *launch, uint32_t reporter, uint32_t node, const char *why);
/* Called when all nodes have ended, or at name_at: if all failed because of others, names the node that most of them
 * blame. */
void hw_launch_find_first_cause(hw_launch *launch);
/* Returns the exit code of hawser run. Prints a line if a signal has ended all nodes before they began. */
int hw_launch_code(const hw_launch *launch);

#endif
