/* start.c - one start of the command: its nodes, their names and files, and its hosts until the last has ended. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/machine.h"
#include "base/memory.h"
#include "cli/run/child.h"
#include "cli/run/launch.h"
#include "cluster/place.h"

enum { END_SECONDS = 10, ASKED_SECONDS = 1, LAST_SECONDS = 3, HW_RUN_KEY = 2 * 32 + 1 };

/* --------------------------------------------------------------------------------------------- nodes and names ---- */

/* One connection for each host of the list, or the one of this host. Connections are closed until they are started. */
static hawser_status make_connections(hw_launch *launch, hawser_error *error)
{
    launch->connection_count = launch->hosts->count > 0 ? launch->hosts->count : 1;
    HAWSER_TRY(HW_NEW(&launch->connections, launch->connection_count, "hosts", error));
    HAWSER_TRY(HW_NEW(&launch->set, 2 + 2 * launch->connection_count, "a list of descriptors", error));
    for (size_t i = 0; i < launch->connection_count; i++)
        launch->connections[i] = (hw_host_connection){.host = launch->hosts->count > 0 ? &launch->hosts->list[i] : NULL,
                                                      .closed = true,
                                                      .err = -1,
                                                      .wire = {.in = -1, .out = -1}};
    return HAWSER_OK;
}

static void name_node(hw_launch *launch, const hw_host *host, uint32_t i)
{
    hw_run_node *node = &launch->nodes[i];
    if (host != NULL) {
        hw_hosts_name(launch->hosts, host, i, node->name, sizeof node->name);
        snprintf(node->label, sizeof node->label, "[%s] ", node->name);
    } else {
        snprintf(node->name, sizeof node->name, "node-%u", i);
        snprintf(node->label, sizeof node->label, "[%u] ", i);
    }
}

/* Distributes the nodes over the hosts that are not left out. */
static hawser_status place_nodes(hw_launch *launch, hawser_error *error)
{
    uint32_t nodes = launch->most;
    if (launch->gathers && hw_hosts_slots(launch->hosts) < nodes)
        nodes = (uint32_t)hw_hosts_slots(launch->hosts);
    if (launch->hosts->count > 0)
        HAWSER_TRY(hw_hosts_fill(launch->hosts, &nodes, error));
    HAWSER_TRY(HW_NEW(&launch->nodes, nodes, "nodes", error));
    launch->node_count = launch->first_failed = launch->follower = nodes;
    for (size_t i = 0; i < launch->connection_count; i++) {
        hw_host_connection *connection = &launch->connections[i];
        connection->first = connection->host != NULL ? connection->host->first : 0;
        connection->count = connection->host != NULL ? connection->host->count : nodes;
        if (connection->first == 0 && connection->count > 0)
            launch->leader = connection;
        for (uint32_t k = connection->first; k < connection->first + connection->count; k++) {
            launch->nodes[k].blamed = nodes;
            name_node(launch, connection->host, k);
        }
    }
    return HAWSER_OK;
}

/* Checks the limit of descriptors: each agent has a socket or two pipes and its standard error, and each output file of a
 * node one. */
static hawser_status see_to_descriptors(const hw_launch *launch, hawser_error *error)
{
    enum { EACH = 3, OTHERS = 16 };
    char what[64];
    snprintf(what, sizeof what, "a run of %u nodes needs", launch->node_count);
    return hw_machine_descriptors(EACH * launch->connection_count +
                                      (launch->logs->directory != NULL ? launch->node_count : 0) + OTHERS,
                                  what, "hawser run", error);
}

/* --------------------------------------------------------------------------------------------- output files ---- */

static int by_name(const void *a, const void *b)
{
    const hw_run_node *const *one = a, *const *other = b;
    return strcmp((*one)->name, (*other)->name);
}

/* Checks that names of output files differ: hosts "ash-1" and "ash slots=2" collide, and names that differ only behind the
 * fiftieth character. */
static hawser_status names_differ(const hw_launch *launch, hawser_error *error)
{
    const hw_run_node **all = NULL;
    HAWSER_TRY(HW_NEW(&all, launch->node_count, "names", error));
    for (uint32_t i = 0; i < launch->node_count; i++)
        all[i] = &launch->nodes[i];
    qsort(all, launch->node_count, sizeof *all, by_name);
    hawser_status status = HAWSER_OK;
    for (uint32_t i = 1; i < launch->node_count && status == HAWSER_OK; i++)
        if (by_name(&all[i - 1], &all[i]) == 0)
            status = hawser_fail(error, HAWSER_BAD_INPUT,
                                 "two nodes would be named %s and write one file in %s; use different names for their hosts",
                                 all[i]->name, launch->logs->directory);
    free(all);
    return status;
}

/* Returns whether an earlier start has written the file of this node; else records that one has. */
static hawser_status was_written(hw_run_logs *logs, const char *name, bool *written, hawser_error *error)
{
    *written = false;
    for (size_t i = 0; i < logs->count && !*written; i++)
        *written = strcmp(logs->names[i], name) == 0;
    if (*written)
        return HAWSER_OK;
    HAWSER_TRY(HW_GROW(&logs->names, &logs->capacity, logs->count + 1, "names", error));
    snprintf(logs->names[logs->count++], sizeof *logs->names, "%s", name);
    return HAWSER_OK;
}

/* The first start makes the files empty; later ones write behind what is there. */
static hawser_status open_files(hw_launch *launch, hawser_error *error)
{
    char path[4200];
    bool written;
    if (launch->logs->directory == NULL)
        return HAWSER_OK;
    HAWSER_TRY(names_differ(launch, error));
    if (mkdir(launch->logs->directory, 0777) != 0 && errno != EEXIST)
        return hawser_fail(error, HAWSER_IO, "%s: cannot make the directory: %s", launch->logs->directory, strerror(errno));
    for (uint32_t i = 0; i < launch->node_count; i++) {
        HAWSER_TRY(was_written(launch->logs, launch->nodes[i].name, &written, error));
        snprintf(path, sizeof path, "%.4000s/%s.log", launch->logs->directory, launch->nodes[i].name);
        launch->nodes[i].file = fopen(path, written ? "ae" : "we");
        if (launch->nodes[i].file == NULL)
            return hawser_fail(error, HAWSER_IO, "%s: cannot write: %s", path, strerror(errno));
    }
    return HAWSER_OK;
}

/* Each start has a name and a key of its own, so that nodes of an earlier one that live on elsewhere cannot join. */
static hawser_status name_job(hw_launch *launch, hawser_error *error)
{
    unsigned char key[32];
    char host[64] = "";
    HAWSER_TRY(hw_undumped_new((void **)&launch->key, HW_RUN_KEY, error));
    HAWSER_TRY(hw_key_make(key, error));
    hw_key_text(key, sizeof key, launch->key);
    explicit_bzero(key, sizeof key);
    if (gethostname(host, sizeof host - 1) != 0)
        host[0] = '\0';
    int used = snprintf(launch->job, sizeof launch->job, "run-%.36s-%ld", host, (long)getpid());
    if (launch->restarts->done > 0)
        snprintf(launch->job + used, sizeof launch->job - (size_t)used, ".%llu", (unsigned long long)launch->restarts->done);
    return HAWSER_OK;
}

/* --------------------------------------------------------------------------------------------- the end ---- */

/* Closes all wires, so that the agents end their nodes. An agent that has not ended within seconds is killed. */
static void end_connections(hw_launch *launch)
{
    double until = hw_seconds() + END_SECONDS;
    for (size_t i = 0; i < launch->connection_count; i++)
        hw_host_connection_free(&launch->connections[i]);
    for (size_t i = 0; i < launch->connection_count; i++) {
        hw_host_connection *connection = &launch->connections[i];
        while (connection->pid > 0 && waitpid(connection->pid, NULL, WNOHANG) == 0) {
            if (hw_seconds() > until)
                (void)kill(-connection->pid, SIGKILL);
            (void)poll(NULL, 0, 10);
        }
        connection->pid = 0;
    }
}

/* Returns whether this process is the parent of a node that runs: its agent was killed. */
static bool is_orphan(const hw_run_node *node)
{
    siginfo_t info = {0};
    return node->pid > 0 && waitid(P_PID, (id_t)node->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

static bool await_orphans(const hw_launch *launch, double until)
{
    for (;;) {
        bool any = false;
        for (uint32_t i = 0; i < launch->node_count; i++)
            any |= is_orphan(&launch->nodes[i]);
        if (!any || hw_seconds() > until)
            return !any;
        (void)poll(NULL, 0, 10);
    }
}

static void signal_orphans(const hw_launch *launch, int number)
{
    for (uint32_t i = 0; i < launch->node_count; i++)
        if (is_orphan(&launch->nodes[i]))
            (void)kill(-(pid_t)launch->nodes[i].pid, number);
}

/* Ends nodes of this host whose agent was killed. They have become children of this process, and have lost their channel, at
 * which nodes of Hawser end; other programs get SIGTERM, then SIGKILL. */
static void end_orphans(const hw_launch *launch)
{
    double now = hw_seconds();
    if (launch->hosts->count > 0)
        return;
    if (!await_orphans(launch, now + ASKED_SECONDS))
        signal_orphans(launch, SIGTERM);
    if (!await_orphans(launch, now + LAST_SECONDS))
        signal_orphans(launch, SIGKILL);
    for (uint32_t i = 0; i < launch->node_count; i++) {
        const pid_t group = (pid_t)launch->nodes[i].pid;
        siginfo_t info = {0};
        if (group <= 0 || waitid(P_PID, (id_t)group, &info, WEXITED | WNOWAIT) != 0)
            continue;
        hw_end_group(group, NULL);
    }
}

void hw_start_free(hw_launch *launch)
{
    for (uint32_t i = 0; launch->nodes != NULL && i < launch->node_count; i++) {
        if (launch->nodes[i].file != NULL)
            (void)fclose(launch->nodes[i].file);
        hw_buffer_free(&launch->nodes[i].out.bytes);
        hw_buffer_free(&launch->nodes[i].err.bytes);
    }
    free(launch->nodes);
    free(launch->connections);
    free(launch->set);
    hw_undumped_free(launch->key, HW_RUN_KEY);
}

/* --------------------------------------------------------------------------------------------- the start ---- */

static hawser_status prepare(hw_launch *launch, hawser_error *error)
{
    HAWSER_TRY(place_nodes(launch, error));
    HAWSER_TRY(see_to_descriptors(launch, error));
    HAWSER_TRY(open_files(launch, error));
    return name_job(launch, error);
}

/* Starts the nodes on the hosts that have answered, or on all. */
static hawser_status begin(hw_launch *launch, hawser_error *error)
{
    if (launch->gathers)
        HAWSER_TRY(hw_gather(launch, error));
    if (launch->interrupts > 0)
        return HAWSER_OK;
    HAWSER_TRY(prepare(launch, error));
    if (launch->range[0] != '\0')
        fprintf(launch->stream_err, "hawser run: %u nodes (-n %s)\n", launch->node_count, launch->range);
    (void)fflush(launch->stream_err);
    hawser_status status = HAWSER_OK;
    for (size_t i = 0; i < launch->connection_count && status == HAWSER_OK; i++)
        if (launch->gathers)
            status = hw_host_connection_use(launch, &launch->connections[i], error);
        else if (launch->connections[i].count > 0)
            status = hw_host_connection_start(launch, &launch->connections[i], error);
    return status;
}

hawser_status hw_start(hw_launch *launch, hawser_error *error)
{
    launch->looked_at = launch->restarts->began = hw_seconds();
    HAWSER_TRY(make_connections(launch, error));
    if (launch->hosts->count == 0)
        (void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* for end_orphans */
    hawser_status status = begin(launch, error);
    if (status == HAWSER_OK)
        status = hw_launch_loop(launch, error);
    end_connections(launch);
    end_orphans(launch);
    if (status == HAWSER_OK && launch->restarts->most > 0)
        status = hw_launch_signals(launch, error);
    launch->restarts->reported |= launch->progressed;
    return status;
}
