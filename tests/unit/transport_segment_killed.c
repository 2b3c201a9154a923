/* A node that puts into a segment of ours over the net and is killed in the middle of a put: what is there stays whole, and
 * a node that comes after it is not mistaken for it. */
#include <signal.h>
#include <sys/wait.h>

#include "net_nodes.h"
#include "transport/segment/segment.h"

enum { LARGE = 1 << 20, ENDPOINTS = 2, SEGMENT = 5, LEAST = 20 };

static const uint32_t home[ENDPOINTS] = {0, 1};

static void fill(unsigned char *data, uint64_t sequence)
{
    memset(data, (int)(sequence * 7 + 1), LARGE);
    memcpy(data, &sequence, sizeof sequence);
}

static bool is_whole(const unsigned char *data, const hw_fresh *found)
{
    static unsigned char wanted[LARGE];
    fill(wanted, found->sequence);
    return found->length == LARGE && memcmp(data, wanted, LARGE) == 0;
}

/* Node 1, a process of its own: puts until it is killed. */
static void put_for_ever(int address_from, bool local)
{
    char address[HW_NET_ADDRESS];
    node self;
    uint32_t number;
    hw_transport *transport;
    hw_net_path path;
    if (read(address_from, address, sizeof address) != (ssize_t)sizeof address)
        _exit(1);
    hw_net_options options = node_options(1, local ? "sockets" : NULL);
    if (node_try(&self, &options, NULL) != HAWSER_OK ||
        hw_net_dial(self.net, address, 0, TEST_TIMEOUT, &number, NULL) != HAWSER_OK ||
        hw_net_transport_new(self.net, 1, ENDPOINTS, ENDPOINTS, home, &transport, NULL) != HAWSER_OK)
        _exit(1);
    for (uint64_t i = 1;; i++) {
        hw_message *message;
        while (hw_net_path_of(self.net, 0, &path) && path.queued > 8 << 20)
            node_rest(0.0001);
        if (hw_message_new(LARGE, &message, NULL) != HAWSER_OK)
            _exit(1);
        fill(message->payload, i);
        message->envelope.state = SEGMENT;
        message->envelope.epoch = 1;
        message->envelope.clock = i;
        if (transport->ops->put(transport, 1, 0, message, NULL) != HAWSER_OK)
            _exit(1);
    }
}

static void kill_one(bool local, int rest)
{
    static unsigned char data[LARGE];
    static const uint32_t sender[] = {1};
    const hw_segment_shape shape = {SEGMENT, 1, sender, 1, 2, LARGE};
    int address[2];
    assert_int_equal(pipe(address), 0);
    pid_t child = fork();
    if (child == 0)
        put_for_ever(address[0], local);
    node self;
    hw_transport *transport;
    hw_segment *segment;
    hw_net_options options = node_options(0, local ? "sockets" : NULL);
    node_open(&self, &options);
    assert_int_equal(hw_net_transport_new(self.net, 1, ENDPOINTS, ENDPOINTS, home, &transport, NULL), HAWSER_OK);
    assert_int_equal(transport->ops->expose(transport, 0, &shape, &segment, NULL), HAWSER_OK);
    node_run(&self, transport, 1);
    char text[HW_NET_ADDRESS] = "";
    (void)!snprintf(text, sizeof text, "%s", hw_net_address(self.net));
    assert_int_equal(write(address[1], text, sizeof text), sizeof text);
    uint64_t seen = 0;
    hw_fresh found;
    for (double end = hw_seconds() + TEST_TIMEOUT; seen < LEAST && hw_seconds() < end;)
        if (hw_segment_newest(segment, 1, seen, data, &found) == HW_LOOK_FRESH) {
            assert_true(is_whole(data, &found) && found.sequence > seen);
            seen = found.sequence;
        }
    assert_true(seen >= LEAST);
    node_rest(rest * 0.0003); /* somewhere within a put */
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_true(node_await32(&self, &self.losses, 1));
    hw_segment_figures figures;
    hw_segment_figures_of(segment, &figures);
    assert_int_equal(hw_segment_newest(segment, 1, 0, data, &found), HW_LOOK_FRESH);
    assert_true(is_whole(data, &found) && found.sequence >= seen);
    assert_int_equal(found.sequence, figures.puts); /* the last that came whole, and none after it */
    assert_int_equal(figures.bytes, figures.puts * LARGE);
    assert_int_equal(self.refused, 0);
    node_run(&self, NULL, 0);
    transport->ops->free(transport);
    node_close(&self);
    close(address[0]);
    close(address[1]);
}

static void a_sender_killed_in_the_middle_of_a_put(void **state)
{
    char directory[] = "/tmp/hawser-test-XXXXXX", command[100];
    (void)state;
    assert_non_null(mkdtemp(directory));
    assert_int_equal(chdir(directory), 0);
    for (int i = 0; i < 12; i++)
        kill_one(i % 2 == 0, i);
    assert_int_equal(chdir("/"), 0);
    (void)!snprintf(command, sizeof command, "rm -rf '%s'", directory);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_sender_killed_in_the_middle_of_a_put)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
