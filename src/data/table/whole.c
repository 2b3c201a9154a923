#include "data/table/whole.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

/* The digits of a decimal number without leading zeros: 0.DIGITS times ten to the power of `point`. */
typedef struct decimal {
    bool negative;
    char digits[64];
    size_t count;
    bool more; /* there are further digits, not all zeros */
    long point;
} decimal;

static void put_digit(decimal *d, char digit, bool whole)
{
    if (d->count == 0 && digit == '0')
        d->point -= !whole;
    else {
        d->point += whole;
        if (d->count < sizeof d->digits)
            d->digits[d->count++] = digit;
        else
            d->more |= digit != '0';
    }
}

static void take_apart(const char *at, const char *stop, decimal *d)
{
    *d = (decimal){.negative = *at == '-'};
    at += *at == '-' || *at == '+';
    for (; at < stop && isdigit((unsigned char)*at); at++)
        put_digit(d, *at, true);
    at += at < stop && *at == '.';
    for (; at < stop && isdigit((unsigned char)*at); at++)
        put_digit(d, *at, false);
    if (at < stop && (*at == 'e' || *at == 'E')) {
        long exponent = strtol(at + 1, NULL, 10);
        d->point += exponent > 100000 ? 100000 : exponent < -100000 ? -100000 : exponent;
    }
    while (d->count > 0 && !d->more && d->digits[d->count - 1] == '0')
        d->count--;
}

/* Returns whether the number is whole; its magnitude is stored if it fits, else *fits is false. */
static bool is_whole(const decimal *d, uint64_t *magnitude, bool *fits)
{
    *magnitude = 0;
    *fits = true;
    if (d->count == 0)
        return true;
    if (d->point > 20) { /* more digits than 2^64 has */
        *fits = false;
        return true;
    }
    if (d->more || d->point < (long)d->count)
        return false;
    for (long k = 0; *fits && k < d->point; k++) {
        uint64_t digit = k < (long)d->count ? (uint64_t)(d->digits[k] - '0') : 0;
        *fits = *magnitude <= (UINT64_MAX - digit) / 10;
        *magnitude = *fits ? 10 * *magnitude + digit : *magnitude;
    }
    *fits = *fits && !(d->negative && *magnitude > UINT64_C(1) << 63);
    return true;
}

hw_label hw_label_read(const char *begin, const char *stop, char text[HW_LABEL_TEXT])
{
    double value;
    decimal d;
    uint64_t magnitude;
    bool fits;
    if (begin == stop || hw_number(begin, &value) != stop)
        return HW_LABEL_WORD;
    take_apart(begin, stop, &d);
    if (is_whole(&d, &magnitude, &fits) && fits) {
        (void)snprintf(text, HW_LABEL_TEXT, "%s%" PRIu64, d.negative && magnitude > 0 ? "-" : "", magnitude);
        return HW_LABEL_NUMBER;
    }
    if (!fits)
        return HW_LABEL_OUTSIDE;
    (void)hw_print_number(text, HW_LABEL_TEXT, 17, value);
    return HW_LABEL_NUMBER;
}

bool hw_levels_are_labels(const hw_levels *levels)
{
    bool doubtful = false;
    char text[HW_LABEL_TEXT], copy[HW_LABEL_TEXT + HW_NUMBER_SLACK] = "";
    for (size_t k = 0; k < levels->count; k++) {
        size_t length = strlen(levels->texts[k]);
        if (length >= HW_LABEL_TEXT)
            return false;
        memcpy(copy, levels->texts[k], length + 1);
        if (hw_label_read(copy, copy + length, text) != HW_LABEL_NUMBER || strcmp(text, levels->texts[k]) != 0)
            return false;
        doubtful |= hw_label_is_doubtful(hw_number_strtod(text));
    }
    return doubtful;
}

int hw_levels_by_value(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    double p = hw_number_strtod(x), q = hw_number_strtod(y);
    if (p != q)
        return p < q ? -1 : 1;
    size_t m = strlen(x), n = strlen(y);
    int order = m != n ? (m < n ? -1 : 1) : strcmp(x, y);
    return *x == '-' ? -order : order;
}
