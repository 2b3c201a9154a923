/*
 * kmeans.c - k-means by rows: Lloyd's iterations, or mini-batches, from centres that are drawn or given.
 *
 * Rows are split over the blocks. In each clock every block finds the nearest centres of its rows; the sums of the clusters
 * are added up over all blocks in canonical order, so that every block computes the same new centres. Each block writes its
 * share of the state "centres".
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/kmeans/block.h"
#include "algorithms/kmeans/given.h"
#include "algorithms/kmeans/model.h"
#include "algorithms/kmeans/units.h"
#include "algorithms/learner/learner.h"
#include "algorithms/list.h"
#include "hawser/advanced.h"
#include "hawser/kept_points.h"

/* ---- the program ---- */

/* Keeps the centres of the least error on validation data. They are the result of the start. */
static bool start_ended(hawser_progress *progress, void *user)
{
    const hw_kmeans *kmeans = user;
    bool ended = hawser_progress_metric(progress, "ended") > 0.0;
    if (kmeans->early.patience > 0 && hawser_progress_metric(progress, "kept") > 0.0)
        hawser_progress_keep(progress, 0);
    if (kmeans->early.patience > 0 && ended)
        hawser_progress_return(progress, 0);
    return ended;
}

/* Keeps the metrics of a start that has ended. They are those of a run that ends early, until the next start has kept
 * centres of its own. */
static bool keep_start(hawser_progress *progress, void *user)
{
    const hw_kmeans *kmeans = user;
    if (kmeans->early.patience > 0 && hawser_progress_metric(progress, "ended") > 0.0)
        hawser_progress_keep(progress, 0);
    return false;
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
    if (kmeans->early.patience > 0)
        hawser_metric_declare(p, "kept", HAWSER_LAST);
    hawser_scratch_size(p, sizeof(hw_kmeans_block), hw_kmeans_block_release);
    hawser_scratch_record(p, hw_kmeans_block_visit);
    const uint64_t rows = kmeans->X->rows / kmeans->blocks + 1;
    hawser_scratch_expect(p, hw_kmeans_block_bytes(kmeans, rows), kmeans->held);
    hawser_record_expect(p, hw_kmeans_record_bytes(kmeans, rows), kmeans->blocks * hw_kmeans_record_bytes(kmeans, rows), 0);
}

/* Builds the program. If `trains` is false, it only measures kmeans->given. */
static hawser_program *build(hw_kmeans *kmeans, bool trains)
{
    hawser_program *p = hawser_program_new("kmeans", kmeans);
    size_t k = kmeans->clusters, count = k * kmeans->X->cols, reduced = kmeans->reduced;
    declare(p, kmeans);
    hawser_operator *root = hawser_root(p);
    hawser_state *X = HAWSER_STATE(p, "X", HAWSER_DATA, .matrix = kmeans->X, .split = HAWSER_BY_ROW);
    hawser_state *best = HAWSER_STATE(p, "best", HAWSER_PARTITIONED, .rows = count);
    hawser_state *sizes = HAWSER_STATE(p, "sizes", HAWSER_PARTITIONED, .rows = k);
    if (!trains) {
        hawser_operator *measure =
            HAWSER_UNIT(root, "measure", hw_kmeans_measure, .reads = {X}, .updates = {best, sizes}, .reduces = reduced);
        hawser_reduces_expect(measure, reduced, 2 * reduced);
        return p;
    }
    hawser_state *centres =
        HAWSER_STATE(p, "centres", HAWSER_PARTITIONED, .rows = count, .keep = kmeans->early.patience > 0);
    hawser_operator *units[4];
    units[0] = HAWSER_UNIT(root, "prepare", hw_kmeans_prepare, .reads = {X}, .reduces = reduced);
    hawser_operator *starts =
        HAWSER_LOOP(root, "starts", hawser_bsp(), .clocks = kmeans->starts, .test = keep_start, .user = kmeans);
    units[1] = HAWSER_UNIT(starts, "begin", hw_kmeans_begin, .reads = {X}, .updates = {centres}, .reduces = reduced);
    hawser_operator *loop = HAWSER_LOOP(starts, "iterations", hawser_bsp(), .test = start_ended, .user = kmeans);
    units[2] = HAWSER_UNIT(loop, "step", kmeans->batch > 0 ? hw_kmeans_batch_step : hw_kmeans_step, .reads = {X},
                           .updates = {centres}, .reduces = reduced);
    units[3] =
        HAWSER_UNIT(starts, "finish", hw_kmeans_finish, .reads = {X, centres}, .updates = {best, sizes}, .reduces = reduced);
    for (size_t u = 0; u < 4; u++)
        hawser_reduces_expect(units[u], reduced, 2 * reduced);
    return p;
}

static hawser_program *build_training(void *own, const hawser_job *job)
{
    (void)job;
    return build(own, true);
}

/* ---- the training ---- */

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
    const double *sizes, *centres;
    HAWSER_TRY(hawser_result(from, "sizes", &sizes, NULL, error));
    HAWSER_TRY(hawser_result(from, "best", &centres, NULL, error));
    double smallest = INFINITY, largest = 0.0, validation = NAN;
    hw_kmeans_result result = {.centres = centres,
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
    const double *centres;
    HAWSER_TRY(hawser_result(ended, "centres", &centres, &count, error));
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

static hawser_status run(void *own, hawser_job *job, const hawser_training_input *input, hawser_training *training,
                         hawser_error *error)
{
    hw_kmeans *kmeans = own;
    hawser_run *after = NULL;
    hawser_program *program = build(kmeans, true);
    hawser_observe(job, input->observer, input->observer_user);
    hawser_status status = hawser_run_program(job, program, &training->run, error);
    hawser_program_free(program);
    bool early = status == HAWSER_STOP;
    if (status != HAWSER_OK && !early)
        return status;
    bool finished = !isnan(hawser_result_metric(training->run, "best_inertia"));
    if (!finished && (status = measure(kmeans, job, training->run, &after, error)) != HAWSER_OK) {
        hawser_run_free(after);
        return status;
    }
    training->interrupted = early && strcmp(hawser_run_figures(training->run)->stop_reason, "signal") == 0;
    status =
        hawser_job_leads(job) ? fill(kmeans, input, finished ? training->run : after, early, training, error) : HAWSER_OK;
    status = hawser_job_agree(job, status, error);
    hawser_run_free(after);
    return status;
}

static const hw_learner learner = {
    .size = sizeof(hw_kmeans), .read = hw_kmeans_read, .release = hw_kmeans_release, .build = build_training, .run = run};

const hawser_algorithm *hw_kmeans_algorithm(void)
{
    static const char citations[] =
        "S. Lloyd: Least squares quantization in PCM. IEEE Trans. Information Theory 28, 1982\n"
        "Y. Ding, Y. Zhao, X. Shen, M. Musuvathi, T. Mytkowicz: Yinyang K-Means. ICML 2015\n"
        "D. Arthur, S. Vassilvitskii: k-means++. SODA 2007\n"
        "B. Bahmani, B. Moseley, A. Vattani, R. Kumar, S. Vassilvitskii: Scalable K-Means++. VLDB 2012\n"
        "D. Sculley: Web-Scale K-Means Clustering. WWW 2010 (mini-batches)";
    static const hawser_head heads[] = {{.name = "prediction", .compute = hw_kmeans_predict},
                                        {.name = "distances", .width = hw_kmeans_count, .compute = hw_kmeans_distances},
                                        {.name = "scores", .width = hw_kmeans_score_count, .compute = hw_kmeans_scores},
                                        {0}};
    static const hawser_algorithm algorithm = {.name = "kmeans",
                                               .summary = "clusters rows around centres (k-means)",
                                               .citations = citations,
                                               .rows = hw_kmeans_rows,
                                               .starts = HW_KMEANS_START,
                                               .metrics = hw_kmeans_metrics,
                                               HW_LEARNER_ALGORITHM(learner),
                                               .no_target = true,
                                               .heads = heads,
                                               .evaluate = hw_kmeans_evaluate,
                                               .measures = hw_kmeans_measures,
                                               .coefficients = hw_kmeans_print};
    return &algorithm;
}
