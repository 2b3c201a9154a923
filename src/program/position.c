/* position.c - positions as bytes, and the programs that they belong to. */
#include "program/position.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

static void visit(hawser_record *record, void *object)
{
    hw_position *position = object;
    hawser_record_bytes(record, position, offsetof(hw_position, gains));
    hawser_record_bytes(record, &position->states, sizeof *position - offsetof(hw_position, states));
    hawser_record_array(record, (void **)&position->gains, sizeof *position->gains, position->states, 0);
    hawser_record_array(record, (void **)&position->syncs, sizeof *position->syncs, position->operators, 0);
    hawser_record_array(record, (void **)&position->memory, 1, position->memory_size, 0);
    hawser_record_array(record, (void **)&position->branches, 1, position->branches_size, 0);
    hawser_record_array(record, (void **)&position->tests, 1, position->tests_size, 0);
    hawser_record_array(record, (void **)&position->frames, sizeof *position->frames, position->frame_count, 0);
    hawser_record_array(record, (void **)&position->quotas, sizeof *position->quotas, position->states, 0);
    hawser_record_array(record, (void **)&position->works, sizeof *position->works, position->work_count, 0);
    hawser_record_array(record, (void **)&position->points, 1, position->points_size, 0);
}

hawser_status hw_position_write(const hw_position *position, void **bytes, size_t *size, hawser_error *error)
{
    HAWSER_TRY(hawser_record_save(visit, position, bytes, size, error));
    uint64_t digest = hw_hash((char *)*bytes + sizeof digest, *size - sizeof digest, *size);
    memcpy(*bytes, &digest, sizeof digest);
    return HAWSER_OK;
}

hawser_status hw_position_read(const void *bytes, size_t size, hw_position **position, hawser_error *error)
{
    uint64_t digest = 0;
    if (size > sizeof digest)
        memcpy(&digest, bytes, sizeof digest);
    if (size <= sizeof digest || digest != hw_hash((const char *)bytes + sizeof digest, size - sizeof digest, size))
        return hawser_fail(error, HAWSER_BAD_INPUT, "the bytes of a position are damaged, or are none");
    HAWSER_TRY(HW_NEW(position, 1, "a position", error));
    hawser_status status = hawser_record_restore(visit, *position, bytes, size, error);
    if (status == HAWSER_OK)
        return HAWSER_OK;
    hw_position_free(*position);
    *position = NULL;
    return status;
}

void hw_position_free(hw_position *position)
{
    if (position == NULL)
        return;
    free(position->gains);
    free(position->syncs);
    free(position->memory);
    free(position->branches);
    free(position->tests);
    free(position->frames);
    free(position->quotas);
    free(position->works);
    free(position->points);
    free(position);
}

static uint64_t add_text(uint64_t digest, const char *text)
{
    return text != NULL ? hw_hash(text, strlen(text) + 1, digest) : digest + 1;
}

static uint64_t add_number(uint64_t digest, uint64_t number)
{
    return hw_hash(&number, sizeof number, digest);
}

static uint64_t add_double(uint64_t digest, double number)
{
    return hw_hash(&number, sizeof number, digest);
}

uint64_t hw_position_program(const hawser_program *program)
{
    uint64_t digest = add_number(1, program->tests_visit != NULL);
    for (const hawser_state *state = program->states; state != NULL; state = state->next)
        digest = add_double(
            add_number(add_number(add_text(digest, state->name), state->kind), state->type + 16 * state->by_value),
            state->rule.gain);
    for (size_t i = 0; i < program->operator_count; i++) {
        const hawser_operator *op = program->operators[i];
        digest = add_number(add_text(digest, op->name), op->kind);
        digest = add_number(digest, op->parent != NULL ? op->parent->number : UINT32_MAX);
        digest = add_number(add_number(digest, op->remembers), op->until.remembers);
        digest = add_number(add_number(digest, op->sync.tightness), op->sync.staleness);
    }
    for (uint32_t i = 0; i < program->metric_count; i++)
        digest = add_text(digest, program->metrics[i].name);
    return digest;
}

static hawser_status check_program(const hw_position *position, const hawser_program *program, hawser_error *error)
{
    if (position->program != hw_position_program(program) || position->states != program->state_count ||
        position->operators != program->operator_count)
        return hawser_fail(
            error, HAWSER_BAD_PROGRAM,
            "program '%s' goes on from a position of another program; operators, states and metrics, with their syncs "
            "and gains, must be the same",
            program->name);
    return HAWSER_OK;
}

static const hawser_operator *child_of(const hawser_operator *op, uint32_t number)
{
    const hawser_operator *child = op->first;
    while (child != NULL && child->number != number)
        child = child->next;
    return child;
}

hawser_status hw_position_fits(const hw_position *position, const hawser_program *program, hawser_error *error)
{
    HAWSER_TRY(check_program(position, program, error));
    const hawser_operator *op = program->root;
    uint64_t memory = 0;
    bool fits = true;
    for (uint64_t i = 0; i < position->frame_count && fits; i++) {
        const hw_path_frame *frame = &position->frames[i];
        fits = op != NULL && frame->op == op->number && frame->memory == op->until.remembers;
        memory += frame->memory;
        op = fits && frame->child != HW_NO_CHILD ? child_of(op, frame->child) : NULL;
    }
    if (!fits || op != NULL || position->frame_count == 0 || memory != position->memory_size)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the position of program '%s' is damaged", program->name);
    return HAWSER_OK;
}
