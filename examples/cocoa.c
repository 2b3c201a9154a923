/*
 * cocoa.c - ridge regression by its dual, with a local solver of its own (hawser/cocoa.h): 1/2 |A w - y|^2 + PENALTY / 2
 * |w|^2 has w = A^T alpha with a number alpha_i for each row. Workers have rows and their alpha. In a round a worker takes
 * steps on its own alpha, and the library adds up the changes of w. Every ROUNDS rounds the workers measure the duality gap.
 *
 * `./cocoa FILE` prints the objective and the relative gap with which it ends. Try `--workers 4`, `--sync ssp:2`, `--tol
 * 1e-8`, and `hawser run -n 3 -- ./cocoa FILE --workers 6`. Under bsp the result has the same bits for any number of threads
 * and nodes that share the workers.
 *
 * A round is `--exchange-every` times as many steps as a worker has rows. With `--auto` the steps, the shares of slow
 * workers, the staleness, sigma' and the encoding of w change while it runs.
 */
#include <hawser/advanced.h>
#include <hawser/app.h>
#include <hawser/cocoa.h>
#include <hawser/row_kernels.h>

#include <math.h>

enum { ROUNDS = 5, MOST = 2000 };
static const double PENALTY = 1;

typedef struct setting {
    double every;     /* steps of a round for each own row */
    double tolerance; /* of the gap, by the objective at zero */
} setting;

/* Takes steps on random rows, each to the minimum of the subproblem along it. */
static hawser_status ascend(hawser_context *context, hawser_subproblem *problem)
{
    const setting *chosen = hawser_user(context);
    hawser_beside beside;
    HAWSER_TRY(hawser_data_beside(context, "rows", &beside));
    if (problem->coordinates == 0)
        return HAWSER_OK; /* there are more workers than rows */
    const double steps = ceil(chosen->every * hawser_work(context) * (double)problem->coordinates);
    for (double n = 0; n < steps; n++) {
        const size_t i = hawser_random_below(context, problem->coordinates);
        const hawser_matrix row = hawser_matrix_rows(problem->A, i, i + 1);
        double square;
        hawser_row_squares(&row, &square);
        const double slope = hawser_row_dot(problem->A, i, problem->v) - beside.target[i] + PENALTY * problem->alpha[i];
        hawser_subproblem_step(problem, i, -slope / (problem->sigma * square + PENALTY));
    }
    return HAWSER_OK;
}

/* Reports this worker's part of the objective and of its bound by the dual. */
static hawser_status measure(hawser_context *context)
{
    HAWSER_READ(context, hawser_matrix, rows);
    HAWSER_READ(context, double, alpha);
    HAWSER_READ(context, double, w);
    hawser_beside beside;
    HAWSER_TRY(hawser_data_beside(context, "rows", &beside));
    double loss = 0, dual = 0, start = 0, square = 0;
    for (size_t i = 0; i < rows->rows; i++) {
        const double y = beside.target[i], left = hawser_row_dot(rows, i, w) - y;
        loss += left * left / 2;
        dual += PENALTY * alpha[i] * (PENALTY * alpha[i] / 2 - y);
        start += y * y / 2;
    }
    for (size_t j = 0; j < rows->cols; j++)
        square += w[j] * w[j];
    HAWSER_TRY(hawser_report(context, "loss", loss));
    HAWSER_TRY(hawser_report(context, "dual", dual));
    HAWSER_TRY(hawser_report(context, "start", start));
    return hawser_report(context, "square", square); /* each worker has the whole w */
}

static bool closed(hawser_progress *progress, void *user)
{
    const setting *chosen = user;
    const double square = PENALTY * hawser_progress_metric(progress, "square");
    const double objective = hawser_progress_metric(progress, "loss") + square / 2;
    const double gap = objective + hawser_progress_metric(progress, "dual") + square / 2;
    hawser_progress_set(progress, "objective", objective);
    hawser_progress_set(progress, "gap", gap / hawser_progress_metric(progress, "start"));
    return gap <= chosen->tolerance * hawser_progress_metric(progress, "start") ||
           hawser_progress_clock(progress) + 1 >= MOST;
}

static hawser_status build(const hawser_app_call *call, hawser_program *program, hawser_error *error)
{
    const hawser_sync sync = hawser_job_sync(call->job);
    const hawser_rule rule = hawser_cocoa_rule(call->job, 0, sync); /* --merge add|average */
    setting *chosen = call->user;
    chosen->every = hawser_options_number(call->options, "exchange-every");
    chosen->tolerance = hawser_options_number(call->options, "tol");
    if (hawser_dataset_outputs(call->data) == 0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the input has no target");
    hawser_state *rows = HAWSER_STATE(program, "rows", HAWSER_DATA, .data = call->data, .split = HAWSER_BY_ROW);
    hawser_state *alpha = HAWSER_STATE(program, "alpha", HAWSER_LOCAL, .along = rows);
    hawser_state *w = HAWSER_STATE(program, "w", HAWSER_REPLICATED, .rows = hawser_dataset_matrix(call->data)->cols,
                                   .damping = rule.damping, .gain = rule.gain);
    static const char *const sums[] = {"loss", "dual", "start"};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        hawser_metric_declare(program, sums[i], HAWSER_SUM);
    static const char *const others[] = {"square", "objective", "gap"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        hawser_metric_declare(program, others[i], HAWSER_MAX);
    hawser_operator *all =
        hawser_loop(hawser_root(program), "all", (hawser_until){.test = closed, .user = chosen}, hawser_bsp());
    hawser_operator *loop = HAWSER_LOOP(all, "rounds", sync, .clocks = ROUNDS);
    hawser_cocoa(loop, "ascend", ascend, alpha, w, NULL);
    HAWSER_ADAPT(program, .loop = loop, .metric = "gap", .metric_is_gap = true, .work_least = 0.25, .work_most = 4,
                 .shares = true);
    HAWSER_UNIT(all, "measure", measure, .reads = {rows, alpha, w});
    return HAWSER_OK;
}

static hawser_status print(const hawser_app_call *call, const hawser_run *run, hawser_error *error)
{
    (void)call, (void)error;
    printf("%.17g %.17g\n", hawser_result_metric(run, "objective"), hawser_result_metric(run, "gap"));
    return HAWSER_OK;
}

int main(int argc, char **argv)
{
    static const hawser_option rows[] = {{.key = "tol",
                                          .kind = HAWSER_NUMBER,
                                          .value = "1e-6",
                                          .bounds = "(0,1)",
                                          .unit = "GAP",
                                          .help = "duality gap at which it ends, by the objective at zero"},
                                         {0}};
    setting chosen;
    return HAWSER_APP(argc, argv, "cocoa", "FILE...", .files = true, .split = HAWSER_BY_ROW, .rows = rows, .user = &chosen,
                      .build = build, .done = print);
}
