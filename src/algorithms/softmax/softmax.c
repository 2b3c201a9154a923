/*
 * softmax.c - softmax regression (multinomial logistic regression) by rows, with an L1, elastic-net or squared penalty: by
 * Newton's method.
 *
 * Rows are split over the blocks. Gradients and products with the second derivative are added up over all blocks in
 * canonical order, so that every block computes the same step. The frame of its trainings is learner/method.h.
 */
#include "algorithms/choice/member.h"
#include "algorithms/learner/learner.h"
#include "algorithms/list.h"
#include "algorithms/measures/classes.h"
#include "algorithms/softmax/model.h"
#include "algorithms/softmax/path.h"
#include "algorithms/softmax/units.h"

static hw_member_needs needs(const void *own, uint32_t nodes)
{
    const hw_softmax *softmax = own;
    (void)nodes;
    return (hw_member_needs){.reduces = softmax->path.width + 2,
                             .numbers = softmax->path.width + 2,
                             .clock = 20 * softmax->path.width,
                             .block = hw_softmax_block_bytes(softmax, softmax->path.X->rows / softmax->path.blocks + 1),
                             .node = softmax->path.held,
                             .record = hw_softmax_record_bytes(softmax)};
}

static const struct hw_member_method method = {.name = "softmax",
                                               .parameter = "lambda",
                                               .metrics = hw_softmax_reported,
                                               .penalised = true,
                                               .accuracy = "validation_accuracy",
                                               .block = sizeof(hw_softmax_block),
                                               .needs = needs,
                                               .make = hw_softmax_block_make,
                                               .drop = hw_softmax_block_drop,
                                               .visit = hw_softmax_block_visit,
                                               .prepare = hw_softmax_prepare,
                                               .begin = hw_softmax_begin,
                                               .step = hw_softmax_step,
                                               .look = hw_softmax_fields,
                                               .model = hw_softmax_model,
                                               .held_out = hw_softmax_held_out,
                                               .report = hw_softmax_report,
                                               .measure = hw_softmax_losses};

static const hw_learner learner = {.size = sizeof(hw_softmax), .read = hw_softmax_read, .members = &method};

const hawser_algorithm *hw_softmax_algorithm(void)
{
    static const char citations[] =
        "J. Friedman, T. Hastie, R. Tibshirani: Regularization Paths by Coordinate Descent. J. Stat. Softw. 33(1), 2010\n"
        "C.-J. Lin, R. C. Weng, S. S. Keerthi: Trust Region Newton Method for Logistic Regression. JMLR 9, 2008\n"
        "G. Andrew, J. Gao: Scalable Training of L1-Regularized Log-Linear Models. ICML 2007\n"
        "R. Byrd, G. Chin, J. Nocedal, Y. Wu: Sample Size Selection in Optimization Methods. Math. Program. 134, 2012";
    static const hawser_head heads[] = {
        {.name = "prediction", .compute = hw_softmax_predict, .labels = true},
        {.name = "label", .compute = hw_softmax_predict, .labels = true},
        {.name = "probabilities",
         .width = hw_classed_outputs,
         .label = hw_classed_label,
         .compute = hw_softmax_probabilities},
        {.name = "link", .width = hw_classed_outputs, .label = hw_classed_label, .compute = hw_softmax_link},
        {0}};
    static const hawser_algorithm algorithm = {.name = "softmax",
                                               .summary =
                                                   "softmax (multinomial logistic) regression for two classes or more",
                                               .citations = citations,
                                               .rows = hw_softmax_rows,
                                               .metrics = hw_softmax_metrics,
                                               .topics = hw_softmax_topics,
                                               HW_LEARNER_ALGORITHM(learner),
                                               HW_CHOICE_CLASSED,
                                               .heads = heads,
                                               .evaluate = hw_softmax_evaluate_rows,
                                               .measures = hw_class_measures,
                                               .coefficients = hw_softmax_print,
                                               .path = hw_softmax_path};
    return &algorithm;
}
