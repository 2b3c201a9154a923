/* quota.c - the memory quota of a server's tables. A push reserves the memory of the rows that it may make before any stripe
 * sees it, so that it is done whole or refused. The thread that works on the stripe then charges the rows that were made in
 * place of the reservation. */
#include "store/stripe.h"

uint64_t hw_table_row_bytes(const hw_table_spec *spec)
{
    enum { KEY = 64 }; /* a key's share of an index that is a quarter full at worst */
    uint64_t bytes = spec->width * (hw_value_size(spec->type) + spec->function->memory * sizeof(double));
    return spec->sparse ? 2 * bytes + KEY : bytes; /* arrays that grow are half full at worst */
}

void hw_server_limit(hw_server *server, uint64_t bytes)
{
    atomic_store(&server->quota, bytes > 0 ? bytes : UINT64_MAX);
}

bool hw_server_reserve(hw_server *server, uint64_t bytes)
{
    uint64_t most = atomic_load(&server->quota), taken = atomic_load(&server->taken);
    do
        if (bytes > most || taken > most - bytes)
            return false;
    while (!atomic_compare_exchange_weak(&server->taken, &taken, taken + bytes));
    return true;
}

void hw_server_unreserve(hw_server *server, uint64_t bytes)
{
    if (bytes > 0)
        atomic_fetch_sub(&server->taken, bytes);
}

hawser_status hw_server_over_quota(hw_server *server, const hw_table_spec *spec, const char *what, uint64_t bytes,
                                   hawser_error *error)
{
    return hawser_fail(error, HAWSER_NO_MEMORY,
                       "table '%s': %s would take up to %.4g MiB here, and tables have %.4g of %.4g MiB already "
                       "(--memory-limit of the servers)",
                       spec->name, what, (double)bytes / 0x1p20, (double)atomic_load(&server->taken) / 0x1p20,
                       (double)atomic_load(&server->quota) / 0x1p20);
}

/* Returns the bytes for all keys of each piece, or only for keys that have no row yet, and stores them in the pieces. */
static uint64_t rows_of(hw_inflight *inflight, bool missing)
{
    uint64_t count = 0, row = hw_table_row_bytes(inflight->spec);
    for (uint32_t i = 0; i < inflight->count; i++) {
        hw_piece *piece = &inflight->pieces[i];
        uint64_t own = piece->end - piece->begin;
        if (missing)
            own = hw_table_shard_missing(piece->stripe->shards[0], inflight->grouped + piece->begin, (size_t)own);
        piece->reserved = own * row;
        count += own;
    }
    return count * row;
}

/* Keys are looked up only if memory is scarce. In a summed table each worker's sum of a clock may take the row. */
hawser_status hw_inflight_reserve(hw_inflight *inflight, hawser_error *error)
{
    const hw_table_spec *spec = inflight->spec;
    if (!spec->sparse || inflight->request.values == NULL)
        return HAWSER_OK;
    uint64_t bytes = rows_of(inflight, false);
    bool taken = hw_server_reserve(inflight->server, bytes);
    if (!taken && !spec->summed) {
        bytes = rows_of(inflight, true);
        taken = bytes == 0 || hw_server_reserve(inflight->server, bytes);
    }
    if (taken)
        return HAWSER_OK;
    for (uint32_t i = 0; i < inflight->count; i++)
        inflight->pieces[i].reserved = 0;
    return hw_server_over_quota(inflight->server, spec, "what this push adds", bytes, error);
}

uint64_t hw_stripe_new_rows(hw_stripe *stripe)
{
    uint64_t rows = stripe->spec->sparse ? hw_table_shard_keys(stripe->shards[0]) : 0, before = stripe->counted;
    stripe->counted = rows;
    return (rows - before) * hw_table_row_bytes(stripe->spec); /* modulo 2^64 */
}

void hw_stripe_count_rows(hw_stripe *stripe, uint64_t reserved)
{
    uint64_t bytes = hw_stripe_new_rows(stripe) - reserved; /* in one step, so that no row is charged twice */
    if (bytes != 0)
        atomic_fetch_add(&stripe->server->taken, bytes);
}

void hw_stripe_count_sums(const hw_stripe *stripe, const hw_sums *sums, uint64_t before)
{
    if (stripe->spec->sparse && sums->rows != before)
        atomic_fetch_add(&stripe->server->taken, (sums->rows - before) * hw_table_row_bytes(stripe->spec));
}
