/* dataset.h - the parts of a loaded input. A reader, a generator or the cache fills it once; then it is read-only. */
#ifndef HW_DATA_DATASET_H
#define HW_DATA_DATASET_H

#include "data/equal.h"
#include "data/mapped.h"
#include "hawser/data.h"

enum {
    HW_FURTHER_TARGETS = 63, /* the most targets besides the first */
    HW_DATASET_OWNED = 16 + HW_FURTHER_TARGETS
};

/* A part of a Matrix Market array: the matrix has one column, the values of these lines. rows and cols: sizes of the whole;
 * first: number of values before these, which the nodes find out together. */
typedef struct hw_array_part {
    uint64_t rows, cols, first; /* rows 0: not such a part */
    bool symmetric;
} hw_array_part;

/* The pointers are views of `owned` memory or of the mapping. */
struct hawser_dataset {
    hawser_matrix matrix;
    const double *target;                      /* matrix.rows values or NULL */
    const double *further[HW_FURTHER_TARGETS]; /* the targets after the first, of matrix.rows values each */
    size_t further_count;
    const double *weights;                         /* matrix.rows values or NULL */
    const double *offset;                          /* matrix.rows values or NULL */
    const double *groups;                          /* matrix.rows values or NULL */
    const double *means;                           /* matrix.cols values that replace missing ones, or NULL */
    const char *const *columns;                    /* matrix.cols names or NULL */
    const char *target_name;                       /* or NULL */
    const void *target_block;                      /* among `owned`: its memory if columns have no names; or NULL */
    char *numbers;                                 /* hawser_dataset_numbers; owned, from malloc */
    const char *further_names[HW_FURTHER_TARGETS]; /* or NULL */
    char *unread;           /* columns beside a text, as hawser_dataset_assumed writes them; owned, or NULL */
    struct hw_table *table; /* of a part of a table: its cells, until all parts are read; or NULL */
    void (*free_table)(struct hw_table *table);
    hawser_schema *schema; /* of a table with words or dates, owned; or NULL */
    hawser_load_figures figures;
    /* `begun`: columns of one stored value; of a part, in its rows; of a table that is not settled, its fields */
    hw_equals equals;
    void *owned[HW_DATASET_OWNED]; /* each released with free() */
    size_t owned_count;
    const char *widest; /* for a part of an input: FILE:LINE of the largest column index if that may be too large; or NULL */
    bool scattered;     /* a part of Matrix Market text: its entries are of any rows of the whole */
    uint64_t declared, found; /* scattered: entries that the head of the whole declares; entries found in this part */
    hw_array_part array;
    struct hawser_residence *residence; /* NULL: all entries are on this node */
    size_t outputs_by_block;            /* number of targets if rows are held by block */
    const size_t *cut;                  /* one node: the cut_blocks + 1 bounds of a load by row; or NULL */
    uint32_t cut_blocks;
    struct hw_source *source; /* of a load by row: how a block of rows is read again (runtime/input/source.h); or NULL */
    void (*free_source)(struct hw_source *source);
    struct hw_levels *labels; /* of a part: the texts of its labels, until all parts are read (table/exact.h); or NULL */
    void (*free_labels)(struct hw_levels *labels);
    bool labels_as_words; /* the labels are words of the schema's target although they are numbers (hawser_load.labels) */
    bool lent;     /* the entries are those of another dataset, which outlives this one and keeps them (hw_dataset_lend) */
    void *mapping; /* released with munmap(), or with `file`; NULL: none */
    size_t mapping_bytes;
    hw_mapped_file *file;        /* that the mapping is of, or, if `lent`, that of the other dataset; or NULL */
    void (*release)(void *user); /* of arrays that the caller owns; or NULL */
    void *release_user;
};

/* Makes a dataset with the entries of another one and what belongs to them, without a copy. Schemas are copied. `from` must
 * outlive *lent. */
hawser_status hw_dataset_lend(const hawser_dataset *from, hawser_dataset **lent, hawser_error *error) HAWSER_MUST_USE;

/* A zeroed dataset with index_base -1. */
hawser_status hw_dataset_new(hawser_dataset **dataset, hawser_error *error) HAWSER_MUST_USE;

/* Makes the dataset own `memory` (from malloc, NULL allowed), which is released with it. At most HW_DATASET_OWNED calls. */
void hw_dataset_own(hawser_dataset *dataset, void *memory);

/* Frees `memory` if the dataset owns it. */
void hw_dataset_disown(hawser_dataset *dataset, const void *memory);
/* Frees the matrix's arrays if they are owned, and keeps its shape. */
void hw_dataset_drop_entries(hawser_dataset *dataset);
/* Gives the whole pages among bytes [begin, end) of an array back to the system, if the dataset owns the array, which stays
 * allocated; their values are lost. */
void hw_dataset_release(const hawser_dataset *dataset, const void *array, size_t begin, size_t end);

/* Names the columns by a schema, which may be another one's. */
hawser_status hw_dataset_name_columns(hawser_dataset *dataset, const hawser_schema *schema,
                                      hawser_error *error) HAWSER_MUST_USE;

/* Fails if there are several targets, which no written file has a place for. */
hawser_status hw_dataset_check_one_target(const hawser_dataset *dataset, const char *path,
                                          hawser_error *error) HAWSER_MUST_USE;

/* Refuses two columns of one name; any number may have none. `what` begins the message, and `bad` is its status. */
hawser_status hw_dataset_check_names(const char *const *names, size_t count, const char *what, hawser_status bad,
                                     hawser_error *error) HAWSER_MUST_USE;
/* Copies names, one per column (or NULL), and those of `count` targets (or NULL). */
hawser_status hw_dataset_copy_names(hawser_dataset *dataset, const char *const *names, const char *const *targets,
                                    size_t count, hawser_error *error) HAWSER_MUST_USE;
/* from.c: checks a matrix of the user and what belongs to its rows (NULL: nothing of that name) as a file is checked. */
hawser_status hw_dataset_check_matrix(const hawser_matrix *A, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_dataset_check_numbers(const void *values, hawser_type type, size_t count, const char *what,
                                       hawser_error *error) HAWSER_MUST_USE;

/* Column names and the targets' move from one dataset to another. */
void hw_dataset_take_names(hawser_dataset *to, hawser_dataset *from);

#endif
