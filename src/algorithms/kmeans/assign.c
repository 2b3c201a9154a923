#include "algorithms/kmeans/assign.h"
#include "hawser/batches.h"

#include <math.h>
#include <string.h>

/* Bounds are rounded away from the truth by this factor, far more than the rounding of the operations that made them. */
static const double OUT = 1.0 + 1e-14, IN = 1.0 - 1e-14;

#define NONE UINT32_MAX /* no centre yet */

/* A tile is compared with all centres at once if its rows need more than this share of the groups. */
static const double MOST_APART = 0.35;

/* Bounds never pay where a row is compared with all centres by few operations. */
enum { LEAST_WORK = 1024 };

hawser_status hw_kmeans_move(hw_kmeans_block *b, const double *values, hawser_error *error)
{
    hw_kmeans_centres *c = &b->centres;
    size_t d = c->columns;
    if (b->bounded)
        memcpy(b->before, c->values, c->clusters * d * sizeof *b->before);
    HAWSER_TRY(hw_kmeans_centres_set(c, values, error));
    for (size_t g = 0; g < c->groups && b->bounded; g++) {
        double most = 0.0;
        for (size_t p = g * c->width; p < (g + 1) * c->width && p < c->clusters; p++) {
            const double *x = b->before + c->order[p] * d, *y = c->values + c->order[p] * d;
            double square = 0.0;
            for (size_t j = 0; j < d; j++)
                square += (x[j] - y[j]) * (x[j] - y[j]);
            most = square > most ? square : most;
        }
        b->drift[g] = most > 0.0 ? sqrt(most) * (1.0 + (double)d * 4e-16) * OUT + 1e-150 : 0.0;
    }
    return HAWSER_OK;
}

/* Lowers the bounds of a row by what the centres have moved, and marks the groups that may have a nearer centre. Returns
 * their number. */
static size_t mark(hw_kmeans_block *b, size_t row, double reach, bool *seen)
{
    size_t count = 0, groups = b->centres.groups;
    double *lower = b->lower + row * groups;
    for (size_t g = 0; g < groups; g++) {
        double bound = (lower[g] - b->drift[g]) * IN;
        lower[g] = bound;
        seen[g] = !(reach < bound);
        count += seen[g];
    }
    return count;
}

/* Measures the distances of a tile's rows to their own centres, and marks the groups that they need. Returns the number of
 * marks. */
static size_t measure_own(hw_kmeans_block *b, size_t begin, size_t end)
{
    size_t count = 0, groups = b->centres.groups;
    double relative = 1.0 + 2.0 * b->points.relative;
    hw_kmeans_squares(&b->points, &b->centres, begin, end, b->labels + begin, b->squares + begin);
    for (size_t i = begin; i < end; i++) {
        double square = b->squares[i], slack = b->points.tiny;
        if (b->X.layout == HAWSER_CSR)
            slack = hw_kmeans_error(&b->points, &b->centres, i);
        b->own[i - begin] = square;
        b->upper[i - begin] = sqrt(square * (1.0 + b->points.relative) + slack) * relative * OUT;
        count += mark(b, i, b->upper[i - begin] * relative, b->seen + (i - begin) * groups);
    }
    return count;
}

/* Computes the products that one group of a tile needs, from copies of the rows that need it. */
static hawser_status products_of_group(hw_kmeans_block *b, size_t begin, size_t end, size_t g, hawser_error *error)
{
    const hw_kmeans_centres *c = &b->centres;
    size_t count = 0, k = c->clusters, first = g * c->width, width = first + c->width < k ? c->width : k - first;
    double squares[HW_KMEANS_TILE];
    float squares_f[HW_KMEANS_TILE];
    for (size_t i = begin; i < end; i++)
        if (b->seen[(i - begin) * c->groups + g]) {
            squares[count] = b->points.squares[i];
            squares_f[count] = c->single ? b->points.squares_f[i] : 0.0f;
            b->list[count++] = i;
        }
    if (count == 0)
        return HAWSER_OK;
    hawser_matrix A;
    hawser_batch batch = {.rows = b->list, .count = count};
    HAWSER_TRY(hawser_batch_pack(&b->X, &batch, b->packed, b->packed_bytes, &A, error));
    hw_kmeans_products(c, &A, squares, squares_f, first, width, b->apart, width, b->floats);
    for (size_t r = 0; r < count; r++)
        memcpy(b->products + (b->list[r] - begin) * k + first, b->apart + r * width, width * sizeof *b->apart);
    return HAWSER_OK;
}

/* Replaces the bounds of the groups that were compared. */
static void renew(hw_kmeans_block *b, size_t row, size_t at, uint32_t before, double *first)
{
    const hw_kmeans_centres *c = &b->centres;
    const bool *seen = b->seen + at * c->groups;
    double *lower = b->lower + row * c->groups, slack = hw_kmeans_error(&b->points, c, row);
    uint32_t now = c->place[b->labels[row]];
    if (seen[now / c->width])
        first[now / c->width] = hw_kmeans_second(c, b->products + at * c->clusters, now);
    for (size_t g = 0; g < c->groups; g++)
        if (seen[g])
            lower[g] = first[g] > slack ? sqrt(first[g] - slack) * IN : 0.0;
    if (before == NONE || before == b->labels[row] || seen[c->place[before] / c->width])
        return;
    double left = b->own[at] > slack ? sqrt(b->own[at] - slack) * IN : 0.0;
    double *of = &lower[c->place[before] / c->width];
    *of = left < *of ? left : *of;
}

/* Marks the clusters that a row has left and joined. Returns whether it has a new one. */
static bool joins(hw_kmeans_block *b, size_t row, uint32_t before)
{
    if (before == b->labels[row])
        return false;
    b->stale[b->labels[row]] = true;
    if (before != NONE)
        b->stale[before] = true;
    return true;
}

/* Gives the rows of a tile that need it their nearest centres. Returns the number of changes. */
static size_t settle(hw_kmeans_block *b, size_t begin, size_t end, bool fresh)
{
    const hw_kmeans_centres *c = &b->centres;
    double *first = b->drift + c->groups;
    size_t changed = 0;
    for (size_t i = begin; i < end; i++) {
        const bool *seen = b->seen + (i - begin) * c->groups;
        if (memchr(seen, true, c->groups) == NULL)
            continue;
        uint32_t before = b->memory.assigned ? b->labels[i] : NONE;
        b->labels[i] = hw_kmeans_choose(&b->points, c, i, b->products + (i - begin) * c->clusters, seen,
                                        fresh ? NONE : before, fresh ? 0.0 : b->own[i - begin], first);
        if (b->lower != NULL)
            renew(b, i, i - begin, fresh ? NONE : before, first);
        if (before == b->labels[i] && !fresh)
            continue;
        b->squares[i] = hw_kmeans_square(&b->points, c, i, b->labels[i]);
        changed += joins(b, i, before);
    }
    return changed;
}

static hawser_status assign_tile(hw_kmeans_block *b, size_t begin, size_t end, size_t *changed, hawser_error *error)
{
    const hw_kmeans_centres *c = &b->centres;
    size_t rows = end - begin, all = rows * c->groups;
    bool fresh = !b->bounded;
    if (!b->bounds) {
        hw_kmeans_nearest_of_tile(&b->points, c, begin, end, &b->tile, b->nearest);
        for (size_t i = begin; i < end; i++) {
            uint32_t before = b->memory.assigned ? b->labels[i] : NONE;
            b->labels[i] = b->nearest[i - begin];
            *changed += joins(b, i, before);
        }
        hw_kmeans_squares(&b->points, c, begin, end, b->labels + begin, b->squares + begin);
        return HAWSER_OK;
    }
    size_t marks = fresh ? all : measure_own(b, begin, end);
    b->marks += marks;
    if (marks == 0)
        return HAWSER_OK;
    if ((double)marks > MOST_APART * (double)all) {
        hawser_matrix A = hawser_matrix_rows(&b->X, begin, end);
        memset(b->seen, true, all * sizeof *b->seen);
        hw_kmeans_products(c, &A, b->points.squares + begin, c->single ? b->points.squares_f + begin : NULL, 0, c->clusters,
                           b->products, c->clusters, b->floats);
    } else {
        for (size_t g = 0; g < c->groups; g++)
            HAWSER_TRY(products_of_group(b, begin, end, g, error));
    }
    *changed += settle(b, begin, end, fresh);
    return HAWSER_OK;
}

/* Returns the share of the groups below which comparing them alone is faster than comparing all. The wider the rows, the
 * less does it cost to pick them. Floats are multiplied twice as fast, but picked no faster. The constants are measured. */
static double share_that_pays(const hw_kmeans_block *b)
{
    double columns = (double)b->X.cols;
    return (b->centres.single ? 0.3 : 0.6) * (columns - 8.0) / (columns + 64.0);
}

/* Returns whether the next assignment uses bounds. All ways give the same result. Bounds are tried once few rows change
 * their clusters. After bounds that have spared too little, some iterations pass without them, each time twice as many. */
static bool wants_bounds(hw_kmeans_block *b)
{
    const hw_kmeans_centres *c = &b->centres;
    double all = (double)b->X.rows * (double)c->groups, share = share_that_pays(b);
    if (!b->tile.usable)
        return true;
    if (b->lower == NULL || c->clusters * c->columns < LEAST_WORK || !b->memory.assigned)
        return false;
    if (b->bounded) {
        if ((double)b->marks < share * all)
            return true;
        b->rest = b->pause;
        b->pause *= 2;
    }
    if (b->rest == 0)
        return (double)b->changed < 0.2 * share * (double)b->X.rows;
    b->rest--;
    return false;
}

hawser_status hw_kmeans_assign(hw_kmeans_block *b, size_t *changed, hawser_error *error)
{
    *changed = 0;
    b->bounds = wants_bounds(b);
    b->bounded = b->bounded && b->bounds;
    b->marks = 0;
    for (size_t begin = 0; begin < b->X.rows; begin += HW_KMEANS_TILE) {
        size_t end = begin + HW_KMEANS_TILE < b->X.rows ? begin + HW_KMEANS_TILE : b->X.rows;
        HAWSER_TRY(assign_tile(b, begin, end, changed, error));
    }
    b->marks = b->bounded ? b->marks : 0; /* the first assignment with bounds compares all */
    b->bounded = b->bounds && b->lower != NULL;
    b->changed = *changed;
    b->memory.assigned = true;
    return HAWSER_OK;
}

void hw_kmeans_sum(hw_kmeans_block *b)
{
    size_t d = b->X.cols, k = b->centres.clusters;
    for (size_t c = 0; c < k; c++) {
        b->stale[c] = b->stale[c] || !b->summed;
        if (!b->stale[c])
            continue;
        memset(b->sums + c * d, 0, d * sizeof *b->sums);
        b->weights[c] = 0.0;
    }
    for (size_t i = 0; i < b->X.rows; i++) {
        uint32_t c = b->labels[i];
        double weight = hw_kmeans_weight(b, i);
        if (!b->stale[c] || weight == 0.0)
            continue;
        hawser_row_axpy(&b->X, i, weight, b->sums + c * d);
        b->weights[c] += weight;
    }
    memset(b->stale, 0, k * sizeof *b->stale);
    b->summed = true;
}
