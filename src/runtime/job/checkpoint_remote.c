/*
 * checkpoint_remote.c - pieces of other nodes, on node 0's thread. A node that sees the folder writes its part itself, while
 * the thread goes on. The bytes of others are fetched, a few MiB at a time.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "runtime/job/checkpoints.h"

hawser_status hw_checkpoint_add_part(hw_checkpoints *own, const hw_checkpoint_part *part, hawser_error *error)
{
    HAWSER_TRY(HW_GROW(&own->parts, &own->part_capacity, own->part_count + 1, "parts of a checkpoint", error));
    own->parts[own->part_count++] = *part;
    return HAWSER_OK;
}

void hw_checkpoint_break(hw_checkpoints *own, const hawser_error *why)
{
    if (!own->broken)
        own->why = *why;
    own->broken = true;
}

/* ---------------------------------------------------------------------------------------------------------- replies ---- */

/* Checks that this node sees what another node has written: a folder of the same path may be another one. */
static hawser_status check_part(hw_checkpoints *own, uint32_t node, const hw_checkpoint_part *part, hawser_error *error)
{
    char *path = NULL;
    struct stat facts;
    if (memchr(part->file, '\0', sizeof part->file) == NULL || strchr(part->file, '/') != NULL)
        return hawser_fail(error, HAWSER_INTERNAL, "node %u sent a part of a checkpoint without a name", node);
    if (asprintf(&path, "%s/%s", own->path, part->file) < 0)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a checkpoint");
    bool there = stat(path, &facts) == 0 && (uint64_t)facts.st_size == part->bytes;
    free(path);
    if (there)
        return HAWSER_OK;
    own->apart[node] = true;
    return hawser_fail(error, HAWSER_IO,
                       "node %u has written %s, and node 0 does not see it in %s; that node sends its parts from now on",
                       node, part->file, own->given);
}

static void take_written(hw_checkpoints *own, uint32_t node, const hw_checkpoint_head *head, const char *more, size_t length)
{
    hawser_error why = {0};
    hw_checkpoint_part part;
    if (own->writing[node] > 0)
        own->writing[node]--;
    if (head->run != own->run || head->number != own->number)
        return; /* of a checkpoint that was given up */
    if (head->status != HAWSER_OK)
        why.status = hw_checkpoint_failure(head, more, length, &why);
    else if (length != sizeof part)
        why.status = hawser_fail(&why, HAWSER_INTERNAL, "node %u sent a malformed part of a checkpoint", node);
    if (why.status == HAWSER_OK) {
        memcpy(&part, more, sizeof part);
        why.status = check_part(own, node, &part, &why);
    }
    if (why.status == HAWSER_OK)
        why.status = hw_checkpoint_add_part(own, &part, &why);
    if (why.status != HAWSER_OK)
        hw_checkpoint_break(own, &why);
}

static bool has_letters(void *argument)
{
    hw_checkpoints *own = argument;
    pthread_mutex_lock(&own->mutex);
    bool there = own->letters != NULL;
    pthread_mutex_unlock(&own->mutex);
    return there;
}

/* Waits for a message of a node, or of another one, and takes it. Bytes are stored in *bytes, which the caller frees. */
static hawser_status take_letter(hw_checkpoints *own, uint32_t node, hw_checkpoint_letter **bytes, hawser_error *error)
{
    hw_checkpoint_head head;
    const char *more = NULL;
    size_t length = 0;
    *bytes = NULL;
    HAWSER_TRY(hw_cluster_await(own->cluster, has_letters, own, node, (double)INFINITY, false, error));
    hw_checkpoint_letter *letter = hw_checkpoint_letter_take(own);
    bool whole = hw_checkpoint_open(letter->message, &head, &more, &length);
    if (whole && letter->message->envelope.part == HW_CHECKPOINT_WRITTEN)
        take_written(own, letter->node, &head, more, length);
    if (whole && letter->message->envelope.part == HW_CHECKPOINT_BYTES)
        *bytes = letter;
    else
        hw_checkpoint_letter_free(letter);
    return HAWSER_OK;
}

/* The run ends by the loss of a node, so the attempt is given up without a message. */
static hawser_status lost(const hawser_error *why, hawser_error *error)
{
    return hawser_fail(error, HAWSER_PEER_LOST, "%s", why->text);
}

void hw_checkpoint_remote_settle(hw_checkpoints *own)
{
    hawser_error why = {0}, gone = {0};
    for (uint32_t node = 1; node < own->nodes; node++)
        while (own->writing[node] > 0) {
            hw_checkpoint_letter *bytes = NULL;
            if (take_letter(own, node, &bytes, &why) != HAWSER_OK) {
                own->writing[node] = 0;
                gone.status = lost(&why, &gone);
                hw_checkpoint_break(own, &gone);
            }
            if (bytes != NULL)
                hw_checkpoint_letter_free(bytes);
        }
}

/* ----------------------------------------------------------------------------------------------------------- pieces ---- */

/* Fetches the next bytes of a piece and appends them to its part. */
static hawser_status fetch(hw_checkpoints *own, const hw_checkpoint_queued *item, uint64_t from, hw_part_writer *writer,
                           hawser_error *error)
{
    hw_checkpoint_head head = hw_checkpoint_head_of(&item->piece), reply;
    hw_checkpoint_letter *letter = NULL;
    hawser_error why = {0};
    const char *more = NULL;
    size_t length = 0;
    head.from = from;
    head.count = item->size - from < HW_CHECKPOINT_SENT ? item->size - from : HW_CHECKPOINT_SENT;
    if (hw_checkpoint_send(own, item->node, HW_CHECKPOINT_FETCH, &head, NULL, 0, &why) != HAWSER_OK)
        return lost(&why, error);
    while (letter == NULL)
        if (take_letter(own, item->node, &letter, &why) != HAWSER_OK)
            return lost(&why, error);
    bool whole = hw_checkpoint_open(letter->message, &reply, &more, &length) && hw_checkpoint_is_of(&reply, &item->piece) &&
                 reply.from == from && length == head.count;
    hawser_status status = whole ? hw_part_write(writer, more, length, error)
                                 : hawser_fail(error, HAWSER_INTERNAL,
                                               "node %u sent other bytes of a checkpoint than it was asked for", item->node);
    hw_checkpoint_letter_free(letter);
    return status;
}

static hawser_status fetch_part(hw_checkpoints *own, const hw_checkpoint_queued *item, hawser_error *error)
{
    hw_part_writer writer;
    hw_checkpoint_part part;
    const hw_checkpoint_tensor tensor = hw_checkpoint_tensor_of(NULL, item->size);
    HAWSER_TRY(hw_part_begin(&writer, own->path, &own->making, hw_checkpoint_kind_of(&item->piece),
                             hw_checkpoint_index_of(&item->piece), &tensor, 1, error));
    hawser_status status = HAWSER_OK;
    for (uint64_t at = 0; status == HAWSER_OK && at < item->size; at += HW_CHECKPOINT_SENT)
        status = fetch(own, item, at, &writer, error);
    if (status != HAWSER_OK) {
        hw_part_abort(&writer);
        return status;
    }
    HAWSER_TRY(hw_part_commit(&writer, &part, error));
    return hw_checkpoint_add_part(own, &part, error);
}

hawser_status hw_checkpoint_remote_part(hw_checkpoints *own, const hw_checkpoint_queued *item, hawser_error *error)
{
    hawser_error why = {0};
    hw_checkpoint_head head = hw_checkpoint_head_of(&item->piece);
    if (!item->sees || own->apart[item->node]) {
        hawser_status status = fetch_part(own, item, error);
        hw_checkpoint_remote_done(own, item);
        return status;
    }
    head.from = own->making.number;
    if (hw_checkpoint_send(own, item->node, HW_CHECKPOINT_WRITE, &head, NULL, 0, &why) != HAWSER_OK)
        return lost(&why, error);
    own->writing[item->node]++;
    return HAWSER_OK;
}

void hw_checkpoint_remote_done(const hw_checkpoints *own, const hw_checkpoint_queued *item)
{
    hawser_error ignored = {0};
    const hw_checkpoint_head head = hw_checkpoint_head_of(&item->piece);
    (void)!hw_checkpoint_send(own, item->node, HW_CHECKPOINT_DONE, &head, NULL, 0, &ignored);
}

/* ---------------------------------------------------------------------------------------------------------- reading ---- */

/* A part that another node reads. */
struct hw_checkpoint_served {
    struct hw_checkpoint_served *next;
    uint32_t node;
    hw_record_piece piece;
    hw_part_reader reader;
    hw_checkpoint_tensor tensor;
};

static void end_served(hw_checkpoints *own, struct hw_checkpoint_served *served)
{
    struct hw_checkpoint_served **at = &own->served;
    while (*at != served)
        at = &(*at)->next;
    *at = served->next;
    hw_part_close(&served->reader);
    free(served);
}

static hawser_status open_served(hw_checkpoints *own, const hw_checkpoint_queued *item, struct hw_checkpoint_served **out,
                                 hawser_error *error)
{
    struct hw_checkpoint_served *served = own->served;
    const hw_checkpoint_head head = hw_checkpoint_head_of(&item->piece);
    while (served != NULL && !(served->node == item->node && hw_checkpoint_is_of(&head, &served->piece)))
        served = served->next;
    *out = served;
    if (served != NULL)
        return HAWSER_OK;
    const hw_checkpoint *from = hw_checkpoint_of_run(own, item->piece.run);
    const hw_checkpoint_part *part =
        from != NULL ? hw_checkpoint_find(from, hw_checkpoint_kind_of(&item->piece), hw_checkpoint_index_of(&item->piece))
                     : NULL;
    if (part == NULL)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s has no record of block %u", own->given, item->piece.block);
    HAWSER_TRY(HW_NEW(&served, 1, "a part of a checkpoint", error));
    served->node = item->node;
    served->piece = item->piece;
    served->tensor = hw_checkpoint_tensor_of(NULL, 0);
    served->next = own->served;
    own->served = served;
    hawser_status status = hw_part_open(&served->reader, own->path, part, error);
    if (status == HAWSER_OK)
        status = hw_part_find(&served->reader, &served->tensor, error);
    *out = status == HAWSER_OK ? served : NULL;
    if (status != HAWSER_OK)
        end_served(own, served);
    return status;
}

static hawser_status give(hw_checkpoints *own, const hw_checkpoint_queued *item, hawser_error *error)
{
    struct hw_checkpoint_served *served = NULL;
    hw_checkpoint_head head = hw_checkpoint_head_of(&item->piece);
    void *bytes = NULL;
    HAWSER_TRY(open_served(own, item, &served, error));
    uint64_t left = item->from < served->tensor.rows ? served->tensor.rows - item->from : 0;
    size_t count = left < HW_CHECKPOINT_SENT ? left : HW_CHECKPOINT_SENT;
    hawser_status status = hw_new_array(&bytes, count, 1, "a part of a checkpoint", error);
    if (status == HAWSER_OK)
        status = hw_part_read(&served->reader, &served->tensor, item->from, bytes, count, error);
    head.from = item->from;
    head.count = served->tensor.rows;
    if (status == HAWSER_OK && hw_checkpoint_send(own, item->node, HW_CHECKPOINT_GIVEN, &head, bytes, count, error) !=
                                   HAWSER_OK) /* the node is lost, which ends the run */
        left = count;
    free(bytes);
    if (status != HAWSER_OK || left == count)
        end_served(own, served);
    return status;
}

void hw_checkpoint_remote_give(hw_checkpoints *own, const hw_checkpoint_queued *item)
{
    hawser_error why = {0}, ignored = {0};
    hw_checkpoint_head head = hw_checkpoint_head_of(&item->piece);
    head.status = give(own, item, &why);
    if (head.status != HAWSER_OK)
        (void)!hw_checkpoint_send(own, item->node, HW_CHECKPOINT_GIVEN, &head, why.text, strlen(why.text), &ignored);
}

void hw_checkpoint_remote_close(hw_checkpoints *own)
{
    while (own->served != NULL)
        end_served(own, own->served);
}
