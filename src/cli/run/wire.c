#include "cli/run/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

enum { HEADER = 9, PIECE = 1 << 16 };

hawser_status hw_buffer_add(hw_buffer *bytes, const void *data, size_t length, hawser_error *error)
{
    if (bytes->from > 0 && bytes->to + length > bytes->capacity) {
        memmove(bytes->data, bytes->data + bytes->from, bytes->to - bytes->from);
        bytes->to -= bytes->from;
        bytes->from = 0;
    }
    HAWSER_TRY(HW_GROW(&bytes->data, &bytes->capacity, bytes->to + length, "a buffer", error));
    if (length > 0)
        memcpy(bytes->data + bytes->to, data, length);
    bytes->to += length;
    return HAWSER_OK;
}

void hw_buffer_drop(hw_buffer *bytes, size_t length)
{
    explicit_bzero(bytes->data + bytes->from, length); /* it may have contained the key */
    bytes->from += length;
    if (bytes->from == bytes->to)
        bytes->from = bytes->to = 0;
}

size_t hw_buffer_left(const hw_buffer *bytes)
{
    return bytes->to - bytes->from;
}

void hw_buffer_free(hw_buffer *bytes)
{
    if (bytes->data != NULL)
        explicit_bzero(bytes->data, bytes->capacity); /* it has contained the key */
    free(bytes->data);
    *bytes = (hw_buffer){0};
}

bool hw_buffer_write(hw_buffer *bytes, int fd)
{
    while (bytes->from < bytes->to) {
        ssize_t put = write(fd, bytes->data + bytes->from, bytes->to - bytes->from);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return errno == EAGAIN;
        hw_buffer_drop(bytes, (size_t)put);
    }
    return true;
}

void hw_close_fd(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

struct pollfd hw_watch(int fd, short events)
{
    return (struct pollfd){.fd = events != 0 ? fd : -1, .events = events};
}

static void prepare(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags >= 0)
        (void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}

void hw_wire_open(hw_wire *wire, int in, int out)
{
    *wire = (hw_wire){.in = in, .out = out};
    prepare(in);
    prepare(out);
}

void hw_wire_close(hw_wire *wire)
{
    if (wire->in >= 0)
        (void)close(wire->in);
    if (wire->out >= 0 && wire->out != wire->in)
        (void)close(wire->out);
    wire->in = wire->out = -1;
    wire->ended = true;
    hw_buffer_free(&wire->received);
    hw_buffer_free(&wire->waiting);
}

static void put_number(unsigned char *at, uint32_t number)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(number >> 8 * i);
}

static uint32_t get_number(const unsigned char *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

hawser_status hw_wire_put(hw_wire *wire, hw_frame_kind kind, uint32_t number, const void *payload, size_t length,
                          hawser_error *error)
{
    unsigned char header[HEADER] = {(unsigned char)kind};
    put_number(header + 1, number);
    put_number(header + 5, (uint32_t)length);
    if (wire->out < 0)
        return HAWSER_OK;
    HAWSER_TRY(hw_buffer_add(&wire->waiting, header, sizeof header, error));
    HAWSER_TRY(hw_buffer_add(&wire->waiting, payload, length, error));
    hw_wire_flush(wire);
    return HAWSER_OK;
}

hawser_status hw_wire_put_text(hw_wire *wire, hw_frame_kind kind, uint32_t number, const char *text, hawser_error *error)
{
    return hw_wire_put(wire, kind, number, text, strlen(text), error);
}

void hw_wire_flush(hw_wire *wire)
{
    if (wire->out >= 0 && !hw_buffer_write(&wire->waiting, wire->out))
        hw_buffer_drop(&wire->waiting, hw_buffer_left(&wire->waiting));
}

bool hw_wire_full(const hw_wire *wire)
{
    return hw_buffer_left(&wire->waiting) > HW_WIRE_FULL;
}

static void mend(hw_wire *wire)
{
    if (wire->cut_at != 0)
        wire->received.data[wire->cut_at] = wire->cut;
    wire->cut_at = 0;
}

hawser_status hw_wire_fill(hw_wire *wire, hawser_error *error)
{
    char piece[PIECE];
    mend(wire);
    if (wire->in < 0 || wire->ended)
        return HAWSER_OK;
    ssize_t got = read(wire->in, piece, sizeof piece);
    if (got > 0)
        return hw_buffer_add(&wire->received, piece, (size_t)got, error);
    wire->ended = got == 0 || (errno != EINTR && errno != EAGAIN);
    return HAWSER_OK;
}

/* Ends the payload by a zero, on a byte that is saved and restored. */
hawser_status hw_wire_next(hw_wire *wire, hw_launch_frame *frame, bool *there, hawser_error *error)
{
    mend(wire);
    size_t left = hw_buffer_left(&wire->received);
    const unsigned char *header = (const unsigned char *)wire->received.data + wire->received.from;
    *there = false;
    if (left < HEADER)
        return HAWSER_OK;
    size_t length = get_number(header + 5);
    if (header[0] < HW_FRAME_KEY || header[0] > HW_FRAME_ALIVE || length > HW_FRAME_MOST)
        return hawser_fail(error, HAWSER_BAD_INPUT, "garbage between hawser run and its agent (kind %u, %zu bytes)",
                           header[0], length);
    if (left < HEADER + length)
        return HAWSER_OK;
    *frame = (hw_launch_frame){.kind = (hw_frame_kind)header[0], .number = get_number(header + 1), .length = length};
    if (wire->received.from + HEADER + length == wire->received.capacity)
        HAWSER_TRY(HW_GROW(&wire->received.data, &wire->received.capacity, wire->received.capacity + 1, "a buffer", error));
    wire->cut_at = wire->received.from + HEADER + length;
    frame->payload = wire->received.data + wire->received.from + HEADER;
    wire->cut = wire->received.data[wire->cut_at];
    wire->received.data[wire->cut_at] = '\0';
    wire->received.from += HEADER + length; /* the payload is there, so the bytes are not dropped yet */
    *there = true;
    return HAWSER_OK;
}
