#include "runtime/job/first_values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/memory.h"
#include "base/option_value.h"
#include "exchange/numbers.h"
#include "program/kind.h"
#include "store/table.h"

static hawser_status copy(char **out, const char *text, size_t length, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(out, length + 1, "the name of a file", error));
    memcpy(*out, text, length);
    return HAWSER_OK;
}

hawser_status hw_first_open(hw_first_values *first, const hawser_options *options, hawser_error *error)
{
    const char *text = hw_option_text(options, "init");
    first->source = hawser_options_source(options, "init", NULL);
    hw_option_path item;
    size_t capacity = 0;
    for (const char *rest = text; rest != NULL && hw_option_next_path(&rest, &item);) {
        if (item.state_length == 0) {
            first->model = true;
            continue;
        }
        HAWSER_TRY(HW_GROW(&first->items, &capacity, first->count + 1, "the files of states", error));
        hw_first_value *value = &first->items[first->count++];
        *value = (hw_first_value){0};
        HAWSER_TRY(copy(&value->state, item.state, item.state_length, error));
        HAWSER_TRY(copy(&value->path, item.path, item.path_length, error));
    }
    return HAWSER_OK;
}

void hw_first_free(hw_first_values *first)
{
    for (size_t i = 0; i < first->count; i++) {
        hw_number_file_close(&first->items[i].file);
        free(first->items[i].state);
        free(first->items[i].path);
    }
    free(first->items);
    *first = (hw_first_values){0};
}

hw_first_value *hw_first_find(const hw_first_values *first, const char *name)
{
    for (size_t i = 0; name != NULL && i < first->count; i++)
        if (strcmp(first->items[i].state, name) == 0)
            return &first->items[i];
    return NULL;
}

/* Returns why a state cannot begin with the numbers of a file; NULL: it can. */
static const char *refusal(const hw_plan *plan, const hawser_state *state)
{
    if (!hw_kind_of(state)->numbers)
        return "is data, which comes from the input";
    if (state->rebuild != NULL)
        return "is derived from other states when a loop begins (.derive); start those";
    if (plan->states[state->number].life.first == UINT32_MAX)
        return "is used by no unit of the program";
    if (state->function != NULL && strcmp(state->function->name, "add") != 0)
        return "begins at zero: of stored states that all blocks change only those with \"add\" can begin elsewhere";
    return NULL;
}

/* Returns the shape in which the numbers of a state are in memory. */
static hw_numbers_wanted shape_of(const hawser_state *state, uint32_t blocks)
{
    hw_numbers_wanted wanted = {
        .type = state->type, .rows = state->rows, .cols = state->cols, .by_row = state->split == HAWSER_BY_ROW};
    if (hw_kind_of(state)->lined) {
        wanted.rows = hw_state_count(state) / state->width * (hw_state_is_of_blocks(state) ? blocks : 1);
        wanted.cols = state->width;
        wanted.by_row = true;
    }
    return wanted;
}

static hawser_status read(uint32_t blocks, hw_plan *plan, const hawser_state *state, hw_first_value *value,
                          hawser_error *error)
{
    const hw_numbers *numbers = hw_numbers_of(state->type);
    hw_numbers_wanted wanted = shape_of(state, blocks);
    size_t count = wanted.rows * wanted.cols;
    hawser_error own = {0};
    hawser_status status = hw_number_file_read(value->path, &wanted, &value->file, &own);
    if (status != HAWSER_OK)
        return hawser_fail(error, status, "--init: %s state '%s' of %s cannot begin with this file: %s",
                           hw_state_kind_name(state->kind), state->name, numbers->name, own.text);
    size_t bad = numbers->first_not_finite(value->file.values, count);
    if (bad < count) {
        char text[HW_NUMBER_TEXT];
        numbers->text(value->file.values, bad, text);
        return hawser_fail(error, HAWSER_NOT_FINITE, "--init: %s: number %zu, for state '%s', is %s; all must be finite",
                           value->path, bad, state->name, text);
    }
    hw_state_plan *own_plan = &plan->states[state->number];
    own_plan->loaded = value->file.values;
    own_plan->loaded_from = value->path;
    own_plan->loaded_digest =
        (numbers->size == sizeof(uint64_t) ? hw_digest_64 : hw_digest_32)(value->file.values, count, 0);
    plan->memory_loaded += value->file.own_bytes;
    return HAWSER_OK;
}

hawser_status hw_first_read(hw_first_values *first, uint32_t blocks, hw_plan *plan, hawser_error *error)
{
    bool noted = first->source == HAWSER_FROM_FILE || first->source == HAWSER_FROM_ENVIRONMENT;
    first->note[0] = '\0';
    for (size_t i = 0; i < first->count; i++) {
        hw_first_value *value = &first->items[i];
        const hawser_state *state = value->used ? NULL : hw_program_state(plan->program, value->state);
        const char *why = state != NULL ? refusal(plan, state) : NULL;
        if (why != NULL && noted) {
            (void)snprintf(first->note, sizeof first->note, "state '%.80s' %s", state->name, why);
            value->used = true;
        } else if (why != NULL)
            return hawser_fail(error, HAWSER_BAD_OPTION, "--init does nothing here: state '%s' %s", state->name, why);
        else if (state != NULL)
            HAWSER_TRY(read(blocks, plan, state, value, error));
    }
    return HAWSER_OK;
}

void hw_first_release(hw_first_values *first, hw_plan *plan, bool used)
{
    for (size_t i = 0; i < first->count; i++) {
        hw_first_value *value = &first->items[i];
        const hawser_state *state = hw_program_state(plan->program, value->state);
        bool loaded = state != NULL && plan->states[state->number].loaded_from == value->path;
        if (loaded)
            plan->states[state->number].loaded = NULL;
        value->used |= used && loaded;
        hw_number_file_close(&value->file);
    }
}

bool hw_first_lacks(const hw_first_values *first, const hawser_program *program, char *why, size_t size)
{
    for (size_t i = 0; i < first->count; i++) {
        const hw_first_value *value = &first->items[i];
        if (value->used || hw_program_state(program, value->state) != NULL)
            continue;
        size_t used = (size_t)snprintf(why, size, "the program has no state '%.80s'", value->state);
        const char *before = "; states: ";
        for (const hawser_state *state = program->states; state != NULL && used < size; state = state->next)
            if (hw_kind_of(state)->numbers) {
                used += (size_t)snprintf(why + used, size - used, "%s%s", before, state->name);
                before = ", ";
            }
        return true;
    }
    return false;
}
