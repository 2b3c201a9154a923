/* stuck_probe.c - a unit that does not return for long: stuck_probe BLOCK SECONDS [rebuild] [options]: in clock 2 block BLOCK computes for SECONDS
 * (0: for ever) in unit 'spin', or each time when it rebuilds state 'v'; SECONDS of the others' waits do not count. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "probe.h"

typedef struct stuck {
    uint32_t block;
    double seconds;
    bool rebuilds;
} stuck;

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void compute(const stuck *how)
{
    double began = now();
    while (!(how->seconds > 0) || now() - began < how->seconds)
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static hawser_status rebuild(hawser_context *context)
{
    const stuck *how = hawser_user(context);
    if (hawser_block(context) == how->block)
        compute(how);
    return HAWSER_OK;
}

static hawser_status spin(hawser_context *context)
{
    const stuck *how = hawser_user(context);
    hawser_cache(context, "v")[0] += 1;
    if (!how->rebuilds && hawser_block(context) == how->block && hawser_clock(context) == 2)
        compute(how);
    return HAWSER_OK;
}

int main(int argc, char **argv)
{
    hawser_job *job = NULL;
    hawser_error error = {HAWSER_OK, ""};
    hawser_status status = hawser_open(&argc, argv, &job, &error);
    stuck how = {argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0, argc > 2 ? strtod(argv[2], NULL) : 0,
                 argc > 3 && strcmp(argv[3], "rebuild") == 0};
    hawser_program *program = hawser_program_new("stuck", &how);
    hawser_state *v = hawser_replicated_state(program, "v", 1, 1, NULL, (hawser_rule){0});
    if (how.rebuilds)
        hawser_derive(v, rebuild);
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 4}, hawser_job_sync(job));
    hawser_unit(loop, "spin", spin, NULL, HAWSER_UPDATES(v));
    return run_probe(job, program, status, &error);
}
