/*
 * wire.h - bytes on a link: frames that carry messages, and the messages of a handshake. docs/wire.md describes both.
 *
 * Everything is little-endian and of fixed layout. Received bytes are checked (magic, type, checksum, lengths against
 * limits, reserved bytes) before anything is allocated or used.
 */
#ifndef HW_TRANSPORT_WIRE_H
#define HW_TRANSPORT_WIRE_H

#include <stdbool.h>

#include "transport/net/options.h"
#include "transport/transport.h"

enum {
    HW_WIRE_VERSION = 7,
    HW_FRAME_HEAD = 24,     /* bytes of every frame's head */
    HW_FRAME_MESSAGE = 128, /* bytes of the head of a frame that begins a message: head and envelope */
    HW_HANDSHAKE_HEAD = 16,
    HW_HANDSHAKE_BODY = 2048, /* upper limit */
    HW_HANDSHAKE_MOST = HW_HANDSHAKE_HEAD + HW_HANDSHAKE_BODY,
    HW_WIRE_BUILD = 160, /* bytes of a build's name, including the final zero */
    HW_WIRE_NONCE = 32,
    HW_WIRE_MAC = 32,
    HW_WIRE_REASON = 400
};
#define HW_WIRE_PAYLOAD_MOST (UINT64_C(1) << 32)

typedef enum hw_frame_type {
    HW_FRAME_BEGIN = 1, /* a message: envelope and the first `chunk` bytes of its payload, usually all of them */
    HW_FRAME_MORE,      /* the next bytes of the message that has begun and is not complete */
    HW_FRAME_ALIVE,     /* a heartbeat */
    HW_FRAME_GOODBYE    /* no frame follows */
} hw_frame_type;

enum { HW_FRAME_SPREAD = 1 }; /* flag: to be forwarded by the routes of `origin` */

typedef struct hw_frame {
    hw_frame_type type;
    uint8_t flags;
    uint32_t origin; /* node where the message began */
    uint64_t chunk;  /* payload bytes that follow */
    hw_envelope envelope;
} hw_frame;

/* Writes at most HW_FRAME_MESSAGE bytes and returns their number. */
size_t hw_frame_pack(unsigned char *to, const hw_frame *frame);
/* Returns the size of a frame's head, HW_FRAME_HEAD or HW_FRAME_MESSAGE; needs its first five bytes. */
size_t hw_frame_size(const unsigned char *from);
/* Reads a head of hw_frame_size bytes. Returns false if it is invalid; *why is then a clause. */
bool hw_frame_unpack(const unsigned char *from, hw_frame *frame, const char **why);

/* Messages of the handshake, before the first frame. The layout of the head is the same in every version. */
typedef enum hw_handshake_type { HW_HANDSHAKE_HELLO = 1, HW_HANDSHAKE_PROOF, HW_HANDSHAKE_REPLY } hw_handshake_type;

typedef struct hw_handshake_head {
    uint16_t version;
    uint16_t type;
    uint32_t length; /* bytes of the body */
} hw_handshake_head;

/* Flags of one side: it asks for encryption; it can share memory; within a host it accepts nothing else. */
enum { HW_HELLO_ENCRYPT = 1, HW_HELLO_SHARES = 2, HW_HELLO_INSISTS = 4 };
enum { HW_WIRE_FABRIC = 1000 }; /* largest address of UCX, in bytes */

typedef struct hw_handshake_hello {
    char build[HW_WIRE_BUILD];
    char job[HW_NET_NAME];
    hw_net_hello peer;
    uint32_t flags;
    uint32_t failure_timeout; /* milliseconds of silence after which this side treats a peer as lost */
    unsigned char nonce[HW_WIRE_NONCE];
    uint32_t fabric_size; /* 0: does not use UCX */
    unsigned char fabric[HW_WIRE_FABRIC];
} hw_handshake_hello;

typedef struct hw_handshake_reply {
    bool accepted;
    bool shares;     /* if accepted: the link uses the memory that was passed with the proof */
    bool later;      /* if rejected: the dialler may try again */
    uint32_t number; /* node number of the dialler */
    char reason[HW_WIRE_REASON];
    unsigned char mac[HW_WIRE_MAC]; /* zeros under TLS and in rejections */
} hw_handshake_reply;

/* Puts head and checksum before a body of `length` bytes at to + HW_HANDSHAKE_HEAD. Returns the size of the message. */
size_t hw_handshake_seal(unsigned char *to, hw_handshake_type type, size_t length);
/* Each function writes a whole message into `to` (HW_HANDSHAKE_MOST bytes) and returns its size. */
size_t hw_hello_pack(unsigned char *to, const hw_handshake_hello *hello);
size_t hw_proof_pack(unsigned char *to, const unsigned char mac[HW_WIRE_MAC]);
size_t hw_handshake_reply_pack(unsigned char *to, const hw_handshake_reply *reply);

/* Reads a head, also of another version, so that an error can name the version. Returns false if it is not one of Hawser's
 * or is longer than any message of a handshake. */
bool hw_handshake_head_unpack(const unsigned char *from, hw_handshake_head *head, const char **why);
/* Returns true if the checksum of the message is right. */
bool hw_handshake_sound(const unsigned char *message, const hw_handshake_head *head);
/* Each function reads a body. The texts end in zero and have no control characters. */
bool hw_hello_unpack(const unsigned char *body, size_t length, hw_handshake_hello *hello);
bool hw_proof_unpack(const unsigned char *body, size_t length, unsigned char mac[HW_WIRE_MAC]);
bool hw_handshake_reply_unpack(const unsigned char *body, size_t length, hw_handshake_reply *reply);

#endif
