/* net_proxy.h - stands between two nodes: passes bytes on, keeps them, swallows them, changes them. */
#ifndef HW_TESTS_NET_PROXY_H
#define HW_TESTS_NET_PROXY_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "net_nodes.h"

typedef struct proxy {
    int listener;
    uint16_t port, target;
    pthread_t thread;
    atomic_bool ends;
    atomic_bool swallow[2]; /* from the dialler, and to it: neither bytes nor their end pass */
    /* Of the first bytes each way, kept. */
    unsigned char *kept[2];
    size_t kept_size[2];
    char address[64];
} proxy;

enum { PROXY_KEEP = 8 << 20 };

static inline int listen_anywhere(uint16_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 8) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) != 0)
        return -1;
    *port = ntohs(address.sin_port);
    return fd;
}

/* A piece of a message is not kept until what went before it has been acknowledged, which takes 40 ms. */
static inline void send_at_once(int fd)
{
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
}

static inline int connect_to(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return -1;
    }
    send_at_once(fd);
    return fd;
}

/* All of it, or false. */
static inline bool send_all(int fd, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size > 0) {
        ssize_t moved = send(fd, at, size, MSG_NOSIGNAL);
        if (moved <= 0)
            return false;
        at += moved;
        size -= (size_t)moved;
    }
    return true;
}

static inline bool receive_all(int fd, void *bytes, size_t size)
{
    char *at = bytes;
    while (size > 0) {
        ssize_t moved = recv(fd, at, size, 0);
        if (moved <= 0)
            return false;
        at += moved;
        size -= (size_t)moved;
    }
    return true;
}

static inline uint16_t port_of(const char *address)
{
    return (uint16_t)atoi(strrchr(address, ':') + 1);
}

/* False: this direction is at its end. */
static inline bool proxy_pass(proxy *self, int direction, int from, int to)
{
    static const size_t most = 64 << 10;
    char *bytes = malloc(most);
    ssize_t moved = recv(from, bytes, most, 0);
    bool on = moved > 0;
    if (on && self->kept_size[direction] + (size_t)moved <= PROXY_KEEP) {
        memcpy(self->kept[direction] + self->kept_size[direction], bytes, (size_t)moved);
        self->kept_size[direction] += (size_t)moved;
    }
    if (!atomic_load(&self->swallow[direction])) {
        if (on)
            on = send_all(to, bytes, (size_t)moved);
        else
            shutdown(to, SHUT_WR);
    }
    free(bytes);
    return on;
}

static inline void *proxy_main(void *argument)
{
    proxy *self = argument;
    int ends[2] = {-1, -1};
    bool open[2] = {false, false};
    while (!atomic_load(&self->ends)) {
        struct pollfd polls[3] = {
            {self->listener, POLLIN, 0}, {open[0] ? ends[0] : -1, POLLIN, 0}, {open[1] ? ends[1] : -1, POLLIN, 0}};
        if (poll(polls, 3, 20) <= 0)
            continue;
        if (polls[0].revents != 0 && ends[0] < 0) {
            ends[0] = accept(self->listener, NULL, NULL);
            send_at_once(ends[0]);
            ends[1] = connect_to(self->target);
            open[0] = open[1] = ends[0] >= 0 && ends[1] >= 0;
        }
        for (int direction = 0; direction < 2; direction++)
            if (open[direction] && polls[1 + direction].revents != 0)
                open[direction] = proxy_pass(self, direction, ends[direction], ends[!direction]);
    }
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
    return NULL;
}

/* It listens, and passes nothing on before it is started. */
static inline void proxy_prepare(proxy *self, const char *address)
{
    memset(self, 0, sizeof *self);
    self->listener = listen_anywhere(&self->port);
    self->target = port_of(address);
    assert_true(self->listener >= 0);
    for (int i = 0; i < 2; i++) {
        self->kept[i] = malloc(PROXY_KEEP);
        assert_non_null(self->kept[i]);
    }
    (void)!snprintf(self->address, sizeof self->address, "tcp:127.0.0.1:%u", self->port);
}

static inline void proxy_start(proxy *self)
{
    assert_int_equal(pthread_create(&self->thread, NULL, proxy_main, self), 0);
}

/* One connection is served. */
static inline void proxy_open(proxy *self, const char *address)
{
    proxy_prepare(self, address);
    proxy_start(self);
}

/* Ends the thread; what was kept can still be looked at. */
static inline void proxy_stop(proxy *self)
{
    atomic_store(&self->ends, true);
    pthread_join(self->thread, NULL);
    close(self->listener);
}

static inline void proxy_free(proxy *self)
{
    free(self->kept[0]);
    free(self->kept[1]);
}

#endif
