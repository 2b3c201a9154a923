/*
 * kmeans.c - k-means by rows: Lloyd's iterations, or mini-batches, from centres that are drawn or given.
 *
 * Rows are split over the blocks. In each clock every block finds the nearest centres of its rows; the sums of the clusters are added up over all
 * blocks in canonical order, so that every block computes the same new centres. Each block writes its share of the state "centres".
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/kmeans/block.h"
#include "algorithms/kmeans/given.h"
#include "algorithms/kmeans/model.h"
#include "algorithms/kmeans/options.h"
#include "algorithms/kmeans/units.h"
#include "algorithms/list.h"

/* ----------------------------------------------------------------------------------------------------------- program ---- */

static bool start_ended(hawser_progress *progress, void *user)
{
    (void)user;
    return hawser_progress_metric(progress, "ended") > 0.0;
}

static void declare(hawser_program *p, const hw_kmeans *kmeans)
{
    static const char *const metrics[] = {"inertia",   "moved",      "shift",           "start",      "ended",
                                          "tolerance", "best_start", "best_iterations", "best_ended", "best_inertia"};
    for (size_t k = 0; k < sizeof metrics / sizeof *metrics; k++)
        hawser_metric_declare(p, metrics[k], HAWSER_LAST);
    static const char *const validation[] = {"validation_inertia", "evaluations"};
    for (size_t k = 0; kmeans->early.validated && k < sizeof validation / sizeof *validation; k++)
        hawser_metric_declare(p, validation[k], HAWSER_LAST);
    hawser_scratch_size(p, sizeof(hw_kmeans_block), hw_kmeans_block_release);
    hawser_scratch_record(p, hw_kmeans_block_visit);
    hawser_scratch_expect(p, hw_kmeans_block_bytes(kmeans, kmeans->X->rows / kmeans->blocks + 1), kmeans->held);
}

static hawser_operator *reducing(hawser_operator *unit, const hw_kmeans *kmeans)
{
    hawser_reduces(unit, kmeans->reduced);
    hawser_reduces_expect(unit, kmeans->reduced, 2 * kmeans->reduced);
    return unit;
}

/* Builds the program. If `trains` is false, it only measures kmeans->given. */
static hawser_program *build(hw_kmeans *kmeans, bool trains)
{
    hawser_program *p = hawser_program_new("kmeans", kmeans);
    size_t k = kmeans->clusters, count = k * kmeans->X->cols;
    declare(p, kmeans);
    hawser_operator *root = hawser_root(p);
    hawser_state *X = hawser_data_state(p, "X", kmeans->X, HAWSER_BY_ROW);
    hawser_state *best = hawser_partitioned_state(p, "best", count, NULL, NULL);
    hawser_state *sizes = hawser_partitioned_state(p, "sizes", k, NULL, NULL);
    if (!trains) {
        reducing(hawser_unit(root, "measure", hw_kmeans_measure, HAWSER_READS(X), HAWSER_UPDATES(best, sizes)), kmeans);
        return p;
    }
    hawser_state *centres = hawser_partitioned_state(p, "centres", count, NULL, NULL);
    hawser_state *kept = kmeans->early.patience > 0 ? hawser_partitioned_state(p, "kept", count, NULL, NULL) : NULL;
    reducing(hawser_unit(root, "prepare", hw_kmeans_prepare, HAWSER_READS(X), NULL), kmeans);
    hawser_operator *starts = hawser_loop(root, "starts", (hawser_until){.clocks = kmeans->starts}, hawser_bsp());
    reducing(hawser_unit(starts, "begin", hw_kmeans_begin, HAWSER_READS(X), HAWSER_UPDATES(centres, kept)), kmeans);
    hawser_operator *loop = hawser_loop(starts, "iterations", (hawser_until){.test = start_ended}, hawser_bsp());
    reducing(hawser_unit(loop, "step", kmeans->batch > 0 ? hw_kmeans_batch_step : hw_kmeans_step, HAWSER_READS(X),
                         HAWSER_UPDATES(centres, kept)),
             kmeans);
    reducing(hawser_unit(starts, "finish", hw_kmeans_finish, HAWSER_READS(X, kept != NULL ? kept : centres),
                         HAWSER_UPDATES(best, sizes)),
             kmeans);
    return p;
}

static hawser_status plan(const hawser_algorithm *algorithm, hawser_job *job, const hawser_training_input *input,
                          hawser_plan_format format, FILE *out, hawser_error *error)
{
    (void)algorithm;
    hw_kmeans kmeans;
    hawser_status status = hw_kmeans_new(&kmeans, job, input, error);
    if (status == HAWSER_OK) {
        hawser_program *program = build(&kmeans, true);
        status = hawser_plan_print(job, program, format, out, error);
        hawser_program_free(program);
    }
    hw_kmeans_free(&kmeans);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------- train ---- */

static const char *reason_of(double ended)
{
    switch ((int)ended) {
    case HW_KMEANS_SETTLED: return "settled";
    case HW_KMEANS_TOLERANCE: return "tol";
    case HW_KMEANS_ITERATIONS: return "iterations";
    case HW_KMEANS_EPOCHS: return "epochs";
    case HW_KMEANS_PATIENCE: return "patience";
    case HW_KMEANS_EARLY: return "early-stopping";
    default: return "end";
    }
}

/* Fills the result, on node 0. `from` is the run that measured the centres. */
static hawser_status fill(const hw_kmeans *kmeans, const hawser_training_input *input, const hawser_run *from, bool early,
                          hawser_training *training, hawser_error *error)
{
    const double *sizes = hawser_result(from, "sizes", NULL);
    double smallest = INFINITY, largest = 0.0, validation = NAN;
    hw_kmeans_result result = {.centres = hawser_result(from, "best", NULL),
                               .sizes = sizes,
                               .clusters = kmeans->clusters,
                               .inertia = hawser_result_metric(from, "best_inertia"),
                               .iterations = hawser_result_metric(training->run, "best_iterations")};
    for (size_t c = 0; c < kmeans->clusters; c++) {
        smallest = fmin(smallest, sizes[c]);
        largest = fmax(largest, sizes[c]);
    }
    if (isnan(result.iterations))
        result.iterations = (double)hawser_run_figures(training->run)->clocks;
    double start = hawser_result_metric(training->run, "best_start"), empty = 0.0;
    for (size_t c = 0; c < kmeans->clusters; c++)
        empty += sizes[c] == 0.0;
    if (empty > 0.0)
        snprintf(training->notes[0], sizeof training->notes[0],
                 "%.0f of %zu clusters have no rows: the data have fewer different rows, or mini-batches have not reached "
                 "them; lower --clusters",
                 empty, kmeans->clusters);
    if (input->validation != NULL)
        HAWSER_TRY(
            hw_kmeans_inertia(result.centres, kmeans->clusters, kmeans->single, input->validation, &validation, error));
    hawser_fact facts[] = {{"inertia", result.inertia},
                           {"iterations", result.iterations},
                           {"start", isnan(start) ? 1.0 : start},
                           {"clusters", (double)kmeans->clusters},
                           {"smallest", smallest},
                           {"largest", largest},
                           {input->validation != NULL ? "validation_inertia" : NULL, validation}};
    memcpy(training->facts, facts, sizeof facts);
    const char *reason = hawser_run_figures(training->run)->stop_reason;
    snprintf(training->stop_reason, sizeof training->stop_reason, "%s",
             early ? reason : reason_of(hawser_result_metric(training->run, "best_ended")));
    return hw_kmeans_model_make(&result, input, &training->model, error);
}

/* Measures the centres that a run had when it ended early, unless it has finished a start. */
static hawser_status measure(hw_kmeans *kmeans, hawser_job *job, const hawser_run *ended, hawser_run **after,
                             hawser_error *error)
{
    size_t count = 0;
    const double *centres = hawser_result(ended, kmeans->early.patience > 0 ? "kept" : "centres", &count);
    if (isnan(hawser_result_metric(ended, "start")))
        return hawser_fail(error, HAWSER_STOP, "the training ended before the first centres were drawn; no model is kept");
    double *copy = calloc(count + 1, sizeof *copy);
    if (copy == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu centres", kmeans->clusters);
    memcpy(copy, centres, count * sizeof *copy);
    free(kmeans->given);
    kmeans->given = copy;
    hawser_program *program = build(kmeans, false);
    hawser_observe(job, NULL, NULL);
    hawser_status status = hawser_run_program(job, program, after, error);
    hawser_program_free(program);
    if (status == HAWSER_STOP)
        return hawser_fail(error, HAWSER_STOP,
                           "the run ended before its centres were measured, so no model is kept; allow more --grace");
    return status;
}

static hawser_status run(hw_kmeans *kmeans, hawser_job *job, const hawser_training_input *input, hawser_training *training,
                         hawser_run **after, hawser_error *error)
{
    hawser_program *program = build(kmeans, true);
    hawser_observe(job, input->observer, input->observer_user);
    hawser_status status = hawser_run_program(job, program, &training->run, error);
    hawser_program_free(program);
    bool early = status == HAWSER_STOP, finished = false;
    if (status != HAWSER_OK && !early)
        return status;
    finished = !isnan(hawser_result_metric(training->run, "best_inertia"));
    if (!finished)
        HAWSER_TRY(measure(kmeans, job, training->run, after, error));
    training->interrupted = early && strcmp(hawser_run_figures(training->run)->stop_reason, "signal") == 0;
    const hawser_run *measured = finished ? training->run : *after;
    status = hawser_job_leads(job) ? fill(kmeans, input, measured, early, training, error) : HAWSER_OK;
    return hawser_job_agree(job, status, error);
}

static hawser_status train(const hawser_algorithm *algorithm, hawser_job *job, const hawser_training_input *input,
                           hawser_training *training, hawser_error *error)
{
    (void)algorithm;
    hw_kmeans kmeans;
    hawser_run *after = NULL;
    memset(training, 0, sizeof *training);
    hawser_status status = hw_kmeans_new(&kmeans, job, input, error);
    if (status == HAWSER_OK)
        status = run(&kmeans, job, input, training, &after, error);
    hawser_run_free(after);
    hw_kmeans_free(&kmeans);
    return status;
}

const hawser_algorithm *hw_kmeans_algorithm(void)
{
    static const char citations[] =
        "S. Lloyd: Least squares quantization in PCM. IEEE Trans. Information Theory 28, 1982\n"
        "Y. Ding, Y. Zhao, X. Shen, M. Musuvathi, T. Mytkowicz: Yinyang K-Means. ICML 2015\n"
        "D. Arthur, S. Vassilvitskii: k-means++. SODA 2007\n"
        "B. Bahmani, B. Moseley, A. Vattani, R. Kumar, S. Vassilvitskii: Scalable K-Means++. VLDB 2012\n"
        "D. Sculley: Web-Scale K-Means Clustering. WWW 2010 (mini-batches)";
    static const hawser_algorithm algorithm = {.name = "kmeans",
                                               .summary = "clusters rows around centres (k-means)",
                                               .citations = citations,
                                               .rows = hw_kmeans_rows,
                                               .starts = HW_KMEANS_START,
                                               .metrics = hw_kmeans_metrics,
                                               .split = HAWSER_BY_ROW,
                                               .no_offset = true,
                                               .no_target = true,
                                               .train = train,
                                               .plan = plan,
                                               .predict = hw_kmeans_predict,
                                               .distances = hw_kmeans_distances,
                                               .distance_count = hw_kmeans_count,
                                               .scores = hw_kmeans_scores,
                                               .score_count = 2,
                                               .evaluate = hw_kmeans_evaluate,
                                               .measures = hw_kmeans_measures,
                                               .coefficients = hw_kmeans_print};
    return &algorithm;
}
