#include "program/entries.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/type.h"
#include "data/label.h"
#include "data/share/blocks.h"

static hawser_status refuse_value(const hawser_state *state, const hawser_matrix *part, size_t row, uint64_t at,
                                  hawser_error *error)
{
    const hawser_state *data = state->along;
    char column[HW_COLUMN_CALLED], value[32];
    if (data->dataset != NULL)
        (void)hw_column_called(data->dataset, part->indices[at], column);
    else
        snprintf(column, sizeof column, "column %u", part->indices[at]);
    snprintf(value, sizeof value, "%.9g", hw_value_at(part->values, part->type, at));
    return hawser_fail(
        error, HAWSER_BAD_PROGRAM,
        "entries state '%s' has as many numbers for an entry as its value says (.by_value), but row %zu of '%s' "
        "has the value %s in %s; whole numbers from 0 to 2147483647 can be such values",
        state->name, part->first + row, data->name, value, column);
}

/* Adds the numbers of a row to *count. */
static hawser_status add_row(const hawser_state *state, const hawser_matrix *part, size_t row, uint64_t *count,
                             hawser_error *error)
{
    const uint64_t begin = part->offsets[row], end = part->offsets[row + 1];
    uint64_t sum = 0; /* a row has less than 2^32 entries of less than 2^31 */
    for (uint64_t at = begin; state->by_value && at < end; at++) {
        const double value = hw_value_at(part->values, part->type, at);
        if (!(value >= 0 && value <= INT32_MAX) || value != (double)(uint32_t)value)
            return refuse_value(state, part, row, at, error);
        sum += (uint32_t)value;
    }
    *count += state->by_value ? sum : end - begin;
    if (*count <= SIZE_MAX / 16)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_NO_MEMORY,
                       "entries state '%s' has an impossible size, more than %zu numbers for the values of '%s' (.by_value)",
                       state->name, SIZE_MAX / 16, state->along->name);
}

hawser_status hw_entries_offsets(const hawser_state *state, const hawser_matrix *part, size_t *offsets, hawser_error *error)
{
    uint64_t count = 0;
    for (size_t row = 0; row < part->rows; row++) {
        offsets[row] = (size_t)count;
        HAWSER_TRY(add_row(state, part, row, &count, error));
    }
    offsets[part->rows] = (size_t)count;
    return HAWSER_OK;
}

hawser_status hw_entries_count(const hawser_state *state, const hawser_matrix *part, uint64_t *count, hawser_error *error)
{
    *count = part->stored;
    if (!state->by_value)
        return HAWSER_OK;
    *count = 0;
    for (size_t row = 0; row < part->rows; row++)
        HAWSER_TRY(add_row(state, part, row, count, error));
    return HAWSER_OK;
}

hawser_status hw_entries_held(const hawser_state *state, uint64_t *counts, hawser_error *error)
{
    const struct hw_row_blocks *rows = hw_state_rows_held(state->along);
    uint64_t own = 0, entries = 0, all = 0;
    for (uint32_t b = 0; b < rows->view.blocks; b++) {
        const hawser_matrix *part = &rows->block[b].matrix;
        counts[b] = state->by_value ? 0 : part->stored;
        if (!state->by_value || !hw_row_block_here(rows, b))
            continue;
        HAWSER_TRY(hw_entries_count(state, part, &counts[b], error));
        own += counts[b];
        entries += part->stored;
    }
    for (uint32_t b = 0; state->by_value && b < rows->view.blocks; b++) {
        const double stored = (double)rows->block[b].matrix.stored;
        if (!hw_row_block_here(rows, b))
            counts[b] = rows->counted != NULL ? rows->counted[b]
                        : entries > 0         ? (uint64_t)((double)own / (double)entries * stored)
                                              : rows->block[b].matrix.stored;
        all += counts[b] < SIZE_MAX / 16 ? counts[b] : SIZE_MAX / 16;
        if (all > SIZE_MAX / 16)
            return hawser_fail(error, HAWSER_NO_MEMORY,
                               "entries state '%s' has an impossible size, more than %zu numbers for the values of '%s' "
                               "(.by_value)",
                               state->name, SIZE_MAX / 16, state->along->name);
    }
    return HAWSER_OK;
}

/* Returns whether this node knows the numbers of all blocks: not in a plan that is printed before nodes have told each other
 * how many they have. */
static bool are_known(const struct hw_row_blocks *rows)
{
    bool here = true;
    for (uint32_t b = 0; b < rows->view.blocks; b++)
        here = here && hw_row_block_here(rows, b);
    return here || rows->counted != NULL;
}

static hawser_status add_up(const hawser_state *state, const struct hw_row_blocks *rows, uint64_t *all, hawser_error *error)
{
    uint64_t *counts = NULL;
    HAWSER_TRY(HW_NEW(&counts, rows->view.blocks, "the numbers of blocks", error));
    hawser_status status = hw_entries_held(state, counts, error);
    for (uint32_t b = 0; b < rows->view.blocks; b++)
        *all += counts[b];
    free(counts);
    return status;
}

hawser_status hw_entries_settle(hawser_state *state, hawser_error *error)
{
    const struct hw_row_blocks *rows = state->by_value ? hw_state_rows_held(state->along) : NULL;
    const bool known = rows == NULL || are_known(rows);
    uint64_t all = 0;
    if (rows == NULL)
        HAWSER_TRY(hw_entries_count(state, state->along->matrix, &all, error));
    else
        HAWSER_TRY(add_up(state, rows, &all, error));
    state->rows = !known && state->asked != 0 ? state->asked : (size_t)all;
    if (state->asked == 0 || state->asked == state->rows)
        return HAWSER_OK;
    return hawser_fail(
        error, HAWSER_BAD_PROGRAM,
        "entries state '%s' has %zu numbers (.rows), but the entries of '%s' have %zu %s; leave .rows out, or "
        "give as many",
        state->name, state->asked, state->along->name, state->rows, state->by_value ? "by value" : "in all");
}
