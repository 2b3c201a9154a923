/*
 * checkpoints.c - the checkpoints of a job in a folder: when one is taken, what the job that goes on must have as well, and
 * how the folder is opened and closed. Blocks hand over their bytes and go on, and a thread writes them.
 */
#include "runtime/job/checkpoints.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/messages.h"
#include "base/option_value.h"

/* The part of --checkpoint-every that a run must last for its end to be kept. */
#define LEAST_OF_INTERVAL 0.1
/* A checkpoint begins before a known end by so many times what the last one took. */
#define TAKES_BEFORE_END 2

/* ------------------------------------------------------------------------------------------------- the checkpointer ---- */

/* Returns whether a job that goes on only repeats a run: the checkpoint is of a later one, or of the end of this one. */
static bool is_repeated(const hw_checkpoints *own, uint64_t run)
{
    return own->from != NULL && (run <= own->from->run || (own->from->ended && run == own->from->run + 1));
}

/* The next one waits until the one before is on disk. One begins early enough to be there before a known end. */
static bool is_due(void *user, uint64_t run, double left)
{
    hw_checkpoints *own = user;
    double now = hw_seconds(), early = TAKES_BEFORE_END * atomic_load(&own->took);
    bool ends = left < early && now + left - own->last > early;
    if ((now - own->last < own->every && !ends) || is_repeated(own, run))
        return false;
    bool idle = hw_checkpoint_writer_idle(own);
    if (idle)
        own->last = now;
    return idle;
}

/* A run shorter than a part of the interval is repeated: it costs little more than its checkpoint. Only a run that follows
 * needs the end of one. */
static bool keeps_end(void *user, uint64_t run, double seconds)
{
    const hw_checkpoints *own = user;
    return !own->job->last_run && seconds >= LEAST_OF_INTERVAL * own->every && !is_repeated(own, run);
}

/* The folder is this job's from now on. */
static hawser_status accept(hw_checkpoints *own, hawser_error *error)
{
    HAWSER_TRY(hw_folder_accept(own->folder, error));
    own->accepted = true;
    return own->clears ? hw_folder_clear(own->folder, error) : HAWSER_OK;
}

/* Keeps what a run that goes on must have as well: its program, the options and the data. */
static hawser_status identify(void *user, uint64_t run, const char *text, hawser_error *error)
{
    hw_checkpoints *own = user;
    free(own->identity);
    own->identity = NULL;
    HAWSER_TRY(hw_copy_text(&own->identity, text, error));
    const hw_checkpoint here = {.build = own->build, .workers = own->job->settings.blocks, .identity = own->identity};
    hw_checkpoint_begun(own, run);
    if (own->accepted)
        return HAWSER_OK;
    const hw_checkpoint *from = hw_checkpoint_of_run(own, run);
    if (from != NULL)
        HAWSER_TRY(hw_checkpoint_same(from, &here, own->given, error));
    if (from == own->from)
        return accept(own, error);
    if (from != NULL || run <= own->from->run) /* a run before it */
        return HAWSER_OK;
    HAWSER_TRY(hw_checkpoint_same(own->from, &here, own->given, error));
    return hawser_fail(error, HAWSER_BAD_OPTION,
                       "%s has a checkpoint of run %llu of a job, and this job has come to run %llu without it; choose "
                       "another folder or give --fresh",
                       own->given, (unsigned long long)own->from->run + 1, (unsigned long long)run);
}

/* Logs end where they did at that checkpoint. */
static void note_logs(void *user)
{
    hw_checkpoints *own = user;
    for (size_t i = 0; i < HW_LOGS; i++)
        own->logs[i] = hw_log_mark_of(own->job->logs[i]);
}

/* Cuts off the lines that the process before has written since the checkpoint, and those of this one so far. */
static void cut_logs(const hw_checkpoints *own)
{
    const hawser_job *job = own->job;
    for (size_t i = 0; i < HW_LOGS; i++)
        if (job->logs[i] != NULL && own->from->logs[i].bytes > 0 && !hw_log_cut(job->logs[i], &own->from->logs[i]) &&
            !hawser_options_flag(job->options, "quiet"))
            hw_notify(job->messages, HAWSER_NOTE, 0,
                      "the file of --%s is not the one that the checkpoint continues: lines "
                      "are added to %s",
                      hw_log_options[i], job->logs[i]);
}

static void announce(hw_checkpoints *own)
{
    const hw_checkpoint *from = own->from;
    own->went_on = true;
    if (own->node == 0)
        cut_logs(own);
    if (hawser_options_flag(own->job->options, "quiet"))
        return;
    if (from->ended)
        hw_notify(own->job->messages, HAWSER_NOTE, 0, "goes on from the end of '%s' (%s, %.0f s old)", from->loop,
                  own->given, fmax(hw_wall_seconds() - from->time, 0));
    else
        hw_notify(own->job->messages, HAWSER_NOTE, 0, "goes on from clock %llu of '%s' (%s, %.0f s old)",
                  (unsigned long long)from->clock, from->loop, own->given, fmax(hw_wall_seconds() - from->time, 0));
}

static hawser_status give(void *user, const hw_record_piece *piece, void **bytes, size_t *size, hawser_error *error)
{
    hw_checkpoints *own = user;
    *bytes = NULL;
    *size = 0;
    const hw_checkpoint *from = hw_checkpoint_of_run(own, piece->run);
    if (from == NULL)
        return HAWSER_OK;
    HAWSER_TRY(hw_checkpoint_piece(own, piece, bytes, size, error));
    if (piece->kind == HW_PIECE_POSITION && from == own->from)
        announce(own);
    return HAWSER_OK;
}

/* ------------------------------------------------------------------------------------------------------- begin, end ---- */

/* Makes the path absolute: the program may change its directory. The folder need not be there on nodes other than 0. */
static hawser_status find_path(hw_checkpoints *own, hawser_error *error)
{
    char *here = NULL;
    own->path = realpath(own->given, NULL);
    if (own->path != NULL)
        return HAWSER_OK;
    here = own->given[0] != '/' ? realpath(".", NULL) : NULL;
    if (asprintf(&own->path, "%s%s%s", here != NULL ? here : "", here != NULL ? "/" : "", own->given) < 0)
        own->path = NULL;
    free(here);
    return own->path != NULL ? HAWSER_OK : hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a path");
}

static hawser_status open_folder(hw_checkpoints *own, hawser_error *error)
{
    const hawser_options *options = own->job->options;
    if (own->node != 0)
        return find_path(own, error);
    HAWSER_TRY(
        hw_folder_open(own->given, (uint32_t)hawser_options_integer(options, "checkpoint-keep"), &own->folder, error));
    HAWSER_TRY(find_path(own, error));
    memcpy(own->token, own->folder->token, sizeof own->token);
    own->clears = hawser_options_flag(options, "fresh");
    if (own->clears)
        return HAWSER_OK;
    HAWSER_TRY(hw_folder_find(own->folder, own->job->messages, &own->from, error));
    if (own->from == NULL)
        return HAWSER_OK;
    return hw_folder_ends(own->folder, own->from, own->job->messages, &own->ends, &own->end_count, error);
}

static hawser_status start(hw_checkpoints *own, hawser_error *error)
{
    hawser_status status = own->node == 0 ? hw_checkpoint_writer_start(own, error) : hw_checkpoint_member_start(own, error);
    return hw_cluster_agree(own->cluster, status, error);
}

static hawser_status make(hawser_job *job, const char *path, hawser_error *error)
{
    hw_checkpoints *own = NULL;
    HAWSER_TRY(HW_NEW(&own, 1, "checkpoints", error));
    bool leads = hawser_job_leads(job);
    own->own = leads ? (hw_checkpointer){own, identify, is_due, keeps_end, note_logs, hw_checkpoint_take, give}
                     : (hw_checkpointer){own, NULL, NULL, NULL, NULL, hw_checkpoint_hold, give};
    own->job = job;
    own->cluster = job->cluster;
    own->node = hawser_job_node(job);
    own->nodes = hawser_job_nodes(job);
    own->every = hawser_options_number(job->options, "checkpoint-every");
    own->last = hw_seconds();
    hw_build(own->build);
    pthread_mutex_init(&own->mutex, NULL);
    pthread_mutex_init(&own->reading, NULL);
    pthread_cond_init(&own->more, NULL);
    job->checkpoints = own;
    job->checkpointer = &own->own;
    return hw_copy_text(&own->given, path, error);
}

hawser_status hw_checkpoints_open(hawser_job *job, hawser_error *error)
{
    const char *path = hawser_options_text(job->options, "checkpoint");
    if (path == NULL)
        return HAWSER_OK;
    hawser_status status = hw_cluster_agree(job->cluster, make(job, path, error), error);
    if (status == HAWSER_OK)
        status = hw_checkpoint_nodes_open(job->checkpoints, error);
    if (status == HAWSER_OK)
        status = hw_checkpoint_nodes_share(job->checkpoints, open_folder(job->checkpoints, error), error);
    if (status == HAWSER_OK)
        status = start(job->checkpoints, error);
    if (status != HAWSER_OK)
        hw_checkpoints_close(job, false);
    return status;
}

uint32_t hw_checkpoints_workers(const hawser_job *job)
{
    const char *path = hawser_options_text(job->options, "checkpoint");
    hw_checkpoint *newest = NULL;
    hawser_error ignored = {0}; /* hw_checkpoints_open reports it */
    if (path == NULL || hawser_options_flag(job->options, "fresh") ||
        hawser_options_source(job->options, "checkpoint", NULL) < HAWSER_FROM_COMMAND_LINE || /* all jobs have it */
        hw_folder_newest(path, &newest, &ignored) != HAWSER_OK || newest == NULL)
        return 0;
    uint32_t workers = newest->workers;
    hw_checkpoint_free(newest);
    return workers;
}

hawser_status hw_job_keep_log(hawser_job *job, size_t log, const char *path, hawser_error *error)
{
    free(job->logs[log]);
    job->logs[log] = path != NULL ? realpath(path, NULL) : NULL; /* the program may change its directory */
    bool lacks = path != NULL && job->logs[log] == NULL && errno == ENOMEM;
    return lacks ? hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a path") : HAWSER_OK;
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
        hw_notify(job->messages, HAWSER_NOTE, 0, "goes on with the same command (%s)", own->given);
}

void hw_checkpoints_close(hawser_job *job, bool finished)
{
    hw_checkpoints *own = job->checkpoints;
    hawser_error error = {0};
    if (own == NULL)
        return;
    if (own->node == 0)
        hw_checkpoint_writer_end(own, !finished);
    else
        hw_checkpoint_member_end(own);
    hw_checkpoint_nodes_close(own);
    hw_checkpoint_writer_clear(own);
    if (finished && own->node == 0 && own->from != NULL && !own->went_on)
        hw_notify(job->messages, HAWSER_WARNING, 0,
                  "the checkpoint in %s is of run %llu of a job, to which this job did not come; it was left there",
                  own->given, (unsigned long long)own->from->run + 1);
    if (finished && own->accepted && own->failure.status == HAWSER_OK && hw_folder_remove(own->folder, &error) != HAWSER_OK)
        hw_notify(job->messages, HAWSER_WARNING, 0, "%s", error.text);
    if (!finished && own->node == 0)
        say_how_to_go_on(own);
    if (own->folder != NULL && !own->accepted)
        hw_folder_give_back(own->folder);
    job->checkpointer = NULL;
    job->checkpoints = NULL;
    hw_checkpoint_free(own->from);
    for (size_t i = 0; i < own->end_count; i++)
        hw_checkpoint_free(own->ends[i]);
    free(own->ends);
    hw_folder_free(own->folder);
    pthread_mutex_destroy(&own->mutex);
    pthread_mutex_destroy(&own->reading);
    pthread_cond_destroy(&own->more);
    free(own->merged);
    free(own->given);
    free(own->path);
    free(own->parts);
    free(own->identity);
    free(own);
}
