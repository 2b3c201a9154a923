/* print_json.c - plans as JSON, for programs that read them. `hawser help plan-json` describes the members. */
#include <stdlib.h>

#include "base/json.h"
#include "data/share/blocks.h"
#include "program/kind.h"

static const char *const kinds[] = {"sequence", "parallel", "loop", "branch", "unit"};

static void add_flag(json_t *object, const char *key, bool value, bool *ok)
{
    hw_json_take(object, key, json_boolean(value), ok);
}

/* Adds a text; null if it is empty. */
static void add_text(json_t *object, const char *key, const char *text, bool *ok)
{
    hw_json_text(object, key, text != NULL && *text != '\0' ? text : NULL, ok);
}

static json_t *names_of(hawser_state *const *list, bool *ok)
{
    json_t *names = json_array();
    for (; *list != NULL; list++)
        hw_json_append(names, hw_json_string((*list)->name), ok);
    return names;
}

/* ------------------------------------------------------------------------------------------------------- memory ---- */

static json_t *memory_of(const hw_plan *plan, bool *ok)
{
    static const char *const names[HW_MEMORY_PARTS] = {
        [HW_MEMORY_DATA] = "data",       [HW_MEMORY_STATES] = "states",
        [HW_MEMORY_UNITS] = "units",     [HW_MEMORY_REDUCTIONS] = "reductions",
        [HW_MEMORY_CHUNKS] = "chunks",   [HW_MEMORY_FIRST_VALUES] = "first_values",
        [HW_MEMORY_THREADS] = "threads", [HW_MEMORY_LINKS] = "links",
        [HW_MEMORY_PROCESS] = "process", [HW_MEMORY_HOLES] = "holes",
        [HW_MEMORY_LOAD] = "load",       [HW_MEMORY_CHECKPOINTS] = "checkpoints",
    };
    json_t *memory = json_object(), *parts = json_object();
    hw_json_count(memory, "needed_bytes", plan->memory_needed, ok);
    hw_json_count(memory, "limit_bytes", plan->settings.memory, ok);
    for (int part = 0; part < HW_MEMORY_PARTS; part++)
        hw_json_count(parts, names[part], plan->memory_parts[part], ok);
    hw_json_take(memory, "parts_bytes", parts, ok);
    hw_json_count(memory, "late_bytes", plan->memory_late, ok);
    hw_json_count(memory, "mapped_bytes", plan->memory_mapped, ok);
    hw_json_count(memory, "shared_bytes", plan->settings.shared, ok);
    hw_json_count(memory, "checkpoint_bytes", plan->checkpoint_bytes, ok);
    return memory;
}

static json_t *warnings_of(const hw_plan *plan, bool *ok)
{
    json_t *warnings = json_array();
    if (hw_plan_far_apart(plan))
        hw_json_append(warnings, json_string(HW_FAR_APART_TEXT), ok);
    if (plan->program->note != NULL)
        hw_json_append(warnings, hw_json_string(plan->program->note), ok);
    return warnings;
}

/* -------------------------------------------------------------------------------------------------------- nodes ---- */

/* Adds the blocks of a node, and its stored entries of each split data state. */
static void add_share(const hw_plan *plan, const hw_view *view, uint32_t node, json_t *object, bool *ok)
{
    json_t *blocks = json_array(), *entries = json_object();
    for (uint32_t b = hw_view_next(view, node, 0); b < view->blocks; b = hw_view_next(view, node, b + 1))
        hw_json_append(blocks, json_integer(b), ok);
    hw_json_take(object, "blocks", blocks, ok);
    for (const hawser_state *state = plan->program->states; state != NULL; state = state->next) {
        const hw_state_plan *own = &plan->states[state->number];
        uint64_t stored = 0;
        if (own->bounds == NULL || own->stored == NULL)
            continue;
        for (uint32_t b = hw_view_next(view, node, 0); b < view->blocks; b = hw_view_next(view, node, b + 1))
            stored += own->stored[b];
        hw_json_count(entries, state->name, stored, ok);
    }
    hw_json_take(object, "stored_entries", entries, ok);
}

static hawser_status add_nodes(const hw_plan *plan, json_t *object, bool *ok, hawser_error *error)
{
    const hw_plan_settings *settings = &plan->settings;
    uint32_t nodes = settings->nodes > 1 ? settings->nodes : 1;
    json_t *list = json_array();
    hw_view view;
    hw_json_take(object, "nodes", list, ok);
    HAWSER_TRY(hw_view_first(settings->blocks, nodes, &view, error));
    for (uint32_t node = 0; node < nodes; node++) {
        json_t *one = json_object();
        hw_json_count(one, "node", node, ok);
        hw_json_text(one, "name", settings->names != NULL ? settings->names[node] : NULL, ok);
        add_share(plan, &view, node, one, ok);
        hw_json_append(list, one, ok);
    }
    hw_view_free(&view);
    return HAWSER_OK;
}

/* ------------------------------------------------------------------------------------------------------- states ---- */

static void add_life(const hw_life *life, json_t *object, bool *ok)
{
    bool used = life->first != UINT32_MAX;
    hw_json_take(object, "created_before", used ? json_integer(life->first) : json_null(), ok);
    hw_json_take(object, "disposed_after", used ? json_integer(life->last) : json_null(), ok);
}

static void add_numbers(const hw_state_plan *own, json_t *object, bool *ok)
{
    const hawser_state *state = own->state;
    hw_json_count(object, "rows", state->rows, ok);
    hw_json_count(object, "columns", state->cols, ok);
    hw_json_text(object, "type", hw_type_name(state->type), ok);
    hw_json_count(object, "block_bytes", own->block_bytes, ok);
    hw_json_text(object, "along", state->along != NULL ? state->along->name : NULL, ok);
    hw_json_text(object, "tied_to", state->tied_to != NULL ? state->tied_to->name : NULL, ok);
    add_flag(object, "kept", state->keeps || own->guarded, ok);
    add_flag(object, "derived", state->rebuild != NULL, ok);
    add_flag(object, "merged_by_program", state->rule.merge != NULL, ok);
}

static hawser_status add_traffic(const hw_plan *plan, const hw_state_plan *own, const char *key, bool in_step,
                                 json_t *object, bool *ok, hawser_error *error)
{
    hw_traffic traffic;
    json_t *sent = json_object();
    hw_json_take(object, key, sent, ok);
    HAWSER_TRY(hw_plan_traffic_sum(plan, own, in_step, &traffic, error));
    hw_json_count(sent, "busiest_node", traffic.busiest, ok);
    hw_json_count(sent, "bytes_out_of_busiest", traffic.of_busiest, ok);
    hw_json_count(sent, "bytes_out_of_all", traffic.all, ok);
    double updates = 0, over_all = 0;
    HAWSER_TRY(hw_plan_updates_sent(plan, own, in_step, &updates, &over_all, error));
    hw_json_number(sent, "updates_out_of_busiest", updates, ok);
    hw_json_number(sent, "updates_out_of_busiest_over_all", over_all, ok);
    return HAWSER_OK;
}

/* Adds the most bytes that a clock sends between nodes: under bsp, and under the other policies that update the state. */
static hawser_status add_wire(const hw_plan *plan, const hw_state_plan *own, json_t *object, bool *ok, hawser_error *error)
{
    bool in_step, apart;
    if (plan->settings.nodes <= 1 || !hw_state_is_exchanged(own->state))
        return HAWSER_OK;
    hw_plan_policies(plan, own->state, &in_step, &apart);
    if (in_step)
        HAWSER_TRY(add_traffic(plan, own, "sent_per_clock_bsp", true, object, ok, error));
    return apart ? add_traffic(plan, own, "sent_per_clock_other", false, object, ok, error) : HAWSER_OK;
}

static hawser_status add_states(const hw_plan *plan, json_t *object, bool *ok, hawser_error *error)
{
    json_t *list = json_array();
    hw_json_take(object, "states", list, ok);
    for (const hawser_state *state = plan->program->states; state != NULL; state = state->next) {
        const hw_state_plan *own = &plan->states[state->number];
        json_t *one = json_object();
        hw_json_append(list, one, ok);
        hw_json_text(one, "name", state->name, ok);
        hw_json_text(one, "kind", hw_state_kind_name(state->kind), ok);
        add_life(&own->life, one, ok);
        if (hw_kind_of(state)->numbers)
            add_numbers(own, one, ok);
        if (hw_kind_of(state)->add_json != NULL)
            hw_kind_of(state)->add_json(plan, own, one, ok);
        HAWSER_TRY(add_wire(plan, own, one, ok, error));
    }
    return HAWSER_OK;
}

/* ---------------------------------------------------------------------------------------------------- operators ---- */

static void add_until(const hawser_until *until, json_t *object, bool *ok)
{
    json_t *end = json_object();
    hw_json_take(object, "until", end, ok);
    if (until->clocks != 0)
        hw_json_count(end, "clocks", until->clocks, ok);
    if (until->seconds > 0)
        hw_json_number(end, "seconds", until->seconds, ok);
    if (until->test != NULL)
        add_flag(end, "test", true, ok);
    if (until->metric == NULL)
        return;
    hw_json_text(end, "metric", until->metric, ok);
    if (until->below != 0 || (until->change == 0 && until->patience == 0))
        hw_json_number(end, "below", until->below, ok);
    if (until->change != 0)
        hw_json_number(end, "change", until->change, ok);
    if (until->patience != 0)
        hw_json_count(end, "patience", until->patience, ok);
}

static void add_loop(const hw_plan *plan, const hawser_operator *loop, json_t *object, bool *ok)
{
    char sync[HW_SYNC_TEXT];
    const hawser_operator *outer = hw_operator_loop(loop);
    bool shipped = hw_operator_shipped(loop);
    add_until(&loop->until, object, ok);
    hw_json_text(object, "sync", hw_sync_text(loop->sync, sync), ok);
    hw_json_text(object, "part_of_clocks_of", outer != NULL ? outer->name : NULL, ok);
    add_flag(object, "shipped", outer == NULL && shipped, ok);
    hw_json_count(object, "stages", hw_plan_stages(plan, loop), ok);
    if (shipped && plan->settings.blocks > 1)
        hw_json_count(object, "credit_window_clocks", hw_loop_window(loop, loop->sync), ok);
}

static void add_unit(const hw_plan *plan, const hawser_operator *unit, json_t *object, bool *ok)
{
    char sync[HW_SYNC_TEXT];
    hawser_sync own;
    uint32_t first, last;
    bool staged = hw_plan_unit_stages(plan, unit, &first, &last);
    hw_json_take(object, "only_block", unit->one ? json_integer(plan->placement[unit->number]) : json_null(), ok);
    hw_json_count(object, "first_stage", staged ? first : 0, ok);
    hw_json_count(object, "last_stage", staged ? last : 0, ok);
    hw_json_text(object, "sync", hw_unit_waits(unit, &own) ? hw_sync_text(own, sync) : NULL, ok);
    hw_json_take(object, "reads", names_of(unit->reads, ok), ok);
    hw_json_take(object, "updates", names_of(unit->updates, ok), ok);
    hw_json_count(object, "reduces_numbers", unit->reduces, ok);
}

static void add_operators(const hw_plan *plan, json_t *object, bool *ok)
{
    json_t *list = json_array();
    hw_json_take(object, "operators", list, ok);
    for (size_t i = 0; i < plan->program->operator_count; i++) {
        const hawser_operator *op = plan->program->operators[plan->order[i]];
        json_t *one = json_object();
        hw_json_append(list, one, ok);
        hw_json_count(one, "number", op->number, ok);
        hw_json_take(one, "parent", op->parent != NULL ? json_integer(op->parent->number) : json_null(), ok);
        hw_json_text(one, "kind", kinds[op->kind], ok);
        hw_json_text(one, "name", op->name, ok);
        if (op->kind == HW_LOOP)
            add_loop(plan, op, one, ok);
        if (op->kind == HW_UNIT)
            add_unit(plan, op, one, ok);
    }
}

hawser_status hw_plan_print_json(const hw_plan *plan, FILE *out, hawser_error *error)
{
    const hw_plan_settings *settings = &plan->settings;
    json_t *object = json_object();
    bool ok = object != NULL;
    hw_json_text(object, "program", plan->program->name, &ok);
    hw_json_count(object, "blocks", settings->blocks, &ok);
    hw_json_count(object, "computing_at_once", settings->threads, &ok);
    hw_json_count(object, "processors", settings->processors, &ok);
    add_text(object, "why_this_many_blocks", settings->chosen, &ok);
    add_text(object, "topology", settings->nodes > 1 ? settings->topology : NULL, &ok);
    hw_json_take(object, "memory", memory_of(plan, &ok), &ok);
    hw_json_take(object, "warnings", warnings_of(plan, &ok), &ok);
    hawser_status status = add_nodes(plan, object, &ok, error);
    if (status == HAWSER_OK)
        status = add_states(plan, object, &ok, error);
    add_operators(plan, object, &ok);
    char *text = hw_json_print(object, ok);
    if (status == HAWSER_OK && text == NULL)
        status = hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the JSON of a plan");
    else if (status == HAWSER_OK)
        fprintf(out, "%s\n", text);
    free(text);
    return status;
}
