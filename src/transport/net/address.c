#include "transport/net/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/number.h"

void hw_host_id(char id[HW_HOST_ID])
{
    (void)!snprintf(id, HW_HOST_ID, "unknown");
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    char text[HW_HOST_ID] = "";
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    if (length <= 0)
        return;
    text[strcspn(text, "\n")] = '\0';
    memcpy(id, text, sizeof text);
}

socklen_t hw_unix_address(const char *path, size_t length, struct sockaddr_un *address)
{
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path, path, length);
    if (path[0] != '@')
        return sizeof *address;
    address->sun_path[0] = '\0';
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
}

/* One entry of an address: "unix:PATH@HOST", "tcp:HOST:PORT" or plain HOST:PORT, with IPv6 in brackets. */
static bool unix_target(const char *entry, const char *host, hw_target *target)
{
    const char *at = strrchr(entry, '@');
    struct sockaddr_un *local = (struct sockaddr_un *)(void *)&target->address;
    if (at == NULL || strcmp(at + 1, host) != 0 || (size_t)(at - entry) >= sizeof local->sun_path)
        return false;
    target->length = hw_unix_address(entry, (size_t)(at - entry), local);
    return true;
}

static hawser_status tcp_targets(char *entry, const char *address, hw_target *targets, int *count, hawser_error *error)
{
    char *colon = strrchr(entry, ':');
    if (colon == NULL || colon == entry || colon[1] == '\0')
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "\"%s\" is no address: HOST:PORT is one, [ADDRESS]:PORT for IPv6",
                           address);
    uint64_t number = 0;
    if (strlen(colon + 1) > 5 || *hw_digits(colon + 1, &number) != '\0' || number == 0 || number > UINT16_MAX)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "\"%s\" has no port: one from 1 to %d follows the last colon",
                           address, UINT16_MAX);
    *colon = '\0';
    char *name = entry, *port = colon + 1;
    size_t length = strlen(name);
    if (name[0] == '[' && name[length - 1] == ']') {
        name[length - 1] = '\0';
        name++;
    }
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found = NULL;
    int failure = getaddrinfo(name, port, &hints, &found);
    if (failure != 0)
        return hawser_fail(error, HAWSER_PEER_LOST, "cannot resolve \"%s\" port %s: %s", name, port, gai_strerror(failure));
    for (const struct addrinfo *i = found; i != NULL && *count < HW_CANDIDATES; i = i->ai_next) {
        hw_target *target = &targets[(*count)++];
        memcpy(&target->address, i->ai_addr, i->ai_addrlen);
        target->length = i->ai_addrlen;
    }
    freeaddrinfo(found);
    return HAWSER_OK;
}

hawser_status hw_address_targets(const char *address, const char *host, hw_transport_kind transport,
                                 hw_target targets[HW_CANDIDATES], int *count, hawser_error *error)
{
    *count = 0;
    char copy[HW_NET_ADDRESS + HW_NUMBER_SLACK] = {0}; /* digits are read by eight */
    if (strlen(address) >= HW_NET_ADDRESS)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "an address of %zu characters: at most %d", strlen(address),
                           HW_NET_ADDRESS - 1);
    memcpy(copy, address, strlen(address) + 1);
    char *rest = copy, *entry;
    bool local = false;
    while ((entry = strsep(&rest, ",")) != NULL) {
        if (strncmp(entry, "unix:", 5) == 0) {
            local = true;
            *count += transport != HW_NET_TCP && *count < HW_CANDIDATES && unix_target(entry + 5, host, &targets[*count]);
        } else if (*count == 0 || transport == HW_NET_BEST || transport == HW_NET_UCX) {
            HAWSER_TRY(tcp_targets(strncmp(entry, "tcp:", 4) == 0 ? entry + 4 : entry, address, targets, count, error));
        }
    }
    if (*count == 0 && local && transport == HW_NET_TCP)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "\"%s\" listens on no TCP port, which --transport tcp asks for",
                           address);
    if (*count == 0)
        return hawser_fail(error, HAWSER_PEER_LOST, "\"%s\" cannot be reached from here%s", address,
                           local ? ": it listens for processes of its own host alone" : "");
    return HAWSER_OK;
}

void hw_socket_tune(int fd)
{
    enum { UNSENT_MOST = 256 << 10 };
    int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* fails on a Unix socket, which has no delay */
    /* Keeps the unsent data of the kernel short. Otherwise it grows its buffer to megabytes per link, which is seconds on a
     * slow one, and nothing in the buffer can be overtaken, coalesced or counted as waiting. Data in transit are not
     * limited. */
    int unsent = UNSENT_MOST;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
}

void hw_socket_near(int fd)
{
    int any = 0;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &any, sizeof any);
}

/* Returns whether the system's congestion control paces. Only such a control is replaced within a host; others (DCTCP) must
 * be set before the first packet. */
static bool paces(int fd, char name[64])
{
    socklen_t length = 63;
    memset(name, 0, 64);
    return getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &length) == 0 && strncmp(name, "bbr", 3) == 0;
}

void hw_socket_begin(int fd)
{
    static const char plain[] = "reno"; /* every kernel has it, for every user */
    char usual[64];
    if (paces(fd, usual))
        (void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, plain, sizeof plain - 1);
}

void hw_socket_far(int fd)
{
    char usual[64];
    int fresh = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fresh >= 0 && paces(fresh, usual))
        (void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, usual, (socklen_t)strlen(usual));
    if (fresh >= 0)
        close(fresh);
}

int hw_connect_begin(const hw_target *target)
{
    int fd = socket(target->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    hw_socket_tune(fd);
    hw_socket_begin(fd);
    if (connect(fd, (const struct sockaddr *)&target->address, target->length) != 0 && errno != EINPROGRESS) {
        int failure = errno;
        close(fd);
        errno = failure;
        return -1;
    }
    return fd;
}

void hw_address_text(const struct sockaddr_storage *address, socklen_t length, char text[HW_NET_ADDRESS])
{
    char host[INET6_ADDRSTRLEN + 20], port[8];
    if (address->ss_family == AF_UNIX) {
        (void)!snprintf(text, HW_NET_ADDRESS, "unix");
        return;
    }
    if (getnameinfo((const struct sockaddr *)address, length, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
        (void)!snprintf(text, HW_NET_ADDRESS, "an address without text");
        return;
    }
    const char *plain = strncmp(host, "::ffff:", 7) == 0 ? host + 7 : host; /* an IPv4 address on an IPv6 socket */
    (void)!snprintf(text, HW_NET_ADDRESS, strchr(plain, ':') != NULL ? "tcp:[%s]:%s" : "tcp:%s:%s", plain, port);
}

void hw_peer_text(int fd, char text[HW_NET_ADDRESS])
{
    struct sockaddr_storage peer;
    socklen_t length = sizeof peer;
    if (getpeername(fd, (struct sockaddr *)&peer, &length) != 0) {
        (void)!snprintf(text, HW_NET_ADDRESS, "somewhere");
        return;
    }
    const struct sockaddr_un *local = (const struct sockaddr_un *)(const void *)&peer;
    if (peer.ss_family == AF_UNIX && length > offsetof(struct sockaddr_un, sun_path) && local->sun_path[0] != '\0')
        (void)!snprintf(text, HW_NET_ADDRESS, "unix:%.*s", HW_UNIX_PATH, local->sun_path);
    else
        hw_address_text(&peer, length, text);
}

static const unsigned char *raw_address(const struct sockaddr_storage *address, size_t *length)
{
    if (address->ss_family == AF_INET) {
        *length = 4;
        return (const unsigned char *)&((const struct sockaddr_in *)(const void *)address)->sin_addr;
    }
    const unsigned char *six = (const unsigned char *)&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    bool mapped = IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)six);
    *length = mapped ? 4 : 16;
    return mapped ? six + 12 : six;
}

bool hw_unix_socket(int fd)
{
    struct sockaddr_storage own;
    socklen_t length = sizeof own;
    return getsockname(fd, (struct sockaddr *)&own, &length) == 0 && own.ss_family == AF_UNIX;
}

bool hw_same_user(int fd)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

bool hw_same_host(int fd)
{
    struct sockaddr_storage own, peer;
    socklen_t own_length = sizeof own, peer_length = sizeof peer;
    if (getsockname(fd, (struct sockaddr *)&own, &own_length) != 0 ||
        getpeername(fd, (struct sockaddr *)&peer, &peer_length) != 0)
        return false;
    if (own.ss_family == AF_UNIX)
        return true;
    size_t a, b;
    const unsigned char *here = raw_address(&own, &a), *there = raw_address(&peer, &b);
    if (a != b)
        return false;
    return memcmp(here, there, a) == 0 || (a == 4 && here[0] == 127 && there[0] == 127);
}
