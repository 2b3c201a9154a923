/* data_fuzz.h - one input, loaded in two ways that must agree. */
#ifndef TESTS_DATA_FUZZ_H
#define TESTS_DATA_FUZZ_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void must(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "broken promise: %s\n", what);
    abort();
}

static inline void check_dataset(const hawser_dataset *dataset)
{
    const hawser_matrix *A = hawser_dataset_matrix(dataset);
    must(A->rows > 0, "a loaded input has rows");
    if (A->layout == HAWSER_DENSE || A->layout == HAWSER_DENSE_ROWS) {
        for (uint64_t e = 0; e < A->stored; e++)
            must(isfinite(((const double *)A->values)[e]), "values are finite");
        return;
    }
    size_t majors = A->layout == HAWSER_CSR ? A->rows : A->cols, minors = A->layout == HAWSER_CSR ? A->cols : A->rows;
    must(A->offsets[0] == 0 && A->offsets[majors] == A->stored, "offsets span the entries");
    for (size_t j = 0; j < majors; j++) {
        must(A->offsets[j] <= A->offsets[j + 1], "offsets ascend");
        for (uint64_t e = A->offsets[j]; e < A->offsets[j + 1]; e++) {
            must(A->indices[e] < minors, "indices are in bounds");
            must(e == A->offsets[j] || A->indices[e - 1] < A->indices[e], "indices ascend");
            must(isfinite(((const double *)A->values)[e]), "values are finite");
        }
    }
}

/* One thread and the chosen chunk against three threads and tiny chunks. */
static inline void fuzz_load_as(const uint8_t *data, size_t size, hawser_load load)
{
    hawser_dataset *one = NULL, *other = NULL;
    hawser_error first = {0}, second = {0};
    load.threads = 1;
    load.memory_limit = 64 << 20;
    load.rows_layout = size & 1;
    hawser_status status = hw_load_memory("fuzz", (const char *)data, size, 0, &load, &one, &first);
    load.threads = 3;
    hawser_status again = hw_load_memory("fuzz", (const char *)data, size, 5, &load, &other, &second);
    bool memory = status == HAWSER_NO_MEMORY || again == HAWSER_NO_MEMORY;
    must(memory || status == again, "threads change no outcome");
    must(memory || strcmp(first.text, second.text) == 0, "threads change no message");
    must(status != HAWSER_IO && again != HAWSER_IO, "what was counted is met");
    must(status == HAWSER_OK || strlen(first.text) > 0, "a failure has a text");
    if (status == HAWSER_OK)
        check_dataset(one);
    if (status == HAWSER_OK && again == HAWSER_OK) {
        check_dataset(other);
        const hawser_matrix *A = hawser_dataset_matrix(one), *B = hawser_dataset_matrix(other);
        must(A->rows == B->rows && A->cols == B->cols && A->stored == B->stored, "threads change no shape");
        must(A->stored == 0 || memcmp(A->values, B->values, A->stored * sizeof(double)) == 0, "threads change no value");
    }
    hawser_dataset_free(one);
    hawser_dataset_free(other);
}

static inline void fuzz_load(const uint8_t *data, size_t size, hawser_format format)
{
    fuzz_load_as(data, size, (hawser_load){.format = format});
}

#endif
