/* position.h - where a run stands: all of the driver that another run needs to go on, besides the states. It has a path of
 * frames from the root down to a unit or a shipped loop, or the root alone for a run that has ended. */
#ifndef HW_PROGRAM_POSITION_H
#define HW_PROGRAM_POSITION_H

#include "program/program.h"

/* An operator that runs: the child of it that does, and of a loop the end condition (hw_until) and its own iteration. */
typedef struct hw_path_frame {
    uint32_t op, child; /* numbers; child HW_NO_CHILD: its own units, or those of a shipped loop */
    uint64_t clock;     /* of a shipped loop: the first of its phase */
    double seconds, previous, best;
    uint64_t since_best, seen;
    uint64_t memory; /* bytes of its test, in hw_position.memory behind those of the frames before */
} hw_path_frame;
#define HW_NO_CHILD UINT32_MAX

typedef struct hw_position {
    uint64_t digest;          /* of all that follows, as bytes */
    uint64_t program;         /* hw_position_program of the program that it belongs to */
    uint64_t entries, clocks; /* of the driver */
    double metrics[HW_METRICS_MOST],
        shown[HW_METRICS_MOST]; /* and those that the loop's blocks have, if they got all credit at once */
    /* The number of the checkpoint; clocks of the phase that have ended (0: no phase has begun); of kept points the last
     * messages; bytes and staleness that observers see; why bits differ from run to run ("": they do not). */
    uint64_t number, step, points_sent, points_returned;
    double bytes, staleness, run_seconds;
    char repeatable[104], stop_reason[40]; /* stop_reason: of the last loop that has ended */
    /* Arrays of as many items as the program says: */
    double *gains;      /* by state */
    hawser_sync *syncs; /* by operator */
    char *memory;       /* of the tests of loops, frame by frame */
    char *branches;     /* of the tests of branches */
    char *tests;        /* of hawser_tests_record */
    hw_path_frame *frames;
    uint64_t *quotas; /* by state */
    double *works;    /* by operator, then shares of blocks (knobs.c) */
    char *points;     /* when each point was kept, and the metrics then */
    uint64_t states, operators, memory_size, branches_size, tests_size, frame_count, work_count, points_size;
} hw_position;

/* Writes a position to *bytes, which the caller frees, and reads one. Damaged bytes are HAWSER_BAD_INPUT. */
hawser_status hw_position_write(const hw_position *position, void **bytes, size_t *size,
                                hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_position_read(const void *bytes, size_t size, hw_position **position, hawser_error *error) HAWSER_MUST_USE;
void hw_position_free(hw_position *position);
/* Returns a digest of what positions depend on: operators with their syncs, states with their gains, and metrics. */
uint64_t hw_position_program(const hawser_program *program);
/* Fails unless a position belongs to a program, and its frames are a path in it. */
hawser_status hw_position_fits(const hw_position *position, const hawser_program *program,
                               hawser_error *error) HAWSER_MUST_USE;

#endif
