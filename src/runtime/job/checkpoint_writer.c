/* checkpoint_writer.c - the thread that writes the pieces which blocks hand over. A checkpoint is whole when its manifest is
 * written. The bytes of a part are one tensor, because only the build that wrote them reads them. */
#include "runtime/job/checkpoints.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "runtime/job/cluster.h"

/* A piece that waits to be written. */
struct hw_checkpoint_queued {
    hw_checkpoint_queued *next;
    hw_record_piece piece;
    void *bytes;
    size_t size;
    hw_checkpoint facts; /* of a position */
    hw_checkpoint_metric *metrics;
    char **names; /* of the metrics */
    char *identity;
    char loop[200], program[200];
};

/* Begins another checkpoint. One that was begun and has no position was given up. */
static hawser_status begin(hw_checkpoints *own, const hw_record_piece *piece, hawser_error *error)
{
    if (own->run == piece->run && own->number == piece->number)
        return HAWSER_OK;
    own->run = piece->run;
    own->number = piece->number;
    own->part_count = 0;
    own->broken = false;
    own->making = (hw_checkpoint){0};
    return hw_folder_begin(own->folder, &own->making, error);
}

static hawser_status put(hw_checkpoints *own, const hw_checkpoint_queued *item, hawser_error *error)
{
    hw_checkpoint_tensor tensor = hw_checkpoint_tensor_of(item->bytes, item->size);
    HAWSER_TRY(begin(own, &item->piece, error));
    HAWSER_TRY(HW_GROW(&own->parts, &own->part_capacity, own->part_count + 1, "parts of a checkpoint", error));
    HAWSER_TRY(hw_part_put(own->folder->path, &own->making, hw_checkpoint_kind_of(&item->piece),
                           hw_checkpoint_index_of(&item->piece), &tensor, 1, &own->parts[own->part_count], error));
    own->part_count++;
    return HAWSER_OK;
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
    HAWSER_TRY(hw_folder_commit(own->folder, making, error));
    own->written = true;
    hw_job_progress(own->job, making->clock);
    return HAWSER_OK;
}

/* Writes a piece. A failure of the disk leaves the checkpoint before, and the next one is tried. */
static void write_item(hw_checkpoints *own, const hw_checkpoint_queued *item)
{
    hawser_error error = {0}, other = {0};
    hawser_status status = own->broken && own->run == item->piece.run && own->number == item->piece.number
                               ? own->why.status
                               : put(own, item, &own->why);
    own->why.status = status;
    own->broken = status != HAWSER_OK;
    if (item->piece.kind != HW_PIECE_POSITION)
        return;
    if (status == HAWSER_OK)
        status = commit(own, item, &error);
    else
        error = own->why;
    error.status = status;
    status = hw_folder_end(own->folder, &own->making, status, &error, own->job->messages, &other);
    own->number = 0;
    if (status == HAWSER_OK)
        return;
    pthread_mutex_lock(&own->mutex);
    own->failure = other;
    own->failure.status = status;
    pthread_mutex_unlock(&own->mutex);
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

static void *write_all(void *argument)
{
    hw_checkpoints *own = argument;
    pthread_mutex_lock(&own->mutex);
    for (;;) {
        while (own->first == NULL && !own->ends)
            pthread_cond_wait(&own->more, &own->mutex);
        hw_checkpoint_queued *item = own->first;
        if (item == NULL)
            break;
        pthread_mutex_unlock(&own->mutex);
        write_item(own, item);
        pthread_mutex_lock(&own->mutex);
        own->first = item->next;
        free_item(item);
    }
    pthread_mutex_unlock(&own->mutex);
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
                                  .clock = about->clock,
                                  .seconds = about->seconds,
                                  .time = hw_wall_seconds(),
                                  .workers = about->blocks,
                                  .identity = item->identity,
                                  .metrics = item->metrics,
                                  .metric_count = about->metric_count};
    return HAWSER_OK;
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
    *item = (hw_checkpoint_queued){.piece = *piece, .bytes = bytes, .size = size};
    if (about != NULL)
        status = describe(own, item, about, error);
    pthread_mutex_lock(&own->mutex);
    if (status == HAWSER_OK && own->failure.status != HAWSER_OK)
        status = hawser_fail(error, own->failure.status, "%s", own->failure.text);
    if (status == HAWSER_OK) {
        hw_checkpoint_queued **end = &own->first;
        while (*end != NULL)
            end = &(*end)->next;
        *end = item;
        pthread_cond_signal(&own->more);
    }
    pthread_mutex_unlock(&own->mutex);
    if (status != HAWSER_OK)
        free_item(item);
    return status;
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
    if (pthread_create(&own->writer, NULL, write_all, own) != 0)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no thread to write checkpoints");
    own->writes = true;
    return HAWSER_OK;
}

void hw_checkpoint_writer_end(hw_checkpoints *own)
{
    if (!own->writes)
        return;
    pthread_mutex_lock(&own->mutex);
    own->ends = true;
    pthread_cond_signal(&own->more);
    pthread_mutex_unlock(&own->mutex);
    pthread_join(own->writer, NULL);
}
