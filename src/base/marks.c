#include "base/marks.h"

#include <stdbool.h>

#include "base/bytes.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

/* prefetch distance: the caller reads the words between two calls, so the hardware prefetcher loses track */
enum { AHEAD = 4096 };

static inline size_t put_each(uint64_t bits, uint32_t base, uint32_t *places)
{
    size_t count = 0;
    for (; bits != 0; bits &= bits - 1)
        places[count++] = base + (uint32_t)__builtin_ctzll(bits);
    return count;
}

static size_t marks_portable(const char *text, size_t blocks, char separator, uint32_t base, uint32_t *places)
{
    size_t count = 0;
    for (const char *end = text + blocks * HW_MARK_BLOCK; text < end; text += HW_MARK_BLOCK, base += HW_MARK_BLOCK) {
        uint64_t bits = 0;
        hw_prefetch(text + AHEAD);
        for (int k = 0; k < HW_MARK_BLOCK; k++)
            bits |= (uint64_t)((text[k] == separator) | ((unsigned char)text[k] <= ' ')) << k;
        count += put_each(bits, base, places + count);
    }
    return count;
}

#ifdef __x86_64__
static size_t marks_sse2(const char *text, size_t blocks, char separator, uint32_t base, uint32_t *places)
{
    const __m128i blank = _mm_set1_epi8(' '), other = _mm_set1_epi8(separator);
    size_t count = 0;
    for (const char *end = text + blocks * HW_MARK_BLOCK; text < end; text += HW_MARK_BLOCK, base += HW_MARK_BLOCK) {
        uint64_t bits = 0;
        hw_prefetch(text + AHEAD);
        for (int k = 0; k < 4; k++) {
            __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(text + 16 * k));
            __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(_mm_min_epu8(bytes, blank), bytes), _mm_cmpeq_epi8(bytes, other));
            bits |= (uint64_t)(uint32_t)_mm_movemask_epi8(hit) << 16 * k;
        }
        count += put_each(bits, base, places + count);
    }
    return count;
}

/* Writes eight places at a time, needed or not: a loop that ends with the bits would be mispredicted at each block. */
__attribute__((target("avx2,bmi,popcnt"))) static inline size_t put_eights(uint64_t bits, uint32_t base, uint32_t *places)
{
    size_t count = (size_t)__builtin_popcountll(bits);
    for (size_t begin = 0; begin < count; begin += 8)
        for (size_t k = 0; k < 8; k++) {
            places[begin + k] = base + (uint32_t)_tzcnt_u64(bits);
            bits = _blsr_u64(bits);
        }
    return count;
}

__attribute__((target("avx2,bmi,popcnt"))) static size_t marks_avx2(const char *text, size_t blocks, char separator,
                                                                    uint32_t base, uint32_t *places)
{
    const __m256i blank = _mm256_set1_epi8(' '), other = _mm256_set1_epi8(separator);
    size_t count = 0;
    for (const char *end = text + blocks * HW_MARK_BLOCK; text < end; text += HW_MARK_BLOCK, base += HW_MARK_BLOCK) {
        uint64_t bits = 0;
        hw_prefetch(text + AHEAD);
        for (int k = 0; k < 2; k++) {
            __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)(text + 32 * k));
            __m256i hit =
                _mm256_or_si256(_mm256_cmpeq_epi8(_mm256_min_epu8(bytes, blank), bytes), _mm256_cmpeq_epi8(bytes, other));
            bits |= (uint64_t)(uint32_t)_mm256_movemask_epi8(hit) << 32 * k;
        }
        count += put_eights(bits, base, places + count);
    }
    return count;
}

/* The bits select their numbers from a register, so a block takes the same time whatever its text, unless it has more than
 * 32 marks. */
__attribute__((target("avx512f,avx512bw,avx512vbmi2,popcnt"))) static size_t marks_avx512(const char *text, size_t blocks,
                                                                                          char separator, uint32_t base,
                                                                                          uint32_t *places)
{
    const __m512i blank = _mm512_set1_epi8(' '), other = _mm512_set1_epi8(separator);
    const __m512i numbers =
        _mm512_set_epi8(63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41, 40, 39,
                        38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14,
                        13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    size_t count = 0;
    for (const char *end = text + blocks * HW_MARK_BLOCK; text < end; text += HW_MARK_BLOCK, base += HW_MARK_BLOCK) {
        __m512i bytes = _mm512_loadu_si512((const void *)text), from = _mm512_set1_epi32((int)base);
        uint64_t bits = _mm512_cmple_epu8_mask(bytes, blank) | _mm512_cmpeq_epi8_mask(bytes, other);
        __m512i found = _mm512_maskz_compress_epi8(bits, numbers);
        __m128i parts[4] = {_mm512_castsi512_si128(found), _mm512_extracti32x4_epi32(found, 1),
                            _mm512_extracti32x4_epi32(found, 2), _mm512_extracti32x4_epi32(found, 3)};
        hw_prefetch(text + AHEAD);
        size_t more = (size_t)__builtin_popcountll(bits);
        for (size_t k = 0; k < 4 && (k < 2 || more > 16 * k); k++)
            _mm512_storeu_si512((void *)(places + count + 16 * k), _mm512_add_epi32(_mm512_cvtepu8_epi32(parts[k]), from));
        count += more;
    }
    return count;
}
#endif

/* Tested on each call: that costs a load and a test, and a remembered answer would be mutable state. */
hw_marks_form hw_marks_variant(size_t index)
{
#ifdef __x86_64__
    bool wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("popcnt");
    bool picks = wide && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi2");
    const hw_marks_form forms[] = {marks_portable, marks_sse2, wide ? marks_avx2 : NULL, picks ? marks_avx512 : NULL};
#else
    const hw_marks_form forms[] = {marks_portable};
#endif
    return index < sizeof forms / sizeof *forms ? forms[index] : NULL;
}

size_t hw_marks(const char *text, size_t blocks, char separator, uint32_t base, uint32_t *places)
{
    hw_marks_form form = marks_portable;
    for (size_t index = 0; hw_marks_variant(index) != NULL; index++)
        form = hw_marks_variant(index);
    return form(text, blocks, separator, base, places);
}
