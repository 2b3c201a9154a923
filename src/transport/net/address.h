/* address.h - where nodes listen: sockets, addresses, and the way from an address to a connection. */
#ifndef HW_TRANSPORT_NET_ADDRESS_H
#define HW_TRANSPORT_NET_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "hawser/status.h"
#include "transport/net/options.h"

struct sockaddr_un;

enum { HW_HOST_ID = 40, HW_UNIX_PATH = 108 /* of sockaddr_un */, HW_CANDIDATES = 16, HW_LISTENERS_MOST = 10 };

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

/* Fills *address for a path of `length` < HW_UNIX_PATH bytes, or for an abstract socket if it begins with '@'. Returns its size. */
socklen_t hw_unix_address(const char *path, size_t length, struct sockaddr_un *address);

/* The boot id of this kernel's run: two processes with the same one may share a file system. */
void hw_host_id(char id[HW_HOST_ID]);

/* The incarnation names the Unix socket's file. listen.c. */
hawser_status hw_listeners_open(const hw_net_options *options, uint64_t incarnation, hw_listeners *listeners,
                                hawser_error *error) HAWSER_MUST_USE;
void hw_listeners_close(hw_listeners *listeners);

/* What an address (or HOST:PORT) names, in the order in which to try: the Unix path first, if `host` is ours; it alone, or
 * not at all, as `way` says. Names are resolved now. */
hawser_status hw_address_targets(const char *address, const char *host, hw_net_way way, hw_target targets[HW_CANDIDATES],
                                 int *count, hawser_error *error) HAWSER_MUST_USE;

/* A non-blocking connect; -1: errno. EINPROGRESS is success. Sockets of ours are close-on-exec and send at once. */
int hw_connect_begin(const hw_target *target);
void hw_socket_tune(int fd);
/* Of one that listens, or is about to connect. Within a host there is nothing to congest, and a control that paces what it sends (BBR) sets a timer
 * for each piece, which a connection that has begun with it never gives up quite: so all begin without. */
void hw_socket_begin(int fd);
/* The other end is on another host: congestion is controlled as the system likes it. */
void hw_socket_far(int fd);
/* Both ends are on this host: what the kernel holds is there in a moment, however much it is. */
void hw_socket_near(int fd);

/* "tcp:ADDRESS:PORT", IPv6 in brackets, or "unix". */
void hw_address_text(const struct sockaddr_storage *address, socklen_t length, char text[HW_NET_ADDRESS]);
/* "unix:/path" or "tcp:ADDRESS:PORT" of the other end. */
void hw_peer_text(int fd, char text[HW_NET_ADDRESS]);
/* Both ends are on one host: a Unix socket, loopback, or one address that talks to itself. */
bool hw_same_host(int fd);
bool hw_unix_socket(int fd);
/* The process at the other end of a Unix socket runs as this one's user. */
bool hw_same_user(int fd);

#endif
