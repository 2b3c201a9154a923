/* json.h - small helpers over jansson: a failed allocation is reported by a status at the end, not by every call. */
#ifndef HW_CLI_JSON_H
#define HW_CLI_JSON_H

#include <jansson.h>
#include <stdint.h>

#include "cli/cli.h"

/* Makes a JSON number, without a fraction if it has none, or null if it is not finite. Returns NULL without memory. */
json_t *hw_json_value(double value);
/* Sets object[key] to a number, or to null if it is not finite. Sets *ok to false without memory. */
void hw_json_number(json_t *object, const char *key, double value, bool *ok);
void hw_json_count(json_t *object, const char *key, uint64_t value, bool *ok);
/* Makes a JSON string. A path or a name need not be UTF-8, but JSON text must be: otherwise bytes that are not ASCII become '?'. NULL
 * becomes null. Returns NULL without memory. */
json_t *hw_json_string(const char *value);
void hw_json_text(json_t *object, const char *key, const char *value, bool *ok);
void hw_json_take(json_t *object, const char *key, json_t *value, bool *ok); /* takes the reference */
void hw_json_append(json_t *list, json_t *value, bool *ok);                  /* likewise */

/* Prints one line and releases `object`. HAWSER_NO_MEMORY if !ok, HAWSER_IO if the stream fails. */
hawser_status hw_json_line(FILE *out, json_t *object, bool ok, hawser_error *error) HAWSER_MUST_USE;

/* Reads the header of a safetensors file that is no model of Hawser's, with one tensor per line; *header is NULL if the file is not one. */
hawser_status hw_tensor_file_header(const char *path, json_t **header, hawser_error *error) HAWSER_MUST_USE;
void hw_tensor_file_print(FILE *out, const char *path, const json_t *header);

/* {"tol": {"value": "1e-6", "source": "default", "where": "default"}, ...} */
json_t *hw_json_options(const hawser_options *options, bool *ok);

#endif
