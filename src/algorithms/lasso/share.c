/* share.c - a joint descent whose products all blocks share: see joint.h. */
#include <stdlib.h>
#include <string.h>

#include "algorithms/lasso/block.h"

enum {
    BUCKETS = 1024,   /* of rows, for shares that cost the same */
    SAMPLES = 1 << 13 /* entries that are looked at to find them, and one a column */
};

/* Rows at which shares begin that hold equally many entries of the members, from a sample. */
static size_t row_begin(const hw_lasso_joint *joint, const double *counts, uint32_t block, uint32_t blocks)
{
    size_t rows = joint->whole.X.rows;
    double total = 0.0, before = 0.0;
    for (size_t k = 0; k < BUCKETS; k++)
        total += counts[k];
    if (block == 0 || block == blocks)
        return block == 0 ? 0 : rows;
    for (size_t k = 0; k < BUCKETS; k++) {
        if (before * blocks >= total * block)
            return (k * rows + BUCKETS - 1) / BUCKETS;
        before += counts[k];
    }
    return rows;
}

static size_t even_begin(size_t length, uint32_t block, uint32_t blocks)
{
    return length / blocks * block + length % blocks * block / blocks;
}

/* Of each column a few entries stand for all. */
static void count_rows(const hw_lasso_joint *joint, double *counts)
{
    const hawser_matrix *X = &joint->whole.X;
    for (size_t k = 0; k < joint->members.count; k++) {
        const uint64_t *ends = X->offsets + joint->members.columns[k];
        uint64_t entries = ends[1] - ends[0];
        size_t samples = SAMPLES / joint->members.count + 1;
        for (size_t s = 0; s < samples && entries > 0; s++) {
            uint64_t at = ends[0] + (uint64_t)(((double)s + 0.5) / (double)samples * (double)entries);
            counts[(uint64_t)X->indices[at] * BUCKETS / X->rows] += (double)entries / (double)samples;
        }
    }
}

void hw_lasso_joint_rows(const hw_lasso_joint *joint, uint32_t own, uint32_t blocks, size_t *begin, size_t *end)
{
    const hawser_matrix *X = &joint->whole.X;
    if (X->layout == HAWSER_DENSE) {
        *begin = even_begin(X->rows, own, blocks);
        *end = even_begin(X->rows, own + 1, blocks);
        return;
    }
    double counts[BUCKETS] = {0};
    count_rows(joint, counts);
    *begin = row_begin(joint, counts, own, blocks);
    *end = row_begin(joint, counts, own + 1, blocks);
}

/* What this block sums over. */
static void make_part(hw_lasso_joint *joint, uint32_t own, uint32_t blocks)
{
    hw_linear_part *part = &joint->part;
    if (joint->use_gram) {
        part->begin = even_begin(joint->gram.count, own, blocks);
        part->end = even_begin(joint->gram.count, own + 1, blocks);
        part->view = hawser_matrix_rows(&joint->gram.view, part->begin, part->end);
        return;
    }
    hw_lasso_joint_rows(joint, own, blocks, &part->begin, &part->end);
    if (joint->whole.X.layout == HAWSER_DENSE)
        part->view = hawser_matrix_rows(&joint->whole.X, part->begin, part->end);
}

static bool agreed(void *opaque)
{
    return ((const hw_lasso_joint *)opaque)->stopping;
}

static hawser_status begin(hw_lasso_block *block, const double *triangle, const hw_linear_round *round, uint32_t own,
                           hawser_error *error)
{
    hw_lasso_joint *joint = &block->joint;
    if (joint->use_gram)
        hw_lasso_joint_take(joint, triangle);
    joint->stopping = false;
    make_part(joint, own, block->lasso->blocks);
    hw_linear_round whole = *round;
    whole.columns = &joint->whole;
    whole.gain = 1.0; /* nobody else moves */
    whole.stop = (hw_linear_stop){agreed, joint};
    return hw_linear_descent_new(&joint->members, joint->use_gram ? &joint->gram : NULL, &whole, &joint->part,
                                 &joint->descent, error);
}

hawser_status hw_lasso_joint_descend(hw_lasso_block *block, const double *triangle, const hw_linear_round *round,
                                     uint32_t own, double *sums, size_t *changed, hawser_error *error)
{
    hw_lasso_joint *joint = &block->joint;
    hw_linear_share share = {0};
    *changed = 0;
    if (joint->solved)
        return HAWSER_OK;
    if (joint->descent == NULL) {
        HAWSER_TRY(begin(block, triangle, round, own, error));
    } else {
        joint->stopping = hw_linear_reduction_hear(&joint->reduction, sums) || joint->stopping;
        hw_linear_descent_hear(joint->descent, joint->reduction.sums);
    }
    joint->solved = !hw_linear_descent_go(joint->descent);
    if (!joint->solved)
        share = hw_linear_descent_share(joint->descent);
    bool stop = !joint->solved && hw_linear_stopping(round->stop); /* seen by one, heard by all at the same clock */
    *changed = hw_linear_reduction_put(&joint->reduction, share, stop, own, block->lasso->blocks, sums);
    if (joint->solved) {
        hw_linear_descent_free(joint->descent);
        joint->descent = NULL;
    }
    return HAWSER_OK;
}
