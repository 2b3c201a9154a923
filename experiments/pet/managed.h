/* managed.h - shared by the two programs of this folder: exchanges within a clock, and sleep in place of computing on separate hosts. */
#ifndef EXPERIMENTS_PET_MANAGED_H
#define EXPERIMENTS_PET_MANAGED_H

#include "../curve.h"

typedef struct managed {
    uint64_t clocks;
    uint32_t parts; /* exchanges in a clock: 1 is a burst at its end */
    double
        pause; /* seconds that a host sleeps per clock in place of computing, so that hosts do not wait for shared processors */
    uint64_t seed;
} managed;

/* Draws the next number of splitmix64, for data that must be the same on all hosts. */
uint64_t managed_random(uint64_t *state);
double managed_uniform(uint64_t *state); /* [0, 1) */

/* Call it after each part of a clock. Sleeps the share of the part, and sends the changes unless it is the last part, which the clock's end sends. */
hawser_status managed_pace(const managed *self, hawser_context *context, uint32_t part) HAWSER_MUST_USE;

/* Builds a program's states and loop; called on each node. */
typedef hawser_status managed_build(hawser_program *program, hawser_job *job, const managed *self, void *model);
/* Runs a whole program, with the arguments CLOCKS PARTS PAUSE and options of the job. Units get `model` by hawser_user. */
int managed_main(int argc, char **argv, const char *name, managed *self,
                 hawser_status (*make)(void *model, hawser_error *error), managed_build *build, void *model);

#endif
