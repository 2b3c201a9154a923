/* rows.c - the data of the linear SVM by rows, its stochastic gradient steps and its loss. */
#include <stdlib.h>
#include <string.h>

#include "../curve.h"
#include "svm.h"

static hawser_status take_words(svm *self, char *const *words, int count, hawser_error *error)
{
    double numbers[4] = {0, 0, 0.5, 1e-5};
    if (count < 2 || count > 4)
        return hawser_fail(error, HAWSER_BAD_OPTION, "usage: DATA BATCH CLOCKS [RATE [PENALTY]] and options of the job");
    for (int i = 0; i < count; i++)
        HAWSER_TRY(curve_number(words[i], 1e9, &numbers[i], error));
    self->batch = (size_t)numbers[0];
    self->clocks = (uint64_t)numbers[1];
    self->rate = numbers[2];
    self->penalty = numbers[3];
    return HAWSER_OK;
}

static void *allocate(size_t count, size_t size, hawser_error *error)
{
    void *memory = calloc(count == 0 ? 1 : count, size);
    if (memory == NULL)
        (void)hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu rows, columns or entries", count);
    return memory;
}

/* Makes rows without entries yet. */
static hawser_status make_rows(svm *self, const hawser_matrix *columns, hawser_error *error)
{
    size_t n = columns->rows, stored = (size_t)columns->stored;
    self->matrix = (hawser_matrix){.rows = n,
                                   .cols = columns->cols,
                                   .stored = stored,
                                   .layout = HAWSER_CSR,
                                   .offsets = allocate(n + 1, sizeof(uint64_t), error),
                                   .indices = allocate(stored, sizeof(uint32_t), error),
                                   .values = allocate(stored, sizeof(double), error)};
    self->labels = allocate(n, sizeof *self->labels, error);
    self->share = allocate(columns->cols, sizeof *self->share, error);
    bool fine = self->matrix.offsets != NULL && self->matrix.indices != NULL && self->matrix.values != NULL &&
                self->labels != NULL && self->share != NULL;
    return fine ? HAWSER_OK : HAWSER_NO_MEMORY;
}

/* Turns sparse columns into rows; entries of a row stay in the order of their columns. */
static hawser_status turn(svm *self, const hawser_matrix *columns, hawser_error *error)
{
    HAWSER_TRY(make_rows(self, columns, error));
    size_t n = columns->rows;
    uint64_t *offsets = (uint64_t *)self->matrix.offsets, *next = allocate(n + 1, sizeof *next, error);
    uint32_t *indices = (uint32_t *)self->matrix.indices;
    double *values = (double *)self->matrix.values;
    if (next == NULL)
        return HAWSER_NO_MEMORY;
    const uint64_t *from = columns->offsets;
    for (uint64_t k = from[0]; k < from[columns->cols]; k++)
        offsets[columns->indices[k] + 1]++;
    for (size_t i = 0; i < n; i++)
        offsets[i + 1] += offsets[i];
    memcpy(next, offsets, n * sizeof *next);
    for (size_t j = 0; j < columns->cols; j++) {
        self->share[j] = (double)(from[j + 1] - from[j]) / (double)n;
        for (uint64_t k = from[j]; k < from[j + 1]; k++) {
            uint64_t to = next[columns->indices[k]]++;
            indices[to] = (uint32_t)j;
            values[to] = ((const double *)columns->values)[k];
        }
    }
    free(next);
    return HAWSER_OK;
}

/* Makes rows with all entries of dense columns. */
static hawser_status turn_dense(svm *self, const hawser_matrix *columns, hawser_error *error)
{
    HAWSER_TRY(make_rows(self, columns, error));
    size_t n = columns->rows, d = columns->cols;
    for (size_t i = 0; i < n; i++)
        ((uint64_t *)self->matrix.offsets)[i + 1] = (i + 1) * d;
    for (size_t j = 0; j < d; j++) {
        self->share[j] = 1;
        for (size_t i = 0; i < n; i++) {
            ((uint32_t *)self->matrix.indices)[i * d + j] = (uint32_t)j;
            ((double *)self->matrix.values)[i * d + j] = ((const double *)columns->values)[j * columns->stride + i];
        }
    }
    return HAWSER_OK;
}

hawser_status svm_open(svm *self, const char *path, char *const *words, int count, hawser_error *error)
{
    memset(self, 0, sizeof *self);
    HAWSER_TRY(take_words(self, words, count, error));
    hawser_dataset *data = NULL;
    const hawser_load load = {0};
    HAWSER_TRY(hawser_dataset_load(&path, 1, &load, &data, error));
    const hawser_matrix *matrix = hawser_dataset_matrix(data);
    const double *target = hawser_dataset_target(data);
    hawser_status status = HAWSER_OK;
    bool sparse = matrix->layout == HAWSER_CSC;
    if ((!sparse && matrix->layout != HAWSER_DENSE) || matrix->type != HAWSER_F64 || target == NULL)
        status = hawser_fail(error, HAWSER_BAD_INPUT, "%s has no columns of f64 with a target", path);
    if (status == HAWSER_OK)
        status = sparse ? turn(self, matrix, error) : turn_dense(self, matrix, error);
    for (size_t i = 0; status == HAWSER_OK && i < matrix->rows; i++)
        self->labels[i] = target[i] < 0 ? -1 : 1;
    hawser_dataset_free(data);
    return status;
}

void svm_close(svm *self)
{
    free((void *)self->matrix.offsets);
    free((void *)self->matrix.indices);
    free((void *)self->matrix.values);
    free(self->labels);
    free(self->share);
}

static double score(const hawser_matrix *rows, size_t row, const double *w)
{
    double sum = 0;
    for (uint64_t k = rows->offsets[row]; k < rows->offsets[row + 1]; k++)
        sum += ((const double *)rows->values)[k] * w[rows->indices[k]];
    return sum;
}

void svm_learn(const svm *self, const hawser_matrix *rows, size_t first, double steps, double *w)
{
    for (size_t i = 0; i < self->batch; i++) {
        size_t row = (first + i) % rows->rows;
        double label = self->labels[rows->first + row],
               rate = self->rate / (1 + self->rate * self->penalty * (steps + (double)i));
        double step = label * score(rows, row, w) < 1 ? rate * label : 0;
        for (uint64_t k = rows->offsets[row]; k < rows->offsets[row + 1]; k++) {
            uint32_t j = rows->indices[k];
            double shrink = rate * self->penalty / self->share[j]; /* on average over rows that is rate x penalty */
            w[j] += step * ((const double *)rows->values)[k] - (shrink < 0.5 ? shrink : 0.5) * w[j];
        }
    }
}

double svm_hinge(const svm *self, const hawser_matrix *rows, const double *w)
{
    double sum = 0;
    for (size_t i = 0; i < rows->rows; i++) {
        double margin = 1 - self->labels[rows->first + i] * score(rows, i, w);
        sum += margin > 0 ? margin : 0;
    }
    return sum;
}

double svm_objective(const svm *self, const double *w)
{
    return svm_hinge(self, &self->matrix, w) / (double)self->matrix.rows +
           self->penalty / 2 * hawser_dot(self->matrix.cols, w, w, NULL);
}
