/* phase.c - a phase on one block: clocks on credit, an exchange at the end of each, and a quiescent point at the end of the
 * phase. */
#include "runtime/block/phase.h"
#include "runtime/block/part.h"
#include "runtime/block/stored.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/finite.h"
#include "base/order.h"

#define EACH_LIVE(worker, part)                                                                                             \
    for (hw_state_part *part = (worker)->parts; part < (worker)->parts + (worker)->session->program->state_count; part++)   \
        if (part->live)
/* The live states that are replicas. */
#define EACH_REPLICA(worker, part) EACH_LIVE(worker, part) if (part->replica != NULL)
/* The live states that units of this stage read or update. */
#define EACH_USED(worker, part) EACH_LIVE(worker, part) if (hw_worker_uses(worker, part))

/* Makes one more copy of a message to several places; the last place gets the message itself. */
static hawser_status copy_for_one(hw_worker *worker, hw_message *message, bool last, hw_message **copy)
{
    *copy = message;
    if (last)
        return HAWSER_OK;
    hawser_status status = hw_message_share(message, copy, &worker->error);
    if (status != HAWSER_OK)
        hw_message_free(message);
    return status;
}

/* Frees a message that was not yet sent to all places if a send failed. */
static hawser_status unless_sent(hw_message *message, bool last, hawser_status status)
{
    if (status != HAWSER_OK && !last)
        hw_message_free(message);
    return status;
}

/* Sends to the other blocks of this node, in an order that begins behind the own block. */
static hawser_status send_here(hw_worker *worker, hw_message *message, hw_flow *flow)
{
    const hw_session *session = worker->session;
    uint32_t local = session->local, own = worker->mailbox.runner;
    hw_message *copy;
    for (uint32_t i = 1; i < local; i++) {
        HAWSER_TRY(copy_for_one(worker, message, i + 1 == local, &copy));
        uint64_t length = copy->envelope.length;
        if (flow != NULL)
            *flow = (hw_flow){flow->messages + 1, flow->plain + length, flow->bytes + sizeof copy->envelope + length};
        hawser_status status = hw_send(&worker->mailbox, session->own[(own + i) % local], copy);
        HAWSER_TRY(unless_sent(message, i + 1 == local, status));
    }
    return HAWSER_OK;
}

hawser_status hw_worker_send(hw_worker *worker, hw_message *message, size_t entries, hw_flow *flow)
{
    const hw_session *session = worker->session;
    uint32_t to = message->envelope.destination;
    bool here = session->local > 1 && to != HW_TO_NODES, elsewhere = session->nodes > 1 && to != HW_TO_LOCAL;
    hw_message *copy;
    if (message->envelope.kind == HW_MESSAGE_COMBINED) {
        uint32_t node = hw_view_node(&session->view, to);
        worker->rounds[node].bytes += message->envelope.length;
        return hw_send_to_node(&worker->mailbox, node, message, hw_combined_bytes(message, entries), flow);
    }
    if (to < session->blocks)
        return hw_send_update(&worker->mailbox, to, message, entries, flow);
    if (elsewhere) {
        HAWSER_TRY(copy_for_one(worker, message, !here, &copy));
        hawser_status status = hw_spread(&worker->mailbox, copy, entries, flow);
        HAWSER_TRY(unless_sent(message, !here, status));
    }
    if (here)
        return send_here(worker, message, flow);
    if (!elsewhere)
        hw_message_free(message);
    return HAWSER_OK;
}

static hawser_status send_update(hw_worker *worker, hw_state_part *part, hw_message *message)
{
    message->envelope.loop = worker->current->number;
    return hw_worker_send(worker, message, hw_state_count(part->state), &part->flow);
}

static hawser_status send_updates(hw_worker *worker, hw_state_part *part, hw_message *message)
{
    for (; message != NULL; message = hw_replica_next(part->replica))
        HAWSER_TRY(send_update(worker, part, message));
    return HAWSER_OK;
}

hawser_status hw_worker_send_next(hw_worker *worker, hw_state_part *part)
{
    uint64_t bytes = worker->mailbox.bytes_sent;
    HAWSER_TRY(send_updates(worker, part, hw_replica_next(part->replica)));
    if (worker->current != NULL)
        worker->events[worker->current->number].bytes += worker->mailbox.bytes_sent - bytes;
    return HAWSER_OK;
}

void hw_worker_commit(hw_worker *worker)
{
    for (uint32_t i = 0; i < worker->session->program->state_count; i++) {
        hw_state_part *part = &worker->parts[i];
        if (part->pending)
            part->kind->commit(part);
        part->pending = false;
    }
}

/* Sends a cut and commits the local states that are tied to its state; `later`: they are committed once all blocks have
 * ended the clock. */
static hawser_status send_cut(hw_worker *worker, hw_state_part *part, hw_message *message, bool later)
{
    HAWSER_TRY(send_updates(worker, part, message != NULL ? message : hw_replica_next(part->replica)));
    for (uint32_t i = 0; i < worker->session->program->state_count; i++) {
        hw_state_part *local = &worker->parts[i];
        if (local->copy == NULL || local->state->tied_to != part->state)
            continue;
        size_t bad = hw_first_not_finite_f64(local->work, local->count);
        if (bad < local->count)
            return hawser_fail(&worker->error, HAWSER_NOT_FINITE,
                               "local state '%s', block %u: number %zu became %g in clock %llu; take smaller steps",
                               local->state->name, worker->block, local->begin + bad, ((const double *)local->work)[bad],
                               (unsigned long long)(worker->first_clock + worker->clock));
        local->pending = true;
    }
    if (!later)
        hw_worker_commit(worker);
    return HAWSER_OK;
}

/* Returns whether the links to other nodes are busy and deferred updates have not waited for long. */
static bool should_defer(const hw_worker *worker)
{
    enum { SECONDS_MOST = 1 };
    const hw_session *session = worker->session;
    hw_transport *transport = session->transport;
    if (worker->moves) /* others may wait for these changes while this block waits for a part of theirs */
        return false;
    if (session->job->backlog == 0 || session->nodes == 1 || transport->ops->pending(transport) <= session->job->backlog)
        return false;
    return !(worker->deferring > 0) || session->executor->ops->now(session->executor) - worker->deferring < SECONDS_MOST;
}

static bool has_waiting(hw_worker *worker)
{
    for (uint32_t i = 0; i < worker->session->program->state_count; i++)
        if (worker->parts[i].replica != NULL && hw_replica_waits(worker->parts[i].replica))
            return true;
    return false;
}

/* Returns whether the link to a block's node may get sums: it may have those of one round in its queue, so that it is never
 * idle. What waits longer is added up. */
static bool link_is_free(void *argument, uint32_t block)
{
    hw_worker *worker = argument;
    uint32_t node = hw_view_node(&worker->session->view, block);
    hw_round *round = &worker->rounds[node];
    hw_transport *transport = worker->session->transport;
    if (round->number != worker->round && transport->ops->pending_to(transport, node) > round->bytes)
        return false;
    if (round->number != worker->round)
        *round = (hw_round){.number = worker->round};
    return true;
}

hawser_status hw_worker_relay(hw_worker *worker, bool now)
{
    const double poll_seconds = 0.001;
    worker->mailbox.poll = 0;
    if (hw_worker_is_over(worker) || worker->leaving || worker->failed || !has_waiting(worker))
        return HAWSER_OK;
    worker->round++;
    for (uint32_t i = 0; i < worker->session->program->state_count; i++) {
        hw_state_part *part = &worker->parts[i];
        if (part->replica == NULL || !hw_replica_waits(part->replica))
            continue;
        HAWSER_TRY(hw_replica_send_waiting(part->replica, now ? NULL : link_is_free, worker, &worker->error));
        HAWSER_TRY(hw_worker_send_next(worker, part));
    }
    worker->mailbox.poll = has_waiting(worker) ? poll_seconds : 0;
    return HAWSER_OK;
}

hawser_status hw_worker_cut(hw_worker *worker, hw_state_part *part, bool last, bool flush)
{
    enum { CLOCKS_MOST = 64 };
    hw_message *message = NULL;
    if (!flush && should_defer(worker) &&
        hw_replica_defer(part->replica, hw_worker_exchange(worker, part), last, CLOCKS_MOST)) {
        if (!(worker->deferring > 0))
            worker->deferring = worker->session->executor->ops->now(worker->session->executor);
        return HAWSER_OK;
    }
    HAWSER_TRY(hw_replica_cut(part->replica, hw_worker_exchange(worker, part), last, flush, &message, &worker->error));
    return send_cut(worker, part, message, !flush && worker->policy.kind == HW_POLICY_BSP);
}

static bool has_deferred(hw_worker *worker)
{
    EACH_REPLICA(worker, part)
    if (hw_replica_deferred(part->replica) > 0)
        return true;
    return false;
}

/* Sends deferred updates before the block waits for anything: other blocks may wait for them. */
static hawser_status send_deferred(hw_worker *worker)
{
    if (!(worker->deferring > 0))
        return HAWSER_OK;
    EACH_REPLICA(worker, part)
    {
        hw_message *message = NULL;
        if (hw_replica_deferred(part->replica) == 0)
            continue;
        HAWSER_TRY(hw_replica_cut_deferred(part->replica, &message, &worker->error));
        HAWSER_TRY(send_cut(worker, part, message, false));
    }
    worker->deferring = 0;
    return HAWSER_OK;
}

/* ------------------------------------------------------------------------------------------------------- waiting ---- */

static uint64_t own_limit(const hw_worker *worker)
{
    return worker->limit < worker->final_limit ? worker->limit : worker->final_limit;
}

/* Uses a credit only when it is needed, so that what it announces takes effect at the same clock in every run. */
static void use_credit(hw_worker *worker)
{
    while (worker->credits != NULL && !hw_admit_clock(worker->limit, worker->clock)) {
        hw_message *message = worker->credits;
        worker->credits = message->next;
        if (worker->credits == NULL)
            worker->credits_last = NULL;
        hw_worker_obey(worker, message);
    }
}

/* If a unit reduces, a clock begins when all blocks have ended the one before. */
static bool reductions_are_over(const hw_worker *worker)
{
    return !worker->reduces || hw_reduction_all_ended(worker->reduction, worker->clock);
}

hw_policy hw_worker_waits_by(const hw_worker *worker, const hw_state_part *part)
{
    if (!worker->own_syncs)
        return hw_replica_policy(part->replica);
    hw_policy policy = hw_plan_wait(worker->session->plan, worker->current, part->state, worker->stage, worker->policy);
    return hw_replica_scaled(part->replica, policy);
}

static bool inputs_are_in(hw_worker *worker)
{
    EACH_USED(worker, part)
    {
        if (part->kind->ready(worker, part))
            continue;
        if (part->replica != NULL)
            worker->spent.awaited = hw_clock_table_slowest(hw_replica_clocks(part->replica));
        return false;
    }
    return true;
}

/* Notes what a wait is for if a condition does not hold. Returns whether it holds. */
static bool or_waits_for(hw_worker *worker, bool holds, hw_wait_cause cause)
{
    if (!holds)
        worker->mailbox.cause = cause;
    return holds;
}

/* Returns true if the next clock may run, or if no clock is left. */
static bool may_go_on(void *argument)
{
    hw_worker *worker = argument;
    if (hw_remembers_now(worker))
        return true;
    if (worker->paused)
        return or_waits_for(worker, false, HW_WAIT_CREDIT);
    if (worker->clock >= worker->final_limit)
        return true;
    use_credit(worker);
    /* Credit is last. Where a test decides after each clock, it comes when all have ended the clock: a wait for a slow block
     * would look like one for the driver. */
    return or_waits_for(worker, inputs_are_in(worker), HW_WAIT_INPUT) &&
           or_waits_for(worker, reductions_are_over(worker), HW_WAIT_REDUCTION) &&
           or_waits_for(worker, hw_admit_clock(own_limit(worker), worker->clock), HW_WAIT_CREDIT);
}

static void record_wait(hw_worker *worker, bool for_input)
{
    if (worker->log != NULL)
        hw_log_put(worker->log, &(hw_event_record){.kind = HW_EVENT_WAIT,
                                                   .flags = for_input ? HW_EVENT_INPUT : 0,
                                                   .actor = worker->block,
                                                   .part = worker->stage,
                                                   .epoch = worker->epoch + worker->session->program->state_count,
                                                   .clock = worker->clock});
}

/* Waits until the next clock may run, and records why it may not run yet. */
static hawser_status wait_to_go_on(hw_worker *worker)
{
    bool has_credit = hw_admit_clock(own_limit(worker), worker->clock) && !worker->paused;
    if (worker->log != NULL && !may_go_on(worker) && !(has_credit && inputs_are_in(worker)))
        record_wait(worker, has_credit);
    return hw_wait(&worker->mailbox, may_go_on, worker);
}

static bool stage_may_begin(void *argument)
{
    hw_worker *worker = argument;
    return !worker->leaving && inputs_are_in(worker);
}

/* Waits until the next stage of the clock may run. A clock that has begun is ended, whatever the credit. */
static hawser_status wait_for_stage(hw_worker *worker)
{
    HAWSER_TRY(hw_drain(&worker->mailbox));
    if (!inputs_are_in(worker)) {
        HAWSER_TRY(send_deferred(worker));
        record_wait(worker, true);
    }
    return hw_wait(&worker->mailbox, stage_may_begin, worker);
}

static bool all_are_in(void *argument)
{
    hw_worker *worker = argument;
    if (worker->leaving)
        return false;
    EACH_LIVE(worker, part)
    if (!part->kind->settled(worker, part))
        return or_waits_for(worker, false, HW_WAIT_INPUT);
    return or_waits_for(worker, reductions_are_over(worker), HW_WAIT_REDUCTION);
}

/* ------------------------------------------------------------------------------------------------------ one clock ---- */

/* Returns how many clocks old the oldest input of this stage is. */
static uint64_t input_age(hw_worker *worker)
{
    uint64_t most = 0;
    EACH_REPLICA(worker, part)
    {
        if (!hw_worker_uses(worker, part))
            continue;
        uint64_t least = hw_clock_table_least(hw_replica_clocks(part->replica));
        uint64_t late = hw_beyond(hw_worker_exchange(worker, part), least), each = hw_bits_set(part->use.updates);
        uint64_t age = late / each + (late % each != 0);
        most = age > most ? age : most;
    }
    return most;
}

static void note_staleness(hw_worker *worker, uint64_t age)
{
    worker->staleness[age < HW_STALENESS_BUCKETS ? age : HW_STALENESS_BUCKETS - 1]++;
    if (age > worker->most_lead)
        worker->most_lead = age;
}

static hawser_status check_guarantee(hw_worker *worker)
{
    EACH_REPLICA(worker, part)
    {
        if (!hw_worker_uses(worker, part))
            continue;
        const hw_clock_table *clocks = hw_replica_clocks(part->replica);
        uint64_t exchange = hw_worker_exchange(worker, part);
        /* The lead is bounded by the sync of the loop, because other blocks may be between two waits by a unit's own. */
        bool holds = hw_ssp_holds(hw_replica_policy(part->replica), clocks, exchange) &&
                     hw_admit_read(hw_worker_waits_by(worker, part), clocks, exchange);
        assert(holds);
        if (worker->session->job->check && !holds)
            return hawser_fail(&worker->error, HAWSER_INTERNAL,
                               "state '%s' breaks the sync policy's guarantee in clock %llu", part->state->name,
                               (unsigned long long)worker->clock);
    }
    return HAWSER_OK;
}

static hawser_status run_units(hw_worker *worker)
{
    size_t count;
    const hawser_operator *op = worker->current;
    hw_session *session = worker->session;
    const hw_step *steps = hw_plan_steps(session->plan, op, &count);
    double slow = session->job->slow_block == worker->block ? session->job->slow_factor - 1 : 0;
    double cpu = slow > 0 ? hw_thread_cpu_seconds() : 0;
    for (size_t i = 0; i < count; i++) {
        const hawser_operator *unit = steps[i].unit;
        bool elsewhere = unit->one && session->plan->placement[unit->number] != worker->block;
        if (elsewhere || steps[i].stage != worker->stage || !hw_step_runs(&steps[i], worker->choices))
            continue;
        hw_event *event = &worker->events[unit->number];
        double start = hw_seconds(), waited = worker->mailbox.waited;
        HAWSER_TRY(hw_context_run(worker, &steps[i], NULL));
        start = hw_seconds() - start;
        waited = worker->mailbox.waited - waited;
        event->count++;
        event->seconds += start;
        event->waited += waited;
        worker->spent.units += start - waited;
    }
    if (slow > 0 && op->kind == HW_LOOP) {
        cpu = slow * (hw_thread_cpu_seconds() - cpu);
        session->executor->ops->sleep(session->executor, worker->mailbox.runner, cpu);
        worker->spent.units += cpu;
    }
    return HAWSER_OK;
}

/* Decides whether the CPU time of the clock's exchange is measured. Blocks that share a thread cannot measure their own. */
static void begin_measuring(hw_worker *worker)
{
    const double seconds_between = 0.001;
    const hw_session *session = worker->session;
    hw_spent *spent = &worker->spent;
    double now = session->job->fibers ? 0 : hw_seconds();
    spent->measures = !session->job->fibers && now - spent->measured_at >= seconds_between;
    if (spent->measures)
        spent->measured_at = now;
    spent->exchanging = spent->measures ? 0 : -1;
}

/* Begins and ends a part of the exchange whose CPU time is measured. */
static double exchange_begins(const hw_worker *worker)
{
    return worker->spent.measures ? hw_thread_cpu_seconds() : 0;
}

static void exchange_ends(hw_worker *worker, double began)
{
    if (worker->spent.measures)
        worker->spent.exchanging += hw_thread_cpu_seconds() - began;
}

/* Fills what the report says of the block's time, and begins with the next one. */
static void report_spent(hw_worker *worker)
{
    hw_spent *spent = &worker->spent;
    const hw_session *session = worker->session;
    double now = session->executor->ops->now(session->executor);
    worker->report.seconds = spent->reported_at > 0 ? now - spent->reported_at : 0;
    spent->reported_at = now;
    worker->report.units = spent->units;
    worker->report.exchanging = spent->exchanging;
    worker->report.awaited = spent->awaited;
    for (int cause = 0; cause < HW_WAIT_CAUSES; cause++) {
        worker->report.waits[cause] = worker->mailbox.waits[cause] - spent->reported[cause];
        spent->reported[cause] = worker->mailbox.waits[cause];
    }
    spent->units = 0;
    spent->awaited = UINT64_MAX;
}

static hawser_status send_report(hw_worker *worker)
{
    enum { QUIET_MOST = 64 }; /* clocks that an observer may see late */
    hw_message *message = NULL;
    HAWSER_TRY(hw_message_new(sizeof worker->report, &message, &worker->error));
    message->envelope.kind = HW_MESSAGE_REPORT;
    message->envelope.clock = worker->clock;
    /* Close to an agreed end the report need not wake the driver, which has nothing to send before that end. */
    message->quiet = worker->policy.kind == HW_POLICY_BSP && worker->final_limit - worker->clock <= QUIET_MOST;
    worker->report.bytes = worker->mailbox.bytes_sent + hw_stored_bytes(worker);
    worker->report.lead = worker->most_lead;
    report_spent(worker);
    memcpy(message->payload, &worker->report, sizeof worker->report);
    return hw_send(&worker->mailbox, worker->session->blocks, message);
}

/* Returns HAWSER_OK if the stage has ended; HAWSER_VIEW_CHANGED if it is to run again, because its first run was a
 * rehearsal. */
static hawser_status end_rehearsal(hw_worker *worker, hw_rehearsal *rehearsal)
{
    if (rehearsal->values != NULL)
        return hw_rehearsal_compare(worker, rehearsal);
    if (!hw_rehearses_clock(worker, HW_REHEARSES_STAGE) || !hw_redo_repeats(worker))
        return HAWSER_OK;
    HAWSER_TRY(hw_rehearsal_keep(worker, rehearsal));
    return HAWSER_VIEW_CHANGED;
}

/* Runs the stage's units, again each time that the view has changed meanwhile. What they did is taken back if they fail. */
static hawser_status run_units_over(hw_worker *worker, hw_rehearsal *rehearsal)
{
    HAWSER_TRY(hw_redo_keep(worker));
    for (;;) {
        hawser_status status = run_units(worker);
        if (status == HAWSER_OK)
            status = end_rehearsal(worker, rehearsal);
        if (status == HAWSER_OK)
            return HAWSER_OK;
        hw_worker_roll_back(worker);
        if (status != HAWSER_VIEW_CHANGED)
            return status;
        HAWSER_TRY(hw_redo_go_back(worker));
    }
}

/* Merges what the stage reads, runs its units and cuts what they have changed. */
static hawser_status run_stage(hw_worker *worker, bool empty, uint64_t *age)
{
    uint64_t own = input_age(worker);
    *age = own > *age ? own : *age;
    HAWSER_TRY(check_guarantee(worker));
    double began = exchange_begins(worker);
    hw_worker_commit(worker);
    EACH_USED(worker, part)
    HAWSER_TRY(part->kind->merge(worker, part));
    exchange_ends(worker, began);
    HAWSER_TRY(hw_points_begin_clock(worker));
    hw_rehearsal rehearsal = {0};
    hawser_status status = empty ? HAWSER_OK : run_units_over(worker, &rehearsal);
    worker->read_back = rehearsal.values != NULL;
    hw_rehearsal_free(worker, &rehearsal);
    HAWSER_TRY(status);
    uint64_t bytes = worker->mailbox.bytes_sent;
    if (worker->reduces && worker->stage + 1 == hw_plan_stages(worker->session->plan, worker->current))
        HAWSER_TRY(hw_worker_end_reductions(worker));
    began = exchange_begins(worker);
    EACH_LIVE(worker, part)
    if (hw_worker_updates(worker, part))
        HAWSER_TRY(part->kind->cut(worker, part));
    exchange_ends(worker, began);
    worker->events[worker->current->number].bytes += worker->mailbox.bytes_sent - bytes;
    return HAWSER_OK;
}

/* Takes and records how the branches of the loop are chosen in this clock, and the stages in which a unit runs then. */
static void take_choices(hw_worker *worker)
{
    size_t count;
    const hw_step *steps = hw_plan_steps(worker->session->plan, worker->current, &count);
    uint64_t stages = 0;
    worker->choices = hw_worker_choices(worker, worker->clock);
    for (size_t i = 0; i < count; i++)
        stages |= (uint64_t)hw_step_runs(&steps[i], worker->choices) << steps[i].stage;
    if (worker->log != NULL)
        hw_log_put(worker->log, &(hw_event_record){.kind = HW_EVENT_CHOSEN,
                                                   .actor = worker->block,
                                                   .epoch = worker->epoch + worker->session->program->state_count,
                                                   .clock = worker->clock,
                                                   .first = worker->choices,
                                                   .last = stages});
}

static void begin_clock(hw_worker *worker, bool empty)
{
    if (worker->branches)
        take_choices(worker);
    worker->started = worker->clock + 1;
    atomic_store_explicit(&worker->mailbox.work.clock, worker->first_clock + worker->started, memory_order_relaxed);
    worker->report.mask = 0;
    worker->report.empty = empty;
    begin_measuring(worker);
    if (worker->reduces)
        hw_reduction_begin_clock(worker->reduction, worker->clock);
}

static hawser_status end_clock(hw_worker *worker, bool empty)
{
    uint64_t bytes = worker->mailbox.bytes_sent;
    HAWSER_TRY(hw_parts_end_clock(worker, empty));
    HAWSER_TRY(hw_stored_settle(worker));
    worker->events[worker->current->number].bytes += worker->mailbox.bytes_sent - bytes;
    if (!has_deferred(worker))
        worker->deferring = 0;
    HAWSER_TRY(send_report(worker));
    worker->sent = ++worker->clock;
    if (worker->current->kind == HW_LOOP)
        worker->last_clock = worker->session->executor->ops->now(worker->session->executor);
    return hw_worker_drop(worker);
}

/* Keeps tied local states as they are now: blocks that are abandoned within a clock go back to its beginning. */
static void keep_before(hw_worker *worker)
{
    hw_worker_commit(worker);
    for (uint32_t i = 0; i < worker->session->program->state_count; i++)
        if (worker->parts[i].before != NULL)
            memcpy(worker->parts[i].before, worker->parts[i].copy, worker->parts[i].count * sizeof(double));
}

static hawser_status run_clock(hw_worker *worker)
{
    uint32_t stages = hw_plan_stages(worker->session->plan, worker->current);
    bool empty = worker->clock >= worker->empty_from;
    uint64_t age = 0;
    HAWSER_TRY(hw_recorder_trouble(worker->session->job->recorder, &worker->error));
    begin_clock(worker, empty);
    for (uint32_t stage = 0; stage < stages; stage++) {
        worker->stage = stage;
        if (stage > 0)
            HAWSER_TRY(wait_for_stage(worker));
        else
            keep_before(worker);
        HAWSER_TRY(run_stage(worker, empty, &age));
    }
    worker->stage = 0;
    if (!empty)
        note_staleness(worker, age);
    return end_clock(worker, empty);
}

/* ---------------------------------------------------------------------------------------------------- begin and end ---- */

/* Adds up this block's share of a derived state, again each time that the view has changed meanwhile. */
static hawser_status run_rebuild(hw_worker *worker, const hw_state_part *part)
{
    HAWSER_TRY(hw_redo_keep(worker));
    for (;;) {
        hawser_status status = hw_context_run(worker, NULL, part->state);
        if (status != HAWSER_VIEW_CHANGED)
            return status;
        hw_replica_rollback(part->replica);
        HAWSER_TRY(hw_redo_go_back(worker));
    }
}

static hawser_status rebuild(hw_worker *worker, hw_state_part *part, uint64_t epoch)
{
    uint64_t clock = worker->clock;
    hw_replica_plain(part->replica, true);
    hw_replica_zero(part->replica);
    hw_replica_begin(part->replica, epoch, (hw_policy){HW_POLICY_BSP, 0});
    worker->clock = 0;
    HAWSER_TRY(run_rebuild(worker, part));
    hw_message *message = NULL;
    HAWSER_TRY(hw_replica_cut(part->replica, 0, true, true, &message, &worker->error));
    HAWSER_TRY(send_updates(worker, part, message != NULL ? message : hw_replica_next(part->replica)));
    /* Waits for this state only, because the others are between two epochs. */
    for (uint32_t i = 0; i < worker->session->program->state_count; i++)
        worker->parts[i].live = &worker->parts[i] == part;
    part->use = (hw_stages){.updates = 1, .source = UINT32_MAX};
    worker->clock = 1;
    HAWSER_TRY(hw_wait(&worker->mailbox, all_are_in, worker));
    HAWSER_TRY(hw_replica_end(part->replica, 1, &worker->error));
    hw_replica_plain(part->replica, false);
    part->fresh = true;
    worker->clock = clock;
    return HAWSER_OK;
}

static void mark_live(hw_worker *worker)
{
    worker->moves = false;
    for (uint32_t i = 0; i < worker->session->program->state_count; i++) {
        hw_state_part *part = &worker->parts[i];
        part->use = hw_plan_use(worker->session->plan, worker->current, part->state);
        part->live = part->kind->begin_epoch != NULL && part->use.updates != 0;
        worker->moves = worker->moves || (part->live && part->moving != NULL);
    }
}

/* A derived state changes with the states that are tied to it; if there are none, with any state. */
static bool changes_source(const hw_worker *worker, const hawser_state *derived)
{
    bool tied = false, updated = false;
    for (const hawser_state *state = worker->session->program->states; state != NULL; state = state->next) {
        bool follows = state->tied_to == derived;
        tied = tied || follows;
        updated =
            updated || ((follows || state == derived || state->matrix != NULL) && hw_phase_updates(worker->current, state));
    }
    for (const hawser_state *state = worker->session->program->states; !tied && state != NULL; state = state->next)
        updated = updated || hw_phase_updates(worker->current, state);
    return updated;
}

/* Returns whether the end of this phase rebuilds the state. */
static bool is_rebuilt(const hw_worker *worker, const hw_state_part *part)
{
    return part->state->rebuild != NULL && worker->current->kind == HW_LOOP &&
           hw_phase_updates(worker->current, part->state);
}

/* Rebuilds derived states when a loop is entered (fresh ones need nothing) or left. One that goes on is neither. */
static hawser_status rebuild_derived(hw_worker *worker, uint64_t epoch, bool leaving)
{
    for (uint32_t i = 0; (leaving || worker->begins == 0) && i < worker->session->program->state_count; i++) {
        hw_state_part *part = &worker->parts[i];
        if (part->state->rebuild == NULL)
            continue;
        if (is_rebuilt(worker, part) && (leaving || !part->fresh))
            HAWSER_TRY(rebuild(worker, part, epoch + i));
        if (!leaving && changes_source(worker, part->state))
            part->fresh = false;
    }
    mark_live(worker);
    return HAWSER_OK;
}

/* Sends what filters hold in a clock of its own: that a clock is the last one is known too late, and not on all blocks. */
static hawser_status flush_held(hw_worker *worker)
{
    bool held = false;
    EACH_REPLICA(worker, part)
    {
        const hw_state_plan *plan = &worker->session->plan->states[part->state->number];
        if (is_rebuilt(worker, part))
            hw_replica_forget_held(part->replica);
        else
            held = held || plan->filter.kind != HW_FILTER_NONE || plan->rounding != HW_F64 || plan->narrows;
    }
    if (!held)
        return HAWSER_OK;
    HAWSER_TRY(hw_wait(&worker->mailbox, all_are_in, worker));
    EACH_REPLICA(worker, part)
    HAWSER_TRY(part->kind->merge(worker, part));
    EACH_REPLICA(worker, part)
    HAWSER_TRY(hw_worker_cut(worker, part, true, true));
    worker->flushed = true;
    return HAWSER_OK;
}

static hawser_status begin(hw_worker *worker, hw_message *trigger)
{
    const hw_control *control = trigger->payload;
    worker->current = worker->session->program->operators[trigger->envelope.loop];
    worker->policy = hw_policy_of((hawser_sync){(hawser_tightness)control->tightness, control->staleness});
    worker->epoch = trigger->envelope.epoch;
    worker->entry = control->entry;
    worker->first_clock = control->first_clock;
    atomic_store_explicit(&worker->mailbox.work.clock, 0, memory_order_relaxed);
    worker->begins = worker->clock = worker->sent = worker->started = control->begins;
    worker->in_phase = true;
    worker->branches = hw_loop_branches(worker->current) > 0;
    worker->choices = 0;
    hw_life_begin(worker);
    hawser_status status = hw_parts_begin_phase(worker);
    hw_worker_obey(worker, trigger);
    return status;
}

static bool has_own_syncs(const hawser_operator *op)
{
    hawser_sync sync;
    for (const hawser_operator *unit = hw_phase_first(op); unit != NULL; unit = hw_phase_next(op, unit))
        if (hw_unit_waits(unit, &sync))
            return true;
    return false;
}

static void begin_exchange(hw_worker *worker, uint64_t epoch)
{
    worker->own_syncs = has_own_syncs(worker->current);
    EACH_LIVE(worker, part)
    part->kind->begin_epoch(worker, part, epoch);
}

static hawser_status send_done(hw_worker *worker)
{
    hw_message *message = NULL;
    HAWSER_TRY(hw_message_new(0, &message, &worker->error));
    message->envelope.kind = HW_MESSAGE_DONE;
    message->envelope.clock = worker->started;
    return hw_send(&worker->mailbox, worker->session->blocks, message);
}

/* Brings the block to where it begins the clock, as all others are, and writes its record or holds there. */
static hawser_status obey_record(hw_worker *worker)
{
    HAWSER_TRY(send_deferred(worker));
    HAWSER_TRY(hw_stored_settle_all(worker));
    HAWSER_TRY(hw_wait(&worker->mailbox, all_are_in, worker));
    if (worker->record->envelope.span == HW_RECORD_HOLD)
        return hw_remember_hold(worker);
    hw_worker_commit(worker);
    EACH_REPLICA(worker, part)
    HAWSER_TRY(hw_replica_merge_before(part->replica, hw_worker_exchange(worker, part), &worker->error));
    HAWSER_TRY(hw_points_begin_clock(worker));
    return hw_remember(worker);
}

hawser_status hw_phase_run(hw_worker *worker)
{
    hw_session *session = worker->session;
    uint64_t states = session->program->state_count;
    hw_message *trigger = worker->trigger;
    worker->trigger = NULL;
    if (session->checkpointer != NULL || !session->job->settings.checkpoints) /* it was compared with the checkpoint */
        hw_recorder_keep(session->job->recorder);
    HAWSER_TRY(begin(worker, trigger));
    hw_event *event = &worker->events[worker->current->number];
    double start = hw_seconds(), waited = worker->mailbox.waited;
    HAWSER_TRY(rebuild_derived(worker, worker->epoch, false));
    begin_exchange(worker, worker->epoch + states);
    worker->reduces = hw_operator_reduces(worker->current) > 0;
    if (worker->reduces)
        hw_reduction_begin(worker->reduction, worker->epoch + states);
    if (worker->reduces && worker->begins > 0)
        hw_reduction_enter(worker->reduction, worker->begins);
    for (;;) {
        /* Not in step, updates for blocks that wait for a thread would pile up. */
        if (worker->policy.kind != HW_POLICY_BSP && session->executor->ops->give_way != NULL)
            session->executor->ops->give_way(session->executor, worker->mailbox.runner);
        HAWSER_TRY(hw_drain(&worker->mailbox));
        if (!may_go_on(worker) || worker->clock >= worker->final_limit)
            HAWSER_TRY(send_deferred(worker));
        HAWSER_TRY(wait_to_go_on(worker));
        if (hw_remembers_now(worker)) { /* with or without the credit of this clock */
            HAWSER_TRY(obey_record(worker));
            continue;
        }
        if (worker->clock >= worker->final_limit)
            break;
        HAWSER_TRY(run_clock(worker));
    }
    uint64_t clocks = worker->clock < worker->empty_from ? worker->clock : worker->empty_from;
    HAWSER_TRY(hw_parts_end_phase(worker));
    HAWSER_TRY(hw_wait(&worker->mailbox, all_are_in, worker));
    worker->reduces = false;
    hw_worker_commit(worker);
    HAWSER_TRY(flush_held(worker));
    HAWSER_TRY(hw_wait(&worker->mailbox, all_are_in, worker));
    HAWSER_TRY(hw_worker_relay(worker, true));
    EACH_LIVE(worker, part)
    HAWSER_TRY(part->kind->end_epoch(worker, part));
    worker->flushed = false;
    HAWSER_TRY(rebuild_derived(worker, worker->epoch + states + 1, true));
    if (worker->current->kind == HW_LOOP) {
        worker->clocks += clocks;
        event->count += clocks;
        event->seconds += hw_seconds() - start;
        event->waited += worker->mailbox.waited - waited;
    }
    HAWSER_TRY(hw_points_end_phase(worker));
    worker->in_phase = false;
    return send_done(worker);
}
