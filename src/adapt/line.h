/* line.h - a line of a file of decisions is a JSON object. Its last member is a checksum of the text before it. Pure. */
#ifndef HW_ADAPT_LINE_H
#define HW_ADAPT_LINE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Returns the line of an object, which the caller frees, and releases the object. NULL if !ok, or without memory. */
char *hw_line_seal(json_t *object, bool ok);
/* Returns the object of a line, which the caller releases. NULL if its checksum is wrong or it has none. */
json_t *hw_line_open(const char *line, size_t length);

#endif
