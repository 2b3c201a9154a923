/* checkpoints.h - the checkpoints of a job in a folder, for the files that take, write and read them. */
#ifndef HW_RUNTIME_JOB_CHECKPOINTS_H
#define HW_RUNTIME_JOB_CHECKPOINTS_H

#include <pthread.h>

#include "base/build.h"
#include "checkpoint/folder.h"
#include "runtime/job/checkpointer.h"
#include "runtime/job/job.h"

typedef struct hw_checkpoint_queued hw_checkpoint_queued;

typedef struct hw_checkpoints {
    hw_checkpointer own;
    hawser_job *job;
    hw_folder *folder;
    hw_checkpoint *from; /* from which the job goes on; NULL: from the start */
    bool clears;         /* --fresh: the checkpoints in the folder are deleted when the first run is accepted */
    bool went_on;        /* a run has */
    bool written;        /* a checkpoint, by this job; of the writer, until it has ended */
    double every, last;  /* seconds; when one was begun */
    char build[HW_BUILD_SIZE];
    char *identity; /* of the run that writes */
    pthread_t writer;
    bool writes; /* there is a thread */
    pthread_mutex_t mutex;
    pthread_cond_t more;
    hw_checkpoint_queued *first;
    bool ends;
    hawser_error failure; /* of the writer: another job has taken the folder */
    /* Of the writer: */
    hw_checkpoint making;
    uint64_t run, number; /* of the pieces that it writes */
    bool broken;          /* a part could not be written */
    hawser_error why;
    hw_checkpoint_part *parts;
    size_t part_count, part_capacity;
} hw_checkpoints;

/* checkpoint_writer.c: starts the thread that writes. hw_checkpoint_writer_end has it write what waits, and ends it. */
hawser_status hw_checkpoint_writer_start(hw_checkpoints *own, hawser_error *error) HAWSER_MUST_USE;
void hw_checkpoint_writer_end(hw_checkpoints *own);
/* Returns whether all pieces are on disk. Any thread. */
bool hw_checkpoint_writer_idle(hw_checkpoints *own);
/* Takes a piece for the thread (hw_checkpointer.take). */
hawser_status hw_checkpoint_take(void *user, const hw_record_piece *piece, const hw_checkpoint_about *about, void *bytes,
                                 size_t size, hawser_error *error) HAWSER_MUST_USE;

/* checkpoint_reader.c: reads a piece of the checkpoint from which the job goes on; the caller frees *bytes. */
hawser_status hw_checkpoint_piece(const hw_checkpoints *own, const hw_record_piece *piece, void **bytes, size_t *size,
                                  hawser_error *error) HAWSER_MUST_USE;

/* The part that has a piece, and the one tensor of that part. */
static inline hw_checkpoint_kind hw_checkpoint_kind_of(const hw_record_piece *piece)
{
    return piece->kind == HW_PIECE_POSITION ? HW_CHECKPOINT_DRIVER
           : piece->kind == HW_PIECE_MERGED ? HW_CHECKPOINT_NODE
                                            : HW_CHECKPOINT_BLOCK;
}

static inline uint32_t hw_checkpoint_index_of(const hw_record_piece *piece)
{
    return piece->kind == HW_PIECE_BLOCK ? piece->block : 0;
}

static inline hw_checkpoint_tensor hw_checkpoint_tensor_of(const void *bytes, size_t size)
{
    return (hw_checkpoint_tensor){.name = "record", .type = HW_TENSOR_U8, .rows = size, .data = bytes};
}

#endif
