/*
 * hello.c - solves least squares by gradient descent on any number of workers: two states, one unit, a loop.
 *
 * Build it against an installed Hawser with `cc hello.c $(pkg-config --cflags --libs hawser) -lm`, then try
 * `./hello --workers 4`, `--sync ssp:2`, `--help`. It prints the line from which the numbers were made: y = 2 x + 1.
 */
#include <hawser/app.h>

enum { ROWS = 1000 };

static hawser_status descend(hawser_context *context)
{
    HAWSER_READ(context, hawser_matrix, points); /* this worker's rows: x and y */
    HAWSER_WRITE(context, double, w);            /* its copy of the line */
    const double *x = points->values, *y = x + points->stride;
    double slope = 0, height = 0;
    for (size_t i = 0; i < points->rows; i++) {
        double error = y[i] - w[0] * x[i] - w[1];
        slope += error * x[i];
        height += error;
    }
    w[0] += slope / ROWS; /* the changes of all workers are added up when the clock ends */
    w[1] += height / ROWS;
    return HAWSER_OK;
}

static hawser_status build(const hawser_app_call *call, hawser_program *program, hawser_error *error)
{
    (void)error;
    hawser_state *points = HAWSER_STATE(program, "points", HAWSER_DATA, .matrix = call->user, .split = HAWSER_BY_ROW);
    hawser_state *w = HAWSER_STATE(program, "w", HAWSER_REPLICATED, .rows = 2);
    hawser_operator *loop = HAWSER_LOOP(hawser_root(program), "descent", hawser_job_sync(call->job), .clocks = 100);
    HAWSER_UNIT(loop, "descend", descend, .reads = {points}, .updates = {w});
    return HAWSER_OK;
}

/* Under `hawser run -n 4` every node has the result; the first one prints it. */
static hawser_status print(const hawser_app_call *call, const hawser_run *run, hawser_error *error)
{
    (void)call;
    const double *w;
    HAWSER_TRY(hawser_result(run, "w", &w, NULL, error));
    printf("y = %.3f x + %.3f\n", w[0], w[1]);
    return HAWSER_OK;
}

int main(int argc, char **argv)
{
    static double values[2 * ROWS];
    for (int i = 0; i < ROWS; i++) {
        values[i] = i * 2.0 / ROWS - 1;
        values[ROWS + i] = 2 * values[i] + 1;
    }
    hawser_matrix points = {.rows = ROWS, .cols = 2, .stored = 2 * ROWS, .values = values, .stride = ROWS};
    return HAWSER_APP(argc, argv, "hello", .user = &points, .build = build, .done = print);
}
