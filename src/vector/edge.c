#include "vector/edge.h"

#include <stddef.h>

/* Items beyond `most` that a receiver may hold: the flushes of a barrier and of a finish. */
enum { FLUSHES = 2 };

/* ----------------------------------------------------------------------------------------------------- the sender's ---- */

static bool has_space(const hw_edge_out *edge)
{
    return edge->sent - edge->gathered < edge->rules->most;
}

bool hw_edge_open(const hw_edge_out *edge)
{
    if (edge->ended || (edge->rules->sync == HW_VECTOR_TAP && !edge->rules->waits))
        return true;
    return edge->pending == NULL && has_space(edge);
}

bool hw_edge_idle(const hw_edge_out *edge)
{
    return edge->pending == NULL && has_space(edge);
}

bool hw_edge_drops(const hw_edge_out *edge)
{
    return edge->ended && !edge->rules->deltas;
}

hw_message *hw_edge_begin(hw_edge_out *edge)
{
    edge->begun = true;
    return edge->pending;
}

void hw_edge_end(hw_edge_out *edge, hw_message *item, bool added)
{
    edge->begun = false;
    edge->added += added;
    if (item != NULL && item != edge->pending) {
        edge->overwritten += !added && edge->pending != NULL && edge->pending->envelope.span > 0;
        hw_message_free(edge->pending);
        edge->pending = item;
    }
    if (hw_edge_drops(edge)) { /* the receiver has ended in between */
        hw_message_free(edge->pending);
        edge->pending = NULL;
    }
}

void hw_edge_flush(hw_edge_out *edge)
{
    edge->flushes = edge->pending != NULL;
}

hw_message *hw_edge_next(hw_edge_out *edge)
{
    hw_message *item = edge->pending;
    if (item == NULL || edge->begun || (!edge->flushes && !has_space(edge)))
        return NULL;
    edge->pending = NULL;
    edge->flushes = false;
    edge->messages += item->envelope.span > 0;
    edge->bytes += item->envelope.length;
    item->envelope.epoch = ++edge->sent;
    return item;
}

bool hw_edge_acknowledged(hw_edge_out *edge, uint64_t number)
{
    if (number <= edge->gathered || number > edge->sent)
        return false;
    edge->gathered = number;
    return true;
}

void hw_edge_receiver_ended(hw_edge_out *edge)
{
    edge->ended = true;
    if (edge->begun || !hw_edge_drops(edge))
        return;
    hw_message_free(edge->pending);
    edge->pending = NULL;
}

void hw_edge_out_free(hw_edge_out *edge)
{
    hw_message_free(edge->pending);
    edge->pending = NULL;
}

/* --------------------------------------------------------------------------------------------------- the receiver's ---- */

/* Returns whether the item is the next one, and its iteration follows that of the one before. */
static bool follows(const hw_edge_in *edge, const hw_envelope *item)
{
    if (edge->ended || item->epoch != edge->arrived + 1 || edge->held >= edge->rules->most + FLUSHES)
        return false;
    if (edge->arrived == 0)
        return true;
    /* A sum has several iterations, and the pending item of an ended receiver replaces one without numbers. */
    return edge->rules->sync == HW_VECTOR_TAP || edge->closes || item->span > 1 ? item->clock > edge->newest
                                                                                : item->clock == edge->newest + 1;
}

bool hw_edge_arrived(hw_edge_in *edge, hw_message *item)
{
    if (!follows(edge, &item->envelope))
        return false;
    item->next = NULL;
    if (edge->last != NULL)
        edge->last->next = item;
    else
        edge->first = item;
    edge->last = item;
    edge->held++;
    if (edge->arrived == 0)
        edge->begins = item->envelope.clock;
    edge->arrived = item->envelope.epoch;
    edge->newest = item->envelope.clock;
    return true;
}

bool hw_edge_ready(const hw_edge_in *edge, uint64_t iteration)
{
    const hw_edge_rules *rules = edge->rules;
    uint64_t slack = rules->sync == HW_VECTOR_SSP ? rules->slack : 0;
    if (rules->sync == HW_VECTOR_TAP || edge->ended || iteration < slack || iteration - slack < rules->first)
        return true;
    /* A sender that began with another iteration may never come to this one: the gather refuses it. */
    return edge->arrived > 0 && (edge->newest >= iteration - slack || edge->begins != rules->first);
}

hw_message *hw_edge_take(hw_edge_in *edge, uint64_t iteration, uint64_t *number)
{
    hw_message *first = edge->first, **at = &first;
    bool only = edge->rules->sync == HW_VECTOR_BSP;
    *number = 0;
    while (*at != NULL && (!only || (*at)->envelope.clock <= iteration)) {
        *number = (*at)->envelope.epoch;
        edge->held--;
        at = &(*at)->next;
    }
    edge->first = *at;
    *at = NULL;
    if (edge->first == NULL)
        edge->last = NULL;
    return first;
}

hw_message *hw_edge_take_all(hw_edge_in *edge)
{
    hw_message *first = edge->first;
    edge->first = edge->last = NULL;
    edge->held = 0;
    return first;
}

void hw_edge_put_back(hw_edge_in *edge, hw_message *item)
{
    item->next = edge->first;
    edge->first = item;
    if (edge->last == NULL)
        edge->last = item;
    edge->held++;
}

void hw_edge_in_free(hw_edge_in *edge)
{
    hw_messages_free(hw_edge_take_all(edge));
    hw_message_free(edge->rest);
    edge->rest = NULL;
}
