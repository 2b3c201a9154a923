/*
 * tasks.c - the rules between clients and servers of the store: every task is done once, by the servers that have its keys,
 * with the values that were sent, and returns the values that were read; in data-centric tables a worker reads before it
 * writes.
 */
#include <inttypes.h>

#include "history/checker.h"

/* What the stripes recorded of a task. */
typedef struct sums {
    uint64_t rows, digest;
    size_t pieces;
    const hw_indexed *last;
    bool twice;     /* one stripe has done a part twice */
    size_t rereads; /* pieces that were reread, or refused to be */
} sums;

/* A repeated pull that a server refuses has no rows. */
static bool is_refused(const hw_event_record *r)
{
    return r->kind == HW_EVENT_GIVEN && (r->flags & HW_EVENT_FAILED) != 0;
}

static sums add_pieces(const hw_checker *checker, const uint64_t key[5], uint32_t object)
{
    size_t count;
    const hw_indexed *entry = hw_index_find(&checker->served, key, &count);
    sums sum = {.pieces = count};
    for (size_t i = 0; i < count; i++) {
        const hw_event_record *r = hw_record_of(&entry[i]);
        sum.rows += r->object == object && !is_refused(r) ? r->count : 0;
        sum.digest += r->digest;
        sum.last = &entry[i];
        sum.rereads += (r->flags & HW_EVENT_REREAD) != 0;
        const hw_event_record *before = i > 0 && entry[i - 1].stream == entry[i].stream ? hw_record_of(&entry[i - 1]) : NULL;
        sum.twice = sum.twice || (before != NULL && before->part == r->part && before->first == r->first);
    }
    return sum;
}

/* ------------------------------------------------------------------------------------------------------------ tasks ---- */

typedef struct task {
    hw_checker *checker;
    const hw_stream *stream;
    size_t number;
    const hw_event_record *asked;
} task;

static bool violation(const task *t, hw_rule rule, const sums *sum, const char *what)
{
    hw_at at[2] = {{t->stream, t->number}};
    size_t count = 1;
    if (sum != NULL && sum->last != NULL)
        at[count++] = (hw_at){sum->last->stream, sum->last->number};
    return hw_violation(t->checker, rule, at, count, "task %" PRIu64 " of client %" PRIu32 " %s", t->asked->epoch,
                        t->asked->from, what);
}

/* Returns the number of keys that two ranges have in common. */
static uint64_t common(const hw_event_record *a, const hw_event_record *b)
{
    uint64_t first = a->first > b->first ? a->first : b->first, last = a->last < b->last ? a->last : b->last;
    return first <= last ? last - first + 1 : 0;
}

/* Returns how many rows of an answered task the living servers must have recorded: all, or, if a server was lost, what the
 * others have of a range. */
static uint64_t least_rows(const task *t)
{
    const hw_history *history = t->checker->history;
    bool lost = history->cut > 0, known = (t->asked->flags & HW_EVENT_LISTED) == 0;
    uint64_t rows = 0;
    for (size_t s = 0; s < history->count; s++) {
        const hw_stream *stripe = &history->streams[s];
        if (stripe->name.kind != HW_STREAM_STRIPE || stripe->name.run != t->stream->name.run)
            continue;
        lost = lost || stripe->cut;
        for (size_t i = 0; i < stripe->count && !stripe->cut; i++) {
            const hw_event_record *r = &stripe->records[i];
            if (r->kind != HW_EVENT_TABLE && r->kind != HW_EVENT_NAME)
                break;
            if (r->kind != HW_EVENT_TABLE || r->object != t->asked->object)
                continue;
            rows += common(r, t->asked);
            known = known && (r->flags & HW_EVENT_SPARSE) == 0;
        }
    }
    return !lost ? t->asked->count : known ? rows : 0;
}

static uint64_t rows_of_living(const hw_checker *checker, const uint64_t key[5])
{
    size_t count;
    uint64_t rows = 0;
    const hw_indexed *entry = hw_index_find(&checker->served, key, &count);
    for (size_t i = 0; i < count; i++)
        rows += entry[i].stream->cut || is_refused(hw_record_of(&entry[i])) ? 0 : hw_record_of(&entry[i])->count;
    return rows;
}

/* Checks one direction: TAKEN against the sent values, GIVEN against the received ones. `answered`: the task has its answer;
 * `failed`: which says that it has failed, so not all of it need be done. */
static bool check_pieces(const task *t, hw_event_kind kind, uint64_t digest, bool answered, bool failed)
{
    const uint64_t key[5] = {(uint64_t)t->stream->name.run << 32 | t->asked->from, t->asked->epoch, kind, 0, 0};
    sums sum = add_pieces(t->checker, key, t->asked->object);
    hw_applied(t->checker, HW_RULE_ONCE);
    if (sum.twice || sum.rows > t->asked->count)
        return violation(t, HW_RULE_ONCE, &sum, "is done more than once");
    if (sum.rereads != (t->asked->flags & HW_EVENT_REREAD ? sum.pieces : 0))
        return violation(t, HW_RULE_VALUE, &sum, "is reread, or not, unlike its request");
    if (sum.rows < t->asked->count && failed && !hw_is_cut(t->checker))
        return true;
    if (sum.rows < t->asked->count) {
        if (!hw_is_cut(t->checker) || (answered && rows_of_living(t->checker, key) < least_rows(t)))
            return violation(t, HW_RULE_ONCE, NULL, "was not done on all of its keys");
        t->checker->verdict->unrecorded += answered;
        return true;
    }
    if (!answered && kind == HW_EVENT_GIVEN)
        return true; /* the values that were read have not arrived */
    hw_applied(t->checker, HW_RULE_VALUE);
    if (sum.digest != digest)
        return violation(t, HW_RULE_VALUE, &sum,
                         kind == HW_EVENT_TAKEN ? "sent values that differ from those applied"
                                                : "got values that differ from those read");
    return true;
}

/* Returns whether a task has keys between a stripe's first and last one. The stripe's arcs are in its first records. */
static bool meets(const hw_stream *stripe, const hw_event_record *asked)
{
    uint64_t first = UINT64_MAX, last = 0;
    for (size_t i = 0; i < stripe->count; i++) {
        const hw_event_record *r = &stripe->records[i];
        if (r->kind != HW_EVENT_TABLE && r->kind != HW_EVENT_NAME)
            break;
        if (r->kind != HW_EVENT_TABLE || r->object != asked->object)
            continue;
        first = r->first < first ? r->first : first;
        last = r->last > last ? r->last : last;
    }
    return first <= last && first <= asked->last && last >= asked->first;
}

/* Returns whether a stripe that lacks this clock has recorded a later one of the same worker. Links keep order, so that is a
 * violation. */
static bool is_passed_over(const task *t, const hw_stream *stripe, hw_indexed *later)
{
    const hw_event_record *asked = t->asked;
    bool passed = false;
    for (size_t i = 0; i < stripe->count; i++) {
        const hw_event_record *r = &stripe->records[i];
        if (r->kind != HW_EVENT_CLOCK || r->from != asked->from || r->object != asked->object)
            continue;
        if (r->epoch == asked->epoch)
            return false;
        size_t count;
        const uint64_t key[5] = {(uint64_t)stripe->name.run << 32 | r->from, r->epoch, 0, 0, 0};
        const hw_indexed *begun = hw_index_find(&t->checker->asked, key, &count);
        if (passed || r->actor != asked->actor || begun == NULL || begun->number < t->number)
            continue;
        *later = (hw_indexed){.stream = stripe, .number = i};
        passed = true;
    }
    return passed;
}

/* Checks the clocks of a failed job. The last ones may have been in transit, but a stripe that has a later clock of a worker
 * has this one. */
static bool check_last_ticks(const task *t)
{
    const hw_history *history = t->checker->history;
    for (size_t s = 0; s < history->count; s++) {
        const hw_stream *stream = &history->streams[s];
        hw_indexed later;
        const sums sum = {.last = &later};
        if (stream->name.kind == HW_STREAM_STRIPE && stream->name.run == t->stream->name.run && meets(stream, t->asked) &&
            is_passed_over(t, stream, &later))
            return violation(t, HW_RULE_ONCE, &sum, "ends a clock that a stripe does not receive before the next");
    }
    return true;
}

/* Checks that a clock is sent to as many servers as the first clock of the store. */
static bool check_servers(const task *t)
{
    hw_at *first = &t->checker->ticks;
    if (first->stream == NULL || first->stream->name.run != t->stream->name.run)
        *first = (hw_at){t->stream, t->number};
    if (first->stream->records[first->number].part == t->asked->part)
        return true;
    return hw_violation(t->checker, HW_RULE_REQUEST, (hw_at[]){*first, {t->stream, t->number}}, 2,
                        "task %" PRIu64 " of client %" PRIu32 " ends a clock at %" PRIu32
                        " servers, another one at %" PRIu32,
                        t->asked->epoch, t->asked->from, t->asked->part, first->stream->records[first->number].part);
}

/* Checks that every stripe with keys of a table has received a clock. */
static bool check_ticks(const task *t)
{
    const hw_history *history = t->checker->history;
    const uint64_t key[5] = {(uint64_t)t->stream->name.run << 32 | t->asked->from, t->asked->epoch, HW_EVENT_CLOCK, 0, 0};
    size_t wanted = 0;
    for (size_t s = 0; s < history->count; s++) {
        const hw_stream *stream = &history->streams[s];
        if (stream->name.kind == HW_STREAM_STRIPE && stream->name.run == t->stream->name.run)
            wanted += meets(stream, t->asked);
    }
    sums sum = add_pieces(t->checker, key, t->asked->object);
    hw_applied(t->checker, HW_RULE_ONCE);
    if (sum.pieces == wanted && !sum.twice)
        return true;
    if (hw_is_cut(t->checker) && sum.pieces < wanted && !sum.twice)
        return check_last_ticks(t);
    return violation(t, HW_RULE_ONCE, &sum,
                     sum.pieces < wanted ? "ends a clock that not all stripes receive" : "ends a clock twice");
}

/* Returns a client's description of a table; NULL: none. */
static const hw_event_record *table_of(const hw_stream *stream, uint32_t object)
{
    for (size_t i = 0; i < stream->count; i++) {
        const hw_event_record *r = &stream->records[i];
        if (r->kind == HW_EVENT_TABLE && r->object == object)
            return r;
    }
    return NULL;
}

/* Checks that a request is well-formed, and that its answer repeats it. */
static bool check_answer(const task *t, const hw_indexed *answer)
{
    const hw_event_record *a = t->asked, *b = answer != NULL ? hw_record_of(answer) : NULL;
    const hw_event_record *table = table_of(t->stream, a->object);
    bool listed = (a->flags & HW_EVENT_LISTED) != 0, failed = b != NULL && (b->flags & HW_EVENT_FAILED) != 0;
    uint64_t keys = a->last - a->first; /* less one */
    bool ticks = (a->flags & HW_EVENT_TICKS) != 0, pulls = (a->flags & HW_EVENT_PULLS) != 0;
    hw_applied(t->checker, HW_RULE_REQUEST);
    if (a->first > a->last || (ticks ? a->count > 0 || listed : a->count - 1 > keys || listed != (a->count - 1 != keys)) ||
        (ticks ? (a->flags & ~HW_EVENT_TICKS) != 0 : (a->flags & (HW_EVENT_PULLS | HW_EVENT_PUSHES)) == 0) ||
        (a->digest != 0 && (a->flags & HW_EVENT_PUSHES) == 0) || (pulls && (a->flags & HW_EVENT_RESTORES) != 0) ||
        (table != NULL && (a->first < table->first || a->last > table->last)))
        return violation(t, HW_RULE_REQUEST, NULL, "is no request that a client makes");
    if (b == NULL)
        return true;
    if (a->object != b->object || a->actor != b->actor || a->clock != b->clock || a->least != b->least ||
        a->first != b->first || a->last != b->last || a->count != b->count || a->part != b->part ||
        a->flags != (b->flags & ~HW_EVENT_FAILED) || failed != (b->covers != 0) || (b->digest != 0 && (failed || !pulls)))
        return hw_violation(t->checker, HW_RULE_REQUEST, (hw_at[]){{t->stream, t->number}, {answer->stream, answer->number}},
                            2, "task %" PRIu64 " of client %" PRIu32 " has the answer of another request", a->epoch,
                            a->from);
    return true;
}

static bool check_task(task *t)
{
    const hw_event_record *asked = t->asked;
    size_t count, own;
    const uint64_t key[5] = {(uint64_t)t->stream->name.run << 32 | asked->from, asked->epoch, 1, 0, 0};
    const uint64_t ask[5] = {key[0], key[1], 0, 0, 0};
    (void)hw_index_find(&t->checker->asked, ask, &own);
    if (own > 1)
        return violation(t, HW_RULE_ONCE, NULL, "is begun twice");
    const hw_indexed *answer = hw_index_find(&t->checker->asked, key, &count);
    if (!check_answer(t, answer))
        return false;
    if (asked->flags & HW_EVENT_TICKS)
        return count == 0 ? check_servers(t) && check_ticks(t)
                          : violation(t, HW_RULE_ONCE, NULL, "ends a clock and is answered");
    hw_applied(t->checker, HW_RULE_ONCE);
    if (count > 1 || (count == 0 && !hw_is_cut(t->checker)))
        return violation(t, HW_RULE_ONCE, NULL, count == 0 ? "is never answered" : "is answered twice");
    const hw_event_record *came = count == 1 ? hw_record_of(answer) : NULL;
    bool failed = came != NULL && (came->flags & HW_EVENT_FAILED) != 0, answered = came != NULL && !failed;
    if ((asked->flags & HW_EVENT_PUSHES) && !check_pieces(t, HW_EVENT_TAKEN, asked->digest, answered, failed))
        return false;
    return (asked->flags & HW_EVENT_PULLS) == 0 ||
           check_pieces(t, HW_EVENT_GIVEN, answered ? came->digest : 0, answered, failed);
}

/* ----------------------------------------------------------------------------------------------------- definition 3 ---- */

/* A worker's progress in a data-centric table. */
typedef struct task_place {
    uint32_t object, actor;
    uint64_t written;  /* iterations */
    size_t last_write; /* index of the record */
} task_place;

/* The updates of a table that a client holds back. */
typedef struct kept {
    const hw_event_record *table;
    uint64_t digest;
    size_t last; /* 1 + index of its last record; 0: none */
    bool due;    /* rows are to be sent: the push is next */
} kept;

typedef struct client {
    hw_checker *checker;
    const hw_stream *stream;
    task_place *places;
    size_t count, capacity;
    size_t *open; /* unanswered pulls */
    size_t open_count, open_capacity;
    kept *held; /* by table */
    size_t tables, held_capacity;
} client;

static bool is_centric(const client *c, uint32_t object)
{
    const hw_event_record *table = table_of(c->stream, object);
    return table != NULL && (table->flags & HW_EVENT_CENTRIC) != 0;
}

static hawser_status place_of(client *c, const hw_event_record *r, task_place **found, hawser_error *error)
{
    *found = NULL;
    for (size_t i = 0; i < c->count && *found == NULL; i++)
        if (c->places[i].object == r->object && c->places[i].actor == r->actor)
            *found = &c->places[i];
    if (*found != NULL)
        return HAWSER_OK;
    HAWSER_TRY(HW_GROW(&c->places, &c->capacity, c->count + 1, "the workers of a history", error));
    *found = &c->places[c->count++];
    **found = (task_place){.object = r->object, .actor = r->actor};
    return HAWSER_OK;
}

static hawser_status note_pull(client *c, size_t number, hawser_error *error)
{
    HAWSER_TRY(HW_GROW(&c->open, &c->open_capacity, c->open_count + 1, "open tasks of a history", error));
    c->open[c->open_count++] = number;
    return HAWSER_OK;
}

static void note_answer(client *c, const hw_event_record *answer)
{
    for (size_t i = 0; i < c->open_count; i++)
        if (c->stream->records[c->open[i]].epoch == answer->epoch) {
            c->open[i] = c->open[--c->open_count];
            return;
        }
}

/* ----------------------------------------------------------------------------------------------------- what is held ---- */

static kept *kept_of(const client *c, uint32_t object)
{
    for (size_t i = 0; i < c->tables; i++)
        if (c->held[i].table->object == object)
            return &c->held[i];
    return NULL;
}

static hawser_status note_client_table(client *c, const hw_event_record *r, hawser_error *error)
{
    if ((r->flags & (HW_EVENT_KEEPS | HW_EVENT_DROPS)) == 0 || kept_of(c, r->object) != NULL)
        return HAWSER_OK;
    HAWSER_TRY(HW_GROW(&c->held, &c->held_capacity, c->tables + 1, "the tables of a history", error));
    c->held[c->tables++] = (kept){.table = r};
    return HAWSER_OK;
}

#define HELD(c, number, ...) hw_violation((c)->checker, HW_RULE_HELD, &(hw_at){(c)->stream, number}, 1, __VA_ARGS__)

/* Each row of an update is recorded as sent, held, or dropped if a filter may do that. The held rows are the ones before,
 * except for this update; if all of it is sent, none stays. */
static bool walk_held(client *c, size_t number)
{
    const hw_event_record *r = &c->stream->records[number];
    kept *k = kept_of(c, r->object);
    bool flush = (r->flags & HW_EVENT_FLUSH) != 0;
    hw_applied(c->checker, HW_RULE_HELD);
    if (k == NULL)
        return HELD(c, number, "client %" PRIu32 " keeps something of a table without a filter", r->from);
    if (r->clock != k->digest) {
        hw_at at[2] = {{c->stream, k->last - (k->last > 0)}, {c->stream, number}};
        return hw_violation(c->checker, HW_RULE_HELD, k->last > 0 ? at : at + 1, k->last > 0 ? 2 : 1,
                            "what client %" PRIu32 " holds back has changed without an update", r->from);
    }
    if (r->first != r->count + r->span + r->last)
        return HELD(c, number, "of %" PRIu64 " rows client %" PRIu32 " has lost or made up some", r->first, r->from);
    if (r->last > 0 && (k->table->flags & HW_EVENT_DROPS) == 0)
        return HELD(c, number, "client %" PRIu32 " leaves out rows for good, which this table's filter may not", r->from);
    if (r->digest != 0 && (k->table->flags & HW_EVENT_KEEPS) == 0)
        return HELD(c, number, "client %" PRIu32 " holds back rows of a table whose filter only leaves out", r->from);
    if (flush && (r->digest != 0 || r->span > 0))
        return HELD(c, number, "client %" PRIu32 " keeps something where all that is held goes", r->from);
    k->digest = r->digest;
    k->last = number + 1;
    k->due = r->count > 0;
    return true;
}

/* Checks a push to a table with held-back updates: it must have the rows that were just recorded as sent. */
static bool check_kept(client *c, size_t number)
{
    const hw_event_record *r = &c->stream->records[number];
    kept *k = kept_of(c, r->object);
    if (k == NULL || (r->flags & HW_EVENT_PUSHES) == 0 || (r->flags & HW_EVENT_PULLS) != 0)
        return true;
    hw_applied(c->checker, HW_RULE_HELD);
    const hw_event_record *said = k->due ? &c->stream->records[k->last - 1] : NULL;
    if (said == NULL || said->epoch != r->epoch)
        return HELD(c, number, "task %" PRIu64 " of client %" PRIu32 " sends rows that were not recorded as sent", r->epoch,
                    r->from);
    const hw_at both[] = {{c->stream, k->last - 1}, {c->stream, number}};
    k->due = false;
    if (said->count != r->count || said->actor != r->actor)
        return hw_violation(c->checker, HW_RULE_HELD, both, 2,
                            "task %" PRIu64 " of client %" PRIu32 " sends other rows than go", r->epoch, r->from);
    if ((said->flags & HW_EVENT_FLUSH) && said->clock != r->digest)
        return hw_violation(c->checker, HW_RULE_HELD, both, 2,
                            "client %" PRIu32 " sends something else than it has held back", r->from);
    return true;
}

/* Checks a push of iteration a: all pulls of a by this worker must have been answered. */
static bool check_push(client *c, size_t number)
{
    const hw_event_record *r = &c->stream->records[number];
    hw_applied(c->checker, HW_RULE_DEFINITION);
    for (size_t i = 0; i < c->open_count; i++) {
        const hw_event_record *pull = &c->stream->records[c->open[i]];
        if (pull->object == r->object && pull->actor == r->actor && pull->clock == r->clock)
            return hw_violation(c->checker, HW_RULE_DEFINITION, (hw_at[]){{c->stream, c->open[i]}, {c->stream, number}}, 2,
                                "worker %" PRIu32 " writes in iteration %" PRIu64 " before its read has come", r->actor,
                                r->clock);
    }
    return true;
}

/* A worker may reread in the last iteration that it has written. It repeats no older one, unless the reread is refused. */
static bool may_reread(const client *c, const task_place *p, const hw_event_record *r)
{
    bool refused = hw_is_refused(c->checker, c->stream->name.run, r->from, r->epoch);
    return (r->flags & HW_EVENT_REREAD) != 0 && (p->written <= r->clock + 1 || refused);
}

/* Returns whether a program's run ends with this read: if it was abandoned or has failed, its result is what the servers
 * have, read in iteration 0, which waits for no block. */
static bool reads_result(const client *c, size_t number)
{
    const hw_event_record *r = &c->stream->records[number];
    if (r->clock != 0 || (r->flags & HW_EVENT_PUSHES) || !hw_is_of_program(c->checker, c->stream->name.run))
        return false;
    for (size_t i = number + 1; i < c->stream->count; i++) {
        const hw_event_record *later = &c->stream->records[i];
        bool same = later->kind == HW_EVENT_ASKED && later->object == r->object && later->actor == r->actor;
        if (same && (later->clock != 0 || (later->flags & HW_EVENT_PUSHES)))
            return false;
    }
    return true;
}

static hawser_status walk_asked(client *c, size_t number, bool *going, hawser_error *error)
{
    const hw_event_record *r = &c->stream->records[number];
    task_place *p;
    if ((r->flags & HW_EVENT_TICKS) || !is_centric(c, r->object))
        return HAWSER_OK;
    HAWSER_TRY(place_of(c, r, &p, error));
    bool pulls = (r->flags & HW_EVENT_PULLS) != 0, pushes = (r->flags & HW_EVENT_PUSHES) != 0;
    if (pulls && p->written > r->clock && !may_reread(c, p, r) && !reads_result(c, number)) {
        *going = hw_violation(c->checker, HW_RULE_DEFINITION, (hw_at[]){{c->stream, p->last_write}, {c->stream, number}}, 2,
                              "worker %" PRIu32 " reads in iteration %" PRIu64 " after it has written", r->actor, r->clock);
        return HAWSER_OK;
    }
    if (pushes) {
        *going = check_push(c, number);
        p->written = p->written < r->clock + 1 ? r->clock + 1 : p->written;
        p->last_write = number;
    }
    return pulls && !pushes ? note_pull(c, number, error) : HAWSER_OK;
}

/* A client that was notified of the store's loss starts no task, and all its tasks in progress have failed. */
static bool check_after_loss(hw_checker *checker, const hw_stream *stream, size_t lost, size_t number)
{
    const hw_event_record *r = &stream->records[number];
    if (lost == SIZE_MAX)
        return true;
    hw_applied(checker, HW_RULE_LOSS);
    if (r->kind == HW_EVENT_ANSWER && (r->flags & HW_EVENT_FAILED))
        return true;
    return hw_violation(checker, HW_RULE_LOSS, (hw_at[]){{stream, lost}, {stream, number}}, 2,
                        "client %" PRIu32 " goes on with a store that it recorded as lost", stream->name.number);
}

static hawser_status walk_client(hw_checker *checker, const hw_stream *stream, hawser_error *error)
{
    client c = {.checker = checker, .stream = stream};
    hawser_status status = HAWSER_OK;
    bool going = true;
    size_t lost = SIZE_MAX;
    for (size_t i = 0; i < stream->count && going && status == HAWSER_OK; i++) {
        const hw_event_record *r = &stream->records[i];
        if (r->kind == HW_EVENT_LOST && hw_is_cut(checker)) {
            lost = lost < i ? lost : i;
            continue;
        }
        bool known = r->kind == HW_EVENT_ASKED || r->kind == HW_EVENT_ANSWER;
        if (r->kind == HW_EVENT_TABLE)
            status = note_client_table(&c, r, error);
        if (r->kind == HW_EVENT_NAME || r->kind == HW_EVENT_TABLE)
            continue;
        going = check_after_loss(checker, stream, lost, i);
        if (!going)
            break;
        if (r->kind == HW_EVENT_HELD && r->from == stream->name.number) {
            going = walk_held(&c, i);
            continue;
        }
        if (!known || r->from != stream->name.number || r->clock == UINT64_MAX)
            going = hw_violation(checker, HW_RULE_RECORD, &(hw_at){stream, i}, 1, "no record of client %" PRIu32,
                                 stream->name.number);
        else if (r->kind == HW_EVENT_ANSWER)
            note_answer(&c, r);
        else if (!check_kept(&c, i))
            going = false;
        else
            status = walk_asked(&c, i, &going, error);
    }
    free(c.held);
    free(c.places);
    free(c.open);
    for (size_t i = 0; i < stream->count && going && status == HAWSER_OK; i++) {
        task t = {.checker = checker, .stream = stream, .number = i, .asked = &stream->records[i]};
        if (t.asked->kind == HW_EVENT_ASKED)
            going = check_task(&t);
    }
    return status;
}

hawser_status hw_check_tasks(hw_checker *checker, hawser_error *error)
{
    const hw_history *history = checker->history;
    hawser_status status = HAWSER_OK;
    for (size_t s = 0; s < history->count && status == HAWSER_OK; s++) {
        const hw_stream *stream = &history->streams[s];
        if (stream->name.kind == HW_STREAM_CLIENT)
            status = walk_client(checker, stream, error);
    }
    return status;
}
