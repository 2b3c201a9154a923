/* defer.c - coalescing: leaves a clock uncut. The block's changes stay in its cache as own unsent changes, to which later
 * clocks add, and one message sends them all. So it needs no queue and no memory except the cache. */

#include "exchange/replica.h"

/* Returns true if one delta can have the changes of several exchanges: none of them is exact where others have a rule. */
static bool has_one_rule(const hw_replica *replica)
{
    const hawser_rule *rule = &replica->spec.rule;
    bool plain = rule->damping == 1 && rule->merge == NULL && replica->gain == 1 && replica->next_gain == 1;
    return plain || !hw_is_mixed(replica);
}

/* Returns true if another block may need this clock before this block has done the next one, by the clocks that have
 * arrived. */
static bool in_demand(const hw_replica *replica, uint64_t clock)
{
    const hw_policy *policy = &replica->strictest;
    if (policy->kind != HW_POLICY_SSP)
        return policy->kind == HW_POLICY_BSP;
    uint64_t most = hw_clock_table_most(&replica->clocks);
    return replica->span >= policy->staleness || (most >= policy->staleness && clock <= most - policy->staleness);
}

bool hw_replica_defer(hw_replica *replica, uint64_t clock, bool last, uint32_t most)
{
    uint32_t own = replica->spec.block;
    bool may = replica->begun && !replica->ended && !replica->plain && has_one_rule(replica) && !hw_filters(replica) &&
               replica->spec.blocks > 1 && hw_is_source(replica, own) && replica->policy.kind != HW_POLICY_BSP &&
               clock == replica->clocks.done[own] && replica->ranges[0].parts[own] == 0;
    if (!may || replica->span >= most || in_demand(replica, clock))
        return false;
    /* A clock without touched ranges may have changed any entry. */
    if (!replica->marked)
        hw_set_bits(replica->touched, 0, replica->tiles);
    replica->fresh = false;
    if (!last)
        return true;
    replica->marked = false;
    replica->span++;
    replica->figures.deferred++;
    hw_record_defer(replica, clock);
    hw_mark_done(replica, own, clock + 1);
    return true;
}

uint32_t hw_replica_deferred(const hw_replica *replica)
{
    return replica->span;
}

hawser_status hw_replica_cut_deferred(hw_replica *replica, hw_message **message, hawser_error *error)
{
    uint64_t *done = &replica->clocks.done[replica->spec.block];
    *message = NULL;
    if (replica->span == 0)
        return HAWSER_OK;
    --*done; /* the last deferred clock is cut after all, for all of them */
    replica->span--;
    return hw_replica_cut(replica, *done, true, false, message, error);
}
