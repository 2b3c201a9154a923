/*
 * Histories of replicas whose updates are sent on by relays under SSP and TAP (exchange/combined.h): honest ones are
 * accepted. Refused is each in which an update of a sum is missing, stands twice, is another one or returns, and each in
 * which a sum has other numbers, as far as digests show.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exchange_relays.h"
#include "history_spots.h"

static hw_history history_of_relays(uint64_t seed)
{
    relays_setup how = draw_relays(seed);
    notes n = {0};
    relays w;
    how.clocks = 1 + how.clocks / 2;
    for (uint32_t b = 0; b < how.blocks; b++)
        how.logs[b] = new_log(&n, (hw_stream_name){.kind = HW_STREAM_BLOCK, .number = b});
    open_relays(&w, &how, seed);
    for (uint64_t epoch = 0; epoch < 2; epoch++)
        run_relays(&w, epoch, epoch == seed % 5 ? (hw_policy){HW_POLICY_BSP, 0} : how.policy);
    close_relays(&w);
    hw_history history = history_of(&n);
    history.nodes = how.nodes;
    for (size_t s = 0; s < history.count; s++)
        history.streams[s].node = how.home[history.streams[s].name.number];
    return history;
}

static bool apart(spot s)
{
    return begin_of(s)->part != HW_EVENT_BSP;
}

/* Returns the first record of the sum of which this is one. */
static spot first_of(spot s)
{
    while (s.at > 0 && s.stream->records[s.at - 1].kind == HW_EVENT_SEEN && s.stream->records[s.at - 1].more > 0)
        s.at--;
    return s;
}

static bool of_several(const hw_history *history, spot s)
{
    (void)history;
    return apart(s) && record_at(first_of(s))->more > 0;
}

static bool is_combined(const hw_history *history, spot s)
{
    return of_several(history, s) || (apart(s) && record_at(s)->range > 0);
}

/* Makes the records of a sum count its updates, from the first one to `last`. */
static void count_again(spot first, size_t last)
{
    for (size_t i = first.at; i <= last; i++) {
        first.stream->records[i].more = (uint32_t)(last - i);
        first.stream->records[i].covers = (uint32_t)(last + 1 - first.at);
    }
}

/* An update of a sum is lost: not in the list. */
static bool lost(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_SEEN, of_several);
    if (s.stream == NULL)
        return false;
    spot first = first_of(s);
    size_t last = s.at + record_at(s)->more;
    drop(s);
    count_again(first, last - 1);
    return true;
}

/* It stands twice in the list. */
static bool twice(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_SEEN, of_several);
    if (s.stream == NULL)
        return false;
    spot first = first_of(s);
    size_t last = s.at + record_at(s)->more;
    insert(s, *record_at(s));
    count_again(first, last + 1);
    return true;
}

static bool of_another_clock(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_SEEN, is_combined);
    if (s.stream == NULL)
        return false;
    record_at(s)->clock++;
    return true;
}

static bool of_another_block(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_SEEN, is_combined);
    if (s.stream == NULL)
        return false;
    uint32_t blocks = state_of(s)->part, from = record_at(s)->from;
    record_at(s)->from = (from + 1 + (uint32_t)hw_random_below(random, blocks - 1)) % blocks;
    return true;
}

/* The reader's own update returns in a sum, or that of a block of its node. */
static bool returns(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_SEEN, of_several);
    if (s.stream == NULL)
        return false;
    uint32_t mine = record_at(s)->actor;
    for (size_t i = 0; i < history->count; i++)
        if (history->streams[i].node == s.stream->node && one_in(random, 2))
            mine = history->streams[i].name.number;
    spot first = first_of(s);
    size_t last = s.at + record_at(s)->more;
    insert(s, *record_at(s));
    record_at(s)->from = mine;
    count_again(first, last + 1);
    return true;
}

static bool of_another_range(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_SEEN, is_combined);
    if (s.stream == NULL)
        return false;
    spot first = first_of(s);
    uint16_t ranges = state_of(s)->range, range = record_at(s)->range;
    uint16_t other = ranges > 1 ? (uint16_t)(1 + range % ranges) : 1;
    do
        record_at(first)->range = other;
    while (record_at(first)->more > 0 && (first.at++, true));
    return true;
}

static bool dropped_sum(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_SEEN, is_combined);
    if (s.stream == NULL)
        return false;
    s = first_of(s);
    for (uint32_t left = record_at(s)->more + 1; left > 0; left--)
        drop(s);
    return true;
}

static bool repeated_sum(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_SEEN, is_combined);
    if (s.stream == NULL)
        return false;
    s = first_of(s);
    uint32_t count = record_at(s)->more + 1;
    for (uint32_t i = 0; i < count; i++) {
        spot to = {s.stream, s.at + count + i};
        insert(to, s.stream->records[s.at + i]);
    }
    return true;
}

static bool cut_short(hw_history *history, hw_random *random)
{
    spot s = draw(history, random, HW_EVENT_SEEN, of_several);
    if (s.stream == NULL)
        return false;
    record_at(s)->more += one_in(random, 2) || record_at(s)->more == 0 ? 1 : UINT32_MAX;
    return true;
}

static uint64_t written(const hw_history *history, const hw_event_record *seen)
{
    const hw_stream *stream = hw_history_stream(history, HW_STREAM_BLOCK, 0, seen->from);
    for (size_t i = 0; i < stream->count; i++) {
        const hw_event_record *r = &stream->records[i];
        if (r->kind == HW_EVENT_WRITE && r->epoch == seen->epoch && r->clock == seen->clock && r->part == seen->part)
            return r->digest;
    }
    fail_msg("block %u has no clock %llu", seen->from, (unsigned long long)seen->clock);
    return 0;
}

/* At most one of its updates changes anything, so that its digest is known. */
static bool is_known(const hw_history *history, spot s)
{
    unsigned changing = 0;
    if (!of_several(history, s))
        return false;
    for (s = first_of(s);; s.at++) {
        changing += written(history, record_at(s)) != 0;
        if (record_at(s)->more == 0)
            break;
    }
    return changing == 0 || (changing == 1 && record_at(s)->range == 0);
}

static bool another_has_it(const hw_history *history, spot s)
{
    for (size_t i = 0; i < history->count; i++)
        if (&history->streams[i] != s.stream && history->streams[i].node == s.stream->node)
            return of_several(history, s);
    return false;
}

static bool digest_of_sum(hw_history *history, hw_random *random, bool (*fits)(const hw_history *history, spot s))
{
    spot s = draw(history, random, HW_EVENT_SEEN, fits);
    uint64_t bit = UINT64_C(1) << hw_random_below(random, 64);
    if (s.stream == NULL)
        return false;
    s = first_of(s);
    for (uint32_t left = record_at(s)->more + 1; left > 0; left--, s.at++)
        record_at(s)->digest ^= bit;
    return true;
}

static bool of_other_numbers(hw_history *history, hw_random *random)
{
    return digest_of_sum(history, random, is_known);
}

static bool seen_differently(hw_history *history, hw_random *random)
{
    return digest_of_sum(history, random, another_has_it);
}

#define WRONG_LIST                                                                                                          \
    {                                                                                                                       \
        HW_RULE_ONCE, HW_RULE_TIMESTAMPS, HW_RULE_VALUE, HW_RULE_RECORD, HW_RULE_VISIBLE, HW_RULES                          \
    }
static const mutant mutants[] = {
    {"lost update of a sum", lost, WRONG_LIST},
    {"update twice in a sum", twice, {HW_RULE_ONCE, HW_RULE_DIFFERENCE, HW_RULES}},
    {"update of another clock", of_another_clock, {HW_RULE_ONCE, HW_RULE_TIMESTAMPS, HW_RULE_DIFFERENCE, HW_RULES}},
    {"update of another block", of_another_block, WRONG_LIST},
    {"update that returns", returns, {HW_RULE_ONCE, HW_RULE_RECORD, HW_RULES}},
    {"sum of another range", of_another_range, WRONG_LIST},
    {"dropped sum", dropped_sum, WRONG_LIST},
    {"repeated sum", repeated_sum, {HW_RULE_ONCE, HW_RULES}},
    {"sum cut short", cut_short, {HW_RULE_RECORD, HW_RULES}},
    {"sum of other numbers", of_other_numbers, {HW_RULE_VALUE, HW_RULES}},
    {"sum seen differently", seen_differently, {HW_RULE_VALUE, HW_RULES}},
};
enum { MUTANTS = sizeof mutants / sizeof *mutants };

static void honest_sums_are_accepted(void **state)
{
    (void)state;
    size_t sums = 0, ranges = 0;
    uint64_t seeds = seeds_of(500, 10000);
    for (uint64_t seed = 0; seed < seeds; seed++) {
        hw_history history = history_of_relays(seed);
        hw_verdict verdict = judge(&history);
        if (verdict.broken) {
            hw_verdict_print(&verdict, &history, stderr);
            fail_msg("seed %llu", (unsigned long long)seed);
        }
        for (size_t s = 0; s < history.count; s++)
            for (size_t i = 0; i < history.streams[s].count; i++) {
                const hw_event_record *r = &history.streams[s].records[i];
                sums += r->kind == HW_EVENT_SEEN && r->more > 0;
                ranges += r->kind == HW_EVENT_SEEN && r->range > 0;
            }
        hw_history_free(&history);
    }
    assert_true(sums > seeds && ranges > seeds);
}

static void every_mutant_is_refused(void **state)
{
    (void)state;
    size_t made[MUTANTS] = {0};
    uint64_t seeds = seeds_of(200, 5000);
    for (uint64_t seed = 0; seed < seeds; seed++)
        for (size_t m = 0; m < MUTANTS; m++) {
            hw_random random = hw_random_at(seed, 86, m, 0);
            hw_history history = history_of_relays(seed);
            if (mutants[m].make(&history, &random)) {
                must_refuse(&history, &mutants[m], seed);
                made[m]++;
            }
            hw_history_free(&history);
        }
    for (size_t m = 0; m < MUTANTS; m++)
        if (made[m] < seeds / 10)
            fail_msg("only %zu of '%s' were made", made[m], mutants[m].name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(honest_sums_are_accepted),
        cmocka_unit_test(every_mutant_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
