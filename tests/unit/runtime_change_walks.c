/*
 * Schedules of a change in flight: a stop test changes the work of a loop, the share of a block and the sync while blocks
 * run clocks that were announced before. In every schedule all blocks have the new work from the clock that the figures
 * name, which is the first one that was not announced; each clock reads what its own sync allows; the history holds. Then
 * messages with changes are altered, and the walk has to notice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hawser/advanced.h"
#include "history_memory.h"
#include "sanitized.h"
#include "schedules.h"

enum { BLOCKS_MOST = RUNNERS_MOST - 1, CLOCKS_MOST = 8, CHANGES_MOST = 8 };

typedef struct change_case {
    const char *name;
    uint32_t blocks;
    hawser_sync from, to; /* the sync at the begin, and the one that the test asks for; equal: it stays */
    uint64_t asked;       /* behind this clock the test asks for all changes, */
    uint64_t stop_at;     /* and behind this one it ends the loop */
    double work;          /* that it asks for; 1: none */
    double share;         /* of block 1; 1: none */
    bool interrupts;      /* block 0 asks for the end in the clock behind `asked` */
    uint32_t delays;      /* bounds the walk; 0: all schedules */
    bool is_long;
} change_case;

/* A run, what its units saw and what came of it. */
typedef struct trial {
    const change_case *c;
    hawser_job *job;
    double works[BLOCKS_MOST][CLOCKS_MOST];
    double lags[BLOCKS_MOST][CLOCKS_MOST], leads[BLOCKS_MOST][CLOCKS_MOST]; /* the largest ones that were read */
    hawser_status status;
    hawser_error error;
    double sums[BLOCKS_MOST + 1]; /* clocks by block, and all work */
    uint64_t clocks;
    hawser_policy_change changes[CHANGES_MOST];
    size_t change_count;
    hw_verdict verdict;
} trial;

/* Number b of "w" counts the clocks of block b, and the last one the work of all. */
static hawser_status work(hawser_context *context)
{
    trial *t = hawser_user(context);
    const uint32_t own = hawser_block(context), blocks = hawser_blocks(context);
    const uint64_t clock = hawser_clock(context);
    HAWSER_WRITE(context, double, w);
    assert_true(clock < CLOCKS_MOST);
    t->works[own][clock] = hawser_work(context);
    for (uint32_t b = 0; b < blocks; b++) {
        t->lags[own][clock] = fmax(t->lags[own][clock], (double)clock - w[b]);
        t->leads[own][clock] = fmax(t->leads[own][clock], w[b] - (double)clock);
    }
    if (t->c->interrupts && own == 0 && clock == t->c->asked + 1)
        hawser_interrupt(t->job);
    w[own] += 1;
    w[blocks] += hawser_work(context);
    return HAWSER_OK;
}

static bool is_same(hawser_sync a, hawser_sync b)
{
    return a.tightness == b.tightness && a.staleness == b.staleness;
}

static bool ask_for_changes(hawser_progress *progress, void *user)
{
    const trial *t = user;
    const change_case *c = t->c;
    if (hawser_progress_clock(progress) == c->asked) {
        hawser_progress_work(progress, "loop", c->work);
        hawser_progress_share(progress, "loop", 1, c->share);
        if (!is_same(c->from, c->to))
            hawser_progress_sync(progress, "loop", c->to);
    }
    return hawser_progress_clock(progress) >= c->stop_at;
}

static hawser_program *program_of(trial *t)
{
    hawser_program *program = hawser_program_new("changing", t);
    hawser_state *w = HAWSER_STATE(program, "w", HAWSER_REPLICATED, .rows = t->c->blocks + 1);
    hawser_operator *loop =
        hawser_loop(hawser_root(program), "loop", (hawser_until){.test = ask_for_changes, .user = t}, t->c->from);
    HAWSER_UNIT(loop, "work", work, .updates = {w});
    HAWSER_ADAPT(program, .loop = loop, .work_least = 0.25, .work_most = 4, .shares = true);
    return program;
}

static void keep_run(trial *t, const hawser_run *run)
{
    size_t count;
    const hawser_figures *figures = hawser_run_figures(run);
    const double *w = RESULT(double, run, "w", &count);
    assert_int_equal(count, t->c->blocks + 1);
    memcpy(t->sums, w, count * sizeof *w);
    t->clocks = figures->clocks;
    assert_true(figures->change_count <= CHANGES_MOST);
    t->change_count = figures->change_count;
    if (t->change_count > 0)
        memcpy(t->changes, figures->changes, t->change_count * sizeof *t->changes);
}

static void run_one(walk *made, trial *t)
{
    char path[40], workers[8];
    hw_history history = {0};
    hawser_run *run = NULL;
    const int file = history_file(path, sizeof path);
    (void)snprintf(workers, sizeof workers, "%u", t->c->blocks);
    test_job test = OPEN_JOB("workers", workers, "check", "yes", "timeout", "5", "record-history", path);
    hawser_program *program = program_of(t);
    t->job = test.job;
    begin_run(made, test.job);
    t->status = hawser_run_program(test.job, program, &run, &t->error);
    if (run != NULL)
        keep_run(t, run);
    hawser_run_free(run);
    hawser_program_free(program);
    close_job(test);
    check_history_file(file, &history, &t->verdict);
    hw_history_free(&history);
}

/* ----------------------------------------------------------------------------------------------------------- faults ---- */

/* What the changes in the figures say of a clock. */
typedef struct setting {
    double work, share; /* the share of block 1 */
    hawser_sync sync;
} setting;

static setting setting_of(const trial *t, uint64_t clock)
{
    setting s = {1, 1, t->c->from};
    for (size_t i = 0; i < t->change_count; i++) {
        const hawser_policy_change *change = &t->changes[i];
        if (change->clock > clock)
            continue;
        if (change->work[1] > 0)
            s.work = change->work[1];
        else if (change->share[1] > 0)
            s.share = change->share[1];
        else
            s.sync = change->sync[1];
    }
    return s;
}

/* Returns what is wrong with what blocks had and read in a clock; NULL: nothing. */
static const char *fault_in(const trial *t, uint64_t clock)
{
    const setting s = setting_of(t, clock);
    const double slack = s.sync.tightness == HAWSER_BSP ? 0 : s.sync.staleness;
    const double lead = s.sync.tightness == HAWSER_BSP ? 0 : s.sync.staleness + 1.0;
    for (uint32_t b = 0; b < t->c->blocks; b++) {
        const double expected = s.work * (b == 1 ? s.share : 1);
        if (t->works[b][clock] < expected || t->works[b][clock] > expected)
            return "a block had other work than its clock";
        if (t->lags[b][clock] > slack)
            return "something read is older than the sync of its clock allows";
        if (t->leads[b][clock] > lead)
            return "something read is newer than the sync of its clock allows";
    }
    return NULL;
}

/* Returns whether the changes that were asked for hold from where they have to: each once, from the first clock that was not
 * announced. With a new sync that is the first one that no block had begun. */
static bool changes_are_right(const trial *t)
{
    const change_case *c = t->c;
    const bool syncs = !is_same(c->from, c->to);
    const size_t expected = (c->work > 1) + (c->share < 1) + syncs;
    const uint64_t window = c->from.tightness == HAWSER_BSP ? 1 : c->from.staleness + 1;
    if (t->status == HAWSER_STOP && t->change_count == 0)
        return true; /* it ended before a clock that was not announced */
    for (size_t i = 0; i < t->change_count; i++) {
        const uint64_t clock = t->changes[i].clock, last = c->asked + window;
        if (clock <= c->asked || clock > last || (!syncs && clock != last) || clock != t->changes[0].clock)
            return false;
    }
    return t->change_count == expected;
}

static const char *fault_of(const trial *t)
{
    double all = 0;
    if (t->verdict.broken)
        return hw_rule_name(t->verdict.rule);
    if (t->status != (t->c->interrupts ? HAWSER_STOP : HAWSER_OK))
        return hawser_status_name(t->status);
    for (uint64_t clock = 0; clock < t->clocks; clock++) {
        const char *fault = fault_in(t, clock);
        if (fault != NULL)
            return fault;
        for (uint32_t b = 0; b < t->c->blocks; b++)
            all += t->works[b][clock];
    }
    for (uint32_t b = 0; b < t->c->blocks; b++)
        if (t->sums[b] < (double)t->clocks || t->sums[b] > (double)t->clocks)
            return "a clock was lost, or counted twice";
    if (t->sums[t->c->blocks] < all || t->sums[t->c->blocks] > all)
        return "the work of all is not that of their clocks";
    return changes_are_right(t) ? NULL : "a change holds from another clock";
}

/* What a walk has come across: the largest lag and lead behind the change, and the first fault, which ends it. */
typedef struct found {
    double lag, lead;
    const char *fault;
} found;

static found walk_all(walk *made, const change_case *c)
{
    static trial t;
    found f = {0};
    do {
        t = (trial){.c = c};
        run_one(made, &t);
        f.fault = fault_of(&t);
        for (uint32_t b = 0; b < c->blocks; b++)
            for (uint64_t clock = t.change_count > 0 ? t.changes[0].clock : CLOCKS_MOST; clock < CLOCKS_MOST; clock++) {
                f.lag = fmax(f.lag, t.lags[b][clock]);
                f.lead = fmax(f.lead, t.leads[b][clock]);
            }
    } while (f.fault == NULL && another_run(made));
    return f;
}

static walk *new_walk(const change_case *c)
{
    walk *made = calloc(1, sizeof *made);
    assert_non_null(made);
    made->delays = c->delays == 1 && runs_long() ? 2 : c->delays;
    return made;
}

static void free_walk(walk *made)
{
    free(made->classes);
    free(made);
    walking = NULL;
}

#define SSP(s)                                                                                                              \
    {                                                                                                                       \
        HAWSER_SSP, s                                                                                                       \
    }
#define BSP                                                                                                                 \
    {                                                                                                                       \
        HAWSER_BSP, 0                                                                                                       \
    }

static const change_case cases[] = {
    {"work under bsp", 2, BSP, BSP, 0, 1, .work = 2, .share = 1},
    {"work and share under bsp", 2, BSP, BSP, 1, 3, .work = 2, .share = 0.25, .delays = 2},
    {"work and share of three", 3, BSP, BSP, 0, 1, .work = 4, .share = 0.5, .delays = 1},
    {"work under ssp:1", 2, SSP(1), SSP(1), 0, 3, .work = 2, .share = 1, .delays = 2},
    {"work under ssp:1, all schedules", 2, SSP(1), SSP(1), 0, 2, .work = 2, .share = 1, .is_long = true},
    {"work and share under ssp:2", 2, SSP(2), SSP(2), 0, 4, .work = 2, .share = 0.5, .delays = 1},
    {"bsp to ssp:1 with work", 2, BSP, SSP(1), 0, 3, .work = 2, .share = 1, .delays = 2},
    {"ssp:1 to bsp with a share", 2, SSP(1), BSP, 0, 3, .work = 1, .share = 0.5, .delays = 2},
    {"ssp:2 to ssp:1", 2, SSP(2), SSP(1), 1, 4, .work = 1, .share = 1, .delays = 1},
    {"work under bsp, interrupted", 2, BSP, BSP, 0, 5, .work = 2, .share = 0.5, .interrupts = true, .delays = 2},
    {"work under ssp:1, interrupted", 2, SSP(1), SSP(1), 0, 5, .work = 2, .share = 0.5, .interrupts = true, .delays = 1},
    {"bsp to ssp:1, interrupted", 2, BSP, SSP(1), 0, 5, .work = 1, .share = 1, .interrupts = true, .delays = 1},
};

enum { DRAWN = 200 }; /* schedules of a case that a sanitizer sees */

static void a_change_in_flight_holds_from_one_clock_in_every_schedule(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const change_case *c = &cases[i];
        if (c->is_long && !runs_long())
            continue;
        const bool some = SANITIZED && !runs_long();
        walk *made = new_walk(c);
        made->exact = some;
        made->draws = some ? DRAWN : 0;
        const found f = walk_all(made, c);
        if (f.fault != NULL)
            fail_msg("%s, run %llu: %s", c->name, (unsigned long long)made->runs, f.fault);
        print_message("%s: %llu schedules\n", c->name, (unsigned long long)made->runs);
        if (!some && !c->interrupts && c->to.staleness > 0 && !(f.lag >= 1 && f.lead >= 1))
            fail_msg("%s: no schedule reads a clock late (%g) and early (%g)", c->name, f.lag, f.lead);
        free_walk(made);
    }
}

/* ------------------------------------------------------------------------------------------------- altered messages ---- */

typedef enum meddling { OLD_WORK, OLD_SHARE, LOST_CHANGE, LATE_LIMIT, OLD_SYNC, WIDE_SYNC } meddling;
static meddling meddled;

/* Gives block 1 other numbers than the others, which have the same payload. */
static hw_control *own_payload(hw_message *message)
{
    hw_message *other;
    assert_int_equal(hw_message_new((size_t)message->envelope.length, &other, NULL), HAWSER_OK);
    memcpy(other->payload, message->payload, (size_t)message->envelope.length);
    const hw_message swapped = *message;
    message->payload = other->payload;
    message->shared = other->shared;
    other->payload = swapped.payload;
    other->shared = swapped.shared;
    hw_message_free(other);
    return message->payload;
}

/* Alters the messages to block 1 that have a change. */
static bool meddle_with(hw_message *message)
{
    const double whole = 1;
    const bool trigger = message->envelope.kind == HW_MESSAGE_TRIGGER;
    if ((message->envelope.kind != HW_MESSAGE_CREDIT && !trigger) || message->envelope.destination != 1)
        return false;
    const hw_control *control = message->payload;
    if (meddled == OLD_WORK && control->work > 1)
        own_payload(message)->work = 1;
    if (meddled == OLD_SHARE)
        memcpy(&message->envelope.count, &whole, sizeof whole);
    if (meddled == LATE_LIMIT && control->work > 1 && !trigger && control->final == 0)
        own_payload(message)->limit++;
    if (meddled == OLD_SYNC && trigger && control->first_clock > 0) {
        hw_control *own = own_payload(message);
        own->tightness = HAWSER_SSP;
        own->staleness = 1;
    }
    if (meddled == WIDE_SYNC && trigger && control->first_clock > 0)
        own_payload(message)->staleness++;
    return meddled == LOST_CHANGE && control->work > 1 && !trigger;
}

static void altered_changes_are_noticed(void **state)
{
    (void)state;
    if (SANITIZED) /* schedules drawn at random need not come to what notices them */
        skip();
    static const struct {
        meddling what;
        const char *name;
        change_case c;
        const char *noticed;
    } mutants[] = {
        {OLD_WORK, "a block keeps its work", {"", 2, BSP, BSP, 0, 2, .work = 2, .share = 1, .delays = 1}, "order"},
        {OLD_WORK, "a block keeps its work", {"", 2, SSP(1), SSP(1), 0, 3, .work = 2, .share = 1, .delays = 1}, "order"},
        {OLD_SHARE,
         "a block keeps its share",
         {"", 2, BSP, BSP, 0, 2, .work = 1, .share = 0.5, .delays = 1},
         "a block had other work than its clock"},
        {LOST_CHANGE,
         "credit with a change is lost",
         {"", 2, BSP, BSP, 0, 2, .work = 2, .share = 1, .delays = 1},
         "timeout"},
        {LATE_LIMIT,
         "credit with a change is for a clock more",
         {"", 2, BSP, BSP, 0, 3, .work = 2, .share = 1, .delays = 1},
         "order"},
        {OLD_SYNC, "a block keeps ssp", {"", 2, SSP(1), BSP, 0, 3, .work = 1, .share = 1, .delays = 1}, "order"},
        {WIDE_SYNC, "a block has more staleness", {"", 2, BSP, SSP(1), 0, 4, .work = 1, .share = 1, .delays = 1}, "order"},
    };
    for (size_t i = 0; i < sizeof mutants / sizeof *mutants; i++) {
        walk *made = new_walk(&mutants[i].c);
        meddled = mutants[i].what;
        meddle = meddle_with;
        const found f = walk_all(made, &mutants[i].c);
        meddle = NULL;
        if (f.fault == NULL || strcmp(f.fault, mutants[i].noticed) != 0)
            fail_msg("%s: noticed as %s, not %s", mutants[i].name, f.fault != NULL ? f.fault : "nothing",
                     mutants[i].noticed);
        free_walk(made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_in_flight_holds_from_one_clock_in_every_schedule),
        cmocka_unit_test(altered_changes_are_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
