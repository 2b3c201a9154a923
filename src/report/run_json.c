/* run_json.c - what --json has of every run. */
#include <inttypes.h>

#include "data/formats.h"
#include "program/program.h"
#include "report/json.h"
#include "runtime/job/enter.h"
#include "runtime/job/signals.h"

/* Returns the rows that a worker has read. Parsers are the job's threads: rows of reader i count for worker i, round robin
 * if there are more readers. Over several nodes each reader is a node, and its workers share its rows. */
static uint64_t rows_of(const hawser_load_figures *load, const hawser_figures *figures, uint32_t worker)
{
    uint64_t rows = 0, sharing = 0, before = 0;
    if (load == NULL || load->rows_read == NULL)
        return 0;
    if (figures->nodes == 1 || load->readers != figures->nodes) {
        for (uint32_t reader = worker; reader < load->readers; reader += figures->workers)
            rows += load->rows_read[reader];
        return rows;
    }
    for (uint32_t k = 0; k < figures->workers; k++) {
        sharing += figures->worker[k].node == figures->worker[worker].node;
        before += k < worker && figures->worker[k].node == figures->worker[worker].node;
    }
    rows = load->rows_read[figures->worker[worker].node];
    return rows * (before + 1) / sharing - rows * before / sharing;
}

static json_t *workers_json(const hawser_figures *figures, const hawser_load_figures *load, bool *ok)
{
    json_t *list = json_array();
    for (uint32_t k = 0; k < figures->workers; k++) {
        const hawser_worker_figures *worker = &figures->worker[k];
        json_t *one = json_object();
        hw_json_count(one, "node", worker->node, ok);
        hw_json_count(one, "rows_read", rows_of(load, figures, k), ok);
        hw_json_number(one, "cpu_seconds", worker->cpu_seconds, ok);
        hw_json_number(one, "wait_seconds", worker->wait_seconds, ok);
        hw_json_number(one, "wait_input_seconds", worker->wait_input_seconds, ok);
        hw_json_number(one, "wait_credit_seconds", worker->wait_credit_seconds, ok);
        hw_json_number(one, "wait_reduction_seconds", worker->wait_reduction_seconds, ok);
        hw_json_number(one, "last_clock_seconds", worker->last_clock_seconds, ok);
        hw_json_count(one, "clocks", worker->clocks, ok);
        hw_json_count(one, "bytes_sent", worker->bytes_sent, ok);
        hw_json_count(one, "bytes_received", worker->bytes_received, ok);
        hw_json_count(one, "messages_sent", worker->messages_sent, ok);
        hw_json_count(one, "peak_rss", worker->peak_rss, ok);
        hw_json_append(list, one, ok);
    }
    return list;
}

/* Makes the object resumed; null for a run that has begun from the start. */
static json_t *resumed_json(const hawser_job *job, bool *ok)
{
    hw_resumed from;
    if (!hw_job_resumed(job, &from))
        return json_null();
    json_t *object = json_object();
    hw_json_count(object, "clock", from.clock, ok);
    hw_json_text(object, "loop", from.loop, ok);
    hw_json_number(object, "seconds", from.seconds, ok);
    return object;
}

/* Makes the object checkpoints. */
static json_t *checkpoints_json(const hawser_figures *figures, bool *ok)
{
    json_t *object = json_object();
    hw_json_count(object, "taken", figures->checkpoints, ok);
    hw_json_number(object, "wait_seconds", figures->checkpoint_wait_seconds, ok);
    return object;
}

static json_t *causes_json(const hawser_figures *figures, bool *ok)
{
    static const char *const names[HAWSER_CAUSES] = {"none", "link", "worker", "turns", "other"};
    json_t *list = json_array();
    for (int i = 0; i < HAWSER_CAUSES; i++) {
        const hawser_cause_figures *cause = &figures->causes[i];
        json_t *one = json_object();
        if (cause->clocks > 0) {
            hw_json_text(one, "cause", names[i], ok);
            hw_json_count(one, "clocks", cause->clocks, ok);
            hw_json_number(one, "seconds", cause->seconds, ok);
            hw_json_number(one, "waited", cause->waited, ok);
            if (i == HAWSER_CAUSE_LINK || i == HAWSER_CAUSE_WORKER || i == HAWSER_CAUSE_TURNS)
                hw_json_number(one, "measure", cause->measure, ok);
            if (i == HAWSER_CAUSE_LINK || i == HAWSER_CAUSE_WORKER)
                hw_json_count(one, i == HAWSER_CAUSE_LINK ? "node" : "worker", cause->number, ok);
            hw_json_append(list, one, ok);
        } else {
            json_decref(one);
        }
    }
    return list;
}

static void put_value(json_t *one, const char *key, const hw_change_words *words, int which, bool *ok)
{
    if (words->value == HW_CHANGE_WORD)
        hw_json_text(one, key, words->texts[which], ok);
    else if (words->value == HW_CHANGE_COUNT)
        hw_json_count(one, key, (uint64_t)words->numbers[which], ok);
    else
        hw_json_number(one, key, words->numbers[which], ok);
}

void hw_json_change(json_t *object, const char *old, const char *new, const hw_change_words *words, bool *ok)
{
    put_value(object, old, words, 0, ok);
    put_value(object, new, words, 1, ok);
}

static json_t *change_json(const hawser_policy_change *change, bool *ok)
{
    const hw_change_words words = hw_change_in_words(change);
    json_t *one = json_object();
    hw_json_text(one, "loop", change->loop, ok);
    hw_json_count(one, "clock", change->clock, ok);
    if (change->state[0] != '\0')
        hw_json_text(one, "state", change->state, ok);
    hw_json_text(one, "what", words.what, ok);
    hw_json_change(one, "old", "new", &words, ok);
    if (change->share[1] > 0)
        hw_json_count(one, "worker", change->block, ok);
    hw_json_text(one, "by", change->by, ok);
    hw_json_text(one, "reason", change->reason[0] != '\0' ? change->reason : NULL, ok);
    return one;
}

static json_t *changes_json(const hawser_figures *figures, bool *ok)
{
    json_t *list = json_array();
    for (size_t i = 0; i < figures->change_count; i++)
        hw_json_append(list, change_json(&figures->changes[i], ok), ok);
    return list;
}

static json_t *links_json(const hawser_figures *figures, bool *ok)
{
    json_t *list = json_array();
    for (size_t i = 0; i < figures->link_count; i++) {
        const hawser_link *link = &figures->links[i];
        json_t *one = json_object();
        hw_json_count(one, "from", link->from, ok);
        hw_json_count(one, "to", link->to, ok);
        hw_json_text(one, "transport", link->transport, ok);
        hw_json_count(one, "messages_sent", link->messages_sent, ok);
        hw_json_count(one, "bytes_sent", link->bytes_sent, ok);
        hw_json_number(one, "busy_seconds", link->busy_seconds, ok);
        hw_json_append(list, one, ok);
    }
    return list;
}

static json_t *accepts_json(const hawser_figures *figures, bool *ok)
{
    json_t *list = json_array();
    for (size_t i = 0; i < figures->accept_count; i++) {
        const hawser_accept_figures *accepts = &figures->accepts[i];
        json_t *one = json_object();
        hw_json_count(one, "node", accepts->node, ok);
        hw_json_count(one, "admitted", accepts->admitted, ok);
        hw_json_count(one, "wrong_key", accepts->wrong_key, ok);
        hw_json_count(one, "unfit", accepts->malformed, ok);
        hw_json_count(one, "late", accepts->timed_out, ok);
        hw_json_count(one, "crowded", accepts->evicted, ok);
        hw_json_count(one, "late_messages", accepts->late_messages, ok);
        hw_json_count(one, "foreign_messages", accepts->foreign_messages, ok);
        hw_json_text(one, "last", accepts->last[0] != '\0' ? accepts->last : NULL, ok);
        hw_json_append(list, one, ok);
    }
    return list;
}

static json_t *flows_json(const hawser_figures *figures, bool *ok)
{
    json_t *list = json_array();
    for (size_t i = 0; i < figures->flow_count; i++) {
        const hawser_flow *flow = &figures->flows[i];
        json_t *one = json_object();
        hw_json_text(one, flow->state ? "state" : "kind", flow->name, ok);
        hw_json_count(one, "messages", flow->messages, ok);
        hw_json_count(one, "bytes_plain", flow->bytes_plain, ok);
        hw_json_count(one, "bytes_sent", flow->bytes_sent, ok);
        hw_json_append(list, one, ok);
    }
    return list;
}

static json_t *load_json(const hawser_dataset *data, bool *ok)
{
    const hawser_matrix *matrix = hawser_dataset_matrix(data);
    const hawser_load_figures *figures = hawser_dataset_figures(data);
    json_t *object = json_object();
    hw_json_text(object, "format", hw_format_name(figures->format), ok);
    hw_json_count(object, "rows", matrix->rows, ok);
    hw_json_count(object, "columns", matrix->cols, ok);
    hw_json_count(object, "stored", matrix->stored, ok);
    hw_json_number(object, "index_base", figures->index_base, ok);
    hw_json_count(object, "bytes_read", figures->bytes_read, ok);
    hw_json_count(object, "bytes_text", figures->bytes_text, ok);
    hw_json_count(object, "rows_moved", figures->rows_moved, ok);
    return object;
}

void hw_json_run(json_t *object, const hawser_job *job, const hawser_run *run, const char *stop_reason,
                 const hawser_dataset *data, bool *ok)
{
    const hawser_figures *figures = hawser_run_figures(run);
    const hawser_load_figures *load = data != NULL ? hawser_dataset_figures(data) : NULL;
    char sync[HW_SYNC_TEXT], name[20];
    hw_json_take(object, "resumed", resumed_json(job, ok), ok);
    hw_json_take(object, "checkpoints", checkpoints_json(figures, ok), ok);
    hw_json_count(object, "bytes_exchanged", figures->bytes_exchanged, ok);
    hw_json_count(object, "workers", figures->workers, ok);
    hw_json_count(object, "nodes", figures->nodes, ok);
    hw_json_text(object, "sync", hw_sync_text(hawser_job_sync(job), sync), ok);
    hw_json_count(object, "seed", hawser_job_seed(job), ok);
    hw_json_text(object, "stop_reason", stop_reason, ok);
    hw_json_text(object, "interrupted_by", figures->interrupted_by, ok);
    hw_json_text(object, "interrupted_signal", hw_signal_name(figures->interrupted_signal, name, sizeof name), ok);
    hw_json_take(object, "repeatable", json_boolean(figures->repeatable == NULL), ok);
    hw_json_text(object, "repeatable_reason", figures->repeatable, ok);
    hw_json_count(object, "most_lead", figures->most_lead, ok);
    hw_json_take(object, "worker", workers_json(figures, load, ok), ok);
    hw_json_take(object, "waits_for", causes_json(figures, ok), ok);
    hw_json_take(object, "changes", changes_json(figures, ok), ok);
    hw_json_take(object, "links", links_json(figures, ok), ok);
    hw_json_take(object, "accepts", accepts_json(figures, ok), ok);
    hw_json_take(object, "flows", flows_json(figures, ok), ok);
    hw_json_count(object, "coalesced", figures->coalesced, ok);
    if (data != NULL)
        hw_json_take(object, "load", load_json(data, ok), ok);
}
