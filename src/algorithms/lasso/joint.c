#include "algorithms/lasso/joint.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/glm/sets.h"
#include "algorithms/lasso/divide.h"
#include "algorithms/solve/entries.h"

enum { COLUMN, GRADIENT, COEFFICIENT, NORM, MEAN, L1, L2 }; /* fields of a member */

/* Cost of a product in touched numbers below which a sum over all blocks takes longer than it saves. */
static const double WORTH_SHARING = 40e3;

/* Without a Gram matrix each block repeats the passes over the columns, which take as long as the products that are divided.
 * More blocks than these leave both to one block. */
enum { MOST_REPEATED = 8 };

/* Returns the most new products that processes divide, because exchanging them costs too. */
static size_t most_products(const hawser_matrix *whole)
{
    size_t most = whole->cols < HW_LINEAR_LARGEST_GRAM ? whole->cols : HW_LINEAR_LARGEST_GRAM, all = most * (most + 1) / 2;
    size_t fair = (size_t)(whole->stored / 64);
    size_t limit = fair > HW_LASSO_JOINT_PRODUCTS ? fair : HW_LASSO_JOINT_PRODUCTS;
    return all < limit ? all : limit;
}

size_t hw_lasso_joint_sums(const hw_linear *lasso)
{
    size_t products = HW_LINEAR_GRAM_MOST_SUMMED + 1, members = hw_linear_most_members(lasso);
    return products > members ? products : members;
}

size_t hw_lasso_joint_post(const hw_lasso_block *block, const double *alpha, double *share)
{
    const hw_linear_columns *columns = &block->columns;
    size_t count = 0, most = hw_linear_most_of_share(block->lasso);
    const uint32_t *members = block->lasso->choices.settings.solver->members(block->solver, &count);
    share[0] = (double)count;
    for (size_t k = 0; k < count && k < most; k++) {
        uint32_t j = members[k];
        double gradient =
            block->fresh ? block->scan.gradient[j] : hw_linear_dot(columns, j, block->residual, block->sum) / columns->total;
        const double fields[HW_LASSO_JOINT_FIELDS] = {[COLUMN] = (double)(columns->X.first + j),
                                                      [GRADIENT] = gradient,
                                                      [COEFFICIENT] = alpha[j],
                                                      [NORM] = columns->norm[j],
                                                      [MEAN] = columns->mean[j],
                                                      [L1] = columns->l1[j],
                                                      [L2] = columns->l2[j]};
        memcpy(share + 1 + k * HW_LASSO_JOINT_FIELDS, fields, sizeof fields);
    }
    return 1 + (count < most ? count : most) * HW_LASSO_JOINT_FIELDS;
}

/* Takes the union of the working sets, in the order of the blocks. */
static hawser_status take_union(hw_lasso_joint *joint, const hw_linear *lasso, hw_linear_sets shares, double lambda,
                                hawser_error *error)
{
    hw_linear_members *members = &joint->members;
    HAWSER_TRY(hw_linear_members_reserve(members, hw_linear_sets_count(&shares), error));
    members->count = 0;
    for (const double *fields; (fields = hw_linear_sets_next(&shares)) != NULL;) {
        size_t at = members->count++, j = (size_t)fields[COLUMN];
        members->columns[at] = (uint32_t)j;
        members->gradient[at] = fields[GRADIENT];
        members->start[at] = members->x[at] = fields[COEFFICIENT];
        members->terms[at] = (hw_linear_term){lambda * fields[L1], lambda * fields[L2], hw_linear_lower(&lasso->problem, j),
                                              hw_linear_upper(&lasso->problem, j)};
    }
    return HAWSER_OK;
}

typedef struct joint_work {
    hw_lasso_block *block;
    hw_linear_sets sets;
} joint_work;

/* Takes norms and means of the union's columns, once per process. */
static hawser_status take_columns(void *argument, hawser_error *error)
{
    const joint_work *work = argument;
    hw_linear_shared *shared = work->block->joint.shared;
    hw_linear_sets shares = work->sets;
    (void)error;
    for (const double *fields; (fields = hw_linear_sets_next(&shares)) != NULL;) {
        shared->norm[(size_t)fields[COLUMN]] = fields[NORM];
        shared->mean[(size_t)fields[COLUMN]] = fields[MEAN];
    }
    return HAWSER_OK;
}

enum { SLOTS_AT_ONCE = 8 }; /* products of up to so many sparse columns cost about as much as those of one */

/* Returns the new slot nearest to `at` that begins a group of SLOTS_AT_ONCE. */
static size_t group_of(const hw_lasso_joint *joint, size_t at)
{
    size_t fresh = joint->shared->fresh, count = joint->shared->gram.count;
    size_t begin = fresh + (at - fresh + SLOTS_AT_ONCE / 2) / SLOTS_AT_ONCE * SLOTS_AT_ONCE;
    return begin < count ? begin : count;
}

/* Returns the first slot of a block's part of the new rows, so that all parts cost about the same. A row costs its column's
 * entries times the number of columns that they are multiplied with. Many blocks have whole groups of slots, or none. */
static size_t slot_begin(const hw_lasso_joint *joint, uint32_t block, uint32_t blocks)
{
    const hawser_matrix *X = &joint->whole.X;
    const hw_linear_gram *gram = &joint->shared->gram;
    size_t count = gram->count;
    double total = 0.0;
    for (int pass = 0; pass < 2; pass++) {
        double before = 0.0, sum = 0.0;
        for (size_t a = 0; a < count; a++) {
            uint32_t j = gram->columns[a];
            double entries = hw_linear_entry_count(X, j);
            if (a >= joint->shared->fresh) {
                if (pass == 1 && sum >= total * block / blocks)
                    return group_of(joint, a);
                sum += entries * (1.0 + before / (double)X->rows);
            }
            before += entries;
        }
        total = sum;
    }
    return count;
}

/* Returns the number of products of slots [begin, end), each with all slots up to itself. */
static size_t triangle(size_t begin, size_t end)
{
    return end * (end + 1) / 2 - begin * (begin + 1) / 2;
}

void hw_lasso_joint_bind(hw_lasso_block *block, const hawser_matrix *whole)
{
    hw_linear_shared *shared = block->joint.shared = block->lasso->shared;
    block->joint.whole = (hw_linear_columns){.X = *whole,
                                             .weights = block->columns.weights,
                                             .total = block->columns.total,
                                             .centred = block->columns.centred,
                                             .mean = shared->mean,
                                             .norm = shared->norm};
}

hawser_status hw_lasso_joint_union(hw_lasso_block *block, const hawser_matrix *whole, hw_linear_sets sets,
                                   hawser_error *error)
{
    hw_lasso_joint *joint = &block->joint;
    joint_work work = {block, sets};
    joint->shared = block->lasso->shared;
    HAWSER_TRY(hw_linear_shared_enter(joint->shared, ++joint->step, whole->cols, take_columns, &work, error));
    hw_lasso_joint_bind(block, whole);
    return take_union(joint, block->lasso, sets, block->scan.screened_at, error);
}

/* Returns true if parts by rows pay. They are equal, and no two blocks read the same entry, but each block sends all
 * products. */
static bool by_rows_pays(double entries, uint32_t blocks, size_t products)
{
    return (double)blocks * (double)products < entries;
}

size_t hw_lasso_joint_expected(const hw_linear *lasso, size_t members)
{
    const hawser_matrix *X = lasso->problem.X;
    size_t products = triangle(0, members);
    double entries = (double)members * (double)X->stored / (double)X->cols;
    size_t own = by_rows_pays(entries, lasso->choices.blocks, products) ? products : products / lasso->choices.blocks;
    own = own < HW_LINEAR_GRAM_BATCH ? own : HW_LINEAR_GRAM_BATCH;
    return own > members ? own : members;
}

static bool by_rows(const hw_lasso_joint *joint, uint32_t blocks, size_t products)
{
    const hawser_matrix *X = &joint->whole.X;
    const hw_linear_gram *gram = &joint->shared->gram;
    double entries = 0.0;
    for (size_t a = 0; a < gram->count; a++)
        entries += hw_linear_entry_count(X, gram->columns[a]);
    return by_rows_pays(entries, blocks, products);
}

static void own_rows(const hw_lasso_joint *joint, uint32_t own, uint32_t blocks, size_t *begin, size_t *end)
{
    hw_lasso_divide_rows(&joint->whole.X, joint->members.columns, joint->members.count, own, blocks, begin, end);
}

/* Decides, once per process, whether there is a Gram matrix, and assigns its slots to the union's columns. */
static hawser_status admit(void *argument, hawser_error *error)
{
    const hw_lasso_block *block = ((const joint_work *)argument)->block;
    const hw_lasso_joint *joint = &block->joint;
    hw_linear_shared *shared = joint->shared;
    const uint32_t *list = joint->members.columns;
    size_t count = joint->members.count;
    if (block->joint_stale)
        hw_linear_gram_clear(&shared->gram);
    shared->gram.most = HW_LINEAR_LARGEST_GRAM;
    shared->use_gram = hw_linear_gram_pays(&shared->gram, &joint->whole, list, count, shared->gram.most);
    return shared->use_gram ? hw_linear_gram_admit(&shared->gram, list, count, &shared->fresh, error) : HAWSER_OK;
}

/* Computes all products of this process's matrix, divided among its blocks. */
static hawser_status fill_here(const hw_lasso_joint *joint, hw_linear_stop stop, hawser_error *error)
{
    hw_linear_gram *gram = &joint->shared->gram;
    size_t item = 0;
    for (size_t at = joint->shared->fresh, next; at < gram->count; at = next) {
        next = gram->count - at > HW_LINEAR_POLL ? at + HW_LINEAR_POLL : gram->count;
        if (hw_linear_shared_take(joint->shared, item++))
            HAWSER_TRY(hw_linear_gram_fill(gram, &joint->whole, at, next, stop, error));
    }
    return HAWSER_OK;
}

static hawser_status fill(hw_lasso_joint *joint, uint32_t own, uint32_t blocks, hw_linear_stop stop, hawser_error *error)
{
    hw_linear_gram *gram = &joint->shared->gram;
    size_t products = triangle(joint->shared->fresh, gram->count);
    joint->plan.from = ALL_HERE;
    if (products > most_products(&joint->whole.X))
        return fill_here(joint, stop, error);
    joint->plan.from = by_rows(joint, blocks, products) ? ROWS : joint->shared->alone ? ALL_HERE : SLOTS;
    if (joint->plan.from == ROWS) {
        own_rows(joint, own, blocks, &joint->plan.begin, &joint->plan.end);
        return HAWSER_OK;
    }
    joint->plan.begin = slot_begin(joint, own, blocks);
    joint->plan.end = slot_begin(joint, own + 1, blocks);
    return hw_linear_gram_fill(gram, &joint->whole, joint->plan.begin, joint->plan.end, stop, error);
}

hawser_status hw_lasso_joint_products(hw_lasso_block *block, uint32_t own, hw_linear_stop stop, hawser_error *error)
{
    hw_lasso_joint *joint = &block->joint;
    const hw_linear_members *members = &joint->members;
    joint_work work = {.block = block};
    HAWSER_TRY(hw_linear_shared_enter(joint->shared, ++joint->step, joint->whole.X.cols, admit, &work, error));
    block->joint_stale = false;
    joint->plan.use_gram = joint->shared->use_gram;
    joint->plan.divided =
        (joint->plan.use_gram || block->lasso->choices.blocks <= MOST_REPEATED) &&
        hw_linear_product_cost(&joint->whole, members->columns, members->count, joint->plan.use_gram) >= WORTH_SHARING;
    if (joint->plan.use_gram)
        HAWSER_TRY(fill(joint, own, block->lasso->choices.blocks, stop, error));
    joint->plan.broken = hw_linear_stopping(stop);
    return HAWSER_OK;
}

/* Adds up the products of slots [at, next), in `list`, and whether a block lacks some. Every process then has the same
 * bits. */
static hawser_status add_batch(const hw_lasso_joint *joint, const hw_linear_part *part, size_t item, size_t at, size_t next,
                               double *list, double *broken, hawser_error *error)
{
    hw_linear_gram *gram = &joint->shared->gram;
    size_t count = triangle(at, next);
    if (joint->plan.broken)
        memset(list, 0, count * sizeof *list);
    else if (joint->plan.from == ROWS)
        HAWSER_TRY(hw_linear_gram_part(gram, &joint->whole, at, next, joint->plan.begin, joint->plan.end, part->block == 0,
                                       list, error));
    else
        hw_linear_gram_list(gram, at, next, joint->plan.begin, joint->plan.end, list);
    list[count] = joint->plan.broken;
    HAWSER_TRY(hw_linear_sum(part, list, count + 1, error));
    *broken = list[count];
    if (*broken == 0.0 && hw_linear_shared_take(joint->shared, item))
        hw_linear_gram_take(gram, at, next, list);
    return HAWSER_OK;
}

/* Completes the matrix of this process; stores in *broken whether a block lacks products. The last sum makes blocks wait for
 * the block that writes the last products. */
static hawser_status add_products(const hw_lasso_joint *joint, const hw_linear_part *part, hw_linear_stop stop,
                                  double *broken, hawser_error *error)
{
    const hw_linear_gram *gram = &joint->shared->gram;
    bool adds = joint->plan.use_gram && joint->plan.from != ALL_HERE;
    size_t item = 0;
    *broken = 0.0;
    for (size_t at = adds ? joint->shared->fresh : gram->count, next; at < gram->count; at = next) {
        next = hw_linear_gram_batch(gram, joint->shared->fresh, at);
        double *list = malloc(((next - at) * next + 1) * sizeof *list);
        if (list == NULL)
            return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu products of a working set's columns",
                               (next - at) * next);
        hawser_status status = add_batch(joint, part, item++, at, next, list, broken, error);
        free(list);
        *broken = *broken > 0.0 || hw_linear_stopping(stop);
        if (status != HAWSER_OK || *broken > 0.0)
            return status;
    }
    *broken = joint->plan.broken;
    return hw_linear_sum(part, broken, 1, error);
}

/* Sets the range and the view over which this block sums. */
static void make_part(const hw_lasso_joint *joint, hw_linear_part *part)
{
    if (joint->plan.use_gram) {
        part->begin = hw_lasso_divide_evenly(joint->shared->gram.count, part->block, part->blocks);
        part->end = hw_lasso_divide_evenly(joint->shared->gram.count, part->block + 1, part->blocks);
        part->view = hawser_matrix_rows(&joint->shared->gram.view, part->begin, part->end);
        return;
    }
    own_rows(joint, part->block, part->blocks, &part->begin, &part->end);
    if (joint->whole.X.layout == HAWSER_DENSE)
        part->view = hawser_matrix_rows(&joint->whole.X, part->begin, part->end);
}

static hawser_status descend(hw_lasso_block *block, const hw_linear_round *round, hw_linear_part *part, hawser_error *error)
{
    hw_lasso_joint *joint = &block->joint;
    hw_linear_members *members = &joint->members;
    hw_linear_round whole = *round;
    whole.columns = &joint->whole;
    whole.gain = 1.0; /* no other block changes these coefficients */
    if (joint->plan.divided) {
        make_part(joint, part);
        whole.part = part;
    }
    if (!joint->plan.use_gram && (joint->plan.divided || part->block == 0)) { /* passes change the residual */
        hw_lasso_block_own(block);
        whole.residual = block->residual;
    }
    if (joint->plan.divided || part->block == 0)
        HAWSER_TRY(hw_linear_descend(members, joint->plan.use_gram ? &joint->shared->gram : NULL, &whole, error));
    else
        memset(members->x, 0, members->count * sizeof *members->x);
    return joint->plan.divided ? HAWSER_OK : hw_linear_sum(part, members->x, members->count, error);
}

hawser_status hw_lasso_joint_solve(hw_lasso_block *block, const hw_linear_round *round, hw_linear_part *part, double *alpha,
                                   hawser_error *error)
{
    hw_lasso_joint *joint = &block->joint;
    const hw_linear_members *members = &joint->members;
    size_t first = block->columns.X.first;
    double broken = 0.0;
    HAWSER_TRY(add_products(joint, part, round->stop, &broken, error));
    if (broken > 0.0 || members->count == 0)
        return HAWSER_OK;
    HAWSER_TRY(descend(block, round, part, error));
    for (size_t k = 0; k < members->count; k++) {
        size_t j = members->columns[k];
        if (j >= first && j < first + block->columns.X.cols)
            alpha[j - first] = members->x[k];
    }
    return HAWSER_OK;
}

static hawser_status make_image(void *argument, hawser_error *error)
{
    const hw_lasso_joint *joint = &((const joint_work *)argument)->block->joint;
    const hw_linear_members *members = &joint->members;
    hw_linear_shared *shared = joint->shared;
    size_t n = joint->whole.X.rows, count = 0;
    uint32_t *list = malloc((members->count + 1) * sizeof *list);
    if (shared->image == NULL)
        shared->image = malloc((n + 1) * sizeof *shared->image);
    if (list == NULL || shared->image == NULL) {
        free(list);
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the predictions of %zu rows", n);
    }
    shared->rows = n;
    memset(shared->image, 0, n * sizeof *shared->image);
    for (size_t k = 0; k < members->count; k++)
        if (members->x[k] != 0.0) {
            list[count] = members->columns[k];
            members->blend[count++] = members->x[k];
        }
    hawser_combine(&joint->whole.X, list, members->blend, count, shared->image);
    free(list);
    return HAWSER_OK;
}

hawser_status hw_lasso_joint_image(hw_lasso_block *block, hawser_error *error)
{
    hw_lasso_joint *joint = &block->joint;
    joint_work work = {.block = block};
    return hw_linear_shared_enter(joint->shared, ++joint->step, joint->whole.X.cols, make_image, &work, error);
}
