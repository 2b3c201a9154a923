/* model.h - the model file of a support vector machine, and what is computed from it. */
#ifndef HW_ALGORITHMS_SVM_MODEL_H
#define HW_ALGORITHMS_SVM_MODEL_H

#include "algorithms/model/classed.h"
#include "algorithms/svm/problem.h"

/* The result of a training: `model` has a row of numbers per column, one per problem, then the intercepts. */
typedef struct hw_svm_result {
    const double *model;
    double objective, gap, rounding, C, iterations;
} hw_svm_result;
hawser_status hw_svm_model_make(const hw_svm *svm, const hw_svm_result *result, const hawser_training_input *input,
                                hawser_model **model, hawser_error *error) HAWSER_MUST_USE;

/* Stores what a model predicts wrongly: the share of wrong labels, or the mean squared error of a regression. Counts the weights of the rows. */
hawser_status hw_svm_error(const hw_classed *fitted, const hawser_dataset *data, double *value,
                           hawser_error *error) HAWSER_MUST_USE;

/* Likewise of the numbers of a training's models, on its validation data, on node 0. */
hawser_status hw_svm_validation_error(const hw_svm *svm, const double *model, double *value,
                                      hawser_error *error) HAWSER_MUST_USE;
/* Returns the metric that is reported of this error: the accuracy or the mean squared error. */
const char *hw_svm_validation_name(const hw_svm *svm);

/* Returns the label that margins decide for: one margin for two classes, else one per class. */
double hw_svm_decide(const double *labels, size_t problems, const double *margins);

/* The functions of hawser_algorithm. */
hawser_status hw_svm_predict(const hawser_model *model, const hawser_dataset *data, double *predictions,
                             hawser_error *error);
/* Computes the margins of each row: one, or one per class if there are more than two. */
hawser_status hw_svm_link(const hawser_model *model, const hawser_dataset *data, double *values, hawser_error *error);
size_t hw_svm_links(const hawser_model *model);
double hw_svm_class(const hawser_model *model, size_t place);
hawser_status hw_svm_label(const hawser_model *model, size_t count, double *predictions, hawser_error *error);
hawser_status hw_svm_path(const hawser_algorithm *algorithm, const hawser_model *model, hawser_path *path,
                          hawser_error *error);
hawser_status hw_svm_print(const hawser_model *model, uint64_t most, FILE *out, hawser_error *error);
hawser_status hw_svm_evaluate(const hawser_evaluation_input *input, hawser_measure *measures, hawser_error *error);
extern const hawser_measure_row hw_svm_measures[];

#endif
