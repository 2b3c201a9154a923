#include "algorithms/svm/hessian.h"

#include <string.h>

#include "algorithms/model/numbers.h"
#include "hawser/advanced.h"
#include "hawser/row_kernels.h"

/* A row's share of the matrix costs about as much as this many products with the row for each of its numbers: less where
 * rows are dense, which fill wide registers. Between blocks a matrix takes more bytes than so few products. */
static const double sparse_products = 0.25, dense_products = 0.0625;
enum { PANEL = 64 };         /* columns of a matrix that dense rows are added to at a time */
enum { FIRST_PRODUCTS = 3 }; /* that the first step is taken to have */
/* Rows that are taken out of a matrix leave rounding errors of what they had added. It is made anew if a column has had
 * more than this many times the sum that is left. */
static const double most_left = 100.0;

bool hw_svm_hessian_pays(const hw_svm_block *b)
{
    const hw_svm *svm = b->svm;
    double products = b->memory[0].products > 0 ? (double)b->memory[0].products : FIRST_PRODUCTS;
    bool dense = svm->path.X->layout != HAWSER_CSR && svm->path.blocks <= 1;
    double per_number = dense ? dense_products : sparse_products;
    return b->primal.hessian != NULL &&
           (b->primal.by_matrix || products * (double)svm->path.X->rows > per_number * (double)svm->path.X->stored);
}

/* ---- the rows of a matrix ---- */

/* What an update changes. */
typedef struct update {
    hw_svm_block *b;
    double *share, *most;
    uint8_t *in;
    const double *costs;
    size_t held; /* dense rows that are gathered and not added yet */
    bool folds;  /* some have been added to primal.square */
} update;

/* Copies the stored numbers of a row. Returns how many there are. */
static size_t copy_row(const hawser_matrix *X, size_t i, double *restrict out)
{
    bool sparse = X->layout == HAWSER_CSR, rows = X->layout == HAWSER_DENSE_ROWS;
    uint64_t first = sparse ? X->offsets[i] : rows ? (uint64_t)i * X->stride : i, step = sparse || rows ? 1 : X->stride;
    size_t count = sparse ? X->offsets[i + 1] - first : X->cols;
    if (X->type == HAWSER_F64 && step == 1)
        for (size_t e = 0; e < count; e++) /* a call would take longer for so few */
            out[e] = ((const double *)X->values)[first + e];
    else
        for (size_t e = 0; e < count; e++)
            out[e] = hw_number_at(X, first + e * step);
    return count;
}

/* Adds weight x x^T, for a sparse row x with a one for the intercept. Columns ascend, so the triangle has them. */
static void add_sparse(update *u, const hawser_matrix *X, size_t i, double weight)
{
    const uint64_t first = X->offsets[i];
    const uint32_t *index = X->indices + first;
    const size_t count = X->offsets[i + 1] - first;
    const double *x = X->type == HAWSER_F64 ? (const double *)X->values + first : u->b->primal.gathered;
    double *last = u->share + X->cols * (X->cols + 1) / 2;
    if (X->type != HAWSER_F64)
        copy_row(X, i, u->b->primal.gathered);
    hawser_simulated_work(NULL, count * (count + 1) / 2);
    for (size_t e = 0; e < count; e++) {
        size_t column = index[e];
        double *row = u->share + column * (column + 1) / 2, factor = weight * x[e];
        last[column] += factor;
        u->most[column] += weight > 0.0 ? factor * x[e] : 0.0;
        for (size_t c = 0; c <= e; c++)
            row[index[c]] += factor * x[c];
    }
    last[X->cols] += weight;
    u->most[X->cols] += weight > 0.0 ? weight : 0.0;
}

/* Adds the gathered rows. */
static void add_gathered(update *u)
{
    hw_svm_primal *q = &u->b->primal;
    size_t width = u->b->width;
    hawser_matrix X = {.rows = u->held,
                       .cols = width,
                       .stored = u->held * width,
                       .layout = HAWSER_DENSE_ROWS,
                       .type = HAWSER_F64,
                       .values = q->gathered,
                       .stride = width};
    if (u->held == 0)
        return;
    if (!u->folds)
        memset(q->square, 0, width * width * sizeof *q->square);
    for (size_t first = 0; first < width; first += PANEL) { /* the lower triangle, and what panels have above it */
        size_t count = width - first < PANEL ? width - first : PANEL;
        X.cols = width - first;
        X.values = q->gathered + first;
        hawser_accumulate_block(&X, q->gathered + HW_SVM_GATHERED * width + first, width, count,
                                q->square + first * width + first, width);
    }
    u->folds = true;
    u->held = 0;
}

static void add_dense(update *u, const hawser_matrix *X, size_t i, double weight)
{
    size_t width = u->b->width;
    double *x = u->b->primal.gathered + u->held * width, *restrict weighted = x + HW_SVM_GATHERED * width;
    double *restrict most = u->most;
    copy_row(X, i, x);
    x[X->cols] = 1.0;
    for (size_t j = 0; j < width; j++)
        weighted[j] = weight * x[j];
    for (size_t j = 0; weight > 0.0 && j < width; j++)
        most[j] += weighted[j] * x[j];
    if (++u->held == HW_SVM_GATHERED)
        add_gathered(u);
}

/* Adds the rows that have gained a bend, and takes out those that have lost theirs. */
static void change_rows(update *u, const double *bends)
{
    hw_svm_block *b = u->b;
    for (hw_row_tile t = {0}; hw_row_next_tile(&b->tiles, &t);)
        for (size_t i = 0; i < t.count; i++) {
            bool on = bends[t.begin + i] != 0.0;
            if (on == u->in[t.begin + i])
                continue;
            double weight = fabs(u->costs[t.begin + i]) / b->C;
            u->in[t.begin + i] = on;
            (t.X.layout == HAWSER_CSR ? add_sparse : add_dense)(u, &t.X, i, on ? weight : -weight);
        }
    add_gathered(u);
    for (size_t a = 0, at = 0; u->folds && a < b->width; a++)
        for (size_t c = 0; c <= a; c++)
            u->share[at++] += b->primal.square[a * b->width + c];
    u->folds = false;
}

static void forget(update *u)
{
    size_t width = u->b->width;
    memset(u->share, 0, hw_svm_hessian_size(width) * sizeof *u->share);
    memset(u->most, 0, width * sizeof *u->most);
    memset(u->in, 0, u->b->X.rows * sizeof *u->in);
}

/* Returns whether more of the visited rows change than are in the matrix afterwards: then it is cheaper to make it anew. */
static bool has_changed(const update *u, const double *bends)
{
    size_t changed = 0, on = 0;
    for (size_t first = 0; first < u->b->X.rows; first += HW_ROW_TILE * u->b->tiles.every) {
        size_t left = u->b->X.rows - first, end = first + (left < HW_ROW_TILE ? left : HW_ROW_TILE);
        for (size_t i = first; i < end; i++) {
            on += bends[i] != 0.0;
            changed += (bends[i] != 0.0) != u->in[i];
        }
    }
    return changed > on;
}

/* Returns whether the rounding errors of rows that have left may count. The curvature of 1/2 |w|^2 hides them, too. */
static bool is_worn(const update *u, double factor)
{
    bool worn = false;
    for (size_t j = 0; j < u->b->width && !worn; j++) {
        double hidden = j < u->b->X.cols ? 1.0 : 0.0;
        worn = factor * u->most[j] > most_left * (hidden + factor * u->share[j * (j + 1) / 2 + j]);
    }
    return worn;
}

static update update_of(hw_svm_block *b, size_t problem)
{
    hw_svm_primal *q = &b->primal;
    return (update){.b = b,
                    .share = q->share + problem * hw_svm_hessian_size(b->width),
                    .most = q->most + problem * b->width,
                    .in = q->in + problem * b->X.rows,
                    .costs = q->costs + problem * b->X.rows};
}

void hw_svm_hessian_update(hw_svm_block *b, size_t problem)
{
    update u = update_of(b, problem);
    const double *bends = b->primal.bends + problem * b->X.rows;
    if (has_changed(&u, bends))
        forget(&u);
    change_rows(&u, bends);
    if (is_worn(&u, hw_svm_hessian_factor(b, problem))) {
        forget(&u);
        change_rows(&u, bends);
    }
}

void hw_svm_hessian_leave_out(hw_svm_block *b)
{
    hw_svm_primal *q = &b->primal;
    size_t n = b->X.rows;
    for (size_t p = 0; q->by_matrix && p < b->svm->path.outputs; p++) {
        for (size_t i = 0; i < n; i++) {
            q->bends[p * n + i] = q->in[p * n + i] && hw_svm_weight(b, i) > 0.0;
            q->costs[p * n + i] = b->C * (b->beside.weights != NULL ? b->beside.weights[i] : 1.0);
        }
        hw_svm_hessian_update(b, p);
    }
}

void hw_svm_hessian_forget(hw_svm_block *b)
{
    for (size_t p = 0; b->primal.hessian != NULL && p < b->svm->path.outputs; p++) {
        update u = update_of(b, p);
        forget(&u);
    }
    b->primal.by_matrix = false;
}

/* ---- a product ---- */

void hw_svm_hessian_product(hw_svm_block *b, size_t problem, size_t s, size_t count)
{
    hw_svm_primal *q = &b->primal;
    const double *row = hw_svm_hessian_of(b, problem);
    const double factor = hw_svm_hessian_factor(b, problem);
    double *in = q->gathered, *restrict out = in + b->width;
    for (size_t a = 0; a < b->width; a++)
        in[a] = q->direction[a * b->svm->path.outputs + problem];
    hawser_simulated_work(NULL, (uint64_t)b->width * b->width);
    for (size_t a = 0; a < b->width; row += ++a) {
        const double at = in[a];
        for (size_t c = 0; c < a; c++)
            out[c] += row[c] * at;
        out[a] = hawser_dot(a, row, in, NULL) + row[a] * at;
    }
    for (size_t a = 0; a < b->width; a++)
        q->reduced[a * count + s] = factor * out[a];
}
