/* rows.h - an input that is read in pieces of rows. Each kind of input opens itself and cuts pieces; what they share is
 * here. */
#ifndef HW_DATA_ROWS_H
#define HW_DATA_ROWS_H

#include <pthread.h>

#include "data/format/csv.h"
#include "data/format/text.h"

/* Bytes of text in a piece, or of numbers in a binary one, if they can be read without waiting; more for a model of many
 * columns, each of which costs something in every piece. */
enum { HW_ROWS_PIECE = 1 << 19, HW_ROWS_PIECE_MOST = 16 << 20 };

/* Memory in which a piece is made, for one call at a time. */
typedef struct hw_rows_slot {
    hw_chunk chunk;
    char *bytes;
    size_t capacity;
    struct hw_rows_slot *next;
} hw_rows_slot;

typedef struct hw_rows_kind {
    hawser_status (*next)(hawser_rows *rows, hw_rows_slot *slot, hawser_piece *piece, bool *more, hawser_error *error);
    void (*close)(hawser_rows *rows); /* NULL: nothing to do */
} hw_rows_kind;

struct hawser_rows {
    const hw_rows_kind *kind;
    void *own; /* the kind's */
    hawser_load load;
    hw_reading reading; /* the opened input */
    hw_csv csv;         /* of CSV */
    hw_text_load text;  /* of documents, and of CSV with a column of texts: the words of the model */
    const char *loaded; /* why the input was loaded as a whole; or NULL */
    size_t piece_bytes;
    int stop[2];             /* a pipe: readable when all waiting shall end */
    pthread_mutex_t cutting; /* held while a piece is cut by a kind other than text, perhaps while waiting */
    pthread_mutex_t lock;    /* guards all fields below */
    bool stopped;
    hw_rows_slot *slots; /* free ones */
    hawser_load_figures figures;
    unsigned char *unseen; /* bits: columns beyond the model's that occurred */
    size_t unseen_bytes;
};

/* Like hawser_rows_open, with pieces of this many bytes; 0: chosen. Tests force small ones. */
hawser_status hw_rows_open(const char *const *paths, size_t count, const hawser_load *load, size_t piece_bytes,
                           hawser_rows **rows, hawser_error *error) HAWSER_MUST_USE;

/* Open a kind for an input whose format is known, and set rows->kind. *why is why it must be loaded as a whole instead. */
hawser_status hw_rows_svmlight(hawser_rows *rows, const char **why, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_rows_csv(hawser_rows *rows, const char **why, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_rows_documents(hawser_rows *rows, const char **why, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_rows_npy(hawser_rows *rows, const char **why, hawser_error *error) HAWSER_MUST_USE;
/* Opens the cache file that is the input. */
hawser_status hw_rows_cache(hawser_rows *rows, hawser_error *error) HAWSER_MUST_USE;

/* Makes a reading for one piece, on one thread; the input's files and budget limit are those of the rows.
 * hw_rows_reading_end frees its part. */
void hw_rows_reading(const hawser_rows *rows, hw_reading *reading);
/* Makes an empty dataset of the piece. */
hawser_status hw_rows_dataset(const hawser_rows *rows, hawser_dataset **dataset, hawser_error *error) HAWSER_MUST_USE;
/* Ignores the columns of weights of a dense input where no target is needed. Returns why the input must be loaded as a
 * whole: target, weights or offset are not in its columns; or NULL. */
const char *hw_rows_sides(const hawser_load *load, unsigned char *roles, size_t width);
/* Returns whether an option names a file of numbers by row, and not "none" or nothing. */
bool hw_rows_wants(const char *spec);

#endif
