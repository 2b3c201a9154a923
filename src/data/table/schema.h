/* schema.h - the columns of a table: names, kinds, levels, and the columns of the matrix that each becomes. */
#ifndef HW_DATA_TABLE_SCHEMA_H
#define HW_DATA_TABLE_SCHEMA_H

#include "data/table/levels.h"
#include "hawser/data.h"

enum { HW_DATE_MONTHS = 12, HW_DATE_WEEKDAYS = 7, HW_DATE_HOURS = 24 };

/* A column and its levels by their words. */
typedef struct hw_schema_column {
    hawser_schema_column shape; /* its texts are owned by `levels` and `name` */
    char *name;
    hw_levels levels; /* in the order of their bytes; of categories and of the target only */
} hw_schema_column;

struct hawser_schema {
    hw_schema_column *columns;
    size_t count, width; /* columns of the table and of the matrix */
    hw_levels target;    /* words of the target, in the order of their bytes; count 0: it has numbers */
};

/* Makes a schema of `count` unnamed columns of numbers. */
hawser_status hw_schema_new(size_t count, hawser_schema **schema, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_schema_name(hawser_schema *schema, size_t column, const char *name, hawser_error *error) HAWSER_MUST_USE;
/* Makes the schema of columns of numbers with the names that a dataset's columns have; *schema is NULL if they have none. */
hawser_status hw_schema_of_names(const hawser_dataset *dataset, hawser_schema **schema, hawser_error *error) HAWSER_MUST_USE;
/* Makes a copy of a schema. */
hawser_status hw_schema_copy(const hawser_schema *schema, hawser_schema **copy, hawser_error *error) HAWSER_MUST_USE;
/* Sorts words and gives them new numbers. `order` compares two texts for qsort: hw_levels_by_bytes, or hw_levels_by_value
 * (whole.h). */
hawser_status hw_levels_sort(hw_levels *levels, int (*order)(const void *a, const void *b),
                             hawser_error *error) HAWSER_MUST_USE;
int hw_levels_by_bytes(const void *a, const void *b);
/* Gives the columns of the matrix to those of the table, in their order, once kinds and levels are set. HAWSER_BAD_INPUT if
 * they are too many. */
hawser_status hw_schema_settle(hawser_schema *schema, hawser_error *error) HAWSER_MUST_USE;
/* Refuses a column that has the name of another one's level or part of a date, such as a column "color=red" beside the level
 * red of "color". `input` begins the message. */
hawser_status hw_schema_check_names(const hawser_schema *schema, const char *input, hawser_error *error) HAWSER_MUST_USE;
/* Returns the number of the table's column that has a column of the matrix; hawser_schema_count if none has it. `schema` may
 * be NULL. */
size_t hw_schema_find(const hawser_schema *schema, size_t column);
/* Returns whether all columns have numbers, so that a matrix of the table is dense. */
bool hw_schema_is_plain(const hawser_schema *schema);
/* Returns whether a column of the matrix has the table's numbers; without a schema (NULL) all have. */
bool hw_schema_has_numbers(const hawser_schema *schema, size_t column);

#endif
