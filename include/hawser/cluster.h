/*
 * cluster.h - the nodes of a program, joined once, for any number of jobs.
 *
 * Without this header each job joins its nodes and leaves them, and a launcher lets a process join once. With it a process
 * joins when it opens the cluster, and opens its jobs on that, one after another, each with options of its own
 * (hawser_opening.cluster).
 */
#ifndef HAWSER_CLUSTER_H
#define HAWSER_CLUSTER_H

#include <stdint.h>

#include "hawser/options.h"
#include "hawser/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hawser_cluster hawser_cluster;
struct hawser_opening; /* hawser.h */

/** One node of a cluster. The cluster owns the texts. */
typedef struct hawser_member {
    uint32_t number;      /**< from 0 */
    uint32_t host;        /**< number of its host: nodes of one host share it */
    uint64_t incarnation; /**< random: another process that had this number would have another one */
    const char *name;     /**< as messages name it */
    const char *address;  /**< HOST:PORT at which other nodes reach it; "" for the only node */
} hawser_member;

/** The nodes of a cluster at a time. */
typedef struct hawser_membership {
    uint64_t number; /**< of the view; 1, since nodes neither come nor are replaced yet */
    const char
        *token; /**< 32 hexadecimal digits, drawn at random when the nodes joined; the same on every node, and no secret */
    uint32_t node; /**< the own number */
    uint32_t count;
    const hawser_member *members; /**< by number */
} hawser_membership;

/** Finds out from the launcher, or from --join and --listen, which node this process is, and joins the others; without any
 *  of them the cluster is this process alone. `options` includes hawser_job_rows() and counts during this call. `opening`
 *  may be NULL; `messages`, `key`, `key_length` and `node` of it count here, and `cancellation`, which ends the wait for the
 *  others with HAWSER_STOP; messages and cancellation outlive the cluster. Collective. Returns HAWSER_TIMEOUT with the names
 *  of missing nodes, and HAWSER_PEER_LOST if one is lost.
 *
 *  A cluster has one job at a time: opening a second one while one is open returns HAWSER_BAD_ARGUMENT. Every node opens the
 *  same jobs in the same order, and closes each of them; a job that is closed on one node early ends on the others with an
 *  error, and the next one can be opened. Opening waits for all nodes at most for the job's --timeout, and until the job's
 *  cancellation: then the others have lost this node. If a node has closed its cluster meanwhile, it fails and names that
 *  node.
 *
 *  The options of joining hold for all jobs of the cluster: listen, join, key-file, node-name, alone, interface, port-range,
 *  transport, trust-fabric, failure-timeout, join-timeout and rate. A job that sets one of them to another value than the
 *  cluster's is refused with HAWSER_BAD_OPTION if the program or the command line sets it, and reports a note if a file or
 *  the environment does.
 *
 *  A loss ends the job that is open, and every later one fails at once with that loss. The cluster can still be closed,
 *  without waiting. */
HAWSER_API hawser_status hawser_cluster_open(const hawser_options *options, const struct hawser_opening *opening,
                                             hawser_cluster **cluster, hawser_error *error) HAWSER_MUST_USE;
/** Leaves the other nodes and frees the cluster. If a job is open on it, that happens when the job is closed. */
HAWSER_API void hawser_cluster_close(hawser_cluster *cluster);
/** Returns the nodes of the cluster, which owns what is returned. Each job runs on the nodes of the moment at which it was
 *  opened. */
HAWSER_API const hawser_membership *hawser_cluster_view(const hawser_cluster *cluster);

#ifdef __cplusplus
}
#endif
#endif
