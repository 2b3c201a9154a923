/* A job of many simulated nodes ends with the sums that are known, within a limit of memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/machine.h"
#include "job.h"
#include "sanitized.h"
#include "sim/cluster.h"

/* Sanitizers, which WORLDS_PART tells, need memory of their own. */
#ifdef WORLDS_PART
#define LIMIT(megabytes) UINT64_MAX
#else
#define LIMIT(megabytes) ((uint64_t)(megabytes) << 20)
#endif

typedef struct setting {
    const char *topology;
    uint32_t nodes, numbers, clocks;
    uint64_t most; /* bytes of the simulator's process */
    uint32_t right;
} setting;

/* Whole numbers below 2^53, which have many digits and so many bytes. */
static double added(uint32_t block, uint32_t i)
{
    return 1 + (block * 2654435761u + i * 40503u) % 1000003;
}

static hawser_status add(hawser_context *context)
{
    const setting *how = hawser_user(context);
    HAWSER_WRITE(context, double, x);
    for (uint32_t i = 0; i < how->numbers; i++)
        x[i] += added(hawser_block(context), i);
    return HAWSER_OK;
}

/* Every tenth number is enough: each is the sum of as many values as there are nodes. */
static bool is_right(const setting *how, const double *x)
{
    for (uint32_t i = 0; i < how->numbers; i += 10) {
        double sum = 0;
        for (uint32_t block = 0; block < how->nodes; block++)
            sum += added(block, i);
        if (x[i] != how->clocks * sum)
            return false;
    }
    return true;
}

/* Node 0 lists the links that carried a message, which are much fewer than all, and no other node lists any. */
static bool lists_used_links(const setting *how, const hawser_run *run, uint32_t node)
{
    const hawser_figures *figures = hawser_run_figures(run);
    for (size_t i = 0; i < figures->link_count; i++)
        if (figures->links[i].messages_sent == 0)
            return false;
    return node == 0 ? figures->link_count >= how->nodes - 1 && figures->link_count < (size_t)how->nodes * how->nodes / 4
                     : figures->link_count == 0;
}

/* Over a tree a node has had links to its neighbours, to node 0, and to its parent and children in the tree of collective
 * calls. */
static bool has_few_links(const setting *how, const hawser_job *job, uint32_t node)
{
    uint32_t links = 0, depth = 0;
    hw_net_path path;
    while (UINT32_C(1) << depth < how->nodes)
        depth++;
    for (uint32_t other = 0; other < how->nodes; other++)
        links += hw_net_path_of(hw_cluster_net(job->cluster), other, &path);
    if (node == 0)
        return links == how->nodes - 1;
    return links >= 1 && (strcmp(how->topology, "tree") != 0 || links <= 2 * depth + 8);
}

static int node_main(void *user, uint32_t node)
{
    setting *how = user;
    char workers[12];
    hawser_error error = {0};
    hawser_run *run = NULL;
    snprintf(workers, sizeof workers, "%" PRIu32, how->nodes);
    test_job test = OPEN_JOB("workers", workers, "topology", how->topology);
    hawser_program *program = hawser_program_new("sums", how);
    hawser_state *x = HAWSER_STATE(program, "x", HAWSER_REPLICATED, .rows = how->numbers);
    hawser_operator *loop = HAWSER_LOOP(hawser_root(program), "loop", hawser_bsp(), .clocks = how->clocks);
    HAWSER_UNIT(loop, "add", add, .updates = {x});
    hawser_status status = hawser_run_program(test.job, program, &run, &error);
    /* All nodes have the same numbers at the end of a loop, and some of them are checked. */
    if (status != HAWSER_OK)
        fprintf(stderr, "node %" PRIu32 ": %s\n", node, error.text);
    else if (!has_few_links(how, test.job, node))
        fprintf(stderr, "node %" PRIu32 " has another number of links than it needs\n", node);
    else if (lists_used_links(how, run, node) && (node % 97 != 0 || is_right(how, RESULT(double, run, "x", NULL))))
        how->right++;
    hawser_run_free(run);
    hawser_program_free(program);
    close_job(test);
    return 0;
}

static int run_world(setting *how)
{
    sim_cluster cluster = {.nodes = how->nodes,
                           .rates = {.link = 1.25e9, .host = 5e9, .latency = 50e-6, .nearby = 2e-6},
                           .costs = {.call = 1e-3, .byte = 0.5e-9},
                           .limit = 1000,
                           .main = node_main,
                           .user = how};
    sim_outcome outcome = sim_cluster_run(&cluster, NULL);
    struct rusage used;
    (void)getrusage(RUSAGE_SELF, &used);
    uint64_t bytes = (uint64_t)used.ru_maxrss << 10;
    printf("%" PRIu32 " nodes over %s: %.1f s of CPU, %.2f GB, %" PRIu64 " events\n", how->nodes, how->topology,
           (double)used.ru_utime.tv_sec + 1e-6 * (double)used.ru_utime.tv_usec, 1e-9 * (double)bytes, outcome.events);
    fflush(stdout);
    if (outcome.end != SIM_DONE || how->right != how->nodes)
        return 1;
    return bytes <= how->most ? 0 : 2;
}

/* Each world has a process of its own, whose memory is its own. */
static void check(setting how)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(run_world(&how));
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("%u nodes over %s: %s", how.nodes, how.topology,
                 !WIFEXITED(status)         ? "a signal"
                 : WEXITSTATUS(status) == 2 ? "too much memory"
                                            : "not all have the sums");
}

static void hundred_nodes_have_the_sums(void **state)
{
    (void)state;
    check((setting){.topology = "tree", .nodes = 100, .numbers = 1000, .clocks = 5, .most = LIMIT(200)});
    check((setting){.topology = "servers:8", .nodes = 100, .numbers = 5000, .clocks = 3, .most = LIMIT(200)});
}

/* So many send more goodbyes than may be on their way at once, and the memory for pairs of nodes is most of all. */
static void goodbyes_of_many_nodes_take_little_memory(void **state)
{
    (void)state;
    check((setting){.topology = "tree", .nodes = 400, .numbers = 100, .clocks = 1, .most = LIMIT(180)});
}

static void thousand_nodes_have_the_sums(void **state)
{
    (void)state;
    if (!runs_long())
        skip();
    check((setting){.topology = "tree", .nodes = 1000, .numbers = 10000, .clocks = 20, .most = LIMIT(4096)});
    check((setting){.topology = "servers:32", .nodes = 1000, .numbers = 10000, .clocks = 20, .most = LIMIT(4096)});
}

/* As many as the parameter server's paper has. */
static void six_thousand_nodes_have_the_sums(void **state)
{
    (void)state;
    if (!runs_long() || hw_machine_memory(1) < UINT64_C(16) << 30)
        skip();
    check((setting){.topology = "tree", .nodes = 6000, .numbers = 1000, .clocks = 5, .most = LIMIT(16384)});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hundred_nodes_have_the_sums),
        cmocka_unit_test(goodbyes_of_many_nodes_take_little_memory),
        cmocka_unit_test(thousand_nodes_have_the_sums),
        cmocka_unit_test(six_thousand_nodes_have_the_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
