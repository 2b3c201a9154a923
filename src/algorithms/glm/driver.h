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
bool hw_linear_works(hawser_progress *progress, void *user);      /* branch: else it returns to the best certified point */
bool hw_linear_uncurved(hawser_progress *progress, void *user);   /* branch: the curvature of this fold is unknown */
bool hw_linear_small(hawser_progress *progress,
                     void *user); /* branch: the working sets are small enough to be solved as one */
bool hw_linear_returned(hawser_progress *progress, void *user);     /* branch: v must be derived, as alpha was put back */
bool hw_linear_gathers(hawser_progress *progress, void *user);      /* branch: v must be derived, as rounds follow */
bool hw_linear_sprints_done(hawser_progress *progress, void *user); /* ends the loop of extrapolated rounds */
bool hw_linear_slow(hawser_progress *progress, void *user);      /* branch: the last rounds lowered the gap only a little */
bool hw_linear_certified(hawser_progress *progress, void *user); /* ends the loop of certificates */
bool hw_linear_rounds_done(hawser_progress *progress, void *user); /* ends the loop of rounds */
bool hw_linear_next_lambda(hawser_progress *progress, void *user); /* ends the path */
bool hw_linear_next_fold(hawser_progress *progress, void *user);   /* ends the folds, unless the path goes on */
bool hw_linear_resumes(hawser_progress *progress,
                       void *user); /* branch: all rows go on from the last lambda before the group */
bool hw_linear_has_rest(hawser_progress *progress, void *user);   /* branch: an early end has left a point to certify */
bool hw_linear_unprepared(hawser_progress *progress, void *user); /* branch: it came before the first fold */
bool hw_linear_lost(hawser_progress *progress, void *user);       /* branch: there is no certified point to return to */
bool hw_linear_take_rest(hawser_progress *progress, void *user);  /* branch, never: takes this certificate */

/* What the tests remember, and the notes that they add (hawser_tests_record). `driver` is the hw_linear_driver. */
void hw_linear_driver_visit(hawser_record *bytes, void *driver);

double hw_linear_current_lambda(const hw_linear_record *record); /* node 0 only */

#endif
