#include "data/load.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/argument.h"
#include "base/clock.h"
#include "base/layout.h"
#include "base/machine.h"
#include "base/memory.h"
#include "data/cache/cache.h"
#include "data/cache/part.h"
#include "data/exposure.h"
#include "data/format/svmlight.h"
#include "data/formats.h"
#include "data/layout/assemble.h"
#include "data/layout/buckets.h"
#include "data/layout/full.h"
#include "data/table/exact.h"
#include "data/table/table.h"
#include "data/trim.h"
#include "data/vocabulary.h"

enum { SAMPLES = 16, SAMPLE_BYTES = HW_GUESS_BYTES };

/* Estimates entries and rows per byte from samples of the whole input, so that the memory is known before the text is
 * read. */
static hawser_status estimate_rows(hw_reading *reading, bool by_row, hawser_error *error)
{
    double entries = 0, lines = 0, bytes = 0, text = (double)hw_input_text_bytes(&reading->input);
    for (size_t i = 0; i < SAMPLES; i++) {
        size_t number = i * reading->input.count / SAMPLES, capacity;
        const char *head;
        if (i > 0 && reading->input.files[number].map == NULL)
            continue;
        HAWSER_TRY(hw_input_first(&reading->input, number, SAMPLE_BYTES, &head, &capacity, error));
        size_t begin = capacity > SAMPLE_BYTES ? (capacity - SAMPLE_BYTES) / SAMPLES * i : 0;
        const char *end = head + (capacity - begin > SAMPLE_BYTES ? begin + SAMPLE_BYTES : capacity);
        entries += (double)hw_count(head + begin, end, ':');
        lines += (double)hw_count(head + begin, end, '\n') + 1;
        bytes += (double)(end - head) - (double)begin;
    }
    double size = reading->load->type == HAWSER_F32 ? 8 : 12, data = text / bytes * entries * size;
    double need = (data + text / bytes * lines * 32) * 1.05 + (double)(4 << 20) * reading->threads;
    if (!by_row)
        need += (double)hw_buckets_extra(reading->threads, (uint64_t)data);
    else if (!reading->input.all_mapped || reading->load->columns != 0)
        need += data * 0.05; /* for a part from which rows are made, and what is made of it */
    return hw_budget_estimate(&reading->budget, (uint64_t)need, error);
}

hawser_status hw_svmlight_load(hw_reading *reading, hawser_dataset *dataset, hawser_error *error)
{
    const char *target = reading->load->target;
    bool in_rows =
        target == NULL || reading->load->target_optional || strcmp(target, "none") == 0 || strcmp(target, "0") == 0;
    if (!in_rows && !hw_is_file(target))
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "target = %s: svmlight's target is the first word of a line; unset it, or name a "
                           "file of targets, or none",
                           target);
    bool by_row = reading->load->rows_layout != 0 || reading->load->parts > 1, done = true;
    HAWSER_TRY(estimate_rows(reading, by_row, error));
    if (by_row)
        HAWSER_TRY(hw_place_rows(reading, dataset, &done, error));
    else
        HAWSER_TRY(hw_gather_columns(reading, dataset, error));
    if (!done) {
        HAWSER_TRY(hw_parse(reading, hw_svmlight_parse, NULL, error));
        HAWSER_TRY(hw_assemble_rows(reading, dataset, error));
    }
    hw_svmlight_take_equals(reading, dataset);
    if (!in_rows)
        dataset->target = NULL; /* replaced by the file's */
    dataset->labels_as_words = hw_svmlight_has_labels(reading->load) && reading->load->schema == NULL &&
                               reading->load->labels == HW_LABELS_AS_WORDS;
    return HAWSER_OK;
}

/* Refuses known formats that cannot be read. Archives are checked here if they come first; the first bytes of later ones are
 * checked in their turn. */
static hawser_status refuse_unsupported(hw_reading *reading, hawser_format format, hawser_error *error)
{
    bool is_text = hw_format_is(format, HW_FORMAT_TEXT);
    for (size_t i = 0; i < reading->input.count; i++) {
        const char *head, *what, *advice;
        size_t bytes;
        if (i > 0 && reading->input.files[i].map == NULL)
            continue;
        if (reading->input.files[i].sparse && format == HAWSER_NPY)
            continue;
        if (reading->input.files[i].sparse)
            return hawser_fail(error, HAWSER_BAD_INPUT, "%s: holds a sparse matrix of scipy, which is read as npy input",
                               reading->input.files[i].name);
        HAWSER_TRY(hw_input_first(&reading->input, i, SAMPLE_BYTES, &head, &bytes, error));
        if (hw_is_unsupported(head, bytes, &what, &advice))
            return hawser_fail(error, HAWSER_BAD_INPUT, "%s: is %s, which is not read here; %s",
                               reading->input.files[i].name, what, advice);
        if (is_text && hw_is_idx(head, bytes))
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "%s: is an idx file, and the input is read as text; name idx files alone, with format idx or "
                               "guess",
                               reading->input.files[i].name);
    }
    return HAWSER_OK;
}

/* Returns the format by the extension of the first file, before which one of an archive is left out. */
static hawser_format format_of_name(const char *name)
{
    static const char *const packed[] = {".gz", ".xz", ".zst"};
    char text[64];
    size_t length = strlen(name);
    for (size_t k = 0; k < sizeof packed / sizeof *packed; k++) {
        size_t less = strlen(packed[k]);
        if (length > less && strcmp(name + length - less, packed[k]) == 0) {
            length -= less;
            break;
        }
    }
    size_t at = length;
    while (at > 0 && name[at - 1] != '.' && name[at - 1] != '/')
        at--;
    if (at == 0 || name[at - 1] != '.' || length - at + 2 > sizeof text)
        return HAWSER_GUESS;
    (void)snprintf(text, sizeof text, "%.*s", (int)(length - at + 1), name + at - 1);
    return hw_format_of_extension(text);
}

/* Returns whether an input without certain first bytes is text, or a table with a column of it. A model of text reads other
 * formats, too, whose columns have names. */
static bool reads_text(const hw_reading *reading)
{
    const hawser_load *load = reading->load;
    if (!load->guess_text)
        return load->text != NULL;
    const hawser_format named = format_of_name(reading->input.files[0].name);
    return load->names == NULL && (named == HAWSER_GUESS || (load->text != NULL && named == HAWSER_CSV));
}

static hawser_status find_format(hw_reading *reading, hawser_format *format, hawser_error *error)
{
    const char *head;
    size_t bytes;
    HAWSER_TRY(hw_input_first(&reading->input, 0, SAMPLE_BYTES, &head, &bytes, error));
    hawser_format found = hw_guess_format(head, bytes < SAMPLE_BYTES ? bytes : SAMPLE_BYTES);
    if (found == HAWSER_SVMLIGHT && hw_is_one_entry(head, bytes < SAMPLE_BYTES ? bytes : SAMPLE_BYTES)) {
        hawser_format named = format_of_name(reading->input.files[0].name);
        reading->format_assumed = reading->load->format == HAWSER_GUESS && !hw_format_is(named, HW_FORMAT_LINES);
        found = hw_format_is(named, HW_FORMAT_LINES) ? named : found;
    }
    if (reading->load->counts && found == HAWSER_CSV && hw_is_empty_docword(head, bytes))
        found = HAWSER_MATRIX_MARKET; /* a column of three numbers is no counts of words */
    if (reading->load->format == HAWSER_GUESS && !hw_format_is(found, HW_FORMAT_CERTAIN) && reads_text(reading)) {
        found = reading->load->text != NULL ? HAWSER_CSV : HAWSER_DOCUMENTS;
        reading->format_assumed = false;
    }
    *format = reading->load->format == HAWSER_GUESS ? found : reading->load->format;
    HAWSER_TRY(refuse_unsupported(reading, *format, error));
    const char *title = hw_format_row_of(*format)->title;
    if (*format == HAWSER_DOCUMENTS && hw_format_is(found, HW_FORMAT_CERTAIN))
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: is a %s file by its first bytes, and no text; leave --format out",
                           reading->input.files[0].name,
                           hw_format_row_of(found)->title != NULL ? hw_format_row_of(found)->title : hw_format_name(found));
    if (title != NULL && found != *format)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: is not a %s file, by its first bytes", reading->input.files[0].name,
                           title);
    return HAWSER_OK;
}

static void note_figures(hw_reading *reading, hawser_dataset *dataset)
{
    hawser_load_figures *figures = &dataset->figures;
    figures->bytes_read = figures->bytes_here = hw_input_consumed(&reading->input);
    figures->bytes_text = reading->input.text;
    uint64_t peak = atomic_load(&reading->budget.peak);
    figures->memory_estimate = peak > reading->budget.estimate ? peak : reading->budget.estimate;
    figures->memory_taken = peak;
    figures->readers = reading->input.readers;
    figures->rows_read = reading->rows_read;
    hw_dataset_own(dataset, reading->rows_read);
    reading->rows_read = NULL;
}

/* A cache is mapped by its name (hw_cache_open) before it would be read as an input. */
hawser_status hw_cache_load(hw_reading *reading, hawser_dataset *dataset, hawser_error *error)
{
    (void)reading, (void)dataset;
    return hawser_fail(error, HAWSER_BAD_ARGUMENT, "a cache cannot be read from here");
}

/* Options that leave columns out, or give them a kind, must not be passed over. */
static hawser_status check_selection(const hw_reading *reading, hawser_format format, hawser_error *error)
{
    const hawser_load *load = reading->load;
    const char *const lists[][2] = {{"columns", load->select},
                                    {"ignore", load->ignore},
                                    {"dates", load->dates},
                                    {"text", load->guess_text ? NULL : load->text}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (lists[i][1] != NULL && !hw_format_has_option(format, lists[i][0]))
            return hawser_fail(error, HAWSER_BAD_OPTION, "--%s %.100s: %s is %s input, whose columns are not read by name",
                               lists[i][0], lists[i][1], reading->input.files[0].name, hw_format_name(format));
    if ((format == HAWSER_DOCUMENTS || (format == HAWSER_CSV && load->text != NULL)) && load->names != NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--names %.200s: the columns of %s are the words of its text, which name them; leave it out",
                           load->names, reading->input.files[0].name);
    if (load->groups != NULL && !hw_format_has_option(format, "columns") && !hw_format_is(format, HW_FORMAT_BINARY))
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--folds by:%.100s: %s is %s input, which has no column of groups; name a file of fold numbers",
                           load->groups, reading->input.files[0].name, hw_format_name(format));
    return HAWSER_OK;
}

hawser_status hw_load_format(hw_reading *reading, hawser_format *format, hawser_error *error)
{
    HAWSER_TRY(hw_check_exposure(reading->load, error));
    HAWSER_TRY(find_format(reading, format, error));
    return check_selection(reading, *format, error);
}

/* Loads the matrix and what is in files of its own. Columns that a file names are all read, and matched with the model's. */
static hawser_status load_named(hw_reading *reading, const hw_format_row *row, hawser_dataset *dataset, hawser_error *error)
{
    const hawser_load *asked = reading->load;
    hawser_load all = *asked;
    const hawser_format format = dataset->figures.format;
    const bool numbered = hw_format_is(format, HW_FORMAT_NUMBERED) || format == HAWSER_MATRIX_MARKET,
               matched = numbered && hw_names_are_matched(asked);
    if (matched)
        HAWSER_TRY(hw_names_count(asked->names, &reading->budget, &all.columns, error));
    if (all.columns > 0)
        reading->load = &all;
    hawser_status status = row->load(reading, dataset, error);
    if (status == HAWSER_OK && !dataset->figures.parted)
        status = hw_load_side_files(reading, dataset, error);
    reading->load = asked;
    HAWSER_TRY(status);
    if (!matched || dataset->columns == NULL)
        return HAWSER_OK;
    if (!hw_is_dense(&dataset->matrix))
        return hw_names_match(asked->schema, &reading->budget, dataset, error);
    return dataset->matrix.cols == asked->columns
               ? HAWSER_OK
               : hawser_fail(error, HAWSER_BAD_INPUT, "%.600s: has %zu names, and the model has %zu columns", asked->names,
                             dataset->matrix.cols, asked->columns);
}

static hawser_status load_opened(hw_reading *reading, hawser_dataset *dataset, hawser_error *error)
{
    hawser_format format;
    HAWSER_TRY(hw_load_format(reading, &format, error));
    dataset->figures.format = format;
    dataset->figures.format_assumed = reading->format_assumed;
    const hw_format_row *row = hw_format_row_of(format);
    bool in_lines = (row->traits & HW_FORMAT_LINES) != 0, binary = (row->traits & HW_FORMAT_BINARY) != 0;
    dataset->figures.parted = (in_lines || binary) && reading->load->parts > 1; /* Matrix Market sets this itself */
    if (dataset->figures.parted && in_lines)
        hw_input_part(&reading->input, reading->load->part, reading->load->parts);
    HAWSER_TRY(load_named(reading, row, dataset, error));
    if (!dataset->figures.parted && hw_trims_columns(reading->load, format))
        hw_trim_columns(dataset, dataset->weights);
    if (!dataset->figures.parted || reading->load->schema != NULL)
        HAWSER_TRY(hw_vocabulary_settle(reading->load, &reading->budget, reading->input.files[0].name, dataset, error));
    HAWSER_TRY(hw_exact_settle(reading, dataset, error));
    note_figures(reading, dataset);
    return HAWSER_OK;
}

void hw_load_begin(hw_reading *reading, const hawser_load *load, uint64_t memory, bool as_table)
{
    memset(reading, 0, sizeof *reading);
    (void)pthread_mutex_init(&reading->lock, NULL); /* of the default kind, which cannot fail */
    reading->load = load;
    reading->as_table = as_table;
    reading->keeps_equals = true;
    reading->threads = load->threads != 0 ? load->threads : hw_machine_processors();
    hw_budget_init(&reading->budget, memory);
    reading->budget.cancellation = load->cancellation;
}

hawser_status hw_load_cancelled(const hw_input *input, hawser_status status, hawser_error *error)
{
    if (status != HAWSER_STOP)
        return status;
    uint64_t consumed = 0, text = input->text;
    for (size_t i = 0; i < input->count; i++)
        if (input->files[i].stream != NULL)
            consumed += hw_stream_consumed(input->files[i].stream);
    return hawser_fail(error, status, "reading %.600s was cancelled after %.1f MB",
                       input->count > 0 && input->files[0].name != NULL ? input->files[0].name : "the input",
                       (double)(text > consumed ? text : consumed) / 1e6);
}

/* Whether an input must be read again: as a table, since numbers were read where words are, or labels that doubles do not
 * hold; or by rows, since a quoted field has a line end. */
typedef enum load_again { AGAIN_NOT = 0, AGAIN_AS_TABLE, AGAIN_WITH_LABELS, AGAIN_QUOTED } load_again;

/* What an input is expected to have. */
typedef struct load_how {
    bool as_table, labels, quoted;
} load_how;

/* Returns whether it is read again, now so. What was met where fields were cut is not kept. */
static bool read_again(load_how *how, load_again again, bool from_pipe)
{
    const load_how before = *how;
    if (again == AGAIN_QUOTED && !how->quoted)
        *how = (load_how){.quoted = true};
    else if (again == AGAIN_AS_TABLE)
        how->as_table = true;
    else if (again == AGAIN_WITH_LABELS && !from_pipe)
        how->as_table = how->labels = true;
    return how->quoted != before.quoted || how->as_table != before.as_table || how->labels != before.labels;
}

/* Ends the reading whatever happened. */
static hawser_status finish(hw_reading *reading, hawser_status opened, double began, hawser_dataset **dataset,
                            load_again *again, hawser_error *error)
{
    hawser_dataset *made = NULL;
    hawser_status status = opened == HAWSER_OK ? hw_dataset_new(&made, error) : opened;
    if (status == HAWSER_OK)
        status = load_opened(reading, made, error);
    *again = status != HAWSER_BAD_INPUT          ? AGAIN_NOT
             : atomic_load(&reading->met_quoted) ? AGAIN_QUOTED
             : atomic_load(&reading->met_labels) ? AGAIN_WITH_LABELS
             : reading->met_words                ? AGAIN_AS_TABLE
                                                 : AGAIN_NOT;
    status = hw_load_cancelled(&reading->input, status, error);
    hw_reading_free(reading);
    if (status != HAWSER_OK) {
        hawser_dataset_free(made);
        return status;
    }
    made->figures.seconds = hw_seconds() - began;
    *dataset = made;
    return HAWSER_OK;
}

/* A cache is mapped by its name, not read through the input. */
bool hw_load_is_cache(const hw_reading *reading, const hawser_load *load)
{
    const hw_input_file *file = &reading->input.files[0];
    if (file->map == NULL || (load->format != HAWSER_GUESS && load->format != HAWSER_CACHE))
        return false;
    return hw_guess_format(file->map, file->bytes < SAMPLE_BYTES ? file->bytes : SAMPLE_BYTES) == HAWSER_CACHE;
}

hawser_status hw_load_check(const char *const *paths, size_t count, const hawser_load *load, hawser_error *error)
{
    if (load->format != HAWSER_GUESS && hw_format_row_of(load->format) == NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "hawser_load: there is no format %d", (int)load->format);
    if (load->type != HAWSER_F64 && load->type != HAWSER_F32)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "hawser_load: type %d; values are kept as HAWSER_F64 or HAWSER_F32",
                           (int)load->type);
    if (load->split != HAWSER_BY_COLUMN && load->split != HAWSER_BY_ROW)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "hawser_load: split %d; an input is loaded HAWSER_BY_COLUMN or HAWSER_BY_ROW", (int)load->split);
    HAWSER_TRY(hw_vocabulary_check(load, error));
    if (load->like != NULL)
        return hawser_fail(
            error, HAWSER_BAD_ARGUMENT,
            "hawser_load.like: only hawser_job_load with split = HAWSER_BY_ROW cuts rows; leave it NULL here");
    for (size_t i = 0; i < count; i++)
        if (paths[i] == NULL)
            return hawser_fail(error, HAWSER_BAD_ARGUMENT, "path %zu of %zu is NULL", i + 1, count);
    return HAWSER_OK;
}

/* A part of a table that is loaded alone: numbers need no other part, words and dates do. */
static hawser_status settle_part(hawser_dataset *dataset, const hawser_load *load, hawser_error *error)
{
    struct hw_table *table = dataset->table;
    if (dataset->labels != NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "part %u of %u has labels beyond 2^53, and all parts together decide what numbers they get; "
                           "hawser_job_load reads them over nodes",
                           load->part, load->parts);
    if (table == NULL)
        return HAWSER_OK;
    bool words = table->rules.texts != NULL;
    for (size_t j = 0; j < table->rules.width; j++)
        words |= table->survey->columns[j].words > 0;
    if (words)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "%s: part %u of %u has words or dates, and all parts together decide what columns they become; "
                           "hawser_job_load reads them over nodes",
                           table->input, load->part, load->parts);
    hw_table_wishes wishes = {
        .type = load->type, .keep_missing = true, .threads = load->threads != 0 ? load->threads : hw_machine_processors()};
    HAWSER_TRY(hw_table_settle(table, NULL, &wishes, dataset, error));
    hw_table_free(table);
    dataset->table = NULL;
    return HAWSER_OK;
}

hawser_status hawser_dataset_load(const char *const *paths, size_t count, const hawser_load *load, hawser_dataset **dataset,
                                  hawser_error *error)
{
    HW_GIVEN(paths);
    HW_GIVEN(load);
    HW_GIVEN(dataset);
    hawser_load own = *load;
    own.rows_layout = load->split == HAWSER_BY_ROW ? 1 : load->rows_layout;
    HAWSER_TRY(hw_load_within(paths, count, &own, load->memory_limit, dataset, error));
    hawser_status status = settle_part(*dataset, load, error);
    if (status != HAWSER_OK) {
        hawser_dataset_free(*dataset);
        *dataset = NULL;
    }
    return status;
}

/* Compares the names of the columns and the words of the target with the model's, where the reader has not matched them:
 * those of a cache, or of a file of names. */
hawser_status hw_load_matches(const char *path, const hawser_dataset *dataset, const hawser_load *load, hawser_error *error)
{
    size_t size = 0, count = 0, expected = 0;
    char *text = NULL;
    hawser_status status = HAWSER_OK;
    for (size_t j = 0; dataset->columns != NULL && j < dataset->matrix.cols && status == HAWSER_OK; j++) {
        status = HW_GROW(&text, &size, hawser_schema_print(load->schema, j, NULL, 0) + 1, "a column's name", error);
        if (status != HAWSER_OK)
            break;
        (void)hawser_schema_print(load->schema, j, text, size);
        if (strcmp(dataset->columns[j], text) != 0)
            status = hawser_fail(error, HAWSER_BAD_INPUT,
                                 "%s: column '%.100s' is where the model has '%.100s' (%zu columns before it are the same); "
                                 "bring the columns "
                                 "into the model's order",
                                 path, dataset->columns[j], text, j);
    }
    free(text);
    const char *const *words = hawser_schema_target(dataset->schema, &count);
    const char *const *known = hawser_schema_target(load->schema, &expected);
    bool same = count == expected;
    for (size_t k = 0; same && k < count; k++)
        same = strcmp(words[k], known[k]) == 0;
    if (status == HAWSER_OK && dataset->schema != NULL && !load->target_optional && !same)
        status =
            hawser_fail(error, HAWSER_BAD_INPUT,
                        "%s: its target has other words than the model's, so their numbers differ; evaluate the table that "
                        "it was converted from",
                        path);
    return status;
}

/* Returns whether an input is a pipe, which cannot be read again. */
static bool from_pipe(const char *const *paths, size_t count)
{
    struct stat facts;
    for (size_t i = 0; i < count; i++)
        if (strcmp(paths[i], "-") == 0 || (stat(paths[i], &facts) == 0 && S_ISFIFO(facts.st_mode)))
            return true;
    return false;
}

static hawser_status load_once(const char *const *paths, size_t count, const hawser_load *load, uint64_t memory,
                               load_how how, hawser_dataset **dataset, load_again *again, hawser_error *error)
{
    hawser_load within = *load, exact = *load;
    hw_reading reading;
    double began = hw_seconds();
    within.memory_limit = memory;
    *again = AGAIN_NOT;
    exact.labels = how.labels ? HW_LABELS_AS_WORDS : load->labels;
    hw_load_begin(&reading, &exact, memory, how.as_table);
    reading.quoted = how.quoted;
    hawser_status status = hw_input_open(&reading.input, paths, count, &reading.budget, error);
    if (status != HAWSER_OK || !hw_load_is_cache(&reading, load))
        return finish(&reading, status, began, dataset, again, error);
    if (reading.input.count > 1)
        status = hawser_fail(error, HAWSER_BAD_INPUT, "%s: a cache is one file, and %zu were given", paths[0],
                             reading.input.count);
    else
        status = hw_cache_open(reading.input.files[0].name, &within, dataset, error);
    status = hw_load_cancelled(&reading.input, status, error);
    hw_reading_free(&reading);
    return status;
}

hawser_status hw_load_part(const char *const *paths, size_t count, const hawser_load *load, uint64_t memory, bool *quoted,
                           hawser_dataset **dataset, hawser_error *error)
{
    load_again again;
    load_how how = {.quoted = *quoted};
    hawser_status status;
    *dataset = NULL;
    HAWSER_TRY(hw_load_check(paths, count, load, error));
    do
        status = load_once(paths, count, load, memory, how, dataset, &again, error);
    while (again != AGAIN_NOT && read_again(&how, again, from_pipe(paths, count)));
    *quoted = how.quoted;
    if (status == HAWSER_OK && load->schema != NULL)
        status = hw_load_matches(paths[0], *dataset, load, error);
    if (status == HAWSER_OK && load->parts <= 1 && hw_is_full(load, (*dataset)->figures.format, &(*dataset)->matrix))
        status = hw_store_densely(*dataset, (*dataset)->matrix.cols, 0, error);
    if (status != HAWSER_OK) {
        hawser_dataset_free(*dataset);
        *dataset = NULL;
    }
    return status;
}

/* A part of an input alone does not show whether it begins within quotes. */
hawser_status hw_load_within(const char *const *paths, size_t count, const hawser_load *load, uint64_t memory,
                             hawser_dataset **dataset, hawser_error *error)
{
    bool quoted = load->parts > 1;
    return hw_load_part(paths, count, load, memory, &quoted, dataset, error);
}

/* Returns whether a path is that of a plain file which begins as a cache does. Nothing is read from a pipe, whose bytes the
 * load needs. */
static bool is_cache_file(const char *path)
{
    char magic[sizeof HW_CACHE_MAGIC] = "";
    struct stat facts;
    const int fd = stat(path, &facts) == 0 && S_ISREG(facts.st_mode) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return false;
    const bool found =
        pread(fd, magic, sizeof magic - 1, 0) == (ssize_t)sizeof magic - 1 && strcmp(magic, HW_CACHE_MAGIC) == 0;
    (void)close(fd);
    return found;
}

/* Reads its part of a cache whose name is known. */
static hawser_status load_part(const char *path, const hawser_load *load, hw_cache_part *part, hawser_dataset **dataset,
                               hawser_error *error)
{
    hawser_status status = hw_cache_open_part(path, load, part, dataset, error);
    if (status == HAWSER_STOP)
        return hawser_fail(error, status, "reading %.600s was cancelled", path);
    if (status != HAWSER_OK || *dataset == NULL || load->schema == NULL)
        return status;
    hawser_matrix *A = &(*dataset)->matrix;
    const size_t columns = A->cols;
    A->cols = part->whole.cols; /* the names are those of all columns */
    status = hw_load_matches(path, *dataset, load, error);
    A->cols = columns;
    if (status != HAWSER_OK) {
        hawser_dataset_free(*dataset);
        *dataset = NULL;
    }
    return status;
}

hawser_status hw_load_part_of_cache(const char *const *paths, size_t count, const hawser_load *load, hw_cache_part *part,
                                    hawser_dataset **dataset, hawser_error *error)
{
    char *name = NULL;
    *dataset = NULL;
    HAWSER_TRY(hw_load_check(paths, count, load, error));
    if (count != 1 || (load->format != HAWSER_GUESS && load->format != HAWSER_CACHE))
        return HAWSER_OK;
    HAWSER_TRY(hw_input_only(paths[0], &name, error));
    hawser_status status = name != NULL && is_cache_file(name) ? load_part(name, load, part, dataset, error) : HAWSER_OK;
    free(name);
    return status;
}

hawser_status hw_load_opened(hw_reading *reading, const char *const *paths, size_t count, const hawser_load *load,
                             hawser_dataset **dataset, hawser_error *error)
{
    load_again again;
    *dataset = NULL;
    if (reading->input.all_mapped) {
        hw_reading_free(reading);
        return hw_load_within(paths, count, load, load->memory_limit, dataset, error);
    }
    reading->input.eager = reading->as_table = false;
    hawser_status status = finish(reading, HAWSER_OK, hw_seconds(), dataset, &again, error);
    if (status == HAWSER_OK && load->schema != NULL)
        status = hw_load_matches(paths[0], *dataset, load, error);
    if (status != HAWSER_OK) {
        hawser_dataset_free(*dataset);
        *dataset = NULL;
    }
    return status;
}

hawser_status hw_load_as_table(const char *const *paths, size_t count, const hawser_load *load, uint64_t memory, bool quoted,
                               hawser_dataset **dataset, hawser_error *error)
{
    load_again again;
    *dataset = NULL;
    return load_once(paths, count, load, memory, (load_how){.as_table = true, .quoted = quoted}, dataset, &again, error);
}

hawser_status hw_load_sides(hawser_dataset *dataset, const hawser_load *load, uint64_t memory, hawser_error *error)
{
    hw_reading reading;
    hw_load_begin(&reading, load, memory, false);
    hawser_status status = hw_load_side_files(&reading, dataset, error);
    hw_reading_free(&reading);
    return status;
}

hawser_status hw_load_weights_of(hawser_dataset *dataset, const hawser_load *load, uint64_t memory, uint64_t rows,
                                 hawser_error *error)
{
    hw_reading reading;
    hw_load_begin(&reading, load, memory, false);
    hawser_status status = hw_load_weights(&reading, rows, dataset, error);
    hw_reading_free(&reading);
    return status;
}

hawser_status hw_load_memory(const char *name, const char *text, size_t bytes, size_t chunk_bytes, const hawser_load *load,
                             hawser_dataset **dataset, hawser_error *error)
{
    hawser_status status;
    load_again again;
    load_how how = {.quoted = load->parts > 1};
    *dataset = NULL;
    do {
        hw_reading reading;
        double began = hw_seconds();
        hawser_load exact = *load;
        exact.labels = how.labels ? HW_LABELS_AS_WORDS : load->labels;
        hw_load_begin(&reading, &exact, load->memory_limit, how.as_table);
        reading.quoted = how.quoted;
        reading.chunk_bytes = chunk_bytes;
        status = hw_input_memory(&reading.input, name, text, bytes, &reading.budget, error);
        status = finish(&reading, status, began, dataset, &again, error);
    } while (again != AGAIN_NOT && read_again(&how, again, false));
    return status;
}
