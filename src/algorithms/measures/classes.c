#include "algorithms/measures/classes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "algorithms/measures/measure.h"
#include "algorithms/model/arrays.h"
#include "algorithms/model/labels.h"

const hawser_measure_row hw_class_measures[] = {
    HW_CLASSES_FIRST_ROWS,
    {"log_loss", "mean of -log(probability of the row's label), natural logarithm, not clipped"},
    {"objective", "what the training minimised, on these data; unknown if the training did not certify the model"},
    HW_CLASSES_HIGHER_ROWS,
    {"brier_score",
     "two classes: mean of (probability of the higher label - y)^2, y = 1 for the higher label and 0 for the lower; "
     "more: sum of this over the classes"},
    {"threshold", "two classes: --threshold; the higher label is predicted if its probability is above this"},
    HW_CLASSES_TABLE_ROWS,
    {"calibration", "ten bins of the predicted probability of the label; two classes: of the higher one only:"},
    {".label", "the label"},
    {".from", "the bin has the probabilities above this (the first bin also has 0) ..."},
    {".to", "... and at most this"},
    {".support", "how many rows are in the bin"},
    {".predicted", "mean of their predicted probabilities; unknown in an empty bin"},
    {".observed", "share of them that have the label; unknown in an empty bin"},
    {NULL, NULL}};

enum { BINS = 10, BIN_COLUMNS = 6, CLASS_COLUMNS = 6 };

/* Sums over the rows of a bin. */
typedef struct bin {
    double weight, predicted, observed;
} bin;

/* Sums over all rows, with weights. */
typedef struct class_sums {
    double *confusion; /* count x count */
    double *areas;     /* count */
    bin *bins;         /* outputs x BINS */
    double squares, total;
} class_sums;

/* Returns the number of probabilities per row. */
static size_t outputs_of(const hw_classes *classes)
{
    return classes->count == 2 ? 1 : classes->count;
}

/* Returns the class of an output. */
static size_t class_of_output(const hw_classes *classes, size_t output)
{
    return classes->count == 2 ? 1 : output;
}

static double target_of(const hw_classes *classes, size_t row)
{
    return classes->count == 2 ? classes->scored[2 * row + 1] : classes->target[row];
}

/* Returns what the area under the ROC curve compares. */
static double score_of(const hw_classes *classes, size_t row, size_t output)
{
    return classes->count == 2 ? classes->scored[2 * row] : classes->probabilities[row * classes->count + output];
}

static double probability_of(const hw_classes *classes, size_t row, size_t output)
{
    double score = score_of(classes, row, output);
    return classes->count == 2 ? classes->probability(score) : score;
}

static size_t predicted_class(const hw_classes *classes, size_t row)
{
    if (classes->count == 2)
        return classes->margins_only ? score_of(classes, row, 0) > 0.0
                                     : probability_of(classes, row, 0) > classes->threshold;
    const double *probabilities = classes->probabilities + row * classes->count;
    size_t best = 0;
    for (size_t k = 1; k < classes->count; k++)
        best = probabilities[k] > probabilities[best] ? k : best;
    return best;
}

hawser_status hw_classes_new(hw_classes *c, hawser_error *error)
{
    c->target = calloc(c->rows + 1, sizeof *c->target);
    c->ranked = calloc(c->rows + 1, sizeof *c->ranked);
    return c->target != NULL && c->ranked != NULL ? HAWSER_OK
                                                  : hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu rows", c->rows);
}

void hw_classes_free(hw_classes *c)
{
    free(c->target);
    free(c->ranked);
}

hawser_status hw_classes_check(const hw_classes *classes, double *total, hawser_error *error)
{
    HAWSER_TRY(hw_measure_total(classes->rows, classes->weights, total, error));
    for (size_t i = 0; i < classes->rows; i++)
        if (hw_labels_place(classes->labels, classes->count, target_of(classes, i)) == classes->count)
            return hawser_fail(error, HAWSER_BAD_INPUT, "row %zu: the label %g is none of the model's (%g %s %g)", i + 1,
                               target_of(classes, i), classes->labels[0], classes->count == 2 ? "and" : "to",
                               classes->labels[classes->count - 1]);
    for (size_t i = 0; i < classes->rows; i++)
        for (size_t k = 0; k < outputs_of(classes); k++)
            HAWSER_TRY(hw_measure_finite(score_of(classes, i, k), i,
                                         classes->count == 2 || classes->margins_only ? "margin" : "probability", error));
    return HAWSER_OK;
}

static void add(bin *bins, double probability, double weight, bool observed)
{
    size_t k = 0;
    while (k + 1 < BINS && probability > (double)(k + 1) / BINS)
        k++;
    bins[k].weight += weight;
    bins[k].predicted += weight * probability;
    bins[k].observed += observed ? weight : 0.0;
}

static void add_rows(const hw_classes *classes, class_sums *sums)
{
    size_t outputs = outputs_of(classes);
    for (size_t i = 0; i < classes->rows; i++) {
        size_t own = hw_labels_place(classes->labels, classes->count, target_of(classes, i));
        double w = classes->weights != NULL ? classes->weights[i] : 1.0;
        sums->total += w;
        sums->confusion[own * classes->count + predicted_class(classes, i)] += w;
        for (size_t k = 0; k < outputs && !classes->margins_only; k++) {
            bool is = own == class_of_output(classes, k);
            double probability = probability_of(classes, i, k), miss = probability - (is ? 1.0 : 0.0);
            sums->squares += w * miss * miss;
            add(&sums->bins[k * BINS], probability, w, is);
        }
    }
}

/* Computes the area under the ROC curve of one class. With two classes, elements take the place of the pairs that were
 * read. */
static double area_of(const hw_classes *classes, size_t output)
{
    hw_ranked *ranked = classes->count == 2 ? hw_ranked_in(classes->scored) : classes->ranked;
    double label = classes->labels[class_of_output(classes, output)];
    size_t count = 0;
    for (size_t i = 0; i < classes->rows; i++) {
        double score = score_of(classes, i, output), y = target_of(classes, i);
        double w = classes->weights != NULL ? classes->weights[i] : 1.0;
        if (w > 0.0)
            ranked[count++] = (hw_ranked){score + 0.0, y == label ? w : -w};
    }
    hw_ranked_sort(ranked, count);
    return hw_ranked_area(ranked, count);
}

static double support_of(const hw_classes *classes, const class_sums *sums, size_t k)
{
    double support = 0.0;
    for (size_t j = 0; j < classes->count; j++)
        support += sums->confusion[k * classes->count + j];
    return support;
}

static double predictions_of(const hw_classes *classes, const class_sums *sums, size_t k)
{
    double predictions = 0.0;
    for (size_t j = 0; j < classes->count; j++)
        predictions += sums->confusion[j * classes->count + k];
    return predictions;
}

/* Returns the quotient, or NaN if there is nothing to divide by. */
static double share(double part, double whole)
{
    return whole > 0.0 ? part / whole : NAN;
}

/* Writes "no row has the label 7", with the name of a class behind the text. */
static void name_class(const hw_classes *classes, const char *text, size_t k, char *out, size_t size)
{
    if (classes->words != NULL) {
        size_t length = (size_t)snprintf(out, size, "%s ", text);
        (void)hawser_escape(classes->words[(size_t)classes->labels[k]], out + length, size - length);
    } else {
        snprintf(out, size, "%s %.10g", text, classes->labels[k]);
    }
}

static void put_numbers(const hw_classes *classes, const class_sums *sums, hawser_measure *measures)
{
    size_t count = classes->count, missing = 0, present = 0;
    double area = 0.0, right = 0.0;
    char why[120] = "";
    for (size_t k = 0; k < count; k++) {
        area += sums->areas[k] / (double)count;
        right += sums->confusion[k * count + k];
        missing = support_of(classes, sums, k) > 0.0 ? missing : k;
        present = support_of(classes, sums, k) > 0.0 ? k : present;
    }
    if (count == 2)
        name_class(classes, "all rows have the label", present, why, sizeof why);
    else
        name_class(classes, "no row has the label", missing, why, sizeof why);
    hw_measure_number(measures, "auc", count == 2 ? sums->areas[1] : area, why);
    hw_measure_number(measures, "accuracy", right / sums->total, NULL);
    if (!classes->margins_only)
        hw_measure_number(measures, "log_loss", classes->log_loss, NULL);
    hw_measure_number(measures, "objective", classes->objective, "the training did not certify the model");
    if (count == 2) {
        double hits = sums->confusion[3], support = support_of(classes, sums, 1),
               predictions = predictions_of(classes, sums, 1);
        name_class(classes, "no row gets the predicted label", 1, why, sizeof why);
        hw_measure_number(measures, "precision", share(hits, predictions), why);
        name_class(classes, "no row has the label", 1, why, sizeof why);
        hw_measure_number(measures, "recall", share(hits, support), why);
        name_class(classes, "no row has or gets the label", 1, why, sizeof why);
        hw_measure_number(measures, "f1", share(2.0 * hits, support + predictions), why);
    }
    if (classes->margins_only)
        return;
    hw_measure_number(measures, "brier_score", sums->squares / sums->total, NULL);
    if (count == 2)
        hw_measure_number(measures, "threshold", classes->threshold, NULL);
}

static hawser_status put_confusion(const hw_classes *classes, const class_sums *sums, hawser_measure *measures,
                                   hawser_error *error)
{
    size_t count = classes->count;
    double *values;
    HAWSER_TRY(hw_measure_table(measures, "confusion", NULL, count, count, &values, error));
    for (size_t k = 0; k < count * count; k++)
        values[k] = sums->confusion[k];
    for (size_t k = 0; k < count; k++)
        values[count * count + k] = classes->labels[k];
    return HAWSER_OK;
}

static hawser_status put_classes(const hw_classes *classes, const class_sums *sums, hawser_measure *measures,
                                 hawser_error *error)
{
    static const char *const columns[] = {"label", "precision", "recall", "f1", "auc", "support"};
    double *line;
    HAWSER_TRY(hw_measure_table(measures, "classes", columns, classes->count, CLASS_COLUMNS, &line, error));
    for (size_t k = 0; k < classes->count; k++, line += CLASS_COLUMNS) {
        double hits = sums->confusion[k * classes->count + k];
        double support = support_of(classes, sums, k), predictions = predictions_of(classes, sums, k);
        line[0] = classes->labels[k];
        line[1] = share(hits, predictions);
        line[2] = share(hits, support);
        line[3] = share(2.0 * hits, support + predictions);
        line[4] = sums->areas[k];
        line[5] = support;
    }
    return HAWSER_OK;
}

static hawser_status put_calibration(const hw_classes *classes, const class_sums *sums, hawser_measure *measures,
                                     hawser_error *error)
{
    static const char *const columns[] = {"label", "from", "to", "support", "predicted", "observed"};
    size_t lines = outputs_of(classes) * BINS;
    double *line;
    HAWSER_TRY(hw_measure_table(measures, "calibration", columns, lines, BIN_COLUMNS, &line, error));
    for (size_t b = 0; b < lines; b++, line += BIN_COLUMNS) {
        const bin *one = &sums->bins[b];
        line[0] = classes->labels[class_of_output(classes, b / BINS)];
        line[1] = (double)(b % BINS) / BINS;
        line[2] = (double)(b % BINS + 1) / BINS;
        line[3] = one->weight;
        line[4] = share(one->predicted, one->weight);
        line[5] = share(one->observed, one->weight);
    }
    return HAWSER_OK;
}

hawser_status hw_classes_measure(const hw_classes *classes, hawser_measure *measures, hawser_error *error)
{
    size_t count = classes->count, outputs = outputs_of(classes);
    hw_arrays arrays = {0};
    class_sums sums = {.confusion = hw_array_new(&arrays, count * count, sizeof(double)),
                       .areas = hw_array_new(&arrays, count, sizeof(double)),
                       .bins = hw_array_new(&arrays, outputs * BINS, sizeof(bin))};
    hawser_status status = HAWSER_OK;
    if (arrays.failed)
        status = hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the measures of %zu classes", count);
    if (status == HAWSER_OK) {
        add_rows(classes, &sums);
        for (size_t k = 0; k < outputs; k++)
            sums.areas[class_of_output(classes, k)] = area_of(classes, k);
        if (count == 2)
            sums.areas[0] = sums.areas[1]; /* the same pairs, with both scores reversed */
        put_numbers(classes, &sums, measures);
        status = put_confusion(classes, &sums, measures, error);
    }
    HAWSER_THEN(status, put_classes(classes, &sums, measures, error));
    if (status == HAWSER_OK && !classes->margins_only)
        status = put_calibration(classes, &sums, measures, error);
    hw_arrays_free(&arrays);
    return status;
}
