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

static uint64_t first_seed(void)
{
    return seed_asked() > 0 ? seed_asked() : 1;
}

/* A sanitizer judges paths, and sees them all in an eighth of the draws. */
static uint64_t last_seed(uint64_t count)
{
    if (seed_asked() > 0)
        return seed_asked();
    return runs_long() ? 20 * count : SANITIZED ? count / 8 : count;
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

/* Checks that a replicated state, or a stored one to which blocks add, has all changes that the units have made, whenever
 * and in whatever form they were sent. */
static void check_sums(const drawn *d, double (*made)[STATES][SIZE], const drawn_values *got, const char *how)
{
    for (uint32_t s = 0; s < d->states; s++)
        for (size_t i = 0; i < d->state[s].count && is_sum(&d->state[s]); i++) {
            double sum = 0, error = d->state[s].type == HAWSER_F32 ? 1e-4 : 1e-9;
            for (uint32_t b = 0; b < d->blocks; b++)
                sum = combined(&d->state[s], sum, made[b][s][i]);
            sum += first_value(d, s, i);
            if (!(fabs(sum - got->of[s][i]) <= error * (1 + fabs(sum))))
                fail_drawn(d, how, "state %c, entry %zu is %.17g, but its changes sum to %.17g", (char)('a' + s), i,
                           got->of[s][i], sum);
        }
}

#endif
