/* number.h - decimal text to numbers, exactly as strtod rounds, many digits at a time.
 *
 * Callers guarantee that HW_NUMBER_SLACK bytes may be read from any position they pass, and that some byte in front of the end
 * of readable memory is no part of a number, so nothing here looks for an end. */
#ifndef HW_BASE_NUMBER_H
#define HW_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { HW_NUMBER_SLACK = 16 };

/* Everything that the quick path leaves: more than 19 digits, a far exponent, a near tie. `text` is a decimal number. */
double hw_number_strtod(const char *text);

/* Eight characters with the first in the lowest byte. */
static inline uint64_t hw_eight(const char *text)
{
    uint64_t word;
    memcpy(&word, text, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* The high bit of each of the eight characters that is no digit. */
static inline uint64_t hw_no_digits(uint64_t word)
{
    uint64_t high = word ^ UINT64_C(0x3030303030303030);
    return (((high & UINT64_C(0x7f7f7f7f7f7f7f7f)) + UINT64_C(0x7676767676767676)) | high) & UINT64_C(0x8080808080808080);
}

/* How many of the eight characters, from the first on, are digits. A borrow or carry reaches only what is behind the first other
 * character, which is thus found in fewer steps than all: the next number waits for it. */
static inline unsigned hw_digit_count(uint64_t word)
{
    uint64_t others =
        ((word + UINT64_C(0x4646464646464646)) | (word - UINT64_C(0x3030303030303030))) & UINT64_C(0x8080808080808080);
    return others == 0 ? 8 : (unsigned)__builtin_ctzll(others) / 8;
}

/* How many of the eight characters, from the last on, are digits. */
static inline unsigned hw_digit_tail(uint64_t word)
{
    uint64_t others = hw_no_digits(word);
    return others == 0 ? 8 : (unsigned)__builtin_clzll(others) / 8;
}

/* Value of eight digits, or of zero bytes in front of fewer: pairs, fours and eights are summed by three multiplications. */
static inline uint64_t hw_eight_digits(uint64_t word)
{
    word = (word & UINT64_C(0x0f0f0f0f0f0f0f0f)) * 2561 >> 8;
    word = (word & UINT64_C(0x00ff00ff00ff00ff)) * 6553601 >> 16;
    return (word & UINT64_C(0x0000ffff0000ffff)) * UINT64_C(42949672960001) >> 32;
}

/* Value of the first `count` (0 to 8) characters, which are digits: they move to the high end and zeros fill. */
static inline uint64_t hw_digit_value(uint64_t word, unsigned count)
{
    return hw_eight_digits(count == 0 ? 0 : word << (64 - 8 * count));
}

static const uint64_t hw_ten[9] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

/* The powers of ten that a double holds exactly. */
static const double hw_exact_ten[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* Appends a run of digits to *digits, modulo 2^64, and steps over it. */
static inline const char *hw_digits(const char *at, uint64_t *digits)
{
    for (;;) {
        uint64_t word = hw_eight(at);
        unsigned count = hw_digit_count(word);
        *digits = *digits * hw_ten[count] + hw_digit_value(word, count);
        at += count;
        if (count < 8)
            return at;
    }
}

/* Steps over an exponent if there is one ("e5", "E-07") and adds it to *exponent. */
static inline const char *hw_exponent(const char *at, int *exponent)
{
    const char *digit = at + 1 + (at[1] == '-' || at[1] == '+');
    if (*digit < '0' || *digit > '9')
        return at;
    int sum = 0;
    for (; *digit >= '0' && *digit <= '9'; digit++)
        sum = sum < 100000 ? sum * 10 + (*digit - '0') : sum;
    *exponent += at[1] == '-' ? -sum : sum;
    return digit;
}

/* hw_number for every form. */
const char *hw_number_any(const char *text, double *value);

/* hw_number for one digit, a point and at least nine more. */
const char *hw_number_long(const char *text, double *value);

/* Reads [+-]digits[.digits][e[+-]digits] and returns where it ends; NULL when there is no number. No hexadecimal, no words.
 * *value is what strtod gives in the C locale: infinite when the text is too large.
 *
 * Here are the usual forms, a digit alone and one in front of the point with one to eight behind it. Where the text goes on is
 * what the next number waits for: the branches are on what numbers of a file have in common, not on sign or length. */
static inline const char *hw_number(const char *text, double *value)
{
    unsigned sign = (*text == '-') | (*text == '+');
    const char *begin = text + sign, *end = begin + 1;
    uint64_t digits = (unsigned char)(*begin - '0');
    unsigned count = 0;
    if (*end == '.') {
        uint64_t bare = hw_eight(text + 2), word = bare ^ ((bare ^ hw_eight(text + 3)) & -(uint64_t)sign);
        count = hw_digit_count(word);
        end += 1 + count;
        digits = digits * hw_ten[count] + hw_digit_value(word, count);
    }
    if ((unsigned char)(*begin - '0') > 9 || (*end >= '.' && *end != ':' && *end != ';'))
        return count == 8 ? hw_number_long(text, value) : hw_number_any(text, value);
    double number = (double)(int64_t)digits / hw_exact_ten[count];
    uint64_t bits; /* the sign is a bit: a branch on it would be guessed wrong half the time */
    memcpy(&bits, &number, sizeof bits);
    bits ^= (uint64_t)(*text == '-') << 63;
    memcpy(value, &bits, sizeof bits);
    return end;
}

#endif
