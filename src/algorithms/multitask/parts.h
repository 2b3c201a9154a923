/* parts.h - what multitask.c puts together: the parts of the multi-task lasso that each have a file. */
#ifndef HW_ALGORITHMS_MULTITASK_PARTS_H
#define HW_ALGORITHMS_MULTITASK_PARTS_H

#include "algorithms/glm/problem.h"
#include "hawser/record.h"

/* kind.c */
extern const hw_linear_kind hw_multitask_kind;

/* options.c */
extern const hawser_option hw_multitask_rows[];
extern const hawser_metric_row hw_multitask_metrics[];

/* evaluate.c */
extern const hawser_measure_row hw_multitask_measures[];

size_t hw_multitask_outputs(const hawser_model *model);
hawser_status hw_multitask_predict(const hawser_model *model, const hawser_dataset *data, double *predictions,
                                   hawser_error *error);
hawser_status hw_multitask_evaluate(const hawser_evaluation_input *input, hawser_measure *measures, hawser_error *error);

/* memory.c */
void hw_multitask_visit(hawser_record *record, hawser_context *context);

#endif
