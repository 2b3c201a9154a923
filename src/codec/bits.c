#include "codec/bits.h"

#include <math.h>
#include <string.h>

#include "base/bytes.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

/* --------------------------------------------------------------------------------- loops that compilers vectorise ---- */

#define INLINE static inline __attribute__((always_inline))

/* Checks each number before it sets its bit, because lists from outside are not trusted. */
INLINE bool set_from(const uint64_t *numbers, size_t from, size_t count, uint64_t first, uint64_t span, uint64_t *words)
{
    for (size_t i = from; i < count; i++) {
        uint64_t at = numbers[i] - first;
        if (at > span || (i > 0 && numbers[i - 1] >= numbers[i]))
            return false;
        words[at / 64] |= UINT64_C(1) << at % 64;
    }
    return true;
}

INLINE size_t count_of(const uint64_t *words, size_t n)
{
    size_t all = 0;
    for (size_t w = 0; w < n; w++)
        all += (size_t)__builtin_popcountll(words[w]);
    return all;
}

INLINE size_t list_of(const uint64_t *words, size_t n, uint64_t first, uint64_t *numbers)
{
    uint64_t *next = numbers;
    for (size_t w = 0; w < n; w++)
        for (uint64_t bits = words[w]; bits != 0; bits &= bits - 1)
            *next++ = first + 64 * w + hw_lowest_bit(bits);
    return (size_t)(next - numbers);
}

/* Copies rows with a bit to an array without gaps (gathers), or back. */
INLINE size_t move(unsigned char *rows, size_t size, const uint64_t *words, size_t n, unsigned char *packed, bool gathers)
{
    unsigned char *next = packed;
    for (size_t w = 0; w < n; w++, rows += 64 * size) {
        if (words[w] == UINT64_MAX) {
            memcpy(gathers ? next : rows, gathers ? rows : next, 64 * size);
            next += 64 * size;
            continue;
        }
        for (uint64_t bits = words[w]; bits != 0; bits &= bits - 1, next += size) {
            unsigned char *row = rows + hw_lowest_bit(bits) * size;
            memcpy(gathers ? next : row, gathers ? row : next, size);
        }
    }
    return (size_t)(next - packed) / size;
}

/* With a constant size, the compiler makes each copy one move. */
INLINE size_t take_of(const void *rows, size_t size, const uint64_t *words, size_t n, void *out)
{
    unsigned char *from = (void *)(uintptr_t)rows;
    return size == sizeof(uint32_t) ? move(from, sizeof(uint32_t), words, n, out, true)
                                    : move(from, sizeof(uint64_t), words, n, out, true);
}

INLINE size_t put_of(const void *in, size_t size, const uint64_t *words, size_t n, void *rows)
{
    unsigned char *from = (void *)(uintptr_t)in;
    return size == sizeof(uint32_t) ? move(rows, sizeof(uint32_t), words, n, from, false)
                                    : move(rows, sizeof(uint64_t), words, n, from, false);
}

/* Has no branch per row, which no processor could predict. */
#define MARK(T)                                                                                                             \
    for (size_t i = 0; i < count; i += 64) {                                                                                \
        uint64_t word = 0;                                                                                                  \
        for (size_t k = 0; k < 64 && i + k < count; k++) {                                                                  \
            T row;                                                                                                          \
            memcpy(&row, from + (i + k) * sizeof row, sizeof row);                                                          \
            word |= (uint64_t)(row != 0) << k;                                                                              \
        }                                                                                                                   \
        words[i / 64] = word;                                                                                               \
    }

INLINE size_t mark_of(const void *rows, size_t size, size_t count, uint64_t *words)
{
    const unsigned char *from = rows;
    if (size == sizeof(uint32_t)) {
        MARK(uint32_t)
    } else {
        MARK(uint64_t)
    }
    return count_of(words, (count + 63) / 64);
}

/* Adds the next number to each row with a bit, unless the sum is not good. */
#define ADDED(T, is_good)                                                                                                   \
    for (size_t w = 0; w < n; w++, row += 64 * sizeof(T))                                                                   \
        for (uint64_t bits = words[w]; bits != 0; bits &= bits - 1, next += sizeof(T)) {                                    \
            T x, u;                                                                                                         \
            unsigned bit = hw_lowest_bit(bits);                                                                             \
            memcpy(&x, row + bit * sizeof(T), sizeof x);                                                                    \
            memcpy(&u, next, sizeof u);                                                                                     \
            x += u;                                                                                                         \
            if (is_good)                                                                                                    \
                memcpy(row + bit * sizeof(T), &x, sizeof x);                                                                \
            else if (*kept == SIZE_MAX)                                                                                     \
                *kept = 64 * w + bit;                                                                                       \
        }

INLINE size_t add_of(const void *in, hw_bits_number number, const uint64_t *words, size_t n, void *rows, size_t *kept)
{
    const unsigned char *next = in;
    unsigned char *row = rows;
    *kept = SIZE_MAX;
    switch (number) {
    case HW_BITS_F32: ADDED(float, isfinite(x)) break;
    case HW_BITS_F64: ADDED(double, isfinite(x)) break;
    case HW_BITS_I64: ADDED(uint64_t, true) break;
    }
    return (size_t)(next - (const unsigned char *)in) / (number == HW_BITS_F32 ? sizeof(float) : sizeof(double));
}

#define COMPILED(name, attribute)                                                                                           \
    attribute static bool set_##name(const uint64_t *numbers, size_t count, uint64_t first, uint64_t span, uint64_t *words) \
    {                                                                                                                       \
        return set_from(numbers, 0, count, first, span, words);                                                             \
    }                                                                                                                       \
    attribute static size_t mark_##name(const void *rows, size_t size, size_t count, uint64_t *words)                       \
    {                                                                                                                       \
        return mark_of(rows, size, count, words);                                                                           \
    }                                                                                                                       \
    attribute static size_t take_##name(const void *rows, size_t size, const uint64_t *words, size_t n, void *out)          \
    {                                                                                                                       \
        return take_of(rows, size, words, n, out);                                                                          \
    }                                                                                                                       \
    attribute static size_t put_##name(const void *in, size_t size, const uint64_t *words, size_t n, void *rows)            \
    {                                                                                                                       \
        return put_of(in, size, words, n, rows);                                                                            \
    }                                                                                                                       \
    attribute static size_t add_##name(const void *in, hw_bits_number number, const uint64_t *words, size_t n, void *rows,  \
                                       size_t *kept)                                                                        \
    {                                                                                                                       \
        return add_of(in, number, words, n, rows, kept);                                                                    \
    }
#define VARIANT(name, attribute)                                                                                            \
    attribute static size_t count_##name(const uint64_t *words, size_t n)                                                   \
    {                                                                                                                       \
        return count_of(words, n);                                                                                          \
    }                                                                                                                       \
    attribute static size_t list_##name(const uint64_t *words, size_t n, uint64_t first, uint64_t *numbers)                 \
    {                                                                                                                       \
        return list_of(words, n, first, numbers);                                                                           \
    }                                                                                                                       \
    static const hw_bits bits_##name = {set_##name,  count_##name, list_##name, mark_##name,                                \
                                        take_##name, put_##name,   add_##name};

COMPILED(portable, )
VARIANT(portable, )

/* ------------------------------------------------------------------------------------------------- many at a time ---- */

#ifdef __x86_64__
#define AVX2   __attribute__((target("avx2,bmi,popcnt")))
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,bmi,bmi2,popcnt")))

COMPILED(avx2, AVX2)
VARIANT(avx2, AVX2)

/* Sets eight bits at once if they span at most 64 numbers. They lie in one or two of `words`; both are written without a
 * branch. The current word is kept in a register. */
AVX512 static bool set_avx512(const uint64_t *numbers, size_t count, uint64_t first, uint64_t span, uint64_t *words)
{
    const __m512i one = _mm512_set1_epi64(1);
    size_t i = 0, w = (size_t)((numbers[0] - first) / 64);
    if (numbers[0] - first > span)
        return false;
    for (uint64_t word = words[w]; i + 8 < count; i += 8) {
        __m512i those = _mm512_loadu_si512(numbers + i);
        uint64_t low = numbers[i] - first, high = numbers[i + 7] - first;
        if (_mm512_cmpge_epu64_mask(those, _mm512_loadu_si512(numbers + i + 1)) != 0 || high > span)
            return false;
        size_t at = (size_t)(low / 64), end = (size_t)(high / 64);
        if (high - low < 64) {
            those = _mm512_sub_epi64(those, _mm512_set1_epi64((long long)numbers[i]));
            uint64_t eight = (uint64_t)_mm512_reduce_or_epi64(_mm512_sllv_epi64(one, those));
            words[at] = word = (at == w ? word : 0) | eight << low % 64;
            words[end] = word = end == at ? word : eight >> 1 >> (63 - low % 64);
        } else {
            for (size_t k = i; k < i + 8; k++)
                words[(numbers[k] - first) / 64] |= UINT64_C(1) << (numbers[k] - first) % 64;
            word = words[end];
        }
        w = end;
    }
    return set_from(numbers, i, count, first, span, words);
}

#define REST(lanes, left) ((__mmask##lanes)_bzhi_u32((1U << (lanes)) - 1, (unsigned)(left)))
#define MARKED(bits, lanes)                                                                                                 \
    AVX512 static void mark_##bits(const unsigned char *from, size_t count, uint64_t *words)                                \
    {                                                                                                                       \
        for (size_t i = 0; i < count; i += 64) {                                                                            \
            uint64_t word = 0;                                                                                              \
            for (unsigned at = 0; at < 64 && i + at < count; at += (lanes), from += (lanes) * sizeof(uint##bits##_t)) {     \
                __mmask##lanes own = count - i - at >= (lanes) ? (__mmask##lanes) - 1 : REST(lanes, count - i - at);        \
                __m512i those = _mm512_maskz_loadu_epi##bits(own, from);                                                    \
                word |= (uint64_t)_mm512_test_epi##bits##_mask(those, those) << at;                                         \
            }                                                                                                               \
            words[i / 64] = word;                                                                                           \
        }                                                                                                                   \
    }
MARKED(32, 16)
MARKED(64, 8)

/* Masked loads and stores are slow, so whole registers are moved where that is safe: all rows of words before the last with
 * a bit exist, and so do packed rows while a whole register of them is left. */
#define TAKE(bits, lanes)                                                                                                   \
    AVX512 static void take_##bits(const unsigned char *from, const uint64_t *words, size_t n, unsigned char *to,           \
                                   size_t left)                                                                             \
    {                                                                                                                       \
        for (size_t w = 0; left > 0; w++)                                                                                   \
            for (unsigned at = 0; at < 64; at += (lanes), from += (lanes) * sizeof(uint##bits##_t)) {                       \
                __mmask##lanes own = (__mmask##lanes)(words[w] >> at);                                                      \
                unsigned there = (unsigned)__builtin_popcount(own);                                                         \
                __m512i those = w + 1 < n ? _mm512_loadu_si512(from) : _mm512_maskz_loadu_epi##bits(own, from);             \
                those = _mm512_maskz_compress_epi##bits(own, those);                                                        \
                if (left >= (lanes))                                                                                        \
                    _mm512_storeu_si512(to, those);                                                                         \
                else                                                                                                        \
                    _mm512_mask_storeu_epi##bits(to, REST(lanes, there), those);                                            \
                to += there * sizeof(uint##bits##_t);                                                                       \
                left -= there;                                                                                              \
            }                                                                                                               \
    }
TAKE(32, 16)
TAKE(64, 8)

/* Defines name(from, words, n, to, left), which changes the rows `old` at the bits `own` by the next updates `those`.
 * `changed` is the new rows, which become `those`; `stays` are the bits whose rows keep their old value. Returns the first
 * of these bits, or SIZE_MAX. */
#define CHANGE(name, bits, lanes, changed, stays)                                                                           \
    AVX512 static size_t name(const unsigned char *from, const uint64_t *words, size_t n, unsigned char *to, size_t left)   \
    {                                                                                                                       \
        size_t first = SIZE_MAX;                                                                                            \
        for (size_t w = 0; left > 0; w++)                                                                                   \
            for (unsigned at = 0; at < 64; at += (lanes), to += (lanes) * sizeof(uint##bits##_t)) {                         \
                __mmask##lanes own = (__mmask##lanes)(words[w] >> at);                                                      \
                unsigned there = (unsigned)__builtin_popcount(own);                                                         \
                bool whole = w + 1 < n;                                                                                     \
                __m512i those =                                                                                             \
                    left >= (lanes) ? _mm512_loadu_si512(from) : _mm512_maskz_loadu_epi##bits(REST(lanes, left), from);     \
                __m512i old = whole ? _mm512_loadu_si512(to) : _mm512_maskz_loadu_epi##bits(own, to);                       \
                those = _mm512_maskz_expand_epi##bits(own, those);                                                          \
                those = (changed);                                                                                          \
                __mmask##lanes kept = (stays);                                                                              \
                if (kept != 0) {                                                                                            \
                    size_t bit = 64 * w + at + (size_t)__builtin_ctz(kept);                                                 \
                    first = bit < first ? bit : first;                                                                      \
                    those = _mm512_mask_mov_epi##bits(those, kept, old);                                                    \
                }                                                                                                           \
                if (whole)                                                                                                  \
                    _mm512_storeu_si512(to, those);                                                                         \
                else                                                                                                        \
                    _mm512_mask_storeu_epi##bits(to, own, those);                                                           \
                from += there * sizeof(uint##bits##_t);                                                                     \
                left -= there;                                                                                              \
            }                                                                                                               \
        return first;                                                                                                       \
    }
#define PLUS_F32                                                                                                            \
    _mm512_castps_si512(                                                                                                    \
        _mm512_mask_add_ps(_mm512_castsi512_ps(old), own, _mm512_castsi512_ps(old), _mm512_castsi512_ps(those)))
#define PLUS_F64                                                                                                            \
    _mm512_castpd_si512(                                                                                                    \
        _mm512_mask_add_pd(_mm512_castsi512_pd(old), own, _mm512_castsi512_pd(old), _mm512_castsi512_pd(those)))
/* A number is not finite if all bits of its exponent are set. */
#define NOT_FINITE(bits, exponent)                                                                                          \
    _mm512_mask_cmpeq_epi##bits##_mask(own, _mm512_and_si512(those, _mm512_set1_epi##bits(exponent)),                       \
                                       _mm512_set1_epi##bits(exponent))
CHANGE(put_32, 32, 16, _mm512_mask_mov_epi32(old, own, those), 0)
CHANGE(put_64, 64, 8, _mm512_mask_mov_epi64(old, own, those), 0)
CHANGE(add_f32, 32, 16, PLUS_F32, NOT_FINITE(32, 0x7f800000))
CHANGE(add_f64, 64, 8, PLUS_F64, NOT_FINITE(64, 0x7ff0000000000000))
CHANGE(add_i64, 64, 8, _mm512_mask_add_epi64(old, own, old, those), 0)

/* Returns the number of words up to the last with a bit. */
static size_t without_end(const uint64_t *words, size_t n)
{
    while (n > 0 && words[n - 1] == 0)
        n--;
    return n;
}

AVX512 static size_t mark_avx512(const void *rows, size_t size, size_t count, uint64_t *words)
{
    (size == sizeof(uint32_t) ? mark_32 : mark_64)(rows, count, words);
    return count_of(words, (count + 63) / 64);
}

AVX512 static size_t take_avx512(const void *rows, size_t size, const uint64_t *words, size_t n, void *out)
{
    size_t count = count_of(words, n);
    (size == sizeof(uint32_t) ? take_32 : take_64)(rows, words, without_end(words, n), out, count);
    return count;
}

AVX512 static size_t put_avx512(const void *in, size_t size, const uint64_t *words, size_t n, void *rows)
{
    size_t count = count_of(words, n);
    (size == sizeof(uint32_t) ? put_32 : put_64)(in, words, without_end(words, n), rows, count);
    return count;
}

AVX512 static size_t add_avx512(const void *in, hw_bits_number number, const uint64_t *words, size_t n, void *rows,
                                size_t *kept)
{
    size_t count = count_of(words, n);
    *kept = (number == HW_BITS_F32   ? add_f32
             : number == HW_BITS_F64 ? add_f64
                                     : add_i64)(in, words, without_end(words, n), rows, count);
    return count;
}

VARIANT(avx512, AVX512)
#endif

/* Tests the processor on each call: that costs a load and a test, and a stored answer would be mutable state. */
const hw_bits *hw_bits_variant(size_t index)
{
#ifdef __x86_64__
    bool wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("popcnt");
    bool widest =
        wide && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    const hw_bits *const forms[] = {&bits_portable, wide ? &bits_avx2 : NULL, widest ? &bits_avx512 : NULL};
#else
    const hw_bits *const forms[] = {&bits_portable};
#endif
    return index < sizeof forms / sizeof *forms ? forms[index] : NULL;
}

const hw_bits *hw_bits_best(void)
{
    const hw_bits *best = &bits_portable;
    for (size_t index = 1; hw_bits_variant(index) != NULL; index++)
        best = hw_bits_variant(index);
    return best;
}

/* ---------------------------------------------------------------------------------------------------------- parts ---- */

void hw_bits_slice(const uint64_t *words, uint64_t from, size_t n, uint64_t *out)
{
    size_t w = (size_t)(from / 64), last = (size_t)((from + (n - 1)) / 64), count = (n + 63) / 64;
    unsigned shift = (unsigned)(from % 64);
    for (size_t i = 0; i < count; i++, w++) {
        out[i] = words[w] >> shift;
        if (shift > 0 && w < last)
            out[i] |= words[w + 1] << (64 - shift);
    }
    if (n % 64 != 0)
        out[count - 1] &= (UINT64_C(1) << n % 64) - 1;
}

/* Returns the bits of word w that lie within from .. to. */
static uint64_t within(const uint64_t *words, size_t w, uint64_t from, uint64_t to)
{
    uint64_t bits = words[w];
    if (w == from / 64)
        bits &= UINT64_MAX << from % 64;
    if (w == to / 64)
        bits &= UINT64_MAX >> (63 - to % 64);
    return bits;
}

size_t hw_bits_between(const uint64_t *words, uint64_t from, uint64_t to, uint64_t *first, uint64_t *last)
{
    size_t begin = (size_t)(from / 64), end = (size_t)(to / 64);
    while (begin < end && within(words, begin, from, to) == 0)
        begin++;
    while (begin < end && within(words, end, from, to) == 0)
        end--;
    const uint64_t ends[] = {within(words, begin, from, to), within(words, end, from, to)};
    if (ends[0] == 0)
        return 0;
    *first = 64 * (uint64_t)begin + hw_lowest_bit(ends[0]);
    *last = 64 * (uint64_t)end + hw_highest_bit(ends[1]);
    const hw_bits *bits = hw_bits_best();
    return begin == end ? bits->count(ends, 1) : bits->count(ends, 2) + bits->count(words + begin + 1, end - begin - 1);
}
