#include "base/number.h"

#include <float.h>
#include <locale.h>
#include <stdio.h>

#include "hawser/options.h"

enum { LEAST = -64, MOST = 64, MANTISSA = 52 };

/* The leading 128 bits of 5^q for q = LEAST .. MOST: cut for q >= 0, one more in the last place for q < 0. */
static const uint64_t powers_of_five[MOST - LEAST + 1][2] = {{UINT64_C(0xa87fea27a539e9a5), UINT64_C(0x3f2398d747b36224)},
                                                             {UINT64_C(0xd29fe4b18e88640e), UINT64_C(0x8eec7f0d19a03aad)},
                                                             {UINT64_C(0x83a3eeeef9153e89), UINT64_C(0x1953cf68300424ac)},
                                                             {UINT64_C(0xa48ceaaab75a8e2b), UINT64_C(0x5fa8c3423c052dd7)},
                                                             {UINT64_C(0xcdb02555653131b6), UINT64_C(0x3792f412cb06794d)},
                                                             {UINT64_C(0x808e17555f3ebf11), UINT64_C(0xe2bbd88bbee40bd0)},
                                                             {UINT64_C(0xa0b19d2ab70e6ed6), UINT64_C(0x5b6aceaeae9d0ec4)},
                                                             {UINT64_C(0xc8de047564d20a8b), UINT64_C(0xf245825a5a445275)},
                                                             {UINT64_C(0xfb158592be068d2e), UINT64_C(0xeed6e2f0f0d56712)},
                                                             {UINT64_C(0x9ced737bb6c4183d), UINT64_C(0x55464dd69685606b)},
                                                             {UINT64_C(0xc428d05aa4751e4c), UINT64_C(0xaa97e14c3c26b886)},
                                                             {UINT64_C(0xf53304714d9265df), UINT64_C(0xd53dd99f4b3066a8)},
                                                             {UINT64_C(0x993fe2c6d07b7fab), UINT64_C(0xe546a8038efe4029)},
                                                             {UINT64_C(0xbf8fdb78849a5f96), UINT64_C(0xde98520472bdd033)},
                                                             {UINT64_C(0xef73d256a5c0f77c), UINT64_C(0x963e66858f6d4440)},
                                                             {UINT64_C(0x95a8637627989aad), UINT64_C(0xdde7001379a44aa8)},
                                                             {UINT64_C(0xbb127c53b17ec159), UINT64_C(0x5560c018580d5d52)},
                                                             {UINT64_C(0xe9d71b689dde71af), UINT64_C(0xaab8f01e6e10b4a6)},
                                                             {UINT64_C(0x9226712162ab070d), UINT64_C(0xcab3961304ca70e8)},
                                                             {UINT64_C(0xb6b00d69bb55c8d1), UINT64_C(0x3d607b97c5fd0d22)},
                                                             {UINT64_C(0xe45c10c42a2b3b05), UINT64_C(0x8cb89a7db77c506a)},
                                                             {UINT64_C(0x8eb98a7a9a5b04e3), UINT64_C(0x77f3608e92adb242)},
                                                             {UINT64_C(0xb267ed1940f1c61c), UINT64_C(0x55f038b237591ed3)},
                                                             {UINT64_C(0xdf01e85f912e37a3), UINT64_C(0x6b6c46dec52f6688)},
                                                             {UINT64_C(0x8b61313bbabce2c6), UINT64_C(0x2323ac4b3b3da015)},
                                                             {UINT64_C(0xae397d8aa96c1b77), UINT64_C(0xabec975e0a0d081a)},
                                                             {UINT64_C(0xd9c7dced53c72255), UINT64_C(0x96e7bd358c904a21)},
                                                             {UINT64_C(0x881cea14545c7575), UINT64_C(0x7e50d64177da2e54)},
                                                             {UINT64_C(0xaa242499697392d2), UINT64_C(0xdde50bd1d5d0b9e9)},
                                                             {UINT64_C(0xd4ad2dbfc3d07787), UINT64_C(0x955e4ec64b44e864)},
                                                             {UINT64_C(0x84ec3c97da624ab4), UINT64_C(0xbd5af13bef0b113e)},
                                                             {UINT64_C(0xa6274bbdd0fadd61), UINT64_C(0xecb1ad8aeacdd58e)},
                                                             {UINT64_C(0xcfb11ead453994ba), UINT64_C(0x67de18eda5814af2)},
                                                             {UINT64_C(0x81ceb32c4b43fcf4), UINT64_C(0x80eacf948770ced7)},
                                                             {UINT64_C(0xa2425ff75e14fc31), UINT64_C(0xa1258379a94d028d)},
                                                             {UINT64_C(0xcad2f7f5359a3b3e), UINT64_C(0x096ee45813a04330)},
                                                             {UINT64_C(0xfd87b5f28300ca0d), UINT64_C(0x8bca9d6e188853fc)},
                                                             {UINT64_C(0x9e74d1b791e07e48), UINT64_C(0x775ea264cf55347e)},
                                                             {UINT64_C(0xc612062576589dda), UINT64_C(0x95364afe032a819e)},
                                                             {UINT64_C(0xf79687aed3eec551), UINT64_C(0x3a83ddbd83f52205)},
                                                             {UINT64_C(0x9abe14cd44753b52), UINT64_C(0xc4926a9672793543)},
                                                             {UINT64_C(0xc16d9a0095928a27), UINT64_C(0x75b7053c0f178294)},
                                                             {UINT64_C(0xf1c90080baf72cb1), UINT64_C(0x5324c68b12dd6339)},
                                                             {UINT64_C(0x971da05074da7bee), UINT64_C(0xd3f6fc16ebca5e04)},
                                                             {UINT64_C(0xbce5086492111aea), UINT64_C(0x88f4bb1ca6bcf585)},
                                                             {UINT64_C(0xec1e4a7db69561a5), UINT64_C(0x2b31e9e3d06c32e6)},
                                                             {UINT64_C(0x9392ee8e921d5d07), UINT64_C(0x3aff322e62439fd0)},
                                                             {UINT64_C(0xb877aa3236a4b449), UINT64_C(0x09befeb9fad487c3)},
                                                             {UINT64_C(0xe69594bec44de15b), UINT64_C(0x4c2ebe687989a9b4)},
                                                             {UINT64_C(0x901d7cf73ab0acd9), UINT64_C(0x0f9d37014bf60a11)},
                                                             {UINT64_C(0xb424dc35095cd80f), UINT64_C(0x538484c19ef38c95)},
                                                             {UINT64_C(0xe12e13424bb40e13), UINT64_C(0x2865a5f206b06fba)},
                                                             {UINT64_C(0x8cbccc096f5088cb), UINT64_C(0xf93f87b7442e45d4)},
                                                             {UINT64_C(0xafebff0bcb24aafe), UINT64_C(0xf78f69a51539d749)},
                                                             {UINT64_C(0xdbe6fecebdedd5be), UINT64_C(0xb573440e5a884d1c)},
                                                             {UINT64_C(0x89705f4136b4a597), UINT64_C(0x31680a88f8953031)},
                                                             {UINT64_C(0xabcc77118461cefc), UINT64_C(0xfdc20d2b36ba7c3e)},
                                                             {UINT64_C(0xd6bf94d5e57a42bc), UINT64_C(0x3d32907604691b4d)},
                                                             {UINT64_C(0x8637bd05af6c69b5), UINT64_C(0xa63f9a49c2c1b110)},
                                                             {UINT64_C(0xa7c5ac471b478423), UINT64_C(0x0fcf80dc33721d54)},
                                                             {UINT64_C(0xd1b71758e219652b), UINT64_C(0xd3c36113404ea4a9)},
                                                             {UINT64_C(0x83126e978d4fdf3b), UINT64_C(0x645a1cac083126ea)},
                                                             {UINT64_C(0xa3d70a3d70a3d70a), UINT64_C(0x3d70a3d70a3d70a4)},
                                                             {UINT64_C(0xcccccccccccccccc), UINT64_C(0xcccccccccccccccd)},
                                                             {UINT64_C(0x8000000000000000), UINT64_C(0x0000000000000000)},
                                                             {UINT64_C(0xa000000000000000), UINT64_C(0x0000000000000000)},
                                                             {UINT64_C(0xc800000000000000), UINT64_C(0x0000000000000000)},
                                                             {UINT64_C(0xfa00000000000000), UINT64_C(0x0000000000000000)},
                                                             {UINT64_C(0x9c40000000000000), UINT64_C(0x0000000000000000)},
                                                             {UINT64_C(0xc350000000000000), UINT64_C(0x0000000000000000)},
                                                             {UINT64_C(0xf424000000000000), UINT64_C(0x0000000000000000)},
                                                             {UINT64_C(0x9896800000000000), UINT64_C(0x0000000000000000)},
                                                             {UINT64_C(0xbebc200000000000), UINT64_C(0x0000000000000000)},
                                                             {UINT64_C(0xee6b280000000000), UINT64_C(0x0000000000000000)},
                                                             {UINT64_C(0x9502f90000000000), UINT64_C(0x0000000000000000)},
                                                             {UINT64_C(0xba43b74000000000), UINT64_C(0x0000000000000000)},
                                                             {UINT64_C(0xe8d4a51000000000), UINT64_C(0x0000000000000000)},
                                                             {UINT64_C(0x9184e72a00000000), UINT64_C(0x0000000000000000)},
                                                             {UINT64_C(0xb5e620f480000000), UINT64_C(0x0000000000000000)},
                                                             {UINT64_C(0xe35fa931a0000000), UINT64_C(0x0000000000000000)},
                                                             {UINT64_C(0x8e1bc9bf04000000), UINT64_C(0x0000000000000000)},
                                                             {UINT64_C(0xb1a2bc2ec5000000), UINT64_C(0x0000000000000000)},
                                                             {UINT64_C(0xde0b6b3a76400000), UINT64_C(0x0000000000000000)},
                                                             {UINT64_C(0x8ac7230489e80000), UINT64_C(0x0000000000000000)},
                                                             {UINT64_C(0xad78ebc5ac620000), UINT64_C(0x0000000000000000)},
                                                             {UINT64_C(0xd8d726b7177a8000), UINT64_C(0x0000000000000000)},
                                                             {UINT64_C(0x878678326eac9000), UINT64_C(0x0000000000000000)},
                                                             {UINT64_C(0xa968163f0a57b400), UINT64_C(0x0000000000000000)},
                                                             {UINT64_C(0xd3c21bcecceda100), UINT64_C(0x0000000000000000)},
                                                             {UINT64_C(0x84595161401484a0), UINT64_C(0x0000000000000000)},
                                                             {UINT64_C(0xa56fa5b99019a5c8), UINT64_C(0x0000000000000000)},
                                                             {UINT64_C(0xcecb8f27f4200f3a), UINT64_C(0x0000000000000000)},
                                                             {UINT64_C(0x813f3978f8940984), UINT64_C(0x4000000000000000)},
                                                             {UINT64_C(0xa18f07d736b90be5), UINT64_C(0x5000000000000000)},
                                                             {UINT64_C(0xc9f2c9cd04674ede), UINT64_C(0xa400000000000000)},
                                                             {UINT64_C(0xfc6f7c4045812296), UINT64_C(0x4d00000000000000)},
                                                             {UINT64_C(0x9dc5ada82b70b59d), UINT64_C(0xf020000000000000)},
                                                             {UINT64_C(0xc5371912364ce305), UINT64_C(0x6c28000000000000)},
                                                             {UINT64_C(0xf684df56c3e01bc6), UINT64_C(0xc732000000000000)},
                                                             {UINT64_C(0x9a130b963a6c115c), UINT64_C(0x3c7f400000000000)},
                                                             {UINT64_C(0xc097ce7bc90715b3), UINT64_C(0x4b9f100000000000)},
                                                             {UINT64_C(0xf0bdc21abb48db20), UINT64_C(0x1e86d40000000000)},
                                                             {UINT64_C(0x96769950b50d88f4), UINT64_C(0x1314448000000000)},
                                                             {UINT64_C(0xbc143fa4e250eb31), UINT64_C(0x17d955a000000000)},
                                                             {UINT64_C(0xeb194f8e1ae525fd), UINT64_C(0x5dcfab0800000000)},
                                                             {UINT64_C(0x92efd1b8d0cf37be), UINT64_C(0x5aa1cae500000000)},
                                                             {UINT64_C(0xb7abc627050305ad), UINT64_C(0xf14a3d9e40000000)},
                                                             {UINT64_C(0xe596b7b0c643c719), UINT64_C(0x6d9ccd05d0000000)},
                                                             {UINT64_C(0x8f7e32ce7bea5c6f), UINT64_C(0xe4820023a2000000)},
                                                             {UINT64_C(0xb35dbf821ae4f38b), UINT64_C(0xdda2802c8a800000)},
                                                             {UINT64_C(0xe0352f62a19e306e), UINT64_C(0xd50b2037ad200000)},
                                                             {UINT64_C(0x8c213d9da502de45), UINT64_C(0x4526f422cc340000)},
                                                             {UINT64_C(0xaf298d050e4395d6), UINT64_C(0x9670b12b7f410000)},
                                                             {UINT64_C(0xdaf3f04651d47b4c), UINT64_C(0x3c0cdd765f114000)},
                                                             {UINT64_C(0x88d8762bf324cd0f), UINT64_C(0xa5880a69fb6ac800)},
                                                             {UINT64_C(0xab0e93b6efee0053), UINT64_C(0x8eea0d047a457a00)},
                                                             {UINT64_C(0xd5d238a4abe98068), UINT64_C(0x72a4904598d6d880)},
                                                             {UINT64_C(0x85a36366eb71f041), UINT64_C(0x47a6da2b7f864750)},
                                                             {UINT64_C(0xa70c3c40a64e6c51), UINT64_C(0x999090b65f67d924)},
                                                             {UINT64_C(0xd0cf4b50cfe20765), UINT64_C(0xfff4b4e3f741cf6d)},
                                                             {UINT64_C(0x82818f1281ed449f), UINT64_C(0xbff8f10e7a8921a4)},
                                                             {UINT64_C(0xa321f2d7226895c7), UINT64_C(0xaff72d52192b6a0d)},
                                                             {UINT64_C(0xcbea6f8ceb02bb39), UINT64_C(0x9bf4f8a69f764490)},
                                                             {UINT64_C(0xfee50b7025c36a08), UINT64_C(0x02f236d04753d5b4)},
                                                             {UINT64_C(0x9f4f2726179a2245), UINT64_C(0x01d762422c946590)},
                                                             {UINT64_C(0xc722f0ef9d80aad6), UINT64_C(0x424d3ad2b7b97ef5)},
                                                             {UINT64_C(0xf8ebad2b84e0d58b), UINT64_C(0xd2e0898765a7deb2)},
                                                             {UINT64_C(0x9b934c3b330c8577), UINT64_C(0x63cc55f49f88eb2f)},
                                                             {UINT64_C(0xc2781f49ffcfa6d5), UINT64_C(0x3cbf6b71c76b25fb)}};

/* Returns the C locale. Its object is static in the C library, so nothing is allocated, and the decimal comma of another
 * locale has no effect. */
static locale_t plain_locale(void)
{
    return newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

const char *hawser_read_number(const char *text, double *value)
{
    if (text == NULL)
        return NULL;
    locale_t c = plain_locale();
    char *end;
    double read = strtod_l(text, &end, c);
    freelocale(c);
    if (end == text)
        return NULL;
    if (value != NULL)
        *value = read;
    return end;
}

double hw_number_strtod(const char *text)
{
    double value = 0;
    (void)hawser_read_number(text, &value);
    return value;
}

float hw_number_strtof(const char *text)
{
    locale_t c = plain_locale();
    float value = strtof_l(text, NULL, c);
    freelocale(c);
    return value;
}

size_t hw_print_number(char *text, size_t size, int digits, double value)
{
    locale_t c = plain_locale(), before = uselocale(c);
    int length = snprintf(text, size, "%.*g", digits, value);
    (void)uselocale(before);
    freelocale(c);
    return (size_t)length;
}

size_t hawser_print_number(char *text, size_t size, double value)
{
    return hw_print_number(text, text != NULL ? size : 0, DBL_DECIMAL_DIG, value);
}

static void multiply(uint64_t a, uint64_t b, uint64_t *high, uint64_t *low)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    *high = (uint64_t)(product >> 64);
    *low = (uint64_t)product;
}

/* Computes digits * 10^exponent, rounded to nearest even. Returns false if this method cannot decide (strtod can). digits !=
 * 0. Eisel and Lemire, "Number parsing at a gigabyte per second" (2021): 128 bits of the product decide the rounding, except
 * in rare cases. Within LEAST .. MOST results are normal numbers. */
static inline bool scale(uint64_t digits, int exponent, double *value)
{
    if (exponent < LEAST || exponent > MOST)
        return false;
    const uint64_t *five = powers_of_five[exponent - LEAST];
    int shift = __builtin_clzll(digits);
    uint64_t high, low, more, rest;
    multiply(digits << shift, five[0], &high, &low);
    if ((high & 0x1ff) == 0x1ff) {
        multiply(digits << shift, five[1], &more, &rest);
        low += more;
        high += low < more;
    }
    if (low == UINT64_MAX && (exponent < -27 || exponent > 55))
        return false;
    int top = (int)(high >> 63);
    int cut = top + 64 - MANTISSA - 3;
    uint64_t mantissa = high >> cut;
    int64_t power = (217706 * (int64_t)exponent >> 16) + 63 + top - shift + 1023;
    if (low <= 1 && exponent >= -4 && exponent <= 23 && (mantissa & 3) == 1 && mantissa << cut == high)
        mantissa &= ~UINT64_C(1); /* a tie: to even */
    mantissa = (mantissa + (mantissa & 1)) >> 1;
    if (mantissa >> (MANTISSA + 1) != 0) {
        mantissa >>= 1;
        power++;
    }
    uint64_t bits = (mantissa & ((UINT64_C(1) << MANTISSA) - 1)) | (uint64_t)power << MANTISSA;
    memcpy(value, &bits, sizeof bits);
    return true;
}

/* Stores a number with its sign. The sign is set as a bit, because a branch on it would be mispredicted half the time. */
static void put_signed(double *value, double number, bool negative)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    bits ^= (uint64_t)negative << 63;
    memcpy(value, &bits, sizeof bits);
}

/* Reads all digits of a double: 16 or 17 after the point, with leading zeros. There is no branch on their number, or on
 * whether they are below 2^53, since both change from number to number. */
const char *hw_number_long(const char *text, double *value)
{
    enum { EIGHT = 100000000 };
    const char *first = text + (*text == '-' || *text == '+'), *at = first + 10;
    uint64_t word = hw_eight(at), digits = (uint64_t)(*first - '0') * EIGHT + hw_eight_digits(hw_eight(first + 2));
    if (hw_no_digits(word) != 0 || (unsigned char)(*first - '0') > 9)
        return hw_number_any(text, value);
    digits = digits * EIGHT + hw_eight_digits(word);
    unsigned next = (unsigned char)(at[8] - '0'), last = (unsigned char)(at[9] - '0');
    uint64_t one = digits * 10 + next, two = one * 10 + last;
    bool has_one = next <= 9, has_two = has_one && last <= 9;
    digits = has_two ? two : has_one ? one : digits;
    int more = has_one + has_two;
    at += 8 + more;
    double number;
    if ((unsigned char)(*at - '0') <= 9 || (*at | 32) == 'e' || digits == 0 || !scale(digits, -16 - more, &number))
        return hw_number_any(text, value);
    put_signed(value, number, *text == '-');
    return at;
}

bool hw_number_between_long(const char *a, size_t m, const char *begin, const char *end, uint32_t *whole, double *value)
{
    enum { EIGHT = 100000000 };
    const char *first = begin + (*begin == '-');
    size_t count = (size_t)(end - first) - 2;
    if (count < 9 || count > 19)
        return false;
    size_t top = count > 16 ? count - 16 : 0, middle = count > 16 ? 8 : count - 8;
    uint64_t front = (unsigned char)(*first - '0'), one, two;
    bool digits_all = hw_two_until(a, m, end, 8, &one);
    digits_all = hw_two_until(end - 16, top, end - 8, middle, &two) && digits_all;
    if (!digits_all || front > (count == 19 ? 0 : 9))
        return false;
    uint64_t digits = front * hw_ten[top] * hw_ten[middle] + (uint32_t)two * (uint64_t)EIGHT + (two >> 32);
    digits = digits * EIGHT + (one >> 32);
    double number;
    if (digits == 0 || !scale(digits, -(int)count, &number))
        return false;
    *whole = (uint32_t)one;
    put_signed(value, number, *begin == '-');
    return true;
}

const char *hw_number_any(const char *text, double *value)
{
    uint64_t digits = 0;
    int exponent = 0;
    const char *first = text + (*text == '-' || *text == '+');
    const char *at = hw_digits(first, &digits);
    ptrdiff_t count = at - first;
    if (*at == '.') {
        const char *fraction = at + 1;
        at = hw_digits(fraction, &digits);
        exponent = (int)(fraction - at);
        count += at - fraction;
    }
    if (count == 0)
        return NULL;
    if ((*at | 32) == 'e')
        at = hw_exponent(at, &exponent);
    double number;
    if (digits <= UINT64_C(1) << 53 && exponent <= 22 && exponent >= -22 && count <= 19)
        number = exponent < 0 ? (double)digits / hw_exact_ten[-exponent] : (double)digits * hw_exact_ten[exponent];
    else if (count > 19 || digits == 0 || !scale(digits, exponent, &number))
        number = hw_number_strtod(first);
    put_signed(value, number, *text == '-');
    return at;
}

const char *hw_number_word(const char *text, double *value)
{
    static const char digits[] = "0123456789";
    const char *begin = text + (*text == '-' || *text == '+');
    size_t whole = strspn(begin, digits), fraction = begin[whole] == '.' ? strspn(begin + whole + 1, digits) : 0;
    if (whole + fraction == 0)
        return NULL;
    const char *at = begin + whole + (begin[whole] == '.' ? 1 + fraction : 0);
    if ((*at | 32) == 'e') {
        const char *power = at + 1 + (at[1] == '-' || at[1] == '+');
        size_t count = strspn(power, digits);
        at = count > 0 ? power + count : at;
    }
    /* strtod would continue after a zero that an x follows */
    put_signed(value, whole == 1 && at == begin + 1 ? *begin - '0' : hw_number_strtod(begin), *text == '-');
    return at;
}
