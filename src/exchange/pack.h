/*
 * pack.h - updates in fewer bytes where they leave the process, and back: not a bit of any number is lost.
 *
 * HW_PACKED   a head of 32 bytes, then the body: the values in as few bits as hold them all exactly; for a sparse update the
 *             gaps of its indices (codec/keys.h), the widths of all groups first; all of it through LZ4 where that pays.
 *
 * What pays is found by trying: whether all values fit fewer bits, and LZ4 on samples. docs/guarantees.md has the layout.
 */
#ifndef HW_EXCHANGE_PACK_H
#define HW_EXCHANGE_PACK_H

#include "exchange/encoding.h"

/* A packed copy of an update of a state of n entries; *packed = NULL when it would not be smaller by a sixteenth. */
hawser_status hw_pack(const hw_message *plain, size_t n, hw_message **packed, hawser_error *error) HAWSER_MUST_USE;

/* The plain form of a packed update from anywhere, checked as far as its packing goes (hw_payload_check does the rest). `what` opens
 * the error's text. The packed message stays the caller's. */
hawser_status hw_unpack(const hw_message *packed, size_t n, const char *what, hw_message **plain,
                        hawser_error *error) HAWSER_MUST_USE;

#endif
