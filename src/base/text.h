/* text.h - a text that is printed piece by piece, in memory. */
#ifndef HW_BASE_TEXT_H
#define HW_BASE_TEXT_H

#include <stdio.h>

#include "hawser/status.h"

typedef struct hw_memory_text {
    FILE *file; /* to print to */
    char *text;
    size_t length;
} hw_memory_text;

/* Opens an empty text. hw_text_close must be called next, whatever happens. */
hawser_status hw_text_open(hw_memory_text *text, hawser_error *error) HAWSER_MUST_USE;
/* Closes the text. If `status` is HAWSER_OK and there was memory for it, stores it in *out, which the caller frees with
 * free. Else *out is NULL, and the result is `status` or HAWSER_NO_MEMORY. */
hawser_status hw_text_close(hw_memory_text *text, hawser_status status, char **out, hawser_error *error) HAWSER_MUST_USE;

#endif
