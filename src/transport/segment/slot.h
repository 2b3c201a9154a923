/*
 * slot.h - a put as it lies in memory that somebody else writes to while we read.
 *
 * A slot is a row of 64-bit words: the data from its beginning, and at its end length, generation, sequence and a checksum over all of
 * them. Nothing is locked, and no order of the writes is asked for (a network card keeps none): a reader copies the words and believes
 * them when the checksum says that they belong together. So a put that is under way, or whose writer died in the middle of it, is
 * never taken for one, whichever words have arrived. models/slot.pml goes through all orders.
 *
 * Every access is a relaxed atomic one, for the race is intended. A slot needs no constructor: zeros are an empty one.
 */
#ifndef HW_TRANSPORT_SEGMENT_SLOT_H
#define HW_TRANSPORT_SEGMENT_SLOT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef _Atomic(uint64_t) hw_control;

/* What a slot ends in, but the checksum. */
typedef struct hw_stamp {
    uint64_t length;     /* bytes of the data */
    uint64_t generation; /* of the segment that it was meant for */
    uint64_t sequence;   /* from 1; 0: nothing was ever put here */
} hw_stamp;

/* Words of a slot for up to `size` bytes: whole cache lines, so that two senders share none. 0: too many for size_t. */
size_t hw_slot_words(size_t size);
/* Writes data and stamp; stamp->length <= what the slot was made for. One writer at a time. */
void hw_slot_write(hw_control *slot, size_t words, const hw_stamp *stamp, const void *data);
/* The sequence that stands there now, whole or not: a hint where to look. */
uint64_t hw_slot_sequence(const hw_control *slot, size_t words);
/* Copies the data into `to`, which has room for what the slot was made for (`size`). False: empty or torn; `to` holds anything. Any
 * number of readers at a time. */
bool hw_slot_read(const hw_control *slot, size_t words, size_t size, hw_stamp *stamp, void *to);

#endif
