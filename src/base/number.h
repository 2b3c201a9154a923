/* number.h - decimal text to numbers, rounded exactly like strtod, many digits at a time. || Callers guarantee that
 * HW_NUMBER_SLACK bytes can be read from any position that they pass, and that some byte before the end of readable memory
 * cannot be part of a number, so no function here tests for an end. */
#ifndef HW_BASE_NUMBER_H
#define HW_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { HW_NUMBER_SLACK = 16 };

/* hw_print_number prints like hawser_print_number, with `digits` digits. hw_number_strtof reads the number at the start of a
 * text like strtof. Both use the C locale. */
size_t hw_print_number(char *text, size_t size, int digits, double value);
float hw_number_strtof(const char *text);

/* Reads what the fast path cannot: more than 19 digits, a large exponent, a near tie. `text` is a decimal number. */
double hw_number_strtod(const char *text);

/* Loads eight characters, the first into the lowest byte. */
static inline uint64_t hw_eight(const char *text)
{
    uint64_t word;
    memcpy(&word, text, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* Returns the high bit of each of the eight characters that is not a digit. */
static inline uint64_t hw_no_digits(uint64_t word)
{
    uint64_t high = word ^ UINT64_C(0x3030303030303030);
    return (((high & UINT64_C(0x7f7f7f7f7f7f7f7f)) + UINT64_C(0x7676767676767676)) | high) & UINT64_C(0x8080808080808080);
}

/* Returns how many of the eight characters, from the first on, are digits. A borrow or carry reaches only what follows the
 * first non-digit, which is thus found in fewer steps than all of them: the next number waits for it. */
static inline unsigned hw_digit_count(uint64_t word)
{
    uint64_t others =
        ((word + UINT64_C(0x4646464646464646)) | (word - UINT64_C(0x3030303030303030))) & UINT64_C(0x8080808080808080);
    return others == 0 ? 8 : (unsigned)__builtin_ctzll(others) / 8;
}

/* Returns the value of eight digits, or of fewer after zero bytes: three multiplications sum pairs, fours and eights. */
static inline uint64_t hw_eight_digits(uint64_t word)
{
    word = (word & UINT64_C(0x0f0f0f0f0f0f0f0f)) * 2561 >> 8;
    word = (word & UINT64_C(0x00ff00ff00ff00ff)) * 6553601 >> 16;
    return (word & UINT64_C(0x0000ffff0000ffff)) * UINT64_C(42949672960001) >> 32;
}

/* Returns the value of the first `count` (0 to 8) characters, which are digits: they are shifted to the high end, and zeros
 * fill. */
static inline uint64_t hw_digit_value(uint64_t word, unsigned count)
{
    return hw_eight_digits(count == 0 ? 0 : word << (64 - 8 * count));
}

static const uint64_t hw_ten[9] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

/* The powers of ten that a double represents exactly. */
static const double hw_exact_ten[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* Appends a run of digits to *digits, modulo 2^64, and returns its end. */
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

/* Skips an exponent if there is one ("e5", "E-07") and adds it to *exponent. */
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

/* hw_number for NUL-terminated words with nothing readable after them: of a command line, of standard input. */
const char *hw_number_word(const char *text, double *value);

/* hw_number for every form. */
const char *hw_number_any(const char *text, double *value);

/* hw_number for one digit, a point and at least nine more. */
const char *hw_number_long(const char *text, double *value);

/* Reads [+-]digits[.digits][e[+-]digits] and returns its end; NULL if there is no number. Hexadecimal numbers and words are
 * not accepted. *value is what strtod returns in the C locale: infinite if the text is too large. The inline code handles
 * the usual forms: a single digit, and one digit before the point with one to eight after it. The next number waits for the
 * end of this one, so the branches depend on what the numbers of a file have in common, not on sign or length. */
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
    uint64_t bits; /* the sign is set as a bit: a branch on it would be mispredicted half the time */
    memcpy(&bits, &number, sizeof bits);
    bits ^= (uint64_t)(*text == '-') << 63;
    memcpy(value, &bits, sizeof bits);
    return end;
}

/* hw_number_between for 9 to 19 digits after the point. */
bool hw_number_between_long(const char *a, size_t m, const char *begin, const char *end, uint32_t *whole, double *value);

/* The bytes of the last `n` (0 to 8) of eight characters. */
static const uint64_t hw_last[9] = {0,
                                    UINT64_C(0xff00000000000000),
                                    UINT64_C(0xffff000000000000),
                                    UINT64_C(0xffffff0000000000),
                                    UINT64_C(0xffffffff00000000),
                                    UINT64_C(0xffffffffff000000),
                                    UINT64_C(0xffffffffffff0000),
                                    UINT64_C(0xffffffffffffff00),
                                    UINT64_C(0xffffffffffffffff)};

/* Computes the values of the last `m` characters before `a` and of the last `n` before `b` (0 to 8), the second 32 bits
 * higher. Returns false if they are not all digits. Eight bytes before each must be readable. */
static inline bool hw_two_until_portable(const char *a, size_t m, const char *b, size_t n, uint64_t *both)
{
    uint64_t x = (hw_eight(a - 8) ^ UINT64_C(0x3030303030303030)) & hw_last[m],
             y = (hw_eight(b - 8) ^ UINT64_C(0x3030303030303030)) & hw_last[n];
    *both = hw_eight_digits(x) | hw_eight_digits(y) << 32;
    return (((x + UINT64_C(0x7676767676767676)) | x | (y + UINT64_C(0x7676767676767676)) | y) &
            UINT64_C(0x8080808080808080)) == 0;
}

static inline bool hw_two_until(const char *a, size_t m, const char *b, size_t n, uint64_t *both)
{
#ifdef __SSE2__
    __m128i text = _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i *)(const void *)(a - 8)),
                                      _mm_loadl_epi64((const __m128i *)(const void *)(b - 8)));
    __m128i kept = _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i *)(const void *)&hw_last[m]),
                                      _mm_loadl_epi64((const __m128i *)(const void *)&hw_last[n]));
    __m128i digits = _mm_and_si128(_mm_xor_si128(text, _mm_set1_epi8('0')), kept), nine = _mm_set1_epi8(9);
    bool all = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(digits, nine), nine)) == 0xffff;
    __m128i tens = _mm_mullo_epi16(_mm_and_si128(digits, _mm_set1_epi16(0xff)), _mm_set1_epi16(10));
    __m128i pairs = _mm_add_epi16(tens, _mm_srli_epi16(digits, 8));
    __m128i fours = _mm_madd_epi16(pairs, _mm_set1_epi32(1 << 16 | 100));
    __m128i eights = _mm_madd_epi16(_mm_packs_epi32(fours, fours), _mm_set1_epi32(1 << 16 | 10000));
    memcpy(both, &eights, sizeof *both);
    return all;
#else
    return hw_two_until_portable(a, m, b, n, both);
#endif
}

/* Reads two numbers whose ends are known: the whole number of 1 to 8 digits before `a`, and [begin, end), which is not empty
 * and is read as hw_number does. Returns false if they have other than the usual forms; then use hw_number. 24 bytes before
 * `end` and 8 before `a` must be readable. No step depends on a length that another computes, so many numbers are read in
 * parallel. */
static inline bool hw_number_between(const char *a, size_t m, const char *begin, const char *end, uint32_t *whole,
                                     double *value)
{
    const char *first = begin + (*begin == '-');
    size_t length = (size_t)(end - first), point = first[1] == '.' ? 2 : 0, count = length - point;
    uint64_t both;
    if (count - 1 >= 8)
        return point != 0 && hw_number_between_long(a, m, begin, end, whole, value);
    uint64_t front = point ? (unsigned char)(*first - '0') : 0;
    if (!hw_two_until(a, m, end, count, &both) || front > 9)
        return false;
    *whole = (uint32_t)both;
    double number = (double)(int64_t)(front * hw_ten[count] + (both >> 32));
    if (point)
        number /= hw_exact_ten[count];
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    bits ^= (uint64_t)(*begin == '-') << 63;
    memcpy(value, &bits, sizeof bits);
    return true;
}

#endif
