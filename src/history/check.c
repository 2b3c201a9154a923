/* check.c - the verdict: the records by key, the rules' names, and what is said. */
#include "history/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "history/judge.h"

static const struct {
    const char *name, *text;
} rules[HW_RULES] = {
    [HW_RULE_RECORD] = {"record", "the records are ones that a job makes"},
    [HW_RULE_ORDER] = {"order", "clocks and parts of a block come one after the other"},
    [HW_RULE_DEFINITION] = {"definition-3", "an iteration reads before it writes"},
    [HW_RULE_READ] = {"read-constraint", "iteration a reads a chunk after its write of a - 1 - delay"},
    [HW_RULE_WRITE] = {"write-constraint", "iteration a writes a chunk after all reads of a - delay"},
    [HW_RULE_BSP] = {"bsp", "a clock begins on exactly the updates of all clocks before it"},
    [HW_RULE_DIFFERENCE] = {"ssp-bounded-difference", "nobody is more than s clocks ahead"},
    [HW_RULE_TIMESTAMPS] = {"ssp-timestamps", "updates count in the order of their clocks"},
    [HW_RULE_VISIBLE] = {"ssp-visible", "updates of clocks <= t - s - 1 are in when clock t begins"},
    [HW_RULE_MINE] = {"read-my-writes", "who reads has its own updates in"},
    [HW_RULE_ONCE] = {"exactly-once", "no update is lost, repeated or made up"},
    [HW_RULE_VALUE] = {"value", "what is read is what was written"},
    [HW_RULE_HELD] = {"held", "what a filter holds back goes out in time"},
    [HW_RULE_CREDIT] = {"credit", "nobody runs a clock that was not allowed"},
    [HW_RULE_WAIT] = {"wait", "nobody waits for others without a reason"},
    [HW_RULE_END] = {"end", "all blocks end at one clock, with everything in"},
};

const char *hw_rule_name(hw_rule rule)
{
    return rules[rule].name;
}

/* ------------------------------------------------------------------------------------------------------------- index ---- */

hawser_status hw_index_add(hw_index *index, const uint64_t key[5], const hw_stream *stream, size_t number,
                           hawser_error *error)
{
    HAWSER_TRY(HW_GROW(&index->entries, &index->room, index->count + 1, "an index of a history", error));
    hw_indexed *entry = &index->entries[index->count++];
    memcpy(entry->key, key, sizeof entry->key);
    entry->stream = stream;
    entry->number = number;
    return HAWSER_OK;
}

static int compare_keys(const uint64_t *a, const uint64_t *b)
{
    for (int i = 0; i < 5; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

static int by_key(const void *a, const void *b)
{
    const hw_indexed *x = a, *y = b;
    int order = compare_keys(x->key, y->key);
    if (order != 0)
        return order;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

void hw_index_sort(hw_index *index)
{
    if (index->count > 1)
        qsort(index->entries, index->count, sizeof *index->entries, by_key);
}

const hw_indexed *hw_index_find(const hw_index *index, const uint64_t key[5], size_t *count)
{
    size_t low = 0, high = index->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_keys(index->entries[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (high = low; high < index->count && compare_keys(index->entries[high].key, key) == 0;)
        high++;
    *count = high - low;
    return high > low ? &index->entries[low] : NULL;
}

/* ------------------------------------------------------------------------------------------------------------ breach ---- */

bool hw_breach(hw_judge *judge, hw_rule rule, const hw_at *at, size_t count, const char *format, ...)
{
    hw_verdict *verdict = judge->verdict;
    if (verdict->broken && verdict->count <= count)
        return false;
    verdict->broken = true;
    verdict->rule = rule;
    verdict->count = 0;
    for (size_t i = 0; i < count && i < HW_WITNESSES; i++)
        verdict->witnesses[verdict->count++] =
            (hw_witness){at[i].stream->name, at[i].number, at[i].stream->records[at[i].number]};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(verdict->text, sizeof verdict->text, format, arguments);
    va_end(arguments);
    return false;
}

static hawser_status make_index(hw_judge *judge, hawser_error *error)
{
    const hw_history *history = judge->history;
    for (size_t s = 0; s < history->count; s++) {
        const hw_stream *stream = &history->streams[s];
        uint64_t run = (uint64_t)stream->name.run << 32;
        for (size_t i = 0; i < stream->count; i++) {
            const hw_event_record *r = &stream->records[i];
            if (r->kind == HW_EVENT_WRITE)
                HAWSER_TRY(hw_index_add(&judge->writes, (uint64_t[]){run | r->object, r->epoch, r->clock, r->part, r->who},
                                        stream, i, error));
            else if (r->kind == HW_EVENT_GIVEN || r->kind == HW_EVENT_TAKEN || r->kind == HW_EVENT_CLOCK)
                HAWSER_TRY(
                    hw_index_add(&judge->served, (uint64_t[]){run | r->from, r->epoch, r->kind, 0, 0}, stream, i, error));
            else if (r->kind == HW_EVENT_ASKED || r->kind == HW_EVENT_ANSWER)
                HAWSER_TRY(hw_index_add(&judge->asked,
                                        (uint64_t[]){run | r->from, r->epoch, r->kind == HW_EVENT_ANSWER, 0, 0}, stream, i,
                                        error));
        }
    }
    hw_index_sort(&judge->writes);
    hw_index_sort(&judge->served);
    hw_index_sort(&judge->asked);
    return HAWSER_OK;
}

hawser_status hw_history_check(const hw_history *history, hw_verdict *verdict, hawser_error *error)
{
    hw_judge judge = {.history = history, .verdict = verdict};
    *verdict = (hw_verdict){.streams = history->count, .records = history->records};
    hawser_status status = make_index(&judge, error);
    if (status == HAWSER_OK)
        status = hw_judge_turns(&judge, error);
    if (status == HAWSER_OK)
        status = hw_judge_blocks(&judge, error);
    if (status == HAWSER_OK)
        status = hw_judge_stripes(&judge, error);
    if (status == HAWSER_OK)
        status = hw_judge_tasks(&judge, error);
    free(judge.turns.entries);
    free(judge.writes.entries);
    free(judge.served.entries);
    free(judge.asked.entries);
    return status;
}

/* ----------------------------------------------------------------------------------------------------------- telling ---- */

/* The name that the stream gives to a state or table; else its number. */
static void name_of(const hw_history *history, const hw_witness *witness, char *name, size_t size)
{
    snprintf(name, size, "%" PRIu32, witness->record.object);
    for (size_t s = 0; s < history->count; s++) {
        const hw_stream *stream = &history->streams[s];
        for (size_t i = 0; memcmp(&stream->name, &witness->stream, sizeof stream->name) == 0 && i < stream->count; i++)
            if (stream->records[i].kind == HW_EVENT_NAME && stream->records[i].object == witness->record.object) {
                snprintf(name, size, "%.*s", HW_HISTORY_NAME, stream->records[i].name);
                return;
            }
    }
}

static void tell_block_record(const hw_event_record *r, const char *name, FILE *out)
{
    switch ((hw_event_kind)r->kind) {
    case HW_EVENT_BEGIN:
        fprintf(out, "begins epoch %" PRIu64 " of %s under %s", r->epoch, name,
                r->part == HW_EVENT_BSP   ? "bsp"
                : r->part == HW_EVENT_SSP ? "ssp"
                                          : "tap");
        break;
    case HW_EVENT_READ:
        fprintf(out, "r%" PRIu32 "[%s][%" PRIu64 "]  clocks in: own %" PRIu64 ", least %" PRIu64, r->who, name, r->clock,
                r->count, r->first);
        break;
    case HW_EVENT_WRITE:
        fprintf(out, "w%" PRIu32 "[%s][%" PRIu64 "]  part %" PRIu32 ", %" PRIu64 " entries", r->who, name, r->clock, r->part,
                r->count);
        break;
    case HW_EVENT_DEFER: fprintf(out, "clock %" PRIu64 " of %s is left to the next", r->clock, name); break;
    case HW_EVENT_SEEN:
        fprintf(out, "block %" PRIu32 " sees w%" PRIu32 "[%s][%" PRIu64 "]  part %" PRIu32, r->who, r->from, name, r->clock,
                r->part);
        break;
    case HW_EVENT_END: fprintf(out, "ends %s after %" PRIu64 " clocks", name, r->clock); break;
    case HW_EVENT_TURN:
        fprintf(out, "iteration %" PRIu64 " of table %" PRIu32 " begins a loop under policy %" PRIu32 ", s %" PRIu64,
                r->clock, r->object, r->part, r->count);
        break;
    case HW_EVENT_CREDIT: fprintf(out, "may run clocks below %" PRIu64, r->count); break;
    case HW_EVENT_WAIT: fprintf(out, "waits before clock %" PRIu64, r->clock); break;
    default: fprintf(out, "record of kind %u about %s", r->kind, name); break;
    }
}

static void tell_record(const hw_event_record *r, const char *name, FILE *out)
{
    switch ((hw_event_kind)r->kind) {
    case HW_EVENT_GIVEN:
    case HW_EVENT_TAKEN:
        fprintf(out,
                "%c%" PRIu32 "[%s %" PRIu64 "..%" PRIu64 "][%" PRIu64 "]  task %" PRIu64 " of client %" PRIu32 ", %" PRIu64
                " rows",
                r->kind == HW_EVENT_GIVEN ? 'r' : 'w', r->who, name, r->first, r->last, r->clock, r->epoch, r->from,
                r->count);
        break;
    case HW_EVENT_CLOCK:
        fprintf(out, "worker %" PRIu32 " has ended clock %" PRIu64 " on %s %" PRIu64 "..%" PRIu64, r->who, r->clock, name,
                r->first, r->last);
        break;
    case HW_EVENT_ASKED:
    case HW_EVENT_ANSWER:
        fprintf(out, "client %" PRIu32 " %s task %" PRIu64 ": %s of %s %" PRIu64 "..%" PRIu64 ", %" PRIu64 " rows", r->from,
                r->kind == HW_EVENT_ASKED ? "begins" : "has the answer to", r->epoch,
                r->flags & HW_EVENT_TICKS    ? "clock"
                : r->flags & HW_EVENT_PUSHES ? "push"
                                             : "pull",
                name, r->first, r->last, r->count);
        break;
    case HW_EVENT_HELD:
        fprintf(out,
                "client %" PRIu32 " lets %" PRIu64 " of %" PRIu64 " rows of task %" PRIu64 " to %s go, holds %" PRIu32
                " and drops %" PRIu64,
                r->from, r->count, r->first, r->epoch, name, r->span, r->last);
        break;
    default: tell_block_record(r, name, out); break;
    }
}

static const char *kind_of(const hw_stream_name *stream)
{
    return stream->kind == HW_STREAM_BLOCK ? "block" : stream->kind == HW_STREAM_CLIENT ? "client" : "stripe";
}

void hw_verdict_tell(const hw_verdict *verdict, const hw_history *history, FILE *out)
{
    if (!verdict->broken) {
        fprintf(out, "verified: %" PRIu64 " records of %" PRIu64 " streams\n", verdict->records, verdict->streams);
        for (int rule = 0; rule < HW_RULES; rule++)
            if (verdict->checked[rule] > 0)
                fprintf(out, "  %-24s %12" PRIu64 "  %s\n", rules[rule].name, verdict->checked[rule], rules[rule].text);
        return;
    }
    fprintf(out, "broken: %s: %s\n", rules[verdict->rule].name, rules[verdict->rule].text);
    fprintf(out, "  %s\n", verdict->text);
    for (size_t i = 0; i < verdict->count; i++) {
        char name[64];
        const hw_witness *witness = &verdict->witnesses[i];
        name_of(history, witness, name, sizeof name);
        fprintf(out, "  ");
        tell_record(&witness->record, name, out);
        fprintf(out, "   (run %" PRIu32 ", %s %" PRIu32 ", record %zu)\n", witness->stream.run, kind_of(&witness->stream),
                witness->stream.number, witness->number);
    }
}
