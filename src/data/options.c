/* options.c - the option rows of the readers, and their conversion to a hawser_load. */
#include <string.h>

#include "base/argument.h"
#include "data/formats.h"
#include "data/table/schema.h"
#include "data/vocabulary.h"
#include "hawser/data.h"

static const hawser_option rows[] = {
    {"format", HAWSER_WORD, "guess", "guess" HW_FORMATS(HW_ROW_OR_WORD), "NAME",
     "format of the input; guess looks at its first bytes", "Formats", 0},
    {"target", HAWSER_TEXT, NULL, NULL, "COLUMN",
     "a column, none, or a file with only the target. A column has a name or a number from 0 (negative: from the end); if "
     "unset, it is the first one, or none for idx and k-means",
     NULL, 0},
    {"weights", HAWSER_TEXT, NULL, NULL, "COLUMN", "weights of rows: a column or a file; the file has one number per row",
     NULL, 0},
    {"offset", HAWSER_TEXT, NULL, NULL, "COLUMN",
     "added to every prediction: a column or a file; the file has one number per row", NULL, 0},
    {"exposure", HAWSER_TEXT, NULL, NULL, "COLUMN",
     "of counts (train poisson): a column or a file; numbers > 0, whose logarithm is the offset", "Counts", 0},
    {"names", HAWSER_PATH, NULL, NULL, "FILE", "file of column names, one per line, for formats without names", "Formats",
     0},
    {"header", HAWSER_WORD, "guess", "guess|yes|no", "WHEN", "whether a CSV input begins with column names", "Formats", 0},
    {"delimiter", HAWSER_TEXT, NULL, NULL, "CHAR",
     "separator of CSV fields: one character (' ' is one blank), tab, or blanks for any number of blanks and tabs; if "
     "unset, "
     "detected among , ; tab and blanks",
     "Formats", 0},
    {"columns", HAWSER_TEXT, NULL, NULL, "LIST", "features of a CSV input, by name or number; if unset, all columns",
     "Formats", 0},
    {"ignore", HAWSER_TEXT, NULL, NULL, "LIST", "CSV columns that are not read, by name or number", NULL, 0},
    {"categories", HAWSER_TEXT, "auto", NULL, "LIST",
     "CSV columns that are read as words. auto: columns without a number are words; none: words are refused", NULL, 0},
    {"dates", HAWSER_TEXT, NULL, NULL, "LIST",
     "CSV columns of dates in ISO 8601; they become days as a number, and month, weekday and hour as categories", NULL, 0},
    {"missing", HAWSER_TEXT, "refuse", NULL, "HOW",
     "missing values: refuse, zero, mean, drop, level. refuse ends the load, zero and mean (of the column in the training "
     "data) replace them, drop leaves the row out, level makes missing words a level of their own; two (mean,level) are for "
     "numbers and words",
     NULL, 0},
    {"text", HAWSER_TEXT, NULL, NULL, "COLUMN",
     "CSV: the features are the counts of the words of this column alone; other columns without a role are not read", "Text",
     0},
    {"min-length", HAWSER_INTEGER, "2", "[1,1000]", "N",
     "text: characters of a word at least. A word is a run of letters and digits, in lower case", "Text", 0},
    {"min-documents", HAWSER_TEXT, NULL, NULL, "N",
     "sparse data: keep words (columns) that at least this many rows have; 0.01 is a share of the rows", "Text", 0},
    {"max-documents", HAWSER_TEXT, NULL, NULL, "N",
     "sparse data: keep words (columns) that at most this many rows have; 0.5 is a share of the rows", "Text", 0},
    {"max-words", HAWSER_INTEGER, NULL, "[1,4294967294]", "N",
     "sparse data: keep the most frequent words (columns), by the sums of their counts", "Text", 0},
    {"stop-words", HAWSER_TEXT, NULL, NULL, "LIST",
     "words (names of columns) that are left out: english, or a file with one word per line", "Text", 0},
    {"index-base", HAWSER_WORD, "guess", "guess|0|1", "BASE",
     "number of the first column in svmlight input; guess: 0 if index 0 occurs anywhere, else 1", "Formats", 0},
    {"type", HAWSER_WORD, "f64", "f64|f32", "TYPE", "storage of the values; arithmetic is in double either way", "Formats",
     0},
    {"memory-limit", HAWSER_BYTES, NULL, "[1M,8E)", "BYTES",
     "memory that a load or a run may take; if unset, what the machine and its cgroup have free, divided among the nodes of "
     "the host",
     "Machine", 0},
    {"threads", HAWSER_INTEGER, "0", "[0,4096]", "N",
     "threads that parse the input, and workers that compute at the same time; 0: all of the job", "Machine", 0},
    {0},
};

const hawser_option *hawser_data_rows(void)
{
    return rows;
}

static bool word_is(const hawser_options *options, const char *key, const char *word)
{
    const char *text = hawser_options_text(options, key);
    return text != NULL && strcmp(text, word) == 0;
}

static hawser_status delimiter_of(const hawser_options *options, char *delimiter, hawser_error *error)
{
    const char *text = hawser_options_text(options, "delimiter");
    *delimiter = 0;
    if (text == NULL)
        return HAWSER_OK;
    bool tab = strcmp(text, "tab") == 0, blanks = strcmp(text, "blanks") == 0;
    *delimiter = tab ? '\t' : blanks ? HAWSER_BLANKS : text[0];
    bool one = *delimiter != '\0' && (text[1] == '\0' || tab || blanks);
    if (!one || strchr("\"\n\r.+-eE0123456789", *delimiter) != NULL || (*delimiter == HAWSER_BLANKS && !blanks))
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--delimiter: '%s': expected one character that is no part of a number, tab or blanks", text);
    return HAWSER_OK;
}

hawser_status hawser_load_from_options(const hawser_options *options, hawser_load *load, hawser_error *error)
{
    HW_GIVEN(options);
    HW_GIVEN(load);
    memset(load, 0, sizeof *load);
    load->format = hw_format_find(hawser_options_text(options, "format"));
    load->target = hawser_options_text(options, "target");
    load->weights = hawser_options_text(options, "weights");
    load->offset = hawser_options_text(options, "offset");
    load->exposure = hawser_options_text(options, "exposure");
    const char *folds = hawser_options_has(options, "folds") ? hawser_options_text(options, "folds") : NULL;
    load->groups = folds != NULL && strncmp(folds, "by:", 3) == 0 ? folds + 3 : NULL;
    load->names = hawser_options_text(options, "names");
    load->missing = hawser_options_text(options, "missing");
    load->select = hawser_options_text(options, "columns");
    load->ignore = hawser_options_text(options, "ignore");
    load->categories = hawser_options_text(options, "categories");
    load->dates = hawser_options_text(options, "dates");
    load->text = hawser_options_text(options, "text");
    load->min_length = (uint32_t)hawser_options_integer(options, "min-length");
    load->min_documents = hawser_options_text(options, "min-documents");
    load->max_documents = hawser_options_text(options, "max-documents");
    load->max_words =
        hawser_options_text(options, "max-words") != NULL ? (size_t)hawser_options_integer(options, "max-words") : 0;
    load->stop_words = hawser_options_text(options, "stop-words");
    load->header = word_is(options, "header", "yes") - word_is(options, "header", "no");
    load->index_base = word_is(options, "index-base", "0") ? 1 : word_is(options, "index-base", "1") ? 2 : 0;
    load->type = word_is(options, "type", "f32") ? HAWSER_F32 : HAWSER_F64;
    load->threads = (uint32_t)hawser_options_integer(options, "threads");
    load->memory_limit = hawser_options_has(options, "memory-limit") ? hawser_options_bytes(options, "memory-limit") : 0;
    HAWSER_TRY(hw_vocabulary_check(load, error));
    return delimiter_of(options, &load->delimiter, error);
}

hawser_status hawser_load_follow(hawser_load *load, const hawser_dataset *data, hawser_schema **named, hawser_error *error)
{
    HW_GIVEN(load);
    HW_GIVEN(data);
    HW_GIVEN(named);
    *named = NULL;
    if (hawser_dataset_schema(data) == NULL)
        HAWSER_TRY(hw_schema_of_names(data, named, error));
    const hawser_load_figures *figures = hawser_dataset_figures(data);
    load->columns = hawser_dataset_matrix(data)->cols;
    load->schema = *named != NULL ? *named : hawser_dataset_schema(data);
    if (load->target == NULL && load->schema != NULL)
        load->target = hawser_dataset_target_name(data);
    load->target_place = figures->target_column;
    if (load->index_base == 0)
        load->index_base = figures->index_base + 1;
    load->means = hawser_dataset_means(data);
    load->guess_text = figures->text_rules != 0;
    if (load->guess_text && load->format == HAWSER_DOCUMENTS)
        load->format = HAWSER_GUESS; /* a table of the words is one here, too, as for a model of text */
    load->min_documents = load->max_documents = load->stop_words = NULL; /* the words are those of `data` */
    load->max_words = 0;
    return HAWSER_OK;
}
