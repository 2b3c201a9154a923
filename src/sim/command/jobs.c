#include "sim/command/jobs.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

const hawser_option sim_job_rows[] = {
    {"nodes", HAWSER_INTEGER, "2", "[1,8192]", "N", "number of nodes", NULL, 'n'},
    {"host", HAWSER_INTEGER, NULL, "[0,8191]", "H",
     "its nodes are on hosts H, H + 1 and so on; default: nodes fill the hosts from 0 on, those of all jobs in turn", NULL,
     0},
    {"start", HAWSER_TEXT, NULL, NULL, "t=S|end=J",
     "it starts S virtual seconds after the beginning, or when job J, an earlier one, has ended; default: t=0", NULL, 0},
    {0},
};

static hawser_status read_start(const char *text, size_t number, sim_job *job, hawser_error *error)
{
    double value = -1;
    const char *digits = strchr(text, '='), *end = digits != NULL ? hawser_read_number(digits + 1, &value) : NULL;
    bool whole = end != NULL && *end == '\0' && isfinite(value) && value >= 0;
    if (whole && strncmp(text, "t=", 2) == 0) {
        job->start = value;
        return HAWSER_OK;
    }
    if (whole && strncmp(text, "end=", 4) == 0 && value == floor(value) && value < (double)number) {
        job->follows = true;
        job->earlier = (uint32_t)value;
        return HAWSER_OK;
    }
    if (number == 0)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--start = '%s': expected t=SECONDS: job 0 has no earlier one", text);
    return hawser_fail(error, HAWSER_BAD_OPTION, "--start = '%s': expected t=SECONDS, or end=J with a job from 0 to %zu",
                       text, number - 1);
}

static hawser_status read_job(const hawser_options *options, size_t number, sim_job *job, hawser_error *error)
{
    job->nodes = (uint32_t)hawser_options_integer(options, "nodes");
    job->placed = hawser_options_has(options, "host");
    if (job->placed)
        job->host = (uint32_t)hawser_options_integer(options, "host");
    const char *start = hawser_options_text(options, "start");
    return start == NULL ? HAWSER_OK : read_start(start, number, job, error);
}

/* Reads the part of a call that is about one job; argv[0] is no part of it. Takes its options from argv. */
static hawser_status read_part(hawser_options *options, int argc, char **argv, sim_words *call, hawser_error *error)
{
    int own = 1;
    while (own < argc && strcmp(argv[own], "--") != 0)
        own++;
    int before = own;
    *call = (sim_words){argc - own - 1, argv + own + 1};
    HAWSER_TRY(hawser_options_arguments(options, &before, argv, error));
    if (before > 1)
        return hawser_fail(error, HAWSER_BAD_OPTION, "unexpected argument '%s'; usage: hawser-sim [options] -- COMMAND...",
                           argv[1]);
    return HAWSER_OK;
}

static hawser_status read_later(size_t number, int argc, char **argv, sim_jobs *jobs, hawser_error *error)
{
    const hawser_option *const tables[] = {sim_job_rows, NULL};
    hawser_options *options = NULL;
    hawser_error own = {0};
    HAWSER_TRY(hawser_options_new(tables, &options, error));
    hawser_status status = read_part(options, argc, argv, &jobs->calls[number], &own);
    HAWSER_THEN(status, read_job(options, number, &jobs->list[number], &own));
    if (status == HAWSER_OK && jobs->calls[number].count < 1)
        status = hawser_fail(&own, HAWSER_BAD_OPTION,
                             "no command; usage: ... : [--nodes N] [--host H] [--start t=S|end=J] -- "
                             "COMMAND...");
    hawser_options_free(options);
    bool unknown = strncmp(own.text, "unknown option", strlen("unknown option")) == 0;
    return status == HAWSER_OK ? HAWSER_OK
                               : hawser_fail(error, status, "job %zu: %s%s", number, own.text,
                                             unknown ? "; a job has --nodes, --host and --start" : "");
}

hawser_status sim_read_jobs(hawser_options *options, int argc, char **argv, sim_jobs *jobs, hawser_error *error)
{
    int end = 1;
    *jobs = (sim_jobs){.count = 1};
    while (end < argc && strcmp(argv[end], ":") != 0)
        end++;
    HAWSER_TRY(read_part(options, end, argv, &jobs->calls[0], error));
    if (hawser_options_flag(options, "help"))
        return HAWSER_OK;
    if (jobs->calls[0].count < 1)
        return hawser_fail(error, HAWSER_BAD_OPTION, "no command; usage: hawser-sim [options] -- train lasso DATA ...");
    HAWSER_TRY(read_job(options, 0, &jobs->list[0], error));
    for (int at = end; at < argc; at = end) {
        for (end = at + 1; end < argc && strcmp(argv[end], ":") != 0;)
            end++;
        if (jobs->count == SIM_JOBS_MOST)
            return hawser_fail(error, HAWSER_BAD_OPTION, "more than %d jobs", SIM_JOBS_MOST);
        HAWSER_TRY(read_later(jobs->count, end - at, argv + at, jobs, error));
        jobs->count++;
    }
    for (size_t j = 0; j < jobs->count; j++)
        jobs->nodes += jobs->list[j].nodes;
    if (jobs->nodes > SIM_NODES_MOST)
        return hawser_fail(error, HAWSER_BAD_OPTION, "the jobs have %" PRIu32 " nodes: at most %d can be simulated",
                           jobs->nodes, SIM_NODES_MOST);
    jobs->apart = jobs->count > 1 || jobs->list[0].placed || hawser_options_has(options, "start");
    return HAWSER_OK;
}
