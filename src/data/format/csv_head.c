/* csv_head.c - what the first line of a CSV input settles. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/number.h"
#include "data/format/csv.h"
#include "data/layout/assemble.h"

static bool blank(char c, char delimiter)
{
    return (c == ' ' || c == '\t' || c == '\r') && c != delimiter;
}

const char *hw_csv_field(const char *at, const char *end, char delimiter, const char **begin, const char **stop)
{
    while (at < end && blank(*at, delimiter))
        at++;
    *begin = at;
    if (at < end && *at == '"') {
        *begin = ++at;
        while (at < end && *at != '\n' && (*at != '"' || (at + 1 < end && at[1] == '"')))
            at += *at == '"' ? 2 : 1;
        if (at >= end || *at != '"')
            return NULL;
        *stop = at++;
        while (at < end && blank(*at, delimiter) && delimiter != HAWSER_BLANKS)
            at++;
        return hw_csv_gap(at, delimiter);
    }
    while (at < end && *at != '\n' && !hw_csv_splits(*at, delimiter))
        at++;
    for (*stop = at; *stop > *begin && blank((*stop)[-1], delimiter);)
        (*stop)--;
    return hw_csv_gap(at, delimiter);
}

bool hw_csv_is_missing(const char *begin, const char *stop)
{
    static const char *const words[] = {"?", "NA", "N/A", "NaN", "null", "none"};
    size_t length = (size_t)(stop - begin);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == length && strncasecmp(words[i], begin, length) == 0)
            return true;
    return length == 0;
}

size_t hw_csv_column(const char *spec, char *const *names, size_t width)
{
    for (size_t j = 0; names != NULL && j < width; j++)
        if (strcmp(names[j], spec) == 0)
            return j;
    char *rest;
    errno = 0;
    long long number = strtoll(spec, &rest, 10);
    if (*spec == '\0' || *rest != '\0' || errno != 0 || number >= (long long)width || number < -(long long)width)
        return width;
    return (size_t)(number < 0 ? number + (long long)width : number);
}

/* Words with blanks between them may be one column's name: numbers are none. */
static bool several_numbers(const char *at, const char *end)
{
    size_t count = 0;
    for (double value; at = hw_skip_blanks(at), at < end && *at != '\n'; count++) {
        at = hw_number(at, &value);
        if (at == NULL || (*at != '\n' && hw_skip_blanks(at) == at))
            return false;
    }
    return count > 1;
}

char hw_csv_delimiter(const char *line, const char *end)
{
    const char *begin = line;
    size_t counts[3] = {0};
    static const char candidates[] = ",;\t";
    for (bool quoted = false; line < end && *line != '\n'; line++) {
        quoted ^= *line == '"';
        const char *found = quoted ? NULL : memchr(candidates, *line, 3);
        if (found != NULL)
            counts[found - candidates]++;
    }
    size_t best = counts[1] > counts[0] ? 1 : 0;
    if (counts[0] + counts[1] + counts[2] == 0 && several_numbers(begin, end))
        return HAWSER_BLANKS;
    return candidates[counts[2] > counts[best] ? 2 : best];
}

/* A copy of the field without doubled quotes. */
static hawser_status copy_field(char **out, const char *begin, const char *stop, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(out, (size_t)(stop - begin) + 1, "a column name", error));
    char *to = *out;
    for (const char *from = begin; from < stop; from++) {
        *to++ = *from;
        if (*from == '"' && from + 1 < stop && from[1] == '"')
            from++;
    }
    return HAWSER_OK;
}

/* Counts the fields of the line, tells whether some field is a name, and copies the fields when asked to. */
static hawser_status walk_line(const hw_chunk *line, hw_csv *csv, bool *has_name, bool copy, hawser_error *error)
{
    size_t count = 0;
    *has_name = false;
    const char *start = csv->delimiter == HAWSER_BLANKS ? hw_skip_blanks(line->begin) : line->begin;
    for (const char *at = start, *begin, *stop;; at++, count++) {
        const char *field = at;
        at = hw_csv_field(at, line->end, csv->delimiter, &begin, &stop);
        if (at == NULL)
            return hw_chunk_fail(line, field, error, "a quote is not closed on its line");
        bool ends = at >= line->end || *at == '\n';
        if (!ends && !hw_csv_splits(*at, csv->delimiter))
            return hw_chunk_fail(line, at, error, "something follows a closing quote");
        double value;
        const char *rest = hw_number(begin, &value);
        *has_name |= rest != stop && !hw_csv_is_missing(begin, stop);
        if (copy)
            HAWSER_TRY(copy_field(&csv->names[count], begin, stop, error));
        if (ends) {
            csv->width = count + 1;
            return HAWSER_OK;
        }
    }
}

static hawser_status no_column(const hw_job *job, const hw_csv *csv, const char *what, const char *spec, hawser_error *error)
{
    char names[200] = "";
    size_t length = 0;
    for (size_t j = 0; csv->names != NULL && j < csv->width && length + strlen(csv->names[j]) + 32 < sizeof names; j++)
        length += (size_t)snprintf(names + length, sizeof names - length, "%s%s", j == 0 ? "; its columns are " : ", ",
                                   csv->names[j]);
    return hawser_fail(error, HAWSER_BAD_INPUT, "%s: the %s '%s' is neither a column (of %zu, from 0) nor a file%s",
                       job->input.files[0].name, what, spec, csv->width, names);
}

/* Gives a column the role that `spec` asks for; a spec that names none must be a file. */
static hawser_status give_role(const hw_job *job, hw_csv *csv, const char *what, const char *spec, unsigned char role,
                               hawser_error *error)
{
    if (spec == NULL || strcmp(spec, "none") == 0)
        return HAWSER_OK;
    size_t column = hw_csv_column(spec, csv->names, csv->width);
    if (column == csv->width)
        return hw_is_file(spec) ? HAWSER_OK : no_column(job, csv, what, spec, error);
    if (csv->roles[column] != HW_FEATURE)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: the %s '%s' names a column that has another role",
                           job->input.files[0].name, what, spec);
    csv->roles[column] = role;
    return HAWSER_OK;
}

static hawser_status give_roles(const hw_job *job, hw_csv *csv, hawser_error *error)
{
    const hawser_load *load = job->load;
    HAWSER_TRY(HW_NEW(&csv->roles, csv->width, "columns", error));
    if (load->target == NULL)
        csv->roles[0] = HW_TARGET; /* the first, whatever it is called: a name may be a number */
    HAWSER_TRY(give_role(job, csv, "target", load->target, HW_TARGET, error));
    HAWSER_TRY(give_role(job, csv, "weights", load->weights, HW_WEIGHTS, error));
    HAWSER_TRY(give_role(job, csv, "offset", load->offset, HW_OFFSET, error));
    size_t features = 0;
    for (size_t j = 0; j < csv->width; j++)
        if (csv->roles[j] == HW_FEATURE && ++features > load->columns && load->columns != 0)
            csv->roles[j] = HW_UNSEEN;
    if (load->columns != 0 && features < load->columns)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "%s: has %zu columns besides target, weights and offset, and %zu are needed",
                           job->input.files[0].name, features, load->columns);
    return HAWSER_OK;
}

typedef struct csv_place {
    const char *name;
    size_t column;
} csv_place;

static int by_name(const void *a, const void *b)
{
    const csv_place *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : x->column < y->column ? -1 : x->column > y->column;
}

/* A name that two columns have says neither which is the target nor whose weight it is. Columns without a name may be many. */
static hawser_status check_names(const hw_job *job, const hw_csv *csv, hawser_error *error)
{
    csv_place *sorted = NULL;
    HAWSER_TRY(HW_NEW(&sorted, csv->width, "column names", error));
    for (size_t j = 0; j < csv->width; j++)
        sorted[j] = (csv_place){csv->names[j], j};
    qsort(sorted, csv->width, sizeof *sorted, by_name);
    hawser_status status = HAWSER_OK;
    for (size_t j = 0; status == HAWSER_OK && j < csv->width; j++)
        status = hw_check_name(job->input.files[0].name, csv->names[j], j, error);
    for (size_t j = 1; status == HAWSER_OK && j < csv->width; j++)
        if (sorted[j].name[0] != '\0' && strcmp(sorted[j].name, sorted[j - 1].name) == 0)
            status = hawser_fail(error, HAWSER_BAD_INPUT,
                                 "%s: the header names two columns '%.100s' (numbers %zu and %zu, from 0); rename one",
                                 job->input.files[0].name, sorted[j].name, sorted[j - 1].column, sorted[j].column);
    free(sorted);
    return status;
}

static hawser_status read_missing(const char *word, hw_missing *missing, hawser_error *error)
{
    static const char *const words[] = {"refuse", "zero", "mean", "drop"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (word == NULL || strcmp(word, words[i]) == 0) {
            *missing = word == NULL ? HW_REFUSE : (hw_missing)i;
            return HAWSER_OK;
        }
    return hawser_fail(error, HAWSER_BAD_OPTION, "--missing: '%s' is none of refuse, zero, mean, drop", word);
}

/* The first line that is not empty, copied behind which nothing is read. */
static hawser_status first_line(hw_job *job, hw_csv *csv, hw_chunk *line, hawser_error *error)
{
    const char *text, *end, *stop, *start;
    size_t bytes, least = 1 << 15;
    line->file = &job->input.files[0];
    do {
        least *= 2;
        HAWSER_TRY(hw_input_head(&job->input, 0, least, &text, &bytes, error));
        start = text;
        end = text + bytes;
        line->line = 1;
        if (bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
            text += 3;
        for (; text < end && (*text == '\n' || *text == '\r'); text++)
            line->line += *text == '\n';
        const char *near =
            end - text > 1 << 15 ? text + (1 << 15) : end; /* of a large binary file nothing more is looked at */
        stop = memchr(text, '\n', (size_t)(near - text));
        if (stop == NULL)
            HAWSER_TRY(hw_check_text(line->file, line->line, text, near, error));
        stop = stop != NULL ? stop : memchr(near, '\n', (size_t)(end - near));
    } while (stop == NULL && bytes >= least && line->file->map == NULL);
    if (text == end)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: no rows in the input", line->file->name);
    HAWSER_TRY(hw_check_text(line->file, line->line, text, stop != NULL ? stop : end, error));
    csv->skip = (uint64_t)((stop != NULL ? stop + 1 : end) - start);
    csv->line_bytes = (size_t)((stop != NULL ? stop : end) - text);
    HAWSER_TRY(HW_NEW(&csv->line, csv->line_bytes + 1 + HW_CHUNK_SLACK, "the first line", error));
    memcpy(csv->line, text, csv->line_bytes);
    csv->line[csv->line_bytes] = '\n';
    line->begin = csv->line;
    line->end = csv->line + csv->line_bytes;
    return HAWSER_OK;
}

hawser_status hw_csv_begin(hw_job *job, hw_csv *csv, hawser_error *error)
{
    const hawser_load *load = job->load;
    hw_chunk line = {0};
    bool has_name;
    HAWSER_TRY(read_missing(load->missing, &csv->missing, error));
    HAWSER_TRY(first_line(job, csv, &line, error));
    csv->delimiter = load->delimiter != 0 ? load->delimiter : hw_csv_delimiter(line.begin, line.end);
    HAWSER_TRY(walk_line(&line, csv, &has_name, false, error));
    csv->header = load->header > 0 || (load->header == 0 && has_name);
    if (csv->header) {
        HAWSER_TRY(HW_NEW(&csv->names, csv->width, "column names", error));
        HAWSER_TRY(walk_line(&line, csv, &has_name, true, error));
        HAWSER_TRY(check_names(job, csv, error));
    }
    return give_roles(job, csv, error);
}

void hw_csv_free(hw_csv *csv)
{
    for (size_t j = 0; csv->names != NULL && j < csv->width; j++)
        free(csv->names[j]);
    free(csv->names);
    free(csv->roles);
    free(csv->line);
}
