/* operator.c - programs, units and the operators that order them. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "program/kind.h"
#include "program/moving.h"

void hw_program_mistake(hawser_program *program, hawser_status status, const char *format, ...)
{
    if (program->mistake.status != HAWSER_OK)
        return;
    va_list arguments;
    va_start(arguments, format);
    program->mistake.status = status;
    program->mistake_where = program->where;
    vsnprintf(program->mistake.text, sizeof program->mistake.text, format, arguments);
    va_end(arguments);
}

static void free_operator(hawser_operator *op)
{
    if (op == NULL)
        return;
    free(op->name);
    free(op->reads);
    free(op->updates);
    free(op);
}

/* Makes an operator. `name` may be NULL. */
static hawser_operator *make(hawser_program *program, hw_operator_kind kind, const char *name)
{
    hawser_operator *op = NULL;
    hawser_error error = {0};
    if (HW_GROW(&program->operators, &program->operator_capacity, program->operator_count + 1, "operators", &error) !=
            HAWSER_OK ||
        HW_NEW(&op, 1, "an operator", &error) != HAWSER_OK)
        goto fail;
    if (name != NULL && hw_copy_text(&op->name, name, &error) != HAWSER_OK)
        goto fail;
    op->program = program;
    op->kind = kind;
    op->number = (uint32_t)program->operator_count;
    program->operators[program->operator_count++] = op;
    return op;
fail:
    hw_program_mistake(program, error.status, "%s", error.text);
    free_operator(op);
    return NULL;
}

static hawser_operator *add(hawser_operator *parent, hw_operator_kind kind, const char *name)
{
    if (parent == NULL)
        return NULL;
    hawser_program *program = parent->program;
    if (parent->kind == HW_UNIT) {
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, "'%s' is put below unit '%s'; a unit has no children",
                           name != NULL ? name : "an operator", parent->name);
        return NULL;
    }
    if (name != NULL && *name == '\0')
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, "an operator has an empty name");
    hawser_operator *op = make(program, kind, name);
    if (op == NULL)
        return NULL;
    op->parent = parent;
    if (parent->last != NULL)
        parent->last->next = op;
    else
        parent->first = op;
    parent->last = op;
    return op;
}

/* Stands for every program that could not be allocated. No call adds anything to a program without a root. */
static const hawser_program no_memory = {
    .mistake = {HAWSER_NO_MEMORY, "cannot allocate a program; free memory or use a smaller input"}};

hawser_program *hawser_program_new(const char *name, void *user)
{
    hawser_program *program = NULL;
    if (HW_NEW(&program, 1, "a program", NULL) != HAWSER_OK)
        return (hawser_program *)(uintptr_t)&no_memory;
    program->user = user;
    hawser_error error = {0};
    if (hw_copy_text(&program->name, name != NULL ? name : "program", &error) != HAWSER_OK)
        hw_program_mistake(program, error.status, "%s", error.text);
    program->root = make(program, HW_SEQUENCE, NULL);
    return program;
}

void hawser_program_free(hawser_program *program)
{
    if (program == NULL || program == &no_memory)
        return;
    for (hawser_state *state = program->states, *next; state != NULL; state = next) {
        next = state->next;
        hw_moving_shape_free(state->moving);
        free(state->name);
        free(state);
    }
    for (size_t i = 0; i < program->operator_count; i++)
        free_operator(program->operators[i]);
    for (uint32_t i = 0; i < program->metric_count; i++)
        free(program->metrics[i].name);
    free(program->operators);
    free(program->name);
    free(program->note);
    free(program);
}

hawser_operator *hawser_root(hawser_program *program)
{
    return program != NULL ? program->root : NULL;
}

hawser_operator *hawser_sequence(hawser_operator *parent)
{
    return add(parent, HW_SEQUENCE, NULL);
}

hawser_operator *hawser_parallel(hawser_operator *parent)
{
    return add(parent, HW_PARALLEL, NULL);
}

hawser_operator *hawser_branch(hawser_operator *parent, const char *name, bool (*test)(hawser_progress *, void *),
                               void *user)
{
    hawser_operator *op = add(parent, HW_BRANCH, name != NULL ? name : "branch");
    if (op == NULL)
        return NULL;
    op->test = test;
    if (test == NULL)
        hw_program_mistake(op->program, HAWSER_BAD_PROGRAM, "branch '%s' has no test", op->name);
    op->user = user;
    return op;
}

void hawser_branch_remembers(hawser_operator *branch, size_t bytes)
{
    if (branch == NULL)
        return;
    if (branch->kind != HW_BRANCH)
        hw_program_mistake(branch->program, HAWSER_BAD_PROGRAM, "hawser_branch_remembers: '%s' is not a branch",
                           branch->name != NULL ? branch->name : "");
    else if (bytes > (size_t)1 << 40)
        hw_program_mistake(branch->program, HAWSER_BAD_PROGRAM,
                           "hawser_branch_remembers: branch '%s' has an impossible size, %zu bytes", branch->name, bytes);
    else
        branch->remembers = bytes;
}

hawser_operator *hawser_loop(hawser_operator *parent, const char *name, hawser_until until, hawser_sync sync)
{
    hawser_operator *op = add(parent, HW_LOOP, name != NULL ? name : "loop");
    if (op == NULL)
        return NULL;
    op->until = until;
    op->sync = sync;
    const hw_policy_row *row = hw_policy_row_of((unsigned)sync.tightness);
    if (row == NULL) {
        hw_program_mistake(op->program, HAWSER_BAD_PROGRAM, "loop '%s': there is no sync %d", op->name, (int)sync.tightness);
        op->sync = hawser_bsp();
    }
    if (row != NULL && row->zero_is_bsp && sync.staleness == 0)
        op->sync.tightness = HAWSER_BSP;
    op->asked = op->sync;
    return op;
}

static hawser_status copy_list(hawser_program *program, const char *unit, hawser_state *const *list, hawser_state ***out,
                               hawser_error *error)
{
    size_t count = 0;
    while (list != NULL && list[count] != NULL)
        count++;
    HAWSER_TRY(HW_NEW(out, count + 1, "a list of states", error));
    for (size_t i = 0; i < count; i++) {
        (*out)[i] = list[i];
        if (list[i]->program != program)
            hw_program_mistake(program, HAWSER_BAD_PROGRAM, "unit '%s' names state '%s' of another program", unit,
                               list[i]->name);
    }
    return HAWSER_OK;
}

hawser_operator *hw_unit_new(hawser_operator *parent, const char *name, hawser_unit_function *function,
                             hawser_state *const *reads, hawser_state *const *updates)
{
    if (parent != NULL && (name == NULL || function == NULL)) {
        hw_program_mistake(parent->program, HAWSER_BAD_PROGRAM, "unit '%s' has no %s", name != NULL ? name : "?",
                           name == NULL ? "name" : "function");
        return NULL;
    }
    hawser_operator *unit = add(parent, HW_UNIT, name);
    if (unit == NULL)
        return NULL;
    unit->function = function;
    hawser_error error = {0};
    if (copy_list(unit->program, name, reads, &unit->reads, &error) != HAWSER_OK ||
        copy_list(unit->program, name, updates, &unit->updates, &error) != HAWSER_OK)
        hw_program_mistake(unit->program, error.status, "%s", error.text);
    return unit;
}

void hawser_reduces_expect(hawser_operator *unit, size_t numbers, size_t clock)
{
    if (unit == NULL)
        return;
    if (unit->reduces == 0)
        hw_program_mistake(unit->program, HAWSER_BAD_PROGRAM,
                           "hawser_reduces_expect: '%s' declares no reductions; set .reduces first",
                           unit->name != NULL ? unit->name : "an operator");
    unit->expected = numbers < unit->reduces ? numbers : unit->reduces;
    unit->expected_clock = clock;
}

void hawser_scratch_size(hawser_program *program, size_t bytes, void (*release)(void *scratch))
{
    if (program == NULL || program->root == NULL)
        return;
    program->scratch_bytes = bytes;
    program->scratch_release = release;
}

void hawser_scratch_record(hawser_program *program, hawser_scratch_visit *visit)
{
    if (program == NULL || program->root == NULL)
        return;
    program->scratch_visit = visit;
}

void hawser_tests_record(hawser_program *program, hawser_record_function *visit, void *object)
{
    if (program == NULL || program->root == NULL)
        return;
    program->tests_visit = visit;
    program->tests_object = object;
}

void hawser_process_record(hawser_program *program, hawser_record_function *visit, void *object)
{
    if (program == NULL || program->root == NULL)
        return;
    program->process_visit = visit;
    program->process_object = object;
}

void hawser_scratch_expect(hawser_program *program, uint64_t block, uint64_t node)
{
    if (program == NULL || program->root == NULL)
        return;
    program->expected_block = block;
    program->expected_node = node;
}

void hawser_record_expect(hawser_program *program, uint64_t block, uint64_t blocks, uint64_t once)
{
    if (program == NULL || program->root == NULL)
        return;
    program->expected_record = block;
    program->expected_records = blocks;
    program->expected_once = once;
    program->record_known = true;
}

void hawser_plan_note(hawser_program *program, const char *note)
{
    hawser_error error = {0};
    if (program == NULL || program->root == NULL)
        return;
    free(program->note);
    program->note = NULL;
    if (note != NULL && *note != '\0' && hw_copy_text(&program->note, note, &error) != HAWSER_OK)
        hw_program_mistake(program, error.status, "%s", error.text);
}

/* Returns a hash of a metric's name (FNV-1a): units report many metrics in each clock, and most names differ in it. */
static uint32_t hash_of(const char *name)
{
    uint32_t hash = UINT32_C(2166136261);
    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * UINT32_C(16777619);
    return hash;
}

uint32_t hw_program_metric(const hawser_program *program, const char *name)
{
    uint32_t hash = name != NULL ? hash_of(name) : 0;
    for (uint32_t i = 0; name != NULL && i < program->metric_count; i++)
        if (program->metrics[i].hash == hash && strcmp(program->metrics[i].name, name) == 0)
            return i;
    return UINT32_MAX;
}

void hawser_metric_declare(hawser_program *program, const char *name, hawser_combine_by by)
{
    if (program == NULL || program->root == NULL)
        return;
    if (name == NULL || *name == '\0' || hw_program_metric(program, name) != UINT32_MAX) {
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, "metric '%s' is declared twice or has no name",
                           name != NULL ? name : "");
        return;
    }
    if ((unsigned)by > HAWSER_LAST) {
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, "metric '%s': there is no hawser_combine_by %d", name, (int)by);
        return;
    }
    if (program->metric_count == HW_METRICS_MOST) {
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, "metric '%s' is one more than the %d that a program may have", name,
                           HW_METRICS_MOST);
        return;
    }
    hw_metric *metric = &program->metrics[program->metric_count];
    hawser_error error = {0};
    if (hw_copy_text(&metric->name, name, &error) != HAWSER_OK) {
        hw_program_mistake(program, error.status, "%s", error.text);
        return;
    }
    metric->hash = hash_of(name);
    metric->by = by;
    program->metric_count++;
}

void hawser_metric_numbers_fits(hawser_program *program, const char *metric)
{
    if (program == NULL || program->root == NULL)
        return;
    uint32_t number = metric != NULL ? hw_program_metric(program, metric) : UINT32_MAX;
    if (number == UINT32_MAX)
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, "hawser_metric_numbers_fits: metric '%s' is not declared",
                           metric != NULL ? metric : "");
    for (uint32_t i = 0; i < program->fit_metric_count; i++)
        if (program->fit_metrics[i] == number)
            hw_program_mistake(program, HAWSER_BAD_PROGRAM,
                               "hawser_metric_numbers_fits: metric '%s' numbers the fits already", metric);
    if (number != UINT32_MAX && program->fit_metric_count == HAWSER_FIT_METRICS)
        hw_program_mistake(program, HAWSER_BAD_PROGRAM,
                           "hawser_metric_numbers_fits: metric '%s' is one more than the %d that a program may have", metric,
                           HAWSER_FIT_METRICS);
    else if (number != UINT32_MAX)
        program->fit_metrics[program->fit_metric_count++] = number;
}

static bool in_list(hawser_state *const *list, const hawser_state *state)
{
    for (; *list != NULL; list++)
        if (*list == state)
            return true;
    return false;
}

bool hw_unit_reads(const hawser_operator *unit, const hawser_state *state)
{
    return in_list(unit->reads, state);
}

bool hw_unit_updates(const hawser_operator *unit, const hawser_state *state)
{
    return in_list(unit->updates, state);
}

bool hw_unit_uses(const hawser_operator *unit, const hawser_state *state)
{
    return hw_unit_reads(unit, state) || hw_unit_updates(unit, state);
}

bool hw_operator_updates(const hawser_operator *op, const hawser_state *state)
{
    if (op->kind == HW_UNIT)
        return hw_unit_updates(op, state);
    for (const hawser_operator *child = op->first; child != NULL; child = child->next)
        if (hw_operator_updates(child, state))
            return true;
    return false;
}

bool hw_operator_reads(const hawser_operator *op, const hawser_state *state)
{
    if (op->kind == HW_UNIT)
        return hw_unit_reads(op, state);
    for (const hawser_operator *child = op->first; child != NULL; child = child->next)
        if (hw_operator_reads(child, state))
            return true;
    return false;
}

const char *hw_sync_text(hawser_sync sync, char text[HW_SYNC_TEXT])
{
    const char *word = hw_policy_row_of((unsigned)sync.tightness)->word;
    size_t length = hw_word_length(word);
    if (word[length] == '\0')
        snprintf(text, HW_SYNC_TEXT, "%s", word);
    else
        snprintf(text, HW_SYNC_TEXT, "%.*s:%u", (int)length, word, sync.staleness);
    return text;
}

hawser_sync hw_sync_of_blocks(hawser_sync sync, uint32_t blocks)
{
    bool late = sync.tightness == HAWSER_SSP || sync.tightness == HAWSER_TAP;
    return blocks == 1 && late ? hawser_bsp() : sync;
}

hawser_sync hw_sync_read(const char *text)
{
    for (unsigned kind = 0; kind < HW_POLICY_COUNT; kind++) {
        const hw_policy_row *row = hw_policy_row_of(kind);
        if (!hw_word_is(row->word, text))
            continue;
        size_t length = hw_word_length(row->word);
        uint32_t staleness = text[length] == ':' ? (uint32_t)strtoul(text + length + 1, NULL, 10) : 0;
        bool bsp = row->zero_is_bsp && staleness == 0;
        return (hawser_sync){bsp ? HAWSER_BSP : (hawser_tightness)kind, staleness};
    }
    return hawser_bsp();
}

static bool uses(const hawser_operator *op, bool (*is)(const hw_kind *kind))
{
    for (hawser_state *const *item = op->reads; op->kind == HW_UNIT && *item != NULL; item++)
        if (is(hw_kind_of(*item)))
            return true;
    for (hawser_state *const *item = op->updates; op->kind == HW_UNIT && *item != NULL; item++)
        if (is(hw_kind_of(*item)))
            return true;
    for (const hawser_operator *child = op->first; child != NULL; child = child->next)
        if (uses(child, is))
            return true;
    return false;
}

static bool is_served(const hw_kind *kind)
{
    return kind->served;
}

static bool is_moving(const hw_kind *kind)
{
    return kind->moves;
}

bool hw_operator_stores(const hawser_operator *op)
{
    return uses(op, is_served);
}

bool hw_operator_moves(const hawser_operator *op)
{
    return uses(op, is_moving);
}

size_t hw_operator_reduces(const hawser_operator *op)
{
    size_t most = op->reduces;
    for (const hawser_operator *child = op->first; child != NULL; child = child->next) {
        size_t below = hw_operator_reduces(child);
        most = below > most ? below : most;
    }
    return most;
}

void hw_operator_expects(const hawser_operator *op, size_t *numbers, size_t *clock)
{
    *numbers = op->expected;
    *clock = op->expected_clock;
    for (const hawser_operator *child = op->first; child != NULL; child = child->next) {
        size_t at_once, together;
        hw_operator_expects(child, &at_once, &together);
        *numbers = at_once > *numbers ? at_once : *numbers;
        *clock = together > *clock ? together : *clock;
    }
}

uint64_t hw_loop_delay(hawser_sync sync)
{
    return hw_chunk_delay((hw_policy){(hw_policy_kind)sync.tightness, sync.staleness});
}

uint64_t hw_state_delay(const hawser_state *state)
{
    const hawser_program *program = state->program;
    for (size_t i = 0; i < program->operator_count; i++)
        if (hw_operator_shipped(program->operators[i]) && hw_operator_updates(program->operators[i], state))
            return hw_loop_delay(program->operators[i]->sync);
    return 0;
}

static bool has_only_units(const hawser_operator *sequence)
{
    for (const hawser_operator *child = sequence->first; child != NULL; child = child->next)
        if (child->kind != HW_UNIT && (child->kind != HW_SEQUENCE || !has_only_units(child)))
            return false;
    return true;
}

static bool is_late(const hawser_operator *op)
{
    return op->kind == HW_LOOP && (op->sync.tightness == HAWSER_SSP || op->sync.tightness == HAWSER_TAP);
}

/* The driver steps a bsp loop around other operators, but it would hold up blocks that may be apart. */
bool hw_operator_shipped(const hawser_operator *op)
{
    for (const hawser_operator *above = op->parent; above != NULL; above = above->parent)
        if (is_late(above))
            return false;
    return is_late(op) || (op->kind == HW_LOOP && has_only_units(op));
}

const hawser_operator *hw_operator_loop(const hawser_operator *op)
{
    const hawser_operator *above = op->parent;
    while (above != NULL && !hw_operator_shipped(above))
        above = above->parent;
    return above;
}

bool hw_loop_is_inner(const hawser_operator *loop)
{
    const hawser_operator *above = loop->parent;
    while (above != NULL && above->kind != HW_LOOP)
        above = above->parent;
    return above != NULL;
}

bool hw_loop_measures(const hawser_operator *loop)
{
    bool paused = loop->sync.tightness == HAWSER_BSP || loop->sync.tightness == HAWSER_SSP;
    return loop->metric != UINT32_MAX && (hw_loop_is_inner(loop) || paused);
}

uint32_t hw_loop_branches(const hawser_operator *loop)
{
    const hawser_program *program = loop->program;
    uint32_t count = 0;
    for (size_t i = 0; i < program->operator_count && hw_operator_shipped(loop); i++)
        count += program->operators[i]->kind == HW_BRANCH && hw_operator_loop(program->operators[i]) == loop;
    return count;
}

bool hw_loop_untested(const hawser_operator *loop)
{
    const hawser_until *until = &loop->until;
    return until->clocks != 0 && until->metric == NULL && until->test == NULL && hw_loop_branches(loop) == 0;
}

uint64_t hw_loop_window(const hawser_operator *loop, hawser_sync sync)
{
    hw_policy policy = hw_policy_of(sync);
    enum {
        TESTED_MOST = 16
    }; /* what a test decides takes effect within so many clocks, also where the policy bounds no lead */
    bool as_bsp = policy.kind == HW_POLICY_CENTRIC && policy.staleness == 0;
    uint64_t window = hw_credit_window(policy);
    if (hw_loop_untested(loop))
        return window;
    return as_bsp ? 1 : policy.kind == HW_POLICY_TAP && window > TESTED_MOST ? TESTED_MOST : window;
}

uint64_t hw_branch_bit(const hawser_operator *branch)
{
    const hawser_operator *loop = hw_operator_loop(branch);
    uint32_t before = 0;
    for (uint32_t i = 0; i < branch->number; i++) {
        const hawser_operator *other = branch->program->operators[i];
        before += other->kind == HW_BRANCH && hw_operator_loop(other) == loop;
    }
    return UINT64_C(1) << before % HW_BRANCHES_MOST;
}

bool hw_unit_waits(const hawser_operator *unit, hawser_sync *sync)
{
    const hawser_operator *loop = hw_operator_loop(unit), *inner = unit->parent;
    while (inner != loop && inner != NULL && (inner->kind != HW_LOOP || is_late(inner)))
        inner = inner->parent;
    bool by_inner = loop != NULL && inner != loop;
    *sync = by_inner ? hawser_bsp() : unit->sync;
    return by_inner || unit->waits;
}

/* Returns the first unit from `child` on among its siblings; `deep`: also below other operators. */
static const hawser_operator *first_from(const hawser_operator *child, bool deep)
{
    const hawser_operator *unit = NULL;
    for (; child != NULL && unit == NULL; child = child->next) {
        if (child->kind == HW_UNIT)
            unit = child;
        else if (deep)
            unit = first_from(child->first, deep);
    }
    return unit;
}

const hawser_operator *hw_phase_first(const hawser_operator *op)
{
    return op->kind == HW_UNIT ? op : first_from(op->first, op->kind == HW_LOOP);
}

const hawser_operator *hw_phase_next(const hawser_operator *op, const hawser_operator *unit)
{
    const hawser_operator *next = NULL;
    for (; unit != op && next == NULL; unit = unit->parent)
        next = first_from(unit->next, op->kind == HW_LOOP);
    return next;
}

bool hw_phase_updates(const hawser_operator *op, const hawser_state *state)
{
    for (const hawser_operator *unit = hw_phase_first(op); unit != NULL; unit = hw_phase_next(op, unit))
        if (hw_unit_updates(unit, state))
            return true;
    return false;
}
