/* transport_bare.h - the least work that moves bytes: one thread per end, one socket, epoll, no framing, and OpenSSL on
 * request. bench_transport and bench_store compare Hawser with it. */
#ifndef BENCH_TRANSPORT_BARE_H
#define BENCH_TRANSPORT_BARE_H

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct bare {
    int fd, poll;
    SSL *ssl;
    unsigned char *buffer;
    size_t capacity;
} bare;

static void die(const char *what)
{
    fprintf(stderr, "bench_transport: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int bare_psk(SSL *ssl, SSL_SESSION **session)
{
    static const unsigned char cipher[] = {0x13, 0x01}, key[32] = "a key for measurements";
    *session = SSL_SESSION_new();
    return SSL_SESSION_set1_master_key(*session, key, sizeof key) &&
           SSL_SESSION_set_cipher(*session, SSL_CIPHER_find(ssl, cipher)) &&
           SSL_SESSION_set_protocol_version(*session, TLS1_3_VERSION);
}

static int bare_use(SSL *ssl, const EVP_MD *digest, const unsigned char **id, size_t *length, SSL_SESSION **session)
{
    (void)digest;
    *id = (const unsigned char *)"bare";
    *length = 4;
    return bare_psk(ssl, session);
}

static int bare_find(SSL *ssl, const unsigned char *id, size_t length, SSL_SESSION **session)
{
    (void)id;
    (void)length;
    return bare_psk(ssl, session);
}

/* Opens one end on a connected socket that is still blocking. */
static bare bare_open(int fd, bool encrypted, bool server, size_t capacity)
{
    bare self = {.fd = fd, .poll = epoll_create1(0), .capacity = capacity, .buffer = calloc(1, capacity)};
    int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (self.poll < 0 || self.buffer == NULL)
        die("no memory");
    memset(self.buffer, 1, capacity); /* unwritten pages would all be one page, which is always in the cache */
    if (encrypted) {
        SSL_CTX *context = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
        SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256");
        SSL_CTX_set_num_tickets(context, 0);
        SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        SSL_CTX_set_psk_use_session_callback(context, bare_use);
        SSL_CTX_set_psk_find_session_callback(context, bare_find);
        self.ssl = SSL_new(context);
        SSL_CTX_free(context);
        SSL_set_fd(self.ssl, fd);
        if ((server ? SSL_accept(self.ssl) : SSL_connect(self.ssl)) != 1)
            die("the bare loop's TLS handshake failed");
    }
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.fd = fd};
    if (epoll_ctl(self.poll, EPOLL_CTL_ADD, fd, &event) != 0)
        die("epoll");
    return self;
}

static void bare_close(bare *self)
{
    SSL_free(self->ssl);
    close(self->fd);
    close(self->poll);
    free(self->buffer);
}

static void bare_wait(bare *self)
{
    struct epoll_event event;
    while (epoll_wait(self->poll, &event, 1, -1) < 0 && errno == EINTR)
        continue;
}

/* Returns the bytes moved, 0 at the end of the stream, or -1 if the caller must wait. */
static ssize_t bare_read(bare *self, void *to, size_t size)
{
    if (self->ssl == NULL)
        return read(self->fd, to, size);
    size_t moved = 0;
    return SSL_read_ex(self->ssl, to, size, &moved) == 1 ? (ssize_t)moved : -1;
}

static ssize_t bare_write(bare *self, const void *from, size_t size)
{
    if (self->ssl == NULL)
        return send(self->fd, from, size, MSG_NOSIGNAL);
    size_t moved = 0;
    return SSL_write_ex(self->ssl, from, size, &moved) == 1 ? (ssize_t)moved : -1;
}

/* Reads each message to the same place, over and over, which is the least that reading can cost. */
static bool bare_receive(bare *self, size_t size, uint64_t count)
{
    uint64_t left = size * count;
    size_t at = 0;
    while (left > 0) {
        size_t most = size - at;
        ssize_t moved = bare_read(self, self->buffer + at, most);
        if (moved == 0)
            return false;
        if (moved < 0) {
            bare_wait(self);
            continue;
        }
        at = (at + (size_t)moved) % size;
        left -= (uint64_t)moved;
    }
    return true;
}

static bool bare_send(bare *self, size_t size, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        for (size_t at = 0; at < size;) {
            ssize_t moved = bare_write(self, self->buffer + at, size - at);
            if (moved < 0 && self->ssl == NULL && errno != EAGAIN)
                return false;
            if (moved < 0)
                bare_wait(self);
            else
                at += (size_t)moved;
        }
    return true;
}

#endif
