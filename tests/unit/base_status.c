/* Texts of failures: whole where they fit, else without their middle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hawser/status.h"

enum { LONG = 100000 };

static void text_that_fits_is_whole(void **state)
{
    (void)state;
    hawser_error error;
    char text[sizeof error.text];
    memset(text, 'x', sizeof text);
    for (size_t length = sizeof text - 3; length < sizeof text; length++) {
        text[length] = '\0';
        assert_int_equal(hawser_fail(&error, HAWSER_IO, "%s", text), HAWSER_IO);
        assert_string_equal(error.text, text);
        text[length] = 'x';
    }
    assert_int_equal(hawser_fail(NULL, HAWSER_IO, "%s", "nowhere"), HAWSER_IO);
}

static void long_argument_leaves_the_end_of_the_text(void **state)
{
    (void)state;
    hawser_error error;
    char *name = malloc(LONG + 1);
    assert_non_null(name);
    for (size_t length = 900; length <= LONG; length = length < 1100 ? length + 1 : length * 3) {
        memset(name, 'n', length);
        name[length] = '\0';
        assert_int_equal(hawser_fail(&error, HAWSER_BAD_INPUT, "f.hwc: a fact '%s'; make the file anew", name),
                         HAWSER_BAD_INPUT);
        assert_ptr_equal(strstr(error.text, "f.hwc: a fact 'nnn"), error.text);
        assert_string_equal(strstr(error.text, "n'; "), "n'; make the file anew");
        assert_true(strlen(error.text) < sizeof error.text);
    }
    free(name);
}

/* No character is cut in two, wherever the middle begins. */
static void long_argument_is_cut_between_characters(void **state)
{
    (void)state;
    static const char *const characters[] = {"\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x90\x8e"};
    hawser_error error;
    char text[4100];
    for (size_t kind = 0; kind < 3; kind++)
        for (size_t shift = 0; shift < 4; shift++) {
            size_t width = strlen(characters[kind]), used = shift;
            memset(text, 'a', shift);
            while (used + width < sizeof text) {
                memcpy(text + used, characters[kind], width);
                used += width;
            }
            text[used] = '\0';
            (void)hawser_fail(&error, HAWSER_IO, "%s", text);
            size_t at = shift;
            while (strncmp(error.text + at, characters[kind], width) == 0)
                at += width;
            assert_int_equal(strncmp(error.text + at, "[... ", 5), 0);
            const char *rest = strstr(error.text + at, "...]") + 4;
            while (strncmp(rest, characters[kind], width) == 0)
                rest += width;
            assert_int_equal(*rest, '\0');
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_that_fits_is_whole),
        cmocka_unit_test(long_argument_leaves_the_end_of_the_text),
        cmocka_unit_test(long_argument_is_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
