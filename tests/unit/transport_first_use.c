/* Links that the first message makes: over each transport, by two nodes at once, after a failure, and beside a goodbye. */
#include "net_nodes.h"

#include "net_proxy.h"
#include "sanitized.h"
#include "transport/net/parts.h"

enum { NODES = 24, LENGTHS = 5 };
static const size_t lengths[LENGTHS] = {0, 1, 3000, 70000, 300000};

typedef struct world {
    node nodes[NODES];
    char addresses[NODES][NODES][HW_NET_ADDRESS]; /* [of][as node ... sees it] */
    uint64_t incarnations[NODES];
    uint32_t count;
} world;

static world all;

static void describe(void *argument, uint32_t number, hw_net_hello *hello)
{
    const uint32_t self = (uint32_t)((node *)argument - all.nodes);
    *hello = (hw_net_hello){.node = number, .incarnation = all.incarnations[number], .name = "tester"};
    memcpy(hello->address, all.addresses[number][self], sizeof hello->address);
}

static void open_nodes(uint32_t count, hw_transport_kind wish, bool encrypted, double failure_timeout)
{
    all.count = count;
    for (uint32_t i = 0; i < count; i++) {
        hw_net_options options = node_options(i, "@");
        options.transport = wish;
        options.encrypt_always = encrypted;
        options.failure_timeout = failure_timeout;
        options.ring = 64 << 10;
        node_open(&all.nodes[i], &options);
        all.incarnations[i] = hw_net_incarnation(all.nodes[i].net);
        for (uint32_t k = 0; k < count; k++)
            (void)!snprintf(all.addresses[i][k], HW_NET_ADDRESS, "%s", hw_net_address(all.nodes[i].net));
    }
}

static void know(void)
{
    for (uint32_t i = 0; i < all.count; i++)
        assert_int_equal(hw_net_know(all.nodes[i].net, all.count, describe, NULL), HAWSER_OK);
}

static void close_nodes(void)
{
    for (uint32_t i = 0; i < all.count; i++)
        node_close(&all.nodes[i]);
}

static void send_from(uint32_t from, uint32_t to, uint64_t number, size_t length)
{
    hawser_error error;
    if (hw_net_send(all.nodes[from].net, to, numbered(number, length), &error) != HAWSER_OK)
        fail_msg("%s", error.text);
}

static void expect(uint32_t at, uint32_t from, uint64_t number, size_t length)
{
    hw_message *message = node_take(&all.nodes[at]);
    assert_int_equal(message->origin, from);
    assert_true(is_numbered(message, number, length));
    hw_message_free(message);
}

static void await_loss(uint32_t at, uint32_t of, const char *why)
{
    node *self = &all.nodes[at];
    assert_true(node_await32(self, &self->losses, 1));
    pthread_mutex_lock(&self->mutex);
    assert_int_equal(self->lost_node, of);
    if (strstr(self->why, why) == NULL)
        fail_msg("\"%s\" does not contain \"%s\"", self->why, why);
    pthread_mutex_unlock(&self->mutex);
}

static void expect_refused(uint32_t from, uint32_t to, const char *why)
{
    hawser_error error = {0};
    assert_int_equal(hw_net_send(all.nodes[from].net, to, numbered(1, 1), &error), HAWSER_PEER_LOST);
    if (strstr(error.text, why) == NULL)
        fail_msg("\"%s\" does not contain \"%s\"", error.text, why);
}

/* ------------------------------------------------------------------------------------------ one node sends first ---- */

static void the_first_message_makes_the_link(hw_transport_kind wish, bool encrypted, const char *transport)
{
    enum { MESSAGES = 40 };
    open_nodes(3, wish, encrypted, 30);
    expect_refused(0, 1, "there is no link to node 1");
    know();
    for (uint64_t i = 0; i < MESSAGES; i++) {
        send_from(0, 1, i, lengths[i % LENGTHS]); /* the lower number, which does not dial otherwise */
        send_from(2, 0, i, lengths[i % LENGTHS]);
    }
    for (uint64_t i = 0; i < MESSAGES; i++) {
        expect(1, 0, i, lengths[i % LENGTHS]);
        expect(0, 2, i, lengths[i % LENGTHS]);
    }
    send_from(1, 0, 7, 9);
    expect(0, 1, 7, 9);
    assert_string_equal(node_path(&all.nodes[0], 1).transport, transport);
    assert_int_equal(node_path(&all.nodes[0], 1).messages_sent, MESSAGES);
    assert_false(hw_net_linked(all.nodes[1].net, 2));
    assert_int_equal(node_count(&all.nodes[0], &all.nodes[0].ups), 2);
    assert_int_equal(node_count(&all.nodes[1], &all.nodes[1].ups), 1);
    close_nodes();
}

static void over_tcp(void **state)
{
    (void)state;
    the_first_message_makes_the_link(HW_NET_TCP, false, "tcp");
}

static void over_tls(void **state)
{
    (void)state;
    the_first_message_makes_the_link(HW_NET_TCP, true, "tcp+tls");
}

static void over_unix(void **state)
{
    (void)state;
    the_first_message_makes_the_link(HW_NET_UNIX, false, "unix");
}

static void over_shared_memory(void **state)
{
    (void)state;
    the_first_message_makes_the_link(HW_NET_SHARED, false, "shm");
}

static void messages_for_all_reach_nodes_without_links(void **state)
{
    (void)state;
    open_nodes(3, HW_NET_BEST, false, 30);
    know();
    assert_int_equal(hw_net_spread(all.nodes[0].net, numbered(5, 100), NULL), HAWSER_OK);
    expect(1, 0, 5, 100);
    expect(2, 0, 5, 100);
    close_nodes();

    open_nodes(3, HW_NET_BEST, false, 30);
    know();
    assert_int_equal(hw_net_route(all.nodes[0].net, 0, (uint32_t[]){1}, 1, NULL), HAWSER_OK);
    assert_int_equal(hw_net_route(all.nodes[1].net, 0, (uint32_t[]){2}, 1, NULL), HAWSER_OK);
    assert_int_equal(hw_net_spread(all.nodes[0].net, numbered(6, 100), NULL), HAWSER_OK);
    expect(1, 0, 6, 100);
    expect(2, 0, 6, 100);
    assert_false(hw_net_linked(all.nodes[2].net, 0));
    close_nodes();
}

static void queued_messages_arrive_before_the_goodbye(void **state)
{
    enum { MESSAGES = 20 };
    (void)state;
    open_nodes(2, HW_NET_BEST, false, 30);
    know();
    for (uint64_t i = 0; i < MESSAGES; i++)
        send_from(0, 1, i, lengths[i % LENGTHS]);
    hw_net_stop(all.nodes[0].net, 5);
    for (uint64_t i = 0; i < MESSAGES; i++)
        expect(1, 0, i, lengths[i % LENGTHS]);
    assert_int_equal(node_count(&all.nodes[1], &all.nodes[1].losses), 0);
    close_nodes();
}

/* ------------------------------------------------------------------------------------------- all nodes send first ---- */

typedef struct sender {
    pthread_t thread;
    pthread_barrier_t *start;
    uint32_t self, round;
} sender;

enum { EACH = 3, ORDERS = 32 /* a power of two */ };

static void *send_first(void *argument)
{
    sender *self = argument;
    (void)pthread_barrier_wait(self->start);
    for (uint32_t i = 0; i < EACH; i++)
        for (uint32_t k = 1; k < ORDERS; k++) {
            /* in an odd round both nodes of a pair have it at one place of their orders, so they dial at about one time */
            uint32_t to = self->round % 2 == 0 ? (self->self + k) % ORDERS : self->self ^ k;
            if (to < all.count)
                send_from(self->self, to, i, 40);
        }
    return NULL;
}

/* Each node receives EACH messages of each other, in order. */
static void receive_all_of(uint32_t at)
{
    uint32_t next[NODES] = {0};
    for (uint32_t i = 0; i < EACH * (all.count - 1); i++) {
        hw_message *message = node_take(&all.nodes[at]);
        assert_int_equal(message->envelope.clock, next[message->origin]);
        next[message->origin]++;
        hw_message_free(message);
    }
    assert_int_equal(node_count(&all.nodes[at], &all.nodes[at].losses), 0);
    assert_int_equal(node_count(&all.nodes[at], &all.nodes[at].ups), all.count - 1);
    for (uint32_t from = 0; from < all.count; from++)
        if (from != at)
            assert_int_equal(node_path(&all.nodes[at], from).messages_received, EACH);
}

static void pairs_that_send_first_at_once_get_one_link(void **state)
{
    const uint32_t rounds = runs_long() ? 40 : 3;
    (void)state;
    for (uint32_t round = 0; round < rounds; round++) {
        sender senders[NODES];
        pthread_barrier_t start;
        open_nodes(NODES, round % 3 == 0 ? HW_NET_BEST : round % 3 == 1 ? HW_NET_TCP : HW_NET_UNIX, false, 30);
        know();
        pthread_barrier_init(&start, NULL, NODES);
        for (uint32_t i = 0; i < NODES; i++) {
            senders[i] = (sender){.start = &start, .self = i, .round = round};
            assert_int_equal(pthread_create(&senders[i].thread, NULL, send_first, &senders[i]), 0);
        }
        for (uint32_t i = 0; i < NODES; i++)
            pthread_join(senders[i].thread, NULL);
        for (uint32_t i = 0; i < NODES; i++)
            receive_all_of(i);
        for (uint32_t i = 0; i < NODES; i++) { /* a connection that does not count is no stranger's */
            hw_net_accept_figures figures;
            hw_net_accepts(all.nodes[i].net, &figures);
            assert_string_equal(figures.last_refused, "");
            assert_int_equal(figures.refused_key + figures.refused_hello + figures.timed_out + figures.crowded_out, 0);
        }
        pthread_barrier_destroy(&start);
        close_nodes();
    }
}

/* Lets node `from` see `to` behind a proxy that passes nothing on until it is started. */
static void stand_between(proxy *between, uint32_t from, uint32_t to)
{
    proxy_prepare(between, hw_net_address(all.nodes[to].net));
    (void)!snprintf(all.addresses[to][from], HW_NET_ADDRESS, "%s", between->address);
}

static void the_lower_node_takes_the_connection_of_the_higher(void **state)
{
    proxy between;
    (void)state;
    open_nodes(2, HW_NET_TCP, false, 30);
    stand_between(&between, 0, 1);
    know();
    send_from(0, 1, 1, 10);
    node_rest(0.1);
    assert_int_equal(node_count(&all.nodes[0], &all.nodes[0].ups), 0);
    send_from(1, 0, 2, 10);
    expect(0, 1, 2, 10);
    expect(1, 0, 1, 10);
    proxy_start(&between); /* what was dialled at first has no effect */
    send_from(0, 1, 3, 10);
    expect(1, 0, 3, 10);
    node_rest(0.1);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(node_count(&all.nodes[i], &all.nodes[i].ups), 1);
        assert_int_equal(node_count(&all.nodes[i], &all.nodes[i].losses), 0);
    }
    assert_int_equal(node_count(&all.nodes[0], &all.nodes[0].admitted), 1);
    assert_int_equal(node_count(&all.nodes[1], &all.nodes[1].admitted), 0);
    close_nodes();
    proxy_stop(&between);
    proxy_free(&between);
}

static void the_higher_node_rejects_the_connection_of_the_lower(void **state)
{
    proxy between;
    (void)state;
    open_nodes(2, HW_NET_TCP, false, 30);
    stand_between(&between, 1, 0);
    know();
    send_from(1, 0, 1, 10);
    send_from(0, 1, 2, 10);
    node_rest(0.3); /* several tries of the lower node */
    assert_int_equal(node_count(&all.nodes[1], &all.nodes[1].ups), 0);
    assert_int_equal(node_count(&all.nodes[0], &all.nodes[0].ups), 0);
    proxy_start(&between);
    expect(0, 1, 1, 10);
    expect(1, 0, 2, 10);
    assert_int_equal(node_count(&all.nodes[1], &all.nodes[1].admitted), 0);
    assert_int_equal(node_count(&all.nodes[0], &all.nodes[0].admitted), 1);
    hw_net_accept_figures figures;
    hw_net_accepts(all.nodes[1].net, &figures);
    assert_int_equal(figures.refused_hello, 0); /* a rejection for now is none */
    close_nodes();
    proxy_stop(&between);
    proxy_free(&between);
}

static void both_learn_that_the_higher_node_cannot_connect(void **state)
{
    proxy between;
    (void)state;
    open_nodes(2, HW_NET_TCP, false, 0.5);
    stand_between(&between, 1, 0);
    know();
    send_from(1, 0, 1, 10);
    send_from(0, 1, 2, 10);
    await_loss(1, 0, "no answer in time");
    await_loss(0, 1, "");
    expect_refused(0, 1, "was lost");
    expect_refused(1, 0, "was lost: no answer in time");
    assert_int_equal(hw_net_pending(all.nodes[0].net) + hw_net_pending(all.nodes[1].net), 0);
    proxy_start(&between);
    close_nodes();
    proxy_stop(&between);
    proxy_free(&between);
}

/* --------------------------------------------------------------------------------------------------------- failures ---- */

static void a_node_that_is_gone_is_lost_after_the_failure_timeout(void **state)
{
    (void)state;
    open_nodes(3, HW_NET_TCP, false, 0.5);
    know();
    node_close(&all.nodes[2]);
    double begin = hw_seconds();
    send_from(0, 2, 1, 10);
    assert_true(hw_net_linked(all.nodes[0].net, 2)); /* it is being dialled */
    await_loss(0, 2, "Connection refused");
    assert_true(hw_seconds() - begin >= 0.5);
    expect_refused(0, 2, "was lost: Connection refused");
    assert_int_equal(node_count(&all.nodes[0], &all.nodes[0].losses), 1);
    all.count = 2;
    close_nodes();
}

static void a_node_that_has_left_is_not_dialled(void **state)
{
    (void)state;
    open_nodes(4, HW_NET_TCP, false, 60);
    know();
    node_close(&all.nodes[3]);
    node_close(&all.nodes[2]);
    send_from(0, 2, 1, 10);
    hw_net_gone(all.nodes[0].net, 2, "");
    for (double until = hw_seconds() + TEST_TIMEOUT; hw_net_linked(all.nodes[0].net, 2) && hw_seconds() < until;)
        node_rest(0.001);
    expect_refused(0, 2, "node 2 (tester) has left");
    hw_net_gone(all.nodes[0].net, 3, "it was killed");
    expect_refused(0, 3, "node 3 (tester) was lost");
    assert_int_equal(node_count(&all.nodes[0], &all.nodes[0].losses), 0);
    send_from(0, 1, 4, 10);
    hw_net_gone(all.nodes[0].net, 1, "");
    all.count = 2;
    close_nodes();
}

/* The node that would have forwarded the goodbye of node 1 has left, too. */
static void a_net_that_stops_gives_up_a_dial_to_an_ended_process(void **state)
{
    (void)state;
    open_nodes(2, HW_NET_TCP, false, 5);
    know();
    node_close(&all.nodes[1]);
    send_from(0, 1, 1, 10);
    hw_net_stop(all.nodes[0].net, 60);
    assert_int_equal(node_count(&all.nodes[0], &all.nodes[0].losses), 0); /* what the failure timeout would make of it */
    all.count = 1;
    close_nodes();
}

/* Its dial is freed, as the leak checker of the sanitizer sees. */
static void a_first_use_after_the_end_of_the_acceptor_is_freed(void **state)
{
    (void)state;
    open_nodes(2, HW_NET_TCP, false, 30);
    know();
    hw_acceptor_end(all.nodes[0].net);
    send_from(0, 1, 1, 10);
    hw_net_stop(all.nodes[0].net, 0); /* for no goodbye can be sent */
    close_nodes();
}

static void another_process_is_no_known_node(void **state)
{
    (void)state;
    open_nodes(2, HW_NET_TCP, false, 30);
    all.incarnations[1]++;
    know();
    send_from(0, 1, 1, 10);
    await_loss(0, 1, "node 1 (tester) is another process than the one that has joined");
    await_loss(1, 0, "its connection was closed");
    close_nodes();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(over_tcp),
        cmocka_unit_test(over_tls),
        cmocka_unit_test(over_unix),
        cmocka_unit_test(over_shared_memory),
        cmocka_unit_test(messages_for_all_reach_nodes_without_links),
        cmocka_unit_test(queued_messages_arrive_before_the_goodbye),
        cmocka_unit_test(pairs_that_send_first_at_once_get_one_link),
        cmocka_unit_test(the_lower_node_takes_the_connection_of_the_higher),
        cmocka_unit_test(the_higher_node_rejects_the_connection_of_the_lower),
        cmocka_unit_test(both_learn_that_the_higher_node_cannot_connect),
        cmocka_unit_test(a_node_that_is_gone_is_lost_after_the_failure_timeout),
        cmocka_unit_test(a_node_that_has_left_is_not_dialled),
        cmocka_unit_test(a_net_that_stops_gives_up_a_dial_to_an_ended_process),
        cmocka_unit_test(a_first_use_after_the_end_of_the_acceptor_is_freed),
        cmocka_unit_test(another_process_is_no_known_node),
    };
    return cmocka_run_group_tests_name("transport: links on first use", tests, NULL, NULL);
}
