#include "data/share/array.h"

#include <stdlib.h>
#include <string.h>

#include "base/type.h"

/* A piece: the number of runs, the runs, and their values. */
typedef struct array_run {
    uint32_t column, row; /* of the first value; the others are below it */
    uint64_t count;
} array_run;

typedef struct array_writer {
    uint64_t runs, values; /* counted first, then written */
    array_run *run;
    char *value;
} array_writer;

static void add_run(array_writer *to, array_run r, const char *values, size_t size)
{
    if (to->run == NULL) {
        to->runs++;
        to->values += r.count;
        return;
    }
    *to->run++ = r;
    memcpy(to->value, values, r.count * size);
    to->value += r.count * size;
}

/* Adds values to the piece of their column's node. Mirrored, a value belongs to the column with its row's number. Columns beyond those that
 * are kept have no owner. */
static void add_values(const hw_array_part *array, const hw_owners *owners, array_run r, const char *values, size_t size,
                       array_writer *writers)
{
    uint32_t home = UINT32_MAX;
    if (r.column < array->cols) {
        home = hw_owner(owners, r.column);
        add_run(&writers[home], r, values, size);
    }
    uint64_t last = r.row + r.count < array->cols ? r.row + r.count : array->cols;
    for (uint64_t begin = r.row, end; array->symmetric && begin < last; begin = end) {
        for (end = begin + 1; end < last && hw_owner(owners, end) == hw_owner(owners, begin);)
            end++;
        if (hw_owner(owners, begin) != home)
            add_run(&writers[hw_owner(owners, begin)], (array_run){r.column, (uint32_t)begin, end - begin},
                    values + (begin - r.row) * size, size);
    }
}

/* Adds all values, column by column; in a symmetric array each column begins on the diagonal. */
static void add_all(const hawser_dataset *values, const hw_owners *owners, size_t size, array_writer *writers)
{
    const hw_array_part *array = &values->array;
    uint64_t left = values->found, in_front = array->first;
    const char *at = values->matrix.values;
    for (uint64_t column = 0; left > 0; column++) {
        uint64_t top = array->symmetric ? column : 0, height = array->rows - top;
        if (in_front >= height) {
            in_front -= height;
            continue;
        }
        uint64_t count = height - in_front < left ? height - in_front : left;
        add_values(array, owners, (array_run){(uint32_t)column, (uint32_t)(top + in_front), count}, at, size, writers);
        at += count * size;
        left -= count;
        in_front = 0;
    }
}

hawser_status hw_share_misfit(uint32_t node, hawser_error *error)
{
    return hawser_fail(error, HAWSER_INTERNAL, "the rows that node %u has read do not fit the whole", node);
}

hawser_status hw_array_pack(const hawser_dataset *values, const hw_owners *owners, uint32_t nodes, hw_bytes *pieces,
                            hawser_error *error)
{
    size_t size = hw_type_size(values->matrix.type);
    array_writer *writers;
    if (values->array.first > values->declared || values->found > values->declared - values->array.first)
        return hw_share_misfit(0, error);
    HAWSER_TRY(HW_NEW(&writers, nodes, "a part of the input", error));
    add_all(values, owners, size, writers);
    hawser_status status = HAWSER_OK;
    for (uint32_t d = 0; d < nodes && status == HAWSER_OK; d++) {
        uint64_t runs = writers[d].runs, length = sizeof runs + runs * sizeof(array_run) + writers[d].values * size;
        status = hw_new_array(&pieces[d].data, length, 1, "a part of the input for another node", error);
        if (status != HAWSER_OK)
            break;
        pieces[d].length = length;
        memcpy(pieces[d].data, &runs, sizeof runs);
        writers[d].run = (array_run *)(void *)((char *)pieces[d].data + sizeof runs);
        writers[d].value = (char *)(writers[d].run + runs);
    }
    if (status == HAWSER_OK)
        add_all(values, owners, size, writers);
    free(writers);
    return status;
}

static void put_run(const hawser_matrix *A, bool symmetric, const hw_owners *owners, uint32_t self, array_run r,
                    const char *values, size_t size)
{
    char *to = (char *)(uintptr_t)A->values;
    if (r.column < A->cols && hw_owner(owners, r.column) == self)
        memcpy(to + (r.column * A->stride + r.row) * size, values, r.count * size);
    uint64_t last = r.row + r.count < A->cols ? r.row + r.count : A->cols;
    for (uint64_t i = r.row; symmetric && i < last; i++)
        if (hw_owner(owners, i) == self)
            memcpy(to + (i * A->stride + r.column) * size, values + (i - r.row) * size, size);
}

hawser_status hw_array_fill(const hawser_matrix *A, bool symmetric, const hw_owners *owners, uint32_t self,
                            const hw_bytes *piece, uint32_t node, hawser_error *error)
{
    size_t size = hw_type_size(A->type);
    uint64_t runs;
    if (piece->length < sizeof runs)
        return hw_share_misfit(node, error);
    memcpy(&runs, piece->data, sizeof runs);
    uint64_t left = piece->length - sizeof runs;
    if (runs > left / sizeof(array_run))
        return hw_share_misfit(node, error);
    left -= runs * sizeof(array_run);
    const array_run *r = (const array_run *)(const void *)((const char *)piece->data + sizeof runs);
    const char *values = (const char *)(r + runs);
    for (uint64_t k = 0; k < runs; k++) {
        bool fits = r[k].row < A->rows && r[k].count <= A->rows - r[k].row && r[k].count <= left / size;
        if (!fits || r[k].column >= (symmetric ? A->rows : A->cols))
            return hw_share_misfit(node, error);
        put_run(A, symmetric, owners, self, r[k], values, size);
        values += r[k].count * size;
        left -= r[k].count * size;
    }
    return left == 0 ? HAWSER_OK : hw_share_misfit(node, error);
}
