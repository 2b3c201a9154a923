/* Overflow of integers is an error, decided by the canonical order of sums, for threads, nodes and topologies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "hawser/stored.h"
#include "nodes.h"

enum { MOST_BLOCKS = 3 };
/* What each block adds to entry 700, on what the state begins with. */
typedef struct edge {
    hawser_type type;
    int64_t begins, adds[MOST_BLOCKS];
    bool by_inc, late;
    const char *error; /* NULL: the sum fits */
} edge;

static hawser_status add_edge(hawser_context *context)
{
    const edge *e = hawser_user(context);
    uint64_t entry = 700;
    int64_t add = e->adds[hawser_block(context)];
    int32_t small = (int32_t)add;
    if (e->by_inc)
        return e->type == HAWSER_I64 ? hawser_inc(context, "x", &entry, &add, 1)
                                     : hawser_inc(context, "x", &entry, &small, 1);
    if (e->type == HAWSER_I64) {
        HAWSER_WRITE(context, int64_t, x); /* other updates may have arrived under ssp */
        x[entry] = (int64_t)((uint64_t)x[entry] + (uint64_t)add);
    } else {
        HAWSER_WRITE(context, int32_t, x);
        x[entry] = (int32_t)((uint32_t)x[entry] + (uint32_t)small);
    }
    return HAWSER_OK;
}

typedef struct edge_run {
    edge e;
    int64_t got[3];
} edge_run;

static void run_edge(test_node *node)
{
    enum { N = 900 };
    edge_run *r = node->user;
    static _Thread_local int64_t wide[N];
    static _Thread_local int32_t narrow[N];
    hawser_run *run = NULL;
    bool is_long = r->e.type == HAWSER_I64;
    wide[700] = r->e.begins;
    narrow[700] = (int32_t)r->e.begins;
    hawser_program *program = hawser_program_new("edge", &r->e);
    hawser_state *x = HAWSER_STATE(program, "x", HAWSER_REPLICATED, .type = r->e.type, .rows = N,
                                   .initial = is_long ? (void *)wide : narrow);
    hawser_operator *loop =
        hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 1}, r->e.late ? hawser_ssp(1) : hawser_bsp());
    HAWSER_UNIT(loop, "add", add_edge, .updates = {x});
    node->status = hawser_run_program(node->job, program, &run, &node->error);
    if (node->status == HAWSER_OK)
        r->got[node->node] = is_long ? RESULT(int64_t, run, "x", NULL)[700] : RESULT(int32_t, run, "x", NULL)[700];
    hawser_run_free(run);
    hawser_program_free(program);
}

static void judge_edge(const edge *e, const test_node *node, int64_t got)
{
    int64_t sum = e->begins;
    if (e->error == NULL) {
        for (int b = 0; b < MOST_BLOCKS; b++)
            sum = (int64_t)((uint64_t)sum + (uint64_t)e->adds[b]);
        if (node->status != HAWSER_OK)
            fail_msg("%s", node->error.text);
        assert_int_equal(got, sum);
        return;
    }
    if (node->status != HAWSER_NOT_FINITE)
        fail_msg("%d, %s: %lld and %lld, %lld, %lld give %lld", (int)node->status, node->error.text, (long long)e->begins,
                 (long long)e->adds[0], (long long)e->adds[1], (long long)e->adds[2], (long long)got);
    if (strstr(node->error.text, e->error) == NULL || strstr(node->error.text, "'x'") == NULL ||
        strstr(node->error.text, "entry 700") == NULL)
        fail_msg("'%s' does not say '%s', 'x' and entry 700", node->error.text, e->error);
}

/* The tree over three blocks is (0 + 1) + 2, then the sum is added to the state. */
static void overflow_is_an_error(void **state)
{
    (void)state;
    static const edge edges[] = {
        {HAWSER_I64, INT64_MAX - 6, {1, 2, 3}, false, false, NULL},
        {HAWSER_I64, INT64_MAX - 5, {1, 2, 3}, false, false, "overflow"},
        {HAWSER_I64, INT64_MIN + 6, {-1, -2, -3}, true, false, NULL},
        {HAWSER_I64, INT64_MIN + 5, {-1, -2, -3}, true, false, "overflow"},
        {HAWSER_I64, -5, {INT64_MAX - 5, 1, 4}, false, false, NULL},        /* fits in this order, */
        {HAWSER_I64, -5, {INT64_MAX - 5, 6, -6}, false, false, "overflow"}, /* and not in this, though the whole fits */
        {HAWSER_I64, -5, {INT64_MAX - 5, -6, 6}, false, false, NULL},
        {HAWSER_I64, INT64_MAX, {1, 0, 0}, true, false, "overflows i64"}, /* of hawser_inc */
        /* The first cache is the largest number. Its difference, wrapped around, would fit with that of the second. */
        {HAWSER_I64, INT64_MIN, {-1, 5, 0}, false, false, "overflows i64"},
        {HAWSER_I64, INT64_MAX - 1, {1, 1, 0}, false, true, "overflow"}, /* on arrival */
        {HAWSER_I32, INT32_MAX - 6, {1, 2, 3}, false, false, NULL},
        {HAWSER_I32, INT32_MAX - 5, {1, 2, 3}, false, false, "overflows i32"},
        {HAWSER_I32, 0, {INT32_MIN, -1, 1}, false, false, "overflow"},
        {HAWSER_I32, INT32_MIN, {0, -1, 0}, true, false, "overflows i32"},
    };
    static const char *const topologies[] = {"all", "tree", "servers:2"};
    for (size_t k = 0; k < sizeof edges / sizeof *edges; k++)
        for (uint32_t count = 1; count <= 3; count += 1 + (uint32_t)(k % 2)) {
            edge_run r = {.e = edges[k]};
            test_node nodes[NODES_MOST];
            const char *const pairs[] = {"workers", "3", "topology", topologies[k % 3], "timeout", "60", NULL};
            const char *const alone[] = {"workers", "3", "timeout", "60", "alone", "yes", NULL};
            if (count == 1) {
                test_job test = open_job(alone);
                nodes[0] = (test_node){.job = test.job, .user = &r};
                run_edge(&nodes[0]);
                close_job(test);
            } else {
                run_nodes(nodes, count, pairs, run_edge, &r);
            }
            for (uint32_t n = 0; n < count; n++)
                judge_edge(&r.e, &nodes[n], r.got[n]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(overflow_is_an_error)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
