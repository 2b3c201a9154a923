/* dense.c - rows of numbers to a dense matrix. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/type.h"
#include "data/label.h"
#include "data/layout/assemble.h"
#include "data/load.h"

/* Rows that are converted at a time: their lines stay in the first-level cache while the columns are written. */
enum { TILE = 64 };

typedef struct dense_work {
    hw_dense dense;
    const uint64_t *first_rows;
} dense_work;

static void put_role(const hw_dense *w, size_t j, const double *from, uint64_t first, size_t count)
{
    double *to = w->roles[j] >= HW_UNSEEN ? NULL : w->special[w->roles[j]];
    for (size_t i = 0; to != NULL && i < count; i++)
        to[first + i] = from[i * w->width];
}

/* A column's numbers are `step` apart. */
static void put_feature(const hw_dense *w, const double *from, uint64_t place, uint64_t step, size_t count)
{
    if (w->single)
        for (size_t i = 0; i < count; i++)
            ((float *)w->values)[place + i * step] = (float)from[i * w->width];
    else
        for (size_t i = 0; i < count; i++)
            ((double *)w->values)[place + i * step] = from[i * w->width];
}

static void put_tile(const hw_dense *w, const double *rows, uint64_t first, size_t count)
{
    size_t feature = 0;
    for (size_t j = 0; j < w->width; j++) {
        const double *from = rows + j;
        if (w->roles[j] != HW_FEATURE)
            put_role(w, j, from, first, count);
        else if (w->by_row)
            put_feature(w, from, first * w->features + feature++, w->features, count);
        else
            put_feature(w, from, feature++ * w->rows + first, 1, count);
    }
}

/* The matrix's pages take memory as its rows arrive, while those of the parts are released; they are counted accordingly. */
hawser_status hw_dense_put(const hw_dense *w, const double *rows, uint64_t first, uint64_t count, hawser_error *error)
{
    HAWSER_TRY(hw_budget_take(&w->reading->budget, count * w->features * (w->single ? 4 : 8), error));
    for (uint64_t r = 0; r < count; r += TILE) {
        size_t some = count - r < TILE ? count - r : TILE;
        put_tile(w, rows + r * w->width, first + r, some);
    }
    return HAWSER_OK;
}

static hawser_status put_parts(void *context, uint32_t thread, hawser_error *error)
{
    const dense_work *w = context;
    hw_reading *reading = w->dense.reading;
    for (uint64_t p = thread; p < hw_reading_parts(reading); p += reading->threads) {
        hw_text_part *part = hw_reading_part(reading, p);
        HAWSER_TRY(hw_dense_put(&w->dense, part->values, w->first_rows[p], part->rows, error));
        hw_part_free(reading, part);
    }
    return HAWSER_OK;
}

static double stored_at(const hw_column_values *column, uint64_t i)
{
    return hw_value_at(column->values, column->single ? HAWSER_F32 : HAWSER_F64, i * column->step);
}

void hw_mean_weigh(const double *weights, uint64_t rows, double *total, double *counted)
{
    if (weights == NULL) {
        *total += (double)rows;
        *counted += (double)rows;
        return;
    }
    for (uint64_t i = 0; i < rows; i++) {
        *total += weights[i];
        *counted += weights[i] > 0;
    }
}

void hw_mean_add(hw_mean *mean, double value, double weight)
{
    if (!(weight > 0))
        return;
    mean->weight += isnan(value) ? weight : 0;
    mean->rows += isnan(value);
    mean->sum += isnan(value) ? 0 : weight * value;
    mean->scaled += isnan(value) ? 0 : weight * (value * HW_MEAN_UNIT);
}

double hw_mean_of(const hw_mean *mean, double total, double counted)
{
    if (mean->rows >= counted)
        return NAN;
    double present = total - mean->weight;
    if (!isinf(mean->sum))
        return mean->sum / present;
    double scaled = mean->scaled / present / HW_MEAN_UNIT;
    return isinf(scaled) ? copysign(DBL_MAX, scaled) : scaled; /* exceeded by rounding only */
}

/* Returns the weight of the row of an entry. */
static double weight_of(const hw_column_values *column, uint64_t i)
{
    return column->weights == NULL ? 1 : column->weights[column->indices != NULL ? column->indices[i] : i];
}

double hw_fill_mean(const hw_column_values *column, const double *given)
{
    hw_mean mean = {0};
    uint64_t missing = 0;
    double total = 0, counted = 0;
    for (uint64_t i = 0; i < column->stored; i++) {
        double value = stored_at(column, i);
        hw_mean_add(&mean, value, weight_of(column, i));
        missing += isnan(value);
    }
    hw_mean_weigh(column->weights, column->rows, &total, &counted);
    double fill = given != NULL ? *given : hw_mean_of(&mean, total, counted);
    for (uint64_t i = 0; missing > 0 && i < column->stored; i++)
        if (isnan(stored_at(column, i)) && column->single)
            ((float *)column->values)[i * column->step] = (float)fill;
        else if (isnan(stored_at(column, i)))
            ((double *)column->values)[i * column->step] = fill;
    return fill;
}

hawser_status hw_no_mean(const char *name, const char *column, hawser_error *error)
{
    return hawser_fail(error, HAWSER_BAD_INPUT,
                       "%s: every value of %s is missing, so it has no mean; leave it out (--ignore)", name, column);
}

static hawser_status fill_means(void *context, uint32_t thread, hawser_error *error)
{
    const hw_dense *w = context;
    const double *given = w->reading->load->means;
    char text[HW_COLUMN_CALLED];
    for (uint64_t j = thread; j < w->features; j += w->reading->threads) {
        uint64_t place = w->by_row ? j : j * w->rows;
        hw_column_values column = {.values = (char *)w->values + place * (w->single ? sizeof(float) : sizeof(double)),
                                   .stored = w->rows,
                                   .step = w->by_row ? w->features : 1,
                                   .rows = w->rows,
                                   .single = w->single,
                                   .weights = w->weights};
        w->means[j] = hw_fill_mean(&column, given != NULL ? &given[j] : NULL);
        if (isnan(w->means[j]))
            return hw_no_mean(w->reading->input.files[0].name, hw_column_called(w->dataset, j, text), error);
        if (w->single && isinf((float)w->means[j]))
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "%s: the mean %g, which the model has for %s, is too large for type f32; use f64",
                               w->reading->input.files[0].name, w->means[j], hw_column_called(w->dataset, j, text));
    }
    return HAWSER_OK;
}

hawser_status hw_dense_means(hw_dense *dense, hawser_dataset *dataset, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(&dense->means, dense->features, "the columns' means", error));
    hw_dataset_own(dataset, dense->means);
    dense->dataset = dataset;
    dense->weights = dense->special[HW_WEIGHTS];
    if (dense->weights == NULL && dense->reading->load->means == NULL) {
        HAWSER_TRY(hw_load_weights(dense->reading, dense->rows, dataset, error));
        dense->weights = dataset->weights;
    }
    return hw_in_parallel(dense->reading->threads, fill_means, dense, error);
}

hawser_status hw_dense_begin(hw_dense *w, hw_reading *reading, uint64_t rows, size_t width, const unsigned char *roles,
                             hawser_dataset *dataset, hawser_error *error)
{
    *w = (hw_dense){.reading = reading,
                    .roles = roles,
                    .width = width,
                    .rows = rows,
                    .single = reading->load->type == HAWSER_F32,
                    .by_row = reading->load->rows_layout != 0 || reading->load->parts > 1};
    for (size_t j = 0; j < width; j++) {
        unsigned role = roles[j];
        w->features += role == HW_FEATURE;
        if (role == HW_FEATURE || role >= HW_UNSEEN)
            continue;
        HAWSER_TRY(hw_budget_array(&reading->budget, (void **)&w->special[role], rows, sizeof(double), "a column", error));
        hw_dataset_own(dataset, w->special[role]);
    }
    size_t size = w->single ? sizeof(float) : sizeof(double);
    if (w->features > 0 && rows > SIZE_MAX / 2 / size / w->features)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: the matrix is larger than the address space; split the input",
                           reading->input.files[0].name);
    HAWSER_TRY(hw_huge_array(&w->values, rows * w->features, size, "a dense matrix", error));
    hw_dataset_own(dataset, w->values);
    return HAWSER_OK;
}

/* Moves the reading's list of columns of one value to the dataset, with the numbers of its columns in place of those of the
 * input. */
static void take_equals(const hw_dense *w, hawser_dataset *dataset)
{
    hw_equals *list = &w->reading->equals;
    uint32_t feature = 0;
    size_t at = 0;
    for (size_t j = 0; j < w->width && at < list->count; j++) {
        unsigned role = w->roles[j];
        if (list->items[at].column == j)
            list->items[at++].column = role == HW_FEATURE  ? feature
                                       : role == HW_TARGET ? HW_EQUAL_TARGET(0)
                                                           : HW_EQUAL_TARGET(1 + role - HW_FURTHER);
        feature += role == HW_FEATURE;
    }
    if (list->begun)
        hw_equals_take(&dataset->equals, list);
}

void hw_dense_end(const hw_dense *w, hawser_dataset *dataset)
{
    take_equals(w, dataset);
    dataset->matrix = (hawser_matrix){.rows = w->rows,
                                      .cols = w->features,
                                      .stored = w->rows * w->features,
                                      .layout = w->by_row ? HAWSER_DENSE_ROWS : HAWSER_DENSE,
                                      .type = w->single ? HAWSER_F32 : HAWSER_F64,
                                      .values = w->values,
                                      .stride = w->by_row ? w->features : w->rows};
    dataset->target = w->special[HW_TARGET];
    dataset->weights = w->special[HW_WEIGHTS] != NULL ? w->special[HW_WEIGHTS] : dataset->weights;
    dataset->offset = w->special[HW_OFFSET];
    dataset->groups = w->special[HW_GROUPS];
    for (size_t k = 0; k < HW_FURTHER_TARGETS && w->special[HW_FURTHER + k] != NULL; k++)
        dataset->further[dataset->further_count++] = w->special[HW_FURTHER + k];
    dataset->means = w->means;
}

hawser_status hw_assemble_dense(hw_reading *reading, size_t width, const unsigned char *roles, bool means,
                                hawser_dataset *dataset, hawser_error *error)
{
    dense_work w = {0};
    uint64_t rows, *first_rows = NULL;
    HAWSER_TRY(hw_reading_rows(reading, &rows, &first_rows, error));
    w.first_rows = first_rows;
    hawser_status status = hw_dense_begin(&w.dense, reading, rows, width, roles, dataset, error);
    HAWSER_THEN(status, hw_in_parallel(reading->threads, put_parts, &w, error));
    if (status == HAWSER_OK && means)
        status = hw_dense_means(&w.dense, dataset, error);
    if (status == HAWSER_OK)
        hw_dense_end(&w.dense, dataset);
    free(first_rows);
    return status;
}
