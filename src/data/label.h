/* label.h - what people call a column: its name, or its number as the input counts columns. */
#ifndef HW_DATA_LABEL_H
#define HW_DATA_LABEL_H

#include "data/dataset.h"

/* Keeps the numbers of the input's columns that are features (hawser_dataset_numbers), unless these come first. `roles` has
 * one item for each of `width` columns. */
hawser_status hw_keep_numbers(hawser_dataset *dataset, const unsigned char *roles, size_t width,
                              hawser_error *error) HAWSER_MUST_USE;
/* Returns the number in the input of the feature with this number, which is the same if `numbers` is NULL. */
size_t hw_column_number(const char *numbers, size_t feature);
enum { HW_COLUMN_CALLED = 160 };
/* Writes "column 'age'" or "column 3" (hawser_dataset_label) of a dataset whose matrix may still be missing, and returns the
 * text. */
const char *hw_column_called(const hawser_dataset *dataset, size_t column, char text[HW_COLUMN_CALLED]);

#endif
