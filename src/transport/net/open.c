/* open.c - the start and the end of a net. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "transport/net/parts.h"

#define FAILURE_TIMEOUT   5.0
#define HANDSHAKE_TIMEOUT 5.0
#define HEARTBEAT_MOST    1.0
#define BEATS             5 /* of a failure timeout */

double hw_net_heartbeat(double failure_timeout)
{
    return failure_timeout < BEATS * HEARTBEAT_MOST ? failure_timeout / BEATS : HEARTBEAT_MOST;
}

static void copy_text(char *to, size_t size, const char *from)
{
    (void)!snprintf(to, size, "%s", from == NULL ? "" : from);
}

static hawser_status check(const hw_net_options *options, hawser_error *error)
{
    if (options->key_length < HW_NET_KEY_LEAST || options->key_length > HW_NET_KEY_MOST)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "a job key of %zu bytes: from %d to %d", options->key_length,
                           HW_NET_KEY_LEAST, HW_NET_KEY_MOST);
    if (options->port_low > options->port_high)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "ports from %u to %u: none", options->port_low, options->port_high);
    return HAWSER_OK;
}

static hawser_status prepare(hw_net *net, const hw_net_options *options, const hw_net_events *events, hawser_error *error)
{
    hw_identity *self = &net->self;
    net->events = *events;
    net->failure_timeout = options->failure_timeout > 0 ? options->failure_timeout : FAILURE_TIMEOUT;
    net->handshake_timeout = options->handshake_timeout > 0 ? options->handshake_timeout : HANDSHAKE_TIMEOUT;
    net->heartbeat = hw_net_heartbeat(net->failure_timeout);
    self->failure_timeout = (uint32_t)fmin(net->failure_timeout * 1e3, UINT32_MAX);
    net->unread_most = options->unread_most;
    net->rate = (double)options->rate;
    net->cancellation = options->cancellation;
    net->paid_at = hw_seconds();
    hw_host_id(net->host);
    copy_text(self->build, sizeof self->build, options->build);
    copy_text(self->job, sizeof self->job, options->job);
    copy_text(self->name, sizeof self->name, options->name);
    HAWSER_TRY(hw_undumped_new((void **)&self->key, HW_NET_KEY_MOST, error));
    memcpy(self->key, options->key, options->key_length);
    self->key_length = options->key_length;
    self->trust_fabric = options->trust_fabric;
    self->encrypt_always = options->encrypt_always;
    self->transport = options->transport;
    net->direct = options->direct;
    self->ring = options->ring > 0 ? options->ring : HW_SHARED_RING;
    atomic_store(&self->node, options->node);
    if (!hw_secret_random(&self->incarnation, sizeof self->incarnation))
        return hawser_fail(error, HAWSER_IO, "OpenSSL has no random numbers");
    net->incarnation = hw_net_short_incarnation(self->incarnation);
    atomic_init(&net->view, HW_VIEW_FIRST);
    HAWSER_TRY(hw_tls_contexts_new(&self->contexts, error));
    HAWSER_TRY(hw_pool_new(&net->pool, error));
    if (options->transport == HW_NET_UCX)
        HAWSER_TRY(hw_fabric_new(options->trust_fabric, &self->fabric, error));
    HAWSER_TRY(hw_listeners_open(options, self->incarnation, &net->listeners, error));
    memcpy(self->address, net->listeners.address, sizeof self->address);
    HAWSER_TRY(hw_reactor_start(net, error));
    return hw_acceptor_start(net, error);
}

static bool make_locks(hw_net *net)
{
    return pthread_mutex_init(&net->mutex, NULL) == 0 && hw_thread_condition(&net->changed) == 0 &&
           pthread_rwlock_init(&net->routing, NULL) == 0;
}

hawser_status hw_net_new(const hw_net_options *options, const hw_net_events *events, hw_net **out, hawser_error *error)
{
    *out = NULL;
    HAWSER_TRY(check(options, error));
    hw_net *net = NULL;
    HAWSER_TRY(HW_NEW(&net, 1, "a net", error));
    net->reactor_poll = net->reactor_wakeup = net->reactor_timer = net->acceptor_poll = net->acceptor_wakeup = net->spare =
        -1;
    if (!make_locks(net)) {
        free(net);
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot make a mutex");
    }
    hawser_status status = prepare(net, options, events, error);
    if (status != HAWSER_OK) {
        hw_net_free(net);
        return status;
    }
    *out = net;
    return HAWSER_OK;
}

const char *hw_net_address(const hw_net *net)
{
    return net->listeners.address;
}

const char *hw_net_listening(const hw_net *net)
{
    return net->listeners.listening;
}

uint64_t hw_net_incarnation(const hw_net *net)
{
    return net->self.incarnation;
}

uint32_t hw_net_number(const hw_net *net)
{
    return atomic_load(&net->self.node);
}

/* Returns the bytes that have arrived at the peers of open links, up to a constant; the rest is in the kernel or in shared
 * memory. */
static int64_t goodbye_progress(hw_net *net)
{
    int64_t arrived = 0;
    for (hw_link *link = atomic_load(&net->links); link != NULL; link = link->next) {
        pthread_mutex_lock(&link->mutex);
        if (!link->shut)
            arrived -= hw_channel_unread(&link->channel);
        pthread_mutex_unlock(&link->mutex);
        arrived += (int64_t)atomic_load(&link->bytes_sent);
    }
    return arrived;
}

/* Waits until every link is closed, or nothing has moved for this long. The time for the last messages depends on their size
 * and the links. */
static void await_closed(hw_net *net, double seconds)
{
    double still_since = hw_seconds(), step = seconds < 0.4 ? seconds / 4 : 0.1;
    int64_t before = goodbye_progress(net);
    for (uint32_t open_before = UINT32_MAX;;) {
        struct timespec until = hw_timespec(hw_seconds() + step);
        pthread_mutex_lock(&net->mutex);
        if (net->open > 0)
            pthread_cond_timedwait(&net->changed, &net->mutex, &until);
        uint32_t open = net->open;
        pthread_mutex_unlock(&net->mutex);
        if (open == 0)
            return;
        int64_t now = goodbye_progress(net);
        if (now != before || open != open_before)
            still_since = hw_seconds();
        else if (hw_seconds() - still_since >= seconds)
            return;
        before = now;
        open_before = open;
    }
}

void hw_net_stop(hw_net *net, double seconds)
{
    if (atomic_exchange(&net->stopping, true))
        return;
    hw_net_close_to_new(net); /* the reactor removes no links any more, either */
    const bool dials = seconds > 0 && net->reactor_runs && atomic_load(&net->dialling) > 0;
    if (!dials) /* else the messages that wait for connections would be lost */
        hw_acceptor_end(net);
    if (!net->reactor_runs)
        return;
    for (hw_link *link = atomic_load(&net->links); link != NULL; link = link->next)
        hw_link_bid(link);
    if (seconds > 0)
        await_closed(net, seconds);
    if (dials)
        hw_acceptor_end(net);
    hw_reactor_end(net);
}

void hw_net_free(hw_net *net)
{
    if (net == NULL)
        return;
    hw_net_stop(net, 0);
    hw_dials_free(net->dials); /* of first uses that the end of the acceptor has overtaken */
    for (hw_link *link = atomic_load(&net->links), *next; link != NULL; link = next) {
        next = link->next;
        hw_link_free(link);
    }
    for (int i = 0; i < HW_LINK_PAGES; i++)
        free((void *)atomic_load(&net->pages[i]));
    const int descriptors[] = {net->reactor_poll,  net->reactor_wakeup,  net->reactor_timer,
                               net->acceptor_poll, net->acceptor_wakeup, net->spare};
    for (size_t i = 0; i < sizeof descriptors / sizeof *descriptors; i++)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
    hw_fabric_free(net->self.fabric);
    hw_pool_free(net->pool);
    hw_route_free(net);
    hw_tls_contexts_free(net->self.contexts);
    hw_undumped_free(net->self.key, HW_NET_KEY_MOST);
    pthread_rwlock_destroy(&net->routing);
    pthread_cond_destroy(&net->changed);
    pthread_mutex_destroy(&net->mutex);
    free(net->scratch);
    free((void *)net->gone);
    free(net);
}
