/* message.c - makes, shares and frees messages. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "transport/pool.h"

_Static_assert(sizeof(hw_block) <= HW_ALIGNMENT, "the head of a block must fit before its payload");

/* LARGE: longer payloads fill pages, so that one fits in the memory of another which is a little longer. */
enum { LARGE = 128 << 10, PAGE = 4096 };

/* Puts a payload one alignment step behind its reference count, so that a message costs only two allocations. */
hawser_status hw_message_new(size_t length, hw_message **message, hawser_error *error)
{
    *message = NULL;
    hw_message *made = calloc(1, sizeof *made);
    if (made == NULL)
        goto no_memory;
    if (length > 0) {
        if (length > SIZE_MAX - 2 * (size_t)HW_ALIGNMENT)
            goto no_memory;
        const size_t unit = length < LARGE ? HW_ALIGNMENT : PAGE;
        size_t bytes = (length + HW_ALIGNMENT + unit - 1) / unit * unit;
        hw_block *block = aligned_alloc(HW_ALIGNMENT, bytes);
        if (block == NULL)
            goto no_memory;
        atomic_init(&block->references, 1);
        block->pool = NULL;
        block->capacity = bytes - HW_ALIGNMENT;
        made->shared = &block->references;
        made->payload = (unsigned char *)block + HW_ALIGNMENT;
    }
    made->envelope.length = length;
    *message = made;
    return HAWSER_OK;
no_memory:
    free(made);
    return hawser_fail(error, HAWSER_NO_MEMORY, "cannot allocate a message of %zu bytes; free memory or use a smaller input",
                       length);
}

size_t hw_message_capacity(const hw_message *message)
{
    return message->shared != NULL ? ((const hw_block *)(const void *)message->shared)->capacity : 0;
}

hawser_status hw_message_share(const hw_message *message, hw_message **copy, hawser_error *error)
{
    *copy = NULL;
    hw_message *made = malloc(sizeof *made);
    if (made == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot allocate a message; free memory or use a smaller input");
    *made = *message;
    made->next = NULL;
    if (made->shared != NULL)
        atomic_fetch_add_explicit(made->shared, 1, memory_order_relaxed);
    *copy = made;
    return HAWSER_OK;
}

/* Drops a reference to the payload. */
static void drop_payload(hw_message *message)
{
    /* Release orders this holder's reads before the free; acquire lets the last holder see that all reads are done. */
    if (message->shared == NULL || atomic_fetch_sub_explicit(message->shared, 1, memory_order_acq_rel) > 1)
        return;
    hw_block *block = (hw_block *)(void *)message->shared;
    if (block->pool != NULL)
        hw_pool_give(block);
    else
        free(block);
}

hawser_status hw_message_join(hw_pool *pool, hw_message *message, hawser_error *error)
{
    if (message->tail == NULL)
        return HAWSER_OK;
    hw_message *whole = NULL;
    size_t length = (size_t)message->envelope.length, own = length - message->tail_length;
    HAWSER_TRY(hw_pool_message(pool, length, &whole, error));
    if (own > 0)
        memcpy(whole->payload, message->payload, own);
    memcpy((unsigned char *)whole->payload + own, message->tail, message->tail_length);
    drop_payload(message);
    message->shared = whole->shared;
    message->payload = whole->payload;
    message->tail = NULL;
    message->tail_length = 0;
    free(whole);
    return HAWSER_OK;
}

void hw_message_free(hw_message *message)
{
    if (message == NULL)
        return;
    drop_payload(message);
    free(message);
}

void hw_messages_free(hw_message *first)
{
    while (first != NULL) {
        hw_message *next = first->next;
        hw_message_free(first);
        first = next;
    }
}

hw_scope hw_message_scope(uint8_t kind)
{
    static const uint8_t scopes[HW_MESSAGE_KINDS] = {
        [HW_MESSAGE_JOIN] = HW_SCOPE_CLUSTER + 1,      [HW_MESSAGE_DATA] = HW_SCOPE_JOB + 1,
        [HW_MESSAGE_ASK] = HW_SCOPE_CHANNEL + 1,       [HW_MESSAGE_ANSWER] = HW_SCOPE_CHANNEL + 1,
        [HW_MESSAGE_KEPT] = HW_SCOPE_CHANNEL + 1,      [HW_MESSAGE_VECTOR] = HW_SCOPE_CHANNEL + 1,
        [HW_MESSAGE_CHECKPOINT] = HW_SCOPE_CHANNEL + 1};
    return kind < HW_MESSAGE_KINDS && scopes[kind] != 0 ? (hw_scope)(scopes[kind] - 1) : HW_SCOPE_RUN;
}
