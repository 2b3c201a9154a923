#include "base/finite.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { PART = 512 << 10 /* bytes that are tested together */ };

/* A number that is not finite has all exponent bits set, so adding one more at the lowest exponent bit carries into the
 * sign's place. All numbers are tested: that is faster than an early exit which is never taken. With AVX2 a block must be
 * one register: gcc keeps longer ones in memory, nine times as slow. */
#define ALL_FINITE(name, target, bytes, type, rest, lowest)                                                                 \
    target static bool name(const void *values, size_t count)                                                               \
    {                                                                                                                       \
        typedef type block __attribute__((vector_size(bytes)));                                                             \
        enum { LANES = (bytes) / sizeof(type) };                                                                            \
        const unsigned char *from = values;                                                                                 \
        block over = {0}, bits;                                                                                             \
        type all = 0, number;                                                                                               \
        size_t i = 0;                                                                                                       \
        for (; i + LANES <= count; i += LANES) {                                                                            \
            memcpy(&bits, from + i * sizeof number, sizeof bits);                                                           \
            over |= (bits & (rest)) + (lowest);                                                                             \
        }                                                                                                                   \
        for (; i < count; i++) {                                                                                            \
            memcpy(&number, from + i * sizeof number, sizeof number);                                                       \
            all |= (type)((number & (rest)) + (lowest));                                                                    \
        }                                                                                                                   \
        for (size_t k = 0; k < LANES; k++)                                                                                  \
            all |= over[k];                                                                                                 \
        return all <= (rest);                                                                                               \
    }
#define F32(name, target, bytes) ALL_FINITE(name, target, bytes, uint32_t, UINT32_C(0x7fffffff), UINT32_C(0x00800000))
#define F64(name, target, bytes)                                                                                            \
    ALL_FINITE(name, target, bytes, uint64_t, UINT64_C(0x7fffffffffffffff), UINT64_C(0x0010000000000000))

F32(f32_portable, , 64)
F64(f64_portable, , 64)
#ifdef __x86_64__
F32(f32_avx2, __attribute__((target("avx2"))), 32)
F64(f64_avx2, __attribute__((target("avx2"))), 32)
F32(f32_avx512, __attribute__((target("avx512f"))), 64)
F64(f64_avx512, __attribute__((target("avx512f"))), 64)
#endif

/* Tested on each call: that costs a load and a test, and a remembered answer would be mutable state. */
#ifdef __x86_64__
#define VARIANT(name)                                                                                                       \
    hw_finite_form hw_finite_##name##_variant(size_t index)                                                                 \
    {                                                                                                                       \
        bool wide = __builtin_cpu_supports("avx2"), widest = wide && __builtin_cpu_supports("avx512f");                     \
        const hw_finite_form forms[] = {name##_portable, wide ? name##_avx2 : NULL, widest ? name##_avx512 : NULL};         \
        return index < sizeof forms / sizeof *forms ? forms[index] : NULL;                                                  \
    }
#else
#define VARIANT(name)                                                                                                       \
    hw_finite_form hw_finite_##name##_variant(size_t index)                                                                 \
    {                                                                                                                       \
        return index == 0 ? name##_portable : NULL;                                                                         \
    }
#endif
VARIANT(f32)
VARIANT(f64)

/* Tests from the back, part by part: the numbers are used from the front, which is then in the processor's cache. */
#define FIRST(name, type)                                                                                                   \
    size_t hw_first_not_finite_##name(const void *values, size_t count)                                                     \
    {                                                                                                                       \
        enum { MOST = PART / sizeof(type) };                                                                                \
        hw_finite_form all_finite = name##_portable;                                                                        \
        const unsigned char *from = values;                                                                                 \
        size_t left = count, at = 0;                                                                                        \
        for (size_t index = 0; hw_finite_##name##_variant(index) != NULL; index++)                                          \
            all_finite = hw_finite_##name##_variant(index);                                                                 \
        for (size_t n; left > 0; left -= n) {                                                                               \
            n = left < MOST ? left : MOST;                                                                                  \
            if (!all_finite(from + (left - n) * sizeof(type), n))                                                           \
                break;                                                                                                      \
        }                                                                                                                   \
        if (left == 0)                                                                                                      \
            return count;                                                                                                   \
        while (name##_portable(from + at * sizeof(type), 1))                                                                \
            at++;                                                                                                           \
        return at;                                                                                                          \
    }
FIRST(f32, float)
FIRST(f64, double)

/* ------------------------------------------------------------------------------------------------------------- sums ---- */

/* A block's values are copied before they change, so that one test of all sums decides whether any value must be restored:
 * as fast as adding only. */
#define ADD_FINITE(name, target, number, type, rest, lowest)                                                                \
    target static size_t name(number *values, const number *updates, size_t count)                                          \
    {                                                                                                                       \
        enum { NUMBERS = 512 };                                                                                             \
        number before[NUMBERS];                                                                                             \
        size_t first = count;                                                                                               \
        for (size_t i = 0, n; i < count; i += n) {                                                                          \
            type over = 0, bits;                                                                                            \
            n = count - i < NUMBERS ? count - i : NUMBERS;                                                                  \
            for (size_t k = 0; k < n; k++) {                                                                                \
                before[k] = values[i + k];                                                                                  \
                number sum = before[k] + updates[i + k];                                                                    \
                memcpy(&bits, &sum, sizeof bits);                                                                           \
                over |= (type)((bits & (rest)) + (lowest));                                                                 \
                values[i + k] = sum;                                                                                        \
            }                                                                                                               \
            for (size_t k = 0; over > (rest) && k < n; k++) {                                                               \
                if (isfinite(values[i + k]))                                                                                \
                    continue;                                                                                               \
                values[i + k] = before[k];                                                                                  \
                first = i + k < first ? i + k : first;                                                                      \
            }                                                                                                               \
        }                                                                                                                   \
        return first;                                                                                                       \
    }
#define ADD_F32(name, target) ADD_FINITE(name, target, float, uint32_t, UINT32_C(0x7fffffff), UINT32_C(0x00800000))
#define ADD_F64(name, target)                                                                                               \
    ADD_FINITE(name, target, double, uint64_t, UINT64_C(0x7fffffffffffffff), UINT64_C(0x0010000000000000))

ADD_F32(add_f32_portable, )
ADD_F64(add_f64_portable, )
#ifdef __x86_64__
ADD_F32(add_f32_avx2, __attribute__((target("avx2"))))
ADD_F64(add_f64_avx2, __attribute__((target("avx2"))))
#define ADD_VARIANT(bits)                                                                                                   \
    hw_add_form_##bits hw_add_finite_##bits##_variant(size_t index)                                                         \
    {                                                                                                                       \
        bool wide = __builtin_cpu_supports("avx2");                                                                         \
        return index == 0 ? add_##bits##_portable : index == 1 && wide ? add_##bits##_avx2 : NULL;                          \
    }
#else
#define ADD_VARIANT(bits)                                                                                                   \
    hw_add_form_##bits hw_add_finite_##bits##_variant(size_t index)                                                         \
    {                                                                                                                       \
        return index == 0 ? add_##bits##_portable : NULL;                                                                   \
    }
#endif
ADD_VARIANT(f32)
ADD_VARIANT(f64)

size_t hw_add_finite_f32(float *values, const float *updates, size_t count)
{
    hw_add_form_f32 wide = hw_add_finite_f32_variant(1);
    return (wide != NULL ? wide : add_f32_portable)(values, updates, count);
}

size_t hw_add_finite_f64(double *values, const double *updates, size_t count)
{
    hw_add_form_f64 wide = hw_add_finite_f64_variant(1);
    return (wide != NULL ? wide : add_f64_portable)(values, updates, count);
}
