/*
 * encoding.h - what an update's payload looks like inside.
 *
 * HW_DENSE   a run of consecutive entries: u64 number of the first, then `count` doubles.
 * HW_SPARSE  `count` doubles, then their `count` indices, strictly ascending: u32 where the state has at most 2^32 entries, else u64.
 * No entries: no payload. All little-endian. Both keep every bit of every double.
 */
#ifndef HW_EXCHANGE_ENCODING_H
#define HW_EXCHANGE_ENCODING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/narrow.h"
#include "transport/transport.h"

/* A payload taken apart; points into the message. index32 and index64 are NULL for a dense one. */
typedef struct hw_payload {
    size_t count;
    size_t first; /* dense: number of the first entry */
    const double *values;
    const uint32_t *index32;
    const uint64_t *index64;
} hw_payload;

/* The choice for `count` entries that lie in a window of `window` consecutive ones. */
typedef struct hw_packing {
    hw_encoding encoding;
    size_t count; /* entries that the message carries */
    size_t bytes;
} hw_packing;

size_t hw_sparse_entry(size_t n); /* bytes of an entry of a state of n: 12 or 16 */
hw_packing hw_choose_packing(size_t n, size_t count, size_t window);
/* Large payloads that receivers have let go of, to be filled again: giving them back to the system and taking new pages costs as
 * much as writing them. Two, since a block may be one clock ahead of those who read. Zero-initialise. */
typedef struct hw_spares {
    hw_message *kept[2];
    size_t capacity[2];
    unsigned next;
} hw_spares;
void hw_spares_free(hw_spares *spares);

/* A message for a packing, envelope's encoding, count and length filled; *values where the doubles go. spares may be NULL. */
hawser_status hw_packing_message(hw_packing packing, size_t first, hw_spares *spares, hw_message **message, double **values,
                                 hawser_error *error) HAWSER_MUST_USE;
void hw_packing_index(hw_message *message, size_t n, size_t position, size_t index);

/* Takes apart a payload from anywhere: lengths, ranges, order and finiteness are checked. `what` opens the error's text. */
hawser_status hw_payload_check(const hw_message *message, size_t n, const char *what, hw_payload *payload,
                               hawser_error *error) HAWSER_MUST_USE;
/* The same for a message that has been checked. */
hw_payload hw_payload_of(const hw_message *message, size_t n);

static inline size_t hw_payload_index(const hw_payload *payload, size_t position)
{
    if (payload->index32 != NULL)
        return payload->index32[position];
    return payload->index64 != NULL ? (size_t)payload->index64[position] : payload->first + position;
}
/* First position whose index is >= index; count when there is none. */
size_t hw_payload_seek(const hw_payload *payload, size_t index);

#endif
