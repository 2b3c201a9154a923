/* part_exchanged.c - a block's part of a replicated or partitioned state: a replica of the whole. */
#include <string.h>

#include "runtime/block/part.h"

static void merge_watched(const hawser_merging *merging)
{
    const hw_part_merge *own = merging->user;
    hawser_merging given = *merging;
    given.user = own->state->rule.user;
    given.clock += *own->first_clock; /* of the loop, which may have begun in an earlier phase */
    hw_watched_before before = hw_call_begin(own->mailbox, "merge function of state", own->state->name);
    own->state->rule.merge(&given);
    hw_watch_end(&own->mailbox->work, before);
}

static hw_replica_spec spec_of(const hw_worker *worker, const hw_state_part *part)
{
    const hw_session *session = worker->session;
    const hawser_state *state = part->state;
    const hw_state_plan *plan = &session->plan->states[state->number];
    return (hw_replica_spec){.state = state->number,
                             .name = state->name,
                             .type = state->type,
                             .count = hw_state_count(state),
                             .block = worker->block,
                             .blocks = session->blocks,
                             .rule = state->rule,
                             .filter = plan->filter,
                             .rounding = plan->rounding,
                             .narrows = plan->narrows,
                             .seed = session->job->settings.seed,
                             .sources = plan->sources,
                             .source = plan->updater,
                             .log = worker->log};
}

static hawser_status open_part(hw_worker *worker, hw_state_part *part, hw_replica_spec *spec, hawser_error *error)
{
    const void *initial = hw_plan_initial(worker->session->plan, part->state, 0);
    if (worker->log != NULL)
        spec->initial = initial; /* a history begins with it */
    HAWSER_TRY(hw_replica_new(spec, &part->replica, error));
    if (initial != NULL && worker->log == NULL)
        hw_life_open(worker, part);
    return hw_part_map_page(part, error);
}

static hawser_status open_replicated(hw_worker *worker, hw_state_part *part, hawser_error *error)
{
    const hw_session *session = worker->session;
    hw_replica_spec spec = spec_of(worker, part);
    hw_adding_shape adding = session->plan->settings.adding;
    if (hw_adds_up(adding, session->nodes) && spec.sources == spec.blocks)
        HAWSER_TRY(hw_adding_new(adding, &session->view, spec.block, spec.state, spec.count, &part->adding, error));
    if (part->state->rule.merge != NULL) {
        part->merging = (hw_part_merge){&worker->mailbox, part->state, &worker->first_clock};
        spec.rule.merge = merge_watched;
        spec.rule.user = &part->merging;
    }
    spec.adding = part->adding;
    if (part->adding != NULL && part->adding->combines && part->adding->adds)
        HAWSER_TRY(hw_worker_be_relay(worker, error));
    return open_part(worker, part, &spec, error);
}

/* The owner of a range sends its values. */
static hawser_status open_partitioned(hw_worker *worker, hw_state_part *part, hawser_error *error)
{
    hw_replica_spec spec = spec_of(worker, part);
    spec.values = true;
    hw_plan_range(worker->session->plan, part->state, worker->block, &spec.own_begin, &spec.own_end);
    part->begin = spec.own_begin;
    part->count = spec.own_end - spec.own_begin;
    return open_part(worker, part, &spec, error);
}

static void close_part(hw_state_part *part)
{
    hw_replica_free(part->replica);
    hw_adding_free(part->adding);
    hw_part_unmap_page(part);
}

/* Reports to the replica before which stages a unit waits for it by a stricter sync than the loop's. */
static void expect_waits(const hw_worker *worker, const hw_state_part *part)
{
    const hw_plan *plan = worker->session->plan;
    for (uint32_t stage = 0; stage < hw_plan_stages(plan, worker->current); stage++) {
        hw_policy policy = hw_plan_wait(plan, worker->current, part->state, stage, worker->policy);
        if (policy.kind != worker->policy.kind || policy.staleness != worker->policy.staleness)
            hw_replica_expect_wait(part->replica, stage, policy);
    }
}

static void begin_epoch(hw_worker *worker, hw_state_part *part, uint64_t epoch)
{
    hw_replica_begin_stages(part->replica, epoch, worker->policy, &part->use,
                            hw_exchange_of(part->use.updates, worker->begins, 0));
    if (worker->own_syncs)
        expect_waits(worker, part);
}

static bool ready(const hw_worker *worker, const hw_state_part *part)
{
    return hw_admit_read(hw_worker_waits_by(worker, part), hw_replica_clocks(part->replica),
                         hw_worker_exchange(worker, part));
}

static hawser_status merge(hw_worker *worker, hw_state_part *part)
{
    return hw_replica_merge_stage(part->replica, hw_worker_exchange(worker, part), worker->stage, &worker->error);
}

static hawser_status cut(hw_worker *worker, hw_state_part *part)
{
    return hw_worker_cut(worker, part, true, false);
}

static bool settled(const hw_worker *worker, const hw_state_part *part)
{
    return hw_clock_table_least(hw_replica_clocks(part->replica)) >= hw_worker_exchange(worker, part);
}

static hawser_status end_epoch(hw_worker *worker, hw_state_part *part)
{
    return hw_replica_end(part->replica, hw_worker_exchange(worker, part), &worker->error);
}

static const void *read_all(hw_state_part *part, bool updates, const char **why)
{
    (void)why;
    return updates ? hw_replica_cache(part->replica) : hw_part_page(part);
}

static void *write_all(hw_state_part *part, const char **why)
{
    (void)why;
    return hw_replica_cache(part->replica);
}

static void *write_own(hw_state_part *part, const char **why)
{
    (void)why;
    return (char *)hw_replica_cache(part->replica) + part->begin * hw_state_size(part->state);
}

static void roll_back(hw_state_part *part)
{
    if (part->live)
        hw_replica_rollback(part->replica);
}

static hawser_status accept(hw_worker *worker, hw_state_part *part, hw_message *message)
{
    HAWSER_TRY(hw_replica_accept(part->replica, message, &worker->error));
    return hw_worker_send_next(worker, part);
}

static void set_gain(hw_state_part *part, double gain)
{
    hw_replica_set_gain(part->replica, gain);
}

/* The values of the result are the same on all blocks, so the node's first block keeps them. */
static void retire(const hw_worker *worker, hw_state_part *part)
{
    hw_replica_retire(part->replica, worker->mailbox.runner == 0);
}

static const void *merged(const hw_state_part *part)
{
    return hw_replica_base(part->replica);
}

static void *take_merged(hw_state_part *part)
{
    return hw_replica_take_base(part->replica);
}

static size_t kept_count(const hw_state_part *part)
{
    return hw_state_count(part->state);
}

static hawser_status keep(hw_worker *worker, hw_state_part *part, void *values)
{
    hw_life_fill(worker, part);
    memcpy(values, merged(part), hw_state_bytes(part->state));
    return HAWSER_OK;
}

static hawser_status put_back(hw_worker *worker, hw_state_part *part, const void *values)
{
    (void)worker;
    part->unfilled = false;
    hw_replica_put_back(part->replica, values);
    return HAWSER_OK;
}

static void record_point(const hw_state_part *part, uint32_t point, bool back)
{
    hw_replica_record_point(part->replica, point, back);
}

static void visit(hw_state_part *part, hawser_record *record)
{
    hawser_record_bytes(record, &part->unfilled, sizeof part->unfilled);
    hawser_record_bytes(record, &part->fresh, sizeof part->fresh);
    if (!part->unfilled)
        hw_replica_visit(part->replica, record);
}

static void drop(hw_state_part *part)
{
    if (!part->unfilled)
        hw_replica_drop(part->replica);
    part->unfilled = !part->unfilled;
    part->fresh = !part->fresh;
}

static void remember(hw_worker *worker, hw_state_part *part, hawser_record *record)
{
    bool retired = part->retired;
    hawser_record_bytes(record, &part->unfilled, sizeof part->unfilled);
    hawser_record_bytes(record, &part->fresh, sizeof part->fresh);
    hawser_record_bytes(record, &retired, sizeof retired);
    if (!part->unfilled && !retired)
        hw_replica_remember(part->replica, record);
    if (hawser_record_reads(record) && retired && !part->retired) {
        part->retired = true;
        retire(worker, part);
    }
}

static void set_merged(hw_state_part *part, const void *values)
{
    hw_replica_set_base(part->replica, values);
}

static hawser_status restore(hw_worker *worker, hw_state_part *part)
{
    (void)worker;
    hw_replica_record_restored(part->replica);
    return HAWSER_OK;
}

/* What both kinds do alike. */
#define EXCHANGED                                                                                                           \
    .close = close_part, .begin_epoch = begin_epoch, .ready = ready, .merge = merge, .cut = cut, .settled = settled,        \
    .end_epoch = end_epoch, .read = read_all, .roll_back = roll_back, .accept = accept, .retire = retire,                   \
    .take_merged = take_merged, .merged = merged, .alike = true, .kept_count = kept_count, .keep = keep,                    \
    .put_back = put_back, .record_point = record_point, .visit = visit, .drop = drop, .remember = remember,                 \
    .set_merged = set_merged, .restore = restore

const hw_part_kind hw_part_replicated = {EXCHANGED, .open = open_replicated, .write = write_all, .set_gain = set_gain};
const hw_part_kind hw_part_partitioned = {EXCHANGED, .open = open_partitioned, .write = write_own};
