/* run.c - hawser run: starts several processes, here or on other hosts, as the nodes of one job; and hawser agent, which
 * does so on each host. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/machine.h"
#include "base/memory.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/run/agent.h"
#include "cli/run/launch.h"
#include "cluster/place.h"

enum { END_SECONDS = 10 };

const hawser_option *hw_run_rows(void)
{
    static const hawser_option rows[] = {
        {"nodes", HAWSER_INTEGER, NULL, "[1,65536]", "N", "number of processes; required unless --hosts gives slots", NULL,
         'n'},
        {"hosts", HAWSER_PATH, NULL, NULL, "FILE",
         "hosts, one per line; 'host slots=N', 'host:N' or repeated lines for several processes; if unset, this host", NULL,
         0},
        {"ssh", HAWSER_TEXT, "ssh -o BatchMode=yes", NULL, "CMD", "how to run a command on a host: CMD HOST COMMAND", NULL,
         0},
        {"remote", HAWSER_PATH, NULL, NULL, "PATH", "path of hawser on the hosts; the path of this hawser if unset", NULL,
         0},
        {"prefix", HAWSER_FLAG, "yes", NULL, NULL, "print the name of the node before each line", NULL, 0},
        {"output-dir", HAWSER_PATH, NULL, NULL, "DIR",
         "write the output of each node to DIR/NAME.log, except standard output of node 0", NULL, 0},
        {"grace", HAWSER_SECONDS, "10", "[0,1e6]", "TIME",
         "time that the other nodes have to end after one failed; then they get SIGTERM, 5 s later SIGKILL, and after 5 s "
         "more "
         "hosts that do not answer are given up",
         NULL, 0},
        {"join-timeout", HAWSER_SECONDS, "60", "[0.1,86400]", "TIME",
         "how long to wait until ssh has logged in and started the nodes of a host; 'train' and 'serve' use theirs", NULL,
         0},
        {"failure-timeout", HAWSER_SECONDS, "5", "[0.2,3600]", "TIME",
         "time without a message after which a host is lost with its nodes; 'train' and 'serve' use theirs", NULL, 0},
        {0},
    };
    return rows;
}

const hawser_option *hw_agent_rows(void)
{
    static const hawser_option rows[] = {
        {"wire", HAWSER_INTEGER, NULL, "[3,65536]", "FD",
         "descriptor of the connection to hawser run; standard input and output if unset", NULL, 0},
        {0},
    };
    return rows;
}

/* ------------------------------------------------------------------------------------------------- what to run ---- */

/* Refuses a subcommand that works alone: it would do the same thing N times, on the same files. */
static hawser_status cause_words(hw_call *call, hw_launch *launch, hawser_error *error)
{
    size_t used = 0;
    const hw_command *command =
        strchr(call->words[0], '/') == NULL ? hw_command_find(call->words, call->count, &used) : NULL;
    launch->words = call->words;
    launch->word_count = call->count;
    launch->own = command != NULL;
    launch->serves = command != NULL && command->run == hw_serve;
    if (command == NULL || command->run == hw_train || command->run == hw_serve || command->run == hw_plan)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_OPTION,
                       "hawser %s runs as one process; hawser run is for 'train', 'serve', 'plan' and programs of your own "
                       "(./%s, if it is one)",
                       command->name, command->name);
}

/* Takes the deadlines of the nodes' subcommand for their hosts, too. The nodes report other errors of its arguments. */
static hawser_status read_deadlines(const hw_call *call, hw_launch *launch, hawser_error *error)
{
    static const char *const keys[] = {"join-timeout", "failure-timeout"};
    double *const deadlines[] = {&launch->join_timeout, &launch->failure_timeout};
    const hawser_option *tables[HW_TABLES];
    hawser_options *options = NULL;
    hawser_error ignored = {0};
    char **words = NULL;
    size_t used = 0;
    int count = (int)call->count;
    for (size_t i = 0; i < 2; i++)
        *deadlines[i] = hawser_options_number(call->options, keys[i]);
    if (!launch->own)
        return HAWSER_OK;
    const hw_command *command = hw_command_find(call->words, call->count, &used);
    HAWSER_TRY(HW_NEW(&words, call->count + 1, "a list of arguments", error));
    memcpy(words, call->words, call->count * sizeof *words);
    hw_command_tables(command, command->algorithm && count > 1 ? hawser_algorithm_find(words[1]) : NULL, tables);
    hawser_status status = hawser_options_new(tables, &options, error);
    if (status == HAWSER_OK && hawser_options_arguments(options, &count, words, &ignored) == HAWSER_OK)
        for (size_t i = 0; i < 2; i++)
            if (hawser_options_source(options, keys[i], NULL) == HAWSER_FROM_COMMAND_LINE)
                *deadlines[i] = hawser_options_number(options, keys[i]);
    hawser_options_free(options);
    free(words);
    return status;
}

static hawser_status assign(hw_call *call, hw_launch *launch, hw_hosts *hosts, hawser_error *error)
{
    const hawser_options *options = call->options;
    uint32_t nodes = (uint32_t)hawser_options_integer(options, "nodes");
    if (hawser_options_has(options, "hosts")) {
        HAWSER_TRY(hw_hosts_read(hosts, hawser_options_text(options, "hosts"), error));
        HAWSER_TRY(hw_hosts_fill(hosts, &nodes, error));
        while (hosts->list[launch->connection_count].count > 0 && ++launch->connection_count < hosts->count)
            continue;
    } else {
        launch->connection_count = 1;
    }
    if (nodes == 0)
        return hawser_fail(error, HAWSER_BAD_OPTION, "missing number of processes; usage: hawser run -n N -- %s ...",
                           call->words[0]);
    launch->node_count = launch->first_failed = launch->follower = nodes;
    HAWSER_TRY(HW_NEW(&launch->nodes, nodes, "nodes", error));
    for (uint32_t i = 0; i < nodes; i++)
        launch->nodes[i].blamed = nodes;
    HAWSER_TRY(HW_NEW(&launch->connections, launch->connection_count, "hosts", error));
    HAWSER_TRY(HW_NEW(&launch->set, 2 + 2 * launch->connection_count, "a list of descriptors", error));
    for (size_t i = 0; i < launch->connection_count; i++) {
        hw_host_connection *connection = &launch->connections[i];
        *connection = (hw_host_connection){.count = nodes, .err = -1, .wire = {.in = -1, .out = -1}};
        if (hosts->count > 0) {
            connection->host = &hosts->list[i];
            connection->first = connection->host->first;
            connection->count = connection->host->count;
        }
    }
    return HAWSER_OK;
}

/* Checks the limit of descriptors: each agent has a socket or two pipes and its standard error, and each output file of a
 * node one. */
static hawser_status see_to_descriptors(const hw_launch *launch, bool files, hawser_error *error)
{
    enum { EACH = 3, OTHERS = 16 };
    char what[64];
    snprintf(what, sizeof what, "a run of %u nodes needs", launch->node_count);
    return hw_machine_descriptors(EACH * launch->connection_count + (files ? launch->node_count : 0) + OTHERS, what,
                                  "hawser run", error);
}

static int by_name(const void *a, const void *b)
{
    const hw_run_node *const *one = a, *const *other = b;
    return strcmp((*one)->name, (*other)->name);
}

/* Checks that names of output files differ: hosts "ash-1" and "ash slots=2" collide, and names that differ only behind the
 * fiftieth character. */
static hawser_status names_differ(const hw_launch *launch, const char *directory, hawser_error *error)
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
                                 all[i]->name, directory);
    free(all);
    return status;
}

static hawser_status open_files(hw_launch *launch, const char *directory, hawser_error *error)
{
    char path[4200];
    HAWSER_TRY(names_differ(launch, directory, error));
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return hawser_fail(error, HAWSER_IO, "%s: cannot make the directory: %s", directory, strerror(errno));
    for (uint32_t i = 0; i < launch->node_count; i++) {
        snprintf(path, sizeof path, "%.4000s/%s.log", directory, launch->nodes[i].name);
        launch->nodes[i].file = fopen(path, "we");
        if (launch->nodes[i].file == NULL)
            return hawser_fail(error, HAWSER_IO, "%s: cannot write: %s", path, strerror(errno));
    }
    return HAWSER_OK;
}

static void name_nodes(hw_launch *launch, const hw_hosts *hosts)
{
    for (size_t p = 0; p < launch->connection_count; p++)
        for (uint32_t i = launch->connections[p].first; i < launch->connections[p].first + launch->connections[p].count;
             i++) {
            hw_run_node *node = &launch->nodes[i];
            const hw_host *host = launch->connections[p].host;
            if (host != NULL) {
                hw_hosts_name(hosts, host, i, node->name, sizeof node->name);
                snprintf(node->label, sizeof node->label, "[%s] ", node->name);
            } else {
                snprintf(node->name, sizeof node->name, "node-%u", i);
                snprintf(node->label, sizeof node->label, "[%u] ", i);
            }
        }
}

enum { HW_RUN_KEY = 2 * 32 + 1 };

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
    snprintf(launch->job, sizeof launch->job, "run-%.40s-%ld", host, (long)getpid());
    return HAWSER_OK;
}

/* ------------------------------------------------------------------------------------------------- the run ---- */

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

static void free_launch(hw_launch *launch)
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

/* Returns the signal mask that this process was started with: its own signals are read from a descriptor from here on, and
 * its children get the old mask. */
static sigset_t take_signals(const hw_call *call)
{
    sigset_t mask;
    if (call->interrupt != NULL) {
        hw_interrupt_close(call->interrupt);
        return call->interrupt->before;
    }
    (void)sigprocmask(SIG_SETMASK, NULL, &mask);
    return mask;
}

static hawser_status launch_all(hw_launch *launch, hawser_error *error)
{
    hawser_status status = HAWSER_OK;
    sigset_t before;
    HAWSER_TRY(hw_signals_open(&before, &launch->signals, error));
    for (size_t i = 0; i < launch->connection_count && status == HAWSER_OK; i++)
        status = hw_host_connection_start(launch, &launch->connections[i], error);
    if (status == HAWSER_OK)
        status = hw_launch_loop(launch, error);
    end_connections(launch);
    hw_signals_close(&before, launch->signals);
    return status;
}

hawser_status hw_run(hw_call *call, hawser_error *error)
{
    static const char *const of_hosts[] = {"ssh", "remote"};
    const hawser_options *options = call->options;
    hw_launch launch = {.ssh = hawser_options_text(options, "ssh"),
                        .remote = hawser_options_text(options, "remote"),
                        .prefix = hawser_options_flag(options, "prefix"),
                        .grace = hawser_options_number(options, "grace"),
                        .stream_out = call->out,
                        .stream_err = call->err,
                        .stdin_fd = -1};
    hw_hosts hosts = {0};
    hw_interrupt_words(call->interrupt, "before a node was started");
    hawser_status status = cause_words(call, &launch, error);
    for (size_t i = 0; status == HAWSER_OK && i < sizeof of_hosts / sizeof *of_hosts; i++)
        status = hw_refuse_idle(call, of_hosts[i], !hawser_options_has(options, "hosts"), "there is no --hosts FILE", error);
    if (status == HAWSER_OK)
        status = read_deadlines(call, &launch, error);
    if (status == HAWSER_OK)
        status = assign(call, &launch, &hosts, error);
    if (status == HAWSER_OK)
        name_nodes(&launch, &hosts);
    if (status == HAWSER_OK)
        status = see_to_descriptors(&launch, hawser_options_has(options, "output-dir"), error);
    if (status == HAWSER_OK && hawser_options_has(options, "output-dir"))
        status = open_files(&launch, hawser_options_text(options, "output-dir"), error);
    if (status == HAWSER_OK)
        status = name_job(&launch, error);
    if (status == HAWSER_OK && hosts.count > 0 && isatty(STDIN_FILENO) != 1)
        launch.stdin_fd = STDIN_FILENO;
    if (status == HAWSER_OK) {
        launch.terminal = hw_interrupt_has_terminal();
        launch.mask = take_signals(call);
        status = launch_all(&launch, error);
    }
    if (status == HAWSER_OK)
        call->code = hw_launch_code(&launch);
    free_launch(&launch);
    hw_hosts_free(&hosts);
    return status;
}

hawser_status hw_agent(hw_call *call, hawser_error *error)
{
    const sigset_t mask = take_signals(call);
    if (!hawser_options_has(call->options, "wire"))
        return hw_agent_serve(STDIN_FILENO, STDOUT_FILENO, -1, -1, &mask, error);
    int wire = (int)hawser_options_integer(call->options, "wire");
    return hw_agent_serve(wire, wire, STDIN_FILENO, STDOUT_FILENO, &mask, error);
}
