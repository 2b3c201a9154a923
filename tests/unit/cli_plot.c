/* Plots of any objective: the axes end, and what lies apart is drawn apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/plot.h"
#include "directory.h"

enum { SAMPLES = 5, BYTES = 1 << 20 };

/* Draws a run with these objectives; the SVG's text, which the caller frees. */
static char *plot_of(const double *objectives)
{
    static const hawser_metric_row rows[] = {{.name = "objective", .axis = "objective"},
                                             {.name = "unknown", .axis = "unknown", .log_axis = true},
                                             {.name = "traced", .traced = true},
                                             {.name = NULL}};
    hw_watched watched;
    hw_sample samples[SAMPLES];
    hawser_error error = {0};
    assert_int_equal(hw_watched_of(rows, &watched, &error), HAWSER_OK);
    char *text = calloc(BYTES, 1);
    assert_non_null(text);
    for (int i = 0; i < SAMPLES; i++)
        samples[i] = (hw_sample){.clock = i, .seconds = 0.1 * i, .value = {objectives[i], NAN, 7.0}};
    alarm(60); /* an axis without an end takes all memory */
    assert_int_equal(hw_plot_write("plot.svg", "title", "subtitle", &watched, samples, SAMPLES, &error), HAWSER_OK);
    alarm(0);
    FILE *file = fopen("plot.svg", "r");
    assert_non_null(file);
    assert_true(fread(text, 1, BYTES - 1, file) < BYTES - 1);
    assert_int_equal(fclose(file), 0);
    return text;
}

/* Lines from the left edge of the panel (x = 100) to its right one (x = 920). */
static int grid_lines(const char *svg)
{
    int count = 0;
    for (const char *at = svg; (at = strstr(at, "M 100 ")) != NULL; at++) {
        double from, to;
        count += sscanf(at, "M 100 %lf L 920 %lf", &from, &to) == 2 && from == to;
    }
    return count;
}

static void an_axis_has_a_few_ticks(void **state)
{
    (void)state;
    static const double sizes[] = {1, -1, 0.69314718055994531, 1e-12, 123456.789, 3e15, 1e300, -1e-300, 5e-324};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int apart = 0; apart < 4; apart++) { /* 0, 1 and 3 bits apart, and well apart */
            double objectives[SAMPLES];
            for (int i = 0; i < SAMPLES; i++) {
                objectives[i] = sizes[s] * (apart == 3 ? 1 + 0.1 * (SAMPLES - i) : 1);
                for (int k = 0; k < i * (apart == 2 ? 3 : apart == 1); k++)
                    objectives[i] = nextafter(objectives[i], -INFINITY);
            }
            char *svg = plot_of(objectives);
            int lines = grid_lines(svg);
            free(svg);
            if (lines < 1 || lines > 20)
                fail_msg("%d lines for objectives of %g, way %d", lines, sizes[s], apart);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_axis_has_a_few_ticks),
    };
    return cmocka_run_group_tests_name("cli plot", tests, make_directory, remove_directory);
}
