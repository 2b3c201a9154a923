#include "algorithms/glm/class_weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/model/labels.h"

/* ---- the option ---- */

/* The classes that the option may name. */
typedef struct naming {
    const double *labels;
    size_t classes;
    const char *const *words; /* of the labels; NULL: they are numbers */
} naming;

/* One LABEL=NUMBER of the option. */
typedef struct item {
    const char *label;
    int length;
    size_t place; /* of the label; `classes` if it is none */
    double weight;
} item;

static size_t place_of(const naming *n, const char *label, size_t length)
{
    double number = NAN;
    if (n->words == NULL)
        return hawser_read_number(label, &number) == label + length ? hw_labels_place(n->labels, n->classes, number)
                                                                    : n->classes;
    for (size_t c = 0; c < n->classes; c++) {
        const char *word = n->words[(size_t)n->labels[c]];
        if (strlen(word) == length && memcmp(word, label, length) == 0)
            return c;
    }
    return n->classes;
}

/* Reads the item at *at, and moves behind its comma. Words may have equality signs and commas, so of several ways to read it the first one that names
 * a class counts. */
static bool next_item(const char **at, const naming *n, item *out)
{
    const char *begin = *at, *next = NULL;
    for (const char *sign = strchr(begin, '='); sign != NULL; sign = strchr(sign + 1, '=')) {
        item own = {.label = begin, .length = (int)(sign - begin)};
        const char *end = hawser_read_number(sign + 1, &own.weight);
        if (end == NULL || (*end != ',' && *end != '\0') || (*end == ',' && end[1] == '\0'))
            continue;
        own.place = place_of(n, begin, (size_t)own.length);
        if (next != NULL && own.place == n->classes)
            continue;
        *out = own;
        next = *end == ',' ? end + 1 : end;
        if (own.place < n->classes)
            break;
    }
    *at = next;
    return next != NULL;
}

static hawser_status take(const item *own, size_t classes, double *weights, hawser_error *error)
{
    if (own->place == classes)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--class-weight: no training row with a weight above 0 has the label '%.*s'", own->length,
                           own->label);
    if (!isnan(weights[own->place]))
        return hawser_fail(error, HAWSER_BAD_OPTION, "--class-weight: the label '%.*s' has two weights; give one",
                           own->length, own->label);
    if (!hw_linear_weight_fits(own->weight))
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--class-weight: the weight %g of the label '%.*s' is not within " HW_WEIGHT_RANGE, own->weight,
                           own->length, own->label);
    weights[own->place] = own->weight;
    return HAWSER_OK;
}

hawser_status hw_class_weights_read(const char *text, const double *labels, size_t classes, const char *const *words,
                                    double *weights, hawser_error *error)
{
    naming n = {labels, classes, words};
    item own = {0};
    for (size_t c = 0; c < classes; c++)
        weights[c] = NAN;
    for (const char *at = text; at == text || *at != '\0';) {
        if (!next_item(&at, &n, &own))
            return hawser_fail(error, HAWSER_BAD_OPTION,
                               "--class-weight '%.60s': want balanced, or LABEL=NUMBER,LABEL=NUMBER", text);
        HAWSER_TRY(take(&own, classes, weights, error));
    }
    for (size_t c = 0; c < classes; c++)
        weights[c] = isnan(weights[c]) ? 1.0 : weights[c];
    return HAWSER_OK;
}

void hw_class_weights_balance(const double *examples, size_t classes, double *weights)
{
    double total = 0.0;
    for (size_t c = 0; c < classes; c++)
        total += examples[c];
    for (size_t c = 0; c < classes; c++)
        weights[c] = examples[c] > 0.0 ? total / ((double)classes * examples[c]) : 1.0;
}

/* ---- of rows that are split over the blocks ---- */

/* What the unit reads. */
typedef struct count {
    const hw_row_path *path;
    const hawser_dataset *data;
    const double *labels;
    size_t classes, size;
} count;

static hawser_status add_up(hawser_context *context)
{
    const count *s = hawser_user(context);
    double *weights = NULL;
    size_t first = 0, share = hawser_part(context, "examples", &first);
    hawser_status status = hw_row_class_sums(context, s->path, s->data, s->labels, s->classes, &weights);
    if (status == HAWSER_OK && share > 0)
        memcpy(hawser_local(context, "examples"), weights + first, share * sizeof *weights);
    free(weights);
    return status;
}

/* Fills the balanced weights without each fold, from the weights of the classes in the folds. */
static void balance(const hw_row_path *path, const double *examples, double *rest)
{
    size_t k = path->classes;
    for (size_t f = 0; f <= path->choice.folds; f++) {
        memset(rest, 0, k * sizeof *rest);
        for (size_t g = 0; g < path->choice.folds || g == 0; g++)
            for (size_t c = 0; c < k && g + 1 != f; c++)
                rest[c] += examples[g * k + c];
        hw_class_weights_balance(rest, k, path->class_weights + f * k);
    }
}

static hawser_status find_balance(hw_row_path *path, hawser_job *job, count *s, hawser_error *error)
{
    hawser_run *run = NULL;
    hawser_program *program = hawser_program_new("class weights", s);
    hawser_state *X = hawser_data_state(program, "X", hawser_dataset_matrix(s->data), HAWSER_BY_ROW);
    hawser_state *examples = hawser_partitioned_state(program, "examples", s->size, NULL, NULL);
    hawser_reduces(hawser_unit(hawser_root(program), "add up", add_up, HAWSER_READS(X), HAWSER_UPDATES(examples)), s->size);
    hawser_observe(job, NULL, NULL);
    hawser_status status = hawser_run_program(job, program, &run, error);
    hawser_program_free(program);
    double *rest = calloc(s->classes, sizeof *rest);
    if (status == HAWSER_STOP)
        status = hawser_fail(error, HAWSER_STOP, "the training ended before its class weights were known; no model is kept");
    else if (status == HAWSER_OK && rest == NULL)
        status = hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the weights of %zu classes", s->classes);
    else if (status == HAWSER_OK)
        balance(path, hawser_result(run, "examples", NULL), rest);
    free(rest);
    hawser_run_free(run);
    return status;
}

hawser_status hw_row_path_class_weights(hw_row_path *path, hawser_job *job, const hawser_training_input *input,
                                        const double *labels, size_t classes, hawser_error *error)
{
    const char *text = hawser_options_text(input->options, "class-weight");
    size_t folds = path->choice.folds, words = 0;
    path->classes = classes;
    if (text == NULL)
        return HAWSER_OK;
    path->class_weights = calloc((folds + 1) * classes, sizeof *path->class_weights);
    if (path->class_weights == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the weights of %zu classes in %zu folds", classes, folds);
    count s = {path, input->data, labels, classes, (folds > 0 ? folds : 1) * classes};
    if (strcmp(text, "balanced") == 0)
        return find_balance(path, job, &s, error);
    HAWSER_TRY(hw_class_weights_read(text, labels, classes, hawser_schema_target(hawser_dataset_schema(input->data), &words),
                                     path->class_weights, error));
    for (size_t e = classes; e < (folds + 1) * classes; e++)
        path->class_weights[e] = path->class_weights[e - classes];
    return HAWSER_OK;
}

/* ---- in a model file ---- */

hawser_status hw_class_weights_fact(const hw_row_path *path, hawser_model *model, hawser_error *error)
{
    size_t at = 0, size = path->classes * 25 + 1;
    if (path->class_weights == NULL)
        return HAWSER_OK;
    char *text = calloc(size, 1);
    if (text == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the weights of %zu classes", path->classes);
    for (size_t c = 0; c < path->classes; c++) {
        if (c > 0)
            text[at++] = ' ';
        at += hawser_print_number(text + at, size - at, path->class_weights[c]);
    }
    hawser_status status = hawser_model_fact(model, "class_weights", text, error);
    free(text);
    return status;
}

hawser_status hw_class_weights_of(const hawser_model *model, size_t classes, double **weights, hawser_error *error)
{
    const char *at = hawser_model_text(model, "class_weights");
    *weights = NULL;
    if (at == NULL)
        return HAWSER_OK;
    *weights = calloc(classes + 1, sizeof **weights);
    if (*weights == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the weights of %zu classes", classes);
    for (size_t c = 0; at != NULL && c < classes; c++) {
        at = hawser_read_number(at, &(*weights)[c]);
        at = at != NULL && *at == ' ' ? at + 1 : at;
    }
    return at != NULL && *at == '\0'
               ? HAWSER_OK
               : hawser_fail(error, HAWSER_BAD_INPUT,
                             "the model's class_weights are not one number per class; was it written by Hawser?");
}
