/* listener.c - opens the net to the clients, begins to accept them, and ends. */
#include <stdlib.h>
#include <string.h>

#include "base/machine.h"
#include "base/memory.h"
#include "base/thread.h"
#include "runtime/serving/client_listener_inner.h"
#include "runtime/store/remote.h"

static hawser_status open_net(hw_client_listener *listener, const hw_client_listener_options *options, hawser_error *error)
{
    char build[HW_STORE_BUILD];
    hw_store_build(build);
    const hw_net_options net = {
        .job = HW_STORE_JOB,
        .key = options->key,
        .key_length = options->key_length,
        .node = listener->store->self,
        .name = listener->store->job->place.name,
        .build = build,
        .interface = options->interface,
        .port_low = options->port_low,
        .port_high = options->port_high,
        .directory = "@",
        .ring = HW_STORE_RING,
        .direct = true,
        .unread_most = options->unread_most > 0 ? options->unread_most : HW_STORE_UNREAD,
        .trust_fabric = options->trust_fabric,
        .failure_timeout = options->failure_timeout,
        .rate = options->rate,
    };
    const hw_net_events events = hw_client_listener_events(listener);
    return hw_net_new(&net, &events, &listener->net, error);
}

hawser_status hw_client_listener_open(hawser_store *store, const hw_client_listener_options *options,
                                      hw_client_listener **out, hawser_error *error)
{
    enum { LEAST_DESCRIPTORS = 32 };
    hw_client_listener *listener = NULL;
    HAWSER_TRY(hw_machine_descriptors(LEAST_DESCRIPTORS, "a server of tables needs", "all", error));
    hw_machine_most_descriptors(); /* the number of clients is not known */
    HAWSER_TRY(HW_NEW(&listener, 1, "a listener for clients", error));
    listener->store = store;
    listener->warn = options->warn;
    listener->argument = options->argument;
    listener->common.end = &listener->common.first;
    listener->local.end = &listener->local.first;
    pthread_mutex_init(&listener->mutex, NULL);
    (void)hw_thread_condition(&listener->common_filled);
    (void)hw_thread_condition(&listener->local_filled);
    hawser_status status = open_net(listener, options, error);
    if (status != HAWSER_OK) {
        hw_client_listener_free(listener);
        return status;
    }
    *out = listener;
    return HAWSER_OK;
}

const char *hw_client_listener_address(const hw_client_listener *listener)
{
    return hw_net_address(listener->net);
}

const char *hw_client_listener_listening(const hw_client_listener *listener)
{
    return hw_net_listening(listener->net);
}

hawser_status hw_client_listener_begin(hw_client_listener *listener, const char (*addresses)[HW_NET_ADDRESS],
                                       hawser_error *error)
{
    HAWSER_TRY(HW_NEW(&listener->addresses, listener->store->servers, "the servers' addresses", error));
    memcpy(listener->addresses, addresses, listener->store->servers * sizeof *listener->addresses);
    HAWSER_TRY(hw_control_start(listener, error));
    pthread_mutex_lock(&listener->mutex);
    listener->open = true;
    pthread_mutex_unlock(&listener->mutex);
    return HAWSER_OK;
}

void hw_client_listener_end(hw_client_listener *listener, const char *words)
{
    enum { GOODBYE_SECONDS = 5 };
    pthread_mutex_lock(&listener->mutex);
    listener->open = false;
    for (uint32_t b = 0; b < HW_CLIENT_BUCKETS; b++)
        for (const hw_remote_client *one = listener->clients[b]; one != NULL; one = one->next)
            if (!one->gone)
                hw_client_listener_send(listener, one->number, HW_CONTROL_ENDED, 0, HAWSER_PEER_LOST, words, strlen(words));
    listener->over = true;
    pthread_cond_signal(&listener->local_filled);
    pthread_mutex_unlock(&listener->mutex);
    hw_control_stop(listener);
    hw_net_stop(listener->net, GOODBYE_SECONDS);
}

void hw_client_listener_free(hw_client_listener *listener)
{
    if (listener == NULL)
        return;
    hw_net_free(listener->net);
    hw_messages_free(listener->common.first);
    hw_messages_free(listener->local.first);
    for (uint32_t b = 0; b < HW_CLIENT_BUCKETS; b++)
        for (hw_remote_client *one = listener->clients[b], *next; one != NULL; one = next) {
            next = one->next;
            free(one);
        }
    for (hw_group_connection *of = listener->groups, *next; of != NULL; of = next) {
        next = of->next;
        free(of);
    }
    pthread_cond_destroy(&listener->common_filled);
    pthread_cond_destroy(&listener->local_filled);
    pthread_mutex_destroy(&listener->mutex);
    free(listener->addresses);
    free(listener);
}
