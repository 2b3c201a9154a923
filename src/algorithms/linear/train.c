#include "algorithms/linear/train.h"

#include <string.h>

#include "algorithms/linear/finish.h"

hawser_status hw_linear_plan(const hw_linear_kind *kind, hw_linear_build *build, hawser_job *job,
                             const hawser_training_input *input, bool physical, bool dot, FILE *out, hawser_error *error)
{
    hw_linear linear;
    hawser_program *program = NULL;
    hawser_status status = hw_linear_new(&linear, kind, job, input, error);
    if (status == HAWSER_OK) {
        program = build(&linear);
        status = hawser_plan_print(job, program, physical, dot, out, error);
    }
    hawser_program_free(program);
    hw_linear_free(&linear);
    return status;
}

/* After an early end: what was measured last in an interrupted run is not what it left behind. All nodes run it, whether or not node 0
 * has a certificate already: only node 0 knows. */
static hawser_status certify_rest(hawser_job *job, hw_linear *linear, const hw_linear_units *units, const hawser_run *ended,
                                  hawser_error *error)
{
    hawser_run *run = NULL;
    double lambda = hawser_result_metric(ended, "lambda");
    linear->rest_lambda = lambda >= 0.0 ? lambda : hw_linear_one_lambda(linear, 0.0);
    hawser_program *program = hw_linear_certificate_program(linear, units, hawser_result(ended, "alpha", NULL));
    hawser_observe(job, NULL, NULL);
    hawser_status status = hawser_run_program(job, program, &run, error);
    if (status == HAWSER_OK)
        hw_linear_take_rest(linear, run);
    hawser_run_free(run);
    hawser_program_free(program);
    return status;
}

static hawser_status run_and_finish(hawser_job *job, hw_linear *linear, const hw_linear_units *units, hw_linear_build *build,
                                    const hawser_training_input *input, hawser_training *training, hawser_error *error)
{
    hawser_program *program = build(linear);
    hawser_observe(job, input->observer, input->observer_user);
    hawser_status status = hawser_run_program(job, program, &training->run, error);
    hawser_program_free(program);
    bool early = status == HAWSER_STOP;
    if (status != HAWSER_OK && !early)
        return status;
    if (early)
        HAWSER_TRY(certify_rest(job, linear, units, training->run, error));
    if (!hawser_job_leads(job)) /* what the stop tests saw, only node 0 knows */
        return HAWSER_OK;
    return hw_linear_finish(linear, input, early, training, error);
}

hawser_status hw_linear_train(const hw_linear_kind *kind, const hw_linear_units *units, hw_linear_build *build,
                              hawser_job *job, const hawser_training_input *input, hawser_training *training,
                              hawser_error *error)
{
    hw_linear linear;
    memset(training, 0, sizeof *training);
    hawser_status status = hw_linear_new(&linear, kind, job, input, error);
    if (status == HAWSER_OK) {
        linear.training = training;
        status = run_and_finish(job, &linear, units, build, input, training, error);
    }
    hw_linear_free(&linear);
    return status;
}
