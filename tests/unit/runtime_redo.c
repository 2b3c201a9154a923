/*
 * runtime_redo.c - waiting calls return that the view has changed: the stage is done over from its last commit, with the
 * same bits. Each thing that goes back stands alone in a program: a mini-batch iterator, the memory of a stop test, and the
 * local solver of CoCoA. Random programs have the rest together (runtime_programs.c).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "hawser/batches.h"
#include "hawser/cocoa.h"
#include "hawser/job_data.h"
#include "hawser/row_kernels.h"
#include "nodes.h"

enum { ROWS = 14, COLUMNS = 3, BATCH = 3, CLOCKS = 9, ENTRIES = ROWS * COLUMNS };

/* How a program is run. */
typedef struct manner {
    const char *workers;
    uint64_t every, seed; /* of changes of the view; every 0: none */
    bool fibers;
} manner;

/* What a run leaves: the numbers of its states, its metric, and how long it was. */
typedef struct outcome {
    double values[ENTRIES + ROWS], metric;
    uint64_t clocks, changes, tests;
} outcome;

typedef hawser_program *maker(hawser_job *job);

static double entries[ENTRIES];
static const hawser_matrix matrix = {
    .rows = ROWS, .cols = COLUMNS, .stored = ENTRIES, .values = entries, .stride = COLUMNS, .layout = HAWSER_DENSE_ROWS};

static int fill(void **state)
{
    (void)state;
    for (size_t i = 0; i < ENTRIES; i++)
        entries[i] = sin(1.0 + (double)i);
    return 0;
}

/* Copies the results of the states "w" and "a", if they exist. */
static void take_result(const hawser_run *run, outcome *out)
{
    size_t count = 0, more = 0;
    const double *w = RESULT(double, run, "w", &count), *a = RESULT(double, run, "a", &more);
    if (w != NULL)
        memcpy(out->values, w, count * sizeof *w);
    if (a != NULL)
        memcpy(out->values + ENTRIES, a, more * sizeof *a);
    out->metric = hawser_result_metric(run, "m");
    out->clocks = hawser_run_figures(run)->clocks;
}

static outcome run(maker *make, manner how)
{
    test_job test = OPEN_JOB("workers", how.workers, "seed", "3", "timeout", "60");
    hawser_error error = {0};
    hawser_run *done = NULL;
    outcome out = {0};
    if (how.fibers)
        hw_job_use_fibers(test.job, how.seed);
    hw_job_change_view(test.job, how.every, how.seed);
    hawser_program *program = make(test.job);
    if (hawser_run_program(test.job, program, &done, &error) != HAWSER_OK)
        fail_msg("%s workers, a change in %d calls: %s", how.workers, (int)how.every, error.text);
    take_result(done, &out);
    out.changes = test.job->changes.count;
    out.tests = test.job->changes.tests;
    hawser_run_free(done);
    hawser_program_free(program);
    close_job(test);
    return out;
}

static bool same(const outcome *a, const outcome *b)
{
    return memcmp(a->values, b->values, sizeof a->values) == 0 && memcmp(&a->metric, &b->metric, sizeof a->metric) == 0 &&
           a->clocks == b->clocks;
}

/* Runs a program with and without changes of the view. Returns how many there were, of units and of stop tests. */
static outcome compare(maker *make)
{
    static const char *const workers[] = {"1", "2", "4"};
    outcome sum = {0};
    for (size_t w = 0; w < 3; w++) {
        const outcome wanted = run(make, (manner){workers[w], 0, 0, false});
        assert_int_equal(wanted.changes + wanted.tests, 0);
        for (uint64_t seed = 1; seed <= 8; seed++) {
            outcome got = run(make, (manner){workers[w], 1 + seed % 4, seed, seed % 2 == 0});
            if (!same(&wanted, &got))
                fail_msg("%s workers, seed %d: other bits after %d changes of the view", workers[w], (int)seed,
                         (int)(got.changes + got.tests));
            sum.changes += got.changes;
            sum.tests += got.tests;
        }
    }
    return sum;
}

/* ----------------------------------------------------------------------------------------------------- an iterator ---- */

static void visit_iterator(hawser_record *record, hawser_context *context)
{
    hawser_batches_record(record, hawser_scratch(context));
}

/* Takes the next batch before it waits: if the iterator did not go back, a unit that runs again would take the one after
 * it. */
static hawser_status add_batch(hawser_context *context)
{
    hawser_batches *batches = hawser_scratch(context);
    HAWSER_READ(context, hawser_matrix, X);
    HAWSER_WRITE(context, double, w);
    double sums[COLUMNS] = {0};
    size_t rows[BATCH];
    hawser_batch batch;
    hawser_error error = {0};
    if (batches->size == 0)
        *batches = (hawser_batches){.rows = X->rows, .size = BATCH, .seed = 5, .stream = hawser_block(context)};
    if (hawser_batches_next(batches, rows, &batch, &error) != HAWSER_OK)
        return hawser_unit_fail(context, HAWSER_INTERNAL, "%s", error.text);
    for (size_t k = 0; k < batch.count; k++)
        hawser_row_axpy(X, batch.rows[k], 1.0 + (double)batch.number, sums);
    HAWSER_TRY(hawser_report(context, "m", sums[0]));
    HAWSER_TRY(hawser_allreduce(context, sums, COLUMNS, HAWSER_SUM));
    for (size_t j = 0; j < COLUMNS; j++)
        w[j] += 0.125 * sums[j] + 0.5 * w[j] / hawser_blocks(context);
    sums[0] = w[0];
    HAWSER_TRY(hawser_allreduce(context, sums, 1, HAWSER_MAX));
    w[1] += sums[0];
    return HAWSER_OK;
}

static hawser_program *program_of_batches(hawser_job *job)
{
    (void)job;
    hawser_program *p = hawser_program_new("batches", NULL);
    hawser_metric_declare(p, "m", HAWSER_SUM);
    hawser_scratch_size(p, sizeof(hawser_batches), NULL);
    hawser_scratch_record(p, visit_iterator);
    hawser_state *X = HAWSER_STATE(p, "X", HAWSER_DATA, .matrix = &matrix, .split = HAWSER_BY_ROW);
    hawser_state *w = HAWSER_STATE(p, "w", HAWSER_REPLICATED, .rows = COLUMNS);
    hawser_operator *loop = hawser_loop(hawser_root(p), "loop", (hawser_until){.clocks = CLOCKS}, hawser_bsp());
    HAWSER_UNIT(loop, "batch", add_batch, .reads = {X}, .updates = {w}, .reduces = COLUMNS);
    return p;
}

static void an_iterator_goes_back(void **state)
{
    (void)state;
    assert_true(compare(program_of_batches).changes > 100);
}

/* ---------------------------------------------------------------------------------------------------- a stop test ---- */

static hawser_status report_clock(hawser_context *context)
{
    HAWSER_WRITE(context, double, w);
    w[0] += hawser_metric(context, "seen") > 0 ? hawser_metric(context, "seen") : 1;
    return hawser_report(context, "m", (double)(hawser_clock(context) % 4));
}

typedef struct tested {
    double sum;
    uint64_t calls;
} tested;

/* Ends when the sum of the metrics is large enough; blocks see it. */
static bool sum_is_large(hawser_progress *progress, void *user)
{
    tested *own = hawser_progress_memory(progress);
    own->calls++;
    own->sum += hawser_progress_metric(progress, "m");
    double before = hawser_progress_metric(progress, "seen");
    hawser_progress_set(progress, "seen", (before > 0 ? before : 0) + own->sum + (double)own->calls);
    return own->sum > *(const double *)user;
}

static bool is_without_memory(hawser_progress *progress, void *user)
{
    (void)user;
    return hawser_progress_memory(progress) != NULL;
}

/* The inner loop is entered three times, and its test's memory is zeroed each time. */
static hawser_program *program_of_tests(hawser_job *job)
{
    static double most[] = {90, 12};
    (void)job;
    hawser_program *p = hawser_program_new("tests", NULL);
    hawser_metric_declare(p, "m", HAWSER_MAX);
    hawser_metric_declare(p, "seen", HAWSER_LAST);
    hawser_state *w = HAWSER_STATE(p, "w", HAWSER_REPLICATED, .rows = 1);
    hawser_until outer = {.clocks = 3, .test = sum_is_large, .user = &most[0], .remembers = sizeof(tested)};
    hawser_until inner = {.test = sum_is_large, .user = &most[1], .remembers = sizeof(tested)};
    hawser_until last = {.clocks = 3, .test = is_without_memory};
    HAWSER_UNIT(hawser_loop(hawser_loop(hawser_root(p), "outer", outer, hawser_bsp()), "inner", inner, hawser_bsp()),
                "report", report_clock, .updates = {w});
    HAWSER_UNIT(hawser_loop(hawser_root(p), "last", last, hawser_bsp()), "again", report_clock, .updates = {w});
    return p;
}

static void a_stop_test_goes_back(void **state)
{
    (void)state;
    outcome alone = run(program_of_tests, (manner){"2", 0, 0, false});
    assert_int_equal(alone.clocks, 3 * 10 + 3); /* 0 + 1 + 2 + 3, twice, and 0 + 1 */
    assert_true(compare(program_of_tests).tests > 100);
}

/* What the tests of a program remember together, and what they have found wrong. */
typedef struct remembered {
    double *list; /* metrics that a test has seen */
    size_t count;
    const char *wrong;
} remembered;

static remembered all_tests;

static void visit_tests(hawser_record *record, void *object)
{
    remembered *all = object;
    if (hawser_record_reads(record))
        free(all->list);
    hawser_record_bytes(record, &all->count, sizeof all->count);
    hawser_record_array(record, (void **)&all->list, sizeof *all->list, all->count, ROWS);
}

/* Adds the number of calls of this test to what all tests remember, and chooses by both. */
static bool chooses_together(hawser_progress *progress, void *user)
{
    remembered *all = user;
    uint64_t *calls = hawser_progress_memory(progress);
    if (*calls != hawser_progress_clock(progress))
        all->wrong = "the memory is not that of the clock";
    all->list[all->count++] = (double)++*calls;
    double sum = hawser_progress_metric(progress, "seen");
    hawser_progress_set(progress, "seen", (sum > 0 ? sum : 0) + (double)all->count);
    return (uint64_t)(all->list[all->count / 2] + (double)all->count) % 2 == 0;
}

static bool ends_together(hawser_progress *progress, void *user)
{
    remembered *all = user;
    if (hawser_progress_memory(progress) != NULL)
        all->wrong = "a test has memory that it has not declared";
    all->list[all->count++] = 1;
    return hawser_progress_clock(progress) == 5;
}

/* Chooses by its own memory alone: under ssp, metrics are those of drawn clocks. */
static bool chooses_every_third(hawser_progress *progress, void *user)
{
    remembered *all = user;
    uint64_t *calls = hawser_progress_memory(progress);
    if (*calls != hawser_progress_clock(progress))
        all->wrong = "the memory was not zeroed when the loop was entered";
    return ++*calls % 3 == 0;
}

static hawser_status add_one(hawser_context *context)
{
    HAWSER_WRITE(context, double, w);
    w[0] += 1;
    return HAWSER_OK;
}

static hawser_program *program_of_branches(hawser_job *job)
{
    (void)job;
    free(all_tests.list);
    all_tests = (remembered){.list = calloc(ROWS, sizeof *all_tests.list)};
    assert_non_null(all_tests.list);
    hawser_program *p = hawser_program_new("branches", NULL);
    hawser_metric_declare(p, "m", HAWSER_MAX);
    hawser_metric_declare(p, "seen", HAWSER_LAST);
    hawser_tests_record(p, visit_tests, &all_tests);
    hawser_state *w = HAWSER_STATE(p, "w", HAWSER_REPLICATED, .rows = 1);
    hawser_until until = {.test = ends_together, .user = &all_tests};
    hawser_operator *outer = hawser_loop(hawser_root(p), "outer", until, hawser_bsp());
    hawser_operator *fork = hawser_branch(outer, "together", chooses_together, &all_tests);
    hawser_branch_remembers(fork, sizeof(uint64_t));
    HAWSER_UNIT(fork, "one", report_clock, .updates = {w});
    hawser_operator *inner = hawser_loop(outer, "inner", (hawser_until){.clocks = 8}, hawser_ssp(1));
    fork = hawser_branch(inner, "third", chooses_every_third, &all_tests);
    hawser_branch_remembers(fork, sizeof(uint64_t));
    HAWSER_UNIT(fork, "two", add_one, .updates = {w});
    return p;
}

static void tests_of_branches_go_back(void **state)
{
    (void)state;
    assert_true(compare(program_of_branches).tests > 200);
    if (all_tests.wrong != NULL)
        fail_msg("%s", all_tests.wrong);
    assert_int_equal(all_tests.count, 12);
    free(all_tests.list);
    all_tests.list = NULL;
}

/* -------------------------------------------------------------------------------------------------- a local solver ---- */

static const double target[COLUMNS] = {1, -2, 0.5};

/* Coordinate descent for least squares, with waiting calls between the steps, and a number in the scratch that decides where
 * it begins. */
static hawser_status descend(hawser_context *context, hawser_subproblem *subproblem)
{
    uint64_t *turn = hawser_scratch(context);
    for (size_t k = 0; k < subproblem->coordinates; k++) {
        size_t j = (k + *turn) % subproblem->coordinates;
        const double *row = (const double *)subproblem->A->values + j * subproblem->A->stride;
        double slope = 0, square = 0;
        for (size_t i = 0; i < subproblem->size; i++) {
            slope += row[i] * (subproblem->v[i] - target[i]);
            square += row[i] * row[i];
        }
        hawser_subproblem_step(subproblem, j, -slope / (subproblem->sigma * square));
        if (k % 2 == 1)
            HAWSER_TRY(hawser_data_fetch(context, "A", NULL, 0));
    }
    ++*turn;
    return hawser_data_fetch(context, "A", NULL, 0);
}

static void visit_turn(hawser_record *record, hawser_context *context)
{
    hawser_record_bytes(record, hawser_scratch(context), sizeof(uint64_t));
}

static hawser_program *program_of_solver(hawser_job *job)
{
    hawser_program *p = hawser_program_new("solver", NULL);
    hawser_scratch_size(p, sizeof(uint64_t), NULL);
    hawser_scratch_record(p, visit_turn);
    hawser_state *A = HAWSER_STATE(p, "A", HAWSER_DATA, .matrix = &matrix, .split = HAWSER_BY_ROW);
    hawser_state *alpha = HAWSER_STATE(p, "a", HAWSER_LOCAL, .along = A);
    const hawser_rule rule = hawser_cocoa_rule(job, 0.5, hawser_bsp());
    hawser_state *v = HAWSER_STATE(p, "w", HAWSER_REPLICATED, .rows = COLUMNS, .damping = rule.damping, .gain = rule.gain);
    hawser_operator *loop = hawser_loop(hawser_root(p), "rounds", (hawser_until){.clocks = CLOCKS}, hawser_bsp());
    hawser_cocoa(loop, "descend", descend, alpha, v, NULL);
    return p;
}

static void a_local_solver_goes_back(void **state)
{
    (void)state;
    assert_true(compare(program_of_solver).changes > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_iterator_goes_back),
        cmocka_unit_test(a_stop_test_goes_back),
        cmocka_unit_test(tests_of_branches_go_back),
        cmocka_unit_test(a_local_solver_goes_back),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
