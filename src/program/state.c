/* state.c - what the kinds of state have in common. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/type.h"
#include "hawser/kept_points.h"
#include "program/kind.h"
#include "store/table.h"

const char *hw_split_name(hawser_split split)
{
    static const char *const names[] = {"by column", "by row", "whole", "fetched"};
    return names[split];
}

hawser_state *hw_program_state(const hawser_program *program, const char *name)
{
    for (hawser_state *state = program->states; state != NULL; state = state->next)
        if (strcmp(state->name, name) == 0)
            return state;
    return NULL;
}

size_t hw_state_extent(const hawser_state *state)
{
    if (hw_kind_of(state)->lined && state->along != NULL)
        return hw_state_extent(state->along);
    if (state->matrix == NULL)
        return 0;
    return state->split == HAWSER_BY_ROW ? state->matrix->rows : state->matrix->cols;
}

size_t hw_state_size(const hawser_state *state)
{
    return hw_type_size(state->type);
}

size_t hw_state_bytes(const hawser_state *state)
{
    return hw_state_count(state) * hw_state_size(state);
}

const char *hw_type_name(hawser_type type)
{
    static const char *const names[] = {
        [HAWSER_F64] = "f64", [HAWSER_F32] = "f32", [HAWSER_I64] = "i64", [HAWSER_I32] = "i32"};
    return names[type];
}

bool hw_type_is_whole(hawser_type type)
{
    return type == HAWSER_I64 || type == HAWSER_I32;
}

bool hw_state_is_split(const hawser_state *state)
{
    return state->matrix != NULL && (state->split == HAWSER_BY_COLUMN || state->split == HAWSER_BY_ROW);
}

bool hw_state_is_of_blocks(const hawser_state *state)
{
    return hw_kind_of(state)->lined && state->along == NULL;
}

hawser_state *hw_state_new(hawser_program *program, const char *name, hw_state_kind kind)
{
    if (program == NULL || program->root == NULL)
        return NULL;
    if (name == NULL || *name == '\0') {
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, "a %s state has no name", hw_state_kind_name(kind));
        return NULL;
    }
    if (hw_program_state(program, name) != NULL) {
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, "two states are called '%s'; give each its own name", name);
        return NULL;
    }
    hawser_state *state = NULL;
    char *copy = NULL;
    hawser_error error = {0};
    if (HW_NEW(&state, 1, "a state", &error) != HAWSER_OK || hw_copy_text(&copy, name, &error) != HAWSER_OK) {
        hw_program_mistake(program, error.status, "%s", error.text);
        free(state);
        return NULL;
    }
    state->program = program;
    state->name = copy;
    state->kind = kind;
    state->number = program->state_count++;
    if (program->states_last != NULL)
        program->states_last->next = state;
    else
        program->states = state;
    program->states_last = state;
    return state;
}

void hawser_state_keep(hawser_state *state)
{
    if (state == NULL)
        return;
    if (!hw_kind_of(state)->numbers)
        hw_program_mistake(state->program, HAWSER_BAD_PROGRAM,
                           "hawser_state_keep: '%s' is a data state, which no kept point has", state->name);
    state->keeps = true;
}

void hawser_kept_points(hawser_program *program, uint32_t count)
{
    enum { MOST = 1 << 12 };
    if (program == NULL || program->root == NULL)
        return;
    if (count == 0 || count > MOST)
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, "hawser_kept_points: %u points; expected 1 to %d", count, MOST);
    program->points = count;
}

uint32_t hw_program_points(const hawser_program *program)
{
    for (const hawser_state *state = program->states; state != NULL; state = state->next)
        if (state->keeps)
            return program->points > 0 ? program->points : 1;
    return 0;
}

void hawser_result_expect(hawser_state *state)
{
    if (state == NULL)
        return;
    if (!hw_kind_of(state)->numbers)
        hw_program_mistake(state->program, HAWSER_BAD_PROGRAM,
                           "the result of state '%s' is expected to be fetched, but it is a data state, which has none",
                           state->name);
    else
        state->whole = true;
}

void hw_state_set_type(hawser_state *state, hawser_type type)
{
    if ((unsigned)type > HAWSER_I32)
        hw_program_mistake(state->program, HAWSER_BAD_PROGRAM, "state '%s': there is no type %d of numbers", state->name,
                           (int)type);
    else
        state->type = type;
}

bool hw_state_check_along(hawser_program *program, const char *name, const hawser_state *along)
{
    if (along->program == program && along->matrix != NULL)
        return true;
    hw_program_mistake(program, HAWSER_BAD_PROGRAM, "state '%s' is along '%s', which is no data state of this program", name,
                       along->name);
    return false;
}

hawser_state *hw_state_new_matrix(hawser_program *program, const char *name, hw_state_kind kind, hawser_type type,
                                  size_t rows, size_t cols, hawser_split split, hawser_state *along, const void *initial)
{
    bool by_row = split == HAWSER_BY_ROW;
    hawser_state *state = hw_state_new(program, name, kind);
    if (state == NULL)
        return NULL;
    hw_state_set_type(state, type);
    state->initial = initial;
    state->rule = (hawser_rule){.damping = 1, .gain = 1};
    state->width = by_row ? cols : rows;
    state->rows = rows;
    state->cols = cols;
    state->split = split;
    if (rows == 0 || cols == 0 || rows > SIZE_MAX / 16 / cols)
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, "state '%s' has an impossible size, %zu x %zu; set .rows and .cols",
                           name, rows, cols);
    else if (along != NULL && hw_state_check_along(program, name, along)) {
        state->along = along;
        size_t lines = by_row ? rows : cols;
        if (!hw_state_is_split(along) || hw_state_extent(along) != lines)
            hw_program_mistake(program, HAWSER_BAD_PROGRAM,
                               "%s state '%s' has %zu %s, which do not follow the split of '%s' (%s, %zu)",
                               hw_state_kind_name(kind), name, lines, by_row ? "rows" : "columns", along->name,
                               hw_split_name(along->split), hw_state_extent(along));
    }
    return state;
}

void hw_state_tie(hawser_state *local, hawser_state *replicated)
{
    if (!hw_kind_of(replicated)->summed || replicated->program != local->program)
        hw_program_mistake(local->program, HAWSER_BAD_PROGRAM,
                           "'%s' is tied to '%s', which is no replicated state of this program", local->name,
                           replicated->name);
    else if (replicated->rule.merge != NULL)
        hw_program_mistake(local->program, HAWSER_BAD_PROGRAM,
                           "'%s' is tied to '%s', whose own merge function has no damping to share", local->name,
                           replicated->name);
    else if (local->type != HAWSER_F64 || replicated->type != HAWSER_F64)
        hw_program_mistake(local->program, HAWSER_BAD_PROGRAM,
                           "'%s' of %s is tied to '%s' of %s; only states of f64 can be tied", local->name,
                           hw_type_name(local->type), replicated->name, hw_type_name(replicated->type));
    else
        local->tied_to = replicated;
}
