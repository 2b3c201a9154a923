/* part_local.c - a block's part of a local state: numbers that no other block sees. If it is tied to a replicated state,
 * `work` is what units change, and `copy` what is committed. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/block/part.h"

/* Returns true if a loop that updates the state has several stages. */
static bool has_stages(const hw_plan *plan, const hawser_state *state)
{
    const hawser_program *program = plan->program;
    for (size_t i = 0; i < program->operator_count; i++)
        if (hw_operator_shipped(program->operators[i]) && hw_plan_stages(plan, program->operators[i]) > 1 &&
            hw_operator_updates(program->operators[i], state))
            return true;
    return false;
}

static hawser_status open_part(hw_worker *worker, hw_state_part *part, hawser_error *error)
{
    hw_plan_range(worker->session->plan, part->state, worker->block, &part->begin, &part->count);
    part->count -= part->begin;
    HAWSER_TRY(hw_new_array(&part->work, part->count, hw_state_size(part->state), "a local state", error));
    if (part->state->tied_to != NULL) /* with one block there is no sum that a damping weighs */
        part->damping = worker->session->blocks > 1 ? part->state->tied_to->rule.damping : 1;
    if (part->state->tied_to != NULL)
        HAWSER_TRY(HW_NEW(&part->copy, part->count, "a local state's copy", error));
    if (part->state->tied_to != NULL && has_stages(worker->session->plan, part->state))
        HAWSER_TRY(HW_NEW(&part->before, part->count, "a local state's copy", error));
    if (hw_plan_initial(worker->session->plan, part->state, part->begin) != NULL && part->count > 0)
        hw_life_open(worker, part);
    return HAWSER_OK;
}

static size_t bytes_of(const hw_state_part *part)
{
    return part->count * hw_state_size(part->state);
}

static void commit(hw_state_part *part)
{
    hw_tied_commit(part->copy, part->work, part->count, part->damping);
}

static const void *read_work(hw_state_part *part, bool updates, const char **why)
{
    (void)updates, (void)why;
    return part->work;
}

static void *write_work(hw_state_part *part, const char **why)
{
    (void)why;
    return part->work;
}

/* Returns the memory to keep before a stage changes it. NULL: none; a tied state has a copy of what was committed. */
static void *stage_memory(hw_state_part *part, size_t *bytes)
{
    *bytes = bytes_of(part);
    return part->copy == NULL && !part->retired ? part->work : NULL;
}

static void roll_back(hw_state_part *part)
{
    if (part->copy != NULL && !part->retired)
        memcpy(part->work, part->copy, bytes_of(part));
}

static void retire(const hw_worker *worker, hw_state_part *part)
{
    (void)worker;
    if (part->copy != NULL) {
        free(part->work);
        part->work = NULL;
    }
    free(part->before);
    part->before = NULL;
}

/* What the block has committed, if the state is tied, else what it has. */
static hawser_status take_share(hw_worker *worker, hw_state_part *part, bool abandoned, void **values, hawser_error *error)
{
    (void)worker, (void)abandoned, (void)error;
    void **from = part->copy != NULL ? (void **)&part->copy : &part->work;
    *values = *from;
    *from = NULL;
    free(part->work);
    part->work = NULL;
    return HAWSER_OK;
}

static size_t kept_count(const hw_state_part *part)
{
    return part->count;
}

static hawser_status keep(hw_worker *worker, hw_state_part *part, void *values)
{
    hw_life_fill(worker, part);
    memcpy(values, part->copy != NULL ? part->copy : part->work, bytes_of(part));
    return HAWSER_OK;
}

static hawser_status put_back(hw_worker *worker, hw_state_part *part, const void *values)
{
    (void)worker;
    part->unfilled = part->pending = false;
    if (part->work != NULL)
        memcpy(part->work, values, bytes_of(part));
    if (part->copy != NULL)
        memcpy(part->copy, values, bytes_of(part));
    return HAWSER_OK;
}

static void visit(hw_state_part *part, hawser_record *record)
{
    hawser_record_bytes(record, &part->unfilled, sizeof part->unfilled);
    hawser_record_bytes(record, &part->pending, sizeof part->pending);
    if (part->unfilled)
        return;
    if (part->work != NULL)
        hawser_record_bytes(record, part->work, bytes_of(part));
    if (part->copy != NULL)
        hawser_record_bytes(record, part->copy, bytes_of(part));
    if (part->before != NULL)
        hawser_record_bytes(record, part->before, bytes_of(part));
}

static void drop(hw_state_part *part)
{
    void *const arrays[] = {part->work, part->copy, part->before};
    for (size_t i = 0; !part->unfilled && i < sizeof arrays / sizeof *arrays; i++)
        if (arrays[i] != NULL)
            memset(arrays[i], 0xa5, bytes_of(part));
    part->unfilled = !part->unfilled;
    part->pending = !part->pending;
}

const hw_part_kind hw_part_local = {.open = open_part,
                                    .commit = commit,
                                    .read = read_work,
                                    .write = write_work,
                                    .stage_memory = stage_memory,
                                    .roll_back = roll_back,
                                    .retire = retire,
                                    .take_share = take_share,
                                    .unchecked = true,
                                    .kept_count = kept_count,
                                    .keep = keep,
                                    .put_back = put_back,
                                    .visit = visit,
                                    .drop = drop};
