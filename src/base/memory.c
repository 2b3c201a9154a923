#include "base/memory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE ((size_t)2 << 20)

static hawser_status out_of_memory(size_t count, size_t size, const char *what, hawser_error *error)
{
    return hawser_fail(error, HAWSER_NO_MEMORY,
                       "cannot allocate %s: %zu items of %zu bytes; free memory or use a smaller input", what, count, size);
}

/* Zeroes memory. Whole pages of large arrays are returned to the kernel instead of written: it provides zeroed pages on
 * first use, to the thread that uses them, and unused pages cost nothing. */
static void clear(unsigned char *memory, size_t bytes)
{
    enum { LARGE = 1 << 17 };
    size_t page = (size_t)sysconf(_SC_PAGESIZE), before = (page - (uintptr_t)memory % page) % page;
    if (bytes >= LARGE) {
        size_t whole = (bytes - before) / page * page;
        if (madvise(memory + before, whole, MADV_DONTNEED) == 0) {
            memset(memory, 0, before);
            memset(memory + before + whole, 0, bytes - before - whole);
            return;
        }
    }
    memset(memory, 0, bytes);
}

static hawser_status new_zeros(void **out, size_t count, size_t size, size_t alignment, const char *what,
                               hawser_error *error)
{
    *out = NULL;
    if (size != 0 && count > (SIZE_MAX - alignment) / size)
        return out_of_memory(count, size, what, error);
    size_t bytes = count * size;
    bytes = (bytes + alignment - 1) / alignment * alignment;
    if (bytes == 0)
        bytes = alignment;
    void *memory = aligned_alloc(alignment, bytes);
    if (memory == NULL)
        return out_of_memory(count, size, what, error);
    if (alignment == HUGE_PAGE)
        madvise(memory, bytes, MADV_HUGEPAGE);
    clear(memory, bytes);
    *out = memory;
    return HAWSER_OK;
}

hawser_status hw_new_array(void **out, size_t count, size_t size, const char *what, hawser_error *error)
{
    return new_zeros(out, count, size, HW_ALIGNMENT, what, error);
}

hawser_status hw_new_large(void **out, size_t count, size_t size, const char *what, hawser_error *error)
{
    bool large = size > 0 && count > 4 * HUGE_PAGE / size;
    return new_zeros(out, count, size, large ? HUGE_PAGE : HW_ALIGNMENT, what, error);
}

void hw_bytes_free(hw_bytes *bytes, size_t count)
{
    for (size_t i = 0; bytes != NULL && i < count; i++)
        free(bytes[i].data);
    free(bytes);
}

hawser_status hw_grow(void **array, size_t *capacity, size_t needed, size_t size, const char *what, hawser_error *error)
{
    if (needed <= *capacity)
        return HAWSER_OK;
    size_t wanted = *capacity > SIZE_MAX / 2 ? needed : *capacity * 2;
    if (wanted < needed)
        wanted = needed;
    if (wanted < 16)
        wanted = 16;
    if (wanted > SIZE_MAX / size)
        return out_of_memory(wanted, size, what, error);
    void *memory = realloc(*array, wanted * size);
    if (memory == NULL)
        return out_of_memory(wanted, size, what, error);
    *array = memory;
    *capacity = wanted;
    return HAWSER_OK;
}

hawser_status hw_undumped_new(void **out, size_t size, hawser_error *error)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *out = NULL;
    if (memory == MAP_FAILED)
        return out_of_memory(1, size, "memory for a key", error);
    if (madvise(memory, size, MADV_DONTDUMP) != 0) {
        int code = errno;
        (void)munmap(memory, size);
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot keep a key out of core dumps: %s", strerror(code));
    }
    *out = memory;
    return HAWSER_OK;
}

void hw_undumped_free(void *memory, size_t size)
{
    if (memory == NULL)
        return;
    explicit_bzero(memory, size);
    (void)munmap(memory, size);
}

hawser_status hw_copy_text(char **out, const char *text, hawser_error *error)
{
    *out = strdup(text);
    if (*out == NULL)
        return out_of_memory(strlen(text) + 1, 1, "a text", error);
    return HAWSER_OK;
}

void hw_release_pages(const void *from, const void *to)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = ((uintptr_t)from + page - 1) / page * page,
              end = (uintptr_t)to / page * page;
    if (end > begin)
        (void)madvise((void *)begin, end - begin, MADV_DONTNEED);
}
