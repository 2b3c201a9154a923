#include "codec/gaps.h"

#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "gaps are written as they lie");

/* --------------------------------------------------------------------------------------- what compilers make wide ---- */

#define INLINE static inline __attribute__((always_inline))

INLINE bool ascend(const uint64_t *numbers, size_t count)
{
    uint64_t wrong = 0;
    for (size_t i = 1; i < count; i++) /* without a way out: many are compared at once */
        wrong |= (uint64_t)(numbers[i - 1] >= numbers[i]);
    return wrong == 0;
}

INLINE uint64_t bits(const uint64_t *numbers, size_t n)
{
    uint64_t all = 0;
    for (size_t k = 0; k < n; k++)
        all |= numbers[k + 1] - numbers[k] - 1;
    return all;
}

#define WRITE(type)                                                                                                         \
    for (size_t k = 0; k < n; k++) {                                                                                        \
        type gap = (type)(numbers[k + 1] - numbers[k] - 1);                                                                 \
        memcpy(out + k * sizeof gap, &gap, sizeof gap);                                                                     \
    }

INLINE void write(const uint64_t *numbers, size_t n, unsigned width, unsigned char *restrict out)
{
    switch (width) {
    case 1: WRITE(uint8_t) return;
    case 2: WRITE(uint16_t) return;
    case 4: WRITE(uint32_t) return;
    default: WRITE(uint64_t) return;
    }
}

/* ----------------------------------------------------------------------------------------------------------- reading ---- */

/* Gaps of so few bytes go past 2^64 once at most: then the last number is not above what it began with. */
enum { FEW = 4 };

#define READ(type)                                                                                                          \
    for (size_t k = 0; k < n; k++) {                                                                                        \
        type gap;                                                                                                           \
        memcpy(&gap, in + k * sizeof gap, sizeof gap);                                                                      \
        numbers[k] = number += (uint64_t)gap + 1;                                                                           \
    }

INLINE void read_each(const unsigned char *in, size_t n, unsigned width, uint64_t number, uint64_t *restrict numbers)
{
    switch (width) {
    case 1: READ(uint8_t) return;
    case 2: READ(uint16_t) return;
    case 4: READ(uint32_t) return;
    default: READ(uint64_t) return;
    }
}

/* Any number may be the one that goes past: gaps of eight bytes are seldom, and take as long to send. */
static bool read_long(const unsigned char *in, size_t n, uint64_t before, uint64_t *numbers)
{
    read_each(in, n, 8, before, numbers);
    return numbers[0] > before && ascend(numbers, n);
}

static bool read_portable(const unsigned char *in, size_t n, unsigned width, uint64_t before, uint64_t *numbers)
{
    if (width > FEW)
        return read_long(in, n, before, numbers);
    read_each(in, n, width, before, numbers);
    return numbers[n - 1] > before;
}

#define VARIANT(name, attribute)                                                                                            \
    attribute static bool ascend_##name(const uint64_t *numbers, size_t count)                                              \
    {                                                                                                                       \
        return ascend(numbers, count);                                                                                      \
    }                                                                                                                       \
    attribute static uint64_t bits_##name(const uint64_t *numbers, size_t n)                                                \
    {                                                                                                                       \
        return bits(numbers, n);                                                                                            \
    }                                                                                                                       \
    attribute static void write_##name(const uint64_t *numbers, size_t n, unsigned width, unsigned char *out)               \
    {                                                                                                                       \
        write(numbers, n, width, out);                                                                                      \
    }                                                                                                                       \
    static const hw_gaps gaps_##name = {ascend_##name, bits_##name, write_##name, read_##name};

VARIANT(portable, )

#ifdef __x86_64__
#define AVX2   __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl")))

AVX2 static inline __m256i load_four(const unsigned char *in, unsigned width)
{
    uint32_t four;
    uint64_t eight;
    switch (width) {
    case 1: memcpy(&four, in, sizeof four); return _mm256_cvtepu8_epi64(_mm_cvtsi32_si128((int)four));
    case 2: memcpy(&eight, in, sizeof eight); return _mm256_cvtepu16_epi64(_mm_cvtsi64_si128((long long)eight));
    default: return _mm256_cvtepu32_epi64(_mm_loadu_si128((const __m128i *)(const void *)in));
    }
}

/* Sums of the four up to each, in two steps; what is carried waits for one addition alone. */
AVX2 static inline __attribute__((always_inline)) void read_fours(const unsigned char *in, size_t n, unsigned width,
                                                                  uint64_t before, uint64_t *numbers)
{
    const __m256i one = _mm256_set1_epi64x(1), zero = _mm256_setzero_si256();
    __m256i carried = _mm256_set1_epi64x((long long)before);
    size_t k = 0;
    for (; k + 4 <= n; k += 4) {
        __m256i steps = _mm256_add_epi64(load_four(in + k * width, width), one);
        steps = _mm256_add_epi64(steps, _mm256_slli_si256(steps, 8));
        steps = _mm256_add_epi64(steps, _mm256_blend_epi32(zero, _mm256_permute4x64_epi64(steps, 0x50), 0xf0));
        _mm256_storeu_si256((__m256i *)(void *)(numbers + k), _mm256_add_epi64(steps, carried));
        carried = _mm256_add_epi64(carried, _mm256_permute4x64_epi64(steps, 0xff));
    }
    read_each(in + k * width, n - k, width, (uint64_t)_mm256_extract_epi64(carried, 0), numbers + k);
}

AVX2 static bool read_avx2(const unsigned char *in, size_t n, unsigned width, uint64_t before, uint64_t *numbers)
{
    switch (width) {
    case 1: read_fours(in, n, 1, before, numbers); break;
    case 2: read_fours(in, n, 2, before, numbers); break;
    case 4: read_fours(in, n, 4, before, numbers); break;
    default: return read_long(in, n, before, numbers);
    }
    return numbers[n - 1] > before;
}

AVX512 static inline __m512i load_eight(const unsigned char *in, unsigned width)
{
    switch (width) {
    case 1: return _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(const void *)in));
    case 2: return _mm512_cvtepu16_epi64(_mm_loadu_si128((const __m128i *)(const void *)in));
    default: return _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)(const void *)in));
    }
}

AVX512 static inline __attribute__((always_inline)) void read_eights(const unsigned char *in, size_t n, unsigned width,
                                                                     uint64_t before, uint64_t *numbers)
{
    const __m512i one = _mm512_set1_epi64(1), zero = _mm512_setzero_si512(), last = _mm512_set1_epi64(7);
    __m512i carried = _mm512_set1_epi64((long long)before);
    size_t k = 0;
    for (; k + 8 <= n; k += 8) {
        __m512i steps = _mm512_add_epi64(load_eight(in + k * width, width), one);
        steps = _mm512_add_epi64(steps, _mm512_alignr_epi64(steps, zero, 7));
        steps = _mm512_add_epi64(steps, _mm512_alignr_epi64(steps, zero, 6));
        steps = _mm512_add_epi64(steps, _mm512_alignr_epi64(steps, zero, 4));
        _mm512_storeu_si512((void *)(numbers + k), _mm512_add_epi64(steps, carried));
        carried = _mm512_add_epi64(carried, _mm512_permutexvar_epi64(last, steps));
    }
    read_each(in + k * width, n - k, width, (uint64_t)_mm_cvtsi128_si64(_mm512_castsi512_si128(carried)), numbers + k);
}

AVX512 static bool read_avx512(const unsigned char *in, size_t n, unsigned width, uint64_t before, uint64_t *numbers)
{
    switch (width) {
    case 1: read_eights(in, n, 1, before, numbers); break;
    case 2: read_eights(in, n, 2, before, numbers); break;
    case 4: read_eights(in, n, 4, before, numbers); break;
    default: return read_long(in, n, before, numbers);
    }
    return numbers[n - 1] > before;
}

VARIANT(avx2, AVX2)
VARIANT(avx512, AVX512)
#endif

/* Asked on each call: it is a load and a test, and a remembered answer would be mutable state. */
const hw_gaps *hw_gaps_variant(size_t index)
{
#ifdef __x86_64__
    bool wide = __builtin_cpu_supports("avx2");
    bool widest = wide && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    const hw_gaps *const forms[] = {&gaps_portable, wide ? &gaps_avx2 : NULL, widest ? &gaps_avx512 : NULL};
#else
    const hw_gaps *const forms[] = {&gaps_portable};
#endif
    return index < sizeof forms / sizeof *forms ? forms[index] : NULL;
}

const hw_gaps *hw_gaps_best(void)
{
    const hw_gaps *best = &gaps_portable;
    for (size_t index = 1; hw_gaps_variant(index) != NULL; index++)
        best = hw_gaps_variant(index);
    return best;
}
