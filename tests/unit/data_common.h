/* data_common.h - what the reader tests share. */
#ifndef TESTS_DATA_COMMON_H
#define TESTS_DATA_COMMON_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/layout.h"
#include "data/load.h"

/* Loads text in chunks of a few bytes by three threads, so that every case crosses chunk borders. */
static inline hawser_dataset *load_text(const char *text, hawser_load load)
{
    hawser_dataset *dataset;
    hawser_error error = {0};
    load.threads = 3;
    hawser_status status = hw_load_memory("in", text, strlen(text), 8, &load, &dataset, &error);
    if (status != HAWSER_OK)
        fail_msg("%s", error.text);
    return dataset;
}

static inline void refuse_bytes(const char *text, size_t bytes, hawser_load load, const char *message)
{
    hawser_dataset *dataset;
    for (uint32_t threads = 1; threads <= 4; threads += 3)
        for (size_t chunk = 0; chunk <= 8; chunk += 8) {
            hawser_error error = {0};
            load.threads = threads;
            hawser_status status = hw_load_memory("in", text, bytes, chunk, &load, &dataset, &error);
            if (status != HAWSER_BAD_INPUT)
                fail_msg("status %d instead of bad input for: %s", (int)status, text);
            assert_null(dataset);
            assert_string_equal(error.text, message);
        }
}

static inline void refuse_text(const char *text, hawser_load load, const char *message)
{
    refuse_bytes(text, strlen(text), load, message);
}

/* Entry (i, j) of any layout and type; 0 where none is stored. */
static inline double entry_at(const hawser_dataset *dataset, size_t i, size_t j)
{
    const hawser_matrix *A = hawser_dataset_matrix(dataset);
    size_t major = A->layout == HAWSER_CSR ? i : j, minor = A->layout == HAWSER_CSR ? j : i;
    if (hw_is_dense(A))
        return hw_value_at(A->values, A->type, hw_dense_place(A, i, j));
    for (uint64_t e = A->offsets[major]; e < A->offsets[major + 1]; e++)
        if (A->indices[e] == minor)
            return A->type == HAWSER_F32 ? (double)((const float *)A->values)[e] : ((const double *)A->values)[e];
    return 0;
}

/* The whole matrix, row by row, and that sparse indices ascend. */
static inline void expect_matrix(const hawser_dataset *dataset, size_t rows, size_t cols, const double *values)
{
    const hawser_matrix *A = hawser_dataset_matrix(dataset);
    assert_int_equal(A->rows, rows);
    assert_int_equal(A->cols, cols);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            if (entry_at(dataset, i, j) != values[i * cols + j])
                fail_msg("entry %zu, %zu is %g instead of %g", i, j, entry_at(dataset, i, j), values[i * cols + j]);
    size_t majors = A->layout == HAWSER_CSR ? rows : cols;
    for (size_t m = 0; !hw_is_dense(A) && m < majors; m++)
        for (uint64_t e = A->offsets[m]; e + 1 < A->offsets[m + 1]; e++)
            assert_true(A->indices[e] < A->indices[e + 1]);
}

#endif
