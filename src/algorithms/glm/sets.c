#include "algorithms/glm/sets.h"

#include "algorithms/glm/expect.h"

hawser_state *hw_linear_sets_state(const hw_linear_frame *frame, size_t fields)
{
    const hw_linear *linear = frame->driver->linear;
    size_t size = linear->choices.blocks * hw_linear_sets_share(linear, fields);
    hawser_state *sets = hawser_partitioned_state(frame->program, "sets", size, NULL, NULL);
    hawser_state_expect(sets, hw_linear_expected_sets(linear, fields));
    return sets;
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
