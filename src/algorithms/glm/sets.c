#include "algorithms/glm/sets.h"

#include "algorithms/glm/expect.h"

hawser_state *hw_linear_sets_state(const hw_linear_frame *frame, size_t fields)
{
    const hw_linear *linear = frame->driver->linear;
    size_t size = linear->choices.blocks * hw_linear_sets_share(linear, fields);
    return HAWSER_STATE(frame->program, "sets", HAWSER_PARTITIONED, .rows = size,
                        .expect = hw_linear_expected_sets(linear, fields));
}

/* Returns the entries that so many columns have at most. Columns are counted by powers of two. */
static size_t most_entries(const hawser_matrix *X, size_t columns)
{
    enum { POWERS = 65 };
    uint64_t count[POWERS] = {0}, entries[POWERS] = {0}, most = 0;
    if (X->layout == HAWSER_DENSE || X->layout == HAWSER_DENSE_ROWS)
        return columns * X->rows;
    for (size_t j = 0; j < X->cols; j++) {
        uint64_t stored = X->offsets[j + 1] - X->offsets[j];
        int power = 0;
        while (stored >> power > 1)
            power++;
        count[power]++;
        entries[power] += stored;
    }
    for (int power = POWERS - 1; power >= 0 && columns > 0; power--) {
        if (count[power] == 0)
            continue; /* the highest powers are too wide for a shift, and no column has them */
        uint64_t taken = count[power] < columns ? count[power] : columns, widest = taken << (power + 1);
        most += widest < entries[power] ? widest : entries[power];
        columns -= (size_t)taken;
    }
    return (size_t)most;
}

hawser_state *hw_linear_whole_state(const hw_linear_frame *frame)
{
    const hw_linear *linear = frame->driver->linear;
    const hawser_matrix *X = linear->problem.X;
    return HAWSER_STATE(frame->program, "whole", HAWSER_DATA, .matrix = X, .split = HAWSER_FETCHED,
                        .expect = most_entries(X, hw_linear_expected(linear)));
}

size_t hw_linear_sets_share(const hw_linear *linear, size_t fields)
{
    return 1 + hw_linear_most_of_share(linear) * fields;
}

hw_linear_sets hw_linear_sets_of(const hw_linear *linear, size_t fields, const double *values)
{
    return (hw_linear_sets){
        .values = values, .share = hw_linear_sets_share(linear, fields), .fields = fields, .blocks = linear->choices.blocks};
}

const double *hw_linear_sets_next(hw_linear_sets *sets)
{
    for (; sets->block < sets->blocks; sets->block++, sets->at = 0) {
        const double *share = sets->values + sets->block * sets->share;
        if (sets->at < (size_t)share[0])
            return share + 1 + sets->at++ * sets->fields;
    }
    return NULL;
}

size_t hw_linear_sets_count(const hw_linear_sets *sets)
{
    size_t count = 0;
    for (uint32_t b = 0; b < sets->blocks; b++)
        count += (size_t)sets->values[b * sets->share];
    return count;
}
