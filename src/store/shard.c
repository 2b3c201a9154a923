#include "store/shard.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/random.h"
#include "codec/bits.h"
#include "store/guard.h"

/* The rows of a sparse shard are in one growing array, in the order in which their keys were made; those of a dense shard
 * exist from the start. The index of a sparse shard is a table of slots with open addressing, at most half full, so that a
 * probe seldom leaves its cache line. */
typedef struct slot {
    uint64_t key;
    uint64_t row; /* its number + 1; 0: the slot is free */
} slot;

struct hw_table_shard {
    const hw_table_spec *spec;
    uint64_t first, last;
    size_t row_bytes;  /* bytes of a row's values */
    size_t row_memory; /* doubles of a row's memory */
    unsigned char *values;
    double *memory;
    bool caller_owned; /* the caller owns values and memory */
    size_t rows, capacity;
    slot *slots;
    size_t mask;            /* number of slots - 1 */
    pthread_mutex_t making; /* sparse shards: held while slots change, always shortly */
    uint64_t *found;        /* rows of the keys that are being written */
    size_t found_capacity;
    hw_guard guard; /* for functions of the user */
};

enum { FIRST_SLOTS = 64, AHEAD = 96 /* keys whose slots or rows are prefetched */ };

static size_t home_in(size_t mask, uint64_t key)
{
    return (size_t)(hw_mix(key) >> 3) & mask;
}

static size_t home(const hw_table_shard *shard, uint64_t key)
{
    return home_in(shard->mask, key);
}

static hawser_status new_shard(const hw_table_spec *spec, uint64_t first, uint64_t last, hw_table_shard **out,
                               hawser_error *error)
{
    hw_table_shard *shard = NULL;
    HAWSER_TRY(HW_NEW(&shard, 1, "a shard", error));
    *shard = (hw_table_shard){.spec = spec, .first = first, .last = last};
    shard->row_bytes = spec->width * hw_value_size(spec->type);
    shard->row_memory = (size_t)spec->width * spec->function->memory;
    pthread_mutex_init(&shard->making, NULL); /* cannot fail on Linux */
    *out = shard;
    return HAWSER_OK;
}

hawser_status hw_table_shard_memory(const hw_table_spec *spec, uint64_t rows, void **values, double **memory,
                                    hawser_error *error)
{
    size_t row_bytes = spec->width * hw_value_size(spec->type), doubles = (size_t)spec->width * spec->function->memory;
    *values = NULL;
    *memory = NULL;
    if (rows > SIZE_MAX / row_bytes - 1)
        return hawser_fail(error, HAWSER_NO_MEMORY, "table '%s': %llu keys of %zu bytes are more than an address space has",
                           spec->name, (unsigned long long)rows, row_bytes);
    HAWSER_TRY(hw_new_large(values, (size_t)rows, row_bytes, "a dense table", error));
    hawser_status status = HAWSER_OK;
    if (doubles > 0)
        status = hw_new_large((void **)memory, (size_t)rows, doubles * sizeof **memory, "a dense table", error);
    if (status != HAWSER_OK) {
        free(*values);
        *values = NULL;
    }
    return status;
}

hawser_status hw_table_shard_over(const hw_table_spec *spec, uint64_t first, uint64_t last, void *values, double *memory,
                                  hw_table_shard **out, hawser_error *error)
{
    HAWSER_TRY(new_shard(spec, first, last, out, error));
    (*out)->rows = (*out)->capacity = (size_t)(last - first) + 1;
    (*out)->values = values;
    (*out)->memory = memory;
    (*out)->caller_owned = true;
    return HAWSER_OK;
}

hawser_status hw_table_shard_new(const hw_table_spec *spec, uint64_t first, uint64_t last, hw_table_shard **out,
                                 hawser_error *error)
{
    hw_table_shard *shard = NULL;
    void *values = NULL;
    HAWSER_TRY(new_shard(spec, first, last, &shard, error));
    hawser_status status = HAWSER_OK;
    if (spec->sparse) {
        shard->mask = FIRST_SLOTS - 1;
        status = HW_NEW(&shard->slots, FIRST_SLOTS, "a sparse shard", error);
    } else {
        status = hw_table_shard_memory(spec, last - first < UINT64_MAX ? last - first + 1 : last - first, &values,
                                       &shard->memory, error);
        shard->values = values;
        shard->rows = shard->capacity = (size_t)(last - first) + 1;
    }
    if (status != HAWSER_OK)
        hw_table_shard_free(shard);
    else
        *out = shard;
    return status;
}

void hw_table_shard_free(hw_table_shard *shard)
{
    if (shard == NULL)
        return;
    if (!shard->caller_owned) {
        free(shard->values);
        free(shard->memory);
    }
    free(shard->slots);
    free(shard->found);
    hw_guard_free(&shard->guard);
    pthread_mutex_destroy(&shard->making);
    free(shard);
}

size_t hw_table_shard_keys(const hw_table_shard *shard)
{
    return shard->rows;
}

size_t hw_table_shard_bytes(const hw_table_shard *shard)
{
    size_t slots = shard->slots != NULL ? (shard->mask + 1) * sizeof *shard->slots : 0;
    return sizeof *shard + slots + shard->capacity * (shard->row_bytes + shard->row_memory * sizeof(double));
}

/* ---------------------------------------------------------------------------------------------------- finding rows ---- */

/* Returns the row of a key of a sparse shard, or SIZE_MAX. */
static size_t row_of(const hw_table_shard *shard, uint64_t key)
{
    for (size_t at = home(shard, key);; at = (at + 1) & shard->mask) {
        if (shard->slots[at].row == 0)
            return SIZE_MAX;
        if (shard->slots[at].key == key)
            return (size_t)shard->slots[at].row - 1;
    }
}

/* Stores the rows of keys of a sparse shard, SIZE_MAX where there is none. Returns how many have none. */
static size_t rows_of(const hw_table_shard *shard, const uint64_t *keys, size_t count, uint64_t *rows)
{
    size_t missing = 0;
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count)
            hw_prefetch(&shard->slots[home(shard, keys[i + AHEAD])]);
        rows[i] = row_of(shard, keys[i]);
        missing += rows[i] == SIZE_MAX;
    }
    return missing;
}

static void insert(slot *slots, size_t mask, uint64_t key, size_t row)
{
    size_t at = home_in(mask, key);
    while (slots[at].row != 0)
        at = (at + 1) & mask;
    slots[at] = (slot){key, row + 1};
}

/* Replaces the slots. Another thread that looks up keys uses the old slots until then. The caller frees the old ones, which
 * are returned. */
static slot *change_slots(hw_table_shard *shard, slot *slots, size_t mask)
{
    pthread_mutex_lock(&shard->making);
    slot *old = shard->slots;
    shard->slots = slots;
    shard->mask = mask;
    pthread_mutex_unlock(&shard->making);
    return old;
}

/* Makes space for `more` rows and their slots. If it fails, only capacities have changed. */
static hawser_status make_space(hw_table_shard *shard, size_t more, hawser_error *error)
{
    size_t needed = shard->rows + more, values = shard->capacity, memory = shard->capacity;
    if (needed > shard->capacity) {
        HAWSER_TRY(hw_grow((void **)&shard->values, &values, needed, shard->row_bytes, "a sparse shard", error));
        if (shard->row_memory > 0)
            HAWSER_TRY(hw_grow((void **)&shard->memory, &memory, needed, shard->row_memory * sizeof(double),
                               "a sparse shard", error));
        shard->capacity = shard->row_memory > 0 && memory < values ? memory : values;
    }
    size_t slots = shard->mask + 1;
    if (needed <= slots / 2)
        return HAWSER_OK;
    while (needed > slots / 2)
        slots *= 2;
    slot *grown = NULL;
    HAWSER_TRY(HW_NEW(&grown, slots, "a sparse shard", error));
    for (size_t i = 0; i <= shard->mask; i++)
        if (shard->slots[i].row != 0)
            insert(grown, slots - 1, shard->slots[i].key, (size_t)shard->slots[i].row - 1);
    free(change_slots(shard, grown, slots - 1));
    return HAWSER_OK;
}

/* Adds rows for the keys in shard->found that have none. A thread that looks up keys waits for a few rows at a time. */
static hawser_status add_rows(hw_table_shard *shard, const uint64_t *keys, size_t count, size_t missing, hawser_error *error)
{
    enum { TOGETHER = 256 };
    HAWSER_TRY(make_space(shard, missing, error));
    memset(shard->values + shard->rows * shard->row_bytes, 0, missing * shard->row_bytes);
    if (shard->row_memory > 0)
        memset(shard->memory + shard->rows * shard->row_memory, 0, missing * shard->row_memory * sizeof(double));
    for (size_t i = 0; i < count;) {
        size_t end = count - i < TOGETHER ? count : i + TOGETHER;
        pthread_mutex_lock(&shard->making);
        for (; i < end; i++) {
            if (shard->found[i] != SIZE_MAX)
                continue;
            shard->found[i] = shard->rows++;
            insert(shard->slots, shard->mask, keys[i], (size_t)shard->found[i]);
        }
        pthread_mutex_unlock(&shard->making);
    }
    return HAWSER_OK;
}

/* Stores the rows of these keys in shard->found, and makes those that do not exist. */
static hawser_status make_keys(hw_table_shard *shard, const uint64_t *keys, size_t count, hawser_error *error)
{
    HAWSER_TRY(HW_GROW(&shard->found, &shard->found_capacity, count, "the rows of a request", error));
    size_t missing = rows_of(shard, keys, count, shard->found);
    return missing > 0 ? add_rows(shard, keys, count, missing, error) : HAWSER_OK;
}

size_t hw_table_shard_missing(hw_table_shard *shard, const uint64_t *keys, size_t count)
{
    enum { BATCH = 256 };
    uint64_t rows[BATCH];
    size_t missing = 0;
    for (size_t i = 0, n; i < count; i += n) {
        n = count - i < BATCH ? count - i : BATCH;
        pthread_mutex_lock(&shard->making);
        missing += rows_of(shard, keys + i, n, rows);
        pthread_mutex_unlock(&shard->making);
    }
    return missing;
}

/* ------------------------------------------------------------------------------------------------- reading, writing ---- */

/* Copies the rows at[i] - base to `out`. In a sparse shard, whose base is 0, SIZE_MAX means no row: zeros. */
#define GATHER(T)                                                                                                           \
    for (size_t i = 0; i < count; i++) {                                                                                    \
        if (i + AHEAD < count)                                                                                              \
            hw_prefetch((const void *)((uintptr_t)shard->values + (size_t)(at[i + AHEAD] - base) * sizeof(T)));             \
        ((T *)out)[i] = at[i] == SIZE_MAX && sparse ? 0 : ((const T *)shard->values)[at[i] - base];                         \
    }

static void gather(const hw_table_shard *shard, const uint64_t *at, uint64_t base, size_t count, unsigned char *out)
{
    bool sparse = shard->slots != NULL;
    size_t bytes = shard->row_bytes;
    if (bytes == sizeof(uint32_t)) {
        GATHER(uint32_t)
    } else if (bytes == sizeof(uint64_t)) {
        GATHER(uint64_t)
    } else {
        for (size_t i = 0; i < count; i++, out += bytes)
            if (at[i] == SIZE_MAX && sparse)
                memset(out, 0, bytes);
            else
                memcpy(out, shard->values + (size_t)(at[i] - base) * bytes, bytes);
    }
}

void hw_table_shard_get(const hw_table_shard *shard, const uint64_t *keys, size_t count, void *out)
{
    enum { BATCH = 256 };
    uint64_t rows[BATCH];
    unsigned char *to = out;
    if (shard->slots == NULL) {
        gather(shard, keys, shard->first, count, to);
        return;
    }
    for (size_t i = 0, n; i < count; i += n, to += n * shard->row_bytes) {
        n = count - i < BATCH ? count - i : BATCH;
        (void)rows_of(shard, keys + i, n, rows);
        gather(shard, rows, 0, n, to);
    }
}

const void *hw_table_shard_from(const hw_table_shard *shard, uint64_t first)
{
    return shard->values + (size_t)(first - shard->first) * shard->row_bytes;
}

void hw_table_shard_get_range(const hw_table_shard *shard, uint64_t first, uint64_t last, void *out)
{
    memcpy(out, hw_table_shard_from(shard, first), ((size_t)(last - first) + 1) * shard->row_bytes);
}

static hw_applying applying_to(const hw_table_shard *shard, size_t row, size_t rows, const void *updates)
{
    return (hw_applying){
        .function = shard->spec->function,
        .type = shard->spec->type,
        .width = shard->spec->width,
        .rows = rows,
        .values = shard->values + row * shard->row_bytes,
        .memory = shard->memory != NULL ? shard->memory + row * shard->row_memory : NULL,
        .updates = updates,
        .parameters = shard->spec->parameters,
        .table = shard->spec->name,
    };
}

/* Applies the function to adjacent rows; for *kept see hw_function. */
static hawser_status apply_close(hw_table_shard *shard, const hw_applying *applying, size_t *kept, hawser_error *error)
{
    if (applying->function->user != NULL)
        return hw_guard_apply(&shard->guard, applying, kept, error);
    *kept = applying->function->apply(applying);
    return HAWSER_OK;
}

static hawser_status apply_rows(hw_table_shard *shard, size_t row, size_t rows, const void *updates, size_t *kept,
                                hawser_error *error)
{
    hw_applying applying = applying_to(shard, row, rows, updates);
    return apply_close(shard, &applying, kept, error);
}

/* Applies the function to the rows at[i] - base. *kept is the first i of which a number was not changed, or `count`. A
 * function that needs adjacent rows gets the longest runs of them. */
static hawser_status apply_at(hw_table_shard *shard, const uint64_t *at, uint64_t base, size_t count,
                              const unsigned char *updates, size_t *kept, hawser_error *error)
{
    hw_applying applying = applying_to(shard, 0, count, updates);
    applying.at = at;
    applying.base = base;
    *kept = count;
    if (shard->spec->function->scattered) {
        *kept = shard->spec->function->apply(&applying);
        return HAWSER_OK;
    }
    for (size_t i = 0, n, own; i < count; i += n, updates += n * shard->row_bytes) {
        for (n = 1; i + n < count && at[i + n] == at[i] + n;)
            n++;
        HAWSER_TRY(apply_rows(shard, (size_t)(at[i] - base), n, updates, &own, error));
        *kept = own < n && *kept == count ? i + own : *kept;
    }
    return HAWSER_OK;
}

hawser_status hw_table_shard_apply(hw_table_shard *shard, const uint64_t *keys, size_t count, const void *updates,
                                   hw_overflow *overflow, hawser_error *error)
{
    bool sparse = shard->slots != NULL;
    size_t kept = count;
    if (sparse)
        HAWSER_TRY(make_keys(shard, keys, count, error));
    HAWSER_TRY(apply_at(shard, sparse ? shard->found : keys, sparse ? 0 : shard->first, count, updates, &kept, error));
    if (kept < count)
        hw_overflow_at(overflow, keys[kept]);
    return HAWSER_OK;
}

hawser_status hw_table_shard_apply_range(hw_table_shard *shard, uint64_t first, uint64_t last, const void *updates,
                                         hw_overflow *overflow, hawser_error *error)
{
    size_t rows = (size_t)(last - first) + 1, kept = rows;
    HAWSER_TRY(apply_rows(shard, (size_t)(first - shard->first), rows, updates, &kept, error));
    if (kept < rows)
        hw_overflow_at(overflow, first + kept);
    return HAWSER_OK;
}

/* ---------------------------------------------------------------------------------------------------------- by bits ---- */

/* Words, and rows, that are done together: they stay in the processor's cache. */
enum { SLICE = 16, SLICE_ROWS = 64 * SLICE };

/* Reads the words of the next slice of first..last. Returns the number of keys that it spans. */
static size_t next_slice(uint64_t first, uint64_t last, const uint64_t *bits, uint64_t from, uint64_t words[SLICE])
{
    size_t n = last - first < SLICE_ROWS ? (size_t)(last - first) + 1 : SLICE_ROWS;
    hw_bits_slice(bits, first - from, n, words);
    return n;
}

/* Returns whether a row is one number of 4 or 8 bytes, so that many are moved at a time. */
static bool is_narrow(const hw_table_shard *shard)
{
    return shard->row_bytes == sizeof(uint32_t) || shard->row_bytes == sizeof(uint64_t);
}

size_t hw_table_shard_get_bits(const hw_table_shard *shard, uint64_t first, uint64_t last, const uint64_t *bits,
                               uint64_t from, void *out)
{
    const hw_bits *form = hw_bits_best();
    uint64_t words[SLICE], rows[SLICE_ROWS];
    unsigned char *to = out;
    size_t all = 0, count;
    for (size_t n; first <= last; first += n, all += count, to += count * shard->row_bytes) {
        n = next_slice(first, last, bits, from, words);
        size_t row = (size_t)(first - shard->first), used = (n + 63) / 64;
        if (is_narrow(shard)) {
            count = form->take(shard->values + row * shard->row_bytes, shard->row_bytes, words, used, to);
        } else {
            count = form->list(words, used, row, rows);
            gather(shard, rows, 0, count, to);
        }
        if (last - first < n)
            return all + count;
    }
    return all;
}

static hw_bits_number number_of(const hw_table_shard *shard)
{
    return shard->spec->type == HW_VALUE_F32 ? HW_BITS_F32 : shard->spec->type == HW_VALUE_F64 ? HW_BITS_F64 : HW_BITS_I64;
}

/* Returns the index of the set bit that follows `before` others. */
static size_t bit_at(const uint64_t *words, size_t before)
{
    size_t w = 0;
    for (size_t there; (there = hw_bits_best()->count(words + w, 1)) <= before; w++)
        before -= there;
    uint64_t bits = words[w];
    while (before-- > 0)
        bits &= bits - 1;
    return 64 * w + hw_lowest_bit(bits);
}

/* Gathers rows, applies the function to them as adjacent rows, and scatters them back: this makes every function without
 * memory fast. Sums are made in place. *kept is the number of the first bit whose row was not changed, or SIZE_MAX. */
static hawser_status apply_near(hw_table_shard *shard, size_t row, const uint64_t *words, size_t used, const void *updates,
                                size_t *count, size_t *kept, hawser_error *error)
{
    const hw_bits *form = hw_bits_best();
    uint64_t near[SLICE_ROWS];
    unsigned char *values = shard->values + row * shard->row_bytes;
    *kept = SIZE_MAX;
    if (shard->spec->function->adds && shard->spec->width == 1) {
        *count = form->add(updates, number_of(shard), words, used, values, kept);
        return HAWSER_OK;
    }
    *count = form->take(values, shard->row_bytes, words, used, near);
    hw_applying applying = applying_to(shard, 0, *count, updates);
    applying.values = near;
    if (*count == 0)
        return HAWSER_OK;
    size_t first = *count;
    HAWSER_TRY(apply_close(shard, &applying, &first, error));
    if (first < *count)
        *kept = bit_at(words, first);
    (void)form->put(near, shard->row_bytes, words, used, values);
    return HAWSER_OK;
}

/* Applies the function to rows that are too wide to be gathered or have memory. */
static hawser_status apply_listed(hw_table_shard *shard, size_t row, const uint64_t *words, size_t used, const void *updates,
                                  size_t *count, size_t *kept, hawser_error *error)
{
    uint64_t rows[SLICE_ROWS];
    size_t first = *count = hw_bits_best()->list(words, used, row, rows);
    HAWSER_TRY(apply_at(shard, rows, 0, *count, updates, &first, error));
    *kept = first < *count ? (size_t)rows[first] - row : SIZE_MAX;
    return HAWSER_OK;
}

hawser_status hw_table_shard_apply_bits(hw_table_shard *shard, uint64_t first, uint64_t last, const uint64_t *bits,
                                        uint64_t from, const void *updates, size_t *count, hw_overflow *overflow,
                                        hawser_error *error)
{
    bool near = is_narrow(shard) && shard->memory == NULL;
    uint64_t words[SLICE];
    const unsigned char *given = updates;
    *count = 0;
    for (size_t n, some, kept;; first += n) {
        n = next_slice(first, last, bits, from, words);
        HAWSER_TRY((near ? apply_near : apply_listed)(shard, (size_t)(first - shard->first), words, (n + 63) / 64, given,
                                                      &some, &kept, error));
        if (kept != SIZE_MAX)
            hw_overflow_at(overflow, first + kept);
        *count += some;
        given += some * shard->row_bytes;
        if (last - first < n)
            return HAWSER_OK;
    }
}

/* ------------------------------------------------------------------------------------------------------ as a whole ---- */

const void *hw_table_shard_row(const hw_table_shard *shard, uint64_t key)
{
    size_t row = row_of(shard, key);
    return row == SIZE_MAX ? NULL : shard->values + row * shard->row_bytes;
}

static size_t part_bytes(const hw_table_shard *shard, hw_part part)
{
    return part == HW_PART_KEYS     ? sizeof(uint64_t)
           : part == HW_PART_VALUES ? shard->row_bytes
                                    : shard->row_memory * sizeof(double);
}

size_t hw_table_shard_take(const hw_table_shard *shard, size_t *at, size_t count, hw_part part, void *out)
{
    unsigned char *to = out;
    size_t bytes = part_bytes(shard, part), rows = 0;
    const unsigned char *from = part == HW_PART_MEMORY ? (const unsigned char *)shard->memory : shard->values;
    if (shard->slots == NULL) {
        rows = shard->rows - *at < count ? shard->rows - *at : count;
        memcpy(to, from + *at * bytes, rows * bytes);
        *at += rows;
        return rows;
    }
    for (; rows < count && *at <= shard->mask; ++*at) {
        const slot *s = &shard->slots[*at];
        if (s->row == 0)
            continue;
        memcpy(to, part == HW_PART_KEYS ? (const void *)&s->key : from + (size_t)(s->row - 1) * bytes, bytes);
        to += bytes;
        rows++;
    }
    return rows;
}

void hw_table_shard_get_memory(const hw_table_shard *shard, uint64_t first, uint64_t last, void *out)
{
    size_t doubles = shard->row_memory;
    memcpy(out, shard->memory + (size_t)(first - shard->first) * doubles,
           ((size_t)(last - first) + 1) * doubles * sizeof(double));
}

void hw_table_shard_set_memory(hw_table_shard *shard, uint64_t first, uint64_t last, const void *memory)
{
    size_t doubles = shard->row_memory;
    memcpy(shard->memory + (size_t)(first - shard->first) * doubles, memory,
           ((size_t)(last - first) + 1) * doubles * sizeof(double));
}

hawser_status hw_table_shard_put(hw_table_shard *shard, uint64_t key, const void *values, const void *memory,
                                 hawser_error *error)
{
    if (shard->slots != NULL)
        HAWSER_TRY(make_keys(shard, &key, 1, error));
    size_t row = shard->slots != NULL ? row_of(shard, key) : (size_t)(key - shard->first);
    memcpy(shard->values + row * shard->row_bytes, values, shard->row_bytes);
    if (memory != NULL)
        memcpy(shard->memory + row * shard->row_memory, memory, shard->row_memory * sizeof(double));
    else if (shard->row_memory > 0)
        memset(shard->memory + row * shard->row_memory, 0, shard->row_memory * sizeof(double));
    return HAWSER_OK;
}

/* No other thread looks up keys meanwhile; one that tries waits. */
void hw_table_shard_clear(hw_table_shard *shard)
{
    pthread_mutex_lock(&shard->making);
    if (shard->rows > 0)
        memset(shard->slots, 0, (shard->mask + 1) * sizeof *shard->slots);
    shard->rows = 0;
    pthread_mutex_unlock(&shard->making);
}

void hw_table_shard_empty(hw_table_shard *shard)
{
    slot *fewer = calloc(FIRST_SLOTS, sizeof *fewer);
    if (fewer != NULL)
        free(change_slots(shard, fewer, FIRST_SLOTS - 1));
    else
        hw_table_shard_clear(shard);
    free(shard->values);
    free(shard->memory);
    shard->values = NULL;
    shard->memory = NULL;
    shard->rows = shard->capacity = 0;
}

void hw_table_shard_list(const hw_table_shard *shard, uint64_t *keys)
{
    size_t n = 0;
    if (shard->slots == NULL) {
        for (n = 0; n < shard->rows; n++)
            keys[n] = shard->first + n;
        return;
    }
    for (size_t i = 0; i <= shard->mask; i++)
        if (shard->slots[i].row != 0)
            keys[n++] = shard->slots[i].key;
    qsort(keys, n, sizeof *keys, hw_ascending);
}
