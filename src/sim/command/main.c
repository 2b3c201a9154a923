/* main.c - hawser-sim: a call of the command on machines that are not there. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/machine.h"
#include "cli/cli.h"
#include "report/option_text.h"
#include "sim/command/calibrate.h"
#include "sim/command/jobs.h"
#include "sim/command/program.h"
#include "sim/command/training.h"
#include "sim/faults.h"
#include "sim/quantity.h"

enum { SWEEP_MOST = 64, WORDS_MOST = 256 };

static const hawser_option rows[] = {
    {"per-host", HAWSER_INTEGER, "1", "[1,8192]", "N", "nodes on each host, which share its links", NULL, 0},
    {"link", HAWSER_TEXT, "10gbit", NULL, "RATE", "rate of each host's up-link and down-link: 10gbit, 100mbit, 2GB", NULL,
     0},
    {"latency", HAWSER_TEXT, "50us", NULL, "T", "time that a frame needs from one host to another", NULL, 0},
    {"compute", HAWSER_TEXT, "1us,2ns,0.5ns", NULL, "A,B,C",
     "time of a call of a unit, of a stored entry that it goes over, and of a byte of an update; or a file of --calibrate",
     NULL, 0},
    {"calibrate", HAWSER_PATH, NULL, NULL, "FILE",
     "run the command for real, with threads, and write a file for --compute of what this machine takes", NULL, 0},
    {"seed", HAWSER_INTEGER, "0", "[0,inf)", "N",
     "draw latencies, and the orders and pauses of threads; 0: none are drawn, and times are those of the model", NULL, 0},
    {"fault", HAWSER_TEXT, NULL, NULL, "LINE",
     "a fault, such as 't=2.5 kill 3', 'clock=40 stop h2' or 'end=1 term 0'; separate several by ';'", NULL, 0},
    {"scenario", HAWSER_PATH, NULL, NULL, "FILE", "a file of faults, one per line", NULL, 0},
    {"limit", HAWSER_TEXT, "1000000s", NULL, "T", "virtual time after which the simulation ends as a failure", NULL, 0},
    {"memory-limit", HAWSER_BYTES, NULL, "[1M,8E)", "BYTES",
     "memory that the simulator may take; default: that of this machine", NULL, 0},
    {"sweep", HAWSER_TEXT, NULL, NULL, "nodes=N,N", "simulate each of these numbers of nodes, and print a table instead",
     NULL, 0},
    {"help", HAWSER_FLAG, "no", NULL, NULL, "print this, and leave", NULL, 'h'},
    {0},
};

static void print_help(void)
{
    printf("usage: hawser-sim [options] -- COMMAND...\n       hawser-sim [options] -- COMMAND... : [options of the job] -- "
           "COMMAND... : ...\n       hawser-sim [options] -- ./PROGRAM...\n\n");
    hw_help_wrapped(
        stdout,
        "Runs `hawser COMMAND` on a simulated cluster, in one process and in virtual time: the same code gives the "
        "same numbers as on real nodes, and its times are those of the links and processors that the options "
        "describe. With --json the line of node 0 has one more field, `simulated`. docs/simulation.md says what "
        "is modelled and what is left out.",
        0, 0);
    printf("\n");
    hw_help_rows(stdout, "Options", rows);
    printf("\n");
    hw_help_wrapped(
        stdout,
        "A lone ':' separates jobs, which share the hosts, their links and the time. Jobs, and the nodes of all of "
        "them, are numbered from 0. Servers are reached at host0:PORT if they have chosen PORT by --port-range. The "
        "result of each job is a line, whose `simulated` has its `job`, `begin`, `end` and `exit_code`.",
        0, 0);
    printf("\n");
    hw_help_rows(stdout, "Options of a job", sim_job_rows);
}

/* What the options say. */
typedef struct sim_setup {
    sim_cluster cluster;
    sim_jobs jobs;
    const char *link;
    sim_faults faults;
    uint32_t sweep[SWEEP_MOST];
    size_t sweep_count; /* 0: no sweep */
} sim_setup;

static hawser_status read_sweep(const char *text, sim_setup *setup, hawser_error *error)
{
    setup->sweep_count = SWEEP_MOST;
    if (text == NULL) {
        setup->sweep_count = 0;
        return HAWSER_OK;
    }
    if (strncmp(text, "nodes=", 6) != 0)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--sweep = '%s': expected nodes=N,N,... as in nodes=1,2,4,8", text);
    return sim_read_counts("--sweep nodes", text + 6, SIM_NODES_MOST, setup->sweep, &setup->sweep_count, error);
}

/* Returns how many nodes every simulation of the call has: faults are those of these nodes. */
static uint32_t least_nodes(const sim_setup *setup)
{
    uint32_t least = setup->sweep_count > 0 ? setup->sweep[0] : setup->cluster.nodes;
    for (size_t i = 1; i < setup->sweep_count; i++)
        least = setup->sweep[i] < least ? setup->sweep[i] : least;
    return least;
}

/* Refuses nodes that cannot be simulated, before a long time has passed. */
static hawser_status check_memory(const sim_setup *setup, uint32_t nodes, hawser_error *error)
{
    const double mib = 1 << 20;
    double needed = (double)sim_cluster_bytes(nodes);
    if (needed <= (double)setup->cluster.memory)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_NO_MEMORY,
                       "%" PRIu32
                       " nodes need about %.0f MiB (%.2f MiB each), besides states and data, and --memory-limit is %.0f "
                       "MiB: simulate fewer nodes",
                       nodes, needed / mib, needed / mib / nodes, (double)setup->cluster.memory / mib);
}

static hawser_status read_setup(const hawser_options *options, sim_setup *setup, hawser_error *error)
{
    sim_cluster *cluster = &setup->cluster;
    const char *scenario = hawser_options_text(options, "scenario");
    uint32_t jobs = (uint32_t)setup->jobs.count;
    setup->link = hawser_options_text(options, "link");
    cluster->nodes = setup->jobs.nodes;
    if (setup->jobs.apart) {
        cluster->jobs = setup->jobs.list;
        cluster->job_count = setup->jobs.count;
    }
    cluster->per_host = (uint32_t)hawser_options_integer(options, "per-host");
    cluster->seed = (uint64_t)hawser_options_integer(options, "seed");
    cluster->rates = (sim_rates){.host = 5e9, .nearby = 2e-6};
    HAWSER_TRY(sim_read_rate("--link", setup->link, &cluster->rates.link, error));
    HAWSER_TRY(sim_read_time("--latency", hawser_options_text(options, "latency"), &cluster->rates.latency, error));
    HAWSER_TRY(sim_read_time("--limit", hawser_options_text(options, "limit"), &cluster->limit, error));
    HAWSER_TRY(sim_read_costs(hawser_options_text(options, "compute"), &cluster->costs, error));
    HAWSER_TRY(read_sweep(hawser_options_text(options, "sweep"), setup, error));
    uint32_t nodes = least_nodes(setup);
    HAWSER_TRY(sim_faults_read("--fault", hawser_options_text(options, "fault"), nodes, jobs, &setup->faults, error));
    if (scenario != NULL)
        HAWSER_TRY(sim_faults_load(scenario, nodes, jobs, &setup->faults, error));
    cluster->faults = &setup->faults;
    bool limited = hawser_options_has(options, "memory-limit");
    cluster->memory = limited ? hawser_options_bytes(options, "memory-limit") : hw_machine_memory(1);
    for (size_t i = 0; i < setup->sweep_count; i++)
        HAWSER_TRY(check_memory(setup, setup->sweep[i], error));
    return setup->sweep_count > 0 ? HAWSER_OK : check_memory(setup, cluster->nodes, error);
}

static int run_jobs(const sim_setup *setup)
{
    sim_call_result results[SIM_JOBS_MOST];
    sim_world_result world = sim_call(setup->cluster, setup->jobs.calls, results);
    int code = sim_print_results(&setup->cluster, setup->link, results, &world);
    for (size_t j = 0; j < setup->jobs.count; j++)
        free(results[j].out);
    return code;
}

/* Returns the number behind the first `"name":` of a text, or 0. */
static double number_of(const char *json, const char *name)
{
    char key[80];
    double value = 0;
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *at = strstr(json, key);
    if (at == NULL || hawser_read_number(at + strlen(key), &value) == NULL)
        return 0;
    return value;
}

typedef struct sim_row {
    double train, bytes, waits;
    int code;
} sim_row;

static double sum_of(const char *json, const char *name)
{
    char key[80];
    double sum = 0;
    snprintf(key, sizeof key, "\"%s\":", name);
    for (const char *at = json; (at = strstr(at, key)) != NULL; at += strlen(key))
        sum += number_of(at, name);
    return sum;
}

/* Each size is simulated in a process of its own, whose memory is gone before the next. */
static hawser_status sweep_one(const sim_setup *setup, const sim_words *call, uint32_t nodes, sim_row *row,
                               hawser_error *error)
{
    int ends[2], status = 0;
    if (pipe(ends) != 0)
        return hawser_fail(error, HAWSER_IO, "cannot make a pipe");
    pid_t child = fork();
    if (child == 0) {
        sim_cluster cluster = setup->cluster;
        cluster.nodes = nodes;
        sim_call_result result;
        sim_world_result world = sim_call(cluster, call, &result);
        *row = (sim_row){number_of(result.out, "seconds_train"), (double)world.outcome.busiest,
                         sum_of(result.out, "wait_seconds") / nodes, result.code};
        ssize_t written = write(ends[1], row, sizeof *row);
        _exit(written == sizeof *row ? 0 : 1);
    }
    (void)close(ends[1]);
    ssize_t got = child < 0 ? -1 : read(ends[0], row, sizeof *row);
    (void)close(ends[0]);
    if (child > 0)
        (void)waitpid(child, &status, 0);
    if (got != sizeof *row)
        return hawser_fail(error, HAWSER_INTERNAL, "the simulation of %u nodes ended without a result", nodes);
    return HAWSER_OK;
}

static hawser_status sweep(const sim_setup *setup, int *code, hawser_error *error)
{
    double first = 0;
    char *words[WORDS_MOST + 1];
    sim_words call = {0, words};
    for (const sim_words *given = &setup->jobs.calls[0]; call.count < given->count; call.count++)
        words[call.count] = given->words[call.count];
    words[call.count++] = (char *)(uintptr_t) "--json"; /* the table is made of it */
    printf("nodes  seconds_train  wait_seconds  bytes_busiest  efficiency\n");
    for (size_t i = 0; i < setup->sweep_count; i++) {
        sim_row row;
        uint32_t nodes = setup->sweep[i];
        HAWSER_TRY(sweep_one(setup, &call, nodes, &row, error));
        *code = row.code != 0 ? row.code : *code;
        if (i == 0)
            first = row.train * nodes;
        double efficiency = row.train > 0 ? first / (row.train * nodes) : 0;
        printf("%5" PRIu32 "  %13.6f  %12.6f  %13.0f  %10.3f\n", nodes, row.train, row.waits, row.bytes, efficiency);
        (void)fflush(stdout);
    }
    return HAWSER_OK;
}

static hawser_status check_sweep(const hawser_options *options, const sim_jobs *jobs, hawser_error *error)
{
    const sim_words *call = &jobs->calls[0];
    if (strcmp(call->words[0], "train") != 0)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--sweep is for 'train', and not for '%s'", call->words[0]);
    if (hawser_options_source(options, "nodes", NULL) != HAWSER_FROM_DEFAULT)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--sweep lists the numbers of nodes: leave --nodes out");
    if (call->count > WORDS_MOST)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--sweep: the command has more than %d words", WORDS_MOST);
    return HAWSER_OK;
}

/* A run for real has no simulated nodes, links and faults. */
static hawser_status check_calibration(const hawser_options *options, hawser_error *error)
{
    const char *const others[] = {"nodes", "per-host", "link",     "latency", "compute",
                                  "seed",  "fault",    "scenario", "limit",   "sweep"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (hawser_options_source(options, others[i], NULL) != HAWSER_FROM_DEFAULT)
            return hawser_fail(error, HAWSER_BAD_OPTION,
                               "--calibrate runs the command for real: --%s would have no effect, leave it out", others[i]);
    return HAWSER_OK;
}

/* Refuses what does not go together. */
static hawser_status check_setup(const hawser_options *options, const sim_setup *setup, hawser_error *error)
{
    const char *calibration = hawser_options_text(options, "calibrate");
    const sim_jobs *jobs = &setup->jobs;
    const char *single = calibration != NULL ? "calibrate" : setup->sweep_count > 0 ? "sweep" : NULL;
    for (size_t j = 0; j < jobs->count; j++) {
        const char *name = jobs->calls[j].words[0];
        if (strcmp(name, "run") == 0 || strcmp(name, "agent") == 0)
            return hawser_fail(
                error, HAWSER_BAD_OPTION,
                "'%s' starts processes, which simulated nodes cannot: hawser-sim starts the nodes itself, as in "
                "hawser-sim --nodes 4 -- train lasso DATA",
                name);
        bool program = strchr(name, '/') != NULL;
        if (program && single != NULL)
            return hawser_fail(error, HAWSER_BAD_OPTION,
                               "--%s is for commands of hawser; simulate %s with one --nodes after "
                               "the other",
                               single, name);
        if (program && jobs->apart)
            return hawser_fail(error, HAWSER_BAD_OPTION,
                               "%s must be the only job, without --host and --start: these are for commands of hawser",
                               name);
    }
    if (single != NULL && jobs->apart)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--%s is for one job, without --host and --start", single);
    if (calibration != NULL)
        return check_calibration(options, error);
    return setup->sweep_count > 0 ? check_sweep(options, jobs, error) : HAWSER_OK;
}

static hawser_status run(hawser_options *options, int argc, char **argv, int *code, hawser_error *error)
{
    sim_setup setup = {0};
    HAWSER_TRY(sim_read_jobs(options, argc, argv, &setup.jobs, error));
    if (hawser_options_flag(options, "help")) {
        print_help();
        return HAWSER_OK;
    }
    const char *calibration = hawser_options_text(options, "calibrate");
    const sim_words *first = &setup.jobs.calls[0];
    hawser_status status = read_setup(options, &setup, error);
    HAWSER_THEN(status, check_setup(options, &setup, error));
    if (status == HAWSER_OK && strchr(first->words[0], '/') != NULL)
        status = sim_become(&setup.cluster, setup.link, first->words, error);
    else if (status == HAWSER_OK && calibration != NULL)
        status = sim_calibrate(calibration, first->count, first->words, error);
    else if (status == HAWSER_OK && setup.sweep_count > 0)
        status = sweep(&setup, code, error);
    else if (status == HAWSER_OK)
        *code = run_jobs(&setup);
    sim_faults_free(&setup.faults);
    return status;
}

int main(int argc, char **argv)
{
    const hawser_option *const tables[] = {sim_job_rows, rows, NULL};
    hawser_options *options = NULL;
    hawser_error error = {0};
    int code = HW_EXIT_OK;
    hawser_status status = hawser_options_new(tables, &options, &error);
    HAWSER_THEN(status, run(options, argc, argv, &code, &error));
    hawser_options_free(options);
    if (status == HAWSER_OK)
        return code;
    fprintf(stderr, "hawser-sim: %s\n", error.text);
    return hw_exit_code(status);
}
