/*
 * delayed.c - delayed block proximal gradient (Li et al., NIPS 2014, algorithm 3) for logistic regression with an L1
 * penalty. Every node has rows of the data. In each clock it reads the weights and pushes its part of the gradient of one
 * block of columns. The servers add up the parts of all nodes and take a proximal step. The weights that a node reads lack
 * at most DELAY clocks, so no node waits for the slowest one in each of them.
 *
 * Build it as hello.c. `./delayed` runs alone, `hawser run -n 4 -- ./delayed` on four processes, which find the same
 * weights. It prints the objective, and by how much the weights miss the conditions of its minimum.
 */
#include <hawser/store.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 1200, COLUMNS = 40, BLOCKS = 4, CLOCKS = 1200, DELAY = 2 };

static const double L1 = 6, RATE = 0.008; /* 1 / RATE bounds the curvature of a block */
static double x[ROWS][COLUMNS], y[ROWS], weights[COLUMNS], gradient[COLUMNS];

static double uniform(unsigned *seed)
{
    return (*seed = *seed * 1664525U + 1013904223U) / 2147483648.0 - 1;
}

/* Makes the same rows on every node. Every third column has a weight, and noise changes some labels. */
static void make_rows(void)
{
    unsigned seed = 1;
    for (int i = 0; i < ROWS; i++) {
        double margin = uniform(&seed);
        for (int j = 0; j < COLUMNS; j++) {
            x[i][j] = uniform(&seed);
            margin += j % 3 == 0 ? x[i][j] : 0;
        }
        y[i] = margin > 0 ? 1 : -1;
    }
}

/* Computes the gradient of the loss on rows [begin, end) for columns [first, last), and returns the loss. */
static double differentiate(uint32_t begin, uint32_t end, uint64_t first, uint64_t last)
{
    double loss = 0;
    memset(gradient, 0, sizeof gradient);
    for (uint32_t i = begin; i < end; i++) {
        double margin = 0;
        for (int j = 0; j < COLUMNS; j++)
            margin += y[i] * x[i][j] * weights[j];
        loss += log1p(exp(-margin));
        for (uint64_t j = first; j < last; j++)
            gradient[j] -= y[i] * x[i][j] / (1 + exp(margin));
    }
    return loss;
}

static hawser_status train(hawser_store *store, uint32_t node, uint32_t nodes, hawser_error *error)
{
    uint32_t table, begin = ROWS * node / nodes, end = ROWS * (node + 1) / nodes;
    uint64_t pulled, pushed = 0;
    const hawser_table of_weights = {
        .name = "weights", .count = COLUMNS, .function = "proximal", .parameters = {RATE, L1}, .summed = true};
    HAWSER_TRY(hawser_store_table(store, &of_weights, &table, error));
    for (uint64_t t = 0; t <= CLOCKS; t++) {
        uint64_t least = t == CLOCKS ? t : t > DELAY ? t - DELAY : 0; /* the clocks that the weights have at least */
        hawser_request pull = {.table = table, .count = COLUMNS, .out = weights, .least = least};
        HAWSER_TRY(hawser_pull(store, &pull, &pulled, error));
        HAWSER_TRY(hawser_store_wait(store, pulled, error));
        if (t > 0)
            HAWSER_TRY(hawser_store_wait(store, pushed, error)); /* its memory is reused */
        if (t == CLOCKS)
            break;
        uint64_t first = t % BLOCKS * COLUMNS / BLOCKS, count = COLUMNS / BLOCKS;
        (void)differentiate(begin, end, first, first + count);
        hawser_request push = {.table = table, .first = first, .count = count, .values = gradient + first, .iteration = t};
        HAWSER_TRY(hawser_push(store, &push, &pushed, error));
        HAWSER_TRY(hawser_store_clock(store, table, 0, t, 0, COLUMNS - 1, error));
    }
    return hawser_store_wait_all(store, error);
}

static void print_weights(void)
{
    double objective = differentiate(0, ROWS, 0, COLUMNS), most = 0;
    int nonzeros = 0;
    for (int j = 0; j < COLUMNS; j++) {
        double w = weights[j], g = gradient[j];
        objective += L1 * fabs(w);
        nonzeros += w != 0;
        most = fmax(most, w != 0 ? fabs(g + copysign(L1, w)) : fabs(g) - L1);
    }
    printf("%d of %d weights, objective %.9f, largest violation %.1e\n", nonzeros, COLUMNS, objective, most);
}

int main(int argc, char **argv)
{
    hawser_job *job = NULL;
    hawser_store *store = NULL;
    hawser_error error = {HAWSER_OK, ""};
    hawser_status status = hawser_open(&argc, argv, &job, &error);
    if (status == HAWSER_STOP) /* --help */
        return 0;
    make_rows();
    if (status == HAWSER_OK)
        status = hawser_store_open(job, NULL, &store, &error);
    if (status == HAWSER_OK)
        status = train(store, hawser_job_node(job), hawser_job_nodes(job), &error);
    if (status == HAWSER_OK && hawser_job_leads(job))
        print_weights();
    if (status != HAWSER_OK)
        fprintf(stderr, "delayed: %s\n", error.text);
    hawser_store_close(store);
    hawser_close(job);
    return status == HAWSER_OK ? 0 : 1;
}
