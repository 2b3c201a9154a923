/* model.h - the model file of softmax regression, and what is computed from it. */
#ifndef HW_ALGORITHMS_SOFTMAX_MODEL_H
#define HW_ALGORITHMS_SOFTMAX_MODEL_H

#include "algorithms/model/classed.h"
#include "algorithms/softmax/problem.h"

/* The result of a training. */
typedef struct hw_softmax_result {
    const double *model;
    double objective, gap, rounding, penalty, lambda, iterations;
} hw_softmax_result;
hawser_status hw_softmax_model_make(const hw_softmax *softmax, const hw_softmax_result *result,
                                    const hawser_training_input *input, hawser_model **model,
                                    hawser_error *error) HAWSER_MUST_USE;
/* Stores weighted mean log loss and accuracy of a model on data whose labels it has. */
hawser_status hw_softmax_losses(const hw_classed *fitted, const hawser_dataset *data, double *loss, double *accuracy,
                                hawser_error *error) HAWSER_MUST_USE;

/* The functions of hawser_algorithm. */
size_t hw_softmax_classes(const hawser_model *model);
double hw_softmax_class(const hawser_model *model, size_t place);
hawser_status hw_softmax_predict(const hawser_model *model, const hawser_dataset *data, double *predictions,
                                 hawser_error *error);
hawser_status hw_softmax_probabilities(const hawser_model *model, const hawser_dataset *data, double *values,
                                       hawser_error *error);
hawser_status hw_softmax_link(const hawser_model *model, const hawser_dataset *data, double *values, hawser_error *error);
hawser_status hw_softmax_label(const hawser_model *model, size_t count, double *predictions, hawser_error *error);
hawser_status hw_softmax_evaluate_rows(const hawser_evaluation_input *input, hawser_measure *measures, hawser_error *error);
hawser_status hw_softmax_path(const hawser_algorithm *algorithm, const hawser_model *model, hawser_path *path,
                              hawser_error *error);
hawser_status hw_softmax_print(const hawser_model *model, uint64_t most, FILE *out, hawser_error *error);

#endif
