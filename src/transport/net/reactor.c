/* reactor.c - the thread that serves the links: reads, writes that did not fit, heartbeats. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/machine.h"
#include "base/memory.h"
#include "transport/net/parts.h"
#include "transport/net/shared.h"

enum {
    EVENTS = 64,
    SUSPENDED = 2, /* heartbeat intervals without a turn of this thread */
    PAUSES = 16    /* of the processor, between two polls of memory */
};
/* Seconds. A peer that replies at once needs at most SPIN; add BULK_SPIN if it, or the own program, has work like that of
 * ten thousand keys. Polling that long costs less than a sleep and a wakeup. A wakeup takes its sender WAKE if the host must
 * wake a sleeping processor. */
#define SPIN         60e-6
#define BULK_SPIN    50e-6
#define WAKE         60e-6
#define PARTING_MOST 1.0
#define LOOK         200e-6 /* longest time of serving memory between two polls of the sockets */
#define POLLED       20e-3  /* a link by memory that was quiet for that long is polled no more: its peer sends a wakeup */
enum { DUE_MOST = 1024 };

void hw_wakeup_send(int fd)
{
    uint64_t one = 1;
    (void)!write(fd, &one, sizeof one);
}

void hw_wakeup_clear(int fd)
{
    uint64_t count;
    (void)!read(fd, &count, sizeof count);
}

void hw_reactor_wake(hw_net *net)
{
    if (atomic_exchange(&net->asleep, false))
        hw_wakeup_send(net->reactor_wakeup);
}

void hw_reactor_post(hw_link *link)
{
    hw_net *net = link->net;
    if (atomic_exchange(&link->todo, true))
        return;
    hw_link *top = atomic_load(&net->todo);
    do
        link->todo_next = top;
    while (!atomic_compare_exchange_weak(&net->todo, &top, link));
    hw_reactor_wake(net);
}

static void note_closed(hw_net *net, hw_link *link)
{
    pthread_mutex_lock(&net->mutex);
    link->closed = true;
    net->open--;
    if (atomic_exchange(&link->dialling, false))
        atomic_fetch_sub(&net->dialling, 1);
    pthread_cond_broadcast(&net->changed);
    pthread_mutex_unlock(&net->mutex);
}

/* Ends a link. `why` is empty after a goodbye of either side. */
static void end_link(hw_net *net, hw_link *link, const char *why)
{
    /* First, so that the owner can still send the reason to the peer by this link. */
    bool starved = link->starved && net->events.starved != NULL && atomic_load(&link->state) == HW_LINK_UP;
    if (starved)
        net->events.starved(net->events.argument, link->node);
    pthread_mutex_lock(&link->mutex);
    hw_link_state before = atomic_load(&link->state);
    bool lost = why[0] != '\0' && !link->bidding;
    hw_link_uncount(link);
    if (before == HW_LINK_UP) {
        (void)!snprintf(link->why, sizeof link->why, "%s", why);
        atomic_store(&link->state, lost ? HW_LINK_LOST : HW_LINK_LEFT);
    }
    pthread_mutex_unlock(&link->mutex);
    (void)epoll_ctl(net->reactor_poll, EPOLL_CTL_DEL, link->channel.fd, NULL);
    if (hw_link_close(link))
        note_closed(net, link);
    if (before == HW_LINK_UP && lost && !starved && net->events.lost != NULL)
        net->events.lost(net->events.argument, link->node, why, hw_seconds() - atomic_load(&link->last_received));
    else if (before == HW_LINK_UP && !lost && net->events.left != NULL)
        net->events.left(net->events.argument, link->node);
}

static void read_link(hw_net *net, hw_link *link)
{
    char text[200];
    net->stirred |= link->channel.shared == NULL && link->channel.endpoint == NULL;
    const char *why = hw_link_read(link, text, sizeof text);
    if (why != NULL && why[0] == '\0' && link->by_fabric) {
        /* Closing an endpoint drops data in flight, perhaps our goodbye. The peer reports when it has received it. */
        link->parting = hw_seconds();
        shutdown(link->channel.fd, SHUT_WR);
    } else if (why != NULL)
        end_link(net, link, why);
    else if (hw_channel_pending(&link->channel) && !atomic_load(&link->read_paused))
        hw_reactor_post(link);
}

/* Reads the rest after a link has failed in at least one direction: the peer may have sent the reason. Returns it, or
 * NULL. */
static const char *read_rest(hw_net *net, hw_link *link, char *text, size_t size)
{
    uint64_t before;
    const char *why;
    hw_link_read_to_end(link);
    do {
        before = atomic_load(&link->bytes_received);
        if (link->channel.endpoint != NULL)
            (void)hw_fabric_progress(net->self.fabric);
        why = hw_link_read(link, text, size);
    } while (why == NULL && atomic_load(&link->bytes_received) > before);
    return why;
}

/* Ends a link after a failed write. */
static void end_broken(hw_net *net, hw_link *link)
{
    char text[200];
    const char *why = read_rest(net, link, text, sizeof text);
    end_link(net, link, why != NULL ? why : hw_channel_trouble(&link->channel, text, sizeof text));
}

/* Polls a link by shared memory from now on. */
static void poll_link(hw_net *net, hw_link *link)
{
    link->moved_at = hw_seconds_lately();
    if (link->polled)
        return;
    link->polled = true;
    atomic_fetch_add_explicit(&net->polled, 1, memory_order_relaxed);
    link->shared_next = net->shared;
    net->shared = link;
}

/* Serves a link by shared memory. */
static void attend_to(hw_net *net, hw_link *link)
{
    hw_shared *shared = link->channel.shared;
    net->warm = true;
    poll_link(net, link);
    hw_shared_disarm(shared);
    read_link(net, link);
    if (!link->closed && atomic_load(&link->state) == HW_LINK_UP && atomic_load(&shared->waits) &&
        hw_ring_writable(&shared->out))
        hw_link_writable(link);
}

static bool is_attended(hw_link *link)
{
    return !link->closed && atomic_load(&link->state) == HW_LINK_UP;
}

/* Returns whether a link needs service. While reading is paused, only space for writing counts. */
static bool presses(const hw_link *link)
{
    const hw_shared *shared = link->channel.shared;
    return atomic_load(&link->read_paused) ? atomic_load(&shared->waits) && hw_ring_writable(&shared->out)
                                           : hw_shared_presses(shared);
}

/* Serves all links by shared memory that need it. Returns whether there was one. */
static bool attend(hw_net *net)
{
    bool pressed = false;
    for (hw_link *link = net->shared; link != NULL; link = link->shared_next)
        if (is_attended(link) && presses(link)) {
            attend_to(net, link);
            pressed = true;
        }
    return pressed;
}

/* The polling was unsuccessful; perhaps the peer needed this processor to reply. Sleeps at once from now on, until so many
 * messages have arrived soon after a sleep that another trial does no harm. */
static void stop_spinning(hw_net *net)
{
    net->spin_time = 0;
    net->missed = 0;
    net->due = net->due < DUE_MOST ? 2 * net->due : DUE_MOST;
}

/* A message arrived soon after the thread had gone to sleep. */
static void miss(hw_net *net)
{
    if (net->spin_time_most > 0 && ++net->missed >= net->due)
        net->spin_time = net->spin_time_most;
}

/* Polls the sockets, unless none has received anything since the last sleep. */
static bool peek(hw_net *net, struct epoll_event *events, int *count)
{
    *count = net->stirred ? epoll_wait(net->reactor_poll, events, EVENTS, 0) : 0;
    return *count > 0;
}

static double spin_time_of(const hw_net *net)
{
    bool bulk = net->spin_time > 0 && atomic_load_explicit(&net->bulk, memory_order_relaxed);
    return bulk ? net->spin_time + BULK_SPIN : net->spin_time;
}

/* Serves memory as long as there is data, then polls memory and sockets for a little while. So a peer that replies at once
 * or sends one piece after another needs no wakeup. Returns true if there may be more; *count is the number of socket
 * events. */
static bool linger(hw_net *net, struct epoll_event *events, int *count)
{
    double start = hw_seconds(), now = start, quiet = start;
    bool waited = false;
    while (atomic_load(&net->todo) == NULL && !atomic_load(&net->reactor_ends)) {
        if (attend(net) || peek(net, events, count)) {
            if (waited)
                net->due = 1;
            waited = false;
            quiet = hw_seconds();
        } else if (!(net->warm || net->stirred) || now - quiet >= spin_time_of(net)) {
            if (waited)
                stop_spinning(net);
            return false;
        } else {
            waited = true;
            for (int i = 0; i < PAUSES; i++)
                hw_thread_pause();
        }
        now = hw_seconds();
        if (*count > 0 || now - start > LOOK)
            break;
    }
    return true;
}

/* Stops polling links that were quiet for a while. They are armed and had nothing to read afterwards, so the next bytes
 * cause a wakeup, as space does for which a writer waits. While reading is paused a link has no such request. */
static void rest_links(hw_net *net)
{
    double since = hw_seconds_lately() - POLLED;
    for (hw_link **at = &net->shared; *at != NULL;) {
        hw_link *link = *at;
        bool rests = !is_attended(link) || (link->moved_at < since && !atomic_load(&link->read_paused) &&
                                            link->channel.shared->asked && !presses(link));
        if (rests) {
            link->polled = false;
            atomic_fetch_sub_explicit(&net->polled, 1, memory_order_relaxed);
            *at = link->shared_next;
        } else {
            at = &link->shared_next;
        }
    }
}

/* Requests wakeups before a sleep. Returns false if there is work after all. */
static bool arm_all(hw_net *net)
{
    bool quiet = true;
    net->warm = net->stirred = false;
    net->was_bulk = atomic_exchange_explicit(&net->bulk, false, memory_order_relaxed);
    for (hw_link *link = net->shared; link != NULL; link = link->shared_next)
        if (is_attended(link))
            hw_shared_arm(link->channel.shared);
    for (hw_link *link = net->shared; link != NULL && quiet; link = link->shared_next)
        quiet = !is_attended(link) || !presses(link);
    if (quiet)
        rest_links(net);
    return quiet;
}

/* Serves UCX links: arrived data, and space for which a writer waits. Returns true if there was any. */
static bool attend_endpoints(hw_net *net)
{
    if (net->self.fabric == NULL)
        return false;
    bool any = hw_fabric_progress(net->self.fabric);
    for (hw_link *link = net->fabric_links; link != NULL; link = link->fabric_next) {
        if (is_attended(link) && link->parting == 0 && !atomic_load(&link->read_paused) &&
            hw_fabric_readable(link->channel.endpoint)) {
            read_link(net, link);
            any = true;
        }
        if (is_attended(link) && hw_fabric_writable(link->channel.endpoint))
            hw_link_writable(link);
    }
    return any;
}

/* Handles the socket of a UCX link, which carries only its end: the peer has received our goodbye, or is gone. */
static void receive_end(hw_net *net, hw_link *link)
{
    char bytes[64], text[200];
    ssize_t moved = recv(link->channel.fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return;
    const char *said = moved > 0 || link->parting > 0 ? NULL : read_rest(net, link, text, sizeof text);
    /* while reading was paused its goodbye was not read */
    bool left = link->parting > 0 || (said != NULL && said[0] == '\0');
    if (moved > 0)
        end_link(net, link, "it sent bytes where there should be none");
    else
        end_link(net, link, left ? "" : moved == 0 ? "its connection was closed" : "its connection was reset");
}

/* Only the reactor uses UCX, so it opens the endpoint. */
static bool open_endpoint(hw_net *net, hw_link *link, hawser_error *error)
{
    if (!link->by_fabric)
        return true;
    if (hw_fabric_open(net->self.fabric, link->fabric, &link->channel.endpoint, error) != HAWSER_OK)
        return false;
    link->fabric_next = net->fabric_links;
    net->fabric_links = link;
    return true;
}

static void announce(hw_net *net, hw_link *link)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = link};
    hawser_error error;
    bool open = open_endpoint(net, link, &error);
    bool added = epoll_ctl(net->reactor_poll, EPOLL_CTL_ADD, link->channel.fd, &event) == 0;
    double now = hw_seconds();
    atomic_store(&link->last_received, now);
    if (link->heartbeat < net->heartbeat)
        net->beat = true; /* the timer was set for the other links */
    if (link->channel.shared != NULL)
        poll_link(net, link);
    if (added && open && net->events.up != NULL)
        net->events.up(net->events.argument, link->node, &link->hello);
    pthread_mutex_lock(&net->mutex);
    atomic_store(&link->announced, true);
    pthread_cond_broadcast(&net->changed);
    pthread_mutex_unlock(&net->mutex);
    if (!open)
        end_link(net, link, error.text);
    else if (!added)
        end_link(net, link, "this process has no resources to serve its connection");
}

/* Removes a link from the reactor's own lists. */
static void leave_lists(hw_net *net, const hw_link *link)
{
    for (hw_link **at = &net->shared; *at != NULL; at = &(*at)->shared_next)
        if (*at == link) {
            *at = link->shared_next;
            atomic_fetch_sub_explicit(&net->polled, 1, memory_order_relaxed);
            break;
        }
    for (hw_link **at = &net->fabric_links; *at != NULL; at = &(*at)->fabric_next)
        if (*at == link) {
            *at = link->fabric_next;
            break;
        }
    if (net->turn == link)
        net->turn = NULL;
}

/* Frees a link that no other thread uses any more. A net that is about to end keeps it until then, because the ending thread
 * reads the list. */
static void drop_link(hw_net *net, hw_link *link)
{
    pthread_mutex_lock(&net->mutex);
    /* a link that is posted once more is freed then */
    bool stays = atomic_load(&net->stopping) || atomic_exchange(&link->todo, true);
    hw_link *before = atomic_load(&net->links);
    if (!stays && before == link) {
        atomic_store(&net->links, link->next);
    } else if (!stays) {
        while (before->next != link)
            before = before->next;
        before->next = link->next;
    }
    if (!stays)
        atomic_store(&atomic_load(&net->pages[link->node / HW_LINK_PAGE])[link->node % HW_LINK_PAGE], NULL);
    pthread_mutex_unlock(&net->mutex);
    if (stays)
        return;
    leave_lists(net, link);
    hw_link_free(link);
}

/* Returns whether a link has no connection. If it gets none, it ends. */
static bool is_dialling(hw_net *net, hw_link *link)
{
    char text[200], why[sizeof link->why];
    pthread_mutex_lock(&link->mutex);
    const bool dialling = atomic_load(&link->dialling), fails = dialling && link->broken;
    if (fails)
        (void)!snprintf(why, sizeof why, "%s",
                        link->why[0] != '\0' ? link->why : hw_channel_trouble(&link->channel, text, sizeof text));
    pthread_mutex_unlock(&link->mutex);
    if (fails)
        end_link(net, link, why);
    return dialling;
}

static void look_at(hw_net *net, hw_link *link)
{
    if (link->closed) {
        if (atomic_load(&link->forgotten))
            drop_link(net, link);
        return;
    }
    if (is_dialling(net, link))
        return;
    if (!link->announced)
        announce(net, link);
    pthread_mutex_lock(&link->mutex);
    bool shut = link->shut, broken = link->broken;
    pthread_mutex_unlock(&link->mutex);
    if (shut) {
        if (!link->closed && hw_link_close(link))
            note_closed(net, link);
        if (link->closed && atomic_load(&link->forgotten))
            drop_link(net, link);
    } else if (broken) {
        end_broken(net, link);
    } else {
        hw_link_drain(link);
        if (hw_link_resume(link))
            read_link(net, link);
        else if (link->encrypted) /* epoll does not report bytes that TLS has decrypted already */
            read_link(net, link);
        else if (link->channel.shared != NULL)
            attend_to(net, link);
    }
}

static void look_at_all(hw_net *net)
{
    hw_link *link = atomic_exchange(&net->todo, NULL);
    while (link != NULL) {
        hw_link *next = link->todo_next;
        atomic_store(&link->todo, false);
        look_at(net, link);
        link = next;
    }
}

static void serve(hw_net *net, const struct epoll_event *event)
{
    hw_link *link = event->data.ptr;
    if (link == NULL) {
        hw_wakeup_clear(net->reactor_wakeup);
        return;
    }
    if (event->data.ptr == &net->reactor_timer) {
        hw_wakeup_clear(net->reactor_timer);
        net->beat = true;
        return;
    }
    if (event->data.ptr == net->self.fabric)
        return; /* served in each turn */
    if (link->closed)
        return;
    if (link->by_fabric && (event->events & (EPOLLIN | EPOLLHUP | EPOLLERR))) {
        receive_end(net, link);
        return;
    }
    if (link->channel.shared != NULL && hw_channel_listen(&link->channel))
        atomic_store(&link->last_received, hw_seconds());
    bool ended = link->channel.shared != NULL ? link->channel.shared->in.ended : event->events & (EPOLLHUP | EPOLLERR);
    if (ended)
        hw_link_read_to_end(link);
    if (link->channel.shared != NULL && is_attended(link))
        attend_to(net, link);
    else if (event->events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        read_link(net, link);
    if (!link->closed && (event->events & EPOLLOUT))
        hw_link_writable(link);
}

/* Takes the heartbeat of a peer from memory. Its clock may differ from ours, so the time is limited to between the last
 * check, at `last`, and now. */
static void receive_heartbeat(hw_link *link, double last, double now)
{
    double said;
    if (!hw_shared_receive_heartbeat(link->channel.shared, &said))
        return;
    said = said < last ? last : said < now ? said : now;
    if (said > atomic_load(&link->last_received))
        atomic_store(&link->last_received, said);
}

/* Sends a heartbeat to one peer and checks its own. Returns when to check again at the latest. */
static double tick_link(hw_net *net, hw_link *link, double last, double now)
{
    double next = now + link->heartbeat;
    if (link->channel.shared != NULL) {
        hw_shared_send_heartbeat(link->channel.shared, now);
        receive_heartbeat(link, last, now);
    } else if (now - atomic_load(&link->last_sent) >= 0.5 * link->heartbeat) {
        hw_link_send_heartbeat(link);
    } else {
        next = atomic_load(&link->last_sent) + link->heartbeat;
    }
    double dismissed = atomic_load(&link->dismissed);
    double end = fmin(link->parting > 0 ? link->parting + PARTING_MOST : INFINITY,
                      dismissed > 0 ? dismissed + net->failure_timeout : INFINITY);
    bool paused = atomic_load(&link->read_paused); /* while reading is paused, the peer is judged by what it receives */
    double lost = (paused ? hw_link_taken(link, now) : atomic_load(&link->last_received)) + net->failure_timeout;
    if (end > now && lost > now)
        return fmin(next, fmin(end, lost));
    char text[200];
    end_link(net, link,
             end <= now ? ""
             : paused   ? hw_link_untaken(link, text, sizeof text)
                        : "nothing was received from it");
    return next;
}

/* Checks all links. A jump of the own clock since the last check means that this process or the machine was stopped. What
 * the peers sent meanwhile is unknown, so the silence of all counts from now. */
static double tick(hw_net *net, double last, double now)
{
    double next = now + net->heartbeat;
    for (hw_link *link = atomic_load(&net->links); link != NULL; link = link->next) {
        if (link->closed || !link->announced || atomic_load(&link->state) != HW_LINK_UP)
            continue;
        if (now - last > SUSPENDED * net->heartbeat) {
            atomic_store(&link->last_received, now);
            link->taken_at = now;
        }
        next = fmin(next, tick_link(net, link, last, now));
    }
    return next;
}

static bool set_timer(const hw_net *net, double at)
{
    struct itimerspec once = {.it_value = hw_timespec(at)};
    return timerfd_settime(net->reactor_timer, TFD_TIMER_ABSTIME, &once, NULL) == 0;
}

/* Returns how long this process has not run, judged by the time of the next check; 0 if the delay is no longer than a busy
 * machine causes. */
static double pause_of(const hw_net *net, double now)
{
    double looked = atomic_load(&net->looked), due = atomic_load(&net->look_due);
    return now - due > 0.1 + 0.5 * (due - looked) ? now - looked : 0;
}

static void note_look(hw_net *net, double next)
{
    double now = hw_boot_seconds(), paused = pause_of(net, now);
    if (paused > 0) {
        atomic_store(&net->paused, paused);
        atomic_store(&net->paused_until, now);
    }
    atomic_store(&net->looked, now);
    atomic_store(&net->look_due, now + next);
}

double hw_net_paused(const hw_net *net)
{
    const double just = 1; /* seconds in which a resumed process learns that peers have lost it */
    double now = hw_boot_seconds(), paused = pause_of(net, now);
    if (paused > 0)
        return paused;
    return now - atomic_load(&net->paused_until) < just ? atomic_load(&net->paused) : 0;
}

/* Checks the links when the timer is due, or half a heartbeat after the last check if the thread is awake anyway. Nodes that
 * receive a heartbeat send theirs in the same turn, so one node's timer is enough for all. */
static void keep_alive(hw_net *net, double *last)
{
    if (!net->beat && hw_seconds_lately() - *last < 0.5 * net->heartbeat)
        return;
    double now = hw_seconds();
    double next = tick(net, *last, now);
    (void)set_timer(net, next); /* the kernel accepts every time that is used here */
    note_look(net, next - now);
    *last = now;
    net->beat = false;
}

/* Returns the milliseconds to sleep. Heartbeats have a timer of their own, because setting one for each sleep costs more
 * than a message. */
static int sleep_of(const hw_net *net, double left)
{
    return net->rate > 0 ? (int)(left * 1e3) + 1 : -1;
}

bool hw_net_is_own_thread(const hw_net *net)
{
    return pthread_equal(pthread_self(), atomic_load_explicit(&net->reactor_self, memory_order_relaxed)) != 0;
}

static void *reactor_main(void *argument)
{
    hw_net *net = argument;
    double last = hw_seconds(), now = last;
    atomic_store(&net->reactor_self, pthread_self());
    while (!atomic_load(&net->reactor_ends)) {
        struct epoll_event events[EVENTS];
        int count = 0;
        bool busy = attend_endpoints(net);
        busy |= linger(net, events, &count);
        atomic_store(&net->asleep, !busy);
        now = hw_seconds();
        double left = hw_pace(net, now, net->heartbeat);
        bool pressing = busy || atomic_load(&net->todo) != NULL || atomic_load(&net->reactor_ends) || !arm_all(net) ||
                        (net->self.fabric != NULL && !hw_fabric_arm(net->self.fabric));
        if (count == 0)
            count = epoll_wait(net->reactor_poll, events, EVENTS, pressing ? 0 : sleep_of(net, left));
        atomic_store(&net->asleep, false);
        if (!pressing && count > 0 && hw_seconds() - now < WAKE + SPIN + (net->was_bulk ? BULK_SPIN : 0))
            miss(net);
        for (int i = 0; i < count; i++)
            serve(net, &events[i]);
        look_at_all(net);
        keep_alive(net, &last);
    }
    for (hw_link *link = atomic_load(&net->links); link != NULL; link = link->next)
        if (!link->closed)
            end_link(net, link, "");
    return NULL;
}

static bool start_timer(hw_net *net)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &net->reactor_timer};
    atomic_store(&net->paused_until, -INFINITY);
    atomic_store(&net->looked, hw_boot_seconds());
    atomic_store(&net->look_due, hw_boot_seconds() + net->heartbeat);
    net->reactor_timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    return net->reactor_timer >= 0 && set_timer(net, hw_seconds() + net->heartbeat) &&
           epoll_ctl(net->reactor_poll, EPOLL_CTL_ADD, net->reactor_timer, &event) == 0;
}

hawser_status hw_reactor_start(hw_net *net, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(&net->scratch, HW_SCRATCH, "a network buffer", error));
    net->due = 1;
    net->spin_time = net->spin_time_most = hw_machine_processors() > 1 ? SPIN : 0;
    net->reactor_poll = epoll_create1(EPOLL_CLOEXEC);
    net->reactor_wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event wakeup = {.events = EPOLLIN, .data.ptr = NULL};
    if (net->reactor_poll < 0 || net->reactor_wakeup < 0 ||
        epoll_ctl(net->reactor_poll, EPOLL_CTL_ADD, net->reactor_wakeup, &wakeup) != 0 || !start_timer(net))
        return hawser_fail(error, HAWSER_IO, "cannot make an epoll descriptor: %s%s", strerror(errno),
                           hw_machine_advice(errno));
    struct epoll_event fabric = {.events = EPOLLIN, .data.ptr = net->self.fabric};
    if (net->self.fabric != NULL &&
        epoll_ctl(net->reactor_poll, EPOLL_CTL_ADD, hw_fabric_fd(net->self.fabric), &fabric) != 0)
        return hawser_fail(error, HAWSER_IO, "cannot wait for UCX by epoll: %s", strerror(errno));
    int failure = hw_thread_start(&net->reactor, reactor_main, net);
    if (failure != 0)
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot start the thread that serves connections: %s",
                           strerror(failure));
    net->reactor_runs = true;
    return HAWSER_OK;
}

void hw_reactor_end(hw_net *net)
{
    if (net->reactor_runs) {
        atomic_store(&net->reactor_ends, true);
        hw_wakeup_send(net->reactor_wakeup);
        pthread_join(net->reactor, NULL);
        net->reactor_runs = false;
    }
}
