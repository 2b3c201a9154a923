/*
 * program.h - how hawser-sim starts a program that is linked with the simulator.
 *
 * The program's main runs on every node (program.c). Started by itself, it is a job of one node, as any other program.
 */
#ifndef HW_SIM_PROGRAM_H
#define HW_SIM_PROGRAM_H

#include "sim/cluster.h"

/* In the environment: the cluster and its faults. */
#define SIM_PROGRAM_CLUSTER "HAWSER_SIM_CLUSTER"
#define SIM_PROGRAM_FAULTS  "HAWSER_SIM_FAULTS"
/* In the file of each program that is linked with the simulator. */
#define SIM_PROGRAM_MARK "hawser-sim: program 2"

/* What both sides must have alike. */
typedef struct sim_passed {
    char mark[24], link[64];
    sim_cluster cluster; /* without its pointers */
} sim_passed;

#endif
