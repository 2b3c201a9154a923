/*
 * One program over several nodes: under BSP the bits of threads, under SSP and TAP the same guarantees; results everywhere; a node
 * that is lost, fails or runs something else ends the job everywhere, by name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "nodes.h"

enum { ROWS = 7, COLS = 23 };
static double A[ROWS * COLS];
static const hawser_matrix matrix = {.rows = ROWS, .cols = COLS, .stored = ROWS * COLS, .values = A, .stride = ROWS};

typedef struct outcome {
    double v[ROWS], alpha[COLS], board[COLS], size;
    uint64_t clocks;
    uint32_t most_lead;
} outcome;

typedef struct plan {
    hawser_rule rule;
    hawser_sync sync;
    uint32_t fails_at; /* block whose unit fails in clock 4; UINT32_MAX: none */
    uint32_t odd_node; /* node that runs another program */
    bool odd_clocks;   /* that program has another number of clocks, instead of another state */
    uint32_t quits;    /* node that leaves without running */
    outcome outcomes[NODES_MOST];
} plan;

static hawser_status sweep(hawser_context *context)
{
    const plan *how = hawser_user(context);
    const hawser_matrix *part = hawser_data_view(context, "A");
    double *v = hawser_cache(context, "v"), *alpha = hawser_local(context, "alpha");
    for (size_t n = 0; n < part->cols; n++) {
        size_t j = hawser_random_below(context, part->cols);
        double step = 0.1 * hawser_random_uniform(context) * (1 - hawser_column_dot(part, j, v)) / hawser_gain(context, "v");
        hawser_column_axpy(part, j, step * hawser_gain(context, "v"), v);
        alpha[j] += step;
        if (n == 2)
            HAWSER_TRY(hawser_yield(context));
    }
    if (hawser_block(context) == how->fails_at && hawser_clock(context) == 4)
        return hawser_unit_fail(context, HAWSER_DIVERGED, "block %u was told to fail", how->fails_at);
    return hawser_report(context, "work", hawser_random_uniform(context));
}

static hawser_status rebuild(hawser_context *context)
{
    const hawser_matrix *part = hawser_data_view(context, "A");
    const double *alpha = hawser_local(context, "alpha");
    for (size_t j = 0; j < part->cols; j++)
        hawser_column_axpy(part, j, alpha[j], hawser_cache(context, "v"));
    return HAWSER_OK;
}

/* Values of a partitioned state, and a metric over all blocks. */
static hawser_status measure(hawser_context *context)
{
    const double *alpha = hawser_local(context, "alpha");
    double *board = hawser_local(context, "board"), sum = 0;
    size_t count = hawser_part(context, "board", NULL);
    for (size_t j = 0; j < count; j++) {
        sum += fabs(alpha[j]);
        board[j] = 2 * alpha[j];
    }
    return hawser_report(context, "size", sum);
}

static bool enough(hawser_progress *progress, void *user)
{
    (void)user;
    if (hawser_progress_clock(progress) == 2)
        hawser_progress_gain(progress, "v", 3);
    return hawser_progress_metric(progress, "work") > 3.4 || hawser_progress_clock(progress) >= 11;
}

static hawser_program *make_program(plan *how, bool odd)
{
    hawser_program *program = hawser_program_new("nodes", how);
    hawser_state *data = hawser_data_state(program, "A", &matrix, HAWSER_BY_COLUMN);
    hawser_state *v = hawser_replicated_state(program, odd && !how->odd_clocks ? "w" : "v", ROWS, 1, NULL, how->rule);
    hawser_state *alpha = hawser_local_state(program, "alpha", data, 1, NULL);
    hawser_state *board = hawser_partitioned_state(program, "board", COLS, data, NULL);
    hawser_tie(alpha, v);
    hawser_derive(v, rebuild);
    hawser_metric_declare(program, "work", HAWSER_SUM);
    hawser_metric_declare(program, "size", HAWSER_SUM);
    hawser_operator *outer = hawser_loop(hawser_root(program), "outer", (hawser_until){.clocks = odd ? 4 : 3}, hawser_bsp());
    hawser_operator *loop = hawser_loop(outer, "inner", (hawser_until){.test = enough}, how->sync);
    hawser_unit(loop, "sweep", sweep, HAWSER_READS(data), HAWSER_UPDATES(v, alpha));
    hawser_unit(outer, "measure", measure, HAWSER_READS(data, alpha), HAWSER_UPDATES(board));
    return program;
}

static hawser_status run_once(hawser_job *job, plan *how, bool odd, outcome *result, hawser_error *error)
{
    hawser_program *program = make_program(how, odd);
    hawser_run *run = NULL;
    hawser_status status = hawser_run_program(job, program, &run, error);
    memset(result, 0, sizeof *result);
    if (status == HAWSER_OK) {
        memcpy(result->v, hawser_result(run, "v", NULL), sizeof result->v);
        memcpy(result->alpha, hawser_result(run, "alpha", NULL), sizeof result->alpha);
        memcpy(result->board, hawser_result(run, "board", NULL), sizeof result->board);
        result->size = hawser_result_metric(run, "size");
        result->clocks = hawser_run_figures(run)->clocks;
        result->most_lead = hawser_run_figures(run)->most_lead;
    }
    hawser_run_free(run);
    hawser_program_free(program);
    return status;
}

/* Twice, so that a second run of a job does not meet the first one's messages. */
static void body(test_node *node)
{
    plan *how = node->user;
    if (node->node == how->quits)
        return;
    node->status = run_once(node->job, how, node->node == how->odd_node, &how->outcomes[node->node], &node->error);
    if (node->status == HAWSER_OK)
        node->status = run_once(node->job, how, false, &how->outcomes[node->node], &node->error);
}

static plan usual(hawser_sync sync)
{
    return (plan){.rule = {.damping = 1, .gain = 5},
                  .sync = sync,
                  .fails_at = UINT32_MAX,
                  .odd_node = UINT32_MAX,
                  .quits = UINT32_MAX};
}

#define PAIRS(...) ((const char *const[]){__VA_ARGS__, "seed", "11", "timeout", "60", "check", "yes", NULL})

static void assert_tied(const outcome *result)
{
    for (int i = 0; i < ROWS; i++) {
        double sum = 0, scale = 0;
        for (int j = 0; j < COLS; j++) {
            sum += A[j * ROWS + i] * result->alpha[j];
            scale += fabs(A[j * ROWS + i] * result->alpha[j]);
        }
        assert_true(fabs(sum - result->v[i]) <= 1e-14 * (1 + scale));
    }
    for (int j = 0; j < COLS; j++)
        assert_true(result->board[j] == 2 * result->alpha[j]);
}

static void nodes_do_not_matter(void **state)
{
    (void)state;
    plan how = usual(hawser_bsp());
    outcome first;
    hawser_error error = {0};
    test_job test = open_job(PAIRS("workers", "5"));
    assert_int_equal(run_once(test.job, &how, false, &first, &error), HAWSER_OK);
    close_job(test);
    assert_true(first.clocks > 3);
    for (uint32_t count = 1; count <= 5; count++) {
        test_node nodes[NODES_MOST];
        run_nodes(nodes, count, PAIRS("workers", "5"), body, &how);
        for (uint32_t i = 0; i < count; i++) {
            if (nodes[i].status != HAWSER_OK)
                fail_msg("node %u of %u: %s", i, count, nodes[i].error.text);
            assert_memory_equal(&first, &how.outcomes[i], sizeof first);
        }
    }
}

static void every_sync_and_filter(void **state)
{
    (void)state;
    const hawser_sync syncs[] = {hawser_bsp(), hawser_ssp(2), hawser_tap()};
    const char *const filters[] = {"none", "round-robin", "absolute"};
    for (int s = 0; s < 3; s++)
        for (int f = 0; f < 3; f++) {
            plan how = usual(syncs[s]);
            how.rule.gain = 15;
            test_node nodes[NODES_MOST];
            run_nodes(nodes, 3, PAIRS("workers", "5", "filter", filters[f], "quota", "40"), body, &how);
            for (uint32_t i = 0; i < 3; i++) {
                if (nodes[i].status != HAWSER_OK)
                    fail_msg("node %u: %s", i, nodes[i].error.text);
                assert_tied(&how.outcomes[i]);
                assert_memory_equal(&how.outcomes[0], &how.outcomes[i], sizeof(outcome));
                if (s < 2)
                    assert_true(how.outcomes[i].most_lead <= syncs[s].staleness);
            }
        }
}

static void a_failing_unit_ends_all(void **state)
{
    (void)state;
    for (uint32_t block = 0; block < 5; block += 2) {
        plan how = usual(hawser_bsp());
        how.fails_at = block;
        test_node nodes[NODES_MOST];
        run_nodes(nodes, 3, PAIRS("workers", "5"), body, &how);
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(nodes[i].status, HAWSER_DIVERGED);
            assert_non_null(strstr(nodes[i].error.text, "was told to fail"));
        }
    }
}

static void another_program_is_refused(void **state)
{
    (void)state;
    for (int clocks = 0; clocks < 2; clocks++) {
        plan how = usual(hawser_bsp());
        how.odd_node = 1;
        how.odd_clocks = clocks > 0;
        test_node nodes[NODES_MOST];
        run_nodes(nodes, 3, PAIRS("workers", "5"), body, &how);
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(nodes[i].status, HAWSER_BAD_PROGRAM);
            assert_non_null(strstr(nodes[i].error.text, "host-1"));
            assert_non_null(strstr(nodes[i].error.text, clocks > 0 ? "4 clocks under bsp" : "state 'w'"));
        }
    }
}

static void a_node_that_leaves_is_missed(void **state)
{
    (void)state;
    for (uint32_t quits = 0; quits < 3; quits++) {
        plan how = usual(hawser_bsp());
        how.quits = quits;
        test_node nodes[NODES_MOST];
        run_nodes(nodes, 3, PAIRS("workers", "5"), body, &how);
        for (uint32_t i = 0; i < 3; i++) {
            char name[20];
            snprintf(name, sizeof name, "host-%u", quits);
            if (i == quits)
                continue;
            assert_int_equal(nodes[i].status, HAWSER_PEER_LOST);
            if (strstr(nodes[i].error.text, name) == NULL)
                fail_msg("%s", nodes[i].error.text);
        }
    }
}

static void too_few_workers(void **state)
{
    (void)state;
    plan how = usual(hawser_bsp());
    test_node nodes[NODES_MOST];
    run_nodes(nodes, 3, PAIRS("workers", "2"), body, &how);
    for (uint32_t i = 0; i < 3; i++) { /* a node that is late may receive it from another node that has left */
        assert_true(nodes[i].status == HAWSER_BAD_OPTION || nodes[i].status == HAWSER_PEER_LOST);
        if (strstr(nodes[i].error.text, "2 workers are too few for 3 nodes") == NULL)
            fail_msg("%s", nodes[i].error.text);
    }
}

/* What goes from node to node between runs: sizes of all kinds, the empty one among them. */
static void trade(test_node *node)
{
    hw_bytes out[NODES_MOST] = {{0}}, in[NODES_MOST];
    for (uint32_t round = 0; round < 4 && node->status == HAWSER_OK; round++) {
        for (uint32_t d = 0; d < node->nodes; d++) {
            out[d].length = round == 0 ? 0 : round == 3 ? 20000000 + d : 1 + d + 10 * node->node;
            out[d].data = malloc(out[d].length + 1);
            memset(out[d].data, (int)(16 * node->node + d + round), out[d].length);
        }
        node->status = hw_cluster_alltoall(node->job->cluster, out, in, &node->error);
        for (uint32_t s = 0; s < node->nodes; s++) {
            size_t wanted = round == 0 ? 0 : round == 3 ? 20000000 + node->node : 1 + node->node + 10 * s;
            const unsigned char *bytes = in[s].data;
            for (size_t i = 0; node->status == HAWSER_OK && i < in[s].length; i++)
                if (bytes[i] != 16 * s + node->node + round)
                    node->status = HAWSER_BAD_INPUT;
            if (in[s].length != wanted)
                node->status = HAWSER_BAD_INPUT;
            free(in[s].data);
            free(out[s].data);
        }
    }
    hawser_status own = node->node == 2 ? hawser_fail(&node->error, HAWSER_IO, "no such file") : HAWSER_OK;
    if (node->status == HAWSER_OK)
        node->status = hw_cluster_agree(node->job->cluster, own, &node->error);
}

static void messages_from_all_nodes_to_all_nodes(void **state)
{
    (void)state;
    test_node nodes[NODES_MOST];
    run_nodes(nodes, 4, PAIRS("workers", "4"), trade, NULL);
    for (uint32_t i = 0; i < 4; i++) {
        if (nodes[i].status != HAWSER_IO)
            fail_msg("node %u: %s", i, nodes[i].error.text);
        assert_non_null(strstr(nodes[i].error.text, i == 2 ? "no such file" : "node 2 (host-2): no such file"));
    }
}

/* A large replicated state of which little changes, by numbers whose sums depend on their order. */
enum { LARGE = 200000 };
typedef struct large {
    hawser_sync sync;
    double initial[LARGE], values[NODES_MOST][LARGE];
    uint64_t sent[NODES_MOST]; /* bytes by node 0 */
} large;

static hawser_status add_some(hawser_context *context)
{
    double *x = hawser_cache(context, "x");
    for (int i = 0; i < 50; i++)
        x[i] += exp(40 * hawser_random_uniform(context));
    return HAWSER_OK;
}

/* Shared memory of the first link of a node that joins by hand, and of all other links. */
typedef struct shares {
    uint64_t first, other;
} shares;

static void look_at_links(test_node *node)
{
    const shares *wanted = node->user;
    hw_cluster *cluster = node->job->cluster;
    uint32_t self = hw_cluster_self(cluster);
    for (uint32_t i = 0; i < hw_cluster_nodes(cluster); i++) {
        hw_net_path path = {0};
        uint64_t bytes = self == 0 || i == 0 ? wanted->first : wanted->other;
        if (i != self && (!hw_net_path_of(hw_cluster_net(cluster), i, &path) || path.shared != bytes))
            node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "%u shares %llu bytes with %u", self,
                                       (unsigned long long)path.shared, i);
    }
}

/* A node that knows the number of nodes reserves memory for as many links, and little before. */
static void shared_memory_is_divided_among_links(void **state)
{
    (void)state;
    static const char *const pairs[] = {"threads", "1", "transport", "shm", NULL};
    enum { CONTROL = 4096, LEAST = 64 << 10, MOST = 512 << 10 };
    for (int by_hand = 0; by_hand < 2; by_hand++) {
        test_node nodes[4];
        shares wanted = {CONTROL + 2 * (by_hand ? LEAST : MOST), CONTROL + 2 * MOST};
        run_nodes_launched(nodes, 4, by_hand, pairs, look_at_links, &wanted);
        for (uint32_t i = 0; i < 4; i++)
            if (nodes[i].status != HAWSER_OK)
                fail_msg("%s", nodes[i].error.text);
    }
}

static void run_large(test_node *node)
{
    large *how = node->user;
    hawser_run *run = NULL;
    hawser_program *program = hawser_program_new("large", how);
    hawser_state *x = hawser_replicated_state(program, "x", LARGE, 1, how->initial, (hawser_rule){.damping = 1, .gain = 1});
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 40}, how->sync);
    hawser_unit(loop, "add", add_some, HAWSER_READS(x), HAWSER_UPDATES(x));
    node->status = hawser_run_program(node->job, program, &run, &node->error);
    if (node->status == HAWSER_OK)
        memcpy(how->values[node->node], hawser_result(run, "x", NULL), sizeof how->initial);
    for (uint32_t other = 1; node->node == 0 && other < node->nodes; other++) {
        hw_net_path path;
        if (hw_net_path_of(hw_cluster_net(node->job->cluster), other, &path))
            how->sent[other] = path.bytes_sent;
    }
    hawser_run_free(run);
    hawser_program_free(program);
}

static void results_reach_the_nodes_without_them(void **state)
{
    (void)state;
    large *how = calloc(1, sizeof *how);
    assert_non_null(how);
    for (int i = 0; i < LARGE; i++)
        how->initial[i] = 1 + i;
    for (int tap = 0; tap < 2; tap++) {
        test_node nodes[NODES_MOST];
        how->sync = tap ? hawser_tap() : hawser_bsp();
        run_nodes(nodes, 3, PAIRS("workers", "6"), run_large, how);
        for (uint32_t i = 0; i < 3; i++) {
            if (nodes[i].status != HAWSER_OK)
                fail_msg("node %u: %s", i, nodes[i].error.text);
            assert_memory_equal(how->values[0], how->values[i], sizeof how->initial);
            assert_true(how->values[i][LARGE - 1] == LARGE && how->values[i][0] > 1);
            if (!tap && how->sent[i] > sizeof how->initial / 4)
                fail_msg("node %u was sent %llu bytes", i, (unsigned long long)how->sent[i]);
        }
    }
    free(how);
}

/* ------------------------------------------------------------------------------------------------------- first causes ---- */

typedef struct blame {
    char words[200];
    atomic_uint opened;   /* nodes whose job is open */
    atomic_bool received; /* by node 3 */
} blame;

/* Node 1 leaves because of node 2. Node 0 leaves when it finds node 1 gone. Node 3 waits for all, and node 2, which lives, until it has
 * received this. */
static void blame_body(test_node *node)
{
    hw_cluster *cluster = node->job->cluster;
    blame *how = node->user;
    node->status = HAWSER_OK;
    atomic_fetch_add(&how->opened, 1);
    while (atomic_load(&how->opened) < node->nodes)
        sched_yield();
    if (node->node == 1)
        hw_cluster_set_reason(cluster, how->words);
    while (node->node == 0 && node->status == HAWSER_OK) {
        hw_message *message = NULL;
        assert_int_equal(hw_message_new(0, &message, NULL), HAWSER_OK);
        message->envelope.kind = HW_MESSAGE_ASK;
        node->status = hw_cluster_send(cluster, 1, message, &node->error);
        sched_yield();
    }
    if (node->node == 0)
        hw_cluster_set_reason(cluster, node->error.text);
    if (node->node > 1)
        node->status = hw_cluster_agree(cluster, HAWSER_OK, &node->error);
    if (node->node == 3)
        atomic_store(&how->received, true);
    while (node->node == 2 && !atomic_load(&how->received))
        sched_yield();
}

static void the_first_cause_is_printed_once(void **state)
{
    (void)state;
    static const char *const pairs[] = {"workers", "4", NULL};
    for (int round = 0; round < 5; round++) {
        test_node nodes[NODES_MOST];
        blame how = {"node 2 (host-2) was lost: a test says so; last heard 0.3 s ago; the job was at a test", 0, false};
        run_nodes(nodes, 4, pairs, blame_body, &how);
        assert_int_equal(nodes[0].status, HAWSER_PEER_LOST);
        assert_string_equal(nodes[0].error.text, how.words);
        assert_int_equal(nodes[3].status, HAWSER_PEER_LOST);
        assert_string_equal(nodes[3].error.text, how.words);
        /* A node that is reported as lost receives the name of the node that reported it. */
        if (strstr(nodes[2].error.text, ") has left the job: node 2 (host-2) was lost") == NULL)
            fail_msg("%s", nodes[2].error.text);
    }
}

int main(void)
{
    for (int i = 0; i < ROWS * COLS; i++)
        A[i] = sin(1.7 * i) / (1 + i % 3);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_do_not_matter),
        cmocka_unit_test(every_sync_and_filter),
        cmocka_unit_test(a_failing_unit_ends_all),
        cmocka_unit_test(another_program_is_refused),
        cmocka_unit_test(a_node_that_leaves_is_missed),
        cmocka_unit_test(too_few_workers),
        cmocka_unit_test(messages_from_all_nodes_to_all_nodes),
        cmocka_unit_test(results_reach_the_nodes_without_them),
        cmocka_unit_test(shared_memory_is_divided_among_links),
        cmocka_unit_test(the_first_cause_is_printed_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
