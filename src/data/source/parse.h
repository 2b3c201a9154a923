/* parse.h - parses all chunks of an input by several threads into parts that keep the input's order. */
#ifndef HW_DATA_SOURCE_PARSE_H
#define HW_DATA_SOURCE_PARSE_H

#include <string.h>

#include "data/dataset.h"
#include "data/source/claims.h"
#include "data/source/input.h"

/* How many items each array of a part has room for. */
typedef struct hw_part_sizes {
    uint64_t ends, rows_of, indices, target, value_bytes;
} hw_part_sizes;

/* What one chunk came to. Arrays lie in one piece of pages, of the size that a count of the chunk's line ends and separators
 * bounds, and go back to the system with the part. Mapped text may be overwritten between that count and its parsing, which therefore holds to
 * the size. */
typedef struct hw_text_part {
    hw_part_sizes capacity;
    uint64_t rows, entries;
    uint64_t *ends;           /* sparse text: entries up to and including each row */
    uint32_t *rows_of;        /* Matrix Market: row of each entry */
    uint32_t *indices;        /* column of each entry as written, the base not yet taken off */
    double *target;           /* svmlight: one a row */
    void *values;             /* sparse: one an entry, float or double; dense text: rows x width, double */
    uint32_t least, most;     /* of indices; least > most when there is none */
    hw_spot widest;           /* svmlight: the line that `most` is from, once that is HW_CLAIMS_FREE or more */
    uint64_t dropped;         /* rows left out because a value is missing */
    struct hw_survey *survey; /* tables: words and missing values, if there are any, */
    void (*free_survey)(struct hw_survey *survey);
    void *pages;
    size_t bytes;
} hw_text_part;

/* A chunk's text, without the byte order mark that a file may begin with. */
static inline const char *hw_chunk_text(const hw_chunk *chunk)
{
    return chunk->first && memcmp(chunk->begin, "\xef\xbb\xbf", 3) == 0 ? chunk->begin + 3 : chunk->begin;
}

/* Past the blanks within a line, behind which something else stands. */
static inline const char *hw_skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t' || *at == '\r')
        at++;
    return at;
}

/* Everything that a load has in hand. */
typedef struct hw_job {
    const hawser_load *load;
    hw_budget budget;
    hw_input input;
    uint32_t threads;
    size_t chunk_bytes;   /* 0: chosen; tests force small ones */
    hw_text_part **parts; /* by reader: its chunks' parts */
    size_t *part_counts, *part_capacities;
    uint64_t *rows_read; /* by reader; becomes the dataset's */
    bool as_table;       /* CSV: words may come, so that cells are kept until all are read */
    bool met_words;      /* CSV: read without that, it has words: it must be read again as a table */
} hw_job;

/* Parses one chunk into a zeroed part; the part's pages are the job's even after a failure. Called by several threads. */
typedef hawser_status (*hw_parser)(void *context, hw_job *job, const hw_chunk *chunk, hw_text_part *part,
                                   hawser_error *error);

/* Called with the chunks of a reader in their order, by several readers at a time. */
typedef hawser_status (*hw_chunk_work)(void *context, uint32_t reader, const hw_chunk *chunk, hawser_error *error);

/* Sets the job's readers, makes its rows_read, and deals the whole input out to them. Of several failures the first in input order is
 * told, whatever the threads' timing. */
hawser_status hw_chunks(hw_job *job, hw_chunk_work work, void *context, hawser_error *error) HAWSER_MUST_USE;

/* Runs `parser` over the whole input; what it makes is kept as the job's parts. Of several failures the first in input order
 * is told, whatever the threads' timing. */
hawser_status hw_parse(hw_job *job, hw_parser parser, void *context, hawser_error *error) HAWSER_MUST_USE;

/* Takes over the other's largest index and where it is, if it is larger, or as large and before. */
void hw_part_widen(hw_text_part *part, const hw_text_part *other);
/* The part of chunk `sequence`, NULL past the last. */
hw_text_part *hw_job_part(const hw_job *job, uint64_t sequence);
/* Number of parts. */
uint64_t hw_job_parts(const hw_job *job);
void hw_part_free(hw_job *job, hw_text_part *part);
void hw_job_free(hw_job *job);

/* Pages for a part, cut into arrays; those of an emptied part serve again if they are enough. Counts of 0 give NULL. */
hawser_status hw_part_reserve(hw_job *job, hw_text_part *part, const hw_part_sizes *sizes,
                              hawser_error *error) HAWSER_MUST_USE;

/* Refuses a column's name (its number is from 0) that is no UTF-8: model files are, so it could not be found again. */
hawser_status hw_check_name(const char *path, const char *name, size_t column, hawser_error *error) HAWSER_MUST_USE;

/* Fails with what is wrong with the word at `at`, which is no finite number: "the WHAT is NaN ...". */
hawser_status hw_no_number(const hw_chunk *chunk, const char *at, const char *what, hawser_error *error);

/* Refuses more columns than the input's text may claim; `base` is taken off `part`'s most. Of a part of an input it is kept where that was
 * met, for the nodes to judge together. */
hawser_status hw_check_columns(const hw_job *job, const hw_text_part *widest, uint32_t base, hawser_dataset *dataset,
                               hawser_error *error) HAWSER_MUST_USE;

/* Calls work(context, k) for k = 0 .. count - 1, each on an own thread (the last on this one); returns the failure of the lowest
 * k. Fails where one cannot be started; then none has begun. */
typedef hawser_status (*hw_work)(void *context, uint32_t k, hawser_error *error);
hawser_status hw_in_parallel(uint32_t count, hw_work work, void *context, hawser_error *error) HAWSER_MUST_USE;

#endif
