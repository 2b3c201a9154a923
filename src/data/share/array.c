#include "data/share/array.h"

#include <stdlib.h>
#include <string.h>

#include "base/type.h"

void hw_array_add(hw_array_writer *to, hw_array_run r, const char *values, size_t size)
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

/* Adds values to the piece of their column's node. Mirrored, a value belongs to the column with its row's number. Columns
 * beyond those that are kept have no owner. */
static void add_values(const hw_array_part *array, const void *homes, hw_array_run r, const char *values, size_t size,
                       hw_array_writer *writers)
{
    const hw_owners *owners = homes;
    uint32_t home = UINT32_MAX;
    if (r.column < array->cols) {
        home = hw_owner(owners, r.column);
        hw_array_add(&writers[home], r, values, size);
    }
    uint64_t last = r.row + r.count < array->cols ? r.row + r.count : array->cols;
    for (uint64_t begin = r.row, end; array->symmetric && begin < last; begin = end) {
        for (end = begin + 1; end < last && hw_owner(owners, end) == hw_owner(owners, begin);)
            end++;
        if (hw_owner(owners, begin) != home)
            hw_array_add(&writers[hw_owner(owners, begin)], (hw_array_run){r.column, (uint32_t)begin, end - begin},
                         values + (begin - r.row) * size, size);
    }
}

/* Adds all values, column by column; in a symmetric array each column begins on the diagonal. */
static void add_all(const hawser_dataset *values, hw_array_split split, const void *homes, size_t size,
                    hw_array_writer *writers)
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
        split(array, homes, (hw_array_run){(uint32_t)column, (uint32_t)(top + in_front), count}, at, size, writers);
        at += count * size;
        left -= count;
        in_front = 0;
    }
}

hawser_status hw_share_misfit(uint32_t node, hawser_error *error)
{
    return hawser_fail(error, HAWSER_INTERNAL, "the rows that node %u has read do not fit the whole", node);
}

hawser_status hw_array_pack_by(const hawser_dataset *values, hw_array_split split, const void *homes, uint32_t nodes,
                               hw_bytes *pieces, hawser_error *error)
{
    size_t size = hw_type_size(values->matrix.type);
    hw_array_writer *writers;
    if (values->array.first > values->declared || values->found > values->declared - values->array.first)
        return hw_share_misfit(0, error);
    HAWSER_TRY(HW_NEW(&writers, nodes, "a part of the input", error));
    add_all(values, split, homes, size, writers);
    hawser_status status = HAWSER_OK;
    for (uint32_t d = 0; d < nodes && status == HAWSER_OK; d++) {
        uint64_t runs = writers[d].runs, length = sizeof runs + runs * sizeof(hw_array_run) + writers[d].values * size;
        status = hw_new_array(&pieces[d].data, length, 1, "a part of the input for another node", error);
        if (status != HAWSER_OK)
            break;
        pieces[d].length = length;
        memcpy(pieces[d].data, &runs, sizeof runs);
        writers[d].run = (hw_array_run *)(void *)((char *)pieces[d].data + sizeof runs);
        writers[d].value = (char *)(writers[d].run + runs);
    }
    if (status == HAWSER_OK)
        add_all(values, split, homes, size, writers);
    free(writers);
    return status;
}

hawser_status hw_array_pack(const hawser_dataset *values, const hw_owners *owners, uint32_t nodes, hw_bytes *pieces,
                            hawser_error *error)
{
    return hw_array_pack_by(values, add_values, owners, nodes, pieces, error);
}

bool hw_array_open(const hw_bytes *piece, hw_array_reader *reader)
{
    *reader = (hw_array_reader){0};
    if (piece->length < sizeof reader->runs)
        return false;
    memcpy(&reader->runs, piece->data, sizeof reader->runs);
    reader->left = piece->length - sizeof reader->runs;
    if (reader->runs > reader->left / sizeof(hw_array_run))
        return false;
    reader->left -= reader->runs * sizeof(hw_array_run);
    reader->run = (const hw_array_run *)(const void *)((const char *)piece->data + sizeof reader->runs);
    reader->values = (const char *)(reader->run + reader->runs);
    return true;
}

bool hw_array_next(hw_array_reader *reader, uint64_t rows, uint64_t cols, size_t size, hw_array_run *r, const char **values)
{
    *r = *reader->run++;
    *values = reader->values;
    if (r->row >= rows || r->count > rows - r->row || r->count > reader->left / size || r->column >= cols)
        return false;
    reader->runs--;
    reader->values += r->count * size;
    reader->left -= r->count * size;
    return true;
}

static void put_run(const hawser_matrix *A, bool symmetric, const hw_owners *owners, uint32_t self, hw_array_run r,
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
    hw_array_reader reader;
    hw_array_run r;
    const char *values;
    if (!hw_array_open(piece, &reader))
        return hw_share_misfit(node, error);
    while (reader.runs > 0) {
        if (!hw_array_next(&reader, A->rows, symmetric ? A->rows : A->cols, size, &r, &values))
            return hw_share_misfit(node, error);
        put_run(A, symmetric, owners, self, r, values, size);
    }
    return reader.left == 0 ? HAWSER_OK : hw_share_misfit(node, error);
}
