/*
 * world.h - a cluster within one thread of one process: hosts, processes and threads in virtual time.
 *
 * The product's own code runs in it, linked with `--wrap` of the calls by which it reaches threads, time and other processes
 * (docs/simulation.md). Each of its threads is a coroutine. A thread runs until it waits. When none can run, time jumps to
 * the next event, so computing takes no time unless it is charged (sim_spend). With a seed, orders and delays are drawn, and
 * threads also change at calls that need not wait. Without one, threads run in the order in which they became ready, unless
 * a chooser decides otherwise.
 *
 * One world exists at a time, because a wrapped call such as pthread_mutex_lock has no argument that could lead to it.
 * Outside of a world, wrapped calls do what they always do. Time is in nanoseconds.
 */
#ifndef HW_SIM_WORLD_H
#define HW_SIM_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_NEVER UINT64_MAX
#define SIM_FIRST UINT64_C(1000000000000) /* the time at which a world begins: no clock of the product is ever 0 */

typedef struct sim_thread sim_thread;

/* Waiting threads, in order. All zeros: none. */
typedef struct sim_list {
    sim_thread *first, *last;
} sim_list;

typedef enum sim_state {
    SIM_RUNNING,
    SIM_STOPPED, /* the states up to here are those of a process that runs */
    SIM_ENDED,
    SIM_KILLED,
    SIM_NEW /* it has not begun */
} sim_state;

/* A process of the product. */
typedef struct sim_process {
    uint32_t number, host;
    sim_state state;
    int code; /* what main returned, or the argument of _exit */
    int (*main)(void *argument);
    void *argument;
    uint64_t since;       /* time of its last change of state */
    uint64_t paused;      /* length of its last stop */
    sim_list held;        /* threads that could run, but the process is stopped */
    struct sim_net *nets; /* its nets, the newest first (nets.c) */
} sim_process;

/* How a world ended. */
typedef enum sim_end {
    SIM_DONE,  /* every process has ended */
    SIM_STUCK, /* a process waits for what never happens */
    SIM_LATE,  /* the limit of time has passed */
    SIM_FULL   /* the process has more memory than sim_limit_memory allows */
} sim_end;

/* Makes the world. seed 0: no orders and delays are drawn. `processes`: capacity. */
void sim_open(uint64_t seed, uint32_t processes);
/* Adds a process that runs main(argument) once it begins. Processes are numbered in the order of these calls. The world
 * lasts until all of them have ended or were killed. */
sim_process *sim_add(uint32_t host, int (*main)(void *argument), void *argument);
/* Begins it at the present time, unless it was killed before. */
void sim_begin(sim_process *process);
/* Adds a process and begins it. */
sim_process *sim_start(uint32_t host, int (*main)(void *argument), void *argument);
/* What a world without a seed may do in several ways. 0 is what it does without a chooser. */
typedef enum sim_choice {
    SIM_CHOICE_NEXT,   /* which thread runs next */
    SIM_CHOICE_SWITCH, /* 1: another thread runs at a call that need not wait */
    SIM_CHOICE_PAUSE,  /* 1: the thread sleeps there for a while */
    SIM_CHOICE_FRAME   /* 1: the frame is late */
} sim_choice;
/* Chooses one of `count` ways to go on, count > 1. */
typedef struct sim_chooser {
    uint32_t (*choose)(void *argument, sim_choice what, uint32_t count);
    void *argument;
} sim_chooser;
/* Lets a chooser decide in a world without a seed. The same answers give the same world. */
void sim_choose_by(sim_chooser chooser);
/* Asks the chooser. Returns 0 if there is none. */
uint32_t sim_choose(sim_choice what, uint32_t count);
/* Sets the memory that this process may have while the world runs, in bytes; 0: no limit. */
void sim_limit_memory(uint64_t bytes);
/* Runs the world to its end, at most to the time `limit`. */
sim_end sim_run(uint64_t limit);
/* Frees the world. Memory of threads that had not ended is lost. */
void sim_close(void);

bool sim_is_open(void);
uint64_t sim_now(void);
double sim_seconds(void);  /* of the virtual clock */
uint64_t sim_events(void); /* number of events so far */
bool sim_is_drawn(void);   /* the world has a seed */
/* Returns a number below `bound`, drawn from the seed. */
uint64_t sim_below(uint64_t bound);
uint32_t sim_process_count(void);
sim_process *sim_process_at(uint32_t number);

/* Calls fire(argument, value) at a time, between the turns of threads. It must not wait. */
void sim_at(uint64_t time, void (*fire)(void *argument, uint64_t value), void *argument, uint64_t value);

/* Changes of a process, from events. A thread that ends its own process does so by sim_exit. */
void sim_kill(sim_process *process);
void sim_stop(sim_process *process);
void sim_continue(sim_process *process);
/* Sends a signal: to a thread of the process that waits for it, else it kills the process. */
void sim_signal(sim_process *process, int number);
/* Calls `changed` after each change of state of a process. Several functions are called in the order of these calls. */
void sim_on_change(void (*changed)(sim_process *process));
/* Calls `called` before a thread of a process runs, in this world and the next ones. One function. */
void sim_on_turn(void (*called)(const sim_process *process));

/* For the running thread; all of these return NULL or do nothing on the world's own stack. */
sim_thread *sim_self(void);
sim_process *sim_own(void);
/* Starts a thread of the same process; returns NULL if there is no memory. */
sim_thread *sim_thread_start(sim_process *process, void *(*body)(void *argument), void *argument);
uint64_t sim_thread_number(const sim_thread *thread); /* never 0 */
sim_thread *sim_thread_at(uint64_t number);
bool sim_thread_ended(const sim_thread *thread, void **result);
sim_list *sim_thread_joiners(sim_thread *thread);
/* What the world keeps for the wrapped calls of a thread. */
typedef struct sim_facts {
    double cpu;       /* seconds that it has computed */
    uint64_t entries; /* of its work that were not charged yet */
    uint64_t awaited; /* signals for which it waits or has waited, bit n - 1 for signal n, */
    uint64_t signals; /* and those that were sent to it and not taken yet */
    bool sigwaits;
} sim_facts;
sim_facts *sim_thread_facts(sim_thread *thread);
/* Waits in a list until another thread or an event wakes it, or until the deadline. Returns false at the deadline. list
 * NULL: sleeps. */
bool sim_wait(sim_list *list, uint64_t deadline);
void sim_wake(sim_thread *thread);
void sim_wake_first(sim_list *list);
void sim_wake_all(sim_list *list);
/* Lets other threads run that can, if the world draws that. */
void sim_step(void);
/* Called when a thread reads a clock: a thread that reads it many times in a row without waiting lets time pass. */
void sim_look(void);
/* Lets the time pass that the thread computes. */
void sim_spend(double seconds);
/* Ends the thread's process. */
_Noreturn void sim_exit(int code);

#endif
