#include "data/format/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "data/format/words.h"
#include "data/formats.h"
#include "data/layout/assemble.h"
#include "data/source/runs.h"

typedef struct row_place {
    const hw_csv *csv;
    const hw_chunk *chunk;
    double *row;
    bool drop; /* the row has a missing value and goes */
} row_place;

static hawser_status missing_field(row_place *p, size_t column, const char *at, hawser_error *error)
{
    const hw_csv *csv = p->csv;
    p->row[column] = csv->missing == HW_MEAN ? NAN : 0;
    if (csv->missing == HW_DROP) {
        p->drop = true;
        return HAWSER_OK;
    }
    if (csv->roles[column] == HW_UNSEEN)
        return HAWSER_OK;
    const char *name = csv->names != NULL ? csv->names[column] : "";
    if (csv->roles[column] != HW_FEATURE)
        return hw_chunk_fail(p->chunk, at, error, "the %s is missing in column %zu %s; only --missing drop helps here",
                             csv->roles[column] == HW_TARGET    ? "target"
                             : csv->roles[column] == HW_WEIGHTS ? "weight"
                                                                : "offset",
                             column, name);
    if (csv->missing == HW_REFUSE)
        return hw_chunk_fail(p->chunk, at, error,
                             "a value is missing in column %zu %s; --missing can say zero, mean or drop", column, name);
    return HAWSER_OK;
}

/* Quoted, indented, missing and wrong fields: what the loop below leaves. Returns the field's end or NULL. */
static const char *odd_field(row_place *p, size_t column, const char *at, hawser_error *error)
{
    const char *begin, *stop, *end = hw_csv_field(at, p->chunk->end, p->csv->delimiter, &begin, &stop);
    if (end == NULL)
        return (void)hw_chunk_fail(p->chunk, at, error, "a quote is not closed on its line"), NULL;
    if (*end != '\n' && !hw_csv_splits(*end, p->csv->delimiter))
        return (void)hw_chunk_fail(p->chunk, end, error, "something follows a closing quote"), NULL;
    if (p->csv->roles[column] == HW_UNSEEN) {
        p->row[column] = 0;
        return end;
    }
    if (hw_csv_is_missing(begin, stop))
        return missing_field(p, column, begin, error) == HAWSER_OK ? end : NULL;
    while (stop > begin && stop[-1] == ' ')
        stop--;
    while (begin < stop && *begin == ' ')
        begin++;
    double value = 0;
    const char *rest = hw_number(begin, &value);
    if (rest != NULL && rest < stop && hw_skip_blanks(rest) > rest)
        return (void)hw_chunk_fail(p->chunk, hw_skip_blanks(rest), error, "something follows the number"), NULL;
    if (rest != NULL && rest < stop && *rest == ',')
        return (void)hw_chunk_fail(p->chunk, begin, error, "a comma is in the number; write a decimal point, and no groups"),
               NULL;
    if (rest != stop)
        return (void)hw_no_number(p->chunk, begin, p->csv->roles[column] == HW_TARGET ? "target" : "value", error), NULL;
    if (value - value != 0)
        return (void)hw_chunk_fail(p->chunk, begin, error, "the value is too large"), NULL;
    p->row[column] = value;
    return end;
}

static hawser_status wrong_width(const row_place *p, size_t column, const char *at, hawser_error *error)
{
    if (column < p->csv->width)
        return hw_chunk_fail(p->chunk, at, error, "expected %zu fields, as in the first line, but found %zu", p->csv->width,
                             column);
    return hw_chunk_fail(p->chunk, at, error, "expected %zu fields, as in the first line, but found more", p->csv->width);
}

/* Finds the field again, for its place. */
static hawser_status too_large(const row_place *p, const char *at, size_t column, hawser_error *error)
{
    const char *begin = at, *stop;
    for (size_t j = 0; j <= column && at != NULL; j++)
        at = hw_csv_field(at + (j > 0), p->chunk->end, p->csv->delimiter, &begin, &stop);
    return hw_chunk_fail(p->chunk, begin, error, "the value in column %zu is too large for type f32; use f64", column);
}

/* Whether the features can be stored; missing ones are NaN here. */
static hawser_status check_single(const row_place *p, const char *at, hawser_error *error)
{
    for (size_t j = 0; j < p->csv->width; j++)
        if (isinf((float)p->row[j]) && p->csv->roles[j] == HW_FEATURE)
            return too_large(p, at, j, error);
    return HAWSER_OK;
}

/* One row into p->row; returns the position behind its line end or NULL. Fields that are a number of a usual form, and nothing else, are
 * read from their ends. */
static inline const char *read_row(row_place *p, hw_words *w, const char *at, hawser_error *error)
{
    size_t width = p->csv->width;
    char delimiter = p->csv->delimiter;
    for (size_t column = 0; column < width; column++) {
        uint32_t none;
        double value;
        if (delimiter != HAWSER_BLANKS && at - w->begin >= HW_WORDS_FRONT && hw_words_reach(w, at)) {
            const char *stop = w->begin + w->places[w->at];
            if (*stop == (column + 1 < width ? delimiter : '\n') &&
                hw_number_between(at, 0, at, stop, &none, &p->row[column])) {
                at = stop + 1;
                continue;
            }
        }
        const char *end = hw_number(at, &value);
        if (end != NULL)
            end = *end == '\r' && end[1] == '\n' ? end + 1 : hw_csv_gap(end, delimiter);
        if (end == NULL || (!hw_csv_splits(*end, delimiter) && *end != '\n') || value - value != 0) {
            if ((end = odd_field(p, column, at, error)) == NULL)
                return NULL;
        } else {
            p->row[column] = value;
        }
        bool last = *end == '\n';
        if (last != (column + 1 == width))
            return (void)wrong_width(p, column + 1, last ? end : end + 1, error), NULL;
        at = end + 1;
    }
    return at;
}

/* The header in front of a further file is passed over; one that differs is an error, none is fine. */
static hawser_status pass_header(const hw_csv *csv, const hw_chunk *chunk, const char **at, hawser_error *error)
{
    if (*at + csv->line_bytes < chunk->end && memcmp(*at, csv->line, csv->line_bytes) == 0 &&
        (*at)[csv->line_bytes] == '\n') {
        *at += csv->line_bytes + 1;
        return HAWSER_OK;
    }
    const char *begin, *stop;
    double value;
    if (hw_csv_field(*at, chunk->end, csv->delimiter, &begin, &stop) == NULL ||
        (hw_number(begin, &value) != stop && !hw_csv_is_missing(begin, stop)))
        return hw_chunk_fail(chunk, *at, error, "this file's header differs from the first file's");
    return HAWSER_OK;
}

hawser_status hw_csv_parse(void *context, hw_job *job, const hw_chunk *chunk, hw_text_part *part, hawser_error *error)
{
    const hw_csv *csv = context;
    const char *at = chunk->begin;
    uint64_t lines = hw_count(chunk->begin, chunk->end, '\n'), most = (uint64_t)(chunk->end - at) / csv->width + 1;
    lines = lines < most ? lines : most; /* a field takes a byte at least, with what ends it: the others are empty */
    hw_part_sizes sizes = {.value_bytes = lines * csv->width * sizeof(double)};
    HAWSER_TRY(hw_part_reserve(job, part, &sizes, error));
    bool first_file = chunk->file == &job->input.files[0];
    uint64_t bytes = (uint64_t)(chunk->end - at);
    if (first_file && csv->header && chunk->offset < csv->skip)
        at += csv->skip - chunk->offset < bytes ? csv->skip - chunk->offset : bytes;
    else
        at = hw_chunk_text(chunk);
    const double *limit = (double *)part->values + part->capacity.value_bytes / sizeof(double);
    row_place place = {.csv = csv, .chunk = chunk, .row = part->values};
    hw_words w;
    hw_words_begin(&w, at, chunk->end, csv->delimiter);
    for (bool fresh = chunk->first && !first_file && csv->header; at < chunk->end;) {
        if (*at == '\n' || (*at == '\r' && at[1] == '\n')) {
            at += *at == '\r' ? 2 : 1;
            continue;
        }
        if (fresh) {
            fresh = false;
            HAWSER_TRY(pass_header(csv, chunk, &at, error));
            continue;
        }
        if (csv->delimiter == HAWSER_BLANKS && hw_skip_blanks(at) != at) {
            at = hw_skip_blanks(at);
            continue;
        }
        if ((size_t)(limit - place.row) < csv->width)
            return hw_runs_changed(job, chunk->file, error);
        const char *row = at;
        if ((at = read_row(&place, &w, at, error)) == NULL)
            return HAWSER_BAD_INPUT;
        if (job->load->type == HAWSER_F32 && !place.drop)
            HAWSER_TRY(check_single(&place, row, error));
        if (place.drop)
            part->dropped++;
        else
            place.row += csv->width, part->rows++;
        place.drop = false;
    }
    part->entries = part->rows * csv->width;
    return HAWSER_OK;
}

/* The names of the features in the order of the matrix's columns, in one block: pointers, then text. */
static hawser_status keep_names(const hw_csv *csv, hawser_dataset *dataset, hawser_error *error)
{
    size_t bytes = 0, kept = 0;
    for (size_t j = 0; j < csv->width; j++)
        bytes += strlen(csv->names[j]) + 1;
    char **block;
    HAWSER_TRY(hw_new_array((void **)&block, csv->width * sizeof *block + bytes, 1, "column names", error));
    hw_dataset_own(dataset, block);
    char *text = (char *)(block + csv->width);
    for (size_t j = 0; j < csv->width; j++) {
        size_t length = strlen(csv->names[j]) + 1;
        if (csv->roles[j] == HW_TARGET)
            dataset->target_name = text;
        else if (csv->roles[j] == HW_FEATURE)
            block[kept++] = text;
        else
            continue;
        memcpy(text, csv->names[j], length);
        text += length;
    }
    dataset->columns = (const char *const *)block;
    return HAWSER_OK;
}

static hawser_status load_rows(hw_job *job, hw_csv *csv, hawser_dataset *dataset, hawser_error *error)
{
    HAWSER_TRY(hw_csv_begin(job, csv, error));
    const char *head;
    size_t bytes;
    HAWSER_TRY(hw_input_head(&job->input, 0, 1 << 16, &head, &bytes, error));
    bytes = bytes > 1 << 20 ? 1 << 20 : bytes;
    double rows = (double)hw_count(head, head + bytes, '\n') + 1, text = (double)hw_input_text_bytes(&job->input);
    double each = (double)csv->width * sizeof(double), most = (double)bytes / (double)csv->width + 1;
    rows = rows < most ? rows : most; /* empty lines are none */
    HAWSER_TRY(hw_budget_estimate(
        &job->budget, (uint64_t)(text / (double)bytes * rows * each * 1.1) + (uint64_t)(4 << 20) * job->threads, error));
    bool done,
        means = csv->missing == HW_MEAN && (job->load->parts <= 1 || job->load->means != NULL); /* else of all parts */
    HAWSER_TRY(hw_place_dense(job, hw_csv_parse, csv, csv->header ? csv->skip : 0, csv->width, csv->roles, means, dataset,
                              &done, error));
    if (!done) {
        HAWSER_TRY(hw_parse(job, hw_csv_parse, csv, error));
        for (uint64_t p = 0; p < hw_job_parts(job); p++)
            dataset->figures.rows_dropped += hw_job_part(job, p)->dropped;
        HAWSER_TRY(hw_assemble_dense(job, csv->width, csv->roles, means, dataset, error));
    }
    for (size_t j = 0; j < csv->width; j++)
        dataset->figures.unseen_columns += csv->roles[j] == HW_UNSEEN;
    dataset->figures.unseen_entries = dataset->figures.unseen_columns * dataset->matrix.rows;
    return csv->names != NULL ? keep_names(csv, dataset, error) : HAWSER_OK;
}

/* Text that was taken for CSV only because it is nothing else fails in ways that say little. */
static hawser_status doubt(const hw_job *job, hawser_status status, hawser_error *error)
{
    if (job->load->format != HAWSER_GUESS || job->load->delimiter != 0 || error == NULL)
        return status;
    const hawser_error before = *error;
    return hawser_fail(error, status, "%.400s; its first line shows no delimiter: see --delimiter and --format",
                       before.text);
}

hawser_status hw_csv_load(hw_job *job, hawser_dataset *dataset, hawser_error *error)
{
    hw_csv csv = {0};
    hawser_status status = load_rows(job, &csv, dataset, error);
    if (status == HAWSER_BAD_INPUT && csv.width == 1)
        status = doubt(job, status, error);
    hw_csv_free(&csv);
    return status;
}
