/* blocks.c - the rules of states and blocks: which updates each block had merged when a clock began (docs/guarantees.md). */
#include <inttypes.h>
#include <string.h>

#include "base/bits.h"
#include "base/digest.h"
#include "base/order.h"
#include "history/walk.h"

enum { BLOCKS_MOST = 65536 /* the limit of --workers */ };

static bool is_source(const hw_state_walk *k, uint32_t block)
{
    return k->from == HW_HISTORY_NONE || k->from == block;
}

/* Records that an update which may change the state has been merged. Under BSP it counts from the start of the next clock;
 * updates of later clocks may arrive before that (credit bounds how many). */
static void note_moved(hw_state_walk *k, uint64_t clock, bool moved)
{
    k->moved |= (uint64_t)moved << (k->steps ? clock % 64 : 0);
}

/* Returns whether the state may have changed when `clock` begins, and forgets it. */
static bool take_moved(hw_state_walk *k, uint64_t clock)
{
    uint64_t bit = UINT64_C(1) << (k->steps ? (clock - 1) % 64 : 0);
    bool moved = (k->moved & bit) != 0;
    k->moved &= ~bit;
    return moved;
}

static bool is_before(hw_reach a, hw_reach b)
{
    return a.done < b.done || (a.done == b.done && a.part < b.part);
}

/* Returns the clocks and parts of a source's range that are merged. */
static hw_reach reach_of(const hw_block_walk *w, hw_state_walk *k, uint32_t source, size_t range)
{
    hw_reach whole = hw_places_at(&k->whole, source), own = hw_places_at(&k->range, range * w->blocks + source);
    return is_before(whole, own) ? own : whole;
}

/* Returns the next range whose progress may differ from this one's, or `end`. Most ranges are equal when few updates have
 * been merged. */
static size_t range_after(const hw_block_walk *w, hw_state_walk *k, size_t range, size_t end)
{
    uint64_t next = hw_places_alike(&k->range, (uint64_t)range * w->blocks) / w->blocks;
    return next > end ? end : next > range ? (size_t)next : range + 1;
}

/* Returns the clocks of a source that are merged over all ranges. */
static uint64_t done_of(const hw_block_walk *w, hw_state_walk *k, uint32_t source)
{
    if (source == w->block)
        return k->own;
    uint64_t least = UINT64_MAX;
    for (size_t range = 0; range < k->ranges; range = range_after(w, k, range, k->ranges)) {
        uint64_t done = reach_of(w, k, source, range).done;
        least = done < least ? done : least;
    }
    return least;
}

/* Returns the clocks that are merged of all blocks, and stores those of the furthest block. */
static uint64_t least_done(const hw_block_walk *w, hw_state_walk *k, uint64_t *most)
{
    uint64_t least = UINT64_MAX;
    *most = 0;
    for (uint32_t source = 0; source < w->blocks; source++)
        if (is_source(k, source)) {
            uint64_t done = done_of(w, k, source);
            least = done < least ? done : least;
            *most = done > *most ? done : *most;
        }
    return least;
}

/* Adds a record to those that must agree on all blocks, by this key. */
void hw_walk_agree(hw_block_walk *w, uint64_t clock, uint64_t what, uint64_t more)
{
    const hw_event_record *r = hw_walk_here(w);
    const uint64_t key[5] = {(uint64_t)w->stream->name.run << 32 | r->object, r->epoch, clock, what, more};
    if (w->status == HAWSER_OK)
        w->status = hw_index_add(w->agree, key, w->stream, w->at, w->error);
}

const hw_indexed *hw_walk_write_of(const hw_block_walk *w, uint32_t source, uint64_t clock, uint32_t part)
{
    const hw_event_record *r = hw_walk_here(w);
    const uint64_t key[5] = {(uint64_t)w->stream->name.run << 32 | r->object, r->epoch, clock, part, source};
    size_t count;
    return hw_index_find(&w->checker->writes, key, &count);
}

/* ----------------------------------------------------------------------------------------------------------- losses ---- */

/* Returns the node of a block's stream. If the stream is missing, that is the only node without a whole file, if there is
 * just one. */
uint32_t hw_walk_node_of(const hw_block_walk *w, uint32_t block)
{
    const hw_history *history = w->checker->history;
    const hw_stream *stream = hw_history_stream(history, HW_STREAM_BLOCK, w->stream->name.run, block);
    if (stream != NULL || history->cut != 1)
        return stream != NULL ? stream->node : HW_HISTORY_NONE;
    for (uint32_t node = 0; node < history->nodes; node++)
        if (!history->parts[node].read || history->parts[node].trouble != NULL)
            return node;
    return HW_HISTORY_NONE;
}

/* Returns whether a lost block may have made this clock's update after its last written record, that is, whether its last
 * record of this state is older. */
static bool is_unrecorded(const hw_block_walk *w, uint32_t source, uint64_t clock, uint32_t part)
{
    const hw_event_record *r = hw_walk_here(w);
    if (!hw_may_lack(w->checker, HW_STREAM_BLOCK, w->stream->name.run, source))
        return false;
    const hw_stream *stream = hw_history_stream(w->checker->history, HW_STREAM_BLOCK, w->stream->name.run, source);
    for (size_t i = stream != NULL ? stream->count : 0; i-- > 0;) {
        const hw_event_record *last = &stream->records[i];
        if (last->kind != HW_EVENT_WRITE || last->object != r->object)
            continue;
        if (last->epoch != r->epoch)
            return last->epoch < r->epoch;
        return last->clock < clock || (last->clock == clock && last->part < part);
    }
    return true;
}

/* Returns the number of blocks, from `from` on, whose updates a record of SEEN names. Under SSP and TAP each update of a sum
 * has a record. */
static uint32_t blocks_in(const hw_state_walk *k, const hw_event_record *seen)
{
    return k->policy == HW_EVENT_BSP ? seen->covers : 1;
}

/* Checks that no update of a node arrives after this block has recorded the node's loss. */
static bool check_after_loss(hw_block_walk *w, const hw_state_walk *k)
{
    const hw_event_record *r = hw_walk_here(w);
    for (uint32_t j = r->from; w->saw_loss && j < r->from + blocks_in(k, r); j++) {
        uint32_t node = hw_walk_node_of(w, j);
        size_t count;
        const hw_indexed *losses = hw_index_find(&w->checker->losses, (uint64_t[5]){node}, &count);
        hw_applied(w->checker, HW_RULE_LOSS);
        for (size_t i = 0; i < count && node != HW_HISTORY_NONE; i++)
            if (losses[i].stream == w->stream && losses[i].number < w->at)
                return HW_WALK_WITH(w, HW_RULE_LOSS, w->stream, losses[i].number,
                                    "block %" PRIu32 " sees an update of block %" PRIu32 ", whose node %" PRIu32
                                    " it recorded as lost",
                                    w->block, j, node);
    }
    return true;
}

/* Checks that a lost node has merged no update that its writer made after it had recorded that loss. */
static bool check_from_beyond(hw_block_walk *w, const hw_indexed *written)
{
    size_t count;
    const uint64_t key[5] = {w->stream->node, 0, 0, 0, 0};
    const hw_indexed *losses = hw_index_find(&w->checker->losses, key, &count);
    for (size_t i = 0; i < count && w->stream->node != HW_HISTORY_NONE; i++) {
        hw_applied(w->checker, HW_RULE_LOSS);
        if (losses[i].stream == written->stream && losses[i].number < written->number)
            return hw_violation(
                w->checker, HW_RULE_LOSS,
                (hw_at[]){{written->stream, losses[i].number}, {written->stream, written->number}, {w->stream, w->at}}, 3,
                "block %" PRIu32 " sees what was written after its node %" PRIu32 " was recorded as lost", w->block,
                w->stream->node);
    }
    return true;
}

/* -------------------------------------------------------------------------------------------------- state and epoch ---- */

static bool walk_state(hw_block_walk *w)
{
    const hw_event_record *r = hw_walk_here(w);
    if (r->part != w->blocks || r->range < 1 || r->range > w->blocks || r->object > UINT16_MAX ||
        (r->from != HW_HISTORY_NONE && r->from >= w->blocks) || (w->blocks == 1 && r->from != 0) ||
        (r->clock > 0 && (r->flags & HW_EVENT_HOLDS) == 0))
        return HW_WALK_ALONE(w, HW_RULE_RECORD,
                             "a state of %" PRIu32 " blocks and %u ranges where %" PRIu32 " blocks have streams", r->part,
                             r->range, w->blocks);
    size_t before = w->count;
    if (r->object >= w->count) {
        w->status = HW_GROW(&w->walkers, &w->capacity, (size_t)r->object + 1, "the states of a history", w->error);
        if (w->status != HAWSER_OK)
            return false;
        w->count = (size_t)r->object + 1;
        memset(w->walkers + before, 0, (w->count - before) * sizeof *w->walkers);
    }
    hw_state_walk *k = &w->walkers[r->object];
    if (k->state != NULL)
        return HW_WALK_ALONE(w, HW_RULE_RECORD, "block %" PRIu32 " has a second copy of a state", w->block);
    k->state = r;
    k->from = r->from;
    k->ranges = r->range;
    k->digest = r->digest;
    return true;
}

static bool walk_begin(hw_block_walk *w, hw_state_walk *k)
{
    const hw_event_record *r = hw_walk_here(w);
    bool plain = (r->flags & HW_EVENT_PLAIN) != 0;
    hw_applied(w->checker, HW_RULE_VALUE);
    if (k->begun)
        return HW_WALK_ALONE(w, HW_RULE_END, "epoch %" PRIu64 " begins where %" PRIu64 " has not ended", r->epoch, k->epoch);
    if (k->forgotten && !plain)
        return HW_WALK_ALONE(w, HW_RULE_HELD, "held-back updates were dropped, but the state is not rebuilt");
    if (!hw_walk_check_begin(w, k))
        return false;
    if (r->digest != (plain ? 0 : k->digest))
        return HW_WALK_ALONE(w, HW_RULE_VALUE, "the state has changed between two epochs");
    if (r->part > HW_EVENT_TAP)
        return HW_WALK_ALONE(w, HW_RULE_RECORD, "there is no policy %" PRIu32, r->part);
    if ((r->part == HW_EVENT_BSP || r->part == HW_EVENT_TAP) && r->count > 0)
        return HW_WALK_ALONE(w, HW_RULE_RECORD, "policy %" PRIu32 " has no s, but the record has %" PRIu64, r->part,
                             r->count);
    if ((k->state->from != HW_HISTORY_NONE && r->from != k->state->from) ||
        (r->from != HW_HISTORY_NONE && r->from >= w->blocks) || (plain && r->from != k->state->from))
        return HW_WALK_ALONE(w, HW_RULE_RECORD, "block %" PRIu32 " makes all updates of a state that another one changes",
                             r->from);
    if ((r->first & ~r->last) != 0)
        return HW_WALK_ALONE(w, HW_RULE_RECORD, "stages %" PRIx64 " update a state that stages %" PRIx64 " use", r->first,
                             r->last);
    hw_places_clear(&k->whole);
    hw_places_clear(&k->range);
    k->begun = true;
    k->plain = plain;
    k->epoch = r->epoch;
    k->policy = r->part;
    k->steps = r->part == HW_EVENT_BSP && w->blocks > 1;
    k->slack = r->part == HW_EVENT_SSP ? r->count : 0;
    for (size_t stage = 0; stage < HW_WALK_STAGES_MOST; stage++)
        k->slacks[stage] = k->policy == HW_EVENT_TAP ? UINT64_MAX : k->slack;
    k->least_slack = k->slacks[0];
    k->updates = r->first != 0 ? r->first : 1;
    k->used = r->first != 0 ? r->last : 1;
    k->stage = HW_WALK_STAGES_MOST;
    k->turn = plain ? 0 : hw_first_clock(w->resumed, r->epoch);
    k->own = k->first = r->clock;
    k->left = 0;
    k->part = 0;
    k->read = k->forgotten = false;
    k->moved = 0;
    k->from = r->from;
    hw_walk_agree(w, 0, HW_AGREE_POLICY, plain);
    k->apart = !plain && (k->apart || (r->part != HW_EVENT_BSP && k->from == HW_HISTORY_NONE));
    k->digest = r->digest;
    if (r->clock > 0) /* nothing before the checkpoint is recorded */
        w->status = hw_places_set(&k->whole, 0, w->blocks, (hw_reach){r->clock, 0}, w->error);
    return w->status == HAWSER_OK;
}

static bool walk_stricter(hw_block_walk *w, hw_state_walk *k)
{
    const hw_event_record *r = hw_walk_here(w);
    if (r->first >= HW_WALK_STAGES_MOST || (k->used >> r->first & 1) == 0 || r->part > HW_EVENT_SSP ||
        (r->part == HW_EVENT_BSP && r->count > 0) || k->own > k->first || k->read)
        return HW_WALK_ALONE(w, HW_RULE_RECORD, "stage %" PRIu64 " of block %" PRIu32 " cannot wait by policy %" PRIu32,
                             r->first, w->block, r->part);
    uint64_t slack = r->part == HW_EVENT_SSP ? r->count : 0;
    if (slack >= k->slacks[r->first])
        return HW_WALK_ALONE(w, HW_RULE_RECORD,
                             "the policy of stage %" PRIu64 " of block %" PRIu32 " is not stricter than its loop's",
                             r->first, w->block);
    k->slacks[r->first] = slack;
    k->least_slack = slack < k->least_slack ? slack : k->least_slack;
    return true;
}

static bool walk_end(hw_block_walk *w, hw_state_walk *k)
{
    const hw_event_record *r = hw_walk_here(w);
    bool source = is_source(k, w->block);
    hw_applied(w->checker, HW_RULE_END);
    if (source && (k->left > 0 || k->part > 0))
        return HW_WALK_ALONE(w, HW_RULE_END, "block %" PRIu32 " ends with changes that it has not sent", w->block);
    if (source && k->own != r->clock)
        return HW_WALK_ALONE(w, HW_RULE_END, "block %" PRIu32 " ends after clock %" PRIu64 " and has ended %" PRIu64,
                             w->block, r->clock, k->own);
    if (k->held > 0)
        return HW_WALK_ALONE(w, HW_RULE_HELD, "%" PRIu64 " entries are held back at the end", k->held);
    for (uint32_t j = 0; j < w->blocks; j++) {
        if (!is_source(k, j) || j == w->block)
            continue;
        hw_applied(w->checker, HW_RULE_ONCE);
        uint64_t in = done_of(w, k, j);
        const hw_indexed *lost = in < r->clock ? hw_walk_write_of(w, j, in, 0) : NULL;
        if (in < r->clock && lost != NULL)
            return HW_WALK_WITH(w, HW_RULE_ONCE, lost->stream, lost->number,
                                "the update of clock %" PRIu64 " by block %" PRIu32 " is not in when block %" PRIu32 " ends",
                                in, j, w->block);
        if (in != r->clock)
            return HW_WALK_ALONE(w, HW_RULE_ONCE,
                                 "%" PRIu64 " clocks of block %" PRIu32 " are in where %" PRIu64 " should be", in, j,
                                 r->clock);
    }
    if (!take_moved(k, r->clock) && r->digest != k->digest)
        return HW_WALK_ALONE(w, HW_RULE_VALUE, "the state has changed without an update");
    if (k->policy == HW_EVENT_BSP && !k->apart)
        hw_walk_agree(w, r->clock, HW_AGREE_DIGEST, 1);
    hw_walk_agree(w, 0, HW_AGREE_CLOCK, 0);
    k->begun = false;
    k->digest = r->digest;
    return true;
}

/* ---------------------------------------------------------------------------------------------------------- reading ---- */

/* Checks that what the policy of this stage requires is merged. */
static bool see_all(hw_block_walk *w, hw_state_walk *k)
{
    const hw_event_record *r = hw_walk_here(w);
    hw_rule rule = k->policy == HW_EVENT_BSP ? HW_RULE_BSP : HW_RULE_VISIBLE;
    uint64_t slack = k->slacks[r->part];
    if (slack == UINT64_MAX)
        return true;
    for (uint32_t j = 0; j < w->blocks; j++) {
        if (!is_source(k, j) || j == w->block)
            continue;
        hw_applied(w->checker, rule);
        uint64_t in = done_of(w, k, j), wanted = hw_beyond(r->clock, slack);
        if (in >= wanted)
            continue;
        const hw_indexed *missing = hw_walk_write_of(w, j, in, 0);
        if (missing != NULL)
            return HW_WALK_WITH(w, rule, missing->stream, missing->number,
                                "block %" PRIu32 " begins clock %" PRIu64 " without the update of clock %" PRIu64
                                " by block %" PRIu32,
                                w->block, r->clock, in, j);
        return HW_WALK_ALONE(w, rule, "block %" PRIu32 " begins clock %" PRIu64 " with %" PRIu64 " clocks of block %" PRIu32,
                             w->block, r->clock, in, j);
    }
    return true;
}

/* Returns whether the next update of this state sends what is held, after the last clock of the loop. A block that never
 * updates the state reads once more then, and ends. */
static bool flushes_next(const hw_block_walk *w, const hw_state_walk *k)
{
    const hw_event_record *r = hw_walk_here(w);
    for (size_t i = w->at + 1; i < w->stream->count; i++) {
        const hw_event_record *next = &w->stream->records[i];
        bool own = next->object == r->object && next->epoch == r->epoch;
        if (own && (next->kind == HW_EVENT_WRITE || next->kind == HW_EVENT_END))
            return next->kind == HW_EVENT_WRITE ? (next->flags & HW_EVENT_FLUSH) != 0 : !is_source(k, w->block);
    }
    return hw_is_cut(w->checker);
}

/* Checks that a read is in the next stage that uses the state, in the exchange of that stage, or in the same stage again. */
static bool check_stage(hw_block_walk *w, hw_state_walk *k)
{
    const hw_event_record *r = hw_walk_here(w);
    uint64_t each = hw_bits_set(k->updates);
    if (r->part >= HW_WALK_STAGES_MOST)
        return HW_WALK_ALONE(w, HW_RULE_RECORD, "stage %" PRIu32 " of a clock", r->part);
    uint64_t before = hw_bits_set_below(k->updates, r->part), turn = (r->clock - before) / each;
    bool used = (k->used >> r->part & 1) != 0 && r->clock >= before && (r->clock - before) % each == 0;
    bool first = hw_bits_set_below(k->used, r->part) == 0,
         last = k->stage < HW_WALK_STAGES_MOST && (k->used >> k->stage >> 1) == 0;
    bool next = k->stage == HW_WALK_STAGES_MOST ? turn == k->turn && first
                : turn == k->turn ? hw_bits_set_below(k->used, r->part) == hw_bits_set_below(k->used, k->stage) + 1
                                  : turn == k->turn + 1 && first && last;
    bool again = (r->flags & HW_EVENT_INNER) != 0 && turn == k->turn && r->part == k->stage;
    hw_applied(w->checker, HW_RULE_ORDER);
    if ((used && (next || again)) || (r->part == 0 && r->clock % each == 0 && flushes_next(w, k))) {
        k->turn = turn;
        k->stage = r->part;
        return true;
    }
    return HW_WALK_ALONE(w, HW_RULE_ORDER, "block %" PRIu32 " reads in stage %" PRIu32 " of a clock, which is not next",
                         w->block, r->part);
}

static bool walk_read(hw_block_walk *w, hw_state_walk *k)
{
    const hw_event_record *r = hw_walk_here(w);
    bool inner = (r->flags & HW_EVENT_INNER) != 0, source = is_source(k, w->block);
    uint64_t most, least = least_done(w, k, &most);
    hw_applied(w->checker, HW_RULE_ORDER);
    if (source && (r->clock != k->own || inner != k->read))
        return HW_WALK_ALONE(w, HW_RULE_ORDER, "block %" PRIu32 " %s clock %" PRIu64 " where clock %" PRIu64 " is %s",
                             w->block, inner ? "yields in" : "begins", r->clock, k->own, k->read ? "in progress" : "next");
    if (!check_stage(w, k))
        return false;
    /* The first read of an exchange, or the first one of a stricter stage: more can only have been merged since. */
    if (!inner || k->slacks[r->part] < k->read_slack) {
        if (!see_all(w, k))
            return false;
        k->read_slack = k->slacks[r->part];
    }
    hw_applied(w->checker, HW_RULE_MINE);
    if (source && r->count != k->own)
        return HW_WALK_ALONE(w, HW_RULE_MINE,
                             "block %" PRIu32 " begins clock %" PRIu64 " with %" PRIu64 " of its own clocks in", w->block,
                             r->clock, r->count);
    if (r->first != least || r->last != most || (!source && r->count != least))
        return HW_WALK_ALONE(w, k->policy == HW_EVENT_BSP ? HW_RULE_BSP : HW_RULE_VISIBLE,
                             "block %" PRIu32 " takes %" PRIu64 " to %" PRIu64
                             " clocks of the blocks to be merged where %" PRIu64 " to %" PRIu64 " are",
                             w->block, r->first, r->last, least, most);
    hw_applied(w->checker, HW_RULE_VALUE);
    if (((inner && k->steps) || !take_moved(k, r->clock)) && r->digest != k->digest)
        return HW_WALK_ALONE(w, HW_RULE_VALUE, "what block %" PRIu32 " reads has changed without an update", w->block);
    if (!inner && k->policy == HW_EVENT_BSP && !k->apart)
        hw_walk_agree(w, r->clock, HW_AGREE_DIGEST, 0);
    k->digest = r->digest;
    k->read = true;
    return true;
}

/* Reports an update that is later than the one that is due. The one before it follows later, or never. */
static bool ahead(hw_block_walk *w, const hw_state_walk *k, uint32_t source, uint64_t due, uint32_t part)
{
    const hw_event_record *r = hw_walk_here(w);
    for (size_t i = w->at + 1; i < w->stream->count; i++) {
        const hw_event_record *later = &w->stream->records[i];
        if (later->kind == HW_EVENT_SEEN && later->object == r->object && later->epoch == k->epoch &&
            later->range == r->range && later->from <= source && source - later->from < blocks_in(k, later) &&
            later->clock - later->span <= due && later->clock >= due && later->part == part)
            return hw_violation(w->checker, HW_RULE_TIMESTAMPS, (hw_at[]){{w->stream, w->at}, {w->stream, i}}, 2,
                                "block %" PRIu32 " takes updates of block %" PRIu32 " in the wrong order", w->block, source);
    }
    const hw_indexed *lost = hw_walk_write_of(w, source, due, part);
    if (lost != NULL)
        return HW_WALK_WITH(w, HW_RULE_ONCE, lost->stream, lost->number,
                            "block %" PRIu32 " never sees part %" PRIu32 " of clock %" PRIu64 " of block %" PRIu32, w->block,
                            part, due, source);
    return HW_WALK_ALONE(w, HW_RULE_ONCE,
                         "block %" PRIu32 " sees clock %" PRIu64 " of block %" PRIu32 " where %" PRIu64 " is due", w->block,
                         r->clock, source, due);
}

/* Checks the lead: no block can be further ahead of this one than the updates that this block has sent allow. */
static bool check_lead(hw_block_walk *w, const hw_state_walk *k)
{
    const hw_event_record *r = hw_walk_here(w);
    bool bounded = k->policy != HW_EVENT_TAP && k->from == HW_HISTORY_NONE;
    if (!bounded)
        return true;
    hw_rule rule = k->policy == HW_EVENT_BSP ? HW_RULE_BSP : HW_RULE_DIFFERENCE;
    hw_applied(w->checker, rule);
    uint64_t said = k->own - k->left;
    if (r->clock <= said || r->clock - said <= k->slack)
        return true;
    return HW_WALK_ALONE(w, rule, "block %" PRIu32 " has run clock %" PRIu64 " where block %" PRIu32 " has sent %" PRIu64,
                         r->from, r->clock, w->block, said);
}

bool hw_walk_differs(hw_block_walk *w, const hw_indexed *written)
{
    return HW_WALK_WITH(w, HW_RULE_VALUE, written->stream, written->number,
                        "block %" PRIu32 " sees an update that differs from what block %" PRIu32 " has written", w->block,
                        hw_walk_here(w)->from);
}

/* Checks that one block's update, whole or in parts, is its next one in a range, and stores its record, or NULL if that was
 * lost with its node. */
bool hw_walk_check_next(hw_block_walk *w, hw_state_walk *k, size_t range, const hw_indexed **record)
{
    const hw_event_record *r = hw_walk_here(w);
    const hw_reach reach = reach_of(w, k, r->from, range);
    uint64_t due = reach.done;
    uint32_t part = reach.part;
    *record = NULL;
    hw_applied(w->checker, HW_RULE_ONCE);
    hw_applied(w->checker, HW_RULE_TIMESTAMPS);
    if (r->clock < due || r->clock - r->span < due || (r->clock - r->span == due && r->part < part))
        return HW_WALK_ALONE(w, HW_RULE_ONCE,
                             "block %" PRIu32 " sees part %" PRIu32 " of clock %" PRIu64 " of block %" PRIu32 " twice",
                             w->block, r->part, r->clock, r->from);
    if (r->clock - r->span > due || r->part > part)
        return ahead(w, k, r->from, due, part);
    const hw_indexed *written = hw_walk_write_of(w, r->from, r->clock, r->part);
    hw_applied(w->checker, HW_RULE_VALUE);
    if (written == NULL && is_unrecorded(w, r->from, r->clock, r->part)) {
        w->checker->verdict->unrecorded++;
        return true;
    }
    if (written == NULL)
        return HW_WALK_ALONE(w, HW_RULE_ONCE, "block %" PRIu32 " sees an update that block %" PRIu32 " never made", w->block,
                             r->from);
    if (!check_from_beyond(w, written))
        return false;
    const hw_event_record *made = hw_record_of(written);
    const unsigned same = HW_EVENT_LAST | HW_EVENT_VALUES;
    if (made->span != r->span || (made->flags & same) != (r->flags & same))
        return hw_walk_differs(w, written);
    *record = written;
    return true;
}

/* Checks one block's update, whole or in parts, that is merged by itself. */
static bool check_leaf(hw_block_walk *w, hw_state_walk *k)
{
    const hw_event_record *r = hw_walk_here(w), *made;
    const hw_indexed *written;
    if (!hw_walk_check_next(w, k, 0, &written))
        return false;
    if (written == NULL) {
        hw_walk_agree(w, r->clock, HW_AGREE_LOST, (uint64_t)r->from << 32 | r->part);
        return w->status == HAWSER_OK;
    }
    made = hw_record_of(written);
    return (made->digest == r->digest && made->count == r->count) || hw_walk_differs(w, written);
}

/* --------------------------------------------------------------------------------------------------- sums under bsp ---- */

/* Checks an update that was added up on the way: it must be the next one of each of its blocks, and equal on all blocks that
 * merge it. */
static bool check_sum(hw_block_walk *w, hw_state_walk *k, size_t begin, size_t end)
{
    const hw_event_record *r = hw_walk_here(w);
    for (uint32_t j = r->from; j < r->from + r->covers; j++)
        for (size_t range = begin; range < end && j != w->block; range = range_after(w, k, range, end)) {
            const hw_reach due = reach_of(w, k, j, range);
            hw_applied(w->checker, HW_RULE_ONCE);
            if (r->clock < due.done || (r->clock == due.done && r->part < due.part))
                return HW_WALK_ALONE(w, HW_RULE_ONCE, "clock %" PRIu64 " of block %" PRIu32 " is in twice at block %" PRIu32,
                                     r->clock, j, w->block);
            if (r->clock > due.done || r->part > due.part)
                return ahead(w, k, j, due.done, due.part);
        }
    hw_walk_agree(w, r->clock, HW_AGREE_SUM | (uint64_t)r->part << 8, hw_sum_key(r->from, r->covers, r->range));
    return true;
}

/* Returns the progress of a source's range after this update. */
static hw_reach advanced(const hw_block_walk *w, hw_state_walk *k, uint32_t source, size_t range)
{
    const hw_event_record *r = hw_walk_here(w);
    hw_reach reach = reach_of(w, k, source, range);
    return r->flags & HW_EVENT_LAST ? (hw_reach){r->clock + 1, 0} : (hw_reach){reach.done, reach.part + 1};
}

static bool take_in(hw_block_walk *w, hw_state_walk *k)
{
    const hw_event_record *r = hw_walk_here(w);
    uint32_t end = r->from + blocks_in(k, r);
    size_t range = r->range == 0 ? 0 : r->range - 1u;
    hw_places *places = r->range == 0 ? &k->whole : &k->range;
    uint64_t before = range * w->blocks;
    for (uint32_t j = r->from, next; j < end && w->status == HAWSER_OK; j = next) {
        hw_reach reach = advanced(w, k, j, range), other = reach;
        for (next = j + 1; next < end; next++) {
            other = advanced(w, k, next, range);
            if (is_before(reach, other) || is_before(other, reach))
                break;
        }
        w->status = hw_places_set(places, before + j, before + next, reach, w->error);
    }
    return w->status == HAWSER_OK;
}

static bool walk_seen(hw_block_walk *w, hw_state_walk *k)
{
    const hw_event_record *r = hw_walk_here(w);
    uint32_t covers = blocks_in(k, r);
    if (r->covers < 1 || r->from >= w->blocks || covers > w->blocks - r->from || r->range > k->ranges ||
        r->span > r->clock || (covers == 1 && r->from == w->block))
        return HW_WALK_ALONE(w, HW_RULE_RECORD, "an update of blocks that do not exist");
    bool leaf = covers == 1 && r->range == 0;
    size_t begin = r->range == 0 ? 0 : r->range - 1u, end = r->range == 0 ? k->ranges : r->range;
    if (!is_source(k, r->from))
        return HW_WALK_ALONE(w, HW_RULE_ONCE, "block %" PRIu32 " may not change this state", r->from);
    bool bsp = k->policy == HW_EVENT_BSP, combined = !bsp && (r->covers > 1 || r->range > 0);
    if ((k->ranges == 1 && r->range > 0) || (bsp ? r->more > 0 : !hw_walk_follows(w) && r->covers - 1 != r->more) ||
        (combined && k->ranges > 1 && r->range == 0) ||
        (!(leaf && !combined) && (w->checker->history->nodes == 1 || (r->flags & HW_EVENT_VALUES) || (bsp && r->span > 0))))
        return HW_WALK_ALONE(w, HW_RULE_RECORD, "a sum of updates that no block adds up");
    if (!check_after_loss(w, k))
        return false;
    bool good = combined ? hw_walk_check_combined(w, k, begin) : leaf ? check_leaf(w, k) : check_sum(w, k, begin, end);
    if (!good || !check_lead(w, k) || !take_in(w, k))
        return false;
    note_moved(k, r->clock, r->count > 0);
    return true;
}

/* ---------------------------------------------------------------------------------------------------------- writing ---- */

static bool check_held(hw_block_walk *w, hw_state_walk *k)
{
    const hw_event_record *r = hw_walk_here(w);
    bool holds = (k->state->flags & HW_EVENT_HOLDS) != 0;
    if (r->first == 0 ? r->last != UINT64_MAX : !holds || r->first > k->state->count || r->last > r->clock)
        return HW_WALK_ALONE(w, HW_RULE_HELD, "block %" PRIu32 " holds back %" PRIu64 " entries since clock %" PRIu64,
                             w->block, r->first, r->last);
    if (!holds)
        return true;
    hw_applied(w->checker, HW_RULE_HELD);
    k->held = r->first;
    if (r->first == 0)
        return true;
    if (r->flags & HW_EVENT_FLUSH)
        return HW_WALK_ALONE(w, HW_RULE_HELD, "%" PRIu64 " entries are held back where everything must be sent", r->first);
    if ((r->flags & HW_EVENT_LAST) && r->clock >= r->last &&
        (r->clock - r->last) / hw_bits_set(k->updates) >= k->state->clock)
        return HW_WALK_ALONE(w, HW_RULE_HELD,
                             "an entry is held back since clock %" PRIu64 ", by clock %" PRIu64 ", of %" PRIu64
                             " clocks at most",
                             r->last, r->clock, k->state->clock);
    return true;
}

/* Checks that the clock was begun, and that credit allowed it. */
static bool check_clock(hw_block_walk *w, const hw_state_walk *k)
{
    const hw_event_record *r = hw_walk_here(w);
    hw_applied(w->checker, HW_RULE_DEFINITION);
    if (r->clock == k->own && !k->read && !k->plain)
        return HW_WALK_ALONE(w, HW_RULE_DEFINITION,
                             "block %" PRIu32 " writes in clock %" PRIu64 " what it has not read before", w->block,
                             r->clock);
    if (!w->credited || k->plain || (r->flags & HW_EVENT_FLUSH))
        return true;
    hw_applied(w->checker, HW_RULE_CREDIT);
    uint64_t clock = r->clock / hw_bits_set(k->updates);
    if (w->credit_epoch == k->epoch && clock < w->credit)
        return true;
    return HW_WALK_ALONE(w, HW_RULE_CREDIT, "block %" PRIu32 " runs clock %" PRIu64 " with credit for those below %" PRIu64,
                         w->block, clock, w->credit_epoch == k->epoch ? w->credit : 0);
}

/* Checks that a setting changes from the value that it had, and with a credit. */
static bool walk_changed(hw_block_walk *w)
{
    enum { SHARE = 1 }; /* the only setting that blocks do not have alike */
    const hw_event_record *r = hw_walk_here(w), *next = w->at + 1 < w->stream->count ? r + 1 : NULL;
    hw_applied(w->checker, HW_RULE_ORDER);
    if (r->first == r->last || (r->part == SHARE && r->first != w->share))
        return HW_WALK_ALONE(w, HW_RULE_VALUE,
                             "setting %" PRIu32 " of block %" PRIu32 " changes from a value that it has not", r->part,
                             w->block);
    if (next != NULL && ((next->kind != HW_EVENT_CREDIT && next->kind != HW_EVENT_CHANGED) || next->epoch != r->epoch ||
                         next->clock != r->clock))
        return HW_WALK_ALONE(w, HW_RULE_ORDER,
                             "setting %" PRIu32 " of block %" PRIu32 " changes in clock %" PRIu64
                             ", which is not the first one of a credit",
                             r->part, w->block, r->clock);
    if (r->part == SHARE)
        w->share = r->last;
    else
        w->settings += hw_digest_one(r->part, r->last) - hw_digest_one(r->part, r->first);
    return true;
}

/* Checks that a credit begins where the one before it ends, and that settings are those before it and what has changed. */
static bool walk_credit(hw_block_walk *w)
{
    const hw_event_record *r = hw_walk_here(w);
    const bool goes_on = w->credited && w->credit_epoch == r->epoch;
    hw_applied(w->checker, HW_RULE_VALUE);
    if (w->credited && (r->digest != w->settings || r->first != w->share))
        return HW_WALK_ALONE(w, HW_RULE_VALUE,
                             "block %" PRIu32 " has other settings from clock %" PRIu64 " on without a change of them",
                             w->block, r->clock);
    if (goes_on && r->clock != w->credit)
        return HW_WALK_ALONE(w, HW_RULE_ORDER,
                             "settings of block %" PRIu32 " change in clock %" PRIu64
                             ", and its credit has ended with %" PRIu64,
                             w->block, r->clock, w->credit);
    if (!goes_on && !hw_walk_check_first_credit(w))
        return false;
    w->credited = true;
    w->credit_epoch = r->epoch;
    w->credit = r->count;
    w->settings = r->digest;
    w->share = r->first;
    return true;
}

static bool walk_chosen(hw_block_walk *w)
{
    const hw_event_record *r = hw_walk_here(w), *before = w->chosen;
    hw_applied(w->checker, HW_RULE_ORDER);
    if (r->clock != (before != NULL && before->epoch == r->epoch ? before->clock + 1 : hw_first_clock(w->resumed, r->epoch)))
        return HW_WALK_ALONE(w, HW_RULE_ORDER, "block %" PRIu32 " chooses branches for clock %" PRIu64 ", which is not next",
                             w->block, r->clock);
    hw_applied(w->checker, HW_RULE_CREDIT);
    if (w->credit_epoch != r->epoch || r->clock >= w->credit)
        return HW_WALK_ALONE(w, HW_RULE_CREDIT,
                             "block %" PRIu32 " chooses branches for clock %" PRIu64 " without credit for it", w->block,
                             r->clock);
    w->chosen = r;
    hw_walk_agree(w, r->clock, HW_AGREE_CHOICE, 0);
    return true;
}

/* Checks a change in a loop with branches: its clock has a choice, and if nothing is held, which is sent later, units run in
 * its stage then. */
static bool check_choice(hw_block_walk *w, const hw_state_walk *k)
{
    const hw_event_record *r = hw_walk_here(w);
    uint32_t each = hw_bits_set(k->updates), stage = 0;
    if (w->chosen == NULL || w->chosen->epoch != k->epoch || k->plain || (r->flags & HW_EVENT_FLUSH))
        return true;
    hw_applied(w->checker, HW_RULE_ORDER);
    if (r->clock / each > w->chosen->clock)
        return HW_WALK_ALONE(w, HW_RULE_ORDER,
                             "block %" PRIu32 " writes in clock %" PRIu64 ", for which no branches are chosen", w->block,
                             r->clock / each);
    if (r->span > 0 || r->count == 0 || r->clock / each < w->chosen->clock ||
        (k->state->flags & (HW_EVENT_HOLDS | HW_EVENT_ROUNDS)) != 0)
        return true;
    while ((k->updates >> stage & 1) == 0 || hw_bits_set_below(k->updates, stage) != r->clock % each)
        stage++;
    if ((w->chosen->last >> stage & 1) != 0)
        return true;
    return HW_WALK_ALONE(w, HW_RULE_ORDER,
                         "block %" PRIu32 " changes a state in stage %" PRIu32 " of clock %" PRIu64
                         ", which the branches leave out",
                         w->block, stage, w->chosen->clock);
}

/* Returns whether an update can be sent in this form: values by the only writer of an entry, and in a rebuild all that is
 * held. */
static bool is_sent(const hw_block_walk *w, const hw_state_walk *k)
{
    const hw_event_record *r = hw_walk_here(w);
    bool values = (r->flags & HW_EVENT_VALUES) != 0, holds = (k->state->flags & (HW_EVENT_HOLDS | HW_EVENT_ROUNDS)) != 0;
    bool always = (k->state->flags & HW_EVENT_VALUES) != 0, may = k->from != HW_HISTORY_NONE && !holds;
    bool flush = (r->flags & HW_EVENT_FLUSH) != 0;
    return (values ? always || may : !always) && (k->plain ? flush : !flush || (r->flags & HW_EVENT_LAST)) &&
           (w->blocks > 1 || !values || (r->count == 0 && r->digest == 0));
}

static bool walk_write(hw_block_walk *w, hw_state_walk *k)
{
    const hw_event_record *r = hw_walk_here(w);
    uint64_t due = k->own - k->left;
    bool ends = k->left > 0 && r->clock + 1 == k->own; /* the update of deferred clocks, between two clocks */
    hw_applied(w->checker, HW_RULE_ORDER);
    if (!is_source(k, w->block) || r->span > r->clock || !is_sent(w, k))
        return HW_WALK_ALONE(w, HW_RULE_RECORD, "block %" PRIu32 " may not change this state so", w->block);
    if (r->clock - r->span < due || (r->clock == k->own && r->part < k->part))
        return HW_WALK_ALONE(w, HW_RULE_ONCE, "block %" PRIu32 " writes part %" PRIu32 " of clock %" PRIu64 " again",
                             w->block, r->part, r->clock);
    if (r->clock - r->span != due || (r->clock != k->own && !ends) || r->part != (ends ? 0 : k->part))
        return HW_WALK_ALONE(w, HW_RULE_ORDER,
                             "block %" PRIu32 " writes part %" PRIu32 " of clock %" PRIu64 " where part %" PRIu32
                             " of clock %" PRIu64 " is next",
                             w->block, r->part, r->clock, k->part, due);
    if (!check_clock(w, k) || !check_held(w, k) || !check_choice(w, k))
        return false;
    note_moved(k, r->clock, r->count > 0 || w->blocks == 1);
    k->part = r->flags & HW_EVENT_LAST ? 0 : k->part + 1;
    if (r->flags & HW_EVENT_LAST) {
        k->own = r->clock + 1;
        k->left = 0;
        k->read = ends && k->read;
    }
    return true;
}

static bool walk_defer(hw_block_walk *w, hw_state_walk *k)
{
    const hw_event_record *r = hw_walk_here(w);
    hw_applied(w->checker, HW_RULE_ORDER);
    if (r->clock != k->own || !k->read || k->part > 0)
        return HW_WALK_ALONE(w, HW_RULE_ORDER, "block %" PRIu32 " ends clock %" PRIu64 " where clock %" PRIu64 " is next",
                             w->block, r->clock, k->own);
    if (k->left >= k->least_slack)
        return HW_WALK_ALONE(w, HW_RULE_VISIBLE, "block %" PRIu32 " keeps %" PRIu64 " clocks back", w->block, k->left + 1);
    k->own++;
    k->left++;
    k->read = false;
    return true;
}

/* ----------------------------------------------------------------------------------------------------------- blocks ---- */

static bool walk_wait(hw_block_walk *w)
{
    const hw_event_record *r = hw_walk_here(w);
    bool lacks = false, bound = false;
    if ((r->flags & HW_EVENT_INPUT) == 0)
        return true;
    if (r->part >= HW_WALK_STAGES_MOST)
        return HW_WALK_ALONE(w, HW_RULE_RECORD, "a clock of %" PRIu32 " stages", r->part);
    hw_applied(w->checker, HW_RULE_WAIT);
    for (size_t s = 0; s < w->count; s++) {
        hw_state_walk *k = &w->walkers[s];
        if (k->state == NULL || !k->begun || k->epoch != r->epoch || k->slacks[r->part] == UINT64_MAX ||
            (k->used >> r->part & 1) == 0)
            continue;
        uint64_t wanted = r->clock * hw_bits_set(k->updates) + hw_bits_set_below(k->updates, r->part);
        bound = true;
        for (uint32_t j = 0; j < w->blocks; j++)
            lacks = lacks || (is_source(k, j) && j != w->block && done_of(w, k, j) < hw_beyond(wanted, k->slacks[r->part]));
    }
    if (lacks)
        return true;
    return HW_WALK_ALONE(w, HW_RULE_WAIT, "block %" PRIu32 " waits for others before clock %" PRIu64 ", %s", w->block,
                         r->clock, bound ? "and all that it needs is in" : "which tap never does");
}

/* Checks one record. Returns false if the check of this stream ends here. */
static bool walk_record(hw_block_walk *w)
{
    const hw_event_record *r = hw_walk_here(w);
    if (!hw_walk_check_following(w))
        return false;
    if (r->kind == HW_EVENT_NAME)
        return true;
    if (r->actor != w->block)
        return HW_WALK_ALONE(w, HW_RULE_RECORD, "a record of block %" PRIu32 " in the stream of block %" PRIu32, r->actor,
                             w->block);
    if (r->kind == HW_EVENT_STATE)
        return walk_state(w);
    if (r->kind == HW_EVENT_RESUMED)
        return hw_walk_resumed(w);
    if (r->kind == HW_EVENT_WAIT)
        return walk_wait(w);
    if (r->kind == HW_EVENT_CHOSEN)
        return walk_chosen(w);
    if (r->kind == HW_EVENT_TURN || r->kind == HW_EVENT_SHARE || r->kind == HW_EVENT_REDUCED ||
        r->kind == HW_EVENT_REDUCTIONS || r->kind == HW_EVENT_PASSED)
        return true; /* checked by turns.c, reductions.c and moving.c */
    if (r->kind == HW_EVENT_LOST) {
        if (!hw_is_cut(w->checker))
            return HW_WALK_ALONE(w, HW_RULE_LOSS, "block %" PRIu32 " recorded a loss, but the job ended successfully",
                                 w->block);
        w->saw_loss = true;
        return true;
    }
    if (r->kind == HW_EVENT_CREDIT)
        return walk_credit(w);
    if (r->kind == HW_EVENT_CHANGED)
        return walk_changed(w);
    hw_state_walk *k = r->object < w->count ? &w->walkers[r->object] : NULL;
    if (k == NULL || k->state == NULL)
        return HW_WALK_ALONE(w, HW_RULE_RECORD, "a record of a state that block %" PRIu32 " does not have", w->block);
    if (r->kind == HW_EVENT_RESTORED)
        return hw_walk_restored(w, k);
    if (r->kind == HW_EVENT_KEPT || r->kind == HW_EVENT_BACK)
        return hw_walk_point(w, k);
    if (r->kind == HW_EVENT_BEGIN)
        return walk_begin(w, k);
    if (r->kind == HW_EVENT_FORGET) {
        if (r->epoch != k->epoch)
            return HW_WALK_ALONE(w, HW_RULE_ORDER, "a record of epoch %" PRIu64 ", which is not the last", r->epoch);
        k->held = 0;
        k->forgotten = true;
        return true;
    }
    if (!k->begun || r->epoch != k->epoch)
        return HW_WALK_ALONE(w, HW_RULE_ORDER, "a record of epoch %" PRIu64 ", which is not open", r->epoch);
    switch ((hw_event_kind)r->kind) {
    case HW_EVENT_STRICTER: return walk_stricter(w, k);
    case HW_EVENT_READ: return walk_read(w, k);
    case HW_EVENT_SEEN: return walk_seen(w, k);
    case HW_EVENT_WRITE: return walk_write(w, k);
    case HW_EVENT_DEFER: return walk_defer(w, k);
    case HW_EVENT_END: return walk_end(w, k);
    default: return HW_WALK_ALONE(w, HW_RULE_RECORD, "a record of kind %u in the stream of a block", r->kind);
    }
}

static void check_over(hw_block_walk *w)
{
    if (w->stream->records[w->stream->count - 1].more > 0 && w->stream->records[w->stream->count - 1].kind == HW_EVENT_SEEN)
        (void)hw_violation(w->checker, HW_RULE_RECORD, &(hw_at){w->stream, w->stream->count - 1}, 1,
                           "the rest of a sum of block %" PRIu32 " is missing", w->block);
    for (size_t s = 0; s < w->count; s++)
        if (w->walkers[s].begun)
            (void)hw_violation(w->checker, HW_RULE_END, &(hw_at){w->stream, w->stream->count - 1}, 1,
                               "block %" PRIu32 " never ends epoch %" PRIu64, w->block, w->walkers[s].epoch);
}

static hawser_status walk_stream(hw_checker *checker, const hw_stream *stream, uint32_t blocks, hw_index *agree,
                                 hawser_error *error)
{
    hw_block_walk w = {.checker = checker,
                       .stream = stream,
                       .block = stream->name.number,
                       .blocks = blocks,
                       .agree = agree,
                       .error = error};
    bool going = true;
    for (; going && w.at < stream->count; w.at++)
        going = walk_record(&w);
    if (going && w.status == HAWSER_OK && !hw_is_cut(checker))
        check_over(&w);
    for (size_t s = 0; s < w.count; s++) {
        hw_places_free(&w.walkers[s].whole);
        hw_places_free(&w.walkers[s].range);
    }
    free(w.walkers);
    return w.status;
}

/* ------------------------------------------------------------------------------------------------------------- runs ---- */

/* Returns the number of blocks of a run: the number of streams, or, if nodes were lost, the number in a STATE record. */
static uint64_t count_blocks(const hw_checker *checker, size_t begin, size_t end)
{
    const hw_history *history = checker->history;
    for (size_t s = begin; s < end && hw_is_cut(checker); s++)
        for (size_t i = 0; i < history->streams[s].count; i++)
            if (history->streams[s].records[i].kind == HW_EVENT_STATE)
                return history->streams[s].records[i].part;
    return hw_is_cut(checker) ? (uint64_t)history->streams[end - 1].name.number + 1 : end - begin;
}

hawser_status hw_check_blocks(hw_checker *checker, hawser_error *error)
{
    const hw_history *history = checker->history;
    hw_index agree = {0};
    hawser_status status = HAWSER_OK;
    for (size_t s = 0, end; s < history->count && status == HAWSER_OK; s = end) {
        const hw_stream *first = &history->streams[s];
        for (end = s; end < history->count && history->streams[end].name.kind == first->name.kind &&
                      history->streams[end].name.run == first->name.run;)
            end++;
        uint64_t claimed = first->name.kind == HW_STREAM_BLOCK ? count_blocks(checker, s, end) : 0;
        uint32_t blocks = claimed <= BLOCKS_MOST ? (uint32_t)claimed : 0;
        if (claimed > BLOCKS_MOST)
            (void)hw_violation(checker, HW_RULE_RECORD, &(hw_at){first, 0}, 1, "%" PRIu64 " blocks: a job has %d at most",
                               claimed, BLOCKS_MOST);
        for (size_t i = s; blocks > 0 && i < end && status == HAWSER_OK; i++) {
            const hw_stream *stream = &history->streams[i];
            uint32_t number = stream->name.number;
            if (stream->count == 0)
                continue;
            if (hw_is_cut(checker) ? number >= blocks : number != i - s)
                (void)hw_violation(checker, HW_RULE_RECORD, &(hw_at){stream, 0}, 1,
                                   "one of %" PRIu32 " blocks has left no stream", blocks);
            else
                status = walk_stream(checker, stream, blocks, &agree, error);
        }
    }
    if (status == HAWSER_OK && !checker->verdict->broken)
        hw_check_agreement(checker, &agree);
    free(agree.entries);
    return status;
}
