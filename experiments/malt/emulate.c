/*
 * emulate.c - MALT's own dataflows, which Hawser does not have. A node's model reaches only the nodes to which it has a
 * link, no node forwards anything, and each averages the models that it receives with its own. All nodes run in this
 * process, one after the other, in step.
 *
 *     experiment_emulate halton|halved|all DATA BATCH CLOCKS [RATE [PENALTY]]
 *
 * Bytes are counted: 12 for each entry that changed since it was last sent or 8 for every entry, whichever is less. Seconds
 * are not measured.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "svm.h"

enum { NODES = 8 };

/* The distances from node i to the nodes to which it sends. MALT takes N/2, N/4, 3N/4, which are log2 N nodes; with eight
 * nodes even ones never receive from odd ones. Halving (N/2, N/4, N/8) takes as many links and reaches all nodes. */
static const int HALTON[] = {NODES / 2, NODES / 4, 3 * NODES / 4}, HALVED[] = {NODES / 2, NODES / 4, NODES / 8};
static const int ALL[] = {1, 2, 3, 4, 5, 6, 7};

typedef struct cluster {
    const svm *svm;
    hawser_matrix rows[NODES];
    double *w[NODES], *said[NODES], *mixed; /* own model; what it was when it was last sent */
    const int *distances;
    int links; /* out of a node */
} cluster;

static bool make(cluster *all, const svm *self, const char *flow)
{
    size_t d = self->matrix.cols;
    *all = (cluster){.svm = self};
    all->links = strcmp(flow, "all") == 0 ? NODES - 1 : 3;
    all->distances = strcmp(flow, "all") == 0      ? ALL
                     : strcmp(flow, "halton") == 0 ? HALTON
                     : strcmp(flow, "halved") == 0 ? HALVED
                                                   : NULL;
    if (all->distances == NULL)
        return false;
    bool fine = (all->mixed = calloc(NODES * d, sizeof(double))) != NULL;
    for (int i = 0; i < NODES; i++) {
        all->rows[i] = hawser_matrix_rows(&self->matrix, self->matrix.rows * (size_t)i / NODES,
                                          self->matrix.rows * ((size_t)i + 1) / NODES);
        all->w[i] = calloc(d, sizeof(double));
        all->said[i] = calloc(d, sizeof(double));
        fine &= all->w[i] != NULL && all->said[i] != NULL;
    }
    return fine;
}

static void drop(cluster *all)
{
    for (int i = 0; i < NODES; i++) {
        free(all->w[i]);
        free(all->said[i]);
    }
    free(all->mixed);
}

/* Each node sends its model along its links and averages; returns the bytes over all links. */
static double mix(cluster *all)
{
    size_t d = all->svm->matrix.cols;
    double bytes = 0;
    memset(all->mixed, 0, NODES * d * sizeof(double));
    for (int i = 0; i < NODES; i++) {
        size_t changed = 0;
        for (size_t j = 0; j < d; j++)
            changed += all->w[i][j] != all->said[i][j];
        bytes += all->links * fmin(12.0 * (double)changed, 8.0 * (double)d);
        memcpy(all->said[i], all->w[i], d * sizeof(double));
        for (int k = -1; k < all->links; k++) { /* -1: itself */
            double *to = all->mixed + (size_t)((i + (k < 0 ? 0 : all->distances[k])) % NODES) * d;
            for (size_t j = 0; j < d; j++)
                to[j] += all->w[i][j] / (all->links + 1);
        }
    }
    for (int i = 0; i < NODES; i++)
        memcpy(all->w[i], all->mixed + (size_t)i * d, d * sizeof(double));
    return bytes;
}

static void run(cluster *all)
{
    const svm *self = all->svm;
    double bytes = 0;
    printf("{\"columns\":[\"clock\",\"objective\",\"bytes\"],\"curve\":[");
    for (uint64_t clock = 0; clock < self->clocks; clock++) {
        double objective = svm_objective(self, all->w[0]); /* over all rows: a node's loss on its own rows is too small */
        printf("%s[%llu,%.8g,%.0f]", clock > 0 ? "," : "", (unsigned long long)clock, objective, bytes);
        for (int i = 0; i < NODES; i++)
            svm_learn(self, &all->rows[i], (size_t)(clock * self->batch % all->rows[i].rows),
                      (double)(clock * self->batch * NODES), all->w[i]);
        bytes += mix(all);
    }
    double least = INFINITY, most = 0;
    for (int i = 0; i < NODES; i++) {
        double objective = svm_objective(self, all->w[i]);
        least = fmin(least, objective);
        most = fmax(most, objective);
    }
    printf("],\"objective\":%.10g,\"worst_objective\":%.10g,\"bytes\":%.0f,\"clocks\":%llu}\n", least, most, bytes,
           (unsigned long long)self->clocks);
}

int main(int argc, char **argv)
{
    svm self = {.batch = 0};
    cluster all = {.svm = NULL};
    hawser_error error = {HAWSER_OK, ""};
    hawser_status status = HAWSER_OK;
    if (argc < 4)
        status = hawser_fail(&error, HAWSER_BAD_OPTION, "usage: halton|halved|all DATA BATCH CLOCKS [RATE [PENALTY]]");
    if (status == HAWSER_OK)
        status = svm_open(&self, argv[2], argv + 3, argc - 3, &error);
    if (status == HAWSER_OK && !make(&all, &self, argv[1]))
        status =
            hawser_fail(&error, HAWSER_BAD_OPTION, "no dataflow '%s' (halton, halved, all), or no memory for it", argv[1]);
    if (status == HAWSER_OK)
        run(&all);
    else
        fprintf(stderr, "emulate: %s\n", error.text);
    drop(&all);
    svm_close(&self);
    return status == HAWSER_OK ? 0 : 1;
}
