#include "algorithms/lasso/joint.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/glm/board.h"
#include "algorithms/lasso/block.h"

/* In touched numbers of a product: below, an exchange takes longer than it saves. */
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

size_t hw_lasso_joint_triangle(const hawser_matrix *whole)
{
    size_t most = whole->cols < HW_LINEAR_LARGEST_GRAM ? whole->cols : HW_LINEAR_LARGEST_GRAM, all = most * (most + 1) / 2;
    size_t fair = (size_t)(whole->stored / 64); /* all copies of the state together stay small beside the data */
    size_t limit = fair > HW_LASSO_JOINT_PRODUCTS ? fair : HW_LASSO_JOINT_PRODUCTS;
    return all < limit ? all : limit;
}

size_t hw_lasso_joint_sums(const hw_linear *lasso)
{
    return hw_linear_reduction_size(hw_linear_most_members(lasso));
}

void hw_lasso_joint_free(hw_lasso_joint *joint)
{
    hw_linear_descent_free(joint->descent);
    hw_linear_reduction_free(&joint->reduction);
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
    return hw_linear_reduction_new(&joint->reduction, hw_linear_most_members(lasso), error);
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

/* First slot of a block's share of the new rows, so that the shares cost about the same: a row costs its column's entries times
 * what they meet. */
static size_t share_begin(const hw_lasso_joint *joint, uint32_t block, uint32_t blocks)
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
    hw_linear_descent_free(joint->descent); /* of a run that was cut short */
    joint->descent = NULL;
    joint->solved = false;
    joint->whole.X = *whole;
    joint->whole.weights = block->columns.weights;
    joint->whole.total = block->columns.total;
    joint->whole.centred = block->columns.centred;
    return take_union(joint, block->lasso, board, block->scan.screened_at, error);
}

size_t hw_lasso_joint_clear(hw_lasso_joint *joint, uint32_t own, double *triangle)
{
    size_t count = own == 0 ? joint->held : 0;
    joint->held = 0;
    if (count > 0)
        memset(triangle, 0, count * sizeof *triangle);
    return count;
}

/* Shares by rows are equal, and no two blocks look at the same entry; but each sends all products. */
static bool by_rows(const hw_lasso_joint *joint, uint32_t blocks)
{
    const hawser_matrix *X = &joint->whole.X;
    double entries = 0.0;
    for (size_t a = 0; a < joint->gram.count; a++) {
        uint32_t j = joint->gram.columns[a];
        entries += X->layout == HAWSER_DENSE ? (double)X->rows : (double)(X->offsets[j + 1] - X->offsets[j]);
    }
    return (double)blocks * (double)joint->held < entries;
}

hawser_status hw_lasso_joint_products(hw_lasso_block *block, const hawser_matrix *whole, uint32_t own, double *triangle,
                                      size_t *first, size_t *count, hw_linear_stop stop, hawser_error *error)
{
    hw_lasso_joint *joint = &block->joint;
    hw_linear_gram *gram = &joint->gram;
    const hw_linear *lasso = block->lasso;
    const hw_linear_members *members = &joint->members;
    *first = *count = 0;
    joint->use_gram = hw_linear_gram_pays(gram, &joint->whole, members->columns, members->count, gram->most);
    joint->shared =
        hw_linear_product_cost(&joint->whole, members->columns, members->count, joint->use_gram) >= WORTH_SHARING;
    if (!joint->use_gram)
        return HAWSER_OK;
    HAWSER_TRY(hw_linear_gram_admit(gram, members->columns, members->count, &joint->fresh, error));
    size_t begin = joint->fresh, end = gram->count;
    if (triangle_at(joint, end) > hw_lasso_joint_triangle(whole)) {
        joint->fresh = end;
        return hw_linear_gram_fill(gram, &joint->whole, begin, end, stop, error);
    }
    joint->held = triangle_at(joint, end);
    if (by_rows(joint, lasso->blocks)) {
        size_t low, high;
        hw_lasso_joint_rows(joint, own, lasso->blocks, &low, &high);
        HAWSER_TRY(hw_linear_gram_share(gram, &joint->whole, begin, low, high, own == 0, stop, error));
    } else {
        begin = share_begin(joint, own, lasso->blocks);
        end = share_begin(joint, own + 1, lasso->blocks);
        HAWSER_TRY(hw_linear_gram_fill(gram, &joint->whole, begin, end, stop, error));
    }
    *first = triangle_at(joint, begin);
    *count = triangle_at(joint, end) - *first;
    for (size_t a = begin; a < end; a++) {
        const double *row = gram->values + a * gram->capacity;
        double *sums = triangle + triangle_at(joint, a);
        for (size_t b = 0; b <= a; b++)
            sums[b] += row[b];
    }
    return HAWSER_OK;
}

void hw_lasso_joint_take(hw_lasso_joint *joint, const double *triangle)
{
    size_t ld = joint->gram.capacity;
    double *G = joint->gram.values;
    for (size_t a = joint->fresh; a < joint->gram.count; a++) {
        const double *row = triangle + triangle_at(joint, a);
        for (size_t b = 0; b <= a; b++)
            G[a * ld + b] = G[b * ld + a] = row[b];
    }
    joint->fresh = joint->gram.count;
}

hawser_status hw_lasso_joint_solve(hw_lasso_block *block, const double *triangle, const hw_linear_round *round,
                                   double *solution, hawser_error *error)
{
    hw_lasso_joint *joint = &block->joint;
    hw_linear_members *members = &joint->members;
    if (joint->use_gram)
        hw_lasso_joint_take(joint, triangle);
    hw_linear_round whole = *round;
    whole.columns = &joint->whole;
    whole.gain = 1.0;                                            /* nobody else moves */
    if (members->count != 0 && !hw_linear_stopping(round->stop)) /* else the matrix may have holes */
        HAWSER_TRY(hw_linear_descend(members, joint->use_gram ? &joint->gram : NULL, &whole, error));
    if (members->count != 0)
        memcpy(solution, members->x, members->count * sizeof *solution);
    return HAWSER_OK;
}

void hw_lasso_joint_move(hw_lasso_block *block, const double *triangle, const double *solution, double *alpha)
{
    hw_lasso_joint *joint = &block->joint;
    const hw_linear_members *members = &joint->members;
    size_t first = block->columns.X.first;
    if (joint->use_gram) /* who did not solve it needs the matrix whole the next time */
        hw_lasso_joint_take(joint, triangle);
    if (joint->shared && !joint->solved) /* the run was cut short */
        return;
    if (joint->shared)
        solution = members->x;
    for (size_t k = 0; k < members->count; k++) {
        size_t j = members->columns[k];
        if (j >= first && j < first + block->columns.X.cols)
            alpha[j - first] = solution[k];
    }
}
