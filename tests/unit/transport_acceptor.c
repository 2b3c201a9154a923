/* What unknown peers try: silence, garbage, replay, reflection, standing in between; and what can be read on the way. */
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "net_nodes.h"

#include "net_proxy.h"
#include "transport/net/shake.h"

enum { HALF_OPEN = 1000, MESSAGES = 20000 };

static void open_two(node nodes[2], bool encrypted, double handshake_timeout)
{
    for (uint32_t i = 0; i < 2; i++) {
        hw_net_options options = node_options(i, NULL);
        options.encrypt_always = encrypted;
        options.handshake_timeout = handshake_timeout;
        node_open(&nodes[i], &options);
    }
}

static hw_net_accept_figures figures_of(node *one)
{
    hw_net_accept_figures figures;
    hw_net_accepts(one->net, &figures);
    return figures;
}

/* Waits until the acceptor has rejected or evicted this many. */
static hw_net_accept_figures await_refusals(node *one, uint64_t least)
{
    hw_net_accept_figures figures;
    double deadline = hw_seconds() + TEST_TIMEOUT;
    do {
        figures = figures_of(one);
        if (figures.refused_key + figures.refused_hello + figures.timed_out + figures.crowded_out >= least)
            return figures;
        node_rest(0.005);
    } while (hw_seconds() < deadline);
    fail_msg("the acceptor has rejected no other connection");
    return figures;
}

/* A thousand silent connections: links work, new peers are accepted, and further connections evict the oldest. */
static void half_open_connections_delay_no_other(void **state)
{
    (void)state;
    node nodes[2], late;
    int *connections = calloc(HALF_OPEN + 200, sizeof *connections);
    open_two(nodes, false, 1000);
    node_dial(&nodes[1], &nodes[0], 0);
    uint16_t port = port_of(hw_net_address(nodes[0].net));
    for (int i = 0; i < HALF_OPEN; i++) {
        connections[i] = connect_to(port);
        assert_true(connections[i] >= 0);
        if (i % 2 == 0)
            assert_true(send_all(connections[i], "HWSR", 4)); /* a good beginning */
    }
    for (uint64_t i = 0; i < MESSAGES; i++)
        assert_int_equal(hw_net_send(nodes[1].net, 0, numbered(i, 64), NULL), HAWSER_OK);
    for (uint64_t i = 0; i < MESSAGES; i++) {
        hw_message *message = node_take(&nodes[0]);
        assert_true(is_numbered(message, i, 64));
        hw_message_free(message);
    }
    hw_net_options options = node_options(2, NULL);
    node_open(&late, &options);
    node_dial(&late, &nodes[0], 0);
    assert_int_equal(figures_of(&nodes[0]).crowded_out, 0);
    node_rest(0.6);
    for (int i = HALF_OPEN; i < HALF_OPEN + 200; i++)
        connections[i] = connect_to(port);
    hw_net_accept_figures figures = await_refusals(&nodes[0], HALF_OPEN + 200 - HW_NET_HALF_OPEN_MOST);
    assert_int_equal(figures.crowded_out, HALF_OPEN + 200 - HW_NET_HALF_OPEN_MOST);
    assert_int_equal(figures.accepted, 2);
    char byte;
    assert_true(recv(connections[1], &byte, 1, 0) <= 0); /* of the oldest */
    node_close(&late);
    node_close(&nodes[1]);
    node_close(&nodes[0]);
    for (int i = 0; i < HALF_OPEN + 200; i++)
        close(connections[i]);
    free(connections);
    assert_int_equal(nodes[0].losses + nodes[1].losses, 0);
}

/* A process that connects to a port as many times as it is ordered, and keeps the connections. */
static pid_t crowd(int count, int *orders)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t made = fork();
    if (made == 0) {
        uint16_t port = 0;
        close(ends[1]);
        for (int i = read(ends[0], &port, sizeof port) == (ssize_t)sizeof port ? 0 : count; i < count; i++)
            (void)connect_to(port);
        (void)!read(ends[0], &port, 1);
        _exit(0);
    }
    close(ends[0]);
    *orders = ends[1];
    return made;
}

/* More connections than there are descriptors: links work on, and newcomers are let in as soon as there is one. */
static void a_lack_of_descriptors_delays_no_link(void **state)
{
    (void)state;
    int orders;
    pid_t connections = crowd(100, &orders);
    node nodes[2], late;
    struct rlimit before, few;
    open_two(nodes, false, 1000);
    node_dial(&nodes[1], &nodes[0], 0);
    hw_net_options options = node_options(2, NULL);
    node_open(&late, &options);
    int highest = dup(0);
    close(highest);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = (struct rlimit){.rlim_cur = (rlim_t)highest + 20, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    uint16_t port = port_of(hw_net_address(nodes[0].net));
    assert_int_equal(write(orders, &port, sizeof port), sizeof port);
    (void)await_refusals(&nodes[0], 1);
    for (uint64_t i = 0; i < 1000; i++)
        assert_int_equal(hw_net_send(nodes[1].net, 0, numbered(i, 64), NULL), HAWSER_OK);
    for (uint64_t i = 0; i < 1000; i++)
        hw_message_free(node_take(&nodes[0]));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    node_dial(&late, &nodes[0], 0);
    assert_true(figures_of(&nodes[0]).crowded_out >= 1);
    node_close(&late);
    node_close(&nodes[1]);
    node_close(&nodes[0]);
    close(orders);
    assert_int_equal(waitpid(connections, NULL, 0), connections);
    assert_int_equal(nodes[0].losses, 0);
}

static void a_late_connection_is_closed(void **state)
{
    (void)state;
    node server;
    hw_net_options options = node_options(0, NULL);
    options.handshake_timeout = 0.2;
    node_open(&server, &options);
    int fd = connect_to(port_of(hw_net_address(server.net)));
    hw_net_accept_figures figures = await_refusals(&server, 1);
    assert_int_equal(figures.timed_out, 1);
    assert_non_null(strstr(figures.last_refused, "tcp:127.0.0.1:"));
    char byte;
    assert_true(recv(fd, &byte, 1, 0) <= 0);
    close(fd);
    node_close(&server);
}

static size_t good_hello(unsigned char message[HW_HANDSHAKE_MOST])
{
    hw_handshake_hello hello = {
        .job = "test", .build = "1.0 (test)", .peer = {.node = 9, .name = "unknown", .incarnation = 5}};
    return hw_hello_pack(message, &hello);
}

/* Garbage, and every kind of half a hello. */
static void garbage_is_refused(void **state)
{
    (void)state;
    node server;
    hw_net_options options = node_options(0, NULL);
    node_open(&server, &options);
    uint16_t port = port_of(hw_net_address(server.net));
    unsigned char message[HW_HANDSHAKE_MOST];
    size_t size = good_hello(message);
    uint64_t refused = 0;
    for (size_t i = 0; i < size; i += 7) {
        int fd = connect_to(port);
        (void)send_all(fd, message, i); /* truncated */
        close(fd);
        message[i] ^= 0x10; /* damaged */
        fd = connect_to(port);
        (void)send_all(fd, message, size);
        shutdown(fd, SHUT_WR);
        (void)!recv(fd, message + sizeof message - 1, 1, 0);
        close(fd);
        message[i] ^= 0x10;
        refused += i == 0 ? 1 : 2; /* nothing at all is a probe, which is not refused */
    }
    int fd = connect_to(port);
    (void)send_all(fd, "GET / HTTP/1.1\r\nHost: here\r\n\r\n", 30);
    hw_net_accept_figures figures = await_refusals(&server, ++refused);
    assert_int_equal(figures.refused_hello, refused);
    assert_int_equal(figures.accepted, 0);
    close(fd);
    node_close(&server);
    assert_int_equal(server.ups, 0);
}

static void another_wire_format_is_refused_by_name(void **state)
{
    (void)state;
    node server;
    hw_net_options options = node_options(0, NULL);
    node_open(&server, &options);
    int fd = connect_to(port_of(hw_net_address(server.net)));
    unsigned char message[HW_HANDSHAKE_MOST];
    size_t size = good_hello(message);
    message[4] = 9; /* the version */
    assert_true(send_all(fd, message, size));
    const char *why;
    hw_handshake_head head;
    hw_handshake_reply reply;
    assert_true(receive_all(fd, message, HW_HANDSHAKE_HEAD));
    assert_true(hw_handshake_head_unpack(message, &head, &why));
    assert_int_equal(head.type, HW_HANDSHAKE_REPLY);
    assert_true(receive_all(fd, message, head.length));
    assert_true(hw_handshake_reply_unpack(message, head.length, &reply));
    assert_false(reply.accepted);
    assert_non_null(strstr(reply.reason, "version 9"));
    assert_non_null(strstr(reply.reason, "version 7"));
    close(fd);
    node_close(&server);
}

/* The handshake of a member, replayed by another process. */
static void a_replay_is_refused(bool encrypted)
{
    node nodes[2];
    proxy between;
    open_two(nodes, encrypted, 0);
    proxy_open(&between, hw_net_address(nodes[0].net));
    hawser_error error;
    uint32_t number;
    assert_int_equal(hw_net_dial(nodes[1].net, between.address, 0, TEST_TIMEOUT, &number, &error), HAWSER_OK);
    node_close(&nodes[1]);
    proxy_stop(&between);
    int fd = connect_to(port_of(hw_net_address(nodes[0].net)));
    assert_true(send_all(fd, between.kept[0], between.kept_size[0]));
    hw_net_accept_figures figures = await_refusals(&nodes[0], 1);
    assert_int_equal(figures.refused_key, 1);
    assert_int_equal(figures.accepted, 1);
    close(fd);
    proxy_free(&between);
    node_close(&nodes[0]);
    assert_int_equal(nodes[0].ups, 1);
}

static void replayed_in_clear(void **state)
{
    (void)state;
    a_replay_is_refused(false);
}

static void replayed_under_tls(void **state)
{
    (void)state;
    a_replay_is_refused(true);
}

/* A message from one side, with a hello changed on the way. */
static bool relay_message(int from, int to, bool disguise)
{
    unsigned char message[HW_HANDSHAKE_MOST];
    hw_handshake_head head;
    hw_handshake_hello hello;
    const char *why;
    if (!receive_all(from, message, HW_HANDSHAKE_HEAD) || !hw_handshake_head_unpack(message, &head, &why) ||
        !receive_all(from, message + HW_HANDSHAKE_HEAD, head.length))
        return false;
    size_t size = HW_HANDSHAKE_HEAD + (size_t)head.length;
    if (disguise && hw_hello_unpack(message + HW_HANDSHAKE_HEAD, head.length, &hello)) {
        hello.peer.incarnation ^= 1;
        hello.peer.node = 4;
        size = hw_hello_pack(message, &hello);
    }
    return send_all(to, message, size);
}

typedef struct mirror {
    int listener;
    uint16_t target;
    bool disguise;
} mirror;

/* Sends a node that dials back to its own acceptor, under another name if it is to be disguised. */
static void *mirror_main(void *argument)
{
    mirror *self = argument;
    int victim = accept(self->listener, NULL, NULL), gate = connect_to(self->target);
    (void)!(relay_message(victim, gate, self->disguise) && relay_message(gate, victim, self->disguise) &&
            relay_message(victim, gate, false) && relay_message(gate, victim, false));
    close(victim);
    close(gate);
    return NULL;
}

static void a_mirror_gains_nothing(bool disguise)
{
    node victim;
    hw_net_options options = node_options(0, NULL);
    node_open(&victim, &options);
    uint16_t port = 0;
    mirror glass = {listen_anywhere(&port), port_of(hw_net_address(victim.net)), disguise};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, mirror_main, &glass), 0);
    char address[64];
    (void)!snprintf(address, sizeof address, "tcp:127.0.0.1:%u", port);
    hawser_error error;
    uint32_t number;
    assert_int_equal(hw_net_dial(victim.net, address, HW_NET_ANY, TEST_TIMEOUT, &number, &error), HAWSER_PEER_LOST);
    assert_non_null(strstr(error.text, disguise ? "does not have the key" : "has connected to itself"));
    pthread_join(thread, NULL);
    close(glass.listener);
    hw_net_accept_figures figures = await_refusals(&victim, 1);
    assert_int_equal(figures.refused_key, disguise);
    node_close(&victim);
    assert_int_equal(victim.ups, 0);
}

static void reflected(void **state)
{
    (void)state;
    a_mirror_gains_nothing(false);
}

static void reflected_in_disguise(void **state)
{
    (void)state;
    a_mirror_gains_nothing(true);
}

static bool contains(const unsigned char *where, size_t size, const void *what, size_t length)
{
    return memmem(where, size, what, length) != NULL;
}

/* A float's bytes, many times: found on the way in clear, not found under TLS. */
static void what_travels(bool encrypted)
{
    double pattern[64];
    node nodes[2];
    proxy between;
    for (int i = 0; i < 64; i++)
        pattern[i] = 3.14159265358979;
    open_two(nodes, encrypted, 0);
    proxy_open(&between, hw_net_address(nodes[0].net));
    hawser_error error;
    uint32_t number;
    assert_int_equal(hw_net_dial(nodes[1].net, between.address, 0, TEST_TIMEOUT, &number, &error), HAWSER_OK);
    for (uint32_t side = 0; side < 2; side++)
        for (int i = 0; i < 20; i++) {
            hw_message *message;
            assert_int_equal(hw_message_new(sizeof pattern, &message, NULL), HAWSER_OK);
            memcpy(message->payload, pattern, sizeof pattern);
            message->envelope.kind = HW_MESSAGE_UPDATE;
            assert_int_equal(hw_net_send(nodes[side].net, !side, message, NULL), HAWSER_OK);
            message = node_take(&nodes[!side]);
            assert_memory_equal(message->payload, pattern, sizeof pattern);
            hw_message_free(message);
        }
    hw_net_path path;
    assert_true(hw_net_path_of(nodes[1].net, 0, &path));
    assert_string_equal(path.transport, encrypted ? "tcp+tls" : "tcp");
    node_close(&nodes[1]);
    node_close(&nodes[0]);
    proxy_stop(&between);
    for (int transport = 0; transport < 2; transport++) {
        assert_true(between.kept_size[transport] > 20 * sizeof pattern);
        assert_int_equal(contains(between.kept[transport], between.kept_size[transport], pattern, 2 * sizeof *pattern),
                         !encrypted);
    }
    proxy_free(&between);
}

static void a_message_in_clear_can_be_read(void **state)
{
    (void)state;
    what_travels(false);
}

static void a_message_under_tls_cannot_be_read(void **state)
{
    (void)state;
    what_travels(true);
}

/* A self-signed certificate, made now. */
static SSL_CTX *certified_server(void)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    assert_true(key != NULL && certificate != NULL && context != NULL);
    X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_sign(certificate, key, EVP_sha256());
    assert_int_equal(SSL_CTX_use_certificate(context, certificate), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(context, key), 1);
    X509_free(certificate);
    EVP_PKEY_free(key);
    return context;
}

/* Listens like a node, knows no key, and hopes that a certificate will do. */
static void *impostor_main(void *argument)
{
    int listener = *(int *)argument, fd = accept(listener, NULL, NULL);
    unsigned char message[HW_HANDSHAKE_MOST];
    hw_handshake_head head;
    const char *why;
    SSL_CTX *context = certified_server();
    SSL *ssl = SSL_new(context);
    if (receive_all(fd, message, HW_HANDSHAKE_HEAD) && hw_handshake_head_unpack(message, &head, &why) &&
        receive_all(fd, message, head.length) && send_all(fd, message, good_hello(message))) {
        SSL_set_fd(ssl, fd);
        int accepted = SSL_accept(ssl);
        hw_handshake_reply reply = {.accepted = true, .number = 1};
        size_t size = hw_handshake_reply_pack(message, &reply);
        if (accepted == 1)
            (void)SSL_write(ssl, message, (int)size);
    }
    SSL_free(ssl);
    SSL_CTX_free(context);
    close(fd);
    return NULL;
}

static void a_certificate_is_no_key(void **state)
{
    (void)state;
    node victim;
    hw_net_options options = node_options(1, NULL);
    options.encrypt_always = true;
    node_open(&victim, &options);
    uint16_t port = 0;
    int listener = listen_anywhere(&port);
    pthread_t thread;
    signal(SIGPIPE, SIG_IGN); /* the impostor's own */
    assert_int_equal(pthread_create(&thread, NULL, impostor_main, &listener), 0);
    char address[64];
    (void)!snprintf(address, sizeof address, "tcp:127.0.0.1:%u", port);
    hawser_error error;
    uint32_t number;
    assert_int_equal(hw_net_dial(victim.net, address, 9, TEST_TIMEOUT, &number, &error), HAWSER_PEER_LOST);
    if (strstr(error.text, "does not have the key") == NULL)
        fail_msg("%s", error.text);
    pthread_join(thread, NULL);
    close(listener);
    node_close(&victim);
    assert_int_equal(victim.ups, 0);
}

/* Nothing of it counts as rejected. */
static void dialler_tries_again_while_it_is_rejected_for_now(void **state)
{
    (void)state;
    for (int encrypted = 0; encrypted < 2; encrypted++) {
        node nodes[2];
        open_two(nodes, encrypted != 0, 5);
        nodes[0].not_yet = 3;
        node_dial(&nodes[1], &nodes[0], 0);
        assert_int_equal(nodes[0].admitted, 1);
        hw_net_accept_figures figures = figures_of(&nodes[0]);
        assert_int_equal(figures.accepted, 1);
        assert_int_equal(figures.refused_hello + figures.refused_key, 0);
        assert_string_equal(figures.last_refused, "");
        node_close(&nodes[1]);
        node_close(&nodes[0]);
    }
}

static void dialler_that_is_rejected_for_now_gives_up_in_time(void **state)
{
    (void)state;
    node nodes[2];
    hawser_error error;
    uint32_t number;
    open_two(nodes, false, 5);
    nodes[0].not_yet = 1000;
    assert_int_not_equal(hw_net_dial(nodes[1].net, hw_net_address(nodes[0].net), 0, 2, &number, &error), HAWSER_OK);
    assert_true(node_count(&nodes[0], &nodes[0].not_yet) < 999); /* it has tried again */
    node_close(&nodes[1]);
    node_close(&nodes[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_open_connections_delay_no_other),
        cmocka_unit_test(a_lack_of_descriptors_delays_no_link),
        cmocka_unit_test(a_late_connection_is_closed),
        cmocka_unit_test(garbage_is_refused),
        cmocka_unit_test(another_wire_format_is_refused_by_name),
        cmocka_unit_test(dialler_tries_again_while_it_is_rejected_for_now),
        cmocka_unit_test(dialler_that_is_rejected_for_now_gives_up_in_time),
        cmocka_unit_test(replayed_in_clear),
        cmocka_unit_test(replayed_under_tls),
        cmocka_unit_test(reflected),
        cmocka_unit_test(reflected_in_disguise),
        cmocka_unit_test(a_message_in_clear_can_be_read),
        cmocka_unit_test(a_message_under_tls_cannot_be_read),
        cmocka_unit_test(a_certificate_is_no_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
