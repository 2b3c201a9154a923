/*
 * joint.c - rows are gathered by sums, to which each block contributes its range and zeros elsewhere: exact, and in pieces,
 * so that the memory for a sum is small. Every block takes part, and those that have problems keep the rows.
 */
#include "algorithms/svm/joint.h"

#include <string.h>

#include "algorithms/model/unit.h"
#include "hawser/advanced.h"
#include "hawser/row_kernels.h"

uint64_t hw_svm_joint_bytes(const hw_svm *svm)
{
    bool sparse = svm->path.X->layout == HAWSER_CSR;
    return svm->path.X->stored * (sparse ? 12 : 8) + svm->path.X->rows * (sparse ? 24 : 16);
}

uint64_t hw_svm_joint_copies(const hw_svm *svm, uint32_t nodes)
{
    uint64_t all = svm->path.outputs < svm->path.blocks ? svm->path.outputs : svm->path.blocks;
    return (all + nodes - 1) / nodes;
}

/* ---- a vector over all blocks ---- */

/* A vector of `count` numbers, of which the block has [begin, end), given by `at`. Where a block keeps it, `keep` stores a
 * number. */
typedef struct vector {
    hw_svm_block *block;
    const hawser_matrix *X; /* the block's own rows */
    const hawser_beside *beside;
    size_t count, begin, end;
    double (*at)(const struct vector *v, size_t place); /* place: within the block's range */
    void (*keep)(struct vector *v, size_t place, double value);
    uint64_t before; /* entries of rows before the block's own */
} vector;

static hawser_status gather(hawser_context *context, vector *v, double *piece)
{
    for (size_t from = 0; from < v->count; from += HW_SVM_PIECE) {
        size_t to = v->count - from < HW_SVM_PIECE ? v->count : from + HW_SVM_PIECE;
        memset(piece, 0, (to - from) * sizeof *piece);
        for (size_t e = v->begin > from ? v->begin : from; e < to && e < v->end; e++)
            piece[e - from] = v->at(v, e - v->begin);
        HAWSER_TRY(hawser_allreduce(context, piece, to - from, HAWSER_SUM));
        for (size_t e = from; e < to && v->keep != NULL; e++)
            v->keep(v, e, piece[e - from]);
    }
    return HAWSER_OK;
}

static double length_at(const vector *v, size_t row)
{
    return v->X->layout == HAWSER_CSR ? (double)(v->X->offsets[row + 1] - v->X->offsets[row]) : (double)v->X->cols;
}
static void keep_length(vector *v, size_t row, double length)
{
    uint64_t *offsets = v->block->copy.offsets;
    v->before += row < v->begin ? (uint64_t)length : 0;
    if (offsets != NULL)
        offsets[row + 1] = offsets[row] + (uint64_t)length;
}

static double target_at(const vector *v, size_t row)
{
    return v->beside->target[row];
}
static void keep_target(vector *v, size_t row, double target)
{
    v->block->copy.target[row] = target;
}

static double weight_at(const vector *v, size_t row)
{
    return v->beside->weights != NULL ? v->beside->weights[row] : 1.0;
}
static void keep_weight(vector *v, size_t row, double weight)
{
    v->block->copy.weights[row] = weight;
}

/* Returns where an entry of the block's rows is in the arrays of the matrix. */
static size_t entry_of(const hawser_matrix *X, size_t place)
{
    if (X->layout == HAWSER_CSR)
        return X->offsets[0] + place;
    size_t row = place / X->cols, column = place % X->cols;
    return X->layout == HAWSER_DENSE_ROWS ? row * X->stride + column : column * X->stride + row;
}
static double value_at(const vector *v, size_t place)
{
    size_t e = entry_of(v->X, place);
    return v->X->type == HAWSER_F32 ? (double)((const float *)v->X->values)[e] : ((const double *)v->X->values)[e];
}
static void keep_value(vector *v, size_t place, double value)
{
    v->block->copy.values[place] = value;
}

static double index_at(const vector *v, size_t place)
{
    return v->X->indices[entry_of(v->X, place)];
}
static void keep_index(vector *v, size_t place, double index)
{
    v->block->copy.indices[place] = (uint32_t)index;
}

/* ---- the rows ---- */

static hawser_status new_copy(hawser_context *context, const hw_svm *svm, hw_svm_copy *copy)
{
    size_t n = svm->path.X->rows, stored = svm->path.X->stored;
    bool sparse = svm->path.X->layout == HAWSER_CSR;
    copy->offsets = hw_array_new(&copy->arrays, n + 1, sizeof *copy->offsets);
    copy->indices = hw_array_new(&copy->arrays, sparse ? stored + 1 : 1, sizeof *copy->indices);
    copy->values = hw_array_new(&copy->arrays, stored + 1, sizeof *copy->values);
    copy->target = hw_array_new(&copy->arrays, n + 1, sizeof *copy->target);
    copy->weights = hw_array_new(&copy->arrays, n + 1, sizeof *copy->weights);
    if (copy->arrays.failed)
        return hawser_unit_fail(context, HAWSER_NO_MEMORY, "no memory for a copy of %zu rows with %zu numbers", n, stored);
    return HAWSER_OK;
}

/* Makes the copy what the block works on. */
static void use_copy(hw_svm_block *b)
{
    const hawser_matrix *X = b->svm->path.X;
    bool sparse = X->layout == HAWSER_CSR;
    b->X = (hawser_matrix){.rows = X->rows,
                           .cols = X->cols,
                           .stored = X->stored,
                           .layout = sparse ? HAWSER_CSR : HAWSER_DENSE_ROWS,
                           .type = HAWSER_F64,
                           .offsets = sparse ? b->copy.offsets : NULL,
                           .indices = sparse ? b->copy.indices : NULL,
                           .values = b->copy.values,
                           .stride = X->cols};
    b->beside = (hawser_beside){.count = X->rows, .target = b->copy.target, .weights = b->copy.weights};
    hawser_row_squares(&b->X, b->squares);
}

/* Makes columns of equal values zero, as they count for nothing. */
static void clear_equal(hw_svm_block *b)
{
    const hw_centre *centre = &b->svm->path.centre;
    bool sparse = b->svm->path.X->layout == HAWSER_CSR;
    hawser_simulated_work(NULL, centre->count > 0 ? b->svm->path.X->stored : 0);
    for (uint64_t e = 0; centre->count > 0 && e < b->svm->path.X->stored; e++)
        if (centre->equal[sparse ? b->copy.indices[e] : e % b->svm->path.X->cols])
            b->copy.values[e] = 0.0;
}

static hawser_status gather_all(hawser_context *context, hw_svm_block *b, double *piece)
{
    HAWSER_READ(context, hawser_matrix, X);
    hawser_beside beside;
    uint64_t own = 0;
    bool keeps = b->problems > 0;
    HW_UNIT_TRY(context, hawser_dataset_beside(b->svm->path.data, X->first, X->rows, &beside, &error));
    hw_svm_copy_release(&b->copy);
    if (keeps)
        HAWSER_TRY(new_copy(context, b->svm, &b->copy));
    vector rows = {b, X, &beside, b->svm->path.X->rows, X->first, X->first + X->rows, length_at, keep_length, 0};
    for (size_t i = 0; i < X->rows; i++)
        own += (uint64_t)length_at(&rows, i);
    HAWSER_TRY(gather(context, &rows, piece));
    rows.at = target_at;
    rows.keep = keeps ? keep_target : NULL;
    HAWSER_TRY(gather(context, &rows, piece));
    rows.at = weight_at;
    rows.keep = keeps ? keep_weight : NULL;
    HAWSER_TRY(gather(context, &rows, piece));
    vector entries = {
        b, X, &beside, b->svm->path.X->stored, rows.before, rows.before + own, value_at, keeps ? keep_value : NULL, 0};
    HAWSER_TRY(gather(context, &entries, piece));
    entries.at = index_at;
    entries.keep = keeps ? keep_index : NULL;
    if (b->svm->path.X->layout == HAWSER_CSR)
        HAWSER_TRY(gather(context, &entries, piece));
    if (keeps) {
        clear_equal(b);
        use_copy(b);
    }
    return HAWSER_OK;
}

hawser_status hw_svm_gather(hawser_context *context, hw_svm_block *b)
{
    return gather_all(context, b, b->reduced);
}

void hw_svm_copy_visit(hawser_record *record, hawser_context *context, hw_svm_block *b)
{
    if (!b->svm->joint || b->newton || b->problems == 0)
        return;
    hw_svm_copy *copy = &b->copy;
    size_t n = b->svm->path.X->rows, stored = b->svm->path.X->stored;
    bool has = copy->values != NULL;
    hawser_record_bytes(record, &has, sizeof has);
    if (!has || (hawser_record_reads(record) && new_copy(context, b->svm, copy) != HAWSER_OK))
        return;
    if (b->svm->path.X->layout == HAWSER_CSR) {
        hawser_record_bytes(record, copy->offsets, (n + 1) * sizeof *copy->offsets);
        hawser_record_bytes(record, copy->indices, stored * sizeof *copy->indices);
    }
    hawser_record_bytes(record, copy->values, stored * sizeof *copy->values);
    hawser_record_bytes(record, copy->target, n * sizeof *copy->target);
    hawser_record_bytes(record, copy->weights, n * sizeof *copy->weights);
    if (hawser_record_reads(record))
        use_copy(b);
}

hawser_status hw_svm_exchange(hawser_context *context, hw_svm_block *b)
{
    double *values = b->reduced;
    size_t width = b->width;
    for (size_t p = 0; p < b->svm->path.outputs; p++) {
        hw_svm_memory *m = &b->memory[p];
        double *best = b->best + p * width;
        if (m->done)
            continue;
        memset(values, 0, (width + 4) * sizeof *values);
        if (hw_svm_has(b, p)) {
            memcpy(values, best, width * sizeof *best);
            values[width] = m->high;
            values[width + 1] = m->low;
            values[width + 2] = m->high_error;
            values[width + 3] = m->low_error;
        }
        HAWSER_TRY(hawser_allreduce(context, values, width + 4, HAWSER_SUM));
        memcpy(best, values, width * sizeof *best);
        m->high = values[width];
        m->low = values[width + 1];
        m->high_error = values[width + 2];
        m->low_error = values[width + 3];
    }
    return HAWSER_OK;
}
