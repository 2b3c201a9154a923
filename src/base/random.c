#include "base/random.h"

#include <math.h>

hw_random hw_random_at(uint64_t seed, uint64_t stream, uint64_t block, uint64_t clock)
{
    uint64_t a = hw_mix(seed ^ hw_mix(stream));
    uint64_t b = hw_mix(a ^ hw_mix(block ^ hw_mix(clock)));
    return (hw_random){{a ^ b, hw_mix(b)}, 0};
}

uint64_t hw_random_next(hw_random *random)
{
    uint64_t counter = random->draw++;
    return hw_mix(random->key[1] ^ hw_mix(random->key[0] + counter * UINT64_C(0x9e3779b97f4a7c15)));
}

__extension__ typedef unsigned __int128 wide;

uint64_t hw_random_below(hw_random *random, uint64_t bound)
{
    /* Lemire's multiply-and-reject: the low half of the product decides whether the draw is in the biased remainder. */
    uint64_t threshold = -bound % bound;
    for (;;) {
        wide product = (wide)hw_random_next(random) * bound;
        if ((uint64_t)product >= threshold)
            return (uint64_t)(product >> 64);
    }
}

double hw_random_uniform(hw_random *random)
{
    return (double)(hw_random_next(random) >> 11) * 0x1p-53;
}

double hw_random_normal(hw_random *random)
{
    for (;;) {
        double x = 2 * hw_random_uniform(random) - 1;
        double y = 2 * hw_random_uniform(random) - 1;
        double square = x * x + y * y;
        if (square > 0 && square < 1)
            return x * sqrt(-2 * log(square) / square);
    }
}
