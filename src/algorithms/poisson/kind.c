/* kind.c - what makes a linear model a Poisson regression. */
#include "algorithms/poisson/parts.h"

#include <math.h>

#include "algorithms/poisson/loss.h"
#include "algorithms/solve/certificate.h"

/* Counts need not be whole: rates and shares with weights are common, and the loss is defined for them. */
static hawser_status take_target(hw_linear_problem *problem, const hawser_training_input *input, hawser_error *error)
{
    const double *target = hawser_dataset_target(input->data);
    size_t n = problem->X->rows;
    HAWSER_TRY(hw_linear_check_numeric(input->data, error));
    HAWSER_TRY(hw_linear_new_doubles(&problem->target_log, n, error));
    for (size_t i = 0; i < n; i++) {
        double y = target[hw_linear_counted(problem, i)];
        if (!(y >= 0.0))
            return hawser_fail(
                error, HAWSER_BAD_INPUT,
                "row %zu: the target is %g, and a Poisson regression needs counts of 0 or more (--target says "
                "where they are)",
                i + 1, y);
        problem->target[i] = y;
        problem->target_log[i] = hw_poisson_log(y);
    }
    problem->offset = hawser_dataset_offset(input->data);
    return hw_linear_check_target(problem->target, n, error);
}

static double target_of(const hw_linear_problem *problem, double value)
{
    (void)problem;
    return value >= 0.0 && isfinite(value) ? value : NAN;
}

/* The deviance of a row, as glmnet and scikit-learn have it: twice its loss. */
static double row_error(double target, double margin)
{
    return 2.0 * hw_poisson_loss(target, hw_poisson_log(target), margin);
}

static double absolute_error(double target, double margin)
{
    return fabs(target - hw_poisson_mean(margin));
}

/* The loss and the penalty are never negative, so zero is a bound, too. */
static void certificate(hw_linear_metric *metric, const void *source, double zero_objective, double *objective, double *gap)
{
    double scaled = metric(source, "dual_loss") - metric(source, "conjugate");
    double plain = metric(source, "plain_dual_loss") - metric(source, "plain_conjugate");
    *objective = metric(source, "loss") + metric(source, "penalty");
    *gap = hw_linear_gap_of(*objective - (scaled > plain ? scaled : plain), fmax(zero_objective, *objective)) +
           metric(source, "rounding");
    *gap = *gap > *objective ? *objective : *gap;
    hw_linear_refuse_infinite(objective, gap);
}

static const hw_linear_error errors[] = {{"mae", absolute_error}, {NULL, NULL}};

const hw_linear_kind hw_poisson_kind = {.name = "poisson",
                                        .cv_name = "cv_deviance",
                                        .validation_name = "validation_deviance",
                                        .error_name = "mean deviance",
                                        .fit_name = "deviance_ratio",
                                        .boxes = true,
                                        .loss = &hw_poisson_losses,
                                        .take_target = take_target,
                                        .row_error = row_error,
                                        .errors = errors,
                                        .wrong_target = "is no count: it must be 0 or more",
                                        .target_of = target_of,
                                        .certificate = certificate};
