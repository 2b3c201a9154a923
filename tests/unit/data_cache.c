/* The mapped file: the same dataset comes back, and no damage or deceit gets through. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/layout.h"
#include "base/memory.h"
#include "data/cache/format.h"
#include "data/layout/flip.h"
#include "directory.h"

static const uint64_t OFFSETS[] = {0, 2, 2, 5, 6};
static const uint32_t INDICES[] = {0, 2, 0, 1, 2, 1};
static const double DOUBLES[] = {1, -2, 0.5, 4, 5, 1e-300, 7, 8, 9, 10, 11, 12};
static const float FLOATS[] = {1, -2, 0.5F, 4, 5, 6, 7, 8, 9, 10, 11, 12};
static const double TARGET[] = {1, 2, 3, 4}, WEIGHTS[] = {1, 0.5, 2, 1};
static const char *const NAMES[] = {"a", "", "long name", "d"};

/* 3 x 4 in CSC and dense, 4 x 3 in CSR; everything that a dataset may have, for the caller's own struct. */
static hawser_dataset sample(hawser_layout layout, hawser_type type)
{
    hawser_dataset d = {.figures = {.index_base = 1, .base_guessed = true}};
    d.matrix = (hawser_matrix){.rows = layout == HAWSER_CSR ? 4 : 3,
                               .cols = layout == HAWSER_CSR ? 3 : 4,
                               .stored = 12,
                               .layout = layout,
                               .type = type,
                               .values = type == HAWSER_F32 ? (const void *)FLOATS : DOUBLES,
                               .stride = layout == HAWSER_DENSE_ROWS ? 4 : 3};
    if (!hw_is_dense(&d.matrix)) {
        d.matrix.stored = 6;
        d.matrix.offsets = OFFSETS;
        d.matrix.indices = INDICES;
        d.matrix.stride = 0;
    }
    d.target = TARGET;
    d.offset = WEIGHTS;
    d.columns = NAMES;
    d.target_name = "y";
    d.means = DOUBLES;
    return d;
}

static void same(const hawser_dataset *a, const hawser_dataset *b)
{
    const hawser_matrix *A = &a->matrix, *B = &b->matrix;
    assert_true(A->rows == B->rows && A->cols == B->cols && A->stored == B->stored);
    assert_true(A->layout == B->layout && A->type == B->type && A->stride == B->stride);
    if (!hw_is_dense(A)) {
        assert_memory_equal(A->offsets, B->offsets, ((A->layout == HAWSER_CSC ? A->cols : A->rows) + 1) * 8);
        assert_memory_equal(A->indices, B->indices, A->stored * 4);
    }
    assert_memory_equal(A->values, B->values, A->stored * (A->type == HAWSER_F32 ? 4 : 8));
    const double *rows[2][3] = {{a->target, a->weights, a->offset}, {b->target, b->weights, b->offset}};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rows[0][i] == NULL, rows[1][i] == NULL);
        if (rows[0][i] != NULL)
            assert_memory_equal(rows[0][i], rows[1][i], A->rows * 8);
    }
    for (size_t j = 0; a->columns != NULL && j < A->cols; j++)
        assert_string_equal(a->columns[j], b->columns[j]);
    assert_int_equal(a->columns == NULL, b->columns == NULL);
    assert_int_equal(a->means == NULL, b->means == NULL);
    if (a->means != NULL)
        assert_memory_equal(a->means, b->means, A->cols * 8);
    assert_int_equal(a->target_name == NULL, b->target_name == NULL);
    if (a->target_name != NULL)
        assert_string_equal(a->target_name, b->target_name);
    assert_int_equal(a->figures.index_base, b->figures.index_base);
    assert_int_equal(a->figures.base_guessed, b->figures.base_guessed);
}

static void what_is_saved_is_loaded(void **state)
{
    (void)state;
    hawser_error error;
    for (int layout = HAWSER_DENSE; layout <= HAWSER_DENSE_ROWS; layout++)
        for (int type = HAWSER_F64; type <= HAWSER_F32; type++)
            for (int bare = 0; bare < 2; bare++) {
                hawser_dataset d = sample((hawser_layout)layout, (hawser_type)type), *loaded;
                if (bare) {
                    d.target = d.offset = NULL;
                    d.columns = NULL;
                    d.target_name = NULL;
                    d.means = NULL;
                    d.figures.index_base = -1;
                    d.weights = WEIGHTS;
                }
                assert_int_equal(hawser_dataset_save(&d, "c", &error), HAWSER_OK);
                const hawser_load load = {.rows_layout = hw_is_by_row(&d.matrix)};
                assert_int_equal(hw_cache_open("c", &load, &loaded, &error), HAWSER_OK);
                same(&d, loaded);
                assert_int_equal(loaded->figures.format, HAWSER_CACHE);
                assert_true((uintptr_t)loaded->matrix.values % HW_CACHE_ALIGNMENT == 0);
                hawser_dataset_free(loaded);
            }
}

static unsigned char *content(const char *path, size_t *size)
{
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    unsigned char *bytes;
    assert_int_equal(HW_NEW(&bytes, 1 << 16, "content", NULL), HAWSER_OK);
    *size = fread(bytes, 1, 1 << 16, in);
    (void)fclose(in);
    return bytes;
}

/* Version 1 had no means: its header ends in front of their section. */
static void files_of_version_1_are_read(void **state)
{
    (void)state;
    hawser_error error;
    hawser_dataset d = sample(HAWSER_CSC, HAWSER_F64), *loaded;
    d.means = NULL;
    assert_int_equal(hawser_dataset_save(&d, "c", &error), HAWSER_OK);
    size_t size, old = offsetof(hw_cache_header, sections[HW_CACHE_MEANS]);
    unsigned char *bytes = content("c", &size);
    hw_cache_header *header = (hw_cache_header *)(void *)bytes;
    memset(bytes + old, 0, sizeof *header - old);
    header->version = 1;
    header->digest = 0;
    header->digest = hw_hash(header, old, 0);
    assert_int_equal(hw_cache_view(bytes, size, "c", true, &loaded, &error), HAWSER_OK);
    same(&d, loaded);
    hawser_dataset_free(loaded);
    header->version = HW_CACHE_VERSION + 1;
    assert_int_equal(hw_cache_view(bytes, size, "c", true, &loaded, &error), HAWSER_BAD_INPUT);
    assert_string_equal(error.text, "c: cache version 5; this version of Hawser reads 1 to 4; convert the data again");
    free(bytes);
}

/* Readers that do not know HAWSER_DENSE_ROWS must refuse its files by their version, and read all others. */
static void only_dense_rows_have_version_4(void **state)
{
    (void)state;
    hawser_error error;
    for (int layout = HAWSER_DENSE; layout <= HAWSER_DENSE_ROWS; layout++) {
        hawser_dataset d = sample((hawser_layout)layout, HAWSER_F64), *loaded;
        size_t size;
        assert_int_equal(hawser_dataset_save(&d, "c", &error), HAWSER_OK);
        unsigned char *bytes = content("c", &size);
        hw_cache_header *header = (hw_cache_header *)(void *)bytes;
        assert_int_equal(header->version, layout == HAWSER_DENSE_ROWS ? 4 : 3);
        header->version = 3;
        header->digest = 0;
        header->digest = hw_hash(header, sizeof *header, 0);
        hawser_status status = hw_cache_view(bytes, size, "c", true, &loaded, &error);
        assert_int_equal(status, layout == HAWSER_DENSE_ROWS ? HAWSER_BAD_INPUT : HAWSER_OK);
        if (status == HAWSER_OK)
            hawser_dataset_free(loaded);
        free(bytes);
    }
}

/* What a model knows must be there: a dense column that is not would be read as zeros. */
static void columns_that_dense_data_lack_are_refused(void **state)
{
    (void)state;
    hawser_error error;
    hawser_dataset d = sample(HAWSER_DENSE, HAWSER_F64), *loaded;
    const hawser_load load = {.columns = 5, .rows_layout = 1};
    assert_int_equal(hawser_dataset_save(&d, "c", &error), HAWSER_OK);
    assert_int_equal(hw_cache_open("c", &load, &loaded, &error), HAWSER_BAD_INPUT);
    assert_string_equal(error.text, "c: has 4 columns besides target, weights and offset, but 5 are needed");
    d = sample(HAWSER_CSC, HAWSER_F64);
    assert_int_equal(hawser_dataset_save(&d, "c", &error), HAWSER_OK);
    assert_int_equal(hw_cache_open("c", &load, &loaded, &error), HAWSER_OK);
    hawser_dataset_free(loaded);
}

static void names_must_be_utf8(void **state)
{
    (void)state;
    static const char *const latin[] = {"a", "b", "caf\xe9", "d"};
    hawser_error error;
    hawser_dataset d = sample(HAWSER_DENSE, HAWSER_F64), *loaded;
    d.columns = latin;
    assert_int_equal(hawser_dataset_save(&d, "c", &error), HAWSER_OK);
    assert_int_equal(hw_cache_open("c", &(hawser_load){0}, &loaded, &error), HAWSER_BAD_INPUT);
    assert_string_equal(error.text,
                        "c: the name of column 2 (from 0) is not UTF-8; make the input UTF-8 and convert it again");
}

/* A file larger than a piece, from a view that begins inside its arrays. */
static void views_and_large_sections(void **state)
{
    (void)state;
    hawser_error error;
    hawser_dataset *big, *loaded;
    const hawser_generate what = {.kind = "url", .rows = 3000, .cols = 1500, .seed = 1};
    assert_int_equal(hawser_dataset_generate(&what, &big, NULL, &error), HAWSER_OK);
    assert_true(big->matrix.stored * 8 > 2 * HW_CACHE_PIECE);
    hawser_dataset view = *big;
    view.matrix = hawser_matrix_columns(&big->matrix, 100, 1400);
    assert_int_equal(hawser_dataset_save(&view, "c", &error), HAWSER_OK);
    assert_int_equal(hw_cache_open("c", &(hawser_load){0}, &loaded, &error), HAWSER_OK);
    double *x = calloc(1300, sizeof *x), *y = calloc(1300, sizeof *y);
    assert_true(x != NULL && y != NULL);
    hawser_scan(&view.matrix, big->target, x);
    hawser_scan(&loaded->matrix, big->target, y);
    assert_memory_equal(x, y, 1300 * sizeof *x);
    free(x);
    free(y);
    hawser_dataset_free(loaded);
    hawser_dataset_free(big);
}

static void every_byte_matters(void **state)
{
    (void)state;
    hawser_error error;
    for (int layout = HAWSER_DENSE; layout <= HAWSER_DENSE_ROWS; layout++) {
        hawser_dataset d = sample((hawser_layout)layout, HAWSER_F64), *loaded;
        assert_int_equal(hawser_dataset_save(&d, "c", &error), HAWSER_OK);
        size_t size, taken = 0;
        unsigned char *bytes = content("c", &size);
        for (size_t i = 0; i < size * 8; i++) {
            bytes[i / 8] ^= (unsigned char)(1 << i % 8);
            if (hw_cache_view(bytes, size, "c", true, &loaded, &error) == HAWSER_OK) {
                same(&d, loaded); /* a hole between sections */
                hawser_dataset_free(loaded);
                taken++;
            } else {
                assert_int_equal(error.status, HAWSER_BAD_INPUT);
            }
            bytes[i / 8] ^= (unsigned char)(1 << i % 8);
        }
        assert_true(taken < (HW_CACHE_SECTIONS + 1) * HW_CACHE_ALIGNMENT * 8);
        for (size_t cut = 0; cut < size; cut++)
            assert_int_equal(hw_cache_view(bytes, cut, "c", true, &loaded, &error), HAWSER_BAD_INPUT);
        assert_int_equal(hw_cache_view(bytes, size + 64, "c", true, &loaded, &error), HAWSER_BAD_INPUT);
        free(bytes);
    }
}

/* Works on what was taken, so that a sanitizer sees any array that is shorter than it should be. */
static void use(const hawser_dataset *d)
{
    const hawser_matrix *A = &d->matrix;
    double *w = calloc(A->cols, sizeof *w), *out = calloc(A->rows, sizeof *out);
    assert_true(w != NULL && out != NULL);
    hawser_multiply(A, w, 1, out);
    for (size_t j = 0; d->columns != NULL && j < A->cols; j++)
        assert_true(strlen(d->columns[j]) < 1000);
    free(w);
    free(out);
}

/* Without the digests, as if an adversary had made them anew: each word is set to values that lie. */
static void deceit_is_found_without_digests(void **state)
{
    (void)state;
    hawser_error error;
    const uint64_t lies[] = {0,         1, 3, 5, 7, UINT64_C(1) << 31, UINT64_C(1) << 32, UINT64_C(1) << 61, UINT64_MAX / 8,
                             UINT64_MAX};
    for (int layout = HAWSER_DENSE; layout <= HAWSER_DENSE_ROWS; layout++) {
        hawser_dataset d = sample((hawser_layout)layout, HAWSER_F64), *loaded;
        assert_int_equal(hawser_dataset_save(&d, "c", &error), HAWSER_OK);
        size_t size, refused = 0;
        unsigned char *bytes = content("c", &size);
        for (size_t width = 4; width <= 8; width += 4)
            for (size_t at = 8; at + width <= size; at += width)
                for (size_t l = 0; l < sizeof lies / sizeof *lies; l++) {
                    unsigned char kept[8];
                    memcpy(kept, bytes + at, width);
                    memcpy(bytes + at, &lies[l], width);
                    if (hw_cache_view(bytes, size, "c", false, &loaded, &error) == HAWSER_OK) {
                        use(loaded);
                        hawser_dataset_free(loaded);
                    } else {
                        refused++;
                    }
                    memcpy(bytes + at, kept, width);
                }
        assert_true(refused > 100);
        free(bytes);
    }
}

static void wishes_are_granted_or_refused(void **state)
{
    (void)state;
    hawser_error error;
    hawser_dataset d = sample(HAWSER_CSC, HAWSER_F64), *loaded;
    assert_int_equal(hawser_dataset_save(&d, "c", &error), HAWSER_OK);
    const hawser_load bad[] = {{.target = "x"}, {.weights = "w"},     {.offset = "o"},
                               {.names = "n"},  {.type = HAWSER_F32}, {.index_base = 1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(hw_cache_open("c", &bad[i], &loaded, &error), HAWSER_BAD_OPTION);
    assert_int_equal(hw_cache_open("c", &(hawser_load){.target = "y", .index_base = 2}, &loaded, &error), HAWSER_OK);
    assert_non_null(hawser_dataset_target(loaded));
    hawser_dataset_free(loaded);
    assert_int_equal(hw_cache_open("c", &(hawser_load){.target = "none"}, &loaded, &error), HAWSER_OK);
    assert_null(hawser_dataset_target(loaded));
    assert_null(hawser_dataset_target_name(loaded));
    hawser_dataset_free(loaded);
    const hawser_load rows = {.rows_layout = 1, .columns = 2};
    assert_int_equal(hw_cache_open("c", &rows, &loaded, &error), HAWSER_OK);
    assert_int_equal(loaded->matrix.layout, HAWSER_CSR);
    assert_int_equal(loaded->matrix.cols, 2);
    assert_int_equal(loaded->figures.unseen_entries, 4);
    assert_int_equal(loaded->figures.unseen_columns, 2);
    double out[3];
    hawser_multiply(&loaded->matrix, (const double[]){10, 100}, 0, out);
    assert_true(out[0] == 10 && out[1] == 0 && out[2] == -20);
    hawser_dataset_free(loaded);
    assert_int_equal(hw_cache_open("c", &(hawser_load){.rows_layout = 1, .memory_limit = 8}, &loaded, &error),
                     HAWSER_NO_MEMORY);
    assert_int_equal(hw_cache_open("not there", &(hawser_load){0}, &loaded, &error), HAWSER_IO);
    assert_int_equal(hw_cache_open(".", &(hawser_load){0}, &loaded, &error), HAWSER_BAD_INPUT);
}

static void flipped_twice_is_the_same(void **state)
{
    (void)state;
    hawser_error error;
    hawser_dataset *d;
    const hawser_generate what = {.kind = "url", .rows = 70, .cols = 40, .seed = 5};
    assert_int_equal(hawser_dataset_generate(&what, &d, NULL, &error), HAWSER_OK);
    hw_flipped rows, again, part;
    assert_int_equal(hw_flip(&d->matrix, 0, 70, &rows, &error), HAWSER_OK);
    assert_int_equal(hw_flip(&rows.matrix, 0, 40, &again, &error), HAWSER_OK);
    assert_int_equal(again.matrix.layout, HAWSER_CSC);
    assert_memory_equal(again.offsets, d->matrix.offsets, 41 * sizeof(uint64_t));
    assert_memory_equal(again.indices, d->matrix.indices, d->matrix.stored * 4);
    assert_memory_equal(again.values, d->matrix.values, d->matrix.stored * 8);
    assert_int_equal(hw_flip(&d->matrix, 20, 33, &part, &error), HAWSER_OK);
    assert_int_equal(part.matrix.rows, 13);
    assert_int_equal(part.matrix.stored, rows.offsets[33] - rows.offsets[20]);
    assert_memory_equal(part.indices, rows.indices + rows.offsets[20], part.matrix.stored * 4);
    hw_flip_free(&rows);
    hw_flip_free(&again);
    hw_flip_free(&part);
    hawser_dataset_free(d);
}

static void a_full_disk_is_said(void **state)
{
    (void)state;
    hawser_error error;
    if (access("/dev/full", W_OK) != 0)
        skip();
    hawser_dataset d = sample(HAWSER_CSC, HAWSER_F64);
    assert_int_equal(hawser_dataset_save(&d, "/dev/full", &error), HAWSER_IO);
}

int main(void)
{
#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, make_directory, remove_directory)
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(what_is_saved_is_loaded),
        IN_DIRECTORY(files_of_version_1_are_read),
        IN_DIRECTORY(only_dense_rows_have_version_4),
        IN_DIRECTORY(columns_that_dense_data_lack_are_refused),
        IN_DIRECTORY(names_must_be_utf8),
        IN_DIRECTORY(views_and_large_sections),
        IN_DIRECTORY(every_byte_matters),
        IN_DIRECTORY(deceit_is_found_without_digests),
        IN_DIRECTORY(wishes_are_granted_or_refused),
        cmocka_unit_test(flipped_twice_is_the_same),
        IN_DIRECTORY(a_full_disk_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
