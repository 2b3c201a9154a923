#include "transport/segment/slot.h"

#include <string.h>

#include "base/hash.h"

enum { LENGTH, GENERATION, SEQUENCE, CHECKSUM, TRAILER, LINE = 8 /* words of a cache line */ };

size_t hw_slot_words(size_t size)
{
    if (size > SIZE_MAX / 2)
        return 0;
    size_t words = (size + 7) / 8 + TRAILER;
    return (words + LINE - 1) / LINE * LINE;
}

/* The digest of the stamp is the seed of the digest of the data, so a change of either changes the result. */
static uint64_t digest(const hw_stamp *stamp, const void *data)
{
    const uint64_t words[] = {stamp->length, stamp->generation, stamp->sequence};
    return hw_hash(data, (size_t)stamp->length, hw_hash(words, sizeof words, 0));
}

void hw_slot_write(hw_slot_word *slot, size_t words, const hw_stamp *stamp, const void *data)
{
    const unsigned char *from = data;
    size_t whole = (size_t)stamp->length / 8, rest = (size_t)stamp->length % 8;
    uint64_t word = 0;
    for (size_t i = 0; i < whole; i++) {
        memcpy(&word, from + 8 * i, 8);
        atomic_store_explicit(&slot[i], word, memory_order_relaxed);
    }
    if (rest > 0) {
        word = 0;
        memcpy(&word, from + 8 * whole, rest);
        atomic_store_explicit(&slot[whole], word, memory_order_relaxed);
    }
    hw_slot_word *trailer = slot + words - TRAILER;
    atomic_store_explicit(&trailer[LENGTH], stamp->length, memory_order_relaxed);
    atomic_store_explicit(&trailer[GENERATION], stamp->generation, memory_order_relaxed);
    atomic_store_explicit(&trailer[SEQUENCE], stamp->sequence, memory_order_relaxed);
    /* Release: a reader that sees this word also sees the others, even on a machine that reorders, and does not read
     * twice. */
    atomic_store_explicit(&trailer[CHECKSUM], digest(stamp, data), memory_order_release);
}

uint64_t hw_slot_sequence(const hw_slot_word *slot, size_t words)
{
    return atomic_load_explicit(&slot[words - TRAILER + SEQUENCE], memory_order_relaxed);
}

bool hw_slot_read(const hw_slot_word *slot, size_t words, size_t size, hw_stamp *stamp, void *to)
{
    const hw_slot_word *trailer = slot + words - TRAILER;
    uint64_t checksum = atomic_load_explicit(&trailer[CHECKSUM], memory_order_acquire);
    stamp->length = atomic_load_explicit(&trailer[LENGTH], memory_order_relaxed);
    stamp->generation = atomic_load_explicit(&trailer[GENERATION], memory_order_relaxed);
    stamp->sequence = atomic_load_explicit(&trailer[SEQUENCE], memory_order_relaxed);
    if (stamp->sequence == 0 || stamp->length > size)
        return false;
    unsigned char *at = to;
    size_t whole = (size_t)stamp->length / 8, rest = (size_t)stamp->length % 8;
    uint64_t word;
    for (size_t i = 0; i < whole; i++) {
        word = atomic_load_explicit(&slot[i], memory_order_relaxed);
        memcpy(at + 8 * i, &word, 8);
    }
    if (rest > 0) {
        word = atomic_load_explicit(&slot[whole], memory_order_relaxed);
        memcpy(at + 8 * whole, &word, rest);
    }
    return checksum == digest(stamp, to);
}
