/*
 * logistic.c - logistic regression by stochastic gradient descent: in each clock a worker goes once over its rows, and what
 * the workers have learned is averaged. The target is 0 or 1, or -1 or 1.
 *
 * `./logistic FILE` prints the mean log loss and the share of rows that are classified correctly. Try `--workers 4`, `--sync
 * ssp:2`, `--sync tap`, and `hawser run -n 3 -- ./logistic FILE --workers 6`. Under bsp the result has the same bits for any
 * number of threads and nodes.
 */
#include <hawser/app.h>
#include <hawser/row_kernels.h>

#include <math.h>

enum { CLOCKS = 200 };
static const double STEP = 0.5;

/* Returns 1 or -1, the sign by which a margin is right. */
static double sign_of(double target)
{
    return target > 0 ? 1 : -1;
}

static hawser_status descend(hawser_context *context)
{
    HAWSER_READ(context, hawser_matrix, rows);
    HAWSER_WRITE(context, double, w); /* the last number is the intercept */
    hawser_beside beside;
    HAWSER_TRY(hawser_data_beside(context, "rows", &beside));
    double step = STEP / (1 + (double)hawser_clock(context) / 10);
    for (size_t i = 0; i < rows->rows; i++) {
        double sign = sign_of(beside.target[i]), margin = sign * (hawser_row_dot(rows, i, w) + w[rows->cols]);
        double change = step * sign / (1 + exp(margin));
        hawser_row_axpy(rows, i, change, w);
        w[rows->cols] += change;
    }
    return HAWSER_OK;
}

static hawser_status measure(hawser_context *context)
{
    HAWSER_READ(context, hawser_matrix, rows);
    HAWSER_READ(context, double, w);
    hawser_beside beside;
    HAWSER_TRY(hawser_data_beside(context, "rows", &beside));
    double loss = 0, right = 0;
    for (size_t i = 0; i < rows->rows; i++) {
        double margin = sign_of(beside.target[i]) * (hawser_row_dot(rows, i, w) + w[rows->cols]);
        loss += margin > 0 ? log1p(exp(-margin)) : log1p(exp(margin)) - margin;
        right += margin > 0;
    }
    HAWSER_TRY(hawser_report(context, "loss", loss));
    return hawser_report(context, "right", right);
}

static hawser_status build(const hawser_app_call *call, hawser_program *program, hawser_error *error)
{
    if (hawser_dataset_outputs(call->data) == 0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the input has no target");
    hawser_state *rows = HAWSER_STATE(program, "rows", HAWSER_DATA, .data = call->data, .split = HAWSER_BY_ROW);
    hawser_state *w = HAWSER_STATE(program, "w", HAWSER_REPLICATED, .rows = hawser_dataset_matrix(call->data)->cols + 1,
                                   .damping = 1.0 / hawser_job_workers(call->job));
    hawser_metric_declare(program, "loss", HAWSER_SUM);
    hawser_metric_declare(program, "right", HAWSER_SUM);
    hawser_operator *loop = HAWSER_LOOP(hawser_root(program), "descent", hawser_job_sync(call->job), .clocks = CLOCKS);
    HAWSER_UNIT(loop, "descend", descend, .reads = {rows}, .updates = {w});
    HAWSER_UNIT(hawser_root(program), "measure", measure, .reads = {rows, w});
    return HAWSER_OK;
}

static hawser_status print(const hawser_app_call *call, const hawser_run *run, hawser_error *error)
{
    (void)error;
    double rows = (double)hawser_dataset_matrix(call->data)->rows;
    printf("loss %.6f, right %.4f\n", hawser_result_metric(run, "loss") / rows, hawser_result_metric(run, "right") / rows);
    return HAWSER_OK;
}

int main(int argc, char **argv)
{
    return HAWSER_APP(argc, argv, "logistic", "FILE...", .files = true, .split = HAWSER_BY_ROW, .build = build,
                      .done = print);
}
