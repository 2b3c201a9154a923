/* failing.h - stands between the library and the allocator: the n-th allocation fails, and what lives is counted. For files
 * whose name ends in _failures, which are linked with --wrap. */
#ifndef HW_TESTS_UNIT_FAILING_H
#define HW_TESTS_UNIT_FAILING_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

static atomic_long countdown, live;
static atomic_bool for_good;                /* all after the n-th fail too */
static _Thread_local long thread_countdown; /* likewise, of the allocations of this thread alone */

void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t bytes);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t most);
char *__real_realpath(const char *path, char *resolved);
void __real_free(void *memory);
void *__real_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);
int __real_munmap(void *address, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t bytes);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t most);
char *__wrap_realpath(const char *path, char *resolved);
void __wrap_free(void *memory);
void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);
int __wrap_munmap(void *address, size_t bytes);

static void (*before_mmap)(void);  /* of memory; for tests that something happens in between */
static void (*before_array)(void); /* of memory that is zeroed, or grows */

static bool fails(void)
{
    if (thread_countdown-- == 1)
        return true;
    long left = atomic_fetch_sub(&countdown, 1);
    return left == 1 || (left < 1 && atomic_load(&for_good));
}

static void *counted(void *memory)
{
    if (memory != NULL)
        atomic_fetch_add(&live, 1);
    return memory;
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return fails() ? NULL : counted(__real_aligned_alloc(alignment, bytes));
}

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : counted(__real_malloc(bytes));
}

void *__wrap_calloc(size_t count, size_t size)
{
    if (before_array != NULL)
        before_array();
    return fails() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    if (before_array != NULL)
        before_array();
    if (fails())
        return NULL;
    void *moved = __real_realloc(memory, bytes);
    return memory == NULL ? counted(moved) : moved;
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : counted(__real_strdup(text));
}

char *__wrap_strndup(const char *text, size_t most)
{
    return fails() ? NULL : counted(__real_strndup(text, most));
}

char *__wrap_realpath(const char *path, char *resolved)
{
    if (fails()) {
        errno = ENOMEM;
        return NULL;
    }
    char *path_found = __real_realpath(path, resolved);
    return resolved == NULL ? counted(path_found) : path_found;
}

void __wrap_free(void *memory)
{
    if (memory != NULL)
        atomic_fetch_sub(&live, 1);
    __real_free(memory);
}

/* Only memory fails: a file that cannot be mapped is read as a stream instead. */
void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (fd == -1 && fails())
        return MAP_FAILED;
    if (fd == -1 && before_mmap != NULL)
        before_mmap();
    void *map = __real_mmap(address, bytes, protection, flags, fd, offset);
    return map == MAP_FAILED ? map : counted(map);
}

int __wrap_munmap(void *address, size_t bytes)
{
    atomic_fetch_sub(&live, 1);
    return __real_munmap(address, bytes);
}

#endif
