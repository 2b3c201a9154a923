/* Tables whose function sees a clock's updates once, summed over all workers: the bits of a model that goes clock by clock,
 * in any order of arrival. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>

#include "store/checkpoint.h"
#include "store/table_check.h"
#include "store_world.h"

enum { KEYS = 40, WIDTH = 2, WORKERS = 4, CLOCKS = 5, PUSHES = 2 };

typedef struct pushed {
    uint64_t keys[KEYS];
    float values[KEYS * WIDTH];
    size_t count;
} pushed;

typedef struct model {
    float values[CLOCKS + 1][KEYS][WIDTH]; /* after so many clocks */
    double memory[KEYS][WIDTH];
} model;

static pushed all[WORKERS][CLOCKS][PUSHES];
static model right;

static uint64_t key_of(bool sparse, uint64_t i)
{
    return sparse ? i * UINT64_C(0x10000000001) : i;
}

static void draw(uint64_t seed, bool sparse)
{
    hw_random random = hw_random_at(seed, 5, 0, 0);
    for (uint32_t w = 0; w < WORKERS; w++)
        for (uint32_t t = 0; t < CLOCKS; t++)
            for (uint32_t p = 0; p < PUSHES; p++) {
                pushed *one = &all[w][t][p];
                one->count = 0;
                for (uint64_t k = 0; k < KEYS; k++) {
                    if (p == 0 && k > 0 && hw_random_below(&random, 2) == 0)
                        continue; /* the second is a range, or all keys */
                    one->keys[one->count] = key_of(sparse, k);
                    for (uint32_t i = 0; i < WIDTH; i++)
                        one->values[one->count * WIDTH + i] =
                            (float)(hw_random_normal(&random) * exp(3 * hw_random_normal(&random)));
                    one->count++;
                }
            }
}

static bool find_row(const pushed *one, uint64_t key, size_t *row)
{
    for (*row = 0; *row < one->count; ++*row)
        if (one->keys[*row] == key)
            return true;
    return false;
}

static void compute(const hw_table_spec *spec)
{
    memset(&right, 0, sizeof right);
    for (uint32_t t = 0; t < CLOCKS; t++)
        for (uint64_t k = 0; k < KEYS; k++) {
            float sum[WIDTH] = {0};
            bool touched = false;
            for (uint32_t w = 0; w < WORKERS; w++) {
                float part[WIDTH] = {0};
                for (uint32_t p = 0; p < PUSHES; p++) {
                    size_t row;
                    if (!find_row(&all[w][t][p], key_of(spec->sparse, k), &row))
                        continue;
                    touched = true;
                    for (uint32_t i = 0; i < WIDTH; i++)
                        part[i] += all[w][t][p].values[row * WIDTH + i];
                }
                for (uint32_t i = 0; i < WIDTH; i++)
                    sum[i] += part[i];
            }
            memcpy(right.values[t + 1][k], right.values[t][k], sizeof sum);
            if (touched)
                spec->function->apply(&(hw_applying){.type = spec->type,
                                                     .width = WIDTH,
                                                     .rows = 1,
                                                     .values = right.values[t + 1][k],
                                                     .memory = right.memory[k],
                                                     .updates = sum,
                                                     .parameters = spec->parameters,
                                                     .function = spec->function});
        }
}

/* What was read in a clock is what the model has after as many clocks, or more. */
static void check_rows(const float *out, uint64_t oldest, uint64_t most)
{
    for (uint64_t k = 0; k < KEYS; k++) {
        bool found = false;
        for (uint64_t t = oldest; t <= most && !found; t++)
            found = memcmp(out + k * WIDTH, right.values[t][k], sizeof right.values[t][k]) == 0;
        if (!found)
            fail_msg("key %llu reads %.9g, which it has after none of %llu to %llu clocks", (unsigned long long)k,
                     (double)out[k * WIDTH], (unsigned long long)oldest, (unsigned long long)most);
    }
}

static void bits_do_not_depend_on_order(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        bool sparse = seed % 2 == 0;
        world *w = open_world(seed, 1 + seed % 3, WORKERS, WORKERS, 0);
        hw_table_spec spec = spec_of("t", HW_VALUE_F32, WIDTH, sparse, 0, sparse ? UINT64_MAX : KEYS - 1);
        spec.summed = true;
        spec.function = hw_function_find(seed % 3 == 0 ? "add" : "adagrad");
        spec.parameters[0] = 0.1;
        spec.parameters[1] = 1e-6;
        draw(seed, sparse);
        compute(&spec);
        uint32_t table = create(w, spec);
        uint64_t clock[WORKERS] = {0}, keys[KEYS], oldest = 0;
        float out[KEYS * WIDTH];
        for (uint64_t k = 0; k < KEYS; k++)
            keys[k] = key_of(sparse, k);
        for (uint32_t left = WORKERS * CLOCKS; left > 0;) {
            uint32_t c = (uint32_t)hw_random_below(&w->random, WORKERS);
            if (clock[c] == CLOCKS || step(w)) /* every worker goes as far ahead as it can */
                if (clock[c] == CLOCKS || hw_random_below(&w->random, 4) > 0)
                    continue;
            for (uint32_t p = 0; p < PUSHES; p++) {
                const pushed *one = &all[c][clock[c]][p];
                hw_order order = {.operation = HW_PUSH,
                                  .table = table,
                                  .keys = p == 1 && !sparse ? NULL : one->keys,
                                  .count = one->count,
                                  .last = KEYS - 1,
                                  .values = one->values,
                                  .worker = c,
                                  .clock = clock[c]};
                (void)submit(w, c, order);
            }
            (void)submit(w, c,
                         (hw_order){.operation = HW_CLOCK,
                                    .table = table,
                                    .worker = c,
                                    .clock = clock[c]++,
                                    .first = spec.first,
                                    .last = spec.last});
            left--;
        }
        hw_order pull = {.operation = HW_PULL, .table = table, .keys = keys, .count = KEYS, .out = out, .oldest = &oldest};
        uint64_t task = submit(w, 1, pull);
        while (w->ended[1][task] == 0)
            assert_true(step(w));
        check_rows(out, oldest, CLOCKS);
        pull.least = CLOCKS;
        task = submit(w, 2, pull);
        while (step(w))
            ;
        assert_int_equal(w->status[2][task], HAWSER_OK);
        assert_int_equal(oldest, CLOCKS);
        check_rows(out, CLOCKS, CLOCKS);
        close_world(w);
    }
}

static void wrong_requests_are_refused(void **state)
{
    (void)state;
    world *w = open_world(1, 1, 2, 2, 0);
    hw_table_spec spec = spec_of("t", HW_VALUE_F32, 1, false, 0, 9);
    spec.summed = true;
    uint32_t table = create(w, spec);
    hawser_error error = {0};
    uint64_t task = 0;
    static float values[10], out[10];
    hw_order order = {.operation = HW_PUSH_PULL, .table = table, .last = 9, .values = values, .out = out};
    assert_int_equal(hw_client_submit(w->client[0], &order, &task, &error), HAWSER_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "push and pull apart"));
    order = (hw_order){.operation = HW_CLOCK, .table = table, .first = 1, .last = 9};
    assert_int_equal(hw_client_submit(w->client[0], &order, &task, &error), HAWSER_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "all its keys"));
    (void)submit(w, 0, (hw_order){.operation = HW_CLOCK, .table = table, .last = 9});
    task = submit(w, 0, (hw_order){.operation = HW_PUSH, .table = table, .last = 9, .values = values});
    while (step(w))
        ;
    assert_int_equal(w->status[0][task], HAWSER_BAD_INPUT);
    assert_non_null(strstr(w->error.text, "a clock that its worker has ended"));
    spec.centric = true;
    assert_int_equal(hw_table_check(&spec, &error), HAWSER_BAD_ARGUMENT);
    close_world(w);
}

/* The first of two servers refuses a clock before it has left for the second, which gets it yet. */
static void a_refused_clock_reaches_all_servers(void **state)
{
    (void)state;
    world *w = open_world_of((world_shape){.seed = 1, .servers = 2, .clients = 1, .workers = 2});
    hw_table_spec spec = spec_of("t", HW_VALUE_F32, 1, false, 0, 9);
    spec.summed = true;
    uint32_t table = create(w, spec);
    const float values[10] = {3e38F, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    float out[10];
    for (uint32_t worker = 0; worker < 2; worker++)
        submit(w, 0, (hw_order){.operation = HW_PUSH, .table = table, .last = 9, .values = values, .worker = worker});
    submit(w, 0, (hw_order){.operation = HW_CLOCK, .table = table, .last = 9, .worker = 0});
    while (step(w))
        ;
    submit(w, 0, (hw_order){.operation = HW_CLOCK, .table = table, .last = 9, .worker = 1});
    assert_true(hw_client_more(w->client[0]) && w->there[0][0].first != NULL && w->there[0][1].first == NULL);
    assert_int_equal(hw_server_receive(w->server[0], 0, take(&w->there[0][0]), NULL), HAWSER_OK);
    hawser_error error = {0};
    assert_int_equal(hw_client_receive(w->client[0], 0, take(&w->back[0][0]), &error), HAWSER_NOT_FINITE);
    assert_non_null(w->there[0][1].first);
    hw_client_fail(w->client[0], HAWSER_NOT_FINITE, &error);
    assert_int_equal(hw_server_receive(w->server[1], 0, take(&w->there[0][1]), NULL), HAWSER_OK);
    for (uint32_t s = 0; s < 2; s++) {
        size_t rows = hw_server_take_range(w->server[s], table, 0, 9, HW_PART_VALUES, (unsigned char *)out);
        assert_true(rows > 0);
        for (size_t i = 0; i < rows; i++)
            assert_true(out[i] == (s == 0 && i == 0 ? 0 : 2)); /* the row that overflowed is left out */
    }
    close_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_do_not_depend_on_order),
        cmocka_unit_test(wrong_requests_are_refused),
        cmocka_unit_test(a_refused_clock_reaches_all_servers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
