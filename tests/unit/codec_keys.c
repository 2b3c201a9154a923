/* Lists of keys and numbers as bytes: decoding inverts encoding, and rejects other bytes. */
#include "codec/keys.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "codec/values.h"
#include "store/lists.h"

enum { MOST = 9000 };

static const hw_keys_layout layouts[] = {
    {HW_GAPS_U64, false}, {HW_GAPS_U64, true}, {HW_GAPS_U32, false}, {HW_GAPS_U32, true}};

/* Draws ascending keys with gaps of every size, sometimes up to the last possible key. */
static size_t draw(hw_random *random, uint64_t last, uint64_t *keys)
{
    size_t count = 1 + (size_t)hw_random_below(random, MOST);
    uint64_t bits = hw_random_below(random, 52), key = (hw_random_next(random) & last) >> hw_random_below(random, 64);
    for (size_t i = 0; i < count; i++) {
        keys[i] = key;
        uint64_t gap = hw_random_below(random, 3) == 0 ? 1 : 1 + (hw_random_next(random) & ((UINT64_C(1) << bits) - 1));
        if (key > last - gap || gap > last)
            return i + 1;
        key += gap;
    }
    if (hw_random_below(random, 4) == 0)
        keys[count - 1] = last;
    return count;
}

static void decoded_keys_are_those_encoded(void **state)
{
    (void)state;
    static uint64_t keys[MOST], typed[MOST], back[MOST];
    static unsigned char bytes[9 * MOST + 64];
    hw_random random = hw_random_at(1, 0, 0, 0);
    for (int round = 0; round < 2000; round++) {
        const hw_keys_layout layout = layouts[round % 4];
        size_t count = draw(&random, UINT64_MAX >> (64 - 8 * layout.number), keys), size = layout.number;
        assert_true(hw_keys_ascend(keys, count));
        size_t begin = (size_t)hw_random_below(&random, count), end = begin + 1;
        uint64_t last = keys[begin] + hw_random_below(&random, keys[count - 1] - keys[begin] + 1);
        while (end < count && keys[end] <= last)
            end++;
        assert_int_equal(hw_keys_up_to(keys, begin, count, last), end);
        for (size_t i = 0; i < count; i++)
            memcpy((unsigned char *)typed + i * size, &keys[i], size);
        size_t length = hw_keys_encode(layout, typed, count, bytes);
        assert_true(length <= hw_keys_bound(count) && length == hw_keys_bytes(layout, typed, count));
        assert_true(hw_keys_decode(layout, bytes, length, keys[0], count, back));
        assert_memory_equal(typed, back, count * size);
        /* One byte less, one byte more or one key more is not a valid list. */
        assert_false(length > 0 && hw_keys_decode(layout, bytes, length - 1, keys[0], count, back));
        assert_false(hw_keys_decode(layout, bytes, length + 1, keys[0], count, back));
        /* With other bytes, decoded keys still ascend. */
        if (length > 0) {
            bytes[hw_random_below(&random, length)] ^= (unsigned char)(1 + hw_random_below(&random, 255));
            if (hw_keys_decode(layout, bytes, length, keys[0], count, back))
                assert_true(hw_gaps_best(layout.number)->ascend(back, count));
        }
    }
}

/* 129 gaps: one of 2 bytes and 127 of 1, then one of 4; the bytes of each layout. */
static void widths_are_first_or_before_each_group(void **state)
{
    (void)state;
    enum { COUNT = 130, BYTES = 2 + 128 * 2 + 4 };
    uint32_t keys[COUNT] = {5}, back[COUNT];
    unsigned char bytes[BYTES + 1], *each = bytes + 1, *first = bytes + 2;
    for (uint32_t i = 1; i < COUNT; i++)
        keys[i] = keys[i - 1] + 1 + (i == 1 ? 0x123 : i == COUNT - 1 ? 0x1234567 : i);
    for (int ahead = 0; ahead < 2; ahead++) {
        const hw_keys_layout layout = {HW_GAPS_U32, ahead};
        assert_int_equal(hw_keys_encode(layout, keys, COUNT, bytes), BYTES);
        const unsigned char *gaps = ahead ? first : each, *rest = ahead ? gaps + 256 : gaps + 257;
        assert_int_equal(bytes[0], 2);
        assert_int_equal(ahead ? bytes[1] : rest[-1], 4);
        assert_true(gaps[0] == 0x23 && gaps[1] == 0x01 && gaps[2] == 2 && gaps[3] == 0 && gaps[254] == 128);
        assert_memory_equal(rest, "\x67\x45\x23\x01", 4);
        assert_true(hw_keys_decode(layout, bytes, BYTES, 5, COUNT, back));
        assert_memory_equal(back, keys, sizeof keys);
        assert_false(hw_keys_decode(layout, bytes, BYTES, 5 + (UINT64_C(1) << 32), COUNT, back));
        bytes[0] = 3;
        assert_false(hw_keys_decode(layout, bytes, BYTES, 5, COUNT, back));
        bytes[0] = 8; /* wider than a key */
        assert_false(hw_keys_decode(layout, bytes, BYTES, 5, COUNT, back));
    }
}

static void consecutive_keys_take_no_bytes(void **state)
{
    (void)state;
    static uint64_t keys[MOST];
    static unsigned char bytes[9 * MOST];
    for (size_t i = 0; i < MOST; i++)
        keys[i] = 77 + i;
    assert_true(hw_keys_follow(keys, MOST));
    assert_int_equal(hw_keys_encode(layouts[0], keys, MOST, bytes), (MOST - 1 + 127) / 128);
    keys[MOST - 1]++;
    assert_false(hw_keys_follow(keys, MOST));
    keys[5] = keys[4];
    assert_false(hw_keys_ascend(keys, MOST));
    assert_false(hw_keys_decode(layouts[0], NULL, 0, 0, 0, keys));
}

static void decoded_values_are_those_encoded(void **state)
{
    (void)state;
    static double values[MOST], back[MOST];
    static unsigned char bytes[9 * MOST];
    hw_random random = hw_random_at(2, 0, 0, 0);
    for (int round = 0; round < 600; round++) {
        hw_value_type type = (hw_value_type)(1 + round % 3);
        size_t count = 1 + (size_t)hw_random_below(&random, MOST), size = hw_value_size(type), length;
        uint64_t zeros = hw_random_below(&random, 20);
        unsigned char *raw = (unsigned char *)values;
        for (size_t i = 0; i < count; i++) {
            uint64_t bits = hw_random_below(&random, 20) < zeros ? 0 : hw_random_next(&random); /* any pattern, NaN too */
            if (hw_random_below(&random, 50) == 0)
                bits = type == HW_VALUE_F32 ? UINT64_C(0x80000000) : UINT64_C(1) << 63; /* -0.0 */
            memcpy(raw + i * size, &bits, size);
        }
        hw_values_form form = hw_values_choose(type, values, count, &length);
        assert_true(length <= count * size);
        size_t nonzero = 0;
        for (size_t i = 0; i < count; i++)
            nonzero += memcmp(raw + i * size, &(uint64_t){0}, size) != 0;
        if ((nonzero + 4) * size + count / 8 < count * size * 7 / 8) /* zeros are left out, and each number costs a bit */
            assert_true(form == HW_VALUES_NONZERO && length == (count + 63) / 64 * 8 + nonzero * size);
        memset(bytes, 0xff, sizeof bytes);
        hw_values_encode(form, type, values, count, bytes);
        assert_int_equal(bytes[length], 0xff);
        assert_true(hw_values_decode(form, type, bytes, length, count, back));
        assert_memory_equal(values, back, count * size);
        assert_false(hw_values_decode(form, type, bytes, length + 1, count, back));
        assert_false(hw_values_decode(form, type, bytes, length - 1, count, back));
        assert_false(hw_values_decode((hw_values_form)7, type, bytes, length, count, back));
        /* A bit for a number behind the last. */
        if (form == HW_VALUES_NONZERO && count % 64 != 0) {
            bytes[(count - 1) / 64 * 8 + 7] |= 0x80;
            assert_false(hw_values_decode(form, type, bytes, length + size, count, back));
        }
    }
}

static void numbers_that_are_not_finite_are_found(void **state)
{
    (void)state;
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t n = 1; n < 70; n++)
        for (size_t k = 0; k < 3; k++) {
            double wide[70] = {0};
            float narrow[70] = {0};
            wide[0] = 1e308, narrow[0] = 3e38F;
            assert_int_equal(hw_values_not_finite(HW_VALUE_F64, wide, n), n);
            assert_int_equal(hw_values_not_finite(HW_VALUE_F32, narrow, n), n);
            wide[n - 1] = bad[k], narrow[n - 1] = (float)bad[k];
            assert_int_equal(hw_values_not_finite(HW_VALUE_F64, wide, n), n - 1);
            assert_int_equal(hw_values_not_finite(HW_VALUE_F32, narrow, n), n - 1);
            assert_int_equal(hw_values_not_finite(HW_VALUE_I64, wide, n), n);
        }
}

/* The first of several is found anywhere, among more numbers than are checked together. */
static void the_first_number_that_is_not_finite_is_found(void **state)
{
    (void)state;
    enum { MANY = 300000 };
    static double wide[MANY];
    static float narrow[MANY];
    hw_random random = hw_random_at(8, 0, 0, 0);
    assert_int_equal(hw_values_not_finite(HW_VALUE_F64, wide, MANY), MANY);
    assert_int_equal(hw_values_not_finite(HW_VALUE_F32, narrow, MANY), MANY);
    for (int round = 0; round < 100; round++) {
        size_t one = (size_t)hw_random_below(&random, MANY), other = (size_t)hw_random_below(&random, MANY);
        size_t first = one < other ? one : other;
        wide[one] = wide[other] = (double)NAN;
        narrow[one] = narrow[other] = INFINITY;
        assert_int_equal(hw_values_not_finite(HW_VALUE_F64, wide, MANY), first);
        assert_int_equal(hw_values_not_finite(HW_VALUE_F32, narrow, MANY), first);
        assert_int_equal(hw_values_not_finite(HW_VALUE_F32, narrow, first), first);
        wide[one] = wide[other] = 0;
        narrow[one] = narrow[other] = 0;
    }
}

/* Both sides of a link have little memory: whichever side forgets a list, a number always stands for the client's keys. */
static void numbers_mean_the_same_on_both_sides(void **state)
{
    (void)state;
    enum { LISTS = 40, COUNT = 50 };
    static uint64_t keys[LISTS][COUNT];
    static hw_lists client, server;
    hw_random random = hw_random_at(4, 0, 0, 0);
    hw_lists_init(&client, 75 * (sizeof(hw_list) + COUNT * sizeof(uint64_t)));
    hw_lists_init(&server, 55 * (sizeof(hw_list) + COUNT * sizeof(uint64_t)));
    for (size_t l = 0; l < LISTS; l++)
        for (size_t i = 0; i < COUNT; i++)
            keys[l][i] = i * LISTS + (i % 2 == 0 ? 0 : l);
    uint64_t saved = 0, sent = 0, forgotten = 0;
    for (int round = 0; round < 20000; round++) {
        size_t l = (size_t)hw_random_below(&random, 1 + hw_random_below(&random, LISTS)); /* some lists far more often */
        uint32_t table = (uint32_t)hw_random_below(&random, 2);
        bool known;
        const hw_list_of of = {
            .table = table, .first = keys[l][0], .last = keys[l][COUNT - 1], .count = COUNT, .size = COUNT};
        uint32_t number = hw_lists_number(&client, &of, keys[l], &known);
        hw_list *list = number != 0 && known ? hw_lists_get(&server, table, number) : NULL;
        if (list != NULL) {
            assert_memory_equal(list->words, keys[l], sizeof keys[l]);
            hw_list_drop(list);
            saved++;
            continue;
        }
        forgotten += known;
        sent++;
        if (number != 0)
            hw_lists_put(&server, number, &of, keys[l]);
        assert_true(client.bytes <= client.most && server.bytes <= server.most);
    }
    if (saved <= sent || forgotten <= 100)
        fail_msg("%llu saved, %llu sent, of these %llu forgotten", (unsigned long long)saved, (unsigned long long)sent,
                 (unsigned long long)forgotten);
    bool known;
    const hw_list_of three = {.first = keys[0][0], .last = keys[0][2], .count = 3, .size = 3};
    assert_int_equal(hw_lists_number(&client, &three, keys[0], &known), 0); /* not worth a number */
    for (uint32_t number = 1; number <= HW_LISTS_MOST; number++)            /* a number belongs to one table */
        if (server.list[number - 1] != NULL)
            assert_null(hw_lists_get(&server, 1 - server.list[number - 1]->of.table, number));
    assert_null(hw_lists_get(&server, 0, 0));
    assert_null(hw_lists_get(&server, 0, HW_LISTS_MOST + 1));
    hw_lists_free(&client);
    hw_lists_free(&server);
}

/* Two lists with the same signature, number of keys, first and last key have different numbers. */
static void lists_of_one_signature_are_distinguished(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    static uint64_t keys[2][COUNT];
    static hw_lists client;
    uint32_t number[2];
    bool known;
    hw_lists_init(&client, 1 << 20);
    for (size_t i = 0; i < COUNT; i++)
        keys[0][i] = keys[1][i] = 2 * i;
    keys[1][1]++; /* the signature of a long list includes some of its keys, but not the second one */
    const hw_list_of of = {.first = 0, .last = keys[0][COUNT - 1], .count = COUNT, .size = COUNT};
    for (int l = 0; l < 2; l++)
        do
            number[l] = hw_lists_number(&client, &of, keys[l], &known);
        while (number[l] == 0);
    assert_int_equal(client.hashes[number[0] - 1], client.hashes[number[1] - 1]);
    assert_int_not_equal(number[0], number[1]);
    for (int l = 0; l < 2; l++) {
        assert_int_equal(hw_lists_number(&client, &of, keys[l], &known), number[l]);
        assert_true(known && hw_lists_has(&client, number[l], &of, keys[l]));
        assert_false(hw_lists_has(&client, number[l], &of, keys[1 - l]));
    }
    hw_lists_free(&client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decoded_keys_are_those_encoded),
        cmocka_unit_test(widths_are_first_or_before_each_group),
        cmocka_unit_test(consecutive_keys_take_no_bytes),
        cmocka_unit_test(decoded_values_are_those_encoded),
        cmocka_unit_test(numbers_that_are_not_finite_are_found),
        cmocka_unit_test(the_first_number_that_is_not_finite_is_found),
        cmocka_unit_test(numbers_mean_the_same_on_both_sides),
        cmocka_unit_test(lists_of_one_signature_are_distinguished),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
