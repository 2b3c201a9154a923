#include "algorithms/softmax/model.h"

#include <math.h>
#include <stdlib.h>

#include "algorithms/choice/member.h"
#include "algorithms/model/labels.h"
#include "algorithms/newton/exponential.h"

/* ---- predictions ---- */

hawser_status hw_softmax_link(const hawser_model *model, const hawser_dataset *data, double *values, hawser_error *error)
{
    hw_classed f;
    HAWSER_TRY(hw_classed_of(model, false, &f, error));
    return hw_classed_link(&f, data, values, error);
}

/* Returns log(sum exp(z)). */
static double log_sum(const double *z, size_t count)
{
    double most = z[0], sum = 0.0;
    for (size_t c = 1; c < count; c++)
        most = fmax(most, z[c]);
    for (size_t c = 0; c < count; c++)
        sum += hw_exponential(z[c] - most);
    return most + hw_logarithm(sum);
}

hawser_status hw_softmax_probabilities(const hawser_model *model, const hawser_dataset *data, double *values,
                                       hawser_error *error)
{
    size_t rows = hawser_dataset_matrix(data)->rows, k = hw_classed_outputs(model);
    HAWSER_TRY(hw_softmax_link(model, data, values, error));
    for (size_t i = 0; i < rows; i++) {
        double *z = values + i * k, all = hw_classed_finite(z, k) ? log_sum(z, k) : NAN;
        for (size_t c = 0; c < k; c++)
            z[c] = hw_exponential(z[c] - all);
    }
    return HAWSER_OK;
}

hawser_status hw_softmax_predict(const hawser_model *model, const hawser_dataset *data, double *predictions,
                                 hawser_error *error)
{
    hw_classed f;
    HAWSER_TRY(hw_classed_of(model, false, &f, error));
    return hw_classed_predict(&f, data, predictions, error);
}

hawser_status hw_softmax_losses(const hw_classed *f, const hawser_dataset *data, double losses[2], hawser_error *error)
{
    const double *target = hawser_dataset_target(data), *weights = hawser_dataset_weights(data);
    double *values = NULL, total = 0.0;
    hawser_status status = hw_classed_new_link(f, data, &values, error);
    losses[0] = losses[1] = 0.0;
    for (size_t i = 0; status == HAWSER_OK && i < hawser_dataset_matrix(data)->rows; i++) {
        const double *z = values + i * f->classes;
        double weight = weights != NULL ? weights[i] : 1.0;
        if (!(weight > 0.0))
            continue;
        size_t own = hw_labels_place(f->labels, f->classes, target[i]);
        if (own < f->classes)
            losses[0] += weight * (log_sum(z, f->classes) - z[own]);
        losses[1] += hw_classed_decide(f, z) == target[i] ? weight : 0.0;
        total += weight;
    }
    free(values);
    losses[0] /= total;
    losses[1] /= total;
    return status;
}

/* ---- members of a path ---- */

hawser_status hw_softmax_path(const hawser_algorithm *algorithm, const hawser_model *model, hawser_path *path,
                              hawser_error *error)
{
    (void)algorithm;
    return hw_choice_path(model, "log loss", path, error);
}
