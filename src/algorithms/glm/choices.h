/* choices.h - how a linear model is trained: the settings, and what follows from them and from the job's policy. Units only
 * read them. */
#ifndef HW_ALGORITHMS_GLM_CHOICES_H
#define HW_ALGORITHMS_GLM_CHOICES_H

#include "algorithms/choice/choice.h"
#include "algorithms/solve/solver.h"
#include "hawser/algorithm.h"

typedef enum hw_linear_split { HW_LINEAR_BY_EITHER, HW_LINEAR_BY_ROW, HW_LINEAR_BY_COLUMN } hw_linear_split;

typedef struct hw_linear_settings {
    hw_choice choice;
    bool goes_on; /* the path goes on beyond choice.path_count until its end is found (driver.c) */
    double l1_ratio, tolerance;
    bool intercept, standardize;
    bool filtered; /* updates may be held back or rounded */
    double validation_fraction;
    double sigma;           /* 0: by the rule */
    double exchange_every;  /* H; 0: until the local subproblem is solved */
    uint64_t certify_every; /* clocks; 0: as needed */
    bool adapts;            /* --auto and others: the runtime changes rounds while they run */
    bool stored;            /* a parameter server has the data that blocks share: the solvers below */
    size_t groups;          /* --solver dbpg: groups of a block's columns */
    hw_linear_split split;  /* --solver dbpg */
    bool kkt;               /* --solver dbpg: columns that will likely stay zero are left out */
    bool steps;             /* --solver gd, sgd, minibatch */
    size_t batch;           /* with steps: rows of a step; 0: all */
    bool weights, products; /* with steps: what --exchange names; neither: auto */
    double rate, epochs;    /* with steps; a rate of 0: by the rule */
    const hw_linear_solver *solver;
} hw_linear_settings;

/* How the blocks find one solution. */
typedef enum hw_linear_route {
    HW_LINEAR_SERVER,      /* a parameter server has what the blocks share */
    HW_LINEAR_SINGLE,      /* one block has all columns, and solves until the working set is done */
    HW_LINEAR_ROUNDS,      /* CoCoA rounds of the length that options set */
    HW_LINEAR_ACCELERATED, /* CoCoA rounds under BSP, with extrapolation over the last rounds */
    /* CoCoA rounds under SSP or TAP: blocks agree on residuals only at the end of a loop, so extrapolation is over whole
     * loops */
    HW_LINEAR_ASYNCHRONOUS,
    HW_LINEAR_JOINT /* the working sets of all blocks are solved as one; larger sets by accelerated rounds */
} hw_linear_route;

typedef struct hw_linear_choices {
    hw_linear_settings settings;
    hw_linear_route route;
    hawser_sync sync;
    hawser_form form; /* of the sent changes of v */
    uint32_t blocks;
    uint64_t seed;
    double gain, damping; /* sigma' at the start; the damping of --merge */
    double flights;       /* rounds in flight at once, if the policy bounds them */
    size_t lambda_count;  /* at most: a path that goes on has more than */
    size_t lambda_first;  /* those that are tried in any case */
    uint64_t step_clocks; /* --solver sgd, minibatch: clocks between two certificates, */
    uint64_t work_most;   /* and the most times of such work for a lambda; 0: no limit */
    bool by_row;          /* --solver dbpg: blocks have rows, too, and exchange a number per column */
    size_t widest;        /* columns of the block that has the most; 0: unknown */
    double *costs;        /* by column: the kind's costs; or NULL */
} hw_linear_choices;

/* Reads the options of rows.h, and those that only some algorithms have. */
hawser_status hw_linear_settings_read(hawser_job *job, const hawser_options *options, hw_linear_settings *settings,
                                      hawser_error *error) HAWSER_MUST_USE;
/* Fails for a policy that does not work with the settings. `named` is the policy as the user wrote it. */
hawser_status hw_linear_check_sync(hawser_sync sync, const char *named, const hw_linear_settings *settings,
                                   hawser_error *error) HAWSER_MUST_USE;
/* Fills the fields that follow from choices->settings, from the job and from the shape of X; not `costs`. */
hawser_status hw_linear_choose_route(hw_linear_choices *choices, const hawser_job *job, const hawser_matrix *X,
                                     hawser_error *error) HAWSER_MUST_USE;
/* Returns whether the runtime changes sigma' of rounds (HAWSER_ADAPT), so that the rules of driver.c do not. */
bool hw_linear_adapts_gain(const hw_linear_choices *choices);
void hw_linear_choices_free(hw_linear_choices *choices);
/* Returns the most coordinate steps of a block with so many columns in a round. Under SSP and TAP, exact solutions of
 * subproblems that other blocks have changed already are wasted work, and blocks' sizes differ, so rounds are short. `work`
 * is that of the clock (hawser_work). */
uint64_t hw_linear_round_steps(const hw_linear_choices *choices, size_t columns, double work);
/* Returns true if rounds are in step, and extrapolation is over single rounds. */
static inline bool hw_linear_in_step(const hw_linear_choices *choices)
{
    return choices->route == HW_LINEAR_ACCELERATED || choices->route == HW_LINEAR_JOINT;
}
/* Returns true if rounds, or loops of rounds, are extrapolated. */
static inline bool hw_linear_extrapolates(const hw_linear_choices *choices)
{
    return hw_linear_in_step(choices) || choices->route == HW_LINEAR_ASYNCHRONOUS;
}
/* Returns true if conjugate gradients over all blocks may follow rounds that make little progress: no update may be held
 * back. */
static inline bool hw_linear_searches(const hw_linear_choices *choices)
{
    return hw_linear_extrapolates(choices) && !choices->settings.filtered;
}

/* Returns true if the coefficients of each lambda are kept: there are several, or folds follow, whose coefficients take
 * their place. */
static inline bool hw_linear_keeps_path(const hw_linear_choices *choices)
{
    return choices->lambda_count > 1 || choices->settings.choice.folds > 0;
}

#endif
