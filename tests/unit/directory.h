/* directory.h - a directory of its own for every test of a group: a cmocka setup and teardown. */
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

#endif
