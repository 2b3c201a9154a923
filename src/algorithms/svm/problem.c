#include "algorithms/svm/problem.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/model/given.h"

static hawser_status check_options(const hw_svm *svm, const hawser_training_input *input, hawser_sync sync,
                                   hawser_error *error)
{
    static const char *const exchange[] = {"exchange-every", "filter", "quota", "max-held-clocks", "encoding", "merge"};
    static const char *const margins[] = {"offset", "exposure"};
    const hawser_options *options = input->options;
    if (input->init != NULL)
        return hawser_fail(
            error, HAWSER_BAD_OPTION,
            "--init: a support vector machine starts from numbers of its rows, which a model has not; leave it "
            "out");
    if (sync.tightness != HAWSER_BSP && svm->blocks > 1)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--sync %s: workers of a support vector machine add up what they have changed in each iteration, "
                           "which only bsp does",
                           hawser_options_text(options, "sync"));
    for (size_t k = 0; k < sizeof exchange / sizeof *exchange; k++)
        if (hw_option_given(options, exchange[k]) && svm->blocks > 1)
            return hawser_fail(error, HAWSER_BAD_OPTION,
                               "--%s: workers of a support vector machine exchange exact sums, which this option does not "
                               "apply to; leave it out",
                               exchange[k]);
    for (size_t k = 0; k < 2; k++)
        if (hw_option_given(options, margins[k]) && strcmp(hawser_options_text(options, margins[k]), "none") != 0)
            return hawser_fail(error, HAWSER_BAD_OPTION, "--%s: a support vector machine takes none; leave it out",
                               margins[k]);
    if (hw_option_given(options, "epsilon") && !svm->regression)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--epsilon does nothing here: it is about --loss epsilon and --loss squared-epsilon");
    return HAWSER_OK;
}

/* Chooses the solver, and limits the number of blocks. A block of at most twice as many rows as columns solves the dual sooner. The dual takes more
 * iterations with more blocks. */
static void choose(hw_svm *svm, hawser_job *job, const char *solver)
{
    bool wide = svm->X->rows / 2 <= svm->X->cols, dual = strcmp(solver, "dual") == 0;
    svm->primal = !dual && (strcmp(solver, "primal") == 0 || !wide);
    hawser_job_fit(job, svm->X->stored * (svm->primal ? 4 : 1), svm->primal ? 1 << 20 : 1 << 28);
    svm->blocks = hawser_job_workers(job);
    svm->primal = svm->primal || (!dual && svm->blocks > 1);
}

hawser_status hw_svm_new(hw_svm *svm, hawser_job *job, const hawser_training_input *input, hawser_error *error)
{
    const hawser_options *options = input->options;
    const char *loss = hawser_options_text(options, "loss"), *solver = hawser_options_text(options, "solver");
    *svm = (hw_svm){.X = hawser_dataset_matrix(input->data), .data = input->data, .seed = hawser_job_seed(job)};
    svm->squared = strncmp(loss, "squared-", 8) == 0;
    svm->regression = strstr(loss, "epsilon") != NULL;
    svm->C = hawser_options_number(options, "C");
    svm->epsilon = svm->regression ? hawser_options_number(options, "epsilon") : 0.0;
    svm->intercept = hawser_options_flag(options, "intercept");
    svm->tolerance = hawser_options_number(options, "tol");
    svm->iterations = (uint64_t)hawser_options_integer(options, "max-iterations");
    svm->problems = 1;
    if (hawser_dataset_outputs(input->data) == 0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the input has no target; name its column with --target");
    if (svm->X->cols == 0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the data have no columns to predict the target from");
    choose(svm, job, solver);
    return check_options(svm, input, hawser_job_sync(job), error);
}

void hw_svm_free(hw_svm *svm)
{
    free(svm->labels);
    svm->labels = NULL;
}

/* ---- the classes ---- */

/* Returns the least target above `last`, or INFINITY. */
static double next_label(const double *target, size_t rows, double last)
{
    double next = INFINITY;
    for (size_t i = 0; i < rows; i++)
        if (target[i] > last && target[i] < next)
            next = target[i];
    return next;
}

/* Writes the labels into the state "labels": their number, then as many. One more than the most stands for more. */
static hawser_status find_labels(hawser_context *context)
{
    const hw_svm *svm = hawser_user(context);
    const hawser_matrix *X = hawser_data_view(context, "X");
    hawser_beside beside;
    hawser_error error = {0};
    size_t count = 0, first = 0;
    double labels[HW_SVM_CLASSES + 2] = {0}, last = -INFINITY;
    if (hawser_dataset_beside(svm->data, X->first, X->rows, &beside, &error) != HAWSER_OK)
        return hawser_unit_fail(context, error.status, "%s", error.text);
    while (count <= HW_SVM_CLASSES) {
        double next = next_label(beside.target, X->rows, last);
        HAWSER_TRY(hawser_allreduce(context, &next, 1, HAWSER_MIN));
        if (isinf(next))
            break;
        labels[++count] = last = next;
    }
    labels[0] = (double)count;
    size_t share = hawser_part(context, "labels", &first);
    if (share > 0)
        memcpy(hawser_local(context, "labels"), labels + first, share * sizeof *labels);
    return hawser_report(context, "classes", (double)count);
}

static hawser_status take_labels(hw_svm *svm, const double *labels, hawser_error *error)
{
    size_t count = (size_t)labels[0];
    if (count > HW_SVM_CLASSES)
        return hawser_fail(
            error, HAWSER_BAD_INPUT,
            "the target has more than %d different labels: classifiers have at most as many classes; for numbers "
            "to be predicted give --loss epsilon or --loss squared-epsilon",
            HW_SVM_CLASSES);
    if (count < 2)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "all examples have the label %g: a classifier needs two (--target says where labels are)",
                           labels[1]);
    svm->labels = calloc(count, sizeof *svm->labels);
    if (svm->labels == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu labels", count);
    memcpy(svm->labels, labels + 1, count * sizeof *labels);
    svm->classes = count;
    svm->problems = count == 2 ? 1 : count;
    return HAWSER_OK;
}

static hawser_status run_labels(hw_svm *svm, hawser_job *job, double *labels, hawser_error *error)
{
    hawser_program *p = hawser_program_new("labels", svm);
    hawser_metric_declare(p, "classes", HAWSER_LAST);
    hawser_state *X = hawser_data_state(p, "X", svm->X, HAWSER_BY_ROW);
    hawser_state *out = hawser_partitioned_state(p, "labels", HW_SVM_CLASSES + 2, NULL, NULL);
    hawser_reduces(hawser_unit(hawser_root(p), "find", find_labels, HAWSER_READS(X), HAWSER_UPDATES(out)), 1);
    hawser_run *run = NULL;
    hawser_observe(job, NULL, NULL);
    hawser_status status = hawser_run_program(job, p, &run, error);
    hawser_program_free(p);
    if (status == HAWSER_OK)
        memcpy(labels, hawser_result(run, "labels", NULL), (HW_SVM_CLASSES + 2) * sizeof *labels);
    hawser_run_free(run);
    return status;
}

hawser_status hw_svm_classify(hw_svm *svm, hawser_job *job, hawser_error *error)
{
    double labels[HW_SVM_CLASSES + 2] = {0};
    const double *target = hawser_dataset_target(svm->data);
    size_t count = 0;
    const char *const *words = hawser_schema_target(hawser_dataset_schema(svm->data), &count);
    if (svm->regression && words != NULL && count > 0)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "the target has words ('%.60s'), and regression needs numbers; give --loss hinge or --loss "
                           "squared-hinge (--target says where the target is)",
                           words[0]);
    if (svm->regression)
        return HAWSER_OK;
    if (hawser_job_nodes(job) > 1) {
        HAWSER_TRY(run_labels(svm, job, labels, error));
        return take_labels(svm, labels, error);
    }
    double last = -INFINITY;
    count = 0;
    while (count <= HW_SVM_CLASSES && !isinf(last = next_label(target, svm->X->rows, last)))
        labels[++count] = last;
    labels[0] = (double)count;
    return take_labels(svm, labels, error);
}
