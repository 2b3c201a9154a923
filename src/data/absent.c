#include "data/absent.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/type.h"

typedef struct byte_span {
    uintptr_t begin, end;
} byte_span;

/* Returns where columns [first, last] have their values, or the numbers of their rows. */
static byte_span span_of(const hawser_matrix *A, size_t first, size_t last, bool values)
{
    bool dense = A->layout == HAWSER_DENSE;
    uint64_t begin = dense ? first * A->stride : A->offsets[first];
    uint64_t end = dense ? last * A->stride + A->rows : A->offsets[last + 1];
    size_t size = values ? hw_type_size(A->type) : sizeof *A->indices;
    uintptr_t array = values ? (uintptr_t)A->values : (uintptr_t)A->indices;
    return (byte_span){array + begin * size, array + end * size};
}

static bool has_array(const hawser_matrix *A, bool values)
{
    return values || A->layout != HAWSER_DENSE;
}

/* If the kernel refuses, the pages stay accessible: this only helps to find mistakes. */
static void close_pages(byte_span bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = (bytes.begin + page - 1) / page * page, end = bytes.end / page * page;
    if (begin < end)
        (void)mprotect((void *)begin, end - begin, PROT_NONE);
}

static bool open_pages(byte_span bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = bytes.begin / page * page, end = (bytes.end + page - 1) / page * page;
    return bytes.begin == bytes.end || mprotect((void *)begin, end - begin, PROT_READ | PROT_WRITE) == 0;
}

static bool is_here(const hw_presence *presence, size_t column)
{
    return atomic_load_explicit(&presence->state[column], memory_order_acquire) == HW_HERE;
}

void hw_absent_close(const hawser_matrix *A, const hw_presence *presence)
{
    for (size_t j = 0, first = 0; j < A->cols; j++) {
        if (is_here(presence, j))
            first = j + 1;
        else if (j + 1 == A->cols || is_here(presence, j + 1))
            for (int values = 0; values < 2; values++)
                if (has_array(A, values != 0))
                    close_pages(span_of(A, first, j, values != 0));
    }
}

/* The kernel bounds the ranges of a process that differ in protection. Beyond the bound all pages are made accessible. */
hawser_status hw_absent_open(const hawser_matrix *A, size_t column, hawser_error *error)
{
    for (int values = 0; values < 2; values++)
        if (has_array(A, values != 0) && !open_pages(span_of(A, column, column, values != 0)) &&
            !open_pages(span_of(A, 0, A->cols - 1, values != 0)))
            return hawser_fail(error, HAWSER_NO_MEMORY, "cannot make the memory of column %zu accessible: %s", column,
                               strerror(errno));
    return HAWSER_OK;
}

size_t hw_absent_find(const hawser_matrix *A, const hw_presence *presence, const void *address)
{
    for (size_t j = 0; j < A->cols; j++)
        for (int values = 0; values < 2 && !is_here(presence, j); values++) {
            byte_span bytes = has_array(A, values != 0) ? span_of(A, j, j, values != 0) : (byte_span){0, 0};
            if ((uintptr_t)address >= bytes.begin && (uintptr_t)address < bytes.end)
                return j;
        }
    return SIZE_MAX;
}
