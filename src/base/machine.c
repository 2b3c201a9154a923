#include "base/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

/* Reads a small kernel file into `text`, which ends with a zero. Returns false, with an empty text, if there is none. Each
 * job reads some, so they are read without a FILE and its buffer. */
static bool read_text(const char *path, char *text, size_t size)
{
    size_t length = 0;
    ssize_t more = 1;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    while (file >= 0 && length + 1 < size && more > 0) {
        more = read(file, text + length, size - 1 - length);
        length += more > 0 ? (size_t)more : 0;
    }
    if (file >= 0)
        close(file);
    text[length] = '\0';
    return file >= 0 && more >= 0;
}

/* Returns the first number of a small kernel file; NAN if there is none ("max", no such file). */
static double read_number(const char *path)
{
    char text[64];
    double value = NAN;
    return read_text(path, text, sizeof text) && sscanf(text, "%lf", &value) == 1 ? value : NAN;
}

/* The control groups of this process, as /proc/self/cgroup lists them; longer lists are cut. */
typedef struct groups {
    char text[4096];
} groups;

static void read_groups(groups *own)
{
    (void)read_text("/proc/self/cgroup", own->text, sizeof own->text);
}

/* Writes the path of this process's cgroup for a controller ("" is the unified hierarchy), or "/" if it is unknown. */
static void cgroup_path(const groups *own, const char *controller, char *out, size_t size)
{
    char line[1024];
    (void)snprintf(out, size, "/");
    for (const char *next = own->text; *next != '\0'; next += *next == '\n') {
        size_t length = strcspn(next, "\n");
        (void)snprintf(line, sizeof line, "%.*s", (int)length, next);
        next += length;
        char *names = strchr(line, ':');
        char *path = names ? strchr(names + 1, ':') : NULL;
        if (path == NULL)
            continue;
        *path++ = '\0';
        names++;
        const char *found = *controller ? strstr(names, controller) : (*names == '\0' ? names : NULL);
        if (found != NULL)
            (void)snprintf(out, size, "%s", path);
    }
}

/* Calls `visit` for the file of every level from this cgroup up to the root, because any of them may have the lowest
 * limit. */
static void each_level(const groups *own, const char *mount, const char *controller, const char *file,
                       void (*visit)(const char *path, double *least), double *least)
{
    char group[1024];
    cgroup_path(own, controller, group, sizeof group);
    for (;;) {
        char path[2200];
        snprintf(path, sizeof path, "%s%s/%s", mount, strcmp(group, "/") == 0 ? "" : group, file);
        visit(path, least);
        char *slash = strrchr(group, '/');
        if (slash == NULL || slash[1] == '\0')
            return;
        slash[slash == group ? 1 : 0] = '\0';
    }
}

static void visit_quota_v2(const char *path, double *least)
{
    char text[64];
    double quota, period;
    if (read_text(path, text, sizeof text) && sscanf(text, "%lf %lf", &quota, &period) == 2 && period > 0 &&
        quota / period < *least)
        *least = quota / period;
}

static void visit_quota_v1(const char *path, double *least)
{
    char period_path[2300];
    double quota = read_number(path);
    if (!(quota > 0))
        return;
    snprintf(period_path, sizeof period_path, "%.*s/cpu.cfs_period_us", (int)(strrchr(path, '/') - path), path);
    double period = read_number(period_path);
    if (period > 0 && quota / period < *least)
        *least = quota / period;
}

/* Returns the file cache in a cgroup's usage that the kernel reclaims when memory is short; 0 if unknown. */
static double cached_files(const char *directory, int length)
{
    char path[2300], line[256];
    snprintf(path, sizeof path, "%.*s/memory.stat", length, directory);
    FILE *file = fopen(path, "re");
    double own = 0, all = 0, bytes;
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "inactive_file %lf", &bytes) == 1 || sscanf(line, "active_file %lf", &bytes) == 1)
            own += bytes;
        else if (sscanf(line, "total_inactive_file %lf", &bytes) == 1 || sscanf(line, "total_active_file %lf", &bytes) == 1)
            all += bytes;
    if (file != NULL)
        fclose(file);
    return all > own ? all : own; /* v1 lists sums over the groups below beside the group's own values */
}

static double all_memory(void)
{
    struct sysinfo info;
    return sysinfo(&info) == 0 ? (double)info.totalram * info.mem_unit : INFINITY;
}

static void visit_memory(const char *path, double *least)
{
    double limit = read_number(path);
    if (isnan(limit) || limit - all_memory() >= *least) /* its use cannot matter: most groups have no limit */
        return;
    char use_path[2300];
    int length = (int)(strrchr(path, '/') - path);
    const char *name = strstr(path, "memory.max") ? "memory.current" : "memory.usage_in_bytes";
    snprintf(use_path, sizeof use_path, "%.*s/%s", length, path, name);
    double used = read_number(use_path) - cached_files(path, length);
    double left = limit - (used > 0 ? used : 0);
    if (left < *least)
        *least = left > 0 ? left : 0;
}

uint32_t hw_machine_processors(void)
{
    cpu_set_t set;
    double count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (double)sysconf(_SC_NPROCESSORS_ONLN);
    double quota = INFINITY;
    groups own;
    read_groups(&own);
    each_level(&own, "/sys/fs/cgroup", "", "cpu.max", visit_quota_v2, &quota);
    each_level(&own, "/sys/fs/cgroup/cpu", "cpu", "cpu.cfs_quota_us", visit_quota_v1, &quota);
    if (ceil(quota) < count)
        count = ceil(quota);
    return count < 1 ? 1 : (uint32_t)count;
}

static double available_memory(void)
{
    char text[1024]; /* it is the third line */
    double kib;
    const char *line = read_text("/proc/meminfo", text, sizeof text) ? strstr(text, "MemAvailable:") : NULL;
    return line != NULL && sscanf(line, "MemAvailable: %lf", &kib) == 1 ? kib * 1024 : INFINITY;
}

uint64_t hw_machine_memory(uint32_t sharers)
{
    double least = available_memory();
    groups own;
    read_groups(&own);
    each_level(&own, "/sys/fs/cgroup", "", "memory.max", visit_memory, &least);
    each_level(&own, "/sys/fs/cgroup/memory", "memory", "memory.limit_in_bytes", visit_memory, &least);
    least /= sharers > 1 ? sharers : 1;
    struct rlimit limit; /* each process has its own limit */
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && (double)limit.rlim_cur < least)
        least = (double)limit.rlim_cur;
    return least < 0x1p62 ? (uint64_t)least : UINT64_C(1) << 62;
}

uint64_t hw_machine_peak_rss(void)
{
    unsigned long long kib = 0;
    char text[4096];
    const char *line = read_text("/proc/self/status", text, sizeof text) ? strstr(text, "\nVmHWM:") : NULL;
    if (line != NULL && sscanf(line, "\nVmHWM: %llu kB", &kib) != 1)
        kib = 0;
    struct rusage usage; /* starts with the peak of the process that started this one */
    if (kib != 0)
        return kib * 1024;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024 : 0;
}

hawser_status hw_machine_descriptors(uint64_t wanted, const char *what, const char *where, hawser_error *error)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= wanted)
        return HAWSER_OK;
    bool allowed = limit.rlim_max == RLIM_INFINITY || limit.rlim_max >= wanted;
    limit.rlim_cur = wanted;
    if (allowed && setrlimit(RLIMIT_NOFILE, &limit) == 0)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_IO,
                       "%s %" PRIu64 " descriptors in %s, and `ulimit -Hn` allows %" PRIu64
                       "; raise that limit (nofile of limits.conf, LimitNOFILE= of a unit)",
                       what, wanted, where, (uint64_t)limit.rlim_max);
}

void hw_machine_most_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

const char *hw_machine_advice(int error_number)
{
    return error_number == EMFILE   ? "; see `ulimit -n`, and raise it"
           : error_number == ENFILE ? "; the system's limit is /proc/sys/fs/file-max"
                                    : "";
}
