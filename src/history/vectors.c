/* vectors.c - the rules of vectors: what a replica takes from an edge is what its neighbour has sent, item by item, and what
 * was sent is what was scattered; gathers have the iterations that their sync promises. */
#include <inttypes.h>

#include "history/checker.h"

enum { REPLICAS_MOST = 256 };

typedef struct vectors {
    hw_index edges;    /* run and receiver (IN) or sender (OUT), the other end, flags */
    hw_index scatters; /* run and replica, receiver or HW_HISTORY_NONE, iteration */
    hw_index sent;     /* run and sender, receiver, number of the item */
    hw_index ends;     /* run and replica, 0: ENDING, 1: FINISHED */
} vectors;

/* One edge, as far as this replica's stream has been read. */
typedef struct edge_walk {
    bool there;
    bool ended;            /* its last item was what rounding had left */
    uint64_t items, clock; /* their number, and the iteration of the last one, if there is one */
} edge_walk;

typedef struct vector_walk {
    hw_checker *checker;
    const vectors *all;
    const hw_stream *stream;
    const hw_event_record *vector;
    uint64_t key; /* run and replica */
    size_t at;
    edge_walk in[REPLICAS_MOST], out[REPLICAS_MOST];
    bool scattered, gathered, taking, ending, finished;
    uint64_t first, scatter, gather; /* iterations */
    uint64_t taken;                  /* the gather for which items were taken, if `taking` */
} vector_walk;

#define ALONE(w, rule, ...) hw_violation((w)->checker, rule, &(hw_at){(w)->stream, (w)->at}, 1, __VA_ARGS__)
#define WITH(w, rule, other, ...)                                                                                           \
    hw_violation((w)->checker, rule, (hw_at[]){{(other)->stream, (other)->number}, {(w)->stream, (w)->at}}, 2, __VA_ARGS__)

static const hw_event_record *here(const vector_walk *w)
{
    return &w->stream->records[w->at];
}

static uint64_t run_of(const vector_walk *w)
{
    return (uint64_t)w->stream->name.run << 32;
}

/* ------------------------------------------------------------------------------------------------------------ index ---- */

static hawser_status add(vectors *all, const hw_stream *stream, size_t at, hawser_error *error)
{
    const hw_event_record *r = &stream->records[at];
    uint64_t own = (uint64_t)stream->name.run << 32 | stream->name.number;
    switch ((hw_event_kind)r->kind) {
    case HW_EVENT_EDGE: return hw_index_add(&all->edges, (uint64_t[]){own, r->from, r->flags, 0, 0}, stream, at, error);
    case HW_EVENT_SCATTER:
        return hw_index_add(&all->scatters, (uint64_t[]){own, r->from, r->clock, 0, 0}, stream, at, error);
    case HW_EVENT_SENT: return hw_index_add(&all->sent, (uint64_t[]){own, r->from, r->epoch, 0, 0}, stream, at, error);
    case HW_EVENT_ENDING:
    case HW_EVENT_FINISHED:
        return hw_index_add(&all->ends, (uint64_t[]){own, r->kind == HW_EVENT_FINISHED, 0, 0, 0}, stream, at, error);
    default: return HAWSER_OK;
    }
}

/* Returns the number of scatters to a receiver, or of those to all (HW_HISTORY_NONE), up to an iteration. */
static size_t scatters_to(const vector_walk *w, uint32_t receiver, uint64_t clock, const hw_indexed **last)
{
    const hw_index *index = &w->all->scatters;
    size_t low = 0, high = index->count, begin = 0;
    for (int end = 0; end < 2; end++) {
        uint64_t most = end == 0 ? 0 : clock;
        for (high = index->count; low < high;) {
            size_t middle = low + (high - low) / 2;
            const uint64_t *key = index->entries[middle].key;
            bool less = key[0] != w->key     ? key[0] < w->key
                        : key[1] != receiver ? key[1] < receiver
                        : end == 0           ? false
                                             : key[2] <= most;
            low = less ? middle + 1 : low;
            high = less ? high : middle;
        }
        begin = end == 0 ? low : begin;
    }
    if (low > begin && (*last == NULL || (*last)->key[2] < index->entries[low - 1].key[2]))
        *last = &index->entries[low - 1];
    return low - begin;
}

/* The scatters to a receiver, named or not, up to an iteration; *last is the newest of them. */
static size_t scatters_up_to(const vector_walk *w, uint32_t receiver, uint64_t clock, const hw_indexed **last)
{
    *last = NULL;
    return scatters_to(w, receiver, clock, last) + scatters_to(w, HW_HISTORY_NONE, clock, last);
}

/* ----------------------------------------------------------------------------------------------------- one replica ---- */

static bool is_tap(const vector_walk *w)
{
    return w->vector->part == HW_EVENT_TAP;
}

/* Values of which an edge keeps the newest alone; of all others each scatter counts. */
static bool overwrites(const vector_walk *w)
{
    return (w->vector->flags & (HW_EVENT_VALUES | HW_EVENT_ROWS)) == HW_EVENT_VALUES;
}

static bool check_vector(vector_walk *w)
{
    const hw_event_record *r = here(w);
    const hw_history *history = w->checker->history;
    const hw_stream *other = hw_history_stream(history, HW_STREAM_VECTOR, w->stream->name.run, 0);
    hw_applied(w->checker, HW_RULE_ORDER);
    if (w->at != 1 || r->actor != w->stream->name.number || r->from == 0 || r->from > REPLICAS_MOST || r->actor >= r->from ||
        r->part > HW_EVENT_TAP || (r->part != HW_EVENT_SSP && r->count != 0) ||
        (r->flags & (HW_EVENT_VALUES | HW_EVENT_KEEPS)) == (HW_EVENT_VALUES | HW_EVENT_KEEPS))
        return ALONE(w, HW_RULE_RECORD, "this is the description of no vector");
    w->vector = r;
    if (hw_streams_of(history, HW_STREAM_VECTOR, w->stream->name.run) != r->from && !hw_is_cut(w->checker))
        return ALONE(w, HW_RULE_ORDER, "not all of %" PRIu32 " replicas have a stream", r->from);
    const hw_event_record *first = other != NULL && other->count > 1 ? &other->records[1] : r;
    if (first->kind == HW_EVENT_VECTOR &&
        (first->from != r->from || first->part != r->part || first->count != r->count || first->flags != r->flags))
        return hw_violation(w->checker, HW_RULE_ORDER, (hw_at[]){{other, 1}, {w->stream, w->at}}, 2,
                            "two replicas have different vectors");
    return true;
}

static bool check_edge(vector_walk *w)
{
    const hw_event_record *r = here(w);
    bool in = (r->flags & HW_EVENT_INPUT) != 0;
    size_t count = 0;
    hw_applied(w->checker, HW_RULE_ORDER);
    if (r->from >= w->vector->from || r->from == w->stream->name.number || (in ? w->in : w->out)[r->from].there)
        return ALONE(w, HW_RULE_RECORD, "this is no edge of the vector, or there twice");
    (in ? w->in : w->out)[r->from].there = true;
    uint64_t key[5] = {run_of(w) | r->from, w->stream->name.number, in ? 0 : HW_EVENT_INPUT, 0, 0};
    if (hw_index_find(&w->all->edges, key, &count) == NULL &&
        !hw_may_lack(w->checker, HW_STREAM_VECTOR, w->stream->name.run, r->from))
        return ALONE(w, HW_RULE_ORDER, "replica %" PRIu32 " knows nothing of this edge", r->from);
    return true;
}

static bool check_scatter(vector_walk *w)
{
    const hw_event_record *r = here(w);
    bool all = r->from == HW_HISTORY_NONE || r->from == r->actor; /* or to none */
    bool same = w->scattered && r->clock == w->scatter;
    hw_applied(w->checker, HW_RULE_ORDER);
    if (!all && (r->from >= w->vector->from || !w->out[r->from].there))
        return ALONE(w, HW_RULE_RECORD, "a scatter to a replica to which there is no edge");
    if (same) {
        const hw_event_record *before = w->at > 0 ? r - 1 : r;
        const hw_indexed *last;
        if (all || before->kind != HW_EVENT_SCATTER || before->from == HW_HISTORY_NONE || before->from == r->actor ||
            before->digest != r->digest || before->count != r->count ||
            scatters_up_to(w, r->from, r->clock, &last) !=
                (r->clock > 0 ? scatters_up_to(w, r->from, r->clock - 1, &last) : 0) + 1)
            return ALONE(w, HW_RULE_ORDER, "iteration %" PRIu64 " is scattered twice", r->clock);
        return true;
    }
    if (w->scattered && r->clock < w->scatter)
        return ALONE(w, HW_RULE_ORDER, "iteration %" PRIu64 " is scattered after iteration %" PRIu64, r->clock, w->scatter);
    if (w->scattered && !is_tap(w) && (r->clock != w->scatter + 1 || !w->gathered || w->gather != w->scatter))
        return ALONE(w, HW_RULE_ORDER, "iteration %" PRIu64 " is scattered before iteration %" PRIu64 " is gathered",
                     r->clock, r->clock - 1);
    w->first = w->scattered ? w->first : r->clock;
    w->scattered = true;
    w->scatter = r->clock;
    return true;
}

/* Returns whether a replica has called finish, after which the items to it may lack iterations without numbers. */
static bool ends(const vector_walk *w, uint32_t replica)
{
    size_t count = 0;
    return hw_index_find(&w->all->ends, (uint64_t[]){run_of(w) | replica, 0, 0, 0, 0}, &count) != NULL;
}

/* Deltas are rounded, and what is left of them goes to the next item of the edge. */
static bool rounds(const vector_walk *w)
{
    return (w->vector->flags & HW_EVENT_KEEPS) != 0;
}

static bool check_sent(vector_walk *w)
{
    const hw_event_record *r = here(w);
    const hw_indexed *last = NULL, *before = NULL;
    hw_applied(w->checker, HW_RULE_ONCE);
    if (r->from >= w->vector->from || !w->out[r->from].there)
        return ALONE(w, HW_RULE_RECORD, "an item to a replica to which there is no edge");
    edge_walk *edge = &w->out[r->from];
    if (rounds(w) && w->ending && !edge->ended && r->span == 0 && r->count > 0 && r->epoch == edge->items + 1) {
        edge->items++; /* what rounding has left at the end */
        edge->ended = true;
        return true;
    }
    bool any = is_tap(w) || r->span > 1 || ends(w, r->from);
    bool next = edge->items == 0 || (any ? r->clock > edge->clock : r->clock == edge->clock + 1);
    if (edge->ended || r->epoch != edge->items + 1 || !next || !w->scattered || r->clock > w->scatter)
        return ALONE(w, HW_RULE_ONCE,
                     "item %" PRIu64 " of iteration %" PRIu64 " does not follow the one before, or its "
                     "scatter",
                     r->epoch, r->clock);
    size_t were = edge->items > 0 ? scatters_up_to(w, r->from, edge->clock, &before) : 0;
    size_t scatters = scatters_up_to(w, r->from, r->clock, &last) - were;
    edge->items++;
    edge->clock = r->clock;
    if (r->span == 0 && (is_tap(w) || scatters != 0 || r->count != 0 || r->digest != 0))
        return ALONE(w, HW_RULE_ONCE, "the item of iteration %" PRIu64 " lacks its numbers", r->clock);
    if (r->span > 0 && (last == NULL || last->key[2] != r->clock))
        return ALONE(w, HW_RULE_ONCE, "an item of iteration %" PRIu64 ", which was not scattered to this replica", r->clock);
    if (overwrites(w) ? r->span > 1 || (r->span == 1 && scatters == 0) : r->span != scatters)
        return ALONE(w, HW_RULE_ONCE, "an item has %" PRIu32 " scatters, and there were %zu since the one before", r->span,
                     scatters);
    if (r->span != 1)
        return true;
    hw_applied(w->checker, HW_RULE_VALUE);
    const hw_event_record *of = hw_record_of(last);
    return ((rounds(w) || of->digest == r->digest) && of->count == r->count) ||
           WITH(w, HW_RULE_VALUE, last, "the item of iteration %" PRIu64 " has other numbers than were scattered", r->clock);
}

static bool check_taken(vector_walk *w)
{
    const hw_event_record *r = here(w);
    size_t count = 0;
    bool barrier = (r->flags & HW_EVENT_FLUSH) != 0, finish = (r->flags & HW_EVENT_LAST) != 0;
    hw_applied(w->checker, HW_RULE_ONCE);
    if (r->from >= w->vector->from || !w->in[r->from].there || (barrier && finish) || finish != w->ending ||
        ((barrier || finish) && r->first != 0) || (finish && (w->vector->flags & HW_EVENT_VALUES)) ||
        (barrier && !is_tap(w)))
        return ALONE(w, HW_RULE_RECORD, "an item is taken where none can be");
    edge_walk *edge = &w->in[r->from];
    if (r->epoch != edge->items + 1)
        return ALONE(w, HW_RULE_ONCE, "item %" PRIu64 " of replica %" PRIu32 " is taken after item %" PRIu64, r->epoch,
                     r->from, edge->items);
    edge->items++;
    edge->clock = r->clock;
    const hw_indexed *sent =
        hw_index_find(&w->all->sent, (uint64_t[]){run_of(w) | r->from, w->stream->name.number, r->epoch, 0, 0}, &count);
    if (sent == NULL && !hw_may_lack(w->checker, HW_STREAM_VECTOR, w->stream->name.run, r->from))
        return ALONE(w, HW_RULE_ONCE, "replica %" PRIu32 " has never sent item %" PRIu64, r->from, r->epoch);
    hw_applied(w->checker, HW_RULE_VALUE);
    const hw_event_record *of = sent != NULL ? hw_record_of(sent) : r;
    if (of->clock != r->clock || of->span != r->span || of->count != r->count || of->digest != r->digest)
        return WITH(w, HW_RULE_VALUE, sent, "item %" PRIu64 " of replica %" PRIu32 " is not what was sent", r->epoch,
                    r->from);
    if (barrier || finish)
        return true;
    hw_applied(w->checker, HW_RULE_BSP);
    if (w->vector->part == HW_EVENT_BSP && r->clock != r->first)
        return ALONE(w, HW_RULE_BSP, "a gather of iteration %" PRIu64 " takes iteration %" PRIu64, r->first, r->clock);
    if (w->taking && w->taken != r->first)
        return ALONE(w, HW_RULE_ORDER, "items of iteration %" PRIu64 " are taken within the gather of iteration %" PRIu64,
                     r->first, w->taken);
    w->taking = true;
    w->taken = r->first;
    return true;
}

/* Returns whether a gather need not wait for a replica: it ended before it would have scattered the iteration. */
static bool has_ended_before(const vector_walk *w, uint32_t replica, uint64_t iteration)
{
    size_t count = 0;
    uint64_t key = run_of(w) | replica;
    if (hw_may_lack(w->checker, HW_STREAM_VECTOR, w->stream->name.run, replica))
        return true;
    vector_walk of = {.checker = w->checker, .all = w->all, .stream = w->stream, .key = key};
    const hw_indexed *last;
    (void)scatters_up_to(&of, w->stream->name.number, UINT64_MAX, &last);
    return hw_index_find(&w->all->ends, (uint64_t[]){key, 0, 0, 0, 0}, &count) != NULL &&
           (last == NULL || last->key[2] < iteration);
}

static bool check_gather(vector_walk *w)
{
    const hw_event_record *r = here(w);
    uint64_t slack = w->vector->part == HW_EVENT_SSP ? w->vector->count : 0;
    hw_applied(w->checker, HW_RULE_ORDER);
    if (!w->scattered || r->clock > w->scatter || (w->taking && w->taken != r->clock) ||
        (w->gathered && (is_tap(w) ? r->clock < w->gather : r->clock <= w->gather)) ||
        (!is_tap(w) && r->clock != w->scatter))
        return ALONE(w, HW_RULE_ORDER, "a gather of iteration %" PRIu64 " before its scatter, or after a later one",
                     r->clock);
    w->gathered = true;
    w->gather = r->clock;
    w->taking = false;
    for (uint32_t s = 0; s < w->vector->from && !is_tap(w); s++) {
        if (!w->in[s].there || r->clock < slack || r->clock - slack < w->first)
            continue;
        hw_applied(w->checker, HW_RULE_VISIBLE);
        if ((w->in[s].items == 0 || w->in[s].clock < r->clock - slack) && !has_ended_before(w, s, r->clock - slack))
            return ALONE(w, HW_RULE_VISIBLE,
                         "the gather of iteration %" PRIu64 " lacks iteration %" PRIu64 " of replica %" PRIu32, r->clock,
                         r->clock - slack, s);
    }
    return true;
}

/* After a finish nothing of deltas is left on an edge. */
static bool check_finished(vector_walk *w)
{
    const hw_event_record *r = here(w);
    const hw_indexed *last;
    size_t count = 0;
    bool deltas = (w->vector->flags & HW_EVENT_VALUES) == 0;
    hw_applied(w->checker, HW_RULE_END);
    if (!w->ending || w->finished)
        return ALONE(w, HW_RULE_ORDER, "a finish that was not begun, or is the second one");
    w->finished = true;
    for (uint32_t n = 0; n < w->vector->from && deltas; n++) {
        const edge_walk *out = &w->out[n], *in = &w->in[n];
        size_t sent = out->items > 0 ? scatters_up_to(w, n, out->clock, &last) : 0;
        if (out->there && scatters_up_to(w, n, UINT64_MAX, &last) != sent)
            return WITH(w, HW_RULE_ONCE, last, "a scatter to replica %" PRIu32 " was never sent", n);
        const hw_indexed *more =
            hw_index_find(&w->all->sent, (uint64_t[]){run_of(w) | n, w->stream->name.number, in->items + 1, 0, 0}, &count);
        if (in->there && more != NULL)
            return WITH(w, HW_RULE_ONCE, more, "an item of replica %" PRIu32 " was never taken", n);
    }
    const hw_indexed *one = hw_index_find(&w->all->ends, (uint64_t[]){run_of(w), 1, 0, 0, 0}, &count);
    if (one != NULL && hw_record_of(one)->digest != r->digest)
        return WITH(w, HW_RULE_END, one, "two replicas end with different bits");
    return true;
}

static bool check_record(vector_walk *w)
{
    const hw_event_record *r = here(w);
    if ((w->at == 0) != (r->kind == HW_EVENT_NAME) || (w->at == 1) != (r->kind == HW_EVENT_VECTOR))
        return ALONE(w, HW_RULE_ORDER, "a vector's stream begins with its name and its description");
    if (r->actor != w->stream->name.number)
        return ALONE(w, HW_RULE_RECORD, "a record of another replica");
    if (w->at == 0)
        return true;
    bool after = r->kind == HW_EVENT_SENT || r->kind == HW_EVENT_GOT || r->kind == HW_EVENT_FINISHED;
    if ((w->ending && !after) || (w->finished && r->kind != HW_EVENT_SENT))
        return ALONE(w, HW_RULE_ORDER, "a replica goes on after its finish");
    switch ((hw_event_kind)r->kind) {
    case HW_EVENT_VECTOR: return check_vector(w);
    case HW_EVENT_EDGE: return check_edge(w);
    case HW_EVENT_SCATTER: return check_scatter(w);
    case HW_EVENT_SENT: return check_sent(w);
    case HW_EVENT_GOT: return check_taken(w);
    case HW_EVENT_GATHER: return check_gather(w);
    case HW_EVENT_FINISHED: return check_finished(w);
    default: w->ending = true; return true; /* ENDING; shape.c refuses others */
    }
}

/* Edges come before all else, so that an edge whose record is missing has none. */
static void check_stream(hw_checker *checker, const vectors *all, const hw_stream *stream)
{
    vector_walk w = {.checker = checker, .all = all, .stream = stream};
    w.key = run_of(&w) | stream->name.number;
    for (; w.at < stream->count; w.at++)
        if (!check_record(&w))
            return;
}

hawser_status hw_check_vectors(hw_checker *checker, hawser_error *error)
{
    vectors all = {0};
    const hw_history *history = checker->history;
    hawser_status status = HAWSER_OK;
    for (size_t s = 0; s < history->count; s++)
        for (size_t i = 0; i < history->streams[s].count && status == HAWSER_OK; i++)
            if (history->streams[s].name.kind == HW_STREAM_VECTOR)
                status = add(&all, &history->streams[s], i, error);
    hw_index_sort(&all.edges);
    hw_index_sort(&all.scatters);
    hw_index_sort(&all.sent);
    hw_index_sort(&all.ends);
    for (size_t s = 0; s < history->count && status == HAWSER_OK && !checker->verdict->broken; s++)
        if (history->streams[s].name.kind == HW_STREAM_VECTOR)
            check_stream(checker, &all, &history->streams[s]);
    free(all.edges.entries);
    free(all.scatters.entries);
    free(all.sent.entries);
    free(all.ends.entries);
    return status;
}
