/* assemble.h - converts parsed parts to the dataset's arrays, in parallel, and frees the parts meanwhile. */
#ifndef HW_DATA_ASSEMBLE_H
#define HW_DATA_ASSEMBLE_H

#include "data/source/parse.h"

/* Converts parts of sparse rows (ends, indices) to CSR. */
hawser_status hw_assemble_rows(hw_reading *reading, hawser_dataset *dataset, hawser_error *error) HAWSER_MUST_USE;

/* The triangle that the entries of a file leave out. */
typedef enum hw_mirror { HW_MIRROR_NONE = 0, HW_MIRROR_SAME, HW_MIRROR_NEGATED } hw_mirror;

/* Converts parts of coordinates (rows_of, indices, from zero) to CSC or CSR of rows x cols; `mirror` adds the other
 * triangle. Entries of the same place are added in the order of the file. */
hawser_status hw_assemble_coordinates(hw_reading *reading, size_t rows, size_t cols, hw_mirror mirror,
                                      hawser_dataset *dataset, hawser_error *error) HAWSER_MUST_USE;

/* Memory to sort in, initially zero; the owner frees `pairs`. */
typedef struct hw_pair {
    uint32_t index, order; /* order: its place before the sort */
    double value;
} hw_pair;
typedef struct hw_sorter {
    hw_pair *pairs;
    size_t capacity;
} hw_sorter;
/* Sorts the entries of a column or row by index; equal ones keep their order. *twice: an index that occurs twice, or
 * UINT32_MAX. */
hawser_status hw_sort_entries(uint32_t *indices, void *values, bool single, uint64_t count, hw_sorter *sorter,
                              uint32_t *twice, hawser_error *error) HAWSER_MUST_USE;
/* Fails for an entry that occurs twice, where nodes have it. Row and column count from zero. */
hawser_status hw_given_twice(const char *name, uint64_t row, uint64_t column, hawser_error *error) HAWSER_MUST_USE;

/* What a column of dense parts is. */
enum {
    HW_FEATURE = 0,
    HW_TARGET,
    HW_WEIGHTS,
    HW_OFFSET,
    HW_GROUPS,
    HW_FURTHER, /* the second target; those after it have the next numbers */
    HW_UNSEEN = HW_FURTHER + HW_FURTHER_TARGETS,
    HW_IGNORED,
    HW_BESIDE /* a column beside the one whose words are the features: not read either */
};

/* Converts parts of width doubles per row to a dense matrix, whose layout the load sets; roles has one item per column. With
 * `means`, NaN marks a missing value and becomes the mean of its column. */
hawser_status hw_assemble_dense(hw_reading *reading, size_t width, const unsigned char *roles, bool means,
                                hawser_dataset *dataset, hawser_error *error) HAWSER_MUST_USE;

/* Like hw_assemble_dense, but without parts, from text in memory that `parser` parses; the text is read twice. `skip` bytes
 * precede the first row. *done is false if the text must be read as a stream. */
hawser_status hw_place_dense(hw_reading *reading, hw_parser parser, void *context, uint64_t skip, size_t width,
                             const unsigned char *roles, bool means, hawser_dataset *dataset, bool *done,
                             hawser_error *error) HAWSER_MUST_USE;

/* The target arrays of rows that become a dense matrix. Rows must be in bounds and put once. Several threads may put
 * different rows. */
typedef struct hw_dense {
    hw_reading *reading;
    const unsigned char *roles;
    size_t width;
    uint64_t rows, features;
    void *values;
    double *special[HW_UNSEEN];    /* by role */
    double *means;                 /* of the features, the values that replace missing ones; NULL: none are missing */
    const double *weights;         /* for the means; NULL: all are 1 */
    const hawser_dataset *dataset; /* of the means, for its columns' names */
    bool single;
    bool by_row; /* the matrix is HAWSER_DENSE_ROWS */
} hw_dense;

/* Makes the dataset's arrays. Does not count the matrix yet: hw_dense_put counts it as it is filled. */
hawser_status hw_dense_begin(hw_dense *dense, hw_reading *reading, uint64_t rows, size_t width, const unsigned char *roles,
                             hawser_dataset *dataset, hawser_error *error) HAWSER_MUST_USE;
/* Puts `count` rows of width numbers, which the storage type can hold, from row `first` on. */
hawser_status hw_dense_put(const hw_dense *dense, const double *rows, uint64_t first, uint64_t count,
                           hawser_error *error) HAWSER_MUST_USE;
/* The stored entries of a column; those of its other rows are zeros. */
typedef struct hw_column_values {
    void *values;
    uint64_t stored, step; /* `step`: numbers from one entry to the next */
    uint64_t rows;
    bool single;
    const uint32_t *indices; /* the rows of the entries; NULL: every row has one */
    const double *weights;   /* of the rows; NULL: all are 1 */
} hw_column_values;
/* Replaces NaN, which stands for a missing value, by `given`, or if that is NULL by the weighted mean of the others, which
 * is returned; NaN if there are none with a weight above 0 (hw_no_mean). */
double hw_fill_mean(const hw_column_values *column, const double *given);
/* The unit in which a sum cannot overflow if its mean does not: there are fewer rows than 1 / unit. */
#define HW_MEAN_UNIT 0x1p-40
/* Adds up weighted values for a mean. Initialise it with zeros. */
typedef struct hw_mean {
    double sum, scaled;  /* of products of values and weights; `scaled` in HW_MEAN_UNIT, which cannot overflow */
    double weight, rows; /* of the missing values: their weights, and how many have a weight above 0 */
} hw_mean;
/* Adds a value, or a missing one (NaN), of a row of this weight. */
void hw_mean_add(hw_mean *mean, double value, double weight);
/* Returns the mean over rows of the total weight, of which `counted` rows have a weight above 0. Rows without an added value
 * have zeros. NaN: no row with weight has a value. */
double hw_mean_of(const hw_mean *mean, double total, double counted);
/* Adds weights, one after another, to *total, and to *counted how many are above 0. weights NULL: all are 1. */
void hw_mean_weigh(const double *weights, uint64_t rows, double *total, double *counted);
/* `column`: as hw_column_called writes it. */
hawser_status hw_no_mean(const char *name, const char *column, hawser_error *error);
/* Replaces NaN, which marks missing values, with the mean of the column. */
hawser_status hw_dense_means(hw_dense *dense, hawser_dataset *dataset, hawser_error *error) HAWSER_MUST_USE;
void hw_dense_end(const hw_dense *dense, hawser_dataset *dataset);

/* Returns HAWSER_BAD_INPUT for more rows than 32 bits hold, and for none. */
hawser_status hw_check_rows(const hw_reading *reading, uint64_t rows, hawser_error *error) HAWSER_MUST_USE;
/* Counts and checks the rows of all parts. first_rows has parts + 1 items, and the caller frees it. */
hawser_status hw_reading_rows(const hw_reading *reading, uint64_t *rows, uint64_t **first_rows,
                              hawser_error *error) HAWSER_MUST_USE;

#endif
