/* schedules_jobs.h - the small jobs whose schedules runtime_schedules.c walks, what is made wrong in them, and what came of
 * a run. */
#ifndef HW_TESTS_SCHEDULES_JOBS_H
#define HW_TESTS_SCHEDULES_JOBS_H

#include "history/check.h"
#include "schedules.h"

enum { BLOCKS_MOST = RUNNERS_MOST - 1 };

typedef enum form { REPLICATED, PARTITIONED, CHUNKS, SUMS, REDUCED, STAGED, NESTED } form;

typedef struct job_case {
    form form;
    uint32_t blocks;
    uint64_t clocks; /* 0: until a test, */
    hawser_sync sync;
    uint64_t stop_at; /* behind this clock, */
    uint64_t ends;    /* ends the loop, after so many; 0: as it comes */
    bool strict;      /* the second of two stages, or the inner loop, waits as under bsp */
    bool yields;      /* in the middle of each clock */
    bool interrupts;  /* block 0 asks for the end in clock 1 */
    bool fails;       /* block 1 does in clock 1 */
    uint32_t buffers; /* for chunks, of a block in a clock, so that requests wait for each other; 0: for all */
    uint64_t changes; /* the view changes at this waiting call of block `changed`, from 1; 0: never */
    uint32_t changed;
    uint32_t delays; /* bounds the walk; 0: all schedules */
    bool is_long;
    double ages, leads; /* clocks that something read is old, and ahead, that some schedule has to reach */
} job_case;

/* What is wrong on purpose. */
typedef enum meddling {
    NOTHING,
    EARLY_CLOCK,
    EARLY_UPDATE,
    NO_CREDIT,
    WIDE_WINDOW,
    NARROW_WINDOW,
    EARLY_READ,
    EARLY_WRITE,
    LOST_UPDATE,
    SILENT_UPDATE,
    LOST_SHARE,
    SILENT_SHARE,
    OTHER_SHARE,
    SHORT_PAUSE
} meddling;

/* A run and what its units saw. */
typedef struct trial {
    const job_case *c;
    hawser_job *job;
    double oldest, ahead; /* clocks that something read lagged behind the reader's, and was ahead of it */
    uint64_t seen[BLOCKS_MOST];
    const char *wrong; /* what a unit saw that may not be */
    hawser_status status;
    hawser_error error;
    double result[2 * BLOCKS_MOST + 1];
    size_t count;
    uint64_t clocks[BLOCKS_MOST];
    hw_verdict verdict;
    uint64_t changes; /* of the view */
    uint64_t outcome; /* digest of what blocks have seen, noted down and come to */
} trial;

#endif
