/*
 * stripes.c - the rules of one stripe of a server, in its own order: the read and write constraints of data-centric tables,
 * the clocks of other tables, what waits and why, and that only writes change rows.
 *
 * The keys are cut at each end of a range that a record has; all keys of a piece have the same past.
 */
#include <inttypes.h>
#include <string.h>

#include "base/order.h"
#include "base/random.h"
#include "history/checker.h"

typedef struct stripe_walk {
    hw_checker *checker;
    const hw_stream *stream;
    const hw_event_record *table;
    size_t at;
    uint64_t first, last; /* keys: the first one of the first arc and the last one of the last arc */
    uint64_t *keys;       /* where pieces begin, ascending */
    size_t pieces;
    uint32_t workers, clients;
    uint64_t *read;           /* by worker and piece: iterations read, or clocks ended */
    bool *own;                /* by piece: false for keys of other stripes between its arcs, which do not count */
    uint64_t *written;        /* by piece: iterations */
    uint64_t *version;        /* by piece: number of changes */
    size_t *changed;          /* 1 + index of the record that changed it last; 0: none */
    uint64_t *version_before; /* both before `written` rose last */
    size_t *changed_before;
    uint64_t *asked; /* by client and piece: 1 + place of the latest task that read it */
    size_t *waiting; /* indices of records */
    size_t waiting_count, waiting_capacity;
    hw_index reads; /* by range and version, for their digests */
    uint64_t due;   /* changes of all iterations below it are in, as established by record `due_at` under `due_policy` */
    size_t due_at;
    bool due_reads;
    uint32_t due_policy;
} stripe_walk;

typedef struct span {
    size_t begin, end; /* pieces */
} span;

#define ALONE(w, rule, ...) hw_violation((w)->checker, rule, &(hw_at){(w)->stream, (w)->at}, 1, __VA_ARGS__)
#define WITH(w, rule, other, ...)                                                                                           \
    hw_violation((w)->checker, rule, (hw_at[]){{(w)->stream, (w)->at}, {(w)->stream, other}}, 2, __VA_ARGS__)

static const hw_event_record *record(const stripe_walk *w, size_t number)
{
    return &w->stream->records[number];
}

static bool has_keys(const hw_event_record *r)
{
    return r->kind == HW_EVENT_GIVEN || r->kind == HW_EVENT_TAKEN || r->kind == HW_EVENT_CLOCK || r->kind == HW_EVENT_WAIT;
}

static size_t piece_of(const stripe_walk *w, uint64_t key)
{
    size_t low = 0, high = w->pieces;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (w->keys[middle] <= key)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static span span_of(const stripe_walk *w, const hw_event_record *r)
{
    return (span){piece_of(w, r->first), piece_of(w, r->last) + 1};
}

static bool overlap(const hw_event_record *a, const hw_event_record *b)
{
    return a->first <= b->last && b->first <= a->last;
}

static bool centric(const stripe_walk *w)
{
    return (w->table->flags & HW_EVENT_CENTRIC) != 0;
}

/* ------------------------------------------------------------------------------------------------------ constraints ---- */

/* Goel et al. 2015, section 7: w[a - 1 - delay] < r[a]. */
static bool may_read(const stripe_walk *w, const hw_event_record *r)
{
    span s = span_of(w, r);
    uint64_t delay = w->table->clock;
    for (size_t p = s.begin; p < s.end; p++)
        if (w->own[p] && r->clock > delay && w->written[p] < r->clock - delay)
            return false;
    return true;
}

/* Checks r_j[a - delay] < w[a] for every worker j. Sets *j to the first worker that has not read. */
static bool may_write(const stripe_walk *w, const hw_event_record *r, uint32_t *j)
{
    span s = span_of(w, r);
    uint64_t delay = w->table->clock;
    for (*j = 0; *j < w->workers && r->clock >= delay; ++*j)
        for (size_t p = s.begin; p < s.end; p++)
            if (w->own[p] && w->read[(size_t)*j * w->pieces + p] <= r->clock - delay)
                return false;
    return true;
}

/* Returns whether the worker of a reread has read a later iteration of these keys. If so, it does not repeat its last
 * one. */
static bool is_past(const stripe_walk *w, const hw_event_record *r)
{
    span s = span_of(w, r);
    for (size_t p = s.begin; p < s.end; p++)
        if (w->own[p] && w->read[(size_t)r->actor * w->pieces + p] > r->clock + 1)
            return true;
    return false;
}

/* A reread must not return a write that a read of this iteration would have delayed, but the version before it. */
static bool sees_before(const stripe_walk *w, const hw_event_record *r, size_t p)
{
    return (r->flags & HW_EVENT_REREAD) && hw_beyond(w->written[p], r->clock) > w->table->clock;
}

static uint64_t version_of(const stripe_walk *w, const hw_event_record *r, size_t p)
{
    return sees_before(w, r, p) ? w->version_before[p] : w->version[p];
}

static size_t changed_of(const stripe_walk *w, const hw_event_record *r, size_t p)
{
    return sees_before(w, r, p) ? w->changed_before[p] : w->changed[p];
}

/* Returns whether all workers have ended the clocks that a request requires, on its keys. */
static bool clocks_are_in(const stripe_walk *w, const hw_event_record *r)
{
    span s = span_of(w, r);
    for (uint32_t j = 0; j < w->workers && r->least > 0; j++)
        for (size_t p = s.begin; p < s.end; p++)
            if (w->own[p] && w->read[(size_t)j * w->pieces + p] < r->least)
                return false;
    return true;
}

static bool may_be_done(const stripe_walk *w, const hw_event_record *waits)
{
    uint32_t j;
    if (!centric(w))
        return clocks_are_in(w, waits);
    if ((waits->flags & HW_EVENT_REREAD) && is_past(w, waits))
        return true; /* it is refused */
    return ((waits->flags & HW_EVENT_PUSHES) == 0 || may_write(w, waits, &j)) &&
           ((waits->flags & HW_EVENT_PULLS) == 0 || may_read(w, waits));
}

/* ---------------------------------------------------------------------------------------------------------- waiting ---- */

static bool same_task(const hw_event_record *a, const hw_event_record *b)
{
    return a->from == b->from && a->epoch == b->epoch && a->part == b->part && a->object == b->object &&
           a->first == b->first && a->last == b->last;
}

/* Removes a request that is done from those that wait. Returns false if it does not wait. */
static bool was_waiting(stripe_walk *w)
{
    const hw_event_record *r = record(w, w->at);
    for (size_t i = 0; i < w->waiting_count && r->kind != HW_EVENT_WAIT; i++) {
        if (!same_task(record(w, w->waiting[i]), r))
            continue;
        memmove(w->waiting + i, w->waiting + i + 1, (--w->waiting_count - i) * sizeof *w->waiting);
        return true;
    }
    return false;
}

/* Returns whether this record is the second half of a push_pull whose first half is the record before. */
static bool goes_on(const stripe_walk *w)
{
    const hw_event_record *r = record(w, w->at);
    return w->at > 0 && r->kind == HW_EVENT_GIVEN && record(w, w->at - 1)->kind == HW_EVENT_TAKEN &&
           same_task(record(w, w->at - 1), r);
}

/* Returns whether the request itself breaks a rule, which is then reported as that. */
static bool breaks_itself(const stripe_walk *w)
{
    const hw_event_record *r = record(w, w->at);
    uint32_t j;
    if (r->kind == HW_EVENT_GIVEN && (r->flags & HW_EVENT_FAILED))
        return false;
    if (r->kind == HW_EVENT_GIVEN)
        return !(centric(w) ? may_read(w, r) : clocks_are_in(w, r));
    return r->kind == HW_EVENT_TAKEN && centric(w) && !may_write(w, r, &j);
}

/* Returns whether a waiting request may have been refused because a node was lost, of which the server records nothing. */
static bool may_be_refused(const stripe_walk *w, const hw_event_record *waits)
{
    return hw_is_cut(w->checker) && hw_is_refused(w->checker, w->stream->name.run, waits->from, waits->epoch);
}

/* Checks that waiting requests that may run do so before the next request is received. */
static bool check_woken(stripe_walk *w)
{
    if (was_waiting(w) || goes_on(w) || breaks_itself(w))
        return true;
    for (size_t i = 0; i < w->waiting_count; i++) {
        hw_applied(w->checker, HW_RULE_WAIT);
        if (may_be_done(w, record(w, w->waiting[i])) && !may_be_refused(w, record(w, w->waiting[i])))
            return hw_violation(w->checker, HW_RULE_WAIT, (hw_at[]){{w->stream, w->waiting[i]}, {w->stream, w->at}}, 2,
                                "task %" PRIu64 " of client %" PRIu32 " may be done and is not",
                                record(w, w->waiting[i])->epoch, record(w, w->waiting[i])->from);
    }
    return true;
}

static hawser_status walk_wait(stripe_walk *w, bool *going, hawser_error *error)
{
    const hw_event_record *r = record(w, w->at);
    hw_applied(w->checker, HW_RULE_WAIT);
    if (may_be_done(w, r)) {
        *going =
            ALONE(w, HW_RULE_WAIT, "task %" PRIu64 " of client %" PRIu32 " is set aside and need not be", r->epoch, r->from);
        return HAWSER_OK;
    }
    HAWSER_TRY(HW_GROW(&w->waiting, &w->waiting_capacity, w->waiting_count + 1, "what waits in a history", error));
    w->waiting[w->waiting_count++] = w->at;
    return HAWSER_OK;
}

/* ---------------------------------------------------------------------------------------------------- reads, writes ---- */

/* Returns the next record that provides what was missing; SIZE_MAX: none. */
static size_t find_later(const stripe_walk *w, unsigned kinds, uint32_t actor, uint64_t clock)
{
    const hw_event_record *r = record(w, w->at);
    for (size_t i = w->at + 1; i < w->stream->count; i++) {
        const hw_event_record *later = record(w, i);
        if ((kinds >> later->kind & 1) && overlap(later, r) && later->clock >= clock &&
            (actor == HW_HISTORY_NONE || later->actor == actor))
            return i;
    }
    return SIZE_MAX;
}

/* Returns whether the rows are just what a change has brought, whatever they were before. */
static bool replaces(const stripe_walk *w, const hw_event_record *change)
{
    const unsigned kinds = HW_EVENT_ASSIGNS | HW_EVENT_SUMMED;
    return (change->flags & HW_EVENT_RESTORES) != 0 || (w->table->flags & kinds) == HW_EVENT_ASSIGNS;
}

/* Computes the digest of the rows that assignments have left in a range, if their ranges fit into it. Returns false if that
 * is unknown. */
static bool expected(const stripe_walk *w, span s, uint64_t *digest)
{
    const hw_event_record *r = record(w, w->at);
    *digest = 0;
    for (size_t p = s.begin, end; p < s.end; p = end) {
        size_t changed = changed_of(w, r, p);
        for (end = p + 1; end < s.end && changed_of(w, r, end) == changed;)
            end++;
        if (changed == 0)
            continue;
        const hw_event_record *by = record(w, changed - 1);
        span whole = span_of(w, by);
        if ((by->flags & (HW_EVENT_LISTED | HW_EVENT_FAILED)) || !replaces(w, by) || whole.begin != p || whole.end != end)
            return false;
        *digest += by->digest;
    }
    return true;
}

static hawser_status note_read(stripe_walk *w, span s, hawser_error *error)
{
    const hw_event_record *r = record(w, w->at);
    uint64_t versions = 0; /* a sum would not do, because a reread is newer here and older there */
    for (size_t p = s.begin; p < s.end; p++)
        versions = hw_mix(versions ^ version_of(w, r, p));
    const uint64_t key[5] = {r->first, r->last, versions, 0, 0};
    return r->flags & HW_EVENT_LISTED ? HAWSER_OK : hw_index_add(&w->reads, key, w->stream, w->at, error);
}

/* Returns whether nothing has changed the keys of a read. */
static bool is_untouched(const stripe_walk *w, span s)
{
    const hw_event_record *r = record(w, w->at);
    for (size_t p = s.begin; p < s.end; p++)
        if (changed_of(w, r, p) != 0)
            return false;
    return true;
}

/* The result of a read is known where nothing was written, which reads as zeros, and where something was replaced. */
static bool check_known(stripe_walk *w, span s)
{
    const hw_event_record *r = record(w, w->at);
    uint64_t digest = 0;
    if (!is_untouched(w, s) && ((r->flags & HW_EVENT_LISTED) || !expected(w, s, &digest)))
        return true;
    hw_applied(w->checker, HW_RULE_VALUE);
    if (digest == r->digest)
        return true;
    return ALONE(w, HW_RULE_VALUE, "what worker %" PRIu32 " reads%s is not what was written last", r->actor,
                 r->flags & HW_EVENT_REREAD ? " again, as a reread by its iteration," : "");
}

/* A reread must be of the worker's last iteration on these keys. It is refused if it is of an older one, or if it needs the
 * version before the newest and the server had no memory to keep it. */
static bool check_reread(stripe_walk *w, span s)
{
    const hw_event_record *r = record(w, w->at);
    bool past = is_past(w, r), lacks = false;
    for (size_t p = s.begin; p < s.end; p++)
        lacks |= w->own[p] && sees_before(w, r, p);
    hw_applied(w->checker, HW_RULE_READ);
    if ((r->flags & HW_EVENT_FAILED) && !past && !lacks)
        return ALONE(w, HW_RULE_READ, "worker %" PRIu32 " may read iteration %" PRIu64 " again and is refused", r->actor,
                     r->clock);
    if (past && (r->flags & HW_EVENT_FAILED) == 0)
        return ALONE(w, HW_RULE_READ, "worker %" PRIu32 " reads iteration %" PRIu64 " again after a later one", r->actor,
                     r->clock);
    return true;
}

static bool check_read(stripe_walk *w, span s)
{
    const hw_event_record *r = record(w, w->at);
    if (centric(w)) {
        hw_applied(w->checker, HW_RULE_READ);
        if (may_read(w, r))
            return ((r->flags & HW_EVENT_REREAD) == 0 || check_reread(w, s)) && check_known(w, s);
        size_t later = find_later(w, 1u << HW_EVENT_TAKEN, HW_HISTORY_NONE, hw_beyond(r->clock, w->table->clock + 1));
        if (later != SIZE_MAX)
            return WITH(w, HW_RULE_READ, later, "worker %" PRIu32 " reads before what it must see is written", r->actor);
        return ALONE(w, HW_RULE_READ, "worker %" PRIu32 " reads before what it must see is written", r->actor);
    } else if (r->least > 0) {
        hw_applied(w->checker, HW_RULE_VISIBLE);
        if (!clocks_are_in(w, r))
            return ALONE(w, HW_RULE_VISIBLE,
                         "task %" PRIu64 " of client %" PRIu32 " asks for %" PRIu64
                         " clocks of all workers, which have not ended",
                         r->epoch, r->from, r->least);
    }
    return check_known(w, s);
}

/* Returns 1 + the place of the record's task in its client's order; 0: not recorded. */
static uint64_t place_of(const stripe_walk *w, const hw_event_record *r)
{
    const uint64_t key[5] = {(uint64_t)w->stream->name.run << 32 | r->from, r->epoch, 0, 0, 0};
    size_t count;
    const hw_indexed *asked = hw_index_find(&w->checker->asked, key, &count);
    return asked != NULL ? asked->number + 1 : 0;
}

/* In a program's loop no change may follow a read that had to see it, nor a change that had to come after it. What a clock
 * waits for must be in on all stripes. */
static bool check_turn(stripe_walk *w)
{
    const hw_event_record *r = record(w, w->at);
    const uint64_t key[5] = {(uint64_t)w->stream->name.run << 32 | r->from, r->epoch, 0, 0, 0};
    size_t count;
    const hw_indexed *asked = hw_index_find(&w->checker->asked, key, &count);
    bool changes = r->kind == HW_EVENT_TAKEN;
    if (asked == NULL || w->checker->turns.count == 0)
        return true;
    uint64_t iteration = hw_record_of(asked)->clock;
    if (changes && w->due > 0) {
        hw_rule rule = w->due_policy == HW_EVENT_BSP ? HW_RULE_BSP : w->due_reads ? HW_RULE_VISIBLE : HW_RULE_DIFFERENCE;
        hw_applied(w->checker, rule);
        if (iteration < w->due)
            return hw_violation(w->checker, rule, (hw_at[]){{w->stream, w->due_at}, {w->stream, w->at}}, 2,
                                "worker %" PRIu32 " changes in iteration %" PRIu64
                                " what had to be complete by then: all below %" PRIu64,
                                r->actor, iteration, w->due);
    }
    uint32_t policy;
    uint64_t due =
        hw_turns_due(w->checker, (uint64_t)w->stream->name.run << 32 | w->table->object, iteration, changes, &policy);
    if (due <= w->due)
        return true;
    w->due = due;
    w->due_at = w->at;
    w->due_reads = !changes;
    w->due_policy = policy;
    return true;
}

static bool check_refused(stripe_walk *w, span s)
{
    const hw_event_record *r = record(w, w->at);
    if (centric(w) && (r->flags & HW_EVENT_REREAD) && r->digest == 0)
        return check_reread(w, s);
    return ALONE(w, HW_RULE_RECORD, "a read that is refused, although it is not a reread");
}

static hawser_status walk_given(stripe_walk *w, bool *going, hawser_error *error)
{
    const hw_event_record *r = record(w, w->at);
    span s = span_of(w, r);
    uint64_t place = place_of(w, r);
    if (r->flags & HW_EVENT_FAILED) {
        *going = check_refused(w, s);
        return HAWSER_OK;
    }
    *going = check_read(w, s) && check_turn(w);
    for (size_t p = s.begin; p < s.end; p++) {
        uint64_t *asked = &w->asked[(size_t)r->from * w->pieces + p];
        if (centric(w) && w->read[(size_t)r->actor * w->pieces + p] < r->clock + 1)
            w->read[(size_t)r->actor * w->pieces + p] = r->clock + 1;
        *asked = *asked < place ? place : *asked;
    }
    return note_read(w, s, error);
}

/* A summed table takes pushes for clocks that their worker has not ended. */
static bool check_sum(stripe_walk *w, span s)
{
    const hw_event_record *r = record(w, w->at);
    if ((w->table->flags & HW_EVENT_SUMMED) == 0 || r->actor >= w->workers ||
        (r->flags & (HW_EVENT_FAILED | HW_EVENT_RESTORES)))
        return true;
    hw_applied(w->checker, HW_RULE_TIMESTAMPS);
    for (size_t p = s.begin; p < s.end; p++)
        if (w->own[p] && w->read[(size_t)r->actor * w->pieces + p] > r->clock)
            return ALONE(w, HW_RULE_TIMESTAMPS, "worker %" PRIu32 " changes in clock %" PRIu64 ", which it has ended",
                         r->actor, r->clock);
    return true;
}

static bool check_write(stripe_walk *w, span s)
{
    const hw_event_record *r = record(w, w->at);
    uint32_t j;
    if (!centric(w))
        return check_sum(w, s);
    hw_applied(w->checker, HW_RULE_WRITE);
    if (!may_write(w, r, &j)) {
        size_t later = find_later(w, 1u << HW_EVENT_GIVEN | 1u << HW_EVENT_CLOCK, j, hw_beyond(r->clock, w->table->clock));
        if (later != SIZE_MAX)
            return WITH(w, HW_RULE_WRITE, later, "worker %" PRIu32 " writes before worker %" PRIu32 " has read", r->actor,
                        j);
        return ALONE(w, HW_RULE_WRITE, "worker %" PRIu32 " writes before worker %" PRIu32 " has read", r->actor, j);
    }
    for (size_t p = s.begin; p < s.end; p++) {
        hw_applied(w->checker, HW_RULE_TIMESTAMPS);
        size_t before = w->changed[p];
        if (before > 0 && record(w, before - 1)->actor == r->actor && record(w, before - 1)->clock > r->clock)
            return hw_violation(w->checker, HW_RULE_TIMESTAMPS, (hw_at[]){{w->stream, before - 1}, {w->stream, w->at}}, 2,
                                "worker %" PRIu32 " writes iteration %" PRIu64 " after %" PRIu64, r->actor, r->clock,
                                record(w, before - 1)->clock);
    }
    return true;
}

/* Values of a checkpoint are set once, before the first read. Only first values, which are of iteration 0, come before. */
static bool check_restored(stripe_walk *w, span s)
{
    const hw_event_record *r = record(w, w->at);
    bool late = !w->checker->resumed;
    if ((r->flags & HW_EVENT_RESTORES) == 0)
        return true;
    for (size_t p = s.begin; p < s.end; p++) {
        const hw_event_record *before = w->changed[p] > 0 ? record(w, w->changed[p] - 1) : NULL;
        late = late || (before != NULL && (before->clock > 0 || (before->flags & HW_EVENT_RESTORES)));
        for (uint32_t client = 0; client < w->clients; client++)
            late = late || (w->own[p] && w->asked[(size_t)client * w->pieces + p] > 0);
    }
    hw_applied(w->checker, HW_RULE_VALUE);
    return !late ||
           ALONE(w, HW_RULE_VALUE, "worker %" PRIu32 " sets values of a checkpoint in a job that has begun", r->actor);
}

static bool walk_taken(stripe_walk *w)
{
    const hw_event_record *r = record(w, w->at);
    span s = span_of(w, r);
    uint64_t place = place_of(w, r);
    if (!check_restored(w, s) || !check_write(w, s) || !check_turn(w))
        return false;
    for (size_t p = s.begin; p < s.end; p++) {
        hw_applied(w->checker, HW_RULE_MINE);
        if (!centric(w) && place > 0 && w->asked[(size_t)r->from * w->pieces + p] > place)
            return ALONE(w, HW_RULE_MINE, "client %" PRIu32 " has read without task %" PRIu64 ", which it began before",
                         r->from, r->epoch);
        if (w->written[p] < r->clock + 1) {
            w->written[p] = r->clock + 1;
            w->changed_before[p] = w->changed[p];
            w->version_before[p] = w->version[p];
        }
        w->changed[p] = w->at + 1;
        w->version[p]++;
    }
    return true;
}

static bool walk_clock(stripe_walk *w)
{
    const hw_event_record *r = record(w, w->at);
    span s = span_of(w, r);
    for (size_t p = s.begin; p < s.end; p++) {
        uint64_t *read = &w->read[(size_t)r->actor * w->pieces + p];
        hw_applied(w->checker, HW_RULE_TIMESTAMPS);
        if (!centric(w) && *read > r->clock + 1)
            return ALONE(w, HW_RULE_TIMESTAMPS, "worker %" PRIu32 " ends clock %" PRIu64 " after clock %" PRIu64, r->actor,
                         r->clock, *read - 1);
        *read = *read < r->clock + 1 ? r->clock + 1 : *read;
    }
    for (size_t p = 0; (w->table->flags & HW_EVENT_SUMMED) && p < w->pieces; p++)
        w->version[p]++; /* buffered pushes may count from now on */
    return true;
}

/* ----------------------------------------------------------------------------------------------------------- stream ---- */

static hawser_status walk_record(stripe_walk *w, bool *going, hawser_error *error)
{
    const hw_event_record *r = record(w, w->at);
    if (r->kind == HW_EVENT_NAME || r->kind == HW_EVENT_TABLE)
        return HAWSER_OK;
    bool whose = r->actor < w->workers || (!centric(w) && r->kind != HW_EVENT_CLOCK && w->workers > 0);
    if (!has_keys(r) || r->object != w->table->object || r->first > r->last || r->first < w->first || r->last > w->last ||
        !whose || r->from >= w->clients || r->clock == UINT64_MAX) {
        *going = ALONE(w, HW_RULE_RECORD, "a record of keys or workers that the table does not have");
        return HAWSER_OK;
    }
    if (!check_woken(w)) {
        *going = false;
        return HAWSER_OK;
    }
    switch ((hw_event_kind)r->kind) {
    case HW_EVENT_WAIT: return walk_wait(w, going, error);
    case HW_EVENT_GIVEN: return walk_given(w, going, error);
    case HW_EVENT_TAKEN: *going = walk_taken(w); return HAWSER_OK;
    default: *going = walk_clock(w); return HAWSER_OK;
    }
}

static bool has_range(const hw_event_record *r)
{
    return (has_keys(r) || r->kind == HW_EVENT_TABLE) && r->first <= r->last;
}

/* Finds where pieces begin. */
static hawser_status cut_keys(stripe_walk *w, hawser_error *error)
{
    size_t count = 0;
    HAWSER_TRY(HW_NEW(&w->keys, 2 * w->stream->count + 1, "the keys of a history", error));
    w->keys[count++] = w->first;
    for (size_t i = 0; i < w->stream->count; i++) {
        const hw_event_record *r = record(w, i);
        if (!has_range(r))
            continue;
        if (r->first > w->first)
            w->keys[count++] = r->first;
        if (r->last < w->last)
            w->keys[count++] = r->last + 1;
        w->clients = r->from < UINT16_MAX && r->from >= w->clients ? r->from + 1 : w->clients;
    }
    qsort(w->keys, count, sizeof *w->keys, hw_ascending);
    w->pieces = 1;
    for (size_t i = 1; i < count; i++)
        if (w->keys[i] != w->keys[w->pieces - 1])
            w->keys[w->pieces++] = w->keys[i];
    return HAWSER_OK;
}

static void mark_own(stripe_walk *w)
{
    for (size_t i = 0; i < w->stream->count; i++) {
        const hw_event_record *r = record(w, i);
        if (r->kind != HW_EVENT_TABLE || r->first > r->last)
            continue;
        span s = span_of(w, r);
        for (size_t p = s.begin; p < s.end; p++)
            w->own[p] = true;
    }
}

static hawser_status make_space(stripe_walk *w, hawser_error *error)
{
    HAWSER_TRY(cut_keys(w, error));
    HAWSER_TRY(HW_NEW(&w->read, w->pieces * w->workers, "the readers of a history", error));
    HAWSER_TRY(HW_NEW(&w->asked, w->pieces * w->clients, "the readers of a history", error));
    HAWSER_TRY(HW_NEW(&w->written, w->pieces, "the keys of a history", error));
    HAWSER_TRY(HW_NEW(&w->version, w->pieces, "the keys of a history", error));
    HAWSER_TRY(HW_NEW(&w->version_before, w->pieces, "the keys of a history", error));
    HAWSER_TRY(HW_NEW(&w->changed_before, w->pieces, "the keys of a history", error));
    HAWSER_TRY(HW_NEW(&w->own, w->pieces, "the keys of a history", error));
    mark_own(w);
    return HW_NEW(&w->changed, w->pieces, "the keys of a history", error);
}

/* Checks that all reads between two writes return the same values. */
static void check_reads(stripe_walk *w)
{
    hw_index_sort(&w->reads);
    for (size_t i = 1; i < w->reads.count; i++) {
        const hw_indexed *a = &w->reads.entries[i - 1], *b = &w->reads.entries[i];
        if (memcmp(a->key, b->key, sizeof a->key) != 0)
            continue;
        hw_applied(w->checker, HW_RULE_VALUE);
        if (hw_record_of(a)->digest != hw_record_of(b)->digest)
            (void)hw_violation(w->checker, HW_RULE_VALUE, (hw_at[]){{a->stream, a->number}, {b->stream, b->number}}, 2,
                               "two reads differ and nothing was written between them");
    }
}

static hawser_status walk_stripe(stripe_walk *w, hawser_error *error)
{
    bool going = true;
    HAWSER_TRY(make_space(w, error));
    for (; going && w->at < w->stream->count; w->at++)
        HAWSER_TRY(walk_record(w, &going, error));
    if (going && w->waiting_count > 0 && !hw_is_cut(w->checker))
        (void)hw_violation(w->checker, HW_RULE_WAIT, &(hw_at){w->stream, w->waiting[0]}, 1,
                           "a task waits and is never done");
    if (going)
        check_reads(w);
    return HAWSER_OK;
}

static void free_walk(stripe_walk *w)
{
    void *const arrays[] = {w->keys,           w->read, w->written, w->version, w->version_before, w->changed,
                            w->changed_before, w->own,  w->asked,   w->waiting, w->reads.entries};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
}

/* Reads the table's description: one record per arc; the first one counts for everything except keys. */
static void find_table(stripe_walk *w)
{
    for (size_t i = 0; i < w->stream->count; i++) {
        const hw_event_record *r = record(w, i);
        if (r->kind != HW_EVENT_TABLE)
            continue;
        w->first = w->table == NULL || r->first < w->first ? r->first : w->first;
        w->last = w->table == NULL || r->last > w->last ? r->last : w->last;
        w->table = w->table == NULL ? r : w->table;
    }
}

hawser_status hw_check_stripes(hw_checker *checker, hawser_error *error)
{
    const hw_history *history = checker->history;
    hawser_status status = HAWSER_OK;
    for (size_t s = 0; s < history->count && status == HAWSER_OK; s++) {
        const hw_stream *stream = &history->streams[s];
        stripe_walk w = {.checker = checker, .stream = stream};
        if (stream->name.kind == HW_STREAM_STRIPE)
            find_table(&w);
        if (w.table == NULL)
            continue;
        w.workers = w.table->part;
        if (w.workers > UINT16_MAX || w.first > w.last)
            (void)hw_violation(checker, HW_RULE_RECORD, &(hw_at){stream, 0}, 1,
                               "a table without keys, or with too many workers");
        else
            status = walk_stripe(&w, error);
        free_walk(&w);
    }
    return status;
}
