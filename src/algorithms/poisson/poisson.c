/* poisson.c - Poisson regression with a log link and an L1, elastic-net or squared penalty, by Newton's method. */
#include "algorithms/glm/coefficients.h"
#include "algorithms/glm/member.h"
#include "algorithms/glm/metrics.h"
#include "algorithms/glm/train.h"
#include "algorithms/list.h"
#include "algorithms/measures/counts.h"
#include "algorithms/newton/block.h"
#include "algorithms/newton/memory.h"
#include "algorithms/newton/program.h"
#include "algorithms/poisson/evaluate.h"
#include "algorithms/poisson/kind.h"
#include "algorithms/poisson/options.h"

static void visit(hawser_record *record, hawser_context *context)
{
    (void)hw_newton_visit(record, context);
}

static const hw_linear_units units = {.name = "poisson",
                                      .scratch = sizeof(hw_newton_block),
                                      .release = hw_newton_release,
                                      .visit = visit,
                                      .declare = hw_newton_declare,
                                      .prepare = hw_newton_prepare,
                                      .measure = hw_newton_measure,
                                      .bound = hw_newton_bound,
                                      .choose = hw_newton_choose,
                                      .record = hw_newton_record};

static hawser_program *build(hw_linear_driver *driver)
{
    const hw_linear *linear = driver->linear;
    hw_linear_needs needs = hw_newton_needs(linear);
    hw_linear_frame frame;
    needs.node_rows += 1.0; /* logs of the target */
    hw_linear_frame_begin(&frame, driver, &units);
    hw_linear_expect(frame.program, linear, &needs);
    hw_newton_work(&frame);
    return hw_linear_frame_end(&frame, &units);
}

static hawser_status plan(hawser_job *job, const hawser_training_input *input, bool physical, bool dot, FILE *out,
                          hawser_error *error)
{
    return hw_linear_plan(hw_poisson_kind(), build, job, input, physical, dot, out, error);
}

static hawser_status train(hawser_job *job, const hawser_training_input *input, hawser_training *training,
                           hawser_error *error)
{
    return hw_linear_train(hw_poisson_kind(), &units, build, job, input, training, error);
}

static hawser_status path(const hawser_model *model, hawser_path *path, hawser_error *error)
{
    return hw_linear_path_of(model, "mean deviance", path, error);
}

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
    static const hawser_algorithm algorithm = {.name = "poisson",
                                               .summary = "Poisson regression of counts (log link), with the same penalties",
                                               .citations = citations,
                                               .rows = hw_poisson_options,
                                               .metrics = hw_poisson_metrics,
                                               .topics = hw_poisson_topics,
                                               .init_use = hw_linear_init_use,
                                               .coefficients = hw_linear_print_coefficients,
                                               .path = path,
                                               .choose = hw_linear_choose_member,
                                               .member_rows = hw_linear_member_rows,
                                               .train = train,
                                               .plan = plan,
                                               .predict = hw_poisson_predict,
                                               .link = hw_linear_margins,
                                               .log_link = true,
                                               .evaluate = hw_poisson_evaluate,
                                               .measures = hw_count_measures};
    return &algorithm;
}
