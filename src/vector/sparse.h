/*
 * sparse.h - numbers by key: what a scatter of a sparse vector has in its message, how two are merged, and how they change
 * an array.
 *
 * A key is the number of a row of `width` numbers of the array. In a message's payload the keys come first, ascending, and
 * then their rows.
 */
#ifndef HW_VECTOR_SPARSE_H
#define HW_VECTOR_SPARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hawser/matrix.h"
#include "hawser/status.h"
#include "transport/transport.h"

/* The rows that a vector has. */
typedef struct hw_sparse_shape {
    hawser_type type;
    uint32_t width; /* numbers of a row */
    size_t row;     /* bytes of a row */
    uint64_t rows;
} hw_sparse_shape;

typedef struct hw_sparse_part {
    const uint64_t *keys;
    const void *values;
    size_t count; /* keys */
} hw_sparse_part;

/* Returns the bytes of a message with that many keys. */
static inline size_t hw_sparse_bytes(const hw_sparse_shape *shape, size_t count)
{
    return count * (sizeof(uint64_t) + shape->row);
}
/* Returns whether the keys ascend and are rows; *at: the first one that is wrong. */
bool hw_sparse_check(const hw_sparse_shape *shape, const uint64_t *keys, size_t count, size_t *at);
/* Returns what a message has. Its envelope's count is the number of keys. */
hw_sparse_part hw_sparse_of(const hw_message *message);
/* Returns whether a received message's length and keys are right. */
bool hw_sparse_whole(const hw_sparse_shape *shape, const hw_message *message);
/* Makes a message with all keys of two parts. Where both have a key the row is the sum (adds), or that of the second. */
hawser_status hw_sparse_merge(const hw_sparse_shape *shape, const hw_sparse_part *first, const hw_sparse_part *second,
                              bool adds, hw_message **merged, hawser_error *error) HAWSER_MUST_USE;
/* Gives an item what the envelope of another one says, except of its own keys and bytes. */
void hw_sparse_name(hw_message *item, const hw_message *like);
/* Adds rows to an array, or stores them there. */
void hw_sparse_add(const hw_sparse_shape *shape, void *array, const hw_sparse_part *part);
void hw_sparse_store(const hw_sparse_shape *shape, void *array, const hw_sparse_part *part);
/* Adds the rows of all parts, in their order, with the array's own row before part `place` (from 0; `count` is behind the
 * last). mean: each row is divided by the number of its addends. `at` has space for `count` places, `rows` for one more. */
void hw_sparse_mix(const hw_sparse_shape *shape, void *array, const hw_sparse_part *parts, size_t count, size_t place,
                   bool mean, size_t *at, const void **rows);

#endif
