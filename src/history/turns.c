/*
 * turns.c - which policy a table of the store was under in which iteration, as blocks recorded the loops over a program's
 * stored states. The iterations of a table continue from loop to loop; between two loops all changes are in.
 */
#include <inttypes.h>

#include "history/checker.h"

static size_t next_turn(const hw_stream *stream, size_t from)
{
    while (from < stream->count && stream->records[from].kind != HW_EVENT_TURN)
        from++;
    return from;
}

static bool alike(const hw_event_record *a, const hw_event_record *b)
{
    return a->flags == b->flags && a->object == b->object && a->from == b->from && a->part == b->part &&
           a->epoch == b->epoch && a->clock == b->clock && a->count == b->count;
}

/* Checks that all blocks of a run go through the same loops. */
static void compare(hw_checker *checker, const hw_stream *first, const hw_stream *other)
{
    size_t i = 0, j = 0;
    for (;; i++, j++) {
        i = next_turn(first, i);
        j = next_turn(other, j);
        if (i == first->count || j == other->count)
            break;
        hw_applied(checker, HW_RULE_ORDER);
        if (!alike(&first->records[i], &other->records[j])) {
            (void)hw_violation(checker, HW_RULE_ORDER, (hw_at[]){{first, i}, {other, j}}, 2,
                               "two blocks go through different loops over a table");
            return;
        }
    }
    bool more = i < first->count;
    if (hw_is_cut(checker))
        return;
    if (more || j < other->count)
        (void)hw_violation(checker, HW_RULE_ORDER, &(hw_at){more ? first : other, more ? i : j}, 1,
                           "a loop over a table that another block does not go through");
}

/* Returns whether a client has recorded the table of a turn. In the history of a failed job it may not have come so far. */
static bool has_table(const hw_history *history, const hw_event_record *turn)
{
    if (history->ended != HAWSER_OK)
        return true;
    for (size_t s = 0; s < history->count; s++) {
        const hw_stream *stream = &history->streams[s];
        if (stream->name.kind != HW_STREAM_CLIENT || stream->name.run != turn->from)
            continue;
        for (size_t i = 0; i < stream->count; i++)
            if (stream->records[i].kind == HW_EVENT_TABLE && stream->records[i].object == turn->object)
                return true;
    }
    return false;
}

/* Returns what is wrong with a turn, given the last turn of the same table (or NULL); NULL: nothing. */
static const char *wrong_turn(const hw_history *history, const hw_event_record *r, const hw_event_record *last)
{
    bool counts = r->part == HW_EVENT_SSP || r->part == HW_EVENT_DELAY || r->part == HW_EVENT_DC;
    if (r->part > HW_EVENT_DC || (!counts && r->count > 0))
        return "there is no such policy";
    if (!has_table(history, r))
        return "a loop over a table that its store does not have";
    return last != NULL && (last->clock > r->clock || last->epoch > r->epoch) ? "a loop over a table goes back" : NULL;
}

static hawser_status add_turns(hw_checker *checker, const hw_stream *stream, hawser_error *error)
{
    hw_turns *turns = &checker->turns;
    for (size_t i = next_turn(stream, 0); i < stream->count; i = next_turn(stream, i + 1)) {
        const hw_event_record *r = &stream->records[i];
        const hw_event_record *last = NULL;
        for (size_t k = turns->count; k-- > 0 && last == NULL;)
            if (turns->entries[k].table == ((uint64_t)r->from << 32 | r->object))
                last = turns->entries[k].record;
        const char *wrong = wrong_turn(checker->history, r, last);
        if (wrong != NULL)
            (void)hw_violation(checker, HW_RULE_RECORD, &(hw_at){stream, i}, 1, "%s", wrong);
        HAWSER_TRY(HW_GROW(&turns->entries, &turns->capacity, turns->count + 1, "the loops of a history", error));
        turns->entries[turns->count] = (hw_turn){(uint64_t)r->from << 32 | r->object, turns->count, r, stream->cut};
        turns->count++;
    }
    return HAWSER_OK;
}

static int by_table(const void *a, const void *b)
{
    const hw_turn *x = a, *y = b;
    if (x->table != y->table)
        return x->table < y->table ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

static size_t count_turns(const hw_stream *stream)
{
    size_t count = 0;
    for (size_t i = next_turn(stream, 0); i < stream->count; i = next_turn(stream, i + 1))
        count++;
    return count;
}

/* Adds a run, whose blocks are at begin .. end - 1, as recorded by the block that got furthest. If that block was lost, how
 * far it got is unknown. */
static hawser_status add_run(hw_checker *checker, size_t begin, size_t end, hawser_error *error)
{
    const hw_stream *streams = checker->history->streams, *furthest = &streams[begin];
    size_t most = count_turns(furthest);
    for (size_t s = begin + 1; s < end; s++) {
        size_t count = count_turns(&streams[s]);
        compare(checker, &streams[begin], &streams[s]);
        if (count > most || (count == most && furthest->cut)) {
            furthest = &streams[s];
            most = count;
        }
    }
    return add_turns(checker, furthest, error);
}

hawser_status hw_check_turns(hw_checker *checker, hawser_error *error)
{
    const hw_history *history = checker->history;
    for (size_t s = 0, end; s < history->count; s = end) {
        const hw_stream_name *name = &history->streams[s].name;
        for (end = s + 1; end < history->count && history->streams[end].name.kind == name->kind &&
                          history->streams[end].name.run == name->run;)
            end++;
        if (name->kind == HW_STREAM_BLOCK)
            HAWSER_TRY(add_run(checker, s, end, error));
    }
    if (checker->turns.count > 1)
        qsort(checker->turns.entries, checker->turns.count, sizeof *checker->turns.entries, by_table);
    return HAWSER_OK;
}

/* Returns the first of the turns of `table` whose first iteration is above `iteration`, or the first turn of a later
 * table. */
static size_t above(const hw_turns *turns, uint64_t table, uint64_t iteration)
{
    size_t low = 0, high = turns->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const hw_turn *turn = &turns->entries[middle];
        if (turn->table < table || (turn->table == table && turn->record->clock <= iteration))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool hw_is_of_program(const hw_checker *checker, uint32_t run)
{
    size_t next = above(&checker->turns, ((uint64_t)run << 32) + UINT32_MAX, UINT64_MAX);
    return next > 0 && checker->turns.entries[next - 1].table >> 32 == run;
}

static uint64_t due_in(const hw_event_record *turn, uint64_t iteration, bool changes)
{
    uint64_t slack = turn->part == HW_EVENT_SSP || turn->part == HW_EVENT_DELAY ? turn->count : 0;
    if (turn->part == HW_EVENT_DELAY && changes && slack > 0)
        slack--; /* one of its clocks is spent on reading ahead */
    bool bounded = turn->part != HW_EVENT_TAP && turn->part != HW_EVENT_DC && (turn->flags & HW_EVENT_MOVES);
    if (!bounded || iteration < slack || iteration - slack < turn->clock)
        return turn->clock;
    return iteration - slack;
}

/* Returns whether the turn before `next` is the last known one of this table, and more may have followed. Of those only this
 * is known: between two loops all changes are in, and a read at the start of one may have been prefetched. */
static bool is_open(const hw_turns *turns, uint64_t table, size_t next)
{
    return next > 0 && turns->entries[next - 1].table == table && turns->entries[next - 1].open &&
           (next == turns->count || turns->entries[next].table != table);
}

uint64_t hw_turns_due(const hw_checker *checker, uint64_t table, uint64_t iteration, bool changes, uint32_t *policy)
{
    const hw_turns *turns = &checker->turns;
    uint64_t least = UINT64_MAX, begin = 0;
    size_t next = above(turns, table, iteration);
    *policy = HW_EVENT_TAP;
    if (is_open(turns, table, next)) {
        const hw_event_record *last = turns->entries[next - 1].record;
        *policy = last->part;
        return changes || iteration > last->clock ? last->clock : 0;
    }
    for (size_t i = next; i-- > 0 && turns->entries[i].table == table;) {
        const hw_event_record *turn = turns->entries[i].record;
        bool ahead = turn->part == HW_EVENT_DELAY || turn->part == HW_EVENT_DC;
        if (least == UINT64_MAX)
            begin = turn->clock;
        /* a prefetch of the loop before is at least as fresh as that loop requires */
        if (turn->clock < begin && (changes || !ahead || iteration > begin))
            break;
        if (iteration > begin && !(turn->flags & HW_EVENT_MOVES))
            continue; /* there are no later iterations */
        uint64_t due = due_in(turn, iteration, changes);
        if (due < least) {
            least = due;
            *policy = turn->part;
        }
        if (turn->clock < begin)
            break;
    }
    return least == UINT64_MAX ? 0 : least;
}
