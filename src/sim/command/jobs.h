/* jobs.h - the jobs of a call: `[options] -- COMMAND... : [options of the job] -- COMMAND... : ...`. */
#ifndef HW_SIM_COMMAND_JOBS_H
#define HW_SIM_COMMAND_JOBS_H

#include "hawser/options.h"
#include "sim/command/training.h"

enum { SIM_JOBS_MOST = 64, SIM_NODES_MOST = 8192 };

typedef struct sim_jobs {
    size_t count;
    uint32_t nodes; /* of all of them */
    bool apart;     /* there are several, or the one has --host or --start */
    sim_job list[SIM_JOBS_MOST];
    sim_words calls[SIM_JOBS_MOST];
} sim_jobs;

/* Options that each job has. */
extern const hawser_option sim_job_rows[];

/* Reads a call. `options` has the rows of the first job and of the world, and gets what is before the first `--`.
 * With --help nothing else is read. HAWSER_BAD_OPTION: which job, and what was expected. */
hawser_status sim_read_jobs(hawser_options *options, int argc, char **argv, sim_jobs *jobs,
                            hawser_error *error) HAWSER_MUST_USE;

#endif
