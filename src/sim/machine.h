/* machine.h - what a process of a world finds on its machine: a place in a job of all processes, one processor, memory. */
#ifndef HW_SIM_MACHINE_H
#define HW_SIM_MACHINE_H

#include <stdint.h>

/* Makes the job that the next processes form: this many nodes, the numbers of which are those of the processes from
 * `first` on. */
void sim_form_job(uint32_t first, uint32_t nodes);

#endif
