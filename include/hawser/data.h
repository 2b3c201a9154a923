/*
 * data.h - reading, writing and splitting the input, and model files.
 */
#ifndef HAWSER_DATA_H
#define HAWSER_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hawser/cancellation.h"
#include "hawser/matrix.h"
#include "hawser/options.h"
#include "hawser/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A loaded input: a matrix, usually a target, and optionally weights, an offset and names. It is read-only after the load,
 *  so any number of threads may read it. */
typedef struct hawser_dataset hawser_dataset;

/** The columns of a table with words or dates (CSV): what each holds, and which columns of the matrix it becomes. Read-only
 *  once made, so any number of threads may read it. */
typedef struct hawser_schema hawser_schema;

typedef enum hawser_column_kind {
    HAWSER_NUMERIC = 0, /**< one column of the matrix */
    /** words: one column of 0 and 1 per level, in the order of the levels' UTF-8 bytes; no level is left out */
    HAWSER_CATEGORY,
    /** days since 1970-01-01 UTC, then 0 and 1 for each of 12 months, 7 weekdays from Monday on, and 24 hours if the column
     *  has times of day */
    HAWSER_DATE
} hawser_column_kind;

/** A column of a table. Pointers are the schema's. */
typedef struct hawser_schema_column {
    const char *name; /**< UTF-8; "" if it has none */
    hawser_column_kind kind;
    size_t first, count; /**< its columns of the matrix: [first, first + count) */
    const char *const
        *levels; /**< category: `count` words; a level "" stands for missing values (missing "level"). Else NULL */
} hawser_schema_column;

/** How data are split over the blocks of a job: into ranges of columns (CSC, HAWSER_DENSE) or rows (CSR, both dense
 *  layouts), cut by hawser_balance; dense rows are cut into equal shares, except with hawser_data_costs. Of a load
 *  (hawser_load.split): which of them a node keeps if a job has several nodes, the columns or the rows of its own blocks.
 *  The plan refuses a data state that is split in another way than its input. */
typedef enum hawser_split {
    HAWSER_BY_COLUMN,
    HAWSER_BY_ROW,
    /** Every block reads all of it, one copy per node. If hawser_job_load has distributed the columns over nodes, a node
     *  fetches those of the others before its first unit that reads the state, and keeps them. hawser_plan_print prints the
     *  bytes; the plan refuses what does not fit --memory-limit. */
    HAWSER_WHOLE,
    /** Every block sees all columns, but those of other nodes have no entries until a unit fetches them (hawser_data_fetch).
     *  For units that use few columns of other blocks. If all entries are on the node, it is the same as HAWSER_WHOLE. */
    HAWSER_FETCHED
} hawser_split;

/** The option rows of the readers (format, header, target, missing, index-base, type, memory-limit, threads ...). */
HAWSER_API const hawser_option *hawser_data_rows(void);

typedef enum hawser_format {
    HAWSER_GUESS = 0,
    HAWSER_SVMLIGHT,
    HAWSER_CSV,
    HAWSER_MATRIX_MARKET,
    HAWSER_NPY,
    HAWSER_CACHE,    /**< Hawser's own mapped file, written by hawser_dataset_save */
    HAWSER_IDX,      /**< MNIST's images and labels; read, not written */
    HAWSER_DOCUMENTS /**< UTF-8 text, one document per line, as counts of its words; read, not written */
} hawser_format;

/** A value of hawser_load.delimiter: any number of blanks and tabs, also at the start and end of a line. */
#define HAWSER_BLANKS '\1'

/** Options of a load. Initialise it with zeros; zero fields mean the default. Errors of readers name the command's options:
 *  --missing is the field `missing`, --index-base is index_base. A program that takes these options itself makes its options
 *  with hawser_data_rows and calls hawser_load_from_options. */
typedef struct hawser_load {
    hawser_format format;
    /** CSV, npy, idx: a column name or number (from 0; negative numbers count from the end), or "none"; Matrix Market, npy,
     *  idx: path of a file with the target only. NULL: the first column; for idx, none */
    const char *target;
    /** `target` may name several columns, separated by commas, for an algorithm that predicts several targets; or a file
     *  with a column for each target, also for svmlight. At most 64. */
    bool outputs;
    /** CSV: name or number of the column with example weights; else a file with one number per row; NULL: none */
    const char *weights;
    const char *offset; /**< as `weights`, for an offset that is added to the linear predictor */
    const char *groups; /**< CSV, npy: name or number of a column that is no feature; rows with the same value are a group */
    const char *exposure; /**< as `offset`, a column of exposures > 0: the offset is their logarithm; not with `offset` */
    const char *names;    /**< file of column names, one per line, for formats without names; NULL: names from the input */
    int header;           /**< CSV: 1 yes, -1 no, 0 detect */
    char delimiter;       /**< CSV: the separator of fields, or HAWSER_BLANKS; 0 detects , ; tab or blanks */
    const char
        *select; /**< CSV: the features, names or numbers separated by commas; NULL: all columns without another role */
    const char *ignore; /**< CSV: columns that are not read, names or numbers separated by commas; NULL: none */
    /** CSV: columns that are read as words whatever they look like, names or numbers separated by commas. "auto" (default):
     *  a column is a category if none of its values is a number. "none": words are refused. */
    const char *categories;
    const char *dates; /**< CSV: columns of dates (ISO 8601), names or numbers separated by commas; NULL: none */
    /** CSV: "refuse" (default), "zero", "mean" (numbers only), "drop", "level" (words only: missing ones are a level of
     *  their own), or one for numbers and one for words: "mean,level" */
    const char *missing;
    /** CSV: name or number of the column whose words are the features, as counts; columns without a role are not read. With
     *  format HAWSER_GUESS the input is CSV, unless its first bytes are those of another format. NULL: none */
    const char *text;
    /** HAWSER_DOCUMENTS, `text`: characters of a word at least; 0: 2. A word is a run of letters and digits, in lower case.
     *  With `schema`, words are matched with the names of its columns, and others are counted (unknown_words of the
     *  figures) */
    uint32_t min_length;
    /** Values of features must be counts, whole numbers from 0 to 2^31 - 1. Text that has others is refused with file and
     *  line; other formats are not looked at */
    bool counts;
    /** with format HAWSER_GUESS: the input is HAWSER_DOCUMENTS, unless its first bytes are those of a cache, of Matrix
     *  Market, .npy or idx, its name ends as that of another format, or `names` is given. For a model of text */
    bool guess_text;
    /** Sparse data, with neither `schema` nor `columns`: columns stay if this many rows have an entry that is not 0, as "5",
     *  or this share of the rows, as "0.5" (with a decimal point). Rows of weight 0 do not count. Columns with names that do
     *  not stay are taken out; others keep their numbers, and lose their entries. NULL: no bound. Over nodes the rows of all
     *  count, and only text may be read so */
    const char *min_documents, *max_documents;
    /** of these, the columns with the largest sums stay, equal ones by the bytes of their names; 0: all */
    size_t max_words;
    /** columns with these names do not stay: "english", or a file with one word per line, compared in lower case; NULL:
     *  none */
    const char *stop_words;
    const double
        *means; /**< missing "mean": the value of a missing entry of each column, `columns` numbers from the training data
                              (hawser_dataset_means); NULL: the means of this input */
    int index_base; /**< 0: detect once for the whole input; else 1 + base (1: base 0, 2: base 1) */
    /** Of a model (its training data's hawser_dataset_schema, or hawser_schema_read): columns are matched by name if both
     *  sides have names, else by position, and words have the model's levels. Other columns are counted and ignored.
     *  Borrowed; NULL: none */
    const hawser_schema *schema;
    /** with `schema`: a word that it does not have is read as none of its levels, instead of being refused */
    bool unseen_zero;
    /** 1: the target's values are labels of classes. If a target of CSV, svmlight or .npy has whole numbers beyond 2^53,
     *  they stay distinct over 64 bits: its numbers become the words of the schema's target, in ascending order. 0: numbers
     *  are rounded to doubles */
    int labels;
    bool target_optional; /**< with `schema` or `columns`: the input may lack the target */
    /** with these, for an input without names: 1 + the target's column in the training data; 0: unknown */
    size_t target_place;
    const char *id; /**< hawser_rows_open: name or number of the CSV column that identifies rows by its text; NULL: none */
    /** predict, evaluate: the model's number of columns; columns beyond it are counted and ignored. 0: all columns */
    size_t columns;
    hawser_type type; /**< HAWSER_F64 or HAWSER_F32 storage */
    /** 1: by rows, CSR or HAWSER_DENSE_ROWS (programs split by row, prediction); 0: by columns, CSC or HAWSER_DENSE */
    int rows_layout;
    /** svmlight that takes no more memory so, with f64 from two thirds of all entries on, is stored as HAWSER_DENSE or
     *  HAWSER_DENSE_ROWS, on which kernels are faster. All nodes find the same. For algorithms and programs that read these
     *  layouts, too */
    bool full_dense;
    /** HAWSER_BY_ROW: as rows_layout 1, and hawser_job_load gives each of several nodes the rows of its own blocks, with
     *  their target, weights, offset and groups (hawser_dataset_beside). Which rows a block has depends on the data and the
     *  number of blocks alone (hawser_dataset_cut). HAWSER_BY_COLUMN: the columns of its own blocks. Others are refused */
    hawser_split split;
    /** hawser_job_load with HAWSER_BY_ROW: a dataset that was loaded by row for the same number of workers, whose cut this
     *  input gets. Both can then be data states of one program, whichever has more entries. An input with another number of
     *  rows is refused, and so is one whose rows may differ because rows with missing values were dropped. The rows are then
     *  held by block on one node, too. Every node passes the same one; it is only read during the call. Validation data have
     *  other rows and a cut of their own: they follow the training data by `schema`, `means`, `columns` and `index_base`,
     *  and leave `like` NULL */
    const hawser_dataset *like;
    uint32_t threads; /**< 0: the job's processors */
    /** Bytes; 0: what cgroup and machine have free, divided among the job's nodes on the host. With 0 an input may also have
     *  at most 2^24 rows or columns plus 16 for each byte of its text */
    uint64_t memory_limit;
    /** Reads only part `part` of `parts`: the lines of svmlight and CSV that begin in this share of the bytes, kept as rows;
     *  this share of the rows of .npy and idx; the entries of Matrix Market in these lines, coordinates with rows of the
     *  whole matrix and an array as one column of its values. Not combined with files of names, weights, offsets or targets.
     *  The part may have no rows. parts 0: the whole. hawser_job_load with parts 1 and the format HAWSER_CSV: the input of
     *  each node has rows of its own, at least one, with the columns that all nodes have. Those of node k follow those of
     *  node k - 1, and words, dates and means are those of all rows */
    uint32_t part, parts;
    /** Ends the load with HAWSER_STOP: its reading, also from a pipe that has nothing to read, its unpacking and its
     *  parsing. hawser_rows_next ends likewise. In hawser_job_load it takes the place of the job's. NULL: the job's, or
     *  none */
    const hawser_cancellation *cancellation;
} hawser_load;

/** Prepares the load of an input that must have the columns of `data`. Sets columns, schema, target_place and means, and
 *  index_base and target if they are not set. The other fields stay as they are. The load then borrows from `data`, and from
 *  *named: a schema of the names of columns, or NULL. The caller frees *named with hawser_schema_free after the load. */
HAWSER_API hawser_status hawser_load_follow(hawser_load *load, const hawser_dataset *data, hawser_schema **named,
                                            hawser_error *error) HAWSER_MUST_USE;

/** Fills a hawser_load from options that include hawser_data_rows(). */
HAWSER_API hawser_status hawser_load_from_options(const hawser_options *options, hawser_load *load,
                                                  hawser_error *error) HAWSER_MUST_USE;

/** Loads one input from `count` paths. Globs are allowed, "-" is standard input, and gzip, xz and zstd are detected by
 *  content. Errors name file, line, column and the offending text. The memory is estimated before it is allocated. The
 *  caller frees the dataset. */
HAWSER_API hawser_status hawser_dataset_load(const char *const *paths, size_t count, const hawser_load *load,
                                             hawser_dataset **dataset, hawser_error *error) HAWSER_MUST_USE;
HAWSER_API void hawser_dataset_free(hawser_dataset *dataset);

/** Makes a dataset from arrays (copied). `target` may be NULL. */
HAWSER_API hawser_status hawser_dataset_from(const hawser_matrix *matrix, const double *target, hawser_dataset **dataset,
                                             hawser_error *error) HAWSER_MUST_USE;

/** Arrays of the caller, for hawser_dataset_borrow. What is zero is absent. */
typedef struct hawser_arrays {
    hawser_matrix matrix; /**< every layout; `stored`, `first` and `mapped` are ignored */
    /** CSC, CSR: offsets of 32 bits, with matrix.offsets NULL (scipy has them). They alone are copied, and offsets that do
     *  not begin at 0 */
    const uint32_t *offsets32;
    const double *target, *weights, *offset, *groups; /**< matrix.rows numbers each */
    const char *const *names;                         /**< one per column of the matrix; copied */
    const char *target_name;                          /**< copied */
    /** Several targets, in place of `target`: a dense matrix of matrix.rows rows and 1 to 64 columns. Column k becomes
     *  hawser_dataset_output(k). HAWSER_DENSE has target k of row i at values[k * stride + i], HAWSER_DENSE_ROWS at values[i
     *  * stride + k]; `stored` and `first` are ignored. HAWSER_DENSE with the type HAWSER_F64 is read in place, and others
     *  are copied. One column is the same as `target` */
    hawser_matrix outputs;
    const char *const *output_names; /**< one per column of `outputs`, in place of target_name; copied */
    void (*release)(void *user);     /**< called once, by hawser_dataset_free, when the arrays are needed no more */
    void *user;
    /** Words for the numbers 0, 1, ... that `target` has, such as labels that a double does not hold: the words of the
     *  schema's target (hawser_dataset_schema), and so the classes of a model. All different; copied. NULL: the target has
     *  numbers */
    const char *const *target_words;
    size_t target_word_count;
} hawser_arrays;
/** Makes a dataset of arrays without a copy of their numbers, except for some `outputs`. The arrays must neither change nor
 *  be freed before `release` is called, in which thread ever hawser_dataset_free is called. They get the checks that a file
 *  gets: HAWSER_BAD_ARGUMENT for a number that is not finite, or for indices that do not ascend; HAWSER_BAD_INPUT for a
 *  negative weight. After an error `release` is not called. See hawser_train for the layouts that an algorithm reads, and
 *  hawser_head.width for those that take several targets. */
HAWSER_API hawser_status hawser_dataset_borrow(const hawser_arrays *arrays, hawser_dataset **dataset,
                                               hawser_error *error) HAWSER_MUST_USE;
/** Makes a dataset with the entries of another one in the other layout, by rows instead of by columns or the reverse: CSR
 *  from CSC, HAWSER_DENSE from HAWSER_DENSE_ROWS. Entries are copied once; target, weights, offset, groups and names are
 *  those of `dataset`, which must outlive *turned. HAWSER_BAD_ARGUMENT if not all entries are on this node. The caller frees
 *  *turned. */
HAWSER_API hawser_status hawser_dataset_turn(const hawser_dataset *dataset, hawser_dataset **turned,
                                             hawser_error *error) HAWSER_MUST_USE;

/** Checks the length of the cache file that a dataset maps. Returns HAWSER_BAD_INPUT, with its name and both lengths, if
 *  another program has cut it; HAWSER_OK else, also for a dataset without a file. Trainings, hawser_job_data,
 *  hawser_job_same, hawser_dataset_turn, _save and _write call it before they read. If a file is cut during a read, the
 *  kernel ends the process by SIGBUS. Thread-safe. */
HAWSER_API hawser_status hawser_dataset_intact(const hawser_dataset *dataset, hawser_error *error) HAWSER_MUST_USE;
/** Makes a dataset with a number subtracted from each column: x - origin[j], rounded to the matrix's type. origin[j] = 0
 *  leaves column j as it is, and hawser_job_origins finds the numbers for columns that are far from zero. Any layout; a
 *  sparse column with an origin gets an entry in every row. Entries are copied once, those of this node's columns if the
 *  nodes have different ones; the rest is that of `dataset`, which must outlive *centred. HAWSER_BAD_ARGUMENT if the rows
 *  are held by block. The caller frees *centred. */
HAWSER_API hawser_status hawser_dataset_centre(const hawser_dataset *dataset, const double *origin, hawser_dataset **centred,
                                               hawser_error *error) HAWSER_MUST_USE;
/** Makes a dataset of some columns of a sparse one: column k is columns[k] of `dataset`. The columns ascend. Entries of
 *  other columns are left out. hawser_job_occurring finds the columns that have entries: with these, the values are those of
 *  `dataset`, and only the numbers of columns (CSR) or their places (CSC) take memory. The rest is that of `dataset`, which
 *  must outlive *selected; hawser_dataset_label still prints the columns' names, or their numbers in the input.
 *  HAWSER_BAD_ARGUMENT if the data are dense, have words or dates, or if the nodes have different columns and one that has
 *  entries is left out. The caller frees *selected. */
HAWSER_API hawser_status hawser_dataset_select(const hawser_dataset *dataset, const uint32_t *columns, size_t count,
                                               hawser_dataset **selected, hawser_error *error) HAWSER_MUST_USE;
/** Returns what hawser_job_origins would subtract from a column of these numbers, one per row, or 0; rows of weight 0 do not
 *  count (NULL: ones). */
HAWSER_API double hawser_origin_of(const double *values, const double *weights, size_t rows);

HAWSER_API const hawser_matrix *hawser_dataset_matrix(const hawser_dataset *dataset);
/* Arrays for all rows. NULL also of a load by row of a job (hawser_job_load), on one node as on several: see
 * hawser_dataset_beside, and hawser_data_beside in units. */
HAWSER_API const double *hawser_dataset_target(const hawser_dataset *dataset);  /**< rows values or NULL */
HAWSER_API const double *hawser_dataset_weights(const hawser_dataset *dataset); /**< rows values or NULL */
HAWSER_API const double *hawser_dataset_offset(const hawser_dataset *dataset);  /**< rows values or NULL */
HAWSER_API const double *hawser_dataset_groups(
    const hawser_dataset *dataset); /**< rows values, equal for rows of one group, or NULL */
/** Returns HAWSER_OK if all entries of a matrix are on this node, else HAWSER_BAD_ARGUMENT with the number of a column that
 *  is on another node (hawser_job_load), or the remark that rows are held by block. Outside of a run, fetch such columns
 *  first (hawser_job_fetch): kernels and pointers read them as zeros. */
HAWSER_API hawser_status hawser_matrix_whole(const hawser_matrix *matrix, hawser_error *error) HAWSER_MUST_USE;
/** Returns the values of missing entries under missing "mean", one per column, or NULL. A load of other data for the same
 *  model passes them as hawser_load.means. */
HAWSER_API const double *hawser_dataset_means(const hawser_dataset *dataset);
/** Returns 1 if all values of a column are equal numbers although the input has different ones: they became equal when they
 *  were rounded to the stored type. 0: they are equal in the input, too, or they differ. -1: that is unknown, as of Matrix
 *  Market over several nodes or from a pipe, and of old cache files. Targets count as columns behind the last. Rows of
 *  weight 0 count, if the weights are in a file of their own. */
HAWSER_API int hawser_dataset_rounded(const hawser_dataset *dataset, size_t column);
/** Returns the name of a column, or NULL if the input has no names. */
HAWSER_API const char *hawser_dataset_column(const hawser_dataset *dataset, size_t column);
HAWSER_API const char *hawser_dataset_target_name(const hawser_dataset *dataset); /**< or NULL */
/** Returns the number of targets (hawser_load.outputs, hawser_arrays.outputs); 0: the input has none. */
HAWSER_API size_t hawser_dataset_outputs(const hawser_dataset *dataset);
/** Returns a target, one number per row, or NULL if there are not that many, or if the rows are held by block. Number 0 is
 *  hawser_dataset_target. */
HAWSER_API const double *hawser_dataset_output(const hawser_dataset *dataset, size_t output);
/** Returns the name of a target, or NULL if it has none. */
HAWSER_API const char *hawser_dataset_output_name(const hawser_dataset *dataset, size_t output);

/** What belongs to some consecutive rows: arrays of `count` numbers, or NULL where the input has none. The dataset owns
 *  them. */
typedef struct hawser_beside {
    size_t first, count;
    const double *target, *weights, *offset, *groups;
    const double *outputs[64]; /**< all targets (hawser_dataset_outputs); the first is `target` */
} hawser_beside;
/** Stores what belongs to the rows [first, first + count) of a dataset. Of what hawser_read gives of a data state that is
 *  split by row, these are view->first and view->rows. If the rows are held by block, they must be in one block of this
 *  node, else HAWSER_BAD_ARGUMENT says where they are; a whole dataset has any rows. Thread-safe. */
HAWSER_API hawser_status hawser_dataset_beside(const hawser_dataset *dataset, size_t first, size_t count,
                                               hawser_beside *beside, hawser_error *error) HAWSER_MUST_USE;
/** Returns where hawser_job_load has cut the rows for HAWSER_BY_ROW, and stores the number of blocks B: block b has the rows
 *  [cut[b], cut[b + 1]). The same on every node, and for any number of nodes. NULL, and 0 blocks: the dataset was not loaded
 *  so. `blocks` may be NULL. */
HAWSER_API const size_t *hawser_dataset_cut(const hawser_dataset *dataset, uint32_t *blocks);

/** Returns the schema of a dataset, or NULL if its columns are those of the matrix. The dataset owns it. */
HAWSER_API const hawser_schema *hawser_dataset_schema(const hawser_dataset *dataset);
/** Returns the number of the table's columns, without target, weights and offset. */
HAWSER_API size_t hawser_schema_count(const hawser_schema *schema);
/** Stores a column of the table; returns false if there is none of that number. */
HAWSER_API bool hawser_schema_at(const hawser_schema *schema, size_t column, hawser_schema_column *out);
/** Returns the words that are the target's classes, in the order of their bytes, and stores their number; the target's value
 *  is the number of a word, from 0. NULL: the target has numbers. */
HAWSER_API const char *const *hawser_schema_target(const hawser_schema *schema, size_t *count);
/** Writes the name of a column of the matrix as people read it: "weather=clear", "day:month=3". Returns its length, which
 *  may be more than `size` - 1 (then it is cut), and 0 if there is no such column. */
HAWSER_API size_t hawser_schema_print(const hawser_schema *schema, size_t column, char *text, size_t size);
/** Writes a text as it is printed: control characters, those that reverse a text's direction, and bytes that are no UTF-8,
 *  become \n, \r, \t or \xHH. Returns the length like hawser_schema_print, 0 for NULL. Texts of errors and messages, and
 *  labels of columns, are written so. */
HAWSER_API size_t hawser_escape(const char *from, char *text, size_t size);
/** Returns the numbers of the input's columns that the table has, as "0-1,3-5" if column 2 is the target. Of CSV, npy and
 *  idx only; NULL: the features come first, or the format counts only these. */
HAWSER_API const char *hawser_dataset_numbers(const hawser_dataset *dataset);
/** Writes what people call a column of the matrix: its name as hawser_schema_print writes it, escaped (hawser_escape), or
 *  its number where the input has no names. CSV, npy and idx count all their columns from 0 (hawser_dataset_numbers), as the
 *  options of a load do; svmlight and Matrix Market number their columns themselves. Words of a column without a name are
 *  "3=clear". Returns the length like hawser_schema_print. */
HAWSER_API size_t hawser_dataset_label(const hawser_dataset *dataset, size_t column, char *text, size_t size);
/** Writes the schema as JSON, and reads it. The caller frees *text with free(), *schema with hawser_schema_free.
 *  HAWSER_BAD_INPUT for text that is no schema. */
HAWSER_API hawser_status hawser_schema_write(const hawser_schema *schema, char **text, hawser_error *error) HAWSER_MUST_USE;
HAWSER_API hawser_status hawser_schema_read(const char *text, hawser_schema **schema, hawser_error *error) HAWSER_MUST_USE;
HAWSER_API void hawser_schema_free(hawser_schema *schema);

/** Facts about a load, for `hawser data info`, --json and the model file. */
typedef struct hawser_load_figures {
    hawser_format format;
    int index_base;      /**< 0 or 1 as decided; -1 where the format has none */
    bool base_guessed;   /**< neither the input nor the options determined it */
    bool format_assumed; /**< neither the input, nor the options, nor the name of the file determined the format */
    int header_guessed;  /**< CSV: 1: the first line was taken as a header, -1: as a row, and no option says which; else 0 */
    uint64_t bytes_read; /**< compressed size where compressed */
    uint64_t bytes_text;
    double seconds;
    uint64_t unseen_entries; /**< stored entries ignored because their column is beyond hawser_load.columns */
    uint64_t unseen_columns;
    uint64_t rows_dropped;  /**< missing = drop */
    uint64_t unknown_words; /**< of text: words that were ignored because the model does not have them */
    uint32_t text_rules; /**< version of the rules by which text was cut into words, of which a model keeps it; 0: no text */
    uint32_t text_length; /**< of text: characters that a word had at least (hawser_load.min_length) */
    uint64_t memory_estimate;
    /** the most bytes that the load took, as counted; 0: what it has is the pages of a file, or the caller's */
    uint64_t memory_taken;
    bool parted;               /**< only hawser_load.part was read; false: the format has no parts, and the whole was read */
    uint32_t readers;          /**< threads that parsed; 0: a cache file was mapped */
    const uint64_t *rows_read; /**< rows (Matrix Market: entries) per reader, owned by the dataset; NULL without readers */
    size_t target_column;      /**< CSV, npy, idx: 1 + the target's column; 0: it has none */
    bool target_file;          /**< hawser_load.target was a file and not a column */
    /** Rows (Matrix Market and caches by columns: entries) that a node has read and sent to another, because their block is
     *  there; only with HAWSER_BY_ROW */
    uint64_t rows_moved;
    /** read by this node: of bytes_read, and of files of targets, weights and offsets that nodes read in parts */
    uint64_t bytes_here;
} hawser_load_figures;
HAWSER_API const hawser_load_figures *hawser_dataset_figures(const hawser_dataset *dataset);
/** Writes what the load assumed because neither the input nor an option said it, "the first line is a header (--header);
 *  colour has words (--categories)". `options` are those of the load, with the rows of hawser_data_rows. Returns the length
 *  like hawser_schema_print, 0 if nothing was assumed. */
HAWSER_API size_t hawser_dataset_assumed(const hawser_dataset *dataset, const hawser_options *options, char *text,
                                         size_t size);

/** An input that is read in pieces of rows, for the columns of a model, so that memory does not grow with the input. */
typedef struct hawser_rows hawser_rows;

/** Some rows of an input. The caller frees `data`. */
typedef struct hawser_piece {
    uint64_t number;        /**< pieces are counted from 0 in the order of the input */
    hawser_dataset *data;   /**< NULL: the piece has no rows */
    const char *const *ids; /**< hawser_load.id: the text of each row, without quotes; owned by `data`. NULL without it */
} hawser_piece;

/** Opens an input like hawser_dataset_load, to be read in pieces. `load` has the columns of a model (`columns`, and `schema`
 *  if it has one), and for svmlight the index base; its texts and arrays, and `paths`, must outlive the rows. Reads until
 *  the first line is there. svmlight, CSV, .npy in row order and the cache file are read in pieces; of pipes and archives a
 *  piece has the rows that can be read without waiting. Any other input is loaded at once and is one piece
 *  (hawser_rows_loaded). Example weights are read unless `target_optional`. The names of columns and targets that a piece
 *  has are those of the rows. HAWSER_BAD_OPTION for an `id` that the input cannot have. */
HAWSER_API hawser_status hawser_rows_open(const char *const *paths, size_t count, const hawser_load *load,
                                          hawser_rows **rows, hawser_error *error) HAWSER_MUST_USE;
/** Reads the next piece; *more is false at the end, or after a stop. After a failure piece->data has the rows before the bad
 *  one, or is NULL, and the input has ended. Blocks until a row can be read. Thread-safe: each piece goes to one of the
 *  callers. */
HAWSER_API hawser_status hawser_rows_next(hawser_rows *rows, hawser_piece *piece, bool *more,
                                          hawser_error *error) HAWSER_MUST_USE;
/** Ends the input: calls of hawser_rows_next that wait, and later ones, return no piece. Thread-safe. */
HAWSER_API void hawser_rows_stop(hawser_rows *rows);
/** Returns why the input was loaded as a whole, as the end of a sentence, or NULL: it is read in pieces. */
HAWSER_API const char *hawser_rows_loaded(const hawser_rows *rows);
/** Returns the name of the column hawser_load.id, or NULL if the input has no names, or no such column was asked for. */
HAWSER_API const char *hawser_rows_id(const hawser_rows *rows);
/** Stores the facts about what was read so far. rows_read and the sizes are not filled. Thread-safe. */
HAWSER_API void hawser_rows_figures(hawser_rows *rows, hawser_load_figures *figures);
HAWSER_API void hawser_rows_close(hawser_rows *rows);

/** Writes Hawser's binary cache file, which a later load maps instead of parsing text. The file is written under a temporary
 *  name and renamed. */
HAWSER_API hawser_status hawser_dataset_save(const hawser_dataset *dataset, const char *path,
                                             hawser_error *error) HAWSER_MUST_USE;
/** Writes rows [begin, end) in the given format, with index base 1, under a temporary name and renamed. CSV has a header
 *  line. npy and CSV have the target as first column, Matrix Market in PATH.target. Only CSV (columns "weight", "offset")
 *  and the cache file keep weights and offset. */
HAWSER_API hawser_status hawser_dataset_write(const hawser_dataset *dataset, size_t begin, size_t end, hawser_format format,
                                              const char *path, hawser_error *error) HAWSER_MUST_USE;

/** Splits a matrix into `parts` of balanced work. The work is one per stored entry plus eight per column (CSR: row). Stores
 *  parts + 1 column (CSC, dense) or row (CSR) numbers in `bounds`, with bounds[0] = 0. No part is empty if there are at
 *  least `parts` columns. If a CSC matrix has at least 65,536 columns without entries, and less than eight entries for each
 *  of them, these columns count for nothing, and the others are split as if they were side by side. */
HAWSER_API void hawser_balance(const hawser_matrix *matrix, size_t parts, size_t *bounds);

/** A seeded synthetic problem with a known sparse truth. `dense`: 20 common factors, unit rows (like epsilon). `url`: Zipf
 *  columns, unit rows (like URL). */
typedef struct hawser_generate {
    const char *kind; /**< "dense" or "url" */
    size_t rows;      /**< 1 to 2^32 - 2 */
    size_t cols;      /**< 1 to 2^30 - 2 */
    /** url: mean of stored entries per row, 1 to half the columns; 0: 115, or a quarter of the columns if that is less. */
    double per_row;
    /** Nonzeros of the truth, 1 to cols; 0: 100, or half the columns if that is less, or for url a 300th of them if that is
     *  more. */
    size_t nonzeros;
    double noise; /**< standard deviation as a fraction of the signal's; 0: 0.1 */
    uint64_t seed;
} hawser_generate;
/** Makes a synthetic problem. `truth` receives cols values, which the caller releases with free(); it may be NULL. */
HAWSER_API hawser_status hawser_dataset_generate(const hawser_generate *what, hawser_dataset **dataset, double **truth,
                                                 hawser_error *error) HAWSER_MUST_USE;

/* ------------------------------------------------------------------------------------------------------ model files ---- */

/** A model: named tensors and text facts. Its file is a safetensors file, which other software can read. */
typedef struct hawser_model hawser_model;
HAWSER_API hawser_status hawser_model_new(hawser_model **model, hawser_error *error) HAWSER_MUST_USE;
HAWSER_API void hawser_model_free(hawser_model *model);
/** Adds a tensor of 1 or 2 dimensions (copied); dims[1] = 0 means one dimension. A model has at most 999 tensors and 998
 *  facts. */
HAWSER_API hawser_status hawser_model_tensor(hawser_model *model, const char *name, hawser_type type, const size_t dims[2],
                                             const void *values, hawser_error *error) HAWSER_MUST_USE;
/** Adds a text fact (copied) to the header's metadata, in place of one with that key. */
HAWSER_API hawser_status hawser_model_fact(hawser_model *model, const char *key, const char *value,
                                           hawser_error *error) HAWSER_MUST_USE;
/** Widens a tensor of `count` numbers, or of lines of `count` numbers, to `width`: number k of each becomes that of column
 *  columns[k], and the others are 0. Zeros take no memory until they are written. Undoes hawser_dataset_select in a model.
 *  HAWSER_BAD_ARGUMENT: the tensor has another size, or does not exist. */
HAWSER_API hawser_status hawser_model_spread(hawser_model *model, const char *name, const uint32_t *columns, size_t count,
                                             size_t width, hawser_error *error) HAWSER_MUST_USE;
/** Removes the tensor and the fact of that name. Does nothing if there is none. */
HAWSER_API void hawser_model_remove(hawser_model *model, const char *name);
/** Returns HAWSER_BAD_INPUT if a model of these data cannot be saved: names of columns and targets, words, and texts of
 *  options (NULL: none) are in the header of its file, which has at most 100 MB. The error names the longest. hawser_train
 *  calls it before the training. */
HAWSER_API hawser_status hawser_model_fits(const hawser_dataset *dataset, const hawser_options *options,
                                           hawser_error *error) HAWSER_MUST_USE;
/** Returns a tensor's values, which the model owns, or NULL. dims and type may be NULL. */
HAWSER_API const void *hawser_model_get(const hawser_model *model, const char *name, hawser_type *type, size_t dims[2]);
HAWSER_API const char *hawser_model_text(const hawser_model *model, const char *key); /**< or NULL */
/** Stores the key and value of a fact by its index; returns false if there is none. */
HAWSER_API bool hawser_model_fact_at(const hawser_model *model, size_t index, const char **key, const char **value);
/** Makes the schema of a model's columns: that of its training data, or columns of numbers with the names that it has.
 *  *schema (the caller frees it) is NULL if the model names no columns. */
HAWSER_API hawser_status hawser_model_schema(const hawser_model *model, hawser_schema **schema,
                                             hawser_error *error) HAWSER_MUST_USE;
/** Writes what people call a column of the model's training data, like hawser_dataset_label. `schema` is that of
 *  hawser_model_schema, which may be NULL. The numbers of columns are the fact column_numbers. */
HAWSER_API size_t hawser_model_label(const hawser_model *model, const hawser_schema *schema, size_t column, char *text,
                                     size_t size);
/** Writes the file with a checksum, under a temporary name, synced and renamed: a reader sees the old file or the new
 *  one. */
HAWSER_API hawser_status hawser_model_save(const hawser_model *model, const char *path, hawser_error *error) HAWSER_MUST_USE;
HAWSER_API hawser_status hawser_model_load(const char *path, hawser_model **model, hawser_error *error) HAWSER_MUST_USE;
/** Stores the bytes that hawser_model_save would write. The caller frees *bytes with free(). */
HAWSER_API hawser_status hawser_model_to_bytes(const hawser_model *model, void **bytes, size_t *size,
                                               hawser_error *error) HAWSER_MUST_USE;
/** Makes a model from the bytes of a file, which are checked like one. Nothing points to `bytes` afterwards. */
HAWSER_API hawser_status hawser_model_from_bytes(const void *bytes, size_t size, hawser_model **model,
                                                 hawser_error *error) HAWSER_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
