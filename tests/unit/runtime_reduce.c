/*
 * hawser_allreduce within one process and over nodes: the same bits on every block, with any threads, schedules, nodes and
 * topologies; what the plan and the calls refuse; how a request to stop, a failure and unequal calls end a unit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exchange/exchange.h"
#include "hawser/stored.h"
#include "nodes.h"
#include "sanitized.h"

enum { BLOCKS = 5, MANY = 11, CLOCKS = 3, ROUNDS = 4, LONGEST = 1400 };
static const size_t lengths[ROUNDS] = {1, 64, LONGEST, 0};

/* What block `block` contributes as number i; blocks with an odd sum of block and clock contribute a range alone. */
static double share_of(uint32_t block, uint32_t blocks, uint64_t clock, size_t round, size_t i)
{
    size_t length = lengths[round];
    bool ranged = (block + clock) % 2 == 1;
    if (ranged && (i < block * length / blocks || i >= (block + 1) * length / blocks))
        return block % 3 == 0 ? -0.0 : 0.0;
    return sin(1.7 * (double)i + block) * pow(10, (double)((i + block) % 9) - 4) + (double)clock;
}

/* The combination by another hand: sums by the tree over blocks, number by number. */
static double expected(uint32_t blocks, uint64_t clock, size_t round, size_t i, hawser_combine_by by)
{
    double parts[MANY], extreme = by == HAWSER_MAX ? -(double)INFINITY : (double)INFINITY;
    for (uint32_t b = 0; b < blocks; b++) {
        parts[b] = share_of(b, blocks, clock, round, i) + 0.0;
        extreme = by == HAWSER_MAX ? fmax(extreme, parts[b]) : fmin(extreme, parts[b]);
    }
    return by == HAWSER_SUM ? hw_reduce_scalars(parts, blocks) : extreme;
}

static hawser_status reduce_all(hawser_context *context)
{
    double *values = malloc(LONGEST * sizeof *values);
    hawser_status status = HAWSER_OK;
    uint64_t clock = hawser_clock(context), wrong = 0;
    for (int step = 0; step < 3 * ROUNDS && status == HAWSER_OK; step++) {
        size_t round = (size_t)step % ROUNDS;
        hawser_combine_by by = (hawser_combine_by)(step / ROUNDS);
        for (size_t i = 0; i < lengths[round]; i++)
            values[i] = share_of(hawser_block(context), hawser_blocks(context), clock, round, i);
        status = hawser_allreduce(context, lengths[round] > 0 ? values : NULL, lengths[round], by);
        for (size_t i = 0; i < lengths[round] && status == HAWSER_OK; i++) {
            double right = expected(hawser_blocks(context), clock, round, i, by);
            wrong += memcmp(&values[i], &right, sizeof right) != 0;
        }
    }
    free(values);
    HAWSER_TRY(status);
    HAWSER_WRITE(context, double, n);
    n[0] += 1;
    return hawser_report(context, "wrong", (double)wrong);
}

/* A second unit in the same clock, with another trip count in each clock and a stop test on a reduced number. */
static hawser_status iterate(hawser_context *context)
{
    double value = 1.0 + hawser_block(context) + (double)hawser_clock(context);
    for (int i = 0; value < 1e6; i++) {
        HAWSER_TRY(hawser_allreduce(context, &value, 1, HAWSER_SUM));
        value = value / hawser_blocks(context) + value * 0.5 * hawser_block(context);
        double most = value;
        HAWSER_TRY(hawser_allreduce(context, &most, 1, HAWSER_MAX));
        if (most > 1e5)
            break;
    }
    return hawser_report(context, "value", value);
}

static bool none_wrong(hawser_progress *progress, void *user)
{
    (void)user;
    return hawser_progress_metric(progress, "wrong") > 0;
}

static hawser_program *make_program(void)
{
    hawser_program *program = hawser_program_new("reduces", NULL);
    hawser_state *n = HAWSER_STATE(program, "n", HAWSER_REPLICATED, .rows = 1);
    hawser_metric_declare(program, "wrong", HAWSER_SUM);
    hawser_metric_declare(program, "value", HAWSER_SUM);
    hawser_operator *outer = hawser_loop(hawser_root(program), "outer", (hawser_until){.clocks = 2}, hawser_bsp());
    hawser_operator *loop = hawser_loop(outer, "loop", (hawser_until){.clocks = CLOCKS, .test = none_wrong}, hawser_bsp());
    HAWSER_UNIT(loop, "all", reduce_all, .updates = {n}, .reduces = LONGEST);
    HAWSER_UNIT(loop, "iterate", iterate, .reduces = 1);
    HAWSER_UNIT(outer, "once", iterate, .reduces = 1);
    return program;
}

typedef struct outcome {
    hawser_status status;
    hawser_error error;
    double wrong, value, count;
    const char *repeatable;
} outcome;

static outcome run_program(hawser_job *job)
{
    hawser_program *program = make_program();
    hawser_run *run = NULL;
    outcome result = {0};
    result.status = hawser_run_program(job, program, &run, &result.error);
    if (run != NULL) {
        result.wrong = hawser_result_metric(run, "wrong");
        result.value = hawser_result_metric(run, "value");
        result.count = RESULT(double, run, "n", NULL)[0];
        result.repeatable = hawser_run_figures(run)->repeatable;
    }
    hawser_run_free(run);
    hawser_program_free(program);
    return result;
}

static void check_outcome_of(uint32_t blocks, outcome result, double *value, const char *what)
{
    if (result.status != HAWSER_OK)
        fail_msg("%s: %s", what, result.error.text);
    if (result.wrong != 0)
        fail_msg("%s: %g numbers are wrong", what, result.wrong);
    assert_true(result.count == 2 * CLOCKS * blocks && result.repeatable == NULL);
    if (*value == 0)
        *value = result.value;
    assert_memory_equal(value, &result.value, sizeof *value);
}

static void check_outcome(outcome result, double *value, const char *what)
{
    check_outcome_of(BLOCKS, result, value, what);
}

static void every_schedule_gives_the_canonical_bits(void **state)
{
    (void)state;
    double value = 0;
    static const char *const threads[] = {"1", "2", "5"};
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        test_job test =
            OPEN_JOB("workers", "5", "threads", threads[i], "timeout", "60", "filter", "absolute", "quota", "16");
        check_outcome(run_program(test.job), &value, "threads");
        close_job(test);
    }
    for (uint64_t seed = 0; seed < schedules_of(100); seed++) {
        test_job test = OPEN_JOB("workers", "5", "check", "yes", "encoding", seed % 2 ? "int8" : "exact");
        hw_job_use_fibers(test.job, seed);
        check_outcome(run_program(test.job), &value, "fibers");
        close_job(test);
    }
}

static void run_node(test_node *node)
{
    outcome *results = node->user;
    results[node->node] = run_program(node->job);
    node->status = results[node->node].status;
    node->error = results[node->node].error;
}

/* So many blocks of one node reduce, and exchange the state, along a tree. */
static void many_blocks_give_the_canonical_bits(void **state)
{
    (void)state;
    double value = 0;
    static const char *const threads[] = {"1", "3", "11"};
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        test_job test = OPEN_JOB("workers", "11", "threads", threads[i], "timeout", "60", "filter", "absolute");
        check_outcome_of(MANY, run_program(test.job), &value, "threads");
        close_job(test);
    }
    for (uint64_t seed = 0; seed < schedules_of(10); seed++) {
        test_job test = OPEN_JOB("workers", "11", "check", "yes");
        hw_job_use_fibers(test.job, seed);
        check_outcome_of(MANY, run_program(test.job), &value, "fibers");
        close_job(test);
    }
    test_node nodes[NODES_MOST];
    outcome results[NODES_MOST] = {0};
    const char *const pairs[] = {"workers", "11", "timeout", "60", NULL};
    run_nodes(nodes, 2, pairs, run_node, results);
    check_all(nodes, 2, "two nodes");
    check_outcome_of(MANY, results[1], &value, "two nodes");
}

static void every_topology_gives_the_canonical_bits(void **state)
{
    (void)state;
    static const char *const topologies[] = {"all", "halton", "tree", "servers:1", "servers:2", "servers:3"};
    double value = 0;
    for (uint32_t count = 2; count <= 5; count += SANITIZED ? 3 : 1)
        for (size_t t = 0; t < sizeof topologies / sizeof *topologies; t++) {
            test_node nodes[NODES_MOST];
            outcome results[NODES_MOST] = {0};
            if (strncmp(topologies[t], "servers:", 8) == 0 && (uint32_t)atoi(topologies[t] + 8) > count)
                continue;
            const char *const pairs[] = {"workers", "5", "timeout", "60", "topology", topologies[t], NULL};
            run_nodes(nodes, count, pairs, run_node, results);
            check_all(nodes, count, topologies[t]);
            for (uint32_t i = 0; i < count; i++)
                check_outcome(results[i], &value, topologies[t]);
        }
}

/* ------------------------------------------------------------------------------------------------------ refusals ---- */

static hawser_status one_reduction(hawser_context *context)
{
    double value = 1;
    return hawser_allreduce(context, &value, 1, HAWSER_SUM);
}

static hawser_status wrong_calls(hawser_context *context)
{
    const int *which = hawser_user(context);
    double values[4] = {1, 2, 3, 4};
    switch (*which) {
    case 0: return hawser_allreduce(context, values, 4, HAWSER_SUM);
    case 1: return hawser_allreduce(context, values, 1, HAWSER_LAST);
    case 2: return hawser_allreduce(context, values, 1, (hawser_combine_by)77);
    case 3: return hawser_allreduce(context, NULL, 1, HAWSER_SUM);
    case 4: values[2] = (double)NAN; return hawser_allreduce(context, values, 3, HAWSER_MAX);
    case 5: values[1] = -(double)INFINITY; return hawser_allreduce(context, values, 3, HAWSER_SUM);
    case 6: values[1] = 1.7e308; return hawser_allreduce(context, values, 3, HAWSER_SUM);
    case 7: /* what it answers is not asked */
        values[0] = (double)NAN;
        return hawser_allreduce(context, values, 3, HAWSER_SUM) == HAWSER_NOT_FINITE ? HAWSER_OK : HAWSER_BAD_ARGUMENT;
    case 8: /* blocks call different things */
        return hawser_allreduce(context, values, 1 + hawser_block(context) % 3, HAWSER_SUM);
    case 9: return hawser_allreduce(context, values, 1, hawser_block(context) ? HAWSER_MAX : HAWSER_SUM);
    case 10: /* unequal trip counts */
        for (uint32_t i = 0; i < 2 + hawser_block(context); i++)
            HAWSER_TRY(hawser_allreduce(context, values, 1, HAWSER_SUM));
        return HAWSER_OK;
    case 11: return hawser_block(context) == 1 ? HAWSER_OK : hawser_allreduce(context, values, 1, HAWSER_SUM);
    case 12: return hawser_block(context) == 1 ? HAWSER_DIVERGED : hawser_allreduce(context, values, 1, HAWSER_SUM);
    default: return HAWSER_OK;
    }
}

typedef struct wrong_call {
    hawser_status status;
    const char *first, *second;
} wrong_call;
static const wrong_call wrongs[] = {
    {HAWSER_BAD_PROGRAM, "unit 'wrong', block", "4 numbers, and the unit declares 3 at most"},
    {HAWSER_BAD_PROGRAM, "unit 'wrong', block", "not by LAST"},
    {HAWSER_BAD_PROGRAM, "unit 'wrong', block", "not by an unknown operation"},
    {HAWSER_BAD_PROGRAM, "unit 'wrong', block", "'values' is NULL"},
    {HAWSER_NOT_FINITE, "unit 'wrong', block", "nan as number 2 in clock 0; it takes no NaN"},
    {HAWSER_NOT_FINITE, "unit 'wrong', block", "-inf as number 1 in clock 0; it takes finite numbers"},
    {HAWSER_NOT_FINITE, "unit 'wrong'", "add up to inf at number 1 of reduction 0"},
    {HAWSER_NOT_FINITE, "unit 'wrong', block", "nan as number 0"},
    {HAWSER_BAD_PROGRAM, "reduction 0 of clock 0 is sum of", "every block must call the same"},
    {HAWSER_BAD_PROGRAM, "reduction 0 of clock 0 is", "in unit 'wrong' on block"},
    {HAWSER_BAD_PROGRAM, "unit 'wrong': in clock 0 block", "every block must call hawser_allreduce equally often"},
    {HAWSER_BAD_PROGRAM, "unit 'wrong': in clock 0 block 1 has reduced 0 times", "at least 1 times"},
    {HAWSER_DIVERGED, "unit 'wrong', block 1", "diverged"},
};
enum { WRONGS = sizeof wrongs / sizeof *wrongs };

static hawser_status run_wrong(hawser_job *job, int which, hawser_error *error)
{
    hawser_program *program = hawser_program_new("wrong", &which);
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 2}, hawser_bsp());
    HAWSER_UNIT(loop, "wrong", wrong_calls, .reduces = 3);
    hawser_run *run = NULL;
    hawser_status status = hawser_run_program(job, program, &run, error);
    hawser_run_free(run);
    hawser_program_free(program);
    return status;
}

static void check_wrong(int which, hawser_status status, const hawser_error *error)
{
    if (status != wrongs[which].status || strstr(error->text, wrongs[which].first) == NULL ||
        strstr(error->text, wrongs[which].second) == NULL)
        fail_msg("case %d gave %s: %s", which, hawser_status_name(status), error->text);
}

static void wrong_calls_fail_by_name(void **state)
{
    (void)state;
    for (int which = 0; which < WRONGS; which++)
        for (uint64_t seed = 0; seed < 12; seed += THREAD_SANITIZED && seed == 3 ? 8 : 1) {
            bool many = seed % 4 == 3; /* they reduce along a tree */
            test_job test = OPEN_JOB("workers", many ? "11" : "2", "timeout", "20");
            hawser_error error = {0};
            if (seed > 0 && seed < 11)
                hw_job_use_fibers(test.job, seed);
            hawser_status status = run_wrong(test.job, which, &error);
            check_wrong(which, status, &error);
            close_job(test);
        }
}

static void run_wrong_node(test_node *node)
{
    node->status = run_wrong(node->job, *(const int *)node->user, &node->error);
}

static void wrong_calls_fail_on_every_node(void **state)
{
    (void)state;
    for (int which = 4; which < WRONGS; which++) {
        test_node nodes[NODES_MOST];
        const char *const pairs[] = {"workers", "2", "timeout", "20", NULL};
        run_nodes(nodes, 2, pairs, run_wrong_node, &which);
        for (int i = 0; i < 2; i++)
            check_wrong(which, nodes[i].status, &nodes[i].error);
    }
}

static void expect_refusal(hawser_program *program, const char *first, const char *second)
{
    test_job test = OPEN_JOB("workers", "2", "timeout", "20");
    hawser_error error = {0};
    hawser_run *run = NULL;
    hawser_status status = hawser_run_program(test.job, program, &run, &error);
    if (status != HAWSER_BAD_PROGRAM || strstr(error.text, first) == NULL || strstr(error.text, second) == NULL)
        fail_msg("got %s: %s", hawser_status_name(status), error.text);
    hawser_program_free(program);
    close_job(test);
}

static hawser_program *new_program(void)
{
    return hawser_program_new("refused", NULL);
}

static bool loosen(hawser_progress *progress, void *user)
{
    if (hawser_progress_clock(progress) == 1)
        hawser_progress_sync(progress, "loop", *(const hawser_sync *)user);
    return hawser_progress_clock(progress) >= 50;
}

static void the_plan_refuses_units_that_cannot_reduce(void **state)
{
    (void)state;
    hawser_program *program = new_program();
    HAWSER_UNIT(hawser_root(program), "single", one_reduction, .one = true, .reduces = 1);
    expect_refusal(program, "'single'", "runs on one block");
    hawser_sync syncs[] = {hawser_ssp(2), hawser_tap(), hawser_delay(1), hawser_centric(0)};
    const char *const names[] = {"ssp:2", "tap", "delay:1", "dc:0"};
    for (int i = 0; i < 4; i++) {
        program = new_program();
        hawser_state *stored = HAWSER_STATE(program, "s", HAWSER_STORED, .rows = 4);
        hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 9}, syncs[i]);
        HAWSER_UNIT(loop, "u", one_reduction, .updates = {stored}, .reduces = 1);
        expect_refusal(program, "unit 'u' reduces over all blocks, but loop 'loop' is under", names[i]);
        program = new_program();
        loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.test = loosen, .user = &syncs[i]}, hawser_bsp());
        HAWSER_UNIT(loop, "u", one_reduction, .reduces = 1);
        expect_refusal(program, "hawser_progress_sync", "a unit of loop 'loop' reduces over all blocks");
    }
    program = new_program();
    HAWSER_STATE(program, "v", HAWSER_REPLICATED, .rows = 3, .derive = one_reduction);
    HAWSER_UNIT(hawser_root(program), "u", one_reduction, .reduces = 1);
    expect_refusal(program, "unit 'u'", "rebuilds state 'v'");
    program = new_program();
    hawser_state *v = HAWSER_STATE(program, "v", HAWSER_REPLICATED, .rows = 3, .derive = one_reduction);
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 1}, hawser_bsp());
    HAWSER_UNIT(loop, "u", wrong_calls, .updates = {v});
    expect_refusal(program, "rebuild of 'v'", "a rebuild cannot reduce");
    program = new_program();
    HAWSER_UNIT(hawser_root(program), "u", one_reduction);
    expect_refusal(program, "unit 'u', block", "set .reduces of this unit");
}

static uint64_t memory_of(size_t most)
{
    test_job test = OPEN_JOB("workers", "2");
    char *text = NULL;
    size_t length = 0;
    unsigned long long bytes = 0;
    FILE *out = open_memstream(&text, &length);
    hawser_program *program = new_program();
    HAWSER_UNIT(hawser_root(program), "u", one_reduction, .reduces = most);
    hawser_error error = {0};
    if (hawser_plan_print(test.job, program, HAWSER_PLAN_PHYSICAL, out, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    (void)fclose(out);
    assert_int_equal(sscanf(strstr(text, "needs about"), "needs about %llu bytes", &bytes), 1);
    assert_true((strstr(text, "; reduces at most") != NULL) == (most > 0));
    free(text);
    hawser_program_free(program);
    close_job(test);
    return bytes;
}

static void the_plan_counts_the_buffers(void **state)
{
    (void)state;
    uint64_t none = memory_of(0), small = memory_of(10), large = memory_of(1000000);
    assert_true(small > none && small < none + 1000000);
    assert_true(large >= none + 4 * 8000000);
}

/* ----------------------------------------------------------------------------------------------- numbers and stops ---- */

static hawser_status special_numbers(hawser_context *context)
{
    double inf = (double)INFINITY, zero = 0;
    bool first = hawser_block(context) == 0;
    double most[3] = {first ? inf : 1, first ? -0.0 : -1, -0.0}, least[2] = {first ? -inf : 1, first ? 0.0 : -0.0};
    double sum[2] = {-0.0, first ? 1.5 : -1.5};
    HAWSER_TRY(hawser_allreduce(context, most, 3, HAWSER_MAX));
    HAWSER_TRY(hawser_allreduce(context, least, 2, HAWSER_MIN));
    HAWSER_TRY(hawser_allreduce(context, sum, 2, HAWSER_SUM));
    bool right = isinf(most[0]) && most[0] > 0 && isinf(least[0]) && least[0] < 0;
    right = right && memcmp(&most[1], &zero, sizeof zero) == 0 && memcmp(&most[2], &zero, sizeof zero) == 0 &&
            memcmp(&least[1], &zero, sizeof zero) == 0;
    right = right && memcmp(&sum[0], &zero, sizeof zero) == 0 && memcmp(&sum[1], &zero, sizeof zero) == 0;
    return right ? HAWSER_OK : hawser_unit_fail(context, HAWSER_INTERNAL, "a zero or an infinity is wrong");
}

static void infinities_pass_and_zeros_are_positive(void **state)
{
    (void)state;
    static const char *const threads[] = {"1", "2"};
    for (int i = 0; i < 2; i++) {
        test_job test = OPEN_JOB("workers", "2", "threads", threads[i]);
        hawser_program *program = hawser_program_new("special", NULL);
        HAWSER_UNIT(hawser_root(program), "u", special_numbers, .reduces = 3);
        hawser_run *run = NULL;
        hawser_error error = {0};
        if (hawser_run_program(test.job, program, &run, &error) != HAWSER_OK)
            fail_msg("%s", error.text);
        hawser_run_free(run);
        hawser_program_free(program);
        close_job(test);
    }
}

typedef struct stop_seen {
    hawser_job *job;
    atomic_uint asked;
} stop_seen;

/* Reduces until all agree to stop. The block that is asked sees it no earlier than the others. */
static hawser_status until_stopped(hawser_context *context)
{
    stop_seen *seen = hawser_user(context);
    double count = 0;
    if (hawser_stopping(context))
        return hawser_unit_fail(context, HAWSER_INTERNAL, "a stop before the first reduction");
    while (!hawser_stopping(context)) {
        count += 1;
        double equal = count;
        if (hawser_block(context) == 1 && count == 7 && seen->job != NULL)
            hawser_interrupt(seen->job);
        HAWSER_TRY(hawser_allreduce(context, &equal, 1, HAWSER_MAX));
        if (equal != count)
            return hawser_unit_fail(context, HAWSER_INTERNAL, "%g rounds here, %g elsewhere", count, equal);
    }
    HAWSER_WRITE(context, double, n);
    n[0] += count;
    return HAWSER_OK;
}

static void all_blocks_leave_together(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 6 + schedules_of(54); seed++) {
        test_job test = OPEN_JOB("workers", "3", "check", "yes");
        stop_seen seen = {.job = test.job};
        if (seed >= 6)
            hw_job_use_fibers(test.job, seed);
        hawser_program *program = hawser_program_new("stopped", &seen);
        hawser_state *n = HAWSER_STATE(program, "n", HAWSER_REPLICATED, .rows = 1);
        hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 5}, hawser_bsp());
        HAWSER_UNIT(loop, "u", until_stopped, .updates = {n}, .reduces = 1);
        hawser_run *run = NULL;
        hawser_error error = {0};
        hawser_status status = hawser_run_program(test.job, program, &run, &error);
        if (status != HAWSER_STOP)
            fail_msg("got %s: %s", hawser_status_name(status), error.text);
        double count = RESULT(double, run, "n", NULL)[0];
        assert_true(count >= 21 && fmod(count, 3) == 0);
        assert_string_equal(hawser_run_figures(run)->stop_reason, "signal");
        hawser_run_free(run);
        hawser_program_free(program);
        close_job(test);
    }
}

static void run_stopped_node(test_node *node)
{
    stop_seen seen = {.job = node->node == 1 ? node->job : NULL};
    hawser_program *program = hawser_program_new("stopped", &seen);
    hawser_state *n = HAWSER_STATE(program, "n", HAWSER_REPLICATED, .rows = 1);
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 5}, hawser_bsp());
    HAWSER_UNIT(loop, "u", until_stopped, .updates = {n}, .reduces = 1);
    hawser_run *run = NULL;
    node->status = hawser_run_program(node->job, program, &run, &node->error);
    if (run != NULL && fmod(RESULT(double, run, "n", NULL)[0], 2) != 0)
        node->status = HAWSER_INTERNAL;
    hawser_run_free(run);
    hawser_program_free(program);
}

static void a_request_on_one_node_ends_all_together(void **state)
{
    (void)state;
    test_node nodes[NODES_MOST];
    const char *const pairs[] = {"workers", "2", "timeout", "20", NULL};
    run_nodes(nodes, 2, pairs, run_stopped_node, NULL);
    for (int i = 0; i < 2; i++)
        if (nodes[i].status != HAWSER_STOP)
            fail_msg("node %d: %s: %s", i, hawser_status_name(nodes[i].status), nodes[i].error.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_schedule_gives_the_canonical_bits),
        cmocka_unit_test(many_blocks_give_the_canonical_bits),
        cmocka_unit_test(every_topology_gives_the_canonical_bits),
        cmocka_unit_test(wrong_calls_fail_by_name),
        cmocka_unit_test(wrong_calls_fail_on_every_node),
        cmocka_unit_test(the_plan_refuses_units_that_cannot_reduce),
        cmocka_unit_test(the_plan_counts_the_buffers),
        cmocka_unit_test(infinities_pass_and_zeros_are_positive),
        cmocka_unit_test(all_blocks_leave_together),
        cmocka_unit_test(a_request_on_one_node_ends_all_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
