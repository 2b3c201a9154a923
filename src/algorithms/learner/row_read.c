/* row_read.c - what all trainings of row_path.h read: the data, the options of paths, folds and validation, the classes, and
 * the start. */
#include <stdlib.h>

#include "algorithms/learner/row_classes.h"
#include "algorithms/learner/row_folds.h"
#include "algorithms/model/exact.h"
#include "algorithms/model/labels.h"
#include "hawser/advanced.h"

/* Reads the choice and the validation data. */
static hawser_status read_choice(hw_row_path *path, hawser_job *job, const hawser_training_input *input, bool classes,
                                 hawser_error *error)
{
    HAWSER_TRY(hw_choice_read(job, input->options, &path->choice, error));
    HAWSER_TRY(hw_early_new(&path->early, job, input, path->X->cols, false, error));
    HAWSER_TRY(hw_choice_check_validation(input->options, path->early.validated, error));
    const hawser_dataset *others = path->early.data;
    hawser_status status = others != NULL && hawser_dataset_target(others) == NULL
                               ? hawser_fail(error, HAWSER_BAD_INPUT, "the validation data have no target")
                               : HAWSER_OK;
    HAWSER_TRY(hawser_job_agree(job, status, error));
    path->members = path->choice.path_count > 0 ? path->choice.path_count : 1;
    return path->choice.folds > 0 ? hw_row_folds(job, input, &path->choice, classes, &path->fold, error) : HAWSER_OK;
}

hawser_status hw_row_path_new(hw_row_path *path, hawser_job *job, const hawser_training_input *input, const char *name,
                              bool classes, hawser_error *error)
{
    const hawser_options *options = input->options;
    path->data = input->data;
    path->X = hawser_dataset_matrix(input->data);
    path->held = input->held;
    path->blocks = hawser_job_workers(job);
    path->intercept = hawser_options_flag(options, "intercept");
    path->tolerance = hawser_options_number(options, "tol");
    path->iterations = (uint64_t)hawser_options_integer(options, "max-iterations");
    if (hawser_dataset_outputs(input->data) == 0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the input has no target; name its column with --target");
    if (path->X->cols == 0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the data have no columns to predict the target from");
    HAWSER_TRY(hw_exact_options(options, hawser_job_sync(job), path->blocks, name, error));
    HAWSER_TRY(hw_classed_check_files(job, path->intercept, error));
    return read_choice(path, job, input, classes, error);
}

hawser_status hw_row_path_classes(hw_row_path *path, hawser_job *job, size_t most, const char *advice, hawser_error *error)
{
    HAWSER_TRY(hw_labels_find(job, path->data, most, &path->labels, &path->classes, error));
    if (path->classes <= most)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_INPUT,
                       "the target has more than %zu different labels: a classifier has at most as many classes; %s", most,
                       advice);
}

/* Leaves one member of a path: all columns have equal values, so every member would be the same. */
static void leave_one(hw_row_path *path)
{
    if (path->choice.path_count == 0)
        return;
    path->one = true;
    path->members = path->choice.path_count = 1;
}

hawser_status hw_row_path_centre(hw_row_path *path, hawser_job *job, hw_centre_of what, hawser_error *error)
{
    if (!path->intercept)
        return HAWSER_OK;
    HAWSER_TRY(hw_centre_find(&path->centre, job, path->data, what, error));
    if (path->centre.unequal == 0)
        leave_one(path);
    return HAWSER_OK;
}

hawser_status hw_row_path_start(hw_row_path *path, hawser_job *job, const hawser_training_input *input, bool pairs,
                                hawser_error *error)
{
    hw_classed from;
    path->width = path->outputs * (path->X->cols + 1);
    if (path->labels != NULL)
        HAWSER_TRY(hw_row_path_class_weights(path, job, input, error));
    if (hw_classed_has_files(job))
        return hw_classed_start_files(job, path->outputs, path->X->cols, &path->given, error);
    if (input->init == NULL)
        return HAWSER_OK;
    HAWSER_TRY(hw_classed_of(input->init, pairs, &from, error));
    return hw_classed_start(&from, path->labels, path->classes, path->X->cols, path->intercept, &path->given, error);
}

void hw_row_path_free(hw_row_path *path)
{
    free(path->fold);
    free(path->class_weights);
    free(path->choice.path_list);
    free(path->finished);
    free(path->labels);
    free(path->given);
    hw_centre_free(&path->centre);
}
