/* market_equal.c - the columns of Matrix Market that have one value (data/equal.h). Entries come in any order, so that the
 * loaded matrix says which columns are full and equal; only if there are such is the text read again, for them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/layout.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/type.h"
#include "data/format/market.h"
#include "data/load.h"

/* Stores whether each column has one value in all rows. */
static void find_full(const hawser_matrix *A, double *first, uint64_t *counts, bool *full)
{
    size_t lines = hw_lines(A);
    for (size_t j = 0; j < A->cols; j++)
        full[j] = true;
    for (size_t line = 0; line < lines; line++) {
        uint64_t begin = hw_is_dense(A) ? line * A->stride : A->offsets[line],
                 end = hw_is_dense(A) ? begin + hw_line_width(A) : A->offsets[line + 1];
        for (uint64_t e = begin; e < end; e++) {
            size_t j = !hw_is_by_row(A) ? line : hw_is_dense(A) ? (size_t)(e - begin) : A->indices[e];
            double value = hw_value_at(A->values, A->type, e);
            first[j] = counts[j] == 0 ? value : first[j];
            full[j] = full[j] && value == first[j];
            counts[j]++;
            if (!hw_is_by_row(A) && !full[j])
                break;
        }
    }
    for (size_t j = 0; j < A->cols; j++)
        full[j] = full[j] && counts[j] == A->rows;
}

/* What reads the text again. */
typedef struct second_look {
    const hw_market_shape *shape;
    hw_equals *list;
    uint64_t i, j; /* of the next number of an array */
} second_look;

static void see(const second_look *look, uint64_t column, double value, uint64_t digits, hawser_type type)
{
    hw_equal *item = column < UINT32_MAX ? (hw_equal *)(uintptr_t)hw_equals_find(look->list, (uint32_t)column) : NULL;
    if (item != NULL) /* a value that is stored as another one is added to those of the same place */
        (void)hw_equal_see(item, value, digits, type);
}

/* Finds the place of the next number of an array: column by column, or the lower triangle. */
static void take_place(second_look *look, uint64_t *row, uint64_t *column)
{
    *row = look->i;
    *column = look->j;
    if (++look->i == look->shape->rows) {
        look->j++;
        look->i = look->shape->symmetric ? look->j + look->shape->skew : 0;
    }
}

static hawser_status look_at_lines(void *context, hw_reading *reading, const hw_chunk *chunk, hw_text_part *part,
                                   hawser_error *error)
{
    second_look *look = context;
    const hw_market_shape *shape = look->shape;
    const char *at = chunk->begin;
    (void)part;
    if (chunk->offset < shape->skip)
        at += shape->skip - chunk->offset < (uint64_t)(chunk->end - at) ? shape->skip - chunk->offset
                                                                        : (uint64_t)(chunk->end - at);
    for (; at < chunk->end; at++) {
        uint64_t row = 0, column = 0;
        double value = 1;
        at = hw_skip_blanks(at);
        if (*at != '%' && *at != '\n') {
            if (!shape->array) {
                at = hw_skip_blanks(hw_digits(at, &row));
                at = hw_skip_blanks(hw_digits(at, &column));
                row--;
                column--;
            } else {
                take_place(look, &row, &column);
            }
            const char *end = shape->pattern ? at : hw_number(at, &value);
            if (end == NULL)
                return hw_chunk_fail(chunk, at, error, "the file has changed while it was read");
            uint64_t digits = end - at >= HW_EQUAL_DIGITS ? hw_equal_digits(at, end) : 0;
            see(look, column, value, digits, reading->load->type);
            if (shape->symmetric && row != column)
                see(look, row, shape->skew ? -value : value, digits, reading->load->type);
        }
        at = memchr(at, '\n', (size_t)(chunk->end - at));
        if (at == NULL)
            break;
    }
    return HAWSER_OK;
}

/* Reads the text again, by one thread. */
static hawser_status look_again(const hw_reading *reading, second_look *look, hawser_error *error)
{
    hw_reading again;
    const char *name = reading->input.files[0].name;
    hw_load_begin(&again, reading->load, reading->budget.limit, false);
    again.threads = 1;
    hawser_status status = hw_input_open(&again.input, &name, 1, &again.budget, error);
    HAWSER_THEN(status, hw_parse(&again, look_at_lines, look, error));
    hw_reading_free(&again);
    return status;
}

static hawser_status find(const hw_reading *reading, const hw_market_shape *shape, double *first, uint64_t *counts,
                          bool *full, hawser_dataset *dataset, hawser_error *error)
{
    hw_equals *list = &dataset->equals;
    second_look look = {.shape = shape, .list = list, .i = shape->symmetric && shape->skew};
    find_full(&dataset->matrix, first, counts, full);
    for (size_t j = 0; j < dataset->matrix.cols; j++)
        if (full[j])
            HAWSER_TRY(hw_equals_add(list, (uint32_t)j, NAN, 0, error));
    list->begun = list->count == 0;
    if (list->begun || !reading->input.all_mapped)
        return HAWSER_OK;
    list->begun = true;
    return look_again(reading, &look, error);
}

hawser_status hw_market_equals(const hw_reading *reading, const hw_market_shape *shape, hawser_dataset *dataset,
                               hawser_error *error)
{
    size_t cols = dataset->matrix.cols;
    double *first = NULL;
    uint64_t *counts = NULL;
    bool *full = NULL;
    hawser_status status = HW_NEW(&first, cols, "columns of one value", error);
    HAWSER_THEN(status, HW_NEW(&counts, cols, "columns of one value", error));
    HAWSER_THEN(status, HW_NEW(&full, cols, "columns of one value", error));
    HAWSER_THEN(status, find(reading, shape, first, counts, full, dataset, error));
    free(first);
    free(counts);
    free(full);
    return status;
}
