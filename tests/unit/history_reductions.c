/* Histories of units that reduce: honest ones are accepted, and refused is each in which one thing is wrong, by the rule
 * that it breaks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/random.h"
#include "history/check.h"
#include "history_put.h"

enum { BLOCKS_MOST = 4, CLOCKS = 2, RECORDS_MOST = 64, EPOCH = 9 };

/* A run in which every clock has a few reductions, some of which one block alone contributes to. */
typedef struct shape {
    uint32_t blocks, reductions[CLOCKS];
    uint64_t digests[CLOCKS][4][BLOCKS_MOST]; /* of shares */
    uint32_t by[CLOCKS][4];
    bool stops[CLOCKS][4];
} shape;

static shape draw_shape(uint64_t seed)
{
    hw_random random = hw_random_at(seed, 5, 0, 0);
    shape s = {.blocks = 1 + (uint32_t)hw_random_below(&random, BLOCKS_MOST)};
    for (int c = 0; c < CLOCKS; c++) {
        s.reductions[c] = (uint32_t)hw_random_below(&random, 4);
        for (uint32_t n = 0; n < s.reductions[c]; n++) {
            bool alone = hw_random_below(&random, 2) == 0;
            s.by[c][n] = (uint32_t)hw_random_below(&random, 3);
            s.stops[c][n] = hw_random_below(&random, 5) == 0;
            for (uint32_t b = 0; b < s.blocks; b++)
                s.digests[c][n][b] = alone && b > 0 ? 0 : 1 + hw_random_below(&random, 1000);
        }
    }
    return s;
}

/* What all get: where one share foretells it, that. */
static uint64_t result_of(const shape *s, int clock, uint32_t number)
{
    bool one = s->blocks == 1 || (s->by[clock][number] == 0 && s->digests[clock][number][1] == 0);
    return one ? s->digests[clock][number][0] : 4711 + number;
}

static size_t write_block(const shape *s, uint32_t block, hw_event_record *records)
{
    size_t count = 0;
    for (uint32_t c = 0; c < CLOCKS; c++) {
        hw_event_record base = {.actor = block, .covers = s->blocks, .epoch = EPOCH, .clock = c};
        for (uint32_t n = 0; n < s->reductions[c]; n++) {
            hw_event_record share = base;
            share.kind = HW_EVENT_SHARE;
            share.flags = s->stops[c][n] && block == 0 ? HW_EVENT_STOPS : 0;
            share.part = n;
            share.object = 3;
            share.count = 10 + n;
            share.from = s->by[c][n];
            share.digest = s->digests[c][n][block];
            records[count++] = share;
            share.kind = HW_EVENT_REDUCED;
            share.flags = s->stops[c][n] ? HW_EVENT_STOPS : 0;
            share.digest = result_of(s, (int)c, n);
            records[count++] = share;
        }
        base.kind = HW_EVENT_REDUCTIONS;
        base.part = s->reductions[c];
        records[count++] = base;
    }
    return count;
}

static hw_history make_history(const shape *s)
{
    hw_history history = {0};
    for (uint32_t b = 0; b < s->blocks; b++) {
        hw_event_record *records = calloc(RECORDS_MOST, sizeof *records);
        assert_non_null(records);
        size_t count = write_block(s, b, records);
        put_stream(&history, (hw_stream_name){HW_STREAM_BLOCK, 0, b, 0}, records, count);
    }
    return history;
}

static hw_verdict judge(hw_history *history)
{
    hw_verdict verdict;
    hawser_error error = {0};
    if (hw_history_check(history, &verdict, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    return verdict;
}

/* ------------------------------------------------------------------------------------------------------- mutants ---- */

/* A record of a kind, drawn; NULL: there is none. */
static hw_event_record *draw(hw_history *history, hw_random *random, hw_event_kind kind, hw_stream **stream)
{
    size_t seen = 0;
    hw_event_record *drawn = NULL;
    *stream = NULL;
    for (size_t s = 0; s < history->count; s++)
        for (size_t i = 0; i < history->streams[s].count; i++)
            if (history->streams[s].records[i].kind == kind && hw_random_below(random, ++seen) == 0) {
                drawn = &history->streams[s].records[i];
                *stream = &history->streams[s];
            }
    return drawn;
}

static void erase(hw_stream *stream, hw_event_record *record, size_t count)
{
    size_t at = (size_t)(record - stream->records);
    memmove(record, record + count, (stream->count - at - count) * sizeof *record);
    stream->count -= count;
}

/* Each returns whether there was something to make wrong. */
static bool other_result(hw_history *h, hw_random *random)
{
    hw_stream *stream;
    hw_event_record *r = draw(h, random, HW_EVENT_REDUCED, &stream);
    if (r == NULL || h->count < 2)
        return false;
    r->digest++;
    return true;
}

static bool wrong_for_all(hw_history *h, hw_random *random)
{
    hw_stream *stream;
    hw_event_record *r = draw(h, random, HW_EVENT_REDUCED, &stream);
    if (r == NULL || r->digest == 4711 + (uint64_t)r->part)
        return false;
    uint64_t clock = r->clock, number = r->part;
    for (size_t s = 0; s < h->count; s++)
        for (size_t i = 0; i < h->streams[s].count; i++) {
            hw_event_record *other = &h->streams[s].records[i];
            if (other->kind == HW_EVENT_REDUCED && other->clock == clock && other->part == number)
                other->digest += 5;
        }
    return true;
}

static bool other_call(hw_history *h, hw_random *random)
{
    hw_stream *stream;
    hw_event_record *r = draw(h, random, HW_EVENT_SHARE, &stream);
    if (r == NULL)
        return false;
    switch (hw_random_below(random, 3)) {
    case 0: r->count++; break;
    case 1: r->object++; break;
    default: r->from = (r->from + 1) % 3; break;
    }
    return true;
}

static bool missing_share(hw_history *h, hw_random *random)
{
    hw_stream *stream;
    hw_event_record *r = draw(h, random, HW_EVENT_SHARE, &stream);
    if (r == NULL)
        return false;
    erase(stream, r, 1);
    return true;
}

static bool result_before_share(hw_history *h, hw_random *random)
{
    hw_stream *stream;
    hw_event_record *r = draw(h, random, HW_EVENT_SHARE, &stream);
    if (r == NULL)
        return false;
    hw_event_record share = r[0];
    r[0] = r[1];
    r[1] = share;
    return true;
}

static bool missing_result(hw_history *h, hw_random *random)
{
    hw_stream *stream;
    hw_event_record *r = draw(h, random, HW_EVENT_REDUCED, &stream);
    if (r == NULL)
        return false;
    erase(stream, r, 1);
    return true;
}

/* A block leaves its last reduction of a clock out, and says so. */
static bool unequal_trips(hw_history *h, hw_random *random)
{
    hw_stream *stream;
    hw_event_record *r = draw(h, random, HW_EVENT_REDUCTIONS, &stream);
    if (r == NULL || r->part == 0 || h->count < 2)
        return false;
    r->part--;
    erase(stream, r - 2, 2);
    return true;
}

static bool wrong_count(hw_history *h, hw_random *random)
{
    hw_stream *stream;
    hw_event_record *r = draw(h, random, HW_EVENT_REDUCTIONS, &stream);
    r->part++;
    return true;
}

static bool skipped_clock(hw_history *h, hw_random *random)
{
    hw_stream *stream;
    hw_event_record *r = draw(h, random, HW_EVENT_REDUCTIONS, &stream);
    for (size_t i = 0; i < stream->count; i++)
        stream->records[i].clock += stream->records[i].clock > 0 || r->clock == 0;
    return true;
}

static bool lost_request(hw_history *h, hw_random *random)
{
    hw_stream *stream;
    hw_event_record *r = draw(h, random, HW_EVENT_SHARE, &stream);
    if (r == NULL || (r->flags & HW_EVENT_STOPS) == 0)
        return false;
    r->flags = 0;
    return true;
}

static bool repeated(hw_history *h, hw_random *random)
{
    hw_stream *stream;
    hw_event_record *r = draw(h, random, HW_EVENT_SHARE, &stream);
    if (r == NULL)
        return false;
    size_t at = (size_t)(r - stream->records);
    memmove(r + 2, r, (stream->count - at) * sizeof *r);
    stream->count += 2;
    return true;
}

static bool never_ended(hw_history *h, hw_random *random)
{
    hw_stream *stream;
    hw_event_record *r = draw(h, random, HW_EVENT_REDUCTIONS, &stream);
    if (r->clock + 1 != CLOCKS || r->part == 0)
        return false;
    erase(stream, r, 1);
    return true;
}

static bool operation_that_is_none(hw_history *h, hw_random *random)
{
    hw_stream *stream;
    hw_event_record *r = draw(h, random, HW_EVENT_SHARE, &stream);
    if (r == NULL)
        return false;
    r->from = 3;
    return true;
}

static const struct {
    const char *name;
    bool (*make)(hw_history *history, hw_random *random);
    unsigned rules; /* that may find it */
} mutants[] = {
    {"a block has another result", other_result, 1U << HW_RULE_REDUCTION},
    {"all have a result that was not contributed", wrong_for_all, 1U << HW_RULE_VALUE},
    {"a block calls something else", other_call, 1U << HW_RULE_REDUCTION},
    {"a share is missing", missing_share, 1U << HW_RULE_ORDER},
    {"a result precedes its share", result_before_share, 1U << HW_RULE_ORDER},
    {"a result is missing", missing_result, 1U << HW_RULE_ORDER},
    {"a block reduces less often", unequal_trips, 1U << HW_RULE_REDUCTION},
    {"a block reports another count", wrong_count, 1U << HW_RULE_ORDER},
    {"a clock is skipped", skipped_clock, 1U << HW_RULE_ORDER},
    {"a request to stop is made up", lost_request, 1U << HW_RULE_REDUCTION},
    {"a reduction is made twice", repeated, 1U << HW_RULE_ORDER},
    {"a clock never ends", never_ended, 1U << HW_RULE_END},
    {"an operation is unknown", operation_that_is_none, 1U << HW_RULE_RECORD},
};

static void free_all(hw_history *history)
{
    for (size_t s = 0; s < history->count; s++)
        free(history->streams[s].records);
    free(history->streams);
}

static void honest_reductions_are_accepted(void **state)
{
    (void)state;
    uint64_t checked = 0, values = 0;
    for (uint64_t seed = 0; seed < 500; seed++) {
        shape s = draw_shape(seed);
        hw_history history = make_history(&s);
        hw_verdict verdict = judge(&history);
        if (verdict.broken)
            fail_msg("seed %llu: %s", (unsigned long long)seed, verdict.text);
        checked += verdict.checked[HW_RULE_REDUCTION];
        values += verdict.checked[HW_RULE_VALUE];
        free_all(&history);
    }
    assert_true(checked > 1000 && values > 100);
}

static void every_mutant_is_refused(void **state)
{
    (void)state;
    for (size_t m = 0; m < sizeof mutants / sizeof *mutants; m++) {
        int made = 0;
        for (uint64_t seed = 0; seed < 3000 && made < 100; seed++) {
            hw_random random = hw_random_at(seed, 6, 0, 0);
            shape s = draw_shape(seed);
            hw_history history = make_history(&s);
            if (mutants[m].make(&history, &random)) {
                hw_verdict verdict = judge(&history);
                made++;
                if (!verdict.broken || (mutants[m].rules >> verdict.rule & 1) == 0)
                    fail_msg("%s, seed %llu: %s", mutants[m].name, (unsigned long long)seed,
                             verdict.broken ? hw_rule_name(verdict.rule) : "not noticed");
            }
            free_all(&history);
        }
        assert_true(made >= 20);
    }
}

/* Where a node is lost its blocks may lack records; others may not have a result once they know. */
static void a_lost_node_breaks_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        shape s = draw_shape(seed);
        s.blocks = 3;
        if (s.reductions[1] == 0)
            continue;
        hw_history history = make_history(&s);
        hw_stream *lost = &history.streams[2];
        history.ended = HAWSER_PEER_LOST;
        history.cut = 1;
        lost->cut = true;
        lost->count = seed % (lost->count + 1);
        hw_verdict verdict = judge(&history);
        if (verdict.broken)
            fail_msg("seed %llu: %s", (unsigned long long)seed, verdict.text);
        hw_stream *knows = &history.streams[0];
        memmove(knows->records + 1, knows->records, knows->count * sizeof *knows->records);
        knows->records[0] = (hw_event_record){.kind = HW_EVENT_LOST, .actor = 0, .from = 2};
        knows->count++;
        verdict = judge(&history);
        assert_true(verdict.broken && verdict.rule == HW_RULE_LOSS);
        free_all(&history);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(honest_reductions_are_accepted),
        cmocka_unit_test(every_mutant_is_refused),
        cmocka_unit_test(a_lost_node_breaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
