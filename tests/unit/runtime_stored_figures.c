/* Figures of a run count a store's requests by the worker that made them, and bytes only between processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "hawser/stored.h"
#include "nodes.h"

enum {
    N = 4000,
    CLOCKS = 20,
    STEP = 400,
    BLOCKS = 4,
    CONTROL = 1500 /* bytes of control messages of a block in a clock, at most */
};

/* Block b adds (b + 1) * STEP numbers with all their bits, spread over the state. */
static hawser_status add(hawser_context *context)
{
    uint64_t keys[N];
    double values[N];
    size_t count = STEP * (hawser_block(context) + 1);
    for (size_t i = 0; i < count; i++) {
        keys[i] = i * N / count;
        values[i] = 0.5 + hawser_random_uniform(context) / 3;
    }
    return hawser_inc(context, "x", keys, values, count);
}

typedef struct seen {
    uint64_t sent[BLOCKS], asked, between;
    double reported; /* bytes of all blocks, after the last clock */
} seen;

static void watch(const hawser_progress *progress, void *user)
{
    seen *t = user;
    t->reported = hawser_progress_metric(progress, "bytes");
}

static void run(hawser_job *job, seen *t)
{
    hawser_run *result = NULL;
    hawser_error error = {0};
    hawser_program *program = hawser_program_new("figures", NULL);
    hawser_state *x = HAWSER_STATE(program, "x", HAWSER_STORED, .rows = N, .function = "add");
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = CLOCKS}, hawser_bsp());
    HAWSER_UNIT(loop, "add", add, .updates = {x});
    if (hawser_job_leads(job))
        hawser_observe(job, watch, t);
    if (hawser_run_program(job, program, &result, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    if (hawser_job_leads(job)) {
        const hawser_figures *figures = hawser_run_figures(result);
        for (uint32_t b = 0; b < BLOCKS; b++)
            t->sent[b] = figures->worker[b].bytes_sent;
        for (size_t i = 0; i < figures->flow_count; i++)
            if (strcmp(figures->flows[i].name, "ask") == 0)
                t->asked = figures->flows[i].bytes_sent;
        for (size_t i = 0; i < figures->link_count; i++)
            t->between += figures->links[i].bytes_sent;
    }
    hawser_run_free(result);
    hawser_program_free(program);
}

static void run_on_node(test_node *node)
{
    run(node->job, node->user);
}

static void bytes_are_those_of_the_worker_that_pushed(void **state)
{
    (void)state;
    test_node nodes[2];
    seen t = {0};
    uint64_t sum = 0;
    const char *const pairs[] = {"workers", "4", "timeout", "30", NULL};
    run_nodes(nodes, 2, pairs, run_on_node, &t);
    for (uint64_t b = 0; b < BLOCKS; b++) {
        /* The state's numbers are on both nodes, so about half of what a block adds leaves its node. */
        uint64_t all = CLOCKS * STEP * (b + 1) * sizeof(double);
        if (t.sent[b] < all * 3 / 10 || t.sent[b] > all * 8 / 10 + CLOCKS * CONTROL)
            fail_msg("block %d sent %llu bytes and pushed %llu", (int)b, (unsigned long long)t.sent[b],
                     (unsigned long long)all);
        sum += t.sent[b];
    }
    assert_true(t.asked > 0 && t.asked <= sum && t.asked <= t.between);
    /* What is reported clock by clock has the store's bytes, too. */
    assert_true(t.reported > 0.9 * (double)t.asked && t.reported <= (double)sum);
}

static void pushes_within_a_process_send_no_bytes(void **state)
{
    (void)state;
    test_job test = OPEN_JOB("workers", "4", "timeout", "30");
    seen t = {0};
    run(test.job, &t);
    close_job(test);
    assert_int_equal(t.asked, 0);
    for (int b = 0; b < BLOCKS; b++)
        assert_true(t.sent[b] <= CLOCKS * CONTROL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_those_of_the_worker_that_pushed),
        cmocka_unit_test(pushes_within_a_process_send_no_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
