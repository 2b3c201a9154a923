/* The topology that --topology auto chooses from the hosts of the nodes, which this test gives names of their own, has the
 * bits of every other one under BSP. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nodes.h"

enum { LARGE = 6144, SMALL = 40, CLOCKS = 4 };

/* Each thread that asks is a node of its own: they are dealt out to the hosts in turn. */
static atomic_uint asked, hosts;
int __wrap_gethostname(char *name, size_t size);
int __wrap_gethostname(char *name, size_t size)
{
    static _Thread_local unsigned own = 0;
    if (own == 0)
        own = atomic_fetch_add(&asked, 1) + 1;
    (void)snprintf(name, size, "box-%u", own % atomic_load(&hosts));
    return 0;
}

typedef struct outcome {
    double large[LARGE], small[SMALL];
    char plan[6000];
} outcome;

typedef struct work {
    hawser_sync sync;
    outcome *outcomes;
} work;

/* Adds thirds, so that the order of additions shows in the bits. */
static hawser_status add(hawser_context *context)
{
    HAWSER_WRITE(context, double, large);
    HAWSER_WRITE(context, double, small);
    for (size_t i = 0; i < LARGE; i++)
        large[i] += hawser_random_uniform(context) / 3;
    for (size_t i = 0; i < SMALL; i++)
        small[i] += hawser_random_uniform(context) / 3;
    return HAWSER_OK;
}

static hawser_status run_once(hawser_job *job, hawser_sync sync, outcome *result, hawser_error *error)
{
    hawser_program *program = hawser_program_new("hosts", NULL);
    hawser_state *large = HAWSER_STATE(program, "large", HAWSER_REPLICATED, .rows = LARGE);
    hawser_state *small = HAWSER_STATE(program, "small", HAWSER_REPLICATED, .rows = SMALL);
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = CLOCKS}, sync);
    HAWSER_UNIT(loop, "add", add, .updates = {large, small});
    FILE *text = fmemopen(result->plan, sizeof result->plan - 1, "w");
    hawser_run *run = NULL;
    hawser_status status = hawser_plan_print(job, program, HAWSER_PLAN_PHYSICAL, text, error);
    fclose(text);
    if (status == HAWSER_OK)
        status = hawser_run_program(job, program, &run, error);
    if (status == HAWSER_OK) {
        memcpy(result->large, RESULT(double, run, "large", NULL), sizeof result->large);
        memcpy(result->small, RESULT(double, run, "small", NULL), sizeof result->small);
    }
    hawser_run_free(run);
    hawser_program_free(program);
    return status;
}

static void body(test_node *node)
{
    const work *how = node->user;
    node->status = run_once(node->job, how->sync, &how->outcomes[node->node], &node->error);
}

#define PAIRS(...) ((const char *const[]){"workers", "8", "seed", "3", "timeout", "60", "check", "yes", __VA_ARGS__, NULL})

static void auto_has_the_bits_of_every_topology(void **state)
{
    (void)state;
    static const struct {
        uint32_t nodes, hosts;
        const char *topology, *sync, *links, *sends;
    } cases[] = {
        {4, 4, "auto", "bsp", "topology servers:4, chosen", "servers:4 (4 hosts): 1.5 updates per clock instead of 3 "},
        {4, 3, "auto", "bsp", "topology all, chosen", "all (3 hosts): "},
        {6, 4, "auto", "bsp", "topology servers:6, chosen", "servers:6 (4 hosts): "},
        {6, 4, "all", "bsp", "topology all: ", "all (4 hosts): "},
        {4, 4, "auto", "ssp:1", "topology all, chosen", "all (4 hosts): "},
    };
    static outcome outcomes[NODES_MOST], first;
    test_job test = open_job(PAIRS("alone", "yes"));
    hawser_error error = {0};
    assert_int_equal(run_once(test.job, hawser_bsp(), &first, &error), HAWSER_OK);
    close_job(test);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        bool in_step = strcmp(cases[k].sync, "bsp") == 0;
        test_node nodes[NODES_MOST];
        atomic_store(&hosts, cases[k].hosts);
        run_nodes(nodes, cases[k].nodes, PAIRS("topology", cases[k].topology, "sync", cases[k].sync), body,
                  &(work){.sync = in_step ? hawser_bsp() : hawser_ssp(1), .outcomes = outcomes});
        check_all(nodes, cases[k].nodes, cases[k].links);
        if (strstr(outcomes[0].plan, cases[k].links) == NULL || strstr(outcomes[0].plan, cases[k].sends) == NULL)
            fail_msg("neither '%s' nor '%s' in\n%s", cases[k].links, cases[k].sends, outcomes[0].plan);
        for (uint32_t node = 0; in_step && node < cases[k].nodes; node++) {
            assert_memory_equal(outcomes[node].large, first.large, sizeof first.large);
            assert_memory_equal(outcomes[node].small, first.small, sizeof first.small);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_has_the_bits_of_every_topology),
    };
    atomic_init(&asked, 0);
    atomic_init(&hosts, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
