/* survey.h - what the columns of a table hold: how many words and missing values, and which words. Each part of an input has
 * a survey of its own; together they settle the kind of each column. */
#ifndef HW_DATA_TABLE_SURVEY_H
#define HW_DATA_TABLE_SURVEY_H

#include "base/memory.h"
#include "data/source/claims.h"
#include "data/table/levels.h"

/* Without being asked for by name, a column may have this many different words. */
enum { HW_LEVELS_MOST = 1000 };

typedef struct hw_survey_column {
    uint64_t words, numbers, missing; /* cells; numbers are counted where there are words, or may be on another node */
    bool hours;                       /* dates: some have a time of day */
    hw_spot word_spot, missing_spot;  /* of a part: where the first was met */
    char *word_at, *missing_at;       /* of the whole: FILE:LINE of the same; or NULL */
    hw_levels levels;                 /* in the order in which they were met */
    hw_levels idle; /* of a table: words of rows of weight 0, which are no levels unless other rows have them */
} hw_survey_column;

typedef struct hw_survey {
    size_t width;
    hw_survey_column *columns; /* by field of the table */
} hw_survey;

hawser_status hw_survey_new(size_t width, hw_survey **survey, hawser_error *error) HAWSER_MUST_USE;
void hw_survey_free(hw_survey *survey);
/* Adds the survey of a later part whose places are texts. */
hawser_status hw_survey_add(hw_survey *whole, const hw_survey *part, hawser_error *error) HAWSER_MUST_USE;
/* A survey as a message, and back. HAWSER_BAD_INPUT for bytes that are none of `width` columns. */
hawser_status hw_survey_pack(const hw_survey *survey, hw_bytes *bytes, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_survey_unpack(const hw_bytes *bytes, size_t width, hw_survey **survey, hawser_error *error) HAWSER_MUST_USE;

#endif
