/* round.c - deltas in fewer bits, as a property of a state: rounded alike over every transport, so results do not depend on
 * the transport. */
#include <math.h>

#include "exchange/replica.h"

double hw_rounded(const hw_replica *replica, size_t entry)
{
    double value = replica->numbers->load(replica->held, entry);
    if (replica->spec.rounding != HW_INT8)
        return hw_narrowed(value, replica->spec.rounding);
    int exponent = replica->scales[entry / HW_TILE];
    double number = rint(hw_scaled(value, exponent));
    return copysign(fmin(fabs(number), 127), number) * hw_power_of_two(exponent);
}

static void find_scale(hw_replica *replica, size_t tile)
{
    double most = 0;
    for (size_t i = tile * HW_TILE; i < hw_tile_end(replica, tile); i++)
        if (hw_bit(replica->selected, i))
            most = fmax(most, fabs(replica->numbers->load(replica->held, i)));
    replica->scales[tile] = (int16_t)hw_scale_for(most);
}

void hw_round_selected(hw_replica *replica)
{
    for (size_t tile = 0; tile < replica->tiles; tile++) {
        if (replica->spec.rounding == HW_INT8)
            find_scale(replica, tile);
        for (size_t i = tile * HW_TILE; i < hw_tile_end(replica, tile); i++) {
            if (!hw_bit(replica->selected, i) || hw_rounded(replica, i) != 0)
                continue;
            hw_clear_bit(replica->selected, i);
            hw_set_bit(replica->rest, i);
        }
    }
}
