/* finish.h - makes the result of a training from the end of a run: the chosen lambda, its model, the facts. */
#ifndef HW_ALGORITHMS_GLM_FINISH_H
#define HW_ALGORITHMS_GLM_FINISH_H

#include "algorithms/glm/driver.h"

/* What a run has left. */
typedef struct hw_linear_reached {
    bool early;          /* a limit, a signal or a failure ended the run before its tests did */
    size_t planned;      /* lambdas of the path */
    const double *alpha; /* the last coefficients of the run, or of record->rest after an early end */
    const double *path;  /* the coefficients of all finished lambdas; NULL: none is */
    const double *means; /* of the columns, if intercepts follow from them */
    double *intercepts;  /* by lambda, then by output; NULL: they follow from the means, or the rows have them */
} hw_linear_reached;

/* Fills driver->training. Without a run, because a node was lost, there must be a path. Changes reached->intercepts. */
hawser_status hw_linear_finish(hw_linear_driver *driver, const hawser_training_input *input,
                               const hw_linear_reached *reached, hawser_error *error) HAWSER_MUST_USE;

/* Fills the failure of a training that diverged or stalled, which the caller reports after saving the best certified
 * model. */
void hw_linear_describe_failure(const hw_linear_driver *driver, hawser_error *failure);
/* Fills the failure of a training that ended by `cause` after its first certificate: HAWSER_NOT_FINITE is reported with the
 * option that helps, if there is one, anything else as it is. */
void hw_linear_describe_overflow(const hw_linear_driver *driver, const hawser_error *cause, hawser_error *failure);

#endif
