/* evaluate.c - how compact clusters are, and how they agree with labels. */
#include <math.h>
#include <stdlib.h>

#include "algorithms/kmeans/model.h"
#include "algorithms/measures/measure.h"

const hawser_measure_row hw_kmeans_measures[] = {
    {"inertia", "sum over rows of weight times squared distance to the nearest centre"},
    {"mean_square", "the inertia divided by the sum of the weights"},
    {"clusters", "the number of clusters that have rows of these data"},
    {"adjusted_rand_index",
     "agreement of clusters and targets on pairs of rows, where a weight is a number of equal rows: 1 if they are the same "
     "partition, about 0 by chance"},
    {NULL, NULL}};

/* A row's cluster and target. */
typedef struct pair {
    double cluster, target, weight;
} pair;

static int by_cluster(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    if (x->cluster != y->cluster)
        return x->cluster < y->cluster ? -1 : 1;
    return x->target < y->target ? -1 : x->target > y->target;
}

static int by_target(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    return x->target < y->target ? -1 : x->target > y->target;
}

/* Adds the squared sizes of the runs of pairs that `order` calls equal. */
static double squared_runs(const pair *pairs, size_t n, int (*order)(const void *, const void *))
{
    double sum = 0.0;
    for (size_t begin = 0, end = 0; begin < n; begin = end) {
        double size = 0.0;
        for (; end < n && order(&pairs[begin], &pairs[end]) == 0; end++)
            size += pairs[end].weight;
        sum += size * size;
    }
    return sum;
}

static int by_cluster_alone(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    return x->cluster < y->cluster ? -1 : x->cluster > y->cluster;
}

/* Hubert and Arabie's index, from ordered pairs of rows: together in both partitions, in neither, and in one. */
static double adjusted_rand(pair *pairs, size_t n, double rows)
{
    qsort(pairs, n, sizeof *pairs, by_cluster);
    double cells = squared_runs(pairs, n, by_cluster), clusters = squared_runs(pairs, n, by_cluster_alone);
    qsort(pairs, n, sizeof *pairs, by_target);
    double targets = squared_runs(pairs, n, by_target);
    double both = cells - rows, one = clusters - cells, other = targets - cells, neither = rows * rows - one - other - cells;
    if (one == 0.0 && other == 0.0)
        return 1.0;
    return 2.0 * (both * neither - one * other) / ((both + one) * (one + neither) + (both + other) * (other + neither));
}

hawser_status hw_kmeans_evaluate(const hawser_evaluation_input *input, hawser_measure *measures, hawser_error *error)
{
    double total = 0.0, inertia = 0.0, used = 0.0;
    HAWSER_TRY(hw_measure_total(input->rows, input->weights, &total, error));
    HAWSER_TRY(hw_measure_finite_scores(input, "distance", error));
    pair *pairs = calloc(input->rows + 1, sizeof *pairs);
    if (pairs == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu rows", input->rows);
    for (size_t i = 0; i < input->rows; i++) {
        const double *row = input->scored + 4 * i; /* cluster, target, squared distance, target */
        pairs[i] = (pair){row[0], row[1], input->weights != NULL ? input->weights[i] : 1.0};
        inertia += pairs[i].weight * row[2];
    }
    bool compared = input->rows > 0 && !isnan(pairs[0].target);
    double index = compared ? adjusted_rand(pairs, input->rows, total) : NAN;
    qsort(pairs, input->rows, sizeof *pairs, by_cluster);
    for (size_t i = 0; i < input->rows; i++)
        used += i == 0 || pairs[i].cluster != pairs[i - 1].cluster;
    free(pairs);
    hw_measure_number(measures, "inertia", inertia, NULL);
    hw_measure_number(measures, "mean_square", inertia / total, NULL);
    hw_measure_number(measures, "clusters", used, NULL);
    hw_measure_number(measures, "adjusted_rand_index", index, "the data have no target to compare with (--target)");
    return HAWSER_OK;
}
