/*
 * kept_results.h - results of local and stored states. After a run each node keeps the shares of its own blocks, and sends
 * ranges of them to nodes that request them (HW_MESSAGE_KEPT), until all nodes have freed the run or closed the job. No node
 * has the whole unless its program requests it.
 */
#ifndef HW_RUNTIME_JOB_KEPT_RESULTS_H
#define HW_RUNTIME_JOB_KEPT_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/cluster.h"

/* The results of all runs of a job. */
typedef struct hw_kept_results hw_kept_results;

/* The share of a block, or a part of a moving state: numbers [begin, end) of the state. */
typedef struct hw_kept_share {
    size_t begin, end;
    uint32_t node;
    void *values;               /* NULL: on another node, or empty */
    struct hw_message *message; /* whose payload the values are; NULL: they are memory of their own */
} hw_kept_share;

typedef struct hw_kept_values {
    const char *name; /* of the state; the run owns it and sets it last */
    uint32_t state;   /* its number */
    size_t size;      /* bytes of a number */
    size_t count;
    hw_kept_share *shares; /* by block; of a moving state by part */
    uint32_t share_count;
    bool lost;   /* the run failed or was abandoned while parts of a moving state were under way */
    void *whole; /* all numbers, once they were requested; NULL: not yet */
    bool joined; /* the shares of this node are parts of `whole` */
} hw_kept_values;

/* Which nodes read no more of a run, or of all. Over the tree of gathering.h a node receives this of its children's
 * branches, and then of all nodes. */
typedef struct hw_ended_branches {
    uint8_t below; /* a bit for each child: all nodes of its branch have ended */
    bool sent;     /* this node's branch has */
    bool all;
} hw_ended_branches;

/* The local and stored states of one run. */
typedef struct hw_kept_run {
    struct hw_kept_run *next;
    hw_kept_results *owner;
    uint64_t run;
    uint32_t blocks, count;
    hw_kept_values *states; /* `count` of them */
    bool freed;             /* by this node's program */
    hw_ended_branches ends; /* the nodes that have freed it */
    uint64_t data;          /* bytes of data on this node, */
    uint64_t limit;         /* and the limit of its memory */
} hw_kept_run;

/* Opens the list of a job, before its first result. `timeout`: seconds for which a reader waits for a node that is alive. */
hawser_status hw_kept_results_open(hw_cluster *cluster, double timeout, hawser_messages *messages, hw_kept_results **results,
                                   hawser_error *error) HAWSER_MUST_USE;
/* Makes an empty result of `count` states. The caller fills `states` except `whole`, and `data` and `limit`. */
hawser_status hw_kept_run_new(hw_kept_results *results, uint64_t run, uint32_t blocks, uint32_t count, hw_kept_run **result,
                              hawser_error *error) HAWSER_MUST_USE;
/* From now on other nodes may read the result. Every node does this before the run has ended on any node. */
void hw_kept_run_publish(hw_kept_run *result);
/* Frees a result that no program got, since its run has failed. NULL is allowed. */
void hw_kept_run_drop(hw_kept_run *result);
/* Frees a result on behalf of this node's program. Its shares stay until the other nodes have freed theirs. NULL is
 * allowed. */
void hw_kept_run_release(hw_kept_run *result);

/* Copies numbers [first, first + count) of a state, which has them, to `out`, from whichever nodes have them. Blocks. Any
 * thread. */
hawser_status hw_kept_run_read(hw_kept_run *result, uint32_t at, size_t first, size_t count, void *out,
                               hawser_error *error) HAWSER_MUST_USE;
/* Stores all numbers of a state in *whole, which the result owns. HAWSER_NO_MEMORY: they exceed the memory limit. Blocks.
 * Any thread. */
hawser_status hw_kept_run_whole(hw_kept_run *result, uint32_t at, const void **whole, hawser_error *error) HAWSER_MUST_USE;

/* The run failed because of a lost node, and its error has named the node. */
void hw_kept_results_told(hw_kept_results *results);
/* Waits until no other node can read results of this one. If a node is lost meanwhile, prints its name. NULL is allowed. */
void hw_kept_results_close(hw_kept_results *results);

#endif
