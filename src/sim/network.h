/*
 * network.h - how long bytes take between the hosts of a world.
 *
 * Each host has an up-link and a down-link of a rate. Frames leave an up-link, in turn over the channels that have something
 * to send, and queue at the down-link of their host. A frame is what the link sends in 1 ms, 2,896 bytes to 64 KiB. It
 * arrives `latency` after it has left. A channel with a full window (256 KiB, or two round trips of its up-link) waits until
 * a frame has arrived. The heads of Ethernet, IP and TCP are 66 bytes per 1,448, and the receiver's up-link sends 66 for
 * every two of these. Within a host bytes cost a rate and no link.
 */
#ifndef HW_SIM_NETWORK_H
#define HW_SIM_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sim_item sim_item;

/* What is sent over a channel. The owner has it within a larger struct. */
struct sim_item {
    sim_item *next;
    uint64_t bytes;
    void (*left)(sim_item *item);    /* its last byte has left the host; NULL: nothing to do */
    void (*arrived)(sim_item *item); /* its last byte has arrived; takes the item */
    void (*lost)(sim_item *item);    /* the world has ended while it was on its way; takes the item; NULL: nothing to do */
};

/* What has reached a cut. */
typedef struct sim_dam {
    uint64_t since;
    sim_item *first, *last;
} sim_dam;

/* What a channel has while something waits or is on its way there. */
typedef struct sim_flow {
    sim_item *first, *last;    /* not sent yet */
    uint64_t sent;             /* bytes of the first that were sent */
    uint64_t reaches, arrives; /* when the last frame reaches the down-link, and when it has arrived */
    struct sim_channel *turn;  /* the next one whose turn it is at the up-link */
    uint64_t flying_bytes;     /* bytes that have not arrived, heads included, */
    uint32_t flying;           /* and their frames */
    bool waits;                /* for its turn */
    uint64_t since;            /* when this began */
} sim_flow;

/* One direction between two processes; items arrive in the order sent. Large worlds have millions that are idle. */
typedef struct sim_channel {
    uint32_t from, to; /* hosts */
    sim_flow *flow;    /* NULL: it is idle */
    sim_dam *dam;      /* nothing arrives until it is healed; NULL: it is not cut */
    uint64_t busy;     /* nanoseconds of flows before this one */
} sim_channel;

typedef struct sim_rates {
    double link, host;      /* bytes per second of a link, and within a host; 0: no limit */
    double latency, nearby; /* seconds between hosts, and within one */
} sim_rates;

void sim_network_open(const sim_rates *rates, uint32_t hosts);
void sim_network_close(void);
/* Sets how many times slower than others the links of a host are. */
void sim_slow_link(uint32_t host, double times);
/* Sets the rate of a host's links, in bytes per second, for the frames from now on. */
void sim_set_link_rate(uint32_t host, double rate);
/* Returns the nanoseconds in which a channel had something to send or on its way. */
uint64_t sim_busy(const sim_channel *channel);
/* Sends an item. It is the channel's until it has arrived. */
void sim_send(sim_channel *channel, sim_item *item);
/* Takes back items of which nothing was sent yet, those for which takes(argument, item); linked by next. */
sim_item *sim_take_back(sim_channel *channel, bool (*takes)(void *argument, const sim_item *item), void *argument);
/* Returns the nanoseconds that a small item takes. */
uint64_t sim_trip(uint32_t from, uint32_t to);
void sim_cut(sim_channel *channel);
void sim_heal(sim_channel *channel);
/* Frees what a channel has, for the end of the world. */
void sim_free_channel(sim_channel *channel);
/* Returns the bytes that have left a host by its up-link, heads included. */
uint64_t sim_link_bytes(uint32_t host);

#endif
