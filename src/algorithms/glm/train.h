/* train.h - a linear model's program, run to its end or to what an early end has left behind. */
#ifndef HW_ALGORITHMS_GLM_TRAIN_H
#define HW_ALGORITHMS_GLM_TRAIN_H

#include "algorithms/glm/program.h"

/* Makes the program of a training. */
typedef hawser_program *hw_linear_build(hw_linear_driver *driver);

/* What hawser_algorithm asks for. */
hawser_status hw_linear_train(const hw_linear_kind *kind, const hw_linear_units *units, hw_linear_build *build,
                              hawser_job *job, const hawser_training_input *input, hawser_training *training,
                              hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_linear_plan(const hw_linear_kind *kind, hw_linear_build *build, hawser_job *job,
                             const hawser_training_input *input, bool physical, bool dot, FILE *out,
                             hawser_error *error) HAWSER_MUST_USE;

#endif
