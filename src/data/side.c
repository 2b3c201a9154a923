/* side.c - reads what belongs to the rows or columns of an input but is in files of its own. */
#include <string.h>

#include "base/layout.h"
#include "base/memory.h"
#include "data/exposure.h"
#include "data/formats.h"
#include "data/load.h"

/* An exposure of a row of weight 0 may be any number. */
static void spare_exposures(const double *weights, double *values, size_t rows)
{
    for (size_t i = 0; weights != NULL && i < rows; i++)
        if (weights[i] == 0 && !hw_is_exposure(values[i]))
            values[i] = 1;
}

/* Reads one number per row, from any format with a single column. */
static hawser_status read_vector(hw_reading *reading, const char *path, const char *what, uint64_t rows, const double **out,
                                 hawser_dataset *dataset, hawser_error *error)
{
    hawser_dataset *side;
    hawser_load load = {.target = "none", .threads = reading->threads, .memory_limit = reading->budget.limit};
    HAWSER_TRY(hawser_dataset_load(&path, 1, &load, &side, error));
    const hawser_matrix *v = &side->matrix;
    hawser_status status = HAWSER_OK;
    if (v->layout != HAWSER_DENSE || v->cols != 1)
        status = hawser_fail(error, HAWSER_BAD_INPUT, "%s: a file of the %s must have one number per row", path, what);
    else if (dataset->figures.rows_dropped > 0)
        status = hawser_fail(error, HAWSER_BAD_INPUT,
                             "%s: rows were dropped, so the rows of the %s file do not belong to them", path, what);
    else if (v->rows != rows)
        status = hawser_fail(error, HAWSER_BAD_INPUT, "%s: has %zu numbers for the %s of %zu rows", path, v->rows, what,
                             (size_t)rows);
    double *copy = NULL;
    HAWSER_THEN(status, hw_budget_array(&reading->budget, (void **)&copy, v->rows, sizeof *copy, what, error));
    if (status == HAWSER_OK) {
        memcpy(copy, v->values, v->rows * sizeof *copy);
        hw_dataset_own(dataset, copy);
        *out = copy;
        if (strcmp(what, "exposure") == 0)
            spare_exposures(dataset->weights, copy, v->rows);
        if (strcmp(what, "exposure") == 0)
            status = hw_take_exposures(path, copy, v->rows, 0, error);
    }
    hawser_dataset_free(side);
    return status;
}

/* Copies column k of a file of targets. */
static hawser_status take_target(hw_reading *reading, const hawser_dataset *side, size_t k, hawser_dataset *dataset,
                                 hawser_error *error)
{
    const hawser_matrix *v = &side->matrix;
    double *copy = NULL;
    char *name = NULL;
    HAWSER_TRY(hw_budget_array(&reading->budget, (void **)&copy, v->rows, sizeof *copy, "a target", error));
    hw_dataset_own(dataset, copy);
    memcpy(copy, (const double *)v->values + k * v->stride, v->rows * sizeof *copy);
    if (side->columns != NULL) {
        HAWSER_TRY(hw_copy_text(&name, side->columns[k], error));
        hw_dataset_own(dataset, name);
    }
    *(k == 0 ? &dataset->target : &dataset->further[k - 1]) = copy;
    *(k == 0 ? &dataset->target_name : &dataset->further_names[k - 1]) = name;
    dataset->further_count = k;
    return HAWSER_OK;
}

/* Reads a file with a column per target. */
static hawser_status read_targets(hw_reading *reading, const char *path, hawser_dataset *dataset, hawser_error *error)
{
    hawser_dataset *side;
    hawser_load load = {
        .target = "none", .categories = "none", .threads = reading->threads, .memory_limit = reading->budget.limit};
    HAWSER_TRY(hawser_dataset_load(&path, 1, &load, &side, error));
    const hawser_matrix *v = &side->matrix;
    hawser_status status = HAWSER_OK;
    if (v->layout != HAWSER_DENSE || v->cols > 1 + HW_FURTHER_TARGETS)
        status = hawser_fail(error, HAWSER_BAD_INPUT, "%s: a file of targets must have one to %d numbers per row", path,
                             HW_FURTHER_TARGETS + 1);
    else if (dataset->figures.rows_dropped > 0)
        status = hawser_fail(error, HAWSER_BAD_INPUT,
                             "%s: rows were dropped, so the rows of the file of targets do not belong to them", path);
    else if (v->rows != dataset->matrix.rows)
        status = hawser_fail(error, HAWSER_BAD_INPUT, "%s: has %zu lines for the targets of %zu rows", path, v->rows,
                             dataset->matrix.rows);
    for (size_t k = 0; status == HAWSER_OK && k < v->cols; k++)
        status = take_target(reading, side, k, dataset, error);
    hawser_dataset_free(side);
    return status;
}

/* Returns the number of columns of the input, including those that a model does not have; SIZE_MAX: unknown. */
static size_t known_width(const hw_reading *reading, const hawser_dataset *dataset)
{
    const hawser_load_figures *figures = &dataset->figures;
    if (hw_is_dense(&dataset->matrix))
        return dataset->matrix.cols + (size_t)figures->unseen_columns;
    return hw_format_is(figures->format, HW_FORMAT_NUMBERED) || reading->load->columns != 0 ? SIZE_MAX
                                                                                            : dataset->matrix.cols;
}

/* Splits names, one per line: pointers, then the text with line ends replaced by zeros. */
static hawser_status split_names(const hw_reading *reading, const char *path, const char *text, size_t bytes,
                                 hawser_dataset *dataset, hawser_error *error)
{
    size_t cols = dataset->matrix.cols, found = 0;
    char **block;
    HAWSER_TRY(hw_new_array((void **)&block, cols * sizeof *block + bytes + 1, 1, "column names", error));
    hw_dataset_own(dataset, block);
    char *names = (char *)(block + cols);
    memcpy(names, text, bytes);
    for (char *at = names; at < names + bytes; found++) {
        char *stop = memchr(at, '\n', (size_t)(names + bytes - at));
        stop = stop != NULL ? stop : names + bytes;
        *stop = '\0';
        if (stop > at && stop[-1] == '\r')
            stop[-1] = '\0';
        HAWSER_TRY(hw_check_name(path, at, found, error));
        if (found < cols)
            block[found] = at;
        at = stop + 1;
    }
    if (found < cols || found > known_width(reading, dataset))
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: has %zu names for %zu columns", path, found, cols);
    dataset->columns = (const char *const *)block;
    return HAWSER_OK;
}

static hawser_status read_names(hw_reading *reading, const char *path, hawser_dataset *dataset, hawser_error *error)
{
    hw_input input;
    const char *text;
    enum { FREE = 64 << 20, EACH = 4096 }; /* limits for unpacked names, in bytes */
    uint64_t most = FREE + (uint64_t)dataset->matrix.cols * EACH;
    void *buffer = NULL;
    size_t bytes, capacity = 0;
    hawser_status status = hw_input_open(&input, &path, 1, &reading->budget, error);
    HAWSER_THEN(status, hw_input_whole(&input, 0, most, &text, &bytes, &buffer, &capacity, error));
    if (status == HAWSER_OK && buffer != NULL && bytes > most)
        status = hawser_fail(error, HAWSER_BAD_INPUT, "%s: has more than %llu bytes of names for %zu columns", path,
                             (unsigned long long)most, dataset->matrix.cols);
    HAWSER_THEN(status, split_names(reading, path, text, bytes, dataset, error));
    HAWSER_THEN(status, hw_dataset_check_names(dataset->columns, dataset->matrix.cols, path, HAWSER_BAD_INPUT, error));
    hw_pages_free(&reading->budget, buffer, capacity);
    hw_input_close(&input);
    return status;
}

hawser_status hw_check_weights(const char *name, const double *weights, size_t count, size_t first, hawser_error *error)
{
    for (size_t i = 0; weights != NULL && i < count; i++)
        if (weights[i] < 0)
            return hawser_fail(
                error, HAWSER_BAD_INPUT,
                "%s: the weight of row %zu is negative: %g; weights are 0 or more, so remove the row or correct it", name,
                first + i + 1, weights[i]);
    return HAWSER_OK;
}

hawser_status hw_load_weights(hw_reading *reading, uint64_t rows, hawser_dataset *dataset, hawser_error *error)
{
    const char *path = reading->load->weights;
    if (path == NULL || dataset->weights != NULL || !hw_is_file(path))
        return HAWSER_OK;
    HAWSER_TRY(read_vector(reading, path, "weights", rows, &dataset->weights, dataset, error));
    return hw_check_weights(path, dataset->weights, rows, 0, error);
}

hawser_status hw_load_weights_ahead(hw_reading *reading, double **weights, uint64_t *count, hawser_error *error)
{
    const char *path = reading->load->weights;
    hawser_dataset *side;
    hawser_load load = {.target = "none", .threads = reading->threads, .memory_limit = reading->budget.limit};
    *count = 0;
    if (!hw_is_file(path))
        return HAWSER_OK;
    HAWSER_TRY(hawser_dataset_load(&path, 1, &load, &side, error));
    const hawser_matrix *v = &side->matrix;
    hawser_status status = HAWSER_OK;
    if (v->layout == HAWSER_DENSE && v->cols == 1) { /* else hw_load_weights refuses it */
        status = HW_NEW(weights, v->rows, "weights", error);
        *count = status == HAWSER_OK ? v->rows : 0;
    }
    if (*count > 0)
        memcpy(*weights, v->values, *count * sizeof **weights);
    hawser_dataset_free(side);
    return status;
}

/* CSV, npy and idx have searched for a column of that name first; svmlight has its target in the rows. */
hawser_status hw_load_side_files(hw_reading *reading, hawser_dataset *dataset, hawser_error *error)
{
    const hawser_load *load = reading->load;
    const char *specs[] = {load->target, load->weights, hw_load_offset(load)};
    const char *const what[] = {"target", "weights", hw_load_exposes(load) ? "exposure" : "offset"};
    const double *in_rows = dataset->weights;
    const double **const out[] = {&dataset->target, &dataset->weights, &dataset->offset};
    for (int i = 0; i < 3; i++) {
        if (specs[i] == NULL || strcmp(specs[i], "none") == 0 || *out[i] != NULL || (i == 0 && load->target_optional))
            continue;
        if (!hw_is_file(specs[i]))
            return hawser_fail(
                error, HAWSER_BAD_INPUT,
                "the %s '%s' is not a file, and this format has no columns by name; name a file with one number per "
                "row",
                what[i], specs[i]);
        if (i == 0 && load->outputs)
            HAWSER_TRY(read_targets(reading, specs[i], dataset, error));
        else
            HAWSER_TRY(read_vector(reading, specs[i], what[i], dataset->matrix.rows, out[i], dataset, error));
        dataset->figures.target_file |= i == 0;
    }
    const char *name = dataset->weights != in_rows ? load->weights
                       : reading->input.count > 0  ? reading->input.files[0].name
                                                   : "the input";
    HAWSER_TRY(hw_check_weights(name, dataset->weights, dataset->matrix.rows, 0, error));
    return load->names != NULL ? read_names(reading, load->names, dataset, error) : HAWSER_OK;
}
