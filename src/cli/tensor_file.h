/* tensor_file.h - safetensors files that are no models of Hawser's. */
#ifndef HW_CLI_TENSOR_FILE_H
#define HW_CLI_TENSOR_FILE_H

#include "base/json.h"
#include "cli/cli.h"

/* Reads the header of a safetensors file that is no model of Hawser's, with one tensor per line; *header is NULL if the file
 * is not one. */
hawser_status hw_tensor_file_header(const char *path, json_t **header, hawser_error *error) HAWSER_MUST_USE;
void hw_tensor_file_print(FILE *out, const char *path, const json_t *header);

#endif
