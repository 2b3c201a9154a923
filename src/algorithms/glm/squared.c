#include "algorithms/glm/squared.h"

#include <float.h>
#include <math.h>

double hw_linear_squared_error(double target, double margin)
{
    return (target - margin) * (target - margin);
}

static double absolute_error(double target, double margin)
{
    return fabs(target - margin);
}

const hw_linear_error hw_linear_squared_errors[] = {{"mae", absolute_error}, {NULL, NULL}};

static hw_linear_sums sums_of(hw_linear_metric *metric, const void *source)
{
    return (hw_linear_sums){.loss = metric(source, "loss"),
                            .square = metric(source, "square"),
                            .target = metric(source, "target"),
                            .penalty = metric(source, "penalty"),
                            .curved = metric(source, "curved"),
                            .ratio = metric(source, "ratio")};
}

void hw_linear_squared_certificate(hw_linear_metric *metric, const void *source, double zero_objective, double *objective,
                                   double *gap)
{
    hw_linear_sums sums = sums_of(metric, source);
    *objective = hw_linear_primal(&sums);
    *gap = hw_linear_gap(&sums, metric(source, "conjugate"), metric(source, "plain_conjugate"),
                         fmax(zero_objective, *objective));
    hw_linear_refuse_infinite(objective, gap);
}

double hw_linear_squared_rounding(const hw_linear_problem *problem)
{
    double squares = 0.0, ulps = 8.0 * DBL_EPSILON;
    size_t n = problem->X->rows;
    for (size_t k = 0; problem->target != NULL && k < n * problem->outputs; k++)
        squares += (problem->weights != NULL ? problem->weights[k % n] : 1.0) * problem->target[k] * problem->target[k];
    return 0.5 * ulps * ulps * squares / problem->total;
}

void hw_linear_squared_declare(hawser_program *program)
{
    hawser_metric_declare(program, "square", HAWSER_LAST);
    hawser_metric_declare(program, "target", HAWSER_LAST);
    hawser_metric_declare(program, "curved", HAWSER_SUM);
}

hawser_status hw_linear_squared_report(hawser_context *context, const hw_linear_sums *sums)
{
    HAWSER_TRY(hw_linear_report(context, "loss", sums->loss));
    HAWSER_TRY(hw_linear_report(context, "square", sums->square));
    HAWSER_TRY(hw_linear_report(context, "target", sums->target));
    HAWSER_TRY(hw_linear_report(context, "penalty", sums->penalty));
    HAWSER_TRY(hw_linear_report(context, "curved", sums->curved));
    return hw_linear_report(context, "ratio", sums->ratio);
}

/* A hw_linear_metric of what all blocks have reported. */
static double published(const void *context, const char *name)
{
    return hawser_metric(context, name);
}

double hw_linear_squared_scale(const hawser_context *context)
{
    hw_linear_sums sums = sums_of(published, context);
    return hw_linear_scale(&sums);
}

double hw_linear_squared_radius(const hawser_context *context, double scale)
{
    hw_linear_sums sums = sums_of(published, context);
    double gap = hw_linear_primal(&sums) - hw_linear_dual(&sums, scale, hawser_metric(context, "conjugate"));
    return sqrt(2.0 * fmax(gap, hawser_metric(context, "gap")));
}
