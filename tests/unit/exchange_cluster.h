/*
 * exchange_cluster.h - blocks with one replica each and a network whose order a seed decides, for the tests of the exchange.
 * Messages of one source to one destination keep their order; everything else may happen at any time.
 */
#ifndef TESTS_EXCHANGE_CLUSTER_H
#define TESTS_EXCHANGE_CLUSTER_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "exchange/exchange.h"
#include "exchange_payload.h"

enum { MOST_BLOCKS = 9 };

typedef struct link {
    hw_message *first, *last;
} link_queue;

typedef struct cluster {
    uint32_t blocks;
    size_t n;
    hw_policy policy; /* by which blocks wait, which may be stricter than that of the epoch */
    hw_replica *replicas[MOST_BLOCKS];
    link_queue links[MOST_BLOCKS][MOST_BLOCKS]; /* [destination][source] */
    uint64_t clock[MOST_BLOCKS];                /* clocks cut */
    hw_random random;
    double *computed;  /* sum of all deltas that units have made */
    double *magnitude; /* sum of their sizes, for tolerances */
    uint64_t epoch, payload_bytes;
} cluster;

static inline void check(hawser_status status, const hawser_error *error)
{
    if (status != HAWSER_OK)
        print_error("%s\n", error->text);
    assert_int_equal(status, HAWSER_OK);
}

/* Sends a copy of a message, and returns it so that the caller can change its envelope. */
static inline hw_message *link_send(link_queue *link, const hw_message *message)
{
    hawser_error error = {0};
    hw_message *copy;
    check(hw_message_share(message, &copy, &error), &error);
    if (link->first == NULL)
        link->first = copy;
    else
        link->last->next = copy;
    link->last = copy;
    return copy;
}

/* Takes the oldest message of a link; NULL if there is none. */
static inline hw_message *link_take(link_queue *link)
{
    hw_message *message = link->first;
    if (message != NULL)
        link->first = message->next;
    return message;
}

/* Returns true if a message is for block `to`; `home` is the node of each block. */
static inline bool is_for(const hw_message *message, const uint32_t *home, uint32_t from, uint32_t to)
{
    uint32_t destination = message->envelope.destination;
    bool here = home[to] == home[from];
    return to != from && (destination == HW_TO_BLOCKS || destination == to || (destination == HW_TO_NODES && !here) ||
                          (destination == HW_TO_LOCAL && here));
}

static inline hw_replica_spec plain_spec(uint32_t blocks, size_t n)
{
    return (hw_replica_spec){
        .state = 3, .name = "v", .count = n, .blocks = blocks, .sources = blocks, .rule = {.damping = 1, .gain = 1}};
}

static inline void cluster_open(cluster *c, hw_replica_spec spec, hw_policy policy, uint64_t seed)
{
    hawser_error error = {0};
    *c = (cluster){.blocks = spec.blocks, .n = spec.count, .policy = policy, .random = hw_random_at(seed, 77, 0, 0)};
    c->computed = calloc(spec.count + 1, sizeof(double));
    c->magnitude = calloc(spec.count + 1, sizeof(double));
    for (uint32_t b = 0; b < spec.blocks; b++) {
        spec.block = b;
        spec.seed = seed;
        if (spec.values) {
            spec.own_begin = spec.count * b / spec.blocks;
            spec.own_end = spec.count * (b + 1) / spec.blocks;
        }
        check(hw_replica_new(&spec, &c->replicas[b], &error), &error);
        hw_replica_begin(c->replicas[b], 0, policy);
    }
}

static inline void cluster_close(cluster *c)
{
    for (uint32_t b = 0; b < c->blocks; b++) {
        hw_replica_free(c->replicas[b]);
        for (uint32_t s = 0; s < c->blocks; s++)
            while (c->links[b][s].first != NULL)
                hw_message_free(link_take(&c->links[b][s]));
    }
    free(c->computed);
    free(c->magnitude);
}

/* Sends a message to all other blocks and frees it. */
static inline void cluster_send(cluster *c, uint32_t source, hw_message *message)
{
    if (message == NULL)
        return;
    c->payload_bytes += message->envelope.length;
    for (uint32_t b = 0; b < c->blocks; b++)
        if (b != source)
            link_send(&c->links[b][source], message);
    hw_message_free(message);
}

/* Delivers one message of a random link to block b. Returns false if there is none. */
static inline bool cluster_deliver(cluster *c, uint32_t b)
{
    hawser_error error = {0};
    uint32_t start = (uint32_t)hw_random_below(&c->random, c->blocks);
    for (uint32_t i = 0; i < c->blocks; i++) {
        hw_message *message = link_take(&c->links[b][(start + i) % c->blocks]);
        if (message == NULL)
            continue;
        check(hw_replica_accept(c->replicas[b], message, &error), &error);
        return true;
    }
    return false;
}

static inline void cluster_cut(cluster *c, uint32_t b, bool last, bool flush)
{
    hawser_error error = {0};
    hw_message *message;
    check(hw_replica_cut(c->replicas[b], c->clock[b], last, flush, &message, &error), &error);
    cluster_send(c, b, message);
    c->clock[b] += last;
}

/* Changes entry i by `delta`, through the gain, as a unit does, and counts the change. */
static inline void cluster_change(cluster *c, uint32_t b, size_t i, double delta)
{
    cache_of(c->replicas[b])[i] += hw_replica_gain(c->replicas[b]) * delta;
    c->computed[i] += delta;
    c->magnitude[i] += fabs(delta) + fabs(cache_of(c->replicas[b])[i]);
}

static inline bool cluster_ready(const cluster *c, uint32_t b)
{
    return hw_admit_read(c->policy, hw_replica_clocks(c->replicas[b]), c->clock[b]);
}

static inline void cluster_merge(cluster *c, uint32_t b)
{
    hawser_error error = {0};
    check(hw_replica_merge(c->replicas[b], c->clock[b], &error), &error);
}

/* Delivers the remaining messages and ends the epoch, after every block has cut `clocks` clocks. */
static inline void cluster_end(cluster *c, uint64_t clocks)
{
    hawser_error error = {0};
    for (uint32_t b = 0; b < c->blocks; b++) {
        assert_true(c->clock[b] == clocks);
        while (cluster_deliver(c, b))
            continue;
        check(hw_replica_end(c->replicas[b], clocks, &error), &error);
    }
}

static inline bool same_bits(const double *a, const double *b, size_t n)
{
    return memcmp(a, b, n * sizeof *a) == 0;
}

#endif
