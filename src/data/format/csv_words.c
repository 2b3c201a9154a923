/* csv_words.c - fields that are no numbers: words, dates and missing values. */
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/number.h"
#include "data/format/csv.h"
#include "data/layout/assemble.h"
#include "data/table/cells.h"
#include "data/table/dates.h"
#include "data/table/whole.h"

static hw_text text_of(const hw_csv *csv, size_t column)
{
    return csv->rules.texts != NULL ? csv->rules.texts[column] : HW_TEXT_AUTO;
}

static hawser_status survey_of(const hw_csv *csv, hw_text_part *part, size_t column, hw_survey_column **survey,
                               hawser_error *error)
{
    part->free_survey = hw_survey_free;
    if (part->survey == NULL)
        HAWSER_TRY(hw_survey_new(csv->rules.width, &part->survey, error));
    *survey = &part->survey->columns[column];
    return HAWSER_OK;
}

/* Groups of three digits, or a decimal comma: a number as people write it, and not as it is read here. */
static bool has_separators(const char *begin, const char *stop)
{
    size_t digits = 0, separators = 0;
    begin += begin < stop && (*begin == '-' || *begin == '+');
    for (const char *at = begin; at < stop; at++) {
        bool digit = *at >= '0' && *at <= '9', between = at > begin && at + 1 < stop;
        if (!digit && !(between && strchr(",' .", *at) != NULL))
            return false;
        digits += digit;
        separators += !digit && *at != '.';
    }
    return digits > 1 && separators > 0;
}

/* A number with the sign of a currency or of percent: "$1,200.50", "12 %". */
static bool has_unit(const char *begin, const char *stop)
{
    static const char *const signs[] = {"$", "\xe2\x82\xac", "\xc2\xa3", "\xc2\xa5"}; /* dollar, euro, pound, yen */
    const char *first = begin, *last = stop, *at = begin + (begin < stop && (*begin == '-' || *begin == '+'));
    for (size_t k = 0; k < sizeof signs / sizeof *signs; k++) {
        size_t length = strlen(signs[k]);
        if ((size_t)(stop - at) > length && memcmp(at, signs[k], length) == 0)
            first = at + length;
        else if ((size_t)(last - first) > length && memcmp(last - length, signs[k], length) == 0)
            last -= length;
    }
    last -= first < last && last[-1] == '%';
    if (first == begin && last == stop)
        return false;
    while (first < last && *first == ' ')
        first++;
    while (first < last && last[-1] == ' ')
        last--;
    double value;
    return has_separators(first, last) || (first < last && hw_number(first, &value) == last);
}

/* What other software writes for numbers that are not finite. */
static bool is_not_finite(const char *begin, const char *stop)
{
    static const char *const words[] = {"inf", "infinity", "nan"};
    begin += begin < stop && (*begin == '-' || *begin == '+');
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (strlen(words[k]) == (size_t)(stop - begin) && strncasecmp(words[k], begin, (size_t)(stop - begin)) == 0)
            return true;
    return false;
}

/* Stores the number of a word in the part's survey. Doubled quotes become single. */
static hawser_status number_of(const hw_csv *csv, hw_text_part *part, size_t column, const char *begin, const char *stop,
                               uint32_t *number, hawser_error *error)
{
    hw_survey_column *survey;
    HAWSER_TRY(survey_of(csv, part, column, &survey, error));
    if (memchr(begin, '"', (size_t)(stop - begin)) == NULL)
        return hw_levels_put(&survey->levels, begin, (size_t)(stop - begin), number, error);
    char *copy;
    HAWSER_TRY(HW_NEW(&copy, (size_t)(stop - begin) + 1, "a word", error));
    size_t length = 0;
    for (const char *from = begin; from < stop; from++) {
        copy[length++] = *from;
        from += *from == '"' && from + 1 < stop && from[1] == '"';
    }
    hawser_status status = hw_levels_put(&survey->levels, copy, length, number, error);
    free(copy);
    return status;
}

/* A word that the model's column does not have. */
static hawser_status unseen(const hw_csv *csv, const hw_chunk *chunk, const hw_text_part *part, size_t column,
                            const char *at, double *cell, hawser_error *error)
{
    char text[HW_FIELD_CALLED];
    bool target = csv->rules.roles[column] == HW_TARGET;
    *cell = hw_word_cell(HW_UNKNOWN_WORD);
    if (part->weightless && target)
        *cell = 0;
    if (part->weightless || (csv->unseen_zero && !target))
        return HAWSER_OK;
    return hw_chunk_fail(
        chunk, at, error,
        target ? "the target, %s, has a word that is no class of the model"
               : "%s has a word that the training data did not have; --unseen zero reads it as none of the known ones",
        hw_field_called(&csv->rules, column, text));
}

/* The number of a word among the model's. */
static hawser_status known_word(const hw_csv *csv, const hw_chunk *chunk, hw_text_part *part, size_t column,
                                const char *begin, const char *stop, const char *at, double *cell, hawser_error *error)
{
    const hw_table_rules *rules = &csv->rules;
    const hw_levels *levels =
        rules->roles[column] == HW_TARGET ? &rules->known->target : &rules->known->columns[rules->source[column]].levels;
    uint32_t number, local;
    bool found = hw_levels_find(levels, begin, (size_t)(stop - begin), &number);
    if (!found && memchr(begin, '"', (size_t)(stop - begin)) != NULL) {
        HAWSER_TRY(number_of(csv, part, column, begin, stop, &local, error));
        const char *text = part->survey->columns[column].levels.texts[local];
        found = hw_levels_find(levels, text, strlen(text), &number);
    }
    if (!found)
        return unseen(csv, chunk, part, column, at, cell, error);
    *cell = rules->roles[column] == HW_TARGET ? (double)number : hw_word_cell(number);
    return HAWSER_OK;
}

static hawser_status date_cell(const hw_csv *csv, const hw_chunk *chunk, hw_text_part *part, size_t column,
                               const char *begin, const char *stop, double *cell, hawser_error *error)
{
    bool timed;
    char text[HW_FIELD_CALLED];
    hw_survey_column *survey;
    if (!hw_date_read(begin, stop, cell, &timed))
        return hw_chunk_fail(chunk, begin, error,
                             "%s is read as dates, and this is none of ISO 8601 (2026-11-24, 2026-11-24T18:30:00Z)",
                             hw_field_called(&csv->rules, column, text));
    if (!timed || part->weightless || (part->survey != NULL && part->survey->columns[column].hours))
        return HAWSER_OK;
    HAWSER_TRY(survey_of(csv, part, column, &survey, error));
    survey->hours = true;
    return HAWSER_OK;
}

static const char *role_name(const hw_csv *csv, size_t column)
{
    unsigned role = csv->rules.roles[column];
    return role == HW_TARGET || (role >= HW_FURTHER && role < HW_UNSEEN) ? "target"
           : role == HW_WEIGHTS                                          ? "weight"
           : role == HW_GROUPS                                           ? "group"
           : csv->exposure == column + 1                                 ? "exposure"
           : role == HW_OFFSET                                           ? "offset"
                                                                         : "value";
}

/* What is no number where only a number may be; see hw_csv_word for `rest`. */
static hawser_status refuse_word(const hw_csv *csv, const hw_chunk *chunk, size_t column, const char *begin,
                                 const char *stop, const char *rest, hawser_error *error)
{
    if (rest != NULL && rest < stop && hw_skip_blanks(rest) > rest)
        return hw_chunk_fail(chunk, hw_skip_blanks(rest), error, "something follows the number");
    if (rest != NULL && rest < stop && *rest == ',')
        return hw_chunk_fail(chunk, begin, error, "a comma is in the number; write a decimal point, and no groups");
    return hw_no_number(chunk, begin, role_name(csv, column), error);
}

static hawser_status has_a_unit(const hw_csv *csv, const hw_chunk *chunk, size_t column, const char *at, hawser_error *error)
{
    char text[HW_FIELD_CALLED];
    return hw_chunk_fail(chunk, at, error,
                         "%s has a number with a sign of currency or percent; write the number alone, or read the column as "
                         "words (--categories)",
                         hw_field_called(&csv->rules, column, text));
}

/* Puts the cell of a label that is a number: its number among the labels, or among those of the model. */
static hawser_status exact_label(const hw_csv *csv, const hw_chunk *chunk, hw_text_part *part, size_t column,
                                 const char *begin, const char *stop, double *cell, hawser_error *error)
{
    char text[HW_LABEL_TEXT];
    hw_survey_column *survey;
    uint32_t number;
    hw_label found = hw_label_read(begin, stop, text);
    if (found == HW_LABEL_OUTSIDE)
        return hw_chunk_fail(chunk, begin, error, HW_LABEL_IS_OUTSIDE, "label");
    if (found == HW_LABEL_WORD)
        return hw_no_number(chunk, begin, "target", error);
    if (csv->rules.known != NULL)
        return known_word(csv, chunk, part, column, text, text + strlen(text), begin, cell, error);
    HAWSER_TRY(survey_of(csv, part, column, &survey, error));
    HAWSER_TRY(hw_levels_put(&survey->levels, text, strlen(text), &number, error));
    if (survey->words++ == 0)
        survey->word_spot = hw_spot_of(chunk, begin);
    *cell = hw_word_cell(number);
    return HAWSER_OK;
}

hawser_status hw_csv_word(const hw_csv *csv, const hw_chunk *chunk, hw_text_part *part, size_t column, const char *begin,
                          const char *stop, const char *rest, double *cell, hawser_error *error)
{
    hw_text text = text_of(csv, column);
    unsigned role = csv->rules.roles[column];
    hw_survey_column *survey;
    uint32_t number;
    if (text == HW_TEXT_DATES)
        return date_cell(csv, chunk, part, column, begin, stop, cell, error);
    if (role == HW_TARGET && csv->exact_labels)
        return exact_label(csv, chunk, part, column, begin, stop, cell, error);
    if (text == HW_TEXT_WORDS && csv->rules.known != NULL)
        return known_word(csv, chunk, part, column, begin, stop, begin, cell, error);
    bool allowed = csv->words && csv->rules.known == NULL && (role == HW_FEATURE || role == HW_TARGET);
    if (text == HW_TEXT_AUTO && !allowed)
        return refuse_word(csv, chunk, column, begin, stop, rest, error);
    if (text == HW_TEXT_AUTO && has_separators(begin, stop))
        return hw_chunk_fail(chunk, begin, error, "%s is in the number; write a decimal point, and no groups",
                             memchr(begin, ',', (size_t)(stop - begin)) != NULL ? "a comma" : "a separator");
    if (text == HW_TEXT_AUTO && has_unit(begin, stop))
        return has_a_unit(csv, chunk, column, begin, error);
    if (text == HW_TEXT_AUTO && is_not_finite(begin, stop))
        return hw_no_number(chunk, begin, role == HW_TARGET ? "target" : "value", error);
    if (csv->placing) {
        atomic_store(csv->met_words, true);
        return hw_chunk_fail(chunk, begin, error, "a word, as in a table");
    }
    HAWSER_TRY(number_of(csv, part, column, begin, stop, &number, error));
    HAWSER_TRY(survey_of(csv, part, column, &survey, error));
    if (survey->words++ == 0)
        survey->word_spot = hw_spot_of(chunk, begin);
    *cell = hw_word_cell(number);
    return HAWSER_OK;
}

static hawser_status refuse_missing(const hw_csv *csv, const hw_chunk *chunk, size_t column, const char *at,
                                    hawser_error *error)
{
    char text[HW_FIELD_CALLED];
    unsigned role = csv->rules.roles[column];
    if (role != HW_FEATURE)
        return hw_chunk_fail(chunk, at, error, "the %s is missing in %s; only --missing drop helps here",
                             role_name(csv, column), hw_field_called(&csv->rules, column, text));
    hw_text kind = text_of(csv, column);
    return hw_chunk_fail(chunk, at, error, "a %s is missing in %s; use --missing %s",
                         kind == HW_TEXT_DATES   ? "date"
                         : kind == HW_TEXT_WORDS ? "word"
                                                 : "value",
                         hw_field_called(&csv->rules, column, text),
                         kind == HW_TEXT_DATES   ? "zero (all columns of the date are 0) or drop"
                         : kind == HW_TEXT_WORDS ? "zero, level or drop"
                                                 : "zero, mean or drop");
}

/* A missing word of a column of the model: a level of its own, where the model has it. */
static hawser_status missing_level(const hw_csv *csv, const hw_chunk *chunk, const hw_text_part *part, size_t column,
                                   const char *at, double *cell, hawser_error *error)
{
    uint32_t number;
    if (!hw_levels_find(&csv->rules.known->columns[csv->rules.source[column]].levels, "", 0, &number))
        return unseen(csv, chunk, part, column, at, cell, error);
    *cell = hw_word_cell(number);
    return HAWSER_OK;
}

/* A missing value in a row of weight 0: any number that its place may have. */
static double weightless_cell(const hw_csv *csv, size_t column)
{
    if (csv->rules.roles[column] != HW_FEATURE)
        return csv->exposure == column + 1 ? 1 : 0;
    return csv->rules.missing_number == HW_MEAN || text_of(csv, column) != HW_TEXT_AUTO ? NAN : 0;
}

hawser_status hw_csv_missing(const hw_csv *csv, const hw_chunk *chunk, hw_text_part *part, size_t column, const char *at,
                             double *cell, bool *drop, hawser_error *error)
{
    const hw_table_rules *rules = &csv->rules;
    hw_text text = text_of(csv, column);
    hw_survey_column *survey;
    hw_missing number = rules->missing_number, word = rules->missing_word;
    if (part->weightless && rules->roles[column] != HW_WEIGHTS) {
        *cell = weightless_cell(csv, column);
        return HAWSER_OK;
    }
    *cell = number == HW_ZERO && word == HW_ZERO && (csv->placing || !csv->weighed_later) ? 0 : NAN;
    if (number == HW_DROP) {
        *drop = true;
        return HAWSER_OK;
    }
    bool refused = text == HW_TEXT_WORDS ? word == HW_REFUSE
                   : text == HW_TEXT_DATES
                       ? number != HW_ZERO
                       : number == HW_REFUSE && (word == HW_REFUSE || rules->known != NULL || !csv->words);
    refused = refused || rules->roles[column] != HW_FEATURE;
    if (refused && (!csv->weighed_later || rules->known != NULL || csv->exposure == column + 1))
        return refuse_missing(csv, chunk, column, at, error);
    if (refused && csv->placing) {
        atomic_store(csv->met_words, true);
        return hw_chunk_fail(chunk, at, error, "a missing value, as in a table");
    }
    if (text == HW_TEXT_WORDS && rules->known != NULL && word == HW_LEVEL)
        return missing_level(csv, chunk, part, column, at, cell, error);
    if (text != HW_TEXT_AUTO || refused)
        *cell = NAN;
    if (csv->placing || rules->known != NULL)
        return HAWSER_OK;
    HAWSER_TRY(survey_of(csv, part, column, &survey, error));
    if (survey->missing++ == 0)
        survey->missing_spot = hw_spot_of(chunk, at);
    return HAWSER_OK;
}
