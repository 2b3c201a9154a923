#include "store/cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "store/shard.h"

enum { FIRST_ROWS = 64 };
#define NONE UINT32_MAX /* no row */

typedef struct entry {
    uint64_t key, clock;
    uint32_t chain;        /* the next row in the same bucket */
    uint32_t newer, older; /* the neighbours in the order of use */
} entry;

struct hw_cache {
    const hw_table_spec *spec;
    hw_table_spec sums; /* the table of increments that are kept apart: sparse, added up */
    uint32_t workers;
    size_t bytes, row_bytes;
    bool adds;                   /* flushed increments are added to the cached rows */
    uint64_t *clocks;            /* by worker */
    hw_table_shard **increments; /* by worker */
    entry *entries;
    unsigned char *values;
    size_t rows, capacity, values_capacity, most; /* `most` is the largest number of rows */
    uint32_t *buckets;
    size_t mask;
    uint32_t newest, oldest;
    hw_cache_reading *pulling;
    uint32_t exact; /* pulls that are repeated; nothing is flushed meanwhile */
    hw_cache_figures figures;
};

hawser_status hw_cache_new(const hw_cache_options *options, hw_cache **out, hawser_error *error)
{
    hw_cache *cache = NULL;
    HAWSER_TRY(HW_NEW(&cache, 1, "a cache of the store", error));
    const hw_table_spec *spec = options->spec;
    cache->spec = spec;
    cache->sums = (hw_table_spec){
        .type = spec->type, .width = spec->width, .sparse = true, .last = UINT64_MAX, .function = hw_function_find("add")};
    cache->adds = spec->function == cache->sums.function && !spec->summed;
    cache->bytes = options->bytes;
    cache->row_bytes = spec->width * hw_value_size(spec->type);
    /* There are fewer than twice as many buckets as rows. */
    size_t most = options->bytes / (cache->row_bytes + sizeof(entry) + 2 * sizeof *cache->buckets);
    cache->most = most < NONE ? most : NONE - 1;
    cache->newest = cache->oldest = NONE;
    hawser_status status = HW_NEW(&cache->clocks, options->workers, "a cache of the store", error);
    HAWSER_THEN(status, HW_NEW(&cache->increments, options->workers, "a cache of the store", error));
    for (; status == HAWSER_OK && cache->workers < options->workers; cache->workers += status == HAWSER_OK)
        status = hw_table_shard_new(&cache->sums, 0, UINT64_MAX, &cache->increments[cache->workers], error);
    if (status != HAWSER_OK)
        hw_cache_free(cache);
    else
        *out = cache;
    return status;
}

void hw_cache_free(hw_cache *cache)
{
    if (cache == NULL)
        return;
    for (uint32_t w = 0; w < cache->workers; w++)
        hw_table_shard_free(cache->increments[w]);
    free(cache->increments);
    free(cache->clocks);
    free(cache->entries);
    free(cache->values);
    free(cache->buckets);
    free(cache);
}

uint64_t hw_cache_clock(const hw_cache *cache, uint32_t worker)
{
    return cache->clocks[worker];
}

void hw_cache_tick(hw_cache *cache, uint32_t worker)
{
    cache->clocks[worker]++;
}

void hw_cache_figures_of(const hw_cache *cache, hw_cache_figures *figures)
{
    *figures = cache->figures;
    figures->rows = cache->rows;
    figures->bytes =
        cache->capacity * sizeof(entry) + cache->values_capacity + (cache->buckets != NULL ? cache->mask + 1 : 0) * 4;
}

/* ------------------------------------------------------------------------------------------------------------- rows ---- */

static unsigned char *values_of(const hw_cache *cache, uint32_t row)
{
    return cache->values + row * cache->row_bytes;
}

static uint32_t *bucket_of(const hw_cache *cache, uint64_t key)
{
    return &cache->buckets[(size_t)(hw_mix(key) >> 5) & cache->mask];
}

static uint32_t find(const hw_cache *cache, uint64_t key)
{
    if (cache->rows == 0)
        return NONE;
    uint32_t row = *bucket_of(cache, key);
    while (row != NONE && cache->entries[row].key != key)
        row = cache->entries[row].chain;
    return row;
}

static void unlink_use(hw_cache *cache, uint32_t row)
{
    entry *e = &cache->entries[row];
    *(e->newer != NONE ? &cache->entries[e->newer].older : &cache->newest) = e->older;
    *(e->older != NONE ? &cache->entries[e->older].newer : &cache->oldest) = e->newer;
}

static void link_use(hw_cache *cache, uint32_t row)
{
    entry *e = &cache->entries[row];
    e->newer = NONE;
    e->older = cache->newest;
    *(cache->newest != NONE ? &cache->entries[cache->newest].newer : &cache->oldest) = row;
    cache->newest = row;
}

static void use(hw_cache *cache, uint32_t row)
{
    if (cache->newest == row)
        return;
    unlink_use(cache, row);
    link_use(cache, row);
}

static void unchain(hw_cache *cache, uint32_t row)
{
    uint32_t *at = bucket_of(cache, cache->entries[row].key);
    while (*at != row)
        at = &cache->entries[*at].chain;
    *at = cache->entries[row].chain;
}

static void chain(hw_cache *cache, uint32_t row)
{
    uint32_t *bucket = bucket_of(cache, cache->entries[row].key);
    cache->entries[row].chain = *bucket;
    *bucket = row;
}

/* Makes space for one more row. Returns false without memory: then rows are not cached. */
static bool make_space(hw_cache *cache)
{
    if (cache->rows < cache->capacity)
        return true;
    size_t capacity = cache->capacity == 0 ? FIRST_ROWS : 2 * cache->capacity, buckets = 1;
    capacity = capacity < cache->most ? capacity : cache->most;
    while (buckets < capacity)
        buckets *= 2;
    uint32_t *grown = malloc(buckets * sizeof *grown);
    unsigned char *values = grown != NULL ? realloc(cache->values, capacity * cache->row_bytes) : NULL;
    cache->values = values != NULL ? values : cache->values;
    entry *entries = values != NULL ? realloc(cache->entries, capacity * sizeof *entries) : NULL;
    if (entries == NULL) {
        free(grown);
        return false;
    }
    cache->entries = entries;
    cache->values_capacity = capacity * cache->row_bytes;
    cache->capacity = capacity;
    free(cache->buckets);
    cache->buckets = grown;
    cache->mask = buckets - 1;
    memset(grown, 0xff, buckets * sizeof *grown); /* NONE */
    for (uint32_t row = 0; row < cache->rows; row++)
        chain(cache, row);
    return true;
}

/* Returns a row for a key that has none: a new one, or the least recently used one. Returns NONE if the cache may have no
 * rows. */
static uint32_t new_row(hw_cache *cache, uint64_t key)
{
    uint32_t row = cache->oldest;
    if (cache->rows < cache->most && make_space(cache)) {
        row = (uint32_t)cache->rows++;
    } else if (row != NONE) {
        unchain(cache, row);
        unlink_use(cache, row);
        cache->figures.evicted++;
    } else {
        return NONE;
    }
    cache->entries[row].key = key;
    chain(cache, row);
    link_use(cache, row);
    return row;
}

/* Removes a row; the last row moves to its place. */
static void drop_row(hw_cache *cache, uint32_t row)
{
    unchain(cache, row);
    unlink_use(cache, row);
    uint32_t last = (uint32_t)--cache->rows;
    if (row == last)
        return;
    unchain(cache, last);
    unlink_use(cache, last);
    cache->entries[row] = cache->entries[last];
    memcpy(values_of(cache, row), values_of(cache, last), cache->row_bytes);
    chain(cache, row);
    link_use(cache, row);
}

void hw_cache_forget(hw_cache *cache)
{
    while (cache->rows > 0)
        drop_row(cache, (uint32_t)cache->rows - 1);
}

/* Returns false if a sum is not finite. */
static bool add_row(const hw_cache *cache, void *values, const void *updates)
{
    return cache->sums.function->apply(&(hw_applying){
               .type = cache->spec->type, .width = cache->spec->width, .rows = 1, .values = values, .updates = updates}) ==
           1;
}

/* ------------------------------------------------------------------------------------------------------- increments ---- */

hawser_status hw_cache_inc(hw_cache *cache, uint32_t worker, const uint64_t *keys, size_t count, const void *values,
                           bool *early, hawser_error *error)
{
    hw_table_shard *own = cache->increments[worker];
    hw_overflow overflow = {0};
    HAWSER_TRY(hw_table_shard_apply(own, keys, count, values, &overflow, error));
    *early = hw_table_shard_keys(own) > cache->bytes / cache->workers / (cache->row_bytes + sizeof(uint64_t));
    if (overflow.any)
        return hawser_fail(
            error, HAWSER_NOT_FINITE,
            "table '%s': key %llu overflows: the sum of this clock's increments would be infinite, so it stays "
            "without this one",
            cache->spec->name, (unsigned long long)overflow.key);
    return HAWSER_OK;
}

bool hw_cache_may_flush(const hw_cache *cache)
{
    return cache->exact == 0;
}

/* Marks the pulls in progress that name these keys: their reply may contain this flush or not. */
static void disturb(hw_cache *cache, const uint64_t *keys, size_t count)
{
    for (hw_cache_reading *reading = cache->pulling; reading != NULL; reading = reading->next)
        for (size_t i = 0, k = 0; !reading->disturbed && i < count && k < reading->wanted_count;) {
            reading->disturbed = keys[i] == reading->wanted[k];
            if (keys[i] < reading->wanted[k])
                i++;
            else
                k++;
        }
}

hawser_status hw_cache_flush(hw_cache *cache, uint32_t worker, hw_flushed *flushed, hawser_error *error)
{
    hw_table_shard *own = cache->increments[worker];
    *flushed = (hw_flushed){.count = hw_table_shard_keys(own)};
    if (flushed->count == 0)
        return HAWSER_OK;
    hawser_status status = HW_NEW(&flushed->keys, flushed->count, "increments", error);
    HAWSER_THEN(status, hw_new_array(&flushed->values, flushed->count, cache->row_bytes, "increments", error));
    if (status != HAWSER_OK) {
        free(flushed->keys);
        *flushed = (hw_flushed){0};
        return status;
    }
    hw_table_shard_list(own, flushed->keys);
    hw_table_shard_get(own, flushed->keys, flushed->count, flushed->values);
    hw_table_shard_clear(own);
    if (cache->spec->summed) /* rows of a summed table change when all workers have ended the clock */
        return HAWSER_OK;
    disturb(cache, flushed->keys, flushed->count);
    for (size_t i = 0; i < flushed->count; i++) {
        uint32_t row = find(cache, flushed->keys[i]);
        if (row == NONE ||
            (cache->adds && add_row(cache, values_of(cache, row), (unsigned char *)flushed->values + i * cache->row_bytes)))
            continue;
        drop_row(cache, row); /* only the server knows the result of the function */
    }
    return HAWSER_OK;
}

/* ---------------------------------------------------------------------------------------------------------- reading ---- */

static unsigned char *out_of(const hw_cache *cache, const hw_cache_reading *reading, size_t i)
{
    return (unsigned char *)reading->out + i * cache->row_bytes;
}

static void serve(const hw_cache *cache, hw_cache_reading *reading, size_t i, const void *values)
{
    unsigned char *out = out_of(cache, reading, i);
    memcpy(out, values, cache->row_bytes);
    const void *own = cache->adds ? hw_table_shard_row(cache->increments[reading->worker], reading->keys[i]) : NULL;
    if (own != NULL && !add_row(cache, out, own))
        hw_overflow_at(&reading->overflow, reading->keys[i]);
}

/* Serves a row from the cache if it is present and fresh enough. */
static bool serve_near(hw_cache *cache, hw_cache_reading *reading, size_t i)
{
    uint32_t row = find(cache, reading->keys[i]);
    if (row == NONE || cache->entries[row].clock < reading->least)
        return false;
    use(cache, row);
    serve(cache, reading, i, values_of(cache, row));
    return true;
}

/* Returns whether another reading pulls the key with the same `least`. Readings that wait for different clocks do not share
 * a pull, because two could wait for each other. */
static bool is_pulled(const hw_cache *cache, uint64_t least, uint64_t key)
{
    for (const hw_cache_reading *other = cache->pulling; other != NULL; other = other->next) {
        size_t low = 0, high = other->wanted_count;
        while (other->least == least && low < high) {
            size_t middle = low + (high - low) / 2;
            if (other->wanted[middle] == key)
                return true;
            if (other->wanted[middle] < key)
                low = middle + 1;
            else
                high = middle;
        }
    }
    return false;
}

/* First pass: serves the cached rows; the other rows are open. */
static hawser_status begin(hw_cache *cache, hw_cache_reading *reading, hawser_error *error)
{
    uint64_t clock = cache->clocks[reading->worker], staleness = cache->spec->staleness;
    reading->least = clock > staleness ? clock - staleness : 0;
    for (size_t i = 0; i < reading->count; i++) {
        if (serve_near(cache, reading, i)) {
            cache->figures.hits++;
            continue;
        }
        if (reading->open == NULL)
            HAWSER_TRY(HW_NEW(&reading->open, reading->count - i, "a read of the store", error));
        reading->open[reading->open_count++] = (uint32_t)i;
    }
    reading->begun = true;
    return HAWSER_OK;
}

/* Later passes: pulls of other readings may have filled the cache. */
static void look_up_again(hw_cache *cache, hw_cache_reading *reading)
{
    size_t left = 0;
    for (size_t k = 0; k < reading->open_count; k++) {
        if (serve_near(cache, reading, reading->open[k]))
            cache->figures.shared++;
        else
            reading->open[left++] = reading->open[k];
    }
    reading->open_count = left;
}

/* Chooses the open rows that no other reading pulls; this reading will pull them. */
static hawser_status want(hw_cache *cache, hw_cache_reading *reading, hawser_error *error)
{
    if (reading->wanted == NULL) {
        HAWSER_TRY(HW_NEW(&reading->wanted, reading->open_count + 1, "a read of the store", error));
        reading->oldest = reading->wanted + reading->open_count;
        HAWSER_TRY(HW_NEW(&reading->rows, reading->open_count, "a read of the store", error));
        HAWSER_TRY(hw_new_array(&reading->pulled, reading->open_count, cache->row_bytes, "a read of the store", error));
    }
    size_t left = 0;
    reading->wanted_count = 0;
    for (size_t k = 0; k < reading->open_count; k++) {
        uint32_t i = reading->open[k];
        if (is_pulled(cache, reading->least, reading->keys[i])) {
            reading->open[left++] = i;
            continue;
        }
        reading->rows[reading->wanted_count] = i;
        reading->wanted[reading->wanted_count++] = reading->keys[i];
    }
    reading->open_count = left;
    return HAWSER_OK;
}

hawser_status hw_cache_read(hw_cache *cache, hw_cache_reading *reading, hw_cache_reading_state *state, hawser_error *error)
{
    if (!reading->begun)
        HAWSER_TRY(begin(cache, reading, error));
    else
        look_up_again(cache, reading);
    *state = HW_READING_DONE;
    if (reading->open_count == 0)
        return HAWSER_OK;
    HAWSER_TRY(want(cache, reading, error));
    *state = HW_READING_WAIT;
    if (reading->wanted_count == 0)
        return HAWSER_OK;
    cache->figures.misses += reading->wanted_count;
    reading->pulling = true;
    reading->disturbed = false;
    reading->next = cache->pulling;
    cache->pulling = reading;
    *state = HW_READING_PULL;
    return HAWSER_OK;
}

static void stop_pulling(hw_cache *cache, hw_cache_reading *reading)
{
    hw_cache_reading **at = &cache->pulling;
    while (*at != reading)
        at = &(*at)->next;
    *at = reading->next;
    reading->pulling = false;
    cache->exact -= reading->repeated;
    reading->repeated = false;
}

bool hw_cache_pulled(hw_cache *cache, hw_cache_reading *reading)
{
    if (reading->disturbed) {
        /* The pull is repeated. The clocks that it waits for have ended by now, so it waits for no worker. */
        reading->disturbed = false;
        reading->repeated = true;
        cache->exact++;
        cache->figures.repeated++;
        return false;
    }
    stop_pulling(cache, reading);
    uint64_t oldest = *reading->oldest;
    for (size_t k = 0; k < reading->wanted_count; k++) {
        const unsigned char *values = (unsigned char *)reading->pulled + k * cache->row_bytes;
        serve(cache, reading, reading->rows[k], values);
        uint32_t row = find(cache, reading->wanted[k]);
        if (row == NONE)
            row = new_row(cache, reading->wanted[k]);
        else if (cache->entries[row].clock > oldest)
            continue;
        if (row == NONE)
            continue;
        use(cache, row);
        cache->entries[row].clock = oldest;
        memcpy(values_of(cache, row), values, cache->row_bytes);
    }
    reading->wanted_count = 0;
    return true;
}

void hw_cache_reading_end(hw_cache *cache, hw_cache_reading *reading)
{
    if (reading->pulling)
        stop_pulling(cache, reading);
    free(reading->open);
    free(reading->rows);
    free(reading->wanted);
    free(reading->pulled);
    *reading = (hw_cache_reading){0};
}
