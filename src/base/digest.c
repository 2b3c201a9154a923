#include "base/digest.h"

#include <stdbool.h>
#include <string.h>

enum { FEW = 8 }; /* numbers for which a plain loop is fastest */

/* The digest of contiguous numbers of a type, one by one. */
#define PLAIN(name, type)                                                                                                   \
    static uint64_t name##_portable(const void *values, size_t count, uint64_t first)                                       \
    {                                                                                                                       \
        const unsigned char *from = values;                                                                                 \
        uint64_t sum = 0;                                                                                                   \
        for (size_t i = 0; i < count; i++) {                                                                                \
            type bits;                                                                                                      \
            memcpy(&bits, from + i * sizeof bits, sizeof bits);                                                             \
            sum += hw_digest_one(first + i, bits);                                                                          \
        }                                                                                                                   \
        return sum;                                                                                                         \
    }                                                                                                                       \
    static uint64_t name##_portable_at(const void *values, size_t count, const uint64_t *places)                            \
    {                                                                                                                       \
        const unsigned char *from = values;                                                                                 \
        uint64_t sum = 0;                                                                                                   \
        for (size_t i = 0; i < count; i++) {                                                                                \
            type bits;                                                                                                      \
            memcpy(&bits, from + i * sizeof bits, sizeof bits);                                                             \
            sum += hw_digest_one(places[i], bits);                                                                          \
        }                                                                                                                   \
        return sum;                                                                                                         \
    }
PLAIN(numbers_64, uint64_t)
PLAIN(numbers_32, uint32_t)

#ifdef __x86_64__
/* hw_digest_one for a whole register of numbers; `mixed` are the mixed places. */
#define MIX(x, mixed)                                                                                                       \
    (x) *= HW_DIGEST_BITS;                                                                                                  \
    (x) ^= (x) >> 32;                                                                                                       \
    (x) *= (mixed) | 1;                                                                                                     \
    sums += (x) ^ ((x) >> 32)
#define WIDE(name, variant, target, type, LANES)                                                                            \
    target static uint64_t name##_##variant(const void *values, size_t count, uint64_t first)                               \
    {                                                                                                                       \
        typedef uint64_t lanes __attribute__((vector_size(LANES * sizeof(uint64_t))));                                      \
        typedef type numbers __attribute__((vector_size(LANES * sizeof(type))));                                            \
        const unsigned char *from = values;                                                                                 \
        lanes sums = {0}, mixed = {0};                                                                                      \
        size_t i = 0;                                                                                                       \
        for (size_t k = 0; k < LANES; k++)                                                                                  \
            mixed[k] = (first + k + 1) * HW_DIGEST_PLACES;                                                                  \
        for (; i + LANES <= count; i += LANES, mixed += LANES * HW_DIGEST_PLACES) {                                         \
            numbers bits;                                                                                                   \
            memcpy(&bits, from + i * sizeof(type), sizeof bits);                                                            \
            lanes x = __builtin_convertvector(bits, lanes);                                                                 \
            MIX(x, mixed);                                                                                                  \
        }                                                                                                                   \
        uint64_t sum = name##_portable(from + i * sizeof(type), count - i, first + i);                                      \
        for (size_t k = 0; k < LANES; k++)                                                                                  \
            sum += sums[k];                                                                                                 \
        return sum;                                                                                                         \
    }                                                                                                                       \
    target static uint64_t name##_##variant##_at(const void *values, size_t count, const uint64_t *places)                  \
    {                                                                                                                       \
        typedef uint64_t lanes __attribute__((vector_size(LANES * sizeof(uint64_t))));                                      \
        typedef type numbers __attribute__((vector_size(LANES * sizeof(type))));                                            \
        const unsigned char *from = values;                                                                                 \
        lanes sums = {0};                                                                                                   \
        size_t i = 0;                                                                                                       \
        for (; i + LANES <= count; i += LANES) {                                                                            \
            numbers bits;                                                                                                   \
            lanes mixed;                                                                                                    \
            memcpy(&bits, from + i * sizeof(type), sizeof bits);                                                            \
            memcpy(&mixed, places + i, sizeof mixed);                                                                       \
            lanes x = __builtin_convertvector(bits, lanes);                                                                 \
            MIX(x, (mixed + 1) * HW_DIGEST_PLACES);                                                                         \
        }                                                                                                                   \
        uint64_t sum = name##_portable_at(from + i * sizeof(type), count - i, places + i);                                  \
        for (size_t k = 0; k < LANES; k++)                                                                                  \
            sum += sums[k];                                                                                                 \
        return sum;                                                                                                         \
    }
WIDE(numbers_64, avx2, __attribute__((target("avx2"))), uint64_t, 4)
WIDE(numbers_32, avx2, __attribute__((target("avx2"))), uint32_t, 4)
WIDE(numbers_64, avx512, __attribute__((target("avx512f,avx512dq"))), uint64_t, 8)
WIDE(numbers_32, avx512, __attribute__((target("avx512f,avx512dq"))), uint32_t, 8)

/* Tested on each call: that costs a load and a test, and a remembered answer would be mutable state. */
#define VARIANT(name, numbers)                                                                                              \
    const hw_digest_form *name##_variant(size_t index)                                                                      \
    {                                                                                                                       \
        static const hw_digest_form forms[] = {{numbers##_portable, numbers##_portable_at},                                 \
                                               {numbers##_avx2, numbers##_avx2_at},                                         \
                                               {numbers##_avx512, numbers##_avx512_at}};                                    \
        bool wide = __builtin_cpu_supports("avx2");                                                                         \
        bool widest = wide && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");                      \
        return index < 1U + wide + widest ? &forms[index] : NULL;                                                           \
    }
#else
#define VARIANT(name, numbers)                                                                                              \
    const hw_digest_form *name##_variant(size_t index)                                                                      \
    {                                                                                                                       \
        static const hw_digest_form form = {numbers##_portable, numbers##_portable_at};                                     \
        return index == 0 ? &form : NULL;                                                                                   \
    }
#endif
VARIANT(hw_digest_64, numbers_64)
VARIANT(hw_digest_32, numbers_32)

#define BEST(name, numbers)                                                                                                 \
    uint64_t name(const void *values, size_t count, uint64_t first)                                                         \
    {                                                                                                                       \
        const hw_digest_form *best = name##_variant(0);                                                                     \
        for (size_t index = 1; count >= FEW && name##_variant(index) != NULL; index++)                                      \
            best = name##_variant(index);                                                                                   \
        return best->beside(values, count, first);                                                                          \
    }                                                                                                                       \
    uint64_t name##_at(const void *values, size_t count, const uint64_t *places)                                            \
    {                                                                                                                       \
        const hw_digest_form *best = name##_variant(0);                                                                     \
        for (size_t index = 1; count >= FEW && name##_variant(index) != NULL; index++)                                      \
            best = name##_variant(index);                                                                                   \
        return best->at(values, count, places);                                                                             \
    }
BEST(hw_digest_64, numbers_64)
BEST(hw_digest_32, numbers_32)
