#include "algorithms/solve/reduction.h"

#include <stdlib.h>
#include <string.h>

/* Sets stand entry by entry beside each other, so that what changes in a clock is one stretch. */
enum { SETS = 2 };

static size_t place(size_t entry, size_t set)
{
    return 1 + SETS * entry + set;
}

size_t hw_linear_reduction_size(size_t most)
{
    return place(most, 0);
}

hawser_status hw_linear_reduction_new(hw_linear_reduction *reduction, size_t most, hawser_error *error)
{
    *reduction = (hw_linear_reduction){.sums = malloc((most + 1) * sizeof(double))};
    if (reduction->sums == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu sums over all blocks", most);
    return HAWSER_OK;
}

void hw_linear_reduction_free(hw_linear_reduction *reduction)
{
    free(reduction->sums);
    *reduction = (hw_linear_reduction){0};
}

bool hw_linear_reduction_hear(hw_linear_reduction *reduction, const double *state)
{
    for (size_t i = 0; i < reduction->held; i++)
        reduction->sums[i] = state[place(i, !reduction->turn)];
    return state[0] > 0.0;
}

size_t hw_linear_reduction_put(hw_linear_reduction *reduction, hw_linear_share share, bool stop, uint32_t own,
                               uint32_t blocks, double *state)
{
    size_t held = reduction->held, most = held > share.all ? held : share.all;
    for (size_t i = held * own / blocks; i < held * (own + 1) / blocks; i++)
        state[place(i, !reduction->turn)] = 0.0;
    for (size_t i = 0; i < share.count; i++)
        state[place(share.first + i, reduction->turn)] += share.values[i];
    double asked = stop ? 1.0 : 0.0;
    state[0] += asked - reduction->asked;
    reduction->asked = asked;
    reduction->held = share.all;
    reduction->turn = !reduction->turn;
    return place(most, 0);
}
