/* adding_blocks.h - blocks that solve a problem together without a runtime. Each runs on a thread of its own, and
 * hw_linear_part adds up their numbers in the order of blocks. For test files that begin with cmocka's includes. */
#ifndef HW_TESTS_UNIT_ADDING_BLOCKS_H
#define HW_TESTS_UNIT_ADDING_BLOCKS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/solve/part.h"

enum { MOST_ADDING = 8 };

typedef struct adding_group {
    uint32_t blocks;
    size_t stop_after; /* a request to stop comes with that sum; 0: none */
    size_t sums;       /* so far */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint32_t arrived, ended;
    double *values[MOST_ADDING], *total;
    size_t counts[MOST_ADDING];
    bool unequal; /* blocks did not make the same sums */
} adding_group;

typedef struct adding_block {
    adding_group *group;
    uint32_t number;
    bool stopping; /* agreed at its last sum */
    void (*run)(struct adding_block *block);
    void *argument;
} adding_block;

static inline bool adding_stops(void *source)
{
    return ((const adding_block *)source)->stopping;
}

static inline void adding_complete(adding_group *group)
{
    size_t count = group->counts[0];
    free(group->total);
    group->total = calloc(count + 1, sizeof *group->total);
    for (uint32_t b = 0; b < group->blocks; b++) {
        group->unequal = group->unequal || group->counts[b] != count;
        for (size_t i = 0; !group->unequal && i < count; i++)
            group->total[i] += group->values[b][i];
    }
    group->arrived = 0;
    group->sums++;
    pthread_cond_broadcast(&group->changed);
}

static inline hawser_status adding_add(void *source, double *values, size_t count, hawser_error *error)
{
    adding_block *block = source;
    adding_group *group = block->group;
    pthread_mutex_lock(&group->mutex);
    size_t before = group->sums;
    group->values[block->number] = values;
    group->counts[block->number] = count;
    if (++group->arrived == group->blocks)
        adding_complete(group);
    while (group->sums == before && group->ended == 0)
        pthread_cond_wait(&group->changed, &group->mutex);
    group->unequal = group->unequal || group->sums == before;
    if (!group->unequal)
        memcpy(values, group->total, count * sizeof *values);
    block->stopping = group->stop_after > 0 && group->sums >= group->stop_after;
    bool unequal = group->unequal;
    pthread_mutex_unlock(&group->mutex);
    return unequal ? hawser_fail(error, HAWSER_BAD_PROGRAM, "blocks do not add alike") : HAWSER_OK;
}

static inline void *adding_thread(void *argument)
{
    adding_block *block = argument;
    adding_group *group = block->group;
    block->run(block);
    pthread_mutex_lock(&group->mutex);
    group->ended++;
    group->unequal = group->unequal || group->arrived != 0;
    pthread_cond_broadcast(&group->changed);
    pthread_mutex_unlock(&group->mutex);
    return NULL;
}

static inline hw_linear_part adding_part(adding_block *block)
{
    return (hw_linear_part){.block = block->number, .blocks = block->group->blocks, .add = adding_add, .source = block};
}

/* Calls `run` on `blocks` blocks, each with its own argument. Returns the number of sums; SIZE_MAX if blocks did not make
 * the same sums. */
static inline size_t adding_run(uint32_t blocks, size_t stop_after, void (*run)(adding_block *block), void *const *arguments)
{
    adding_group group = {.blocks = blocks, .stop_after = stop_after};
    adding_block each[MOST_ADDING];
    pthread_t threads[MOST_ADDING];
    pthread_mutex_init(&group.mutex, NULL);
    pthread_cond_init(&group.changed, NULL);
    for (uint32_t b = 0; b < blocks; b++) {
        each[b] = (adding_block){.group = &group, .number = b, .run = run, .argument = arguments[b]};
        if (pthread_create(&threads[b], NULL, adding_thread, &each[b]) != 0)
            abort();
    }
    for (uint32_t b = 0; b < blocks; b++)
        pthread_join(threads[b], NULL);
    pthread_mutex_destroy(&group.mutex);
    pthread_cond_destroy(&group.changed);
    free(group.total);
    return group.unequal ? SIZE_MAX : group.sums;
}

#endif
