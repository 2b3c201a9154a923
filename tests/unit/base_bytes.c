#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bytes.h"

static void masks_agree_with_a_look_at_each_character(void **state)
{
    (void)state;
    char text[64 + 16];
    uint32_t x = 7;
    for (int i = 0; i < 2000; i++) {
        for (size_t k = 0; k < sizeof text; k++)
            text[k] = (char)((x = x * 1664525 + 1013904223) >> 29 == 0 ? ':' : x >> 24);
        const char *at = text + i % 16;
        uint64_t mask = hw_equal_64(at, ':');
        assert_true(mask == hw_equal_64_portable(at, ':'));
        for (int k = 0; k < 64; k++)
            assert_int_equal(mask >> k & 1, at[k] == ':');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(masks_agree_with_a_look_at_each_character)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
