/* parse.h - parses all chunks of an input by several threads into parts that keep the input's order. */
#ifndef HW_DATA_SOURCE_PARSE_H
#define HW_DATA_SOURCE_PARSE_H

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "data/dataset.h"
#include "data/source/claims.h"
#include "data/source/input.h"

/* Capacity of each array of a part, in items. */
typedef struct hw_part_sizes {
    uint64_t ends, rows_of, indices, target, value_bytes;
} hw_part_sizes;

/* Text that is cut into words (format/text.h): documents, each a run of numbers of words. */
typedef struct hw_documents {
    uint64_t rows;
    uint64_t *ends;    /* numbers up to and including each document */
    uint32_t *numbers; /* of the words, as the reader has numbered them */
    uint32_t reader;
    void *pages; /* both */
    size_t bytes;
} hw_documents;

/* The result of one chunk. The arrays are in one piece of pages. Its size is a bound from the number of line ends and
 * separators in the chunk, and it is returned to the system with the part. Mapped text may be overwritten between that count
 * and the parsing, so the parser checks the size. */
typedef struct hw_text_part {
    hw_part_sizes capacity;
    uint64_t rows, entries;
    uint64_t *ends;       /* sparse text: entries up to and including each row */
    uint32_t *rows_of;    /* Matrix Market: row of each entry */
    uint32_t *indices;    /* column of each entry as written, the base not yet taken off */
    double *target;       /* svmlight: one a row */
    void *values;         /* sparse: one an entry, float or double; dense text: rows x width, double */
    uint32_t least, most; /* of indices; least > most when there is none */
    hw_spot widest;       /* svmlight: the line that `most` is from, once that is HW_CLAIMS_FREE or more */
    uint64_t dropped;     /* rows left out because a value is missing */
    /* CSV: the row that is being read has weight 0: its words are no levels, and its missing values are not refused */
    bool weightless;
    const char **starts; /* CSV, on request: the text of each row; from malloc */
    size_t start_capacity;
    struct hw_survey *survey; /* tables: words and missing values, if there are any, */
    void (*free_survey)(struct hw_survey *survey);
    hw_documents documents;
    hw_equals equals; /* of the rows so far: numbers of columns as in the text */
    void *pages;
    size_t bytes;
} hw_text_part;

/* Returns a chunk's text without the byte order mark that a file may begin with. */
static inline const char *hw_chunk_text(const hw_chunk *chunk)
{
    return chunk->first && memcmp(chunk->begin, "\xef\xbb\xbf", 3) == 0 ? chunk->begin + 3 : chunk->begin;
}

/* Skips blanks in a line; some other character follows them. */
static inline const char *hw_skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t' || *at == '\r')
        at++;
    return at;
}

/* hawser_load.labels of a load that reads an input again, because a label is a whole number which a double does not hold. */
enum { HW_LABELS_AS_WORDS = 2 };

/* An input that is being read. */
typedef struct hw_reading {
    const hawser_load *load;
    hw_budget budget;
    hw_input input;
    uint32_t threads;
    size_t chunk_bytes;   /* 0: chosen; tests force small ones */
    hw_text_part **parts; /* by reader: its chunks' parts */
    size_t *part_counts, *part_capacities;
    uint64_t *rows_read;     /* by reader; becomes the dataset's */
    bool as_table;           /* CSV: words may come, so that cells are kept until all are read */
    bool format_assumed;     /* neither the input nor the load's options and names of files determine its format */
    _Atomic bool met_labels; /* CSV: a label is a whole number that a double does not hold: all must be read as words */
    bool quoted;             /* CSV: line ends in quoted fields are expected, by which the input is then not cut */
    _Atomic bool
        met_quoted;  /* CSV: read without that, a quoted field is not closed on its line: the input must be read again */
    bool whole_rows; /* coordinates: a part of the input has all entries of its rows */
    bool met_words;  /* CSV: read without that, it has words: it must be read again as a table */
    /* CSV: of a file of their own, where they must be known while a row is read: by one thread, in order; or NULL */
    const double *row_weights;
    uint64_t row_weight_count, rows_before; /* before the chunk that is read */
    struct hw_levels
        *labels; /* the texts of labels that are words (table/exact.h), of which the target has the numbers; or NULL */
    void (*free_labels)(struct hw_levels *labels);
    bool keeps_equals;    /* a load, not rows in pieces */
    hw_equals equals;     /* of all chunks that are parsed */
    pthread_mutex_t lock; /* guards `equals` and `labels` */
} hw_reading;

/* Parses one chunk into a zeroed part; the reading owns the part's pages also after a failure. Called by several threads. */
typedef hawser_status (*hw_parser)(void *context, hw_reading *reading, const hw_chunk *chunk, hw_text_part *part,
                                   hawser_error *error);

/* Called with the chunks of a reader in their order, for several readers at a time. */
typedef hawser_status (*hw_chunk_work)(void *context, uint32_t reader, const hw_chunk *chunk, hawser_error *error);

/* Sets the reading's readers, makes its rows_read, and distributes the whole input to them. Of several failures the first in
 * input order is reported, whatever the timing. */
hawser_status hw_chunks(hw_reading *reading, hw_chunk_work work, void *context, hawser_error *error) HAWSER_MUST_USE;

/* Runs `parser` over the whole input and keeps its results as the reading's parts. Of several failures the first in input
 * order is reported, whatever the timing. */
hawser_status hw_parse(hw_reading *reading, hw_parser parser, void *context, hawser_error *error) HAWSER_MUST_USE;

/* A parser calls these before and after the rows of a chunk: part->equals begins with what other chunks have left. */
hawser_status hw_part_begin_equals(hw_reading *reading, hw_text_part *part, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_part_end_equals(hw_reading *reading, const hw_text_part *part, hawser_error *error) HAWSER_MUST_USE;
/* Returns whether part->equals needs the next row. */
static inline bool hw_part_sees(const hw_text_part *part)
{
    return part->equals.count > 0 || !part->equals.begun;
}

/* Takes over the other part's largest index and its place if it is larger, or equal and earlier. */
void hw_part_widen(hw_text_part *part, const hw_text_part *other);
/* Returns the part of chunk `sequence`, or NULL after the last. */
hw_text_part *hw_reading_part(const hw_reading *reading, uint64_t sequence);
/* Returns the number of parts. */
uint64_t hw_reading_parts(const hw_reading *reading);
void hw_part_free(hw_reading *reading, hw_text_part *part);
void hw_reading_free(hw_reading *reading);

/* Allocates pages for a part and divides them into arrays; those of an emptied part are reused if they are large enough.
 * Counts of 0 give NULL. */
hawser_status hw_part_reserve(hw_reading *reading, hw_text_part *part, const hw_part_sizes *sizes,
                              hawser_error *error) HAWSER_MUST_USE;

/* Refuses a column name that is not UTF-8 (column counts from 0): model files are UTF-8, so the name could not be found
 * again. */
hawser_status hw_check_name(const char *path, const char *name, size_t column, hawser_error *error) HAWSER_MUST_USE;

/* Fails with a description of the word at `at`, which is not a finite number: "the WHAT is NaN ...". */
hawser_status hw_no_number(const hw_chunk *chunk, const char *at, const char *what, hawser_error *error);

/* Returns whether a number is a count: whole, and from 0 to 2^31 - 1. */
bool hw_is_count(double value);
/* Fails for a value at `at` that is none. */
hawser_status hw_no_count(const hw_chunk *chunk, const char *at, double value, hawser_error *error);

/* Refuses more columns than the input's text may claim; `base` is subtracted from `part`'s most. For a part of an input the
 * place is kept, and the nodes decide together. */
hawser_status hw_check_columns(const hw_reading *reading, const hw_text_part *widest, uint32_t base, hawser_dataset *dataset,
                               hawser_error *error) HAWSER_MUST_USE;

/* Calls work(context, k) for k = 0 .. count - 1, each on its own thread (the last on this one); returns the failure of the
 * lowest k. Fails before any call if a thread cannot be started. */
typedef hawser_status (*hw_work)(void *context, uint32_t k, hawser_error *error);
hawser_status hw_in_parallel(uint32_t count, hw_work work, void *context, hawser_error *error) HAWSER_MUST_USE;

#endif
