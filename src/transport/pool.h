/* pool.h - reuses payloads of more than a few pages. Fresh memory costs a page fault for every 4 KiB, more than the copy
 * from the socket, and the allocator returns what is freed at the end of the heap to the system each time. */
#ifndef HW_TRANSPORT_POOL_H
#define HW_TRANSPORT_POOL_H

#include "transport/transport.h"

#define HW_POOL_KEPT ((size_t)160 << 20) /* most bytes of all freed blocks that a pool keeps, unless told otherwise */

typedef struct hw_pool hw_pool;

/* The head of a block, before the payload. */
typedef struct hw_block {
    atomic_uint references; /* references to the payload; hw_message.shared points here */
    hw_pool *pool;          /* NULL: not from a pool */
    size_t capacity;        /* bytes of the payload */
    struct hw_block *next;
} hw_block;

hawser_status hw_pool_new(hw_pool **pool, hawser_error *error) HAWSER_MUST_USE;
/* Changes the most bytes that it keeps, before its first message; at first HW_POOL_KEPT. */
void hw_pool_keep(hw_pool *pool, size_t most);
/* Releases the pool. Blocks in use keep what they need of it. */
void hw_pool_free(hw_pool *pool);
/* Like hw_message_new, but reuses the memory of a freed message if it can. */
hawser_status hw_pool_message(hw_pool *pool, size_t length, hw_message **message, hawser_error *error) HAWSER_MUST_USE;
/* Appends a copy of the tail to the payload. After a failure the message is unchanged. */
hawser_status hw_message_join(hw_pool *pool, hw_message *message, hawser_error *error) HAWSER_MUST_USE;
/* Returns the bytes that the memory of a message's payload has, which may be more than its length. */
size_t hw_message_capacity(const hw_message *message);
/* Takes a block back after its last reference was dropped. */
void hw_pool_give(hw_block *block);

#endif
