/* called.h - what messages call a column of the data. */
#ifndef HW_ALGORITHMS_GLM_CALLED_H
#define HW_ALGORITHMS_GLM_CALLED_H

#include "hawser/data.h"

enum { HW_LINEAR_LABEL = 160 };
/* Writes "column 'age'" or "column 3" as people call a column of the matrix (hawser_dataset_label), and returns the text. */
const char *hw_linear_column(const hawser_dataset *data, size_t column, char text[HW_LINEAR_LABEL]);

#endif
