/* hold.c - takes a table's stripes from the server's threads while another thread reads or changes all of them. */
#include <sched.h>

#include "runtime/store/hub.h"
#include "store/checkpoint.h"

static void take_stripes(hawser_store *store, uint32_t table)
{
    uint32_t held = 0;
    while (!hw_server_hold(store->server, table, &held))
        sched_yield(); /* no thread works on a stripe for long */
}

bool hw_store_hold(hawser_store *store, uint32_t table, bool changes)
{
    if (store->server == NULL)
        return true;
    uint32_t *holders = &store->holders[table];
    pthread_mutex_lock(&store->holding);
    bool may = *holders == 0 || (!changes && *holders != HW_HOLDER_CHANGES);
    if (may && *holders == 0)
        take_stripes(store, table);
    if (may)
        *holders = changes ? HW_HOLDER_CHANGES : *holders + 1;
    pthread_mutex_unlock(&store->holding);
    return may;
}

void hw_store_release(hawser_store *store, uint32_t table)
{
    if (store->server == NULL)
        return;
    uint32_t *holders = &store->holders[table];
    pthread_mutex_lock(&store->holding);
    *holders = *holders == HW_HOLDER_CHANGES ? 0 : *holders - 1;
    bool last = *holders == 0;
    pthread_mutex_unlock(&store->holding);
    if (last) /* a thread that takes them next waits until the queued work is done */
        hw_server_release(store->server, table);
}

void hw_store_hold_all(hawser_store *store, bool changes)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    for (uint32_t t = 0; t < hw_client_tables(store->client); t++)
        while (!hw_store_hold(store, t, changes))
            (void)nanosleep(&pause, NULL); /* another thread lists keys */
}

void hw_store_release_all(hawser_store *store)
{
    for (uint32_t t = 0; t < hw_client_tables(store->client); t++)
        hw_store_release(store, t);
}
