/*
 * least_squares.c - linear regression by gradient descent over feature partitions, as states, units and loops.
 *
 * Goel et al. (2015), section 6: every block updates the weights of its columns, and reads the other blocks' chunks one by
 * one as they become admissible. Blocks send either *products*, of the rows of the next iteration with their columns, or
 * *weights*, from which every block computes all products itself (the paper's form: B times the work). Sums over chunks are
 * made in the order of chunks, so both forms give the same bits, and under bsp and dc:0 those of one thread.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "algorithms/choice/fit.h"
#include "algorithms/glm/coefficients.h"
#include "algorithms/glm/metrics.h"
#include "algorithms/glm/policy.h"
#include "algorithms/glm/program.h"
#include "algorithms/glm/start.h"
#include "algorithms/lasso/parts.h"
#include "algorithms/learner/learner.h"
#include "algorithms/list.h"
#include "algorithms/measures/errors.h"
#include "algorithms/model/unit.h"
#include "algorithms/sgd/exchange.h"
#include "algorithms/sgd/options.h"
#include "hawser/kept_points.h"

enum { STALLED = 2000 };             /* clocks without a smaller slope after which gd ends */
enum { AFTER_FAILURES = 1, POINTS }; /* the number of the kept point, and how many there may be */

static const double FAR = 0.1;        /* a slope that is far from an optimum */
static const double FAR_ABOVE = 10.0; /* times the objective of weights of zero */

/* ------------------------------------------------------------------------------------------------------------ units ---- */

/* Makes the block from its columns, as before the first clock. */
static hawser_status make_block(hawser_context *context)
{
    const hw_descent *descent = hawser_user(context);
    hawser_error error = {0};
    const hawser_matrix *whole = NULL;
    HAWSER_READ(context, hawser_matrix, X);
    if (descent->sends_weights) {
        HAWSER_TRY(hawser_read(context, "whole", &whole));
        HAWSER_TRY(hw_descent_fetch_all(context, whole->cols));
    }
    HAWSER_TRY(hw_unit_ends(context, hw_descent_block_new(hawser_scratch(context), descent, X, whole, &error), &error));
    return hw_unit_ends(context, hw_descent_block_weigh(hawser_scratch(context), &error), &error);
}

static void visit(hawser_record *record, hawser_context *context)
{
    hw_descent_block *block = hawser_scratch(context);
    bool made = block->descent != NULL;
    hawser_record_bytes(record, &made, sizeof made);
    if (!made || (hawser_record_reads(record) && make_block(context) != HAWSER_OK))
        return;
    hawser_record_bytes(record, &block->memory, sizeof block->memory);
}

static hawser_status prepare(hawser_context *context)
{
    HAWSER_WRITE(context, double, means);
    HAWSER_WRITE(context, double, row_parts);
    HAWSER_TRY(make_block(context));
    const hw_descent_block *block = hawser_scratch(context);
    memcpy(means, block->mean, block->own.X.cols * sizeof *block->mean);
    hw_descent_squares(block, row_parts);
    return HAWSER_OK;
}

static hawser_status point(hawser_context *context)
{
    return hw_descent_point(context, hawser_scratch(context));
}

static hawser_status power(hawser_context *context)
{
    return hw_descent_power(context, hawser_scratch(context));
}

/* Computes the products of the first batch with the start. */
static hawser_status begin(hawser_context *context)
{
    hw_descent_block *block = hawser_scratch(context);
    HAWSER_READ(context, double, theta);
    HAWSER_WRITE(context, double, products);
    hw_descent_product(block, hw_descent_batch(block, 0), theta, products);
    return HAWSER_OK;
}

static hawser_status descend(hawser_context *context)
{
    hw_descent_block *block = hawser_scratch(context);
    HAWSER_WRITE(context, double, theta);
    HAWSER_WRITE(context, double, best);
    const hw_descent *descent = block->descent;
    uint64_t clock = hawser_clock(context);
    hw_row_batch batch = hw_descent_batch(block, clock);
    double weight = descent->total / (double)descent->X->rows;
    HAWSER_TRY(descent->sends_weights ? hw_descent_make_products(context, block, "theta", batch)
                                      : hw_descent_take_products(context, block, "products", batch.count));
    double loss = hw_descent_residual(block, batch), most = hw_descent_gradient(block, batch);
    if (!isfinite(loss))
        return hawser_unit_fail(context, HAWSER_DIVERGED, "the objective is no number any more in clock %llu; lower --step",
                                (unsigned long long)clock);
    if (hw_descent_is_best(block, loss / ((double)batch.count * weight)))
        memcpy(best, theta, block->own.X.cols * sizeof *theta);
    double rate =
        hw_descent_rate(descent, hawser_metric(context, "curvature"), hawser_metric(context, "row_square"), 1.0, clock);
    rate /= (double)batch.count * weight;
    for (size_t j = 0; j < block->own.X.cols; j++)
        theta[j] += rate * block->gradient[j] * block->inverse[j];
    if (!descent->sends_weights) {
        HAWSER_WRITE(context, double, products);
        hw_descent_product(block, hw_descent_batch(block, clock + 1), theta, products);
    }
    double slope = descent->deviation > 0.0 ? most / ((double)batch.count * weight * descent->deviation) : 0.0;
    HAWSER_TRY(hawser_report(context, "slope", slope));
    return hawser_report(context, "objective", loss / ((double)batch.count * weight));
}

static hawser_status post(hawser_context *context)
{
    hw_descent_block *block = hawser_scratch(context);
    HAWSER_READ(context, double, theta);
    HAWSER_WRITE(context, double, row_parts);
    hw_descent_product(block, hw_descent_all(block), theta, row_parts);
    return HAWSER_OK;
}

/* Measures the weights on all rows. */
static hawser_status certify(hawser_context *context)
{
    hw_descent_block *block = hawser_scratch(context);
    HAWSER_READ(context, double, theta);
    const hw_descent *descent = block->descent;
    hw_row_batch all = hw_descent_all(block);
    HAWSER_TRY(hw_descent_take_products(context, block, "row_parts", all.count));
    double loss = hw_descent_residual(block, all) / descent->total, most = hw_descent_gradient(block, all) / descent->total;
    double nonzeros = 0.0;
    for (size_t j = 0; j < block->own.X.cols; j++)
        nonzeros += theta[j] != 0.0;
    HAWSER_TRY(hawser_report(context, "objective", loss));
    HAWSER_TRY(hawser_report(context, "measured", loss));
    HAWSER_TRY(hawser_report(context, "nonzeros", nonzeros));
    HAWSER_TRY(hawser_report(context, "shift", hawser_dot(block->own.X.cols, block->mean, theta, NULL)));
    return hawser_report(context, "slope", descent->deviation > 0.0 ? most / descent->deviation : 0.0);
}

/* ---------------------------------------------------------------------------------------------------------- program ---- */

/* Estimates the memory of units: margins, moments and gradients; if rows are drawn, also the entries by row, of all columns
 * if blocks send weights. */
static void expect(hawser_program *program, const hw_descent *descent)
{
    enum { ENTRY = 12, ROWS = 7 }; /* bytes per entry; numbers per row, those in messages included */
    const hawser_matrix *X = descent->X;
    uint64_t rows = X->rows, columns = X->cols, blocks = descent->blocks, drawn = 0;
    if (!descent->all_rows && X->layout != HAWSER_DENSE)
        drawn = (X->stored * ENTRY + rows * sizeof(double)) / (descent->sends_weights ? 1 : blocks);
    uint64_t block = (ROWS * rows + 4 * (columns / blocks + 1)) * sizeof(double) + drawn;
    if (descent->sends_weights)
        block += (columns + descent->batch * blocks) * sizeof(double);
    block += rows * (blocks / 4) * sizeof(double); /* products of blocks that arrive before their turn */
    hawser_scratch_expect(program, block, (12 * rows + 5 * columns) * sizeof(double) + descent->held);
    hawser_record_expect(program, 0, 0, 0); /* all that lasts is in states */
}

/* Keeps the start. If a descent overflows, its result is then the state "best". After an early end the point is not used,
 * because later weights are better. */
static bool powers_done(hawser_progress *progress, void *user)
{
    bool done = hw_descent_powers_done(progress, user);
    if (done)
        hawser_progress_keep(progress, AFTER_FAILURES);
    return done;
}

/* Builds the program. If `trains` is false, it only measures `descent->start`. */
static hawser_program *build(hw_descent *descent, bool trains)
{
    static const struct {
        const char *name;
        hawser_combine_by by;
    } metrics[] = {{"objective", HAWSER_LAST}, {"slope", HAWSER_MAX},      {"row_square", HAWSER_MAX},
                   {"squares", HAWSER_SUM},    {"curvature", HAWSER_LAST}, {"nonzeros", HAWSER_SUM},
                   {"shift", HAWSER_SUM},      {"measured", HAWSER_LAST}};
    hawser_program *p = hawser_program_new("linear", descent);
    for (size_t k = 0; k < sizeof metrics / sizeof *metrics; k++)
        hawser_metric_declare(p, metrics[k].name, metrics[k].by);
    hawser_scratch_size(p, sizeof(hw_descent_block), hw_descent_block_release);
    hawser_scratch_record(p, visit);
    expect(p, descent);
    size_t blocks = descent->blocks, rows = descent->X->rows, columns = descent->X->cols;
    bool sends_weights = descent->sends_weights;
    hawser_state *X = HAWSER_STATE(p, "X", HAWSER_DATA, .matrix = descent->X);
    hawser_state *whole =
        sends_weights ? HAWSER_STATE(p, "whole", HAWSER_DATA, .matrix = descent->X, .split = HAWSER_FETCHED) : NULL;
    hawser_state *row_parts = HAWSER_STATE(p, "row_parts", HAWSER_STORED, .rows = blocks * rows);
    hawser_state *theta = HAWSER_STATE(p, "theta", sends_weights ? HAWSER_STORED : HAWSER_LOCAL, .rows = columns, .along = X,
                                       .initial = descent->start, .keep = trains);
    hawser_operator *root = hawser_root(p);
    hawser_state *means = HAWSER_STATE(p, "means", HAWSER_LOCAL, .along = X);
    HAWSER_UNIT(root, "prepare", prepare, .reads = {X, whole}, .updates = {row_parts, means});
    if (trains) {
        hawser_state *best = HAWSER_STATE(p, "best", HAWSER_LOCAL, .along = X, .initial = descent->start);
        hawser_until powers = {.test = powers_done}, end = {0};
        hawser_kept_points(p, POINTS);
        if (descent->all_rows)
            end = (hawser_until){.metric = "slope", .below = descent->tolerance, .patience = STALLED};
        else
            end.clocks = (uint64_t)ceil(descent->epochs * (double)rows / (double)descent->batch);
        HAWSER_UNIT(root, "point", point, .reads = {X}, .updates = {row_parts});
        hawser_operator *loop = hawser_loop(root, "curvature", powers, hawser_bsp());
        HAWSER_UNIT(loop, "power", power, .reads = {X}, .updates = {row_parts});
        hawser_state *products =
            sends_weights ? NULL : HAWSER_STATE(p, "products", HAWSER_STORED, .rows = blocks * descent->batch);
        if (!sends_weights)
            HAWSER_UNIT(root, "begin", begin, .reads = {X, theta}, .updates = {products});
        loop = hawser_loop(root, "descent", end, descent->sync);
        HAWSER_UNIT(loop, "descend", descend, .reads = {X, whole}, .updates = {theta, best, products});
    }
    HAWSER_UNIT(root, "post", post, .reads = {X, theta}, .updates = {row_parts});
    HAWSER_UNIT(root, "certify", certify, .reads = {X, theta, row_parts});
    return p;
}

/* ------------------------------------------------------------------------------------------------------------ train ---- */

static double count_nonzeros(const hw_descent *descent, const double *theta)
{
    size_t count = 0;
    for (size_t j = 0; j < descent->X->cols; j++)
        count += theta[j] != 0.0;
    return (double)count;
}

/* Notes that the epochs of batches ended while a column still correlated with the residual, and the remedy. */
static void note_distance(const hw_descent *descent, const hawser_options *options, double slope, hawser_training *training)
{
    char cause[100] = "where rows differ much, steps are short";
    if (!(slope > FAR))
        return;
    if (hw_linear_lag(descent->sync) > 0.0)
        snprintf(cause, sizeof cause, "under --sync %.20s steps are short", hawser_options_text(options, "sync"));
    if (descent->rate > 0.0)
        snprintf(cause, sizeof cause, "--step %g may be too short", descent->rate);
    snprintf(training->notes[0], sizeof training->notes[0],
             "after %g epochs a column still correlates with the residual by %.2g of the target's deviation: %s; --epochs "
             "%g trains longer, --solver gd until no column does",
             descent->epochs, slope, cause, 10.0 * descent->epochs);
}

/* Notes that there was no time left to measure the weights. */
static void note_unmeasured(const hawser_options *options, hawser_training *training)
{
    snprintf(training->notes[0], sizeof training->notes[0],
             "the weights of the last clock were not measured: that would have taken longer than --grace (%g s); their "
             "objective is unknown",
             hawser_options_number(options, "grace"));
}

/* Stores the mean of the margins of weights that were not measured, from the means of the columns. */
static hawser_status find_shift(const hw_descent *descent, const hawser_run *run, const double *theta, double *shift,
                                hawser_error *error)
{
    const double *means;
    HAWSER_TRY(hawser_result(run, "means", &means, NULL, error));
    *shift = 0.0;
    for (size_t j = 0; j < descent->X->cols; j++)
        *shift += theta[j] * means[j];
    return HAWSER_OK;
}

/* Fills the result. `measured` is the run that measured theta last, if there was time for that. */
static hawser_status fill_training(const hw_descent *descent, const hawser_training_input *input, const hawser_run *measured,
                                   const double *theta, bool early, hawser_training *training, hawser_error *error)
{
    double objective = hawser_result_metric(measured, "measured"), slope = hawser_result_metric(measured, "slope");
    double zero = 0.5 * descent->deviation * descent->deviation, shift = hawser_result_metric(measured, "shift");
    if (isnan(objective)) {
        slope = NAN;
        HAWSER_TRY(find_shift(descent, measured, theta, &shift, error));
    }
    hw_member_row row = {.objective = objective,
                         .gap = NAN,
                         .nonzeros =
                             isnan(objective) ? count_nonzeros(descent, theta) : hawser_result_metric(measured, "nonzeros"),
                         .intercept = descent->mean - (descent->intercept ? shift : 0.0),
                         .error = NAN,
                         .done = true};
    hw_results results = {.rows = &row, .most = 1, .count = 1};
    hw_fit fit = {.results = &results, .alpha = theta};
    double curvature = hawser_result_metric(training->run, "curvature"); /* NAN in a run that only measures */
    hawser_fact facts[] = {{"objective", objective},
                           {"nonzeros", row.nonzeros},
                           {"intercept", row.intercept},
                           {"slope", slope},
                           {"r2", zero > 0.0 ? 1.0 - objective / zero : 0.0},
                           {isnan(curvature) ? NULL : "curvature", curvature}};
    memcpy(training->facts, facts, sizeof facts);
    const char *reason = hawser_run_figures(training->run)->stop_reason;
    bool epochs = !early && !descent->all_rows; /* the loop ended by its number of clocks */
    snprintf(training->stop_reason, sizeof training->stop_reason, "%s",
             training->failure.status != HAWSER_OK ? "diverged"
             : epochs                              ? "epochs"
             : strcmp(reason, "patience") == 0     ? "progress"
                                                   : reason);
    if (isnan(objective))
        note_unmeasured(input->options, training);
    else if (epochs && training->failure.status == HAWSER_OK)
        note_distance(descent, input->options, slope, training);
    return hw_fit_make(&fit, "linear", 0.0, input, &training->model, error);
}

/* Measures the best weights so far (descent->start) in a program of its own, whose run becomes *run. Collective. */
static hawser_status measure(hw_descent *descent, hawser_job *job, hawser_run **run, hawser_error *error)
{
    bool sends_weights = descent->sends_weights;
    descent->sends_weights = false;
    hawser_program *program = build(descent, false);
    hawser_observe(job, NULL, NULL);
    hawser_status status = hawser_run_program(job, program, run, error);
    hawser_program_free(program);
    descent->sends_weights = sends_weights;
    return status;
}

/* Takes the best theta so far if the training failed, or ended far above the objective of weights of zero. The training is
 * reported as diverged if that theta is better than the last. All nodes decide alike. */
static hawser_status take_best(hw_descent *descent, hawser_job *job, double objective, hawser_run **after,
                               hawser_training *training, hawser_error *error)
{
    double zero = 0.5 * descent->deviation * descent->deviation;
    if (isnan(objective) || objective <= FAR_ABOVE * zero || (!(zero > 0.0) && training->failure.status == HAWSER_OK))
        return HAWSER_OK;
    if (training->run != NULL) /* else the descent has not begun, and the start is the best */
        HAWSER_TRY(hawser_result_range(training->run, "best", 0, descent->X->cols, descent->start, error));
    HAWSER_TRY(measure(descent, job, after, error));
    if (hawser_result_metric(*after, "objective") < objective && training->failure.status == HAWSER_OK)
        (void)hawser_fail(
            &training->failure, HAWSER_DIVERGED,
            "the training diverged: it ends at the objective %.4g, where weights of zero have %.4g; lower --step", objective,
            zero);
    return HAWSER_OK;
}

/* *after becomes the run that measured the best weights, if they are not the last. The caller frees it. */
static hawser_status run_and_measure(hw_descent *descent, hawser_job *job, const hawser_training_input *input,
                                     hawser_training *training, hawser_run **after, hawser_error *error)
{
    hawser_program *program = build(descent, true);
    hawser_error own = {0};
    hawser_observe(job, input->observer, input->observer_user);
    hawser_status status = hawser_run_program(job, program, &training->run, &own);
    hawser_program_free(program);
    bool early = status == HAWSER_STOP, failed = status == HAWSER_NOT_FINITE || status == HAWSER_DIVERGED;
    if (status != HAWSER_OK && !early && !failed)
        return hawser_fail(error, status, "%s", own.text);
    if (failed)
        training->failure = own;
    HAWSER_TRY(take_best(descent, job, failed ? INFINITY : hawser_result_metric(training->run, "measured"), after, training,
                         error));
    if (failed) {
        hawser_run_free(training->run);
        training->run = *after;
        *after = NULL;
    }
    training->interrupted = early && strcmp(hawser_run_figures(training->run)->stop_reason, "signal") == 0;
    const hawser_run *measured = *after != NULL ? *after : training->run;
    status = HAWSER_OK;
    if (hawser_job_leads(job))
        status = hawser_result_range(measured, "theta", 0, descent->X->cols, descent->start, error);
    if (status == HAWSER_OK && hawser_job_leads(job))
        status = fill_training(descent, input, measured, descent->start, early, training, error);
    return hawser_job_agree(job, status, error);
}

static hawser_status run(void *own, hawser_job *job, const hawser_training_input *input, hawser_training *training,
                         hawser_error *error)
{
    hawser_run *after = NULL;
    hawser_status status = run_and_measure(own, job, input, training, &after, error);
    hawser_run_free(after);
    return status;
}

static hawser_program *build_descent(void *own, const hawser_job *job)
{
    (void)job;
    return build(own, true);
}

static void policy(const void *own, const hawser_options *options, char *text, size_t size)
{
    const hw_descent *descent = own;
    hw_linear_policy_of_steps(descent->sync, hawser_options_text(options, "sync"), descent->rate, text, size);
}

static const hw_learner learner = {.size = sizeof(hw_descent),
                                   .read = hw_descent_read,
                                   .release = hw_descent_release,
                                   .policy = policy,
                                   .build = build_descent,
                                   .run = run};

const hawser_algorithm *hw_least_squares_algorithm(void)
{
    static const char citations[] =
        "N. Goel, D. Agrawal, S. Chawla, A. Elmagarmid: Parameter Database: Data-centric Synchronization. 2015 (sections 5 "
        "to 7)\n"
        "M. Li et al.: Scaling Distributed Machine Learning with the Parameter Server. OSDI 2014 (bounded delay)";
    static const hawser_metric_row metrics[] = {
        HW_LINEAR_METRICS(NULL),
        {.name = "slope",
         .help = "the largest correlation of a column with the residual, in units of the target's deviation"},
        {.name = "curvature", .help = "largest eigenvalue of the objective, with columns in units of their deviation"},
        {.name = "r2", .help = "the part of the loss at zero that the model explains"},
        {.name = NULL}};
    static const hawser_algorithm algorithm = {.name = "linear",
                                               .starts = HW_LINEAR_START,
                                               .summary = "linear regression by gradient descent over a parameter server",
                                               .citations = citations,
                                               .rows = hw_descent_rows,
                                               .metrics = metrics,
                                               .coefficients = hw_linear_print_coefficients,
                                               .user = &learner,
                                               .train = hw_learner_train,
                                               .plan = hw_learner_plan,
                                               .heads = hw_linear_heads,
                                               .evaluate = hw_lasso_evaluate,
                                               .measures = hw_error_measures};
    return &algorithm;
}
