/* Deltas that are sent in fewer bits, against an account of them: what a replica has gathered, and got in the finish, is
 * what was scattered to it; under bsp every bit is that of a rounding written apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "hawser/vector.h"
#include "nodes.h"
#include "vector/rounded.h"

enum { ROWS = 290, WIDTH = 2, COUNT = ROWS * WIDTH, STEPS = 9, BARRIER = 5, TILE = 512 };

typedef struct setting {
    const char *dataflow, *sync;
    bool f32, sparse, named; /* named: some scatters are to the first receiver alone */
    hawser_form form;
    uint32_t nodes;
    uint64_t seed;
} setting;

/* What one node has seen; each node writes its own. */
typedef struct outcome {
    double steps[STEPS][COUNT]; /* after each gather */
    double heard[NODES_MOST][COUNT];
    double array[COUNT]; /* after the finish */
    uint32_t sources[NODES_MOST], receivers[NODES_MOST];
    size_t source_count, receiver_count;
    hawser_vector_facts before; /* the finish */
} outcome;

typedef struct world {
    const setting *how;
    outcome outcomes[NODES_MOST];
} world;

static double get(const setting *how, const void *array, size_t i)
{
    return how->f32 ? (double)((const float *)array)[i] : ((const double *)array)[i];
}

static void put(const setting *how, void *array, size_t i, double value)
{
    if (how->f32)
        ((float *)array)[i] = (float)value;
    else
        ((double *)array)[i] = value;
}

static double in_type(const setting *how, double x)
{
    return how->f32 ? (double)(float)x : x;
}

static bool is_bsp(const setting *how)
{
    return strcmp(how->sync, "bsp") == 0;
}

/* Whether a node scatters a row in a step, and its numbers: sums are exact, except under bsp, where bits are compared. */
static bool has(const setting *how, uint32_t node, uint64_t t, size_t row)
{
    return !how->sparse || hw_mix(how->seed + 1000 * node + 50000 * t + row) % 3 == 0;
}

static double delta_of(const setting *how, uint32_t node, uint64_t t, size_t i)
{
    double drawn = (double)(hw_mix(~how->seed + 100000 * node + 1000 * t + i) % 6001) - 3000;
    return is_bsp(how) ? in_type(how, drawn / 7 * ldexp(1, (int)(i % 9) - 4)) : drawn;
}

static bool names_one(const setting *how, uint64_t t)
{
    return how->named && t % 3 == 1;
}

static hawser_status listen(void *user, void *array, const hawser_arrival *arrival)
{
    const world *all = ((test_node *)user)->user;
    outcome *own = (outcome *)&all->outcomes[((test_node *)user)->node];
    (void)array;
    for (size_t i = 0; i < arrival->count; i++) {
        size_t at = arrival->keys != NULL ? (size_t)arrival->keys[i / WIDTH] * WIDTH + i % WIDTH : i;
        own->heard[arrival->replica][at] += get(all->how, arrival->values, i);
    }
    return HAWSER_OK;
}

static hawser_status scatter(test_node *node, const setting *how, hawser_vector *vector, uint64_t t, const outcome *own)
{
    double values[COUNT];
    uint64_t keys[ROWS];
    size_t count = 0;
    for (size_t row = 0; row < ROWS; row++) {
        if (!has(how, node->node, t, row))
            continue;
        for (size_t k = 0; k < WIDTH; k++)
            put(how, values, count * WIDTH + k, delta_of(how, node->node, t, row * WIDTH + k));
        keys[count++] = row;
    }
    hawser_scatter given = {.iteration = t, .values = values, .keys = how->sparse ? keys : NULL};
    given.key_count = how->sparse ? count : 0;
    if (names_one(how, t) && own->receiver_count > 0) {
        given.to = own->receivers;
        given.to_count = 1;
    }
    return hawser_vector_scatter(vector, &given, &node->error);
}

static hawser_status loop(test_node *node, const setting *how, outcome *own, hawser_vector *vector, void *array)
{
    const hawser_gather_function function = {listen, node};
    bool tap = strcmp(how->sync, "tap") == 0, bsp = is_bsp(how);
    for (uint64_t t = 0; t < STEPS; t++) {
        for (size_t i = 0; bsp && i < COUNT; i++)
            put(how, array, i, delta_of(how, node->node, t, i));
        HAWSER_TRY(scatter(node, how, vector, t, own));
        if (tap && t == BARRIER)
            HAWSER_TRY(hawser_vector_barrier(vector, &node->error));
        if (!tap || hw_mix(how->seed + t + node->node) % 3 == 0)
            HAWSER_TRY(hawser_vector_gather(vector, t, bsp ? HAWSER_GATHER_SUM : HAWSER_GATHER_FUNCTION,
                                            bsp ? NULL : &function, array, &node->error));
        for (size_t i = 0; i < COUNT; i++)
            own->steps[t][i] = get(how, array, i);
    }
    memset(array, 0, COUNT * sizeof(double));
    return hawser_vector_describe(vector, &own->before, &node->error);
}

static void body(test_node *node)
{
    world *all = node->user;
    const setting *how = all->how;
    outcome *own = &all->outcomes[node->node];
    double array[COUNT] = {0};
    hawser_vector *vector = NULL;
    hawser_vector_facts facts = {0};
    const hawser_vector_options options = {.name = "w",
                                           .type = how->f32 ? HAWSER_F32 : HAWSER_F64,
                                           .count = COUNT,
                                           .sparse = how->sparse,
                                           .width = how->sparse ? WIDTH : 0,
                                           .dataflow = how->dataflow,
                                           .sync = how->sync,
                                           .rounding = how->form,
                                           .content = HAWSER_VECTOR_DELTAS};
    node->status = hawser_vector_open(node->job, &options, &vector, &node->error);
    if (node->status == HAWSER_OK)
        node->status = hawser_vector_describe(vector, &facts, &node->error);
    own->source_count = facts.source_count;
    own->receiver_count = facts.receiver_count;
    for (size_t i = 0; i < facts.source_count; i++)
        own->sources[i] = facts.sources[i];
    for (size_t i = 0; i < facts.receiver_count; i++)
        own->receivers[i] = facts.receivers[i];
    if (node->status == HAWSER_OK)
        node->status = loop(node, how, own, vector, array);
    if (node->status == HAWSER_OK)
        node->status = hawser_vector_finish(vector, array, &node->error);
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
    check_all(nodes, how->nodes, how->sync);
    return all;
}

/* -------------------------------------------------------------------------------------------------------- an oracle ---- */

static double nearest(double x, int bits, double least)
{
    int exponent;
    double part = frexp(x, &exponent), unit = ldexp(1, exponent - bits);
    (void)part;
    unit = unit < least ? least : unit;
    return rint(x / unit) * unit;
}

/* Rounds numbers in turn, as they are in a message. */
static void round_all(hawser_form form, const double *values, size_t count, double *out)
{
    for (size_t begin = 0; begin < count; begin += TILE) {
        size_t end = begin + TILE < count ? begin + TILE : count;
        double most = 0, unit = ldexp(1, -60);
        for (size_t i = begin; i < end; i++)
            most = fmax(most, fabs(values[i]));
        while (rint(most / unit) > 127)
            unit *= 2;
        for (size_t i = begin; i < end; i++)
            out[i] = form == HAWSER_AS_INT8   ? rint(values[i] / unit) * unit
                     : form == HAWSER_AS_BF16 ? nearest(values[i], 8, 0)
                                              : nearest(values[i], 11, ldexp(1, -24));
    }
}

/* What a node sends in a step, and what is left then. Called for one step after the other. */
static void send_of(const setting *how, uint32_t node, uint64_t t, double left[COUNT], double sent[COUNT])
{
    double packed[COUNT], rounded[COUNT];
    size_t places[COUNT], count = 0;
    for (size_t i = 0; i < COUNT; i++) {
        sent[i] = 0;
        if (!has(how, node, t, i / WIDTH))
            continue;
        packed[count] = in_type(how, left[i] + delta_of(how, node, t, i));
        places[count++] = i;
    }
    round_all(how->form, packed, count, rounded);
    for (size_t i = 0; i < count; i++) {
        sent[places[i]] = rounded[i];
        left[places[i]] = in_type(how, packed[i] - rounded[i]);
        double bound = how->form == HAWSER_AS_BF16 ? 0x1p-8 : 0x1p-11; /* what the header says */
        if (how->form != HAWSER_AS_INT8)
            assert_true(fabs(left[places[i]]) <= fmax(bound * fabs(packed[i]), how->form == HAWSER_AS_F16 ? 0x1p-25 : 0));
    }
}

static bool is_source(const outcome *own, uint32_t node)
{
    for (size_t s = 0; s < own->source_count; s++)
        if (own->sources[s] == node)
            return true;
    return false;
}

static void check_bsp(const world *all)
{
    const setting *how = all->how;
    static double left[NODES_MOST][COUNT], sent[NODES_MOST][COUNT];
    memset(left, 0, sizeof left);
    for (uint64_t t = 0; t < STEPS; t++) {
        for (uint32_t node = 0; node < how->nodes; node++)
            send_of(how, node, t, left[node], sent[node]);
        for (uint32_t node = 0; node < how->nodes; node++)
            for (size_t i = 0; i < COUNT; i++) {
                double sum = 0;
                for (uint32_t other = 0, terms = 0; other < how->nodes; other++) {
                    bool own = other == node,
                         sends = is_source(&all->outcomes[node], other) && has(how, other, t, i / WIDTH);
                    double term = own ? delta_of(how, node, t, i) : sent[other][i];
                    if (own || sends)
                        sum = terms++ == 0 ? term : in_type(how, sum + term);
                }
                assert_true(all->outcomes[node].steps[t][i] == sum);
            }
    }
    for (uint32_t node = 0; node < how->nodes; node++)
        for (size_t i = 0; i < COUNT; i++) {
            double sum = 0;
            for (uint32_t other = 0; other < how->nodes; other++)
                sum = is_source(&all->outcomes[node], other) ? in_type(how, sum + left[other][i]) : sum;
            assert_true(all->outcomes[node].array[i] == sum);
        }
}

/* Before the finish a replica has sent the bytes of its messages, and these are fewer than those of its numbers. */
static void check_bytes(const world *all)
{
    const setting *how = all->how;
    for (uint32_t node = 0; node < how->nodes; node++) {
        const outcome *own = &all->outcomes[node];
        uint64_t bytes = 0, whole = 0;
        for (uint64_t t = 0; t < STEPS; t++) {
            size_t rows = 0;
            for (size_t row = 0; row < ROWS; row++)
                rows += has(how, node, t, row);
            size_t keys = how->sparse ? rows * sizeof(uint64_t) : 0, count = rows * WIDTH;
            bytes += keys + (how->form == HAWSER_AS_INT8 ? count + (count + TILE - 1) / TILE * 2 : 2 * count);
            whole += keys + count * (how->f32 ? 4 : 8);
        }
        assert_int_equal(own->before.sent_bytes, bytes * own->receiver_count);
        assert_true(bytes < whole);
    }
}

/* Each delta counts once: what was gathered and what the finish has added are what was scattered to this node. */
static void check_total(const world *all)
{
    const setting *how = all->how;
    for (uint32_t node = 0; node < how->nodes; node++)
        for (size_t i = 0; i < COUNT; i++) {
            const outcome *own = &all->outcomes[node];
            double got = own->array[i], sent = 0;
            for (size_t s = 0; s < own->source_count; s++) {
                const outcome *of = &all->outcomes[own->sources[s]];
                got += own->heard[own->sources[s]][i];
                for (uint64_t t = 0; t < STEPS; t++)
                    if (has(how, own->sources[s], t, i / WIDTH) && (!names_one(how, t) || of->receivers[0] == node))
                        sent += delta_of(how, own->sources[s], t, i);
            }
            assert_true(got == sent);
        }
}

static const hawser_form forms[] = {HAWSER_AS_BF16, HAWSER_AS_F16, HAWSER_AS_INT8};

static void bsp_has_the_bits_of_the_rounding(void **state)
{
    (void)state;
    static const char *const graphs[] = {"all", "halton", "tree"};
    for (uint32_t seed = 0; seed < 12; seed++) {
        const setting how = {.dataflow = graphs[seed / 2 % 3],
                             .sync = "bsp",
                             .f32 = seed % 2 == 0,
                             .sparse = seed / 6 == 1,
                             .form = forms[(seed + seed / 3) % 3],
                             .nodes = 2 + seed % 3,
                             .seed = seed};
        world *all = run_world(&how);
        check_bsp(all);
        check_bytes(all);
        free(all);
    }
}

static void nothing_is_lost_or_doubled(void **state)
{
    (void)state;
    static const char *const graphs[] = {"halton", "all", "tree"}, *const syncs[] = {"tap", "ssp:1", "tap"};
    for (uint32_t seed = 0; seed < 12; seed++) {
        const setting how = {.dataflow = graphs[seed % 3],
                             .sync = syncs[seed / 3 % 3],
                             .f32 = seed % 2 == 0,
                             .sparse = seed / 6 == 1,
                             .named = seed % 4 < 2,
                             .form = forms[(seed + seed / 3) % 3],
                             .nodes = 1 + seed % 4,
                             .seed = seed};
        world *all = run_world(&how);
        check_total(all);
        free(all);
    }
}

/* ------------------------------------------------------------------------------------------------------ the numbers ---- */

/* The largest and smallest numbers of a type: what is sent is finite, and what is left makes it the number again. */
static void numbers_at_the_ends(void **state)
{
    (void)state;
    const float f32[] = {0x1.fffffep127f, -0x1.fffffep127f, 0x1p127f, 0x1.fdfcfap-3f, 0x1p-149f, -0x1.8p-148f, 0x1p-126f, 0};
    const double f64[] = {0x1.fffffffffffffp1023, -0x1p1023, 65504, 65520, 0x1p-1074, -0x1.8p-1073, 1.0 / 3, 0};
    for (hw_width width = HW_BF16; width <= HW_INT8; width++)
        for (size_t count = 1; count <= 8; count++) {
            float left[8], sent[8];
            double wide_left[8], wide_sent[8];
            unsigned char bytes[8 * sizeof(double)];
            memcpy(left, f32 + 8 - count, count * sizeof *left);
            memcpy(wide_left, f64 + 8 - count, count * sizeof *wide_left);
            hw_rounded_write(width, HAWSER_F32, left, count, bytes);
            assert_true(hw_rounded_whole(width, HAWSER_F32, bytes, hw_rounded_bytes(width, count), count));
            hw_rounded_read(width, HAWSER_F32, bytes, count, sent);
            hw_rounded_write(width, HAWSER_F64, wide_left, count, bytes);
            assert_true(hw_rounded_whole(width, HAWSER_F64, bytes, hw_rounded_bytes(width, count), count));
            hw_rounded_read(width, HAWSER_F64, bytes, count, wide_sent);
            for (size_t i = 0; i < count; i++) {
                assert_true(isfinite(sent[i]) && sent[i] + left[i] == f32[8 - count + i]);
                assert_true(isfinite(wide_sent[i]) && wide_sent[i] + wide_left[i] == f64[8 - count + i]);
            }
        }
}

/* A message of another length, or with an exponent that a type has not, is none. */
static void damaged_numbers_are_refused(void **state)
{
    (void)state;
    double values[3] = {1, 2, 3};
    unsigned char bytes[8];
    const int16_t exponents[] = {-1075, 1017, 122, 121};
    hw_rounded_write(HW_INT8, HAWSER_F64, values, 3, bytes);
    assert_true(hw_rounded_whole(HW_INT8, HAWSER_F64, bytes, 5, 3));
    assert_false(hw_rounded_whole(HW_INT8, HAWSER_F64, bytes, 6, 3));
    assert_false(hw_rounded_whole(HW_F16, HAWSER_F64, bytes, 5, 3));
    for (size_t i = 0; i < 4; i++) {
        memcpy(bytes, &exponents[i], sizeof *exponents);
        assert_int_equal(hw_rounded_whole(HW_INT8, HAWSER_F64, bytes, 5, 3), i > 1);
        assert_int_equal(hw_rounded_whole(HW_INT8, HAWSER_F32, bytes, 5, 3), i > 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bsp_has_the_bits_of_the_rounding),
        cmocka_unit_test(nothing_is_lost_or_doubled),
        cmocka_unit_test(numbers_at_the_ends),
        cmocka_unit_test(damaged_numbers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
