/* sim_worlds.h - worlds of a simulated cluster, each in a process of its own, so that a crash or lost memory is one world's.
 * A failing world prints the command that runs it again: HAWSER_SIM_SEED=N and the test's name. */
#ifndef HW_TESTS_UNIT_SIM_WORLDS_H
#define HW_TESTS_UNIT_SIM_WORLDS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sanitized.h"
#include "sim/cluster.h"

/* A build runs 1 / WORLDS_PART of the worlds: with a sanitizer each takes many times as long. A world ends by _exit, so the
 * leak checker does not see what killed nodes leave. */
#ifndef WORLDS_PART
#define WORLDS_PART 1
#endif
enum { LONGER = 27 };

/* What a world's process leaves to the test. */
typedef struct verdict {
    bool done;
    char why[1200]; /* empty: as it should be */
    sim_outcome outcome;
    uint64_t digest; /* of everything that must be the same in a second run */
    uint64_t steps;  /* that a body of many has begun, */
    char step[80];   /* and the last of them: what a process that has died leaves */
} verdict;

typedef void world_body(uint64_t seed, void *user, verdict *verdict);

static verdict *shared_verdict;

static inline verdict run_world_within(unsigned seconds, world_body *body, uint64_t seed, void *user)
{
    if (shared_verdict == NULL)
        shared_verdict = mmap(NULL, sizeof *shared_verdict, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    memset(shared_verdict, 0, sizeof *shared_verdict);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(seconds); /* a simulator that goes round in circles */
        body(seed, user, shared_verdict);
        shared_verdict->done = true;
        fflush(NULL);
        _exit(0);
    }
    int status = 0;
    (void)waitpid(child, &status, 0);
    if (shared_verdict->done)
        return *shared_verdict;
    char step[120] = "";
    if (shared_verdict->steps > 0)
        snprintf(step, sizeof step, " in step %llu: %s", (unsigned long long)shared_verdict->steps, shared_verdict->step);
    snprintf(shared_verdict->why, sizeof shared_verdict->why, "its process ended by %s %d%s",
             WIFSIGNALED(status) ? "signal" : "code", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), step);
    return *shared_verdict;
}

static inline verdict run_world(world_body *body, uint64_t seed, void *user)
{
    enum { SECONDS = 120 };
    return run_world_within(SECONDS, body, seed, user);
}

/* Prints what another build must print, too (tests/integration/sim_repeats.py). */
static inline void print_world(const char *test, uint64_t seed, const verdict *said)
{
    const sim_outcome *o = &said->outcome;
    printf("world %s %llu: end %d, %.9f s, %llu events, %llu bytes, busiest %llu, digest %llu\n", test,
           (unsigned long long)seed, (int)o->end, o->seconds, (unsigned long long)o->events, (unsigned long long)o->bytes,
           (unsigned long long)o->busiest, (unsigned long long)said->digest);
}

/* Takes the one test that the command of a failed world names. */
static inline void take_filter(void)
{
    const char *filter = getenv("CMOCKA_TEST_FILTER");
    if (filter != NULL)
        cmocka_set_test_filter(filter);
}

/* Runs the worlds of seeds 1 to `count`, or the part of them, or the one of HAWSER_SIM_SEED. With HAWSER_TEST_LONG, LONGER
 * times as many, which are about 100,000 in all tests. HAWSER_SIM_AFTER=N begins with seed N + 1, for as many worlds that
 * no run has had. With HAWSER_SIM_PRINT, prints a line for each. Fails with the command that repeats the first that was not
 * as it should be. */
static inline void run_worlds(const char *test, world_body *body, uint64_t count, void *user)
{
    const char *one = getenv("HAWSER_SIM_SEED"), *after = getenv("HAWSER_SIM_AFTER");
    uint64_t worlds = one != NULL ? 1 : ((runs_long() ? LONGER * count : count) + WORLDS_PART - 1) / WORLDS_PART;
    uint64_t first = one != NULL ? strtoull(one, NULL, 10) : after != NULL ? strtoull(after, NULL, 10) + 1 : 1;
    uint64_t last = first + worlds - 1;
    for (uint64_t seed = first; seed <= last; seed++) {
        verdict said = run_world(body, seed, user);
        if (getenv("HAWSER_SIM_PRINT") != NULL)
            print_world(test, seed, &said);
        if (said.why[0] != '\0')
            fail_msg("world %llu: %s\nrepeat it: HAWSER_SIM_SEED=%llu CMOCKA_TEST_FILTER=%s %s", (unsigned long long)seed,
                     said.why, (unsigned long long)seed, test, program_invocation_name);
    }
}

/* Runs a world in which something was wrong once. */
static inline void run_world_again(const char *test, world_body *body, uint64_t seed, void *user)
{
    verdict said = run_world(body, seed, user);
    if (said.why[0] != '\0')
        fail_msg("world %llu of %s: %s", (unsigned long long)seed, test, said.why);
}

/* Returns whether no node may be lost: none is killed, and none silent for the failure timeout, all in all. */
static inline bool must_survive(const sim_faults *faults)
{
    const double timeout = 5;
    double silent = 0;
    for (size_t i = 0; i < faults->count; i++) {
        const sim_fault *fault = &faults->list[i];
        if (fault->kind == SIM_FAULT_KILL)
            return false;
        if (fault->kind == SIM_FAULT_STOP || fault->kind == SIM_FAULT_CUT)
            silent += faults->list[i + 1].at - fault->at;
    }
    return silent < timeout;
}

static inline void add_faults(const sim_faults *faults, verdict *said)
{
    for (size_t i = 0; i < faults->count && said->why[0] != '\0'; i++) {
        size_t used = strlen(said->why);
        if (used + 80 > sizeof said->why)
            break;
        said->why[used++] = '\n';
        sim_fault_text(&faults->list[i], said->why + used, sizeof said->why - used);
    }
}

#endif
