/* json.h - small helpers over jansson: a failed allocation shows as a status at the end, not at every call. */
#ifndef HW_CLI_JSON_H
#define HW_CLI_JSON_H

#include <jansson.h>
#include <stdint.h>

#include "cli/cli.h"

/* Sets object[key] to a number, null where it is not finite; *ok turns false when memory is short. */
void hw_json_number(json_t *object, const char *key, double value, bool *ok);
void hw_json_count(json_t *object, const char *key, uint64_t value, bool *ok);
/* A path or a name need not be UTF-8, a JSON text must be: then bytes that are not ASCII become '?'. NULL: null. The result is NULL when memory
 * is short. */
json_t *hw_json_string(const char *value);
void hw_json_text(json_t *object, const char *key, const char *value, bool *ok);
void hw_json_take(json_t *object, const char *key, json_t *value, bool *ok); /* takes the reference */
void hw_json_append(json_t *list, json_t *value, bool *ok);                  /* this one, too */

/* Prints one line and releases `object`. HAWSER_NO_MEMORY when !ok, HAWSER_IO when the stream refuses. */
hawser_status hw_json_line(FILE *out, json_t *object, bool ok, hawser_error *error) HAWSER_MUST_USE;

/* The header of a safetensors file that is no model of Hawser's, and its tensors, one a line; *header is NULL where it is none. */
hawser_status hw_foreign_header(const char *path, json_t **header, hawser_error *error) HAWSER_MUST_USE;
void hw_foreign_print(FILE *out, const char *path, const json_t *header);

/* {"tol": {"value": "1e-6", "source": "default", "where": "default"}, ...} */
json_t *hw_json_options(const hawser_options *options, bool *ok);

#endif
