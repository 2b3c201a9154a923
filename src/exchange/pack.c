#include "exchange/pack.h"

#include <lz4.h>
#include <string.h>

#include "base/memory.h"
#include "codec/keys.h"
#include "codec/narrow.h"

enum {
    SMALLEST = 64,     /* payload bytes below which no update is packed */
    SAMPLE = 4096,     /* bytes of a sample for LZ4 */
    LZ4_LEAST = 512,   /* bytes of a body below which LZ4 is not tried */
    LZ4_MOST = 1 << 30 /* and above */
};

/* Head of a packed payload; the body follows. */
typedef struct pack_head {
    uint8_t sparse, width, compressed, unused[5];
    uint64_t first;  /* number of the first entry */
    uint64_t raw;    /* bytes of the body before LZ4 */
    uint64_t scales; /* of 8-bit values: one for each tile that has entries here */
} pack_head;

static size_t value_bytes(hw_width width)
{
    static const size_t bytes[] = {8, 4, 2, 2, 1};
    return bytes[width];
}

/* -------------------------------------------------------------------------------------------------- integers ---- */

/* An integer is sent in the 8, 4, 2 or 1 bytes of a width, in two's complement. */
static bool is_whole(hawser_type type)
{
    return type == HAWSER_I64 || type == HAWSER_I32;
}

static int64_t whole_at(const void *values, hawser_type type, size_t i)
{
    return type == HAWSER_I64 ? ((const int64_t *)values)[i] : ((const int32_t *)values)[i];
}

static hw_width choose_whole_width(const hw_payload *payload)
{
    int64_t least = 0, most = 0;
    for (size_t i = 0; i < payload->count; i++) {
        int64_t value = whole_at(payload->values, payload->type, i);
        least = value < least ? value : least;
        most = value > most ? value : most;
    }
    if (least >= INT8_MIN && most <= INT8_MAX)
        return HW_INT8;
    if (least >= INT16_MIN && most <= INT16_MAX)
        return HW_BF16;
    return least >= INT32_MIN && most <= INT32_MAX ? HW_F32 : HW_F64;
}

static unsigned char *write_whole(const hw_payload *payload, hw_width width, unsigned char *out)
{
    size_t bytes = value_bytes(width);
    for (size_t i = 0; i < payload->count; i++) {
        int64_t value = whole_at(payload->values, payload->type, i);
        memcpy(out + i * bytes, &value, bytes); /* the low bytes, because numbers are little-endian */
    }
    return out + payload->count * bytes;
}

static void read_whole(hw_width width, const unsigned char *at, hawser_type type, void *values, size_t count)
{
    size_t bytes = value_bytes(width);
    for (size_t i = 0; i < count; i++) {
        bool negative = (at[(i + 1) * bytes - 1] & 0x80) != 0;
        int64_t value = negative ? -1 : 0;
        memcpy(&value, at + i * bytes, bytes);
        if (type == HAWSER_I64)
            ((int64_t *)values)[i] = value;
        else
            ((int32_t *)values)[i] = (int32_t)value;
    }
}

/* ---------------------------------------------------------------------------------------------------- values ---- */

/* Returns `run` entries from `begin` on as doubles, which f32 has in `space`: at most HW_TILE. Every f32 is a double, so
 * that both types are packed alike. */
static const double *doubles_of(const hw_payload *payload, size_t begin, size_t run, double space[HW_TILE])
{
    if (payload->type != HAWSER_F32)
        return (const double *)payload->values + begin;
    for (size_t k = 0; k < run; k++)
        space[k] = (double)((const float *)payload->values)[begin + k];
    return space;
}

/* Returns how many entries from `begin` on are converted at a time. */
static size_t step_of(size_t begin, size_t count)
{
    return count - begin < HW_TILE ? count - begin : HW_TILE;
}

/* Returns how many entries from `begin` on lie in one tile. */
static size_t tile_run(const hw_payload *payload, size_t begin)
{
    size_t tile = hw_payload_index(payload, begin) / HW_TILE, end = begin + 1;
    if (payload->index32 == NULL && payload->index64 == NULL) {
        end = (tile + 1) * HW_TILE - payload->first;
        return (end < payload->count ? end : payload->count) - begin;
    }
    while (end < payload->count && hw_payload_index(payload, end) / HW_TILE == tile)
        end++;
    return end - begin;
}

/* Returns true if all values fit 8 bits exactly, with *scales scales. */
static bool fits_int8(const hw_payload *payload, size_t *scales)
{
    double space[HW_TILE];
    *scales = 0;
    for (size_t i = 0; i < payload->count; ++*scales) {
        size_t run = tile_run(payload, i);
        int exponent;
        if (!hw_scale_of(doubles_of(payload, i, run, space), run, &exponent))
            return false;
        i += run;
    }
    return true;
}

static bool fits(const hw_payload *payload, hw_width width)
{
    double space[HW_TILE];
    for (size_t i = 0, run; i < payload->count; i += run) {
        run = step_of(i, payload->count);
        const double *values = doubles_of(payload, i, run, space);
        for (size_t k = 0; k < run; k++)
            if (hw_double_bits(hw_narrowed(values[k], width)) != hw_double_bits(values[k]))
                return false;
    }
    return true;
}

static hw_width choose_width(const hw_payload *payload, size_t *scales)
{
    static const hw_width tried[] = {HW_BF16, HW_F16, HW_F32};
    if (is_whole(payload->type)) {
        *scales = 0;
        return choose_whole_width(payload);
    }
    if (fits_int8(payload, scales))
        return HW_INT8;
    *scales = 0;
    for (size_t k = 0; k < sizeof tried / sizeof *tried; k++)
        if (fits(payload, tried[k]))
            return tried[k];
    return HW_F64;
}

/* Writes the scales, two bytes each, then the values; returns the end. */
static unsigned char *write_int8(const hw_payload *payload, size_t scales, unsigned char *out)
{
    double space[HW_TILE];
    int8_t *values = (int8_t *)(out + 2 * scales);
    for (size_t i = 0; i < payload->count; out += 2) {
        size_t run = tile_run(payload, i);
        const double *numbers = doubles_of(payload, i, run, space);
        int exponent = 0;
        bool fit = hw_scale_of(numbers, run, &exponent);
        int16_t scale = fit ? (int16_t)exponent : 0;
        memcpy(out, &scale, sizeof scale);
        for (size_t k = 0; k < run; k++, i++)
            values[i] = (int8_t)hw_scaled(numbers[k], scale);
    }
    return (unsigned char *)values + payload->count;
}

static void write_step(const double *values, size_t count, hw_width width, unsigned char *out)
{
    switch (width) {
    case HW_INT8: break;
    case HW_F64: memcpy(out, values, count * sizeof *values); break;
    case HW_F32:
        for (size_t i = 0; i < count; i++)
            memcpy(out + 4 * i, &(float){(float)values[i]}, 4);
        break;
    case HW_BF16:
        for (size_t i = 0; i < count; i++)
            memcpy(out + 2 * i, &(uint16_t){hw_to_bf16(values[i])}, 2);
        break;
    case HW_F16:
        for (size_t i = 0; i < count; i++)
            memcpy(out + 2 * i, &(uint16_t){hw_to_f16(values[i])}, 2);
        break;
    }
}

static unsigned char *write_values(const hw_payload *payload, hw_width width, size_t scales, unsigned char *out)
{
    double space[HW_TILE];
    if (is_whole(payload->type))
        return write_whole(payload, width, out);
    if (width == HW_INT8)
        return write_int8(payload, scales, out);
    for (size_t i = 0, run; i < payload->count; i += run, out += run * value_bytes(width)) {
        run = step_of(i, payload->count);
        write_step(doubles_of(payload, i, run, space), run, width, out);
    }
    return out;
}

static void read_step(hw_width width, const unsigned char *at, double *values, size_t count)
{
    float single;
    uint16_t half;
    switch (width) {
    case HW_INT8: break;
    case HW_F64: memcpy(values, at, count * sizeof *values); break;
    case HW_F32:
        for (size_t i = 0; i < count; i++) {
            memcpy(&single, at + 4 * i, 4);
            values[i] = (double)single;
        }
        break;
    case HW_BF16:
        for (size_t i = 0; i < count; i++) {
            memcpy(&half, at + 2 * i, 2);
            values[i] = hw_of_bf16(half);
        }
        break;
    case HW_F16:
        for (size_t i = 0; i < count; i++) {
            memcpy(&half, at + 2 * i, 2);
            values[i] = hw_of_f16(half);
        }
        break;
    }
}

/* Returns where `run` entries from `begin` on are stored as doubles, before put_singles. */
static double *place_of(hawser_type type, void *values, size_t begin, double space[HW_TILE])
{
    return type == HAWSER_F32 ? space : (double *)values + begin;
}

static void put_singles(hawser_type type, void *values, size_t begin, size_t run, const double space[HW_TILE])
{
    for (size_t k = 0; type == HAWSER_F32 && k < run; k++)
        ((float *)values)[begin + k] = (float)space[k];
}

static void read_values(hw_width width, const unsigned char *at, hawser_type type, void *values, size_t count)
{
    double space[HW_TILE];
    for (size_t i = 0, run; i < count; i += run, at += run * value_bytes(width)) {
        run = step_of(i, count);
        read_step(width, at, place_of(type, values, i, space), run);
        put_singles(type, values, i, run, space);
    }
}

/* --------------------------------------------------------------------------------------------------- indices ---- */

static hw_keys_layout indices_form(size_t n)
{
    return (hw_keys_layout){n > UINT32_MAX ? HW_GAPS_U64 : HW_GAPS_U32, true};
}

static const void *indices_of(const hw_payload *payload)
{
    return payload->index32 != NULL ? (const void *)payload->index32 : payload->index64;
}

/* Reads indices of a state of n entries, which must be all that the bytes hold, behind the values of a message. */
static bool read_indices(const unsigned char *at, size_t bytes, uint64_t first, size_t n, hw_message *message)
{
    size_t count = (size_t)message->envelope.count;
    void *indices = (char *)message->payload + hw_indices_at((hawser_type)message->envelope.type, n, count);
    if (first >= n || !hw_keys_decode(indices_form(n), at, bytes, first, count, indices))
        return false;
    hw_payload payload = hw_payload_of(message, n);
    return hw_payload_index(&payload, count - 1) < n;
}

/* ------------------------------------------------------------------------------------------------------- LZ4 ---- */

/* Does LZ4 take an eighth off samples from the middle and the end? */
static bool compresses(const unsigned char *body, size_t bytes)
{
    char out[LZ4_COMPRESSBOUND(SAMPLE)];
    if (bytes < LZ4_LEAST || bytes > LZ4_MOST)
        return false;
    size_t sample = bytes < SAMPLE ? bytes : SAMPLE;
    const unsigned char *const places[] = {body + (bytes - sample) / 2, body + bytes - sample};
    for (int k = 0; k < 2; k++) {
        int size = LZ4_compress_default((const char *)places[k], out, (int)sample, (int)sizeof out);
        if (size > 0 && (size_t)size <= sample - sample / 8)
            return true;
    }
    return false;
}

/* Replaces *packed by its compressed form where that is smaller. */
static hawser_status compress(hw_message **packed, hawser_error *error)
{
    const unsigned char *body = (const unsigned char *)(*packed)->payload + sizeof(pack_head);
    size_t raw = (size_t)(*packed)->envelope.length - sizeof(pack_head);
    if (!compresses(body, raw))
        return HAWSER_OK;
    hw_message *smaller;
    HAWSER_TRY(hw_message_new((*packed)->envelope.length, &smaller, error));
    char *out = (char *)smaller->payload + sizeof(pack_head);
    int size = LZ4_compress_default((const char *)body, out, (int)raw, (int)raw);
    if (size <= 0 || (size_t)size >= raw) {
        hw_message_free(smaller);
        return HAWSER_OK;
    }
    memcpy(smaller->payload, (*packed)->payload, sizeof(pack_head));
    ((pack_head *)smaller->payload)->compressed = 1;
    smaller->envelope = (*packed)->envelope;
    smaller->envelope.length = sizeof(pack_head) + (size_t)size;
    hw_message_free(*packed);
    *packed = smaller;
    return HAWSER_OK;
}

static hawser_status pack(const hw_message *plain, const hw_payload *payload, size_t n, hw_message **packed,
                          hawser_error *error)
{
    size_t scales = 0, size = hw_type_size((hawser_type)plain->envelope.type);
    hw_width width = choose_width(payload, &scales);
    bool sparse = plain->envelope.encoding == HW_SPARSE;
    const unsigned char *values = (const unsigned char *)plain->payload + (sparse ? 0 : sizeof(uint64_t));
    /* If only LZ4 can help, its samples are taken from the message itself. */
    if (!sparse && value_bytes(width) == size && !compresses(values, payload->count * size))
        return HAWSER_OK;
    size_t raw = 2 * scales + payload->count * value_bytes(width) +
                 (sparse ? hw_keys_bytes(indices_form(n), indices_of(payload), payload->count) : 0);
    hw_message *made;
    HAWSER_TRY(hw_message_new(sizeof(pack_head) + raw, &made, error));
    *(pack_head *)made->payload = (pack_head){
        .sparse = sparse, .width = (uint8_t)width, .first = hw_payload_index(payload, 0), .raw = raw, .scales = scales};
    unsigned char *out = (unsigned char *)made->payload + sizeof(pack_head);
    out = write_values(payload, width, scales, out);
    if (sparse)
        hw_keys_encode(indices_form(n), indices_of(payload), payload->count, out);
    made->envelope = plain->envelope;
    made->envelope.encoding = HW_PACKED;
    made->envelope.length = sizeof(pack_head) + raw;
    hawser_status status = compress(&made, error);
    if (status != HAWSER_OK || made->envelope.length > plain->envelope.length - plain->envelope.length / 16) {
        hw_message_free(made);
        return status;
    }
    *packed = made;
    return HAWSER_OK;
}

hawser_status hw_pack(const hw_message *plain, size_t n, hw_message **packed, hawser_error *error)
{
    *packed = NULL;
    if (plain->envelope.length < SMALLEST || plain->envelope.encoding == HW_PACKED)
        return HAWSER_OK;
    hw_payload payload = hw_payload_of(plain, n);
    return pack(plain, &payload, n, packed, error);
}

size_t hw_plain_bytes(const hw_message *message, size_t n)
{
    const hw_envelope *envelope = &message->envelope;
    bool packed = envelope->encoding == HW_PACKED;
    hw_encoding encoding = !packed                                         ? (hw_encoding)envelope->encoding
                           : ((const pack_head *)message->payload)->sparse ? HW_SPARSE
                                                                           : HW_DENSE;
    return hw_payload_bytes(encoding, (hawser_type)envelope->type, n, (size_t)envelope->count);
}

/* ---------------------------------------------------------------------------------------------------- unpack ---- */

static hawser_status malformed(const char *what, hawser_error *error)
{
    return hawser_fail(error, HAWSER_BAD_INPUT, "%s is packed in a way that does not fit its entries", what);
}

/* Returns true if the head is plausible for a state of n entries, so that nothing much larger than the state is ever
 * allocated for it. */
static bool head_fits(const hw_message *packed, const pack_head *head, size_t n)
{
    hawser_type type = (hawser_type)packed->envelope.type;
    uint64_t count = packed->envelope.count, length = packed->envelope.length - sizeof *head;
    if (count == 0 || count > n || head->sparse > 1 || head->width > HW_INT8 || head->compressed > 1)
        return false;
    if (value_bytes((hw_width)head->width) > hw_type_size(type) ||
        (is_whole(type) && (head->width == HW_F16 || head->scales != 0)))
        return false;
    if (head->scales > count || (head->width != HW_INT8 && head->scales != 0) || (!head->sparse && head->first > n - count))
        return false;
    uint64_t values = 2 * head->scales + count * value_bytes((hw_width)head->width);
    if (head->raw < values || head->raw - values > (head->sparse ? 9 * count : 0))
        return false;
    return head->compressed ? head->raw <= LZ4_MOST && length <= LZ4_MOST : length == head->raw;
}

static bool read_int8(const hw_payload *payload, const unsigned char *body, size_t scales, void *values)
{
    const unsigned char *numbers = body + 2 * scales;
    double space[HW_TILE];
    for (size_t i = 0; i < payload->count; scales--, body += 2) {
        int16_t exponent;
        size_t run = tile_run(payload, i);
        if (scales == 0 || run > HW_TILE)
            return false;
        memcpy(&exponent, body, sizeof exponent);
        if (exponent < -1074 || exponent > HW_SCALE_MOST)
            return false;
        double *to = place_of(payload->type, values, i, space);
        for (size_t k = 0; k < run; k++)
            to[k] = (double)(int8_t)numbers[i + k] * hw_power_of_two(exponent);
        put_singles(payload->type, values, i, run, space);
        i += run;
    }
    return scales == 0;
}

/* Reads the indices first, because they decide which 8-bit values share a scale. */
static bool read_body(const pack_head *head, const unsigned char *body, size_t n, hw_message *message, void *values)
{
    hawser_type type = (hawser_type)message->envelope.type;
    size_t count = (size_t)message->envelope.count, scales = (size_t)head->scales;
    const unsigned char *after = body + 2 * scales + count * value_bytes((hw_width)head->width), *end = body + head->raw;
    if (head->sparse ? !read_indices(after, (size_t)(end - after), head->first, n, message) : after != end)
        return false;
    if (is_whole(type)) {
        read_whole((hw_width)head->width, body, type, values, count);
        return true;
    }
    if (head->width != HW_INT8) {
        read_values((hw_width)head->width, body, type, values, count);
        return true;
    }
    hw_payload payload = hw_payload_of(message, n);
    return read_int8(&payload, body, scales, values);
}

static hawser_status expand(const hw_message *packed, const pack_head *head, void **body, const char *what,
                            hawser_error *error)
{
    size_t length = (size_t)packed->envelope.length - sizeof *head;
    HAWSER_TRY(hw_new_array(body, (size_t)head->raw, 1, "a compressed update", error));
    int size = LZ4_decompress_safe((const char *)packed->payload + sizeof *head, *body, (int)length, (int)head->raw);
    if (size >= 0 && (uint64_t)size == head->raw)
        return HAWSER_OK;
    free(*body);
    *body = NULL;
    return malformed(what, error);
}

hawser_status hw_unpack(const hw_message *packed, size_t n, const char *what, hw_message **plain, hawser_error *error)
{
    pack_head head;
    void *values, *body = NULL;
    hw_message *made;
    *plain = NULL;
    if (packed->payload == NULL || packed->envelope.length < sizeof head || packed->envelope.type > HAWSER_I32)
        return malformed(what, error);
    memcpy(&head, packed->payload, sizeof head);
    if (!head_fits(packed, &head, n))
        return malformed(what, error);
    size_t count = (size_t)packed->envelope.count;
    hawser_type type = (hawser_type)packed->envelope.type;
    hw_encoding encoding = head.sparse ? HW_SPARSE : HW_DENSE;
    hw_packing packing = {encoding, type, count, hw_payload_bytes(encoding, type, n, count)};
    if (head.compressed)
        HAWSER_TRY(expand(packed, &head, &body, what, error));
    hawser_status status = hw_packing_message(packing, (size_t)head.first, 0, NULL, &made, &values, error);
    if (status != HAWSER_OK) {
        free(body);
        return status;
    }
    uint64_t length = made->envelope.length;
    made->envelope = packed->envelope;
    made->envelope.encoding = (uint8_t)packing.encoding;
    made->envelope.length = length;
    const unsigned char *from = body != NULL ? body : (const unsigned char *)packed->payload + sizeof head;
    status = read_body(&head, from, n, made, values) ? HAWSER_OK : malformed(what, error);
    free(body);
    if (status != HAWSER_OK) {
        hw_message_free(made);
        return status;
    }
    *plain = made;
    return HAWSER_OK;
}
