/* queue.h - an endpoint's inbox: any thread puts, its owner takes, nobody ever waits for anybody. */
#ifndef HW_TRANSPORT_QUEUE_H
#define HW_TRANSPORT_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/memory.h"
#include "transport/transport.h"

/* Senders push on a stack with one compare-and-swap, the owner takes the whole stack and turns it round. A cache line of its own keeps
 * senders of different endpoints apart. */
typedef struct hw_inbox {
    _Alignas(HW_ALIGNMENT) _Atomic(hw_message *) arrived; /* newest first */
    atomic_bool closed;
    hw_message *ready; /* oldest first; the owner's */
    void (*wake)(void *);
    void *argument;
} hw_inbox;

void hw_inbox_init(hw_inbox *inbox);
/* Puts the message and wakes the owner; false, and the message is still the caller's, when the inbox is closed. */
bool hw_inbox_put(hw_inbox *inbox, hw_message *message);
/* The oldest, or NULL. The owner's alone. */
hw_message *hw_inbox_take(hw_inbox *inbox);
/* Frees what is left in it. */
void hw_inbox_empty(hw_inbox *inbox);

#endif
