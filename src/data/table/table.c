#include "data/table/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/layout/assemble.h"
#include "data/table/cells.h"

const char *hw_field_called(const hw_table_rules *rules, size_t field, char text[HW_FIELD_CALLED])
{
    const char *name = rules->names != NULL ? rules->names[field] : "";
    (void)snprintf(text, HW_FIELD_CALLED, name[0] != '\0' ? "column %zu '%.100s'" : "column %zu", field, name);
    return text;
}

void hw_table_rules_free(hw_table_rules *rules)
{
    for (size_t j = 0; !rules->borrowed && rules->names != NULL && j < rules->width; j++)
        free(rules->names[j]);
    if (!rules->borrowed) {
        free(rules->names);
        free(rules->roles);
        free(rules->texts);
        free(rules->source);
    }
    *rules = (hw_table_rules){0};
}

void hw_table_free(struct hw_table *table)
{
    if (table == NULL)
        return;
    hw_pages_free(&table->budget, table->cells, table->bytes);
    hw_table_rules_free(&table->rules);
    hw_survey_free(table->survey);
    free(table->input);
    free(table);
}

/* Numbers the lines of the first places of words and missing values in all parts, while the input is open: one pass, however
 * many columns and parts there are. */
static hawser_status number_places(hw_reading *reading, uint64_t parts, hawser_error *error)
{
    hw_spot **spots = NULL;
    size_t count = 0, capacity = 0;
    for (uint64_t p = 0; p < parts; p++)
        capacity += hw_reading_part(reading, p)->survey != NULL ? 2 * hw_reading_part(reading, p)->survey->width : 0;
    HAWSER_TRY(HW_NEW(&spots, capacity + 1, "places in a table", error));
    for (uint64_t p = 0; p < parts; p++) {
        hw_survey *survey = hw_reading_part(reading, p)->survey;
        for (size_t j = 0; survey != NULL && j < survey->width; j++) {
            if (survey->columns[j].words > 0)
                spots[count++] = &survey->columns[j].word_spot;
            if (survey->columns[j].missing > 0)
                spots[count++] = &survey->columns[j].missing_spot;
        }
    }
    hw_spots_number(spots, count);
    free(spots);
    return HAWSER_OK;
}

/* Writes the first places of a part's words and missing values as texts. */
static hawser_status print_places(hw_survey *survey, hawser_error *error)
{
    char where[4096 + 32];
    for (size_t j = 0; j < survey->width; j++) {
        hw_survey_column *column = &survey->columns[j];
        if (column->words > 0) {
            hw_spot_print(&column->word_spot, where, sizeof where);
            HAWSER_TRY(hw_copy_text(&column->word_at, where, error));
        }
        if (column->missing > 0) {
            hw_spot_print(&column->missing_spot, where, sizeof where);
            HAWSER_TRY(hw_copy_text(&column->missing_at, where, error));
        }
    }
    return HAWSER_OK;
}

/* Returns whether a row has weight. Cells are those of the row. */
static bool has_weight(const struct hw_table *table, const double *cells)
{
    return table->weights_field == table->rules.width || cells[table->weights_field] != 0;
}

enum { MET = 1, COUNTED = 2 }; /* in rows of any weight, and in rows that count */

/* Finds out which words of a part field j has, and counts numbers beside words. Dropped rows have no cells. */
static void count_cells(const struct hw_table *table, const double *cells, uint64_t rows, size_t j, uint32_t *used,
                        hw_survey_column *column)
{
    size_t width = table->rules.width;
    uint32_t number;
    column->words = column->numbers = 0;
    for (uint64_t r = 0; r < rows; r++) {
        double cell = cells[r * width + j];
        bool counted = has_weight(table, cells + r * width);
        if (hw_cell_word(cell, &number)) {
            column->words++;
            used[number] |= counted ? COUNTED : MET;
        } else {
            column->numbers += !isnan(cell) && counted;
        }
    }
}

/* Stores the number that the cells of a word get: among the levels if a row that counts has it, else among the idle
 * words. */
static hawser_status take_word(hw_survey_column *whole, const char *text, bool counted, uint32_t *number,
                               hawser_error *error)
{
    HAWSER_TRY(hw_levels_put(counted ? &whole->levels : &whole->idle, text, strlen(text), number, error));
    *number |= counted ? 0 : HW_IDLE_WORD;
    return HAWSER_OK;
}

static void number_words(double *cells, uint64_t rows, size_t width, size_t j, const uint32_t *numbers)
{
    uint32_t number;
    for (uint64_t r = 0; r < rows; r++)
        if (hw_cell_word(cells[r * width + j], &number))
            cells[r * width + j] = hw_word_cell(numbers[number]);
}

/* Keeps the used words of a part's field alone, and gives the cells their numbers in the whole. */
static hawser_status take_words(const struct hw_table *table, hw_survey_column *part, double *cells, uint64_t rows, size_t j,
                                hawser_error *error)
{
    uint32_t *used = NULL;
    hawser_status status = HW_NEW(&used, part->levels.count + 1, "the levels of a column", error);
    HAWSER_TRY(status);
    count_cells(table, cells, rows, j, used, part);
    for (size_t k = 0; k < part->levels.count && status == HAWSER_OK; k++)
        if (used[k] != 0)
            status = take_word(&table->survey->columns[j], part->levels.texts[k], (used[k] & COUNTED) != 0, &used[k], error);
    if (status == HAWSER_OK)
        number_words(cells, rows, table->rules.width, j, used);
    free(used);
    return status;
}

static hawser_status add_part(struct hw_table *table, hw_text_part *part, uint64_t first, hawser_error *error)
{
    size_t width = table->rules.width;
    double *cells = table->cells + first * width;
    if (part->rows > 0)
        memcpy(cells, part->values, part->rows * width * sizeof *cells);
    if (part->survey == NULL)
        return HAWSER_OK;
    HAWSER_TRY(print_places(part->survey, error));
    for (size_t j = 0; j < width && table->rules.known == NULL; j++)
        if (part->survey->columns[j].words > 0) {
            HAWSER_TRY(take_words(table, &part->survey->columns[j], cells, part->rows, j, error));
            hw_levels_free(&part->survey->columns[j].levels);
        }
    return hw_survey_add(table->survey, part->survey, error);
}

/* Parts without words have numbers, too: counted where another part has words, which of a part of the whole may be another
 * node's. */
static void count_numbers(struct hw_table *table, const uint64_t *first_rows, uint64_t parts, const hw_reading *reading)
{
    size_t width = table->rules.width;
    for (size_t j = 0; j < width && table->rules.known == NULL; j++) {
        hw_survey_column *column = &table->survey->columns[j];
        bool counts = column->words > 0 || reading->load->parts > 1;
        for (uint64_t p = 0; p < parts && counts; p++) {
            const hw_survey *own = hw_reading_part(reading, p)->survey;
            for (uint64_t r = first_rows[p]; (own == NULL || own->columns[j].words == 0) && r < first_rows[p + 1]; r++)
                column->numbers += !isnan(table->cells[r * width + j]) && has_weight(table, table->cells + r * width);
        }
        if (table->rules.missing_number == HW_ZERO && counts) /* whose missing cells are zeros */
            column->numbers -= column->missing < column->numbers ? column->missing : column->numbers;
    }
}

static hawser_status fill(struct hw_table *table, hw_reading *reading, hawser_error *error)
{
    uint64_t *first_rows = NULL, parts = hw_reading_parts(reading);
    HAWSER_TRY(hw_survey_new(table->rules.width, &table->survey, error));
    HAWSER_TRY(hw_copy_text(&table->input, reading->input.files[0].name, error));
    while (table->weights_field < table->rules.width && table->rules.roles[table->weights_field] != HW_WEIGHTS)
        table->weights_field++;
    HAWSER_TRY(hw_reading_rows(reading, &table->rows, &first_rows, error));
    table->bytes = table->rows * table->rules.width * sizeof *table->cells;
    hawser_status status = hw_pages_new(&table->budget, (void **)&table->cells, table->bytes, error);
    HAWSER_THEN(status, number_places(reading, parts, error));
    for (uint64_t p = 0; p < parts && status == HAWSER_OK; p++) {
        hw_text_part *part = hw_reading_part(reading, p);
        status = add_part(table, part, first_rows[p], error);
        hw_pages_free(&reading->budget, part->pages, part->bytes);
        part->pages = NULL;
        part->bytes = 0;
    }
    if (status == HAWSER_OK)
        count_numbers(table, first_rows, parts, reading);
    free(first_rows);
    return status;
}

/* Counts field j over the rows with weight, and leaves only the words of these as levels. */
static hawser_status weigh_field(struct hw_table *table, const double *weights, size_t j, hawser_error *error)
{
    size_t width = table->rules.width;
    hw_survey_column *column = &table->survey->columns[j];
    hw_levels met = column->levels;
    const bool dated = column->hours; /* else no time of day was met */
    uint32_t *used = NULL, number;
    HAWSER_TRY(HW_NEW(&used, met.count + 1, "the levels of a column", error));
    column->levels = (hw_levels){0};
    column->numbers = column->missing = 0;
    column->hours = false;
    for (uint64_t r = 0; r < table->rows; r++) {
        double cell = table->cells[r * width + j];
        if (!(weights[r] > 0))
            continue;
        column->hours = column->hours || (dated && fmod(cell, 86400) != 0 && !isnan(cell));
        if (hw_cell_word(cell, &number))
            used[number] = COUNTED;
        else
            *(isnan(cell) ? &column->missing : &column->numbers) += 1;
    }
    hawser_status status = HAWSER_OK;
    for (size_t k = 0; k < met.count && status == HAWSER_OK; k++)
        status = take_word(column, met.texts[k], used[k] != 0, &used[k], error);
    if (status == HAWSER_OK)
        number_words(table->cells, table->rows, width, j, used);
    hw_levels_free(&met);
    free(used);
    return status;
}

hawser_status hw_table_weigh(struct hw_table *table, const double *weights, hawser_error *error)
{
    for (size_t j = 0; weights != NULL && table->rules.known == NULL && j < table->rules.width; j++)
        if (table->survey->columns[j].words > 0 || table->survey->columns[j].missing > 0 || table->survey->columns[j].hours)
            HAWSER_TRY(weigh_field(table, weights, j, error));
    return HAWSER_OK;
}

hawser_status hw_table_new(hw_reading *reading, hw_table_rules *rules, struct hw_table **table, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(table, 1, "a table", error));
    (*table)->rules = *rules;
    *rules = (hw_table_rules){0};
    hw_budget_init(&(*table)->budget, reading->budget.limit);
    (*table)->budget.cancellation = reading->budget.cancellation;
    hawser_status status = fill(*table, reading, error);
    if (status != HAWSER_OK) {
        hw_table_free(*table);
        *table = NULL;
    }
    return status;
}
