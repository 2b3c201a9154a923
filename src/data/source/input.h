/* input.h - one input made of several files, dealt out to reader threads in chunks that end at line ends.
 *
 * Chunk k of the whole input goes to reader k mod readers, whatever their speed: work is spread by construction, and what came
 * from which chunk never depends on timing. Plain files are mapped; archives and pipes are unpacked into the reader's buffer. */
#ifndef HW_DATA_INPUT_H
#define HW_DATA_INPUT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/source/budget.h"
#include "data/source/stream.h"

/* A line, or a run of chunks without a row, may have this many bytes, and this many more for each byte that has been read of the archive. */
enum { HW_LINE_FREE = 64 << 20, HW_LINE_SHARE = 16 };

/* Bytes behind a chunk's end that may be read; the first of them is no part of a number. */
enum { HW_CHUNK_SLACK = 64 };

typedef struct hw_input_file {
    char *name;
    uint64_t bytes;      /* as it lies on the disk; 0 when that cannot be told */
    const char *map;     /* plain regular files and memory; NULL: a stream */
    uint64_t from, to;   /* of a map: the bytes to deal out; from line start to line end */
    bool skipped;        /* a stream that belongs to another part */
    hw_unpacker *stream; /* of an archive: open only from its first look to its end, since descriptors are few */
    bool ended;          /* the stream has been read and closed */
    uint64_t consumed;   /* bytes that it took */
    char *head;          /* stream: text that was looked at and not dealt out yet */
    size_t head_used, head_capacity;
    bool borrowed; /* map is the caller's memory */
} hw_input_file;

typedef struct hw_input {
    hw_input_file *files;
    size_t count, capacity;
    size_t chunk_bytes;
    uint32_t readers;
    bool all_mapped;
    hw_budget *budget;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t turn;
    bool has_lock;
    bool stopped;
    size_t file;                    /* that is being dealt out */
    uint64_t offset;                /* in it, in text bytes */
    uint64_t line;                  /* streams: number of the next line; */
    uint64_t rowless, rowless_line; /* and text bytes since the last chunk with a row, with the number of their first line */
    uint64_t sequence;
    uint64_t text; /* bytes dealt out */
} hw_input;

typedef struct hw_chunk {
    const hw_input_file *file;
    const char *begin, *end; /* end[-1] is a line end */
    bool first;              /* of its file */
    uint64_t offset, next;   /* of begin and of the chunk behind it in the file's text */
    uint64_t line;           /* of begin, from 1; 0: count from the file's start */
    uint64_t sequence;
    char *buffer; /* the reader's own, reused from chunk to chunk */
    size_t capacity;
} hw_chunk;

/* Opens every path; globs are resolved in sorted order, "-" is standard input. A directory, an empty file, no match and an
 * unreadable file are refused by name. hw_input_close releases whatever happened. */
hawser_status hw_input_open(hw_input *input, const char *const *paths, size_t count, hw_budget *budget,
                            hawser_error *error) HAWSER_MUST_USE;
/* An input of one piece of memory that the caller keeps. */
hawser_status hw_input_memory(hw_input *input, const char *name, const char *text, size_t bytes, hw_budget *budget,
                              hawser_error *error) HAWSER_MUST_USE;
void hw_input_close(hw_input *input);

/* Where the first line of a mapped file begins that begins at `offset` or later; its end where none does. */
uint64_t hw_line_from(const hw_input_file *file, uint64_t offset);

/* Deals out part `part` of `parts` alone: the lines that begin in that share of all files' bytes, laid end to end. An archive or pipe
 * cannot be begun in its middle: it belongs to the part in which it begins. Before hw_input_share. */
void hw_input_part(hw_input *input, uint32_t part, uint32_t parts);

/* Sets readers and chunk size; 0 chunk bytes: chosen so that the readers share evenly. */
void hw_input_share(hw_input *input, uint32_t readers, size_t chunk_bytes);

/* The first `least` bytes of a file, or more that are at hand, or all if it has fewer; nothing is used up. An empty file is refused. */
hawser_status hw_input_first(hw_input *input, size_t file, size_t least, const char **text, size_t *bytes,
                             hawser_error *error) HAWSER_MUST_USE;
/* The same of text: at least one whole line too. An archive whose first bytes come to far more text than they are is refused: more than
 * HW_LINE_FREE and HW_LINE_SHARE for each byte of the archive. */
hawser_status hw_input_head(hw_input *input, size_t file, size_t least, const char **text, size_t *bytes,
                            hawser_error *error) HAWSER_MUST_USE;

/* The rest of a file as one piece: the mapping, or *buffer (released with hw_pages_free of *capacity). Of an archive that unpacks to more than
 * `most` bytes it is the first most + 1. */
hawser_status hw_input_whole(hw_input *input, size_t file, uint64_t most, const char **text, size_t *bytes, void **buffer,
                             size_t *capacity, hawser_error *error) HAWSER_MUST_USE;

/* Refuses a zero byte in text: it is a binary file. `line`: the number of the first line in it. */
hawser_status hw_check_text(const hw_input_file *file, uint64_t line, const char *begin, const char *end,
                            hawser_error *error) HAWSER_MUST_USE;

/* The reader's next chunk; false in *more at the end or after a stop. `chunk` is zeroed before the first call and given back to
 * hw_chunk_release after the last. */
hawser_status hw_input_next(hw_input *input, uint32_t reader, hw_chunk *chunk, bool *more,
                            hawser_error *error) HAWSER_MUST_USE;
/* The chunk of a mapped file at `offset`, which ends at `limit` at the latest: the file's end or a line end that is farther from it
 * than the slack. For whoever walks a mapped input himself. */
hawser_status hw_chunk_cut(hw_input *input, const hw_input_file *file, uint64_t offset, uint64_t limit, hw_chunk *chunk,
                           hawser_error *error) HAWSER_MUST_USE;
/* No more chunks: another reader failed. Those dealt out already, all earlier ones among them, are finished. */
void hw_input_stop(hw_input *input);
/* The chunk has been parsed: its mapped pages leave this process's memory. */
void hw_chunk_done(const hw_chunk *chunk);
/* The same of whole pages in [begin, end) of a mapped file's text. */
void hw_text_done(const hw_input_file *file, const char *begin, const char *end);
void hw_chunk_release(hw_input *input, hw_chunk *chunk);

/* Text bytes of the whole input as known or estimated from a head; 0: cannot be told. */
uint64_t hw_input_text_bytes(const hw_input *input);
/* Bytes on disk of what has been read. */
uint64_t hw_input_consumed(const hw_input *input);

/* Number of the line that holds `at`, a place in the chunk. */
uint64_t hw_chunk_line(const hw_chunk *chunk, const char *at);

/* Fails with "FILE:LINE:COLUMN: MESSAGE: "TEXT"", TEXT being the word at `at`. */
hawser_status hw_chunk_fail(const hw_chunk *chunk, const char *at, hawser_error *error, const char *format, ...)
    HAWSER_PRINTF(4, 5);

/* Whether `path` names something that is there and no directory. */
bool hw_is_file(const char *path);

/* Number of `what` in [begin, end). */
uint64_t hw_count(const char *begin, const char *end, char what);

#endif
