/* svmlight_columns.c - reads svmlight text once, into compressed columns. Every reader distributes its entries over buckets
 * of neighbouring columns. Then each bucket is counted by column and sorted while it is in a cache; its memory is released
 * as the columns take theirs. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "data/format/svmlight.h"
#include "data/layout/assemble.h"
#include "data/layout/buckets.h"
#include "data/source/runs.h"

typedef struct gather_work {
    hw_reading *reading;
    hw_buckets *readers;
    hw_text_part *parts; /* of each reader: the current chunk */
    hw_stretch **order;  /* all readers' stretches in input order */
    uint64_t *places;    /* of each bucket: where its entries begin */
    _Atomic size_t next; /* the first bucket that no thread has taken */
    size_t stretches, buckets;
    uint64_t rows, cols, stored;
    uint32_t least;      /* index */
    hw_text_part widest; /* only its largest index and the place of that are used */
    uint32_t base;
    uint64_t *offsets;
    uint32_t *indices;
    void *values;
    double *target;
    _Atomic uint64_t unseen_entries, unseen_columns;
    bool single, targets, in_runs;
} gather_work;

/* ------------------------------------------------------------------------------------------------------ reading ---- */

static hawser_status deal_chunk(void *context, uint32_t reader, const hw_chunk *chunk, hawser_error *error)
{
    const gather_work *w = context;
    hw_text_part *part = &w->parts[reader];
    HAWSER_TRY(hw_svmlight_read(w->reading, chunk, part, error));
    w->reading->rows_read[reader] += part->rows;
    return hw_buckets_add(&w->readers[reader], part, w->in_runs || w->reading->input.readers == 1 ? reader : chunk->sequence,
                          w->targets, error);
}

static int compare_stretches(const void *a, const void *b)
{
    const hw_stretch *x = *(hw_stretch *const *)a, *y = *(hw_stretch *const *)b;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return x < y ? -1 : x > y; /* of one reader, which has them in one array */
}

static hawser_status order_stretches(gather_work *w, hawser_error *error)
{
    for (uint32_t k = 0; k < w->reading->input.readers; k++) {
        HAWSER_TRY(hw_buckets_close(&w->readers[k], error));
        w->stretches += w->readers[k].stretch_count;
        w->buckets = w->readers[k].count > w->buckets ? w->readers[k].count : w->buckets;
    }
    HAWSER_TRY(HW_NEW(&w->order, w->stretches, "a list of rows", error));
    size_t count = 0;
    for (uint32_t k = 0; k < w->reading->input.readers; k++)
        for (size_t i = 0; i < w->readers[k].stretch_count; i++)
            w->order[count++] = &w->readers[k].stretches[i];
    qsort(w->order, count, sizeof *w->order, compare_stretches);
    for (size_t i = 0; i < count; i++) {
        w->order[i]->first = w->rows;
        w->rows += w->order[i]->rows;
    }
    return hw_check_rows(w->reading, w->rows, error);
}

static hawser_status read_all(gather_work *w, hawser_error *error)
{
    uint32_t most = w->reading->threads;
    HAWSER_TRY(HW_NEW(&w->readers, most, "readers", error));
    HAWSER_TRY(HW_NEW(&w->parts, most, "readers", error));
    for (uint32_t k = 0; k < most; k++) {
        hw_buckets_begin(&w->readers[k], &w->reading->budget, k, w->single, w->reading->budget.estimate / most);
        w->parts[k].least = UINT32_MAX;
    }
    HAWSER_TRY(hw_runs_begin(w->reading, &w->in_runs, error));
    HAWSER_TRY(w->in_runs ? hw_runs(w->reading, deal_chunk, w, error) : hw_chunks(w->reading, deal_chunk, w, error));
    for (uint32_t k = 0; k < most; k++) {
        w->least = w->parts[k].least < w->least ? w->parts[k].least : w->least;
        hw_part_widen(&w->widest, &w->parts[k]);
        hw_part_free(w->reading, &w->parts[k]);
    }
    return order_stretches(w, error);
}

/* ---------------------------------------------------------------------------------------------------- gathering ---- */

/* The columns of a bucket that the matrix has. */
typedef struct column_span {
    uint64_t begin; /* index */
    size_t width, seen;
} column_span;

static column_span span_of(const gather_work *w, size_t bucket)
{
    column_span s = {.begin = hw_bucket_begin(bucket)};
    s.width = (size_t)(hw_bucket_begin(bucket + 1) - s.begin);
    uint64_t end = w->cols + w->base;
    s.seen = s.begin >= end ? 0 : end - s.begin < s.width ? (size_t)(end - s.begin) : s.width;
    return s;
}

static void count_entries(const gather_work *w, size_t bucket, uint64_t *counts)
{
    for (uint32_t k = 0; k < w->reading->input.readers; k++) {
        const hw_buckets *own = &w->readers[k];
        uint64_t left = bucket < own->count ? own->buckets[bucket].entries : 0;
        for (const hw_bucket_block *block = left > 0 ? own->buckets[bucket].first : NULL; left > 0; block = block->next) {
            const size_t bytes = block->entry_bytes;
            uint64_t here = block->entries < left ? block->entries : left;
            const char *at = (const char *)(block + 1), *end = at + here * bytes;
            hw_prefetch(block->next);
            for (; at < end; at += bytes) {
                hw_dealt dealt;
                memcpy(&dealt, at, sizeof dealt);
                counts[dealt.column]++;
                hw_prefetch(at + 768);
            }
            left -= here;
        }
    }
}

/* Converts counts to places and offsets. Entries beyond the model's columns are only counted. */
static void place_columns(gather_work *w, size_t bucket, const column_span *s, uint64_t *counts)
{
    uint64_t sum = w->places[bucket], entries = 0, columns = 0;
    for (size_t j = 0; j < s->seen; j++) {
        uint64_t count = counts[j];
        if (s->begin + j >= w->base)
            w->offsets[s->begin + j - w->base] = sum;
        counts[j] = sum;
        sum += count;
    }
    for (size_t j = s->seen; j < s->width; j++) {
        entries += counts[j];
        columns += counts[j] > 0;
    }
    atomic_fetch_add(&w->unseen_entries, entries);
    atomic_fetch_add(&w->unseen_columns, columns);
}

/* Finds the places of a batch and prefetches their cache lines before anything is written there: stores to distant memory
 * would be waited for one by one. */
static inline void scatter(const gather_work *w, const char *at, uint64_t count, uint64_t row, size_t seen, uint64_t *places,
                           bool single, bool full)
{
    enum { BATCH = 128 };
    const size_t size = single ? sizeof(float) : sizeof(double), bytes = sizeof(hw_dealt) + (full ? size : 1);
    uint32_t *const indices = w->indices;
    char *const values = w->values;
    uint64_t to[BATCH];
    while (count > 0) {
        uint64_t some = count < BATCH ? count : BATCH;
        hw_dealt dealt;
        for (uint64_t e = 0; e < some; e++) {
            memcpy(&dealt, at + e * bytes, sizeof dealt);
            uint64_t place = places[dealt.column]++;
            to[e] = place;
            hw_prefetch_store(indices + place);
            hw_prefetch_store(values + place * size);
        }
        for (uint64_t e = 0; e < some; e++, at += bytes) {
            memcpy(&dealt, at, sizeof dealt);
            if (dealt.column >= seen)
                continue;
            indices[to[e]] = (uint32_t)(row + dealt.row);
            if (full)
                memcpy(values + to[e] * size, at + sizeof dealt, size);
            else if (single)
                ((float *)w->values)[to[e]] = (unsigned char)at[sizeof dealt];
            else
                ((double *)w->values)[to[e]] = (unsigned char)at[sizeof dealt];
        }
        count -= some;
    }
}

/* Where a reader's next entries of the bucket are. */
typedef struct column_reading {
    const hw_bucket_block *block;
    uint64_t used; /* entries read from it */
} column_reading;

static void scatter_stretch(const gather_work *w, size_t bucket, const hw_stretch *stretch, column_reading *from,
                            size_t seen, uint64_t *places)
{
    uint64_t left = bucket < stretch->counted ? stretch->counts[bucket] : 0;
    while (left > 0) {
        const hw_bucket_block *block = from->block;
        uint64_t capacity = block->entries - from->used, some = left < capacity ? left : capacity;
        const char *at = (const char *)(block + 1) + from->used * block->entry_bytes;
        if (block->entry_bytes == sizeof(hw_dealt) + 1)
            w->single ? scatter(w, at, some, stretch->first, seen, places, true, false)
                      : scatter(w, at, some, stretch->first, seen, places, false, false);
        else
            w->single ? scatter(w, at, some, stretch->first, seen, places, true, true)
                      : scatter(w, at, some, stretch->first, seen, places, false, true);
        left -= some;
        from->used += some;
        if (some == capacity)
            *from = (column_reading){.block = block->next};
    }
}

/* Counts the arrays' pages, which take memory about as fast as the buckets release it. */
static hawser_status take_pages(const gather_work *w, size_t bucket, hawser_error *error)
{
    uint64_t entries = 0;
    for (uint32_t k = 0; k < w->reading->input.readers; k++)
        entries += bucket < w->readers[k].count ? w->readers[k].buckets[bucket].entries : 0;
    return hw_budget_take(&w->reading->budget, entries * (sizeof *w->indices + (w->single ? sizeof(float) : sizeof(double))),
                          error);
}

static hawser_status gather_bucket(gather_work *w, size_t bucket, uint64_t *counts, column_reading *from,
                                   hawser_error *error)
{
    column_span s = span_of(w, bucket);
    memset(counts, 0, s.width * sizeof *counts);
    count_entries(w, bucket, counts);
    place_columns(w, bucket, &s, counts);
    for (uint32_t k = 0; k < w->reading->input.readers; k++)
        from[k] = (column_reading){.block = bucket < w->readers[k].count ? w->readers[k].buckets[bucket].first : NULL};
    if (s.seen > 0)
        HAWSER_TRY(take_pages(w, bucket, error));
    for (size_t i = 0; i < w->stretches; i++)
        scatter_stretch(w, bucket, w->order[i], &from[w->order[i]->reader], s.seen, counts);
    for (uint32_t k = 0; k < w->reading->input.readers; k++)
        hw_bucket_done(&w->readers[k], bucket);
    return HAWSER_OK;
}

static hawser_status gather_some(void *context, uint32_t thread, hawser_error *error)
{
    gather_work *w = context;
    uint64_t *counts = NULL;
    column_reading *from = NULL;
    (void)thread;
    hawser_status status = HW_NEW(&counts, 1 << HW_BUCKET_MOST, "counts of entries", error);
    HAWSER_THEN(status, HW_NEW(&from, w->reading->input.readers, "readers", error));
    while (status == HAWSER_OK) {
        size_t bucket = atomic_fetch_add(&w->next, 1);
        if (bucket >= w->buckets)
            break;
        status = gather_bucket(w, bucket, counts, from, error);
    }
    free(counts);
    free(from);
    return status;
}

/* Computes where each bucket's entries are stored. The last bucket of the matrix may also have columns beyond it, so its end
 * is found later. */
static hawser_status place_buckets(gather_work *w, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(&w->places, w->buckets + 1, "places of columns", error));
    for (size_t b = 0; b < w->buckets; b++) {
        w->places[b] = w->stored;
        if (span_of(w, b).seen > 0)
            for (uint32_t k = 0; k < w->reading->input.readers; k++)
                w->stored += b < w->readers[k].count ? w->readers[k].buckets[b].entries : 0;
    }
    return HAWSER_OK;
}

static hawser_status make_arrays(gather_work *w, hawser_dataset *dataset, hawser_error *error)
{
    hw_budget *budget = &w->reading->budget;
    HAWSER_TRY(hw_budget_array(budget, (void **)&w->offsets, w->cols + 1, sizeof *w->offsets, "offsets", error));
    hw_dataset_own(dataset, w->offsets);
    HAWSER_TRY(hw_huge_array((void **)&w->indices, w->stored, sizeof *w->indices, "indices", error));
    hw_dataset_own(dataset, w->indices);
    HAWSER_TRY(hw_huge_array(&w->values, w->stored, w->single ? 4 : 8, "values", error));
    hw_dataset_own(dataset, w->values);
    if (!w->targets)
        return HAWSER_OK;
    HAWSER_TRY(hw_budget_array(budget, (void **)&w->target, w->rows, sizeof *w->target, "the target", error));
    hw_dataset_own(dataset, w->target);
    for (size_t i = 0; i < w->stretches; i++) {
        hw_stretch *stretch = w->order[i];
        if (stretch->rows > 0)
            memcpy(w->target + stretch->first, stretch->target, stretch->rows * sizeof *w->target);
        hw_stretch_drop(&w->readers[stretch->reader], stretch);
    }
    return HAWSER_OK;
}

static hawser_status gather(gather_work *w, hawser_dataset *dataset, hawser_error *error)
{
    const hawser_load *load = w->reading->load;
    HAWSER_TRY(read_all(w, error));
    w->base = load->index_base != 0 ? (uint32_t)load->index_base - 1 : w->least != 0;
    w->cols = load->columns != 0 ? load->columns : w->buckets > 0 ? (uint64_t)w->widest.most + 1 - w->base : 0;
    HAWSER_TRY(hw_check_columns(w->reading, &w->widest, w->base, dataset, error));
    HAWSER_TRY(place_buckets(w, error));
    HAWSER_TRY(make_arrays(w, dataset, error));
    HAWSER_TRY(hw_in_parallel(w->reading->input.readers, gather_some, w, error));
    uint64_t covered = hw_bucket_begin(w->buckets), unseen = atomic_load(&w->unseen_entries), all = 0;
    for (uint32_t k = 0; k < w->reading->input.readers; k++)
        for (size_t b = 0; b < w->readers[k].count; b++)
            all += w->readers[k].buckets[b].entries;
    w->stored = all - unseen;
    for (uint64_t j = covered > w->base ? covered - w->base : 0; j < w->cols; j++)
        w->offsets[j] = w->stored;
    w->offsets[w->cols] = w->stored;
    dataset->figures.index_base = (int)w->base;
    dataset->figures.base_guessed = load->index_base == 0 && w->least > 1;
    dataset->figures.unseen_entries = unseen;
    dataset->figures.unseen_columns = atomic_load(&w->unseen_columns);
    dataset->target = w->target;
    dataset->matrix = (hawser_matrix){.rows = w->rows,
                                      .cols = w->cols,
                                      .stored = w->stored,
                                      .layout = HAWSER_CSC,
                                      .type = w->single ? HAWSER_F32 : HAWSER_F64,
                                      .offsets = w->offsets,
                                      .indices = w->indices,
                                      .values = w->values};
    return HAWSER_OK;
}

hawser_status hw_gather_columns(hw_reading *reading, hawser_dataset *dataset, hawser_error *error)
{
    gather_work w = {.reading = reading,
                     .least = UINT32_MAX,
                     .single = reading->load->type == HAWSER_F32,
                     .targets = !hw_svmlight_no_target(reading->load)};
    hawser_status status = gather(&w, dataset, error);
    for (uint32_t k = 0; k < reading->threads; k++) {
        if (w.readers != NULL)
            hw_buckets_free(&w.readers[k]);
        if (w.parts != NULL)
            hw_part_free(reading, &w.parts[k]);
    }
    free(w.readers);
    free(w.parts);
    free(w.order);
    free(w.places);
    return status;
}
