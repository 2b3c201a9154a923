#include "data/table/survey.h"

#include <stdlib.h>
#include <string.h>

hawser_status hw_survey_new(size_t width, hw_survey **survey, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(survey, 1, "the columns of a table", error));
    (*survey)->width = width;
    hawser_status status = HW_NEW(&(*survey)->columns, width, "the columns of a table", error);
    if (status != HAWSER_OK) {
        free(*survey);
        *survey = NULL;
    }
    return status;
}

void hw_survey_free(hw_survey *survey)
{
    for (size_t j = 0; survey != NULL && j < survey->width; j++) {
        hw_levels_free(&survey->columns[j].levels);
        hw_levels_free(&survey->columns[j].idle);
        free(survey->columns[j].word_at);
        free(survey->columns[j].missing_at);
    }
    if (survey != NULL)
        free(survey->columns);
    free(survey);
}

static hawser_status take_place(char **to, const char *from, hawser_error *error)
{
    return *to == NULL && from != NULL ? hw_copy_text(to, from, error) : HAWSER_OK;
}

hawser_status hw_survey_add(hw_survey *whole, const hw_survey *part, hawser_error *error)
{
    for (size_t j = 0; j < whole->width; j++) {
        hw_survey_column *to = &whole->columns[j];
        const hw_survey_column *from = &part->columns[j];
        uint32_t number;
        to->words += from->words;
        to->numbers += from->numbers;
        to->missing += from->missing;
        to->hours = to->hours || from->hours;
        HAWSER_TRY(take_place(&to->word_at, from->word_at, error));
        HAWSER_TRY(take_place(&to->missing_at, from->missing_at, error));
        for (size_t k = 0; k < from->levels.count; k++)
            HAWSER_TRY(hw_levels_put(&to->levels, from->levels.texts[k], strlen(from->levels.texts[k]), &number, error));
    }
    return HAWSER_OK;
}

/* ---- as a message: of each column four numbers and how many levels it has, then two places and the levels ---- */

enum { NUMBERS = 5 };

static size_t text_bytes(const char *text)
{
    return text != NULL ? strlen(text) + 1 : 1;
}

static char *put_text(char *at, const char *text)
{
    size_t bytes = text_bytes(text);
    memcpy(at, text != NULL ? text : "", bytes);
    return at + bytes;
}

hawser_status hw_survey_pack(const hw_survey *survey, hw_bytes *bytes, hawser_error *error)
{
    size_t length = 0;
    for (size_t j = 0; j < survey->width; j++) {
        const hw_survey_column *column = &survey->columns[j];
        length += NUMBERS * sizeof(uint64_t) + text_bytes(column->word_at) + text_bytes(column->missing_at);
        for (size_t k = 0; k < column->levels.count; k++)
            length += text_bytes(column->levels.texts[k]);
    }
    HAWSER_TRY(hw_new_array(&bytes->data, length, 1, "the levels of a table", error));
    bytes->length = length;
    char *at = bytes->data;
    for (size_t j = 0; j < survey->width; j++) {
        const hw_survey_column *column = &survey->columns[j];
        uint64_t numbers[NUMBERS] = {column->words, column->numbers, column->missing, column->hours, column->levels.count};
        memcpy(at, numbers, sizeof numbers);
        at = put_text(put_text(at + sizeof numbers, column->word_at), column->missing_at);
        for (size_t k = 0; k < column->levels.count; k++)
            at = put_text(at, column->levels.texts[k]);
    }
    return HAWSER_OK;
}

static hawser_status misfit(hawser_error *error)
{
    return hawser_fail(error, HAWSER_INTERNAL,
                       "a node sent the levels of its part of the table in a form that is not known");
}

/* Stores where the text behind *at ends. */
static hawser_status get_text(const char **at, const char *end, const char **text, hawser_error *error)
{
    const char *stop = memchr(*at, '\0', (size_t)(end - *at));
    if (stop == NULL)
        return misfit(error);
    *text = *at;
    *at = stop + 1;
    return HAWSER_OK;
}

static hawser_status get_column(const char **at, const char *end, hw_survey_column *column, hawser_error *error)
{
    uint64_t numbers[NUMBERS];
    const char *text = "";
    uint32_t number;
    if ((size_t)(end - *at) < sizeof numbers)
        return misfit(error);
    memcpy(numbers, *at, sizeof numbers);
    *at += sizeof numbers;
    column->words = numbers[0];
    column->numbers = numbers[1];
    column->missing = numbers[2];
    column->hours = numbers[3] != 0;
    HAWSER_TRY(get_text(at, end, &text, error));
    HAWSER_TRY(take_place(&column->word_at, *text != '\0' ? text : NULL, error));
    HAWSER_TRY(get_text(at, end, &text, error));
    HAWSER_TRY(take_place(&column->missing_at, *text != '\0' ? text : NULL, error));
    for (uint64_t k = 0; k < numbers[4]; k++) {
        HAWSER_TRY(get_text(at, end, &text, error));
        HAWSER_TRY(hw_levels_put(&column->levels, text, strlen(text), &number, error));
        if (number != k)
            return misfit(error);
    }
    return HAWSER_OK;
}

hawser_status hw_survey_unpack(const hw_bytes *bytes, size_t width, hw_survey **survey, hawser_error *error)
{
    const char *at = bytes->data, *end = at + bytes->length;
    HAWSER_TRY(hw_survey_new(width, survey, error));
    hawser_status status = HAWSER_OK;
    for (size_t j = 0; j < width && status == HAWSER_OK; j++)
        status = get_column(&at, end, &(*survey)->columns[j], error);
    if (status == HAWSER_OK && at != end)
        status = misfit(error);
    if (status != HAWSER_OK) {
        hw_survey_free(*survey);
        *survey = NULL;
    }
    return status;
}
