#include "store/request.h"

#include <stdio.h>
#include <string.h>

#include "codec/bits.h"
#include "codec/keys.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "heads are little-endian and written as they lie");
_Static_assert(sizeof(hw_request_head) == 88 && sizeof(hw_reply_head) == HW_ANSWER_HEAD, "heads have no holes");

void hw_scratch_free(hw_scratch *scratch)
{
    hw_message_free(scratch->keys);
    hw_message_free(scratch->values);
    scratch->keys = scratch->values = NULL;
}

static size_t padded(size_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

/* ---------------------------------------------------------------------------------------------------------- writing ---- */

enum { ZERO_COPY_LEAST = 16 << 10 /* bytes of values; fewer are cheaper to copy than to send apart */ };

static size_t keys_bound(const hw_request_head *head)
{
    return head->keys == HW_KEYS_GAPS   ? hw_keys_bound((size_t)head->count)
           : head->keys == HW_KEYS_BITS ? hw_bits_words(head->last - head->first) * sizeof(uint64_t)
                                        : 0;
}

/* Writes the keys behind the head, padded with zeros. Returns where the values begin. */
static unsigned char *write_keys(const hw_request *request, size_t bound, unsigned char *out, uint64_t *key_bytes)
{
    size_t bytes = bound;
    if (request->head.keys == HW_KEYS_GAPS)
        bytes = hw_keys_encode(HW_REQUEST_KEYS, request->keys, (size_t)request->head.count, out);
    else if (request->head.keys == HW_KEYS_BITS)
        memcpy(out, request->bits, bytes);
    memset(out + bytes, 0, padded(bytes) - bytes);
    *key_bytes = bytes;
    return out + padded(bytes);
}

/* Writes a request whose values are scattered. They are gathered in the message, and stay there if they are sent without an
 * encoding. */
static hawser_status write_apart(const hw_table_spec *table, const hw_request *request, hw_pool *pool, hw_message **message,
                                 hawser_error *error)
{
    hw_request_head head = request->head;
    size_t numbers = (size_t)head.count * table->width, values = 0, bound = keys_bound(&head);
    HAWSER_TRY(hw_pool_message(pool, sizeof head + padded(bound) + numbers * hw_value_size(table->type), message, error));
    unsigned char *start = (*message)->payload;
    unsigned char *out = write_keys(request, bound, start + sizeof head, &head.key_bytes);
    size_t before = (size_t)(out - start);
    request->gather(request->argument, request->values, out);
    head.values = (uint8_t)hw_values_choose_rounded(table->type, table->rounding, out, numbers, &values);
    head.value_bytes = values;
    if (head.values != HW_VALUES_DENSE) {
        hw_message *whole = *message;
        hawser_status status = hw_pool_message(pool, before + values, message, error);
        if (status == HAWSER_OK) {
            memcpy((*message)->payload, start, before);
            start = (*message)->payload;
            hw_values_encode(head.values, table->type, out, numbers, start + before);
        }
        hw_message_free(whole);
        HAWSER_TRY(status);
    }
    memcpy(start, &head, sizeof head);
    (*message)->envelope.length = before + values;
    return HAWSER_OK;
}

hawser_status hw_request_write(const hw_table_spec *table, const hw_request *request, hw_pool *pool, hw_message **message,
                               hawser_error *error)
{
    hw_request_head head = request->head;
    size_t numbers = (size_t)head.count * table->width, values = 0;
    if (request->values != NULL && request->gather != NULL)
        return write_apart(table, request, pool, message, error);
    head.values = HW_VALUES_NONE;
    if (request->values != NULL)
        head.values = (uint8_t)hw_values_choose_rounded(table->type, table->rounding, request->values, numbers, &values);
    size_t bound = keys_bound(&head);
    bool zero_copy = request->zero_copy && head.values == HW_VALUES_DENSE && values >= ZERO_COPY_LEAST;
    HAWSER_TRY(hw_pool_message(pool, sizeof head + padded(bound) + (zero_copy ? 0 : values), message, error));
    unsigned char *start = (*message)->payload;
    unsigned char *out = write_keys(request, bound, start + sizeof head, &head.key_bytes);
    head.value_bytes = values;
    if (zero_copy) {
        (*message)->tail = request->values;
        (*message)->tail_length = values;
    } else {
        hw_values_encode(head.values, table->type, request->values, numbers, out);
    }
    memcpy(start, &head, sizeof head);
    (*message)->envelope.length = (size_t)(out - start) + values; /* keys take less than their bound */
    return HAWSER_OK;
}

hawser_status hw_reply_new(const hw_table_spec *table, const hw_reply_head *head, hw_pool *pool, hw_message **message,
                           void **values, hawser_error *error)
{
    hw_reply_head own = *head;
    own.value_bytes = own.count * hw_value_size(table->type);
    own.values = own.count > 0 ? HW_VALUES_DENSE : HW_VALUES_NONE;
    HAWSER_TRY(hw_pool_message(pool, sizeof own + (values != NULL ? (size_t)own.value_bytes : 0), message, error));
    memcpy((*message)->payload, &own, sizeof own);
    if (values != NULL)
        *values = (unsigned char *)(*message)->payload + sizeof own;
    return HAWSER_OK;
}

void hw_reply_pack(const hw_table_spec *table, const void *tail, hw_pool *pool, hw_message **message)
{
    hw_reply_head head;
    unsigned char *payload = (*message)->payload;
    const void *values = tail != NULL ? tail : payload + sizeof head;
    memcpy(&head, payload, sizeof head);
    size_t bytes = 0;
    hw_values_form form = hw_values_choose(table->type, values, (size_t)head.count, &bytes);
    hw_message *shorter = NULL;
    if (form == HW_VALUES_DENSE || hw_pool_message(pool, sizeof head + bytes, &shorter, NULL) != HAWSER_OK) {
        (*message)->tail = tail;
        (*message)->tail_length = tail != NULL ? (size_t)head.value_bytes : 0;
        (*message)->envelope.length = sizeof head + head.value_bytes;
        return;
    }
    head.values = (uint8_t)form;
    head.value_bytes = bytes;
    memcpy(shorter->payload, &head, sizeof head);
    hw_values_encode(form, table->type, values, (size_t)head.count, (unsigned char *)shorter->payload + sizeof head);
    hw_message_free(*message);
    *message = shorter;
}

hawser_status hw_refusal_write(const hw_request_head *head, hw_outcome outcome, const char *words, hw_message **message,
                               hawser_error *error)
{
    hw_reply_head reply = {.outcome = (uint8_t)outcome,
                           .table = head->table,
                           .slice = head->slice,
                           .task = head->task,
                           .value_bytes = strlen(words)};
    HAWSER_TRY(hw_message_new(sizeof reply + (size_t)reply.value_bytes, message, error));
    memcpy((*message)->payload, &reply, sizeof reply);
    memcpy((unsigned char *)(*message)->payload + sizeof reply, words, (size_t)reply.value_bytes);
    return HAWSER_OK;
}

hawser_status hw_clock_refusal_new(hw_message **message, hawser_error *error)
{
    return hw_message_new(sizeof(hw_reply_head) + HW_REFUSAL_WORDS, message, error);
}

void hw_clock_refusal_write(hw_message *message, const hw_request_head *head, hw_outcome outcome, const char *words)
{
    size_t length = strlen(words) < HW_REFUSAL_WORDS ? strlen(words) : HW_REFUSAL_WORDS;
    const hw_reply_head reply = {
        .outcome = (uint8_t)outcome, .table = head->table, .slice = head->slice, .task = head->task, .value_bytes = length};
    memcpy(message->payload, &reply, sizeof reply);
    memcpy((unsigned char *)message->payload + sizeof reply, words, length);
    message->envelope.length = sizeof reply + length;
}

void hw_reply_to_refusal(hw_message *reply)
{
    hw_reply_head head;
    memcpy(&head, reply->payload, sizeof head);
    head.outcome = HW_REFUSED;
    head.values = HW_VALUES_NONE;
    head.count = head.value_bytes = 0;
    memcpy(reply->payload, &head, sizeof head);
    reply->envelope.length = sizeof head;
}

/* ---------------------------------------------------------------------------------------------------------- reading ---- */

bool hw_request_head_of(const hw_message *message, hw_request_head *head)
{
    uint64_t length = message->envelope.length;
    if (length < sizeof *head)
        return false;
    memcpy(head, message->payload, sizeof *head);
    length -= sizeof *head;
    if (head->key_bytes > length || padded((size_t)head->key_bytes) > length)
        return false;
    return head->value_bytes == length - padded((size_t)head->key_bytes);
}

static hawser_status check_shape(const hw_table_spec *table, const hw_request_head *head, hawser_error *error)
{
    bool pushes = hw_operation_pushes(head->operation);
    if (head->operation < HW_PUSH || head->operation > HW_PUT_MEMORY)
        return hawser_fail(error, HAWSER_BAD_INPUT, "table '%s': there is no operation %u", table->name, head->operation);
    if (pushes != (head->values != HW_VALUES_NONE))
        return hawser_fail(error, HAWSER_BAD_INPUT, "table '%s': a %s %s values", table->name, pushes ? "push" : "pull",
                           pushes ? "without" : "with");
    if (head->first < table->first || head->last > table->last || head->first > head->last)
        return hawser_fail(error, HAWSER_BAD_INPUT, "table '%s': keys %llu to %llu are not within %llu to %llu", table->name,
                           (unsigned long long)head->first, (unsigned long long)head->last, (unsigned long long)table->first,
                           (unsigned long long)table->last);
    if (table->summed && (head->operation == HW_PUSH_PULL ||
                          (head->operation == HW_CLOCK && (head->first != table->first || head->last != table->last))))
        return hawser_fail(error, HAWSER_BAD_INPUT, "table '%s': %s", table->name,
                           head->operation == HW_CLOCK ? "a clock of a summed table is one of all its keys"
                                                       : "what is pushed to a summed table is not there yet to be read");
    if (head->reread > 1 || (head->reread == 1 && (head->operation != HW_PULL || !table->centric)))
        return hawser_fail(error, HAWSER_BAD_INPUT, "table '%s': only a pull from a data-centric table can be a reread",
                           table->name);
    uint64_t span = head->last - head->first;
    bool range = head->keys == HW_KEYS_RANGE;
    if (head->operation == HW_CLOCK)
        return HAWSER_OK;
    if (hw_operation_of_memory(head->operation) && (table->width == 0 || !range))
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "table '%s': only a function with memory has any, which is read and set by ranges of keys",
                           table->name);
    if (range && table->sparse)
        return hawser_fail(error, HAWSER_BAD_INPUT, "table '%s' is sparse: its keys are named one by one, not as a range",
                           table->name);
    if (head->count == 0 || head->count - 1 > span || (range && head->count - 1 != span))
        return hawser_fail(error, HAWSER_BAD_INPUT, "table '%s': %llu keys cannot lie between %llu and %llu", table->name,
                           (unsigned long long)head->count, (unsigned long long)head->first, (unsigned long long)head->last);
    return HAWSER_OK;
}

/* A list of n keys takes at least n / 128 bytes, so what a half-open or hostile client claims allocates at most a fixed
 * multiple of what it sent. */
static hawser_status read_keys(const hw_table_spec *table, const hw_request_head *head, const unsigned char *in,
                               hw_scratch *scratch, const uint64_t **keys, hawser_error *error)
{
    bool right = (head->count - 1) / 128 <= head->key_bytes;
    if (right) {
        HAWSER_TRY(hw_pool_message(scratch->pool, (size_t)head->count * sizeof **keys, &scratch->keys, error));
        uint64_t *to = scratch->keys->payload;
        *keys = to;
        right = hw_keys_decode(HW_REQUEST_KEYS, in, (size_t)head->key_bytes, head->first, (size_t)head->count, to) &&
                to[head->count - 1] == head->last;
    }
    if (!right)
        return hawser_fail(error, HAWSER_BAD_INPUT, "table '%s': %llu bytes are not an ascending list of %llu keys",
                           table->name, (unsigned long long)head->key_bytes, (unsigned long long)head->count);
    return HAWSER_OK;
}

/* Reads the keys of a dense table that came as bits. The span, which is within the table, determines the number of bytes. */
static hawser_status read_bits(const hw_table_spec *table, const hw_request_head *head, const unsigned char *in,
                               const uint64_t **bits, hawser_error *error)
{
    uint64_t span = head->last - head->first;
    const uint64_t *words = (const void *)in;
    size_t n = (size_t)head->key_bytes / sizeof *words;
    bool right = !table->sparse && head->key_bytes % sizeof *words == 0 && n > 0 && span / 64 == n - 1 &&
                 (words[0] & 1) != 0 && words[n - 1] >> span % 64 == 1 && hw_bits_best()->count(words, n) == head->count;
    if (!right)
        return hawser_fail(error, HAWSER_BAD_INPUT, "table '%s': %llu bytes are not the bits of %llu keys", table->name,
                           (unsigned long long)head->key_bytes, (unsigned long long)head->count);
    *bits = words;
    return HAWSER_OK;
}

hawser_status hw_request_list(hw_request *request, hw_scratch *scratch, hawser_error *error)
{
    const hw_request_head *head = &request->head;
    HAWSER_TRY(hw_pool_message(scratch->pool, (size_t)head->count * sizeof *request->keys, &scratch->keys, error));
    hw_bits_best()->list(request->bits, hw_bits_words(head->last - head->first), head->first, scratch->keys->payload);
    request->keys = scratch->keys->payload;
    request->bits = NULL;
    return HAWSER_OK;
}

static hawser_status read_values(const hw_table_spec *table, const hw_request_head *head, const unsigned char *in,
                                 hw_scratch *scratch, const void **values, hawser_error *error)
{
    size_t size = hw_value_size(table->type), numbers;
    /* A number takes at least one bit, so this allocates at most 64 times what was sent. */
    bool right = head->count <= head->value_bytes * 8 / table->width;
    numbers = right ? (size_t)head->count * table->width : 0;
    *values = in;
    if (right && head->values == HW_VALUES_DENSE) {
        right = head->value_bytes == numbers * size;
    } else if (right) {
        HAWSER_TRY(hw_pool_message(scratch->pool, numbers * size, &scratch->values, error));
        right =
            hw_values_decode(head->values, table->type, in, (size_t)head->value_bytes, numbers, scratch->values->payload);
        *values = scratch->values->payload;
    }
    if (!right)
        return hawser_fail(error, HAWSER_BAD_INPUT, "table '%s': %llu bytes are not the values of %llu keys", table->name,
                           (unsigned long long)head->value_bytes, (unsigned long long)head->count);
    size_t bad = hw_values_not_finite(table->type, *values, numbers);
    if (bad < numbers)
        return hawser_fail(error, HAWSER_NOT_FINITE, "table '%s': what is pushed is not finite in number %zu of %zu",
                           table->name, bad, numbers);
    return HAWSER_OK;
}

hawser_status hw_request_read(const hw_table_spec *table, const hw_request_head *head, const hw_message *message,
                              hw_scratch *scratch, hw_request *request, hawser_error *error)
{
    const unsigned char *body = (const unsigned char *)message->payload + sizeof *head;
    *request = (hw_request){.head = *head};
    HAWSER_TRY(check_shape(table, head, error));
    if (head->keys == HW_KEYS_GAPS) {
        HAWSER_TRY(read_keys(table, head, body, scratch, &request->keys, error));
    } else if (head->keys == HW_KEYS_BITS) {
        HAWSER_TRY(read_bits(table, head, body, &request->bits, error));
    } else if ((head->keys != HW_KEYS_RANGE && head->keys != HW_KEYS_KNOWN) || head->key_bytes != 0) {
        return hawser_fail(error, HAWSER_BAD_INPUT, "table '%s': there is no form %u of keys with %llu bytes", table->name,
                           head->keys, (unsigned long long)head->key_bytes);
    }
    if (head->values != HW_VALUES_NONE)
        HAWSER_TRY(read_values(table, head, body + padded((size_t)head->key_bytes), scratch, &request->values, error));
    return HAWSER_OK;
}

bool hw_reply_head_of(const hw_message *message, hw_reply_head *head)
{
    if (message->envelope.length < sizeof *head)
        return false;
    memcpy(head, message->payload, sizeof *head);
    return head->value_bytes == message->envelope.length - sizeof *head;
}

static const unsigned char *values_in(const hw_message *message)
{
    return message->tail != NULL ? message->tail : (const unsigned char *)message->payload + sizeof(hw_reply_head);
}

bool hw_reply_read(const hw_table_spec *table, const hw_reply_head *head, const hw_message *message, void *values)
{
    return head->outcome == HW_APPLIED && hw_values_decode(head->values, table->type, values_in(message),
                                                           (size_t)head->value_bytes, (size_t)head->count, values);
}

const void *hw_reply_dense(const hw_table_spec *table, const hw_reply_head *head, const hw_message *message)
{
    size_t size = hw_value_size(table->type);
    bool dense = head->outcome == HW_APPLIED && head->values == HW_VALUES_DENSE && head->value_bytes % size == 0 &&
                 head->count == head->value_bytes / size;
    return dense ? values_in(message) : NULL;
}

void hw_refusal_read(const hw_reply_head *head, const hw_message *message, char *words, size_t size)
{
    snprintf(words, size, "%.*s", (int)(head->value_bytes < size ? head->value_bytes : size - 1),
             (const char *)message->payload + sizeof *head);
}
