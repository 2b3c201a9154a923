#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/random.h"
#include "comma_locale.h"
#include "hawser/options.h"
#include "sanitized.h"

/* The readers must stop where strtod does and give the same bits; the reader that gets the end may leave the word to the
 * other. */
static void same_as_strtod(const char *text)
{
    enum { FRONT = 24 };
    char space[FRONT + 2000] = "1 0:0.9 1:9.99 12345699:", *const buffer = space + FRONT;
    char *end;
    double mine = 0, theirs;
    snprintf(buffer, sizeof space - FRONT, "%s", text);
    theirs = strtod(buffer, &end);
    const char *at = hw_number(buffer, &mine);
    if (at != end || memcmp(&mine, &theirs, sizeof mine) != 0)
        fail_msg("%s: %.17g (%a), strtod gives %.17g (%a)", text, mine, mine, theirs, theirs);
    size_t most = strlen(buffer) < 60 ? strlen(buffer) : 60;
    for (size_t length = 1; length <= most; length++) {
        char word[80];
        uint32_t whole = 0;
        if (!hw_number_between(buffer - 1, 2, buffer, buffer + length, &whole, &mine))
            continue;
        snprintf(word, sizeof word, "%.*s", (int)length, buffer);
        theirs = strtod(word, &end);
        assert_int_equal(whole, 99);
        if (end != word + length || memcmp(&mine, &theirs, sizeof mine) != 0)
            fail_msg("%s: %.17g (%a), strtod gives %.17g (%a)", word, mine, mine, theirs, theirs);
    }
}

/* Nothing behind a word's zero may be read. */
static void same_as_strtod_in_a_word(const char *text)
{
    double mine = 0, theirs;
    char *word = strdup(text), *end;
    assert_non_null(word);
    theirs = strtod(word, &end);
    const char *at = hw_number_word(word, &mine);
    if (at != end || memcmp(&mine, &theirs, sizeof mine) != 0)
        fail_msg("%s: as a word %.17g (%a), strtod gives %.17g (%a)", text, mine, mine, theirs, theirs);
    free(word);
}

/* Those that it must not leave: what data files have. */
static void usual_words_are_read_by_their_ends(void **state)
{
    (void)state;
    static const char *const cases[] = {"0",
                                        "-0",
                                        "7",
                                        "-7",
                                        "12",
                                        "-123",
                                        "12345678",
                                        "0.5",
                                        "-0.5",
                                        "9.99999999",
                                        "-0.00000001",
                                        "0.123456789",
                                        "5.123456789",
                                        "-9.12345678901234",
                                        "-0.1234567890123456",
                                        "1.2345678901234567",
                                        "0.12345678901234567",
                                        "-0.012345678901234567",
                                        "0.0012345678901234567"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char space[80] = "1 0:0.9 1:9.99 12345699:";
        double value = 1, theirs = strtod(cases[i], NULL);
        uint32_t whole = 0;
        snprintf(space + 24, sizeof space - 24, "%s", cases[i]);
        if (!hw_number_between(space + 23, 8, space + 24, space + 24 + strlen(cases[i]), &whole, &value))
            fail_msg("%s is left to others", cases[i]);
        assert_memory_equal(&value, &theirs, sizeof value);
        assert_int_equal(whole, 12345699);
    }
}

/* The quick forms end in all ways: any sign, any number of places, zeros in front, anything behind. */
static void usual_numbers_read_as_strtod_reads(void **state)
{
    (void)state;
    static const char *const signs[] = {"", "-", "+"}, *const ends[] = {"",   " ",  "\n", ",",    ";",   ":",
                                                                        "#",  "/",  "e",  "E5",   "e-3", ".",
                                                                        ".5", "\t", "\r", "\xc3", "x",   "-"};
    uint32_t x = 1;
    for (int places = -1; places <= 26; places++)
        for (size_t sign = 0; sign < 3; sign++)
            for (size_t end = 0; end < sizeof ends / sizeof *ends; end++)
                for (int i = 0; i < 40; i++) {
                    char text[96], digits[32] = "";
                    for (int k = 0; k < places; k++)
                        digits[k] = k < i % 4 * 9 ? '0' : (char)('0' + ((x = x * 1664525 + 1013904223) >> 20) % 10);
                    snprintf(text, sizeof text, "%s%d%s%s%s", signs[sign], i % 11, places < 0 ? "" : ".", digits, ends[end]);
                    if (strncmp(text + strlen(signs[sign]), "0x", 2) != 0)
                        same_as_strtod(text);
                }
}

static void hard_cases_round_as_strtod(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "0",
        "-0",
        "+0",
        "0.0",
        "-0.0e5",
        "1",
        "1.",
        ".5",
        "-.5",
        "00012",
        "0000000000000000000001.5",
        "1e5",
        "1E+05",
        "1e-7",
        "1e",
        "1e+",
        "1.5e-",
        "1:",
        "12345678",
        "123456789",
        "1234567.",
        "12345678.12345678",
        "123456789012345678901234567890",
        "9007199254740991",
        "9007199254740992",
        "9007199254740993",
        "9007199254740993.0",
        "9007199254740993.00000000000000000001",
        "9007199254740994.999999999999999999999",
        "18446744073709551615",
        "18446744073709551616",
        "99999999999999999999",
        "9223372036854775807",
        "1e22",
        "1e23",
        "8.5e22",
        "9007199254740993e22",
        "2.2250738585072011e-308",
        "2.2250738585072012e-308",
        "2.2250738585072014e-308",
        "4.9406564584124654e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "1e-400",
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "1.7976931348623159e308",
        "1e309",
        "1e999999999999",
        "0e999999999999",
        "1e-999999999999",
        "6631236846766476e-316",
        "0.500000000000000166533453693773481063544750213623046875",
        "0.50000000000000016656055874808561867439493653364479541778564453125",
        "3.518437208883201171875e13",
        "62.5364939768271845828",
        "8.10109172351e-10",
        "1.50000000000000011102230246251565",
        "7.2057594037927933e16",
        "5708990770823839207320493820740630171355185152",
        "0.1",
        "0.2",
        "0.3",
        "1e-5",
        "123456.789e-10",
        "1090544144181609348671888949248",
        "1090544144181609348835077142190",
        "0.000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000123456789012345678",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        same_as_strtod(cases[i]);
        same_as_strtod_in_a_word(cases[i]);
    }
}

static void text_that_is_not_a_number_is_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {"",
                                        "-",
                                        "+",
                                        ".",
                                        "-.",
                                        "e5",
                                        ".e5",
                                        "nan",
                                        "inf",
                                        "-inf",
                                        "x",
                                        " 1",
                                        "--1",
                                        "+-1",
                                        "a.1234567812345678",
                                        " .1234567812345678",
                                        "--.1234567812345678",
                                        ",.1234567812345678"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char buffer[64] = {0};
        double value;
        snprintf(buffer, sizeof buffer, "%s", cases[i]);
        assert_null(hw_number(buffer, &value));
        assert_null(hw_number_word(buffer, &value));
    }
    char hexadecimal[16] = "0x1f";
    double value = 1;
    assert_ptr_equal(hw_number(hexadecimal, &value), hexadecimal + 1);
    assert_true(value == 0);
    value = 1;
    assert_ptr_equal(hw_number_word(hexadecimal, &value), hexadecimal + 1);
    assert_true(value == 0);
}

static void random_decimals_round_as_strtod(void **state)
{
    (void)state;
    hw_random random = hw_random_at(11, 0, 0, 0);
    for (int i = 0; i < (int)tried_of(2000000); i++) {
        char text[80];
        uint64_t digits = hw_random_next(&random) >> hw_random_below(&random, 64);
        int exponent = (int)hw_random_below(&random, 140) - 70;
        int places = (int)hw_random_below(&random, 20);
        switch (i % 4) {
        case 0: snprintf(text, sizeof text, "%llue%d", (unsigned long long)digits, exponent); break;
        case 1: snprintf(text, sizeof text, "%.*f", places, (double)digits * 0x1p-40); break;
        case 2:
            snprintf(text, sizeof text, "-%u.%0*llu", (unsigned)hw_random_below(&random, 1000), places,
                     (unsigned long long)digits);
            break;
        default:
            snprintf(text, sizeof text, "%.*e", places, ldexp((double)digits, (int)hw_random_below(&random, 2000) - 1060));
        }
        same_as_strtod(text);
    }
}

/* Every double, printed with 17 digits, comes back. */
static void every_double_is_read_back(void **state)
{
    (void)state;
    hw_random random = hw_random_at(12, 0, 0, 0);
    for (int i = 0; i < (int)tried_of(500000); i++) {
        uint64_t bits = hw_random_next(&random);
        double value, back;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        char text[60];
        snprintf(text, sizeof text, "%.17g", value);
        assert_non_null(hw_number(text, &back));
        assert_memory_equal(&value, &back, sizeof value);
    }
}

/* The middle between two neighbours, exactly (all its digits), a hair below and a hair above. */
static void halfway_cases_round_as_strtod(void **state)
{
    (void)state;
    hw_random random = hw_random_at(13, 0, 0, 0);
    for (int i = 0; i < (int)tried_of(200000); i++) {
        uint64_t mantissa = UINT64_C(1) << 53 | hw_random_next(&random) >> 11;
        long double middle = ldexpl((long double)mantissa * 2 + 1, (int)hw_random_below(&random, 110) - 80);
        char text[300];
        int length = snprintf(text, sizeof text, "%.*Lf", (int)hw_random_below(&random, 2) * 90, middle);
        same_as_strtod(text);
        text[length - 1] = (char)(text[length - 1] == '9' ? '8' : text[length - 1] + 1);
        same_as_strtod(text);
        snprintf(text, sizeof text, "%.18Le", middle); /* cut to 19 digits: the scaling path must tell sides apart */
        same_as_strtod(text);
    }
    for (int i = 0; i < (int)tried_of(200000); i++) { /* ties that fit into 64 bits */
        char text[60];
        uint64_t tie = (UINT64_C(1) << 53 | hw_random_next(&random) >> 11) * 2 + 1;
        int five = (int)hw_random_below(&random, 5);
        snprintf(text, sizeof text, "%llue%d", (unsigned long long)tie, five);
        same_as_strtod(text);
        snprintf(text, sizeof text, "%llu.%llu", (unsigned long long)(tie >> 3), (unsigned long long)((tie & 7) * 125));
        same_as_strtod(text);
    }
}

/* A program that Hawser is part of may have set one whose numbers have a comma. */
static void another_locale_changes_nothing(void **state)
{
    (void)state;
    static const char tie[69 + HW_NUMBER_SLACK] = "0.50000000000000016656055874808561867439493653364479541778564453125 ";
    static const char *const texts[] = {tie, "1.5", "-2.25e-3:"};
    static const double values[] = {0.50000000000000017, 1.5, -2.25e-3};
    if (!set_comma_locale())
        skip();
    char printed[40];
    (void)snprintf(printed, sizeof printed, "%g", 0.5);
    bool comma = strcmp(printed, "0,5") == 0;
    double value = 0, read[3] = {0};
    bool found = hw_number(texts[0], &value) != NULL;
    const char *ends[3];
    for (int i = 0; i < 3; i++)
        ends[i] = hawser_read_number(texts[i], &read[i]);
    double kept = 7;
    bool none = hawser_read_number(",5", &kept) == NULL && hawser_read_number("", &kept) == NULL && kept == 7;
    size_t length = hawser_print_number(printed, sizeof printed, -0x1p-13);
    float narrow = hw_number_strtof("0.25");
    (void)snprintf(printed + 30, 10, "%g", 0.5);
    bool restored = strcmp(printed + 30, "0,5") == 0;
    setlocale(LC_ALL, "C");
    assert_true(comma && restored && found && none && value == strtod(texts[0], NULL) && narrow == 0.25F);
    for (int i = 0; i < 3; i++)
        assert_true(read[i] == values[i] && *ends[i] == " \0:"[i]);
    assert_string_equal(printed, "-0.0001220703125");
    assert_int_equal(length, strlen(printed));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usual_numbers_read_as_strtod_reads), cmocka_unit_test(usual_words_are_read_by_their_ends),
        cmocka_unit_test(hard_cases_round_as_strtod),         cmocka_unit_test(text_that_is_not_a_number_is_refused),
        cmocka_unit_test(random_decimals_round_as_strtod),    cmocka_unit_test(every_double_is_read_back),
        cmocka_unit_test(halfway_cases_round_as_strtod),      cmocka_unit_test(another_locale_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
