/* train.h - runs a linear model's program, and makes a result also after an early end. */
#ifndef HW_ALGORITHMS_GLM_TRAIN_H
#define HW_ALGORITHMS_GLM_TRAIN_H

#include "algorithms/choice/member.h"
#include "algorithms/glm/metrics.h"
#include "algorithms/glm/program.h"
#include "algorithms/glm/start.h"

/* The members of hawser_algorithm that all linear models have. `units` is the algorithm's hw_linear_units. */
/* clang-format off */
#define HW_LINEAR_ALGORITHM(units) \
    .user = &(units), \
    .init_use = hw_choice_init_use, \
    .starts = HW_LINEAR_START, \
    .coefficients = hw_linear_print_coefficients, \
    .path = hw_linear_path, \
    .choose = hw_choice_member, \
    .member_rows = hw_choice_member_rows, \
    .centres = hw_linear_centres, \
    .train = hw_linear_train, \
    .plan = hw_linear_plan
/* clang-format on */

/* These are the functions train, plan, centres and path of a hawser_algorithm. Its `user` is a hw_linear_units. */
hawser_status hw_linear_train(const hawser_algorithm *algorithm, hawser_job *job, const hawser_training_input *input,
                              hawser_training *training, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_linear_plan(const hawser_algorithm *algorithm, hawser_job *job, const hawser_training_input *input,
                             hawser_plan_format format, FILE *out, hawser_error *error) HAWSER_MUST_USE;
bool hw_linear_centres(const hawser_options *options);
hawser_status hw_linear_path(const hawser_algorithm *algorithm, const hawser_model *model, hawser_path *path,
                             hawser_error *error) HAWSER_MUST_USE;

#endif
