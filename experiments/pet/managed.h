/* managed.h - what the two programs of this folder share: exchanges within a clock, and the computing that hosts of their own would do. */
#ifndef EXPERIMENTS_PET_MANAGED_H
#define EXPERIMENTS_PET_MANAGED_H

#include "../curve.h"

typedef struct managed {
    uint64_t clocks;
    uint32_t parts; /* exchanges in a clock: 1 is a burst at its end */
    double
        pause; /* seconds of computing a clock that are slept, so that hosts which share processors do not wait for them */
    uint64_t seed;
} managed;

/* A generator for data that must be the same on all hosts: splitmix64. */
uint64_t managed_random(uint64_t *state);
double managed_uniform(uint64_t *state); /* [0, 1) */

/* After one of the parts of a clock: sleeps its share, and sends what changed unless the clock ends with it, which sends by itself. */
hawser_status managed_pace(const managed *self, hawser_context *context, uint32_t part) HAWSER_MUST_USE;

/* What a program is: builds states and loop; called on each node. */
typedef hawser_status managed_build(hawser_program *program, hawser_job *job, const managed *self, void *model);
/* The whole of a main function: CLOCKS PARTS PAUSE and options of the job. `model` is what units get by hawser_user. */
int managed_main(int argc, char **argv, const char *name, managed *self,
                 hawser_status (*make)(void *model, hawser_error *error), managed_build *build, void *model);

#endif
