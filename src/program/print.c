/* print.c - plans as text and as Graphviz DOT. */
#include <inttypes.h>

#include "base/memory.h"
#include "data/share/blocks.h"
#include "program/kind.h"

static void print_until(const hawser_until *until, FILE *out)
{
    const char *between = "";
    if (until->clocks != 0) {
        fprintf(out, "%s%" PRIu64 " clocks", between, until->clocks);
        between = " or ";
    }
    if (until->seconds > 0) {
        fprintf(out, "%s%g s", between, until->seconds);
        between = " or ";
    }
    if (until->metric != NULL) {
        bool bounded = until->below != 0 || (until->change == 0 && until->patience == 0);
        if (bounded)
            fprintf(out, "%s%s <= %g", between, until->metric, until->below);
        if (until->change != 0)
            fprintf(out, "%srelative change of %s <= %g", bounded ? " or " : between, until->metric, until->change);
        if (until->patience != 0)
            fprintf(out, "%s%s has not fallen for %" PRIu64 " clocks", bounded || until->change != 0 ? " or " : between,
                    until->metric, until->patience);
        between = " or ";
    }
    if (until->test != NULL)
        fprintf(out, "%sits test returns true", between);
}

static const char *const kind_names[] = {"sequence", "parallel", "loop", "branch", "unit"};

static void print_states(hawser_state *const *list, const char *title, FILE *out)
{
    for (hawser_state *const *item = list; *item != NULL; item++)
        fprintf(out, "%s%s", item == list ? title : ", ", (*item)->name);
}

static void print_loop(const hw_plan *plan, const hawser_operator *loop, bool physical, FILE *out)
{
    char sync[HW_SYNC_TEXT];
    const hawser_operator *outer = hw_operator_loop(loop);
    bool shipped = hw_operator_shipped(loop);
    fprintf(out, " until ");
    print_until(&loop->until, out);
    fprintf(out, "; %s; ", hw_sync_text(loop->sync, sync));
    if (outer != NULL)
        fprintf(out, "a part of each clock of '%s'", outer->name);
    else
        fprintf(out, shipped ? "shipped to the blocks" : "stepped by the driver");
    if (hw_plan_stages(plan, loop) > 1)
        fprintf(out, "; %u stages in a clock", hw_plan_stages(plan, loop));
    if (physical && shipped && plan->settings.blocks > 1)
        fprintf(out, "; credit window %" PRIu64, hw_loop_window(loop, loop->sync));
}

/* Prints the stages of a clock in which a unit runs; an inner loop runs it several times. */
static void print_stages(const hw_plan *plan, const hawser_operator *unit, FILE *out)
{
    uint32_t first, last;
    if (!hw_plan_unit_stages(plan, unit, &first, &last))
        return;
    if (first == last)
        fprintf(out, ", stage %u", first);
    else
        fprintf(out, ", stages %u to %u", first, last);
}

static void print_operator(const hw_plan *plan, const hawser_operator *op, bool physical, FILE *out)
{
    char sync[HW_SYNC_TEXT];
    fprintf(out, "%s", kind_names[op->kind]);
    if (op->name != NULL)
        fprintf(out, " '%s'", op->name);
    if (op->kind == HW_LOOP)
        print_loop(plan, op, physical, out);
    if (op->kind == HW_UNIT) {
        fprintf(out, op->one ? " on one block" : " on each block");
        hawser_sync own;
        print_stages(plan, op, out);
        if (hw_unit_waits(op, &own))
            fprintf(out, ", waits as under %s", hw_sync_text(own, sync));
        if (physical && op->one)
            fprintf(out, " (block %u)", plan->placement[op->number]);
        print_states(op->reads, "; reads ", out);
        print_states(op->updates, "; updates ", out);
        if (op->reduces != 0)
            fprintf(out, "; reduces at most %zu numbers at a time over all blocks", op->reduces);
    }
    if (op->kind == HW_BRANCH && hw_operator_loop(op) != NULL) {
        const hawser_operator *loop = hw_operator_loop(op);
        fprintf(out, "; chosen for clock t of '%s' by the metrics of clock t - %" PRIu64, loop->name,
                hw_loop_window(loop, loop->sync));
    }
    if (op->kind == HW_PARALLEL)
        fprintf(out, " (units triggered together, other children after them)");
}

static void print_tree(const hw_plan *plan, const hawser_operator *op, int depth, bool physical, FILE *out)
{
    fprintf(out, "%*s%" PRIu32 " ", 2 + 2 * depth, "", op->number);
    print_operator(plan, op, physical, out);
    fputc('\n', out);
    for (const hawser_operator *child = op->first; child != NULL; child = child->next)
        print_tree(plan, child, depth + 1, physical, out);
}

static void print_state(const hawser_state *state, FILE *out)
{
    hw_kind_of(state)->print(state, out);
    if (state->along != NULL)
        fprintf(out, ", along %s", state->along->name);
    if (state->tied_to != NULL)
        fprintf(out, ", tied to %s", state->tied_to->name);
    if (state->keeps)
        fprintf(out, ", kept");
    if (state->rebuild != NULL)
        fprintf(out, ", derived (rebuilt on entering and leaving loops that update it)");
    if (state->rule.merge != NULL)
        fprintf(out, ", merged by the program's own function");
}

static void print_life(const hw_life *life, FILE *out)
{
    if (life->first == UINT32_MAX)
        fprintf(out, "; never used");
    else
        fprintf(out, "; created before %" PRIu32 ", disposed after %" PRIu32, life->first, life->last);
}

static void print_dot_operators(const hw_plan *plan, bool physical, FILE *out)
{
    for (size_t i = 0; i < plan->program->operator_count; i++) {
        const hawser_operator *op = plan->program->operators[i];
        fprintf(out, "  o%" PRIu32 " [shape=%s, label=\"", op->number, op->kind == HW_UNIT ? "box" : "ellipse");
        print_operator(plan, op, physical, out);
        fprintf(out, "\"];\n");
        if (op->parent != NULL)
            fprintf(out, "  o%" PRIu32 " -> o%" PRIu32 ";\n", op->parent->number, op->number);
        if (op->kind != HW_UNIT)
            continue;
        for (hawser_state *const *item = op->reads; *item != NULL; item++)
            fprintf(out, "  s%" PRIu32 " -> o%" PRIu32 " [style=dashed];\n", (*item)->number, op->number);
        for (hawser_state *const *item = op->updates; *item != NULL; item++)
            fprintf(out, "  o%" PRIu32 " -> s%" PRIu32 " [style=dashed, dir=both];\n", op->number, (*item)->number);
    }
}

void hw_plan_print_logical(const hw_plan *plan, bool dot, FILE *out)
{
    const hawser_program *program = plan->program;
    if (dot)
        fprintf(out, "digraph logical {\n");
    else
        fprintf(out, "logical plan of '%s'\nstates\n", program->name);
    for (const hawser_state *state = program->states; state != NULL; state = state->next) {
        if (dot)
            fprintf(out, "  s%" PRIu32 " [shape=cylinder, label=\"%s: ", state->number, state->name);
        else
            fprintf(out, "  %s: ", state->name);
        print_state(state, out);
        print_life(&plan->states[state->number].life, out);
        fprintf(out, dot ? "\"];\n" : "\n");
    }
    if (dot) {
        print_dot_operators(plan, false, out);
        fprintf(out, "}\n");
        return;
    }
    fprintf(out, "operators\n");
    print_tree(plan, program->root, 0, false, out);
}

static void print_physical_state(const hw_plan *plan, const hw_state_plan *own, const char *newline, FILE *out)
{
    const hawser_state *state = own->state;
    print_state(state, out);
    if (own->guarded)
        fprintf(out, ", kept before changes of its loop");
    if (hw_kind_of(state)->numbers)
        fprintf(out, "%s%" PRIu64 " bytes in the largest block", newline, own->block_bytes);
    if (hw_kind_of(state)->print_shares != NULL)
        hw_kind_of(state)->print_shares(plan, own, newline, out);
}

/* Prints the bytes that the busiest node sends, and those of all nodes. */
static hawser_status print_traffic(const hw_plan *plan, const hw_state_plan *own, bool in_step, FILE *out,
                                   hawser_error *error)
{
    hw_traffic traffic;
    HAWSER_TRY(hw_plan_traffic_sum(plan, own, in_step, &traffic, error));
    fprintf(out, "%" PRIu64 " bytes out of node %" PRIu32 ", %" PRIu64 " out of all", traffic.of_busiest, traffic.busiest,
            traffic.all);
    return HAWSER_OK;
}

/* Prints what the busiest node sends in messages with the whole state, and what it would send over "all". */
static hawser_status print_updates(const hw_plan *plan, const hw_state_plan *own, bool in_step, FILE *out,
                                   hawser_error *error)
{
    double sent = 0, over_all = 0;
    HAWSER_TRY(hw_plan_updates_sent(plan, own, in_step, &sent, &over_all, error));
    fprintf(out, "%.3g updates per clock", sent);
    if (sent != over_all)
        fprintf(out, " instead of %.3g", over_all);
    fprintf(out, " out of the busiest node");
    return HAWSER_OK;
}

static hawser_status print_wire(const hw_plan *plan, const hw_state_plan *own, const char *newline, FILE *out,
                                hawser_error *error)
{
    bool in_step, apart;
    if (plan->settings.nodes <= 1 || !hw_state_is_exchanged(own->state))
        return HAWSER_OK;
    hw_plan_policies(plan, own->state, &in_step, &apart);
    if (!in_step && !apart)
        return HAWSER_OK;
    fprintf(out, "%sa clock costs at most, if all of it changes and nothing is packed, ", newline);
    if (in_step)
        HAWSER_TRY(print_traffic(plan, own, true, out, error));
    if (in_step && apart)
        fprintf(out, " under bsp, and otherwise ");
    if (apart)
        HAWSER_TRY(print_traffic(plan, own, false, out, error));
    fprintf(out, "%s%s: ", newline, plan->settings.links);
    return print_updates(plan, own, in_step, out, error);
}

/* Prints ": block 3" or ": blocks 0 to 2, 5". */
static void print_blocks(const hw_view *view, uint32_t node, FILE *out)
{
    const char *between = hw_view_count(view, node) == 1 ? ": block" : ": blocks";
    for (uint32_t begin = hw_view_next(view, node, 0), end; begin < view->blocks; begin = hw_view_next(view, node, end)) {
        for (end = begin + 1; end < view->blocks && hw_view_node(view, end) == node;)
            end++;
        fprintf(out, "%s %" PRIu32, between, begin);
        if (end - begin > 1)
            fprintf(out, " to %" PRIu32, end - 1);
        between = ",";
    }
}

/* Prints the blocks of each node and its stored entries of split data. */
static hawser_status print_nodes(const hw_plan *plan, FILE *out, hawser_error *error)
{
    const hw_plan_settings *settings = &plan->settings;
    hw_view view;
    HAWSER_TRY(hw_view_first(settings->blocks, settings->nodes, &view, error));
    fprintf(out, "nodes\n");
    for (uint32_t node = 0; node < settings->nodes; node++) {
        fprintf(out, "  node %" PRIu32, node);
        if (settings->names != NULL)
            fprintf(out, " (%s)", settings->names[node]);
        print_blocks(&view, node, out);
        for (const hawser_state *state = plan->program->states; state != NULL; state = state->next) {
            const hw_state_plan *own = &plan->states[state->number];
            uint64_t stored = 0;
            if (own->bounds == NULL || own->stored == NULL)
                continue;
            for (uint32_t b = hw_view_next(&view, node, 0); b < view.blocks; b = hw_view_next(&view, node, b + 1))
                stored += own->stored[b];
            fprintf(out, "; %" PRIu64 " stored entries of %s", stored, state->name);
        }
        fputc('\n', out);
    }
    hw_view_free(&view);
    return HAWSER_OK;
}

/* Prints further facts, each on its line: what memory is not counted, the topology, and why there are this many blocks. */
static void print_circumstances(const hw_plan *plan, FILE *out)
{
    const hw_plan_settings *settings = &plan->settings;
    if (hw_plan_far_apart(plan))
        fprintf(out, "  %s\n", HW_FAR_APART_TEXT);
    if (settings->shared > 0)
        fprintf(out, "  %" PRIu64 " bytes more are shared with other nodes of this host\n", settings->shared);
    if (settings->nodes > 1)
        fprintf(out, "  %s\n", settings->topology);
    if (settings->chosen[0] != '\0')
        fprintf(out, "  %s\n", settings->chosen);
}

hawser_status hw_plan_print_physical(const hw_plan *plan, bool dot, FILE *out, hawser_error *error)
{
    const hawser_program *program = plan->program;
    const hw_plan_settings *settings = &plan->settings;
    char where[64] = "in one process, over inproc", whose[40] = "";
    if (settings->nodes > 1) {
        snprintf(where, sizeof where, "on %" PRIu32 " nodes", settings->nodes);
        snprintf(whose, sizeof whose, " on the node with most of them");
    }
    if (dot)
        fprintf(out,
                "digraph physical {\n  label=\"%" PRIu32 " blocks, %" PRIu32 " at once, %" PRIu32
                " processors, needs %" PRIu64 " of %" PRIu64 " bytes%s\";\n",
                settings->blocks, settings->threads, settings->processors, plan->memory_needed, settings->memory, whose);
    if (!dot) {
        fprintf(out,
                "physical plan of '%s'\n  %" PRIu32 " blocks, %" PRIu32 " computing at once, on the %" PRIu32
                " processors that this process may use; %s\n  needs about %" PRIu64 " bytes%s of the %" PRIu64
                " that the limit leaves, of these %" PRIu64 " for data, which are shared, not copied\n",
                program->name, settings->blocks, settings->threads, settings->processors, where, plan->memory_needed, whose,
                settings->memory, plan->memory_data);
        if (plan->memory_late > 0)
            fprintf(out,
                    "  at most %" PRIu64
                    " bytes more while workers are apart: updates that wait for a slow one (an upper bound)\n",
                    plan->memory_late);
        if (plan->checkpoint_bytes > 0)
            fprintf(out,
                    "  a checkpoint takes at most about %" PRIu64 " bytes on disk; copies in memory take %" PRIu64
                    " of the bytes above until it is written\n",
                    plan->checkpoint_bytes, plan->memory_parts[HW_MEMORY_CHECKPOINTS]);
        if (plan->memory_mapped > 0)
            fprintf(out,
                    "  %" PRIu64 " bytes of data are pages of a mapped file, which come and go and count for no limit\n",
                    plan->memory_mapped);
        print_circumstances(plan, out);
        if (settings->nodes > 1)
            HAWSER_TRY(print_nodes(plan, out, error));
        fprintf(out, "states\n");
    }
    for (const hawser_state *state = program->states; state != NULL; state = state->next) {
        const char *newline = dot ? "\\l" : "\n    ";
        if (dot)
            fprintf(out, "  s%" PRIu32 " [shape=cylinder, label=\"%s: ", state->number, state->name);
        else
            fprintf(out, "  %s: ", state->name);
        print_physical_state(plan, &plan->states[state->number], newline, out);
        HAWSER_TRY(print_wire(plan, &plan->states[state->number], newline, out, error));
        fprintf(out, dot ? "\"];\n" : "\n");
    }
    if (dot) {
        print_dot_operators(plan, true, out);
        fprintf(out, "}\n");
        return HAWSER_OK;
    }
    fprintf(out, "operators\n");
    print_tree(plan, program->root, 0, true, out);
    if (program->note != NULL)
        fprintf(out, "\n%s\n", program->note);
    return HAWSER_OK;
}
