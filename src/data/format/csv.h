/* csv.h - rows of fields separated by commas, semicolons, tabs or blanks, with or without a header. */
#ifndef HW_DATA_CSV_H
#define HW_DATA_CSV_H

#include "data/source/parse.h"
#include "data/table/table.h"

#define HW_CSV_OPEN_QUOTE "no quote closes the field that begins here, within 64 MiB or up to the end of the input"

/* What the first lines settle. Arrays are released by hw_csv_free. */
typedef struct hw_csv {
    char delimiter;
    bool header;
    size_t exposure; /* 1 + the column whose logarithm is the offset; 0: none */
    size_t weights;  /* 1 + the column of example weights; 0: none */
    /* they are in a file of their own, so that a missing value may be that of a row that does not count */
    bool weighed_later;
    bool words;           /* --categories auto: features and the target may have words */
    bool unseen_zero;     /* known: a word that the model does not have is read as none of its levels */
    bool placing;         /* numbers go straight to the matrix: a word ends that */
    hw_table_rules rules; /* width: fields in a row */
    char *line;           /* the header as it stands; the same in front of a later file is passed over */
    size_t line_bytes;
    uint64_t skip;           /* text bytes of the first file up to its rows */
    uint64_t first;          /* text bytes of the first file up to its first line, if comments are in front of it; else 0 */
    bool quoted;             /* fields may have line ends */
    bool comments;           /* lines in front of the first one begin with '#', and are skipped in each file */
    _Atomic bool *met_words; /* set when `placing` ends */
    size_t label;            /* 1 + the column of the target if its values are labels that are read as doubles; 0: none */
    size_t group;            /* 1 + the column of groups; 0: none */
    bool exact_labels;       /* the target's numbers are words, which all notations of a number share (whole.h) */
    size_t text;             /* 1 + the column whose words are the features; 0: none */
    struct hw_text_load *cut;
    size_t id; /* 1 + the column of load->id; then parts keep where each of their rows starts; 0: none */
} hw_csv;

/* Looks at the first lines: delimiter, header, width, which column has which role, and whether words are expected
 * (reading->as_table). What of the load's target, weights and offset names no column is taken to be a file by whoever
 * loads. */
hawser_status hw_csv_begin(hw_reading *reading, hw_csv *csv, hawser_error *error) HAWSER_MUST_USE;
/* A hw_parser; the context is the hw_csv. */
hawser_status hw_csv_parse(void *context, hw_reading *reading, const hw_chunk *chunk, hw_text_part *part,
                           hawser_error *error);
void hw_csv_free(hw_csv *csv);

/* csv_roles.c: gives each field its role and its way of reading, by the load's options or the model's columns. */
hawser_status hw_csv_roles(hw_reading *reading, hw_csv *csv, hawser_error *error) HAWSER_MUST_USE;
/* csv_roles.c: names the columns that are not read because they stand beside the text, in memory of malloc; NULL: none. */
hawser_status hw_csv_name_unread(const hw_csv *csv, char **names, hawser_error *error) HAWSER_MUST_USE;
/* csv_words.c: puts the cell of a field that is no number, or is read as a word or date. `rest`: where the number ends that
 * the field begins with, or NULL. HAWSER_BAD_INPUT. */
hawser_status hw_csv_word(const hw_csv *csv, const hw_chunk *chunk, hw_text_part *part, size_t column, const char *begin,
                          const char *stop, const char *rest, double *cell, hawser_error *error) HAWSER_MUST_USE;
/* csv_words.c: a missing value: puts its cell, or *drop. HAWSER_BAD_INPUT where it is refused, which it never is in a row of
 * weight 0 (part->weightless). */
hawser_status hw_csv_missing(const hw_csv *csv, const hw_chunk *chunk, hw_text_part *part, size_t column, const char *at,
                             double *cell, bool *drop, hawser_error *error) HAWSER_MUST_USE;

/* csv_equal.c: compares a row with what part->equals has. `text`: of the row; `lengthy`: a field has HW_EQUAL_DIGITS bytes
 * or more. */
hawser_status hw_csv_see(const hw_csv *csv, const hw_reading *reading, const hw_chunk *chunk, hw_text_part *part,
                         const double *row, const char *text, bool lengthy, hawser_error *error) HAWSER_MUST_USE;

/* Returns the position after a field: with blanks as delimiter the last of them, or the line end if nothing else follows. */
static inline const char *hw_csv_gap(const char *at, char delimiter)
{
    const char *next = delimiter == HAWSER_BLANKS ? hw_skip_blanks(at) : at;
    return next == at || *next == '\n' ? next : next - 1;
}

/* Finds the text of one field: begin..end without blanks and quotes, in which line ends may stand. Returns where the field
 * ends (delimiter or line end), or NULL if a quote is not closed. A line end must follow `end`. */
const char *hw_csv_field(const char *at, const char *end, char delimiter, const char **begin, const char **stop);
/* Returns whether the field's text means a missing value: empty, ?, NA, N/A, NaN, null, none. */
bool hw_csv_is_missing(const char *begin, const char *stop);
/* Returns whether a field of a header, as it stands in the text without its quotes, is this name: doubled quotes are single,
 * and blanks around it do not count. */
bool hw_csv_is_name(const char *begin, const char *stop, const char *name);
/* Finds a column by name or number (negative from the end); returns width if there is none. names may be NULL. */
size_t hw_csv_column(const char *spec, char *const *names, size_t width);

#endif
