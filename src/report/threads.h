/* threads.h - how many threads of a node read a job's input. */
#ifndef HW_REPORT_THREADS_H
#define HW_REPORT_THREADS_H

#include "hawser/hawser.h"

/* Sets hawser_load.threads if it is 0: nodes of one host share its processors, and there may be many more workers than
 * processors. */
void hw_load_threads(const hawser_job *job, hawser_load *load);

#endif
