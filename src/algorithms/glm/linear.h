/* linear.h - what the units of a linear model's program see: the problem, the choices, and the best coefficients that they keep. */
#ifndef HW_ALGORITHMS_GLM_LINEAR_H
#define HW_ALGORITHMS_GLM_LINEAR_H

#include "algorithms/glm/choices.h"
#include "algorithms/glm/problem.h"

/* Columns on the board where working sets of all blocks are solved as one; at least a quarter of it any block may fill. */
enum { HW_LINEAR_JOINT_MOST = 131072 };

/* Coefficients that outlive a run (best.h). Blocks write them, each its own columns. */
typedef struct hw_linear_best {
    double *alpha; /* of the best certified point */
    double *path;  /* of the finished lambdas, as the run's state "path" has them; NULL: there is no path */
    double *kept;  /* by block: the number of the certificate that alpha is of; 0: none yet */
} hw_linear_best;

/* hawser_user of the units. */
typedef struct hw_linear {
    hw_linear_problem problem;
    hw_linear_choices choices;
    hw_linear_best best;
    struct hw_linear_shared
        *shared; /* what the blocks of this process have in common when they solve joint sets (shared.h) */
} hw_linear;

/* Released by hw_linear_free also after a failure. */
hawser_status hw_linear_new(hw_linear *linear, const hw_linear_kind *kind, hawser_job *job,
                            const hawser_training_input *input, hawser_error *error) HAWSER_MUST_USE;
void hw_linear_free(hw_linear *linear);
/* Members that a block's share of the board has room for, where working sets are solved as one; and that all shares have together. */
size_t hw_linear_room(const hw_linear *linear);
size_t hw_linear_most_members(const hw_linear *linear);

#endif
