/* table.h - the cells of a table in memory, between the parser that reads them and the matrix that they become. What each
 * column holds is known only when all cells have been read, on all nodes. */
#ifndef HW_DATA_TABLE_TABLE_H
#define HW_DATA_TABLE_TABLE_H

#include "data/source/parse.h"
#include "data/table/schema.h"
#include "data/table/survey.h"

typedef enum hw_missing { HW_REFUSE = 0, HW_ZERO, HW_MEAN, HW_DROP, HW_LEVEL } hw_missing;

/* How the cells of a field are read, whatever they look like. */
typedef enum hw_text { HW_TEXT_AUTO = 0, HW_TEXT_WORDS, HW_TEXT_DATES } hw_text;

/* What is settled before the first row is read. Pointers are the parser's; by field of the table unless said otherwise. */
typedef struct hw_table_rules {
    size_t width;
    unsigned char *roles;       /* assemble.h */
    hw_text *texts;             /* NULL: all are HW_TEXT_AUTO */
    char **names;               /* NULL: the table has no header */
    const hawser_schema *known; /* of a model: its columns and levels hold; or NULL */
    size_t *source;             /* known: the model's column of a feature */
    hw_missing missing_number, missing_word;
    bool borrowed; /* the arrays are another one's */
} hw_table_rules;

struct hw_table {
    hw_table_rules rules; /* owned; `known` is the caller's */
    char *input;          /* name of the first file */
    uint64_t rows;
    double *cells;        /* rows x width (cells.h); words by their numbers in the survey, or in the known schema */
    size_t weights_field; /* of the example weights; `width`: none */
    size_t bytes;
    hw_survey *survey;
    hw_budget budget;
};

enum { HW_FIELD_CALLED = 160 };
/* Writes "column 3 'age'" (numbers count from 0, with all columns of the table), or "column 3" without a name, and returns
 * the text. */
const char *hw_field_called(const hw_table_rules *rules, size_t field, char text[HW_FIELD_CALLED]);
/* Frees the rules' arrays. */
void hw_table_rules_free(hw_table_rules *rules);
/* Moves the cells of all parts of a reading, and the rules, into a new table. */
hawser_status hw_table_new(hw_reading *reading, hw_table_rules *rules, struct hw_table **table,
                           hawser_error *error) HAWSER_MUST_USE;
void hw_table_free(struct hw_table *table);

/* Takes weights that are in a file of their own: words that only rows of weight 0 have are no levels, and their missing
 * values are none. */
hawser_status hw_table_weigh(struct hw_table *table, const double *weights, hawser_error *error) HAWSER_MUST_USE;

/* Decides what each column holds, from the survey of the whole input. *schema is NULL if all have numbers, and the caller's.
 * Refuses what must be neither: numbers and words in one column, words that look like dates, too many words. Known schemas
 * are not judged. */
hawser_status hw_table_judge(const hw_table_rules *rules, const char *input, const hw_survey *whole, hawser_schema **schema,
                             hawser_error *error) HAWSER_MUST_USE;

/* What the matrix shall be. */
typedef struct hw_table_wishes {
    hawser_type type;
    bool by_row;         /* CSR if sparse; else CSC */
    bool dense_rows;     /* HAWSER_DENSE_ROWS if dense; else HAWSER_DENSE */
    bool keep_missing;   /* of a part: missing numbers stay NaN, because their mean needs all parts */
    const double *means; /* by column of the matrix, for missing "mean"; NULL: those of this input */
    uint32_t threads;
} hw_table_wishes;

/* Makes the dataset's arrays from the cells, which are freed. schema: what hw_table_judge decided (NULL: numbers only), or
 * the known one; the dataset does not take it. */
hawser_status hw_table_settle(struct hw_table *table, const hawser_schema *schema, const hw_table_wishes *wishes,
                              hawser_dataset *dataset, hawser_error *error) HAWSER_MUST_USE;

#endif
