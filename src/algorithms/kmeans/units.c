#include "algorithms/kmeans/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/kmeans/assign.h"
#include "algorithms/kmeans/empty.h"
#include "algorithms/kmeans/model.h"
#include "algorithms/kmeans/start.h"
#include "algorithms/model/add.h"
#include "hawser/batches.h"

/* Every block has all new centres, and writes its share of the state. */
static void write_share(hawser_context *context, const char *state, const double *all)
{
    size_t first = 0, count = hawser_part(context, state, &first);
    double *own;
    if (hawser_write(context, state, &own) == HAWSER_OK && count > 0) /* else the unit fails */
        memcpy(own, all + first, count * sizeof *all);
}

/* Writes the centres of the result. */
static void write_best(hawser_context *context, const hw_kmeans *kmeans, const double *centres)
{
    size_t first = 0, count = hawser_part(context, "best", &first);
    double *best;
    if (hawser_write(context, "best", &best) != HAWSER_OK)
        return; /* the unit fails */
    for (size_t e = first; e < first + count; e++)
        best[e - first] = hw_kmeans_plain(kmeans, centres, e);
}

static hawser_status report_all(hawser_context *context, const char *const *names, const double *values, size_t count)
{
    for (size_t k = 0; k < count; k++)
        HAWSER_TRY(hawser_report(context, names[k], values[k]));
    return HAWSER_OK;
}

static hawser_status report_validation(hawser_context *context, const hw_kmeans_block *b)
{
    static const char *const names[] = {"validation_inertia", "evaluations"};
    const double values[] = {b->memory.early.error, (double)b->memory.early.evaluations};
    return report_all(context, names, values, 2);
}

/* Adds up numbers of clusters by column, and the `more` numbers behind them. */
static hawser_status add_clusters(hawser_context *context, hw_kmeans_block *b, size_t clusters, size_t more)
{
    const hw_addends sums = {
        "the weighted values", b->kmeans->data, b->X.cols, 1, clusters, "the weighted distances to centres",
        "columns or weights"};
    return hw_add_up(context, b->reduced, clusters * b->X.cols + more, &sums);
}

/* ---- before the starts ---- */

/* Adds up the squared distances of the rows to their mean, with their weights, whose sum is `total`. */
static hawser_status add_variance(hawser_context *context, hw_kmeans_block *b, double total, double *sum)
{
    size_t n = b->X.rows, d = b->X.cols;
    double *mean = b->reduced;
    memset(mean, 0, d * sizeof *mean);
    for (size_t i = 0; i < n; i++)
        if (hw_kmeans_weight(b, i) > 0.0)
            hawser_row_axpy(&b->X, i, hw_kmeans_weight(b, i), mean);
    HAWSER_TRY(add_clusters(context, b, 1, 0));
    for (size_t j = 0; j < d; j++)
        mean[j] /= total;
    double square = hawser_dot(d, mean, mean, NULL);
    *sum = 0.0;
    for (size_t i = 0; i < n; i++)
        if (hw_kmeans_weight(b, i) > 0.0)
            *sum += hw_kmeans_weight(b, i) * (b->X.layout == HAWSER_CSR
                                                  ? b->points.squares[i] - 2.0 * hawser_row_dot(&b->X, i, mean) + square
                                                  : hawser_row_distance(&b->X, i, mean));
    return hw_add_up(context, sum, 1,
                     &(hw_addends){.rest = "the weighted distances of rows to their mean", .of = "columns or weights"});
}

hawser_status hw_kmeans_prepare(hawser_context *context)
{
    hw_kmeans_block *b;
    HAWSER_TRY(hw_kmeans_block_open(context, &b));
    const hw_kmeans *kmeans = b->kmeans;
    double sums[2] = {0.0, 0.0}, variance = 0.0;
    for (size_t i = 0; i < b->X.rows; i++) {
        sums[0] += hw_kmeans_weight(b, i) > 0.0;
        sums[1] += hw_kmeans_weight(b, i);
    }
    HAWSER_TRY(hw_add_up(context, sums, 2, &(hw_addends){.rest = "the example weights", .of = "them"}));
    if (sums[0] < (double)kmeans->clusters)
        return hawser_unit_fail(context, HAWSER_BAD_INPUT,
                                "%zu clusters: only %.0f rows have a weight above 0; lower --clusters", kmeans->clusters,
                                sums[0]);
    if (kmeans->tolerance > 0.0)
        HAWSER_TRY(add_variance(context, b, sums[1], &variance));
    double tolerance = kmeans->tolerance * variance / (sums[1] * (double)b->X.cols);
    return hawser_report(context, "tolerance", tolerance > 0.0 ? tolerance : 0.0);
}

hawser_status hw_kmeans_begin(hawser_context *context)
{
    hw_kmeans_block *b;
    HAWSER_TRY(hw_kmeans_block_open(context, &b));
    size_t k = b->kmeans->clusters, d = b->X.cols;
    double *centres = calloc(k * d, sizeof *centres);
    if (centres == NULL)
        return hawser_unit_fail(context, HAWSER_NO_MEMORY, "no memory for %zu centres", k);
    b->memory = (hw_kmeans_memory){
        .start = hawser_clock(context), .best = b->memory.best, .smooth = NAN, .least = INFINITY, .early = hw_early_begin()};
    b->bounded = false;
    b->rest = 0;
    b->pause = 2;
    b->summed = false; /* the sums are of the start before */
    b->centres.grouped = false;
    if (b->counts != NULL)
        memset(b->counts, 0, k * sizeof *b->counts);
    hawser_status status = hw_kmeans_start(context, b, b->memory.start, centres);
    for (size_t e = 0; b->kmeans->single && e < k * d; e++)
        centres[e] = (double)(float)centres[e];
    if (status == HAWSER_OK)
        write_share(context, "centres", centres);
    free(centres);
    HAWSER_TRY(status);
    if (b->kmeans->early.validated)
        HAWSER_TRY(report_validation(context, b)); /* the last one was of the start before */
    return hawser_report(context, "start", (double)b->memory.start + 1.0);
}

/* ---- an iteration ---- */

/* Replaces the sums by centres: a cluster without weight keeps its centre. Returns the sum of squared moves. */
static double divide(const hw_kmeans_block *b, double *sums, const double *weights)
{
    size_t d = b->X.cols;
    double shift = 0.0;
    for (size_t c = 0; c < b->kmeans->clusters; c++) {
        const double *before = b->centres.values + c * d;
        for (size_t j = 0; j < d; j++) {
            double *to = &sums[c * d + j];
            *to = weights[c] > 0.0 ? *to / weights[c] : before[j];
            if (b->kmeans->single)
                *to = (double)(float)*to;
            shift += (*to - before[j]) * (*to - before[j]);
        }
    }
    return shift;
}

static hawser_status report_step(hawser_context *context, const hw_kmeans_block *b, double inertia, double shift,
                                 hw_kmeans_end ended)
{
    static const char *const names[] = {"inertia", "shift", "start", "ended"};
    const double values[] = {inertia, shift, (double)b->memory.start + 1.0, ended};
    return report_all(context, names, values, 4);
}

hawser_status hw_kmeans_step(hawser_context *context)
{
    hw_kmeans_block *b;
    HAWSER_TRY(hw_kmeans_block_open(context, &b));
    size_t k = b->kmeans->clusters, d = b->X.cols, changed = 0;
    double *weights = b->reduced + k * d, *more = weights + k;
    bool first = !b->memory.assigned;
    HAWSER_READ(context, double, centres);
    HW_UNIT_TRY(context, hw_kmeans_move(b, centres, &error));
    HW_UNIT_TRY(context, hw_kmeans_assign(b, &changed, &error));
    hw_kmeans_sum(b);
    memcpy(b->reduced, b->sums, k * d * sizeof *b->sums);
    memcpy(weights, b->weights, k * sizeof *weights);
    more[0] = (double)changed;
    more[1] = 0.0;
    for (size_t i = 0; i < b->X.rows; i++)
        more[1] += hw_kmeans_weight(b, i) * b->squares[i];
    HAWSER_TRY(add_clusters(context, b, k, k + 2));
    double moved = more[0], inertia = more[1];
    HAWSER_TRY(hw_kmeans_fill_empty(context, b, b->reduced, weights));
    double shift = divide(b, b->reduced, weights);
    write_share(context, "centres", b->reduced);
    b->memory.iteration++;
    hw_kmeans_end ended = !first && moved == 0.0                         ? HW_KMEANS_SETTLED
                          : shift <= hawser_metric(context, "tolerance") ? HW_KMEANS_TOLERANCE
                          : b->memory.iteration >= b->kmeans->iterations ? HW_KMEANS_ITERATIONS
                                                                         : HW_KMEANS_GOES_ON;
    HAWSER_TRY(hawser_report(context, "moved", moved));
    return report_step(context, b, inertia, shift, ended);
}

/* ---- a mini-batch ---- */

/* Adds the block's rows of a batch to the sums of their clusters. The rows are about as large a share of the block's as the
 * batch is of all. */
static hawser_status add_batch(hw_kmeans_block *b, double *sums, double *weights, double *inertia, hawser_error *error)
{
    const hw_kmeans *kmeans = b->kmeans;
    double share = (double)kmeans->batch * (double)b->X.rows / (double)kmeans->X->rows;
    hawser_batches batches = {.rows = b->X.rows,
                              .size = share < 1.0 ? 1 : (uint64_t)(share + 0.5),
                              .seed = kmeans->seed ^ (b->memory.start << 32),
                              .stream = b->X.first};
    size_t most = batches.size < b->X.rows ? (size_t)batches.size : b->X.rows;
    size_t bytes = hawser_batch_bytes(&b->X, most);
    hw_arrays arrays = {0};
    size_t *rows = hw_array_new(&arrays, most + 1, sizeof *rows);
    uint32_t *labels = hw_array_new(&arrays, most + 1, sizeof *labels);
    double *squares = hw_array_new(&arrays, most + 1, sizeof *squares);
    void *packed = hw_array_new(&arrays, bytes + 1, 1);
    hw_kmeans_points points = {0};
    hawser_batch batch;
    hawser_matrix A;
    hawser_status status = HAWSER_OK;
    if (arrays.failed)
        status = hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a mini-batch of %zu rows", most);
    HAWSER_THEN(status, hawser_batches_seek(&batches, b->memory.iteration, error));
    HAWSER_THEN(status, hawser_batches_next(&batches, rows, &batch, error));
    HAWSER_THEN(status, hawser_batch_pack(&b->X, &batch, packed, bytes, &A, error));
    HAWSER_THEN(status, hw_kmeans_points_new(&points, &A, kmeans->single, error));
    HAWSER_THEN(status, hw_kmeans_nearest(&points, &b->centres, labels, squares, error));
    for (size_t e = 0; status == HAWSER_OK && e < batch.count; e++) {
        double weight = hw_kmeans_weight(b, rows[e]);
        if (weight > 0.0)
            hawser_row_axpy(&A, e, weight, sums + labels[e] * b->X.cols);
        weights[labels[e]] += weight;
        *inertia += weight * squares[e];
    }
    hw_kmeans_points_free(&points);
    hw_arrays_free(&arrays);
    return status;
}

/* Moves each centre towards the rows that it has received, by their share of all that it has received so far. Returns the
 * sum of squared moves. */
static double mix(hw_kmeans_block *b, double *sums, const double *weights)
{
    size_t d = b->X.cols;
    double shift = 0.0;
    for (size_t c = 0; c < b->kmeans->clusters; c++) {
        const double *before = b->centres.values + c * d;
        double count = b->counts[c] + weights[c];
        for (size_t j = 0; j < d; j++) {
            double *to = &sums[c * d + j];
            *to = weights[c] > 0.0 ? (before[j] * b->counts[c] + *to) / count : before[j];
            if (b->kmeans->single)
                *to = (double)(float)*to;
            shift += (*to - before[j]) * (*to - before[j]);
        }
        b->counts[c] = count;
    }
    return shift;
}

/* Smooths the inertia over about as many batches as an epoch has, and counts the batches since its least value. */
static hw_kmeans_end follow(hw_kmeans_block *b, double per_weight)
{
    const hw_kmeans *kmeans = b->kmeans;
    double rows = (double)kmeans->X->rows, batches = ceil(kmeans->epochs * rows / (double)kmeans->batch);
    double share = fmin(1.0, 2.0 * (double)kmeans->batch / (rows + 1.0));
    hw_kmeans_memory *m = &b->memory;
    m->iteration++;
    if (m->iteration > 1) { /* the first batch still has the centres of the start */
        m->smooth = isnan(m->smooth) ? per_weight : m->smooth * (1.0 - share) + per_weight * share;
        m->stalled = m->smooth < m->least ? 0 : m->stalled + 1;
        m->least = fmin(m->least, m->smooth);
    }
    if ((double)m->iteration >= batches)
        return HW_KMEANS_EPOCHS;
    return kmeans->patience > 0 && m->stalled >= kmeans->patience ? HW_KMEANS_PATIENCE : HW_KMEANS_GOES_ON;
}

/* Computes the inertia of the validation data. */
static hawser_status measure_other(const hw_kmeans *kmeans, const double *centres, double *inertia, hawser_error *error)
{
    size_t count = kmeans->clusters * kmeans->X->cols;
    double *plain = malloc((count + 1) * sizeof *plain);
    if (plain == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu centres", kmeans->clusters);
    for (size_t e = 0; e < count; e++)
        plain[e] = hw_kmeans_plain(kmeans, centres, e);
    hawser_status status = hw_kmeans_inertia(plain, kmeans->clusters, kmeans->single, kmeans->early.data, inertia, error);
    free(plain);
    return status;
}

/* Measures the new centres on validation data after each pass over the rows, and at the end of the start. Reports whether
 * they have the least error. */
static hawser_status validate(hawser_context *context, hw_kmeans_block *b, const double *centres, hw_kmeans_end *ended)
{
    const hw_kmeans *kmeans = b->kmeans;
    const hw_early *early = &kmeans->early;
    hw_early_count *count = &b->memory.early;
    uint64_t pass = (kmeans->X->rows + kmeans->batch - 1) / kmeans->batch;
    bool lower = count->evaluations == 0; /* until the first evaluation the last centres are kept */
    double inertia = INFINITY;
    hawser_error error = {0};
    if (early->validated && (b->memory.iteration % pass == 0 || *ended != HW_KMEANS_GOES_ON)) {
        if (early->data != NULL && hawser_block(context) == 0)
            HAWSER_TRY(hw_unit_ends(context, measure_other(kmeans, centres, &inertia, &error), &error));
        HAWSER_TRY(hw_early_measure(context, count, inertia));
        HAWSER_TRY(report_validation(context, b));
        lower = hw_early_compare(early, count);
    }
    if (*ended == HW_KMEANS_GOES_ON && hw_early_ends(early, count))
        *ended = HW_KMEANS_EARLY;
    return early->patience > 0 ? hawser_report(context, "kept", lower) : HAWSER_OK;
}

hawser_status hw_kmeans_batch_step(hawser_context *context)
{
    hw_kmeans_block *b;
    HAWSER_TRY(hw_kmeans_block_open(context, &b));
    size_t k = b->kmeans->clusters, d = b->X.cols;
    double *weights = b->reduced + k * d, *inertia = weights + k, total = 0.0;
    memset(b->reduced, 0, (k * d + k + 1) * sizeof *b->reduced);
    HAWSER_READ(context, double, centres);
    HW_UNIT_TRY(context, hw_kmeans_move(b, centres, &error));
    HW_UNIT_TRY(context, add_batch(b, b->reduced, weights, inertia, &error));
    HAWSER_TRY(add_clusters(context, b, k, k + 1));
    for (size_t c = 0; c < k; c++)
        total += weights[c];
    double shift = mix(b, b->reduced, weights);
    write_share(context, "centres", b->reduced);
    hw_kmeans_end ended = follow(b, total > 0.0 ? *inertia / total : 0.0);
    if (ended == HW_KMEANS_GOES_ON && shift <= hawser_metric(context, "tolerance") && total > 0.0)
        ended = HW_KMEANS_TOLERANCE;
    HAWSER_TRY(validate(context, b, b->reduced, &ended));
    return report_step(context, b, *inertia, shift, ended);
}

/* ---- the result of a start ---- */

/* Measures the centres on all rows: reduced becomes the rows of each cluster, then the inertia. */
static hawser_status measure(hawser_context *context, hw_kmeans_block *b, const double *centres)
{
    size_t k = b->kmeans->clusters, changed = 0;
    HW_UNIT_TRY(context, hw_kmeans_move(b, centres, &error));
    HW_UNIT_TRY(context, hw_kmeans_assign(b, &changed, &error));
    memset(b->reduced, 0, (k + 1) * sizeof *b->reduced);
    for (size_t i = 0; i < b->X.rows; i++) {
        b->reduced[b->labels[i]] += 1.0;
        double square = b->kmeans->single ? hw_kmeans_final(&b->points, &b->centres, i, b->labels[i]) : b->squares[i];
        b->reduced[k] += hw_kmeans_weight(b, i) * square;
    }
    return add_clusters(context, b, 0, k + 1);
}

hawser_status hw_kmeans_finish(hawser_context *context)
{
    static const char *const names[] = {"best_inertia", "best_start", "best_iterations", "best_ended"};
    hw_kmeans_block *b;
    HAWSER_TRY(hw_kmeans_block_open(context, &b));
    size_t k = b->kmeans->clusters;
    HAWSER_READ(context, double, centres);
    HAWSER_TRY(measure(context, b, centres));
    double inertia = b->reduced[k];
    if (!(inertia < b->memory.best))
        return HAWSER_OK;
    b->memory.best = inertia;
    write_best(context, b->kmeans, centres);
    write_share(context, "sizes", b->reduced);
    double ended = hawser_metric(context, "ended"); /* unknown if the run was to end before the first iteration */
    const double values[] = {inertia, (double)b->memory.start + 1.0, (double)b->memory.iteration,
                             isnan(ended) ? HW_KMEANS_GOES_ON : ended};
    return report_all(context, names, values, 4);
}

hawser_status hw_kmeans_measure(hawser_context *context)
{
    hw_kmeans_block *b;
    HAWSER_TRY(hw_kmeans_block_open(context, &b));
    size_t k = b->kmeans->clusters, count = k * b->X.cols;
    double *centres = calloc(count, sizeof *centres);
    if (centres == NULL)
        return hawser_unit_fail(context, HAWSER_NO_MEMORY, "no memory for %zu centres", k);
    if (hawser_block(context) == 0)
        memcpy(centres, b->kmeans->given, count * sizeof *centres);
    hawser_status status = hawser_allreduce(context, centres, count, HAWSER_SUM);
    HAWSER_THEN(status, measure(context, b, centres));
    if (status == HAWSER_OK) {
        write_best(context, b->kmeans, centres);
        write_share(context, "sizes", b->reduced);
        status = hawser_report(context, "best_inertia", b->reduced[k]);
    }
    free(centres);
    return status;
}
