/* judge.c - what the columns of a table hold: numbers, words or dates. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "data/layout/assemble.h"
#include "data/table/table.h"
#include "data/table/whole.h"

#define DIGITS "0123456789"

typedef struct judge_work {
    const hw_table_rules *rules;
    const char *input;
    const hw_survey *whole;
    size_t field;
} judge_work;

static const char *field_name(const judge_work *w)
{
    return w->rules->names != NULL ? w->rules->names[w->field] : "";
}

/* What names the column in an option. */
static const char *option_of(const judge_work *w, char number[24])
{
    snprintf(number, 24, "%zu", w->field);
    return field_name(w)[0] != '\0' ? field_name(w) : number;
}

static const char *place(const judge_work *w, const char *at)
{
    return at != NULL ? at : w->input;
}

/* Counts the digits at `at`. */
static size_t digits(const char *at)
{
    return strspn(at, DIGITS);
}

/* A year, month and day in any order, with -, / or . between them. */
static bool looks_like_date(const char *text)
{
    size_t first = digits(text), second, third;
    char between = text[first];
    if ((first != 4 && first != 2 && first != 1) || between == '\0' || strchr("-/.", between) == NULL)
        return false;
    text += first + 1;
    second = digits(text);
    if (second < 1 || second > 2 || text[second] != between)
        return false;
    text += second + 1;
    third = digits(text);
    if (third < 1 || third > 4 || (first == 4) == (third > 2))
        return false;
    return text[third] == '\0' || strchr("Tt ", text[third]) != NULL;
}

/* Skips one of these texts. */
static const char *skip_one(const char *at, const char *const *texts)
{
    for (; *texts != NULL; texts++)
        if (strncmp(at, *texts, strlen(*texts)) == 0)
            return at + strlen(*texts);
    return at;
}

/* Returns the end of digits between which single marks of groups may stand; *marks counts these. */
static const char *skip_groups(const char *at, const char *set, const char *const *marks, size_t *count)
{
    for (const char *begin = at;; at++) {
        const char *after = at > begin ? skip_one(at, marks) : at;
        if (after > at && *after != '\0' && strchr(set, *after) != NULL) {
            *count += 1;
            at = after;
        }
        if (*at == '\0' || strchr(set, *at) == NULL)
            return at;
    }
}

/* Returns what a word looks like that is a number in a notation which is not read here, or NULL: Fortran's exponent, another
 * base, digits in groups, a minus of typesetters or behind the number, and an accountant's brackets. */
static const char *other_notation(const char *text)
{
    static const char ten[] = DIGITS, sixteen[] = DIGITS "abcdefABCDEF";
    static const char *const groups[] = {"_", "\xc2\xa0", "\xe2\x80\xaf", "\xe2\x80\x89", NULL};
    static const char *const signs[] = {"+", "-", "\xe2\x88\x92", NULL}, *const none[] = {NULL};
    bool bracket = text[0] == '(';
    size_t marks = 0, fraction = 0;
    const char *sign = text + bracket, *begin = skip_one(sign, signs), *at;
    bool typeset = begin - sign > 1;
    if (*begin == '0' && begin[1] != '\0' && strchr("xXbBoO", begin[1]) != NULL) {
        bool hex = begin[1] == 'x' || begin[1] == 'X';
        at = skip_groups(begin + 2, hex ? sixteen : ten, groups, &marks);
        return at > begin + 2 && *at == '\0' && !bracket ? "a number in another base" : NULL;
    }
    at = skip_groups(begin, ten, groups, &marks);
    size_t whole = (size_t)(at - begin);
    if (*at == '.') {
        const char *point = ++at;
        at = skip_groups(at, ten, groups, &marks);
        fraction = (size_t)(at - point);
    }
    if (whole + fraction == 0)
        return NULL;
    bool exponent = *at != '\0' && strchr("dDqQ", *at) != NULL, plain = *at == 'e' || *at == 'E';
    if (exponent || plain) {
        const char *digit = skip_one(at + 1, signs);
        at = skip_groups(digit, ten, none, &marks);
        if (at == digit)
            return NULL;
    }
    bool behind = !bracket && begin == sign && *at == '-' && at[1] == '\0';
    at += behind || (bracket && *at == ')');
    if (*at != '\0' || (bracket && at[-1] != ')'))
        return NULL;
    return exponent    ? "a number with an exponent of Fortran (write E for D)"
           : marks > 0 ? "a number with its digits in groups"
           : typeset   ? "a number with a typographic minus"
           : behind    ? "a number with its sign behind it"
           : bracket   ? "a negative number in brackets"
                       : NULL;
}

/* Returns what a word looks like that is a number in quotes of its own, which the quotes of a CSV's field do not cover, or
 * NULL. */
static const char *quoted_notation(const char *text)
{
    static const char *const quotes[][2] = {{"'", "'"},
                                            {"\"", "\""},
                                            {"\xe2\x80\x98", "\xe2\x80\x99"},
                                            {"\xe2\x80\x9c", "\xe2\x80\x9d"},
                                            {"\xc2\xab", "\xc2\xbb"}};
    size_t length = strlen(text);
    char inner[64];
    double value;
    for (size_t k = 0; k < sizeof quotes / sizeof *quotes; k++) {
        size_t before = strlen(quotes[k][0]), after = strlen(quotes[k][1]);
        if (length <= before + after || length - before - after >= sizeof inner ||
            strncmp(text, quotes[k][0], before) != 0 || strcmp(text + length - after, quotes[k][1]) != 0)
            continue;
        length -= before + after;
        memcpy(inner, text + before, length);
        inner[length] = '\0';
        const char *end = hawser_read_number(inner, &value);
        bool number = end != NULL && *end == '\0' && inner[strcspn(inner, DIGITS)] != '\0';
        return number || other_notation(inner) != NULL ? "a number in quotes" : NULL;
    }
    return NULL;
}

/* Returns what a word looks like that is a number as people or other programs write it, or NULL. */
static const char *any_notation(const char *text)
{
    const char *what = other_notation(text);
    return what != NULL ? what : quoted_notation(text);
}

/* Refuses a column whose words are numbers in other notations, each of them: as words they would be a column per value. */
static hawser_status check_notation(const judge_work *w, const hw_survey_column *column, hawser_error *error)
{
    char label[HW_FIELD_CALLED], number[24];
    const char *name = option_of(w, number), *what = NULL;
    for (size_t k = 0; k < column->levels.count; k++)
        if ((what = any_notation(column->levels.texts[k])) == NULL)
            return HAWSER_OK;
    return hawser_fail(
        error, HAWSER_BAD_INPUT,
        "%s: %s has no numbers as they are read here: '%.60s' looks like %s; write decimal numbers, as -1234.5 "
        "or 1.5e3, or read the column as words with --categories %.100s",
        place(w, column->word_at), hw_field_called(w->rules, w->field, label), column->levels.texts[0],
        any_notation(column->levels.texts[0]), name);
}

static hawser_status check_words(const judge_work *w, const hw_survey_column *column, bool forced, hawser_error *error)
{
    char label[HW_FIELD_CALLED], number[24];
    const char *at = place(w, column->word_at), *name = option_of(w, number), *first = column->levels.texts[0];
    size_t dates = 0;
    (void)hw_field_called(w->rules, w->field, label);
    for (size_t k = 0; k < column->levels.count; k++) {
        dates += looks_like_date(column->levels.texts[k]);
        if (!hw_is_utf8(column->levels.texts[k]))
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "%s: a word in %s is not UTF-8; convert the file, for example: iconv -f ISO-8859-1 -t UTF-8",
                               at, label);
    }
    if (forced)
        return HAWSER_OK;
    if (column->numbers == 0 && w->rules->roles[w->field] == HW_FEATURE)
        HAWSER_TRY(check_notation(w, column, error));
    if (column->numbers > 0)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "%s: %s has numbers (%" PRIu64 ") and words (%" PRIu64
                           ", as here '%.60s'); correct the words, or read all as words: --categories %.100s",
                           at, label, column->numbers, column->words, first, name);
    if (2 * dates > column->levels.count)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "%s: %s has dates, as '%.60s'; read them as dates with --dates %.100s (ISO 8601), as words with "
                           "--categories %.100s, or not at all with --ignore %.100s",
                           at, label, first, name, name, name);
    if (column->levels.count > HW_LEVELS_MOST)
        return hawser_fail(
            error, HAWSER_BAD_INPUT,
            "%s: %s has %zu different words, and more than %d are hardly categories; leave it out with --ignore "
            "%.100s, or read it with --categories %.100s",
            at, label, column->levels.count, HW_LEVELS_MOST, name, name);
    return HAWSER_OK;
}

static hawser_status judge_words(const judge_work *w, const hw_survey_column *column, bool forced, hw_levels *levels,
                                 hawser_error *error)
{
    char label[HW_FIELD_CALLED], option[24];
    uint32_t number;
    bool level = w->rules->missing_word == HW_LEVEL && column->missing > 0;
    if (column->missing > 0 && w->rules->missing_word == HW_REFUSE)
        return hawser_fail(
            error, HAWSER_BAD_INPUT,
            "%s: a word is missing in %s; --missing can make missing words a level of their own (%slevel), or zero, "
            "or drop the row",
            place(w, column->missing_at), hw_field_called(w->rules, w->field, label),
            w->rules->missing_number == HW_MEAN ? "mean," : "");
    if (column->levels.count == 0 && column->words > 0 && column->numbers > 0)
        return hawser_fail(
            error, HAWSER_BAD_INPUT,
            "%s: %s has numbers (%" PRIu64 "), and a word in a row of weight 0; correct the word, or read all as "
            "words: --categories %.100s",
            place(w, column->word_at), hw_field_called(w->rules, w->field, label), column->numbers, option_of(w, option));
    if (column->levels.count == 0 && !level)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: %s has no words; leave it out with --ignore %.100s", w->input,
                           hw_field_called(w->rules, w->field, label), option_of(w, option));
    if (column->levels.count > 0)
        HAWSER_TRY(check_words(w, column, forced, error));
    for (size_t k = 0; k < column->levels.count; k++)
        HAWSER_TRY(hw_levels_put(levels, column->levels.texts[k], strlen(column->levels.texts[k]), &number, error));
    if (level)
        HAWSER_TRY(hw_levels_put(levels, "", 0, &number, error));
    bool labels = w->rules->roles[w->field] == HW_TARGET && forced && hw_levels_are_labels(levels);
    return hw_levels_sort(levels, labels ? hw_levels_by_value : hw_levels_by_bytes, error);
}

static hawser_status missing_in(const judge_work *w, const char *what, const char *advice, hawser_error *error)
{
    char label[HW_FIELD_CALLED];
    return hawser_fail(error, HAWSER_BAD_INPUT, "%s: a %s is missing in %s%s",
                       place(w, w->whole->columns[w->field].missing_at), what, hw_field_called(w->rules, w->field, label),
                       advice);
}

static hawser_status judge_feature(const judge_work *w, hawser_schema *schema, size_t k, hawser_error *error)
{
    const hw_survey_column *column = &w->whole->columns[w->field];
    hw_text text = w->rules->texts != NULL ? w->rules->texts[w->field] : HW_TEXT_AUTO;
    hw_schema_column *to = &schema->columns[k];
    HAWSER_TRY(hw_schema_name(schema, k, field_name(w), error));
    if (text == HW_TEXT_DATES) {
        if (column->missing > 0 && w->rules->missing_number != HW_ZERO)
            return missing_in(w, "date", "; use --missing zero (all columns of the date are 0) or drop", error);
        to->shape.kind = HAWSER_DATE;
        to->shape.count = 1 + HW_DATE_MONTHS + HW_DATE_WEEKDAYS + (column->hours ? HW_DATE_HOURS : 0);
    } else if (text == HW_TEXT_WORDS || column->words > 0) {
        to->shape.kind = HAWSER_CATEGORY;
        return judge_words(w, column, text == HW_TEXT_WORDS, &to->levels, error);
    } else if (column->missing > 0 && w->rules->missing_number == HW_REFUSE) {
        return missing_in(w, "number",
                          w->rules->missing_word == HW_LEVEL
                              ? ", and --missing level is for words; mean,level or zero,level fill numbers too"
                              : "; use --missing zero, mean or drop",
                          error);
    }
    return HAWSER_OK;
}

static hawser_status judge_all(judge_work *w, hawser_schema *schema, hawser_error *error)
{
    size_t k = 0;
    for (w->field = 0; w->field < w->rules->width; w->field++) {
        bool words = w->whole->columns[w->field].words > 0;
        bool forced = w->rules->texts != NULL && w->rules->texts[w->field] == HW_TEXT_WORDS;
        if (w->rules->roles[w->field] == HW_FEATURE)
            HAWSER_TRY(judge_feature(w, schema, k++, error));
        else if (w->whole->columns[w->field].missing > 0)
            return missing_in(w, "value that is no feature", "; only --missing drop helps here", error);
        else if (w->rules->roles[w->field] == HW_TARGET && words)
            HAWSER_TRY(judge_words(w, &w->whole->columns[w->field], forced, &schema->target, error));
    }
    HAWSER_TRY(hw_schema_settle(schema, error));
    return hw_schema_is_plain(schema) ? HAWSER_OK : hw_schema_check_names(schema, w->input, error);
}

/* Returns whether model files can keep the names of columns one per line. */
static bool fit_on_lines(const hawser_schema *schema)
{
    for (size_t k = 0; k < schema->count; k++)
        if (strchr(schema->columns[k].shape.name, '\n') != NULL)
            return false;
    return true;
}

hawser_status hw_table_judge(const hw_table_rules *rules, const char *input, const hw_survey *whole, hawser_schema **schema,
                             hawser_error *error)
{
    judge_work w = {.rules = rules, .input = input, .whole = whole};
    size_t count = 0;
    for (size_t j = 0; j < rules->width; j++)
        count += rules->roles[j] == HW_FEATURE;
    HAWSER_TRY(hw_schema_new(count, schema, error));
    hawser_status status = judge_all(&w, *schema, error);
    bool plain = status == HAWSER_OK && hw_schema_is_plain(*schema) && (*schema)->target.count == 0 && fit_on_lines(*schema);
    if (status != HAWSER_OK || plain) {
        hawser_schema_free(*schema);
        *schema = NULL;
    }
    return status;
}
