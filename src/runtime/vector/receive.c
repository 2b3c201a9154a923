/* receive.c - the messages of vectors, on the net's thread, and how items leave. */

#include "runtime/vector/vector.h"

hawser_status hw_vector_check_closed(hawser_vector *vector, uint32_t node, hawser_error *error)
{
    pthread_mutex_lock(&vector->mutex);
    bool closed = vector->closed[node];
    pthread_mutex_unlock(&vector->mutex);
    if (!closed)
        return HAWSER_OK;
    const hw_cluster *cluster = vector->job->cluster;
    return hawser_fail(error, HAWSER_PEER_LOST, "vector '%s': node %u (%s) has closed the vector before its finish",
                       vector->name, node, hw_cluster_member(cluster, node)->name);
}

/* Sends to a neighbour. One that has closed the vector may have left the job since, which matters less. */
hawser_status hw_vector_send(hawser_vector *vector, uint32_t node, hw_message *message, hawser_error *error)
{
    hawser_status status = hw_cluster_send(vector->job->cluster, node, message, error);
    if (status == HAWSER_PEER_LOST)
        HAWSER_TRY(hw_vector_check_closed(vector, node, error));
    return status;
}

hawser_status hw_vector_pump(hawser_vector *vector, uint32_t receiver, hawser_error *error)
{
    hawser_status status = HAWSER_OK;
    pthread_mutex_lock(&vector->order);
    while (status == HAWSER_OK) {
        pthread_mutex_lock(&vector->mutex);
        hw_message *item = hw_edge_next(&vector->out[receiver]);
        if (item != NULL)
            hw_vector_slots_lend(vector, receiver, item);
        pthread_mutex_unlock(&vector->mutex);
        if (item == NULL)
            break;
        hw_vector_record_sent(vector, vector->receivers[receiver], item);
        hw_vector_slots_strip(vector, item);
        status = hw_vector_send(vector, vector->receivers[receiver], item, error);
    }
    pthread_mutex_unlock(&vector->order);
    return status;
}

hawser_status hw_vector_say(hawser_vector *vector, uint32_t node, hw_vector_word word, uint64_t number, uint64_t iteration,
                            hawser_error *error)
{
    hw_message *message = NULL;
    HAWSER_TRY(hw_vector_word_new(vector, word, 0, &message, error));
    message->envelope.epoch = number;
    message->envelope.clock = iteration;
    return hw_vector_send(vector, node, message, error);
}

/* Returns the place of a node in an ascending list, or `count`. */
static uint32_t place_of(const uint32_t *nodes, uint32_t count, uint32_t node)
{
    uint32_t i = 0;
    while (i < count && nodes[i] != node)
        i++;
    return i;
}

hawser_status hw_vector_say_all(hawser_vector *vector, hw_vector_word word, hawser_error *error)
{
    for (uint32_t node = 0; node < vector->nodes; node++)
        if (place_of(vector->sources, vector->source_count, node) < vector->source_count ||
            place_of(vector->receivers, vector->receiver_count, node) < vector->receiver_count)
            HAWSER_TRY(hw_vector_say(vector, node, word, 0, 0, error));
    return HAWSER_OK;
}

/* Returns whether the item was taken. */
static bool take_item(hawser_vector *vector, uint32_t source, hw_message *message)
{
    const hw_envelope *envelope = &message->envelope;
    if (envelope->range > 0 && !hw_vector_slots_take(vector, source, message))
        return false;
    bool rounded = vector->rounding != HW_F64 && envelope->span > 0;
    if ((envelope->encoding != 0) != rounded ||
        (envelope->span == 0 ? envelope->length > 0 : !hw_vector_is_whole(vector, message)))
        return false;
    pthread_mutex_lock(&vector->mutex);
    bool taken = hw_edge_arrived(&vector->in[source], message);
    pthread_mutex_unlock(&vector->mutex);
    return taken;
}

static bool take_word(hawser_vector *vector, uint32_t node, uint32_t source, uint32_t receiver, const hw_envelope *envelope)
{
    bool right = true;
    pthread_mutex_lock(&vector->mutex);
    if (envelope->part == HW_VECTOR_GATHERED) {
        right = receiver < vector->receiver_count && hw_edge_acknowledged(&vector->out[receiver], envelope->epoch);
    } else if (envelope->part == HW_VECTOR_READS) {
        right = receiver < vector->receiver_count;
        if (right)
            hw_vector_slots_answered(vector, receiver, envelope->epoch == 1);
    } else if (envelope->part == HW_VECTOR_CLOSED) {
        vector->closed[node] = true;
    } else if (envelope->part == HW_VECTOR_END) {
        if (source < vector->source_count)
            vector->in[source].ended = true;
        if (receiver < vector->receiver_count)
            hw_edge_receiver_ended(&vector->out[receiver]);
    } else {
        right = false;
    }
    pthread_mutex_unlock(&vector->mutex);
    return right;
}

/* Returns whether the message is as the protocol has it. *taken: the vector has it. */
static bool handle(hawser_vector *vector, uint32_t node, hw_message *message, bool *taken)
{
    uint32_t source = place_of(vector->sources, vector->source_count, node);
    uint32_t receiver = place_of(vector->receivers, vector->receiver_count, node);
    if (message->envelope.part == HW_VECTOR_ITEM) {
        *taken = source < vector->source_count && take_item(vector, source, message);
        return *taken;
    }
    hawser_error error = {0};
    if (message->envelope.part == HW_VECTOR_SLOTS) {
        bool reads = false,
             right = source < vector->source_count && hw_vector_slots_offered(vector, source, message, &reads);
        if (right)
            (void)!hw_vector_say(vector, node, HW_VECTOR_READS, reads, 0, &error);
        return right;
    }
    const hw_envelope envelope = message->envelope; /* the message may be taken */
    if (envelope.part == HW_VECTOR_END && envelope.length > 0) {
        *taken = hw_vector_take_rest(vector, source, message);
        if (!*taken)
            return false;
    }
    if (!take_word(vector, node, source, receiver, &envelope))
        return false;
    if (receiver < vector->receiver_count)
        (void)!hw_vector_pump(vector, receiver, &error); /* the next wait of the program finds the loss */
    return true;
}

void hw_vector_arrived(void *vectors, uint32_t node, hw_message *message)
{
    hw_vectors *all = vectors;
    bool taken = false, right = true;
    char text[200];
    pthread_mutex_lock(&all->mutex);
    hawser_vector *vector = all->first;
    while (vector != NULL && vector->number != message->envelope.state)
        vector = vector->next;
    /* A message for a vector that is closed here, or of another generation, is dropped. */
    if (vector != NULL && message->envelope.loop == HW_VECTOR_GENERATION)
        right = handle(vector, node, message, &taken);
    if (!right)
        (void)!snprintf(text, sizeof text, "vector '%s': node %u has sent a message out of order (part %u, number %llu)",
                        vector->name, node, message->envelope.part, (unsigned long long)message->envelope.epoch);
    pthread_mutex_unlock(&all->mutex);
    if (!right)
        hw_cluster_give_up(all->job->cluster, text);
    if (!taken)
        hw_message_free(message);
    hw_cluster_wake(all->job->cluster);
}
