#include "store/arcs.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"

hawser_status hw_arcs_deal(uint64_t first, uint64_t last, uint32_t servers, uint64_t most, hw_arcs *arcs,
                           hawser_error *error)
{
    /* The span is the number of keys less one, because that number may be 2^64. */
    uint64_t span = last - first, turns = servers == 1 ? 1 : span / (servers * most) + 1;
    turns = turns < HW_ARCS_MOST ? turns : HW_ARCS_MOST;
    uint64_t count = servers * turns, keys = span / count, longer = span % count + 1; /* arcs with one key more */
    if (keys == 0)
        count = longer;
    *arcs = (hw_arcs){0};
    HAWSER_TRY(HW_NEW(&arcs->arcs, count, "the ranges of a table", error));
    for (uint32_t server = 0; arcs->count < count; server = server + 1 < servers ? server + 1 : 0) {
        uint64_t own = arcs->count < longer ? keys : keys - 1; /* keys of this arc, less one */
        arcs->arcs[arcs->count++] = (hw_arc){first, first + own, server};
        first += own + 1;
    }
    return HAWSER_OK;
}

void hw_arcs_free(hw_arcs *arcs)
{
    free(arcs->arcs);
    *arcs = (hw_arcs){0};
}

size_t hw_arcs_find(const hw_arcs *arcs, uint64_t key)
{
    return hw_range_of(arcs->arcs, sizeof *arcs->arcs, arcs->count, key);
}
