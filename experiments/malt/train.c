/*
 * train.c - a linear SVM by stochastic gradient descent and averaging, as MALT trains it: each block learns from a batch of
 * its own rows, then all blocks' changes are averaged. It prints the loss over clocks, seconds and bytes as one line of
 * JSON.
 *
 *     hawser run -n 8 -- experiment_svm DATA BATCH CLOCKS [RATE [PENALTY]] --workers 8 --sync bsp --topology halton
 */
#include <math.h>

#include "../curve.h"
#include "svm.h"

static hawser_status learn(hawser_context *context)
{
    const svm *self = hawser_user(context);
    const hawser_matrix *mine;
    HAWSER_TRY(hawser_read(context, "rows", &mine));
    HAWSER_WRITE(context, double, w);
    uint64_t clock = hawser_clock(context);
    double share = svm_hinge(self, mine, w) / (double)self->matrix.rows +
                   self->penalty / 2 * hawser_dot(self->matrix.cols, w, w, NULL) / hawser_blocks(context);
    HAWSER_TRY(hawser_report(context, "objective", share)); /* under SSP and TAP that of each block's own w */
    svm_learn(self, mine, (size_t)(clock * self->batch % mine->rows), (double)(clock * self->batch * hawser_blocks(context)),
              w);
    return HAWSER_OK;
}

static hawser_status train(hawser_job *job, svm *self, hawser_run **run, hawser_error *error)
{
    hawser_program *program = hawser_program_new("svm", self);
    hawser_state *rows = HAWSER_STATE(program, "rows", HAWSER_DATA, .matrix = &self->matrix, .split = HAWSER_BY_ROW);
    hawser_state *w =
        HAWSER_STATE(program, "w", HAWSER_REPLICATED, .rows = self->matrix.cols, .damping = 1.0 / hawser_job_workers(job));
    hawser_metric_declare(program, "objective", HAWSER_SUM);
    hawser_operator *loop =
        hawser_loop(hawser_root(program), "epochs", (hawser_until){.clocks = self->clocks}, hawser_job_sync(job));
    HAWSER_UNIT(loop, "learn", learn, .reads = {rows}, .updates = {w});
    hawser_status status = hawser_run_program(job, program, run, error);
    hawser_program_free(program);
    return status;
}

int main(int argc, char **argv)
{
    hawser_job *job = NULL;
    hawser_run *run = NULL;
    svm self = {.batch = 0};
    curve all = {.points = NULL};
    hawser_error error = {HAWSER_OK, ""};
    hawser_status status = hawser_open(&argc, argv, &job, &error);
    if (status == HAWSER_STOP)
        return 0;
    if (status == HAWSER_OK && argc < 2)
        status = hawser_fail(&error, HAWSER_BAD_OPTION, "usage: DATA BATCH CLOCKS [RATE [PENALTY]] and options of the job");
    if (status == HAWSER_OK)
        status = svm_open(&self, argv[1], argv + 2, argc - 2, &error);
    if (status == HAWSER_OK)
        status = curve_open(&all, job, self.clocks, &error);
    if (status == HAWSER_OK)
        status = train(job, &self, &run, &error);
    const double *w = NULL;
    if (status == HAWSER_OK)
        status = hawser_result(run, "w", &w, NULL, &error);
    if (status == HAWSER_OK && hawser_job_leads(job))
        curve_print(&all, run, svm_objective(&self, w));
    if (status != HAWSER_OK)
        fprintf(stderr, "svm: %s\n", error.text);
    hawser_run_free(run);
    hawser_close(job);
    svm_close(&self);
    curve_close(&all);
    return status == HAWSER_OK ? 0 : 1;
}
