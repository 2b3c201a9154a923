#include "store/sums.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void hw_sums_init(hw_sums *sums, const hw_table_spec *table, uint32_t workers)
{
    sums->spec = (hw_table_spec){
        .type = table->type, .width = table->width, .sparse = true, .last = UINT64_MAX, .function = hw_function_find("add")};
    sums->workers = workers;
}

static size_t clock_bytes(const hw_sums *sums)
{
    return sizeof(hw_clock_sum) + sums->workers * sizeof(hw_table_shard *);
}

static void free_clock(hw_sums *sums, hw_clock_sum *clock)
{
    for (uint32_t w = 0; w < sums->workers; w++) {
        sums->bytes -= clock->parts[w] != NULL ? hw_table_shard_bytes(clock->parts[w]) : 0;
        sums->rows -= clock->parts[w] != NULL ? hw_table_shard_keys(clock->parts[w]) : 0;
        hw_table_shard_free(clock->parts[w]);
    }
    sums->bytes -= clock_bytes(sums);
    free(clock);
}

void hw_sums_free(hw_sums *sums)
{
    while (sums->clocks != NULL)
        hw_sums_drop(sums);
    hw_table_shard_free(sums->total);
    sums->total = NULL;
}

static hawser_status part_of(hw_sums *sums, uint32_t worker, uint64_t clock, hw_table_shard **part, hawser_error *error)
{
    hw_clock_sum **at = &sums->clocks, *found = NULL;
    while (*at != NULL && (*at)->clock < clock)
        at = &(*at)->next;
    if (*at == NULL || (*at)->clock > clock) {
        HAWSER_TRY(hw_new_array((void **)&found, 1, clock_bytes(sums), "sums of a clock", error));
        sums->bytes += clock_bytes(sums);
        found->clock = clock;
        found->next = *at;
        *at = found;
    }
    hw_table_shard **own = &(*at)->parts[worker];
    if (*own == NULL) {
        HAWSER_TRY(hw_table_shard_new(&sums->spec, 0, UINT64_MAX, own, error));
        sums->bytes += hw_table_shard_bytes(*own);
    }
    *part = *own;
    return HAWSER_OK;
}

hawser_status hw_sums_put(hw_sums *sums, uint32_t worker, uint64_t clock, const uint64_t *keys, size_t count,
                          const void *values, hw_overflow *overflow, hawser_error *error)
{
    hw_table_shard *part = NULL;
    HAWSER_TRY(part_of(sums, worker, clock, &part, error));
    size_t bytes = hw_table_shard_bytes(part), rows = hw_table_shard_keys(part);
    hawser_status status = hw_table_shard_apply(part, keys, count, values, overflow, error);
    sums->bytes += hw_table_shard_bytes(part) - bytes; /* modulo 2^64 */
    sums->rows += hw_table_shard_keys(part) - rows;
    return status;
}

static hawser_status list_of(const hw_table_shard *shard, size_t row_bytes, hw_summed *list, hawser_error *error)
{
    *list = (hw_summed){.count = hw_table_shard_keys(shard)};
    hawser_status status = HW_NEW(&list->keys, list->count, "sums of a clock", error);
    HAWSER_THEN(status, hw_new_array((void **)&list->values, list->count, row_bytes, "sums of a clock", error));
    if (status != HAWSER_OK) {
        hw_summed_free(list);
        return status;
    }
    hw_table_shard_list(shard, list->keys);
    hw_table_shard_get(shard, list->keys, list->count, list->values);
    return HAWSER_OK;
}

/* Adds the workers' sums of a row in the order of the workers, number by number. Returns false if a result is not finite. */
static bool is_finite(const hw_sums *sums, const hw_clock_sum *clock, uint64_t key)
{
    const hw_table_spec *spec = &sums->spec;
    for (size_t i = 0; i < spec->width; i++) {
        double wide = 0;
        float narrow = 0;
        for (uint32_t w = 0; w < sums->workers; w++) {
            const void *row = clock->parts[w] != NULL ? hw_table_shard_row(clock->parts[w], key) : NULL;
            if (row != NULL && spec->type == HW_VALUE_F32)
                narrow += ((const float *)row)[i];
            else if (row != NULL)
                wide += ((const double *)row)[i];
        }
        if (!isfinite(wide) || !isfinite(narrow))
            return false;
    }
    return true;
}

/* Removes rows with a number that is not finite: a sum over some of the workers would be wrong. */
static void leave_out(const hw_sums *sums, const hw_clock_sum *clock, size_t row_bytes, hw_summed *summed)
{
    size_t count = 0;
    for (size_t i = 0; i < summed->count; i++) {
        if (!is_finite(sums, clock, summed->keys[i]))
            continue;
        summed->keys[count] = summed->keys[i];
        memmove(summed->values + count++ * row_bytes, summed->values + i * row_bytes, row_bytes);
    }
    summed->count = count;
}

hawser_status hw_sums_oldest(hw_sums *sums, uint64_t end, hw_summed *summed, hw_overflow *overflow, bool *found,
                             hawser_error *error)
{
    hw_overflow own = {0};
    size_t row_bytes = sums->spec.width * hw_value_size(sums->spec.type);
    const hw_clock_sum *clock = sums->clocks;
    *found = clock != NULL && clock->clock < end;
    if (!*found)
        return HAWSER_OK;
    if (sums->total == NULL)
        HAWSER_TRY(hw_table_shard_new(&sums->spec, 0, UINT64_MAX, &sums->total, error));
    hw_table_shard_clear(sums->total);
    for (uint32_t w = 0; w < sums->workers; w++) {
        if (clock->parts[w] == NULL)
            continue;
        hw_summed part;
        HAWSER_TRY(list_of(clock->parts[w], row_bytes, &part, error));
        hawser_status status = hw_table_shard_apply(sums->total, part.keys, part.count, part.values, &own, error);
        hw_summed_free(&part);
        HAWSER_TRY(status);
    }
    HAWSER_TRY(list_of(sums->total, row_bytes, summed, error));
    if (own.any) {
        leave_out(sums, clock, row_bytes, summed);
        hw_overflow_at(overflow, own.key);
    }
    return HAWSER_OK;
}

void hw_sums_drop(hw_sums *sums)
{
    hw_clock_sum *first = sums->clocks;
    sums->clocks = first->next;
    free_clock(sums, first);
}

void hw_summed_free(hw_summed *summed)
{
    free(summed->keys);
    free(summed->values);
    *summed = (hw_summed){0};
}
