/*
 * factors.c - matrix factorisation: a rating of user i for item j is about the product of two short vectors, one of the user
 * and one of the item. Each row of the data is a user, each column an item, and each stored entry a rating. Workers have
 * rows, so the vectors of their users are theirs alone (a local state), and those of the items are replicated. In each clock
 * a worker goes over all of its ratings by stochastic gradient descent on 1/2 sum (rating - user . item)^2 + PENALTY / 2
 * (|user|^2 + |item|^2), the last for each rating.
 *
 * `./factors FILE` reads sparse ratings (Matrix Market coordinates, or svmlight). It prints the root mean squared error of
 * the ratings in the last clock, each taken just before its step. Try `--workers 4`, `--sync ssp:2`, `--sync tap`, and
 * `hawser run -n 3 -- ./factors FILE --workers 6`. Under bsp the result has the same bits for any number of threads and
 * nodes that share the workers. The changes of all workers are added up, which overshoots where each worker has hundreds of
 * ratings of one item: take `--merge average` then.
 *
 * A clock is `--exchange-every` passes over the ratings. With `--auto` the passes and the staleness change while it runs.
 * No worker does a share of its pass alone: its users would then lag behind the others. `--until` ends the descent at an
 * error, so that times can be compared.
 */
#include <hawser/advanced.h>
#include <hawser/app.h>

#include <math.h>

enum { RANK = 4, CLOCKS = 300 };
static const double PENALTY = 0.002, STEP = 0.02;

static hawser_status begin_items(hawser_context *context)
{
    HAWSER_READ(context, hawser_matrix, ratings);
    HAWSER_WRITE(context, double, items);
    for (size_t e = 0; e < ratings->cols * RANK; e++)
        items[e] = hawser_random_uniform(context);
    return HAWSER_OK;
}

static hawser_status begin_users(hawser_context *context)
{
    HAWSER_WRITE(context, double, users);
    for (size_t e = 0; e < hawser_part(context, "users", NULL); e++)
        users[e] = hawser_random_uniform(context);
    return HAWSER_OK;
}

/* Takes a step on each rating of a row. Returns the sum of the squared errors before the steps. */
static double descend_row(const hawser_matrix *ratings, size_t row, double step, double *user, double *items)
{
    double squares = 0;
    for (uint64_t e = ratings->offsets[row]; e < ratings->offsets[row + 1]; e++) {
        double *item = items + (size_t)ratings->indices[e] * RANK;
        double error = ((const double *)ratings->values)[e] - hawser_dot(RANK, user, item, NULL);
        squares += error * error;
        for (size_t f = 0; f < RANK; f++) {
            double old = user[f];
            user[f] += step * (error * item[f] - PENALTY * user[f]);
            item[f] += step * (error * old - PENALTY * item[f]);
        }
    }
    return squares;
}

/* Goes on where the last clock ended: a clock may be a part of a pass, or several. */
static hawser_status descend(hawser_context *context)
{
    const double *every = hawser_user(context);
    HAWSER_READ(context, hawser_matrix, ratings);
    HAWSER_WRITE(context, double, users);
    HAWSER_WRITE(context, double, items);
    HAWSER_WRITE(context, double, done); /* users visited so far */
    if (ratings->rows == 0)
        return hawser_report(context, "squares", 0);
    const double rows = (double)ratings->rows, step = STEP / (1 + done[0] / rows / 100);
    const double visits = ceil(*every * hawser_work(context) * rows);
    uint64_t visited = 0;
    double squares = 0;
    for (double k = 0; k < visits; k++, done[0]++) {
        size_t row = (size_t)fmod(done[0], rows);
        visited += ratings->offsets[row + 1] - ratings->offsets[row];
        squares += descend_row(ratings, row, step, users + row * RANK, items);
    }
    hawser_simulated_work(context, visited * RANK);
    /* as of all of this worker's ratings, whatever part of them was visited */
    double whole = (double)(ratings->offsets[ratings->rows] - ratings->offsets[0]);
    return hawser_report(context, "squares", visited > 0 ? squares * (whole / (double)visited) : 0);
}

static hawser_status build(const hawser_app_call *call, hawser_program *program, hawser_error *error)
{
    const hawser_matrix *A = hawser_dataset_matrix(call->data);
    *(double *)call->user = hawser_options_number(call->options, "exchange-every");
    if (A->layout != HAWSER_CSR || A->type != HAWSER_F64)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the ratings must be sparse: Matrix Market coordinates, or svmlight");
    hawser_state *ratings = HAWSER_STATE(program, "ratings", HAWSER_DATA, .data = call->data, .split = HAWSER_BY_ROW);
    hawser_state *users = HAWSER_STATE(program, "users", HAWSER_LOCAL, .along = ratings, .cols = RANK);
    hawser_state *done = HAWSER_STATE(program, "done", HAWSER_LOCAL, .each = true, .rows = 1);
    hawser_state *items = HAWSER_STATE(program, "items", HAWSER_REPLICATED, .rows = A->cols, .cols = RANK,
                                       .damping = hawser_job_damping(call->job), /* --merge add|average */
                                       .form = hawser_job_encoding(call->job));
    hawser_metric_declare(program, "squares", HAWSER_SUM);
    HAWSER_UNIT(hawser_root(program), "begin-items", begin_items, .one = true, .reads = {ratings}, .updates = {items});
    HAWSER_UNIT(hawser_root(program), "begin-users", begin_users, .updates = {users});
    double until = hawser_options_number(call->options, "until");
    hawser_operator *loop = HAWSER_LOOP(hawser_root(program), "descent", hawser_job_sync(call->job), .clocks = CLOCKS,
                                        .metric = until > 0 ? "squares" : NULL, .below = until * until * (double)A->stored);
    HAWSER_UNIT(loop, "descend", descend, .reads = {ratings}, .updates = {users, items, done});
    HAWSER_ADAPT(program, .loop = loop, .work_least = 0.25, .work_most = 4, .staleness_most = 3, .metric = "squares",
                 .metric_is_gap = true, .state = items); /* --auto, --filter NAME --quota auto */
    return HAWSER_OK;
}

static hawser_status print(const hawser_app_call *call, const hawser_run *run, hawser_error *error)
{
    (void)error;
    printf("%.17g\n", sqrt(hawser_result_metric(run, "squares") / (double)hawser_dataset_matrix(call->data)->stored));
    return HAWSER_OK;
}

int main(int argc, char **argv)
{
    static const hawser_option rows[] = {
        {.key = "until",
         .kind = HAWSER_NUMBER,
         .value = "0",
         .bounds = "[0,inf)",
         .unit = "RMSE",
         .help = "root mean squared error at which the descent ends; 0: it goes on to the last clock"},
        {0}};
    double every;
    return HAWSER_APP(argc, argv, "factors", "FILE...", .files = true, .split = HAWSER_BY_ROW, .target = "none",
                      .rows = rows, .user = &every, .build = build, .done = print);
}
