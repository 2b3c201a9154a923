/* redo.c - takes back what a stage did that has failed, or that is done over because the view has changed. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "runtime/block/part.h"
#include "runtime/block/stored.h"

/* A unit with many calls would never end if a stage could be done over any number of times. */
enum { REDONE_MOST = 4 };

typedef struct hw_redo {
    hw_random random;
    uint64_t calls;  /* at which the view could change, if one of them is named (hw_job_change_view_at) */
    uint32_t redone; /* how often this stage was done over */
    bool forbidden;  /* the stage has sent a part of its changes */
    void **parts;    /* by state: its stage_memory when the stage began; NULL until the first stage that updates it */
    hw_report report;
    uint32_t reductions;
    void *scratch; /* as its visit wrote it; NULL: it is made anew from zeros */
    size_t scratch_bytes;
} hw_redo;

hawser_status hw_redo_open(hw_worker *worker, hawser_error *error)
{
    const hw_view_changes *changes = &worker->session->job->changes;
    if (changes->every == 0 && worker->session->job->rehearse == 0)
        return HAWSER_OK;
    HAWSER_TRY(HW_NEW(&worker->redo, 1, "what a block can do over", error));
    worker->redo->random = hw_random_at(changes->seed, 0, worker->block, 0);
    worker->redo->forbidden = true; /* until the first stage */
    return HW_NEW(&worker->redo->parts, worker->session->program->state_count, "what a block can do over", error);
}

void hw_redo_close(hw_worker *worker)
{
    hw_redo *redo = worker->redo;
    if (redo == NULL)
        return;
    for (uint32_t i = 0; redo->parts != NULL && i < worker->session->program->state_count; i++)
        free(redo->parts[i]);
    free(redo->parts);
    free(redo->scratch);
    free(redo);
    worker->redo = NULL;
}

/* Returns what units of the phase change of a state and of which nothing else keeps a copy; NULL: nothing. */
static void *memory_of(const hw_worker *worker, hw_state_part *part, size_t *bytes)
{
    const hw_part_kind *kind = part->kind;
    *bytes = 0;
    if (kind->stage_memory == NULL || !hw_phase_updates(worker->current, part->state))
        return NULL;
    return kind->stage_memory(part, bytes);
}

static hawser_status keep_parts(hw_worker *worker)
{
    for (uint32_t i = 0; i < worker->session->program->state_count; i++) {
        size_t bytes;
        void **kept = &worker->redo->parts[i], *memory = memory_of(worker, &worker->parts[i], &bytes);
        if (memory == NULL)
            continue;
        if (*kept == NULL)
            HAWSER_TRY(hw_new_array(kept, bytes, 1, "a state's copy", &worker->error));
        memcpy(*kept, memory, bytes);
    }
    return HAWSER_OK;
}

/* A scratch that no unit has used yet is not visited: a visit may expect what the first unit makes. */
static hawser_status keep_scratch(hw_worker *worker)
{
    hw_redo *redo = worker->redo;
    free(redo->scratch);
    redo->scratch = NULL;
    if (worker->scratch == NULL || hw_all_zero(worker->scratch, worker->session->program->scratch_bytes))
        return HAWSER_OK;
    return hw_worker_save_scratch(worker, &redo->scratch, &redo->scratch_bytes);
}

hawser_status hw_redo_keep(hw_worker *worker)
{
    hw_redo *redo = worker->redo;
    bool needed =
        redo != NULL && (worker->session->job->changes.every > 0 || hw_rehearses_clock(worker, HW_REHEARSES_STAGE));
    if (redo != NULL)
        redo->forbidden = true;
    if (!needed)
        return HAWSER_OK;
    redo->redone = 0;
    redo->forbidden = false;
    redo->report = worker->report;
    redo->reductions = worker->reduction != NULL ? hw_reduction_number(worker->reduction) : 0;
    hw_stored_keep(worker);
    HAWSER_TRY(keep_parts(worker));
    return keep_scratch(worker);
}

void hw_worker_roll_back(hw_worker *worker)
{
    for (uint32_t i = 0; i < worker->session->program->state_count; i++) {
        hw_state_part *part = &worker->parts[i];
        if (part->kind->roll_back != NULL)
            part->kind->roll_back(part);
    }
}

hawser_status hw_redo_go_back(hw_worker *worker)
{
    hw_redo *redo = worker->redo;
    for (uint32_t i = 0; i < worker->session->program->state_count; i++) {
        size_t bytes;
        void *memory = memory_of(worker, &worker->parts[i], &bytes);
        if (memory != NULL)
            memcpy(memory, redo->parts[i], bytes);
    }
    worker->report = redo->report;
    if (worker->reduction != NULL)
        hw_reduction_go_back(worker->reduction, redo->reductions);
    HAWSER_TRY(hw_stored_go_back(worker));
    if (worker->scratch != NULL)
        HAWSER_TRY(hw_worker_renew_scratch(worker, redo->scratch, redo->scratch_bytes));
    return HAWSER_OK;
}

void hw_redo_forbid(hw_worker *worker)
{
    if (worker->redo != NULL)
        worker->redo->forbidden = true;
}

/* Clocks that are not cut yet are in the caches: going back to the last cut would lose them. */
bool hw_redo_repeats(const hw_worker *worker)
{
    const hw_redo *redo = worker->redo;
    return redo != NULL && !redo->forbidden && redo->redone < REDONE_MOST && !(worker->deferring > 0) &&
           hw_stored_repeats(worker) && (worker->reduction == NULL || hw_reduction_repeats(worker->reduction));
}

static bool changes_now(hw_worker *worker, const hw_view_changes *changes)
{
    hw_redo *redo = worker->redo;
    if (changes->call > 0)
        return ++redo->calls == changes->call && worker->block == changes->block;
    return hw_random_below(&redo->random, changes->every) == 0;
}

bool hw_redo_changes(hawser_context *context)
{
    hw_redo *redo = context->worker->redo;
    hw_view_changes *changes = &context->worker->session->job->changes;
    if (context->failed == HAWSER_VIEW_CHANGED)
        return true;
    if (redo == NULL || changes->every == 0 || context->failed != HAWSER_OK ||
        (context->unit == NULL && context->rebuilds == NULL) || !hw_redo_repeats(context->worker) ||
        !changes_now(context->worker, changes))
        return false;
    redo->redone++;
    atomic_fetch_add_explicit(&changes->count, 1, memory_order_relaxed);
    context->failed = HAWSER_VIEW_CHANGED;
    return true;
}
