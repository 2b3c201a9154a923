/* The rate limit: updates flow at the rate and no faster, everything else overtakes them, nothing changes its order or is lost. */
#include "net_nodes.h"

enum { RATE = 4 << 20, UPDATES = 40, LENGTH = 100000 };

static void open_two(node nodes[2])
{
    for (uint32_t i = 0; i < 2; i++) {
        hw_net_options options = node_options(i, NULL);
        options.rate = RATE;
        node_open(&nodes[i], &options);
    }
    node_dial(&nodes[1], &nodes[0], 0);
}

static void send_as(node *from, hw_message_kind kind, uint32_t source, uint32_t destination, uint64_t number, size_t length)
{
    hw_message *message = numbered(number, length);
    message->envelope.kind = (uint8_t)kind;
    message->envelope.source = source;
    message->envelope.destination = destination;
    assert_int_equal(hw_net_send(from->net, 0, message, NULL), HAWSER_OK);
}

static void updates_flow_at_the_rate_and_others_overtake(void **state)
{
    (void)state;
    node nodes[2];
    open_two(nodes);
    double start = hw_seconds();
    for (uint64_t i = 0; i < UPDATES; i++)
        send_as(&nodes[1], HW_MESSAGE_UPDATE, 3, HW_TO_BLOCKS, i, LENGTH);
    send_as(&nodes[1], HW_MESSAGE_DONE, 3, HW_TO_BLOCKS, UPDATES, 4); /* behind the updates of this pair */
    send_as(&nodes[1], HW_MESSAGE_DONE, 4, 9, 0, 70000);              /* not behind them */
    uint64_t updates = 0;
    bool overtaken = false;
    while (updates <= UPDATES) {
        hw_message *message = node_take(&nodes[0]);
        message->envelope.destination = 7;
        if (message->envelope.source == 4) {
            assert_int_equal(message->envelope.kind, HW_MESSAGE_DONE);
            overtaken = updates < UPDATES;
            message->envelope.kind = HW_MESSAGE_DATA;
            assert_true(is_numbered(message, 0, 70000));
        } else {
            assert_int_equal(message->envelope.kind, updates < UPDATES ? HW_MESSAGE_UPDATE : HW_MESSAGE_DONE);
            message->envelope.kind = HW_MESSAGE_DATA;
            assert_true(is_numbered(message, updates, updates < UPDATES ? LENGTH : 4));
            updates++;
        }
        hw_message_free(message);
    }
    double seconds = hw_seconds() - start;
    assert_true(overtaken);
    /* No faster than the rate, but for the burst that is allowed at first. */
    assert_true((double)UPDATES * LENGTH <= RATE * (seconds + 0.03));
    assert_int_equal(node_path(&nodes[1], 0).messages_sent, UPDATES + 2);
    node_close(&nodes[1]);
    node_close(&nodes[0]);
    assert_int_equal(nodes[0].losses + nodes[1].losses, 0);
}

/* At 100 kB a second these updates would take 40 s. */
static void dropped_updates_delay_nothing(void **state)
{
    (void)state;
    node nodes[2];
    for (uint32_t i = 0; i < 2; i++) {
        hw_net_options options = node_options(i, NULL);
        options.rate = 100000;
        node_open(&nodes[i], &options);
    }
    node_dial(&nodes[1], &nodes[0], 0);
    for (uint64_t i = 0; i < UPDATES; i++)
        send_as(&nodes[1], HW_MESSAGE_UPDATE, 3, 7, i, LENGTH);
    hw_message_free(node_take(&nodes[0])); /* the next one has gone in part, or will go whole */
    hw_net_drop_updates(nodes[1].net, 0);
    double start = hw_seconds();
    send_as(&nodes[1], HW_MESSAGE_UPDATE, 3, 7, 1, LENGTH);
    send_as(&nodes[1], HW_MESSAGE_DONE, 3, 7, 9, 4); /* behind the updates of this pair */
    uint64_t updates = 0;
    for (bool done = false; !done; updates += !done) {
        hw_message *message = node_take(&nodes[0]);
        done = message->envelope.kind == HW_MESSAGE_DONE;
        assert_true(done || message->envelope.kind == HW_MESSAGE_UPDATE);
        message->envelope.kind = HW_MESSAGE_DATA;
        assert_true(is_numbered(message, done ? 9 : 1 + updates, done ? 4 : LENGTH));
        hw_message_free(message);
    }
    assert_true(updates < 3 && hw_seconds() - start < 20.0);
    /* Those of a later run are updates as before. */
    hw_message *later = numbered(2, 1000);
    later->envelope.kind = HW_MESSAGE_UPDATE;
    later->envelope.session = 1;
    assert_int_equal(hw_net_send(nodes[1].net, 0, later, NULL), HAWSER_OK);
    hw_message_free(node_take(&nodes[0]));
    node_close(&nodes[1]);
    node_close(&nodes[0]);
    assert_int_equal(nodes[0].losses + nodes[1].losses, 0);
}

static void paced_messages_arrive_before_the_goodbye(void **state)
{
    (void)state;
    node nodes[2];
    open_two(nodes);
    for (uint64_t i = 0; i < 10; i++)
        send_as(&nodes[1], HW_MESSAGE_UPDATE, 3, 7, i, LENGTH);
    hw_net_stop(nodes[1].net, TEST_TIMEOUT);
    for (uint64_t i = 0; i < 10; i++)
        hw_message_free(node_take(&nodes[0]));
    node_close(&nodes[1]);
    node_close(&nodes[0]);
    assert_int_equal(nodes[0].losses, 0);
}

/* hw_net_stop gives up when no bytes move any more, not when many are left to send. */
static void stop_lasts_while_messages_still_move(void **state)
{
    enum { LONGER = 100 }; /* some 2.4 s at the rate */
    (void)state;
    node nodes[2];
    open_two(nodes);
    for (uint64_t i = 0; i < LONGER; i++)
        send_as(&nodes[1], HW_MESSAGE_UPDATE, 3, 7, i, LENGTH);
    hw_net_stop(nodes[1].net, 1);
    for (uint64_t i = 0; i < LONGER; i++)
        hw_message_free(node_take(&nodes[0]));
    node_close(&nodes[1]);
    node_close(&nodes[0]);
    assert_int_equal(nodes[0].losses, 0);
}

/* Updates that wait for a lost node delay no other. */
static void a_lost_link_frees_its_turn(void **state)
{
    (void)state;
    node nodes[3];
    open_two(nodes);
    hw_net_options options = node_options(2, NULL);
    node_open(&nodes[2], &options);
    node_dial(&nodes[2], &nodes[0], 0);
    assert_true(node_await32(&nodes[0], &nodes[0].ups, 2));
    for (int i = 0; i < 4; i++) {
        hw_message *message = numbered(0, 50 << 20);
        message->envelope.kind = HW_MESSAGE_UPDATE;
        assert_int_equal(hw_net_send(nodes[0].net, 1, message, NULL), HAWSER_OK);
    }
    node_rest(0.1);
    node_close(&nodes[1]);
    hw_message *message = numbered(0, 10000);
    message->envelope.kind = HW_MESSAGE_UPDATE;
    assert_int_equal(hw_net_send(nodes[0].net, 2, message, NULL), HAWSER_OK);
    hw_message_free(node_take(&nodes[2]));
    node_close(&nodes[2]);
    node_close(&nodes[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(updates_flow_at_the_rate_and_others_overtake),
        cmocka_unit_test(dropped_updates_delay_nothing),
        cmocka_unit_test(paced_messages_arrive_before_the_goodbye),
        cmocka_unit_test(stop_lasts_while_messages_still_move),
        cmocka_unit_test(a_lost_link_frees_its_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
