/* split.c - hawser data split: cuts a data set into runs of rows, or draws rows at random. */
#include <stdlib.h>
#include <string.h>

#include "base/layout.h"
#include "base/memory.h"
#include "base/random.h"
#include "cli/split.h"
#include "data/dataset.h"
#include "data/formats.h"
#include "data/layout/flip.h"

enum { SPLIT_STREAM = 0x73706c69 };

const hawser_option *hw_data_split_rows(void)
{
    static const hawser_option rows[] = {
        {"output", HAWSER_PATH, NULL, NULL, "PREFIX", "prefix of the names of the files", NULL, 'o'},
        {"parts", HAWSER_INTEGER, NULL, "[1,65536]", "N", "write N ranges of rows with similar numbers of stored entries",
         NULL, 0},
        {"fraction", HAWSER_NUMBER, NULL, "(0,1)", "F", "draw this fraction of the rows at random for the test file", NULL,
         0},
        {"seed", HAWSER_INTEGER, "0", "[0,inf)", "N", "seed of the draw", NULL, 0},
        {"to", HAWSER_WORD, NULL, HW_EXTENSION_BOUNDS, "FORMAT",
         "format of the files, by extension; svm for sparse input, csv for dense if unset", NULL, 0},
        {"quiet", HAWSER_FLAG, "no", NULL, NULL, "print only errors on standard error", NULL, 'q'},
        {0},
    };
    return rows;
}

static const char *extension_of(const hw_call *call, const hawser_dataset *data)
{
    const char *to = hawser_options_text(call->options, "to");
    bool dense = hw_is_dense(hawser_dataset_matrix(data));
    return to != NULL ? to : hw_format_row_of(dense ? HAWSER_CSV : HAWSER_SVMLIGHT)->extension;
}

hawser_status hw_split_path(const hw_call *call, const char *extension, const char *middle, char path[HW_SPLIT_PATH],
                            hawser_error *error)
{
    int length = snprintf(path, HW_SPLIT_PATH, "%s.%s.%s", hw_path_of(call, "output"), middle, extension);
    if (length < 0 || length >= HW_SPLIT_PATH)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--output: the prefix is longer than a path may be");
    return HAWSER_OK;
}

hawser_status hw_split_check_parts(const hw_call *call, const char *extension, size_t parts, hawser_error *error)
{
    char path[HW_SPLIT_PATH], middle[24];
    for (size_t p = 0; p < (parts > 0 ? parts : 2); p++) {
        snprintf(middle, sizeof middle, "%s", p > 0 ? "test" : "train");
        if (parts > 0)
            snprintf(middle, sizeof middle, "%zu", p + 1);
        HAWSER_TRY(hw_split_path(call, extension, middle, path, error));
        HAWSER_TRY(hw_check_spares_data(call, path, error));
    }
    return HAWSER_OK;
}

static hawser_status write_rows(const hw_call *call, const hawser_dataset *data, size_t begin, size_t end,
                                const char *middle, hawser_error *error)
{
    char path[HW_SPLIT_PATH];
    hawser_format format;
    HAWSER_TRY(hw_split_path(call, extension_of(call, data), middle, path, error));
    HAWSER_TRY(hw_format_of_path(path, &format, error));
    HAWSER_TRY(hawser_dataset_write(data, begin, end, format, path, error));
    fprintf(call->out, "%s\t%zu rows\n", path, end - begin);
    return HAWSER_OK;
}

hawser_status hw_split_check_rows(size_t parts, size_t rows, hawser_error *error)
{
    return parts <= rows ? HAWSER_OK
                         : hawser_fail(error, HAWSER_BAD_OPTION, "--parts %zu: the input has only %zu rows", parts, rows);
}

size_t hw_split_bound(size_t rows, size_t p, size_t parts)
{
    return (size_t)((double)rows * (double)p / (double)parts);
}

/* Cuts sparse rows by their entries, other rows by number. */
static hawser_status split_parts(const hw_call *call, const hawser_dataset *data, hawser_error *error)
{
    const hawser_matrix *matrix = hawser_dataset_matrix(data);
    size_t parts = (size_t)hawser_options_integer(call->options, "parts"), *bounds = NULL;
    HAWSER_TRY(hw_split_check_rows(parts, matrix->rows, error));
    HAWSER_TRY(HW_NEW(&bounds, parts + 1, "the parts' bounds", error));
    if (matrix->layout == HAWSER_CSR)
        hawser_balance(matrix, parts, bounds);
    else
        for (size_t p = 0; p <= parts; p++)
            bounds[p] = hw_split_bound(matrix->rows, p, parts);
    hawser_status status = HAWSER_OK;
    for (size_t p = 0; status == HAWSER_OK && p < parts; p++) {
        char number[24];
        snprintf(number, sizeof number, "%zu", p + 1);
        status = write_rows(call, data, bounds[p], bounds[p + 1], number, error);
    }
    free(bounds);
    return status;
}

/* ------------------------------------------------------------------------------------------------ random draw ---- */

/* Draws the rows of the train part, in their order, followed by those of the test part: exactly round(fraction * rows), one
 * by one, so that every set of that size is equally likely. */
static size_t draw(size_t rows, double fraction, uint64_t seed, uint32_t *order)
{
    hw_random random = hw_random_at(seed, SPLIT_STREAM, 0, 0);
    size_t wanted = (size_t)((double)rows * fraction + 0.5), train = 0, test = 0, left = wanted;
    for (size_t i = 0; i < rows; i++) {
        if (hw_random_below(&random, rows - i) < left) {
            order[rows - wanted + test++] = (uint32_t)i;
            left--;
        } else {
            order[train++] = (uint32_t)i;
        }
    }
    return rows - wanted;
}

static hawser_status order_doubles(hawser_dataset *to, const double *from, const uint32_t *order, const double **out,
                                   hawser_error *error)
{
    double *copy = NULL;
    if (from == NULL)
        return HAWSER_OK;
    HAWSER_TRY(HW_NEW(&copy, to->matrix.rows, "a column in another order", error));
    hw_dataset_own(to, copy);
    for (size_t i = 0; i < to->matrix.rows; i++)
        copy[i] = from[order[i]];
    *out = copy;
    return HAWSER_OK;
}

static hawser_status order_sparse(hawser_dataset *to, const hawser_matrix *from, const uint32_t *order, hawser_error *error)
{
    size_t width = hw_type_size(from->type);
    uint64_t *offsets = NULL;
    uint32_t *indices = NULL;
    void *values = NULL;
    HAWSER_TRY(HW_NEW(&offsets, from->rows + 1, "rows in another order", error));
    hw_dataset_own(to, offsets);
    HAWSER_TRY(HW_NEW(&indices, from->stored, "rows in another order", error));
    hw_dataset_own(to, indices);
    HAWSER_TRY(hw_new_array(&values, from->stored, width, "rows in another order", error));
    hw_dataset_own(to, values);
    for (size_t i = 0; i < from->rows; i++) {
        uint64_t begin = from->offsets[order[i]], length = from->offsets[order[i] + 1] - begin;
        memcpy(indices + offsets[i], from->indices + begin, length * sizeof *indices);
        memcpy((char *)values + offsets[i] * width, (const char *)from->values + begin * width, length * width);
        offsets[i + 1] = offsets[i] + length;
    }
    to->matrix.offsets = offsets;
    to->matrix.indices = indices;
    to->matrix.values = values;
    return HAWSER_OK;
}

static hawser_status order_dense(hawser_dataset *to, const hawser_matrix *from, const uint32_t *order, hawser_error *error)
{
    bool single = from->type == HAWSER_F32;
    void *values = NULL;
    HAWSER_TRY(hw_new_array(&values, from->rows * from->cols, single ? sizeof(float) : sizeof(double),
                            "rows in another order", error));
    hw_dataset_own(to, values);
    to->matrix.values = values;
    to->matrix.stride = hw_line_width(from);
    for (size_t i = 0; i < from->rows; i++)
        for (size_t j = 0; j < from->cols; j++) {
            uint64_t at = hw_dense_place(&to->matrix, i, j), source = hw_dense_place(from, order[i], j);
            if (single)
                ((float *)values)[at] = ((const float *)from->values)[source];
            else
                ((double *)values)[at] = ((const double *)from->values)[source];
        }
    return HAWSER_OK;
}

/* Makes a data set of the same rows in another order; its names belong to `from`. */
static hawser_status order_rows(const hawser_dataset *from, const uint32_t *order, hawser_dataset **out, hawser_error *error)
{
    hawser_dataset *to;
    HAWSER_TRY(hw_dataset_new(&to, error));
    to->matrix = from->matrix;
    to->columns = from->columns;
    to->target_name = from->target_name;
    to->figures.index_base = from->figures.index_base;
    hawser_status status = hw_is_dense(&from->matrix) ? order_dense(to, &from->matrix, order, error)
                                                      : order_sparse(to, &from->matrix, order, error);
    HAWSER_THEN(status, hw_equals_copy(&to->equals, &from->equals, error));
    HAWSER_THEN(status, order_doubles(to, from->target, order, &to->target, error));
    HAWSER_THEN(status, order_doubles(to, from->weights, order, &to->weights, error));
    HAWSER_THEN(status, order_doubles(to, from->offset, order, &to->offset, error));
    if (status == HAWSER_OK)
        *out = to;
    else
        hawser_dataset_free(to);
    return status;
}

hawser_status hw_split_draw(const hw_call *call, size_t rows, uint32_t **order, size_t *train, hawser_error *error)
{
    double fraction = hawser_options_number(call->options, "fraction");
    HAWSER_TRY(HW_NEW(order, rows, "the order of rows", error));
    *train = draw(rows, fraction, (uint64_t)hawser_options_integer(call->options, "seed"), *order);
    if (*train == 0 || *train == rows)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--fraction %g of %zu rows leaves one of the two files without rows",
                           fraction, rows);
    return HAWSER_OK;
}

static hawser_status split_fraction(const hw_call *call, const hawser_dataset *data, hawser_error *error)
{
    size_t rows = hawser_dataset_matrix(data)->rows, train;
    uint32_t *order = NULL;
    hawser_dataset *ordered = NULL;
    hawser_status status = hw_split_draw(call, rows, &order, &train, error);
    HAWSER_THEN(status, order_rows(data, order, &ordered, error));
    HAWSER_THEN(status, write_rows(call, ordered, 0, train, "train", error));
    HAWSER_THEN(status, write_rows(call, ordered, train, rows, "test", error));
    hawser_dataset_free(ordered);
    free(order);
    return status;
}

/* A training maps a dense cache in place if it is stored by columns, so the caches that are written are. */
static hawser_status suit_caches(const hw_call *call, hawser_dataset *data, hawser_error *error)
{
    hw_flipped flipped;
    const hw_format_row *cache = hw_format_row_of(HAWSER_CACHE);
    if (data->matrix.layout != HAWSER_DENSE_ROWS || strcmp(extension_of(call, data), cache->extension) != 0)
        return HAWSER_OK;
    HAWSER_TRY(hw_flip_dense(&data->matrix, &flipped, error));
    hw_dataset_own(data, flipped.values);
    data->matrix = flipped.matrix;
    return HAWSER_OK;
}

/* Words and dates of a table have become columns of numbers, which may not be what was meant. */
static void say_words(const hw_call *call, const hawser_dataset *data)
{
    if (hawser_dataset_schema(data) != NULL && !hawser_options_flag(call->options, "quiet"))
        fprintf(call->err,
                "hawser: words and dates were written as columns of numbers; the lines of a CSV file are copied as they "
                "are if no option on columns is given\n");
}

hawser_status hw_data_split(hw_call *call, hawser_error *error)
{
    bool parts = hawser_options_has(call->options, "parts"), fraction = hawser_options_has(call->options, "fraction");
    if (hw_path_of(call, "output") == NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION, "where to? give -o PREFIX");
    if (parts == fraction)
        return hawser_fail(error, HAWSER_BAD_OPTION, "give either --parts N or --fraction F");
    HAWSER_TRY(hw_refuse_idle(call, "seed", parts, "parts are runs of rows, and nothing is drawn", error));
    hawser_load how;
    hawser_dataset *data;
    HAWSER_TRY(hawser_load_from_options(call->options, &how, error));
    bool done = false;
    if (hw_split_copies(call))
        HAWSER_TRY(hw_split_lines(call, &how, &done, error));
    if (done)
        return HAWSER_OK;
    how.rows_layout = 1;
    HAWSER_TRY(hw_load_as(call, call->words, call->count, &how, &data, error));
    size_t count = parts ? (size_t)hawser_options_integer(call->options, "parts") : 0;
    say_words(call, data);
    hawser_status status = hw_split_check_parts(call, extension_of(call, data), count, error);
    HAWSER_THEN(status, suit_caches(call, data, error));
    HAWSER_THEN(status, parts ? split_parts(call, data, error) : split_fraction(call, data, error));
    hawser_dataset_free(data);
    return status;
}
