/* address.h - where nodes listen: sockets, addresses, and how to connect to an address. */
#ifndef HW_TRANSPORT_NET_ADDRESS_H
#define HW_TRANSPORT_NET_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "hawser/status.h"
#include "transport/net/options.h"

struct sockaddr_un;

enum { HW_HOST_ID = 40, HW_UNIX_PATH = 108 /* size of sockaddr_un.sun_path */, HW_CANDIDATES = 16, HW_LISTENERS_MOST = 10 };

/* The listening sockets of a net. */
typedef struct hw_listeners {
    int fds[HW_LISTENERS_MOST]; /* listening sockets */
    int count;
    char path[HW_UNIX_PATH]; /* path of the Unix socket, which hw_listeners_close removes; "@NAME": an abstract socket */
    char address[HW_NET_ADDRESS];
    char listening[HW_NET_LISTENING];
} hw_listeners;

/* Something to connect to. */
typedef struct hw_target {
    struct sockaddr_storage address;
    socklen_t length;
} hw_target;

/* Fills *address for a path of `length` < HW_UNIX_PATH bytes, or for an abstract socket if it begins with '@'. Returns its
 * size. */
socklen_t hw_unix_address(const char *path, size_t length, struct sockaddr_un *address);

/* The boot id of this kernel's run: two processes with the same one may share a file system. */
void hw_host_id(char id[HW_HOST_ID]);

/* Opens the listening sockets. The incarnation is part of the name of the Unix socket's file. listen.c. */
hawser_status hw_listeners_open(const hw_net_options *options, uint64_t incarnation, hw_listeners *listeners,
                                hawser_error *error) HAWSER_MUST_USE;
void hw_listeners_close(hw_listeners *listeners);

/* Lists what an address (or HOST:PORT) names, in the order in which to try it: the Unix path first if `host` is this host,
 * or only it, or not at all, as `transport` says. Names are resolved on each call. */
hawser_status hw_address_targets(const char *address, const char *host, hw_transport_kind transport,
                                 hw_target targets[HW_CANDIDATES], int *count, hawser_error *error) HAWSER_MUST_USE;

/* Starts a non-blocking connect. Returns -1 on failure, with errno; EINPROGRESS counts as success. The socket is
 * close-on-exec and sends without delay. */
int hw_connect_begin(const hw_target *target);
void hw_socket_tune(int fd);
/* Sets up a socket that will listen or connect. Within a host there is no congestion. A control that paces (BBR) sets a
 * timer for each piece, and a connection that began with it never quite stops doing so; so every connection begins
 * without. */
void hw_socket_begin(int fd);
/* Restores the system's congestion control: the other end is on another host. */
void hw_socket_far(int fd);
/* Lifts the limit of unsent data: both ends are on this host, where data leave the kernel at once. */
void hw_socket_near(int fd);

/* "tcp:ADDRESS:PORT", IPv6 in brackets, or "unix". */
void hw_address_text(const struct sockaddr_storage *address, socklen_t length, char text[HW_NET_ADDRESS]);
/* "unix:/path" or "tcp:ADDRESS:PORT" of the other end. */
void hw_peer_text(int fd, char text[HW_NET_ADDRESS]);
/* Returns whether both ends are on one host: a Unix socket, loopback, or one address connected to itself. */
bool hw_same_host(int fd);
bool hw_unix_socket(int fd);
/* Returns whether the process at the other end of a Unix socket runs as the same user. */
bool hw_same_user(int fd);

#endif
