/* net_raw.h - a peer that knows the key, and then sends what bytes the test likes. */
#ifndef HW_TESTS_NET_RAW_H
#define HW_TESTS_NET_RAW_H

#include "net_proxy.h"
#include "transport/net/shake.h"

enum { RAW_INCARNATION = 82 };

/* Stamps a frame as the net of such a peer would. */
static inline void stamp_raw(hw_frame *frame)
{
    frame->envelope.incarnation = RAW_INCARNATION;
    frame->envelope.view = HW_VIEW_FIRST;
}

/* The handshake is ours, what follows is the test's; the socket, which blocks. */
static inline int shake_hands_raw(node *server, uint32_t number)
{
    hw_identity self = {
        .job = "test", .name = "rogue", .build = "1.0 (test)", .key_length = 32, .incarnation = RAW_INCARNATION};
    self.key = (unsigned char *)(uintptr_t)TEST_KEY;
    atomic_store(&self.node, number);
    int fd = connect_to(port_of(hw_net_address(server->net)));
    assert_true(fd >= 0);
    hw_shake *shake = malloc(sizeof *shake);
    hw_shake_begin(shake, &self, fd, true, 0);
    assert_int_equal(hw_shake_step(shake), HW_SHAKE_DONE); /* the socket blocks: one step is all */
    assert_int_equal(shake->number, number);
    free(shake);
    assert_true(node_await32(server, &server->ups, 1));
    return fd;
}

#endif
