#include "algorithms/learner/row_classes.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/model/class_weights.h"

static hawser_status add_up(hawser_context *context)
{
    double *weights = NULL;
    size_t first = 0, share = hawser_part(context, "examples", &first);
    HAWSER_WRITE(context, double, examples);
    hawser_status status = hw_row_class_sums(context, hawser_user(context), true, &weights);
    if (status == HAWSER_OK && share > 0)
        memcpy(examples, weights + first, share * sizeof *weights);
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

static hawser_status find_balance(hw_row_path *path, hawser_job *job, hawser_error *error)
{
    size_t size = (path->choice.folds > 0 ? path->choice.folds : 1) * path->classes;
    hawser_run *run = NULL;
    hawser_program *program = hawser_program_new("class weights", path);
    hawser_state *X =
        HAWSER_STATE(program, "X", HAWSER_DATA, .matrix = hawser_dataset_matrix(path->data), .split = HAWSER_BY_ROW);
    hawser_state *examples = HAWSER_STATE(program, "examples", HAWSER_PARTITIONED, .rows = size);
    HAWSER_UNIT(hawser_root(program), "add up", add_up, .reads = {X}, .updates = {examples}, .reduces = size);
    hawser_observe(job, NULL, NULL);
    hawser_status status = hawser_run_program(job, program, &run, error);
    hawser_program_free(program);
    double *rest = calloc(path->classes, sizeof *rest);
    if (status == HAWSER_STOP)
        status = hawser_fail(error, HAWSER_STOP, "the training ended before its class weights were known; no model is kept");
    else if (status == HAWSER_OK && rest == NULL)
        status = hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the weights of %zu classes", path->classes);
    const double *sums = NULL;
    HAWSER_THEN(status, hawser_result(run, "examples", &sums, NULL, error));
    if (status == HAWSER_OK)
        balance(path, sums, rest);
    free(rest);
    hawser_run_free(run);
    return status;
}

hawser_status hw_row_path_class_weights(hw_row_path *path, hawser_job *job, const hawser_training_input *input,
                                        hawser_error *error)
{
    const char *text = hawser_options_text(input->options, "class-weight");
    size_t folds = path->choice.folds, classes = path->classes, words = 0;
    if (text == NULL)
        return HAWSER_OK;
    path->class_weights = calloc((folds + 1) * classes, sizeof *path->class_weights);
    if (path->class_weights == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the weights of %zu classes in %zu folds", classes, folds);
    if (strcmp(text, "balanced") == 0)
        return find_balance(path, job, error);
    HAWSER_TRY(hw_class_weights_read(text, path->labels, classes,
                                     hawser_schema_target(hawser_dataset_schema(input->data), &words), path->class_weights,
                                     error));
    for (size_t e = classes; e < (folds + 1) * classes; e++)
        path->class_weights[e] = path->class_weights[e - classes];
    return HAWSER_OK;
}
