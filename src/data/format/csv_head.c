/* csv_head.c - evaluates the first line of a CSV input. */
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
        while (at < end && (*at != '"' || (at + 1 < end && at[1] == '"')))
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

/* Returns whether each of several words in a line is a number. */
static bool several_numbers(const char *at, const char *end, size_t *count)
{
    *count = 0;
    for (double value; at = hw_skip_blanks(at), at < end && *at != '\n' && *at != '\r'; ++*count) {
        at = hw_number(at, &value);
        if (at == NULL || (*at != '\n' && *at != '\r' && hw_skip_blanks(at) == at))
            return false;
    }
    return *count > 1;
}

/* Counts the words of a line, which blanks separate; 0 if a quote is among them. */
static size_t count_words(const char *at, const char *end)
{
    size_t count = 0;
    for (; at = hw_skip_blanks(at), at < end && *at != '\n' && *at != '\r'; count++)
        for (; at < end && strchr(" \t\r\n", *at) == NULL; at++)
            if (*at == '"')
                return 0;
    return count;
}

/* Returns whether blanks separate the fields of a line without another separator: it has several numbers, or as many words
 * as the line below it has numbers. Other words with blanks between them may be one column's name. */
static bool blanks_separate(const char *line, const char *end, const char *below, const char *stop)
{
    size_t numbers;
    if (several_numbers(line, end, &numbers))
        return true;
    while (below < stop && (*below == '\n' || *below == '\r'))
        below++;
    return below < stop && several_numbers(below, stop, &numbers) && numbers == count_words(line, end);
}

/* Returns whether fields between `separator` are all numbers, at least one of which has a decimal comma. */
static bool has_decimal_commas(const char *at, const char *end, char separator)
{
    bool comma = false;
    for (size_t digits = 0, commas = 0;; at++) {
        const bool ends = at >= end || *at == '\n' || *at == '\r' || *at == separator;
        if (ends && (digits == 0 || commas > 1))
            return false;
        if (at >= end || *at == '\n' || *at == '\r')
            return comma;
        if (ends) {
            digits = commas = 0;
            continue;
        }
        digits += *at >= '0' && *at <= '9';
        commas += *at == ',';
        comma |= *at == ',';
        if (strchr("0123456789,+-eE\" ", *at) == NULL)
            return false;
    }
}

/* Guesses the delimiter of a row, which a line end must follow. `below`: the text of the row below it, or `stop`. */
static char csv_delimiter(const char *line, const char *end, const char *below, const char *stop)
{
    const char *begin = line;
    size_t counts[3] = {0};
    static const char candidates[] = ",;\t";
    for (bool quoted = false; line < end; line++) {
        quoted ^= *line == '"';
        const char *found = quoted ? NULL : memchr(candidates, *line, 3);
        if (found != NULL)
            counts[found - candidates]++;
    }
    size_t best = counts[1] > counts[0] ? 1 : 0;
    if (counts[0] + counts[1] + counts[2] == 0 && blanks_separate(begin, end, below, stop))
        return HAWSER_BLANKS;
    for (size_t k = 1; k < 3; k++) /* 1,5;2,5 */
        if (counts[0] > 0 && counts[k] > 0 && has_decimal_commas(begin, end, candidates[k]))
            return candidates[k];
    return candidates[counts[2] > counts[best] ? 2 : best];
}

static void trim(const char **begin, const char **stop)
{
    while (*begin < *stop && (**begin == ' ' || **begin == '\t'))
        ++*begin;
    while (*begin < *stop && ((*stop)[-1] == ' ' || (*stop)[-1] == '\t'))
        --*stop;
}

bool hw_csv_is_name(const char *begin, const char *stop, const char *name)
{
    trim(&begin, &stop);
    for (; begin < stop && *name == *begin; name++, begin++)
        begin += *begin == '"' && begin + 1 < stop && begin[1] == '"';
    return begin == stop && *name == '\0';
}

/* A copy of the field without doubled quotes and the blanks around it. */
static hawser_status copy_field(char **out, const char *begin, const char *stop, hawser_error *error)
{
    trim(&begin, &stop);
    HAWSER_TRY(HW_NEW(out, (size_t)(stop - begin) + 1, "a column name", error));
    char *to = *out;
    for (const char *from = begin; from < stop; from++) {
        *to++ = *from;
        if (*from == '"' && from + 1 < stop && from[1] == '"')
            from++;
    }
    return HAWSER_OK;
}

/* Counts the fields of the line, finds whether one is a name, and copies the fields on request. */
static hawser_status walk_line(const hw_chunk *line, hw_csv *csv, bool *has_name, bool copy, hawser_error *error)
{
    size_t count = 0;
    *has_name = false;
    const char *start = csv->delimiter == HAWSER_BLANKS ? hw_skip_blanks(line->begin) : line->begin;
    for (const char *at = start, *begin, *stop;; at++, count++) {
        const char *field = at;
        at = hw_csv_field(at, line->end, csv->delimiter, &begin, &stop);
        if (at == NULL)
            return hw_chunk_fail(line, field, error, HW_CSV_OPEN_QUOTE);
        bool ends = at >= line->end || *at == '\n';
        if (!ends && !hw_csv_splits(*at, csv->delimiter))
            return hw_chunk_fail(line, at, error, "other text follows a closing quote");
        double value;
        const char *rest = hw_number(begin, &value);
        *has_name |= rest != stop && !hw_csv_is_missing(begin, stop);
        if (copy)
            HAWSER_TRY(copy_field(&csv->rules.names[count], begin, stop, error));
        if (ends) {
            csv->rules.width = count + 1;
            return HAWSER_OK;
        }
    }
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

/* Refuses a name that two columns have: it would not determine the target, or whose weight it is. Any number of columns may
 * have no name. */
static hawser_status check_names(const hw_reading *reading, const hw_csv *csv, hawser_error *error)
{
    csv_place *sorted = NULL;
    HAWSER_TRY(HW_NEW(&sorted, csv->rules.width, "column names", error));
    for (size_t j = 0; j < csv->rules.width; j++)
        sorted[j] = (csv_place){csv->rules.names[j], j};
    qsort(sorted, csv->rules.width, sizeof *sorted, by_name);
    hawser_status status = HAWSER_OK;
    for (size_t j = 0; status == HAWSER_OK && j < csv->rules.width; j++)
        status = hw_check_name(reading->input.files[0].name, csv->rules.names[j], j, error);
    for (size_t j = 1; status == HAWSER_OK && j < csv->rules.width; j++)
        if (sorted[j].name[0] != '\0' && strcmp(sorted[j].name, sorted[j - 1].name) == 0)
            status = hawser_fail(error, HAWSER_BAD_INPUT,
                                 "%s: the header names two columns '%.100s' (numbers %zu and %zu, from 0); rename one",
                                 reading->input.files[0].name, sorted[j].name, sorted[j - 1].column, sorted[j].column);
    free(sorted);
    return status;
}

/* Returns whether text has a carriage return before its end. */
static bool holds_returns(const char *text, const char *end)
{
    const char *found = memchr(text, '\r', (size_t)(end - text));
    return found != NULL && found + 1 < end;
}

/* Where a line begins that all lines before it leave undecided: empty ones and comments. `comment`: the last comment, or
 * NULL. */
static const char *pass_to_first(const char *at, const char *end, uint64_t *line, const char **comment)
{
    *comment = NULL;
    while (at < end && (*at == '\n' || *at == '\r' || *at == '#')) {
        const char *stop = *at == '\r' ? at : memchr(at, '\n', (size_t)(end - at));
        *comment = *at == '#' ? at : *comment;
        *line += stop != NULL && *stop == '\n';
        at = stop != NULL ? stop + 1 : end;
    }
    return at;
}

/* The head of the first file: its first row begins at `text`, below the comment, if there is one. */
typedef struct head_text {
    const char *start, *text, *end, *comment;
} head_text;

/* Counts the fields of a line. */
static size_t fields_of(const char *at, const char *end, char delimiter)
{
    const char *begin, *stop;
    for (size_t count = 1;; count++, at++) {
        at = hw_csv_field(at, end, delimiter, &begin, &stop);
        if (at == NULL || at >= end || *at == '\n')
            return at == NULL ? 0 : count;
    }
}

/* Copies text. A line end follows the copy, and room for readers that look beyond it. */
static hawser_status copy_text(const char *text, const char *end, char **copy, hawser_error *error)
{
    const size_t bytes = (size_t)(end - text);
    HAWSER_TRY(HW_NEW(copy, bytes + 1 + HW_CHUNK_SLACK, "the first lines", error));
    memcpy(*copy, text, bytes);
    (*copy)[bytes] = '\n';
    return HAWSER_OK;
}

/* Stores how many fields two lines have, which follow each other, if both have as many; else 0. */
static hawser_status common_fields(const hw_reading *reading, const char *first, const char *second, const char *end,
                                   size_t *width, hawser_error *error)
{
    char *copy = NULL;
    HAWSER_TRY(copy_text(first, end, &copy, error));
    const char *at = copy + (second - first), *stop = copy + (end - first);
    char delimiter = reading->load->delimiter != 0 ? reading->load->delimiter : csv_delimiter(at, stop, stop, stop);
    *width = fields_of(at, stop, delimiter);
    if (fields_of(copy, at, delimiter) != *width)
        *width = 0;
    free(copy);
    return HAWSER_OK;
}

/* A comment right above the first line that has as many fields may be a row, or the header: numpy.savetxt writes one so. An
 * option settles what it is; head->text moves to the line that is the first. `stop`: the end of the first row. */
static hawser_status judge_comment(const hw_reading *reading, head_text *head, const char *stop, uint64_t *line,
                                   hawser_error *error)
{
    size_t width = 0;
    if (head->comment == NULL)
        return HAWSER_OK;
    HAWSER_TRY(common_fields(reading, head->comment, head->text, stop, &width, error));
    if (width < 2)
        return HAWSER_OK;
    if (reading->load->header == 0)
        return hawser_fail(
            error, HAWSER_BAD_INPUT,
            "%s: a line that begins with '#' has %zu fields like the line below it, so it may be the header, a "
            "row or a comment; --header yes or no takes it as the first line, and a comment must be removed",
            reading->input.files[0].name, width);
    *line -= hw_count(head->comment, head->text, '\n');
    head->text = head->comment;
    return HAWSER_OK;
}

/* Returns the line end of the row at the start of a text; NULL if the text ends before it. *open: a quote that is not
 * closed, or NULL. */
static const char *row_stop(const char *text, const char *end, char delimiter, const char **open)
{
    const char *next = hw_row_after(text, text + 1, end, delimiter, open);
    return *open == NULL && next[-1] == '\n' ? next - 1 : NULL;
}

/* Guesses the delimiter of a row. */
static hawser_status guess_delimiter(const char *row, const char *stop, char *delimiter, hawser_error *error)
{
    char *copy = NULL;
    HAWSER_TRY(copy_text(row, stop, &copy, error));
    *delimiter = csv_delimiter(copy, copy + (stop - row), copy, copy);
    free(copy);
    return HAWSER_OK;
}

/* Finds where the first row ends, at or after the line end `stop`: reads on where line breaks are in quotes. If nothing
 * closes a quote, the row ends with its line, and whoever reads the field refuses it. */
static hawser_status end_first_row(hw_reading *reading, head_text *head, const char **stop, hawser_error *error)
{
    const char *open, *line = *stop != NULL ? *stop : head->end;
    if (head->text == head->end || memchr(head->text, '"', (size_t)(line - head->text)) == NULL)
        return HAWSER_OK;
    for (bool more = true;;) {
        char delimiter = reading->load->delimiter;
        *stop = row_stop(head->text, head->end, delimiter, &open);
        if (open == NULL && delimiter == 0 && *stop != NULL) { /* a quote behind another separator opens nothing */
            HAWSER_TRY(guess_delimiter(head->text, *stop, &delimiter, error));
            *stop = row_stop(head->text, head->end, delimiter, &open);
        }
        if (*stop != NULL || !more || (open != NULL && head->end - open > HW_QUOTED_MOST))
            break;
        const char *start = head->start;
        size_t bytes, place = (size_t)(head->text - start),
                      comment = (size_t)(head->comment != NULL ? head->comment - start : 0);
        HAWSER_TRY(hw_input_head_on(&reading->input, 0, &head->start, &bytes, &more, error));
        head->text = head->start + place;
        head->end = head->start + bytes;
        head->comment = head->comment != NULL ? head->start + comment : NULL;
    }
    if (open != NULL)
        *stop = memchr(head->text, '\n', (size_t)(head->end - head->text));
    return HAWSER_OK;
}

/* Keeps a copy of the first row. */
static hawser_status keep_first_line(hw_csv *csv, hw_chunk *line, const head_text *head, const char *stop,
                                     hawser_error *error)
{
    const char *end = stop != NULL ? stop : head->end;
    HAWSER_TRY(hw_check_text(line->file, line->line, head->text, end, error));
    if (stop == NULL && memchr(head->text, '\n', (size_t)(end - head->text)) == NULL && holds_returns(head->text, end))
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "%s: its lines end in carriage returns alone; convert them, for example: tr '\\r' '\\n' <%s",
                           line->file->name, line->file->name);
    csv->skip = (uint64_t)((stop != NULL ? stop + 1 : end) - head->start);
    csv->line_bytes = (size_t)(end - head->text);
    HAWSER_TRY(copy_text(head->text, end, &csv->line, error));
    line->begin = csv->line;
    line->end = csv->line + csv->line_bytes;
    return HAWSER_OK;
}

/* Finds the first row, after lines that are empty or comments. */
static hawser_status first_line(hw_reading *reading, hw_csv *csv, hw_chunk *line, hawser_error *error)
{
    head_text head;
    const char *stop;
    size_t bytes, least = 1 << 15;
    line->file = &reading->input.files[0];
    do {
        least *= 2;
        HAWSER_TRY(hw_input_head(&reading->input, 0, least, &head.start, &bytes, error));
        head.text = head.start;
        head.end = head.start + bytes;
        line->line = 1;
        if (bytes >= 3 && memcmp(head.text, "\xef\xbb\xbf", 3) == 0)
            head.text += 3;
        head.text = pass_to_first(head.text, head.end, &line->line, &head.comment);
        const char *near = head.end - head.text > 1 << 15
                               ? head.text + (1 << 15)
                               : head.end; /* of a large binary file only the beginning is searched */
        stop = memchr(head.text, '\n', (size_t)(near - head.text));
        if (stop == NULL)
            HAWSER_TRY(hw_check_text(line->file, line->line, head.text, near, error));
        stop = stop != NULL ? stop : memchr(near, '\n', (size_t)(head.end - near));
        least = bytes > least ? bytes : least;
    } while (stop == NULL && !hw_input_is_all(&reading->input, 0));
    if (head.text == head.end)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: no rows in the input%s", line->file->name,
                           head.comment != NULL ? ": each line begins with '#', as comments do" : "");
    HAWSER_TRY(end_first_row(reading, &head, &stop, error));
    const char *below = head.text;
    HAWSER_TRY(judge_comment(reading, &head, stop != NULL ? stop : head.end, &line->line, error));
    if (head.text != below) {
        stop = memchr(head.text, '\n', (size_t)(head.end - head.text));
        HAWSER_TRY(end_first_row(reading, &head, &stop, error));
    }
    csv->comments = head.comment != NULL && head.comment != head.text;
    csv->first = csv->comments ? (uint64_t)(head.text - head.start) : 0;
    return keep_first_line(csv, line, &head, stop, error);
}

/* What the fields of a row are: 0 missing, 1 a number, 2 a word; at most `width` of them. Returns how many the row has. */
static size_t kinds_of(const char *at, const char *end, char delimiter, unsigned char *kinds, size_t width)
{
    size_t count = 0;
    at = delimiter == HAWSER_BLANKS ? hw_skip_blanks(at) : at;
    for (const char *begin, *stop; count < width; at++) {
        at = hw_csv_field(at, end, delimiter, &begin, &stop);
        if (at == NULL)
            return 0;
        double value;
        kinds[count++] = hw_csv_is_missing(begin, stop) ? 0 : hw_number(begin, &value) == stop ? 1 : 2;
        if (at >= end || *at == '\n')
            return count;
        if (!hw_csv_splits(*at, delimiter))
            return 0;
    }
    return count;
}

/* Returns whether a field of the line is the name of a column of the model. */
static bool names_a_column(const hw_csv *csv, const hw_chunk *line, const hawser_schema *known)
{
    const char *begin, *stop, *at = csv->delimiter == HAWSER_BLANKS ? hw_skip_blanks(line->begin) : line->begin;
    for (size_t j = 0; j < csv->rules.width; j++) {
        at = hw_csv_field(at + (j > 0), line->end, csv->delimiter, &begin, &stop);
        if (at == NULL)
            return false;
        for (size_t k = 0; k < known->count && *begin != '\0'; k++) {
            const char *name = known->columns[k].shape.name;
            if (*name != '\0' && hw_csv_is_name(begin, stop, name))
                return true;
        }
    }
    return false;
}

/* Puts the fields of a line into a set. */
static hawser_status set_of_fields(const hw_csv *csv, const hw_chunk *line, hw_levels *fields, hawser_error *error)
{
    const char *begin, *stop, *at = csv->delimiter == HAWSER_BLANKS ? hw_skip_blanks(line->begin) : line->begin;
    uint32_t number;
    for (size_t j = 0; j < csv->rules.width; j++) {
        char *text;
        at = hw_csv_field(at + (j > 0), line->end, csv->delimiter, &begin, &stop);
        if (at == NULL)
            return HAWSER_OK;
        HAWSER_TRY(copy_field(&text, begin, stop, error));
        hawser_status status = hw_levels_put(fields, text, strlen(text), &number, error);
        free(text);
        HAWSER_TRY(status);
    }
    return HAWSER_OK;
}

/* Whether an option names a field of the line, other than by its number. */
static hawser_status options_name(const hawser_load *load, const hw_csv *csv, const hw_chunk *line, bool *named,
                                  hawser_error *error)
{
    const char *const lists[] = {load->target, load->weights, load->offset, load->exposure,   load->groups,
                                 load->text,   load->select,  load->ignore, load->categories, load->dates};
    hw_levels fields = {0};
    hawser_status status = set_of_fields(csv, line, &fields, error);
    for (size_t k = 0; k < sizeof lists / sizeof *lists && status == HAWSER_OK; k++) {
        const char *at = lists[k] != NULL && strcmp(lists[k], "none") != 0 && strcmp(lists[k], "auto") != 0 ? lists[k] : "";
        for (size_t length; *at != '\0' && !*named; at += length + (at[length] == ',')) {
            uint32_t number;
            length = strcspn(at, ",");
            *named = strspn(at, "-0123456789") < length && hw_levels_find(&fields, at, length, &number);
        }
    }
    hw_levels_free(&fields);
    return status;
}

/* Judges a first line without a word, for a model all of whose columns have names that are no words: 2019, 2020, NA, or
 * none. If the line has all these names, it is the header, or a row that has the same values: an option settles it. */
static hawser_status judge_numbers(const hw_csv *csv, const hawser_schema *known, const hw_chunk *line, hawser_error *error)
{
    hw_levels fields = {0};
    uint32_t number;
    size_t unnamed = 0; /* a file without a header has none of several names */
    bool all = known->count > 0 && known->count <= csv->rules.width;
    for (size_t k = 0; k < known->count && all; k++) {
        const char *name = known->columns[k].shape.name, *stop = name + strlen(name);
        char copy[HW_NUMBER_SLACK + 100] = "";
        double value;
        all = (size_t)(stop - name) < 100 && (stop > name || ++unnamed == 1);
        if (all && !hw_csv_is_missing(name, stop)) {
            memcpy(copy, name, (size_t)(stop - name));
            all = hw_number(copy, &value) == copy + (stop - name);
        }
    }
    if (!all)
        return HAWSER_OK;
    hawser_status status = set_of_fields(csv, line, &fields, error);
    for (size_t k = 0; k < known->count && all && status == HAWSER_OK; k++) {
        const char *name = known->columns[k].shape.name;
        all = hw_levels_find(&fields, name, strlen(name), &number);
    }
    hw_levels_free(&fields);
    if (status == HAWSER_OK && all)
        status = hawser_fail(
            error, HAWSER_BAD_INPUT,
            "%s: the first line has the names of the model's columns, which are numbers or missing values, so it "
            "may be the header or a row; say which with --header yes or no",
            line->file->name);
    return status;
}

/* For a model a first line with a word is a header if no field is a number, or one is the name of a column: the first line
 * decides, so that a row can be answered before the next one exists. */
static hawser_status known_header(const hw_csv *csv, const hw_chunk *line, const hawser_schema *known, bool *header,
                                  hawser_error *error)
{
    size_t numbers = 0;
    unsigned char *kinds = NULL;
    HAWSER_TRY(HW_NEW(&kinds, csv->rules.width, "columns", error));
    size_t count = kinds_of(line->begin, line->end, csv->delimiter, kinds, csv->rules.width);
    for (size_t j = 0; j < count; j++)
        numbers += kinds[j] == 1;
    free(kinds);
    *header = numbers == 0 || names_a_column(csv, line, known);
    return HAWSER_OK;
}

/* A first line with a word is a header, unless the second line has words and numbers in the same fields: then both are
 * rows, if no option names a field of the first one. */
static hawser_status guess_header(const hw_csv *csv, const hawser_load *load, const hw_chunk *line, const char *second,
                                  const char *end, bool has_name, bool *header, hawser_error *error)
{
    const hawser_schema *known = load->schema;
    size_t width = csv->rules.width, numbers = 0;
    unsigned char *kinds = NULL;
    *header = has_name;
    if (!has_name && known != NULL)
        return judge_numbers(csv, known, line, error);
    if (!has_name || !csv->words || (second >= end && known == NULL))
        return HAWSER_OK;
    if (known != NULL)
        return known_header(csv, line, known, header, error);
    HAWSER_TRY(HW_NEW(&kinds, 2 * width, "columns", error));
    bool same = kinds_of(line->begin, line->end, csv->delimiter, kinds, width) == width &&
                kinds_of(second, end, csv->delimiter, kinds + width, width) == width;
    for (size_t j = 0; same && j < width; j++) {
        same = kinds[j] == 0 || kinds[width + j] == 0 || kinds[j] == kinds[width + j];
        numbers += kinds[j] == 1 && kinds[width + j] == 1;
    }
    free(kinds);
    *header = !(same && numbers > 0);
    return *header ? HAWSER_OK : options_name(load, csv, line, header, error);
}

/* Whether the first rows have a word where one is allowed: most tables show all their columns of words there. */
static hawser_status expect_words(hw_reading *reading, const hw_csv *csv, const char *at, const char *end,
                                  hawser_error *error)
{
    enum { ROWS = 200 };
    size_t width = csv->rules.width;
    unsigned char *kinds = NULL;
    HAWSER_TRY(HW_NEW(&kinds, width, "columns", error));
    for (size_t r = 0; r < ROWS && at < end && !reading->as_table; r++) {
        const char *open, *stop = row_stop(at, end, csv->delimiter, &open);
        if (stop == NULL) /* the head ends within this row */
            break;
        size_t count = kinds_of(at, stop, csv->delimiter, kinds, width);
        for (size_t j = 0; j < count; j++)
            reading->as_table |= kinds[j] == 2 && csv->rules.roles[j] <= HW_TARGET;
        at = stop + 1;
    }
    free(kinds);
    return HAWSER_OK;
}

/* A name with a line break is kept by a schema only, since model files have other names one per line. The names of several
 * targets are among these. */
static hawser_status keep_breaks(hw_reading *reading, const hw_csv *csv, hawser_error *error)
{
    const hw_table_rules *rules = &csv->rules;
    size_t targets = 0;
    for (size_t j = 0; j < rules->width; j++)
        targets += rules->roles[j] == HW_TARGET || (rules->roles[j] >= HW_FURTHER && rules->roles[j] < HW_UNSEEN);
    for (size_t j = 0; rules->names != NULL && j < rules->width; j++) {
        if (strchr(rules->names[j], '\n') == NULL)
            continue;
        reading->as_table |= rules->roles[j] == HW_FEATURE;
        if (targets > 1 && rules->roles[j] != HW_FEATURE && rules->roles[j] < HW_UNSEEN &&
            (rules->roles[j] == HW_TARGET || rules->roles[j] >= HW_FURTHER))
            return hawser_fail(
                error, HAWSER_BAD_INPUT,
                "%s: the name of target column %zu (from 0) has a line break, and model files keep the names of "
                "several targets one per line; rename it",
                reading->input.files[0].name, j);
    }
    return HAWSER_OK;
}

/* Whether the reading's cells must be kept until all are read. */
static hawser_status look_at_rows(hw_reading *reading, const hw_csv *csv, const hw_chunk *line, const char *rows,
                                  const char *end, hawser_error *error)
{
    const hw_table_rules *rules = &csv->rules;
    reading->as_table |= rules->texts != NULL || rules->missing_word == HW_LEVEL;
    for (size_t j = 0, next = 0; rules->source != NULL && j < rules->width; j++)
        reading->as_table |= rules->roles[j] == HW_FEATURE && rules->source[j] != next++; /* columns change their order */
    if (rules->known == NULL)
        HAWSER_TRY(keep_breaks(reading, csv, error));
    if (!csv->words || rules->known != NULL || reading->as_table)
        return HAWSER_OK;
    if (!csv->header)
        HAWSER_TRY(expect_words(reading, csv, line->begin, line->end + 1, error));
    return expect_words(reading, csv, rows, end, error);
}

/* Copies some lines behind the first one: numbers are read a little beyond the end of their text. */
static hawser_status copy_rows(hw_reading *reading, const hw_csv *csv, char **copy, const char **end, hawser_error *error)
{
    const char *head;
    size_t bytes, most = (1 << 16) + 4 * csv->line_bytes;
    HAWSER_TRY(hw_input_head(&reading->input, 0, csv->skip + most, &head, &bytes, error));
    bytes = bytes > csv->skip ? bytes - csv->skip : 0;
    bytes = bytes < most ? bytes : most;
    HAWSER_TRY(HW_NEW(copy, bytes + 1 + HW_CHUNK_SLACK, "the first rows", error));
    if (bytes > 0)
        memcpy(*copy, head + csv->skip, bytes);
    (*copy)[bytes] = '\n';
    *end = *copy + bytes;
    return HAWSER_OK;
}

static hawser_status settle_columns(hw_reading *reading, hw_csv *csv, const hw_chunk *line, const char *rows,
                                    const char *end, hawser_error *error)
{
    bool has_name;
    csv->delimiter = reading->load->delimiter;
    if (csv->delimiter == 0)
        csv->delimiter = csv_delimiter(line->begin, line->end, rows, end);
    HAWSER_TRY(walk_line(line, csv, &has_name, false, error));
    csv->header = reading->load->header > 0;
    if (reading->load->header == 0)
        HAWSER_TRY(guess_header(csv, reading->load, line, rows, end, has_name, &csv->header, error));
    if (csv->header) {
        HAWSER_TRY(HW_NEW(&csv->rules.names, csv->rules.width, "column names", error));
        HAWSER_TRY(walk_line(line, csv, &has_name, true, error));
        HAWSER_TRY(check_names(reading, csv, error));
    }
    HAWSER_TRY(hw_csv_roles(reading, csv, error));
    csv->words =
        csv->words && (csv->rules.known != NULL || reading->load->columns == 0); /* else the model has numbers only */
    HAWSER_TRY(look_at_rows(reading, csv, line, rows, end, error));
    csv->skip = csv->header ? csv->skip : csv->first;
    csv->quoted = reading->quoted || !reading->input.all_mapped || memchr(csv->line, '\n', csv->line_bytes) != NULL;
    return HAWSER_OK;
}

hawser_status hw_csv_begin(hw_reading *reading, hw_csv *csv, hawser_error *error)
{
    const hawser_load *load = reading->load;
    hw_chunk line = {0};
    const char *end;
    char *rows = NULL;
    csv->words = load->categories == NULL || strcmp(load->categories, "none") != 0;
    csv->unseen_zero = load->unseen_zero;
    HAWSER_TRY(first_line(reading, csv, &line, error));
    HAWSER_TRY(copy_rows(reading, csv, &rows, &end, error));
    hawser_status status = settle_columns(reading, csv, &line, rows, end, error);
    free(rows);
    return status;
}

void hw_csv_free(hw_csv *csv)
{
    hw_table_rules_free(&csv->rules);
    free(csv->line);
}
