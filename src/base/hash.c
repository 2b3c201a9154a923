#include "base/hash.h"

#include <endian.h>
#include <string.h>

enum { LANES = 4 };

static uint64_t word(const unsigned char *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return le64toh(value);
}

/* One-to-one in `value` for a given state, so inputs that differ in one word never collide. The shift carries the high half,
 * where a product mixes well, to the low one. */
static uint64_t step(uint64_t state, uint64_t value)
{
    state = (state ^ value) * UINT64_C(0x9fb21c651e98df25);
    return state ^ (state >> 32);
}

uint64_t hw_hash(const void *data, size_t size, uint64_t seed)
{
    const unsigned char *at = data;
    uint64_t lane[LANES];
    for (uint64_t k = 0; k < LANES; k++)
        lane[k] = step(seed, k + 1);
    size_t left = size;
    for (; left >= 8 * LANES; left -= 8 * LANES, at += 8 * LANES) /* four independent chains in parallel */
        for (size_t k = 0; k < LANES; k++)
            lane[k] = step(lane[k], word(at + 8 * k));
    uint64_t digest = step(seed, size);
    for (size_t k = 0; k < LANES; k++)
        digest = step(digest, lane[k]);
    for (; left >= 8; left -= 8, at += 8)
        digest = step(digest, word(at));
    unsigned char rest[8] = {0};
    if (left > 0)
        memcpy(rest, at, left);
    return step(step(digest, word(rest)), size);
}
