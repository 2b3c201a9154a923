/* store_fuzz.h - any bytes as a request to a server of a store: the head field by field, in ranges where a fuzzer finds
 * something. */
#ifndef TESTS_STORE_FUZZ_H
#define TESTS_STORE_FUZZ_H

#include <stdlib.h>
#include <string.h>

#include "store/request.h"

enum { KEYS = 150, FIELDS = 16 };

static inline hw_message *message_of(const void *head, size_t head_size, const uint8_t *body, size_t size)
{
    hw_message *message = NULL;
    if (hw_message_new(head_size + size, &message, NULL) != HAWSER_OK)
        abort();
    if (head_size > 0)
        memcpy(message->payload, head, head_size);
    if (size > 0)
        memcpy((unsigned char *)message->payload + head_size, body, size);
    return message;
}

/* The fields begin the body; those that are not there are zero. */
static inline void take_fields(uint8_t fields[FIELDS], const uint8_t **body, size_t *size)
{
    size_t taken = *size < FIELDS ? *size : FIELDS;
    memset(fields, 0, FIELDS);
    memcpy(fields, *body, taken);
    *body += taken, *size -= taken;
}

/* Most keys that come as bits are those that the bits are. */
static inline void right_bits(hw_request_head *head, const uint8_t *body, size_t size, uint8_t how)
{
    size_t words = size / 8 < (KEYS + 63) / 64 ? size / 8 : (KEYS + 63) / 64;
    if (head->keys != HW_KEYS_BITS || words == 0 || how % 8 == 0)
        return;
    uint64_t last = 0, count = 0;
    for (uint64_t i = 0; i < 64 * words; i++)
        if (body[i / 8] >> i % 8 & 1)
            last = i, count++;
    head->last = head->first + last;
    head->count = count;
    head->key_bytes = (last / 64 + 1) * 8;
    head->value_bytes = size - head->key_bytes;
}

/* A head whose lengths are right for `size` bytes of keys and values, and whose other fields are near what they may be. */
static inline hw_request_head head_of(const uint8_t f[FIELDS], size_t size)
{
    size_t keys = f[0] % 64 < size ? f[0] % 64 : size;
    keys = (keys + 7) / 8 * 8 <= size ? keys : 0;
    return (hw_request_head){.operation = f[1] % 7,
                             .keys = f[2] % 6,
                             .values = f[3] % 7,
                             .table = f[4] % 6,
                             .list = f[5] % 5,
                             .worker = f[6] % 4,
                             .parts = f[15] % 3,
                             .clock = f[7] % 4,
                             .least = f[8] % 3,
                             .first = f[9] % (KEYS + 2),
                             .last = f[10] % (KEYS + 2),
                             .count = f[11],
                             .key_bytes = keys,
                             .value_bytes = size - (keys + 7) / 8 * 8};
}

#endif
