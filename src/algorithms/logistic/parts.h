/* parts.h - what logistic.c puts together: the parts of logistic regression that each have a file. */
#ifndef HW_ALGORITHMS_LOGISTIC_PARTS_H
#define HW_ALGORITHMS_LOGISTIC_PARTS_H

#include "algorithms/glm/problem.h"

/* kind.c */
extern const hw_linear_kind hw_logistic_kind;

/* options.c */
extern const hawser_option hw_logistic_options[];
extern const hawser_metric_row hw_logistic_metrics[];
extern const hawser_topic hw_logistic_topics[];

/* evaluate.c */
hawser_status hw_logistic_predict(const hawser_model *model, const hawser_dataset *data, double *predictions,
                                  hawser_error *error);
hawser_status hw_logistic_label(const hawser_model *model, const hawser_dataset *data, double *labels, hawser_error *error);
hawser_status hw_logistic_evaluate(const hawser_evaluation_input *input, hawser_measure *measures, hawser_error *error);

#endif
