/* checkpoint_wire.c - messages about pieces of checkpoints between node 0 and another node. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/job/checkpoints.h"

hawser_status hw_checkpoint_send(const hw_checkpoints *own, uint32_t node, hw_checkpoint_word word,
                                 const hw_checkpoint_head *head, const void *more, size_t length, hawser_error *error)
{
    hw_message *message = NULL;
    HAWSER_TRY(hw_message_new(sizeof *head + length, &message, error));
    memcpy(message->payload, head, sizeof *head);
    if (length > 0)
        memcpy((char *)message->payload + sizeof *head, more, length);
    message->envelope.kind = HW_MESSAGE_CHECKPOINT;
    message->envelope.part = word;
    return hw_cluster_send(own->cluster, node, message, error);
}

bool hw_checkpoint_open(const hw_message *message, hw_checkpoint_head *head, const char **more, size_t *length)
{
    if (message->envelope.length < sizeof *head)
        return false;
    memcpy(head, message->payload, sizeof *head);
    *more = (const char *)message->payload + sizeof *head;
    *length = message->envelope.length - sizeof *head;
    return head->kind <= HW_PIECE_BLOCK && head->status <= HAWSER_OK && head->status >= HAWSER_INTERNAL;
}

void hw_checkpoint_post(hw_checkpoints *own, uint32_t node, hw_message *message)
{
    hw_checkpoint_letter *letter = NULL;
    if (HW_NEW(&letter, 1, "a checkpoint", NULL) != HAWSER_OK) {
        hw_message_free(message);
        hw_cluster_give_up(own->cluster, "no memory for a checkpoint"); /* the sender waits for what was to be done */
        return;
    }
    *letter = (hw_checkpoint_letter){.node = node, .message = message};
    pthread_mutex_lock(&own->mutex);
    hw_checkpoint_letter **end = &own->letters;
    while (*end != NULL)
        end = &(*end)->next;
    *end = letter;
    pthread_cond_signal(&own->more);
    pthread_mutex_unlock(&own->mutex);
    hw_cluster_wake(own->cluster);
}

hw_checkpoint_letter *hw_checkpoint_letter_take(hw_checkpoints *own)
{
    pthread_mutex_lock(&own->mutex);
    hw_checkpoint_letter *letter = own->letters;
    if (letter != NULL)
        own->letters = letter->next;
    pthread_mutex_unlock(&own->mutex);
    return letter;
}

void hw_checkpoint_letter_free(hw_checkpoint_letter *letter)
{
    hw_message_free(letter->message);
    free(letter);
}

hawser_status hw_checkpoint_failure(const hw_checkpoint_head *head, const char *text, size_t length, hawser_error *error)
{
    return hawser_fail(error, (hawser_status)head->status, "%.*s", (int)(length < 900 ? length : 900), text);
}
