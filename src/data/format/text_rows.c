/* text_rows.c - from the numbered words of documents to a matrix of counts: the numbers become columns, those of each
 * document are sorted, and equal ones are counted. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/format/text.h"
#include "data/layout/assemble.h"
#include "data/table/schema.h"

/* Memory of one thread to sort in. */
typedef struct row_sorter {
    uint32_t *other;
    size_t capacity;
} row_sorter;

typedef struct count_work {
    hw_reading *reading;
    hw_text_part **parts; /* that have documents, in their order */
    uint64_t *first_rows;
    size_t part_count;
    uint32_t threads, least;
    uint32_t **columns; /* by reader and number of a word: its column; NULL: the numbers are columns */
    uint64_t *offsets;
    uint32_t *indices;
    void *values;
    bool filling;
} count_work;

/* ------------------------------------------------------------------------------------------------------ sorting ---- */

/* Sorts few numbers. */
static void insert(uint32_t *numbers, size_t count)
{
    for (size_t k = 1; k < count; k++) {
        const uint32_t number = numbers[k];
        size_t at = k;
        for (; at > 0 && numbers[at - 1] > number; at--)
            numbers[at] = numbers[at - 1];
        numbers[at] = number;
    }
}

/* Sorts by one byte after the other, the least significant first. */
static void sort_by_bytes(uint32_t *numbers, size_t count, uint32_t *other)
{
    uint32_t most = 0, *from = numbers, *to = other;
    for (size_t k = 0; k < count; k++)
        most |= numbers[k];
    for (int shift = 0; shift < 32 && most >> shift != 0; shift += 8) {
        size_t places[257] = {0};
        for (size_t k = 0; k < count; k++)
            places[(from[k] >> shift & 0xff) + 1]++;
        for (int k = 0; k < 256; k++)
            places[k + 1] += places[k];
        for (size_t k = 0; k < count; k++)
            to[places[from[k] >> shift & 0xff]++] = from[k];
        uint32_t *turn = from;
        from = to;
        to = turn;
    }
    if (from != numbers)
        memcpy(numbers, from, count * sizeof *numbers);
}

static hawser_status sort_row(uint32_t *numbers, size_t count, row_sorter *sorter, hawser_error *error)
{
    enum { FEW = 64 };
    if (count <= FEW) {
        insert(numbers, count);
        return HAWSER_OK;
    }
    HAWSER_TRY(HW_GROW(&sorter->other, &sorter->capacity, count, "a document to sort", error));
    sort_by_bytes(numbers, count, sorter->other);
    return HAWSER_OK;
}

/* ------------------------------------------------------------------------------------------------------ columns ---- */

/* Puts the words of all readers into the first one's lexicon, and stores their numbers there. */
static hawser_status unite_words(const hw_text_load *text, uint32_t **columns, hawser_error *error)
{
    hw_lexicon *all = &text->readers[0].words;
    for (uint32_t k = 0; k < text->count; k++) {
        hw_lexicon *own = &text->readers[k].words;
        const size_t count = own->count;
        HAWSER_TRY(hw_pages_new(all->budget, (void **)&columns[k], (count + 1) * sizeof **columns, error));
        for (uint32_t w = 0; w < count; w++)
            if (k == 0)
                columns[k][w] = w;
            else
                HAWSER_TRY(hw_lexicon_put(all, hw_lexicon_text(own, w), own->words[w].length, own->words[w].hash,
                                          &columns[k][w], error));
    }
    return HAWSER_OK;
}

/* Makes the names of the columns, in the order of their bytes: pointers, then texts. *places: by number of a word in the
 * lexicon; pages. */
static hawser_status name_columns(const hw_lexicon *all, const uint32_t *order, uint32_t *places, hawser_dataset *dataset,
                                  hawser_error *error)
{
    char **block;
    const size_t bytes = all->count * sizeof *block + all->used;
    HAWSER_TRY(hw_budget_take(all->budget, bytes, error));
    HAWSER_TRY(hw_new_array((void **)&block, bytes + 1, 1, "the words of the text", error));
    hw_dataset_own(dataset, block);
    char *at = (char *)(block + all->count);
    for (size_t k = 0; k < all->count; k++) {
        const size_t length = all->words[order[k]].length + 1;
        memcpy(at, hw_lexicon_text(all, order[k]), length);
        block[k] = at;
        at += length;
        places[order[k]] = (uint32_t)k;
    }
    dataset->columns = (const char *const *)block;
    return HAWSER_OK;
}

/* Gives each word of each reader its column, and names the columns. */
static hawser_status number_columns(const hw_text_load *text, uint32_t **columns, hawser_dataset *dataset,
                                    hawser_error *error)
{
    hw_lexicon *all = &text->readers[0].words;
    uint32_t *order = NULL;
    const size_t first = all->count; /* before the other readers' words are added */
    HAWSER_TRY(unite_words(text, columns, error));
    const size_t bytes = (all->count + 1) * 2 * sizeof *order;
    HAWSER_TRY(hw_pages_new(all->budget, (void **)&order, bytes, error));
    uint32_t *places = order + all->count + 1;
    hawser_status status = hw_lexicon_sort(all, order, error);
    HAWSER_THEN(status, name_columns(all, order, places, dataset, error));
    for (uint32_t k = 0; status == HAWSER_OK && k < text->count; k++)
        for (size_t w = 0; w < (k == 0 ? first : text->readers[k].words.count); w++)
            columns[k][w] = places[columns[k][w]];
    hw_pages_free(all->budget, order, bytes);
    dataset->matrix.cols = all->count;
    return status;
}

/* --------------------------------------------------------------------------------------------------------- rows ---- */

/* Sorts the columns of the words of a part's documents, and counts the different ones of each. */
static hawser_status count_part(const count_work *w, size_t p, row_sorter *sorter, hawser_error *error)
{
    const hw_documents *from = &w->parts[p]->documents;
    const uint32_t *columns = w->columns != NULL ? w->columns[from->reader] : NULL;
    uint64_t begin = 0, *offsets = w->offsets + w->first_rows[p] + 1;
    for (uint64_t r = 0; r < from->rows; begin = from->ends[r++]) {
        const size_t count = (size_t)(from->ends[r] - begin);
        uint32_t *numbers = from->numbers + begin;
        uint64_t different = count > 0;
        for (size_t k = 0; columns != NULL && k < count; k++)
            numbers[k] = columns[numbers[k]];
        HAWSER_TRY(sort_row(numbers, count, sorter, error));
        for (size_t k = 1; k < count; k++)
            different += numbers[k] != numbers[k - 1];
        offsets[r] = different;
    }
    return HAWSER_OK;
}

static void put_count(const count_work *w, uint64_t place, uint32_t column, size_t times)
{
    w->indices[place] = column;
    if (w->reading->load->type == HAWSER_F32)
        ((float *)w->values)[place] = (float)times;
    else
        ((double *)w->values)[place] = (double)times;
}

/* Stores the counts of a part's documents. The arrays' pages take memory as they are written, while the parts are freed. */
static hawser_status fill_part(const count_work *w, size_t p, hawser_error *error)
{
    hw_documents *from = &w->parts[p]->documents;
    const uint64_t row = w->first_rows[p];
    const size_t entry = sizeof *w->indices + (w->reading->load->type == HAWSER_F32 ? sizeof(float) : sizeof(double));
    uint64_t place = w->offsets[row];
    HAWSER_TRY(hw_budget_take(&w->reading->budget, (w->offsets[row + from->rows] - place) * entry, error));
    uint64_t k = 0;
    for (uint64_t r = 0; r < from->rows; r++)
        while (k < from->ends[r]) {
            const uint64_t first = k;
            while (k < from->ends[r] && from->numbers[k] == from->numbers[first])
                k++;
            put_count(w, place++, from->numbers[first], (size_t)(k - first));
        }
    hw_pages_free(&w->reading->budget, from->pages, from->bytes);
    *from = (hw_documents){0};
    return HAWSER_OK;
}

static hawser_status work_parts(void *context, uint32_t thread, hawser_error *error)
{
    const count_work *w = context;
    row_sorter sorter = {0};
    hawser_status status = HAWSER_OK;
    for (size_t p = thread; p < w->part_count && status == HAWSER_OK; p += w->threads)
        status = w->filling ? fill_part(w, p, error) : count_part(w, p, &sorter, error);
    free(sorter.other);
    return status;
}

/* Makes the arrays of all rows. */
static hawser_status make_rows(count_work *w, uint64_t rows, hawser_dataset *dataset, hawser_error *error)
{
    const hawser_type type = w->reading->load->type;
    HAWSER_TRY(hw_budget_array(&w->reading->budget, (void **)&w->offsets, rows + 1, sizeof *w->offsets, "offsets", error));
    hw_dataset_own(dataset, w->offsets);
    w->offsets[0] = 0;
    HAWSER_TRY(hw_in_parallel(w->threads, work_parts, w, error));
    for (uint64_t r = 0; r < rows; r++)
        w->offsets[r + 1] += w->offsets[r];
    const uint64_t stored = w->offsets[rows];
    HAWSER_TRY(hw_huge_array((void **)&w->indices, stored, sizeof *w->indices, "indices", error));
    hw_dataset_own(dataset, w->indices);
    HAWSER_TRY(hw_huge_array(&w->values, stored, type == HAWSER_F32 ? sizeof(float) : sizeof(double), "values", error));
    hw_dataset_own(dataset, w->values);
    w->filling = true;
    HAWSER_TRY(hw_in_parallel(w->threads, work_parts, w, error));
    dataset->matrix = (hawser_matrix){.rows = rows,
                                      .cols = dataset->matrix.cols,
                                      .stored = stored,
                                      .layout = HAWSER_CSR,
                                      .type = type,
                                      .offsets = w->offsets,
                                      .indices = w->indices,
                                      .values = w->values};
    dataset->figures.text_rules = HW_TEXT_RULES;
    dataset->figures.text_length = w->least;
    dataset->equals.begun = true; /* counts are stored as they are */
    return HAWSER_OK;
}

/* Lists the parts and their first rows. */
static hawser_status list_parts(count_work *w, uint64_t *rows, hawser_error *error)
{
    const uint64_t count = hw_reading_parts(w->reading);
    HAWSER_TRY(HW_NEW(&w->parts, count + 1, "parts", error));
    HAWSER_TRY(HW_NEW(&w->first_rows, count + 1, "row numbers", error));
    for (uint64_t p = 0; p < count; p++) {
        hw_text_part *part = hw_reading_part(w->reading, p);
        part->documents.reader = (uint32_t)(p % w->reading->input.readers);
        w->parts[w->part_count] = part;
        w->first_rows[w->part_count++] = *rows;
        *rows += part->documents.rows;
    }
    return hw_check_rows(w->reading, *rows, error);
}

static hawser_status assemble(count_work *w, const hw_text_load *text, hawser_dataset *dataset, hawser_error *error)
{
    uint64_t rows = 0;
    HAWSER_TRY(list_parts(w, &rows, error));
    w->threads = w->reading->threads < w->part_count ? w->reading->threads : (uint32_t)w->part_count;
    w->threads = w->threads > 0 ? w->threads : 1;
    for (uint32_t k = 0; k < text->count; k++)
        dataset->figures.unknown_words += text->readers[k].unknown;
    if (text->has_words) {
        dataset->matrix.cols = text->lexicon.count;
        HAWSER_TRY(make_rows(w, rows, dataset, error));
        /* rows in pieces need no names */
        return w->reading->keeps_equals ? hw_dataset_name_columns(dataset, w->reading->load->schema, error) : HAWSER_OK;
    }
    HAWSER_TRY(HW_NEW(&w->columns, text->count, "words", error));
    HAWSER_TRY(number_columns(text, w->columns, dataset, error));
    return make_rows(w, rows, dataset, error);
}

hawser_status hw_text_assemble(hw_reading *reading, hw_text_load *text, hawser_dataset *dataset, hawser_error *error)
{
    count_work w = {.reading = reading, .least = text->least};
    const size_t own = text->count > 0 ? text->readers[0].words.count : 0;
    const hawser_status status = assemble(&w, text, dataset, error);
    for (uint32_t k = 0; w.columns != NULL && k < text->count; k++) {
        const size_t count = k == 0 ? own : text->readers[k].words.count;
        hw_pages_free(&reading->budget, w.columns[k], (count + 1) * sizeof **w.columns);
    }
    free(w.columns);
    free(w.parts);
    free(w.first_rows);
    return status;
}
