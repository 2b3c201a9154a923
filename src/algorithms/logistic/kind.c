/* kind.c - the differences of logistic regression from other linear models: two labels, the log loss, and its duality
 * gap. */
#include "algorithms/logistic/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/logistic/loss.h"
#include "algorithms/model/class_weights.h"
#include "algorithms/model/labels.h"
#include "algorithms/solve/certificate.h"

static bool given(const hawser_options *options, const char *key)
{
    return hawser_options_text(options, key) != NULL;
}

/* Checks that the target has two words. They are numbered from 0 in the order of their bytes. */
static hawser_status check_words(const hawser_dataset *data, hawser_error *error)
{
    size_t count = 0;
    const char *const *words = hawser_schema_target(hawser_dataset_schema(data), &count);
    if (words == NULL || count == 2)
        return HAWSER_OK;
    if (count == 1)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "all examples have the label '%.60s': a classifier needs two (--target says where labels are)",
                           words[0]);
    return hawser_fail(
        error, HAWSER_BAD_INPUT,
        "the target has %zu different words ('%.40s', '%.40s', '%.40s'%s); logistic regression tells two apart "
        "(--target says where labels are, --positive makes two of them; 'train softmax' takes all)",
        count, words[0], words[1], words[2], count > 3 ? ", ..." : "");
}

/* Takes the two labels, and sets the target to -1 for the lower label and to 1 for the higher one. */
static hawser_status take_labels(hw_linear_problem *problem, const double *target, hawser_error *error)
{
    size_t n = problem->X->rows, other = 0;
    double *labels = problem->labels;
    labels[0] = labels[1] = target[problem->counted];
    while (other < n && target[hw_linear_counted(problem, other)] == labels[0])
        other++;
    if (other == n) /* labels that were rounded to one are no single label */
        HAWSER_TRY(hw_labels_check(labels, 1, error));
    if (other == n && problem->weights != NULL)
        return hawser_fail(
            error, HAWSER_BAD_INPUT,
            "all examples with a weight above 0 have the label %g: a classifier needs two (--target says where "
            "labels are)",
            labels[0]);
    if (other == n)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "all %zu examples have the label %g: a classifier needs two (--target says where labels are)", n,
                           labels[0]);
    labels[target[other] > labels[0]] = target[other];
    for (size_t i = 0; i < n; i++) {
        double y = target[hw_linear_counted(problem, i)];
        if (y != labels[0] && y != labels[1])
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "row %zu: the label %g is a third one beside %g and %g; logistic regression tells two apart "
                               "(--target says where labels are, --positive makes two of them; 'train softmax' takes all)",
                               i + 1, y, labels[0], labels[1]);
        problem->target[i] = y == labels[1] ? 1.0 : -1.0;
    }
    return HAWSER_OK;
}

/* Makes the classes by --positive: label 1 where it holds, label 0 elsewhere. */
static hawser_status take_positive(hw_linear_problem *problem, const hawser_training_input *input, hawser_error *error)
{
    const char *text = hawser_options_text(input->options, "positive");
    const double *target = hawser_dataset_target(input->data);
    size_t n = problem->X->rows, count = 0, holds = 0;
    const char *const *words = hawser_schema_target(hawser_dataset_schema(input->data), &count);
    HAWSER_TRY(hw_positive_read(text, words, count, &problem->positive, error));
    problem->labels[0] = 0.0;
    problem->labels[1] = 1.0;
    for (size_t i = 0; i < n; i++) {
        double y = target[hw_linear_counted(problem, i)];
        bool positive = hw_positive_holds(&problem->positive, y);
        if (y == problem->positive.value) /* the condition would hold for what was rounded to the number, too */
            HAWSER_TRY(hw_labels_check(&y, 1, error));
        problem->target[i] = positive ? 1.0 : -1.0;
        holds += positive;
    }
    if (holds > 0 && holds < n)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_INPUT,
                       "--positive '%.60s' holds for %s the %zu examples: a classifier needs two classes", text,
                       holds == 0 ? "none of" : "all of", n);
}

/* Reads "A:B", the weights of the lower and of the higher label. */
static hawser_status read_pair(const hw_linear_problem *problem, const char *text, double *out, hawser_error *error)
{
    const char *end = hawser_read_number(text, &out[0]);
    if (end != NULL)
        end = *end == ':' ? hawser_read_number(end + 1, &out[1]) : NULL;
    if (end == NULL || *end != '\0' || !(out[0] > 0.0) || !(out[1] > 0.0) || !isfinite(out[0]) || !isfinite(out[1]))
        return hawser_fail(
            error, HAWSER_BAD_OPTION,
            "--class-weight %s: want balanced, LABEL=NUMBER,LABEL=NUMBER, or two numbers > 0 as 1:5 (for label "
            "%g and label %g)",
            text, problem->labels[0], problem->labels[1]);
    return HAWSER_OK;
}

/* Reads --class-weight: the weight of the examples of each class. */
static hawser_status class_weights(hw_linear_problem *problem, const hawser_dataset *data, const char *text,
                                   hawser_error *error)
{
    double examples[2] = {0.0, 0.0};
    size_t n = problem->X->rows, count = 0;
    const char *const *words = hawser_schema_target(hawser_dataset_schema(data), &count);
    if (strchr(text, '=') != NULL)
        return hw_class_weights_read(text, problem->labels, 2, problem->positive.compare != 0 ? NULL : words,
                                     problem->class_weights, error);
    if (strcmp(text, "balanced") != 0)
        return read_pair(problem, text, problem->class_weights, error);
    for (size_t i = 0; i < n; i++)
        examples[problem->target[i] > 0.0] += problem->weights != NULL ? problem->weights[i] : 1.0;
    hw_class_weights_balance(examples, 2, problem->class_weights);
    return HAWSER_OK;
}

static hawser_status weigh_classes(hw_linear_problem *problem, const hawser_training_input *input, hawser_error *error)
{
    size_t n = problem->X->rows;
    HAWSER_TRY(class_weights(problem, input->data, hawser_options_text(input->options, "class-weight"), error));
    problem->own_weights = calloc(n + 1, sizeof *problem->own_weights);
    if (problem->own_weights == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the weights of %zu rows", n);
    for (size_t i = 0; i < n; i++)
        problem->own_weights[i] =
            (problem->weights != NULL ? problem->weights[i] : 1.0) * problem->class_weights[problem->target[i] > 0.0];
    problem->weights = problem->own_weights;
    return HAWSER_OK;
}

static hawser_status take_target(hw_linear_problem *problem, const hawser_training_input *input, hawser_error *error)
{
    const double *target = hawser_dataset_target(input->data);
    if (given(input->options, "positive")) {
        HAWSER_TRY(take_positive(problem, input, error));
    } else {
        HAWSER_TRY(check_words(input->data, error));
        HAWSER_TRY(take_labels(problem, target, error));
        HAWSER_TRY(hw_labels_check(problem->labels, 2, error));
    }
    problem->offset = hawser_dataset_offset(input->data);
    problem->class_weights[0] = problem->class_weights[1] = 1.0;
    if (given(input->options, "class-weight"))
        HAWSER_TRY(weigh_classes(problem, input, error));
    return HAWSER_OK;
}

static double target_of(const hw_linear_problem *problem, double value)
{
    if (problem->positive.compare != 0)
        return hw_positive_holds(&problem->positive, value) ? 1.0 : -1.0;
    return value == problem->labels[1] ? 1.0 : value == problem->labels[0] ? -1.0 : NAN;
}

static double row_error(double target, double margin)
{
    return hw_logistic_loss(target * margin);
}

/* Probabilities above one half predict the higher label. */
static double wrong(double target, double margin)
{
    return (margin > 0.0) != (target > 0.0);
}

static void certificate(hw_linear_metric *metric, const void *source, double zero_objective, double *objective, double *gap)
{
    double scaled = metric(source, "dual_loss") - metric(source, "conjugate");
    double plain = metric(source, "plain_dual_loss") - metric(source, "plain_conjugate");
    *objective = metric(source, "loss") + metric(source, "penalty");
    double difference = *objective - (scaled > plain ? scaled : plain);
    *gap = hw_linear_gap_of(difference, fmax(zero_objective, *objective));
    hw_linear_refuse_infinite(objective, gap);
}

/* Writes a fact of two numbers with a blank between them. */
static hawser_status fact_pair(hawser_model *model, const char *key, const double pair[2], hawser_error *error)
{
    char text[80];
    size_t length = hawser_print_number(text, sizeof text, pair[0]);
    text[length++] = ' ';
    (void)hawser_print_number(text + length, sizeof text - length, pair[1]);
    return hawser_model_fact(model, key, text, error);
}

static hawser_status model_facts(const hw_linear_problem *problem, hawser_model *model, hawser_error *error)
{
    char text[HW_POSITIVE_TEXT];
    hw_positive_print(&problem->positive, text);
    if (problem->positive.compare != 0)
        HAWSER_TRY(hawser_model_fact(model, "positive", text, error));
    HAWSER_TRY(fact_pair(model, "labels", problem->labels, error));
    return fact_pair(model, "class_weights", problem->class_weights, error);
}

static const hw_linear_error errors[] = {{"accuracy", wrong}, {"auc", NULL}, {NULL, NULL}};

const hw_linear_kind hw_logistic_kind = {.name = "logistic",
                                         .cv_name = "cv_log_loss",
                                         .validation_name = "validation_log_loss",
                                         .error_name = "log loss",
                                         .fit_name = "deviance_ratio",
                                         .boxes = true,
                                         .loss = &hw_logistic_losses,
                                         .take_target = take_target,
                                         .row_error = row_error,
                                         .errors = errors,
                                         .classes = true,
                                         .wrong_target = "is not one of the training data's labels",
                                         .target_of = target_of,
                                         .certificate = certificate,
                                         .model_facts = model_facts};
