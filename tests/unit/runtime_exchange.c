/*
 * What travels between nodes: over every topology and in every form the bits of threads under BSP, and v = A alpha under any
 * sync; coalescing where the way is slow; the bytes that are told; a filter, a quota and a form per state.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "directory.h"
#include "nodes.h"

enum { ROWS = 600, COLS = 30 };
static double A[ROWS * COLS];
static const hawser_matrix matrix = {.rows = ROWS, .cols = COLS, .stored = ROWS * COLS, .values = A, .stride = ROWS};

typedef struct outcome {
    double v[ROWS], alpha[COLS];
    uint64_t coalesced, plain, sent, updates, flows;
    uint32_t most_lead;
    char plan[4000];
} outcome;

typedef struct plan {
    hawser_sync sync;
    uint64_t clocks;
    bool whole; /* each clock is sent as one, so that it can be added up on its way */
    outcome outcomes[NODES_MOST];
} plan;

static hawser_status sweep(hawser_context *context)
{
    const plan *how = hawser_user(context);
    const hawser_matrix *part;
    HAWSER_TRY(hawser_read(context, "A", &part));
    HAWSER_WRITE(context, double, v);
    HAWSER_WRITE(context, double, alpha);
    double gain = hawser_gain(context, "v");
    for (size_t n = 0; n < part->cols; n++) {
        size_t j = hawser_random_below(context, part->cols);
        double step = 0.001 * hawser_random_uniform(context) * (1 - hawser_column_dot(part, j, v)) / gain;
        hawser_column_axpy(part, j, step * gain, v);
        alpha[j] += step;
        if (n == 1 && !how->whole)
            HAWSER_TRY(hawser_yield(context));
    }
    return HAWSER_OK;
}

static hawser_status run_once(hawser_job *job, plan *how, outcome *result, hawser_error *error)
{
    hawser_program *program = hawser_program_new("exchange", how);
    hawser_state *data = HAWSER_STATE(program, "A", HAWSER_DATA, .matrix = &matrix, .split = HAWSER_BY_COLUMN);
    hawser_state *v =
        HAWSER_STATE(program, "v", HAWSER_REPLICATED, .rows = ROWS, .gain = 6, .form = hawser_job_encoding(job));
    hawser_state *alpha = HAWSER_STATE(program, "alpha", HAWSER_LOCAL, .along = data, .tie = v);
    hawser_operator *outer = hawser_loop(hawser_root(program), "outer", (hawser_until){.clocks = 2}, hawser_bsp());
    hawser_operator *loop = hawser_loop(outer, "inner", (hawser_until){.clocks = how->clocks}, how->sync);
    HAWSER_UNIT(loop, "sweep", sweep, .reads = {data}, .updates = {v, alpha});
    memset(result, 0, sizeof *result);
    FILE *text = fmemopen(result->plan, sizeof result->plan - 1, "w");
    hawser_run *run = NULL;
    hawser_status status = hawser_plan_print(job, program, HAWSER_PLAN_PHYSICAL, text, error);
    fclose(text);
    if (status == HAWSER_OK)
        status = hawser_run_program(job, program, &run, error);
    if (status == HAWSER_OK) {
        const hawser_figures *figures = hawser_run_figures(run);
        memcpy(result->v, RESULT(double, run, "v", NULL), sizeof result->v);
        memcpy(result->alpha, RESULT(double, run, "alpha", NULL), sizeof result->alpha);
        result->most_lead = figures->most_lead;
        result->coalesced = figures->coalesced;
        result->flows = figures->flow_count;
        uint64_t plain = 0, sent = 0, messages = 0;
        for (size_t i = 0; i < figures->flow_count; i++) {
            const hawser_flow *flow = &figures->flows[i];
            if (flow->state && strcmp(flow->name, "v") == 0) {
                result->plain = flow->bytes_plain;
                result->sent = flow->bytes_sent;
                result->updates += flow->messages;
            } else if (strcmp(flow->name, "update") == 0 || strcmp(flow->name, "addend") == 0 ||
                       strcmp(flow->name, "combined") == 0) {
                plain += flow->bytes_plain;
                sent += flow->bytes_sent;
                messages += flow->messages;
            }
        }
        assert_true(plain == result->plain && sent == result->sent && messages == result->updates); /* v is all there is */
    }
    hawser_run_free(run);
    hawser_program_free(program);
    return status;
}

static void body(test_node *node)
{
    plan *how = node->user;
    node->status = run_once(node->job, how, &how->outcomes[node->node], &node->error);
}

#define PAIRS(...) ((const char *const[]){__VA_ARGS__, "seed", "5", "timeout", "60", "check", "yes", NULL})

static void assert_tied(const outcome *result)
{
    for (int i = 0; i < ROWS; i++) {
        double sum = 0, scale = 0;
        for (int j = 0; j < COLS; j++) {
            sum += A[j * ROWS + i] * result->alpha[j];
            scale += fabs(A[j * ROWS + i] * result->alpha[j]);
        }
        assert_true(fabs(sum - result->v[i]) <= 1e-13 * (1 + scale));
    }
}

static void run_all(uint32_t count, const char *const *pairs, plan *how)
{
    test_node nodes[NODES_MOST];
    run_nodes(nodes, count, pairs, body, how);
    for (uint32_t i = 0; i < count; i++) {
        if (nodes[i].status != HAWSER_OK)
            fail_msg("node %u of %u: %s", i, count, nodes[i].error.text);
        assert_tied(&how->outcomes[i]);
        assert_memory_equal(how->outcomes[0].v, how->outcomes[i].v, sizeof how->outcomes[0].v);
        if (how->sync.tightness != HAWSER_TAP)
            assert_true(how->outcomes[i].most_lead <= how->sync.staleness);
    }
}

static void the_bits_of_threads(void **state)
{
    (void)state;
    const char *const forms[] = {"exact", "bf16", "f16", "int8"};
    const char *const topologies[] = {"all", "halton", "tree", "servers:1", "servers:2"};
    for (size_t k = 0; k < 8; k++) {
        size_t f = k / 2;
        plan how = {.sync = hawser_bsp(), .clocks = 4, .whole = k % 2 == 1};
        outcome first;
        hawser_error error = {0};
        test_job test = open_job(PAIRS("workers", "6", "encoding", forms[f]));
        assert_int_equal(run_once(test.job, &how, &first, &error), HAWSER_OK);
        close_job(test);
        assert_true(first.sent > first.plain); /* nothing is packed within a process, and envelopes count */
        for (size_t t = 0; t < 5; t++) {
            uint32_t count = (uint32_t)(2 + (f + t) % 5);
            run_all(count, PAIRS("workers", "6", "encoding", forms[f], "topology", topologies[t]), &how);
            assert_memory_equal(first.v, how.outcomes[0].v, sizeof first.v);
            assert_memory_equal(first.alpha, how.outcomes[0].alpha, sizeof first.alpha);
            assert_true(how.outcomes[0].updates > 0 && how.outcomes[1].flows == 0);
            if (f > 0 && count == 6 && t < 2) /* in half the bytes and less, flushes in full counted */
                assert_true(how.outcomes[0].sent < how.outcomes[0].plain * 7 / 10);
            if (how.whole) /* of whole clocks no more is sent than without nodes */
                assert_true(how.outcomes[0].updates <= first.updates && how.outcomes[0].plain <= first.plain);
            if (strstr(how.outcomes[0].plan, topologies[t]) == NULL)
                fail_msg("no %s in %s", topologies[t], how.outcomes[0].plan);
        }
    }
}

static void every_sync_over_several_hops(void **state)
{
    (void)state;
    const hawser_sync syncs[] = {hawser_ssp(1), hawser_ssp(3), hawser_tap()};
    const char *const topologies[] = {"halton", "tree", "servers:1"};
    for (size_t k = 0; k < 9; k++) {
        plan how = {.sync = syncs[k / 3], .clocks = 12};
        run_all(5, PAIRS("workers", "6", "topology", topologies[k % 3], "encoding", k % 2 ? "bf16" : "exact"), &how);
    }
}

/* Links of some hundred thousand bytes per second, and a backlog bound that is passed at once. */
static void updates_over_slow_links_are_coalesced(void **state)
{
    (void)state;
    const hawser_sync syncs[] = {hawser_ssp(3), hawser_tap(), hawser_bsp()};
    for (size_t s = 0; s < 3; s++) {
        plan how = {.sync = syncs[s], .clocks = 30};
        run_all(3, PAIRS("workers", "4", "rate", s < 2 ? "400k" : "2M", "backlog", "1"), &how);
        assert_true((how.outcomes[0].coalesced > 0) == (s < 2));
    }
    plan how = {.sync = hawser_tap(), .clocks = 30};
    run_all(3, PAIRS("workers", "4", "rate", "2M", "backlog", "0"), &how);
    assert_true(how.outcomes[0].coalesced == 0);
}

static void refused(uint32_t count, const char *topology, const char *words)
{
    plan how = {.sync = hawser_bsp(), .clocks = 2};
    test_node nodes[NODES_MOST];
    run_nodes(nodes, count, PAIRS("workers", "4", "topology", topology), body, &how);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_not_equal(nodes[i].status, HAWSER_OK);
        if (strstr(nodes[i].error.text, words) == NULL)
            fail_msg("node %u: '%s' does not say '%s'", i, nodes[i].error.text, words);
    }
}

static void graphs_from_a_file(void **state)
{
    char path[300], words[320];
    snprintf(path, sizeof path, "%s/graph", (const char *)*state);
    snprintf(words, sizeof words, "file:%s", path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "# a ring\n0 1\n1 2\n2 3\n3 0\n");
    fclose(file);
    plan how = {.sync = hawser_ssp(2), .clocks = 6};
    run_all(4, PAIRS("workers", "4", "topology", words), &how);
    assert_non_null(strstr(how.outcomes[3].plan, "at most 1 links out of a node, at most 3 from one node to another"));
    refused(3, words, "line 4: no link from node 2 to node 3");
    unlink(path);
    refused(3, words, "No such file");
    refused(3, "servers:4", "only 3 nodes");
    refused(3, "ring", "'ring'");
}

/* ----------------------------------------------------------------------------------------------- a policy per state ---- */

enum { ENTRIES = 40, WORKERS = 4 };

/* Two states that do not read each other. What is held of one or rounded shows in the changes that are made to it next. */
typedef struct apart {
    hawser_sync sync;
    bool own; /* the program gives y a filter of its own */
    double made[2][WORKERS][ENTRIES];
    double got[NODES_MOST][2][ENTRIES];
} apart;

static const char *const apart_names[] = {"x", "y"};

static hawser_status move(hawser_context *context)
{
    apart *how = hawser_user(context);
    uint32_t block = hawser_block(context);
    for (int s = 0; s < 2; s++) {
        double *cache;
        HAWSER_TRY(hawser_write(context, apart_names[s], &cache));
        for (int i = 0; i < ENTRIES; i++) {
            double step = 0.1 * sin(cache[i] + i * (block + 1.3) + s);
            cache[i] += step;
            how->made[s][block][i] += step;
        }
    }
    return HAWSER_OK;
}

static hawser_status run_apart(hawser_job *job, apart *how, uint32_t node, hawser_error *error)
{
    hawser_program *program = hawser_program_new("apart", how);
    hawser_state *data = HAWSER_STATE(program, "A", HAWSER_DATA, .matrix = &matrix, .split = HAWSER_BY_COLUMN);
    hawser_state *x = HAWSER_STATE(program, "x", HAWSER_REPLICATED, .rows = ENTRIES);
    hawser_state *y = HAWSER_STATE(program, "y", HAWSER_REPLICATED, .rows = ENTRIES, .filter = how->own ? "absolute" : NULL,
                                   .quota = how->own ? 60 : 0);
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 6}, how->sync);
    HAWSER_UNIT(loop, "move", move, .reads = {data}, .updates = {x, y});
    hawser_run *run = NULL;
    hawser_status status = hawser_run_program(job, program, &run, error);
    for (int s = 0; s < 2 && status == HAWSER_OK; s++)
        memcpy(how->got[node][s], RESULT(double, run, apart_names[s], NULL), sizeof how->got[node][s]);
    hawser_run_free(run);
    hawser_program_free(program);
    return status;
}

static void apart_body(test_node *node)
{
    node->status = run_apart(node->job, node->user, node->node, &node->error);
}

static void run_apart_on(uint32_t count, const char *const *pairs, apart *how)
{
    memset(how->made, 0, sizeof how->made);
    if (count > 1) {
        test_node nodes[NODES_MOST];
        run_nodes(nodes, count, pairs, apart_body, how);
        for (uint32_t i = 0; i < count; i++)
            if (nodes[i].status != HAWSER_OK)
                fail_msg("node %u of %u: %s", i, count, nodes[i].error.text);
    } else {
        hawser_error error = {0};
        test_job test = open_job(pairs);
        if (run_apart(test.job, how, 0, &error) != HAWSER_OK)
            fail_msg("%s", error.text);
        close_job(test);
    }
    for (uint32_t n = 0; n < count; n++)
        for (int s = 0; s < 2; s++)
            for (int i = 0; i < ENTRIES; i++) {
                double sum = 0;
                for (int b = 0; b < WORKERS; b++)
                    sum += how->made[s][b][i];
                assert_true(fabs(how->got[n][s][i] - sum) <= 1e-12); /* nothing is lost */
            }
}

#define APART(...) PAIRS("workers", "4", __VA_ARGS__)

/* The bits of each state are those of a run in which its policy is that of all states. */
static void the_policy_of_a_state_leaves_others_alone(void **state)
{
    (void)state;
    static apart exact, held, rounded, got;
    enum { X, Y };
    const size_t size = sizeof got.got[0][0];
    exact.sync = held.sync = rounded.sync = hawser_bsp();
    run_apart_on(1, APART("threads", "2"), &exact);
    run_apart_on(1, APART("filter", "absolute", "quota", "60"), &held);
    run_apart_on(1, APART("encoding", "x=bf16,y=bf16"), &rounded);
    for (int s = X; s <= Y; s++) {
        assert_memory_not_equal(exact.got[0][s], held.got[0][s], size);
        assert_memory_not_equal(exact.got[0][s], rounded.got[0][s], size);
    }
    const struct {
        const char *const *pairs;
        const apart *wanted[2];
        bool own;
    } rows[] = {
        {APART("filter", "x=absolute", "quota", "x=60"), {&held, &exact}, false},
        {APART("filter", "absolute,y=none", "quota", "60,y=0"), {&held, &exact}, false},
        {APART("filter", "y=absolute", "quota", "y=60", "encoding", "x=bf16"), {&rounded, &held}, false},
        {APART("threads", "2"), {&exact, &held}, true},
        {APART("filter", "y=none", "quota", "y=0", "encoding", "y=bf16"), {&exact, &rounded}, true},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        for (uint32_t count = 1; count <= 3; count += 2) {
            got = (apart){.sync = hawser_bsp(), .own = rows[k].own};
            run_apart_on(count, rows[k].pairs, &got);
            for (uint32_t n = 0; n < count; n++)
                for (int s = X; s <= Y; s++)
                    assert_memory_equal(got.got[n][s], rows[k].wanted[s]->got[0][s], size);
        }
    for (uint32_t late = 0; late < 4; late++) {
        got = (apart){.sync = late % 2 == 0 ? hawser_ssp(2) : hawser_tap(), .own = late < 2};
        run_apart_on(late < 2 ? 1 : 3, APART("filter", "x=fifo", "quota", "x=36", "encoding", "y=int8"), &got);
    }
}

int main(void)
{
    for (int i = 0; i < ROWS * COLS; i++)
        A[i] = sin(1.7 * i) / (1 + i % 3);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bits_of_threads),
        cmocka_unit_test(every_sync_over_several_hops),
        cmocka_unit_test(updates_over_slow_links_are_coalesced),
        cmocka_unit_test(the_policy_of_a_state_leaves_others_alone),
        cmocka_unit_test_setup_teardown(graphs_from_a_file, make_directory, remove_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
