#include "algorithms/choice/rows.h"

#include <math.h>

double hw_choice_fits_target(const hawser_options *options, const hawser_progress *progress)
{
    (void)progress;
    return hawser_options_has(options, "path") || hawser_options_integer(options, "cv") > 0 ? 0.0 : NAN;
}

bool hw_choice_path_grows(const hawser_options *options, const hawser_progress *progress)
{
    (void)options;
    return hawser_progress_metric(progress, "lambdas_free") > 0.0;
}

const char *hw_choice_init_use(const hawser_options *options)
{
    if (hawser_options_integer(options, "cv") > 0)
        return "is where the first lambda starts; the path and the folds of --cv begin anew";
    return hawser_options_has(options, "path") ? "is where the first lambda starts; the path begins anew" : NULL;
}
