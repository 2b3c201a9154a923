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
#include <sys/stat.h>
#include <unistd.h>

#include "cli/plot.h"
#include "cli/plot_path.h"
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

static void put(hawser_model *model, const char *name, hawser_type type, const void *values, size_t count)
{
    hawser_error error = {0};
    assert_int_equal(hawser_model_tensor(model, name, type, (const size_t[2]){count, 0}, values, &error), HAWSER_OK);
}

enum { MOST = 40 };

/* Makes a model of 3 columns with this many members, whose coefficients and errors have this size. */
static hawser_model *model_of(int members, double size, int columns)
{
    static const char *const facts[][2] = {{"algorithm", "lasso"}, {"rows", "9"}, {"columns", "3"}, {"names", "a\nb\nc"}};
    hawser_model *model;
    hawser_error error = {0};
    double lambda[MOST], values[MOST] = {0}, error_of[MOST], coefficients[3 * MOST];
    int64_t offsets[MOST + 1] = {0}, index[3 * MOST];
    assert_int_equal(hawser_model_new(&model, &error), HAWSER_OK);
    for (size_t k = 0; k < sizeof facts / sizeof *facts; k++)
        assert_int_equal(hawser_model_fact(model, facts[k][0], facts[k][1], &error), HAWSER_OK);
    for (int k = 0; k < members; k++) {
        lambda[k] = 5.0 * pow(0.8, k);
        error_of[k] = size * (1 + 0.01 * k);
        offsets[k + 1] = offsets[k] + columns;
        for (int j = 0; j < columns; j++) {
            index[k * columns + j] = j;
            coefficients[k * columns + j] = size * (j - 1) * k;
        }
    }
    put(model, "path.lambda", HAWSER_F64, lambda, (size_t)members);
    put(model, "path.objective", HAWSER_F64, values, (size_t)members);
    put(model, "path.intercept", HAWSER_F64, values, (size_t)members);
    put(model, "path.error", HAWSER_F64, error_of, (size_t)members);
    put(model, "path.standard_error", HAWSER_F64, error_of, (size_t)members);
    put(model, "path.offsets", HAWSER_I64, offsets, (size_t)members + 1);
    put(model, "path.index", HAWSER_I64, index, (size_t)(members * columns));
    put(model, "path.value", HAWSER_F64, coefficients, (size_t)(members * columns));
    return model;
}

static void a_path_of_any_size_is_drawn(void **state)
{
    (void)state;
    static const double sizes[] = {1, 1e-12, 1e300, 5e-324};
    static const int members[] = {1, 2, 3, MOST};
    hawser_error error = {0};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t m = 0; m < sizeof members / sizeof *members; m++)
            for (int columns = 0; columns <= 3; columns += 3) {
                hawser_model *model = model_of(members[m], sizes[s], columns);
                bool has = false;
                struct stat facts;
                assert_int_equal(hw_plot_has_path(model, &has, &error), HAWSER_OK);
                assert_true(has);
                alarm(60); /* an axis without an end takes all memory */
                assert_int_equal(hw_plot_path_write("path.svg", model, &error), HAWSER_OK);
                alarm(0);
                assert_int_equal(stat("path.svg", &facts), 0);
                assert_true(facts.st_size > 1000 && facts.st_size < BYTES);
                hawser_model_free(model);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_axis_has_a_few_ticks),
        cmocka_unit_test(a_path_of_any_size_is_drawn),
    };
    return cmocka_run_group_tests_name("cli plot", tests, make_directory, remove_directory);
}
