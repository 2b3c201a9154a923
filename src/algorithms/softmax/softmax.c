/*
 * softmax.c - softmax regression (multinomial logistic regression) by rows, with an L1, elastic-net or squared penalty: by Newton's method.
 *
 * Rows are split over the blocks. Gradients and products with the second derivative are added up over all blocks in canonical order, so that every
 * block computes the same step. Each block writes its share of the state "model".
 */
#include <stdio.h>
#include <string.h>

#include "algorithms/glm/member.h"
#include "algorithms/glm/metrics.h"
#include "algorithms/list.h"
#include "algorithms/measures/classes.h"
#include "algorithms/model/classed.h"
#include "algorithms/softmax/block.h"
#include "algorithms/softmax/finish.h"
#include "algorithms/softmax/model.h"
#include "algorithms/softmax/options.h"
#include "algorithms/softmax/path.h"
#include "algorithms/softmax/units.h"
#include "algorithms/softmax/validation.h"

static hawser_operator *reducing(hawser_operator *unit, const hw_softmax *softmax)
{
    size_t folds = softmax->path.choice.folds * softmax->classes, sums = softmax->width + 2;
    hawser_reduces(unit, folds > sums ? folds : sums);
    hawser_reduces_expect(unit, softmax->width + 2, 20 * softmax->width);
    return unit;
}

static hawser_program *build(hw_softmax *softmax)
{
    static const char *const metrics[] = {"objective", "gap",        "rounding",  "zero_objective", "nonzero",
                                          "lambda",    "iterations", "products",  "penalty",        "ended",
                                          "fold",      "fits_left",  "lambda_max"};
    hawser_program *p = hawser_program_new("softmax", softmax);
    for (size_t k = 0; k < sizeof metrics / sizeof *metrics; k++)
        hawser_metric_declare(p, metrics[k], HAWSER_LAST);
    static const char *const validation[] = {"validation_log_loss", "evaluations"};
    for (size_t k = 0; softmax->path.early.validated && k < sizeof validation / sizeof *validation; k++)
        hawser_metric_declare(p, validation[k], HAWSER_LAST);
    hawser_scratch_size(p, sizeof(hw_softmax_block), hw_softmax_block_release);
    hawser_scratch_record(p, hw_softmax_block_visit);
    hawser_scratch_expect(p, hw_softmax_block_bytes(softmax, softmax->X->rows / softmax->blocks + 1), softmax->held);
    hawser_operator *root = hawser_root(p);
    hawser_state *X = hawser_data_state(p, "X", softmax->X, HAWSER_BY_ROW);
    hawser_state *model = hawser_partitioned_state(p, "model", softmax->width, NULL, NULL);
    hawser_state *table, *path;
    hw_row_path_states(p, &softmax->path, &table, &path);
    reducing(hawser_unit(root, "prepare", hw_softmax_prepare, HAWSER_READS(X), HAWSER_UPDATES(model, table)), softmax);
    hawser_operator *loop = hawser_loop(root, "iterations", (hawser_until){.test = hw_row_has_ended}, hawser_bsp());
    reducing(hawser_unit(loop, "step", hw_softmax_step, HAWSER_READS(X), HAWSER_UPDATES(model, table, path)), softmax);
    return p;
}

/* Reads the options and checks the data. Collective. The caller frees the problem, also after a failure. */
static hawser_status read_all(hw_softmax *softmax, hawser_job *job, const hawser_training_input *input, hawser_error *error)
{
    HAWSER_TRY(hw_softmax_new(softmax, job, input, error));
    return hw_softmax_validation_check(softmax, job, error);
}

static hawser_status plan(const hawser_algorithm *algorithm, hawser_job *job, const hawser_training_input *input,
                          hawser_plan_format format, FILE *out, hawser_error *error)
{
    (void)algorithm;
    hw_softmax softmax;
    hawser_status status = read_all(&softmax, job, input, error);
    if (status == HAWSER_OK) {
        hawser_program *program = build(&softmax);
        status = hawser_plan_print(job, program, format, out, error);
        hawser_program_free(program);
    }
    hw_softmax_free(&softmax);
    return status;
}

static hawser_status run(hw_softmax *softmax, hawser_job *job, const hawser_training_input *input, hawser_training *training,
                         hawser_error *error)
{
    HAWSER_TRY(hw_row_run(build(softmax), job, input, training, error));
    hawser_status status = hawser_job_leads(job) ? hw_softmax_finish(softmax, input, training, error) : HAWSER_OK;
    return hawser_job_agree(job, status, error);
}

static hawser_status train(const hawser_algorithm *algorithm, hawser_job *job, const hawser_training_input *input,
                           hawser_training *training, hawser_error *error)
{
    (void)algorithm;
    hw_softmax softmax;
    memset(training, 0, sizeof *training);
    hawser_status status = read_all(&softmax, job, input, error);
    if (status == HAWSER_OK)
        status = run(&softmax, job, input, training, error);
    hw_softmax_free(&softmax);
    return status;
}

const hawser_algorithm *hw_softmax_algorithm(void)
{
    static const char citations[] =
        "J. Friedman, T. Hastie, R. Tibshirani: Regularization Paths by Coordinate Descent. J. Stat. Softw. 33(1), 2010\n"
        "C.-J. Lin, R. C. Weng, S. S. Keerthi: Trust Region Newton Method for Logistic Regression. JMLR 9, 2008\n"
        "G. Andrew, J. Gao: Scalable Training of L1-Regularized Log-Linear Models. ICML 2007\n"
        "R. Byrd, G. Chin, J. Nocedal, Y. Wu: Sample Size Selection in Optimization Methods. Math. Program. 134, 2012";
    static const hawser_algorithm algorithm = {.name = "softmax",
                                               .summary =
                                                   "softmax (multinomial logistic) regression for two classes or more",
                                               .citations = citations,
                                               .rows = hw_softmax_rows,
                                               .metrics = hw_softmax_metrics,
                                               .topics = hw_softmax_topics,
                                               .split = HAWSER_BY_ROW,
                                               .no_offset = true,
                                               .train = train,
                                               .init_use = hw_linear_init_use,
                                               .starts = HW_CLASSED_STARTS,
                                               .plan = plan,
                                               .predict = hw_softmax_predict,
                                               .predicts_labels = true,
                                               .class_count = hw_softmax_classes,
                                               .class_label = hw_softmax_class,
                                               .probabilities = hw_softmax_probabilities,
                                               .link = hw_softmax_link,
                                               .link_count = hw_softmax_classes,
                                               .label = hw_softmax_label,
                                               .evaluate = hw_softmax_evaluate_rows,
                                               .measures = hw_class_measures,
                                               .coefficients = hw_softmax_print,
                                               .path = hw_softmax_path,
                                               .choose = hw_linear_choose_classed,
                                               .member_rows = hw_linear_member_rows};
    return &algorithm;
}
