/* history_memory.h - a history that goes to memory and not to a disk, for tests that record thousands. */
#ifndef HW_TESTS_UNIT_HISTORY_MEMORY_H
#define HW_TESTS_UNIT_HISTORY_MEMORY_H

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "history/check.h"

/* Returns the file in memory, and stores the path by which a job records into it. */
static int history_file(char *path, size_t size)
{
    static int file = -1;
    if (file < 0)
        file = memfd_create("history", 0);
    assert_true(file >= 0);
    (void)snprintf(path, size, "/proc/self/fd/%d", file);
    return file;
}

/* Reads and checks the whole history in the file. The caller frees it. */
static void check_history_file(int file, hw_history *history, hw_verdict *verdict)
{
    static unsigned char bytes[1 << 22];
    hawser_error error = {0};
    ssize_t size = pread(file, bytes, sizeof bytes, 0);
    assert_true(size > 0 && (size_t)size < sizeof bytes);
    if (hw_history_add(history, "the history", bytes, (size_t)size, &error) != HAWSER_OK ||
        hw_history_whole(history, &error) != HAWSER_OK || hw_history_check(history, verdict, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
}

#endif
