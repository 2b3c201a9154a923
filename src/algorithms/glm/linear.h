/* linear.h - the data that the units of a linear model's program share: the problem and the choices. */
#ifndef HW_ALGORITHMS_GLM_LINEAR_H
#define HW_ALGORITHMS_GLM_LINEAR_H

#include "algorithms/choice/finished.h"
#include "algorithms/glm/choices.h"
#include "algorithms/glm/problem.h"
#include "algorithms/model/early.h"

/* The most columns of the gathered working sets of all blocks, which are solved as one. Each block may have at least a
 * quarter of them. */
enum { HW_LINEAR_JOINT_MOST = 131072 };

/* The points that a training keeps (hawser/kept_points.h). The result of an early end is the best certified one that work
 * has reached, or with --early-stopping the one of the least error on validation data. The other point is the best certified
 * one if it is not the result: that of the start, or of validation. */
enum { HW_LINEAR_RESULT, HW_LINEAR_CERTIFIED, HW_LINEAR_POINTS };

/* hawser_user of the units. */
typedef struct hw_linear {
    hw_linear_problem problem;
    hw_linear_choices choices;
    hw_early early;
    const double *(*intercepts)(const void *scratch); /* of a block (hw_linear_units) */
    hw_finished *finished;                            /* with several nodes and a path, numbers on node 0; or NULL */
    double *image; /* X alpha, then the alpha of it, if units compute it, and v stays zero; else NULL */
    bool apart;    /* X alpha of a joint solution is computed once per process, and v stays zero (program.c) */
    struct hw_linear_shared *shared; /* memory that the blocks of this process share when they solve joint sets (shared.h) */
} hw_linear;

/* Makes problem and choices; `without_penalty`: with a lambda of 0 in place of a given one that vanishes. The caller calls
 * hw_linear_free, also after a failure. */
hawser_status hw_linear_new(hw_linear *linear, const hw_linear_kind *kind, hawser_job *job,
                            const hawser_training_input *input, bool without_penalty, hawser_error *error) HAWSER_MUST_USE;
void hw_linear_free(hw_linear *linear);
/* Returns whether the program has the means of the columns as a state, which `prepare` fills for all rows. */
bool hw_linear_has_means(const hw_linear *linear);
/* Return the most members of a block's share of the gathered working sets, and of all shares together. */
size_t hw_linear_most_of_share(const hw_linear *linear);
size_t hw_linear_most_members(const hw_linear *linear);

#endif
