/* Which ends of a start are repeated, and how often: each end of a node, of a program and of train. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/run/launch.h"

/* A start of two nodes of which node 1 has failed first. */
typedef struct failed_start {
    hw_run_node nodes[2];
    hw_restarts restarts;
    hw_launch launch;
} failed_start;

static failed_start *make(failed_start *it, hw_run_kind does, hw_run_node how)
{
    memset(it, 0, sizeof *it);
    it->nodes[1] = how;
    it->restarts = (hw_restarts){.most = 3, .window = 60, .began = 1000, .input = -1, .strict = does == HW_RUN_TRAINS};
    it->launch = (hw_launch){.nodes = it->nodes,
                             .node_count = 2,
                             .first_failed = 1,
                             .restarts = &it->restarts,
                             .does = does,
                             .own = does != HW_RUN_PROGRAM,
                             .failed_at = 1001};
    return it;
}

static const char *said(const failed_start *it)
{
    static _Thread_local char text[120];
    hw_restarts_say(&it->launch, text, sizeof text);
    return text;
}

static void only_losses_and_kills_are_repeated(void **state)
{
    (void)state;
    static const struct {
        hw_run_node how;
        bool program, own; /* whether a program's is repeated, and that of train */
    } ends[] = {{{.ended = true, .code = 1}, false, false},
                {{.ended = true, .code = 2}, false, false},
                {{.ended = true, .code = 7}, false, false},
                {{.ended = true, .code = 127}, false, false},
                {{.ended = true, .code = HW_EXIT_PEER}, true, true},
                {{.ended = true, .code = HW_EXIT_SIGNAL}, false, true}, /* train ends like this by a signal */
                {{.ended = true, .signal = SIGKILL}, true, true},
                {{.ended = true, .signal = SIGTERM}, true, true},
                {{.ended = true, .signal = SIGSEGV}, true, true},
                {{.ended = true, .signal = SIGPIPE}, false, false},
                {{.ended = true, .code = 0}, true, true},               /* blamed by the others */
                {{.ended = true, .code = 2, .ours = true}, true, true}, /* and ended by us */
                {{.ended = false}, true, true}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        for (hw_run_kind does = HW_RUN_PROGRAM; does <= HW_RUN_TRAINS; does++) {
            failed_start it;
            bool repeated = does == HW_RUN_PROGRAM ? ends[i].program : ends[i].own;
            make(&it, does, ends[i].how);
            assert_string_equal(said(&it), repeated ? "; restart 1 of 3" : "; no restart, since an error is not repeated");
            assert_int_equal(hw_restarts_next(&it.launch), repeated);
            assert_int_equal(it.restarts.done, repeated);
            make(&it, does, ends[i].how)->launch.interrupts = 1;
            assert_string_equal(said(&it), "");
            assert_false(hw_restarts_next(&it.launch));
            make(&it, does, ends[i].how)->restarts.most = 0;
            assert_string_equal(said(&it), "");
            assert_false(hw_restarts_next(&it.launch));
        }
}

static void an_end_without_a_failure_is_not_repeated(void **state)
{
    (void)state;
    failed_start it;
    make(&it, HW_RUN_PROGRAM, (hw_run_node){.ended = true})->launch.first_failed = 2;
    assert_false(hw_restarts_next(&it.launch));
    it.launch.node_count = it.launch.first_failed = 0; /* the request came before nodes were placed */
    assert_false(hw_restarts_next(&it.launch));
}

/* What a start did: it lasted for some seconds, and reported a checkpoint or not. */
typedef struct course {
    double seconds;
    bool reports;
} course;

/* Returns the restarts of a command whose starts all end by a kill. */
static uint64_t restarts_of(hw_run_kind does, uint64_t most, const course *starts, size_t count, char *last, size_t size)
{
    failed_start it;
    make(&it, does, (hw_run_node){.ended = true, .signal = SIGKILL})->restarts.most = most;
    for (size_t i = 0; i < count; i++) {
        it.restarts.began = 100.0 * (double)i;
        it.launch.failed_at = it.restarts.began + starts[i].seconds;
        it.launch.progressed = starts[i].reports;
        hw_restarts_say(&it.launch, last, size);
        bool again = hw_restarts_next(&it.launch);
        it.restarts.reported |= starts[i].reports;
        if (!again)
            break;
    }
    return it.restarts.done;
}

static void two_restarts_in_a_row_without_progress_are_the_last(void **state)
{
    (void)state;
    static const struct {
        hw_run_kind does;
        uint64_t most;
        course starts[7];
        uint64_t restarts;
        const char *last;
    } cases[] = {
        {HW_RUN_PROGRAM, 9, {{1, 0}, {1, 0}, {1, 0}}, 2, "2 in a row have ended within 60 s"},
        {HW_RUN_PROGRAM, 9, {{61, 0}, {59, 0}, {59, 0}}, 2, "within 60 s"},
        {HW_RUN_PROGRAM, 9, {{1, 0}, {1, 0}, {61, 0}, {1, 0}, {1, 0}}, 4, "within 60 s"},
        {HW_RUN_PROGRAM, 4, {{61, 0}, {61, 0}, {61, 0}, {61, 0}, {61, 0}}, 4, "all were used"},
        {HW_RUN_PROGRAM, 1, {{61, 0}, {61, 0}}, 1, "the only one was used"},
        /* A program that has reported one checkpoint is measured by checkpoints alone. */
        {HW_RUN_PROGRAM, 9, {{1, 1}, {61, 0}, {61, 0}}, 2, "no new checkpoint"},
        {HW_RUN_PROGRAM, 9, {{1, 0}, {1, 1}, {61, 0}, {1, 1}, {61, 0}, {61, 0}}, 5, "no new checkpoint"},
        {HW_RUN_TRAINS, 9, {{61, 0}, {61, 0}, {61, 0}}, 2, "no new checkpoint"},
        {HW_RUN_TRAINS, 9, {{1, 0}, {1, 0}, {1, 1}, {1, 0}, {1, 0}}, 4, "no new checkpoint"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char last[120];
        assert_int_equal(restarts_of(cases[i].does, cases[i].most, cases[i].starts, 7, last, sizeof last),
                         cases[i].restarts);
        assert_non_null(strstr(last, cases[i].last));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(only_losses_and_kills_are_repeated),
                                       cmocka_unit_test(an_end_without_a_failure_is_not_repeated),
                                       cmocka_unit_test(two_restarts_in_a_row_without_progress_are_the_last)};
    return cmocka_run_group_tests_name("cli restarts", tests, NULL, NULL);
}
