/*
 * vectors.c - the linear SVM of train.c with vectors (hawser/vector.h), as MALT trains it: each replica learns from a batch
 * of its own rows, sends its model or its changes along the dataflow, and mixes in what has arrived. No node relays
 * anything.
 *
 *     hawser run -n 8 -- experiment_vectors FLOW SYNC values|deltas SHARES PACE DATA BATCH STEPS [RATE [PENALTY]]
 *
 * The rows are cut into SHARES parts, and replica i of N has part i SHARES / N. So N replicas can learn from N of the parts
 * that a larger job has. The rate falls with the rows that SHARES replicas have learned from. PACE: the milliseconds that
 * a batch takes at least (replica_pace); 0 is none.
 */
#include <stdlib.h>
#include <string.h>

#include "../curve.h"
#include "replica.h"
#include "svm.h"

typedef struct task {
    svm svm;
    uint32_t shares;
    double pace;
} task;

static double objective(const void *user, const double *w)
{
    return svm_objective(&((const task *)user)->svm, w);
}

static hawser_status train(replica *self, task *all, char **argv, hawser_error *error)
{
    svm *of = &all->svm;
    size_t share = (size_t)self->node * all->shares / self->nodes, rows = of->matrix.rows;
    const hawser_matrix mine = hawser_matrix_rows(&of->matrix, rows * share / all->shares, rows * (share + 1) / all->shares);
    self->steps = of->clocks;
    self->counts[0] = of->matrix.cols;
    self->model = calloc(of->matrix.cols, sizeof *self->model);
    if (self->model == NULL || mine.rows == 0)
        return hawser_fail(error, HAWSER_BAD_OPTION, "no memory for a model, or no rows in a share");
    HAWSER_TRY(replica_begin(self, argv, error));
    for (uint64_t t = 0; t < self->steps; t++) {
        svm_learn(of, &mine, (size_t)(t * of->batch % mine.rows), (double)(t * of->batch * all->shares), self->model);
        replica_pace(self, t, all->pace);
        HAWSER_TRY(replica_exchange(self, t, error));
    }
    return replica_end(self, objective, all, error);
}

static hawser_status prepare(replica *self, task *all, int argc, char **argv, hawser_error *error)
{
    double shares, pace;
    if (argc < 7 || self->content == REPLICA_ROWS)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "usage: FLOW SYNC values|deltas SHARES PACE DATA BATCH STEPS [RATE [PENALTY]]");
    HAWSER_TRY(curve_number(argv[4], 1e6, &shares, error));
    if (strcmp(argv[5], "0") != 0) {
        HAWSER_TRY(curve_number(argv[5], 1e5, &pace, error));
        all->pace = pace / 1e3;
    }
    all->shares = (uint32_t)shares;
    if (all->shares < self->nodes)
        return hawser_fail(error, HAWSER_BAD_OPTION, "%u shares for %u replicas", all->shares, self->nodes);
    return svm_open(&all->svm, argv[6], argv + 7, argc - 7, error);
}

int main(int argc, char **argv)
{
    replica self;
    task all = {.shares = 0};
    hawser_error error = {HAWSER_OK, ""};
    hawser_status status = replica_open(&self, &argc, argv, &error);
    if (status == HAWSER_OK)
        status = prepare(&self, &all, argc, argv, &error);
    if (status == HAWSER_OK)
        status = train(&self, &all, argv, &error);
    free(self.model);
    svm_close(&all.svm);
    return replica_close(&self, status, &error);
}
