/* stamp.c - stamps the messages that leave a net with incarnation and view, and checks those that arrive. */
#include "transport/net/parts.h"

void hw_net_set_view(hw_net *net, uint32_t view)
{
    atomic_store_explicit(&net->view, view, memory_order_release);
}

void hw_net_stamp(const hw_net *net, hw_envelope *envelope)
{
    envelope->incarnation = net->incarnation;
    envelope->view = atomic_load_explicit(&net->view, memory_order_acquire);
}

/* A link proves the process at its other end. A forwarded message may be older than the process that has the number now. */
bool hw_net_stamp_holds(const hw_net *net, uint32_t origin, const hw_envelope *envelope)
{
    const hw_link *link = hw_net_link(net, origin);
    hw_net_hello known;
    if (link == NULL && origin < atomic_load_explicit(&net->known, memory_order_acquire)) /* it came over relays */
        net->describe(net->events.argument, origin, &known);
    else if (link == NULL)
        return false;
    uint64_t incarnation = link != NULL ? link->hello.incarnation : known.incarnation;
    if (envelope->incarnation != hw_net_short_incarnation(incarnation))
        return false;
    return hw_message_scope(envelope->kind) == HW_SCOPE_CLUSTER ||
           envelope->view == atomic_load_explicit(&net->view, memory_order_acquire);
}
