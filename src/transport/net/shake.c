#include "transport/net/shake.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "transport/net/address.h"

static hw_shake_progress fail(hw_shake *shake, hw_shake_fault fault, const char *format, ...) HAWSER_PRINTF(3, 4);
static hw_shake_progress fail(hw_shake *shake, hw_shake_fault fault, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)!vsnprintf(shake->why, sizeof shake->why, format, arguments);
    va_end(arguments);
    shake->fault = fault;
    shake->state = HW_SHAKE_OVER;
    return HW_SHAKE_FAILED;
}

static void pack_hello(hw_shake *shake)
{
    hw_identity *self = shake->self;
    hw_handshake_hello hello = {.flags = 0};
    memcpy(hello.build, self->build, sizeof hello.build);
    memcpy(hello.job, self->job, sizeof hello.job);
    memcpy(hello.peer.name, self->name, sizeof hello.peer.name);
    memcpy(hello.peer.address, self->address, sizeof hello.peer.address);
    hello.peer.node = atomic_load(&self->node);
    hello.peer.incarnation = self->incarnation;
    hello.failure_timeout = self->failure_timeout;
    bool encrypt = self->encrypt_always || !(self->trust_fabric || hw_same_host(shake->channel.fd));
    bool shares = !encrypt && hw_unix_socket(shake->channel.fd) &&
                  (self->transport == HW_NET_BEST || self->transport == HW_NET_SHARED);
    hello.flags = (encrypt ? HW_HELLO_ENCRYPT : 0) | (shares ? HW_HELLO_SHARES : 0) |
                  (self->transport == HW_NET_SHARED ? HW_HELLO_INSISTS : 0);
    shake->encrypted = encrypt;
    shake->shares = shares;
    if (self->fabric != NULL && !encrypt) {
        size_t size;
        const void *address = hw_fabric_address(self->fabric, &size);
        hello.fabric_size = (uint32_t)size;
        memcpy(hello.fabric, address, size);
    }
    if (!hw_secret_random(hello.nonce, sizeof hello.nonce))
        (void)fail(shake, HW_FAULT_MEMORY, "OpenSSL has no random numbers");
    shake->own_size = hw_hello_pack(shake->own, &hello);
    memcpy(shake->out, shake->own, shake->own_size);
    shake->out_size = shake->own_size;
    shake->out_done = 0;
}

void hw_shake_begin(hw_shake *shake, hw_identity *self, int fd, bool dials, uint32_t expected)
{
    memset(shake, 0, sizeof *shake);
    shake->self = self;
    shake->channel = (hw_net_channel){.fd = fd};
    shake->dials = dials;
    shake->descriptor = -1;
    shake->expected = expected;
    shake->state = dials ? HW_SHAKE_CONNECTING : HW_SHAKE_HELLO;
}

static void close_descriptor(hw_shake *shake)
{
    if (shake->descriptor >= 0)
        close(shake->descriptor);
    shake->descriptor = -1;
}

static void share_nothing(hw_shake *shake)
{
    close_descriptor(shake);
    hw_shared_free(shake->shared);
    shake->shared = NULL;
}

void hw_shake_close(hw_shake *shake)
{
    share_nothing(shake);
    hw_channel_close(&shake->channel);
}

static hw_shake_progress broken(hw_shake *shake, ssize_t said)
{
    char text[160];
    if (said == HW_CHANNEL_END)
        return fail(shake, HW_FAULT_CUT, "the connection was closed in the middle of the handshake");
    return fail(shake, shake->channel.failure == 0 ? HW_FAULT_KEY : HW_FAULT_CUT, "%s in the middle of the handshake",
                hw_channel_trouble(&shake->channel, text, sizeof text));
}

/* Sends the proof with the memory's descriptor, or the proof alone if the system passes no descriptors. */
static ssize_t give(hw_shake *shake, const struct iovec *piece)
{
    ssize_t moved = hw_mapping_send(shake->channel.fd, piece, 1, shake->descriptor);
    if (moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return HW_CHANNEL_AGAIN;
    if (moved < 0)
        share_nothing(shake);
    else
        close_descriptor(shake);
    return moved < 0 ? hw_channel_write(&shake->channel, piece, 1) : moved;
}

/* Writes what is due. Returns DONE if nothing is left. */
static hw_shake_progress flush(hw_shake *shake)
{
    while (shake->out_done < shake->out_size) {
        struct iovec piece = {shake->out + shake->out_done, shake->out_size - shake->out_done};
        bool gives = shake->dials && shake->descriptor >= 0;
        ssize_t moved = gives ? give(shake, &piece) : hw_channel_write(&shake->channel, &piece, 1);
        if (moved == HW_CHANNEL_AGAIN)
            return HW_SHAKE_WRITE;
        if (moved < 0)
            return broken(shake, moved);
        shake->out_done += (size_t)moved;
    }
    return HW_SHAKE_DONE;
}

static ssize_t receive_with_descriptor(hw_shake *shake, const struct iovec *piece)
{
    ssize_t moved = hw_mapping_receive(shake->channel.fd, piece->iov_base, piece->iov_len, &shake->descriptor);
    if (moved >= 0)
        return moved;
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)
        return HW_CHANNEL_AGAIN;
    shake->channel.failure = errno;
    return HW_CHANNEL_BROKEN;
}

/* Reads up to `size` bytes of the message and no more, because the following bytes belong to the link. */
static hw_shake_progress fill(hw_shake *shake, size_t size)
{
    while (shake->have < size) {
        struct iovec piece = {shake->in + shake->have, size - shake->have};
        ssize_t moved = shake->state == HW_SHAKE_PROOF && shake->shares ? receive_with_descriptor(shake, &piece)
                                                                        : hw_channel_read(&shake->channel, &piece, 1);
        if (moved == HW_CHANNEL_AGAIN)
            return HW_SHAKE_READ;
        if (moved <= 0)
            return broken(shake, moved);
        shake->have += (size_t)moved;
    }
    return HW_SHAKE_DONE;
}

static hw_shake_progress read_message(hw_shake *shake, hw_handshake_head *head)
{
    const char *why;
    hw_shake_progress progress = fill(shake, HW_HANDSHAKE_HEAD);
    if (progress != HW_SHAKE_DONE)
        return progress;
    if (!hw_handshake_head_unpack(shake->in, head, &why))
        return fail(shake, HW_FAULT_HELLO, "%s", why);
    if (head->version != HW_WIRE_VERSION) {
        (void)!snprintf(shake->why, sizeof shake->why,
                        "wire formats differ: one side speaks version %u, the other (%s, build %s) version %u; run the same "
                        "release of Hawser everywhere",
                        head->version, shake->self->name, shake->self->build, HW_WIRE_VERSION);
        hw_shake_refuse(shake, HW_FAULT_HELLO, NULL);
        return HW_SHAKE_WRITE; /* the next step reports it */
    }
    progress = fill(shake, HW_HANDSHAKE_HEAD + (size_t)head->length);
    if (progress != HW_SHAKE_DONE)
        return progress;
    if (!hw_handshake_sound(shake->in, head))
        return fail(shake, HW_FAULT_HELLO, "a message of the handshake was damaged in transit");
    shake->have = 0;
    return HW_SHAKE_DONE;
}

void hw_shake_refuse(hw_shake *shake, hw_shake_fault fault, const char *why)
{
    if (why != NULL)
        (void)!snprintf(shake->why, sizeof shake->why, "%s", why);
    shake->fault = fault;
    if (shake->dials) {
        shake->state = HW_SHAKE_OVER;
        return;
    }
    hw_handshake_reply reply = {.accepted = false, .later = fault == HW_FAULT_LATER};
    memcpy(reply.reason, shake->why, sizeof reply.reason);
    shake->out_size = hw_handshake_reply_pack(shake->out, &reply);
    shake->out_done = 0;
    shake->state = HW_SHAKE_REFUSING;
}

/* Checks what a hello alone shows. Returns false with shake->why. */
static bool hello_fits(hw_shake *shake)
{
    const hw_identity *self = shake->self;
    const hw_handshake_hello *peer = &shake->peer;
    char *why = shake->why;
    size_t size = sizeof shake->why;
    int written = 0;
    if (strcmp(peer->build, self->build) != 0)
        written = snprintf(why, size, "builds differ: %s runs %s, %s runs %s", self->name, self->build, peer->peer.name,
                           peer->build);
    else if (strcmp(peer->job, self->job) != 0)
        written = snprintf(why, size, "jobs differ: %s belongs to job \"%s\", %s to job \"%s\"", self->name, self->job,
                           peer->peer.name, peer->job);
    else if (peer->peer.incarnation == self->incarnation)
        written = snprintf(why, size, "%s has connected to itself", self->name);
    else if (shake->expected != HW_NET_ANY && peer->peer.node != shake->expected)
        written = snprintf(why, size, "node %" PRIu32 " was expected there, not node %" PRIu32 " (%s)", shake->expected,
                           peer->peer.node, peer->peer.name);
    return written == 0;
}

static bool derive(hw_shake *shake, const char *purpose, unsigned char key[HW_SECRET])
{
    return hw_secret_derive(shake->self->key, shake->self->key_length, purpose, shake->transcript, key);
}

static bool proof_of(hw_shake *shake, unsigned char mac[HW_WIRE_MAC])
{
    unsigned char key[HW_SECRET];
    bool done = derive(shake, "hawser net 1 dial", key) && hw_secret_mac(key, shake->transcript, HW_SECRET, mac);
    hw_secret_forget(key, sizeof key);
    return done;
}

/* Computes the proof over a packed reply: all of its body except the proof. */
static bool reply_proof(hw_shake *shake, const unsigned char *message, size_t size, unsigned char mac[HW_WIRE_MAC])
{
    unsigned char key[HW_SECRET];
    bool done = derive(shake, "hawser net 1 accept", key) &&
                hw_secret_mac(key, message + HW_HANDSHAKE_HEAD, size - HW_HANDSHAKE_HEAD - HW_WIRE_MAC, mac);
    hw_secret_forget(key, sizeof key);
    return done;
}

static hw_shake_progress begin_tls(hw_shake *shake)
{
    unsigned char key[HW_SECRET];
    char identity[200];
    const hw_handshake_hello *peer = &shake->peer;
    const char *dialler = shake->dials ? shake->self->name : peer->peer.name;
    uint64_t incarnation = shake->dials ? shake->self->incarnation : peer->peer.incarnation;
    (void)!snprintf(identity, sizeof identity, "hawser 1 dial %016" PRIx64 " %s", incarnation, dialler);
    if (derive(shake, "hawser net 1 tls", key))
        shake->channel.tls = hw_tls_begin(shake->self->contexts, shake->channel.fd, !shake->dials, identity, key);
    hw_secret_forget(key, sizeof key);
    if (shake->channel.tls == NULL)
        return fail(shake, HW_FAULT_MEMORY, "no memory for an encrypted connection");
    return HW_SHAKE_DONE;
}

/* Checks whether the link can use UCX. UCX does not encrypt, so between hosts it is used only if neither side asks for
 * encryption. Returns false with shake->why. */
static bool fabric_fits(hw_shake *shake)
{
    bool here = shake->self->fabric != NULL, there = shake->peer.fabric_size > 0;
    bool near = hw_same_host(shake->channel.fd);
    shake->fabric = here && there && !shake->encrypted;
    if (shake->fabric || (!here && !there) || (shake->encrypted && !near))
        return true;
    const char *asks = here ? shake->self->name : shake->peer.peer.name;
    int written = snprintf(
        shake->why, sizeof shake->why, "%s asks for UCX (--transport ucx), but the link of %s with %s cannot use it: %s",
        asks, shake->self->name, shake->peer.peer.name,
        shake->encrypted ? "it is encrypted"
                         : "the other does not ask for it; give it to all nodes (stand-alone servers cannot use it)");
    return written < 0;
}

/* Chooses the transport of the link from the options of both sides. Returns false with shake->why. */
static bool transports_fit(hw_shake *shake)
{
    const hw_identity *self = shake->self;
    const char *peer = shake->peer.peer.name;
    if (!fabric_fits(shake))
        return false;
    bool local = hw_unix_socket(shake->channel.fd), offered = (shake->peer.flags & HW_HELLO_SHARES) != 0;
    bool asks = self->transport == HW_NET_SHARED;
    if (!hw_same_host(shake->channel.fd))
        return true;
    shake->insists = asks || (shake->peer.flags & HW_HELLO_INSISTS) != 0;
    bool able = shake->shares && !shake->encrypted;
    shake->shares = able && offered;
    int written = 0;
    if (shake->insists && !shake->shares)
        written =
            snprintf(shake->why, sizeof shake->why,
                     "%s asks for shared memory on its host (--transport shm), but the link of %s with %s cannot use it: %s",
                     asks ? self->name : peer, self->name, peer,
                     !local             ? "it uses TCP, not a Unix socket"
                     : shake->encrypted ? "it is encrypted"
                                        : "the other asks for --transport unix");
    else if (self->transport == HW_NET_UNIX && !local)
        written = snprintf(shake->why, sizeof shake->why,
                           "%s asks for Unix sockets on its host (--transport unix), but the link with %s uses TCP",
                           self->name, peer);
    return written == 0;
}

/* Dialler: makes the shared memory, which is sent with the proof. */
static bool make_memory(hw_shake *shake)
{
    hawser_error error;
    if (!shake->shares || hw_shared_new(shake->self->ring, &shake->shared, &shake->descriptor, &error) == HAWSER_OK ||
        !shake->insists)
        return true;
    (void)fail(shake, HW_FAULT_MEMORY, "%.300s (--transport shm asks for it)", error.text);
    return false;
}

/* Acceptor: maps the memory that was received with a correct proof. */
static hw_shake_progress map_memory(hw_shake *shake)
{
    hawser_error error;
    hawser_status status = HAWSER_OK;
    if (shake->shares && shake->descriptor < 0)
        status = hawser_fail(&error, HAWSER_IO, "%s passed no shared memory", shake->peer.peer.name);
    else if (shake->shares)
        status = hw_shared_open(shake->descriptor, &shake->shared, &error);
    close_descriptor(shake);
    shake->state = HW_SHAKE_OVER;
    if (status != HAWSER_OK && shake->insists) {
        (void)!snprintf(shake->why, sizeof shake->why, "%.300s (--transport shm asks for it)", error.text);
        hw_shake_refuse(shake, HW_FAULT_HELLO, NULL);
    }
    return HW_SHAKE_DONE;
}

static hw_shake_progress after_hellos(hw_shake *shake, const unsigned char *peer, size_t peer_size)
{
    bool done = shake->dials ? hw_secret_digest(shake->own, shake->own_size, peer, peer_size, shake->transcript)
                             : hw_secret_digest(peer, peer_size, shake->own, shake->own_size, shake->transcript);
    if (!done)
        return fail(shake, HW_FAULT_MEMORY, "OpenSSL could not make a digest");
    shake->encrypted |= (shake->peer.flags & HW_HELLO_ENCRYPT) != 0;
    if (!transports_fit(shake)) {
        hw_shake_refuse(shake, HW_FAULT_HELLO, NULL);
        return shake->dials ? HW_SHAKE_FAILED : HW_SHAKE_DONE;
    }
    if (shake->encrypted) {
        shake->state = HW_SHAKE_TLS;
        return HW_SHAKE_DONE;
    }
    if (!shake->dials) {
        shake->state = HW_SHAKE_PROOF;
        return HW_SHAKE_DONE;
    }
    if (!make_memory(shake))
        return HW_SHAKE_FAILED;
    shake->state = HW_SHAKE_REPLY;
    unsigned char mac[HW_WIRE_MAC];
    if (!proof_of(shake, mac))
        return fail(shake, HW_FAULT_MEMORY, "OpenSSL could not make a proof");
    shake->out_size = hw_proof_pack(shake->out, mac);
    shake->out_done = 0;
    return HW_SHAKE_DONE;
}

static hw_shake_progress was_rejected(hw_shake *shake, const hw_handshake_reply *reply)
{
    hw_shake_fault fault = reply->later ? HW_FAULT_LATER : HW_FAULT_REFUSED;
    return fail(shake, fault, "%s", reply->reason[0] != '\0' ? reply->reason : "it rejected this node without a reason");
}

static hw_shake_progress refused(hw_shake *shake, const hw_handshake_head *head)
{
    hw_handshake_reply reply;
    if (!hw_handshake_reply_unpack(shake->in + HW_HANDSHAKE_HEAD, head->length, &reply) || reply.accepted)
        return fail(shake, HW_FAULT_HELLO, "its reply is malformed");
    return was_rejected(shake, &reply);
}

static hw_shake_progress on_hello(hw_shake *shake)
{
    hw_handshake_head head;
    hw_shake_progress progress = read_message(shake, &head);
    if (progress != HW_SHAKE_DONE)
        return progress;
    if (shake->dials && head.type == HW_HANDSHAKE_REPLY)
        return refused(shake, &head);
    if (head.type != HW_HANDSHAKE_HELLO || !hw_hello_unpack(shake->in + HW_HANDSHAKE_HEAD, head.length, &shake->peer))
        return fail(shake, HW_FAULT_HELLO, "it sent a malformed hello");
    if (!hello_fits(shake)) {
        hw_shake_refuse(shake, HW_FAULT_HELLO, NULL);
        return shake->dials ? HW_SHAKE_FAILED : HW_SHAKE_DONE;
    }
    if (!shake->dials)
        pack_hello(shake);
    return shake->state == HW_SHAKE_OVER ? HW_SHAKE_FAILED
                                         : after_hellos(shake, shake->in, HW_HANDSHAKE_HEAD + (size_t)head.length);
}

static hw_shake_progress on_tls(hw_shake *shake)
{
    if (shake->channel.tls == NULL && begin_tls(shake) != HW_SHAKE_DONE) /* not before our hello is sent */
        return HW_SHAKE_FAILED;
    switch (hw_tls_shake(shake->channel.tls, &shake->channel.failure)) {
    case HW_TLS_READ: return HW_SHAKE_READ;
    case HW_TLS_WRITE: return HW_SHAKE_WRITE;
    case HW_TLS_FAILED:
        if (shake->channel.failure != 0)
            return broken(shake, HW_CHANNEL_BROKEN);
        return fail(shake, HW_FAULT_KEY, "%s does not have the key of job \"%s\"", shake->peer.peer.name, shake->self->job);
    case HW_TLS_DONE: break;
    }
    shake->state = shake->dials ? HW_SHAKE_REPLY : HW_SHAKE_OVER;
    return HW_SHAKE_DONE;
}

static hw_shake_progress on_proof(hw_shake *shake)
{
    hw_handshake_head head;
    unsigned char said[HW_WIRE_MAC], due[HW_WIRE_MAC];
    hw_shake_progress progress = read_message(shake, &head);
    if (progress != HW_SHAKE_DONE)
        return progress;
    if (head.type != HW_HANDSHAKE_PROOF || !hw_proof_unpack(shake->in + HW_HANDSHAKE_HEAD, head.length, said))
        return fail(shake, HW_FAULT_HELLO, "it sent a malformed proof");
    if (!proof_of(shake, due)) {
        hw_shake_refuse(shake, HW_FAULT_MEMORY, "not enough memory is left here to check a proof of the key");
        return HW_SHAKE_DONE;
    }
    if (!hw_secret_equal(said, due, sizeof due)) {
        (void)!snprintf(shake->why, sizeof shake->why, "%s does not have the key of job \"%s\"", shake->peer.peer.name,
                        shake->self->job);
        hw_shake_refuse(shake, HW_FAULT_KEY, NULL);
        return HW_SHAKE_DONE;
    }
    return map_memory(shake);
}

static hw_shake_progress on_reply(hw_shake *shake)
{
    hw_handshake_head head;
    hw_handshake_reply reply;
    unsigned char due[HW_WIRE_MAC];
    hw_shake_progress progress = read_message(shake, &head);
    if (progress != HW_SHAKE_DONE)
        return progress;
    if (head.type != HW_HANDSHAKE_REPLY || !hw_handshake_reply_unpack(shake->in + HW_HANDSHAKE_HEAD, head.length, &reply))
        return fail(shake, HW_FAULT_HELLO, "its reply is malformed");
    if (!reply.accepted)
        return was_rejected(shake, &reply);
    if (!shake->encrypted && !reply_proof(shake, shake->in, HW_HANDSHAKE_HEAD + (size_t)head.length, due))
        return fail(shake, HW_FAULT_MEMORY, "not enough memory is left here to check a proof of the key");
    if (!shake->encrypted && !hw_secret_equal(reply.mac, due, sizeof due))
        return fail(shake, HW_FAULT_KEY, "%s does not have the key of job \"%s\"", shake->peer.peer.name, shake->self->job);
    if (reply.shares ? shake->shared == NULL : shake->insists)
        return fail(shake, HW_FAULT_HELLO, "%s does not share memory although it agreed to", shake->peer.peer.name);
    if (!reply.shares)
        share_nothing(shake);
    shake->number = reply.number;
    shake->state = HW_SHAKE_OVER;
    return HW_SHAKE_DONE;
}

static hw_shake_progress on_connected(hw_shake *shake)
{
    int failure = 0;
    socklen_t size = sizeof failure;
    if (getsockopt(shake->channel.fd, SOL_SOCKET, SO_ERROR, &failure, &size) != 0)
        failure = errno;
    if (failure != 0)
        return fail(shake, HW_FAULT_CUT, "%s", strerror(failure));
    struct sockaddr_storage peer;
    size = sizeof peer;
    if (getpeername(shake->channel.fd, (struct sockaddr *)&peer, &size) != 0)
        return HW_SHAKE_WRITE; /* still connecting */
    pack_hello(shake);
    if (shake->state == HW_SHAKE_OVER)
        return HW_SHAKE_FAILED;
    shake->state = HW_SHAKE_HELLO;
    return HW_SHAKE_DONE;
}

hw_shake_progress hw_shake_step(hw_shake *shake)
{
    for (;;) {
        hw_shake_progress progress = flush(shake);
        if (progress == HW_SHAKE_DONE) {
            switch (shake->state) {
            case HW_SHAKE_CONNECTING: progress = on_connected(shake); break;
            case HW_SHAKE_HELLO: progress = on_hello(shake); break;
            case HW_SHAKE_TLS: progress = on_tls(shake); break;
            case HW_SHAKE_PROOF: progress = on_proof(shake); break;
            case HW_SHAKE_REPLY: progress = on_reply(shake); break;
            case HW_SHAKE_REFUSING: shake->state = HW_SHAKE_OVER; return HW_SHAKE_FAILED;
            case HW_SHAKE_OVER: return shake->fault == HW_FAULT_NONE ? HW_SHAKE_DONE : HW_SHAKE_FAILED;
            }
        }
        if (progress != HW_SHAKE_DONE)
            return progress;
    }
}

size_t hw_shake_accept(hw_shake *shake, uint32_t number, unsigned char message[HW_HANDSHAKE_MOST])
{
    hw_handshake_reply reply = {.accepted = true, .shares = shake->shared != NULL, .number = number};
    size_t size = hw_handshake_reply_pack(message, &reply);
    if (shake->encrypted)
        return size;
    return reply_proof(shake, message, size, reply.mac) ? hw_handshake_reply_pack(message, &reply) : 0;
}
