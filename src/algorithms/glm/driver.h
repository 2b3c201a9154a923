/* driver.h - the driver's decisions at agreed clocks: lambdas, certificates, the end of rounds, and the safeguard. */
#ifndef HW_ALGORITHMS_GLM_DRIVER_H
#define HW_ALGORITHMS_GLM_DRIVER_H

#include "algorithms/glm/linear.h"
#include "algorithms/glm/record.h"

typedef struct hw_linear_driver {
    hw_linear *linear;
    hw_linear_record record;
    hawser_training *training;     /* receives the notes; NULL: no notes */
    const hawser_options *options; /* for the notes */
} hw_linear_driver;

/* Tests. `user` is the hw_linear_driver. */
bool hw_linear_begin_path(hawser_progress *progress, void *user); /* branch: chooses the lambdas */
bool hw_linear_open(hawser_progress *progress, void *user);       /* branch: the gap is still above the tolerance */
bool hw_linear_restoring(hawser_progress *progress, void *user);  /* branch: the work returns to the best certified point */
bool hw_linear_uncurved(hawser_progress *progress, void *user);   /* branch: the curvature of this fold is unknown */
bool hw_linear_small(hawser_progress *progress,
                     void *user); /* branch: the working sets are small enough to be solved as one */
bool hw_linear_sprints_done(hawser_progress *progress, void *user); /* ends the loop of extrapolated rounds */
bool hw_linear_slow(hawser_progress *progress, void *user);      /* branch: the last rounds lowered the gap only a little */
bool hw_linear_certified(hawser_progress *progress, void *user); /* ends the loop of certificates */
bool hw_linear_rounds_done(hawser_progress *progress, void *user); /* ends the loop of rounds */
bool hw_linear_returns(hawser_progress *progress,
                       void *user); /* branch: an earlier certificate has the least validation error */
bool hw_linear_next_lambda(hawser_progress *progress, void *user); /* ends the path */
bool hw_linear_next_fold(hawser_progress *progress, void *user);   /* ends the folds, unless the path goes on */
bool hw_linear_resumes(hawser_progress *progress,
                       void *user); /* branch: all rows go on from the last lambda before the group */
bool hw_linear_set_rest(hawser_progress *progress, void *user); /* branch: publishes rest_lambda */

/* What the tests remember, and the notes that they add (hawser_tests_record). `driver` is the hw_linear_driver. */
void hw_linear_driver_visit(hawser_record *bytes, void *driver);

double hw_linear_current_lambda(const hw_linear_record *record); /* node 0 only */
/* Returns true if an objective is so much above the best that a training must not end with it. */
bool hw_linear_is_worse(const hw_linear_choices *choices, double objective, double best, double zero_objective);
/* Returns true if an objective is far above `start`, the objective where steps began, and above that of weights of zero. */
bool hw_linear_is_far(const hw_linear_choices *choices, double objective, double start, double zero_objective);
/* Adds a note in the first free place, if there is one. */
void hw_linear_note(hawser_training *training, const char *format, ...) HAWSER_PRINTF(2, 3);

#endif
