/* train.h - runs a linear model's program, and makes a result also after an early end. */
#ifndef HW_ALGORITHMS_GLM_TRAIN_H
#define HW_ALGORITHMS_GLM_TRAIN_H

#include "algorithms/glm/program.h"

/* Makes the program of a training. */
typedef hawser_program *hw_linear_build(hw_linear_driver *driver);

/* The train and plan functions of hawser_algorithm. */
hawser_status hw_linear_train(const hw_linear_kind *kind, const hw_linear_units *units, hw_linear_build *build,
                              hawser_job *job, const hawser_training_input *input, hawser_training *training,
                              hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_linear_plan(const hw_linear_kind *kind, hw_linear_build *build, hawser_job *job,
                             const hawser_training_input *input, bool physical, bool dot, FILE *out,
                             hawser_error *error) HAWSER_MUST_USE;

#endif
