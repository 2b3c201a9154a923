/* A process that writes checkpoints is killed before each system call that changes the folder: a whole checkpoint is found
 * each time, and what the process has left is deleted by the next one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "checkpoint_world.h"
#include "directory.h"

enum { KILLED = 77 };

static hawser_error error;
static uint64_t calls_left; /* in the child: calls until it is killed; 0: never */
static bool no_unnamed;     /* the file system has no files without a name */
static bool no_links;       /* and none that have two */

static void step(void)
{
    if (calls_left > 0 && --calls_left == 0)
        _exit(KILLED);
}

/* The linker gives these the calls of the library. */
int __real_openat(int directory, const char *path, int flags, ...);
ssize_t __real_write(int fd, const void *data, size_t size);
int __real_linkat(int from, const char *a, int to, const char *b, int flags);
int __real_link(const char *a, const char *b);
int __real_rename(const char *a, const char *b);
int __real_unlink(const char *path);
int __real_mkdir(const char *path, mode_t mode);
int __wrap_openat(int directory, const char *path, int flags, mode_t mode);
ssize_t __wrap_write(int fd, const void *data, size_t size);
int __wrap_fsync(int fd);
int __wrap_linkat(int from, const char *a, int to, const char *b, int flags);
int __wrap_link(const char *a, const char *b);
int __wrap_rename(const char *a, const char *b);
int __wrap_unlink(const char *path);
int __wrap_mkdir(const char *path, mode_t mode);

int __wrap_openat(int directory, const char *path, int flags, mode_t mode)
{
    if ((flags & O_TMPFILE) == O_TMPFILE && no_unnamed) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return __real_openat(directory, path, flags, mode);
}

/* It is killed once before the write, and once in its middle. */
ssize_t __wrap_write(int fd, const void *data, size_t size)
{
    step();
    if (calls_left == 1)
        (void)!__real_write(fd, data, size / 2);
    step();
    return __real_write(fd, data, size);
}

int __wrap_fsync(int fd)
{
    (void)fd; /* no machine goes down here, and tests of others wait for the disk */
    step();
    return 0;
}

int __wrap_linkat(int from, const char *a, int to, const char *b, int flags)
{
    step();
    return __real_linkat(from, a, to, b, flags);
}

int __wrap_link(const char *a, const char *b)
{
    step();
    if (no_links) {
        errno = EPERM;
        return -1;
    }
    return __real_link(a, b);
}

int __wrap_rename(const char *a, const char *b)
{
    step();
    return __real_rename(a, b);
}

int __wrap_unlink(const char *path)
{
    step();
    return __real_unlink(path);
}

int __wrap_mkdir(const char *path, mode_t mode)
{
    step();
    return __real_mkdir(path, mode);
}

static hw_folder *opened(void)
{
    hw_folder *folder;
    if (hw_folder_open("ck", 2, &folder, &error) != HAWSER_OK || hw_folder_accept(folder, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    return folder;
}

/* Returns the clock of the checkpoint that is found, which must be whole; 0: none is there. */
static uint64_t found_clock(hw_folder *folder)
{
    hw_checkpoint *found;
    if (hw_folder_find(folder, NULL, &found, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    uint64_t clock = found != NULL ? found->clock : 0;
    if (found != NULL && !world_whole("ck", found))
        fail_msg("the checkpoint of clock %d is not whole", (int)clock);
    hw_checkpoint_free(found);
    return clock;
}

static int files(void)
{
    int count = 0;
    DIR *directory = opendir("ck");
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

/* What the process does that is killed: it goes on from a checkpoint and writes two; or it ends. */
static int write_two(uint64_t clock)
{
    hw_folder *folder;
    hw_checkpoint *found;
    if (hw_folder_open("ck", 2, &folder, &error) != HAWSER_OK || hw_folder_find(folder, NULL, &found, &error) != HAWSER_OK ||
        hw_folder_accept(folder, &error) != HAWSER_OK)
        return 1;
    hw_checkpoint_free(found);
    for (uint64_t i = 1; i < 3; i++)
        if (world_write(folder, clock + i, NULL, &error) != HAWSER_OK || folder->failing)
            return 1;
    hw_folder_free(folder);
    return 0;
}

static int remove_all(uint64_t clock)
{
    (void)clock;
    hw_folder *folder;
    if (hw_folder_open("ck", 2, &folder, &error) != HAWSER_OK || hw_folder_accept(folder, &error) != HAWSER_OK ||
        hw_folder_remove(folder, &error) != HAWSER_OK)
        return 1;
    hw_folder_free(folder);
    return 0;
}

/* Runs it until the call number `killed`. Returns whether it was killed. */
static bool run_until(int (*run)(uint64_t clock), uint64_t clock, uint64_t killed)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        calls_left = killed;
        _exit(run(clock));
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && (WEXITSTATUS(status) == KILLED || WEXITSTATUS(status) == 0));
    return WEXITSTATUS(status) == KILLED;
}

/* Writes checkpoints until nothing is left of processes before, and returns the last clock. */
static uint64_t write_some(uint64_t clock)
{
    hw_folder *folder = opened();
    (void)found_clock(folder);
    for (int i = 0; i < 4; i++)
        assert_int_equal(world_write(folder, ++clock, NULL, &error), HAWSER_OK);
    hw_folder_free(folder);
    assert_int_equal(files(), 2 * (BLOCKS + 2) + 2);
    return clock;
}

static void kill_everywhere(void)
{
    uint64_t clock = write_some(0), killed = 1, found = 0;
    bool seen[3] = {false};
    for (bool goes_on = true; goes_on; killed++) {
        goes_on = run_until(write_two, clock, killed);
        hw_folder *folder = opened();
        found = found_clock(folder);
        hw_folder_free(folder);
        assert_in_range(found, clock, clock + 2);
        seen[found - clock] = true;
        assert_true(goes_on || found == clock + 2);
        clock = killed % 8 == 0 ? write_some(found) : found;
    }
    assert_true(seen[0] && seen[1] && seen[2]);
    assert_in_range(killed, 60, 2000);
    clock = write_some(clock);
    bool removed = false;
    for (uint64_t at = 1; run_until(remove_all, clock, at); at++) {
        hw_folder *folder = opened();
        found = found_clock(folder);
        assert_true(found == clock || found == 0); /* never one before it */
        removed = removed || found == 0;
        hw_folder_free(folder);
        clock = write_some(clock);
    }
    assert_true(removed);
    assert_int_equal(files(), 0);
    assert_int_equal(rmdir("ck"), 0);
}

static void a_killed_process_leaves_a_whole_checkpoint(void **state)
{
    (void)state;
    kill_everywhere();
}

static void also_where_files_have_names_from_the_start(void **state)
{
    (void)state;
    no_unnamed = true;
    kill_everywhere();
    no_unnamed = false;
}

static void also_where_no_file_has_two_names(void **state)
{
    (void)state;
    no_unnamed = no_links = true;
    kill_everywhere();
    no_unnamed = no_links = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_killed_process_leaves_a_whole_checkpoint, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(also_where_files_have_names_from_the_start, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(also_where_no_file_has_two_names, make_directory, remove_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
