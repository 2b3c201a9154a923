/* Every allocation that a net makes, from its making over a handshake to its end, failed in turn: a status or a lost link,
 * never a crash, and nothing is left behind. */
#include <fcntl.h>

#include "failing.h"

#include "net_nodes.h"

enum { MOST = 400 };

/* Two nets, a link, a few messages. What fails may fail anywhere, on any thread. */
static void one_life(bool shared)
{
    node nodes[2];
    hawser_error error;
    uint32_t number;
    bool made[2];
    for (uint32_t i = 0; i < 2; i++) {
        hw_net_options options = node_options(i, shared ? "@" : NULL);
        options.handshake_timeout = 0.3;
        options.encrypt_always = !shared;
        options.ring = 16 << 10;
        made[i] = node_try(&nodes[i], &options, &error) == HAWSER_OK;
        assert_true(made[i] || strlen(error.text) > 10);
    }
    if (made[0] && made[1] &&
        hw_net_dial(nodes[1].net, hw_net_address(nodes[0].net), 0, 0.4, &number, &error) == HAWSER_OK) {
        for (uint64_t i = 0; i < 3; i++) {
            hw_message *message;
            if (hw_message_new(200000, &message, &error) != HAWSER_OK)
                continue;
            memset(message->payload, 1, 200000);
            message->envelope.kind = HW_MESSAGE_DATA;
            (void)!hw_net_send(nodes[1].net, 0, message, &error);
        }
    }
    for (int i = 1; i >= 0; i--)
        node_close(&nodes[i]);
}

static int descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) != -1;
    return count;
}

static void nothing_leaks_when_memory_runs_out(bool shared)
{
    int open = descriptors();
    for (long n = 0; n < MOST; n++) { /* 0: nothing fails */
        atomic_store(&countdown, n);
        long before = atomic_load(&live);
        one_life(shared);
        bool failed = n > 0 && atomic_load(&countdown) <= 0;
        assert_int_equal(atomic_load(&live), before);
        assert_int_equal(descriptors(), open);
        if (n > 0 && !failed)
            return; /* more than there are */
    }
}

static void encrypted(void **state)
{
    (void)state;
    nothing_leaks_when_memory_runs_out(false);
}

static void by_shared_memory(void **state)
{
    (void)state;
    nothing_leaks_when_memory_runs_out(true);
}

/* A node that has no memory left reports this by a message that it made before. So a transport takes any message without
 * memory of its own, to an endpoint of this node and to one of another node. */
static void a_message_that_exists_is_sent_without_memory(void **state)
{
    (void)state;
    enum { ENDPOINTS = 3, SESSION = 7 };
    const uint32_t home[ENDPOINTS] = {0, 0, 1};
    node nodes[2];
    hw_transport *transport;
    hw_message *messages[ENDPOINTS];
    hawser_status statuses[ENDPOINTS];
    uint32_t number;
    atomic_store(&countdown, 0);
    for (uint32_t i = 0; i < 2; i++) {
        hw_net_options options = node_options(i, "@");
        assert_int_equal(node_try(&nodes[i], &options, NULL), HAWSER_OK);
    }
    assert_int_equal(hw_net_dial(nodes[0].net, hw_net_address(nodes[1].net), 1, TEST_TIMEOUT, &number, NULL), HAWSER_OK);
    assert_int_equal(hw_net_transport_new(nodes[0].net, SESSION, ENDPOINTS, ENDPOINTS, home, &transport, NULL), HAWSER_OK);
    for (int i = 0; i < ENDPOINTS; i++) {
        assert_int_equal(hw_message_new(0, &messages[i], NULL), HAWSER_OK);
        messages[i]->envelope.kind = HW_MESSAGE_ABORT;
    }
    for (uint32_t i = 0; i < ENDPOINTS; i++) {
        thread_countdown = 1;
        statuses[i] = transport->ops->send(transport, i / 2, i, messages[i], NULL);
    }
    thread_countdown = 0;
    for (int i = 0; i < ENDPOINTS; i++)
        assert_int_equal(statuses[i], HAWSER_OK);
    transport->ops->free(transport);
    for (int i = 1; i >= 0; i--)
        node_close(&nodes[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(encrypted), cmocka_unit_test(by_shared_memory),
                                       cmocka_unit_test(a_message_that_exists_is_sent_without_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
