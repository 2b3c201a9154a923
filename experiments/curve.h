/* curve.h - the curve of a metric over clocks, seconds and bytes. It is recorded while a program runs and printed as one line of JSON for the
 * scripts. */
#ifndef EXPERIMENTS_CURVE_H
#define EXPERIMENTS_CURVE_H

#include <hawser/hawser.h>

typedef struct curve {
    struct curve_point {
        uint64_t clock;
        double seconds, objective, bytes;
    } * points;
    uint64_t count, capacity;
} curve;

/* Allocates memory for `clocks` points and starts to record the job's metric "objective". */
hawser_status curve_open(curve *self, hawser_job *job, uint64_t clocks, hawser_error *error) HAWSER_MUST_USE;
void curve_close(curve *self);
/* Prints {"columns": [...], "curve": [[...], ...], "objective": last, ...figures of the run}. If `objective` is NAN, the last point's is printed. */
void curve_print(const curve *self, const hawser_run *run, double objective);

/* Reads an argument of the command line as a number in (0, most]. */
hawser_status curve_number(const char *word, double most, double *number, hawser_error *error) HAWSER_MUST_USE;

#endif
