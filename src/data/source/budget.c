#include "data/source/budget.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/machine.h"
#include "base/memory.h"

enum { HUGE_PAGE = 2 << 20 };

void hw_budget_init(hw_budget *budget, uint64_t limit)
{
    budget->limit = limit != 0 ? limit : hw_machine_memory(1);
    budget->estimate = 0;
    budget->cancellation = NULL;
    atomic_init(&budget->used, 0);
    atomic_init(&budget->peak, 0);
}

static hawser_status refuse(const hw_budget *budget, uint64_t bytes, const char *how, hawser_error *error)
{
    return hawser_fail(
        error, HAWSER_NO_MEMORY,
        "the load needs %s %.1f MiB of memory (%llu bytes), and %.1f MiB may be taken; raise memory-limit if there "
        "is more, or use type f32, fewer rows or a binary cache",
        how, (double)bytes / 0x1p20, (unsigned long long)bytes, (double)budget->limit / 0x1p20);
}

hawser_status hw_budget_estimate(hw_budget *budget, uint64_t bytes, hawser_error *error)
{
    budget->estimate = bytes;
    return bytes <= budget->limit ? HAWSER_OK : refuse(budget, bytes, "about", error);
}

hawser_status hw_budget_take(hw_budget *budget, uint64_t bytes, hawser_error *error)
{
    HAWSER_TRY(hw_cancellation_check(budget->cancellation, error));
    uint64_t used = atomic_fetch_add(&budget->used, bytes) + bytes;
    if (used > budget->limit || used < bytes) {
        atomic_fetch_sub(&budget->used, bytes);
        return refuse(budget, used < bytes ? UINT64_MAX : used, "at least", error);
    }
    uint64_t peak = atomic_load(&budget->peak);
    while (used > peak && !atomic_compare_exchange_weak(&budget->peak, &peak, used)) {
    }
    return HAWSER_OK;
}

void hw_budget_give(hw_budget *budget, uint64_t bytes)
{
    atomic_fetch_sub(&budget->used, bytes);
}

hawser_status hw_pages_new(hw_budget *budget, void **pages, size_t bytes, hawser_error *error)
{
    *pages = NULL;
    if (bytes == 0)
        return HAWSER_OK;
    HAWSER_TRY(hw_budget_take(budget, bytes, error));
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        hw_budget_give(budget, bytes);
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot allocate %zu bytes for parsed input; free memory", bytes);
    }
    if (bytes >= HUGE_PAGE)
        /* otherwise a third of the time of a load is spent on faulting in small pages */
        madvise(memory, bytes, MADV_HUGEPAGE);
    *pages = memory;
    return HAWSER_OK;
}

/* Enlarges pages to `wanted` bytes. They may move. Returns MAP_FAILED as mremap does. */
static void *enlarge(void *pages, size_t bytes, size_t wanted)
{
#ifdef __SANITIZE_THREAD__
    /* tsan does not see mremap: memory that another thread gave back before would count as still that thread's */
    void *memory = mmap(NULL, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) {
        memcpy(memory, pages, bytes);
        munmap(pages, bytes);
    }
    return memory;
#else
    return mremap(pages, bytes, wanted, MREMAP_MAYMOVE);
#endif
}

hawser_status hw_pages_grow(hw_budget *budget, void **pages, size_t *bytes, size_t wanted, hawser_error *error)
{
    if (wanted <= *bytes)
        return HAWSER_OK;
    if (*pages == NULL) {
        HAWSER_TRY(hw_pages_new(budget, pages, wanted, error));
        *bytes = wanted;
        return HAWSER_OK;
    }
    HAWSER_TRY(hw_budget_take(budget, wanted - *bytes, error));
    void *memory = enlarge(*pages, *bytes, wanted);
    if (memory == MAP_FAILED) {
        hw_budget_give(budget, wanted - *bytes);
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot allocate %zu bytes for parsed input; free memory", wanted);
    }
    *pages = memory;
    *bytes = wanted;
    return HAWSER_OK;
}

void hw_pages_free(hw_budget *budget, void *pages, size_t bytes)
{
    if (pages == NULL)
        return;
    munmap(pages, bytes);
    hw_budget_give(budget, bytes);
}

/* Requests large pages for an array that will be written completely; a large page takes memory as a whole when touched. */
static void huge_pages(void *memory, size_t bytes)
{
    uintptr_t begin = ((uintptr_t)memory + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE,
              end = ((uintptr_t)memory + bytes) / HUGE_PAGE * HUGE_PAGE;
    if (end > begin)
        madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}

hawser_status hw_huge_array(void **array, size_t count, size_t size, const char *what, hawser_error *error)
{
    *array = NULL;
    size_t bytes = count * size, unit = bytes >= 2 * (size_t)HUGE_PAGE ? HUGE_PAGE : HW_ALIGNMENT;
    void *memory = size != 0 && count > SIZE_MAX / 2 / size ? NULL : aligned_alloc(unit, (bytes / unit + 1) * unit);
    if (memory == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot allocate %s: %zu items of %zu bytes; free memory", what, count,
                           size);
    huge_pages(memory, bytes); /* entries are scattered into columns, so page walks would dominate */
    *array = memory;
    return HAWSER_OK;
}

hawser_status hw_budget_array(hw_budget *budget, void **array, size_t count, size_t size, const char *what,
                              hawser_error *error)
{
    *array = NULL;
    if (size != 0 && count > SIZE_MAX / 2 / size)
        return refuse(budget, UINT64_MAX, "more than", error);
    HAWSER_TRY(hw_budget_take(budget, count * size, error));
    hawser_status status = hw_huge_array(array, count, size, what, error);
    if (status != HAWSER_OK)
        hw_budget_give(budget, count * size);
    return status;
}
