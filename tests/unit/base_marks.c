#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/marks.h"

/* Texts from all marks to hardly any, at any address. */
static void marks_agree_with_each_character(void **state)
{
    (void)state;
    enum { BLOCKS = 5, BYTES = BLOCKS * HW_MARK_BLOCK };
    char *text = malloc(BYTES + 16);
    uint32_t *places = malloc((BYTES + HW_MARK_BLOCK) * sizeof *places), x = 7;
    for (int i = 0; i < 3000; i++) {
        for (size_t k = 0; k < BYTES + 16; k++) {
            x = x * 1664525 + 1013904223;
            text[k] = (char)((int)(x >> 24) % 40 < i % 41 ? " :\n\t,\r"[(x >> 16) % 6] : (char)(x >> 8));
        }
        const char *at = text + i % 16, separator = i % 2 ? ':' : ',';
        size_t blocks = (size_t)i % (BLOCKS + 1);
        for (size_t form = 0; form == 0 || hw_marks_variant(form - 1) != NULL; form++) {
            size_t count = form == 0 ? hw_marks(at, blocks, separator, 100, places)
                                     : hw_marks_variant(form - 1)(at, blocks, separator, 100, places);
            size_t seen = 0;
            for (size_t k = 0; k < blocks * HW_MARK_BLOCK; k++)
                if (at[k] == separator || (unsigned char)at[k] <= ' ') {
                    assert_true(seen < count);
                    assert_int_equal(places[seen++], 100 + k);
                }
            assert_int_equal(seen, count);
        }
    }
    free(text);
    free(places);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(marks_agree_with_each_character)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
