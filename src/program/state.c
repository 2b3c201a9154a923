/* state.c - makes the five kinds of state. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/layout.h"
#include "base/memory.h"
#include "base/type.h"
#include "codec/forms.h"
#include "exchange/filters.h"
#include "linalg/sound.h"
#include "program/program.h"
#include "store/table.h"

const char *hw_state_kind_name(hw_state_kind kind)
{
    static const char *const names[] = {"data", "replicated", "partitioned", "local", "stored"};
    return names[kind];
}

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
    if (state->kind == HW_LOCAL && state->along != NULL)
        return hw_state_extent(state->along);
    if (state->kind != HW_DATA)
        return 0;
    return state->split == HAWSER_BY_ROW ? state->matrix->rows : state->matrix->cols;
}

size_t hw_state_count(const hawser_state *state)
{
    switch (state->kind) {
    case HW_DATA: return 0;
    case HW_STORED:
    case HW_REPLICATED:
    case HW_PARTITIONED: return state->rows * state->cols;
    case HW_LOCAL: return hw_state_is_of_blocks(state) ? state->rows : state->rows * hw_state_extent(state);
    }
    return 0;
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
    return state->kind == HW_DATA && (state->split == HAWSER_BY_COLUMN || state->split == HAWSER_BY_ROW);
}

bool hw_state_is_exchanged(const hawser_state *state)
{
    return state->kind == HW_REPLICATED || state->kind == HW_PARTITIONED;
}

bool hw_state_is_kept(const hawser_state *state)
{
    return state->kind == HW_LOCAL || state->kind == HW_STORED;
}

bool hw_state_is_of_blocks(const hawser_state *state)
{
    return state->kind == HW_LOCAL && state->along == NULL;
}

/* Adds a state to the end of the program's list. Returns NULL, and stores the mistake, if it cannot. */
static hawser_state *add(hawser_program *program, const char *name, hw_state_kind kind)
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

hawser_state *hawser_data_state(hawser_program *program, const char *name, const hawser_matrix *matrix, hawser_split split)
{
    hawser_state *state = add(program, name, HW_DATA);
    if (state == NULL)
        return NULL;
    state->matrix = matrix;
    state->split = split;
    if (matrix == NULL) {
        static const hawser_matrix none;
        state->matrix = &none;
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, "data state '%s' has no matrix", name);
    } else if (hw_matrix_wrong(matrix) != NULL)
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, "data state '%s': its matrix %s", name, hw_matrix_wrong(matrix));
    else if ((unsigned)split > HAWSER_FETCHED)
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, "data state '%s': there is no split %d", name, (int)split);
    else if (split == HAWSER_BY_COLUMN && hw_is_by_row(matrix))
        hw_program_mistake(program, HAWSER_BAD_PROGRAM,
                           "data state '%s' is split by column, but its matrix is stored by rows (%s)", name,
                           matrix->layout == HAWSER_CSR ? "CSR" : "HAWSER_DENSE_ROWS");
    else if (split == HAWSER_BY_ROW && matrix->layout == HAWSER_CSC)
        hw_program_mistake(program, HAWSER_BAD_PROGRAM,
                           "data state '%s' is split by row, but its matrix is stored by columns (CSC)", name);
    return state;
}

void hawser_data_costs(hawser_state *data, const double *costs)
{
    if (data == NULL)
        return;
    if (!hw_state_is_split(data))
        hw_program_mistake(data->program, HAWSER_BAD_PROGRAM,
                           "state '%s' has costs of columns or rows, but is no split data state", data->name);
    else
        data->costs = costs;
}

void hawser_state_expect(hawser_state *state, size_t entries)
{
    if (state == NULL)
        return;
    bool fetched = state->kind == HW_DATA && state->split == HAWSER_FETCHED;
    if (state->kind != HW_REPLICATED && state->kind != HW_PARTITIONED && !fetched)
        hw_program_mistake(state->program, HAWSER_BAD_PROGRAM,
                           "state '%s' is expected to use %zu entries, but is neither replicated nor partitioned, and its "
                           "columns are not fetched",
                           state->name, entries);
    else
        state->expected = entries;
}

void hawser_result_expect(hawser_state *state)
{
    if (state == NULL)
        return;
    if (state->kind == HW_DATA)
        hw_program_mistake(state->program, HAWSER_BAD_PROGRAM,
                           "the result of state '%s' is expected to be fetched, but it is a data state, which has none",
                           state->name);
    else
        state->whole = true;
}

/* Stores the type of a state; one that does not exist is a mistake. */
static void set_type(hawser_state *state, hawser_type type)
{
    if ((unsigned)type > HAWSER_I32)
        hw_program_mistake(state->program, HAWSER_BAD_PROGRAM, "state '%s': there is no type %d of numbers", state->name,
                           (int)type);
    else
        state->type = type;
}

static void check_rule(const hawser_state *state)
{
    const hawser_rule *rule = &state->rule;
    if (!(rule->damping >= 0) || !isfinite(rule->damping) || !(rule->gain >= 0) || !isfinite(rule->gain))
        hw_program_mistake(state->program, HAWSER_BAD_PROGRAM,
                           "state '%s' has damping %g and gain %g; both must be above zero", state->name, rule->damping,
                           rule->gain);
    else if (hw_type_is_whole(state->type) && (rule->damping != 1 || rule->gain != 1 || rule->merge != NULL))
        hw_program_mistake(
            state->program, HAWSER_BAD_PROGRAM,
            "state '%s' is of %s, whose updates are added up exactly: it can have no %s; leave it out, or make "
            "the state of f64",
            state->name, hw_type_name(state->type),
            rule->merge != NULL  ? "merge function"
            : rule->damping != 1 ? "damping"
                                 : "gain");
}

hawser_state *hawser_replicated_state(hawser_program *program, const char *name, size_t rows, size_t cols,
                                      const double *initial, hawser_rule rule)
{
    return hawser_replicated_state_of(program, name, HAWSER_F64, rows, cols, initial, rule);
}

hawser_state *hawser_replicated_state_of(hawser_program *program, const char *name, hawser_type type, size_t rows,
                                         size_t cols, const void *initial, hawser_rule rule)
{
    hawser_state *state = add(program, name, HW_REPLICATED);
    if (state == NULL)
        return NULL;
    set_type(state, type);
    state->rows = rows;
    state->cols = cols;
    state->initial = initial;
    state->rule = rule;
    if (state->rule.damping == 0)
        state->rule.damping = 1;
    if (state->rule.gain == 0)
        state->rule.gain = 1;
    if (rows == 0 || cols == 0 || rows > SIZE_MAX / 16 / cols)
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, "state '%s' has an impossible size, %zu x %zu", name, rows, cols);
    check_rule(state);
    return state;
}

static bool check_along(hawser_program *program, const char *name, const hawser_state *along)
{
    if (along->program == program && along->kind == HW_DATA)
        return true;
    hw_program_mistake(program, HAWSER_BAD_PROGRAM, "state '%s' is along '%s', which is no data state of this program", name,
                       along->name);
    return false;
}

/* Adds a state of `lines` x `width` numbers, whose lines are shared out to blocks. */
static hawser_state *add_lines(hawser_program *program, const char *name, hw_state_kind kind, hawser_type type, size_t lines,
                               size_t width, const void *initial)
{
    hawser_state *state = add(program, name, kind);
    if (state == NULL)
        return NULL;
    set_type(state, type);
    state->rows = lines;
    state->cols = state->width = width;
    state->split = HAWSER_BY_ROW;
    state->initial = initial;
    state->rule = (hawser_rule){.damping = 1, .gain = 1};
    return state;
}

/* Adds a state of `count` numbers. If it is along a data state, each column or row of that has equally many. */
static hawser_state *add_shared_out(hawser_program *program, const char *name, hw_state_kind kind, hawser_type type,
                                    size_t count, hawser_state *along, const void *initial)
{
    hawser_state *state = add_lines(program, name, kind, type, count, 1, initial);
    if (state == NULL)
        return NULL;
    if (count == 0 || count > SIZE_MAX / 16)
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, "state '%s' has an impossible size, %zu", name, count);
    if (along != NULL && check_along(program, name, along)) {
        state->along = along;
        size_t extent = hw_state_extent(along);
        if (!hw_state_is_split(along) || extent == 0 || count % extent != 0)
            hw_program_mistake(program, HAWSER_BAD_PROGRAM,
                               "%s state '%s' has %zu numbers, which do not follow the split of '%s' (%zu)",
                               hw_state_kind_name(kind), name, count, along->name, extent);
        else
            state->width = count / extent;
    }
    return state;
}

hawser_state *hawser_partitioned_state(hawser_program *program, const char *name, size_t count, hawser_state *along,
                                       const double *initial)
{
    return add_shared_out(program, name, HW_PARTITIONED, HAWSER_F64, count, along, initial);
}

hawser_state *hawser_partitioned_state_of(hawser_program *program, const char *name, hawser_type type, size_t count,
                                          hawser_state *along, const void *initial)
{
    return add_shared_out(program, name, HW_PARTITIONED, type, count, along, initial);
}

/* Adds a state of rows x cols numbers. Blocks have whole rows, or whole columns. */
static hawser_state *add_matrix(hawser_program *program, const char *name, hw_state_kind kind, hawser_type type, size_t rows,
                                size_t cols, hawser_split split, hawser_state *along, const void *initial)
{
    bool by_row = split == HAWSER_BY_ROW;
    hawser_state *state = add_lines(program, name, kind, type, by_row ? rows : cols, by_row ? cols : rows, initial);
    if (state == NULL)
        return NULL;
    state->rows = rows;
    state->cols = cols;
    state->split = split;
    if (rows == 0 || cols == 0 || rows > SIZE_MAX / 16 / cols)
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, "state '%s' has an impossible size, %zu x %zu", name, rows, cols);
    else if (!by_row && split != HAWSER_BY_COLUMN)
        hw_program_mistake(program, HAWSER_BAD_PROGRAM,
                           "state '%s' cannot be partitioned by split %d; use HAWSER_BY_ROW or HAWSER_BY_COLUMN", name,
                           (int)split);
    else if (along != NULL && check_along(program, name, along)) {
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

hawser_state *hawser_partitioned_matrix(hawser_program *program, const char *name, hawser_type type, size_t rows,
                                        size_t cols, hawser_split split, hawser_state *along, const void *initial)
{
    return add_matrix(program, name, HW_PARTITIONED, type, rows, cols, split, along, initial);
}

hawser_state *hawser_stored_state(hawser_program *program, const char *name, size_t count, hawser_state *along,
                                  const double *initial, const char *function, const double *parameters)
{
    return hawser_stored_state_of(program, name, HAWSER_F64, count, along, initial, function, parameters);
}

/* The store has no tables of i32. It adds integers modulo 2^64, as counters, but a state never wraps around. */
static void check_stored_type(const hawser_state *state)
{
    const hw_function *function = state->function;
    hawser_type type = state->type;
    if (type == HAWSER_I32)
        hw_program_mistake(state->program, HAWSER_BAD_PROGRAM,
                           "stored state '%s' is of i32, which the store does not keep; make it of i64", state->name);
    else if (type == HAWSER_I64 && function != NULL && (function->adds || function->types != 0))
        hw_program_mistake(
            state->program, HAWSER_BAD_PROGRAM,
            "stored state '%s' is of i64, which function '%s' cannot change%s; use \"max\" or \"assign\", or make it "
            "of f64",
            state->name, function->name, function->adds ? " without a risk of wrapping around" : "");
}

/* Sets what changes a stored state: one writer per share (NULL), or all blocks through a function of the store. */
static hawser_state *set_function(hawser_state *state, const char *function, const double *parameters)
{
    if (state == NULL)
        return NULL;
    hawser_program *program = state->program;
    const char *name = state->name;
    state->function = function != NULL ? hw_function_find(function) : NULL;
    check_stored_type(state);
    if (function == NULL)
        return state;
    if (state->function == NULL) {
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, "stored state '%s': the store has no function '%s'", name, function);
        return state;
    }
    if (state->initial != NULL && strcmp(function, "add") != 0)
        hw_program_mistake(program, HAWSER_BAD_PROGRAM,
                           "stored state '%s' begins at zero: only one that is added to can begin elsewhere, not by '%s'",
                           name, function);
    if (parameters != NULL)
        memcpy(state->parameters, parameters, state->function->parameters * sizeof *parameters);
    char text[400];
    const char *wrong = hw_function_wrong(state->function, state->parameters, text, sizeof text);
    if (wrong != NULL)
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, "stored state '%s': function %s", name, wrong);
    return state;
}

hawser_state *hawser_stored_state_of(hawser_program *program, const char *name, hawser_type type, size_t count,
                                     hawser_state *along, const void *initial, const char *function,
                                     const double *parameters)
{
    return set_function(add_shared_out(program, name, HW_STORED, type, count, along, initial), function, parameters);
}

hawser_state *hawser_stored_matrix(hawser_program *program, const char *name, hawser_type type, size_t rows, size_t cols,
                                   hawser_split split, hawser_state *along, const void *initial, const char *function,
                                   const double *parameters)
{
    return set_function(add_matrix(program, name, HW_STORED, type, rows, cols, split, along, initial), function, parameters);
}

hawser_state *hawser_local_state(hawser_program *program, const char *name, hawser_state *along, size_t width,
                                 const double *initial)
{
    return hawser_local_state_of(program, name, HAWSER_F64, along, width, initial);
}

hawser_state *hawser_local_state_of(hawser_program *program, const char *name, hawser_type type, hawser_state *along,
                                    size_t width, const void *initial)
{
    hawser_state *state = add(program, name, HW_LOCAL);
    if (state == NULL)
        return NULL;
    set_type(state, type);
    state->rows = state->width = width;
    state->cols = 1;
    state->initial = initial;
    if (along == NULL) {
        hw_program_mistake(program, HAWSER_BAD_PROGRAM,
                           "local state '%s' is along no data state; use hawser_block_state for one that data do not shape",
                           name);
        return state;
    }
    if (!check_along(program, name, along))
        return state;
    state->along = along;
    if (!hw_state_is_split(along))
        hw_program_mistake(program, HAWSER_BAD_PROGRAM,
                           "local state '%s' is along '%s', which is not split: every block would own all of it", name,
                           along->name);
    size_t extent = hw_state_extent(along);
    if (width == 0 || (extent != 0 && width > SIZE_MAX / 16 / extent))
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, "local state '%s' has an impossible width, %zu", name, width);
    return state;
}

hawser_state *hawser_block_state(hawser_program *program, const char *name, hawser_type type, size_t count,
                                 const void *initial, uint32_t blocks)
{
    hawser_state *state = add(program, name, HW_LOCAL);
    if (state == NULL)
        return NULL;
    set_type(state, type);
    state->rows = state->width = count;
    state->cols = 1;
    state->initial = initial;
    state->initial_parts = initial != NULL ? blocks : 0;
    if (count == 0 || count > SIZE_MAX / 16)
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, "local state '%s' has an impossible size, %zu", name, count);
    return state;
}

void hawser_tie(hawser_state *local, hawser_state *replicated)
{
    if (local == NULL || replicated == NULL)
        return;
    if (local->kind != HW_LOCAL)
        hw_program_mistake(local->program, HAWSER_BAD_PROGRAM, "only a local state can be tied; '%s' is %s", local->name,
                           hw_state_kind_name(local->kind));
    else if (replicated->kind != HW_REPLICATED || replicated->program != local->program)
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

void hawser_derive(hawser_state *replicated, hawser_unit_function *rebuild)
{
    if (replicated == NULL)
        return;
    if (replicated->kind != HW_REPLICATED || rebuild == NULL)
        hw_program_mistake(replicated->program, HAWSER_BAD_PROGRAM,
                           "'%s' cannot be derived: that takes a replicated state and a function that rebuilds it",
                           replicated->name);
    replicated->rebuild = rebuild;
}

void hawser_encoding(hawser_state *replicated, hawser_form form)
{
    if (replicated == NULL)
        return;
    if (replicated->kind != HW_REPLICATED || hw_form_row_of((unsigned)form) == NULL)
        hw_program_mistake(
            replicated->program, HAWSER_BAD_PROGRAM,
            "'%s' cannot be sent in form %d: only deltas of a replicated state are rounded, to bf16, f16 or int8",
            replicated->name, (int)form);
    else if (form != HAWSER_EXACT && hw_type_is_whole(replicated->type))
        hw_program_mistake(replicated->program, HAWSER_BAD_PROGRAM,
                           "state '%s' is of %s, which is sent exactly: it cannot be rounded (hawser_encoding, --encoding)",
                           replicated->name, hw_type_name(replicated->type));
    else
        replicated->form = form;
}

void hawser_state_filter(hawser_state *replicated, const char *filter, uint64_t quota, uint64_t max_held)
{
    if (replicated == NULL)
        return;
    const char *name = replicated->name, *word = filter != NULL ? filter : "(NULL)";
    hw_filter_kind kind = hw_filter_find(word);
    if (replicated->kind != HW_REPLICATED)
        hw_program_mistake(
            replicated->program, HAWSER_BAD_PROGRAM,
            "'%s' is %s and cannot have a filter (hawser_state_filter): only deltas of a replicated state are "
            "held back",
            name, hw_state_kind_name(replicated->kind));
    else if (kind == HW_FILTER_NONE && strcmp(word, "none") != 0)
        hw_program_mistake(replicated->program, HAWSER_BAD_PROGRAM,
                           "state '%s': there is no filter '%s' (hawser_state_filter); use one of %s", name, word,
                           HW_ROWS_BOUNDS(HW_FILTERS));
    else if ((kind == HW_FILTER_NONE) != (quota == 0) || (kind == HW_FILTER_NONE && max_held > 0))
        hw_program_mistake(replicated->program, HAWSER_BAD_PROGRAM,
                           "state '%s': filter '%s' with a quota of %" PRIu64 " and max_held %" PRIu64
                           " does nothing (hawser_state_filter): a filter needs a quota above 0, and 'none' has neither",
                           name, word, quota, max_held);
    else {
        replicated->filter = (hw_filter){.kind = kind, .quota = quota, .max_held = max_held};
        replicated->filter_set = true;
    }
}
