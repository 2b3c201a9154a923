/* model.h - the model file of softmax regression, and what is computed from it. */
#ifndef HW_ALGORITHMS_SOFTMAX_MODEL_H
#define HW_ALGORITHMS_SOFTMAX_MODEL_H

#include "algorithms/model/classed.h"
#include "algorithms/softmax/problem.h"

/* Stores weighted mean log loss and accuracy of a model on data whose labels it has. */
hawser_status hw_softmax_losses(const hw_classed *fitted, const hawser_dataset *data, double losses[2],
                                hawser_error *error) HAWSER_MUST_USE;

/* The functions of hawser_algorithm. */
hawser_status hw_softmax_predict(const hawser_model *model, const hawser_dataset *data, double *predictions,
                                 hawser_error *error);
hawser_status hw_softmax_probabilities(const hawser_model *model, const hawser_dataset *data, double *values,
                                       hawser_error *error);
hawser_status hw_softmax_link(const hawser_model *model, const hawser_dataset *data, double *values, hawser_error *error);
hawser_status hw_softmax_evaluate_rows(const hawser_evaluation_input *input, hawser_measure *measures, hawser_error *error);
hawser_status hw_softmax_path(const hawser_algorithm *algorithm, const hawser_model *model, hawser_path *path,
                              hawser_error *error);
hawser_status hw_softmax_print(const hawser_model *model, uint64_t most, FILE *out, hawser_error *error);

/* options.c: the option and metric rows of softmax regression. */
extern const hawser_option hw_softmax_rows[];
extern const hawser_metric_row hw_softmax_metrics[];
extern const hawser_topic hw_softmax_topics[];

#endif
