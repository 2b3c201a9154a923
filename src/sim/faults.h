/*
 * faults.h - what fails in a world, and when.
 *
 * A line of text is one fault: `t=SECONDS WHAT`, or `clock=N WHAT` for the moment at which the first unit of clock N
 * (from 0) of a loop is about to run, or `end=JOB WHAT` for the end of the last node of a job. Nodes are numbered
 * over all jobs. WHAT is one of `kill NODE`, `term NODE` (SIGTERM, which kills a program that does not wait for it),
 * `crash NODE` (its host: all processes there end, and what was not synced is lost), `full NODE` (its host's disk
 * takes no more bytes), `stop NODE`, `continue NODE`, `cut NODE NODE` (what the first one's host sends to the second
 * one's), `heal NODE NODE`, `slow NODE TIMES` (computing on its host), `link NODE TIMES` (its host's links) and `rate
 * NODE RATE` (of its host's links, from then on). `turn slow TIMES every N clocks` and `turn link TIMES every N
 * clocks` slow one host down at a time: that of node 0 at clock 0, the next node's at clock N, and so on. A node is a
 * number, or h and a number.
 */
#ifndef HW_SIM_FAULTS_H
#define HW_SIM_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/random.h"
#include "hawser/status.h"

typedef enum sim_fault_kind {
    SIM_FAULT_KILL,
    SIM_FAULT_TERM,
    SIM_FAULT_CRASH,
    SIM_FAULT_FULL,
    SIM_FAULT_STOP,
    SIM_FAULT_CONTINUE,
    SIM_FAULT_CUT,
    SIM_FAULT_HEAL,
    SIM_FAULT_SLOW,
    SIM_FAULT_LINK,
    SIM_FAULT_RATE,
    SIM_FAULT_TURN_SLOW,
    SIM_FAULT_TURN_LINK
} sim_fault_kind;

typedef enum sim_trigger { SIM_BY_TIME, SIM_BY_CLOCK, SIM_BY_END } sim_trigger;

typedef struct sim_fault {
    sim_trigger trigger; /* which of these says when it happens: */
    double at;           /* seconds from the beginning of the world */
    uint64_t clock;      /* of a turn: in intervals of so many clocks */
    uint32_t job;        /* at its end */
    sim_fault_kind kind;
    uint32_t node, other;
    double times; /* of SIM_FAULT_RATE: bytes per second */
} sim_fault;

/* All zeros: none. */
typedef struct sim_faults {
    sim_fault *list;
    size_t count, capacity;
} sim_faults;

/* Adds the faults of a text, separated by ';' or ends of lines; # begins a comment. text NULL: none. HAWSER_BAD_OPTION:
 * where, the line, and what was expected. */
hawser_status sim_faults_read(const char *where, const char *text, uint32_t nodes, uint32_t jobs, sim_faults *faults,
                              hawser_error *error) HAWSER_MUST_USE;
/* Adds those of a file. */
hawser_status sim_faults_load(const char *path, uint32_t nodes, uint32_t jobs, sim_faults *faults,
                              hawser_error *error) HAWSER_MUST_USE;
/* Adds one. */
hawser_status sim_faults_add(sim_faults *faults, sim_fault fault, hawser_error *error) HAWSER_MUST_USE;
/* Writes one as it is read. */
void sim_fault_text(const sim_fault *fault, char *text, size_t size);
/* Draws up to four faults within `seconds`. What was stopped or cut off goes on soon, so afterwards every wait must end. */
hawser_status sim_faults_draw(hw_random *random, uint32_t nodes, double seconds, sim_faults *faults,
                              hawser_error *error) HAWSER_MUST_USE;
void sim_faults_free(sim_faults *faults);

/* Makes them happen in the world that is open, whose processes are the nodes. The list stays until the world is closed. */
void sim_faults_plan(const sim_faults *faults);
/* Lets those happen that wait for the end of a job. */
void sim_faults_end(uint32_t job);

#endif
