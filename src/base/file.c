#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/machine.h"
#include "base/memory.h"

enum { BUFFER = 1 << 18, ATTEMPTS = 100, NAME_MORE = 80 /* additional bytes of a temporary name */ };

static void release(hw_file *file)
{
    if (file->fd >= 0)
        (void)close(file->fd);
    free(file->path);
    free(file->target);
    free(file->temporary);
    free(file->buffer);
    *file = (hw_file){.fd = -1};
}

static hawser_status failed(const hw_file *file, const char *what, int code, hawser_error *error)
{
    const char *help = code == ENOSPC || code == EDQUOT                   ? "; free space or write elsewhere"
                       : code == EACCES || code == EPERM || code == EROFS ? "; the directory must be writable"
                                                                          : hw_machine_advice(code);
    const char *path = strcmp(file->path, "-") == 0 ? "standard output" : file->path;
    if (code == ENOMEM)
        return hawser_fail(error, HAWSER_NO_MEMORY, "%s: cannot %s: %s", path, what, strerror(code));
    if (file->size == 0)
        return hawser_fail(error, HAWSER_IO, "%s: cannot %s: %s%s", path, what, strerror(code), help);
    return hawser_fail(error, HAWSER_IO, "%s: cannot %s after %llu bytes: %s%s", path, what, (unsigned long long)file->size,
                       strerror(code), help);
}

/* ------------------------------------------------------------------------------------------------ temporary names ---- */

/* Returns what identifies the processes that this one can look up: the boot of the machine and the PID namespace. */
static uint32_t process_space(void)
{
    char space[60] = "", boot[60] = "", text[128];
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, boot, sizeof boot - 1) : 0;
    if (fd >= 0)
        (void)close(fd);
    boot[length > 0 ? length : 0] = '\0';
    length = readlink("/proc/self/ns/pid", space, sizeof space - 1);
    space[length > 0 ? length : 0] = '\0';
    if (boot[0] == '\0' || space[0] == '\0')
        return 0; /* unknown */
    (void)snprintf(text, sizeof text, "%s %s", boot, space);
    return (uint32_t)hw_hash(text, strlen(text), 0);
}

static void name_temporary(hw_file *file, uint32_t space, int number)
{
    (void)snprintf(file->temporary, strlen(file->target) + NAME_MORE, "%s.%08" PRIx32 "-%ld-%d.tmp", file->target, space,
                   (long)getpid(), number);
}

/* Returns whether a name is that of a temporary file whose process has ended. */
static bool is_stale(const char *name, const char *base, uint32_t space)
{
    unsigned long said = 0, number = 0;
    long pid = 0;
    int end = 0;
    size_t length = strlen(base);
    if (strncmp(name, base, length) != 0 || sscanf(name + length, ".%8lx-%ld-%lu.tmp%n", &said, &pid, &number, &end) != 3)
        return false;
    return end > 0 && name[length + (size_t)end] == '\0' && said == space && pid > 0 && kill((pid_t)pid, 0) != 0 &&
           errno == ESRCH;
}

/* Opens the directory of `target`. Its name ends at the last slash. */
static DIR *open_directory(const char *target, const char **base)
{
    const char *slash = strrchr(target, '/');
    char path[4096] = ".";
    *base = slash != NULL ? slash + 1 : target;
    if (slash != NULL && (size_t)(slash - target) + 2 > sizeof path)
        return NULL;
    if (slash != NULL)
        (void)snprintf(path, sizeof path, "%.*s", slash == target ? 1 : (int)(slash - target), target);
    return opendir(path);
}

/* Removes the temporary files of killed processes that were writing this file; nothing else would ever remove them. */
static void remove_stale(const char *target, uint32_t space)
{
    const char *base;
    DIR *directory = space != 0 ? open_directory(target, &base) : NULL;
    if (directory == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        if (is_stale(entry->d_name, base, space))
            (void)unlinkat(dirfd(directory), entry->d_name, 0);
    (void)closedir(directory);
}

/* Opens a file without a name, which vanishes with the process. It can be named later only if /proc shows it. */
static bool open_unnamed(hw_file *file)
{
    char self[40];
    const char *base;
    DIR *directory = open_directory(file->target, &base);
    if (directory == NULL)
        return false;
    file->fd = openat(dirfd(directory), ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    (void)closedir(directory);
    (void)snprintf(self, sizeof self, "/proc/self/fd/%d", file->fd);
    if (file->fd >= 0 && access(self, F_OK) == 0)
        return true;
    if (file->fd >= 0)
        (void)close(file->fd);
    file->fd = -1;
    return false;
}

/* Opens a file in the same directory, because rename works only within one file system. O_EXCL detects a clash with another
 * process (of this host, or of another one on a shared file system); then the next number is tried. */
static int open_named(hw_file *file, uint32_t space)
{
    int code = EEXIST;
    for (int i = 0; i < ATTEMPTS && code == EEXIST; i++) {
        name_temporary(file, space, i);
        file->fd = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        code = file->fd >= 0 ? 0 : errno;
    }
    file->named = code == 0;
    return code;
}

static hawser_status open_temporary(hw_file *file, mode_t mode, hawser_error *error)
{
    uint32_t space = process_space();
    HAWSER_TRY(HW_NEW(&file->temporary, strlen(file->target) + NAME_MORE, "a file name", error));
    remove_stale(file->target, space);
    name_temporary(file, space, 0);
    int code = open_unnamed(file) ? 0 : open_named(file, space);
    if (code != 0)
        return failed(file, "create a temporary file beside it", code, error);
    if (mode != 0)
        (void)fchmod(file->fd, mode); /* a replaced file keeps its permissions if this process may set them */
    return HAWSER_OK;
}

/* Names the file. A link cannot replace an existing file, so in that case the new one first gets a temporary name and is
 * then renamed. */
static int give_name(hw_file *file, bool replaces)
{
    char self[40];
    (void)snprintf(self, sizeof self, "/proc/self/fd/%d", file->fd);
    if (linkat(AT_FDCWD, self, AT_FDCWD, file->target, AT_SYMLINK_FOLLOW) == 0)
        return 0;
    int code = errno;
    for (int i = 0; replaces && i < ATTEMPTS && code == EEXIST; i++) {
        name_temporary(file, process_space(), i);
        code = linkat(AT_FDCWD, self, AT_FDCWD, file->temporary, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
    }
    file->named = code == 0;
    return code;
}

/* ------------------------------------------------------------------------------------------------------- writing ---- */

static hawser_status open_for_writing(hw_file *file, hawser_error *error)
{
    if (strcmp(file->path, "-") == 0) {
        file->fd = dup(STDOUT_FILENO);
        return file->fd >= 0 ? HAWSER_OK : failed(file, "write", errno, error);
    }
    struct stat facts;
    if (stat(file->path, &facts) != 0) {
        if (errno != ENOENT)
            return failed(file, "open for writing", errno, error);
        HAWSER_TRY(hw_copy_text(&file->target, file->path, error));
        return open_temporary(file, 0, error);
    }
    if (S_ISDIR(facts.st_mode))
        return failed(file, "open for writing", EISDIR, error);
    if (!S_ISREG(facts.st_mode)) {
        file->fd = open(file->path, O_WRONLY | O_CLOEXEC);
        return file->fd >= 0 ? HAWSER_OK : failed(file, "open for writing", errno, error);
    }
    file->target = realpath(file->path, NULL);
    if (file->target == NULL)
        return failed(file, "open for writing", errno, error);
    return open_temporary(file, facts.st_mode & 07777, error);
}

hawser_status hw_file_begin(hw_file *file, const char *path, hawser_error *error)
{
    *file = (hw_file){.fd = -1};
    hawser_status status = hw_copy_text(&file->path, path, error);
    if (status == HAWSER_OK)
        status = HW_NEW(&file->buffer, BUFFER, "a write buffer", error);
    if (status == HAWSER_OK)
        status = open_for_writing(file, error);
    if (status != HAWSER_OK)
        release(file);
    return status;
}

static hawser_status put(hw_file *file, const unsigned char *data, size_t size, hawser_error *error)
{
    while (size > 0) {
        ssize_t done = write(file->fd, data, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return failed(file, "write", errno, error);
        data += done;
        size -= (size_t)done;
        file->size += (uint64_t)done;
    }
    return HAWSER_OK;
}

static hawser_status flush(hw_file *file, hawser_error *error)
{
    size_t used = file->used;
    file->used = 0;
    return put(file, file->buffer, used, error);
}

hawser_status hw_file_write(hw_file *file, const void *data, size_t size, hawser_error *error)
{
    if (size > BUFFER - file->used)
        HAWSER_TRY(flush(file, error));
    if (size >= BUFFER)
        return put(file, data, size, error);
    if (size > 0)
        memcpy(file->buffer + file->used, data, size);
    file->used += size;
    return HAWSER_OK;
}

hawser_status hw_file_flush(hw_file *file, hawser_error *error)
{
    return flush(file, error);
}

bool hw_file_is_direct(const hw_file *file)
{
    return file->temporary == NULL;
}

hawser_status hw_file_rewrite(hw_file *file, const void *data, size_t size, hawser_error *error)
{
    HAWSER_TRY(flush(file, error));
    for (size_t done = 0; done < size;) {
        ssize_t some = pwrite(file->fd, (const char *)data + done, size - done, (off_t)done);
        if (some < 0 && errno != EINTR)
            return failed(file, "write", errno, error);
        done += some > 0 ? (size_t)some : 0;
    }
    return HAWSER_OK;
}

hawser_status hw_file_print(hw_file *file, hawser_error *error, const char *format, ...)
{
    char small[512];
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    int size = vsnprintf(small, sizeof small, format, list);
    va_end(list);
    hawser_status status = HAWSER_OK;
    if (size < 0) {
        status = hawser_fail(error, HAWSER_INTERNAL, "%s: cannot format \"%s\"", file->path, format);
    } else if ((size_t)size < sizeof small) {
        status = hw_file_write(file, small, (size_t)size, error);
    } else {
        char *large = NULL;
        status = HW_NEW(&large, (size_t)size + 1, "a line of output", error);
        if (status == HAWSER_OK) {
            (void)vsnprintf(large, (size_t)size + 1, format, again);
            status = hw_file_write(file, large, (size_t)size, error);
        }
        free(large);
    }
    va_end(again);
    return status;
}

/* Syncs a directory: without this a crash of the machine could undo the rename. Some file systems cannot sync directories,
 * which is not an error. Cuts the file's name off `target`, because allocating a copy could fail, and nothing may fail any
 * more. */
static void sync_directory(char *target)
{
    char *slash = strrchr(target, '/');
    if (slash != NULL)
        slash[slash == target ? 1 : 0] = '\0';
    int fd = open(slash != NULL ? target : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        (void)close(fd);
    }
}

hawser_status hw_file_sync(hw_file *file, hawser_error *error)
{
    hawser_status status = flush(file, error);
    if (status == HAWSER_OK && file->temporary != NULL && fsync(file->fd) != 0)
        status = failed(file, "sync", errno, error);
    return status;
}

/* Gives a file with a temporary name its own. A file system without links renames it: then no other name is replaced
 * except in a race. */
static int move_name(hw_file *file, bool replaces)
{
    if (!replaces) {
        int code = link(file->temporary, file->target) == 0 ? 0 : errno;
        if (code == 0)
            return unlink(file->temporary) == 0 ? 0 : errno;
        if (code != EPERM && code != ENOSYS && code != EOPNOTSUPP)
            return code;
        if (access(file->target, F_OK) == 0)
            return EEXIST;
    }
    return rename(file->temporary, file->target) == 0 ? 0 : errno;
}

static hawser_status commit(hw_file *file, bool replaces, hawser_error *error)
{
    hawser_status status = hw_file_sync(file, error);
    bool direct = file->temporary == NULL;
    int code = 0;
    if (status == HAWSER_OK && !direct && !file->named && (code = give_name(file, replaces)) != 0)
        status = failed(file, "give the finished file its name", code, error);
    if (status == HAWSER_OK) {
        int fd = file->fd;
        file->fd = -1;
        if (close(fd) != 0)
            status = failed(file, "close", errno, error);
    }
    if (status == HAWSER_OK && file->named && (code = move_name(file, replaces)) != 0)
        status = failed(file, "rename the finished temporary file", code, error);
    if (status != HAWSER_OK) {
        hw_file_abort(file);
        return status;
    }
    if (!direct)
        sync_directory(file->target);
    release(file);
    return HAWSER_OK;
}

hawser_status hw_file_commit(hw_file *file, hawser_error *error)
{
    return commit(file, true, error);
}

hawser_status hw_file_commit_new(hw_file *file, hawser_error *error)
{
    return commit(file, false, error);
}

void hw_file_abort(hw_file *file)
{
    if (file->path == NULL)
        return;
    if (file->named)
        (void)unlink(file->temporary);
    release(file);
}

/* ----------------------------------------------------------------------------------------------------- two names ---- */

/* Returns the file's directory without links and dots, a slash, and its name. The file need not exist. */
static hawser_status resolve_name(const char *path, char **resolved, hawser_error *error)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    size_t length = slash == NULL ? 1 : slash == path ? 1 : (size_t)(slash - path);
    char *directory = NULL, *whole = NULL;
    *resolved = NULL;
    HAWSER_TRY(HW_NEW(&directory, length + 1, "a file name", error));
    memcpy(directory, slash != NULL ? path : ".", length);
    char *real = realpath(directory, NULL); /* NULL: no such directory, which is reported when the file is opened */
    const char *base = real != NULL ? real : directory;
    hawser_status status = HW_NEW(&whole, strlen(base) + strlen(name) + 2, "a file name", error);
    if (status == HAWSER_OK)
        (void)snprintf(whole, strlen(base) + strlen(name) + 2, "%s/%s", base, name);
    free(directory);
    free(real);
    *resolved = whole;
    return status;
}

hawser_status hw_file_same(const char *a, const char *b, bool *same, hawser_error *error)
{
    struct stat first, second;
    bool first_there = stat(a, &first) == 0, second_there = stat(b, &second) == 0;
    *same = false;
    if (strcmp(a, "-") == 0 || strcmp(b, "-") == 0 || first_there != second_there)
        return HAWSER_OK;
    if (first_there) {
        *same = S_ISREG(first.st_mode) && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
        return HAWSER_OK;
    }
    char *x = NULL, *y = NULL;
    hawser_status status = resolve_name(a, &x, error);
    if (status == HAWSER_OK)
        status = resolve_name(b, &y, error);
    if (status == HAWSER_OK)
        *same = strcmp(x, y) == 0;
    free(x);
    free(y);
    return status;
}
