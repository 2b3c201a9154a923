/* A run that goes on from a checkpoint, and one that a signal has ended, has the bits of an undisturbed one. Unlike those
 * of runtime_record.c, the program is fixed, and uses what a loop remembers: gains, metrics, patience, merge functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "memory_checkpointer.h"

enum { ROWS = 11, COLS = 2, WIDE = 4, PARTS = 7 };
static double A[ROWS * COLS];
static const hawser_matrix matrix = {
    .rows = ROWS, .cols = COLS, .stored = ROWS * COLS, .values = A, .stride = COLS, .layout = HAWSER_DENSE_ROWS};

/* What one run leaves. */
typedef struct results {
    double w[WIDE], p[PARTS], l[ROWS], m[2];
    double loss;
    uint64_t clocks;
    char reason[20];
} results;

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

static hawser_program *build(void *memory, shared *tests)
{
    hawser_program *program = hawser_program_new("goes on", memory);
    hawser_operator *root = hawser_root(program);
    hawser_state *data = HAWSER_STATE(program, "A", HAWSER_DATA, .matrix = &matrix, .split = HAWSER_BY_ROW);
    hawser_state *w = HAWSER_STATE(program, "w", HAWSER_REPLICATED, .rows = WIDE, .damping = 0.5);
    hawser_state *p = HAWSER_STATE(program, "p", HAWSER_PARTITIONED, .rows = PARTS);
    hawser_state *l = HAWSER_STATE(program, "l", HAWSER_LOCAL, .along = data);
    hawser_state *m = HAWSER_STATE(program, "m", HAWSER_REPLICATED, .rows = 2, .merge = merge);
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
    return program;
}

static results take(const hawser_run *run)
{
    results now = {.loss = hawser_result_metric(run, "loss"), .clocks = hawser_run_figures(run)->clocks};
    memcpy(now.w, RESULT(double, run, "w", NULL), sizeof now.w);
    memcpy(now.p, RESULT(double, run, "p", NULL), sizeof now.p);
    memcpy(now.l, RESULT(double, run, "l", NULL), sizeof now.l);
    memcpy(now.m, RESULT(double, run, "m", NULL), sizeof now.m);
    (void)snprintf(now.reason, sizeof now.reason, "%s", hawser_run_figures(run)->stop_reason);
    return now;
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

/* Runs the program in a job of its own, from the checkpoint that is kept. `press_at`: interrupted at that clock; 0: not. */
static results run_once(memory_checkpointer *kept, const char *threads, uint64_t press_at)
{
    test_job test = OPEN_JOB("workers", "3", "threads", threads, "timeout", "20");
    shared tests = {.calls = kept != NULL && kept->complete > 0 ? 99 : 0}; /* another process remembers nothing */
    press given = {test.job, press_at};
    hawser_error error = {0};
    hawser_run *run = NULL;
    void *memory = calloc(1, 64 * sizeof(hawser_matrix) + sizeof A);
    assert_non_null(memory);
    hawser_observe(test.job, press_at > 0 ? interrupt_at : NULL, &given);
    test.job->checkpointer = kept != NULL ? &kept->own : NULL;
    hawser_program *program = build(memory, &tests);
    if (hawser_run_program(test.job, program, &run, &error) != (press_at > 0 ? HAWSER_STOP : HAWSER_OK))
        fail_msg("%s", error.text);
    results now = take(run);
    hawser_run_free(run);
    hawser_program_free(program);
    close_job(test);
    free(memory);
    return now;
}

static void compare(results now, results whole)
{
    assert_memory_equal(now.w, whole.w, sizeof whole.w);
    assert_memory_equal(now.p, whole.p, sizeof whole.p);
    assert_memory_equal(now.l, whole.l, sizeof whole.l);
    assert_memory_equal(now.m, whole.m, sizeof whole.m);
    assert_memory_equal(&now.loss, &whole.loss, sizeof whole.loss);
    assert_int_equal(now.clocks, whole.clocks);
    assert_string_equal(now.reason, whole.reason);
}

/* Runs from the start to the k-th checkpoint, and from there. */
static void a_run_goes_on_from_each_checkpoint(void **state)
{
    (void)state;
    static memory_checkpointer kept;
    const results whole = run_once(NULL, "2", 0);
    assert_true(whole.clocks > 10 && whole.w[1] > 0);
    uint64_t taken = 0;
    for (uint64_t stop = 1; taken == stop - 1; stop++) {
        memory_open(&kept, 1, stop, stop);
        compare(run_once(&kept, "3", 0), whole);
        taken = kept.complete;
        memory_again(&kept, 1, 0);
        compare(run_once(&kept, "2", 0), whole);
        memory_close(&kept);
    }
    assert_true(taken > whole.clocks); /* between operators, too */
}

/* Each run goes on from the checkpoint that the one before has left, and leaves a later one. */
static void a_run_goes_on_many_times(void **state)
{
    (void)state;
    static memory_checkpointer kept;
    const results whole = run_once(NULL, "2", 0);
    uint64_t before = 0, runs = 0;
    memory_open(&kept, 1, 1, 0);
    compare(run_once(&kept, "3", 0), whole);
    do { /* between two operators the first checkpoint is the one from which the run goes on */
        before = kept.complete;
        memory_again(&kept, 1, 2);
        compare(run_once(&kept, ++runs % 2 == 0 ? "1" : "3", 0), whole);
    } while (kept.complete == before + 2);
    assert_true(runs > whole.clocks / 2);
    memory_close(&kept);
}

/* A signal has one checkpoint taken before the run ends. */
static void a_run_goes_on_after_a_signal(void **state)
{
    (void)state;
    static memory_checkpointer kept;
    const results whole = run_once(NULL, "2", 0);
    for (uint64_t clock = 1; clock < whole.clocks; clock++) {
        memory_open(&kept, 1, 0, 0);
        const results early = run_once(&kept, "3", clock);
        assert_string_equal(early.reason, "signal");
        assert_int_equal(kept.complete, 1);
        assert_true(kept.kept[1].clocks <= clock + 2);
        memory_again(&kept, 1, 0);
        compare(run_once(&kept, "2", 0), whole);
        memory_close(&kept);
    }
}

/* Runs a loop of 20 clocks, from the checkpoint that is kept. Returns the status. */
static hawser_status count_up(memory_checkpointer *kept, hawser_sync sync, const char *limit, results *now,
                              hawser_error *error)
{
    test_job test = OPEN_JOB("workers", "3", "max-clocks", limit, "timeout", "20");
    hawser_run *run = NULL;
    hawser_program *program = hawser_program_new("count", NULL);
    hawser_state *w = HAWSER_STATE(program, "w", HAWSER_REPLICATED, .rows = WIDE);
    hawser_until until = {.clocks = 20};
    HAWSER_UNIT(hawser_loop(hawser_root(program), "loop", until, sync), "add", add, .updates = {w});
    test.job->checkpointer = &kept->own;
    hawser_status status = hawser_run_program(test.job, program, &run, error);
    if (run != NULL) {
        memcpy(now->w, RESULT(double, run, "w", NULL), sizeof now->w);
        now->clocks = hawser_run_figures(run)->clocks;
    }
    hawser_run_free(run);
    hawser_program_free(program);
    close_job(test);
    return status;
}

/* No update is lost or doubled under any sync, and limits of clocks count all runs. */
static void limits_of_clocks_count_all_runs(void **state)
{
    (void)state;
    static memory_checkpointer kept;
    const hawser_sync syncs[] = {hawser_bsp(), hawser_ssp(2), hawser_tap()};
    for (int s = 0; s < 3; s++)
        for (uint64_t stop = 1; stop < 6; stop++) {
            hawser_error error = {0};
            results now = {0};
            memory_open(&kept, 1, stop, 0);
            for (int turn = 0; turn < 2; turn++) {
                assert_int_equal(count_up(&kept, syncs[s], "8", &now, &error), HAWSER_STOP);
                assert_int_equal(now.clocks, 8);
                double drawn = now.w[1] - 3 * 28; /* the sum of the clocks 0 to 7, for each block */
                assert_true(drawn > 0 && drawn < 0.25 * 24);
                assert_true(kept.complete > 0);
                memory_again(&kept, 1, 0);
            }
            assert_int_equal(count_up(&kept, syncs[s], "0", &now, &error), HAWSER_OK);
            assert_int_equal(now.clocks, 20);
            memory_close(&kept);
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

static double add_all_known(memory_checkpointer *kept)
{
    test_job test = OPEN_JOB("workers", "2", "timeout", "20");
    hawser_program *program = hawser_program_new("known", NULL);
    hawser_state *w = HAWSER_STATE(program, "w", HAWSER_REPLICATED, .rows = WIDE);
    hawser_run *run = NULL;
    hawser_error error = {0};
    hawser_metric_declare(program, "loss", HAWSER_SUM);
    HAWSER_UNIT(hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 5}, hawser_bsp()), "add", add_known,
                .updates = {w});
    test.job->checkpointer = &kept->own;
    assert_int_equal(hawser_run_program(test.job, program, &run, &error), HAWSER_OK);
    double sum = RESULT(double, run, "w", NULL)[0];
    hawser_run_free(run);
    hawser_program_free(program);
    close_job(test);
    return sum;
}

static void blocks_know_what_they_knew_when_the_loop_began(void **state)
{
    (void)state;
    static memory_checkpointer kept;
    memory_open(&kept, 1, 1, 0);
    for (int run = 0; run < 6; run++) {
        assert_true(add_all_known(&kept) == 10);
        assert_true(kept.complete > 0);
        memory_again(&kept, 1, 1);
    }
    memory_close(&kept);
}

/* Bytes that are changed or cut are refused by name. */
static void damaged_position_is_refused(void **state)
{
    (void)state;
    static memory_checkpointer kept;
    hawser_error error = {0};
    results now, whole;
    memory_open(&kept, 1, 3, 0);
    assert_int_equal(count_up(&kept, hawser_bsp(), "0", &whole, &error), HAWSER_OK);
    memory_bytes *position = &kept.kept[1].position;
    const size_t size = position->size;
    assert_true(size > 100);
    for (size_t place = 0; place < size; place += 13) {
        memory_again(&kept, 1, 0);
        ((char *)position->bytes)[place] ^= 4;
        assert_int_equal(count_up(&kept, hawser_bsp(), "0", &now, &error), HAWSER_BAD_INPUT);
        assert_non_null(strstr(error.text, "the bytes of a position are damaged"));
        ((char *)position->bytes)[place] ^= 4;
        position->size = 1 + place / 2;
        assert_int_equal(count_up(&kept, hawser_bsp(), "0", &now, &error), HAWSER_BAD_INPUT);
        position->size = size;
    }
    assert_int_equal(count_up(&kept, hawser_bsp(), "0", &now, &error), HAWSER_OK);
    assert_memory_equal(now.w, whole.w, sizeof now.w);
    memory_close(&kept);
}

int main(void)
{
    for (int i = 0; i < ROWS * COLS; i++)
        A[i] = sin(1.3 * i);
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_run_goes_on_from_each_checkpoint),
                                       cmocka_unit_test(a_run_goes_on_many_times),
                                       cmocka_unit_test(a_run_goes_on_after_a_signal),
                                       cmocka_unit_test(limits_of_clocks_count_all_runs),
                                       cmocka_unit_test(blocks_know_what_they_knew_when_the_loop_began),
                                       cmocka_unit_test(damaged_position_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
