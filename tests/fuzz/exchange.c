/* Feeds a replica and the decoder with arbitrary messages. No access may be out of bounds, and every rejected message must
 * have a reason.
 *
 * Input: a byte that chooses the replica's form and policy, a byte that chooses the blocks that add up, then messages: 16
 * bytes of envelope, a length, the payload. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exchange/exchange.h"
#include "exchange/pack.h"

#include "../unit/exchange_payload.h"

enum { ENTRIES = 520, HEAD = 16 }; /* two tiles, so that there are ranges */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static hw_replica *open_replica(uint8_t choice, uint8_t shape, hw_adding **adding)
{
    static uint32_t homes[][3] = {{0, 0, 1}, {0, 1, 0}, {0, 1, 2}};
    const hw_view view = {HW_VIEW_FIRST, 3, shape % 4 < 2 ? 2 : 3,
                          homes[shape % 4 % 3]}; /* adding by blocks does not look at it */
    hw_replica *replica = NULL;
    hw_replica_spec spec = {.name = "fuzzed", .count = ENTRIES, .blocks = 3, .sources = choice & 4 ? 1 : 3, .source = 1};
    spec.rule = (hawser_rule){.damping = 0.5, .gain = choice & 8 ? 2 : 1};
    spec.values = (choice & 16) != 0 && (choice & 4) == 0;
    spec.own_end = spec.values ? 8 : 0;
    if (choice & 32)
        spec.filter = (hw_filter){HW_FILTER_ABSOLUTE, 30, 2};
    if (choice & 64)
        spec.rounding = choice & 128 ? HW_INT8 : HW_BF16;
    spec.block = shape / 32 % 3;
    *adding = NULL;
    hw_adding_shape how = {(hw_adding_kind)(shape / 4 % 4), 2};
    if (shape % 4 < 3 && spec.sources == 3 && !spec.values &&
        hw_adding_new(how, &view, spec.block, 0, ENTRIES, adding, NULL) != HAWSER_OK)
        abort();
    spec.adding = *adding;
    if (hw_replica_new(&spec, &replica, NULL) != HAWSER_OK)
        abort();
    hw_replica_begin(replica, 1, (hw_policy){(hw_policy_kind)(choice % 3), 1});
    return replica;
}

/* The envelope's fields each from one byte, so that the fuzzer finds sound ones quickly. */
static hw_message *next_message(const uint8_t **data, size_t *size)
{
    hw_message *message;
    const uint8_t *head = *data;
    if (*size < HEAD + 1)
        return NULL;
    size_t length = head[HEAD];
    static const uint16_t kinds[] = {HW_MESSAGE_ADDEND, HW_MESSAGE_UPDATE, HW_MESSAGE_COMBINED};
    *data += HEAD + 1;
    *size -= HEAD + 1;
    length = length < *size ? length : *size;
    if (hw_message_new(length, &message, NULL) != HAWSER_OK)
        abort();
    if (length > 0)
        memcpy(message->payload, *data, length);
    *data += length;
    *size -= length;
    hw_envelope *envelope = &message->envelope;
    envelope->kind = head[0] < 192 ? kinds[head[0] % 3] : head[0];
    envelope->form = head[1];
    envelope->encoding = head[2];
    envelope->source = head[3];
    envelope->state = head[4];
    envelope->epoch = head[5];
    envelope->clock = head[6];
    envelope->part = head[7];
    envelope->last = head[8];
    envelope->span = head[12] == 255 ? UINT32_MAX : head[12] & 3;
    envelope->first = head[13];
    envelope->covers = head[14];
    envelope->range = head[15] & 3;
    envelope->count = head[9] == 255 ? UINT64_MAX / 8 + head[10] : head[9];
    envelope->length = head[11] == 255 ? UINT64_MAX - head[10] : length + (head[11] == 254);
    if (envelope->kind == HW_MESSAGE_COMBINED) /* its list is found from the end, which transports check */
        envelope->length = length;
    return message;
}

static void drop_next(hw_replica *replica)
{
    hw_message *message;
    while ((message = hw_replica_next(replica)) != NULL)
        hw_message_free(message);
}

/* A step of the own block's life between two messages, when the message's tail says so. */
static void live(hw_replica *replica, uint64_t *clock, uint8_t what)
{
    hw_message *message = NULL;
    if (what & 1)
        cache_of(replica)[what % 8] += 1;
    if ((what & 32) && hw_replica_defer(replica, *clock, what & 4, 3)) {
        *clock += (what & 4) != 0;
        return;
    }
    if ((what & 2) && hw_replica_cut(replica, *clock, what & 4, what & 8, &message, NULL) == HAWSER_OK)
        *clock += (what & 4) != 0;
    hw_message_free(message);
    if ((what & 64) && hw_replica_send_waiting(replica, NULL, NULL, NULL) != HAWSER_OK)
        abort();
    drop_next(replica);
    if ((what & 16) && hw_admit_read((hw_policy){HW_POLICY_BSP, 0}, hw_replica_clocks(replica), *clock) &&
        hw_replica_merge(replica, *clock, NULL) != HAWSER_OK)
        return;
}

/* What unpacks packs again to something that unpacks to the same. */
static void repack(const hw_message *message)
{
    hw_message *plain, *packed, *again;
    hawser_error error = {0};
    if (hw_unpack(message, ENTRIES, "fuzzed", &plain, &error) != HAWSER_OK) {
        if (error.text[0] == '\0')
            abort();
        return;
    }
    hw_payload payload;
    if (hw_payload_check(plain, ENTRIES, "fuzzed", &payload, &error) != HAWSER_OK)
        abort();
    if (hw_pack(plain, ENTRIES, &packed, &error) != HAWSER_OK)
        abort();
    if (packed != NULL) {
        if (hw_unpack(packed, ENTRIES, "packed again", &again, &error) != HAWSER_OK)
            abort();
        if (again->envelope.length != plain->envelope.length ||
            memcmp(again->payload, plain->payload, plain->envelope.length) != 0)
            abort();
        hw_message_free(again);
    }
    hw_message_free(packed);
    hw_message_free(plain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    hw_adding *adding;
    hw_replica *replica = open_replica(data[0], data[1], &adding);
    hw_message *message;
    uint64_t clock = 0;
    data += 2;
    size -= 2;
    while ((message = next_message(&data, &size)) != NULL) {
        double out[ENTRIES] = {0};
        hawser_error error = {0};
        uint8_t what = (uint8_t)(message->envelope.part >> 1 ^ message->envelope.epoch << 3);
        if (decode(message, 1, ENTRIES, out, &error) != HAWSER_OK && error.text[0] == '\0')
            abort();
        repack(message);
        error.text[0] = '\0';
        if (hw_replica_accept(replica, message, &error) != HAWSER_OK && error.text[0] == '\0')
            abort();
        drop_next(replica);
        live(replica, &clock, what);
        for (size_t i = 0; i < ENTRIES; i++)
            if (isnan(base_of(replica)[i]))
                abort();
    }
    hw_replica_free(replica);
    hw_adding_free(adding);
    return 0;
}
