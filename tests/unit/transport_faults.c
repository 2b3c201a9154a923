/* What befalls links, by TCP and by shared memory: peers killed, stopped and cut off, all stopped together, bytes that are
 * no frames, memory that makes no sense. */
#include <signal.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "net_nodes.h"

#include "net_raw.h"
#include "transport/net/address.h"

#define NEVER 1000.0 /* a failure timeout that no test lives to see */

/* A node in a process of its own. It dials the address that it reads from `orders`, says so by a byte on `news`, and goes on
 * as `body` says. */
typedef struct child {
    pid_t pid;
    int orders, news;
} child;

/* Returns the transport that links the nodes of a test. It is called before the test has children. */
static hw_transport_kind transport_of(void **state)
{
    return *state != NULL ? *(const hw_transport_kind *)*state : HW_NET_TCP;
}

static hw_net_options options_of(uint32_t number, hw_transport_kind transport, double failure_timeout)
{
    hw_net_options options = node_options(number, "@");
    options.transport = transport;
    options.failure_timeout = failure_timeout;
    return options;
}

typedef struct child_net {
    node own;
    int orders, news;
} child_net;

static char ordered(int fd)
{
    char order = 0;
    return read(fd, &order, 1) == 1 ? order : 0;
}

static void child_main(int orders, int news, hw_transport_kind transport, double failure_timeout, int (*body)(child_net *))
{
    child_net self = {.orders = orders, .news = news};
    hw_net_options options = options_of(1, transport, failure_timeout);
    node_open(&self.own, &options);
    char address[HW_NET_ADDRESS] = "";
    for (size_t i = 0; i + 1 < sizeof address; i++) {
        address[i] = ordered(orders);
        if (address[i] == '\n' || address[i] == 0) {
            address[i] = '\0';
            break;
        }
    }
    uint32_t number;
    if (hw_net_dial(self.own.net, address, HW_NET_ANY, TEST_TIMEOUT, &number, NULL) != HAWSER_OK)
        _exit(3);
    if (write(news, "l", 1) != 1)
        _exit(4);
    int code = body(&self);
    node_close(&self.own);
    _exit(code);
}

/* To be called before this process has threads. */
static child breed(hw_transport_kind transport, double failure_timeout, int (*body)(child_net *))
{
    int orders[2], news[2];
    assert_int_equal(pipe(orders), 0);
    assert_int_equal(pipe(news), 0);
    child made = {fork(), orders[1], news[0]};
    assert_true(made.pid >= 0);
    if (made.pid == 0) {
        close(orders[1]);
        close(news[0]);
        child_main(orders[0], news[1], transport, failure_timeout, body);
    }
    close(orders[0]);
    close(news[1]);
    return made;
}

static void order(child *one, const char *text)
{
    assert_int_equal(write(one->orders, text, strlen(text)), strlen(text));
}

static void order_address(child *one, const char *address)
{
    order(one, address);
    order(one, "\n");
    assert_int_equal(ordered(one->news), 'l');
}

static int reap(child *one)
{
    int status;
    assert_int_equal(waitpid(one->pid, &status, 0), one->pid);
    close(one->orders);
    close(one->news);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

static void open_server(node *server, hw_transport_kind transport, double failure_timeout)
{
    hw_net_options options = options_of(0, transport, failure_timeout);
    node_open(server, &options);
}

static int idle(child_net *self)
{
    (void)!ordered(self->orders);
    return node_count(&self->own, &self->own.losses) > 0;
}

static int talk_until_ordered(child_net *self)
{
    for (uint64_t i = 0; node_count(&self->own, &self->own.losses) == 0; i++) {
        hw_net_path path;
        struct pollfd orders = {self->orders, POLLIN, 0};
        if (poll(&orders, 1, 0) > 0)
            break;
        if (hw_net_path_of(self->own.net, 0, &path) && path.queued > 16 << 20)
            node_rest(0.001);
        else if (hw_net_send(self->own.net, 0, numbered(i, 100000), NULL) != HAWSER_OK)
            break;
    }
    return node_count(&self->own, &self->own.losses) > 0;
}

static void drain(node *one)
{
    pthread_mutex_lock(&one->mutex);
    hw_message *message = one->first;
    one->first = NULL;
    one->last = &one->first;
    pthread_mutex_unlock(&one->mutex);
    while (message != NULL) {
        hw_message *next = message->next;
        hw_message_free(message);
        message = next;
    }
}

static void a_killed_peer_is_lost_at_once(void **state, int (*body)(child_net *))
{
    hw_transport_kind transport = transport_of(state);
    child peer = breed(transport, NEVER, body);
    node server;
    open_server(&server, transport, NEVER);
    order_address(&peer, hw_net_address(server.net));
    if (body == talk_until_ordered)
        assert_true(node_await32(&server, &server.ups, 1));
    assert_string_equal(node_path(&server, 1).transport, transport == HW_NET_TCP ? "tcp" : "shm");
    kill(peer.pid, SIGKILL);
    assert_true(node_await32(&server, &server.losses, 1));
    assert_int_equal(server.lost_node, 1);
    assert_non_null(strstr(server.why, "its connection was"));
    assert_true(server.silent < NEVER);
    assert_false(hw_net_linked(server.net, 1));
    hawser_error error;
    assert_int_equal(hw_net_send(server.net, 1, numbered(0, 9), &error), HAWSER_PEER_LOST);
    assert_non_null(strstr(error.text, "was lost: its connection was"));
    assert_int_equal(reap(&peer), 100 + SIGKILL);
    node_close(&server);
    assert_int_equal(server.losses, 1);
}

static void killed_while_idle(void **state)
{
    a_killed_peer_is_lost_at_once(state, idle);
}

static void killed_while_talking(void **state)
{
    a_killed_peer_is_lost_at_once(state, talk_until_ordered);
}

static void a_stopped_peer_is_lost_by_its_silence(void **state)
{
    hw_transport_kind transport = transport_of(state);
    child peer = breed(transport, 1.5, idle);
    node server;
    open_server(&server, transport, 1.5);
    order_address(&peer, hw_net_address(server.net));
    assert_true(node_await32(&server, &server.ups, 1));
    node_rest(0.2);
    hw_net_path quiet = node_path(&server, 1);
    node_rest(2.5); /* signs of life keep it: messages over a socket, none in memory */
    assert_int_equal(node_count(&server, &server.losses), 0);
    assert_int_equal(node_path(&server, 1).bytes_received > quiet.bytes_received, strcmp(quiet.transport, "shm") != 0);
    kill(peer.pid, SIGSTOP);
    assert_true(node_await32(&server, &server.losses, 1));
    assert_string_equal(server.why, "nothing was received from it");
    assert_true(server.silent >= 1.5);
    kill(peer.pid, SIGCONT);
    /* It finds its connection closed. */
    node_rest(0.2);
    order(&peer, "q");
    assert_int_equal(reap(&peer), 1);
    node_close(&server);
}

/* Each side receives the other's failure timeout and sends heartbeats often enough for it, although its own is longer. */
static void a_peer_sends_heartbeats_for_the_shorter_timeout(void **state)
{
    hw_transport_kind transport = transport_of(state);
    child peer = breed(transport, 5, idle);
    node server;
    open_server(&server, transport, 0.9);
    order_address(&peer, hw_net_address(server.net));
    assert_true(node_await32(&server, &server.ups, 1));
    node_rest(3);
    assert_int_equal(node_count(&server, &server.losses), 0);
    order(&peer, "q");
    assert_int_equal(reap(&peer), 0);
    node_close(&server);
}

/* The server of the next test, in a process of its own. */
static void serve_main(int orders, int news, hw_transport_kind transport)
{
    node server;
    open_server(&server, transport, 1.5);
    const char *address = hw_net_address(server.net);
    if (write(news, address, strlen(address)) < 0 || write(news, "\n", 1) < 0)
        _exit(4);
    struct pollfd wait = {orders, POLLIN, 0};
    while (poll(&wait, 1, 1) == 0)
        drain(&server);
    bool lost = node_count(&server, &server.losses) > 0;
    node_close(&server);
    _exit(lost || server.arrived == 0);
}

/* Ctrl-Z, or a suspended machine: pipes are full, nothing is received for two timeouts, and no peer is lost. */
static void nodes_that_stop_together_are_not_lost(void **state)
{
    hw_transport_kind transport = transport_of(state);
    int orders[2], news[2];
    assert_int_equal(pipe(orders), 0);
    assert_int_equal(pipe(news), 0);
    child server = {fork(), orders[1], news[0]};
    if (server.pid == 0) {
        close(orders[1]);
        serve_main(orders[0], news[1], transport);
    }
    close(orders[0]);
    close(news[1]);
    child talker = breed(transport, 1.5, talk_until_ordered);
    char address[HW_NET_ADDRESS] = "";
    for (size_t i = 0; (address[i] = ordered(server.news)) != '\n'; i++)
        assert_true(i + 2 < sizeof address && address[i] != 0);
    *strchr(address, '\n') = '\0';
    order_address(&talker, address);
    child *all[] = {&server, &talker};
    for (int round = 0; round < 2; round++) {
        node_rest(0.3);
        for (int i = 0; i < 2; i++)
            kill(all[i]->pid, SIGSTOP);
        node_rest(3.5);
        for (int i = 0; i < 2; i++)
            kill(all[round == 0 ? i : 1 - i]->pid, SIGCONT);
    }
    node_rest(2);
    order(&talker, "q");
    assert_int_equal(reap(&talker), 0);
    order(&server, "q");
    assert_int_equal(reap(&server), 0);
}

/* A cable cut: both sides notice it only by the silence. */
static void cut(bool there, bool back, const char *why_here)
{
    node nodes[2];
    proxy between;
    for (uint32_t i = 0; i < 2; i++) {
        hw_net_options options = node_options(i, NULL);
        options.failure_timeout = i == 0 ? 1.5 : 1.7;
        node_open(&nodes[i], &options);
    }
    proxy_open(&between, hw_net_address(nodes[0].net));
    hawser_error error;
    uint32_t number;
    assert_int_equal(hw_net_dial(nodes[1].net, between.address, 0, TEST_TIMEOUT, &number, &error), HAWSER_OK);
    node_rest(0.2);
    assert_int_equal(node_count(&nodes[0], &nodes[0].losses) + node_count(&nodes[1], &nodes[1].losses), 0);
    atomic_store(&between.swallow[0], there);
    atomic_store(&between.swallow[1], back);
    for (uint64_t i = 0; i < 10; i++)
        assert_int_equal(hw_net_send(nodes[0].net, 1, numbered(i, 10000), NULL), HAWSER_OK);
    for (int i = 0; i < 2; i++)
        assert_true(node_await32(&nodes[i], &nodes[i].losses, 1));
    assert_string_equal(nodes[0].why, why_here);
    if (back) {
        assert_string_equal(nodes[1].why, "nothing was received from it");
        assert_int_equal(nodes[1].arrived, 0);
    }
    proxy_stop(&between);
    proxy_free(&between);
    node_close(&nodes[0]);
    node_close(&nodes[1]);
}

static void cut_both_directions(void **state)
{
    (void)state;
    cut(true, true, "nothing was received from it");
}

static void cut_one_direction(void **state)
{
    (void)state;
    cut(true, false, "nothing was received from it");
}

static void expect_lost(const void *bytes, size_t size, const char *why)
{
    node server;
    open_server(&server, HW_NET_TCP, NEVER);
    int fd = shake_hands_raw(&server, 5);
    assert_true(send_all(fd, bytes, size));
    if (strstr(why, "closed") != NULL)
        close(fd);
    assert_true(node_await32(&server, &server.losses, 1));
    if (strstr(server.why, why) == NULL)
        fail_msg("\"%s\" lacks \"%s\"", server.why, why);
    if (strstr(why, "closed") == NULL)
        close(fd);
    node_close(&server);
    assert_int_equal(server.arrived, 0);
}

static size_t framed(unsigned char *to, hw_frame_type type, uint64_t chunk, uint64_t length)
{
    hw_frame frame = {.type = type, .chunk = chunk};
    frame.envelope = (hw_envelope){.kind = HW_MESSAGE_DATA, .length = length};
    stamp_raw(&frame);
    return hw_frame_pack(to, &frame);
}

static void bytes_that_are_no_frames_end_the_link(void **state)
{
    (void)state;
    unsigned char bytes[400];
    memset(bytes, 'x', sizeof bytes);
    expect_lost(bytes, 200, "it sent bytes that are not a frame");
    size_t size = framed(bytes, HW_FRAME_BEGIN, 100, 100);
    expect_lost(bytes, size, "its connection was closed");      /* nothing of the payload */
    expect_lost(bytes, size + 50, "its connection was closed"); /* half of it */
    expect_lost(bytes, size - 1, "its connection was closed");  /* half a head */
    for (size_t i = 12; i < size; i += 9) {
        bytes[i] ^= 4;
        expect_lost(bytes, size, "damaged");
        bytes[i] ^= 4;
    }
    size = framed(bytes, HW_FRAME_BEGIN, (uint64_t)1 << 40, (uint64_t)1 << 40);
    expect_lost(bytes, size, "longer than the limit");
    size = framed(bytes, HW_FRAME_BEGIN, 200, 100);
    expect_lost(bytes, size, "contradict");
    size = framed(bytes, HW_FRAME_MORE, 10, 0);
    expect_lost(bytes, size, "more of a message than the message has");
    size = framed(bytes, HW_FRAME_BEGIN, 10, 100);
    size += 10 + framed(bytes + size + 10, HW_FRAME_BEGIN, 10, 100);
    expect_lost(bytes, size, "inside another");
    size = framed(bytes, HW_FRAME_BEGIN, 10, 100);
    size += 10 + framed(bytes + size + 10, HW_FRAME_MORE, 91, 0);
    expect_lost(bytes, size, "more of a message than the message has");
    size = framed(bytes, HW_FRAME_ALIVE, 8, 0);
    expect_lost(bytes, size, "impossible length");
}

/* A rogue with whom memory is shared: it does there what it likes. */
typedef struct rogue {
    node server;
    hw_shake *shake;
} rogue;

static void open_rogue_for(rogue *it, size_t ring, double failure_timeout)
{
    hw_identity self = {.job = "test",
                        .name = "rogue",
                        .build = "1.0 (test)",
                        .key_length = 32,
                        .incarnation = RAW_INCARNATION,
                        .transport = HW_NET_SHARED,
                        .ring = ring};
    self.key = (unsigned char *)(uintptr_t)TEST_KEY;
    atomic_store(&self.node, 5);
    open_server(&it->server, HW_NET_SHARED, failure_timeout);
    const char *from = hw_net_address(it->server.net) + strlen("unix:");
    struct sockaddr_un address;
    socklen_t size = hw_unix_address(from, strcspn(from + 1, "@") + 1, &address);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, size), 0);
    it->shake = malloc(sizeof *it->shake);
    hw_shake_begin(it->shake, &self, fd, true, 0);
    assert_int_equal(hw_shake_step(it->shake), HW_SHAKE_DONE);
    assert_non_null(it->shake->shared);
    assert_true(node_await32(&it->server, &it->server.ups, 1));
    assert_string_equal(node_path(&it->server, 5).transport, "shm");
}

static void open_rogue(rogue *it, size_t ring)
{
    open_rogue_for(it, ring, NEVER);
}

static void put_in(rogue *it, const void *bytes, size_t size)
{
    const struct iovec piece = {(void *)(size_t)bytes, size};
    bool wakeup;
    assert_int_equal(hw_ring_write(&it->shake->shared->out, &piece, 1, &wakeup), size);
}

static void expect_end(rogue *it, const char *why)
{
    (void)!send_all(it->shake->channel.fd, "!", 1); /* it may have polled without a wakeup, and ended */
    if (strstr(why, "closed") != NULL)
        shutdown(it->shake->channel.fd, SHUT_WR);
    assert_true(node_await32(&it->server, &it->server.losses, 1));
    if (strstr(it->server.why, why) == NULL)
        fail_msg("\"%s\" lacks \"%s\"", it->server.why, why);
    node_close(&it->server);
    hw_shake_close(it->shake);
    free(it->shake);
}

static void invalid_shared_memory_ends_the_link(void **state)
{
    (void)state;
    rogue it;
    const uint64_t counts[] = {HW_SHARED_RING + 1, UINT64_MAX, (uint64_t)1 << 63};
    for (int i = 0; i < 3; i++) {
        open_rogue(&it, HW_SHARED_RING);
        atomic_store(&it.shake->shared->out.control->written, counts[i]);
        expect_end(&it, "the contents of the memory shared with it are invalid");
        open_rogue(&it, HW_SHARED_RING);
        atomic_store(&it.shake->shared->in.control->read, counts[i] / 2); /* more than was written */
        assert_int_equal(hw_net_send(it.server.net, 5, numbered(1, 10), NULL), HAWSER_OK);
        expect_end(&it, "the contents of the memory shared with it are invalid");
    }
    open_rogue(&it, HW_RING_LEAST);
    memset(it.shake->shared->mapping.data, 0xff, it.shake->shared->mapping.size);
    expect_end(&it, "the contents of the memory shared with it are invalid");
}

/* In another namespace time has another zero: what is new is a sign of life all the same, and what is not new is none. */
static void heartbeats_by_another_clock(void **state)
{
    (void)state;
    const double zeros[] = {0, 1e9};
    rogue it;
    for (int i = 0; i < 2; i++) {
        open_rogue_for(&it, HW_RING_LEAST, 1);
        for (int k = 1; k <= 12; k++) {
            hw_shared_send_heartbeat(it.shake->shared, zeros[i] + 0.2 * k);
            node_rest(0.2);
        }
        assert_int_equal(node_count(&it.server, &it.server.losses), 0);
        expect_end(&it, "nothing was received from it");
        assert_true(it.server.silent >= 1);
    }
}

static void frames_in_memory_are_checked(void **state)
{
    (void)state;
    rogue it;
    unsigned char bytes[400];
    memset(bytes, 'x', sizeof bytes);
    open_rogue(&it, HW_RING_LEAST);
    put_in(&it, bytes, 200);
    expect_end(&it, "it sent bytes that are not a frame");
    size_t size = framed(bytes, HW_FRAME_BEGIN, (uint64_t)1 << 40, (uint64_t)1 << 40);
    open_rogue(&it, HW_RING_LEAST);
    put_in(&it, bytes, size);
    expect_end(&it, "longer than the limit");
    size = framed(bytes, HW_FRAME_BEGIN, 200, 100);
    open_rogue(&it, HW_RING_LEAST);
    put_in(&it, bytes, size);
    expect_end(&it, "contradict");
}

/* Killed while it wrote: what was whole arrives, the half is dropped. */
static void half_a_frame_is_dropped(void **state)
{
    (void)state;
    unsigned char bytes[400] = {0};
    size_t size = framed(bytes, HW_FRAME_BEGIN, 100, 100) + 100;
    for (size_t cut = 1; cut < size; cut += 13) {
        rogue it;
        open_rogue(&it, HW_RING_LEAST);
        put_in(&it, bytes, size);
        put_in(&it, bytes, cut);
        /* And a count that was not stored: bytes beyond it are none. */
        memset(it.shake->shared->out.bytes + size + cut, 'x', 100);
        expect_end(&it, "its connection was closed");
        assert_int_equal(it.server.arrived, 1);
    }
}

/* A peer that has closed has nothing more to say, though it can still write there. */
static void nothing_is_read_from_a_peer_that_has_closed(void **state)
{
    (void)state;
    rogue it;
    unsigned char bytes[400] = {0};
    size_t size = framed(bytes, HW_FRAME_BEGIN, 100, 100) + 100;
    open_rogue(&it, HW_RING_LEAST);
    shutdown(it.shake->channel.fd, SHUT_WR);
    assert_true(node_await32(&it.server, &it.server.losses, 1));
    put_in(&it, bytes, size);
    node_rest(0.05);
    node_close(&it.server);
    assert_int_equal(it.server.arrived, 0);
    hw_shake_close(it.shake);
    free(it.shake);
}

/* Most of the time here is silence that is waited for: the groups wait beside each other, each in a process of its own. */
static hw_transport_kind shared = HW_NET_SHARED;

static int stopped_together(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nodes_that_stop_together_are_not_lost)};
    return cmocka_run_group_tests_name("stopped together", tests, NULL, NULL);
}

static int stopped_together_by_memory(void)
{
    const struct CMUnitTest tests[] = {
        {"by memory: nodes_that_stop_together_are_not_lost", nodes_that_stop_together_are_not_lost, NULL, NULL, &shared}};
    return cmocka_run_group_tests_name("stopped together, by memory", tests, NULL, NULL);
}

static int silence(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stopped_peer_is_lost_by_its_silence),
        cmocka_unit_test(cut_both_directions),
        cmocka_unit_test(cut_one_direction),
    };
    return cmocka_run_group_tests_name("silence", tests, NULL, NULL);
}

static int all_else(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_while_idle),
        cmocka_unit_test(killed_while_talking),
        cmocka_unit_test(bytes_that_are_no_frames_end_the_link),
        {"by memory: killed_while_idle", killed_while_idle, NULL, NULL, &shared},
        {"by memory: killed_while_talking", killed_while_talking, NULL, NULL, &shared},
        cmocka_unit_test(a_peer_sends_heartbeats_for_the_shorter_timeout),
        {"by memory: a_peer_sends_heartbeats_for_the_shorter_timeout", a_peer_sends_heartbeats_for_the_shorter_timeout, NULL,
         NULL, &shared},
        {"by memory: a_stopped_peer_is_lost_by_its_silence", a_stopped_peer_is_lost_by_its_silence, NULL, NULL, &shared},
        cmocka_unit_test(invalid_shared_memory_ends_the_link),
        cmocka_unit_test(heartbeats_by_another_clock),
        cmocka_unit_test(frames_in_memory_are_checked),
        cmocka_unit_test(half_a_frame_is_dropped),
        cmocka_unit_test(nothing_is_read_from_a_peer_that_has_closed),
    };
    return cmocka_run_group_tests_name("all else", tests, NULL, NULL);
}

int main(void)
{
    int (*const groups[])(void) = {stopped_together, stopped_together_by_memory, silence, all_else};
    enum { GROUPS = sizeof groups / sizeof *groups };
    pid_t children[GROUPS];
    int failed = 0, status;
    for (int i = 0; i < GROUPS; i++) {
        children[i] = fork();
        if (children[i] == 0)
            exit(groups[i]() != 0);
        failed += children[i] < 0;
    }
    for (int i = 0; i < GROUPS; i++)
        failed += waitpid(children[i], &status, 0) != children[i] || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    return failed != 0;
}
