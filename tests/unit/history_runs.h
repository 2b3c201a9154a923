/* history_runs.h - recorded runs for tests: a program under any options, and its history read back. The test stands in a
 * directory of its own. */
#ifndef HW_TESTS_HISTORY_RUNS_H
#define HW_TESTS_HISTORY_RUNS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history_memory.h"
#include "job.h"

enum { RUN_ENTRIES = 700 };

/* Adds to entries that the seed picks, in one or two parts a clock. */
static hawser_status add_somewhere(hawser_context *context)
{
    HAWSER_WRITE(context, double, w);
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
    double *w;
    HAWSER_TRY(hawser_write(context, "v", &w));
    w[hawser_block(context)] += 1;
    return HAWSER_OK;
}

static hawser_status change_owned(hawser_context *context)
{
    size_t first = 0, count = hawser_part(context, "p", &first);
    double *own;
    HAWSER_TRY(hawser_write(context, "p", &own));
    HAWSER_READ(context, double, w);
    for (size_t i = 0; i < count; i++)
        own[i] = w[(first + i) % RUN_ENTRIES] + (double)hawser_clock(context);
    HAWSER_WRITE(context, double, v);
    v[hawser_block(context)] += 1;
    return HAWSER_OK;
}

/* What a block alone does, between the loops. */
static hawser_status scale_alone(hawser_context *context)
{
    HAWSER_WRITE(context, double, w);
    for (int i = 0; i < 20; i++)
        w[i] *= 0.5;
    return HAWSER_OK;
}

/* A loop over replicated, partitioned and derived states, twice, with a unit of one block between. */
static hawser_status run_recorded(hawser_job *job, uint64_t clocks, hawser_error *error)
{
    hawser_program *program = hawser_program_new("recorded", NULL);
    hawser_state *w = HAWSER_STATE(program, "w", HAWSER_REPLICATED, .rows = RUN_ENTRIES, .damping = 0.5, .gain = 2,
                                   .form = hawser_job_encoding(job));
    hawser_state *v = HAWSER_STATE(program, "v", HAWSER_REPLICATED, .rows = 16, .derive = rebuild_share);
    hawser_state *p = HAWSER_STATE(program, "p", HAWSER_PARTITIONED, .rows = 64);
    hawser_operator *outer = hawser_loop(hawser_root(program), "outer", (hawser_until){.clocks = 2}, hawser_bsp());
    hawser_operator *loop = hawser_loop(outer, "inner", (hawser_until){.clocks = clocks}, hawser_job_sync(job));
    HAWSER_UNIT(loop, "add", add_somewhere, .updates = {w});
    HAWSER_UNIT(loop, "own", change_owned, .reads = {w}, .updates = {p, v});
    HAWSER_UNIT(outer, "scale", scale_alone, .one = true, .updates = {w});
    hawser_run *run = NULL;
    hawser_status status = hawser_run_program(job, program, &run, error);
    hawser_run_free(run);
    hawser_program_free(program);
    return status;
}

#endif
