/* rounding.c - deltas in fewer bits. An edge keeps what rounding leaves out of its items, and adds it to the next one; the
 * finish sends it in full.
 *
 * Rounding is done by the thread that scatters, so that a pending item is ready to be sent by any thread. When another
 * scatter is added to it, it is taken back: with what was left out of it, it is the exact sum again. */
#include <string.h>

#include "base/type.h"
#include "runtime/vector/vector.h"
#include "vector/mix.h"
#include "vector/rounded.h"

static size_t numbers_of(const hawser_vector *vector, const hw_message *item)
{
    return vector->sparse ? (size_t)item->envelope.count * vector->shape.width : vector->count;
}

static size_t key_bytes(const hawser_vector *vector, const hw_message *item)
{
    return vector->sparse ? (size_t)item->envelope.count * sizeof(uint64_t) : 0;
}

bool hw_vector_is_whole(const hawser_vector *vector, const hw_message *item)
{
    const hw_envelope *envelope = &item->envelope;
    size_t at;
    if (envelope->encoding == 0)
        return vector->sparse ? hw_sparse_whole(&vector->shape, item) : envelope->length == vector->bytes;
    if (envelope->encoding != vector->form || (vector->sparse && envelope->count > vector->shape.rows))
        return false;
    size_t keys = key_bytes(vector, item), count = numbers_of(vector, item);
    return envelope->length >= keys &&
           hw_rounded_whole(vector->rounding, vector->type, (const char *)item->payload + keys,
                            (size_t)envelope->length - keys, count) &&
           (!vector->sparse || hw_sparse_check(&vector->shape, item->payload, (size_t)envelope->count, &at));
}

/* Makes an item with the keys and the envelope of another one, whose numbers take `bytes`. */
static hawser_status new_like(const hawser_vector *vector, const hw_message *like, size_t bytes, unsigned form,
                              hw_message **item, hawser_error *error)
{
    size_t keys = key_bytes(vector, like);
    HAWSER_TRY(hw_message_new(keys + bytes, item, error));
    (*item)->envelope.count = like->envelope.count;
    hw_sparse_name(*item, like);
    (*item)->envelope.encoding = (uint8_t)form;
    if (keys > 0)
        memcpy((*item)->payload, like->payload, keys);
    return HAWSER_OK;
}

static hawser_status widen(const hawser_vector *vector, const hw_message *item, hw_message **whole, hawser_error *error)
{
    size_t keys = key_bytes(vector, item), count = numbers_of(vector, item);
    HAWSER_TRY(new_like(vector, item, count * hw_type_size(vector->type), 0, whole, error));
    if (count > 0)
        hw_rounded_read(vector->rounding, vector->type, (const char *)item->payload + keys, count,
                        (char *)(*whole)->payload + keys);
    return HAWSER_OK;
}

hawser_status hw_vector_widen(const hawser_vector *vector, hw_message **list, hawser_error *error)
{
    for (hw_message **at = list; *at != NULL; at = &(*at)->next) {
        hw_message *item = *at, *whole = NULL;
        if (item->envelope.encoding == 0)
            continue;
        HAWSER_TRY(widen(vector, item, &whole, error));
        whole->next = item->next;
        *at = whole;
        hw_message_free(item);
    }
    return HAWSER_OK;
}

/* Adds what an edge has left to a whole item; it has then left nothing of these numbers. */
static void add_left(const hawser_vector *vector, char *left, hw_message *whole)
{
    if (!vector->sparse) {
        hw_terms_add(vector->type, whole->payload, left, vector->count);
        memset(left, 0, vector->bytes);
        return;
    }
    const hw_sparse_part part = hw_sparse_of(whole);
    char *row = (char *)whole->payload + key_bytes(vector, whole);
    for (size_t i = 0; i < part.count; i++, row += vector->shape.row) {
        char *of = left + part.keys[i] * vector->shape.row;
        hw_terms_add(vector->type, row, of, vector->shape.width);
        memset(of, 0, vector->shape.row);
    }
}

hawser_status hw_vector_take_back(hawser_vector *vector, uint32_t receiver, const hw_message *pending, hw_message **whole,
                                  hawser_error *error)
{
    HAWSER_TRY(widen(vector, pending, whole, error));
    add_left(vector, vector->left[receiver], *whole);
    return HAWSER_OK;
}

hawser_status hw_vector_round(hawser_vector *vector, uint32_t receiver, hw_message **item, hawser_error *error)
{
    hw_message *whole = *item, *rounded = NULL;
    size_t keys = key_bytes(vector, whole), count = numbers_of(vector, whole);
    char *left = vector->left[receiver], *numbers = (char *)whole->payload + keys;
    add_left(vector, left, whole);
    hawser_status status = hw_vector_finite(vector, numbers, count,
                                            "the sum of a delta and of what rounding has kept of the ones before", error);
    HAWSER_THEN(status, new_like(vector, whole, hw_rounded_bytes(vector->rounding, count), vector->form, &rounded, error));
    if (status == HAWSER_OK && count > 0) {
        hw_rounded_write(vector->rounding, vector->type, numbers, count, (char *)rounded->payload + keys);
        if (vector->sparse) {
            const hw_sparse_part part = hw_sparse_of(whole);
            hw_sparse_store(&vector->shape, left, &part);
        } else {
            memcpy(left, numbers, vector->bytes);
        }
    }
    hw_message_free(whole);
    *item = rounded;
    return status;
}

bool hw_vector_take_rest(hawser_vector *vector, uint32_t source, hw_message *rest)
{
    if (source >= vector->source_count || vector->rounding == HW_F64 || rest->envelope.encoding != 0 ||
        !hw_vector_is_whole(vector, rest))
        return false;
    pthread_mutex_lock(&vector->mutex);
    hw_edge_in *edge = &vector->in[source];
    bool takes = !edge->ended && edge->rest == NULL;
    if (takes)
        edge->rest = rest;
    pthread_mutex_unlock(&vector->mutex);
    return takes;
}
