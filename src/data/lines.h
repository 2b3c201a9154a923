/* lines.h - the rows of a CSV input as text, for a command that moves rows and changes none. */
#ifndef HW_DATA_LINES_H
#define HW_DATA_LINES_H

#include "data/format/csv.h"

typedef struct hw_csv_lines {
    const char *head; /* the line of names, without its end; NULL: there is none */
    size_t head_length;
    const char **row; /* where each row starts */
    size_t *length;   /* of each row, without its end */
    size_t count;
    size_t row_capacity, length_capacity;
    hw_reading reading;
    hw_csv csv;
    void *buffer;
    size_t buffer_capacity;
} hw_csv_lines;

/* Reads one file. *is_csv is false, and there are no rows, if its format is another one. Blank lines are no rows. The caller
 * calls hw_lines_free, also after a failure. `load` must outlive the lines. */
hawser_status hw_lines_read(const char *path, const hawser_load *load, hw_csv_lines *lines, bool *is_csv,
                            hawser_error *error) HAWSER_MUST_USE;
void hw_lines_free(hw_csv_lines *lines);

#endif
