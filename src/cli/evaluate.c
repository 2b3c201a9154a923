/* evaluate.c - hawser evaluate. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/input.h"
#include "cli/json.h"

const hawser_option *hw_evaluate_rows(void)
{
    static const hawser_option rows[] = {
        HW_UNSEEN_ROW,
        {"threshold", HAWSER_NUMBER, "0.5", "[0,1]", "P",
         "two classes: predict the higher label if its probability is above P; see 'hawser help measures'", NULL, 0},
        {"json", HAWSER_FLAG, "no", NULL, NULL, "print one JSON object instead of lines", NULL, 0},
        {"quiet", HAWSER_FLAG, "no", NULL, NULL, "print only errors on standard error", NULL, 'q'},
        {0},
    };
    return rows;
}

/* The words that stand for numbers in a table's columns "label" and "output"; NULL: the numbers stand for themselves. */
typedef struct measure_words {
    const char *const *labels, *const *outputs;
} measure_words;

static measure_words words_of(const hw_fitted *fitted)
{
    return (measure_words){hw_label_words(fitted), (const char *const *)fitted->output_names};
}

/* Returns the word of a number in a table's column, or NULL if the number stands for itself. */
static const char *word_of(measure_words words, const char *column, double value)
{
    const char *const *list = strcmp(column, "label") == 0    ? words.labels
                              : strcmp(column, "output") == 0 ? words.outputs
                                                              : NULL;
    return list != NULL ? list[(size_t)value] : NULL;
}

/* Makes a list of objects for a table, and a list of lists for a matrix. */
static json_t *json_of(const hawser_measure *measure, measure_words words, bool *ok)
{
    json_t *lines = json_array();
    for (size_t i = 0; i < measure->lines; i++) {
        json_t *line = measure->columns != NULL ? json_object() : json_array();
        for (size_t j = 0; j < measure->width; j++) {
            double value = measure->values[i * measure->width + j];
            const char *word = measure->columns != NULL ? word_of(words, measure->columns[j], value) : NULL;
            if (word != NULL)
                hw_json_text(line, measure->columns[j], word, ok);
            else if (measure->columns != NULL)
                hw_json_number(line, measure->columns[j], value, ok);
            else
                hw_json_append(line, hw_json_value(value), ok);
        }
        hw_json_append(lines, line, ok);
    }
    return lines;
}

static hawser_status print_json(const hw_call *call, const hw_fitted *fitted, const hawser_dataset *data,
                                const hawser_measure *measures, hawser_error *error)
{
    bool ok = true;
    json_t *object = json_object(), *notes = json_array();
    const hawser_load_figures *figures = hawser_dataset_figures(data);
    measure_words words = words_of(fitted);
    hw_json_text(object, "algorithm", fitted->algorithm->name, &ok);
    hw_json_text(object, "model", call->words[0], &ok);
    hw_json_count(object, "rows", hawser_dataset_matrix(data)->rows, &ok);
    hw_json_count(object, "unseen_columns", figures->unseen_columns, &ok);
    hw_json_count(object, "unseen_entries", figures->unseen_entries, &ok);
    for (; measures->name != NULL; measures++) {
        char note[200];
        if (measures->values != NULL)
            hw_json_take(object, measures->name, json_of(measures, words, &ok), &ok);
        else
            hw_json_number(object, measures->name, measures->value, &ok);
        snprintf(note, sizeof note, "%s is unknown: %s", measures->name, measures->why);
        if (measures->why[0] != '\0')
            hw_json_append(notes, hw_json_string(note), &ok);
    }
    hw_json_take(object, "notes", notes, &ok);
    return hw_json_line(call->out, object, ok, error);
}

/* Prints a word or number of a table, right-aligned after a blank. */
static void print_cell(FILE *out, const char *word, double value)
{
    if (word != NULL)
        fprintf(out, " %14s", word);
    else if (isnan(value))
        fprintf(out, " %14s", "-");
    else
        fprintf(out, " %14.6g", value);
}

static void print_table(FILE *out, const hawser_measure *measure, measure_words words)
{
    bool matrix = measure->columns == NULL;
    fprintf(out, "\n%s%s\n", measure->name, matrix ? " (lines: label, columns: predicted label)" : "");
    if (matrix)
        fprintf(out, " %14s", "");
    for (size_t j = 0; j < measure->width; j++)
        if (matrix)
            print_cell(out, word_of(words, "label", measure->heads[j]), measure->heads[j]);
        else
            fprintf(out, " %14s", measure->columns[j]);
    fputc('\n', out);
    for (size_t i = 0; i < measure->lines; i++) {
        if (matrix)
            print_cell(out, word_of(words, "label", measure->heads[i]), measure->heads[i]);
        for (size_t j = 0; j < measure->width; j++) {
            double value = measure->values[i * measure->width + j];
            print_cell(out, matrix ? NULL : word_of(words, measure->columns[j], value), value);
        }
        fputc('\n', out);
    }
}

/* Prints the numbers, one per line, then the tables. */
static void print_lines(FILE *out, const hawser_dataset *data, const hawser_measure *measures, measure_words words)
{
    fprintf(out, "%-21s %zu\n", "rows", hawser_dataset_matrix(data)->rows);
    for (const hawser_measure *one = measures; one->name != NULL; one++)
        if (one->values == NULL && isnan(one->value))
            fprintf(out, "%-21s unknown: %s\n", one->name, one->why);
        else if (one->values == NULL)
            fprintf(out, "%-21s %.10g\n", one->name, one->value);
    for (const hawser_measure *one = measures; one->name != NULL; one++)
        if (one->values != NULL)
            print_table(out, one, words);
}

static hawser_status measure(const hw_call *call, const hw_fitted *fitted, const hawser_dataset *data,
                             const double *predictions, hawser_measure *measures, hawser_error *error)
{
    const char *where;
    const hawser_algorithm *algorithm = fitted->algorithm;
    hawser_source source = hawser_options_source(call->options, "threshold", &where);
    hawser_evaluation_input input = {.model = fitted->model,
                                     .data = data,
                                     .predictions = predictions,
                                     .words = hw_label_words(fitted),
                                     .threshold = hawser_options_number(call->options, "threshold")};
    if (algorithm->evaluate == NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION, "%s: predictions of %s have no measures", call->words[0],
                           algorithm->name);
    if (algorithm->label == NULL && (source == HAWSER_FROM_FILE || source == HAWSER_FROM_COMMAND_LINE))
        return hawser_fail(error, HAWSER_BAD_OPTION, "--threshold: a model of %s predicts numbers, not labels",
                           algorithm->name);
    return algorithm->evaluate(&input, measures, error);
}

hawser_status hw_evaluate(hw_call *call, hawser_error *error)
{
    hw_fitted fitted;
    hawser_dataset *data;
    double *predictions;
    hawser_measure measures[HAWSER_MEASURES] = {{0}};
    HAWSER_TRY(hw_predict_words(call, &fitted, true, &data, &predictions, error));
    hawser_status status = measure(call, &fitted, data, predictions, measures, error);
    if (status == HAWSER_OK && hawser_options_flag(call->options, "json"))
        status = print_json(call, &fitted, data, measures, error);
    else if (status == HAWSER_OK)
        print_lines(call->out, data, measures, words_of(&fitted));
    for (hawser_measure *one = measures; one->name != NULL; one++)
        free(one->values);
    free(predictions);
    hawser_dataset_free(data);
    hw_fitted_free(&fitted);
    return status;
}
