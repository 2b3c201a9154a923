#include "data/residence.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/type.h"
#include "data/absent.h"
#include "hawser/job_data.h"

hawser_status hw_residence_new(const hawser_matrix *whole, hw_owners *owners, uint32_t self, struct hawser_residence **out,
                               hawser_error *error)
{
    struct hawser_residence *made = NULL;
    hawser_status status = HW_NEW(&made, 1, "a matrix's residence", error);
    if (status == HAWSER_OK) {
        made->owners = *owners;
        *owners = (hw_owners){0};
        status = HW_NEW(&made->state, whole->cols, "a matrix's residence", error);
    } else {
        hw_owners_free(owners);
    }
    if (status != HAWSER_OK) {
        hw_residence_free(made);
        return status;
    }
    made->whole = *whole;
    made->whole.residence = NULL;
    made->self = self;
    for (size_t j = 0; j < whole->cols; j++)
        atomic_init(&made->state[j], hw_owner(&made->owners, j) == self ? HW_HERE : HW_ELSEWHERE);
    made->presence.state = made->state;
    made->presence.values = whole->values;
    atomic_init(&made->presence.absent, 0);
    *out = made;
    return HAWSER_OK;
}

hawser_status hw_residence_like(const struct hawser_residence *of, const hawser_matrix *whole, struct hawser_residence **out,
                                hawser_error *error)
{
    hw_owners owners = {.view = of->owners.view};
    owners.view.node = NULL;
    hawser_status status = HW_NEW(&owners.block, whole->cols, "a matrix's residence", error);
    HAWSER_THEN(status, HW_NEW(&owners.view.node, owners.view.blocks, "a matrix's residence", error));
    if (status != HAWSER_OK) {
        hw_owners_free(&owners);
        return status;
    }
    memcpy(owners.block, of->owners.block, whole->cols * sizeof *owners.block);
    memcpy(owners.view.node, of->owners.view.node, owners.view.blocks * sizeof *owners.view.node);
    return hw_residence_new(whole, &owners, of->self, out, error);
}

hawser_status hw_residence_of_rows(const hawser_matrix *whole, struct hw_row_blocks *rows,
                                   void (*free_rows)(struct hw_row_blocks *), struct hawser_residence **out,
                                   hawser_error *error)
{
    HAWSER_TRY(HW_NEW(out, 1, "a matrix's residence", error));
    struct hawser_residence *made = *out;
    made->whole = *whole;
    made->whole.residence = NULL;
    made->presence.values = whole->values;
    made->presence.by_block = true;
    atomic_init(&made->presence.absent, 0);
    made->rows = rows;
    made->free_rows = free_rows;
    return HAWSER_OK;
}

void hw_residence_free(struct hawser_residence *residence)
{
    if (residence == NULL)
        return;
    if (residence->rows != NULL)
        residence->free_rows(residence->rows);
    hw_owners_free(&residence->owners);
    free(residence->state);
    free(residence);
}

void hw_residence_view(const struct hawser_residence *of, struct hawser_residence *view)
{
    view->presence.state = of->state;
    view->presence.values = of->whole.values;
    atomic_init(&view->presence.absent, 0);
    view->whole = of->whole;
    view->self = of->self;
    view->owners = of->owners;
    view->state = of->state;
}

hawser_status hawser_matrix_whole(const hawser_matrix *matrix, hawser_error *error)
{
    if (matrix == NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "there is no matrix (NULL)");
    const struct hawser_residence *residence = matrix->residence;
    if (residence != NULL && residence->rows != NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "the rows of the matrix are held by block (hawser_load.split is HAWSER_BY_ROW); use the "
                           "rows of a block by hawser_read, or load the input with HAWSER_BY_COLUMN or by "
                           "hawser_dataset_load");
    for (size_t j = 0; residence != NULL && j < matrix->cols; j++) {
        size_t column = hw_presence_column(matrix, j);
        if (!hw_is_here(residence, (uint32_t)column))
            return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                               "column %zu of the matrix is on node %u, not on this one; load the input by "
                               "hawser_dataset_load, or fetch its columns by hawser_job_fetch",
                               column, hw_owner(&residence->owners, column));
    }
    return HAWSER_OK;
}

static uint64_t column_entries(const hawser_matrix *whole, size_t column)
{
    return whole->layout == HAWSER_DENSE ? whole->rows : whole->offsets[column + 1] - whole->offsets[column];
}

/* Returns the bytes of a column: its values, and if sparse the numbers of their rows. */
static size_t column_bytes(const hawser_matrix *whole, size_t column)
{
    size_t index = whole->layout == HAWSER_DENSE ? 0 : sizeof(uint32_t);
    return column_entries(whole, column) * (hw_type_size(whole->type) + index);
}

size_t hw_column_bytes(const struct hawser_residence *residence, size_t column)
{
    return column_bytes(&residence->whole, column);
}

uint64_t hw_foreign_bytes(const struct hawser_residence *residence, uint32_t node)
{
    uint64_t bytes = 0;
    for (size_t j = 0; j < residence->whole.cols; j++)
        bytes += hw_owner(&residence->owners, j) == node ? 0 : column_bytes(&residence->whole, j);
    return bytes;
}

void hw_residence_guard(struct hawser_residence *residence)
{
    if (!residence->guarded)
        hw_absent_close(&residence->whole, &residence->presence);
    residence->guarded = true;
}

void hw_forget_requests(struct hawser_residence *residence)
{
    for (size_t j = 0; j < residence->whole.cols; j++) {
        unsigned char requested = HW_REQUESTED;
        atomic_compare_exchange_strong(&residence->state[j], &requested, HW_ELSEWHERE);
    }
}

static uint64_t column_begin(const hawser_matrix *whole, size_t column)
{
    return whole->layout == HAWSER_DENSE ? column * whole->stride : whole->offsets[column];
}

static void take_column(const hawser_matrix *whole, size_t column, void *bytes)
{
    uint64_t count = column_entries(whole, column), begin = column_begin(whole, column);
    size_t size = hw_type_size(whole->type);
    if (count == 0)
        return;
    memcpy(bytes, (const char *)whole->values + begin * size, count * size);
    if (whole->layout != HAWSER_DENSE)
        memcpy((char *)bytes + count * size, whole->indices + begin, count * sizeof(uint32_t));
}

static hawser_status put_column(const struct hawser_residence *residence, size_t column, const void *bytes, size_t length,
                                hawser_error *error)
{
    const hawser_matrix *whole = &residence->whole;
    if (column >= whole->cols || length != column_bytes(whole, column))
        return hawser_fail(error, HAWSER_INTERNAL, "column %zu arrived in %zu bytes, which do not fit it", column, length);
    uint64_t count = column_entries(whole, column), begin = column_begin(whole, column);
    size_t size = hw_type_size(whole->type);
    if (count == 0)
        return HAWSER_OK;
    if (residence->guarded)
        HAWSER_TRY(hw_absent_open(whole, column, error));
    memcpy((char *)(uintptr_t)whole->values + begin * size, bytes, count * size);
    if (whole->layout == HAWSER_DENSE)
        return HAWSER_OK;
    uint32_t *indices = (uint32_t *)(uintptr_t)whole->indices + begin;
    memcpy(indices, (const char *)bytes + count * size, count * sizeof *indices);
    for (uint64_t e = 0; e < count; e++)
        if (indices[e] >= whole->rows || (e > 0 && indices[e] <= indices[e - 1]))
            return hawser_fail(error, HAWSER_INTERNAL, "column %zu arrived with impossible row numbers", column);
    return HAWSER_OK;
}

typedef struct wanted_entry {
    uint64_t column, length;
} wanted_entry;

static size_t padded(size_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

size_t hw_columns_bytes(const struct hawser_residence *residence, const uint32_t *columns, size_t count)
{
    size_t bytes = 0;
    for (size_t k = 0; k < count; k++)
        if (hw_is_here(residence, columns[k]))
            bytes += sizeof(wanted_entry) + padded(column_bytes(&residence->whole, columns[k]));
    return bytes;
}

void hw_columns_pack(const struct hawser_residence *residence, const uint32_t *columns, size_t count, void *bytes)
{
    char *at = bytes;
    for (size_t k = 0; k < count; k++) {
        if (!hw_is_here(residence, columns[k]))
            continue;
        wanted_entry head = {columns[k], column_bytes(&residence->whole, columns[k])};
        memcpy(at, &head, sizeof head);
        take_column(&residence->whole, columns[k], at + sizeof head);
        at += sizeof head + padded(head.length);
    }
}

hawser_status hw_columns_take(struct hawser_residence *residence, const void *bytes, size_t length, hawser_error *error)
{
    const char *at = bytes;
    while (length != 0) {
        wanted_entry head;
        if (length < sizeof head)
            return hawser_fail(error, HAWSER_INTERNAL, "columns arrived cut off");
        memcpy(&head, at, sizeof head);
        if (head.column >= residence->whole.cols || head.length > length - sizeof head ||
            padded(head.length) > length - sizeof head)
            return hawser_fail(error, HAWSER_INTERNAL, "column %llu arrived in an impossible form",
                               (unsigned long long)head.column);
        if (!hw_is_here(residence, (uint32_t)head.column)) {
            HAWSER_TRY(put_column(residence, head.column, at + sizeof head, head.length, error));
            atomic_store_explicit(&residence->state[head.column], HW_HERE, memory_order_release);
        }
        at += sizeof head + padded(head.length);
        length -= sizeof head + padded(head.length);
    }
    return HAWSER_OK;
}
