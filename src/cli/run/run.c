/* run.c - hawser run: starts several processes, here or on other hosts, as the nodes of one job; and hawser agent, which
 * does so on each host. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "checkpoint/folder.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/run/agent.h"
#include "cli/run/launch.h"
#include "cluster/place.h"

const hawser_option *hw_run_rows(void)
{
    static const hawser_option rows[] = {
        {"nodes", HAWSER_TEXT, NULL, NULL, "N",
         "number of processes; required unless --hosts gives slots. LEAST:MOST: as many as the hosts that answer have slots",
         NULL, 'n'},
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
        {"restarts", HAWSER_INTEGER, "0", "[0,1000000]", "N",
         "start the command again, at most N times, when a node or host was lost or killed; not for a training without "
         "checkpoints",
         NULL, 0},
        {"restart-window", HAWSER_SECONDS, "60", "[0,1e6]", "TIME",
         "a program that reports no checkpoints makes progress if it runs for this long; after two restarts in a row "
         "without "
         "progress there is no third",
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
    launch->does = command == NULL            ? HW_RUN_PROGRAM
                   : command->run == hw_train ? HW_RUN_TRAINS
                   : command->run == hw_serve ? HW_RUN_SERVES
                                              : HW_RUN_PLANS;
    if (command == NULL || command->run == hw_train || command->run == hw_serve || command->run == hw_plan)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_OPTION,
                       "hawser %s runs as one process; hawser run is for 'train', 'serve', 'plan' and programs of your own "
                       "(./%s, if it is one)",
                       command->name, command->name);
}

/* Returns the value of an option ("--workers") of a program of the user's own; NULL: it is not given. */
static const char *value_among(char *const *words, size_t count, const char *option)
{
    const char *value = NULL;
    size_t length = strlen(option);
    for (size_t i = 0; i < count; i++)
        if (strncmp(words[i], option, length) == 0 && words[i][length] == '=')
            value = words[i] + length + 1;
        else if (strcmp(words[i], option) == 0 && i + 1 < count)
            value = words[i + 1];
    return value;
}

/* Returns the workers that a program of the user's own is given, or 0. */
static uint32_t workers_among(char *const *words, size_t count)
{
    const char *value = value_among(words, count, "--workers");
    uint64_t workers = value != NULL ? strtoull(value, NULL, 10) : 0;
    return workers <= HW_PLACE_NODES_MOST ? (uint32_t)workers : 0;
}

/* Reads the options of the nodes' subcommand from all sources. The nodes report errors in them. */
static void read_sources(hawser_options *options, int count, char **words)
{
    hawser_error ignored;
    hawser_status status = hawser_options_arguments(options, &count, words, &ignored);
    for (char *const *variable = environ; *variable != NULL; variable++) {
        char *const one[] = {*variable, NULL};
        status = hawser_options_environment(options, one, &ignored);
    }
    if (hawser_options_has(options, "config"))
        status = hawser_options_file(options, hawser_options_text(options, "config"), &ignored);
    (void)status;
}

/* Takes what the launcher needs to know of the nodes' subcommand: its deadlines, if they are arguments, which hold for the
 * hosts, too; its workers; and whether it keeps checkpoints. */
static hawser_status read_own(const hw_call *call, hw_launch *launch, hawser_error *error)
{
    static const char *const keys[] = {"join-timeout", "failure-timeout"};
    double *const deadlines[] = {&launch->join_timeout, &launch->failure_timeout};
    const hawser_option *tables[HW_TABLES];
    hawser_options *options = NULL;
    char **words = NULL;
    size_t used = 0;
    int count = (int)call->count;
    for (size_t i = 0; i < 2; i++)
        *deadlines[i] = hawser_options_number(call->options, keys[i]);
    launch->workers = workers_among(call->words, call->count);
    const char *folder = value_among(call->words, call->count, "--checkpoint");
    if (folder != NULL)
        HAWSER_TRY(hw_copy_text(&launch->checkpoint, folder, error));
    if (!launch->own)
        return HAWSER_OK;
    const hw_command *command = hw_command_find(call->words, call->count, &used);
    HAWSER_TRY(HW_NEW(&words, call->count + 1, "a list of arguments", error));
    memcpy(words, call->words, call->count * sizeof *words);
    hw_command_tables(command, command->algorithm && count > 1 ? hawser_algorithm_find(words[1]) : NULL, tables);
    hawser_status status = hawser_options_new(tables, &options, error);
    if (status == HAWSER_OK)
        read_sources(options, count, words);
    for (size_t i = 0; i < 2 && status == HAWSER_OK; i++)
        if (hawser_options_source(options, keys[i], NULL) == HAWSER_FROM_COMMAND_LINE)
            *deadlines[i] = hawser_options_number(options, keys[i]);
    launch->workers = status == HAWSER_OK ? (uint32_t)hawser_options_integer(options, "workers") : 0;
    launch->keeps_checkpoints = status == HAWSER_OK && hawser_options_has(options, "checkpoint");
    launch->fresh = status == HAWSER_OK && hawser_options_flag(options, "fresh");
    for (size_t i = 0; status == HAWSER_OK && hawser_options_row(options, i) != NULL; i++)
        launch->may_keep_checkpoints |= strcmp(hawser_options_row(options, i)->key, "checkpoint") == 0;
    hawser_options_free(options);
    free(words);
    return status;
}

/* ---------------------------------------------------------------------------------------------- how many nodes ---- */

/* Reads "4" or "4:10". */
static bool read_range(const char *text, uint32_t *least, uint32_t *most)
{
    char *end = NULL;
    unsigned long low = strtoul(text, &end, 10), high = low;
    if (*text < '0' || *text > '9')
        return false;
    if (*end == ':') {
        if (end[1] < '0' || end[1] > '9')
            return false;
        high = strtoul(end + 1, &end, 10);
    }
    *least = (uint32_t)low;
    *most = (uint32_t)high;
    return *end == '\0' && low >= 1 && low <= high && high <= HW_PLACE_NODES_MOST;
}

/* The workers are those of the checkpoint from which a start goes on. A folder that this host does not see, and one that is
 * damaged, are left to the nodes. */
static hawser_status limit_by_checkpoint(hw_launch *launch, hawser_error *error)
{
    hw_checkpoint *newest = NULL;
    hawser_error ignored = {0};
    if (launch->checkpoint == NULL || launch->range[0] == '\0' || launch->fresh ||
        hw_folder_newest(launch->checkpoint, &newest, &ignored) != HAWSER_OK || newest == NULL)
        return HAWSER_OK;
    uint32_t workers = newest->workers;
    hw_checkpoint_free(newest);
    if (workers < launch->least)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "-n %s, and the checkpoint in %s is of %u workers: each node needs a worker; the least may be %u",
                           launch->range, launch->checkpoint, workers, workers);
    if (workers >= launch->most)
        return HAWSER_OK;
    fprintf(launch->stream_err, "hawser run: note: at most %u nodes, since the checkpoint in %s is of %u workers\n", workers,
            launch->checkpoint, workers);
    launch->most = workers;
    return HAWSER_OK;
}

/* A node without a worker would have nothing to do. */
static hawser_status limit_by_workers(hw_launch *launch, hawser_error *error)
{
    uint32_t workers = launch->workers;
    if (workers == 0 || launch->range[0] == '\0' || workers >= launch->most)
        return HAWSER_OK;
    if (workers < launch->least)
        return hawser_fail(error, HAWSER_BAD_OPTION, "-n %s and %u workers: each node needs a worker; the least may be %u",
                           launch->range, workers, workers);
    fprintf(launch->stream_err, "hawser run: note: at most %u nodes, since there are %u workers\n", workers, workers);
    launch->most = workers;
    return HAWSER_OK;
}

static hawser_status count_nodes(const hw_call *call, hw_launch *launch, hawser_error *error)
{
    const char *text = hawser_options_text(call->options, "nodes"), *where = NULL;
    bool hosts = hawser_options_has(call->options, "hosts");
    (void)hawser_options_source(call->options, "nodes", &where);
    if (text != NULL && !read_range(text, &launch->least, &launch->most))
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "%s: '%.60s' is neither a number nor LEAST:MOST, each from 1 to %d, as in 4:10", where, text,
                           HW_PLACE_NODES_MOST);
    if (text != NULL && strchr(text, ':') != NULL && !hosts)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "-n %s without --hosts FILE, whose slots say how many nodes there can be; give one number", text);
    if (hosts) {
        uint32_t nodes = launch->least;
        HAWSER_TRY(hw_hosts_read(launch->hosts, hawser_options_text(call->options, "hosts"), error));
        HAWSER_TRY(hw_hosts_fill(launch->hosts, &nodes, error));
        launch->least = nodes;
        launch->most = launch->most > nodes ? launch->most : nodes;
    }
    if (launch->least == 0)
        return hawser_fail(error, HAWSER_BAD_OPTION, "missing number of processes; usage: hawser run -n N -- %s ...",
                           call->words[0]);
    if (text != NULL && strchr(text, ':') != NULL)
        snprintf(launch->range, sizeof launch->range, "%s", text);
    launch->gathers = hosts && (launch->restarts->most > 0 || launch->range[0] != '\0');
    return limit_by_workers(launch, error);
}

/* ------------------------------------------------------------------------------------------------- the run ---- */

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

/* Starts the command until it has ended by itself or may not be started again. */
static hawser_status start_all(hw_call *call, const hw_launch *fresh, hawser_error *error)
{
    hawser_status status;
    bool again;
    do {
        hw_launch launch = *fresh;
        status = limit_by_checkpoint(&launch, error);
        if (status != HAWSER_OK)
            break;
        status = hw_start(&launch, error);
        again = status == HAWSER_OK && hw_restarts_next(&launch);
        if (status == HAWSER_OK && !again)
            call->code = hw_launch_code(&launch);
        hw_start_free(&launch);
    } while (again);
    return status;
}

static hawser_status read_all(hw_call *call, hw_launch *launch, hawser_error *error)
{
    static const char *const of_hosts[] = {"ssh", "remote"};
    HAWSER_TRY(cause_words(call, launch, error));
    for (size_t i = 0; i < sizeof of_hosts / sizeof *of_hosts; i++)
        HAWSER_TRY(hw_refuse_idle(call, of_hosts[i], !hawser_options_has(call->options, "hosts"), "there is no --hosts FILE",
                                  error));
    HAWSER_TRY(hw_refuse_idle(call, "restart-window", launch->restarts->most == 0, "there is no --restarts N", error));
    HAWSER_TRY(read_own(call, launch, error));
    HAWSER_TRY(count_nodes(call, launch, error));
    return hw_restarts_check(launch, error);
}

hawser_status hw_run(hw_call *call, hawser_error *error)
{
    const hawser_options *options = call->options;
    hw_hosts hosts = {0};
    hw_run_logs logs = {.directory = hawser_options_text(options, "output-dir")};
    hw_restarts restarts = {.most = (uint64_t)hawser_options_integer(options, "restarts"),
                            .window = hawser_options_number(options, "restart-window"),
                            .input = -1};
    hw_launch launch = {.ssh = hawser_options_text(options, "ssh"),
                        .remote = hawser_options_text(options, "remote"),
                        .prefix = hawser_options_flag(options, "prefix"),
                        .grace = hawser_options_number(options, "grace"),
                        .hosts = &hosts,
                        .logs = &logs,
                        .restarts = &restarts,
                        .stream_out = call->out,
                        .stream_err = call->err,
                        .stdin_fd = -1};
    sigset_t before;
    hw_interrupt_words(call->interrupt, "before a node was started");
    hawser_status status = read_all(call, &launch, error);
    if (status == HAWSER_OK) {
        if (hosts.count > 0 && isatty(STDIN_FILENO) != 1)
            launch.stdin_fd = STDIN_FILENO;
        launch.terminal = hw_interrupt_has_terminal();
        launch.mask = take_signals(call);
        status = hw_signals_open(&before, &launch.signals, error);
    }
    if (status == HAWSER_OK) {
        status = start_all(call, &launch, error);
        hw_signals_close(&before, launch.signals);
    }
    free(logs.names);
    free(launch.checkpoint);
    hw_hosts_free(&hosts);
    return status;
}

hawser_status hw_agent(hw_call *call, hawser_error *error)
{
    if (!hawser_options_has(call->options, "wire")) /* the launcher makes its ssh ignore it */
        (void)signal(SIGTERM, SIG_DFL);
    const sigset_t mask = take_signals(call);
    if (!hawser_options_has(call->options, "wire"))
        return hw_agent_serve(STDIN_FILENO, STDOUT_FILENO, -1, -1, &mask, error);
    int wire = (int)hawser_options_integer(call->options, "wire");
    return hw_agent_serve(wire, wire, STDIN_FILENO, STDOUT_FILENO, &mask, error);
}
