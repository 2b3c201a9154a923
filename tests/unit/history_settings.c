/*
 * Histories have changes of settings in flight: of a loop's work, a block's share, a state's gain and quota, and the sync.
 * The checker accepts them from the clock of the credit that announces them, alike on all blocks. A change that is a clock
 * early or late on one block, on one block only, early on all blocks, or without a record is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "hawser/advanced.h"
#include "history_memory.h"
#include "job.h"

enum { BLOCKS = 3, CLOCKS = 20, RUNS = 6, WORK = 0, SHARE = 1 };

static hawser_status add(hawser_context *context)
{
    HAWSER_WRITE(context, double, v);
    v[hawser_block(context)] += hawser_work(context);
    return HAWSER_OK;
}

static bool decide(hawser_progress *progress, void *user)
{
    switch (hawser_progress_clock(progress)) {
    case 3: hawser_progress_work(progress, "loop", 4); break;
    case 5: hawser_progress_gain(progress, "v", 2); break;
    case 7: hawser_progress_quota(progress, "v", 100); break;
    case 9: hawser_progress_share(progress, "loop", 1, 0.25); break;
    case 11: hawser_progress_sync(progress, "loop", *(const hawser_sync *)user); break;
    case 13:
        hawser_progress_work(progress, "loop", 2);
        hawser_progress_gain(progress, "v", 1);
        break;
    default: break;
    }
    return hawser_progress_clock(progress) + 1 >= CLOCKS;
}

/* Records a run that goes from one sync to another. */
static void record(hawser_sync from, hawser_sync to, uint64_t seed, hw_history *history, hw_verdict *verdict)
{
    char path[40];
    const int file = history_file(path, sizeof path);
    const char *const pairs[] = {"workers", "3", "check", "yes", "record-history", path, NULL};
    test_job test = open_job(pairs);
    hw_job_use_fibers(test.job, seed);
    hawser_program *p = hawser_program_new("settings", NULL);
    hawser_state *v = HAWSER_STATE(p, "v", HAWSER_REPLICATED, .rows = BLOCKS, .filter = "absolute", .quota = 1000);
    hawser_operator *loop = hawser_loop(hawser_root(p), "loop", (hawser_until){.test = decide, .user = &to}, from);
    HAWSER_UNIT(loop, "add", add, .updates = {v});
    HAWSER_ADAPT(p, .loop = loop, .work_least = 0.5, .work_most = 4, .shares = true);
    hawser_run *run = NULL;
    hawser_error error = {0};
    if (hawser_run_program(test.job, p, &run, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    assert_int_equal(hawser_run_figures(run)->change_count, 7);
    hawser_run_free(run);
    hawser_program_free(p);
    close_job(test);
    check_history_file(file, history, verdict);
}

static hw_stream *stream_of(hw_history *history, uint32_t block)
{
    for (size_t s = 0; s < history->count; s++)
        if (history->streams[s].name.kind == HW_STREAM_BLOCK && history->streams[s].name.number == block)
            return &history->streams[s];
    fail_msg("block %u has no stream", block);
    return NULL;
}

/* Returns the place of the n-th record of a kind that is about `part`, from `at` on or, if `back`, before it. */
static size_t find(const hw_stream *stream, hw_event_kind kind, size_t at, bool back)
{
    while (at < stream->count && stream->records[at].kind != kind)
        at += back ? SIZE_MAX : 1;
    assert_true(at < stream->count);
    return at;
}

static size_t find_change(const hw_stream *stream, uint32_t part)
{
    size_t at = find(stream, HW_EVENT_CHANGED, 0, false);
    while (stream->records[at].part != part)
        at = find(stream, HW_EVENT_CHANGED, at + 1, false);
    return at;
}

static uint64_t difference(const hw_event_record *r)
{
    return hw_digest_one(r->part, r->last) - hw_digest_one(r->part, r->first);
}

/* Lets a block's first change of work hold from the credit before or behind its own. */
static void shift(hw_stream *stream, bool early)
{
    const size_t at = find_change(stream, WORK);
    hw_event_record change = stream->records[at];
    const size_t own = find(stream, HW_EVENT_CREDIT, at, false);
    const size_t to = early ? find(stream, HW_EVENT_CREDIT, at, true) : find(stream, HW_EVENT_CREDIT, own + 1, false);
    stream->records[early ? to : own].digest += early ? difference(&change) : -difference(&change);
    change.clock = stream->records[to].clock;
    if (early)
        memmove(&stream->records[to + 1], &stream->records[to], (at - to) * sizeof change);
    else
        memmove(&stream->records[at], &stream->records[at + 1], (to - 1 - at) * sizeof change);
    stream->records[early ? to : to - 1] = change;
}

/* Leaves a block's first change of work out; `whole`: also what its credits say. */
static void leave_out(hw_stream *stream, bool whole)
{
    const size_t at = find_change(stream, WORK);
    const uint64_t left = difference(&stream->records[at]);
    hw_event_record *r = &stream->records[at];
    *r = (hw_event_record){.kind = HW_EVENT_WAIT, .actor = r->actor, .epoch = r->epoch, .clock = r->clock};
    for (size_t i = at; whole && i < stream->count; i++)
        if (stream->records[i].kind == HW_EVENT_CREDIT)
            stream->records[i].digest -= left;
}

typedef enum wrong { NOTHING, LATE, EARLY, ON_ONE_BLOCK, WITHOUT_RECORD, EARLY_EVERYWHERE, OTHER_SHARE, WRONGS } wrong;

/* Makes one thing wrong. Returns the rule that is violated. */
static hw_rule make_wrong(hw_history *history, wrong what)
{
    hw_stream *stream = stream_of(history, 1);
    switch (what) {
    case LATE: shift(stream, false); return HW_RULE_ORDER;
    case EARLY: shift(stream, true); return HW_RULE_ORDER;
    case ON_ONE_BLOCK:
        for (uint32_t b = 0; b < BLOCKS; b += 2)
            leave_out(stream_of(history, b), true);
        return HW_RULE_ORDER;
    case WITHOUT_RECORD: leave_out(stream, false); return HW_RULE_VALUE;
    case OTHER_SHARE: stream->records[find_change(stream, SHARE)].last ^= 1; return HW_RULE_VALUE;
    case EARLY_EVERYWHERE:
        for (uint32_t b = 0; b < BLOCKS; b++) {
            stream = stream_of(history, b);
            const size_t at = find_change(stream, WORK);
            stream->records[at].clock--;
            stream->records[find(stream, HW_EVENT_CREDIT, at, false)].clock--;
        }
        return HW_RULE_ORDER;
    case NOTHING:
    case WRONGS: break;
    }
    return HW_RULES;
}

static void changes_in_flight_are_checked(void **state)
{
    (void)state;
    const hawser_sync syncs[] = {hawser_bsp(), hawser_ssp(1), hawser_ssp(3)};
    for (uint64_t seed = 1; seed <= RUNS; seed++)
        for (int what = 0; what < WRONGS; what++) {
            hw_history history = {0};
            hw_verdict verdict = {0};
            hawser_error error = {0};
            record(syncs[seed % 3], syncs[(seed + 1) % 3], seed, &history, &verdict);
            if (verdict.broken)
                fail_msg("%s", verdict.text);
            const hw_rule rule = make_wrong(&history, (wrong)what);
            assert_int_equal(hw_history_check(&history, &verdict, &error), HAWSER_OK);
            if (verdict.broken != (what != NOTHING) || (verdict.broken && verdict.rule != rule))
                fail_msg("seed %d, fault %d: %s", (int)seed, what, verdict.broken ? verdict.text : "accepted");
            hw_history_free(&history);
        }
}

/* Each block has each change once, before a credit, and the values before and after are those of the calls. */
static void every_block_has_each_change(void **state)
{
    (void)state;
    hw_history history = {0};
    hw_verdict verdict = {0};
    record(hawser_bsp(), hawser_ssp(2), 1, &history, &verdict);
    const double wanted[] = {1, 4, 2};
    for (uint32_t b = 0; b < BLOCKS; b++) {
        const hw_stream *stream = stream_of(&history, b);
        size_t works = 0, shares = 0, others = 0;
        for (size_t i = 0; i < stream->count; i++) {
            const hw_event_record *r = &stream->records[i];
            if (r->kind != HW_EVENT_CHANGED)
                continue;
            shares += r->part == SHARE;
            others += r->part > SHARE;
            if (r->part != WORK)
                continue;
            assert_memory_equal(&r->first, &wanted[works], sizeof r->first);
            assert_memory_equal(&r->last, &wanted[works + 1], sizeof r->last);
            works++;
        }
        assert_int_equal(works, 2);
        assert_int_equal(others, 3); /* two of the gain, one of the quota */
        assert_int_equal(shares, b == 1);
    }
    hw_history_free(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_block_has_each_change),
        cmocka_unit_test(changes_in_flight_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
