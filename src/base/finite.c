#include "base/finite.h"

#include <stdint.h>
#include <string.h>

enum {
    BLOCK = 64,      /* bytes: a register of the widest processors, several of the others */
    PART = 512 << 10 /* bytes that are looked at together */
};

/* What is not finite has all bits of its exponent, so that one more goes over into the sign's place. All are looked at: faster than a way
 * out for the one that never comes. */
#define ALL_FINITE(name, target, type, rest, lowest)                                                                        \
    target static bool name(const void *values, size_t count)                                                               \
    {                                                                                                                       \
        typedef type block __attribute__((vector_size(BLOCK)));                                                             \
        enum { LANES = BLOCK / sizeof(type) };                                                                              \
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
#define F32(name, target) ALL_FINITE(name, target, uint32_t, UINT32_C(0x7fffffff), UINT32_C(0x00800000))
#define F64(name, target) ALL_FINITE(name, target, uint64_t, UINT64_C(0x7fffffffffffffff), UINT64_C(0x0010000000000000))

F32(f32_portable, )
F64(f64_portable, )
#ifdef __x86_64__
F32(f32_avx2, __attribute__((target("avx2"))))
F64(f64_avx2, __attribute__((target("avx2"))))
F32(f32_avx512, __attribute__((target("avx512f"))))
F64(f64_avx512, __attribute__((target("avx512f"))))
#endif

/* Asked on each call: it is a load and a test, and a remembered answer would be mutable state. */
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

/* From the back, part by part: who uses the numbers begins in front, and finds these in his processor's cache. */
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
