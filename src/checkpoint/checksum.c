#include "checkpoint/checksum.h"

#include <string.h>

#include "base/hash.h"

void hw_checksum_add(hw_checksum *seal, const void *data, size_t size)
{
    for (const unsigned char *from = data; size > 0;) {
        size_t capacity = sizeof seal->piece - seal->used, count = size < capacity ? size : capacity;
        memcpy(seal->piece + seal->used, from, count);
        seal->used += count;
        from += count;
        size -= count;
        if (seal->used == sizeof seal->piece) {
            seal->digest = hw_hash(seal->piece, seal->used, seal->digest);
            seal->used = 0;
        }
    }
}

uint64_t hw_checksum_of(const hw_checksum *seal)
{
    return hw_hash(seal->piece, seal->used, seal->digest);
}
