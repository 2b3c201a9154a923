#include "sim/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/world.h"
#include "sim/wrap.h"

enum { PATH_MOST = 4096 };

/* A file with bytes that may be lost. */
typedef struct sim_file {
    dev_t device;
    ino_t inode;
    uint32_t host;
    int fd; /* another descriptor of it, to cut it by */
    off_t synced;
} sim_file;

typedef enum sim_change { MADE, LINKED, RENAMED, REMOVED } sim_change;

/* A change of a directory that may be undone. */
typedef struct sim_naming {
    sim_change change;
    dev_t device; /* of the directory */
    ino_t inode;
    uint32_t host;
    char *from, *to; /* absolute; from: of RENAMED alone */
    uint64_t saved;  /* the number, in the attic, of the file that had the name `to`; 0: none */
} sim_naming;

typedef struct sim_disk_state {
    double sync;    /* seconds of an fsync */
    char attic[40]; /* a directory for files that a crash may bring back; empty: no host crashes */
    bool *full;     /* by host */
    sim_file *files;
    size_t file_count, file_capacity;
    sim_naming *namings;
    size_t naming_count, naming_capacity;
    uint64_t saved;
} sim_disk_state;

static sim_disk_state disk;

static void *sound(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

static bool is_noted(void)
{
    return sim_self() != NULL && disk.attic[0] != '\0';
}

/* Returns a path that stays right when the process changes its directory. The caller frees it. */
static char *absolute(const char *path)
{
    char here[PATH_MOST] = "";
    size_t size = strlen(path) + PATH_MOST + 2;
    char *whole = sound(malloc(size));
    if (path[0] != '/' && getcwd(here, sizeof here) == NULL)
        abort();
    (void)snprintf(whole, size, "%s%s%s", here, path[0] != '/' ? "/" : "", path);
    return whole;
}

static char *attic_path(uint64_t number)
{
    char *path = sound(malloc(sizeof disk.attic + 30));
    (void)snprintf(path, sizeof disk.attic + 30, "%s/%llu", disk.attic, (unsigned long long)number);
    return path;
}

/* ---------------------------------------------------------------------------------------------------------- names ---- */

int __real_link(const char *from, const char *to);
int __real_rename(const char *from, const char *to);
int __real_unlink(const char *path);

/* Keeps a file that is about to lose its name. Returns its number, or 0 if there is none. */
static uint64_t save(const char *path)
{
    char *kept = attic_path(disk.saved + 1);
    bool done = __real_link(path, kept) == 0;
    free(kept);
    return done ? ++disk.saved : 0;
}

static void note_naming(sim_change change, const char *from, const char *to, uint64_t saved)
{
    char *whole = absolute(to), *slash = strrchr(whole, '/');
    struct stat facts = {0};
    *slash = '\0';
    (void)stat(slash == whole ? "/" : whole, &facts);
    *slash = '/';
    if (disk.naming_count == disk.naming_capacity) {
        disk.naming_capacity = 2 * disk.naming_capacity + 16;
        disk.namings = sound(realloc(disk.namings, disk.naming_capacity * sizeof *disk.namings));
    }
    disk.namings[disk.naming_count++] = (sim_naming){.change = change,
                                                     .device = facts.st_dev,
                                                     .inode = facts.st_ino,
                                                     .host = sim_own()->host,
                                                     .from = from != NULL ? absolute(from) : NULL,
                                                     .to = whole,
                                                     .saved = saved};
}

static void forget_naming(size_t number)
{
    free(disk.namings[number].from);
    free(disk.namings[number].to);
    disk.naming_count--;
    memmove(&disk.namings[number], &disk.namings[number + 1], (disk.naming_count - number) * sizeof *disk.namings);
}

static void undo_naming(const sim_naming *naming)
{
    char *kept = naming->saved > 0 ? attic_path(naming->saved) : NULL;
    if (naming->change == RENAMED)
        (void)__real_rename(naming->to, naming->from);
    else if (naming->change != REMOVED)
        (void)__real_unlink(naming->to);
    if (kept != NULL)
        (void)__real_link(kept, naming->to);
    free(kept);
}

SIM_WRAP(int, link, const char *from, const char *to)
{
    int result = __real_link(from, to);
    if (result == 0 && is_noted())
        note_naming(LINKED, NULL, to, 0);
    return result;
}

SIM_WRAP(int, rename, const char *from, const char *to)
{
    uint64_t saved = is_noted() ? save(to) : 0;
    int result = __real_rename(from, to), kept = errno;
    if (result == 0 && is_noted())
        note_naming(RENAMED, from, to, saved);
    errno = kept;
    return result;
}

SIM_WRAP(int, unlink, const char *path)
{
    uint64_t saved = is_noted() ? save(path) : 0;
    int result = __real_unlink(path), kept = errno;
    if (result == 0 && is_noted())
        note_naming(REMOVED, NULL, path, saved);
    errno = kept;
    return result;
}

/* ---------------------------------------------------------------------------------------------------------- bytes ---- */

static sim_file *file_of(int fd, bool adds)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode))
        return NULL;
    for (size_t i = 0; i < disk.file_count; i++)
        if (disk.files[i].device == facts.st_dev && disk.files[i].inode == facts.st_ino)
            return &disk.files[i];
    if (!adds)
        return NULL;
    if (disk.file_count == disk.file_capacity) {
        disk.file_capacity = 2 * disk.file_capacity + 16;
        disk.files = sound(realloc(disk.files, disk.file_capacity * sizeof *disk.files));
    }
    sim_file *file = &disk.files[disk.file_count++];
    *file = (sim_file){.device = facts.st_dev,
                       .inode = facts.st_ino,
                       .host = sim_own()->host,
                       .fd = fcntl(fd, F_DUPFD_CLOEXEC, 0),
                       .synced = facts.st_size};
    return file;
}

static void forget_file(sim_file *file)
{
    if (file->fd >= 0)
        (void)close(file->fd);
    *file = disk.files[--disk.file_count];
}

/* The file ends somewhere behind its last sync, or has zeros from there on. */
static void lose_bytes(const sim_file *file)
{
    static const char zeros[4096];
    struct stat facts;
    if (fstat(file->fd, &facts) != 0 || facts.st_size <= file->synced)
        return;
    off_t kept = file->synced + (off_t)sim_below((uint64_t)(facts.st_size - file->synced) + 1);
    if (ftruncate(file->fd, kept) != 0 || sim_below(2) == 0)
        return;
    for (off_t left = facts.st_size - kept; left > 0;) {
        ssize_t done =
            pwrite(file->fd, zeros, left < (off_t)sizeof zeros ? (size_t)left : sizeof zeros, facts.st_size - left);
        if (done <= 0)
            return;
        left -= done;
    }
}

SIM_WRAP(ssize_t, write, int fd, const void *bytes, size_t size)
{
    struct stat facts;
    if (is_noted())
        (void)file_of(fd, true); /* before its size changes */
    if (sim_self() != NULL && disk.full != NULL && disk.full[sim_own()->host] && fstat(fd, &facts) == 0 &&
        S_ISREG(facts.st_mode)) {
        errno = ENOSPC;
        return -1;
    }
    return __real_write(fd, bytes, size);
}

SIM_WRAP(int, fsync, int fd)
{
    struct stat facts;
    if (sim_self() == NULL)
        return __real_fsync(fd);
    (void)sim_wait(NULL, sim_now() + (uint64_t)(disk.sync * 1e9));
    if (!is_noted() || fstat(fd, &facts) != 0)
        return 0;
    sim_file *file = file_of(fd, false);
    if (file != NULL)
        forget_file(file);
    for (size_t i = disk.naming_count; i-- > 0 && S_ISDIR(facts.st_mode);)
        if (disk.namings[i].device == facts.st_dev && disk.namings[i].inode == facts.st_ino)
            forget_naming(i);
    return 0;
}

SIM_WRAP(int, open, const char *path, int flags, mode_t mode)
{
    bool makes = is_noted() && (flags & O_CREAT) != 0 && access(path, F_OK) != 0;
    int fd = __real_open(path, flags, mode), kept = errno;
    if (fd >= 0 && makes)
        note_naming(MADE, NULL, path, 0);
    errno = kept;
    return fd;
}

SIM_WRAP(int, openat, int directory, const char *path, int flags, mode_t mode)
{
    if (sim_self() == NULL || (flags & O_TMPFILE) != O_TMPFILE)
        return __real_openat(directory, path, flags, mode);
    errno = EOPNOTSUPP;
    return -1;
}

/* --------------------------------------------------------------------------------------------------------- crashes ---- */

/* A file system keeps the order of changes of names: some of the last ones are lost. */
static void lose_names(uint32_t host)
{
    uint64_t own = 0;
    for (size_t i = 0; i < disk.naming_count; i++)
        own += disk.namings[i].host == host;
    uint64_t lost = sim_below(own + 1);
    for (size_t i = disk.naming_count; i-- > 0;) {
        if (disk.namings[i].host != host)
            continue;
        if (lost > 0) {
            undo_naming(&disk.namings[i]);
            lost--;
        }
        forget_naming(i);
    }
}

void sim_disk_crash(uint32_t host)
{
    for (size_t i = disk.file_count; i-- > 0;)
        if (disk.files[i].host == host) {
            lose_bytes(&disk.files[i]);
            forget_file(&disk.files[i]);
        }
    lose_names(host);
}

void sim_disk_fill(uint32_t host)
{
    disk.full[host] = true;
}

void sim_disks_open(double sync, bool crashes, uint32_t hosts)
{
    disk = (sim_disk_state){.sync = sync, .full = sound(calloc(hosts, sizeof *disk.full))};
    if (!crashes)
        return;
    memcpy(disk.attic, "./.hawser-sim-XXXXXX", sizeof "./.hawser-sim-XXXXXX");
    if (mkdtemp(disk.attic) == NULL) {
        fprintf(stderr, "hawser-sim: cannot make a directory for files that a crash may bring back: %s\n", strerror(errno));
        abort();
    }
}

void sim_disks_close(void)
{
    while (disk.file_count > 0)
        forget_file(&disk.files[0]);
    while (disk.naming_count > 0)
        forget_naming(disk.naming_count - 1);
    for (uint64_t number = 1; number <= disk.saved; number++) {
        char *path = attic_path(number);
        (void)__real_unlink(path);
        free(path);
    }
    if (disk.attic[0] != '\0')
        (void)rmdir(disk.attic);
    free(disk.full);
    free(disk.files);
    free(disk.namings);
    disk = (sim_disk_state){0};
}
