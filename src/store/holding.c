#include "store/holding.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/memory.h"
#include "base/random.h"
#include "store/shard.h"

struct hw_holding {
    hw_table_spec own;
    const hw_table_spec *spec; /* points to `own` */
    hw_table_spec rows;        /* the definition of both shards: sparse, assigned */
    hw_table_shard *held;      /* held rows; a row of zeros holds nothing */
    hw_table_shard *seen;      /* KKT: the rows that were pulled last */
    size_t row_bytes;
    uint64_t seed, pushes;
    bool digests;
    uint64_t digest; /* of all held rows */
};

hawser_status hw_holding_new(const hw_table_spec *spec, uint64_t seed, bool digests, hw_holding **out, hawser_error *error)
{
    hw_holding *holding = NULL;
    HAWSER_TRY(HW_NEW(&holding, 1, "what is held back", error));
    *holding =
        (hw_holding){.own = *spec, .seed = seed, .digests = digests, .row_bytes = spec->width * hw_value_size(spec->type)};
    holding->spec = &holding->own;
    holding->rows = (hw_table_spec){.type = spec->type,
                                    .width = spec->width,
                                    .sparse = true,
                                    .last = UINT64_MAX,
                                    .function = hw_function_find("assign")};
    hawser_status status = hw_table_shard_new(&holding->rows, 0, UINT64_MAX, &holding->held, error);
    HAWSER_THEN(status, hw_table_shard_new(&holding->rows, 0, UINT64_MAX, &holding->seen, error));
    if (status != HAWSER_OK)
        hw_holding_free(holding);
    else
        *out = holding;
    return status;
}

void hw_holding_free(hw_holding *holding)
{
    if (holding == NULL)
        return;
    hw_table_shard_free(holding->held);
    hw_table_shard_free(holding->seen);
    free(holding);
}

/* ---------------------------------------------------------------------------------------------------------- numbers ---- */

static double number_at(const hw_holding *holding, const void *row, size_t i)
{
    return holding->spec->type == HW_VALUE_F32 ? (double)((const float *)row)[i] : ((const double *)row)[i];
}

static bool is_number(const hw_holding *holding, double value)
{
    return holding->spec->type == HW_VALUE_F32 ? isfinite((float)value) : isfinite(value);
}

static void set_number(const hw_holding *holding, void *row, size_t i, double value)
{
    if (holding->spec->type == HW_VALUE_F32)
        ((float *)row)[i] = (float)value;
    else
        ((double *)row)[i] = value;
}

static double most_of(const hw_holding *holding, const void *row)
{
    double most = 0;
    for (size_t i = 0; row != NULL && i < holding->spec->width; i++)
        most = fmax(most, fabs(number_at(holding, row, i)));
    return most;
}

/* Returns the digest of a row, 0 if all numbers are zero of either sign. */
static uint64_t digest_row(const hw_holding *holding, uint64_t key, const void *row)
{
    size_t width = holding->spec->width;
    if (most_of(holding, row) == 0)
        return 0;
    if (holding->spec->type == HW_VALUE_F32)
        return hw_digest_32(row, width, key * width);
    return hw_digest_64(row, width, key * width);
}

/* Returns the nearest multiple, from -127 to 127, of 2^exponent that the table's type can hold. */
static double round_to_int8(const hw_holding *holding, double value, int exponent)
{
    double unit = hw_power_of_two(exponent), units = fmin(fmax(rint(hw_scaled(value, exponent)), -127), 127);
    return is_number(holding, units * unit) ? units * unit : (units - copysign(1, units)) * unit;
}

/* Rounds numbers that are sent and stores the rounding errors in `left`. With 8 bits all numbers share one scale. */
static void round_off(const hw_holding *holding, void *values, void *left, size_t count, int exponent)
{
    for (size_t i = 0; i < count; i++) {
        double value = number_at(holding, values, i), rounded = hw_narrowed(value, holding->spec->rounding);
        if (holding->spec->rounding == HW_INT8)
            rounded = round_to_int8(holding, value, exponent);
        if (rounded == 0)
            rounded = 0; /* not -0.0 */
        set_number(holding, values, i, rounded);
        set_number(holding, left, i, value - rounded);
    }
}

static int scale_for(const hw_holding *holding, double most)
{
    int exponent = hw_scale_for(most), least = holding->spec->type == HW_VALUE_F32 ? -149 : -1074;
    return exponent < least ? least : exponent;
}

/* ---------------------------------------------------------------------------------------------------------- passing ---- */

static hawser_status check_significant(const hw_table_spec *spec, hawser_error *error)
{
    if (spec->level >= 0)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s': filter 'significant': the level %g must not be below 0",
                       spec->name, spec->level);
}

static bool is_significant(const hw_holding *holding, uint64_t key, const void *row, hw_random *random)
{
    (void)key, (void)random;
    return most_of(holding, row) > holding->spec->level;
}

static hawser_status check_random(const hw_table_spec *spec, hawser_error *error)
{
    if (spec->level > 0 && spec->level <= 1)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s': filter 'random': %g is not within (0,1]", spec->name,
                       spec->level);
}

static bool is_drawn(const hw_holding *holding, uint64_t key, const void *row, hw_random *random)
{
    (void)key, (void)row;
    return hw_random_uniform(random) < holding->spec->level;
}

static hawser_status check_kkt(const hw_table_spec *spec, hawser_error *error)
{
    if (spec->function != hw_function_find("proximal") || !(spec->parameters[1] > 0))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s': filter 'kkt' is for function 'proximal' with l1 above 0",
                           spec->name);
    if (!(spec->level >= 0 && spec->level <= spec->parameters[1]) || spec->parameters[3] > 0 || spec->parameters[4] < 0)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "table '%s': filter 'kkt': the level %g must be within 0 and l1, and 0 within the bounds",
                           spec->name, spec->level);
    return HAWSER_OK;
}

static bool may_move(const hw_holding *holding, uint64_t key, const void *row, hw_random *random)
{
    const hw_table_spec *spec = holding->spec;
    const void *seen = hw_table_shard_row(holding->seen, key);
    (void)random;
    return seen == NULL || most_of(holding, seen) > 0 || most_of(holding, row) > spec->parameters[1] - spec->level;
}

#define HW_PASS_ROW(id, name, help, drops, check, passes) [HW_PASS_##id] = {name, help, drops, check, passes},
static const struct {
    const char *name, *help;
    bool drops; /* rows that are not sent are not held either */
    hawser_status (*check)(const hw_table_spec *spec, hawser_error *error);
    bool (*passes)(const hw_holding *holding, uint64_t key, const void *row, hw_random *random);
} filters[] = {HW_TABLE_FILTERS(HW_PASS_ROW)};

hawser_status hw_filter_check(const hw_table_spec *spec, hawser_error *error)
{
    return filters[spec->filter].check != NULL ? filters[spec->filter].check(spec, error) : HAWSER_OK;
}

bool hw_filter_drops(const hw_table_spec *spec)
{
    return filters[spec->filter].drops;
}

bool hw_filter_of_name(const char *name, hw_filter_of *filter)
{
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
        if (filters[i].name[0] != '\0' && hw_word_is(filters[i].name, name)) {
            *filter = (hw_filter_of)i;
            return true;
        }
    return false;
}

const char *hw_filter_names(char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
        if (filters[i].name[0] != '\0' && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s (%s)", used > 0 ? ", " : "", filters[i].name,
                                     filters[i].help);
    return text;
}

/* Adds the held values to the rows of an update. */
static hawser_status add_held(const hw_holding *holding, const hw_passed *all, hawser_error *error)
{
    for (size_t i = 0; i < all->count; i++) {
        const void *held = hw_table_shard_row(holding->held, all->keys[i]);
        unsigned char *row = (unsigned char *)all->values + i * holding->row_bytes;
        for (size_t k = 0; held != NULL && k < holding->spec->width; k++) {
            double sum = number_at(holding, row, k) + number_at(holding, held, k);
            if (!is_number(holding, sum))
                return hawser_fail(error, HAWSER_NOT_FINITE,
                                   "table '%s': key %llu overflows: this push and what its rounding or filter holds back "
                                   "would be infinite, so nothing of the push is sent",
                                   holding->spec->name, (unsigned long long)all->keys[i]);
            set_number(holding, row, k, sum);
        }
    }
    return HAWSER_OK;
}

/* Returns the digest of all held rows as it will be with these rows in place of the present ones. */
static uint64_t digest_with(const hw_holding *holding, const hw_passed *all, const unsigned char *left)
{
    uint64_t digest = holding->digest;
    for (size_t i = 0; holding->digests && i < all->count; i++) {
        const void *held = hw_table_shard_row(holding->held, all->keys[i]);
        digest -= held != NULL ? digest_row(holding, all->keys[i], held) : 0;
        digest += digest_row(holding, all->keys[i], left + i * holding->row_bytes);
    }
    return digest;
}

/* Chooses the rows that are sent and moves them to the front; stores what remains of every row in `left`. */
static void divide(hw_holding *holding, hw_passed *all, unsigned char *left, bool *go)
{
    size_t bytes = holding->row_bytes, count = 0;
    unsigned char *rows = all->values;
    double most = 0;
    hw_filter_of filter = holding->spec->filter;
    bool drops = filters[filter].drops;
    if (filter == HW_PASS_OWN)
        holding->spec->own_filter->choose(holding->spec->own_filter, holding->spec, all->keys, rows, all->count, go);
    hw_random random = hw_random_at(holding->seed, 0, 0, holding->pushes);
    for (size_t i = 0; i < all->count; i++) {
        if (filter != HW_PASS_OWN)
            go[i] = filter == HW_PASS_ALL || filters[filter].passes(holding, all->keys[i], rows + i * bytes, &random);
        if (go[i])
            most = fmax(most, most_of(holding, rows + i * bytes));
    }
    int exponent = scale_for(holding, most);
    for (size_t i = 0; i < all->count; i++) {
        unsigned char *row = rows + i * bytes, *rest = left + i * bytes;
        if (!go[i] && !drops)
            memcpy(rest, row, bytes);
        all->dropped += !go[i] && drops;
        if (go[i] && holding->spec->rounding != HW_F64)
            round_off(holding, row, rest, holding->spec->width, exponent);
    }
    for (size_t i = 0; i < all->count; i++)
        if (go[i])
            memmove(rows + count++ * bytes, rows + i * bytes, bytes);
}

static void free_passed(hw_passed *passed)
{
    free(passed->keys);
    free(passed->values);
    *passed = (hw_passed){0};
}

hawser_status hw_holding_pass(hw_holding *holding, const uint64_t *keys, uint64_t first, size_t count, const void *values,
                              hw_passed *passed, hawser_error *error)
{
    unsigned char *left = NULL;
    bool *go = NULL;
    *passed = (hw_passed){.count = count};
    hawser_status status = HW_NEW(&passed->keys, count, "a filtered update", error);
    HAWSER_THEN(status, hw_new_array(&passed->values, count, holding->row_bytes, "a filtered update", error));
    HAWSER_THEN(status, hw_new_array((void **)&left, count, holding->row_bytes, "a filtered update", error));
    HAWSER_THEN(status, HW_NEW(&go, count, "a filtered update", error));
    if (status == HAWSER_OK) {
        for (size_t i = 0; i < count; i++)
            passed->keys[i] = keys != NULL ? keys[i] : first + i;
        memcpy(passed->values, values, count * holding->row_bytes);
        status = add_held(holding, passed, error);
    }
    if (status == HAWSER_OK) {
        divide(holding, passed, left, go);
        passed->before = holding->digest;
        passed->after = digest_with(holding, passed, left);
        status = hw_table_shard_apply(holding->held, passed->keys, count, left, NULL, error);
    }
    if (status == HAWSER_OK) {
        holding->pushes++;
        holding->digest = passed->after;
        passed->count = 0;
        for (size_t i = 0; i < count; i++)
            if (go[i])
                passed->keys[passed->count++] = passed->keys[i];
    } else {
        free_passed(passed);
    }
    free(left);
    free(go);
    return status;
}

hawser_status hw_holding_rest(hw_holding *holding, hw_passed *passed, hawser_error *error)
{
    size_t count = hw_table_shard_keys(holding->held), bytes = holding->row_bytes;
    *passed = (hw_passed){.count = count};
    hawser_status status = HW_NEW(&passed->keys, count, "what is held back", error);
    HAWSER_THEN(status, hw_new_array(&passed->values, count, bytes, "what is held back", error));
    if (status != HAWSER_OK) {
        free_passed(passed);
        return status;
    }
    hw_table_shard_list(holding->held, passed->keys);
    hw_table_shard_get(holding->held, passed->keys, count, passed->values);
    hw_table_shard_clear(holding->held);
    passed->before = holding->digest;
    holding->digest = 0;
    unsigned char *rows = passed->values;
    passed->count = 0;
    for (size_t i = 0; i < count; i++) {
        if (most_of(holding, rows + i * bytes) == 0)
            continue;
        memmove(rows + passed->count * bytes, rows + i * bytes, bytes);
        passed->keys[passed->count++] = passed->keys[i];
    }
    return HAWSER_OK;
}

void hw_holding_saw(hw_holding *holding, const uint64_t *keys, uint64_t first, size_t count, const void *values)
{
    if (holding->spec->filter != HW_PASS_KKT)
        return;
    for (size_t i = 0; i < count; i++) {
        uint64_t key = keys != NULL ? keys[i] : first + i;
        const unsigned char *row = (const unsigned char *)values + i * holding->row_bytes;
        if (hw_table_shard_apply(holding->seen, &key, 1, row, NULL, NULL) != HAWSER_OK)
            hw_table_shard_clear(holding->seen); /* rows that are not known count as not zero */
    }
}
