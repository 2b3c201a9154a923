/* worker_cache.c - get, inc and clock of a table's worker cache. Pulls and pushes are started under the cache's mutex, in
 * the order in which the cache requests them, and sent without it. */
#include <errno.h>
#include <stdlib.h>

#include "base/argument.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "codec/keys.h"
#include "runtime/store/hub.h"

/* The buffers of a pull that timed out, for which a reply may still arrive. */
typedef struct hw_abandoned_pull {
    struct hw_abandoned_pull *next;
    uint64_t *wanted;
    void *pulled;
} hw_abandoned_pull;

hawser_status hw_worker_cache_open(hawser_store *store, const hw_table_spec *spec, uint32_t number, hawser_error *error)
{
    if (atomic_load(&store->near[number]) != NULL)
        return HAWSER_OK;
    hw_worker_cache *near = NULL;
    HAWSER_TRY(HW_NEW(&near, 1, "a table's rows", error));
    near->spec = *spec;
    const hw_cache_options options = {&near->spec, store->options.workers, store->options.cache_bytes};
    hawser_status status = hw_cache_new(&options, &near->cache, error);
    if (status != HAWSER_OK) {
        free(near);
        return status;
    }
    pthread_mutex_init(&near->mutex, NULL);
    (void)hw_thread_condition(&near->changed);
    atomic_store(&store->near[number], near);
    return HAWSER_OK;
}

void hw_worker_cache_close(hawser_store *store)
{
    for (size_t t = 0; t < HW_TABLES_MOST; t++) {
        hw_worker_cache *near = atomic_load(&store->near[t]);
        if (near == NULL)
            continue;
        for (hw_abandoned_pull *orphan = near->orphans, *next; orphan != NULL; orphan = next) {
            next = orphan->next;
            free(orphan->wanted);
            free(orphan->pulled);
            free(orphan);
        }
        hw_cache_free(near->cache);
        for (uint32_t w = 0; near->ended != NULL && w < store->options.workers; w++)
            hw_range_clock_free(&near->ended[w]);
        free(near->ended);
        pthread_mutex_destroy(&near->mutex);
        pthread_cond_destroy(&near->changed);
        free(near);
    }
}

void hw_worker_cache_forget(hawser_store *store, uint32_t table)
{
    hw_worker_cache *near = atomic_load(&store->near[table]);
    pthread_mutex_lock(&near->mutex);
    hw_cache_forget(near->cache);
    pthread_mutex_unlock(&near->mutex);
}

hawser_status hw_worker_cache_clocked(hawser_store *store, uint32_t table, enum hw_clocked how, hawser_error *error)
{
    hw_worker_cache *near = table < HW_TABLES_MOST ? atomic_load(&store->near[table]) : NULL;
    if (near == NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "there is no table number %u", table);
    int was = HW_CLOCKED_NOT;
    if (atomic_compare_exchange_strong(&near->clocks, &was, how) || was == (int)how)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s': its clocks are advanced by %s, so %s", near->spec.name,
                       was == HW_CLOCKED_BY_CACHE ? "hawser_table_clock" : "hawser_store_clock",
                       was == HW_CLOCKED_BY_CACHE
                           ? "hawser_store_clock cannot advance them too"
                           : "hawser_table_get, hawser_table_inc and hawser_table_clock cannot be used");
}

/* Allocates the clocks of ranges. The mutex is held. */
static hawser_status make_clocks(const hawser_store *store, hw_worker_cache *near, hawser_error *error)
{
    if (near->ended != NULL)
        return HAWSER_OK;
    hw_range_clock *made = NULL;
    hawser_status status = HW_NEW(&made, store->options.workers, "the clocks of a table", error);
    for (uint32_t w = 0; status == HAWSER_OK && w < store->options.workers; w++)
        status = hw_range_clock_new(near->spec.first, near->spec.last, &made[w], error);
    if (status == HAWSER_OK) {
        near->ended = made;
        return HAWSER_OK;
    }
    for (uint32_t w = 0; made != NULL && w < store->options.workers; w++)
        hw_range_clock_free(&made[w]);
    free(made);
    return status;
}

/* Returns whether the keys are within the table; the client reports what is wrong with them. */
static bool fits(const hw_worker_cache *near, const hw_order *order)
{
    return order->first <= order->last && order->first >= near->spec.first && order->last <= near->spec.last;
}

static hawser_status check_forward(const hw_worker_cache *near, const hw_range_clock *clock, const hw_order *order,
                                   uint32_t worker, hawser_error *error)
{
    for (uint64_t key = order->first, last;; key = last + 1) {
        uint64_t ended = hw_range_clock_from(clock, key, &last);
        if (ended > order->clock + 1)
            return hawser_fail(
                error, HAWSER_BAD_ARGUMENT,
                "table '%s': worker %u has ended clock %llu on key %llu, so it cannot end clock %llu there: clocks "
                "only go on",
                near->spec.name, worker, (unsigned long long)ended - 1, (unsigned long long)key,
                (unsigned long long)order->clock);
        if (last >= order->last)
            return HAWSER_OK;
    }
}

hawser_status hw_worker_cache_check_clock(hawser_store *store, uint32_t worker, const hw_order *order, hawser_error *error)
{
    hw_worker_cache *near = atomic_load(&store->near[order->table]);
    if (!fits(near, order) || order->clock == UINT64_MAX)
        return HAWSER_OK;
    pthread_mutex_lock(&near->mutex);
    hawser_status status = make_clocks(store, near, error);
    HAWSER_THEN(status, check_forward(near, &near->ended[worker], order, worker, error));
    pthread_mutex_unlock(&near->mutex);
    return status;
}

hawser_status hw_worker_cache_record_clock(hawser_store *store, uint32_t worker, const hw_order *order, hawser_error *error)
{
    hw_worker_cache *near = atomic_load(&store->near[order->table]);
    pthread_mutex_lock(&near->mutex);
    hawser_status status = hw_range_clock_advance(&near->ended[worker], order->first, order->last, order->clock + 1, error);
    pthread_mutex_unlock(&near->mutex);
    return status;
}

void hw_worker_cache_figures(hawser_store *store, hawser_store_figures *figures)
{
    for (size_t t = 0; t < HW_TABLES_MOST; t++) {
        hw_worker_cache *near = atomic_load(&store->near[t]);
        if (near == NULL)
            continue;
        hw_cache_figures own;
        pthread_mutex_lock(&near->mutex);
        hw_cache_figures_of(near->cache, &own);
        pthread_mutex_unlock(&near->mutex);
        figures->rows_cached += own.hits + own.shared;
        figures->rows_pulled += own.misses;
        figures->rows_evicted += own.evicted;
        figures->cache_bytes += own.bytes;
    }
}

/* Finds the cache of the table of a call, and checks the call's worker. */
static hawser_status near_of(hawser_store *store, uint32_t table, uint32_t worker, hw_worker_cache **near,
                             hawser_error *error)
{
    if (worker >= store->options.workers)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "there is no worker %u on a node: the store was opened with %u",
                           worker, store->options.workers);
    HAWSER_TRY(hw_worker_cache_clocked(store, table, HW_CLOCKED_BY_CACHE, error));
    *near = atomic_load(&store->near[table]);
    if ((*near)->spec.centric)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s' is data-centric: it is pulled and pushed, not kept near",
                           (*near)->spec.name);
    return HAWSER_OK;
}

static hawser_status check_keys(const hw_table_spec *spec, const uint64_t *keys, size_t count, hawser_error *error)
{
    if (count > UINT32_MAX || (count > 0 && !hw_keys_ascend(keys, count)))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "table '%s': keys must be ascending, each once, at most 2^32 - 1 of them", spec->name);
    if (count == 0)
        return HAWSER_OK;
    if (keys[0] < spec->first || keys[count - 1] > spec->last)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s': keys %llu to %llu are not within %llu to %llu",
                           spec->name, (unsigned long long)keys[0], (unsigned long long)keys[count - 1],
                           (unsigned long long)spec->first, (unsigned long long)spec->last);
    return HAWSER_OK;
}

/* -------------------------------------------------------------------------------------------- increments and clocks ---- */

static void pushed(void *user, uint64_t task, hawser_status status)
{
    (void)task;
    (void)status; /* hawser_store_wait_all reports the status */
    hw_flushed *flushed = user;
    free(flushed->keys);
    free(flushed->values);
    free(flushed);
}

/* Waits until a pull of another worker has ended, however it ended. The lock is held. */
static hawser_status await_change(hawser_store *store, hw_worker_cache *near, hawser_error *error)
{
    double deadline = hw_hub_deadline(store);
    while (hw_seconds() < deadline) {
        const hawser_cancellation *cancellation = hw_hub_cancellation(store);
        const struct timespec until = hw_timespec(hw_cancellation_slice(cancellation, deadline));
        HAWSER_TRY(hw_hub_check(store, error));
        if (pthread_cond_timedwait(&near->changed, &near->mutex, &until) != ETIMEDOUT)
            return HAWSER_OK;
    }
    return hawser_fail(error, HAWSER_TIMEOUT,
                       "table '%s': rows that another worker of this node has requested have not arrived for %.3g s",
                       near->spec.name, store->options.timeout);
}

/* Flushes a worker's increments. The lock is held. */
static hawser_status flush(hawser_store *store, hw_worker_cache *near, uint32_t table, uint32_t worker, hawser_error *error)
{
    while (!hw_cache_may_flush(near->cache))
        HAWSER_TRY(await_change(store, near, error));
    hw_flushed *flushed = NULL;
    hw_completion *completion = NULL;
    uint64_t task;
    HAWSER_TRY(HW_NEW(&flushed, 1, "increments", error));
    hawser_status status = HW_NEW(&completion, 1, "increments", error);
    HAWSER_THEN(status, hw_cache_flush(near->cache, worker, flushed, error));
    bool any = status == HAWSER_OK && flushed->count > 0;
    if (any) {
        *completion = (hw_completion){.done = pushed, .user = flushed};
        const hw_order order = {.operation = HW_PUSH,
                                .table = table,
                                .keys = flushed->keys,
                                .count = flushed->count,
                                .values = flushed->values,
                                .worker = hw_hub_worker(store, worker),
                                .clock = hw_cache_clock(near->cache, worker),
                                .tag = completion};
        status = hw_ask_begin(store, &order, &task, error);
    }
    if (!any || status != HAWSER_OK) {
        free(completion);
        pushed(flushed, 0, status);
    }
    return status;
}

hawser_status hawser_table_inc(hawser_store *store, uint32_t table, uint32_t worker, const uint64_t *keys, size_t count,
                               const void *values, hawser_error *error)
{
    HW_GIVEN_STORE(store);
    HW_GIVEN(keys);
    HW_GIVEN(values);
    hw_worker_cache *near = NULL;
    bool early = false;
    HAWSER_TRY(near_of(store, table, worker, &near, error));
    const hw_table_spec *spec = &near->spec;
    HAWSER_TRY(check_keys(spec, keys, count, error));
    if (count == 0)
        return HAWSER_OK;
    size_t bad = hw_values_not_finite(spec->type, values, count * spec->width);
    if (bad < count * spec->width)
        return hawser_fail(error, HAWSER_NOT_FINITE, "table '%s': what is added to key %llu is not finite", spec->name,
                           (unsigned long long)keys[bad / spec->width]);
    pthread_mutex_lock(&near->mutex);
    hawser_status status = hw_cache_inc(near->cache, worker, keys, count, values, &early, error);
    if (early && (status == HAWSER_OK || status == HAWSER_NOT_FINITE)) {
        hawser_status flushed = flush(store, near, table, worker, status == HAWSER_OK ? error : NULL);
        status = status == HAWSER_OK ? flushed : status;
    }
    pthread_mutex_unlock(&near->mutex);
    if (early)
        hw_ask_go(store);
    return hw_ask_completion(store, status, error);
}

hawser_status hawser_table_clock(hawser_store *store, uint32_t table, uint32_t worker, hawser_error *error)
{
    HW_GIVEN_STORE(store);
    hw_worker_cache *near = NULL;
    HAWSER_TRY(near_of(store, table, worker, &near, error));
    pthread_mutex_lock(&near->mutex);
    hawser_status status = flush(store, near, table, worker, error);
    if (status == HAWSER_OK) {
        uint64_t task;
        const hw_order order = {.operation = HW_CLOCK,
                                .table = table,
                                .worker = hw_hub_worker(store, worker),
                                .clock = hw_cache_clock(near->cache, worker),
                                .first = near->spec.first,
                                .last = near->spec.last};
        status = hw_ask_begin(store, &order, &task, error);
    }
    if (status == HAWSER_OK)
        hw_cache_tick(near->cache, worker);
    pthread_mutex_unlock(&near->mutex);
    hw_ask_go(store);
    return hw_ask_completion(store, status, error);
}

/* ---------------------------------------------------------------------------------------------------------- reading ---- */

/* Keeps the buffers of a pull that timed out, or was cancelled, until the store is closed, because a reply may still write
 * to them. Without memory to record them they are never freed. */
static void abandon(hw_worker_cache *near, hw_cache_reading *reading)
{
    hw_abandoned_pull *orphan = malloc(sizeof *orphan);
    if (orphan != NULL) {
        *orphan = (hw_abandoned_pull){near->orphans, reading->wanted, reading->pulled};
        near->orphans = orphan;
    }
    reading->wanted = NULL;
    reading->pulled = NULL;
}

/* Pulls the rows that a reading lacks. The lock is held, but not during waits. */
static hawser_status pull(hawser_store *store, hw_worker_cache *near, uint32_t table, hw_cache_reading *reading,
                          hawser_error *error)
{
    for (bool whole = false; !whole;) {
        uint64_t task = 0;
        const hw_order order = {.operation = HW_PULL,
                                .table = table,
                                .keys = reading->wanted,
                                .count = reading->wanted_count,
                                .out = reading->pulled,
                                .least = reading->least,
                                .oldest = reading->oldest};
        HAWSER_TRY(hw_ask_begin(store, &order, &task, error));
        pthread_mutex_unlock(&near->mutex);
        hw_ask_go(store);
        hawser_status status = hawser_store_wait(store, task, error);
        pthread_mutex_lock(&near->mutex);
        if (status == HAWSER_TIMEOUT || status == HAWSER_STOP)
            abandon(near, reading);
        HAWSER_TRY(status);
        whole = hw_cache_pulled(near->cache, reading);
    }
    pthread_cond_broadcast(&near->changed);
    return HAWSER_OK;
}

hawser_status hawser_table_get(hawser_store *store, uint32_t table, uint32_t worker, const uint64_t *keys, size_t count,
                               void *out, hawser_error *error)
{
    HW_GIVEN_STORE(store);
    HW_GIVEN(keys);
    HW_GIVEN(out);
    hw_worker_cache *near = NULL;
    HAWSER_TRY(near_of(store, table, worker, &near, error));
    HAWSER_TRY(check_keys(&near->spec, keys, count, error));
    if (count == 0)
        return HAWSER_OK;
    hw_cache_reading reading = {.worker = worker, .keys = keys, .count = count, .out = out};
    hw_cache_reading_state state = HW_READING_WAIT;
    pthread_mutex_lock(&near->mutex);
    hawser_status status = hw_cache_read(near->cache, &reading, &state, error);
    while (status == HAWSER_OK && state != HW_READING_DONE) {
        if (state == HW_READING_PULL)
            status = pull(store, near, table, &reading, error);
        else
            status = await_change(store, near, error);
        HAWSER_THEN(status, hw_cache_read(near->cache, &reading, &state, error));
    }
    if (status == HAWSER_OK && reading.overflow.any)
        status = hawser_fail(error, HAWSER_NOT_FINITE,
                             "table '%s': key %llu overflows: it would be infinite with this worker's own increments",
                             near->spec.name, (unsigned long long)reading.overflow.key);
    hw_cache_reading_end(near->cache, &reading);
    if (status != HAWSER_OK)
        pthread_cond_broadcast(&near->changed);
    pthread_mutex_unlock(&near->mutex);
    return hw_ask_completion(store, status, error);
}
