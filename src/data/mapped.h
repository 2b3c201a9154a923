/* mapped.h - the file behind a mapping, which another program may cut short: a read beyond its end is a SIGBUS. */
#ifndef HW_DATA_MAPPED_H
#define HW_DATA_MAPPED_H

#include <stddef.h>

#include "hawser/status.h"

typedef struct hw_mapped_file {
    void *bytes;
    size_t size;    /* when it was mapped */
    int descriptor; /* of this file, whatever has its name by now */
    char *name;
} hw_mapped_file;

/* Maps a plain file that is not empty, to be read. */
hawser_status hw_mapped_open(const char *path, hw_mapped_file **file, hawser_error *error) HAWSER_MUST_USE;
/* HAWSER_BAD_INPUT if the file is shorter than it was. */
hawser_status hw_mapped_check(const hw_mapped_file *file, hawser_error *error) HAWSER_MUST_USE;
void hw_mapped_close(hw_mapped_file *file);

#endif
