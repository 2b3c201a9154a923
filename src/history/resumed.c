/* resumed.c - the rules of a job that goes on from a checkpoint: all blocks begin with what they have read, at one clock of
 * one epoch. */
#include <inttypes.h>

#include "base/bits.h"
#include "history/walk.h"

bool hw_walk_resumed(hw_block_walk *w)
{
    hw_applied(w->checker, HW_RULE_ORDER);
    if (w->resumed != NULL || w->credited)
        return HW_WALK_ALONE(w, HW_RULE_ORDER, "block %" PRIu32 " goes on from a checkpoint after it has begun", w->block);
    w->resumed = hw_walk_here(w);
    return true;
}

bool hw_walk_restored(hw_block_walk *w, hw_state_walk *k)
{
    const hw_event_record *r = hw_walk_here(w);
    hw_applied(w->checker, HW_RULE_VALUE);
    if (w->resumed == NULL || w->credited || k->restored != NULL)
        return HW_WALK_ALONE(w, HW_RULE_VALUE, "block %" PRIu32 " reads a state from a checkpoint where it cannot",
                             w->block);
    bool holds = (k->state->flags & HW_EVENT_HOLDS) != 0;
    if (r->count != k->state->count || ((r->first == 0) != (r->last == UINT64_MAX)) ||
        (r->first > 0 && (!holds || r->first > r->count)))
        return HW_WALK_ALONE(w, HW_RULE_RECORD, "block %" PRIu32 " has read %" PRIu64 " entries and %" PRIu64 " held ones",
                             w->block, r->count, r->first);
    k->restored = r;
    k->digest = r->digest;
    k->held = r->first;
    return true;
}

bool hw_walk_check_begin(hw_block_walk *w, const hw_state_walk *k)
{
    const hw_event_record *r = hw_walk_here(w);
    bool plain = (r->flags & HW_EVENT_PLAIN) != 0;
    uint64_t clock = plain ? 0 : hw_first_clock(w->resumed, r->epoch);
    if (w->resumed != NULL && k->restored == NULL)
        return HW_WALK_ALONE(w, HW_RULE_VALUE, "block %" PRIu32 " goes on with a state that it has not read", w->block);
    if (r->clock == clock * (r->first != 0 ? hw_bits_set(r->first) : 1))
        return true;
    return HW_WALK_ALONE(w, HW_RULE_ORDER, "block %" PRIu32 " begins epoch %" PRIu64 " with exchange %" PRIu64, w->block,
                         r->epoch, r->clock);
}

bool hw_walk_check_first_credit(hw_block_walk *w)
{
    const hw_event_record *r = hw_walk_here(w), *from = w->resumed;
    hw_applied(w->checker, HW_RULE_ORDER);
    if (r->clock != hw_first_clock(from, r->epoch))
        return HW_WALK_ALONE(w, HW_RULE_ORDER, "block %" PRIu32 " begins epoch %" PRIu64 " with clock %" PRIu64, w->block,
                             r->epoch, r->clock);
    /* Within an epoch the first credit is of that epoch; else of a later one. */
    if (from != NULL && !w->credited && (from->clock > 0 ? r->epoch != from->epoch : r->epoch <= from->epoch))
        return HW_WALK_ALONE(w, HW_RULE_ORDER,
                             "block %" PRIu32 " goes on with epoch %" PRIu64 ", and the checkpoint is of epoch %" PRIu64,
                             w->block, r->epoch, from->epoch);
    return true;
}
