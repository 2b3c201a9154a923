/* pool.h - payloads of more than a few pages used again: fresh memory costs a page fault for every 4 KiB, more than the copy from the socket,
 * and what is freed at the end of a heap goes back to the system each time. */
#ifndef HW_TRANSPORT_POOL_H
#define HW_TRANSPORT_POOL_H

#include "transport/transport.h"

typedef struct hw_pool hw_pool;

/* What stands before a payload. */
typedef struct hw_block {
    atomic_uint references; /* to the payload: hw_message.shared points here */
    hw_pool *pool;          /* NULL: none */
    size_t capacity;        /* of the payload */
    struct hw_block *next;
} hw_block;

hawser_status hw_pool_new(hw_pool **pool, hawser_error *error) HAWSER_MUST_USE;
/* Lets go of it; blocks that are still in use keep what they need. */
void hw_pool_free(hw_pool *pool);
/* As hw_message_new, with the memory of a message that is gone if there is one. */
hawser_status hw_pool_message(hw_pool *pool, size_t length, hw_message **message, hawser_error *error) HAWSER_MUST_USE;
/* Copies a tail to where the rest of the payload is. What fails leaves the message as it was. */
hawser_status hw_message_join(hw_pool *pool, hw_message *message, hawser_error *error) HAWSER_MUST_USE;
/* Of a block whose last reference is gone. */
void hw_pool_give(hw_block *block);

#endif
