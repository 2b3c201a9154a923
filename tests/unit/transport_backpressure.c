/* A peer that asks for more than it takes is not read for a while, on every transport: what waits for it stays within a
 * bound, it gets everything if it takes its time, is lost if it takes nothing, and has left if it goes meanwhile. How
 * servers use that is in store_raw_clients.c. */
#include "net_nodes.h"

enum { ANSWER = 64 << 10, UNREAD = 4 * ANSWER, ASKED = 1200 /* more than sockets, rings and UCX hold between two */ };
enum { PATIENCE = 2, MOST_PATIENCE = 32 /* seconds; a busy machine is silent for one */ };

/* The peer that answers each request with a large reply. */
typedef struct keeper {
    node own; /* its functions take it for theirs */
    uint32_t answered, left;
} keeper;

static hw_message *message_of(hw_message_kind kind, uint64_t number, size_t length)
{
    hw_message *message = NULL;
    assert_int_equal(hw_message_new(length, &message, NULL), HAWSER_OK);
    memset(message->payload, (int)(number % 251), length);
    message->envelope.kind = (uint8_t)kind;
    message->envelope.clock = number;
    return message;
}

static void answer(void *argument, uint32_t number, hw_message *message)
{
    keeper *self = argument;
    (void)!hw_net_send(self->own.net, number, message_of(HW_MESSAGE_ANSWER, message->envelope.clock, ANSWER), NULL);
    hw_message_free(message);
    pthread_mutex_lock(&self->own.mutex);
    self->answered++;
    pthread_mutex_unlock(&self->own.mutex);
}

static void note_left(void *argument, uint32_t number)
{
    keeper *self = argument;
    (void)number;
    pthread_mutex_lock(&self->own.mutex);
    self->left++;
    pthread_cond_broadcast(&self->own.changed);
    pthread_mutex_unlock(&self->own.mutex);
}

/* The peer that sends requests, and receives a reply only while its gate is open. */
typedef struct asker {
    node own;
    bool stuffed; /* changed with the mutex held */
    unsigned rest;
    uint32_t received;
    uint64_t wrong;
    double last, longest; /* when it last received a reply, and the longest time between two */
} asker;

static void receive(void *argument, uint32_t number, hw_message *message)
{
    asker *self = argument;
    const unsigned char *bytes = message->payload;
    (void)number;
    pthread_mutex_lock(&self->own.mutex);
    while (self->stuffed)
        pthread_cond_wait(&self->own.changed, &self->own.mutex);
    unsigned rest = self->rest;
    self->wrong += message->envelope.clock != self->received || message->envelope.length != ANSWER ||
                   bytes[0] != self->received % 251 || bytes[ANSWER - 1] != self->received % 251;
    self->received++;
    self->longest = fmax(self->longest, hw_seconds() - self->last);
    self->last = hw_seconds();
    pthread_cond_broadcast(&self->own.changed);
    pthread_mutex_unlock(&self->own.mutex);
    hw_message_free(message);
    if (rest > 0)
        usleep(rest);
}

static void slow_down(asker *self, bool stuffed, unsigned rest)
{
    pthread_mutex_lock(&self->own.mutex);
    self->stuffed = stuffed;
    self->rest = rest;
    pthread_cond_broadcast(&self->own.changed);
    pthread_mutex_unlock(&self->own.mutex);
}

static void open_node(node *self, const hw_net_options *options, hw_net_events events)
{
    pthread_condattr_t attributes;
    hawser_error error;
    self->last = &self->first;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    events.argument = self;
    events.admit = node_admit;
    events.up = node_up;
    events.lost = node_lost;
    if (hw_net_new(options, &events, &self->net, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
}

typedef struct scene {
    keeper keeper;
    asker asker;
} scene;

/* All requests are sent at once by a peer that takes no replies, or rests after each. */
static scene *begin(hw_transport_kind transport, bool stuffed, unsigned rest, uint64_t asked, double patience)
{
    scene *s = calloc(1, sizeof *s);
    hw_net_options options = node_options(0, "@");
    options.transport = transport;
    options.direct = true;
    options.failure_timeout = patience;
    options.unread_most = UNREAD;
    open_node(&s->keeper.own, &options, (hw_net_events){.arrived = answer, .left = note_left});
    options.node = 1;
    options.failure_timeout = 60; /* the timeout of the keeper is tested */
    options.unread_most = 0;
    s->asker.stuffed = stuffed;
    s->asker.rest = rest;
    s->asker.last = hw_seconds();
    open_node(&s->asker.own, &options, (hw_net_events){.arrived = receive});
    node_dial(&s->asker.own, &s->keeper.own, 0);
    for (uint64_t i = 0; i < asked; i++)
        assert_int_equal(hw_net_send(s->asker.own.net, 0, message_of(HW_MESSAGE_ASK, i, 8), NULL), HAWSER_OK);
    return s;
}

static void end(scene *s)
{
    node_close(&s->asker.own);
    node_close(&s->keeper.own);
    assert_int_equal(s->asker.wrong, 0);
    free(s);
}

static void take_nothing(hw_transport_kind transport)
{
    scene *s = begin(transport, true, 0, ASKED, PATIENCE);
    unsigned long long waited = 0;
    assert_true(node_await32(&s->keeper.own, &s->keeper.own.losses, 1));
    if (sscanf(s->keeper.own.why, "it has stopped reading: %llu bytes that wait", &waited) != 1)
        fail_msg("%s", s->keeper.own.why);
    assert_in_range(waited, 1, UNREAD + 2 * ANSWER);
    assert_true(node_count(&s->keeper.own, &s->keeper.answered) < ASKED); /* the rest waits at its own end */
    slow_down(&s->asker, false, 0);
    end(s);
}

/* Returns the bytes that wait for the asker, once there are some; 0 if it has received all replies, or was lost. */
static uint64_t await_queued(scene *s)
{
    hw_net_path path = {0};
    for (double until = hw_seconds() + TEST_TIMEOUT;
         path.queued == 0 && node_count(&s->asker.own, &s->asker.received) < ASKED &&
         node_count(&s->keeper.own, &s->keeper.own.losses) == 0 && hw_seconds() < until;
         node_rest(0.01))
        assert_true(hw_net_path_of(s->keeper.own.net, 1, &path));
    return path.queued;
}

static void await_answers(scene *s, uint32_t least)
{
    if (!node_await32(&s->asker.own, &s->asker.received, least))
        fail_msg("%u of %u answers; the asker: %s; the keeper: %s", node_count(&s->asker.own, &s->asker.received), least,
                 s->asker.own.why, s->keeper.own.why);
}

static bool lost(scene *s)
{
    return node_count(&s->keeper.own, &s->keeper.own.losses) > 0;
}

/* Waits until the asker has received all replies or was lost. Returns whether it has them. */
static bool await_all(scene *s)
{
    for (double until = hw_seconds() + TEST_TIMEOUT + MOST_PATIENCE;
         !lost(s) && node_count(&s->asker.own, &s->asker.received) < ASKED && hw_seconds() < until;)
        node_rest(0.01);
    return node_count(&s->asker.own, &s->asker.received) == ASKED;
}

/* Returns false if the asker was lost, and was indeed silent for about that long, as on a busy machine. */
static bool take_with_patience(hw_transport_kind transport, double patience)
{
    scene *s = begin(transport, true, 0, ASKED, patience);
    unsigned rest = (unsigned)(1.2e6 * patience / ASKED); /* in all for longer than the keeper is patient */
    node_rest(0.5);
    for (int open = 0; open < 2; open++) {
        uint64_t queued = await_queued(s); /* on a busy machine the second may find that all is received */
        assert_in_range(queued, open == 0 && !lost(s), UNREAD + 2 * ANSWER);
        slow_down(&s->asker, false, rest);
        node_rest(0.1);
    }
    bool all = await_all(s);
    double silent = fmax(s->asker.longest, hw_seconds() - s->asker.last);
    if (!all && silent < patience / 2)
        fail_msg("%u of %u answers, without a pause above %.3f s; the asker: %s; the keeper: %s",
                 node_count(&s->asker.own, &s->asker.received), ASKED, silent, s->asker.own.why, s->keeper.own.why);
    end(s);
    return all;
}

static void take_slowly(hw_transport_kind transport)
{
    double patience = PATIENCE;
    while (!take_with_patience(transport, patience))
        if ((patience *= 4) > MOST_PATIENCE)
            fail_msg("the machine is too busy: pauses of %d s", MOST_PATIENCE);
}

/* By UCX all questions are on their way when it goes, and most are unread when its socket ends. */
static void leave(hw_transport_kind transport)
{
    scene *s = begin(transport, false, 20000, transport == HW_NET_UCX ? ASKED : ASKED / 6, MOST_PATIENCE);
    await_answers(s, 2);
    hw_net_stop(s->asker.own.net, 5);
    if (!node_await32(&s->keeper.own, &s->keeper.left, 1))
        fail_msg("%s", s->keeper.own.why);
    assert_int_equal(node_count(&s->keeper.own, &s->keeper.own.losses), 0);
    end(s);
}

static const hw_transport_kind transports[] = {HW_NET_TCP, HW_NET_UNIX, HW_NET_SHARED, HW_NET_UCX};

static void over_every_transport(void (*test)(hw_transport_kind transport), bool ucx)
{
    for (size_t i = 0; i < sizeof transports / sizeof *transports - !ucx; i++)
        test(transports[i]);
}

static void bytes_that_are_not_read_are_bounded(void **state)
{
    over_every_transport(take_nothing, *(bool *)*state);
}

static void a_slow_peer_gets_everything(void **state)
{
    over_every_transport(take_slowly, *(bool *)*state);
}

static void peer_that_says_goodbye_while_paused_is_not_lost(void **state)
{
    over_every_transport(leave, *(bool *)*state);
}

int main(void)
{
    static bool ucx;
    ucx = node_has_ucx();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(bytes_that_are_not_read_are_bounded, &ucx),
        cmocka_unit_test_prestate(a_slow_peer_gets_everything, &ucx),
        cmocka_unit_test_prestate(peer_that_says_goodbye_while_paused_is_not_lost, &ucx),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
