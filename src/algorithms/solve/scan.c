#include "algorithms/solve/scan.h"

#include <string.h>

/* Above this share of the entries a full scan pays, because it is a reference for later scans. */
static const double FEW = 0.5;
/* A list of live columns is made for a point that is this many times as far, and a lambda that is this much smaller. */
static const double FURTHER = 2.0, LOWER = 0.8;

hawser_status hw_linear_scan_new(hw_linear_scan *scan, const hawser_matrix *X, hawser_error *error)
{
    size_t n = X->rows, p = X->cols;
    scan->screened = hw_array_new(&scan->arrays, 2 * p + 1, sizeof *scan->screened);
    scan->gradient = hw_array_new(&scan->arrays, 2 * p + 1, sizeof *scan->gradient);
    scan->copies = hw_array_new(&scan->arrays, 2 * n + 1, sizeof *scan->copies);
    scan->live = hw_array_new(&scan->arrays, 2 * p + 1, sizeof *scan->live);
    if (scan->arrays.failed)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a block of %zu rows and %zu columns", n, p);
    scan->exact = scan->screened + p;
    scan->reference_gradient = scan->gradient + p;
    hw_linear_scan_copy(scan, n);
    scan->computed = scan->live + p;
    hw_linear_scan_reset(scan);
    return HAWSER_OK;
}

void hw_linear_scan_copy(hw_linear_scan *scan, size_t rows)
{
    hw_linear_hold(&scan->held[0], NULL);
    hw_linear_hold(&scan->held[1], NULL);
    scan->reference_dual = scan->copies;
    scan->dual = scan->copies + rows;
}

void hw_linear_scan_free(hw_linear_scan *scan)
{
    hw_linear_hold(&scan->held[0], NULL);
    hw_linear_hold(&scan->held[1], NULL);
    hw_arrays_free(&scan->arrays);
    memset(scan, 0, sizeof *scan);
}

void hw_linear_scan_reset(hw_linear_scan *scan)
{
    scan->referenced = false;
    scan->live_far = -1.0;
    scan->screened_at = -1.0;
    scan->screened_count = 0;
    scan->blur = 0.0;
}

void hw_linear_scan_take(hw_linear_scan *scan, size_t columns, double blur)
{
    for (size_t j = 0; j < columns; j++) {
        scan->live[j] = (uint32_t)j;
        scan->exact[j] = false;
    }
    scan->live_count = columns;
    scan->computed_count = 0;
    scan->live_far = -1.0;
    scan->blur = blur;
}

/* Returns where the values of a dual point are kept: as a copy, or where all blocks have them. `reference`: for a full
 * scan. */
static double *keep_dual(hw_linear_scan *scan, bool reference, const double *dual, size_t rows)
{
    bool shared = scan->given != NULL && scan->given->values == dual;
    double *copy = scan->copies + (reference ? 0 : rows);
    hw_linear_hold(&scan->held[reference ? 0 : 1], shared ? scan->given : NULL);
    if (shared)
        return scan->given->values;
    memcpy(copy, dual, rows * sizeof *dual);
    return copy;
}

/* No correlation with the new dual point is known yet. */
static void take_dual(hw_linear_scan *scan, const double *dual, size_t rows)
{
    for (size_t k = 0; k < scan->computed_count; k++)
        scan->exact[scan->computed[k]] = false;
    scan->computed_count = 0;
    scan->dual = keep_dual(scan, false, dual, rows);
}

void hw_linear_scan_all(hw_linear_scan *scan, const hw_linear_columns *columns, const double *dual, double sum)
{
    hawser_scan(&columns->X, dual, scan->gradient);
    for (size_t j = 0; j < columns->X.cols; j++)
        scan->gradient[j] = columns->norm[j] > 0.0 ? (scan->gradient[j] - columns->mean[j] * sum) / columns->total : 0.0;
    memcpy(scan->reference_gradient, scan->gradient, columns->X.cols * sizeof(double));
    scan->reference_dual = keep_dual(scan, true, dual, columns->X.rows);
    take_dual(scan, dual, columns->X.rows);
    scan->referenced = true;
    scan->wasted = scan->far = 0.0;
    scan->live_far = -1.0;
}

/* Returns the square of a difference of dual points, which have the weight as a factor, by the weight. Rows of weight 0
 * differ by nothing. */
static inline double square_of(double difference, double weight)
{
    return (weight > 0.0 ? difference * difference : 0.0) / (weight > 0.0 ? weight : 1.0);
}

/* Returns ||r - reference||_w / sqrt(W). */
static double distance(const hw_linear_scan *scan, const hw_linear_columns *columns, const double *dual)
{
    double lane[HW_LINEAR_LANES] = {0.0}, sum = 0.0;
    const double *reference = scan->reference_dual, *weights = columns->weights;
    size_t n = columns->X.rows, i = 0;
    for (; i + HW_LINEAR_LANES <= n; i += HW_LINEAR_LANES)
        for (size_t k = 0; k < HW_LINEAR_LANES; k++)
            lane[k] += square_of(dual[i + k] - reference[i + k], weights != NULL ? weights[i + k] : 1.0);
    for (; i < n; i++)
        sum += square_of(dual[i] - reference[i], weights != NULL ? weights[i] : 1.0);
    return sqrt((hw_linear_total(HW_LINEAR_LANES, lane) + sum) / columns->total);
}

static double entries_of(const hawser_matrix *X, size_t j)
{
    return X->layout == HAWSER_DENSE ? 1.0 : (double)(X->offsets[j + 1] - X->offsets[j]);
}

/* Returns the largest magnitude of column j's correlation with a dual point this far from the reference. The margin covers
 * the rounding of both scans. */
static double most_at(const hw_linear_scan *scan, const hw_linear_columns *columns, size_t j, double far)
{
    return fabs(scan->reference_gradient[j]) + sqrt(columns->norm[j]) * far * (1.0 + 1e-9);
}

/* Returns true if a column with at most this correlation does not matter. A column without an L1 part always does. If bounds
 * differ by sign, the exact correlation is needed, because `most` has only the sign at the reference. */
static bool is_idle(const hw_linear_columns *columns, size_t j, double most, double alpha, double lambda)
{
    double edge = lambda * columns->l1[j];
    bool even = columns->upper[j] == -columns->lower[j];
    return even & (alpha == 0.0) & (edge > 0.0) & (most <= edge * (1.0 - 1e-9));
}

/* Keeps the computed columns that are still exact. */
static void keep_exact(hw_linear_scan *scan)
{
    size_t kept = 0;
    for (size_t k = 0; k < scan->computed_count; k++) {
        uint32_t j = scan->computed[k];
        scan->computed[kept] = j;
        kept += scan->exact[j];
    }
    scan->computed_count = kept;
}

/* Lists the live columns, also for points somewhat further away and somewhat smaller lambdas, and bounds the correlations of
 * the others. */
static void list_live(hw_linear_scan *scan, const hw_linear_columns *columns, double far, const double *alpha, double lambda)
{
    size_t listed = 0;
    scan->live_far = FURTHER * far;
    scan->live_lambda = LOWER * lambda;
    for (size_t j = 0; j < columns->X.cols; j++) {
        double most = most_at(scan, columns, j, scan->live_far);
        bool idle = is_idle(columns, j, most, alpha[j], scan->live_lambda);
        scan->exact[j] = scan->exact[j] & !idle;
        scan->gradient[j] = scan->exact[j] ? scan->gradient[j] : copysign(most, scan->reference_gradient[j]);
        scan->live[listed] =
            (uint32_t)j; /* overwritten by the next column if this one is idle: a branch would be hard to predict */
        listed += !idle;
    }
    scan->live_count = listed;
    keep_exact(scan);
}

/* Returns true if the list holds here. */
static bool is_listed(const hw_linear_scan *scan, double far, const double *alpha, size_t columns, double lambda)
{
    size_t support = 0, listed = 0;
    if (far > scan->live_far || lambda < scan->live_lambda)
        return false;
    if (scan->live_count == columns)
        return true;
    for (size_t j = 0; j < columns; j++)
        support += alpha[j] != 0.0;
    for (size_t k = 0; k < scan->live_count; k++)
        listed += alpha[scan->live[k]] != 0.0;
    return listed == support;
}

/* The live columns to be computed, behind those that were: their number, their entries, and the entries of those that are
 * zero. */
typedef struct missing {
    size_t count;
    double entries, wasted;
} missing;

/* Bounds the correlations of live columns, and lists those to be computed, until they have more than `most` entries. */
static missing bound_live(const hw_linear_scan *scan, const hw_linear_columns *columns, double far, const double *alpha,
                          double lambda, double most)
{
    missing todo = {0};
    for (size_t k = 0; k < scan->live_count && todo.entries <= most; k++) {
        uint32_t j = scan->live[k];
        if (scan->exact[j])
            continue;
        double bound = most_at(scan, columns, j, far);
        scan->gradient[j] = copysign(bound, scan->reference_gradient[j]);
        if (far == 0.0 || is_idle(columns, j, bound, alpha[j], lambda))
            continue;
        scan->computed[scan->computed_count + todo.count++] = j;
        todo.entries += entries_of(&columns->X, j);
        todo.wasted += alpha[j] == 0.0 ? entries_of(&columns->X, j) : 0.0;
    }
    return todo;
}

static void compute(hw_linear_scan *scan, const hw_linear_columns *columns, const double *dual, double sum, size_t count)
{
    const uint32_t *list = scan->computed + scan->computed_count;
    hawser_scan_some(&columns->X, list, count, dual, scan->gradient);
    for (size_t k = 0; k < count; k++) {
        uint32_t j = list[k];
        scan->gradient[j] = columns->norm[j] > 0.0 ? (scan->gradient[j] - columns->mean[j] * sum) / columns->total : 0.0;
        scan->exact[j] = true;
    }
    scan->computed_count += count;
}

/* Returns true if the nonzeros alone have so many entries that a full scan pays, wherever the dual point is. */
static bool is_crowded(const hw_linear_columns *columns, const double *alpha, double all)
{
    double entries = 0.0;
    for (size_t j = 0; j < columns->X.cols; j++)
        entries += alpha[j] != 0.0 ? entries_of(&columns->X, j) : 0.0;
    return entries > FEW * all;
}

void hw_linear_scan_run(hw_linear_scan *scan, const hw_linear_columns *columns, const double *dual, double sum,
                        const double *alpha, double lambda)
{
    const hawser_matrix *X = &columns->X;
    scan->blur = 0.0;
    double all = X->layout == HAWSER_DENSE ? (double)X->cols : (double)X->stored, far = 0.0;
    missing todo = {.entries = INFINITY};
    bool moved = !scan->referenced || (scan->dual != dual && memcmp(scan->dual, dual, X->rows * sizeof *dual) != 0);
    if (scan->referenced && !(moved && is_crowded(columns, alpha, all))) {
        if (moved) {
            take_dual(scan, dual, X->rows);
            scan->far = distance(scan, columns, dual);
        }
        far = scan->far;
        if (!is_listed(scan, far, alpha, X->cols, lambda))
            list_live(scan, columns, far, alpha, lambda);
        todo = bound_live(scan, columns, far, alpha, lambda, FEW * all);
        scan->wasted += todo.wasted;
    }
    if (todo.entries > FEW * all || scan->wasted > all) { /* a new reference */
        hw_linear_scan_all(scan, columns, dual, sum);
        list_live(scan, columns, 0.0, alpha, lambda);
    } else {
        compute(scan, columns, dual, sum, todo.count);
    }
}

double hw_linear_scan_idle(const hw_linear_scan *scan, const hw_linear_columns *columns, double lambda)
{
    return lambda > 0.0 && scan->live_count < columns->X.cols ? scan->live_lambda / lambda : 0.0;
}

hw_linear_candidates hw_linear_scan_candidates(const hw_linear_scan *scan, const double *alpha)
{
    return (hw_linear_candidates){.list = scan->live,
                                  .count = scan->live_count,
                                  .alpha = alpha,
                                  .gradient = scan->gradient,
                                  .screened = scan->screened};
}

double hw_linear_scan_most(const hw_linear_scan *scan, const hw_linear_columns *columns)
{
    double most = 0.0, square = 0.0;
    for (size_t i = 0; i < columns->X.rows; i++)
        square += square_of(scan->reference_dual[i], columns->weights != NULL ? columns->weights[i] : 1.0);
    double size = sqrt(square / columns->total);
    for (size_t j = 0; j < columns->X.cols; j++) {
        double bound = scan->gradient[j] > 0.0 ? columns->upper[j] : -columns->lower[j];
        if (columns->l1[j] > 0.0 && bound > 0.0 && fabs(scan->gradient[j]) > hw_linear_noise(columns, j, size))
            most = fmax(most, fabs(scan->gradient[j]) / columns->l1[j]);
    }
    return most;
}

size_t hw_linear_scan_sums(const hw_linear_scan *scan, const hw_linear_columns *columns, const double *alpha, double lambda,
                           hw_linear_sums *sums)
{
    size_t nonzeros = 0;
    sums->ratio = hw_linear_scan_idle(scan, columns, lambda);
    for (size_t k = 0; k < scan->live_count; k++) {
        uint32_t j = scan->live[k];
        hw_linear_term term = hw_linear_term_at(columns, j, lambda);
        double ratio = hw_linear_ratio(scan->gradient[j], alpha[j], term);
        if (scan->blur > 0.0 && term.l1 > 0.0)
            ratio += hw_linear_scan_error(scan, columns, j) / term.l1;
        sums->ratio = ratio > sums->ratio ? ratio : sums->ratio;
        if (alpha[j] == 0.0)
            continue;
        nonzeros++;
        sums->penalty += hw_linear_penalty(alpha[j], term);
        sums->curved += term.l2 * alpha[j] * alpha[j];
    }
    return nonzeros;
}

void hw_linear_scan_conjugate(const hw_linear_scan *scan, const hw_linear_columns *columns, double lambda, double scale,
                              double *scaled, double *plain)
{
    double largest = fmax(1.0, fabs(scale));
    *scaled = *plain = 0.0;
    for (size_t k = 0; k < scan->live_count; k++) {
        uint32_t j = scan->live[k];
        double most = fabs(scan->gradient[j]) + hw_linear_scan_error(scan, columns, j);
        if (largest * most <= lambda * columns->l1[j])
            continue;
        hw_linear_term term = hw_linear_term_at(columns, j, lambda);
        *scaled += hw_linear_conjugate(scale * copysign(most, scan->gradient[j]), term);
        *plain += hw_linear_conjugate(copysign(most, scan->gradient[j]), term);
    }
}

void hw_linear_scan_screen(hw_linear_scan *scan, const hw_linear_columns *columns, const double *alpha, double lambda,
                           double scale, double radius)
{
    if (scan->screened_at != lambda) {
        memset(scan->screened, 0, columns->X.cols * sizeof(bool));
        scan->screened_at = lambda;
        scan->screened_count = 0;
    }
    radius *= 1.0 + 1e-9;
    for (size_t k = 0; k < scan->live_count; k++) {
        uint32_t j = scan->live[k];
        double most = fabs(scale * scan->gradient[j]) + radius * sqrt(columns->norm[j]) +
                      fabs(scale) * hw_linear_scan_error(scan, columns, j);
        if (!scan->screened[j] && alpha[j] == 0.0 && most < lambda * columns->l1[j] * (1.0 - 1e-9)) {
            scan->screened[j] = true;
            scan->screened_count++;
        }
    }
}
