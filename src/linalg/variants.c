#include "linalg/variants.h"

/* Tests the processor on each call: that costs a load and a test, and a stored answer would be mutable state. */
static size_t supported(const hw_kernels *variants[3])
{
    size_t count = 0;
    variants[count++] = &hw_kernels_portable;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        variants[count++] = &hw_kernels_avx2;
    if (__builtin_cpu_supports("avx512f"))
        variants[count++] = &hw_kernels_avx512;
#endif
    return count;
}

const hw_kernels *hw_kernels_best(void)
{
    const hw_kernels *variants[3];
    return variants[supported(variants) - 1];
}

const hw_kernels *hw_kernels_variant(size_t index)
{
    const hw_kernels *variants[3];
    return index < supported(variants) ? variants[index] : NULL;
}

const char *hawser_kernels_name(void)
{
    return hw_kernels_best()->name;
}
