/* position.h - where a run has ended between two iterations of a loop: all that another run needs to go on, besides the
 * states. */
#ifndef HW_PROGRAM_POSITION_H
#define HW_PROGRAM_POSITION_H

#include "program/program.h"

typedef struct hw_position {
    uint64_t digest;     /* of all that follows, as bytes */
    uint64_t program;    /* hw_position_program of the program that it belongs to */
    uint64_t child;      /* children of the root that have ended; below: of the next one, which is a loop if it has begun */
    uint64_t clock;      /* its own iterations that have ended */
    uint64_t since_best; /* the four of its end condition: see hw_until */
    double seconds, previous, best;
    uint64_t seen;
    uint64_t entries, clocks; /* of the driver */
    double metrics[HW_METRICS_MOST],
        shown[HW_METRICS_MOST]; /* and those that the loop's blocks have, if they got all credit at once */
    /* Arrays of as many items as the program says: */
    double *gains;      /* by state */
    hawser_sync *syncs; /* by operator */
    uint64_t *begun;    /* by child of the root that has begun: the driver's entries at its begin */
    uint64_t begun_count;
    char *memory;   /* of the loop's test */
    char *branches; /* of the tests of branches */
    char *tests;    /* of hawser_tests_record */
    uint64_t states, operators, memory_size, branches_size, tests_size;
} hw_position;

/* Writes a position to *bytes, which the caller frees, and reads one. Damaged bytes are HAWSER_BAD_INPUT. */
hawser_status hw_position_write(const hw_position *position, void **bytes, size_t *size,
                                hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_position_read(const void *bytes, size_t size, hw_position **position, hawser_error *error) HAWSER_MUST_USE;
void hw_position_free(hw_position *position);
/* Returns a digest of what positions depend on: operators with their syncs, states with their gains, and metrics. */
uint64_t hw_position_program(const hawser_program *program);
/* Refuses a program that cannot go on from its position. */
hawser_status hw_position_check(const hawser_program *program, hawser_error *error) HAWSER_MUST_USE;
/* Returns whether a unit transforms data. */
bool hw_unit_transforms(const hawser_operator *unit);

#endif
