/*
 * checkpointer.h - who keeps the checkpoints of a job's runs. A checkpoint of a run has a position (of the driver), the
 * merged values (once, by block 0) and a record of each block. The runtime makes these bytes and reads them; where they are
 * kept is the checkpointer's business.
 */
#ifndef HW_RUNTIME_JOB_CHECKPOINTER_H
#define HW_RUNTIME_JOB_CHECKPOINTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hawser/status.h"

typedef enum hw_record_kind { HW_PIECE_POSITION, HW_PIECE_MERGED, HW_PIECE_BLOCK } hw_record_kind;

/* The number of the checkpoint of a run's end. */
#define HW_RECORD_END UINT32_MAX

/* A piece of a checkpoint: its kind, the number of the run in the job (from 1), that of the checkpoint in the run (from 1,
 * or HW_RECORD_END), and the block of a record. */
typedef struct hw_record_piece {
    hw_record_kind kind;
    uint64_t run, number;
    uint32_t block;
} hw_record_piece;

/* What a checkpoint is of, for people. */
typedef struct hw_checkpoint_about {
    const char *program, *loop; /* loop: the one whose iterations `clock` counts, or a unit */
    uint64_t clock, clocks;     /* iterations of that loop that have ended; clocks of the run so far */
    double seconds;             /* of the run so far */
    uint32_t blocks;
    const char *const *metrics; /* names, */
    const double *values;       /* NaN: not reported yet */
    uint32_t metric_count;
} hw_checkpoint_about;

typedef struct hw_checkpointer {
    void *user;
    /* Driver's thread, before a run goes on or begins: text about its program and options, in lines, that a run which goes
     * on must have as well. Returns HAWSER_BAD_OPTION for another. NULL: nothing is compared. */
    hawser_status (*identify)(void *user, uint64_t run, const char *text, hawser_error *error);
    /* Driver's thread, after each clock and before each unit: returns whether a checkpoint is to be taken now. `left`:
     * seconds until a time limit ends the run; INFINITY: none does. */
    bool (*due)(void *user, uint64_t run, double left);
    /* Driver's thread, when a run of `seconds` has ended by itself: returns whether a checkpoint of its end is to be taken,
     * so that a job that goes on does not repeat it. NULL: never. */
    bool (*keeps_end)(void *user, uint64_t run, double seconds);
    /* Driver's thread, when the run is at the place that the next checkpoint describes: all lines of logs until there are
     * written, and none after. NULL: nothing is done. */
    void (*placed)(void *user);
    /* Takes a piece, whose bytes are from malloc, also after a failure, which ends the run. Any block's thread, several at
     * once. The position is the last piece of a checkpoint, and `about` is given with it alone. */
    hawser_status (*take)(void *user, const hw_record_piece *piece, const hw_checkpoint_about *about, void *bytes,
                          size_t size, hawser_error *error);
    /* Stores a piece of the checkpoint from which a run is to go on; the caller frees *bytes. `number` is ignored for the
     * position, which node 0 asks for first: *bytes is NULL if there is none, so that the run begins from the start. */
    hawser_status (*give)(void *user, const hw_record_piece *piece, void **bytes, size_t *size, hawser_error *error);
} hw_checkpointer;

#endif
