#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

enum { BUFFER = 1 << 18, ATTEMPTS = 100 };

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
                                                                          : "";
    const char *path = strcmp(file->path, "-") == 0 ? "standard output" : file->path;
    if (code == ENOMEM)
        return hawser_fail(error, HAWSER_NO_MEMORY, "%s: cannot %s: %s", path, what, strerror(code));
    if (file->size == 0)
        return hawser_fail(error, HAWSER_IO, "%s: cannot %s: %s%s", path, what, strerror(code), help);
    return hawser_fail(error, HAWSER_IO, "%s: cannot %s after %llu bytes: %s%s", path, what, (unsigned long long)file->size,
                       strerror(code), help);
}

/* The name in the same directory, since rename works within one file system only. O_EXCL makes a clash with another process
 * (of this host or of another one on a shared file system) show, and the next number is tried. */
static hawser_status open_temporary(hw_file *file, mode_t mode, hawser_error *error)
{
    size_t size = strlen(file->target) + 64;
    HAWSER_TRY(HW_NEW(&file->temporary, size, "a file name", error));
    int code = EEXIST;
    for (int i = 0; i < ATTEMPTS && code == EEXIST; i++) {
        (void)snprintf(file->temporary, size, "%s.%ld-%d.tmp", file->target, (long)getpid(), i);
        file->fd = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        code = file->fd >= 0 ? 0 : errno;
    }
    if (code != 0) {
        free(file->temporary);
        file->temporary = NULL;
        return failed(file, "create a temporary file beside it", code, error);
    }
    if (mode != 0)
        (void)fchmod(file->fd, mode); /* a replaced file keeps its permissions where we may set them */
    return HAWSER_OK;
}

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
    file->size += size;
    if (size > BUFFER - file->used)
        HAWSER_TRY(flush(file, error));
    if (size >= BUFFER)
        return put(file, data, size, error);
    if (size > 0)
        memcpy(file->buffer + file->used, data, size);
    file->used += size;
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

/* Without this a crash of the machine may undo the rename. Some file systems do not sync directories; that is not an error.
 * Cuts the file's name off `target`: memory for a copy might not be had, and nothing may fail any more. */
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

hawser_status hw_file_commit(hw_file *file, hawser_error *error)
{
    hawser_status status = flush(file, error);
    bool direct = file->temporary == NULL;
    if (status == HAWSER_OK && !direct && fsync(file->fd) != 0)
        status = failed(file, "sync", errno, error);
    if (status == HAWSER_OK) {
        int fd = file->fd;
        file->fd = -1;
        if (close(fd) != 0)
            status = failed(file, "close", errno, error);
    }
    if (status == HAWSER_OK && !direct && rename(file->temporary, file->target) != 0)
        status = failed(file, "rename the finished temporary file", errno, error);
    if (status != HAWSER_OK) {
        hw_file_abort(file);
        return status;
    }
    if (!direct)
        sync_directory(file->target);
    release(file);
    return HAWSER_OK;
}

void hw_file_abort(hw_file *file)
{
    if (file->path == NULL)
        return;
    if (file->temporary != NULL)
        (void)unlink(file->temporary);
    release(file);
}
