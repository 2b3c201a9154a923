/*
 * file.h - the format of a history: a head, batches of records of one stream each, and a last batch that has the number of
 * the others.
 *
 * Every batch has its stream, its number in the stream and a digest. A history without its last batch, or with a missing
 * batch, is not whole and is refused, so the remains of a killed job never pass as a proof. If other nodes recorded in their
 * end record that a node was lost, that node's file may end anywhere or be missing: its streams are then beginnings.
 */
#ifndef HW_HISTORY_FILE_H
#define HW_HISTORY_FILE_H

#include "hawser/status.h"
#include "history/record.h"

/* One file per node; all files of a job have its token. 40 bytes, little-endian, like all of the format. */
typedef struct hw_history_head {
    char magic[8];
    uint32_t node, nodes, record, zero; /* record: size of one record in bytes */
    uint64_t token;
    uint64_t digest; /* of the bytes above */
} hw_history_head;

typedef struct hw_batch_head {
    char magic[8];
    hw_stream_name stream;
    uint64_t number; /* index in the stream, from 0 */
    uint64_t count;  /* of records that follow */
    uint64_t digest; /* of the bytes above and the records */
} hw_batch_head;

void hw_history_head_make(uint32_t node, uint32_t nodes, uint64_t token, hw_history_head *head);
void hw_batch_head_make(const hw_log *log, hw_batch_head *head);
/* Makes the last batch. Its first record has the number of batches before it in `first`, the number of records in `count`,
 * how the job ended in `clock` (0: successfully, else the negative hawser_status), and in `from` the node that was lost
 * first, or HW_HISTORY_NONE. A record HW_EVENT_LOST follows for each other lost node. `into` has space for one record, or
 * for lost_count if that is more; head->count of them are written. */
void hw_close_make(uint64_t batches, uint64_t records, hawser_status ended, const uint32_t *lost, size_t lost_count,
                   hw_batch_head *head, hw_event_record *into);

/* Returns the path of a node's part: FILE for node 0, FILE.k for node k. The caller frees it. */
hawser_status hw_history_path(const char *file, uint32_t node, char **path, hawser_error *error) HAWSER_MUST_USE;

/* One stream of a history that has been read. */
typedef struct hw_stream {
    hw_stream_name name;
    hw_event_record *records;
    size_t count, capacity;
    uint64_t batches;
    uint32_t node; /* the node whose file it is in */
    bool cut;      /* its node was lost, so more may have happened than is recorded */
} hw_stream;

/* One node's file. */
typedef struct hw_history_part {
    bool read, lost; /* lost: as other nodes recorded */
    char *trouble;   /* there is no end record: the text that says so; else NULL */
    uint64_t records;
} hw_history_part;

/* All parts of a history. The caller zeroes it first. */
typedef struct hw_history {
    hw_stream *streams; /* by kind, run, number once it is whole */
    size_t count, capacity;
    size_t *places; /* while files are read: 1 + a stream's index, by the hash of its name; 0: free */
    size_t place_count;
    uint64_t records, token;
    uint32_t nodes;
    hw_history_part *parts; /* by node */
    hawser_status ended;    /* how the job ended; if not HAWSER_OK, every stream may end anywhere */
    uint32_t cut;           /* number of nodes without a whole file, whose streams may be missing */
} hw_history;

/* Adds a file's bytes. Returns HAWSER_BAD_INPUT if they are not a history, damaged, of another version or job, or added
 * twice; the text names `path` and the reason. */
hawser_status hw_history_add(hw_history *history, const char *path, const void *bytes, size_t size,
                             hawser_error *error) HAWSER_MUST_USE;
/* Ends the input. Returns HAWSER_BAD_INPUT if the file of a node that was not lost is missing or not whole. Sorts the
 * streams. */
hawser_status hw_history_whole(hw_history *history, hawser_error *error) HAWSER_MUST_USE;
/* Returns a stream of a whole history, or NULL. */
const hw_stream *hw_history_stream(const hw_history *history, hw_stream_kind kind, uint32_t run, uint32_t number);
/* Returns the number of streams of a kind and run in a whole history. */
size_t hw_streams_of(const hw_history *history, hw_stream_kind kind, uint32_t run);
void hw_history_free(hw_history *history);

#endif
