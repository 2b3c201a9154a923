/* The progress line says how long a training takes only where that is so: forecasts are compared with what comes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/monitor.h"

typedef double distance_at(double seconds);

static double some(const hawser_options *options, const hawser_progress *progress)
{
    (void)options, (void)progress;
    return 1.0;
}

static double two_a_second(double seconds)
{
    return 2.0 * seconds;
}

/* Clocks of which each takes longer than the one before. */
static double ever_slower(double seconds)
{
    return 40 * sqrt(seconds);
}

/* Plays 99 seconds of a training, two values a second; returns the text that it prints, which the caller frees. */
static char *play_at(distance_at *distance, distance_at *clock, double limit, double clocks, double tolerance)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    static const hawser_metric_row rows[] = {{.name = "energy", .progress = true},
                                             {.name = "distance", .progress = true, .exponent = true, .target = some},
                                             {.name = "hidden", .traced = true},
                                             {.name = NULL}};
    hw_watched watched;
    hawser_error error = {0};
    assert_int_equal(hw_watched_of(rows, &watched, &error), HAWSER_OK);
    hw_progress_line progress = {.err = file, .lines = true, .watched = &watched, .clocks = clocks, .limit = limit};
    for (int step = 1; step <= 198; step++) {
        double seconds = 0.5 * step;
        hw_sample sample = {
            .clock = clock(seconds), .seconds = seconds, .value = {1.0, distance(seconds), 7.0}, .target = tolerance};
        hw_progress_show(&progress, &sample, false);
    }
    assert_int_equal(fclose(file), 0);
    return text;
}

static char *play(distance_at *distance, double limit, double clocks, double tolerance)
{
    return play_at(distance, two_a_second, limit, clocks, tolerance);
}

/* Holds each line that has `word` to an end at `end` seconds, within a share of what is left; returns how many there are. */
static int each(const char *text, const char *word, double end, double within)
{
    int count = 0;
    for (const char *line = text; (line = strstr(line, "hawser: ")) != NULL; line++) {
        const char *stop = strchr(line, '\n'), *at = strstr(line, word), *rate = strstr(line, "clocks/s  ");
        if (at == NULL || at > stop)
            continue;
        assert_true(stop[-1] == 't');
        double now = strtod(rate + strlen("clocks/s  "), NULL), left = strtod(at + strlen(word), NULL);
        if (now < end && fabs(now + left - end) > within * (end - now) + 0.2)
            fail_msg("at %g s it says %g s left of %g: %.120s", now, left, end, line);
        count++;
    }
    return count;
}

static double even(double seconds) /* at 1e-6 after 90 s */
{
    return pow(10.0, -seconds / 15.0);
}

static double stalled(double seconds)
{
    return seconds < 20 ? pow(10.0, -seconds / 10.0) : 0.01 * (1.0 + 1e-3 * sin(seconds));
}

static double restless(double seconds)
{
    return pow(10.0, -seconds / 50.0 + 1.5 * sin(3.0 * seconds));
}

static double none(double seconds)
{
    (void)seconds;
    return NAN;
}

static void even_descent_is_forecast(void **state)
{
    (void)state;
    char *text = play(even, NAN, NAN, 1e-6);
    assert_true(each(text, "  about ", 90.0, 0.1) > 30);
    assert_null(strstr(text, "at most"));
    free(text);
}

static void stalled_descent_is_not_forecast(void **state)
{
    (void)state;
    char *text = play(stalled, NAN, NAN, 1e-6);
    const char *late = strstr(text, "  40.0s");
    assert_non_null(late);
    assert_null(strstr(late, "left"));
    free(text);
    text = play(restless, NAN, NAN, 1e-6);
    assert_null(strstr(text, "left"));
    free(text);
}

static void metric_that_ends_nothing_is_not_forecast(void **state)
{
    (void)state;
    char *text = play(even, NAN, NAN, NAN);
    assert_null(strstr(text, "left"));
    free(text);
    text = play(none, NAN, NAN, 1e-6);
    assert_null(strstr(text, "left"));
    free(text);
}

static void progress_line_has_the_rows_of_the_algorithm(void **state)
{
    (void)state;
    char *text = play(even, NAN, NAN, NAN);
    assert_non_null(strstr(text, "  energy 1  distance "));
    assert_non_null(strstr(text, "e-0"));
    assert_null(strstr(text, "hidden"));
    free(text);
    text = play(none, NAN, NAN, NAN);
    assert_non_null(strstr(text, "  energy 1  2 clocks/s"));
    free(text);
}

static void more_metrics_than_are_traced_are_refused(void **state)
{
    (void)state;
    hawser_metric_row rows[HAWSER_TRACED + 3] = {{.name = "untraced"}};
    hw_watched watched;
    hawser_error error = {0};
    for (int k = 1; k <= HAWSER_TRACED; k++)
        rows[k] = (hawser_metric_row){.name = "x", .traced = true};
    assert_int_equal(hw_watched_of(rows, &watched, &error), HAWSER_OK);
    assert_int_equal(watched.count, HAWSER_TRACED);
    rows[HAWSER_TRACED + 1] = (hawser_metric_row){.name = "surplus", .axis = "surplus"};
    assert_int_equal(hw_watched_of(rows, &watched, &error), HAWSER_INTERNAL);
    assert_non_null(strstr(error.text, "surplus"));
}

static void limits_are_bounds(void **state)
{
    (void)state;
    char *text = play(none, 99.0, NAN, 1e-6);
    assert_true(each(text, "  at most ", 99.0, 0.0) > 40);
    assert_null(strstr(text, "about"));
    free(text);
    text = play(stalled, NAN, 190.0, 1e-6); /* two clocks a second */
    assert_true(each(text, "  at most about ", 95.0, 0.0) > 20);
    free(text);
    text = play_at(none, ever_slower, NAN, 380.0, 1e-6); /* the end is at 90 s */
    assert_null(strstr(text, "left"));
    free(text);
    text = play_at(even, ever_slower, NAN, 380.0, 1e-9); /* the target is forecast well, but the clocks are over first */
    assert_null(strstr(text, "left"));
    free(text);
    text = play(even, 80.0, NAN, 1e-6); /* the limit comes before the target */
    assert_true(each(text, "  at most ", 80.0, 0.0) > 30);
    assert_null(strstr(text, "about"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(even_descent_is_forecast),
        cmocka_unit_test(stalled_descent_is_not_forecast),
        cmocka_unit_test(metric_that_ends_nothing_is_not_forecast),
        cmocka_unit_test(limits_are_bounds),
        cmocka_unit_test(progress_line_has_the_rows_of_the_algorithm),
        cmocka_unit_test(more_metrics_than_are_traced_are_refused),
    };
    return cmocka_run_group_tests_name("cli progress", tests, NULL, NULL);
}
