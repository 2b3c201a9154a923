/*
 * compute.h - how long units take in a world.
 *
 * Units compute real numbers, and their duration is virtual: a cost for each call, and one for each stored entry that the
 * kernels of hawser/matrix.h and row_kernels.h go over (or hawser_simulated_work counts), times the slowness of the host.
 */
#ifndef HW_SIM_COMPUTE_H
#define HW_SIM_COMPUTE_H

#include <stdbool.h>
#include <stdint.h>

/* Seconds: of a call of a unit, of an entry, and of a byte that is sent or received in an update. */
typedef struct sim_costs {
    double call, entry, byte;
} sim_costs;

/* What units and exchanges of real jobs in this process took, by the CPU time of their threads. */
typedef struct sim_measures {
    uint64_t calls, entries, bytes, unit_nanoseconds, byte_nanoseconds;
} sim_measures;

/* Begins to measure, from zero. Outside of a world. */
void sim_measure_begin(void);
/* Ends it, and returns what was measured. */
sim_measures sim_measure_end(void);

void sim_compute_open(const sim_costs *costs, uint32_t hosts);
void sim_compute_close(void);
/* Sets how many times slower than others a host computes. */
void sim_slow_host(uint32_t host, double times);
/* Calls begun(clock) when the first unit of a clock of a loop is about to run. It returns whether it has added events; the
 * unit runs after those of that time. One function. */
void sim_on_clock(bool (*begun)(uint64_t clock));

#endif
