/* points.c - the rules of kept points: a state is kept as it is, and goes back to what was kept last at the same point. */
#include <inttypes.h>

#include "history/walk.h"

/* Returns the record by which this block kept the state of the record at its point; NULL: before the checkpoint, if any. */
static const hw_event_record *kept_before(const hw_block_walk *w)
{
    const hw_event_record *r = hw_walk_here(w);
    for (size_t i = w->at; i-- > 0;) {
        const hw_event_record *before = &w->stream->records[i];
        if (before->kind == HW_EVENT_KEPT && before->object == r->object && before->part == r->part)
            return before;
    }
    return NULL;
}

bool hw_walk_point(hw_block_walk *w, hw_state_walk *k)
{
    const hw_event_record *r = hw_walk_here(w), *kept = r->kind == HW_EVENT_BACK ? kept_before(w) : r;
    hw_applied(w->checker, HW_RULE_VALUE);
    if (r->epoch != k->epoch)
        return HW_WALK_ALONE(w, HW_RULE_ORDER, "a record of epoch %" PRIu64 ", which is not the last", r->epoch);
    bool changing = k->begun && k->moved != 0; /* by updates that no read has seen yet */
    if (r->kind == HW_EVENT_KEPT && !changing && r->digest != k->digest)
        return HW_WALK_ALONE(w, HW_RULE_VALUE, "block %" PRIu32 " keeps other values than it has", w->block);
    if (kept != NULL ? r->digest != kept->digest : w->resumed == NULL)
        return HW_WALK_ALONE(w, HW_RULE_VALUE, "block %" PRIu32 " goes back to values that it has not kept", w->block);
    k->digest = r->digest;
    k->held = r->kind == HW_EVENT_BACK ? 0 : k->held;
    k->forgotten = k->forgotten && r->kind == HW_EVENT_KEPT;
    return true;
}
