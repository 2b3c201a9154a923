#include "data/column_set.h"

#include <stdlib.h>

#include "base/memory.h"

hawser_status hw_column_set_new(size_t cols, hw_column_set *set, hawser_error *error)
{
    *set = (hw_column_set){.cols = cols, .words = cols / 64 + 1};
    HAWSER_TRY(HW_NEW(&set->bits, set->words, "a set of columns", error));
    return HW_NEW(&set->before, set->words, "a set of columns", error);
}

void hw_column_set_free(hw_column_set *set)
{
    free(set->bits);
    free(set->before);
    *set = (hw_column_set){0};
}

void hw_column_set_add_rows(hw_column_set *set, const hawser_matrix *A)
{
    uint64_t end = A->rows > 0 ? A->offsets[A->rows] : 0;
    for (uint64_t e = A->rows > 0 ? A->offsets[0] : 0; e < end; e++)
        hw_column_set_add(set, A->indices[e]);
}

void hw_column_set_add_columns(hw_column_set *set, const hawser_matrix *A)
{
    for (size_t j = 0; j < A->cols; j++)
        if (A->offsets[j + 1] > A->offsets[j])
            hw_column_set_add(set, (uint32_t)j);
}

size_t hw_column_set_count(hw_column_set *set)
{
    size_t count = 0;
    for (size_t w = 0; w < set->words; w++) {
        set->before[w] = (uint32_t)count;
        count += hw_bits_set(set->bits[w]);
    }
    return count;
}

void hw_column_set_list(const hw_column_set *set, uint32_t *columns)
{
    for (size_t w = 0; w < set->words; w++)
        for (uint64_t left = set->bits[w]; left != 0; left &= left - 1)
            *columns++ = (uint32_t)(w * 64 + hw_bits_set((left & -left) - 1));
}
