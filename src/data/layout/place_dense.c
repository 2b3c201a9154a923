/* place_dense.c - reads text into a dense matrix and writes each number once: lines are counted, then every thread's run is
 * parsed chunk by chunk into its place. Lines that are not rows leave gaps, which are closed at the end. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/layout/assemble.h"
#include "data/source/runs.h"

typedef struct line_run {
    hw_text_part part; /* the current chunk */
    uint64_t lines, first, row, dropped;
} line_run;

typedef struct place_work {
    hw_reading *reading;
    hw_parser parser;
    void *context;
    line_run *runs;
    hw_dense dense;
    size_t width;
    uint64_t skip; /* bytes before the first file's rows */
} place_work;

static hawser_status count_chunk(void *context, uint32_t reader, const hw_chunk *chunk, hawser_error *error)
{
    const place_work *w = context;
    const char *at = chunk->begin;
    uint64_t bytes = (uint64_t)(chunk->end - at);
    (void)error;
    if (chunk->file == &w->reading->input.files[0] && chunk->offset < w->skip)
        at += w->skip - chunk->offset < bytes ? w->skip - chunk->offset : bytes;
    uint64_t lines = hw_count(at, chunk->end, '\n'), most = (uint64_t)(chunk->end - at) / w->width + 1;
    w->runs[reader].lines +=
        lines < most ? lines : most; /* a number and what ends it take two bytes, so the other lines are empty */
    return HAWSER_OK;
}

static hawser_status place_chunk(void *context, uint32_t reader, const hw_chunk *chunk, hawser_error *error)
{
    const place_work *w = context;
    line_run *run = &w->runs[reader];
    hw_text_part *part = &run->part;
    part->rows = part->entries = part->dropped = 0;
    HAWSER_TRY(w->parser(w->context, w->reading, chunk, part, error));
    if (part->rows > run->first + run->lines - run->row)
        return hw_runs_changed(w->reading, chunk->file, error);
    HAWSER_TRY(hw_dense_put(&w->dense, part->values, run->row, part->rows, error));
    run->row += part->rows;
    run->dropped += part->dropped;
    w->reading->rows_read[reader] += part->rows + part->dropped;
    return HAWSER_OK;
}

/* Columns move towards the front, each to the end of the one before, so nothing is overwritten that still has to move. */
static void close_gaps(const place_work *w, void *values, size_t size, uint64_t columns, uint64_t rows)
{
    char *to = values;
    for (uint64_t j = 0; rows < w->dense.rows && j < columns; j++)
        for (uint32_t k = 0; k < w->reading->input.readers; k++) {
            const line_run *run = &w->runs[k];
            memmove(to, (const char *)values + (j * w->dense.rows + run->first) * size, (run->row - run->first) * size);
            to += (run->row - run->first) * size;
        }
}

static hawser_status place(place_work *w, size_t width, const unsigned char *roles, hawser_dataset *dataset,
                           hawser_error *error)
{
    uint32_t readers = w->reading->input.readers;
    uint64_t lines = 0, rows = 0;
    HAWSER_TRY(hw_runs(w->reading, count_chunk, w, error));
    for (uint32_t k = 0; k < readers; k++) {
        w->runs[k].first = w->runs[k].row = lines;
        lines += w->runs[k].lines;
    }
    HAWSER_TRY(hw_dense_begin(&w->dense, w->reading, lines, width, roles, dataset, error));
    size_t size = w->dense.single ? sizeof(float) : sizeof(double);
    HAWSER_TRY(hw_runs(w->reading, place_chunk, w, error));
    for (uint32_t k = 0; k < readers; k++) {
        rows += w->runs[k].row - w->runs[k].first;
        dataset->figures.rows_dropped += w->runs[k].dropped;
    }
    HAWSER_TRY(hw_check_rows(w->reading, rows, error));
    if (w->dense.by_row)
        close_gaps(w, w->dense.values, size * w->dense.features, 1, rows);
    else
        close_gaps(w, w->dense.values, size, w->dense.features, rows);
    for (int role = 0; role < HW_UNSEEN; role++)
        if (w->dense.special[role] != NULL)
            close_gaps(w, w->dense.special[role], sizeof(double), 1, rows);
    w->dense.rows = rows;
    return HAWSER_OK;
}

hawser_status hw_place_dense(hw_reading *reading, hw_parser parser, void *context, uint64_t skip, size_t width,
                             const unsigned char *roles, bool means, hawser_dataset *dataset, bool *done,
                             hawser_error *error)
{
    HAWSER_TRY(hw_runs_begin(reading, done, error));
    if (!*done)
        return HAWSER_OK;
    place_work w = {.reading = reading, .parser = parser, .context = context, .width = width, .skip = skip};
    HAWSER_TRY(HW_NEW(&w.runs, reading->input.readers, "runs", error));
    hawser_status status = place(&w, width, roles, dataset, error);
    if (status == HAWSER_OK && means)
        status = hw_dense_means(&w.dense, dataset, error);
    if (status == HAWSER_OK)
        hw_dense_end(&w.dense, dataset);
    for (uint32_t k = 0; k < reading->input.readers; k++)
        hw_part_free(reading, &w.runs[k].part);
    free(w.runs);
    return status;
}
