/*
 * chunks.c - a loop over a stored state. Workers sleep in place of computing, so that there may be more of them than
 * processors:
 *
 *     experiment_chunks ready|all even|random|straggler COST CLOCKS --workers B --sync POLICY
 *
 * In a clock a worker reads every chunk and spends COST seconds, less or more by the skew. `ready` spends a share of it on
 * each chunk as it arrives; `all` starts when all chunks have arrived. The program prints one line of JSON.
 */
#define _POSIX_C_SOURCE 200809L /* clock_nanosleep */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../curve.h"
#include "hawser/advanced.h"
#include "hawser/stored.h"

enum { WIDTH = 16 };

typedef struct work {
    bool ready;
    const char *skew;
    double cost;
} work;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Sleeps until `target`, unless that is less than `least` seconds away: a sleep takes some 60 us longer than requested. As
 * targets are absolute, a later sleep makes up for the ones that were skipped. */
static void sleep_until(double target, double least)
{
    if (target - now() < least)
        return;
    struct timespec t = {(time_t)target, (long)(1e9 * (target - floor(target)))};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0)
        ;
}

/* Draws a number in (0, 1] from (block, clock); predict.py draws the same one. */
static double drawn(uint64_t block, uint64_t clock)
{
    uint64_t z = block * UINT64_C(0x9e3779b97f4a7c15) + clock * UINT64_C(0xd1342543de82ef95) + UINT64_C(0x632be59bd9b4e019);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return ((double)(z >> 11) + 1.0) * 0x1p-53;
}

static double cost_of(const work *w, uint64_t block, uint64_t clock, uint64_t blocks)
{
    if (strcmp(w->skew, "random") == 0)
        return w->cost * fmin(5.0, -log(drawn(block, clock)));
    if (strcmp(w->skew, "straggler") == 0)
        return w->cost * (clock % blocks == block ? 4.0 : 1.0);
    return w->cost;
}

static hawser_status step(hawser_context *context)
{
    const work *w = hawser_user(context);
    uint32_t blocks = hawser_blocks(context);
    double cost = cost_of(w, hawser_block(context), hawser_clock(context), blocks), sum = 0;
    double target = now();
    for (hawser_chunk chunk;;) {
        double asked = now();
        HAWSER_TRY(hawser_next_chunk(context, "theta", &chunk));
        target += now() - asked;
        if (chunk.block == UINT32_MAX)
            break;
        const double *values = chunk.values;
        for (size_t i = 0; i < chunk.count; i++)
            sum += values[i];
        target += w->ready ? cost / blocks : 0;
        sleep_until(target, 2e-4);
    }
    sleep_until(target + (w->ready ? 0 : cost), 0);
    HAWSER_WRITE(context, double, theta);
    theta[0] = sum / (WIDTH * (double)blocks);
    return HAWSER_OK;
}

static hawser_status run(hawser_job *job, char **argv, hawser_error *error)
{
    work w = {.ready = strcmp(argv[1], "ready") == 0, .skew = argv[2]};
    double clocks;
    hawser_run *done = NULL;
    HAWSER_TRY(curve_number(argv[3], 10, &w.cost, error));
    HAWSER_TRY(curve_number(argv[4], 1e6, &clocks, error));
    hawser_program *p = hawser_program_new("chunks", &w);
    hawser_state *theta = HAWSER_STATE(p, "theta", HAWSER_STORED, .rows = WIDTH * (size_t)hawser_job_workers(job));
    hawser_operator *loop =
        hawser_loop(hawser_root(p), "steps", (hawser_until){.clocks = (uint64_t)clocks}, hawser_job_sync(job));
    HAWSER_UNIT(loop, "step", step, .updates = {theta});
    hawser_status status = hawser_run_program(job, p, &done, error);
    hawser_program_free(p);
    if (status == HAWSER_OK) {
        const hawser_figures *figures = hawser_run_figures(done);
        double waited = 0, last = 0;
        for (uint32_t b = 0; b < figures->workers; b++) {
            waited += figures->worker[b].wait_seconds / figures->workers;
            last = fmax(last, figures->worker[b].last_clock_seconds);
        }
        printf("{\"seconds\": %.6f, \"waited\": %.6f, \"workers\": %u, \"bytes\": %llu}\n", last, waited, figures->workers,
               (unsigned long long)figures->bytes_exchanged);
    }
    hawser_run_free(done);
    return status;
}

int main(int argc, char **argv)
{
    static const char *const skews[] = {"even", "random", "straggler"};
    hawser_job *job = NULL;
    hawser_error error = {HAWSER_OK, ""};
    hawser_status status = hawser_open(&argc, argv, &job, &error);
    if (status == HAWSER_STOP)
        return 0;
    bool known = false;
    for (size_t k = 0; argc == 5 && k < sizeof skews / sizeof *skews; k++)
        known = known || strcmp(argv[2], skews[k]) == 0;
    if (status == HAWSER_OK && (!known || (strcmp(argv[1], "ready") != 0 && strcmp(argv[1], "all") != 0)))
        status = hawser_fail(&error, HAWSER_BAD_ARGUMENT, "want ready|all even|random|straggler COST CLOCKS");
    if (status == HAWSER_OK)
        status = run(job, argv, &error);
    if (status != HAWSER_OK)
        fprintf(stderr, "chunks: %s\n", error.text);
    hawser_close(job);
    return status == HAWSER_OK ? 0 : 1;
}
