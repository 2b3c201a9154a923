#include "sim/network.h"

#include <stdlib.h>

#include "sim/world.h"

enum { FRAME = 64 << 10, SEGMENT = 1448, HEADS = 66, FRAMES_PER_SECOND = 1000 };

typedef struct sim_host {
    bool busy;                 /* the up-link sends a frame */
    sim_channel *first, *last; /* whose turn it is */
    uint64_t free;             /* when the down-link has received what has arrived */
    uint64_t bytes;
    uint64_t owed;     /* bytes of acknowledgements that leave with the next frame */
    double slow, rate; /* rate: bytes per second; 0: no limit */
} sim_host;

/* Items that end within one frame. */
typedef struct sim_frame {
    struct sim_frame *next, **place; /* among all that have not arrived */
    sim_channel *channel;
    sim_item *first, *last;
    uint64_t bytes;        /* heads included */
    uint64_t acknowledged; /* bytes by which the receiver acknowledges it */
} sim_frame;

typedef struct sim_network {
    sim_rates rates;
    sim_host *hosts;
    uint32_t count;
    sim_frame *flying;
} sim_network;

static sim_network network;

void sim_network_open(const sim_rates *rates, uint32_t hosts)
{
    network = (sim_network){*rates, calloc(hosts, sizeof *network.hosts), hosts, NULL};
    if (network.hosts == NULL)
        abort();
    for (uint32_t i = 0; i < hosts; i++)
        network.hosts[i] = (sim_host){.slow = 1, .rate = rates->link};
}

/* Adds a frame to those that have not arrived. */
static void take_off(sim_frame *frame)
{
    frame->next = network.flying;
    frame->place = &network.flying;
    if (frame->next != NULL)
        frame->next->place = &frame->next;
    network.flying = frame;
}

static void land(sim_frame *frame)
{
    *frame->place = frame->next;
    if (frame->next != NULL)
        frame->next->place = frame->place;
    free(frame);
}

static void lose(sim_item *first)
{
    for (sim_item *item = first, *next; item != NULL; item = next) {
        next = item->next;
        if (item->lost != NULL)
            item->lost(item);
    }
}

void sim_network_close(void)
{
    while (network.flying != NULL) {
        lose(network.flying->first);
        land(network.flying);
    }
    free(network.hosts);
    network = (sim_network){0};
}

void sim_slow_link(uint32_t host, double times)
{
    network.hosts[host].slow = times;
}

void sim_set_link_rate(uint32_t host, double rate)
{
    network.hosts[host].rate = rate;
}

uint64_t sim_link_bytes(uint32_t host)
{
    return network.hosts[host].bytes;
}

static uint64_t duration(uint64_t bytes, double rate, double slow)
{
    return rate > 0 ? (uint64_t)((double)bytes * slow / rate * 1e9) : 0;
}

/* In a drawn world a frame takes up to twice its latency, and now and then much longer. A chooser decides whether it is
 * late. */
static uint64_t latency_of(double seconds)
{
    uint64_t latency = (uint64_t)(seconds * 1e9);
    const uint64_t late = 20;
    if (!sim_is_drawn())
        return latency * (sim_choose(SIM_CHOICE_FRAME, 2) == 0 ? 1 : late);
    return latency / 2 + sim_below(latency * 3 / 2 + 1) + (sim_below(100) == 0 ? sim_below(100 * latency + 1) : 0);
}

static void hand_over(sim_channel *channel, sim_item *first)
{
    for (sim_item *item = first, *next; item != NULL; item = next) {
        next = item->next;
        item->next = NULL;
        sim_dam *dam = channel->dam;
        if (dam == NULL) {
            item->arrived(item);
            continue;
        }
        *(dam->first == NULL ? &dam->first : &dam->last->next) = item;
        dam->last = item;
    }
}

/* Ends the flow of a channel that has nothing on its way any more. */
static void rest(sim_channel *channel)
{
    const sim_flow *flow = channel->flow;
    if (flow == NULL || flow->flying > 0 || flow->first != NULL || flow->waits)
        return;
    channel->busy = sim_busy(channel);
    free(channel->flow);
    channel->flow = NULL;
}

uint64_t sim_busy(const sim_channel *channel)
{
    return channel->busy + (channel->flow != NULL ? sim_now() - channel->flow->since : 0);
}

static void go_on(sim_channel *channel);

/* Returns the bytes of a frame: what a link sends in a millisecond, at least two segments, as Linux sizes what TCP gives to
 * a card. */
static uint64_t frame_of(const sim_host *host)
{
    double most = host->rate / host->slow / FRAMES_PER_SECOND;
    return host->rate <= 0 || most >= FRAME ? FRAME : most > 2 * SEGMENT ? (uint64_t)most : 2 * SEGMENT;
}

/* A frame was received. An up-link without other work sends the acknowledgement at once. */
static void acknowledge(const sim_frame *frame)
{
    sim_host *host = &network.hosts[frame->channel->to];
    if (frame->channel->from == frame->channel->to)
        return;
    host->bytes += frame->acknowledged;
    host->owed += host->busy ? frame->acknowledged : 0;
}

/* Returns the bytes that a channel may have on its way, as TCP's window and the buffers of switches limit them: 256 KiB, or
 * what its up-link sends in two round trips. */
static uint64_t window_of(const sim_host *host)
{
    double most = 4 * network.rates.latency * host->rate / host->slow;
    return most > 4 * FRAME ? (uint64_t)most : 4 * FRAME;
}

static void arrive(void *argument, uint64_t unused)
{
    sim_frame *frame = argument;
    sim_channel *channel = frame->channel;
    (void)unused;
    channel->flow->flying--;
    channel->flow->flying_bytes -= frame->bytes;
    acknowledge(frame);
    rest(channel);
    hand_over(channel, frame->first);
    land(frame);
    if (channel->flow != NULL && channel->flow->first != NULL && channel->from != channel->to)
        go_on(channel);
}

static void arrive_at(sim_frame *frame, uint64_t time)
{
    sim_flow *flow = frame->channel->flow;
    flow->arrives = time > flow->arrives ? time : flow->arrives;
    sim_at(flow->arrives, arrive, frame, 0);
}

/* The first byte of a frame has reached the down-link. It cannot be received faster than it was sent. */
static void reach(void *argument, uint64_t end)
{
    sim_frame *frame = argument;
    sim_host *host = &network.hosts[frame->channel->to];
    uint64_t begin = host->free > sim_now() ? host->free : sim_now();
    uint64_t received = begin + duration(frame->bytes, host->rate, host->slow);
    host->free = received > end ? received : end;
    arrive_at(frame, host->free);
}

/* Takes what fits one frame off a channel. */
static sim_frame *next_frame(sim_channel *channel, uint64_t most)
{
    sim_frame *frame = calloc(1, sizeof *frame);
    if (frame == NULL)
        abort();
    sim_flow *flow = channel->flow;
    frame->channel = channel;
    take_off(frame);
    flow->flying++;
    uint64_t taken = 0;
    while (flow->first != NULL && taken < most) {
        sim_item *item = flow->first;
        uint64_t rest = item->bytes - flow->sent, part = rest < most - taken ? rest : most - taken;
        taken += part;
        flow->sent += part;
        if (part < rest)
            break;
        flow->sent = 0;
        flow->first = item->next;
        item->next = NULL;
        *(frame->first == NULL ? &frame->first : &frame->last->next) = item;
        frame->last = item;
    }
    uint64_t segments = (taken + SEGMENT - 1) / SEGMENT;
    frame->bytes = taken + segments * HEADS;
    frame->acknowledged = segments / 2 * HEADS;
    flow->flying_bytes += frame->bytes;
    return frame;
}

/* Lets a channel wait for its turn at the up-link, unless its window is full. */
static void take_turn(sim_host *host, sim_channel *channel)
{
    sim_flow *flow = channel->flow;
    if (flow->waits || (host->rate > 0 && flow->flying_bytes >= window_of(host)))
        return;
    flow->waits = true;
    flow->turn = NULL;
    *(host->first == NULL ? &host->first : &host->last->flow->turn) = channel;
    host->last = channel;
}

static void note_left(sim_frame *frame)
{
    for (sim_item *item = frame->first; item != NULL; item = item->next)
        if (item->left != NULL)
            item->left(item);
}

static void serve(sim_host *host);

/* A frame has left the up-link. */
static void leave(void *argument, uint64_t unused)
{
    sim_frame *frame = argument;
    sim_channel *channel = frame->channel;
    sim_host *host = &network.hosts[channel->from];
    (void)unused;
    host->busy = false;
    if (channel->flow->first != NULL)
        take_turn(host, channel);
    note_left(frame);
    serve(host);
}

static void serve(sim_host *host)
{
    if (host->busy)
        return;
    if (host->first == NULL) {
        host->owed = 0; /* it leaves while the link is idle */
        return;
    }
    sim_channel *channel = host->first;
    sim_flow *flow = channel->flow;
    host->first = flow->turn;
    flow->waits = false;
    if (flow->first == NULL) { /* it was taken back */
        rest(channel);
        serve(host);
        return;
    }
    sim_frame *frame = next_frame(channel, frame_of(host));
    uint64_t sent = sim_now() + duration(host->owed + frame->bytes, host->rate, host->slow);
    uint64_t latency = latency_of(network.rates.latency), begin = sim_now() + latency;
    host->busy = true;
    host->owed = 0;
    host->bytes += frame->bytes;
    flow->reaches = begin > flow->reaches ? begin : flow->reaches;
    sim_at(sent, leave, frame, 0);
    sim_at(flow->reaches, reach, frame, sent + latency);
}

static void go_on(sim_channel *channel)
{
    sim_host *host = &network.hosts[channel->from];
    take_turn(host, channel);
    serve(host);
}

static void send_nearby(sim_channel *channel)
{
    sim_frame *frame = next_frame(channel, UINT64_MAX);
    uint64_t begin = channel->flow->arrives > sim_now() ? channel->flow->arrives : sim_now();
    note_left(frame);
    arrive_at(frame, begin + duration(frame->bytes, network.rates.host, 1) + latency_of(network.rates.nearby));
}

void sim_send(sim_channel *channel, sim_item *item)
{
    if (channel->flow == NULL) {
        channel->flow = calloc(1, sizeof *channel->flow);
        if (channel->flow == NULL)
            abort();
        channel->flow->since = sim_now();
    }
    sim_flow *flow = channel->flow;
    item->next = NULL;
    *(flow->first == NULL ? &flow->first : &flow->last->next) = item;
    flow->last = item;
    if (channel->from == channel->to) {
        send_nearby(channel);
        return;
    }
    go_on(channel);
}

sim_item *sim_take_back(sim_channel *channel, bool (*takes)(void *argument, const sim_item *item), void *argument)
{
    sim_item *taken = NULL, **end = &taken, *last = NULL;
    sim_flow *flow = channel->flow;
    if (flow == NULL)
        return NULL;
    for (sim_item **at = &flow->first; *at != NULL;) {
        sim_item *item = *at;
        bool begun = item == flow->first && flow->sent > 0;
        if (begun || !takes(argument, item)) {
            last = item;
            at = &item->next;
            continue;
        }
        *at = item->next;
        item->next = NULL;
        *end = item;
        end = &item->next;
    }
    flow->last = last;
    rest(channel);
    return taken;
}

uint64_t sim_trip(uint32_t from, uint32_t to)
{
    return (uint64_t)((from == to ? network.rates.nearby : network.rates.latency) * 1e9);
}

void sim_cut(sim_channel *channel)
{
    if (channel->dam == NULL)
        channel->dam = calloc(1, sizeof *channel->dam);
    if (channel->dam == NULL)
        abort();
    channel->dam->since = sim_now();
}

void sim_heal(sim_channel *channel)
{
    sim_item *kept = channel->dam != NULL ? channel->dam->first : NULL;
    free(channel->dam);
    channel->dam = NULL;
    hand_over(channel, kept);
}

void sim_free_channel(sim_channel *channel)
{
    lose(channel->dam != NULL ? channel->dam->first : NULL);
    lose(channel->flow != NULL ? channel->flow->first : NULL);
    free(channel->dam);
    free(channel->flow);
}
