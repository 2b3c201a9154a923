#include "data/format/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/number.h"
#include "data/exposure.h"
#include "data/format/text.h"
#include "data/format/words.h"
#include "data/formats.h"
#include "data/label.h"
#include "data/layout/assemble.h"
#include "data/load.h"
#include "data/source/runs.h"
#include "data/table/whole.h"

typedef struct row_place {
    const hw_csv *csv;
    hw_reading *reading;
    const hw_chunk *chunk;
    hw_text_part *part;
    double *row;
    const char *text;      /* of the row */
    const char *weighed;   /* the row of which `idle` is known */
    bool idle;             /* it has weight 0 */
    bool drop;             /* the row has a missing value and is dropped */
    hw_text_reader *words; /* of the column whose words are counted; or NULL */
    size_t lengthy;        /* not 0: a field has HW_EQUAL_DIGITS bytes or more */
} row_place;

/* Returns a number for a word that names a group. It depends on the word alone, so readers and nodes need not agree on it.
 * Two words share one by a chance of 2^-53, and would be one group. */
static double group_of(const char *begin, const char *stop)
{
    return 0x1p60 + (double)(hw_hash(begin, (size_t)(stop - begin), 0) >> 11) * 256.0;
}

/* Returns whether the row that is being read has weight 0. The field of the weight may stand behind the one that is read. */
static bool is_weightless(const row_place *p)
{
    const char *at = p->text, *begin = at, *stop = at;
    double weight = 1;
    uint64_t row = p->reading->rows_before + p->part->rows;
    if (p->reading->row_weights != NULL)
        return row < p->reading->row_weight_count && p->reading->row_weights[row] == 0;
    if (p->csv->weights == 0)
        return false;
    for (size_t j = 0; j < p->csv->weights; j++) {
        at = hw_csv_field(at + (j > 0), p->chunk->end, p->csv->delimiter, &begin, &stop);
        if (at == NULL || (*at == '\n' && j + 1 < p->csv->weights))
            return false;
    }
    return hw_number(begin, &weight) == stop && weight == 0;
}

/* Reads True and False where a model has numbers: its training's table had booleans, which pandas writes so. */
static bool is_boolean(const row_place *p, size_t column, hw_text text, const char *begin, const char *stop, double *value)
{
    static const char *const words[] = {"False", "True", "false", "true", "FALSE", "TRUE"};
    if (p->csv->rules.known == NULL || p->csv->rules.roles[column] != HW_FEATURE || text != HW_TEXT_AUTO)
        return false;
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if ((size_t)(stop - begin) == strlen(words[k]) && memcmp(begin, words[k], (size_t)(stop - begin)) == 0) {
            *value = (double)(k % 2);
            return true;
        }
    return false;
}

/* Quoted, indented, missing and wrong fields, words and dates: what the loop below leaves. Returns the field's end or
 * NULL. */
static const char *odd_field(row_place *p, size_t column, const char *at, hawser_error *error)
{
    const hw_csv *csv = p->csv;
    const char *begin, *stop, *end = hw_csv_field(at, p->chunk->end, csv->delimiter, &begin, &stop);
    if (!csv->quoted && (end == NULL || memchr(begin, '\n', (size_t)(stop - begin)) != NULL))
        atomic_store(&p->reading->met_quoted, true); /* the chunks were cut without regard to it: all are read again */
    if (end == NULL || (!csv->quoted && atomic_load(&p->reading->met_quoted)))
        return (void)hw_chunk_fail(p->chunk, at, error, HW_CSV_OPEN_QUOTE), NULL;
    if (*end != '\n' && !hw_csv_splits(*end, csv->delimiter))
        return (void)hw_chunk_fail(p->chunk, end, error, "something follows a closing quote"), NULL;
    unsigned role = csv->rules.roles[column];
    hw_text text = csv->rules.texts != NULL ? csv->rules.texts[column] : HW_TEXT_AUTO;
    if (p->words != NULL && csv->text == column + 1 && /* a text is never missing: it may have no words */
        hw_text_cut(csv->cut, p->words, p->chunk, begin, stop, error) != HAWSER_OK)
        return NULL;
    if (role >= HW_UNSEEN) {
        p->row[column] = 0;
        return end;
    }
    if (p->weighed != p->text)
        p->idle = is_weightless(p);
    p->weighed = p->text;
    p->part->weightless = p->idle && (!csv->weighed_later || csv->exposure == column + 1);
    if (hw_csv_is_missing(begin, stop))
        return hw_csv_missing(csv, p->chunk, p->part, column, begin, &p->row[column], &p->drop, error) == HAWSER_OK ? end
                                                                                                                    : NULL;
    while (stop > begin && stop[-1] == ' ')
        stop--;
    while (begin < stop && *begin == ' ')
        begin++;
    double value = 0;
    const char *rest = text == HW_TEXT_AUTO ? hw_number(begin, &value) : NULL;
    if (rest != stop && role == HW_GROUPS) {
        p->row[column] = group_of(begin, stop);
        return end;
    }
    if (rest != stop && is_boolean(p, column, text, begin, stop, &p->row[column]))
        return end;
    if (rest != stop)
        return hw_csv_word(csv, p->chunk, p->part, column, begin, stop, rest, &p->row[column], error) == HAWSER_OK ? end
                                                                                                                   : NULL;
    if (value - value != 0)
        return (void)hw_chunk_fail(p->chunk, begin, error, "the value is too large"), NULL;
    p->row[column] = value;
    return end;
}

static hawser_status wrong_width(const row_place *p, size_t column, const char *at, hawser_error *error)
{
    if (column < p->csv->rules.width)
        return hw_chunk_fail(p->chunk, at, error, "expected %zu fields, as in the first line, but found %zu",
                             p->csv->rules.width, column);
    return hw_chunk_fail(p->chunk, at, error, "expected %zu fields, as in the first line, but found more",
                         p->csv->rules.width);
}

/* Finds a field again, for a message. */
static const char *field_of(const row_place *p, const char *at, size_t column)
{
    const char *begin = at, *stop;
    for (size_t j = 0; j <= column && at != NULL; j++)
        at = hw_csv_field(at + (j > 0), p->chunk->end, p->csv->delimiter, &begin, &stop);
    return begin;
}

static hawser_status too_large(const row_place *p, const char *at, size_t column, hawser_error *error)
{
    char text[HW_FIELD_CALLED];
    return hw_chunk_fail(p->chunk, field_of(p, at, column), error, "the value in %s is too large for type f32; use f64",
                         hw_field_called(&p->csv->rules, column, text));
}

/* Finds a field's text again, without its quotes. */
static void text_of_field(const row_place *p, const char *at, size_t column, const char **begin, const char **stop)
{
    for (size_t j = 0; j <= column && at != NULL; j++)
        at = hw_csv_field(at + (j > 0), p->chunk->end, p->csv->delimiter, begin, stop);
}

/* Looks at a label or group that is beyond the whole numbers which a double holds: labels must be read as words, a group
 * gets a number by its digits. */
static hawser_status take_large(const row_place *p, hw_reading *reading, const char *at, hawser_error *error)
{
    const hw_csv *csv = p->csv;
    char text[HW_LABEL_TEXT];
    const char *begin = at, *stop = at;
    size_t columns[] = {csv->label, csv->group};
    for (size_t k = 0; k < 2; k++) {
        size_t column = columns[k];
        if (column == 0 || !hw_label_is_doubtful(p->row[column - 1]))
            continue;
        text_of_field(p, at, column - 1, &begin, &stop);
        hw_label found = hw_label_read(begin, stop, text);
        if (found == HW_LABEL_OUTSIDE)
            return hw_chunk_fail(p->chunk, begin, error, HW_LABEL_IS_OUTSIDE, k == 0 ? "label" : "group");
        if (found == HW_LABEL_WORD)
            continue; /* a word that is a group */
        if (k == 0) {
            atomic_store(&reading->met_labels, true);
            return hw_chunk_fail(
                p->chunk, begin, error,
                "the label is beyond 2^53, and a pipe cannot be read again to tell such labels apart; give a "
                "file");
        }
        p->row[column - 1] = group_of(text, text + strlen(text));
    }
    return HAWSER_OK;
}

/* Replaces the row's exposure by its logarithm. */
static hawser_status take_exposure(const row_place *p, const char *at, hawser_error *error)
{
    size_t column = p->csv->exposure - 1;
    double exposure = p->row[column];
    if (!hw_is_exposure(exposure) && is_weightless(p))
        exposure = 1;
    if (!hw_is_exposure(exposure))
        return hw_chunk_fail(p->chunk, field_of(p, at, column), error,
                             "the exposure is %g; exposures are above 0, so remove the row or correct it", exposure);
    p->row[column] = hw_exposure_log(exposure);
    return HAWSER_OK;
}

/* Checks that the features can be stored; missing ones are NaN here. */
static hawser_status check_single(const row_place *p, const char *at, hawser_error *error)
{
    for (size_t j = 0; j < p->csv->rules.width; j++)
        if (isinf((float)p->row[j]) && p->csv->rules.roles[j] == HW_FEATURE)
            return too_large(p, at, j, error);
    return HAWSER_OK;
}

/* Checks that the features are counts; missing ones are NaN here. */
static hawser_status check_counts(const row_place *p, const char *at, hawser_error *error)
{
    for (size_t j = 0; j < p->csv->rules.width; j++)
        if (p->csv->rules.roles[j] == HW_FEATURE && !isnan(p->row[j]) && !hw_is_count(p->row[j]))
            return hw_no_count(p->chunk, field_of(p, at, j), p->row[j], error);
    return HAWSER_OK;
}

/* One row into p->row; returns the position behind its line end or NULL. Fields that are a number of a usual form, and
 * nothing else, are read from their ends. */
static inline const char *read_row(row_place *p, hw_words *w, const char *at, const hw_text *texts, hawser_error *error)
{
    size_t width = p->csv->rules.width, lengthy = 0;
    char delimiter = p->csv->delimiter;
    for (size_t column = 0; column < width; column++) {
        uint32_t none;
        double value;
        bool text = texts != NULL && texts[column] != HW_TEXT_AUTO; /* whatever it looks like */
        if (!text && delimiter != HAWSER_BLANKS && at - w->begin >= HW_WORDS_FRONT && hw_words_reach(w, at)) {
            const char *stop = w->begin + w->places[w->at];
            if (*stop == (column + 1 < width ? delimiter : '\n') &&
                hw_number_between(at, 0, at, stop, &none, &p->row[column])) {
                lengthy |= (size_t)(stop - at);
                at = stop + 1;
                continue;
            }
        }
        const char *end = text ? NULL : hw_number(at, &value);
        if (end != NULL)
            end = *end == '\r' && end[1] == '\n' ? end + 1 : hw_csv_gap(end, delimiter);
        if (end == NULL || (!hw_csv_splits(*end, delimiter) && *end != '\n') || value - value != 0) {
            if ((end = odd_field(p, column, at, error)) == NULL)
                return NULL;
        } else {
            p->row[column] = value;
        }
        lengthy |= (size_t)(end - at);
        bool last = *end == '\n';
        if (last != (column + 1 == width))
            return (void)wrong_width(p, column + 1, last ? end : end + 1, error), NULL;
        at = end + 1;
    }
    p->lengthy = lengthy / HW_EQUAL_DIGITS;
    return at;
}

/* Returns the position behind a line that has the names of the first file's header, however they are written; else NULL. */
static const char *same_header(const hw_csv *csv, const char *at, const char *end)
{
    const char *begin, *stop;
    for (size_t j = 0; j < csv->rules.width; j++) {
        at = hw_csv_field(at + (j > 0), end, csv->delimiter, &begin, &stop);
        if (at == NULL || !hw_csv_is_name(begin, stop, csv->rules.names[j]))
            return NULL;
        bool last = *at == '\n';
        if (last != (j + 1 == csv->rules.width) || (!last && !hw_csv_splits(*at, csv->delimiter)))
            return NULL;
    }
    return at + 1;
}

/* Skips the header of a further file. A header that differs is an error; a missing one is not. */
static hawser_status pass_header(const hw_csv *csv, const hw_chunk *chunk, const char **at, hawser_error *error)
{
    const char *begin, *stop, *next = same_header(csv, *at, chunk->end);
    double value;
    if (next != NULL) {
        *at = next;
        return HAWSER_OK;
    }
    if (hw_csv_field(*at, chunk->end, csv->delimiter, &begin, &stop) == NULL ||
        (hw_number(begin, &value) != stop && !hw_csv_is_missing(begin, stop)))
        return hw_chunk_fail(chunk, *at, error, "this file's header differs from the first file's");
    return HAWSER_OK;
}

static hawser_status keep_start(hw_text_part *part, const char *row, hawser_error *error)
{
    HAWSER_TRY(HW_GROW(&part->starts, &part->start_capacity, part->rows + 1, "the places of rows", error));
    part->starts[part->rows] = row;
    return HAWSER_OK;
}

/* Ends the row that has been read, which is dropped or kept. */
static hawser_status end_row(row_place *p, const char *row, hawser_error *error)
{
    if (p->words != NULL && p->drop)
        hw_text_drop_row(p->words);
    else if (p->words != NULL)
        HAWSER_TRY(hw_text_end_row(p->words, error));
    else if (!p->drop && hw_part_sees(p->part))
        HAWSER_TRY(hw_csv_see(p->csv, p->reading, p->chunk, p->part, p->row, row, p->lengthy != 0, error));
    if (!p->drop && p->csv->id != 0)
        HAWSER_TRY(keep_start(p->part, row, error));
    if (p->drop)
        p->part->dropped++;
    else
        p->row += p->csv->rules.width, p->part->rows++;
    p->drop = false;
    return HAWSER_OK;
}

static hawser_status parse_rows(const hw_csv *csv, hw_reading *reading, const hw_chunk *chunk, hw_text_part *part,
                                hw_text_reader *words, hawser_error *error)
{
    const char *at = chunk->begin;
    uint64_t lines = hw_count(chunk->begin, chunk->end, '\n'), most = (uint64_t)(chunk->end - at) / csv->rules.width + 1;
    lines = lines < most ? lines : most; /* a field takes a byte at least, with what ends it: the others are empty */
    hw_part_sizes sizes = {.value_bytes = lines * csv->rules.width * sizeof(double)};
    HAWSER_TRY(hw_part_reserve(reading, part, &sizes, error));
    HAWSER_TRY(hw_part_begin_equals(reading, part, error));
    bool first_file = chunk->file == &reading->input.files[0];
    uint64_t bytes = (uint64_t)(chunk->end - at);
    if (first_file && chunk->offset < csv->skip)
        at += csv->skip - chunk->offset < bytes ? csv->skip - chunk->offset : bytes;
    else
        at = hw_chunk_text(chunk);
    const double *limit = (double *)part->values + part->capacity.value_bytes / sizeof(double);
    hw_chunk named = *chunk; /* with the row that is read, for messages */
    row_place place = {.csv = csv, .reading = reading, .chunk = &named, .part = part, .row = part->values, .words = words};
    const hw_text *texts = csv->rules.texts;
    if (chunk->first && !first_file && csv->comments)
        at = hw_csv_pass_comments(at, chunk->end);
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
        if ((size_t)(limit - place.row) < csv->rules.width)
            return hw_runs_changed(reading, chunk->file, error);
        const char *row = named.row = place.text = at;
        at = texts == NULL ? read_row(&place, &w, at, NULL, error) : read_row(&place, &w, at, texts, error);
        if (at == NULL)
            return error != NULL ? error->status : HAWSER_BAD_INPUT; /* or there is no memory for a word */
        if ((csv->label > 0 && hw_label_is_doubtful(place.row[csv->label - 1])) ||
            (csv->group > 0 && hw_label_is_doubtful(place.row[csv->group - 1])))
            HAWSER_TRY(take_large(&place, reading, row, error));
        if (csv->exposure > 0 && !place.drop)
            HAWSER_TRY(take_exposure(&place, row, error));
        if (reading->load->type == HAWSER_F32 && !place.drop)
            HAWSER_TRY(check_single(&place, row, error));
        if (reading->load->counts && !place.drop)
            HAWSER_TRY(check_counts(&place, row, error));
        HAWSER_TRY(end_row(&place, row, error));
    }
    part->entries = part->rows * csv->rules.width;
    if (reading->row_weights != NULL)
        reading->rows_before += part->rows;
    return hw_part_end_equals(reading, part, error);
}

hawser_status hw_csv_parse(void *context, hw_reading *reading, const hw_chunk *chunk, hw_text_part *part,
                           hawser_error *error)
{
    const hw_csv *csv = context;
    hw_text_reader *words = csv->cut != NULL ? hw_text_reader_of(csv->cut, reading, chunk) : NULL;
    const hawser_status status = parse_rows(csv, reading, chunk, part, words, error);
    if (words == NULL)
        return status;
    const hawser_status kept = hw_text_keep(reading, words, part, status == HAWSER_OK ? error : NULL);
    return status != HAWSER_OK ? status : kept;
}

/* Keeps the names of the features in the order of the matrix's columns, in one block: pointers, then text. */
static hawser_status keep_names(const hw_csv *csv, hawser_dataset *dataset, hawser_error *error)
{
    size_t bytes = 0, kept = 0;
    for (size_t j = 0; j < csv->rules.width; j++)
        bytes += strlen(csv->rules.names[j]) + 1;
    char **block;
    HAWSER_TRY(hw_new_array((void **)&block, csv->rules.width * sizeof *block + bytes, 1, "column names", error));
    hw_dataset_own(dataset, block);
    char *text = (char *)(block + csv->rules.width);
    for (size_t j = 0; j < csv->rules.width; j++) {
        size_t length = strlen(csv->rules.names[j]) + 1;
        if (csv->rules.roles[j] == HW_TARGET)
            dataset->target_name = text;
        else if (csv->rules.roles[j] == HW_FEATURE)
            block[kept++] = text;
        else if (csv->rules.roles[j] >= HW_FURTHER && csv->rules.roles[j] < HW_UNSEEN)
            dataset->further_names[csv->rules.roles[j] - HW_FURTHER] = text;
        else
            continue;
        memcpy(text, csv->rules.names[j], length);
        text += length;
    }
    dataset->columns = (const char *const *)block;
    return HAWSER_OK;
}

static hawser_status estimate(hw_reading *reading, const hw_csv *csv, hawser_error *error)
{
    const char *head;
    size_t bytes;
    HAWSER_TRY(hw_input_head(&reading->input, 0, 1 << 16, &head, &bytes, error));
    bytes = bytes > 1 << 20 ? 1 << 20 : bytes;
    double rows = (double)hw_count(head, head + bytes, '\n') + 1, text = (double)hw_input_text_bytes(&reading->input);
    double each = (double)csv->rules.width * sizeof(double), most = (double)bytes / (double)csv->rules.width + 1;
    rows = rows < most ? rows : most; /* empty lines are none */
    const uint64_t need = (uint64_t)(text / (double)bytes * rows * each * 1.1) + (uint64_t)(4 << 20) * reading->threads;
    return csv->cut != NULL ? hw_text_estimate(reading, csv->cut, need, error)
                            : hw_budget_estimate(&reading->budget, need, error);
}

/* Numbers go straight to the matrix, each written once. *done is false if the text must be read as it comes, or if it has
 * words. */
static hawser_status place_numbers(hw_reading *reading, hw_csv *csv, bool means, hawser_dataset *dataset, bool *done,
                                   hawser_error *error)
{
    _Atomic bool met = false;
    *done = false;
    if (reading->as_table)
        return HAWSER_OK;
    csv->placing = true;
    csv->met_words = &met;
    hawser_status status = hw_place_dense(reading, hw_csv_parse, csv, csv->skip, csv->rules.width, csv->rules.roles, means,
                                          dataset, done, error);
    csv->placing = false;
    reading->met_words = atomic_load(&met);
    return status;
}

/* Whether some part has more than numbers, or a part of the whole may get to know that it has. */
static bool has_words(const hw_reading *reading)
{
    for (uint64_t p = 0; p < hw_reading_parts(reading); p++)
        if (hw_reading_part(reading, p)->survey != NULL)
            return true;
    return false;
}

/* Makes the matrix of a table. That of a part must wait for the other parts: its table stays with the dataset. */
static hawser_status take_table(hw_reading *reading, hw_csv *csv, hawser_dataset *dataset, hawser_error *error)
{
    const hawser_load *load = reading->load;
    const hawser_schema *known = csv->rules.known;
    hawser_schema *schema = NULL;
    hw_equals_take(&dataset->equals, &reading->equals);
    HAWSER_TRY(hw_table_new(reading, &csv->rules, &dataset->table, error));
    struct hw_table *table = dataset->table;
    dataset->free_table = hw_table_free;
    if (load->parts > 1 && known == NULL) {
        dataset->matrix.rows = table->rows;
        return HAWSER_OK;
    }
    hw_table_wishes wishes = {.type = load->type,
                              .by_row = load->rows_layout != 0 || load->parts > 1,
                              .dense_rows = load->rows_layout != 0 || load->parts > 1,
                              .keep_missing = load->parts > 1 && load->means == NULL,
                              .means = load->means,
                              .threads = reading->threads};
    if (csv->weighed_later && load->parts <= 1)
        HAWSER_TRY(hw_load_weights(reading, table->rows, dataset, error));
    if (known == NULL) {
        HAWSER_TRY(hw_table_weigh(table, dataset->weights, error));
        HAWSER_TRY(hw_table_judge(&table->rules, table->input, table->survey, &schema, error));
    }
    dataset->schema = schema;
    hawser_status status = hw_table_settle(table, known != NULL ? known : schema, &wishes, dataset, error);
    bool named = dataset->columns != NULL || schema != NULL;
    hw_table_free(table);
    dataset->table = NULL;
    const hawser_schema *names = known != NULL ? known : schema;
    named = named && csv->cut == NULL; /* the words have named them */
    return status == HAWSER_OK && named && names != NULL ? hw_dataset_name_columns(dataset, names, error) : status;
}

/* Weights of a file of their own say which rows may lack an exposure, or words of a model. Only a reader that takes the rows
 * in their order knows them. */
static hawser_status know_weights(hw_reading *reading, hw_csv *csv, hawser_error *error)
{
    const hawser_schema *known = csv->rules.known;
    uint64_t count = 0, zeros = 0;
    double *weights = NULL;
    if (!csv->weighed_later || reading->load->parts > 1 ||
        (known == NULL && reading->load->columns == 0 && csv->exposure == 0))
        return HAWSER_OK;
    HAWSER_TRY(hw_load_weights_ahead(reading, &weights, &count, error));
    for (uint64_t i = 0; i < count; i++)
        zeros += weights[i] == 0;
    if (zeros == 0) {
        free(weights);
        return HAWSER_OK;
    }
    reading->row_weights = weights;
    reading->row_weight_count = count;
    reading->threads = 1;
    csv->weighed_later = known == NULL && reading->load->columns == 0;
    return HAWSER_OK;
}

/* Prepares to count the words of one column, and keeps the names of the columns that are not read beside it. */
static hawser_status begin_text(hw_reading *reading, hw_csv *csv, hawser_dataset *dataset, hawser_error *error)
{
    HAWSER_TRY(hw_text_begin(reading, csv->cut, error));
    return hw_csv_name_unread(csv, &dataset->unread, error);
}

static hawser_status load_rows(hw_reading *reading, hw_csv *csv, hawser_dataset *dataset, hawser_error *error)
{
    bool done;
    HAWSER_TRY(hw_csv_begin(reading, csv, error));
    if (csv->cut != NULL)
        HAWSER_TRY(begin_text(reading, csv, dataset, error));
    HAWSER_TRY(hw_input_rows(&reading->input, csv->comments, csv->quoted, csv->delimiter, true, error));
    if (reading->load->parts > 1 && (csv->quoted || csv->comments))
        hw_input_part(&reading->input, reading->load->part, reading->load->parts); /* now by rows */
    dataset->labels_as_words = csv->exact_labels && csv->rules.known == NULL;
    HAWSER_TRY(estimate(reading, csv, error));
    HAWSER_TRY(know_weights(reading, csv, error));
    dataset->figures.header_guessed = reading->load->header != 0 ? 0 : csv->header ? 1 : -1;
    bool all = reading->load->parts <= 1 || reading->load->means != NULL; /* else the mean is of all parts */
    bool means = csv->rules.missing_number == HW_MEAN && all;
    for (size_t j = 0; j < csv->rules.width; j++)
        dataset->figures.unseen_columns += csv->rules.roles[j] == HW_UNSEEN;
    for (size_t j = 0; j < csv->rules.width; j++)
        if (csv->rules.roles[j] == HW_TARGET)
            dataset->figures.target_column = j + 1;
    if (csv->rules.names != NULL)
        HAWSER_TRY(keep_names(csv, dataset, error));
    if (csv->rules.known == NULL && csv->cut == NULL)
        HAWSER_TRY(hw_keep_numbers(dataset, csv->rules.roles, csv->rules.width, error));
    HAWSER_TRY(place_numbers(reading, csv, means, dataset, &done, error));
    if (!done) {
        HAWSER_TRY(hw_parse(reading, hw_csv_parse, csv, error));
        for (uint64_t p = 0; p < hw_reading_parts(reading); p++)
            dataset->figures.rows_dropped += hw_reading_part(reading, p)->dropped;
        if (csv->cut != NULL)
            HAWSER_TRY(hw_text_assemble(reading, csv->cut, dataset, error));
        HAWSER_TRY(reading->as_table || has_words(reading)
                       ? take_table(reading, csv, dataset, error)
                       : hw_assemble_dense(reading, csv->rules.width, csv->rules.roles, means, dataset, error));
    }
    dataset->figures.unseen_entries = dataset->figures.unseen_columns * dataset->matrix.rows;
    return HAWSER_OK;
}

/* Extends the message of text that is CSV only by default, where other messages say little. */
static hawser_status doubt(const hw_reading *reading, hawser_status status, hawser_error *error)
{
    if (reading->load->format != HAWSER_GUESS || reading->load->delimiter != 0 || error == NULL)
        return status;
    const hawser_error before = *error;
    return hawser_fail(error, status, "%.400s; its first line shows no delimiter: see --delimiter and --format",
                       before.text);
}

hawser_status hw_csv_load(hw_reading *reading, hawser_dataset *dataset, hawser_error *error)
{
    hw_text_load text = {0};
    hw_csv csv = {.cut = reading->load->text != NULL ? &text : NULL};
    hawser_status status = load_rows(reading, &csv, dataset, error);
    if (status == HAWSER_BAD_INPUT && csv.rules.width == 1 && !reading->met_words)
        status = doubt(reading, status, error);
    hw_csv_free(&csv);
    hw_text_end(&text);
    return status;
}
