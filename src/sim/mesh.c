#include "sim/mesh.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DIRECT_LEAST = 16 << 10, /* payload that is received into the owner's memory */
    SMALL = 64,              /* bytes of an item that is no message */
    FLYING_MOST = 256,       /* items on the way from a net to which goodbyes are added */
    TRIPS = 20,              /* round trips between two looks at them */
    KERNEL = 256 << 10       /* most bytes that a killed process has given to its kernel */
};

static sim_nets world;

sim_nets *sim_all_nets(void)
{
    return &world;
}

void *sim_made(size_t size)
{
    void *memory = calloc(1, size);
    if (memory == NULL) {
        fprintf(stderr, "hawser-sim: there is no memory for the simulated network\n");
        exit(EXIT_FAILURE);
    }
    return memory;
}

sim_link *sim_link_to(const sim_net *net, uint32_t node)
{
    return node < net->capacity ? net->links[node] : NULL;
}

sim_link *sim_peer(const sim_link *link)
{
    return (sim_link *)(uintptr_t)(link->second ? link - 1 : link + 1);
}

bool sim_net_runs(const sim_net *net)
{
    return !net->over && net->process->state <= SIM_STOPPED;
}

/* ----------------------------------------------------------------------------------------------------- parcels ---- */

static void left(sim_item *item)
{
    const sim_parcel *parcel = (const sim_parcel *)(const void *)item;
    sim_link *from = sim_peer(parcel->to);
    from->queued -= item->bytes;
    from->net->queued -= item->bytes;
}

static uint64_t bytes_of(const hw_message *message)
{
    return HW_FRAME_MESSAGE + message->envelope.length;
}

void sim_free_parcel(sim_parcel *parcel)
{
    hw_message_free(parcel->message);
    free(parcel);
}

static void lost(sim_item *item)
{
    sim_free_parcel((sim_parcel *)(void *)item);
}

void sim_receive(sim_net *net, sim_parcel *parcel)
{
    parcel->next = NULL;
    *(net->arrived == NULL ? &net->arrived : &net->arrived_last->next) = parcel;
    net->arrived_last = parcel;
    sim_wake_first(&net->idle);
}

void sim_tell(sim_link *to, sim_kind kind)
{
    sim_parcel *parcel = sim_made(sizeof *parcel);
    parcel->kind = kind;
    parcel->to = to;
    sim_receive(to->net, parcel);
}

void sim_refuse_link(sim_link *link);

static void arrived(sim_item *item)
{
    sim_parcel *parcel = (sim_parcel *)(void *)item;
    sim_link *link = parcel->to;
    sim_peer(link)->net->moved++;
    sim_peer(link)->net->flying--;
    if (!sim_net_runs(link->net)) {
        if (parcel->kind == SIM_UP)
            sim_refuse_link(link);
        sim_free_parcel(parcel);
    } else if (link->paused && parcel->kind == SIM_MESSAGE) {
        parcel->next = NULL;
        sim_waiting *waiting = link->waiting;
        *(waiting->first == NULL ? &waiting->first : &waiting->last->next) = parcel;
        waiting->last = parcel;
    } else {
        sim_receive(link->net, parcel);
    }
}

void sim_ship(sim_link *from, sim_parcel what)
{
    sim_parcel *parcel = sim_made(sizeof *parcel);
    uint64_t bytes = what.message == NULL ? SMALL : bytes_of(what.message);
    *parcel = what;
    parcel->item = (sim_item){.bytes = bytes, .left = left, .arrived = arrived, .lost = lost};
    parcel->to = sim_peer(from);
    from->queued += bytes;
    from->net->queued += bytes;
    from->net->flying++;
    sim_send(&from->out, &parcel->item);
}

void sim_slow_down(const sim_net *net)
{
    uint64_t pause = TRIPS * (sim_trip(0, 1) + 1);
    for (uint64_t before = net->moved + 1; net->flying >= FLYING_MOST && net->moved != before;) {
        before = net->moved;
        (void)sim_wait(NULL, sim_now() + pause);
    }
}

static void post(sim_link *from, sim_kind kind)
{
    sim_ship(from, (sim_parcel){.kind = kind});
}

static bool is_beyond(void *most, const sim_item *item)
{
    uint64_t *left_over = most;
    *left_over = item->bytes < *left_over ? *left_over - item->bytes : 0;
    return *left_over == 0;
}

static bool is_dropped(void *net, const sim_item *item)
{
    const sim_parcel *parcel = (const sim_parcel *)(const void *)item;
    return parcel->kind == SIM_MESSAGE && sim_pace_drops(((const sim_net *)net)->dropped, parcel->message);
}

static void drop_items(sim_item *items)
{
    for (sim_item *item = items, *next; item != NULL; item = next) {
        next = item->next;
        sim_parcel *parcel = (sim_parcel *)(void *)item;
        left(item);
        sim_peer(parcel->to)->net->flying--;
        sim_free_parcel(parcel);
    }
}

static void drop_messages(sim_link *link, hw_message *messages)
{
    for (const hw_message *message = messages; message != NULL; message = message->next) {
        link->queued -= bytes_of(message);
        link->net->queued -= bytes_of(message);
    }
    hw_messages_free(messages);
}

void sim_free_first(sim_link *link)
{
    if (link->first == NULL)
        return;
    drop_messages(link, link->first->pending);
    free(link->first);
    link->first = NULL;
}

/* Drops what was not sent yet, but for the first `most` bytes. */
static void drop_unsent(sim_link *link, uint64_t most)
{
    if (link->waiting != NULL) {
        drop_messages(link, link->waiting->pace.first);
        link->waiting->pace.first = NULL;
    }
    drop_items(sim_take_back(&link->out, is_beyond, &most));
}

/* ---------------------------------------------------------------------------------------------- ends of links ---- */

/* A dialler does not take the link to it. */
void sim_refuse_link(sim_link *link)
{
    link->closed = true;
    post(link, SIM_CLOSED);
}

/* ----------------------------------------------------------------------------------------------- ends of links ---- */

void sim_end_link(sim_link *link, const char *why)
{
    sim_net *net = link->net;
    const hw_net_events *events = &net->events;
    if (link->closed)
        return;
    bool up = link->state == SIM_LINK_UP, lost = why[0] != '\0' && !link->bidding;
    link->closed = true;
    if (up) {
        link->why = lost ? strdup(why) : NULL;
        link->state = lost ? SIM_LINK_LOST : SIM_LINK_LEFT;
    }
    sim_free_first(link);
    drop_unsent(link, 0);
    if (!sim_peer(link)->closed)
        post(link, SIM_CLOSED);
    net->open--;
    sim_wake_all(&net->changed);
    if (up && lost && events->lost != NULL)
        events->lost(events->argument, link->node, why, sim_seconds() - link->last_received);
    else if (up && !lost && events->left != NULL)
        events->left(events->argument, link->node);
}

/* Returns when a link went silent, or SIM_NEVER. */
uint64_t sim_silent_since(const sim_link *link)
{
    const sim_process *peer = sim_peer(link)->net->process;
    uint64_t since = peer->state == SIM_STOPPED ? peer->since : SIM_NEVER;
    const sim_dam *dam = sim_peer(link)->out.dam;
    return dam != NULL && dam->since < since ? dam->since : since;
}

void sim_check_silence(void *argument, uint64_t unused)
{
    sim_link *link = argument;
    (void)unused;
    double now = sim_seconds();
    uint64_t since = sim_silent_since(link);
    if (link->state != SIM_LINK_UP || link->first != NULL || link->closed || !sim_net_runs(link->net) ||
        link->net->process->state != SIM_RUNNING || since == SIM_NEVER)
        return;
    double heard = fmax(1e-9 * (double)since, link->net->resumed), end = heard + link->net->failure_timeout;
    if (now < end) {
        sim_at((uint64_t)(end * 1e9) + 1, sim_check_silence, link, 0);
        return;
    }
    sim_tell(link, SIM_SILENT);
}

void sim_answer(sim_dialling *dialling)
{
    dialling->answered = true;
    sim_wake_all(&dialling->waits);
}

/* The connection of a dialler ends before it was answered: it may try again. */
void sim_hang_up(sim_dialling *dialling)
{
    dialling->status = HAWSER_STOP;
    sim_answer(dialling);
}

void sim_end_net(sim_net *net)
{
    for (const sim_parcel *parcel = net->arrived; parcel != NULL; parcel = parcel->next)
        if (parcel->kind == SIM_HELLO)
            sim_hang_up(parcel->dialling);
    if (net->judged != NULL)
        sim_hang_up(net->judged);
    for (sim_link *link = net->all; link != NULL; link = link->next) {
        if (link->closed)
            continue;
        link->closed = true;
        drop_unsent(link, net->process->state == SIM_KILLED && sim_is_drawn() ? sim_below(KERNEL) : KERNEL);
        if (!sim_peer(link)->closed)
            post(link, SIM_CLOSED);
    }
    net->over = true;
}

/* ----------------------------------------------------------------------------------------------------- sending ---- */

static void keep(sim_link *link, hw_message *message)
{
    sim_first *first = link->first;
    const uint64_t bytes = bytes_of(message);
    message->next = NULL;
    *(first->pending == NULL ? &first->pending : &first->last->next) = message;
    first->last = message;
    link->queued += bytes;
    link->net->queued += bytes;
}

void sim_transmit(void *argument, hw_message *message)
{
    sim_link *link = argument;
    if (link->first != NULL) {
        keep(link, message);
        return;
    }
    link->messages_sent++;
    link->bytes_sent += bytes_of(message);
    sim_ship(link, (sim_parcel){.kind = SIM_MESSAGE, .message = message});
}

/* A message has waited for the rate limit long enough. */
static void release(void *argument, hw_message *message)
{
    sim_link *link = argument;
    uint64_t bytes = bytes_of(message);
    link->queued -= bytes;
    link->net->queued -= bytes;
    sim_transmit(link, message);
}

/* The tail's memory is the sender's after the call. */
static hw_message *without_tail(hw_message *message)
{
    hw_message *whole = NULL;
    size_t length = (size_t)message->envelope.length, own = length - message->tail_length;
    if (message->tail == NULL)
        return message;
    if (hw_message_new(length, &whole, NULL) != HAWSER_OK)
        exit(EXIT_FAILURE);
    if (own > 0)
        memcpy(whole->payload, message->payload, own);
    memcpy((char *)whole->payload + own, message->tail, message->tail_length);
    whole->envelope = message->envelope;
    whole->origin = message->origin;
    whole->spread = message->spread;
    hw_message_free(message);
    return whole;
}

bool sim_send_by(sim_link *link, hw_message *message)
{
    sim_net *net = link->net;
    if (link->state != SIM_LINK_UP || link->bidding || link->closed) {
        hw_message_free(message);
        return false;
    }
    if (sim_pace_drops(net->dropped, message)) {
        hw_message_free(message);
        return true;
    }
    message = without_tail(message);
    uint64_t bytes = bytes_of(message);
    if (link->waiting == NULL || !sim_pace_delay(&link->waiting->pace, &net->bucket, message)) {
        sim_transmit(link, message);
        return true;
    }
    link->queued += bytes;
    net->queued += bytes;
    sim_wake_first(&net->idle);
    return true;
}

hawser_status sim_gone(const sim_link *link, hawser_error *error)
{
    const char *name = sim_peer(link)->net->self.name;
    bool left = link->state == SIM_LINK_LEFT;
    if (left || link->bidding)
        return hawser_fail(error, HAWSER_PEER_LOST, "node %u (%s) has %s", link->node, name,
                           left ? "left" : "received the end of this node");
    return hawser_fail(error, HAWSER_PEER_LOST, "node %u (%s) was lost: %s", link->node, name,
                       link->state == SIM_LINK_LOST && link->why != NULL ? link->why : "its link has ended");
}

/* Forwards to one node. Of several failures the first is reported. */
void sim_pass_on(sim_net *net, uint32_t node, uint32_t origin, const hw_message *message, hawser_status *status,
                 hawser_error *error)
{
    hw_message *copy = NULL;
    hawser_error own;
    hawser_status said = hw_message_share(message, &copy, &own);
    if (said == HAWSER_OK) {
        copy->origin = origin;
        copy->spread = 1;
        sim_link *link;
        said = sim_reach(net, node, &link, &own);
        if (said != HAWSER_OK)
            hw_message_free(copy);
        else if (!sim_send_by(link, copy))
            said = sim_gone(link, &own);
    }
    if (*status == HAWSER_OK && said != HAWSER_OK)
        *status = hawser_fail(error, said, "%s", own.text);
}

const uint32_t *sim_route_of(const sim_net *net, uint32_t origin)
{
    return origin < net->route_capacity ? net->routes[origin] : NULL;
}

hawser_status sim_forward(sim_net *net, uint32_t origin, const hw_message *message, hawser_error *error)
{
    hawser_status status = HAWSER_OK;
    const uint32_t *route = sim_route_of(net, origin);
    for (uint32_t i = 1; route != NULL && i <= route[0]; i++)
        sim_pass_on(net, route[i], origin, message, &status, error);
    return status;
}

void sim_drop_updates(sim_net *net)
{
    for (sim_link *link = net->all; link != NULL; link = link->next) {
        if (link->waiting != NULL)
            drop_messages(link, sim_pace_take(&link->waiting->pace, net->dropped));
        drop_items(sim_take_back(&link->out, is_dropped, net));
    }
}

uint64_t sim_send_paced(sim_net *net)
{
    return net->bucket.rate > 0 ? sim_pace_release(&net->bucket, net->dropped, release) : SIM_NEVER;
}

/* --------------------------------------------------------------------------------------------------- receiving ---- */

static bool must_pause(const sim_link *link)
{
    return link->net->unread_most > 0 && link->queued + link->waiting->accounted > link->net->unread_most;
}

static bool stamp_holds(const sim_net *net, uint32_t origin, const hw_envelope *envelope)
{
    const sim_link *link = sim_link_to(net, origin);
    hw_net_hello known;
    if (link == NULL && origin < net->known)
        net->describe(net->events.argument, origin, &known);
    else if (link == NULL)
        return false;
    uint64_t incarnation = link != NULL ? sim_peer(link)->net->self.incarnation : known.incarnation;
    if (envelope->incarnation != hw_net_short_incarnation(incarnation))
        return false;
    return hw_message_scope(envelope->kind) == HW_SCOPE_CLUSTER || envelope->view == net->view;
}

/* Moves the rest of an answer to the memory that the owner has for it. */
static void receive_directly(sim_net *net, uint32_t node, hw_message *message)
{
    const hw_net_events *events = &net->events;
    size_t rest = (size_t)message->envelope.length - HW_ANSWER_HEAD;
    if (events->acquire == NULL || message->envelope.kind != HW_MESSAGE_ANSWER || message->spread != 0 ||
        message->envelope.length < DIRECT_LEAST)
        return;
    void *place = events->acquire(events->argument, node, message);
    if (place == NULL)
        return;
    memcpy(place, (const char *)message->payload + HW_ANSWER_HEAD, rest);
    events->release(events->argument);
    message->tail = place;
    message->tail_length = rest;
    message->tail_received = true;
}

void sim_take_message(sim_link *link, hw_message *message)
{
    sim_net *net = link->net;
    hawser_error ignored;
    link->last_received = sim_seconds();
    link->messages_received++;
    link->bytes_received += bytes_of(message);
    uint32_t from = message->spread != 0 ? message->origin : link->node;
    if (message->spread != 0 && net->direct) {
        hw_message_free(message);
        sim_end_link(link, "it forwarded a message, but nodes of this net do not");
    } else if (!stamp_holds(net, from, &message->envelope)) {
        if (net->events.foreign != NULL)
            net->events.foreign(net->events.argument, from, &message->envelope);
        hw_message_free(message);
    } else {
        if (message->spread != 0)
            (void)sim_forward(net, from, message, &ignored); /* a lost child is reported by its own link */
        else
            receive_directly(net, from, message);
        net->events.arrived(net->events.argument, from, message);
    }
    link->paused = link->paused || must_pause(link);
}

void sim_announce(sim_link *link)
{
    sim_net *net = link->net;
    link->state = SIM_LINK_UP;
    link->last_received = sim_seconds();
    hw_net_hello hello = sim_peer(link)->net->self;
    hello.node = link->node;
    if (net->events.up != NULL)
        net->events.up(net->events.argument, link->node, &hello);
    link->announced = true;
    sim_wake_all(&net->changed);
}

/* Goes on to read from the links that were paused, if less waits for them now. */
static void ease(sim_link *link)
{
    if (!link->paused || link->queued + link->waiting->accounted > link->net->unread_most / 2)
        return;
    link->paused = false;
    for (sim_parcel *parcel = link->waiting->first, *next; parcel != NULL; parcel = next) {
        next = parcel->next;
        sim_receive(link->net, parcel);
    }
    link->waiting->first = NULL;
}

/* A goodbye follows what waits for the rate limit. */
static void say_goodbye(sim_link *link)
{
    if (!link->bidding || link->bid || link->closed || link->first != NULL ||
        (link->waiting != NULL && link->waiting->pace.first != NULL))
        return;
    link->bid = true;
    post(link, SIM_GOODBYE);
}

void sim_bid(sim_link *link)
{
    link->bidding = true;
    say_goodbye(link);
}

void sim_tend(sim_net *net)
{
    for (sim_link *link = net->all; link != NULL; link = link->next) {
        ease(link);
        say_goodbye(link);
    }
}
