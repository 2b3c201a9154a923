/*
 * encoding.h - the layout of an update's payload.
 *
 * HW_DENSE   a run of consecutive entries: u64 number of the first, then `count` values. HW_SPARSE  `count` values, then
 * their `count` indices, strictly ascending: u32 if the state has fewer than 2^32 entries, else u64, which begin
 *            at a multiple of 8 bytes.
 * No entries: no payload. All little-endian. The envelope has the type of the values, 4 or 8 bytes each. Both keep every bit
 * of every value.
 */
#ifndef HW_EXCHANGE_ENCODING_H
#define HW_EXCHANGE_ENCODING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/type.h"
#include "codec/narrow.h"
#include "transport/transport.h"

/* The parts of a payload, which point into the message. index32 and index64 are NULL for a dense payload. */
typedef struct hw_payload {
    size_t count;
    size_t first; /* dense: number of the first entry */
    hawser_type type;
    const void *values;
    const uint32_t *index32;
    const uint64_t *index64;
} hw_payload;

/* The encoding that is chosen for some entries. */
typedef struct hw_packing {
    hw_encoding encoding;
    hawser_type type;
    size_t count; /* entries that the message carries */
    size_t bytes;
} hw_packing;

size_t hw_sparse_entry(hawser_type type, size_t n); /* bytes of an entry of a state of n: 8, 12 or 16 */
/* Returns the byte of a sparse payload at which its indices begin. */
size_t hw_indices_at(hawser_type type, size_t n, size_t count);
/* Returns the bytes of a payload of `count` entries of a state of n. */
size_t hw_payload_bytes(hw_encoding encoding, hawser_type type, size_t n, size_t count);
/* Chooses the smaller encoding for `count` entries of a state of n, which lie within `window` consecutive entries. */
hw_packing hw_choose_packing(hawser_type type, size_t n, size_t count, size_t window);
/* Large payloads for reuse once all receivers have released them: freeing them and taking new pages costs as much as writing
 * them, and leaves holes in the memory of threads. In step there are two, because a block may be one clock ahead of the
 * readers; else as many as are in flight. Zero-initialise. */
enum { HW_SPARES = 16 };
typedef struct hw_spares {
    hw_message *kept[HW_SPARES];
    unsigned next; /* which is given up if all are in flight */
} hw_spares;
void hw_spares_free(hw_spares *spares);

/* Makes a message for a packing, with the envelope's type, encoding, count and length; *values is the place for the values.
 * It has `room` more bytes behind the payload, which its length leaves out. spares may be NULL. */
hawser_status hw_packing_message(hw_packing packing, size_t first, size_t room, hw_spares *spares, hw_message **message,
                                 void **values, hawser_error *error) HAWSER_MUST_USE;
/* Stores the index of the value at `position` of a sparse message. */
void hw_packing_index(hw_message *message, size_t n, size_t position, size_t index);

/* Checks the lengths, ranges and order of an untrusted payload and finds its parts. `what` begins the error's text. */
hawser_status hw_payload_check(const hw_message *message, size_t n, const char *what, hw_payload *payload,
                               hawser_error *error) HAWSER_MUST_USE;
/* Finds the parts of a payload that has been checked. */
hw_payload hw_payload_of(const hw_message *message, size_t n);

static inline size_t hw_payload_index(const hw_payload *payload, size_t position)
{
    if (payload->index32 != NULL)
        return payload->index32[position];
    return payload->index64 != NULL ? (size_t)payload->index64[position] : payload->first + position;
}
/* Returns the first position whose index is >= `index`; count if there is none. */
size_t hw_payload_seek(const hw_payload *payload, size_t index);

#endif
