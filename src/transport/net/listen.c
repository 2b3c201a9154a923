/* listen.c - the sockets on which a net listens, and the address that names them. */
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

#include "base/machine.h"
#include "transport/net/address.h"

/* "@": an abstract name, in no file system, which no process has to remove. It exists in this network namespace only. */
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

static hawser_status open_local(const hw_net_options *options, uint64_t incarnation, hw_listeners *listeners,
                                hawser_error *error)
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
        return hawser_fail(error, HAWSER_IO, "cannot listen on the socket %s: %s%s", path, strerror(failure),
                           hw_machine_advice(failure));
    }
    memcpy(listeners->path, path, sizeof listeners->path);
    listeners->fds[listeners->count++] = fd;
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

/* Finds the best address of an interface (NULL: of the first that is up and not loopback): IPv4, else IPv6 with more than
 * link scope. */
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

/* Finds the source address of the default route for one family. Sends nothing: a datagram socket only looks up its route. */
static bool route_address(int family, struct sockaddr_storage *address)
{
    struct sockaddr_in far = {.sin_family = AF_INET, .sin_port = htons(9)};
    struct sockaddr_in6 far6 = {.sin6_family = AF_INET6, .sin6_port = htons(9)};
    inet_pton(AF_INET, "192.0.2.1", &far.sin_addr); /* an address reserved for documentation */
    inet_pton(AF_INET6, "2001:db8::1", &far6.sin6_addr);
    bool six = family == AF_INET6;
    const struct sockaddr *target = six ? (const struct sockaddr *)&far6 : (const struct sockaddr *)&far;
    int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t length = sizeof *address;
    bool found = fd >= 0 && connect(fd, target, six ? sizeof far6 : sizeof far) == 0 &&
                 getsockname(fd, (struct sockaddr *)address, &length) == 0;
    if (fd >= 0)
        close(fd);
    return found;
}

static void parse(const char *text, struct sockaddr_storage *address)
{
    *address = (struct sockaddr_storage){.ss_family = strchr(text, ':') != NULL ? AF_INET6 : AF_INET};
    if (address->ss_family == AF_INET6)
        inet_pton(AF_INET6, text, &((struct sockaddr_in6 *)(void *)address)->sin6_addr);
    else
        inet_pton(AF_INET, text, &((struct sockaddr_in *)(void *)address)->sin_addr);
}

/* The addresses to listen on, and the one to announce. */
typedef struct choice {
    struct sockaddr_storage at[HW_LISTENERS_MOST - 1], announced; /* one listener is a Unix socket, hence - 1 */
    int count;                                                    /* the first one is required; a host may lack the others */
    bool all;                                                     /* at[0] means all addresses */
} choice;

static void add(choice *chosen, const struct sockaddr_storage *given)
{
    struct sockaddr_storage address = *given;
    set_port(&address, 0);
    for (int i = 0; i < chosen->count; i++)
        if (memcmp(&chosen->at[i], &address, sizeof address) == 0)
            return;
    if (chosen->count < HW_LISTENERS_MOST - 1)
        chosen->at[chosen->count++] = address;
}

static void add_text(choice *chosen, const char *text)
{
    struct sockaddr_storage address;
    parse(text, &address);
    add(chosen, &address);
}

/* Adds the addresses of a name. */
static void add_name(choice *chosen, const char *name)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found = NULL;
    if (name == NULL || getaddrinfo(name, NULL, &hints, &found) != 0)
        return;
    for (const struct addrinfo *i = found; i != NULL; i = i->ai_next) {
        struct sockaddr_storage address = {0};
        memcpy(&address, i->ai_addr, i->ai_addrlen);
        add(chosen, &address);
    }
    freeaddrinfo(found);
}

/* Finds the address to announce if the net listens on all addresses, or none was given. */
static void find_announced(struct sockaddr_storage *announced)
{
    *announced = (struct sockaddr_storage){0};
    if (route_address(AF_INET, announced) || route_address(AF_INET6, announced) || interface_address(NULL, announced))
        return;
    parse("127.0.0.1", announced);
}

/* Chooses the default route's addresses of both families and those that local processes use: "localhost" is 127.0.0.1 or
 * ::1, and Debian maps a host's own name to 127.0.1.1 by default. */
static void choose_default(const hw_net_options *options, choice *chosen)
{
    struct sockaddr_storage six = {0};
    find_announced(&chosen->announced);
    add(chosen, &chosen->announced);
    if (route_address(AF_INET6, &six))
        add(chosen, &six);
    add_text(chosen, "127.0.0.1");
    add_text(chosen, "127.0.1.1");
    add_text(chosen, "::1");
    add_name(chosen, options->known_as);
}

static bool is_any(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET6)
        return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
    return ((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr == htonl(INADDR_ANY);
}

/* "::" includes the IPv4 addresses; a kernel without IPv6 has only those. */
static void choose_all(choice *chosen)
{
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    add_text(chosen, fd >= 0 ? "::" : "0.0.0.0");
    if (fd >= 0)
        close(fd);
}

static hawser_status choose(const hw_net_options *options, choice *chosen, hawser_error *error)
{
    *chosen = (choice){0};
    if (options->local_only)
        add_text(chosen, "127.0.0.1");
    else if (options->interface == NULL)
        choose_default(options, chosen);
    else if (strcmp(options->interface, "all") == 0)
        choose_all(chosen);
    else if (interface_address(options->interface, &chosen->announced))
        add(chosen, &chosen->announced);
    else
        add_name(chosen, options->interface);
    if (chosen->count == 0)
        return hawser_fail(error, HAWSER_IO,
                           "\"%s\" is neither an interface that is up nor an address of this host: see `ip address` "
                           "(\"all\" means all addresses)",
                           options->interface);
    if (options->interface != NULL)
        chosen->count = 1;
    chosen->all = is_any(&chosen->at[0]);
    if (chosen->all)
        find_announced(&chosen->announced);
    else
        chosen->announced = chosen->at[0];
    return HAWSER_OK;
}

/* Opens a socket bound to one port. Returns -1 on failure, with errno. */
static int listen_at(const struct sockaddr_storage *where, uint16_t port)
{
    struct sockaddr_storage address = *where;
    set_port(&address, port);
    int on = 1, off = 0;
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    hw_socket_begin(fd);
    if (address.ss_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, (struct sockaddr *)&address, length_of(&address)) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    int failure = errno;
    close(fd);
    errno = failure;
    return -1;
}

static uint16_t port_of(int fd)
{
    struct sockaddr_storage bound;
    socklen_t length = sizeof bound;
    return getsockname(fd, (struct sockaddr *)&bound, &length) == 0 ? get_port(&bound) : 0;
}

static void close_from(hw_listeners *listeners, int first)
{
    while (listeners->count > first)
        close(listeners->fds[--listeners->count]);
}

/* Listens on one port on all addresses; with port 0 the system chooses it for the first one. Returns the port, or 0 with
 * errno and the failing address. Addresses that this host lacks are left out. */
static uint16_t listen_at_all(const choice *chosen, uint16_t port, hw_listeners *listeners,
                              const struct sockaddr_storage **failed)
{
    int first = listeners->count;
    for (int i = 0; i < chosen->count; i++) {
        int fd = listen_at(&chosen->at[i], port);
        if (fd < 0 && i > 0 && errno != EADDRINUSE && errno != EMFILE && errno != ENFILE)
            continue;
        if (fd < 0) {
            int failure = errno;
            *failed = &chosen->at[i];
            close_from(listeners, first);
            errno = failure;
            return 0;
        }
        listeners->fds[listeners->count++] = fd;
        if (i == 0)
            port = port_of(fd);
    }
    return port;
}

/* Writes "ADDRESS:PORT, ..." of the sockets from `first` on. */
static void list(hw_listeners *listeners, int first, const choice *chosen, uint16_t port)
{
    size_t used = 0;
    if (chosen->all) {
        (void)!snprintf(listeners->listening, sizeof listeners->listening, "all addresses%s, port %u",
                        chosen->at[0].ss_family == AF_INET6 ? "" : " of IPv4", port);
        return;
    }
    for (int i = first; i < listeners->count; i++) {
        struct sockaddr_storage bound;
        socklen_t length = sizeof bound;
        char text[HW_NET_ADDRESS];
        if (getsockname(listeners->fds[i], (struct sockaddr *)&bound, &length) != 0)
            continue;
        hw_address_text(&bound, length, text);
        int more = snprintf(listeners->listening + used, sizeof listeners->listening - used, "%s%s", i > first ? ", " : "",
                            text + strlen("tcp:"));
        used += more > 0 && (size_t)more < sizeof listeners->listening - used ? (size_t)more : 0;
    }
}

static hawser_status refuse_ports(const hw_net_options *options, const struct sockaddr_storage *failed, int failure,
                                  hawser_error *error)
{
    char where[HW_NET_ADDRESS];
    hw_address_text(failed, length_of(failed), where);
    where[strlen(where) - strlen(":0")] = '\0'; /* the port is not known yet */
    if (options->port_low == options->port_high)
        return hawser_fail(error, HAWSER_IO, "cannot listen on %s, port %u: %s%s", where + strlen("tcp:"), options->port_low,
                           strerror(failure), hw_machine_advice(failure));
    return hawser_fail(error, HAWSER_IO, "cannot listen on %s, on none of the ports %u to %u: %s", where + strlen("tcp:"),
                       options->port_low, options->port_high, strerror(failure));
}

static hawser_status open_tcp(const hw_net_options *options, hw_listeners *listeners, struct sockaddr_storage *announced,
                              hawser_error *error)
{
    enum { TRIES = 100 }; /* tries, because a port that the system chose for the first address may be taken on another */
    choice chosen;
    HAWSER_TRY(choose(options, &chosen, error));
    bool any = options->port_low == 0;
    uint32_t port = options->port_low, last = any ? TRIES : options->port_high;
    uint16_t found = 0;
    const struct sockaddr_storage *failed = NULL;
    int first = listeners->count;
    for (uint32_t i = port; i <= last && found == 0; i++) {
        found = listen_at_all(&chosen, any ? 0 : (uint16_t)i, listeners, &failed);
        if (found == 0 && errno != EADDRINUSE && errno != EACCES)
            break;
    }
    if (found == 0)
        return refuse_ports(options, failed, errno, error);
    list(listeners, first, &chosen, found);
    *announced = chosen.announced;
    set_port(announced, found);
    return HAWSER_OK;
}

hawser_status hw_listeners_open(const hw_net_options *options, uint64_t incarnation, hw_listeners *listeners,
                                hawser_error *error)
{
    *listeners = (hw_listeners){0};
    hawser_status status = HAWSER_OK;
    if (options->dial_only)
        return HAWSER_OK;
    struct sockaddr_storage announced;
    char host[HW_HOST_ID], text[HW_NET_ADDRESS] = "";
    hw_host_id(host);
    bool local = options->directory != NULL && options->transport != HW_NET_TCP;
    if (local)
        status = open_local(options, incarnation, listeners, error);
    /* A launcher that gives no directory announces a port to the other nodes. */
    if (status == HAWSER_OK && (!local || is_abstract(options) || !options->local_only)) {
        status = open_tcp(options, listeners, &announced, error);
        if (status == HAWSER_OK)
            hw_address_text(&announced, length_of(&announced), text);
    }
    if (status != HAWSER_OK) {
        hw_listeners_close(listeners);
        return status;
    }
    bool both = local && text[0] != '\0';
    (void)!snprintf(listeners->address, sizeof listeners->address, "%s%s%s%s%s%.100s", local ? "unix:" : "", listeners->path,
                    local ? "@" : "", local ? host : "", both ? "," : "", text);
    return HAWSER_OK;
}

void hw_listeners_close(hw_listeners *listeners)
{
    close_from(listeners, 0);
    if (listeners->path[0] != '\0' && listeners->path[0] != '@')
        (void)unlink(listeners->path);
    listeners->path[0] = '\0';
}
