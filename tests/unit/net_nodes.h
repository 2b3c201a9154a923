/* net_nodes.h - a few nets in one process; the owner of each keeps the events that it receives. */
#ifndef HW_TESTS_NET_NODES_H
#define HW_TESTS_NET_NODES_H

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "transport/net/fabric.h"
#include "transport/net/net.h"

#define TEST_KEY     ((const unsigned char *)"0123456789abcdef0123456789abcdef")
#define TEST_TIMEOUT 60.0

typedef struct node {
    hw_net *net;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    hw_message *first, **last; /* arrived, with `origin` saying from where */
    uint64_t arrived;
    uint32_t ups, losses, lost_node, admitted;
    uint32_t not_yet; /* this many dials are rejected for now */
    char why[200];
    double silent;
    hw_transport *run; /* what arrives goes there instead, if it is of its session */
    uint32_t session;
    uint32_t refused;
    atomic_uint_fast64_t foreign; /* messages that the net dropped */
    bool echoes;                  /* what arrives goes back, from the net's own thread */
} node;

static inline void node_up(void *argument, uint32_t number, const hw_net_hello *hello)
{
    node *self = argument;
    (void)hello;
    pthread_mutex_lock(&self->mutex);
    self->ups++;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
    (void)number;
}

static inline void node_count_refused(node *self)
{
    pthread_mutex_lock(&self->mutex);
    self->refused++;
    pthread_mutex_unlock(&self->mutex);
}

static inline void node_arrived(void *argument, uint32_t number, hw_message *message)
{
    node *self = argument;
    pthread_mutex_lock(&self->mutex);
    self->arrived++;
    pthread_cond_broadcast(&self->changed);
    if (self->run != NULL && message->envelope.session == self->session) {
        self->refused += hw_net_transport_arrived(self->run, number, message, NULL) != HAWSER_OK;
        pthread_mutex_unlock(&self->mutex);
        return;
    }
    message->origin = number;
    message->next = NULL;
    bool echoes = self->echoes;
    if (!echoes) {
        *self->last = message;
        self->last = &message->next;
    }
    pthread_mutex_unlock(&self->mutex);
    if (echoes && hw_net_send(self->net, number, message, NULL) != HAWSER_OK)
        node_count_refused(self);
}

/* From now on what arrives goes to `run`, NULL: is kept. */
static inline void node_run(node *self, hw_transport *run, uint32_t session)
{
    pthread_mutex_lock(&self->mutex);
    self->run = run;
    self->session = session;
    pthread_mutex_unlock(&self->mutex);
}

static inline void node_lost(void *argument, uint32_t number, const char *why, double silent)
{
    node *self = argument;
    pthread_mutex_lock(&self->mutex);
    self->losses++;
    self->lost_node = number;
    (void)!snprintf(self->why, sizeof self->why, "%s", why);
    self->silent = silent;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
}

static inline void node_foreign(void *argument, uint32_t number, const hw_envelope *envelope)
{
    (void)number;
    (void)envelope;
    atomic_fetch_add(&((node *)argument)->foreign, 1);
}

/* Assigns numbers from 1 to peers without one. */
static inline hawser_status node_admit(void *argument, const hw_net_hello *hello, uint32_t *number, hawser_error *error)
{
    node *self = argument;
    if (strcmp(hello->name, "unwanted") == 0)
        return hawser_fail(error, HAWSER_PEER_LOST, "%s is not wanted here", hello->name);
    pthread_mutex_lock(&self->mutex);
    if (self->not_yet > 0) {
        self->not_yet--;
        pthread_mutex_unlock(&self->mutex);
        return hawser_fail(error, HAWSER_STOP, "not yet");
    }
    self->admitted++;
    if (*number == HW_NET_ANY)
        *number = self->admitted;
    pthread_mutex_unlock(&self->mutex);
    return HAWSER_OK;
}

static inline hw_net_options node_options(uint32_t number, const char *directory)
{
    return (hw_net_options){.job = "test",
                            .key = TEST_KEY,
                            .key_length = 32,
                            .node = number,
                            .name = "tester",
                            .build = "1.0 (test)",
                            .directory = directory,
                            .local_only = true};
}

static inline hawser_status node_try(node *self, const hw_net_options *options, hawser_error *error)
{
    memset(self, 0, sizeof *self);
    self->last = &self->first;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    const hw_net_events events = {.argument = self,
                                  .admit = node_admit,
                                  .up = node_up,
                                  .arrived = node_arrived,
                                  .foreign = node_foreign,
                                  .lost = node_lost};
    return hw_net_new(options, &events, &self->net, error);
}

static inline void node_open(node *self, const hw_net_options *options)
{
    hawser_error error;
    if (node_try(self, options, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
}

static inline void node_close(node *self)
{
    if (self->net != NULL)
        hw_net_stop(self->net, 5);
    hw_net_free(self->net);
    while (self->first != NULL) {
        hw_message *next = self->first->next;
        hw_message_free(self->first);
        self->first = next;
    }
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->mutex);
}

static inline void node_dial(node *from, node *to, uint32_t expected)
{
    hawser_error error;
    uint32_t number;
    hawser_status status = hw_net_dial(from->net, hw_net_address(to->net), expected, TEST_TIMEOUT, &number, &error);
    if (status != HAWSER_OK)
        fail_msg("%s", error.text);
    assert_int_equal(number, hw_net_number(from->net));
}

/* Waits until *count >= least; false: in vain. */
static inline bool node_await32(node *self, const uint32_t *count, uint32_t least)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)TEST_TIMEOUT;
    int result = 0;
    pthread_mutex_lock(&self->mutex);
    while (*count < least && result == 0)
        result = pthread_cond_timedwait(&self->changed, &self->mutex, &until);
    bool there = *count >= least;
    pthread_mutex_unlock(&self->mutex);
    return there;
}

static inline uint32_t node_count(node *self, const uint32_t *count)
{
    pthread_mutex_lock(&self->mutex);
    uint32_t value = *count;
    pthread_mutex_unlock(&self->mutex);
    return value;
}

/* The oldest message, waited for. */
static inline hw_message *node_take(node *self)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)TEST_TIMEOUT;
    int result = 0;
    pthread_mutex_lock(&self->mutex);
    while (self->first == NULL && result == 0)
        result = pthread_cond_timedwait(&self->changed, &self->mutex, &until);
    hw_message *message = self->first;
    if (message != NULL) {
        self->first = message->next;
        if (self->first == NULL)
            self->last = &self->first;
        message->next = NULL;
    }
    pthread_mutex_unlock(&self->mutex);
    assert_non_null(message);
    return message;
}

static inline void node_rest(double seconds)
{
    struct timespec time = hw_timespec(seconds);
    nanosleep(&time, NULL);
}

/* False, and says why: there is no UCX here, in the build or on the machine. To be asked before there are threads. */
static inline bool node_has_ucx(void)
{
    hw_fabric *fabric;
    hawser_error error;
    (void)setenv("UCX_MEM_MMAP_HOOK_MODE", "none", 0); /* its patches of mmap and ThreadSanitizer's do not go together */
    bool there = hw_fabric_new(false, &fabric, &error) == HAWSER_OK;
    if (!there)
        print_message("skipped: %s\n", error.text);
    hw_fabric_free(fabric);
    return there;
}

/* What became of a link, once all that was queued has been written. */
static inline hw_net_path node_path(node *self, uint32_t to)
{
    hw_net_path path;
    double deadline = hw_seconds() + TEST_TIMEOUT;
    do {
        assert_true(hw_net_path_of(self->net, to, &path));
        if (path.queued > 0)
            node_rest(0.001);
    } while (path.queued > 0 && hw_seconds() < deadline);
    assert_int_equal(path.queued, 0);
    return path;
}

/* Makes a message whose bytes follow from its number. */
static inline hw_message *numbered(uint64_t number, size_t length)
{
    hw_message *message;
    assert_int_equal(hw_message_new(length, &message, NULL), HAWSER_OK);
    message->envelope.kind = HW_MESSAGE_DATA;
    message->envelope.clock = number;
    message->envelope.destination = 7;
    unsigned char *bytes = message->payload;
    for (size_t i = 0; i + 1 < length; i += 4096)
        bytes[i] = (unsigned char)(number + i / 4096);
    if (length > 0)
        bytes[length - 1] = (unsigned char)(number * 7 + 1);
    return message;
}

static inline bool is_numbered(const hw_message *message, uint64_t number, size_t length)
{
    const unsigned char *bytes = message->payload;
    bool right = message->envelope.clock == number && message->envelope.length == length &&
                 message->envelope.kind == HW_MESSAGE_DATA && message->envelope.destination == 7;
    for (size_t i = 0; right && i + 1 < length; i += 4096)
        right = bytes[i] == (unsigned char)(number + i / 4096);
    return right && (length == 0 || bytes[length - 1] == (unsigned char)(number * 7 + 1));
}

#endif
