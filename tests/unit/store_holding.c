/* What is held back of pushes: nothing is lost by filters and rounding, what goes is short, KKT's changes no bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>

#include "store/holding.h"
#include "store/table_check.h"
#include "store_world.h"

enum { KEYS = 60, WIDTH = 3, PUSHES = 40 };

static void choose_even(const hw_own_filter *own, const hw_table_spec *spec, const uint64_t *keys, const void *rows,
                        size_t count, bool *go)
{
    (void)own, (void)rows;
    for (size_t i = 0; i < count; i++)
        go[i] = spec->width == WIDTH && (keys[i] + (uint64_t)spec->level) % 2 == 0;
}
static const hw_own_filter even_keys = {choose_even};

static double number_at(hw_value_type type, const void *values, size_t i)
{
    return type == HW_VALUE_F32 ? (double)((const float *)values)[i] : ((const double *)values)[i];
}

/* Rounded numbers come back from their bytes, and those are as few as was said. */
static void check_bytes(const hw_table_spec *spec, const hw_passed *passed)
{
    size_t numbers = passed->count * WIDTH, length = 0, size = spec->rounding == HW_INT8 ? 1 : 2;
    hw_values_form form = hw_values_choose_rounded(spec->type, spec->rounding, passed->values, numbers, &length);
    if (spec->rounding != HW_F64 && numbers > 10)
        assert_true(length <= numbers * size + 2);
    unsigned char *bytes = malloc(length + 1);
    double back[KEYS * WIDTH];
    hw_values_encode(form, spec->type, passed->values, numbers, bytes);
    assert_true(hw_values_decode(form, spec->type, bytes, length, numbers, back));
    assert_memory_equal(back, passed->values, numbers * hw_value_size(spec->type));
    assert_false(hw_values_decode(form, spec->type, bytes, length + 1, numbers, back));
    free(bytes);
}

/* Multiples of 2^-10 below 2^12: all sums are exact, in both types. */
static void push_at_random(hw_table_spec spec, uint64_t seed)
{
    hw_holding *holding = NULL;
    hw_random random = hw_random_at(seed, 3, 0, 0);
    double pushed[KEYS][WIDTH] = {{0}}, came[KEYS][WIDTH] = {{0}};
    size_t held = 0;
    assert_int_equal(hw_table_check(&spec, NULL), HAWSER_OK);
    assert_int_equal(hw_holding_new(&spec, seed, false, &holding, NULL), HAWSER_OK);
    for (int p = 0; p <= PUSHES; p++) {
        uint64_t keys[KEYS];
        double values[KEYS * WIDTH];
        float singles[KEYS * WIDTH];
        size_t count = 0;
        bool all = hw_random_below(&random, 3) == 0;
        for (uint64_t k = 0; k < KEYS; k++) {
            if (!all && hw_random_below(&random, 2) == 0)
                continue;
            keys[count] = k;
            for (size_t i = 0; i < WIDTH; i++) {
                double value = ldexp((double)hw_random_below(&random, 1 << (5 + 3 * i)) - (16 << (3 * i)), -10);
                values[count * WIDTH + i] = value;
                singles[count * WIDTH + i] = (float)value;
                pushed[k][i] += p < PUSHES ? value : 0;
            }
            count++;
        }
        hw_passed passed;
        if (p == PUSHES)
            assert_int_equal(hw_holding_rest(holding, &passed, NULL), HAWSER_OK);
        else
            assert_int_equal(hw_holding_pass(holding, all ? NULL : keys, 0, count,
                                             spec.type == HW_VALUE_F32 ? (void *)singles : values, &passed, NULL),
                             HAWSER_OK);
        held += p < PUSHES ? count - passed.count : 0;
        for (size_t i = 0; i < passed.count * WIDTH; i++)
            came[passed.keys[i / WIDTH]][i % WIDTH] += number_at(spec.type, passed.values, i);
        if (p < PUSHES)
            check_bytes(&spec, &passed);
        free(passed.keys);
        free(passed.values);
    }
    hw_holding_free(holding);
    assert_memory_equal(pushed, came, sizeof pushed);
    assert_true((held > 0) == (spec.filter != HW_PASS_ALL));
}

static void nothing_is_lost(void **state)
{
    (void)state;
    static const hw_width widths[] = {HW_F64, HW_BF16, HW_F16, HW_INT8};
    static const hw_filter_of filters[] = {HW_PASS_ALL, HW_PASS_SIGNIFICANT, HW_PASS_RANDOM, HW_PASS_OWN};
    for (uint64_t seed = 0; seed < 32; seed++) {
        hw_table_spec spec = spec_of("t", seed & 16 ? HW_VALUE_F32 : HW_VALUE_F64, WIDTH, true, 0, UINT64_MAX);
        spec.rounding = widths[seed % 4];
        spec.filter = filters[seed / 4 % 4];
        spec.level = spec.filter == HW_PASS_SIGNIFICANT ? 0.9 : 0.5;
        spec.own_filter = &even_keys;
        if (spec.filter != HW_PASS_ALL || spec.rounding != HW_F64)
            push_at_random(spec, seed);
    }
}

/* -------------------------------------------------------------------------------------------------- over the wire ---- */

static void run(world *w, hw_order order)
{
    uint64_t task = submit(w, 0, order);
    while (step(w))
        ;
    if (w->status[0][task] != HAWSER_OK)
        fail_msg("%s", w->error.text);
}

/* Proximal steps towards a target that is mostly zero: the table without a filter has the same bits all the way. */
static void kkt_changes_no_bit(void **state)
{
    (void)state;
    world *w = open_world(3, 2, 1, 1, 0);
    hw_table_spec plain = spec_of("plain", HW_VALUE_F32, 1, false, 0, KEYS - 1), kkt;
    plain.function = hw_function_find("proximal");
    memcpy(plain.parameters, (double[]){0.2, 0.3, 0.01, -10, 10}, 5 * sizeof(double));
    kkt = plain;
    snprintf(kkt.name, sizeof kkt.name, "kkt");
    kkt.filter = HW_PASS_KKT;
    uint32_t table[2] = {create(w, plain), create(w, kkt)};
    float weights[2][KEYS], gradients[KEYS];
    uint64_t sent[2] = {0}, held = 0;
    hw_random random = hw_random_at(1, 2, 3, 4);
    for (int round = 0; round < 60; round++) {
        for (int t = 0; t < 2; t++)
            run(w, (hw_order){.operation = HW_PULL, .table = table[t], .last = KEYS - 1, .out = weights[t]});
        assert_memory_equal(weights[0], weights[1], sizeof weights[0]);
        for (int k = 0; k < KEYS; k++)
            gradients[k] = weights[0][k] - (k % 7 == 0 ? 2.0F : 0.1F) + (float)(0.2 * hw_random_normal(&random));
        for (int t = 0; t < 2; t++) {
            uint64_t before = hw_client_figures_of(w->client[0])->traffic.bytes_sent;
            run(w, (hw_order){.operation = HW_PUSH, .table = table[t], .last = KEYS - 1, .values = gradients});
            sent[t] += hw_client_figures_of(w->client[0])->traffic.bytes_sent - before;
        }
    }
    held = hw_client_figures_of(w->client[0])->rows_held;
    assert_true(held > 60 * KEYS / 2);
    assert_true(sent[1] < sent[0]);
    assert_true(weights[0][0] > 1 && weights[0][1] == 0);
    close_world(w);
}

/* How many of a thousand rows of 0.2 and 0.5 go, once all rows have been seen as zeros. */
static size_t passed_of(hw_table_spec spec)
{
    enum { ROWS = 1000 };
    hw_holding *holding = NULL;
    hw_passed passed;
    static double values[ROWS], zeros[ROWS];
    for (size_t k = 0; k < ROWS; k++)
        values[k] = k % 2 == 0 ? 0.2 : -0.5;
    assert_int_equal(hw_table_check(&spec, NULL), HAWSER_OK);
    assert_int_equal(hw_holding_new(&spec, 5, false, &holding, NULL), HAWSER_OK);
    hw_holding_saw(holding, NULL, 0, ROWS, zeros);
    assert_int_equal(hw_holding_pass(holding, NULL, 0, ROWS, values, &passed, NULL), HAWSER_OK);
    size_t count = passed.count;
    free(passed.keys);
    free(passed.values);
    hw_holding_free(holding);
    return count;
}

/* The level says what a filter lets go: a probability, a size, or how far within the penalty's dead zone. */
static void filter_levels_follow_their_definition(void **state)
{
    (void)state;
    hw_table_spec spec = spec_of("t", HW_VALUE_F64, 1, false, 0, 999);
    spec.filter = HW_PASS_RANDOM;
    for (int k = 1; k <= 9; k += 2) {
        spec.level = 0.1 * k;
        double share = (double)passed_of(spec) / 1000;
        assert_true(share > spec.level - 0.06 && share < spec.level + 0.06);
    }
    spec.filter = HW_PASS_SIGNIFICANT;
    for (int k = 0; k < 3; k++) {
        spec.level = 0.1 + 0.2 * k; /* 0.1, 0.3, 0.5 */
        assert_int_equal(passed_of(spec), k == 0 ? 1000 : k == 1 ? 500 : 0);
    }
    spec.filter = HW_PASS_KKT;
    spec.function = hw_function_find("proximal");
    for (int k = 0; k < 3; k++) {
        memcpy(spec.parameters, (double[]){0.2, 0.6, 0, -10, 10}, 5 * sizeof(double));
        spec.level = 0.05 + 0.2 * k; /* zone: 0.55, 0.35, 0.15 */
        assert_int_equal(passed_of(spec), k == 0 ? 0 : k == 1 ? 500 : 1000);
    }
}

/* Rounded pushes take a part of the bytes; after a flush the table has the exact sum. */
static void rounding_saves_bytes(void **state)
{
    (void)state;
    static const hw_width widths[] = {HW_F64, HW_BF16, HW_INT8};
    enum { MANY = 4000 };
    uint64_t sent[3];
    for (int i = 0; i < 3; i++) {
        world *w = open_world(8, 2, 1, 1, 0); /* 512 numbers a message */
        hw_table_spec spec = spec_of("t", HW_VALUE_F32, 1, false, 0, MANY - 1);
        spec.rounding = widths[i];
        uint32_t table = create(w, spec);
        static float values[MANY], out[MANY];
        for (int k = 0; k < MANY; k++)
            values[k] = (float)(k + 1) / 1024;
        for (int round = 0; round < 5; round++)
            run(w, (hw_order){.operation = HW_PUSH, .table = table, .last = MANY - 1, .values = values});
        const hw_client_figures *figures = hw_client_figures_of(w->client[0]);
        sent[i] = figures->traffic.bytes_sent;
        assert_true(i == 0 || figures->traffic.bytes_sent < figures->traffic.bytes_plain * 6 / 10);
        if (i > 0)
            run(w, (hw_order){.operation = HW_PUSH, .table = table, .rest = true});
        run(w, (hw_order){.operation = HW_PULL, .table = table, .last = MANY - 1, .out = out});
        for (int k = 0; k < MANY; k++)
            assert_true(out[k] == 5 * values[k]);
        close_world(w);
    }
    assert_true(sent[1] * 10 < sent[0] * 6 && sent[2] * 10 < sent[1] * 7);
}

static void refused(hw_table_spec spec, const char *words)
{
    hawser_error error = {0};
    assert_int_equal(hw_table_check(&spec, &error), HAWSER_BAD_ARGUMENT);
    if (strstr(error.text, words) == NULL)
        fail_msg("no '%s' in: %s", words, error.text);
}

static void wrong_requests_are_refused(void **state)
{
    (void)state;
    hw_table_spec spec = spec_of("t", HW_VALUE_I64, 1, false, 0, 9);
    spec.rounding = HW_BF16;
    refused(spec, "integers are neither rounded");
    spec.type = HW_VALUE_F32;
    spec.summed = true;
    refused(spec, "a summed table's updates go as they are");
    spec.summed = false;
    spec.function = hw_function_find("max");
    refused(spec, "max updates go as they are");
    spec.function = hw_function_find("add");
    spec.filter = HW_PASS_RANDOM;
    refused(spec, "0 is not within (0,1]");
    spec.filter = HW_PASS_SIGNIFICANT;
    spec.level = -1;
    refused(spec, "must not be below 0");
    spec.filter = HW_PASS_KKT;
    refused(spec, "'kkt' is for function 'proximal'");
    spec.function = hw_function_find("proximal");
    memcpy(spec.parameters, (double[]){0.2, 0.3, 0, -1, 1}, 5 * sizeof(double));
    refused(spec, "the level -1 must be within 0 and l1");
    spec.level = 0.1;
    spec.parameters[3] = 0.5;
    refused(spec, "0 within the bounds");
    world *w = open_world(1, 1, 1, 1, 0);
    uint32_t table = create(w, spec_of("u", HW_VALUE_F32, 1, false, 0, 9));
    uint64_t task;
    hawser_error error = {0};
    hw_order order = {.operation = HW_PUSH, .table = table, .rest = true};
    assert_int_equal(hw_client_submit(w->client[0], &order, &task, &error), HAWSER_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "holds nothing back"));
    close_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_lost),
        cmocka_unit_test(kkt_changes_no_bit),
        cmocka_unit_test(filter_levels_follow_their_definition),
        cmocka_unit_test(rounding_saves_bytes),
        cmocka_unit_test(wrong_requests_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
