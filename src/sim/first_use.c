#include "sim/first_use.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "sim/dialling.h"
#include "sim/wrap.h"

enum { HELLO = 3 /* trips */, REST = 20000000 /* nanoseconds between two tries */, ABSENT_MOST = 3 /* as in the product */ };
enum { LEFT = 1, LOST };

static void describe(const sim_net *net, uint32_t node, hw_net_hello *hello)
{
    net->describe(net->events.argument, node, hello);
}

bool sim_has_left(const sim_net *net, uint32_t node)
{
    const sim_link *link = sim_link_to(net, node);
    return link != NULL ? link->state == SIM_LINK_LEFT : node < net->known && net->gone[node] == LEFT;
}

/* ---------------------------------------------------------------------------------------------------- the dialler ---- */

/* The deadline of a dial. An event. */
static void expire(void *argument, uint64_t unused)
{
    sim_link *link = argument;
    (void)unused;
    if (link->first == NULL || link->closed || !sim_net_runs(link->net))
        return;
    const bool stopped = link->net->process->state == SIM_STOPPED;
    const double timeout = link->net->failure_timeout;
    double end = stopped ? sim_seconds() + timeout : fmax(link->first->deadline, link->net->resumed + timeout);
    if (sim_seconds() < end) /* it was stopped: the peer is not late */
        sim_at((uint64_t)(end * 1e9) + 1, expire, link, 0);
    else
        sim_tell(link, SIM_FAILED);
}

static void try_again(void *argument, uint64_t unused);

/* A hello reaches the host of the peer. An event. */
static void reach(void *argument, uint64_t unused)
{
    sim_link *link = argument;
    (void)unused;
    if (link->first == NULL || link->closed)
        return;
    sim_link *other = sim_peer(link);
    const bool cut = link->out.dam != NULL || other->out.dam != NULL;
    if (cut || !sim_net_runs(other->net) || other->net->over) {
        (void)snprintf(link->first->why, sizeof link->first->why, "%s", cut ? "no answer in time" : "Connection refused");
        link->first->absent = cut ? 0 : link->first->absent + 1;
        link->first->left |= link->first->absent >= ABSENT_MOST && link->net->stopping;
        if (link->first->left)
            sim_tell(link, SIM_FAILED);
        sim_at(sim_now() + REST, try_again, link, 0);
        return;
    }
    sim_tell(other, SIM_USED);
}

static void try_again(void *argument, uint64_t unused)
{
    sim_link *link = argument;
    (void)unused;
    if (link->first != NULL && !link->closed)
        sim_at(sim_now() + HELLO * sim_trip(link->out.from, link->out.to), reach, link, 0);
}

/* Returns the end of a link to the net with that address, which dials this one, too, or a new one. */
static sim_link *find_end(sim_net *net, uint32_t node, const char *address)
{
    sim_net *peer = sim_net_of(address);
    if (peer == NULL)
        return NULL;
    sim_link *other = sim_link_to(peer, net->self.node);
    if (other != NULL && other->first != NULL && sim_peer(other)->net == net && sim_peer(other)->state == SIM_LINK_NEW)
        return sim_peer(other);
    return sim_new_link(net, peer, node);
}

static hawser_status first_use(sim_net *net, uint32_t node, sim_link **out, hawser_error *error)
{
    hw_net_hello hello;
    describe(net, node, &hello);
    if (net->gone[node] != 0)
        return hawser_fail(error, HAWSER_PEER_LOST, "node %u (%s) %s", node, hello.name,
                           net->gone[node] == LEFT ? "has left" : "was lost");
    if (net->closed_to_new)
        return hawser_fail(error, HAWSER_PEER_LOST, "%s is about to end", net->self.name);
    sim_link *link = find_end(net, node, hello.address);
    if (link == NULL)
        return hawser_fail(error, HAWSER_PEER_LOST, "node %u (%s) has no address", node, hello.name);
    HAWSER_TRY(sim_enter(link, error));
    link->first = sim_made(sizeof *link->first);
    link->first->deadline = sim_seconds() + net->failure_timeout;
    (void)snprintf(link->first->why, sizeof link->first->why, "no answer in time");
    link->state = SIM_LINK_UP;
    link->last_received = sim_seconds();
    try_again(link, 0);
    sim_at((uint64_t)(link->first->deadline * 1e9) + 1, expire, link, 0);
    *out = link;
    return HAWSER_OK;
}

hawser_status sim_reach(sim_net *net, uint32_t node, sim_link **link, hawser_error *error)
{
    *link = sim_link_to(net, node);
    if (*link != NULL)
        return HAWSER_OK;
    if (node < net->known && node != net->self.node)
        return first_use(net, node, link, error);
    return hawser_fail(error, HAWSER_PEER_LOST, "there is no link to node %u", node);
}

/* The connection exists: sends what was kept, before any other thread can run and send more, and announces the link. */
static void go_up(sim_link *link)
{
    sim_first *first = link->first;
    hw_message *message = first != NULL ? first->pending : NULL;
    link->first = NULL;
    free(first);
    for (hw_message *next; message != NULL; message = next) {
        next = message->next;
        message->next = NULL;
        link->queued -= HW_FRAME_MESSAGE + message->envelope.length;
        link->net->queued -= HW_FRAME_MESSAGE + message->envelope.length;
        sim_transmit(link, message);
    }
    sim_announce(link);
    sim_tend(link->net); /* a goodbye may have waited */
    sim_check_silence(link, 0);
}

void sim_be_accepted(sim_link *link)
{
    if (link->closed)
        sim_refuse_link(link);
    else
        go_up(link);
}

void sim_fail(sim_link *link)
{
    if (link->first == NULL || link->closed)
        return;
    char why[sizeof link->first->why];
    memcpy(why, link->first->why, sizeof why);
    sim_end_link(link, link->first->left ? "" : why);
}

/* ------------------------------------------------------------------------------------------------ the dialled net ---- */

/* Checks whether a hello can be accepted now. */
static hawser_status check(const sim_link *link, hawser_error *error)
{
    const sim_net *net = link->net, *from = sim_peer(link)->net;
    const uint32_t number = from->self.node;
    const sim_link *own = sim_link_to(net, number);
    hw_net_hello known;
    if (net->closed_to_new && own == NULL)
        return hawser_fail(error, HAWSER_STOP, "%s is about to end", net->self.name);
    if (own != NULL && own->first != NULL && net->self.node > number)
        return hawser_fail(error, HAWSER_STOP, "%s is connecting to that node", net->self.name);
    if (own != NULL && own->first == NULL)
        return hawser_fail(error, HAWSER_PEER_LOST, "there is already a link to a node %u: %s", number, from->self.name);
    if (number >= net->known)
        return HAWSER_OK;
    describe(net, number, &known);
    if (known.incarnation == from->self.incarnation)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_PEER_LOST, "node %u (%s) is another process than the one that has joined", number,
                       known.name);
}

static hawser_status take(sim_link *link, hawser_error *error)
{
    sim_net *net = link->net;
    uint32_t number;
    HAWSER_TRY(check(link, error));
    HAWSER_TRY(sim_judge(net, sim_peer(link)->net, &number, error));
    HAWSER_TRY(check(link, error)); /* another thread may have sent meanwhile */
    return sim_link_to(net, number) == NULL ? sim_enter(link, error) : HAWSER_OK;
}

void sim_be_used(sim_link *link)
{
    hawser_error error;
    sim_link *from = sim_peer(link);
    if (from->first == NULL || from->closed)
        return;
    hawser_status status = take(link, &error);
    if (status == HAWSER_OK) {
        link->net->figures.accepted++;
        sim_ship(link, (sim_parcel){.kind = SIM_UP});
        go_up(link);
        return;
    }
    if (from->first == NULL || from->closed)
        return;
    (void)snprintf(from->first->why, sizeof from->first->why, "%s%.180s",
                   status == HAWSER_STOP ? "" : "refused: ", error.text);
    if (status == HAWSER_STOP)
        sim_at(sim_now() + REST, try_again, from, 0);
    else
        sim_tell(from, SIM_FAILED);
}

/* ------------------------------------------------------------------------------------------------------ net.h ---- */

SIM_WRAP(hawser_status, hw_net_know, hw_net *own, uint32_t nodes, hw_net_describe describes, hawser_error *error)
{
    sim_net *net = (sim_net *)(void *)own;
    HAWSER_TRY(HW_NEW(&net->gone, nodes, "the nodes of a net", error));
    net->describe = describes;
    net->known = nodes;
    return HAWSER_OK;
}

SIM_WRAP(void, hw_net_gone, hw_net *own, uint32_t node, const char *why)
{
    sim_net *net = (sim_net *)(void *)own;
    if (node >= net->known)
        return;
    if (net->gone[node] == 0)
        net->gone[node] = why[0] == '\0' ? LEFT : LOST;
    sim_link *link = sim_link_to(net, node);
    if (link == NULL || link->first == NULL || link->closed)
        return;
    link->first->left |= why[0] == '\0';
    (void)snprintf(link->first->why, sizeof link->first->why, "%s", why);
    sim_tell(link, SIM_FAILED);
}

SIM_WRAP(void, hw_net_close_to_new, hw_net *net)
{
    ((sim_net *)(void *)net)->closed_to_new = true;
}
