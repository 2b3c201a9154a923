/* file.h - files that appear whole or not at all: written without a name where the file system can do that, else under a temporary one;
 * synced, named, directory synced. */
#ifndef HW_BASE_FILE_H
#define HW_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hawser/status.h"

/* A file being written, buffered. One thread at a time. Between hw_file_begin and the end, exactly one of hw_file_commit and
 * hw_file_abort must be called (abort after a failed commit does nothing and is allowed). */
typedef struct hw_file {
    char *path;      /* what the user named, for messages */
    char *target;    /* where it will be: symbolic links followed */
    char *temporary; /* NULL when writing straight into a device, a pipe or standard output */
    bool named;      /* there is a file under the temporary name */
    unsigned char *buffer;
    size_t used;
    uint64_t size; /* bytes written so far; not those in the buffer */
    int fd;        /* -1: not open */
} hw_file;

/* Starts writing `path`, and removes temporary files that processes of this host left for it when they were killed. A path
 * that is a device or pipe, and "-" (standard output), are written directly. A directory, a missing directory or one without
 * permission is HAWSER_IO now, before any work is done. */
hawser_status hw_file_begin(hw_file *file, const char *path, hawser_error *error) HAWSER_MUST_USE;
/* Appends. A full disk is HAWSER_IO naming path and bytes written; call hw_file_abort then. */
hawser_status hw_file_write(hw_file *file, const void *data, size_t size, hawser_error *error) HAWSER_MUST_USE;
/* Appends formatted text of any length. */
hawser_status hw_file_print(hw_file *file, hawser_error *error, const char *format, ...) HAWSER_MUST_USE HAWSER_PRINTF(3, 4);
/* What was written so far is on the disk, still without its name: of several files that belong together all come to this before the
 * first is committed, so that a full disk ends them all. Call hw_file_abort after a failure. */
hawser_status hw_file_sync(hw_file *file, hawser_error *error) HAWSER_MUST_USE;
/* Flushes, syncs, gives it its name and syncs the directory; releases everything whatever the outcome. */
hawser_status hw_file_commit(hw_file *file, hawser_error *error) HAWSER_MUST_USE;
/* Removes what was written and releases everything. Harmless on a zeroed, committed or aborted file. */
void hw_file_abort(hw_file *file);

/* Whether two paths name one regular file, by whatever links and dots, there already or not yet. Devices and pipes may be written to
 * twice, and read from too: they are never the same, nor is "-". */
hawser_status hw_file_same(const char *a, const char *b, bool *same, hawser_error *error) HAWSER_MUST_USE;

#endif
