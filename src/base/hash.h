/* hash.h - a fast 64-bit checksum for the project's files: it detects damage, not forgery. */
#ifndef HW_BASE_HASH_H
#define HW_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Returns the digest of `size` bytes. `seed` chains: the digest of one piece is the seed of the next. Any change within one
 * aligned word of eight bytes changes the digest; the same bytes give the same digest on every machine. */
uint64_t hw_hash(const void *data, size_t size, uint64_t seed);

#endif
