/* queue.h - an endpoint's inbox: any thread puts, the owner takes, and no thread waits for another. */
#ifndef HW_TRANSPORT_QUEUE_H
#define HW_TRANSPORT_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/memory.h"
#include "transport/transport.h"

/* Senders push on a stack with one compare-and-swap; the owner takes the whole stack and reverses it. The alignment gives
 * senders to different endpoints different cache lines. */
typedef struct hw_inbox {
    _Alignas(HW_ALIGNMENT) _Atomic(hw_message *) arrived; /* newest first */
    atomic_bool closed;
    hw_message *ready; /* oldest first; owner only */
    void (*wake)(void *);
    void *argument;
} hw_inbox;

void hw_inbox_init(hw_inbox *inbox);
/* Puts the message and wakes the owner. Returns false if the inbox is closed; the caller then keeps the message. */
bool hw_inbox_put(hw_inbox *inbox, hw_message *message);
/* Takes the oldest message, or returns NULL. Owner only. */
hw_message *hw_inbox_take(hw_inbox *inbox);
/* Frees the messages that are left in the inbox. */
void hw_inbox_empty(hw_inbox *inbox);

#endif
