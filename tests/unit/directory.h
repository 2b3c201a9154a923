/* directory.h - a directory of its own for every test of a group: a cmocka setup and teardown. For test files that begin
 * with cmocka's includes. */
#ifndef HW_TESTS_DIRECTORY_H
#define HW_TESTS_DIRECTORY_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int make_directory(void **state)
{
    char *path = strdup("/tmp/hawser-test-XXXXXX");
    if (path == NULL || mkdtemp(path) == NULL)
        return -1;
    *state = path;
    return chdir(path);
}

static int remove_directory(void **state)
{
    char command[200];
    int written = snprintf(command, sizeof command, "rm -rf '%s'", (char *)*state);
    int result = chdir("/") != 0 || written < 0 || system(command) != 0;
    free(*state);
    return result;
}

/* Makes a file of this text, or puts the text in the place of what it was. */
static inline void put_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

#endif
