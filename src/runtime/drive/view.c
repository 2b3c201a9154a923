/* view.c - prints the table of --log-view. It reads the public figures alone, so a program can print a table of its own. */
#include <inttypes.h>

#include "base/argument.h"
#include "base/text.h"
#include "program/change.h"
#include "runtime/drive/collect.h"

static const double FASTER = 1.1; /* times that fewer nodes must be faster, by the estimate */

static void print_workers(const hawser_figures *figures, FILE *out)
{
    fprintf(out, "\n%8s %10s %10s %10s %10s %10s %10s %14s %14s %14s\n", "worker", "clocks", "cpu s", "wait s", "input",
            "credit", "reduction", "wait ms/clock", "bytes sent", "bytes received");
    for (uint32_t b = 0; b < figures->workers; b++) {
        const hawser_worker_figures *worker = &figures->worker[b];
        fprintf(out, "%8" PRIu32 " %10" PRIu64 " %10.3f %10.3f %10.3f %10.3f %10.3f %14.3f %14" PRIu64 " %14" PRIu64 "\n", b,
                worker->clocks, worker->cpu_seconds, worker->wait_seconds, worker->wait_input_seconds,
                worker->wait_credit_seconds, worker->wait_reduction_seconds,
                worker->clocks != 0 ? 1e3 * worker->wait_seconds / (double)worker->clocks : 0, worker->bytes_sent,
                worker->bytes_received);
    }
}

/* Returns for how many nodes a clock would be shortest, by an estimate: computing is divided among nodes, and waits for the
 * network follow the other nodes that updates are sent to. 0: no fewer nodes are plainly faster. */
static uint32_t better_nodes(const hawser_figures *figures, double computes, double waits)
{
    const double all = figures->nodes;
    double shortest = (computes + waits) / FASTER;
    uint32_t best = 0;
    for (uint32_t nodes = 1; nodes < figures->nodes; nodes++) {
        double clock = computes * all / nodes + waits * (nodes - 1) / (all - 1);
        if (clock < shortest) {
            shortest = clock;
            best = nodes;
        }
    }
    return best;
}

static void advise_nodes(const hawser_figures *figures, const hawser_cause_figures *of, FILE *out)
{
    const double clock = of->seconds / (double)of->clocks, waits = clock * of->waited;
    const uint32_t nodes = better_nodes(figures, clock - waits, waits);
    if (nodes > 0)
        fprintf(out, "%" PRIu32 " %s would be faster: a clock computes %.3g ms and waits %.3g ms for the network\n", nodes,
                nodes == 1 ? "node" : "nodes", 1e3 * (clock - waits), 1e3 * waits);
}

static void print_advice(const hawser_figures *figures, hawser_cause cause, const hawser_cause_figures *of, FILE *out)
{
    if (cause == HAWSER_CAUSE_LINK)
        fprintf(out,
                "the busiest link is one of node %" PRIu32
                ", which had something to send for %.0f %% of the time; send less "
                "(--encoding, --filter) or less often, or take fewer nodes\n",
                of->number, 100 * of->measure);
    if (cause == HAWSER_CAUSE_LINK)
        advise_nodes(figures, of, out);
    if (cause == HAWSER_CAUSE_WORKER)
        fprintf(out, "worker %" PRIu32 " takes %.1f times as long as the median one; it needs less data or a faster host\n",
                of->number, of->measure);
    if (cause == HAWSER_CAUSE_TURNS)
        fprintf(out,
                "in each clock another worker takes longest, %.1f times as long as the median one; under --sync ssp:1 to "
                "ssp:3 the others need not wait for it\n",
                of->measure);
}

/* Prints what workers waited for, and what helps against the cause with the most time. */
static void print_causes(const hawser_figures *figures, FILE *out)
{
    static const char *const names[HAWSER_CAUSES] = {"little", "a link", "one worker", "workers in turn", "other"};
    int most = HAWSER_CAUSE_NONE;
    for (int i = 0; i < HAWSER_CAUSES; i++)
        if (figures->causes[i].seconds > figures->causes[most].seconds)
            most = i;
    if (!(figures->causes[most].seconds > 0))
        return;
    fprintf(out, "\n%-24s %10s %10s %10s\n", "workers waited for", "clocks", "seconds", "waited");
    for (int i = 0; i < HAWSER_CAUSES; i++)
        if (figures->causes[i].clocks > 0)
            fprintf(out, "%-24s %10" PRIu64 " %10.3f %9.0f%%\n", names[i], figures->causes[i].clocks,
                    figures->causes[i].seconds, 100 * figures->causes[i].waited);
    print_advice(figures, (hawser_cause)most, &figures->causes[most], out);
}

static void print_flows(const hawser_figures *figures, FILE *out)
{
    if (figures->flow_count != 0)
        fprintf(out, "\n%-24s %10s %18s %18s\n", "sent", "messages", "bytes, unpacked", "bytes");
    for (size_t i = 0; i < figures->flow_count; i++) {
        const hawser_flow *flow = &figures->flows[i];
        fprintf(out, "%s%-*s %10" PRIu64 " %18" PRIu64 " %18" PRIu64 "\n", flow->state ? "state " : "",
                flow->state ? 18 : 24, flow->name, flow->messages, flow->bytes_plain, flow->bytes_sent);
    }
    if (figures->coalesced != 0)
        fprintf(out, "%" PRIu64 " clocks' updates were sent with those of a later one\n", figures->coalesced);
}

static void print_accepts(const hawser_figures *figures, FILE *out)
{
    for (size_t i = 0; i < figures->accept_count; i++) {
        const hawser_accept_figures *accepts = &figures->accepts[i];
        if (accepts->wrong_key + accepts->malformed + accepts->timed_out + accepts->evicted != 0)
            fprintf(out,
                    "\nrejected at node %" PRIu32 ": %" PRIu64 " wrong key, %" PRIu64 " malformed, %" PRIu64
                    " timed out, %" PRIu64 " evicted; the last one was %s\n",
                    accepts->node, accepts->wrong_key, accepts->malformed, accepts->timed_out, accepts->evicted,
                    accepts->last);
        if (accepts->late_messages + accepts->foreign_messages != 0)
            fprintf(out,
                    "\ndropped at node %" PRIu32 ": %" PRIu64 " messages of a job or run before, %" PRIu64
                    " of another process or view\n",
                    accepts->node, accepts->late_messages, accepts->foreign_messages);
    }
}

static void print_changes(const hawser_figures *figures, FILE *out)
{
    if (figures->change_count != 0)
        fprintf(out, "\n%-24s %10s  %s\n", "policies of", "from clock", "change");
    for (size_t i = 0; i < figures->change_count; i++) {
        const hawser_policy_change *change = &figures->changes[i];
        const hw_change_words words = hw_change_in_words(change);
        fprintf(out, "loop %-19s %10" PRIu64 "  %s", change->loop, change->clock, words.what);
        if (change->share[1] > 0)
            fprintf(out, " of block %" PRIu32, change->block);
        else if (change->state[0] != '\0')
            fprintf(out, " of state '%s'", change->state);
        fprintf(out, ": %s -> %s", words.texts[0], words.texts[1]);
        fprintf(out, ", by the %s", change->by);
        if (change->reason[0] != '\0')
            fprintf(out, " (%s)", change->reason);
        for (size_t k = 0; k < HAWSER_FIT_METRICS && change->fit[k].metric[0] != '\0'; k++)
            fprintf(out, ", %s %g", change->fit[k].metric, change->fit[k].value);
        if (figures->changes[0].run != figures->changes[figures->change_count - 1].run)
            fprintf(out, ", run %" PRIu64, change->run);
        fputc('\n', out);
    }
    if (figures->changes_left_out != 0)
        fprintf(out, "and %" PRIu64 " changes more\n", figures->changes_left_out);
}

static void print_staleness(const hawser_figures *figures, FILE *out)
{
    uint64_t total = 0;
    for (size_t i = 0; i < figures->staleness_count; i++)
        total += figures->staleness[i];
    fprintf(out, "\nstaleness: clocks begun with the oldest input so many clocks behind (furthest lead %" PRIu32 ")\n",
            figures->most_lead);
    for (size_t i = 0; i < figures->staleness_count; i++) {
        if (figures->staleness[i] == 0)
            continue;
        double share = (double)figures->staleness[i] / (double)total;
        fprintf(out, "%8zu%c %10" PRIu64 " %5.1f%% ", i, i + 1 == HW_STALENESS_BUCKETS ? '+' : ' ', figures->staleness[i],
                100 * share);
        for (int mark = 0; mark < (int)(40 * share + 0.5); mark++)
            fputc('#', out);
        fputc('\n', out);
    }
}

void hawser_run_log_view(const hawser_run *run, FILE *out)
{
    const hawser_figures *figures = hawser_run_figures(run);
    if (figures == NULL || out == NULL)
        return;
    fprintf(out, "%-24s %10s %12s %10s %10s %10s %14s\n", "event", "count", "seconds", "max s", "max/min", "wait s",
            "bytes");
    for (size_t i = 0; i < figures->event_count; i++) {
        const hawser_event_figures *line = &figures->events[i];
        fprintf(out, "%s%-*s %10" PRIu64 " %12.4f %10.4f ", line->loop ? "" : "  ", line->loop ? 24 : 22, line->name,
                line->count, line->seconds, line->most_seconds);
        if (line->least_seconds > 0)
            fprintf(out, "%10.2f", line->most_seconds / line->least_seconds);
        else
            fprintf(out, "%10s", "-");
        fprintf(out, " %10.4f %14" PRIu64 "\n", line->wait_seconds, line->bytes);
    }
    print_workers(figures, out);
    print_causes(figures, out);
    print_flows(figures, out);
    print_accepts(figures, out);
    print_changes(figures, out);
    print_staleness(figures, out);
    fprintf(out, "\n%" PRIu64 " clocks, %.3f s, %" PRIu64 " bytes exchanged; ended by %s; %s%s\n", figures->clocks,
            figures->seconds, figures->bytes_exchanged, figures->stop_reason,
            figures->repeatable == NULL ? "bit-repeatable" : "not bit-repeatable: ",
            figures->repeatable == NULL ? "" : figures->repeatable);
    if (figures->checkpoints > 0)
        fprintf(out, "%" PRIu64 " checkpoints, for which blocks waited %.3f s\n", figures->checkpoints,
                figures->checkpoint_wait_seconds);
    if (figures->chosen != NULL)
        fprintf(out, "%s\n", figures->chosen);
}

hawser_status hawser_run_log_view_text(const hawser_run *run, char **text, hawser_error *error)
{
    HW_GIVEN(run);
    HW_GIVEN(text);
    hw_memory_text made;
    HAWSER_TRY(hw_text_open(&made, error));
    hawser_run_log_view(run, made.file);
    return hw_text_close(&made, HAWSER_OK, text, error);
}
