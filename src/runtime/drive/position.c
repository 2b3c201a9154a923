/* position.c - a run that ends between two iterations of a loop below the root, and one that goes on from there. */
#include "program/position.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/drive/driver.h"

hawser_status hw_position_open(hw_driver *driver, hawser_error *error)
{
    const hawser_program *program = driver->session->program;
    const hw_position *from = program->position;
    size_t children = 0;
    for (const hawser_operator *child = program->root->first; child != NULL; child = child->next)
        children++;
    if (from != NULL && (from->child > children || from->branches_size != driver->memories.size))
        return hawser_fail(error, HAWSER_BAD_INPUT, "the position of program '%s' is damaged", program->name);
    HAWSER_TRY(HW_NEW(&driver->begun, children, "where a run stands", error));
    if (from != NULL && from->child > 0)
        memcpy(driver->begun, from->begun, from->child * sizeof *from->begun);
    return HAWSER_OK;
}

hawser_status hw_position_enter(hw_driver *driver)
{
    driver->from = driver->session->program->position;
    hw_position_take(driver, driver->from, true);
    return hw_position_take_tests(driver, driver->from);
}

hawser_status hw_position_begin(hw_driver *driver, const hawser_operator *loop, hw_until *until)
{
    const hw_position *from = driver->from;
    driver->from = NULL;
    if (hw_record_until(driver, until))
        return driver->error.status;
    if (from == NULL || from->clock == 0 || loop->parent != driver->session->program->root) {
        hw_memories_clear(driver, loop);
        return HAWSER_OK;
    }
    if (from->memory_size != loop->until.remembers)
        return hawser_fail(&driver->error, HAWSER_BAD_INPUT, "the position of loop '%s' is damaged", loop->name);
    until->first = from->clock;
    until->shown = from->shown;
    until->began -= from->seconds;
    until->previous = from->previous;
    until->best = from->best;
    until->since_best = from->since_best;
    until->seen = from->seen != 0;
    if (from->memory_size > 0)
        memcpy(until->memory, from->memory, from->memory_size);
    return HAWSER_OK;
}

void hw_position_count(hw_driver *driver, const hawser_operator *loop, uint64_t clocks, bool ended)
{
    const hawser_program *program = driver->session->program;
    if (loop->parent != program->root)
        return;
    driver->whole = ended;
    driver->outer += clocks;
    if (!ended && program->pause != 0 && driver->outer >= program->pause && driver->stopping == NULL)
        driver->stopping = "pause";
}

uint64_t hw_position_left(const hw_driver *driver, const hawser_operator *loop)
{
    const hawser_program *program = driver->session->program;
    return program->pause != 0 && loop->parent == program->root ? program->pause - driver->outer : UINT64_MAX;
}

static hawser_status copy_arrays(hw_position *position, hw_driver *driver, const hw_until *until, const char *branches)
{
    hawser_error *error = &driver->error;
    HAWSER_TRY(hw_position_array(&position->begun, driver->begun, position->child, sizeof *position->begun, error));
    if (until != NULL)
        HAWSER_TRY(hw_position_array(&position->memory, until->memory, position->memory_size, 1, error));
    return hw_position_copy(driver, branches, position);
}

hawser_status hw_position_keep(hw_driver *driver, const hw_until *until, uint64_t clock, uint64_t entries,
                               const char *branches)
{
    const hawser_program *program = driver->session->program;
    hw_executor *executor = driver->session->executor;
    if (driver->stands != NULL || program->pause == 0)
        return HAWSER_OK;
    HAWSER_TRY(hw_policies_settle(driver, clock));
    hw_position *position = NULL;
    HAWSER_TRY(HW_NEW(&position, 1, "where a run stands", &driver->error));
    *position = (hw_position){.program = hw_position_program(program),
                              .child = driver->child,
                              .clock = clock,
                              .entries = entries,
                              .clocks = driver->clocks,
                              .states = program->state_count,
                              .operators = program->operator_count,
                              .branches_size = driver->memories.size};
    memcpy(position->metrics, driver->metrics, sizeof position->metrics);
    memcpy(position->shown, driver->shown, sizeof position->shown);
    if (until != NULL) {
        position->seconds = executor->ops->now(executor) - until->began;
        position->previous = until->previous;
        position->best = until->best;
        position->since_best = until->since_best;
        position->seen = until->seen;
        position->memory_size = until->until->remembers;
    }
    driver->stands = position;
    return copy_arrays(position, driver, until, branches);
}

hawser_status hw_position_between(hw_driver *driver, const hawser_operator *child, bool *over)
{
    uint64_t pause = driver->session->program->pause;
    bool whole = driver->whole; /* it has ended by itself */
    driver->whole = false;
    *over = pause != 0 && driver->stopping != NULL;
    if (child->kind != HW_LOOP || !whole || (!*over && (child->next == NULL || pause == 0 || driver->outer < pause)))
        return HAWSER_OK;
    driver->child++;
    HAWSER_TRY(hw_position_keep(driver, NULL, 0, driver->entries, driver->memories.bytes));
    if (driver->stopping == NULL)
        driver->stopping = "pause";
    *over = true;
    return HAWSER_OK;
}

hawser_status hw_position_result(const hw_driver *driver, void **bytes, size_t *size, hawser_error *error)
{
    if (driver->stands == NULL || driver->abandoned)
        return HAWSER_OK;
    return hw_position_write(driver->stands, bytes, size, error);
}

void hw_position_close(hw_driver *driver)
{
    free(driver->begun);
    hw_position_free(driver->stands);
}
