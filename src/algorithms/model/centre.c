/*
 * centre.c - the columns are measured in two passes: their ends, then, of those with all values on one side of zero, mean
 * and standard deviation of the differences to the end that is nearer to zero, in which no digits cancel.
 */
#include "algorithms/model/centre.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "algorithms/model/add.h"
#include "algorithms/model/numbers.h"
#include "algorithms/model/unit.h"
#include "hawser/advanced.h"

enum {
    TILE = 128,
    PIECE = 1 << 15
}; /* the most rows that are measured at a time, and the most numbers, also of a reduction */
enum {
    MEAN,
    DEVIATION,
    MEASURES
}; /* what is known of a column; deviation: 0 if all values are equal, -1 if they are not on one side of zero */

/* A column is far from zero if its mean is this many standard deviations. */
static const double far_from = 64.0, very_far_from = 0x1p20;

/* Returns the most standard deviations that a mean of numbers of a type may be: one spans about 1000 different numbers
 * then. */
static double most_of(hawser_type type)
{
    return (type == HAWSER_F32 ? 0x1p24 : 0x1p53) / 1000.0;
}

/* ---- rows as doubles ---- */

/* Stores dense rows less the shifts (NULL: none), X->cols numbers each, in the order in which X stores them. */
static void fill_dense(const hawser_matrix *X, const double *shift, double *out)
{
    size_t n = X->rows, d = X->cols;
    hawser_simulated_work(NULL, (uint64_t)n * d);
    if (X->layout == HAWSER_DENSE_ROWS && X->type == HAWSER_F64) {
        for (size_t i = 0; i < n; i++) {
            const double *row = (const double *)X->values + i * X->stride;
            for (size_t j = 0; j < d; j++)
                out[i * d + j] = shift != NULL ? row[j] - shift[j] : row[j];
        }
        return;
    }
    bool rows = X->layout == HAWSER_DENSE_ROWS;
    for (size_t a = 0; a < (rows ? n : d); a++)
        for (size_t b = 0; b < (rows ? d : n); b++) {
            size_t i = rows ? a : b, j = rows ? b : a;
            out[i * d + j] = hw_number_at(X, (uint64_t)a * X->stride + b) - (shift != NULL ? shift[j] : 0.0);
        }
}

/* Stores a sparse row less the shifts, and its columns. Returns how many entries it has. */
static size_t fill_sparse(const hawser_matrix *X, size_t i, const hw_centre *c, double *values, uint32_t *indices)
{
    uint64_t e = X->offsets[i], end = X->offsets[i + 1];
    size_t at = 0, next = 0;
    while (e < end || next < c->count) {
        uint32_t j = e < end ? X->indices[e] : UINT32_MAX, absent = next < c->count ? c->places[next] : UINT32_MAX;
        indices[at] = j < absent ? j : absent;
        values[at] = (j <= absent ? hw_number_at(X, e) : 0.0) - c->shift[indices[at]];
        e += j <= absent;
        next += absent <= j;
        at++;
    }
    hawser_simulated_work(NULL, at);
    return at;
}

/* Returns the most stored numbers of consecutive rows. */
static uint64_t most_stored(const hawser_matrix *X, size_t rows)
{
    uint64_t most = 0;
    for (size_t i = 0; i < X->rows; i++) {
        uint64_t stored = X->offsets[i + rows < X->rows ? i + rows : X->rows] - X->offsets[i];
        most = stored > most ? stored : most;
    }
    return most;
}

hawser_status hw_centre_rows_new(hw_centre_rows *rows, const hw_centre *c, const hawser_matrix *X, size_t most,
                                 hawser_error *error)
{
    *rows = (hw_centre_rows){0};
    if (c->count == 0)
        return HAWSER_OK;
    bool sparse = X->layout == HAWSER_CSR;
    size_t numbers = sparse ? most_stored(X, most) + most * c->count : most * X->cols;
    rows->values = hw_array_new(&rows->arrays, numbers + 1, sizeof *rows->values);
    rows->offsets = sparse ? hw_array_new(&rows->arrays, most + 1, sizeof *rows->offsets) : NULL;
    rows->indices = sparse ? hw_array_new(&rows->arrays, numbers + 1, sizeof *rows->indices) : NULL;
    if (rows->arrays.failed)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu rows of %zu columns", most, X->cols);
    return HAWSER_OK;
}

void hw_centre_rows_free(hw_centre_rows *rows)
{
    hw_arrays_free(&rows->arrays);
    *rows = (hw_centre_rows){0};
}

uint64_t hw_centre_rows_bytes(const hw_centre *c, const hawser_matrix *X, size_t most)
{
    uint64_t stored = X->rows > 0 ? X->stored / X->rows + 1 : 0;
    return c->count == 0 ? 0 : most * (X->layout == HAWSER_CSR ? 8 + 12 * (stored + c->count) : 8 * X->cols);
}

hawser_matrix hw_centre_rows_fill(hw_centre_rows *rows, const hw_centre *c, const hawser_matrix *X)
{
    hawser_matrix out = {.rows = X->rows, .cols = X->cols, .type = HAWSER_F64, .values = rows->values, .first = X->first};
    if (X->layout != HAWSER_CSR) {
        fill_dense(X, c->shift, rows->values);
        out.layout = HAWSER_DENSE_ROWS;
        out.stride = X->cols;
        out.stored = (uint64_t)X->rows * X->cols;
        return out;
    }
    rows->offsets[0] = 0;
    for (size_t i = 0; i < X->rows; i++) {
        uint64_t at = rows->offsets[i];
        rows->offsets[i + 1] = at + fill_sparse(X, i, c, rows->values + at, rows->indices + at);
    }
    out.layout = HAWSER_CSR;
    out.offsets = rows->offsets;
    out.indices = rows->indices;
    out.stored = rows->offsets[X->rows];
    return out;
}

/* ---- the columns ---- */

/* The state of the unit. The target is measured as one more column. */
typedef struct column_search {
    const hawser_dataset *data;
    bool target;
} column_search;

/* Numbers by column. */
typedef struct measures {
    hawser_matrix X;
    hawser_beside beside;
    bool target;
    size_t count;
    double *low, *high, *sum, *square, *stored; /* stored: of rows that count */
    double rows, weight;
    double *tile;
    size_t tile_rows;
} measures;

static double weight_of(const measures *m, size_t row)
{
    return m->beside.weights != NULL ? m->beside.weights[row] : 1.0;
}

/* Calls `take` for the numbers of each row with a weight above 0. */
static void visit(measures *m,
                  void (*take)(measures *m, double weight, const double *x, const uint32_t *index, size_t count))
{
    const hawser_matrix *X = &m->X;
    bool sparse = X->layout == HAWSER_CSR;
    uint32_t last = (uint32_t)X->cols;
    for (size_t begin = 0; begin < X->rows; begin += m->tile_rows) {
        size_t end = X->rows - begin < m->tile_rows ? X->rows : begin + m->tile_rows;
        hawser_matrix tile = hawser_matrix_rows(X, begin, end);
        if (!sparse)
            fill_dense(&tile, NULL, m->tile);
        for (size_t i = begin; i < end; i++) {
            double weight = weight_of(m, i);
            if (!(weight > 0.0))
                continue;
            uint64_t first = sparse ? X->offsets[i] : 0;
            size_t count = sparse ? X->offsets[i + 1] - first : X->cols;
            for (size_t e = 0; sparse && e < count; e++)
                m->tile[e] = hw_number_at(X, first + e);
            hawser_simulated_work(NULL, count);
            take(m, weight, sparse ? m->tile : m->tile + (i - begin) * X->cols, sparse ? X->indices + first : NULL, count);
            if (m->target)
                take(m, weight, &m->beside.target[i], &last, 1);
            m->rows += 1.0;
            m->weight += weight;
        }
    }
}

static void take_ends(measures *m, double weight, const double *x, const uint32_t *index, size_t count)
{
    (void)weight;
    if (index == NULL) {
        for (size_t j = 0; j < count; j++) {
            m->low[j] = x[j] < m->low[j] ? x[j] : m->low[j];
            m->high[j] = x[j] > m->high[j] ? x[j] : m->high[j];
        }
        return;
    }
    for (size_t e = 0; e < count; e++) {
        size_t j = index[e];
        m->low[j] = fmin(m->low[j], x[e]);
        m->high[j] = fmax(m->high[j], x[e]);
        m->stored[j] += 1.0;
    }
}

/* Returns the end of a column that is nearer to zero, if all its values are on one side of it and they differ; else NaN. */
static double end_of(const measures *m, size_t j)
{
    double low = m->low[j], high = m->high[j];
    return !(low < high) || (low <= 0.0 && high >= 0.0) ? NAN : low > 0.0 ? low : high;
}

static void take_sums(measures *m, double weight, const double *x, const uint32_t *index, size_t count)
{
    for (size_t e = 0; e < count; e++) {
        size_t j = index != NULL ? index[e] : e;
        double over = x[e] - m->stored[j]; /* the end, or NaN */
        m->sum[j] += weight * over;
        m->square[j] += weight * over * over;
    }
}

/* Combines numbers of all blocks, in pieces. */
static hawser_status combine(hawser_context *context, double *values, size_t count, hawser_combine_by by)
{
    for (size_t at = 0; at < count; at += PIECE)
        HAWSER_TRY(hawser_allreduce(context, values + at, count - at < PIECE ? count - at : PIECE, by));
    return HAWSER_OK;
}

static hawser_status measure(hawser_context *context, measures *m)
{
    for (size_t j = 0; j < m->count; j++) {
        m->low[j] = INFINITY;
        m->high[j] = -INFINITY;
    }
    visit(m, take_ends);
    for (size_t j = 0; m->X.layout == HAWSER_CSR && j < m->X.cols; j++)
        if (m->stored[j] < m->rows) {
            m->low[j] = fmin(m->low[j], 0.0);
            m->high[j] = fmax(m->high[j], 0.0);
        }
    HAWSER_TRY(combine(context, m->low, m->count, HAWSER_MIN));
    HAWSER_TRY(combine(context, m->high, m->count, HAWSER_MAX));
    bool any = false;
    for (size_t j = 0; j < m->count; j++) {
        m->stored[j] = end_of(m, j);
        any = any || !isnan(m->stored[j]);
    }
    if (!any)
        return HAWSER_OK;
    m->weight = 0.0;
    visit(m, take_sums);
    for (size_t j = 0; j < m->count; j++)
        if (!(m->square[j] <
              DBL_MAX / (double)hawser_blocks(context))) /* not summed, or so large that the column is not far from zero */
            m->sum[j] = m->square[j] = 0.0;
    HAWSER_TRY(hw_add_up(context, &m->weight, 1, &(hw_addends){.rest = "the example weights", .of = "them"}));
    HAWSER_TRY(combine(context, m->sum, m->count, HAWSER_SUM));
    return combine(context, m->square, m->count, HAWSER_SUM);
}

/* Returns what is known of a column: see MEASURES. */
static double measure_of(const measures *m, size_t j, size_t which)
{
    double end = end_of(m, j), low = m->low[j], high = m->high[j];
    if (isnan(end))
        return which == MEAN ? (low == high ? low : 0.0) : low == high ? 0.0 : -1.0;
    double over = m->sum[j] / m->weight, variance = m->square[j] / m->weight - over * over, mean = end + over;
    double deviation = sqrt(fmax(variance, 1e-16 * (high - low) * (high - low)));
    return which == MEAN ? mean : deviation;
}

static hawser_status find_in(hawser_context *context, measures *m, double *memory)
{
    size_t first = 0, share = hawser_part(context, "columns", &first), n = m->count;
    HAWSER_WRITE(context, double, columns);
    m->low = memory;
    m->high = m->low + n;
    m->sum = m->high + n;
    m->square = m->sum + n;
    m->stored = m->square + n;
    m->tile = m->stored + n;
    HAWSER_TRY(measure(context, m));
    for (size_t e = first; e < first + share; e++)
        columns[e - first] = measure_of(m, e / MEASURES, e % MEASURES);
    return HAWSER_OK;
}

static hawser_status find(hawser_context *context)
{
    const column_search *s = hawser_user(context);
    HAWSER_READ(context, hawser_matrix, X);
    measures m = {.X = *X, .target = s->target};
    HW_UNIT_TRY(context, hawser_dataset_beside(s->data, m.X.first, m.X.rows, &m.beside, &error));
    m.count = m.X.cols + s->target;
    m.tile_rows = m.X.cols * TILE <= PIECE ? TILE : PIECE / m.X.cols + 1;
    double *memory = calloc(5 * m.count + m.tile_rows * m.X.cols + 1, sizeof *memory);
    if (memory == NULL)
        return hawser_unit_fail(context, HAWSER_NO_MEMORY, "no memory to measure %zu columns", m.count);
    hawser_status status = find_in(context, &m, memory);
    free(memory);
    return status;
}

/* ---- what follows from the measures ---- */

/* Returns the type in which a column, or a target, is stored. */
static hawser_type type_of(const hawser_dataset *data, size_t column)
{
    const hawser_matrix *X = hawser_dataset_matrix(data);
    return column < X->cols ? X->type : HAWSER_F64;
}

/* Writes what a message calls a column or a target. */
static void write_name(const hawser_dataset *data, size_t column, char *text, size_t size)
{
    const hawser_matrix *X = hawser_dataset_matrix(data);
    const char *output = column < X->cols ? NULL : hawser_dataset_output_name(data, column - X->cols);
    char name[120];
    if (column < X->cols) {
        (void)hawser_dataset_label(data, column, name, sizeof name);
        (void)snprintf(text, size, "column '%.100s'", name);
    } else {
        (void)snprintf(text, size, output != NULL ? "the target '%.100s'" : "the target", output);
    }
}

/* Refuses a column, or a target, whose values differ by too little beside their size. */
static hawser_status refuse(const hawser_dataset *data, size_t column, double mean, double deviation, hawser_error *error)
{
    char quoted[140];
    bool f32 = type_of(data, column) == HAWSER_F32;
    write_name(data, column, quoted, sizeof quoted);
    return hawser_fail(
        error, HAWSER_BAD_INPUT,
        "%s: the mean %.6g is %.2g times the standard deviation, and with an intercept %s numbers are precise "
        "enough up to %.2g; subtract a number near the mean from it%s",
        quoted, mean, fabs(mean) / deviation, f32 ? "f32" : "f64", most_of(f32 ? HAWSER_F32 : HAWSER_F64),
        f32 ? ", or use --type f64" : "");
}

/* Refuses a column, or a target, whose values became equal when they were rounded: in the input they differ. */
static hawser_status refuse_equal(const hawser_dataset *data, size_t column, double value, hawser_error *error)
{
    char quoted[140];
    bool f32 = type_of(data, column) == HAWSER_F32;
    write_name(data, column, quoted, sizeof quoted);
    return hawser_fail(
        error, HAWSER_BAD_INPUT,
        "%s: the mean is %.6g and all values are equal in type %s, which hides differences below %.2g there; %s, "
        "or leave the column out",
        quoted, value, f32 ? "f32" : "f64",
        value != 0.0 ? ldexp(1.0, ilogb(value) - (f32 ? 23 : 52))
        : f32        ? FLT_TRUE_MIN
                     : DBL_TRUE_MIN,
        f32 ? "use --type f64" : "subtract a number near the mean from it");
}

hawser_status hw_centre_check(const hawser_dataset *data, size_t column, double mean, double deviation, hawser_error *error)
{
    if (data == NULL)
        return HAWSER_OK;
    hawser_type type = type_of(data, column);
    int rounded = deviation == 0.0 ? hawser_dataset_rounded(data, column) : 0;
    if (rounded > 0 || (rounded < 0 && type == HAWSER_F32 && fabs(mean) >= 0x1p24))
        return refuse_equal(data, column, mean, error);
    return deviation > 0.0 && fabs(mean) > most_of(type) * deviation ? refuse(data, column, mean, deviation, error)
                                                                     : HAWSER_OK;
}

/* Returns the shift of a column. *equal becomes whether all its values are equal. */
static double shift_of(const double measured[MEASURES], bool *equal)
{
    *equal = measured[DEVIATION] == 0.0;
    return measured[DEVIATION] >= 0.0 && fabs(measured[MEAN]) >= far_from * measured[DEVIATION] ? measured[MEAN] : 0.0;
}

hawser_status hw_centre_take(hw_centre *c, const double *shift, size_t columns, hawser_error *error)
{
    *c = (hw_centre){.columns = columns};
    c->shift = hw_array_new(&c->arrays, columns + 1, sizeof *c->shift);
    c->equal = hw_array_new(&c->arrays, columns + 1, sizeof *c->equal);
    c->places = hw_array_new(&c->arrays, columns + 1, sizeof *c->places);
    if (c->arrays.failed)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the means of %zu columns", columns);
    for (size_t j = 0; j < columns; j++)
        if ((c->shift[j] = shift[j]) != 0.0)
            c->places[c->count++] = (uint32_t)j;
    return HAWSER_OK;
}

static hawser_status take(hw_centre *c, size_t columns, const double *measured, bool target, hawser_error *error)
{
    hw_arrays arrays = {0};
    double *shift = hw_array_new(&arrays, columns + 1, sizeof *shift);
    bool *equal = hw_array_new(&arrays, columns + 1, sizeof *equal);
    if (arrays.failed) {
        hw_arrays_free(&arrays);
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the means of %zu columns", columns);
    }
    for (size_t j = 0; j < columns + target; j++)
        shift[j] = shift_of(measured + j * MEASURES, &equal[j]);
    hawser_status status = hw_centre_take(c, shift, columns, error);
    for (size_t j = 0; status == HAWSER_OK && j < columns; j++) {
        c->equal[j] = equal[j];
        c->unequal += !equal[j];
        c->far = c->far || (shift[j] != 0.0 && !equal[j]);
    }
    c->target = status == HAWSER_OK && target ? shift[columns] : 0.0;
    hw_arrays_free(&arrays);
    return status;
}

/* Returns whether some column is far enough for HW_CENTRE_VERY_FAR. */
static bool any_very_far(const double *measured, size_t columns)
{
    for (const double *m = measured; m < measured + columns * MEASURES; m += MEASURES)
        if (m[DEVIATION] > 0.0 && fabs(m[MEAN]) >= very_far_from * m[DEVIATION])
            return true;
    return false;
}

hawser_status hw_centre_find(hw_centre *c, hawser_job *job, const hawser_dataset *data, hw_centre_of what,
                             hawser_error *error)
{
    bool target = what == HW_CENTRE_FITTED_TARGET;
    column_search s = {data, target};
    hawser_run *run = NULL;
    *c = (hw_centre){0};
    hawser_program *program = hawser_program_new("columns", &s);
    hawser_state *X = HAWSER_STATE(program, "X", HAWSER_DATA, .matrix = hawser_dataset_matrix(data), .split = HAWSER_BY_ROW);
    size_t columns = hawser_dataset_matrix(data)->cols, count = (columns + target) * MEASURES;
    hawser_state *out = HAWSER_STATE(program, "columns", HAWSER_PARTITIONED, .rows = count);
    HAWSER_UNIT(hawser_root(program), "measure", find, .reads = {X}, .updates = {out},
                .reduces = count < PIECE ? count : PIECE);
    hawser_observe(job, NULL, NULL);
    hawser_status status = hawser_run_program(job, program, &run, error);
    hawser_program_free(program);
    if (status == HAWSER_STOP)
        status = hawser_fail(error, HAWSER_STOP, "the training ended before its columns were measured; no model is kept");
    const double *measured = NULL;
    HAWSER_THEN(status, hawser_result(run, "columns", &measured, NULL, error));
    for (size_t j = 0; what >= HW_CENTRE_FITTED && status == HAWSER_OK && j < columns + target; j++)
        status = hw_centre_check(data, j, measured[j * MEASURES + MEAN], measured[j * MEASURES + DEVIATION], error);
    if (status == HAWSER_OK && (what != HW_CENTRE_VERY_FAR || any_very_far(measured, columns)))
        status = take(c, columns, measured, target, error);
    hawser_run_free(run);
    return status;
}

void hw_centre_free(hw_centre *c)
{
    hw_arrays_free(&c->arrays);
    *c = (hw_centre){0};
}

/* ---- intercepts ---- */

/* Adds a number to the sum hi + lo, exactly but for the last digits of lo. */
static void add(double *hi, double *lo, double x)
{
    double sum = *hi + x, part = sum - *hi;
    *lo += (*hi - (sum - part)) + (x - part);
    *hi = sum;
}

static double moved(const hw_centre *c, double intercept, double less, const double *coefficients, size_t step, double sign)
{
    double hi = intercept, lo = 0.0;
    add(&hi, &lo, -less);
    add(&hi, &lo, sign * c->target);
    for (size_t k = 0; k < c->count; k++) {
        double shift = -sign * c->shift[c->places[k]], w = coefficients[c->places[k] * step], product = shift * w;
        add(&hi, &lo, product);
        lo += fma(shift, w, -product);
    }
    return hi + lo;
}

double hw_centre_undo(const hw_centre *c, double intercept, double less, const double *coefficients, size_t step)
{
    return moved(c, intercept, less, coefficients, step, 1.0);
}

double hw_centre_apply(const hw_centre *c, double intercept, double less, const double *coefficients, size_t step)
{
    return moved(c, intercept, less, coefficients, step, -1.0);
}
