/* zip.h - the arrays of an .npz file: a zip archive of .npy files, stored or deflated. */
#ifndef HW_DATA_ZIP_H
#define HW_DATA_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hawser/status.h"

/* A file of the archive. `name` is in the archive's bytes, and not ended by zero. */
typedef struct hw_zip_member {
    const char *name;
    size_t name_length;
    uint64_t offset, packed, size; /* of its bytes in the archive, and when unpacked */
    unsigned method;
    uint32_t checksum;
} hw_zip_member;

typedef struct hw_zip {
    const unsigned char *bytes;
    size_t size;
    const char *path; /* for messages */
    hw_zip_member *members;
    size_t count;
} hw_zip;

/* Returns whether bytes begin as a zip archive does. */
bool hw_is_zip(const void *bytes, size_t size);
/* Reads the list of files of an archive in memory, any bytes. The caller frees zip->members. */
hawser_status hw_zip_open(const void *bytes, size_t size, const char *path, hw_zip *zip,
                          hawser_error *error) HAWSER_MUST_USE;
/* Returns the member "NAME.npy", or "NAME" if NAME ends so; NULL: there is none. */
const hw_zip_member *hw_zip_array(const hw_zip *zip, const char *name);
/* Unpacks a file to `out`, which has room for member->size bytes, and checks its checksum. */
hawser_status hw_zip_unpack(const hw_zip *zip, const hw_zip_member *member, void *out, hawser_error *error) HAWSER_MUST_USE;

#endif
