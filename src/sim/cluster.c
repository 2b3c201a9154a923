#include "sim/cluster.h"

#include <malloc.h>
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
    /* Measured from 8 to 1,200 nodes: stacks and records of a node, and what it keeps of each other node. */
    const uint64_t own = 176 << 10, other = 370;
    return nodes * (own + nodes * other);
}

static bool crashes(const sim_faults *faults)
{
    for (size_t i = 0; faults != NULL && i < faults->count; i++)
        if (faults->list[i].kind == SIM_FAULT_CRASH)
            return true;
    return false;
}

/* ---------------------------------------------------------------------------------------------------------- jobs ---- */

/* A job of the world that is open. */
typedef struct sim_group {
    sim_job job;
    uint32_t first, left; /* its first node; nodes that have not ended */
    sim_span span;
} sim_group;

static sim_group *groups;
static size_t group_count;
static const sim_faults *failing; /* NULL: none */

static void make_groups(const sim_cluster *cluster)
{
    group_count = cluster->job_count > 0 ? cluster->job_count : 1;
    groups = calloc(group_count, sizeof *groups);
    uint32_t *nodes = calloc(group_count, sizeof *nodes), first = 0;
    if (groups == NULL || nodes == NULL)
        abort();
    for (size_t j = 0; j < group_count; j++) {
        sim_job job = cluster->job_count > 0 ? cluster->jobs[j] : (sim_job){.nodes = cluster->nodes};
        groups[j] = (sim_group){.job = job, .first = first, .left = job.nodes, .span = {-1, -1}};
        first += nodes[j] = job.nodes;
    }
    failing = cluster->faults;
    sim_form_jobs(nodes, group_count);
    free(nodes);
}

/* Returns the host of a node of a group. */
static uint32_t host_of(const sim_group *group, uint32_t node, uint32_t per_host)
{
    return group->job.placed ? group->job.host + (node - group->first) / per_host : node / per_host;
}

static uint32_t count_hosts(uint32_t per_host)
{
    uint32_t hosts = 1;
    for (const sim_group *group = groups; group < groups + group_count; group++) {
        uint32_t last = host_of(group, group->first + group->job.nodes - 1, per_host);
        hosts = last + 1 > hosts ? last + 1 : hosts;
    }
    return hosts;
}

static double seconds_of_world(void)
{
    return 1e-9 * (double)(sim_now() - SIM_FIRST);
}

static void begin_job(void *unused, uint64_t number)
{
    sim_group *group = &groups[number];
    (void)unused;
    group->span.begin = seconds_of_world();
    for (uint32_t i = 0; i < group->job.nodes; i++)
        sim_begin(sim_process_at(group->first + i));
}

/* The last node of a job ends it, and so begins those that wait for that. */
static void process_changed(sim_process *process)
{
    size_t number = 0;
    if (process->state != SIM_ENDED && process->state != SIM_KILLED)
        return;
    while (number + 1 < group_count && groups[number + 1].first <= process->number)
        number++;
    if (--groups[number].left > 0)
        return;
    groups[number].span.end = seconds_of_world();
    for (size_t j = 0; j < group_count; j++)
        if (groups[j].job.follows && groups[j].job.earlier == number)
            sim_at(sim_now(), begin_job, NULL, j);
    if (failing != NULL)
        sim_faults_end((uint32_t)number);
}

/* Adds all nodes as processes, and begins the jobs that start at once. */
static void start_jobs(sim_node *all, const sim_cluster *cluster, uint32_t per_host)
{
    for (const sim_group *group = groups; group < groups + group_count; group++)
        for (uint32_t i = group->first; i < group->first + group->job.nodes; i++) {
            all[i] = (sim_node){cluster, i};
            (void)sim_add(host_of(group, i, per_host), node_main, &all[i]);
        }
    sim_on_change(process_changed);
    for (size_t j = 0; j < group_count; j++)
        if (groups[j].job.start > 0)
            sim_at(SIM_FIRST + (uint64_t)(groups[j].job.start * 1e9), begin_job, NULL, j);
        else if (!groups[j].job.follows)
            begin_job(NULL, j);
}

static void end_jobs(const sim_cluster *cluster)
{
    for (size_t j = 0; cluster->spans != NULL && j < group_count; j++)
        cluster->spans[j] = groups[j].span;
    free(groups);
    groups = NULL;
}

/* --------------------------------------------------------------------------------------------------------- world ---- */

/* Lets small blocks merge when they are freed. Else glibc keeps them, and visits each at large allocations. */
static void merge_freed_blocks(void)
{
#ifdef M_MXFAST
    (void)mallopt(M_MXFAST, 0);
#endif
}

sim_outcome sim_cluster_run(const sim_cluster *cluster, int *codes)
{
    merge_freed_blocks();
    uint32_t nodes = cluster->nodes, per_host = cluster->per_host > 0 ? cluster->per_host : 1;
    sim_node *all = calloc(nodes, sizeof *all);
    if (all == NULL)
        abort();
    make_groups(cluster);
    uint32_t hosts = count_hosts(per_host);
    sim_open(cluster->seed, nodes);
    sim_choose_by(cluster->chooser);
    sim_limit_memory(cluster->memory);
    sim_network_open(&cluster->rates, hosts);
    sim_nets_open();
    sim_compute_open(&cluster->costs, hosts);
    sim_disks_open(cluster->sync, crashes(cluster->faults), hosts);
    start_jobs(all, cluster, per_host);
    if (cluster->faults != NULL)
        sim_faults_plan(cluster->faults);
    sim_outcome outcome = {.end = sim_run(SIM_FIRST + (uint64_t)(cluster->limit * 1e9))};
    outcome.seconds = seconds_of_world();
    outcome.events = sim_events();
    for (uint32_t i = 0; i < hosts; i++) {
        uint64_t bytes = sim_link_bytes(i);
        outcome.bytes += bytes;
        outcome.busiest = bytes > outcome.busiest ? bytes : outcome.busiest;
    }
    for (uint32_t i = 0; codes != NULL && i < nodes; i++)
        codes[i] = sim_process_at(i)->state == SIM_ENDED ? sim_process_at(i)->code : -1;
    end_jobs(cluster);
    sim_disks_close();
    sim_compute_close();
    sim_nets_close();
    sim_network_close();
    sim_close();
    free(all);
    return outcome;
}
