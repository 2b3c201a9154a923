/* train.h - a linear model's program, run to its end or to what an early end has left behind. */
#ifndef HW_ALGORITHMS_LINEAR_TRAIN_H
#define HW_ALGORITHMS_LINEAR_TRAIN_H

#include "algorithms/linear/problem.h"

typedef struct hw_linear_programs {
    hawser_program *(*build)(hw_linear *linear);
    /* A certificate of given coefficients at linear->rest_lambda, and nothing else. */
    hawser_program *(*build_certificate)(hw_linear *linear, const double *alpha);
} hw_linear_programs;

/* What hawser_algorithm asks for. */
hawser_status hw_linear_train(const hw_linear_kind *kind, const hw_linear_programs *programs, hawser_job *job,
                              const hawser_training_input *input, hawser_training *training,
                              hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_linear_plan(const hw_linear_kind *kind, const hw_linear_programs *programs, hawser_job *job,
                             const hawser_training_input *input, bool physical, bool dot, FILE *out,
                             hawser_error *error) HAWSER_MUST_USE;

#endif
