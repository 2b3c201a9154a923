/* tensors.h - safetensors files that end with a checksum of everything before it, as their last tensor: headers that are
 * made, and files that are read. */
#ifndef HW_CHECKPOINT_TENSORS_H
#define HW_CHECKPOINT_TENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

/* A header that is being made. After hw_tensors_begin, hw_tensors_text must be called. */
typedef struct hw_tensors_header {
    json_t *tensors, *facts;
    uint64_t bytes; /* of the tensors so far */
    bool ok;
} hw_tensors_header;

void hw_tensors_begin(hw_tensors_header *header);
/* Adds a fact, or a tensor of `type` ("F64") behind the one before it. cols == 0: it has one dimension. Both return
 * false without memory, for a name that is not UTF-8, and for a name that occurs twice. */
bool hw_tensors_fact(hw_tensors_header *header, const char *name, const char *value);
bool hw_tensors_add(hw_tensors_header *header, const char *name, const char *type, uint64_t rows, uint64_t cols,
                    uint64_t bytes);
/* Adds the checksum, and returns the text, padded to a multiple of eight bytes; the caller frees it. NULL: a call before it
 * returned false, or there is no memory. */
char *hw_tensors_text(hw_tensors_header *header);

/* A file that is being read. Initially {.fd = -1}. */
typedef struct hw_tensors_file {
    const char *path; /* the caller's, for messages, too */
    int fd;
    uint64_t size;
    char *header;
    size_t header_length;
} hw_tensors_file;

/* Opens a file and reads its header as text. Nothing is checked but its length. The caller calls hw_tensors_close, whatever
 * the result. */
hawser_status hw_tensors_open(hw_tensors_file *file, const char *path, hawser_error *error) HAWSER_MUST_USE;
void hw_tensors_close(hw_tensors_file *file);
/* Reads all of the file, and compares the checksum. Stores it in *checksum, which may be NULL. */
hawser_status hw_tensors_check(const hw_tensors_file *file, uint64_t *checksum, hawser_error *error) HAWSER_MUST_USE;
/* Reads bytes of the file; `at` counts from its start. */
hawser_status hw_tensors_read(const hw_tensors_file *file, uint64_t at, void *out, size_t bytes,
                              hawser_error *error) HAWSER_MUST_USE;
/* Returns whether the last of the `bytes` of the tensors are the checksum. */
bool hw_tensors_whole(const json_t *header, uint64_t bytes);

#endif
