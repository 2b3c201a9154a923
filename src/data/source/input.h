/* input.h - one input of several files, distributed to reader threads in chunks that end at line ends. // Chunk k of the
 * whole input is for reader k mod readers, whatever their speed, so the distribution of work and of results never depends on
 * timing. Plain files are mapped; archives and pipes are unpacked into the reader's buffer. */
#ifndef HW_DATA_INPUT_H
#define HW_DATA_INPUT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/source/budget.h"
#include "data/source/quotes.h"
#include "data/source/stream.h"

/* Bytes that a line, or a run of chunks without a row, may have, and how many more per byte that was read of the archive. */
enum { HW_LINE_FREE = 64 << 20, HW_LINE_SHARE = 16 };

/* Bytes after a chunk's end that may be read; the first of them is not part of a number. */
enum { HW_CHUNK_SLACK = 64 };

typedef struct hw_input_file {
    char *name;
    uint64_t bytes;      /* size on disk; 0 if unknown */
    const char *map;     /* plain regular files and memory; NULL: a stream */
    uint64_t from, to;   /* of a map: the range to distribute, from line start to line end */
    bool skipped;        /* a stream that belongs to another part of the input */
    hw_unpacker *stream; /* of an archive: open only while in use, because descriptors are limited */
    bool in_head;        /* the whole stream is in the head */
    bool ended;          /* the stream has been read and closed */
    uint64_t consumed;   /* bytes that were read of it */
    char *head;          /* stream: text that was read ahead and not distributed yet */
    size_t head_used, head_capacity;
    bool borrowed;  /* the map is the caller's memory, or `unpacked` */
    uint64_t *rows; /* of a map that may be cut anywhere: where rows start; or NULL */
    bool sparse;    /* the map is an .npz archive with a sparse matrix of scipy */
    void *unpacked; /* an array of an .npz archive, in place of the file's bytes; or NULL */
    size_t unpacked_bytes;
} hw_input_file;

typedef struct hw_input {
    hw_input_file *files;
    size_t count, capacity;
    size_t chunk_bytes;
    uint32_t readers;
    bool all_mapped;
    bool documents; /* every line is a row, whatever it has */
    bool comments;  /* lines in front of a file's first row may begin with '#' */
    bool quoted;    /* line ends in quoted fields end no row */
    char delimiter; /* between fields, if quoted */
    hw_budget *budget;
    pthread_mutex_t lock; /* guards all fields below */
    pthread_cond_t turn;
    bool has_lock;
    bool stopped;
    bool eager; /* set before the first read: chunks have the lines that can be read without waiting, and heads a line */
    int stop;   /* eager: a descriptor that ends all waiting when it becomes readable; -1: none */
    hawser_status late; /* eager: a failure that is reported once the lines before it were distributed */
    hawser_error late_error;
    size_t file;                    /* the file that is being distributed */
    uint64_t offset;                /* offset in it, in text bytes */
    uint64_t line;                  /* streams: number of the next line; */
    uint64_t rowless, rowless_line; /* and text bytes since the last chunk with a row, with the number of their first line */
    uint64_t sequence;
    uint64_t text; /* bytes distributed */
} hw_input;

typedef struct hw_chunk {
    const hw_input_file *file;
    const char *begin, *end; /* end[-1] is a line end */
    bool first;              /* first chunk of its file */
    const char *row;         /* of a parser, for messages: the start of the row that it reads; or NULL */
    uint64_t offset, next;   /* offsets of begin and of the next chunk in the file's text */
    uint64_t line;           /* line number of begin, from 1; 0: count from the file's start */
    uint64_t sequence;
    char *buffer; /* of the reader, reused for each chunk */
    size_t capacity;
} hw_chunk;

/* Stores a copy of the name of the file that a path names, or that alone matches it as a pattern; NULL if several match. */
hawser_status hw_input_only(const char *path, char **name, hawser_error *error) HAWSER_MUST_USE;
/* Opens every path; globs are resolved in sorted order, "-" is standard input. A directory, an empty file, a pattern without
 * match and an unreadable file are refused by name. Call hw_input_close also after a failure. */
hawser_status hw_input_open(hw_input *input, const char *const *paths, size_t count, hw_budget *budget,
                            hawser_error *error) HAWSER_MUST_USE;
/* Makes an input of a piece of memory, which the caller keeps. */
hawser_status hw_input_memory(hw_input *input, const char *name, const char *text, size_t bytes, hw_budget *budget,
                              hawser_error *error) HAWSER_MUST_USE;
void hw_input_close(hw_input *input);

/* Says what CSV text has: comments in front of the rows of each file and, if `quoted`, fields with line ends, by which
 * chunks then never end. `anywhere`: mapped files are read once, in order, to find where rows start, so that hw_line_from
 * may be called. Call it after the heads were read, and before hw_input_part, if the input is cut, and hw_input_share. */
hawser_status hw_input_rows(hw_input *input, bool comments, bool quoted, char delimiter, bool anywhere,
                            hawser_error *error) HAWSER_MUST_USE;

/* Returns the start of the first line (or row, if quoted) of a mapped file at or after `offset`, or the file's end. */
uint64_t hw_line_from(const hw_input *input, const hw_input_file *file, uint64_t offset);

/* A number of a part that has all lines: the input has rows of one node, and its table waits for those of the others as a
 * part does. */
#define HW_PART_OWN UINT32_MAX

/* Distributes only part `part` of `parts`: the lines that begin in that share of all files' bytes, laid end to end. An
 * archive or pipe cannot be read from its middle, so it belongs to the part in which it begins. Call it before
 * hw_input_share. */
void hw_input_part(hw_input *input, uint32_t part, uint32_t parts);

/* Sets readers and chunk size; 0 chunk bytes: chosen so that the readers share evenly. */
void hw_input_share(hw_input *input, uint32_t readers, size_t chunk_bytes);

/* Returns the first `least` bytes of a file, or more if they are at hand, or all if it has fewer. They will be read again
 * later. An empty file is refused. Of an eager input it is what can be read without waiting, but a line at least. */
hawser_status hw_input_first(hw_input *input, size_t file, size_t least, const char **text, size_t *bytes,
                             hawser_error *error) HAWSER_MUST_USE;
/* Like hw_input_first, for text: returns at least one whole line. Refuses an archive whose first bytes unpack to more than
 * HW_LINE_FREE and HW_LINE_SHARE per byte of the archive. */
hawser_status hw_input_head(hw_input *input, size_t file, size_t least, const char **text, size_t *bytes,
                            hawser_error *error) HAWSER_MUST_USE;

/* Extends a head by some bytes, for which it waits also if the input is eager. *more is false if there are none. */
hawser_status hw_input_head_on(hw_input *input, size_t file, const char **text, size_t *bytes, bool *more,
                               hawser_error *error) HAWSER_MUST_USE;

/* Returns whether the whole of a file is in its head. */
bool hw_input_is_all(const hw_input *input, size_t file);

/* Returns the rest of a file as one piece: the mapping, or *buffer (free with hw_pages_free of *capacity). Of an archive
 * that unpacks to more than `most` bytes it is the first most + 1. */
hawser_status hw_input_whole(hw_input *input, size_t file, uint64_t most, const char **text, size_t *bytes, void **buffer,
                             size_t *capacity, hawser_error *error) HAWSER_MUST_USE;

/* Refuses a zero byte in text: the file is binary. `line`: number of its first line. */
hawser_status hw_check_text(const hw_input_file *file, uint64_t line, const char *begin, const char *end,
                            hawser_error *error) HAWSER_MUST_USE;

/* Reads the reader's next chunk; *more is false at the end or after a stop. Zero `chunk` before the first call and pass it
 * to hw_chunk_release after the last. */
hawser_status hw_input_next(hw_input *input, uint32_t reader, hw_chunk *chunk, bool *more,
                            hawser_error *error) HAWSER_MUST_USE;
/* Cuts the chunk of a mapped file at `offset`. It ends at `limit` at the latest, which is the file's end or a line end
 * farther from it than the slack. For callers that distribute a mapped input themselves. */
hawser_status hw_chunk_cut(hw_input *input, const hw_input_file *file, uint64_t offset, uint64_t limit, hw_chunk *chunk,
                           hawser_error *error) HAWSER_MUST_USE;
/* Stops the input because a reader failed: no more chunks. The chunks distributed already, which include all earlier ones,
 * are completed. */
void hw_input_stop(hw_input *input);
/* Releases the mapped pages of a parsed chunk from this process's memory. */
void hw_chunk_done(const hw_chunk *chunk);
/* Like hw_chunk_done, for the whole pages in [begin, end) of a mapped file's text. */
void hw_text_done(const hw_input_file *file, const char *begin, const char *end);
void hw_chunk_release(hw_input *input, hw_chunk *chunk);

/* Returns the text bytes of the whole input, known or estimated from a head; 0: unknown. */
uint64_t hw_input_text_bytes(const hw_input *input);
/* Returns the bytes on disk that have been read. */
uint64_t hw_input_consumed(const hw_input *input);

/* Returns the number of the line at `at` in the chunk. */
uint64_t hw_chunk_line(const hw_chunk *chunk, const char *at);

/* Fails with "FILE:LINE:COLUMN: MESSAGE: "TEXT"", TEXT being the word at `at`. If the row began on an earlier line
 * (chunk->row), says on which. */
hawser_status hw_chunk_fail(const hw_chunk *chunk, const char *at, hawser_error *error, const char *format, ...)
    HAWSER_PRINTF(4, 5);

/* Returns whether `path` exists and is not a directory. */
bool hw_is_file(const char *path);

/* Counts `what` in [begin, end). */
uint64_t hw_count(const char *begin, const char *end, char what);

#endif
