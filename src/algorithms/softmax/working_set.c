/*
 * working_set.c - the second derivative of the loss at entries (j, c) and (l, d) is sum_i w_i x_ij x_il p_ic ((c == d) -
 * p_id). Members are in the order of their classes, so that products of tiles of rows give rectangles of the matrix, without
 * its upper triangle.
 */
#include "algorithms/softmax/working_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/model/add.h"
#include "algorithms/model/numbers.h"
#include "hawser/advanced.h"
#include "hawser/row_kernels.h"

enum { NEW_LEAST = 128, PANEL = 64 };

/* A matrix that costs no more than this many passes over the rows always pays. */
static const double few_passes = 16.0;

/* The share of a column's variance that is added to its second derivative, which may be 0 where all probabilities are 0 or
 * 1. */
static const double flat = 1e-12;

/* ---- the members ---- */

static bool has_kink(const hw_softmax_block *b, size_t column)
{
    return column < b->X.cols && hw_softmax_l1(b, column) > 0.0;
}

/* Returns how many entries are not zero or have no kink. */
static size_t count_settled(const hw_softmax_block *b)
{
    size_t k = b->softmax->path.classes, count = b->softmax->path.intercept ? k : 0;
    for (size_t j = 0; j < b->X.cols; j++) {
        bool smooth = !has_kink(b, j);
        for (size_t e = j * k; e < (j + 1) * k; e++)
            count += smooth || b->W[e] != 0.0;
    }
    return count;
}

static int by_score(const void *a, const void *b)
{
    const hw_softmax_score *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return (x->entry > y->entry) - (x->entry < y->entry);
}

static int by_class(const void *a, const void *b)
{
    const hw_softmax_score *x = a, *y = b;
    if (x->class != y->class)
        return x->class < y->class ? -1 : 1;
    return (x->entry > y->entry) - (x->entry < y->entry);
}

/* Chooses the members: all settled entries, if there is room for them and some others, and the entries with the most
 * promising slopes. They become the first of the scores. Returns whether there was room. */
static bool choose(hw_softmax_block *b)
{
    hw_softmax_score *scores = b->set.scores;
    size_t k = b->softmax->path.classes, columns = b->softmax->path.intercept ? b->X.cols + 1 : b->X.cols;
    size_t most = hw_softmax_set_most(b->softmax), settled = count_settled(b), count = 0;
    bool holds = settled + NEW_LEAST <= most || most >= columns * k;
    for (size_t j = 0; j < columns; j++) {
        bool smooth = !has_kink(b, j);
        for (size_t c = 0, e = j * k; c < k; c++, e++) {
            bool stays = holds && (smooth || b->W[e] != 0.0);
            double score = stays ? INFINITY : b->slopes[e] * b->slopes[e] * b->conditioned[e];
            if (score > 0.0)
                scores[count++] = (hw_softmax_score){.score = score, .entry = (uint32_t)e, .class = (uint32_t)c};
        }
    }
    size_t limit = holds ? settled + (settled > NEW_LEAST ? settled : NEW_LEAST) : most;
    limit = limit < most ? limit : most;
    qsort(scores, count, sizeof *scores, by_score);
    b->set.quadratic.count = count < limit ? count : limit;
    qsort(scores, b->set.quadratic.count, sizeof *scores, by_class);
    return holds;
}

/* Lists the columns of the members, and gives each of them a slot. */
static void list_columns(hw_softmax_block *b)
{
    hw_softmax_set *set = &b->set;
    size_t k = b->softmax->path.classes;
    set->used = 0;
    memset(set->slots, 0xff, (b->X.cols + 1) * sizeof *set->slots);
    for (size_t m = 0; m < set->quadratic.count; m++) {
        size_t j = set->scores[m].entry / k;
        if (set->slots[j] == UINT32_MAX) {
            set->slots[j] = (uint32_t)set->used;
            set->columns[set->used++] = (uint32_t)j;
        }
    }
}

/* ---- the matrix ---- */

/* Stores the centred numbers of the columns in a row, by slot. */
static void take_row(const hw_softmax_block *b, const hawser_matrix *X, size_t i, double *out)
{
    const hw_softmax_set *set = &b->set;
    bool rows = X->layout == HAWSER_DENSE_ROWS;
    hawser_simulated_work(NULL, set->used + (X->layout == HAWSER_CSR ? X->offsets[i + 1] - X->offsets[i] : 0));
    for (size_t l = 0; l < set->used; l++) {
        uint64_t j = set->columns[l];
        if (j == X->cols)
            out[l] = 1.0;
        else if (X->layout == HAWSER_CSR)
            out[l] = -b->means[j];
        else
            out[l] = hw_number_at(X, rows ? (uint64_t)i * X->stride + j : j * X->stride + i) - b->means[j];
    }
    if (X->layout == HAWSER_CSR)
        for (uint64_t e = X->offsets[i]; e < X->offsets[i + 1]; e++) {
            uint32_t slot = set->slots[X->indices[e]];
            if (slot != UINT32_MAX)
                out[slot] += hw_number_at(X, e);
        }
}

/* Fills the tiles, by row and member: the numbers times the parts of p (1 - p) and - p p' that belong to a row, and those
 * that belong to a column, of the matrix. */
static void fill_tiles(const hw_softmax_block *b, const hw_row_tile *t)
{
    const hw_softmax_set *set = &b->set;
    size_t count = set->quadratic.count, tile = HW_ROW_TILE * count, k = b->softmax->path.classes;
    double *row = set->tiles + 3 * tile;
    for (size_t i = 0; i < t->count; i++) {
        const double *p = b->probabilities + (t->begin + i) * k;
        double weight = hw_softmax_weight(b, t->begin + i) / b->memory.total;
        double *same = set->tiles + i * count, *other = same + tile, *right = other + tile;
        take_row(b, &t->X, i, row);
        for (size_t m = 0; m < count; m++) {
            double x = row[set->slots[set->scores[m].entry / k]], own = p[set->scores[m].class];
            same[m] = x * (1.0 - own);
            other[m] = -x * own;
            right[m] = weight * x * own;
        }
    }
}

/* Adds the product of columns [begin, end) of a tile with `width` columns from `first` on of the right factor. */
static void add_product(const hw_softmax_set *set, const double *tile, size_t rows, size_t begin, size_t end, size_t first,
                        size_t width)
{
    size_t count = set->quadratic.count;
    const hawser_matrix left = {.rows = rows,
                                .cols = end - begin,
                                .stored = (uint64_t)rows * (end - begin),
                                .layout = HAWSER_DENSE_ROWS,
                                .type = HAWSER_F64,
                                .values = tile + begin,
                                .stride = count};
    if (end > begin)
        hawser_accumulate_block(&left, set->tiles + 2 * HW_ROW_TILE * count + first, count, width,
                                set->quadratic.matrix + begin * count + first, count);
}

/* Adds up the block's share of the matrix's lower triangle. */
static void add_rows(hw_softmax_block *b)
{
    hw_softmax_set *set = &b->set;
    size_t count = set->quadratic.count;
    memset(set->quadratic.matrix, 0, count * count * sizeof *set->quadratic.matrix);
    for (hw_row_tile t = {0}; hw_row_next_tile(&b->tiles, &t);) {
        fill_tiles(b, &t);
        for (size_t first = 0, end = 0, width; first < count; first += width) {
            for (; end < count && set->scores[end].class == set->scores[first].class; end++)
                continue;
            width = end - first < PANEL ? end - first : PANEL;
            add_product(set, set->tiles, t.count, first, end, first, width);
            add_product(set, set->tiles + HW_ROW_TILE * count, t.count, end, count, first, width);
        }
    }
}

/* Adds up the triangles of all blocks, in sums of as many numbers as others have, and mirrors them. */
static hawser_status sum_matrix(hawser_context *context, hw_softmax_block *b)
{
    static const hw_addends products = {.rest = "the products of columns", .of = "the columns"};
    double *matrix = b->set.quadratic.matrix;
    size_t count = b->set.quadratic.count, size = count * (count + 1) / 2, most = b->softmax->path.width + 2;
    for (size_t r = 0; r < count; r++)
        memmove(matrix + r * (r + 1) / 2, matrix + r * count, (r + 1) * sizeof *matrix);
    for (size_t at = 0; at < size; at += most)
        HAWSER_TRY(hw_add_up(context, matrix + at, size - at < most ? size - at : most, &products));
    for (size_t r = count; r-- > 0;)
        memmove(matrix + r * count, matrix + r * (r + 1) / 2, (r + 1) * sizeof *matrix);
    for (size_t r = 0; r < count; r++)
        for (size_t c = r + 1; c < count; c++)
            matrix[r * count + c] = matrix[c * count + r];
    return HAWSER_OK;
}

/* Fills the quadratic model at block->W. */
static void fill(hw_softmax_block *b)
{
    hw_softmax_quadratic *q = &b->set.quadratic;
    size_t k = b->softmax->path.classes;
    for (size_t m = 0; m < q->count; m++) {
        size_t e = b->set.scores[m].entry, j = e / k;
        bool column = j < b->X.cols;
        double l2 = column ? hw_softmax_l2(b, j) : 0.0, *diagonal = &q->matrix[m * q->count + m];
        *diagonal = fmax(*diagonal + l2 + flat * (column ? hw_softmax_variance(b, j) : 1.0), 1e-300);
        q->l1[m] = column ? hw_softmax_l1(b, j) : 0.0;
        q->slope[m] = b->gradient[e] + l2 * b->W[e];
        q->x[m] = b->W[e];
    }
}

bool hw_softmax_set_pays(hw_softmax_block *b)
{
    b->set.holds = choose(b);
    double count = (double)b->set.quadratic.count, cost = 0.5 * count * count / hw_softmax_pass_of_row(b->softmax);
    b->set.large = cost > few_passes;
    return count > 0.0 && (cost <= (double)b->memory.others || (b->set.holds && (b->memory.trusted || !b->set.large)));
}

hawser_status hw_softmax_set_step(hawser_context *context, hw_softmax_block *b, double share, double *along)
{
    hw_softmax_quadratic *q = &b->set.quadratic;
    *along = 0.0;
    list_columns(b);
    if (!hw_softmax_quadratic_reserve(q, q->count))
        return hawser_unit_fail(context, HAWSER_NO_MEMORY, "no memory for a working set of %zu coefficients", q->count);
    add_rows(b);
    HAWSER_TRY(sum_matrix(context, b));
    fill(b);
    hw_softmax_quadratic_solve(q, share);
    memset(b->step, 0, b->softmax->path.width * sizeof *b->step);
    for (size_t m = 0; m < q->count; m++) {
        size_t e = b->set.scores[m].entry, j = e / b->softmax->path.classes;
        double l2 = j < b->X.cols ? hw_softmax_l2(b, j) : 0.0;
        b->step[e] = q->x[m] - b->W[e];
        *along += (b->gradient[e] + l2 * b->W[e]) * b->step[e] + q->l1[m] * (fabs(q->x[m]) - fabs(b->W[e]));
    }
    return HAWSER_OK;
}
