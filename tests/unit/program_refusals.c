/* Programs that break the model are rejected by name, before the run or at the first access. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job.h"

static double numbers[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
static const hawser_matrix matrix = {.rows = 3, .cols = 4, .stored = 12, .values = numbers, .stride = 3};

static hawser_status nothing(hawser_context *context)
{
    (void)context;
    return HAWSER_OK;
}

/* A program with one state of each kind and the additions of `build` must be rejected with all of `words` in the text. */
typedef struct fixture {
    hawser_program *program;
    hawser_operator *root;
    hawser_state *data, *whole, *v, *p, *alpha;
} fixture;

static fixture make(void)
{
    fixture f = {.program = hawser_program_new("broken", NULL)};
    f.root = hawser_root(f.program);
    f.data = hawser_data_state(f.program, "data", &matrix, HAWSER_BY_COLUMN);
    f.whole = hawser_data_state(f.program, "whole", &matrix, HAWSER_WHOLE);
    f.v = hawser_replicated_state(f.program, "v", 3, 1, NULL, (hawser_rule){0});
    f.p = hawser_partitioned_state(f.program, "p", 8, f.data, NULL);
    f.alpha = hawser_local_state(f.program, "alpha", f.data, 1, NULL);
    hawser_metric_declare(f.program, "gap", HAWSER_SUM);
    return f;
}

static void expect(fixture f, hawser_status wanted, const char *first, const char *second)
{
    test_job test = OPEN_JOB("workers", "2", "timeout", "20");
    hawser_error error = {0};
    hawser_run *run = NULL;
    hawser_status status = hawser_run_program(test.job, f.program, &run, &error);
    if (status != wanted || strstr(error.text, first) == NULL || strstr(error.text, second) == NULL)
        fail_msg("got %s: %s", hawser_status_name(status), error.text);
    assert_null(run);
    hawser_program_free(f.program);
    close_job(test);
}

#define BAD HAWSER_BAD_PROGRAM

static void an_empty_program_is_rejected(void **state)
{
    (void)state;
    expect(make(), BAD, "broken", "no operators");
    test_job test = OPEN_JOB("workers", "1");
    hawser_run *run = NULL;
    assert_int_equal(hawser_run_program(test.job, NULL, &run, NULL), HAWSER_BAD_ARGUMENT);
    close_job(test);
}

static void wrong_names_are_rejected(void **state)
{
    (void)state;
    fixture f = make();
    hawser_replicated_state(f.program, "v", 3, 1, NULL, (hawser_rule){0});
    expect(f, BAD, "'v'", "two states");
    f = make();
    hawser_unit(f.root, "u", nothing, NULL, NULL);
    hawser_unit(f.root, "u", nothing, NULL, NULL);
    expect(f, BAD, "'u'", "two units");
    f = make();
    hawser_metric_declare(f.program, "gap", HAWSER_MAX);
    expect(f, BAD, "'gap'", "twice");
}

static void wrong_states_are_rejected(void **state)
{
    (void)state;
    fixture f = make();
    hawser_replicated_state(f.program, "w", 0, 1, NULL, (hawser_rule){0});
    expect(f, BAD, "'w'", "impossible size");
    f = make();
    hawser_replicated_state(f.program, "w", 1, 1, NULL, (hawser_rule){.damping = -1});
    expect(f, BAD, "'w'", "damping");
    f = make();
    hawser_tie(f.alpha, f.p);
    expect(f, BAD, "'alpha'", "no replicated state");
    f = make();
    hawser_tie(f.v, f.v);
    expect(f, BAD, "'v'", "only a local state");
    f = make();
    hawser_local_state(f.program, "l", f.whole, 1, NULL);
    expect(f, BAD, "'l'", "not split");
    f = make();
    hawser_partitioned_state(f.program, "q", 7, f.data, NULL);
    expect(f, BAD, "'q'", "split of 'data'");
    f = make();
    hawser_derive(f.p, nothing);
    expect(f, BAD, "'p'", "derived");
    f = make();
    hawser_encoding(f.p, HAWSER_AS_BF16);
    expect(f, BAD, "'p'", "only deltas of a replicated state");
    f = make();
    hawser_encoding(f.v, (hawser_form)9);
    expect(f, BAD, "'v'", "form 9");
    f = make();
    hawser_data_costs(f.whole, (const double[4]){0});
    expect(f, BAD, "'whole'", "no split data");
    f = make();
    hawser_data_costs(f.v, (const double[4]){0});
    expect(f, BAD, "'v'", "no split data");
    f = make();
    static const uint64_t offsets[4] = {0};
    static const hawser_matrix rows = {.rows = 3, .cols = 4, .layout = HAWSER_CSR, .offsets = offsets};
    hawser_data_state(f.program, "r", &rows, HAWSER_BY_COLUMN);
    expect(f, BAD, "'r'", "by column");
    f = make();
    static const double twelve[12] = {0};
    static const hawser_matrix dense = {
        .rows = 3, .cols = 4, .stored = 12, .layout = HAWSER_DENSE_ROWS, .values = twelve, .stride = 4};
    hawser_data_state(f.program, "d", &dense, HAWSER_BY_COLUMN);
    expect(f, BAD, "'d' is split by column", "stored by rows (HAWSER_DENSE_ROWS)");
}

static void wrong_units_are_rejected(void **state)
{
    (void)state;
    fixture f = make();
    hawser_unit(f.root, "twins", nothing, HAWSER_READS(f.whole), HAWSER_UPDATES(f.v));
    expect(f, BAD, "'twins'", "'v'");
    f = make();
    hawser_tie(f.alpha, f.v);
    hawser_unit(f.root, "alone", nothing, HAWSER_READS(f.data), HAWSER_UPDATES(f.alpha));
    expect(f, BAD, "'alone'", "tied");
    f = make();
    hawser_unit_one(f.root, "single", nothing, NULL, HAWSER_UPDATES(f.alpha));
    expect(f, BAD, "'single'", "'alpha'");
    f = make();
    hawser_unit(f.root, "reader", nothing, HAWSER_READS(f.data), NULL);
    hawser_unit(f.root, "late", nothing, NULL, HAWSER_UPDATES(f.data));
    expect(f, BAD, "'late'", "'reader'");
    f = make();
    hawser_unit(hawser_loop(f.root, "l", (hawser_until){.clocks = 2}, hawser_bsp()), "again", nothing, NULL,
                HAWSER_UPDATES(f.data));
    expect(f, BAD, "'again'", "inside a loop");
}

static void wrong_operators_are_rejected(void **state)
{
    (void)state;
    fixture f = make();
    hawser_loop(f.root, "empty", (hawser_until){.clocks = 1}, hawser_bsp());
    expect(f, BAD, "'empty'", "empty body");
    f = make();
    hawser_unit(hawser_loop(f.root, "endless", (hawser_until){0}, hawser_bsp()), "u", nothing, NULL, NULL);
    expect(f, BAD, "'endless'", "no condition");
    f = make();
    hawser_unit(hawser_loop(f.root, "blind", (hawser_until){.metric = "objective"}, hawser_bsp()), "u", nothing, NULL, NULL);
    expect(f, BAD, "'blind'", "'objective'");
    f = make();
    hawser_unit(hawser_loop(f.root, "mute", (hawser_until){.change = 0.1}, hawser_bsp()), "u", nothing, NULL, NULL);
    expect(f, BAD, "'mute'", "names none");
    f = make();
    hawser_operator *both = hawser_parallel(f.root);
    hawser_unit(both, "a", nothing, HAWSER_READS(f.data), HAWSER_UPDATES(f.v));
    hawser_unit(both, "b", nothing, HAWSER_READS(f.data), HAWSER_UPDATES(f.v));
    expect(f, BAD, "parallel", "'v'");
    f = make();
    hawser_operator *outer = hawser_loop(f.root, "outer", (hawser_until){.clocks = 1}, hawser_tap());
    hawser_unit(hawser_parallel(outer), "u", nothing, NULL, NULL);
    expect(f, BAD, "'outer'", "bsp");
    f = make();
    hawser_state *kept = hawser_stored_state(f.program, "kept", 8, NULL, NULL, NULL, NULL);
    hawser_operator *late = hawser_loop(f.root, "late", (hawser_until){.clocks = 1}, hawser_bsp());
    hawser_unit(late, "first", nothing, NULL, HAWSER_UPDATES(kept));
    hawser_unit(late, "second", nothing, HAWSER_READS(kept), NULL);
    expect(f, BAD, "unit 'second' uses stored state 'kept'", "'first'");
    f = make();
    hawser_operator *many = hawser_loop(f.root, "many", (hawser_until){.clocks = 1}, hawser_bsp());
    char names[65][16];
    for (int i = 0; i < 65; i++) {
        (void)snprintf(names[i], sizeof names[i], "u%d", i);
        hawser_unit(many, names[i], nothing, NULL, HAWSER_UPDATES(f.v));
    }
    expect(f, BAD, "loop 'many' has more than 64 stages", "'u64'");
    f = make();
    hawser_unit_sync(hawser_unit(f.root, "alone", nothing, NULL, HAWSER_UPDATES(f.v)), hawser_bsp());
    expect(f, BAD, "unit 'alone' has a sync of its own", "in no loop");
    f = make();
    hawser_operator *tight = hawser_loop(f.root, "tight", (hawser_until){.clocks = 1}, hawser_ssp(1));
    hawser_unit_sync(hawser_unit(tight, "eager", nothing, NULL, HAWSER_UPDATES(f.v)), hawser_ssp(2));
    expect(f, BAD, "unit 'eager' is under ssp:2, which waits less than ssp:1", "'tight'");
    f = make();
    hawser_operator *lone = hawser_loop(f.root, "lone", (hawser_until){.clocks = 1}, hawser_ssp(1));
    hawser_unit(lone, "moves", nothing, NULL, HAWSER_UPDATES(f.v));
    hawser_unit_sync(hawser_unit(lone, "idle", nothing, NULL, HAWSER_UPDATES(f.alpha)), hawser_bsp());
    expect(f, BAD, "unit 'idle' has a sync of its own", "waits for nothing");
    f = make();
    hawser_unit_sync(hawser_loop(f.root, "whole", (hawser_until){.clocks = 1}, hawser_bsp()), hawser_bsp());
    expect(f, BAD, "'whole' is not a unit", "hawser_loop");
    f = make();
    hawser_operator *storing = hawser_loop(f.root, "storing", (hawser_until){.clocks = 1}, hawser_ssp(1));
    hawser_state *chunks = hawser_stored_state(f.program, "chunks", 8, NULL, NULL, NULL, NULL);
    hawser_unit_sync(hawser_unit(storing, "asks", nothing, HAWSER_READS(chunks), HAWSER_UPDATES(f.v)), hawser_bsp());
    expect(f, BAD, "unit 'asks' has a sync of its own", "stored states");
    f = make();
    hawser_unit_sync(hawser_unit(hawser_loop(f.root, "l", (hawser_until){.clocks = 1}, hawser_ssp(1)), "slow", nothing, NULL,
                                 HAWSER_UPDATES(f.v)),
                     hawser_delay(2));
    expect(f, BAD, "unit 'slow' cannot have sync 3", "bsp or ssp");
    f = make();
    hawser_sequence(hawser_loop(f.root, "hollow", (hawser_until){.clocks = 1}, hawser_bsp()));
    expect(f, BAD, "'hollow'", "empty");
    f = make();
    hawser_unit(hawser_branch(f.root, "fork", NULL, NULL), "u", nothing, NULL, NULL);
    expect(f, BAD, "'fork'", "no test");
}

/* ------------------------------------------------------------------------------------------------- at first access ---- */

static hawser_status undeclared(hawser_context *context)
{
    assert_null(hawser_cache(context, "v"));
    return HAWSER_OK; /* the run fails nevertheless */
}

static hawser_status unknown(hawser_context *context)
{
    assert_null(hawser_view(context, "nonsense"));
    return HAWSER_OK;
}

static hawser_status wrong_kind(hawser_context *context)
{
    assert_null(hawser_local(context, "v"));
    return HAWSER_OK;
}

static hawser_status writes_a_read(hawser_context *context)
{
    assert_null(hawser_cache(context, "v"));
    return HAWSER_OK;
}

static hawser_status touches_too_much(hawser_context *context)
{
    return hawser_touch(context, "v", 2, 2);
}

static hawser_status reports_nan(hawser_context *context)
{
    return hawser_report(context, "gap", (double)NAN);
}

static hawser_status reports_unknown(hawser_context *context)
{
    return hawser_report(context, "loss", 1);
}

static hawser_status writes_nan(hawser_context *context)
{
    hawser_cache(context, "v")[1] = hawser_block(context) == 1 ? (double)NAN : 0;
    return HAWSER_OK;
}

static hawser_status stops_unasked(hawser_context *context)
{
    (void)context;
    return HAWSER_STOP;
}

static hawser_status says_why(hawser_context *context)
{
    return hawser_block(context) == 1 ? hawser_unit_fail(context, HAWSER_DIVERGED, "step %d is too long", 7) : HAWSER_OK;
}

static void undeclared_access_fails(void **state)
{
    (void)state;
    const struct {
        hawser_unit_function *function;
        bool reads, updates;
        hawser_status status;
        const char *words;
    } cases[] = {{undeclared, false, false, BAD, "not declared"},
                 {unknown, true, false, BAD, "'nonsense'"},
                 {wrong_kind, true, false, BAD, "replicated"},
                 {writes_a_read, true, false, BAD, "read, not updated"},
                 {touches_too_much, false, true, BAD, "which has 3"},
                 {reports_nan, false, false, HAWSER_NOT_FINITE, "'gap'"},
                 {reports_unknown, false, false, BAD, "'loss'"},
                 {writes_nan, false, true, HAWSER_NOT_FINITE, "v"},
                 {stops_unasked, false, false, BAD, "stop"},
                 {says_why, false, false, HAWSER_DIVERGED, "step 7 is too long"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int looped = 0; looped < 2; looped++) {
            fixture f = make();
            hawser_operator *parent =
                looped ? hawser_loop(f.root, "loop", (hawser_until){.clocks = 5}, hawser_ssp(1)) : f.root;
            hawser_unit(parent, "culprit", cases[i].function, cases[i].reads ? HAWSER_READS(f.v) : NULL,
                        cases[i].updates ? HAWSER_UPDATES(f.v) : NULL);
            expect(f, cases[i].status, cases[i].words, cases[i].function == writes_nan ? "block 1" : "'culprit'");
        }
}

#ifndef NDEBUG
static hawser_status writes_through_a_view(hawser_context *context)
{
    ((double *)(uintptr_t)hawser_view(context, "v"))[0] = 1;
    return HAWSER_OK;
}

/* In debug builds states that a unit only reads are mapped read-only, so a write to them is caught at once. */
static void a_write_to_a_read_state_is_caught(void **state)
{
    (void)state;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        if (freopen("/dev/null", "w", stderr) == NULL)
            _exit(0);
        fixture f = make();
        hawser_unit(f.root, "writer", writes_through_a_view, HAWSER_READS(f.v), NULL);
        test_job test = OPEN_JOB("workers", "1");
        hawser_run *run = NULL;
        hawser_status ended = hawser_run_program(test.job, f.program, &run, NULL);
        _exit(ended == HAWSER_INTERNAL); /* not reached if the write is caught */
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
}
#endif

static hawser_status uses_what_is_not_declared(hawser_context *context)
{
    const volatile double *values = hawser_view(context, "p");
    return values[0] > 0 ? HAWSER_OK : HAWSER_STOP;
}

/* The name is printed before the process ends by the use of NULL. */
static void undeclared_state_is_named_before_a_crash(void **state)
{
    (void)state;
    int ends[2];
    char text[4096] = "";
    fflush(stdout);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        fixture f = make();
        hawser_unit(f.root, "reader", uses_what_is_not_declared, HAWSER_READS(f.v), NULL);
        test_job test = OPEN_JOB("workers", "1");
        hawser_run *run = NULL;
        (void)!hawser_run_program(test.job, f.program, &run, NULL);
        _exit(0);
    }
    close(ends[1]);
    size_t used = 0;
    for (ssize_t got; used < sizeof text - 1 && (got = read(ends[0], text + used, sizeof text - 1 - used)) > 0;)
        used += (size_t)got;
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (strstr(text, "hawser: unit 'reader', block 0: hawser_view: state 'p' is not declared by this unit") == NULL)
        fail_msg("printed: %s", text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(undeclared_state_is_named_before_a_crash),
        cmocka_unit_test(an_empty_program_is_rejected),
        cmocka_unit_test(wrong_names_are_rejected),
        cmocka_unit_test(wrong_states_are_rejected),
        cmocka_unit_test(wrong_units_are_rejected),
        cmocka_unit_test(wrong_operators_are_rejected),
        cmocka_unit_test(undeclared_access_fails),
#ifndef NDEBUG
        cmocka_unit_test(a_write_to_a_read_state_is_caught),
#endif

    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
