/* numbers.h - files of numbers of one type, such as the first values of a state: .npy, or text with one number per line. */
#ifndef HW_DATA_NUMBERS_H
#define HW_DATA_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>

#include "hawser/matrix.h"
#include "hawser/status.h"

/* The numbers that a reader expects. */
typedef struct hw_numbers_wanted {
    hawser_type type;
    size_t rows, cols;
    bool by_row; /* in memory row follows row, else column column */
} hw_numbers_wanted;

/* The numbers of a file. */
typedef struct hw_number_file {
    const void *values; /* rows x cols numbers */
    void *mapping;      /* of the file, if the numbers are used where they are */
    size_t mapped;      /* its bytes */
    void *own;          /* else memory with the numbers */
    size_t own_bytes;
} hw_number_file;

/* Reads a file. An .npy file has the type and either the shape that is wanted, in C or Fortran order, or one dimension with
 * as many numbers, in the order in memory. Text has this many lines, also in this order. Returns HAWSER_BAD_INPUT, with the
 * path, if it has others. Whether numbers are finite is not checked, except in text. hw_number_file_close releases the
 * numbers, also after a failure. */
hawser_status hw_number_file_read(const char *path, const hw_numbers_wanted *wanted, hw_number_file *file,
                                  hawser_error *error) HAWSER_MUST_USE;
void hw_number_file_close(hw_number_file *file);

#endif
