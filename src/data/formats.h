/* formats.h - the formats of --format. Columns: enumerator (HAWSER_...), the word of --format, what it is, the extensions of files that
 * are written in it, its traits, what a file is not if its first bytes say otherwise (NULL: they say nothing for certain), and
 * three functions: do the first bytes look like it, load, write. A new format is an enumerator in hawser/data.h, a row here,
 * and a file in data/format with its functions. */
#ifndef HW_DATA_FORMATS_H
#define HW_DATA_FORMATS_H

#include "base/rows.h"
#include "data/source/parse.h"

enum {
    HW_FORMAT_TEXT = 1,    /* text, so that no idx file is one */
    HW_FORMAT_LINES = 2,   /* a line is a row, and a part of the input is cut at bytes */
    HW_FORMAT_BINARY = 4,  /* rows of numbers, and a part of the input is a part of the rows */
    HW_FORMAT_CERTAIN = 8, /* the first bytes belong to this format alone: looked for before the others */
    HW_FORMAT_SIDES = 16,  /* has a place for example weights and an offset */
};

#define HW_FORMATS(ROW)                                                                                                     \
    ROW(SVMLIGHT, "svmlight", "sparse text: a target and INDEX:VALUE entries a line", ".svm .svmlight .libsvm",             \
        HW_FORMAT_TEXT | HW_FORMAT_LINES, NULL, hw_is_svmlight, hw_svmlight_load, hw_svmlight_write)                        \
    ROW(CSV, "csv", "text with a delimiter between fields, with or without column names", ".csv",                           \
        HW_FORMAT_TEXT | HW_FORMAT_LINES | HW_FORMAT_SIDES, NULL, hw_is_csv, hw_csv_load, hw_csv_write)                     \
    ROW(MATRIX_MARKET, "matrix-market", "a matrix in coordinates or as an array; the target in a file of its own", ".mtx",  \
        HW_FORMAT_TEXT | HW_FORMAT_CERTAIN, "Matrix Market", hw_is_market, hw_market_load, hw_market_write)                 \
    ROW(NPY, "npy", "a matrix as numpy saves it", ".npy", HW_FORMAT_BINARY | HW_FORMAT_CERTAIN, ".npy", hw_is_npy,          \
        hw_npy_load, hw_npy_write)                                                                                          \
    ROW(CACHE, "cache", "Hawser's own mapped file", ".hwc", HW_FORMAT_CERTAIN | HW_FORMAT_SIDES, "Hawser cache",            \
        hw_is_cache, hw_cache_load, hw_cache_write)                                                                         \
    ROW(IDX, "idx", "images and labels as MNIST has them; read, not written", "", HW_FORMAT_BINARY | HW_FORMAT_CERTAIN,     \
        NULL, hw_is_idx, hw_idx_load, hw_idx_write)

/* Whether a file that begins with `text` looks like the format. */
typedef bool (*hw_format_looks)(const char *text, size_t bytes);
/* Loads the files of the job. */
typedef hawser_status (*hw_format_load)(hw_job *job, hawser_dataset *dataset, hawser_error *error);
/* Writes `rows`, sparse ones as CSR, which are a part of `whole`. */
typedef hawser_status (*hw_format_write)(const hawser_dataset *whole, hawser_dataset *rows, const char *path,
                                         hawser_error *error);

#define HW_FORMAT_FUNCTIONS(id, word, help, extensions, traits, title, looks, load, write)                                  \
    bool looks(const char *text, size_t bytes);                                                                             \
    hawser_status load(hw_job *job, hawser_dataset *dataset, hawser_error *error) HAWSER_MUST_USE;                          \
    hawser_status write(const hawser_dataset *whole, hawser_dataset *rows, const char *path, hawser_error *error)           \
        HAWSER_MUST_USE;
HW_FORMATS(HW_FORMAT_FUNCTIONS)

typedef struct hw_format_row {
    const char *word, *extensions;
    unsigned traits;
    const char *title;
    hw_format_looks looks;
    hw_format_load load;
    hw_format_write write;
} hw_format_row;

/* The row of a format, or NULL if there is none, as of HAWSER_GUESS. */
const hw_format_row *hw_format_row_of(hawser_format format);
/* Its word; "none" of HAWSER_GUESS. */
const char *hw_format_name(hawser_format format);
/* The format that a word of --format names, or HAWSER_GUESS. */
hawser_format hw_format_find(const char *word);
/* The format of this extension (".svm"), or HAWSER_GUESS. */
hawser_format hw_format_of_extension(const char *extension);
/* Writes the first extension of each format that can be written, and returns `text`. */
const char *hw_format_extensions(char *text, size_t size);

/* What the first bytes of an input look like; never HAWSER_GUESS. */
hawser_format hw_guess_format(const char *text, size_t bytes);
/* guess.c: whether an input, by its first bytes, is something known that is not read; what it is and what can be done. */
bool hw_is_foreign(const char *text, size_t bytes, const char **what, const char **advice);

#endif
