/* Pure parts of logistic regression: the loss in long double, feasible dual points, and a line search that never increases
 * the objective. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/logistic/loss.h"
#include "algorithms/logistic/parts.h"
#include "algorithms/model/facts.h"
#include "algorithms/newton/block.h"
#include "algorithms/newton/inexact.h"
#include "comma_locale.h"

enum { ROWS = 60, COLUMNS = 7, FREE = 3 };

static double uniform(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*seed >> 11) * 0x1p-53;
}

static void test_loss(void **state)
{
    (void)state;
    for (double x = -700.0; x < 700.0; x += 0.0371) {
        long double loss = log1pl(expl(-(long double)x)), share = 1.0L / (1.0L + expl(-(long double)x));
        assert_true(fabsl(hw_logistic_loss(x) - loss) <= 4.0L * DBL_EPSILON * loss);
        assert_true(fabsl(hw_logistic_probability(x) - share) <= 4.0L * DBL_EPSILON * share);
    }
    assert_true(hw_logistic_loss(-1e300) == 1e300 && hw_logistic_loss(1e300) < 1e-300);
    assert_true(hw_logistic_probability(1e300) == 1.0 && hw_logistic_probability(-1e300) < 1e-300);
    assert_true(hw_logistic_loss(0.0) == log(2.0) && hw_logistic_probability(0.0) == 0.5);
}

typedef struct problem {
    hw_linear_problem linear;
    hw_newton_rows rows;
    double sign[ROWS], weights[ROWS], offset[ROWS], v[ROWS], x[ROWS * COLUMNS], pull[ROWS], curve[ROWS];
    double factor[COLUMNS], lower[COLUMNS], upper[COLUMNS];
    uint32_t list[FREE];
    int side[FREE];
    hawser_matrix matrix;
    hw_newton_point point;
} problem;

static void make(problem *p, uint64_t seed, size_t free_columns, bool intercept)
{
    memset(p, 0, sizeof *p);
    for (size_t i = 0; i < ROWS; i++) {
        p->sign[i] = i < 2 ? 2.0 * (double)i - 1.0 : uniform(&seed) < 0.4 ? 1.0 : -1.0;
        p->weights[i] = i > 2 && uniform(&seed) < 0.2 ? 0.0 : 0.1 + uniform(&seed);
        p->offset[i] = uniform(&seed) - 0.5;
        p->v[i] = 6.0 * (uniform(&seed) - 0.5);
    }
    for (size_t k = 0; k < ROWS * COLUMNS; k++)
        p->x[k] = uniform(&seed) - 0.3;
    p->matrix = (hawser_matrix){
        .rows = ROWS, .cols = COLUMNS, .stored = ROWS * COLUMNS, .layout = HAWSER_DENSE, .values = p->x, .stride = ROWS};
    for (size_t j = 0; j < COLUMNS; j++) {
        int side = j == 0 || j >= free_columns ? 0 : uniform(&seed) < 0.5 ? 1 : -1;
        p->factor[j] = j >= free_columns;
        p->lower[j] = side > 0 ? 0.0 : -INFINITY;
        p->upper[j] = side < 0 ? 0.0 : INFINITY;
        if (j < free_columns) {
            p->list[j] = (uint32_t)j;
            p->side[j] = side;
        }
    }
    p->linear = (hw_linear_problem){.kind = &hw_logistic_kind,
                                    .X = &p->matrix,
                                    .factor = p->factor,
                                    .lower = p->lower,
                                    .upper = p->upper,
                                    .free_columns = p->x,
                                    .free_list = p->list,
                                    .free_count = free_columns,
                                    .free_side = p->side};
    p->rows = (hw_newton_rows){.loss = &hw_logistic_losses,
                               .count = ROWS,
                               .target = p->sign,
                               .weights = p->weights,
                               .offset = p->offset,
                               .intercept = intercept};
    for (size_t i = 0; i < ROWS; i++)
        p->rows.total += p->weights[i];
    p->point = (hw_newton_point){.pull = p->pull, .curve = p->curve};
}

/* Returns the loss in long double. */
static long double exact_loss(const problem *p, const double *v, double intercept)
{
    long double sum = 0.0L;
    for (size_t i = 0; i < ROWS; i++)
        sum += p->weights[i] * log1pl(expl(-(long double)p->sign[i] * (v[i] + intercept + p->offset[i])));
    return sum / p->rows.total;
}

static void test_look(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 40; seed++) {
        problem p;
        make(&p, seed, 0, true);
        p.point.intercept = 0.3;
        hw_logistic_look(&p.rows, p.v, &p.point);
        assert_true(fabsl(p.point.loss - exact_loss(&p, p.v, 0.3)) < 1e-15L);
        for (size_t i = 0; i < ROWS; i++) {
            double q = 1.0 / (1.0 + exp(p.sign[i] * (p.v[i] + 0.3 + p.offset[i])));
            assert_true(fabs(p.pull[i] - p.weights[i] * p.sign[i] * q) < 1e-15);
            assert_true(fabs(p.curve[i] - p.weights[i] * q * (1.0 - q)) < 1e-15);
        }
        hw_logistic_settle(&p.rows, p.v, 1e-18, &p.point);
        assert_true(fabs(p.point.sum) < 1e-7);
        for (double step = -1e-3; step < 2e-3; step += 2e-3)
            assert_true(exact_loss(&p, p.v, p.point.intercept) < exact_loss(&p, p.v, p.point.intercept + step));
    }
}

/* A dual point is feasible up to rounding, and below every primal value. */
static void test_dual(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 60; seed++)
        for (size_t free_columns = 0; free_columns <= FREE; free_columns++) {
            problem p;
            hw_newton_dual dual = {0};
            hawser_error error = {0};
            make(&p, seed, free_columns, seed % 2 == 0);
            hw_logistic_settle(&p.rows, p.v, 1e-18, &p.point);
            assert_int_equal(hw_newton_dual_new(&dual, &p.linear, &error), HAWSER_OK);
            hw_newton_dual_make(&dual, &p.linear, &p.rows, &p.point, true);
            double sum = 0.0, size = 0.0;
            for (size_t i = 0; i < ROWS; i++) {
                assert_true(dual.theta[i] >= 0.0 && dual.theta[i] <= 1.0);
                assert_true(fabs(dual.pull[i] - p.weights[i] * p.sign[i] * dual.theta[i]) < 1e-16);
                sum += dual.pull[i];
                size += fabs(dual.pull[i]);
            }
            assert_true(!p.rows.intercept || fabs(sum) <= 1e-13 * size);
            for (size_t f = 0; f < free_columns; f++) {
                double pull = hawser_column_dot(&p.matrix, f, dual.pull);
                assert_true(p.side[f] == 0 ? fabs(pull) <= 1e-12 * ROWS : p.side[f] * pull <= 1e-12 * ROWS);
            }
            double bound = hw_logistic_entropy(&p.rows, dual.theta, 1.0, 0,
                                               p.rows.count); /* of min over the free columns of the loss */
            for (int trial = 0; trial < 20; trial++) {
                double v[ROWS] = {0.0}, w[FREE], b = p.rows.intercept ? 4.0 * uniform(&seed) - 2.0 : 0.0;
                for (size_t f = 0; f < free_columns; f++) {
                    w[f] = 4.0 * uniform(&seed) - 2.0;
                    w[f] = p.side[f] == 0 ? w[f] : p.side[f] * fabs(w[f]);
                    hawser_column_axpy(&p.matrix, f, w[f], v);
                }
                assert_true((long double)bound <= exact_loss(&p, v, b) + 1e-12L);
            }
            hw_newton_dual_free(&dual);
        }
}

/* Only columns of factor 0 and the intercept have moved, within their bounds, to the optimum. */
static void check_start(const problem *p, const hw_newton_dual *dual, const double *v)
{
    double first = 0.0;
    for (size_t i = 0; i < ROWS; i++) {
        double rest = v[i]; /* what the columns leave of v: one number, a part of the intercept */
        for (size_t j = 0; j < FREE; j++)
            rest -= dual->at[j] * p->x[j * ROWS + i];
        first = i == 0 && p->rows.intercept ? rest : first;
        assert_true(fabs(rest - first) < 1e-9);
    }
    for (size_t j = 0; j < FREE; j++) {
        double pull = hawser_dot(ROWS, p->x + j * ROWS, p->point.pull, NULL) / p->rows.total;
        assert_true(dual->at[j] >= p->lower[j] && dual->at[j] <= p->upper[j]);
        assert_true(dual->at[j] == p->lower[j] || pull > -1e-9);
        assert_true(dual->at[j] == p->upper[j] || pull < 1e-9);
    }
}

/* With a column that is free, one that has one bound, and one that has one or two. Without boxes the gap is 0. */
static void test_start(void **state)
{
    (void)state;
    int at_bounds = 0;
    for (uint64_t seed = 1; seed < 60; seed++) {
        problem p;
        hw_newton_dual dual = {0};
        hawser_error error = {0};
        double zero = 0.0, v[ROWS];
        make(&p, seed, FREE, seed % 2 == 0);
        bool box = seed % 4 > 1;
        if (box) {
            p.lower[FREE - 1] = -0.2;
            p.upper[FREE - 1] = 0.1;
            p.linear.free_count = FREE - 1;
            p.linear.box_count = 1;
        }
        assert_int_equal(hw_newton_dual_new(&dual, &p.linear, &error), HAWSER_OK);
        hw_newton_dual_start(&dual, &p.linear, &p.rows, v, &p.point, &zero);
        hw_newton_dual_make(&dual, &p.linear, &p.rows, &p.point, true);
        assert_true(p.point.loss <= zero);
        check_start(&p, &dual, v);
        for (size_t j = 0; j < FREE; j++)
            at_bounds += dual.at[j] == p.lower[j] || dual.at[j] == p.upper[j];
        double parts =
            hw_logistic_entropy(&p.rows, dual.theta, 1.0, 0, 23) + hw_logistic_entropy(&p.rows, dual.theta, 1.0, 23, 60);
        double whole = hw_logistic_entropy(&p.rows, dual.theta, 1.0, 0, p.rows.count);
        assert_true(box || fabs(p.point.loss - whole) < 1e-12);
        assert_true(fabs(whole - parts) < 1e-12);
        hw_newton_dual_free(&dual);
    }
    assert_true(at_bounds > 20);
}

static void test_line(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 200; seed++) {
        problem p;
        double move[ROWS], there[ROWS];
        make(&p, seed, 0, seed % 2 == 0);
        hw_logistic_settle(&p.rows, p.v, 1e-18, &p.point);
        double size = pow(10.0, 4.0 * uniform(&seed) - 2.0), slope = 0.0;
        for (size_t i = 0; i < ROWS; i++) {
            move[i] = size * (uniform(&seed) - 0.5);
            slope -= p.pull[i] * move[i];
        }
        for (size_t i = 0; i < ROWS && slope > 0.0; i++)
            move[i] = -move[i];
        double before = p.point.loss, intercept = p.point.intercept;
        double share = hw_newton_line(&p.rows, p.v, move, 0.0, 0.0, 1e-18, &p.point, there);
        assert_true(share > 0.0 && share <= 1.0);
        assert_true(p.point.loss < before);
        for (size_t i = 0; i < ROWS; i++)
            assert_true(there[i] == p.v[i] + share * move[i]);
        assert_true(fabsl(p.point.loss - exact_loss(&p, there, p.point.intercept)) < 1e-14L);
        /* If the penalty rises by more than the loss can fall, the search gains nothing and returns to the start. */
        hw_logistic_settle(&p.rows, p.v, 1e-18, &p.point);
        assert_true(hw_newton_line(&p.rows, p.v, move, 0.0, 1e9, 1e-18, &p.point, there) == 0.0);
        assert_true(fabs(p.point.intercept - intercept) < 1e-6 && fabs(p.point.loss - before) < 1e-14);
    }
}

/* Along any step the quadratic model agrees with the objective to second order once whole steps have succeeded. Before that,
 * and after a step that was shortened, its curvature is larger, never smaller. */
static void test_model(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 20; seed++) {
        problem p;
        hw_newton_quadratic q = {0};
        hawser_error error = {0};
        uint32_t list[COLUMNS];
        make(&p, seed, 0, seed % 2 == 0);
        hw_logistic_settle(&p.rows, p.v, 1e-20, &p.point);
        assert_int_equal(hw_newton_quadratic_new(&q, &p.matrix, seed, &error), HAWSER_OK);
        for (uint32_t j = 0; j < COLUMNS; j++)
            list[j] = j;
        assert_int_equal(hw_newton_quadratic_take(&q, list, COLUMNS, &error), HAWSER_OK);
        for (size_t k = 0; k < COLUMNS; k++) {
            q.terms[k] = (hw_linear_term){0.0, 1e-3, -INFINITY, INFINITY};
            q.members.x[k] = 0.0;
        }
        assert_int_equal(hw_newton_quadratic_at(&q, &p.rows, &p.point, NULL, &error), HAWSER_OK);
        double careful[COLUMNS], scale = q.scale;
        memcpy(careful, q.columns.norm, sizeof careful);
        for (int step = 0; step < 20; step++)
            hw_newton_quadratic_judge(&q, 1.0);
        assert_int_equal(hw_newton_quadratic_at(&q, &p.rows, &p.point, NULL, &error), HAWSER_OK);
        hw_newton_quadratic_residual(&q, &p.point, p.v, p.v, q.residual);
        for (size_t j = 0; j < COLUMNS; j++) { /* second difference of the loss at its best intercept */
            double h = 1e-4, v[3][ROWS], loss[3];
            for (int s = 0; s < 3; s++) {
                memcpy(v[s], p.v, sizeof p.v);
                hawser_column_axpy(&p.matrix, j, (s - 1) * h, v[s]);
                hw_newton_point there = p.point;
                double pull[ROWS], curve[ROWS];
                there.pull = pull;
                there.curve = curve;
                hw_logistic_settle(&p.rows, v[s], 1e-24, &there);
                loss[s] = (double)exact_loss(&p, v[s], there.intercept);
            }
            double bend = (loss[0] - 2.0 * loss[1] + loss[2]) / (h * h), slope = (loss[2] - loss[0]) / (2.0 * h);
            assert_true(fabs(bend - q.columns.norm[j] / q.scale) < 1e-4);
            if (seed % 2 == 1) /* with an intercept the mean changes too */
                assert_true(careful[j] / scale > 1.001 * bend);
            assert_true(fabs(slope + hw_linear_dot(&q.columns, j, q.residual, 0.0) / p.rows.total) < 1e-6);
        }
        hw_newton_quadratic_free(&q);
    }
}

/* Passes and conjugate gradients find the model's minimum: every member's optimality condition holds, under every penalty. A
 * hasty run does not change a model that it cannot solve, and members that stay zero may leave. */
static void test_inexact(void **state)
{
    (void)state;
    static const struct {
        double l1, l2, bound;
    } penalties[] = {
        {0.02, 0.0, INFINITY}, {0.02, 0.01, INFINITY}, {0.0, 1e-3, INFINITY}, {0.005, 0.0, 0.1}, {0.0, 0.01, 0.2}};
    for (uint64_t seed = 1; seed < 40; seed++) {
        problem p;
        hw_newton_quadratic q = {0};
        hawser_error error = {0};
        uint32_t list[COLUMNS] = {4, 2, 0, 6, 1, 3, 5};
        size_t which = seed % (sizeof penalties / sizeof *penalties);
        make(&p, seed, 0, seed % 2 == 0);
        hw_logistic_settle(&p.rows, p.v, 1e-20, &p.point);
        assert_int_equal(hw_newton_quadratic_new(&q, &p.matrix, seed, &error), HAWSER_OK);
        assert_int_equal(hw_newton_quadratic_take(&q, list, COLUMNS, &error), HAWSER_OK);
        for (size_t k = 0; k < COLUMNS; k++) {
            q.terms[k] =
                (hw_linear_term){penalties[which].l1, penalties[which].l2, -penalties[which].bound, penalties[which].bound};
            q.members.x[k] = 0.0;
        }
        bool smooth = hw_newton_smooth(&q);
        assert_int_equal(smooth, which == 2);
        assert_int_equal(hw_newton_quadratic_at(&q, &p.rows, &p.point, NULL, &error), HAWSER_OK);
        hw_newton_quadratic_residual(&q, &p.point, p.v, p.v, q.residual);
        double begun[ROWS], left = 0.0, sum = 0.0;
        memcpy(begun, q.residual, sizeof begun);
        hw_newton_inexact run = {.target = 1e-13, .reference = smooth ? 1e20 : 0.0};
        assert_int_equal(hw_newton_inexact_run(&run, &q, NULL, q.residual, &error), HAWSER_OK);
        assert_true(run.solved && run.first > 0.0 && smooth == (run.passes == 0));
        for (size_t k = 0; k < COLUMNS; k++) /* the model's residual at x, computed anew */
            for (size_t i = 0; i < ROWS; i++)
                begun[i] -= q.curve[i] * q.members.x[k] * (p.x[list[k] * ROWS + i] - q.columns.mean[list[k]]);
        for (size_t i = 0; i < ROWS; i++) {
            sum += begun[i];
            assert_true(smooth || fabs(begun[i] - q.residual[i]) < 1e-12);
        }
        for (size_t k = 0; k < COLUMNS; k++) {
            double pull = hw_linear_dot(&q.columns, list[k], begun, sum) / q.columns.total;
            left += hw_linear_violation(pull, q.members.x[k], q.members.terms[k]);
        }
        assert_true(left < 1e-8 * run.first * q.scale);
        double kept[COLUMNS] = {0.0};
        hw_newton_quadratic_leave(&q);
        for (size_t k = 0; k < q.members.count; k++)
            kept[q.at[k]] = list[q.at[k]] == q.members.columns[k] ? 1.0 : NAN;
        for (size_t k = 0; k < COLUMNS && !smooth; k++)
            assert_true(kept[k] == 1.0 || kept[k] == 0.0);
        hw_newton_quadratic_free(&q);
    }
}

/* If all rows are so far on the right side that no row has curvature, a model has no scale, and its members do not move. */
static void test_unbent(void **state)
{
    (void)state;
    for (size_t which = 0; which < 4; which++) {
        problem p;
        hw_newton_quadratic q = {0};
        hawser_error error = {0};
        uint32_t list[COLUMNS] = {0, 1, 2, 3, 4, 5, 6};
        make(&p, 3, 0, which % 2 == 1);
        p.rows.total = 0.0;
        for (size_t i = 0; i < ROWS; i++) {
            p.v[i] = 2000.0 * p.sign[i];
            p.rows.total += p.weights[i] *= 1e-20;
        }
        hw_logistic_look(&p.rows, p.v, &p.point);
        assert_int_equal(hw_newton_quadratic_new(&q, &p.matrix, 1, &error), HAWSER_OK);
        assert_int_equal(hw_newton_quadratic_take(&q, list, COLUMNS, &error), HAWSER_OK);
        for (size_t k = 0; k < COLUMNS; k++) {
            q.terms[k] = (hw_linear_term){which < 2 ? 0.1 : 0.0, which < 2 ? 0.0 : 0.1, -INFINITY, INFINITY};
            q.members.x[k] = 0.5;
        }
        assert_int_equal(hw_newton_quadratic_at(&q, &p.rows, &p.point, NULL, &error), HAWSER_OK);
        hw_newton_quadratic_residual(&q, &p.point, p.v, p.v, q.residual);
        hw_newton_inexact run = {.target = INFINITY};
        assert_int_equal(hw_newton_inexact_run(&run, &q, NULL, q.residual, &error), HAWSER_OK);
        for (size_t k = 0; k < COLUMNS; k++)
            assert_true(q.members.x[k] == 0.5);
        hw_newton_quadratic_free(&q);
    }
}

/* Neither the text of a model file nor reading it depends on the locale of the program. */
static void test_facts_in_a_comma_locale(void **state)
{
    (void)state;
    if (!set_comma_locale())
        skip();
    hawser_error error;
    hawser_model *model = NULL;
    const hw_linear_problem linear = {.labels = {0.5, 1.25}, .class_weights = {1, 2.5}};
    const double x[] = {-1.0, 2.0}, one = 1.0, zero = 0.0;
    double predictions[2] = {0}, step = 0;
    hawser_matrix matrix = {
        .type = HAWSER_F64, .layout = HAWSER_DENSE_ROWS, .rows = 2, .cols = 1, .stored = 2, .stride = 1, .values = x};
    hawser_dataset *data = NULL;
    bool good = hawser_model_new(&model, &error) == HAWSER_OK &&
                hawser_model_fact(model, "columns", "1", &error) == HAWSER_OK &&
                hw_logistic_kind.model_facts(&linear, model, &error) == HAWSER_OK &&
                hawser_model_tensor(model, "coefficients", HAWSER_F64, (const size_t[2]){1, 0}, &one, &error) == HAWSER_OK &&
                hawser_model_tensor(model, "intercept", HAWSER_F64, (const size_t[2]){1, 0}, &zero, &error) == HAWSER_OK &&
                hawser_dataset_from(&matrix, NULL, &data, &error) == HAWSER_OK;
    good = good && hw_logistic_label(model, data, predictions, &error) == HAWSER_OK &&
           hawser_model_fact(model, "step", "0.75", &error) == HAWSER_OK;
    hawser_dataset_free(data);
    step = hw_model_number(model, "step", 0);
    setlocale(LC_ALL, "C");
    assert_true(good && step == 0.75 && predictions[0] == 0.5 && predictions[1] == 1.25);
    assert_string_equal(hawser_model_text(model, "labels"), "0.5 1.25");
    assert_string_equal(hawser_model_text(model, "class_weights"), "1 2.5");
    hawser_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loss),    cmocka_unit_test(test_look),   cmocka_unit_test(test_dual),
        cmocka_unit_test(test_start),   cmocka_unit_test(test_line),   cmocka_unit_test(test_model),
        cmocka_unit_test(test_inexact), cmocka_unit_test(test_unbent), cmocka_unit_test(test_facts_in_a_comma_locale)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
