/* state.c - what a vector is, and whether it may be used. */
#include "base/finite.h"
#include "base/type.h"
#include "runtime/vector/vector.h"

hawser_status hw_vector_finite(const hawser_vector *vector, const void *values, size_t count, const char *what,
                               hawser_error *error)
{
    if (vector->any_number || count == 0)
        return HAWSER_OK;
    size_t at = vector->type == HAWSER_F32 ? hw_first_not_finite_f32(values, count) : hw_first_not_finite_f64(values, count);
    if (at == count)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_NOT_FINITE, "vector '%s': number %zu of %s is %g; lower the rate of the steps%s",
                       vector->name, at, what, hw_value_at(values, vector->type, at),
                       vector->deltas ? "" : ", or open the vector with `any_number`");
}

hawser_status hw_vector_word_new(const hawser_vector *vector, hw_vector_word word, size_t length, hw_message **message,
                                 hawser_error *error)
{
    HAWSER_TRY(hw_message_new(length, message, error));
    (*message)->envelope.kind = HW_MESSAGE_VECTOR;
    (*message)->envelope.part = word;
    (*message)->envelope.state = vector->number;
    (*message)->envelope.loop = HW_VECTOR_GENERATION;
    return HAWSER_OK;
}

hawser_status hw_vector_outside(const hawser_job *job, const char *name, const char *call, hawser_error *error)
{
    if (atomic_load(&job->running) == 0)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                       "vector '%s': %s within a run of a program; vectors are for the time between runs, and units send "
                       "messages or use states",
                       name, call);
}

hawser_status hw_vector_usable(const hawser_vector *vector, const char *call, hawser_error *error)
{
    HAWSER_TRY(hw_vector_outside(vector->job, vector->name, call, error));
    if (vector->finished)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "vector '%s': %s after its finish; open another vector", vector->name,
                           call);
    if (vector->broken)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "vector '%s': %s after a call on it that failed; close it",
                           vector->name, call);
    return HAWSER_OK;
}

hawser_status hw_vector_end_call(hawser_vector *vector, hawser_status status, const hawser_error *said, hawser_error *error)
{
    if (status == HAWSER_OK)
        return status;
    if ((status == HAWSER_PEER_LOST || status == HAWSER_TIMEOUT) && vector->job->cluster != NULL)
        hw_cluster_set_reason(vector->job->cluster, said->text);
    return hawser_fail(error, status, "%s", said->text);
}

hawser_status hawser_vector_describe(hawser_vector *vector, hawser_vector_facts *facts, hawser_error *error)
{
    HW_GIVEN(vector);
    HW_MADE_HERE(&vector->job->origin, "job");
    HW_GIVEN(facts);
    pthread_mutex_lock(&vector->calls);
    *facts = (hawser_vector_facts){.generation = HW_VECTOR_GENERATION,
                                   .replica = vector->self,
                                   .replicas = vector->nodes,
                                   .sources = vector->sources,
                                   .source_count = vector->source_count,
                                   .receivers = vector->receivers,
                                   .receiver_count = vector->receiver_count,
                                   .sent = vector->pushed,
                                   .sent_bytes = vector->pushed_bytes,
                                   .overwritten = vector->replaced,
                                   .memory = vector->memory};
    pthread_mutex_lock(&vector->mutex);
    for (uint32_t i = 0; i < vector->receiver_count; i++) {
        facts->sent += vector->out[i].messages;
        facts->sent_bytes += vector->out[i].bytes;
        facts->overwritten += vector->out[i].overwritten;
        facts->added += vector->out[i].added;
    }
    pthread_mutex_unlock(&vector->mutex);
    pthread_mutex_unlock(&vector->calls);
    return HAWSER_OK;
}
