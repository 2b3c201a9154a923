/* Stored states that are summed by clock, as units see them: a read has the sums of exactly the clocks that it waits for,
 * with the same bits for any threads, nodes and seeds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "hawser/stored.h"
#include "nodes.h"
#include "sanitized.h"

enum { COUNT = 23, CLOCKS = 12, BLOCKS_MOST = 5, LAG_MOST = 3 };

typedef struct summing {
    hawser_sync sync;
    uint64_t lag;
    double last[3][COUNT]; /* sums of the last clock, by node */
} summing;

static double pushed(uint32_t block, uint64_t clock, size_t key)
{
    return 1.0 / (double)(1 + key + 7 * block + 3 * clock);
}

/* Returns what the store must sum, in the order of blocks; pushes of odd blocks lack every third key. */
static double summed_of(uint32_t blocks, uint64_t clock, size_t key)
{
    double sum = 0;
    for (uint32_t b = 0; b < blocks; b++)
        sum += b % 2 == 1 && key % 3 == 0 ? 0 : pushed(b, clock, key);
    return sum;
}

/* Compares the sums of a clock that was read with `lag` clocks behind it in flight; then pushes this clock's numbers to the
 * place of those. */
static hawser_status sum_by_clock(hawser_context *context)
{
    const summing *t = hawser_user(context);
    uint64_t clock = hawser_clock(context), places = t->lag + 1, keys[COUNT];
    uint32_t block = hawser_block(context), blocks = hawser_blocks(context);
    const double *sums;
    double own[COUNT];
    size_t n = 0;
    if (clock > 0)
        HAWSER_TRY(hawser_prefetch(context, "sums", NULL, (clock - 1) % places * COUNT, COUNT));
    if (clock > t->lag) {
        HAWSER_TRY(hawser_prefetch_wait(context, "sums", &sums));
        for (size_t k = 0; k < COUNT; k++)
            if (sums[k] != summed_of(blocks, clock - 1 - t->lag, k))
                return hawser_unit_fail(context, HAWSER_INTERNAL, "sum %zu of clock %llu is %.17g", k,
                                        (unsigned long long)(clock - 1 - t->lag), sums[k]);
    }
    for (size_t k = 0; k < COUNT; k++)
        if (block % 2 == 0 || k % 3 != 0) {
            keys[n] = clock % places * COUNT + k;
            own[n++] = pushed(block, clock, k);
        }
    return hawser_inc(context, "sums", keys, own, n);
}

static void run_summing(hawser_job *job, summing *t, uint32_t node)
{
    hawser_run *result = NULL;
    hawser_error error = {0};
    hawser_program *program = hawser_program_new("summing", t);
    hawser_state *sums =
        HAWSER_STATE(program, "sums", HAWSER_STORED, .rows = (LAG_MOST + 1) * COUNT, .function = "assign", .summed = true);
    for (int twice = 0; twice < 2; twice++) { /* the clocks of the store go on */
        hawser_operator *loop =
            hawser_loop(hawser_root(program), twice ? "again" : "loop", (hawser_until){.clocks = CLOCKS}, t->sync);
        HAWSER_UNIT(loop, twice ? "sum again" : "sum", sum_by_clock, .updates = {sums});
    }
    if (hawser_run_program(job, program, &result, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    if (t->sync.tightness == HAWSER_BSP)
        assert_null(hawser_run_figures(result)->repeatable);
    if (hawser_result_range(result, "sums", (CLOCKS - 1) % (t->lag + 1) * COUNT, COUNT, t->last[node], &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    hawser_run_free(result);
    hawser_program_free(program);
}

static void sum_on_node(test_node *node)
{
    run_summing(node->job, node->user, node->node);
}

static test_job job_of(uint32_t blocks)
{
    char workers[8];
    snprintf(workers, sizeof workers, "%u", blocks);
    return OPEN_JOB("workers", workers, "threads", "3", "timeout", "30");
}

/* A read has all blocks' numbers of exactly the clocks before it, added in the order of blocks: under each policy, with
 * each seed, on threads and on nodes. */
static void test_sums_by_clock(void **ignored)
{
    (void)ignored;
    static summing t;
    static const hawser_sync syncs[] = {{HAWSER_BSP, 0},   {HAWSER_SSP, 1},   {HAWSER_SSP, 3},
                                        {HAWSER_DELAY, 1}, {HAWSER_DELAY, 3}, {HAWSER_TAP, 0}};
    for (size_t k = 0; k < sizeof syncs / sizeof *syncs; k++) {
        for (uint64_t seed = 0; seed < (THREAD_SANITIZED ? 8 : 24); seed++) {
            uint32_t blocks = 1 + seed % BLOCKS_MOST;
            test_job test = job_of(blocks);
            bool alone = blocks == 1; /* one block is under bsp, where reads end with their clock */
            t = (summing){.sync = syncs[k], .lag = alone ? 0 : syncs[k].staleness};
            if (seed % 4 != 3)
                hw_job_use_fibers(test.job, seed);
            run_summing(test.job, &t, 0);
            for (size_t i = 0; i < COUNT; i++)
                assert_true(t.last[0][i] == summed_of(blocks, CLOCKS - 1, i));
            close_job(test);
        }
        test_node nodes[3];
        const char *const pairs[] = {"workers", "5", "timeout", "30", NULL};
        t = (summing){.sync = syncs[k], .lag = syncs[k].staleness};
        run_nodes(nodes, 3, pairs, sum_on_node, &t);
        for (int n = 0; n < 3; n++)
            for (size_t i = 0; i < COUNT; i++)
                assert_true(t.last[n][i] == summed_of(5, CLOCKS - 1, i));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums_by_clock)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
