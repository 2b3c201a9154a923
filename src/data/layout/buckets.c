#include "data/layout/buckets.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bytes.h"
#include "base/memory.h"

enum { STRETCH_ROWS = 1 << 16, PAGE = 4096 };

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

void hw_buckets_begin(hw_buckets *own, hw_budget *budget, uint32_t reader, bool single)
{
    *own = (hw_buckets){.budget = budget, .reader = reader};
    own->entry_bytes = sizeof(hw_dealt) + (single ? sizeof(float) : sizeof(double));
    atomic_init(&own->held, 0);
}

uint64_t hw_bucket_begin(size_t bucket)
{
    size_t shift = bucket >> HW_BUCKET_BITS;
    shift = shift > 0 ? shift - 1 : 0;
    shift = shift < HW_BUCKET_MOST ? shift : HW_BUCKET_MOST;
    return (uint64_t)(bucket - (shift << HW_BUCKET_BITS)) << shift;
}

static hawser_status hold(hw_buckets *own, uint64_t bytes, hawser_error *error)
{
    HAWSER_TRY(hw_budget_take(own->budget, bytes, error));
    atomic_fetch_add(&own->held, bytes);
    return HAWSER_OK;
}

static void let_go(hw_buckets *own, uint64_t bytes)
{
    atomic_fetch_sub(&own->held, bytes);
    hw_budget_give(own->budget, bytes);
}

/* ------------------------------------------------------------------------------------------------------- blocks ---- */

/* Address space for blocks, twice as much each time. Its pages are small: those of a block go back one by one. */
static hawser_status new_arena(hw_buckets *own, size_t least, hawser_error *error)
{
    enum { FIRST = 1 << 20, MOST = 1 << 30 };
    size_t bytes = own->arenas == NULL ? FIRST : 2 * own->arenas->bytes;
    bytes = bytes > MOST ? MOST : bytes;
    bytes = bytes < least + PAGE ? least + PAGE : bytes;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot allocate %zu bytes for parsed input; free memory", bytes);
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    hw_block *arena = memory;
    *arena = (hw_block){.next = own->arenas, .bytes = bytes};
    own->arenas = arena;
    own->arena = (char *)memory + PAGE;
    own->arena_end = (char *)memory + bytes;
    return HAWSER_OK;
}

/* Blocks grow with their bucket, so that few are asked for and little of them is left over in the end. */
static hawser_status new_block(hw_buckets *own, size_t number, hawser_error *error)
{
    enum { SHARE = 16, MOST = 1 << 18 };
    hw_bucket *bucket = &own->buckets[number];
    size_t bytes = (bucket->bytes / SHARE / PAGE + 1) * PAGE;
    bytes = bytes > MOST ? MOST : bytes;
    if ((size_t)(own->arena_end - own->arena) < bytes)
        HAWSER_TRY(new_arena(own, bytes, error));
    HAWSER_TRY(hold(own, bytes, error));
    hw_block *block = (hw_block *)(void *)own->arena;
    own->arena += bytes;
    madvise(block, bytes, MADV_POPULATE_WRITE); /* all of its pages in one go, where the system knows how */
    *block = (hw_block){.bytes = bytes};
    if (bucket->last != NULL) {
        bucket->entries += hw_block_entries(own, bucket->last);
        bucket->last->next = block;
    } else {
        bucket->first = block;
    }
    bucket->last = block;
    bucket->bytes += bytes;
    own->cursors[number].at = (char *)(block + 1);
    own->cursors[number].end = own->cursors[number].at + hw_block_entries(own, block) * own->entry_bytes;
    return HAWSER_OK;
}

void hw_block_drop(hw_buckets *own, hw_block *block)
{
    uint64_t bytes = block->bytes;
    madvise(block, bytes, MADV_DONTNEED);
    let_go(own, bytes);
}

/* ---------------------------------------------------------------------------------------------------- stretches ---- */

static uint64_t entries_so_far(const hw_buckets *own, size_t number)
{
    const hw_bucket *bucket = &own->buckets[number];
    uint64_t left = (uint64_t)(own->cursors[number].end - own->cursors[number].at) / own->entry_bytes;
    return bucket->last == NULL ? 0 : bucket->entries + hw_block_entries(own, bucket->last) - left;
}

static hawser_status close_stretch(hw_buckets *own, hawser_error *error)
{
    if (own->stretch_count == 0)
        return HAWSER_OK;
    hw_stretch *stretch = &own->stretches[own->stretch_count - 1];
    HAWSER_TRY(hold(own, own->count * sizeof *stretch->counts, error));
    stretch->counted = own->count;
    HAWSER_TRY(HW_NEW(&stretch->counts, own->count, "counts of entries", error));
    for (size_t b = 0; b < own->count; b++) {
        uint64_t sum = entries_so_far(own, b);
        stretch->counts[b] = (uint32_t)(sum - own->buckets[b].counted);
        own->buckets[b].counted = sum;
    }
    return HAWSER_OK;
}

/* The stretch that the next row belongs to. */
static hawser_status find_stretch(hw_buckets *own, uint64_t order, hw_stretch **out, hawser_error *error)
{
    hw_stretch *last = own->stretch_count > 0 ? &own->stretches[own->stretch_count - 1] : NULL;
    if (last == NULL || last->order != order || last->rows == STRETCH_ROWS) {
        HAWSER_TRY(close_stretch(own, error));
        HAWSER_TRY(HW_GROW(&own->stretches, &own->stretch_room, own->stretch_count + 1, "a list of rows", error));
        last = &own->stretches[own->stretch_count++];
        *last = (hw_stretch){.order = order, .reader = own->reader};
    }
    *out = last;
    return HAWSER_OK;
}

static hawser_status keep_target(hw_buckets *own, hw_stretch *stretch, const double *target, uint64_t rows,
                                 hawser_error *error)
{
    HAWSER_TRY(hold(own, rows * sizeof *target, error));
    HAWSER_TRY(HW_GROW(&stretch->target, &stretch->target_room, stretch->rows + rows, "the target", error));
    memcpy(stretch->target + stretch->rows, target, rows * sizeof *target);
    return HAWSER_OK;
}

void hw_stretch_drop(hw_buckets *own, hw_stretch *stretch)
{
    if (stretch->target != NULL)
        let_go(own, stretch->rows * sizeof *stretch->target);
    free(stretch->target);
    stretch->target = NULL;
}

/* ------------------------------------------------------------------------------------------------------ dealing ---- */

static hawser_status more_buckets(hw_buckets *own, size_t needed, hawser_error *error)
{
    if (needed <= own->count)
        return HAWSER_OK;
    HAWSER_TRY(HW_GROW(&own->cursors, &own->cursor_room, needed, "buckets of columns", error));
    HAWSER_TRY(HW_GROW(&own->buckets, &own->bucket_room, needed, "buckets of columns", error));
    memset(own->cursors + own->count, 0, (needed - own->count) * sizeof *own->cursors);
    memset(own->buckets + own->count, 0, (needed - own->count) * sizeof *own->buckets);
    own->count = needed;
    return HAWSER_OK;
}

/* Rows [begin, end) of a part, the first of which is number `row` of its stretch. One body for both storage types. */
static inline hawser_status deal_rows(hw_buckets *own, const hw_part *part, uint64_t begin, uint64_t end, uint64_t row,
                                      bool single, hawser_error *error)
{
    const size_t size = single ? sizeof(float) : sizeof(double);
    const uint32_t *indices = part->indices;
    const char *values = part->values;
    hw_cursor *const cursors = own->cursors;
    uint64_t e = begin > 0 ? part->ends[begin - 1] : 0;
    for (uint64_t r = begin; r < end; r++, row++)
        for (uint64_t last = part->ends[r]; e < last; e++) {
            uint32_t index = indices[e];
            unsigned shift = hw_bucket_shift(index);
            size_t number = ((size_t)shift << HW_BUCKET_BITS) + (index >> shift);
            if (cursors[number].at == cursors[number].end)
                HAWSER_TRY(new_block(own, number, error));
            char *at = cursors[number].at;
            const hw_dealt dealt = {(uint16_t)(index & ((1u << shift) - 1)), (uint16_t)row};
            cursors[number].at = at + sizeof dealt + size;
            memcpy(at, &dealt, sizeof dealt);
            memcpy(at + sizeof dealt, values + e * size, size);
            hw_prefetch_store(at + 64); /* as many lines at a time as there are buckets: no processor foresees that */
        }
    return HAWSER_OK;
}

hawser_status hw_buckets_add(hw_buckets *own, const hw_part *part, uint64_t order, bool targets, hawser_error *error)
{
    bool single = own->entry_bytes == sizeof(hw_dealt) + sizeof(float);
    if (part->entries > 0)
        HAWSER_TRY(more_buckets(own, hw_bucket_of(part->most) + 1, error));
    for (uint64_t row = 0; row < part->rows;) {
        hw_stretch *stretch;
        HAWSER_TRY(find_stretch(own, order, &stretch, error));
        uint64_t left = STRETCH_ROWS - stretch->rows, some = part->rows - row < left ? part->rows - row : left;
        if (targets)
            HAWSER_TRY(keep_target(own, stretch, part->target + row, some, error));
        HAWSER_TRY(single ? deal_rows(own, part, row, row + some, stretch->rows, true, error)
                          : deal_rows(own, part, row, row + some, stretch->rows, false, error));
        stretch->rows += some;
        row += some;
    }
    return HAWSER_OK;
}

hawser_status hw_buckets_close(hw_buckets *own, hawser_error *error)
{
    HAWSER_TRY(close_stretch(own, error));
    for (size_t b = 0; b < own->count; b++)
        own->buckets[b].entries = entries_so_far(own, b);
    return HAWSER_OK;
}

void hw_buckets_free(hw_buckets *own)
{
    for (size_t i = 0; i < own->stretch_count; i++) {
        free(own->stretches[i].target);
        free(own->stretches[i].counts);
    }
    while (own->arenas != NULL) {
        hw_block *next = own->arenas->next;
        munmap(own->arenas, own->arenas->bytes);
        own->arenas = next;
    }
    free(own->stretches);
    free(own->cursors);
    free(own->buckets);
    if (own->budget != NULL)
        hw_budget_give(own->budget, atomic_load(&own->held));
}
