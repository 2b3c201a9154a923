/* runtime_scratch.c - a scratch is written, dropped and read back between drawn clocks: the run has the same bits if the
 * visit is complete. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "runtime/block/worker.h"

enum { ROWS = 6, COLUMNS = 9, CLOCKS = 12 };

/* A walk with momentum. What it has from data is a cache, the rest is remembered. */
typedef struct walk {
    double *squares; /* of the own columns: a cache */
    double *steps;   /* of the clocks so far; remembered, as are the numbers below */
    size_t count, capacity;
    double momentum;
} walk;

static _Atomic int released;

static void release(void *scratch)
{
    walk *own = scratch;
    free(own->squares);
    free(own->steps);
    atomic_fetch_add(&released, 1);
}

static void measure(walk *own, const hawser_matrix *X)
{
    if (own->squares != NULL)
        return;
    own->squares = calloc(X->cols + 1, sizeof *own->squares);
    for (size_t j = 0; j < X->cols; j++)
        own->squares[j] = hawser_column_dot(X, j, (const double *)X->values + j * X->stride);
}

static void keep(walk *own, double step)
{
    if (own->count == own->capacity) {
        own->capacity = 2 * own->capacity + 1;
        own->steps = realloc(own->steps, own->capacity * sizeof *own->steps);
    }
    own->steps[own->count++] = step;
}

static hawser_status step(hawser_context *context)
{
    walk *own = hawser_scratch(context);
    HAWSER_READ(context, hawser_matrix, X);
    HAWSER_WRITE(context, double, v);
    HAWSER_WRITE(context, double, x);
    measure(own, X);
    own->momentum = 0.75 * own->momentum + hawser_random_uniform(context) + 0.0625 * (v[0] + v[1]);
    for (size_t j = 0; j < X->cols; j++) {
        x[j] += own->momentum / (1.0 + own->squares[j]);
        v[X->first % ROWS] += 0.25 * x[j];
    }
    keep(own, own->momentum);
    v[1] += own->steps[own->count / 2] - 0.0625 * v[1];
    return HAWSER_OK;
}

/* The derived state is made between two phases, from the scratch too. */
static hawser_status add_up(hawser_context *context)
{
    const walk *own = hawser_scratch(context);
    HAWSER_READ(context, double, x);
    HAWSER_WRITE(context, double, v);
    for (size_t j = 0; j < hawser_part(context, "x", NULL); j++)
        v[j % ROWS] += 0.5 * x[j] + (double)own->count;
    return HAWSER_OK;
}

static void visit(hawser_record *record, hawser_context *context)
{
    walk *own = hawser_scratch(context);
    hawser_record_bytes(record, &own->momentum, sizeof own->momentum);
    hawser_record_bytes(record, &own->count, sizeof own->count);
    hawser_record_bytes(record, &own->capacity, sizeof own->capacity);
    hawser_record_array(record, (void **)&own->steps, sizeof *own->steps, own->count, own->capacity);
    const hawser_matrix *X; /* what units would make anew may be made here too */
    if (hawser_record_reads(record) && own->count > 0 && hawser_read(context, "X", &X) == HAWSER_OK)
        measure(own, X);
}

static void visit_without_momentum(hawser_record *record, hawser_context *context)
{
    visit(record, context);
    if (hawser_record_reads(record))
        ((walk *)hawser_scratch(context))->momentum = 0.0;
}

static void visit_without_steps(hawser_record *record, hawser_context *context)
{
    visit(record, context);
    walk *own = hawser_scratch(context);
    for (size_t k = 0; hawser_record_reads(record) && k < own->count; k++)
        own->steps[k] = 0.0;
}

/* Of a unit that needs of its scratch only what data have. */
static hawser_status step_of_cache(hawser_context *context)
{
    walk *own = hawser_scratch(context);
    HAWSER_READ(context, hawser_matrix, X);
    HAWSER_WRITE(context, double, v);
    HAWSER_WRITE(context, double, x);
    measure(own, X);
    for (size_t j = 0; j < X->cols; j++) {
        x[j] += hawser_random_uniform(context) / (1.0 + own->squares[j]);
        v[j % ROWS] += 0.25 * x[j] - 0.125 * v[0];
    }
    return HAWSER_OK;
}

typedef struct trial {
    const char *workers;
    uint64_t every, seed;
    hawser_unit_function *unit;
    hawser_scratch_visit *declared, *instead;
} trial;

typedef struct outcome {
    double v[ROWS], x[COLUMNS];
    uint64_t drops;
    hawser_status status;
    hawser_error error;
} outcome;

static outcome run(trial t)
{
    double entries[ROWS * COLUMNS];
    for (size_t k = 0; k < ROWS * COLUMNS; k++)
        entries[k] = sin((double)k);
    hawser_matrix matrix = {.rows = ROWS, .cols = COLUMNS, .stored = ROWS * COLUMNS, .values = entries, .stride = ROWS};
    test_job test = OPEN_JOB("workers", t.workers, "seed", "7");
    hawser_program *p = hawser_program_new("walk", NULL);
    hawser_scratch_size(p, sizeof(walk), release);
    hawser_scratch_record(p, t.declared);
    hawser_state *X = HAWSER_STATE(p, "X", HAWSER_DATA, .matrix = &matrix, .split = HAWSER_BY_COLUMN);
    hawser_state *x = HAWSER_STATE(p, "x", HAWSER_LOCAL, .along = X);
    hawser_state *v =
        HAWSER_STATE(p, "v", HAWSER_REPLICATED, .rows = ROWS, .damping = 0.5, .derive = t.unit == step ? add_up : NULL);
    hawser_operator *outer = hawser_loop(hawser_root(p), "outer", (hawser_until){.clocks = 2}, hawser_bsp());
    hawser_operator *loop = hawser_loop(hawser_sequence(outer), "walk", (hawser_until){.clocks = CLOCKS}, hawser_bsp());
    HAWSER_UNIT(loop, "step", t.unit, .reads = {X}, .updates = {v, x});
    hw_job_drop_scratch(test.job, t.every, t.seed, t.instead);
    test.job->drops.states = t.seed % 2 == 0;
    outcome out = {0};
    hawser_run *done = NULL;
    atomic_store(&released, 0);
    out.status = hawser_run_program(test.job, p, &done, &out.error);
    if (out.status == HAWSER_OK) {
        memcpy(out.v, RESULT(double, done, "v", NULL), sizeof out.v);
        memcpy(out.x, RESULT(double, done, "x", NULL), sizeof out.x);
    }
    out.drops = test.job->drops.count;
    hawser_run_free(done);
    hawser_program_free(p);
    if (out.status == HAWSER_OK) /* what is dropped is released */
        assert_int_equal(atomic_load(&released), out.drops + hawser_job_workers(test.job));
    close_job(test);
    return out;
}

static bool same(const outcome *a, const outcome *b)
{
    assert_int_equal(a->status, HAWSER_OK);
    assert_int_equal(b->status, HAWSER_OK);
    return memcmp(a->v, b->v, sizeof a->v) == 0 && memcmp(a->x, b->x, sizeof a->x) == 0;
}

static const char *const workers[] = {"1", "2", "4"};

static void recorded_scratch_survives_drops(void **state)
{
    (void)state;
    for (size_t w = 0; w < 3; w++) {
        outcome kept = run((trial){workers[w], 0, 0, step, visit, NULL});
        assert_int_equal(kept.drops, 0);
        for (uint64_t seed = 0; seed < 6; seed++) {
            outcome dropped = run((trial){workers[w], seed % 3 + 1, seed, step, visit, NULL});
            assert_true(dropped.drops > 0);
            assert_true(same(&kept, &dropped));
        }
    }
}

static void field_that_is_left_out_changes_bits(void **state)
{
    (void)state;
    static hawser_scratch_visit *const mutants[] = {visit_without_momentum, visit_without_steps};
    for (size_t w = 0; w < 3; w++) {
        outcome kept = run((trial){workers[w], 0, 0, step, visit, NULL});
        for (size_t m = 0; m < 2; m++) {
            outcome dropped = run((trial){workers[w], 2, 1, step, visit, mutants[m]});
            assert_false(same(&kept, &dropped));
        }
    }
}

static void scratch_without_a_record_is_a_cache(void **state)
{
    (void)state;
    for (size_t w = 0; w < 3; w++) {
        outcome kept = run((trial){workers[w], 0, 0, step_of_cache, NULL, NULL});
        outcome dropped = run((trial){workers[w], 1, 0, step_of_cache, NULL, NULL});
        assert_true(dropped.drops >= 2 * CLOCKS);
        assert_true(same(&kept, &dropped));
        outcome forgetful = run((trial){workers[w], 2, 1, step, NULL, NULL}); /* this one should declare a record */
        kept = run((trial){workers[w], 0, 0, step, NULL, NULL});
        assert_false(same(&kept, &forgetful));
    }
}

static void visit_of_a_state(hawser_record *record, hawser_context *context)
{
    (void)record;
    const double *v;
    assert_int_equal(hawser_read(context, "v", &v), HAWSER_BAD_PROGRAM);
}

static void visit_that_yields(hawser_record *record, hawser_context *context)
{
    (void)record;
    assert_int_equal(hawser_yield(context), HAWSER_BAD_PROGRAM);
}

static void visit_that_reports(hawser_record *record, hawser_context *context)
{
    (void)record;
    assert_int_equal(hawser_report(context, "none", 1.0), HAWSER_BAD_PROGRAM);
}

static void visit_that_reduces(hawser_record *record, hawser_context *context)
{
    (void)record;
    double value = 0.0;
    assert_int_equal(hawser_allreduce(context, &value, 1, HAWSER_SUM), HAWSER_BAD_PROGRAM);
}

static void visit_that_fails(hawser_record *record, hawser_context *context)
{
    (void)context;
    hawser_record_fail(record, HAWSER_IO, "the field cannot be");
}

static void visit_that_reads_more(hawser_record *record, hawser_context *context)
{
    char none = 0;
    (void)context;
    for (int k = hawser_record_reads(record); k >= 0; k--)
        hawser_record_bytes(record, &none, 1);
}

static void visit_without_memory(hawser_record *record, hawser_context *context)
{
    if (hawser_record_reads(record))
        (void)hawser_unit_fail(context, HAWSER_NO_MEMORY, "no memory to read back");
}

static void wrong_visits_fail_the_run(void **state)
{
    (void)state;
    static const struct {
        hawser_scratch_visit *visit;
        hawser_status status;
        const char *text;
    } wrong[] = {
        {visit_of_a_state, HAWSER_BAD_PROGRAM, "visit of the 'scratch', block 0: hawser_read: state 'v' is"},
        {visit_that_yields, HAWSER_BAD_PROGRAM, "hawser_yield: a visit has data only"},
        {visit_that_reports, HAWSER_BAD_PROGRAM, "hawser_report: a visit has data only"},
        {visit_that_reduces, HAWSER_BAD_PROGRAM, "hawser_allreduce: a visit cannot reduce"},
        {visit_that_fails, HAWSER_IO, "the field cannot be"},
        {visit_that_reads_more, HAWSER_BAD_INPUT, "a record ends early"},
        {visit_without_memory, HAWSER_NO_MEMORY, "visit of the 'scratch', block 0: no memory to read back"},
    };
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        outcome out = run((trial){"1", 1, 0, step, wrong[k].visit, NULL});
        assert_int_equal(out.status, wrong[k].status);
        if (strstr(out.error.text, wrong[k].text) == NULL)
            fail_msg("'%s' is not in '%s'", wrong[k].text, out.error.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_scratch_survives_drops),
        cmocka_unit_test(field_that_is_left_out_changes_bits),
        cmocka_unit_test(scratch_without_a_record_is_a_cache),
        cmocka_unit_test(wrong_visits_fail_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
