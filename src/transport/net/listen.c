/* listen.c - the sockets on which a net hears, and the card that says where they are. */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "transport/net/address.h"

/* "@": a name that is in no file system, which nobody has to remove; it is seen in this network namespace alone. */
static bool is_abstract(const hw_net_options *options)
{
    return strcmp(options->directory, "@") == 0;
}

static hawser_status check_directory(const hw_net_options *options, hawser_error *error)
{
    struct stat status;
    if (mkdir(options->directory, 0700) != 0 && errno != EEXIST)
        return hawser_fail(error, HAWSER_IO, "cannot make the directory %s for sockets: %s", options->directory,
                           strerror(errno));
    if (stat(options->directory, &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid() ||
        (status.st_mode & 077) != 0)
        return hawser_fail(error, HAWSER_IO, "%s must be a directory of this user with mode 0700 to hold sockets",
                           options->directory);
    return HAWSER_OK;
}

static hawser_status open_local(const hw_net_options *options, uint64_t incarnation, hw_ears *ears, hawser_error *error)
{
    char path[HW_UNIX_PATH];
    if (!is_abstract(options))
        HAWSER_TRY(check_directory(options, error));
    int length = snprintf(path, sizeof path, is_abstract(options) ? "%shawser-%016" PRIx64 : "%s/%016" PRIx64,
                          options->directory, incarnation);
    if (length < 0 || (size_t)length >= sizeof path)
        return hawser_fail(error, HAWSER_IO,
                           "the path of a socket in %s is longer than %zu characters: use a shorter directory",
                           options->directory, sizeof path - 1);
    struct sockaddr_un address;
    socklen_t size = hw_unix_address(path, (size_t)length, &address);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) != 0 || listen(fd, SOMAXCONN) != 0) {
        int failure = errno;
        if (fd >= 0)
            close(fd);
        return hawser_fail(error, HAWSER_IO, "cannot listen on the socket %s: %s", path, strerror(failure));
    }
    memcpy(ears->path, path, sizeof ears->path);
    ears->local = fd;
    return HAWSER_OK;
}

static void set_port(struct sockaddr_storage *address, uint16_t port)
{
    if (address->ss_family == AF_INET6)
        ((struct sockaddr_in6 *)(void *)address)->sin6_port = htons(port);
    else
        ((struct sockaddr_in *)(void *)address)->sin_port = htons(port);
}

static uint16_t get_port(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)(const void *)address)->sin6_port);
    return ntohs(((const struct sockaddr_in *)(const void *)address)->sin_port);
}

static socklen_t length_of(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

/* The best address of an interface (NULL: of the first that is up and not loopback): IPv4, else IPv6 beyond the link. */
static bool interface_address(const char *interface, struct sockaddr_storage *address)
{
    struct ifaddrs *all;
    if (getifaddrs(&all) != 0)
        return false;
    int best = 0;
    for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
        if (i->ifa_addr == NULL || (i->ifa_flags & IFF_UP) == 0)
            continue;
        if (interface != NULL ? strcmp(i->ifa_name, interface) != 0 : (i->ifa_flags & IFF_LOOPBACK) != 0)
            continue;
        int family = i->ifa_addr->sa_family, worth = family == AF_INET ? 2 : family == AF_INET6 ? 1 : 0;
        if (family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&((struct sockaddr_in6 *)(void *)i->ifa_addr)->sin6_addr))
            worth = 0;
        if (worth > best) {
            best = worth;
            memset(address, 0, sizeof *address);
            memcpy(address, i->ifa_addr, family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
        }
    }
    freeifaddrs(all);
    return best > 0;
}

/* The address from which the default route would leave. Nothing is sent: a datagram socket only looks up its route. */
static bool route_address(struct sockaddr_storage *address)
{
    struct sockaddr_in far = {.sin_family = AF_INET, .sin_port = htons(9)};
    struct sockaddr_in6 far6 = {.sin6_family = AF_INET6, .sin6_port = htons(9)};
    inet_pton(AF_INET, "192.0.2.1", &far.sin_addr); /* addresses for documentation */
    inet_pton(AF_INET6, "2001:db8::1", &far6.sin6_addr);
    const struct sockaddr *targets[] = {(const struct sockaddr *)&far, (const struct sockaddr *)&far6};
    const socklen_t lengths[] = {sizeof far, sizeof far6};
    bool found = false;
    for (int i = 0; i < 2 && !found; i++) {
        int fd = socket(targets[i]->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        socklen_t length = sizeof *address;
        found =
            fd >= 0 && connect(fd, targets[i], lengths[i]) == 0 && getsockname(fd, (struct sockaddr *)address, &length) == 0;
        if (fd >= 0)
            close(fd);
    }
    return found;
}

static void loopback(struct sockaddr_storage *address)
{
    *address = (struct sockaddr_storage){.ss_family = AF_INET};
    ((struct sockaddr_in *)(void *)address)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
}

/* What to bind, and what to tell others. */
static hawser_status choose(const hw_net_options *options, struct sockaddr_storage *bound, struct sockaddr_storage *told,
                            hawser_error *error)
{
    if (options->local_only) {
        loopback(bound);
        *told = *bound;
        return HAWSER_OK;
    }
    if (options->interface == NULL) {
        *bound = (struct sockaddr_storage){.ss_family = AF_INET6}; /* every address, IPv4 too */
        if (!route_address(told) && !interface_address(NULL, told))
            loopback(told);
        return HAWSER_OK;
    }
    if (!interface_address(options->interface, bound)) {
        struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
        if (getaddrinfo(options->interface, NULL, &hints, &found) != 0)
            return hawser_fail(error, HAWSER_IO,
                               "\"%s\" is neither an interface that is up nor an address of this host: see `ip address`",
                               options->interface);
        memset(bound, 0, sizeof *bound);
        memcpy(bound, found->ai_addr, found->ai_addrlen);
        freeaddrinfo(found);
    }
    *told = *bound;
    return HAWSER_OK;
}

/* A socket bound to one port; -1: errno. */
static int listen_at(struct sockaddr_storage *address, uint16_t port)
{
    set_port(address, port);
    int on = 1, off = 0;
    int fd = socket(address->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    hw_socket_begin(fd);
    if (address->ss_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, (struct sockaddr *)address, length_of(address)) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    int failure = errno;
    close(fd);
    errno = failure;
    return -1;
}

static hawser_status open_tcp(const hw_net_options *options, hw_ears *ears, struct sockaddr_storage *told,
                              hawser_error *error)
{
    struct sockaddr_storage bound;
    HAWSER_TRY(choose(options, &bound, told, error));
    int fd = -1, failure = 0;
    for (uint32_t port = options->port_low; port <= options->port_high && fd < 0; port++) {
        fd = listen_at(&bound, (uint16_t)port);
        if (fd < 0 && errno == EAFNOSUPPORT && options->interface == NULL) {
            bound = (struct sockaddr_storage){.ss_family = AF_INET}; /* a host without IPv6 */
            fd = listen_at(&bound, (uint16_t)port);
        }
        failure = errno;
        if (fd < 0 && failure != EADDRINUSE && failure != EACCES)
            break;
    }
    const char *where = options->interface == NULL ? "any interface" : options->interface;
    if (fd < 0 && options->port_low == options->port_high)
        return hawser_fail(error, HAWSER_IO, "cannot listen on %s, port %u: %s", where, options->port_low,
                           strerror(failure));
    if (fd < 0)
        return hawser_fail(error, HAWSER_IO, "cannot listen on %s, on none of the ports %u to %u: %s", where,
                           options->port_low, options->port_high, strerror(failure));
    socklen_t length = sizeof bound;
    if (getsockname(fd, (struct sockaddr *)&bound, &length) != 0) {
        close(fd);
        return hawser_fail(error, HAWSER_IO, "cannot ask for the port of a socket: %s", strerror(errno));
    }
    set_port(told, get_port(&bound));
    ears->tcp = fd;
    return HAWSER_OK;
}

hawser_status hw_ears_open(const hw_net_options *options, uint64_t incarnation, hw_ears *ears, hawser_error *error)
{
    *ears = (hw_ears){.tcp = -1, .local = -1};
    hawser_status status = HAWSER_OK;
    if (options->deaf)
        return HAWSER_OK;
    struct sockaddr_storage told;
    char host[HW_HOST_ID], text[HW_NET_ADDRESS] = "";
    hw_host_id(host);
    bool local = options->directory != NULL && options->way != HW_NET_TCP;
    if (local)
        status = open_local(options, incarnation, ears, error);
    /* Where no launcher has given a directory, it has told the others a port. */
    if (status == HAWSER_OK && (!local || is_abstract(options) || !options->local_only)) {
        status = open_tcp(options, ears, &told, error);
        if (status == HAWSER_OK)
            hw_address_text(&told, length_of(&told), text);
    }
    if (status != HAWSER_OK) {
        hw_ears_close(ears);
        return status;
    }
    bool both = ears->local >= 0 && ears->tcp >= 0;
    (void)!snprintf(ears->card, sizeof ears->card, "%s%s%s%s%s%.100s", ears->local >= 0 ? "unix:" : "", ears->path,
                    ears->local >= 0 ? "@" : "", ears->local >= 0 ? host : "", both ? "," : "", text);
    return HAWSER_OK;
}

void hw_ears_close(hw_ears *ears)
{
    if (ears->tcp >= 0)
        close(ears->tcp);
    if (ears->local >= 0) {
        close(ears->local);
        if (ears->path[0] != '@')
            (void)unlink(ears->path);
    }
    ears->tcp = ears->local = -1;
}
