/* gather.c - takes in what has arrived from the in-neighbours. */
#include <string.h>

#include "base/clock.h"
#include "runtime/vector/vector.h"
#include "vector/mix.h"

static hawser_status check_how(const hawser_vector *vector, hawser_gather_how how, const hawser_gather_function *function,
                               hawser_error *error)
{
    if (how != HAWSER_GATHER_AVERAGE && how != HAWSER_GATHER_SUM && how != HAWSER_GATHER_REPLACE &&
        how != HAWSER_GATHER_FUNCTION)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "vector '%s': there is no gather %d", vector->name, (int)how);
    if ((how == HAWSER_GATHER_FUNCTION) != (function != NULL && function->apply != NULL))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "vector '%s': HAWSER_GATHER_FUNCTION needs a function, and no other gather takes one",
                           vector->name);
    if (how == HAWSER_GATHER_REPLACE && vector->deltas)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "vector '%s': HAWSER_GATHER_REPLACE would lose deltas, each of which counts; it is for values",
                           vector->name);
    return HAWSER_OK;
}

static hawser_status check_iteration(const hawser_vector *vector, uint64_t iteration, hawser_error *error)
{
    unsigned long long now = iteration;
    bool tap = vector->rules.sync == HW_VECTOR_TAP;
    if (!vector->scattered || iteration > vector->iteration)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "vector '%s': gather of iteration %llu before its scatter; scatter first", vector->name, now);
    /* Under tap the same iteration may be gathered again. */
    bool again =
        vector->gathered && (tap ? iteration < vector->gathered_iteration : iteration <= vector->gathered_iteration);
    if (again)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "vector '%s': gather of iteration %llu after that of iteration %llu; iterations ascend",
                           vector->name, now, (unsigned long long)vector->gathered_iteration);
    return HAWSER_OK;
}

/* Under bsp and ssp all replicas begin alike, else one would wait for an iteration that never comes. */
static hawser_status check_beginnings(hawser_vector *vector, hawser_error *error)
{
    for (uint32_t s = 0; s < vector->source_count && vector->rules.sync != HW_VECTOR_TAP; s++) {
        pthread_mutex_lock(&vector->mutex);
        bool arrived = vector->in[s].arrived > 0;
        uint64_t begins = vector->in[s].begins;
        pthread_mutex_unlock(&vector->mutex);
        if (arrived && begins != vector->rules.first)
            return hawser_fail(
                error, HAWSER_BAD_ARGUMENT,
                "vector '%s': node %u begins with iteration %llu and node %u with %llu; under bsp and ssp all "
                "replicas begin with the same one",
                vector->name, vector->self, (unsigned long long)vector->rules.first, vector->sources[s],
                (unsigned long long)begins);
    }
    return HAWSER_OK;
}

static hawser_status await_all(hawser_vector *vector, uint64_t iteration, hawser_error *error)
{
    double deadline = hw_seconds() + vector->job->timeout;
    for (uint32_t s = 0; s < vector->source_count && vector->rules.sync != HW_VECTOR_TAP; s++) {
        HAWSER_TRY(hw_vector_await_ready(vector, s, deadline, iteration, error));
        HAWSER_TRY(check_beginnings(vector, error));
    }
    return HAWSER_OK;
}

/* Drops all values of a list but the newest. Returns it, and counts the others. */
static hw_message *newest_of(hawser_vector *vector, hw_message *first)
{
    hw_message *newest = NULL;
    for (hw_message *next; first != NULL; first = next) {
        next = first->next;
        first->next = NULL;
        if (first->envelope.span == 0) {
            hw_message_free(first);
            continue;
        }
        vector->replaced += newest != NULL;
        hw_message_free(newest);
        newest = first;
    }
    return newest;
}

/* Merges the sparse values of a list: of each key the newest counts. On failure the list is freed. */
static hawser_status merge_values(hawser_vector *vector, hw_message **list, hawser_error *error)
{
    hw_message *sum = NULL;
    hawser_status status = HAWSER_OK;
    for (hw_message *item = *list, *next; item != NULL; item = next) {
        next = item->next;
        item->next = NULL;
        if (status != HAWSER_OK || item->envelope.span == 0)
            hw_message_free(item);
        else if (sum != NULL)
            status = hw_vector_merge(vector, &sum, item, error);
        else
            sum = item;
    }
    *list = sum;
    return status;
}

static void note_held(hawser_vector *vector)
{
    for (uint32_t s = 0; s < vector->source_count; s++) {
        const hw_message *item = vector->taken[s];
        const hw_sparse_part part = item != NULL ? hw_sparse_of(item) : (hw_sparse_part){0};
        for (size_t i = 0; i < part.count; i++)
            vector->holds[part.keys[i]] = 1;
    }
}

/* Takes what the gather uses. Of values of a source one item is left. */
static hawser_status take_all(hawser_vector *vector, uint64_t iteration, hawser_error *error)
{
    pthread_mutex_lock(&vector->mutex);
    for (uint32_t s = 0; s < vector->source_count; s++)
        vector->taken[s] = hw_edge_take(&vector->in[s], iteration, &vector->numbers[s]);
    pthread_mutex_unlock(&vector->mutex);
    for (uint32_t s = 0; s < vector->source_count; s++)
        hw_vector_record_taken(vector, s, vector->taken[s], 0, iteration);
    hawser_status status = HAWSER_OK;
    for (uint32_t s = 0; s < vector->source_count && status == HAWSER_OK; s++)
        status = hw_vector_widen(vector, &vector->taken[s], error);
    for (uint32_t s = 0; s < vector->source_count && !vector->deltas && status == HAWSER_OK; s++) {
        if (vector->sparse)
            status = merge_values(vector, &vector->taken[s], error);
        else
            vector->taken[s] = newest_of(vector, vector->taken[s]);
    }
    if (status == HAWSER_OK && vector->holds != NULL)
        note_held(vector);
    for (uint32_t s = 0; s < vector->source_count && status != HAWSER_OK; s++) {
        hw_messages_free(vector->taken[s]);
        vector->taken[s] = NULL;
    }
    return status;
}

/* Adds up the own array, at its place, and all that was taken. */
static void mix(const hawser_vector *vector, bool mean, void *array)
{
    size_t count = 0;
    uint64_t scatters = 1;
    bool own = false;
    for (uint32_t s = 0; s <= vector->source_count; s++) {
        if (!own && (s == vector->source_count || vector->sources[s] > vector->self)) {
            vector->terms[count++] = array;
            own = true;
        }
        for (const hw_message *item = s < vector->source_count ? vector->taken[s] : NULL; item != NULL; item = item->next)
            if (item->envelope.span > 0) {
                vector->terms[count++] = item->payload;
                scatters += vector->deltas ? item->envelope.span : 1;
            }
    }
    if (count > 1)
        hw_terms_mean(vector->type, array, vector->terms, count, mean ? scatters : 1, vector->count);
}

/* The same by key. */
static void mix_sparse(const hawser_vector *vector, bool mean, void *array)
{
    size_t count = 0, place = 0;
    uint64_t scatters = 1;
    for (uint32_t s = 0; s < vector->source_count; s++) {
        for (const hw_message *item = vector->taken[s]; item != NULL; item = item->next)
            if (item->envelope.span > 0) {
                vector->parts[count++] = hw_sparse_of(item);
                scatters += item->envelope.span;
            }
        if (vector->sources[s] < vector->self)
            place = count;
    }
    hw_sparse_mix(&vector->shape, array, vector->parts, count, place, mean && !vector->deltas, vector->places,
                  vector->terms);
    vector->terms[0] = array;
    if (mean && vector->deltas && scatters > 1)
        hw_terms_mean(vector->type, array, vector->terms, 1, scatters, vector->count);
}

static hawser_status apply_function(const hawser_vector *vector, const hawser_gather_function *function, void *array,
                                    hawser_error *error)
{
    for (uint32_t s = 0; s < vector->source_count; s++)
        for (const hw_message *item = vector->taken[s]; item != NULL; item = item->next) {
            hawser_arrival arrival = {.replica = vector->sources[s],
                                      .iteration = item->envelope.clock,
                                      .scatters = item->envelope.span,
                                      .values = item->payload,
                                      .count = vector->count};
            if (vector->sparse) {
                const hw_sparse_part part = hw_sparse_of(item);
                arrival.keys = part.keys;
                arrival.key_count = part.count;
                arrival.values = part.values;
                arrival.count = part.count * vector->shape.width;
            }
            hawser_status status = arrival.scatters > 0 ? function->apply(function->user, array, &arrival) : HAWSER_OK;
            if (status != HAWSER_OK)
                return hawser_fail(error, status, "vector '%s': the function of a gather returned %s", vector->name,
                                   hawser_status_name(status));
        }
    return HAWSER_OK;
}

static void replace(const hawser_vector *vector, void *array)
{
    for (uint32_t s = 0; vector->sparse && s < vector->source_count; s++)
        if (vector->taken[s] != NULL) {
            const hw_sparse_part part = hw_sparse_of(vector->taken[s]);
            hw_sparse_store(&vector->shape, array, &part);
        }
    for (uint32_t s = vector->source_count; !vector->sparse && s > 0; s--)
        if (vector->taken[s - 1] != NULL) {
            memcpy(array, vector->taken[s - 1]->payload, vector->bytes);
            return;
        }
}

/* Frees what was taken, and tells the senders. */
static hawser_status acknowledge(hawser_vector *vector, uint64_t iteration, hawser_error *error)
{
    hawser_status status = HAWSER_OK;
    for (uint32_t s = 0; s < vector->source_count; s++) {
        hw_messages_free(vector->taken[s]);
        vector->taken[s] = NULL;
    }
    for (uint32_t s = 0; s < vector->source_count && status == HAWSER_OK; s++)
        if (vector->numbers[s] > 0)
            status = hw_vector_say(vector, vector->sources[s], HW_VECTOR_GATHERED, vector->numbers[s], iteration, error);
    return status;
}

static hawser_status gather_now(hawser_vector *vector, uint64_t iteration, hawser_gather_how how,
                                const hawser_gather_function *function, void *array, hawser_error *error)
{
    HAWSER_TRY(hw_vector_usable(vector, "a gather", error));
    HAWSER_TRY(check_how(vector, how, function, error));
    HAWSER_TRY(check_iteration(vector, iteration, error));
    if (vector->servers != NULL) {
        HAWSER_TRY(hw_vector_servers_gather(vector, iteration, how, array, error));
        vector->gathered = true;
        vector->gathered_iteration = iteration;
        return HAWSER_OK;
    }
    HAWSER_TRY(await_all(vector, iteration, error));
    hawser_status status = take_all(vector, iteration, error);
    vector->broken = status != HAWSER_OK;
    HAWSER_TRY(status);
    if (how == HAWSER_GATHER_FUNCTION)
        status = apply_function(vector, function, array, error);
    else if (how == HAWSER_GATHER_REPLACE)
        replace(vector, array);
    else if (vector->sparse)
        mix_sparse(vector, how == HAWSER_GATHER_AVERAGE, array);
    else
        mix(vector, how == HAWSER_GATHER_AVERAGE, array);
    hawser_error other = {0};
    hawser_status told = acknowledge(vector, iteration, status == HAWSER_OK ? error : &other);
    status = status == HAWSER_OK ? told : status;
    vector->gathered = true;
    vector->gathered_iteration = iteration;
    vector->broken = status != HAWSER_OK;
    if (status == HAWSER_OK)
        hw_vector_record_gather(vector, iteration);
    return status;
}

hawser_status hawser_vector_gather(hawser_vector *vector, uint64_t iteration, hawser_gather_how how,
                                   const hawser_gather_function *function, void *array, hawser_error *error)
{
    HW_GIVEN(vector);
    HW_MADE_HERE(&vector->job->origin, "job");
    HW_GIVEN(array);
    hawser_error said = {0};
    pthread_mutex_lock(&vector->calls);
    hawser_status status = gather_now(vector, iteration, how, function, array, &said);
    pthread_mutex_unlock(&vector->calls);
    return hw_vector_end_call(vector, status, &said, error);
}
