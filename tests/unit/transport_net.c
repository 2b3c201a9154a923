/* Nets of a few nodes in one process: links, order, numbers, goodbye, refusals. */
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "net_nodes.h"

#include "base/random.h"
#include "directory.h"
#include "transport/net/address.h"
#include "transport/net/parts.h"

enum { NODES = 4, EACH = 3000 };

/* The last half of some, and all of others, lies in memory that is gone when the call returns; some may wait for the
 * next. */
static void send_with_tail(node *from, uint32_t to, hw_message *message)
{
    enum { LAST = 299 };
    size_t length = (size_t)message->envelope.length, own = length / 2 * (message->envelope.clock % 3);
    unsigned char *tail = NULL;
    if (own < length) {
        tail = malloc(length - own);
        assert_non_null(tail);
        memcpy(tail, (unsigned char *)message->payload + own, length - own);
        memset((unsigned char *)message->payload + own, 0xee, length - own);
        message->tail = tail;
        message->tail_length = length - own;
    }
    message->more = message->envelope.clock % 5 == 0 && message->envelope.clock < LAST;
    message->may_coalesce = message->envelope.clock % 7 < 4;
    assert_int_equal(hw_net_send(from->net, to, message, NULL), HAWSER_OK);
    if (tail != NULL)
        memset(tail, 0xdd, length - own);
    free(tail);
}

static void messages_arrive_in_order_and_whole(void **state, const char *transport, hw_transport_kind wish, bool encrypted)
{
    const size_t lengths[] = {0, 1, 63, 64, 4096, 2049, 70000, 1 << 20, 5};
    const size_t kinds = sizeof lengths / sizeof *lengths;
    char sockets[200];
    (void)!snprintf(sockets, sizeof sockets, "%s/s", *state == NULL ? "" : (char *)*state);
    node nodes[2];
    for (uint32_t i = 0; i < 2; i++) {
        hw_net_options options = node_options(i, *state != NULL ? sockets : NULL);
        options.transport = wish;
        options.encrypt_always = encrypted;
        node_open(&nodes[i], &options);
    }
    node_dial(&nodes[1], &nodes[0], 0);
    assert_true(node_await32(&nodes[0], &nodes[0].ups, 1));
    for (int side = 0; side < 2; side++) {
        for (uint64_t i = 0; i < 300; i++)
            send_with_tail(&nodes[side], (uint32_t)!side, numbered(i, lengths[i % kinds]));
        for (uint64_t i = 0; i < 300; i++) {
            hw_message *message = node_take(&nodes[!side]);
            assert_true(is_numbered(message, i, lengths[i % kinds]));
            assert_int_equal(message->origin, side);
            hw_message_free(message);
        }
    }
    hw_net_path path = node_path(&nodes[0], 1);
    assert_string_equal(path.transport, transport);
    assert_int_equal(path.messages_sent, 300);
    assert_int_equal(path.messages_received, 300);
    assert_false(hw_net_path_of(nodes[0].net, 2, &path));
    assert_true(hw_net_linked(nodes[0].net, 1));
    assert_false(hw_net_linked(nodes[0].net, 2));
    assert_true(hw_net_silence(nodes[0].net, 1) < TEST_TIMEOUT);
    assert_true(isinf(hw_net_silence(nodes[0].net, 2)));
    node_close(&nodes[1]);
    node_close(&nodes[0]);
    assert_int_equal(nodes[0].losses, 0);
    assert_int_equal(nodes[1].losses, 0);
}

static void over_shared_memory(void **state)
{
    messages_arrive_in_order_and_whole(state, "shm", HW_NET_SHARED, false);
}

static void over_shared_memory_unasked(void **state)
{
    messages_arrive_in_order_and_whole(state, "shm", HW_NET_BEST, false);
}

static void over_unix(void **state)
{
    messages_arrive_in_order_and_whole(state, "unix", HW_NET_UNIX, false);
}

static void over_tls_on_a_unix_socket(void **state)
{
    messages_arrive_in_order_and_whole(state, "unix+tls", HW_NET_BEST, true);
}

static void over_tcp_though_there_are_sockets(void **state)
{
    messages_arrive_in_order_and_whole(state, "tcp", HW_NET_TCP, false);
}

static void over_tcp(void **state)
{
    messages_arrive_in_order_and_whole(state, "tcp", HW_NET_BEST, false);
}

static void over_tls(void **state)
{
    messages_arrive_in_order_and_whole(state, "tcp+tls", HW_NET_BEST, true);
}

typedef struct sender {
    node *from;
    uint32_t number;
    int failures;
} sender;

static void *send_to_all(void *argument)
{
    sender *self = argument;
    for (uint64_t i = 0; i < EACH; i++)
        for (uint32_t to = 0; to < NODES; to++)
            if (to != self->number)
                self->failures += hw_net_send(self->from->net, to, numbered(i, i % 100), NULL) != HAWSER_OK;
    return NULL;
}

/* All nodes dial all others at once; node 0 assigns the numbers. */
static void many_nodes_send_at_once(void **state)
{
    char sockets[200];
    (void)!snprintf(sockets, sizeof sockets, "%s/s", *state == NULL ? "" : (char *)*state);
    node nodes[NODES];
    for (uint32_t i = 0; i < NODES; i++) {
        hw_net_options options = node_options(i == 0 ? 0 : HW_NET_ANY, i < 2 ? sockets : NULL);
        options.local_only = false;
        options.trust_fabric = true;
        options.interface = "127.0.0.1";
        node_open(&nodes[i], &options);
        for (uint32_t j = 0; j < i; j++)
            node_dial(&nodes[i], &nodes[j], j);
        assert_int_equal(hw_net_number(nodes[i].net), i);
    }
    for (uint32_t i = 0; i < NODES; i++)
        assert_true(node_await32(&nodes[i], &nodes[i].ups, NODES - 1));
    sender senders[NODES];
    pthread_t threads[NODES];
    for (uint32_t i = 0; i < NODES; i++) {
        senders[i] = (sender){.from = &nodes[i], .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, send_to_all, &senders[i]), 0);
    }
    for (uint32_t i = 0; i < NODES; i++) {
        uint64_t next[NODES] = {0};
        for (uint32_t k = 0; k < EACH * (NODES - 1); k++) {
            hw_message *message = node_take(&nodes[i]);
            uint64_t due = next[message->origin]++;
            assert_true(is_numbered(message, due, due % 100));
            hw_message_free(message);
        }
    }
    for (uint32_t i = 0; i < NODES; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(senders[i].failures, 0);
    }
    for (uint32_t i = 0; i < NODES; i++)
        node_close(&nodes[i]);
    for (uint32_t i = 0; i < NODES; i++)
        assert_int_equal(nodes[i].losses, 0);
}

static void await_unpolled(const node *one)
{
    double until = hw_seconds() + TEST_TIMEOUT;
    while (atomic_load(&one->net->polled) > 0)
        if (hw_seconds() > until)
            fail_msg("%u quiet links are polled still", atomic_load(&one->net->polled));
        else
            node_rest(0.005);
}

static void pass(node *from, node *to, uint64_t number, size_t length)
{
    assert_int_equal(hw_net_send(from->net, hw_net_number(to->net), numbered(number, length), NULL), HAWSER_OK);
    hw_message *message = node_take(to);
    assert_true(is_numbered(message, number, length));
    hw_message_free(message);
}

/* The net thread polls only links by memory that are in use. A message that is larger than the memory makes the sender wait
 * for a reader that does not poll. */
static void quiet_links_by_memory_are_not_polled_and_wake_up(void **state)
{
    const size_t lengths[] = {100, 3 << 20};
    node nodes[NODES];
    for (uint32_t i = 0; i < NODES; i++) {
        hw_net_options options = node_options(i, *state);
        options.transport = HW_NET_SHARED;
        node_open(&nodes[i], &options);
        if (i > 0)
            node_dial(&nodes[i], &nodes[0], 0);
    }
    assert_true(node_await32(&nodes[0], &nodes[0].ups, NODES - 1));
    for (uint64_t round = 0; round < 6; round++) {
        for (uint32_t i = 0; i < NODES; i++)
            await_unpolled(&nodes[i]);
        for (uint32_t i = 1 + (uint32_t)round % 2; i < NODES; i++) {
            pass(&nodes[i], &nodes[0], round, lengths[round / 2 % 2]);
            pass(&nodes[0], &nodes[i], round, lengths[round / 2 % 2]);
        }
        assert_true(atomic_load(&nodes[0].net->polled) < NODES);
    }
    for (uint32_t i = 0; i < NODES; i++)
        node_close(&nodes[i]);
    for (uint32_t i = 0; i < NODES; i++)
        assert_int_equal(nodes[i].losses, 0);
}

/* The bytes for all nodes are those of the links, without the links that have ended. */
static void bytes_for_a_node_that_has_left_are_not_pending(void **state)
{
    (void)state;
    node nodes[3];
    for (uint32_t i = 0; i < 3; i++) {
        hw_net_options options = node_options(i, NULL);
        options.rate = i == 0 ? 1000 : 0; /* a byte in a millisecond: the updates stay in the queue */
        node_open(&nodes[i], &options);
        if (i > 0)
            node_dial(&nodes[i], &nodes[0], 0);
    }
    for (uint32_t to = 1; to < 3; to++) {
        hw_message *message = numbered(0, 1 << 20);
        message->envelope.kind = HW_MESSAGE_UPDATE;
        assert_int_equal(hw_net_send(nodes[0].net, to, message, NULL), HAWSER_OK);
    }
    assert_true(hw_net_pending_to(nodes[0].net, 1) > 1 << 19 && hw_net_pending_to(nodes[0].net, 2) > 1 << 19);
    assert_true(hw_net_pending(nodes[0].net) > 1 << 20);
    node_close(&nodes[1]);
    while (hw_net_linked(nodes[0].net, 1))
        node_rest(0.01);
    assert_int_equal(hw_net_pending_to(nodes[0].net, 1), 0);
    assert_true(hw_net_pending(nodes[0].net) > 1 << 19 && hw_net_pending(nodes[0].net) < 3 << 19);
    node_close(&nodes[2]);
    while (hw_net_linked(nodes[0].net, 2))
        node_rest(0.01);
    assert_int_equal(hw_net_pending(nodes[0].net), 0);
    node_close(&nodes[0]);
}

/* A goodbye is not a loss, and what was queued before it arrives. */
/* Bursts that the reactors gather, both ways, are all there in the end and in order, whether the reactors were awake or
 * asleep. */
static void bursts_come_back(void **state, hw_transport_kind wish, bool encrypted)
{
    enum { BURSTS = 400, MOST = 40 };
    const struct timespec until_asleep = {0, 2000000};
    char sockets[200];
    (void)!snprintf(sockets, sizeof sockets, "%s/s", *state == NULL ? "" : (char *)*state);
    node nodes[2];
    for (uint32_t i = 0; i < 2; i++) {
        hw_net_options options = node_options(i, *state != NULL ? sockets : NULL);
        options.transport = wish;
        options.encrypt_always = encrypted;
        node_open(&nodes[i], &options);
    }
    nodes[0].echoes = true;
    node_dial(&nodes[1], &nodes[0], 0);
    hw_random random = hw_random_at(11, 0, 0, 0);
    for (uint64_t burst = 0, sent = 0; burst < BURSTS; burst++) {
        uint64_t count = 1 + hw_random_below(&random, MOST), first = sent;
        size_t lengths[MOST];
        if (hw_random_below(&random, 10) == 0)
            nanosleep(&until_asleep, NULL);
        for (uint64_t i = 0; i < count; i++, sent++) {
            lengths[i] = (size_t)hw_random_below(&random, hw_random_below(&random, 20) ? 2100 : 100000);
            hw_message *message = numbered(sent, lengths[i]);
            message->may_coalesce = hw_random_below(&random, 4) > 0;
            assert_int_equal(hw_net_send(nodes[1].net, 0, message, NULL), HAWSER_OK);
        }
        for (uint64_t i = 0; i < count; i++) {
            hw_message *message = node_take(&nodes[1]);
            assert_true(is_numbered(message, first + i, lengths[i]));
            hw_message_free(message);
        }
    }
    assert_int_equal(nodes[0].refused, 0);
    node_close(&nodes[1]);
    node_close(&nodes[0]);
}

static void bursts_come_back_over_tcp(void **state)
{
    bursts_come_back(state, HW_NET_TCP, false);
}

static void bursts_come_back_over_tls(void **state)
{
    bursts_come_back(state, HW_NET_BEST, true);
}

static void bursts_come_back_over_unix(void **state)
{
    bursts_come_back(state, HW_NET_UNIX, false);
}

static void bursts_come_back_over_shared_memory(void **state)
{
    bursts_come_back(state, HW_NET_SHARED, false);
}

static void queued_messages_arrive_before_the_goodbye(void **state)
{
    (void)state;
    node nodes[2];
    for (uint32_t i = 0; i < 2; i++) {
        hw_net_options options = node_options(i, NULL);
        node_open(&nodes[i], &options);
    }
    node_dial(&nodes[1], &nodes[0], HW_NET_ANY);
    for (uint64_t i = 0; i < 20; i++)
        assert_int_equal(hw_net_send(nodes[1].net, 0, numbered(i, 3 << 20), NULL), HAWSER_OK);
    hw_net_stop(nodes[1].net, TEST_TIMEOUT);
    assert_int_equal(hw_net_send(nodes[1].net, 0, numbered(0, 1), NULL), HAWSER_PEER_LOST);
    for (uint64_t i = 0; i < 20; i++) {
        hw_message *message = node_take(&nodes[0]);
        assert_true(is_numbered(message, i, 3 << 20));
        hw_message_free(message);
    }
    hawser_error error;
    while (hw_net_linked(nodes[0].net, 1))
        node_rest(0.01);
    assert_int_equal(hw_net_send(nodes[0].net, 1, numbered(0, 1), &error), HAWSER_PEER_LOST);
    assert_non_null(strstr(error.text, "has left"));
    node_close(&nodes[1]);
    node_close(&nodes[0]);
    assert_int_equal(nodes[0].losses, 0);
}

/* Of all connections of this process: the most that the kernel has taken from one and not sent. */
static int most_unsent(void)
{
    int most = 0;
    for (int fd = 3; fd < 256; fd++) {
        int unsent = 0;
        if (ioctl(fd, SIOCOUTQNSD, &unsent) == 0 && unsent > most)
            most = unsent;
    }
    return most;
}

/* What waits for a slow peer waits with us, where it is counted and can be overtaken, and not in a buffer of the
 * kernel's. */
static void few_messages_are_handed_over_before_they_can_be_sent(void **state)
{
    enum { MESSAGES = 48, MEBIBYTE = 1 << 20 };
    (void)state;
    node nodes[2];
    for (uint32_t i = 0; i < 2; i++) {
        hw_net_options options = node_options(i, NULL);
        node_open(&nodes[i], &options);
    }
    node_dial(&nodes[1], &nodes[0], HW_NET_ANY);
    for (int fd = 3; fd < 256; fd++) /* as between hosts: within one the kernel may take what it likes */
        hw_socket_tune(fd);
    for (uint64_t i = 0; i < MESSAGES; i++) { /* the kernel learns that the connection is a fast one */
        assert_int_equal(hw_net_send(nodes[1].net, 0, numbered(i, MEBIBYTE), NULL), HAWSER_OK);
        hw_message_free(node_take(&nodes[0]));
    }
    pthread_mutex_lock(&nodes[0].mutex); /* blocks the reading thread */
    for (uint64_t i = 0; i < MESSAGES; i++)
        assert_int_equal(hw_net_send(nodes[1].net, 0, numbered(i, MEBIBYTE), NULL), HAWSER_OK);
    for (uint64_t before = 0, now = 1; now != before; now = hw_net_pending(nodes[1].net)) {
        before = now;
        node_rest(0.2);
    }
    int unsent = most_unsent();
    pthread_mutex_unlock(&nodes[0].mutex);
    for (uint64_t i = 0; i < MESSAGES; i++)
        hw_message_free(node_take(&nodes[0]));
    node_close(&nodes[1]);
    node_close(&nodes[0]);
    assert_in_range(unsent, 1, MEBIBYTE);
}

static void control_of(int fd, char name[64])
{
    socklen_t length = 63;
    memset(name, 0, 64);
    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &length), 0);
}

/* Both ends of a connection within the host do without what paces; one that leaves it has what the system likes. */
static void nothing_is_paced_within_a_host(void **state)
{
    (void)state;
    node nodes[2];
    char name[64], usual[64];
    int ends = 0, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    control_of(fd, usual);
    const char *near = strncmp(usual, "bbr", 3) == 0 ? "reno" : usual; /* the only one that paces */
    for (uint32_t i = 0; i < 2; i++) {
        hw_net_options options = node_options(i, NULL);
        node_open(&nodes[i], &options);
    }
    node_dial(&nodes[1], &nodes[0], 0);
    assert_string_equal(node_path(&nodes[1], 0).transport, "tcp");
    for (int other = 3; other < 256; other++) {
        struct sockaddr_storage peer;
        socklen_t length = sizeof peer;
        if (getpeername(other, (struct sockaddr *)&peer, &length) != 0 || peer.ss_family == AF_UNIX)
            continue;
        control_of(other, name);
        assert_string_equal(name, near);
        ends++;
    }
    assert_int_equal(ends, 2);
    hw_socket_begin(fd);
    control_of(fd, name);
    assert_string_equal(name, near);
    hw_socket_far(fd);
    control_of(fd, name);
    assert_string_equal(name, usual);
    close(fd);
    node_close(&nodes[1]);
    node_close(&nodes[0]);
}

static void no_message_is_sent_without_a_link(void **state)
{
    (void)state;
    node alone;
    hw_net_options options = node_options(0, NULL);
    node_open(&alone, &options);
    hawser_error error;
    assert_int_equal(hw_net_send(alone.net, 1, numbered(0, 1), &error), HAWSER_PEER_LOST);
    assert_non_null(strstr(error.text, "no link to node 1"));
    node_close(&alone);
}

static void expect_refusal(node *one, const char *address, uint32_t expected, const char *first, const char *second)
{
    hawser_error error = {0};
    uint32_t number;
    assert_int_equal(hw_net_dial(one->net, address, expected, TEST_TIMEOUT, &number, &error), HAWSER_PEER_LOST);
    if (strstr(error.text, first) == NULL || strstr(error.text, second) == NULL)
        fail_msg("\"%s\" lacks \"%s\" or \"%s\"", error.text, first, second);
}

static void unknown_peers_are_refused_by_name(void **state, bool encrypted)
{
    (void)state;
    node server, other;
    hw_net_options options = node_options(0, NULL);
    options.encrypt_always = encrypted;
    node_open(&server, &options);
    const char *address = hw_net_address(server.net);

    options = node_options(1, NULL);
    options.build = "2.0 (other)";
    node_open(&other, &options);
    expect_refusal(&other, address, 0, "1.0 (test)", "2.0 (other)");
    node_close(&other);

    options = node_options(1, NULL);
    options.job = "another";
    node_open(&other, &options);
    expect_refusal(&other, address, 0, "\"another\"", "\"test\"");
    node_close(&other);

    options = node_options(1, NULL);
    options.key = (const unsigned char *)"0123456789abcdef0123456789abcdeX";
    node_open(&other, &options);
    expect_refusal(&other, address, 0, "does not have the key", "\"test\"");
    node_close(&other);

    options = node_options(1, NULL);
    options.name = "unwanted";
    node_open(&other, &options);
    expect_refusal(&other, address, 0, "refused: ", "unwanted is not wanted here");
    expect_refusal(&other, address, 3, "node 3 was expected", "node 0");
    node_close(&other);
    expect_refusal(&server, address, 0, "has connected to itself", "");

    options = node_options(0, NULL);
    node_open(&other, &options);
    expect_refusal(&other, address, 0, "there is already a node 0", "");
    node_close(&other);

    hw_net_accept_figures figures;
    hw_net_accepts(server.net, &figures);
    assert_int_equal(figures.accepted, 0);
    assert_int_equal(figures.refused_key, 1);
    assert_int_equal(figures.refused_hello >= 4, 1);
    assert_int_equal(server.ups, 0);
    node_close(&server);
}

/* How the link of two nodes comes to be, by what each asks for; NULL: not at all, and `why` says it. */
static void expect_transport(hw_transport_kind dials, hw_transport_kind accepts, bool sockets, const char *transport,
                             const char *why)
{
    node nodes[2];
    hawser_error error = {0};
    uint32_t number;
    for (uint32_t i = 0; i < 2; i++) {
        hw_net_options options = node_options(i, sockets ? "@" : NULL);
        options.local_only = false;
        options.interface = "127.0.0.1";
        options.transport = i == 0 ? accepts : dials;
        options.name = i == 0 ? "accepts" : "dials";
        node_open(&nodes[i], &options);
    }
    hawser_status status = hw_net_dial(nodes[1].net, hw_net_address(nodes[0].net), 0, TEST_TIMEOUT, &number, &error);
    if (transport != NULL && status != HAWSER_OK)
        fail_msg("%s", error.text);
    if (transport != NULL)
        assert_string_equal(node_path(&nodes[1], 0).transport, transport);
    else if (status != HAWSER_PEER_LOST || strstr(error.text, why) == NULL)
        fail_msg("%d \"%s\" lacks \"%s\"", status, error.text, why);
    node_close(&nodes[1]);
    node_close(&nodes[0]);
}

static void a_node_with_only_a_socket_is_not_reached_by_tcp(void **state)
{
    char sockets[200];
    (void)!snprintf(sockets, sizeof sockets, "%s/s", *state == NULL ? "" : (char *)*state);
    node nodes[2];
    hawser_error error = {0};
    uint32_t number;
    for (uint32_t i = 0; i < 2; i++) {
        hw_net_options options = node_options(i, sockets);
        options.transport = i == 0 ? HW_NET_BEST : HW_NET_TCP;
        node_open(&nodes[i], &options);
    }
    assert_int_equal(hw_net_dial(nodes[1].net, hw_net_address(nodes[0].net), 0, TEST_TIMEOUT, &number, &error),
                     HAWSER_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "no TCP port, which --transport tcp asks for"));
    node_close(&nodes[1]);
    node_close(&nodes[0]);
}

/* A launcher that gives no directory may have announced a port, also on one host. */
static void a_node_with_a_name_is_reached_by_its_port_too(void **state)
{
    (void)state;
    node nodes[2];
    hawser_error error = {0};
    uint32_t number;
    for (uint32_t i = 0; i < 2; i++) {
        hw_net_options options = node_options(i, "@");
        node_open(&nodes[i], &options);
    }
    const char *address = hw_net_address(nodes[0].net), *port = strstr(address, ",tcp:");
    assert_non_null(port);
    if (hw_net_dial(nodes[1].net, port + strlen(",tcp:"), 0, TEST_TIMEOUT, &number, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    assert_string_equal(node_path(&nodes[1], 0).transport, "tcp");
    node_close(&nodes[1]);
    node_close(&nodes[0]);
}

/* A node that asks for a transport gets it, or an error; it never falls back without a message. */
static void the_requested_transport_is_used_or_refused(void **state)
{
    (void)state;
    const hw_transport_kind best = HW_NET_BEST, shared = HW_NET_SHARED, local = HW_NET_UNIX, tcp = HW_NET_TCP;
    expect_transport(best, best, true, "shm", NULL);
    expect_transport(shared, best, true, "shm", NULL);
    expect_transport(best, shared, true, "shm", NULL);
    expect_transport(best, local, true, "unix", NULL);
    expect_transport(local, best, true, "unix", NULL);
    expect_transport(best, tcp, true, "tcp", NULL);
    expect_transport(tcp, best, true, "tcp", NULL);
    expect_transport(best, best, false, "tcp", NULL);
    expect_transport(shared, local, true, NULL, "dials asks for shared memory on its host (--transport shm)");
    expect_transport(local, shared, true, NULL, "accepts asks for shared memory on its host (--transport shm)");
    expect_transport(shared, tcp, true, NULL, "it uses TCP");
    expect_transport(tcp, shared, true, NULL, "it uses TCP");
    expect_transport(shared, shared, false, NULL, "it uses TCP");
    expect_transport(local, tcp, true, NULL, "dials asks for Unix sockets on its host (--transport unix)");
    expect_transport(tcp, local, true, NULL, "accepts asks for Unix sockets on its host (--transport unix)");
}

/* The memory cannot be made: --transport shm is refused with the reason, auto goes by the socket. */
static void lack_of_memory_is_reported(void **state)
{
    (void)state;
    for (int asks = 0; asks < 2; asks++) {
        node nodes[2];
        hawser_error error = {0};
        uint32_t number;
        for (uint32_t i = 0; i < 2; i++) {
            hw_net_options options = node_options(i, "@");
            options.transport = asks ? HW_NET_SHARED : HW_NET_BEST;
            options.ring = 12345; /* such a ring cannot be made */
            node_open(&nodes[i], &options);
        }
        hawser_status status = hw_net_dial(nodes[1].net, hw_net_address(nodes[0].net), 0, TEST_TIMEOUT, &number, &error);
        assert_int_equal(status, asks ? HAWSER_PEER_LOST : HAWSER_OK);
        if (asks)
            assert_non_null(strstr(error.text, "(--transport shm asks for it)"));
        else
            assert_string_equal(node_path(&nodes[1], 0).transport, "unix");
        node_close(&nodes[1]);
        node_close(&nodes[0]);
    }
}

static void refused_in_clear(void **state)
{
    unknown_peers_are_refused_by_name(state, false);
}

static void refused_under_tls(void **state)
{
    unknown_peers_are_refused_by_name(state, true);
}

static void a_dial_waits_for_the_listener(void **state)
{
    (void)state;
    node one;
    hw_net_options options = node_options(1, NULL);
    node_open(&one, &options);
    hawser_error error;
    uint32_t number;
    double start = hw_seconds();
    assert_int_equal(hw_net_dial(one.net, "127.0.0.1:1", 0, 0.3, &number, &error), HAWSER_PEER_LOST);
    assert_true(hw_seconds() - start >= 0.2);
    assert_non_null(strstr(error.text, "127.0.0.1:1"));
    assert_non_null(strstr(error.text, "refused"));
    assert_int_equal(hw_net_dial(one.net, "nonsense", 0, 9, &number, &error), HAWSER_BAD_ARGUMENT);
    assert_int_equal(hw_net_dial(one.net, "unix:/nowhere@another-host", 0, 0.1, &number, &error), HAWSER_PEER_LOST);
    assert_non_null(strstr(error.text, "own host alone"));
    node_close(&one);
}

static bool has_ipv6(void)
{
    struct sockaddr_in6 loopback = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(AF_INET6, SOCK_STREAM, 0);
    bool has = fd >= 0 && bind(fd, (struct sockaddr *)&loopback, sizeof loopback) == 0;
    if (fd >= 0)
        close(fd);
    return has;
}

/* Over IPv6, by a network card and by hand; and over IPv4 to a node that listens on all addresses. */
static void addresses_of_both_families_work(void **state)
{
    (void)state;
    if (!has_ipv6()) {
        print_message("skipped: this host has no IPv6\n");
        skip();
    }
    const char *const interfaces[] = {"::1", NULL, "lo"};
    for (int i = 0; i < 3; i++) {
        node nodes[2];
        for (uint32_t n = 0; n < 2; n++) {
            hw_net_options options = node_options(n, NULL);
            options.local_only = false;
            options.trust_fabric = true;
            options.interface = interfaces[i];
            options.port_low = 20000;
            options.port_high = 60000;
            node_open(&nodes[n], &options);
        }
        const char *address = hw_net_address(nodes[0].net);
        unsigned port = (unsigned)atoi(strrchr(address, ':') + 1);
        assert_true(port >= 20000 && port <= 60000);
        char by_hand[64];
        (void)!snprintf(by_hand, sizeof by_hand, "%s:%u", i == 0 ? "[::1]" : i == 1 ? "localhost" : "127.0.0.1", port);
        if (i == 0)
            assert_non_null(strstr(address, "tcp:[::1]:"));
        uint32_t number;
        hawser_error error = {0};
        if (hw_net_dial(nodes[1].net, by_hand, 0, TEST_TIMEOUT, &number, &error) != HAWSER_OK)
            fail_msg("%s", error.text);
        assert_int_equal(hw_net_send(nodes[1].net, 0, numbered(5, 100), NULL), HAWSER_OK);
        hw_message *message = node_take(&nodes[0]);
        assert_true(is_numbered(message, 5, 100));
        hw_message_free(message);
        assert_string_equal(node_path(&nodes[1], 0).transport, "tcp");
        node_close(&nodes[1]);
        node_close(&nodes[0]);
    }
}

static void unusable_addresses_are_reported(void **state)
{
    node one;
    hawser_error error;
    hw_net *net;
    const hw_net_events events = {0};
    hw_net_options options = node_options(0, NULL);
    node_open(&one, &options);
    unsigned port = (unsigned)atoi(strrchr(hw_net_address(one.net), ':') + 1);
    options.port_low = options.port_high = (uint16_t)port;
    assert_int_equal(hw_net_new(&options, &events, &net, &error), HAWSER_IO);
    char text[20];
    (void)!snprintf(text, sizeof text, "%u", port);
    assert_non_null(strstr(error.text, text));
    options = node_options(0, NULL);
    options.local_only = false;
    options.interface = "no-such-interface";
    assert_int_equal(hw_net_new(&options, &events, &net, &error), HAWSER_IO);
    assert_non_null(strstr(error.text, "no-such-interface"));
    options = node_options(0, NULL);
    options.key_length = 15;
    assert_int_equal(hw_net_new(&options, &events, &net, &error), HAWSER_BAD_ARGUMENT);
    char open[200];
    (void)!snprintf(open, sizeof open, "%s/open", *state == NULL ? "" : (char *)*state);
    assert_int_equal(mkdir(open, 0777), 0);
    assert_int_equal(chmod(open, 0777), 0);
    options = node_options(0, open);
    assert_int_equal(hw_net_new(&options, &events, &net, &error), HAWSER_IO);
    assert_non_null(strstr(error.text, "0700"));
    node_close(&one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(over_shared_memory, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(bursts_come_back_over_shared_memory, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(bursts_come_back_over_unix, make_directory, remove_directory),
        cmocka_unit_test(bursts_come_back_over_tcp),
        cmocka_unit_test(bursts_come_back_over_tls),
        cmocka_unit_test_setup_teardown(over_shared_memory_unasked, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(over_unix, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(over_tls_on_a_unix_socket, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(over_tcp_though_there_are_sockets, make_directory, remove_directory),
        cmocka_unit_test(the_requested_transport_is_used_or_refused),
        cmocka_unit_test(lack_of_memory_is_reported),
        cmocka_unit_test(a_node_with_a_name_is_reached_by_its_port_too),
        cmocka_unit_test_setup_teardown(a_node_with_only_a_socket_is_not_reached_by_tcp, make_directory, remove_directory),
        cmocka_unit_test(over_tcp),
        cmocka_unit_test(over_tls),
        cmocka_unit_test_setup_teardown(many_nodes_send_at_once, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(quiet_links_by_memory_are_not_polled_and_wake_up, make_directory, remove_directory),
        cmocka_unit_test(bytes_for_a_node_that_has_left_are_not_pending),
        cmocka_unit_test(queued_messages_arrive_before_the_goodbye),
        cmocka_unit_test(few_messages_are_handed_over_before_they_can_be_sent),
        cmocka_unit_test(nothing_is_paced_within_a_host),
        cmocka_unit_test(no_message_is_sent_without_a_link),
        cmocka_unit_test(refused_in_clear),
        cmocka_unit_test(refused_under_tls),
        cmocka_unit_test(a_dial_waits_for_the_listener),
        cmocka_unit_test(addresses_of_both_families_work),
        cmocka_unit_test_setup_teardown(unusable_addresses_are_reported, make_directory, remove_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
