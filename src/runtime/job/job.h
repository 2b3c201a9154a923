/* job.h - a job: settings from options and machine, and the request to stop. */
#ifndef HW_RUNTIME_JOB_H
#define HW_RUNTIME_JOB_H

#include <stdatomic.h>

#include "base/argument.h"
#include "base/cancellation.h"
#include "base/messages.h"
#include "base/origin.h"
#include "checkpoint/log.h"
#include "cluster/cluster.h"
#include "hawser/hawser.h"
#include "program/plan.h"
#include "runtime/exec/executor.h"
#include "runtime/job/enter.h"
#include "runtime/job/first_values.h"
#include "runtime/job/recorder.h"

/* Tests: drops of scratches between clocks. */
typedef struct hw_scratch_drops {
    uint64_t every; /* a block drops its scratch after one in `every` clocks, drawn from `seed`; 0: never */
    uint64_t seed;
    bool states;                 /* and what it remembers of its parts of states */
    hawser_scratch_visit *visit; /* in place of the program's; NULL: the program's */
    _Atomic uint64_t count;      /* of the scratches dropped so far */
} hw_scratch_drops;

/* Tests: changes of the view that the runtime reports to units, which are then run again. */
typedef struct hw_view_changes {
    uint64_t
        every; /* a waiting call of a unit returns HAWSER_VIEW_CHANGED once in `every` times, drawn from `seed`; 0: never */
    uint64_t seed;
    uint32_t block; /* in place of draws, if `call` is not 0: this waiting call of this block alone, counted from 1 */
    uint64_t call;
    _Atomic uint64_t count; /* of the calls that returned it so far */
    _Atomic uint64_t tests; /* of the stop tests that were called again so far */
} hw_view_changes;

/* Memory of the chunks that this node's blocks have in memory or have requested (hawser_next_chunk). */
typedef struct hw_chunk_memory {
    uint32_t buffers; /* tests: of a block and a state in one clock; 0: as many as the plan says */
    _Atomic uint64_t bytes, most;
} hw_chunk_memory;

/* What is known of the names of states in options (names.c). */
typedef struct hw_named_states {
    uint32_t programs; /* with loops that the job runs; 0: 1 */
    uint32_t run;      /* of these, so far */
    bool any;          /* a program was run, with or without a loop */
    bool checked;      /* the last one has been judged */
    bool failed;       /* a program has failed */
    char **sent;       /* states of programs so far whose updates are sent */
    size_t count, capacity;
} hw_named_states;

/* Changes of policies (drive/changes.c). */
typedef struct hw_policy_changes {
    hawser_policy_change *all;
    size_t count, capacity;
    uint64_t left_out; /* beyond HAWSER_CHANGES_MOST */
} hw_policy_changes;

/* Digests of the datasets that were loaded, each of what this node was given of it (checkpoint_data.c). */
typedef struct hw_loaded_data {
    uint64_t *digests;
    size_t count, capacity;
    bool failed; /* there was no memory for one */
} hw_loaded_data;

struct hawser_job {
    hw_origin origin;
    hawser_options *own_options; /* if it was opened from argv */
    const hawser_options *options;
    hawser_messages *messages; /* the program's queue; NULL: messages are printed */
    hw_place place;
    hw_cluster *cluster; /* NULL: one node */
    hawser_cluster *on;  /* the program's, which lends `cluster`; NULL: the job has joined by itself */
    hw_plan_settings settings;
    hw_topology *topology;             /* with more than one node */
    const char **names;                /* names of the nodes; the cluster owns them */
    uint64_t backlog;                  /* bytes that may wait to be sent before updates are coalesced; 0: no limit */
    uint64_t max_clocks;               /* 0: none */
    double time_limit;                 /* seconds, 0: none */
    double unit_warning, unit_timeout; /* seconds that a unit may compute without returning; 0: no limit */
    struct hw_watchdog *watchdog;      /* names units and other functions of the user that do not return */
    double grace;                      /* seconds from a request to end until the result is saved */
    double timeout;
    uint32_t slow_block; /* UINT32_MAX: none */
    double slow_factor;
    bool check;
    bool idle_checked;          /* options were judged that can do nothing (idle.c) */
    uint32_t used_without_loop; /* by number of the option in idle.c: it had an effect in a program without a loop */
    uint64_t noted[4];          /* by number of the option: there was a note that it can do nothing */
    hw_named_states named;      /* states of options, and of programs */
    hw_first_values first;      /* of --init */
    bool workers_given;         /* also by an option that names a worker, or by a checkpoint */
    bool goes_on;               /* the workers are those of the newest checkpoint */
    struct hawser_store *store; /* the open one; NULL: none */
    struct hw_vectors *vectors; /* the open ones; NULL: none */
    uint64_t stores_opened;     /* so far, or tried */
    atomic_uint running;        /* calls of hawser_run_program in progress */
    uint32_t vectors_opened;    /* so far, or tried; the number of the last one */
    uint64_t runs;              /* calls of hawser_run_program */
    struct hw_kept_results *kept_results; /* of these runs; NULL: there were none */
    bool own_signals;                     /* the caller handles signals during runs */
    bool fibers;                          /* tests: units run as fibers under a seed, or in a chosen order */
    uint64_t fiber_seed;
    hw_chooser chooser;
    hw_scratch_drops drops;
    hw_view_changes changes;
    uint64_t rehearse;                          /* --rehearse; 0: never */
    const struct hw_checkpointer *checkpointer; /* NULL: no checkpoints are taken */
    struct hw_checkpoints *checkpoints;         /* of --checkpoint, which are the checkpointer; NULL: it was not given */
    char *logs[HW_LOGS];                        /* files that a run which goes on continues; NULL: there is none */
    char *depends;                              /* lines of hawser_job_depends, if hw_job_identifies */
    hw_loaded_data loaded;                      /* if hw_job_identifies */
    struct hw_decisions *decisions;             /* node 0: files of decisions; NULL: there are none */
    struct hw_learning *learning;               /* node 0: the file of --learn; NULL: there is none */
    bool last_run;                              /* no run with a loop follows the next one */
    bool unfinished;                            /* a run has ended early, so later ones take no checkpoints */
    bool cut;                                   /* a run was ended by a signal or by a time limit */
    bool finished;                              /* the last run with a loop has ended by itself, or after --max-clocks */
    hw_chunk_memory chunks;
    const hawser_cancellation *cancellation; /* NULL: none */
    /* What ends waits of the store: the same, or NULL during a run, whose units must end their clock, and while the job
     * serves */
    _Atomic(const hawser_cancellation *) waits;
    atomic_bool interrupted;   /* hw_job_interrupted reads it */
    _Atomic uint64_t asked;    /* hw_asked of the node that was asked to end first; 0: none */
    _Atomic double stopped_at; /* hw_seconds() when a signal or time limit asked the last run to end; 0: none did */
    uint64_t failed_clocks;    /* clocks of the last training run, if it failed and so left no run with them */
    hw_policy_changes earlier; /* of the runs since the last one that ended with HAWSER_OK */
    hw_recorder *recorder;     /* NULL: no history is recorded */
    hawser_observer *observer;
    void *observer_user;
};

/* For public functions: `job` is given, and not in a forked child of its process. */
#define HW_GIVEN_JOB(job)                                                                                                   \
    do {                                                                                                                    \
        HW_GIVEN(job);                                                                                                      \
        HW_MADE_HERE(&(job)->origin, "job");                                                                                \
    } while (0)

/* Option rows for a job without readers: threads, memory-limit. */
const hawser_option *hw_machine_rows(void);
/* Opens a job at a place that is known already (NULL: asks the launchers). The place is copied, and closed with the job. */
hawser_status hw_job_open_at(const hawser_options *options, const hw_place *place, hawser_job **job,
                             hawser_error *error) HAWSER_MUST_USE;
/* From now on this job's runs execute their blocks as fibers, one at a time, in an order drawn from `seed`. */
void hw_job_use_fibers(hawser_job *job, uint64_t seed);
/* Executes blocks as fibers, too, in the order of the chooser. It is called at each point at which another fiber could
 * continue. */
void hw_job_use_choices(hawser_job *job, hw_chooser chooser);
/* From now on blocks of this job's runs write their scratch after one in `every` clocks, free and zero it, and read it back.
 * `visit` (NULL: the program's) does both. */
void hw_job_drop_scratch(hawser_job *job, uint64_t every, uint64_t seed, hawser_scratch_visit *visit);
/* From now on waiting calls of this job's units return HAWSER_VIEW_CHANGED, one in `every` drawn from `seed`. The stage is
 * then done over from its last commit. Stop tests that declare what they remember are done over as often. */
void hw_job_change_view(hawser_job *job, uint64_t every, uint64_t seed);
/* Changes the view once in a run: at a waiting call of a block, counted from 1 over those at which the stage can be done
 * over. Tests are called once. */
void hw_job_change_view_at(hawser_job *job, uint32_t block, uint64_t call);
/* Encodes a node's number and the signal that asked it to end (0: another way) as a number above 0. */
static inline uint64_t hw_asked(uint32_t node, int number)
{
    return ((uint64_t)node + 1) << 32 | (uint32_t)number;
}
/* Returns whether the job was asked to end its runs, by hawser_interrupt or its cancellation. Any thread. */
bool hw_job_interrupted(hawser_job *job);
/* From here on the cancellation `own` (NULL: the job's, if it ends waits) ends waits for other nodes, until
 * hw_job_uncancellable, which returns the status of the call. Only for calls that no run depends on: after a run was
 * cancelled, its results are still gathered. */
void hw_job_cancellable(const hawser_job *job, const hawser_cancellation *own);
hawser_status hw_job_uncancellable(const hawser_job *job, hawser_status status);
/* hawser_interrupt, for the request `asked`. Async-signal-safe, any thread. */
void hw_job_interrupt(hawser_job *job, uint64_t asked);
/* Records that the run was asked to end, once. Async-signal-safe, any thread. */
void hw_job_stop(hawser_job *job);
/* Like hawser_job_grace_left, but below 0 once --grace is over. */
double hw_job_grace_left(const hawser_job *job);
/* Makes the routes that --topology requests. Collective. */
hawser_status hw_job_topology(hawser_job *job, hawser_error *error) HAWSER_MUST_USE;
/* broadcast.c: sends bytes of any length from node 0 to all others, which own *received.data, from malloc; node 0 receives
 * nothing. Collective, outside of a run. */
hawser_status hw_job_send_all(hawser_job *job, hw_bytes own, hw_bytes *received, hawser_error *error) HAWSER_MUST_USE;
/* Makes the physical plan of a program under this job's settings; checks the program. */
hawser_status hw_job_plan(hawser_job *job, const hawser_program *program, hw_plan **plan,
                          hawser_error *error) HAWSER_MUST_USE;
/* names.c: hw_names_last returns true if the program that is planned next is the last one with a loop. hw_names_add adds its
 * states that are sent; hw_names_know returns true if a program before had such a state. hw_names_close reports each name of
 * an option that no program had. */
bool hw_names_last(const hw_named_states *named);
hawser_status hw_names_add(hw_named_states *named, const hw_plan *plan, hawser_error *error) HAWSER_MUST_USE;
bool hw_names_know(const hw_named_states *named, const char *state, size_t length);
void hw_names_close(hawser_job *job);
/* Returns true if blocks send updates of the state, which can be held back and rounded. */
bool hw_state_is_sent(const hw_plan *plan, const hawser_state *state);
/* idle.c: reports that an option, which is not of the command line, can do nothing, once, on node 0 and without --quiet. */
void hw_job_note_idle(hawser_job *job, const char *key, const char *why);
/* idle.c: looks for options that were given and can do nothing in the program of `plan`. Returns HAWSER_BAD_OPTION for one
 * of the command line. Reports, except with --quiet, those that come from elsewhere, and those that would have an effect
 * with more workers or nodes. Only the first program with a loop is judged: a job may run others before and after it.
 * Without one, hw_job_report_left_idle reports options. */
hawser_status hw_job_check_idle(hawser_job *job, const hw_plan *plan, hawser_error *error) HAWSER_MUST_USE;
/* idle.c: in a job that ends, and whose programs had no loop: hw_job_left_idle returns true for an option of the command
 * line or of a call that did nothing, and hw_job_report_left_idle reports all of these. */
bool hw_job_left_idle(const hawser_job *job, const char *key);
void hw_job_report_left_idle(const hawser_job *job);

/* checkpoints.c: the checkpoints of a job in a folder (--checkpoint), which a thread writes. hw_checkpoints_open opens the
 * folder, if it was given, and finds the checkpoint from which the job goes on. It is called before the first run of a
 * program with a loop: other commands leave a folder alone, which may be in use. hw_checkpoints_close writes what waits;
 * `finished`: the programs have ended by themselves, so the checkpoints are removed. hw_checkpoints_workers returns the
 * workers of the newest checkpoint in the folder that this node sees; 0 if there is none, or if the folder is that of a
 * variable or of a file of options, which other jobs have, too. hw_checkpoints_open is collective.
 * checkpoint_data.c: hw_checkpoints_loaded adds a dataset to what a run that goes on must have as well. hw_checkpoints_data
 * writes lines with digests of all of that and of the program's own data; NULL if runs are not compared
 * (hw_job_identifies). It is collective, and the caller frees *text. */
hawser_status hw_checkpoints_open(hawser_job *job, hawser_error *error) HAWSER_MUST_USE;
void hw_checkpoints_close(hawser_job *job, bool finished);
void hw_checkpoints_loaded(hawser_job *job, const hawser_dataset *dataset);
hawser_status hw_checkpoints_data(const hawser_job *job, const hawser_program *program, char **text,
                                  hawser_error *error) HAWSER_MUST_USE;
uint32_t hw_checkpoints_workers(const hawser_job *job);

/* decisions.c: the files of decisions of a job (--save-decisions, --replay-decisions). hw_job_identifies returns whether its
 * runs are compared with those of another job, so that digests of the data are needed. hw_decisions_open opens the files
 * before the first run with a loop: it reads the one to replay, and tries the one to save. Collective. hw_decisions_end ends
 * a run with a loop: it writes the file, whole, and warns of changes of a replay that the run did not come to. */
bool hw_job_identifies(const hawser_job *job);
hawser_status hw_decisions_open(hawser_job *job, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_decisions_end(hawser_job *job, hawser_error *error) HAWSER_MUST_USE;
void hw_decisions_close(hawser_job *job);
/* learned.c: the file of settings with which runs have ended (--learn). hw_learning_open tries it before the first run with
 * a loop. Collective. */
hawser_status hw_learning_open(hawser_job *job, hawser_error *error) HAWSER_MUST_USE;
void hw_learning_close(hawser_job *job);

#endif
