#include "vector/sparse.h"

#include <string.h>

#include "vector/mix.h"

bool hw_sparse_check(const hw_sparse_shape *shape, const uint64_t *keys, size_t count, size_t *at)
{
    for (*at = 0; *at < count; ++*at)
        if (keys[*at] >= shape->rows || (*at > 0 && keys[*at] <= keys[*at - 1]))
            return false;
    return true;
}

hw_sparse_part hw_sparse_of(const hw_message *message)
{
    size_t count = (size_t)message->envelope.count;
    const uint64_t *keys = message->payload;
    return (hw_sparse_part){.keys = keys, .values = count > 0 ? keys + count : NULL, .count = count};
}

bool hw_sparse_whole(const hw_sparse_shape *shape, const hw_message *message)
{
    size_t at;
    uint64_t count = message->envelope.count;
    return count <= shape->rows && message->envelope.length == hw_sparse_bytes(shape, (size_t)count) &&
           hw_sparse_check(shape, message->payload, (size_t)count, &at);
}

static const char *row_of(const hw_sparse_shape *shape, const hw_sparse_part *part, size_t at)
{
    return (const char *)part->values + at * shape->row;
}

/* Returns the number of keys that either part has. */
static size_t count_union(const hw_sparse_part *one, const hw_sparse_part *two)
{
    size_t count = 0;
    for (size_t i = 0, j = 0; i < one->count || j < two->count; count++) {
        bool first = j == two->count || (i < one->count && one->keys[i] <= two->keys[j]);
        bool second = i == one->count || (j < two->count && two->keys[j] <= one->keys[i]);
        i += first;
        j += second;
    }
    return count;
}

hawser_status hw_sparse_merge(const hw_sparse_shape *shape, const hw_sparse_part *first, const hw_sparse_part *second,
                              bool adds, hw_message **merged, hawser_error *error)
{
    size_t count = count_union(first, second);
    HAWSER_TRY(hw_message_new(hw_sparse_bytes(shape, count), merged, error));
    uint64_t *keys = (*merged)->payload;
    char *row = keys != NULL ? (char *)(keys + count) : NULL;
    (*merged)->envelope.count = count;
    for (size_t i = 0, j = 0; i < first->count || j < second->count; row += shape->row) {
        bool one = j == second->count || (i < first->count && first->keys[i] <= second->keys[j]);
        bool two = i == first->count || (j < second->count && second->keys[j] <= first->keys[i]);
        *keys++ = one ? first->keys[i] : second->keys[j];
        memcpy(row, one && (adds || !two) ? row_of(shape, first, i) : row_of(shape, second, j), shape->row);
        if (one && two && adds)
            hw_terms_add(shape->type, row, row_of(shape, second, j), shape->width);
        i += one;
        j += two;
    }
    return HAWSER_OK;
}

void hw_sparse_name(hw_message *item, const hw_message *like)
{
    uint64_t count = item->envelope.count, length = item->envelope.length;
    item->envelope = like->envelope;
    item->envelope.count = count;
    item->envelope.length = length;
}

void hw_sparse_add(const hw_sparse_shape *shape, void *array, const hw_sparse_part *part)
{
    for (size_t i = 0; i < part->count; i++)
        hw_terms_add(shape->type, (char *)array + part->keys[i] * shape->row, row_of(shape, part, i), shape->width);
}

void hw_sparse_store(const hw_sparse_shape *shape, void *array, const hw_sparse_part *part)
{
    for (size_t i = 0; i < part->count; i++)
        memcpy((char *)array + part->keys[i] * shape->row, row_of(shape, part, i), shape->row);
}

/* Returns the least key behind the places, or UINT64_MAX. */
static uint64_t next_key(const hw_sparse_part *parts, size_t count, const size_t *at)
{
    uint64_t key = UINT64_MAX;
    for (size_t p = 0; p < count; p++)
        if (at[p] < parts[p].count && parts[p].keys[at[p]] < key)
            key = parts[p].keys[at[p]];
    return key;
}

void hw_sparse_mix(const hw_sparse_shape *shape, void *array, const hw_sparse_part *parts, size_t count, size_t place,
                   bool mean, size_t *at, const void **rows)
{
    memset(at, 0, count * sizeof *at);
    for (uint64_t key; (key = next_key(parts, count, at)) != UINT64_MAX;) {
        char *own = (char *)array + key * shape->row;
        size_t terms = 0;
        for (size_t p = 0; p <= count; p++) {
            if (p == place)
                rows[terms++] = own;
            if (p < count && at[p] < parts[p].count && parts[p].keys[at[p]] == key)
                rows[terms++] = row_of(shape, &parts[p], at[p]++);
        }
        hw_terms_mean(shape->type, own, rows, terms, mean ? terms : 1, shape->width);
    }
}
