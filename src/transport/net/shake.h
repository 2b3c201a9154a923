/*
 * shake.h - the handshake, as steps over a non-blocking socket; both sides, in clear and under TLS.
 *
 *   dials                                accepts
 *   HELLO (node, build, job, nonce) ->
 *                                   <-   HELLO, or REPLY: rejected
 *   [TLS 1.3 with a key derived from the job key and both hellos]
 *   PROOF (in clear only), memory   ->
 *                                   <-   REPLY: number, proof (in clear only); or rejected
 *
 * The two proofs have two keys, each derived from the job key, the role and both hellos. So a proof can neither be reflected
 * nor be used again. Shared memory is passed with the proof if both hellos offer it, and is mapped after the proof was
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

/* The description of a net in handshakes. */
typedef struct hw_identity {
    char build[HW_WIRE_BUILD];
    char job[HW_NET_NAME];
    char name[HW_NET_NAME];
    char address[HW_NET_ADDRESS];
    uint64_t incarnation;
    atomic_uint node;   /* HW_NET_ANY until a peer has sent it */
    unsigned char *key; /* on pages that core dumps leave out */
    size_t key_length;
    uint32_t failure_timeout; /* milliseconds: see hw_handshake_hello */
    bool trust_fabric, encrypt_always;
    hw_transport_kind transport;
    size_t ring;       /* bytes of shared memory per direction; only the dialling thread reads and sets it */
    hw_fabric *fabric; /* NULL: none */
    hw_tls_contexts *contexts;
} hw_identity;

typedef enum hw_shake_progress { HW_SHAKE_READ, HW_SHAKE_WRITE, HW_SHAKE_DONE, HW_SHAKE_FAILED } hw_shake_progress;

/* The reason of a rejection, for the acceptor's counters and to decide whether to try again. */
typedef enum hw_shake_fault {
    HW_FAULT_NONE,
    HW_FAULT_CUT,     /* closed or reset during the handshake */
    HW_FAULT_HELLO,   /* not Hawser, or another build, job or node than expected */
    HW_FAULT_KEY,     /* does not have the key */
    HW_FAULT_REFUSED, /* the other side rejected this one */
    HW_FAULT_LATER,   /* the acceptor rejects the dialler for now; the dialler tries again */
    HW_FAULT_MEMORY
} hw_shake_fault;

typedef enum hw_shake_state {
    HW_SHAKE_CONNECTING,
    HW_SHAKE_HELLO, /* waits for the other side's hello */
    HW_SHAKE_TLS,   /* handshake of TLS */
    HW_SHAKE_PROOF, /* acceptor: waits for the proof */
    HW_SHAKE_REPLY, /* dialler: waits for the reply */
    HW_SHAKE_OVER,
    HW_SHAKE_REFUSING /* acceptor: is sending the rejection */
} hw_shake_state;

typedef struct hw_shake {
    hw_identity *self;
    hw_net_channel channel;
    bool dials, encrypted;
    bool shares, insists; /* memory will be shared; one of the sides accepts nothing else */
    int descriptor;       /* passed with the proof; -1: none */
    hw_shared *shared;    /* NULL: the link uses the socket */
    bool fabric;          /* UCX: both sides have sent their addresses */
    uint32_t expected;    /* dialler: the expected number, or HW_NET_ANY */
    hw_shake_state state;
    hw_shake_fault fault;
    char why[HW_WIRE_REASON]; /* describes the fault */
    size_t have, out_size, out_done, own_size;
    unsigned char in[HW_HANDSHAKE_MOST], out[HW_HANDSHAKE_MOST], own[HW_HANDSHAKE_MOST];
    unsigned char transcript[HW_SECRET];
    hw_handshake_hello peer;
    uint32_t number; /* dialler: own number as the peer sent it */
} hw_shake;

/* Takes the socket, which may still be connecting if this side dials. */
void hw_shake_begin(hw_shake *shake, hw_identity *self, int fd, bool dials, uint32_t expected);
/* Continues as far as the socket allows. HW_SHAKE_DONE means for the dialler: the peer has accepted, and `number` is set;
 * for the acceptor: the peer has proved the key and waits for the reply. */
hw_shake_progress hw_shake_step(hw_shake *shake);
/* For the acceptor, after DONE: packs the reply that accepts the peer and returns its size; the caller writes it to the
 * channel. Returns 0 if OpenSSL fails. */
size_t hw_shake_accept(hw_shake *shake, uint32_t number, unsigned char message[HW_HANDSHAKE_MOST]);
/* For the acceptor, after DONE: rejects the peer instead; call step until HW_SHAKE_FAILED. */
void hw_shake_refuse(hw_shake *shake, hw_shake_fault fault, const char *why);
void hw_shake_close(hw_shake *shake);

#endif
