/* part_local.c - a block's part of a local state, or of an entries state, which has numbers for the entries of the block's
 * rows: numbers that no other block sees. If a local state is tied to a replicated one, `work` is what units change, and
 * `copy` what is committed. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "program/entries.h"
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

static hawser_status open_local(hw_worker *worker, hw_state_part *part, hawser_error *error)
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

static hawser_status open_entries(hw_worker *worker, hw_state_part *part, hawser_error *error)
{
    const hw_plan *plan = worker->session->plan;
    const hawser_matrix data = hw_plan_part(plan, part->state->along, worker->block);
    size_t end;
    hw_plan_range(plan, part->state, worker->block, &part->begin, &end);
    part->count = end - part->begin;
    part->first_line = plan->states[part->state->along->number].bounds[worker->block];
    part->line_count = data.rows;
    HAWSER_TRY(HW_NEW(&part->lines, data.rows + 1, "an entries state's rows", error));
    HAWSER_TRY(hw_entries_offsets(part->state, &data, part->lines, error));
    if (part->lines[data.rows] != part->count)
        return hawser_fail(error, HAWSER_INTERNAL,
                           "entries state '%s': the values of '%s' have changed since the plan was made: block %u has %zu "
                           "numbers, not %zu",
                           part->state->name, part->state->along->name, worker->block, part->lines[data.rows], part->count);
    HAWSER_TRY(hw_new_array(&part->work, part->count, hw_state_size(part->state), "an entries state", error));
    if (hw_plan_initial(plan, part->state, part->begin) != NULL && part->count > 0)
        hw_life_open(worker, part);
    return HAWSER_OK;
}

static void close_entries(hw_state_part *part)
{
    free(part->lines);
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
    *bytes = hw_part_size(part);
    return part->copy == NULL && !part->retired ? part->work : NULL;
}

static void roll_back(hw_state_part *part)
{
    if (part->copy != NULL && !part->retired)
        memcpy(part->work, part->copy, hw_part_size(part));
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

static hawser_status keep(hw_worker *worker, hw_state_part *part, void *values)
{
    hw_life_fill(worker, part);
    memcpy(values, part->copy != NULL ? part->copy : part->work, hw_part_size(part));
    return HAWSER_OK;
}

static hawser_status put_back(hw_worker *worker, hw_state_part *part, const void *values)
{
    (void)worker;
    part->unfilled = part->pending = false;
    if (part->work != NULL)
        memcpy(part->work, values, hw_part_size(part));
    if (part->copy != NULL)
        memcpy(part->copy, values, hw_part_size(part));
    return HAWSER_OK;
}

static void visit_values(hw_state_part *part, hawser_record *record)
{
    hawser_record_bytes(record, &part->unfilled, sizeof part->unfilled);
    if (part->work != NULL && !part->unfilled)
        hawser_record_bytes(record, part->work, hw_part_size(part));
    if (part->copy != NULL && !part->unfilled)
        hawser_record_bytes(record, part->copy, hw_part_size(part));
}

static void visit(hw_state_part *part, hawser_record *record)
{
    visit_values(part, record);
    hawser_record_bytes(record, &part->pending, sizeof part->pending);
    if (part->before != NULL && !part->unfilled)
        hawser_record_bytes(record, part->before, hw_part_size(part));
}

/* All is committed as a checkpoint is taken, and `before` is made anew by the next clock. */
static void remember(hw_worker *worker, hw_state_part *part, hawser_record *record)
{
    bool retired = part->retired;
    hawser_record_bytes(record, &retired, sizeof retired);
    if (hawser_record_reads(record) && retired && !part->retired) {
        part->retired = true;
        if (part->kind->retire != NULL)
            part->kind->retire(worker, part);
    }
    visit_values(part, record);
}

static void drop(hw_state_part *part)
{
    void *const arrays[] = {part->work, part->copy, part->before};
    for (size_t i = 0; !part->unfilled && i < sizeof arrays / sizeof *arrays; i++)
        if (arrays[i] != NULL)
            memset(arrays[i], 0xa5, hw_part_size(part));
    part->unfilled = !part->unfilled;
    part->pending = !part->pending;
}

const hw_part_kind hw_part_local = {.open = open_local,
                                    .commit = commit,
                                    .read = read_work,
                                    .write = write_work,
                                    .stage_memory = stage_memory,
                                    .roll_back = roll_back,
                                    .retire = retire,
                                    .take_share = take_share,
                                    .unchecked = true,
                                    .kept_count = hw_part_count,
                                    .keep = keep,
                                    .put_back = put_back,
                                    .visit = visit,
                                    .drop = drop,
                                    .remember = remember};
const hw_part_kind hw_part_entries = {.open = open_entries,
                                      .close = close_entries,
                                      .read = read_work,
                                      .write = write_work,
                                      .stage_memory = stage_memory,
                                      .take_share = take_share,
                                      .unchecked = true,
                                      .kept_count = hw_part_count,
                                      .keep = keep,
                                      .put_back = put_back,
                                      .visit = visit,
                                      .drop = drop,
                                      .remember = remember};
