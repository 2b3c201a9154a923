/* memory_checkpointer.h - keeps the checkpoints of a job's runs in memory, for tests that throw a run away and go on from
 * its bytes. */
#ifndef HW_TESTS_UNIT_MEMORY_CHECKPOINTER_H
#define HW_TESTS_UNIT_MEMORY_CHECKPOINTER_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "hawser/hawser.h"
#include "runtime/job/checkpointer.h"
#include "runtime/job/job.h"

enum { MEMORY_RUNS = 64, MEMORY_BLOCKS = 64 };

typedef struct memory_bytes {
    void *bytes;
    size_t size;
} memory_bytes;

/* One checkpoint of one run. */
typedef struct memory_checkpoint {
    memory_bytes position, merged, block[MEMORY_BLOCKS];
    uint64_t number, clock, clocks;
    char loop[100];
} memory_checkpoint;

/* Checkpoints are due after one in `every` opportunities, drawn from `seed`. The one with which `stop` are complete stays,
 * and later ones are forgotten. */
typedef struct memory_checkpointer {
    hw_checkpointer own;
    pthread_mutex_t mutex;
    uint64_t every, seed, asked, stop, taken;
    bool ends;         /* the ends of runs are kept, too */
    uint64_t complete; /* checkpoints so far, also of runs before */
    memory_checkpoint making[MEMORY_RUNS], kept[MEMORY_RUNS];
} memory_checkpointer;

static memory_bytes *memory_place(memory_checkpoint *checkpoint, const hw_record_piece *piece)
{
    return piece->kind == HW_PIECE_POSITION ? &checkpoint->position
           : piece->kind == HW_PIECE_MERGED ? &checkpoint->merged
                                            : &checkpoint->block[piece->block];
}

static void memory_drop(memory_checkpoint *checkpoint)
{
    free(checkpoint->position.bytes);
    free(checkpoint->merged.bytes);
    for (size_t b = 0; b < MEMORY_BLOCKS; b++)
        free(checkpoint->block[b].bytes);
    memset(checkpoint, 0, sizeof *checkpoint);
}

static bool memory_due(void *user, uint64_t run, double left)
{
    memory_checkpointer *own = user;
    (void)run, (void)left;
    hw_random random = hw_random_at(own->seed, 0, 0, ++own->asked);
    return own->taken < own->stop && hw_random_below(&random, own->every) == 0;
}

static bool memory_keeps_end(void *user, uint64_t run, double seconds)
{
    const memory_checkpointer *own = user;
    (void)run, (void)seconds;
    return own->ends;
}

static hawser_status memory_take(void *user, const hw_record_piece *piece, const hw_checkpoint_about *about, void *bytes,
                                 size_t size, hawser_error *error)
{
    memory_checkpointer *own = user;
    hawser_status status = HAWSER_OK;
    pthread_mutex_lock(&own->mutex);
    memory_checkpoint *making = &own->making[piece->run];
    if (making->number != piece->number)
        memory_drop(making);
    making->number = piece->number;
    memory_bytes *place = memory_place(making, piece);
    if (place->bytes != NULL) {
        free(bytes);
        status = hawser_fail(error, HAWSER_INTERNAL, "a piece of a checkpoint comes twice");
    } else {
        *place = (memory_bytes){bytes, size};
    }
    if (about != NULL) {
        making->clock = about->clock;
        making->clocks = about->clocks;
        strncpy(making->loop, about->loop, sizeof making->loop - 1);
        memory_drop(&own->kept[piece->run]);
        own->kept[piece->run] = *making;
        memset(making, 0, sizeof *making);
        own->taken++;
        own->complete++;
    }
    pthread_mutex_unlock(&own->mutex);
    return status;
}

static hawser_status memory_give(void *user, const hw_record_piece *piece, void **bytes, size_t *size, hawser_error *error)
{
    memory_checkpointer *own = user;
    pthread_mutex_lock(&own->mutex);
    const memory_bytes *place = memory_place(&own->kept[piece->run], piece);
    *bytes = NULL;
    *size = place->size;
    if (place->bytes != NULL) {
        *bytes = malloc(place->size);
        if (*bytes != NULL)
            memcpy(*bytes, place->bytes, place->size);
    }
    pthread_mutex_unlock(&own->mutex);
    (void)error;
    return HAWSER_OK;
}

static void memory_open(memory_checkpointer *own, uint64_t every, uint64_t stop, uint64_t seed)
{
    memset(own, 0, sizeof *own);
    own->own = (hw_checkpointer){own, NULL, memory_due, memory_keeps_end, NULL, memory_take, memory_give};
    pthread_mutex_init(&own->mutex, NULL);
    own->every = every;
    own->stop = stop;
    own->seed = seed;
}

/* Forgets what belongs to the run that was thrown away; the checkpoints stay. */
static void memory_again(memory_checkpointer *own, uint64_t every, uint64_t stop)
{
    for (size_t run = 0; run < MEMORY_RUNS; run++)
        memory_drop(&own->making[run]);
    own->every = every;
    own->stop = stop;
    own->taken = 0;
}

static void memory_close(memory_checkpointer *own)
{
    for (size_t run = 0; run < MEMORY_RUNS; run++) {
        memory_drop(&own->making[run]);
        memory_drop(&own->kept[run]);
    }
    pthread_mutex_destroy(&own->mutex);
}

#endif
