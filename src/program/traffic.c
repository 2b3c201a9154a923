/* traffic.c - the most bytes of a state's updates that each node sends in a clock: every block changes every entry, and
 * nothing is packed. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "program/kind.h"
#include "transport/transport.h"

typedef struct tally {
    const hw_plan *plan;
    const hw_view *view;
    uint32_t *sends; /* one number per node */
    uint64_t *out;   /* bytes, by node */
} tally;

/* Counts one message of a block with the values of this many bytes. */
static void send(const tally *t, uint32_t block, uint32_t to, uint64_t bytes)
{
    const hw_plan_settings *settings = &t->plan->settings;
    uint32_t node = hw_view_node(t->view, block);
    if (to == HW_TO_LOCAL || (to < settings->blocks && hw_view_node(t->view, to) == node))
        return;
    if (to < settings->blocks) {
        t->out[node] += bytes;
        return;
    }
    hw_topology_sends(settings->graph, node, t->sends);
    for (uint32_t n = 0; n < settings->nodes; n++)
        t->out[n] += t->sends[n] * bytes;
}

/* Counts the sums of a range that a block sends: one for each subtree of its run. */
static void send_sums(const tally *t, const hawser_state *state, uint32_t block, const hw_adding_range *range)
{
    for (uint32_t b = range->run.begin; b < range->run.end;) {
        send(t, block, range->to, (range->end - range->begin) * hw_state_size(state));
        b = hw_subtree_in(t->plan->settings.blocks, b, range->run).end;
    }
}

static hawser_status add_up(const tally *t, const hawser_state *state, uint32_t block, hawser_error *error)
{
    const hw_plan_settings *settings = &t->plan->settings;
    hw_adding *adding;
    HAWSER_TRY(hw_adding_new(settings->adding, t->view, block, state->number, hw_state_count(state), &adding, error));
    send(t, block, adding->own_to, hw_state_bytes(state));
    for (uint32_t k = 0; adding->adds && k < adding->range_count; k++)
        send_sums(t, state, block, &adding->ranges[k]);
    hw_adding_free(adding);
    return HAWSER_OK;
}

/* Counts what each node sends if its relay has never two updates to add up: each update goes by every link of its range, but
 * not back. */
static hawser_status relay(const tally *t, const hawser_state *state, hawser_error *error)
{
    const hw_plan_settings *settings = &t->plan->settings;
    for (uint32_t node = 0; node < settings->nodes; node++) {
        hw_adding *adding;
        HAWSER_TRY(hw_adding_new(settings->adding, t->view, hw_view_next(t->view, node, 0), state->number,
                                 hw_state_count(state), &adding, error));
        for (uint32_t k = 0; k < adding->range_count; k++) {
            const hw_adding_range *range = &adding->ranges[k];
            uint64_t sends = (uint64_t)settings->blocks * (range->link_count - 1) + hw_view_count(t->view, node);
            t->out[node] += sends * (range->end - range->begin) * hw_state_size(state);
        }
        hw_adding_free(adding);
    }
    return HAWSER_OK;
}

static hawser_status count(const tally *t, const hw_state_plan *own, bool in_step, hawser_error *error)
{
    const hawser_state *state = own->state;
    uint32_t blocks = t->plan->settings.blocks;
    bool summed = hw_kind_of(state)->summed && own->sources == blocks;
    if (!in_step && hw_plan_combines(t->plan, own))
        return relay(t, state, error);
    for (uint32_t block = 0; block < blocks; block++) {
        size_t begin = 0, end = hw_state_count(state);
        if (own->sources != blocks && block != own->updater)
            continue;
        if (hw_kind_of(state)->owned)
            hw_plan_range(t->plan, state, block, &begin, &end);
        if (in_step && summed)
            HAWSER_TRY(add_up(t, state, block, error));
        else
            send(t, block, HW_TO_BLOCKS, (end - begin) * hw_state_size(state));
    }
    return HAWSER_OK;
}

bool hw_plan_combines(const hw_plan *plan, const hw_state_plan *own)
{
    const hw_plan_settings *settings = &plan->settings;
    bool links = settings->adding.kind == HW_ADDING_TREE || settings->adding.kind == HW_ADDING_SERVERS;
    return settings->nodes > 1 && links && hw_kind_of(own->state)->summed && own->sources == settings->blocks &&
           hw_may_combine(&own->state->rule, own->filter);
}

/* Stores, by node, the bytes of a replicated or partitioned state's updates that the node sends in a clock if every block
 * has changed every entry and nothing is packed: an upper bound. With `in_step` it counts a clock under bsp, where updates
 * are added up on the way; else every update is sent by itself. More than one node; `out` has space for all. */
static hawser_status plan_traffic(const hw_plan *plan, const hw_state_plan *own, bool in_step, uint64_t *out,
                                  hawser_error *error)
{
    const hw_plan_settings *settings = &plan->settings;
    uint32_t *sends = NULL;
    hw_view view;
    memset(out, 0, settings->nodes * sizeof *out);
    hawser_status status = hw_view_first(settings->blocks, settings->nodes, &view, error);
    if (status == HAWSER_OK)
        status = HW_NEW(&sends, settings->nodes, "the routes of messages", error);
    if (status == HAWSER_OK)
        status = count(&(tally){plan, &view, sends, out}, own, in_step, error);
    free(sends);
    hw_view_free(&view);
    return status;
}

hawser_status hw_plan_traffic_sum(const hw_plan *plan, const hw_state_plan *own, bool in_step, hw_traffic *traffic,
                                  hawser_error *error)
{
    uint64_t *bytes = NULL;
    *traffic = (hw_traffic){0};
    HAWSER_TRY(HW_NEW(&bytes, plan->settings.nodes, "the bytes between nodes", error));
    hawser_status status = plan_traffic(plan, own, in_step, bytes, error);
    for (uint32_t node = 0; status == HAWSER_OK && node < plan->settings.nodes; node++) {
        bytes[node] *= hw_plan_exchanges(plan, own->state);
        traffic->all += bytes[node];
        traffic->busiest = bytes[node] > bytes[traffic->busiest] ? node : traffic->busiest;
    }
    traffic->of_busiest = bytes[traffic->busiest];
    free(bytes);
    return status;
}

hawser_status hw_plan_updates_sent(const hw_plan *plan, const hw_state_plan *own, bool in_step, double *sent,
                                   double *over_all, hawser_error *error)
{
    const double whole = (double)hw_state_bytes(own->state);
    hw_traffic traffic;
    hw_topology *all = NULL;
    HAWSER_TRY(hw_plan_traffic_sum(plan, own, in_step, &traffic, error));
    *sent = whole > 0 ? (double)traffic.of_busiest / whole : 0;
    HAWSER_TRY(hw_topology_new("all", NULL, plan->settings.nodes, &all, error));
    hw_plan other = *plan;
    other.settings.graph = all;
    other.settings.adding = hw_topology_adding(all);
    hawser_status status = hw_plan_traffic_sum(&other, own, in_step, &traffic, error);
    *over_all = whole > 0 ? (double)traffic.of_busiest / whole : 0;
    hw_topology_free(all);
    return status;
}

void hw_plan_policies(const hw_plan *plan, const hawser_state *state, bool *in_step, bool *apart)
{
    *in_step = *apart = false;
    for (size_t i = 0; i < plan->program->operator_count; i++) {
        const hawser_operator *unit = plan->program->operators[i], *loop = hw_operator_loop(unit);
        if (unit->kind != HW_UNIT || !hw_unit_updates(unit, state))
            continue;
        bool strict = loop == NULL || hw_policy_of(loop->sync).kind == HW_POLICY_BSP;
        *in_step |= strict;
        *apart |= !strict;
    }
}

bool hw_plan_far_apart(const hw_plan *plan)
{
    for (size_t i = 0; i < plan->program->operator_count; i++) {
        const hawser_operator *loop = plan->program->operators[i];
        if (loop->kind == HW_LOOP && hw_policy_of(loop->sync).kind == HW_POLICY_TAP)
            return plan->settings.blocks > 1;
    }
    return false;
}
