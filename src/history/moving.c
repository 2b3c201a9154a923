/* moving.c - the rule of moving states: in each use a part has one block, which has the version that the one before has
 * left. */
#include <inttypes.h>

#include "history/checker.h"

/* A part's records in their order, versions of kept points first, and those of a use. */
typedef struct passes {
    hw_index parts; /* run and state, part, epoch, use, block */
    hw_index uses;  /* run and state, epoch, use, part, block */
} passes;

static bool is_restored(const hw_event_record *r)
{
    return (r->flags & HW_EVENT_RESTORES) != 0;
}

/* Returns whether a record is of a kept point of a checkpoint: of a version that a part may get again. */
static bool is_version(const hw_event_record *r)
{
    return is_restored(r) && (r->flags & HW_EVENT_RETURNED) != 0;
}

static hawser_status add(passes *all, const hw_stream *stream, size_t at, hawser_error *error)
{
    const hw_event_record *r = &stream->records[at];
    uint64_t state = (uint64_t)stream->name.run << 32 | r->object;
    if (is_version(r))
        return hw_index_add(&all->parts, (uint64_t[]){state, r->part, 0, 0, r->actor}, stream, at, error);
    if (is_restored(r)) /* all parts were read */
        HAWSER_TRY(
            hw_index_add(&all->uses, (uint64_t[]){state, UINT64_MAX, r->clock, r->part, r->actor}, stream, at, error));
    HAWSER_TRY(hw_index_add(&all->parts, (uint64_t[]){state, r->part, r->epoch, r->clock, r->actor}, stream, at, error));
    return is_restored(r)
               ? HAWSER_OK
               : hw_index_add(&all->uses, (uint64_t[]){state, r->epoch, r->clock, r->part, r->actor}, stream, at, error);
}

static hawser_status find(hw_checker *checker, passes *all, hawser_error *error)
{
    for (size_t s = 0; s < checker->history->count; s++) {
        const hw_stream *stream = &checker->history->streams[s];
        size_t blocks = hw_streams_of(checker->history, HW_STREAM_BLOCK, stream->name.run);
        for (size_t i = 0; i < stream->count; i++) {
            const hw_event_record *r = &stream->records[i];
            if (r->kind != HW_EVENT_PASSED)
                continue;
            if (r->part >= r->covers || r->actor != stream->name.number || (r->from >= blocks && !hw_is_cut(checker)) ||
                (is_restored(r) && (r->from != r->actor || r->first != 0 || !checker->resumed))) {
                (void)hw_violation(checker, HW_RULE_RECORD, &(hw_at){stream, i}, 1,
                                   "part %" PRIu32 " of %" PRIu32 " is passed to block %" PRIu32, r->part, r->covers,
                                   r->from);
                return HAWSER_OK;
            }
            HAWSER_TRY(add(all, stream, i, error));
        }
    }
    hw_index_sort(&all->parts);
    hw_index_sort(&all->uses);
    return HAWSER_OK;
}

static hw_at at(const hw_indexed *entry)
{
    return (hw_at){entry->stream, entry->number};
}

#define BROKEN(one, other, ...) hw_violation(checker, HW_RULE_MOVING, (hw_at[]){at(one), at(other)}, 2, __VA_ARGS__)

/* Returns whether a part has had this version, in one of `count` records: a kept point is a version that was. */
static bool was_version(const hw_indexed *parts, size_t count, uint64_t digest)
{
    for (size_t i = 0; i < count; i++)
        if (hw_record_of(&parts[i])->digest == digest ||
            (i == 0 && !is_restored(hw_record_of(parts)) && hw_record_of(parts)->first == digest))
            return true;
    return false;
}

/* Checks two records of one part that follow each other, the second of which is parts[count]. */
static bool check_next(hw_checker *checker, const hw_indexed *parts, size_t count)
{
    const hw_indexed *before = &parts[count - 1], *after = &parts[count];
    const hw_event_record *b = hw_record_of(before), *a = hw_record_of(after);
    bool same = b->epoch == a->epoch, returned = (a->flags & HW_EVENT_RETURNED) != 0;
    uint64_t next = same ? b->clock + !is_restored(b) : 0;
    hw_applied(checker, HW_RULE_MOVING);
    if (b->covers != a->covers || b->count != a->count)
        return BROKEN(before, after, "part %" PRIu32 " has another size, or is one of others", a->part);
    if (is_restored(a))
        return BROKEN(before, after, "part %" PRIu32 " is read from a checkpoint after a use", a->part);
    if (same && b->clock == a->clock && !is_restored(b))
        return BROKEN(before, after, "blocks %" PRIu32 " and %" PRIu32 " have part %" PRIu32 " in use %" PRIu64, b->actor,
                      a->actor, a->part, a->clock);
    if (a->clock != next)
        return hw_is_cut(checker) || BROKEN(before, after, "no block has part %" PRIu32 " in use %" PRIu64, a->part, next);
    if (same && a->actor != b->from)
        return BROKEN(before, after, "part %" PRIu32 " was passed to block %" PRIu32 ", and block %" PRIu32 " has it",
                      a->part, b->from, a->actor);
    if (returned && !same && !was_version(parts, count, a->first) && !hw_is_cut(checker))
        return BROKEN(before, after, "block %" PRIu32 " has a version of part %" PRIu32 " that no block has left", a->actor,
                      a->part);
    if (a->first != b->digest && (same || (!returned && !hw_is_cut(checker)))) /* a lost block may have had it in between */
        return BROKEN(before, after, "block %" PRIu32 " has another version of part %" PRIu32 " than was left", a->actor,
                      a->part);
    return true;
}

/* Checks that a use has all parts. One that a loss has ended may lack some. */
static bool check_use(hw_checker *checker, const hw_indexed *first, size_t count)
{
    const hw_event_record *r = hw_record_of(first);
    hw_at one = at(first);
    hw_applied(checker, HW_RULE_MOVING);
    for (size_t i = 0; i < count; i++)
        if (hw_record_of(&first[i])->flags != r->flags || (r->flags == HW_EVENT_RETURNED && r->clock != 0))
            return BROKEN(first, &first[i], "use %" PRIu64 " has some parts of a kept point, or is not the first one",
                          r->clock);
    if (count == r->covers || hw_is_cut(checker))
        return true;
    return hw_violation(checker, HW_RULE_MOVING, &one, 1, "use %" PRIu64 " has %zu of %" PRIu32 " parts", r->clock, count,
                        r->covers);
}

static void check(hw_checker *checker, const passes *all)
{
    const hw_indexed *parts = all->parts.entries, *uses = all->uses.entries;
    for (size_t i = 0, begin = 0; i < all->parts.count; i++) {
        const hw_event_record *r = hw_record_of(&parts[i]);
        bool alike = i > 0 && parts[i].key[0] == parts[i - 1].key[0] && parts[i].key[1] == parts[i - 1].key[1];
        bool follows = alike && !is_version(hw_record_of(&parts[i - 1]));
        hw_at one = at(&parts[i]);
        begin = alike ? begin : i;
        if (!follows && !is_restored(r) && parts[i].key[3] != 0 && !hw_is_cut(checker))
            (void)hw_violation(checker, HW_RULE_MOVING, &one, 1, "no block has part %" PRIu64 " before use %" PRIu64,
                               parts[i].key[1], parts[i].key[3]);
        if (follows && !check_next(checker, parts + begin, i - begin))
            return;
    }
    for (size_t i = 0, end; i < all->uses.count; i = end) {
        for (end = i + 1; end < all->uses.count && uses[end].key[0] == uses[i].key[0] &&
                          uses[end].key[1] == uses[i].key[1] && uses[end].key[2] == uses[i].key[2];)
            end++;
        if (!check_use(checker, &uses[i], end - i))
            return;
    }
}

hawser_status hw_check_moving(hw_checker *checker, hawser_error *error)
{
    passes all = {0};
    hawser_status status = find(checker, &all, error);
    if (status == HAWSER_OK)
        check(checker, &all);
    free(all.parts.entries);
    free(all.uses.entries);
    return status;
}
