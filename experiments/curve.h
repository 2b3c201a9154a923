/* curve.h - how a metric fell with clocks, seconds and bytes: kept while a program runs, printed as one line of JSON for the scripts. */
#ifndef EXPERIMENTS_CURVE_H
#define EXPERIMENTS_CURVE_H

#include <hawser/hawser.h>

typedef struct curve {
    struct curve_point {
        uint64_t clock;
        double seconds, objective, bytes;
    } * points;
    uint64_t count, room;
} curve;

/* Room for so many clocks; from now on the job's metric "objective" is kept. */
hawser_status curve_open(curve *self, hawser_job *job, uint64_t clocks, hawser_error *error) HAWSER_MUST_USE;
void curve_close(curve *self);
/* {"columns": [...], "curve": [[...], ...], "objective": last, ...figures of the run}; `objective` NAN: that of the last point. */
void curve_print(const curve *self, const hawser_run *run, double objective);

/* A word of the command line as a number in (0, most]. */
hawser_status curve_number(const char *word, double most, double *number, hawser_error *error) HAWSER_MUST_USE;

#endif
