/* cluster.h - the cluster of a program, on which its jobs are opened one after another. */
#ifndef HW_RUNTIME_JOB_CLUSTER_H
#define HW_RUNTIME_JOB_CLUSTER_H

#include "cluster/cluster.h"
#include "hawser/advanced.h"
#include "hawser/hawser.h"
#include "runtime/job/enter.h"
#include "runtime/job/recorder.h"

/* hawser_cluster_open at a place that is known already, which is copied; NULL: asks the launchers. */
hawser_status hw_cluster_open_at(const hawser_options *options, const hw_place *place, const hawser_opening *opening,
                                 hawser_cluster **cluster, hawser_error *error) HAWSER_MUST_USE;
/* Begins a job, and stores its nodes in *nodes (NULL: this node alone). HAWSER_BAD_ARGUMENT: a job is open, or this is a
 * forked child, and nothing has begun. After any other failure, too, call hw_cluster_give_back: *lent is true then.
 * Collective. */
hawser_status hw_cluster_lend(hawser_cluster *cluster, const hawser_options *options, const hw_entry *entry,
                              hw_cluster **nodes, bool *lent, hawser_error *error) HAWSER_MUST_USE;
/* Returns how the cluster's process was started. */
const hw_place *hw_cluster_place(const hawser_cluster *cluster);
/* Returns the files of histories that jobs on this cluster have written. */
hw_histories *hw_cluster_histories(hawser_cluster *cluster);
/* Ends the job. Closes the cluster if the program has closed it meanwhile. */
void hw_cluster_give_back(hawser_cluster *cluster);

#endif
