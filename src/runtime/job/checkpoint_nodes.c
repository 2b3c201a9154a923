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

/* What node 0 sends; each manifest follows, first that from which the job goes on. */
typedef struct found {
    char token[HW_TOKEN_SIZE];
    uint64_t count;
} found;

/* Before the text of a manifest. */
typedef struct found_one {
    char file[HW_CHECKPOINT_NAME];
    uint64_t length;
} found_one;

static hawser_status put_one(FILE *out, const hw_checkpoint *checkpoint, hawser_error *error)
{
    found_one head = {0};
    char *text = NULL;
    HAWSER_TRY(hw_checkpoint_print(checkpoint, &text, error));
    memcpy(head.file, checkpoint->file, sizeof head.file);
    head.length = strlen(text);
    fwrite(&head, sizeof head, 1, out);
    fwrite(text, 1, head.length, out);
    free(text);
    return HAWSER_OK;
}

static hawser_status pack(const hw_checkpoints *own, hw_bytes *bytes, hawser_error *error)
{
    found head = {.count = own->from != NULL ? 1 + own->end_count : 0};
    char *packed = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&packed, &length);
    if (out == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a checkpoint");
    memcpy(head.token, own->token, sizeof head.token);
    fwrite(&head, sizeof head, 1, out);
    hawser_status status = own->from != NULL ? put_one(out, own->from, error) : HAWSER_OK;
    for (size_t i = 0; i < own->end_count && status == HAWSER_OK; i++)
        status = put_one(out, own->ends[i], error);
    bool bad = ferror(out) != 0;
    if ((fclose(out) != 0 || bad) && status == HAWSER_OK)
        status = hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a checkpoint");
    *bytes = (hw_bytes){packed, length};
    return status;
}

static hawser_status take_one(hw_bytes bytes, size_t *at, hw_checkpoint **out, hawser_error *error)
{
    found_one head;
    if (bytes.length - *at < sizeof head)
        return hawser_fail(error, HAWSER_INTERNAL, "node 0 sent a malformed checkpoint");
    memcpy(&head, (const char *)bytes.data + *at, sizeof head);
    *at += sizeof head;
    if (head.length > bytes.length - *at || memchr(head.file, '\0', sizeof head.file) == NULL)
        return hawser_fail(error, HAWSER_INTERNAL, "node 0 sent a malformed checkpoint");
    HAWSER_TRY(hw_checkpoint_parse((const char *)bytes.data + *at, head.length, head.file, out, error));
    *at += head.length;
    return HAWSER_OK;
}

static hawser_status unpack(hw_checkpoints *own, hw_bytes bytes, hawser_error *error)
{
    found head;
    size_t at = sizeof head;
    if (bytes.length < sizeof head)
        return hawser_fail(error, HAWSER_INTERNAL, "node 0 sent a malformed checkpoint");
    memcpy(&head, bytes.data, sizeof head);
    head.token[sizeof head.token - 1] = '\0';
    memcpy(own->token, head.token, sizeof own->token);
    if (head.count == 0)
        return HAWSER_OK;
    HAWSER_TRY(take_one(bytes, &at, &own->from, error));
    HAWSER_TRY(HW_NEW(&own->ends, head.count, "checkpoints", error));
    for (; own->end_count + 1 < head.count; own->end_count++)
        HAWSER_TRY(take_one(bytes, &at, &own->ends[own->end_count], error));
    return HAWSER_OK;
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
