#include "algorithms/svm/problem.h"

#include <math.h>
#include <string.h>

#include "algorithms/model/class_weights.h"
#include "algorithms/model/classed.h"
#include "algorithms/newton/exponential.h"
#include "hawser/advanced.h"

enum { COSTS = 11, LEAST = -10, MOST = 10 }; /* of --cv without --path: values of C, from 2^LEAST to 2^MOST */

enum { BEYOND = 2 }; /* values of C after that of the least error that such a path has, if none of them has a lower one */

enum { JOINT_MOST = 1 << 26 }; /* stored numbers of the data that `auto` solves jointly */

/* Chooses the solver, and limits the number of blocks. Data of at most twice as many rows as columns solve the dual sooner,
 * but not from a model. The dual takes more iterations with more blocks, unless it is solved jointly. It is slow where
 * columns are of many sizes and C is large, which is not known before: only `auto` may turn to the primal then. */
static hawser_status choose(hw_svm *svm, hawser_job *job, const hawser_training_input *input, hawser_error *error)
{
    const char *solver = hawser_options_text(input->options, "solver");
    const hawser_matrix *X = hawser_dataset_matrix(input->data);
    bool starts = input->init != NULL || hw_classed_has_files(job), chosen = strcmp(solver, "auto") == 0;
    bool wide = !starts && X->rows / 2 <= X->cols;
    svm->primal = strcmp(solver, "primal") == 0 || (chosen && !wide);
    hawser_job_fit(job, X->stored * (svm->primal ? 4 : 1), svm->primal ? 1 << 20 : 1 << 28);
    bool several = hawser_job_workers(job) > 1;
    svm->primal = svm->primal || (chosen && several && X->stored > JOINT_MOST);
    svm->may_turn = chosen && !svm->primal;
    svm->joint = several && (strcmp(solver, "joint") == 0 || svm->may_turn);
    if (starts && !svm->primal)
        return hawser_fail(
            error, HAWSER_BAD_OPTION,
            "--init: --solver dual and joint start from numbers of the rows, which neither a model nor a file has; "
            "leave one of them out");
    return svm->regression ? hawser_job_idle(job, "class-weight", "the --loss predicts numbers", error)
                           : hawser_job_idle(job, "epsilon", "it is about --loss epsilon and --loss squared-epsilon", error);
}

/* ---- values of C, and folds ---- */

double hw_svm_cost(const hw_svm *svm, size_t member)
{
    const hw_choice *choice = &svm->path.choice;
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
    hw_choice *choice = &svm->path.choice;
    HAWSER_TRY(hw_row_path_new(&svm->path, job, input, "a support vector machine", !svm->regression, error));
    for (size_t k = 0; choice->path_list != NULL && k < choice->path_count; k++)
        if (!hw_weight_fits(choice->path_list[k]))
            return hawser_fail(error, HAWSER_BAD_OPTION, "--path: the C of %g is not within " HW_WEIGHT_RANGE,
                               choice->path_list[k]);
    if (choice->folds == 0)
        return HAWSER_OK;
    if (!hawser_options_has(input->options, "path")) {
        svm->path.members = choice->path_count = COSTS;
        svm->path.abreast = true;
        svm->path.beyond = BEYOND;
    }
    if (choice->metric == NULL)
        choice->metric = svm->regression ? "mse" : "accuracy";
    if (strcmp(choice->metric, "loss") == 0 || svm->regression == (strcmp(choice->metric, "accuracy") != 0))
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_OPTION, "--cv-metric %s is for %s, and --loss %s predicts %s", choice->metric,
                       svm->regression ? "classes" : "numbers", hawser_options_text(input->options, "loss"),
                       svm->regression ? "numbers" : "classes");
}

/* ---- the classes ---- */

static hawser_status find_classes(hw_svm *svm, hawser_job *job, hawser_error *error)
{
    size_t count = 0;
    const char *const *words = hawser_schema_target(hawser_dataset_schema(svm->path.data), &count);
    if (svm->regression && words != NULL && count > 0)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "the target has words ('%.60s'), and regression needs numbers; give --loss hinge or --loss "
                           "squared-hinge (--target says where the target is)",
                           words[0]);
    if (svm->regression)
        return HAWSER_OK;
    HAWSER_TRY(hw_row_path_classes(&svm->path, job, HW_SVM_CLASSES,
                                   "for numbers to be predicted give --loss epsilon or --loss squared-epsilon", error));
    svm->path.outputs = svm->path.classes == 2 ? 1 : svm->path.classes;
    return HAWSER_OK;
}

/* A class weighs C times its weight: both together must be a number that can be squared. */
static hawser_status check_class_weights(const hw_svm *svm, hawser_error *error)
{
    const double *weights = hw_row_class_weights(&svm->path, &(hw_row_turn){0});
    for (size_t m = 0; weights != NULL && m < svm->path.members; m++)
        for (size_t c = 0; c < svm->path.classes; c++)
            if (!hw_weight_fits(hw_svm_cost(svm, m) * weights[c]))
                return hawser_fail(
                    error, HAWSER_BAD_OPTION,
                    "--class-weight: the weight %g of a class, times the C of %g, is not within " HW_WEIGHT_RANGE,
                    weights[c], hw_svm_cost(svm, m));
    return HAWSER_OK;
}

/* Lets the first iteration of the dual choose, where `auto` would take the primal: for two classes without an intercept, by
 * one worker. The constraint of an intercept slows the dual, and so do more blocks. */
static void try_dual(hw_svm *svm, hawser_job *job, const hawser_training_input *input)
{
    const hw_row_path *path = &svm->path;
    bool chosen = strcmp(hawser_options_text(input->options, "solver"), "auto") == 0 && svm->primal;
    bool starts = input->init != NULL || hw_classed_has_files(job);
    svm->tries = chosen && !starts && hawser_job_workers(job) == 1 && !path->intercept && !svm->regression &&
                 path->outputs == 1 && path->choice.path_count == 0 && path->early.patience == 0;
    svm->primal = svm->primal && !svm->tries;
    svm->may_turn = svm->may_turn || svm->tries;
}

/* Measures the columns. The dual is slow, or loses digits, where they are far from zero, so the primal takes its place. */
static hawser_status centre(hw_svm *svm, hawser_job *job, hawser_error *error)
{
    HAWSER_TRY(hw_row_path_centre(&svm->path, job, svm->regression ? HW_CENTRE_FITTED_TARGET : HW_CENTRE_FITTED, error));
    if (!svm->path.centre.far || svm->primal)
        return HAWSER_OK;
    svm->moved = !svm->may_turn;
    svm->primal = true;
    svm->may_turn = svm->joint = false;
    return HAWSER_OK;
}

hawser_status hw_svm_read(void *own, hawser_job *job, const hawser_training_input *input, hawser_error *error)
{
    hw_svm *svm = own;
    hw_row_path *path = &svm->path;
    const char *loss = hawser_options_text(input->options, "loss");
    svm->seed = hawser_job_seed(job);
    svm->squared = strncmp(loss, "squared-", 8) == 0;
    svm->regression = strstr(loss, "epsilon") != NULL;
    svm->C = hawser_options_number(input->options, "C");
    svm->epsilon = svm->regression ? hawser_options_number(input->options, "epsilon") : 0.0;
    path->outputs = 1;
    path->cv_name = "cv_error";
    path->error_name = svm->regression ? "validation_mean_squared_error" : "validation_accuracy";
    path->shows_accuracy = !svm->regression;
    HAWSER_TRY(choose(svm, job, input, error));
    HAWSER_TRY(read_path(svm, job, input, error));
    HAWSER_TRY(find_classes(svm, job, error));
    try_dual(svm, job, input);
    HAWSER_TRY(centre(svm, job, error));
    HAWSER_TRY(hw_row_path_start(path, job, input, true, error));
    return check_class_weights(svm, error);
}
