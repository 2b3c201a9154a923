/* number_text.h - writes numbers as the shortest text that reads back as the same number. */
#ifndef HW_DATA_NUMBER_TEXT_H
#define HW_DATA_NUMBER_TEXT_H

#include <stddef.h>

#include "hawser/matrix.h"

enum { HW_NUMBER_TEXT = 32 };

/* Writes `value` into text (of HW_NUMBER_TEXT bytes, no final zero) and returns the length. With HAWSER_F32 the text only
 * needs to read back as the same float. */
size_t hw_number_text(char *text, double value, hawser_type type);

#endif
