#include "transport/wire.h"

#include <endian.h>
#include <string.h>

#include "base/hash.h"
#include "hawser/matrix.h"

#define FRAME_MAGIC     UINT32_C(0x314d5748) /* "HWM1" */
#define HANDSHAKE_MAGIC UINT32_C(0x52535748) /* "HWSR" */

enum { CHECK_AT = 8 }; /* offset of the checksum in frames and handshake messages */

static unsigned char *put16(unsigned char *to, uint16_t value)
{
    value = htole16(value);
    memcpy(to, &value, sizeof value);
    return to + sizeof value;
}

static unsigned char *put32(unsigned char *to, uint32_t value)
{
    value = htole32(value);
    memcpy(to, &value, sizeof value);
    return to + sizeof value;
}

static unsigned char *put64(unsigned char *to, uint64_t value)
{
    value = htole64(value);
    memcpy(to, &value, sizeof value);
    return to + sizeof value;
}

static uint16_t get16(const unsigned char **from)
{
    uint16_t value;
    memcpy(&value, *from, sizeof value);
    *from += sizeof value;
    return le16toh(value);
}

static uint32_t get32(const unsigned char **from)
{
    uint32_t value;
    memcpy(&value, *from, sizeof value);
    *from += sizeof value;
    return le32toh(value);
}

static uint64_t get64(const unsigned char **from)
{
    uint64_t value;
    memcpy(&value, *from, sizeof value);
    *from += sizeof value;
    return le64toh(value);
}

/* Returns the checksum of everything except the four bytes that hold it. */
static uint32_t check_sum(const unsigned char *at, size_t size)
{
    uint64_t digest = hw_hash(at, CHECK_AT, size);
    return (uint32_t)hw_hash(at + CHECK_AT + 4, size - CHECK_AT - 4, digest);
}

size_t hw_frame_pack(unsigned char *to, const hw_frame *frame)
{
    unsigned char *at = put32(to, FRAME_MAGIC);
    *at++ = (unsigned char)frame->type;
    *at++ = frame->flags;
    at = put16(at, HW_WIRE_VERSION);
    at = put32(at, 0);
    at = put32(at, frame->origin);
    at = put64(at, frame->chunk);
    if (frame->type == HW_FRAME_BEGIN) {
        const hw_envelope *e = &frame->envelope;
        *at++ = e->kind;
        *at++ = e->type;
        *at++ = e->form;
        *at++ = e->encoding;
        at = put32(at, e->source);
        at = put32(at, e->destination);
        at = put32(at, e->session);
        at = put32(at, e->incarnation);
        at = put32(at, e->view);
        at = put32(at, e->state);
        at = put32(at, e->loop);
        at = put64(at, e->epoch);
        at = put64(at, e->clock);
        at = put32(at, e->part);
        at = put32(at, e->last);
        at = put32(at, e->span);
        at = put32(at, e->first);
        at = put32(at, e->covers);
        at = put32(at, e->range);
        at = put64(at, e->sequence);
        at = put64(at, e->count);
        at = put64(at, e->length);
        at = put64(at, e->checksum);
    }
    size_t size = (size_t)(at - to);
    put32(to + CHECK_AT, check_sum(to, size));
    return size;
}

size_t hw_frame_size(const unsigned char *from)
{
    return from[4] == HW_FRAME_BEGIN ? HW_FRAME_MESSAGE : HW_FRAME_HEAD;
}

static const char *unpack_envelope(const unsigned char *at, hw_envelope *e, uint64_t chunk)
{
    e->kind = *at++;
    e->type = *at++;
    e->form = *at++;
    e->encoding = *at++;
    e->source = get32(&at);
    e->destination = get32(&at);
    e->session = get32(&at);
    e->incarnation = get32(&at);
    e->view = get32(&at);
    e->state = get32(&at);
    e->loop = get32(&at);
    e->epoch = get64(&at);
    e->clock = get64(&at);
    e->part = get32(&at);
    e->last = get32(&at);
    e->span = get32(&at);
    e->first = get32(&at);
    e->covers = get32(&at);
    e->range = get32(&at);
    e->sequence = get64(&at);
    e->count = get64(&at);
    e->length = get64(&at);
    e->checksum = get64(&at);
    if (e->kind < HW_MESSAGE_TRIGGER || e->kind >= HW_MESSAGE_KINDS)
        return "it sent a message of an unknown kind";
    if (e->type > HAWSER_I32)
        return "it sent a message with numbers of an unknown type";
    if (e->length > HW_WIRE_PAYLOAD_MOST)
        return "it sent a message that is longer than the limit";
    if (chunk > e->length || (chunk == 0 && e->length > 0))
        return "it sent a message whose lengths contradict each other";
    return NULL;
}

bool hw_frame_unpack(const unsigned char *from, hw_frame *frame, const char **why)
{
    *why = "it sent bytes that are not a frame";
    *frame = (hw_frame){0};
    const unsigned char *at = from;
    if (get32(&at) != FRAME_MAGIC)
        return false;
    unsigned type = *at++;
    frame->flags = *at++;
    uint16_t version = get16(&at);
    uint32_t check = get32(&at);
    frame->origin = get32(&at);
    frame->chunk = get64(&at);
    if (version != HW_WIRE_VERSION || type < HW_FRAME_BEGIN || type > HW_FRAME_GOODBYE)
        return false;
    *why = "it sent a frame that was damaged in transit";
    frame->type = (hw_frame_type)type;
    if (check != check_sum(from, hw_frame_size(from)))
        return false;
    *why = NULL;
    if (type == HW_FRAME_BEGIN)
        *why = unpack_envelope(at, &frame->envelope, frame->chunk);
    else if (type == HW_FRAME_MORE ? frame->chunk == 0 : frame->chunk != 0)
        *why = "it sent a frame with an impossible length";
    if (*why == NULL && (frame->flags & ~HW_FRAME_SPREAD) != 0)
        *why = "it sent a frame with unknown flags";
    return *why == NULL;
}

static unsigned char *put_text(unsigned char *to, const char *text)
{
    size_t length = strlen(text);
    to = put16(to, (uint16_t)length);
    memcpy(to, text, length);
    return to + length;
}

size_t hw_handshake_seal(unsigned char *to, hw_handshake_type type, size_t length)
{
    size_t size = HW_HANDSHAKE_HEAD + length;
    unsigned char *at = put32(to, HANDSHAKE_MAGIC);
    at = put16(at, HW_WIRE_VERSION);
    at = put16(at, (uint16_t)type);
    at = put32(at, 0);
    put32(at, (uint32_t)length);
    put32(to + CHECK_AT, check_sum(to, size));
    return size;
}

size_t hw_hello_pack(unsigned char *to, const hw_handshake_hello *hello)
{
    unsigned char *at = put_text(to + HW_HANDSHAKE_HEAD, hello->build);
    at = put_text(at, hello->job);
    at = put_text(at, hello->peer.name);
    at = put_text(at, hello->peer.address);
    at = put32(at, hello->peer.node);
    at = put64(at, hello->peer.incarnation);
    at = put32(at, hello->flags);
    at = put32(at, hello->failure_timeout);
    memcpy(at, hello->nonce, HW_WIRE_NONCE);
    at = put32(at + HW_WIRE_NONCE, hello->fabric_size);
    memcpy(at, hello->fabric, hello->fabric_size);
    return hw_handshake_seal(to, HW_HANDSHAKE_HELLO, (size_t)(at + hello->fabric_size - to) - HW_HANDSHAKE_HEAD);
}

size_t hw_proof_pack(unsigned char *to, const unsigned char mac[HW_WIRE_MAC])
{
    memcpy(to + HW_HANDSHAKE_HEAD, mac, HW_WIRE_MAC);
    return hw_handshake_seal(to, HW_HANDSHAKE_PROOF, HW_WIRE_MAC);
}

size_t hw_handshake_reply_pack(unsigned char *to, const hw_handshake_reply *reply)
{
    unsigned char *at = put32(to + HW_HANDSHAKE_HEAD, reply->accepted ? 1u + reply->shares : reply->later ? 3u : 0u);
    at = put32(at, reply->number);
    at = put_text(at, reply->reason);
    memcpy(at, reply->mac, HW_WIRE_MAC);
    return hw_handshake_seal(to, HW_HANDSHAKE_REPLY, (size_t)(at + HW_WIRE_MAC - to) - HW_HANDSHAKE_HEAD);
}

bool hw_handshake_head_unpack(const unsigned char *from, hw_handshake_head *head, const char **why)
{
    const unsigned char *at = from;
    *why = "it does not speak Hawser's protocol";
    if (get32(&at) != HANDSHAKE_MAGIC)
        return false;
    head->version = get16(&at);
    head->type = get16(&at);
    at += 4;
    head->length = get32(&at);
    *why = "its handshake message is too long";
    return head->length <= HW_HANDSHAKE_BODY;
}

bool hw_handshake_sound(const unsigned char *message, const hw_handshake_head *head)
{
    const unsigned char *at = message + CHECK_AT;
    return get32(&at) == check_sum(message, HW_HANDSHAKE_HEAD + (size_t)head->length);
}

typedef struct reader {
    const unsigned char *at, *end;
    bool sound;
} reader;

static void get_text(reader *in, char *to, size_t size)
{
    to[0] = '\0';
    if (!in->sound || in->end - in->at < 2)
        goto unsound;
    size_t length = get16(&in->at);
    if (length >= size || length > (size_t)(in->end - in->at))
        goto unsound;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = in->at[i];
        to[i] = c < ' ' || c == 0x7f ? '?' : (char)c; /* it is printed on terminals */
    }
    to[length] = '\0';
    in->at += length;
    return;
unsound:
    in->sound = false;
}

bool hw_hello_unpack(const unsigned char *body, size_t length, hw_handshake_hello *hello)
{
    *hello = (hw_handshake_hello){0};
    reader in = {body, body + length, true};
    get_text(&in, hello->build, sizeof hello->build);
    get_text(&in, hello->job, sizeof hello->job);
    get_text(&in, hello->peer.name, sizeof hello->peer.name);
    get_text(&in, hello->peer.address, sizeof hello->peer.address);
    if (!in.sound || in.end - in.at < 24 + HW_WIRE_NONCE)
        return false;
    hello->peer.node = get32(&in.at);
    hello->peer.incarnation = get64(&in.at);
    hello->flags = get32(&in.at);
    hello->failure_timeout = get32(&in.at);
    memcpy(hello->nonce, in.at, HW_WIRE_NONCE);
    in.at += HW_WIRE_NONCE;
    uint32_t size = get32(&in.at);
    if (size > HW_WIRE_FABRIC || in.end - in.at != (ptrdiff_t)size)
        return false;
    hello->fabric_size = size;
    memcpy(hello->fabric, in.at, size);
    return true;
}

bool hw_proof_unpack(const unsigned char *body, size_t length, unsigned char mac[HW_WIRE_MAC])
{
    if (length != HW_WIRE_MAC)
        return false;
    memcpy(mac, body, HW_WIRE_MAC);
    return true;
}

bool hw_handshake_reply_unpack(const unsigned char *body, size_t length, hw_handshake_reply *reply)
{
    *reply = (hw_handshake_reply){0};
    reader in = {body, body + length, length >= 8};
    if (!in.sound)
        return false;
    uint32_t result = get32(&in.at);
    reply->accepted = result == 1 || result == 2;
    reply->shares = result == 2;
    reply->later = result == 3;
    reply->number = get32(&in.at);
    get_text(&in, reply->reason, sizeof reply->reason);
    if (!in.sound || result > 3 || in.end - in.at != HW_WIRE_MAC)
        return false;
    memcpy(reply->mac, in.at, HW_WIRE_MAC);
    return true;
}
