#include "transport/pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/memory.h"

/* LEAST: smallest payload that is kept, in bytes. LARGE: larger payloads use the second free list, so that small ones do not
 * displace them. BLOCKS: length of a free list. */
enum { LEAST = 8 << 10, LARGE = 128 << 10, BLOCKS = 64 };

/* The last freed block is first. */
typedef struct free_list {
    hw_block *first;
    size_t count;
} free_list;

struct hw_pool {
    atomic_uint holders; /* the owner and every block in use */
    pthread_mutex_t mutex;
    free_list kept[2]; /* by size: small and large */
    size_t bytes, most;
    bool closed;
};

hawser_status hw_pool_new(hw_pool **out, hawser_error *error)
{
    *out = NULL;
    hw_pool *made = NULL;
    HAWSER_TRY(HW_NEW(&made, 1, "a pool of buffers", error));
    if (pthread_mutex_init(&made->mutex, NULL) != 0) {
        free(made);
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot make a mutex");
    }
    atomic_init(&made->holders, 1);
    made->most = HW_POOL_KEPT;
    *out = made;
    return HAWSER_OK;
}

void hw_pool_keep(hw_pool *pool, size_t most)
{
    pool->most = most;
}

static free_list *free_list_of(hw_pool *pool, size_t length)
{
    return &pool->kept[length >= LARGE];
}

static void free_all(hw_block *block)
{
    while (block != NULL) {
        hw_block *next = block->next;
        free(block);
        block = next;
    }
}

static void drop_holder(hw_pool *pool)
{
    if (atomic_fetch_sub_explicit(&pool->holders, 1, memory_order_acq_rel) > 1)
        return;
    pthread_mutex_destroy(&pool->mutex);
    free(pool);
}

void hw_pool_free(hw_pool *pool)
{
    if (pool == NULL)
        return;
    pthread_mutex_lock(&pool->mutex);
    pool->closed = true;
    free_list small = pool->kept[0], large = pool->kept[1];
    pool->kept[0] = pool->kept[1] = (free_list){NULL, 0};
    pthread_mutex_unlock(&pool->mutex);
    free_all(small.first);
    free_all(large.first);
    drop_holder(pool);
}

/* Returns a block that is large enough and not much too large, or NULL. */
static hw_block *find(hw_pool *pool, size_t length)
{
    free_list *own = free_list_of(pool, length);
    hw_block **place = &own->first;
    while (*place != NULL && ((*place)->capacity < length || (*place)->capacity / 2 > length))
        place = &(*place)->next;
    hw_block *found = *place;
    if (found != NULL) {
        *place = found->next;
        pool->bytes -= found->capacity;
        own->count--;
    }
    return found;
}

hawser_status hw_pool_message(hw_pool *pool, size_t length, hw_message **message, hawser_error *error)
{
    if (length < LEAST)
        return hw_message_new(length, message, error);
    pthread_mutex_lock(&pool->mutex);
    hw_block *block = find(pool, length);
    pthread_mutex_unlock(&pool->mutex);
    hawser_status status = hw_message_new(block == NULL ? length : 0, message, error);
    if (status != HAWSER_OK) {
        free(block);
        return status;
    }
    if (block != NULL) {
        atomic_store_explicit(&block->references, 1, memory_order_relaxed);
        (*message)->shared = &block->references;
        (*message)->payload = (unsigned char *)block + HW_ALIGNMENT;
        (*message)->envelope.length = length;
    }
    block = (hw_block *)(void *)(*message)->shared;
    block->pool = pool;
    atomic_fetch_add_explicit(&pool->holders, 1, memory_order_relaxed);
    return HAWSER_OK;
}

void hw_pool_give(hw_block *block)
{
    hw_pool *pool = block->pool;
    hw_block *dropped = block;
    pthread_mutex_lock(&pool->mutex);
    free_list *own = free_list_of(pool, block->capacity);
    if (!pool->closed && own->count < BLOCKS && pool->bytes + block->capacity <= pool->most) {
        block->next = own->first;
        own->first = block;
        pool->bytes += block->capacity;
        own->count++;
        dropped = NULL;
    }
    pthread_mutex_unlock(&pool->mutex);
    free(dropped);
    drop_holder(pool);
}
