/*
 * cocoa.h - CoCoA as a unit: a program gives a local solver of its own, and the library divides the problem and adds up the
 * steps.
 *
 * Minimises f(A alpha) + sum over j of g_j(alpha_j), where the gradient of f changes at most by 1/tau of the distance (ALT
 * section 2.1.3, Algorithm 3; Smith et al. 2016, arXiv:1611.02189). Each block owns some of the coordinates alpha_j: a
 * local state. v = A alpha is a replicated state. In a round, a local solver of the user's improves the coordinates of a
 * block.
 */
#ifndef HAWSER_COCOA_H
#define HAWSER_COCOA_H

#include "hawser/hawser.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How a replicated state is merged (ALT eq. 4.3): state += damping * sum over blocks of delta. A block's cache is state +
 *  gain * its own unsent delta (CoCoA's sigma'), so the block already allows for the other blocks' updates; the delta
 *  itself is sent. Zero fields mean 1. A `merge` function replaces the formula. A program gives these numbers to a state by
 *  the fields of hawser_state_spec. */
typedef struct hawser_rule {
    double damping; /**< gamma: 1 adds, 1/B averages */
    double gain;    /**< sigma' */
    /** Changes the state by the sum of deltas; deterministic, no side effects. NULL: the formula. */
    void (*merge)(const hawser_merging *merging);
    void *user;
} hawser_rule;

/** The subproblem of a block in a round (ALT eq. 2.7): to make
 *      grad f(v)^T A d + sigma' / (2 tau) |A d|^2 + sum over own j of g_j(alpha_j + d_j)
 *  smaller by the steps d of its own coordinates. The better the solver solves it (Theta), the fewer rounds are needed, but
 *  any improvement will do. A step d_j changes what the subproblem shows, so with f(v) = |v - y|^2 / 2 its gradient in d_j
 *  is A_j^T (v - y) + g_j'(alpha_j). With another f, it is A_j^T (grad f(v0) + (v - v0) / tau) + g_j'(alpha_j), where v0 is
 *  the v that the solver was called with. */
typedef struct hawser_subproblem {
    const hawser_matrix *A;    /**< this block's part; a column belongs to each coordinate, or a row if A is split by row */
    size_t coordinates, first; /**< how many are its own (0 is possible), and the number of the first one in alpha */
    size_t size;               /**< numbers of v */
    const double *alpha;       /**< the own coordinates: alpha + d */
    const double *v;           /**< v + sigma' A d; without steps, v as this block knows it */
    double sigma;              /**< sigma' in force */
} hawser_subproblem;

/** Moves own coordinate j, which counts from 0: d_j += step, so that alpha[j] changes by step, and v by sigma' step A_j. A
 *  j beyond the own coordinates fails the unit. Costs one pass over the entries of A_j. */
HAWSER_API void hawser_subproblem_step(hawser_subproblem *subproblem, size_t j, double step);

/** A local solver: it reads the subproblem and takes steps. The context has the states that hawser_cocoa declares. It
 *  returns what a unit returns. */
typedef hawser_status hawser_local_solver(hawser_context *context, hawser_subproblem *subproblem);

/** A list of states, ended by NULL, for hawser_cocoa, which copies it. */
#define HAWSER_READS(...) ((hawser_state *const[]){__VA_ARGS__, NULL})

/** Adds a unit that has `solver` solve each block's subproblem, a round per clock. `alpha` is a local state of f64, one
 *  number per coordinate, along a data state A that is split HAWSER_BY_COLUMN or HAWSER_BY_ROW. `v` is a replicated state
 *  of f64, with as many numbers as A has rows, or columns if it is split HAWSER_BY_ROW. Its rule has gamma (damping) and
 *  sigma' (gain): see hawser_cocoa_rule. Ties alpha to v, and derives v from all local states that a call of hawser_cocoa
 *  has tied to it; the program sets neither `tie` nor `derive`. `reads` are further states that the solver reads, or
 *  NULL.
 *
 *  Under --auto the encoding of v may change. A program that declares a metric lets the staleness change, too, up to 3, with
 *  sigma' (s + 1) times as large, and half of sigma' is tried: HAWSER_ADAPT(program, .loop = loop, .metric = "gap"). A
 *  solver that does as much as hawser_work says declares .work_least, .work_most and .shares. */
HAWSER_API hawser_operator *hawser_cocoa(hawser_operator *loop, const char *name, hawser_local_solver *solver,
                                         hawser_state *alpha, hawser_state *v, hawser_state *const *reads);

/** Returns a safe rule for v in a loop with this sync: gamma as given, and sigma' = gamma K (s + 1) for K workers and
 *  staleness s. gamma 1 adds the steps of the blocks (CoCoA+), 1/K averages them (CoCoA); 0 takes what --merge says. Under
 *  tap no staleness is safe for certain; s is 8 then. Without a job, or for a sync that does not exist, the rule has NaN,
 *  and the run refuses it. */
HAWSER_API hawser_rule hawser_cocoa_rule(const hawser_job *job, double gamma, hawser_sync sync);

#ifdef __cplusplus
}
#endif
#endif
