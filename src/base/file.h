/* file.h - files that appear whole or not at all. They are written without a name if the file system supports that, else
 * under a temporary one; then synced, named, and the directory is synced. */
#ifndef HW_BASE_FILE_H
#define HW_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hawser/status.h"

/* A file that is being written, buffered. One thread at a time. After hw_file_begin exactly one of hw_file_commit and
 * hw_file_abort must be called (abort after a failed commit does nothing and is allowed). */
typedef struct hw_file {
    char *path;      /* the path that the user gave, for messages */
    char *target;    /* the final path: symbolic links followed */
    char *temporary; /* NULL when writing directly to a device, a pipe or standard output */
    bool named;      /* the temporary name exists */
    unsigned char *buffer;
    size_t used;
    uint64_t size; /* bytes written so far, without those in the buffer */
    int fd;        /* -1: not open */
} hw_file;

/* Starts writing `path`, and removes temporary files of it that killed processes of this host left. Devices, pipes and "-"
 * (standard output) are written directly. Returns HAWSER_IO at once if the path is a directory, or its directory is missing
 * or not writable, before any work is done. */
hawser_status hw_file_begin(hw_file *file, const char *path, hawser_error *error) HAWSER_MUST_USE;
/* Appends. Returns HAWSER_IO on a full disk, naming path and bytes written; then call hw_file_abort. */
hawser_status hw_file_write(hw_file *file, const void *data, size_t size, hawser_error *error) HAWSER_MUST_USE;
/* Writes what is in the buffer, so that a reader of a pipe gets it. */
hawser_status hw_file_flush(hw_file *file, hawser_error *error) HAWSER_MUST_USE;
/* Writes again over the first bytes of a file that is no device, pipe or standard output (hw_file_is_direct). */
hawser_status hw_file_rewrite(hw_file *file, const void *data, size_t size, hawser_error *error) HAWSER_MUST_USE;
/* Returns whether what is written is seen at once, as with a device, a pipe and standard output. */
bool hw_file_is_direct(const hw_file *file);
/* Appends formatted text of any length. */
hawser_status hw_file_print(hw_file *file, hawser_error *error, const char *format, ...) HAWSER_MUST_USE HAWSER_PRINTF(3, 4);
/* Writes everything so far to the disk, still without its name. For several files that belong together, sync all before the
 * first commit, so that a full disk fails all of them. After a failure call hw_file_abort. */
hawser_status hw_file_sync(hw_file *file, hawser_error *error) HAWSER_MUST_USE;
/* Flushes, syncs, names the file and syncs the directory. Releases everything, whatever the result. */
hawser_status hw_file_commit(hw_file *file, hawser_error *error) HAWSER_MUST_USE;
/* Likewise, but never replaces a file: the name is made by link(), which fails if it exists. */
hawser_status hw_file_commit_new(hw_file *file, hawser_error *error) HAWSER_MUST_USE;
/* Removes what was written and releases everything. Does nothing for a zeroed, committed or aborted file. */
void hw_file_abort(hw_file *file);

/* Tells whether two paths name one regular file, through any links and dots, whether it exists or not. Devices, pipes and
 * "-" are never the same, because they may be written twice and read as well. */
hawser_status hw_file_same(const char *a, const char *b, bool *same, hawser_error *error) HAWSER_MUST_USE;

#endif
