/*
 * best.h - the best certified coefficients of the current lambda. They are stored outside of the run, so that they outlive a run that fails.
 *
 * At each certificate the driver (driver.c) compares the objective with the least one so far and publishes metric "keep" (the certificate's number
 * if this is the best point, else 0) and "best" (its objective). The unit `choose` runs next and calls hw_linear_keep, so that work never begins
 * from a point better than the kept one. Each process keeps the columns of its own blocks; a program that starts from linear->best.alpha
 * (hw_linear_certificate_program) needs only these.
 */
#ifndef HW_ALGORITHMS_GLM_BEST_H
#define HW_ALGORITHMS_GLM_BEST_H

#include "algorithms/glm/linear.h"

/* Copies this block's coefficients if metric "keep" is not 0, and, for hw_linear_return, if "valid_keep" is not. Called from a unit that reads
 * "alpha". */
void hw_linear_keep(hawser_context *context);
/* Copies one coefficient of the finished lambda number `at`. */
static inline void hw_linear_keep_on_path(const hw_linear *linear, size_t column, size_t at, double coefficient)
{
    linear->best.path[column * linear->choices.lambda_count + at] = coefficient;
}
/* Adds the state "path" with the kept coefficients to a program, if there is a path. */
void hw_linear_add_path(const hw_linear *linear, hawser_program *program, hawser_state *X);
/* Returns true if the blocks of this process have kept coefficients, which is the same on all processes. Call it only after a run. */
bool hw_linear_has_best(const hw_linear *linear);
/* A unit that sets "alpha" to the kept coefficients, for a loop of one clock that updates "v" and "alpha"; leaving the loop rebuilds v. */
hawser_status hw_linear_restore(hawser_context *context) HAWSER_MUST_USE;
/* Likewise a unit that sets "alpha" to the coefficients of the least error on validation data. */
hawser_status hw_linear_return(hawser_context *context) HAWSER_MUST_USE;
/* Likewise a unit that sets "alpha" to the coefficients of lambda "lambda_number" in "path". */
hawser_status hw_linear_resume(hawser_context *context) HAWSER_MUST_USE;

#endif
