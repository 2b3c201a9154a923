/*
 * kmeans.c - k-means in its two natural units. docs/tutorial.md writes this program from nothing and explains each part.
 *
 * `./kmeans K FILE` reads any input of Hawser without a target, and prints the centres and the inertia.
 */
#include <hawser/hawser.h>
#include <hawser/row_kernels.h>

#include <math.h>
#include <stdlib.h>

typedef struct problem {
    size_t k, d; /* centres, columns */
} problem;

static hawser_status begin(hawser_context *context)
{
    const problem *p = hawser_user(context);
    const hawser_matrix *rows = hawser_data_view(context, "rows");
    double *centres = hawser_cache(context, "centres");
    for (size_t i = 0; i < rows->rows && rows->first + i < p->k; i++)
        hawser_row_axpy(rows, i, 1, centres + (rows->first + i) * p->d);
    return HAWSER_OK;
}

static hawser_status assign(hawser_context *context)
{
    const problem *p = hawser_user(context);
    const hawser_matrix *rows = hawser_data_view(context, "rows");
    const double *centres = hawser_view(context, "centres");
    double *sums = hawser_local(context, "shares"), *counts = sums + p->k * p->d, inertia = 0;
    for (size_t e = 0; e < p->k * (p->d + 1); e++)
        sums[e] = 0;
    for (size_t i = 0; i < rows->rows; i++) {
        size_t nearest = 0;
        double least = INFINITY;
        for (size_t c = 0; c < p->k; c++) {
            double distance = hawser_row_distance(rows, i, centres + c * p->d);
            if (distance < least)
                least = distance, nearest = c;
        }
        hawser_row_axpy(rows, i, 1, sums + nearest * p->d);
        counts[nearest]++;
        inertia += least;
    }
    return hawser_report(context, "inertia", inertia);
}

static hawser_status move(hawser_context *context)
{
    const problem *p = hawser_user(context);
    const double *shares = hawser_view(context, "shares");
    double *centres = hawser_cache(context, "centres");
    for (size_t e = 0; e < p->k * p->d; e++) {
        double sum = 0, count = 0;
        for (uint32_t b = 0; b < hawser_blocks(context); b++) {
            const double *share = shares + b * p->k * (p->d + 1);
            sum += share[e], count += share[p->k * p->d + e / p->d];
        }
        if (count > 0) /* a centre without rows stays */
            centres[e] = sum / count;
    }
    return HAWSER_OK;
}

static hawser_status solve(hawser_job *job, const hawser_dataset *data, size_t k, hawser_error *error)
{
    const hawser_matrix *A = hawser_dataset_matrix(data);
    if (k > A->rows)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "%zu centres, but only %zu rows", k, A->rows);
    problem p = {k, A->cols};
    hawser_run *run = NULL;
    hawser_program *program = hawser_program_new("kmeans", &p);
    hawser_state *rows = hawser_data_state(program, "rows", A, HAWSER_BY_ROW);
    hawser_state *centres = hawser_replicated_state(program, "centres", p.d, k, NULL, (hawser_rule){0});
    hawser_state *shares = hawser_partitioned_state(program, "shares", hawser_job_workers(job) * k * (p.d + 1), NULL, NULL);
    hawser_metric_declare(program, "inertia", HAWSER_SUM);

    hawser_operator *root = hawser_root(program);
    hawser_unit(root, "begin", begin, HAWSER_READS(rows), HAWSER_UPDATES(centres));
    /* The loop ends when the inertia has not fallen for 10 iterations. */
    hawser_until end = {.clocks = 300, .metric = "inertia", .patience = 10};
    hawser_operator *loop = hawser_loop(root, "lloyd", end, hawser_job_sync(job));
    hawser_unit(loop, "assign", assign, HAWSER_READS(rows, centres), HAWSER_UPDATES(shares));
    hawser_unit_one(loop, "move", move, HAWSER_READS(shares), HAWSER_UPDATES(centres));
    hawser_unit(root, "measure", assign, HAWSER_READS(rows, centres), HAWSER_UPDATES(shares));

    hawser_status status = hawser_run_program(job, program, &run, error);
    if (status == HAWSER_OK && hawser_job_leads(job)) { /* all processes have the results; one prints */
        const double *found = hawser_result(run, "centres", NULL);
        for (size_t e = 0; e < k * p.d; e++)
            printf("%.4f%c", found[e], (e + 1) % p.d > 0 ? ',' : '\n');
        printf("inertia %.6f\n", hawser_result_metric(run, "inertia"));
    }
    hawser_run_free(run);
    hawser_program_free(program);
    return status;
}

int main(int argc, char **argv)
{
    hawser_job *job = NULL;
    hawser_dataset *data = NULL;
    hawser_error error = {HAWSER_OK, "usage: kmeans K FILE [options of the job]"};
    hawser_status status = hawser_open(&argc, argv, &job, &error);
    if (status == HAWSER_STOP) /* --help */
        return 0;
    char *end = NULL;
    size_t k = status == HAWSER_OK && argc == 3 ? strtoul(argv[1], &end, 10) : 0;
    if (status == HAWSER_OK && (k < 1 || *end != '\0'))
        status = HAWSER_BAD_ARGUMENT;
    const hawser_load by_row = {.split = HAWSER_BY_ROW, .target = "none"};
    if (status == HAWSER_OK)
        status = hawser_job_load(job, (const char *const *)&argv[2], 1, &by_row, &data, &error);
    if (status == HAWSER_OK)
        status = solve(job, data, k, &error);
    if (status != HAWSER_OK)
        fprintf(stderr, "kmeans: %s\n", error.text);
    hawser_dataset_free(data);
    hawser_close(job);
    return status == HAWSER_OK ? 0 : 1;
}
