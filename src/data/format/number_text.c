#include "data/format/number_text.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/number.h"

static size_t digits_text(char *text, uint64_t value)
{
    char digits[20];
    size_t count = 0, size = 0;
    for (; value > 0 || count == 0; value /= 10)
        digits[count++] = (char)('0' + value % 10);
    while (count > 0)
        text[size++] = digits[--count];
    return size;
}

static bool reads_back(const char *text, double value, hawser_type type)
{
    return type == HAWSER_F32 ? hw_number_strtof(text) == (float)value : hw_number_strtod(text) == value;
}

/* Returns the number of digits that always survive reading and writing; enough_digits the number that always distinguishes
 * two numbers. */
static int few_digits(hawser_type type)
{
    return type == HAWSER_F32 ? FLT_DIG : DBL_DIG;
}

static int enough_digits(hawser_type type)
{
    return type == HAWSER_F32 ? FLT_DECIMAL_DIG : DBL_DECIMAL_DIG;
}

static size_t slow_text(char *text, double value, hawser_type type)
{
    size_t size = 0;
    for (int digits = few_digits(type); digits <= enough_digits(type); digits++) {
        size = hw_print_number(text, HW_NUMBER_TEXT, digits, value);
        if (digits == enough_digits(type) || reads_back(text, value, type))
            break;
    }
    return size;
}

#if LDBL_MANT_DIG >= 64
enum { MOST_POWER = 21 };
/* Powers that are exact in a significand of 64 bits. */
static const long double POWERS[MOST_POWER + 1] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,
                                                   1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L,
                                                   1e16L, 1e17L, 1e18L, 1e19L, 1e20L, 1e21L};

typedef enum verdict { OTHER, SAME, UNSURE } verdict;

/* Compares with what a correct reader makes of digits / 10^power. One rounding to 64 bits and one to the type give the
 * result of a single rounding, unless the first ends half-way between two numbers of the type. */
static verdict compare(uint64_t digits, int power, double value, hawser_type type)
{
    long double quotient = (long double)digits / POWERS[power];
    double back = type == HAWSER_F32 ? (double)(float)quotient : (double)quotient;
    long double mirrored = (long double)back + 2 * (quotient - (long double)back);
    double other = type == HAWSER_F32 ? (double)(float)mirrored : (double)mirrored;
    if (quotient != (long double)back && (long double)other == mirrored)
        return UNSURE;
    return back == value ? SAME : OTHER;
}

/* Writes digits / 10^power with a point and without trailing zeros. */
static size_t fixed_text(char *text, uint64_t digits, int power)
{
    for (; power > 0 && digits % 10 == 0; power--)
        digits /= 10;
    uint64_t unit = 1;
    for (int k = 0; k < power && k < 19; k++)
        unit *= 10;
    uint64_t whole = power > 19 ? 0 : digits / unit, rest = power > 19 ? digits : digits % unit;
    size_t length = digits_text(text, whole);
    if (power == 0)
        return length;
    text[length++] = '.';
    char behind[20];
    size_t shown = digits_text(behind, rest);
    for (size_t zeros = (size_t)power - shown; zeros > 0; zeros--)
        text[length++] = '0';
    for (size_t k = 0; k < shown; k++)
        text[length++] = behind[k];
    return length;
}

/* Writes numbers of usual size without the library's printing and reading; returns 0 if that is not possible. `size` is
 * positive. */
static size_t quick_text(char *text, double size, hawser_type type)
{
    if (!(size >= 1e-4 && size < 1e15))
        return 0;
    int before = -3; /* digits before the point; negative: zeros after it */
    while (before < 15 && (long double)size >= (before >= 0 ? POWERS[before] : 1 / POWERS[-before]))
        before++;
    for (int count = few_digits(type); count <= enough_digits(type); count++) {
        int power = count - before;
        if (power < 0 || power > MOST_POWER)
            return 0;
        uint64_t digits = (uint64_t)((long double)size * POWERS[power] + 0.5L);
        verdict read = compare(digits, power, size, type);
        if (read == UNSURE)
            return 0;
        if (read == OTHER)
            continue;
        return fixed_text(text, digits, power);
    }
    return 0;
}
#else
static size_t quick_text(char *text, double size, hawser_type type)
{
    (void)text;
    (void)size;
    (void)type;
    return 0;
}
#endif

size_t hw_number_text(char *text, double value, hawser_type type)
{
    size_t sign = signbit(value) ? 1 : 0;
    text[0] = '-';
    if (fabs(value) < 1e15 && value == trunc(value)) /* most numbers in data files are counts */
        return sign + digits_text(text + sign, (uint64_t)fabs(value));
    size_t length = quick_text(text + sign, fabs(value), type);
    return length > 0 ? sign + length : slow_text(text, value, type);
}
