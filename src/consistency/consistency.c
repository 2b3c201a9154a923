#include "consistency/consistency.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"

hawser_status hw_clock_table_new(uint32_t blocks, uint32_t own, hw_clock_table *table, hawser_error *error)
{
    *table = (hw_clock_table){.blocks = blocks, .own = own};
    return HW_NEW(&table->done, blocks, "a clock table", error);
}

void hw_clock_table_free(hw_clock_table *table)
{
    free(table->done);
    *table = (hw_clock_table){0};
}

void hw_clock_table_reset(hw_clock_table *table)
{
    memset(table->done, 0, table->blocks * sizeof *table->done);
}

bool hw_clock_table_advance(hw_clock_table *table, uint32_t block, uint64_t done)
{
    if (block >= table->blocks || done < table->done[block])
        return false;
    table->done[block] = done;
    return true;
}

uint64_t hw_clock_table_least(const hw_clock_table *table)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < table->blocks; i++)
        if (table->done[i] < least)
            least = table->done[i];
    return least;
}

uint64_t hw_clock_table_most(const hw_clock_table *table)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < table->blocks; i++)
        if (table->done[i] > most)
            most = table->done[i];
    return most;
}

/* How many clocks a read may lag: the s of PET. */
static uint64_t slack(hw_policy policy)
{
    return policy.kind == HW_POLICY_SSP || policy.kind == HW_POLICY_DELAY ? policy.staleness : 0;
}

bool hw_admit_read(hw_policy policy, const hw_clock_table *table, uint64_t clock)
{
    switch (policy.kind) {
    case HW_POLICY_BSP:
    case HW_POLICY_DELAY:
    case HW_POLICY_SSP: return hw_clock_table_least(table) >= hw_beyond(clock, slack(policy));
    case HW_POLICY_CENTRIC:
    case HW_POLICY_TAP: return true;
    }
    return false;
}

bool hw_admit_write(hw_policy policy, uint64_t clock, uint64_t reader_clock)
{
    return policy.kind != HW_POLICY_BSP || clock < reader_clock;
}

bool hw_admit_clock(uint64_t credit, uint64_t clock)
{
    return clock < credit;
}

bool hw_admit_chunk_read(uint64_t delay, uint64_t written, uint64_t iteration)
{
    return written >= hw_beyond(iteration, delay);
}

bool hw_admit_chunk_write(uint64_t delay, uint64_t least_read, uint64_t iteration)
{
    return iteration < delay || least_read > iteration - delay;
}

uint64_t hw_credit_window(hw_policy policy)
{
    /* TAP's window only bounds memory and the way to a stop; it is far above any lead that helps. */
    enum { TAP_WINDOW = 256 };
    switch (policy.kind) {
    case HW_POLICY_BSP:
    case HW_POLICY_SSP: return slack(policy) < UINT64_MAX ? slack(policy) + 1 : UINT64_MAX;
    case HW_POLICY_DELAY:
        return policy.staleness; /* of its clocks one goes to what is read ahead */
    /* A write of clock a has waited for all reads of clock a - delta, so that whoever begins a + 1 leads by delta + 2 at most: more would
     * hold up a stop, less the blocks. */
    case HW_POLICY_CENTRIC: return policy.staleness < TAP_WINDOW - 2 ? policy.staleness + 2 : TAP_WINDOW;
    case HW_POLICY_TAP: break;
    }
    return TAP_WINDOW;
}

bool hw_ssp_holds(hw_policy policy, const hw_clock_table *table, uint64_t clock)
{
    if (policy.kind == HW_POLICY_TAP || policy.kind == HW_POLICY_CENTRIC)
        return true;
    bool visible = hw_clock_table_least(table) >= hw_beyond(clock, slack(policy));
    if (table->own >= table->blocks)
        return visible;
    uint64_t own = table->done[table->own];
    bool reads_own_writes = own >= clock;
    bool bounded = hw_beyond(hw_beyond(hw_clock_table_most(table), own), slack(policy)) <= 1;
    return visible && reads_own_writes && bounded;
}
