/* algorithms_measures.c - sorting in place, quantiles and areas against plain definitions, and the measures of three classes
 * against all pairs of rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/measures/classes.h"
#include "algorithms/measures/ranked.h"

static uint64_t seed = 11;

static double uniform(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(seed >> 11) * 0x1p-53;
}

static int by_value(const void *left, const void *right)
{
    const hw_ranked *a = left, *b = right;
    return a->value < b->value ? -1 : a->value > b->value;
}

/* Draws a value: of any size, of few sizes, all equal, or next to zero. */
static double draw_value(int kind)
{
    switch (kind) {
    case 0: return ldexp(uniform() - 0.5, (int)(uniform() * 2000.0) - 1000);
    case 1: return floor(uniform() * 5.0) - 2.0;
    case 2: return 0.25;
    default: return (uniform() - 0.5) * 0x1p-1060;
    }
}

static void items_are_sorted_whatever_their_values(void **state)
{
    (void)state;
    enum { MOST = 3000 };
    static hw_ranked items[MOST], expected[MOST];
    for (int round = 0; round < 200; round++) {
        size_t count = (size_t)(uniform() * (round % 4 == 0 ? 40 : MOST));
        for (size_t i = 0; i < count; i++) {
            items[i].value = draw_value(round % 5 % 4) + 0.0;
            items[i].weight = 3.0 * items[i].value + 1.0; /* follows its value */
        }
        memcpy(expected, items, sizeof items);
        qsort(expected, count, sizeof *expected, by_value);
        hw_ranked_sort(items, count);
        for (size_t i = 0; i < count; i++)
            assert_true(items[i].value == expected[i].value && items[i].weight == expected[i].weight);
    }
}

/* With integer weights, quantiles are those of as many copies. */
static void quantiles_are_those_of_copies(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        hw_ranked items[20];
        double copies[100], q = round % 3 == 0 ? 0.5 : floor(uniform() * 101.0) / 100.0;
        size_t count = 1 + (size_t)(uniform() * 20.0), all = 0;
        for (size_t i = 0; i < count; i++)
            items[i] = (hw_ranked){draw_value(round % 2), 1.0 + floor(uniform() * 4.0)};
        hw_ranked_sort(items, count);
        for (size_t i = 0; i < count; i++)
            for (double k = 0.0; k < items[i].weight; k++)
                copies[all++] = items[i].value;
        double place = q * (double)all;
        size_t next = (size_t)floor(place + 1e-9); /* the number of copies below the quantile */
        double expected = copies[next < all ? next : all - 1];
        if (fabs(place - (double)next) < 1e-9 && next > 0 && next < all)
            expected = 0.5 * (copies[next - 1] + copies[next]);
        assert_true(hw_ranked_quantile(items, count, q) == expected);
    }
}

static void a_tiny_weight_is_the_least_and_the_most(void **state)
{
    (void)state;
    hw_ranked items[] = {{-5.0, 1e-18}, {0.0, 1.0}, {2.0, 1.0}, {9.0, 1e-18}};
    assert_true(hw_ranked_quantile(items, 4, 0.0) == -5.0 && hw_ranked_quantile(items, 4, 1.0) == 9.0);
    assert_true(hw_ranked_quantile(items, 4, 0.5) == 1.0);
}

/* ------------------------------------------------------------------------------------------------- three classes ---- */

enum { ROWS = 60, CLASSES = 3 };
static const double labels[CLASSES] = {-1.0, 2.0, 5.5};

typedef struct trial {
    double target[ROWS], probabilities[ROWS * CLASSES];
    hw_ranked ranked[ROWS];
    hawser_measure measures[HAWSER_MEASURES];
} trial;

static void begin(trial *work, size_t classes)
{
    memset(work, 0, sizeof *work);
    for (size_t i = 0; i < ROWS; i++) {
        double sum = 0.0, *p = work->probabilities + i * CLASSES;
        work->target[i] = labels[(size_t)(uniform() * (double)classes)];
        for (size_t k = 0; k < CLASSES; k++)
            sum += p[k] = 0.5 + floor(uniform() * 4.0) + (work->target[i] == labels[k] ? 1.0 : 0.0);
        for (size_t k = 0; k < CLASSES; k++)
            p[k] /= sum;
    }
}

static hawser_status measure(trial *work, hawser_error *error)
{
    double total;
    hw_classes classes = {.rows = ROWS,
                          .target = work->target,
                          .count = CLASSES,
                          .labels = labels,
                          .probabilities = work->probabilities,
                          .ranked = work->ranked,
                          .log_loss = 1.5,
                          .objective = NAN};
    HAWSER_TRY(hw_classes_check(&classes, &total, error));
    assert_true(total == ROWS);
    return hw_classes_measure(&classes, work->measures, error);
}

static void end(trial *work)
{
    for (hawser_measure *one = work->measures; one->name != NULL; one++)
        free(one->values);
}

static const hawser_measure *find(const trial *work, const char *name)
{
    for (const hawser_measure *one = work->measures; one->name != NULL; one++)
        if (strcmp(one->name, name) == 0)
            return one;
    fail_msg("no measure %s", name);
    return NULL;
}

static size_t best(const double *p)
{
    size_t k = p[1] > p[0] ? 1 : 0;
    return p[2] > p[k] ? 2 : k;
}

/* Counts rows with label `own` (CLASSES: any) and predicted label `said` (CLASSES: any). */
static double rows_of(const trial *work, size_t own, size_t said)
{
    double count = 0.0;
    for (size_t i = 0; i < ROWS; i++)
        count += (own == CLASSES || work->target[i] == labels[own]) &&
                 (said == CLASSES || best(work->probabilities + i * CLASSES) == said);
    return count;
}

static double area(const trial *work, size_t k)
{
    double won = 0.0, pairs = 0.0;
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < ROWS; j++)
            if (work->target[i] == labels[k] && work->target[j] != labels[k]) {
                double own = work->probabilities[i * CLASSES + k], other = work->probabilities[j * CLASSES + k];
                won += own > other ? 1.0 : own == other ? 0.5 : 0.0;
                pairs += 1.0;
            }
    return won / pairs;
}

static void near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-12))
        fail_msg("%.17g instead of %.17g", value, expected);
}

static void three_classes_have_the_measures_of_each(void **state)
{
    (void)state;
    trial work;
    hawser_error error;
    begin(&work, CLASSES);
    if (measure(&work, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    const hawser_measure *confusion = find(&work, "confusion"), *classes = find(&work, "classes");
    assert_true(confusion->columns == NULL && confusion->lines == CLASSES && confusion->width == CLASSES);
    double areas = 0.0, right = 0.0, squares = 0.0;
    for (size_t k = 0; k < CLASSES; k++) {
        const double *line = classes->values + k * classes->width;
        near(confusion->heads[k], labels[k]);
        for (size_t j = 0; j < CLASSES; j++)
            near(confusion->values[k * CLASSES + j], rows_of(&work, k, j));
        near(line[0], labels[k]);
        near(line[1], rows_of(&work, k, k) / rows_of(&work, CLASSES, k));
        near(line[2], rows_of(&work, k, k) / rows_of(&work, k, CLASSES));
        near(line[3], 2.0 / (1.0 / line[1] + 1.0 / line[2]));
        near(line[4], area(&work, k));
        near(line[5], rows_of(&work, k, CLASSES));
        areas += line[4] / CLASSES;
        right += rows_of(&work, k, k);
        for (size_t i = 0; i < ROWS; i++)
            squares += pow(work.probabilities[i * CLASSES + k] - (work.target[i] == labels[k] ? 1.0 : 0.0), 2.0);
    }
    near(find(&work, "auc")->value, areas);
    near(find(&work, "accuracy")->value, right / ROWS);
    near(find(&work, "brier_score")->value, squares / ROWS);
    near(find(&work, "log_loss")->value, 1.5);
    assert_true(isnan(find(&work, "objective")->value) && find(&work, "objective")->why[0] != '\0');
    end(&work);
}

static void calibration_has_ten_bins_for_each_of_three_classes(void **state)
{
    (void)state;
    trial work;
    hawser_error error;
    begin(&work, CLASSES);
    assert_int_equal(measure(&work, &error), HAWSER_OK);
    const hawser_measure *bins = find(&work, "calibration");
    assert_true(bins->lines == 10 * CLASSES && strcmp(bins->columns[5], "observed") == 0);
    for (size_t b = 0; b < bins->lines; b++) {
        const double *line = bins->values + b * bins->width;
        double rows = 0.0, mean = 0.0, own = 0.0;
        for (size_t i = 0; i < ROWS; i++) {
            double p = work.probabilities[i * CLASSES + b / 10];
            if (p > line[1] && p <= line[2]) { /* none is 0 */
                rows += 1.0;
                mean += p;
                own += work.target[i] == labels[b / 10] ? 1.0 : 0.0;
            }
        }
        near(line[0], labels[b / 10]);
        near(line[1], (double)(b % 10) / 10.0);
        near(line[3], rows);
        assert_true(rows > 0.0 ? fabs(line[4] - mean / rows) < 1e-12 && fabs(line[5] - own / rows) < 1e-12
                               : isnan(line[4]) && isnan(line[5]));
    }
    end(&work);
}

static void a_missing_class_has_no_area(void **state)
{
    (void)state;
    trial work;
    hawser_error error;
    begin(&work, CLASSES - 1);
    assert_int_equal(measure(&work, &error), HAWSER_OK);
    assert_true(isnan(find(&work, "auc")->value));
    assert_string_equal(find(&work, "auc")->why, "no row has the label 5.5");
    end(&work);
}

static void a_probability_that_is_not_finite_is_refused_with_its_row(void **state)
{
    (void)state;
    trial work;
    hawser_error error;
    begin(&work, CLASSES);
    work.probabilities[7 * CLASSES + 2] = NAN;
    assert_int_equal(measure(&work, &error), HAWSER_BAD_INPUT);
    assert_non_null(strstr(error.text, "row 8: the probability is"));
    end(&work);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(items_are_sorted_whatever_their_values),
                                       cmocka_unit_test(quantiles_are_those_of_copies),
                                       cmocka_unit_test(a_tiny_weight_is_the_least_and_the_most),
                                       cmocka_unit_test(three_classes_have_the_measures_of_each),
                                       cmocka_unit_test(calibration_has_ten_bins_for_each_of_three_classes),
                                       cmocka_unit_test(a_missing_class_has_no_area),
                                       cmocka_unit_test(a_probability_that_is_not_finite_is_refused_with_its_row)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
