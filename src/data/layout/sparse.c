/* sparse.c - converts parts of parsed entries to compressed rows, and parts of coordinates to rows or columns. Every thread
 * counts the entries of its run of parts by row or column, the counts become places, then every thread stores its entries
 * there. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/layout/assemble.h"

typedef struct scatter_work {
    hw_reading *reading;
    uint64_t parts;
    uint64_t *first_rows;  /* of each part */
    uint64_t *first_parts; /* of each thread */
    uint64_t *places;      /* threads x majors: where the thread's next entry of the major is stored */
    uint64_t *offsets;
    uint32_t *indices;
    void *values;
    double *target;
    uint64_t majors, minors; /* columns and rows for CSC, the reverse for CSR */
    uint32_t threads, base;
    bool single, by_row, coordinates, scattering;
    hw_mirror mirror;
    _Atomic bool repeated; /* some entries were added to others, and left UINT32_MAX as index at the end of their major */
} scatter_work;

hawser_status hw_check_rows(const hw_reading *reading, uint64_t rows, hawser_error *error)
{
    if ((rows > 0 || reading->load->parts > 1) && rows < UINT32_MAX)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_INPUT, "%s: %s", reading->input.files[0].name,
                       rows == 0 ? "no rows in the input" : "more than 4294967294 rows; split the input");
}

hawser_status hw_reading_rows(const hw_reading *reading, uint64_t *rows, uint64_t **first_rows, hawser_error *error)
{
    uint64_t parts = hw_reading_parts(reading), sum = 0, *first;
    HAWSER_TRY(HW_NEW(&first, parts + 1, "row numbers", error));
    for (uint64_t p = 0; p < parts; p++) {
        first[p] = sum;
        sum += hw_reading_part(reading, p)->rows;
    }
    first[parts] = sum;
    hawser_status status = hw_check_rows(reading, sum, error);
    if (status != HAWSER_OK) {
        free(first);
        return status;
    }
    *rows = sum;
    *first_rows = first;
    return HAWSER_OK;
}

static inline void place_entry(const scatter_work *w, uint64_t *places, uint32_t major, uint32_t minor, const void *values,
                               uint64_t e, bool single, bool negated)
{
    uint64_t place = places[major]++;
    w->indices[place] = minor;
    if (single) {
        float value = ((const float *)values)[e];
        ((float *)w->values)[place] = negated ? -value : value;
    } else {
        double value = ((const double *)values)[e];
        ((double *)w->values)[place] = negated ? -value : value;
    }
}

static inline void scatter_coordinates(const scatter_work *w, const hw_text_part *part, uint64_t *places, bool single)
{
    const uint32_t *majors = w->by_row ? part->rows_of : part->indices, *minors = w->by_row ? part->indices : part->rows_of;
    for (uint64_t e = 0; e < part->entries; e++) {
        if (majors[e] < w->majors && minors[e] < w->minors)
            place_entry(w, places, majors[e], minors[e], part->values, e, single, false);
        if (w->mirror != HW_MIRROR_NONE && majors[e] != minors[e] && minors[e] < w->majors && majors[e] < w->minors)
            place_entry(w, places, minors[e], majors[e], part->values, e, single, w->mirror == HW_MIRROR_NEGATED);
    }
}

static void count_part(const scatter_work *w, const hw_text_part *part, uint64_t *places)
{
    const uint32_t *majors = w->by_row ? part->rows_of : part->indices, *minors = w->by_row ? part->indices : part->rows_of;
    for (uint64_t e = 0; e < part->entries; e++) {
        if (majors[e] < w->majors && minors[e] < w->minors)
            places[majors[e]]++;
        if (w->mirror != HW_MIRROR_NONE && majors[e] != minors[e] && minors[e] < w->majors && majors[e] < w->minors)
            places[minors[e]]++;
    }
}

static hawser_status run_of_parts(void *context, uint32_t thread, hawser_error *error)
{
    const scatter_work *w = context;
    uint64_t *places = w->places + thread * w->majors;
    (void)error;
    for (uint64_t p = w->first_parts[thread]; p < w->first_parts[thread + 1]; p++) {
        hw_text_part *part = hw_reading_part(w->reading, p);
        if (!w->scattering) {
            count_part(w, part, places);
            continue;
        }
        if (w->single)
            scatter_coordinates(w, part, places, true);
        else
            scatter_coordinates(w, part, places, false);
        hw_part_free(w->reading, part);
    }
    return HAWSER_OK;
}

/* Copies entries of rows, without those beyond the model's columns. The arrays' pages take memory as rows arrive, while the
 * parts are released; they are counted accordingly. */
static hawser_status copy_rows(void *context, uint32_t thread, hawser_error *error)
{
    const scatter_work *w = context;
    const size_t size = w->single ? sizeof(float) : sizeof(double);
    for (uint64_t p = w->first_parts[thread]; p < w->first_parts[thread + 1]; p++) {
        hw_text_part *part = hw_reading_part(w->reading, p);
        uint64_t row = w->first_rows[p], place = w->scattering ? w->offsets[row] : 0;
        if (w->scattering)
            HAWSER_TRY(hw_budget_take(&w->reading->budget,
                                      (w->offsets[row + part->rows] - place) * (sizeof *w->indices + size), error));
        for (uint64_t r = 0, e = 0; r < part->rows; r++, row++) {
            uint64_t begin = e, kept = 0;
            for (; e < part->ends[r]; e++)
                kept += part->indices[e] - w->base < w->minors;
            if (!w->scattering) {
                w->offsets[row + 1] = kept;
                continue;
            }
            for (uint64_t k = 0; k < kept; k++)
                w->indices[place + k] = part->indices[begin + k] - w->base;
            memcpy((char *)w->values + place * size, (char *)part->values + begin * size, kept * size);
            place += kept;
        }
        if (!w->scattering)
            continue;
        if (w->target != NULL && part->rows > 0)
            memcpy(w->target + w->first_rows[p], part->target, part->rows * sizeof *w->target);
        hw_part_free(w->reading, part);
    }
    return HAWSER_OK;
}

/* Chooses the threads: parts of about equal entries each, and no more threads than their counts are worth in memory. */
static hawser_status deal_parts(scatter_work *w, uint64_t entries, hawser_error *error)
{
    uint64_t capacity = (entries * 4 > 1 << 24 ? entries * 4 : 1 << 24) / (w->majors * sizeof *w->places + 1);
    w->threads = w->reading->threads;
    if (w->threads > w->parts)
        w->threads = (uint32_t)w->parts;
    if (w->threads > capacity)
        w->threads = capacity > 1 ? (uint32_t)capacity : 1;
    if (w->threads == 0)
        w->threads = 1;
    HAWSER_TRY(HW_NEW(&w->first_parts, w->threads + 1, "part numbers", error));
    uint64_t sum = 0;
    uint32_t thread = 1;
    for (uint64_t p = 0; p < w->parts; p++) {
        sum += hw_reading_part(w->reading, p)->entries;
        while (thread < w->threads && sum * w->threads >= entries * thread)
            w->first_parts[thread++] = p + 1;
    }
    for (; thread <= w->threads; thread++)
        w->first_parts[thread] = w->parts;
    return HAWSER_OK;
}

static uint64_t counts_to_places(scatter_work *w)
{
    uint64_t sum = 0;
    for (uint64_t j = 0; j < w->majors; j++) {
        w->offsets[j] = sum;
        for (uint32_t t = 0; t < w->threads; t++) {
            uint64_t count = w->places[t * w->majors + j];
            w->places[t * w->majors + j] = sum;
            sum += count;
        }
    }
    w->offsets[w->majors] = sum;
    return sum;
}

static hawser_status make_arrays(scatter_work *w, uint64_t stored, uint64_t targets, hawser_dataset *dataset,
                                 hawser_error *error)
{
    hw_budget *budget = &w->reading->budget;
    const size_t size = w->single ? 4 : 8;
    if (w->coordinates)
        HAWSER_TRY(hw_budget_take(budget, stored * (sizeof *w->indices + size), error));
    HAWSER_TRY(hw_huge_array((void **)&w->indices, stored, sizeof *w->indices, "indices", error));
    hw_dataset_own(dataset, w->indices);
    HAWSER_TRY(hw_huge_array(&w->values, stored, size, "values", error));
    hw_dataset_own(dataset, w->values);
    if (targets > 0) {
        HAWSER_TRY(hw_budget_array(budget, (void **)&w->target, targets, sizeof(double), "the target", error));
        hw_dataset_own(dataset, w->target);
    }
    return HAWSER_OK;
}

static hawser_status count_and_scatter(scatter_work *w, uint64_t targets, hawser_dataset *dataset, hawser_error *error)
{
    hw_work work = w->coordinates ? run_of_parts : copy_rows;
    uint64_t stored = 0;
    HAWSER_TRY(
        hw_budget_array(&w->reading->budget, (void **)&w->offsets, w->majors + 1, sizeof *w->offsets, "offsets", error));
    hw_dataset_own(dataset, w->offsets);
    HAWSER_TRY(hw_in_parallel(w->threads, work, w, error));
    if (!w->coordinates) {
        w->offsets[0] = 0;
        for (uint64_t r = 0; r < w->majors; r++)
            stored = w->offsets[r + 1] += stored;
    } else {
        stored = counts_to_places(w);
    }
    HAWSER_TRY(make_arrays(w, stored, targets, dataset, error));
    w->scattering = true;
    HAWSER_TRY(hw_in_parallel(w->threads, work, w, error));
    dataset->matrix = (hawser_matrix){.rows = w->by_row ? w->majors : w->minors,
                                      .cols = w->by_row ? w->minors : w->majors,
                                      .stored = stored,
                                      .layout = w->by_row ? HAWSER_CSR : HAWSER_CSC,
                                      .type = w->single ? HAWSER_F32 : HAWSER_F64,
                                      .offsets = w->offsets,
                                      .indices = w->indices,
                                      .values = w->values};
    dataset->target = w->target;
    return HAWSER_OK;
}

static hawser_status assemble(scatter_work *w, uint64_t entries, uint64_t targets, hawser_dataset *dataset,
                              hawser_error *error)
{
    hw_budget *budget = &w->reading->budget;
    HAWSER_TRY(deal_parts(w, entries, error));
    size_t bytes = !w->coordinates ? 8 : (w->threads * w->majors + 1) * sizeof *w->places;
    hawser_status status = hw_pages_new(budget, (void **)&w->places, bytes, error);
    HAWSER_THEN(status, count_and_scatter(w, targets, dataset, error));
    hw_pages_free(budget, w->places, bytes);
    free(w->first_parts);
    return status;
}

/* Marks a column beyond the model's. */
static void note_unseen(uint64_t column, unsigned char *seen, hawser_load_figures *figures)
{
    figures->unseen_entries++;
    figures->unseen_columns += (seen[column / 8] >> column % 8 & 1) == 0;
    seen[column / 8] |= (unsigned char)(1 << column % 8);
}

/* Counts entries and different columns beyond the model's. Mirrored, an entry off the diagonal also counts for the column
 * with its row's number. */
static hawser_status count_unseen(hw_reading *reading, uint64_t base, uint64_t most, bool mirrored,
                                  hawser_load_figures *figures, hawser_error *error)
{
    uint64_t limit = reading->load->columns;
    if (limit == 0 || most < base + limit)
        return HAWSER_OK;
    size_t bytes = (size_t)((most - base - limit) / 8 + 1);
    unsigned char *seen;
    HAWSER_TRY(hw_pages_new(&reading->budget, (void **)&seen, bytes, error));
    for (uint64_t p = 0; p < hw_reading_parts(reading); p++) {
        const hw_text_part *part = hw_reading_part(reading, p);
        for (uint64_t e = 0; e < part->entries; e++) {
            uint64_t column = part->indices[e] - base;
            if (column >= limit)
                note_unseen(column - limit, seen, figures);
            if (mirrored && part->rows_of[e] != part->indices[e] && part->rows_of[e] >= limit)
                note_unseen(part->rows_of[e] - limit, seen, figures);
        }
    }
    hw_pages_free(&reading->budget, seen, bytes);
    return HAWSER_OK;
}

hawser_status hw_assemble_rows(hw_reading *reading, hawser_dataset *dataset, hawser_error *error)
{
    const hawser_load *load = reading->load;
    scatter_work w = {
        .reading = reading, .parts = hw_reading_parts(reading), .single = load->type == HAWSER_F32, .by_row = true};
    uint64_t rows, entries = 0, least = UINT32_MAX;
    hw_text_part widest = {0};
    hawser_status status = hw_reading_rows(reading, &rows, &w.first_rows, error);
    for (uint64_t p = 0; p < w.parts; p++) {
        const hw_text_part *part = hw_reading_part(reading, p);
        entries += part->entries;
        least = part->least < least ? part->least : least;
        hw_part_widen(&widest, part);
    }
    hawser_load_figures *figures = &dataset->figures;
    figures->index_base = load->index_base != 0 ? load->index_base - 1 : least != 0;
    figures->base_guessed = load->index_base == 0 && least > 1; /* in files counted from 0 column 0 is rarely empty */
    w.base = (uint32_t)figures->index_base;
    uint64_t cols = load->columns != 0 ? load->columns : entries > 0 ? (uint64_t)widest.most + 1 - w.base : 0;
    w.majors = rows;
    w.minors = cols;
    bool targets = !load->target_optional && (load->target == NULL || strcmp(load->target, "none") != 0);
    HAWSER_THEN(status, hw_check_columns(reading, &widest, w.base, dataset, error));
    if (status == HAWSER_OK && entries > 0)
        status = count_unseen(reading, w.base, widest.most, false, figures, error);
    HAWSER_THEN(status, assemble(&w, entries, targets ? rows : 0, dataset, error));
    free(w.first_rows);
    return status;
}

/* ------------------------------------------------------------------------------------- coordinates in any order ---- */

static int compare_pairs(const void *a, const void *b)
{
    const hw_pair *x = a, *y = b;
    return x->index != y->index ? (x->index > y->index) - (x->index < y->index)
                                : (x->order > y->order) - (x->order < y->order);
}

hawser_status hw_sort_entries(uint32_t *indices, void *values, bool single, uint64_t count, hw_sorter *sorter,
                              uint32_t *twice, hawser_error *error)
{
    uint64_t e = 1;
    *twice = UINT32_MAX;
    while (e < count && indices[e - 1] < indices[e])
        e++;
    if (e >= count)
        return HAWSER_OK;
    HAWSER_TRY(HW_GROW(&sorter->pairs, &sorter->capacity, count, "a column to sort", error));
    hw_pair *pairs = sorter->pairs;
    for (e = 0; e < count; e++)
        pairs[e] = (hw_pair){indices[e], (uint32_t)e, single ? (double)((float *)values)[e] : ((double *)values)[e]};
    qsort(pairs, count, sizeof *pairs, compare_pairs);
    for (e = 0; e < count; e++) {
        if (e > 0 && pairs[e].index == pairs[e - 1].index)
            *twice = pairs[e].index;
        indices[e] = pairs[e].index;
        if (single)
            ((float *)values)[e] = (float)pairs[e].value;
        else
            ((double *)values)[e] = pairs[e].value;
    }
    return HAWSER_OK;
}

hawser_status hw_given_twice(const char *name, uint64_t row, uint64_t column, hawser_error *error)
{
    return hawser_fail(
        error, HAWSER_BAD_INPUT,
        "%s: the entry in row %llu and column %llu occurs twice, in the shares of nodes, which do not add them; "
        "add them up once: hawser data convert",
        name, (unsigned long long)row + 1, (unsigned long long)column + 1);
}

static double stored_at(const scatter_work *w, uint64_t e)
{
    return w->single ? (double)((float *)w->values)[e] : ((double *)w->values)[e];
}

static void store_at(const scatter_work *w, uint64_t e, double value)
{
    if (w->single)
        ((float *)w->values)[e] = (float)value;
    else
        ((double *)w->values)[e] = value;
}

/* Adds entries of the same index, which follow each other, and marks what is left at the end of the column (row). */
static hawser_status add_repeated(const scatter_work *w, uint64_t j, hawser_error *error)
{
    uint64_t kept = w->offsets[j], end = w->offsets[j + 1];
    for (uint64_t e = kept; e < end; kept++) {
        uint32_t index = w->indices[e];
        double sum = stored_at(w, e);
        for (e++; e < end && w->indices[e] == index; e++)
            sum += stored_at(w, e);
        w->indices[kept] = index;
        store_at(w, kept, sum);
        if (!isfinite(stored_at(w, kept)))
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "%s: the entries in row %llu and column %llu add up to %g, which cannot be stored",
                               w->reading->input.files[0].name, (unsigned long long)(w->by_row ? j : index) + 1,
                               (unsigned long long)(w->by_row ? index : j) + 1, stored_at(w, kept));
    }
    for (; kept < end; kept++)
        w->indices[kept] = UINT32_MAX;
    return HAWSER_OK;
}

/* Closes the gaps that added entries left. */
static void close_gaps(scatter_work *w, hawser_matrix *A)
{
    size_t size = w->single ? sizeof(float) : sizeof(double);
    uint64_t to = 0;
    for (uint64_t j = 0; j < w->majors; j++) {
        uint64_t begin = w->offsets[j], end = begin;
        while (end < w->offsets[j + 1] && w->indices[end] != UINT32_MAX)
            end++;
        memmove(w->indices + to, w->indices + begin, (end - begin) * sizeof *w->indices);
        memmove((char *)w->values + to * size, (char *)w->values + begin * size, (end - begin) * size);
        w->offsets[j] = to;
        to += end - begin;
    }
    w->offsets[w->majors] = A->stored = to;
}

/* Sorts one column (row) if necessary, and adds entries that occur several times. */
static hawser_status sort_major(scatter_work *w, uint64_t j, hw_sorter *sorter, hawser_error *error)
{
    uint64_t begin = w->offsets[j];
    uint32_t twice;
    void *values = (char *)w->values + begin * (w->single ? sizeof(float) : sizeof(double));
    HAWSER_TRY(hw_sort_entries(w->indices + begin, values, w->single, w->offsets[j + 1] - begin, sorter, &twice, error));
    if (twice == UINT32_MAX)
        return HAWSER_OK;
    if (w->reading->load->parts > 1 && !w->reading->whole_rows) /* the other nodes may have more of them */
        return hw_given_twice(w->reading->input.files[0].name, w->by_row ? j : twice, w->by_row ? twice : j, error);
    atomic_store(&w->repeated, true);
    return add_repeated(w, j, error);
}

static hawser_status sort_majors(void *context, uint32_t thread, hawser_error *error)
{
    scatter_work *w = context;
    hw_sorter sorter = {0};
    hawser_status status = HAWSER_OK;
    uint64_t begin = w->majors * thread / w->threads, end = w->majors * (thread + 1) / w->threads;
    for (uint64_t j = begin; status == HAWSER_OK && j < end; j++)
        status = sort_major(w, j, &sorter, error);
    free(sorter.pairs);
    return status;
}

hawser_status hw_assemble_coordinates(hw_reading *reading, size_t rows, size_t cols, hw_mirror mirror,
                                      hawser_dataset *dataset, hawser_error *error)
{
    const hawser_load *load = reading->load;
    scatter_work w = {.reading = reading,
                      .parts = hw_reading_parts(reading),
                      .single = load->type == HAWSER_F32,
                      .by_row = load->rows_layout != 0 || load->parts > 1,
                      .coordinates = true,
                      .mirror = mirror};
    uint64_t entries = 0, most = 0;
    for (uint64_t p = 0; p < w.parts; p++) {
        entries += hw_reading_part(reading, p)->entries;
        most = hw_reading_part(reading, p)->most > most ? hw_reading_part(reading, p)->most : most;
    }
    if (entries > 0)
        HAWSER_TRY(count_unseen(reading, 0, most, mirror != HW_MIRROR_NONE, &dataset->figures, error));
    cols = load->columns != 0 ? load->columns : cols;
    w.majors = w.by_row ? rows : cols;
    w.minors = w.by_row ? cols : rows;
    HAWSER_TRY(assemble(&w, entries, 0, dataset, error));
    HAWSER_TRY(hw_in_parallel(w.threads, sort_majors, &w, error));
    if (atomic_load(&w.repeated))
        close_gaps(&w, &dataset->matrix);
    return HAWSER_OK;
}
