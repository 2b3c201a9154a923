/* batch.c - a server sends one reply for all parts of a push once all are done, so that the client wakes once and not once
 * per part. */
#include <stdlib.h>

#include "base/memory.h"
#include "store/stripe.h"

/* The number of pushes of one client that may lack parts. A client sends one push after the other, and sends again parts
 * whose key lists a server has forgotten. */
enum { OPEN_MOST = 4096 };

static hawser_status new_batch(hw_server *server, const hw_request_head *head, hw_batch **out, hawser_error *error)
{
    hw_batch *batch = NULL;
    void *none = NULL;
    HAWSER_TRY(HW_NEW(&batch, 1, "the parts of a push", error));
    const hw_reply_head reply = {.outcome = HW_APPLIED,
                                 .values = HW_VALUES_NONE,
                                 .table = head->table,
                                 .slice = head->slice,
                                 .parts = head->parts,
                                 .task = head->task,
                                 .clock = UINT64_MAX};
    hawser_status status =
        hw_reply_new(&server->tables[head->table]->spec, &reply, server->pool, &batch->reply, &none, error);
    if (status != HAWSER_OK) {
        free(batch);
        return status;
    }
    batch->task = head->task;
    batch->parts = head->parts;
    atomic_init(&batch->left, head->parts);
    *out = batch;
    return HAWSER_OK;
}

hawser_status hw_batch_join(hw_client_session *session, const hw_request_head *head, hw_batch **batch, hawser_error *error)
{
    *batch = NULL;
    if (head->operation != HW_PUSH || head->parts < 2)
        return HAWSER_OK;
    for (hw_batch *known = session->batches; known != NULL; known = known->next)
        if (known->task == head->task && known->parts == head->parts) {
            *batch = known;
            return HAWSER_OK;
        }
    if (session->open == OPEN_MOST)
        return hawser_fail(error, HAWSER_BAD_INPUT, "began %d pushes in parts, and one more, without ending any", OPEN_MOST);
    HAWSER_TRY(new_batch(session->group->server, head, batch, error));
    (*batch)->next = session->batches;
    session->batches = *batch;
    session->open++;
    return HAWSER_OK;
}

void hw_batch_arrived(hw_client_session *session, hw_batch *batch)
{
    if (batch == NULL || ++batch->parts_arrived < batch->parts)
        return;
    hw_batch **place = &session->batches;
    while (*place != batch)
        place = &(*place)->next;
    *place = batch->next;
    session->open--;
}

static void free_batch(hw_batch *batch)
{
    hw_message_free(batch->reply);
    free(batch);
}

void hw_batch_done(hw_server *server, uint32_t client, hw_batch *batch, bool replied)
{
    if (batch != NULL && !replied)
        atomic_store_explicit(&batch->unreplied, true, memory_order_relaxed);
    if (batch == NULL || atomic_fetch_sub_explicit(&batch->left, 1, memory_order_acq_rel) > 1)
        return;
    hw_message *reply = batch->reply;
    if (atomic_load_explicit(&batch->unreplied, memory_order_relaxed))
        hw_reply_to_refusal(reply);
    batch->reply = NULL;
    free_batch(batch);
    atomic_fetch_add_explicit(&server->bytes_out, reply->envelope.length, memory_order_relaxed);
    server->options.reply(server->options.argument, client, reply);
}

void hw_batch_drop(hw_batch *batch)
{
    if (batch != NULL && atomic_fetch_sub_explicit(&batch->left, 1, memory_order_acq_rel) == 1)
        free_batch(batch);
}

void hw_batches_free(hw_batch *first)
{
    while (first != NULL) {
        hw_batch *next = first->next;
        free_batch(first);
        first = next;
    }
}
