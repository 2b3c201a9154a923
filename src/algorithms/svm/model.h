/* model.h - the model file of a support vector machine, and what is computed from it. */
#ifndef HW_ALGORITHMS_SVM_MODEL_H
#define HW_ALGORITHMS_SVM_MODEL_H

#include "algorithms/model/classed.h"
#include "algorithms/svm/problem.h"

/* Stores what a model predicts wrongly: the share of wrong labels, or the mean squared error of a regression. Counts the
 * weights of the rows. */
hawser_status hw_svm_error(const hw_classed *model, const hawser_dataset *data, double values[2],
                           hawser_error *error) HAWSER_MUST_USE;

/* The functions of hawser_algorithm. */
hawser_status hw_svm_predict(const hawser_model *model, const hawser_dataset *data, double *predictions,
                             hawser_error *error);
/* Computes the margins of each row: one, or one per class if there are more than two. */
hawser_status hw_svm_link(const hawser_model *model, const hawser_dataset *data, double *values, hawser_error *error);
hawser_status hw_svm_label(const hawser_model *model, const hawser_dataset *data, double *labels, hawser_error *error);
hawser_status hw_svm_path(const hawser_algorithm *algorithm, const hawser_model *model, hawser_path *path,
                          hawser_error *error);
hawser_status hw_svm_print(const hawser_model *model, uint64_t most, FILE *out, hawser_error *error);
hawser_status hw_svm_evaluate(const hawser_evaluation_input *input, hawser_measure *measures, hawser_error *error);
extern const hawser_measure_row hw_svm_measures[];

/* options.c: the option and metric rows of support vector machines. */
extern const hawser_option hw_svm_rows[];
extern const hawser_metric_row hw_svm_metrics[];

#endif
