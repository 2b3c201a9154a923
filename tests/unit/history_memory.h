/* history_memory.h - a history that goes to memory and not to a disk, for tests that record thousands; and histories in
 * files. */
#ifndef HW_TESTS_UNIT_HISTORY_MEMORY_H
#define HW_TESTS_UNIT_HISTORY_MEMORY_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "history/check.h"

/* Returns the file in memory, and stores the path by which a job records into it. */
static inline int history_file(char *path, size_t size)
{
    static int file = -1;
    if (file < 0)
        file = memfd_create("history", 0);
    assert_true(file >= 0);
    (void)snprintf(path, size, "/proc/self/fd/%d", file);
    return file;
}

/* Reads and checks the whole history in the file. The caller frees it. */
static inline void check_history_file(int file, hw_history *history, hw_verdict *verdict)
{
    hawser_error error = {0};
    off_t size = lseek(file, 0, SEEK_END); /* of a large program it has several MB */
    unsigned char *bytes = size > 0 ? malloc((size_t)size) : NULL;
    assert_true(bytes != NULL && pread(file, bytes, (size_t)size, 0) == size);
    if (hw_history_add(history, "the history", bytes, (size_t)size, &error) != HAWSER_OK ||
        hw_history_whole(history, &error) != HAWSER_OK || hw_history_check(history, verdict, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    free(bytes);
}

static inline unsigned char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    unsigned char *bytes = malloc(1 << 24);
    if (file == NULL || bytes == NULL)
        abort();
    *size = fread(bytes, 1, 1 << 24, file);
    fclose(file);
    return bytes;
}

/* Adds a file as hawser check would. */
static inline hawser_status add_history(hw_history *history, const char *path, hawser_error *error)
{
    size_t size;
    unsigned char *bytes = read_file(path, &size);
    hawser_status status = hw_history_add(history, path, bytes, size, error);
    free(bytes);
    return status;
}

#endif
