/* Where a net listens: by default on the default route's addresses and loopback, on all addresses when asked, and on its
 * Unix socket for processes of the same user. */
#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "net_nodes.h"

#include "transport/net/address.h"

enum { OTHER_USER = 65534 };

/* Does something listen on this address of IPv4? */
static bool answers(const char *address, unsigned port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    assert_int_equal(inet_pton(AF_INET, address, &at.sin_addr), 1);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    bool connected = connect(fd, (struct sockaddr *)&at, sizeof at) == 0;
    close(fd);
    return connected;
}

static unsigned port_of(const node *one)
{
    return (unsigned)atoi(strrchr(hw_net_address(one->net), ':') + 1);
}

static hw_net_options open_options(uint32_t number, const char *interface)
{
    hw_net_options options = node_options(number, NULL);
    options.local_only = false;
    options.interface = interface;
    return options;
}

/* Copies the host of the announced address: "10.0.0.1" of "tcp:10.0.0.1:7000". */
static void announced_address(const node *one, char address[64])
{
    const char *from = strstr(hw_net_address(one->net), "tcp:");
    assert_non_null(from);
    (void)!snprintf(address, 64, "%.*s", (int)(strrchr(from, ':') - from - 4), from + 4);
}

static void route_and_loopback_are_bound_by_default_and_nothing_else(void **state)
{
    (void)state;
    node one;
    hw_net_options options = open_options(0, NULL);
    node_open(&one, &options);
    char announced[64], entry[100];
    announced_address(&one, announced);
    const char *listening = hw_net_listening(one.net);
    (void)!snprintf(entry, sizeof entry, "%s:%u", announced, port_of(&one));
    assert_ptr_equal(strstr(listening, entry), listening); /* the first of the list */
    (void)!snprintf(entry, sizeof entry, "127.0.0.1:%u", port_of(&one));
    assert_non_null(strstr(listening, entry));
    if (strchr(announced, ':') == NULL)
        assert_true(answers(announced, port_of(&one)));
    assert_true(answers("127.0.0.1", port_of(&one)));
    assert_true(answers("127.0.1.1", port_of(&one))); /* a host's own name on Debian */
    assert_false(answers("127.0.0.2", port_of(&one)));
    node_close(&one);
}

static void all_addresses_are_bound_when_asked(void **state)
{
    (void)state;
    const char *const words[] = {"all", "0.0.0.0", "::"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        node one, plain;
        hawser_error error = {0};
        hw_net_options options = open_options(0, words[i]), usual = open_options(0, NULL);
        if (i == 2 && node_try(&one, &options, &error) != HAWSER_OK) {
            print_message("skipped: no IPv6 here: %s\n", error.text);
            break;
        }
        if (i != 2)
            node_open(&one, &options);
        node_open(&plain, &usual);
        assert_true(answers("127.0.0.2", port_of(&one)));
        assert_non_null(strstr(hw_net_listening(one.net), "all addresses"));
        char announced[64], usually[64];
        announced_address(&one, announced);
        announced_address(&plain, usually);
        assert_string_equal(announced, usually); /* no peer can connect to 0.0.0.0 */
        node_close(&one);
        node_close(&plain);
    }
}

static void a_requested_address_is_bound_alone(void **state)
{
    (void)state;
    node one;
    hw_net_options options = open_options(0, "127.0.0.2");
    node_open(&one, &options);
    assert_true(answers("127.0.0.2", port_of(&one)));
    assert_false(answers("127.0.0.1", port_of(&one)));
    assert_null(strchr(hw_net_listening(one.net), ','));
    node_close(&one);
}

/* All addresses have one port: one that loopback has not is passed over, or refused by name. */
static void a_port_that_loopback_lacks_is_not_used(void **state)
{
    (void)state;
    node loopback, other;
    hw_net_options options = open_options(0, "127.0.0.1");
    node_open(&loopback, &options);
    unsigned port = port_of(&loopback);
    assert_true(port < UINT16_MAX - 10);
    options = open_options(0, NULL);
    options.port_low = (uint16_t)port;
    options.port_high = (uint16_t)(port + 10);
    node_open(&other, &options);
    assert_true(port_of(&other) > port && port_of(&other) <= port + 10);
    node_close(&other);
    hawser_error error = {0};
    options.port_high = options.port_low;
    assert_int_equal(node_try(&other, &options, &error), HAWSER_IO);
    assert_non_null(strstr(error.text, "127.0.0.1"));
    node_close(&loopback);
}

static void an_announced_name_is_bound_too(void **state)
{
    (void)state;
    node one;
    hw_net_options options = open_options(0, NULL);
    options.known_as = "127.0.0.3"; /* as a name that resolves to it */
    node_open(&one, &options);
    assert_true(answers("127.0.0.3", port_of(&one)));
    assert_false(answers("127.0.0.2", port_of(&one)));
    node_close(&one);
}

/* Joins the peer as another user; 0: by TCP. */
static int join_as_another(const char *peer_address, hw_transport_kind transport)
{
    hw_net_options options = open_options(1, NULL);
    options.transport = transport;
    hawser_error error = {0};
    node self;
    uint32_t number;
    if (setresgid(OTHER_USER, OTHER_USER, OTHER_USER) != 0 || setresuid(OTHER_USER, OTHER_USER, OTHER_USER) != 0)
        return 9;
    if (node_try(&self, &options, &error) != HAWSER_OK)
        return 8;
    hawser_status status =
        hw_net_dial(self.net, peer_address, 0, transport == HW_NET_UNIX ? 0.5 : TEST_TIMEOUT, &number, &error);
    if (status != HAWSER_OK)
        return strstr(error.text, "belongs to another user") != NULL ? 1 : 7;
    return strcmp(node_path(&self, 0).transport, "tcp") == 0 ? 0 : 6;
}

/* Connects to the Unix socket itself; 0: it was closed on us without a word. */
static int speak_as_another(const char *peer_address)
{
    struct sockaddr_un at;
    char byte;
    size_t length =
        strcspn(peer_address + 5, "@") == 0 ? 1 + strcspn(peer_address + 6, "@") : strcspn(peer_address + 5, "@");
    socklen_t size = hw_unix_address(peer_address + 5, length, &at);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (setresuid(OTHER_USER, OTHER_USER, OTHER_USER) != 0 || connect(fd, (struct sockaddr *)&at, size) != 0)
        return 9;
    return read(fd, &byte, 1) <= 0 ? 0 : 5;
}

/* Starts a process, before this one has threads, that connects to the address that it reads. */
static pid_t another(int ends[2], int what)
{
    char text[HW_NET_ADDRESS] = "";
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child != 0)
        return child;
    close(ends[1]);
    alarm((unsigned)TEST_TIMEOUT * 2);
    if (read(ends[0], text, sizeof text) <= 0)
        _exit(10);
    _exit(what == 0   ? join_as_another(text, HW_NET_BEST)
          : what == 1 ? join_as_another(text, HW_NET_UNIX)
                      : speak_as_another(text));
}

static void another_user_connects_by_tcp_and_not_by_the_unix_socket(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        print_message("skipped: another user needs root\n");
        skip();
    }
    static const int expected[] = {0, 1, 0};
    for (int what = 0; what < 3; what++) {
        int ends[2], code = 0;
        pid_t child = another(ends, what);
        node one;
        hw_net_options options = open_options(0, NULL);
        options.directory = "@";
        options.trust_fabric = true;
        options.handshake_timeout = 10 * TEST_TIMEOUT; /* a silent peer is not closed for its silence */
        node_open(&one, &options);
        assert_int_equal(strncmp(hw_net_address(one.net), "unix:@hawser-", 13), 0);
        assert_int_equal(write(ends[1], hw_net_address(one.net), HW_NET_ADDRESS), HW_NET_ADDRESS);
        assert_int_equal(waitpid(child, &code, 0), child);
        close(ends[0]);
        close(ends[1]);
        assert_true(WIFEXITED(code));
        assert_int_equal(WEXITSTATUS(code), expected[what]);
        node_close(&one);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(route_and_loopback_are_bound_by_default_and_nothing_else),
        cmocka_unit_test(all_addresses_are_bound_when_asked),
        cmocka_unit_test(a_requested_address_is_bound_alone),
        cmocka_unit_test(a_port_that_loopback_lacks_is_not_used),
        cmocka_unit_test(an_announced_name_is_bound_too),
        cmocka_unit_test(another_user_connects_by_tcp_and_not_by_the_unix_socket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
