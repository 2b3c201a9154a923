/* poisson.c - Poisson regression with a log link and an L1, elastic-net or squared penalty, by Newton's method. */
#include "algorithms/glm/coefficients.h"
#include "algorithms/glm/train.h"
#include "algorithms/list.h"
#include "algorithms/measures/counts.h"
#include "algorithms/newton/block.h"
#include "algorithms/newton/program.h"
#include "algorithms/poisson/parts.h"

static void visit(hawser_record *record, hawser_context *context)
{
    (void)hw_newton_visit(record, context);
}

static void add_work(const hw_linear_frame *frame)
{
    const hw_linear *linear = frame->driver->linear;
    hw_linear_needs needs = hw_newton_needs(linear);
    needs.node_rows += 1.0; /* logs of the target */
    hw_linear_expect(frame->program, linear, &needs);
    hw_newton_work(frame);
}

static const hw_linear_units units = {.kind = &hw_poisson_kind,
                                      .scratch = sizeof(hw_newton_block),
                                      .release = hw_newton_block_release,
                                      .visit = visit,
                                      .declare = hw_newton_declare,
                                      .prepare = hw_newton_prepare,
                                      .measure = hw_newton_measure,
                                      .bound = hw_newton_bound,
                                      .choose = hw_newton_choose,
                                      .intercepts = hw_newton_intercepts,
                                      .work = add_work};

const hawser_algorithm *hw_poisson_algorithm(void)
{
    static const char citations[] =
        "J. Friedman, T. Hastie, R. Tibshirani: Regularization Paths by Coordinate Descent. J. Stat. Softw. 33(1), 2010\n"
        "G.-X. Yuan, C.-H. Ho, C.-J. Lin: An Improved GLMNET for L1-regularized Logistic Regression. JMLR 13, 2012\n"
        "M. Massias, S. Vaiter, A. Gramfort, J. Salmon: Dual Extrapolation for Sparse GLMs. JMLR 21(234), 2020 (working "
        "sets)\n"
        "C. Dantas, E. Soubies, C. Fevotte: Safe Screening for Sparse Regression with the Kullback-Leibler Divergence. "
        "2021\n"
        "V. Smith, S. Forte, C. Ma, M. Takac, M. Jordan, M. Jaggi: CoCoA. JMLR 18(230), 2018";
    static const hawser_head heads[] = {
        {.name = "prediction", .compute = hw_poisson_predict}, {.name = "link", .compute = hw_linear_margins}, {0}};
    static const hawser_algorithm algorithm = {.name = "poisson",
                                               .summary = "Poisson regression of counts (log link), with the same penalties",
                                               .citations = citations,
                                               .rows = hw_poisson_options,
                                               .metrics = hw_poisson_metrics,
                                               .topics = hw_poisson_topics,
                                               HW_LINEAR_ALGORITHM(units),
                                               .heads = heads,
                                               .log_link = true,
                                               .evaluate = hw_poisson_evaluate,
                                               .measures = hw_count_measures};
    return &algorithm;
}
