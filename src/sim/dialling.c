/* dialling.c - how a process of a world makes a link to another. */
#include "sim/dialling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "sim/wrap.h"

enum {
    HANDSHAKE = 2,   /* round trips of a handshake, the reply included */
    REST = 20000000, /* time between two tries to reach a node */
    SLICE = 50000000 /* of a wait for an answer, which the end of the dials does not wake */
};

struct sim_break {
    struct sim_break *next;
    uint32_t from, to;
};

void sim_note_cut(uint32_t from, uint32_t to, bool cut)
{
    struct sim_break **at = &sim_all_nets()->breaks;
    while (*at != NULL && ((*at)->from != from || (*at)->to != to))
        at = &(*at)->next;
    if (cut && *at == NULL) {
        *at = sim_made(sizeof **at);
        **at = (struct sim_break){NULL, from, to};
    } else if (!cut && *at != NULL) {
        struct sim_break *healed = *at;
        *at = healed->next;
        free(healed);
    }
}

void sim_forget_cuts(void)
{
    for (struct sim_break *one = sim_all_nets()->breaks, *next; one != NULL; one = next) {
        next = one->next;
        free(one);
    }
    sim_all_nets()->breaks = NULL;
}

static bool is_cut(uint32_t from, uint32_t to)
{
    const struct sim_break *one = sim_all_nets()->breaks;
    while (one != NULL && (one->from != from || one->to != to))
        one = one->next;
    return one != NULL;
}

static void begin_end(sim_link *link, sim_net *net, const sim_net *peer, uint32_t node)
{
    link->net = net;
    link->node = node;
    link->out = (sim_channel){.from = net->process->host, .to = peer->process->host};
    if (is_cut(link->out.from, link->out.to))
        sim_cut(&link->out);
    if (net->bucket.rate <= 0 && net->unread_most == 0)
        return;
    link->waiting = sim_made(sizeof *link->waiting);
    link->waiting->pace.link = link;
}

sim_link *sim_new_link(sim_net *net, sim_net *peer, uint32_t number)
{
    sim_pair *pair = sim_made(sizeof *pair);
    begin_end(&pair->ends[0], net, peer, number);
    begin_end(&pair->ends[1], peer, net, net->self.node);
    pair->ends[1].second = true;
    pair->next = sim_all_nets()->pairs;
    sim_all_nets()->pairs = pair;
    return &pair->ends[0];
}

hawser_status sim_enter(sim_link *link, hawser_error *error)
{
    sim_net *net = link->net;
    uint32_t node = link->node;
    size_t before = net->capacity;
    if (node == net->self.node)
        return hawser_fail(error, HAWSER_PEER_LOST, "there is already a node %u: %s", node, net->self.name);
    if (sim_link_to(net, node) != NULL)
        return hawser_fail(error, HAWSER_PEER_LOST, "there is already a link to a node %u: %s", node,
                           sim_peer(sim_link_to(net, node))->net->self.name);
    if (net->stopping)
        return hawser_fail(error, HAWSER_PEER_LOST, "%s is about to end", net->self.name);
    HAWSER_TRY(HW_GROW(&net->links, &net->capacity, (size_t)node + 1, "a table of links", error));
    for (size_t i = before; i < net->capacity; i++)
        net->links[i] = NULL;
    net->links[node] = link;
    link->next = net->all;
    net->all = link;
    net->open++;
    return HAWSER_OK;
}

hawser_status sim_judge(sim_net *net, const sim_net *peer, uint32_t *number, hawser_error *error)
{
    if (strcmp(net->job, peer->job) != 0 || strcmp(net->build, peer->build) != 0 || strcmp(net->key, peer->key) != 0)
        return hawser_fail(error, HAWSER_PEER_LOST, "%s is of job \"%s\" and build %s, and %s of \"%s\" and %s",
                           peer->self.name, peer->job, peer->build, net->self.name, net->job, net->build);
    *number = peer->self.node;
    if (net->events.admit != NULL)
        HAWSER_TRY(net->events.admit(net->events.argument, &peer->self, number, error));
    if (*number == HW_NET_ANY)
        return hawser_fail(error, HAWSER_PEER_LOST, "%s hands out no node numbers", net->self.name);
    return HAWSER_OK;
}

/* The net that is dialled admits or rejects the peer. Its reply is the first parcel of the link. */
void sim_be_dialled(sim_net *net, sim_dialling *dialling)
{
    sim_net *from = dialling->from;
    uint32_t number = HW_NET_ANY;
    net->judged = dialling;
    if (dialling->expected != HW_NET_ANY && dialling->expected != net->self.node)
        dialling->status =
            hawser_fail(&dialling->error, HAWSER_PEER_LOST, "this is node %u, not %u", net->self.node, dialling->expected);
    else
        dialling->status = sim_judge(net, from, &number, &dialling->error);
    if (dialling->status == HAWSER_OK) {
        sim_link *own = sim_new_link(net, from, number);
        dialling->status = sim_enter(own, &dialling->error);
        if (dialling->status == HAWSER_OK) {
            net->judged = NULL;
            net->figures.accepted++;
            dialling->number = number;
            sim_peer(own)->dialling = dialling;
            sim_ship(own, (sim_parcel){.kind = SIM_UP, .dialling = dialling});
            sim_announce(own);
            return;
        }
    }
    net->judged = NULL;
    if (dialling->status != HAWSER_STOP) {
        net->figures.refused_hello++;
        if (net->events.refused != NULL)
            net->events.refused(net->events.argument, from->self.name, dialling->error.text, 0);
    }
    sim_answer(dialling);
}

void sim_take_reply(sim_link *link, sim_dialling *dialling)
{
    sim_net *net = link->net;
    uint32_t before = net->self.node;
    if (before == HW_NET_ANY)
        net->self.node = dialling->number;
    if (dialling->given_up)
        dialling->status = hawser_fail(&dialling->error, HAWSER_TIMEOUT, "no answer in time");
    else if (before != HW_NET_ANY && before != dialling->number)
        dialling->status =
            hawser_fail(&dialling->error, HAWSER_PEER_LOST, "%s reports that this is node %u, but it is node %u",
                        sim_peer(link)->net->self.name, dialling->number, before);
    else
        dialling->status = sim_enter(link, &dialling->error);
    if (dialling->status == HAWSER_OK)
        sim_announce(link);
    else
        sim_refuse_link(link);
    sim_answer(dialling);
}

static bool listens_at(const sim_net *net, const char *address)
{
    return net->listens && !net->stopping && sim_net_runs(net) && strcmp(net->self.address, address) == 0;
}

static sim_net *listening_at(const char *address)
{
    const sim_nets *all = sim_all_nets();
    const char *port = strrchr(address, ':');
    size_t number = port != NULL ? (size_t)strtoull(port + 1, NULL, 10) - SIM_PORT : all->count;
    sim_net *net = number < all->count ? all->by_port[number] : NULL;
    if (net != NULL && listens_at(net, address))
        return net;
    if (all->chosen == 0) /* a world of thousands of nodes need not go over all */
        return NULL;
    for (net = all->nets; net != NULL && !(net->chosen && listens_at(net, address));)
        net = net->next;
    return net;
}

sim_net *sim_net_of(const char *address)
{
    const sim_nets *all = sim_all_nets();
    sim_net *net = listening_at(address);
    for (net = net != NULL ? net : all->nets; net != NULL && strcmp(net->self.address, address) != 0;)
        net = net->next;
    return net;
}

static void hello(void *argument, uint64_t unused)
{
    sim_dialling *dialling = argument;
    (void)unused;
    if (!sim_net_runs(dialling->to) || dialling->to->stopping) {
        sim_hang_up(dialling);
        return;
    }
    sim_parcel *parcel = sim_made(sizeof *parcel);
    parcel->kind = SIM_HELLO;
    parcel->dialling = dialling;
    sim_receive(dialling->to, parcel);
}

/* Tries once. Returns HAWSER_STOP if another try may succeed. */
static hawser_status dial(sim_dialling *dialling, uint64_t end, hawser_error *error)
{
    uint64_t begin = sim_now(), trip = sim_trip(dialling->from->process->host, dialling->to->process->host);
    sim_at(begin + HANDSHAKE * 2 * trip - trip, hello, dialling, 0);
    while (!dialling->answered)
        if (!sim_wait(&dialling->waits, sim_now() + SLICE < end ? sim_now() + SLICE : end) && !dialling->answered &&
            (sim_now() >= end || dialling->from->dials_end)) {
            dialling->given_up = true; /* its memory stays: the reply may come yet */
            return hawser_fail(error, HAWSER_TIMEOUT, "no answer in time");
        }
    if (dialling->status == HAWSER_OK || dialling->status == HAWSER_STOP)
        return dialling->status;
    return hawser_fail(error, HAWSER_PEER_LOST, "refused: %s", dialling->error.text);
}

SIM_WRAP(hawser_status, hw_net_dial, hw_net *own, const char *address, uint32_t node, double seconds, uint32_t *number,
         hawser_error *error)
{
    sim_net *net = (sim_net *)(void *)own;
    uint64_t begin = sim_now(), end = begin + (uint64_t)(seconds > 0 ? fmin(seconds, 1e9) * 1e9 : 0);
    hawser_error last = {.status = HAWSER_PEER_LOST, .text = "no process listens there"};
    for (;;) {
        sim_dialling *dialling = sim_made(sizeof *dialling);
        dialling->from = net;
        dialling->expected = node;
        dialling->to = listening_at(address);
        hawser_status status = dialling->to == NULL ? HAWSER_STOP : dial(dialling, end, &last);
        if (status == HAWSER_OK)
            *number = dialling->number;
        if (!dialling->given_up)
            free(dialling);
        if (status == HAWSER_OK)
            return HAWSER_OK;
        double passed = 1e-9 * (double)(sim_now() - begin);
        if (hw_cancelled(net->cancellation))
            return hawser_fail(error, HAWSER_STOP, "joining %s was cancelled after %.1f s", address, passed);
        if (status != HAWSER_STOP || net->stopping || net->dials_end || sim_now() >= end)
            return hawser_fail(error, last.status, "cannot join %s after %.1f s: %s", address, passed, last.text);
        (void)sim_wait(NULL, sim_now() + REST);
    }
}
