/* Nodes of one job, with the n-th allocation failing on whichever comes to it: all end, in words, wherever it was; alone or
 * with all that follow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "failing.h"
#include "nodes.h"

enum { NODES = 3, HANGS_SECONDS = 60, EARLY = 100 /* allocations that a run cannot do without */ };

static double numbers[18] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18};
static const hawser_matrix matrix = {.rows = 3, .cols = 6, .stored = 18, .values = numbers, .stride = 3};

static hawser_status add(hawser_context *context)
{
    const hawser_matrix *part;
    HAWSER_TRY(hawser_read(context, "data", &part));
    HAWSER_WRITE(context, double, v);
    for (size_t j = 0; j < part->cols; j++)
        hawser_column_axpy(part, j, 0.1, v);
    return HAWSER_OK;
}

static hawser_status train(hawser_job *job, hawser_error *error)
{
    hawser_program *program = hawser_program_new("failing", NULL);
    hawser_state *data = HAWSER_STATE(program, "data", HAWSER_DATA, .matrix = &matrix, .split = HAWSER_BY_COLUMN);
    hawser_state *v = HAWSER_STATE(program, "v", HAWSER_REPLICATED, .rows = 3);
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 3}, hawser_ssp(1));
    HAWSER_UNIT(loop, "add", add, .reads = {data}, .updates = {v});
    hawser_run *run = NULL;
    hawser_status status = hawser_run_program(job, program, &run, error);
    hawser_run_free(run);
    hawser_program_free(program);
    return status;
}

typedef struct want {
    long nth;         /* allocation that fails, from the moment at which all nodes are there */
    bool for_good;    /* and so do those after it */
    atomic_uint here; /* nodes */
} want;

/* Up to the run there is memory. */
static void body(test_node *node)
{
    want *how = node->user;
    if (atomic_fetch_add(&how->here, 1) + 1 == NODES) {
        atomic_store(&for_good, how->for_good);
        atomic_store(&countdown, how->nth);
        atomic_fetch_add(&how->here, 1);
    }
    while (atomic_load(&how->here) <= NODES)
        sched_yield();
    node->status = train(node->job, &node->error);
}

static void check(const test_node *nodes, const want *how)
{
    bool named = false;
    for (uint32_t i = 0; i < NODES; i++) {
        bool fits =
            nodes[i].status == HAWSER_OK || nodes[i].status == HAWSER_NO_MEMORY || nodes[i].status == HAWSER_PEER_LOST;
        if (!fits || (nodes[i].status != HAWSER_OK && nodes[i].error.text[0] == '\0'))
            fail_msg("allocation %ld fails: node %u: %s, '%s'", how->nth, i, hawser_status_name(nodes[i].status),
                     nodes[i].error.text);
        named |= nodes[i].status != HAWSER_OK;
    }
    if (how->for_good && how->nth < EARLY && !named)
        fail_msg("allocation %ld and all that follow fail, and no node says so", how->nth);
}

/* False: the run needs fewer allocations. */
static bool fail_at(long nth, bool forever)
{
    static const char *const pairs[] = {"workers", "6", "failure-timeout", "5", NULL};
    test_node nodes[NODES_MOST];
    want how = {.nth = nth, .for_good = forever};
    alarm(HANGS_SECONDS); /* what hangs ends by it */
    run_nodes(nodes, NODES, pairs, body, &how);
    alarm(0);
    bool happened = atomic_load(&countdown) <= 0;
    atomic_store(&for_good, false);
    atomic_store(&countdown, 0);
    if (happened)
        check(nodes, &how);
    return happened;
}

static void each_ends_all_nodes(void **state)
{
    (void)state;
    long n = 1;
    while (fail_at(n, false))
        n += 1 + n / 12;
    assert_true(n > 100);
}

static void none_after_it_ends_all_nodes(void **state)
{
    (void)state;
    long n = 1;
    while (fail_at(n, true))
        n += 1 + n / 12;
    assert_true(n > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_ends_all_nodes),
                                       cmocka_unit_test(none_after_it_ends_all_nodes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
