#include "algorithms/model/class_weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/model/labels.h"

hawser_status hw_check_weight_sum(double total, hawser_error *error)
{
    if (total == 0.0 || hw_weight_fits(total))
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_NOT_FINITE,
                       "the example weights sum to %g; scale them so that they sum to 1e-100 to 1e+100", total);
}

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

/* Reads the item at *at, and moves behind its comma. Words may have equality signs and commas, so of several ways to read it
 * the first one that names a class counts. */
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
    if (!hw_weight_fits(own->weight))
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

/* ---- in a model file ---- */

hawser_status hw_class_weights_fact(const double *weights, size_t classes, hawser_model *model, hawser_error *error)
{
    size_t at = 0, size = classes * 25 + 1;
    if (weights == NULL)
        return HAWSER_OK;
    char *text = calloc(size, 1);
    if (text == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the weights of %zu classes", classes);
    for (size_t c = 0; c < classes; c++) {
        if (c > 0)
            text[at++] = ' ';
        at += hawser_print_number(text + at, size - at, weights[c]);
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
