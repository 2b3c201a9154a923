/* programs_seeds.h - which drawn programs a test tries, over which topologies, how one that fails is named, and whether its
 * states have all changes. */
#ifndef HW_TESTS_UNIT_PROGRAMS_SEEDS_H
#define HW_TESTS_UNIT_PROGRAMS_SEEDS_H

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "programs_run.h"
#include "sanitized.h"

static const char *const topologies[] = {"all", "tree", "halton", "servers:1", "servers:2"};
enum { TOPOLOGIES = 5 };

static uint64_t seed_asked(void)
{
    const char *seed = getenv("HAWSER_TEST_SEED");
    return seed != NULL ? strtoull(seed, NULL, 10) : 0;
}

static inline uint64_t first_seed(void)
{
    return seed_asked() > 0 ? seed_asked() : 1;
}

/* A sanitizer judges paths, and sees them all in an eighth of the draws. */
static inline uint64_t last_seed(uint64_t count)
{
    if (seed_asked() > 0)
        return seed_asked();
    return runs_long() ? 20 * count : SANITIZED ? count / 8 : count;
}

/* Of runs whose schedules are mostly those of fibers, in one thread. */
static inline uint64_t last_schedule(uint64_t count)
{
    return last_seed(THREAD_SANITIZED && !runs_long() ? count / 3 : count);
}

static void fail_drawn(const drawn *d, const char *how, const char *format, ...) HAWSER_PRINTF(3, 4);

/* Fails with the program in words. */
static void fail_drawn(const drawn *d, const char *how, const char *format, ...)
{
    char text[1000];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    say(d, stderr);
    fail_msg("seed %llu (HAWSER_TEST_SEED), %s: %s", (unsigned long long)d->seed, how, text);
}

static bool is_sum(const drawn_state *state)
{
    return state->kind == ADDED || (state->kind == REPLICATED && !state->bounded);
}

/* Returns whether a replicated state, or a stored one to which blocks add, lacks changes that the units have made, whenever
 * and in whatever form they were sent. `why` gets the first. */
static bool lacks_changes(const drawn *d, double (*made)[STATES][SIZE], const drawn_values *got, char *why, size_t size)
{
    for (uint32_t s = 0; s < d->states; s++)
        for (size_t i = 0; i < d->state[s].count && is_sum(&d->state[s]); i++) {
            double sum = 0, error = d->state[s].type == HAWSER_F32 ? 1e-4 : 1e-9;
            for (uint32_t b = 0; b < d->blocks; b++)
                sum = combined(&d->state[s], sum, made[b][s][i]);
            sum += first_value(d, s, i);
            if (fabs(sum - got->of[s][i]) <= error * (1 + fabs(sum)))
                continue;
            (void)snprintf(why, size, "state %c, entry %zu is %.17g, but its changes sum to %.17g", (char)('a' + s), i,
                           got->of[s][i], sum);
            return true;
        }
    return false;
}

static inline void check_sums(const drawn *d, double (*made)[STATES][SIZE], const drawn_values *got, const char *how)
{
    char why[200];
    if (lacks_changes(d, made, got, why, sizeof why))
        fail_drawn(d, how, "%s", why);
}

/* Returns whether results differ. `why` gets the first difference. */
static bool differs(const drawn *d, const drawn_values *wanted, const drawn_values *got, char *why, size_t size)
{
    for (uint32_t s = 0; s < d->states; s++)
        for (size_t i = 0; i < d->state[s].count; i++)
            if (wanted->of[s][i] != got->of[s][i])
                return snprintf(why, size, "state %c, entry %zu is %.17g and not %.17g", (char)('a' + s), i, got->of[s][i],
                                wanted->of[s][i]) > 0;
    for (size_t i = 0; d->moving.there && i < d->moving.offsets[d->moving.lines]; i++)
        if (wanted->parts[i] != got->parts[i])
            return snprintf(why, size, "number %zu of moving state n is %.17g and not %.17g", i, got->parts[i],
                            wanted->parts[i]) > 0;
    for (size_t i = 0; d->entries.there && i < entries_before(d, d->rows); i++)
        if (wanted->entries[i] != got->entries[i])
            return snprintf(why, size, "entry %zu of state z is %.17g and not %.17g", i, got->entries[i],
                            wanted->entries[i]) > 0;
    return false;
}

static inline void compare(const drawn *d, const drawn_values *wanted, const drawn_values *got, const char *how)
{
    char why[200];
    if (differs(d, wanted, got, why, sizeof why))
        fail_drawn(d, how, "%s", why);
}

#endif
