#include "algorithms/softmax/block.h"

#include <math.h>
#include <string.h>

#include "algorithms/model/labels.h"

enum { MEMBERS_MOST = 1024, MEMBERS_LEAST = 200, TILES = 4 };

static const double most_passes = 400.0;

double hw_softmax_pass_of_row(const hw_softmax *s)
{
    return 2.0 * (double)s->path.X->stored * (double)s->path.classes / fmax(1.0, (double)s->path.X->rows);
}

size_t hw_softmax_set_most(const hw_softmax *s)
{
    double most = fmin(MEMBERS_MOST, fmax(MEMBERS_LEAST, sqrt(2.0 * most_passes * hw_softmax_pass_of_row(s))));
    return s->path.width < (size_t)most ? s->path.width : (size_t)most;
}

static size_t folds_of(const hw_softmax *s)
{
    return s->path.abreast ? s->path.choice.folds + (size_t)1 : 0;
}

/* Returns how many numbers a fit remembers. */
static size_t remembered(const hw_softmax *s)
{
    return 3 * (s->path.width + s->path.X->cols);
}

static uint64_t folds_bytes(const hw_softmax *s)
{
    return folds_of(s) * (sizeof(hw_softmax_memory) + (uint64_t)remembered(s) * sizeof(double));
}

uint64_t hw_softmax_record_bytes(const hw_softmax *s)
{
    return sizeof(hw_softmax_memory) + (uint64_t)remembered(s) * sizeof(double) + folds_bytes(s);
}

uint64_t hw_softmax_block_bytes(const hw_softmax *softmax, uint64_t rows)
{
    uint64_t k = softmax->path.classes, most = softmax->share > 0.0 ? hw_softmax_set_most(softmax) : 0;
    uint64_t set = most > 0 ? (uint64_t)softmax->path.width * sizeof(hw_softmax_score) + softmax->path.X->cols * 4 : 0;
    set += most * (TILES * HW_ROW_TILE * 8 + most * 12);
    return rows * (8 * k + 4) + (uint64_t)softmax->path.width * 8 * 10 + softmax->path.X->cols * 24 + 16 * HW_ROW_TILE * k +
           set + hw_centre_rows_bytes(&softmax->path.centre, softmax->path.X, HW_ROW_TILE) + folds_bytes(softmax);
}

static void new_set(hw_softmax_block *b)
{
    size_t most = hw_softmax_set_most(b->softmax);
    b->set.scores = hw_array_new(&b->arrays, b->softmax->path.width, sizeof *b->set.scores);
    b->set.columns = hw_array_new(&b->arrays, most, sizeof *b->set.columns);
    b->set.slots = hw_array_new(&b->arrays, b->X.cols + 1, sizeof *b->set.slots);
    b->set.tiles = hw_array_new(&b->arrays, TILES * HW_ROW_TILE * most, sizeof *b->set.tiles);
}

static hawser_status new_memory(hw_softmax_block *b, hawser_error *error)
{
    size_t n = b->X.rows, k = b->softmax->path.classes, m = b->softmax->path.width, d = b->X.cols;
    double **models[] = {&b->W,     &b->gradient, &b->sums,      &b->slopes,      &b->step,
                         &b->trial, &b->residual, &b->direction, &b->conditioned, &b->reduced};
    for (size_t a = 0; a < sizeof models / sizeof *models; a++)
        *models[a] = hw_array_new(&b->arrays, m + 2, sizeof(double));
    b->scale = hw_array_new(&b->arrays, d + 1, sizeof *b->scale);
    b->squares = hw_array_new(&b->arrays, d + 1, sizeof *b->squares);
    b->means = hw_array_new(&b->arrays, d + 1, sizeof *b->means);
    b->intercepts = hw_array_new(&b->arrays, k, sizeof *b->intercepts);
    b->classes = hw_array_new(&b->arrays, n + 1, sizeof *b->classes);
    b->probabilities = hw_array_new(&b->arrays, n * k + 1, sizeof *b->probabilities);
    b->tile = hw_array_new(&b->arrays, HW_ROW_TILE * k, sizeof *b->tile);
    b->rank = hw_array_new(&b->arrays, k, sizeof *b->rank);
    b->folds.memory = hw_array_new(&b->arrays, folds_of(b->softmax), sizeof *b->folds.memory);
    b->folds.numbers = hw_array_new(&b->arrays, folds_of(b->softmax) * remembered(b->softmax), sizeof *b->folds.numbers);
    if (b->softmax->share > 0.0)
        new_set(b);
    if (b->arrays.failed)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu rows and %zu classes of %zu columns", n, k, d);
    return HAWSER_OK;
}

static hawser_status take_rows(hw_softmax_block *b, hawser_error *error)
{
    const hw_softmax *s = b->softmax;
    for (size_t i = 0; i < b->X.rows; i++) {
        double weight = hw_softmax_example(b, i);
        if (!(weight >= 0.0) || isinf(weight))
            return hawser_fail(error, HAWSER_BAD_INPUT, "row %zu: the example weight %g is not a number of 0 or more",
                               b->X.first + i + 1, weight);
        size_t place =
            weight > 0.0 ? hw_labels_place(s->path.labels, s->path.classes, b->beside.target[i]) : s->path.classes;
        b->classes[i] = place < s->path.classes ? (uint32_t)place : UINT32_MAX;
    }
    return HAWSER_OK;
}

hawser_status hw_softmax_block_make(void *block, const void *own, const hawser_matrix *X, uint32_t number,
                                    hawser_error *error)
{
    const hw_softmax *softmax = own;
    hw_softmax_block *b = block;
    (void)number;
    b->softmax = softmax;
    b->X = *X;
    HAWSER_TRY(hawser_dataset_beside(softmax->path.data, X->first, X->rows, &b->beside, error));
    HAWSER_TRY(new_memory(b, error));
    HAWSER_TRY(hw_row_tiles_new(&b->tiles, X, &softmax->path.centre, error));
    return take_rows(b, error);
}

void hw_softmax_block_drop(void *block)
{
    hw_softmax_block *b = block;
    hw_arrays_free(&b->arrays);
    hw_softmax_quadratic_free(&b->set.quadratic);
    hw_row_tiles_free(&b->tiles);
}

void hw_softmax_keep_fold(hw_softmax_block *b, size_t fold, bool back)
{
    size_t m = b->softmax->path.width, d = b->X.cols;
    double *arrays[] = {b->W, b->gradient, b->sums, b->scale, b->squares, b->means};
    size_t counts[] = {m, m, m, d, d, d};
    double *kept = b->folds.numbers + fold * remembered(b->softmax);
    for (size_t a = 0; a < sizeof arrays / sizeof *arrays; kept += counts[a++])
        memcpy(back ? arrays[a] : kept, back ? kept : arrays[a], counts[a] * sizeof *kept);
    if (!back) {
        b->folds.memory[fold] = b->memory;
        return;
    }
    uint64_t products = b->memory.products;
    b->memory = b->folds.memory[fold];
    b->memory.products = products;
    b->fresh = false;
}

void hw_softmax_block_visit(hawser_record *record, hawser_context *context, void *block)
{
    hw_softmax_block *b = block;
    (void)context;
    size_t m = b->softmax->path.width, d = b->X.cols;
    hawser_record_bytes(record, &b->memory, sizeof b->memory);
    hawser_record_bytes(record, b->W, m * sizeof *b->W);
    hawser_record_bytes(record, b->gradient, m * sizeof *b->gradient);
    hawser_record_bytes(record, b->sums, m * sizeof *b->sums);
    hawser_record_bytes(record, b->scale, d * sizeof *b->scale);
    hawser_record_bytes(record, b->squares, d * sizeof *b->squares);
    hawser_record_bytes(record, b->means, d * sizeof *b->means);
    hawser_record_bytes(record, b->folds.memory, folds_of(b->softmax) * sizeof *b->folds.memory);
    hawser_record_bytes(record, b->folds.numbers, folds_of(b->softmax) * remembered(b->softmax) * sizeof *b->folds.numbers);
}
