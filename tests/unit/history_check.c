/* What the checker accepts: the histories of the paper, and every history of thousands of random programs; what of them is
 * beyond any barrier. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "history_worlds.h"

static hw_verdict must_hold(const hw_history *history, uint64_t seed)
{
    hw_verdict verdict = judge(history);
    if (verdict.broken) {
        hw_verdict_print(&verdict, history, stderr);
        fail_msg("seed %llu", (unsigned long long)seed);
    }
    return verdict;
}

/* -------------------------------------------------------------------------------------------- the paper's histories ---- */

/* "r121" is the paper's r1[2][1]: worker, chunk, iteration. One stripe has both chunks. */
static hw_history paper(const char *text, uint64_t delay)
{
    enum { WORKERS = 2, MOST = 64 };
    hw_event_record *records = calloc(MOST, sizeof *records);
    size_t count = 0;
    hw_history history = {0};
    hawser_error error = {0};
    records[count++] = (hw_event_record){
        .kind = HW_EVENT_TABLE, .flags = HW_EVENT_CENTRIC, .part = WORKERS, .clock = delay, .first = 1, .last = WORKERS};
    for (const char *at = text; *at != '\0'; at += at[4] == ' ' ? 5 : 4) {
        uint32_t worker = (uint32_t)(at[1] - '1');
        uint64_t chunk = (uint64_t)(at[2] - '0');
        records[count] = (hw_event_record){.kind = at[0] == 'r' ? HW_EVENT_GIVEN : HW_EVENT_TAKEN,
                                           .actor = worker,
                                           .epoch = count,
                                           .clock = (uint64_t)(at[3] - '1'),
                                           .first = chunk,
                                           .last = chunk,
                                           .count = 1};
        count++;
    }
    put_stream(&history, (hw_stream_name){.kind = HW_STREAM_STRIPE}, records, count);
    check(hw_history_whole(&history, &error), &error);
    return history;
}

static void must_break(const char *text, uint64_t delay, hw_rule rule, size_t counterexamples)
{
    hw_history history = paper(text, delay);
    hw_verdict verdict = judge(&history);
    assert_true(verdict.broken);
    assert_string_equal(hw_rule_name(verdict.rule), hw_rule_name(rule));
    assert_int_equal(verdict.count, counterexamples);
    hw_history_free(&history);
}

static void histories_of_the_paper(void **state)
{
    (void)state;
    static const char *const good[] = {
        "r111 r121 r211 r221 w111 w221 r112 r122 r212 r222 w112 w222", /* H1: BSP */
        "r111 r121 r211 r221 w221 r122 w111 r112 r212 r222 w112 w222", /* H2: no barrier */
    };
    const char *third = "r111 r121 w111 r211 r221 w221 r112 r122 w112 r212 r222 w222"; /* H3 */
    for (int i = 0; i < 2; i++) {
        hw_history history = paper(good[i], 0);
        hw_verdict verdict = must_hold(&history, (uint64_t)i);
        assert_true(verdict.checked[HW_RULE_READ] == 8 && verdict.checked[HW_RULE_WRITE] == 4);
        hw_history_free(&history);
    }
    must_break(third, 0, HW_RULE_WRITE, 2); /* w1[1][0] before r2[1][0] */
    hw_history history = paper(third, 1);
    (void)must_hold(&history, 3); /* the delayed constraints admit it */
    hw_history_free(&history);
    must_break("r111 r121 r211 r221 w111 r112 r122 w221", 0, HW_RULE_READ, 2);           /* r1[2][1] before w2[2][0] */
    must_break("r111 r121 r211 w111 r112 r122 r212 w112 r113 r123", 1, HW_RULE_READ, 1); /* w2[2][1] never comes */
}

/* A chunk has two writers, of whom one is late; what it has written it may write again, but nothing before that. */
static void late_writers(void **state)
{
    (void)state;
    hw_history history = paper("r111 r211 w112 w211 w211", 1);
    (void)must_hold(&history, 0);
    hw_history_free(&history);
    must_break("r111 r211 w111 w112 w111", 1, HW_RULE_TIMESTAMPS, 2);
}

/* -------------------------------------------------------------------------------------------------- random programs ---- */

/* Reads of an iteration before some write of the one before, in one stripe of a table whose delay is 0: a barrier would
 * stand between them. */
static size_t count_beyond_barrier(const hw_history *history)
{
    size_t found = 0;
    for (size_t s = 0; s < history->count; s++) {
        const hw_stream *stream = &history->streams[s];
        bool strict = false;
        uint64_t most = 0; /* iterations of which something was read */
        for (size_t i = 0; i < stream->count; i++) {
            const hw_event_record *r = &stream->records[i];
            if (r->kind == HW_EVENT_TABLE)
                strict = (r->flags & HW_EVENT_CENTRIC) && r->clock == 0;
            if (r->kind == HW_EVENT_GIVEN && r->clock > most)
                most = r->clock;
            found += strict && r->kind == HW_EVENT_TAKEN && r->clock < most;
        }
    }
    return found;
}

static void random_programs(void **state)
{
    (void)state;
    uint64_t applied[HW_RULES] = {0};
    size_t beyond = 0;
    uint64_t count = seeds_of(6000, 100000);
    for (uint64_t seed = 0; seed < count; seed++) {
        hw_history history = draw_history(seed);
        hw_verdict verdict = must_hold(&history, seed);
        beyond += count_beyond_barrier(&history);
        for (int rule = 0; rule < HW_RULES; rule++)
            applied[rule] += verdict.checked[rule];
        hw_history_free(&history);
    }
    for (int rule = HW_RULE_ORDER; rule < HW_RULE_REDUCTION; rule++)
        assert_true(applied[rule] > 1000 || rule == HW_RULE_CREDIT); /* the runtime alone gives credit */
    assert_true(beyond > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(histories_of_the_paper),
        cmocka_unit_test(late_writers),
        cmocka_unit_test(random_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
