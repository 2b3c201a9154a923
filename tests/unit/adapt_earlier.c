/*
 * Trials across runs: a run that was too short for a trial leaves one setting by the cause of its waits; the next run begins
 * with it, and the one after that has the faster of the two. Only runs that ended by their own test are compared, the guard
 * stays on, and a setting is taken back once runs with it take longer than without it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "adapt/earlier.h"

enum { BLOCKS = 4, CLOCKS = 30 };

static const hw_bounds bounds = {
    .start = {[HW_KNOB_WORK] = 1, [HW_KNOB_GAIN] = 1, [HW_KNOB_SHARE] = 1},
    .least = {[HW_KNOB_WORK] = 0.25, [HW_KNOB_GAIN] = 0.5, [HW_KNOB_SHARE] = 0.125},
    .most = {[HW_KNOB_ENCODING] = 2, [HW_KNOB_WORK] = 4, [HW_KNOB_SYNC] = 3, [HW_KNOB_GAIN] = 1, [HW_KNOB_SHARE] = 1},
    .measured = true,
    .is_gap = true};

/* What a run is like: the cause of its waits, seconds of a clock, and how far the logarithm of the gap falls. */
typedef struct course {
    hawser_cause cause;
    double seconds, fall;
    bool ended;
} course;

/* A chain of runs, each of which begins with what the one before has left. */
typedef struct runs {
    hw_decided left;
    double shares[BLOCKS];
    bool any;
    double begun[HW_KNOBS]; /* the values with which the last run began; of a share that of worker 2 */
    char reason[HW_REASON];
} runs;

static hw_feedback feedback_of(const course *c)
{
    static const double pace[BLOCKS] = {1, 1, 4, 1};
    return (hw_feedback){.found = {.cause = c->cause, .clocks = 10, .seconds = 10 * c->seconds, .waited = 0.4, .number = 2},
                         .units = 0.5,
                         .exchanging = 0.05,
                         .pace = pace};
}

static void note_changes(hw_decider *d, runs *chain)
{
    hw_instruction made;
    while (hw_decider_next(d, &made))
        if (made.knob < HW_KNOBS && (made.knob != HW_KNOB_SHARE || made.block == 2)) {
            chain->begun[made.knob] = made.to;
            (void)strcpy(chain->reason, made.reason);
        }
}

/* Does a run of 30 clocks, between whose first and last one no metric is known, as a linear model's certificates are. */
static void run(runs *chain, const course *c)
{
    hw_decider d;
    hawser_error error = {0};
    hw_decided left;
    double shares[BLOCKS];
    assert_int_equal(hw_decider_open(&d, &bounds, BLOCKS, &error), HAWSER_OK);
    d.barred[HW_KNOB_ENCODING] = true; /* so that links make nothing change in a run */
    memcpy(chain->begun, bounds.start, sizeof chain->begun);
    chain->reason[0] = '\0';
    if (chain->any)
        hw_decider_learn(&d, &chain->left, "learned");
    note_changes(&d, chain);
    while (hw_decider_across(&d))
        note_changes(&d, chain);
    hw_decider_point(&d, 0, 0, 1);
    for (int i = 0; i < CLOCKS; i += 10) {
        const hw_feedback feedback = feedback_of(c);
        hw_decider_window(&d, &feedback);
    }
    hw_decider_point(&d, CLOCKS * c->seconds, CLOCKS, exp(-c->fall));
    hw_decider_end(&d);
    hw_decider_decided(&d, shares, CLOCKS * c->seconds, c->ended, &left);
    memcpy(chain->shares, shares, sizeof shares);
    chain->left = left;
    chain->left.shares = chain->shares;
    chain->any = true;
    hw_decider_close(&d);
}

static void each_cause_has_its_setting(void **state)
{
    (void)state;
    static const struct {
        hawser_cause cause;
        hw_knob knob;
        double to;
    } cases[] = {{HAWSER_CAUSE_LINK, HW_KNOB_SYNC, 1},
                 {HAWSER_CAUSE_TURNS, HW_KNOB_SYNC, 1},
                 {HAWSER_CAUSE_OTHER, HW_KNOB_SYNC, 1},
                 {HAWSER_CAUSE_NONE, HW_KNOB_WORK, 0.5},
                 {HAWSER_CAUSE_WORKER, HW_KNOB_SHARE, 0.25}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int ended = 0; ended < 2; ended++) {
            runs chain = {.any = false};
            run(&chain, &(course){cases[i].cause, 1, 9, ended});
            run(&chain, &(course){cases[i].cause, 0.5, 9, true});
            for (int k = 0; k < HW_KNOBS; k++) {
                const double expected = ended && k == (int)cases[i].knob ? cases[i].to : bounds.start[k];
                if (!(fabs(chain.begun[k] - expected) < 1e-12))
                    fail_msg("cause %d, ended %d: knob %d is %g, not %g", cases[i].cause, ended, k, chain.begun[k],
                             expected);
            }
            assert_int_equal(strstr(chain.reason, "trial across runs") != NULL, ended);
        }
}

/* The second run takes 0.8, 1 or 2 times as long as the first one: the third has the setting only in the first case. */
static void the_third_run_has_the_faster_of_two(void **state)
{
    (void)state;
    static const double times[] = {0.8, 1, 2};
    for (int i = 0; i < 3; i++) {
        runs chain = {.any = false};
        run(&chain, &(course){HAWSER_CAUSE_TURNS, 1, 9, true});
        run(&chain, &(course){HAWSER_CAUSE_TURNS, times[i], 9, true});
        assert_true(chain.left.across.tried.kept == (i == 0) && chain.left.losses[HW_KNOB_SYNC] == (i > 0));
        assert_true(fabs(chain.left.across.tried.before - CLOCKS) < 1e-9);
        for (int later = 0; later < 3; later++) { /* lost trials take a twentieth of all clocks, so none follows soon */
            run(&chain, &(course){HAWSER_CAUSE_TURNS, i == 0 ? times[i] : 1, 9, true});
            assert_true(chain.begun[HW_KNOB_SYNC] == (i == 0 ? 1 : 0));
            assert_int_equal(strstr(chain.reason, "learned: a run with it took 24 s, and the one before it 30 s") != NULL,
                             i == 0);
        }
    }
}

/* A limit that ends the run of a trial leaves no result, unless the run has already taken longer than the one before. */
static void a_limit_leaves_no_result(void **state)
{
    (void)state;
    for (int longer = 0; longer < 2; longer++) {
        runs chain = {.any = false};
        run(&chain, &(course){HAWSER_CAUSE_TURNS, 1, 9, true});
        run(&chain, &(course){HAWSER_CAUSE_TURNS, longer ? 2 : 0.1, 9, false});
        assert_true(chain.begun[HW_KNOB_SYNC] == 1 && !chain.left.across.tried.kept);
        assert_int_equal(chain.left.losses[HW_KNOB_SYNC], longer);
        run(&chain, &(course){HAWSER_CAUSE_TURNS, 1, 9, true});
        assert_true(chain.begun[HW_KNOB_SYNC] == 0);
        run(&chain, &(course){HAWSER_CAUSE_TURNS, 1, 9, true});
        assert_true(chain.begun[HW_KNOB_SYNC] == (longer ? 0 : 1));
    }
}

/* Progress per clock falls below 1/1.5 of that of the run before: the guard bars the staleness, although the run was
 * faster. */
static void the_guard_stays_on(void **state)
{
    (void)state;
    for (int behind = 0; behind < 2; behind++) {
        runs chain = {.any = false};
        run(&chain, &(course){HAWSER_CAUSE_TURNS, 1, 9, true});
        run(&chain, &(course){HAWSER_CAUSE_TURNS, 0.5, behind ? 5.9 : 6.1, true});
        assert_true(chain.left.across.tried.kept == !behind);
        assert_true(chain.left.losses[HW_KNOB_SYNC] >= (behind ? 5 : 0));
        run(&chain, &(course){HAWSER_CAUSE_TURNS, 1, 9, true});
        assert_true(chain.begun[HW_KNOB_SYNC] == (behind ? 0 : 1));
    }
}

static void what_was_kept_goes_once_it_takes_longer(void **state)
{
    (void)state;
    runs chain = {.any = false};
    run(&chain, &(course){HAWSER_CAUSE_WORKER, 1, 9, true});
    run(&chain, &(course){HAWSER_CAUSE_WORKER, 0.5, 9, true});
    assert_true(chain.left.across.tried.kept && fabs(chain.shares[2] - 0.25) < 1e-12);
    run(&chain, &(course){HAWSER_CAUSE_WORKER, 0.9, 9, true});
    assert_true(chain.left.across.tried.kept && fabs(chain.shares[2] - 0.25) < 1e-12);
    run(&chain, &(course){HAWSER_CAUSE_WORKER, 1.1, 9, true});
    assert_true(!chain.left.across.tried.kept && fabs(chain.shares[2] - 1) < 1e-12);
    run(&chain, &(course){HAWSER_CAUSE_WORKER, 1, 9, true});
    assert_true(fabs(chain.begun[HW_KNOB_SHARE] - 1) < 1e-12);
}

/* A run with points between its first and its last one had time for a trial, and one that has lost a trial leaves that. */
static void a_lost_trial_comes_back_if_runs_without_it_take_longer(void **state)
{
    (void)state;
    for (int longer = 0; longer < 2; longer++) {
        hw_decided left = {.clocks = 100, .losses = {[HW_KNOB_GAIN] = 1}, .lost = 50};
        left.across = (hw_across){.seconds = 20, .lost = {HW_KNOB_GAIN, 0, 0.5}, .lost_seconds = longer ? 20 : 40};
        for (int k = 0; k < HW_KNOB_SHARE; k++)
            left.value[k] = (double)NAN;
        runs chain = {.left = left, .any = true};
        run(&chain, &(course){HAWSER_CAUSE_LINK, 1, 9, true});
        assert_true(chain.begun[HW_KNOB_GAIN] == 1);
        run(&chain, &(course){HAWSER_CAUSE_LINK, 0.5, 9, true});
        assert_true(chain.begun[HW_KNOB_GAIN] == (longer ? 0.5 : 1));
        assert_int_equal(strstr(chain.reason, "20 s when its trial was lost, and 30 s without") != NULL, longer);
        run(&chain, &(course){HAWSER_CAUSE_LINK, 0.5, 9, true});
        assert_true(chain.begun[HW_KNOB_GAIN] == (longer ? 0.5 : 1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_cause_has_its_setting),
        cmocka_unit_test(the_third_run_has_the_faster_of_two),
        cmocka_unit_test(a_limit_leaves_no_result),
        cmocka_unit_test(the_guard_stays_on),
        cmocka_unit_test(what_was_kept_goes_once_it_takes_longer),
        cmocka_unit_test(a_lost_trial_comes_back_if_runs_without_it_take_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
