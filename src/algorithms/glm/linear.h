/* linear.h - the data that the units of a linear model's program share: the problem, the choices, and the best coefficients. */
#ifndef HW_ALGORITHMS_GLM_LINEAR_H
#define HW_ALGORITHMS_GLM_LINEAR_H

#include "algorithms/glm/choices.h"
#include "algorithms/glm/problem.h"

/* The most columns of the gathered working sets of all blocks, which are solved as one. Each block may have at least a quarter of them. */
enum { HW_LINEAR_JOINT_MOST = 131072 };

/* Coefficients that outlive a run (best.h). Each block writes its own columns. */
typedef struct hw_linear_best {
    double *alpha;              /* of the best certified point */
    double *path;               /* of the finished lambdas, as the run's state "path" has them; NULL: there is no path */
    double *kept;               /* by block: the number of alpha's certificate; 0: none yet */
    double *valid, *valid_kept; /* the same of the least error on validation data (validation.h); or NULL */
} hw_linear_best;

/* hawser_user of the units. */
typedef struct hw_linear {
    hw_linear_problem problem;
    hw_linear_choices choices;
    hw_linear_best best;
    const hawser_dataset *validation; /* on node 0; or NULL */
    bool validated;                   /* node 0 has such data */
    struct hw_linear_shared *shared; /* memory that the blocks of this process share when they solve joint sets (shared.h) */
} hw_linear;

/* Makes problem and choices; `without_penalty`: with a lambda of 0 in place of a given one that vanishes. The caller calls hw_linear_free, also after a failure. */
hawser_status hw_linear_new(hw_linear *linear, const hw_linear_kind *kind, hawser_job *job,
                            const hawser_training_input *input, bool without_penalty, hawser_error *error) HAWSER_MUST_USE;
void hw_linear_free(hw_linear *linear);
/* Return the most members of a block's share of the gathered working sets, and of all shares together. */
size_t hw_linear_most_of_share(const hw_linear *linear);
size_t hw_linear_most_members(const hw_linear *linear);

#endif
