/* carry.c - carries the messages of a store: from the client to its servers and from the server to its clients, on this node
 * or over the net. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/store/hub.h"
#include "runtime/store/remote.h"

/* Queues a message of the client, whose lock is held. */
hawser_status hw_hub_send(void *argument, uint32_t server, hw_message *message, hawser_error *error)
{
    hawser_store *store = argument;
    if (store->over) {
        hw_message_free(message);
        return hawser_fail(error, store->why.status, "%s", store->why.text);
    }
    message->envelope.kind = HW_MESSAGE_ASK;
    message->envelope.destination = server;
    message->next = NULL;
    *store->outbox_end = message;
    store->outbox_end = &message->next;
    return HAWSER_OK;
}

/* Keeps the status until a thread waits for the task. Without memory for it, no later task reports success. */
static void keep_failure(hawser_store *store, uint64_t task, hawser_status status, const hawser_error *error)
{
    hawser_error *kept = &store->unreported;
    if (HW_GROW(&store->failures, &store->failure_capacity, store->failure_count + 1, "failed tasks", NULL) == HAWSER_OK) {
        hw_failure *failure = &store->failures[store->failure_count++];
        failure->task = task;
        kept = &failure->error;
    }
    *kept = *error;
    kept->status = status;
}

void hw_hub_finished(void *argument, void *tag, uint64_t task, hawser_status status, const hawser_error *error)
{
    hawser_store *store = argument;
    hw_completion *completion = tag;
    if (status != HAWSER_OK)
        keep_failure(store, task, status, error);
    if (completion == NULL)
        return;
    completion->task = task;
    completion->status = status;
    if (completion->queued) {
        hw_ended_put(store, completion);
        return;
    }
    *store->completions_end = completion;
    store->completions_end = &completion->next;
}

/* Sends one message without the lock: to the own server, which may reply at once, or into the net. */
static hawser_status carry_one(hawser_store *store, hw_message *message, hawser_error *error)
{
    uint32_t server = message->envelope.destination;
    if (store->remote != NULL)
        return hw_remote_send(store->remote, server, message, error);
    if (server == store->self)
        return hw_server_receive(store->server, store->self, message, error);
    return hw_cluster_send(store->job->cluster, server, message, error);
}

/* Sends a message whose values are in the user's memory, which belongs to the user again when the task has ended: with the
 * store, or during this wait. */
static hawser_status carry_zero_copy(hawser_store *store, hw_message *message, hawser_error *error)
{
    hw_request_head head;
    memcpy(&head, message->payload, sizeof head);
    if (store->over || hw_client_ended(store->client, head.task)) {
        pthread_mutex_unlock(&store->mutex);
        hw_message_free(message);
        return HAWSER_OK;
    }
    pthread_mutex_lock(&store->zero_copy);
    store->zero_copy_slice = head.slice;
    atomic_store(&store->zero_copy_task, head.task);
    pthread_mutex_unlock(&store->mutex);
    hawser_status status = carry_one(store, message, error);
    atomic_store(&store->zero_copy_task, 0);
    pthread_mutex_unlock(&store->zero_copy);
    return status;
}

/* Waits until no thread uses a task's memory that used it when this began; such threads hold `held`. The store's mutex is
 * held, but not during the wait. */
static void await_hands_off(hawser_store *store, pthread_mutex_t *held)
{
    pthread_mutex_unlock(&store->mutex);
    pthread_mutex_lock(held);
    pthread_mutex_unlock(held);
    pthread_mutex_lock(&store->mutex);
}

/* Fails the tasks that need a server of the job. The lock is held, except while a message that uses a task's memory is sent
 * or received. */
static void lose_server(hawser_store *store, uint32_t server, const hawser_error *error)
{
    await_hands_off(store, &store->zero_copy);
    await_hands_off(store, &store->direct_receive);
    if (store->over || hw_client_has_lost(store->client, server))
        return;
    hw_recorder_failed(store->job->recorder, error->status);
    hw_client_fail_server(store->client, server, error->status, error);
}

/* Sends one message of the client: it was made under the lock and is sent without it. */
static void carry_next(hawser_store *store)
{
    hawser_error error = {0};
    hawser_status status;
    hw_message *message = store->outbox;
    if (message == NULL)
        return;
    uint32_t server = message->envelope.destination;
    store->outbox = message->next;
    if (store->outbox == NULL)
        store->outbox_end = &store->outbox;
    if (message->tail != NULL) {
        status = carry_zero_copy(store, message, &error);
    } else {
        pthread_mutex_unlock(&store->mutex);
        status = carry_one(store, message, &error);
    }
    if (status != HAWSER_OK && (status != HAWSER_PEER_LOST || store->remote != NULL))
        hw_hub_end(store, &error);
    pthread_mutex_lock(&store->mutex);
    if (status == HAWSER_PEER_LOST && store->remote == NULL) /* it has left the job, or is lost */
        lose_server(store, server, &error);
}

/* Waits while the values of a task are being sent whose end this reply may be. An honest server cannot end it yet, but the
 * reply is not trusted. */
static void await_end_of(hawser_store *store, const hw_message *reply)
{
    hw_reply_head head;
    while (hw_reply_head_of(reply, &head) && head.task != 0 && head.task == atomic_load(&store->zero_copy_task) &&
           (head.parts > 0 || head.outcome == HW_FORGOTTEN || head.slice == store->zero_copy_slice))
        await_hands_off(store, &store->zero_copy);
}

/* Ends this node's client. The lock is held, except while a message that uses a task's memory is sent or received. A thread
 * that sees the store as lost begins no such message. */
static void end_client(hawser_store *store, hawser_status status, const hawser_error *error)
{
    store->over = true;
    store->why = *error;
    store->why.status = status;
    await_hands_off(store, &store->zero_copy);
    await_hands_off(store, &store->direct_receive);
    hw_recorder_failed(store->job->recorder, status);
    if (store->log != NULL)
        hw_log_put(store->log, &(hw_event_record){.kind = HW_EVENT_LOST, .from = hw_recorder_lost(store->job->cluster)});
    hw_client_fail(store->client, status, &store->why);
}

void hw_hub_unlock(hawser_store *store)
{
    if (!store->carrying) {
        store->carrying = true; /* other threads leave their messages to this one, so that all leave in order */
        while (store->outbox != NULL || hw_client_more(store->client))
            carry_next(store);
        store->carrying = false;
    }
    const hawser_error *broken = hw_client_broken(store->client);
    if (broken != NULL && !store->over)
        end_client(store, broken->status, broken);
    for (hw_waiter *waiter = store->waiters; waiter != NULL; waiter = waiter->next)
        if (hw_hub_is_over(store, waiter)) {
            atomic_store_explicit(&waiter->over, true, memory_order_release);
            if (waiter->asleep)
                pthread_cond_signal(&waiter->ended);
        }
    hw_completion *completion = store->completions;
    store->completions = NULL;
    store->completions_end = &store->completions;
    pthread_mutex_unlock(&store->mutex);
    while (completion != NULL) {
        hw_completion *next = completion->next;
        hw_call_place *place = hw_hub_call_begin(store, "`done` of a task", NULL, NULL);
        completion->done(completion->user, completion->task, completion->status);
        hw_hub_call_end(place);
        free(completion);
        completion = next;
    }
}

/* Handles a reply to this node's client. */
static void answered(hawser_store *store, uint32_t server, hw_message *message)
{
    hawser_error error = {0};
    pthread_mutex_lock(&store->mutex);
    await_end_of(store, message);
    hawser_status status = hw_client_receive(store->client, server, message, &error);
    if (status != HAWSER_OK)
        end_client(store, status, &error);
    hw_hub_unlock(store);
}

/* Ends the store, as this node's server has lost a request or a reply, and tells the nodes that would wait for it. */
static void stop_serving(hawser_store *store, const hawser_error *error)
{
    hw_hub_end(store, error);
    hw_cluster_give_up(store->job->cluster, error->text);
}

/* Sends a reply of the server; any thread. */
void hw_hub_reply(void *argument, uint32_t client, hw_message *message)
{
    hawser_store *store = argument;
    hawser_error error = {0};
    if (client == store->self) {
        answered(store, store->self, message);
        return;
    }
    if (client >= store->nodes) {
        store->client_ops->reply(store->listener, client, message);
        return;
    }
    message->envelope.kind = HW_MESSAGE_ANSWER;
    hawser_status status = hw_cluster_send(store->job->cluster, client, message, &error);
    if (status != HAWSER_OK && status != HAWSER_PEER_LOST) /* a lost client needs no reply */
        stop_serving(store, &error);
}

/* Accounts for bytes of remote clients. The job's own nodes are not limited: they request no more than their programs mean
 * to. */
void hw_hub_account(void *argument, uint32_t client, int64_t bytes)
{
    hawser_store *store = argument;
    if (client >= store->nodes)
        store->client_ops->account(store->listener, client, bytes);
}

void hw_hub_ready(void *argument, hw_stripe *stripe)
{
    hawser_store *store = argument;
    if (store->pool.started == 0)
        hw_stripe_work(stripe);
    else
        hw_stripe_pool_put(&store->pool, stripe);
}

hawser_status hw_hub_log(void *argument, hw_stream_name name, hw_log **log, hawser_error *error)
{
    hawser_store *store = argument;
    name.run = store->run;
    return hw_recorder_log(store->job->recorder, name, log, error);
}

/* Returns where the net thread may store a reply's values directly. The task cannot end before the whole reply was handled,
 * except with the store, which waits for the reader. */
void *hw_hub_acquire(void *argument, uint32_t server, const hw_message *answer)
{
    hawser_store *store = argument;
    pthread_mutex_lock(&store->mutex);
    void *place = store->over ? NULL : hw_client_place(store->client, server, answer);
    if (place != NULL)
        pthread_mutex_lock(&store->direct_receive);
    pthread_mutex_unlock(&store->mutex);
    return place;
}

void hw_hub_release(void *argument)
{
    hawser_store *store = argument;
    pthread_mutex_unlock(&store->direct_receive);
}

/* Net thread only. */
void hw_hub_arrived(void *argument, uint32_t node, hw_message *message)
{
    hawser_store *store = argument;
    hawser_error error = {0};
    if (message->envelope.kind == HW_MESSAGE_ANSWER) {
        answered(store, node, message);
    } else if (store->server == NULL) {
        hw_message_free(message);
    } else if (hw_server_receive(store->server, node, message, &error) != HAWSER_OK) {
        stop_serving(store, &error);
    }
}

void hw_hub_end(hawser_store *store, const hawser_error *error)
{
    pthread_mutex_lock(&store->mutex);
    if (!store->over)
        end_client(store, error->status != HAWSER_OK ? error->status : HAWSER_PEER_LOST, error);
    hw_hub_unlock(store);
}

/* Notes the workers of a lost node at this node's server. */
static void lose_workers(hawser_store *store, uint32_t node, const hawser_error *error)
{
    pthread_mutex_lock(&store->making);
    for (uint32_t w = 0; w < store->workers; w++)
        store->lost_workers[w] = (store->worker_nodes != NULL ? store->worker_nodes[w] : w / store->options.workers) == node;
    hw_server_lose_workers(store->server, store->lost_workers, error->text);
    pthread_mutex_unlock(&store->making);
}

/* Fails what needs a node of the job. */
static void lose_node(hawser_store *store, uint32_t node, const hawser_error *error)
{
    if (node < store->servers) {
        pthread_mutex_lock(&store->mutex);
        lose_server(store, node, error);
        hw_hub_unlock(store);
    }
    if (store->server != NULL)
        lose_workers(store, node, error);
}

void hw_hub_node_lost(void *argument, const hw_member_event *event)
{
    hawser_store *store = argument;
    hawser_error error = {0};
    error.status = hw_cluster_fail_event(event, &error);
    /* Servers elsewhere have the job's nodes as one group, which ends as a whole. Without its launcher, or by a failure of
     * its own, this node ends. */
    if (store->remote != NULL || event->loss.node == store->self || event->loss.node >= store->nodes) {
        hw_hub_end(store, &error);
        return;
    }
    lose_node(store, event->loss.node, &error);
}

void hw_hub_node_left(void *argument, uint32_t node)
{
    hawser_store *store = argument;
    hawser_error error = {0};
    pthread_mutex_lock(&store->mutex);
    bool open = !store->closing && !store->over && store->remote == NULL; /* servers elsewhere end the group themselves */
    pthread_mutex_unlock(&store->mutex);
    if (!open || node >= store->nodes)
        return;
    error.status = hw_cluster_why_left(store->job->cluster, node, &error);
    lose_node(store, node, &error);
}
