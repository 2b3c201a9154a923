/* rest.c - what rounding has left at the end: each edge sends it in full, with the word that this replica has ended. */
#include <string.h>

#include "runtime/vector/vector.h"

static bool any_left(const char *left, size_t bytes)
{
    return bytes > 0 && (left[0] != 0 || memcmp(left, left + 1, bytes - 1) != 0);
}

/* Makes the item with all that an edge has left; NULL if that is nothing. */
static hawser_status new_rest(const hawser_vector *vector, const char *left, hw_message **rest, hawser_error *error)
{
    size_t row = vector->sparse ? vector->shape.row : vector->bytes, rows = vector->bytes / row, count = 0;
    *rest = NULL;
    for (size_t r = 0; r < rows; r++)
        count += any_left(left + r * row, row);
    if (count == 0)
        return HAWSER_OK;
    HAWSER_TRY(hw_message_new(vector->sparse ? hw_sparse_bytes(&vector->shape, count) : row, rest, error));
    (*rest)->envelope.count = vector->sparse ? count : vector->count;
    uint64_t *keys = vector->sparse ? (*rest)->payload : NULL;
    char *to = (char *)(*rest)->payload + (vector->sparse ? count * sizeof *keys : 0);
    for (size_t r = 0; r < rows; r++) {
        if (!any_left(left + r * row, row))
            continue;
        if (keys != NULL)
            *keys++ = r;
        memcpy(to, left + r * row, row);
        to += row;
    }
    return HAWSER_OK;
}

/* Says to a receiver that this replica has ended, with what its edge has left. */
static hawser_status end_edge(hawser_vector *vector, uint32_t receiver, hawser_error *error)
{
    hw_message *rest = NULL;
    uint32_t node = vector->receivers[receiver];
    HAWSER_TRY(new_rest(vector, vector->left[receiver], &rest, error));
    if (rest == NULL)
        return hw_vector_say(vector, node, HW_VECTOR_END, 0, 0, error);
    hw_envelope *envelope = &rest->envelope;
    envelope->kind = HW_MESSAGE_VECTOR;
    envelope->type = (uint8_t)vector->type;
    envelope->part = HW_VECTOR_END;
    envelope->state = vector->number;
    envelope->loop = HW_VECTOR_GENERATION;
    envelope->clock = vector->iteration;
    pthread_mutex_lock(&vector->mutex);
    hw_edge_out *edge = &vector->out[receiver];
    envelope->epoch = edge->sent + 1;
    edge->messages++;
    edge->bytes += envelope->length;
    pthread_mutex_unlock(&vector->mutex);
    hw_vector_record_sent(vector, node, rest);
    return hw_vector_send(vector, node, rest, error);
}

hawser_status hw_vector_say_end(hawser_vector *vector, hawser_error *error)
{
    for (uint32_t r = 0; r < vector->receiver_count && vector->left != NULL; r++)
        HAWSER_TRY(end_edge(vector, r, error));
    for (uint32_t s = 0, r = 0; s < vector->source_count && vector->left != NULL; s++) {
        while (r < vector->receiver_count && vector->receivers[r] < vector->sources[s])
            r++;
        if (r == vector->receiver_count || vector->receivers[r] != vector->sources[s])
            HAWSER_TRY(hw_vector_say(vector, vector->sources[s], HW_VECTOR_END, 0, 0, error));
    }
    return vector->left != NULL ? HAWSER_OK : hw_vector_say_all(vector, HW_VECTOR_END, error);
}
