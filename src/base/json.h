/* json.h - small helpers over jansson: a failed allocation is reported by a status at the end, not by every call. */
#ifndef HW_BASE_JSON_H
#define HW_BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "hawser/status.h"

/* Makes a JSON number, without a fraction if it has none, or null if it is not finite. Returns NULL without memory. */
json_t *hw_json_value(double value);
/* Sets object[key] to a number, or to null if it is not finite. Sets *ok to false without memory. */
void hw_json_number(json_t *object, const char *key, double value, bool *ok);
void hw_json_count(json_t *object, const char *key, uint64_t value, bool *ok);
/* Makes a JSON string. A path or a name need not be UTF-8, but JSON text must be: otherwise bytes that are not ASCII become
 * '?'. NULL becomes null. Returns NULL without memory. */
json_t *hw_json_string(const char *value);
void hw_json_text(json_t *object, const char *key, const char *value, bool *ok);
void hw_json_take(json_t *object, const char *key, json_t *value, bool *ok); /* takes the reference */
void hw_json_append(json_t *list, json_t *value, bool *ok);                  /* likewise */

/* Returns the text of an object on one line, which the caller frees, and releases `object`. NULL if !ok, or without memory.
 * Control characters and those that turn a line around are escaped (hw_escape_json), because a person may look at the line
 * on a terminal. */
char *hw_json_print(json_t *object, bool ok);

#endif
