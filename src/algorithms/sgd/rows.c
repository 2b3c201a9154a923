#include "algorithms/sgd/rows.h"

#include <string.h>

#include "algorithms/solve/entries.h"
#include "hawser/advanced.h"

hawser_status hw_rows_new(hw_rows *rows, const hawser_matrix *X, bool by_row, hawser_error *error)
{
    *rows = (hw_rows){.X = *X};
    if (!by_row || X->layout == HAWSER_DENSE)
        return HAWSER_OK;
    rows->offsets = hw_array_new(&rows->arrays, X->rows + 2, sizeof *rows->offsets);
    rows->columns = hw_array_new(&rows->arrays, X->stored + 1, sizeof *rows->columns);
    rows->values = hw_array_new(&rows->arrays, X->stored + 1, sizeof *rows->values);
    if (rows->arrays.failed)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %llu entries by rows", (unsigned long long)X->stored);
    uint64_t begin = X->offsets[0], end = X->offsets[X->cols];
    hawser_simulated_work(NULL, 2 * (end - begin));
    for (uint64_t k = begin; k < end; k++)
        rows->offsets[X->indices[k] + 2]++;
    for (size_t i = 0; i < X->rows; i++)
        rows->offsets[i + 2] += rows->offsets[i + 1];
    for (size_t j = 0; j < X->cols; j++)
        for (uint64_t k = X->offsets[j]; k < X->offsets[j + 1]; k++) {
            uint64_t to = rows->offsets[X->indices[k] + 1]++;
            rows->columns[to] = (uint32_t)j;
            rows->values[to] = hw_number_at(X, k);
        }
    return HAWSER_OK;
}

void hw_rows_free(hw_rows *rows)
{
    hw_arrays_free(&rows->arrays);
    *rows = (hw_rows){0};
}

/* Returns the first entry of row i whose column is not below j. */
static uint64_t entry_of(const hw_rows *rows, size_t i, size_t j)
{
    return hw_linear_first_entry(rows->columns, rows->offsets[i], rows->offsets[i + 1], j);
}

static double row_product(const hw_rows *rows, size_t i, size_t first, size_t count, const double *theta)
{
    double sum = 0.0;
    if (rows->X.layout == HAWSER_DENSE) {
        hawser_simulated_work(NULL, count);
        for (size_t j = 0; j < count; j++)
            sum += hw_number_at(&rows->X, (first + j) * rows->X.stride + i) * theta[j];
        return sum;
    }
    uint64_t begin = entry_of(rows, i, first), k = begin;
    for (; k < rows->offsets[i + 1] && rows->columns[k] < first + count; k++)
        sum += rows->values[k] * theta[rows->columns[k] - first];
    hawser_simulated_work(NULL, k - begin);
    return sum;
}

void hw_rows_product(const hw_rows *rows, hw_row_batch batch, size_t first, size_t count, const double *theta, double shift,
                     double *out)
{
    if (batch.list == NULL) {
        hawser_matrix part = hawser_matrix_columns(&rows->X, first, first + count);
        hawser_multiply(&part, theta, shift, out);
        return;
    }
    for (size_t k = 0; k < batch.count; k++)
        out[k] = shift + row_product(rows, batch.list[k], first, count, theta);
}

void hw_rows_gradient(const hw_rows *rows, hw_row_batch batch, const double *r, double *out)
{
    if (batch.list == NULL) {
        hawser_scan(&rows->X, r, out);
        return;
    }
    memset(out, 0, rows->X.cols * sizeof *out);
    for (size_t k = 0; k < batch.count; k++) {
        size_t i = batch.list[k];
        hawser_simulated_work(NULL, rows->X.layout == HAWSER_DENSE ? rows->X.cols : rows->offsets[i + 1] - rows->offsets[i]);
        if (rows->X.layout == HAWSER_DENSE) {
            for (size_t j = 0; j < rows->X.cols; j++)
                out[j] += hw_number_at(&rows->X, j * rows->X.stride + i) * r[k];
            continue;
        }
        for (uint64_t e = rows->offsets[i]; e < rows->offsets[i + 1]; e++)
            out[rows->columns[e]] += rows->values[e] * r[k];
    }
}

/* Returns a hash of (seed, number, k), with the mixing of splitmix64 twice. */
static uint64_t mixed(uint64_t seed, uint64_t number, uint64_t k)
{
    uint64_t z =
        seed * UINT64_C(0x9e3779b97f4a7c15) + number * UINT64_C(0xd1342543de82ef95) + k + UINT64_C(0x632be59bd9b4e019);
    for (int round = 0; round < 2; round++) {
        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        z ^= z >> 31;
    }
    return z;
}

void hw_rows_draw(uint64_t seed, uint64_t number, size_t rows, size_t count, uint32_t *list)
{
    for (size_t k = 0; k < count; k++)
        list[k] = (uint32_t)(mixed(seed, number, k) % rows);
}
