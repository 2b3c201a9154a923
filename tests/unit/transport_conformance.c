/* One contract, every transport: the same tests of messages and puts within a process, over shared memory, Unix sockets, TCP
 * and TLS. */
#include "net_nodes.h"
#include "sanitized.h"
#include "transport/net/parts.h"
#include "transport/segment/segment.h"

enum { NODES = 4, BLOCKS = 8, DRIVER = BLOCKS, ENDPOINTS = BLOCKS + 1 + NODES };

typedef enum medium { INPROC, SHARED, SMALL, UNIX, TCP, TLS, UCX } medium; /* SMALL: rings that a message seldom fits */

/* Endpoints over a few nodes; within a process there is one. */
typedef struct world {
    medium medium;
    uint32_t nodes;
    node node[NODES];
    hw_transport *of[NODES];
    uint32_t home[ENDPOINTS];
    hw_transport *at[ENDPOINTS]; /* the transport where the endpoint lives */
} world;

static void begin_session(world *self, uint32_t session)
{
    for (uint32_t i = 0; i < self->nodes; i++) {
        hawser_error error;
        hawser_status status = self->medium == INPROC ? hw_inproc_new(ENDPOINTS, &self->of[i], &error)
                                                      : hw_net_transport_new(self->node[i].net, session, ENDPOINTS, BLOCKS,
                                                                             self->home, &self->of[i], &error);
        if (status != HAWSER_OK)
            fail_msg("%s", error.text);
        if (self->medium != INPROC)
            node_run(&self->node[i], self->of[i], session);
    }
    for (uint32_t e = 0; e < ENDPOINTS; e++)
        self->at[e] = self->of[self->home[e]];
}

static void open_nodes(world *self, uint64_t rate)
{
    for (uint32_t i = 0; i < self->nodes; i++) {
        hw_net_options options = node_options(i, self->medium <= UNIX ? "sockets" : NULL);
        options.transport = self->medium <= SMALL  ? HW_NET_SHARED
                            : self->medium == UNIX ? HW_NET_UNIX
                            : self->medium == UCX  ? HW_NET_UCX
                                                   : HW_NET_TCP;
        options.ring = self->medium == SMALL ? 4096 : 0;
        options.encrypt_always = self->medium == TLS;
        options.rate = rate;
        node_open(&self->node[i], &options);
        for (uint32_t j = 0; j < i; j++)
            node_dial(&self->node[i], &self->node[j], j);
    }
    for (uint32_t i = 0; i < self->nodes; i++)
        assert_true(node_await32(&self->node[i], &self->node[i].ups, self->nodes - 1));
    static const char *const paths[] = {
        [SHARED] = "shm", [SMALL] = "shm", [UNIX] = "unix", [TCP] = "tcp", [TLS] = "tcp+tls", [UCX] = "ucx"};
    for (uint32_t i = 0; i < self->nodes; i++)
        for (uint32_t j = 0; j < self->nodes; j++)
            if (i != j)
                assert_string_equal(node_path(&self->node[i], j).transport, paths[self->medium]);
}

static world *open_world(medium chosen)
{
    world *self = calloc(1, sizeof *self);
    assert_non_null(self);
    self->medium = chosen;
    self->nodes = chosen == INPROC ? 1 : NODES;
    for (uint32_t e = 0; e < ENDPOINTS; e++)
        self->home[e] = e < BLOCKS ? e % self->nodes : e == DRIVER ? 0 : (e - DRIVER - 1) % self->nodes;
    if (chosen != INPROC)
        open_nodes(self, 0);
    begin_session(self, 1);
    return self;
}

static void end_session(world *self)
{
    for (uint32_t i = 0; i < self->nodes; i++) {
        if (self->medium != INPROC)
            node_run(&self->node[i], NULL, 0);
        self->of[i]->ops->free(self->of[i]);
    }
}

static void close_world(world *self)
{
    end_session(self);
    for (uint32_t i = 0; i < self->nodes && self->medium != INPROC; i++)
        node_close(&self->node[i]);
    for (uint32_t i = 0; i < self->nodes && self->medium != INPROC; i++) {
        assert_int_equal(self->node[i].losses, 0);
        assert_int_equal(self->node[i].refused, 0);
    }
    free(self);
}

static hawser_status send_from(world *self, uint32_t source, uint32_t destination, hw_message *message)
{
    hw_transport *transport = self->at[source];
    message->envelope.source = source;
    return transport->ops->send(transport, source, destination, message, NULL);
}

static hw_message *await_message(world *self, uint32_t endpoint)
{
    hw_transport *transport = self->at[endpoint];
    for (double end = hw_seconds() + TEST_TIMEOUT; hw_seconds() < end;) {
        hw_message *message = transport->ops->receive(transport, endpoint);
        if (message != NULL)
            return message;
        node_rest(0.0001);
    }
    fail_msg("endpoint %u waits in vain", endpoint);
    return NULL;
}

static void expect_number(hw_message *message, uint64_t number, size_t length, uint32_t destination)
{
    assert_int_equal(message->envelope.destination, destination);
    message->envelope.destination = 7;
    assert_true(is_numbered(message, number, length));
    hw_message_free(message);
}

/* Every field of the envelope is as it was sent. */
static void envelopes_arrive_whole(world *self)
{
    const hw_envelope sent = {.kind = HW_MESSAGE_UPDATE,
                              .form = HW_FORM_VALUES,
                              .encoding = HW_SPARSE,
                              .source = 1,
                              .destination = 0,
                              .session = 1,
                              .incarnation = 11,
                              .view = 12,
                              .state = 13,
                              .loop = 14,
                              .epoch = UINT64_C(0x1234567890),
                              .clock = UINT64_MAX - 1,
                              .part = 15,
                              .last = 1,
                              .span = 16,
                              .count = UINT64_C(1) << 60,
                              .length = 3};
    hw_message *message;
    assert_int_equal(hw_message_new(3, &message, NULL), HAWSER_OK);
    memcpy(message->payload, "abc", 3);
    message->envelope = sent;
    assert_int_equal(send_from(self, 1, 0, message), HAWSER_OK);
    message = await_message(self, 0);
    hw_envelope got = message->envelope;
    assert_int_equal(got.kind, sent.kind);
    assert_int_equal(got.form, sent.form);
    assert_int_equal(got.encoding, sent.encoding);
    assert_int_equal(got.source, sent.source);
    if (self->medium != INPROC) { /* the net's own */
        assert_int_equal(got.incarnation, hw_net_short_incarnation(hw_net_incarnation(self->node[1].net)));
        assert_int_equal(got.view, HW_VIEW_FIRST);
    }
    assert_int_equal(got.state, sent.state);
    assert_int_equal(got.loop, sent.loop);
    assert_true(got.epoch == sent.epoch && got.clock == sent.clock && got.count == sent.count);
    assert_int_equal(got.part, sent.part);
    assert_int_equal(got.last, sent.last);
    assert_int_equal(got.span, sent.span);
    assert_int_equal(got.length, 3);
    assert_int_equal(got.sequence, 0);
    assert_memory_equal(message->payload, "abc", 3);
    hw_message_free(message);
}

static void payloads_of_any_size_arrive(world *self)
{
    const size_t sizes[] = {0,     1,     2047,  2048,    2049,          16383,    16384,
                            16385, 65535, 65536, 1 << 20, (1 << 22) + 1, 64 << 20, 1 << 30};
    size_t count = sizeof sizes / sizeof *sizes - !runs_long();
    size_t small = 0;
    while (sizes[small] < 64 << 20)
        small++;
    for (size_t i = 0; i < small; i++)
        assert_int_equal(send_from(self, 2, 5, numbered(i, sizes[i])), HAWSER_OK);
    for (size_t i = 0; i < small; i++)
        expect_number(await_message(self, 5), i, sizes[i], 5);
    for (size_t i = small; i < count && !SANITIZED; i++) {
        assert_int_equal(send_from(self, 2, 5, numbered(i, sizes[i])), HAWSER_OK);
        expect_number(await_message(self, 5), i, sizes[i], 5);
    }
}

typedef struct talker {
    world *world;
    uint32_t endpoint;
    uint64_t each;
    int wrong;
} talker;

/* Sends to every other endpoint, also of its own node, and receives from all meanwhile. */
static void *talk(void *argument)
{
    talker *self = argument;
    hw_transport *transport = self->world->at[self->endpoint];
    uint64_t next[ENDPOINTS] = {0}, left = self->each * (ENDPOINTS - 1), sent = 0, to = 0;
    double end = hw_seconds() + TEST_TIMEOUT;
    while ((left > 0 || sent < self->each) && hw_seconds() < end) {
        if (sent < self->each) {
            if (to != self->endpoint)
                self->wrong +=
                    send_from(self->world, self->endpoint, (uint32_t)to, numbered(sent, sent * 37 % 3000)) != HAWSER_OK;
            to = (to + 1) % ENDPOINTS;
            sent += to == 0;
        }
        hw_message *message = transport->ops->receive(transport, self->endpoint);
        if (message == NULL) {
            if (sent == self->each)
                node_rest(0.0002);
            continue;
        }
        uint32_t source = message->envelope.source;
        uint64_t due = next[source]++;
        self->wrong += message->envelope.destination != self->endpoint;
        message->envelope.destination = 7;
        self->wrong += !is_numbered(message, due, due * 37 % 3000);
        hw_message_free(message);
        left--;
    }
    self->wrong += left > 0;
    return NULL;
}

/* All endpoints to all, at once, from as many threads; order holds for each pair. */
static void everybody_talks_to_everybody(world *self)
{
    talker talkers[ENDPOINTS];
    pthread_t threads[ENDPOINTS];
    for (uint32_t e = 0; e < ENDPOINTS; e++) {
        talkers[e] = (talker){.world = self, .endpoint = e, .each = 200};
        assert_int_equal(pthread_create(&threads[e], NULL, talk, &talkers[e]), 0);
    }
    for (uint32_t e = 0; e < ENDPOINTS; e++)
        pthread_join(threads[e], NULL);
    for (uint32_t e = 0; e < ENDPOINTS; e++)
        assert_int_equal(talkers[e].wrong, 0);
}

/* A receiver that does not read delays no sender, and no message is lost. */
static void a_slow_receiver_delays_no_other(world *self)
{
    enum { MANY = 200, LENGTH = 100000 };
    for (uint64_t i = 0; i < MANY; i++)
        assert_int_equal(send_from(self, 0, 3, numbered(i, LENGTH)), HAWSER_OK);
    assert_int_equal(send_from(self, 0, 2, numbered(9, 5)), HAWSER_OK);
    expect_number(await_message(self, 2), 9, 5, 2);
    for (uint64_t i = 0; i < MANY; i++) {
        if (i % 100 == 0)
            node_rest(0.05);
        expect_number(await_message(self, 3), i, LENGTH, 3);
    }
}

/* Two that send to each other more than any socket holds, and look only afterwards: no deadlock. */
static void both_full_and_neither_looks(world *self)
{
    enum { MANY = SANITIZED ? 8 : 24, LENGTH = 2 << 20 };
    for (uint64_t i = 0; i < MANY; i++) {
        assert_int_equal(send_from(self, 0, 1, numbered(i, LENGTH)), HAWSER_OK);
        assert_int_equal(send_from(self, 1, 0, numbered(i, LENGTH)), HAWSER_OK);
    }
    for (uint64_t i = 0; i < MANY; i++) {
        expect_number(await_message(self, 1), i, LENGTH, 1);
        expect_number(await_message(self, 0), i, LENGTH, 0);
    }
}

static void count_wake(void *argument)
{
    atomic_fetch_add((atomic_int *)argument, 1);
}

static void a_delivery_wakes_its_receiver(world *self)
{
    atomic_int woken = 0;
    self->at[4]->ops->on_delivery(self->at[4], 4, count_wake, &woken);
    for (uint64_t i = 0; i < 5; i++)
        assert_int_equal(send_from(self, (uint32_t)i % 4, 4, numbered(i, 10)), HAWSER_OK);
    for (int i = 0; i < 5; i++)
        hw_message_free(await_message(self, 4));
    for (double end = hw_seconds() + TEST_TIMEOUT; atomic_load(&woken) < 5 && hw_seconds() < end;)
        node_rest(0.0001); /* the message may be seen before the call */
    assert_int_equal(atomic_load(&woken), 5);
    self->at[4]->ops->on_delivery(self->at[4], 4, NULL, NULL);
}

static void a_closed_endpoint_takes_no_messages(world *self)
{
    assert_int_equal(send_from(self, 6, 2, numbered(1, 10)), HAWSER_OK);
    hw_message *message = await_message(self, 2);
    self->at[2]->ops->close(self->at[2], 2);
    self->at[2]->ops->close(self->at[2], 2);
    expect_number(message, 1, 10, 2);
    assert_int_equal(send_from(self, 6, 2, numbered(2, 10)), HAWSER_PEER_LOST); /* 2 and 6 live on one node */
    assert_int_equal(send_from(self, 6, ENDPOINTS, numbered(2, 10)), HAWSER_BAD_ARGUMENT);
    assert_int_equal(send_from(self, 6, 1, numbered(3, 10)), HAWSER_OK);
    expect_number(await_message(self, 1), 3, 10, 1);
}

static void spread_all(world *self, uint32_t source, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        hw_message *message = numbered(i, i % 5000);
        message->envelope.kind = HW_MESSAGE_UPDATE;
        assert_int_equal(self->at[source]->ops->spread(self->at[source], source, message, NULL), HAWSER_OK);
    }
}

/* Sends to every block of the other nodes, in order, and to no other endpoint. */
static void expect_spread(world *self, uint32_t source, uint64_t count)
{
    for (uint32_t e = 0; e < BLOCKS; e++)
        for (uint64_t i = 0; i < count && self->home[e] != self->home[source]; i++) {
            hw_message *message = await_message(self, e);
            assert_int_equal(message->envelope.source, source);
            message->envelope.kind = HW_MESSAGE_DATA;
            expect_number(message, i, i % 5000, e);
        }
    for (uint32_t e = 0; e < ENDPOINTS; e++)
        assert_null(self->at[e]->ops->receive(self->at[e], e));
}

static void a_spread_reaches_the_blocks_elsewhere(world *self)
{
    spread_all(self, 5, 200);
    expect_spread(self, 5, 200);
}

/* One message reaches every block of one node, no block of another, and takes its place between messages to all. */
static void a_message_to_a_node_reaches_its_blocks(world *self)
{
    const uint32_t source = 5, there = self->home[0];
    if (self->medium == INPROC)
        return;
    assert_int_not_equal(self->home[source], there);
    for (uint64_t i = 0; i < 200; i++) {
        hw_message *message = numbered(i, i % 5000);
        message->envelope.kind = HW_MESSAGE_COMBINED;
        assert_int_equal(self->at[source]->ops->send_to_node(self->at[source], source, there, message, NULL), HAWSER_OK);
    }
    for (uint32_t e = 0; e < BLOCKS; e++)
        for (uint64_t i = 0; i < 200 && self->home[e] == there; i++) {
            hw_message *message = await_message(self, e);
            assert_int_equal(message->envelope.source, source);
            message->envelope.kind = HW_MESSAGE_DATA;
            expect_number(message, i, i % 5000, e);
        }
    spread_all(self, source, 3);
    expect_spread(self, source, 3);
    assert_int_equal(self->at[source]->ops->send_to_node(self->at[source], source, self->home[source], numbered(1, 1), NULL),
                     HAWSER_BAD_ARGUMENT);
}

/* 1 -> 3 -> 0 and 2: each of them forwards the messages of 1; no node receives a message twice. */
static void a_spread_goes_by_relays(world *self)
{
    if (self->medium == INPROC)
        return;
    const uint32_t first[] = {3}, then[] = {0, 2};
    assert_int_equal(hw_net_route(self->node[1].net, 1, first, 1, NULL), HAWSER_OK);
    assert_int_equal(hw_net_route(self->node[3].net, 1, then, 2, NULL), HAWSER_OK);
    spread_all(self, 5, 300); /* at home on node 1 */
    expect_spread(self, 5, 300);
    for (uint32_t to = 0; to < NODES; to++) {
        hw_net_path path;
        if (to == 1)
            continue;
        assert_true(hw_net_path_of(self->node[1].net, to, &path));
        assert_int_equal(path.messages_sent, to == 3 ? 300 : 0);
    }
    assert_int_equal(hw_net_route(self->node[1].net, 1, then, 2, NULL), HAWSER_OK); /* another tree, without 3 */
    spread_all(self, 5, 1);
    for (uint32_t e = 0; e < BLOCKS; e++)
        if (self->home[e] == 0 || self->home[e] == 2)
            hw_message_free(await_message(self, e));
    hw_net_clear_routes(self->node[1].net); /* each node directly */
    spread_all(self, 5, 1);
    for (uint32_t e = 0; e < BLOCKS; e++)
        if (self->home[e] != 1)
            hw_message_free(await_message(self, e));
}

/* Messages say which run they are of. */
static void runs_do_not_mix(world *self)
{
    if (self->medium == INPROC)
        return; /* one transport a run */
    hw_transport *next;
    assert_int_equal(hw_net_transport_new(self->node[1].net, 2, ENDPOINTS, BLOCKS, self->home, &next, NULL), HAWSER_OK);
    assert_int_equal(next->ops->send(next, 1, 4, numbered(2, 10), NULL), HAWSER_OK);
    assert_int_equal(send_from(self, 1, 4, numbered(3, 10)), HAWSER_OK);
    expect_number(await_message(self, 4), 3, 10, 4);
    hw_message *other = node_take(&self->node[0]); /* left to the owner, which handles it */
    assert_int_equal(other->envelope.session, 2);
    expect_number(other, 2, 10, 4);
    next->ops->free(next);
}

/* A message of the run. */
static hw_message *stamped(uint32_t source, uint64_t number)
{
    hw_message *message = numbered(source, number);
    message->envelope.session = 1;
    return message;
}

enum { NO_RUN = 9 }; /* a session that the owner of the net gets */

static hw_message *of_no_run(hw_message_kind kind)
{
    hw_message *message = numbered(1, 4);
    message->envelope.kind = (uint8_t)kind;
    message->envelope.session = NO_RUN;
    return message;
}

/* Sends a message of each kind directly, and an update by a relay; returns their number. */
static uint64_t send_all_kinds(world *self, uint32_t from)
{
    hawser_error error;
    for (int kind = HW_MESSAGE_TRIGGER; kind < HW_MESSAGE_KINDS; kind++)
        assert_int_equal(hw_net_send(self->node[from].net, 0, of_no_run((hw_message_kind)kind), &error), HAWSER_OK);
    assert_int_equal(hw_net_spread(self->node[from].net, of_no_run(HW_MESSAGE_UPDATE), &error), HAWSER_OK);
    return HW_MESSAGE_KINDS;
}

static void await_foreign(world *self, uint64_t count)
{
    double end = hw_seconds() + TEST_TIMEOUT;
    while (atomic_load(&self->node[0].foreign) + atomic_load(&self->node[2].foreign) < count && hw_seconds() < end)
        node_rest(0.0005);
    assert_int_equal(atomic_load(&self->node[0].foreign) + atomic_load(&self->node[2].foreign), count);
}

/* Messages of another incarnation or view are dropped and counted, whatever their kind; only those of the membership itself
 * belong to no view. The link stays, and later messages arrive. */
static void another_incarnation_or_view_is_dropped(world *self)
{
    enum { FROM = 1, RELAY = 2, OTHER = HW_VIEW_FIRST + 1 };
    if (self->medium == INPROC)
        return;
    hw_net *net = self->node[FROM].net;
    const uint32_t relay[] = {RELAY}, last[] = {0}, right = net->incarnation;
    assert_int_equal(hw_net_route(net, FROM, relay, 1, NULL), HAWSER_OK);
    assert_int_equal(hw_net_route(self->node[RELAY].net, FROM, last, 1, NULL), HAWSER_OK);
    const struct {
        uint32_t incarnation, view, expected; /* view that node 0 expects */
        bool all, none;                       /* arrive; else that of the membership alone */
    } cases[] = {{right, OTHER, HW_VIEW_FIRST, false, false},        {right + 1, HW_VIEW_FIRST, HW_VIEW_FIRST, false, true},
                 {right, HW_VIEW_FIRST, HW_VIEW_FIRST, true, false}, {right - 1, OTHER, HW_VIEW_FIRST, false, true},
                 {right, HW_VIEW_FIRST, OTHER, false, false},        {right, OTHER, OTHER, true, false}};
    uint64_t foreign = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hw_net_set_view(net, cases[i].view);
        hw_net_set_view(self->node[0].net, cases[i].expected);
        hw_net_set_view(self->node[RELAY].net, cases[i].expected);
        net->incarnation = cases[i].incarnation;
        uint64_t sent = send_all_kinds(self, FROM), arrives = cases[i].all ? sent : cases[i].none ? 0 : 1;
        foreign += sent - arrives;
        await_foreign(self, foreign);
        for (uint64_t k = 0; k < arrives; k++) {
            hw_message *message = node_take(&self->node[0]);
            assert_true(cases[i].all || message->envelope.kind == HW_MESSAGE_JOIN);
            hw_message_free(message);
        }
    }
    assert_int_equal(self->node[0].losses, 0);
    for (uint32_t i = 0; i < NODES; i++)
        hw_net_set_view(self->node[i].net, HW_VIEW_FIRST);
    net->incarnation = right;
}

/* A node that speaks for another is not believed. */
static void a_source_is_believed_only_from_its_home(world *self)
{
    if (self->medium == INPROC)
        return;
    hawser_error error;
    hw_message *message = stamped(1, 4);
    message->envelope.source = 2;
    message->envelope.destination = 0;
    assert_int_equal(hw_net_transport_arrived(self->of[0], 1, message, &error), HAWSER_BAD_INPUT);
    assert_non_null(strstr(error.text, "endpoint 2"));
    message = stamped(1, 4);
    message->envelope.source = 1;
    message->envelope.destination = 2;
    assert_int_equal(hw_net_transport_arrived(self->of[0], 1, message, &error), HAWSER_BAD_INPUT);
    message = stamped(1, 4);
    message->envelope.kind = HW_MESSAGE_LOST;
    message->envelope.source = 2;
    message->envelope.destination = HW_TO_BLOCKS;
    assert_int_equal(hw_net_transport_arrived(self->of[0], 0, message, &error), HAWSER_OK); /* made here */
    for (uint32_t e = 0; e < BLOCKS; e += NODES)
        hw_message_free(await_message(self, e));
}

/* ------------------------------------------------------------------------------------- puts into segments ---- */

enum { STATE = 3, STATE_SIZE = 1000 };

/* Every byte of a put follows from sender and sequence. */
static size_t put_length(uint64_t sequence)
{
    return (size_t)(sequence * 37 % (STATE_SIZE + 1));
}

static unsigned char put_byte(uint32_t sender, uint64_t sequence, size_t i)
{
    return (unsigned char)(sequence * 31 + sender * 7 + i);
}

static hw_message *a_put(uint32_t sender, uint32_t generation, uint64_t sequence)
{
    hw_message *message;
    size_t length = put_length(sequence);
    assert_int_equal(hw_message_new(length, &message, NULL), HAWSER_OK);
    for (size_t i = 0; i < length; i++)
        ((unsigned char *)message->payload)[i] = put_byte(sender, sequence, i);
    message->envelope.state = STATE;
    message->envelope.epoch = generation;
    message->envelope.clock = sequence;
    return message;
}

static bool is_put(const hw_fresh *found, const unsigned char *data)
{
    bool right = found->length == put_length(found->sequence);
    for (size_t i = 0; right && i < found->length; i++)
        right = data[i] == put_byte(found->sender, found->sequence, i);
    return right;
}

static hawser_status put_from(world *self, uint32_t source, uint32_t destination, uint32_t generation, uint64_t sequence)
{
    hw_transport *transport = self->at[source];
    return transport->ops->put(transport, source, destination, a_put(source, generation, sequence), NULL);
}

static hw_segment *expose_to_all(world *self, uint32_t endpoint, uint32_t generation, uint32_t slots)
{
    uint32_t senders[ENDPOINTS];
    for (uint32_t e = 0; e < ENDPOINTS; e++)
        senders[e] = e;
    const hw_segment_shape shape = {STATE, generation, senders, ENDPOINTS, slots, STATE_SIZE};
    hw_segment *segment;
    hawser_error error;
    hw_transport *transport = self->at[endpoint];
    if (transport->ops->expose(transport, endpoint, &shape, &segment, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    return segment;
}

/* Waits until what `source` has put there before is visible: a message arrives behind it. */
static void pass_behind(world *self, uint32_t source, uint32_t destination)
{
    assert_int_equal(send_from(self, source, destination, numbered(source, 0)), HAWSER_OK);
    hw_message_free(await_message(self, destination));
}

typedef struct putter {
    world *world;
    uint32_t endpoint, to;
    uint64_t each;
    int wrong;
} putter;

static void *put_many(void *argument)
{
    putter *self = argument;
    for (uint64_t i = 1; i <= self->each; i++)
        self->wrong += put_from(self->world, self->endpoint, self->to, 1, i) != HAWSER_OK;
    hw_message *last;
    self->wrong += hw_message_new(0, &last, NULL) != HAWSER_OK;
    last->envelope.kind = HW_MESSAGE_DONE;
    last->envelope.clock = self->each;
    self->wrong += send_from(self->world, self->endpoint, self->to, last) != HAWSER_OK;
    return NULL;
}

typedef struct reader {
    uint64_t seen, missed;
    int wrong;
} reader;

static void look(void *argument, const hw_fresh *found, const void *data)
{
    reader *self = argument;
    self->seen++;
    self->missed += found->missed;
    self->wrong += !is_put(found, data);
}

/* Everybody puts as fast as it can into the slots at one endpoint, which reads meanwhile and hears nothing: what it finds is
 * whole. The message behind the last put arrives when that put is visible. */
static void puts_are_seen_whole(world *self, uint32_t slots)
{
    enum { TO = 2, EACH = SANITIZED ? 300 : 3000 };
    hw_segment *segment = expose_to_all(self, TO, 1, slots);
    putter putters[ENDPOINTS];
    pthread_t threads[ENDPOINTS];
    unsigned char buffer[STATE_SIZE];
    uint64_t after[ENDPOINTS] = {0}, all = 0;
    reader eyes = {0};
    for (uint32_t e = 0; e < ENDPOINTS; e++) {
        putters[e] = (putter){.world = self, .endpoint = e, .to = TO, .each = EACH};
        assert_int_equal(pthread_create(&threads[e], NULL, put_many, &putters[e]), 0);
    }
    for (double end = hw_seconds() + TEST_TIMEOUT; all < ENDPOINTS * EACH && hw_seconds() < end;) {
        if (hw_segment_scan(segment, after, buffer, look, &eyes) == 0)
            node_rest(0.0001);
        all = 0;
        for (uint32_t e = 0; e < ENDPOINTS; e++)
            all += after[e];
    }
    assert_int_equal(all, ENDPOINTS * EACH);
    assert_int_equal(eyes.wrong, 0);
    assert_int_equal(eyes.seen + eyes.missed, ENDPOINTS * EACH);
    for (uint32_t e = 0; e < ENDPOINTS; e++) {
        pthread_join(threads[e], NULL);
        assert_int_equal(putters[e].wrong, 0);
        hw_message *last = await_message(self, TO);
        assert_int_equal(last->envelope.kind, HW_MESSAGE_DONE);
        assert_int_equal(last->envelope.clock, EACH);
        hw_message_free(last);
    }
    hw_segment_figures figures;
    hw_segment_figures_of(segment, &figures);
    assert_int_equal(figures.puts, ENDPOINTS * EACH);
    assert_int_equal(figures.late + figures.backward, 0);
}

static void puts_into_one_slot_are_seen_whole(world *self)
{
    puts_are_seen_whole(self, 1);
}

static void puts_into_three_slots_are_seen_whole(world *self)
{
    puts_are_seen_whole(self, 3);
}

/* A receiver that learns of a put by a message sees it, or a later one. */
static void a_message_arrives_behind_its_put(world *self)
{
    hw_segment *segment = expose_to_all(self, 0, 1, 2);
    unsigned char buffer[STATE_SIZE];
    for (uint64_t i = 1; i <= 300; i++) {
        uint32_t source = (uint32_t)(1 + i % 3), to = 0;
        assert_int_equal(put_from(self, source, to, 1, i), HAWSER_OK);
        pass_behind(self, source, to);
        hw_fresh found;
        assert_int_equal(hw_segment_newest(segment, source, i - 1, buffer, &found), HW_LOOK_FRESH);
        assert_int_equal(found.sequence, i);
        assert_true(is_put(&found, buffer));
        assert_int_equal(hw_segment_newest(segment, source, i, buffer, &found), HW_LOOK_NOTHING);
    }
}

/* A put that arrives after the receiver has retired the segment changes nothing, there or in the next one of that number. */
static void a_retired_segment_takes_no_puts(world *self)
{
    hw_segment *first = expose_to_all(self, 1, 1, 2);
    unsigned char buffer[STATE_SIZE];
    hw_segment_figures figures;
    hw_fresh found;
    assert_int_equal(put_from(self, 0, 1, 1, 1), HAWSER_OK);
    pass_behind(self, 0, 1);
    hw_segment_retire(first);
    hw_segment_retire(first);
    assert_int_equal(put_from(self, 0, 1, 1, 2), HAWSER_OK);
    pass_behind(self, 0, 1);
    hw_segment_figures_of(first, &figures);
    assert_int_equal(figures.puts, 1);
    assert_int_equal(figures.late, 1);

    const uint32_t one[] = {0};
    hw_segment_shape shape = {STATE, 1, one, 1, 2, STATE_SIZE};
    hw_segment *second;
    hw_transport *transport = self->at[1];
    assert_int_equal(transport->ops->expose(transport, 1, &shape, &second, NULL), HAWSER_BAD_ARGUMENT); /* not above */
    second = expose_to_all(self, 1, 5, 2);
    assert_int_equal(hw_segment_generation(second), 5);
    shape.generation = 6;
    assert_int_equal(transport->ops->expose(transport, 1, &shape, &first, NULL), HAWSER_BAD_ARGUMENT); /* it is there */
    assert_int_equal(put_from(self, 0, 1, 1, 3), HAWSER_OK); /* of a sender that has slept through it */
    assert_int_equal(put_from(self, 0, 1, 6, 3), HAWSER_OK);
    pass_behind(self, 0, 1);
    assert_int_equal(hw_segment_newest(second, 0, 0, buffer, &found), HW_LOOK_NOTHING);
    assert_int_equal(put_from(self, 0, 1, 5, 1), HAWSER_OK);
    pass_behind(self, 0, 1);
    assert_int_equal(hw_segment_newest(second, 0, 0, buffer, &found), HW_LOOK_FRESH);
    assert_true(is_put(&found, buffer));
    hw_segment_figures_of(second, &figures);
    assert_int_equal(figures.puts, 1);
    assert_int_equal(figures.late, 2);
}

static void puts_never_go_backward(world *self)
{
    hw_segment *segment = expose_to_all(self, 0, 1, 2);
    unsigned char buffer[STATE_SIZE];
    hw_segment_figures figures;
    hw_fresh found;
    const uint64_t order[] = {4, 4, 3, 2, 9, 5};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        assert_int_equal(put_from(self, 2, 0, 1, order[i]), HAWSER_OK);
    pass_behind(self, 2, 0);
    assert_int_equal(hw_segment_newest(segment, 2, 0, buffer, &found), HW_LOOK_FRESH);
    assert_int_equal(found.sequence, 9);
    assert_int_equal(found.missed, 8);
    hw_segment_figures_of(segment, &figures);
    assert_int_equal(figures.puts, 2);
    assert_int_equal(figures.backward, 4);
}

/* Puts that no correct sender makes: refused to the caller if the segment is on this node, and rejected if they come from
 * another node. */
static void a_put_that_cannot_be_is_refused(world *self)
{
    const uint32_t one[] = {4};
    const hw_segment_shape shape = {STATE, 1, one, 1, 1, 8};
    hw_segment *segment;
    hw_transport *transport = self->at[0];
    hawser_error error;
    assert_int_equal(transport->ops->expose(transport, 0, &shape, &segment, &error), HAWSER_OK);
    static const struct {
        uint32_t source; /* both live where 0 does */
        uint64_t sequence, length;
        const char *words;
    } bad[] = {{4, 1, 9, "put 9 bytes"}, {4, 0, 8, "sequence 0"}, {0, 1, 8, "no slot"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        for (int far = 0; far < 2; far++) {
            hw_message *message;
            assert_int_equal(hw_message_new((size_t)bad[i].length, &message, NULL), HAWSER_OK);
            memset(message->payload, 1, (size_t)bad[i].length);
            message->envelope.state = STATE;
            message->envelope.epoch = 1;
            message->envelope.clock = bad[i].sequence;
            if (!far) {
                assert_int_equal(transport->ops->put(transport, bad[i].source, 0, message, &error), HAWSER_BAD_ARGUMENT);
            } else if (self->medium == INPROC) {
                hw_message_free(message);
                continue;
            } else {
                message->envelope.kind = HW_MESSAGE_PUT;
                message->envelope.session = 1;
                message->envelope.source = bad[i].source;
                message->envelope.destination = 0;
                assert_int_equal(hw_net_transport_arrived(transport, 0, message, &error), HAWSER_BAD_INPUT);
            }
            assert_non_null(strstr(error.text, bad[i].words));
        }
    }
    assert_int_equal(transport->ops->put(transport, 4, ENDPOINTS, a_put(4, 1, 1), &error), HAWSER_BAD_ARGUMENT);
    if (self->medium != INPROC) /* memory of another node is not ours to expose */
        assert_int_equal(transport->ops->expose(transport, 1, &shape, &segment, &error), HAWSER_BAD_ARGUMENT);
    hw_segment_figures figures;
    hw_segment_figures_of(segment, &figures);
    assert_int_equal(figures.puts + figures.late + figures.backward, 0);
}

typedef struct medium_test {
    medium medium;
    void (*test)(world *);
} medium_test;

static bool has_ucx;

static void run(void **state)
{
    const medium_test *what = *state;
    if (what->medium == UCX && !has_ucx)
        skip();
    char directory[] = "/tmp/hawser-test-XXXXXX", command[100];
    assert_non_null(mkdtemp(directory));
    assert_int_equal(chdir(directory), 0);
    world *self = open_world(what->medium);
    what->test(self);
    close_world(self);
    assert_int_equal(chdir("/"), 0);
    (void)!snprintf(command, sizeof command, "rm -rf '%s'", directory);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    static const struct {
        const char *name;
        void (*test)(world *);
    } contract[] = {
        {"envelopes_arrive_whole", envelopes_arrive_whole},
        {"payloads_of_any_size_arrive", payloads_of_any_size_arrive},
        {"everybody_talks_to_everybody", everybody_talks_to_everybody},
        {"a_slow_receiver_delays_no_other", a_slow_receiver_delays_no_other},
        {"both_full_and_neither_looks", both_full_and_neither_looks},
        {"a_delivery_wakes_its_receiver", a_delivery_wakes_its_receiver},
        {"a_closed_endpoint_takes_no_messages", a_closed_endpoint_takes_no_messages},
        {"a_spread_reaches_the_blocks_elsewhere", a_spread_reaches_the_blocks_elsewhere},
        {"a_message_to_a_node_reaches_its_blocks", a_message_to_a_node_reaches_its_blocks},
        {"a_spread_goes_by_relays", a_spread_goes_by_relays},
        {"runs_do_not_mix", runs_do_not_mix},
        {"another_incarnation_or_view_is_dropped", another_incarnation_or_view_is_dropped},
        {"a_source_is_believed_only_from_its_home", a_source_is_believed_only_from_its_home},
        {"puts_into_one_slot_are_seen_whole", puts_into_one_slot_are_seen_whole},
        {"puts_into_three_slots_are_seen_whole", puts_into_three_slots_are_seen_whole},
        {"a_message_arrives_behind_its_put", a_message_arrives_behind_its_put},
        {"a_retired_segment_takes_no_puts", a_retired_segment_takes_no_puts},
        {"puts_never_go_backward", puts_never_go_backward},
        {"a_put_that_cannot_be_is_refused", a_put_that_cannot_be_is_refused},
    };
    static const char *const transports[] = {"inproc", "shm", "shm, small", "unix", "tcp", "tcp+tls", "ucx"};
    enum { TESTS = sizeof contract / sizeof *contract, TRANSPORTS = sizeof transports / sizeof *transports };
    char names[TESTS * TRANSPORTS][80];
    medium_test whats[TESTS * TRANSPORTS];
    struct CMUnitTest tests[TESTS * TRANSPORTS];
    for (size_t i = 0; i < TESTS * TRANSPORTS; i++) {
        (void)!snprintf(names[i], sizeof names[i], "%s: %s", transports[i / TESTS], contract[i % TESTS].name);
        whats[i] = (medium_test){(medium)(i / TESTS), contract[i % TESTS].test};
        tests[i] = (struct CMUnitTest){names[i], run, NULL, NULL, &whats[i]};
    }
    has_ucx = node_has_ucx();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
