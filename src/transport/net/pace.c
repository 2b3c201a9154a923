/*
 * pace.c - the rate limit: a token bucket for the bytes of updates, and of a store's requests and replies.
 *
 * They wait at their links and are released in small parts, links in turn, so that they flow evenly. Other messages overtake
 * them, except those that follow an update with the same source and destination, and meetings of nodes and clients that
 * follow a store's messages. Nothing is dropped.
 */
#include "transport/net/parts.h"

#include "base/clock.h"
#include "transport/paced.h"

enum { PART_LEAST = 1400, PART_MOST = 64 << 10 };
#define PART_SECONDS  0.004 /* seconds of the rate in one part */
#define BURST_SECONDS 0.02  /* seconds of the rate that may be sent at once after a pause */

static uint16_t *pair_of(hw_link *link, const hw_envelope *envelope)
{
    uint32_t mixed = (envelope->source * UINT32_C(2654435761)) ^ (envelope->destination * UINT32_C(2246822519));
    return &link->pairs[(mixed >> 16) % HW_PAIRS];
}

bool hw_pace_drops(const hw_net *net, const hw_message *message)
{
    return hw_paces_update(&message->envelope) && message->envelope.session < atomic_load(&net->dropped) &&
           message->offset == 0 && message->chunk == 0;
}

void hw_net_drop_updates(hw_net *net, uint32_t session)
{
    if (session < atomic_load(&net->dropped))
        return;
    atomic_store(&net->dropped, session + 1);
    atomic_store(&net->hurries, true);
    hw_reactor_wake(net);
}

void hw_net_pace_again(hw_net *net)
{
    atomic_store(&net->hurries, false);
}

bool hw_pace_delay(hw_link *link, hw_message *message)
{
    const hw_envelope *envelope = &message->envelope;
    uint16_t *pair = pair_of(link, envelope);
    bool stored = hw_paces_stored(envelope), follows = *pair > 0 || (hw_is_meeting(envelope) && link->paced_stored > 0);
    if (!hw_paces_update(envelope) && !stored && !follows)
        return false;
    if (link->paced.first == NULL) {
        atomic_fetch_add(&link->net->pacing, 1);
        link->paced_since = hw_seconds();
    }
    hw_queue_append(&link->paced, message);
    if (stored)
        link->paced_stored++;
    else
        *pair += *pair < UINT16_MAX;
    return true;
}

/* With the mutex held: removes the first waiting message from its list. */
static void take_first(hw_link *link)
{
    hw_message *first = link->paced.first;
    uint16_t *pair = pair_of(link, &first->envelope);
    if (hw_paces_stored(&first->envelope))
        link->paced_stored--;
    else
        *pair -= *pair < UINT16_MAX;
    link->paced.first = first->next;
    if (link->paced.first == NULL) {
        atomic_fetch_sub(&link->net->pacing, 1);
        link->paced_seconds += hw_seconds() - link->paced_since;
    }
}

/* With the mutex held: moves the next frame of the first waiting message to the link's queue. Returns its cost, or 0 if
 * memory is short. */
static uint64_t release_frame(hw_link *link, uint64_t most)
{
    hw_message *first = link->paced.first;
    hw_envelope *envelope = &first->envelope;
    uint64_t left = envelope->length - first->offset, part = left < most ? left : most;
    bool paced = hw_paces_stored(envelope)
                     ? !atomic_load(&link->net->hurries)
                     : hw_paces_update(envelope) && envelope->session >= atomic_load(&link->net->dropped);
    if (hw_pace_drops(link->net, first)) {
        take_first(link);
        hw_link_count(link, -(int64_t)hw_queued_bytes(first));
        hw_message_free(first);
        return 1;
    }
    if (!paced)
        part = left;
    if (part < left) {
        hw_message *copy;
        if (hw_message_share(first, &copy, NULL) != HAWSER_OK)
            return 0;
        copy->chunk = part;
        first->offset += part;
        hw_queue_append(&link->queue, copy);
        hw_link_count(link, HW_FRAME_MESSAGE);
    } else {
        take_first(link);
        first->chunk = part;
        hw_queue_append(&link->queue, first);
    }
    return paced ? part + HW_FRAME_MESSAGE : 1;
}

/* Sends one part of one link, if it has nothing else to send. Returns its cost. */
static uint64_t serve(hw_net *net, hw_link *link)
{
    double part = net->rate * PART_SECONDS;
    uint64_t most = part < PART_LEAST ? PART_LEAST : part > PART_MOST ? PART_MOST : (uint64_t)part;
    uint64_t cost = 0;
    pthread_mutex_lock(&link->mutex);
    if (link->paced.first != NULL && link->queue.first == NULL && link->writer == HW_WRITER_NONE && !link->shut &&
        !link->broken)
        cost = release_frame(link, most);
    pthread_mutex_unlock(&link->mutex);
    if (cost > 0)
        hw_link_drain(link);
    return cost;
}

double hw_pace(hw_net *net, double now, double most)
{
    if (net->rate <= 0)
        return most;
    double burst = net->rate * BURST_SECONDS;
    net->tokens += net->rate * (now - net->paid_at);
    net->paid_at = now;
    if (net->tokens > burst)
        net->tokens = burst;
    hw_link *head = atomic_load(&net->links), *link = net->turn == NULL ? head : net->turn, *rested = NULL;
    while (net->tokens > 0 && atomic_load(&net->pacing) > 0 && link != rested) {
        uint64_t cost = serve(net, link);
        net->tokens -= (double)cost;
        rested = cost > 0 ? NULL : rested == NULL ? link : rested; /* the first link without data since the last cost */
        link = link->next == NULL ? head : link->next;
    }
    net->turn = link;
    if (atomic_load(&net->pacing) == 0)
        return most;
    /* Without tokens, waits until there are some. With tokens, a socket is full, and epoll reports when it has space. */
    double wait = net->tokens > 0 ? PART_SECONDS : PART_SECONDS - net->tokens / net->rate;
    return wait < most ? wait : most;
}
