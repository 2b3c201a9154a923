#include "base/messages.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/argument.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/utf8.h"

enum { CAPACITY = 64 };

struct hawser_messages {
    pthread_mutex_t mutex; /* guards the rest; held for the copy of a message at most */
    int descriptor;        /* an eventfd: 1 while there are messages, else 0 */
    size_t first, count;
    hawser_message gap; /* its `dropped`: messages that were dropped behind the one that was read last */
    hawser_message message[CAPACITY];
    uint64_t dropped[CAPACITY]; /* behind this one */
};

hawser_status hawser_messages_new(hawser_messages **out, hawser_error *error)
{
    HW_GIVEN(out);
    *out = NULL;
    hawser_messages *messages = NULL;
    HAWSER_TRY(HW_NEW(&messages, 1, "a queue of messages", error));
    messages->descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (messages->descriptor < 0) {
        free(messages);
        return hawser_fail(error, HAWSER_IO, "cannot make a descriptor for messages: %s", strerror(errno));
    }
    pthread_mutex_init(&messages->mutex, NULL);
    *out = messages;
    return HAWSER_OK;
}

void hawser_messages_free(hawser_messages *messages)
{
    if (messages == NULL)
        return;
    close(messages->descriptor);
    pthread_mutex_destroy(&messages->mutex);
    free(messages);
}

int hawser_messages_descriptor(const hawser_messages *messages)
{
    return messages != NULL ? messages->descriptor : -1;
}

static bool is_empty(const hawser_messages *messages)
{
    return messages->count == 0 && messages->gap.dropped == 0;
}

/* Sets the descriptor to readable or not, after a change from or to an empty queue. A counter of 0 or 1 never blocks. */
static void set_readable(hawser_messages *messages, bool readable)
{
    uint64_t one = 1;
    ssize_t ignored =
        readable ? write(messages->descriptor, &one, sizeof one) : read(messages->descriptor, &one, sizeof one);
    (void)ignored;
}

static void enqueue(hawser_messages *messages, const hawser_message *message)
{
    pthread_mutex_lock(&messages->mutex);
    if (messages->count == CAPACITY) {
        messages->dropped[(messages->first + CAPACITY - 1) % CAPACITY]++;
    } else {
        if (is_empty(messages))
            set_readable(messages, true);
        size_t place = (messages->first + messages->count++) % CAPACITY;
        messages->message[place] = *message;
        messages->dropped[place] = 0;
    }
    pthread_mutex_unlock(&messages->mutex);
}

/* Removes the oldest message, and keeps how many were dropped behind it. */
static void take(hawser_messages *messages, hawser_message *message)
{
    size_t place = messages->first;
    *message = messages->message[place];
    messages->gap = (hawser_message){
        .kind = HAWSER_DROPPED, .node = message->node, .time = message->time, .dropped = messages->dropped[place]};
    messages->first = (place + 1) % CAPACITY;
    messages->count--;
}

static void take_gap(hawser_messages *messages, hawser_message *message)
{
    *message = messages->gap;
    snprintf(message->text, sizeof message->text, "%" PRIu64 " further message%s dropped, because none had been read",
             message->dropped, message->dropped == 1 ? " was" : "s were");
    messages->gap.dropped = 0;
}

bool hawser_messages_next(hawser_messages *messages, hawser_message *message)
{
    if (messages == NULL || message == NULL)
        return false;
    pthread_mutex_lock(&messages->mutex);
    bool found = !is_empty(messages);
    if (messages->gap.dropped != 0)
        take_gap(messages, message);
    else if (found)
        take(messages, message);
    if (found && is_empty(messages))
        set_readable(messages, false);
    pthread_mutex_unlock(&messages->mutex);
    return found;
}

void hw_notify(hawser_messages *to, hawser_message_kind kind, uint32_t node, const char *format, ...)
{
    hawser_message message = {.kind = kind, .node = node, .time = hw_wall_seconds()};
    va_list arguments;
    va_start(arguments, format);
    char text[sizeof message.text]; /* names of files, states and nodes may have newlines */
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    (void)hw_escape(message.text, sizeof message.text, text);
    if (to == NULL) {
        fprintf(stderr, "hawser: %s\n", message.text);
    } else {
        enqueue(to, &message);
    }
}

void hw_notify_end(hawser_messages *to, uint32_t node, const char *text)
{
    hw_notify(NULL, HAWSER_WARNING, node, "%s", text);
    if (to != NULL)
        hw_notify(to, HAWSER_WARNING, node, "%s", text);
}

void hw_print_fault(const char *text, size_t length)
{
    ssize_t ignored = write(STDERR_FILENO, text, length);
    (void)ignored;
}

void hw_print_help(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stdout, format, arguments);
    va_end(arguments);
}
