/* Every form of a digest, at every length, alignment and place, beside the sum of what is said of one number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/digest.h"
#include "base/random.h"

enum { MOST = 100, SHIFT = 8 };

/* The first place: small ones, and some whose products and sums go over. */
static uint64_t place_of(hw_random *random, size_t n)
{
    return n % 3 == 0 ? hw_random_next(random) : n % 3 == 1 ? UINT64_MAX - n / 2 : n;
}

static void judge(const unsigned char *values, size_t bytes, size_t n, uint64_t first, hw_random *random)
{
    uint64_t beside = 0, apart = 0, places[MOST + 1];
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = 0;
        memcpy(&bits, values + i * bytes, bytes);
        places[i] = hw_random_next(random) >> (i % 64);
        beside += hw_digest_one(first + i, bits);
        apart += hw_digest_one(places[i], bits);
    }
    bool wide = bytes == sizeof(uint64_t);
    for (size_t v = 0; (wide ? hw_digest_64_variant(v) : hw_digest_32_variant(v)) != NULL; v++) {
        const hw_digest_form *form = wide ? hw_digest_64_variant(v) : hw_digest_32_variant(v);
        assert_true(form->beside(values, n, first) == beside);
        assert_true(form->at(values, n, places) == apart);
    }
    assert_true((wide ? hw_digest_64(values, n, first) : hw_digest_32(values, n, first)) == beside);
    assert_true((wide ? hw_digest_64_at(values, n, places) : hw_digest_32_at(values, n, places)) == apart);
}

static void forms_agree(void **state)
{
    (void)state;
    unsigned char space[MOST * sizeof(uint64_t) + SHIFT];
    hw_random random = hw_random_at(7, 0, 0, 0);
    for (size_t n = 0; n <= MOST; n++)
        for (size_t shift = 0; shift < SHIFT; shift++) {
            for (size_t i = 0; i < sizeof space; i++)
                space[i] = (unsigned char)(hw_random_below(&random, 4) == 0 ? 0 : hw_random_next(&random));
            judge(space + shift, sizeof(uint64_t), n, place_of(&random, n), &random);
            judge(space + shift, sizeof(uint32_t), n, place_of(&random, n), &random);
        }
}

/* What lies in files: a history of one machine is judged on another, by another build. */
static void numbers_are_those_of_files(void **state)
{
    (void)state;
    static const double values[] = {1, -2.5, 0, 1e300, -0.0, 3, 4, 5, 6, 7};
    static const float singles[] = {1, -2.5F, 0, 1e30F, -0.0F, 3, 4, 5, 6, 7};
    assert_int_equal(hw_digest_64(values, 10, 5), UINT64_C(0x9cae618cdcd19194));
    assert_int_equal(hw_digest_32(singles, 10, 5), UINT64_C(0x8b146b6a9a22cdd9));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_agree),
        cmocka_unit_test(numbers_are_those_of_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
