#include "checkpoint/log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"

enum { TAIL = 4096 }; /* bytes before the end that must be the same */

const char *const hw_log_options[HW_LOGS] = {"trace", "log-json"};

hawser_status hw_log_open(const char *path, FILE **file, hawser_error *error)
{
    *file = fopen(path, "ae");
    return *file != NULL ? HAWSER_OK : hawser_fail(error, HAWSER_IO, "cannot write '%s': %s", path, strerror(errno));
}

void hw_log_clear(FILE *file)
{
    struct stat facts;
    if (fstat(fileno(file), &facts) == 0 && S_ISREG(facts.st_mode))
        (void)!ftruncate(fileno(file), 0);
}

/* Describes the first `bytes` of an open log. The result has no bytes if they cannot be read. */
static hw_log_mark mark_at(int fd, const char *path, uint64_t bytes)
{
    unsigned char tail[TAIL];
    size_t size = bytes < TAIL ? (size_t)bytes : TAIL;
    if (pread(fd, tail, size, (off_t)(bytes - size)) != (ssize_t)size)
        return (hw_log_mark){0};
    return (hw_log_mark){bytes, hw_hash(tail, size, hw_hash(path, strlen(path), bytes))};
}

/* Opens a regular file and finds its length. */
static int open_log(const char *path, int how, uint64_t *bytes)
{
    struct stat facts;
    int fd = path != NULL ? open(path, how | O_NONBLOCK | O_CLOEXEC) : -1;
    if (fd >= 0 && fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode)) {
        *bytes = (uint64_t)facts.st_size;
        return fd;
    }
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

hw_log_mark hw_log_mark_of(const char *path)
{
    uint64_t bytes = 0;
    int fd = open_log(path, O_RDONLY, &bytes);
    if (fd < 0)
        return (hw_log_mark){0};
    hw_log_mark mark = mark_at(fd, path, bytes);
    (void)close(fd);
    return mark;
}

bool hw_log_cut(const char *path, const hw_log_mark *mark)
{
    uint64_t bytes = 0;
    int fd = mark->bytes > 0 ? open_log(path, O_RDWR, &bytes) : -1;
    if (fd < 0)
        return false;
    bool same = bytes >= mark->bytes && mark_at(fd, path, mark->bytes).checksum == mark->checksum;
    bool cut = same && ftruncate(fd, (off_t)mark->bytes) == 0;
    (void)close(fd);
    return cut;
}
