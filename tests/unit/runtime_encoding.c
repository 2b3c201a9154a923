/*
 * Changes of a state's encoding in a run: from the clock that the figures name blocks see rounded changes, and exact ones
 * before it and after the change back; nothing is lost in the end. On threads in any order and on nodes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "nodes.h"
#include "sanitized.h"

enum { WORKERS = 3, ENTRIES = 40, CLOCKS = 40, INT8_AT = 5, BF16_AT = 15, EXACT_AT = 25 };

/* A change that needs 11 bits: bf16 and int8 round it. */
static double change_of(size_t entry)
{
    return 1025.0 + 2.0 * (double)entry;
}

/* Block 0 changes all entries in each clock. All blocks remember what the first entry was when the clock began. */
static hawser_status change_all(hawser_context *context)
{
    HAWSER_WRITE(context, double, v);
    HAWSER_WRITE(context, double, seen);
    seen[hawser_clock(context)] = v[0];
    for (size_t i = 0; hawser_block(context) == 0 && i < ENTRIES; i++)
        v[i] += change_of(i);
    return HAWSER_OK;
}

static bool encodes(hawser_progress *progress, void *user)
{
    (void)user;
    switch (hawser_progress_clock(progress)) {
    case INT8_AT: hawser_progress_encoding(progress, "v", HAWSER_AS_INT8); break;
    case BF16_AT: hawser_progress_encoding(progress, "v", HAWSER_AS_BF16); break;
    case EXACT_AT: hawser_progress_encoding(progress, "v", HAWSER_EXACT); break;
    default: break;
    }
    return hawser_progress_clock(progress) + 1 >= 35;
}

static hawser_program *make(hawser_sync sync)
{
    hawser_program *p = hawser_program_new("encoding", NULL);
    hawser_state *v = HAWSER_STATE(p, "v", HAWSER_REPLICATED, .rows = ENTRIES);
    hawser_state *seen = HAWSER_STATE(p, "seen", HAWSER_LOCAL, .each = true, .rows = CLOCKS);
    hawser_operator *loop = hawser_loop(hawser_root(p), "loop", (hawser_until){.test = encodes}, sync);
    HAWSER_UNIT(loop, "change", change_all, .updates = {v, seen});
    HAWSER_ADAPT(p, .loop = loop, .state = v);
    return p;
}

static void check_run(const hawser_run *run, bool in_step)
{
    const hawser_figures *figures = hawser_run_figures(run);
    static const hawser_form forms[][2] = {
        {HAWSER_EXACT, HAWSER_AS_INT8}, {HAWSER_AS_INT8, HAWSER_AS_BF16}, {HAWSER_AS_BF16, HAWSER_EXACT}};
    for (size_t i = 0; i < ENTRIES; i++) /* nothing is lost: the rests are sent in the end */
        assert_true(RESULT(double, run, "v", NULL)[i] == (double)figures->clocks * change_of(i));
    assert_int_equal(figures->change_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(figures->changes[i].state, "v");
        assert_memory_equal(figures->changes[i].form, forms[i], sizeof forms[i]);
    }
    const double *seen = RESULT(double, run, "seen", NULL) + CLOCKS; /* of block 1 */
    const uint64_t rounded = figures->changes[0].clock, exact = figures->changes[2].clock;
    size_t shortened = 0;
    for (uint64_t t = 0; in_step && t + 1 < 35; t++) { /* clock t changes what clock t + 1 sees */
        bool whole = seen[t + 1] == (double)(t + 1) * change_of(0);
        shortened += !whole;
        if (!whole && (t < rounded || t >= exact))
            fail_msg("clock %d sees %.17g; rounded from %d to %d", (int)t + 1, seen[t + 1], (int)rounded, (int)exact);
        if (fabs(seen[t + 1] - (double)(t + 1) * change_of(0)) > 16)
            fail_msg("clock %d sees %.17g: more than the last rounding is missing", (int)t + 1, seen[t + 1]);
    }
    assert_true(!in_step || shortened > (exact - rounded) / 2); /* now and then rests add up to a whole change */
}

static void updates_have_the_form_from_the_same_clock(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 1 + schedules_of(11); seed++) {
        test_job test = OPEN_JOB("workers", "3", "check", "yes", "auto", "yes");
        if (seed > 0)
            hw_job_use_fibers(test.job, seed);
        hawser_program *program = make(seed % 2 == 0 ? hawser_bsp() : hawser_ssp(2));
        hawser_error error = {0};
        hawser_run *run = NULL;
        if (hawser_run_program(test.job, program, &run, &error) != HAWSER_OK)
            fail_msg("%s", error.text);
        check_run(run, seed % 2 == 0);
        char *text = NULL;
        assert_int_equal(hawser_run_log_view_text(run, &text, &error), HAWSER_OK);
        assert_non_null(strstr(text, "encoding of state 'v': exact -> int8, by the stop test of loop 'loop'"));
        free(text);
        hawser_run_free(run);
        hawser_program_free(program);
        close_job(test);
    }
}

static void body(test_node *node)
{
    hawser_run *run = NULL;
    hawser_program *program = make(hawser_bsp());
    node->status = hawser_run_program(node->job, program, &run, &node->error);
    if (node->status == HAWSER_OK && node->node == 0)
        check_run(run, false);
    hawser_run_free(run);
    hawser_program_free(program);
}

static void nodes_have_the_form_from_the_same_clock(void **state)
{
    (void)state;
    static const char *const graphs[] = {"all", "tree", "servers:2"};
    test_node nodes[NODES_MOST];
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
        const char *const pairs[] = {"workers", "3", "check", "yes", "auto", "yes", "topology", graphs[i], NULL};
        run_nodes(nodes, 3, pairs, body, NULL);
        check_all(nodes, 3, "encoding");
    }
}

/* Without an option that lets forms change, a test cannot change one. */
static void a_form_stays_without_the_option(void **state)
{
    (void)state;
    test_job test = OPEN_JOB("workers", "3");
    hawser_error error = {0};
    hawser_run *run = NULL;
    hawser_program *program = make(hawser_bsp());
    assert_int_equal(hawser_run_program(test.job, program, &run, &error), HAWSER_BAD_PROGRAM);
    assert_non_null(strstr(error.text, "hawser_progress_encoding: form 3 for 'v'"));
    hawser_program_free(program);
    close_job(test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(updates_have_the_form_from_the_same_clock),
        cmocka_unit_test(nodes_have_the_form_from_the_same_clock),
        cmocka_unit_test(a_form_stays_without_the_option),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
