/* parts.h - what poisson.c puts together: the parts of Poisson regression that each have a file. */
#ifndef HW_ALGORITHMS_POISSON_PARTS_H
#define HW_ALGORITHMS_POISSON_PARTS_H

#include "algorithms/glm/problem.h"

/* kind.c */
extern const hw_linear_kind hw_poisson_kind;

/* options.c */
extern const hawser_option hw_poisson_options[];
extern const hawser_metric_row hw_poisson_metrics[];
extern const hawser_topic hw_poisson_topics[];

/* evaluate.c */
hawser_status hw_poisson_predict(const hawser_model *model, const hawser_dataset *data, double *predictions,
                                 hawser_error *error);
hawser_status hw_poisson_evaluate(const hawser_evaluation_input *input, hawser_measure *measures, hawser_error *error);

#endif
