/* route.c - sets the routes of a net from a topology's trees. */
#include <stdlib.h>

#include "base/memory.h"
#include "exchange/topology.h"
#include "transport/net/net.h"

hawser_status hw_topology_routes(const hw_topology *topology, hw_net *net, hawser_error *error)
{
    uint32_t nodes = hw_topology_nodes(topology), *children = NULL;
    hw_net_clear_routes(net); /* a job before on these nodes may have had others */
    if (hw_topology_direct(topology))
        return HAWSER_OK;
    HAWSER_TRY(HW_NEW(&children, nodes, "a node's routes", error));
    hawser_status status = HAWSER_OK;
    for (uint32_t origin = 0; origin < nodes && status == HAWSER_OK; origin++) {
        uint32_t count = hw_topology_children(topology, origin, hw_net_number(net), children);
        status = hw_net_route(net, origin, children, count, error);
    }
    free(children);
    return status;
}
