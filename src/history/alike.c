/*
 * alike.c - what is recorded more than once and must be the same each time: states, policies and credit on all blocks of a
 * run, and tables on all clients and stripes of a store.
 */
#include <inttypes.h>
#include <string.h>

#include "history/checker.h"

/* The records of a run that must be alike, by kind, object, epoch, and number of the record in that epoch. */
typedef struct alike {
    hw_checker *checker;
    hw_index records;
} alike;

/* ---------------------------------------------------------------------------------------------------------- blocks ---- */

/* How many records of a kind a block has made in the epoch of the last one. */
typedef struct counter {
    uint64_t epoch, object, next;
} counter;

static uint64_t next_of(counter *of, const hw_event_record *r)
{
    if (of->next == 0 || of->epoch != r->epoch || of->object != r->object)
        *of = (counter){r->epoch, r->object, 0};
    return of->next++;
}

static hawser_status add_block(alike *a, const hw_stream *stream, hawser_error *error)
{
    counter counters[HW_EVENT_CLOSE] = {0};
    for (size_t i = 0; i < stream->count; i++) {
        const hw_event_record *r = &stream->records[i];
        bool counted = r->kind == HW_EVENT_CREDIT || r->kind == HW_EVENT_FORGET;
        bool flush = r->kind == HW_EVENT_WRITE && (r->flags & HW_EVENT_FLUSH) != 0 && (r->flags & HW_EVENT_LAST) != 0;
        bool restores = r->kind == HW_EVENT_RESUMED || r->kind == HW_EVENT_RESTORED;
        if (r->kind != HW_EVENT_STATE && r->kind != HW_EVENT_BEGIN && r->kind != HW_EVENT_STRICTER && !flush && !counted &&
            !restores)
            continue;
        uint64_t number = counted                        ? next_of(&counters[r->kind], r)
                          : r->kind == HW_EVENT_STRICTER ? r->first
                          : flush                        ? r->clock
                                                         : 0;
        const uint64_t key[5] = {stream->name.run, (uint64_t)r->kind << 32 | r->object, r->epoch, number, 0};
        HAWSER_TRY(hw_index_add(&a->records, key, stream, i, error));
    }
    return HAWSER_OK;
}

static bool are_alike(const hw_event_record *x, const hw_event_record *y)
{
    bool same = x->part == y->part && x->count == y->count && x->flags == y->flags;
    switch ((hw_event_kind)x->kind) {
    case HW_EVENT_STATE:
        return same && x->range == y->range && x->from == y->from && x->clock == y->clock && x->digest == y->digest;
    case HW_EVENT_BEGIN:
        return same && x->from == y->from && x->clock == y->clock && x->first == y->first && x->last == y->last;
    case HW_EVENT_RESUMED: return x->clock == y->clock;
    case HW_EVENT_RESTORED: return same && x->digest == y->digest;
    case HW_EVENT_CREDIT: return same && x->clock == y->clock && x->digest == y->digest;
    case HW_EVENT_WRITE:
    case HW_EVENT_FORGET: return true; /* each block has one */
    default: return same;
    }
}

/* Returns whether one block alone updates the state of a record in its epoch. */
static bool has_one_source(const hw_indexed *entry)
{
    for (size_t i = entry->number; i-- > 0;) {
        const hw_event_record *r = &entry->stream->records[i];
        if (r->kind == HW_EVENT_BEGIN && r->object == hw_record_of(entry)->object)
            return r->from != HW_HISTORY_NONE;
    }
    return true;
}

/* Returns whether every block must have a record like this one. The last credits of an epoch may be used by some blocks
 * alone. */
static bool is_everywhere(const alike *a, const hw_indexed *entry)
{
    const hw_event_record *r = hw_record_of(entry);
    return !hw_is_cut(a->checker) && (r->kind != HW_EVENT_WRITE || !has_one_source(entry)) &&
           (r->kind != HW_EVENT_CREDIT || entry->key[3] == 0);
}

/* Checks the records begin .. end - 1, which have one key. */
static void compare_blocks(const alike *a, size_t begin, size_t end)
{
    const hw_indexed *first = &a->records.entries[begin];
    hw_applied(a->checker, HW_RULE_ORDER);
    for (size_t i = begin + 1; i < end; i++) {
        const hw_indexed *other = &a->records.entries[i];
        const hw_at both[] = {{first->stream, first->number}, {other->stream, other->number}};
        if (first->stream == other->stream)
            (void)hw_violation(a->checker, HW_RULE_ORDER, both, 2, "a block records the same twice");
        else if (!are_alike(hw_record_of(first), hw_record_of(other)))
            (void)hw_violation(a->checker, HW_RULE_ORDER, both, 2,
                               "two blocks run the same loop, or have the same state, "
                               "in different ways");
    }
    if (is_everywhere(a, first) &&
        end - begin != hw_streams_of(a->checker->history, HW_STREAM_BLOCK, first->stream->name.run))
        (void)hw_violation(a->checker, HW_RULE_ORDER, &(hw_at){first->stream, first->number}, 1,
                           "only %zu of the blocks have this", end - begin);
}

/* Checks that the own ranges of the blocks follow each other and are the whole state, if its entries have one writer each.
 * The entries are in the order of the blocks. */
static void compare_ranges(const alike *a, size_t begin, size_t end)
{
    const hw_event_record *state = hw_record_of(&a->records.entries[begin]);
    uint64_t next = 0;
    bool parts = (state->flags & HW_EVENT_VALUES) != 0;
    for (size_t i = begin; i < end; i++) {
        const hw_indexed *entry = &a->records.entries[i];
        const hw_event_record *r = hw_record_of(entry);
        bool follows = i > begin ? r->actor == hw_record_of(entry - 1)->actor + 1 : r->actor == 0; /* else a block is lost */
        bool ends = i + 1 == end && !hw_is_cut(a->checker);
        bool right = parts ? r->first <= r->last && r->last <= r->count && (!follows || r->first == next) &&
                                 (!ends || r->last == r->count)
                           : r->first == 0 && r->last == 0;
        next = r->last;
        if (!right)
            (void)hw_violation(a->checker, HW_RULE_RECORD, &(hw_at){entry->stream, entry->number}, 1,
                               "the range of block %" PRIu32 " does not follow that of the block before it", r->actor);
    }
}

/* ---------------------------------------------------------------------------------------------------------- tables ---- */

static hawser_status add_tables(alike *a, const hw_stream *stream, hawser_error *error)
{
    for (size_t i = 0; i < stream->count; i++) {
        const hw_event_record *r = &stream->records[i];
        if (r->kind == HW_EVENT_TABLE)
            HAWSER_TRY(hw_index_add(&a->records,
                                    (uint64_t[5]){stream->name.run, (uint64_t)r->kind << 32 | r->object,
                                                  stream->name.kind != HW_STREAM_CLIENT, 0, 0},
                                    stream, i, error));
    }
    return HAWSER_OK;
}

static bool are_tables_alike(const hw_event_record *x, const hw_event_record *y)
{
    return x->flags == y->flags && x->part == y->part && x->clock == y->clock && x->count == y->count;
}

/* Checks the records of a table begin .. end - 1: of its clients first, which have all keys, then of its stripes. */
static void compare_tables(const alike *a, size_t begin, size_t end)
{
    const hw_indexed *first = &a->records.entries[begin];
    const hw_event_record *whole = hw_record_of(first);
    uint64_t keys = 0;
    bool stripes = false, client = first->stream->name.kind == HW_STREAM_CLIENT;
    for (size_t i = begin; i < end; i++) {
        const hw_indexed *entry = &a->records.entries[i];
        const hw_event_record *r = hw_record_of(entry);
        const hw_at both[] = {{first->stream, first->number}, {entry->stream, entry->number}};
        bool stripe = entry->stream->name.kind == HW_STREAM_STRIPE;
        bool all = r->first == whole->first && r->last == whole->last;
        hw_applied(a->checker, HW_RULE_ORDER);
        if (!are_tables_alike(whole, r) || (client && !stripe && !all) ||
            (stripe && (whole->flags & HW_EVENT_SPARSE) && !all) ||
            (client && (r->first < whole->first || r->last > whole->last)))
            (void)hw_violation(a->checker, HW_RULE_ORDER, both, 2, "a table is described in two ways");
        if (stripe && r->object != (entry->stream->name.number >> 6 & 1023))
            (void)hw_violation(a->checker, HW_RULE_RECORD, both + 1, 1, "a table in the stripe of another one");
        keys += stripe ? r->last - r->first + 1 : 0;
        stripes = stripes || stripe;
    }
    if (client && stripes && !(whole->flags & HW_EVENT_SPARSE) && !hw_is_cut(a->checker) &&
        keys != whole->last - whole->first + 1)
        (void)hw_violation(a->checker, HW_RULE_RECORD, &(hw_at){first->stream, first->number}, 1,
                           "the stripes of a table do not have each of its keys once");
}

/* ------------------------------------------------------------------------------------------------------------- all ---- */

static bool same_table(const hw_indexed *a, const hw_indexed *b)
{
    return memcmp(a->key, b->key, 2 * sizeof *a->key) == 0;
}

static void compare_all(const alike *a)
{
    for (size_t i = 0, next; i < a->records.count; i = next) {
        const hw_indexed *first = &a->records.entries[i];
        bool table = hw_record_of(first)->kind == HW_EVENT_TABLE;
        for (next = i + 1; next < a->records.count; next++) {
            const hw_indexed *other = &a->records.entries[next];
            if (table ? !same_table(first, other) : memcmp(first->key, other->key, sizeof first->key) != 0)
                break;
        }
        if (table)
            compare_tables(a, i, next);
        else
            compare_blocks(a, i, next);
        if (hw_record_of(first)->kind == HW_EVENT_STATE)
            compare_ranges(a, i, next);
    }
}

hawser_status hw_check_alike(hw_checker *checker, hawser_error *error)
{
    const hw_history *history = checker->history;
    alike a = {.checker = checker};
    hawser_status status = HAWSER_OK;
    for (size_t s = 0; s < history->count && status == HAWSER_OK; s++)
        status = history->streams[s].name.kind == HW_STREAM_BLOCK ? add_block(&a, &history->streams[s], error)
                                                                  : add_tables(&a, &history->streams[s], error);
    hw_index_sort(&a.records);
    if (status == HAWSER_OK)
        compare_all(&a);
    free(a.records.entries);
    return status;
}
