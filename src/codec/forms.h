/* forms.h - the forms of --encoding and of a table's rounding. Columns: enumerator (HAWSER_...), the word of --encoding,
 * help, the width of the numbers that are sent, and the description in a plan. */
#ifndef HW_CODEC_FORMS_H
#define HW_CODEC_FORMS_H

#include "base/rows.h"
#include "codec/narrow.h"

#define HW_FORMS(ROW)                                                                                                       \
    ROW(EXACT, "exact", "every number as it is", HW_F64,                                                                    \
        "dense or sparse, the smaller, per message; packed between processes; lossless")                                    \
    ROW(AS_BF16, "bf16", "8 bits of precision, the range of f32", HW_BF16,                                                  \
        "deltas rounded to bf16, the rest carried; then dense or sparse")                                                   \
    ROW(AS_F16, "f16", "11 bits of precision, from 6e-8 to 65504", HW_F16,                                                  \
        "deltas rounded to f16, the rest carried; then dense or sparse")                                                    \
    ROW(AS_INT8, "int8", "whole numbers from -127 to 127 times a scale that neighbours share", HW_INT8,                     \
        "deltas rounded to int8, a scale for 512 entries, the rest carried; then dense or sparse")

typedef struct hw_form_row {
    const char *word;
    hw_width width;
    const char *plan;
} hw_form_row;

/* Returns the row of a hawser_form, or NULL if there is none. */
const hw_form_row *hw_form_row_of(unsigned form);
/* Returns the number of the form that --encoding names. */
unsigned hw_form_find(const char *word);

#endif
