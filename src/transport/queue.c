#include "transport/queue.h"

void hw_inbox_init(hw_inbox *inbox)
{
    atomic_init(&inbox->arrived, NULL);
    atomic_init(&inbox->closed, false);
    inbox->ready = NULL;
    inbox->wake = NULL;
    inbox->argument = NULL;
}

bool hw_inbox_put(hw_inbox *inbox, hw_message *message)
{
    if (atomic_load_explicit(&inbox->closed, memory_order_acquire))
        return false;
    bool quiet = message->quiet; /* read now: once pushed, the message belongs to the receiver */
    hw_message *top = atomic_load_explicit(&inbox->arrived, memory_order_relaxed);
    do
        message->next = top;
    while (
        !atomic_compare_exchange_weak_explicit(&inbox->arrived, &top, message, memory_order_release, memory_order_relaxed));
    if (inbox->wake != NULL && !quiet)
        inbox->wake(inbox->argument);
    return true;
}

hw_message *hw_inbox_take(hw_inbox *inbox)
{
    if (inbox->ready == NULL) {
        hw_message *stack = atomic_exchange_explicit(&inbox->arrived, NULL, memory_order_acquire);
        while (stack != NULL) {
            hw_message *next = stack->next;
            stack->next = inbox->ready;
            inbox->ready = stack;
            stack = next;
        }
    }
    hw_message *oldest = inbox->ready;
    if (oldest != NULL) {
        inbox->ready = oldest->next;
        oldest->next = NULL;
    }
    return oldest;
}

void hw_inbox_empty(hw_inbox *inbox)
{
    hw_message *message;
    while ((message = hw_inbox_take(inbox)) != NULL)
        hw_message_free(message);
}
