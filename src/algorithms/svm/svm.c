/*
 * svm.c - linear support vector machines by rows, for classes and for regression.
 *
 * Rows are split over the blocks. From the dual, every block improves the dual variables of its rows in each clock, or, jointly, those of its
 * problems. From the primal, each clock is a step of Newton's method; so it is from the clock on in which `auto` turns from the dual to the primal. Sums over the blocks are in canonical order, so that every block has the
 * same coefficients. Each block writes its share of the state "models".
 */
#include <stdio.h>
#include <string.h>

#include "algorithms/glm/member.h"
#include "algorithms/glm/metrics.h"
#include "algorithms/list.h"
#include "algorithms/model/classed.h"
#include "algorithms/svm/block.h"
#include "algorithms/svm/finish.h"
#include "algorithms/svm/joint.h"
#include "algorithms/svm/members.h"
#include "algorithms/svm/model.h"
#include "algorithms/svm/options.h"
#include "algorithms/svm/primal.h"
#include "algorithms/svm/units.h"

static hawser_operator *reducing(hawser_operator *unit, const hw_svm *svm)
{
    hawser_reduces(unit, hw_svm_reduces(svm));
    hawser_reduces_expect(unit, hw_svm_reduces(svm), 2 * hw_svm_reduces(svm));
    return unit;
}

/* Adds to the plan the memory that the blocks take besides states and data. */
static void expect(hawser_program *p, const hw_svm *svm, uint32_t nodes)
{
    uint64_t rows = svm->X->rows / svm->blocks + 1, own = hw_svm_block_bytes(svm, svm->primal, rows), node = 0;
    uint64_t turned = svm->may_turn ? hw_svm_block_bytes(svm, true, rows) : 0, block = turned > own ? turned : own;
    if (svm->joint)
        node =
            hw_svm_joint_copies(svm, nodes) * (hw_svm_joint_bytes(svm) + hw_svm_block_bytes(svm, false, svm->X->rows) - own);
    hawser_scratch_expect(p, block, node + svm->held);
}

/* An iteration of the dual or of the primal, and the turn from the one to the other. */
static hawser_status iterate(hawser_context *context)
{
    hw_svm_block *b;
    HAWSER_TRY(hw_svm_block_open(context, &b));
    HAWSER_TRY(hw_svm_next_member(context, b));
    HAWSER_TRY(b->newton ? hw_svm_primal_step(context, b) : hw_svm_step(context, b));
    if (b->svm->may_turn && !b->newton && hw_svm_is_slow(b)) {
        HAWSER_TRY(hw_svm_block_turn(context, b));
        HAWSER_TRY(hw_svm_primal_begin(context, b));
    }
    return hw_svm_report(context, b);
}

static void visit(hawser_record *record, hawser_context *context)
{
    hw_svm_block_visit(record, context);
    hw_svm_copy_visit(record, context);
}

static hawser_program *build(hw_svm *svm, const hawser_job *job)
{
    static const char *const metrics[] = {"objective", "gap",        "rounding", "C",    "fold",
                                          "fits_left", "iterations", "turned",   "ended"};
    hawser_program *p = hawser_program_new("svm", svm);
    for (size_t k = 0; k < sizeof metrics / sizeof *metrics; k++)
        hawser_metric_declare(p, metrics[k], HAWSER_LAST);
    const char *const validation[] = {hw_svm_validation_name(svm), "evaluations"};
    for (size_t k = 0; svm->path.early.validated && k < sizeof validation / sizeof *validation; k++)
        hawser_metric_declare(p, validation[k], HAWSER_LAST);
    hawser_scratch_size(p, sizeof(hw_svm_block), hw_svm_block_release);
    hawser_scratch_record(p, visit);
    expect(p, svm, hawser_job_nodes(job));
    hawser_operator *root = hawser_root(p);
    hawser_state *X = hawser_data_state(p, "X", svm->X, HAWSER_BY_ROW);
    hawser_state *models = hawser_partitioned_state(p, "models", svm->problems * (svm->X->cols + 1), NULL, NULL);
    hawser_state *table, *path;
    hw_row_path_states(p, &svm->path, &table, &path);
    reducing(hawser_unit(root, "prepare", svm->primal ? hw_svm_primal_prepare : hw_svm_prepare, HAWSER_READS(X), NULL), svm);
    hawser_operator *loop = hawser_loop(root, "iterations", (hawser_until){.test = hw_row_has_ended}, hawser_bsp());
    reducing(
        hawser_unit(loop, svm->primal ? "newton" : "dual", iterate, HAWSER_READS(X), HAWSER_UPDATES(models, table, path)),
        svm);
    return p;
}

static hawser_status plan(const hawser_algorithm *algorithm, hawser_job *job, const hawser_training_input *input,
                          hawser_plan_format format, FILE *out, hawser_error *error)
{
    (void)algorithm;
    hw_svm svm;
    hawser_status status = hw_svm_new(&svm, job, input, error);
    if (status == HAWSER_OK)
        status = hw_svm_classify(&svm, job, input, error);
    if (status == HAWSER_OK) {
        hawser_program *program = build(&svm, job);
        status = hawser_plan_print(job, program, format, out, error);
        hawser_program_free(program);
    }
    hw_svm_free(&svm);
    return status;
}

static hawser_status run(hw_svm *svm, hawser_job *job, const hawser_training_input *input, hawser_training *training,
                         hawser_error *error)
{
    HAWSER_TRY(hw_row_run(build(svm, job), job, input, training, error));
    hawser_status status = hawser_job_leads(job) ? hw_svm_finish(svm, input, training, error) : HAWSER_OK;
    return hawser_job_agree(job, status, error);
}

static hawser_status train(const hawser_algorithm *algorithm, hawser_job *job, const hawser_training_input *input,
                           hawser_training *training, hawser_error *error)
{
    (void)algorithm;
    hw_svm svm;
    memset(training, 0, sizeof *training);
    hawser_status status = hw_svm_new(&svm, job, input, error);
    if (status == HAWSER_OK)
        status = hw_svm_classify(&svm, job, input, error);
    if (status == HAWSER_OK)
        status = run(&svm, job, input, training, error);
    hw_svm_free(&svm);
    return status;
}

const hawser_algorithm *hw_svm_algorithm(void)
{
    static const char citations[] =
        "C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi, S. Sundararajan: A Dual Coordinate Descent Method for "
        "Large-scale Linear SVM. ICML 2008\n"
        "C.-H. Ho, C.-J. Lin: Large-scale Linear Support Vector Regression. JMLR 13, 2012\n"
        "S. S. Keerthi, D. DeCoste: A Modified Finite Newton Method for Fast Solution of Large Scale Linear SVMs. JMLR 6, "
        "2005\n"
        "Y. Yan, Q. Li: An Efficient Augmented Lagrangian Method for Support Vector Machine. Optimization Methods and "
        "Software 35, 2020\n"
        "C. Ma, V. Smith, M. Jaggi, M. I. Jordan, P. Richtarik, M. Takac: Adding vs. Averaging in Distributed Primal-Dual "
        "Optimization. ICML 2015";
    static const hawser_algorithm algorithm = {.name = "svm",
                                               .summary = "linear support vector machines, for classes or regression",
                                               .citations = citations,
                                               .rows = hw_svm_rows,
                                               .metrics = hw_svm_metrics,
                                               .split = HAWSER_BY_ROW,
                                               .no_offset = true,
                                               .train = train,
                                               .init_use = hw_linear_init_use,
                                               .starts = HW_CLASSED_STARTS,
                                               .plan = plan,
                                               .predict = hw_svm_predict,
                                               .predicts_labels = true,
                                               .link = hw_svm_link,
                                               .link_count = hw_svm_links,
                                               .class_label = hw_svm_class,
                                               .label = hw_svm_label,
                                               .evaluate = hw_svm_evaluate,
                                               .measures = hw_svm_measures,
                                               .coefficients = hw_svm_print,
                                               .path = hw_svm_path,
                                               .choose = hw_linear_choose_classed,
                                               .member_rows = hw_linear_member_rows};
    return &algorithm;
}
