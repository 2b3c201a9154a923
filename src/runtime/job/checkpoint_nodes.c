/* checkpoint_nodes.c - what the nodes of a job send each other about checkpoints: node 0's folder and what is in it, and the
 * messages of a channel beside the runs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/job/checkpoints.h"

/* ------------------------------------------------------------------------------------------------------ the channel ---- */

/* Net thread. Malformed messages are dropped: the sender proved the job's key, so this is a fault of ours. */
static void arrived(void *argument, uint32_t node, hw_message *message)
{
    hw_checkpoints *own = argument;
    hw_checkpoint_head head;
    const char *more = NULL;
    size_t length = 0;
    const uint32_t word = message->envelope.part;
    bool whole = hw_checkpoint_open(message, &head, &more, &length);
    bool leads = own->node == 0;
    if (whole && (leads ? word == HW_CHECKPOINT_WRITTEN || word == HW_CHECKPOINT_BYTES
                        : word == HW_CHECKPOINT_WRITE || word == HW_CHECKPOINT_FETCH || word == HW_CHECKPOINT_DONE)) {
        hw_checkpoint_post(own, node, message);
        return;
    }
    if (whole && leads && (word == HW_CHECKPOINT_OFFER || word == HW_CHECKPOINT_READ))
        hw_checkpoint_offered(own, node, &head, word == HW_CHECKPOINT_READ);
    if (whole && !leads && word == HW_CHECKPOINT_GIVEN)
        hw_checkpoint_given(own, message);
    hw_message_free(message);
}

static const hw_channel checkpoints_channel = {.name = "checkpoints", .kinds = {HW_MESSAGE_CHECKPOINT}, .arrived = arrived};

hawser_status hw_checkpoint_nodes_open(hw_checkpoints *own, hawser_error *error)
{
    if (own->cluster == NULL)
        return HAWSER_OK;
    hawser_status status = HW_NEW(&own->writing, own->nodes, "checkpoints", error);
    if (status == HAWSER_OK)
        status = HW_NEW(&own->apart, own->nodes, "checkpoints", error);
    if (status == HAWSER_OK)
        status = hw_cluster_open_channel(own->cluster, &checkpoints_channel, own, error);
    return hw_cluster_agree(own->cluster, status, error); /* before any node sends */
}

void hw_checkpoint_nodes_close(hw_checkpoints *own)
{
    if (own->cluster != NULL)
        hw_cluster_close_channel(own->cluster, &checkpoints_channel);
    while (own->letters != NULL)
        hw_checkpoint_letter_free(hw_checkpoint_letter_take(own));
    free(own->writing);
    free(own->apart);
}

/* -------------------------------------------------------------------------------------------- what node 0 has found ---- */

/* What node 0 sends; the text of the manifest follows. */
typedef struct found {
    char token[HW_TOKEN_SIZE];
    char manifest[HW_CHECKPOINT_NAME]; /* ""; there is none */
} found;

static hawser_status pack(const hw_checkpoints *own, hw_bytes *bytes, hawser_error *error)
{
    found head = {0};
    char *text = NULL;
    memcpy(head.token, own->token, sizeof head.token);
    if (own->from != NULL) {
        memcpy(head.manifest, own->from->file, sizeof head.manifest);
        HAWSER_TRY(hw_checkpoint_print(own->from, &text, error));
    }
    size_t length = text != NULL ? strlen(text) : 0;
    void *packed = NULL;
    hawser_status status = hw_new_array(&packed, sizeof head + length, 1, "a checkpoint", error);
    if (status == HAWSER_OK) {
        memcpy(packed, &head, sizeof head);
        if (length > 0)
            memcpy((char *)packed + sizeof head, text, length);
        *bytes = (hw_bytes){packed, sizeof head + length};
    }
    free(text);
    return status;
}

static hawser_status unpack(hw_checkpoints *own, hw_bytes bytes, hawser_error *error)
{
    found head;
    if (bytes.length < sizeof head)
        return hawser_fail(error, HAWSER_INTERNAL, "node 0 sent a malformed checkpoint");
    memcpy(&head, bytes.data, sizeof head);
    head.token[sizeof head.token - 1] = head.manifest[sizeof head.manifest - 1] = '\0';
    memcpy(own->token, head.token, sizeof own->token);
    if (head.manifest[0] == '\0')
        return HAWSER_OK;
    return hw_checkpoint_parse((const char *)bytes.data + sizeof head, bytes.length - sizeof head, head.manifest, &own->from,
                               error);
}

hawser_status hw_checkpoint_nodes_share(hw_checkpoints *own, hawser_status status, hawser_error *error)
{
    hw_bytes bytes = {0}, *in = NULL;
    if (own->cluster == NULL)
        return status;
    if (status == HAWSER_OK)
        status = HW_NEW(&in, own->nodes, "a checkpoint", error);
    if (status == HAWSER_OK && own->node == 0)
        status = pack(own, &bytes, error);
    status = hw_cluster_agree(own->cluster, status, error);
    if (status == HAWSER_OK)
        status = hw_cluster_allgather(own->cluster, bytes, in, error);
    free(bytes.data);
    if (status == HAWSER_OK && own->node != 0)
        status = unpack(own, in[0], error);
    if (in != NULL)
        hw_bytes_free(in, own->nodes);
    return hw_cluster_agree(own->cluster, status, error);
}
