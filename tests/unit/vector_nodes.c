/* Vectors on 1 to 8 nodes, compared with what the contract says that each of them has: bits under bsp, sums of deltas under
 * every sync, and only values that were scattered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <time.h>

#include "base/random.h"
#include "hawser/vector.h"
#include "nodes.h"

/* SPREAD: over shared memory the numbers are so far apart that the arrays take slots. */
enum { COUNT = 37, STEPS = 12, SOURCES = 8, SPREAD = 120 };

typedef struct setting {
    const char *dataflow, *sync;
    hawser_type type;
    bool deltas, waits, uneven; /* uneven: loops of different length, with pauses drawn by node */
    uint32_t nodes;
    uint64_t seed;
} setting;

/* What one node has seen; each node writes its own. */
typedef struct outcome {
    double array[COUNT];        /* after the finish */
    double steps[STEPS][COUNT]; /* after each gather */
    double moved[STEPS][COUNT]; /* what was scattered */
    uint32_t sources[SOURCES], source_count;
    double heard[SOURCES][COUNT]; /* by source: deltas gathered by a function, added up */
    uint64_t counted[SOURCES];    /* and their scatters */
    hawser_vector_facts facts;
} outcome;

typedef struct world {
    const setting *how;
    outcome outcomes[NODES_MOST];
} world;

static size_t spread_of(const setting *how)
{
    return how->seed % 3 == 2 ? SPREAD : 1;
}

static double get(const setting *how, const void *array, size_t i)
{
    i *= spread_of(how);
    return how->type == HAWSER_F32 ? (double)((const float *)array)[i] : ((const double *)array)[i];
}

static void put(const setting *how, void *array, size_t i, double value)
{
    i *= spread_of(how);
    if (how->type == HAWSER_F32)
        ((float *)array)[i] = (float)value;
    else
        ((double *)array)[i] = value;
}

static uint32_t length_of(const setting *how, uint32_t node)
{
    return how->uneven ? STEPS - node % 4 : STEPS;
}

/* The number that a node changes its array by: whole, so that sums of deltas are exact. */
static double change_of(const setting *how, uint32_t node, uint64_t step, size_t i)
{
    uint64_t drawn = hw_mix(how->seed ^ hw_mix(node * 1000 + step) ^ i);
    return how->deltas ? (double)(drawn % 101) - 50 : (double)(drawn % 1000003) / 1000003;
}

static void rest(const setting *how, uint32_t node, uint64_t step)
{
    uint64_t drawn = hw_mix(how->seed + 17 * node + step);
    struct timespec pause = {.tv_nsec = (long)(drawn % 200) * 1000};
    if (how->uneven && drawn % 3 == 0)
        nanosleep(&pause, NULL);
}

typedef struct listening {
    const setting *how;
    outcome *own;
} listening;

static hawser_status listen(void *user, void *array, const hawser_arrival *arrival)
{
    listening *to = user;
    (void)array;
    for (uint32_t s = 0; s < to->own->source_count; s++) {
        if (to->own->sources[s] != arrival->replica)
            continue;
        to->own->counted[s] += arrival->scatters;
        for (size_t i = 0; i < COUNT; i++)
            to->own->heard[s][i] += get(to->how, arrival->values, i);
    }
    return HAWSER_OK;
}

static hawser_status loop(test_node *node, const setting *how, outcome *own, hawser_vector *vector, void *array)
{
    bool bsp = strcmp(how->sync, "bsp") == 0;
    listening to = {how, own};
    const hawser_gather_function function = {listen, &to};
    for (uint64_t t = 0; t < length_of(how, node->node); t++) {
        for (size_t i = 0; i < COUNT; i++) {
            double change = change_of(how, node->node, t, i);
            put(how, array, i, how->deltas ? change : get(how, array, i) / 2 + change);
            own->moved[t][i] = get(how, array, i);
        }
        rest(how, node->node, t);
        HAWSER_TRY(hawser_vector_scatter(vector, &(hawser_scatter){.iteration = t, .values = array}, &node->error));
        hawser_gather_how by = how->deltas && !bsp ? HAWSER_GATHER_FUNCTION : HAWSER_GATHER_AVERAGE;
        if (bsp || strncmp(how->sync, "ssp", 3) == 0 || hw_mix(how->seed + t + node->node) % 2 == 0)
            HAWSER_TRY(
                hawser_vector_gather(vector, t, by, by == HAWSER_GATHER_FUNCTION ? &function : NULL, array, &node->error));
        for (size_t i = 0; i < COUNT; i++)
            own->steps[t][i] = get(how, array, i);
    }
    if (how->deltas) /* the array is to have what the last gather of all adds */
        for (size_t i = 0; i < COUNT; i++)
            put(how, array, i, 0);
    return HAWSER_OK;
}

static void body(test_node *node)
{
    world *all = node->user;
    const setting *how = all->how;
    outcome *own = &all->outcomes[node->node];
    double array[COUNT * SPREAD] = {0};
    hawser_vector *vector = NULL;
    hawser_vector_options options = {.name = "w",
                                     .type = how->type,
                                     .count = COUNT * spread_of(how),
                                     .dataflow = how->dataflow,
                                     .sync = how->sync,
                                     .waits = how->waits,
                                     .content = how->deltas ? HAWSER_VECTOR_DELTAS : HAWSER_VECTOR_VALUES};
    node->status = hawser_vector_open(node->job, &options, &vector, &node->error);
    if (node->status == HAWSER_OK)
        node->status = hawser_vector_describe(vector, &own->facts, &node->error);
    for (size_t s = 0; s < own->facts.source_count; s++)
        own->sources[s] = own->facts.sources[s];
    own->source_count = (uint32_t)own->facts.source_count;
    if (node->status == HAWSER_OK)
        node->status = loop(node, how, own, vector, array);
    if (node->status == HAWSER_OK)
        node->status = hawser_vector_finish(vector, array, &node->error);
    if (node->status == HAWSER_OK)
        node->status = hawser_vector_describe(vector, &own->facts, &node->error);
    for (size_t i = 0; i < COUNT; i++)
        own->array[i] = get(how, array, i);
    hawser_vector_close(vector);
}

static world *run_world(const setting *how)
{
    test_node nodes[NODES_MOST];
    world *all = calloc(1, sizeof *all);
    assert_non_null(all);
    all->how = how;
    static const char *const ways[] = {"tcp", "unix", "shm"};
    const char *const pairs[] = {"workers", "8", "timeout", "60", "transport", ways[how->seed % 3], NULL};
    run_nodes(nodes, how->nodes, pairs, body, all);
    char what[100];
    snprintf(what, sizeof what, "%s %s %s", how->dataflow, how->sync, how->deltas ? "deltas" : "values");
    check_all(nodes, how->nodes, what);
    return all;
}

/* -------------------------------------------------------------------------------------------------------- an oracle ---- */

static double rounded(const setting *how, double x)
{
    return how->type == HAWSER_F32 ? (double)(float)x : x;
}

/* The mean that a node has after the gather of step t, one number after the other, in the order of replicas. */
static double mean_of(const world *all, uint32_t node, uint64_t t, size_t i)
{
    const setting *how = all->how;
    const outcome *own = &all->outcomes[node];
    double sum = 0, terms = 0;
    for (uint32_t other = 0; other < how->nodes; other++) {
        bool takes = other == node;
        for (uint32_t s = 0; s < own->source_count; s++)
            takes = takes || own->sources[s] == other;
        if (!takes || t >= length_of(how, other))
            continue;
        sum = terms == 0 ? all->outcomes[other].moved[t][i] : rounded(how, sum + all->outcomes[other].moved[t][i]);
        terms++;
    }
    return terms > 1 ? rounded(how, sum / terms) : sum;
}

static void check_bsp(const world *all)
{
    const setting *how = all->how;
    for (uint32_t node = 0; node < how->nodes; node++)
        for (uint64_t t = 0; t < length_of(how, node); t++)
            for (size_t i = 0; i < COUNT; i++)
                assert_true(all->outcomes[node].steps[t][i] == mean_of(all, node, t, i));
}

/* The arrays of all replicas have the mean of what they had before the finish, with equal bits. */
static void check_finish_of_values(const world *all)
{
    const setting *how = all->how;
    for (size_t i = 0; i < COUNT; i++) {
        double sum = 0;
        for (uint32_t node = 0; node < how->nodes; node++) {
            double last = all->outcomes[node].steps[length_of(how, node) - 1][i];
            sum = node == 0 ? last : rounded(how, sum + last);
        }
        double mean = how->nodes > 1 ? rounded(how, sum / how->nodes) : sum;
        for (uint32_t node = 0; node < how->nodes; node++)
            assert_true(all->outcomes[node].array[i] == mean);
    }
}

/* What a node has gathered of its in-neighbours, and got in the finish, is what they have scattered, each once. */
static void check_deltas(const world *all)
{
    const setting *how = all->how;
    bool bsp = strcmp(how->sync, "bsp") == 0;
    for (uint32_t node = 0; node < how->nodes && !bsp; node++) {
        const outcome *own = &all->outcomes[node];
        for (size_t i = 0; i < COUNT; i++) {
            double got = own->array[i], sent = 0;
            for (uint32_t s = 0; s < own->source_count; s++) {
                got += own->heard[s][i];
                for (uint64_t t = 0; t < length_of(how, own->sources[s]); t++)
                    sent += change_of(how, own->sources[s], t, i);
            }
            assert_true(got == sent);
        }
    }
    /* Under bsp the gathers are means; what a longer loop has sent since is in the array. */
    for (uint32_t node = 0; node < how->nodes && bsp; node++) {
        const outcome *own = &all->outcomes[node];
        for (size_t i = 0; i < COUNT; i++) {
            double sent = 0;
            for (uint32_t s = 0; s < own->source_count; s++)
                for (uint64_t t = length_of(how, node); t < length_of(how, own->sources[s]); t++)
                    sent += change_of(how, own->sources[s], t, i);
            assert_true(own->array[i] == sent);
        }
    }
}

static void check_world(const setting *how)
{
    world *all = run_world(how);
    if (strcmp(how->sync, "bsp") == 0)
        check_bsp(all);
    if (how->deltas)
        check_deltas(all);
    else
        check_finish_of_values(all);
    free(all);
}

static void test_bsp_has_the_bits_of_the_contract(void **state)
{
    (void)state;
    static const char *const graphs[] = {"all", "halton", "tree"};
    for (uint32_t nodes = 1; nodes <= NODES_MOST; nodes++)
        for (uint32_t deltas = 0; deltas < 2; deltas++)
            check_world(&(setting){.dataflow = graphs[(nodes + deltas) % 3],
                                   .sync = "bsp",
                                   .type = nodes % 2 == 0 ? HAWSER_F32 : HAWSER_F64,
                                   .deltas = deltas,
                                   .uneven = nodes > 2,
                                   .nodes = nodes,
                                   .seed = nodes});
}

static void test_tap_and_ssp_lose_and_double_nothing(void **state)
{
    (void)state;
    static const char *const syncs[] = {"tap", "ssp:0", "ssp:2"}, *const graphs[] = {"halton", "tree", "all"};
    for (uint32_t seed = 0; seed < 9; seed++)
        check_world(&(setting){.dataflow = graphs[seed % 3],
                               .sync = syncs[seed / 3],
                               .type = seed % 2 == 0 ? HAWSER_F32 : HAWSER_F64,
                               .deltas = seed % 4 != 3,
                               .uneven = true,
                               .nodes = 2 + seed % 7,
                               .seed = seed});
    check_world(
        &(setting){.dataflow = "all", .sync = "tap", .type = HAWSER_F32, .uneven = true, .nodes = NODES_MOST, .seed = 11});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bsp_has_the_bits_of_the_contract),
        cmocka_unit_test(test_tap_and_ssp_lose_and_double_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
