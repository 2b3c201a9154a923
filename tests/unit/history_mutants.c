/*
 * The checker can say no: honest histories of random programs, each with one thing made wrong, are all refused, by the rule
 * that was broken.
 *
 * A mutant picks a place at random where its rule applies, changes the history there, and says which rules may name it:
 * where one wrong thing breaks two rules, either is right.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "history_spots.h"

/* ---------------------------------------------------------------------------------------------------- of the blocks ---- */

static bool is_written(const hw_history *history, spot s)
{
    (void)history;
    size_t next = near(s, 1, BIT(HW_EVENT_READ) | BIT(HW_EVENT_WRITE) | BIT(HW_EVENT_DEFER) | BIT(HW_EVENT_END));
    return (record_at(s)->flags & HW_EVENT_INNER) == 0 && next != SIZE_MAX &&
           s.stream->records[next].kind == HW_EVENT_WRITE && s.stream->records[next].clock == record_at(s)->clock;
}

static bool dropped_read(hw_history *history, hw_random *random)
{
    return dropped(history, random, HW_EVENT_READ, is_written);
}

static bool is_others(const hw_history *history, spot s)
{
    (void)history;
    return record_at(s)->covers == 1;
}

static bool dropped_update(hw_history *history, hw_random *random)
{
    return dropped(history, random, HW_EVENT_SEEN, is_others);
}

static bool repeated_update(hw_history *history, hw_random *random)
{
    return repeated(history, random, HW_EVENT_SEEN, is_others);
}

static bool changed_update(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, one_in(random, 2) ? HW_EVENT_SEEN : HW_EVENT_WRITE, NULL);
    if (s.stream == NULL || state_of(s)->part == 1)
        return false;
    if (record_at(s)->kind == HW_EVENT_WRITE && state_of(s)->from != HW_HISTORY_NONE && state_of(s)->part == 1)
        return false;
    record_at(s)->digest ^= UINT64_C(1) << hw_random_below(random, 64);
    return true;
}

/* Two updates of one block in a row, in another order. */
static bool has_successor(const hw_history *history, spot s)
{
    (void)history;
    size_t next = near(s, 1, BIT(HW_EVENT_SEEN) | BIT(HW_EVENT_READ) | BIT(HW_EVENT_WRITE) | BIT(HW_EVENT_END));
    return next != SIZE_MAX && s.stream->records[next].kind == HW_EVENT_SEEN &&
           s.stream->records[next].from == record_at(s)->from;
}

static bool swapped_updates(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_SEEN, has_successor);
    if (s.stream == NULL)
        return false;
    size_t next = near(s, 1, BIT(HW_EVENT_SEEN));
    hw_event_record record = *record_at(s);
    *record_at(s) = s.stream->records[next];
    s.stream->records[next] = record;
    return true;
}

/* A clock that begins before the update that it needs: of the newest clock that it may not miss. */
static bool is_needed(const hw_history *history, spot s)
{
    (void)history;
    const hw_event_record *begin = waits_by(s), *r = record_at(s);
    size_t read = near(s, 1, BIT(HW_EVENT_READ) | BIT(HW_EVENT_END) | BIT(HW_EVENT_WRITE));
    if (begin->part == HW_EVENT_TAP || read == SIZE_MAX || (r->flags & HW_EVENT_LAST) == 0)
        return false;
    const hw_event_record *reader = &s.stream->records[read];
    return reader->kind == HW_EVENT_READ && (reader->flags & HW_EVENT_INNER) == 0 &&
           r->clock + begin->count + 1 == reader->clock;
}

static bool early_clock(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_SEEN, is_needed);
    if (s.stream == NULL)
        return false;
    size_t read = near(s, 1, BIT(HW_EVENT_READ));
    move_up((spot){s.stream, read}, s.at);
    return true;
}

/* A clock that begins without some updates of the clocks before it, under the loop's sync. */
static bool lags(const hw_history *history, spot s)
{
    (void)history;
    const hw_event_record *r = record_at(s), *begin = begin_of(s);
    return begin->part != HW_EVENT_BSP && waits_by(s) == begin && r->first < r->clock && (r->flags & HW_EVENT_INNER) == 0;
}

static bool waited_too_little(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_READ, lags);
    if (s.stream == NULL)
        return false;
    const hw_event_record r = *record_at(s);
    insert((spot){s.stream, near(s, -1, BIT(HW_EVENT_BEGIN)) + 1},
           (hw_event_record){
               .kind = HW_EVENT_STRICTER, .object = r.object, .actor = r.actor, .epoch = r.epoch, .part = HW_EVENT_BSP});
    return true;
}

static bool looser_wait(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_STRICTER, NULL);
    if (s.stream == NULL)
        return false;
    record_at(s)->part = HW_EVENT_SSP;
    record_at(s)->count = UINT64_MAX;
    return true;
}

static bool is_own(const hw_history *history, spot s)
{
    (void)history;
    const hw_event_record *state = state_of(s), *r = record_at(s);
    return (state->from == HW_HISTORY_NONE || state->from == r->actor) && r->clock > 0;
}

static bool lost_own_write(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_READ, is_own);
    if (s.stream == NULL)
        return false;
    record_at(s)->count -= 1 + hw_random_below(random, record_at(s)->count);
    return true;
}

static bool is_bsp(const hw_history *history, spot s)
{
    (void)history;
    return begin_of(s)->part == HW_EVENT_BSP && state_of(s)->part > 1 && (record_at(s)->flags & HW_EVENT_INNER) == 0;
}

/* A block computes on bits that no other has. */
static bool other_bits(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, one_in(random, 2) ? HW_EVENT_READ : HW_EVENT_END, is_bsp);
    if (s.stream != NULL)
        record_at(s)->digest += 1 + hw_random_below(random, 1000);
    return s.stream != NULL;
}

/* An update that its block cannot have made yet, by what it had of the reader. */
static bool is_tied(const hw_history *history, spot s)
{
    (void)history;
    const hw_event_record *begin = begin_of(s), *r = record_at(s);
    const unsigned kinds = BIT(HW_EVENT_WRITE) | BIT(HW_EVENT_SEEN) | BIT(HW_EVENT_DEFER) | BIT(HW_EVENT_BEGIN);
    size_t before = near(s, -1, kinds);
    while (before != SIZE_MAX && s.stream->records[before].kind == HW_EVENT_SEEN &&
           s.stream->records[before].from != r->from && s.stream->records[before].covers == 1)
        before = near((spot){s.stream, before}, -1, kinds);
    return begin->part != HW_EVENT_TAP && state_of(s)->from == HW_HISTORY_NONE && before != SIZE_MAX &&
           s.stream->records[before].kind == HW_EVENT_WRITE && (s.stream->records[before].flags & HW_EVENT_LAST) &&
           r->clock == s.stream->records[before].clock + 1 + begin->count;
}

static bool too_far_ahead(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_SEEN, is_tied);
    if (s.stream == NULL)
        return false;
    move_up(s, near(s, -1, BIT(HW_EVENT_WRITE)));
    return true;
}

static bool holds(const hw_history *history, spot s)
{
    (void)history;
    const hw_event_record *r = record_at(s);
    return (state_of(s)->flags & HW_EVENT_HOLDS) && (r->flags & HW_EVENT_LAST) &&
           ((r->flags & HW_EVENT_FLUSH) || r->clock >= state_of(s)->clock);
}

static bool held_too_long(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_WRITE, holds);
    if (s.stream == NULL)
        return false;
    hw_event_record *r = record_at(s);
    r->first = 1 + hw_random_below(random, 9);
    r->last = r->flags & HW_EVENT_FLUSH ? r->clock : r->clock - state_of(s)->clock;
    return true;
}

static bool idle_wait(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_READ, is_written);
    if (s.stream == NULL)
        return false;
    const hw_event_record *r = record_at(s);
    insert((spot){s.stream, s.at + 1},
           (hw_event_record){
               .kind = HW_EVENT_WAIT, .flags = HW_EVENT_INPUT, .actor = r->actor, .epoch = r->epoch, .clock = r->clock});
    return true;
}

static bool ends_a_clock(const hw_history *history, spot s)
{
    (void)history;
    return (record_at(s)->flags & HW_EVENT_LAST) != 0 && record_at(s)->span == 0 && begin_of(s)->flags == 0;
}

static bool repeated_write(hw_history *history, hw_random *random)
{
    return repeated(history, random, HW_EVENT_WRITE, ends_a_clock);
}

static bool dropped_end(hw_history *history, hw_random *random)
{
    return dropped(history, random, HW_EVENT_END, NULL);
}

static bool without_credit(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_WRITE, ends_a_clock);
    if (s.stream == NULL)
        return false;
    const hw_event_record *r = record_at(s);
    if (r->flags & HW_EVENT_FLUSH)
        return false;
    insert(s, (hw_event_record){.kind = HW_EVENT_CREDIT, .actor = r->actor, .epoch = r->epoch, .count = r->clock});
    return true;
}

static bool made_up_update(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_WRITE, ends_a_clock);
    if (s.stream == NULL || state_of(s)->part == 1 || s.at + 1 == s.stream->count)
        return false;
    hw_event_record r = *record_at(s);
    record_at(s)->kind = HW_EVENT_SEEN; /* its own block records that another block has made it */
    record_at(s)->flags &= HW_EVENT_LAST | HW_EVENT_VALUES;
    record_at(s)->first = record_at(s)->last = 0;
    record_at(s)->from = (r.actor + 1) % state_of(s)->part;
    record_at(s)->covers = 1;
    record_at(s)->clock = 1000000;
    return true;
}

static bool is_plain_begin(const hw_history *history, spot s)
{
    (void)history;
    return (record_at(s)->flags & HW_EVENT_PLAIN) == 0;
}

static bool changed_between_epochs(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_BEGIN, is_plain_begin);
    if (s.stream != NULL)
        record_at(s)->digest += 1 + hw_random_below(random, 1000);
    return s.stream != NULL;
}

/* What was held back is given up, and no rebuild makes up for it. */
static bool given_up(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_BEGIN, is_plain_begin);
    if (s.stream == NULL)
        return false;
    insert(s, (hw_event_record){.kind = HW_EVENT_FORGET, .object = record_at(s)->object, .actor = record_at(s)->actor});
    return true;
}

/* A clock is left to the next, although all blocks need it at once. */
static bool is_needed_now(const hw_history *history, spot s)
{
    return is_bsp(history, s) && is_written(history, s);
}

static bool kept_back(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_READ, is_needed_now);
    if (s.stream == NULL)
        return false;
    const hw_event_record r = *record_at(s);
    insert(
        (spot){s.stream, s.at + 1},
        (hw_event_record){.kind = HW_EVENT_DEFER, .object = r.object, .actor = r.actor, .epoch = r.epoch, .clock = r.clock});
    return true;
}

static bool ends_elsewhere(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_END, NULL);
    if (s.stream != NULL)
        record_at(s)->clock += 1 + hw_random_below(random, 3);
    return s.stream != NULL;
}

static bool of_no_block(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_SEEN, NULL);
    if (s.stream == NULL)
        return false;
    record_at(s)->from = state_of(s)->part + (uint32_t)hw_random_below(random, 3);
    return true;
}

/* ----------------------------------------------------------------------------------------------------- of the store ---- */

static bool overlap(const hw_event_record *a, const hw_event_record *b)
{
    return a->first <= b->last && b->first <= a->last;
}

static bool is_centric(spot s)
{
    return (table_of(s)->flags & HW_EVENT_CENTRIC) != 0;
}

/* A read that was to be done again, and was not. */
static bool is_refused(const hw_event_record *r)
{
    return r->kind == HW_EVENT_GIVEN && (r->flags & HW_EVENT_FAILED) != 0;
}

/* Client and stripes agree on another clock of a task. */
static void set_clocks(hw_history *history, spot s, uint64_t clock)
{
    const hw_event_record r = *record_at(s);
    for (size_t k = 0; k < history->count; k++)
        for (size_t i = 0; history->streams[k].name.kind != HW_STREAM_BLOCK && i < history->streams[k].count; i++) {
            hw_event_record *other = &history->streams[k].records[i];
            bool own = other->kind != HW_EVENT_NAME && other->kind != HW_EVENT_TABLE && other->kind != HW_EVENT_HELD;
            if (own && other->epoch == r.epoch && other->from == r.from)
                other->clock = clock;
        }
}

static bool is_done(const hw_history *history, spot s)
{
    (void)history;
    return !is_refused(record_at(s));
}

/* The last record before that lets this one be done: whose clock is exactly the one that is asked for. */
static size_t enabler(spot s, unsigned kinds, uint64_t clock)
{
    for (size_t i = s.at; i-- > 0;) {
        const hw_event_record *r = &s.stream->records[i];
        if ((kinds >> r->kind & 1) && overlap(r, record_at(s)) && r->clock == clock && !is_refused(r))
            return i;
    }
    return SIZE_MAX;
}

/* Is there no other record that would do as well? */
static bool is_only(spot s, unsigned kinds, size_t enabling)
{
    const hw_event_record *e = &s.stream->records[enabling];
    for (size_t i = 0; i < s.at; i++) {
        const hw_event_record *r = &s.stream->records[i];
        if (i != enabling && (kinds >> r->kind & 1) && r->clock >= e->clock && overlap(r, record_at(s)) && !is_refused(r) &&
            (e->kind == HW_EVENT_TAKEN || r->actor == e->actor))
            return false;
    }
    return true;
}

static bool is_late_read(const hw_history *history, spot s)
{
    (void)history;
    uint64_t delay = table_of(s)->clock;
    if (!is_centric(s) || record_at(s)->clock <= delay || is_refused(record_at(s)))
        return false;
    size_t enabling = enabler(s, BIT(HW_EVENT_TAKEN), record_at(s)->clock - delay - 1);
    return enabling != SIZE_MAX && is_only(s, BIT(HW_EVENT_TAKEN), enabling);
}

static bool early_read(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_GIVEN, is_late_read);
    if (s.stream == NULL)
        return false;
    move_up(s, enabler(s, BIT(HW_EVENT_TAKEN), record_at(s)->clock - table_of(s)->clock - 1));
    return true;
}

static bool is_late_write(const hw_history *history, spot s)
{
    (void)history;
    uint64_t delay = table_of(s)->clock;
    const unsigned reads = BIT(HW_EVENT_GIVEN) | BIT(HW_EVENT_CLOCK);
    if (!is_centric(s) || record_at(s)->clock < delay)
        return false;
    size_t enabling = enabler(s, reads, record_at(s)->clock - delay);
    return enabling != SIZE_MAX && is_only(s, reads, enabling);
}

static bool early_write(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_TAKEN, is_late_write);
    if (s.stream == NULL)
        return false;
    move_up(s, enabler(s, BIT(HW_EVENT_GIVEN) | BIT(HW_EVENT_CLOCK), record_at(s)->clock - table_of(s)->clock));
    return true;
}

static bool dropped_piece(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, one_in(random, 2) ? HW_EVENT_TAKEN : HW_EVENT_GIVEN, is_done);
    if (s.stream != NULL)
        drop(s);
    return s.stream != NULL;
}

static bool repeated_push(hw_history *history, hw_random *random)
{
    return repeated(history, random, HW_EVENT_TAKEN, NULL);
}

static bool changed_rows(hw_history *history, hw_random *random)
{
    static const hw_event_kind kinds[] = {HW_EVENT_TAKEN, HW_EVENT_GIVEN, HW_EVENT_ANSWER, HW_EVENT_ASKED};
    spot s = draw(history, random, kinds[hw_random_below(random, 4)], NULL);
    if (s.stream == NULL || record_at(s)->digest == 0)
        return false;
    record_at(s)->digest ^= UINT64_C(1) << hw_random_below(random, 64);
    return true;
}

/* Is what it reads what one range assigned before? */
static bool is_assigned(const hw_history *history, spot s)
{
    (void)history;
    const hw_event_record *r = record_at(s);
    if ((table_of(s)->flags & HW_EVENT_ASSIGNS) == 0 || (r->flags & HW_EVENT_LISTED) || is_refused(r))
        return false;
    for (size_t i = s.at; i-- > 0;) {
        const hw_event_record *push = &s.stream->records[i];
        if (push->kind == HW_EVENT_TAKEN && overlap(push, r))
            return (push->flags & HW_EVENT_LISTED) == 0 && push->first == r->first && push->last == r->last;
    }
    return false;
}

/* Server and client agree that something else was read. */
static void set_both_digests(hw_history *history, spot s, uint64_t less)
{
    const hw_event_record r = *record_at(s);
    for (size_t k = 0; k < history->count; k++)
        for (size_t i = 0; history->streams[k].name.kind == HW_STREAM_CLIENT && i < history->streams[k].count; i++) {
            hw_event_record *answer = &history->streams[k].records[i];
            if (answer->kind == HW_EVENT_ANSWER && answer->epoch == r.epoch && answer->from == r.from)
                answer->digest -= less;
        }
    record_at(s)->digest -= less;
}

/* A read of the version before the last write, recorded alike by server and client. */
static bool stale_version(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_GIVEN, is_assigned);
    if (s.stream != NULL)
        set_both_digests(history, s, 1 + hw_random_below(random, 1 << 20));
    return s.stream != NULL;
}

/* ---------------------------------------------------------------------------------------- of what is read again ---- */

static bool does_over(spot s)
{
    return (record_at(s)->flags & HW_EVENT_REREAD) != 0 && !is_refused(record_at(s));
}

/* The newest write to just these keys, and, a range each, the one before it; NULL: there is none. */
static const hw_event_record *assigned(spot s, size_t before)
{
    const hw_event_record *r = record_at(s);
    for (size_t i = s.at; i-- > 0;) {
        const hw_event_record *push = &s.stream->records[i];
        if (push->kind != HW_EVENT_TAKEN || !overlap(push, r))
            continue;
        if ((push->flags & HW_EVENT_LISTED) || push->first != r->first || push->last != r->last)
            return NULL;
        if (before-- == 0)
            return push;
    }
    return NULL;
}

/* Reads it what was there before the newest iteration, and did that iteration change it? */
static bool is_older(const hw_history *history, spot s)
{
    (void)history;
    const hw_event_record *r = record_at(s), *newest = assigned(s, 0);
    uint64_t delay = table_of(s)->clock;
    return does_over(s) && (r->flags & HW_EVENT_LISTED) == 0 && newest != NULL && newest->clock >= delay &&
           newest->clock - delay >= r->clock && newest->digest != r->digest;
}

static bool newest_again(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_GIVEN, is_older);
    if (s.stream != NULL)
        set_both_digests(history, s, record_at(s)->digest - assigned(s, 0)->digest);
    return s.stream != NULL;
}

static bool is_read_plainly(const hw_history *history, spot s)
{
    (void)history;
    return is_centric(s) && (record_at(s)->flags & HW_EVENT_REREAD) == 0;
}

/* What was not to be read again is, or the other way round. */
static bool another_kind_of_read(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_GIVEN, one_in(random, 2) ? is_read_plainly : is_older);
    if (s.stream != NULL)
        record_at(s)->flags ^= HW_EVENT_REREAD;
    return s.stream != NULL;
}

static bool is_of_a_later(const hw_history *history, spot s)
{
    (void)history;
    return does_over(s) && record_at(s)->clock > 0;
}

static bool reread_too_late(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_GIVEN, is_of_a_later);
    if (s.stream != NULL)
        set_clocks(history, s, record_at(s)->clock - 1);
    return s.stream != NULL;
}

/* No worker has written more than the read may see. */
static bool is_there(const hw_history *history, spot s)
{
    (void)history;
    uint64_t delay = table_of(s)->clock;
    for (size_t i = 0; i < s.at; i++) {
        const hw_event_record *push = &s.stream->records[i];
        if (push->kind == HW_EVENT_TAKEN && push->clock >= delay && push->clock - delay >= record_at(s)->clock)
            return false;
    }
    return does_over(s);
}

static bool refused_for_nothing(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_GIVEN, is_there);
    if (s.stream == NULL)
        return false;
    record_at(s)->flags |= HW_EVENT_FAILED;
    record_at(s)->digest = 0;
    return true;
}

static bool was_refused(const hw_history *history, spot s)
{
    return !is_done(history, s);
}

static bool given_in_spite(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_GIVEN, was_refused);
    if (s.stream != NULL)
        record_at(s)->flags &= (uint8_t)~HW_EVENT_FAILED;
    return s.stream != NULL;
}

/* Its worker has written that iteration, and no later one. */
static bool has_written(const hw_history *history, spot s)
{
    (void)history;
    const hw_event_record *r = record_at(s), *answer = NULL;
    bool written = false;
    for (size_t i = 0; i < s.stream->count; i++) {
        const hw_event_record *other = &s.stream->records[i];
        if (i < s.at && other->kind == HW_EVENT_ASKED && (other->flags & HW_EVENT_PUSHES) && other->actor == r->actor)
            written |= other->clock == r->clock;
        if (other->kind == HW_EVENT_ANSWER && other->epoch == r->epoch)
            answer = other;
    }
    return (r->flags & HW_EVENT_REREAD) && r->clock > 0 && written && answer != NULL &&
           (answer->flags & HW_EVENT_FAILED) == 0;
}

static bool after_the_next(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_ASKED, has_written);
    if (s.stream != NULL)
        set_clocks(history, s, record_at(s)->clock - 1);
    return s.stream != NULL;
}

static bool asks_for_clocks(const hw_history *history, spot s)
{
    (void)history;
    if (is_centric(s) || record_at(s)->least == 0)
        return false;
    size_t enabling = enabler(s, BIT(HW_EVENT_CLOCK), record_at(s)->least - 1);
    return enabling != SIZE_MAX && is_only(s, BIT(HW_EVENT_CLOCK), enabling);
}

static bool stale_read(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_GIVEN, asks_for_clocks);
    if (s.stream == NULL)
        return false;
    move_up(s, enabler(s, BIT(HW_EVENT_CLOCK), record_at(s)->least - 1));
    return true;
}

static bool has_clock_before(const hw_history *history, spot s)
{
    (void)history;
    for (size_t i = 0; i < s.at && !is_centric(s); i++) {
        const hw_event_record *r = &s.stream->records[i];
        if (r->kind == HW_EVENT_CLOCK && r->actor == record_at(s)->actor && r->clock > 0)
            return true;
    }
    return false;
}

static bool clock_runs_back(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_CLOCK, has_clock_before);
    if (s.stream != NULL)
        set_clocks(history, s, 0);
    return s.stream != NULL;
}

static bool is_plain_pull(const hw_event_record *r)
{
    return r->kind == HW_EVENT_ASKED && (r->flags & HW_EVENT_PULLS) && (r->flags & HW_EVENT_REREAD) == 0;
}

/* The client writes before what it reads in the iteration has come. */
static bool is_first_push(const hw_history *history, spot s)
{
    (void)history;
    const hw_event_record *r = record_at(s);
    if ((r->flags & HW_EVENT_PUSHES) == 0 || !is_centric(s))
        return false;
    for (size_t i = s.at; i-- > 0;) {
        const hw_event_record *before = &s.stream->records[i];
        if (is_plain_pull(before) && before->actor == r->actor && before->clock == r->clock)
            return true;
    }
    return false;
}

static bool writes_before_it_reads(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_ASKED, is_first_push);
    if (s.stream == NULL)
        return false;
    const hw_event_record r = *record_at(s);
    for (size_t i = s.at; i-- > 0;) {
        const hw_event_record *before = &s.stream->records[i];
        if (is_plain_pull(before) && before->actor == r.actor && before->clock == r.clock) {
            move_up(s, one_in(random, 2) ? i : i + 1);
            return true;
        }
    }
    return false;
}

static bool dropped_answer(hw_history *history, hw_random *random)
{
    return dropped(history, random, HW_EVENT_ANSWER, NULL);
}

static bool dropped_clock(hw_history *history, hw_random *random)
{
    return dropped(history, random, HW_EVENT_CLOCK, NULL);
}

/* A read that misses what its client pushed before. */
static bool has_own_push(const hw_history *history, spot s)
{
    (void)history;
    const hw_event_record *r = record_at(s);
    for (size_t i = 0; i < s.at && !is_centric(s); i++) {
        const hw_event_record *push = &s.stream->records[i];
        if (push->kind == HW_EVENT_TAKEN && push->from == r->from && push->epoch < r->epoch && overlap(push, r) &&
            r->least == 0)
            return true;
    }
    return false;
}

static bool misses_own_push(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_GIVEN, has_own_push);
    if (s.stream == NULL)
        return false;
    const hw_event_record r = *record_at(s);
    size_t to = s.at;
    for (size_t i = s.at; i-- > 0;) {
        const hw_event_record *push = &s.stream->records[i];
        if (push->kind == HW_EVENT_TAKEN && push->from == r.from && push->epoch < r.epoch && overlap(push, &r)) {
            to = i;
            break;
        }
    }
    move_up(s, to);
    return true;
}

static bool needless_wait(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, one_in(random, 2) ? HW_EVENT_GIVEN : HW_EVENT_TAKEN, NULL);
    if (s.stream == NULL)
        return false;
    hw_event_record r = *record_at(s);
    r.flags = (uint8_t)((r.flags & ~HW_EVENT_FAILED) | (r.kind == HW_EVENT_GIVEN ? HW_EVENT_PULLS : HW_EVENT_PUSHES));
    r.kind = HW_EVENT_WAIT;
    r.digest = 0;
    insert(s, r);
    return true;
}

/* Two reads of the same with nothing between them: server and client agree on another value of one of them. */
static bool is_read_again(const hw_history *history, spot s)
{
    (void)history;
    const hw_event_record *r = record_at(s);
    const unsigned others = HW_EVENT_LISTED | HW_EVENT_REREAD;
    for (size_t i = s.at + 1; i < s.stream->count && !(r->flags & others); i++) {
        const hw_event_record *next = &s.stream->records[i];
        if (next->kind == HW_EVENT_GIVEN && next->first == r->first && next->last == r->last && !(next->flags & others))
            return true;
        if (next->kind == HW_EVENT_TAKEN && overlap(next, r))
            return false;
    }
    return false;
}

static bool two_truths(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_GIVEN, is_read_again);
    if (s.stream != NULL)
        set_both_digests(history, s, 1 + hw_random_below(random, 1 << 20));
    return s.stream != NULL;
}

static bool begun_twice(hw_history *history, hw_random *random)
{
    return repeated(history, random, HW_EVENT_ASKED, NULL);
}

static bool repeated_clock(hw_history *history, hw_random *random)
{
    return repeated(history, random, HW_EVENT_CLOCK, NULL);
}

static bool of_no_worker(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_CLOCK, NULL);
    if (s.stream == NULL)
        return false;
    record_at(s)->actor = table_of(s)->part + (uint32_t)hw_random_below(random, 3);
    return true;
}

/* Returns whether the task of that record waited as well: then either may run first. */
static bool was_waiting_too(spot s, const hw_event_record *r)
{
    for (size_t i = 0; i < s.at; i++) {
        const hw_event_record *w = &s.stream->records[i];
        if (w->kind == HW_EVENT_WAIT && w->from == r->from && w->epoch == r->epoch)
            return true;
    }
    return false;
}

/* A request that waited may run, but another one is received first. */
static bool was_set_aside(const hw_history *history, spot s)
{
    (void)history;
    const hw_event_record *r = record_at(s);
    bool aside = false;
    for (size_t i = 0; i < s.at; i++) {
        const hw_event_record *w = &s.stream->records[i];
        aside = aside || (w->kind == HW_EVENT_WAIT && w->from == r->from && w->epoch == r->epoch && w->part == r->part &&
                          w->first == r->first && w->last == r->last);
    }
    const hw_event_record *next = s.at + 1 < s.stream->count ? r + 1 : NULL;
    return aside && next != NULL && (next->kind == HW_EVENT_CLOCK || next->kind == HW_EVENT_GIVEN) &&
           (next->from != r->from || next->epoch != r->epoch) && !was_waiting_too(s, next);
}

static bool woken_late(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_GIVEN, was_set_aside);
    if (s.stream == NULL)
        return false;
    move_up((spot){s.stream, s.at + 1}, s.at);
    return true;
}

/* --------------------------------------------------------------------------------------- of programs over the store ---- */

/* The loop that an iteration is of: the last that begins no later. */
static const hw_event_record *loop_of(const hw_history *history, uint64_t iteration)
{
    const hw_event_record *found = NULL;
    for (size_t i = 0; history->streams[0].name.kind == HW_STREAM_BLOCK && i < history->streams[0].count; i++) {
        const hw_event_record *r = &history->streams[0].records[i];
        if (r->kind == HW_EVENT_TURN && r->clock <= iteration)
            found = r;
    }
    return found;
}

static bool is_change(const hw_history *history, spot s)
{
    const hw_event_record *r = record_at(s), *loop = loop_of(history, r->clock);
    return loop != NULL && loop->part != HW_EVENT_TAP && (r->flags & HW_EVENT_PUSHES) && !(r->flags & HW_EVENT_PULLS) &&
           r->clock >= loop->clock + loop->count + 2;
}

/* A change belongs to a clock that all blocks had to see long ago. */
static bool late_change(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_ASKED, is_change);
    if (s.stream == NULL)
        return false;
    set_clocks(history, s, loop_of(history, record_at(s)->clock)->clock);
    return true;
}

static bool is_one_of_many(const hw_history *history, spot s)
{
    (void)s;
    return history->count > 1 && history->streams[1].name.kind == HW_STREAM_BLOCK;
}

static bool another_loop(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_TURN, is_one_of_many);
    if (s.stream == NULL)
        return false;
    if (one_in(random, 2))
        drop(s);
    else
        record_at(s)->count++;
    return true;
}

static bool changed_rest(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_HELD, NULL);
    if (s.stream == NULL)
        return false;
    uint64_t *digest = one_in(random, 2) ? &record_at(s)->digest : &record_at(s)->clock;
    *digest ^= UINT64_C(1) << hw_random_below(random, 64);
    return true;
}

static bool lost_row(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_HELD, NULL);
    if (s.stream == NULL)
        return false;
    record_at(s)->first += one_in(random, 2) ? 1 : UINT64_MAX;
    return true;
}

static bool keeps_some(const hw_history *history, spot s)
{
    (void)history;
    return record_at(s)->span > 0 && (table_of(s)->flags & HW_EVENT_DROPS) == 0;
}

static bool left_out_for_good(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_HELD, keeps_some);
    if (s.stream == NULL)
        return false;
    record_at(s)->span--;
    record_at(s)->last++;
    return true;
}

static bool goes(const hw_history *history, spot s)
{
    (void)history;
    return record_at(s)->count > 0;
}

static bool unsaid_push(hw_history *history, hw_random *random)
{
    return dropped(history, random, HW_EVENT_HELD, goes);
}

static bool is_flushed(const hw_history *history, spot s)
{
    (void)history;
    return s.at > 0 && record_at(s)[-1].kind == HW_EVENT_HELD && (record_at(s)[-1].flags & HW_EVENT_FLUSH);
}

static bool other_rest(hw_history *history, hw_random *random)
{
    return other_digest(history, random, HW_EVENT_ASKED, is_flushed);
}

/* ----------------------------------------------------------------------------------------------------------- judged ---- */

static const mutant mutants[] = {
    {"dropped read", dropped_read, {HW_RULE_DEFINITION, HW_RULES}},
    {"dropped update", dropped_update, {HW_RULE_ONCE, HW_RULE_BSP, HW_RULE_VISIBLE, HW_RULE_VALUE, HW_RULES}},
    {"repeated update", repeated_update, {HW_RULE_ONCE, HW_RULES}},
    {"changed update", changed_update, {HW_RULE_VALUE, HW_RULES}},
    {"swapped updates", swapped_updates, {HW_RULE_TIMESTAMPS, HW_RULES}},
    {"early clock", early_clock, {HW_RULE_BSP, HW_RULE_VISIBLE, HW_RULES}},
    {"lost own write", lost_own_write, {HW_RULE_MINE, HW_RULES}},
    {"other bits", other_bits, {HW_RULE_BSP, HW_RULE_VALUE, HW_RULES}},
    {"too far ahead", too_far_ahead, {HW_RULE_BSP, HW_RULE_DIFFERENCE, HW_RULES}},
    {"held too long", held_too_long, {HW_RULE_HELD, HW_RULES}},
    {"idle wait", idle_wait, {HW_RULE_WAIT, HW_RULES}},
    {"repeated write", repeated_write, {HW_RULE_ONCE, HW_RULE_ORDER, HW_RULES}},
    {"dropped end", dropped_end, {HW_RULE_END, HW_RULES}},
    {"without credit", without_credit, {HW_RULE_CREDIT, HW_RULE_ORDER, HW_RULES}},
    {"made-up update", made_up_update, {HW_RULE_ONCE, HW_RULE_ORDER, HW_RULES}},
    {"changed between epochs", changed_between_epochs, {HW_RULE_VALUE, HW_RULES}},
    {"given up", given_up, {HW_RULE_HELD, HW_RULE_ORDER, HW_RULES}},
    {"kept back", kept_back, {HW_RULE_VISIBLE, HW_RULES}},
    {"ends elsewhere", ends_elsewhere, {HW_RULE_END, HW_RULE_ONCE, HW_RULES}},
    {"of no block", of_no_block, {HW_RULE_RECORD, HW_RULES}},
    {"waited too little", waited_too_little, {HW_RULE_VISIBLE, HW_RULE_ORDER, HW_RULES}},
    {"other policy", other_policy, {HW_RULE_ORDER, HW_RULE_WAIT, HW_RULES}},
    {"looser wait", looser_wait, {HW_RULE_RECORD, HW_RULE_ORDER, HW_RULES}},
    {"early read", early_read, {HW_RULE_READ, HW_RULES}},
    {"early write", early_write, {HW_RULE_WRITE, HW_RULES}},
    {"dropped piece", dropped_piece, {HW_RULE_ONCE, HW_RULE_READ, HW_RULE_WRITE, HW_RULE_VALUE, HW_RULES}},
    {"repeated push", repeated_push, {HW_RULE_ONCE, HW_RULE_WAIT, HW_RULES}},
    {"changed rows", changed_rows, {HW_RULE_VALUE, HW_RULE_HELD, HW_RULES}},
    {"stale version", stale_version, {HW_RULE_VALUE, HW_RULES}},
    {"stale read", stale_read, {HW_RULE_VISIBLE, HW_RULES}},
    {"clock runs back", clock_runs_back, {HW_RULE_TIMESTAMPS, HW_RULES}},
    {"writes before it reads", writes_before_it_reads, {HW_RULE_DEFINITION, HW_RULES}},
    {"dropped answer", dropped_answer, {HW_RULE_ONCE, HW_RULE_DEFINITION, HW_RULES}},
    {"dropped clock", dropped_clock, {HW_RULE_ONCE, HW_RULE_VISIBLE, HW_RULE_WRITE, HW_RULE_READ, HW_RULES}},
    {"misses own push",
     misses_own_push,
     {HW_RULE_MINE, HW_RULE_VALUE, HW_RULE_BSP, HW_RULE_VISIBLE, HW_RULE_DIFFERENCE, HW_RULES}},
    {"needless wait", needless_wait, {HW_RULE_WAIT, HW_RULES}},
    {"two truths", two_truths, {HW_RULE_VALUE, HW_RULES}},
    {"begun twice", begun_twice, {HW_RULE_ONCE, HW_RULE_HELD, HW_RULE_DEFINITION, HW_RULES}},
    {"repeated clock", repeated_clock, {HW_RULE_ONCE, HW_RULE_WAIT, HW_RULES}},
    {"of no worker", of_no_worker, {HW_RULE_RECORD, HW_RULES}},
    {"woken late", woken_late, {HW_RULE_WAIT, HW_RULE_READ, HW_RULE_WRITE, HW_RULES}},
    {"newest again", newest_again, {HW_RULE_VALUE, HW_RULES}},
    {"another kind of read", another_kind_of_read, {HW_RULE_VALUE, HW_RULE_READ, HW_RULES}},
    {"reread too late", reread_too_late, {HW_RULE_READ, HW_RULE_WAIT, HW_RULES}},
    {"refused for nothing", refused_for_nothing, {HW_RULE_READ, HW_RULES}},
    {"given in spite", given_in_spite, {HW_RULE_READ, HW_RULES}},
    {"after the next", after_the_next, {HW_RULE_DEFINITION, HW_RULE_READ, HW_RULE_WAIT, HW_RULES}},
    {"late change", late_change, {HW_RULE_VISIBLE, HW_RULE_BSP, HW_RULE_DIFFERENCE, HW_RULES}},
    {"another loop", another_loop, {HW_RULE_ORDER, HW_RULE_RECORD, HW_RULES}},
    {"changed rest", changed_rest, {HW_RULE_HELD, HW_RULES}},
    {"lost row", lost_row, {HW_RULE_HELD, HW_RULES}},
    {"left out for good", left_out_for_good, {HW_RULE_HELD, HW_RULES}},
    {"unsaid push", unsaid_push, {HW_RULE_HELD, HW_RULES}},
    {"other rest", other_rest, {HW_RULE_HELD, HW_RULE_VALUE, HW_RULES}},
};
enum { OF_BLOCKS = 23, MUTANTS = sizeof mutants / sizeof *mutants };

static void every_mutant_is_refused(void **state)
{
    (void)state;
    must_refuse_all(mutants, MUTANTS, OF_BLOCKS, draw_history, seeds_of(3000, 20000), 3, 81);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mutant_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
