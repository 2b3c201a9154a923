/*
 * messages.h - notes and warnings of the library that are no result of a call, in a queue that the program reads.
 *
 * Without a queue each of them is a line on standard error: "hawser: TEXT". With one (hawser_opening.messages) the library
 * prints nothing. There are two exceptions, in which no reader could run any more: the process has used memory that --check
 * guards, or --unit-timeout ends it.
 *
 * Any thread of the library may report, those of its network too. None of them waits for the reader: if the queue is full,
 * messages are dropped and counted. No function of the program is called. A program reads the queue on a thread of its own,
 * or whenever it likes.
 */
#ifndef HAWSER_MESSAGES_H
#define HAWSER_MESSAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "hawser/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hawser_message_kind {
    HAWSER_NOTE = 0,    /**< nothing is wrong: the address that other nodes join, an option that does nothing here */
    HAWSER_WARNING = 1, /**< something may be wrong: a unit that does not return, a rejected connection, a lost node */
    HAWSER_DROPPED = 2  /**< the queue was full; `dropped` messages would have been here */
} hawser_message_kind;

typedef struct hawser_message {
    uint32_t kind;    /**< a hawser_message_kind; a reader skips kinds that it does not know */
    uint32_t node;    /**< the number of this node; UINT32_MAX: it has none yet */
    double time;      /**< seconds since 1970 at which it was reported */
    uint64_t dropped; /**< of HAWSER_DROPPED; else 0 */
    char text[1000];  /**< one line, without "hawser: " and without a newline */
} hawser_message;

/** A queue of at most 64 messages. Any number of jobs and clusters of a process may share it. */
typedef struct hawser_messages hawser_messages;

/** Makes a queue. Returns HAWSER_IO if the process has no descriptors left. The caller frees it, after everything that
 *  reports to it: jobs, their runs and datasets, clusters. */
HAWSER_API hawser_status hawser_messages_new(hawser_messages **messages, hawser_error *error) HAWSER_MUST_USE;
HAWSER_API void hawser_messages_free(hawser_messages *messages);
/** Takes the oldest message. Returns false, with *message unchanged, if there is none. Does not block. Any thread. */
HAWSER_API bool hawser_messages_next(hawser_messages *messages, hawser_message *message);
/** Returns a descriptor that is readable while the queue has messages, for poll, epoll or an event loop. The queue owns it:
 *  a program waits for it, and neither reads nor closes it. Returns -1 if `messages` is NULL. */
HAWSER_API int hawser_messages_descriptor(const hawser_messages *messages);

#ifdef __cplusplus
}
#endif
#endif
