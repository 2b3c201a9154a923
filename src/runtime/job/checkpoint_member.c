/*
 * checkpoint_member.c - a node other than 0: it holds the pieces of its blocks until node 0 has done with them. A thread
 * writes those that node 0 wants in the shared folder, and sends the bytes of others.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/job/checkpoints.h"

/* A piece that waits for node 0. */
struct hw_checkpoint_held {
    struct hw_checkpoint_held *next;
    hw_record_piece piece;
    void *bytes;
    size_t size;
};

/* A piece that a block reads from node 0. */
struct hw_checkpoint_fetch {
    struct hw_checkpoint_fetch *next;
    hw_checkpoints *own;
    hw_record_piece piece;
    bool ready; /* the last request was answered */
    char *bytes;
    size_t size, filled;
    hawser_error failure;
};

/* -------------------------------------------------------------------------------------------------- taking, holding ---- */

hawser_status hw_checkpoint_hold(void *user, const hw_record_piece *piece, const hw_checkpoint_about *about, void *bytes,
                                 size_t size, hawser_error *error)
{
    hw_checkpoints *own = user;
    struct hw_checkpoint_held *held = NULL;
    (void)about;
    hawser_status status = HW_NEW(&held, 1, "a checkpoint", error);
    if (status != HAWSER_OK) {
        free(bytes);
        return status;
    }
    *held = (struct hw_checkpoint_held){.piece = *piece, .bytes = bytes, .size = size};
    pthread_mutex_lock(&own->mutex);
    held->next = own->held;
    own->held = held;
    pthread_mutex_unlock(&own->mutex);
    hw_checkpoint_head head = hw_checkpoint_head_of(piece);
    head.count = size;
    head.from =
        hw_folder_shared(own->path, own->token); /* a network file system may have remembered for long that it was not */
    return hw_checkpoint_send(own, 0, HW_CHECKPOINT_OFFER, &head, NULL, 0, error);
}

static struct hw_checkpoint_held *find(hw_checkpoints *own, const hw_checkpoint_head *head)
{
    pthread_mutex_lock(&own->mutex);
    struct hw_checkpoint_held *held = own->held;
    while (held != NULL && !hw_checkpoint_is_of(head, &held->piece))
        held = held->next;
    pthread_mutex_unlock(&own->mutex);
    return held;
}

static void release(hw_checkpoints *own, struct hw_checkpoint_held *held)
{
    pthread_mutex_lock(&own->mutex);
    struct hw_checkpoint_held **at = &own->held;
    while (*at != held)
        at = &(*at)->next;
    *at = held->next;
    pthread_mutex_unlock(&own->mutex);
    free(held->bytes);
    free(held);
    hw_cluster_wake(own->cluster);
}

/* ------------------------------------------------------------------------------------------------------- the thread ---- */

static hawser_status write_part(const hw_checkpoints *own, const struct hw_checkpoint_held *held,
                                const hw_checkpoint_head *asked, hawser_error *error)
{
    hawser_error why = {0};
    hw_checkpoint of = {.number = asked->from};
    hw_checkpoint_part part;
    hw_checkpoint_head head = hw_checkpoint_head_of(&held->piece);
    const hw_checkpoint_tensor tensor = hw_checkpoint_tensor_of(held->bytes, held->size);
    memcpy(of.token, own->token, sizeof of.token);
    head.status = hw_part_put(own->path, &of, hw_checkpoint_kind_of(&held->piece), hw_checkpoint_index_of(&held->piece),
                              &tensor, 1, &part, &why);
    const void *more = head.status == HAWSER_OK ? (const void *)&part : why.text;
    return hw_checkpoint_send(own, 0, HW_CHECKPOINT_WRITTEN, &head, more,
                              head.status == HAWSER_OK ? sizeof part : strlen(why.text), error);
}

static hawser_status send_bytes(const hw_checkpoints *own, const struct hw_checkpoint_held *held,
                                const hw_checkpoint_head *asked, hawser_error *error)
{
    hw_checkpoint_head head = *asked;
    head.status = HAWSER_OK;
    if (asked->from > held->size || asked->count > held->size - asked->from)
        return hawser_fail(error, HAWSER_INTERNAL, "node 0 asks for bytes that a piece of a checkpoint does not have");
    return hw_checkpoint_send(own, 0, HW_CHECKPOINT_BYTES, &head, (const char *)held->bytes + asked->from, asked->count,
                              error);
}

/* Does what node 0 asks for. If node 0 cannot be reached, this node's run ends, too. */
static void answer(hw_checkpoints *own, const hw_message *message)
{
    hw_checkpoint_head head;
    hawser_error error = {0};
    const char *more = NULL;
    size_t length = 0;
    hawser_status status = HAWSER_OK;
    if (!hw_checkpoint_open(message, &head, &more, &length))
        return;
    struct hw_checkpoint_held *held = find(own, &head);
    if (held == NULL)
        return;
    if (message->envelope.part == HW_CHECKPOINT_WRITE)
        status = write_part(own, held, &head, &error);
    else if (message->envelope.part == HW_CHECKPOINT_FETCH)
        status = send_bytes(own, held, &head, &error);
    if (status != HAWSER_OK && status != HAWSER_PEER_LOST)
        hw_cluster_give_up(own->cluster, error.text);
    if (message->envelope.part != HW_CHECKPOINT_FETCH)
        release(own, held);
}

static void *answer_all(void *argument)
{
    hw_checkpoints *own = argument;
    for (;;) {
        pthread_mutex_lock(&own->mutex);
        while (own->letters == NULL && !own->over)
            pthread_cond_wait(&own->more, &own->mutex);
        bool over = own->over;
        pthread_mutex_unlock(&own->mutex);
        if (over)
            return NULL;
        hw_checkpoint_letter *letter = hw_checkpoint_letter_take(own);
        answer(own, letter->message);
        hw_checkpoint_letter_free(letter);
    }
}

hawser_status hw_checkpoint_member_start(hw_checkpoints *own, hawser_error *error)
{
    if (pthread_create(&own->thread, NULL, answer_all, own) != 0)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no thread to write checkpoints");
    own->threaded = true;
    return HAWSER_OK;
}

static bool holds_none(void *argument)
{
    hw_checkpoints *own = argument;
    pthread_mutex_lock(&own->mutex);
    bool none = own->held == NULL;
    pthread_mutex_unlock(&own->mutex);
    return none;
}

void hw_checkpoint_member_end(hw_checkpoints *own)
{
    hawser_error ignored = {0};
    if (!own->threaded)
        return;
    (void)!hw_cluster_await(own->cluster, holds_none, own, 0, (double)INFINITY, false, &ignored);
    pthread_mutex_lock(&own->mutex);
    own->over = true;
    pthread_cond_signal(&own->more);
    pthread_mutex_unlock(&own->mutex);
    pthread_join(own->thread, NULL);
    while (own->held != NULL)
        release(own, own->held);
}

/* --------------------------------------------------------------------------------------------------------- reading ---- */

/* Stores what node 0 has sent for a fetch. */
static void fill(struct hw_checkpoint_fetch *fetch, const hw_checkpoint_head *head, const char *more, size_t length)
{
    if (head->status != HAWSER_OK) {
        fetch->failure.status = hw_checkpoint_failure(head, more, length, &fetch->failure);
    } else if (fetch->bytes == NULL) {
        fetch->size = head->count;
        void *bytes = NULL;
        fetch->failure.status = hw_new_array(&bytes, fetch->size, 1, "a record of a checkpoint", &fetch->failure);
        fetch->bytes = bytes;
    }
    bool fits = head->from == fetch->filled && head->count == fetch->size && length <= fetch->size - fetch->filled &&
                (length > 0 || fetch->size == 0);
    if (fetch->failure.status == HAWSER_OK && !fits)
        fetch->failure.status =
            hawser_fail(&fetch->failure, HAWSER_INTERNAL, "node 0 sent other bytes of a checkpoint than it was asked for");
    if (fetch->failure.status == HAWSER_OK && length > 0)
        memcpy(fetch->bytes + fetch->filled, more, length);
    fetch->filled += length;
    fetch->ready = true;
}

void hw_checkpoint_given(hw_checkpoints *own, const hw_message *message)
{
    hw_checkpoint_head head;
    const char *more = NULL;
    size_t length = 0;
    if (!hw_checkpoint_open(message, &head, &more, &length))
        return;
    pthread_mutex_lock(&own->mutex);
    struct hw_checkpoint_fetch *fetch = own->fetches;
    while (fetch != NULL && !hw_checkpoint_is_of(&head, &fetch->piece))
        fetch = fetch->next;
    if (fetch != NULL && !fetch->ready)
        fill(fetch, &head, more, length);
    pthread_mutex_unlock(&own->mutex);
    hw_cluster_wake(own->cluster);
}

static bool is_ready(void *argument)
{
    struct hw_checkpoint_fetch *fetch = argument;
    pthread_mutex_lock(&fetch->own->mutex);
    bool ready = fetch->ready;
    pthread_mutex_unlock(&fetch->own->mutex);
    return ready;
}

/* Requests the next bytes, and waits for them. */
static hawser_status fetch_more(hw_checkpoints *own, struct hw_checkpoint_fetch *fetch, hawser_error *error)
{
    hw_checkpoint_head head = hw_checkpoint_head_of(&fetch->piece);
    head.from = fetch->filled;
    pthread_mutex_lock(&own->mutex);
    fetch->ready = false;
    pthread_mutex_unlock(&own->mutex);
    HAWSER_TRY(hw_checkpoint_send(own, 0, HW_CHECKPOINT_READ, &head, NULL, 0, error));
    HAWSER_TRY(hw_cluster_await(own->cluster, is_ready, fetch, 0, own->job->timeout, false, error));
    if (fetch->failure.status != HAWSER_OK)
        return hawser_fail(error, fetch->failure.status, "%s", fetch->failure.text);
    return HAWSER_OK;
}

hawser_status hw_checkpoint_ask(hw_checkpoints *own, const hw_record_piece *piece, void **bytes, size_t *size,
                                hawser_error *error)
{
    struct hw_checkpoint_fetch fetch = {.own = own, .piece = *piece, .ready = true};
    pthread_mutex_lock(&own->mutex);
    fetch.next = own->fetches;
    own->fetches = &fetch;
    pthread_mutex_unlock(&own->mutex);
    hawser_status status = HAWSER_OK;
    do
        status = fetch_more(own, &fetch, error);
    while (status == HAWSER_OK && fetch.filled < fetch.size);
    pthread_mutex_lock(&own->mutex);
    struct hw_checkpoint_fetch **at = &own->fetches;
    while (*at != &fetch)
        at = &(*at)->next;
    *at = fetch.next;
    pthread_mutex_unlock(&own->mutex);
    if (status != HAWSER_OK) {
        free(fetch.bytes);
        return status;
    }
    *bytes = fetch.bytes;
    *size = fetch.size;
    return HAWSER_OK;
}
