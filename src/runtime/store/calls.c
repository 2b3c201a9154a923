/* calls.c - the places at which the watchdog sees a store's calls of the user's functions, on any thread. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "runtime/store/hub.h"

enum { PLACES = 32 };

hawser_status hw_hub_calls_open(hawser_store *store, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(&store->calls, PLACES, "the watched calls of a store", error));
    for (int i = 0; i < PLACES; i++)
        store->calls[i].block = UINT32_MAX;
    for (int i = 0; i < PLACES; i++)
        HAWSER_TRY(hw_watch_add(store->job->fibers ? NULL : store->job->watchdog, &store->calls[i], error));
    return HAWSER_OK;
}

void hw_hub_calls_close(hawser_store *store)
{
    for (int i = 0; store->calls != NULL && i < PLACES; i++)
        hw_watch_remove(store->job->watchdog, &store->calls[i]);
    free(store->calls);
    store->calls = NULL;
}

hw_call_place *hw_hub_call_begin(const hawser_store *store, const char *kind, const char *name, const char *table)
{
    uint64_t now = (uint64_t)(hw_seconds() * 1e9);
    for (int i = 0; store->calls != NULL && i < PLACES; i++) {
        hw_call_place *place = &store->calls[i];
        uint64_t none = 0;
        if (!atomic_compare_exchange_strong_explicit(&place->since, &none, now, memory_order_acq_rel, memory_order_relaxed))
            continue;
        atomic_store_explicit(&place->kind, kind, memory_order_relaxed);
        atomic_store_explicit(&place->name, name, memory_order_relaxed);
        atomic_store_explicit(&place->table, table, memory_order_relaxed);
        return place;
    }
    return NULL;
}

void hw_hub_call_end(hw_call_place *place)
{
    if (place != NULL)
        atomic_store_explicit(&place->since, 0, memory_order_release);
}
