/*
 * What blocks wait for: every feedback of three levels for six numbers, before 56 others each, against a table
 * that is written down here; and each number at its limit decides.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>

#include "adapt/cause.h"

enum { CLOCKS = 10, MOST = 7, LEVELS = 3, NUMBERS = 6, FEEDBACKS = 729 };

/* A window: shares of the time, the ratio of the slow block's units to the others', and clocks in which the last block is
 * the slow one. In the others the blocks before it are, in turn. */
typedef struct window_feedback {
    double waits, input, busy, ratio, units;
    unsigned same;
} window_feedback;

static window_feedback feedback_of(unsigned number)
{
    static const double waits[LEVELS] = {0.1, 0.25, 0.6}, input[LEVELS] = {0.1, 0.4, 0.55}, busy[LEVELS] = {0, 0.5, 0.9},
                        ratios[LEVELS] = {1.25, 2, 4};
    static const double units[LEVELS] = {0.0625, 0.25, 0.5}; /* of the other blocks */
    static const unsigned same[LEVELS] = {2, 6, 9};
    unsigned level[NUMBERS];
    for (unsigned i = 0; i < NUMBERS; i++, number /= LEVELS)
        level[i] = number % LEVELS;
    return (window_feedback){waits[level[0]],  input[level[1]], busy[level[2]],
                             ratios[level[3]], units[level[5]], same[level[4]]};
}

/* The block that is slow in a clock. */
static uint32_t slow_in(const window_feedback *feedback, uint32_t blocks, unsigned clock)
{
    return clock < feedback->same ? blocks - 1 : (clock - feedback->same) % (blocks - 1);
}

static hw_finding find(hw_window *window, uint32_t blocks, const window_feedback *feedback)
{
    double seconds[MOST], units[MOST], waits[MOST], input[MOST];
    for (unsigned clock = 0; clock < CLOCKS; clock++) {
        for (uint32_t b = 0; b < blocks; b++) {
            seconds[b] = 1;
            units[b] = b == slow_in(feedback, blocks, clock) ? feedback->units * feedback->ratio : feedback->units;
            waits[b] = feedback->waits;
            input[b] = feedback->input;
        }
        assert_int_equal(hw_window_add(window, &(hw_clock_times){seconds, units, waits, input}), clock >= 4);
    }
    return hw_window_find(window, feedback->busy, 3);
}

/* The table. */
static hawser_cause expected(uint32_t blocks, const window_feedback *feedback)
{
    unsigned count[MOST] = {0}, most = 0;
    for (unsigned clock = 0; clock < CLOCKS; clock++)
        count[slow_in(feedback, blocks, clock)]++;
    for (uint32_t b = 0; b < blocks; b++)
        most = count[b] > most ? count[b] : most;
    const double extra = feedback->units * (feedback->ratio - 1);
    const bool slow = feedback->ratio >= 1.5 && extra >= 0.5 * feedback->waits && (most >= 8 || most < 5);
    if (feedback->busy > 0.4 * feedback->waits && feedback->input > 0.3 && !(slow && extra > feedback->busy))
        return HAWSER_CAUSE_LINK;
    if (feedback->waits < 0.2)
        return HAWSER_CAUSE_NONE;
    if (feedback->ratio < 1.5 || feedback->units * (feedback->ratio - 1) < 0.5 * feedback->waits)
        return HAWSER_CAUSE_OTHER;
    return most >= 8 ? HAWSER_CAUSE_WORKER : most < 5 ? HAWSER_CAUSE_TURNS : HAWSER_CAUSE_OTHER;
}

static void check(hw_window *window, uint32_t blocks, const window_feedback *feedback)
{
    hw_finding found = find(window, blocks, feedback);
    if (found.cause != expected(blocks, feedback))
        fail_msg("%u blocks, waits %g, input %g, busy %g, ratio %g, same %u: cause %d, not %d", blocks, feedback->waits,
                 feedback->input, feedback->busy, feedback->ratio, feedback->same, (int)found.cause,
                 (int)expected(blocks, feedback));
    assert_int_equal(found.clocks, CLOCKS);
    assert_true(found.seconds == CLOCKS);
    if (found.cause == HAWSER_CAUSE_LINK)
        assert_true(found.number == 3 && found.measure == feedback->busy);
    if (found.cause == HAWSER_CAUSE_WORKER)
        assert_true(found.measure == feedback->ratio && (feedback->same < 5 || found.number == blocks - 1));
}

static void every_pair_of_windows_has_its_causes(void **state)
{
    (void)state;
    static const uint32_t blocks[] = {2, 4, MOST};
    for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++) {
        hw_window window;
        hawser_error error = {0};
        assert_int_equal(hw_window_open(&window, blocks[k], &error), HAWSER_OK);
        unsigned seen[HAWSER_CAUSES] = {0};
        for (unsigned first = 0; first < FEEDBACKS; first++)
            for (unsigned second = first % 13; second < FEEDBACKS; second += 13) {
                const window_feedback one = feedback_of(first), other = feedback_of(second);
                check(&window, blocks[k], &one);
                check(&window, blocks[k], &other);
                seen[expected(blocks[k], &other)]++;
            }
        for (int i = 0; i < HAWSER_CAUSES; i++)
            if (blocks[k] > 2 || i != HAWSER_CAUSE_TURNS) /* one of two blocks is the slowest in half of the clocks */
                assert_true(seen[i] > 0);
        hw_window_close(&window);
    }
}

/* A number that crosses its limit changes the cause. */
static void each_limit_decides(void **state)
{
    (void)state;
    static const window_feedback link = {.waits = 0.5, .input = 0.4, .busy = 0.8, .ratio = 2, .units = 0.1, .same = 9};
    static const window_feedback worker = {.waits = 0.5, .input = 0.4, .busy = 0, .ratio = 2, .units = 0.5, .same = 9};
    static const window_feedback turns = {.waits = 0.5, .input = 0.4, .busy = 0, .ratio = 2, .units = 0.5, .same = 2};
    static const double a_little = 1e-6;
    window_feedback below[8] = {link, link, worker, worker, worker, turns, worker, link},
                    above[8] = {link, link, worker, worker, worker, turns, worker, link};
    static const hawser_cause causes[8][2] = {
        {HAWSER_CAUSE_OTHER, HAWSER_CAUSE_LINK},   {HAWSER_CAUSE_OTHER, HAWSER_CAUSE_LINK},
        {HAWSER_CAUSE_NONE, HAWSER_CAUSE_WORKER},  {HAWSER_CAUSE_OTHER, HAWSER_CAUSE_WORKER},
        {HAWSER_CAUSE_OTHER, HAWSER_CAUSE_WORKER}, {HAWSER_CAUSE_TURNS, HAWSER_CAUSE_OTHER},
        {HAWSER_CAUSE_OTHER, HAWSER_CAUSE_WORKER}, {HAWSER_CAUSE_LINK, HAWSER_CAUSE_WORKER}};
    below[0].busy = HW_LINK_BUSY * 0.5 - a_little;
    above[0].busy = HW_LINK_BUSY * 0.5 + a_little;
    below[1].input = HW_LINK_INPUT - a_little;
    above[1].input = HW_LINK_INPUT + a_little;
    below[2].waits = HW_WAITS - a_little;
    above[2].waits = HW_WAITS + a_little;
    below[3].ratio = HW_SLOW - a_little;
    above[3].ratio = HW_SLOW + a_little;
    below[4].same = 7;
    above[4].same = 8;
    below[5].same = 4;
    above[5].same = 5;
    below[6].units = HW_EXPLAINED * 0.5 - a_little; /* the slow block works for as much longer than the others */
    above[6].units = HW_EXPLAINED * 0.5 + a_little;
    below[7].units = link.busy - a_little; /* a slow block holds clocks up for longer than the link */
    above[7].units = link.busy + a_little;
    hw_window window;
    hawser_error error = {0};
    assert_int_equal(hw_window_open(&window, 4, &error), HAWSER_OK);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(find(&window, 4, &below[i]).cause, causes[i][0]);
        assert_int_equal(find(&window, 4, &above[i]).cause, causes[i][1]);
    }
    hw_window_close(&window);
}

/* A window has 5 clocks and a tenth of a second. */
static void a_window_has_clocks_and_time(void **state)
{
    (void)state;
    hw_window window;
    hawser_error error = {0};
    const double seconds[2] = {0.015625, 0.015625}, units[2] = {0, 0.01}, none[2] = {0, 0};
    assert_int_equal(hw_window_open(&window, 2, &error), HAWSER_OK);
    for (int clock = 1; clock <= 7; clock++)
        assert_int_equal(hw_window_add(&window, &(hw_clock_times){seconds, units, none, none}), clock == 7);
    hw_finding found = hw_window_find(&window, 0, 0);
    assert_int_equal(found.cause, HAWSER_CAUSE_NONE);
    assert_int_equal(found.clocks, 7);
    assert_int_equal(hw_window_add(&window, &(hw_clock_times){seconds, units, none, none}), false);
    hw_window_close(&window);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_of_windows_has_its_causes),
        cmocka_unit_test(each_limit_decides),
        cmocka_unit_test(a_window_has_clocks_and_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
