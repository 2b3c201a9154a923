/* reductions.c - the rules of reductions within units: which blocks have contributed, and which results they got. */
#include <inttypes.h>
#include <string.h>

#include "history/checker.h"

/* One block's stream, as far as it has been read. */
typedef struct reduction_reader {
    hw_checker *checker;
    const hw_stream *stream;
    size_t at;
    bool any, ended;                /* a clock was begun; it has ended */
    uint64_t epoch, clock;          /* of that clock */
    const hw_event_record *resumed; /* where the job went on from a checkpoint; NULL: it began */
    uint32_t next;                  /* number of the next reduction */
    bool open;                      /* a share without its result, at: */
    size_t share;
    bool saw_loss; /* the loss of a node was recorded, at: */
    size_t loss;
} reduction_reader;

typedef struct reductions {
    hw_index shares;  /* run, epoch, clock, number, block */
    hw_index results; /* run, epoch, clock, number, 0 */
    hw_index ends;    /* run, epoch, clock, 0, 0 */
} reductions;

#define ALONE(r, rule, ...) hw_violation((r)->checker, rule, &(hw_at){(r)->stream, (r)->at}, 1, __VA_ARGS__)
#define AFTER(r, rule, number, ...)                                                                                         \
    hw_violation((r)->checker, rule, (hw_at[]){{(r)->stream, number}, {(r)->stream, (r)->at}}, 2, __VA_ARGS__)

static const hw_event_record *here(const reduction_reader *r)
{
    return &r->stream->records[r->at];
}

/* Handles a record of another clock than the last one. The last one has ended, and this is the next one, or the first of a
 * later epoch. */
static bool begin_clock(reduction_reader *r)
{
    const hw_event_record *e = here(r);
    bool same = r->any && !r->ended && e->epoch == r->epoch && e->clock == r->clock;
    hw_applied(r->checker, HW_RULE_ORDER);
    if (same)
        return true;
    bool later = !r->any || e->epoch > r->epoch;
    if ((r->any && !r->ended) ||
        (later ? e->clock != hw_first_clock(r->resumed, e->epoch) : e->epoch != r->epoch || e->clock != r->clock + 1))
        return ALONE(r, HW_RULE_ORDER, "block %" PRIu32 " reduces in clock %" PRIu64 " of epoch %" PRIu64 " out of order",
                     e->actor, e->clock, e->epoch);
    r->any = true;
    r->ended = false;
    r->epoch = e->epoch;
    r->clock = e->clock;
    r->next = 0;
    return true;
}

static bool read_share(reduction_reader *r)
{
    const hw_event_record *e = here(r);
    if (r->open || e->part != r->next)
        return ALONE(r, HW_RULE_ORDER, "block %" PRIu32 " contributes to reduction %" PRIu32 " where %" PRIu32 " is %s",
                     e->actor, e->part, r->next, r->open ? "not over" : "next");
    r->open = true;
    r->share = r->at;
    return true;
}

static bool read_result(reduction_reader *r)
{
    const hw_event_record *e = here(r);
    if (!r->open || e->part != r->next)
        return ALONE(r, HW_RULE_ORDER, "block %" PRIu32 " has the result of reduction %" PRIu32 " without contributing",
                     e->actor, e->part);
    hw_applied(r->checker, HW_RULE_LOSS);
    if (r->saw_loss)
        return AFTER(r, HW_RULE_LOSS, r->loss,
                     "block %" PRIu32 " has the result of a reduction, although it recorded a loss", e->actor);
    r->open = false;
    r->next++;
    return true;
}

static bool read_end(reduction_reader *r)
{
    const hw_event_record *e = here(r);
    if (r->open)
        return AFTER(r, HW_RULE_ORDER, r->share, "block %" PRIu32 " ends a clock within a reduction", e->actor);
    if (e->part != r->next)
        return ALONE(r, HW_RULE_ORDER, "block %" PRIu32 " ends a clock after %" PRIu32 " reductions, and has made %" PRIu32,
                     e->actor, e->part, r->next);
    r->ended = true;
    return true;
}

static hawser_status add(reductions *all, const reduction_reader *r, hawser_error *error)
{
    const hw_event_record *e = here(r);
    uint64_t run = r->stream->name.run;
    if (e->kind == HW_EVENT_SHARE)
        return hw_index_add(&all->shares, (uint64_t[]){run, e->epoch, e->clock, e->part, e->actor}, r->stream, r->at, error);
    if (e->kind == HW_EVENT_REDUCED)
        return hw_index_add(&all->results, (uint64_t[]){run, e->epoch, e->clock, e->part, 0}, r->stream, r->at, error);
    return hw_index_add(&all->ends, (uint64_t[]){run, e->epoch, e->clock, 0, 0}, r->stream, r->at, error);
}

static hawser_status read_stream(hw_checker *checker, const hw_stream *stream, reductions *all, hawser_error *error)
{
    reduction_reader r = {.checker = checker, .stream = stream};
    size_t blocks = hw_streams_of(checker->history, HW_STREAM_BLOCK, stream->name.run);
    for (; r.at < stream->count; r.at++) {
        const hw_event_record *e = here(&r);
        if (e->kind == HW_EVENT_RESUMED)
            r.resumed = e;
        if (e->kind == HW_EVENT_LOST && !r.saw_loss) {
            r.saw_loss = true;
            r.loss = r.at;
        }
        if (e->kind != HW_EVENT_SHARE && e->kind != HW_EVENT_REDUCED && e->kind != HW_EVENT_REDUCTIONS)
            continue;
        if (e->actor >= e->covers || (e->covers != blocks && !hw_is_cut(checker)) || e->from > 2) {
            (void)ALONE(&r, HW_RULE_RECORD, "a reduction of %" PRIu32 " blocks by operation %" PRIu32, e->covers, e->from);
            return HAWSER_OK;
        }
        if (!begin_clock(&r) || !(e->kind == HW_EVENT_SHARE     ? read_share(&r)
                                  : e->kind == HW_EVENT_REDUCED ? read_result(&r)
                                                                : read_end(&r)))
            return HAWSER_OK;
        HAWSER_TRY(add(all, &r, error));
    }
    r.at = r.open ? r.share : stream->count - 1;
    if (!hw_is_cut(checker) && (r.open || (r.any && !r.ended)))
        (void)ALONE(&r, HW_RULE_END, "block %" PRIu32 " never ends clock %" PRIu64, stream->name.number, r.clock);
    return HAWSER_OK;
}

/* ----------------------------------------------------------------------------------------------------- agreement ---- */

/* What the shares of one reduction say about its result. */
typedef struct prediction {
    bool stops, known;    /* known: all shares are recorded */
    uint32_t changing;    /* shares that are not all zeros; */
    bool equal;           /* all shares are equal; */
    uint64_t digest;      /* of the last share that is not all zeros */
    const hw_indexed *by; /* that share */
} prediction;

/* Finds the shares of a result. Returns false after a violation. */
static bool find_shares(hw_checker *checker, const reductions *all, const hw_indexed *result, prediction *of)
{
    const hw_event_record *e = hw_record_of(result);
    *of = (prediction){.known = true, .equal = true};
    uint64_t first = 0;
    for (uint32_t block = 0; block < e->covers; block++) {
        size_t count;
        const uint64_t key[5] = {result->key[0], e->epoch, e->clock, e->part, block};
        const hw_indexed *share = hw_index_find(&all->shares, key, &count);
        hw_applied(checker, HW_RULE_REDUCTION);
        if (share == NULL && hw_may_lack(checker, HW_STREAM_BLOCK, result->stream->name.run, block)) {
            of->known = false;
            checker->verdict->unrecorded++;
            continue;
        }
        if (share == NULL)
            return hw_violation(checker, HW_RULE_REDUCTION, &(hw_at){result->stream, result->number}, 1,
                                "block %" PRIu32 " has the result of a reduction to which block %" PRIu32
                                " never contributed",
                                e->actor, block);
        const hw_event_record *made = hw_record_of(share);
        if (made->object != e->object || made->count != e->count || made->from != e->from || made->covers != e->covers)
            return hw_violation(
                checker, HW_RULE_REDUCTION, (hw_at[]){{share->stream, share->number}, {result->stream, result->number}}, 2,
                "blocks %" PRIu32 " and %" PRIu32 " take two calls for one reduction", made->actor, e->actor);
        of->stops = of->stops || (made->flags & HW_EVENT_STOPS) != 0;
        first = block == 0 ? made->digest : first;
        of->equal = of->equal && made->digest == first;
        of->changing += made->digest != 0;
        if (made->digest != 0 || of->by == NULL) {
            of->digest = made->digest;
            of->by = share;
        }
    }
    return true;
}

/* Digests predict a sum only if at most one share is not all zeros, and a maximum or minimum only if all shares are
 * equal. */
static bool check_value(hw_checker *checker, const hw_indexed *result, const prediction *of)
{
    const hw_event_record *e = hw_record_of(result);
    bool sum = e->from == 0, predicts = of->known && (sum ? of->changing <= 1 : of->equal);
    const hw_at both[] = {{of->by != NULL ? of->by->stream : result->stream, of->by != NULL ? of->by->number : 0},
                          {result->stream, result->number}};
    if (predicts) {
        hw_applied(checker, HW_RULE_VALUE);
        if (e->digest != of->digest)
            return hw_violation(checker, HW_RULE_VALUE, both, 2, "the result of a reduction differs from its contributions");
    }
    bool stops = (e->flags & HW_EVENT_STOPS) != 0;
    if (of->known && stops != of->stops)
        return hw_violation(checker, HW_RULE_REDUCTION, both, 2, "a request to stop is %s by a reduction",
                            stops ? "made up" : "lost");
    return true;
}

/* Checks that neighbours with one key have the same digest and flags, or in `ends` the same number. */
static bool check_same(hw_checker *checker, const hw_index *index, bool ends)
{
    for (size_t i = 1; i < index->count; i++) {
        const hw_indexed *a = &index->entries[i - 1], *b = &index->entries[i];
        const hw_event_record *x = hw_record_of(a), *y = hw_record_of(b);
        if (memcmp(a->key, b->key, sizeof a->key) != 0)
            continue;
        hw_applied(checker, HW_RULE_REDUCTION);
        const hw_at both[] = {{a->stream, a->number}, {b->stream, b->number}};
        if (ends ? x->part != y->part : x->digest != y->digest || x->flags != y->flags)
            return hw_violation(checker, HW_RULE_REDUCTION, both, 2,
                                ends ? "two blocks end a clock after different numbers of reductions"
                                     : "two blocks have different results of one reduction");
    }
    return true;
}

/* Checks that every living block ends every clock that another block has ended. */
static void check_ends(hw_checker *checker, const hw_index *ends)
{
    for (size_t i = 0, next; i < ends->count; i = next) {
        const hw_indexed *first = &ends->entries[i];
        const hw_event_record *e = hw_record_of(first);
        for (next = i + 1; next < ends->count && memcmp(ends->entries[next].key, first->key, sizeof first->key) == 0;)
            next++;
        if (next - i != e->covers && !hw_is_cut(checker))
            (void)hw_violation(checker, HW_RULE_REDUCTION, &(hw_at){first->stream, first->number}, 1,
                               "%zu of %" PRIu32 " blocks end a clock in which units reduce", next - i, e->covers);
    }
}

hawser_status hw_check_reductions(hw_checker *checker, hawser_error *error)
{
    const hw_history *history = checker->history;
    reductions all = {0};
    hawser_status status = HAWSER_OK;
    for (size_t s = 0; s < history->count && status == HAWSER_OK; s++)
        if (history->streams[s].name.kind == HW_STREAM_BLOCK && history->streams[s].count > 0)
            status = read_stream(checker, &history->streams[s], &all, error);
    hw_index_sort(&all.shares);
    hw_index_sort(&all.results);
    hw_index_sort(&all.ends);
    bool sound = status == HAWSER_OK && !checker->verdict->broken && check_same(checker, &all.results, false) &&
                 check_same(checker, &all.ends, true);
    for (size_t i = 0; sound && i < all.results.count; i++) {
        prediction of;
        sound =
            find_shares(checker, &all, &all.results.entries[i], &of) && check_value(checker, &all.results.entries[i], &of);
    }
    if (sound)
        check_ends(checker, &all.ends);
    free(all.shares.entries);
    free(all.results.entries);
    free(all.ends.entries);
    return status;
}
