/* generate.c - seeded synthetic problems. Every number is a function of (seed, purpose, index). log and pow are the C
 * library's, so one seed gives the same bits where those round alike, and elsewhere a problem that differs in last bits. */
#include <math.h>
#include <string.h>

#include "base/argument.h"
#include "base/clock.h"
#include "base/machine.h"
#include "base/memory.h"
#include "base/random.h"
#include "data/dataset.h"

enum { FACTORS = 20, DEFAULT_PER_ROW = 115, DEFAULT_NONZEROS = 100 };
enum stream { STREAM_FACTOR = 1, STREAM_COLUMN, STREAM_ROW, STREAM_NAMES, STREAM_TRUTH, STREAM_NOISE };
static const double ZIPF_EXPONENT = 0.95;

typedef struct recipe {
    size_t rows, cols, nonzeros;
    double per_row, noise;
    uint64_t seed;
} recipe;

static hw_random stream_of(const recipe *r, enum stream stream, uint64_t which)
{
    return hw_random_at(r->seed, stream, which, 0);
}

/* ---- dense: common factors plus own noise, rows of length one ---- */

/* Makes column j: the sum over factors of loading times factor, plus noise of the same variance. */
static void dense_column(const recipe *r, size_t j, const double *factors, double *column)
{
    hw_random random = stream_of(r, STREAM_COLUMN, j);
    double loading[FACTORS];
    for (size_t k = 0; k < FACTORS; k++)
        loading[k] = hw_random_normal(&random) / sqrt(FACTORS);
    for (size_t i = 0; i < r->rows; i++)
        column[i] = hw_random_normal(&random);
    hawser_matrix F = {
        .rows = r->rows, .cols = FACTORS, .layout = HAWSER_DENSE, .type = HAWSER_F64, .values = factors, .stride = r->rows};
    for (size_t k = 0; k < FACTORS; k++)
        hawser_column_axpy(&F, k, loading[k], column);
}

static hawser_status make_dense(const recipe *r, hawser_dataset *dataset, hawser_error *error)
{
    double *values = NULL, *factors = NULL, *length = NULL;
    HAWSER_TRY(HW_NEW(&values, r->rows * r->cols, "the generated matrix", error));
    hw_dataset_own(dataset, values);
    hawser_status status = HW_NEW(&factors, r->rows * FACTORS, "the common factors", error);
    HAWSER_THEN(status, HW_NEW(&length, r->rows, "row lengths", error));
    if (status == HAWSER_OK) {
        hw_random random = stream_of(r, STREAM_FACTOR, 0);
        for (size_t i = 0; i < r->rows * FACTORS; i++)
            factors[i] = hw_random_normal(&random);
        for (size_t j = 0; j < r->cols; j++) {
            double *column = values + j * r->rows;
            dense_column(r, j, factors, column);
            for (size_t i = 0; i < r->rows; i++)
                length[i] += column[i] * column[i];
        }
        for (size_t i = 0; i < r->rows; i++)
            length[i] = 1 / sqrt(length[i]);
        for (size_t j = 0; j < r->cols; j++)
            for (size_t i = 0; i < r->rows; i++)
                values[j * r->rows + i] *= length[i];
        dataset->matrix = (hawser_matrix){.rows = r->rows,
                                          .cols = r->cols,
                                          .stored = (uint64_t)r->rows * r->cols,
                                          .layout = HAWSER_DENSE,
                                          .type = HAWSER_F64,
                                          .values = values,
                                          .stride = r->rows};
    }
    free(factors);
    free(length);
    return status;
}

/* ---- url: columns drawn by popularity, rows of length one ---- */

/* Walker's alias method on whole numbers: exact, so no rounding of a sum can differ between machines. */
typedef struct zipf {
    size_t count;
    uint64_t *keep; /* a draw below this out of `full` is the slot itself, otherwise its alias */
    uint32_t *alias;
    uint32_t *name; /* column of a popularity rank: ranks are scattered over the columns */
    uint64_t full;
} zipf;

static void zipf_free(zipf *z)
{
    free(z->keep);
    free(z->alias);
    free(z->name);
}

/* Builds the table. Weights are rounded to 2^-30 of the largest; each slot holds count * weight of `full` = the sum of the
 * weights. */
static hawser_status zipf_build(zipf *z, hawser_error *error)
{
    uint32_t *small = NULL;
    HAWSER_TRY(HW_NEW(&small, z->count, "popularity of the columns", error));
    size_t low = 0, high = z->count; /* slots below their share are stacked from the left, the others from the right */
    z->full = 0;
    for (size_t r = 0; r < z->count; r++)
        z->full += z->keep[r] = 1 + (uint64_t)(pow((double)(r + 1), -ZIPF_EXPONENT) * 0x1p30);
    for (size_t r = 0; r < z->count; r++) {
        z->keep[r] *= z->count;
        z->alias[r] = (uint32_t)r;
        if (z->keep[r] < z->full)
            small[low++] = (uint32_t)r;
        else
            small[--high] = (uint32_t)r;
    }
    while (low > 0 && high < z->count) {
        uint32_t poor = small[--low], rich = small[high];
        z->alias[poor] = rich;
        z->keep[rich] -= z->full - z->keep[poor];
        if (z->keep[rich] < z->full) {
            high++;
            small[low++] = rich;
        }
    }
    free(small);
    return HAWSER_OK;
}

static hawser_status zipf_new(const recipe *r, zipf *z, hawser_error *error)
{
    z->count = r->cols;
    HAWSER_TRY(HW_NEW(&z->keep, r->cols, "popularity of the columns", error));
    HAWSER_TRY(HW_NEW(&z->alias, r->cols, "popularity of the columns", error));
    HAWSER_TRY(HW_NEW(&z->name, r->cols, "popularity of the columns", error));
    HAWSER_TRY(zipf_build(z, error));
    hw_random random = stream_of(r, STREAM_NAMES, 0);
    for (size_t i = 0; i < r->cols; i++)
        z->name[i] = (uint32_t)i;
    for (size_t i = r->cols - 1; i > 0; i--) {
        size_t other = (size_t)hw_random_below(&random, i + 1);
        uint32_t held = z->name[i];
        z->name[i] = z->name[other];
        z->name[other] = held;
    }
    return HAWSER_OK;
}

static uint32_t zipf_draw(const zipf *z, hw_random *random)
{
    size_t slot = (size_t)hw_random_below(random, z->count);
    return z->name[hw_random_below(random, z->full) < z->keep[slot] ? slot : z->alias[slot]];
}

/* Draws the distinct columns of one row; `seen` has the row for which a column was last drawn. */
static size_t draw_row(const recipe *r, const zipf *z, size_t row, hw_random *random, uint32_t *seen, uint32_t *columns)
{
    *random = stream_of(r, STREAM_ROW, row);
    size_t whole = (size_t)r->per_row, count = whole + (hw_random_uniform(random) < r->per_row - (double)whole);
    for (size_t k = 0; k < count;) {
        uint32_t column = zipf_draw(z, random);
        if (seen[column] == row + 1)
            continue;
        seen[column] = (uint32_t)(row + 1);
        columns[k++] = column;
    }
    return count;
}

/* Rows are drawn twice, to count and to fill, which is cheaper than storing them twice. */
static hawser_status fill_url(const recipe *r, const zipf *z, uint32_t *seen, uint32_t *columns, hawser_dataset *dataset,
                              hawser_error *error)
{
    uint64_t *offsets = NULL;
    uint32_t *indices = NULL;
    double *values = NULL;
    hw_random random;
    HAWSER_TRY(HW_NEW(&offsets, r->cols + 2, "the generated matrix", error));
    hw_dataset_own(dataset, offsets);
    for (size_t i = 0; i < r->rows; i++) {
        size_t count = draw_row(r, z, i, &random, seen, columns);
        for (size_t k = 0; k < count; k++)
            offsets[columns[k] + 2]++;
    }
    for (size_t j = 2; j <= r->cols + 1; j++)
        offsets[j] += offsets[j - 1];
    uint64_t stored = offsets[r->cols + 1];
    HAWSER_TRY(HW_NEW(&indices, stored, "the generated matrix", error));
    hw_dataset_own(dataset, indices);
    HAWSER_TRY(HW_NEW(&values, stored, "the generated matrix", error));
    hw_dataset_own(dataset, values);
    memset(seen, 0, r->cols * sizeof *seen);
    for (size_t i = 0; i < r->rows; i++) {
        size_t count = draw_row(r, z, i, &random, seen, columns);
        hw_random again = random;
        double squares = 0;
        for (size_t k = 0; k < count; k++) {
            double value = 0.5 + hw_random_uniform(&random);
            squares += value * value;
        }
        for (size_t k = 0; k < count; k++) {
            uint64_t place = offsets[columns[k] + 1]++; /* becomes the start of the next column */
            indices[place] = (uint32_t)i;
            values[place] = (0.5 + hw_random_uniform(&again)) / sqrt(squares);
        }
    }
    dataset->matrix = (hawser_matrix){.rows = r->rows,
                                      .cols = r->cols,
                                      .stored = stored,
                                      .layout = HAWSER_CSC,
                                      .type = HAWSER_F64,
                                      .offsets = offsets,
                                      .indices = indices,
                                      .values = values};
    return HAWSER_OK;
}

static hawser_status make_url(const recipe *r, const zipf *z, hawser_dataset *dataset, hawser_error *error)
{
    uint32_t *seen = NULL, *columns = NULL;
    hawser_status status = HW_NEW(&seen, r->cols, "marks of the columns", error);
    HAWSER_THEN(status, HW_NEW(&columns, (size_t)r->per_row + 1, "columns of a row", error));
    HAWSER_THEN(status, fill_url(r, z, seen, columns, dataset, error));
    free(seen);
    free(columns);
    return status;
}

/* ---- both ---- */

/* Draws distinct columns with weights of either sign, of size one or more. With z, popular columns are drawn more often,
 * because a weight on a column that hardly any row has could not be found again. Rarer columns get larger weights, so that
 * each adds about as much to the target. */
static void make_truth(const recipe *r, const zipf *z, const hawser_matrix *matrix, double *truth)
{
    hw_random random = stream_of(r, STREAM_TRUTH, 0);
    for (size_t k = 0; k < r->nonzeros;) {
        size_t column = z != NULL ? zipf_draw(z, &random) : (size_t)hw_random_below(&random, r->cols);
        double size = 1 + fabs(hw_random_normal(&random));
        if (truth[column] != 0)
            continue;
        if (z != NULL)
            size *= sqrt((double)r->rows / (double)(matrix->offsets[column + 1] - matrix->offsets[column] + 1));
        truth[column] = hw_random_next(&random) >> 63 ? -size : size;
        k++;
    }
}

static hawser_status make_target(const recipe *r, const double *truth, hawser_dataset *dataset, hawser_error *error)
{
    double *target = NULL;
    HAWSER_TRY(HW_NEW(&target, r->rows, "the generated target", error));
    hw_dataset_own(dataset, target);
    dataset->target = target;
    hawser_multiply(&dataset->matrix, truth, 0, target);
    double mean = 0, squares = 0;
    for (size_t i = 0; i < r->rows; i++)
        mean += target[i] / (double)r->rows;
    for (size_t i = 0; i < r->rows; i++)
        squares += (target[i] - mean) * (target[i] - mean);
    double size = r->noise * sqrt(squares / (double)r->rows);
    hw_random random = stream_of(r, STREAM_NOISE, 0);
    for (size_t i = 0; i < r->rows; i++)
        target[i] += size * hw_random_normal(&random);
    return HAWSER_OK;
}

static hawser_status generate(const recipe *r, bool url, hawser_dataset *dataset, double *truth, hawser_error *error)
{
    zipf z = {0};
    hawser_status status = url ? zipf_new(r, &z, error) : HAWSER_OK;
    HAWSER_THEN(status, url ? make_url(r, &z, dataset, error) : make_dense(r, dataset, error));
    if (status == HAWSER_OK) {
        make_truth(r, url ? &z : NULL, &dataset->matrix, truth);
        status = make_target(r, truth, dataset, error);
    }
    zipf_free(&z);
    return status;
}

/* Fills in the defaults and refuses impossible sizes. */
static hawser_status read_recipe(const hawser_generate *what, bool *url, recipe *r, uint64_t *bytes, hawser_error *error)
{
    *url = what->kind != NULL && strcmp(what->kind, "url") == 0;
    if (!*url && (what->kind == NULL || strcmp(what->kind, "dense") != 0))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "cannot generate \"%s\"; known kinds are dense and url",
                           what->kind != NULL ? what->kind : "");
    if (what->rows == 0 || what->cols == 0 || what->rows >= UINT32_MAX || what->cols >= UINT32_MAX / 4)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "cannot generate %zu x %zu: rows must be 1 to %u, columns 1 to %u",
                           what->rows, what->cols, UINT32_MAX - 1, UINT32_MAX / 4 - 1);
    double usual = (double)what->cols / 4 < DEFAULT_PER_ROW ? ceil((double)what->cols / 4) : DEFAULT_PER_ROW;
    *r = (recipe){what->rows, what->cols, what->nonzeros, what->per_row, what->noise, what->seed};
    if (r->per_row == 0)
        r->per_row = usual;
    if (*url && !(r->per_row >= 1 && r->per_row <= ((double)what->cols + 1) / 2))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "%g stored entries a row of %zu columns: it must be 1 to half the columns", r->per_row,
                           what->cols);
    if (r->nonzeros == 0)
        r->nonzeros = what->cols < DEFAULT_NONZEROS ? (what->cols + 1) / 2 : DEFAULT_NONZEROS;
    if (*url && what->nonzeros == 0 && what->cols / 300 > r->nonzeros)
        r->nonzeros = what->cols / 300;
    if (r->nonzeros > what->cols)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "a truth of %zu non-zeros does not fit into %zu columns", r->nonzeros,
                           what->cols);
    if (r->noise == 0)
        r->noise = 0.1;
    if (!(r->noise > 0 && r->noise < HUGE_VAL))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "noise %g must be a positive fraction", r->noise);
    double need = *url ? (double)r->rows * (r->per_row + 1) * 12 + (double)r->cols * 40
                       : (double)r->rows * ((double)r->cols + FACTORS + 2) * 8; /* factors, lengths, target */
    uint64_t have = hw_machine_memory(1);
    if (need > (double)have)
        return hawser_fail(error, HAWSER_NO_MEMORY,
                           "generating %zu x %zu needs about %.0f MiB, %.0f MiB are free; ask for less", r->rows, r->cols,
                           need / 1048576, (double)have / 1048576);
    *bytes = (uint64_t)need;
    return HAWSER_OK;
}

hawser_status hawser_dataset_generate(const hawser_generate *what, hawser_dataset **dataset, double **truth,
                                      hawser_error *error)
{
    HW_GIVEN(what);
    HW_GIVEN(dataset);
    bool url;
    recipe r;
    uint64_t bytes = 0;
    double *weights = NULL, start = hw_seconds();
    hawser_dataset *made = NULL;
    *dataset = NULL;
    HAWSER_TRY(read_recipe(what, &url, &r, &bytes, error));
    hawser_status status = hw_dataset_new(&made, error);
    HAWSER_THEN(status, HW_NEW(&weights, r.cols, "the true weights", error));
    HAWSER_THEN(status, generate(&r, url, made, weights, error));
    if (status != HAWSER_OK) {
        free(weights);
        hawser_dataset_free(made);
        return status;
    }
    made->figures.memory_estimate = made->figures.memory_taken = bytes;
    made->figures.seconds = hw_seconds() - start;
    *dataset = made;
    if (truth != NULL)
        *truth = weights;
    else
        free(weights);
    return HAWSER_OK;
}
