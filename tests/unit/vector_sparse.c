/* Sparse vectors, row by row, against a plain account of what each replica has scattered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <time.h>

#include "base/random.h"
#include "hawser/vector.h"
#include "nodes.h"

enum { ROWS = 23, WIDTH = 2, COUNT = ROWS * WIDTH, STEPS = 12 };

static const char *const plain[] = {"workers", "8", "timeout", "60", NULL};

typedef struct setting {
    const char *dataflow, *sync;
    bool deltas, f32;
    uint32_t nodes;
    uint64_t seed;
} setting;

/* What one node has seen; each node writes its own. */
typedef struct outcome {
    double moved[STEPS][COUNT]; /* the array when it was scattered */
    double steps[STEPS][COUNT]; /* and after the gather */
    double array[COUNT];        /* after the finish */
    bool held[ROWS];
    uint32_t sources[NODES_MOST];
    size_t source_count;
    double heard[NODES_MOST][COUNT]; /* by source: deltas that were gathered, added up */
} outcome;

typedef struct world {
    const setting *how;
    outcome outcomes[NODES_MOST];
} world;

/* Whether a node scatters a row in a step: the same for everybody who asks. */
static bool has(const setting *how, uint32_t node, uint64_t t, size_t row)
{
    return hw_mix(how->seed + 1000 * node + 50 * t + row) % 4 == 0;
}

/* Sums of deltas are exact in any order; those of values show theirs. */
static double number(const setting *how, uint32_t node, uint64_t t, size_t i)
{
    double drawn = (double)(hw_mix(~how->seed + 100000 * node + 100 * t + i) % 64) - 31;
    return how->deltas ? drawn : drawn / 7;
}

static void load(const setting *how, const void *from, double *to, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = how->f32 ? (double)((const float *)from)[i] : ((const double *)from)[i];
}

static void put(const setting *how, void *array, size_t i, double value)
{
    if (how->f32)
        ((float *)array)[i] = (float)value;
    else
        ((double *)array)[i] = value;
}

typedef struct listening {
    const setting *how;
    outcome *own;
} listening;

static hawser_status listen(void *user, void *array, const hawser_arrival *arrival)
{
    listening *to = user;
    (void)array;
    if (arrival->count != arrival->key_count * WIDTH)
        return HAWSER_INTERNAL;
    for (size_t s = 0; s < to->own->source_count; s++)
        for (size_t k = 0; to->own->sources[s] == arrival->replica && k < arrival->key_count; k++) {
            double row[WIDTH];
            load(to->how, (const char *)arrival->values + k * WIDTH * (to->how->f32 ? 4 : 8), row, WIDTH);
            for (size_t i = 0; i < WIDTH; i++)
                to->own->heard[s][arrival->keys[k] * WIDTH + i] += row[i];
        }
    return HAWSER_OK;
}

static hawser_status scatter(test_node *node, const setting *how, hawser_vector *vector, uint64_t t, const void *array)
{
    uint64_t keys[ROWS];
    char values[COUNT * sizeof(double)];
    size_t count = 0, row = WIDTH * (how->f32 ? sizeof(float) : sizeof(double));
    for (size_t r = 0; r < ROWS; r++)
        if (has(how, node->node, t, r)) {
            memcpy(values + count * row, (const char *)array + r * row, row);
            keys[count++] = r;
        }
    return hawser_vector_scatter(
        vector, &(hawser_scatter){.iteration = t, .values = values, .keys = keys, .key_count = count}, &node->error);
}

static hawser_status loop(test_node *node, const setting *how, outcome *own, hawser_vector *vector, void *array)
{
    listening to = {how, own};
    const hawser_gather_function function = {listen, &to};
    bool bsp = strcmp(how->sync, "bsp") == 0, tap = strcmp(how->sync, "tap") == 0;
    for (uint64_t t = 0; t < STEPS; t++) {
        struct timespec pause = {.tv_nsec = (long)(hw_mix(how->seed + node->node + t) % 100) * 1000};
        for (size_t i = 0; i < COUNT; i++)
            put(how, array, i, number(how, node->node, t, i));
        load(how, array, own->moved[t], COUNT);
        nanosleep(&pause, NULL);
        HAWSER_TRY(scatter(node, how, vector, t, array));
        bool counts = how->deltas && !bsp;
        if (!tap || t % 3 == node->node % 3)
            HAWSER_TRY(hawser_vector_gather(vector, t, counts ? HAWSER_GATHER_FUNCTION : HAWSER_GATHER_AVERAGE,
                                            counts ? &function : NULL, array, &node->error));
        load(how, array, own->steps[t], COUNT);
    }
    for (size_t i = 0; how->deltas && i < COUNT; i++)
        put(how, array, i, 0);
    return HAWSER_OK;
}

static void body(test_node *node)
{
    world *all = node->user;
    const setting *how = all->how;
    outcome *own = &all->outcomes[node->node];
    double array[COUNT] = {0};
    hawser_vector_facts facts = {0};
    hawser_vector *vector = NULL;
    const hawser_vector_options options = {.name = "rows",
                                           .type = how->f32 ? HAWSER_F32 : HAWSER_F64,
                                           .count = COUNT,
                                           .sparse = true,
                                           .width = WIDTH,
                                           .dataflow = how->dataflow,
                                           .sync = how->sync,
                                           .content = how->deltas ? HAWSER_VECTOR_DELTAS : HAWSER_VECTOR_VALUES};
    node->status = hawser_vector_open(node->job, &options, &vector, &node->error);
    if (node->status == HAWSER_OK)
        node->status = hawser_vector_describe(vector, &facts, &node->error);
    own->source_count = facts.source_count;
    for (size_t s = 0; s < facts.source_count; s++)
        own->sources[s] = facts.sources[s];
    if (node->status == HAWSER_OK)
        node->status = loop(node, how, own, vector, array);
    if (node->status == HAWSER_OK)
        node->status = hawser_vector_finish(vector, array, &node->error);
    load(how, array, own->array, COUNT);
    hawser_vector_close(vector);
}

static double rounded(const setting *how, double x)
{
    return how->f32 ? (double)(float)x : x;
}

static bool is_source(const outcome *own, uint32_t node)
{
    for (size_t s = 0; s < own->source_count; s++)
        if (own->sources[s] == node)
            return true;
    return false;
}

/* The number that a node has after the gather of step t under bsp. */
static double mean_of(const world *all, uint32_t node, uint64_t t, size_t i)
{
    const setting *how = all->how;
    const outcome *own = &all->outcomes[node];
    double sum = 0;
    uint32_t rows = 0, scatters = 1;
    for (uint32_t other = 0; other < how->nodes; other++) {
        bool source = is_source(own, other);
        scatters += source;
        if (other != node && !(source && has(how, other, t, i / WIDTH)))
            continue;
        sum = rows == 0 ? all->outcomes[other].moved[t][i] : rounded(how, sum + all->outcomes[other].moved[t][i]);
        rows++;
    }
    return rounded(how, sum / (how->deltas ? scatters : rows));
}

/* What each node holds under bsp: the rows that it has scattered or gathered. */
static bool holds(const world *all, uint32_t node, size_t row)
{
    for (uint32_t other = 0; other < all->how->nodes; other++)
        for (uint64_t t = 0; t < STEPS; t++)
            if ((other == node || is_source(&all->outcomes[node], other)) && has(all->how, other, t, row))
                return true;
    return false;
}

static void check_bsp(const world *all)
{
    const setting *how = all->how;
    for (uint32_t node = 0; node < how->nodes; node++)
        for (uint64_t t = 0; t < STEPS; t++)
            for (size_t i = 0; i < COUNT; i++)
                assert_true(all->outcomes[node].steps[t][i] == mean_of(all, node, t, i));
    for (size_t i = 0; !how->deltas && i < COUNT; i++) {
        double sum = 0;
        uint32_t count = 0;
        for (uint32_t node = 0; node < how->nodes; node++) {
            double last = all->outcomes[node].steps[STEPS - 1][i];
            if (holds(all, node, i / WIDTH))
                sum = count++ == 0 ? last : rounded(how, sum + last);
        }
        for (uint32_t node = 0; node < how->nodes; node++)
            assert_true(all->outcomes[node].array[i] ==
                        (count > 0 ? rounded(how, sum / count) : all->outcomes[node].steps[STEPS - 1][i]));
    }
}

static void check_deltas(const world *all)
{
    const setting *how = all->how;
    for (uint32_t node = 0; node < how->nodes; node++) {
        const outcome *own = &all->outcomes[node];
        for (size_t i = 0; i < COUNT; i++) {
            double got = own->array[i], sent = 0;
            for (size_t s = 0; s < own->source_count; s++) {
                got += own->heard[s][i];
                for (uint64_t t = 0; t < STEPS; t++)
                    sent += has(how, own->sources[s], t, i / WIDTH) ? number(how, own->sources[s], t, i) : 0;
            }
            assert_true(got == sent);
        }
    }
}

static void run(const setting *how)
{
    test_node nodes[NODES_MOST];
    world *all = calloc(1, sizeof *all);
    assert_non_null(all);
    all->how = how;
    run_nodes(nodes, how->nodes, plain, body, all);
    check_all(nodes, how->nodes, how->sync);
    if (strcmp(how->sync, "bsp") == 0)
        check_bsp(all);
    else if (how->deltas)
        check_deltas(all);
    free(all);
}

static void test_rows_against_an_account(void **state)
{
    (void)state;
    static const char *const syncs[] = {"bsp", "tap", "ssp:1"}, *const graphs[] = {"all", "halton", "tree"};
    for (uint32_t seed = 0; seed < 30; seed++)
        run(&(setting){.dataflow = graphs[(seed + seed / 6) % 3],
                       .sync = syncs[seed % 3],
                       .deltas = seed / 3 % 2 == 1,
                       .f32 = seed % 5 < 2,
                       .nodes = 2 + seed / 6,
                       .seed = seed});
}

/* ------------------------------------------------------------------------------------------------------ under tap ---- */

#define SEE(node, condition)                                                                                                \
    do {                                                                                                                    \
        if (!(condition))                                                                                                   \
            return hawser_fail(&(node)->error, HAWSER_INTERNAL, "line %d: %s", __LINE__, #condition);                       \
    } while (0)

static hawser_status send_row(test_node *node, hawser_vector *vector, uint64_t t, uint64_t key, double value)
{
    return hawser_vector_scatter(vector, &(hawser_scatter){.iteration = t, .values = &value, .keys = &key, .key_count = 1},
                                 &node->error);
}

/* Rows of several scatters, in flight, pending and flushed, all arrive; of each the newest. */
static hawser_status newest_rows(test_node *node, hawser_vector *vector)
{
    double array[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
    const uint64_t keys[] = {1, 2, 3, 2, 5, 1};
    for (uint64_t t = 0; t < 6; t++) {
        HAWSER_TRY(send_row(node, vector, t, keys[t], (double)(10 * t + node->node)));
        if (t == 3)
            HAWSER_TRY(hawser_vector_barrier(vector, &node->error));
    }
    HAWSER_TRY(hawser_vector_barrier(vector, &node->error));
    HAWSER_TRY(hawser_vector_gather(vector, 5, HAWSER_GATHER_REPLACE, NULL, array, &node->error));
    double other = 1.0 - node->node;
    SEE(node, array[0] == -1 && array[1] == 50 + other && array[2] == 30 + other && array[3] == 20 + other);
    SEE(node, array[4] == -1 && array[5] == 40 + other && array[6] == -1);
    hawser_vector_facts facts;
    HAWSER_TRY(hawser_vector_describe(vector, &facts, &node->error));
    SEE(node, facts.added == 3 && facts.sent == 3 && facts.overwritten == 0 && facts.sent_bytes == (1 + 2 + 2) * 16);
    array[7] = node->node == 0 ? 5 : 9; /* nobody holds it */
    HAWSER_TRY(hawser_vector_finish(vector, array, &node->error));
    SEE(node, array[7] == (node->node == 0 ? 5 : 9) && array[1] == 50.5 && array[0] == -1);
    return HAWSER_OK;
}

/* A call that must be refused with a part of the text. */
static hawser_status refuse(test_node *node, hawser_vector *vector, const hawser_scatter *scatter, const char *words)
{
    hawser_status status = hawser_vector_scatter(vector, scatter, &node->error);
    if (status == HAWSER_OK || strstr(node->error.text, words) == NULL)
        return hawser_fail(&node->error, HAWSER_INTERNAL, "'%s' is not refused", words);
    return HAWSER_OK;
}

static hawser_status wrong_rows(test_node *node, hawser_vector *vector)
{
    const uint64_t twice[] = {1, 1}, far[] = {8};
    const double values[] = {1, 2};
    HAWSER_TRY(refuse(node, vector, &(hawser_scatter){.values = values, .keys = twice, .key_count = 2}, "keys ascend"));
    HAWSER_TRY(refuse(node, vector, &(hawser_scatter){.values = values, .keys = far, .key_count = 1}, "below 8"));
    HAWSER_TRY(refuse(node, vector, &(hawser_scatter){.values = values, .key_count = 1}, "without values or keys"));
    HAWSER_TRY(refuse(node, vector, &(hawser_scatter){.keys = far, .key_count = 1}, "without values or keys"));
    HAWSER_TRY(refuse(node, vector, &(hawser_scatter){.values = values, .keys = far, .key_count = SIZE_MAX}, "8 rows"));
    double array[8] = {0};
    HAWSER_TRY(hawser_vector_scatter(vector, &(hawser_scatter){.iteration = 1}, &node->error)); /* no rows */
    HAWSER_TRY(hawser_vector_barrier(vector, &node->error));
    HAWSER_TRY(hawser_vector_gather(vector, 1, HAWSER_GATHER_SUM, NULL, array, &node->error));
    return hawser_vector_finish(vector, array, &node->error);
}

typedef hawser_status story(test_node *node, hawser_vector *vector);

static void tell_rows(test_node *node)
{
    story *const *act = node->user;
    hawser_vector *vector = NULL;
    node->status = hawser_vector_open(node->job, &(hawser_vector_options){.name = "w", .count = 8, .sparse = true}, &vector,
                                      &node->error);
    if (node->status == HAWSER_OK)
        node->status = (*act)(node, vector);
    hawser_vector_close(vector);
}

static void test_rows_under_tap(void **state)
{
    (void)state;
    story *acts[] = {newest_rows, wrong_rows};
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        test_node nodes[NODES_MOST];
        run_nodes(nodes, 2, plain, tell_rows, &acts[i]);
        check_all(nodes, 2, "rows under tap");
    }
}

static void open_wrongly(test_node *node)
{
    hawser_vector *vector = NULL;
    const hawser_vector_options wrong[] = {{.name = "w", .count = 7, .sparse = true, .width = 2},
                                           {.name = "w", .count = 8, .width = 2},
                                           {.name = "w", .count = (size_t)1 << 28, .sparse = true, .type = HAWSER_F64}};
    static const char *const words[] = {"no whole rows of `width` 2", "for sparse vectors", "or raise --memory-limit"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong && node->status == HAWSER_OK; i++) {
        hawser_status status = hawser_vector_open(node->job, &wrong[i], &vector, &node->error);
        if (status == HAWSER_OK || strstr(node->error.text, words[i]) == NULL)
            node->status = HAWSER_INTERNAL;
        hawser_vector_close(vector);
    }
}

static void test_wrong_shapes_are_refused(void **state)
{
    (void)state;
    static const char *const small[] = {"workers", "2", "memory-limit", "1G", NULL};
    test_node nodes[NODES_MOST];
    run_nodes(nodes, 2, small, open_wrongly, NULL);
    check_all(nodes, 2, "wrong shapes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_against_an_account),
        cmocka_unit_test(test_rows_under_tap),
        cmocka_unit_test(test_wrong_shapes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
