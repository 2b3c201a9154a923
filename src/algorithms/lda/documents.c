#include "algorithms/lda/documents.h"

#include <math.h>

/* The entries of a row. */
typedef struct row_entries {
    const uint32_t *columns; /* NULL: the row is dense */
    const char *values;
    hawser_type type;
    size_t count;
} row_entries;

static row_entries entries_of(const hawser_matrix *documents, size_t row)
{
    size_t size = documents->type == HAWSER_F32 ? sizeof(float) : sizeof(double);
    bool sparse = documents->layout == HAWSER_CSR;
    uint64_t first = sparse ? documents->offsets[row] : (uint64_t)row * documents->stride;
    return (row_entries){.columns = sparse ? documents->indices + first : NULL,
                         .values = (const char *)documents->values + first * size,
                         .type = documents->type,
                         .count = sparse ? (size_t)(documents->offsets[row + 1] - first) : documents->cols};
}

static double value_at(const row_entries *entries, size_t k)
{
    return entries->type == HAWSER_F32 ? (double)((const float *)(const void *)entries->values)[k]
                                       : ((const double *)(const void *)entries->values)[k];
}

static size_t column_at(const row_entries *entries, size_t k)
{
    return entries->columns != NULL ? entries->columns[k] : k;
}

static hawser_status check_counts(const hawser_matrix *documents, hawser_error *error)
{
    for (size_t i = 0; i < documents->rows; i++) {
        row_entries entries = entries_of(documents, i);
        for (size_t k = 0; k < entries.count; k++) {
            double value = value_at(&entries, k);
            if (!(value >= 0.0 && value <= HW_COUNT_MOST && value == floor(value)))
                return hawser_fail(error, HAWSER_BAD_INPUT,
                                   "row %zu, column %zu: %.17g is no count; topics need whole numbers from 0 to 2147483647, "
                                   "such as how often a document has a word, and not tf-idf",
                                   documents->first + i + 1, column_at(&entries, k) + 1, value);
        }
    }
    return HAWSER_OK;
}

hawser_status hw_documents_check(const hawser_matrix *documents, size_t words, hawser_error *error)
{
    if (documents->cols > words)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the data have %zu columns, the model %zu", documents->cols, words);
    return check_counts(documents, error);
}

size_t hw_document_words(const hawser_matrix *documents, size_t row, hw_counted_word *words)
{
    row_entries entries = entries_of(documents, row);
    size_t count = 0;
    for (size_t k = 0; k < entries.count; k++) {
        double value = value_at(&entries, k);
        if (value > 0.0)
            words[count++] = (hw_counted_word){(uint32_t)column_at(&entries, k), (uint32_t)value};
    }
    return count;
}

size_t hw_document_room(const hawser_matrix *documents, size_t row)
{
    return documents->layout == HAWSER_CSR ? (size_t)(documents->offsets[row + 1] - documents->offsets[row])
                                           : documents->cols;
}
