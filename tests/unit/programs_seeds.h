/* programs_seeds.h - which drawn programs a test tries, over which topologies, and how one that fails is named. */
#ifndef HW_TESTS_UNIT_PROGRAMS_SEEDS_H
#define HW_TESTS_UNIT_PROGRAMS_SEEDS_H

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

#endif
