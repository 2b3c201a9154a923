/*
 * rehearse.c - --rehearse: after drawn clocks a block drops what it remembers and reads it back (scratch.c), and drawn
 * stages run twice from one record. Units that remember anything elsewhere, in a static variable or behind the user pointer,
 * then leave other numbers, and the run fails by their names.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "exchange/numbers.h"
#include "runtime/block/part.h"

bool hw_rehearses_clock(const hw_worker *worker, uint32_t salt)
{
    const hawser_job *job = worker->session->job;
    if (job->rehearse == 0)
        return false;
    hw_random random = hw_random_at(job->settings.seed ^ salt, worker->epoch, worker->block, worker->clock);
    return hw_random_below(&random, job->rehearse) == 0;
}

static hawser_type type_of(const hw_state_part *part)
{
    return part->state->matrix != NULL ? part->data.type : part->state->type;
}

/* Returns the numbers of a state that units of this stage may change; NULL: none. */
static const void *changed(const hw_worker *worker, const hw_state_part *part, size_t *count)
{
    bool updates = hw_phase_updates(worker->current, part->state);
    const hawser_matrix *written = updates ? hw_part_written(part) : NULL;
    if (part->state->matrix != NULL) {
        *count = written != NULL ? (size_t)written->stored : 0;
        return *count > 0 ? written->values : NULL;
    }
    *count = part->replica != NULL ? hw_state_count(part->state) : part->count;
    if (part->replica != NULL)
        return part->live && hw_worker_updates(worker, part) ? hw_replica_cache(part->replica) : NULL;
    return updates && *count > 0 ? part->work : NULL;
}

hawser_status hw_rehearsal_keep(hw_worker *worker, hw_rehearsal *rehearsal)
{
    rehearsal->report = worker->report;
    HAWSER_TRY(HW_NEW(&rehearsal->values, worker->session->program->state_count, "a rehearsal", &worker->error));
    for (uint32_t i = 0; i < worker->session->program->state_count; i++) {
        size_t count = 0, size = hw_type_size(type_of(&worker->parts[i]));
        const void *from = changed(worker, &worker->parts[i], &count);
        if (from == NULL)
            continue;
        HAWSER_TRY(hw_new_array(&rehearsal->values[i], count, size, "a rehearsal", &worker->error));
        memcpy(rehearsal->values[i], from, count * size);
    }
    return HAWSER_OK;
}

void hw_rehearsal_free(const hw_worker *worker, hw_rehearsal *rehearsal)
{
    for (uint32_t i = 0; rehearsal->values != NULL && i < worker->session->program->state_count; i++)
        free(rehearsal->values[i]);
    free(rehearsal->values);
    rehearsal->values = NULL;
}

static hawser_status fail(hw_worker *worker, const char *what)
{
    const char *name = worker->current->name;
    return hawser_fail(&worker->error, HAWSER_BAD_PROGRAM,
                       "--rehearse: '%s', block %u, clock %llu: its units ran twice from one record, and %s; what a unit "
                       "remembers belongs in a state, or in the scratch that hawser_scratch_record visits",
                       name != NULL ? name : "units", worker->block,
                       (unsigned long long)(worker->first_clock + worker->clock), what);
}

static hawser_status compare_part(hw_worker *worker, const hw_state_part *part, const void *before)
{
    char first[HW_NUMBER_TEXT], second[HW_NUMBER_TEXT], what[300];
    const hw_numbers *numbers = hw_numbers_of(type_of(part));
    size_t count = 0, at = 0;
    const char *now = changed(worker, part, &count);
    if (now == NULL || before == NULL || numbers->changed(now, before, count) == 0)
        return HAWSER_OK;
    while (!hw_bits_differ(numbers, now + at * numbers->size, (const char *)before + at * numbers->size))
        at++;
    numbers->text(before, at, first);
    numbers->text(now, at, second);
    (void)snprintf(what, sizeof what, "state '%.100s' got %s as its number %zu, then %s", part->state->name, first,
                   part->replica != NULL ? at : part->begin + at, second);
    return fail(worker, what);
}

hawser_status hw_rehearsal_compare(hw_worker *worker, const hw_rehearsal *rehearsal)
{
    const hawser_program *program = worker->session->program;
    const hw_report *before = &rehearsal->report, *now = &worker->report;
    char what[200];
    if (hw_worker_asked(worker)) /* units may have been asked to stop in between */
        return HAWSER_OK;
    for (uint32_t i = 0; i < program->state_count; i++)
        HAWSER_TRY(compare_part(worker, &worker->parts[i], rehearsal->values[i]));
    for (uint32_t i = 0; i < program->metric_count; i++) {
        bool has[2] = {(before->mask >> i & 1) != 0, (now->mask >> i & 1) != 0};
        if (has[0] == has[1] && (!has[0] || memcmp(&before->values[i], &now->values[i], sizeof now->values[i]) == 0))
            continue;
        (void)snprintf(what, sizeof what, "metric '%.100s' was reported as %.17g, then as %.17g", program->metrics[i].name,
                       has[0] ? before->values[i] : 0.0, has[1] ? now->values[i] : 0.0);
        return fail(worker, what);
    }
    return HAWSER_OK;
}
