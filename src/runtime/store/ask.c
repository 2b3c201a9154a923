/* ask.c - the user's view of tasks: starts, waits for and counts them. */
#include <stdlib.h>
#include <time.h>

#include "base/argument.h"
#include "base/clock.h"
#include "base/thread.h"
#include "runtime/store/asking.h"
#include "runtime/store/hub.h"

hawser_status hw_ask_begin(hawser_store *store, const hw_order *order, uint64_t *task, hawser_error *error)
{
    pthread_mutex_lock(&store->mutex);
    hawser_status status = store->over ? hawser_fail(error, store->why.status, "%s", store->why.text)
                                       : hw_client_submit(store->client, order, task, error);
    pthread_mutex_unlock(&store->mutex);
    return status;
}

void hw_ask_go(hawser_store *store)
{
    pthread_mutex_lock(&store->mutex);
    hw_hub_unlock(store);
}

hawser_status hw_ask_completion(const hawser_store *store, hawser_status status, hawser_error *error)
{
    if (status == HAWSER_PEER_LOST && error != NULL && store->remote == NULL && store->job->cluster != NULL)
        hw_cluster_name_lost(store->job->cluster, error);
    return status;
}

static hawser_status submit(hawser_store *store, hw_order *order, const hawser_request *request, uint64_t *task,
                            hawser_error *error)
{
    if (request->worker >= store->options.workers)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "there is no worker %u on a node: the store was opened with %u",
                           request->worker, store->options.workers);
    if (request->after == NULL && request->after_count > 0)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "the request waits for %zu tasks, but `after` is NULL",
                           request->after_count);
    bool queued = store->options.queue && order->operation != HW_CLOCK; /* the user has no number of a clock */
    if (request->done != NULL || queued) {
        hw_completion *completion = malloc(sizeof *completion);
        if (completion == NULL)
            return hawser_fail(error, HAWSER_NO_MEMORY, "cannot allocate a task");
        *completion = (hw_completion){.queued = queued, .done = request->done, .user = request->user};
        order->tag = completion;
    }
    hawser_status status = hw_ask_begin(store, order, task, error);
    hw_ask_go(store);
    if (status != HAWSER_OK)
        free(order->tag);
    return hw_ask_completion(store, status, error);
}

/* Sets the last key of a request for a range, which has a count of keys, a last key, or both. */
static hawser_status end_of(const hawser_request *request, uint64_t *last, hawser_error *error)
{
    *last = request->last;
    if (request->keys != NULL || request->count == 0)
        return HAWSER_OK;
    *last = request->first + (request->count - 1);
    if (*last < request->first || (request->last != 0 && request->last != *last))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "a request for %zu keys from %llu on, and up to key %llu: leave `last` out, or set both alike",
                           request->count, (unsigned long long)request->first, (unsigned long long)request->last);
    return HAWSER_OK;
}

static hw_order order_of(const hawser_store *store, const hawser_request *request, hw_operation operation, uint64_t last)
{
    return (hw_order){
        .operation = operation,
        .table = request->table,
        .keys = request->keys,
        .count = request->count,
        .first = request->first,
        .last = last,
        .values = operation == HW_PULL ? NULL : request->values,
        .out = operation == HW_PUSH ? NULL : request->out,
        .least = operation == HW_PUSH ? 0 : request->least,
        .oldest = request->oldest,
        .worker = hw_hub_worker(store, request->worker),
        .clock = request->iteration,
        .reread = request->reread,
        .after = request->after,
        .after_count = request->after_count,
    };
}

static hawser_status begin(hawser_store *store, const hawser_request *request, hw_operation operation, uint64_t *task,
                           hawser_error *error)
{
    uint64_t last;
    HAWSER_TRY(end_of(request, &last, error));
    hw_order order = order_of(store, request, operation, last);
    return submit(store, &order, request, task, error);
}

hawser_status hawser_push(hawser_store *store, const hawser_request *request, uint64_t *task, hawser_error *error)
{
    HW_GIVEN_STORE(store);
    HW_GIVEN(request);
    HW_GIVEN(task);
    return begin(store, request, HW_PUSH, task, error);
}

hawser_status hawser_pull(hawser_store *store, const hawser_request *request, uint64_t *task, hawser_error *error)
{
    HW_GIVEN_STORE(store);
    HW_GIVEN(request);
    HW_GIVEN(task);
    return begin(store, request, HW_PULL, task, error);
}

hawser_status hawser_push_pull(hawser_store *store, const hawser_request *request, uint64_t *task, hawser_error *error)
{
    HW_GIVEN_STORE(store);
    HW_GIVEN(request);
    HW_GIVEN(task);
    return begin(store, request, HW_PUSH_PULL, task, error);
}

hawser_status hw_store_put_task(hawser_store *store, const hawser_request *request, uint64_t *task, hawser_error *error)
{
    return begin(store, request, HW_PUT, task, error);
}

hawser_status hw_store_memory_task(hawser_store *store, const hawser_request *request, uint64_t *task, hawser_error *error)
{
    return begin(store, request, request->out != NULL ? HW_PULL_MEMORY : HW_PUT_MEMORY, task, error);
}

hawser_status hawser_store_flush(hawser_store *store, uint32_t table, uint64_t *task, hawser_error *error)
{
    HW_GIVEN_STORE(store);
    HW_GIVEN(task);
    hw_order order = {.operation = HW_PUSH, .table = table, .rest = true, .worker = hw_hub_worker(store, 0)};
    return submit(store, &order, &(hawser_request){0}, task, error);
}

hawser_status hawser_store_clock(hawser_store *store, uint32_t table, uint32_t worker, uint64_t clock, uint64_t first,
                                 uint64_t last, hawser_error *error)
{
    HW_GIVEN_STORE(store);
    uint64_t task = 0;
    if (worker >= store->options.workers)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "there is no worker %u on a node: the store was opened with %u",
                           worker, store->options.workers);
    HAWSER_TRY(hw_worker_cache_clocked(store, table, HW_CLOCKED_BY_HAND, error));
    hw_order order = {.operation = HW_CLOCK,
                      .table = table,
                      .worker = hw_hub_worker(store, worker),
                      .clock = clock,
                      .first = first,
                      .last = last};
    HAWSER_TRY(hw_worker_cache_check_clock(store, worker, &order, error));
    HAWSER_TRY(submit(store, &order, &(hawser_request){.worker = worker}, &task, error));
    return hw_worker_cache_record_clock(store, worker, &order, error);
}

/* ---------------------------------------------------------------------------------------------------------- waiting ---- */

bool hw_hub_is_over(const hawser_store *store, hw_waiter *w)
{
    for (w->which = 0; w->which < w->count; w->which++)
        if (w->tasks[w->which] != 0 && hw_client_ended(store->client, w->tasks[w->which]))
            return true;
    return w->count == 0 && hw_client_open(store->client) == 0;
}

double hw_hub_deadline(const hawser_store *store)
{
    return hw_seconds() + store->options.timeout;
}

const hawser_cancellation *hw_hub_cancellation(const hawser_store *store)
{
    return atomic_load(&store->job->waits);
}

/* Polls before it sleeps, because many replies arrive sooner than a sleep ends. An unsuccessful poll makes the next ones
 * rarer: the server may have needed this processor. The mutex is held, but not during the poll. */
static void look_out(hawser_store *store, hw_waiter *w)
{
    enum { PAUSES = 32, PENALTY_MOST = 1024 };
    const double spin_time = 50e-6;
    if (store->unlooked > 0) {
        store->unlooked--;
        return;
    }
    pthread_mutex_unlock(&store->mutex);
    double until = hw_seconds() + spin_time;
    while (!atomic_load_explicit(&w->over, memory_order_acquire) && hw_seconds() < until)
        for (int i = 0; i < PAUSES; i++)
            hw_thread_pause();
    pthread_mutex_lock(&store->mutex);
    if (hw_hub_is_over(store, w)) {
        store->penalty = 1;
        return;
    }
    store->unlooked = store->penalty;
    store->penalty = store->penalty < PENALTY_MOST ? 2 * store->penalty : PENALTY_MOST;
}

static void sleep_until(hawser_store *store, hw_waiter *w, double deadline)
{
    w->next = store->waiters;
    store->waiters = w;
    if (store->looks)
        look_out(store, w);
    w->asleep = true;
    const hawser_cancellation *cancellation = hw_hub_cancellation(store);
    while (!hw_hub_is_over(store, w) && !hw_cancelled(cancellation) && hw_seconds() < deadline) {
        const struct timespec until = hw_timespec(hw_cancellation_slice(cancellation, deadline));
        (void)pthread_cond_timedwait(&w->ended, &store->mutex, &until);
    }
    hw_waiter **place = &store->waiters;
    while (*place != w)
        place = &(*place)->next;
    *place = w->next;
}

hawser_status hw_hub_check(const hawser_store *store, hawser_error *error)
{
    return hw_cancelled(hw_hub_cancellation(store)) ? hawser_fail(error, HAWSER_STOP, "a wait for the store was cancelled")
                                                    : HAWSER_OK;
}

/* Waits for a waiter's tasks. The mutex is held. */
static hawser_status wait_for(hawser_store *store, hw_waiter *w, hawser_error *error)
{
    HAWSER_TRY(hw_hub_check(store, error));
    if (hw_hub_is_over(store, w))
        return HAWSER_OK;
    (void)hw_thread_condition(&w->ended);
    sleep_until(store, w, hw_hub_deadline(store));
    pthread_cond_destroy(&w->ended);
    if (hw_hub_is_over(store, w))
        return HAWSER_OK;
    if (hw_cancelled(hw_hub_cancellation(store)))
        return hawser_fail(error, HAWSER_STOP, "a wait for the store was cancelled: %zu tasks are open",
                           hw_client_open(store->client));
    return hawser_fail(error, HAWSER_TIMEOUT, "the store has not answered for %.3g s: %zu tasks are open",
                       store->options.timeout, hw_client_open(store->client));
}

hawser_status hw_ask_failure(hawser_store *store, uint64_t task, hawser_error *error)
{
    for (size_t i = 0; i < store->failure_count; i++) {
        if (task != 0 && store->failures[i].task != task)
            continue;
        hawser_error found = store->failures[i].error;
        store->failures[i] = store->failures[--store->failure_count];
        return hawser_fail(error, found.status, "%s", found.text);
    }
    if (store->unreported.status != HAWSER_OK)
        return hawser_fail(error, store->unreported.status, "a task failed: %.900s", store->unreported.text);
    return HAWSER_OK;
}

/* A wait for a task that was never started means that the caller has lost its number. */
static hawser_status check_begun(const hawser_store *store, const uint64_t *tasks, size_t count, hawser_error *error)
{
    for (size_t i = 0; i < count; i++)
        if (tasks[i] > hw_client_newest(store->client))
            return hw_client_no_task(store->client, tasks[i], error);
    return HAWSER_OK;
}

hawser_status hawser_store_wait_any(hawser_store *store, uint64_t *tasks, size_t count, size_t *which, hawser_error *error)
{
    HW_GIVEN_STORE(store);
    HW_GIVEN(tasks);
    HW_GIVEN(which);
    size_t open = 0;
    for (size_t i = 0; i < count; i++)
        open += tasks[i] != 0;
    if (open == 0)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "there is no task to wait for");
    hw_waiter w = {.tasks = tasks, .count = count};
    pthread_mutex_lock(&store->mutex);
    hawser_status status = check_begun(store, tasks, count, error);
    HAWSER_THEN(status, wait_for(store, &w, error));
    if (status == HAWSER_OK) {
        status = hw_ask_failure(store, tasks[w.which], error);
        *which = w.which;
        tasks[w.which] = 0;
    }
    hw_hub_unlock(store);
    return hw_ask_completion(store, status, error);
}

hawser_status hawser_store_wait(hawser_store *store, uint64_t task, hawser_error *error)
{
    HW_GIVEN_STORE(store);
    size_t which;
    return hawser_store_wait_any(store, &task, 1, &which, error);
}

hawser_status hawser_store_wait_all(hawser_store *store, hawser_error *error)
{
    HW_GIVEN_STORE(store);
    hw_waiter w = {0};
    pthread_mutex_lock(&store->mutex);
    hawser_status status = wait_for(store, &w, error);
    HAWSER_THEN(status, hw_ask_failure(store, 0, error));
    hw_hub_unlock(store);
    return hw_ask_completion(store, status, error);
}

hawser_status hawser_store_barrier(hawser_store *store, hawser_error *error)
{
    HW_GIVEN_STORE(store);
    hawser_error own = {0};
    hawser_status status = hawser_store_wait_all(store, &own);
    HAWSER_THEN(status, hw_store_received(store, &own));
    hw_job_cancellable(store->job, NULL);
    hawser_status all = hw_cluster_agree(store->job->cluster, status, &own);
    /* A clock gets no reply. Each server has it when nothing is on its way any more, and says so in the second meeting. */
    if (store->remote == NULL) {
        HAWSER_THEN(all, hw_cluster_drain(store->job->cluster, &own));
        HAWSER_THEN(all, hw_cluster_agree(store->job->cluster, HAWSER_OK, &own));
    }
    all = hw_job_uncancellable(store->job, all);
    if (all < HAWSER_OK && error != NULL)
        *error = own;
    return all == HAWSER_OK ? status : all;
}

void hawser_store_figures_of(hawser_store *store, hawser_store_figures *figures)
{
    if (figures == NULL)
        return;
    *figures = (hawser_store_figures){0};
    if (store == NULL || !hw_is_origin(&store->job->origin))
        return;
    pthread_mutex_lock(&store->mutex);
    const hw_client_figures *asked = hw_client_figures_of(store->client);
    *figures = (hawser_store_figures){
        .tasks = asked->tasks,
        .messages = asked->traffic.messages,
        .bytes_sent = asked->traffic.bytes_sent,
        .bytes_received = asked->traffic.bytes_received,
        .bytes_plain = asked->traffic.bytes_plain,
        .rows_held = asked->rows_held,
        .lists_known = asked->lists_known,
        .lists_resent = asked->lists_resent,
    };
    pthread_mutex_unlock(&store->mutex);
    hw_worker_cache_figures(store, figures);
    if (store->server == NULL)
        return;
    hw_server_figures served;
    hw_server_figures_of(store->server, &served);
    figures->served_requests = served.requests;
    figures->served_refused = served.refused;
    figures->served_deferred = served.deferred;
    figures->keys = served.keys;
    figures->bytes = served.bytes;
    figures->clock_ranges = served.clock_ranges;
}
