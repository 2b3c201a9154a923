#include "algorithms/svm/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/glm/class_weights.h"
#include "algorithms/model/classed.h"
#include "algorithms/model/exact.h"
#include "algorithms/model/given.h"
#include "algorithms/model/labels.h"
#include "algorithms/newton/exponential.h"

enum { COSTS = 11, LEAST = -10, MOST = 10 }; /* of --cv without --path: values of C, from 2^LEAST to 2^MOST */

enum { JOINT_MOST = 1 << 26 }; /* stored numbers of the data that `auto` solves jointly */

static hawser_status check_options(const hw_svm *svm, hawser_job *job, const hawser_training_input *input,
                                   hawser_error *error)
{
    const hawser_options *options = input->options;
    if (svm->starts && !svm->primal)
        return hawser_fail(
            error, HAWSER_BAD_OPTION,
            "--init: --solver dual and joint start from numbers of the rows, which neither a model nor a file has; "
            "leave one of them out");
    HAWSER_TRY(hw_exact_options(options, hawser_job_sync(job), svm->blocks, "a support vector machine", error));
    HAWSER_TRY(hw_classed_check_files(job, svm->intercept, error));
    return svm->regression ? hawser_job_idle(job, "class-weight", "the --loss predicts numbers", error)
                           : hawser_job_idle(job, "epsilon", "it is about --loss epsilon and --loss squared-epsilon", error);
}

/* Chooses the solver, and limits the number of blocks. Data of at most twice as many rows as columns solve the dual sooner, but not from a
 * model. The dual takes more iterations with more blocks, unless it is solved jointly. It is slow where columns are of many sizes and C is large, which
 * is not known before: only `auto` may turn to the primal then. */
static void choose(hw_svm *svm, hawser_job *job, const char *solver)
{
    bool wide = !svm->starts && svm->X->rows / 2 <= svm->X->cols, chosen = strcmp(solver, "auto") == 0;
    svm->primal = strcmp(solver, "primal") == 0 || (chosen && !wide);
    hawser_job_fit(job, svm->X->stored * (svm->primal ? 4 : 1), svm->primal ? 1 << 20 : 1 << 28);
    svm->blocks = hawser_job_workers(job);
    svm->primal = svm->primal || (chosen && svm->blocks > 1 && svm->X->stored > JOINT_MOST);
    svm->may_turn = chosen && !svm->primal;
    svm->joint = svm->blocks > 1 && (strcmp(solver, "joint") == 0 || svm->may_turn);
}

/* ---- values of C, and folds ---- */

double hw_svm_cost(const hw_svm *svm, size_t member)
{
    const hw_linear_settings *choice = &svm->path.choice;
    if (choice->path_count == 0)
        return svm->C;
    if (choice->path_list != NULL)
        return choice->path_list[choice->path_count - 1 - member];
    double power =
        LEAST + (MOST - LEAST) * (choice->path_count > 1 ? (double)member / (double)(choice->path_count - 1) : 0.5);
    double whole = floor(power);
    return ldexp(hw_exponential((power - whole) * hw_logarithm(2.0)), (int)whole);
}

static hawser_status read_path(hw_svm *svm, hawser_job *job, const hawser_training_input *input, hawser_error *error)
{
    hw_linear_settings *choice = &svm->path.choice;
    HAWSER_TRY(hw_row_path_new(&svm->path, job, input, !svm->regression, error));
    for (size_t k = 0; choice->path_list != NULL && k < choice->path_count; k++)
        if (!hw_linear_weight_fits(choice->path_list[k]))
            return hawser_fail(error, HAWSER_BAD_OPTION, "--path: the C of %g is not within " HW_WEIGHT_RANGE,
                               choice->path_list[k]);
    if (choice->folds == 0)
        return HAWSER_OK;
    if (!hawser_options_has(input->options, "path"))
        svm->path.members = choice->path_count = COSTS;
    if (choice->metric == NULL)
        choice->metric = svm->regression ? "mse" : "accuracy";
    if (strcmp(choice->metric, "loss") == 0 || svm->regression == (strcmp(choice->metric, "accuracy") != 0))
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_OPTION, "--cv-metric %s is for %s, and --loss %s predicts %s", choice->metric,
                       svm->regression ? "classes" : "numbers", hawser_options_text(input->options, "loss"),
                       svm->regression ? "numbers" : "classes");
}

hawser_status hw_svm_new(hw_svm *svm, hawser_job *job, const hawser_training_input *input, hawser_error *error)
{
    const hawser_options *options = input->options;
    const char *loss = hawser_options_text(options, "loss"), *solver = hawser_options_text(options, "solver");
    *svm = (hw_svm){.X = hawser_dataset_matrix(input->data),
                    .data = input->data,
                    .held = input->held,
                    .init = input->init,
                    .seed = hawser_job_seed(job)};
    svm->starts = input->init != NULL || hw_classed_has_files(job);
    svm->squared = strncmp(loss, "squared-", 8) == 0;
    svm->regression = strstr(loss, "epsilon") != NULL;
    svm->C = hawser_options_number(options, "C");
    svm->epsilon = svm->regression ? hawser_options_number(options, "epsilon") : 0.0;
    svm->intercept = hawser_options_flag(options, "intercept");
    svm->tolerance = hawser_options_number(options, "tol");
    svm->iterations = (uint64_t)hawser_options_integer(options, "max-iterations");
    svm->problems = 1;
    if (hawser_dataset_outputs(input->data) == 0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the input has no target; name its column with --target");
    if (svm->X->cols == 0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the data have no columns to predict the target from");
    choose(svm, job, solver);
    HAWSER_TRY(check_options(svm, job, input, error));
    return read_path(svm, job, input, error);
}

hw_classed hw_svm_sizes(const hw_svm *svm)
{
    return (hw_classed){.labels = svm->labels, .problems = svm->problems, .columns = svm->X->cols, .classes = svm->classes};
}

void hw_svm_free(hw_svm *svm)
{
    hw_row_path_free(&svm->path);
    hw_centre_free(&svm->centre);
    free(svm->labels);
    free(svm->given);
    svm->labels = svm->given = NULL;
}

/* ---- the classes ---- */

static hawser_status find_classes(hw_svm *svm, hawser_job *job, hawser_error *error)
{
    size_t count = 0;
    const char *const *words = hawser_schema_target(hawser_dataset_schema(svm->data), &count);
    if (svm->regression && words != NULL && count > 0)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "the target has words ('%.60s'), and regression needs numbers; give --loss hinge or --loss "
                           "squared-hinge (--target says where the target is)",
                           words[0]);
    if (svm->regression)
        return HAWSER_OK;
    HAWSER_TRY(hw_labels_find(job, svm->data, HW_SVM_CLASSES, &svm->labels, &svm->classes, error));
    if (svm->classes > HW_SVM_CLASSES)
        return hawser_fail(
            error, HAWSER_BAD_INPUT,
            "the target has more than %d different labels: classifiers have at most as many classes; for numbers "
            "to be predicted give --loss epsilon or --loss squared-epsilon",
            HW_SVM_CLASSES);
    svm->problems = svm->classes == 2 ? 1 : svm->classes;
    return HAWSER_OK;
}

/* Stores the numbers of the model to start from. It must have the training's classes, and no other columns. */
static hawser_status start_from(hw_svm *svm, hawser_error *error)
{
    hw_classed f;
    HAWSER_TRY(hw_classed_of(svm->init, true, &f, error));
    return hw_classed_start(&f, svm->labels, svm->classes, svm->X->cols, svm->intercept, &svm->given, error);
}

/* A class weighs C times its weight: both together must be a number that can be squared. */
static hawser_status check_class_weights(const hw_svm *svm, hawser_error *error)
{
    const double *weights = hw_row_class_weights(&svm->path, &(hw_row_turn){0});
    for (size_t m = 0; weights != NULL && m < svm->path.members; m++)
        for (size_t c = 0; c < svm->classes; c++)
            if (!hw_linear_weight_fits(hw_svm_cost(svm, m) * weights[c]))
                return hawser_fail(
                    error, HAWSER_BAD_OPTION,
                    "--class-weight: the weight %g of a class, times the C of %g, is not within " HW_WEIGHT_RANGE,
                    weights[c], hw_svm_cost(svm, m));
    return HAWSER_OK;
}

/* Measures the columns. The dual is slow, or loses digits, where they are far from zero, so the primal takes its place. */
static hawser_status centre(hw_svm *svm, hawser_job *job, hawser_error *error)
{
    if (!svm->intercept)
        return HAWSER_OK;
    HAWSER_TRY(
        hw_centre_find(&svm->centre, job, svm->data, svm->regression ? HW_CENTRE_FITTED_TARGET : HW_CENTRE_FITTED, error));
    if (svm->centre.unequal == 0)
        hw_row_path_one(&svm->path);
    if (!svm->centre.far || svm->primal)
        return HAWSER_OK;
    svm->moved = !svm->may_turn;
    svm->primal = true;
    svm->may_turn = svm->joint = false;
    return HAWSER_OK;
}

hawser_status hw_svm_classify(hw_svm *svm, hawser_job *job, const hawser_training_input *input, hawser_error *error)
{
    HAWSER_TRY(find_classes(svm, job, error));
    HAWSER_TRY(centre(svm, job, error));
    if (!svm->regression)
        HAWSER_TRY(hw_row_path_class_weights(&svm->path, job, input, svm->labels, svm->classes, error));
    HAWSER_TRY(check_class_weights(svm, error));
    svm->path.width = svm->problems * (svm->X->cols + 1);
    svm->path.outputs = svm->problems;
    if (hw_classed_has_files(job))
        return hw_classed_start_files(job, svm->problems, svm->X->cols, &svm->given, error);
    return svm->init == NULL ? HAWSER_OK : start_from(svm, error);
}
