/*
 * wire.h - the protocol between `hawser run` and its agents, over a socket or through ssh.
 *
 * An agent is the process that starts and watches the nodes of one host. It greets with a line of text, which can be
 * distinguished from what a login shell prints first. Then both sides send frames: kind, number, length, payload. Neither
 * side ever blocks on the other.
 */
#ifndef HW_CLI_RUN_WIRE_H
#define HW_CLI_RUN_WIRE_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hawser/status.h"

#define HW_AGENT_GREETING "hawser-agent 4\n" /* the number is that of this protocol */

typedef enum hw_frame_kind {
    /* To the agent, before it starts anything: */
    HW_FRAME_KEY = 1,   /* the job's key, hexadecimal */
    HW_FRAME_JOB,       /* number: that of all nodes; payload: the job's name */
    HW_FRAME_DIRECTORY, /* the working directory */
    HW_FRAME_VARIABLE,  /* NAME=VALUE */
    HW_FRAME_WORD,      /* an argument of the command; in order */
    HW_FRAME_NODE,      /* number: a node that the agent must start; payload: its name */
    HW_FRAME_BEAT,      /* number: milliseconds between two heartbeats of the agent */
    HW_FRAME_GO,
    /* Later: */
    HW_FRAME_SIGNAL,  /* number: for every node here */
    HW_FRAME_MANAGER, /* the address of node 0 */
    HW_FRAME_ENDING,  /* number: a node that has failed; payload: a text for the other nodes */
    HW_FRAME_INPUT,   /* for node 0; empty: its end */
    /* From the agent; number is the node's: */
    HW_FRAME_STARTED, /* payload: process id, decimal */
    HW_FRAME_FAILED,  /* not started; payload: an exit code like a shell's, and the reason */
    HW_FRAME_ADDRESS,
    HW_FRAME_OUT,
    HW_FRAME_ERR,
    HW_FRAME_TAKEN,    /* number: bytes of input that node 0 has taken */
    HW_FRAME_ENDED,    /* payload: "code N" or "signal N" */
    HW_FRAME_LOST,     /* payload: "N why": it will end because node N has failed */
    HW_FRAME_PROGRESS, /* of node 0: a new checkpoint is on disk; payload: its clock, decimal */
    HW_FRAME_ALIVE     /* a heartbeat; the number is 0 */
} hw_frame_kind;

enum { HW_FRAME_MOST = 1 << 20, HW_WIRE_FULL = 1 << 20 };

typedef struct hw_launch_frame {
    hw_frame_kind kind;
    uint32_t number;
    size_t length;
    char *payload; /* a zero follows; valid until the next call on the wire */
} hw_launch_frame;

typedef struct hw_buffer {
    char *data;
    size_t from, to, capacity;
} hw_buffer;

hawser_status hw_buffer_add(hw_buffer *bytes, const void *data, size_t length, hawser_error *error) HAWSER_MUST_USE;
/* Drops `length` bytes from the front. */
void hw_buffer_drop(hw_buffer *bytes, size_t length);
size_t hw_buffer_left(const hw_buffer *bytes);
void hw_buffer_free(hw_buffer *bytes);
/* Writes without blocking to a non-blocking descriptor; false: the reader is gone. */
bool hw_buffer_write(hw_buffer *bytes, int fd);

/* Closes a descriptor and sets it to -1, unless that is what it is. */
void hw_close_fd(int *fd);
/* Makes an entry for poll; without events the descriptor is ignored. */
struct pollfd hw_watch(int fd, short events);

typedef struct hw_wire {
    int in, out; /* -1: closed. They do not block */
    hw_buffer received, waiting;
    bool ended;    /* no further bytes will arrive */
    char cut;      /* the byte that the zero behind a frame has replaced */
    size_t cut_at; /* its place, from received.data; 0: none */
} hw_wire;

/* Makes both descriptors, which may be equal, non-blocking. The wire owns them. */
void hw_wire_open(hw_wire *wire, int in, int out);
void hw_wire_close(hw_wire *wire);
/* Queues a frame and sends what can be sent. Returns HAWSER_NO_MEMORY only; hw_wire_fill notices that the reader is gone. */
hawser_status hw_wire_put(hw_wire *wire, hw_frame_kind kind, uint32_t number, const void *payload, size_t length,
                          hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_wire_put_text(hw_wire *wire, hw_frame_kind kind, uint32_t number, const char *text,
                               hawser_error *error) HAWSER_MUST_USE;
void hw_wire_flush(hw_wire *wire);
bool hw_wire_full(const hw_wire *wire); /* so many bytes wait that only necessary frames should be queued */
/* Reads what has arrived; sets `ended`. */
hawser_status hw_wire_fill(hw_wire *wire, hawser_error *error) HAWSER_MUST_USE;
/* Returns the next whole frame; *there is false if there is none. HAWSER_BAD_INPUT: the bytes are no frame. */
hawser_status hw_wire_next(hw_wire *wire, hw_launch_frame *frame, bool *there, hawser_error *error) HAWSER_MUST_USE;

#endif
