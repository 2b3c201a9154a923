/* json.h - lines of JSON that the command prints. */
#ifndef HW_CLI_JSON_H
#define HW_CLI_JSON_H

#include "base/json.h"
#include "cli/cli.h"

/* Prints one line and releases `object`. HAWSER_NO_MEMORY if !ok, HAWSER_IO if the stream fails. */
hawser_status hw_json_line(FILE *out, json_t *object, bool ok, hawser_error *error) HAWSER_MUST_USE;

/* Reads the header of a safetensors file that is no model of Hawser's, with one tensor per line; *header is NULL if the file is not one. */
hawser_status hw_tensor_file_header(const char *path, json_t **header, hawser_error *error) HAWSER_MUST_USE;
void hw_tensor_file_print(FILE *out, const char *path, const json_t *header);

/* {"tol": {"value": "1e-6", "source": "default", "where": "default"}, ...} */
json_t *hw_json_options(const hawser_options *options, bool *ok);

#endif
