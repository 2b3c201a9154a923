/* Printed plans describe the run and the numbers that decided it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "runtime/job/enter.h"

static double numbers[60];
static const hawser_matrix matrix = {.rows = 5, .cols = 12, .stored = 60, .values = numbers, .stride = 5};

static hawser_status unit(hawser_context *context)
{
    (void)context;
    return HAWSER_OK;
}

/* Returns the text of a plan over `nodes` nodes, which the caller frees. Frees the program and closes the job. */
static char *plan_text(test_job test, hawser_program *program, uint32_t nodes, hawser_plan_format format)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    assert_non_null(stream);
    hawser_error error = {0};
    if ((nodes > 1 && hw_job_suppose(test.job, nodes, &error) != HAWSER_OK) ||
        hawser_plan_print(test.job, program, format, stream, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    fclose(stream);
    hawser_program_free(program);
    close_job(test);
    return text;
}

static char *print(hawser_plan_format format)
{
    test_job test = OPEN_JOB("workers", "3", "filter", "absolute", "quota", "1k", "memory-limit", "100M");
    hawser_program *program = hawser_program_new("shown", NULL);
    hawser_state *data = HAWSER_STATE(program, "A", HAWSER_DATA, .matrix = &matrix, .split = HAWSER_BY_COLUMN);
    hawser_state *v =
        HAWSER_STATE(program, "v", HAWSER_REPLICATED, .rows = 5, .gain = 9, .derive = unit, .form = HAWSER_AS_INT8);
    hawser_state *alpha = HAWSER_STATE(program, "alpha", HAWSER_LOCAL, .along = data, .tie = v);
    hawser_state *order = HAWSER_STATE(program, "order", HAWSER_REPLICATED, .rows = 4);
    HAWSER_STATE(program, "spare", HAWSER_REPLICATED, .rows = 1);
    hawser_metric_declare(program, "gap", HAWSER_SUM);
    hawser_operator *outer = hawser_loop(hawser_root(program), "outer",
                                         (hawser_until){.metric = "gap", .below = 0.01, .seconds = 9}, hawser_bsp());
    HAWSER_UNIT(outer, "plan", unit, .one = true, .updates = {order});
    hawser_operator *inner = hawser_loop(outer, "inner", (hawser_until){.clocks = 10}, hawser_ssp(2));
    HAWSER_UNIT(inner, "sweep", unit, .reads = {data, order}, .updates = {v, alpha});
    HAWSER_UNIT(hawser_root(program), "report", unit, .reads = {v});
    return plan_text(test, program, 1, format);
}

static void expect(hawser_plan_format format, const char *const *wanted)
{
    char *text = print(format);
    for (; *wanted != NULL; wanted++)
        if (strstr(text, *wanted) == NULL)
            fail_msg("'%s' is not in\n%s", *wanted, text);
    free(text);
}

static void logical_plan_has_states_and_operators(void **state)
{
    (void)state;
    expect(HAWSER_PLAN_LOGICAL,
           (const char *const[]){"A: data 5 x 12 dense f64, 60 stored, by column; created before 4, disposed after 1",
                                 "alpha: local, width 1, along A, tied to v",
                                 "spare: replicated 1 x 1, damping 1, gain 1; never",
                                 "v: replicated 5 x 1, damping 1, gain 9, derived",
                                 "loop 'outer' until 9 s or gap <= 0.01; bsp; stepped by the driver",
                                 "loop 'inner' until 10 clocks; ssp:2; shipped", "unit 'plan' on one block; updates order",
                                 "unit 'sweep' on each block; reads A, order; updates v, alpha", NULL});
}

static void physical_plan_has_placement_and_memory(void **state)
{
    (void)state;
    expect(HAWSER_PLAN_PHYSICAL,
           (const char *const[]){"3 blocks", "104857600", "largest share / mean = 1.000", "block 2: 8 to 12, 20 stored",
                                 "form: deltas", "form: values (one writer)", "only block 0 updates it",
                                 "accumulating (absolute)", "quota 1024 bytes", "at most 3 clocks",
                                 "all but what is held, and but the rounding", "deltas rounded to int8",
                                 "packed between processes; lossless", "credit window 3",
                                 "unit 'plan' on one block (block 0)", "placed with its part of A", NULL});
}

/* A body is cut where a unit reads what an earlier one updates; not for states that it leaves alone, nor for its own part of
 * a partitioned one. */
static void plans_show_stages(void **state)
{
    (void)state;
    test_job test = OPEN_JOB("workers", "3", "memory-limit", "100M");
    hawser_program *program = hawser_program_new("staged", NULL);
    hawser_state *a = HAWSER_STATE(program, "a", HAWSER_REPLICATED, .rows = 5);
    hawser_state *b = HAWSER_STATE(program, "b", HAWSER_REPLICATED, .rows = 5);
    hawser_state *p = HAWSER_STATE(program, "p", HAWSER_PARTITIONED, .rows = 9);
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 10}, hawser_ssp(2));
    HAWSER_UNIT(loop, "one", unit, .updates = {a, p});
    HAWSER_UNIT(loop, "two", unit, .updates = {b, p});
    hawser_operator *nested = hawser_sequence(hawser_sequence(loop));
    HAWSER_UNIT(nested, "three", unit, .reads = {b}, .updates = {p});
    HAWSER_UNIT(nested, "four", unit, .reads = {p});
    HAWSER_UNIT(loop, "five", unit, .updates = {a}, .sync = &(hawser_sync){HAWSER_SSP, 1});
    char *text = plan_text(test, program, 1, HAWSER_PLAN_PHYSICAL);
    static const char *const wanted[] = {"shipped to the blocks; 3 stages in a clock",
                                         "'one' on each block, stage 0",
                                         "'two' on each block, stage 0",
                                         "'three' on each block, stage 1",
                                         "'four' on each block, stage 2",
                                         "'five' on each block, stage 2, waits as under ssp:1",
                                         NULL};
    for (const char *const *line = wanted; *line != NULL; line++)
        if (strstr(text, *line) == NULL)
            fail_msg("'%s' is not in\n%s", *line, text);
    free(text);
}

/* A loop inside of a late one is a part of its clock: each of its iterations has stages of their own. */
static void plans_show_inner_loops(void **state)
{
    (void)state;
    test_job test = OPEN_JOB("workers", "3", "memory-limit", "100M");
    hawser_program *program = hawser_program_new("nested", NULL);
    hawser_state *a = HAWSER_STATE(program, "a", HAWSER_REPLICATED, .rows = 5);
    hawser_state *p = HAWSER_STATE(program, "p", HAWSER_PARTITIONED, .rows = 9);
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 10}, hawser_ssp(2));
    hawser_operator *inner = hawser_loop(loop, "inner", (hawser_until){.clocks = 4}, hawser_bsp());
    HAWSER_UNIT(inner, "one", unit, .updates = {a});
    HAWSER_UNIT(hawser_parallel(loop), "two", unit, .updates = {p});
    HAWSER_UNIT(loop, "three", unit, .reads = {p});
    char *text = plan_text(test, program, 1, HAWSER_PLAN_PHYSICAL);
    static const char *const wanted[] = {"'loop' until 10 clocks; ssp:2; shipped to the blocks; 5 stages in a clock",
                                         "'inner' until 4 clocks; bsp; a part of each clock of 'loop'",
                                         "'one' on each block, stages 0 to 3, waits as under bsp",
                                         "'two' on each block, stage 3;",
                                         "'three' on each block, stage 4;",
                                         NULL};
    for (const char *const *line = wanted; *line != NULL; line++)
        if (strstr(text, *line) == NULL)
            fail_msg("'%s' is not in\n%s", *line, text);
    free(text);
}

/* An estimate that a run may exceed is called one. */
static void a_plan_under_tap_says_that_updates_may_take_more(void **state)
{
    (void)state;
    const hawser_sync syncs[] = {hawser_bsp(), hawser_ssp(2), hawser_tap(), hawser_tap()};
    for (int k = 0; k < 4; k++) {
        test_job test = k == 3 ? OPEN_JOB("workers", "1") : OPEN_JOB("workers", "3");
        hawser_program *program = hawser_program_new("apart", NULL);
        hawser_state *v = HAWSER_STATE(program, "v", HAWSER_REPLICATED, .rows = 5);
        hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 3}, syncs[k]);
        HAWSER_UNIT(loop, "unit", unit, .updates = {v});
        char *text = plan_text(test, program, 1, HAWSER_PLAN_PHYSICAL);
        assert_int_equal(strstr(text, "\n  under tap only credit, 256 clocks, limits how far blocks are apart: ") != NULL,
                         k == 2);
        free(text);
    }
}

/* Three blocks of 5 numbers have updates of three clocks in memory, or of all if these are fewer, and at most of 2 W - 1. */
static void late_updates_are_bounded_by_credit(void **state)
{
    (void)state;
    enum { CLOCK = 3 * 5 * sizeof(double) };
    const struct {
        hawser_sync sync;
        uint64_t clocks, late;
    } cases[] = {{hawser_bsp(), 0, 0},          {hawser_ssp(1), 0, 0},
                 {hawser_ssp(2), 0, 2 * CLOCK}, {hawser_ssp(2), 4, CLOCK},
                 {hawser_ssp(9), 2, 0},         {hawser_tap(), 0, (511 - 3) * CLOCK},
                 {hawser_tap(), 7, 4 * CLOCK},  {hawser_ssp(UINT32_MAX), 0, (2 * UINT64_C(0xffffffff) - 1 - 3) * CLOCK}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        test_job test = OPEN_JOB("workers", "3");
        hawser_program *program = hawser_program_new("apart", NULL);
        hawser_state *v = HAWSER_STATE(program, "v", HAWSER_REPLICATED, .rows = 5);
        hawser_until until = {.clocks = cases[k].clocks, .seconds = 1};
        HAWSER_UNIT(hawser_loop(hawser_root(program), "loop", until, cases[k].sync), "unit", unit, .updates = {v});
        hawser_error error = {0};
        hw_plan *plan = NULL;
        assert_int_equal(hw_job_plan(test.job, program, &plan, &error), HAWSER_OK);
        assert_int_equal(plan->memory_late, cases[k].late);
        hw_plan_free(plan);
        hawser_program_free(program);
        close_job(test);
    }
}

static void plans_are_printed_as_dot(void **state)
{
    (void)state;
    expect(HAWSER_PLAN_LOGICAL_DOT, (const char *const[]){"digraph logical {", "o0 -> o1;", "s0 -> o4", "}", NULL});
    expect(HAWSER_PLAN_PHYSICAL_DOT, (const char *const[]){"digraph physical {", "3 blocks", "o1 -> o3;", "}", NULL});
}

static void a_plan_above_the_memory_limit_is_rejected(void **state)
{
    (void)state;
    test_job test = OPEN_JOB("workers", "4", "memory-limit", "1M");
    hawser_program *program = hawser_program_new("big", NULL);
    hawser_state *v = HAWSER_STATE(program, "v", HAWSER_REPLICATED, .rows = 50000);
    HAWSER_UNIT(hawser_root(program), "unit", unit, .updates = {v});
    hawser_error error = {0};
    assert_int_equal(hawser_plan_print(test.job, program, HAWSER_PLAN_PHYSICAL, stdout, &error), HAWSER_NO_MEMORY);
    assert_non_null(strstr(error.text, "--memory-limit"));
    hawser_program_free(program);
    close_job(test);
}

/* Returns what a plan in one process counts for this many bytes, a multiple of 16: a sixteenth more, for holes between
 * allocations. */
static uint64_t counted(uint64_t bytes)
{
    return bytes + bytes / 16;
}

/* The plan counts the entries that a run is expected to use, instead of all, and the memory of units. */
static void expected_memory_replaces_the_worst_case(void **state)
{
    (void)state;
    test_job test = OPEN_JOB("workers", "4", "memory-limit", "8M");
    hawser_program *program = NULL;
    hawser_error error = {0};
    hw_plan *plan = NULL;
    for (int expects = 0; expects < 2; expects++) {
        hawser_program_free(program);
        program = hawser_program_new("large", NULL);
        hawser_state *v = HAWSER_STATE(program, "v", HAWSER_REPLICATED, .rows = 500000, .expect = expects ? 1000 : 0);
        HAWSER_UNIT(hawser_root(program), "unit", unit, .updates = {v});
        assert_int_equal(hw_job_plan(test.job, program, &plan, &error), expects ? HAWSER_OK : HAWSER_NO_MEMORY);
    }
    uint64_t before = plan->memory_needed;
    hw_plan_free(plan);
    hawser_scratch_expect(program, 10000, 704);
    assert_int_equal(hw_job_plan(test.job, program, &plan, &error), HAWSER_OK);
    assert_int_equal(plan->memory_needed, before + counted(4 * 10000 + 704));
    hw_plan_free(plan);
    hawser_scratch_expect(program, 8 << 20, 0);
    assert_int_equal(hw_job_plan(test.job, program, &plan, &error), HAWSER_NO_MEMORY);
    HAWSER_STATE(program, "w", HAWSER_STORED, .rows = 10, .expect = 5);
    assert_int_equal(hw_job_plan(test.job, program, &plan, &error), HAWSER_BAD_PROGRAM);
    assert_non_null(strstr(error.text, "state 'w' is stored and has no .expect"));
    hawser_program_free(program);
    close_job(test);
}

/* The plan counts a copy of each block's part of data that a unit transforms: of dense data the values. */
static void transformed_data_count_in_memory(void **state)
{
    (void)state;
    static double values[4000];
    const hawser_matrix A = {.rows = 10, .cols = 400, .stored = 4000, .values = values, .stride = 10};
    test_job test = OPEN_JOB("workers", "4");
    uint64_t needed[2];
    for (int k = 0; k < 2; k++) {
        hawser_program *program = hawser_program_new("transforms", NULL);
        hawser_error error = {0};
        hw_plan *plan = NULL;
        hawser_state *data = HAWSER_STATE(program, "data", HAWSER_DATA, .matrix = &A, .split = HAWSER_BY_COLUMN);
        HAWSER_UNIT(hawser_root(program), "reads", unit, .reads = {data});
        if (k == 1)
            HAWSER_UNIT(hawser_root(program), "writes", unit, .updates = {data});
        assert_int_equal(hw_job_plan(test.job, program, &plan, &error), HAWSER_OK);
        needed[k] = plan->memory_needed;
        hw_plan_free(plan);
        hawser_program_free(program);
    }
    assert_int_equal(needed[1] - needed[0], sizeof values);
    close_job(test);
}

/* The plan counts the shares of two reductions: as many numbers as the unit declares, or as it expects if these are
 * fewer. */
static void reductions_count_in_memory(void **state)
{
    (void)state;
    test_job test = OPEN_JOB("workers", "4");
    hawser_program *program = NULL;
    hawser_state *v = NULL;
    hawser_error error = {0};
    hw_plan *plan = NULL;
    uint64_t needed[3];
    for (int k = 0; k < 3; k++) {
        hawser_program_free(program);
        program = hawser_program_new("reduces", NULL);
        v = HAWSER_STATE(program, "v", HAWSER_REPLICATED, .rows = 10);
        hawser_operator *reducing =
            HAWSER_UNIT(hawser_root(program), "unit", unit, .updates = {v}, .reduces = k > 0 ? 5000 : 0);
        if (k == 2)
            hawser_reduces_expect(reducing, 100, 300);
        assert_int_equal(hw_job_plan(test.job, program, &plan, &error), HAWSER_OK);
        needed[k] = plan->memory_needed;
        hw_plan_free(plan);
    }
    assert_int_equal(needed[1] - needed[0], counted(2 * 4 * 5000 * sizeof(double)));
    assert_int_equal(needed[2] - needed[0], counted(2 * 4 * 100 * sizeof(double)));
    hawser_reduces_expect(HAWSER_UNIT(hawser_root(program), "other", unit, .updates = {v}), 100, 300);
    assert_int_equal(hw_job_plan(test.job, program, &plan, &error), HAWSER_BAD_PROGRAM);
    assert_non_null(strstr(error.text, "'other' declares no reductions"));
    hawser_program_free(program);
    close_job(test);
}

/* Plans for nodes that do not exist: the placement of blocks, and the most bytes of a clock. A message has 100 numbers, 800
 * bytes. */
static void a_plan_over_nodes_has_placement_and_traffic(void **state)
{
    const struct {
        const char *topology, *workers;
        uint32_t nodes;
        hawser_sync sync;
        const char *says[3];
    } cases[] = {
        /* Two blocks of a node are added up, and one sum is sent to the other node. */
        {"all",
         "4",
         2,
         hawser_bsp(),
         {"800 bytes out of node 0, 1600 out of all", "node 1: blocks 2 to 3; 30 stored entries of A"}},
        {"all", "4", 2, hawser_ssp(2), {"1600 bytes out of node 0, 3200 out of all", "on 2 nodes"}},
        /* Blocks 0 and 1 of three are a subtree, and so is 2 alone: each node sends its sum to two others. */
        {"all",
         "3",
         3,
         hawser_bsp(),
         {"1600 bytes out of node 0, 4800 out of all", "node 2: block 2; 20 stored entries of A"}},
        /* Up from each of three nodes, down to each: six messages, of which node 0 sends two, and node 2 one each way. */
        {"tree", "4", 4, hawser_bsp(), {"1600 bytes out of node 0, 4800 out of all", "added up on their way"}},
        /* Without adding up, every node's update is sent to three others over the same tree: twelve messages. */
        {"tree", "4", 4, hawser_tap(), {"4000 bytes out of node 0, 9600 out of all", "topology tree"}},
        {"servers:1", "3", 3, hawser_ssp(2), {"3200 bytes out of node 0, 4800 out of all", "those that wait for a link"}},
        {"servers:1", "3", 3, hawser_bsp(), {"1600 bytes out of node 0, 3200 out of all", "topology servers:1"}},
        {"servers:1", "3", 3, hawser_bsp(), {"servers:1 (3 hosts): 2 updates per clock out of the busiest node\n"}},
        {"tree", "4", 4, hawser_bsp(), {"tree (4 hosts): 2 updates per clock instead of 3 out of"}},
        {"tree", "4", 4, hawser_tap(), {"tree (4 hosts): 5 updates per clock instead of 3 out of"}},
        /* One node per host is supposed. With 100 numbers each state has one range, and server 1 sends the sum to three. */
        {"auto", "4", 4, hawser_bsp(), {"servers:4 (4 hosts): 3 updates per clock out", "topology servers:4, chosen"}},
        {"auto",
         "4",
         4,
         hawser_bsp(),
         {"large: replicated 2048 x 1",
          "servers:4 (4 hosts): 1.5 updates per clock instead of 3 out of the busiest node\n"}},
        {"auto", "4", 4, hawser_ssp(1), {"all (4 hosts): 3 updates per clock out of the busiest node\n"}},
        {"auto", "3", 3, hawser_bsp(), {"all (3 hosts): 2 updates per clock out", "topology all, chosen"}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_job test = OPEN_JOB("workers", cases[i].workers, "topology", cases[i].topology, "sync",
                                 cases[i].sync.tightness == HAWSER_BSP ? "bsp" : "ssp:2");
        hawser_program *program = hawser_program_new("far", NULL);
        hawser_state *data = HAWSER_STATE(program, "A", HAWSER_DATA, .matrix = &matrix, .split = HAWSER_BY_COLUMN);
        hawser_state *v = HAWSER_STATE(program, "v", HAWSER_REPLICATED, .rows = 100);
        hawser_state *large = HAWSER_STATE(program, "large", HAWSER_REPLICATED, .rows = 2048);
        hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 9}, cases[i].sync);
        HAWSER_UNIT(loop, "sweep", unit, .reads = {data}, .updates = {v, large});
        char *text = plan_text(test, program, cases[i].nodes, HAWSER_PLAN_PHYSICAL);
        for (int k = 0; k < 3 && cases[i].says[k] != NULL; k++)
            if (strstr(text, cases[i].says[k]) == NULL)
                fail_msg("'%s' is not in\n%s", cases[i].says[k], text);
        free(text);
    }
}

/* One of twelve columns of five entries costs as much as all others, so it has a block nearly to itself. Several nodes
 * ignore the costs, because they assigned the columns when they read the input. */
static void costs_of_columns_change_the_split(void **state)
{
    static const double costs[12] = {[1] = 143};
    static const char *const says[2] = {"0 to 2, 10 stored", "0 to 6, 30 stored"};
    (void)state;
    for (uint32_t nodes = 1; nodes <= 2; nodes++) {
        test_job test = OPEN_JOB("workers", "2");
        hawser_program *program = hawser_program_new("uneven", NULL);
        hawser_state *data = HAWSER_STATE(program, "A", HAWSER_DATA, .matrix = &matrix, .costs = costs);
        HAWSER_UNIT(hawser_root(program), "look", unit, .reads = {data});
        char *text = plan_text(test, program, nodes, HAWSER_PLAN_PHYSICAL);
        if (strstr(text, says[nodes - 1]) == NULL ||
            (strstr(text, "the costs that the program adds to lines") != NULL) != (nodes == 1))
            fail_msg("'%s' is not in\n%s", says[nodes - 1], text);
        free(text);
    }
}

/* Each further link counts the buffers that it may fill, not the messages of a link that is busy. */
static void many_links_are_counted_by_their_buffers(void **state)
{
    (void)state;
    const uint32_t nodes[] = {256, 1256};
    unsigned long long links[2];
    for (int i = 0; i < 2; i++) {
        test_job test = OPEN_JOB("workers", "1256", "memory-limit", "1G");
        hawser_program *program = hawser_program_new("wide", NULL);
        hawser_state *v = HAWSER_STATE(program, "v", HAWSER_REPLICATED, .rows = 5);
        HAWSER_UNIT(hawser_root(program), "step", unit, .updates = {v});
        char *text = plan_text(test, program, nodes[i], HAWSER_PLAN_JSON);
        const char *at = strstr(text, "\"links\":");
        assert_non_null(at);
        links[i] = strtoull(at + 8, NULL, 10);
        free(text);
    }
    assert_true(links[0] > 0 && links[1] > links[0]);
    assert_true(links[0] <= 30 << 20 && links[1] - links[0] <= 1000 * (100 << 10));
}

static void too_many_nodes_are_rejected(void **state)
{
    (void)state;
    test_job test = OPEN_JOB("workers", "2");
    hawser_error error = {0};
    assert_int_equal(hw_job_suppose(test.job, 3, &error), HAWSER_BAD_OPTION);
    assert_non_null(strstr(error.text, "2 workers are too few for 3 nodes"));
    close_job(test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(logical_plan_has_states_and_operators),
                                       cmocka_unit_test(physical_plan_has_placement_and_memory),
                                       cmocka_unit_test(plans_show_stages),
                                       cmocka_unit_test(plans_show_inner_loops),
                                       cmocka_unit_test(a_plan_under_tap_says_that_updates_may_take_more),
                                       cmocka_unit_test(late_updates_are_bounded_by_credit),
                                       cmocka_unit_test(many_links_are_counted_by_their_buffers),
                                       cmocka_unit_test(plans_are_printed_as_dot),
                                       cmocka_unit_test(a_plan_above_the_memory_limit_is_rejected),
                                       cmocka_unit_test(expected_memory_replaces_the_worst_case),
                                       cmocka_unit_test(transformed_data_count_in_memory),
                                       cmocka_unit_test(reductions_count_in_memory),
                                       cmocka_unit_test(a_plan_over_nodes_has_placement_and_traffic),
                                       cmocka_unit_test(too_many_nodes_are_rejected),
                                       cmocka_unit_test(costs_of_columns_change_the_split)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
