/* probe.h - the end of a probe: what is left once its program has been made. */
#ifndef HW_TESTS_HELPERS_PROBE_H
#define HW_TESTS_HELPERS_PROBE_H

#include <stdio.h>

#include "hawser/hawser.h"

/* Runs the program if `status` is HAWSER_OK, prints the error, frees all, and returns the process's exit code: 8 for a lost
 * peer, 3 for other errors. */
static int run_probe(hawser_job *job, hawser_program *program, hawser_status status, hawser_error *error)
{
    hawser_run *run = NULL;
    if (status == HAWSER_OK)
        status = hawser_run_program(job, program, &run, error);
    if (status != HAWSER_OK)
        fprintf(stderr, "probe: %s\n", error->text);
    hawser_run_free(run);
    hawser_program_free(program);
    hawser_close(job);
    return status == HAWSER_OK ? 0 : status == HAWSER_PEER_LOST ? 8 : 3;
}

#endif
