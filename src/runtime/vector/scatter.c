/* scatter.c - sends an array to the out-neighbours. */
#include <string.h>

#include "base/clock.h"
#include "runtime/vector/vector.h"
#include "vector/mix.h"

static hawser_status check_iteration(const hawser_vector *vector, uint64_t iteration, hawser_error *error)
{
    unsigned long long now = iteration, before = vector->iteration;
    if (!vector->scattered)
        return HAWSER_OK;
    if (iteration <= vector->iteration)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "vector '%s': scatter of iteration %llu after that of iteration %llu; iterations ascend",
                           vector->name, now, before);
    if (vector->rules.sync == HW_VECTOR_TAP)
        return HAWSER_OK;
    if (!vector->gathered || vector->gathered_iteration != vector->iteration)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "vector '%s': scatter of iteration %llu, and iteration %llu is not gathered; under bsp and ssp "
                           "each scatter is followed by the gather of its iteration",
                           vector->name, now, before);
    if (iteration != vector->iteration + 1)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "vector '%s': scatter of iteration %llu after iteration %llu; under bsp and ssp iterations count "
                           "by one",
                           vector->name, now, before);
    return HAWSER_OK;
}

static bool is_named(const hawser_scatter *scatter, uint32_t node)
{
    for (size_t i = 0; scatter->to != NULL && i < scatter->to_count; i++)
        if (scatter->to[i] == node)
            return true;
    return scatter->to == NULL;
}

static hawser_status check_receivers(const hawser_vector *vector, const hawser_scatter *scatter, hawser_error *error)
{
    if (scatter->to == NULL && scatter->to_count > 0)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "vector '%s': scatter to %zu receivers, but not to which",
                           vector->name, scatter->to_count);
    for (size_t i = 0; scatter->to != NULL && i < scatter->to_count; i++) {
        uint32_t r = 0;
        while (r < vector->receiver_count && vector->receivers[r] != scatter->to[i])
            r++;
        if (r == vector->receiver_count)
            return hawser_fail(error, HAWSER_BAD_ARGUMENT, "vector '%s': node %u has no edge to node %u", vector->name,
                               vector->self, scatter->to[i]);
        for (size_t j = 0; j < i; j++)
            if (scatter->to[j] == scatter->to[i])
                return hawser_fail(error, HAWSER_BAD_ARGUMENT, "vector '%s': scatter to node %u twice", vector->name,
                                   scatter->to[i]);
    }
    return HAWSER_OK;
}

static hawser_status check_numbers(const hawser_vector *vector, const hawser_scatter *scatter, hawser_error *error)
{
    if (!vector->sparse && (scatter->keys != NULL || scatter->key_count > 0))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "vector '%s': a scatter with keys, and the vector is not sparse",
                           vector->name);
    size_t at = 0, most = (size_t)vector->shape.rows, keys = scatter->key_count;
    if (vector->sparse && keys > most)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "vector '%s': a scatter of %zu keys, and there are %zu rows",
                           vector->name, keys, most);
    size_t count = vector->sparse ? keys * vector->shape.width : vector->count;
    if (count > 0 && (scatter->values == NULL || (vector->sparse && scatter->keys == NULL)))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "vector '%s': a scatter of %zu numbers without values or keys",
                           vector->name, count);
    if (vector->sparse && !hw_sparse_check(&vector->shape, scatter->keys, keys, &at))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "vector '%s': key %llu at place %zu of a scatter: keys ascend, and are below %zu", vector->name,
                           (unsigned long long)scatter->keys[at], at, most);
    return hw_vector_finite(vector, scatter->values, count, "the scattered values", error);
}

/* Fills in the envelope of an item, but its length. */
static void name_item(const hawser_vector *vector, const hawser_scatter *scatter, bool numbers, hw_message *item)
{
    hw_envelope *envelope = &item->envelope;
    envelope->kind = HW_MESSAGE_VECTOR;
    envelope->type = (uint8_t)vector->type;
    envelope->part = HW_VECTOR_ITEM;
    envelope->state = vector->number;
    envelope->loop = HW_VECTOR_GENERATION;
    envelope->clock = scatter->iteration;
    envelope->span = numbers;
    envelope->count = !numbers ? 0 : vector->sparse ? scatter->key_count : vector->count;
}

static hawser_status new_item(const hawser_vector *vector, const hawser_scatter *scatter, bool numbers, hw_message **item,
                              hawser_error *error)
{
    size_t keys = vector->sparse ? scatter->key_count : 0, key_bytes = keys * sizeof *scatter->keys;
    size_t length = vector->sparse ? hw_sparse_bytes(&vector->shape, keys) : vector->bytes;
    HAWSER_TRY(numbers && vector->pool != NULL ? hw_pool_message(vector->pool, length, item, error)
                                               : hw_message_new(numbers ? length : 0, item, error));
    name_item(vector, scatter, numbers, *item);
    if (!numbers || length == 0)
        return HAWSER_OK;
    if (keys > 0)
        memcpy((*item)->payload, scatter->keys, key_bytes);
    memcpy((char *)(*item)->payload + key_bytes, scatter->values, length - key_bytes);
    return HAWSER_OK;
}

/* Makes an item in a free slot; NULL: there is none. */
static hawser_status new_item_in_slot(hawser_vector *vector, const hawser_scatter *scatter, hw_message **item,
                                      hawser_error *error)
{
    HAWSER_TRY(hw_message_new(0, item, error));
    name_item(vector, scatter, true, *item);
    if (hw_vector_slots_put(vector, scatter->values, *item))
        return HAWSER_OK;
    hw_message_free(*item);
    *item = NULL;
    return HAWSER_OK;
}

/* Returns another message over the numbers of the scatter, in a slot if the receiver `reads` from there. */
static hawser_status share_item(hawser_vector *vector, const hawser_scatter *scatter, bool reads, hw_message *shared[2],
                                hw_message **item, hawser_error *error)
{
    if (reads && shared[1] == NULL)
        HAWSER_TRY(new_item_in_slot(vector, scatter, &shared[1], error));
    if (reads && shared[1] != NULL)
        return hw_message_share(shared[1], item, error);
    if (shared[0] == NULL)
        HAWSER_TRY(new_item(vector, scatter, true, &shared[0], error));
    return hw_message_share(shared[0], item, error);
}

/* Adds the scatter to the pending item, in its memory or (sparse) in another item. */
static hawser_status add_to_pending(const hawser_vector *vector, const hawser_scatter *scatter, hw_message *pending,
                                    hw_message **item, hawser_error *error)
{
    const char *what =
        vector->deltas ? "the sum of deltas that waits for a receiver" : "the values that wait for a receiver";
    hw_sparse_part sums = {.values = pending->payload, .count = vector->count};
    *item = pending;
    if (vector->sparse) {
        const hw_sparse_part before = hw_sparse_of(pending),
                             now = {.keys = scatter->keys, .values = scatter->values, .count = scatter->key_count};
        HAWSER_TRY(hw_sparse_merge(&vector->shape, &before, &now, vector->deltas, item, error));
        hw_sparse_name(*item, pending);
        sums = hw_sparse_of(*item);
        sums.count *= vector->shape.width;
    } else {
        hw_terms_add(vector->type, pending->payload, scatter->values, vector->count);
    }
    (*item)->envelope.clock = scatter->iteration;
    (*item)->envelope.span++;
    hawser_status status = hw_vector_finite(vector, sums.values, sums.count, what, error);
    if (status != HAWSER_OK && *item != pending)
        hw_message_free(*item);
    return status;
}

/* Returns the item that an edge has pending after this scatter; NULL: nothing changes there. `pending`: the one before.
 * `shared` has the numbers for all edges that need no copy of their own, in a message and in a slot. */
static hawser_status next_item(hawser_vector *vector, const hawser_scatter *scatter, uint32_t receiver, hw_message *pending,
                               bool idle, hw_message *shared[2], hw_message **item, bool *added, hawser_error *error)
{
    uint32_t node = vector->receivers[receiver];
    *item = NULL;
    if (!is_named(scatter, node)) /* under tap nobody waits for it */
        return vector->rules.sync == HW_VECTOR_TAP || pending != NULL ? HAWSER_OK
                                                                      : new_item(vector, scatter, false, item, error);
    if ((vector->deltas || vector->sparse) && pending != NULL && pending->envelope.span > 0) {
        *added = true;
        return add_to_pending(vector, scatter, pending, item, error);
    }
    if (vector->deltas && !vector->sparse && !idle) /* later deltas are added to it */
        return new_item(vector, scatter, true, item, error);
    pthread_mutex_lock(&vector->mutex);
    bool reads = vector->slots.reads[receiver];
    pthread_mutex_unlock(&vector->mutex);
    return share_item(vector, scatter, reads, shared, item, error);
}

/* The same with rounding, which each edge does by itself. */
static hawser_status next_rounded(hawser_vector *vector, const hawser_scatter *scatter, uint32_t receiver,
                                  hw_message *pending, hw_message **item, bool *added, hawser_error *error)
{
    hw_message *whole = NULL;
    *added = pending != NULL && pending->envelope.span > 0;
    if (!*added) {
        HAWSER_TRY(new_item(vector, scatter, true, item, error));
        return hw_vector_round(vector, receiver, item, error);
    }
    HAWSER_TRY(hw_vector_take_back(vector, receiver, pending, &whole, error));
    hawser_status status = add_to_pending(vector, scatter, whole, item, error);
    if (status != HAWSER_OK || *item != whole)
        hw_message_free(whole);
    return status == HAWSER_OK ? hw_vector_round(vector, receiver, item, error) : status;
}

static hawser_status scatter_to(hawser_vector *vector, const hawser_scatter *scatter, uint32_t receiver,
                                hw_message *shared[2], hawser_error *error)
{
    hw_edge_out *edge = &vector->out[receiver];
    hawser_status status = HAWSER_OK;
    hw_message *item = NULL;
    bool added = false;
    pthread_mutex_lock(&vector->mutex);
    bool drops = hw_edge_drops(edge), idle = hw_edge_idle(edge);
    hw_message *pending = hw_edge_begin(edge);
    pthread_mutex_unlock(&vector->mutex);
    if (vector->left != NULL && is_named(scatter, vector->receivers[receiver]))
        status = next_rounded(vector, scatter, receiver, pending, &item, &added, error);
    else if (!drops)
        status = next_item(vector, scatter, receiver, pending, idle, shared, &item, &added, error);
    if (status != HAWSER_OK) /* the edge stays begun, so that a sum that is not finite never leaves */
        return status;
    pthread_mutex_lock(&vector->mutex);
    hw_edge_end(edge, item, added);
    pthread_mutex_unlock(&vector->mutex);
    return hw_vector_pump(vector, receiver, error);
}

static hawser_status scatter_to_all(hawser_vector *vector, const hawser_scatter *scatter, hawser_error *error)
{
    hw_message *shared[2] = {NULL, NULL};
    hawser_status status = HAWSER_OK;
    for (uint32_t r = 0; status == HAWSER_OK && r < vector->receiver_count; r++)
        status = scatter_to(vector, scatter, r, shared, error);
    hw_message_free(shared[0]);
    hw_message_free(shared[1]);
    return status;
}

static hawser_status await_space(hawser_vector *vector, const hawser_scatter *scatter, hawser_error *error)
{
    double deadline = hw_seconds() + vector->job->timeout;
    bool all = vector->rules.sync != HW_VECTOR_TAP;
    for (uint32_t r = 0; r < vector->receiver_count; r++)
        HAWSER_TRY(hw_vector_check_closed(vector, vector->receivers[r], error));
    for (uint32_t r = 0; r < vector->receiver_count; r++)
        if (all || is_named(scatter, vector->receivers[r]))
            HAWSER_TRY(hw_vector_await_open(vector, r, deadline, scatter->iteration, error));
    return HAWSER_OK;
}

static hawser_status scatter_now(hawser_vector *vector, const hawser_scatter *scatter, hawser_error *error)
{
    HAWSER_TRY(hw_vector_usable(vector, "a scatter", error));
    HAWSER_TRY(check_receivers(vector, scatter, error));
    HAWSER_TRY(check_iteration(vector, scatter->iteration, error));
    HAWSER_TRY(check_numbers(vector, scatter, error));
    HAWSER_TRY(vector->servers != NULL ? hw_vector_servers_ready(vector, scatter, error)
                                       : await_space(vector, scatter, error));
    if (!vector->scattered) {
        pthread_mutex_lock(&vector->mutex);
        vector->rules.first = scatter->iteration;
        pthread_mutex_unlock(&vector->mutex);
    }
    for (size_t i = 0; vector->holds != NULL && i < scatter->key_count; i++)
        vector->holds[scatter->keys[i]] = 1;
    hw_vector_record_scatter(vector, scatter);
    hawser_status status =
        vector->servers != NULL ? hw_vector_servers_scatter(vector, scatter, error) : scatter_to_all(vector, scatter, error);
    vector->scattered = true;
    vector->iteration = scatter->iteration;
    vector->broken = status != HAWSER_OK;
    return status;
}

hawser_status hawser_vector_scatter(hawser_vector *vector, const hawser_scatter *scatter, hawser_error *error)
{
    HW_GIVEN(vector);
    HW_MADE_HERE(&vector->job->origin, "job");
    HW_GIVEN(scatter);
    hawser_error said = {0};
    pthread_mutex_lock(&vector->calls);
    hawser_status status = scatter_now(vector, scatter, &said);
    pthread_mutex_unlock(&vector->calls);
    return hw_vector_end_call(vector, status, &said, error);
}
