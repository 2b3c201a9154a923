/*
 * data.h - reading, writing and splitting the input, and model files.
 */
#ifndef HAWSER_DATA_H
#define HAWSER_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hawser/matrix.h"
#include "hawser/options.h"
#include "hawser/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A loaded input: a matrix, usually a target, perhaps weights, an offset, names. Read-only once loaded, so any number of
 *  threads may read it. */
typedef struct hawser_dataset hawser_dataset;

/** The option rows of the readers (format, header, target, missing, index-base, type, memory-limit, threads ...). */
HAWSER_API const hawser_option *hawser_data_rows(void);

typedef enum hawser_format {
    HAWSER_GUESS = 0,
    HAWSER_SVMLIGHT,
    HAWSER_CSV,
    HAWSER_MATRIX_MARKET,
    HAWSER_NPY,
    HAWSER_CACHE, /**< Hawser's own mapped file, written by hawser_dataset_save */
    HAWSER_IDX    /**< MNIST's images and labels; read, not written */
} hawser_format;

/** As hawser_load.delimiter: any number of blanks and tabs, also where a line begins and ends. */
#define HAWSER_BLANKS '\1'

/** What a caller may ask of a load. Zero-initialise; zero fields mean the default. */
typedef struct hawser_load {
    hawser_format format;
    const char *target;  /**< CSV/npy/idx: column name, or number from 0, negative from the end; "none"; NULL: first, of
                                idx none. A path: a file with the target alone (Matrix Market, npy, idx). */
    const char *weights; /**< CSV: column name or number of example weights; else a file of one number a row; NULL: none */
    const char *offset;  /**< the same for an offset added to the linear predictor */
    const char *names;   /**< file of column names, one a line in column order, for formats that have none; NULL: as found */
    int header;          /**< CSV: 1 yes, -1 no, 0 find out */
    char delimiter;      /**< CSV: 0 finds out of , ; tab, else blanks; HAWSER_BLANKS, or what separates two fields */
    const char *missing; /**< CSV: "refuse" (default), "zero", "mean", "drop" */
    const double *means; /**< missing "mean": what a missing value of each column is read as, `columns` numbers that the
                              training data had (hawser_dataset_means); NULL: the means of this input */
    int index_base;      /**< 0: find out once for the whole input; else 1 + base (1: base 0, 2: base 1) */
    size_t columns;      /**< predict, evaluate: the model's number of columns, input columns beyond it are counted and left
                                out; 0: as found */
    hawser_type type;    /**< HAWSER_F64 or HAWSER_F32 storage */
    int rows_layout;     /**< 1: keep CSR (prediction); 0: CSC (training); dense files are dense column-major either way */
    uint32_t threads;    /**< 0: the job's processors */
    uint64_t
        memory_limit; /**< bytes; 0: what cgroup and machine have free, divided among a job's nodes on the host, and then an
                                input may claim 2^24 rows or columns and 16 for each byte of its text, not more */
    /** Of svmlight and CSV read only the lines that begin in this share of the bytes, sparse rows kept as rows, and of .npy and idx this
     *  share of the rows; of Matrix Market the entries in these lines: coordinates in rows of the whole matrix, an array as one column of
     *  its values. Without files of names, weights, offsets or targets; there may be no rows. parts 0: everything */
    uint32_t part, parts;
} hawser_load;

/** Fills a hawser_load from options that include hawser_data_rows(). */
HAWSER_API hawser_status hawser_load_from_options(const hawser_options *options, hawser_load *load,
                                                  hawser_error *error) HAWSER_MUST_USE;

/** Loads one input made of `count` paths (globs allowed, "-" is standard input; .gz .xz .zst by content). Errors name file,
 *  line, column and the offending text. The memory needed is estimated before it is taken. */
HAWSER_API hawser_status hawser_dataset_load(const char *const *paths, size_t count, const hawser_load *load,
                                             hawser_dataset **dataset, hawser_error *error) HAWSER_MUST_USE;
HAWSER_API void hawser_dataset_free(hawser_dataset *dataset);

/** Makes a dataset from arrays (copied). `target` may be NULL. */
HAWSER_API hawser_status hawser_dataset_from(const hawser_matrix *matrix, const double *target, hawser_dataset **dataset,
                                             hawser_error *error) HAWSER_MUST_USE;

HAWSER_API const hawser_matrix *hawser_dataset_matrix(const hawser_dataset *dataset);
HAWSER_API const double *hawser_dataset_target(const hawser_dataset *dataset);  /**< rows values or NULL */
HAWSER_API const double *hawser_dataset_weights(const hawser_dataset *dataset); /**< rows values or NULL */
HAWSER_API const double *hawser_dataset_offset(const hawser_dataset *dataset);  /**< rows values or NULL */
/** Returns HAWSER_OK if all entries of a matrix are on this node, else HAWSER_BAD_ARGUMENT with a column that is on another one (hawser_job_load):
 *  outside of a run its entries are to be fetched first (hawser_job_fetch), since kernels and pointers read zeros. */
HAWSER_API hawser_status hawser_matrix_whole(const hawser_matrix *matrix, hawser_error *error) HAWSER_MUST_USE;
/** What missing values were read as under missing "mean", one a column, or NULL: whoever reads other data for the same model reads
 *  theirs alike. */
HAWSER_API const double *hawser_dataset_means(const hawser_dataset *dataset);
/** Name of a column or NULL when the input had none. */
HAWSER_API const char *hawser_dataset_column(const hawser_dataset *dataset, size_t column);
HAWSER_API const char *hawser_dataset_target_name(const hawser_dataset *dataset); /**< or NULL */

/** Facts about a load, for `hawser data info`, --json and the model file. */
typedef struct hawser_load_figures {
    hawser_format format;
    int index_base;      /**< 0 or 1 as decided; -1 where the format has none */
    bool base_guessed;   /**< nothing in the input or the options settled it */
    uint64_t bytes_read; /**< compressed size where compressed */
    uint64_t bytes_text;
    double seconds;
    uint64_t unseen_entries; /**< stored entries left out because their column is beyond hawser_load.columns */
    uint64_t unseen_columns;
    uint64_t rows_dropped; /**< missing = drop */
    uint64_t memory_estimate;
    bool parted;               /**< only the part that hawser_load.part asked for: else the whole was read in any case */
    uint32_t readers;          /**< threads that parsed; 0: a cache was mapped, and nobody did */
    const uint64_t *rows_read; /**< per reader, owned by the dataset; NULL without readers. Of Matrix Market: entries */
    bool target_file;          /**< hawser_load.target was a file, no column */
} hawser_load_figures;
HAWSER_API const hawser_load_figures *hawser_dataset_figures(const hawser_dataset *dataset);

/** Writes Hawser's binary cache: mapped, not parsed, next time. Written to a temporary name and renamed. */
HAWSER_API hawser_status hawser_dataset_save(const hawser_dataset *dataset, const char *path,
                                             hawser_error *error) HAWSER_MUST_USE;
/** Writes rows [begin, end) in the given format, index base 1; the same atomic way. CSV gets a header line; npy and CSV have the
 *  target first, Matrix Market in PATH.target. Weights and offset fit into csv (columns "weight", "offset") and cache alone. */
HAWSER_API hawser_status hawser_dataset_write(const hawser_dataset *dataset, size_t begin, size_t end, hawser_format format,
                                              const char *path, hawser_error *error) HAWSER_MUST_USE;

/** Splits `parts` ways so that the work is balanced, which is taken to be one for each stored entry and eight for each
 *  column (CSR: row): bounds gets parts + 1 column (CSC, dense) or row (CSR) numbers, bounds[0] = 0. Every part is non-empty
 *  when there are at least `parts` columns. */
HAWSER_API void hawser_balance(const hawser_matrix *matrix, size_t parts, size_t *bounds);

/** Seeded synthetic problems with a known sparse truth. `dense`: 20 common factors, unit rows (epsilon-like). `url`: Zipf
 *  columns, unit rows (URL-like). truth (may be NULL) receives cols values owned by the caller (free()). */
typedef struct hawser_generate {
    const char *kind; /**< "dense" or "url" */
    size_t rows;      /**< 1 to 2^32 - 2 */
    size_t cols;      /**< 1 to 2^30 - 2 */
    /** url: stored entries a row on average, 1 to half the columns; 0: 115, or a quarter of the columns if that is less. */
    double per_row;
    /** Of the truth, 1 to cols; 0: 100, or half of fewer columns, or for url a 300th of them if that is more. */
    size_t nonzeros;
    double noise; /**< standard deviation as a fraction of the signal's; 0: 0.1 */
    uint64_t seed;
} hawser_generate;
HAWSER_API hawser_status hawser_dataset_generate(const hawser_generate *what, hawser_dataset **dataset, double **truth,
                                                 hawser_error *error) HAWSER_MUST_USE;

/* ------------------------------------------------------------------------------------------------------ model files ---- */

/** A model: named tensors and text facts, kept as a safetensors file that other software reads. */
typedef struct hawser_model hawser_model;
HAWSER_API hawser_status hawser_model_new(hawser_model **model, hawser_error *error) HAWSER_MUST_USE;
HAWSER_API void hawser_model_free(hawser_model *model);
/** Adds a tensor of 1 or 2 dimensions (copied); dims[1] = 0 means one dimension. At most 999 tensors and 998 facts, as files have at most. */
HAWSER_API hawser_status hawser_model_tensor(hawser_model *model, const char *name, hawser_type type, const size_t dims[2],
                                             const void *values, hawser_error *error) HAWSER_MUST_USE;
/** Adds a text fact (copied) to the header's metadata. */
HAWSER_API hawser_status hawser_model_fact(hawser_model *model, const char *key, const char *value,
                                           hawser_error *error) HAWSER_MUST_USE;
/** Whether the names of all columns have room in a model file as one fact, one a line: the format's header ends at 100 MB. False, too, where
 *  there are no names. To be asked before a training, whose model could not be saved. */
HAWSER_API bool hawser_model_holds_names(const hawser_dataset *dataset);
/** A tensor's values or NULL; owned by the model. dims and type may be NULL. */
HAWSER_API const void *hawser_model_get(const hawser_model *model, const char *name, hawser_type *type, size_t dims[2]);
HAWSER_API const char *hawser_model_text(const hawser_model *model, const char *key); /**< or NULL */
/** The i-th fact's key and value, false past the end. */
HAWSER_API bool hawser_model_fact_at(const hawser_model *model, size_t index, const char **key, const char **value);
/** Saves with a checksum, under a temporary name, synced and renamed: a reader sees the old file or the new one. */
HAWSER_API hawser_status hawser_model_save(const hawser_model *model, const char *path, hawser_error *error) HAWSER_MUST_USE;
HAWSER_API hawser_status hawser_model_load(const char *path, hawser_model **model, hawser_error *error) HAWSER_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
