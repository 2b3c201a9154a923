#include "algorithms/softmax/problem.h"

#include <math.h>
#include <string.h>

#include "algorithms/model/given.h"
#include "algorithms/model/labels.h"
#include "hawser/advanced.h"

enum { BEYOND = 10 }; /* lambdas after that of the least error that a path of --cv has, if none of them has a lower one */

enum { PRODUCTS_EACH = 1 << 21 }; /* of entries and classes: a further worker pays for itself with as many */

/* Fails if the validation data have a label that the training data lack. */
static hawser_status check_validation(const hw_softmax *softmax, hawser_error *error)
{
    const hawser_dataset *data = softmax->path.early.data;
    const double *target = data != NULL ? hawser_dataset_target(data) : NULL;
    const double *weights = data != NULL ? hawser_dataset_weights(data) : NULL;
    for (size_t i = 0; data != NULL && i < hawser_dataset_matrix(data)->rows; i++)
        if ((weights == NULL || weights[i] > 0.0) &&
            hw_labels_place(softmax->path.labels, softmax->path.classes, target[i]) == softmax->path.classes)
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "--validation: row %zu: the label %g is not one of the training data's labels", i + 1,
                               target[i]);
    return HAWSER_OK;
}

/* Every stored entry is multiplied with a coefficient of each class. */
static void fit_workers(hawser_job *job, const hawser_dataset *data)
{
    size_t classes = hw_labels_count(data, HW_SOFTMAX_CLASSES);
    hawser_job_fit(job, hawser_dataset_matrix(data)->stored, PRODUCTS_EACH / (classes > 2 ? classes : 2));
}

hawser_status hw_softmax_read(void *own, hawser_job *job, const hawser_training_input *input, hawser_error *error)
{
    hw_softmax *softmax = own;
    hw_row_path *path = &softmax->path;
    const hawser_options *options = input->options;
    softmax->lambda = hw_option_number(options, "lambda", NAN);
    softmax->C = hw_option_number(options, "C", NAN);
    if (softmax->lambda == 0.0)
        return hawser_fail(
            error, HAWSER_BAD_OPTION,
            "--lambda 0: softmax needs a penalty: a vector that is added to the coefficients of all classes "
            "changes no probability, so the optimum would not be unique; give a small one, such as --lambda 1e-6");
    softmax->ratio = hawser_options_number(options, "lambda-ratio");
    softmax->share = hawser_options_number(options, "l1-ratio");
    softmax->standardize = hawser_options_flag(options, "standardize");
    fit_workers(job, input->data);
    HAWSER_TRY(hw_row_path_new(path, job, input, "softmax regression", true, error));
    if (path->choice.folds > 0 && !hawser_options_has(options, "path") && path->choice.lambda_min_ratio <= 0.0) {
        path->abreast = true;
        path->beyond = BEYOND;
    }
    HAWSER_TRY(hw_row_path_classes(path, job, HW_SOFTMAX_CLASSES, "--target says where labels are", error));
    path->outputs = path->classes;
    path->cv_name = strcmp(path->choice.metric, "loss") == 0 ? "cv_log_loss" : "cv_error";
    path->error_name = "validation_log_loss";
    HAWSER_TRY(hw_row_path_centre(path, job, HW_CENTRE_FITTED, error));
    HAWSER_TRY(hw_row_path_start(path, job, input, false, error));
    return hawser_job_agree(job, check_validation(softmax, error), error);
}
