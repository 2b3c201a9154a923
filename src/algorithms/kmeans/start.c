#include "algorithms/kmeans/start.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/model/add.h"
#include "hawser/batches.h"

enum { FETCH = HW_KMEANS_FETCH, TRIALS_MOST = HW_KMEANS_TRIALS, TILE = HW_KMEANS_TILE, ROUNDS = 5 };

/* What a draw is for, so that draws do not depend on each other. */
enum { PLUS = 1, ROUND, KEYS };

/* Rows that centres are drawn from. */
typedef struct pool {
    hawser_context *context;
    const hw_kmeans *kmeans;
    uint64_t start;
    const hawser_matrix *X;
    const double *weights; /* NULL: ones */
    size_t columns;
    double *squares; /* of rows */
    double *least;   /* squared distance to the nearest centre so far */
    double *trials;  /* rows x FETCH: to new ones */
    double *totals;  /* by block */
    double *fetched; /* FETCH x columns */
    double *table, *table_squares;
    hw_arrays arrays;
} pool;

static double weight_of(const pool *p, size_t row)
{
    return p->weights != NULL ? p->weights[row] : 1.0;
}

static void close_pool(pool *p)
{
    hw_arrays_free(&p->arrays);
}

/* `width` is the most rows that are fetched at a time. */
static hawser_status open_pool(pool *p, hawser_context *context, const hw_kmeans_block *b, uint64_t start,
                               const hawser_matrix *X, const double *weights, size_t width)
{
    size_t n = X->rows, d = b->X.cols;
    *p = (pool){.context = context, .kmeans = b->kmeans, .start = start, .X = X, .weights = weights, .columns = d};
    p->squares = hw_array_new(&p->arrays, n + 1, sizeof(double));
    p->least = hw_array_new(&p->arrays, n + 1, sizeof(double));
    p->trials = hw_array_new(&p->arrays, (n + 1) * width, sizeof(double));
    p->totals = hw_array_new(&p->arrays, b->kmeans->blocks, sizeof(double));
    p->fetched = hw_array_new(&p->arrays, width * d + 1, sizeof(double));
    p->table = hw_array_new(&p->arrays, width * d + 1, sizeof(double));
    p->table_squares = hw_array_new(&p->arrays, width, sizeof(double));
    if (p->arrays.failed)
        return hawser_unit_fail(context, HAWSER_NO_MEMORY, "no memory to draw centres from %zu rows", n);
    if (n > 0)
        hawser_row_squares(X, p->squares);
    for (size_t i = 0; i < n; i++)
        p->least[i] = INFINITY;
    return HAWSER_OK;
}

/* ---- draws ---- */

static const hw_addends distances = {.rest = "the weighted distances of rows to centres", .of = "columns or weights"};

/* Returns what a row counts for in a draw: by weight and distance, or by weight alone. */
static double mass(const pool *p, size_t row, bool far)
{
    return far ? weight_of(p, row) * p->least[row] : weight_of(p, row);
}

/* Adds the masses of each block up. All blocks get the totals by block. */
static hawser_status add_masses(pool *p, bool far, double *total)
{
    uint32_t own = hawser_block(p->context), blocks = p->kmeans->blocks;
    memset(p->totals, 0, blocks * sizeof *p->totals);
    for (size_t i = 0; i < p->X->rows; i++)
        p->totals[own] += mass(p, i, far);
    HAWSER_TRY(hw_add_up(p->context, p->totals, blocks, &distances));
    *total = 0.0;
    for (uint32_t b = 0; b < blocks; b++)
        *total += p->totals[b];
    return HAWSER_OK;
}

/* Finds the row at which the masses of all rows, added up, pass `at`. Returns whether it is in this block, with its
 * number. */
static bool find(const pool *p, double at, bool far, size_t *row)
{
    uint32_t own = hawser_block(p->context), block = 0, last = 0;
    for (; block < p->kmeans->blocks; block++) {
        if (p->totals[block] > 0.0)
            last = block;
        if (at < p->totals[block])
            break;
        at -= p->totals[block];
    }
    bool past = block == p->kmeans->blocks; /* by rounding */
    if ((past ? last : block) != own)
        return false;
    double sum = 0.0;
    *row = 0;
    for (size_t i = 0; i < p->X->rows; i++) {
        double m = mass(p, i, far);
        if (!(m > 0.0))
            continue;
        *row = i;
        sum += m;
        if (!past && sum > at)
            break;
    }
    return true;
}

/* Fetches `count` rows to all blocks: rows[t] is the row if this block has it, else SIZE_MAX. */
static hawser_status fetch(pool *p, const size_t *rows, size_t count)
{
    size_t d = p->columns;
    memset(p->fetched, 0, count * d * sizeof *p->fetched);
    for (size_t t = 0; t < count; t++)
        if (rows[t] != SIZE_MAX)
            hawser_row_axpy(p->X, rows[t], 1.0, p->fetched + t * d);
    HAWSER_TRY(hawser_allreduce(p->context, p->fetched, count * d, HAWSER_SUM));
    for (size_t t = 0; t < count; t++) {
        p->table_squares[t] = hawser_dot(d, p->fetched + t * d, p->fetched + t * d, NULL);
        for (size_t j = 0; j < d; j++)
            p->table[j * count + t] = p->fetched[t * d + j];
    }
    return HAWSER_OK;
}

/* Computes the squared distances of all rows to the fetched ones: trials[i * count + t]. Small ones are computed from
 * differences, so that the distance of equal rows is 0. */
static void measure(pool *p, size_t count)
{
    static const double SMALL = 1e-9;
    for (size_t begin = 0; begin < p->X->rows; begin += TILE) {
        size_t end = begin + TILE < p->X->rows ? begin + TILE : p->X->rows;
        hawser_matrix A = hawser_matrix_rows(p->X, begin, end);
        double *out = p->trials + begin * count;
        hawser_distances(&A, p->squares + begin, p->table, count, p->table_squares, count, out, count);
        for (size_t i = 0; i < A.rows; i++)
            for (size_t t = 0; t < count; t++)
                if (out[i * count + t] <= SMALL * (p->squares[begin + i] + p->table_squares[t]))
                    out[i * count + t] = hawser_row_distance(&A, i, p->fetched + t * p->columns);
    }
}

/* Takes fetched row t of `count` as a centre. */
static void take(pool *p, size_t t, size_t count)
{
    for (size_t i = 0; i < p->X->rows; i++)
        p->least[i] = p->trials[i * count + t] < p->least[i] ? p->trials[i * count + t] : p->least[i];
}

/* ---- k-means++ ---- */

/* Chooses the trial that leaves the least sum of weighted distances, the first of equal ones. */
static hawser_status best_trial(pool *p, size_t count, size_t *best)
{
    double left[TRIALS_MOST] = {0};
    for (size_t i = 0; i < p->X->rows; i++)
        for (size_t t = 0; t < count; t++) {
            double v = p->trials[i * count + t];
            left[t] += weight_of(p, i) * (v < p->least[i] ? v : p->least[i]);
        }
    HAWSER_TRY(hw_add_up(p->context, left, count, &distances));
    *best = 0;
    for (size_t t = 1; t < count; t++)
        *best = left[t] < left[*best] ? t : *best;
    return HAWSER_OK;
}

/* Draws the centres one after another, each far from those before: some trials, of which the best is kept. When the run is
 * to end, the rest are drawn by weight alone, which takes no distances. */
static hawser_status plus_plus(pool *p, double *centres)
{
    size_t k = p->kmeans->clusters, d = p->columns, trials = hw_kmeans_trials(p->kmeans);
    for (size_t c = 0; c < k; c++) {
        double total = 0.0;
        bool far = c > 0 && !hawser_stopping(p->context);
        HAWSER_TRY(add_masses(p, far, &total));
        if (far && !(total > 0.0)) { /* every row is a centre already */
            far = false;
            HAWSER_TRY(add_masses(p, far, &total));
        }
        size_t rows[TRIALS_MOST], count = far ? trials : 1, best = 0;
        for (size_t t = 0; t < count; t++)
            if (!find(p, hw_kmeans_uniform(p->kmeans, p->start, PLUS, c, t) * total, far, &rows[t]))
                rows[t] = SIZE_MAX;
        HAWSER_TRY(fetch(p, rows, count));
        if (!hawser_stopping(p->context)) {
            measure(p, count);
            if (count > 1)
                HAWSER_TRY(best_trial(p, count, &best));
            take(p, best, count);
        }
        memcpy(centres + c * d, p->fetched + best * d, d * sizeof *centres);
    }
    return HAWSER_OK;
}

/* ---- random rows ---- */

typedef struct drawn_row {
    double key;
    size_t row; /* or the place in the exchanged list */
} drawn_row;

static int by_key(const void *a, const void *b)
{
    const drawn_row *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* Collects the keys of this block's rows, the smallest `k` first: rows without weight have none. Returns their number. A
 * row's key is the time at which it is drawn if rows are drawn at rates that are their weights. */
static size_t own_keys(const pool *p, size_t k, drawn_row *keys)
{
    size_t count = 0;
    for (size_t i = 0; i < p->X->rows; i++) {
        double weight = weight_of(p, i);
        if (!(weight > 0.0))
            continue;
        double u = hw_kmeans_uniform(p->kmeans, p->start, KEYS, 0, p->X->first + i);
        keys[count++] = (drawn_row){-log1p(-u) / weight, i};
    }
    qsort(keys, count, sizeof *keys, by_key);
    return count < k ? count : k;
}

/* Finds which of the exchanged keys are the k smallest, and puts this block's rows at their places. */
static void place_rows(const pool *p, const double *keys, const drawn_row *own, size_t own_count, drawn_row *all,
                       double *centres)
{
    size_t k = p->kmeans->clusters, blocks = p->kmeans->blocks, block = hawser_block(p->context);
    for (size_t e = 0; e < k * blocks; e++)
        all[e] = (drawn_row){keys[e], e};
    qsort(all, k * blocks, sizeof *all, by_key);
    for (size_t c = 0; c < k; c++) {
        size_t of = all[c].row / k, at = all[c].row % k;
        if (of == block && at < own_count)
            hawser_row_axpy(p->X, own[at].row, 1.0, centres + c * p->columns);
    }
}

/* Adds vectors of any length, in parts. */
static hawser_status add(const pool *p, double *values, size_t count)
{
    size_t most = p->kmeans->reduced;
    for (size_t at = 0; at < count; at += most)
        HAWSER_TRY(hawser_allreduce(p->context, values + at, count - at < most ? count - at : most, HAWSER_SUM));
    return HAWSER_OK;
}

static hawser_status random_rows(pool *p, double *centres)
{
    size_t k = p->kmeans->clusters, blocks = p->kmeans->blocks, block = hawser_block(p->context);
    hw_arrays arrays = {0};
    drawn_row *own = hw_array_new(&arrays, p->X->rows + 1, sizeof *own),
              *all = hw_array_new(&arrays, k * blocks, sizeof *all);
    double *keys = hw_array_new(&arrays, k * blocks, sizeof *keys);
    hawser_status status = HAWSER_OK;
    if (arrays.failed)
        status = hawser_unit_fail(p->context, HAWSER_NO_MEMORY, "no memory to draw %zu rows", k);
    memset(centres, 0, k * p->columns * sizeof *centres);
    if (status == HAWSER_OK) {
        size_t count = own_keys(p, k, own);
        for (size_t c = 0; c < k; c++)
            keys[block * k + c] = c < count ? own[c].key : DBL_MAX;
        status = add(p, keys, k * blocks);
        if (status == HAWSER_OK)
            place_rows(p, keys, own, count, all, centres);
    }
    HAWSER_THEN(status, add(p, centres, k * p->columns));
    hw_arrays_free(&arrays);
    return status;
}

/* ---- k-means|| ---- */

/* The candidates of all blocks, in the order of rounds and blocks. */
typedef struct candidates {
    uint32_t *nearest; /* by row: number of its nearest candidate */
    size_t *rows;      /* of this block */
    uint64_t *numbers; /* of this block's: among all */
    size_t own, capacity, all;
} candidates;

/* Adds the listed rows of each block to the candidates, and measures the distances to them, FETCH at a time. */
static hawser_status add_candidates(pool *p, candidates *c, size_t from)
{
    uint32_t blocks = p->kmeans->blocks, block = hawser_block(p->context);
    memset(p->totals, 0, blocks * sizeof *p->totals);
    p->totals[block] = (double)(c->own - from);
    HAWSER_TRY(hawser_allreduce(p->context, p->totals, blocks, HAWSER_SUM));
    size_t before = 0, fresh = 0;
    for (uint32_t b = 0; b < blocks; b++) {
        before += b < block ? (size_t)p->totals[b] : 0;
        fresh += (size_t)p->totals[b];
    }
    for (size_t e = from; e < c->own; e++)
        c->numbers[e] = c->all + before + (e - from);
    for (size_t begin = 0; begin < fresh; begin += FETCH) {
        size_t rows[FETCH], count = fresh - begin < FETCH ? fresh - begin : FETCH;
        for (size_t t = 0; t < count; t++) {
            size_t at = begin + t - before; /* wraps around before the first */
            rows[t] = begin + t >= before && at < c->own - from ? c->rows[from + at] : SIZE_MAX;
        }
        HAWSER_TRY(fetch(p, rows, count));
        measure(p, count);
        for (size_t i = 0; i < p->X->rows; i++)
            for (size_t t = 0; t < count; t++)
                if (p->trials[i * count + t] < p->least[i]) {
                    p->least[i] = p->trials[i * count + t];
                    c->nearest[i] = (uint32_t)(c->all + begin + t);
                }
    }
    c->all += fresh;
    return HAWSER_OK;
}

static hawser_status draw_candidates(pool *p, candidates *c)
{
    double total = 0.0, wanted = 2.0 * (double)p->kmeans->clusters;
    HAWSER_TRY(add_masses(p, false, &total));
    if (find(p, hw_kmeans_uniform(p->kmeans, p->start, ROUND, 0, 0) * total, false, &c->rows[0]))
        c->own = 1;
    HAWSER_TRY(add_candidates(p, c, 0));
    for (uint64_t round = 1; round <= ROUNDS && !hawser_stopping(p->context); round++) {
        size_t from = c->own;
        HAWSER_TRY(add_masses(p, true, &total));
        for (size_t i = 0; total > 0.0 && i < p->X->rows; i++)
            if (hw_kmeans_uniform(p->kmeans, p->start, ROUND, round, p->X->first + i) * total < wanted * mass(p, i, true) &&
                c->own < c->capacity)
                c->rows[c->own++] = i;
        HAWSER_TRY(add_candidates(p, c, from));
    }
    return HAWSER_OK;
}

/* Chooses the centres among the candidates by k-means++, each with the weight of the rows that are nearest to it. */
static hawser_status choose_candidates(pool *p, hw_kmeans_block *b, const candidates *c, double *centres)
{
    hw_arrays arrays = {0};
    double *all = hw_array_new(&arrays, c->all + 1, sizeof *all),
           *weights = hw_array_new(&arrays, c->own + 1, sizeof *weights);
    size_t bytes = hawser_batch_bytes(p->X, c->own);
    void *packed = hw_array_new(&arrays, bytes + 1, 1);
    hawser_matrix A;
    hawser_batch batch = {.rows = c->rows, .count = c->own};
    hawser_error error = {0};
    pool own = {0};
    hawser_status status = HAWSER_OK;
    if (arrays.failed)
        status = hawser_unit_fail(p->context, HAWSER_NO_MEMORY, "no memory for %zu candidates", c->all);
    for (size_t i = 0; status == HAWSER_OK && i < p->X->rows; i++)
        all[c->nearest[i]] += weight_of(p, i);
    HAWSER_THEN(status, add(p, all, c->all));
    for (size_t e = 0; status == HAWSER_OK && e < c->own; e++)
        weights[e] = all[c->numbers[e]];
    HAWSER_THEN(status, hw_unit_ends(p->context, hawser_batch_pack(p->X, &batch, packed, bytes, &A, &error), &error));
    HAWSER_THEN(status, open_pool(&own, p->context, b, p->start, &A, weights, hw_kmeans_trials(p->kmeans)));
    HAWSER_THEN(status, plus_plus(&own, centres));
    close_pool(&own);
    hw_arrays_free(&arrays);
    return status;
}

static hawser_status parallel(pool *p, hw_kmeans_block *b, double *centres)
{
    size_t n = p->X->rows;
    hw_arrays arrays = {0};
    candidates c = {.nearest = hw_array_new(&arrays, n + 1, sizeof *c.nearest),
                    .rows = hw_array_new(&arrays, n + 1, sizeof *c.rows),
                    .numbers = hw_array_new(&arrays, n + 1, sizeof *c.numbers),
                    .capacity = n};
    hawser_status status = HAWSER_OK;
    if (arrays.failed)
        status = hawser_unit_fail(p->context, HAWSER_NO_MEMORY, "no memory to draw candidates from %zu rows", n);
    HAWSER_THEN(status, draw_candidates(p, &c));
    if (status == HAWSER_OK && c.all >= p->kmeans->clusters) {
        status = choose_candidates(p, b, &c, centres);
    } else if (status == HAWSER_OK) { /* too few differ: choose among all rows */
        for (size_t i = 0; i < n; i++)
            p->least[i] = INFINITY;
        status = plus_plus(p, centres);
    }
    hw_arrays_free(&arrays);
    return status;
}

hawser_status hw_kmeans_start(hawser_context *context, hw_kmeans_block *b, uint64_t start, double *centres)
{
    const hw_kmeans *kmeans = b->kmeans;
    pool p;
    if (kmeans->draw == HW_KMEANS_GIVEN) {
        memcpy(centres, kmeans->given, kmeans->clusters * b->X.cols * sizeof *centres);
        return HAWSER_OK;
    }
    hawser_status status = open_pool(&p, context, b, start, &b->X, b->beside.weights, hw_kmeans_start_width(kmeans));
    HAWSER_THEN(status, kmeans->draw == HW_KMEANS_PLUS     ? plus_plus(&p, centres)
                        : kmeans->draw == HW_KMEANS_RANDOM ? random_rows(&p, centres)
                                                           : parallel(&p, b, centres));
    close_pool(&p);
    return status;
}
