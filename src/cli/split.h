/* split.h - what the two ways to split share: by copying lines, and by writing rows of numbers. */
#ifndef HW_CLI_SPLIT_H
#define HW_CLI_SPLIT_H

#include "cli/input.h"

enum { HW_SPLIT_PATH = 4096 };

/* Writes PREFIX.middle.extension. */
hawser_status hw_split_path(const hw_call *call, const char *extension, const char *middle, char path[HW_SPLIT_PATH],
                            hawser_error *error) HAWSER_MUST_USE;
/* Checks that no part is also an input, before the first part is written. parts 0: they are train and test. */
hawser_status hw_split_check_parts(const hw_call *call, const char *extension, size_t parts,
                                   hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_split_check_rows(size_t parts, size_t rows, hawser_error *error) HAWSER_MUST_USE;
/* Returns the first row of part p of rows that count alike. */
size_t hw_split_bound(size_t rows, size_t p, size_t parts);
/* Draws the rows of --fraction: *order (the caller frees it, also after a failure) has those of train, *train of them, then
 * those of test. */
hawser_status hw_split_draw(const hw_call *call, size_t rows, uint32_t **order, size_t *train,
                            hawser_error *error) HAWSER_MUST_USE;

/* Returns whether no option changes what a row has, so that lines may be copied (hw_split_lines). */
bool hw_split_copies(const hw_call *call);
/* Splits a CSV file by copying its lines. *done is false if the file is of another format. */
hawser_status hw_split_lines(const hw_call *call, const hawser_load *how, bool *done, hawser_error *error) HAWSER_MUST_USE;

#endif
