/*
 * factors.c - matrix factorisation: a rating of user i for item j is about the product of two short vectors, one of the user and one of the item.
 * Each row of the data is a user, each column an item, and each stored entry a rating. Workers have rows, so the vectors of their users are
 * theirs alone (a local state), and those of the items are replicated. In each clock a worker goes over all of its ratings by stochastic gradient
 * descent on 1/2 sum (rating - user . item)^2 + PENALTY / 2 (|user|^2 + |item|^2), the last for each rating.
 *
 * `./factors FILE` reads sparse ratings (Matrix Market coordinates, or svmlight). It prints the root mean squared error. Try `--workers 4`,
 * `--sync ssp:2`, `--sync tap`, and `hawser run -n 3 -- ./factors FILE --workers 6`. Under bsp the result has the same bits for any number of
 * threads and nodes that share the workers. The changes of all workers are added up, which overshoots where each worker has hundreds of ratings of
 * one item: take `--merge average` then.
 */
#include <hawser/hawser.h>

#include <math.h>

enum { RANK = 4, CLOCKS = 300 };
static const double PENALTY = 0.002, STEP = 0.02;

static void draw(hawser_context *context, double *values, size_t count)
{
    for (size_t e = 0; e < count; e++)
        values[e] = hawser_random_uniform(context);
}

static hawser_status begin_items(hawser_context *context)
{
    const hawser_matrix *ratings = hawser_user(context);
    draw(context, hawser_cache(context, "items"), ratings->cols * RANK);
    return HAWSER_OK;
}

static hawser_status begin_users(hawser_context *context)
{
    draw(context, hawser_local(context, "users"), hawser_part(context, "users", NULL));
    return HAWSER_OK;
}

static double error_of(double rating, const double *user, const double *item)
{
    for (size_t f = 0; f < RANK; f++)
        rating -= user[f] * item[f];
    return rating;
}

static hawser_status descend(hawser_context *context)
{
    const hawser_matrix *part = hawser_data_view(context, "ratings");
    double *users = hawser_local(context, "users"), *items = hawser_cache(context, "items");
    double step = STEP / (1 + (double)hawser_clock(context) / 100);
    for (size_t i = 0; i < part->rows; i++)
        for (uint64_t e = part->offsets[i]; e < part->offsets[i + 1]; e++) {
            double *user = users + i * RANK, *item = items + (size_t)part->indices[e] * RANK;
            double error = error_of(((const double *)part->values)[e], user, item);
            for (size_t f = 0; f < RANK; f++) {
                double old = user[f];
                user[f] += step * (error * item[f] - PENALTY * user[f]);
                item[f] += step * (error * old - PENALTY * item[f]);
            }
        }
    return HAWSER_OK;
}

static hawser_status measure(hawser_context *context)
{
    const hawser_matrix *part = hawser_data_view(context, "ratings");
    const double *users = hawser_local(context, "users"), *items = hawser_view(context, "items");
    double squares = 0;
    for (size_t i = 0; i < part->rows; i++)
        for (uint64_t e = part->offsets[i]; e < part->offsets[i + 1]; e++) {
            double error =
                error_of(((const double *)part->values)[e], users + i * RANK, items + (size_t)part->indices[e] * RANK);
            squares += error * error;
        }
    return hawser_report(context, "squares", squares);
}

static hawser_status train(hawser_job *job, const hawser_matrix *A, hawser_program *program, hawser_run **run,
                           hawser_error *error)
{
    if (A->layout != HAWSER_CSR || A->type != HAWSER_F64)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the ratings must be sparse: Matrix Market coordinates, or svmlight");
    hawser_state *ratings = hawser_data_state(program, "ratings", A, HAWSER_BY_ROW);
    hawser_state *users = hawser_local_state(program, "users", ratings, RANK, NULL);
    hawser_rule rule = {.damping = hawser_job_damping(job)}; /* --merge add|average */
    hawser_state *items = hawser_replicated_state(program, "items", RANK, A->cols, NULL, rule);
    hawser_metric_declare(program, "squares", HAWSER_SUM);

    hawser_operator *root = hawser_root(program);
    hawser_unit_one(root, "begin-items", begin_items, NULL, HAWSER_UPDATES(items));
    hawser_unit(root, "begin-users", begin_users, NULL, HAWSER_UPDATES(users));
    hawser_operator *loop = hawser_loop(root, "descent", (hawser_until){.clocks = CLOCKS}, hawser_job_sync(job));
    hawser_unit(loop, "descend", descend, HAWSER_READS(ratings), HAWSER_UPDATES(users, items));
    hawser_unit(root, "measure", measure, HAWSER_READS(ratings, users, items), NULL);
    return hawser_run_program(job, program, run, error);
}

int main(int argc, char **argv)
{
    hawser_job *job = NULL;
    hawser_run *run = NULL;
    hawser_dataset *data = NULL;
    hawser_error error = {HAWSER_OK, "usage: factors FILE [options of the job]"};
    hawser_status status = hawser_open(&argc, argv, &job, &error);
    if (status == HAWSER_STOP) /* --help */
        return 0;
    if (status == HAWSER_OK && argc != 2)
        status = HAWSER_BAD_ARGUMENT;
    const hawser_load by_row = {.split = HAWSER_BY_ROW, .target = "none"};
    if (status == HAWSER_OK)
        status = hawser_job_load(job, (const char *const *)&argv[1], 1, &by_row, &data, &error);
    const hawser_matrix *A = status == HAWSER_OK ? hawser_dataset_matrix(data) : NULL;
    hawser_program *program = hawser_program_new("factors", (void *)A);
    if (status == HAWSER_OK)
        status = train(job, A, program, &run, &error);
    if (status == HAWSER_OK && hawser_job_leads(job))
        printf("%.17g\n", sqrt(hawser_result_metric(run, "squares") / (double)A->stored));
    if (status != HAWSER_OK)
        fprintf(stderr, "factors: %s\n", error.text);
    hawser_run_free(run);
    hawser_program_free(program);
    hawser_dataset_free(data);
    hawser_close(job);
    return status == HAWSER_OK ? 0 : 1;
}
