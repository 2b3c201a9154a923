/* checksum.h - the checksum of a file of tensors. It is the last tensor, so that a file can be written from front to back:
 * hw_hash chained over pieces of HW_CHECKSUM_PIECE bytes of everything before it, header included. */
#ifndef HW_CHECKPOINT_CHECKSUM_H
#define HW_CHECKPOINT_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

enum { HW_CHECKSUM_PIECE = 16384 };

/* Initially zero. */
typedef struct hw_checksum {
    uint64_t digest; /* of the full pieces */
    size_t used;
    unsigned char piece[HW_CHECKSUM_PIECE];
} hw_checksum;

void hw_checksum_add(hw_checksum *seal, const void *data, size_t size);
uint64_t hw_checksum_of(const hw_checksum *seal);

#endif
