/* assemble.h - from parsed parts to the dataset's arrays, in parallel, freeing the parts on the way. */
#ifndef HW_DATA_ASSEMBLE_H
#define HW_DATA_ASSEMBLE_H

#include "data/source/parse.h"

/* Parts of sparse rows (ends, indices) to CSR. */
hawser_status hw_assemble_rows(hw_job *job, hawser_dataset *dataset, hawser_error *error) HAWSER_MUST_USE;

/* Parts of coordinates (rows_of, indices, from zero) to CSC or CSR of rows x cols; mirrored adds the other triangle. An entry
 * that is given twice is refused. */
hawser_status hw_assemble_coordinates(hw_job *job, size_t rows, size_t cols, bool mirrored, hawser_dataset *dataset,
                                      hawser_error *error) HAWSER_MUST_USE;

/* Room to sort in; zeroed at first, `pairs` is freed by the owner. */
typedef struct hw_pair {
    uint32_t index;
    double value;
} hw_pair;
typedef struct hw_sorter {
    hw_pair *pairs;
    size_t capacity;
} hw_sorter;
/* Sorts the entries of a column or row by their indices. *twice: one that is there twice; UINT32_MAX: none is. */
hawser_status hw_sort_entries(uint32_t *indices, void *values, bool single, uint64_t count, hw_sorter *sorter,
                              uint32_t *twice, hawser_error *error) HAWSER_MUST_USE;
/* Row and column from zero. */
hawser_status hw_given_twice(const char *name, uint64_t row, uint64_t column, hawser_error *error) HAWSER_MUST_USE;

/* What a column of dense parts is. */
enum { HW_FEATURE = 0, HW_TARGET, HW_WEIGHTS, HW_OFFSET, HW_UNSEEN, HW_IGNORED };

/* Parts of width doubles a row to dense column-major; roles has one entry a column. `means`: NaN stands for a missing value and
 * becomes the mean of its column. */
hawser_status hw_assemble_dense(hw_job *job, size_t width, const unsigned char *roles, bool means, hawser_dataset *dataset,
                                hawser_error *error) HAWSER_MUST_USE;

/* The same without parts, of what `parser` makes of text in memory, which is read twice; `skip` bytes are in front of the first
 * row. *done is false where the text must be read as it comes. */
hawser_status hw_place_dense(hw_job *job, hw_parser parser, void *context, uint64_t skip, size_t width,
                             const unsigned char *roles, bool means, hawser_dataset *dataset, bool *done,
                             hawser_error *error) HAWSER_MUST_USE;

/* Where rows of numbers become dense columns. Rows must be put in bounds and once; several threads may put different rows. */
typedef struct hw_dense {
    hw_job *job;
    const unsigned char *roles;
    size_t width;
    uint64_t rows, features;
    void *values;
    double *special[HW_UNSEEN]; /* by role */
    double *means;              /* of the features, what their missing values are read as; NULL: none are missing */
    bool single;
} hw_dense;

/* Makes the dataset's arrays. The matrix itself is not counted yet: hw_dense_put counts it as it is filled. */
hawser_status hw_dense_begin(hw_dense *dense, hw_job *job, uint64_t rows, size_t width, const unsigned char *roles,
                             hawser_dataset *dataset, hawser_error *error) HAWSER_MUST_USE;
/* Puts `count` rows of width numbers, which the storage type can hold, from row `first` on. */
hawser_status hw_dense_put(const hw_dense *dense, const double *rows, uint64_t first, uint64_t count,
                           hawser_error *error) HAWSER_MUST_USE;
/* NaN stands for a missing value of a column and becomes `given`, or where that is NULL the mean of the others, which is returned; NaN: there
 * are no others, which hw_no_mean says. */
double hw_fill_mean(void *column, uint64_t rows, bool single, const double *given);
hawser_status hw_no_mean(const char *name, uint64_t feature, hawser_error *error);
/* NaN stands for a missing value and becomes the mean of its column. */
hawser_status hw_dense_means(hw_dense *dense, hawser_dataset *dataset, hawser_error *error) HAWSER_MUST_USE;
void hw_dense_end(const hw_dense *dense, hawser_dataset *dataset);

/* More rows than 32 bits hold is HAWSER_BAD_INPUT, none too. */
hawser_status hw_check_rows(const hw_job *job, uint64_t rows, hawser_error *error) HAWSER_MUST_USE;
/* Rows of all parts, checked. first_rows has parts + 1 entries and is the
 * caller's to free(). */
hawser_status hw_job_rows(const hw_job *job, uint64_t *rows, uint64_t **first_rows, hawser_error *error) HAWSER_MUST_USE;

#endif
