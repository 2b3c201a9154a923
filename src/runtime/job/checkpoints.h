/*
 * checkpoints.h - the checkpoints of a job in a folder, for the files that take, write and read them.
 *
 * Node 0 has the folder. Its thread writes the pieces of its own blocks, then the manifest. The other nodes offer theirs: a
 * node that sees the same folder writes its parts itself, and from any other one node 0 fetches the bytes. A run that goes
 * on reads parts from the shared folder, or asks node 0 for them.
 *
 * Calls point downwards in this order: checkpoints.c (options, begin and end), checkpoint_nodes.c (what arrives),
 * checkpoint_writer.c (node 0's thread), checkpoint_remote.c (pieces of other nodes, on that thread), checkpoint_reader.c
 * (what a run goes on from), checkpoint_member.c (the other nodes), checkpoint_wire.c (messages).
 */
#ifndef HW_RUNTIME_JOB_CHECKPOINTS_H
#define HW_RUNTIME_JOB_CHECKPOINTS_H

#include <pthread.h>

#include "base/build.h"
#include "checkpoint/folder.h"
#include "runtime/job/checkpointer.h"
#include "runtime/job/job.h"

enum { HW_CHECKPOINT_SENT = 4 << 20 }; /* most bytes of a part in one message */

/* A piece that waits for node 0's thread, or a request of another node. Of another node's piece there are no bytes yet. */
typedef struct hw_checkpoint_queued {
    struct hw_checkpoint_queued *next;
    hw_record_piece piece;
    uint32_t node; /* that has it, or requests it */
    bool sees;     /* that node sees the folder */
    bool reads;    /* it requests the piece */
    uint64_t from; /* from this byte on */
    void *bytes;
    size_t size;
    hw_checkpoint facts; /* of a position */
    hw_checkpoint_metric *metrics;
    char **names; /* of the metrics */
    char *identity;
    char loop[200], program[200];
} hw_checkpoint_queued;

/* A message of another node that waits for the thread. */
typedef struct hw_checkpoint_letter {
    struct hw_checkpoint_letter *next;
    uint32_t node;
    hw_message *message;
} hw_checkpoint_letter;

typedef struct hw_checkpoints {
    hw_checkpointer own;
    hawser_job *job;
    hw_cluster *cluster;       /* NULL: one node */
    uint32_t node, nodes;      /* this one's number; how many there are */
    char *given, *path;        /* the folder: as the user gave it, for messages, and absolute */
    char token[HW_TOKEN_SIZE]; /* of node 0's folder */
    hw_folder *folder;         /* of node 0 */
    hw_checkpoint *from;       /* from which the job goes on; NULL: from the start */
    hw_checkpoint **ends;      /* of runs before it, which are not repeated */
    size_t end_count;
    uint64_t begun;      /* the last run with a loop; guarded by `mutex` */
    bool clears;         /* --fresh: the checkpoints in the folder are deleted when the first run is accepted */
    bool accepted;       /* on node 0: no option or datum differs, so the folder is this job's */
    bool went_on;        /* a run has */
    bool written;        /* a checkpoint, by this job; of the thread, until it has ended */
    double every, last;  /* seconds; when one was begun */
    _Atomic double took; /* seconds until the last one was on disk */
    char build[HW_BUILD_SIZE];
    char *identity;            /* of the run that writes */
    hw_log_mark logs[HW_LOGS]; /* where they ended at the checkpoint that is taken; driver's thread */
    pthread_t thread;
    bool threaded; /* there is a thread */
    pthread_mutex_t mutex;
    pthread_cond_t more;
    bool over;                       /* the thread ends when nothing waits, */
    bool drops;                      /* and what waits is not written: the checkpoints will be removed */
    hw_checkpoint_letter *letters;   /* replies to node 0's thread, or what node 0 tells another node's thread */
    struct hw_checkpoint_held *held; /* pieces of this node that node 0 has not done with */
    struct hw_checkpoint_fetch *fetches;
    pthread_mutex_t reading; /* guards the next two: the merged values, which every block of this node reads */
    void *merged;
    size_t merged_size;
    /* Of node 0: */
    hw_checkpoint_queued *first;
    hawser_error failure; /* of the thread: another job has taken the folder */
    /* Of node 0's thread: */
    hw_checkpoint making;
    uint64_t run, number; /* of the pieces that it writes */
    bool broken;          /* a part could not be written */
    hawser_error why;
    hw_checkpoint_part *parts;
    size_t part_count, part_capacity;
    uint32_t *writing; /* by node: parts that it writes at this moment */
    bool *apart;       /* by node: what it has written was not in the folder */
    struct hw_checkpoint_served *served;
} hw_checkpoints;

/* checkpoint_wire.c: envelope.part of HW_MESSAGE_CHECKPOINT */
typedef enum hw_checkpoint_word {
    HW_CHECKPOINT_OFFER = 1, /* to node 0: `count` bytes of a piece; from: 1 if the sender sees the folder */
    HW_CHECKPOINT_WRITE,     /* from node 0: write it, as a part of checkpoint `from` */
    HW_CHECKPOINT_WRITTEN,   /* the reply, with the hw_checkpoint_part */
    HW_CHECKPOINT_FETCH,     /* from node 0: send `count` bytes from byte `from` on */
    HW_CHECKPOINT_BYTES,     /* the reply, with the bytes */
    HW_CHECKPOINT_DONE,      /* from node 0: it is not needed any longer */
    HW_CHECKPOINT_READ,      /* to node 0: send a piece of the checkpoint from which the run goes on, from byte `from` on */
    HW_CHECKPOINT_GIVEN      /* the reply, with bytes; count: those of the whole piece */
} hw_checkpoint_word;

/* The head of the payload. If status is not 0, a text follows in place of what is written above. */
typedef struct hw_checkpoint_head {
    uint64_t kind, run, number, block; /* of the piece */
    uint64_t from, count;
    int64_t status;
} hw_checkpoint_head;

hawser_status hw_checkpoint_send(const hw_checkpoints *own, uint32_t node, hw_checkpoint_word word,
                                 const hw_checkpoint_head *head, const void *more, size_t length,
                                 hawser_error *error) HAWSER_MUST_USE;
/* Returns false for a payload that is too short. *more is within the message. */
bool hw_checkpoint_open(const hw_message *message, hw_checkpoint_head *head, const char **more, size_t *length);
/* Adds a message to the letters of the thread, which owns it from then on. The thread takes the first one, or NULL. */
void hw_checkpoint_post(hw_checkpoints *own, uint32_t node, hw_message *message);
hw_checkpoint_letter *hw_checkpoint_letter_take(hw_checkpoints *own);
void hw_checkpoint_letter_free(hw_checkpoint_letter *letter);
/* Writes status and text of a failure to *error. */
hawser_status hw_checkpoint_failure(const hw_checkpoint_head *head, const char *text, size_t length,
                                    hawser_error *error) HAWSER_MUST_USE;
static inline hw_checkpoint_head hw_checkpoint_head_of(const hw_record_piece *piece)
{
    return (hw_checkpoint_head){.kind = piece->kind, .run = piece->run, .number = piece->number, .block = piece->block};
}
static inline bool hw_checkpoint_is_of(const hw_checkpoint_head *head, const hw_record_piece *piece)
{
    return head->kind == piece->kind && head->run == piece->run && head->number == piece->number &&
           head->block == piece->block;
}

/* checkpoint_member.c, on nodes other than 0: hw_checkpoint_hold is hw_checkpointer.take. hw_checkpoint_ask reads a piece
 * from node 0; the caller frees *bytes. hw_checkpoint_given takes a message that is GIVEN. */
hawser_status hw_checkpoint_hold(void *user, const hw_record_piece *piece, const hw_checkpoint_about *about, void *bytes,
                                 size_t size, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_checkpoint_ask(hw_checkpoints *own, const hw_record_piece *piece, void **bytes, size_t *size,
                                hawser_error *error) HAWSER_MUST_USE;
void hw_checkpoint_given(hw_checkpoints *own, const hw_message *message);
hawser_status hw_checkpoint_member_start(hw_checkpoints *own, hawser_error *error) HAWSER_MUST_USE;
/* Waits until node 0 has done with this node's pieces, or a node is lost, and ends the thread. */
void hw_checkpoint_member_end(hw_checkpoints *own);

/* checkpoint_reader.c: hw_checkpoint_of_run finds the checkpoint from which a run goes on; NULL: it begins from the start.
 * hw_checkpoint_piece reads a piece of it; the caller frees *bytes. */
const hw_checkpoint *hw_checkpoint_of_run(const hw_checkpoints *own, uint64_t run);
hawser_status hw_checkpoint_piece(hw_checkpoints *own, const hw_record_piece *piece, void **bytes, size_t *size,
                                  hawser_error *error) HAWSER_MUST_USE;

/* checkpoint_remote.c, on node 0's thread: has another node write its piece, or fetches it. Failures of a part are in
 * own->why. */
hawser_status hw_checkpoint_remote_part(hw_checkpoints *own, const hw_checkpoint_queued *item,
                                        hawser_error *error) HAWSER_MUST_USE;
/* Tells the node that its piece is not needed any longer. */
void hw_checkpoint_remote_done(const hw_checkpoints *own, const hw_checkpoint_queued *item);
/* Waits until no node writes. */
void hw_checkpoint_remote_settle(hw_checkpoints *own);
/* Sends what another node requests. hw_checkpoint_remote_close forgets requests that were not read to their end. */
void hw_checkpoint_remote_give(hw_checkpoints *own, const hw_checkpoint_queued *item);
void hw_checkpoint_remote_close(hw_checkpoints *own);
hawser_status hw_checkpoint_add_part(hw_checkpoints *own, const hw_checkpoint_part *part,
                                     hawser_error *error) HAWSER_MUST_USE;
void hw_checkpoint_break(hw_checkpoints *own, const hawser_error *why);

/* checkpoint_writer.c: starts the thread that writes. hw_checkpoint_writer_end ends it, and has it write what waits before
 * that if the checkpoints stay. */
hawser_status hw_checkpoint_writer_start(hw_checkpoints *own, hawser_error *error) HAWSER_MUST_USE;
void hw_checkpoint_writer_end(hw_checkpoints *own, bool stay);
/* Frees pieces that other nodes offered after that. The channel is closed. */
void hw_checkpoint_writer_clear(hw_checkpoints *own);
/* Returns whether all pieces are on disk. Any thread. */
bool hw_checkpoint_writer_idle(hw_checkpoints *own);
/* Takes a piece for the thread (hw_checkpointer.take). hw_checkpoint_offered takes that of another node, or its request. */
hawser_status hw_checkpoint_take(void *user, const hw_record_piece *piece, const hw_checkpoint_about *about, void *bytes,
                                 size_t size, hawser_error *error) HAWSER_MUST_USE;
/* The end of a run is written when another run begins: one run alone needs none. */
void hw_checkpoint_begun(hw_checkpoints *own, uint64_t run);
void hw_checkpoint_offered(hw_checkpoints *own, uint32_t node, const hw_checkpoint_head *head, bool reads);

/* checkpoint_nodes.c: joins the nodes. hw_checkpoint_nodes_share sends what node 0 has found to all others; `status` and
 * *error are what became of it on this node. Both are collective. */
hawser_status hw_checkpoint_nodes_open(hw_checkpoints *own, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_checkpoint_nodes_share(hw_checkpoints *own, hawser_status status, hawser_error *error) HAWSER_MUST_USE;
void hw_checkpoint_nodes_close(hw_checkpoints *own);

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
