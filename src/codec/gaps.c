#include "codec/gaps.h"

#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "gaps are copied from memory");

#define INLINE static inline __attribute__((always_inline))

#define NUMBER   uint32_t
#define OF(name) name##_u32
#include "codec/gaps_typed.h"

#define NUMBER   uint64_t
#define OF(name) name##_u64
#include "codec/gaps_typed.h"

#define TYPED(type, name, attribute, reader)                                                                                \
    attribute static bool ascend_##type##_##name(const void *numbers, size_t count)                                         \
    {                                                                                                                       \
        return ascend_##type(numbers, count);                                                                               \
    }                                                                                                                       \
    attribute static uint64_t bits_##type##_##name(const void *numbers, size_t n)                                           \
    {                                                                                                                       \
        return bits_##type(numbers, n);                                                                                     \
    }                                                                                                                       \
    attribute static void write_##type##_##name(const void *numbers, size_t n, unsigned width, unsigned char *out)          \
    {                                                                                                                       \
        write_##type(numbers, n, width, out);                                                                               \
    }                                                                                                                       \
    static const hw_gaps gaps_##type##_##name = {ascend_##type##_##name, bits_##type##_##name, write_##type##_##name,       \
                                                 reader};

static bool read_portable_u32(const unsigned char *in, size_t n, unsigned width, void *numbers)
{
    return read_checked_u32(in, n, width, numbers);
}

static bool read_portable_u64(const unsigned char *in, size_t n, unsigned width, void *numbers)
{
    return read_checked_u64(in, n, width, numbers);
}

TYPED(u32, portable, , read_portable_u32)
TYPED(u64, portable, , read_portable_u64)

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

/* Computes prefix sums of four gaps in two steps, so that the carried sum waits for only one addition. */
AVX2 static inline __attribute__((always_inline)) void read_fours(const unsigned char *in, size_t n, unsigned width,
                                                                  uint64_t *numbers)
{
    const __m256i one = _mm256_set1_epi64x(1), zero = _mm256_setzero_si256();
    __m256i carried = _mm256_set1_epi64x((long long)numbers[0]);
    size_t k = 0;
    for (; k + 4 <= n; k += 4) {
        __m256i steps = _mm256_add_epi64(load_four(in + k * width, width), one);
        steps = _mm256_add_epi64(steps, _mm256_slli_si256(steps, 8));
        steps = _mm256_add_epi64(steps, _mm256_blend_epi32(zero, _mm256_permute4x64_epi64(steps, 0x50), 0xf0));
        _mm256_storeu_si256((__m256i *)(void *)(numbers + k + 1), _mm256_add_epi64(steps, carried));
        carried = _mm256_add_epi64(carried, _mm256_permute4x64_epi64(steps, 0xff));
    }
    read_each_u64(in + k * width, n - k, width, numbers + k);
}

AVX2 static bool read_avx2(const unsigned char *in, size_t n, unsigned width, void *numbers)
{
    switch (width) {
    case 1: read_fours(in, n, 1, numbers); break;
    case 2: read_fours(in, n, 2, numbers); break;
    case 4: read_fours(in, n, 4, numbers); break;
    default: return read_checked_u64(in, n, width, numbers);
    }
    return ((const uint64_t *)numbers)[n] > ((const uint64_t *)numbers)[0];
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
                                                                     uint64_t *numbers)
{
    const __m512i one = _mm512_set1_epi64(1), zero = _mm512_setzero_si512(), last = _mm512_set1_epi64(7);
    __m512i carried = _mm512_set1_epi64((long long)numbers[0]);
    size_t k = 0;
    for (; k + 8 <= n; k += 8) {
        __m512i steps = _mm512_add_epi64(load_eight(in + k * width, width), one);
        steps = _mm512_add_epi64(steps, _mm512_alignr_epi64(steps, zero, 7));
        steps = _mm512_add_epi64(steps, _mm512_alignr_epi64(steps, zero, 6));
        steps = _mm512_add_epi64(steps, _mm512_alignr_epi64(steps, zero, 4));
        _mm512_storeu_si512((void *)(numbers + k + 1), _mm512_add_epi64(steps, carried));
        carried = _mm512_add_epi64(carried, _mm512_permutexvar_epi64(last, steps));
    }
    read_each_u64(in + k * width, n - k, width, numbers + k);
}

AVX512 static bool read_avx512(const unsigned char *in, size_t n, unsigned width, void *numbers)
{
    switch (width) {
    case 1: read_eights(in, n, 1, numbers); break;
    case 2: read_eights(in, n, 2, numbers); break;
    case 4: read_eights(in, n, 4, numbers); break;
    default: return read_checked_u64(in, n, width, numbers);
    }
    return ((const uint64_t *)numbers)[n] > ((const uint64_t *)numbers)[0];
}

TYPED(u32, avx2, AVX2, read_portable_u32)
TYPED(u64, avx2, AVX2, read_avx2)
TYPED(u32, avx512, AVX512, read_portable_u32)
TYPED(u64, avx512, AVX512, read_avx512)
static const hw_gaps *const forms[][3] = {{&gaps_u32_portable, &gaps_u32_avx2, &gaps_u32_avx512},
                                          {&gaps_u64_portable, &gaps_u64_avx2, &gaps_u64_avx512}};

/* Tests the processor on each call: that costs a load and a test, and a stored answer would be mutable state. */
static size_t supported(void)
{
    if (!__builtin_cpu_supports("avx2"))
        return 1;
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") ? 3 : 2;
}
#else
static const hw_gaps *const forms[][1] = {{&gaps_u32_portable}, {&gaps_u64_portable}};

static size_t supported(void)
{
    return 1;
}
#endif

const hw_gaps *hw_gaps_variant(hw_gaps_number number, size_t index)
{
    return index < supported() ? forms[number == HW_GAPS_U64][index] : NULL;
}

const hw_gaps *hw_gaps_best(hw_gaps_number number)
{
    return forms[number == HW_GAPS_U64][supported() - 1];
}
