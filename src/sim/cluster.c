#include "sim/cluster.h"

#include <stdlib.h>

#include "sim/disk.h"
#include "sim/machine.h"
#include "sim/nets.h"

typedef struct sim_node {
    const sim_cluster *cluster;
    uint32_t number;
} sim_node;

static int node_main(void *argument)
{
    const sim_node *node = argument;
    return node->cluster->main(node->cluster->user, node->number);
}

uint64_t sim_cluster_bytes(uint32_t nodes)
{
    /* Measured from 8 to 1,000 nodes: stacks and records of a node, and what it keeps of each other node. */
    const uint64_t own = 160 << 10, other = 1000;
    return nodes * (own + nodes * other);
}

static bool crashes(const sim_faults *faults)
{
    for (size_t i = 0; faults != NULL && i < faults->count; i++)
        if (faults->list[i].kind == SIM_FAULT_CRASH)
            return true;
    return false;
}

sim_outcome sim_cluster_run(const sim_cluster *cluster, int *codes)
{
    uint32_t nodes = cluster->nodes, per_host = cluster->per_host > 0 ? cluster->per_host : 1;
    uint32_t hosts = (nodes + per_host - 1) / per_host;
    sim_node *all = calloc(nodes, sizeof *all);
    if (all == NULL)
        abort();
    sim_open(cluster->seed, nodes);
    sim_choose_by(cluster->chooser);
    sim_limit_memory(cluster->memory);
    sim_network_open(&cluster->rates, hosts);
    sim_nets_open();
    sim_compute_open(&cluster->costs, hosts);
    sim_disks_open(cluster->sync, crashes(cluster->faults), hosts);
    sim_form_jobs(cluster->job_count > 0 ? cluster->jobs : &nodes, cluster->job_count > 0 ? cluster->job_count : 1);
    for (uint32_t i = 0; i < nodes; i++) {
        all[i] = (sim_node){cluster, i};
        (void)sim_start(i / per_host, node_main, &all[i]);
    }
    if (cluster->faults != NULL)
        sim_faults_plan(cluster->faults);
    sim_outcome outcome = {.end = sim_run(SIM_FIRST + (uint64_t)(cluster->limit * 1e9))};
    outcome.seconds = 1e-9 * (double)(sim_now() - SIM_FIRST);
    outcome.events = sim_events();
    for (uint32_t i = 0; i < hosts; i++) {
        uint64_t bytes = sim_link_bytes(i);
        outcome.bytes += bytes;
        outcome.busiest = bytes > outcome.busiest ? bytes : outcome.busiest;
    }
    for (uint32_t i = 0; codes != NULL && i < nodes; i++)
        codes[i] = sim_process_at(i)->state == SIM_ENDED ? sim_process_at(i)->code : -1;
    sim_disks_close();
    sim_compute_close();
    sim_nets_close();
    sim_network_close();
    sim_close();
    free(all);
    return outcome;
}
