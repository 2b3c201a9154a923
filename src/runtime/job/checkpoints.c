/*
 * checkpoints.c - the checkpoints of a job in a folder. Blocks hand over their bytes and go on, and a thread writes them. A
 * checkpoint is whole when its manifest is written. The bytes of a part are one tensor, because only the build that wrote
 * them reads them.
 */
#include "runtime/job/checkpointer.h"
#include "runtime/job/job.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/build.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/hash.h"
#include "base/layout.h"
#include "base/memory.h"
#include "base/messages.h"
#include "base/option_value.h"
#include "base/type.h"
#include "checkpoint/folder.h"
#include "hawser/data.h"

/* A piece that waits to be written. */
typedef struct queued {
    struct queued *next;
    hw_record_piece piece;
    void *bytes;
    size_t size;
    hw_checkpoint facts; /* of a position */
    hw_checkpoint_metric *metrics;
    char **names; /* of the metrics */
    char *identity;
    char loop[200], program[200];
} queued;

typedef struct hw_checkpoints {
    hw_checkpointer own;
    hawser_job *job;
    hw_folder *folder;
    hw_checkpoint *from; /* from which the job goes on; NULL: from the start */
    bool went_on;        /* a run has */
    bool written;        /* a checkpoint, by this job; of the writer, until it has ended */
    double every, last;  /* seconds; when one was begun */
    char build[HW_BUILD_SIZE];
    char *identity; /* of the run that writes */
    pthread_t writer;
    bool writes; /* there is a thread */
    pthread_mutex_t mutex;
    pthread_cond_t more;
    queued *first;
    bool ends;
    hawser_error failure; /* of the writer: another job has taken the folder */
    /* Of the writer: */
    hw_checkpoint making;
    uint64_t run, number; /* of the pieces that it writes */
    bool broken;          /* a part could not be written */
    hawser_error why;
    hw_checkpoint_part *parts;
    size_t part_count, part_capacity;
} hw_checkpoints;

/* ------------------------------------------------------------------------------------------------------- the writer ---- */

static hw_checkpoint_kind kind_of(const hw_record_piece *piece)
{
    return piece->kind == HW_PIECE_POSITION ? HW_CHECKPOINT_DRIVER
           : piece->kind == HW_PIECE_MERGED ? HW_CHECKPOINT_NODE
                                            : HW_CHECKPOINT_BLOCK;
}

static uint32_t index_of(const hw_record_piece *piece)
{
    return piece->kind == HW_PIECE_BLOCK ? piece->block : 0;
}

static hw_checkpoint_tensor tensor_of(const void *bytes, size_t size)
{
    return (hw_checkpoint_tensor){.name = "record", .type = HW_TENSOR_U8, .rows = size, .data = bytes};
}

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

static hawser_status put(hw_checkpoints *own, const queued *item, hawser_error *error)
{
    hw_checkpoint_tensor tensor = tensor_of(item->bytes, item->size);
    HAWSER_TRY(begin(own, &item->piece, error));
    HAWSER_TRY(HW_GROW(&own->parts, &own->part_capacity, own->part_count + 1, "parts of a checkpoint", error));
    HAWSER_TRY(hw_part_put(own->folder->path, &own->making, kind_of(&item->piece), index_of(&item->piece), &tensor, 1,
                           &own->parts[own->part_count], error));
    own->part_count++;
    return HAWSER_OK;
}

static hawser_status commit(hw_checkpoints *own, const queued *item, hawser_error *error)
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
static void write_item(hw_checkpoints *own, const queued *item)
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

static void free_item(queued *item)
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
        queued *item = own->first;
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

/* ------------------------------------------------------------------------------------------------- the checkpointer ---- */

/* The next one waits until the one before is on disk. */
static bool is_due(void *user, uint64_t run, uint64_t clocks)
{
    hw_checkpoints *own = user;
    double now = hw_seconds();
    (void)clocks;
    if (now - own->last < own->every || (own->from != NULL && run <= own->from->run)) /* a run that is only repeated */
        return false;
    pthread_mutex_lock(&own->mutex);
    bool idle = own->first == NULL;
    pthread_mutex_unlock(&own->mutex);
    if (idle)
        own->last = now;
    return idle;
}

static hawser_status describe(hw_checkpoints *own, queued *item, const hw_checkpoint_about *about, hawser_error *error)
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

static hawser_status take(void *user, const hw_record_piece *piece, const hw_checkpoint_about *about, void *bytes,
                          size_t size, hawser_error *error)
{
    hw_checkpoints *own = user;
    queued *item = NULL;
    hawser_status status = HW_NEW(&item, 1, "a checkpoint", error);
    if (status != HAWSER_OK) {
        free(bytes);
        return status;
    }
    *item = (queued){.piece = *piece, .bytes = bytes, .size = size};
    if (about != NULL)
        status = describe(own, item, about, error);
    pthread_mutex_lock(&own->mutex);
    if (status == HAWSER_OK && own->failure.status != HAWSER_OK)
        status = hawser_fail(error, own->failure.status, "%s", own->failure.text);
    if (status == HAWSER_OK) {
        queued **end = &own->first;
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

/* Keeps what a run that goes on must have as well: its program, the options and the data. */
static hawser_status identify(void *user, uint64_t run, const char *text, hawser_error *error)
{
    hw_checkpoints *own = user;
    free(own->identity);
    own->identity = NULL;
    if (asprintf(&own->identity, "%s%s", text, own->job->loaded != NULL ? own->job->loaded : "") < 0) {
        own->identity = NULL;
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the description of a run");
    }
    const hw_checkpoint here = {.build = own->build, .workers = own->job->settings.blocks, .identity = own->identity};
    if (own->from == NULL || own->went_on || run <= own->from->run) /* a run before it is repeated */
        return HAWSER_OK;
    HAWSER_TRY(hw_checkpoint_same(own->from, &here, own->folder->given, error));
    if (run == own->from->run + 1)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_OPTION,
                       "%s has a checkpoint of run %llu of a job, and this job has come to run %llu without it; choose "
                       "another folder or give --fresh",
                       own->folder->given, (unsigned long long)own->from->run + 1, (unsigned long long)run);
}

static hawser_status read_part(const hw_checkpoints *own, const hw_checkpoint_part *part, void **bytes, size_t *size,
                               hawser_error *error)
{
    hw_part_reader reader = {0};
    hw_checkpoint_tensor tensor = tensor_of(NULL, 0);
    hawser_status status = hw_part_open(&reader, own->folder->path, part, error);
    if (status == HAWSER_OK)
        status = hw_part_find(&reader, &tensor, error);
    if (status == HAWSER_OK)
        status = hw_new_array(bytes, tensor.rows, 1, "a record of a checkpoint", error);
    if (status == HAWSER_OK)
        status = hw_part_read(&reader, &tensor, 0, *bytes, tensor.rows, error);
    hw_part_close(&reader);
    *size = tensor.rows;
    if (status == HAWSER_OK)
        return HAWSER_OK;
    free(*bytes);
    *bytes = NULL;
    return status;
}

static void announce(hw_checkpoints *own)
{
    const hw_checkpoint *from = own->from;
    own->went_on = true;
    if (!hawser_options_flag(own->job->options, "quiet"))
        hw_notify(own->job->messages, HAWSER_NOTE, 0, "goes on from clock %llu of '%s' (%s, %.0f s old)",
                  (unsigned long long)from->clock, from->loop, own->folder->given, fmax(hw_wall_seconds() - from->time, 0));
}

static hawser_status give(void *user, const hw_record_piece *piece, void **bytes, size_t *size, hawser_error *error)
{
    hw_checkpoints *own = user;
    *bytes = NULL;
    *size = 0;
    if (own->from == NULL || own->from->run + 1 != piece->run)
        return HAWSER_OK;
    const hw_checkpoint_part *part = hw_checkpoint_find(own->from, kind_of(piece), index_of(piece));
    if (part == NULL)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: %s has no record of block %u", own->folder->given, own->from->file,
                           index_of(piece));
    HAWSER_TRY(read_part(own, part, bytes, size, error));
    if (piece->kind == HW_PIECE_POSITION)
        announce(own);
    return HAWSER_OK;
}

/* ------------------------------------------------------------------------------------------------- data, begin, end ---- */

static uint64_t digest_of_matrix(const hawser_matrix *matrix, uint64_t digest)
{
    const uint64_t shape[] = {matrix->rows, matrix->cols, matrix->stored, (uint64_t)matrix->layout, (uint64_t)matrix->type};
    size_t lines = hw_lines(matrix), size = hw_type_size(matrix->type);
    digest = hw_hash(shape, sizeof shape, digest);
    for (size_t j = 0; hw_is_dense(matrix) && j < lines; j++)
        digest = hw_hash((const char *)matrix->values + j * matrix->stride * size, hw_line_width(matrix) * size, digest);
    if (hw_is_dense(matrix) || lines == 0)
        return digest;
    uint64_t first = matrix->offsets[0], count = matrix->offsets[lines] - first;
    digest = hw_hash(matrix->offsets, (lines + 1) * sizeof *matrix->offsets, digest);
    if (count == 0)
        return digest;
    digest = hw_hash(matrix->indices + first, count * sizeof *matrix->indices, digest);
    return hw_hash((const char *)matrix->values + first * size, count * size, digest);
}

uint64_t hw_checkpoints_digest(const hawser_matrix *matrix)
{
    return digest_of_matrix(matrix, 0);
}

static uint64_t digest_of(const hawser_dataset *dataset)
{
    size_t rows = hawser_dataset_matrix(dataset)->rows;
    uint64_t digest = digest_of_matrix(hawser_dataset_matrix(dataset), 0);
    const double *const vectors[] = {hawser_dataset_target(dataset), hawser_dataset_weights(dataset),
                                     hawser_dataset_offset(dataset), hawser_dataset_groups(dataset)};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        if (vectors[i] != NULL)
            digest = hw_hash(vectors[i], rows * sizeof *vectors[i], digest + i + 1);
    for (size_t k = 1; k < hawser_dataset_outputs(dataset); k++)
        if (hawser_dataset_output(dataset, k) != NULL)
            digest = hw_hash(hawser_dataset_output(dataset, k), rows * sizeof(double), digest);
    return digest;
}

void hw_checkpoints_loaded(hawser_job *job, const hawser_dataset *dataset)
{
    char *text = NULL, line[40];
    if (dataset == NULL || job->cluster != NULL || hawser_options_text(job->options, "checkpoint") == NULL)
        return;
    (void)snprintf(line, sizeof line, "data = digest %016llx\n", (unsigned long long)digest_of(dataset));
    if (job->loaded != NULL && strstr(job->loaded, line) != NULL)
        return; /* it was read, and then given to a training */
    if (asprintf(&text, "%s%s", job->loaded != NULL ? job->loaded : "", line) < 0)
        return;
    free(job->loaded);
    job->loaded = text;
}

static hawser_status check_options(const hawser_job *job, hawser_error *error)
{
    if (job->cluster != NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--checkpoint works in a job of one process so far; train on one node, or without it");
    if (hawser_options_text(job->options, "record-history") != NULL)
        return hawser_fail(
            error, HAWSER_BAD_OPTION,
            "--record-history and --checkpoint do not go together: a history begins with its run; leave one out");
    return HAWSER_OK;
}

static hawser_status open_folder(hw_checkpoints *own, const char *path, hawser_error *error)
{
    const hawser_options *options = own->job->options;
    HAWSER_TRY(hw_folder_open(path, (uint32_t)hawser_options_integer(options, "checkpoint-keep"),
                              hawser_options_flag(options, "fresh"), &own->folder, error));
    HAWSER_TRY(hw_folder_find(own->folder, own->job->messages, &own->from, error));
    if (pthread_create(&own->writer, NULL, write_all, own) != 0)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no thread to write checkpoints");
    own->writes = true;
    return HAWSER_OK;
}

hawser_status hw_checkpoints_open(hawser_job *job, hawser_error *error)
{
    const char *path = hawser_options_text(job->options, "checkpoint");
    hw_checkpoints *own = NULL;
    if (path == NULL)
        return HAWSER_OK;
    HAWSER_TRY(check_options(job, error));
    HAWSER_TRY(HW_NEW(&own, 1, "checkpoints", error));
    own->own = (hw_checkpointer){own, identify, is_due, take, give};
    own->job = job;
    own->every = hawser_options_number(job->options, "checkpoint-every");
    own->last = hw_seconds();
    hw_build(own->build);
    pthread_mutex_init(&own->mutex, NULL);
    pthread_cond_init(&own->more, NULL);
    job->checkpoints = own;
    job->checkpointer = &own->own;
    hawser_status status = open_folder(own, path, error);
    if (status != HAWSER_OK)
        hw_checkpoints_close(job, false);
    return status;
}

static void end_writer(hw_checkpoints *own)
{
    if (!own->writes)
        return;
    pthread_mutex_lock(&own->mutex);
    own->ends = true;
    pthread_cond_signal(&own->more);
    pthread_mutex_unlock(&own->mutex);
    pthread_join(own->writer, NULL);
}

uint32_t hw_checkpoints_workers(const hawser_job *job)
{
    const char *path = hawser_options_text(job->options, "checkpoint");
    hw_checkpoint *newest = NULL;
    hawser_error ignored = {0}; /* hw_checkpoints_open reports it */
    if (path == NULL || job->cluster != NULL || hawser_options_flag(job->options, "fresh") ||
        hw_folder_newest(path, &newest, &ignored) != HAWSER_OK || newest == NULL)
        return 0;
    uint32_t workers = newest->workers;
    hw_checkpoint_free(newest);
    return workers;
}

bool hw_job_resumed(const hawser_job *job, hw_resumed *resumed)
{
    const hw_checkpoints *own = job->checkpoints;
    if (own == NULL || !own->went_on)
        return false;
    *resumed = (hw_resumed){own->from->loop, own->from->clock, own->from->seconds};
    return true;
}

/* A checkpoint from which a job went on may be damaged by now: only the next one reads it again. */
static void say_how_to_go_on(const hw_checkpoints *own)
{
    const hawser_job *job = own->job;
    bool there = (own->written || own->from != NULL) && own->failure.status == HAWSER_OK;
    if (there && job->cut && !hawser_options_flag(job->options, "quiet"))
        hw_notify(job->messages, HAWSER_NOTE, 0, "goes on with the same command (%s)", own->folder->given);
}

void hw_checkpoints_close(hawser_job *job, bool finished)
{
    hw_checkpoints *own = job->checkpoints;
    hawser_error error = {0};
    if (own == NULL)
        return;
    end_writer(own);
    if (finished && own->from != NULL && !own->went_on) {
        finished = false;
        hw_notify(job->messages, HAWSER_WARNING, 0,
                  "the checkpoint in %s is of run %llu of a job, to which this job did not come; it was left there",
                  own->folder->given, (unsigned long long)own->from->run + 1);
    }
    if (finished && own->folder != NULL && own->failure.status == HAWSER_OK &&
        hw_folder_remove(own->folder, &error) != HAWSER_OK)
        hw_notify(job->messages, HAWSER_WARNING, 0, "%s", error.text);
    if (!finished)
        say_how_to_go_on(own);
    if (!finished && own->folder != NULL && !own->written && !own->went_on && !hawser_options_flag(job->options, "fresh"))
        hw_folder_give_back(own->folder);
    job->checkpointer = NULL;
    job->checkpoints = NULL;
    hw_checkpoint_free(own->from);
    hw_folder_free(own->folder);
    pthread_mutex_destroy(&own->mutex);
    pthread_cond_destroy(&own->more);
    free(own->parts);
    free(own->identity);
    free(own);
}
