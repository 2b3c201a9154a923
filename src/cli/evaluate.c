/* evaluate.c - hawser evaluate. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/score.h"
#include "report/json.h"

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

static hawser_status print_json(const hw_scoring *scoring, const hawser_measure *measures, hawser_error *error)
{
    const hw_call *call = scoring->call;
    const hw_fitted *fitted = scoring->fitted;
    hawser_load_figures figures;
    bool ok = true;
    json_t *object = json_object(), *notes = json_array();
    hawser_rows_figures(scoring->rows, &figures);
    measure_words words = words_of(fitted);
    hw_json_text(object, "algorithm", fitted->algorithm->name, &ok);
    hw_json_text(object, "model", call->words[0], &ok);
    hw_json_count(object, "rows", scoring->count, &ok);
    hw_json_count(object, "unseen_columns", figures.unseen_columns, &ok);
    hw_json_count(object, "unseen_entries", figures.unseen_entries, &ok);
    hw_json_count(object, "unseen_words", figures.unknown_words, &ok);
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
    char shown[200];
    if (word != NULL) {
        (void)hawser_escape(word, shown, sizeof shown);
        fprintf(out, " %14s", shown);
    } else if (isnan(value)) {
        fprintf(out, " %14s", "-");
    } else {
        fprintf(out, " %14.6g", value);
    }
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
static void print_lines(FILE *out, uint64_t rows, const hawser_measure *measures, measure_words words)
{
    fprintf(out, "%-21s %" PRIu64 "\n", "rows", rows);
    for (const hawser_measure *one = measures; one->name != NULL; one++)
        if (one->values == NULL && isnan(one->value))
            fprintf(out, "%-21s unknown: %s\n", one->name, one->why);
        else if (one->values == NULL)
            fprintf(out, "%-21s %.10g\n", one->name, one->value);
    for (const hawser_measure *one = measures; one->name != NULL; one++)
        if (one->values != NULL)
            print_table(out, one, words);
}

/* ---- what is kept of the rows ---- */

/* What the measures need of all rows: two numbers per output, and a weight if the data have weights. */
typedef struct kept_rows {
    double *scored, *weights;
    size_t scored_capacity, weight_capacity;
    uint64_t most; /* bytes that may be kept; 0: any */
} kept_rows;

/* Refuses data whose targets are not those of the model. Names that the model does not have may be those of other columns
 * with the same meaning. */
static hawser_status check_targets(const hw_fitted *fitted, const hawser_dataset *data, hawser_error *error)
{
    size_t count = hawser_dataset_outputs(data);
    if (count == 0 && fitted->algorithm->no_target)
        return HAWSER_OK;
    if (count == 0)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "the input has no target to compare with; name its column with --target");
    if (count != fitted->outputs)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the data have %zu target%s, the model %zu; name them with --target",
                           count, count == 1 ? "" : "s", fitted->outputs);
    for (size_t o = 0; fitted->output_names != NULL && o < fitted->outputs; o++)
        for (size_t k = 0; k < count; k++) {
            const char *name = hawser_dataset_output_name(data, k);
            if (k != o && name != NULL && strcmp(name, fitted->output_names[o]) == 0)
                return hawser_fail(
                    error, HAWSER_BAD_INPUT,
                    "the target '%.60s' is number %zu of these data and number %zu of the model; name the targets "
                    "in the model's order, or leave --target out",
                    name, k + 1, o + 1);
        }
    return HAWSER_OK;
}

/* Makes room for more rows, within --memory-limit. */
static hawser_status make_room(kept_rows *kept, size_t rows, size_t outputs, bool weighted, hawser_error *error)
{
    uint64_t bytes = (uint64_t)rows * sizeof(double) * (2 * outputs + (weighted ? 1 : 0));
    if (kept->most > 0 && bytes > kept->most)
        return hawser_fail(error, HAWSER_NO_MEMORY,
                           "the measures of %zu rows and more need %" PRIu64 " bytes, and --memory-limit allows %" PRIu64
                           "; raise it",
                           rows, bytes, kept->most);
    HAWSER_TRY(HW_GROW(&kept->scored, &kept->scored_capacity, 2 * outputs * rows, "scores and targets", error));
    return weighted ? HW_GROW(&kept->weights, &kept->weight_capacity, rows, "weights", error) : HAWSER_OK;
}

static hawser_status keep_weights(const hw_scoring *scoring, const double *weights, size_t rows, double *to,
                                  hawser_error *error)
{
    for (size_t i = 0; i < rows; i++) {
        if (weights[i] < 0.0)
            return hawser_fail(
                error, HAWSER_BAD_INPUT,
                "%s: the weight of row %zu is negative: %g; weights are 0 or more, so remove the row or correct it",
                scoring->call->words[1], (size_t)scoring->count + i + 1, weights[i]);
        to[i] = weights[i];
    }
    return HAWSER_OK;
}

static hawser_status keep_rows(hw_scoring *scoring, const hawser_dataset *data, const double *values, hawser_error *error)
{
    kept_rows *kept = scoring->user;
    size_t rows = hawser_dataset_matrix(data)->rows, before = (size_t)scoring->count, outputs = hw_score_width(scoring);
    bool one = scoring->head->width != NULL && strcmp(scoring->head->name, "prediction") != 0; /* target of all numbers */
    const double *weights = hawser_dataset_weights(data);
    HAWSER_TRY(check_targets(scoring->fitted, data, error));
    HAWSER_TRY(make_room(kept, before + rows, outputs, weights != NULL, error));
    double *to = kept->scored + 2 * outputs * before;
    for (size_t o = 0; o < outputs; o++) {
        const double *target = hawser_dataset_output(data, one ? 0 : o);
        for (size_t i = 0; i < rows; i++) {
            to[2 * (i * outputs + o)] = values[i * outputs + o];
            to[2 * (i * outputs + o) + 1] = target != NULL ? target[i] : NAN;
        }
    }
    return weights != NULL ? keep_weights(scoring, weights, rows, kept->weights + before, error) : HAWSER_OK;
}

/* ---- the command ---- */

static hawser_status check_measures(const hw_call *call, const hawser_algorithm *algorithm, hawser_error *error)
{
    const char *where;
    hawser_source source = hawser_options_source(call->options, "threshold", &where);
    if (algorithm->evaluate == NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION, "%s: predictions of %s have no measures", call->words[0],
                           algorithm->name);
    if (hawser_algorithm_head(algorithm, "label") == NULL &&
        (source == HAWSER_FROM_FILE || source == HAWSER_FROM_COMMAND_LINE))
        return hawser_fail(error, HAWSER_BAD_OPTION, "--threshold: a model of %s predicts numbers, not labels",
                           algorithm->name);
    return HAWSER_OK;
}

/* A row of weight 0 may have any prediction and target, also such that no measure can be computed. It gets those of a row
 * that counts. */
static void replace_weightless(const hw_scoring *scoring, const kept_rows *kept)
{
    size_t rows = (size_t)scoring->count, width = 2 * hw_score_width(scoring), counted = 0;
    while (kept->weights != NULL && counted < rows && !(kept->weights[counted] > 0.0))
        counted++;
    for (size_t i = 0; kept->weights != NULL && counted < rows && i < rows; i++)
        if (!(kept->weights[i] > 0.0))
            memcpy(kept->scored + i * width, kept->scored + counted * width, width * sizeof *kept->scored);
}

static hawser_status measure(const hw_scoring *scoring, const kept_rows *kept, hawser_error *error)
{
    const hw_call *call = scoring->call;
    const hw_fitted *fitted = scoring->fitted;
    hawser_measure measures[HAWSER_MEASURES] = {{0}};
    hawser_evaluation_input input = {.model = fitted->model,
                                     .rows = (size_t)scoring->count,
                                     .outputs = hw_score_width(scoring),
                                     .scored = kept->scored,
                                     .weights = kept->weights,
                                     .words = hw_label_words(fitted),
                                     .threshold = hawser_options_number(call->options, "threshold")};
    replace_weightless(scoring, kept);
    hawser_status status = fitted->algorithm->evaluate(&input, measures, error);
    if (status == HAWSER_OK && hawser_options_flag(call->options, "json"))
        status = print_json(scoring, measures, error);
    else if (status == HAWSER_OK)
        print_lines(call->out, scoring->count, measures, words_of(fitted));
    for (hawser_measure *one = measures; one->name != NULL; one++)
        free(one->values);
    return status;
}

static hawser_status evaluate(hw_scoring *scoring, kept_rows *kept, hawser_error *error)
{
    hawser_load how;
    HAWSER_TRY(check_measures(scoring->call, scoring->fitted->algorithm, error));
    HAWSER_TRY(hw_load_like_model(scoring->call, scoring->fitted, true, &how, error));
    kept->most = how.memory_limit;
    HAWSER_TRY(hw_score_open(scoring, &how, error));
    HAWSER_TRY(hw_score(scoring, error));
    hw_score_end(scoring);
    return measure(scoring, kept, error);
}

hawser_status hw_evaluate(hw_call *call, hawser_error *error)
{
    hw_fitted fitted;
    kept_rows kept = {0};
    HAWSER_TRY(hw_predictor_load(call, &fitted, error));
    hw_scoring scoring = {.call = call, .fitted = &fitted, .take = keep_rows, .user = &kept};
    static const char *const heads[] = {"scores", "link", "prediction"};
    for (size_t k = 0; k < sizeof heads / sizeof *heads && scoring.head == NULL; k++)
        scoring.head = hawser_algorithm_head(fitted.algorithm, heads[k]);
    hawser_status status = evaluate(&scoring, &kept, error);
    hawser_rows_close(scoring.rows);
    free(kept.scored);
    free(kept.weights);
    hw_fitted_free(&fitted);
    return status;
}
