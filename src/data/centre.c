#include "data/centre.h"

#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/argument.h"
#include "base/layout.h"
#include "base/memory.h"
#include "data/residence.h"

enum { SAMPLES = 31 };

static const double NEAR = 0x1p-12; /* of the centre: solvers keep enough digits of columns that are nearer to zero */

/* ---- which columns are far from zero ---- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double value_at(const hw_centre_column *column, uint64_t entry)
{
    return hw_value_at(column->values, column->type, entry * column->step);
}

static bool counts(const hw_centre_column *column, uint64_t entry)
{
    return column->weights == NULL ||
           column->weights[column->indices != NULL ? column->indices[entry] : (size_t)entry] > 0.0;
}

/* Returns the median of some values, or 0 if most of them are not near it: then the column is not far from zero. */
static double sampled(const hw_centre_column *column)
{
    double sample[SAMPLES];
    size_t count = 0, near = 0;
    for (uint64_t k = 0; k < SAMPLES && column->stored > 0; k++) {
        uint64_t entry = k * (column->stored - 1) / (SAMPLES - 1);
        if (counts(column, entry))
            sample[count++] = value_at(column, entry);
    }
    if (count == 0)
        return 0.0;
    qsort(sample, count, sizeof *sample, compare);
    double median = sample[count / 2];
    for (size_t k = 0; k < count; k++)
        near += fabs(sample[k] - median) <= NEAR * fabs(median);
    return 2 * near >= count ? median : 0.0;
}

double hw_centre_of(const hw_centre_column *column)
{
    double centre = 2 * column->stored >= column->rows ? sampled(column) : 0.0;
    uint64_t counted = 0, near = 0;
    bool differ = false;
    if (centre == 0.0)
        return 0.0;
    for (uint64_t k = 0; k < column->stored; k++) {
        double distance = fabs(value_at(column, k) - centre);
        if (!counts(column, k))
            continue;
        counted++;
        near += distance <= NEAR * fabs(centre);
        differ |= distance <= NEAR * fabs(centre) && distance > 0.0;
    }
    return differ && 2 * near >= counted + (column->rows - column->stored) ? centre : 0.0;
}

double hawser_origin_of(const double *values, const double *weights, size_t rows)
{
    hw_centre_column column = {
        .values = values, .type = HAWSER_F64, .stored = rows, .step = 1, .rows = rows, .weights = weights};
    return values != NULL ? hw_centre_of(&column) : 0.0;
}

void hw_centre_columns(const hawser_dataset *dataset, double *origin)
{
    const hawser_matrix *A = &dataset->matrix;
    for (size_t j = 0; j < A->cols; j++) {
        hw_centre_column column = {.type = A->type, .rows = A->rows, .weights = dataset->weights, .step = 1};
        origin[j] = 0.0;
        if (A->layout == HAWSER_CSR || (A->residence != NULL && !hw_is_here(A->residence, (uint32_t)j)))
            continue;
        uint64_t first = hw_is_dense(A) ? hw_dense_place(A, 0, j) : A->offsets[j];
        column.stored = hw_is_dense(A) ? A->rows : A->offsets[j + 1] - first;
        column.step = A->layout == HAWSER_DENSE_ROWS ? A->stride : 1;
        column.indices = hw_is_dense(A) ? NULL : A->indices + first;
        column.values = (const char *)A->values + first * hw_type_size(A->type);
        origin[j] = hw_centre_of(&column);
    }
}

/* ---- a copy without what is subtracted ---- */

/* The copy, whose arrays cover the whole in address space; only the columns of this node take memory. */
typedef struct copy {
    const hawser_matrix *from;
    const double *origin;
    uint32_t *centred; /* the columns with an origin, ascending */
    size_t count;
    hawser_matrix to;
} copy;

static void put(const copy *c, uint64_t at, double value)
{
    if (c->to.type == HAWSER_F32)
        ((float *)c->to.values)[at] = (float)value;
    else
        ((double *)c->to.values)[at] = value;
}

static double get(const copy *c, uint64_t at)
{
    return hw_value_at(c->from->values, c->from->type, at);
}

static bool is_absent(const copy *c, size_t line)
{
    return c->from->residence != NULL && !hw_is_here(c->from->residence, (uint32_t)line);
}

static void fill_dense(const copy *c)
{
    bool by_row = hw_is_by_row(c->from);
    size_t width = hw_line_width(c->from);
    for (size_t line = 0; line < hw_lines(c->from); line++)
        for (size_t k = 0; k < width && !is_absent(c, line); k++)
            put(c, line * width + k, get(c, line * c->from->stride + k) - c->origin[by_row ? k : line]);
}

/* Rows of a centred column that have no entry are zeros, and get one. */
static void fill_columns(const copy *c)
{
    uint32_t *indices = (uint32_t *)(uintptr_t)c->to.indices;
    for (size_t j = 0; j < c->from->cols; j++) {
        uint64_t first = c->from->offsets[j], end = c->from->offsets[j + 1], at = c->to.offsets[j];
        double origin = c->origin[j];
        if (is_absent(c, j))
            continue;
        for (size_t i = 0; origin != 0.0 && i < c->from->rows; i++) {
            indices[at + i] = (uint32_t)i;
            put(c, at + i, -origin);
        }
        for (uint64_t e = first; e < end; e++) {
            uint32_t row = c->from->indices[e];
            uint64_t place = origin != 0.0 ? at + row : at + (e - first);
            indices[place] = row;
            put(c, place, get(c, e) - origin);
        }
    }
}

/* Appends what a row lacks before column `column`: entries of centred columns. Returns the next place. */
static uint64_t fill_before(const copy *c, size_t *next, size_t column, uint64_t at)
{
    for (; *next < c->count && c->centred[*next] < column; ++*next, at++) {
        ((uint32_t *)(uintptr_t)c->to.indices)[at] = c->centred[*next];
        put(c, at, -c->origin[c->centred[*next]]);
    }
    return at;
}

static void fill_rows(const copy *c)
{
    for (size_t i = 0; i < c->from->rows; i++) {
        size_t next = 0;
        uint64_t at = c->to.offsets[i];
        for (uint64_t e = c->from->offsets[i]; e < c->from->offsets[i + 1]; e++, at++) {
            uint32_t column = c->from->indices[e];
            at = fill_before(c, &next, column, at);
            next += next < c->count && c->centred[next] == column;
            ((uint32_t *)(uintptr_t)c->to.indices)[at] = column;
            put(c, at, get(c, e) - c->origin[column]);
        }
        fill_before(c, &next, c->from->cols, at);
    }
}

/* Counts the entries of each line of a sparse copy. */
static void count_entries(const copy *c, uint64_t *offsets)
{
    const hawser_matrix *A = c->from;
    for (size_t line = 0; line < hw_lines(A); line++) {
        uint64_t stored = A->offsets[line + 1] - A->offsets[line];
        if (A->layout == HAWSER_CSC && c->origin[line] != 0.0)
            stored = A->rows;
        if (A->layout == HAWSER_CSR) {
            size_t both = 0;
            for (uint64_t e = A->offsets[line]; e < A->offsets[line + 1]; e++)
                both += c->origin[A->indices[e]] != 0.0;
            stored += c->count - both;
        }
        offsets[line + 1] = offsets[line] + stored;
    }
}

static hawser_status make_arrays(copy *c, hawser_dataset *made, hawser_error *error)
{
    const hawser_matrix *A = c->from;
    uint64_t *offsets = NULL;
    c->to = (hawser_matrix){.rows = A->rows, .cols = A->cols, .layout = A->layout, .type = A->type};
    if (hw_is_dense(A)) {
        c->to.stored = (uint64_t)A->rows * A->cols;
        c->to.stride = hw_line_width(A);
    } else {
        HAWSER_TRY(HW_NEW(&offsets, hw_lines(A) + 1, "centred columns", error));
        hw_dataset_own(made, offsets);
        count_entries(c, offsets);
        c->to.offsets = offsets;
        c->to.stored = offsets[hw_lines(A)];
    }
    size_t indices = hw_is_dense(A) ? 0 : c->to.stored * sizeof(uint32_t);
    indices = (indices + HW_ALIGNMENT - 1) / HW_ALIGNMENT * HW_ALIGNMENT;
    made->mapping_bytes = indices + c->to.stored * hw_type_size(A->type) + HW_ALIGNMENT;
    void *map = mmap(NULL, made->mapping_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory to centre columns far from zero, in a copy of %llu entries",
                           (unsigned long long)c->to.stored);
    made->mapping = map;
    made->file = NULL; /* the copy is of no file, though what is beside its entries may be */
    made->lent = false;
    c->to.indices = hw_is_dense(A) ? NULL : map;
    c->to.values = (char *)map + indices;
    return HAWSER_OK;
}

static hawser_status fill(copy *c, hawser_dataset *made, hawser_error *error)
{
    const struct hawser_residence *residence = c->from->residence;
    HAWSER_TRY(HW_NEW(&c->centred, c->from->cols, "centred columns", error));
    for (size_t j = 0; j < c->from->cols; j++)
        if (c->origin[j] != 0.0)
            c->centred[c->count++] = (uint32_t)j;
    HAWSER_TRY(make_arrays(c, made, error));
    if (hw_is_dense(c->from))
        fill_dense(c);
    else if (c->from->layout == HAWSER_CSC)
        fill_columns(c);
    else
        fill_rows(c);
    made->matrix = c->to;
    if (residence == NULL)
        return HAWSER_OK;
    HAWSER_TRY(hw_residence_like(residence, &made->matrix, &made->residence, error));
    made->matrix.residence = made->residence;
    return HAWSER_OK;
}

hawser_status hawser_dataset_centre(const hawser_dataset *dataset, const double *origin, hawser_dataset **centred,
                                    hawser_error *error)
{
    HW_GIVEN(dataset);
    HW_GIVEN(origin);
    HW_GIVEN(centred);
    *centred = NULL;
    const struct hawser_residence *residence = dataset->matrix.residence;
    if (residence != NULL && residence->rows != NULL)
        return hawser_matrix_whole(&dataset->matrix, error);
    hawser_dataset *made = NULL;
    HAWSER_TRY(hw_dataset_lend(dataset, &made, error));
    copy c = {.from = &dataset->matrix, .origin = origin};
    hawser_status status = fill(&c, made, error);
    free(c.centred);
    if (status != HAWSER_OK) {
        hawser_dataset_free(made);
        return status;
    }
    *centred = made;
    return HAWSER_OK;
}
