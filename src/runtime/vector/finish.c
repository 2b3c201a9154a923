/* finish.c - barriers, and the end of a vector's loop. */
#include <stdio.h>

#include "runtime/vector/vector.h"
#include "vector/mix.h"

/* Sends what waits to be sent, although the receivers have not gathered what was sent before. */
static hawser_status flush_all(hawser_vector *vector, hawser_error *error)
{
    for (uint32_t r = 0; r < vector->receiver_count; r++) {
        pthread_mutex_lock(&vector->mutex);
        hw_edge_flush(&vector->out[r]);
        pthread_mutex_unlock(&vector->mutex);
        HAWSER_TRY(hw_vector_pump(vector, r, error));
    }
    return HAWSER_OK;
}

/* Puts one item in place of a list of a tap edge: the newest, or the sum. On failure all are freed. */
static hawser_status merge_items(hawser_vector *vector, hw_message **list, hawser_error *error)
{
    hw_message *sum = *list;
    hawser_status status = vector->deltas ? hw_vector_slots_own(vector, &sum, error) : HAWSER_OK;
    for (hw_message *item = sum->next, *next; item != NULL; item = next) {
        next = item->next;
        if (status != HAWSER_OK) {
            hw_message_free(item);
        } else if (vector->sparse) {
            status = hw_vector_merge(vector, &sum, item, error);
        } else if (vector->deltas) {
            hw_terms_add(vector->type, sum->payload, item->payload, vector->count);
            item->envelope.span += sum->envelope.span;
            sum->envelope = item->envelope;
            hw_message_free(item);
        } else {
            vector->replaced++;
            hw_message_free(sum);
            sum = item;
        }
    }
    if (sum != NULL)
        sum->next = NULL;
    *list = sum;
    if (status != HAWSER_OK) {
        hw_message_free(sum);
        *list = NULL;
    }
    return status;
}

/* After a barrier a tap edge may hold two items, and holds one again. */
static hawser_status merge_held(hawser_vector *vector, hawser_error *error)
{
    for (uint32_t s = 0; s < vector->source_count && vector->rules.sync == HW_VECTOR_TAP; s++) {
        pthread_mutex_lock(&vector->mutex);
        hw_message *first = vector->in[s].held > 1 ? hw_edge_take_all(&vector->in[s]) : NULL;
        pthread_mutex_unlock(&vector->mutex);
        if (first == NULL)
            continue;
        hw_vector_record_taken(vector, s, first, HW_EVENT_FLUSH, 0);
        hawser_status status = hw_vector_widen(vector, &first, error);
        if (status != HAWSER_OK)
            hw_messages_free(first);
        HAWSER_TRY(status);
        HAWSER_TRY(merge_items(vector, &first, error));
        pthread_mutex_lock(&vector->mutex);
        hw_edge_put_back(&vector->in[s], first);
        pthread_mutex_unlock(&vector->mutex);
    }
    return HAWSER_OK;
}

/* Waits until all nodes have called, and their items have arrived; a node that has failed before fails all. */
static hawser_status meet(hawser_vector *vector, hawser_status own, bool ends, hawser_error *error)
{
    hawser_job *job = vector->job;
    char name[HW_CALL_NAME];
    if (job->cluster == NULL)
        return own;
    (void)snprintf(name, sizeof name, "the %s of vector '%s'", ends ? "finish" : "barrier", vector->name);
    hw_cluster_set_phase(job->cluster, ends ? "waiting in the finish of a vector" : "waiting in the barrier of a vector");
    hw_job_cancellable(job, NULL);
    hawser_status status = hw_cluster_agree_call(job->cluster, name, own, error);
    HAWSER_THEN(status, hw_cluster_drain(job->cluster, error));
    status = hw_job_uncancellable(job, status);
    hw_cluster_set_phase(job->cluster, "using vectors");
    return status;
}

static hawser_status barrier_now(hawser_vector *vector, hawser_error *error)
{
    HAWSER_TRY(hw_vector_usable(vector, "a barrier", error));
    hawser_status status = vector->servers != NULL ? hw_vector_servers_settle(vector, error) : flush_all(vector, error);
    status = meet(vector, status, false, error);
    if (status == HAWSER_OK)
        status = merge_held(vector, error);
    vector->broken = status != HAWSER_OK;
    return status;
}

hawser_status hawser_vector_barrier(hawser_vector *vector, hawser_error *error)
{
    HW_GIVEN(vector);
    HW_MADE_HERE(&vector->job->origin, "job");
    hawser_error said = {0};
    pthread_mutex_lock(&vector->calls);
    hawser_status status = barrier_now(vector, &said);
    pthread_mutex_unlock(&vector->calls);
    return hw_vector_end_call(vector, status, &said, error);
}

/* ---------------------------------------------------------------------------------------------------------- finish ---- */

static void add_item(const hawser_vector *vector, void *array, const hw_message *item)
{
    if (!vector->sparse) {
        hw_terms_add(vector->type, array, item->payload, vector->count);
        return;
    }
    const hw_sparse_part part = hw_sparse_of(item);
    hw_sparse_add(&vector->shape, array, &part);
}

/* Adds what was not gathered to the array, in the order of replicas. */
static hawser_status add_rest(hawser_vector *vector, void *array, hawser_error *error)
{
    hawser_status status = HAWSER_OK;
    for (uint32_t s = 0; s < vector->source_count && status == HAWSER_OK; s++) {
        pthread_mutex_lock(&vector->mutex);
        hw_message *first = hw_edge_take_all(&vector->in[s]), **end = &first;
        while (*end != NULL)
            end = &(*end)->next;
        *end = vector->in[s].rest;
        vector->in[s].rest = NULL;
        pthread_mutex_unlock(&vector->mutex);
        hw_vector_record_taken(vector, s, first, HW_EVENT_LAST, 0);
        status = hw_vector_widen(vector, &first, error);
        for (const hw_message *item = status == HAWSER_OK ? first : NULL; item != NULL; item = item->next)
            if (item->envelope.length > 0)
                add_item(vector, array, item);
        hw_messages_free(first);
    }
    HAWSER_TRY(status);
    return hw_vector_finite(vector, array, vector->count, "the array after the last deltas", error);
}

/* The finish over servers: one pull after all pushes. */
static hawser_status finish_servers(hawser_vector *vector, void *array, hawser_error *error)
{
    hawser_status status = hw_vector_finite(vector, array, vector->count, "the array of a finish", error);
    if (status == HAWSER_OK)
        status = hw_vector_servers_end(vector, error);
    status = meet(vector, status, true, error);
    if (status == HAWSER_OK)
        status = meet(vector, hw_vector_servers_rest(vector, array, error), true, error);
    if (status == HAWSER_OK)
        hw_vector_servers_finished(vector);
    vector->finished = status == HAWSER_OK;
    vector->broken = status != HAWSER_OK;
    return status;
}

static hawser_status say_end(hawser_vector *vector, hawser_error *error)
{
    pthread_mutex_lock(&vector->mutex);
    for (uint32_t s = 0; s < vector->source_count; s++)
        vector->in[s].closes = true;
    pthread_mutex_unlock(&vector->mutex);
    return hw_vector_say_end(vector, error);
}

static hawser_status finish_now(hawser_vector *vector, void *array, hawser_error *error)
{
    HAWSER_TRY(hw_vector_usable(vector, "a finish", error));
    if (vector->servers != NULL)
        return finish_servers(vector, array, error);
    hw_vector_mean mean;
    hawser_status status = hw_vector_mean_new(vector, &mean, error);
    if (status == HAWSER_OK)
        status = hw_vector_finite(vector, array, vector->count, "the array of a finish", error);
    if (status == HAWSER_OK)
        hw_vector_record_end(vector, NULL);
    if (status == HAWSER_OK)
        status = flush_all(vector, error);
    if (status == HAWSER_OK && vector->job->cluster != NULL)
        status = say_end(vector, error);
    status = meet(vector, status, true, error);
    if (status == HAWSER_OK)
        status = vector->deltas ? add_rest(vector, array, error) : hw_vector_mean_all(vector, &mean, array, error);
    if (status == HAWSER_OK && !vector->deltas)
        status = hw_vector_finite(vector, array, vector->count, "the mean of all replicas", error);
    hw_vector_mean_free(vector, &mean);
    if (status == HAWSER_OK)
        hw_vector_record_end(vector, array);
    vector->finished = status == HAWSER_OK;
    vector->broken = status != HAWSER_OK;
    return status;
}

hawser_status hawser_vector_finish(hawser_vector *vector, void *array, hawser_error *error)
{
    HW_GIVEN(vector);
    HW_MADE_HERE(&vector->job->origin, "job");
    HW_GIVEN(array);
    hawser_error said = {0};
    pthread_mutex_lock(&vector->calls);
    hawser_status status = finish_now(vector, array, &said);
    pthread_mutex_unlock(&vector->calls);
    return hw_vector_end_call(vector, status, &said, error);
}
