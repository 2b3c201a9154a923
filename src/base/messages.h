/*
 * messages.h - the only place in which the library prints on its own: notes and warnings go to the queue that the program
 * gave, or to standard error.
 */
#ifndef HW_BASE_MESSAGES_H
#define HW_BASE_MESSAGES_H

#include <stddef.h>

#include "hawser/messages.h"

/* A node that has no number yet. */
#define HW_MESSAGE_NO_NODE UINT32_MAX

/* Reports a line. `to` is NULL if the program gave no queue: it is printed then. Never waits for a reader of the queue; any
 * thread. */
void hw_notify(hawser_messages *to, hawser_message_kind kind, uint32_t node, const char *format, ...) HAWSER_PRINTF(4, 5);
/* Reports the reason for which the process ends now, and prints it, since no reader of the queue may run any more. */
void hw_notify_end(hawser_messages *to, uint32_t node, const char *text);
/* Prints a line from a signal handler, before a fault ends the process. Async-signal-safe. */
void hw_print_fault(const char *text, size_t length);
/* Prints on standard output what the user of a program asked for. */
void hw_print_help(const char *format, ...) HAWSER_PRINTF(1, 2);

#endif
