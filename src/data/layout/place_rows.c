/* place_rows.c - svmlight text to compressed columns or rows, each entry written once: what every thread's run has of each column
 * (row) is counted, the counts become places, then the runs are parsed a chunk at a time and put there. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "data/format/svmlight.h"
#include "data/format/tally.h"
#include "data/layout/assemble.h"
#include "data/source/runs.h"

enum { BATCH = 256 };

typedef struct row_run {
    hw_tally tally;
    hw_part part;   /* the chunk in hand */
    uint64_t *next; /* CSC: where the run's next entry of each column goes */
    uint64_t row, last_row, entry, last_entry;
    uint32_t least, most; /* index that was met */
} row_run;

typedef struct place_work {
    hw_job *job;
    row_run *runs;
    uint32_t readers, base;
    uint64_t rows, cols, stored;
    uint64_t *offsets;
    uint32_t *indices;
    void *values;
    double *target;
    bool single, by_row;
} place_work;

static hawser_status count_chunk(void *context, uint32_t reader, const hw_chunk *chunk, hawser_error *error)
{
    const place_work *w = context;
    if (!w->by_row)
        return hw_svmlight_count_columns(w->job, chunk, &w->runs[reader].tally, error);
    hw_svmlight_count(w->job, chunk, &w->runs[reader].tally);
    return HAWSER_OK;
}

/* The places of a batch are found, and their cache lines called for, before anything is written there: stores to memory that is
 * far are waited for one by one. They are looked at first: the file may have changed since it was counted. */
static inline bool scatter_batch(const place_work *w, const hw_part *part, uint64_t begin, uint64_t end, uint64_t *next,
                                 uint64_t *row, uint64_t *ahead, bool single)
{
    uint64_t places[BATCH];
    for (uint64_t e = begin; e < end; e++) {
        uint32_t column = part->indices[e] - w->base;
        uint64_t place = column < w->cols ? next[column]++ : UINT64_MAX;
        if (place >= w->stored)
            return false;
        places[e - begin] = place;
        hw_prefetch_store(w->indices + place);
        hw_prefetch_store((char *)w->values + place * (single ? sizeof(float) : sizeof(double)));
    }
    for (uint64_t e = begin; e < end; e++) {
        uint64_t place = places[e - begin];
        while (e >= part->ends[*row])
            ++*row;
        w->indices[place] = (uint32_t)(*ahead + *row);
        if (single)
            ((float *)w->values)[place] = ((const float *)part->values)[e];
        else
            ((double *)w->values)[place] = ((const double *)part->values)[e];
    }
    return true;
}

static inline bool scatter(const place_work *w, const row_run *run, bool single)
{
    const hw_part *part = &run->part;
    uint64_t row = 0, ahead = run->row;
    for (uint64_t e = 0; e < part->entries; e += BATCH) {
        uint64_t end = part->entries - e < BATCH ? part->entries : e + BATCH;
        if (!scatter_batch(w, part, e, end, run->next, &row, &ahead, single))
            return false;
    }
    return true;
}

static bool append(const place_work *w, row_run *run)
{
    const hw_part *part = &run->part;
    if (part->entries > run->last_entry - run->entry)
        return false;
    for (uint64_t r = 0; r < part->rows; r++)
        w->offsets[run->row + r + 1] = run->entry + part->ends[r];
    for (uint64_t e = 0; e < part->entries; e++)
        w->indices[run->entry + e] = part->indices[e] - w->base;
    size_t size = w->single ? sizeof(float) : sizeof(double);
    memcpy((char *)w->values + run->entry * size, part->values, part->entries * size);
    run->entry += part->entries;
    return true;
}

static hawser_status place_chunk(void *context, uint32_t reader, const hw_chunk *chunk, hawser_error *error)
{
    const place_work *w = context;
    row_run *run = &w->runs[reader];
    hw_part *part = &run->part;
    part->rows = part->entries = 0;
    part->least = UINT32_MAX;
    part->most = 0;
    HAWSER_TRY(hw_svmlight_parse(NULL, w->job, chunk, part, error));
    if (part->rows > run->last_row - run->row)
        return hw_runs_changed(w->job, error);
    bool fits = w->by_row ? append(w, run) : w->single ? scatter(w, run, true) : scatter(w, run, false);
    if (!fits)
        return hw_runs_changed(w->job, error);
    if (w->target != NULL && part->rows > 0)
        memcpy(w->target + run->row, part->target, part->rows * sizeof *w->target);
    run->row += part->rows;
    run->least = part->least < run->least ? part->least : run->least;
    run->most = part->most > run->most ? part->most : run->most;
    w->job->rows_read[reader] += part->rows;
    return HAWSER_OK;
}

/* Rows and entries of each run, and of all. */
static hawser_status sum_runs(place_work *w, hawser_error *error)
{
    for (uint32_t k = 0; k < w->readers; k++) {
        row_run *run = &w->runs[k];
        run->row = w->rows;
        run->entry = w->stored;
        run->last_row = w->rows += run->tally.rows;
        run->last_entry = w->stored += run->tally.entries;
    }
    return hw_check_rows(w->job, w->rows, error);
}

static uint64_t counted(const row_run *run, uint64_t index)
{
    return index < run->tally.room ? run->tally.columns[index] : 0;
}

static hawser_status columns_to_places(place_work *w, hawser_dataset *dataset, hawser_error *error)
{
    hw_budget *budget = &w->job->budget;
    HAWSER_TRY(hw_budget_array(budget, (void **)&w->offsets, w->cols + 1, sizeof *w->offsets, "offsets", error));
    hw_dataset_own(dataset, w->offsets);
    for (uint32_t k = 0; k < w->readers; k++)
        HAWSER_TRY(hw_pages_new(budget, (void **)&w->runs[k].next, w->cols * sizeof *w->offsets, error));
    uint64_t sum = 0;
    for (uint64_t j = 0; j < w->cols; j++) {
        w->offsets[j] = sum;
        for (uint32_t k = 0; k < w->readers; k++) {
            w->runs[k].next[j] = sum;
            sum += counted(&w->runs[k], j + w->base);
        }
    }
    w->offsets[w->cols] = sum;
    w->stored = sum; /* text that will be refused may have counted more */
    return HAWSER_OK;
}

/* Every place has been written once, which is so if every column of every run ended where the next begins. */
static hawser_status check_places(const place_work *w, hawser_error *error)
{
    bool same = true;
    for (uint32_t k = 0; k < w->readers; k++)
        same &= w->runs[k].row == w->runs[k].last_row && (!w->by_row || w->runs[k].entry == w->runs[k].last_entry);
    for (uint64_t j = 0; !w->by_row && j < w->cols; j++) {
        uint64_t sum = w->offsets[j];
        for (uint32_t k = 0; k < w->readers; k++)
            same &= w->runs[k].next[j] == (sum += counted(&w->runs[k], j + w->base));
    }
    return same ? HAWSER_OK : hw_runs_changed(w->job, error);
}

static hawser_status make_arrays(place_work *w, hawser_dataset *dataset, hawser_error *error)
{
    hw_budget *budget = &w->job->budget;
    const char *target = w->job->load->target;
    if (w->by_row) {
        HAWSER_TRY(hw_budget_array(budget, (void **)&w->offsets, w->rows + 1, sizeof *w->offsets, "offsets", error));
        hw_dataset_own(dataset, w->offsets);
    } else {
        HAWSER_TRY(columns_to_places(w, dataset, error));
    }
    HAWSER_TRY(hw_budget_array(budget, (void **)&w->indices, w->stored, sizeof *w->indices, "indices", error));
    hw_dataset_own(dataset, w->indices);
    HAWSER_TRY(hw_budget_array(budget, &w->values, w->stored, w->single ? 4 : 8, "values", error));
    hw_dataset_own(dataset, w->values);
    if (target != NULL && strcmp(target, "none") == 0)
        return HAWSER_OK;
    HAWSER_TRY(hw_budget_array(budget, (void **)&w->target, w->rows, sizeof(double), "the target", error));
    hw_dataset_own(dataset, w->target);
    return HAWSER_OK;
}

/* Rows were put down as if the base were 1; when index 0 was met it is 0, and what wrapped goes back. */
static void correct_base(place_work *w, uint32_t base)
{
    for (uint64_t e = 0; w->base != base && e < w->stored; e++)
        w->indices[e] += w->base - base;
    w->base = base;
}

static hawser_status count_and_place(place_work *w, bool *done, hawser_dataset *dataset, hawser_error *error)
{
    const hawser_load *load = w->job->load;
    HAWSER_TRY(hw_runs(w->job, count_chunk, w, error));
    for (uint32_t k = 0; k < w->readers; k++)
        *done &= !w->runs[k].tally.beyond;
    if (!*done) {
        hw_runs_undo(w->job);
        return HAWSER_OK;
    }
    HAWSER_TRY(sum_runs(w, error));
    uint32_t least = UINT32_MAX, most = 0;
    for (uint32_t k = 0; k < w->readers; k++) {
        least = w->runs[k].tally.least < least ? w->runs[k].tally.least : least;
        most = w->runs[k].tally.most > most ? w->runs[k].tally.most : most;
    }
    w->base = load->index_base != 0 ? (uint32_t)load->index_base - 1 : least != 0 || w->by_row;
    w->cols = w->stored > 0 && most >= w->base ? (uint64_t)most + 1 - w->base : 0;
    HAWSER_TRY(make_arrays(w, dataset, error));
    HAWSER_TRY(hw_runs(w->job, place_chunk, w, error));
    HAWSER_TRY(check_places(w, error));
    for (uint32_t k = 0; w->by_row && k < w->readers; k++) {
        least = w->runs[k].least < least ? w->runs[k].least : least;
        most = w->runs[k].most > most ? w->runs[k].most : most;
    }
    if (w->by_row && load->index_base == 0)
        correct_base(w, least != 0);
    w->cols = w->stored > 0 ? (uint64_t)most + 1 - w->base : 0;
    dataset->figures.index_base = (int)w->base;
    dataset->figures.base_guessed = load->index_base == 0 && least != 0;
    return HAWSER_OK;
}

static void finish(const place_work *w, hawser_dataset *dataset)
{
    dataset->matrix = (hawser_matrix){.rows = w->rows,
                                      .cols = w->cols,
                                      .stored = w->stored,
                                      .layout = w->by_row ? HAWSER_CSR : HAWSER_CSC,
                                      .type = w->single ? HAWSER_F32 : HAWSER_F64,
                                      .offsets = w->offsets,
                                      .indices = w->indices,
                                      .values = w->values};
    dataset->target = w->target;
    if (w->by_row)
        w->offsets[0] = 0;
}

/* Counts of columns may take half of what the text does, or a little. */
static hawser_status begin(place_work *w, hawser_error *error)
{
    enum { LITTLE = 1 << 26 };
    w->readers = w->job->input.readers;
    HAWSER_TRY(HW_NEW(&w->runs, w->readers, "runs", error));
    uint64_t bytes = hw_input_text_bytes(&w->job->input) / 2, each = w->readers * (sizeof(uint64_t) + sizeof(uint32_t));
    for (uint32_t k = 0; k < w->readers; k++) {
        w->runs[k].least = w->runs[k].tally.least = UINT32_MAX;
        w->runs[k].tally.limit = (bytes > LITTLE ? bytes : LITTLE) / each;
    }
    return HAWSER_OK;
}

hawser_status hw_place_rows(hw_job *job, hawser_dataset *dataset, bool *done, hawser_error *error)
{
    *done = false;
    if (job->load->columns == 0)
        HAWSER_TRY(hw_runs_begin(job, done, error));
    if (!*done)
        return HAWSER_OK;
    place_work w = {.job = job, .single = job->load->type == HAWSER_F32, .by_row = job->load->rows_layout != 0};
    hawser_status status = begin(&w, error);
    if (status == HAWSER_OK)
        status = count_and_place(&w, done, dataset, error);
    if (status == HAWSER_OK && *done)
        finish(&w, dataset);
    for (uint32_t k = 0; w.runs != NULL && k < w.readers; k++) {
        row_run *run = &w.runs[k];
        hw_pages_free(&job->budget, run->tally.columns, run->tally.room * sizeof *run->tally.columns);
        hw_pages_free(&job->budget, run->next, w.cols * sizeof *run->next);
        hw_part_free(job, &run->part);
    }
    free(w.runs);
    return status;
}
