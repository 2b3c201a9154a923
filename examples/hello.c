/*
 * hello.c - solves least squares by gradient descent on any number of workers: two states, one unit, a loop.
 *
 * Build it against an installed Hawser with `cc hello.c $(pkg-config --cflags --libs hawser) -lm`, then try
 * `./hello --workers 4`, `--sync ssp:2`, `--help`. It prints the line from which the numbers were made: y = 2 x + 1.
 */
#include <hawser/hawser.h>

enum { ROWS = 1000 };

static hawser_status descend(hawser_context *context)
{
    const hawser_matrix *part = hawser_data_view(context, "points"); /* this worker's rows: x and y */
    double *w = hawser_cache(context, "w");                          /* its copy of the line */
    const double *x = part->values, *y = x + part->stride;
    double slope = 0, height = 0;
    for (size_t i = 0; i < part->rows; i++) {
        double error = y[i] - w[0] * x[i] - w[1];
        slope += error * x[i];
        height += error;
    }
    w[0] += slope / ROWS; /* the changes of all workers are added up when the clock ends */
    w[1] += height / ROWS;
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

    hawser_job *job = NULL;
    hawser_run *run = NULL;
    hawser_error error = {HAWSER_OK, ""};
    hawser_status status = hawser_open(&argc, argv, &job, &error);
    if (status == HAWSER_STOP) /* --help */
        return 0;
    hawser_program *program = hawser_program_new("hello", NULL);
    if (status == HAWSER_OK) {
        hawser_state *data = hawser_data_state(program, "points", &points, HAWSER_BY_ROW);
        hawser_state *w = hawser_replicated_state(program, "w", 2, 1, NULL, (hawser_rule){0});
        hawser_operator *loop =
            hawser_loop(hawser_root(program), "descent", (hawser_until){.clocks = 100}, hawser_job_sync(job));
        hawser_unit(loop, "descend", descend, HAWSER_READS(data), HAWSER_UPDATES(w));
        status = hawser_run_program(job, program, &run, &error);
    }
    if (status == HAWSER_OK &&
        hawser_job_leads(job)) { /* under `hawser run -n 4` every node has the result; one prints it */
        const double *w = hawser_result(run, "w", NULL);
        printf("y = %.3f x + %.3f\n", w[0], w[1]);
    }
    if (status != HAWSER_OK)
        fprintf(stderr, "hello: %s\n", error.text);
    hawser_run_free(run);
    hawser_program_free(program);
    hawser_close(job);
    return status == HAWSER_OK ? 0 : 1;
}
