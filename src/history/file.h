/*
 * file.h - the bytes of a history: a head, batches of records of one stream each, and a last batch that says how many there were.
 *
 * Every batch carries its stream, its number in the stream and a digest. Without the last batch, or with one missing, a history is not whole,
 * and is refused: what a job that was killed leaves behind is never taken for a proof. Where others have noted down in their last word that a node
 * was lost, that node's file may end anywhere, or be missing: what is there is the beginning of each of its streams.
 */
#ifndef HW_HISTORY_FILE_H
#define HW_HISTORY_FILE_H

#include "hawser/status.h"
#include "history/record.h"

/* One file a node; all of a job have its token. 40 bytes, little-endian, as everything here. */
typedef struct hw_history_head {
    char magic[8];
    uint32_t node, nodes, record, zero; /* record: bytes of one */
    uint64_t token;
    uint64_t digest; /* of the bytes above */
} hw_history_head;

typedef struct hw_batch_head {
    char magic[8];
    hw_stream_name stream;
    uint64_t number; /* in the stream, from 0 */
    uint64_t count;  /* of records that follow */
    uint64_t digest; /* of the bytes above and the records */
} hw_batch_head;

void hw_history_head_make(uint32_t node, uint32_t nodes, uint64_t token, hw_history_head *head);
void hw_batch_head_make(const hw_log *log, hw_batch_head *head);
/* Where the last batch goes: its one record has the number of batches before it in `first`, of records in `count`, in `clock` how the
 * job ended (0: well; else the negative of a hawser_status), and in `from` the node that was lost first, if any (HW_HISTORY_NOBODY). */
void hw_close_make(uint64_t batches, uint64_t records, hawser_status ended, uint32_t lost, hw_batch_head *head,
                   hw_event_record *record);

/* Where a node's part lies: that of node 0 in FILE, of node k in FILE.k. The caller frees it. */
hawser_status hw_history_path(const char *file, uint32_t node, char **path, hawser_error *error) HAWSER_MUST_USE;

/* One stream of a history that has been read. */
typedef struct hw_stream {
    hw_stream_name name;
    hw_event_record *records;
    size_t count, capacity;
    uint64_t batches;
    uint32_t node; /* whose file it is in */
    bool cut;      /* more may have happened than is written here: its node was lost */
} hw_stream;

/* One node's file. */
typedef struct hw_history_part {
    bool read, lost; /* lost: as others say */
    char *trouble;   /* it has no last word: what to say of that; else NULL */
    uint64_t records;
} hw_history_part;

/* All parts of a history. Zero it first. */
typedef struct hw_history {
    hw_stream *streams; /* by kind, run, number once it is whole */
    size_t count, capacity;
    size_t *places; /* while files are read: 1 + a stream's index, by its name's hash; 0: free */
    size_t place_count;
    uint64_t records, token;
    uint32_t nodes;
    hw_history_part *parts; /* by node */
    hawser_status ended;    /* how the job did; but HAWSER_OK: every stream may end anywhere */
    uint32_t cut;           /* nodes without a whole file: streams may be missing */
} hw_history;

/* Adds a file's bytes. HAWSER_BAD_INPUT names `path` and what is wrong: no history, damaged, of another version or job, twice. */
hawser_status hw_history_add(hw_history *history, const char *path, const void *bytes, size_t size,
                             hawser_error *error) HAWSER_MUST_USE;
/* After the last: HAWSER_BAD_INPUT when the file of a node that nobody has lost is missing or not whole. Streams are in order from then on. */
hawser_status hw_history_whole(hw_history *history, hawser_error *error) HAWSER_MUST_USE;
/* A stream of a whole history, or NULL. */
const hw_stream *hw_history_stream(const hw_history *history, hw_stream_kind kind, uint32_t run, uint32_t number);
void hw_history_free(hw_history *history);

#endif
