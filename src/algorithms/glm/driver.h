/* driver.h - what the driver decides at agreed clocks: lambdas, certificates, when rounds end, and the safeguard. */
#ifndef HW_ALGORITHMS_GLM_DRIVER_H
#define HW_ALGORITHMS_GLM_DRIVER_H

#include "algorithms/glm/linear.h"
#include "algorithms/glm/record.h"

typedef struct hw_linear_driver {
    hw_linear *linear;
    hw_linear_record record;
    hawser_training *training;     /* takes the notes; NULL: there are none */
    const hawser_options *options; /* for the notes */
} hw_linear_driver;

/* Tests. `user` is the hw_linear_driver. */
bool hw_linear_begin_path(hawser_progress *progress, void *user);   /* branch: chooses the lambdas */
bool hw_linear_open(hawser_progress *progress, void *user);         /* branch: is the gap still above the tolerance? */
bool hw_linear_restoring(hawser_progress *progress, void *user);    /* branch: back to the best certified point? */
bool hw_linear_uncurved(hawser_progress *progress, void *user);     /* branch: is the curvature of this fold unknown? */
bool hw_linear_small(hawser_progress *progress, void *user);        /* branch: do the working sets fit on the board? */
bool hw_linear_sprints_done(hawser_progress *progress, void *user); /* ends the loop of extrapolated rounds */
bool hw_linear_slow(hawser_progress *progress, void *user);      /* branch: did the last rounds bring the gap down little? */
bool hw_linear_certified(hawser_progress *progress, void *user); /* ends the loop of certificates */
bool hw_linear_rounds_done(hawser_progress *progress, void *user); /* ends the loop of rounds */
bool hw_linear_next_lambda(hawser_progress *progress, void *user); /* ends the path */
bool hw_linear_next_fold(hawser_progress *progress, void *user);   /* ends the folds */
bool hw_linear_set_rest(hawser_progress *progress, void *user);    /* branch: publishes rest_lambda */

double hw_linear_current_lambda(const hw_linear_record *record); /* node 0 only */
/* Whether an objective is so much above that of the best point that it must not be what a training ends with. */
bool hw_linear_is_worse(const hw_linear_choices *choices, double objective, double best, double zero_objective);
/* Whether steps led far above `start`, the objective where they began, and above weights of zero. */
bool hw_linear_is_far(const hw_linear_choices *choices, double objective, double start, double zero_objective);
/* Adds a note to the first place that is free, if there is one. */
void hw_linear_note(hawser_training *training, const char *format, ...) HAWSER_PRINTF(2, 3);

#endif
