/* The rate limit: updates flow at the rate and no faster, everything else overtakes them, nothing changes its order or is
 * lost. */
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
    /* The link was busy as long as updates waited for the rate. */
    double busy = node_path(&nodes[1], 0).busy;
    assert_true(busy <= seconds + 0.01 && (double)UPDATES * LENGTH <= RATE * (busy + 0.03));
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

static bool is_limited(hw_message_kind kind)
{
    return kind == HW_MESSAGE_UPDATE || kind == HW_MESSAGE_ADDEND || kind == HW_MESSAGE_COMBINED ||
           kind == HW_MESSAGE_SHARE || kind == HW_MESSAGE_ASK || kind == HW_MESSAGE_ANSWER;
}

/* Kinds of messages that are never delivered. */
static bool is_inner(hw_message_kind kind)
{
    return kind == HW_MESSAGE_PUT;
}

/* Each kind of message is sent at the rate at most, or is not delayed at all: at this rate the others would take 90 s. */
static void each_kind_keeps_the_rate_or_is_free(void **state)
{
    (void)state;
    enum { SLOW = 50000, EACH = 60, BYTES = 5000 };
    for (int limited = 0; limited < 2; limited++) {
        node nodes[2];
        for (uint32_t i = 0; i < 2; i++) {
            hw_net_options options = node_options(i, NULL);
            options.rate = limited ? RATE / 4 : SLOW;
            node_open(&nodes[i], &options);
        }
        node_dial(&nodes[1], &nodes[0], 0);
        for (int kind = HW_MESSAGE_TRIGGER; kind < HW_MESSAGE_KINDS; kind++) {
            uint64_t before = node_path(&nodes[1], 0).bytes_sent;
            double start = hw_seconds();
            if (is_limited((hw_message_kind)kind) != (limited == 1) || is_inner((hw_message_kind)kind))
                continue;
            for (uint64_t i = 0; i < EACH; i++)
                send_as(&nodes[1], (hw_message_kind)kind, 3, 7, i, BYTES);
            for (uint64_t i = 0; i < EACH; i++) {
                hw_message *message = node_take(&nodes[0]);
                assert_int_equal(message->envelope.kind, kind);
                message->envelope.kind = HW_MESSAGE_DATA;
                assert_true(is_numbered(message, i, BYTES));
                hw_message_free(message);
            }
            double seconds = hw_seconds() - start, bytes = (double)(node_path(&nodes[1], 0).bytes_sent - before);
            assert_true(bytes >= EACH * BYTES);
            assert_true(limited ? bytes <= RATE / 4 * (seconds + 0.03) : seconds < EACH * BYTES / SLOW / 2.0);
        }
        node_close(&nodes[1]);
        node_close(&nodes[0]);
    }
}

/* Nodes and clients meet when the store's messages before have arrived. Messages of a run do not wait. When a run is being
 * ended, nothing waits. */
static void meetings_follow_the_store(void **state)
{
    (void)state;
    node nodes[2];
    open_two(nodes);
    for (int kind = 0; kind < 2; kind++) {
        for (uint64_t i = 0; i < 20; i++)
            send_as(&nodes[1], i % 2 == 0 ? HW_MESSAGE_ASK : HW_MESSAGE_ANSWER, 3, 7, i, LENGTH / 2);
        send_as(&nodes[1], kind == 0 ? HW_MESSAGE_DATA : HW_MESSAGE_CLIENT, 1, 2, 20, 4);
        send_as(&nodes[1], HW_MESSAGE_DONE, 3, 7, 21, 4);
        uint64_t number = 0;
        for (int i = 0; i < 22; i++) {
            hw_message *message = node_take(&nodes[0]);
            bool done = message->envelope.kind == HW_MESSAGE_DONE;
            assert_true(!done || number < 20);
            message->envelope.kind = HW_MESSAGE_DATA;
            message->envelope.destination = 7;
            assert_true(is_numbered(message, done ? 21 : number, done || number == 20 ? 4 : LENGTH / 2));
            number += !done;
            hw_message_free(message);
        }
    }
    double start = hw_seconds(); /* 20 s at the rate */
    hw_net_drop_updates(nodes[1].net, 0);
    for (uint64_t i = 0; i < 4; i++)
        send_as(&nodes[1], HW_MESSAGE_ASK, 3, 7, i, 20 << 20);
    for (uint64_t i = 0; i < 4; i++)
        hw_message_free(node_take(&nodes[0]));
    assert_true(hw_seconds() - start < 10);
    hw_net_pace_again(nodes[1].net);
    start = hw_seconds();
    for (uint64_t i = 0; i < 10; i++)
        send_as(&nodes[1], HW_MESSAGE_ASK, 3, 7, i, LENGTH);
    for (uint64_t i = 0; i < 10; i++)
        hw_message_free(node_take(&nodes[0]));
    assert_true(10.0 * LENGTH <= RATE * (hw_seconds() - start + 0.03));
    node_close(&nodes[1]);
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
        cmocka_unit_test(each_kind_keeps_the_rate_or_is_free),
        cmocka_unit_test(meetings_follow_the_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
