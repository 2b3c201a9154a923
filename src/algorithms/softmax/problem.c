#include "algorithms/softmax/problem.h"

#include <math.h>
#include <stdlib.h>

#include "algorithms/glm/class_weights.h"
#include "algorithms/model/classed.h"
#include "algorithms/model/exact.h"
#include "algorithms/model/labels.h"

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
    softmax->width = (softmax->X->cols + 1) * softmax->classes;
    return HAWSER_OK;
}

/* Stores the numbers of a model in softmax->given. It must have the training's classes, and no other columns. */
static hawser_status start_from(hw_softmax *softmax, const hawser_model *model, hawser_error *error)
{
    hw_classed f;
    HAWSER_TRY(hw_classed_of(model, false, &f, error));
    return hw_classed_start(&f, softmax->labels, softmax->classes, softmax->X->cols, softmax->intercept, &softmax->given,
                            error);
}

hawser_status hw_softmax_new(hw_softmax *softmax, hawser_job *job, const hawser_training_input *input, hawser_error *error)
{
    const hawser_options *options = input->options;
    *softmax = (hw_softmax){.X = hawser_dataset_matrix(input->data),
                            .data = input->data,
                            .held = input->held,
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
    if (softmax->X->cols == 0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the data have no columns to predict the target from");
    hawser_job_fit(job, softmax->X->stored, 1 << 20);
    softmax->blocks = hawser_job_workers(job);
    HAWSER_TRY(hw_exact_options(options, hawser_job_sync(job), softmax->blocks, "softmax regression", error));
    HAWSER_TRY(hw_classed_check_files(job, softmax->intercept, error));
    HAWSER_TRY(hw_row_path_new(&softmax->path, job, input, true, error));
    HAWSER_TRY(find_classes(softmax, job, error));
    if (softmax->intercept)
        HAWSER_TRY(hw_centre_find(&softmax->centre, job, input->data, HW_CENTRE_FITTED, error));
    if (softmax->intercept && softmax->centre.unequal == 0)
        hw_row_path_one(&softmax->path);
    HAWSER_TRY(hw_row_path_class_weights(&softmax->path, job, input, softmax->labels, softmax->classes, error));
    softmax->path.width = softmax->width;
    softmax->path.outputs = softmax->classes;
    if (hw_classed_has_files(job))
        return hw_classed_start_files(job, softmax->classes, softmax->X->cols, &softmax->given, error);
    return input->init == NULL ? HAWSER_OK : start_from(softmax, input->init, error);
}

hw_classed hw_softmax_sizes(const hw_softmax *s)
{
    return (hw_classed){.labels = s->labels, .problems = s->classes, .columns = s->X->cols, .classes = s->classes};
}

void hw_softmax_free(hw_softmax *softmax)
{
    free(softmax->labels);
    free(softmax->given);
    hw_row_path_free(&softmax->path);
    hw_centre_free(&softmax->centre);
    softmax->labels = softmax->given = NULL;
}
