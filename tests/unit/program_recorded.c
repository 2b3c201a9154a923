/* The bytes of a checkpoint as a plan estimates them, compared with what a run has written; and memory that its copies take
 * out of the limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "checkpoint/folder.h"
#include "directory.h"
#include "hawser/advanced.h"
#include "hawser/record.h"
#include "hawser/stored.h"
#include "job.h"

enum { ROWS = 900, COLS = 8, COUNT = 5000, BLOCKS = 3, CLOCKS = 9, STOPS = 5, SCRATCH = 3000 };

/* A program of states of some kinds, and how far the estimate may be above what is written. */
typedef struct kind_of_program {
    const char *name;
    hawser_sync sync;
    const char *filter, *form, *function;
    bool local, tied, partitioned, stored, transformed, scratch, expects;
    uint64_t slack; /* bytes of caches that blocks may or may not have at the time */
} kind_of_program;

typedef struct scratch {
    double numbers[SCRATCH];
} scratch;

static void visit_scratch(hawser_record *record, hawser_context *context)
{
    hawser_record_bytes(record, hawser_scratch(context), sizeof(scratch));
}

/* Writes memory that a block has besides its scratch, too. */
static double more[700];
static void visit_more(hawser_record *record, hawser_context *context)
{
    visit_scratch(record, context);
    hawser_record_bytes(record, more, sizeof more);
}

static hawser_status change(hawser_context *context)
{
    const kind_of_program *kind = hawser_user(context);
    HAWSER_WRITE(context, double, v);
    const size_t at = (size_t)(hawser_clock(context) * 131 + hawser_block(context) * 977);
    for (size_t i = 0; i < COUNT; i += 7)
        v[(i + at) % COUNT] += 0.25 / (double)(1 + i);
    if (kind->scratch)
        ((scratch *)hawser_scratch(context))->numbers[at % SCRATCH] += 1;
    if (kind->local) {
        HAWSER_WRITE(context, double, l);
        l[0] += 1;
    }
    if (kind->tied) {
        HAWSER_WRITE(context, double, t);
        t[0] += 1;
    }
    if (kind->partitioned) {
        HAWSER_WRITE(context, double, p);
        if (hawser_part(context, "p", NULL) > 0)
            p[0] += 1;
    }
    if (kind->stored && kind->function != NULL) {
        const uint64_t key = 3;
        const double step = 0.5;
        return hawser_inc(context, "s", &key, &step, 1);
    }
    return HAWSER_OK;
}

static hawser_status transform(hawser_context *context)
{
    double *values;
    HAWSER_TRY(hawser_write(context, "data", &values));
    values[0] += 1;
    return HAWSER_OK;
}

static bool interrupt(hawser_progress *progress, void *user)
{
    if (hawser_progress_clock(progress) == STOPS)
        hawser_interrupt(user);
    return false;
}

static const kind_of_program kinds[] = {
    {.name = "replicated"},
    {.name = "late", .sync = {.tightness = HAWSER_SSP, .staleness = 1}, .slack = 2 * BLOCKS * COUNT * sizeof(double)},
    {.name = "filtered", .filter = "random"},
    {.name = "local", .local = true},
    {.name = "tied", .tied = true},
    {.name = "partitioned", .partitioned = true},
    {.name = "stored", .stored = true, .function = "add"},
    {.name = "stored with memory", .stored = true, .function = "adagrad"},
    {.name = "transformed", .transformed = true},
    {.name = "scratch", .scratch = true},
    {.name = "scratch with further memory", .scratch = true, .expects = true},
    {.name = "all",
     .local = true,
     .tied = true,
     .partitioned = true,
     .stored = true,
     .function = "add",
     .scratch = true,
     .transformed = true},
};

static hawser_program *make(const kind_of_program *kind, const hawser_matrix *A, hawser_job *job)
{
    static const double rates[] = {0.5, 1e-6};
    union {
        const void *given;
        void *user;
    } same = {kind};
    hawser_program *program = hawser_program_new("recorded", same.user);
    hawser_state *all[7] = {0};
    size_t count = 0;
    hawser_state *data = HAWSER_STATE(program, "data", HAWSER_DATA, .matrix = A, .split = HAWSER_BY_ROW);
    hawser_state *v = HAWSER_STATE(program, "v", HAWSER_REPLICATED, .rows = COUNT);
    all[count++] = v;
    if (kind->local)
        all[count++] = HAWSER_STATE(program, "l", HAWSER_LOCAL, .along = data, .cols = 3);
    if (kind->tied)
        all[count++] = HAWSER_STATE(program, "t", HAWSER_LOCAL, .along = data, .tie = v);
    if (kind->partitioned)
        all[count++] = HAWSER_STATE(program, "p", HAWSER_PARTITIONED, .rows = COUNT);
    if (kind->stored)
        all[count++] = HAWSER_STATE(program, "s", HAWSER_STORED, .rows = COUNT, .function = kind->function,
                                    .parameters = strcmp(kind->function, "adagrad") == 0 ? rates : NULL);
    if (kind->scratch) {
        hawser_scratch_size(program, sizeof(scratch), NULL);
        hawser_scratch_record(program, kind->expects ? visit_more : visit_scratch);
    }
    if (kind->expects) {
        hawser_scratch_expect(program, 50 * sizeof more, 0);
        hawser_record_expect(program, sizeof more, BLOCKS * sizeof more, 0);
    }
    if (kind->transformed)
        HAWSER_UNIT(hawser_root(program), "transform", transform, .updates = {data});
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop",
                                        (hawser_until){.clocks = CLOCKS, .test = interrupt, .user = job}, kind->sync);
    HAWSER_UNIT(loop, "change", change, .reads = {data}, .updates = {all[0], all[1], all[2], all[3], all[4]});
    return program;
}

static double values[ROWS * COLS];
static const hawser_matrix A = {
    .rows = ROWS, .cols = COLS, .stored = ROWS * COLS, .values = values, .layout = HAWSER_DENSE_ROWS, .stride = COLS};

/* Runs a program, and compares what its last checkpoint has with the estimate. */
static void check(const kind_of_program *kind)
{
    hawser_error error = {0};
    hw_plan *plan = NULL;
    hawser_run *run = NULL;
    test_job test = OPEN_JOB("workers", "3", "checkpoint", "ck", "checkpoint-every", "0",
                             kind->filter != NULL ? "filter" : NULL, kind->filter, "quota", "2K");
    hawser_program *program = make(kind, &A, test.job);
    if (hw_job_plan(test.job, program, &plan, &error) != HAWSER_OK)
        fail_msg("%s: %s", kind->name, error.text);
    const uint64_t expected = plan->checkpoint_bytes, copies = plan->memory_parts[HW_MEMORY_CHECKPOINTS];
    const uint64_t states = program->state_count;
    hw_plan_free(plan);
    if (hawser_run_program(test.job, program, &run, &error) != HAWSER_STOP)
        fail_msg("%s: %s", kind->name, error.text);
    hawser_run_free(run);
    hawser_program_free(program);
    close_job(test);
    hw_checkpoint *newest = NULL;
    assert_int_equal(hw_folder_newest("ck", &newest, &error), HAWSER_OK);
    assert_non_null(newest);
    /* Above what is written, by at most the bounds of memory.c for each part. */
    const uint64_t heads = (BLOCKS + 2) * 700 + BLOCKS * states * 64 + 4096;
    print_message("%s: %llu bytes, at most %llu were expected\n", kind->name, (unsigned long long)newest->bytes,
                  (unsigned long long)expected);
    assert_true(newest->bytes <= expected);
    assert_true(expected <= newest->bytes + heads + kind->slack);
    assert_true(copies + heads >= newest->bytes); /* one node has all blocks */
    hw_checkpoint_free(newest);
}

static void bytes_of_a_checkpoint_are_as_the_plan_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        check(&kinds[i]);
        assert_int_equal(system("rm -r ck"), 0);
    }
}

static uint64_t needed(const char *limit, bool checkpoint, hawser_error *error)
{
    hw_plan *plan = NULL;
    test_job test = OPEN_JOB("workers", "3", "memory-limit", limit, checkpoint ? "checkpoint" : NULL, "ck");
    hawser_program *program = make(&kinds[0], &A, test.job);
    hawser_status status = hw_job_plan(test.job, program, &plan, error);
    const uint64_t bytes = status == HAWSER_OK ? plan->memory_needed : 0;
    assert_true(status != HAWSER_OK || (plan->checkpoint_bytes > 0) == checkpoint);
    hw_plan_free(plan);
    hawser_program_free(program);
    close_job(test);
    return bytes;
}

static void copies_count_for_the_limit(void **state)
{
    (void)state;
    hawser_error error = {0};
    char limit[40];
    const uint64_t without = needed("1G", false, &error), with = needed("1G", true, &error);
    assert_true(with >= without + COUNT * sizeof(double) && with < without + 2 * COUNT * sizeof(double));
    (void)snprintf(limit, sizeof limit, "%llu", (unsigned long long)(without + with) / 2);
    assert_int_equal(needed(limit, false, &error), without);
    assert_int_equal(needed(limit, true, &error), 0);
    assert_int_equal(error.status, HAWSER_NO_MEMORY);
    assert_non_null(strstr(error.text, "for copies of checkpoints until these are written"));
    assert_non_null(strstr(error.text, "leave out --checkpoint"));
    assert_int_not_equal(access("ck", F_OK), 0); /* a plan leaves the folder alone */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bytes_of_a_checkpoint_are_as_the_plan_says, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(copies_count_for_the_limit, make_directory, remove_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
