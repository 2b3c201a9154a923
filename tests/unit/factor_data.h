/* factor_data.h - data with columns that share a factor, for tests of trainings. */
#ifndef TESTS_FACTOR_DATA_H
#define TESTS_FACTOR_DATA_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hawser/data.h"

/* Draws from [-1, 1). */
static inline double factor_draw(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 11) * 0x1p-53 * 2.0 - 1.0;
}

/* The target that an algorithm needs: any numbers, two labels (0 and 1), or counts. */
typedef enum factor_target { FACTOR_NUMBERS, FACTOR_LABELS, FACTOR_COUNTS } factor_target;

static inline factor_target factor_target_of(const char *algorithm)
{
    return strcmp(algorithm, "logistic") == 0 || strcmp(algorithm, "svm") == 0 || strcmp(algorithm, "softmax") == 0
               ? FACTOR_LABELS
           : strcmp(algorithm, "poisson") == 0 ? FACTOR_COUNTS
                                               : FACTOR_NUMBERS;
}

/* Makes rows x columns, dense if `density` is 1, else with this share of entries; and a target. */
static inline hawser_dataset *factor_data(size_t rows, size_t columns, double density, factor_target target)
{
    uint64_t *offsets = calloc(columns + 1, sizeof *offsets), seed = 5, stored = 0;
    uint32_t *indices = calloc(rows * columns, sizeof *indices);
    double *values = calloc(rows * columns, sizeof *values), *y = calloc(2 * rows, sizeof *y), *common = y + rows;
    bool dense = density == 1.0;
    assert_true(offsets != NULL && indices != NULL && values != NULL && y != NULL);
    for (size_t i = 0; i < rows; i++) {
        common[i] = factor_draw(&seed);
        y[i] = 0.5 * factor_draw(&seed) + 0.3;
    }
    for (size_t j = 0; j < columns; j++) {
        offsets[j] = stored;
        for (uint32_t i = 0; i < rows; i++) {
            double x = 0.6 * common[i] + 0.4 * factor_draw(&seed);
            if (factor_draw(&seed) > 2.0 * density - 1.0)
                continue;
            indices[stored] = i;
            values[stored++] = x * (1.0 + (double)(j % 3));
            y[i] += j % 6 == 0 ? (j % 4 ? -1.0 : 1.5) * x : 0.0;
        }
    }
    offsets[columns] = stored;
    for (size_t i = 0; target != FACTOR_NUMBERS && i < rows; i++)
        y[i] = target == FACTOR_COUNTS ? floor(2.0 * exp(fmin(y[i], 6.0))) : y[i] > 0.3 ? 1.0 : 0.0;
    hawser_matrix matrix = {.rows = rows,
                            .cols = columns,
                            .stored = stored,
                            .layout = dense ? HAWSER_DENSE : HAWSER_CSC,
                            .values = values,
                            .stride = dense ? rows : 0,
                            .offsets = dense ? NULL : offsets,
                            .indices = dense ? NULL : indices};
    hawser_dataset *data = NULL;
    hawser_error error = {0};
    if (hawser_dataset_from(&matrix, y, &data, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    free(offsets);
    free(indices);
    free(values);
    free(y);
    return data;
}

#endif
