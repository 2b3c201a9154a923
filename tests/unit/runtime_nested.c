/* Loops inside of loops under SSP and TAP: what units see, by which clock they count, and that nodes agree on the length of each loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

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

/* Entry b of the state counts the updates of block b. Each must be seen up to step `step` of clock - s, and none of a clock after clock + s. */
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
    double *calls = hawser_local(context, "calls"), *counts = hawser_cache(context, "counts");
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
    double *counts = hawser_cache(context, "counts");
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
    hawser_state *counts = hawser_replicated_state(program, "counts", BLOCKS, 1, NULL, (hawser_rule){0});
    hawser_state *calls = hawser_block_state(program, "calls", HAWSER_F64, 1, NULL, 0);
    hawser_operator *outer = hawser_loop(hawser_root(program), "outer", until, s->outer);
    hawser_operator *inner = hawser_loop(hawser_sequence(outer), "inner", (hawser_until){.clocks = s->rounds}, s->inner);
    hawser_unit(inner, "turn", turn, NULL, HAWSER_UPDATES(counts, calls));
    hawser_unit(outer, "after", after, NULL, HAWSER_UPDATES(counts));
    return program;
}

static void run_on_node(test_node *node)
{
    scene *s = node->user;
    hawser_program *program = program_of(s);
    hawser_run *run = NULL;
    node->status = hawser_run_program(node->job, program, &run, &node->error);
    for (uint32_t b = 0; node->status == HAWSER_OK && b < BLOCKS; b++)
        if (hawser_result(run, "counts", NULL)[b] != CLOCKS * EACH)
            node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "block %u has made %g updates", b,
                                       hawser_result(run, "counts", NULL)[b]);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_see_what_both_loops_promise),
        cmocka_unit_test(the_sync_of_the_outer_loop_changes),
        cmocka_unit_test(lengths_that_differ_between_nodes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
