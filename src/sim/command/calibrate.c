#include "sim/command/calibrate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cli.h"
#include "hawser/hawser.h"
#include "sim/quantity.h"

enum { IDLE_CLOCKS = 20000, LINE = 200 };

static hawser_status idle(hawser_context *context)
{
    (void)context;
    return HAWSER_OK;
}

static hawser_status run_idle(hawser_job *job, hawser_error *error)
{
    hawser_program *program = hawser_program_new("idle", NULL);
    hawser_state *x = HAWSER_STATE(program, "x", HAWSER_REPLICATED, .rows = 1);
    hawser_operator *loop = HAWSER_LOOP(hawser_root(program), "loop", hawser_bsp(), .clocks = IDLE_CLOCKS);
    hawser_run *run = NULL;
    HAWSER_UNIT(loop, "idle", idle, .updates = {x});
    hawser_status status = hawser_run_program(job, program, &run, error);
    hawser_run_free(run);
    hawser_program_free(program);
    return status;
}

/* Measures a call of a unit that does nothing. */
static hawser_status measure_call(double *seconds, hawser_error *error)
{
    const hawser_option *const tables[] = {hawser_job_rows(), NULL};
    hawser_options *options = NULL;
    hawser_job *job = NULL;
    hawser_status status = hawser_options_new(tables, &options, error);
    HAWSER_THEN(status, hawser_options_set(options, "workers", "1", HAWSER_FROM_PROGRAM, "--calibrate", error));
    HAWSER_THEN(status, hawser_open_options(options, &job, error));
    sim_measure_begin();
    HAWSER_THEN(status, run_idle(job, error));
    sim_measures all = sim_measure_end();
    hawser_close(job);
    hawser_options_free(options);
    *seconds = all.calls > 0 ? 1e-9 * (double)all.unit_nanoseconds / (double)all.calls : 0;
    return status;
}

static hawser_status measure_command(int count, char *const *words, sim_measures *all, hawser_error *error)
{
    char **own = calloc((size_t)count + 2, sizeof *own); /* the command changes its own */
    if (own == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the command");
    own[0] = (char *)(uintptr_t) "hawser";
    for (int i = 0; i < count; i++)
        own[i + 1] = words[i];
    hw_call call = {.environment = environ, .out = stdout, .err = stderr};
    sim_measure_begin();
    int code = hw_cli_call(&call, count + 1, own);
    *all = sim_measure_end();
    free(own);
    if (code != HW_EXIT_OK)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--calibrate: the command ended with %d", code);
    if (all->entries == 0 || all->bytes == 0)
        return hawser_fail(
            error, HAWSER_BAD_OPTION,
            "--calibrate: the command's units went over %" PRIu64 " entries and exchanged %" PRIu64
            " bytes; both must be above 0: train with --workers 2 or more, by an algorithm that exchanges updates "
            "(linear keeps its coefficients in a store instead)",
            all->entries, all->bytes);
    return HAWSER_OK;
}

static hawser_status write_costs(hw_file *file, const sim_measures *all, double call, hawser_error *error)
{
    double entry = (1e-9 * (double)all->unit_nanoseconds - call * (double)all->calls) / (double)all->entries;
    return hw_file_print(file, error,
                         "# CPU time of a call of a unit, of an entry and of a byte: %" PRIu64 " calls, %" PRIu64
                         " entries, %" PRIu64 " bytes\n%.4gns,%.4gns,%.4gns\n",
                         all->calls, all->entries, all->bytes, 1e9 * call, 1e9 * (entry > 0 ? entry : 0),
                         (double)all->byte_nanoseconds / (double)all->bytes);
}

hawser_status sim_calibrate(const char *path, int count, char *const *words, hawser_error *error)
{
    sim_measures all = {0};
    double call = 0;
    hw_file file = {0};
    HAWSER_TRY(hw_file_begin(&file, path, error)); /* a path that cannot be written fails before the runs */
    hawser_status status = measure_call(&call, error);
    HAWSER_THEN(status, measure_command(count, words, &all, error));
    HAWSER_THEN(status, write_costs(&file, &all, call, error));
    HAWSER_THEN(status, hw_file_commit(&file, error));
    hw_file_abort(&file); /* does nothing after a commit */
    return status;
}

static hawser_status read_times(const char *text, const char *where, sim_costs *costs, hawser_error *error)
{
    char copy[LINE], *rest = copy, *part;
    double *const parts[] = {&costs->call, &costs->entry, &costs->byte};
    size_t count = 0;
    snprintf(copy, sizeof copy, "%s", text);
    while ((part = strsep(&rest, ",")) != NULL && count < 3)
        HAWSER_TRY(sim_read_time(where, part, parts[count++], error));
    if (part != NULL || count < 3 || strlen(text) >= sizeof copy)
        return hawser_fail(
            error, HAWSER_BAD_OPTION,
            "%s = '%s': expected three times, of a call, an entry and a byte, as in 1us,2ns,0.5ns, or a file of "
            "--calibrate",
            where, text);
    return HAWSER_OK;
}

hawser_status sim_read_costs(const char *text, sim_costs *costs, hawser_error *error)
{
    char line[LINE] = "#", where[300];
    bool is_file = access(text, F_OK) == 0;
    if (!is_file && strchr(text, ',') == NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--compute = '%s': there is no such file, and three times have commas, as in 1us,2ns,0.5ns",
                           text);
    if (!is_file)
        return read_times(text, "--compute", costs, error);
    FILE *file = fopen(text, "re");
    if (file == NULL)
        return hawser_fail(error, HAWSER_IO, "--compute: cannot open %s", text);
    while (line[0] == '#' && fgets(line, sizeof line, file) != NULL)
        line[strcspn(line, "\n")] = '\0';
    (void)fclose(file);
    if (line[0] == '#')
        return hawser_fail(error, HAWSER_BAD_OPTION, "--compute: %s has no line of times, as a file of --calibrate has",
                           text);
    snprintf(where, sizeof where, "--compute: %.200s", text);
    return read_times(line, where, costs, error);
}
