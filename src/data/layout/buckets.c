#include "data/layout/buckets.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bytes.h"
#include "base/memory.h"

enum { STRETCH_ROWS = 1 << 16, HUGE_PAGE = 2 << 20, SMALL_AREA = 1 << 16, GROUPS = 32 };

/* Chooses the size of an area. Small pages cost several times as much as large ones, and a large page is released as a
 * whole, so the buckets of a group share their memory. Half an area is left over in each group, and one or two groups exist
 * twice, as entries and as columns; the square root minimises the sum. */
static size_t area_for(uint64_t expected)
{
    return expected < (uint64_t)32 * HUGE_PAGE ? SMALL_AREA : HUGE_PAGE;
}

static size_t groups_for(uint64_t expected)
{
    enum { MOST = 64 };
    size_t groups = 1;
    if (area_for(expected) != HUGE_PAGE)
        return GROUPS;
    while (groups < MOST && (uint64_t)(groups + 1) * (groups + 1) * (HUGE_PAGE / 3) <= expected)
        groups++;
    return groups;
}

uint64_t hw_buckets_extra(uint32_t readers, uint64_t expected)
{
    size_t groups = groups_for(expected / readers);
    uint64_t twice = expected / groups * (readers > 1 ? 2 : 1), not_full = expected / 32;
    return readers * groups * area_for(expected / readers) / 2 + twice + not_full;
}

void hw_buckets_begin(hw_buckets *own, hw_budget *budget, uint32_t reader, bool single, uint64_t expected)
{
    *own = (hw_buckets){.budget = budget, .reader = reader};
    own->value_bytes = single ? sizeof(float) : sizeof(double);
    own->area_bytes = area_for(expected);
    own->group_count = groups_for(expected);
    atomic_init(&own->reserved, 0);
}

uint64_t hw_bucket_begin(size_t bucket)
{
    size_t shift = bucket >> HW_BUCKET_BITS;
    shift = shift > 0 ? shift - 1 : 0;
    shift = shift < HW_BUCKET_MOST ? shift : HW_BUCKET_MOST;
    return (uint64_t)(bucket - (shift << HW_BUCKET_BITS)) << shift;
}

static hawser_status reserve(hw_buckets *own, uint64_t bytes, hawser_error *error)
{
    HAWSER_TRY(hw_budget_take(own->budget, bytes, error));
    atomic_fetch_add(&own->reserved, bytes);
    return HAWSER_OK;
}

static void unreserve(hw_buckets *own, uint64_t bytes)
{
    atomic_fetch_sub(&own->reserved, bytes);
    hw_budget_give(own->budget, bytes);
}

/* ------------------------------------------------------------------------------------------------------- blocks ---- */

/* Reserves address space for areas, twice as much each time. */
static hawser_status new_space(hw_buckets *own, hawser_error *error)
{
    enum { FIRST = 1 << 20, MOST = 1 << 30 };
    size_t area = own->area_bytes, bytes = own->spaces == NULL ? FIRST : 2 * own->spaces->bytes;
    bytes = bytes > MOST ? MOST : bytes < 8 * area ? 8 * area : bytes;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot allocate %zu bytes for parsed input; free memory", bytes);
    hw_area *space = memory;
    *space = (hw_area){.next = own->spaces, .bytes = bytes};
    own->spaces = space;
    uintptr_t first = ((uintptr_t)memory + sizeof *space + area - 1) / area * area;
    own->space = (char *)memory + (first - (uintptr_t)memory);
    own->space_end = (char *)memory + bytes;
    madvise(own->space, (size_t)(own->space_end - own->space), area == HUGE_PAGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    return HAWSER_OK;
}

static hawser_status new_area(hw_buckets *own, hw_bucket_group *group, hawser_error *error)
{
    if (own->spaces == NULL || (size_t)(own->space_end - own->space) < own->area_bytes)
        HAWSER_TRY(new_space(own, error));
    HAWSER_TRY(reserve(own, own->area_bytes, error));
    hw_area *area = (hw_area *)(void *)own->space;
    own->space += own->area_bytes;
    if (own->area_bytes != HUGE_PAGE)
        madvise(area, own->area_bytes, MADV_POPULATE_WRITE); /* takes all pages at once if the system can */
    *area = (hw_area){.next = group->areas, .bytes = own->area_bytes};
    group->areas = area;
    group->at = (char *)area + HW_ALIGNMENT;
    group->end = (char *)area + own->area_bytes;
    return HAWSER_OK;
}

static void add_block(hw_buckets *own, size_t number, char *at, size_t bytes)
{
    hw_bucket *bucket = &own->buckets[number];
    hw_bucket_cursor *cursor = &own->cursors[number];
    hw_bucket_block *block = (hw_bucket_block *)(void *)at;
    uint32_t each = (uint32_t)(sizeof(hw_dealt) + (cursor->full ? own->value_bytes : 1));
    *block = (hw_bucket_block){.entries = (uint32_t)(bytes - sizeof *block) / each, .entry_bytes = each};
    if (bucket->last != NULL) {
        bucket->entries += bucket->last->entries;
        bucket->last->next = block;
    } else {
        bucket->first = block;
    }
    bucket->last = block;
    cursor->at = (char *)(block + 1);
    cursor->end = cursor->at + (size_t)block->entries * each;
}

/* Adds a block. Blocks grow with their bucket, so that there are few and little is left over at the end. */
static hawser_status new_block(hw_buckets *own, size_t number, hawser_error *error)
{
    enum { SHARE = 16, LEAST = 512, MOST = SMALL_AREA / 4 };
    hw_bucket *bucket = &own->buckets[number];
    hw_bucket_group *group = &own->groups[bucket->group];
    size_t bytes = bucket->bytes / SHARE / LEAST * LEAST;
    bytes = bytes > MOST ? MOST : bytes < LEAST ? LEAST : bytes;
    if (group->end - group->at < LEAST)
        HAWSER_TRY(new_area(own, group, error));
    if ((size_t)(group->end - group->at) < bytes)
        bytes = (size_t)(group->end - group->at);
    add_block(own, number, group->at, bytes);
    group->at += bytes;
    bucket->bytes += bytes;
    return HAWSER_OK;
}

/* From now on the bucket's values are stored in full. The rest of its last block becomes such a block if it is large
 * enough. */
static void keep_whole(hw_buckets *own, size_t number)
{
    enum { LEAST = 64 };
    hw_bucket_block *last = own->buckets[number].last;
    hw_bucket_cursor *cursor = &own->cursors[number];
    cursor->full = true;
    if (last == NULL)
        return;
    char *rest = cursor->at + -(uintptr_t)cursor->at % sizeof(hw_bucket_block);
    size_t left = rest < cursor->end ? (size_t)(cursor->end - rest) : 0;
    last->entries -= (uint32_t)((size_t)(cursor->end - cursor->at) / last->entry_bytes);
    cursor->end = cursor->at;
    if (left >= LEAST)
        add_block(own, number, rest, left);
}

void hw_bucket_done(hw_buckets *own, size_t number)
{
    if (number >= own->count || own->buckets[number].entries == 0)
        return;
    hw_bucket_group *group = &own->groups[own->buckets[number].group];
    if (atomic_fetch_sub(&group->left, 1) != 1)
        return;
    while (group->areas != NULL) {
        hw_area *area = group->areas;
        group->areas = area->next;
        madvise(area, own->area_bytes, MADV_DONTNEED);
        unreserve(own, own->area_bytes);
    }
}

/* ---------------------------------------------------------------------------------------------------- stretches ---- */

static uint64_t entries_so_far(const hw_buckets *own, size_t number)
{
    const hw_bucket *bucket = &own->buckets[number];
    if (bucket->last == NULL)
        return 0;
    uint64_t left = (uint64_t)(own->cursors[number].end - own->cursors[number].at) / bucket->last->entry_bytes;
    return bucket->entries + bucket->last->entries - left;
}

static hawser_status close_stretch(hw_buckets *own, hawser_error *error)
{
    if (own->stretch_count == 0)
        return HAWSER_OK;
    hw_stretch *stretch = &own->stretches[own->stretch_count - 1];
    HAWSER_TRY(reserve(own, own->count * sizeof *stretch->counts, error));
    stretch->counted = own->count;
    HAWSER_TRY(HW_NEW(&stretch->counts, own->count, "counts of entries", error));
    for (size_t b = 0; b < own->count; b++) {
        uint64_t sum = entries_so_far(own, b);
        stretch->counts[b] = (uint32_t)(sum - own->buckets[b].counted);
        own->buckets[b].counted = sum;
    }
    return HAWSER_OK;
}

/* Finds the stretch of the next row. */
static hawser_status find_stretch(hw_buckets *own, uint64_t order, hw_stretch **out, hawser_error *error)
{
    hw_stretch *last = own->stretch_count > 0 ? &own->stretches[own->stretch_count - 1] : NULL;
    if (last == NULL || last->order != order || last->rows == STRETCH_ROWS) {
        HAWSER_TRY(close_stretch(own, error));
        HAWSER_TRY(HW_GROW(&own->stretches, &own->stretch_capacity, own->stretch_count + 1, "a list of rows", error));
        last = &own->stretches[own->stretch_count++];
        *last = (hw_stretch){.order = order, .reader = own->reader};
    }
    *out = last;
    return HAWSER_OK;
}

static hawser_status keep_target(hw_buckets *own, hw_stretch *stretch, const double *target, uint64_t rows,
                                 hawser_error *error)
{
    HAWSER_TRY(reserve(own, rows * sizeof *target, error));
    HAWSER_TRY(HW_GROW(&stretch->target, &stretch->target_capacity, stretch->rows + rows, "the target", error));
    memcpy(stretch->target + stretch->rows, target, rows * sizeof *target);
    return HAWSER_OK;
}

void hw_stretch_drop(hw_buckets *own, hw_stretch *stretch)
{
    if (stretch->target != NULL)
        unreserve(own, stretch->rows * sizeof *stretch->target);
    free(stretch->target);
    stretch->target = NULL;
}

/* ------------------------------------------------------------------------------------------------------ dealing ---- */

/* Divides the buckets into groups of about as many entries each, judged by the first rows. Later buckets belong to the last
 * group. */
static hawser_status make_groups(hw_buckets *own, const hw_text_part *part, hawser_error *error)
{
    uint64_t *counts, sum = 0;
    HAWSER_TRY(HW_NEW(&own->groups, own->group_count, "buckets of columns", error));
    HAWSER_TRY(HW_NEW(&counts, own->count, "buckets of columns", error));
    for (uint64_t e = 0; e < part->entries; e++)
        counts[hw_bucket_of(part->indices[e])]++;
    for (size_t b = 0; b < own->count; b++) {
        own->buckets[b].group = (size_t)(sum * own->group_count / (part->entries + 1));
        sum += counts[b];
    }
    free(counts);
    return HAWSER_OK;
}

static hawser_status more_buckets(hw_buckets *own, size_t needed, hawser_error *error)
{
    if (needed <= own->count)
        return HAWSER_OK;
    HAWSER_TRY(HW_GROW(&own->cursors, &own->cursor_capacity, needed, "buckets of columns", error));
    HAWSER_TRY(HW_GROW(&own->buckets, &own->bucket_capacity, needed, "buckets of columns", error));
    memset(own->cursors + own->count, 0, (needed - own->count) * sizeof *own->cursors);
    memset(own->buckets + own->count, 0, (needed - own->count) * sizeof *own->buckets);
    for (size_t b = own->count; b < needed; b++)
        own->buckets[b].group = own->group_count - 1;
    own->count = needed;
    return HAWSER_OK;
}

/* Distributes rows [begin, end) of a part, the first of which is row `row` of its stretch. One body for both storage
 * types. */
static inline hawser_status deal_rows(hw_buckets *own, const hw_text_part *part, uint64_t begin, uint64_t end, uint64_t row,
                                      bool single, hawser_error *error)
{
    const size_t size = single ? sizeof(float) : sizeof(double);
    const uint32_t *indices = part->indices;
    const void *values = part->values;
    hw_bucket_cursor *const cursors = own->cursors;
    uint64_t e = begin > 0 ? part->ends[begin - 1] : 0;
    for (uint64_t r = begin; r < end; r++, row++)
        for (uint64_t last = part->ends[r]; e < last; e++) {
            uint32_t index = indices[e];
            unsigned shift = hw_bucket_shift(index);
            size_t number = ((size_t)shift << HW_BUCKET_BITS) + (index >> shift);
            hw_bucket_cursor *cursor = &cursors[number];
            bool whole = cursor->full;
            unsigned char count = 0;
            if (!whole &&
                !hw_small_count(single ? (double)((const float *)values)[e] : ((const double *)values)[e], &count)) {
                keep_whole(own, number);
                whole = true;
            }
            if (cursor->at == cursor->end)
                HAWSER_TRY(new_block(own, number, error));
            char *at = cursor->at;
            const hw_dealt dealt = {(uint16_t)(index & ((1u << shift) - 1)), (uint16_t)row};
            cursor->at = at + sizeof dealt + (whole ? size : 1);
            memcpy(at, &dealt, sizeof dealt);
            if (whole)
                memcpy(at + sizeof dealt, (const char *)values + e * size, size);
            else
                at[sizeof dealt] = (char)count;
            hw_prefetch_store(at + 64); /* as many write positions as buckets: no processor prefetches that */
        }
    return HAWSER_OK;
}

hawser_status hw_buckets_add(hw_buckets *own, const hw_text_part *part, uint64_t order, bool targets, hawser_error *error)
{
    bool single = own->value_bytes == sizeof(float);
    if (part->entries > 0)
        HAWSER_TRY(more_buckets(own, hw_bucket_of(part->most) + 1, error));
    if (part->entries > 0 && own->groups == NULL)
        HAWSER_TRY(make_groups(own, part, error));
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
    for (size_t b = 0; b < own->count; b++) {
        own->buckets[b].entries = entries_so_far(own, b);
        if (own->buckets[b].entries > 0)
            atomic_fetch_add(&own->groups[own->buckets[b].group].left, 1);
    }
    return HAWSER_OK;
}

void hw_buckets_free(hw_buckets *own)
{
    for (size_t i = 0; i < own->stretch_count; i++) {
        free(own->stretches[i].target);
        free(own->stretches[i].counts);
    }
    while (own->spaces != NULL) {
        hw_area *next = own->spaces->next;
        munmap(own->spaces, own->spaces->bytes);
        own->spaces = next;
    }
    free(own->groups);
    free(own->stretches);
    free(own->cursors);
    free(own->buckets);
    if (own->budget != NULL)
        hw_budget_give(own->budget, atomic_load(&own->reserved));
}
