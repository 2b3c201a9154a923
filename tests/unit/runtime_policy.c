/*
 * Changes of policies in a run: the figures have the clock from which on each holds, what asked for it, and the policies
 * before and after. On threads and nodes, every block obeys it from this clock on, and not before: blocks remember the gain
 * of each clock, and the history is checked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "directory.h"
#include "history/check.h"
#include "job.h"
#include "nodes.h"

enum { WORKERS = 4, CLOCKS = 40 };

/* Adds 1 to v, and remembers the gain of the clock. */
static hawser_status count(hawser_context *context)
{
    HAWSER_WRITE(context, double, gains);
    gains[hawser_clock(context)] = hawser_gain(context, "v");
    HAWSER_WRITE(context, double, v);
    v[0] += hawser_gain(context, "v");
    return HAWSER_OK;
}

/* Asks for another gain twice, once beside another sync. */
static bool decide(hawser_progress *progress, void *user)
{
    (void)user;
    uint64_t clock = hawser_progress_clock(progress);
    if (clock == 3)
        hawser_progress_gain(progress, "v", 2);
    if (clock == 9)
        hawser_progress_sync(progress, "loop", hawser_bsp());
    if (clock == 9)
        hawser_progress_gain(progress, "v", 4);
    if (clock == 10)
        hawser_progress_gain(progress, "v", 4); /* no change */
    return clock + 1 >= 30;
}

enum { CHANGES = 4 };

/* Changes that an observer has seen in the run so far. */
typedef struct seen_changes {
    hawser_policy_change change[CHANGES];
    size_t count;
} seen_changes;

static void observe(const hawser_progress *progress, void *user)
{
    seen_changes *seen = user;
    const hawser_policy_change *change;
    for (; (change = hawser_progress_change(progress, seen->count)) != NULL && seen->count < CHANGES; seen->count++)
        seen->change[seen->count] = *change;
    if (hawser_progress_clock(progress) == 15)
        hawser_progress_gain((hawser_progress *)(uintptr_t)progress, "v", 8);
}

static hawser_program *make(void)
{
    hawser_program *p = hawser_program_new("policy", NULL);
    hawser_state *v = HAWSER_STATE(p, "v", HAWSER_REPLICATED, .rows = 1);
    hawser_state *gains = HAWSER_STATE(p, "gains", HAWSER_LOCAL, .each = true, .rows = CLOCKS);
    HAWSER_UNIT(hawser_loop(hawser_root(p), "loop", (hawser_until){.test = decide}, hawser_ssp(2)), "count", count,
                .updates = {v, gains});
    return p;
}

/* Checks figures and what the observer and the blocks have seen. Stores the clock of the sync's change. */
static void check_run(const hawser_run *run, const seen_changes *seen, uint64_t *changed)
{
    const hawser_figures *figures = hawser_run_figures(run);
    const hawser_policy_change *changes = figures->changes;
    static const struct {
        const char *state, *by;
        double gain[2];
    } wanted[] = {{"v", "stop test of loop 'loop'", {1, 2}},
                  {"", "stop test of loop 'loop'", {0, 0}},
                  {"v", "stop test of loop 'loop'", {2, 4}},
                  {"v", "observer of 'loop'", {4, 8}}};
    static const uint64_t least[] = {4, 10, 10, 16}; /* the clock after the one in which it was asked for */
    assert_int_equal(figures->change_count, CHANGES);
    assert_int_equal(seen->count, CHANGES);
    for (size_t i = 0; i < CHANGES; i++) {
        assert_memory_equal(&seen->change[i], &changes[i], sizeof changes[i]);
        assert_string_equal(changes[i].loop, "loop");
        assert_string_equal(changes[i].state, wanted[i].state);
        assert_string_equal(changes[i].by, wanted[i].by);
        assert_true(changes[i].gain[0] == wanted[i].gain[0] && changes[i].gain[1] == wanted[i].gain[1]);
        assert_true(changes[i].clock >= least[i] && changes[i].clock <= least[i] + 6);
    }
    assert_true(changes[1].sync[0].tightness == HAWSER_SSP && changes[1].sync[0].staleness == 2);
    assert_true(changes[1].sync[1].tightness == HAWSER_BSP && changes[1].clock == changes[2].clock);
    assert_int_equal(RESULT(double, run, "v", NULL)[0], WORKERS * figures->clocks);
    const double *gains = RESULT(double, run, "gains", NULL);
    for (uint64_t b = 0; b < WORKERS; b++)
        for (uint64_t t = 0; t < figures->clocks; t++) {
            double gain = t < changes[0].clock ? 1 : t < changes[2].clock ? 2 : t < changes[3].clock ? 4 : 8;
            if (gains[b * CLOCKS + t] != gain)
                fail_msg("block %d had the gain %g in clock %d, not %g", (int)b, gains[b * CLOCKS + t], (int)t, gain);
        }
    *changed = changes[1].clock;
}

static hawser_status add_history(hw_history *history, const char *path, hawser_error *error)
{
    static unsigned char bytes[1 << 22];
    FILE *file = fopen(path, "rbe");
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    assert_true(size > 0 && size < sizeof bytes);
    assert_int_equal(fclose(file), 0);
    return hw_history_add(history, path, bytes, size, error);
}

/* Reads the files of a history and checks them: each block runs clocks below `changed` under ssp:2, and the others under
 * bsp. */
static void check_files(uint32_t nodes, uint64_t changed)
{
    hw_history history = {0};
    hw_verdict verdict = {0};
    hawser_error error = {0};
    for (uint32_t node = 0; node < nodes; node++) {
        char name[20];
        (void)snprintf(name, sizeof name, node == 0 ? "h" : "h.%u", node);
        if (add_history(&history, name, &error) != HAWSER_OK)
            fail_msg("%s", error.text);
    }
    if (hw_history_whole(&history, &error) != HAWSER_OK || hw_history_check(&history, &verdict, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    if (verdict.broken)
        fail_msg("%s", verdict.text);
    unsigned streams = 0;
    for (size_t s = 0; s < history.count; s++) {
        unsigned begun = 0, ended = 0;
        for (size_t i = 0; i < history.streams[s].count; i++) {
            const hw_event_record *r = &history.streams[s].records[i];
            if (r->kind == HW_EVENT_BEGIN && (r->flags & HW_EVENT_PLAIN) == 0) {
                assert_int_equal(r->part, begun == 0 ? HW_EVENT_SSP : HW_EVENT_BSP);
                assert_int_equal(r->count, begun == 0 ? 2 : 0);
                begun++;
            }
            if (r->kind == HW_EVENT_END && ended++ == 0)
                assert_int_equal(r->clock, changed);
        }
        if (history.streams[s].name.kind == HW_STREAM_BLOCK)
            assert_true(begun == 2 && ended == 2 && ++streams > 0);
    }
    assert_int_equal(streams, WORKERS);
    hw_history_free(&history);
}

static void policy_changes_hold_on_all_threads_from_one_clock_on(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++) {
        test_job test = OPEN_JOB("workers", "4", "check", "yes", "record-history", "h");
        hawser_error error = {0};
        hawser_run *run = NULL;
        uint64_t changed;
        if (seed > 0)
            hw_job_use_fibers(test.job, seed);
        seen_changes seen = {0};
        hawser_observe(test.job, observe, &seen);
        hawser_program *program = make();
        if (hawser_run_program(test.job, program, &run, &error) != HAWSER_OK)
            fail_msg("%s", error.text);
        hawser_program_free(program);
        check_run(run, &seen, &changed);
        char *text = NULL;
        size_t length;
        FILE *out = open_memstream(&text, &length);
        hawser_run_log_view(run, out);
        fclose(out);
        if (strstr(text, "sync: ssp:2 -> bsp, by the stop test of loop 'loop'") == NULL ||
            strstr(text, "gain of state 'v': 4 -> 8, by the observer of 'loop'") == NULL)
            fail_msg("%s", text);
        free(text);
        hawser_run_free(run);
        close_job(test);
        check_files(1, changed);
    }
}

static void body(test_node *node)
{
    hawser_run *run = NULL;
    hawser_program *program = make();
    seen_changes seen = {0};
    hawser_observe(node->job, observe, &seen);
    node->status = hawser_run_program(node->job, program, &run, &node->error);
    if (node->status == HAWSER_OK && node->node == 0)
        check_run(run, &seen, node->user);
    else if (node->status == HAWSER_OK)
        assert_int_equal(hawser_run_figures(run)->change_count, 0);
    hawser_run_free(run);
    hawser_program_free(program);
}

static void policy_changes_hold_on_all_nodes_from_one_clock_on(void **state)
{
    (void)state;
    test_node nodes[NODES_MOST];
    uint64_t changed = 0;
    const char *const pairs[] = {"workers", "4", "check", "yes", "record-history", "h", NULL};
    for (uint32_t count = 2; count <= 3; count++) {
        run_nodes(nodes, count, pairs, body, &changed);
        check_all(nodes, count, "policy");
        check_files(count, changed);
    }
}

/* ---- several fits in a run, several runs in a job ---- */

enum { FITS = 3, ROUNDS = 12 };

/* What the tests of a run have asked for. */
typedef struct asked_changes {
    double fit[FITS * ROUNDS], gain[FITS * ROUNDS]; /* a gain of 0: another sync */
    size_t count;
    double fits, last_gain;
} asked_changes;

/* Asks for another gain twice in each fit, and once for another sync. */
static bool in_fit(hawser_progress *progress, void *user)
{
    asked_changes *asked = user;
    uint64_t clock = hawser_progress_clock(progress);
    bool sync = clock == 4 && asked->fits == 1;
    if (clock != 2 && clock != 7 && !sync)
        return clock + 1 >= ROUNDS;
    if (sync)
        hawser_progress_sync(progress, "rounds", hawser_bsp());
    else
        hawser_progress_gain(progress, "v", asked->last_gain *= 2);
    asked->fit[asked->count] = hawser_progress_metric(progress, "fit");
    asked->gain[asked->count++] = sync ? 0 : asked->last_gain;
    return false;
}

static bool next_fit(hawser_progress *progress, void *user)
{
    asked_changes *asked = user;
    hawser_progress_set(progress, "fit", ++asked->fits);
    return asked->fits == FITS;
}

static hawser_status add_gain(hawser_context *context)
{
    HAWSER_WRITE(context, double, v);
    v[0] += hawser_gain(context, "v");
    return HAWSER_OK;
}

static hawser_program *make_fits(asked_changes *asked)
{
    *asked = (asked_changes){.last_gain = 1};
    hawser_program *p = hawser_program_new("fits", NULL);
    hawser_state *v = HAWSER_STATE(p, "v", HAWSER_REPLICATED, .rows = 1);
    hawser_metric_declare(p, "unused", HAWSER_LAST);
    hawser_metric_declare(p, "fit", HAWSER_LAST);
    hawser_metric_numbers_fits(p, "unused");
    hawser_metric_numbers_fits(p, "fit");
    hawser_operator *fits =
        hawser_loop(hawser_root(p), "fits", (hawser_until){.test = next_fit, .user = asked}, hawser_bsp());
    hawser_operator *rounds = hawser_loop(fits, "rounds", (hawser_until){.test = in_fit, .user = asked}, hawser_ssp(2));
    HAWSER_UNIT(rounds, "add", add_gain, .updates = {v});
    return p;
}

static void each_change_has_the_fit_it_belongs_to(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 4; seed++) {
        test_job test = OPEN_JOB("workers", "3", "check", "yes");
        hawser_error error = {0};
        hawser_run *run = NULL;
        asked_changes asked;
        if (seed > 0)
            hw_job_use_fibers(test.job, seed);
        hawser_program *program = make_fits(&asked);
        if (hawser_run_program(test.job, program, &run, &error) != HAWSER_OK)
            fail_msg("%s", error.text);
        const hawser_figures *figures = hawser_run_figures(run);
        assert_int_equal(asked.count, 2 * FITS + 1);
        assert_int_equal(figures->change_count, asked.count);
        assert_int_equal(figures->changes_left_out, 0);
        for (size_t i = 0; i < asked.count; i++) {
            const hawser_policy_change *change = &figures->changes[i];
            assert_int_equal(change->run, 1);
            assert_string_equal(change->state, asked.gain[i] > 0 ? "v" : "");
            assert_true(change->gain[1] == asked.gain[i]);
            if (i < 2) { /* the metric has no value yet */
                assert_string_equal(change->fit[0].metric, "");
                continue;
            }
            assert_string_equal(change->fit[0].metric, "fit");
            assert_true(change->fit[0].value == asked.fit[i]);
            assert_string_equal(change->fit[1].metric, "");
        }
        char *text = NULL;
        assert_int_equal(hawser_run_log_view_text(run, &text, &error), HAWSER_OK);
        if (strstr(text, "gain of state 'v': 4 -> 8, by the stop test of loop 'rounds', fit 1\n") == NULL)
            fail_msg("%s", text);
        free(text);
        hawser_run_free(run);
        hawser_program_free(program);
        close_job(test);
    }
}

/* Ends after `clocks`; a gain changes in clock 2. */
static bool ends_after(hawser_progress *progress, void *user)
{
    if (hawser_progress_clock(progress) == 2)
        hawser_progress_gain(progress, "v", 2);
    return hawser_progress_clock(progress) + 1 >= *(const uint64_t *)user;
}

static hawser_status overflow_in_clock_six(hawser_context *context)
{
    return hawser_clock(context) == 6 ? hawser_unit_fail(context, HAWSER_NOT_FINITE, "an overflow") : add_gain(context);
}

static hawser_status run_one(hawser_job *job, hawser_unit_function *function, uint64_t clocks, hawser_run **run)
{
    hawser_program *p = hawser_program_new("one", NULL);
    hawser_state *v = HAWSER_STATE(p, "v", HAWSER_REPLICATED, .rows = 1);
    HAWSER_UNIT(hawser_loop(hawser_root(p), "loop", (hawser_until){.test = ends_after, .user = &clocks}, hawser_bsp()),
                "add", function, .updates = {v});
    hawser_error error = {0};
    hawser_status status = hawser_run_program(job, p, run, &error);
    hawser_program_free(p);
    return status;
}

/* A run that fails leaves its changes to the next one, and so does a run that ends early (--max-clocks). */
static void changes_of_a_failed_run_are_in_the_next_one(void **state)
{
    (void)state;
    test_job test = OPEN_JOB("workers", "2", "max-clocks", "12");
    const struct {
        hawser_unit_function *function;
        uint64_t clocks, first; /* the run of the first change in the figures */
        hawser_status status;
    } runs[] = {{overflow_in_clock_six, 10, 0, HAWSER_NOT_FINITE},
                {add_gain, 40, 1, HAWSER_STOP},
                {add_gain, 10, 1, HAWSER_OK},
                {add_gain, 10, 4, HAWSER_OK}};
    for (uint64_t k = 0; k < sizeof runs / sizeof *runs; k++) {
        hawser_run *run = NULL;
        assert_int_equal(run_one(test.job, runs[k].function, runs[k].clocks, &run), runs[k].status);
        const hawser_figures *figures = hawser_run_figures(run);
        if (runs[k].status >= HAWSER_OK)
            assert_int_equal(figures->change_count, k + 2 - runs[k].first);
        for (uint64_t i = 0; figures != NULL && i < figures->change_count; i++)
            assert_int_equal(figures->changes[i].run, runs[k].first + i);
        hawser_run_free(run);
    }
    close_job(test);
}

/* Changes the gain after every clock. */
static bool never_rests(hawser_progress *progress, void *user)
{
    uint64_t clock = hawser_progress_clock(progress);
    hawser_progress_gain(progress, "v", clock % 2 == 0 ? 2 : 1);
    return clock == *(const uint64_t *)user;
}

static void changes_beyond_the_bound_are_counted(void **state)
{
    (void)state;
    test_job test = OPEN_JOB("workers", "1");
    hawser_error error = {0};
    hawser_run *run = NULL;
    uint64_t changes = HAWSER_CHANGES_MOST + 7;
    hawser_program *p = hawser_program_new("many", NULL);
    hawser_state *v = HAWSER_STATE(p, "v", HAWSER_REPLICATED, .rows = 1);
    const hawser_until until = {.test = never_rests, .user = &changes};
    HAWSER_UNIT(hawser_loop(hawser_root(p), "loop", until, hawser_bsp()), "add", add_gain, .updates = {v});
    if (hawser_run_program(test.job, p, &run, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    const hawser_figures *figures = hawser_run_figures(run);
    assert_int_equal(figures->change_count, HAWSER_CHANGES_MOST);
    assert_int_equal(figures->changes_left_out, 7);
    assert_true(sizeof *figures->changes * HAWSER_CHANGES_MOST <= 10000000); /* as hawser.h says */
    hawser_run_free(run);
    hawser_program_free(p);
    close_job(test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(policy_changes_hold_on_all_threads_from_one_clock_on, make_directory,
                                        remove_directory),
        cmocka_unit_test_setup_teardown(policy_changes_hold_on_all_nodes_from_one_clock_on, make_directory,
                                        remove_directory),
        cmocka_unit_test(each_change_has_the_fit_it_belongs_to),
        cmocka_unit_test(changes_of_a_failed_run_are_in_the_next_one),
        cmocka_unit_test(changes_beyond_the_bound_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
