/* status.c - texts of statuses and errors. */
#include "hawser/status.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

const char *hawser_status_name(hawser_status status)
{
    switch (status) {
    case HAWSER_OK: return "ok";
    case HAWSER_STOP: return "stop";
    case HAWSER_VIEW_CHANGED: return "view changed";
    case HAWSER_BAD_ARGUMENT: return "bad argument";
    case HAWSER_BAD_OPTION: return "bad option";
    case HAWSER_BAD_INPUT: return "bad input";
    case HAWSER_IO: return "input/output error";
    case HAWSER_NO_MEMORY: return "out of memory";
    case HAWSER_BAD_PROGRAM: return "bad program";
    case HAWSER_NOT_FINITE: return "not finite";
    case HAWSER_DIVERGED: return "diverged";
    case HAWSER_PEER_LOST: return "peer lost";
    case HAWSER_TIMEOUT: return "timeout";
    case HAWSER_INTERNAL: return "internal error";
    }
    return "unknown status";
}

static bool is_inside_character(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80; /* a continuation byte of UTF-8 */
}

/* Leaves out the middle of a long text: its beginning says what is wrong, and its end what to do. */
static void shorten(char *to, size_t size, const char *full, size_t length)
{
    char gap[64];
    size_t head = size / 2, tail = size / 2 - sizeof gap;
    while (head > 0 && is_inside_character(full[head]))
        head--;
    while (tail > 0 && is_inside_character(full[length - tail]))
        tail--;
    int written = snprintf(gap, sizeof gap, "[... %zu bytes ...]", length - head - tail);
    memcpy(to, full, head);
    memcpy(to + head, gap, (size_t)written);
    memcpy(to + head + (size_t)written, full + length - tail, tail + 1);
}

/* Writes a text as it is printed, since it may quote names and words of files. One of 100,000 characters does not push out
 * the rest. */
static void put_text(char *to, size_t size, const char *full)
{
    size_t length = hw_escape(to, size, full);
    char *escaped = length >= size ? malloc(length + 1) : NULL;
    if (escaped == NULL)
        return;
    (void)hw_escape(escaped, length + 1, full);
    shorten(to, size, escaped, length);
    free(escaped);
}

static void format_text(char *to, size_t size, const char *format, va_list arguments)
{
    char own[1000]; /* as long as most texts: a failure for lack of memory needs no more */
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(own, sizeof own, format, again);
    va_end(again);
    char *full = length >= (int)sizeof own ? malloc((size_t)length + 1) : NULL;
    if (full != NULL)
        (void)vsnprintf(full, (size_t)length + 1, format, arguments);
    put_text(to, size, full != NULL ? full : own);
    free(full);
}

hawser_status hawser_fail(hawser_error *error, hawser_status status, const char *format, ...)
{
    if (error != NULL && format == NULL) {
        error->status = status;
        snprintf(error->text, sizeof error->text, "%s", hawser_status_name(status));
    } else if (error != NULL) {
        va_list arguments;
        va_start(arguments, format);
        error->status = status;
        format_text(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
    }
    return status;
}
