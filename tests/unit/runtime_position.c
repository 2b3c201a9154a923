/* A run that pauses, or that a signal ends, and goes on from its position in another run has the bits of one run without a
 * pause. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

enum { ROWS = 11, COLS = 2, WIDE = 4, PARTS = 7 };
static double A[ROWS * COLS];
static const hawser_matrix matrix = {
    .rows = ROWS, .cols = COLS, .stored = ROWS * COLS, .values = A, .stride = COLS, .layout = HAWSER_DENSE_ROWS};

/* What one run leaves to the next. */
typedef struct standing {
    double w[WIDE], p[PARTS], l[ROWS], m[2];
    void *position;
    size_t size;
    char reason[20];
    double loss;
    uint64_t clocks;
} standing;

/* What tests of a program remember together. */
typedef struct shared {
    uint64_t calls;
} shared;

static void visit_shared(hawser_record *record, void *object)
{
    hawser_record_bytes(record, object, sizeof(shared));
}

/* Doubles the block's rows, once in a run. */
static hawser_status twice(hawser_context *context)
{
    const hawser_matrix *view;
    HAWSER_TRY(hawser_read(context, "A", &view));
    hawser_matrix *own = hawser_user(context);
    own += hawser_block(context);
    double *values = (double *)(void *)(own + (hawser_blocks(context) - hawser_block(context))) + view->first * COLS;
    for (size_t i = 0; i < view->rows * COLS; i++)
        values[i] = 2 * ((const double *)view->values)[i / COLS * view->stride + i % COLS];
    *own = (hawser_matrix){.rows = view->rows,
                           .cols = COLS,
                           .stored = view->rows * COLS,
                           .values = values,
                           .stride = COLS,
                           .layout = HAWSER_DENSE_ROWS};
    return hawser_data_replace(context, "A", own);
}

static hawser_status begin(hawser_context *context)
{
    HAWSER_WRITE(context, double, w);
    w[0] += hawser_random_uniform(context);
    return HAWSER_OK;
}

static hawser_status step(hawser_context *context)
{
    const hawser_matrix *part;
    HAWSER_TRY(hawser_read(context, "A", &part));
    const double *rows = part->values;
    HAWSER_WRITE(context, double, w);
    HAWSER_WRITE(context, double, p);
    HAWSER_WRITE(context, double, l);
    HAWSER_WRITE(context, double, m);
    double known = hawser_metric(context, "loss"), draw = hawser_random_uniform(context);
    size_t count = hawser_part(context, "p", NULL);
    for (size_t i = 0; i < part->rows; i++)
        l[i] += rows[i * part->stride] * (draw + w[i % WIDE]);
    for (size_t i = 0; i < count; i++)
        p[i] += draw + (double)hawser_clock(context);
    w[hawser_block(context) % WIDE] += 0.1 * draw * hawser_gain(context, "w") + (isnan(known) ? 1 : 0.01 * known);
    m[0] += draw;
    return hawser_report(context, "loss", draw + (isnan(known) ? 0 : 0.3 * known));
}

/* Uses the clock, so it sees whether the loop's iterations go on. */
static void merge(const hawser_merging *merging)
{
    for (size_t i = 0; i < merging->count; i++)
        merging->state[i] = 0.5 * merging->state[i] + merging->sum[i] + (double)merging->clock;
}

static bool counted(hawser_progress *progress, void *user)
{
    uint64_t *memory = hawser_progress_memory(progress);
    ((shared *)user)->calls++;
    if (++*memory == 3)
        hawser_progress_gain(progress, "w", 2);
    return *memory >= 8;
}

static bool every_third(hawser_progress *progress, void *user)
{
    uint64_t *memory = hawser_progress_memory(progress);
    return (*memory)++ % 3 == (((shared *)user)->calls & 1);
}

static hawser_status add(hawser_context *context)
{
    HAWSER_WRITE(context, double, w);
    w[1] += 0.25 * hawser_random_uniform(context) + (double)hawser_clock(context);
    return HAWSER_OK;
}

static hawser_status swap(hawser_context *context)
{
    HAWSER_WRITE(context, double, w);
    double other = w[2];
    w[2] = w[3];
    w[3] = other + hawser_random_uniform(context);
    return HAWSER_OK;
}

static hawser_program *build(const standing *from, uint64_t pause, void *memory, shared *tests)
{
    hawser_program *program = hawser_program_new("position", memory);
    hawser_operator *root = hawser_root(program);
    hawser_state *data = HAWSER_STATE(program, "A", HAWSER_DATA, .matrix = &matrix, .split = HAWSER_BY_ROW);
    hawser_state *w =
        HAWSER_STATE(program, "w", HAWSER_REPLICATED, .rows = WIDE, .initial = from->size ? from->w : NULL, .damping = 0.5);
    hawser_state *p = HAWSER_STATE(program, "p", HAWSER_PARTITIONED, .rows = PARTS, .initial = from->size ? from->p : NULL);
    hawser_state *l = HAWSER_STATE(program, "l", HAWSER_LOCAL, .along = data, .initial = from->size ? from->l : NULL);
    hawser_state *m =
        HAWSER_STATE(program, "m", HAWSER_REPLICATED, .rows = 2, .initial = from->size ? from->m : NULL, .merge = merge);
    hawser_metric_declare(program, "loss", HAWSER_SUM);
    hawser_tests_record(program, visit_shared, tests);
    HAWSER_UNIT(root, "twice", twice, .updates = {data});
    HAWSER_UNIT(root, "begin", begin, .one = true, .updates = {w});
    hawser_until until = {.metric = "loss", .below = -1, .patience = 6, .test = counted, .user = tests, .remembers = 8};
    hawser_operator *first = hawser_loop(root, "first", until, hawser_bsp());
    HAWSER_UNIT(first, "step", step, .reads = {data}, .updates = {w, p, l, m});
    HAWSER_UNIT(root, "between", swap, .one = true, .updates = {w});
    hawser_operator *second = hawser_loop(root, "second", (hawser_until){.clocks = 5}, hawser_bsp());
    HAWSER_UNIT(hawser_loop(second, "inner", (hawser_until){.clocks = 2}, hawser_bsp()), "add", add, .reads = {data},
                .updates = {w});
    hawser_operator *turn = hawser_branch(second, "turn", every_third, tests);
    hawser_branch_remembers(turn, 8);
    HAWSER_UNIT(turn, "swap", swap, .one = true, .updates = {w});
    HAWSER_UNIT(root, "end", swap, .one = true, .updates = {w});
    hawser_program_pause(program, pause);
    hawser_program_resume(program, from->position, from->size);
    return program;
}

static void take(const hawser_run *run, standing *now)
{
    free(now->position);
    memcpy(now->w, RESULT(double, run, "w", NULL), sizeof now->w);
    memcpy(now->p, RESULT(double, run, "p", NULL), sizeof now->p);
    memcpy(now->l, RESULT(double, run, "l", NULL), sizeof now->l);
    memcpy(now->m, RESULT(double, run, "m", NULL), sizeof now->m);
    const void *position = hawser_run_position(run, &now->size);
    now->position = NULL;
    if (now->size > 0) {
        now->position = malloc(now->size);
        assert_non_null(now->position);
        memcpy(now->position, position, now->size);
    }
    now->loss = hawser_result_metric(run, "loss");
    now->clocks += hawser_run_figures(run)->clocks;
    snprintf(now->reason, sizeof now->reason, "%s", hawser_run_figures(run)->stop_reason);
}

typedef struct press {
    hawser_job *job;
    uint64_t clock;
} press;

static void interrupt_at(const hawser_progress *progress, void *user)
{
    press *given = user;
    if (hawser_progress_clocks(progress) == given->clock)
        hawser_interrupt(given->job);
}

/* Runs the program to its end, in runs of `pause` iterations, or interrupted once at clock `press_at`. A fresh job for each
 * run, or one for all. */
static standing run_to_end(uint64_t pause, uint64_t press_at, bool fresh)
{
    standing now = {0};
    void *memory = calloc(1, 64 * sizeof(hawser_matrix) + sizeof A);
    assert_non_null(memory);
    test_job test = OPEN_JOB("workers", "3");
    for (int runs = 0;; runs++) {
        shared tests = {.calls = now.size > 0 ? 99 : 0}; /* another process remembers nothing */
        press given = {test.job, press_at};
        hawser_observe(test.job, press_at > 0 && runs == 0 ? interrupt_at : NULL, &given);
        hawser_program *program = build(&now, pause, memory, &tests);
        hawser_run *run = NULL;
        hawser_error error = {0};
        hawser_status status = hawser_run_program(test.job, program, &run, &error);
        if (status != HAWSER_OK && status != HAWSER_STOP)
            fail_msg("%s", error.text);
        take(run, &now);
        assert_int_equal(status == HAWSER_STOP && pause != 0, now.size > 0);
        hawser_run_free(run);
        hawser_program_free(program);
        assert_true(runs < 40);
        if (now.size == 0)
            break;
        assert_string_equal(now.reason, press_at > 0 ? "signal" : "pause");
        if (fresh) {
            close_job(test);
            test = OPEN_JOB("workers", "3");
        }
    }
    close_job(test);
    free(memory);
    return now;
}

static void compare(standing now, standing whole)
{
    assert_memory_equal(now.w, whole.w, sizeof whole.w);
    assert_memory_equal(now.p, whole.p, sizeof whole.p);
    assert_memory_equal(now.l, whole.l, sizeof whole.l);
    assert_memory_equal(now.m, whole.m, sizeof whole.m);
    assert_memory_equal(&now.loss, &whole.loss, sizeof whole.loss);
    assert_int_equal(now.clocks, whole.clocks);
    assert_null(now.position);
}

static void a_run_goes_on_after_a_pause(void **state)
{
    (void)state;
    standing whole = run_to_end(0, 0, false);
    assert_true(whole.clocks > 10 && whole.w[1] > 0);
    for (uint64_t pause = 1; pause < 9; pause++)
        compare(run_to_end(pause, 0, pause % 2 == 0), whole);
}

static void a_run_goes_on_after_a_signal(void **state)
{
    (void)state;
    standing whole = run_to_end(0, 0, false);
    compare(run_to_end(UINT64_MAX, 2, true), whole);
    compare(run_to_end(UINT64_MAX, 5, true), whole);
    standing none = run_to_end(0, 2, true); /* its last operators run after the signal, so nothing remains */
    assert_true(none.position == NULL && none.clocks < whole.clocks);
}

static hawser_status fail_with(test_job test, hawser_program *program, hawser_error *error)
{
    hawser_run *run = NULL;
    hawser_status status = hawser_run_program(test.job, program, &run, error);
    hawser_run_free(run);
    hawser_program_free(program);
    return status;
}

static hawser_program *count_to(uint64_t clocks, const standing *from, uint64_t pause, hawser_sync sync)
{
    hawser_program *program = hawser_program_new("count", NULL);
    hawser_state *w = HAWSER_STATE(program, "w", HAWSER_REPLICATED, .rows = WIDE, .initial = from->size ? from->w : NULL);
    HAWSER_UNIT(hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = clocks}, sync), "add", add,
                .updates = {w});
    hawser_program_pause(program, pause);
    hawser_program_resume(program, from->position, from->size);
    return program;
}

/* No update is lost or doubled at a pause under any sync, and limits of clocks count all runs. */
static void sums_are_whole_under_each_sync(void **state)
{
    (void)state;
    const hawser_sync syncs[] = {hawser_bsp(), hawser_ssp(2), hawser_tap()};
    for (int s = 0; s < 3; s++) {
        test_job test = OPEN_JOB("workers", "3", "max-clocks", "8");
        standing now = {0};
        double drawn[2];
        for (int turn = 0; turn < 4; turn++) {
            hawser_error error = {0};
            hawser_run *run = NULL;
            hawser_program *program = count_to(20, &now, 3, syncs[s]);
            assert_int_equal(hawser_run_program(test.job, program, &run, &error), HAWSER_STOP);
            memcpy(now.w, RESULT(double, run, "w", NULL), sizeof now.w);
            free(now.position);
            const void *position = hawser_run_position(run, &now.size);
            now.position = memcpy(malloc(now.size), position, now.size);
            assert_string_equal(hawser_run_figures(run)->stop_reason, turn < 2 ? "pause" : "clocks");
            assert_int_equal(hawser_run_figures(run)->clocks, turn < 2 ? 3 : turn == 2 ? 2 : 0);
            hawser_run_free(run);
            hawser_program_free(program);
            drawn[turn & 1] = now.w[1] - 3 * 28; /* the sum of the clocks 0 to 7, for each block */
        }
        assert_true(drawn[0] == drawn[1] && drawn[0] > 0 && drawn[0] < 0.25 * 24);
        free(now.position);
        close_job(test);
    }
}

/* Adds what the blocks know of the metric: what it was when the loop began. */
static hawser_status add_known(hawser_context *context)
{
    double known = hawser_metric(context, "loss");
    HAWSER_WRITE(context, double, w);
    w[0] += isnan(known) ? 1 : known;
    return hawser_report(context, "loss", 5);
}

/* Returns what is added in all, by a run in each job; the limit lets the middle one do nothing. */
static double add_in_jobs(int jobs)
{
    standing now = {0};
    for (int i = 0; i < jobs; i++) {
        test_job test = OPEN_JOB("workers", "2", "max-clocks", i + 1 < jobs ? "2" : "99");
        hawser_program *program = hawser_program_new("known", NULL);
        hawser_state *w = HAWSER_STATE(program, "w", HAWSER_REPLICATED, .rows = WIDE, .initial = i > 0 ? now.w : NULL);
        hawser_metric_declare(program, "loss", HAWSER_SUM);
        HAWSER_UNIT(hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 5}, hawser_bsp()), "add", add_known,
                    .updates = {w});
        hawser_program_pause(program, UINT64_MAX);
        hawser_program_resume(program, now.position, now.size);
        hawser_run *run = NULL;
        hawser_error error = {0};
        assert_int_equal(hawser_run_program(test.job, program, &run, &error), i + 1 < jobs ? HAWSER_STOP : HAWSER_OK);
        memcpy(now.w, RESULT(double, run, "w", NULL), sizeof now.w);
        free(now.position);
        const void *position = hawser_run_position(run, &now.size);
        now.position = now.size > 0 ? memcpy(malloc(now.size), position, now.size) : NULL;
        hawser_run_free(run);
        hawser_program_free(program);
        close_job(test);
    }
    return now.w[0];
}

static void a_run_that_ends_at_once_passes_on_what_blocks_know(void **state)
{
    (void)state;
    assert_true(add_in_jobs(1) == 10);
    assert_true(add_in_jobs(2) == 10);
    assert_true(add_in_jobs(3) == 10);
}

static void what_cannot_go_on_is_refused(void **state)
{
    (void)state;
    test_job test = OPEN_JOB("workers", "2");
    hawser_error error = {0};
    hawser_run *run = NULL;
    standing now = {0};
    hawser_program *program = count_to(9, &now, 4, hawser_bsp());
    assert_int_equal(hawser_run_program(test.job, program, &run, &error), HAWSER_STOP);
    const void *position = hawser_run_position(run, &now.size);
    now.position = memcpy(malloc(now.size), position, now.size);
    hawser_run_free(run);
    hawser_program_free(program);

    assert_int_equal(fail_with(test, count_to(4, &now, 0, hawser_bsp()), &error), HAWSER_BAD_PROGRAM);
    assert_non_null(strstr(error.text, "goes on after 4 clocks, but ends after 4"));
    program = count_to(9, &now, 0, hawser_bsp());
    hawser_metric_declare(program, "more", HAWSER_SUM);
    assert_int_equal(fail_with(test, program, &error), HAWSER_BAD_PROGRAM);
    assert_non_null(strstr(error.text, "a position of another program"));
    assert_int_equal(fail_with(test, count_to(9, &now, 0, hawser_ssp(1)), &error), HAWSER_BAD_PROGRAM);
    assert_non_null(strstr(error.text, "with their syncs and gains"));
    test_job begins = OPEN_JOB("workers", "2", "init", "w=none.npy");
    assert_int_equal(fail_with(begins, count_to(9, &now, 0, hawser_bsp()), &error), HAWSER_BAD_OPTION);
    assert_non_null(strstr(error.text, "has the numbers with which an earlier run ended"));
    close_job(begins);
    for (size_t place = 0; place < now.size; place += 7) { /* damaged, or cut */
        ((char *)now.position)[place] ^= 4;
        assert_int_equal(fail_with(test, count_to(9, &now, 0, hawser_bsp()), &error), HAWSER_BAD_INPUT);
        ((char *)now.position)[place] ^= 4;
        standing cut = {.position = now.position, .size = 1 + place / 2};
        assert_int_equal(fail_with(test, count_to(9, &cut, 0, hawser_bsp()), &error), HAWSER_BAD_INPUT);
    }
    assert_int_equal(fail_with(test, count_to(9, &now, 0, hawser_bsp()), &error), HAWSER_OK);
    free(now.position);
    close_job(test);
}

int main(void)
{
    for (int i = 0; i < ROWS * COLS; i++)
        A[i] = sin(1.3 * i);
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_run_goes_on_after_a_pause),
                                       cmocka_unit_test(a_run_goes_on_after_a_signal),
                                       cmocka_unit_test(sums_are_whole_under_each_sync),
                                       cmocka_unit_test(a_run_that_ends_at_once_passes_on_what_blocks_know),
                                       cmocka_unit_test(what_cannot_go_on_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
