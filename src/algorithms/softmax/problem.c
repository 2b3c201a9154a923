#include "algorithms/softmax/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/model/given.h"
#include "algorithms/model/labels.h"
#include "algorithms/softmax/fitted.h"

static hawser_status check_options(const hw_softmax *softmax, const hawser_options *options, hawser_sync sync,
                                   hawser_error *error)
{
    static const char *const exchange[] = {"exchange-every", "filter", "quota", "max-held-clocks", "encoding", "merge"};
    static const char *const margins[] = {"offset", "exposure"};
    if (sync.tightness != HAWSER_BSP && softmax->blocks > 1)
        return hawser_fail(
            error, HAWSER_BAD_OPTION,
            "--sync %s: each step of softmax regression adds up all rows over the workers, which only bsp does",
            hawser_options_text(options, "sync"));
    for (size_t k = 0; k < sizeof exchange / sizeof *exchange; k++)
        if (hw_option_given(options, exchange[k]) && softmax->blocks > 1)
            return hawser_fail(
                error, HAWSER_BAD_OPTION,
                "--%s: workers of softmax regression exchange exact sums, which this option does not apply to; "
                "leave it out",
                exchange[k]);
    for (size_t k = 0; k < 2; k++)
        if (hw_option_given(options, margins[k]) && strcmp(hawser_options_text(options, margins[k]), "none") != 0)
            return hawser_fail(error, HAWSER_BAD_OPTION, "--%s: softmax regression takes none; leave it out", margins[k]);
    if (!isnan(softmax->lambda) && !isnan(softmax->C))
        return hawser_fail(error, HAWSER_BAD_OPTION, "--lambda and --C: give one of them");
    return HAWSER_OK;
}

static double number_or_nan(const hawser_options *options, const char *key)
{
    return hawser_options_has(options, key) ? hawser_options_number(options, key) : NAN;
}

static hawser_status find_classes(hw_softmax *softmax, hawser_job *job, hawser_error *error)
{
    HAWSER_TRY(hw_labels_find(job, softmax->data, HW_SOFTMAX_CLASSES, &softmax->labels, &softmax->classes, error));
    if (softmax->classes > HW_SOFTMAX_CLASSES)
        return hawser_fail(
            error, HAWSER_BAD_INPUT,
            "the target has more than %d different values: a classifier has at most as many classes (--target "
            "says where labels are)",
            HW_SOFTMAX_CLASSES);
    if (softmax->classes < 2)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "all examples with a weight above 0 have one label: a classifier needs two (--target says where "
                           "labels are)");
    softmax->width = (softmax->X->cols + 1) * softmax->classes;
    return HAWSER_OK;
}

/* Stores the numbers of a model in softmax->given. It must have the training's classes, and no other columns. */
static hawser_status start_from(hw_softmax *softmax, const hawser_model *model, hawser_error *error)
{
    hw_softmax_fitted f;
    size_t k = softmax->classes, d = softmax->X->cols;
    HAWSER_TRY(hw_softmax_fitted_of(model, &f, error));
    if (f.columns != d)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--init: the model has %zu columns, the data have %zu", f.columns, d);
    if (f.classes != k || memcmp(f.labels, softmax->labels, k * sizeof *f.labels) != 0)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--init: the model has %zu classes, which are not the %zu of the data",
                           f.classes, k);
    softmax->given = calloc(softmax->width, sizeof *softmax->given);
    if (softmax->given == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu classes of %zu columns", k, d);
    for (size_t c = 0; c < k; c++) {
        for (size_t j = 0; j < d; j++)
            softmax->given[j * k + c] = f.coefficients[c * d + j];
        softmax->given[d * k + c] = softmax->intercept ? f.intercepts[c] : 0.0;
    }
    return HAWSER_OK;
}

hawser_status hw_softmax_new(hw_softmax *softmax, hawser_job *job, const hawser_training_input *input, hawser_error *error)
{
    const hawser_options *options = input->options;
    *softmax = (hw_softmax){.X = hawser_dataset_matrix(input->data),
                            .data = input->data,
                            .lambda = number_or_nan(options, "lambda"),
                            .C = number_or_nan(options, "C"),
                            .ratio = hawser_options_number(options, "lambda-ratio"),
                            .share = hawser_options_number(options, "l1-ratio"),
                            .tolerance = hawser_options_number(options, "tol"),
                            .iterations = (uint64_t)hawser_options_integer(options, "max-iterations"),
                            .intercept = hawser_options_flag(options, "intercept"),
                            .standardize = hawser_options_flag(options, "standardize")};
    if (hawser_dataset_outputs(input->data) == 0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the data have no target; name its column with --target");
    hawser_job_fit(job, softmax->X->stored, 1 << 20);
    softmax->blocks = hawser_job_workers(job);
    HAWSER_TRY(check_options(softmax, options, hawser_job_sync(job), error));
    HAWSER_TRY(find_classes(softmax, job, error));
    return input->init == NULL ? HAWSER_OK : start_from(softmax, input->init, error);
}

void hw_softmax_free(hw_softmax *softmax)
{
    free(softmax->labels);
    free(softmax->given);
    softmax->labels = softmax->given = NULL;
}
