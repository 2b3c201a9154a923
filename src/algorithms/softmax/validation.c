#include "algorithms/softmax/validation.h"

#include <math.h>
#include <stdlib.h>

#include "algorithms/model/labels.h"
#include "algorithms/softmax/model.h"
#include "algorithms/softmax/path.h"

static hawser_status check_data(const hw_softmax *softmax, const hawser_dataset *data, hawser_error *error)
{
    const double *target = hawser_dataset_target(data), *weights = hawser_dataset_weights(data);
    for (size_t i = 0; i < hawser_dataset_matrix(data)->rows; i++)
        if ((weights == NULL || weights[i] > 0.0) &&
            hw_labels_place(softmax->labels, softmax->classes, target[i]) == softmax->classes)
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "--validation: row %zu: the label %g is not one of the training data's labels", i + 1,
                               target[i]);
    return HAWSER_OK;
}

hawser_status hw_softmax_validation_check(const hw_softmax *softmax, hawser_job *job, hawser_error *error)
{
    const hawser_dataset *data = softmax->path.early.data;
    return hawser_job_agree(job, data != NULL ? check_data(softmax, data, error) : HAWSER_OK, error);
}

hawser_status hw_softmax_validation_error(const hw_softmax *softmax, const double *model, double *loss, double *accuracy,
                                          hawser_error *error)
{
    hw_classed f = hw_softmax_sizes(softmax);
    double *memory = NULL;
    hawser_status status = hw_classed_from(&f, model, &memory, error);
    if (status == HAWSER_OK)
        status = hw_softmax_losses(&f, softmax->path.early.data, loss, accuracy, error);
    free(memory);
    return status;
}

hawser_status hw_softmax_validate(hawser_context *context, hw_softmax_block *b, bool *keep)
{
    const hw_row_path *path = &b->softmax->path;
    hw_row_turn *turn = &b->memory.turn;
    double loss = INFINITY, accuracy;
    hawser_error error = {0};
    *keep = true;
    if (!hw_row_validates(path, turn))
        return HAWSER_OK;
    if (hawser_block(context) == 0 &&
        hw_softmax_validation_error(b->softmax, hw_softmax_result_model(b), &loss, &accuracy, &error) != HAWSER_OK)
        return hawser_unit_fail(context, error.status, "%s", error.text);
    HAWSER_TRY(hw_row_take_error(context, path, turn, loss, keep));
    HAWSER_TRY(hawser_report(context, "validation_log_loss", turn->early.error));
    return hawser_report(context, "evaluations", (double)turn->early.evaluations);
}
