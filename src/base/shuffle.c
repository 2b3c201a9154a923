#include "base/shuffle.h"

#include "base/random.h"

/* Distinguishes the keys of orders from other random numbers of the same seed. */
static const uint64_t ORDERS = UINT64_C(0x62617463686573);

/* A network on few bits is far from a random order after 12 rounds. On 2^8 numbers it is close to one, and so are the places
 * of the smaller numbers among each other. */
enum { FEWEST_BITS = 8 };

hw_shuffle hw_shuffle_of(uint64_t count, uint64_t seed, uint64_t stream, uint64_t epoch)
{
    hw_shuffle shuffle = {.count = count, .bits = FEWEST_BITS};
    while (shuffle.bits < 64 && (count - 1) >> shuffle.bits != 0)
        shuffle.bits++;
    shuffle.low = (shuffle.bits + 1) / 2;
    hw_random random = hw_random_at(seed ^ ORDERS, count, stream, epoch);
    for (int i = 0; i < HW_SHUFFLE_ROUNDS; i++)
        shuffle.keys[i] = hw_random_next(&random);
    return shuffle;
}

uint64_t hw_shuffle_at(const hw_shuffle *shuffle, uint64_t k)
{
    const uint64_t low = (UINT64_C(1) << shuffle->low) - 1, high = (UINT64_C(1) << (shuffle->bits - shuffle->low)) - 1;
    do {
        uint64_t left = k >> shuffle->low, right = k & low;
        for (int i = 0; i < HW_SHUFFLE_ROUNDS; i += 2) {
            left ^= hw_mix(shuffle->keys[i] ^ right) & high;
            right ^= hw_mix(shuffle->keys[i + 1] ^ left) & low;
        }
        k = left << shuffle->low | right;
    } while (k >= shuffle->count);
    return k;
}
