#include "data/vocabulary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/layout.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/type.h"
#include "data/format/text_word.h"
#include "data/formats.h"
#include "data/layout/flip.h"
#include "data/stop_words.h"
#include "data/table/schema.h"

bool hw_vocabulary_asked(const hawser_load *load)
{
    return load->schema == NULL && load->columns == 0 &&
           (load->min_documents != NULL || load->max_documents != NULL || load->max_words != 0 || load->stop_words != NULL);
}

bool hw_vocabulary_is_new(const hawser_load *load)
{
    return load->schema == NULL && load->columns == 0 && (load->format == HAWSER_DOCUMENTS || load->text != NULL);
}

bool hw_vocabulary_is_cut(const hawser_dataset *rows)
{
    return rows->figures.text_rules != 0 && rows->figures.format != HAWSER_CACHE;
}

/* ------------------------------------------------------------------------------------------------------- bounds ---- */

/* A number of documents, or a share of them. */
typedef struct bound {
    double number;
    bool is_share;
} bound;

/* Reads a whole number, or a number with a decimal point, which is a share. */
static hawser_status read_bound(const char *key, const char *text, bound *out, hawser_error *error)
{
    const char *end = hawser_read_number(text, &out->number);
    const bool whole = text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
    out->is_share = !whole;
    const bool read = end != NULL && *end == '\0' && out->number >= 0 && (whole ? out->number < 0x1p32 : out->number <= 1);
    return read ? HAWSER_OK
                : hawser_fail(error, HAWSER_BAD_OPTION,
                              "--%s %.60s: expected a number of documents, as 5, or a share of them up to 1.0, as 0.5", key,
                              text);
}

hawser_status hw_vocabulary_check(const hawser_load *load, hawser_error *error)
{
    bound least = {0}, most = {0};
    if (load->min_documents != NULL)
        HAWSER_TRY(read_bound("min-documents", load->min_documents, &least, error));
    if (load->max_documents != NULL)
        HAWSER_TRY(read_bound("max-documents", load->max_documents, &most, error));
    if (load->min_documents != NULL && load->max_documents != NULL && least.is_share == most.is_share &&
        least.number > most.number)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--min-documents %.60s is more than --max-documents %.60s",
                           load->min_documents, load->max_documents);
    return HAWSER_OK;
}

/* --------------------------------------------------------------------------------------------------------- counts ---- */

hawser_status hw_vocabulary_new(size_t count, const char *const *names, hw_vocabulary *vocabulary, hawser_error *error)
{
    *vocabulary = (hw_vocabulary){.count = count, .names = names};
    HAWSER_TRY(HW_NEW(&vocabulary->documents, count + 1, "counts of words", error));
    return HW_NEW(&vocabulary->tokens, count + 1, "counts of words", error);
}

void hw_vocabulary_free(hw_vocabulary *vocabulary)
{
    free(vocabulary->documents);
    free(vocabulary->tokens);
    *vocabulary = (hw_vocabulary){0};
}

/* Refuses data whose columns are no counts: dense ones, categories and dates. `input` begins the message. */
static hawser_status check_fit(const hawser_load *load, const char *input, const hawser_dataset *dataset,
                               hawser_error *error)
{
    const char *option = load->min_documents != NULL   ? "min-documents"
                         : load->max_documents != NULL ? "max-documents"
                         : load->max_words != 0        ? "max-words"
                                                       : "stop-words";
    if (!hw_vocabulary_asked(load))
        return HAWSER_OK;
    if (hw_is_dense(&dataset->matrix))
        return hawser_fail(
            error, HAWSER_BAD_OPTION,
            "--%s: %s is dense, and words are counted in sparse data, as text, svmlight and docword; leave it "
            "out",
            option, input);
    if (dataset->schema != NULL && !hw_schema_is_plain(dataset->schema))
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--%s: %s has columns of categories or dates, and words are counted in other columns; leave it "
                           "out",
                           option, input);
    if (load->stop_words != NULL && dataset->columns == NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--stop-words %.200s: the columns of %s have no names, which words are; give them with --names",
                           load->stop_words, input);
    return HAWSER_OK;
}

/* Adds an entry of a column of the vocabulary. */
static hawser_status add_entry(const hawser_load *load, hw_vocabulary *v, size_t column, double value, hawser_error *error)
{
    if (value == 0)
        return HAWSER_OK;
    v->documents[column]++;
    if (load->max_words == 0)
        return HAWSER_OK;
    if (!(value > 0 && value < 0x1p53 && floor(value) == value))
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "--max-words counts words, and the value %.17g in column %zu (from 0) is no count, which is a "
                           "whole number from 0; leave the option out",
                           value, column);
    v->tokens[column] += (uint64_t)value;
    return HAWSER_OK;
}

hawser_status hw_vocabulary_count(const hawser_load *load, const hawser_dataset *rows, const double *weights,
                                  const uint32_t *columns, int shift, hw_vocabulary *vocabulary, hawser_error *error)
{
    const hawser_matrix *A = &rows->matrix;
    const bool by_row = A->layout == HAWSER_CSR;
    const size_t lines = by_row ? A->rows : A->cols;
    for (size_t i = 0; i < A->rows; i++)
        vocabulary->rows += weights == NULL || weights[i] > 0;
    for (size_t line = 0; A->stored > 0 && line < lines; line++)
        for (uint64_t e = A->offsets[line]; e < A->offsets[line + 1]; e++) {
            const size_t row = by_row ? line : A->indices[e], column = by_row ? A->indices[e] : line;
            if (weights != NULL && !(weights[row] > 0))
                continue;
            const size_t at = columns != NULL ? columns[column] : (size_t)((int64_t)column + shift);
            HAWSER_TRY(add_entry(load, vocabulary, at, hw_value_at(A->values, A->type, e), error));
        }
    return HAWSER_OK;
}

/* --------------------------------------------------------------------------------------------------------- choice ---- */

/* Marks columns whose number of documents is out of bounds. */
static hawser_status leave_by_documents(const hawser_load *load, const hw_vocabulary *v, uint32_t *map, hawser_error *error)
{
    bound least = {0}, most = {.number = 1, .is_share = true};
    if (load->min_documents != NULL)
        HAWSER_TRY(read_bound("min-documents", load->min_documents, &least, error));
    if (load->max_documents != NULL)
        HAWSER_TRY(read_bound("max-documents", load->max_documents, &most, error));
    const double low = least.is_share ? least.number * (double)v->rows : least.number,
                 high = most.is_share ? most.number * (double)v->rows : most.number;
    for (size_t j = 0; j < v->count; j++)
        if ((double)v->documents[j] < low || (double)v->documents[j] > high ||
            (v->documents[j] == 0 && hw_vocabulary_is_new(load))) /* a word of rows of weight 0 alone */
            map[j] = HW_NO_COLUMN;
    return HAWSER_OK;
}

static hawser_status leave_stop_words(const hawser_load *load, const hw_vocabulary *v, uint32_t *map, hawser_error *error)
{
    hw_levels words = {0};
    char *text = NULL;
    size_t size = 0;
    if (load->stop_words == NULL || v->names == NULL)
        return HAWSER_OK;
    hawser_status status = hw_stop_words(load->stop_words, hw_vocabulary_is_new(load), &words, error);
    for (size_t j = 0; j < v->count && status == HAWSER_OK; j++) {
        bool is = false;
        status = hw_is_stop_word(&words, v->names[j], &text, &size, &is, error);
        map[j] = is ? HW_NO_COLUMN : map[j];
    }
    free(text);
    hw_levels_free(&words);
    return status;
}

/* A column by how often it occurs. */
typedef struct frequent {
    uint64_t tokens;
    const char *name; /* or NULL */
    uint32_t column;
} frequent;

static int compare_frequent(const void *a, const void *b)
{
    const frequent *x = a, *y = b;
    if (x->tokens != y->tokens)
        return (x->tokens < y->tokens) - (x->tokens > y->tokens);
    const int names = x->name != NULL && y->name != NULL ? strcmp(x->name, y->name) : 0;
    return names != 0 ? names : (x->column > y->column) - (x->column < y->column);
}

/* Leaves the most frequent of the columns that are left. */
static hawser_status leave_rare(const hawser_load *load, const hw_vocabulary *v, uint32_t *map, hawser_error *error)
{
    frequent *left = NULL;
    size_t count = 0;
    if (load->max_words == 0)
        return HAWSER_OK;
    HAWSER_TRY(HW_NEW(&left, v->count, "counts of words", error));
    for (size_t j = 0; j < v->count; j++)
        if (map[j] != HW_NO_COLUMN)
            left[count++] = (frequent){v->tokens[j], v->names != NULL ? v->names[j] : NULL, (uint32_t)j};
    qsort(left, count, sizeof *left, compare_frequent);
    for (size_t k = load->max_words; k < count; k++)
        map[left[k].column] = HW_NO_COLUMN;
    free(left);
    return HAWSER_OK;
}

static hawser_status none_left(const hawser_load *load, const char *input, const hw_vocabulary *v, hawser_error *error)
{
    if (!hw_vocabulary_asked(load))
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: no word is left: the text has no words of %u characters or more",
                           input, load->min_length != 0 ? load->min_length : (uint32_t)HW_TEXT_LEAST);
    return hawser_fail(error, HAWSER_BAD_INPUT,
                       "%s: no word is left: of %zu words in %llu documents, --min-documents, --max-documents, --max-words "
                       "and --stop-words leave none; relax them",
                       input, v->count, (unsigned long long)v->rows);
}

hawser_status hw_vocabulary_choose(const hawser_load *load, const char *input, const hw_vocabulary *vocabulary,
                                   uint32_t *map, size_t *kept, hawser_error *error)
{
    const hw_vocabulary *v = vocabulary;
    *kept = 0;
    memset(map, 0, v->count * sizeof *map);
    HAWSER_TRY(leave_by_documents(load, v, map, error));
    HAWSER_TRY(leave_stop_words(load, v, map, error));
    HAWSER_TRY(leave_rare(load, v, map, error));
    for (size_t j = 0; j < v->count; j++) {
        const bool stays = map[j] != HW_NO_COLUMN;
        if (stays)
            map[j] = v->names != NULL ? (uint32_t)*kept : (uint32_t)j;
        *kept += stays;
    }
    return *kept > 0 ? HAWSER_OK : none_left(load, input, v, error);
}

/* ---------------------------------------------------------------------------------------------------- whole inputs ---- */

static hawser_status keep_chosen(const hawser_load *load, hw_budget *budget, const char *input, hawser_dataset *dataset,
                                 uint32_t *map, hw_vocabulary *v, hawser_error *error)
{
    size_t kept;
    HAWSER_TRY(hw_vocabulary_count(load, dataset, dataset->weights, NULL, 0, v, error));
    HAWSER_TRY(hw_vocabulary_choose(load, input, v, map, &kept, error));
    const bool named = dataset->columns != NULL;
    HAWSER_TRY(hw_columns_keep(dataset, budget, map, 0, named ? kept : dataset->matrix.cols, false, error));
    return named ? hw_columns_name(dataset, v->names, v->count, map, kept, error) : HAWSER_OK;
}

/* Chooses among the columns of an input that is whole here. */
static hawser_status choose(const hawser_load *load, hw_budget *budget, const char *input, hawser_dataset *dataset,
                            hawser_error *error)
{
    hw_vocabulary v = {0};
    uint32_t *map = NULL;
    const size_t cols = dataset->matrix.cols, bytes = cols * (2 * sizeof *v.documents + sizeof *map);
    HAWSER_TRY(check_fit(load, input, dataset, error));
    HAWSER_TRY(hw_budget_take(budget, bytes, error));
    hawser_status status = hw_vocabulary_new(cols, dataset->columns, &v, error);
    HAWSER_THEN(status, HW_NEW(&map, cols, "words that stay", error));
    HAWSER_THEN(status, keep_chosen(load, budget, input, dataset, map, &v, error));
    free(map);
    hw_vocabulary_free(&v);
    hw_budget_give(budget, bytes);
    return status;
}

/* Gives text by rows the layout by columns. */
static hawser_status turn(hw_budget *budget, hawser_dataset *dataset, hawser_error *error)
{
    const hawser_matrix *A = &dataset->matrix;
    const uint64_t bytes = A->stored * (sizeof *A->indices + hw_type_size(A->type)) + (A->cols + 1) * sizeof *A->offsets;
    hw_flipped flipped;
    HAWSER_TRY(hw_budget_take(budget, bytes, error));
    HAWSER_TRY(hw_flip(A, 0, A->cols, &flipped, error));
    hw_dataset_drop_entries(dataset);
    dataset->matrix = flipped.matrix;
    hw_dataset_own(dataset, flipped.offsets);
    hw_dataset_own(dataset, flipped.indices);
    hw_dataset_own(dataset, flipped.values);
    return HAWSER_OK;
}

hawser_status hw_vocabulary_settle(const hawser_load *load, hw_budget *budget, const char *input, hawser_dataset *dataset,
                                   hawser_error *error)
{
    const bool text = dataset->figures.text_rules != 0;
    if (hw_vocabulary_asked(load) || hw_vocabulary_is_new(load))
        HAWSER_TRY(choose(load, budget, input, dataset, error));
    if (!text || dataset->matrix.layout != HAWSER_CSR || load->rows_layout != 0 || dataset->figures.parted)
        return HAWSER_OK;
    return turn(budget, dataset, error);
}
