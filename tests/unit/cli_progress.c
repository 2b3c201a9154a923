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
        hw_sample sample = {.clock = clock(seconds),
                            .seconds = seconds,
                            .value = {1.0, distance(seconds), 7.0},
                            .ends = 1,
                            .target = tolerance};
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

/* Plays a count that is at 0 after some time; returns the text that it prints, which the caller frees. */
static char *count_down(distance_at *left, bool may_rise)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    static const hawser_metric_row rows[] = {
        {.name = "gap", .progress = true, .target = some}, {.name = "left", .target = some, .counts = true}, {.name = NULL}};
    hw_watched watched;
    hawser_error error = {0};
    assert_int_equal(hw_watched_of(rows, &watched, &error), HAWSER_OK);
    hw_progress_line progress = {.err = file, .lines = true, .watched = &watched, .clocks = NAN, .limit = NAN};
    for (int step = 1; step <= 990; step++) {
        double seconds = 0.1 * step;
        hw_sample sample = {.clock = step,
                            .seconds = seconds,
                            .value = {1.0 / (1.0 + step % 7), left(seconds)},
                            .ends = 1,
                            .target = 0.0,
                            .may_rise = may_rise};
        hw_progress_show(&progress, &sample, false);
    }
    assert_int_equal(fclose(file), 0);
    return text;
}

static double fits(double seconds) /* 100 fits in 90 s */
{
    return fmax(0.0, ceil(100.0 - seconds / 0.9));
}

static double uneven_fits(double seconds) /* every second fit takes three times as long as the others */
{
    double pairs = floor(seconds / 1.8), rest = seconds - 1.8 * pairs;
    return fmax(0.0, 100.0 - 2.0 * pairs - (rest >= 0.45 ? 1.0 : 0.0));
}

static double added_fits(double seconds) /* one fit a second: 40 at first, 50 more when these are done */
{
    return seconds < 40.0 ? 40.0 - floor(seconds) : 90.0 - floor(seconds);
}

static void count_of_fits_is_forecast(void **state)
{
    (void)state;
    char *text = count_down(fits, false);
    assert_true(each(text, "  about ", 90.0, 0.05) > 35);
    assert_null(strstr(text, "at least"));
    free(text);
    text = count_down(uneven_fits, false);
    assert_true(each(text, "  about ", 90.0, 0.25) > 30);
    free(text);
}

static void count_that_may_rise_is_a_lower_bound(void **state)
{
    (void)state;
    char *text = count_down(added_fits, true), *late = strstr(text, "  40.0s");
    assert_null(strstr(text, "  about "));
    assert_non_null(late);
    assert_true(each(late, "  at least about ", 90.0, 0.25) > 20); /* at once, since fits take as long as before */
    *late = '\0';
    char *last = strrchr(text, '\n');
    assert_non_null(last);
    last[1] = '\0';
    assert_true(each(text, "  at least about ", 40.0, 0.25) > 10);
    free(text);
}

static double exhausted(const hawser_options *options, const hawser_progress *progress)
{
    (void)options, (void)progress;
    return NAN;
}

static double none_left(const hawser_options *options, const hawser_progress *progress)
{
    (void)options, (void)progress;
    return 0.0;
}

static bool always(const hawser_options *options, const hawser_progress *progress)
{
    (void)options, (void)progress;
    return true;
}

static void first_metric_with_a_target_ends_the_run(void **state)
{
    (void)state;
    static const hawser_metric_row rows[] = {{.name = "plain", .traced = true},
                                             {.name = "gap", .target = exhausted},
                                             {.name = "left", .target = none_left, .counts = true, .may_rise = always},
                                             {.name = "later", .target = some},
                                             {.name = NULL}};
    hw_monitor monitor = {0};
    hawser_error error = {0};
    hw_sample sample = {0};
    assert_int_equal(hw_watched_of(rows, &monitor.watched, &error), HAWSER_OK);
    hw_monitor_find_target(&monitor, NULL, &sample);
    assert_int_equal(sample.ends, 2);
    assert_true(sample.target == 0.0 && sample.may_rise);
    monitor.watched.count = 2;
    hw_monitor_find_target(&monitor, NULL, &sample);
    assert_true(sample.ends >= 2 && isnan(sample.target) && !sample.may_rise);
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
        cmocka_unit_test(count_of_fits_is_forecast),
        cmocka_unit_test(count_that_may_rise_is_a_lower_bound),
        cmocka_unit_test(first_metric_with_a_target_ends_the_run),
        cmocka_unit_test(more_metrics_than_are_traced_are_refused),
    };
    return cmocka_run_group_tests_name("cli progress", tests, NULL, NULL);
}
