/* route.c - the routes of messages that are sent to all nodes. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "transport/net/parts.h"

static const hw_route *find(const hw_net *net, uint32_t origin)
{
    return origin < net->route_count ? net->routes[origin] : NULL;
}

/* Extends the table. With the lock held for writing. */
static hawser_status make_space(hw_net *net, uint32_t origin, hawser_error *error)
{
    size_t capacity = net->route_count;
    if (origin >= HW_LINK_PAGE * HW_LINK_PAGES)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "node number %u is too large: at most %d", origin,
                           HW_LINK_PAGE * HW_LINK_PAGES - 1);
    HAWSER_TRY(HW_GROW(&net->routes, &capacity, (size_t)origin + 1, "the table of routes", error));
    for (size_t i = net->route_count; i < capacity; i++)
        net->routes[i] = NULL;
    net->route_count = (uint32_t)capacity;
    return HAWSER_OK;
}

hawser_status hw_net_route(hw_net *net, uint32_t origin, const uint32_t *children, uint32_t count, hawser_error *error)
{
    hw_route *made = malloc(sizeof *made + count * sizeof *children), *old = NULL;
    if (made == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot allocate a route to %u nodes", count);
    made->count = count;
    if (count > 0)
        memcpy(made->children, children, count * sizeof *children);
    pthread_rwlock_wrlock(&net->routing);
    hawser_status status = make_space(net, origin, error);
    if (status == HAWSER_OK) {
        old = net->routes[origin];
        net->routes[origin] = made;
    }
    pthread_rwlock_unlock(&net->routing);
    free(status == HAWSER_OK ? old : made);
    return status;
}

void hw_net_clear_routes(hw_net *net)
{
    pthread_rwlock_wrlock(&net->routing);
    for (uint32_t i = 0; i < net->route_count; i++) {
        free(net->routes[i]);
        net->routes[i] = NULL;
    }
    pthread_rwlock_unlock(&net->routing);
}

void hw_route_free(hw_net *net)
{
    for (uint32_t i = 0; i < net->route_count; i++)
        free(net->routes[i]);
    free(net->routes);
}

/* Forwards to one node. Of several failures the first is reported. */
static void pass_on(hw_net *net, uint32_t node, uint32_t origin, const hw_message *message, hawser_status *status,
                    hawser_error *error)
{
    hw_message *copy;
    hawser_error own;
    hawser_status said = hw_message_share(message, &copy, &own);
    if (said == HAWSER_OK) {
        copy->origin = origin;
        copy->spread = 1;
        hw_link *link;
        said = hw_net_reach(net, node, &link, &own);
        if (said != HAWSER_OK)
            hw_message_free(copy);
        else if (!hw_link_send(link, copy))
            said = hw_link_gone(link, &own);
    }
    if (*status == HAWSER_OK && said != HAWSER_OK)
        *status = hawser_fail(error, said, "%s", own.text);
}

hawser_status hw_route_forward(hw_net *net, uint32_t origin, const hw_message *message, hawser_error *error)
{
    hawser_status status = HAWSER_OK;
    pthread_rwlock_rdlock(&net->routing);
    const hw_route *route = find(net, origin);
    for (uint32_t i = 0; route != NULL && i < route->count; i++)
        pass_on(net, route->children[i], origin, message, &status, error);
    pthread_rwlock_unlock(&net->routing);
    return status;
}

/* Returns whether a message for all leaves out a node. */
static bool is_left(const hw_net *net, uint32_t node)
{
    const hw_link *link = hw_net_link(net, node);
    return link != NULL ? atomic_load(&link->state) == HW_LINK_LEFT : atomic_load(&net->gone[node]) == HW_GONE_LEFT;
}

hawser_status hw_net_spread(hw_net *net, hw_message *message, hawser_error *error)
{
    uint32_t self = hw_net_number(net);
    hawser_status status = HAWSER_OK;
    hw_net_stamp(net, &message->envelope);
    pthread_rwlock_rdlock(&net->routing);
    const bool routed = find(net, self) != NULL;
    pthread_rwlock_unlock(&net->routing);
    if (routed)
        status = hw_route_forward(net, self, message, error);
    const uint32_t known = atomic_load_explicit(&net->known, memory_order_acquire);
    for (uint32_t node = 0; !routed && node < known; node++)
        if (node != self && !is_left(net, node))
            pass_on(net, node, self, message, &status, error);
    for (hw_link *link = routed || known > 0 ? NULL : atomic_load(&net->links); link != NULL; link = link->next)
        if (atomic_load(&link->state) != HW_LINK_LEFT)
            pass_on(net, link->node, self, message, &status, error);
    hw_message_free(message);
    return status;
}
