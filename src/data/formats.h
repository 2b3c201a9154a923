/* formats.h - the formats of --format. Columns: enumerator (HAWSER_...), the word of --format, description, the extension of
 * a written file, other extensions, traits, the reader options that not all formats have, the name used in "is not a ...
 * file" if the first bytes contradict it (NULL: the first bytes prove nothing), and three functions: do the first bytes look
 * like it, load, write. A new format is an enumerator in hawser/data.h, a row here, and a file in data/format with its
 * functions. */
#ifndef HW_DATA_FORMATS_H
#define HW_DATA_FORMATS_H

#include "base/rows.h"
#include "data/source/parse.h"

enum {
    HW_FORMAT_TEXT = 1,      /* text, so idx files are not this format */
    HW_FORMAT_LINES = 2,     /* a line is a row, and a part of the input is a range of bytes */
    HW_FORMAT_BINARY = 4,    /* rows of numbers, and a part of the input is a part of the rows */
    HW_FORMAT_CERTAIN = 8,   /* the first bytes occur in this format only: tested before the others */
    HW_FORMAT_SIDES = 16,    /* can store example weights and an offset */
    HW_FORMAT_NUMBERED = 32, /* entries have column numbers, from 0 or 1; the number of columns is not stored */
    HW_FORMAT_WORDS = 128,   /* can store the words of a target */
    HW_FORMAT_PAIR = 64      /* written with the target in a second file, FILE.target */
};

#define HW_WRITTEN_FORMATS(ROW)                                                                                             \
    ROW(SVMLIGHT, "svmlight",                                                                                               \
        "sparse text, one line per row: TARGET INDEX:VALUE ... [# comment]; qid:N is ignored. Whether indices start at 0 "  \
        "or 1 is detected once for the whole input and kept in the model",                                                  \
        "svm", ".svmlight .libsvm", HW_FORMAT_TEXT | HW_FORMAT_LINES | HW_FORMAT_NUMBERED, "index-base", NULL,              \
        hw_is_svmlight, hw_svmlight_load, hw_svmlight_write)                                                                \
    ROW(CSV, "csv",                                                                                                         \
        "text with or without a line of column names; fields may be quoted, then with line breaks, and are separated by "   \
        "commas, semicolons, tabs or any number of blanks",                                                                 \
        "csv", "", HW_FORMAT_TEXT | HW_FORMAT_LINES | HW_FORMAT_SIDES | HW_FORMAT_WORDS,                                    \
        "header delimiter columns ignore categories dates missing text", NULL, hw_is_csv, hw_csv_load, hw_csv_write)        \
    ROW(MATRIX_MARKET, "matrix-market",                                                                                     \
        "coordinate or array, general, symmetric or skew-symmetric; repeated entries are added; the target is a separate "  \
        "file (--target FILE). UCI's bags of words "                                                                        \
        "(docword) are read too: the numbers of documents, words and entries, one per line, then DOCUMENT WORD COUNT",      \
        "mtx", "", HW_FORMAT_TEXT | HW_FORMAT_CERTAIN | HW_FORMAT_PAIR, "", "Matrix Market", hw_is_market, hw_market_load,  \
        hw_market_write)                                                                                                    \
    ROW(NPY, "npy",                                                                                                         \
        "a matrix as numpy saves it: one or two dimensions of integers, booleans or floats; FILE.npz:NAME is an array of "  \
        "an .npz archive; scipy's save_npz is read as a sparse matrix",                                                     \
        "npy", "", HW_FORMAT_BINARY | HW_FORMAT_CERTAIN, "", ".npy", hw_is_npy, hw_npy_load, hw_npy_write)                  \
    ROW(CACHE, "cache", "Hawser's own file, written by 'hawser data convert DATA -o FILE.hwc'; mapped, not parsed", "hwc",  \
        "", HW_FORMAT_CERTAIN | HW_FORMAT_SIDES | HW_FORMAT_WORDS, "index-base", "Hawser cache", hw_is_cache,               \
        hw_cache_load, hw_cache_write)

#define HW_READ_FORMATS(ROW)                                                                                                \
    ROW(IDX, "idx",                                                                                                         \
        "MNIST's images and labels, all six types of numbers; read, not written. The first dimension gives the rows, the "  \
        "product of the others the columns. The target is a separate file (--target LABELS), or a column by number",        \
        "", "", HW_FORMAT_BINARY | HW_FORMAT_CERTAIN, "", NULL, hw_is_idx, hw_idx_load, hw_idx_write)                       \
    ROW(DOCUMENTS, "text",                                                                                                  \
        "UTF-8 text, one document per line, read as counts of its words; read, not written. It has no target, except a "    \
        "file (--target FILE), and must be named: --format text",                                                           \
        "", "", HW_FORMAT_TEXT | HW_FORMAT_LINES, "min-length", NULL, hw_is_documents, hw_documents_load,                   \
        hw_documents_write)

#define HW_FORMATS(ROW) HW_WRITTEN_FORMATS(ROW) HW_READ_FORMATS(ROW)

/* The bounds of an option that takes the extension of a format to write: "svm|csv|...". */
#define HW_FORMAT_OR_EXTENSION(id, word, help, extension, ...) "|" extension
#define HW_EXTENSION_BOUNDS                                    (&("" HW_WRITTEN_FORMATS(HW_FORMAT_OR_EXTENSION))[1])

/* Returns whether a file that begins with `text` looks like the format. */
typedef bool (*hw_format_looks)(const char *text, size_t bytes);
/* Loads the files of the reading. */
typedef hawser_status (*hw_format_load)(hw_reading *reading, hawser_dataset *dataset, hawser_error *error);
/* Writes `rows` (sparse ones as CSR), which are a part of `whole`. */
typedef hawser_status (*hw_format_write)(const hawser_dataset *whole, hawser_dataset *rows, const char *path,
                                         hawser_error *error);

#define HW_FORMAT_FUNCTIONS(id, word, help, extension, extensions, traits, options, title, looks, load, write)              \
    bool looks(const char *text, size_t bytes);                                                                             \
    hawser_status load(hw_reading *reading, hawser_dataset *dataset, hawser_error *error) HAWSER_MUST_USE;                  \
    hawser_status write(const hawser_dataset *whole, hawser_dataset *rows, const char *path, hawser_error *error)           \
        HAWSER_MUST_USE;
HW_FORMATS(HW_FORMAT_FUNCTIONS)

typedef struct hw_format_row {
    const char *word;
    const char *extension;  /* without its dot; "": the format cannot be written */
    const char *extensions; /* further ones, with their dots, separated by blanks */
    unsigned traits;
    const char *options; /* their keys, separated by blanks */
    const char *title;
    hw_format_looks looks;
    hw_format_load load;
    hw_format_write write;
} hw_format_row;

/* Returns the row of a format, or NULL if there is none, as for HAWSER_GUESS. */
const hw_format_row *hw_format_row_of(hawser_format format);
/* Returns whether the format has all these traits; false for HAWSER_GUESS. */
bool hw_format_is(hawser_format format, unsigned traits);
/* Returns whether the format's row names the option. A cache has the base of the file that it was made from, and compares
 * it. */
bool hw_format_has_option(hawser_format format, const char *key);
/* Returns the first format that has the option, or HAWSER_GUESS if the option is about all formats. */
hawser_format hw_format_of_option(const char *key);
/* Returns its word; "none" for HAWSER_GUESS. */
const char *hw_format_name(hawser_format format);
/* Returns the format with this word of --format, or HAWSER_GUESS. */
hawser_format hw_format_find(const char *word);
/* Returns the format with this extension (".svm"), or HAWSER_GUESS. */
hawser_format hw_format_of_extension(const char *extension);
/* Writes the extensions of the formats that can be written (".svm, .csv or ..."), and returns `text`. */
const char *hw_format_extensions(char *text, size_t size);

/* The bytes of an input by which its format is recognised. */
enum { HW_GUESS_BYTES = 1 << 16 };

/* Returns the format that the first bytes of an input look like; never HAWSER_GUESS. `bytes` is at most HW_GUESS_BYTES, and
 * less only if the input ends there. */
hawser_format hw_guess_format(const char *text, size_t bytes);
/* guess.c: returns whether the line that decides is one INDEX:VALUE, as 12:01, which may also be a time in a table of one
 * column. */
bool hw_is_one_entry(const char *text, size_t bytes);
/* guess.c: returns whether an input is a bag of words (UCI's) of which only the sizes exist: three lines of one whole
 * number. */
bool hw_is_empty_docword(const char *text, size_t bytes);
/* guess.c: returns whether an input is, by its first bytes, a known format that cannot be read; *what names it, and the
 * other text says what to do. */
bool hw_is_unsupported(const char *text, size_t bytes, const char **what, const char **advice);

#endif
