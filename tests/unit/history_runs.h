/* history_runs.h - recorded runs for tests: a program under any options, and its history read back. The test stands in a directory of its own. */
#ifndef HW_TESTS_HISTORY_RUNS_H
#define HW_TESTS_HISTORY_RUNS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history/file.h"
#include "job.h"

enum { RUN_ENTRIES = 700 };

/* Adds to entries that the seed picks, in one or two parts a clock. */
static hawser_status add_somewhere(hawser_context *context)
{
    double *w = hawser_cache(context, "w");
    for (int i = 0; i < 5; i++) {
        w[hawser_random_below(context, RUN_ENTRIES)] += hawser_gain(context, "w") * hawser_random_uniform(context);
        if (i == 2 && hawser_random_below(context, 3) == 0)
            HAWSER_TRY(hawser_yield(context));
    }
    return HAWSER_OK;
}

/* Makes w a function of the clock alone: a derived state's rebuild need not make sense, only be the same everywhere. */
static hawser_status rebuild_share(hawser_context *context)
{
    double *w = hawser_cache(context, "v");
    w[hawser_block(context)] += 1;
    return HAWSER_OK;
}

static hawser_status change_owned(hawser_context *context)
{
    size_t first = 0, count = hawser_part(context, "p", &first);
    double *own = hawser_local(context, "p");
    const double *w = hawser_view(context, "w");
    for (size_t i = 0; i < count; i++)
        own[i] = w[(first + i) % RUN_ENTRIES] + (double)hawser_clock(context);
    hawser_cache(context, "v")[hawser_block(context)] += 1;
    return HAWSER_OK;
}

/* What a block alone does, between the loops. */
static hawser_status scale_alone(hawser_context *context)
{
    double *w = hawser_cache(context, "w");
    for (int i = 0; i < 20; i++)
        w[i] *= 0.5;
    return HAWSER_OK;
}

/* A loop over replicated, partitioned and derived states, twice, with a unit of one block between. */
static hawser_status run_recorded(hawser_job *job, uint64_t clocks, hawser_error *error)
{
    hawser_program *program = hawser_program_new("recorded", NULL);
    hawser_state *w = hawser_replicated_state(program, "w", RUN_ENTRIES, 1, NULL, (hawser_rule){0.5, 2, NULL, NULL});
    hawser_state *v = hawser_replicated_state(program, "v", 16, 1, NULL, (hawser_rule){0});
    hawser_state *p = hawser_partitioned_state(program, "p", 64, NULL, NULL);
    hawser_derive(v, rebuild_share);
    hawser_encoding(w, hawser_job_encoding(job));
    hawser_operator *outer = hawser_loop(hawser_root(program), "outer", (hawser_until){.clocks = 2}, hawser_bsp());
    hawser_operator *loop = hawser_loop(outer, "inner", (hawser_until){.clocks = clocks}, hawser_job_sync(job));
    hawser_unit(loop, "add", add_somewhere, NULL, HAWSER_UPDATES(w));
    hawser_unit(loop, "own", change_owned, HAWSER_READS(w), HAWSER_UPDATES(p, v));
    hawser_unit_one(outer, "scale", scale_alone, NULL, HAWSER_UPDATES(w));
    hawser_run *run = NULL;
    hawser_status status = hawser_run_program(job, program, &run, error);
    hawser_run_free(run);
    hawser_program_free(program);
    return status;
}

static unsigned char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    unsigned char *bytes = malloc(1 << 24);
    if (file == NULL || bytes == NULL)
        abort();
    *size = fread(bytes, 1, 1 << 24, file);
    fclose(file);
    return bytes;
}

/* Adds a file as hawser check would. */
static inline hawser_status add_history(hw_history *history, const char *path, hawser_error *error)
{
    size_t size;
    unsigned char *bytes = read_file(path, &size);
    hawser_status status = hw_history_add(history, path, bytes, size, error);
    free(bytes);
    return status;
}

#endif
