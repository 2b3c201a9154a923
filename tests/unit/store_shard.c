/* Shards against a plain array, and the server's functions against their formulas written apart. */
#include "store/shard.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/order.h"
#include "base/random.h"
#include "store/table_check.h"

static hw_table_spec table_of(const char *function, hw_value_type type, uint32_t width, bool sparse, uint64_t first,
                              uint64_t last)
{
    hw_table_spec spec = {.name = "t", .type = type, .width = width, .sparse = sparse, .first = first, .last = last};
    spec.function = hw_function_find(function);
    assert_non_null(spec.function);
    return spec;
}

/* `count` distinct keys, ascending, of universe[0..n). */
static size_t draw_keys(hw_random *random, const uint64_t *universe, size_t n, uint64_t *keys)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (hw_random_below(random, 3) == 0)
            keys[count++] = universe[i];
    qsort(keys, count, sizeof *keys, hw_ascending);
    return count;
}

enum { UNIVERSE = 5000, WIDTH = 3 };

static void like_an_array(bool sparse)
{
    static uint64_t universe[UNIVERSE], keys[UNIVERSE];
    static double plain[UNIVERSE][WIDTH], updates[UNIVERSE * WIDTH], got[UNIVERSE * WIDTH];
    hw_random random = hw_random_at(5, sparse, 0, 0);
    uint64_t first = UINT64_MAX - UNIVERSE + 1;
    for (size_t i = 0; i < UNIVERSE; i++)
        universe[i] = sparse ? (i == 0   ? 0
                                : i == 1 ? UINT64_MAX
                                         : hw_random_next(&random) >> hw_random_below(&random, 40))
                             : first + i;
    memset(plain, 0, sizeof plain);
    hw_table_spec spec = table_of("add", HW_VALUE_F64, WIDTH, sparse, sparse ? 0 : first, UINT64_MAX);
    hw_table_shard *shard;
    assert_int_equal(hw_table_shard_new(&spec, spec.first, spec.last, &shard, NULL), HAWSER_OK);
    qsort(universe, UNIVERSE, sizeof *universe, hw_ascending);
    for (int round = 0; round < 12; round++) {
        /* Of a repeated key in the universe (small ones are drawn twice) only one may be in a request. */
        size_t count = draw_keys(&random, universe, UNIVERSE, keys), kept = 0;
        for (size_t i = 0; i < count; i++)
            if (kept == 0 || keys[kept - 1] != keys[i])
                keys[kept++] = keys[i];
        count = kept;
        for (size_t i = 0; i < count; i++) {
            size_t at =
                (size_t)((uint64_t *)bsearch(&keys[i], universe, UNIVERSE, sizeof *universe, hw_ascending) - universe);
            while (at > 0 && universe[at - 1] == keys[i])
                at--;
            for (size_t w = 0; w < WIDTH; w++)
                plain[at][w] += updates[i * WIDTH + w] = hw_random_uniform(&random);
        }
        assert_int_equal(hw_table_shard_apply(shard, keys, count, updates, NULL, NULL), HAWSER_OK);
        hw_table_shard_get(shard, universe, UNIVERSE, got);
        for (size_t i = 0; i < UNIVERSE; i++)
            if (i == 0 || universe[i] != universe[i - 1])
                assert_memory_equal(got + i * WIDTH, plain[i], sizeof plain[i]);
    }
    if (sparse) {
        uint64_t *all = malloc(hw_table_shard_keys(shard) * sizeof *all);
        hw_table_shard_list(shard, all);
        for (size_t i = 1; i < hw_table_shard_keys(shard); i++)
            assert_true(all[i - 1] < all[i]);
        free(all);
    } else {
        static double range[UNIVERSE * WIDTH];
        hw_table_shard_get_range(shard, first + 10, UINT64_MAX, range);
        assert_memory_equal(range, got + 10 * WIDTH, (UNIVERSE - 10) * WIDTH * sizeof *range);
        assert_int_equal(hw_table_shard_apply_range(shard, first, first + 1, updates, NULL, NULL), HAWSER_OK);
        hw_table_shard_get_range(shard, first, first + 1, range);
        for (size_t i = 0; i < (size_t)2 * WIDTH; i++)
            assert_true(range[i] == got[i] + updates[i]);
    }
    hw_table_shard_free(shard);
}

static void dense_like_an_array(void **state)
{
    (void)state;
    like_an_array(false);
}

static void sparse_like_an_array(void **state)
{
    (void)state;
    like_an_array(true);
}

/* A key without a push reads as zeros and stays out of the list. */
static void reading_makes_no_keys(void **state)
{
    (void)state;
    hw_table_spec spec = table_of("add", HW_VALUE_I64, 1, true, 0, UINT64_MAX);
    hw_table_shard *shard;
    assert_int_equal(hw_table_shard_new(&spec, 0, UINT64_MAX, &shard, NULL), HAWSER_OK);
    uint64_t keys[] = {0, 77, UINT64_MAX};
    int64_t got[] = {1, 1, 1}, one[] = {INT64_MAX, 2, -5};
    hw_table_shard_get(shard, keys, 3, got);
    assert_true(got[0] == 0 && got[1] == 0 && got[2] == 0 && hw_table_shard_keys(shard) == 0);
    assert_int_equal(hw_table_shard_apply(shard, keys, 3, one, NULL, NULL), HAWSER_OK);
    assert_int_equal(hw_table_shard_apply(shard, keys, 1, &(int64_t){1}, NULL, NULL), HAWSER_OK);
    hw_table_shard_get(shard, keys, 3, got);
    assert_true(got[0] == INT64_MIN && got[1] == 2 && got[2] == -5); /* counters wrap */
    hw_table_shard_free(shard);
}

/* -------------------------------------------------------------------------------------------------------- functions ---- */

enum { PUSHES = 9 };

/* One number, pushed to PUSHES times; what it comes to in double. */
static double pushed(const char *function, hw_value_type type, const double *parameters, const double *updates)
{
    hw_table_spec spec = table_of(function, type, 1, false, 4, 4);
    if (parameters != NULL)
        memcpy(spec.parameters, parameters, spec.function->parameters * sizeof *parameters);
    hawser_error error = {0};
    if (hw_table_check(&spec, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    hw_table_shard *shard;
    assert_int_equal(hw_table_shard_new(&spec, 4, 4, &shard, NULL), HAWSER_OK);
    for (int i = 0; i < PUSHES; i++) {
        float single = (float)updates[i];
        assert_int_equal(hw_table_shard_apply_range(
                             shard, 4, 4, type == HW_VALUE_F32 ? (void *)&single : (void *)&updates[i], NULL, NULL),
                         HAWSER_OK);
    }
    double value;
    float single;
    hw_table_shard_get_range(shard, 4, 4, type == HW_VALUE_F32 ? (void *)&single : (void *)&value);
    hw_table_shard_free(shard);
    return type == HW_VALUE_F32 ? (double)single : value;
}

static double clip(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

/* What the function should come to, from its definition over all pushes. */
static double expected(const char *function, const double *p, const double *g)
{
    double x = 0, sum = 0, squares = 0, most = 0;
    for (int i = 0; i < PUSHES; i++) {
        sum += g[i];
        squares += g[i] * g[i];
        most = fmax(most, g[i]);
        if (strcmp(function, "adagrad") == 0)
            x -= p[0] * g[i] / (sqrt(squares) + p[1]);
        if (strcmp(function, "adam") == 0) { /* the moments as sums of powers, not as recurrences */
            double m = 0, v = 0;
            for (int k = 0; k <= i; k++) {
                m += (1 - p[1]) * pow(p[1], i - k) * g[k];
                v += (1 - p[2]) * pow(p[2], i - k) * g[k] * g[k];
            }
            x -= p[0] * (m / (1 - pow(p[1], i + 1))) / (sqrt(v / (1 - pow(p[2], i + 1))) + p[3]);
        }
        if (strcmp(function, "proximal") ==
            0) { /* the minimiser of (z - y)^2 / (2 rate) + l1 |z| + l2/2 z^2, piece by piece */
            double y = x - p[0] * g[i], right = (y / p[0] - p[1]) / (1 / p[0] + p[2]),
                   left = (y / p[0] + p[1]) / (1 / p[0] + p[2]);
            x = right > 0 ? right : left < 0 ? left : 0;
            x = p[3] == 0 && p[4] == 0 ? x : clip(x, p[3], p[4]);
        }
    }
    if (strcmp(function, "add") == 0)
        return sum;
    if (strcmp(function, "assign") == 0)
        return g[PUSHES - 1];
    if (strcmp(function, "max") == 0)
        return most;
    if (strcmp(function, "average") == 0)
        return sum / PUSHES;
    return x;
}

static void functions_follow_their_formulas(void **state)
{
    (void)state;
    static const double adagrad[] = {0.1, 1e-8}, adam[] = {0.01, 0.9, 0.99, 1e-8};
    static const double proximal[][5] = {
        {0.3, 0.2, 0.5, -0.4, 1.1}, {0.3, 0.2}, {0.3}, {0.3, 0.1, 0, 0, INFINITY}, {0.3, 0.2, 0.5, -1, 0}};
    size_t tried = 0;
    for (const hw_function *function; (function = hw_function_at(tried)) != NULL; tried++) {
        for (uint64_t seed = 0; seed < 200; seed++) {
            const double *p = strcmp(function->name, "adagrad") == 0    ? adagrad
                              : strcmp(function->name, "adam") == 0     ? adam
                              : strcmp(function->name, "proximal") == 0 ? proximal[seed % 5]
                                                                        : NULL;
            hw_random random = hw_random_at(seed, 9, 0, 0);
            double updates[PUSHES];
            for (int i = 0; i < PUSHES; i++)
                updates[i] = hw_random_normal(&random);
            double right = expected(function->name, p, updates);
            assert_true(fabs(pushed(function->name, HW_VALUE_F64, p, updates) - right) <= 1e-12 * fmax(1, fabs(right)));
            assert_true(fabs(pushed(function->name, HW_VALUE_F32, p, updates) - right) <= 2e-5 * fmax(1, fabs(right)));
        }
    }
    assert_int_equal(tried, 7);
}

enum { LAST = 2500 };

/* Keys as bits from one before the first on, applied and read in two pieces that meet anywhere; rows have `bytes`. */
static void by_bits(hw_table_shard *shard, const uint64_t *keys, size_t count, size_t bytes, const unsigned char *updates,
                    unsigned char *out, hw_random *random)
{
    uint64_t bits[(LAST + 2) / 64 + 1] = {0}, from = keys[0] - 1, last = keys[count - 1];
    uint64_t middle = keys[0] + hw_random_below(random, last - keys[0] + 1);
    size_t before = 0;
    for (size_t i = 0; i < count; i++) {
        bits[(keys[i] - from) / 64] |= UINT64_C(1) << (keys[i] - from) % 64;
        before += keys[i] <= middle;
    }
    size_t applied = 0;
    assert_int_equal(hw_table_shard_apply_bits(shard, keys[0], middle, bits, from, updates, &applied, NULL, NULL),
                     HAWSER_OK);
    assert_int_equal(applied, before);
    assert_int_equal(hw_table_shard_get_bits(shard, keys[0], middle, bits, from, out), before);
    if (middle == last)
        return;
    updates += before * bytes;
    assert_int_equal(hw_table_shard_apply_bits(shard, middle + 1, last, bits, from, updates, &applied, NULL, NULL),
                     HAWSER_OK);
    assert_int_equal(applied, count - before);
    assert_int_equal(hw_table_shard_get_bits(shard, middle + 1, last, bits, from, out + before * bytes), count - before);
}

/* Every function gives scattered rows, dense or sparse, the bits that it gives a row on its own. */
static void scattered_rows_are_rows(void **state)
{
    (void)state;
    enum { ROUNDS = 6, WIDEST = 3 };
    static const hw_value_type types[] = {HW_VALUE_F32, HW_VALUE_F64, HW_VALUE_I64};
    hw_random random = hw_random_at(3, 14, 0, 0);
    const hw_function *function;
    for (size_t tried = 0; (function = hw_function_at(tried)) != NULL; tried++)
        for (unsigned mode = 0; mode < 3 * WIDEST * 2; mode++) {
            bool sparse = mode % 2;
            hw_table_spec spec = table_of(function->name, types[mode / 2 % 3], 1 + mode / 6, sparse, sparse ? 0 : 7,
                                          sparse ? UINT64_MAX : 7 + LAST),
                          alone = spec;
            if (function->types != 0 && (function->types & 1U << spec.type) == 0)
                continue;
            for (int i = 0; i < HW_FUNCTION_PARAMETERS; i++)
                spec.parameters[i] = alone.parameters[i] = 0.25;
            alone.sparse = false, alone.first = 7, alone.last = 7 + LAST;
            hw_table_shard *many, *one, *bits;
            assert_int_equal(hw_table_shard_new(&spec, spec.first, spec.last, &many, NULL), HAWSER_OK);
            assert_int_equal(hw_table_shard_new(&alone, 7, 7 + LAST, &one, NULL), HAWSER_OK);
            assert_int_equal(hw_table_shard_new(&alone, 7, 7 + LAST, &bits, NULL), HAWSER_OK);
            size_t bytes = spec.width * hw_value_size(spec.type);
            static unsigned char updates[(LAST + 1) * WIDEST * 8], got[sizeof updates], wanted[sizeof updates];
            uint64_t keys[LAST + 1], all[LAST + 1];
            for (uint64_t k = 0; k <= LAST; k++)
                all[k] = 7 + k;
            for (int round = 0; round < ROUNDS; round++) {
                size_t count = 0;
                for (uint64_t k = 0; k <= LAST; k++)
                    if (hw_random_below(&random, 3) > 0)
                        keys[count++] = 7 + k;
                for (size_t i = 0; i < count * spec.width; i++) {
                    double x = hw_random_normal(&random) * 10;
                    if (spec.type == HW_VALUE_F32)
                        ((float *)(void *)updates)[i] = (float)x;
                    else if (spec.type == HW_VALUE_F64)
                        ((double *)(void *)updates)[i] = x;
                    else
                        ((int64_t *)(void *)updates)[i] = (int64_t)x;
                }
                assert_int_equal(hw_table_shard_apply(many, keys, count, updates, NULL, NULL), HAWSER_OK);
                for (size_t i = 0; i < count; i++)
                    assert_int_equal(hw_table_shard_apply_range(one, keys[i], keys[i], updates + i * bytes, NULL, NULL),
                                     HAWSER_OK);
                hw_table_shard_get(many, all, LAST + 1, got);
                hw_table_shard_get_range(one, 7, 7 + LAST, wanted);
                assert_memory_equal(got, wanted, (LAST + 1) * bytes);
                by_bits(bits, keys, count, bytes, updates, got, &random);
                for (size_t i = 0; i < count; i++)
                    assert_memory_equal(got + i * bytes, wanted + (keys[i] - 7) * bytes, bytes);
                hw_table_shard_get_range(bits, 7, 7 + LAST, got);
                assert_memory_equal(got, wanted, (LAST + 1) * bytes);
            }
            hw_table_shard_free(many);
            hw_table_shard_free(one);
            hw_table_shard_free(bits);
        }
}

static void bad_tables_are_refused(void **state)
{
    (void)state;
    hawser_error error = {0};
    hw_table_spec good = table_of("adam", HW_VALUE_F32, 2, false, 0, 9), bad = good;
    memcpy(good.parameters, (double[]){0.1, 0.9, 0.999, 1e-8}, 4 * sizeof(double));
    assert_int_equal(hw_table_check(&good, &error), HAWSER_OK);
    bad = good, bad.name[0] = '\0';
    assert_int_equal(hw_table_check(&bad, &error), HAWSER_BAD_ARGUMENT);
    bad = good, memset(bad.name, 'x', sizeof bad.name);
    assert_int_equal(hw_table_check(&bad, &error), HAWSER_BAD_ARGUMENT);
    const char *const unfit[] = {"a\nb", "\t", "a\x7f", "a\xc2\x85", "\x1b[31m", "a\xff"};
    for (size_t i = 0; i < sizeof unfit / sizeof *unfit; i++) {
        bad = good;
        (void)snprintf(bad.name, sizeof bad.name, "%s", unfit[i]);
        assert_int_equal(hw_table_check(&bad, &error), HAWSER_BAD_ARGUMENT);
        assert_null(strstr(error.text, unfit[i]));
    }
    bad = good;
    (void)snprintf(bad.name, sizeof bad.name, "caf\xc3\xa9 \xc2\xb5 1");
    assert_int_equal(hw_table_check(&bad, &error), HAWSER_OK);
    bad = good, bad.width = 0;
    assert_int_equal(hw_table_check(&bad, &error), HAWSER_BAD_ARGUMENT);
    bad = good, bad.first = 10;
    assert_int_equal(hw_table_check(&bad, &error), HAWSER_BAD_ARGUMENT);
    bad = good, bad.type = HW_VALUE_I64;
    assert_int_equal(hw_table_check(&bad, &error), HAWSER_BAD_ARGUMENT);
    bad = good, bad.type = (hw_value_type)9;
    assert_int_equal(hw_table_check(&bad, &error), HAWSER_BAD_ARGUMENT);
    bad = good, bad.function = NULL;
    assert_int_equal(hw_table_check(&bad, &error), HAWSER_BAD_ARGUMENT);
    for (int i = 0; i < 4; i++) {
        bad = good, bad.parameters[i] = i == 1 || i == 2 ? 1 : 0;
        assert_int_equal(hw_table_check(&bad, &error), HAWSER_BAD_ARGUMENT);
        bad.parameters[i] = NAN;
        assert_int_equal(hw_table_check(&bad, &error), HAWSER_BAD_ARGUMENT);
    }
    assert_non_null(strstr(error.text, "epsilon"));
}

/* Parameters that are missing or contradict each other are refused by name, with all values. */
static void wrong_parameters_are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *function;
        double parameters[5];
        const char *words; /* NULL: they are right */
    } cases[] = {
        {"adagrad", {0.1}, "'adagrad' (rate 0.1, epsilon 0): epsilon must be"},
        {"adagrad", {0, 1}, "rate must be"},
        {"adagrad", {0.1, INFINITY}, "epsilon must be"},
        {"adam", {0.1, 0.9, 0.99}, "epsilon must be"},
        {"adam", {0.1, 1, 0.9, 1e-8}, "beta1 must be"},
        {"adam", {0.1, 0.9, -0.1, 1e-8}, "beta2 must be"},
        {"proximal", {0}, "rate must be"},
        {"proximal", {INFINITY, 1}, "rate must be"},
        {"proximal", {0.1, -1}, "(rate 0.1, l1 -1, l2 0, low 0, high 0): l1 must be"},
        {"proximal", {0.1, 1, -0.5}, "l2 must be"},
        {"proximal", {0.1, 1, NAN}, "l2 must be"},
        {"proximal", {0.1, 1, 0, 0.5}, "low must not be above high"},
        {"proximal", {0.1, 1, 0, 2, 1}, "low must not be above high"},
        {"proximal", {0.1, 1, 0, NAN, 1}, "low must not be above high"},
        {"proximal", {0.1, 1, 0, INFINITY, INFINITY}, "no number is within"},
        {"proximal", {0.1, 1}, NULL},
        {"proximal", {0.1, 1, 0, -INFINITY, INFINITY}, NULL},
        {"proximal", {0.1, 1, 0, 0, 1}, NULL},
        {"adam", {0.1, 0, 0, 1e-8}, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hawser_error error = {0};
        hw_table_spec spec = table_of(cases[i].function, HW_VALUE_F64, 1, false, 0, 9);
        memcpy(spec.parameters, cases[i].parameters, sizeof cases[i].parameters);
        hawser_status status = hw_table_check(&spec, &error);
        assert_int_equal(status, cases[i].words == NULL ? HAWSER_OK : HAWSER_BAD_ARGUMENT);
        if (cases[i].words != NULL && strstr(error.text, cases[i].words) == NULL)
            fail_msg("no '%s' in: %s", cases[i].words, error.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_like_an_array),
        cmocka_unit_test(sparse_like_an_array),
        cmocka_unit_test(wrong_parameters_are_refused_by_name),
        cmocka_unit_test(reading_makes_no_keys),
        cmocka_unit_test(functions_follow_their_formulas),
        cmocka_unit_test(scattered_rows_are_rows),
        cmocka_unit_test(bad_tables_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
