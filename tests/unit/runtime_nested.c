/* Loops inside of loops under SSP and TAP, and branches under SSP: what units see, by which clock they count, when branches
 * are chosen and by which metrics, and that nodes agree on the length of each loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "history_memory.h"
#include "nodes.h"

enum { BLOCKS = 4, CLOCKS = 20, ROUNDS = 3, EACH = ROUNDS + 1, CALLS = CLOCKS * ROUNDS };

typedef struct scene {
    hawser_sync outer, inner;
    uint64_t rounds;
    bool changes; /* the loop's sync changes */
    uint64_t random[BLOCKS][CALLS];
} scene;

/* Returns by how many clocks a sync lets a block be late. */
static uint64_t slack_of(hawser_sync sync)
{
    return sync.tightness == HAWSER_BSP ? 0 : sync.tightness == HAWSER_SSP ? sync.staleness : CLOCKS;
}

/* Entry b of the state counts the updates of block b. Each must be seen up to step `step` of clock - s, and none of a clock
 * after clock + s. */
static hawser_status check_counts(hawser_context *context, const double *counts, uint64_t clock, uint64_t step,
                                  uint64_t slack)
{
    const scene *s = hawser_user(context);
    uint64_t least = clock >= slack ? (clock - slack) * EACH + step : 0, most = (clock + slack_of(s->outer) + 1) * EACH;
    for (uint32_t b = 0; b < hawser_blocks(context); b++)
        if (counts[b] < (double)least || (!s->changes && counts[b] > (double)most))
            return hawser_unit_fail(context, HAWSER_INTERNAL, "block %u sees %g updates of block %u, not %llu to %llu",
                                    hawser_block(context), counts[b], b, (unsigned long long)least,
                                    (unsigned long long)most);
    if (counts[hawser_block(context)] != (double)(clock * EACH + step))
        return hawser_unit_fail(context, HAWSER_INTERNAL, "%g own updates are seen, not %llu", counts[hawser_block(context)],
                                (unsigned long long)(clock * EACH + step));
    return HAWSER_OK;
}

/* A unit of the inner loop, whose clock is that loop's own. */
static hawser_status turn(hawser_context *context)
{
    scene *s = hawser_user(context);
    HAWSER_WRITE(context, double, calls);
    HAWSER_WRITE(context, double, counts);
    uint64_t call = (uint64_t)calls[0], round = call % ROUNDS;
    uint64_t slack = s->changes ? CLOCKS : slack_of(s->inner.tightness == HAWSER_BSP ? s->inner : s->outer);
    s->random[hawser_block(context)][call] = hawser_random(context);
    if (hawser_clock(context) != round)
        return hawser_unit_fail(context, HAWSER_INTERNAL, "the inner clock is %llu, not %llu",
                                (unsigned long long)hawser_clock(context), (unsigned long long)round);
    HAWSER_TRY(check_counts(context, counts, call / ROUNDS, round, slack));
    counts[hawser_block(context)] += 1;
    calls[0] += 1;
    return HAWSER_OK;
}

/* A unit behind the inner loop, whose clock is the outer loop's. */
static hawser_status after(hawser_context *context)
{
    const scene *s = hawser_user(context);
    HAWSER_WRITE(context, double, counts);
    HAWSER_TRY(check_counts(context, counts, hawser_clock(context), ROUNDS, s->changes ? CLOCKS : slack_of(s->outer)));
    counts[hawser_block(context)] += 1;
    return HAWSER_OK;
}

/* Changes the policy of the loop twice in a run. */
static bool change(hawser_progress *progress, void *user)
{
    const scene *s = user;
    uint64_t clock = hawser_progress_clock(progress);
    if (s->changes && clock == 4)
        hawser_progress_sync(progress, "outer", hawser_bsp());
    if (s->changes && clock == 9)
        hawser_progress_sync(progress, "outer", hawser_tap());
    return false;
}

static hawser_program *program_of(scene *s)
{
    const hawser_until until = {.clocks = CLOCKS, .test = s->changes ? change : NULL, .user = s};
    hawser_program *program = hawser_program_new("nest", s);
    hawser_state *counts = HAWSER_STATE(program, "counts", HAWSER_REPLICATED, .rows = BLOCKS);
    hawser_state *calls = HAWSER_STATE(program, "calls", HAWSER_LOCAL, .each = true, .rows = 1);
    hawser_operator *outer = hawser_loop(hawser_root(program), "outer", until, s->outer);
    hawser_operator *inner = hawser_loop(hawser_sequence(outer), "inner", (hawser_until){.clocks = s->rounds}, s->inner);
    HAWSER_UNIT(inner, "turn", turn, .updates = {counts, calls});
    HAWSER_UNIT(outer, "after", after, .updates = {counts});
    return program;
}

static void run_on_node(test_node *node)
{
    scene *s = node->user;
    hawser_program *program = program_of(s);
    hawser_run *run = NULL;
    node->status = hawser_run_program(node->job, program, &run, &node->error);
    for (uint32_t b = 0; node->status == HAWSER_OK && b < BLOCKS; b++)
        if (RESULT(double, run, "counts", NULL)[b] != CLOCKS * EACH)
            node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "block %u has made %g updates", b,
                                       RESULT(double, run, "counts", NULL)[b]);
    hawser_run_free(run);
    hawser_program_free(program);
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void run_scene(scene s, uint32_t nodes, const char *topology)
{
    const char *const pairs[] = {"workers", "4", "check", "yes", "timeout", "60", "topology", topology, NULL};
    const char *const alone[] = {"workers", "4", "threads", "3", "check", "yes", "timeout", "60", NULL};
    test_node all[NODES_MOST];
    s.rounds = ROUNDS;
    run_nodes(all, nodes, nodes > 1 ? pairs : alone, run_on_node, &s);
    check_all(all, nodes, "nested loops");
    qsort(s.random, (size_t)BLOCKS * CALLS, sizeof s.random[0][0], by_number);
    for (size_t i = 1; i < (size_t)BLOCKS * CALLS; i++)
        assert_true(s.random[0][0] != s.random[i / CALLS][i % CALLS] &&
                    s.random[(i - 1) / CALLS][(i - 1) % CALLS] != s.random[i / CALLS][i % CALLS]);
}

static void units_see_what_both_loops_promise(void **state)
{
    (void)state;
    const hawser_sync outers[] = {hawser_ssp(1), hawser_ssp(2), hawser_tap()};
    static const char *const topologies[] = {"all", "tree", "servers:1"};
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t nodes = 1; nodes <= 3; nodes++) {
            run_scene((scene){.outer = outers[i], .inner = outers[i]}, nodes, topologies[nodes - 1]);
            run_scene((scene){.outer = outers[i], .inner = hawser_bsp()}, nodes, topologies[(nodes + i) % 3]);
        }
}

static void the_sync_of_the_outer_loop_changes(void **state)
{
    (void)state;
    for (uint32_t nodes = 1; nodes <= 2; nodes++)
        run_scene((scene){.outer = hawser_ssp(1), .inner = hawser_ssp(1), .changes = true}, nodes, "all");
}

static void run_another_length(test_node *node)
{
    scene s = *(scene *)node->user;
    s.rounds += node->node;
    hawser_program *program = program_of(&s);
    hawser_run *run = NULL;
    node->status = hawser_run_program(node->job, program, &run, &node->error);
    hawser_run_free(run);
    hawser_program_free(program);
}

static void lengths_that_differ_between_nodes_are_refused(void **state)
{
    (void)state;
    static const char *const pairs[] = {"workers", "4", "timeout", "60", NULL};
    test_node all[NODES_MOST];
    scene s = {.outer = hawser_ssp(1), .inner = hawser_bsp(), .rounds = ROUNDS};
    run_nodes(all, 2, pairs, run_another_length, &s);
    assert_int_equal(all[0].status, HAWSER_BAD_PROGRAM);
    if (strstr(all[0].error.text, "4 clocks under bsp in loop 'outer'") == NULL)
        fail_msg("%s", all[0].error.text);
}

/* --------------------------------------------------------------------------------------------------------- branches ---- */

/* What the test of a branch has seen, on the node of the driver. */
typedef struct fork {
    hawser_sync sync;
    bool changes;             /* the loop's sync changes to bsp */
    uint64_t before, changed; /* the clock of the last choice; the clock for which the loop's sync was changed */
    uint64_t asked[2];        /* how often each test was called */
    const char *wrong;
} fork_scene;

/* Chooses by the clock, and checks that the metrics are those of clock t - W: the clock itself, which each block reports. */
static bool choose(hawser_progress *progress, void *user)
{
    fork_scene *f = user;
    uint64_t clock = hawser_progress_clock(progress), window = slack_of(f->sync) + 1;
    double metric = hawser_progress_metric(progress, "clock");
    if (f->changed > 0 && clock >= f->changed)
        window = 1;
    bool anew = f->changed > 0 && clock <= f->before; /* a clock that no block has begun when the sync changes */
    if (clock != (f->asked[0] == 0 ? 0 : f->before + 1) && !anew)
        f->wrong = "a clock was left out";
    if (clock < window ? metric == metric : metric != (double)(clock - window))
        f->wrong = f->changes ? f->wrong : "the metrics are not those of clock t - W";
    if (f->changed > 0 && clock > f->changed + 1 && metric != (double)(clock - 1))
        f->wrong = "the metrics under bsp are not those of the clock before";
    uint64_t *calls = hawser_progress_memory(progress); /* one for each clock before, also if some were chosen twice */
    if ((*calls)++ != clock)
        f->wrong = "the memory of the test is not that of the clock";
    f->before = clock;
    f->asked[0]++;
    return clock % 3 != 0;
}

/* The branch inside the first: it is asked only where the first is true. */
static bool choose_again(hawser_progress *progress, void *user)
{
    fork_scene *f = user;
    uint64_t clock = hawser_progress_clock(progress);
    if (clock % 3 == 0 || strcmp(hawser_progress_loop(progress), "again") != 0)
        f->wrong = "the inner branch was asked where the outer one is false";
    uint64_t *calls = hawser_progress_memory(progress);
    if ((*calls)++ != clock - (clock + 2) / 3)
        f->wrong = "the memory of the inner test is not that of the clock";
    f->asked[1]++;
    return clock % 2 == 0;
}

static bool change_at_seven(hawser_progress *progress, void *user)
{
    fork_scene *f = user;
    if (f->changes && hawser_progress_clock(progress) == 7) {
        hawser_progress_sync(progress, "outer", hawser_bsp());
        f->changed = 7 + slack_of(f->sync) + 2;
    }
    return false;
}

static hawser_status count_in(hawser_context *context, const char *state, bool due)
{
    if (!due)
        return hawser_unit_fail(context, HAWSER_INTERNAL, "%s runs in clock %llu", state,
                                (unsigned long long)hawser_clock(context));
    double *counts;
    HAWSER_TRY(hawser_write(context, state, &counts));
    counts[hawser_block(context)] += 1;
    return HAWSER_OK;
}

static hawser_status always_runs(hawser_context *context)
{
    HAWSER_TRY(hawser_report(context, "clock", (double)hawser_clock(context)));
    return count_in(context, "all", true);
}

static hawser_status even_runs(hawser_context *context)
{
    uint64_t clock = hawser_clock(context);
    return count_in(context, "even", clock % 3 != 0 && clock % 2 == 0);
}

static hawser_status odd_runs(hawser_context *context)
{
    uint64_t clock = hawser_clock(context);
    return count_in(context, "odd", clock % 3 != 0 && clock % 2 != 0);
}

/* Runs twice in a clock, in an inner loop. */
static hawser_status third_runs(hawser_context *context)
{
    return count_in(context, "third", true);
}

static hawser_program *forked(fork_scene *f)
{
    static const char *const names[] = {"all", "even", "odd", "third"};
    const hawser_until until = {.clocks = CLOCKS, .test = f->changes ? change_at_seven : NULL, .user = f};
    hawser_program *program = hawser_program_new("forked", f);
    hawser_state *states[4];
    for (int i = 0; i < 4; i++)
        states[i] = HAWSER_STATE(program, names[i], HAWSER_REPLICATED, .rows = BLOCKS);
    hawser_metric_declare(program, "clock", HAWSER_MIN);
    hawser_operator *outer = hawser_loop(hawser_root(program), "outer", until, f->sync);
    HAWSER_UNIT(outer, "always", always_runs, .updates = {states[0]});
    hawser_operator *fork = hawser_branch(hawser_sequence(outer), "fork", choose, f);
    hawser_operator *again = hawser_branch(fork, "again", choose_again, f);
    hawser_branch_remembers(fork, sizeof(uint64_t));
    hawser_branch_remembers(again, sizeof(uint64_t));
    HAWSER_UNIT(again, "even", even_runs, .reads = {states[0]}, .updates = {states[1]});
    HAWSER_UNIT(again, "odd", odd_runs, .reads = {states[0]}, .updates = {states[2]});
    hawser_operator *twice = hawser_loop(fork, "twice", (hawser_until){.clocks = 2}, hawser_bsp());
    HAWSER_UNIT(twice, "third", third_runs, .updates = {states[3]});
    return program;
}

static void run_forked(test_node *node)
{
    static const char *const names[] = {"all", "even", "odd", "third"};
    double wanted[4] = {CLOCKS};
    fork_scene own = *(fork_scene *)node->user;
    hawser_program *program = forked(&own);
    hawser_run *run = NULL;
    node->status = hawser_run_program(node->job, program, &run, &node->error);
    for (int clock = 0; clock < CLOCKS; clock++)
        wanted[clock % 3 == 0 ? 3 : 1 + clock % 2] += clock % 3 == 0 ? 2 : 1;
    for (uint32_t i = 0; node->status == HAWSER_OK && i < 4 * BLOCKS; i++) {
        double got = RESULT(double, run, names[i / BLOCKS], NULL)[i % BLOCKS];
        if (got != wanted[i / BLOCKS])
            node->status =
                hawser_fail(&node->error, HAWSER_INTERNAL, "'%s' of block %u is %g", names[i / BLOCKS], i % BLOCKS, got);
    }
    if (node->status == HAWSER_OK && own.wrong != NULL)
        node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "%s", own.wrong);
    if (node->status == HAWSER_OK && node->node == 0 && own.asked[0] != CLOCKS && !own.changes)
        node->status =
            hawser_fail(&node->error, HAWSER_INTERNAL, "the test was called %llu times", (unsigned long long)own.asked[0]);
    hawser_run_free(run);
    hawser_program_free(program);
}

static void branches_are_chosen_by_older_metrics(void **state)
{
    (void)state;
    static const char *const topologies[] = {"all", "tree", "servers:1"};
    for (uint32_t s = 1; s <= 3; s++)
        for (uint32_t nodes = 1; nodes <= 3; nodes++)
            for (int changes = 0; changes < 2; changes++) {
                const char *const pairs[] = {"workers", "4",        "check",           "yes", "timeout",
                                             "60",      "topology", topologies[s - 1], NULL};
                const char *const alone[] = {"workers", "4", "threads", "3", "check", "yes", "timeout", "60", NULL};
                test_node all[NODES_MOST];
                fork_scene f = {.sync = hawser_ssp(s), .changes = changes != 0};
                run_nodes(all, nodes, nodes > 1 ? pairs : alone, run_forked, &f);
                check_all(all, nodes, "branches");
            }
}

/* Returns the n-th record of a kind in a block's stream. */
static hw_event_record *record_of(hw_history *history, uint32_t block, hw_event_kind kind, uint32_t n)
{
    for (size_t s = 0; s < history->count; s++)
        for (size_t i = 0; history->streams[s].name.kind == HW_STREAM_BLOCK && i < history->streams[s].count; i++) {
            hw_event_record *r = &history->streams[s].records[i];
            if (history->streams[s].name.number == block && r->kind == kind && n-- == 0)
                return r;
        }
    fail_msg("block %u has no such record", block);
    return NULL;
}

/* Changes one thing in the choices of a history. */
static void make_wrong(hw_history *history, int what)
{
    hw_event_record *r = record_of(history, 1, HW_EVENT_CHOSEN, 4);
    switch (what) {
    case 0: r->first ^= 1; break; /* another choice than that of the others */
    case 1: r->last ^= 1; break;  /* other stages */
    case 2: r->clock++; break;    /* a choice for another clock */
    case 3:                       /* no choice */
        *r = (hw_event_record){.kind = HW_EVENT_WAIT, .actor = r->actor, .epoch = r->epoch, .clock = r->clock};
        break;
    case 4: record_of(history, 1, HW_EVENT_CREDIT, 0)->count = 0; break; /* no credit for it */
    default: /* all say that nothing runs, but the first stage does */
        for (uint32_t b = 0; b < BLOCKS; b++)
            record_of(history, b, HW_EVENT_CHOSEN, 4)->last = 0;
    }
}

/* Histories have the choices, and the checker refuses those that blocks cannot have made. */
static void histories_hold_choices(void **state)
{
    (void)state;
    char path[40];
    int file = history_file(path, sizeof path);
    for (int what = -1; what < 6; what++) {
        const char *const pairs[] = {"workers", "4", "check", "yes", "timeout", "60", "record-history", path, NULL};
        test_job test = open_job(pairs);
        hw_job_use_fibers(test.job, (uint64_t)(what + 2));
        fork_scene f = {.sync = hawser_ssp(2)};
        hawser_program *program = forked(&f);
        hawser_run *run = NULL;
        hawser_error error = {0};
        if (hawser_run_program(test.job, program, &run, &error) != HAWSER_OK)
            fail_msg("%s", error.text);
        hawser_run_free(run);
        hawser_program_free(program);
        close_job(test);
        hw_history history = {0};
        hw_verdict verdict = {0};
        check_history_file(file, &history, &verdict);
        if (verdict.broken)
            fail_msg("%s", verdict.text);
        if (what >= 0) {
            make_wrong(&history, what);
            assert_int_equal(hw_history_check(&history, &verdict, &error), HAWSER_OK);
            assert_true(verdict.broken && verdict.rule == (what == 4 ? HW_RULE_CREDIT : HW_RULE_ORDER));
        }
        hw_history_free(&history);
    }
}

static bool change_the_sync(hawser_progress *progress, void *user)
{
    hawser_progress_sync(progress, "outer", *(const hawser_sync *)user);
    return false;
}

static void visit_nothing(hawser_record *record, void *object)
{
    (void)record;
    (void)object;
}

/* Runs a loop with a branch, whose sync a test changes. */
static void refuse_change(hawser_sync sync, bool shares, const char *text)
{
    test_job test = OPEN_JOB("workers", "2", "timeout", "60");
    fork_scene f = {.sync = hawser_ssp(1)};
    hawser_program *program = hawser_program_new("forked", &f);
    hawser_state *all = HAWSER_STATE(program, "third", HAWSER_REPLICATED, .rows = BLOCKS);
    const hawser_until until = {.clocks = CLOCKS, .test = change_the_sync, .user = &sync};
    hawser_operator *fork = hawser_branch(hawser_loop(hawser_root(program), "outer", until, f.sync), "fork", choose, &f);
    hawser_branch_remembers(fork, sizeof(uint64_t));
    hawser_tests_record(program, shares ? visit_nothing : NULL, NULL);
    HAWSER_UNIT(fork, "third", third_runs, .updates = {all});
    hawser_run *run = NULL;
    hawser_error error = {0};
    assert_int_equal(hawser_run_program(test.job, program, &run, &error), HAWSER_BAD_PROGRAM);
    if (strstr(error.text, text) == NULL)
        fail_msg("%s", error.text);
    hawser_program_free(program);
    close_job(test);
}

static void some_changes_of_a_loop_with_branches_are_refused(void **state)
{
    (void)state;
    refuse_change(hawser_tap(), false, "loop 'outer' has branches, so it can only be bsp, or ssp up to ssp:1000");
    refuse_change(hawser_bsp(), true, "loop 'outer' has branches, which would be chosen again, but what tests have in");
}

/* ------------------------------------------------------------------------------------------------------ staleness 0 ---- */

typedef struct zero_scene {
    hawser_sync outer, inner;
    double sums[BLOCKS]; /* the result of node 0 */
} zero_scene;

/* Adds to an entry that all blocks add to. The bits depend on the order of additions, and on all that was added before. */
static hawser_status add_fraction(hawser_context *context, uint64_t step)
{
    HAWSER_WRITE(context, double, sums);
    double all = 0.0;
    for (uint32_t b = 0; b < BLOCKS; b++)
        all += sums[b];
    sums[(hawser_clock(context) + step) % BLOCKS] += 1.0 / (3.0 + all + hawser_block(context));
    return hawser_report(context, "all", all);
}

static hawser_status add_inside(hawser_context *context)
{
    return add_fraction(context, 0);
}

static hawser_status add_behind(hawser_context *context)
{
    return add_fraction(context, 1);
}

/* Chooses by the last digit of a metric of the clock before. */
static bool choose_by_metric(hawser_progress *progress, void *user)
{
    double all = hawser_progress_metric(progress, "all");
    (void)user;
    return all == all && (uint64_t)(all * 1e6) % 2 == 0;
}

static void run_zero(test_node *node)
{
    zero_scene *s = node->user;
    hawser_program *program = hawser_program_new("zero", NULL);
    hawser_state *sums = HAWSER_STATE(program, "sums", HAWSER_REPLICATED, .rows = BLOCKS);
    hawser_run *run = NULL;
    hawser_metric_declare(program, "all", HAWSER_SUM);
    hawser_operator *outer = hawser_loop(hawser_root(program), "outer", (hawser_until){.clocks = CLOCKS}, s->outer);
    hawser_operator *inner = hawser_loop(hawser_sequence(outer), "inner", (hawser_until){.clocks = ROUNDS}, s->inner);
    HAWSER_UNIT(inner, "inside", add_inside, .updates = {sums});
    hawser_operator *fork = hawser_branch(outer, "fork", choose_by_metric, NULL);
    HAWSER_UNIT(fork, "yes", add_behind, .updates = {sums});
    HAWSER_UNIT(hawser_loop(fork, "twice", (hawser_until){.clocks = 2}, s->inner), "no", add_behind, .updates = {sums});
    node->status = hawser_run_program(node->job, program, &run, &node->error);
    if (node->status == HAWSER_OK && node->node == 0)
        memcpy(s->sums, RESULT(double, run, "sums", NULL), sizeof s->sums);
    hawser_run_free(run);
    hawser_program_free(program);
}

/* SSP with staleness 0 has the bits of BSP, in loops of loops and by the choices of branches too. */
static void staleness_zero_has_the_bits_of_bsp(void **state)
{
    (void)state;
    const zero_scene cases[] = {{.outer = hawser_bsp(), .inner = hawser_bsp()},
                                {.outer = hawser_ssp(0), .inner = hawser_ssp(0)},
                                {.outer = hawser_ssp(0), .inner = hawser_bsp()},
                                {.outer = hawser_bsp(), .inner = hawser_ssp(0)}};
    double wanted[BLOCKS] = {0};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (uint32_t nodes = 1; nodes <= 3; nodes++) {
            const char *const pairs[] = {"workers", "4", "check", "yes", "timeout", "60", NULL};
            test_node all[NODES_MOST];
            zero_scene s = cases[c];
            run_nodes(all, nodes, pairs, run_zero, &s);
            check_all(all, nodes, "staleness 0");
            if (c == 0 && nodes == 1)
                memcpy(wanted, s.sums, sizeof wanted);
            assert_memory_equal(s.sums, wanted, sizeof wanted);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_see_what_both_loops_promise),
        cmocka_unit_test(the_sync_of_the_outer_loop_changes),
        cmocka_unit_test(branches_are_chosen_by_older_metrics),
        cmocka_unit_test(staleness_zero_has_the_bits_of_bsp),
        cmocka_unit_test(histories_hold_choices),
        cmocka_unit_test(some_changes_of_a_loop_with_branches_are_refused),
        cmocka_unit_test(lengths_that_differ_between_nodes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
