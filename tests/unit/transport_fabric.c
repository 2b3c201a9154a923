/* Links by UCX: nothing is lost at the end, a killed or stopped node is noticed, and whoever cannot take part is refused in
 * words. Skipped where there is no UCX. What all transports have in common is in transport_conformance.c. */
#include <signal.h>
#include <sys/wait.h>

#include "net_nodes.h"

static hw_net_options with_ucx(uint32_t number)
{
    hw_net_options options = node_options(number, "sockets");
    options.transport = HW_NET_UCX;
    return options;
}

static void inside(void (*test)(void))
{
    char directory[] = "/tmp/hawser-test-XXXXXX", command[100];
    assert_non_null(mkdtemp(directory));
    assert_int_equal(chdir(directory), 0);
    test();
    assert_int_equal(chdir("/"), 0);
    (void)!snprintf(command, sizeof command, "rm -rf '%s'", directory);
    assert_int_equal(system(command), 0);
}

/* Whoever leaves has sent what it had queued, and the other has it, though the library would drop it. Both at once, too. */
static void leave_after(uint64_t count, size_t length, bool both)
{
    node nodes[2];
    for (uint32_t i = 0; i < 2; i++) {
        hw_net_options options = with_ucx(i);
        node_open(&nodes[i], &options);
    }
    node_dial(&nodes[1], &nodes[0], 0);
    assert_true(node_await32(&nodes[0], &nodes[0].ups, 1));
    for (uint64_t i = 0; i < count; i++)
        assert_int_equal(hw_net_send(nodes[1].net, 0, numbered(i, length), NULL), HAWSER_OK);
    if (both)
        assert_int_equal(hw_net_send(nodes[0].net, 1, numbered(7, length), NULL), HAWSER_OK);
    hw_net_stop(nodes[1].net, 30);
    for (uint64_t i = 0; i < count; i++) {
        hw_message *message = node_take(&nodes[0]);
        assert_true(is_numbered(message, i, length));
        hw_message_free(message);
    }
    for (uint32_t i = 0; i < 2; i++) {
        node_close(&nodes[i]);
        assert_int_equal(nodes[i].losses, 0);
    }
}

static void leaving_loses_nothing(void)
{
    for (int i = 0; i < 10; i++) {
        leave_after(300, 100, i % 2 == 1);
        leave_after(20, 1 << 20, i % 2 == 1);
        leave_after(0, 0, i % 2 == 1);
    }
}

static void messages_sent_before_leaving_arrive(void **state)
{
    (void)state;
    inside(leaving_loses_nothing);
}

/* Sends for ever what fits, as node 1. */
static void send_for_ever(int address_from)
{
    char address[HW_NET_ADDRESS];
    node self;
    uint32_t number;
    hw_net_options options = with_ucx(1);
    if (read(address_from, address, sizeof address) != (ssize_t)sizeof address ||
        node_try(&self, &options, NULL) != HAWSER_OK ||
        hw_net_dial(self.net, address, 0, TEST_TIMEOUT, &number, NULL) != HAWSER_OK)
        _exit(1);
    for (uint64_t i = 0;; i++) {
        hw_net_path path;
        while (hw_net_path_of(self.net, 0, &path) && path.queued > 1 << 20)
            node_rest(0.0005);
        if (hw_net_send(self.net, 0, numbered(i, 50000), NULL) != HAWSER_OK)
            _exit(1);
    }
}

/* Killed: the socket says so. Stopped: its silence does, since the library does not. */
static void lose_by(int signal_number, const char *why)
{
    int address[2];
    char text[HW_NET_ADDRESS] = "";
    assert_int_equal(pipe(address), 0);
    pid_t child = fork();
    if (child == 0)
        send_for_ever(address[0]);
    node self;
    hw_net_options options = with_ucx(0);
    options.failure_timeout = 1;
    node_open(&self, &options);
    (void)!snprintf(text, sizeof text, "%s", hw_net_address(self.net));
    assert_int_equal(write(address[1], text, sizeof text), sizeof text);
    for (uint64_t i = 0; i < 100; i++) {
        hw_message *message = node_take(&self);
        assert_true(is_numbered(message, i, 50000));
        hw_message_free(message);
    }
    kill(child, signal_number);
    assert_true(node_await32(&self, &self.losses, 1));
    assert_true(why == NULL || strstr(self.why, why) != NULL);
    hw_message *message;
    assert_int_equal(hw_message_new(10, &message, NULL), HAWSER_OK);
    assert_int_equal(hw_net_send(self.net, 1, message, NULL), HAWSER_PEER_LOST);
    node_close(&self);
    assert_int_equal(self.losses, 1);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(address[0]);
    close(address[1]);
}

static void lose_nodes(void)
{
    for (int i = 0; i < 3; i++)
        lose_by(SIGKILL, NULL);
    lose_by(SIGSTOP, "nothing was received from it");
}

static void a_lost_node_is_noticed(void **state)
{
    (void)state;
    inside(lose_nodes);
}

/* Node 0 by `first`, node 1 by `second`: refused, in words that say what to do. */
static void refuse(hw_transport_kind first, hw_transport_kind second)
{
    node nodes[2];
    hawser_error error;
    uint32_t number;
    for (uint32_t i = 0; i < 2; i++) {
        hw_net_options options = with_ucx(i);
        options.transport = i == 0 ? first : second;
        node_open(&nodes[i], &options);
    }
    assert_int_equal(hw_net_dial(nodes[1].net, hw_net_address(nodes[0].net), 0, 2, &number, &error), HAWSER_PEER_LOST);
    assert_non_null(strstr(error.text, "asks for UCX (--transport ucx)"));
    assert_non_null(strstr(error.text, "give it to all nodes"));
    for (uint32_t i = 0; i < 2; i++)
        node_close(&nodes[i]);
}

static void refuse_others(void)
{
    refuse(HW_NET_UCX, HW_NET_BEST);
    refuse(HW_NET_BEST, HW_NET_UCX);
    refuse(HW_NET_UCX, HW_NET_UNIX);
    refuse(HW_NET_SHARED, HW_NET_UCX);
}

static void a_peer_that_does_not_ask_for_it_is_refused(void **state)
{
    (void)state;
    inside(refuse_others);
}

/* Over TCP by UCX, as between hosts whose fabric is trusted. */
static void a_trusted_fabric_may_use_more(void **state)
{
    (void)state;
    node nodes[2];
    for (uint32_t i = 0; i < 2; i++) {
        hw_net_options options = node_options(i, NULL);
        options.transport = HW_NET_UCX;
        options.trust_fabric = true;
        node_open(&nodes[i], &options);
    }
    node_dial(&nodes[1], &nodes[0], 0);
    for (uint64_t i = 0; i < 50; i++)
        assert_int_equal(hw_net_send(nodes[i % 2].net, (i + 1) % 2, numbered(i / 2, i * 5000), NULL), HAWSER_OK);
    for (uint64_t i = 0; i < 50; i++) {
        hw_message *message = node_take(&nodes[(i + 1) % 2]);
        assert_true(is_numbered(message, i / 2, i * 5000));
        hw_message_free(message);
    }
    assert_string_equal(node_path(&nodes[0], 1).transport, "ucx");
    for (uint32_t i = 0; i < 2; i++) {
        node_close(&nodes[i]);
        assert_int_equal(nodes[i].losses, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_sent_before_leaving_arrive),
        cmocka_unit_test(a_lost_node_is_noticed),
        cmocka_unit_test(a_peer_that_does_not_ask_for_it_is_refused),
        cmocka_unit_test(a_trusted_fabric_may_use_more),
    };
    if (!node_has_ucx())
        return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
