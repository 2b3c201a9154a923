/*
 * One program over several nodes: under BSP the bits of threads, under SSP and TAP the same guarantees; results everywhere;
 * a node that is lost, fails or runs something else ends the job everywhere, by name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cluster/internal.h"
#include "nodes.h"

enum { ROWS = 7, COLS = 23 };
static double A[ROWS * COLS];
static const hawser_matrix matrix = {.rows = ROWS, .cols = COLS, .stored = ROWS * COLS, .values = A, .stride = ROWS};

typedef struct outcome {
    double v[ROWS], alpha[COLS], board[COLS], size;
    uint64_t clocks;
    uint32_t most_lead;
    uint64_t late; /* messages that node 0 has dropped */
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
    const hawser_matrix *part;
    HAWSER_TRY(hawser_read(context, "A", &part));
    HAWSER_WRITE(context, double, v);
    HAWSER_WRITE(context, double, alpha);
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
    const hawser_matrix *part;
    HAWSER_TRY(hawser_read(context, "A", &part));
    HAWSER_READ(context, double, alpha);
    HAWSER_WRITE(context, double, v);
    for (size_t j = 0; j < part->cols; j++)
        hawser_column_axpy(part, j, alpha[j], v);
    return HAWSER_OK;
}

/* Values of a partitioned state, and a metric over all blocks. */
static hawser_status measure(hawser_context *context)
{
    HAWSER_READ(context, double, alpha);
    HAWSER_WRITE(context, double, board);
    double sum = 0;
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
    hawser_state *data = HAWSER_STATE(program, "A", HAWSER_DATA, .matrix = &matrix, .split = HAWSER_BY_COLUMN);
    hawser_state *v = HAWSER_STATE(program, odd && !how->odd_clocks ? "w" : "v", HAWSER_REPLICATED, .rows = ROWS,
                                   .damping = how->rule.damping, .gain = how->rule.gain, .derive = rebuild);
    hawser_state *alpha = HAWSER_STATE(program, "alpha", HAWSER_LOCAL, .along = data, .tie = v);
    hawser_state *board = HAWSER_STATE(program, "board", HAWSER_PARTITIONED, .rows = COLS, .along = data);
    hawser_metric_declare(program, "work", HAWSER_SUM);
    hawser_metric_declare(program, "size", HAWSER_SUM);
    hawser_operator *outer = hawser_loop(hawser_root(program), "outer", (hawser_until){.clocks = odd ? 4 : 3}, hawser_bsp());
    hawser_operator *loop = hawser_loop(outer, "inner", (hawser_until){.test = enough}, how->sync);
    HAWSER_UNIT(loop, "sweep", sweep, .reads = {data}, .updates = {v, alpha});
    HAWSER_UNIT(outer, "measure", measure, .reads = {data, alpha}, .updates = {board});
    return program;
}

static hawser_status run_once(hawser_job *job, plan *how, bool odd, outcome *result, hawser_error *error)
{
    hawser_program *program = make_program(how, odd);
    hawser_run *run = NULL;
    hawser_status status = hawser_run_program(job, program, &run, error);
    memset(result, 0, sizeof *result);
    if (status == HAWSER_OK) {
        memcpy(result->v, RESULT(double, run, "v", NULL), sizeof result->v);
        memcpy(result->alpha, RESULT(double, run, "alpha", NULL), sizeof result->alpha);
        memcpy(result->board, RESULT(double, run, "board", NULL), sizeof result->board);
        result->size = hawser_result_metric(run, "size");
        result->clocks = hawser_run_figures(run)->clocks;
        result->most_lead = hawser_run_figures(run)->most_lead;
        result->late = hawser_run_figures(run)->accept_count > 0 ? hawser_run_figures(run)->accepts[0].late_messages : 0;
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
    HAWSER_WRITE(context, double, x);
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
    hawser_state *x =
        HAWSER_STATE(program, "x", HAWSER_REPLICATED, .rows = LARGE, .initial = how->initial, .damping = 1, .gain = 1);
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 40}, how->sync);
    HAWSER_UNIT(loop, "add", add_some, .reads = {x}, .updates = {x});
    node->status = hawser_run_program(node->job, program, &run, &node->error);
    if (node->status == HAWSER_OK)
        memcpy(how->values[node->node], RESULT(double, run, "x", NULL), sizeof how->initial);
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

/* ----------------------------------------------------------------------------------------------------- first causes ---- */

typedef struct blame {
    char words[200];
    atomic_uint opened;   /* nodes whose job is open */
    atomic_bool received; /* by node 3 */
} blame;

/* Node 1 leaves because of node 2. Node 0 leaves when it finds node 1 gone. Node 3 waits for all, and node 2, which lives,
 * until it has received this. */
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

/* ------------------------------------------------------------------------------------------------- forged messages ---- */

enum { JOBS = 3 };

/* What the test's channel on node 0 has received: the sessions of its messages, and their number. */
typedef struct received {
    atomic_uint count, wrong;
} received;

static void keep_received(void *argument, uint32_t node, hw_message *message)
{
    received *self = argument;
    atomic_fetch_add(&self->wrong, message->envelope.session != JOBS || node != 1);
    atomic_fetch_add(&self->count, 1);
    hw_message_free(message);
}

static const hw_channel test_channel = {
    .name = "a test", .kinds = {HW_MESSAGE_ASK, HW_MESSAGE_ANSWER}, .arrived = keep_received};
static const hw_channel second_channel = {.name = "another test", .kinds = {HW_MESSAGE_ANSWER}, .arrived = keep_received};
static const hw_channel run_channel = {.name = "a run's test", .kinds = {HW_MESSAGE_UPDATE}, .arrived = keep_received};

static hawser_status forge(hw_cluster *cluster, hw_message_kind kind, uint32_t session, hawser_error *error)
{
    hw_message *message = NULL;
    HAWSER_TRY(hw_message_new(8, &message, error));
    memset(message->payload, 0, 8);
    message->envelope.kind = (uint8_t)kind;
    message->envelope.session = session;
    return hw_net_send(hw_cluster_net(cluster), 0, message, error);
}

/* In the third job of a cluster node 1 sends messages of the jobs and runs before, of later jobs, and of a channel that is
 * closed; then two that belong there. */
static hawser_status forge_all(hw_cluster *cluster, uint64_t *late, hawser_error *error)
{
    static const uint8_t kinds[] = {HW_MESSAGE_ASK, HW_MESSAGE_ANSWER, HW_MESSAGE_KEPT, HW_MESSAGE_DATA, HW_MESSAGE_UPDATE};
    for (size_t i = 0; i < sizeof kinds; i++) {
        bool beside = hw_message_scope(kinds[i]) == HW_SCOPE_CHANNEL;
        for (uint32_t session = 0; session < JOBS + 5; session++)
            if (session < JOBS ? kinds[i] != HW_MESSAGE_UPDATE || session == 0 : session > JOBS && beside) {
                HAWSER_TRY(forge(cluster, (hw_message_kind)kinds[i], session, error));
                ++*late;
            }
    }
    HAWSER_TRY(forge(cluster, HW_MESSAGE_ASK, JOBS, error));
    return forge(cluster, HW_MESSAGE_ANSWER, JOBS, error);
}

static void forge_body(test_node *node)
{
    hw_cluster *cluster = node->job->cluster;
    received got = {0};
    uint64_t late = 0;
    node->status = HAWSER_OK;
    for (int i = 0; i < JOBS && node->status == HAWSER_OK; i++)
        node->status = hw_cluster_open_job(cluster, 60, HAWSER_OK, &node->error);
    if (node->status == HAWSER_OK && node->node == 0) {
        node->status = hw_cluster_open_channel(cluster, &test_channel, &got, &node->error);
        if (hw_cluster_open_channel(cluster, &second_channel, &got, NULL) != HAWSER_INTERNAL ||
            hw_cluster_open_channel(cluster, &run_channel, &got, NULL) != HAWSER_INTERNAL)
            node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "two channels have one kind of message");
    }
    uint64_t before = hw_cluster_dropped_messages(cluster).late; /* node 1 may send as soon as this node has agreed */
    node->status = hw_cluster_agree(cluster, node->status, &node->error);
    if (node->status == HAWSER_OK && node->node == 1)
        node->status = forge_all(cluster, &late, &node->error);
    hw_bytes *in = calloc(2, sizeof *in);
    if (node->status == HAWSER_OK) /* behind all of them, on the same link */
        node->status = hw_cluster_allgather(cluster, (hw_bytes){&late, sizeof late}, in, &node->error);
    if (node->status == HAWSER_OK && node->node == 0) {
        uint64_t dropped = hw_cluster_dropped_messages(cluster).late - before;
        memcpy(&late, in[1].data, sizeof late);
        if (dropped != late || late < 20 || atomic_load(&got.count) != 2 || atomic_load(&got.wrong) != 0)
            node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "%llu of %llu messages dropped, %u received",
                                       (unsigned long long)dropped, (unsigned long long)late, atomic_load(&got.count));
    }
    hw_bytes_free(in, 2);
    if (node->node == 0)
        hw_cluster_close_channel(cluster, &test_channel);
    node->status = hw_cluster_agree(cluster, node->status, &node->error);
}

static void messages_of_other_sessions_are_dropped(void **state)
{
    (void)state;
    static const char *const pairs[] = {"workers", "2", NULL};
    test_node nodes[NODES_MOST];
    run_nodes(nodes, 2, pairs, forge_body, NULL);
    for (int i = 0; i < 2; i++)
        if (nodes[i].status != HAWSER_OK)
            fail_msg("node %d: %s", i, nodes[i].error.text);
}

/* Node 1 sends to a channel that node 0 has not open, before a run. */
static void count_body(test_node *node)
{
    plan *how = node->user;
    for (int i = 0; i < 3 && node->node == 1 && node->status == HAWSER_OK; i++)
        node->status = forge(node->job->cluster, HW_MESSAGE_ASK, 0, &node->error);
    if (node->status == HAWSER_OK)
        node->status = run_once(node->job, how, false, &how->outcomes[node->node], &node->error);
}

static void figures_count_dropped_messages(void **state)
{
    (void)state;
    plan how = usual(hawser_bsp());
    test_node nodes[NODES_MOST];
    run_nodes(nodes, 2, (const char *const[]){"workers", "2", NULL}, count_body, &how);
    check_all(nodes, 2, "dropped messages");
    assert_int_equal(how.outcomes[0].late, 3);
}

/* --------------------------------------------------------------------------------- several runs, and several losses ---- */

enum { RUNS = 3, EACH = 20, TRIO = 3 };

static hw_message *receive_soon(hw_transport *transport, uint32_t endpoint)
{
    hw_message *message = NULL;
    double until = hw_seconds() + 60;
    while ((message = transport->ops->receive(transport, endpoint)) == NULL && hw_seconds() < until)
        sched_yield();
    return message;
}

/* Sends to the next node's block over runs in turn, and receives as many over each: in order, and those of that run alone.
 * Runs before `from` have ended. */
static hawser_status talk(const test_node *node, hw_transport *const *runs, uint32_t from, hawser_error *error)
{
    for (uint64_t i = 0; i < EACH; i++)
        for (uint32_t r = from; r < RUNS; r++) {
            hw_message *message = NULL;
            HAWSER_TRY(hw_message_new(0, &message, error));
            message->envelope.kind = HW_MESSAGE_UPDATE;
            message->envelope.clock = i * RUNS + r;
            HAWSER_TRY(runs[r]->ops->send(runs[r], node->node, (node->node + 1) % TRIO, message, error));
        }
    for (uint32_t r = RUNS; r-- > from;)
        for (uint64_t i = 0; i < EACH; i++) {
            hw_message *message = receive_soon(runs[r], node->node);
            uint64_t got = message != NULL ? message->envelope.clock : UINT64_MAX;
            hw_message_free(message);
            if (got != i * RUNS + r)
                return hawser_fail(error, HAWSER_INTERNAL, "run %u received %llu as message %llu", r,
                                   (unsigned long long)got, (unsigned long long)i);
        }
    return HAWSER_OK;
}

/* The loss of a node reaches all local endpoints of every run in progress, once, in the order of the losses. */
static hawser_status see_losses(hw_cluster *cluster, hw_transport *const *runs, uint32_t first, hawser_error *error)
{
    const uint32_t order[] = {first, TRIO - first}, endpoints[] = {0, TRIO, TRIO + 1}; /* block, driver, agent */
    for (int i = 0; i < 2; i++) {
        hw_cluster_lost(cluster, order[i], "the test says so", 0);
        hw_cluster_lost(cluster, order[i], "the test says it again", 0);
    }
    if (!hw_members_is_lost(hw_cluster_members(cluster), order[0]) || hw_members_is_lost(hw_cluster_members(cluster), 0))
        return hawser_fail(error, HAWSER_INTERNAL, "the members have other losses");
    for (uint32_t r = 1; r < RUNS; r++)
        for (size_t e = 0; e < 3; e++)
            for (int i = 0; i < 3; i++) {
                hw_message *message =
                    i < 2 ? receive_soon(runs[r], endpoints[e]) : runs[r]->ops->receive(runs[r], endpoints[e]);
                uint32_t node = UINT32_MAX;
                if (message != NULL && message->envelope.kind == HW_MESSAGE_LOST)
                    node = ((const hw_loss *)message->payload)->node;
                hw_message_free(message);
                if (node != (i < 2 ? order[i] : UINT32_MAX))
                    return hawser_fail(error, HAWSER_INTERNAL, "run %u, endpoint %u: loss %d is of node %u", r, endpoints[e],
                                       i, node);
            }
    return HAWSER_OK;
}

static void runs_body(test_node *node)
{
    hw_cluster *cluster = node->job->cluster;
    const uint32_t home[] = {0, 1, 2, 0, 0, 1, 2}, *first = node->user; /* blocks, driver, agents */
    hw_transport *runs[RUNS] = {NULL}, *early = NULL;
    node->status = HAWSER_OK;
    for (uint32_t r = 0; r < RUNS && node->status == HAWSER_OK; r++) {
        node->status = hw_cluster_begin(cluster, 2 * TRIO + 1, TRIO, home, &runs[r], &node->error);
        if (node->status == HAWSER_OK &&
            hw_cluster_begin(cluster, 2 * TRIO + 1, TRIO, home, &early, &node->error) != HAWSER_INTERNAL)
            node->status = hawser_fail(&node->error, HAWSER_BAD_INPUT, "two runs that are not attached");
        if (node->status == HAWSER_OK)
            node->status = hw_cluster_attach(cluster, runs[r], &node->error);
    }
    if (node->status == HAWSER_OK)
        node->status = talk(node, runs, 0, &node->error);
    hw_cluster_end(cluster, runs[0]); /* other nodes may still be at work in it */
    if (node->status == HAWSER_OK)
        node->status = talk(node, runs, 1, &node->error);
    hawser_error own = node->error;
    node->status = hw_cluster_agree(cluster, node->status, &own);
    if (node->status == HAWSER_OK && node->node == 0)
        node->status = see_losses(cluster, runs, *first, &node->error);
    hw_cluster_end(cluster, runs[2]);
    hw_cluster_end(cluster, runs[1]);
}

static void runs_go_on_beside_each_other_and_see_every_loss(void **state)
{
    (void)state;
    static const char *const pairs[] = {"workers", "3", NULL};
    for (uint32_t first = 1; first < TRIO; first++) {
        test_node nodes[NODES_MOST];
        run_nodes(nodes, TRIO, pairs, runs_body, &first);
        for (int i = 0; i < TRIO; i++)
            if (nodes[i].status != HAWSER_OK)
                fail_msg("node %d: %s", i, nodes[i].error.text);
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
        cmocka_unit_test(messages_of_other_sessions_are_dropped),
        cmocka_unit_test(figures_count_dropped_messages),
        cmocka_unit_test(runs_go_on_beside_each_other_and_see_every_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
