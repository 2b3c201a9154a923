/* position.c - what the driver copies into a position, and takes from one: of checkpoints (record.c) and of --rehearse. */
#include <string.h>

#include "base/memory.h"
#include "program/position.h"
#include "runtime/drive/driver.h"

hawser_status hw_position_array(void *out, const void *from, size_t count, size_t size, hawser_error *error)
{
    void **made = out;
    HAWSER_TRY(hw_new_array(made, count, size, "where a run stands", error));
    if (count > 0)
        memcpy(*made, from, count * size);
    return HAWSER_OK;
}

hawser_status hw_position_copy(hw_driver *driver, const char *branches, hw_position *position)
{
    const hawser_program *program = driver->session->program;
    hawser_error *error = &driver->error;
    HAWSER_TRY(hw_position_array(&position->gains, driver->gains, position->states, sizeof *position->gains, error));
    HAWSER_TRY(hw_position_array(&position->syncs, driver->syncs, position->operators, sizeof *position->syncs, error));
    HAWSER_TRY(hw_knobs_save(driver, position, error));
    HAWSER_TRY(hw_position_array(&position->branches, branches, position->branches_size, 1, error));
    if (program->tests_visit == NULL)
        return HAWSER_OK;
    void *tests = NULL;
    size_t size = 0;
    HAWSER_TRY(hawser_record_save(program->tests_visit, program->tests_object, &tests, &size, error));
    position->tests = tests;
    position->tests_size = size;
    return HAWSER_OK;
}

void hw_position_take(hw_driver *driver, const hw_position *from, bool told)
{
    const hawser_program *program = driver->session->program;
    driver->entries = from->entries;
    driver->clocks = from->clocks;
    memcpy(driver->metrics, from->metrics, sizeof driver->metrics);
    memcpy(driver->shown, from->shown, sizeof driver->shown); /* a run that ends before its first clock passes them on */
    memcpy(driver->gains, from->gains, program->state_count * sizeof *driver->gains);
    memcpy(driver->syncs, from->syncs, program->operator_count * sizeof *driver->syncs);
    if (told) {
        memcpy(driver->policies.gains, from->gains, program->state_count * sizeof *driver->gains);
        memcpy(driver->policies.syncs, from->syncs, program->operator_count * sizeof *driver->syncs);
    }
    hw_knobs_restore(driver, from, told);
    if (from->branches_size > 0)
        memcpy(driver->memories.bytes, from->branches, from->branches_size);
}

void hw_until_take(hw_until *until, const hw_path_frame *frame, const char *memory, double now)
{
    until->began = now - frame->seconds;
    until->previous = frame->previous;
    until->best = frame->best;
    until->since_best = frame->since_best;
    until->seen = frame->seen != 0;
    if (frame->memory > 0)
        memcpy(until->memory, memory, frame->memory);
}

void hw_position_take_run(hw_driver *driver, const hw_position *from)
{
    driver->bytes = from->bytes;
    driver->staleness = from->staleness;
    driver->points.sent = from->points_sent;
    driver->points.returned = from->points_returned;
    if (from->points_size > 0)
        memcpy(driver->points.last, from->points, from->points_size);
}

hawser_status hw_position_take_tests(hw_driver *driver, const hw_position *from)
{
    const hawser_program *program = driver->session->program;
    if (program->tests_visit == NULL)
        return HAWSER_OK;
    return hawser_record_restore(program->tests_visit, program->tests_object, from->tests, from->tests_size, &driver->error);
}
