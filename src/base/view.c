#include "base/view.h"

#include <stdlib.h>

#include "base/memory.h"

hawser_status hw_view_first(uint32_t blocks, uint32_t nodes, hw_view *view, hawser_error *error)
{
    *view = (hw_view){.number = HW_VIEW_FIRST, .blocks = blocks, .nodes = nodes};
    HAWSER_TRY(HW_NEW(&view->node, blocks, "the places of blocks", error));
    for (uint64_t node = 0; node < nodes; node++)
        for (uint64_t b = blocks * node / nodes; b < blocks * (node + 1) / nodes; b++)
            view->node[b] = (uint32_t)node;
    return HAWSER_OK;
}

void hw_view_free(hw_view *view)
{
    free(view->node);
    *view = (hw_view){0};
}

uint32_t hw_view_count(const hw_view *view, uint32_t node)
{
    uint32_t count = 0;
    for (uint32_t b = 0; b < view->blocks; b++)
        count += view->node[b] == node;
    return count;
}

uint32_t hw_view_next(const hw_view *view, uint32_t node, uint32_t from)
{
    while (from < view->blocks && view->node[from] != node)
        from++;
    return from;
}

bool hw_view_in_order(const hw_view *view)
{
    if (view->blocks == 0 || view->node[0] != 0 || view->node[view->blocks - 1] != view->nodes - 1)
        return false;
    for (uint32_t b = 1; b < view->blocks; b++)
        if (view->node[b] != view->node[b - 1] && view->node[b] != view->node[b - 1] + 1)
            return false;
    return true;
}
