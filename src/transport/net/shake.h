/*
 * shake.h - the handshake, as steps over a socket that does not block; both sides, in clear and under TLS.
 *
 *   dials                                accepts
 *   HELLO (who, build, job, nonce)  ->
 *                                   <-   HELLO, or VERDICT: refused
 *   [TLS 1.3 by a key made of the job key and both hellos]
 *   PROOF (in clear only), memory   ->
 *                                   <-   VERDICT: number, proof (in clear only); or refused
 *
 * The two proofs are made with two keys, each derived from the job key, its role and both hellos: neither can be sent back where it
 * came from, nor be used again. Memory to share comes with the proof where both hellos offer it, and is mapped when that has been
 * checked. docs/wire.md has the layout.
 */
#ifndef HW_TRANSPORT_NET_SHAKE_H
#define HW_TRANSPORT_NET_SHAKE_H

#include <stdatomic.h>

#include "transport/net/channel.h"
#include "transport/net/fabric.h"
#include "transport/net/shared.h"
#include "transport/net/tls.h"
#include "transport/wire.h"

/* What a net says of itself. */
typedef struct hw_identity {
    char build[HW_WIRE_BUILD];
    char job[HW_NET_NAME];
    char name[HW_NET_NAME];
    char address[HW_NET_ADDRESS];
    uint64_t incarnation;
    atomic_uint node; /* HW_NET_ANY until a peer has said it */
    unsigned char key[HW_NET_KEY_MOST];
    size_t key_length;
    uint32_t failure_timeout; /* milliseconds: see hw_handshake_hello */
    bool trust_fabric, encrypt_always;
    hw_net_way way;
    size_t ring;       /* of what is shared, bytes each way; who dials reads and sets it, nobody else */
    hw_fabric *fabric; /* NULL: none */
    hw_tls_contexts *contexts;
} hw_identity;

typedef enum hw_shake_progress { HW_SHAKE_READ, HW_SHAKE_WRITE, HW_SHAKE_DONE, HW_SHAKE_FAILED } hw_shake_progress;

/* The reason of a rejection, for the acceptor's counters and to decide whether to try again. */
typedef enum hw_shake_fault {
    HW_FAULT_NONE,
    HW_FAULT_CUT,     /* closed or reset in the middle */
    HW_FAULT_HELLO,   /* not one of ours, another build, another job, not who was expected */
    HW_FAULT_KEY,     /* does not know the key */
    HW_FAULT_REFUSED, /* the other side said no */
    HW_FAULT_LATER,   /* the acceptor rejects the dialler for now; the dialler tries again */
    HW_FAULT_MEMORY
} hw_shake_fault;

typedef enum hw_shake_state {
    HW_SHAKE_CONNECTING,
    HW_SHAKE_HELLO, /* waits for the other's hello */
    HW_SHAKE_TLS,   /* TLS's own handshake */
    HW_SHAKE_PROOF, /* accepts: waits for the proof */
    HW_SHAKE_REPLY, /* dials: waits for the reply */
    HW_SHAKE_OVER,
    HW_SHAKE_REFUSING /* accepts: the refusal is on its way */
} hw_shake_state;

typedef struct hw_shake {
    hw_identity *self;
    hw_net_channel channel;
    bool dials, encrypted;
    bool shares, insists; /* memory is to be shared; one of the sides takes nothing else */
    int descriptor;       /* passed with the proof; -1: none */
    hw_shared *shared;    /* NULL: the link is by the socket */
    bool fabric;          /* over UCX: both sides have sent their addresses */
    uint32_t expected;    /* dials: whom, or HW_NET_ANY */
    hw_shake_state state;
    hw_shake_fault fault;
    char why[HW_WIRE_REASON]; /* with the fault */
    size_t have, out_size, out_done, own_size;
    unsigned char in[HW_HANDSHAKE_MOST], out[HW_HANDSHAKE_MOST], own[HW_HANDSHAKE_MOST];
    unsigned char transcript[HW_SECRET];
    hw_handshake_hello peer;
    uint32_t number; /* dials: own number as the peer says it */
} hw_shake;

/* Takes the socket. The dialler's may still be connecting. */
void hw_shake_begin(hw_shake *shake, hw_identity *self, int fd, bool dials, uint32_t expected);
/* Goes as far as the socket lets it. HW_SHAKE_DONE: dials: the peer has accepted, `number` is set; accepts: the peer has proved the key and waits
 * for the reply. */
hw_shake_progress hw_shake_step(hw_shake *shake);
/* Accepts, after DONE: packs the reply that accepts the peer and returns its size; the caller writes it to the channel. Returns 0 if OpenSSL fails. */
size_t hw_shake_accept(hw_shake *shake, uint32_t number, unsigned char message[HW_HANDSHAKE_MOST]);
/* Accepts, after DONE: says no instead; step goes on until HW_SHAKE_FAILED. */
void hw_shake_refuse(hw_shake *shake, hw_shake_fault fault, const char *why);
void hw_shake_close(hw_shake *shake);

#endif
