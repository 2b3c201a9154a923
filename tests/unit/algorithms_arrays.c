/* Arrays that are freed together (src/algorithms/model/arrays.h). */
#include <setjmp.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "algorithms/model/arrays.h"

static void arrays_are_zeros_of_their_own_and_aligned(void **state)
{
    (void)state;
    hw_arrays arrays = {0};
    unsigned char *made[20];
    for (size_t k = 0; k < 20; k++) {
        made[k] = hw_array_new(&arrays, k, 8);
        assert_non_null(made[k]);
        assert_int_equal((uintptr_t)made[k] % alignof(max_align_t), 0);
        for (size_t i = 0; i < 8 * k; i++)
            assert_int_equal(made[k][i], 0);
        memset(made[k], 0xff, 8 * k); /* a sanitizer finds one that is too short */
    }
    for (size_t k = 1; k < 20; k++)
        assert_int_equal(made[k][0], 0xff);
    assert_false(arrays.failed);
    hw_arrays_free(&arrays); /* a sanitizer finds one that is left */
    assert_null(arrays.last);
}

static void failure_is_remembered_until_the_arrays_are_freed(void **state)
{
    (void)state;
    hw_arrays arrays = {0};
    assert_null(hw_array_new(&arrays, SIZE_MAX / 8, 16)); /* the size would wrap around */
    assert_non_null(hw_array_new(&arrays, 1, 1));
    assert_true(arrays.failed);
    hw_arrays_free(&arrays);
    assert_false(arrays.failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(arrays_are_zeros_of_their_own_and_aligned),
                                       cmocka_unit_test(failure_is_remembered_until_the_arrays_are_freed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
