/*
 * combined.c - the rules of updates that relays send on under SSP and TAP, and add up (exchange/combined.h). A sum of n
 * updates has n records of SEEN, one behind the other, each of which names one update and has the number of those that
 * follow, and the numbers of the sum.
 */
#include <inttypes.h>

#include "base/hash.h"
#include "history/walk.h"

/* Returns whether the record before this one is of the same sum. */
bool hw_walk_follows(const hw_block_walk *w)
{
    return w->at > 0 && hw_walk_here(w)[-1].kind == HW_EVENT_SEEN && hw_walk_here(w)[-1].more > 0;
}

/* Checks that the records of a sum follow each other, and have the same numbers. */
bool hw_walk_check_following(hw_block_walk *w)
{
    const hw_event_record *r = hw_walk_here(w);
    if (!hw_walk_follows(w))
        return true;
    const hw_event_record *before = r - 1;
    if (r->kind == HW_EVENT_SEEN && r->object == before->object && r->epoch == before->epoch && r->range == before->range &&
        r->more + 1 == before->more && r->covers == before->covers && r->count == before->count &&
        r->digest == before->digest)
        return true;
    return HW_WALK_WITH(w, HW_RULE_RECORD, w->stream, w->at - 1, "a sum of %" PRIu32 " more updates ends here",
                        before->more);
}

/* Notes that all blocks of this node must have the same bits of a sum, and all blocks those of a range of a single
 * update. */
static void note_sum(hw_block_walk *w)
{
    const hw_event_record *r = hw_walk_here(w);
    uint64_t key = w->stream->node;
    if (r->covers == 1) {
        hw_walk_agree(w, r->clock, HW_AGREE_SUM | (uint64_t)r->part << 8, hw_sum_key(r->from, 1, r->range));
        return;
    }
    for (const hw_event_record *at = r + 1 - r->covers; at <= r; at++) {
        const uint64_t update[] = {at->from, at->clock, (uint64_t)at->span << 32 | at->part, at->flags, at->range};
        key = hw_hash(update, sizeof update, key);
    }
    hw_walk_agree(w, r->clock, HW_AGREE_COMBINED, key);
}

/* Checks the values of a sum when its last record is read. Digests do not have those of a sum, except if at most one of its
 * updates changes something. */
static bool check_whole_sum(hw_block_walk *w)
{
    const hw_event_record *r = hw_walk_here(w);
    const hw_indexed *only = NULL;
    uint32_t changing = 0;
    for (const hw_event_record *at = r + 1 - r->covers; at <= r; at++) {
        const hw_indexed *written = hw_walk_write_of(w, at->from, at->clock, at->part);
        bool changes = written == NULL || hw_record_of(written)->digest != 0;
        changing += written == NULL ? 2 : changes; /* lost: unknown */
        only = changes ? written : only;
    }
    note_sum(w);
    if (changing > 1 || (changing == 1 && r->range > 0))
        return w->status == HAWSER_OK;
    hw_applied(w->checker, HW_RULE_VALUE);
    if (r->digest == (changing == 0 ? 0 : hw_record_of(only)->digest))
        return w->status == HAWSER_OK;
    return only != NULL
               ? hw_walk_differs(w, only)
               : HW_WALK_ALONE(w, HW_RULE_VALUE, "block %" PRIu32 " sees a sum of updates that change nothing", w->block);
}

/* Checks an update that relays have sent on, alone or in a sum: it is of another node, and the next one of its block. */
bool hw_walk_check_combined(hw_block_walk *w, hw_state_walk *k, size_t range)
{
    const hw_event_record *r = hw_walk_here(w);
    const hw_indexed *written;
    uint32_t node = hw_walk_node_of(w, r->from);
    hw_applied(w->checker, HW_RULE_ONCE);
    if (node != HW_HISTORY_NONE && node == w->stream->node)
        return HW_WALK_ALONE(w, HW_RULE_ONCE, "an update of block %" PRIu32 " returns to its node", r->from);
    if (!hw_walk_check_next(w, k, range, &written))
        return false;
    return r->more > 0 || check_whole_sum(w);
}
