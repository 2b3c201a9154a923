#include "algorithms/solve/shared.h"

#include <stdlib.h>

hawser_status hw_linear_shared_new(hw_linear_shared **out, bool alone, hawser_error *error)
{
    hw_linear_shared *shared = *out = calloc(1, sizeof *shared);
    if (shared == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for data that blocks share");
    pthread_mutex_init(&shared->lock, NULL);
    shared->alone = alone;
    return HAWSER_OK;
}

void hw_linear_shared_free(hw_linear_shared *shared)
{
    if (shared == NULL)
        return;
    pthread_mutex_destroy(&shared->lock);
    hw_linear_gram_free(&shared->gram);
    hw_linear_hold(&shared->dual, NULL);
    free(shared->image);
    free(shared->mean);
    free(shared);
}

void hw_linear_shared_reset(hw_linear_shared *shared)
{
    shared->step = 0;
    hw_linear_hold(&shared->dual, NULL);
    if (shared->mean != NULL)
        hw_linear_gram_clear(&shared->gram);
}

static hawser_status allocate(hw_linear_shared *shared, size_t columns, hawser_error *error)
{
    if (shared->mean != NULL)
        return HAWSER_OK;
    HAWSER_TRY(hw_linear_gram_new(&shared->gram, columns, error));
    shared->mean = calloc(2 * columns + 1, sizeof(double));
    if (shared->mean == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the columns of a joint working set");
    shared->norm = shared->mean + columns;
    shared->columns = columns;
    return HAWSER_OK;
}

hawser_status hw_linear_shared_renew(hw_linear_shared *shared, size_t columns, hawser_error *error)
{
    hw_linear_gram_free(&shared->gram);
    free(shared->mean);
    shared->mean = shared->norm = NULL;
    return allocate(shared, columns, error);
}

hawser_status hw_linear_shared_enter(hw_linear_shared *shared, uint64_t step, size_t columns,
                                     hawser_status (*work)(void *argument, hawser_error *error), void *argument,
                                     hawser_error *error)
{
    pthread_mutex_lock(&shared->lock);
    bool first = shared->step < step;
    if (first) {
        shared->step = step;
        shared->taken = 0;
        shared->status = allocate(shared, columns, error);
        if (shared->status == HAWSER_OK)
            shared->status = work(argument, error);
    }
    hawser_status status = shared->status;
    pthread_mutex_unlock(&shared->lock);
    if (status != HAWSER_OK && !first)
        return hawser_fail(error, status, "another block has no memory for the joint working set");
    return status;
}

bool hw_linear_shared_take(hw_linear_shared *shared, size_t item)
{
    pthread_mutex_lock(&shared->lock);
    bool own = item >= shared->taken;
    shared->taken = own ? item + 1 : shared->taken;
    pthread_mutex_unlock(&shared->lock);
    return own;
}
