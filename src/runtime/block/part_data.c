/* part_data.c - a block's part of a data state: a view of the matrix, or a copy of it that a unit writes. Nothing of it is
 * kept or saved, because data have a source of their own. A checkpoint has what units have made of them. */
#include <stdlib.h>
#include <string.h>

#include "base/layout.h"
#include "base/memory.h"
#include "runtime/block/part.h"
#include "runtime/session/fetch.h"

static hawser_status open_part(hw_worker *worker, hw_state_part *part, hawser_error *error)
{
    (void)error;
    part->data = hw_plan_part(worker->session->plan, part->state, worker->block);
    if (part->data.residence == NULL)
        return HAWSER_OK;
    hw_residence_view(part->data.residence, &part->residence);
    part->data.residence = &part->residence;
    return HAWSER_OK;
}

static const void *read_matrix(hw_state_part *part, bool updates, const char **why)
{
    (void)updates, (void)why;
    part->viewed = true;
    return &part->data;
}

/* Copies the values of a part in `memory`, line by line, behind offsets that begin at 0 if it is sparse. */
static void copy_values(const hawser_matrix *from, void *memory, hawser_matrix *to)
{
    const bool dense = hw_is_dense(from);
    const size_t lines = hw_lines(from), size = hw_type_size(from->type), width = dense ? hw_line_width(from) : 0;
    uint64_t *offsets = memory;
    char *values = dense ? memory : (char *)(offsets + lines + 1);
    *to = *from;
    to->residence = NULL;
    to->mapped = false;
    to->values = values;
    if (dense) {
        to->stride = width;
        for (size_t j = 0; j < lines && width > 0; j++)
            memcpy(values + j * width * size, (const char *)from->values + j * from->stride * size, width * size);
        return;
    }
    const uint64_t first = from->offsets[0];
    for (size_t j = 0; j <= lines; j++)
        offsets[j] = from->offsets[j] - first;
    to->offsets = offsets;
    if (offsets[lines] == 0)
        return;
    to->indices = from->indices + first;
    memcpy(values, (const char *)from->values + first * size, offsets[lines] * size);
}

const hawser_matrix *hw_part_written(const hw_state_part *part)
{
    return part->own_memory != NULL && part->data.values == part->own.values ? &part->own : NULL;
}

/* A stage that runs again finds the view of the stage before, so it copies that anew. */
static void *write_matrix(hw_state_part *part, const char **why)
{
    if (!hw_state_is_split(part->state)) {
        *why =
            "is data of which blocks have no part of their own; split it by row or column, or give each block's matrix to "
            "hawser_data_replace";
        return NULL;
    }
    if (hawser_matrix_whole(&part->data, NULL) != HAWSER_OK) {
        *why = "has columns that are on other nodes";
        return NULL;
    }
    if (hw_part_written(part) == NULL) {
        hawser_error error;
        size_t lines = hw_lines(&part->data), size = hw_type_size(part->data.type);
        size_t count = hw_is_dense(&part->data) ? lines * hw_line_width(&part->data)
                                                : part->data.offsets[lines] - part->data.offsets[0];
        size_t offsets = hw_is_dense(&part->data) ? 0 : (lines + 1) * sizeof(uint64_t);
        void *memory = NULL;
        if (hw_new_array(&memory, offsets + count * size, 1, "data that a unit writes", &error) != HAWSER_OK)
            return NULL;
        copy_values(&part->data, memory, &part->own);
        free(part->own_memory);
        part->own_memory = memory;
        part->data = part->own;
        part->batch_size = 0; /* the memory of batches was for another matrix */
    }
    return (void *)(uintptr_t)part->own.values;
}

static void close_part(hw_state_part *part)
{
    free(part->own_memory);
    free(part->columns);
}

/* ------------------------------------------------------------------------------------------------- fetched columns ---- */

hawser_status hw_part_note_fetched(hw_state_part *part, const uint32_t *columns, size_t count, hawser_error *error)
{
    part->fetched = true;
    if (part->columns == NULL && count > 0)
        HAWSER_TRY(HW_NEW(&part->columns, part->state->matrix->cols / 8 + 1, "fetched columns", error));
    for (size_t k = 0; k < count; k++)
        part->columns[columns[k] / 8] |= (unsigned char)(1u << columns[k] % 8);
    return HAWSER_OK;
}

/* Lists the columns that were noted; the caller frees *list. */
static hawser_status list_fetched(const hw_state_part *part, uint32_t **list, uint64_t *count, hawser_error *error)
{
    size_t cols = part->state->matrix->cols;
    *count = 0;
    for (size_t j = 0; part->columns != NULL && j < cols; j++)
        *count += (part->columns[j / 8] >> j % 8) & 1;
    HAWSER_TRY(HW_NEW(list, *count, "fetched columns", error));
    for (size_t j = 0, k = 0; k < *count; j++)
        if (((part->columns[j / 8] >> j % 8) & 1) != 0)
            (*list)[k++] = (uint32_t)j;
    return HAWSER_OK;
}

hawser_status hw_part_fetch_again(hw_worker *worker, const hw_state_part *part)
{
    uint32_t *list = NULL;
    uint64_t count = 0;
    if (part->columns == NULL)
        return HAWSER_OK;
    HAWSER_TRY(list_fetched(part, &list, &count, &worker->error));
    hawser_status status = hw_fetch_columns(&worker->mailbox, part->state, list, count);
    free(list);
    return status;
}

static void remember_fetched(hw_state_part *part, hawser_record *record)
{
    uint32_t *list = NULL;
    uint64_t count = 0, more = 0; /* one more than the count; 0: nothing was fetched */
    hawser_error error = {0};
    bool reads = hawser_record_reads(record);
    if (!reads && list_fetched(part, &list, &count, &error) != HAWSER_OK)
        hawser_record_fail(record, error.status, error.text);
    if (!reads && part->fetched)
        more = count + 1;
    hawser_record_bytes(record, &more, sizeof more);
    count = more > 0 ? more - 1 : 0;
    hawser_record_array(record, (void **)&list, sizeof *list, count, 0);
    hawser_status status = HAWSER_OK;
    for (uint64_t k = 0; reads && list != NULL && k < count && status == HAWSER_OK; k++)
        if (list[k] >= part->state->matrix->cols)
            status = hawser_fail(&error, HAWSER_BAD_INPUT, "a record has columns that the data do not have");
    if (reads && more > 0 && list != NULL && status == HAWSER_OK)
        status = hw_part_note_fetched(part, list, count, &error);
    if (status != HAWSER_OK)
        hawser_record_fail(record, status, error.text);
    free(list);
}

/* A unit that transforms data replaces the view. */
static void *stage_memory(hw_state_part *part, size_t *bytes)
{
    *bytes = sizeof part->data;
    return &part->data;
}

/* Returns whether a unit has written or replaced the block's part. */
static bool is_changed(const hw_worker *worker, const hw_state_part *part)
{
    const hawser_matrix given = hw_plan_part(worker->session->plan, part->state, worker->block);
    return part->data.values != given.values || part->data.offsets != given.offsets || part->data.rows != given.rows ||
           part->data.cols != given.cols || part->data.layout != given.layout;
}

/* Lays out the arrays of a part in one piece of memory: offsets, values, indices. Returns its bytes. */
static size_t lay_out(const hawser_matrix *A, uint64_t count, void *memory, hawser_matrix *to)
{
    bool dense = hw_is_dense(A);
    size_t offsets = dense ? 0 : (hw_lines(A) + 1) * sizeof *A->offsets, values = count * hw_type_size(A->type);
    if (memory == NULL)
        return offsets + values + (dense ? 0 : count * sizeof *A->indices);
    *to = *A;
    to->stored = count;
    to->stride = dense ? hw_line_width(A) : 0;
    to->residence = NULL;
    to->mapped = false;
    to->values = (char *)memory + offsets;
    to->offsets = dense ? NULL : memory;
    to->indices = dense ? NULL : (const uint32_t *)(const void *)((const char *)to->values + values);
    return 0;
}

/* Copies the arrays of a part to such memory. */
static void copy_arrays(const hawser_matrix *from, uint64_t count, void *memory)
{
    hawser_matrix to;
    copy_values(from, memory, &to);
    if (!hw_is_dense(from) && count > 0)
        memcpy((char *)memory + (hw_lines(from) + 1) * sizeof(uint64_t) + count * hw_type_size(from->type),
               from->indices + from->offsets[0], count * sizeof *from->indices);
}

static uint64_t numbers_of(const hawser_matrix *A)
{
    return hw_is_dense(A) ? hw_lines(A) * hw_line_width(A) : A->offsets[hw_lines(A)] - A->offsets[0];
}

/* The unit that has changed data does not run again, so it may use states that later units change. */
static void remember_changed(hw_worker *worker, hw_state_part *part, hawser_record *record)
{
    bool reads = hawser_record_reads(record), changed = !reads && is_changed(worker, part);
    hawser_record_bytes(record, &changed, sizeof changed);
    if (!changed)
        return;
    hawser_matrix data = part->data;
    uint64_t count = reads ? 0 : numbers_of(&data);
    void *memory = NULL;
    hawser_record_bytes(record, &data.rows, sizeof data.rows);
    hawser_record_bytes(record, &data.cols, sizeof data.cols);
    hawser_record_bytes(record, &data.layout, sizeof data.layout);
    hawser_record_bytes(record, &data.type, sizeof data.type);
    hawser_record_bytes(record, &count, sizeof count);
    size_t bytes = lay_out(&data, count, NULL, NULL);
    if (!reads && (memory = malloc(bytes + 1)) == NULL)
        hawser_record_fail(record, HAWSER_NO_MEMORY, "no memory for a record of data that units have changed");
    if (!reads && memory != NULL)
        copy_arrays(&data, count, memory);
    hawser_record_array(record, &memory, 1, bytes, 0);
    if (reads && memory != NULL) {
        free(part->own_memory);
        part->own_memory = memory;
        (void)lay_out(&data, count, memory, &part->own);
        part->data = part->own;
        part->batch_size = 0;
    } else {
        free(memory);
    }
}

static void remember(hw_worker *worker, hw_state_part *part, hawser_record *record)
{
    remember_fetched(part, record);
    remember_changed(worker, part, record);
}

const hw_part_kind hw_part_data = {.open = open_part,
                                   .close = close_part,
                                   .read = read_matrix,
                                   .write = write_matrix,
                                   .stage_memory = stage_memory,
                                   .remember = remember};
