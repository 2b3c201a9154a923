/* nets.c - every call of transport/net/net.h within a world, on messages and not on bytes. */
#include "sim/nets.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "sim/dialling.h"
#include "sim/first_use.h"
#include "sim/wrap.h"

#define FAILURE_TIMEOUT 5.0

static sim_net *of(const hw_net *net)
{
    return (sim_net *)(uintptr_t)net;
}

/* -------------------------------------------------------------------------------------------- the net's thread ---- */

static void process(sim_net *net, sim_parcel *parcel)
{
    sim_link *link = parcel->to;
    if (parcel->kind == SIM_HELLO) {
        sim_be_dialled(net, parcel->dialling);
    } else if (parcel->kind == SIM_UP && parcel->dialling == NULL) {
        sim_be_accepted(link);
    } else if (parcel->kind == SIM_UP) {
        sim_take_reply(link, parcel->dialling);
    } else if (parcel->kind == SIM_USED) {
        sim_be_used(link);
    } else if (parcel->kind == SIM_FAILED) {
        sim_fail(link);
    } else if (link->state == SIM_LINK_NEW) {
        link->closed = true;
        if (link->dialling != NULL)
            sim_hang_up(link->dialling);
    } else if (link->closed) {
        hw_message_free(parcel->message);
    } else if (parcel->kind == SIM_MESSAGE) {
        sim_take_message(link, parcel->message);
    } else {
        sim_end_link(link, parcel->kind == SIM_GOODBYE  ? ""
                           : parcel->kind == SIM_CLOSED ? "its connection was closed"
                                                        : "nothing was received from it");
    }
    free(parcel);
}

static void *net_main(void *argument)
{
    sim_net *net = argument;
    while (!net->ends) {
        uint64_t paced = sim_send_paced(net);
        if (net->unread_most > 0 || net->bucket.rate > 0)
            sim_tend(net);
        sim_parcel *parcel = net->arrived;
        if (parcel == NULL) {
            (void)sim_wait(&net->idle, paced);
            continue;
        }
        net->arrived = parcel->next;
        process(net, parcel);
        sim_step();
    }
    for (sim_link *link = net->all; link != NULL; link = link->next)
        sim_end_link(link, "");
    net->over = true;
    for (sim_parcel *parcel = net->arrived, *next; parcel != NULL; parcel = next) {
        next = parcel->next;
        if (parcel->kind == SIM_UP)
            sim_refuse_link(parcel->to);
        if (parcel->kind == SIM_HELLO)
            sim_hang_up(parcel->dialling);
        sim_free_parcel(parcel);
    }
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------- sending ---- */

static bool is_own_thread(const sim_net *net)
{
    return sim_thread_number(sim_self()) == net->thread;
}

static void stamp(const sim_net *net, hw_message *message, uint32_t spread)
{
    message->origin = net->self.node;
    message->spread = spread;
    message->envelope.incarnation = hw_net_short_incarnation(net->self.incarnation);
    message->envelope.view = net->view;
}

SIM_WRAP(hawser_status, hw_net_send, hw_net *own, uint32_t node, hw_message *message, hawser_error *error)
{
    sim_step();
    sim_net *net = of(own);
    if (message->envelope.kind == HW_MESSAGE_JOIN && !is_own_thread(net))
        sim_slow_down(net);
    sim_link *link;
    hawser_status status = sim_reach(net, node, &link, error);
    if (status != HAWSER_OK) {
        hw_message_free(message);
        return status;
    }
    stamp(net, message, 0);
    return sim_send_by(link, message) ? HAWSER_OK : sim_gone(link, error);
}

SIM_WRAP(hawser_status, hw_net_spread, hw_net *own, hw_message *message, hawser_error *error)
{
    sim_step();
    sim_net *net = of(own);
    hawser_status status = HAWSER_OK;
    stamp(net, message, 1);
    if (sim_route_of(net, net->self.node) != NULL)
        status = sim_forward(net, net->self.node, message, error);
    else if (net->known > 0)
        for (uint32_t node = 0; node < net->known; node++) {
            if (node != net->self.node && !sim_has_left(net, node))
                sim_pass_on(net, node, net->self.node, message, &status, error);
        }
    else
        for (sim_link *link = net->all; link != NULL; link = link->next)
            if (link->state != SIM_LINK_LEFT)
                sim_pass_on(net, link->node, net->self.node, message, &status, error);
    hw_message_free(message);
    return status;
}

/* A node forwards nothing of most origins: they share a route. */
static uint32_t no_children[1];

static void free_route(sim_net *net, size_t origin)
{
    if (net->routes[origin] != no_children)
        free(net->routes[origin]);
    net->routes[origin] = NULL;
}

SIM_WRAP(hawser_status, hw_net_route, hw_net *own, uint32_t origin, const uint32_t *children, uint32_t count,
         hawser_error *error)
{
    sim_net *net = of(own);
    size_t before = net->route_capacity;
    HAWSER_TRY(HW_GROW(&net->routes, &net->route_capacity, (size_t)origin + 1, "the table of routes", error));
    for (size_t i = before; i < net->route_capacity; i++)
        net->routes[i] = NULL;
    free_route(net, origin);
    net->routes[origin] = count == 0 ? no_children : sim_made((count + 1) * sizeof *children);
    net->routes[origin][0] = count;
    if (count > 0)
        memcpy(net->routes[origin] + 1, children, count * sizeof *children);
    return HAWSER_OK;
}

static void clear_routes(sim_net *net)
{
    for (size_t i = 0; i < net->route_capacity; i++)
        free_route(net, i);
}

SIM_WRAP(void, hw_net_clear_routes, hw_net *own)
{
    clear_routes(of(own));
}

/* ----------------------------------------------------------------------------------------------- begin and end ---- */

static void copy_text(char *to, size_t size, const char *from)
{
    (void)!snprintf(to, size, "%s", from == NULL ? "" : from);
}

/* Returns whether no net of the host listens there. */
static bool is_free(uint32_t host, size_t port)
{
    for (const sim_net *net = sim_all_nets()->nets; net != NULL; net = net->next)
        if (net->port == port && net->listens && net->process->host == host && sim_net_runs(net))
            return false;
    return true;
}

/* Takes the first free port of the range that the options give, or else the next one of the world. */
static hawser_status take_port(const hw_net_options *options, sim_net *net, hawser_error *error)
{
    sim_nets *all = sim_all_nets();
    uint32_t host = net->process->host, low = options->port_low, high = options->port_high;
    net->chosen = low > 0 && !options->dial_only;
    if (net->chosen) {
        for (net->port = low; net->port <= high && !is_free(host, net->port);)
            net->port++;
        all->chosen++;
        if (net->port <= high)
            return HAWSER_OK;
        return hawser_fail(error, HAWSER_IO, "cannot listen on host%u, on none of the ports %u to %u: %s", host, low, high,
                           strerror(EADDRINUSE));
    }
    while (all->chosen > 0 && !is_free(host, SIM_PORT + all->count)) {
        HAWSER_TRY(HW_GROW(&all->by_port, &all->capacity, all->count + 1, "the list of nets", error));
        all->by_port[all->count++] = NULL;
    }
    HAWSER_TRY(HW_GROW(&all->by_port, &all->capacity, all->count + 1, "the list of nets", error));
    net->port = SIM_PORT + all->count;
    all->by_port[all->count++] = net;
    return HAWSER_OK;
}

SIM_WRAP(hawser_status, hw_net_new, const hw_net_options *options, const hw_net_events *events, hw_net **out,
         hawser_error *error)
{
    if (sim_self() == NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "a program that is linked with the simulator has nodes only in a world");
    sim_nets *all = sim_all_nets();
    sim_net *net = sim_made(sizeof *net);
    net->process = sim_own();
    hawser_status status = take_port(options, net, error);
    if (status != HAWSER_OK) {
        free(net);
        return status;
    }
    net->events = *events;
    net->self.node = options->node;
    net->self.incarnation = sim_below(UINT64_MAX);
    copy_text(net->self.name, sizeof net->self.name, options->name);
    copy_text(net->job, sizeof net->job, options->job);
    copy_text(net->build, sizeof net->build, options->build);
    memcpy(net->key, options->key, options->key_length < HW_NET_KEY_MOST ? options->key_length : HW_NET_KEY_MOST);
    if (!options->dial_only)
        (void)!snprintf(net->self.address, sizeof net->self.address, "host%u:%zu", net->process->host, net->port);
    net->listens = !options->dial_only;
    net->direct = options->direct;
    net->view = HW_VIEW_FIRST;
    net->failure_timeout = options->failure_timeout > 0 ? options->failure_timeout : FAILURE_TIMEOUT;
    net->resumed = -INFINITY;
    net->unread_most = options->unread_most;
    net->bucket = (sim_bucket){.rate = (double)options->rate};
    net->cancellation = options->cancellation;
    net->next = all->nets;
    all->nets = net;
    net->next_of_process = net->process->nets;
    net->process->nets = net;
    net->thread = sim_thread_number(sim_thread_start(sim_own(), net_main, net));
    *out = (hw_net *)(void *)net;
    return HAWSER_OK;
}

static void stop(sim_net *net, double seconds)
{
    if (net->stopping)
        return;
    net->stopping = net->closed_to_new = true;
    for (sim_link *link = net->all; link != NULL; link = link->next) {
        sim_slow_down(net);
        sim_bid(link);
    }
    uint64_t wait = (uint64_t)(seconds * 1e9), still = sim_now();
    for (uint64_t before = net->moved + 1; seconds > 0 && net->open > 0;) {
        if (net->moved != before)
            still = sim_now();
        before = net->moved;
        if (sim_now() - still >= wait)
            break;
        (void)sim_wait(&net->changed, sim_now() + wait / 50 + 1);
    }
    net->ends = true;
    sim_wake_first(&net->idle);
    for (sim_thread *thread = sim_thread_at(net->thread); !sim_thread_ended(thread, NULL);)
        (void)sim_wait(sim_thread_joiners(thread), SIM_NEVER);
}

SIM_WRAP(void, hw_net_stop, hw_net *net, double seconds)
{
    stop(of(net), seconds);
}

SIM_WRAP(void, hw_net_free, hw_net *net)
{
    if (net != NULL) {
        stop(of(net), 0);
        of(net)->over = true;
    }
}

SIM_WRAP(void, hw_net_dismiss, hw_net *net, uint32_t node)
{
    sim_link *link = sim_link_to(of(net), node);
    if (link != NULL)
        sim_bid(link);
}

SIM_WRAP(void, hw_net_forget, hw_net *net, uint32_t node)
{
    sim_link *link = sim_link_to(of(net), node);
    if (link == NULL)
        return;
    of(net)->links[node] = NULL;
    for (sim_link **at = &of(net)->all; *at != NULL; at = &(*at)->next)
        if (*at == link) {
            *at = link->next;
            return;
        }
}

/* ----------------------------------------------------------------------------------------------- small answers ---- */

SIM_WRAP(const char *, hw_net_address, const hw_net *net)
{
    return of(net)->self.address;
}

SIM_WRAP(const char *, hw_net_listening, const hw_net *net)
{
    return of(net)->self.address;
}

SIM_WRAP(void, hw_net_stop_dials, hw_net *net)
{
    of(net)->dials_end = true;
}

/* There is no shared memory between the processes of a world. */
SIM_WRAP(void, hw_net_set_ring, hw_net *net, size_t bytes)
{
    (void)net, (void)bytes;
}

SIM_WRAP(double, hw_net_paused, const hw_net *net)
{
    bool just = sim_seconds() - of(net)->resumed < 1;
    return just ? 1e-9 * (double)of(net)->process->paused : 0;
}

SIM_WRAP(bool, hw_net_is_own_thread, const hw_net *net)
{
    return is_own_thread(of(net));
}

SIM_WRAP(void, hw_net_account, hw_net *net, uint32_t node, int64_t bytes)
{
    sim_link *link = sim_link_to(of(net), node);
    if (link == NULL || link->waiting == NULL)
        return;
    link->waiting->accounted += (uint64_t)bytes;
    sim_wake_first(&of(net)->idle);
}

SIM_WRAP(uint32_t, hw_net_number, const hw_net *net)
{
    return of(net)->self.node;
}

SIM_WRAP(uint64_t, hw_net_incarnation, const hw_net *net)
{
    return of(net)->self.incarnation;
}

SIM_WRAP(void, hw_net_set_view, hw_net *net, uint32_t view)
{
    of(net)->view = view;
}

SIM_WRAP(bool, hw_net_linked, const hw_net *net, uint32_t node)
{
    const sim_link *link = sim_link_to(of(net), node);
    return link != NULL && link->state == SIM_LINK_UP;
}

SIM_WRAP(bool, hw_net_path_of, hw_net *net, uint32_t node, hw_net_path *path)
{
    const sim_link *link = sim_link_to(of(net), node);
    if (link == NULL)
        return false;
    *path = (hw_net_path){.transport = "simulated",
                          .messages_sent = link->messages_sent,
                          .messages_received = link->messages_received,
                          .bytes_sent = link->bytes_sent,
                          .bytes_received = link->bytes_received,
                          .queued = link->queued,
                          .busy = (double)sim_busy(&link->out) / 1e9};
    memcpy(path->peer, sim_peer(link)->net->self.address, sizeof path->peer);
    return true;
}

SIM_WRAP(uint64_t, hw_net_pending, const hw_net *net)
{
    return of(net)->queued;
}

SIM_WRAP(uint64_t, hw_net_pending_to, hw_net *net, uint32_t node)
{
    const sim_link *link = sim_link_to(of(net), node);
    return link != NULL && link->state == SIM_LINK_UP ? link->queued : 0;
}

SIM_WRAP(double, hw_net_silence, hw_net *net, uint32_t node)
{
    const sim_link *link = sim_link_to(of(net), node);
    if (link == NULL)
        return node == of(net)->self.node ? 0 : HUGE_VAL;
    uint64_t since = sim_silent_since(link);
    double heard = link->closed ? link->last_received : since != SIM_NEVER ? 1e-9 * (double)since : sim_seconds();
    return fmax(sim_seconds() - heard, 0);
}

SIM_WRAP(void, hw_net_accepts, hw_net *net, hw_net_accept_figures *figures)
{
    *figures = of(net)->figures;
}

SIM_WRAP(void, hw_net_drop_updates, hw_net *own, uint32_t session)
{
    sim_net *net = of(own);
    if (session < net->dropped)
        return;
    net->dropped = session + 1;
    net->bucket.hurries = true;
    sim_drop_updates(net);
    sim_wake_first(&net->idle);
}

SIM_WRAP(void, hw_net_pace_again, hw_net *net)
{
    of(net)->bucket.hurries = false;
}

/* ----------------------------------------------------------------------------------------------------- the world ---- */

static void process_changed(sim_process *process)
{
    for (sim_net *net = process->nets; net != NULL; net = net->next_of_process) {
        if (net->over)
            continue;
        if (process->state >= SIM_ENDED) {
            sim_end_net(net);
            continue;
        }
        net->resumed = sim_seconds();
        for (sim_link *link = net->all; link != NULL; link = link->next)
            sim_check_silence(process->state == SIM_STOPPED ? sim_peer(link) : link, 0);
    }
}

void sim_nets_cut(uint32_t from, uint32_t to, bool cut)
{
    sim_note_cut(from, to, cut);
    for (sim_pair *pair = sim_all_nets()->pairs; pair != NULL; pair = pair->next)
        for (int end = 0; end < 2; end++) {
            sim_channel *out = &pair->ends[end].out;
            if (out->from != from || out->to != to)
                continue;
            if (cut)
                sim_cut(out);
            else
                sim_heal(out);
            sim_check_silence(&pair->ends[1 - end], 0);
        }
}

void sim_nets_open(void)
{
    *sim_all_nets() = (sim_nets){0};
    sim_on_change(process_changed);
}

static void free_end(sim_link *link)
{
    if (link->state == SIM_LINK_LOST)
        free(link->why);
    free(link->waiting);
    sim_free_first(link);
    sim_free_channel(&link->out);
}

void sim_nets_close(void)
{
    for (sim_pair *pair = sim_all_nets()->pairs, *next; pair != NULL; pair = next) {
        next = pair->next;
        for (int end = 0; end < 2; end++)
            free_end(&pair->ends[end]);
        free(pair);
    }
    for (sim_net *net = sim_all_nets()->nets, *next; net != NULL; net = next) {
        next = net->next;
        clear_routes(net);
        free(net->routes);
        free(net->links);
        free(net->gone);
        free(net);
    }
    sim_forget_cuts();
    free(sim_all_nets()->by_port);
    *sim_all_nets() = (sim_nets){0};
}
