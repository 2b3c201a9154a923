/*
 * svm.c - linear support vector machines by rows, for classes and for regression.
 *
 * Rows are split over the blocks. From the dual, every block improves the dual variables of its rows in each clock, or,
 * jointly, those of its problems. From the primal, each clock is a step of Newton's method; so it is from the clock on in
 * which `auto` turns from the dual to the primal. Sums over the blocks are in canonical order, so that every block has the
 * same coefficients. The frame of its trainings is learner/method.h.
 */
#include "algorithms/choice/member.h"
#include "algorithms/learner/learner.h"
#include "algorithms/list.h"
#include "algorithms/model/facts.h"
#include "algorithms/svm/joint.h"
#include "algorithms/svm/members.h"
#include "algorithms/svm/model.h"
#include "algorithms/svm/primal.h"
#include "algorithms/svm/units.h"

/* Returns the memory that blocks take besides states and data. */
static hw_member_needs needs(const void *own, uint32_t nodes)
{
    const hw_svm *svm = own;
    uint64_t rows = svm->path.X->rows / svm->path.blocks + 1, block = hw_svm_block_bytes(svm, svm->primal, rows), node = 0;
    uint64_t turned = svm->may_turn ? hw_svm_block_bytes(svm, true, rows) : 0;
    const uint64_t alone = hw_svm_record_bytes(svm, rows),
                   record = svm->joint ? hw_svm_record_bytes(svm, svm->path.X->rows) + hw_svm_joint_bytes(svm) : alone;
    const uint64_t keepers = hw_svm_joint_copies(svm, 1);
    if (svm->joint)
        node = hw_svm_joint_copies(svm, nodes) *
               (hw_svm_joint_bytes(svm) + hw_svm_block_bytes(svm, false, svm->path.X->rows) - block);
    return (hw_member_needs){.reduces = hw_svm_reduces(svm),
                             .numbers = hw_svm_reduces(svm),
                             .clock = 2 * hw_svm_reduces(svm),
                             .block = turned > block ? turned : block,
                             .record = record,
                             .records = svm->joint ? keepers * record + (svm->path.blocks - keepers) * alone : 0,
                             .node = node + svm->path.held};
}

static hawser_status prepare(hawser_context *context, void *block, bool *changed)
{
    hw_svm_block *b = block;
    *changed = false;
    if (b->newton && b->svm->path.given != NULL)
        hw_svm_primal_start(b, b->svm->path.given);
    if (b->svm->joint)
        HAWSER_TRY(hw_svm_gather(context, b));
    return b->newton ? hw_svm_primal_begin(context, b) : hw_svm_dual_begin(context, b);
}

/* An iteration of the dual or of the primal, and the turn from the one to the other. */
static hawser_status step(hawser_context *context, void *block, hw_member_step *did)
{
    hw_svm_block *b = block;
    did->changed = true;
    HAWSER_TRY(b->newton ? hw_svm_primal_step(context, b) : hw_svm_dual_step(context, b, &did->changed));
    if (b->svm->may_turn && !b->newton && (hw_svm_keeps_moving(b) || hw_svm_is_slow(b))) {
        HAWSER_TRY(hw_svm_block_turn(context, b));
        HAWSER_TRY(hw_svm_primal_begin(context, b));
        did->changed = true;
    }
    did->done = did->stuck = true;
    for (size_t p = 0; p < b->svm->path.outputs; p++) {
        did->done = did->done && b->memory[p].done;
        did->stuck = did->stuck && (b->memory[p].done || b->memory[p].stuck);
    }
    return HAWSER_OK;
}

/* The metric "turned": why the dual was left for the primal. Its row in options.c explains these numbers. */
enum { STAYS = 0, SLOW, TRIED };

static const char *const reported[] = {"turned", NULL};

static hawser_status report(hawser_context *context, const void *block)
{
    const hw_svm_block *b = block;
    bool turned = b->newton && !b->svm->primal;
    return hawser_report(context, "turned", turned && b->svm->tries ? TRIED : turned ? SLOW : STAYS);
}

static void note(const void *own, hawser_training *training)
{
    const hw_svm *svm = own;
    if (svm->moved)
        hw_note(training, "columns are far from zero, where the dual loses digits, so the primal was solved instead");
    double turned = hawser_result_metric(training->run, "turned");
    hawser_fact *fact = training->facts;
    while (fact->name != NULL)
        fact++;
    *fact = (hawser_fact){"turned", turned};
    if (turned == SLOW)
        hw_note(training, "the dual came closer too slowly, so --solver auto went on with the primal from its model; "
                          "--solver primal solves it from the start");
}

static void visit(hawser_record *record, hawser_context *context, void *block)
{
    hw_svm_block_visit(record, context, block);
    hw_svm_copy_visit(record, context, block);
}

static const struct hw_member_method method = {.name = "svm",
                                               .parameter = "C",
                                               .metrics = reported,
                                               .block = sizeof(hw_svm_block),
                                               .needs = needs,
                                               .make = hw_svm_block_make,
                                               .drop = hw_svm_block_drop,
                                               .visit = visit,
                                               .prepare = prepare,
                                               .begin = hw_svm_begin,
                                               .step = step,
                                               .look = hw_svm_fields,
                                               .model = hw_svm_model,
                                               .held_out = hw_svm_held_out,
                                               .report = report,
                                               .measure = hw_svm_error,
                                               .note = note};

static const hw_learner learner = {.size = sizeof(hw_svm), .read = hw_svm_read, .members = &method};

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
    static const hawser_head heads[] = {
        {.name = "prediction", .compute = hw_svm_predict, .labels = true},
        {.name = "label", .compute = hw_svm_label, .labels = true},
        {.name = "link", .width = hw_classed_outputs, .label = hw_classed_label, .compute = hw_svm_link},
        {0}};
    static const hawser_algorithm algorithm = {.name = "svm",
                                               .summary = "linear support vector machines, for classes or regression",
                                               .citations = citations,
                                               .rows = hw_svm_rows,
                                               .metrics = hw_svm_metrics,
                                               HW_LEARNER_ALGORITHM(learner),
                                               HW_CHOICE_CLASSED,
                                               .heads = heads,
                                               .evaluate = hw_svm_evaluate,
                                               .measures = hw_svm_measures,
                                               .coefficients = hw_svm_print,
                                               .path = hw_svm_path};
    return &algorithm;
}
