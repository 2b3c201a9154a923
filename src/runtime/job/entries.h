/* entries.h - what nodes tell each other of entries states before a run: no node has the values of all rows. */
#ifndef HW_RUNTIME_JOB_ENTRIES_H
#define HW_RUNTIME_JOB_ENTRIES_H

#include "program/program.h"
#include "runtime/job/job.h"

/* Lets all nodes know how many numbers each block has of the entries states of a program, where values decide that.
 * Collective. A value that cannot is refused on all nodes. */
hawser_status hw_job_count_entries(hawser_job *job, const hawser_program *program, hawser_error *error) HAWSER_MUST_USE;

#endif
