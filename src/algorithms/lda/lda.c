/*
 * lda.c - topics of documents (latent Dirichlet allocation) by collapsed Gibbs sampling.
 *
 * Documents stay on their block. The counts of words are a moving state: in each clock of the loop "rotation" a block has
 * two parts of the words, whose tokens in its documents it samples, and then gives them to the next block. So only n_k, the
 * sums over all words, is as old as the sync allows. docs/design/lda.md says more.
 */
#include <stdio.h>
#include <string.h>

#include "algorithms/lda/block.h"
#include "algorithms/lda/coherence.h"
#include "algorithms/lda/options.h"
#include "algorithms/lda/predict.h"
#include "algorithms/lda/result.h"
#include "algorithms/lda/units.h"
#include "algorithms/learner/learner.h"
#include "algorithms/list.h"
#include "hawser/advanced.h"
#include "hawser/kept_points.h"

/* ---- the program ---- */

/* Keeps the model of the least perplexity, which is the result with --early-stopping. */
static bool has_ended(hawser_progress *progress, void *user)
{
    const hw_lda *lda = user;
    bool ended = hawser_progress_metric(progress, "ended") > HW_LDA_GOES_ON;
    if (lda->early.patience > 0 && hawser_progress_metric(progress, "kept") > 0.0)
        hawser_progress_keep(progress, 0);
    if (lda->early.patience > 0 && ended && hawser_progress_has(progress, 0))
        hawser_progress_return(progress, 0);
    return ended;
}

/* Estimates the bytes of the result on node 0, while it is made. */
static uint64_t result_bytes(const hw_lda *lda)
{
    double numbers = (double)lda->offsets[lda->words], tokens = lda->tokens;
    return (uint64_t)(2.0 * 8.0 * (tokens < numbers ? tokens : numbers)) + (lda->words + 1) * 8;
}

static void declare(hawser_program *p, const hw_lda *lda)
{
    static const char *const metrics[] = {"log_likelihood", "iterations", "beta", "ended"};
    static const char *const validation[] = {"perplexity", "evaluations"};
    for (size_t k = 0; k < sizeof metrics / sizeof *metrics; k++)
        hawser_metric_declare(p, metrics[k], HAWSER_LAST);
    for (size_t k = 0; lda->asked != NULL && k < sizeof validation / sizeof *validation; k++)
        hawser_metric_declare(p, validation[k], HAWSER_LAST);
    if (lda->early.patience > 0)
        hawser_metric_declare(p, "kept", HAWSER_LAST);
    hawser_scratch_record(p, hw_lda_block_visit);
    hawser_scratch_size(p, sizeof(hw_lda_block), hw_lda_block_release);
    hawser_scratch_expect(p, hw_lda_block_bytes(lda), lda->held + result_bytes(lda) + (lda->words + 1) * 24);
    hawser_record_expect(p, 0, 0, 0); /* all that lasts is in states */
}

static hawser_program *build(void *own, const hawser_job *job)
{
    hw_lda *lda = own;
    size_t reduces = hw_lda_reduces(lda);
    bool keep = lda->early.patience > 0;
    hawser_program *p = hawser_program_new("lda", lda);
    declare(p, lda);
    hawser_operator *root = hawser_root(p);
    hawser_state *X = HAWSER_STATE(p, "X", HAWSER_DATA, .matrix = lda->X, .split = HAWSER_BY_ROW);
    hawser_state *z = HAWSER_STATE(p, "z", HAWSER_ENTRIES, .type = HAWSER_I32, .along = X, .by_value = true, .keep = keep);
    hawser_state *n_wk = HAWSER_STATE(p, "n_wk", HAWSER_MOVING, .type = HAWSER_I32, .lines = lda->words,
                                      .offsets = lda->offsets, .parts = lda->parts, .cut = lda->cut, .keep = keep);
    hawser_state *n_k = HAWSER_STATE(p, "n_k", HAWSER_REPLICATED, .type = HAWSER_I64, .rows = lda->topics, .keep = keep);
    hawser_state *prior =
        HAWSER_STATE(p, "prior", HAWSER_PARTITIONED, .rows = lda->topics + 1, .initial = lda->prior, .keep = keep);
    hawser_state *turn = HAWSER_STATE(p, "turn", HAWSER_LOCAL, .type = HAWSER_I64, .rows = 1, .each = true, .keep = keep);
    hawser_operator *start = HAWSER_LOOP(root, "start", hawser_bsp(), .clocks = lda->blocks);
    HAWSER_UNIT(start, "first", hw_lda_first, .reads = {X, prior}, .updates = {z, n_wk, n_k, turn});
    hawser_operator *passes = HAWSER_LOOP(root, "passes", hawser_bsp(), .test = has_ended, .user = lda);
    hawser_operator *units[3];
    units[0] = HAWSER_UNIT(passes, "fit", hw_lda_optimise, .reads = {X, z, n_wk, n_k, turn}, .updates = {prior},
                           .reduces = reduces);
    hawser_operator *rotation = HAWSER_LOOP(passes, "rotation", hawser_job_sync(job), .clocks = lda->rotation * lda->blocks);
    HAWSER_UNIT(rotation, "sample", hw_lda_sample, .reads = {X, prior}, .updates = {z, n_wk, n_k, turn});
    units[1] = HAWSER_UNIT(passes, "measure", hw_lda_measure, .reads = {X, prior, z, n_wk, n_k, turn}, .reduces = reduces);
    units[2] = HAWSER_UNIT(root, "last", hw_lda_measure_last, .reads = {X, prior, z, n_wk, n_k, turn}, .reduces = reduces);
    for (int u = 0; u < 3; u++)
        hawser_reduces_expect(units[u], reduces, 5 * reduces);
    return p;
}

/* ---- the training ---- */

/* Makes the model and its facts, on node 0. */
static hawser_status fill(const hw_lda *lda, const hawser_training_input *input, const hw_topics *topics, double coherence,
                          hawser_training *training, hawser_error *error)
{
    const hawser_run *run = training->run;
    hawser_fact facts[] = {{"log_likelihood", hawser_result_metric(run, "log_likelihood")},
                           {"iterations", hawser_result_metric(run, "iterations")},
                           {"tokens", lda->tokens},
                           {"topics", (double)lda->topics},
                           {"documents", (double)lda->X->rows},
                           {"beta", hawser_result_metric(run, "beta")},
                           {"coherence", coherence},
                           {lda->asked != NULL ? "perplexity" : NULL, hawser_result_metric(run, "perplexity")},
                           {NULL, 0.0}};
    memcpy(training->facts, facts, sizeof facts);
    return hw_lda_model_make(topics, run, input, coherence, &training->model, error);
}

/* Makes the result on node 0. Collective: all nodes count the documents that have the likeliest words. */
static hawser_status finish(const hw_lda *lda, hawser_job *job, const hawser_training_input *input,
                            hawser_training *training, hawser_error *error)
{
    hw_lda_counts counts = {0};
    hw_topics topics = {0};
    const double *prior = NULL;
    double coherence;
    bool leads = hawser_job_leads(job);
    hawser_status status = leads ? hawser_result(training->run, "prior", &prior, NULL, error) : HAWSER_OK;
    if (leads && status == HAWSER_OK)
        status = hw_lda_result(lda, training->run, &counts, error);
    status = hawser_job_agree(job, status, error);
    if (leads && status == HAWSER_OK)
        topics = hw_lda_counts_topics(&counts, lda->topics, prior);
    HAWSER_THEN(status, hw_lda_coherence(job, lda->X, leads ? &topics : NULL, lda->topics, &coherence, error));
    HAWSER_THEN(status,
                hawser_job_agree(job, leads ? fill(lda, input, &topics, coherence, training, error) : HAWSER_OK, error));
    hw_lda_counts_free(&counts);
    return status;
}

static hawser_status run(void *own, hawser_job *job, const hawser_training_input *input, hawser_training *training,
                         hawser_error *error)
{
    const hw_lda *lda = own;
    hawser_program *program = build(own, job);
    hawser_observe(job, input->observer, input->observer_user);
    hawser_status status = hawser_run_program(job, program, &training->run, error);
    hawser_program_free(program);
    bool early = status == HAWSER_STOP;
    if (status != HAWSER_OK && !early)
        return status;
    const char *ended = hawser_result_metric(training->run, "ended") == HW_LDA_EARLY ? "early-stopping" : "iterations";
    const char *reason = hawser_run_figures(training->run)->stop_reason;
    training->interrupted = early && strcmp(reason, "signal") == 0;
    snprintf(training->stop_reason, sizeof training->stop_reason, "%s", early ? reason : ended);
    return finish(lda, job, input, training, error);
}

static const hw_learner learner = {
    .size = sizeof(hw_lda), .read = hw_lda_read, .release = hw_lda_release, .build = build, .run = run};

const hawser_algorithm *hw_lda_algorithm(void)
{
    static const char citations[] =
        "D. Blei, A. Ng, M. Jordan: Latent Dirichlet Allocation. JMLR 3, 2003\n"
        "T. Griffiths, M. Steyvers: Finding scientific topics. PNAS 101, 2004 (collapsed Gibbs sampling)\n"
        "H.-F. Yu et al.: A Scalable Asynchronous Distributed Algorithm for Topic Modeling. WWW 2015 (F+ tree)\n"
        "H. Wallach, D. Mimno, A. McCallum: Rethinking LDA: Why Priors Matter. NIPS 2009\n"
        "E. Xing et al.: Petuum. IEEE Trans. Big Data 1, 2015 (words that rotate over the workers)";
    static const hawser_algorithm algorithm = {.name = "lda",
                                               .summary = "finds topics of documents (latent Dirichlet allocation)",
                                               .citations = citations,
                                               .rows = hw_lda_rows,
                                               .metrics = hw_lda_metrics,
                                               .split = HAWSER_BY_ROW,
                                               .all_columns = true,
                                               .no_offset = true,
                                               .no_target = true,
                                               .no_weights = true,
                                               .counts = true,
                                               .user = &learner,
                                               .train = hw_learner_train,
                                               .plan = hw_learner_plan,
                                               .heads = hw_lda_heads,
                                               .evaluate = hw_lda_evaluate,
                                               .measures = hw_lda_measures,
                                               .coefficients = hw_lda_print,
                                               .topic_words = hw_lda_topic_words};
    return &algorithm;
}
