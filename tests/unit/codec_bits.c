/* Every variant of bits is compared with loops over single bits and rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "codec/bits.h"

enum { WORDS = 12, BITS = 64 * WORDS, ROUNDS = 3000 };

/* Draws ascending numbers from `first` on, with gaps of up to `gap`. Returns how many are below first + BITS. */
static size_t draw(hw_random *random, uint64_t first, uint64_t gap, uint64_t *numbers)
{
    size_t count = 0;
    for (uint64_t at = 0; at < BITS; at += 1 + hw_random_below(random, gap))
        numbers[count++] = first + at;
    return count;
}

static bool has(const uint64_t *words, uint64_t at)
{
    return words[at / 64] >> at % 64 & 1;
}

static uint64_t drawn_first(hw_random *random)
{
    return hw_random_below(random, 2) ? hw_random_next(random) >> 1 : UINT64_MAX - BITS + 1;
}

/* Numbers are set in one call and in two, because lists arrive in runs. */
static void set_bits_are_the_numbers(void **state)
{
    (void)state;
    uint64_t numbers[BITS], listed[BITS + 1], words[WORDS];
    hw_random random = hw_random_at(1, 0, 0, 0);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t first = drawn_first(&random);
        size_t count = draw(&random, first, 1 + hw_random_below(&random, hw_random_below(&random, 4) ? 5 : 300), numbers);
        uint64_t span = numbers[count - 1] - first;
        size_t cut = (size_t)hw_random_below(&random, count);
        for (size_t form = 0; hw_bits_variant(form) != NULL; form++) {
            const hw_bits *bits = hw_bits_variant(form);
            memset(words, 0, sizeof words);
            assert_true(cut == 0 || bits->set(numbers, cut, first, span, words));
            assert_true(bits->set(numbers + cut, count - cut, first, span, words));
            for (size_t i = 0, k = 0; i < BITS; i++) {
                bool there = k < count && numbers[k] == first + i;
                assert_int_equal(has(words, i), there);
                k += there;
            }
            assert_int_equal(bits->count(words, WORDS), count);
            listed[count] = 99;
            assert_int_equal(bits->list(words, WORDS, first, listed), count);
            assert_memory_equal(listed, numbers, count * sizeof *numbers);
            assert_int_equal(listed[count], 99);
        }
    }
}

/* A number that does not ascend, is out of range or is repeated is found anywhere, and nothing is written past the words. */
static void lists_that_do_not_ascend_are_rejected(void **state)
{
    (void)state;
    uint64_t numbers[BITS];
    hw_random random = hw_random_at(2, 0, 0, 0);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t first = drawn_first(&random);
        size_t count = draw(&random, first, 1 + hw_random_below(&random, 9), numbers);
        uint64_t span = numbers[count - 1] - first;
        size_t n = hw_bits_words(span), at = (size_t)hw_random_below(&random, count);
        uint64_t other = hw_random_below(&random, 3) == 0   ? hw_random_next(&random)
                         : hw_random_below(&random, 2) == 0 ? first + span + 1 + hw_random_below(&random, 70)
                                                            : first + hw_random_below(&random, span + 1);
        bool right = other >= first && other <= first + span && (at == 0 || other > numbers[at - 1]) &&
                     (at + 1 == count || other < numbers[at + 1]) && first + span >= first;
        numbers[at] = other;
        for (size_t form = 0; hw_bits_variant(form) != NULL; form++) {
            uint64_t *words = calloc(n, sizeof *words); /* exact size, so that sanitizers find accesses behind the end */
            assert_non_null(words);
            assert_int_equal(hw_bits_variant(form)->set(numbers, count, first, span, words), right);
            free(words);
        }
    }
}

static void draw_words(hw_random *random, uint64_t *words, size_t n)
{
    for (size_t w = 0; w < n; w++) {
        words[w] = hw_random_next(random);
        if (hw_random_below(random, 3) == 0)
            words[w] = hw_random_below(random, 2) ? UINT64_MAX : 0;
        if (hw_random_below(random, 3) == 0)
            words[w] &= hw_random_next(random) & hw_random_next(random);
    }
}

static void rows_are_taken_and_put_back(void **state)
{
    (void)state;
    hw_random random = hw_random_at(3, 0, 0, 0);
    uint64_t words[WORDS];
    for (int round = 0; round < ROUNDS; round++) {
        size_t n = (size_t)hw_random_below(&random, WORDS + 1), size = hw_random_below(&random, 2) ? 4 : 8, count = 0;
        draw_words(&random, words, n);
        size_t rows_there = 0; /* up to the last row with a bit: the functions must not touch rows behind it */
        for (size_t i = 0; i < 64 * n; i++)
            if (has(words, i)) {
                rows_there = i + 1;
                count++;
            }
        unsigned char *rows = malloc(rows_there * size + 1), *before = malloc(rows_there * size + 1);
        unsigned char *near = malloc(count * size + 1);
        assert_true(rows != NULL && before != NULL && near != NULL);
        for (size_t i = 0; i < rows_there * size; i++)
            rows[i] = before[i] = (unsigned char)hw_random_next(&random);
        for (size_t form = 0; hw_bits_variant(form) != NULL; form++) {
            const hw_bits *bits = hw_bits_variant(form);
            assert_int_equal(bits->take(rows, size, words, n, near), count);
            for (size_t i = 0, k = 0; i < rows_there; i++)
                if (has(words, i))
                    assert_memory_equal(near + k++ * size, rows + i * size, size);
            for (size_t i = 0; i < count * size; i++)
                near[i] ^= 0xff;
            assert_int_equal(bits->put(near, size, words, n, rows), count);
            for (size_t i = 0; i < rows_there * size; i++) {
                assert_int_equal(rows[i], has(words, i / size) ? before[i] ^ 0xff : before[i]);
                rows[i] = before[i];
            }
        }
        free(rows);
        free(before);
        free(near);
    }
}

/* Any number of rows, at any address: memory behind the last row is not read. */
static void rows_that_are_not_zero_are_marked(void **state)
{
    (void)state;
    hw_random random = hw_random_at(4, 0, 0, 0);
    uint64_t words[WORDS];
    for (int round = 0; round < ROUNDS; round++) {
        size_t rows = (size_t)hw_random_below(&random, BITS + 1), size = hw_random_below(&random, 2) ? 4 : 8, count = 0;
        size_t off = (size_t)hw_random_below(&random, 2), n = (rows + 63) / 64;
        unsigned char *memory = malloc(rows * size + off + 1), *at = memory + off;
        assert_non_null(memory);
        memset(memory, 0, rows * size + off + 1);
        for (size_t i = 0; i < rows; i++)
            if (hw_random_below(&random, 3) == 0) {
                at[i * size + hw_random_below(&random, size)] = (unsigned char)(1U << hw_random_below(&random, 8));
                count++;
            }
        for (size_t form = 0; hw_bits_variant(form) != NULL; form++) {
            memset(words, 0xa5, sizeof words);
            assert_int_equal(hw_bits_variant(form)->mark(at, size, rows, words), count);
            for (size_t i = 0; i < 64 * n; i++)
                assert_int_equal(has(words, i), i < rows && memcmp(at + i * size, "\0\0\0\0\0\0\0", size) != 0);
            assert_true(n == WORDS || words[n] == UINT64_C(0xa5a5a5a5a5a5a5a5));
        }
        free(memory);
    }
}

/* Computes the new rows by a loop over the bits. Returns the first row that keeps its value, or SIZE_MAX. */
static size_t add_one_by_one(unsigned char *rows, hw_bits_number number, const uint64_t *words, size_t end,
                             const unsigned char *in)
{
    size_t kept = SIZE_MAX;
    for (size_t i = 0; i < end; i++) {
        if (!has(words, i))
            continue;
        if (number == HW_BITS_F32) {
            float *row = (float *)rows + i, update;
            memcpy(&update, in, sizeof update);
            kept = !isfinite(*row + update) && kept == SIZE_MAX ? i : kept;
            *row = isfinite(*row + update) ? *row + update : *row;
            in += sizeof update;
        } else if (number == HW_BITS_F64) {
            double *row = (double *)rows + i, update;
            memcpy(&update, in, sizeof update);
            kept = !isfinite(*row + update) && kept == SIZE_MAX ? i : kept;
            *row = isfinite(*row + update) ? *row + update : *row;
            in += sizeof update;
        } else {
            uint64_t *row = (uint64_t *)rows + i, update;
            memcpy(&update, in, sizeof update);
            *row += update;
            in += sizeof update;
        }
    }
    return kept;
}

/* Draws finite numbers, so that no NaN bits are compared: also zeros of both signs, and numbers of which two add up to
 * infinity. */
static void draw_numbers(hw_random *random, hw_bits_number number, void *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double drawn = hw_random_below(random, 4) ? ldexp((double)hw_random_next(random), -60) - 8 : -0.0;
        if (hw_random_below(random, 200) == 0)
            drawn = (hw_random_below(random, 2) ? -0.7 : 0.7) * (number == HW_BITS_F32 ? 3.4e38 : 1.7e308);
        if (number == HW_BITS_F32)
            ((float *)numbers)[i] = (float)drawn;
        else if (number == HW_BITS_F64)
            ((double *)numbers)[i] = drawn;
        else
            ((uint64_t *)numbers)[i] = hw_random_next(random);
    }
}

static void numbers_are_added_to_rows(void **state)
{
    (void)state;
    hw_random random = hw_random_at(5, 0, 0, 0);
    uint64_t words[WORDS];
    for (int round = 0; round < ROUNDS; round++) {
        size_t n = (size_t)hw_random_below(&random, WORDS + 1), count = 0, end = 0;
        hw_bits_number number = (hw_bits_number)hw_random_below(&random, 3);
        size_t size = number == HW_BITS_F32 ? 4 : 8;
        draw_words(&random, words, n);
        for (size_t i = 0; i < 64 * n; i++)
            if (has(words, i)) {
                end = i + 1;
                count++;
            }
        /* exact sizes, so that sanitizers find accesses behind the end */
        unsigned char *rows = malloc(end * size + 1), *before = malloc(end * size + 1), *right = malloc(end * size + 1);
        unsigned char *in = malloc(count * size + 1);
        assert_true(rows != NULL && before != NULL && right != NULL && in != NULL);
        draw_numbers(&random, number, before, end);
        draw_numbers(&random, number, in, count);
        memcpy(right, before, end * size);
        size_t stays = add_one_by_one(right, number, words, end, in), kept;
        for (size_t form = 0; hw_bits_variant(form) != NULL; form++) {
            memcpy(rows, before, end * size);
            assert_int_equal(hw_bits_variant(form)->add(in, number, words, n, rows, &kept), count);
            assert_int_equal(kept, stays);
            assert_memory_equal(rows, right, end * size);
        }
        free(rows);
        free(before);
        free(right);
        free(in);
    }
}

static void slices_and_counts_match_the_whole(void **state)
{
    (void)state;
    hw_random random = hw_random_at(4, 0, 0, 0);
    uint64_t words[WORDS], part[WORDS + 1];
    for (int round = 0; round < ROUNDS; round++) {
        draw_words(&random, words, WORDS);
        uint64_t from = hw_random_below(&random, BITS), n = 1 + hw_random_below(&random, BITS - from), first = 0, last = 0;
        size_t count = 0;
        uint64_t lowest = 0, highest = 0;
        part[(n + 63) / 64] = 99;
        hw_bits_slice(words, from, (size_t)n, part);
        assert_int_equal(part[(n + 63) / 64], 99);
        for (uint64_t i = 0; i < (n + 63) / 64 * 64; i++) {
            assert_int_equal(has(part, i), i < n && has(words, from + i));
            if (i >= n || !has(part, i))
                continue;
            lowest = count++ == 0 ? from + i : lowest;
            highest = from + i;
        }
        assert_int_equal(hw_bits_between(words, from, from + n - 1, &first, &last), count);
        if (count > 0) {
            assert_int_equal(first, lowest);
            assert_int_equal(last, highest);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_bits_are_the_numbers),    cmocka_unit_test(lists_that_do_not_ascend_are_rejected),
        cmocka_unit_test(rows_are_taken_and_put_back), cmocka_unit_test(rows_that_are_not_zero_are_marked),
        cmocka_unit_test(numbers_are_added_to_rows),   cmocka_unit_test(slices_and_counts_match_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
