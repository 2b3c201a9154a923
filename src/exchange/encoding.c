#include "exchange/encoding.h"

#include <string.h>

#include "exchange/exchange.h"
#include "transport/pool.h"

size_t hw_sparse_entry(hawser_type type, size_t n)
{
    return hw_type_size(type) + (n > UINT32_MAX ? sizeof(uint64_t) : sizeof(uint32_t));
}

size_t hw_indices_at(hawser_type type, size_t n, size_t count)
{
    size_t bytes = count * hw_type_size(type), unit = sizeof(uint64_t);
    return n > UINT32_MAX ? (bytes + unit - 1) / unit * unit : bytes;
}

size_t hw_payload_bytes(hw_encoding encoding, hawser_type type, size_t n, size_t count)
{
    if (count == 0)
        return 0;
    if (encoding == HW_DENSE)
        return sizeof(uint64_t) + count * hw_type_size(type);
    return hw_indices_at(type, n, count) + count * (n > UINT32_MAX ? sizeof(uint64_t) : sizeof(uint32_t));
}

hw_packing hw_choose_packing(hawser_type type, size_t n, size_t count, size_t window)
{
    size_t sparse = hw_payload_bytes(HW_SPARSE, type, n, count);
    size_t dense = hw_payload_bytes(HW_DENSE, type, n, window);
    if (count == 0)
        return (hw_packing){HW_DENSE, type, 0, 0};
    return dense <= sparse ? (hw_packing){HW_DENSE, type, window, dense} : (hw_packing){HW_SPARSE, type, count, sparse};
}

void hw_spares_free(hw_spares *spares)
{
    for (int i = 0; i < HW_SPARES; i++)
        hw_message_free(spares->kept[i]);
    *spares = (hw_spares){0};
}

/* Returns the place of a kept payload that all receivers have released and that fits; HW_SPARES if there is none. *place is
 * then where a new one should be kept: instead of a released one that does not fit, or at an empty place, or instead of one
 * in flight. */
static unsigned find_spare(const hw_spares *spares, size_t bytes, unsigned *place)
{
    unsigned empty = HW_SPARES, unfit = HW_SPARES;
    for (unsigned i = 0; i < HW_SPARES; i++) {
        const hw_message *kept = spares->kept[i];
        if (kept == NULL)
            empty = i < empty ? i : empty;
        else if (atomic_load_explicit(kept->shared, memory_order_acquire) == 1) {
            const size_t capacity = hw_message_capacity(kept);
            if (capacity >= bytes && capacity / 4 <= bytes)
                return i;
            unfit = i;
        }
    }
    *place = unfit < HW_SPARES ? unfit : empty < HW_SPARES ? empty : spares->next;
    return HW_SPARES;
}

/* Makes a message over a kept payload that all receivers have released, or else over a new payload, which it keeps too. */
static hawser_status spare_or_new(hw_spares *spares, size_t bytes, hw_message **message, hawser_error *error)
{
    enum { WORTH_KEEPING = 1 << 16 };
    if (spares == NULL || bytes < WORTH_KEEPING)
        return hw_message_new(bytes, message, error);
    unsigned place = 0, found = find_spare(spares, bytes, &place);
    if (found < HW_SPARES) {
        HAWSER_TRY(hw_message_share(spares->kept[found], message, error));
        (*message)->envelope = (hw_envelope){.length = bytes};
        return HAWSER_OK;
    }
    hw_message_free(spares->kept[place]);
    spares->kept[place] = NULL;
    spares->next = (place + 1) % HW_SPARES;
    HAWSER_TRY(hw_message_new(bytes, message, error));
    if (hw_message_share(*message, &spares->kept[place], NULL) != HAWSER_OK) /* a spare only saves time */
        spares->kept[place] = NULL;
    return HAWSER_OK;
}

hawser_status hw_packing_message(hw_packing packing, size_t first, size_t room, hw_spares *spares, hw_message **message,
                                 void **values, hawser_error *error)
{
    *values = NULL;
    HAWSER_TRY(spare_or_new(spares, packing.bytes + room, message, error));
    hw_envelope *envelope = &(*message)->envelope;
    envelope->kind = HW_MESSAGE_UPDATE;
    envelope->type = (uint8_t)packing.type;
    envelope->form = HW_FORM_DELTA;
    envelope->encoding = (uint8_t)packing.encoding;
    envelope->count = packing.count;
    envelope->length = packing.bytes;
    if (packing.count == 0)
        return HAWSER_OK;
    if (packing.encoding == HW_DENSE) {
        *(uint64_t *)(*message)->payload = first;
        *values = (uint64_t *)(*message)->payload + 1;
    } else {
        *values = (*message)->payload;
    }
    return HAWSER_OK;
}

void hw_packing_index(hw_message *message, size_t n, size_t position, size_t index)
{
    const hw_envelope *envelope = &message->envelope;
    char *after = (char *)message->payload + hw_indices_at((hawser_type)envelope->type, n, (size_t)envelope->count);
    if (n > UINT32_MAX)
        ((uint64_t *)(void *)after)[position] = index;
    else
        ((uint32_t *)(void *)after)[position] = (uint32_t)index;
}

hw_payload hw_payload_of(const hw_message *message, size_t n)
{
    hw_payload payload = {.count = (size_t)message->envelope.count, .type = (hawser_type)message->envelope.type};
    if (payload.count == 0)
        return payload;
    if (message->envelope.encoding == HW_DENSE) {
        payload.first = (size_t) * (const uint64_t *)message->payload;
        payload.values = (const uint64_t *)message->payload + 1;
        return payload;
    }
    payload.values = message->payload;
    const void *after = (const char *)message->payload + hw_indices_at(payload.type, n, payload.count);
    if (n > UINT32_MAX)
        payload.index64 = after;
    else
        payload.index32 = after;
    return payload;
}

size_t hw_payload_seek(const hw_payload *payload, size_t index)
{
    size_t low = 0, high = payload->count;
    if (payload->index32 == NULL && payload->index64 == NULL) {
        size_t skip = index > payload->first ? index - payload->first : 0;
        return skip < payload->count ? skip : payload->count;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (hw_payload_index(payload, middle) < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static hawser_status check_lengths(const hw_message *message, size_t n, const char *what, hawser_error *error)
{
    const hw_envelope *envelope = &message->envelope;
    if (envelope->encoding != HW_DENSE && envelope->encoding != HW_SPARSE)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s has unknown encoding %u", what, envelope->encoding);
    if (envelope->type > HAWSER_I32)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s has numbers of unknown type %u", what, envelope->type);
    if (envelope->count > n)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s claims %llu entries of a state of %zu", what,
                           (unsigned long long)envelope->count, n);
    size_t count = (size_t)envelope->count;
    size_t needed = hw_payload_bytes((hw_encoding)envelope->encoding, (hawser_type)envelope->type, n, count);
    if (envelope->length != needed || (needed > 0 && message->payload == NULL))
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s has %llu payload bytes where its %zu entries need %zu", what,
                           (unsigned long long)envelope->length, count, needed);
    return HAWSER_OK;
}

static hawser_status check_indices(const hw_payload *payload, size_t n, const char *what, hawser_error *error)
{
    if (payload->index32 == NULL && payload->index64 == NULL) {
        if (payload->first > n - payload->count)
            return hawser_fail(error, HAWSER_BAD_INPUT, "%s has entries %zu to %zu of a state of %zu", what, payload->first,
                               payload->first + payload->count - 1, n);
        return HAWSER_OK;
    }
    for (size_t i = 0; i < payload->count; i++) {
        size_t index = hw_payload_index(payload, i);
        if (index >= n || (i > 0 && index <= hw_payload_index(payload, i - 1)))
            return hawser_fail(error, HAWSER_BAD_INPUT, "%s has index %zu at position %zu: out of range or out of order",
                               what, index, i);
    }
    return HAWSER_OK;
}

hawser_status hw_payload_check(const hw_message *message, size_t n, const char *what, hw_payload *payload,
                               hawser_error *error)
{
    *payload = (hw_payload){0};
    HAWSER_TRY(check_lengths(message, n, what, error));
    hw_payload taken = hw_payload_of(message, n);
    HAWSER_TRY(check_indices(&taken, n, what, error));
    *payload = taken;
    return HAWSER_OK;
}

/* Returns true if all bits of an entry are zero. */
static bool is_empty(const char *values, size_t size, size_t i)
{
    static const char zeros[sizeof(double)];
    return memcmp(values + i * size, zeros, size) == 0;
}

/* Returns how many entries have a bit that is not zero. */
static size_t count_filled(const char *values, size_t size, size_t begin, size_t end)
{
    size_t count = 0;
    uint64_t wide;
    uint32_t narrow;
    for (size_t i = begin; size == sizeof wide && i < end; i++) {
        memcpy(&wide, values + i * sizeof wide, sizeof wide);
        count += wide != 0;
    }
    for (size_t i = begin; size == sizeof narrow && i < end; i++) {
        memcpy(&narrow, values + i * sizeof narrow, sizeof narrow);
        count += narrow != 0;
    }
    return count;
}

hawser_status hw_encode_range(hawser_type type, const void *state, size_t begin, size_t end, size_t n, hw_spares *spares,
                              hw_message **message, hawser_error *error)
{
    return hw_encode_range_before(type, state, begin, end, n, 0, spares, message, error);
}

hawser_status hw_encode_range_before(hawser_type type, const void *state, size_t begin, size_t end, size_t n, size_t room,
                                     hw_spares *spares, hw_message **message, hawser_error *error)
{
    size_t first = begin, last = end, size = hw_type_size(type);
    const char *values = state;
    *message = NULL;
    size_t count = count_filled(values, size, begin, end);
    while (count > 0 && is_empty(values, size, first))
        first++;
    while (count > 0 && is_empty(values, size, last - 1))
        last--;
    hw_packing packing = hw_choose_packing(type, n, count, count > 0 ? last - first : 0);
    void *out;
    HAWSER_TRY(hw_packing_message(packing, first, room, spares, message, &out, error));
    if (packing.count > 0 && packing.encoding == HW_DENSE) {
        memcpy(out, values + first * size, packing.count * size);
        return HAWSER_OK;
    }
    for (size_t i = first, position = 0; position < packing.count; i++) {
        if (is_empty(values, size, i))
            continue;
        memcpy((char *)out + position * size, values + i * size, size);
        hw_packing_index(*message, n, position++, i);
    }
    return HAWSER_OK;
}

hawser_status hw_encode_slice(const hw_message *from, size_t begin, size_t end, size_t n, size_t room, hw_spares *spares,
                              hw_message **message, hawser_error *error)
{
    hw_payload payload = hw_payload_of(from, n);
    size_t first = hw_payload_seek(&payload, begin), count = hw_payload_seek(&payload, end) - first;
    hw_encoding encoding = (hw_encoding)from->envelope.encoding;
    size_t size = hw_type_size(payload.type);
    hw_packing packing = {encoding, payload.type, count, hw_payload_bytes(encoding, payload.type, n, count)};
    void *out;
    HAWSER_TRY(
        hw_packing_message(packing, count > 0 ? hw_payload_index(&payload, first) : 0, room, spares, message, &out, error));
    if (count > 0)
        memcpy(out, (const char *)payload.values + first * size, count * size);
    for (size_t i = 0; encoding == HW_SPARSE && i < count; i++)
        hw_packing_index(*message, n, i, hw_payload_index(&payload, first + i));
    return HAWSER_OK;
}
