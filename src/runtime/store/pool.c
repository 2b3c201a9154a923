/* pool.c - the threads of a server: they take stripes in the order in which these got work. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/thread.h"
#include "runtime/store/hub.h"

static void *work(void *argument)
{
    hw_stripe_pool *pool = argument;
    pthread_mutex_lock(&pool->mutex);
    for (;;) {
        while (pool->count == 0 && !pool->ended)
            pthread_cond_wait(&pool->filled, &pool->mutex);
        if (pool->count == 0)
            break;
        hw_stripe *stripe = pool->ring[pool->first];
        pool->first = (pool->first + 1) % pool->capacity;
        pool->count--;
        pthread_mutex_unlock(&pool->mutex);
        hw_stripe_work(stripe);
        pthread_mutex_lock(&pool->mutex);
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

hawser_status hw_stripe_pool_start(hw_stripe_pool *pool, uint32_t threads, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(&pool->threads, threads, "the threads of a server", error));
    while (pool->started < threads) {
        int failure = hw_thread_start(&pool->threads[pool->started], work, pool);
        if (failure != 0)
            return hawser_fail(error, HAWSER_NO_MEMORY, "cannot start thread %u of %u of a server: %s", pool->started + 1,
                               threads, strerror(failure));
        pool->started++;
    }
    return HAWSER_OK;
}

hawser_status hw_stripe_pool_reserve(hw_stripe_pool *pool, size_t stripes, hawser_error *error)
{
    hw_stripe **ring = NULL;
    HAWSER_TRY(HW_NEW(&ring, pool->capacity + stripes, "the work of a server", error));
    pthread_mutex_lock(&pool->mutex);
    for (size_t i = 0; i < pool->count; i++)
        ring[i] = pool->ring[(pool->first + i) % pool->capacity];
    free(pool->ring);
    pool->ring = ring;
    pool->capacity += stripes;
    pool->first = 0;
    pthread_mutex_unlock(&pool->mutex);
    return HAWSER_OK;
}

void hw_stripe_pool_put(hw_stripe_pool *pool, hw_stripe *stripe)
{
    pthread_mutex_lock(&pool->mutex);
    pool->ring[(pool->first + pool->count++) % pool->capacity] = stripe;
    pthread_cond_signal(&pool->filled);
    pthread_mutex_unlock(&pool->mutex);
}

void hw_stripe_pool_stop(hw_stripe_pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    pool->ended = true;
    pthread_cond_broadcast(&pool->filled);
    pthread_mutex_unlock(&pool->mutex);
    for (uint32_t i = 0; i < pool->started; i++)
        pthread_join(pool->threads[i], NULL);
    free(pool->threads);
    free(pool->ring);
    pool->threads = NULL;
    pool->ring = NULL;
    pool->started = 0;
}
