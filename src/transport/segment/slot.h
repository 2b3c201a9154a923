/*
 * slot.h - a put in memory that another process may write while this one reads.
 *
 * A slot is an array of 64-bit words: the data first, and at the end length, generation, sequence and a checksum over all of
 * them. There is no lock, and no order of the writes is required (a network card keeps none). A reader copies the words and
 * accepts them if the checksum matches. So a put that is in progress, or whose writer died in the middle of it, is never
 * accepted, whichever words have arrived. models/slot.pml checks all orders.
 *
 * Every access is a relaxed atomic one, because the race is intended. A slot needs no constructor: zeros are an empty slot.
 */
#ifndef HW_TRANSPORT_SEGMENT_SLOT_H
#define HW_TRANSPORT_SEGMENT_SLOT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef _Atomic(uint64_t) hw_slot_word;

/* The end of a slot, without the checksum. */
typedef struct hw_stamp {
    uint64_t length;     /* bytes of the data */
    uint64_t generation; /* generation of the segment that the put was made for */
    uint64_t sequence;   /* from 1; 0: the slot is empty */
} hw_stamp;

/* Returns the words of a slot for up to `size` bytes, rounded up to cache lines so that two senders share none; 0: too large
 * for size_t. */
size_t hw_slot_words(size_t size);
/* Writes data and stamp; stamp->length is at most the size that the slot was made for. One writer at a time. */
void hw_slot_write(hw_slot_word *slot, size_t words, const hw_stamp *stamp, const void *data);
/* Returns the sequence in the slot, whole or not: a hint for the reader. */
uint64_t hw_slot_sequence(const hw_slot_word *slot, size_t words);
/* Copies the data into `to`, which has `size` bytes, the size that the slot was made for. Returns false if the slot is empty
 * or torn; `to` is then undefined. Any number of readers at a time. */
bool hw_slot_read(const hw_slot_word *slot, size_t words, size_t size, hw_stamp *stamp, void *to);

#endif
