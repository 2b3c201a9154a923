/* svmlight_rows.c - reads svmlight text into compressed rows and writes each entry once: the rows and entries of every
 * thread's run are counted, the counts become places, then the runs are parsed chunk by chunk into them. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/format/svmlight.h"
#include "data/format/tally.h"
#include "data/layout/assemble.h"
#include "data/source/runs.h"

typedef struct row_run {
    hw_tally tally;
    hw_text_part part; /* the current chunk */
    uint64_t row, last_row, entry, last_entry;
} row_run;

typedef struct rows_work {
    hw_reading *reading;
    row_run *runs;
    uint32_t readers, base;
    uint64_t rows, stored;
    uint64_t *offsets;
    uint32_t *indices;
    void *values;
    double *target;
    bool single;
} rows_work;

static hawser_status count_chunk(void *context, uint32_t reader, const hw_chunk *chunk, hawser_error *error)
{
    const rows_work *w = context;
    (void)error;
    hw_svmlight_count(w->reading, chunk, &w->runs[reader].tally);
    return HAWSER_OK;
}

static bool append(const rows_work *w, row_run *run)
{
    const hw_text_part *part = &run->part;
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
    const rows_work *w = context;
    row_run *run = &w->runs[reader];
    hw_text_part *part = &run->part;
    HAWSER_TRY(hw_svmlight_read(w->reading, chunk, part, error));
    if (part->rows > run->last_row - run->row || !append(w, run))
        return hw_runs_changed(w->reading, chunk->file, error);
    if (w->target != NULL && part->rows > 0)
        memcpy(w->target + run->row, part->target, part->rows * sizeof *w->target);
    run->row += part->rows;
    w->reading->rows_read[reader] += part->rows;
    return HAWSER_OK;
}

/* Adds up rows and entries of the runs. */
static hawser_status sum_runs(rows_work *w, hawser_error *error)
{
    for (uint32_t k = 0; k < w->readers; k++) {
        row_run *run = &w->runs[k];
        run->row = w->rows;
        run->entry = w->stored;
        run->last_row = w->rows += run->tally.rows;
        run->last_entry = w->stored += run->tally.entries;
    }
    return hw_check_rows(w->reading, w->rows, error);
}

static hawser_status check_places(const rows_work *w, hawser_error *error)
{
    bool same = true;
    for (uint32_t k = 0; k < w->readers; k++)
        same &= w->runs[k].row == w->runs[k].last_row && w->runs[k].entry == w->runs[k].last_entry;
    return same ? HAWSER_OK : hw_runs_changed(w->reading, NULL, error);
}

static hawser_status make_arrays(rows_work *w, hawser_dataset *dataset, hawser_error *error)
{
    hw_budget *budget = &w->reading->budget;
    HAWSER_TRY(hw_budget_array(budget, (void **)&w->offsets, w->rows + 1, sizeof *w->offsets, "offsets", error));
    hw_dataset_own(dataset, w->offsets);
    HAWSER_TRY(hw_budget_array(budget, (void **)&w->indices, w->stored, sizeof *w->indices, "indices", error));
    hw_dataset_own(dataset, w->indices);
    HAWSER_TRY(hw_budget_array(budget, &w->values, w->stored, w->single ? 4 : 8, "values", error));
    hw_dataset_own(dataset, w->values);
    if (hw_svmlight_no_target(w->reading->load))
        return HAWSER_OK;
    HAWSER_TRY(hw_budget_array(budget, (void **)&w->target, w->rows, sizeof(double), "the target", error));
    hw_dataset_own(dataset, w->target);
    return HAWSER_OK;
}

/* Indices were stored as if the base were 1. If index 0 occurs, the base is 0, and wrapped indices are corrected. */
static void correct_base(rows_work *w, uint32_t base)
{
    for (uint64_t e = 0; w->base != base && e < w->stored; e++)
        w->indices[e] += w->base - base;
    w->base = base;
}

static hawser_status count_and_place(rows_work *w, hawser_dataset *dataset, hawser_error *error)
{
    const hawser_load *load = w->reading->load;
    HAWSER_TRY(hw_runs(w->reading, count_chunk, w, error));
    HAWSER_TRY(sum_runs(w, error));
    w->base = load->index_base != 0 ? (uint32_t)load->index_base - 1 : 1;
    HAWSER_TRY(make_arrays(w, dataset, error));
    HAWSER_TRY(hw_runs(w->reading, place_chunk, w, error));
    HAWSER_TRY(check_places(w, error));
    uint32_t least = UINT32_MAX;
    hw_text_part widest = {0};
    for (uint32_t k = 0; k < w->readers; k++) {
        least = w->runs[k].part.least < least ? w->runs[k].part.least : least;
        hw_part_widen(&widest, &w->runs[k].part);
    }
    if (load->index_base == 0)
        correct_base(w, least != 0);
    HAWSER_TRY(hw_check_columns(w->reading, &widest, w->base, dataset, error));
    w->offsets[0] = 0;
    dataset->figures.index_base = (int)w->base;
    dataset->figures.base_guessed = load->index_base == 0 && least > 1;
    dataset->target = w->target;
    dataset->matrix = (hawser_matrix){.rows = w->rows,
                                      .cols = w->stored > 0 ? (uint64_t)widest.most + 1 - w->base : 0,
                                      .stored = w->stored,
                                      .layout = HAWSER_CSR,
                                      .type = w->single ? HAWSER_F32 : HAWSER_F64,
                                      .offsets = w->offsets,
                                      .indices = w->indices,
                                      .values = w->values};
    return HAWSER_OK;
}

hawser_status hw_place_rows(hw_reading *reading, hawser_dataset *dataset, bool *done, hawser_error *error)
{
    *done = false;
    if (reading->load->columns == 0)
        HAWSER_TRY(hw_runs_begin(reading, done, error));
    if (!*done)
        return HAWSER_OK;
    rows_work w = {.reading = reading, .single = reading->load->type == HAWSER_F32, .readers = reading->input.readers};
    HAWSER_TRY(HW_NEW(&w.runs, w.readers, "runs", error));
    for (uint32_t k = 0; k < w.readers; k++)
        w.runs[k].part.least = UINT32_MAX;
    hawser_status status = count_and_place(&w, dataset, error);
    for (uint32_t k = 0; k < w.readers; k++)
        hw_part_free(reading, &w.runs[k].part);
    free(w.runs);
    return status;
}
