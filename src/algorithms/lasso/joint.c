#include "algorithms/lasso/joint.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/glm/board.h"
#include "algorithms/lasso/block.h"
#include "algorithms/lasso/divide.h"

/* In touched numbers of a product: below, a sum over all blocks takes longer than it saves. */
static const double WORTH_SHARING = 40e3;

size_t hw_lasso_joint_share(const hw_linear *lasso)
{
    return hw_linear_board_share(lasso, HW_LASSO_JOINT_FIELDS);
}

/* Every block holds the matrix: from three blocks on they get no more memory together. */
static size_t largest_gram(uint32_t blocks)
{
    size_t most = HW_LINEAR_LARGEST_GRAM;
    return blocks > 2 ? (size_t)((double)most * sqrt(2.0 / blocks)) : most;
}

/* New products that are divided at most: to exchange them costs too. */
static size_t most_products(const hawser_matrix *whole)
{
    size_t most = whole->cols < HW_LINEAR_LARGEST_GRAM ? whole->cols : HW_LINEAR_LARGEST_GRAM, all = most * (most + 1) / 2;
    size_t fair = (size_t)(whole->stored / 64);
    size_t limit = fair > HW_LASSO_JOINT_PRODUCTS ? fair : HW_LASSO_JOINT_PRODUCTS;
    return all < limit ? all : limit;
}

size_t hw_lasso_joint_sums(const hw_linear *lasso)
{
    size_t products = most_products(lasso->X), members = hw_linear_most_members(lasso);
    return products > members ? products : members;
}

void hw_lasso_joint_free(hw_lasso_joint *joint)
{
    hw_linear_gram_free(&joint->gram);
    hw_linear_members_free(&joint->members);
    free(joint->whole.mean);
    memset(joint, 0, sizeof *joint);
}

static hawser_status allocate(hw_lasso_joint *joint, const hw_linear *lasso, const hawser_matrix *whole, hawser_error *error)
{
    HAWSER_TRY(hw_linear_gram_new(&joint->gram, whole->cols, error));
    joint->gram.most = largest_gram(lasso->blocks);
    joint->whole.mean = calloc(2 * whole->cols, sizeof(double));
    if (joint->whole.mean == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the columns of a joint working set");
    joint->whole.norm = joint->whole.mean + whole->cols;
    return HAWSER_OK;
}

size_t hw_lasso_joint_post(const hw_lasso_block *block, const double *alpha, double *share)
{
    const hw_linear_columns *columns = &block->columns;
    size_t count = 0, room = hw_linear_room(block->lasso);
    const uint32_t *members = block->lasso->settings.solver->members(block->solver, &count);
    share[0] = (double)count;
    for (size_t k = 0; k < count && k < room; k++) {
        uint32_t j = members[k];
        double gradient =
            block->fresh ? block->scan.gradient[j] : hw_linear_dot(columns, j, block->residual, block->sum) / columns->total;
        const double fields[HW_LASSO_JOINT_FIELDS] = {(double)(columns->X.first + j),
                                                      gradient,
                                                      alpha[j],
                                                      columns->norm[j],
                                                      columns->mean[j],
                                                      columns->l1[j],
                                                      columns->l2[j]};
        memcpy(share + 1 + k * HW_LASSO_JOINT_FIELDS, fields, sizeof fields);
    }
    return 1 + (count < room ? count : room) * HW_LASSO_JOINT_FIELDS;
}

/* The union, in the order of the blocks. */
static hawser_status take_union(hw_lasso_joint *joint, const hw_linear *lasso, const double *board, double lambda,
                                hawser_error *error)
{
    hw_linear_members *members = &joint->members;
    hw_linear_board shares = hw_linear_board_look(lasso, HW_LASSO_JOINT_FIELDS, board);
    HAWSER_TRY(hw_linear_members_reserve(members, hw_linear_board_count(&shares), error));
    members->count = 0;
    for (const double *fields; (fields = hw_linear_board_next(&shares)) != NULL;) {
        size_t at = members->count++, j = (size_t)fields[0];
        members->columns[at] = (uint32_t)j;
        members->gradient[at] = fields[1];
        members->start[at] = members->x[at] = fields[2];
        joint->whole.norm[j] = fields[3];
        joint->whole.mean[j] = fields[4];
        members->terms[at] =
            (hw_linear_term){lambda * fields[5], lambda * fields[6], lasso->lower != NULL ? lasso->lower[j] : -INFINITY,
                             lasso->upper != NULL ? lasso->upper[j] : INFINITY};
    }
    return HAWSER_OK;
}

/* First slot of a block's part of the new rows, so that the parts cost about the same: a row costs its column's entries times
 * what they meet. */
static size_t slot_begin(const hw_lasso_joint *joint, uint32_t block, uint32_t blocks)
{
    const hawser_matrix *X = &joint->whole.X;
    size_t count = joint->gram.count;
    double total = 0.0;
    for (int pass = 0; pass < 2; pass++) {
        double before = 0.0, sum = 0.0;
        for (size_t a = 0; a < count; a++) {
            uint32_t j = joint->gram.columns[a];
            double entries = X->layout == HAWSER_DENSE ? (double)X->rows : (double)(X->offsets[j + 1] - X->offsets[j]);
            if (a >= joint->fresh) {
                if (pass == 1 && sum >= total * block / blocks)
                    return a;
                sum += entries * (1.0 + before / (double)X->rows);
            }
            before += entries;
        }
        total = sum;
    }
    return count;
}

static size_t triangle_at(const hw_lasso_joint *joint, size_t slot)
{
    return slot * (slot + 1) / 2 - joint->fresh * (joint->fresh + 1) / 2;
}

hawser_status hw_lasso_joint_union(hw_lasso_block *block, const hawser_matrix *whole, const double *board,
                                   hawser_error *error)
{
    hw_lasso_joint *joint = &block->joint;
    if (joint->whole.mean == NULL)
        HAWSER_TRY(allocate(joint, block->lasso, whole, error));
    if (block->joint_stale)
        hw_linear_gram_clear(&joint->gram);
    block->joint_stale = false;
    joint->whole.X = *whole;
    joint->whole.weights = block->columns.weights;
    joint->whole.total = block->columns.total;
    joint->whole.centred = block->columns.centred;
    return take_union(joint, block->lasso, board, block->scan.screened_at, error);
}

/* Parts by rows are equal, and no two blocks look at the same entry; but each sends all products. */
static bool by_rows_pays(double entries, uint32_t blocks, size_t products)
{
    return (double)blocks * (double)products < entries;
}

size_t hw_lasso_joint_expected(const hw_linear *lasso, size_t members)
{
    const hawser_matrix *X = lasso->X;
    size_t products = members * (members + 1) / 2;
    double entries = (double)members * (double)X->stored / (double)X->cols;
    size_t own = by_rows_pays(entries, lasso->blocks, products) ? products : products / lasso->blocks;
    return own > members ? own : members;
}

static bool by_rows(const hw_lasso_joint *joint, uint32_t blocks, size_t products)
{
    const hawser_matrix *X = &joint->whole.X;
    double entries = 0.0;
    for (size_t a = 0; a < joint->gram.count; a++) {
        uint32_t j = joint->gram.columns[a];
        entries += X->layout == HAWSER_DENSE ? (double)X->rows : (double)(X->offsets[j + 1] - X->offsets[j]);
    }
    return by_rows_pays(entries, blocks, products);
}

static void own_rows(const hw_lasso_joint *joint, uint32_t own, uint32_t blocks, size_t *begin, size_t *end)
{
    hw_lasso_divide_rows(&joint->whole.X, joint->members.columns, joint->members.count, own, blocks, begin, end);
}

static hawser_status fill(hw_lasso_joint *joint, uint32_t own, uint32_t blocks, hw_linear_stop stop, hawser_error *error)
{
    hw_linear_gram *gram = &joint->gram;
    HAWSER_TRY(hw_linear_gram_admit(gram, joint->members.columns, joint->members.count, &joint->fresh, error));
    size_t fresh = joint->fresh, low, high, products = triangle_at(joint, gram->count);
    joint->begin = fresh;
    joint->end = gram->count;
    if (products > most_products(&joint->whole.X)) {
        joint->fresh = gram->count;
        return hw_linear_gram_fill(gram, &joint->whole, fresh, gram->count, stop, error);
    }
    if (by_rows(joint, blocks, products)) {
        own_rows(joint, own, blocks, &low, &high);
        return hw_linear_gram_share(gram, &joint->whole, fresh, low, high, own == 0, stop, error);
    }
    joint->begin = slot_begin(joint, own, blocks);
    joint->end = slot_begin(joint, own + 1, blocks);
    return hw_linear_gram_fill(gram, &joint->whole, joint->begin, joint->end, stop, error);
}

hawser_status hw_lasso_joint_products(hw_lasso_block *block, uint32_t own, hw_linear_stop stop, hawser_error *error)
{
    hw_lasso_joint *joint = &block->joint;
    const hw_linear_members *members = &joint->members;
    joint->use_gram = hw_linear_gram_pays(&joint->gram, &joint->whole, members->columns, members->count, joint->gram.most);
    joint->divided =
        hw_linear_product_cost(&joint->whole, members->columns, members->count, joint->use_gram) >= WORTH_SHARING;
    if (joint->use_gram)
        HAWSER_TRY(fill(joint, own, block->lasso->blocks, stop, error));
    joint->broken = hw_linear_stopping(stop);
    return HAWSER_OK;
}

/* Rows [begin, end) of the triangle of products: to a list, zeros for those of other blocks; and from it, to both halves of the matrix. */
static void list_products(const hw_lasso_joint *joint, size_t begin, size_t end, double *list)
{
    for (size_t a = begin; a < end; list += ++a)
        if (a >= joint->begin && a < joint->end)
            memcpy(list, joint->gram.values + a * joint->gram.capacity, (a + 1) * sizeof *list);
        else
            memset(list, 0, (a + 1) * sizeof *list);
}

static void take_products(const hw_lasso_joint *joint, size_t begin, size_t end, const double *list)
{
    size_t ld = joint->gram.capacity;
    double *G = joint->gram.values;
    for (size_t a = begin; a < end; list += ++a)
        for (size_t b = 0; b <= a; b++)
            G[a * ld + b] = G[b * ld + a] = list[b];
}

/* Every block uses the same bits. */
static hawser_status add_products(hw_lasso_joint *joint, const hw_linear_part *part, hawser_error *error)
{
    size_t begin = joint->fresh, end = joint->gram.count, count = triangle_at(joint, end);
    double *list = malloc((count + 1) * sizeof *list);
    if (list == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu products of a working set's columns", count);
    list_products(joint, begin, end, list);
    hawser_status status = hw_linear_sum(part, list, count, error);
    if (status == HAWSER_OK)
        take_products(joint, begin, end, list);
    joint->fresh = end;
    free(list);
    return status;
}

/* What this block sums over. */
static void make_part(const hw_lasso_joint *joint, hw_linear_part *part)
{
    if (joint->use_gram) {
        part->begin = hw_lasso_divide_evenly(joint->gram.count, part->block, part->blocks);
        part->end = hw_lasso_divide_evenly(joint->gram.count, part->block + 1, part->blocks);
        part->view = hawser_matrix_rows(&joint->gram.view, part->begin, part->end);
        return;
    }
    own_rows(joint, part->block, part->blocks, &part->begin, &part->end);
    if (joint->whole.X.layout == HAWSER_DENSE)
        part->view = hawser_matrix_rows(&joint->whole.X, part->begin, part->end);
}

static hawser_status descend(hw_lasso_joint *joint, const hw_linear_round *round, hw_linear_part *part, hawser_error *error)
{
    hw_linear_members *members = &joint->members;
    hw_linear_round whole = *round;
    whole.columns = &joint->whole;
    whole.gain = 1.0; /* no other block moves these coefficients */
    if (joint->divided) {
        make_part(joint, part);
        whole.part = part;
    }
    if (joint->divided || part->block == 0)
        HAWSER_TRY(hw_linear_descend(members, joint->use_gram ? &joint->gram : NULL, &whole, error));
    else
        memset(members->x, 0, members->count * sizeof *members->x);
    return joint->divided ? HAWSER_OK : hw_linear_sum(part, members->x, members->count, error);
}

hawser_status hw_lasso_joint_solve(hw_lasso_block *block, const hw_linear_round *round, hw_linear_part *part, double *alpha,
                                   hawser_error *error)
{
    hw_lasso_joint *joint = &block->joint;
    const hw_linear_members *members = &joint->members;
    size_t first = block->columns.X.first;
    double broken = joint->broken;
    HAWSER_TRY(hw_linear_sum(part, &broken, 1, error));
    if (broken > 0.0 || members->count == 0)
        return HAWSER_OK;
    if (joint->use_gram)
        HAWSER_TRY(add_products(joint, part, error));
    HAWSER_TRY(descend(joint, round, part, error));
    for (size_t k = 0; k < members->count; k++) {
        size_t j = members->columns[k];
        if (j >= first && j < first + block->columns.X.cols)
            alpha[j - first] = members->x[k];
    }
    return HAWSER_OK;
}
