#include "store/checkpoint.h"

#include "store/stripe.h"

size_t hw_part_bytes(const hw_table_spec *spec, hw_part part)
{
    if (part == HW_PART_KEYS)
        return sizeof(uint64_t);
    return spec->width * (part == HW_PART_VALUES ? hw_value_size(spec->type) : spec->function->memory * sizeof(double));
}

bool hw_server_hold(hw_server *server, uint32_t table, uint32_t *held)
{
    hw_served *served = server->tables[table];
    while (*held < served->stripe_count && !atomic_exchange(&served->stripes[*held].busy, true))
        ++*held;
    return *held == served->stripe_count;
}

void hw_server_release(hw_server *server, uint32_t table)
{
    hw_served *served = server->tables[table];
    for (uint32_t s = 0; s < served->stripe_count; s++)
        server->options.ready(server->options.argument, &served->stripes[s]);
}

bool hw_server_between(const hw_server *server, uint32_t table, uint64_t *clock)
{
    const hw_served *served = server->tables[table];
    bool found = false;
    for (const hw_group *group = server->groups; group != NULL; group = group->next)
        for (uint32_t s = 0; group->progress[table] != NULL && s < served->stripe_count; s++) {
            const hw_clock_sum *sum = group->progress[table][s].sums.clocks;
            if (sum != NULL && (!found || sum->clock < *clock)) {
                *clock = sum->clock;
                found = true;
            }
        }
    return found;
}

bool hw_server_overflowed(const hw_server *server)
{
    bool any = false;
    for (const hw_group *group = server->groups; group != NULL; group = group->next)
        any = any || atomic_load(&group->overflowed);
    return any;
}

uint64_t hw_server_rows(const hw_server *server, uint32_t table)
{
    const hw_served *served = server->tables[table];
    uint64_t rows = 0;
    for (uint32_t s = 0; s < served->stripe_count; s++)
        for (size_t i = 0; i < served->stripes[s].shard_count; i++)
            rows += hw_table_shard_keys(served->stripes[s].shards[i]);
    return rows;
}

/* ----------------------------------------------------------------------------------------------------------- taking ---- */

size_t hw_server_take_range(const hw_server *server, uint32_t table, uint64_t first, uint64_t last, hw_part part,
                            unsigned char *out)
{
    const hw_served *served = server->tables[table];
    size_t rows = 0, bytes = hw_part_bytes(&served->spec, part);
    for (uint32_t s = 0; s < served->stripe_count; s++) {
        const hw_stripe *stripe = &served->stripes[s];
        for (size_t i = 0; i < stripe->shard_count; i++) {
            const hw_arc *arc = &stripe->arcs[i];
            if (arc->last < first || arc->first > last)
                continue;
            uint64_t from = arc->first > first ? arc->first : first, to = arc->last < last ? arc->last : last;
            size_t slot = (size_t)(from - arc->first), count = (size_t)(to - from) + 1;
            rows += hw_table_shard_take(stripe->shards[i], &slot, count, part, out + rows * bytes);
        }
    }
    return rows;
}

size_t hw_server_take_rows(const hw_server *server, uint32_t table, hw_cursor *cursor, size_t count, hw_part part,
                           unsigned char *out)
{
    const hw_served *served = server->tables[table];
    size_t rows = 0, bytes = hw_part_bytes(&served->spec, part);
    while (rows < count && cursor->stripe < served->stripe_count) {
        const hw_table_shard *shard = served->stripes[cursor->stripe].shards[0];
        rows += hw_table_shard_take(shard, &cursor->slot, count - rows, part, out + rows * bytes);
        if (rows == count)
            break;
        cursor->stripe++;
        cursor->slot = 0;
    }
    return rows;
}

/* ---------------------------------------------------------------------------------------------------------- putting ---- */

/* Adds up the memory of rows of sparse tables: what the file needs (*more), and what it replaces (*less). *most is the table
 * that grows most. */
static void add_up(const hw_server *server, const hw_coming *coming, size_t count, uint64_t *more, uint64_t *less,
                   const hw_table_spec **most)
{
    uint64_t largest = 0;
    *more = *less = 0;
    for (size_t i = 0; i < count; i++) {
        const hw_served *served = server->tables[coming[i].table];
        uint64_t row = hw_table_row_bytes(&served->spec), now = 0;
        for (uint32_t s = 0; s < served->stripe_count; s++)
            now += served->stripes[s].counted;
        if (!served->spec.sparse)
            continue;
        *more += coming[i].rows * row;
        *less += now * row;
        if (coming[i].rows > now && (coming[i].rows - now) * row > largest) {
            largest = (coming[i].rows - now) * row;
            *most = &served->spec;
        }
    }
}

hawser_status hw_server_reserve_load(hw_server *server, const hw_coming *coming, size_t count, uint64_t *reserved,
                                     hawser_error *error)
{
    uint64_t more, less;
    const hw_table_spec *most = NULL;
    add_up(server, coming, count, &more, &less, &most);
    *reserved = more > less ? more - less : 0;
    if (*reserved == 0 || hw_server_reserve(server, *reserved))
        return HAWSER_OK;
    hawser_status status = hw_server_over_quota(server, most, "what the file has beyond what it replaces", *reserved, error);
    *reserved = 0;
    return status;
}

/* Forgets the kept versions, so that a repeated read returns what was loaded. */
static void forget_before(const hw_server *server, uint32_t table)
{
    const hw_served *served = server->tables[table];
    for (const hw_group *group = server->groups; group != NULL; group = group->next)
        for (uint32_t s = 0; group->progress[table] != NULL && s < served->stripe_count; s++)
            hw_before_forget(&served->stripes[s], &group->progress[table][s].before);
}

void hw_server_forget(hw_server *server, const hw_coming *coming, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const hw_served *served = server->tables[coming[i].table];
        for (uint32_t s = 0; served->spec.sparse && s < served->stripe_count; s++)
            hw_table_shard_empty(served->stripes[s].shards[0]);
        forget_before(server, (uint32_t)coming[i].table);
    }
}

void hw_server_loaded(hw_server *server, const hw_coming *coming, size_t count, uint64_t reserved)
{
    uint64_t bytes = -reserved; /* added in one step, because other threads reserve memory meanwhile */
    for (size_t i = 0; i < count; i++) {
        const hw_served *served = server->tables[coming[i].table];
        for (uint32_t s = 0; s < served->stripe_count; s++)
            bytes += hw_stripe_new_rows(&served->stripes[s]);
    }
    atomic_fetch_add(&server->taken, bytes);
}

hawser_status hw_server_put_rows(hw_server *server, uint32_t table, const uint64_t *keys, size_t count,
                                 const unsigned char *values, const unsigned char *memory, hawser_error *error)
{
    hw_served *served = server->tables[table];
    size_t row_bytes = hw_part_bytes(&served->spec, HW_PART_VALUES),
           row_memory = hw_part_bytes(&served->spec, HW_PART_MEMORY);
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        hw_stripe *stripe = hw_served_stripe(server, served, keys[i], &at);
        if (stripe == NULL)
            return hawser_fail(error, HAWSER_BAD_INPUT, "table '%s': key %llu is not server %u's", served->spec.name,
                               (unsigned long long)keys[i], server->options.self);
        HAWSER_TRY(hw_table_shard_put(stripe->shards[at], keys[i], values + i * row_bytes,
                                      memory != NULL ? memory + i * row_memory : NULL, error));
    }
    return HAWSER_OK;
}
