/* machine.h - what a process of a world finds on its machine: a place in a job, one processor, memory. */
#ifndef HW_SIM_MACHINE_H
#define HW_SIM_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* Makes the jobs that the processes form: the first nodes[0] processes are the nodes of the first one, and so on. */
void sim_form_jobs(const uint32_t *nodes, size_t count);

#endif
