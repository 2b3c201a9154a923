/* A program for hawser-sim: each node counts in static data of its own, and ends by exit. */
#include <hawser/hawser.h>
#include <stdio.h>
#include <stdlib.h>

enum { CLOCKS = 5 };

#ifdef THREAD_LOCAL
static _Thread_local int calls; /* which hawser-sim refuses by its name */
#else
static int calls;
#endif
static double amount = 1; /* initialised data */

static hawser_status add(hawser_context *context)
{
    HAWSER_WRITE(context, double, x);
    x[0] += amount;
    amount += 1;
    calls++;
    return HAWSER_OK;
}

static void fail(const hawser_error *error)
{
    fprintf(stderr, "%s\n", error->text);
    exit(1);
}

int main(int argc, char **argv)
{
    hawser_job *job = NULL;
    hawser_run *run = NULL;
    hawser_error error = {0};
    const void *x = NULL;
    if (hawser_open(&argc, argv, &job, &error) != HAWSER_OK)
        fail(&error);
    hawser_program *program = hawser_program_new("count", NULL);
    hawser_state *state = HAWSER_STATE(program, "x", HAWSER_REPLICATED, .rows = 1);
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = CLOCKS}, hawser_bsp());
    HAWSER_UNIT(loop, "add", add, .updates = {state});
    if (hawser_run_program(job, program, &run, &error) != HAWSER_OK ||
        hawser_result_as(run, "x", HAWSER_F64, &x, NULL, &error) != HAWSER_OK)
        fail(&error);
    printf("calls %d x %g\n", calls, ((const double *)x)[0]);
    hawser_run_free(run);
    hawser_program_free(program);
    hawser_close(job);
    exit(0);
}
