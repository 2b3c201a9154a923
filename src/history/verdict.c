/* verdict.c - the names of the rules, and how a verdict is printed: what was verified, or the rule and the records that
 * break it. */
#include "history/verdict.h"

#include <inttypes.h>

#include "base/policies.h"

static const struct {
    const char *name, *text;
} rules[HW_RULES] = {
    [HW_RULE_RECORD] = {"record", "the records are ones that a job can make"},
    [HW_RULE_ORDER] = {"order", "clocks and parts of a block come one after the other"},
    [HW_RULE_DEFINITION] = {"definition-3", "an iteration reads before it writes"},
    [HW_RULE_READ] = {"read-constraint", "iteration a reads a chunk after its write of a - 1 - delay"},
    [HW_RULE_WRITE] = {"write-constraint", "iteration a writes a chunk after all reads of a - delay"},
    [HW_RULE_BSP] = {"bsp", "a clock begins on exactly the updates of all clocks before it"},
    [HW_RULE_DIFFERENCE] = {"ssp-bounded-difference", "no worker is more than s clocks ahead"},
    [HW_RULE_TIMESTAMPS] = {"ssp-timestamps", "updates count in the order of their clocks"},
    [HW_RULE_VISIBLE] = {"ssp-visible", "updates of clocks <= t - s - 1 are in when clock t begins"},
    [HW_RULE_MINE] = {"read-my-writes", "a read includes all updates of the reader"},
    [HW_RULE_ONCE] = {"exactly-once", "no update is lost, repeated or made up"},
    [HW_RULE_REQUEST] = {"request", "a request is done for its worker, in its clock, on its keys"},
    [HW_RULE_VALUE] = {"value", "a read returns what was written"},
    [HW_RULE_HELD] = {"held", "what a filter holds back is sent in time"},
    [HW_RULE_CREDIT] = {"credit", "no block runs a clock without credit"},
    [HW_RULE_WAIT] = {"wait", "no block waits for others without a reason"},
    [HW_RULE_END] = {"end", "all blocks end at one clock, with everything in"},
    [HW_RULE_REDUCTION] = {"reduction", "all blocks contribute to each reduction and get the same result"},
    [HW_RULE_MOVING] = {"moving", "a part has one block at a time, which has the version that the one before has left"},
    [HW_RULE_LOSS] = {"loss", "a node sends nothing after its loss"},
};

const char *hw_rule_name(hw_rule rule)
{
    return rules[rule].name;
}

/* the rule as a sentence */
static const char *rule_text(hw_rule rule)
{
    return rules[rule].text;
}

/* Writes the name of a state or table, or its number if the stream has no name for it. */
static void name_of(const hw_history *history, const hw_counterexample *counterexample, char *name, size_t size)
{
    const hw_stream_name *in = &counterexample->stream;
    const hw_stream *stream = hw_history_stream(history, (hw_stream_kind)in->kind, in->run, in->number);
    snprintf(name, size, "%" PRIu32, counterexample->record.object);
    for (size_t i = 0; stream != NULL && i < stream->count; i++)
        if (stream->records[i].kind == HW_EVENT_NAME && stream->records[i].object == counterexample->record.object) {
            snprintf(name, size, "%.*s", HW_HISTORY_NAME, stream->records[i].name);
            return;
        }
}

#define HW_POLICY_WORD(id, word, help, varies, record, ...) [record] = word,
static void print_policy(const hw_event_record *r, FILE *out)
{
    static const char *const words[] = {HW_POLICIES(HW_POLICY_WORD)};
    const char *word = r->part < sizeof words / sizeof *words ? words[r->part] : "no policy";
    size_t length = hw_word_length(word);
    fprintf(out, "%.*s", (int)length, word);
    if (word[length] == ':')
        fprintf(out, ":%" PRIu64, r->count);
}

/* Prints a WAIT record of a block's stream or of a stripe's. */
static void print_wait(const hw_counterexample *counterexample, const char *name, FILE *out)
{
    const hw_event_record *r = &counterexample->record;
    if (counterexample->stream.kind == HW_STREAM_BLOCK)
        fprintf(out, "block %" PRIu32 " waits for %s before clock %" PRIu64, r->actor,
                r->flags & HW_EVENT_INPUT ? "others" : "credit", r->clock);
    else
        fprintf(out, "task %" PRIu64 " of client %" PRIu32 " on %s %" PRIu64 "..%" PRIu64 " is set aside", r->epoch, r->from,
                name, r->first, r->last);
}

/* Prints a record that a block makes between two loops or clocks. */
static void print_event(const hw_event_record *r, const char *name, FILE *out)
{
    switch ((hw_event_kind)r->kind) {
    case HW_EVENT_CHANGED:
        fprintf(out, "setting %" PRIu32 " of block %" PRIu32 " changes from clock %" PRIu64 " on", r->part, r->actor,
                r->clock);
        break;
    case HW_EVENT_RESUMED:
        fprintf(out, "block %" PRIu32 " goes on at clock %" PRIu64 " of epoch %" PRIu64, r->actor, r->clock, r->epoch);
        break;
    case HW_EVENT_RESTORED: fprintf(out, "block %" PRIu32 " has read %s from a checkpoint", r->actor, name); break;
    case HW_EVENT_KEPT: fprintf(out, "block %" PRIu32 " keeps %s at point %" PRIu32, r->actor, name, r->part); break;
    case HW_EVENT_BACK: fprintf(out, "block %" PRIu32 " goes back to %s of point %" PRIu32, r->actor, name, r->part); break;
    case HW_EVENT_LOST:
        fprintf(out, "recorded: ");
        if (r->from == HW_HISTORY_NONE)
            fprintf(out, "the job is over");
        else
            fprintf(out, "node %" PRIu32 " is lost", r->from);
        break;
    default: fprintf(out, "record of kind %u about %s", r->kind, name); break;
    }
}

static void print_block_record(const hw_counterexample *counterexample, const char *name, FILE *out)
{
    const hw_event_record *r = &counterexample->record;
    switch ((hw_event_kind)r->kind) {
    case HW_EVENT_STATE:
        fprintf(out, "block %" PRIu32 " of %" PRIu32 " has %s, %" PRIu64 " entries", r->actor, r->part, name, r->count);
        break;
    case HW_EVENT_BEGIN:
        fprintf(out, "block %" PRIu32 " begins epoch %" PRIu64 " of %s under ", r->actor, r->epoch, name);
        print_policy(r, out);
        break;
    case HW_EVENT_CHOSEN:
        fprintf(out, "block %" PRIu32 " chooses branches %" PRIx64 " and stages %" PRIx64 " for clock %" PRIu64, r->actor,
                r->first, r->last, r->clock);
        break;
    case HW_EVENT_STRICTER:
        fprintf(out, "block %" PRIu32 " waits for %s before stage %" PRIu64 " as under ", r->actor, name, r->first);
        print_policy(r, out);
        break;
    case HW_EVENT_READ:
        fprintf(out, "r%" PRIu32 "[%s][%" PRIu64 "]  clocks in: own %" PRIu64 ", least %" PRIu64, r->actor, name, r->clock,
                r->count, r->first);
        break;
    case HW_EVENT_WRITE:
        fprintf(out, "w%" PRIu32 "[%s][%" PRIu64 "]  part %" PRIu32 ", %" PRIu64 " entries", r->actor, name, r->clock,
                r->part, r->count);
        break;
    case HW_EVENT_DEFER:
        fprintf(out, "block %" PRIu32 " leaves clock %" PRIu64 " of %s to the next", r->actor, r->clock, name);
        break;
    case HW_EVENT_SEEN:
        fprintf(out, "block %" PRIu32 " sees w%" PRIu32 "[%s][%" PRIu64 "]  part %" PRIu32 ", %" PRIu64 " entries", r->actor,
                r->from, name, r->clock, r->part, r->count);
        break;
    case HW_EVENT_FORGET: fprintf(out, "block %" PRIu32 " drops its held-back updates of %s", r->actor, name); break;
    case HW_EVENT_END:
        fprintf(out, "block %" PRIu32 " ends epoch %" PRIu64 " of %s after %" PRIu64 " clocks", r->actor, r->epoch, name,
                r->clock);
        break;
    case HW_EVENT_TURN:
        fprintf(out, "block %" PRIu32 " begins a loop over table %" PRIu32 " in iteration %" PRIu64 " under ", r->actor,
                r->object, r->clock);
        print_policy(r, out);
        break;
    case HW_EVENT_SHARE:
    case HW_EVENT_REDUCED:
        fprintf(out,
                "block %" PRIu32 " %s reduction %" PRIu32 " of clock %" PRIu64 " in unit %" PRIu32 ", %" PRIu64 " numbers%s",
                r->actor, r->kind == HW_EVENT_SHARE ? "contributes to" : "has the result of", r->part, r->clock, r->object,
                r->count, r->flags & HW_EVENT_STOPS ? ", with a request to stop" : "");
        break;
    case HW_EVENT_REDUCTIONS:
        fprintf(out, "block %" PRIu32 " ends clock %" PRIu64 " after %" PRIu32 " reductions", r->actor, r->clock, r->part);
        break;
    case HW_EVENT_PASSED:
        fprintf(out,
                "block %" PRIu32 " leaves part %" PRIu32 " of %s to block %" PRIu32 " after use %" PRIu64
                " of epoch %" PRIu64,
                r->actor, r->part, name, r->from, r->clock, r->epoch);
        break;
    case HW_EVENT_CREDIT: fprintf(out, "block %" PRIu32 " may run clocks below %" PRIu64, r->actor, r->count); break;
    default: print_event(r, name, out); break;
    }
}

static void print_vector(const hw_event_record *r, const char *name, FILE *out)
{
    const char *const edge = r->flags & HW_EVENT_INPUT ? "from" : "to";
    switch ((hw_event_kind)r->kind) {
    case HW_EVENT_EDGE: fprintf(out, "replica %" PRIu32 " has an edge %s replica %" PRIu32, r->actor, edge, r->from); break;
    case HW_EVENT_SCATTER:
        fprintf(out, "replica %" PRIu32 " scatters iteration %" PRIu64 ", %" PRIu64 " numbers or rows", r->actor, r->clock,
                r->count);
        if (r->from != HW_HISTORY_NONE)
            fprintf(out, ", to replica %" PRIu32, r->from);
        break;
    case HW_EVENT_SENT:
    case HW_EVENT_GOT:
        fprintf(out,
                "replica %" PRIu32 " %s replica %" PRIu32 " item %" PRIu64 ": %" PRIu32 " scatters up to iteration %" PRIu64,
                r->actor, r->kind == HW_EVENT_SENT ? "sends" : "takes from", r->from, r->epoch, r->span, r->clock);
        if (r->kind == HW_EVENT_GOT && r->flags == 0)
            fprintf(out, ", in the gather of iteration %" PRIu64, r->first);
        break;
    case HW_EVENT_GATHER:
        fprintf(out, "replica %" PRIu32 " ends the gather of iteration %" PRIu64, r->actor, r->clock);
        break;
    case HW_EVENT_ENDING: fprintf(out, "replica %" PRIu32 " begins its finish", r->actor); break;
    case HW_EVENT_FINISHED: fprintf(out, "replica %" PRIu32 " has finished", r->actor); break;
    default: fprintf(out, "replica %" PRIu32 " of %" PRIu32 " has vector %s", r->actor, r->from, name); break;
    }
}

/* Prints how many clocks of all workers a pull requires. */
static void print_least(const hw_event_record *r, FILE *out)
{
    if (r->least > 0)
        fprintf(out, ", requires %" PRIu64 " clocks of every worker", r->least);
}

static void print_record(const hw_counterexample *counterexample, const char *name, FILE *out)
{
    const hw_event_record *r = &counterexample->record;
    switch ((hw_event_kind)r->kind) {
    case HW_EVENT_TABLE:
        fprintf(out, "table %s, keys %" PRIu64 "..%" PRIu64 ", %" PRIu32 " workers", name, r->first, r->last, r->part);
        break;
    case HW_EVENT_GIVEN:
    case HW_EVENT_TAKEN:
        fprintf(out,
                "%c%" PRIu32 "[%s %" PRIu64 "..%" PRIu64 "][%" PRIu64 "]  task %" PRIu64 " of client %" PRIu32 ", %" PRIu64
                " rows%s",
                r->kind == HW_EVENT_GIVEN ? 'r' : 'w', r->actor, name, r->first, r->last, r->clock, r->epoch, r->from,
                r->count, r->flags & HW_EVENT_REREAD ? ", reread" : "");
        print_least(r, out);
        if (r->flags & HW_EVENT_FAILED)
            fprintf(out, ": %s", r->kind == HW_EVENT_GIVEN ? "refused" : "failed");
        break;
    case HW_EVENT_CLOCK:
        fprintf(out, "worker %" PRIu32 " has ended clock %" PRIu64 " on %s %" PRIu64 "..%" PRIu64, r->actor, r->clock, name,
                r->first, r->last);
        break;
    case HW_EVENT_ASKED:
    case HW_EVENT_ANSWER:
        fprintf(out, "client %" PRIu32 " %s task %" PRIu64 ": %s of %s %" PRIu64 "..%" PRIu64 ", %" PRIu64 " rows%s",
                r->from, r->kind == HW_EVENT_ASKED ? "begins" : "has the answer to", r->epoch,
                r->flags & HW_EVENT_TICKS    ? "clock"
                : r->flags & HW_EVENT_PUSHES ? "push"
                                             : "pull",
                name, r->first, r->last, r->count, r->flags & HW_EVENT_REREAD ? ", reread" : "");
        fprintf(out, ", by worker %" PRIu32 " in clock %" PRIu64, r->actor, r->clock);
        print_least(r, out);
        break;
    case HW_EVENT_HELD:
        fprintf(out,
                "client %" PRIu32 " lets %" PRIu64 " of %" PRIu64 " rows of task %" PRIu64 " to %s go, holds %" PRIu32
                " and drops %" PRIu64,
                r->from, r->count, r->first, r->epoch, name, r->span, r->last);
        break;
    case HW_EVENT_WAIT: print_wait(counterexample, name, out); break;
    default:
        if (counterexample->stream.kind == HW_STREAM_VECTOR)
            print_vector(r, name, out);
        else
            print_block_record(counterexample, name, out);
        break;
    }
}

static void print_place(const hw_counterexample *counterexample, FILE *out)
{
    const hw_stream_name *in = &counterexample->stream;
    if (in->kind == HW_STREAM_STRIPE)
        fprintf(out, "   (run %" PRIu32 ", server %" PRIu32 ", stripe %" PRIu32 " of table %" PRIu32 ", record %zu)",
                in->run, in->number >> 16, in->number & 63, in->number >> 6 & 1023, counterexample->number);
    else
        fprintf(out, "   (run %" PRIu32 ", %s %" PRIu32 ", record %zu)", in->run,
                in->kind == HW_STREAM_BLOCK    ? "block"
                : in->kind == HW_STREAM_VECTOR ? "replica"
                                               : "client",
                in->number, counterexample->number);
}

void hw_counterexample_print(const hw_counterexample *counterexample, const hw_history *history, FILE *out)
{
    char name[64];
    name_of(history, counterexample, name, sizeof name);
    print_record(counterexample, name, out);
    print_place(counterexample, out);
}

/* Prints ", up to the loss of nodes 1 and 2". */
static void print_losses(const hw_history *history, FILE *out)
{
    uint32_t left = 0, printed = 0;
    for (uint32_t node = 0; node < history->nodes; node++)
        left += history->parts[node].lost;
    if (left == 0)
        fprintf(out, " up to its end");
    for (uint32_t node = 0; node < history->nodes; node++)
        if (history->parts[node].lost) {
            printed++;
            fprintf(out, "%s%" PRIu32, printed == 1 ? " up to the loss of node " : printed == left ? " and " : ", ", node);
        }
}

/* Prints how far the files of a failed job go. */
static void print_cut(const hw_verdict *verdict, const hw_history *history, FILE *out)
{
    fprintf(out, "%" PRIu64 " records of %" PRIu64 " streams of a job that ended in '%s': consistent", verdict->records,
            verdict->streams, hawser_status_name(history->ended));
    print_losses(history, out);
    fprintf(out, "\n");
    for (uint32_t node = 0; node < history->nodes; node++) {
        const hw_history_part *part = &history->parts[node];
        if (!part->read)
            fprintf(out, "  node %" PRIu32 " has left no file\n", node);
        else if (part->trouble != NULL)
            fprintf(out, "  node %" PRIu32 " has left %" PRIu64 " records and no end record\n", node, part->records);
    }
    if (verdict->unrecorded > 0)
        fprintf(out, "  %" PRIu64 " of its events that other nodes recorded are missing from its file\n",
                verdict->unrecorded);
}

void hw_verdict_print(const hw_verdict *verdict, const hw_history *history, FILE *out)
{
    if (verdict->broken) {
        fprintf(out, "broken: %s: %s\n", hw_rule_name(verdict->rule), rule_text(verdict->rule));
        fprintf(out, "  %s\n", verdict->text);
        for (size_t i = 0; i < verdict->count; i++) {
            fprintf(out, "  ");
            hw_counterexample_print(&verdict->counterexamples[i], history, out);
            fprintf(out, "\n");
        }
        return;
    }
    if (history->ended != HAWSER_OK)
        print_cut(verdict, history, out);
    else
        fprintf(out, "verified: %" PRIu64 " records of %" PRIu64 " streams%s\n", verdict->records, verdict->streams,
                verdict->resumed ? " of a job that went on from a checkpoint" : "");
    for (int rule = 0; rule < HW_RULES; rule++)
        if (verdict->checked[rule] > 0)
            fprintf(out, "  %-24s %12" PRIu64 "  %s\n", hw_rule_name((hw_rule)rule), verdict->checked[rule],
                    rule_text((hw_rule)rule));
}
