#include "consistency/consistency.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "hawser/hawser.h"
#include "history/record.h"

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

uint32_t hw_clock_table_slowest(const hw_clock_table *table)
{
    uint32_t slowest = 0;
    for (uint32_t i = 1; i < table->blocks; i++)
        if (table->done[i] < table->done[slowest])
            slowest = i;
    return slowest;
}

uint64_t hw_clock_table_most(const hw_clock_table *table)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < table->blocks; i++)
        if (table->done[i] > most)
            most = table->done[i];
    return most;
}

/* Returns by how many clocks a read may lag, PET's s. */
static uint64_t slack(hw_policy policy)
{
    return policy.kind == HW_POLICY_SSP || policy.kind == HW_POLICY_DELAY ? policy.staleness : 0;
}

static bool reads_in_bounds(hw_policy policy, const hw_clock_table *table, uint64_t clock)
{
    return hw_clock_table_least(table) >= hw_beyond(clock, slack(policy));
}

static bool reads_at_once(hw_policy policy, const hw_clock_table *table, uint64_t clock)
{
    (void)policy, (void)table, (void)clock;
    return true;
}

/* The window of TAP only bounds memory and the time until a stop. It is far above any useful lead. */
enum { TAP_WINDOW = 256 };

static uint64_t window_widest(hw_policy policy)
{
    (void)policy;
    return TAP_WINDOW;
}

static uint64_t window_of_clocks(hw_policy policy)
{
    return slack(policy) < UINT64_MAX ? slack(policy) + 1 : UINT64_MAX;
}

/* One clock of the s + 1 is for the clock that is read ahead. */
static uint64_t window_of_delay(hw_policy policy)
{
    return policy.staleness;
}

/* A write of clock a has waited for all reads of clock a - delta, so a block that begins a + 1 leads by at most delta + 2. A
 * larger window would delay a stop, and a smaller one the blocks. */
static uint64_t window_of_chunks(hw_policy policy)
{
    return policy.staleness < TAP_WINDOW - 2 ? policy.staleness + 2 : TAP_WINDOW;
}

static uint64_t lag_none(hw_policy policy)
{
    (void)policy;
    return 0;
}

static uint64_t lag_unbounded(hw_policy policy)
{
    (void)policy;
    return HW_DELAY_NONE;
}

static uint64_t lag_of_chunks(hw_policy policy)
{
    return policy.staleness;
}

#define HW_POLICY_ROW(id, word, help, ...) [HW_POLICY_##id] = {word, __VA_ARGS__},
static const hw_policy_row rows[] = {HW_POLICIES(HW_POLICY_ROW)};

#define HW_POLICY_SAME(id, ...)                                                                                             \
    _Static_assert((int)HW_POLICY_##id == (int)HAWSER_##id, "the public enumerators are the rows' numbers");
HW_POLICIES(HW_POLICY_SAME)

const hw_policy_row *hw_policy_row_of(unsigned kind)
{
    return kind < HW_POLICY_COUNT ? &rows[kind] : NULL;
}

bool hw_policy_counts(hw_policy_kind kind)
{
    return rows[kind].word[hw_word_length(rows[kind].word)] == ':';
}

bool hw_admit_read(hw_policy policy, const hw_clock_table *table, uint64_t clock)
{
    return rows[policy.kind].reads(policy, table, clock);
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

uint64_t hw_chunk_delay(hw_policy policy)
{
    return rows[policy.kind].lag(policy);
}

uint64_t hw_credit_window(hw_policy policy)
{
    return rows[policy.kind].window(policy);
}

hw_policy hw_policy_stricter(hw_policy a, hw_policy b)
{
    bool at_once = rows[a.kind].reads == reads_at_once || rows[b.kind].reads == reads_at_once;
    if (at_once)
        return rows[a.kind].reads == reads_at_once ? b : a;
    return slack(b) < slack(a) ? b : a;
}

bool hw_ssp_holds(hw_policy policy, const hw_clock_table *table, uint64_t clock)
{
    if (rows[policy.kind].reads == reads_at_once)
        return true;
    bool visible = hw_clock_table_least(table) >= hw_beyond(clock, slack(policy));
    if (table->own >= table->blocks)
        return visible;
    uint64_t own = table->done[table->own];
    bool reads_own_writes = own >= clock;
    bool bounded = hw_beyond(hw_beyond(hw_clock_table_most(table), own), slack(policy)) <= 1;
    return visible && reads_own_writes && bounded;
}
