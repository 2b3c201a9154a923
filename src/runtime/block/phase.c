/* phase.c - a phase on one block: clocks on credit, an exchange at the end of each, and a quiescent point at the end of the phase. */
#include "runtime/block/phase.h"
#include "runtime/block/stored.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/finite.h"
#include "base/order.h"

#define EACH_LIVE(worker, part)                                                                                             \
    for (hw_state_part *part = (worker)->parts; part < (worker)->parts + (worker)->session->program->state_count; part++)   \
        if (part->live)
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
    message->envelope.loop = worker->operator->number;
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
    if (worker->operator!= NULL)
        worker->events[worker->operator->number].bytes += worker->mailbox.bytes_sent - bytes;
    return HAWSER_OK;
}

void hw_worker_commit(hw_worker *worker)
{
    for (uint32_t i = 0; i < worker->session->program->state_count; i++) {
        hw_state_part *local = &worker->parts[i];
        if (local->pending)
            hw_tied_commit(local->copy, local->work, local->count, local->state->tied_to->rule.damping);
        local->pending = false;
    }
}

/* Sends a cut and commits the local states that are tied to its state; `later`: they are committed once all blocks have ended the clock. */
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
    if (session->job->backlog == 0 || session->nodes == 1 || transport->ops->pending(transport) <= session->job->backlog)
        return false;
    return !(worker->deferring > 0) || session->executor->ops->now(session->executor) - worker->deferring < SECONDS_MOST;
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
    EACH_LIVE(worker, part)
    if (hw_replica_deferred(part->replica) > 0)
        return true;
    return false;
}

/* Sends deferred updates before the block waits for anything: other blocks may wait for them. */
static hawser_status send_deferred(hw_worker *worker)
{
    if (!(worker->deferring > 0))
        return HAWSER_OK;
    EACH_LIVE(worker, part)
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

/* Returns the policy by which this stage waits for a state; its staleness counts exchanges. */
static hw_policy policy_of_wait(const hw_worker *worker, const hw_state_part *part)
{
    if (!worker->own_syncs)
        return hw_replica_policy(part->replica);
    hw_policy policy = hw_plan_wait(worker->session->plan, worker->operator, part->state, worker->stage, worker->policy);
    return hw_replica_scaled(part->replica, policy);
}

static bool inputs_are_in(hw_worker *worker)
{
    EACH_USED(worker, part)
    if (!hw_admit_read(policy_of_wait(worker, part), hw_replica_clocks(part->replica), hw_worker_exchange(worker, part)))
        return false;
    return true;
}

/* Returns true if the next clock may run, or if no clock is left. */
static bool may_go_on(void *argument)
{
    hw_worker *worker = argument;
    if (worker->paused)
        return false;
    if (worker->clock >= worker->final_limit)
        return true;
    use_credit(worker);
    return hw_admit_clock(own_limit(worker), worker->clock) && inputs_are_in(worker) && reductions_are_over(worker);
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
    if (hw_clock_table_least(hw_replica_clocks(part->replica)) < hw_worker_exchange(worker, part))
        return false;
    return reductions_are_over(worker);
}

/* ------------------------------------------------------------------------------------------------------ one clock ---- */

/* Returns how many clocks old the oldest input of this stage is. */
static uint64_t input_age(hw_worker *worker)
{
    uint64_t most = 0;
    EACH_USED(worker, part)
    {
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
    EACH_USED(worker, part)
    {
        const hw_clock_table *clocks = hw_replica_clocks(part->replica);
        uint64_t exchange = hw_worker_exchange(worker, part);
        /* The lead is bounded by the sync of the loop, because other blocks may be between two waits by a unit's own. */
        bool holds = hw_ssp_holds(hw_replica_policy(part->replica), clocks, exchange) &&
                     hw_admit_read(policy_of_wait(worker, part), clocks, exchange);
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
    const hawser_operator *operator= worker->operator;
    hw_session *session = worker->session;
    const hw_step *steps = hw_plan_steps(session->plan, operator, & count);
    double slow = session->job->slow_block == worker->block ? session->job->slow_factor - 1 : 0;
    double cpu = hw_thread_cpu_seconds();
    for (size_t i = 0; i < count; i++) {
        const hawser_operator *unit = steps[i].unit;
        bool elsewhere = unit->one && session->plan->placement[unit->number] != worker->block;
        if (elsewhere || steps[i].stage != worker->stage || !hw_step_runs(&steps[i], worker->choices))
            continue;
        hw_event *event = &worker->events[unit->number];
        double start = hw_seconds(), waited = worker->mailbox.waited;
        HAWSER_TRY(hw_context_run(worker, &steps[i], NULL));
        event->count++;
        event->seconds += hw_seconds() - start;
        event->waited += worker->mailbox.waited - waited;
    }
    if (slow > 0 && operator->kind == HW_LOOP)
        session->executor->ops->sleep(session->executor, worker->mailbox.runner, slow * (hw_thread_cpu_seconds() - cpu));
    return HAWSER_OK;
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
    memcpy(message->payload, &worker->report, sizeof worker->report);
    return hw_send(&worker->mailbox, worker->session->blocks, message);
}

/* Runs the stage's units, again each time that the view has changed meanwhile. What they did is taken back if they fail. */
static hawser_status run_units_over(hw_worker *worker)
{
    HAWSER_TRY(hw_redo_keep(worker));
    for (;;) {
        hawser_status status = run_units(worker);
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
    hw_worker_commit(worker);
    EACH_USED(worker, part)
    HAWSER_TRY(hw_replica_merge_stage(part->replica, hw_worker_exchange(worker, part), worker->stage, &worker->error));
    if (!empty)
        HAWSER_TRY(run_units_over(worker));
    uint64_t bytes = worker->mailbox.bytes_sent;
    if (worker->reduces && worker->stage + 1 == hw_plan_stages(worker->session->plan, worker->operator))
        HAWSER_TRY(hw_worker_end_reductions(worker));
    EACH_LIVE(worker, part)
    if (hw_worker_updates(worker, part))
        HAWSER_TRY(hw_worker_cut(worker, part, true, false));
    worker->events[worker->operator->number].bytes += worker->mailbox.bytes_sent - bytes;
    return HAWSER_OK;
}

/* Takes and records how the branches of the loop are chosen in this clock, and the stages in which a unit runs then. */
static void take_choices(hw_worker *worker)
{
    size_t count;
    const hw_step *steps = hw_plan_steps(worker->session->plan, worker->operator, & count);
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
    if (worker->reduces)
        hw_reduction_begin_clock(worker->reduction, worker->clock);
}

static hawser_status end_clock(hw_worker *worker, bool empty)
{
    uint64_t bytes = worker->mailbox.bytes_sent;
    HAWSER_TRY(hw_stored_end_clock(worker, empty));
    worker->events[worker->operator->number].bytes += worker->mailbox.bytes_sent - bytes;
    if (!has_deferred(worker))
        worker->deferring = 0;
    HAWSER_TRY(send_report(worker));
    worker->sent = ++worker->clock;
    if (worker->operator->kind == HW_LOOP)
        worker->last_clock = worker->session->executor->ops->now(worker->session->executor);
    return hw_worker_drop_scratch(worker);
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
    uint32_t stages = hw_plan_stages(worker->session->plan, worker->operator);
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
    part->use = (hw_stage_use){1, 0};
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
    for (uint32_t i = 0; i < worker->session->program->state_count; i++) {
        hw_state_part *part = &worker->parts[i];
        part->use = hw_plan_use(worker->session->plan, worker->operator, part->state);
        part->live = part->replica != NULL && part->use.updates != 0;
    }
}

/* A derived state changes with the states that are tied to it; if there are none, with any state. */
static bool changes_source(const hw_worker *worker, const hawser_state *derived)
{
    bool tied = false, updated = false;
    for (const hawser_state *state = worker->session->program->states; state != NULL; state = state->next) {
        bool follows = state->tied_to == derived;
        tied = tied || follows;
        updated = updated ||
                  ((follows || state == derived || state->kind == HW_DATA) && hw_phase_updates(worker->operator, state));
    }
    for (const hawser_state *state = worker->session->program->states; !tied && state != NULL; state = state->next)
        updated = updated || hw_phase_updates(worker->operator, state);
    return updated;
}

/* Returns whether the end of this phase rebuilds the state. */
static bool is_rebuilt(const hw_worker *worker, const hw_state_part *part)
{
    return part->state->rebuild != NULL && worker->operator->kind == HW_LOOP &&
                                           hw_phase_updates(worker->operator, part->state);
}

/* Rebuilds derived states when a loop is entered (fresh ones need nothing) or left. */
static hawser_status rebuild_derived(hw_worker *worker, uint64_t epoch, bool leaving)
{
    for (uint32_t i = 0; i < worker->session->program->state_count; i++) {
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
    EACH_LIVE(worker, part)
    {
        const hw_state_plan *plan = &worker->session->plan->states[part->state->number];
        if (is_rebuilt(worker, part))
            hw_replica_forget_held(part->replica);
        else
            held = held || plan->filter.kind != HW_FILTER_NONE || plan->rounding != HW_F64;
    }
    if (!held)
        return HAWSER_OK;
    HAWSER_TRY(hw_wait(&worker->mailbox, all_are_in, worker));
    EACH_LIVE(worker, part)
    HAWSER_TRY(hw_replica_merge_stage(part->replica, hw_worker_exchange(worker, part), worker->stage, &worker->error));
    EACH_LIVE(worker, part)
    HAWSER_TRY(hw_worker_cut(worker, part, true, true));
    worker->flushed = true;
    return HAWSER_OK;
}

static void begin(hw_worker *worker, hw_message *trigger)
{
    const hw_control *control = trigger->payload;
    worker->operator= worker->session->program->operators[trigger->envelope.loop];
    worker->policy = hw_policy_of((hawser_sync){(hawser_tightness)control->tightness, control->staleness});
    worker->epoch = trigger->envelope.epoch;
    worker->entry = control->entry;
    worker->first_clock = control->first_clock;
    atomic_store_explicit(&worker->mailbox.work.clock, 0, memory_order_relaxed);
    worker->clock = worker->sent = 0;
    worker->in_phase = true;
    worker->branches = hw_loop_branches(worker->operator) > 0;
    worker->choices = 0;
    hw_life_begin(worker);
    hw_stored_begin_phase(worker);
    hw_worker_obey(worker, trigger);
}

static bool has_own_syncs(const hawser_operator *operator)
{
    hawser_sync sync;
    for (const hawser_operator *unit = hw_phase_first(operator); unit != NULL; unit = hw_phase_next(operator, unit))
        if (hw_unit_waits(unit, &sync))
            return true;
    return false;
}

/* Reports to the replica before which stages a unit waits for it by a stricter sync than the loop's. */
static void expect_waits(const hw_worker *worker, const hw_state_part *part)
{
    const hw_plan *plan = worker->session->plan;
    for (uint32_t stage = 0; stage < hw_plan_stages(plan, worker->operator); stage++) {
        hw_policy policy = hw_plan_wait(plan, worker->operator, part->state, stage, worker->policy);
        if (policy.kind != worker->policy.kind || policy.staleness != worker->policy.staleness)
            hw_replica_expect_wait(part->replica, stage, policy);
    }
}

static void begin_exchange(hw_worker *worker, uint64_t epoch)
{
    worker->own_syncs = has_own_syncs(worker->operator);
    EACH_LIVE(worker, part)
    {
        hw_replica_begin_stages(part->replica, epoch, worker->policy, part->use.updates, part->use.reads);
        if (worker->own_syncs)
            expect_waits(worker, part);
    }
}

static hawser_status send_done(hw_worker *worker)
{
    hw_message *message = NULL;
    HAWSER_TRY(hw_message_new(0, &message, &worker->error));
    message->envelope.kind = HW_MESSAGE_DONE;
    message->envelope.clock = worker->started;
    return hw_send(&worker->mailbox, worker->session->blocks, message);
}

hawser_status hw_phase_run(hw_worker *worker)
{
    hw_session *session = worker->session;
    uint64_t states = session->program->state_count;
    hw_message *trigger = worker->trigger;
    worker->trigger = NULL;
    begin(worker, trigger);
    hw_event *event = &worker->events[worker->operator->number];
    double start = hw_seconds(), waited = worker->mailbox.waited;
    HAWSER_TRY(rebuild_derived(worker, worker->epoch, false));
    begin_exchange(worker, worker->epoch + states);
    worker->reduces = hw_operator_reduces(worker->operator) > 0;
    if (worker->reduces)
        hw_reduction_begin(worker->reduction, worker->epoch + states);
    for (;;) {
        if (worker->policy.kind != HW_POLICY_BSP) /* else updates for blocks that wait for a thread would pile up */
            session->executor->ops->give_way(session->executor, worker->mailbox.runner);
        HAWSER_TRY(hw_drain(&worker->mailbox));
        if (!may_go_on(worker) || worker->clock >= worker->final_limit)
            HAWSER_TRY(send_deferred(worker));
        HAWSER_TRY(wait_to_go_on(worker));
        if (worker->clock >= worker->final_limit)
            break;
        HAWSER_TRY(run_clock(worker));
    }
    uint64_t clocks = worker->clock < worker->empty_from ? worker->clock : worker->empty_from;
    HAWSER_TRY(hw_stored_end_phase(worker));
    HAWSER_TRY(hw_wait(&worker->mailbox, all_are_in, worker));
    worker->reduces = false;
    hw_worker_commit(worker);
    HAWSER_TRY(flush_held(worker));
    HAWSER_TRY(hw_wait(&worker->mailbox, all_are_in, worker));
    EACH_LIVE(worker, part)
    HAWSER_TRY(hw_replica_end(part->replica, hw_worker_exchange(worker, part), &worker->error));
    worker->flushed = false;
    HAWSER_TRY(rebuild_derived(worker, worker->epoch + states + 1, true));
    if (worker->operator->kind == HW_LOOP) {
        worker->clocks += clocks;
        event->count += clocks;
        event->seconds += hw_seconds() - start;
        event->waited += worker->mailbox.waited - waited;
    }
    worker->in_phase = false;
    return send_done(worker);
}
