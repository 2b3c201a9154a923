/*
 * A number that is not finite ends a run by name, whichever way it came about and however the blocks are spread: one thread,
 * threads, one worker a node, several, in every form of state and under every policy. What begins with one is refused in the
 * plan.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hawser/stored.h"
#include "nodes.h"

enum { COUNT = 1000, COLS = 24, CLOCKS = 8, AT = 700 };

typedef struct form {
    const char *name;
    hawser_unit_function *unit;
    hawser_state *(*make)(hawser_program *program,
                          hawser_state *columns); /* makes the states, gives the one to be updated */
    const char *words;                            /* what the refusal names */
    bool stored;                                  /* policies of stored states, too */
} form;

typedef struct trial {
    const form *form;
    hawser_sync sync;
} trial;

static double columns_of_zeros[COLS];
static const hawser_matrix columns = {.rows = 1, .cols = COLS, .stored = COLS, .values = columns_of_zeros, .stride = 1};

/* ------------------------------------------------------------------------------------------------------- the units ---- */

/* Each update is finite; their sum is not. */
static hawser_status add_much(hawser_context *context)
{
    double *cache;
    HAWSER_TRY(hawser_write(context, "state", &cache));
    cache[AT] += 0.25 * 1.7e308 * hawser_gain(context, "state");
    return HAWSER_OK;
}

static hawser_status inc_much(hawser_context *context)
{
    const uint64_t key = AT;
    const double much = 0.3e308;
    return hawser_inc(context, "state", &key, &much, 1);
}

static hawser_status add_and_yield(hawser_context *context)
{
    HAWSER_TRY(add_much(context));
    HAWSER_TRY(hawser_yield(context));
    return add_much(context);
}

static hawser_status write_infinity(hawser_context *context)
{
    size_t first, count = hawser_part(context, "state", &first);
    double *part;
    HAWSER_TRY(hawser_write(context, "state", &part));
    if (hawser_clock(context) == CLOCKS / 2 && count > 0)
        part[count - 1] = (double)INFINITY;
    return HAWSER_OK;
}

static hawser_status write_tied(hawser_context *context)
{
    HAWSER_WRITE(context, double, image);
    image[0] += 1;
    return write_infinity(context);
}

static hawser_status add_one(hawser_context *context)
{
    HAWSER_WRITE(context, double, state);
    state[AT] += 1;
    return HAWSER_OK;
}

static hawser_status rebuild_much(hawser_context *context)
{
    HAWSER_WRITE(context, double, state);
    state[AT] += 1.7e308;
    if (hawser_blocks(context) == 1) /* there is no other block to add to */
        state[AT] += 1.7e308;
    return HAWSER_OK;
}

/* -------------------------------------------------------------------------------------------------------- the forms ---- */

static hawser_state *plain(hawser_program *program, hawser_state *along)
{
    (void)along;
    return HAWSER_STATE(program, "state", HAWSER_REPLICATED, .rows = COUNT);
}

static hawser_state *damped(hawser_program *program, hawser_state *along)
{
    (void)along;
    return HAWSER_STATE(program, "state", HAWSER_REPLICATED, .rows = COUNT, .damping = 0.9, .gain = 2);
}

static hawser_state *rounded(hawser_program *program, hawser_state *along)
{
    (void)along;
    return HAWSER_STATE(program, "state", HAWSER_REPLICATED, .rows = COUNT, .form = HAWSER_AS_BF16);
}

static void merge_much(const hawser_merging *m)
{
    for (size_t i = 0; i < m->count; i++)
        m->state[m->first + i] = (m->state[m->first + i] + m->sum[i]) * 1.5;
}

static hawser_state *merged(hawser_program *program, hawser_state *along)
{
    (void)along;
    return HAWSER_STATE(program, "state", HAWSER_REPLICATED, .rows = COUNT, .merge = merge_much);
}

static hawser_state *derived(hawser_program *program, hawser_state *along)
{
    (void)along;
    return HAWSER_STATE(program, "state", HAWSER_REPLICATED, .rows = COUNT, .derive = rebuild_much);
}

static hawser_state *partitioned(hawser_program *program, hawser_state *along)
{
    (void)along;
    return HAWSER_STATE(program, "state", HAWSER_PARTITIONED, .rows = COUNT);
}

static hawser_state *local(hawser_program *program, hawser_state *along)
{
    return HAWSER_STATE(program, "state", HAWSER_LOCAL, .along = along);
}

static hawser_state *tied(hawser_program *program, hawser_state *along)
{
    hawser_state *image = HAWSER_STATE(program, "image", HAWSER_REPLICATED, .rows = 3);
    return HAWSER_STATE(program, "state", HAWSER_LOCAL, .along = along, .tie = image);
}

static hawser_state *stored(hawser_program *program, hawser_state *along)
{
    (void)along;
    return HAWSER_STATE(program, "state", HAWSER_STORED, .rows = COUNT);
}

static hawser_state *summed(hawser_program *program, hawser_state *along)
{
    (void)along;
    return HAWSER_STATE(program, "state", HAWSER_STORED, .rows = COUNT, .function = "add");
}

static const form forms[] = {
    {"replicated", add_much, plain, "'state'", false},
    {"replicated, by hawser_inc", inc_much, plain, "'state'", false},
    {"replicated, cut in parts", add_and_yield, plain, "'state'", false},
    {"replicated, damped, with a gain", add_much, damped, "'state'", false},
    {"replicated, rounded", add_much, rounded, "'state'", false},
    {"replicated, merged by the user", add_much, merged, "'state'", false},
    {"derived", add_one, derived, "'state'", false},
    {"partitioned", write_infinity, partitioned, "'state'", false},
    {"local", write_infinity, local, "'state'", false},
    {"tied", write_tied, tied, "'state'", false},
    {"stored", write_infinity, stored, "'state'", true},
    {"stored by a function", inc_much, summed, "'state'", true},
};
enum { FORMS = sizeof forms / sizeof *forms };

/* ------------------------------------------------------------------------------------------------------------ runs ---- */

static hawser_program *make(const trial *what)
{
    hawser_program *program = hawser_program_new("finite", NULL);
    hawser_state *data = HAWSER_STATE(program, "columns", HAWSER_DATA, .matrix = &columns, .split = HAWSER_BY_COLUMN);
    hawser_state *state = what->form->make(program, data);
    hawser_state *image = what->form->make == tied ? state->tied_to : NULL;
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = CLOCKS}, what->sync);
    HAWSER_UNIT(loop, "unit", what->form->unit, .reads = {data}, .updates = {state, image});
    return program;
}

static void run_trial(test_node *node)
{
    hawser_program *program = make(node->user);
    hawser_run *run = NULL;
    node->status = hawser_run_program(node->job, program, &run, &node->error);
    hawser_run_free(run);
    hawser_program_free(program);
}

static void check(const trial *what, const char *where, hawser_status status, const char *text)
{
    if (status != HAWSER_NOT_FINITE || strstr(text, what->form->words) == NULL)
        fail_msg("%s, %s, sync %d: %d %s", what->form->name, where, what->sync.tightness, status, text);
}

static void in_one_process(const trial *what, const char *workers, const char *threads)
{
    test_job test = OPEN_JOB("workers", workers, "threads", threads);
    hawser_error error = {0};
    hawser_program *program = make(what);
    hawser_run *run = NULL;
    hawser_status status = hawser_run_program(test.job, program, &run, &error);
    check(what, workers, status, error.text);
    assert_null(run);
    hawser_program_free(program);
    close_job(test);
}

static void over_nodes(const trial *what, uint32_t count, const char *workers, const char *topology)
{
    test_node nodes[NODES_MOST];
    run_nodes(nodes, count, (const char *const[]){"workers", workers, "topology", topology, "timeout", "60", NULL},
              run_trial, (void *)(uintptr_t)what);
    for (uint32_t i = 0; i < count; i++)
        check(what, "over nodes", nodes[i].status, nodes[i].error.text);
}

static void run_each_way(trial what)
{
    in_one_process(&what, "1", "1");
    in_one_process(&what, "3", "1");
    in_one_process(&what, "3", "3");
    over_nodes(&what, 3, "3", "all");
    over_nodes(&what, 2, "5", "servers:1");
}

static void every_form_ends_the_run(void **state)
{
    (void)state;
    for (int f = 0; f < FORMS; f++) {
        run_each_way((trial){&forms[f], hawser_bsp()});
        run_each_way((trial){&forms[f], hawser_ssp(1)});
        run_each_way((trial){&forms[f], hawser_tap()});
        if (!forms[f].stored)
            continue;
        run_each_way((trial){&forms[f], hawser_delay(1)});
        if (forms[f].make != summed) /* data-centric loops need one writer per chunk */
            run_each_way((trial){&forms[f], hawser_centric(0)});
    }
}

/* ------------------------------------------------------------------------------------------------------- beginnings ---- */

static hawser_status do_nothing(hawser_context *context)
{
    (void)context;
    return HAWSER_OK;
}

static void data_that_are_not_finite_are_refused_at_the_start(void **state)
{
    (void)state;
    static const char *const kinds[] = {"replicated", "partitioned", "local", "stored", "stored by a function"};
    double initial[COLS] = {0};
    test_job test = OPEN_JOB("workers", "2");
    for (int kind = 0; kind < 5; kind++)
        for (int i = 0; i < 2; i++) {
            initial[COLS - 2] = i == 0 ? (double)NAN : -(double)INFINITY;
            hawser_error error = {0};
            hawser_program *program = hawser_program_new("begins", NULL);
            hawser_state *data =
                HAWSER_STATE(program, "columns", HAWSER_DATA, .matrix = &columns, .split = HAWSER_BY_COLUMN);
            hawser_state *begun =
                kind == 0   ? HAWSER_STATE(program, "w", HAWSER_REPLICATED, .rows = 4, .cols = COLS / 4, .by_column = true,
                                           .initial = initial)
                : kind == 1 ? HAWSER_STATE(program, "w", HAWSER_PARTITIONED, .rows = COLS, .along = data, .initial = initial)
                : kind == 2 ? HAWSER_STATE(program, "w", HAWSER_LOCAL, .along = data, .initial = initial)
                : kind == 3 ? HAWSER_STATE(program, "w", HAWSER_STORED, .rows = COLS, .initial = initial)
                            : HAWSER_STATE(program, "w", HAWSER_STORED, .rows = COLS, .initial = initial, .function = "add");
            HAWSER_UNIT(hawser_root(program), "unit", do_nothing, .reads = {data}, .updates = {begun});
            hawser_run *run = NULL;
            hawser_status status = hawser_run_program(test.job, program, &run, &error);
            if (status != HAWSER_NOT_FINITE || strstr(error.text, "state 'w' begins with") == NULL ||
                strstr(error.text, "22") == NULL)
                fail_msg("%s: %d %s", kinds[kind], status, error.text);
            hawser_program_free(program);
        }
    close_job(test);
}

/* A transformed part of the data, dense and sparse. */
static hawser_status replace(hawser_context *context)
{
    static const double dense[COLS] = {1, 2, [7] = (double)INFINITY};
    static const float sparse[COLS] = {1, 2, [9] = (float)NAN};
    static const uint64_t offsets[COLS + 1] = {[8] = 2, 2, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4};
    static const uint32_t indices[COLS] = {0};
    const bool *how = hawser_user(context);
    hawser_matrix part = {.rows = 1, .cols = COLS, .values = dense, .stride = 1};
    if (*how)
        part = (hawser_matrix){.rows = 1,
                               .cols = COLS,
                               .stored = 4,
                               .layout = HAWSER_CSC,
                               .type = HAWSER_F32,
                               .offsets = offsets,
                               .indices = indices,
                               .values = sparse + 6};
    return hawser_data_replace(context, "columns", &part);
}

static void replaced_data_are_finite(void **state)
{
    (void)state;
    test_job test = OPEN_JOB("workers", "1");
    for (int sparse = 0; sparse < 2; sparse++) {
        bool how = sparse == 1;
        hawser_error error = {0};
        hawser_program *program = hawser_program_new("replace", &how);
        hawser_state *data = HAWSER_STATE(program, "columns", HAWSER_DATA, .matrix = &columns, .split = HAWSER_BY_COLUMN);
        HAWSER_UNIT(hawser_root(program), "unit", replace, .updates = {data});
        hawser_run *run = NULL;
        hawser_status status = hawser_run_program(test.job, program, &run, &error);
        if (status != HAWSER_NOT_FINITE || strstr(error.text, sparse ? "column 9" : "column 7") == NULL)
            fail_msg("%d: %d %s", sparse, status, error.text);
        hawser_program_free(program);
    }
    close_job(test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_form_ends_the_run),
                                       cmocka_unit_test(data_that_are_not_finite_are_refused_at_the_start),
                                       cmocka_unit_test(replaced_data_are_finite)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
