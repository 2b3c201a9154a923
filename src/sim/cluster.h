/* cluster.h - a world as a whole: its network, its nets, and the nodes of a job or of several. */
#ifndef HW_SIM_CLUSTER_H
#define HW_SIM_CLUSTER_H

#include "sim/compute.h"
#include "sim/faults.h"
#include "sim/network.h"
#include "sim/world.h"

/* A job of a world with several. */
typedef struct sim_job {
    uint32_t nodes;
    bool placed;      /* its nodes fill the hosts from `host` on; else node n of the world is on host n / per_host */
    uint32_t host;    /* of its first node */
    double start;     /* seconds from the beginning of the world, */
    bool follows;     /* or it starts when another job has ended: */
    uint32_t earlier; /* the number of that one */
} sim_job;

/* When a job began and when its last node ended, in seconds of the world; -1: it has not. */
typedef struct sim_span {
    double begin, end;
} sim_span;

typedef struct sim_cluster {
    uint64_t seed;       /* 0: nothing is drawn */
    sim_chooser chooser; /* all zeros: none */
    uint32_t nodes;
    uint32_t per_host;   /* nodes on each host; 0: one */
    const sim_job *jobs; /* their nodes are numbered in this order */
    size_t job_count;    /* 0: all nodes are one job */
    sim_span *spans;     /* where the times of each job are stored; NULL: not asked for */
    sim_rates rates;
    sim_costs costs;
    double sync;                            /* seconds that syncing a file takes */
    double limit;                           /* seconds of virtual time, from the beginning */
    uint64_t memory;                        /* bytes that this process may have; 0: no limit */
    const sim_faults *faults;               /* NULL: none */
    int (*main)(void *user, uint32_t node); /* of each node, returns its exit code */
    void *user;
} sim_cluster;

typedef struct sim_outcome {
    sim_end end;
    double seconds; /* of virtual time */
    uint64_t events;
    uint64_t bytes, busiest; /* that left up-links, heads included: of all hosts, of the one that sent most */
} sim_outcome;

/* Returns the bytes that the nodes of a cluster need, besides the states and data of their program. */
uint64_t sim_cluster_bytes(uint32_t nodes);
/* Runs all nodes in a world of its own. codes: of each node, -1 if it was killed or has not ended; NULL: not
 * asked for. */
sim_outcome sim_cluster_run(const sim_cluster *cluster, int *codes);

#endif
