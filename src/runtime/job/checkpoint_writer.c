/* checkpoint_writer.c - the thread that writes the pieces which blocks hand over. A checkpoint is whole when its manifest is
 * written. The bytes of a part are one tensor, because only the build that wrote them reads them. */
#include "runtime/job/checkpoints.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "runtime/job/cluster.h"

/* Begins another checkpoint. One that was begun and has no position was given up. */
static hawser_status begin(hw_checkpoints *own, const hw_record_piece *piece, hawser_error *error)
{
    if (own->run == piece->run && own->number == piece->number)
        return HAWSER_OK;
    own->run = piece->run;
    own->number = piece->number;
    own->part_count = 0;
    own->broken = false;
    own->why = (hawser_error){0};
    own->making = (hw_checkpoint){0};
    return hw_folder_begin(own->folder, &own->making, error);
}

/* Writes the part of a piece, or has another node write it. */
static hawser_status put(hw_checkpoints *own, const hw_checkpoint_queued *item, hawser_error *error)
{
    hw_checkpoint_part part;
    const hw_checkpoint_tensor tensor = hw_checkpoint_tensor_of(item->bytes, item->size);
    HAWSER_TRY(begin(own, &item->piece, error));
    if (item->node != own->node)
        return hw_checkpoint_remote_part(own, item, error);
    HAWSER_TRY(hw_part_put(own->path, &own->making, hw_checkpoint_kind_of(&item->piece),
                           hw_checkpoint_index_of(&item->piece), &tensor, 1, &part, error));
    return hw_checkpoint_add_part(own, &part, error);
}

void hw_job_progress(const hawser_job *job, uint64_t clock)
{
    hw_place_progress(job->on != NULL ? hw_cluster_place(job->on) : &job->place, clock);
}

static hawser_status commit(hw_checkpoints *own, const hw_checkpoint_queued *item, hawser_error *error)
{
    char token[HW_TOKEN_SIZE];
    hw_checkpoint *making = &own->making;
    uint64_t number = making->number;
    memcpy(token, making->token, sizeof token);
    *making = item->facts;
    making->number = number;
    memcpy(making->token, token, sizeof token);
    making->parts = own->parts;
    making->part_count = own->part_count;
    if (own->part_count != (size_t)making->workers + 2) /* the position, the merged values and a record of each block */
        return hawser_fail(error, HAWSER_INTERNAL, "a checkpoint has %zu of %u parts", own->part_count, making->workers + 2);
    HAWSER_TRY(hw_folder_commit(own->folder, making, error));
    own->written = true;
    if (!making->ended) /* the end of a run waits for the next run */
        atomic_store(&own->took, hw_seconds() - own->last);
    hw_job_progress(own->job, making->clock);
    return HAWSER_OK;
}

static void fail(hw_checkpoints *own, const hawser_error *why)
{
    pthread_mutex_lock(&own->mutex);
    own->failure = *why;
    pthread_mutex_unlock(&own->mutex);
}

/* Ends a checkpoint when all of its parts are there. After the loss of a node the run ends, and the attempt is forgotten. */
static void finish(hw_checkpoints *own, const hw_checkpoint_queued *item)
{
    hawser_error error = {0}, other = {0};
    hw_checkpoint_remote_settle(own);
    if (own->broken)
        error = own->why;
    else
        error.status = commit(own, item, &error);
    own->number = 0;
    if (error.status == HAWSER_PEER_LOST)
        return;
    other.status = hw_folder_end(own->folder, &own->making, error.status, &error, own->job->messages, &other);
    if (other.status != HAWSER_OK)
        fail(own, &other);
}

/* Writes a piece. A failure of the disk leaves the checkpoint before, and the next one is tried. */
static void write_item(hw_checkpoints *own, const hw_checkpoint_queued *item)
{
    hawser_error why = {0};
    bool given_up = own->broken && own->run == item->piece.run && own->number == item->piece.number;
    if (given_up && item->node != own->node)
        hw_checkpoint_remote_done(own, item);
    else if (!given_up)
        why.status = put(own, item, &why);
    if (why.status != HAWSER_OK)
        hw_checkpoint_break(own, &why);
    if (item->piece.kind == HW_PIECE_POSITION)
        finish(own, item);
}

static void free_item(hw_checkpoint_queued *item)
{
    free(item->bytes);
    for (size_t i = 0; i < item->facts.metric_count; i++)
        free(item->names[i]);
    free(item->names);
    free(item->metrics);
    free(item->identity);
    free(item);
}

/* Returns whether a piece is not written, or not yet: it is of the end of the last run, or the job has ended by itself. The
 * mutex is held. */
static bool is_held(const hw_checkpoints *own, const hw_checkpoint_queued *item)
{
    bool of_last_end = item->piece.number == HW_RECORD_END && item->piece.run >= own->begun;
    return !item->reads && (of_last_end || own->drops);
}

static void forget_item(const hw_checkpoints *own, const hw_checkpoint_queued *item)
{
    if (item->node != own->node)
        hw_checkpoint_remote_done(own, item);
}

static void *write_all(void *argument)
{
    hw_checkpoints *own = argument;
    pthread_mutex_lock(&own->mutex);
    for (;;) {
        while ((own->first == NULL || is_held(own, own->first)) && !own->over)
            pthread_cond_wait(&own->more, &own->mutex);
        hw_checkpoint_queued *item = own->first;
        if (item == NULL)
            break;
        bool needless = is_held(own, item);
        pthread_mutex_unlock(&own->mutex);
        if (needless)
            forget_item(own, item);
        else if (item->reads)
            hw_checkpoint_remote_give(own, item);
        else
            write_item(own, item);
        pthread_mutex_lock(&own->mutex);
        own->first = item->next;
        free_item(item);
    }
    pthread_mutex_unlock(&own->mutex);
    hw_checkpoint_remote_settle(own);
    hw_checkpoint_remote_close(own);
    return NULL;
}

static hawser_status describe(hw_checkpoints *own, hw_checkpoint_queued *item, const hw_checkpoint_about *about,
                              hawser_error *error)
{
    (void)snprintf(item->loop, sizeof item->loop, "%s", about->loop);
    (void)snprintf(item->program, sizeof item->program, "%s", about->program);
    HAWSER_TRY(HW_NEW(&item->metrics, about->metric_count, "a checkpoint", error));
    HAWSER_TRY(HW_NEW(&item->names, about->metric_count, "a checkpoint", error));
    for (uint32_t i = 0; i < about->metric_count; i++) { /* the program may be freed before they are written */
        HAWSER_TRY(hw_copy_text(&item->names[i], about->metrics[i], error));
        item->metrics[i] = (hw_checkpoint_metric){item->names[i], about->values[i]};
        item->facts.metric_count = i + 1;
    }
    HAWSER_TRY(hw_copy_text(&item->identity, own->identity != NULL ? own->identity : "", error));
    item->facts = (hw_checkpoint){.build = own->build,
                                  .program = item->program,
                                  .loop = item->loop,
                                  .run = item->piece.run - 1,
                                  .ended = item->piece.number == HW_RECORD_END,
                                  .clock = about->clock,
                                  .seconds = about->seconds,
                                  .time = hw_wall_seconds(),
                                  .workers = about->blocks,
                                  .identity = item->identity,
                                  .metrics = item->metrics,
                                  .metric_count = about->metric_count};
    memcpy(item->facts.logs, own->logs, sizeof item->facts.logs);
    return HAWSER_OK;
}

static void append(hw_checkpoints *own, hw_checkpoint_queued *item)
{
    hw_checkpoint_queued **end = &own->first;
    while (*end != NULL)
        end = &(*end)->next;
    *end = item;
    pthread_cond_signal(&own->more);
}

hawser_status hw_checkpoint_take(void *user, const hw_record_piece *piece, const hw_checkpoint_about *about, void *bytes,
                                 size_t size, hawser_error *error)
{
    hw_checkpoints *own = user;
    hw_checkpoint_queued *item = NULL;
    hawser_status status = HW_NEW(&item, 1, "a checkpoint", error);
    if (status != HAWSER_OK) {
        free(bytes);
        return status;
    }
    *item = (hw_checkpoint_queued){.piece = *piece, .node = own->node, .bytes = bytes, .size = size};
    if (about != NULL)
        status = describe(own, item, about, error);
    pthread_mutex_lock(&own->mutex);
    if (status == HAWSER_OK && own->failure.status != HAWSER_OK)
        status = hawser_fail(error, own->failure.status, "%s", own->failure.text);
    if (status == HAWSER_OK)
        append(own, item);
    pthread_mutex_unlock(&own->mutex);
    if (status != HAWSER_OK)
        free_item(item);
    return status;
}

void hw_checkpoint_begun(hw_checkpoints *own, uint64_t run)
{
    pthread_mutex_lock(&own->mutex);
    own->begun = run;
    pthread_cond_signal(&own->more);
    pthread_mutex_unlock(&own->mutex);
}

void hw_checkpoint_offered(hw_checkpoints *own, uint32_t node, const hw_checkpoint_head *head, bool reads)
{
    hw_checkpoint_queued *item = NULL;
    if (HW_NEW(&item, 1, "a checkpoint", NULL) != HAWSER_OK) {
        hw_cluster_give_up(own->cluster, "no memory for a checkpoint"); /* the node waits for what becomes of its piece */
        return;
    }
    *item = (hw_checkpoint_queued){.piece = {(hw_record_kind)head->kind, head->run, head->number, (uint32_t)head->block},
                                   .node = node,
                                   .sees = head->from != 0,
                                   .reads = reads,
                                   .from = head->from,
                                   .size = head->count};
    pthread_mutex_lock(&own->mutex);
    append(own, item);
    pthread_mutex_unlock(&own->mutex);
}

bool hw_checkpoint_writer_idle(hw_checkpoints *own)
{
    pthread_mutex_lock(&own->mutex);
    bool idle = own->first == NULL;
    pthread_mutex_unlock(&own->mutex);
    return idle;
}

hawser_status hw_checkpoint_writer_start(hw_checkpoints *own, hawser_error *error)
{
    if (pthread_create(&own->thread, NULL, write_all, own) != 0)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no thread to write checkpoints");
    own->threaded = true;
    return HAWSER_OK;
}

void hw_checkpoint_writer_end(hw_checkpoints *own, bool stay)
{
    if (!own->threaded)
        return;
    pthread_mutex_lock(&own->mutex);
    own->over = true;
    own->drops = !stay;
    pthread_cond_signal(&own->more);
    pthread_mutex_unlock(&own->mutex);
    pthread_join(own->thread, NULL);
}

void hw_checkpoint_writer_clear(hw_checkpoints *own)
{
    while (own->first != NULL) {
        hw_checkpoint_queued *item = own->first;
        own->first = item->next;
        free_item(item);
    }
}
