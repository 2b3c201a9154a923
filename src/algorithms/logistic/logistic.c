/* logistic.c - logistic regression with an L1, elastic-net or squared penalty: by Newton's method, or by steps over a
 * parameter server. */
#include "algorithms/glm/coefficients.h"
#include "algorithms/glm/train.h"
#include "algorithms/list.h"
#include "algorithms/logistic/block.h"
#include "algorithms/logistic/by_row.h"
#include "algorithms/logistic/delayed.h"
#include "algorithms/logistic/parts.h"
#include "algorithms/logistic/steps.h"
#include "algorithms/measures/classes.h"
#include "algorithms/newton/program.h"

static void declare(hawser_program *program)
{
    hw_newton_declare(program);
    hw_logistic_delayed_declare(program);
    hw_logistic_steps_declare(program);
}

static void release(void *scratch)
{
    hw_logistic_block *block = scratch;
    hw_logistic_delayed_free(block->delayed);
    hw_logistic_by_row_free(block->by_row);
    hw_logistic_steps_free(block->steps);
    hw_newton_block_release(&block->newton);
    *block = (hw_logistic_block){0};
}

static void visit(hawser_record *record, hawser_context *context)
{
    hw_logistic_block *block = hawser_scratch(context);
    if (!hw_newton_visit(record, context))
        return;
    hw_logistic_delayed_visit(record, &block->newton);
    hw_logistic_by_row_visit(record, context, &block->newton);
    hw_logistic_steps_visit(record, context, &block->newton);
}

static void expect(hawser_program *program, const hw_linear *linear)
{
    const hw_linear_settings *settings = &linear->choices.settings;
    hw_linear_needs needs = hw_newton_needs(linear);
    if (settings->steps) {
        needs.rows += 3.0 + 0.5 * linear->choices.blocks; /* products of blocks that arrive before their turn */
        needs.columns += 4.0;
        needs.entries = settings->batch > 0 && linear->problem.X->layout != HAWSER_DENSE ? 12.0 : 0.0;
    } else if (linear->choices.by_row) {
        needs.rows += 3.0;
        needs.all += 15.0 * sizeof(double);
        needs.entries = linear->problem.X->layout != HAWSER_DENSE ? sizeof(uint32_t) + sizeof(double) : 0.0;
    } else if (settings->stored) {
        needs.rows += 6.0 + (double)settings->groups * (1.0 + 0.25 * linear->choices.blocks); /* and chunks likewise */
        needs.columns += 3.0;
    }
    hw_linear_expect(program, linear, &needs);
}

static void add_work(const hw_linear_frame *frame)
{
    const hw_linear *linear = frame->driver->linear;
    expect(frame->program, linear);
    if (linear->choices.settings.steps)
        hw_logistic_steps_work(frame);
    else if (linear->choices.by_row)
        hw_logistic_by_row_work(frame);
    else if (linear->choices.settings.stored)
        hw_logistic_delayed_work(frame);
    else
        hw_newton_work(frame);
}

static const hw_linear_units units = {.kind = &hw_logistic_kind,
                                      .scratch = sizeof(hw_logistic_block),
                                      .release = release,
                                      .visit = visit,
                                      .declare = declare,
                                      .prepare = hw_newton_prepare,
                                      .measure = hw_newton_measure,
                                      .bound = hw_newton_bound,
                                      .choose = hw_newton_choose,
                                      .intercepts = hw_newton_intercepts,
                                      .work = add_work};

const hawser_algorithm *hw_logistic_algorithm(void)
{
    static const char citations[] =
        "J. Friedman, T. Hastie, R. Tibshirani: Regularization Paths by Coordinate Descent. J. Stat. Softw. 33(1), 2010\n"
        "G.-X. Yuan, C.-H. Ho, C.-J. Lin: An Improved GLMNET for L1-regularized Logistic Regression. JMLR 13, 2012\n"
        "M. Massias, S. Vaiter, A. Gramfort, J. Salmon: Dual Extrapolation for Sparse GLMs. JMLR 21(234), 2020 (working "
        "sets)\n"
        "V. Smith, S. Forte, C. Ma, M. Takac, M. Jordan, M. Jaggi: CoCoA. JMLR 18(230), 2018\n"
        "E. Ndiaye, O. Fercoq, A. Gramfort, J. Salmon: Gap Safe Screening Rules. JMLR 18(128), 2017\n"
        "T. Alt: Adaptive Consistency Management for Distributed Machine Learning. 2017 (states, units, yields)";
    static const hawser_head heads[] = {{.name = "prediction", .compute = hw_logistic_predict},
                                        {.name = "link", .compute = hw_linear_margins},
                                        {.name = "label", .compute = hw_logistic_label, .labels = true},
                                        {0}};
    static const hawser_algorithm algorithm = {.name = "logistic",
                                               .summary = "logistic regression with an L1, elastic-net or squared penalty",
                                               .citations = citations,
                                               .rows = hw_logistic_options,
                                               .metrics = hw_logistic_metrics,
                                               .topics = hw_logistic_topics,
                                               HW_LINEAR_ALGORITHM(units),
                                               .heads = heads,
                                               .evaluate = hw_logistic_evaluate,
                                               .measures = hw_class_measures};
    return &algorithm;
}
