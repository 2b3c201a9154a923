/* part_entries.c - a block's part of an entries state: the numbers of the entries of its rows, which no other block sees. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "program/entries.h"
#include "runtime/block/part.h"

static hawser_status open_part(hw_worker *worker, hw_state_part *part, hawser_error *error)
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

static void close_part(hw_state_part *part)
{
    free(part->lines);
}

static size_t bytes_of(const hw_state_part *part)
{
    return part->count * hw_state_size(part->state);
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

static void *stage_memory(hw_state_part *part, size_t *bytes)
{
    *bytes = bytes_of(part);
    return part->work;
}

static hawser_status take_share(hw_worker *worker, hw_state_part *part, bool abandoned, void **values, hawser_error *error)
{
    (void)worker, (void)abandoned, (void)error;
    *values = part->work;
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
    memcpy(values, part->work, bytes_of(part));
    return HAWSER_OK;
}

static hawser_status put_back(hw_worker *worker, hw_state_part *part, const void *values)
{
    (void)worker;
    part->unfilled = false;
    memcpy(part->work, values, bytes_of(part));
    return HAWSER_OK;
}

static void visit(hw_state_part *part, hawser_record *record)
{
    hawser_record_bytes(record, &part->unfilled, sizeof part->unfilled);
    if (!part->unfilled)
        hawser_record_bytes(record, part->work, bytes_of(part));
}

static void drop(hw_state_part *part)
{
    if (!part->unfilled)
        memset(part->work, 0xa5, bytes_of(part));
    part->unfilled = !part->unfilled;
}

const hw_part_kind hw_part_entries = {.open = open_part,
                                      .close = close_part,
                                      .read = read_work,
                                      .write = write_work,
                                      .stage_memory = stage_memory,
                                      .take_share = take_share,
                                      .unchecked = true,
                                      .kept_count = kept_count,
                                      .keep = keep,
                                      .put_back = put_back,
                                      .visit = visit,
                                      .drop = drop};
