/*
 * pack.h - lossless compression of updates that leave the process.
 *
 * HW_PACKED   a head of 32 bytes, then the body: the values in as few bits as hold them all exactly; for a sparse update the
 *             gaps of its indices (codec/keys.h), the widths of all groups first; all of it compressed by LZ4 if that pays.
 *
 * Trials decide what pays: whether all values fit fewer bits, and LZ4 on samples. docs/guarantees.md has the layout.
 */
#ifndef HW_EXCHANGE_PACK_H
#define HW_EXCHANGE_PACK_H

#include "exchange/encoding.h"

/* Makes a packed copy of an update of a state of n entries. *packed is NULL if the copy would not be smaller by a
 * sixteenth. */
hawser_status hw_pack(const hw_message *plain, size_t n, hw_message **packed, hawser_error *error) HAWSER_MUST_USE;

/* Makes the plain copy of an untrusted packed update. It checks the packing; hw_payload_check does the rest. `what` begins
 * the error's text. The caller keeps the packed message. */
hawser_status hw_unpack(const hw_message *packed, size_t n, const char *what, hw_message **plain,
                        hawser_error *error) HAWSER_MUST_USE;

/* Returns the payload bytes of an update of a state of n entries before it was packed. A packed one must be from hw_pack. */
size_t hw_plain_bytes(const hw_message *message, size_t n);

#endif
