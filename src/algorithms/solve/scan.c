#include "algorithms/solve/scan.h"

#include <stdlib.h>
#include <string.h>

/* Above this share of the entries a full scan pays, because it is a reference for later scans. */
static const double FEW = 0.5;

hawser_status hw_linear_scan_new(hw_linear_scan *scan, const hawser_matrix *X, hawser_error *error)
{
    scan->screened = calloc(X->cols + 1, sizeof *scan->screened);
    scan->gradient = calloc(2 * X->cols + 1, sizeof *scan->gradient);
    scan->reference_dual = calloc(X->rows + 1, sizeof *scan->reference_dual);
    scan->listed = calloc(X->cols + 1, sizeof *scan->listed);
    if (scan->screened == NULL || scan->gradient == NULL || scan->reference_dual == NULL || scan->listed == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a block of %zu rows and %zu columns", X->rows, X->cols);
    scan->reference_gradient = scan->gradient + X->cols;
    hw_linear_scan_reset(scan);
    return HAWSER_OK;
}

void hw_linear_scan_free(hw_linear_scan *scan)
{
    free(scan->gradient);
    free(scan->screened);
    free(scan->reference_dual);
    free(scan->listed);
    memset(scan, 0, sizeof *scan);
}

void hw_linear_scan_reset(hw_linear_scan *scan)
{
    scan->referenced = false;
    scan->screened_at = -1.0;
    scan->screened_count = 0;
}

void hw_linear_scan_all(hw_linear_scan *scan, const hw_linear_columns *columns, const double *dual, double sum)
{
    hawser_scan(&columns->X, dual, scan->gradient);
    for (size_t j = 0; j < columns->X.cols; j++)
        scan->gradient[j] = (scan->gradient[j] - columns->mean[j] * sum) / columns->total;
    memcpy(scan->reference_gradient, scan->gradient, columns->X.cols * sizeof(double));
    memcpy(scan->reference_dual, dual, columns->X.rows * sizeof(double));
    scan->referenced = true;
}

/* Returns ||r - reference||_w / sqrt(W). */
static double distance(const hw_linear_scan *scan, const hw_linear_columns *columns, const double *dual)
{
    double sum = 0.0;
    for (size_t i = 0; i < columns->X.rows; i++) {
        double weight = columns->weights != NULL ? columns->weights[i] : 1.0, d = dual[i] - scan->reference_dual[i];
        sum += weight > 0.0 ? d * d / weight : 0.0;
    }
    return sqrt(sum / columns->total);
}

/* Lists the columns that may leave the dead zone, with their number in *count, and bounds the correlations of the others. Returns the number of
 * entries of the listed columns. */
static double list_unsafe(hw_linear_scan *scan, const hw_linear_columns *columns, double far, const double *alpha,
                          double lambda, size_t *count)
{
    const hawser_matrix *X = &columns->X;
    size_t listed = 0;
    double entries = 0.0;
    for (size_t j = 0; j < X->cols; j++) { /* the margin covers the rounding of both scans */
        double most = fabs(scan->reference_gradient[j]) + sqrt(columns->norm[j]) * far * (1.0 + 1e-9);
        /* If bounds differ by sign, the exact correlation is needed, because the bound has only the old sign. */
        bool even = columns->upper[j] == -columns->lower[j];
        bool safe = even & (alpha[j] == 0.0) & (most <= lambda * columns->l1[j] * (1.0 - 1e-9));
        scan->gradient[j] = copysign(most, scan->reference_gradient[j]);
        scan->listed[listed] =
            (uint32_t)j; /* overwritten by the next column if this one is safe: a branch would be hard to predict */
        listed += !safe;
        entries += safe ? 0.0 : X->layout == HAWSER_DENSE ? 1.0 : (double)(X->offsets[j + 1] - X->offsets[j]);
    }
    *count = listed;
    return entries;
}

void hw_linear_scan_run(hw_linear_scan *scan, const hw_linear_columns *columns, const double *dual, double sum,
                        const double *alpha, double lambda)
{
    size_t p = columns->X.cols, count = 0;
    double all = columns->X.layout == HAWSER_DENSE ? (double)p : (double)columns->X.stored;
    double far = scan->referenced ? distance(scan, columns, dual) : INFINITY;
    if (far == 0.0) {
        memcpy(scan->gradient, scan->reference_gradient, p * sizeof(double));
        return;
    }
    if (!scan->referenced || list_unsafe(scan, columns, far, alpha, lambda, &count) > FEW * all) {
        hw_linear_scan_all(scan, columns, dual, sum);
        return;
    }
    hawser_scan_some(&columns->X, scan->listed, count, dual, scan->gradient);
    for (size_t k = 0; k < count; k++) {
        uint32_t j = scan->listed[k];
        scan->gradient[j] = (scan->gradient[j] - columns->mean[j] * sum) / columns->total;
    }
}

double hw_linear_scan_most(const hw_linear_scan *scan, const hw_linear_columns *columns)
{
    double most = 0.0;
    for (size_t j = 0; j < columns->X.cols; j++) {
        double bound = scan->gradient[j] > 0.0 ? columns->upper[j] : -columns->lower[j];
        if (columns->l1[j] > 0.0 && bound > 0.0)
            most = fmax(most, fabs(scan->gradient[j]) / columns->l1[j]);
    }
    return most;
}

void hw_linear_scan_conjugate(const hw_linear_scan *scan, const hw_linear_columns *columns, double lambda, double scale,
                              double *scaled, double *plain)
{
    double largest = fmax(1.0, fabs(scale));
    *scaled = *plain = 0.0;
    for (size_t j = 0; j < columns->X.cols; j++) {
        if (largest * fabs(scan->gradient[j]) <= lambda * columns->l1[j])
            continue;
        hw_linear_term term = hw_linear_term_at(columns, j, lambda);
        *scaled += hw_linear_conjugate(scale * scan->gradient[j], term);
        *plain += hw_linear_conjugate(scan->gradient[j], term);
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
    for (size_t j = 0; j < columns->X.cols; j++) {
        double most = fabs(scale * scan->gradient[j]) + radius * sqrt(columns->norm[j]);
        if (!scan->screened[j] && alpha[j] == 0.0 && most < lambda * columns->l1[j] * (1.0 - 1e-9)) {
            scan->screened[j] = true;
            scan->screened_count++;
        }
    }
}
