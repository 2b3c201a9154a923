#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "directory.h"

static size_t entries(const char *path)
{
    DIR *directory = opendir(path);
    assert_non_null(directory);
    size_t count = 0;
    while (readdir(directory) != NULL)
        count++;
    (void)closedir(directory);
    return count - 2;
}

static void content_is(const char *path, const char *expected, size_t size)
{
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    char *content = malloc(size + 1);
    assert_non_null(content);
    assert_int_equal(fread(content, 1, size + 1, in), size);
    assert_memory_equal(content, expected, size);
    free(content);
    (void)fclose(in);
}

static void written_whole_and_nothing_left_over(void **state)
{
    (void)state;
    hawser_error error;
    hw_file file;
    enum { BIG = 1000003 };
    char *big = malloc(BIG);
    assert_non_null(big);
    for (size_t i = 0; i < BIG; i++)
        big[i] = (char)(i * 7 + i / 251);
    assert_int_equal(hw_file_begin(&file, "out", &error), HAWSER_OK);
    for (size_t done = 0; done < BIG;) { /* pieces below, at and beyond the buffer */
        size_t piece = done % 3 == 0 ? 300001 : 77777;
        if (piece > BIG - done)
            piece = BIG - done;
        assert_int_equal(hw_file_write(&file, big + done, piece, &error), HAWSER_OK);
        done += piece;
    }
    assert_int_equal(access("out", F_OK), -1); /* not there before it is whole */
    assert_int_equal(hw_file_commit(&file, &error), HAWSER_OK);
    hw_file_abort(&file);
    content_is("out", big, BIG);
    assert_int_equal(entries("."), 1);
    free(big);
}

static void abort_keeps_the_old_file(void **state)
{
    (void)state;
    hawser_error error;
    hw_file file;
    assert_int_equal(hw_file_begin(&file, "kept", &error), HAWSER_OK);
    assert_int_equal(hw_file_print(&file, &error, "%s %d\n", "old", 1), HAWSER_OK);
    assert_int_equal(hw_file_commit(&file, &error), HAWSER_OK);
    assert_int_equal(chmod("kept", 0640), 0);
    assert_int_equal(symlink("kept", "link"), 0);
    assert_int_equal(hw_file_begin(&file, "link", &error), HAWSER_OK);
    assert_int_equal(hw_file_write(&file, "new", 3, &error), HAWSER_OK);
    hw_file_abort(&file);
    content_is("kept", "old 1\n", 6);
    assert_int_equal(hw_file_begin(&file, "link", &error), HAWSER_OK);
    assert_int_equal(hw_file_print(&file, &error, "%0600d", 7), HAWSER_OK); /* longer than the print's small buffer */
    assert_int_equal(hw_file_commit(&file, &error), HAWSER_OK);
    struct stat facts;
    assert_int_equal(lstat("link", &facts), 0);
    assert_true(S_ISLNK(facts.st_mode)); /* the link stays a link, the file behind it is replaced */
    assert_int_equal(stat("kept", &facts), 0);
    assert_int_equal(facts.st_size, 600);
    assert_int_equal(facts.st_mode & 07777, 0640);
    assert_int_equal(entries("."), 2);
}

static void refusals_name_the_path(void **state)
{
    (void)state;
    hawser_error error;
    hw_file file;
    assert_int_equal(hw_file_begin(&file, ".", &error), HAWSER_IO);
    assert_non_null(strstr(error.text, "directory"));
    assert_int_equal(hw_file_begin(&file, "none/such/file", &error), HAWSER_IO);
    assert_non_null(strstr(error.text, "none/such/file"));
    hw_file_abort(&file);
    assert_int_equal(entries("."), 0);
}

static void unwritable_directory(void **state)
{
    (void)state;
    if (geteuid() == 0)
        skip(); /* root may write anywhere */
    hawser_error error;
    hw_file file;
    assert_int_equal(mkdir("locked", 0500), 0);
    assert_int_equal(hw_file_begin(&file, "locked/x", &error), HAWSER_IO);
    assert_non_null(strstr(error.text, "writable"));
}

static void full_device(void **state)
{
    (void)state;
    hawser_error error;
    hw_file file;
    if (access("/dev/full", W_OK) != 0)
        skip();
    assert_int_equal(hw_file_begin(&file, "/dev/full", &error), HAWSER_OK);
    assert_int_equal(hw_file_write(&file, "x", 1, &error), HAWSER_OK);
    assert_int_equal(hw_file_commit(&file, &error), HAWSER_IO);
    assert_non_null(strstr(error.text, "/dev/full"));
    assert_non_null(strstr(error.text, "space"));
}

static void full_disk_keeps_the_old_file(void **state)
{
    (void)state;
    hawser_error error;
    hw_file file;
    assert_int_equal(mkdir("small", 0700), 0);
    if (mount("none", "small", "tmpfs", 0, "size=512k") != 0)
        skip(); /* needs root with the right to mount */
    assert_int_equal(hw_file_begin(&file, "small/out", &error), HAWSER_OK);
    assert_int_equal(hw_file_write(&file, "old", 3, &error), HAWSER_OK);
    assert_int_equal(hw_file_commit(&file, &error), HAWSER_OK);
    assert_int_equal(hw_file_begin(&file, "small/out", &error), HAWSER_OK);
    hawser_status status = HAWSER_OK;
    static char block[1 << 20]; /* more than a buffer, and than there is room */
    for (int i = 0; i < 10 && status == HAWSER_OK; i++)
        status = hw_file_write(&file, block, i == 0 ? 10 : sizeof block, &error);
    hw_file_abort(&file);
    size_t left = entries("small");
    content_is("small/out", "old", 3);
    assert_int_equal(umount("small"), 0);
    assert_int_equal(status, HAWSER_IO);
    char *after = strstr(error.text, " after "); /* what there was room for, beside the old one's page */
    assert_non_null(after);
    assert_int_equal(strtoull(after + strlen(" after "), NULL, 10), (512 - 4) * 1024);
    assert_int_equal(left, 1);
}

/* From now on no file without a name can be made in this process. */
static void without_unnamed_files(void)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_TMPFILE & ~O_DIRECTORY, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof steps / sizeof *steps, steps};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(77);
}

/* A process that is killed while it writes `path`; with `seen` it waits to be killed. */
static pid_t killed_while_writing(const char *path, bool named, bool waits)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        hawser_error error;
        hw_file file;
        if (named)
            without_unnamed_files();
        if (hw_file_begin(&file, path, &error) != HAWSER_OK || hw_file_write(&file, "half", 4, &error) != HAWSER_OK)
            _exit(1);
        (void)!write(ready[1], "x", 1);
        pause();
        _exit(1);
    }
    close(ready[1]);
    assert_true(read(ready[0], &byte, 1) == 1 || named);
    close(ready[0]);
    int status = 0;
    if (waits)
        return child;
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? child : 0;
}

static void sigkill_leaves_nothing(void **state)
{
    (void)state;
    int fd = open(".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0)
        skip(); /* this file system has no files without names */
    close(fd);
    assert_true(killed_while_writing("out", false, false) > 0);
    assert_int_equal(entries("."), 0);
}

static void what_sigkill_leaves_is_removed_by_the_next(void **state)
{
    (void)state;
    hawser_error error;
    hw_file file;
    if (killed_while_writing("out", true, false) == 0)
        skip(); /* no seccomp here */
    assert_int_equal(entries("."), 1);
    pid_t living = killed_while_writing("out", true, true);
    assert_int_equal(entries("."), 1);                  /* it took the dead one's away, and has its own */
    fclose(fopen("out.00000000-999999999-0.tmp", "w")); /* of another host, perhaps */
    fclose(fopen("out.7-0.tmp", "w"));
    fclose(fopen("outer.00000001-1-0.tmp", "w"));
    assert_int_equal(hw_file_begin(&file, "out", &error), HAWSER_OK);
    assert_int_equal(hw_file_write(&file, "whole", 5, &error), HAWSER_OK);
    assert_int_equal(hw_file_commit(&file, &error), HAWSER_OK);
    content_is("out", "whole", 5);
    assert_int_equal(entries("."), 5); /* all but the dead one's: a living one's, and what is not known to be ours */
    kill(living, SIGKILL);
    assert_int_equal(waitpid(living, NULL, 0), living);
    assert_int_equal(hw_file_begin(&file, "out", &error), HAWSER_OK);
    hw_file_abort(&file);
    assert_int_equal(entries("."), 4);
}

int main(void)
{
#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, make_directory, remove_directory)
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(written_whole_and_nothing_left_over),
        IN_DIRECTORY(abort_keeps_the_old_file),
        IN_DIRECTORY(refusals_name_the_path),
        IN_DIRECTORY(unwritable_directory),
        IN_DIRECTORY(full_device),
        IN_DIRECTORY(full_disk_keeps_the_old_file),
        IN_DIRECTORY(sigkill_leaves_nothing),
        IN_DIRECTORY(what_sigkill_leaves_is_removed_by_the_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
