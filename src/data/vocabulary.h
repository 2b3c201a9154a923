/* vocabulary.h - which columns of sparse counts stay: by how many rows have them (documents), by how often they occur, and
 * by their names. With names the others are taken out; without, columns keep their numbers and lose their entries. */
#ifndef HW_DATA_VOCABULARY_H
#define HW_DATA_VOCABULARY_H

#include "data/dataset.h"
#include "data/source/budget.h"

/* A column that does not stay, in a map from columns to those that stay. */
#define HW_NO_COLUMN UINT32_MAX

/* What is known of the columns of all rows, on all nodes. */
typedef struct hw_vocabulary {
    size_t count;
    const char *const *names; /* of the columns; or NULL */
    uint64_t rows;            /* rows of weight 0 do not count */
    uint64_t *documents;      /* rows with an entry of the column; */
    uint64_t *tokens;         /* and the sum of these entries, if load->max_words needs it */
} hw_vocabulary;

/* Returns whether the load leaves columns out by their counts or names. A load for a model has the model's columns. */
bool hw_vocabulary_asked(const hawser_load *load);
/* Returns whether the columns of a load are words of its text, which it finds itself. */
bool hw_vocabulary_is_new(const hawser_load *load);
/* Returns whether rows have been read from text, whose words are their columns. Those of a cache have not. */
bool hw_vocabulary_is_cut(const hawser_dataset *rows);
/* Refuses values of min_documents and max_documents that are none. */
hawser_status hw_vocabulary_check(const hawser_load *load, hawser_error *error) HAWSER_MUST_USE;

/* Makes room for `count` columns, which hw_vocabulary_free frees also after a failure. `names` are borrowed. */
hawser_status hw_vocabulary_new(size_t count, const char *const *names, hw_vocabulary *vocabulary,
                                hawser_error *error) HAWSER_MUST_USE;
void hw_vocabulary_free(hw_vocabulary *vocabulary);
/* Counts sparse rows: column j of `rows` is columns[j] of the vocabulary, or j + shift if `columns` is NULL. weights: of the
 * rows; NULL: ones. With load->max_words, refuses values that are no counts. */
hawser_status hw_vocabulary_count(const hawser_load *load, const hawser_dataset *rows, const double *weights,
                                  const uint32_t *columns, int shift, hw_vocabulary *vocabulary,
                                  hawser_error *error) HAWSER_MUST_USE;
/* Chooses the columns that stay. map[j]: the new number of column j, which is j itself without names, or HW_NO_COLUMN.
 * `input` begins messages. HAWSER_BAD_INPUT if none is left. */
hawser_status hw_vocabulary_choose(const hawser_load *load, const char *input, const hw_vocabulary *vocabulary,
                                   uint32_t *map, size_t *kept, hawser_error *error) HAWSER_MUST_USE;

/* Does all of it for an input that is whole here, and for parts whose columns a model has. Text gets the layout that the
 * load asks for. */
hawser_status hw_vocabulary_settle(const hawser_load *load, hw_budget *budget, const char *input, hawser_dataset *dataset,
                                   hawser_error *error) HAWSER_MUST_USE;

/* match_names.c: whether the load is for a model with names, of an input whose names are in a file. */
bool hw_names_are_matched(const hawser_load *load);
/* match_names.c: stores the number of lines of a file of names. */
hawser_status hw_names_count(const char *path, hw_budget *budget, size_t *count, hawser_error *error) HAWSER_MUST_USE;
/* match_names.c: gives sparse data with names the columns of a model. Entries of other names are counted and taken out. */
hawser_status hw_names_match(const hawser_schema *schema, hw_budget *budget, hawser_dataset *dataset,
                             hawser_error *error) HAWSER_MUST_USE;

/* keep_columns.c: replaces column j of sparse data by map[j + shift], and takes those out that have none. The new numbers
 * ascend with the old ones, unless they are `mixed`. cols: columns from then on. Names are not touched. */
hawser_status hw_columns_keep(hawser_dataset *dataset, hw_budget *budget, const uint32_t *map, int shift, size_t cols,
                              bool mixed, hawser_error *error) HAWSER_MUST_USE;
/* keep_columns.c: names the columns, of which there are `count`: names[j] becomes that of column map[j] (NULL: j). Keeps the
 * words of a target, whose schema it makes again. */
hawser_status hw_columns_name(hawser_dataset *dataset, const char *const *names, size_t total, const uint32_t *map,
                              size_t count, hawser_error *error) HAWSER_MUST_USE;

#endif
