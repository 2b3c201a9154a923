/*
 * pieces.c - the work of stripes against the requests of clients, field by field: which table and keys, for which worker, in
 * which clock, and with which clocks of the others. A link or server that changes one of them is found here, whatever the
 * policy.
 */
#include <inttypes.h>
#include <string.h>

#include "history/checker.h"

/* What the first records of a stripe say about its keys. */
typedef struct stripe_keys {
    bool any, sparse;
    uint64_t first, last;
} stripe_keys;

/* The pieces of one direction of a task. */
typedef struct pieces {
    hw_checker *checker;
    const stripe_keys *stripes; /* by stream */
    const hw_indexed *asked;
    const hw_indexed *entries;
    size_t count;
    hw_event_kind kind;
    bool whole; /* all of them must be recorded */
} pieces;

static const stripe_keys *keys_of(const pieces *p, const hw_indexed *entry)
{
    return &p->stripes[entry->stream - p->checker->history->streams];
}

static bool violation(const pieces *p, const hw_indexed *entry, hw_rule rule, const char *what)
{
    const hw_event_record *a = hw_record_of(p->asked);
    const hw_at both[] = {{p->asked->stream, p->asked->number}, {entry->stream, entry->number}};
    return hw_violation(p->checker, rule, both, 2, "task %" PRIu64 " of client %" PRIu32 " %s", a->epoch, a->from, what);
}

/* ---------------------------------------------------------------------------------------------------- one piece ---- */

static uint32_t server_of(const hw_indexed *entry)
{
    return entry->stream->name.number >> 16;
}

/* Checks the keys of a piece: they are of the request and of the stripe; a clock is one of all keys that these two have in
 * common. */
static bool has_right_keys(const pieces *p, const hw_indexed *entry)
{
    const hw_event_record *r = hw_record_of(entry), *a = hw_record_of(p->asked);
    const stripe_keys *own = keys_of(p, entry);
    uint64_t keys = r->last - r->first; /* less one */
    if (r->first > r->last || r->first < a->first || r->last > a->last || r->first < own->first || r->last > own->last)
        return false;
    if (r->kind == HW_EVENT_CLOCK) /* its parts are numbered by server */
        return r->part == server_of(entry) && r->first == (own->first > a->first ? own->first : a->first) &&
               r->last == (own->last < a->last ? own->last : a->last);
    bool listed = (r->flags & HW_EVENT_LISTED) != 0;
    return r->count > 0 && r->count - 1 <= keys && listed == (r->count - 1 != keys);
}

static const char *difference(const pieces *p, const hw_indexed *entry)
{
    const hw_event_record *r = hw_record_of(entry), *a = hw_record_of(p->asked);
    static const unsigned wanted[] = {
        [HW_EVENT_GIVEN] = HW_EVENT_PULLS, [HW_EVENT_TAKEN] = HW_EVENT_PUSHES, [HW_EVENT_CLOCK] = HW_EVENT_TICKS};
    if (r->object != a->object || (a->flags & wanted[r->kind]) == 0 ||
        (r->kind == HW_EVENT_TAKEN && ((r->flags ^ a->flags) & HW_EVENT_RESTORES) != 0))
        return "did not request this";
    if (r->actor != a->actor)
        return "is of another worker than the request";
    if (r->clock != a->clock)
        return r->kind == HW_EVENT_CLOCK ? "ends another clock than the request"
                                         : "is of another iteration than the request";
    if (r->least != a->least)
        return "requires other clocks of the workers than the request";
    if (!has_right_keys(p, entry))
        return r->kind == HW_EVENT_CLOCK ? "ends a clock of other keys than the request" : "has other keys than the request";
    return NULL;
}

static bool check_piece(const pieces *p, const hw_indexed *entry)
{
    const char *what = difference(p, entry);
    hw_applied(p->checker, HW_RULE_REQUEST);
    return what == NULL || violation(p, entry, HW_RULE_REQUEST, what);
}

/* ----------------------------------------------------------------------------------------------------- all pieces ---- */

/* By part, then by stream and key. */
static int by_part(const void *a, const void *b)
{
    const hw_indexed *x = a, *y = b;
    const hw_event_record *r = hw_record_of(x), *s = hw_record_of(y);
    if (r->part != s->part)
        return r->part < s->part ? -1 : 1;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return r->first < s->first ? -1 : r->first > s->first;
}

/* By stream and key. */
static int by_place(const void *a, const void *b)
{
    const hw_indexed *x = a, *y = b;
    const hw_event_record *r = hw_record_of(x), *s = hw_record_of(y);
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return r->first < s->first ? -1 : r->first > s->first;
}

/* Checks the pieces of one part, which is one message to one server: each has their number. */
static bool check_part(const pieces *p, const hw_indexed *of, size_t count)
{
    bool sparse = keys_of(p, of)->sparse;
    const hw_event_record *first = hw_record_of(of);
    for (size_t i = 0; i < count; i++) {
        const hw_event_record *r = hw_record_of(&of[i]);
        bool same = server_of(&of[i]) == server_of(of) && (!sparse || (r->first == first->first && r->last == first->last));
        if (same && r->covers == hw_record_of(of)->covers && r->covers < count)
            return violation(p, &of[i], HW_RULE_ONCE, "is done more than once");
        if (same && r->covers == hw_record_of(of)->covers && r->covers > count && p->whole)
            return violation(p, &of[i], HW_RULE_ONCE,
                             p->kind == HW_EVENT_CLOCK ? "ends a clock that not all stripes receive"
                                                       : "was not done on all of its keys");
        if (!same || r->covers != hw_record_of(of)->covers)
            return violation(p, &of[i], HW_RULE_REQUEST, "has a part that is cut into pieces in two ways");
    }
    return true;
}

/* Checks that the parts are those into which the task was cut. A server without keys of a table does not record its part of
 * a clock. */
static bool check_parts(const pieces *p, hw_indexed *all)
{
    uint32_t slices = hw_record_of(p->asked)->part, seen = 0;
    qsort(all, p->count, sizeof *all, by_part);
    for (size_t i = 0, next; i < p->count; i = next, seen++) {
        uint32_t part = hw_record_of(&all[i])->part;
        for (next = i + 1; next < p->count && hw_record_of(&all[next])->part == part;)
            next++;
        if (part >= slices)
            return violation(p, &all[i], HW_RULE_REQUEST, "has a part that it was not cut into");
        if (!check_part(p, &all[i], next - i))
            return false;
    }
    return !p->whole || p->kind == HW_EVENT_CLOCK || seen == slices ||
           violation(p, all, HW_RULE_ONCE, "was not done on all of its keys");
}

/* Checks that the pieces reach from the first key to the last, and that those of one stripe have no key twice. */
static bool check_keys(const pieces *p, hw_indexed *all)
{
    const hw_event_record *a = hw_record_of(p->asked);
    uint64_t first = UINT64_MAX, last = 0;
    qsort(all, p->count, sizeof *all, by_place);
    for (size_t i = 0; i < p->count; i++) {
        const hw_event_record *r = hw_record_of(&all[i]);
        first = r->first < first ? r->first : first;
        last = r->last > last ? r->last : last;
        if (i > 0 && all[i].stream == all[i - 1].stream && !keys_of(p, &all[i])->sparse &&
            r->first <= hw_record_of(&all[i - 1])->last)
            return violation(p, &all[i], HW_RULE_ONCE, "is done more than once");
    }
    return !p->whole || (first == a->first && last == a->last) ||
           violation(p, all, HW_RULE_REQUEST, "has other keys than the request");
}

static hawser_status check_all(const pieces *p, hawser_error *error)
{
    hw_indexed *all = NULL;
    hw_applied(p->checker, HW_RULE_REQUEST);
    HAWSER_TRY(HW_NEW(&all, p->count, "the pieces of a task", error));
    memcpy(all, p->entries, p->count * sizeof *all);
    if (p->kind == HW_EVENT_CLOCK || check_keys(p, all))
        (void)check_parts(p, all);
    free(all);
    return HAWSER_OK;
}

/* ----------------------------------------------------------------------------------------------------------- tasks ---- */

static const hw_indexed *answer_of(const hw_checker *checker, const hw_indexed *asked)
{
    size_t count;
    return hw_index_find(&checker->asked, (uint64_t[5]){asked->key[0], asked->key[1], 1, 0, 0}, &count);
}

/* Returns whether all pieces of a task must be recorded: it has succeeded, or is a clock, and no node was lost. */
static bool is_whole(const hw_checker *checker, const hw_indexed *asked)
{
    const hw_indexed *answer = answer_of(checker, asked);
    if (hw_is_cut(checker))
        return false;
    return (hw_record_of(asked)->flags & HW_EVENT_TICKS) != 0 ||
           (answer != NULL && (hw_record_of(answer)->flags & HW_EVENT_FAILED) == 0);
}

/* Checks that a task whose pieces have failed has failed. */
static bool check_failed(const pieces *p, const hw_indexed *entry)
{
    bool failed = p->kind == HW_EVENT_TAKEN && (hw_record_of(entry)->flags & HW_EVENT_FAILED) != 0;
    return !failed || !p->whole || violation(p, entry, HW_RULE_ONCE, "has failed at a server and succeeds at its client");
}

/* Checks the pieces begin .. begin + count - 1 of the index, which are of one kind and task. */
static hawser_status check_group(hw_checker *checker, const stripe_keys *stripes, const hw_indexed *entries, size_t count,
                                 hawser_error *error)
{
    size_t found;
    const uint64_t key[5] = {entries->key[0], entries->key[1], 0, 0, 0};
    const hw_indexed *asked = hw_index_find(&checker->asked, key, &found);
    uint32_t run = entries->stream->name.run, client = (uint32_t)entries->key[0];
    if (hw_streams_of(checker->history, HW_STREAM_CLIENT, run) == 0)
        return HAWSER_OK; /* the history is of stripes alone */
    hw_applied(checker, HW_RULE_ONCE);
    if (asked == NULL && hw_may_lack(checker, HW_STREAM_CLIENT, run, client))
        checker->verdict->unrecorded += count;
    else if (asked == NULL)
        (void)hw_violation(checker, HW_RULE_ONCE, &(hw_at){entries->stream, entries->number}, 1,
                           "a stripe has done what no client requested");
    if (asked == NULL)
        return HAWSER_OK;
    pieces p = {checker, stripes, asked, entries, count, (hw_event_kind)entries->key[2], is_whole(checker, asked)};
    for (size_t i = 0; i < count; i++)
        if (!check_piece(&p, &entries[i]) || !check_failed(&p, &entries[i]))
            return HAWSER_OK;
    return check_all(&p, error);
}

/* Reads the keys of every stripe from its first records. */
static hawser_status read_stripes(const hw_history *history, stripe_keys **stripes, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(stripes, history->count + 1, "the stripes of a history", error));
    for (size_t s = 0; s < history->count; s++) {
        stripe_keys *of = &(*stripes)[s];
        for (size_t i = 0; history->streams[s].name.kind == HW_STREAM_STRIPE && i < history->streams[s].count; i++) {
            const hw_event_record *r = &history->streams[s].records[i];
            if (r->kind != HW_EVENT_TABLE && r->kind != HW_EVENT_NAME)
                break;
            if (r->kind != HW_EVENT_TABLE)
                continue;
            of->first = of->any && of->first < r->first ? of->first : r->first;
            of->last = of->any && of->last > r->last ? of->last : r->last;
            of->sparse = (r->flags & HW_EVENT_SPARSE) != 0;
            of->any = true;
        }
    }
    return HAWSER_OK;
}

hawser_status hw_check_pieces(hw_checker *checker, hawser_error *error)
{
    const hw_index *served = &checker->served;
    stripe_keys *stripes = NULL;
    hawser_status status = read_stripes(checker->history, &stripes, error);
    for (size_t i = 0, next; status == HAWSER_OK && i < served->count; i = next) {
        for (next = i + 1; next < served->count &&
                           memcmp(served->entries[next].key, served->entries[i].key, sizeof served->entries->key) == 0;)
            next++;
        status = check_group(checker, stripes, &served->entries[i], next - i, error);
    }
    free(stripes);
    return status;
}
