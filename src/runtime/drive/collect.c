#include "runtime/drive/collect.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/machine.h"
#include "base/memory.h"
#include "hawser/kept_points.h"
#include "program/kind.h"
#include "runtime/block/part.h"
#include "runtime/drive/agent.h"
#include "runtime/drive/driver.h"
#include "runtime/drive/keep.h"
#include "runtime/job/kept_results.h"

static hawser_worker_figures worker_figures_of(const hw_worker *worker)
{
    const hw_session *session = worker->session;
    return (hawser_worker_figures){.cpu_seconds = worker->cpu_seconds,
                                   .wait_seconds = worker->mailbox.waited,
                                   .wait_input_seconds = worker->mailbox.waits[HW_WAIT_INPUT],
                                   .wait_credit_seconds = worker->mailbox.waits[HW_WAIT_CREDIT],
                                   .wait_reduction_seconds = worker->mailbox.waits[HW_WAIT_REDUCTION],
                                   .last_clock_seconds = fmax(0.0, worker->last_clock - session->began),
                                   .clocks = worker->clocks,
                                   .bytes_sent = worker->mailbox.bytes_sent,
                                   .bytes_received = worker->mailbox.bytes_received,
                                   .messages_sent = worker->mailbox.messages_sent,
                                   .peak_rss = hw_machine_peak_rss(),
                                   .node = session->node};
}

hw_block_record hw_worker_record(const hw_worker *worker)
{
    hw_block_record record = {.block = worker->block, .most_lead = worker->most_lead, .figures = worker_figures_of(worker)};
    memcpy(record.kinds, worker->mailbox.kinds, sizeof record.kinds);
    memcpy(record.staleness, worker->staleness, sizeof record.staleness);
    for (uint32_t i = 0; i < worker->session->program->state_count; i++)
        if (worker->parts[i].replica != NULL)
            record.coalesced += hw_replica_figures_of(worker->parts[i].replica)->deferred;
    return record;
}

bool hw_session_link(const hw_session *session, uint32_t node, hawser_link *link)
{
    hw_net_path path;
    if (session->cluster == NULL || !hw_net_path_of(hw_cluster_net(session->cluster), node, &path) ||
        path.messages_sent == 0)
        return false;
    *link = (hawser_link){.from = session->node,
                          .to = node,
                          .messages_sent = path.messages_sent,
                          .bytes_sent = path.bytes_sent,
                          .busy_seconds = path.busy};
    memcpy(link->transport, path.transport, sizeof link->transport);
    return true;
}

hawser_accept_figures hw_session_accepts(const hw_session *session)
{
    hw_net_accept_figures figures;
    hw_net_accepts(hw_cluster_net(session->cluster), &figures);
    const hw_cluster_dropped dropped = hw_cluster_dropped_messages(session->cluster);
    hawser_accept_figures accepts = {.node = session->node,
                                     .admitted = figures.accepted,
                                     .wrong_key = figures.refused_key,
                                     .malformed = figures.refused_hello,
                                     .timed_out = figures.timed_out,
                                     .evicted = figures.crowded_out,
                                     .late_messages = dropped.late,
                                     .foreign_messages = dropped.foreign};
    _Static_assert(sizeof accepts.last == sizeof figures.last_refused, "one text");
    memcpy(accepts.last, figures.last_refused, sizeof accepts.last);
    return accepts;
}

/* ----------------------------------------------------------------------------------------------------- filling ---- */

static hawser_status make_results(hawser_run *run, const hw_plan *plan, hawser_error *error)
{
    const hawser_program *program = plan->program;
    uint32_t kept = 0;
    HAWSER_TRY(HW_NEW(&run->results, program->state_count, "results", error));
    for (const hawser_state *state = program->states; state != NULL; state = state->next) {
        if (!hw_kind_of(state)->numbers)
            continue;
        hw_result *result = &run->results[run->result_count++];
        result->count = hw_plan_count(plan, state);
        HAWSER_TRY(hw_copy_text(&result->name, state->name, error));
        result->type = state->type;
        result->kept = hw_state_is_kept(state) ? kept++ : HW_NOT_KEPT;
        if (!hw_state_is_kept(state))
            HAWSER_TRY(hw_new_array(&result->values, result->count, hw_state_size(state), "a result", error));
    }
    for (uint32_t i = 0; i < program->metric_count; i++) {
        HAWSER_TRY(hw_copy_text(&run->metric_names[i], program->metrics[i].name, error));
        run->metric_count = i + 1;
    }
    return HAWSER_OK;
}

static hawser_status make_flows(hawser_run *run, hawser_error *error)
{
    static const char *const kinds[HW_KINDS] = {
        [HW_MESSAGE_TRIGGER] = "trigger", [HW_MESSAGE_DONE] = "done",     [HW_MESSAGE_REPORT] = "report",
        [HW_MESSAGE_CREDIT] = "credit",   [HW_MESSAGE_PAUSE] = "pause",   [HW_MESSAGE_ABORT] = "abort",
        [HW_MESSAGE_UPDATE] = "update",   [HW_MESSAGE_GATHER] = "gather", [HW_MESSAGE_RESULT] = "result",
        [HW_MESSAGE_JOIN] = "join",       [HW_MESSAGE_DATA] = "data",     [HW_MESSAGE_ADDEND] = "addend",
        [HW_MESSAGE_ASK] = "ask",         [HW_MESSAGE_SHARE] = "share",   [HW_MESSAGE_FETCH] = "fetch",
        [HW_MESSAGE_COLUMNS] = "columns", [HW_MESSAGE_POINT] = "point",   [HW_MESSAGE_COMBINED] = "combined",
        [HW_MESSAGE_PART] = "moving",     [HW_MESSAGE_RECORD] = "record"};
    HAWSER_TRY(HW_NEW(&run->flows, run->result_count + HW_KINDS, "figures", error));
    for (uint32_t i = 0; i < run->result_count; i++)
        run->flows[i] = (hawser_flow){.name = run->results[i].name, .state = true};
    for (size_t k = 0; k < HW_KINDS; k++)
        run->flows[run->result_count + k].name = kinds[k] != NULL ? kinds[k] : "other";
    return HAWSER_OK;
}

static hawser_status make_figures(hawser_run *run, const hw_session *session, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(&run->workers, session->blocks, "figures", error));
    HAWSER_TRY(HW_NEW(&run->staleness, HW_STALENESS_BUCKETS, "figures", error));
    HAWSER_TRY(HW_NEW(&run->accepts, session->nodes, "figures", error));
    run->figures = (hawser_figures){
        .workers = session->blocks, .worker = run->workers, .staleness = run->staleness, .nodes = session->nodes};
    HAWSER_TRY(HW_NEW(&run->lines, session->program->operator_count, "log lines", error));
    run->line_count = session->program->operator_count;
    for (size_t i = 0; i < run->line_count; i++) {
        const hawser_operator *op = session->program->operators[session->plan->order[i]];
        run->lines[i] = (hawser_event_figures){.loop = op->kind == HW_LOOP, .least_seconds = INFINITY};
        char *name = NULL;
        if (op->name != NULL)
            HAWSER_TRY(hw_copy_text(&name, op->name, error));
        run->lines[i].name = name;
    }
    return HAWSER_OK;
}

hawser_status hw_run_new(const hw_session *session, hawser_run **out, hawser_error *error)
{
    *out = NULL;
    hawser_run *run = NULL;
    HAWSER_TRY(HW_NEW(&run, 1, "a run", error));
    run->messages = session->job->messages;
    run->node = hawser_job_node(session->job);
    run->not_finite.state = UINT32_MAX;
    hawser_status status = make_results(run, session->plan, error);
    if (status == HAWSER_OK)
        status = make_flows(run, error);
    if (status == HAWSER_OK)
        status = make_figures(run, session, error);
    if (status != HAWSER_OK) {
        hawser_run_free(run);
        return status;
    }
    *out = run;
    return HAWSER_OK;
}

static void run_add_kinds(hawser_run *run, const hw_flow kinds[HW_KINDS]);

void hw_run_add_block(hawser_run *run, const hw_block_record *record)
{
    hawser_figures *figures = &run->figures;
    const hawser_worker_figures *worker = &record->figures;
    run->workers[record->block] = *worker;
    if (worker->clocks > figures->clocks)
        figures->clocks = worker->clocks;
    figures->bytes_exchanged += worker->bytes_sent;
    figures->coalesced += record->coalesced;
    run_add_kinds(run, record->kinds);
    if (record->most_lead > figures->most_lead)
        figures->most_lead = record->most_lead < UINT32_MAX ? (uint32_t)record->most_lead : UINT32_MAX;
    for (size_t i = 0; i < HW_STALENESS_BUCKETS; i++) {
        run->staleness[i] += record->staleness[i];
        if (record->staleness[i] != 0 && i + 1 > figures->staleness_count)
            figures->staleness_count = i + 1;
    }
}

void hw_run_add_events(hawser_run *run, const hw_session *session, const void *events)
{
    for (size_t i = 0; i < run->line_count; i++) {
        hw_event event;
        memcpy(&event, (const char *)events + session->plan->order[i] * sizeof event, sizeof event);
        hawser_event_figures *line = &run->lines[i];
        line->count += event.count;
        line->bytes += event.bytes;
        line->seconds += event.seconds;
        line->wait_seconds += event.waited;
        line->least_seconds = fmin(line->least_seconds, event.seconds);
        line->most_seconds = fmax(line->most_seconds, event.seconds);
    }
}

/* Finds the result of a state: results are in the order of the states other than data. */
static hw_result *result_of(hawser_run *run, const hawser_state *state)
{
    hw_result *result = run->results;
    for (const hawser_state *other = state->program->states; other != state; other = other->next)
        result += hw_kind_of(other)->numbers;
    return result;
}

static void add_flow(hawser_run *run, const hawser_state *state, const hw_flow *flow)
{
    if (!hw_kind_of(state)->numbers)
        return;
    hawser_flow *to = &run->flows[result_of(run, state) - run->results];
    to->messages += flow->messages;
    to->bytes_plain += flow->plain;
    to->bytes_sent += flow->bytes;
}

void hw_run_add_flows(hawser_run *run, const hw_session *session, const void *flows)
{
    for (const hawser_state *state = session->program->states; state != NULL; state = state->next) {
        hw_flow flow;
        memcpy(&flow, (const char *)flows + state->number * sizeof flow, sizeof flow);
        add_flow(run, state, &flow);
    }
}

static void run_add_kinds(hawser_run *run, const hw_flow kinds[HW_KINDS])
{
    for (size_t k = 0; k < HW_KINDS; k++) {
        hawser_flow *to = &run->flows[run->result_count + k];
        to->messages += kinds[k].messages;
        to->bytes_plain += kinds[k].plain;
        to->bytes_sent += kinds[k].bytes;
    }
}

void hw_run_add_not_finite(hawser_run *run, const hw_not_finite *found)
{
    hw_not_finite *first = &run->not_finite;
    if (found->state < first->state || (found->state == first->state && found->number < first->number))
        *first = *found;
    first->text[sizeof first->text - 1] = '\0';
}

hawser_status hw_run_add_link(hawser_run *run, const hawser_link *link, hawser_error *error)
{
    HAWSER_TRY(HW_GROW(&run->links, &run->link_capacity, run->link_count + 1, "the links", error));
    run->links[run->link_count++] = *link;
    run->figures.links = run->links;
    run->figures.link_count = run->link_count;
    return HAWSER_OK;
}

/* Adds the figures of one node; the caller made space for all nodes. */
void hw_run_add_accepts(hawser_run *run, const hawser_accept_figures *accepts)
{
    run->accepts[run->figures.accept_count++] = *accepts;
    run->figures.accepts = run->accepts;
}

/* --------------------------------------------------------------------------------------------------- collecting ---- */

static void collect_worker(hawser_run *run, const hw_session *session, const hw_worker *worker)
{
    hw_block_record record = hw_worker_record(worker);
    hw_run_add_block(run, &record);
    hw_run_add_events(run, session, worker->events);
    for (uint32_t i = 0; i < session->program->state_count; i++)
        add_flow(run, worker->parts[i].state, &worker->parts[i].flow);
}

void hw_run_take_merged(hawser_run *run, const hw_session *session)
{
    for (uint32_t i = 0; i < session->program->state_count; i++) {
        hw_state_part *part = &session->workers[0].parts[i];
        if (!part->kind->alike)
            continue;
        hw_result *result = result_of(run, part->state);
        free(result->values);
        result->values = part->kind->take_merged(part);
    }
}

void hw_run_take_kept(hawser_run *run, hw_session *session)
{
    if (run == NULL || session->kept == NULL)
        return;
    run->kept = session->kept;
    session->kept = NULL;
    for (uint32_t i = 0; i < run->result_count; i++)
        if (run->results[i].kept != HW_NOT_KEPT)
            run->kept->states[run->results[i].kept].name = run->results[i].name;
}

static hawser_status collect_others(hawser_run *run, const hw_session *session, hawser_error *error)
{
    if (session->cluster != NULL) {
        hawser_accept_figures accepts = hw_session_accepts(session);
        hw_run_add_accepts(run, &accepts);
    }
    for (uint32_t node = 0; node < session->nodes; node++) {
        hawser_link link;
        if (node != session->node && hw_session_link(session, node, &link))
            HAWSER_TRY(hw_run_add_link(run, &link, error));
        hw_message **report = &session->driver->node_reports[node];
        if (*report == NULL)
            continue;
        HAWSER_TRY(hw_gather_take(session, *report, run, error));
        session->driver->equal[node] = hw_gather_equals(*report, session->driver->digest);
        hw_message_free(*report);
        *report = NULL;
    }
    return HAWSER_OK;
}

/* Drops the lines of operators that have no name or were never run. */
static void drop_empty_lines(hawser_run *run)
{
    size_t kept = 0;
    for (size_t i = 0; i < run->line_count; i++) {
        if (run->lines[i].count != 0 && run->lines[i].name != NULL)
            run->lines[kept++] = run->lines[i];
        else
            free((char *)run->lines[i].name);
    }
    run->line_count = kept;
    run->figures.events = run->lines;
    run->figures.event_count = kept;
}

static void drop_empty_flows(hawser_run *run)
{
    size_t kept = 0;
    for (size_t i = 0; i < run->result_count + HW_KINDS; i++)
        if (run->flows[i].messages != 0)
            run->flows[kept++] = run->flows[i];
    run->figures.flows = run->flows;
    run->figures.flow_count = kept;
}

static hawser_status check_local(hawser_run *run, const hw_session *session, hawser_error *error)
{
    const hw_not_finite *bad = &run->not_finite;
    const hawser_state *state = session->program->states;
    while (state != NULL && state->number != bad->state)
        state = state->next;
    return state == NULL ? HAWSER_OK
                         : hawser_fail(error, HAWSER_NOT_FINITE, "%s state '%s': number %" PRIu64 " of the whole became %s",
                                       hw_state_kind_name(state->kind), state->name, bad->number, bad->text);
}

void hw_run_name_asked(hawser_run *run, const hw_session *session, uint64_t asked)
{
    uint32_t node = (uint32_t)(asked >> 32) - 1;
    if (strcmp(run->figures.stop_reason, "signal") != 0 || asked == 0 || node >= session->nodes)
        return;
    run->figures.interrupted_signal = (int)(uint32_t)asked;
    if (session->nodes == 1)
        return;
    snprintf(run->interrupted_by, sizeof run->interrupted_by, "node %u (%s)", node,
             hw_cluster_member(session->cluster, node)->name);
    run->figures.interrupted_by = run->interrupted_by;
}

hawser_status hw_run_collect(hw_session *session, double seconds, hawser_run **out, hawser_error *error)
{
    *out = NULL;
    hawser_run *run = NULL;
    HAWSER_TRY(hw_run_new(session, &run, error));
    run->figures.seconds = seconds;
    if (session->driver->repeatable != NULL) { /* which may be of the checkpoint, which is freed before the run */
        (void)snprintf(run->repeatable, sizeof run->repeatable, "%s", session->driver->repeatable);
        run->figures.repeatable = run->repeatable;
    }
    run->changes = session->driver->policies.changes;
    session->driver->policies.changes = (hw_policy_changes){0};
    run->figures.changes = run->changes.all;
    run->figures.change_count = run->changes.count;
    run->figures.changes_left_out = run->changes.left_out;
    hw_causes_figures(session->driver, run->figures.causes);
    (void)snprintf(run->stop_reason, sizeof run->stop_reason, "%s", session->driver->stop_reason); /* likewise */
    run->figures.stop_reason = run->stop_reason;
    run->figures.checkpoints = session->driver->recording.taken;
    run->figures.checkpoint_wait_seconds = session->driver->recording.waited;
    hw_run_name_asked(run, session, atomic_load(&session->job->asked));
    memcpy(run->chosen, session->job->settings.chosen, sizeof run->chosen);
    run->figures.chosen = run->chosen[0] != '\0' ? run->chosen : NULL;
    const hw_driver *driver = session->driver;
    run->is_point = driver->points.result;
    memcpy(run->metrics, run->is_point ? driver->points.last[driver->points.number].metrics[0] : driver->metrics,
           run->metric_count * sizeof *run->metrics);
    if (session->nodes > 1)
        session->driver->digest = hw_session_digest(session);
    hw_run_take_merged(run, session);
    hawser_status status = hw_keep_take(session, error);
    if (status == HAWSER_OK) {
        hw_not_finite found;
        hw_keep_check(session, &found);
        hw_run_add_not_finite(run, &found);
    }
    hw_keep_count(session);
    for (uint32_t i = 0; i < session->local; i++)
        collect_worker(run, session, &session->workers[i]);
    run_add_kinds(run, session->driver->mailbox.kinds);
    if (status == HAWSER_OK)
        status = collect_others(run, session, error);
    if (status == HAWSER_OK && driver->error.status >= HAWSER_OK)
        status = check_local(run, session, error);
    drop_empty_lines(run);
    drop_empty_flows(run);
    if (status != HAWSER_OK) {
        hawser_run_free(run);
        return status;
    }
    hw_run_take_kept(run, session);
    *out = run;
    return HAWSER_OK;
}

void hawser_run_free(hawser_run *run)
{
    if (run == NULL)
        return;
    hw_kept_run_release(run->kept);
    for (uint32_t i = 0; i < run->result_count; i++) {
        free(run->results[i].name);
        free(run->results[i].values);
    }
    for (uint32_t i = 0; i < HW_METRICS_MOST; i++)
        free(run->metric_names[i]);
    for (size_t i = 0; i < run->line_count; i++)
        free((char *)run->lines[i].name);
    free(run->results);
    free(run->links);
    free(run->accepts);
    free(run->flows);
    free(run->workers);
    free(run->staleness);
    free(run->changes.all);
    free(run->lines);
    free(run);
}

double hawser_result_metric(const hawser_run *run, const char *metric)
{
    for (uint32_t i = 0; run != NULL && metric != NULL && i < run->metric_count; i++)
        if (strcmp(run->metric_names[i], metric) == 0)
            return run->metrics[i];
    return (double)NAN;
}

bool hawser_run_kept(const hawser_run *run)
{
    return run != NULL && run->is_point;
}

const hawser_figures *hawser_run_figures(const hawser_run *run)
{
    return run != NULL ? &run->figures : NULL;
}
